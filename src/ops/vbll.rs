//! Variational Bayesian last layer (MATH.md section 5; Harrison et al. 2024): the last layer's weights are Gaussian,
//! W ~ N(mean, diag exp(log_scale)^2), and so is the logits' noise, sd exp(log_noise). mean and log_scale lie in the flat vector
//! as [n_in, k], k contiguous, log_noise as [k]. No bias: append a feature that is always 1 for one.
//! y [R, rows, 3k] = (m = mean of the logits, v = variance that W gives them, log_noise repeated).

use super::gemm::{Epilogue, Finish, Mat, beside, gemm, pack_len};
use super::linear::{ACT_NONE, activation_slope};
use super::wide::{PIECE, share, wide};
use super::{
    Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, StepArgs, binds, elements, elements_u64, fits, params,
    shared,
};
use crate::base::Real;
use rayon::prelude::*;

mod head;

pub use head::{VbllHead, vbll_head};

params! {
    /// y [R, rows, 3k] from x [R or X, rows, n_in].
    VbllForward {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        rows: u32,
        n_in: u32,
        k: u32,
        mean: u32,
        log_scale: u32,
        log_noise: u32,
        /// P, the length of one replica's weight vector.
        stride: u32,
    }
}
params! {
    /// dx [R, rows, n_in] = (dm W' + 2 x (dv exp(2 log_scale)')) * act'(saved), act being the activation that produced x.
    VbllBackwardData {
        replicas: u32,
        rows: u32,
        n_in: u32,
        k: u32,
        mean: u32,
        log_scale: u32,
        stride: u32,
        activation: u32,
    }
}
params! {
    /// The gradient's ranges of mean, log_scale and log_noise in grad [R, P].
    VbllBackwardWeight {
        replicas: u32,
        share: u32,
        rows: u32,
        n_in: u32,
        k: u32,
        mean: u32,
        log_scale: u32,
        log_noise: u32,
        stride: u32,
    }
}
params! {
    /// value [R] = KL - dof (-2 sum log sn) + 1/2 sum sn^-2, with KL = 1/2 [|mean|^2 + sum exp(2 log_scale) - 2 sum log_scale]
    /// and dof = (K + 2) / 2; grad [R, P] += eta / n_rows * its gradient.
    VbllRegularizer {
        replicas: u32,
        n_in: u32,
        k: u32,
        mean: u32,
        log_scale: u32,
        log_noise: u32,
        stride: u32,
        n_rows: u32,
    }
}

/// Each thread of the shader serves four rows.
fn quads(rows: u32) -> u64 {
    rows.div_ceil(4) as u64
}

/// Whether mean and log_scale lie in the flat vector.
fn weights_fit(n_in: u32, k: u32, places: [u32; 2], stride: u32) -> bool {
    places.iter().all(|&first| fits(first, elements_u64(&[n_in, k]), stride))
}

impl OpSpec for VbllForward {
    binds!(vbll_forward: [x, weights] -> [y], scratch);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * quads(self.rows) * self.k as u64)
    }
    /// exp(2 log_scale), squares of x, a product and its packing.
    fn scratch(&self) -> usize {
        let (rows, n_in, k) = (self.rows as usize, self.n_in as usize, self.k as usize);
        n_in * k + rows * n_in + rows * k + pack_len(n_in, k)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n_in]);
        (vec![x, elements(&[self.replicas, self.stride])], vec![elements(&[self.replicas, self.rows, 3, self.k])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && weights_fit(self.n_in, self.k, [self.mean, self.log_scale], self.stride)
            && fits(self.log_noise, u64::from(self.k), self.stride)
    }
    fn gradient(&self, activation: u32) -> Option<Gradient> {
        let Self { replicas, share, rows, n_in, k, mean, log_scale, log_noise, stride } = *self;
        let of_weight = VbllBackwardWeight { replicas, share, rows, n_in, k, mean, log_scale, log_noise, stride };
        let of_data = VbllBackwardData { replicas, rows, n_in, k, mean, log_scale, stride, activation };
        Some(Gradient::Steps(vec![
            GradientStep {
                op: Op::VbllBackwardWeight(of_weight),
                reads: &[Place::X, Place::Dy, Place::Weights],
                writes: &[Place::Grad],
            },
            GradientStep {
                op: Op::VbllBackwardData(of_data),
                reads: &[Place::X, Place::Dy, Place::Weights, Place::Saved],
                writes: &[Place::Dx],
            },
        ]))
    }
}
impl OpSpec for VbllBackwardData {
    binds!(vbll_backward_data: [x, dy, weights, saved] -> [dx], scratch);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * quads(self.rows) * self.n_in as u64)
    }
    /// exp(2 log_scale), a product and its packing.
    fn scratch(&self) -> usize {
        let (rows, n_in, k) = (self.rows as usize, self.n_in as usize, self.k as usize);
        n_in * k + rows * n_in + pack_len(k, n_in)
    }
    fn lengths(&self) -> Lengths {
        let (dx, dy) =
            (elements(&[self.replicas, self.rows, self.n_in]), elements(&[self.replicas, self.rows, 3, self.k]));
        (vec![dx, dy, elements(&[self.replicas, self.stride]), if self.activation == 0 { 1 } else { dx }], vec![dx])
    }
    fn sizes_agree(&self) -> bool {
        weights_fit(self.n_in, self.k, [self.mean, self.log_scale], self.stride)
    }
}
impl OpSpec for VbllBackwardWeight {
    binds!(vbll_backward_weight: [x, dy, weights] -> [grad], scratch);
    fn grid(&self) -> Grid {
        // One more row: the noise.
        Grid::Threads(self.replicas as u64 * (self.n_in as u64 + 1) * self.k as u64)
    }
    /// Squares of x, the packing of a product.
    fn scratch(&self) -> usize {
        let (rows, n_in, k) = (self.rows as usize, self.n_in as usize, self.k as usize);
        rows * n_in + pack_len(rows, k)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n_in]);
        let w = elements(&[self.replicas, self.stride]);
        (vec![x, elements(&[self.replicas, self.rows, 3, self.k]), w], vec![w])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && weights_fit(self.n_in, self.k, [self.mean, self.log_scale], self.stride)
            && fits(self.log_noise, u64::from(self.k), self.stride)
    }
}
impl VbllRegularizer {
    /// Trained numbers of a layer.
    fn numbers(&self) -> u64 {
        (2 * self.n_in as u64 + 1) * self.k as u64
    }
}
impl OpSpec for VbllRegularizer {
    binds!(vbll_regularizer(step): [weights] -> [grad, value]);
    /// One workgroup per replica for the value; in the others each thread makes one number of the gradient.
    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * (1 + self.numbers().div_ceil(64)))
    }
    fn lengths(&self) -> Lengths {
        let w = elements(&[self.replicas, self.stride]);
        (vec![w], vec![w, self.replicas as usize])
    }
    fn sizes_agree(&self) -> bool {
        self.n_rows > 0
            && weights_fit(self.n_in, self.k, [self.mean, self.log_scale], self.stride)
            && fits(self.log_noise, u64::from(self.k), self.stride)
    }
}

wide! {
    fn variances<T: Real>(log_scale: &[T], variance: &mut [T]) {
        for (v, l) in variance.iter_mut().zip(log_scale) {
            *v = (*l + *l).exp();
        }
    }
}

wide! {
    fn squares<T: Real>(x: &[T], squared: &mut [T]) {
        for (s, x) in squared.iter_mut().zip(x) {
            *s = *x * *x;
        }
    }
}

/// `each` on pieces of both slices.
fn pieces<T: Real>(from: &[T], to: &mut [T], each: fn(&[T], &mut [T])) {
    share(from.len(), to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE)), |(to, from)| each(from, to));
}

pub fn vbll_forward<T: Real>(p: &VbllForward, x: &[T], w: &[T], y: &mut [T], scratch: &mut [T]) {
    let (rows, n_in, k) = (p.rows as usize, p.n_in as usize, p.k as usize);
    let (variance, scratch) = scratch.split_at_mut(n_in * k);
    let (squared, scratch) = scratch.split_at_mut(rows * n_in);
    let (product, pack) = scratch.split_at_mut(rows * k);
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * rows * n_in..][..rows * n_in];
        let w = &w[r * p.stride as usize..][..p.stride as usize];
        let mean = Mat::rows(&w[p.mean as usize..][..n_in * k], k);
        pieces(&w[p.log_scale as usize..][..n_in * k], variance, variances);
        if r % p.share as usize == 0 {
            pieces(x, squared, squares);
        }
        let y = &mut y[r * rows * 3 * k..][..rows * 3 * k];
        gemm(rows, k, n_in, Mat::rows(x, n_in), mean, product, pack, &Finish::default());
        for (y, m) in y.chunks_exact_mut(3 * k).zip(product.chunks_exact(k)) {
            y[..k].copy_from_slice(m);
            y[2 * k..].copy_from_slice(&w[p.log_noise as usize..][..k]);
        }
        gemm(rows, k, n_in, Mat::rows(squared, n_in), Mat::rows(variance, k), product, pack, &Finish::default());
        for (y, v) in y.chunks_exact_mut(3 * k).zip(product.chunks_exact(k)) {
            y[k..2 * k].copy_from_slice(v);
        }
    }
}

/// (m part + 2 x * v part) * act'(saved), `v_part` being what the product finds in the tile.
struct Join<'a, T> {
    m_part: &'a [T],
    x: &'a [T],
    saved: &'a [T],
    cols: usize,
    activation: u32,
}
impl<T: Real> Epilogue<T> for Join<'_, T> {
    #[inline(always)]
    fn apply<const W: usize>(&self, row: usize, col: usize, values: [T; W]) -> [T; W] {
        let at = row * self.cols + col;
        let values = beside(values, self.x, at, |v, x| T::of(2.0) * x * v);
        let values = beside(values, self.m_part, at, |v, m| m + v);
        if self.activation == ACT_NONE {
            return values;
        }
        beside(values, self.saved, at, |v, saved| v * activation_slope(self.activation, saved))
    }
}

pub fn vbll_backward_data<T: Real>(
    p: &VbllBackwardData,
    x: &[T],
    dy: &[T],
    w: &[T],
    saved: &[T],
    dx: &mut [T],
    scratch: &mut [T],
) {
    let (rows, n_in, k) = (p.rows as usize, p.n_in as usize, p.k as usize);
    let (variance, scratch) = scratch.split_at_mut(n_in * k);
    let (m_part, pack) = scratch.split_at_mut(rows * n_in);
    for r in 0..p.replicas as usize {
        let part = r * rows * n_in..(r + 1) * rows * n_in;
        let dy = &dy[r * rows * 3 * k..][..rows * 3 * k];
        let w = &w[r * p.stride as usize..][..p.stride as usize];
        pieces(&w[p.log_scale as usize..][..n_in * k], variance, variances);
        let mean = Mat::transposed(&w[p.mean as usize..][..n_in * k], k);
        gemm(rows, n_in, k, Mat::rows(dy, 3 * k), mean, m_part, pack, &Finish::default());
        let saved = if p.activation == ACT_NONE { &[] } else { &saved[part.clone()] };
        let join = Join { m_part, x: &x[part.clone()], saved, cols: n_in, activation: p.activation };
        let (dv, variance) = (Mat::rows(&dy[k..], 3 * k), Mat::transposed(variance, k));
        gemm(rows, n_in, k, dv, variance, &mut dx[part], pack, &join);
    }
}

/// 2 exp(2 log_scale) times what the product finds.
struct TimesVariance<'a, T> {
    log_scale: &'a [T],
    cols: usize,
}
impl<T: Real> Epilogue<T> for TimesVariance<'_, T> {
    #[inline(always)]
    fn apply<const W: usize>(&self, row: usize, col: usize, values: [T; W]) -> [T; W] {
        beside(values, self.log_scale, row * self.cols + col, |v, l| v * (T::of(2.0) * (l + l).exp()))
    }
}

pub fn vbll_backward_weight<T: Real>(
    p: &VbllBackwardWeight,
    x: &[T],
    dy: &[T],
    w: &[T],
    grad: &mut [T],
    scratch: &mut [T],
) {
    let (rows, n_in, k) = (p.rows as usize, p.n_in as usize, p.k as usize);
    let (squared, pack) = scratch.split_at_mut(rows * n_in);
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * rows * n_in..][..rows * n_in];
        let dy = &dy[r * rows * 3 * k..][..rows * 3 * k];
        let all = r * p.stride as usize..(r + 1) * p.stride as usize;
        let (w, grad) = (&w[all.clone()], &mut grad[all]);
        if r % p.share as usize == 0 {
            pieces(x, squared, squares);
        }
        let dmean = &mut grad[p.mean as usize..][..n_in * k];
        gemm(n_in, k, rows, Mat::transposed(x, n_in), Mat::rows(dy, 3 * k), dmean, pack, &Finish::default());
        let times = TimesVariance { log_scale: &w[p.log_scale as usize..][..n_in * k], cols: k };
        let dscale = &mut grad[p.log_scale as usize..][..n_in * k];
        gemm(n_in, k, rows, Mat::transposed(squared, n_in), Mat::rows(&dy[k..], 3 * k), dscale, pack, &times);
        let dnoise = &mut grad[p.log_noise as usize..][..k];
        dnoise.fill(T::zero());
        for row in dy.chunks_exact(3 * k) {
            for (sum, d) in dnoise.iter_mut().zip(&row[2 * k..]) {
                *sum += *d;
            }
        }
    }
}

/// Partial sums of a long vector at most.
const PARTS: usize = 64;

pub fn vbll_regularizer<T: Real>(p: &VbllRegularizer, args: &StepArgs<T>, w: &[T], grad: &mut [T], value: &mut [T]) {
    let (n, k) = (p.n_in as usize * p.k as usize, p.k as usize);
    let scale = args.eta / T::of(p.n_rows as f64);
    // 2 dof
    let dof2 = T::of(p.k as f64 + 2.0);
    let (half, two) = (T::of(0.5), T::of(2.0));
    let piece = n.div_ceil(PARTS).max(PIECE);
    for r in 0..p.replicas as usize {
        let all = r * p.stride as usize..(r + 1) * p.stride as usize;
        let (w, grad) = (&w[all.clone()], &mut grad[all]);
        let (mean, log_scale) = (&w[p.mean as usize..][..n], &w[p.log_scale as usize..][..n]);
        let mut parts = [T::zero(); 2 * PARTS];
        let (of_mean, of_scale) = parts.split_at_mut(PARTS);
        let dmean = grad[p.mean as usize..][..n].par_chunks_mut(piece).zip(mean.par_chunks(piece));
        share(n, of_mean.par_iter_mut().zip(dmean), |(sum, (d, w))| mean_part(scale, w, d, sum));
        let dscale = grad[p.log_scale as usize..][..n].par_chunks_mut(piece).zip(log_scale.par_chunks(piece));
        share(n, of_scale.par_iter_mut().zip(dscale), |(sum, (d, w))| scale_part(scale, w, d, sum));
        let mut sum = half * parts.iter().copied().sum::<T>();
        for c in p.log_noise as usize..p.log_noise as usize + k {
            let precision = (-two * w[c]).exp();
            sum += dof2 * w[c] + half * precision;
            grad[c] += scale * (dof2 - precision);
        }
        value[r] = sum;
    }
}

wide! {
    fn mean_part<T: Real>(scale: T, w: &[T], grad: &mut [T], sum: &mut T) {
        // Sixteen running sums: an order of its own that vector code can keep.
        let mut lanes = [T::zero(); 16];
        for (w, grad) in w.chunks(16).zip(grad.chunks_mut(16)) {
            for (lane, (w, grad)) in lanes.iter_mut().zip(w.iter().zip(grad)) {
                *lane += *w * *w;
                *grad += scale * *w;
            }
        }
        *sum = lanes.iter().copied().sum();
    }
}

wide! {
    fn scale_part<T: Real>(scale: T, w: &[T], grad: &mut [T], sum: &mut T) {
        let mut lanes = [T::zero(); 16];
        for (w, grad) in w.chunks(16).zip(grad.chunks_mut(16)) {
            for (lane, (w, grad)) in lanes.iter_mut().zip(w.iter().zip(grad)) {
                let variance = (*w + *w).exp();
                *lane += variance - (*w + *w);
                *grad += scale * (variance - T::one());
            }
        }
        *sum = lanes.iter().copied().sum();
    }
}

#[cfg(test)]
mod tests;
