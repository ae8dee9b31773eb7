//! Batched linear layers: y = act(x W + b) for every replica, and what its backward pass needs.
//! Weights lie in the flat vector [R, P]: W [n_in, n_out] at `weight`, b [n_out] at `bias`. Outputs are written with `=`.

use super::gemm::{Epilogue, Finish, Gate, Mat, beside, gemm, pack_len};
use super::{
    Forms, Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, Product, binds, elements, elements_u64, fits,
    in_quadruples, params, shared,
};
use crate::base::Real;

pub const ACT_NONE: u32 = 0;
pub const ACT_RELU: u32 = 1;
pub const ACT_SILU: u32 = 2;
pub const ACT_MISH: u32 = 3;
pub const ACT_SELU: u32 = 4;

/// Whether the slope is read from the pre-activation, which the forward pass then keeps beside its output.
pub const fn keeps_pre(activation: u32) -> bool {
    activation >= ACT_SILU
}

params! {
    /// y [R, rows, n_out] = act(x [R or X, rows, n_in] W + b); `pre` receives x W + b where `keeps_pre` says so.
    LinearForward {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        rows: u32,
        n_in: u32,
        n_out: u32,
        weight: u32,
        bias: u32,
        /// P, the length of one replica's weight vector.
        stride: u32,
        activation: u32,
    }
}
params! {
    /// dx [R, rows, n_in] = (dy [R, rows, n_out] W') * act'(saved), act being the activation that produced x.
    LinearBackwardData {
        replicas: u32,
        rows: u32,
        n_in: u32,
        n_out: u32,
        weight: u32,
        stride: u32,
        activation: u32,
    }
}
params! {
    /// dW [n_in, n_out] = x' dy, db = column sums of dy, written at `weight` and `bias` of the gradient vector [R, P].
    LinearBackwardWeight {
        replicas: u32,
        share: u32,
        rows: u32,
        n_in: u32,
        n_out: u32,
        weight: u32,
        bias: u32,
        stride: u32,
    }
}

/// Each thread of the shader computes a 4 x 4 tile.
fn tiles(n: u32) -> u32 {
    n.div_ceil(4)
}

impl OpSpec for LinearForward {
    binds!(linear_forward: [x, weights] -> [y, pre], scratch);
    const HALVES: &'static [&'static str] = &["x", "weights", "y", "pre"];
    const FORMS: Forms =
        Forms::Tiled { module: "linear_tiled", entry: "linear_forward_tiled", quads: "linear_forward_tiled_quads" };

    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * tiles(self.rows) as u64 * tiles(self.n_out) as u64)
    }
    fn scratch(&self) -> usize {
        pack_len(self.n_in as usize, self.n_out as usize)
    }
    fn lengths(&self) -> Lengths {
        let y = elements(&[self.replicas, self.rows, self.n_out]);
        let pre = if keeps_pre(self.activation) { y } else { 1 };
        (
            vec![
                elements(&[self.replicas / self.share.max(1), self.rows, self.n_in]),
                elements(&[self.replicas, self.stride]),
            ],
            vec![y, pre],
        )
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && fits(self.weight, elements_u64(&[self.n_in, self.n_out]), self.stride)
            && fits(self.bias, u64::from(self.n_out), self.stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, self.n_in + 1, self.n_out]))
    }
    fn product(&self) -> Option<Product> {
        let (m, n, k) = (self.rows.into(), self.n_out.into(), self.n_in.into());
        let whole = in_quadruples(&[self.n_in, self.n_out, self.weight, self.bias], self.replicas, self.stride);
        Some(Product { count: self.replicas.into(), m, n, k, whole })
    }
    fn gradient(&self, activation: u32) -> Option<Gradient> {
        let Self { replicas, share, rows, n_in, n_out, weight, bias, stride, .. } = *self;
        let of_weight = LinearBackwardWeight { replicas, share, rows, n_in, n_out, weight, bias, stride };
        let of_data = LinearBackwardData { replicas, rows, n_in, n_out, weight, stride, activation };
        Some(Gradient::Steps(vec![
            GradientStep {
                op: Op::LinearBackwardWeight(of_weight),
                reads: &[Place::X, Place::Dy],
                writes: &[Place::Grad],
            },
            GradientStep {
                op: Op::LinearBackwardData(of_data),
                reads: &[Place::Dy, Place::Weights, Place::Saved],
                writes: &[Place::Dx],
            },
        ]))
    }
}
impl OpSpec for LinearBackwardData {
    binds!(linear_backward_data: [dy, weights, saved] -> [dx], scratch);
    const HALVES: &'static [&'static str] = &["dy", "weights", "saved", "dx"];
    const FORMS: Forms = Forms::Tiled {
        module: "linear_tiled",
        entry: "linear_backward_data_tiled",
        quads: "linear_backward_data_tiled_quads",
    };

    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * tiles(self.rows) as u64 * tiles(self.n_in) as u64)
    }
    fn scratch(&self) -> usize {
        pack_len(self.n_out as usize, self.n_in as usize)
    }
    fn lengths(&self) -> Lengths {
        let dx = elements(&[self.replicas, self.rows, self.n_in]);
        (
            vec![
                elements(&[self.replicas, self.rows, self.n_out]),
                elements(&[self.replicas, self.stride]),
                if self.activation == 0 { 1 } else { dx },
            ],
            vec![dx],
        )
    }
    fn sizes_agree(&self) -> bool {
        fits(self.weight, elements_u64(&[self.n_in, self.n_out]), self.stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, self.n_in + 1, self.n_out]))
    }
    fn product(&self) -> Option<Product> {
        let (m, n, k) = (self.rows.into(), self.n_in.into(), self.n_out.into());
        let whole = in_quadruples(&[self.n_in, self.n_out, self.weight], self.replicas, self.stride);
        Some(Product { count: self.replicas.into(), m, n, k, whole })
    }
}
impl OpSpec for LinearBackwardWeight {
    binds!(linear_backward_weight: [x, dy] -> [grad], scratch);
    const HALVES: &'static [&'static str] = &["x", "dy"];
    const FORMS: Forms = Forms::SplitGradient {
        module: "linear_split",
        split: "linear_backward_weight_split",
        combine: "linear_backward_weight_reduce",
    };

    fn grid(&self) -> Grid {
        // One more row of tiles: the bias.
        Grid::Threads(self.replicas as u64 * (tiles(self.n_in) as u64 + 1) * tiles(self.n_out) as u64)
    }
    fn scratch(&self) -> usize {
        pack_len(self.rows as usize, self.n_out as usize)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![
                elements(&[self.replicas / self.share.max(1), self.rows, self.n_in]),
                elements(&[self.replicas, self.rows, self.n_out]),
            ],
            vec![elements(&[self.replicas, self.stride])],
        )
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && fits(self.weight, elements_u64(&[self.n_in, self.n_out]), self.stride)
            && fits(self.bias, u64::from(self.n_out), self.stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, self.n_in + 1, self.n_out]))
    }
    fn product(&self) -> Option<Product> {
        let (m, n, k) = (self.n_in.into(), self.n_out.into(), self.rows.into());
        let whole = in_quadruples(&[self.n_in, self.n_out], 1, 0);
        Some(Product { count: self.replicas.into(), m, n, k, whole })
    }
}

/// The activation's value.
#[inline(always)]
pub fn activate<T: Real>(activation: u32, z: T) -> T {
    match activation {
        ACT_RELU => z.at_least(T::zero()),
        ACT_SILU => z * z.sigmoid(),
        ACT_MISH => {
            let (t, _) = mish_gate(z);
            z * t
        }
        ACT_SELU => {
            if z > T::zero() {
                T::of(SELU_SCALE) * z
            } else {
                T::of(SELU_LOW) * (z.exp() - T::one())
            }
        }
        _ => z,
    }
}

/// Klambauer et al. 2017: outputs of mean 0 and variance 1 stay so from layer to layer. SELU is scale * z above 0 and
/// scale * alpha (e^z - 1) below.
pub const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
pub const SELU_LOW: f64 = SELU_SCALE * SELU_ALPHA;

/// From here on Mish is z and its slope 1 in both scalars, and e^2 z is far from overflow.
const MISH_FAR: f64 = 20.0;

/// t = tanh(log(1 + e^z)) = w / (w + 2) with w = e^z (e^z + 2), and dt/dz = 4 e^z (1 + e^z) / (w + 2)^2.
#[inline(always)]
fn mish_gate<T: Real>(z: T) -> (T, T) {
    let (e, two) = (z.at_most(T::of(MISH_FAR)).exp(), T::of(2.0));
    let w = e * (e + two);
    let inverse = T::one() / (w + two);
    (w * inverse, T::of(4.0) * e * (T::one() + e) * (inverse * inverse))
}

/// y = act(pre), with a loop of its own for each activation, so that none of them branches.
#[inline(always)]
pub fn activate_all<T: Real>(activation: u32, pre: &[T], y: &mut [T]) {
    match activation {
        ACT_SILU => apply::<T, ACT_SILU>(pre, y),
        ACT_MISH => apply::<T, ACT_MISH>(pre, y),
        ACT_SELU => apply::<T, ACT_SELU>(pre, y),
        _ => y.copy_from_slice(pre),
    }
}

#[inline(always)]
fn apply<T: Real, const ACTIVATION: u32>(pre: &[T], y: &mut [T]) {
    for (y, z) in y.iter_mut().zip(pre) {
        *y = activate(ACTIVATION, *z);
    }
}

/// Its derivative from what the forward pass kept: the output for ReLU (its input will do, too), the pre-activation for the
/// others.
#[inline(always)]
pub fn activation_slope<T: Real>(activation: u32, saved: T) -> T {
    match activation {
        ACT_RELU => {
            if saved > T::zero() {
                T::one()
            } else {
                T::zero()
            }
        }
        ACT_SILU => {
            let s = saved.sigmoid();
            s * (T::one() + saved * (T::one() - s))
        }
        ACT_MISH => {
            let (t, slope) = mish_gate(saved);
            t + saved.at_most(T::of(MISH_FAR)) * slope
        }
        ACT_SELU => {
            if saved > T::zero() {
                T::of(SELU_SCALE)
            } else {
                T::of(SELU_LOW) * saved.exp()
            }
        }
        _ => T::one(),
    }
}

/// Times the slope of any activation at `saved` [m, `cols`].
pub struct TimesSlope<'a, T> {
    pub saved: &'a [T],
    pub cols: usize,
    pub activation: u32,
}
impl<T: Real> Epilogue<T> for TimesSlope<'_, T> {
    #[inline(always)]
    fn apply<const W: usize>(&self, row: usize, col: usize, values: [T; W]) -> [T; W] {
        let at = row * self.cols + col;
        // A constant in each arm, so that no lane branches.
        match self.activation {
            ACT_RELU => beside(values, self.saved, at, |v, saved| v * activation_slope(ACT_RELU, saved)),
            ACT_SILU => beside(values, self.saved, at, |v, saved| v * activation_slope(ACT_SILU, saved)),
            ACT_MISH => beside(values, self.saved, at, |v, saved| v * activation_slope(ACT_MISH, saved)),
            ACT_SELU => beside(values, self.saved, at, |v, saved| v * activation_slope(ACT_SELU, saved)),
            _ => values,
        }
    }
}

pub fn linear_forward<T: Real>(p: &LinearForward, x: &[T], w: &[T], y: &mut [T], pre: &mut [T], scratch: &mut [T]) {
    let (rows, n_in, n_out) = (p.rows as usize, p.n_in as usize, p.n_out as usize);
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * rows * n_in..][..rows * n_in];
        let w = &w[r * p.stride as usize..][..p.stride as usize];
        let weight = Mat::rows(&w[p.weight as usize..][..n_in * n_out], n_out);
        let bias = &w[p.bias as usize..][..n_out];
        let part = r * rows * n_out..(r + 1) * rows * n_out;
        let finish = Finish { bias: Some(bias), relu: p.activation == ACT_RELU, gate: None };
        if keeps_pre(p.activation) {
            let pre = &mut pre[part.clone()];
            gemm(rows, n_out, n_in, Mat::rows(x, n_in), weight, pre, scratch, &finish);
            activate_all(p.activation, pre, &mut y[part]);
        } else {
            gemm(rows, n_out, n_in, Mat::rows(x, n_in), weight, &mut y[part], scratch, &finish);
        }
    }
}

pub fn linear_backward_data<T: Real>(
    p: &LinearBackwardData,
    dy: &[T],
    w: &[T],
    saved: &[T],
    dx: &mut [T],
    scratch: &mut [T],
) {
    let (rows, n_in, n_out) = (p.rows as usize, p.n_in as usize, p.n_out as usize);
    for r in 0..p.replicas as usize {
        let dy = &dy[r * rows * n_out..][..rows * n_out];
        let weight = &w[r * p.stride as usize + p.weight as usize..][..n_in * n_out];
        let part = r * rows * n_in..(r + 1) * rows * n_in;
        let (a, b) = (Mat::rows(dy, n_out), Mat::transposed(weight, n_out));
        let dx = &mut dx[part.clone()];
        if keeps_pre(p.activation) {
            let slope = TimesSlope { saved: &saved[part], cols: n_in, activation: p.activation };
            gemm(rows, n_in, n_out, a, b, dx, scratch, &slope);
        } else {
            let gate = (p.activation == ACT_RELU).then(|| Gate { values: &saved[part], cols: n_in });
            gemm(rows, n_in, n_out, a, b, dx, scratch, &Finish { gate, ..Default::default() });
        }
    }
}

#[inline(always)]
pub fn linear_backward_weight<T: Real>(p: &LinearBackwardWeight, x: &[T], dy: &[T], grad: &mut [T], scratch: &mut [T]) {
    let (rows, n_in, n_out) = (p.rows as usize, p.n_in as usize, p.n_out as usize);
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * rows * n_in..][..rows * n_in];
        let dy = &dy[r * rows * n_out..][..rows * n_out];
        let grad = &mut grad[r * p.stride as usize..][..p.stride as usize];
        let dw = &mut grad[p.weight as usize..][..n_in * n_out];
        gemm(n_in, n_out, rows, Mat::transposed(x, n_in), Mat::rows(dy, n_out), dw, scratch, &Finish::default());
        column_sums(dy, &mut grad[p.bias as usize..][..n_out]);
    }
}

/// sums [n] = those of the columns of x [rows, n]. Sixteen at a time stay in registers; the last sixteen end with the last
/// column, and what they share with the ones before comes out the same.
#[inline(always)]
fn column_sums<T: Real>(x: &[T], sums: &mut [T]) {
    const WIDTH: usize = 16;
    let n = sums.len();
    for first in (0..n).step_by(WIDTH) {
        if n < WIDTH {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = x.chunks_exact(n).map(|row| row[j]).sum();
            }
            return;
        }
        let first = first.min(n - WIDTH);
        let mut lanes = [T::zero(); WIDTH];
        for row in x.chunks_exact(n) {
            let row = &row[first..first + WIDTH];
            for i in 0..WIDTH {
                lanes[i] += row[i];
            }
        }
        sums[first..first + WIDTH].copy_from_slice(&lanes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = [1, 2], W = [[1, 0, -1], [2, 1, 0]], b = [0, -3, 0.5]: x W + b = [5, -1, -0.5].
    #[test]
    fn forward_by_hand() {
        let w = [1.0, 0.0, -1.0, 2.0, 1.0, 0.0, 0.0, -3.0, 0.5];
        let mut p = LinearForward {
            replicas: 1,
            share: 1,
            rows: 1,
            n_in: 2,
            n_out: 3,
            weight: 0,
            bias: 6,
            stride: 9,
            activation: ACT_RELU,
        };
        let (mut y, mut pre, mut scratch) = ([f64::NAN; 3], [f64::NAN; 3], [0.0; 128]);
        linear_forward(&p, &[1.0, 2.0], &w, &mut y, &mut pre, &mut scratch);
        assert_eq!(y, [5.0, 0.0, 0.0]);
        p.activation = ACT_NONE;
        linear_forward(&p, &[1.0, 2.0], &w, &mut y, &mut pre, &mut scratch);
        assert_eq!(y, [5.0, -1.0, -0.5]);
        p.activation = ACT_SILU;
        linear_forward(&p, &[1.0, 2.0], &w, &mut y, &mut pre, &mut scratch);
        assert_eq!(pre, [5.0, -1.0, -0.5]);
        assert!((y[1] + 1.0 / (1.0 + 1f64.exp())).abs() < 1e-15);
    }

    #[test]
    fn slopes_are_the_derivatives() {
        for z in [-40.0f64, -4.0, -0.5, 0.0, 0.3, 2.0, 40.0] {
            for activation in [ACT_SILU, ACT_MISH, ACT_SELU].into_iter().filter(|a| *a != ACT_SELU || z != 0.0) {
                let h = 1e-6;
                let d = (activate(activation, z + h) - activate(activation, z - h)) / (2.0 * h);
                assert!((d - activation_slope(activation, z)).abs() < 1e-8, "{activation} at {z}");
            }
        }
        assert_eq!(activation_slope(ACT_RELU, 0.0f64), 0.0);
        assert_eq!(activation_slope(ACT_SELU, 0.0f64), SELU_LOW);
    }

    /// The two equations that its constants solve: of z ~ N(0, 1) its output has mean 0 and variance 1. By the midpoint rule.
    /// In f32 nothing overflows, and a NaN stays one.
    #[test]
    fn selu_keeps_mean_and_variance() {
        let (steps, mut mean, mut square) = (400_000, 0.0, 0.0);
        for i in 0..steps {
            let z = -20.0 + 40.0 * (i as f64 + 0.5) / steps as f64;
            let weight = 40.0 / steps as f64 * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
            let y: f64 = activate(ACT_SELU, z);
            (mean, square) = (mean + weight * y, square + weight * y * y);
        }
        // The kink costs the rule a square of the step, 1e-8.
        assert!(mean.abs() < 1e-8 && (square - 1.0).abs() < 1e-8, "{mean} {square}");
        for z in [100.0f32, 1e10] {
            assert_eq!(activate(ACT_SELU, -z), -(SELU_LOW as f32));
            assert!(activation_slope(ACT_SELU, -z).abs() < 1e-37 && activate(ACT_SELU, z).is_finite());
        }
        assert!(activate(ACT_SELU, f32::NAN).is_nan() && activation_slope(ACT_SELU, f32::NAN).is_nan());
    }

    /// z tanh(log(1 + e^z)) by the standard library; in f32 nothing overflows, and a NaN stays one.
    #[test]
    fn mish_is_its_formula_at_any_size() {
        for z in [-30.0f64, -3.0, -1.19, -1e-9, 0.0, 1e-9, 0.7, 5.0, 30.0] {
            let want = z * z.exp().ln_1p().tanh();
            assert!((activate(ACT_MISH, z) - want).abs() <= 1e-15 * (1.0 + z.abs()), "{z}");
            let f = activate(ACT_MISH, z as f32);
            assert!((f64::from(f) - want).abs() <= 6e-7 * want.abs() + 1e-9, "{z} in f32: {f}");
        }
        for z in [100.0f32, 1e10, f32::MAX] {
            assert_eq!((activate(ACT_MISH, z), activation_slope(ACT_MISH, z)), (z, 1.0));
            let far = [activate(ACT_MISH, -z), activation_slope(ACT_MISH, -z)];
            assert!(far.iter().all(|v| v.abs() < 1e-37), "{far:?}");
        }
        assert!(activate(ACT_MISH, f32::NAN).is_nan() && activation_slope(ACT_MISH, f32::NAN).is_nan());
    }
}
