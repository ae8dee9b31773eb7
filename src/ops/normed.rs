//! A convolution between two batch normalisations (norm.rs): x is normalised and activated on the way in, so that the normalised
//! tensor is never stored, and on the way out the shortcut is added and the sums of the next normalisation are taken. Shaders:
//! `normed.wgsl` and `normed_back.wgsl`; the CPU kernels do all of it while an image lies in the cache.

mod backward;

pub use backward::norm_conv_backward;

use super::conv::{GROUPS, Shape, Windows, conv_params};
use super::gemm::{Finish, InOrder, Runs, in_place, pack_len, pack_panels, tiles};
use super::norm::{kind, lanes, normalise, row_squares, row_sums};
use super::wide::wide;
use super::{
    Forms, Grid, Lengths, OpSpec, Product, StepArgs, binds, elements, elements_u64, fits, in_quadruples, params, shared,
};
use crate::base::Real;
use rayon::prelude::*;

conv_params! {
    /// y [R, batch, out_h, out_w, c_out] = act(norm of x) * W (+ shortcut), where `normed`, else x * W (+ shortcut). Unless
    /// `frozen`, next [R, 2, 2, c_out] = the statistics of y, and running [R, running_stride] is moved by `momentum`, as
    /// `BatchNormStats` does.
    NormConvForward
    first {
        replicas: u32,
        share: u32,
    }
    last {
        weights_stride: u32,
        normed: u32,
        gamma: u32,
        beta: u32,
        activation: u32,
        data_images: u32,
        has_shortcut: u32,
        frozen: u32,
        running: u32,
        running_stride: u32,
        eps: f32,
        momentum: f32,
    }
}
conv_params! {
    /// d [R, batch, h, w, c_in] = dy * W' times act' of the normalised x, sums [R, 2, 2, c_in] = a group's means of d and
    /// d * xhat, and at their places of the gradient [R, P] dW, dgamma and dbeta. Not `normed`: d = dy * W', and dW.
    NormConvBackward
    first {
        replicas: u32,
        share: u32,
    }
    last {
        weights_stride: u32,
        normed: u32,
        gamma: u32,
        beta: u32,
        activation: u32,
        data_images: u32,
    }
}

/// The most channels whose normalisation a workgroup keeps.
pub const MOST_CHANNELS: u32 = 128;

/// What a normalisation on the way in asks of the sizes.
fn norm_fits(normed: u32, share: u32, c: u32, gamma: u32, beta: u32, stride: u32) -> bool {
    let c = |at: u32| fits(at, u64::from(c), stride) && c.is_multiple_of(4) && c <= MOST_CHANNELS;
    normed == 0 || share == 1 && c(gamma) && c(beta)
}

/// Groups of images with statistics of their own.
fn kinds(batch: u32, data_images: u32) -> u64 {
    if batch > data_images { 2 } else { 1 }
}

impl OpSpec for NormConvForward {
    binds!(norm_conv_forward(step): [x, stats, weights, shortcut] -> [y, next, running], scratch);
    const HALVES: &'static [&'static str] = &["x", "weights", "shortcut", "y"];
    const FORMS: Forms =
        Forms::Fused { module: "normed", entry: "norm_conv_forward", combine: "norm_conv_forward_combine", own: 1 };

    fn grid(&self) -> Grid {
        Grid::Groups(if self.frozen == 1 { 0 } else { elements_u64(&[self.replicas, 2, self.c_out / 4]) })
    }
    fn scratch(&self) -> usize {
        let s = self.shape();
        let sums = self.batch as usize * 2 * s.c_out + GROUPS * 2 * lanes(s.c_out);
        pack_len(s.taps(), s.c_out) + sums + GROUPS * s.frame_len()
    }
    fn lengths(&self) -> Lengths {
        let s = self.shape();
        let x = elements(&[self.replicas / self.share.max(1), self.batch]) * s.inputs();
        let stats = if self.normed == 1 { elements(&[self.replicas, 4, self.c_in]) } else { 1 };
        let y = elements(&[self.replicas, self.batch]) * s.outputs();
        let shortcut = if self.has_shortcut == 1 { y } else { 1 };
        let of_next = |n: usize| if self.frozen == 1 { 1 } else { n };
        let next = of_next(elements(&[self.replicas, 4, self.c_out]));
        let running = of_next(elements(&[self.replicas, self.running_stride]));
        (vec![x, stats, elements(&[self.replicas, self.weights_stride]), shortcut], vec![y, next, running])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && self.shape().windows_fit()
            && self.c_out.is_multiple_of(4)
            && self.data_images <= self.batch
            && fits(self.weight, self.shape().weights(), self.weights_stride)
            && norm_fits(self.normed, self.share, self.c_in, self.gamma, self.beta, self.weights_stride)
            && (self.frozen == 1 || fits(self.running, elements_u64(&[2, self.c_out]), self.running_stride))
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * (self.shape().weights() as usize + 2 * self.c_in as usize))
    }
    fn of_input(&self) -> Option<usize> {
        Some(elements(&[self.replicas / self.share.max(1), self.batch]) * self.shape().seen())
    }
    fn product(&self) -> Option<Product> {
        let m = elements_u64(&[self.batch, self.out_h, self.out_w]);
        let k = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let whole = in_quadruples(&[self.c_in, self.c_out, self.weight], self.replicas, self.weights_stride);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k, whole })
    }
    fn sums(&self) -> u64 {
        if self.frozen == 1 { 0 } else { 3 * kinds(self.batch, self.data_images) }
    }
}

/// A normalisation of c channels: mean and 1 / sd of each group of images, gamma, beta.
#[derive(Clone, Copy)]
struct Norm<'a, T> {
    activation: u32,
    data_images: usize,
    stats: &'a [T],
    gamma: &'a [T],
    beta: &'a [T],
}

impl<'a, T: Real> Norm<'a, T> {
    fn of_image(&self, image: usize) -> &'a [T] {
        let c = self.gamma.len();
        &self.stats[usize::from(image >= self.data_images) * 2 * c..][..2 * c]
    }

    /// Puts an image into its frame, whose border is zero already.
    fn pad(&self, s: &Shape, image: usize, x: &[T], frame: &mut [T]) {
        let (fh, fw) = s.frame();
        let rows = fh.saturating_sub(s.pad_top).min(s.h);
        let row = s.w.min(fw.saturating_sub(s.pad_left)) * s.c_in;
        if rows == 0 || row == 0 {
            return;
        }
        let first = (s.pad_top * fw + s.pad_left) * s.c_in;
        let sizes = (row, s.w * s.c_in, fw * s.c_in);
        normalise(
            self.activation,
            sizes,
            &x[..rows * s.w * s.c_in],
            self.of_image(image),
            self.gamma,
            self.beta,
            &mut frame[first..],
        );
    }
}

// Long: the loop over images, and what is added up after it.
pub fn norm_conv_forward<T: Real>(
    p: &NormConvForward,
    args: &StepArgs<T>,
    x: &[T],
    stats: &[T],
    w: &[T],
    shortcut: &[T],
    y: &mut [T],
    next: &mut [T],
    running: &mut [T],
    scratch: &mut [T],
) {
    let s = p.shape();
    let (c, batch, per_group, pixels) = (s.c_out, p.batch as usize, p.images_a_group(), s.out_h * s.out_w);
    let (pack, rest) = scratch.split_at_mut(pack_len(s.taps(), c));
    let (image_sums, rest) = rest.split_at_mut(batch * 2 * c);
    let (lane_sums, frames) = rest.split_at_mut(GROUPS * 2 * lanes(c));
    let (fh, fw) = s.frame();
    let framed = p.normed == 1 || s.pad_top > 0 || s.pad_left > 0 || (fh, fw) != (s.h, s.w);
    let windows = Windows { first: 0, columns: s.out_w, row: s.stride * fw * s.c_in, col: s.stride * s.c_in };
    let runs = Runs { count: s.kernel_h, len: s.kernel_w * s.c_in, run: fw * s.c_in, col: 1 };
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let w = &w[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let weight = &w[p.weight as usize..][..s.taps() * c];
        let panels = match in_place(weight, c) {
            Some(panels) => panels,
            None => pack_panels(s.taps(), c, pack, |l, j| weight[l * c + j], Some((weight, c))),
        };
        let norm = (p.normed == 1).then(|| Norm {
            activation: p.activation,
            data_images: p.data_images as usize,
            stats: &stats[r * 4 * s.c_in..][..4 * s.c_in],
            gamma: &w[p.gamma as usize..][..s.c_in],
            beta: &w[p.beta as usize..][..s.c_in],
        });
        let part = r * batch * s.outputs()..(r + 1) * batch * s.outputs();
        let shortcut = if p.has_shortcut == 1 { &shortcut[part.clone()] } else { &[] };
        let groups = y[part].par_chunks_mut(per_group * s.outputs()).zip(frames.par_chunks_mut(s.frame_len().max(1)));
        let sums = image_sums.par_chunks_mut(per_group * 2 * c).zip(lane_sums.par_chunks_mut(2 * lanes(c)));
        groups.zip(sums).enumerate().for_each(|(g, ((y, frame), (sums, lane_sums)))| {
            frame.fill(T::zero());
            for (i, (y, sums)) in y.chunks_exact_mut(s.outputs()).zip(sums.chunks_exact_mut(2 * c)).enumerate() {
                let at = g * per_group + i;
                let image = &x[at * s.inputs()..][..s.inputs()];
                let a = match norm {
                    Some(norm) => {
                        norm.pad(&s, at, image, frame);
                        &*frame
                    }
                    None if framed => {
                        s.pad(image, frame);
                        &*frame
                    }
                    None => image,
                };
                tiles(pixels, 0, c, a, windows, runs, panels, false, y, InOrder, &Finish::default());
                if !shortcut.is_empty() {
                    add_to(&shortcut[at * s.outputs()..][..s.outputs()], y);
                }
                if p.frozen == 0 {
                    image_stats(pixels, y, sums, lane_sums);
                }
            }
        });
        if p.frozen == 0 {
            let running = &mut running[r * p.running_stride as usize + p.running as usize..][..2 * c];
            for k in 0..2 {
                let (first, last) = kind(k, args.n_valid, p.data_images, p.batch);
                let out = &mut next[(r * 2 + k) * 2 * c..][..2 * c];
                combine(p, pixels, &image_sums[first * 2 * c..last * 2 * c], out, (k == 0).then_some(&mut *running));
            }
        }
    }
}

wide! {
    fn add_to<T: Real>(x: &[T], y: &mut [T]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y += *x;
        }
    }
}

/// sums [2, c] of an image: its mean, and the squares about it.
fn image_stats<T: Real>(pixels: usize, y: &[T], sums: &mut [T], scratch: &mut [T]) {
    let c = sums.len() / 2;
    let (mean, square) = sums.split_at_mut(c);
    let (part, means) = scratch.split_at_mut(lanes(c));
    let inv = T::one() / T::of(pixels as f64);
    row_sums(c, y, part);
    for (mean, sum) in mean.iter_mut().zip(&*part) {
        *mean = *sum * inv;
    }
    for row in means.chunks_exact_mut(c) {
        row.copy_from_slice(mean);
    }
    row_squares(c, y, means, part);
    square.copy_from_slice(&part[..c]);
}

/// The statistics of a group of images from those of each: the mean of their means, and their squares about that.
fn combine<T: Real>(p: &NormConvForward, pixels: usize, images: &[T], out: &mut [T], running: Option<&mut [T]>) {
    let c = out.len() / 2;
    let (count, pixels_of_one) = (images.len() / (2 * c), T::of(pixels as f64));
    let (mean, inv_sd) = out.split_at_mut(c);
    mean.fill(T::zero());
    for image in images.chunks_exact(2 * c) {
        for (mean, own) in mean.iter_mut().zip(image) {
            *mean += *own;
        }
    }
    let inv = T::one() / T::of(count.max(1) as f64);
    mean.iter_mut().for_each(|m| *m *= inv);
    let square = inv_sd;
    square.fill(T::zero());
    for image in images.chunks_exact(2 * c) {
        for i in 0..c {
            let d = image[i] - mean[i];
            square[i] += image[c + i] + pixels_of_one * (d * d);
        }
    }
    let n = count * pixels;
    if let Some(running) = running {
        let (running_mean, running_var) = running.split_at_mut(c);
        let (momentum, unbiased) = (T::of(p.momentum as f64), T::one() / T::of(n.saturating_sub(1).max(1) as f64));
        for i in 0..c {
            running_mean[i] += momentum * (mean[i] - running_mean[i]);
            running_var[i] += momentum * (square[i] * unbiased - running_var[i]);
        }
    }
    let inv = T::one() / T::of(n.max(1) as f64);
    for square in square {
        *square = T::one() / (*square * inv + T::of(p.eps as f64)).sqrt();
    }
}
