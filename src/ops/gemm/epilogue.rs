//! What happens to the numbers of a product on their way to memory.

use crate::base::Real;

/// What happens to a finished row of a tile before it is stored: (row, first column, values). Values beyond the last column
/// of C are not stored: whatever an epilogue makes of them is well.
pub trait Epilogue<T>: Sync {
    fn apply<const W: usize>(&self, row: usize, col: usize, values: [T; W]) -> [T; W];
    /// The same as something that the product does on the way to memory, where it can.
    fn finish(&self) -> Option<Finish<'_, T>> {
        None
    }
}

/// C = A B; plus `bias` [n]; relu of that; 0 where `gate`, which lies as C does, is not positive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Finish<'a, T> {
    pub bias: Option<&'a [T]>,
    pub relu: bool,
    pub gate: Option<Gate<'a, T>>,
}

/// `values` [m, `cols`].
#[derive(Debug, Clone, Copy)]
pub struct Gate<'a, T> {
    pub values: &'a [T],
    pub cols: usize,
}

impl<T: Real> Epilogue<T> for Finish<'_, T> {
    #[inline(always)]
    fn apply<const W: usize>(&self, row: usize, col: usize, mut values: [T; W]) -> [T; W] {
        if let Some(bias) = self.bias {
            values = beside(values, bias, col, |v, b| v + b);
        }
        if self.relu {
            values = values.map(|v| v.at_least(T::zero()));
        }
        match self.gate {
            Some(g) => beside(values, g.values, row * g.cols + col, |v, g| if g > T::zero() { v } else { T::zero() }),
            None => values,
        }
    }
    #[inline(always)]
    fn finish(&self) -> Option<Finish<'_, T>> {
        Some(*self)
    }
}

/// f(values[j], operand[at + j]), as far as the operand goes.
#[inline(always)]
pub fn beside<T: Real, const W: usize>(values: [T; W], operand: &[T], at: usize, f: impl Fn(T, T) -> T) -> [T; W] {
    let operand = &operand[at.min(operand.len())..];
    let Some(operand) = operand.first_chunk::<W>() else { return beside_part(values, operand, f) };
    // A new array: changed in place it would go through memory, and not as vectors.
    let mut new = [T::zero(); W];
    for j in 0..W {
        new[j] = f(values[j], operand[j]);
    }
    new
}

#[cold]
#[inline(never)]
fn beside_part<T: Real, const W: usize>(mut values: [T; W], operand: &[T], f: impl Fn(T, T) -> T) -> [T; W] {
    for (v, o) in values.iter_mut().zip(operand) {
        *v = f(*v, *o);
    }
    values
}
