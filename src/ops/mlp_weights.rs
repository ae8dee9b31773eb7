//! Before and behind a small network's pass (`ops::mlp`): its weights as quadruples, and their gradient from the tape.

use super::linear::{LinearBackwardWeight, linear_backward_weight};
use super::mlp::{Widths, largest_pack, take};
use super::{Grid, Lengths, OpSpec, binds, elements, fits, params};
use crate::base::Real;

params! {
    /// packed [R, ...] <- the network's range, from `first` on, of weights [R, stride].
    MlpPack {
        replicas: u32,
        stride: u32,
        first: u32,
        layers: u32,
        n0: u32,
        n1: u32,
        n2: u32,
        n3: u32,
        n4: u32,
        n5: u32,
        n6: u32,
        n7: u32,
    }
}
params! {
    /// The network's range, from `first` on, of grad [R, stride] <- the tape of a batch of `rows`.
    MlpGradient {
        replicas: u32,
        rows: u32,
        activation: u32,
        stride: u32,
        first: u32,
        layers: u32,
        n0: u32,
        n1: u32,
        n2: u32,
        n3: u32,
        n4: u32,
        n5: u32,
        n6: u32,
        n7: u32,
    }
}

impl MlpPack {
    pub fn widths(&self) -> Widths {
        let n = [self.n0, self.n1, self.n2, self.n3, self.n4, self.n5, self.n6, self.n7];
        Widths { n, layers: self.layers as usize }
    }
}
impl MlpGradient {
    pub fn widths(&self) -> Widths {
        let n = [self.n0, self.n1, self.n2, self.n3, self.n4, self.n5, self.n6, self.n7];
        Widths { n, layers: self.layers as usize }
    }
}

impl OpSpec for MlpPack {
    binds!(mlp_pack: [weights] -> [packed]);
    const QUADS: &'static [&'static str] = &["packed"];

    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.stride])], vec![self.replicas as usize * self.widths().packed()])
    }
    fn sizes_agree(&self) -> bool {
        self.widths().fit() && fits(self.first, self.widths().len() as u64, self.stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * self.widths().len())
    }
}
impl OpSpec for MlpGradient {
    binds!(mlp_gradient: [tape] -> [grad], scratch);
    const QUADS: &'static [&'static str] = &["tape"];

    /// A tile of 8 x 8 each.
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.widths().tiles() as u64)
    }
    fn flops(&self) -> Option<f64> {
        Some(2.0 * f64::from(self.replicas) * f64::from(self.rows) * self.widths().products() as f64)
    }
    fn scratch(&self) -> usize {
        let (w, rows) = (self.widths(), self.rows as usize);
        let both = w.each().map(|(n_in, n_out)| rows * (n_in + n_out) as usize).max().unwrap_or(0);
        both + largest_pack(&w, rows)
    }
    fn lengths(&self) -> Lengths {
        let tape = self.replicas as usize * self.widths().tape(self.activation, self.rows);
        (vec![tape], vec![elements(&[self.replicas, self.stride])])
    }
    fn sizes_agree(&self) -> bool {
        self.widths().fit() && self.rows > 0 && fits(self.first, self.widths().len() as u64, self.stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * self.widths().len())
    }
}

#[inline(always)]
pub fn mlp_pack<T: Real>(p: &MlpPack, weights: &[T], packed: &mut [T]) {
    let widths = p.widths();
    for r in 0..p.replicas as usize {
        let mut w = &weights[r * p.stride as usize + p.first as usize..][..widths.len()];
        let mut packed = &mut packed[r * widths.packed()..][..widths.packed()];
        for (n_in, n_out) in widths.each() {
            let (rows, n_out, row) = (n_in as usize + 1, n_out as usize, 8 * n_out.div_ceil(8) as usize);
            for (to, from) in take(&mut packed, rows * row).chunks_exact_mut(row).zip(w.chunks_exact(n_out)) {
                to[..n_out].copy_from_slice(from);
                to[n_out..].fill(T::zero());
            }
            w = &w[rows * n_out..];
        }
    }
}

/// The reference.
pub fn mlp_gradient<T: Real>(p: &MlpGradient, tape: &[T], grad: &mut [T], scratch: &mut [T]) {
    let (widths, rows) = (p.widths(), p.rows as usize);
    let places = widths.places(p.activation);
    let padded = 8 * rows.div_ceil(8);
    for r in 0..p.replicas as usize {
        let tape = &tape[r * places.units * padded..][..places.units * padded];
        let grad = &mut grad[r * p.stride as usize..][..p.stride as usize];
        let mut weight = p.first;
        for (i, (n_in, n_out)) in widths.each().enumerate() {
            let mut rest = &mut scratch[..];
            let x = take(&mut rest, rows * n_in as usize);
            let dy = take(&mut rest, rows * n_out as usize);
            for (to, place, n) in [(&mut *x, places.y[i], n_in as usize), (&mut *dy, places.dy[i + 1], n_out as usize)]
            {
                for (b, row) in to.chunks_exact_mut(n).enumerate() {
                    for (unit, to) in row.iter_mut().enumerate() {
                        *to = tape[(place + unit) * padded + b];
                    }
                }
            }
            let op = LinearBackwardWeight {
                replicas: 1,
                share: 1,
                rows: p.rows,
                n_in,
                n_out,
                weight,
                bias: weight + n_in * n_out,
                stride: p.stride,
            };
            linear_backward_weight(&op, x, dy, grad, rest);
            weight += (n_in + 1) * n_out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 -> 2: W = [1, 2], b = [3, 4] behind one number of another layer.
    #[test]
    fn packs_by_hand() {
        let p = MlpPack { replicas: 1, stride: 5, first: 1, layers: 1, n0: 1, n1: 2, ..bytemuck::Zeroable::zeroed() };
        let mut packed = [f64::NAN; 16];
        mlp_pack(&p, &[9.0, 1.0, 2.0, 3.0, 4.0], &mut packed);
        let mut want = [0.0; 16];
        (want[0], want[1], want[8], want[9]) = (1.0, 2.0, 3.0, 4.0);
        assert_eq!(packed, want);
    }
}
