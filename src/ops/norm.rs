//! Batch normalisation, NHWC: per channel over the pixels of a batch, gamma and beta in the flat weights.
//! Valid data rows and auxiliary rows are two groups with statistics of their own, as two forward passes would have; filler
//! rows of a short batch belong to none: they are normalised like data rows and get no gradient. A group of one value a
//! channel has variance 0 and gives beta. Running statistics follow the data rows only (momentum 0.1, unbiased variance).

mod backward;
mod channels;
#[cfg(test)]
mod tests;

pub use backward::{batch_norm_backward, batch_norm_pull, batch_norm_sums};
pub(super) use channels::{any_slope, channels, normalise, of_channels};

use super::wide::{PIECE, share, wide};
use super::{
    Forms, Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, Product, StepArgs, binds, elements, elements_u64,
    fits, params,
};
use crate::base::Real;
use rayon::prelude::*;

params! {
    /// stats [R, 2, 2, c]: mean and 1/sqrt(var + eps) of the data rows and of the auxiliary rows of x [R, images, pixels, c];
    /// running [R, running_stride] at `running`: mean [c], variance [c], moved by `momentum`.
    BatchNormStats {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        running: u32,
        running_stride: u32,
        eps: f32,
        momentum: f32,
    }
}
params! {
    /// stats [R, 2, 2, c] from the running statistics, for evaluation.
    BatchNormRunning {
        replicas: u32,
        c: u32,
        running: u32,
        running_stride: u32,
        eps: f32,
    }
}
params! {
    /// y = act(gamma (x - mean) / sd + beta).
    BatchNormForward {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        beta: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dgamma and dbeta at their places of the gradient [R, P]; sums [R, 2, 2, c]: a group's means of d and d * xhat, with
    /// d = dy * act'(y).
    BatchNormSums {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        beta: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dx = gamma / sd (d - mean d - xhat mean(d xhat)).
    BatchNormBackward {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dx = gamma / sd (d - mean d - xhat mean(d xhat)) (+ other), d being the gradient before the activation.
    BatchNormPull {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        weights_stride: u32,
        has_other: u32,
    }
}
params! {
    /// y = a + b.
    Add {
        count: u32,
    }
}

/// The sums of the channels of one group of rows, or of two where there are auxiliary ones, as a product.
fn sums_over_rows(replicas: u32, data_images: u32, images: u32, pixels: u32, c: u32) -> Product {
    let kinds = if images > data_images { 2 } else { 1 };
    Product { count: u64::from(replicas) * kinds, m: c.into(), n: 1, k: elements_u64(&[images, pixels]), whole: false }
}

impl OpSpec for BatchNormStats {
    binds!(batch_norm_stats(step): [x] -> [stats, running], scratch);
    const HALVES: &'static [&'static str] = &["x"];
    const FORMS: Forms = Forms::SplitSums {
        module: "norm_split",
        split: "batch_norm_stats_split",
        combine: "batch_norm_stats_combine",
        sums: 3,
    };

    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * 2 * self.c as u64)
    }
    fn scratch(&self) -> usize {
        (GROUPS + 1) * lanes(self.c as usize) + 2 * self.c as usize
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas, self.images, self.pixels, self.c]);
        (vec![x], vec![elements(&[self.replicas, 4, self.c]), elements(&[self.replicas, self.running_stride])])
    }
    fn sizes_agree(&self) -> bool {
        self.data_images <= self.images && fits(self.running, elements_u64(&[2, self.c]), self.running_stride)
    }
    fn product(&self) -> Option<Product> {
        Some(sums_over_rows(self.replicas, self.data_images, self.images, self.pixels, self.c))
    }
}
impl OpSpec for BatchNormRunning {
    binds!(batch_norm_running: [running] -> [stats]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.running_stride])], vec![elements(&[self.replicas, 4, self.c])])
    }
    fn sizes_agree(&self) -> bool {
        fits(self.running, elements_u64(&[2, self.c]), self.running_stride)
    }
}
impl OpSpec for BatchNormForward {
    binds!(batch_norm_forward: [x, stats, weights] -> [y]);
    const HALVES: &'static [&'static str] = &["x", "y"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.images as u64 * self.pixels as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas, self.images, self.pixels, self.c]);
        (vec![x, elements(&[self.replicas, 4, self.c]), elements(&[self.replicas, self.weights_stride])], vec![x])
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, 2, self.c]))
    }
    fn sizes_agree(&self) -> bool {
        self.data_images <= self.images
            && fits(self.gamma, u64::from(self.c), self.weights_stride)
            && fits(self.beta, u64::from(self.c), self.weights_stride)
    }
    fn gradient(&self, _: u32) -> Option<Gradient> {
        let Self { replicas, images, data_images, pixels, c, gamma, beta, weights_stride, activation } = *self;
        let sums = BatchNormSums { replicas, images, data_images, pixels, c, gamma, beta, weights_stride, activation };
        let data = BatchNormBackward { replicas, images, data_images, pixels, c, gamma, weights_stride, activation };
        const SUMS: Place = Place::Between("norm.sums");
        Some(Gradient::Steps(vec![
            GradientStep {
                op: Op::BatchNormSums(sums),
                reads: &[Place::X, Place::Y, Place::Dy, Place::Kept],
                writes: &[SUMS, Place::Grad],
            },
            GradientStep {
                op: Op::BatchNormBackward(data),
                reads: &[Place::X, Place::Y, Place::Dy, Place::Kept, SUMS, Place::Weights],
                writes: &[Place::Dx],
            },
        ]))
    }
}
impl OpSpec for BatchNormSums {
    binds!(batch_norm_sums(step): [x, y, dy, stats] -> [sums, grad], scratch);
    const HALVES: &'static [&'static str] = &["x", "y", "dy"];
    const FORMS: Forms = Forms::SplitSums {
        module: "norm_split",
        split: "batch_norm_sums_split",
        combine: "batch_norm_sums_combine",
        sums: 2,
    };

    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * self.c as u64)
    }
    fn scratch(&self) -> usize {
        (GROUPS * 2 + 1) * lanes(self.c as usize)
    }
    fn lengths(&self) -> Lengths {
        let (x, stats) =
            (elements(&[self.replicas, self.images, self.pixels, self.c]), elements(&[self.replicas, 4, self.c]));
        (vec![x, x, x, stats], vec![stats, elements(&[self.replicas, self.weights_stride])])
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, 2, self.c]))
    }
    fn sizes_agree(&self) -> bool {
        self.data_images <= self.images
            && fits(self.gamma, u64::from(self.c), self.weights_stride)
            && fits(self.beta, u64::from(self.c), self.weights_stride)
    }
    fn product(&self) -> Option<Product> {
        Some(sums_over_rows(self.replicas, self.data_images, self.images, self.pixels, self.c))
    }
}
impl OpSpec for BatchNormBackward {
    binds!(batch_norm_backward(step): [x, y, dy, stats, sums, weights] -> [dx]);
    const HALVES: &'static [&'static str] = &["x", "y", "dy", "dx"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.images as u64 * self.pixels as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        let (x, stats) =
            (elements(&[self.replicas, self.images, self.pixels, self.c]), elements(&[self.replicas, 4, self.c]));
        (vec![x, x, x, stats, stats, elements(&[self.replicas, self.weights_stride])], vec![x])
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, 2, self.c]))
    }
    fn sizes_agree(&self) -> bool {
        self.data_images <= self.images && fits(self.gamma, u64::from(self.c), self.weights_stride)
    }
}
impl OpSpec for BatchNormPull {
    binds!(batch_norm_pull(step): [x, d, stats, sums, weights, other] -> [dx]);
    const HALVES: &'static [&'static str] = &["x", "d", "other", "dx"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.images as u64 * self.pixels as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        let (x, stats) =
            (elements(&[self.replicas, self.images, self.pixels, self.c]), elements(&[self.replicas, 4, self.c]));
        let other = if self.has_other == 1 { x } else { 1 };
        (vec![x, x, stats, stats, elements(&[self.replicas, self.weights_stride]), other], vec![x])
    }
    fn of_weights(&self) -> Option<usize> {
        Some(elements(&[self.replicas, self.c]))
    }
    fn sizes_agree(&self) -> bool {
        self.data_images <= self.images && fits(self.gamma, u64::from(self.c), self.weights_stride)
    }
}
impl OpSpec for Add {
    binds!(add: [a, b] -> [y]);
    const HALVES: &'static [&'static str] = &["a", "b", "y"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![self.count as usize; 2], vec![self.count as usize])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
    fn gradient(&self, _: u32) -> Option<Gradient> {
        Some(Gradient::OfEachInput)
    }
}

/// Groups of images: the unit of parallel work, and of partial sums.
const GROUPS: usize = 16;

/// Elements of running sums over rows of c channels: several rows side by side, so that a sum needs not wait for itself.
pub(super) fn lanes(c: usize) -> usize {
    c * (256 / c.max(1)).max(1)
}

/// Adds up the rows of `lanes` that `len` elements of the input filled, into the first one.
#[inline(always)]
pub(super) fn fold<T: Real>(lanes: &mut [T], len: usize, c: usize) {
    let filled = lanes.len().min(len);
    let (first, others) = lanes[..filled].split_at_mut(c);
    for row in others.chunks_exact(c) {
        for (f, v) in first.iter_mut().zip(row) {
            *f += *v;
        }
    }
}

/// First and last image of the rows 0 = valid data, 1 = auxiliary.
#[inline(always)]
pub(super) fn kind(which: usize, n_valid: u32, data_images: u32, images: u32) -> (usize, usize) {
    if which == 0 { (0, n_valid as usize) } else { (data_images as usize, images as usize) }
}

pub fn batch_norm_stats<T: Real>(
    p: &BatchNormStats,
    args: &StepArgs<T>,
    x: &[T],
    stats: &mut [T],
    running: &mut [T],
    scratch: &mut [T],
) {
    let (c, pixels, width) = (p.c as usize, p.pixels as usize, lanes(p.c as usize));
    let (parts, totals) = scratch.split_at_mut(GROUPS * width);
    let (means, totals) = totals.split_at_mut(width);
    let (mean, square) = totals[..2 * c].split_at_mut(c);
    let momentum = T::of(p.momentum as f64);
    for (r, k) in (0..p.replicas as usize).flat_map(|r| [(r, 0), (r, 1)]) {
        let (first, last) = kind(k, args.n_valid, p.data_images, p.images);
        let group = (last - first).div_ceil(GROUPS).max(1) * pixels * c;
        let from = r * p.images as usize;
        let rows = &x[(from + first) * pixels * c..(from + last) * pixels * c];
        let n = (last - first) * pixels;
        let inv = T::one() / T::of(n.max(1) as f64);
        // Two passes: the difference of large squares would lose the variance of an offset channel, and so would groups
        // whose own means are joined.
        share(rows.len(), rows.par_chunks(group).zip(parts.par_chunks_mut(width)), |(rows, part)| {
            row_sums(c, rows, part);
        });
        let groups = rows.len().div_ceil(group);
        add_parts(&parts[..groups * width], width, mean);
        for m in mean.iter_mut() {
            *m *= inv;
        }
        for row in means.chunks_exact_mut(c) {
            row.copy_from_slice(mean);
        }
        share(rows.len(), rows.par_chunks(group).zip(parts.par_chunks_mut(width)), |(rows, part)| {
            row_squares(c, rows, means, part);
        });
        add_parts(&parts[..groups * width], width, square);
        let out = &mut stats[(r * 2 + k) * 2 * c..][..2 * c];
        for i in 0..c {
            out[i] = mean[i];
            out[c + i] = T::one() / (square[i] * inv + T::of(p.eps as f64)).sqrt();
        }
        if k == 0 {
            let running = &mut running[r * p.running_stride as usize + p.running as usize..][..2 * c];
            let (running_mean, running_var) = running.split_at_mut(c);
            let unbiased = T::one() / T::of(n.saturating_sub(1).max(1) as f64);
            for i in 0..c {
                running_mean[i] += momentum * (mean[i] - running_mean[i]);
                running_var[i] += momentum * (square[i] * unbiased - running_var[i]);
            }
        }
    }
}

/// total = the sum of what stands at the front of each part of `width` elements.
fn add_parts<T: Real>(parts: &[T], width: usize, total: &mut [T]) {
    total.fill(T::zero());
    for (i, part) in parts.chunks_exact(width).enumerate() {
        for (t, v) in total.iter_mut().zip(part) {
            *t = if i == 0 { *v } else { *t + *v };
        }
    }
}

wide! {
    /// Sums [c] of a group's rows, at the front of `out` [lanes(c)].
    pub(super) fn row_sums<T: Real>(c: usize, rows: &[T], out: &mut [T]) {
        out.fill(T::zero());
        for row in rows.chunks(out.len()) {
            for (s, v) in out.iter_mut().zip(row) {
                *s += *v;
            }
        }
        fold(out, rows.len(), c);
    }
}

wide! {
    /// Sums [c] of squared deviations from `means` [lanes(c)], in the same way.
    pub(super) fn row_squares<T: Real>(c: usize, rows: &[T], means: &[T], out: &mut [T]) {
        out.fill(T::zero());
        for row in rows.chunks(out.len()) {
            for ((q, v), m) in out.iter_mut().zip(row).zip(means) {
                *q += (*v - *m) * (*v - *m);
            }
        }
        fold(out, rows.len(), c);
    }
}

#[inline(always)]
pub fn batch_norm_running<T: Real>(p: &BatchNormRunning, running: &[T], stats: &mut [T]) {
    let c = p.c as usize;
    for r in 0..p.replicas as usize {
        let running = &running[r * p.running_stride as usize + p.running as usize..][..2 * c];
        for g in 0..2 {
            let out = &mut stats[(r * 2 + g) * 2 * c..][..2 * c];
            for i in 0..c {
                out[i] = running[i];
                out[c + i] = T::one() / (running[c + i] + T::of(p.eps as f64)).sqrt();
            }
        }
    }
}

pub fn batch_norm_forward<T: Real>(p: &BatchNormForward, x: &[T], stats: &[T], weights: &[T], y: &mut [T]) {
    let (c, images, len) = (p.c as usize, p.images as usize, p.pixels as usize * p.c as usize);
    share(x.len(), y.par_chunks_mut(len).zip(x.par_chunks(len)).enumerate(), |(i, (y, x))| {
        let (r, k) = (i / images, usize::from(i % images >= p.data_images as usize));
        let w = &weights[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let (gamma, beta) = (&w[p.gamma as usize..][..c], &w[p.beta as usize..][..c]);
        normalise(p.activation, (len, len, len), x, &stats[(r * 2 + k) * 2 * c..][..2 * c], gamma, beta, y);
    });
}

pub fn add<T: Real>(_: &Add, a: &[T], b: &[T], y: &mut [T]) {
    let pieces = y.par_chunks_mut(PIECE).zip(a.par_chunks(PIECE)).zip(b.par_chunks(PIECE));
    share(a.len(), pieces, |((y, a), b)| sums(a, b, y));
}

wide! {
    fn sums<T: Real>(a: &[T], b: &[T], y: &mut [T]) {
        for (y, (a, b)) in y.iter_mut().zip(a.iter().zip(b)) {
            *y = *a + *b;
        }
    }
}
