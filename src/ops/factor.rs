//! A trained factor for each number of a row (MATH.md section 6; the scaling layer and the parametric activations of
//! RealMLP, Holzmueller et al. 2024). Without an activation y = a x; with one y = x + a (act(x) - x), which is x at a = 0
//! and act(x) at a = 1. a [n] lies in the flat vector of each replica at `weight`. Outputs are written with `=`.

use super::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU, activate, activation_slope};
use super::wide::{share, wide};
use super::{Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, binds, elements, fits, params, shared};
use crate::base::Real;
use rayon::prelude::*;

params! {
    /// y [R, rows, n] from x [R or X, rows, n].
    FactorForward {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        rows: u32,
        n: u32,
        weight: u32,
        /// P, the length of one replica's weight vector.
        stride: u32,
        /// 0: y = a x.
        activation: u32,
    }
}
params! {
    /// dx [R, rows, n] from x and dy: a dy, or (1 + a (act'(x) - 1)) dy.
    FactorBackwardData {
        replicas: u32,
        rows: u32,
        n: u32,
        weight: u32,
        stride: u32,
        activation: u32,
    }
}
params! {
    /// da [n], written at `weight` of the gradient vector [R, P]: the sums over the rows of x dy, or of (act(x) - x) dy.
    FactorBackwardWeight {
        replicas: u32,
        share: u32,
        rows: u32,
        n: u32,
        weight: u32,
        stride: u32,
        activation: u32,
    }
}

/// Columns that a workgroup of the weight's gradient sums, by four lanes each.
const COLUMNS: u32 = 16;

impl OpSpec for FactorForward {
    binds!(factor_forward: [x, weights] -> [y]);
    const HALVES: &'static [&'static str] = &["x", "y"];

    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64 * self.n as u64)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n]);
        (vec![x, elements(&[self.replicas, self.stride])], vec![elements(&[self.replicas, self.rows, self.n])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && fits(self.weight, self.n.into(), self.stride)
    }
    /// Of an input that no activation made: `Builder` records nothing else.
    fn gradient(&self, _activation: u32) -> Option<Gradient> {
        let Self { replicas, share, rows, n, weight, stride, activation } = *self;
        let of_weight = FactorBackwardWeight { replicas, share, rows, n, weight, stride, activation };
        let of_data = FactorBackwardData { replicas, rows, n, weight, stride, activation };
        Some(Gradient::Steps(vec![
            GradientStep {
                op: Op::FactorBackwardWeight(of_weight),
                reads: &[Place::X, Place::Dy],
                writes: &[Place::Grad],
            },
            GradientStep {
                op: Op::FactorBackwardData(of_data),
                reads: &[Place::X, Place::Dy, Place::Weights],
                writes: &[Place::Dx],
            },
        ]))
    }
}

impl OpSpec for FactorBackwardData {
    binds!(factor_backward_data: [x, dy, weights] -> [dx]);
    const HALVES: &'static [&'static str] = &["x", "dy", "dx"];

    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64 * self.n as u64)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas, self.rows, self.n]);
        (vec![x, x, elements(&[self.replicas, self.stride])], vec![x])
    }
    fn sizes_agree(&self) -> bool {
        fits(self.weight, self.n.into(), self.stride)
    }
}

impl OpSpec for FactorBackwardWeight {
    binds!(factor_backward_weight: [x, dy] -> [grad]);
    const HALVES: &'static [&'static str] = &["x", "dy"];

    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * self.n.div_ceil(COLUMNS) as u64)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n]);
        (vec![x, elements(&[self.replicas, self.rows, self.n])], vec![elements(&[self.replicas, self.stride])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && fits(self.weight, self.n.into(), self.stride)
    }
}

/// y at x.
#[inline(always)]
fn value<T: Real, const ACTIVATION: u32>(a: T, x: T) -> T {
    if ACTIVATION == ACT_NONE { a * x } else { x + a * (activate(ACTIVATION, x) - x) }
}

/// dy/dx at x.
#[inline(always)]
fn slope<T: Real, const ACTIVATION: u32>(a: T, x: T) -> T {
    if ACTIVATION == ACT_NONE { a } else { T::one() + a * (activation_slope(ACTIVATION, x) - T::one()) }
}

/// dy/da at x.
#[inline(always)]
fn by_factor<T: Real, const ACTIVATION: u32>(x: T) -> T {
    if ACTIVATION == ACT_NONE { x } else { activate(ACTIVATION, x) - x }
}

/// Calls a function with the activation as its constant, so that no lane of its loops branches.
macro_rules! by_activation {
    ($activation:expr, $function:ident($($argument:expr),*)) => {
        match $activation {
            ACT_RELU => $function::<T, ACT_RELU>($($argument),*),
            ACT_SILU => $function::<T, ACT_SILU>($($argument),*),
            ACT_MISH => $function::<T, ACT_MISH>($($argument),*),
            ACT_SELU => $function::<T, ACT_SELU>($($argument),*),
            _ => $function::<T, ACT_NONE>($($argument),*),
        }
    };
}

pub fn factor_forward<T: Real>(p: &FactorForward, x: &[T], weights: &[T], y: &mut [T]) {
    let (n, len, stride) = (p.n as usize, (p.rows * p.n) as usize, p.stride as usize);
    if len == 0 {
        return;
    }
    share(p.replicas as usize * len, y.par_chunks_mut(len).enumerate(), |(r, y)| {
        let x = &x[r / p.share as usize * len..][..len];
        forward(p.activation, &weights[r * stride + p.weight as usize..][..n], x, y);
    });
}

pub fn factor_backward_data<T: Real>(p: &FactorBackwardData, x: &[T], dy: &[T], weights: &[T], dx: &mut [T]) {
    let (n, len, stride) = (p.n as usize, (p.rows * p.n) as usize, p.stride as usize);
    if len == 0 {
        return;
    }
    share(p.replicas as usize * len, dx.par_chunks_mut(len).enumerate(), |(r, dx)| {
        let a = &weights[r * stride + p.weight as usize..][..n];
        pull_back(p.activation, a, &x[r * len..][..len], &dy[r * len..][..len], dx);
    });
}

pub fn factor_backward_weight<T: Real>(p: &FactorBackwardWeight, x: &[T], dy: &[T], grad: &mut [T]) {
    let (n, len, stride) = (p.n as usize, (p.rows * p.n) as usize, p.stride as usize);
    let replicas = p.replicas as usize;
    share(replicas * len, grad.par_chunks_mut(stride).take(replicas).enumerate(), |(r, grad)| {
        let x = &x[r / p.share as usize * len..][..len];
        sum_up(p.activation, x, &dy[r * len..][..len], &mut grad[p.weight as usize..][..n]);
    });
}

wide! {
    /// One replica's rows.
    fn forward<T: Real>(activation: u32, a: &[T], x: &[T], y: &mut [T]) {
        by_activation!(activation, each_value(a, x, y))
    }
}

#[inline(always)]
fn each_value<T: Real, const ACTIVATION: u32>(a: &[T], x: &[T], y: &mut [T]) {
    let n = a.len();
    for (y, x) in y.chunks_exact_mut(n).zip(x.chunks_exact(n)) {
        for j in 0..n {
            y[j] = value::<T, ACTIVATION>(a[j], x[j]);
        }
    }
}

wide! {
    /// One replica's rows.
    fn pull_back<T: Real>(activation: u32, a: &[T], x: &[T], dy: &[T], dx: &mut [T]) {
        by_activation!(activation, each_slope(a, x, dy, dx))
    }
}

#[inline(always)]
fn each_slope<T: Real, const ACTIVATION: u32>(a: &[T], x: &[T], dy: &[T], dx: &mut [T]) {
    let n = a.len();
    for ((dx, x), dy) in dx.chunks_exact_mut(n).zip(x.chunks_exact(n)).zip(dy.chunks_exact(n)) {
        for j in 0..n {
            dx[j] = dy[j] * slope::<T, ACTIVATION>(a[j], x[j]);
        }
    }
}

wide! {
    /// One replica's sums [n].
    fn sum_up<T: Real>(activation: u32, x: &[T], dy: &[T], sums: &mut [T]) {
        by_activation!(activation, each_sum(x, dy, sums))
    }
}

/// Sixteen columns at a time stay in registers; the last sixteen end with the last column, and what they share with the ones
/// before comes out the same.
#[inline(always)]
fn each_sum<T: Real, const ACTIVATION: u32>(x: &[T], dy: &[T], sums: &mut [T]) {
    const WIDTH: usize = COLUMNS as usize;
    let n = sums.len();
    let rows = || x.chunks_exact(n).zip(dy.chunks_exact(n));
    if n < WIDTH {
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = rows().map(|(x, dy)| by_factor::<T, ACTIVATION>(x[j]) * dy[j]).sum();
        }
        return;
    }
    for first in (0..n).step_by(WIDTH) {
        let first = first.min(n - WIDTH);
        let mut lanes = [T::zero(); WIDTH];
        for (x, dy) in rows() {
            let (x, dy) = (&x[first..first + WIDTH], &dy[first..first + WIDTH]);
            for i in 0..WIDTH {
                lanes[i] += by_factor::<T, ACTIVATION>(x[i]) * dy[i];
            }
        }
        sums[first..first + WIDTH].copy_from_slice(&lanes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of two numbers; a = (2, -1). Without an activation a x; with ReLU x + a (max(x, 0) - x).
    #[test]
    fn both_passes_by_hand() {
        let (w, x, dy) = ([9.0, 2.0, -1.0, 9.0], [1.0, -2.0, -3.0, 4.0], [1.0, 10.0, 100.0, 1000.0]);
        let (replicas, share, rows, n, weight, stride) = (1, 1, 2, 2, 1, 4);
        let cases = [
            (ACT_NONE, [2.0, 2.0, -6.0, -4.0], [2.0, -10.0, 200.0, -1000.0], [1.0 - 300.0, -20.0 + 4000.0]),
            // Where x < 0: y = (1 - a) x, dy/dx = 1 - a, dy/da = -x; elsewhere x, 1 and 0.
            (ACT_RELU, [1.0, -4.0, 3.0, 4.0], [1.0, 20.0, -100.0, 1000.0], [300.0, 20.0]),
        ];
        for (activation, want, want_dx, want_da) in cases {
            let (mut y, mut dx, mut grad) = ([f64::NAN; 4], [f64::NAN; 4], [f64::NAN; 4]);
            factor_forward(&FactorForward { replicas, share, rows, n, weight, stride, activation }, &x, &w, &mut y);
            let p = FactorBackwardData { replicas, rows, n, weight, stride, activation };
            factor_backward_data(&p, &x, &dy, &w, &mut dx);
            let p = FactorBackwardWeight { replicas, share, rows, n, weight, stride, activation };
            factor_backward_weight(&p, &x, &dy, &mut grad);
            assert_eq!((y, dx, [grad[1], grad[2]]), (want, want_dx, want_da), "{activation}");
            assert!(grad[0].is_nan() && grad[3].is_nan(), "other weights' gradients were touched");
        }
    }
}
