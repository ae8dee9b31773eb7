//! A convolution between two batch normalisations (norm.rs): x is normalised and activated on the way in, so that the normalised
//! tensor is never stored, and on the way out the shortcut is added and the sums of the next normalisation are taken. Shaders:
//! `normed.wgsl` and `normed_back.wgsl`; the CPU kernels do all of it while an image lies in the cache.

use super::conv::backward::{add_parts, data_image, pack_turned, weight_image};
use super::conv::{GROUPS, Shape, Windows, conv_params};
use super::gemm::{Finish, InOrder, Runs, in_place, pack_len, pack_panels, tiles};
use super::linear::{activate, activation_slope};
use super::norm::{fold, kind, lanes, row_squares, row_sums};
use super::wide::wide;
use super::{Forms, Grid, Lengths, OpSpec, Product, StepArgs, binds, elements, elements_u64, fits, params, shared};
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
    fn product(&self) -> Option<Product> {
        let m = elements_u64(&[self.batch, self.out_h, self.out_w]);
        let k = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k })
    }
    fn sums(&self) -> u64 {
        if self.frozen == 1 { 0 } else { 3 * kinds(self.batch, self.data_images) }
    }
}

impl NormConvBackward {
    /// Frame of x, dy in panels and in its frame, dW, the sums of both kinds of image, and what their channels are normalised by.
    fn group_len(&self) -> [usize; 6] {
        let (s, f) = (self.shape(), self.shape().gradient_frame());
        let n = if self.normed == 1 { lanes(s.c_in) } else { 0 };
        let pack = pack_len(s.out_h * s.out_w, s.c_out);
        [s.frame_len(), pack, f.h * f.w * s.c_out, s.taps() * s.c_out, 4 * n, 8 * n]
    }
}
impl OpSpec for NormConvBackward {
    binds!(norm_conv_backward(step): [x, dy, stats, weights] -> [d, sums, grad], scratch);
    const FORMS: Forms = Forms::Fused {
        module: "normed_back",
        entry: "norm_conv_backward",
        combine: "norm_conv_backward_combine",
        own: 1,
    };

    fn grid(&self) -> Grid {
        Grid::Groups(if self.normed == 1 { elements_u64(&[self.replicas, self.c_in / 4]) } else { 0 })
    }
    fn scratch(&self) -> usize {
        self.shape().turned_len() + GROUPS * self.group_len().iter().sum::<usize>()
    }
    fn lengths(&self) -> Lengths {
        let s = self.shape();
        let x = elements(&[self.replicas / self.share.max(1), self.batch]) * s.inputs();
        let dy = elements(&[self.replicas, self.batch]) * s.outputs();
        let stats = if self.normed == 1 { elements(&[self.replicas, 4, self.c_in]) } else { 1 };
        let weights = elements(&[self.replicas, self.weights_stride]);
        (vec![x, dy, stats, weights], vec![elements(&[self.replicas, self.batch]) * s.inputs(), stats, weights])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && self.shape().windows_fit()
            && self.c_in.is_multiple_of(4)
            && self.c_out.is_multiple_of(4)
            && self.data_images <= self.batch
            && fits(self.weight, self.shape().weights(), self.weights_stride)
            && norm_fits(self.normed, self.share, self.c_in, self.gamma, self.beta, self.weights_stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * (self.shape().weights() as usize + 2 * self.c_in as usize))
    }
    fn product(&self) -> Option<Product> {
        let s = self.stride.max(1);
        let m = elements_u64(&[self.batch, self.h.div_ceil(s), self.w.div_ceil(s)]);
        let k = elements_u64(&[self.kernel_h.div_ceil(s), self.kernel_w.div_ceil(s), self.c_out]);
        Some(Product { count: (self.replicas * s * s).into(), m, n: self.c_in.into(), k })
    }
    fn weight_product(&self) -> Option<Product> {
        let m = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let k = elements_u64(&[self.batch, self.out_h, self.out_w]);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k })
    }
    fn sums(&self) -> u64 {
        if self.normed == 1 { 2 * kinds(self.batch, self.data_images) } else { 0 }
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
        normalised(
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

wide! {
    /// The first numbers of each row of x, (how many, length of a row, length of a row of the frame).
    fn normalised<T: Real>(
        activation: u32,
        sizes: (usize, usize, usize),
        x: &[T],
        stats: &[T],
        gamma: &[T],
        beta: &[T],
        frame: &mut [T],
    ) {
        let c = gamma.len();
        let (mean, inv_sd, beta) = (&stats[..c], &stats[c..2 * c], &beta[..c]);
        for (x, to) in x.chunks_exact(sizes.1).zip(frame.chunks_mut(sizes.2)) {
            for (y, x) in to[..sizes.0].chunks_exact_mut(c).zip(x.chunks_exact(c)) {
                for i in 0..c {
                    y[i] = activate(activation, gamma[i] * ((x[i] - mean[i]) * inv_sd[i]) + beta[i]);
                }
            }
        }
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

// Long: the operands of both gradients and of the normalisation.
pub fn norm_conv_backward<T: Real>(
    p: &NormConvBackward,
    args: &StepArgs<T>,
    x: &[T],
    dy: &[T],
    stats: &[T],
    w: &[T],
    d: &mut [T],
    sums: &mut [T],
    grad: &mut [T],
    scratch: &mut [T],
) {
    let (s, f, lens) = (p.shape(), p.shape().gradient_frame(), p.group_len());
    let (c, batch, per_group) = (s.c_in, p.batch as usize, p.images_a_group());
    let (len, dw_len, n) = (lens.iter().sum::<usize>(), lens[3], lens[4] / 4);
    let (turned, parts) = scratch.split_at_mut(s.turned_len());
    let parts = &mut parts[..batch.div_ceil(per_group) * len];
    for r in 0..p.replicas as usize {
        let w = &w[r * p.weights_stride as usize..][..p.weights_stride as usize];
        pack_turned(&s, &w[p.weight as usize..][..dw_len], turned);
        let turned = &*turned;
        let norm = (p.normed == 1).then(|| Norm {
            activation: p.activation,
            data_images: p.data_images as usize,
            stats: &stats[r * 4 * c..][..4 * c],
            gamma: &w[p.gamma as usize..][..c],
            beta: &w[p.beta as usize..][..c],
        });
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let dy = &dy[r * batch * s.outputs()..][..batch * s.outputs()];
        let d = d[r * batch * s.inputs()..][..batch * s.inputs()].par_chunks_mut(per_group * s.inputs());
        parts.par_chunks_mut(len).zip(d).enumerate().for_each(|(g, (part, d))| {
            let (frame, part) = part.split_at_mut(lens[0]);
            let (pack, part) = part.split_at_mut(lens[1]);
            let (dy_frame, part) = part.split_at_mut(lens[2]);
            let (dw, part) = part.split_at_mut(lens[3]);
            let (own, by) = part.split_at_mut(lens[4]);
            [&mut *frame, &mut *dy_frame, &mut *own].into_iter().for_each(|v| v.fill(T::zero()));
            if let Some(norm) = norm {
                spread(&norm, n, by);
            }
            for (i, d) in d.chunks_exact_mut(s.inputs()).enumerate() {
                let image = g * per_group + i;
                let (x, dy) = (&x[image * s.inputs()..][..s.inputs()], &dy[image * s.outputs()..][..s.outputs()]);
                match norm {
                    Some(norm) => norm.pad(&s, image, x, frame),
                    None => s.pad(x, frame),
                }
                weight_image(&s, frame, dy, pack, i > 0, dw);
                data_image((&s, &f), dy, dy_frame, turned, d, &Finish::default());
                if p.normed == 1 {
                    let k = usize::from(image >= p.data_images as usize);
                    // Rows that are neither data nor auxiliary count for nothing.
                    let counts = k == 1 || image < args.n_valid as usize;
                    let own = if counts { &mut own[2 * n * k..][..2 * n] } else { &mut [][..] };
                    pull_image(p.activation, x, &by[4 * n * k..][..4 * n], d, own);
                }
            }
        });
        let grad = &mut grad[r * p.weights_stride as usize..][..p.weights_stride as usize];
        add_parts(parts, len, lens[..3].iter().sum(), &mut grad[p.weight as usize..][..dw_len]);
        if p.normed == 1 {
            let (at, inv) = (lens[..4].iter().sum::<usize>(), |n: usize| T::one() / T::of(n.max(1) as f64));
            grad[p.gamma as usize..][..c].fill(T::zero());
            grad[p.beta as usize..][..c].fill(T::zero());
            for k in 0..2 {
                let out = &mut sums[(r * 2 + k) * 2 * c..][..2 * c];
                out.fill(T::zero());
                for part in parts.chunks_exact_mut(len) {
                    let (d, with_x) = part[at + 2 * n * k..][..2 * n].split_at_mut(n);
                    fold(d, n, c);
                    fold(with_x, n, c);
                    for i in 0..c {
                        out[i] += d[i];
                        out[c + i] += with_x[i] * stats[(r * 2 + k) * 2 * c + c + i];
                    }
                }
                let (first, last) = kind(k, args.n_valid, p.data_images, p.batch);
                let inv = inv((last - first) * s.h * s.w);
                for i in 0..c {
                    grad[p.beta as usize + i] += out[i];
                    grad[p.gamma as usize + i] += out[c + i];
                    out[i] *= inv;
                    out[c + i] *= inv;
                }
            }
        }
    }
}

/// by [2, 4, n]: mean, 1 / sd, gamma and beta of both groups of images, the channels again and again.
fn spread<T: Real>(norm: &Norm<T>, n: usize, by: &mut [T]) {
    let c = norm.gamma.len();
    for (k, by) in by.chunks_exact_mut(4 * n).enumerate() {
        let stats = &norm.stats[2 * c * k..][..2 * c];
        for (by, values) in by.chunks_exact_mut(n).zip([&stats[..c], &stats[c..], norm.gamma, norm.beta]) {
            by.chunks_exact_mut(c).for_each(|row| row.copy_from_slice(values));
        }
    }
}

wide! {
    /// d times the slope of the activation at what x is normalised to; own [2, n] += d and d (x - mean), unless it is empty.
    fn pull_image<T: Real>(activation: u32, x: &[T], by: &[T], d: &mut [T], own: &mut [T]) {
        let n = by.len() / 4;
        let (mean, inv_sd, gamma, beta) = (&by[..n], &by[n..2 * n], &by[2 * n..3 * n], &by[3 * n..]);
        let (sums, with_x) = own.split_at_mut(own.len() / 2);
        for (x, d) in x.chunks(n).zip(d.chunks_mut(n)) {
            let m = x.len();
            let (mean, inv_sd, gamma, beta, d) = (&mean[..m], &inv_sd[..m], &gamma[..m], &beta[..m], &mut d[..m]);
            for i in 0..m {
                d[i] *= activation_slope(activation, gamma[i] * ((x[i] - mean[i]) * inv_sd[i]) + beta[i]);
            }
            if !sums.is_empty() {
                let (sums, with_x) = (&mut sums[..m], &mut with_x[..m]);
                for i in 0..m {
                    sums[i] += d[i];
                    with_x[i] += d[i] * (x[i] - mean[i]);
                }
            }
        }
    }
}
