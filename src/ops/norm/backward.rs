//! The gradients.

use super::{BatchNormBackward, BatchNormPull, BatchNormSums, GROUPS, channels, fold, kind, lanes, of_channels};
use crate::base::Real;
use crate::ops::StepArgs;
use crate::ops::linear::activation_slope;
use crate::ops::wide::{share, wide};
use rayon::prelude::*;
use std::array::from_fn;

pub fn batch_norm_sums<T: Real>(
    p: &BatchNormSums,
    args: &StepArgs<T>,
    x: &[T],
    y: &[T],
    dy: &[T],
    stats: &[T],
    sums: &mut [T],
    grad: &mut [T],
    scratch: &mut [T],
) {
    let (c, pixels, images, n) = (p.c as usize, p.pixels as usize, p.images as usize, lanes(p.c as usize));
    let (parts, mean) = scratch.split_at_mut(GROUPS * 2 * n);
    for r in 0..p.replicas as usize {
        let grad = &mut grad[r * p.weights_stride as usize..][..p.weights_stride as usize];
        grad[p.gamma as usize..][..c].fill(T::zero());
        grad[p.beta as usize..][..c].fill(T::zero());
        for k in 0..2 {
            let (first, last) = kind(k, args.n_valid, p.data_images, p.images);
            let stats = &stats[(r * 2 + k) * 2 * c..][..2 * c];
            for row in mean[..n].chunks_exact_mut(c) {
                row.copy_from_slice(&stats[..c]);
            }
            let group = (last - first).div_ceil(GROUPS).max(1) * pixels * c;
            let rows = (r * images + first) * pixels * c..(r * images + last) * pixels * c;
            let inputs = x[rows.clone()].par_chunks(group).zip(y[rows.clone()].par_chunks(group));
            let pieces = inputs.zip(dy[rows.clone()].par_chunks(group)).zip(parts.par_chunks_mut(2 * n));
            share(rows.len(), pieces, |(((x, y), dy), part)| slopes(p.activation, c, x, y, dy, &mean[..n], part));
            let out = &mut sums[(r * 2 + k) * 2 * c..][..2 * c];
            out.fill(T::zero());
            for part in parts.chunks_exact(2 * n).take(rows.len().div_ceil(group)) {
                for i in 0..c {
                    out[i] += part[i];
                    out[c + i] += part[n + i] * stats[c + i];
                }
            }
            let inv = T::one() / T::of(((last - first) * pixels).max(1) as f64);
            for i in 0..c {
                grad[p.beta as usize + i] += out[i];
                grad[p.gamma as usize + i] += out[c + i];
                out[i] *= inv;
                out[c + i] *= inv;
            }
        }
    }
}

wide! {
    /// Sums of d [c] and of d (x - mean) [c] over a group's rows, at the front of the two halves of `out` [2, lanes(c)].
    fn slopes<T: Real>(activation: u32, c: usize, x: &[T], y: &[T], dy: &[T], mean: &[T], out: &mut [T]) {
        let n = mean.len();
        out.fill(T::zero());
        let (s1, s2) = out.split_at_mut(n);
        for ((x, y), dy) in x.chunks(n).zip(y.chunks(n)).zip(dy.chunks(n)) {
            let m = x.len();
            let (s1, s2, mean, y, dy) = (&mut s1[..m], &mut s2[..m], &mean[..m], &y[..m], &dy[..m]);
            for i in 0..m {
                let d = dy[i] * activation_slope(activation, y[i]);
                s1[i] += d;
                s2[i] += d * (x[i] - mean[i]);
            }
        }
        fold(s1, x.len(), c);
        fold(s2, x.len(), c);
    }
}

pub fn batch_norm_backward<T: Real>(
    p: &BatchNormBackward,
    args: &StepArgs<T>,
    x: &[T],
    y: &[T],
    dy: &[T],
    stats: &[T],
    sums: &[T],
    weights: &[T],
    dx: &mut [T],
) {
    let (c, images, len) = (p.c as usize, p.images as usize, p.pixels as usize * p.c as usize);
    let inputs = x.par_chunks(len).zip(y.par_chunks(len)).zip(dy.par_chunks(len));
    share(x.len(), dx.par_chunks_mut(len).zip(inputs).enumerate(), |(i, (dx, ((x, y), dy)))| {
        let (r, image) = (i / images, i % images);
        let k = usize::from(image >= p.data_images as usize);
        if k == 0 && image >= args.n_valid as usize {
            return dx.fill(T::zero());
        }
        let gamma = &weights[r * p.weights_stride as usize + p.gamma as usize..][..c];
        let at = (r * 2 + k) * 2 * c;
        pull_back(p.activation, x, y, dy, &stats[at..][..2 * c], &sums[at..][..2 * c], gamma, dx);
    });
}

wide! {
    fn pull_back<T: Real>(
        activation: u32,
        x: &[T],
        y: &[T],
        dy: &[T],
        stats: &[T],
        sums: &[T],
        gamma: &[T],
        dx: &mut [T],
    ) {
        let c = gamma.len();
        let (mean, inv_sd, m1, m2) = (&stats[..c], &stats[c..2 * c], &sums[..c], &sums[c..2 * c]);
        let rows = x.chunks_exact(c).zip(y.chunks_exact(c)).zip(dy.chunks_exact(c));
        for (dx, ((x, y), dy)) in dx.chunks_exact_mut(c).zip(rows) {
            for i in 0..c {
                let d = dy[i] * activation_slope(activation, y[i]);
                let xhat = (x[i] - mean[i]) * inv_sd[i];
                dx[i] = gamma[i] * inv_sd[i] * (d - m1[i] - xhat * m2[i]);
            }
        }
    }
}

pub fn batch_norm_pull<T: Real>(
    p: &BatchNormPull,
    args: &StepArgs<T>,
    x: &[T],
    d: &[T],
    stats: &[T],
    sums: &[T],
    weights: &[T],
    other: &[T],
    dx: &mut [T],
) {
    let (c, images, len) = (p.c as usize, p.images as usize, p.pixels as usize * p.c as usize);
    let inputs = x.par_chunks(len).zip(d.par_chunks(len));
    share(x.len(), dx.par_chunks_mut(len).zip(inputs).enumerate(), |(i, (dx, (x, d)))| {
        let (r, image) = (i / images, i % images);
        let k = usize::from(image >= p.data_images as usize);
        let other = if p.has_other == 1 { &other[i * len..][..len] } else { &[] };
        if k == 0 && image >= args.n_valid as usize {
            if other.is_empty() {
                dx.fill(T::zero())
            } else {
                dx.copy_from_slice(other)
            }
            return;
        }
        let gamma = &weights[r * p.weights_stride as usize + p.gamma as usize..][..c];
        let at = (r * 2 + k) * 2 * c;
        pull(x, d, &stats[at..][..2 * c], &sums[at..][..2 * c], gamma, other, dx);
    });
}

wide! {
    /// `other` may be empty.
    fn pull<T: Real>(x: &[T], d: &[T], stats: &[T], sums: &[T], gamma: &[T], other: &[T], dx: &mut [T]) {
        let c = gamma.len();
        let by = [&stats[..c], &stats[c..2 * c], gamma, &sums[..c], &sums[c..2 * c]];
        channels!(c, pull_some(x, d, by, other, dx));
    }
}

#[inline(always)]
fn pull_some<T: Real, const N: usize>(first: usize, x: &[T], d: &[T], by: [&[T]; 5], other: &[T], dx: &mut [T]) {
    let (c, [mean, inv_sd, gamma, m1, m2]) = (by[0].len(), of_channels::<T, N, 5>(first, by));
    let scale: [T; N] = from_fn(|i| gamma[i] * inv_sd[i]);
    let at = |x: &[T], d: &[T], i: usize| scale[i] * (d[i] - m1[i] - (x[i] - mean[i]) * inv_sd[i] * m2[i]);
    let pixels = dx.chunks_exact_mut(c).zip(x.chunks_exact(c).zip(d.chunks_exact(c)));
    if other.is_empty() {
        for (dx, (x, d)) in pixels {
            let (dx, x, d) = (&mut dx[first..][..N], &x[first..][..N], &d[first..][..N]);
            for i in 0..N {
                dx[i] = at(x, d, i);
            }
        }
    } else {
        for ((dx, (x, d)), other) in pixels.zip(other.chunks_exact(c)) {
            let (dx, x, d, other) = (&mut dx[first..][..N], &x[first..][..N], &d[first..][..N], &other[first..][..N]);
            for i in 0..N {
                dx[i] = at(x, d, i) + other[i];
            }
        }
    }
}
