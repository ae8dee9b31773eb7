//! The gradients.

use super::{Conv2dBackwardData, Conv2dBackwardWeight, GROUPS, Shape, Windows, pad, tiles_of_four};
use crate::base::Real;
use crate::ops::gemm::{Epilogue, Finish, Gate, InOrder, Panels, Runs, in_place, pack_len, pack_panels, tiles};
use crate::ops::linear::{ACT_NONE, ACT_RELU, TimesSlope, keeps_pre};
use crate::ops::wide::{share, wide};
use crate::ops::{Forms, Grid, Lengths, OpSpec, Product, binds, elements, elements_u64, fits, in_quadruples, shared};
use rayon::prelude::*;

/// Pixels of dx whose coordinate plus padding leaves the same remainder by the stride. They meet the same taps of the
/// kernel, every stride-th, and on those dx is a convolution of dy with stride 1: a tap that would meet the zeros between
/// the spread pixels of dy is never multiplied. One direction; a phase of the image is a pair of them.
#[derive(Clone, Copy)]
struct Phase {
    /// First tap, and how many.
    tap: usize,
    taps: usize,
    /// First pixel of dx, and how many.
    pixel: usize,
    pixels: usize,
    /// The pixel of dy that the first tap meets at the first pixel.
    meets: usize,
}

/// The phases of one direction, from its sizes.
fn phases(size: usize, kernel: usize, stride: usize, pad: usize) -> impl Iterator<Item = Phase> + Clone {
    (0..stride).map(move |tap| {
        let pixel = (tap + stride - pad % stride) % stride;
        Phase {
            tap,
            taps: kernel.saturating_sub(tap).div_ceil(stride),
            pixel,
            pixels: size.saturating_sub(pixel).div_ceil(stride),
            meets: (pixel + pad - tap) / stride,
        }
    })
}

/// Zeros before dy, so that the last tap of every phase finds a pixel, and the length of the frame around it.
fn frame_of(phases: impl Iterator<Item = Phase>) -> (usize, usize) {
    phases.fold((0, 1), |(before, len), p| {
        let new = before.max(p.taps.saturating_sub(p.meets + 1));
        (new, (len + new - before).max(new + p.meets + p.pixels))
    })
}

/// Where dy stands in its frame.
pub(in crate::ops) struct Frame {
    top: usize,
    left: usize,
    pub h: usize,
    pub w: usize,
}

impl Shape {
    fn phases(&self) -> impl Iterator<Item = (Phase, Phase)> + Clone {
        let columns = phases(self.w, self.kernel_w, self.stride, self.pad_left);
        phases(self.h, self.kernel_h, self.stride, self.pad_top).flat_map(move |y| columns.clone().map(move |x| (y, x)))
    }
    pub(in crate::ops) fn gradient_frame(&self) -> Frame {
        let (top, h) = frame_of(phases(self.h, self.kernel_h, self.stride, self.pad_top));
        let (left, w) = frame_of(phases(self.w, self.kernel_w, self.stride, self.pad_left));
        Frame { top, left, h, w }
    }
    /// Elements of what `pack_turned` leaves: a tap belongs to one phase, together they need what all the taps need.
    pub(in crate::ops) fn turned_len(&self) -> usize {
        pack_len(self.kernel_h * self.kernel_w * self.c_out, self.c_in)
    }
}

/// The weights as the gradient of the input needs them: of each phase the taps in reverse order, input and output channels
/// exchanged.
pub(in crate::ops) fn pack_turned<T: Real>(s: &Shape, weight: &[T], pack: &mut [T]) {
    let (c_in, c_out) = (s.c_in, s.c_out);
    let mut free = pack;
    for (y, x) in s.phases() {
        let k = y.taps * x.taps * c_out;
        let turned = |l: usize, ci: usize| {
            let (ty, tx) = (l / c_out / x.taps, l / c_out % x.taps);
            let (ky, kx) = (y.tap + (y.taps - 1 - ty) * s.stride, x.tap + (x.taps - 1 - tx) * s.stride);
            weight[((ky * s.kernel_w + kx) * c_in + ci) * c_out + l % c_out]
        };
        pack_panels(k, c_in, free, turned, None);
        free = &mut free[Panels::<T>::len(k, c_in)..];
    }
}

/// dx of one image from its dy, which is put into the frame, and from what `pack_turned` left.
pub(in crate::ops) fn data_image<T: Real>(
    (s, f): (&Shape, &Frame),
    dy: &[T],
    frame: &mut [T],
    pack: &[T],
    dx: &mut [T],
    e: &impl Epilogue<T>,
) {
    let (c_in, c_out) = (s.c_in, s.c_out);
    pad(dy, (s.out_h, s.out_w), frame, (f.h, f.w), (f.top, f.left), c_out);
    let mut packed = pack;
    for (y, x) in s.phases() {
        let k = y.taps * x.taps * c_out;
        let panels = Panels::packed(packed, k, c_in);
        packed = &packed[Panels::<T>::len(k, c_in)..];
        let corner = |p: Phase, before: usize| before + p.meets + 1 - p.taps;
        let first = (corner(y, f.top) * f.w + corner(x, f.left)) * c_out;
        let windows = Windows { first, columns: x.pixels, row: f.w * c_out, col: c_out };
        let runs = Runs { count: y.taps, len: x.taps * c_out, run: f.w * c_out, col: 1 };
        let to = Windows { first: y.pixel * s.w + x.pixel, columns: x.pixels, row: s.stride * s.w, col: s.stride };
        tiles(y.pixels * x.pixels, 0, c_in, frame, windows, runs, panels, false, dx, to, e);
    }
}

/// dW = or += that of one image, which stands in its frame; `pack` has room for dy in panels.
pub(in crate::ops) fn weight_image<T: Real>(s: &Shape, frame: &[T], dy: &[T], pack: &mut [T], add: bool, dw: &mut [T]) {
    let (n, fw) = (s.c_out, s.frame().1);
    // Rows of the transposed window matrix: one per tap.
    let taps = Windows { first: 0, columns: s.kernel_w * s.c_in, row: fw * s.c_in, col: 1 };
    let runs = Runs { count: s.out_h, len: s.out_w, run: s.stride * fw * s.c_in, col: s.stride * s.c_in };
    let panels = match in_place(dy, n) {
        Some(panels) => panels,
        None => pack_panels(s.out_h * s.out_w, n, pack, |l, j| dy[l * n + j], Some((dy, n))),
    };
    tiles(s.taps(), 0, n, frame, taps, runs, panels, add, dw, InOrder, &Finish::default());
}

impl OpSpec for Conv2dBackwardData {
    binds!(conv2d_backward_data: [dy, weights, saved] -> [dx], scratch);
    const HALVES: &'static [&'static str] = &["dy", "weights", "saved", "dx"];
    const FORMS: Forms = Forms::Tiled {
        module: "conv_data_tiled",
        entry: "conv2d_backward_data_tiled",
        quads: "conv2d_backward_data_tiled_quads",
    };

    fn grid(&self) -> Grid {
        // Pixels are sorted by their remainders by the stride.
        let s = self.stride.max(1);
        let pixels = self.batch * self.h.div_ceil(s) * self.w.div_ceil(s);
        Grid::Threads(u64::from(self.replicas * s * s) * tiles_of_four(pixels) * tiles_of_four(self.c_in))
    }
    fn scratch(&self) -> usize {
        let (s, f) = (self.shape(), self.shape().gradient_frame());
        s.turned_len() + GROUPS * f.h * f.w * s.c_out
    }
    fn lengths(&self) -> Lengths {
        let dx = elements(&[self.replicas, self.batch, self.h, self.w, self.c_in]);
        let dy = elements(&[self.replicas, self.batch, self.out_h, self.out_w, self.c_out]);
        let saved = if self.activation == 0 { 1 } else { dx };
        (vec![dy, elements(&[self.replicas, self.weights_stride]), saved], vec![dx])
    }
    fn sizes_agree(&self) -> bool {
        self.shape().windows_fit() && fits(self.weight, self.shape().weights(), self.weights_stride)
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * (self.shape().weights() as usize + self.c_out as usize))
    }
    fn product(&self) -> Option<Product> {
        // One product for the pixels of each remainder by the stride, with the taps that those meet at most.
        let s = self.stride.max(1);
        let m = elements_u64(&[self.batch, self.h.div_ceil(s), self.w.div_ceil(s)]);
        let k = elements_u64(&[self.kernel_h.div_ceil(s), self.kernel_w.div_ceil(s), self.c_out]);
        let whole = in_quadruples(&[self.c_in, self.c_out, self.weight], self.replicas, self.weights_stride);
        Some(Product { count: (self.replicas * s * s).into(), m, n: self.c_in.into(), k, whole })
    }
}

pub fn conv2d_backward_data<T: Real>(
    p: &Conv2dBackwardData,
    dy: &[T],
    w: &[T],
    saved: &[T],
    dx: &mut [T],
    scratch: &mut [T],
) {
    let (s, f) = (p.shape(), p.shape().gradient_frame());
    let (c_in, c_out, batch, per_group) = (s.c_in, s.c_out, p.batch as usize, p.images_a_group());
    let (pack, frames) = scratch.split_at_mut(s.turned_len());
    for r in 0..p.replicas as usize {
        pack_turned(&s, &w[r * p.weights_stride as usize + p.weight as usize..][..s.taps() * c_out], pack);
        let pack = &*pack;
        let part = r * batch * s.inputs()..(r + 1) * batch * s.inputs();
        let saved = if p.activation == ACT_NONE { &[] } else { &saved[part.clone()] };
        let dy = &dy[r * batch * s.outputs()..][..batch * s.outputs()];
        let frames = frames.par_chunks_mut((f.h * f.w * c_out).max(1));
        let groups = dx[part].par_chunks_mut(per_group * s.inputs()).zip(frames).enumerate();
        groups.for_each(|(g, (dx, frame))| {
            frame.fill(T::zero());
            for (i, dx) in dx.chunks_exact_mut(s.inputs()).enumerate() {
                let image = g * per_group + i;
                let dy = &dy[image * s.outputs()..][..s.outputs()];
                let saved = || &saved[image * s.inputs()..][..s.inputs()];
                if keeps_pre(p.activation) {
                    let slope = TimesSlope { saved: saved(), cols: c_in, activation: p.activation };
                    data_image((&s, &f), dy, frame, pack, dx, &slope);
                } else {
                    let gate = (p.activation == ACT_RELU).then(|| Gate { values: saved(), cols: c_in });
                    data_image((&s, &f), dy, frame, pack, dx, &Finish { gate, ..Default::default() });
                }
            }
        });
    }
}

impl Conv2dBackwardWeight {
    fn group_len(&self) -> usize {
        let s = self.shape();
        s.frame_len() + pack_len(s.out_h * s.out_w, s.c_out) + (s.taps() + 1) * s.c_out
    }
}
impl OpSpec for Conv2dBackwardWeight {
    binds!(conv2d_backward_weight: [x, dy] -> [grad], scratch);
    const HALVES: &'static [&'static str] = &["x", "dy"];
    const FORMS: Forms = Forms::SplitGradient {
        module: "conv_split",
        split: "conv2d_backward_weight_split",
        combine: "conv2d_backward_weight_reduce",
    };

    fn grid(&self) -> Grid {
        let taps = self.kernel_h * self.kernel_w * self.c_in;
        // One more row of tiles: the bias.
        Grid::Threads(u64::from(self.replicas) * (tiles_of_four(taps) + 1) * tiles_of_four(self.c_out))
    }
    fn scratch(&self) -> usize {
        GROUPS * self.group_len()
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.batch, self.h, self.w, self.c_in]);
        let dy = elements(&[self.replicas, self.batch, self.out_h, self.out_w, self.c_out]);
        (vec![x, dy], vec![elements(&[self.replicas, self.weights_stride])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && self.shape().windows_fit()
            && fits(self.weight, self.shape().weights(), self.weights_stride)
            && (self.has_bias == 0 || fits(self.bias, u64::from(self.c_out), self.weights_stride))
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * (self.shape().weights() as usize + self.c_out as usize))
    }
    fn of_input(&self) -> Option<usize> {
        Some(elements(&[self.replicas / self.share.max(1), self.batch]) * self.shape().seen())
    }
    fn product(&self) -> Option<Product> {
        let m = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let k = elements_u64(&[self.batch, self.out_h, self.out_w]);
        let whole = in_quadruples(&[self.c_in, self.c_out], 1, 0);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k, whole })
    }
}

pub fn conv2d_backward_weight<T: Real>(p: &Conv2dBackwardWeight, x: &[T], dy: &[T], grad: &mut [T], scratch: &mut [T]) {
    let s = p.shape();
    let (n, batch, per_group) = (s.c_out, p.batch as usize, p.images_a_group());
    let dw_len = s.taps() * n;
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let dy = &dy[r * batch * s.outputs()..][..batch * s.outputs()];
        let parts = &mut scratch[..batch.div_ceil(per_group) * p.group_len()];
        parts.par_chunks_mut(p.group_len()).enumerate().for_each(|(g, part)| {
            let (partial, rest) = part.split_at_mut(dw_len + n);
            let (frame, pack) = rest.split_at_mut(s.frame_len());
            let (dw, db) = partial.split_at_mut(dw_len);
            db.fill(T::zero());
            frame.fill(T::zero());
            for (i, image) in (g * per_group..((g + 1) * per_group).min(batch)).enumerate() {
                s.pad(&x[image * s.inputs()..][..s.inputs()], frame);
                let dy = &dy[image * s.outputs()..][..s.outputs()];
                weight_image(&s, frame, dy, pack, i > 0, dw);
                if p.has_bias == 1 {
                    add_rows(dy, db);
                }
            }
        });
        let grad = &mut grad[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let parts = &*parts;
        add_parts(parts, p.group_len(), 0, &mut grad[p.weight as usize..][..dw_len]);
        if p.has_bias == 1 {
            add_parts(parts, p.group_len(), dw_len, &mut grad[p.bias as usize..][..n]);
        }
    }
}

/// to = the sum of what stands at `from` of each part of `len` elements.
pub(in crate::ops) fn add_parts<T: Real>(parts: &[T], len: usize, from: usize, to: &mut [T]) {
    const PIECE: usize = 1 << 12;
    share(to.len() * GROUPS, to.par_chunks_mut(PIECE).enumerate(), |(i, to)| {
        to.fill(T::zero());
        for part in parts.chunks_exact(len) {
            add_rows(&part[from + i * PIECE..][..to.len()], to);
        }
    });
}

wide! {
    /// sum += the rows of x.
    pub(in crate::ops) fn add_rows<T: Real>(x: &[T], sum: &mut [T]) {
        for row in x.chunks_exact(sum.len()) {
            for (s, v) in sum.iter_mut().zip(row) {
                *s += *v;
            }
        }
    }
}
