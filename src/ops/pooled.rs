//! A convolution, its activation and the largest of each 2 x 2 window of that as one layer: what the windows are made of is
//! stored nowhere, nor is its gradient. Odd sizes lose the last row and column. Channels come in quadruples. Shader: `pooled.wgsl`
//! and `pooled_back.wgsl`; the CPU kernels work an image out in scratch memory that stays in the cache.

use super::conv::backward::{add_parts, add_rows, data_image, pack_turned, weight_image};
use super::conv::{GROUPS, Shape, Windows, conv_params};
use super::gemm::{Finish, InOrder, Panels, Runs, in_place, pack_len, pack_panels, tiles};
use super::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU, TimesSlope, activate, activation_slope};
use super::wide::wide;
use super::{
    Forms, Grid, Lengths, OpSpec, Product, binds, elements, elements_u64, fits, in_quadruples, params, shared,
};
use crate::base::Real;
use rayon::prelude::*;

conv_params! {
    /// y [R, batch, out_h / 2, out_w / 2, c_out] = the largest of each window of act(x [R or X, batch, h, w, c_in] * W + b);
    /// unless `frozen`, `slope` = act' there and `place` = which of the four it is, in reading order.
    ConvPoolForward
    first {
        replicas: u32,
        share: u32,
    }
    last {
        bias: u32,
        has_bias: u32,
        weights_stride: u32,
        activation: u32,
        frozen: u32,
    }
}
conv_params! {
    /// dW and db at their places of the gradient [R, P]; unless `no_dx`, dx [R, batch, h, w, c_in] times act'(saved), act having
    /// produced x. dy, slope and place are those of the pool's output.
    ConvPoolBackward
    first {
        replicas: u32,
        share: u32,
    }
    last {
        bias: u32,
        has_bias: u32,
        weights_stride: u32,
        activation: u32,
        no_dx: u32,
    }
}

impl Shape {
    /// Elements of the pool's output.
    fn pooled(&self) -> usize {
        (self.out_h / 2) * (self.out_w / 2) * self.c_out
    }
    /// Pixels of an image that a window reaches.
    fn reached(&self) -> [u32; 2] {
        [(self.out_h / 2 * 2) as u32, (self.out_w / 2 * 2) as u32]
    }
}

impl OpSpec for ConvPoolForward {
    binds!(conv_pool_forward: [x, weights] -> [y, slope, place], scratch);
    const HALVES: &'static [&'static str] = &["x", "weights", "y", "slope", "place"];
    const FORMS: Forms = Forms::Tiled { module: "pooled", entry: "conv_pool_forward", quads: "conv_pool_forward" };

    fn grid(&self) -> Grid {
        Grid::Groups(0)
    }
    fn scratch(&self) -> usize {
        let s = self.shape();
        pack_len(s.taps(), s.c_out) + GROUPS * (s.frame_len() + s.outputs())
    }
    fn lengths(&self) -> Lengths {
        let s = self.shape();
        let y = elements(&[self.replicas, self.batch]) * s.pooled();
        let kept = if self.frozen == 1 { 1 } else { y };
        let x = elements(&[self.replicas / self.share.max(1), self.batch]) * s.inputs();
        (vec![x, elements(&[self.replicas, self.weights_stride])], vec![y, kept, kept])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && self.shape().windows_fit()
            && self.c_out.is_multiple_of(4)
            && fits(self.weight, self.shape().weights(), self.weights_stride)
            && (self.has_bias == 0 || fits(self.bias, u64::from(self.c_out), self.weights_stride))
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * (self.shape().weights() as usize + self.c_out as usize))
    }
    fn product(&self) -> Option<Product> {
        let [h, w] = self.shape().reached();
        let k = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let whole = in_quadruples(&[self.c_in, self.c_out, self.weight, self.bias], self.replicas, self.weights_stride);
        let m = elements_u64(&[self.batch, h, w]);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k, whole })
    }
}

impl ConvPoolBackward {
    /// Frame of x, dy of the convolution, it in panels and in its frame, dW and db.
    fn group_len(&self) -> [usize; 5] {
        let (s, f) = (self.shape(), self.shape().gradient_frame());
        let dy = if self.no_dx == 1 { 0 } else { f.h * f.w * s.c_out };
        [s.frame_len(), s.outputs(), pack_len(s.out_h * s.out_w, s.c_out), dy, (s.taps() + 1) * s.c_out]
    }
}
impl OpSpec for ConvPoolBackward {
    binds!(conv_pool_backward: [x, dy, slope, place, weights, saved] -> [dx, grad], scratch);
    const HALVES: &'static [&'static str] = &["x", "dy", "slope", "place", "weights", "saved", "dx"];
    const FORMS: Forms = Forms::Fused {
        module: "pooled_back",
        entry: "conv_pool_backward",
        combine: "conv_pool_backward_combine",
        own: 1,
    };

    fn grid(&self) -> Grid {
        Grid::Groups(0)
    }
    fn scratch(&self) -> usize {
        self.shape().turned_len() + GROUPS * self.group_len().iter().sum::<usize>()
    }
    fn lengths(&self) -> Lengths {
        let s = self.shape();
        let x = elements(&[self.replicas / self.share.max(1), self.batch]) * s.inputs();
        let y = elements(&[self.replicas, self.batch]) * s.pooled();
        let dx = if self.no_dx == 1 { 1 } else { elements(&[self.replicas, self.batch]) * s.inputs() };
        let saved = if self.activation == ACT_NONE { 1 } else { dx };
        let weights = elements(&[self.replicas, self.weights_stride]);
        (vec![x, y, y, y, weights, saved], vec![dx, weights])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && self.shape().windows_fit()
            && self.c_out.is_multiple_of(4)
            && (self.no_dx == 1 || self.c_in.is_multiple_of(4))
            && fits(self.weight, self.shape().weights(), self.weights_stride)
            && (self.has_bias == 0 || fits(self.bias, u64::from(self.c_out), self.weights_stride))
    }
    fn of_weights(&self) -> Option<usize> {
        Some(self.replicas as usize * (self.shape().weights() as usize + self.c_out as usize))
    }
    fn product(&self) -> Option<Product> {
        if self.no_dx == 1 {
            return self.weight_product().map(|p| Product { count: 0, ..p });
        }
        let s = self.stride.max(1);
        let m = elements_u64(&[self.batch, self.h.div_ceil(s), self.w.div_ceil(s)]);
        let k = elements_u64(&[self.kernel_h.div_ceil(s), self.kernel_w.div_ceil(s), self.c_out]);
        let whole = in_quadruples(&[self.c_in, self.c_out, self.weight], self.replicas, self.weights_stride);
        Some(Product { count: (self.replicas * s * s).into(), m, n: self.c_in.into(), k, whole })
    }
    fn weight_product(&self) -> Option<Product> {
        let [h, w] = self.shape().reached();
        let m = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let whole = in_quadruples(&[self.c_in, self.c_out], 1, 0);
        let k = elements_u64(&[self.batch, h, w]);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k, whole })
    }
}

pub fn conv_pool_forward<T: Real>(
    p: &ConvPoolForward,
    x: &[T],
    w: &[T],
    y: &mut [T],
    slope: &mut [T],
    place: &mut [T],
    scratch: &mut [T],
) {
    let s = p.shape();
    let (n, batch, per_group) = (s.c_out, p.batch as usize, p.images_a_group());
    let (pack, rest) = scratch.split_at_mut(pack_len(s.taps(), n));
    let fw = s.frame().1;
    let windows = Windows { first: 0, columns: s.out_w, row: s.stride * fw * s.c_in, col: s.stride * s.c_in };
    let runs = Runs { count: s.kernel_h, len: s.kernel_w * s.c_in, run: fw * s.c_in, col: 1 };
    if s.pooled() == 0 {
        return;
    }
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let w = &w[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let weight = &w[p.weight as usize..][..s.taps() * n];
        let panels: Panels<T> = match in_place(weight, n) {
            Some(panels) => panels,
            None => pack_panels(s.taps(), n, pack, |l, j| weight[l * n + j], Some((weight, n))),
        };
        let finish = Finish { bias: (p.has_bias == 1).then(|| &w[p.bias as usize..][..n]), ..Default::default() };
        let part = r * batch * s.pooled()..(r + 1) * batch * s.pooled();
        let group = per_group * s.pooled();
        let work = |g: usize, y: &mut [T], mut kept: Option<(&mut [T], &mut [T])>, rest: &mut [T]| {
            let (frame, z) = rest.split_at_mut(s.frame_len());
            frame.fill(T::zero());
            for (i, y) in y.chunks_exact_mut(s.pooled()).enumerate() {
                s.pad(&x[(g * per_group + i) * s.inputs()..][..s.inputs()], frame);
                tiles(s.out_h * s.out_w, 0, n, frame, windows, runs, panels, false, z, InOrder, &finish);
                let at = i * s.pooled()..(i + 1) * s.pooled();
                let (slope, place) =
                    kept.as_mut().map_or((&mut [][..], &mut [][..]), |(s, p)| (&mut s[at.clone()], &mut p[at]));
                pool_image(p.activation, s.out_w * n, n, z, y, slope, place);
            }
        };
        let rest = rest.par_chunks_mut(s.frame_len() + s.outputs());
        let groups = y[part.clone()].par_chunks_mut(group).zip(rest).enumerate();
        if p.frozen == 1 {
            groups.for_each(|(g, (y, rest))| work(g, y, None, rest));
        } else {
            let kept = slope[part.clone()].par_chunks_mut(group).zip(place[part].par_chunks_mut(group));
            groups.zip(kept).for_each(|((g, (y, rest)), kept)| work(g, y, Some(kept), rest));
        }
    }
}

wide! {
    /// Of one image z, rows of `row` elements; slope and place may be empty.
    fn pool_image<T: Real>(
        activation: u32,
        row: usize,
        c: usize,
        z: &[T],
        y: &mut [T],
        slope: &mut [T],
        place: &mut [T],
    ) {
        // A constant in each arm, so that the loop over channels has no branch.
        match activation {
            ACT_NONE => pool::<T, ACT_NONE>(row, c, z, y, slope, place),
            ACT_RELU => pool::<T, ACT_RELU>(row, c, z, y, slope, place),
            ACT_SILU => pool::<T, ACT_SILU>(row, c, z, y, slope, place),
            ACT_SELU => pool::<T, ACT_SELU>(row, c, z, y, slope, place),
            _ => pool::<T, ACT_MISH>(row, c, z, y, slope, place),
        }
    }
}

#[inline(always)]
fn pool<T: Real, const ACTIVATION: u32>(row: usize, c: usize, z: &[T], y: &mut [T], slope: &mut [T], place: &mut [T]) {
    let pooled_row = row / (2 * c) * c;
    let numbers = [T::zero(), T::one(), T::of(2.0), T::of(3.0)];
    for (oy, (y, z)) in y.chunks_exact_mut(pooled_row).zip(z.chunks_exact(2 * row)).enumerate() {
        let (above, below) = z.split_at(row);
        let windows = above.chunks_exact(2 * c).zip(below.chunks_exact(2 * c));
        for (ox, (y, (above, below))) in y.chunks_exact_mut(c).zip(windows).enumerate() {
            let ((a, b), (d, e)) = (above.split_at(c), below.split_at(c));
            if slope.is_empty() {
                for i in 0..c {
                    let [a, b, d, e] = [a[i], b[i], d[i], e[i]].map(|z| activate(ACTIVATION, z));
                    y[i] = a.larger(b).larger(d).larger(e);
                }
                continue;
            }
            let at = oy * pooled_row + ox * c..oy * pooled_row + ox * c + c;
            let (slope, place) = (&mut slope[at.clone()], &mut place[at]);
            for i in 0..c {
                let z = [a[i], b[i], d[i], e[i]];
                let act = z.map(|z| activate(ACTIVATION, z));
                // Selects, no jumps: the largest so far, what it was made from, and which it is.
                let (mut best, mut made_from, mut which) = (act[0], z[0], numbers[0]);
                for j in 1..4 {
                    let more = act[j] > best;
                    best = best.larger(act[j]);
                    made_from = if more { z[j] } else { made_from };
                    which = if more { numbers[j] } else { which };
                }
                y[i] = best;
                slope[i] = activation_slope(ACTIVATION, made_from);
                place[i] = which;
            }
        }
    }
}

// Long: the operands of both gradients.
pub fn conv_pool_backward<T: Real>(
    p: &ConvPoolBackward,
    x: &[T],
    dy: &[T],
    slope: &[T],
    place: &[T],
    w: &[T],
    saved: &[T],
    dx: &mut [T],
    grad: &mut [T],
    scratch: &mut [T],
) {
    let (s, f, lens) = (p.shape(), p.shape().gradient_frame(), p.group_len());
    let (n, batch, per_group, pooled) = (s.c_out, p.batch as usize, p.images_a_group(), s.pooled());
    let (len, dw_len) = (lens.iter().sum::<usize>(), s.taps() * n);
    let (turned, parts) = scratch.split_at_mut(s.turned_len());
    let parts = &mut parts[..batch.div_ceil(per_group) * len];
    for r in 0..p.replicas as usize {
        let of_image = |image: usize| (r * batch + image) * pooled..(r * batch + image + 1) * pooled;
        if p.no_dx == 0 {
            pack_turned(&s, &w[r * p.weights_stride as usize + p.weight as usize..][..dw_len], turned);
        }
        let turned = &*turned;
        let work = |g: usize, mut dx: Option<&mut [T]>, part: &mut [T]| {
            let (frame, part) = part.split_at_mut(lens[0]);
            let (dense, part) = part.split_at_mut(lens[1]);
            let (pack, part) = part.split_at_mut(lens[2]);
            let (dy_frame, part) = part.split_at_mut(lens[3]);
            let (dw, db) = part.split_at_mut(dw_len);
            [&mut *frame, &mut *dense, &mut *dy_frame, &mut *db].into_iter().for_each(|v| v.fill(T::zero()));
            for (i, image) in (g * per_group..((g + 1) * per_group).min(batch)).enumerate() {
                let from = (r / p.share as usize * batch + image) * s.inputs();
                s.pad(&x[from..from + s.inputs()], frame);
                let at = of_image(image);
                if pooled > 0 {
                    unpool_image(s.out_w * n, n, &dy[at.clone()], &slope[at.clone()], &place[at], dense);
                }
                weight_image(&s, frame, dense, pack, i > 0, dw);
                if p.has_bias == 1 {
                    add_rows(dense, db);
                }
                let Some(dx) = dx.as_mut().map(|dx| &mut dx[i * s.inputs()..][..s.inputs()]) else { continue };
                if p.activation == ACT_NONE {
                    data_image((&s, &f), dense, dy_frame, turned, dx, &Finish::default());
                } else {
                    let saved = &saved[(r * batch + image) * s.inputs()..][..s.inputs()];
                    let slope = TimesSlope { saved, cols: s.c_in, activation: p.activation };
                    data_image((&s, &f), dense, dy_frame, turned, dx, &slope);
                }
            }
        };
        let groups = parts.par_chunks_mut(len).enumerate();
        if p.no_dx == 1 {
            groups.for_each(|(g, part)| work(g, None, part));
        } else {
            let dx = dx[r * batch * s.inputs()..][..batch * s.inputs()].par_chunks_mut(per_group * s.inputs());
            groups.zip(dx).for_each(|((g, part), dx)| work(g, Some(dx), part));
        }
        let grad = &mut grad[r * p.weights_stride as usize..][..p.weights_stride as usize];
        add_parts(parts, len, len - lens[4], &mut grad[p.weight as usize..][..dw_len]);
        if p.has_bias == 1 {
            add_parts(parts, len, len - n, &mut grad[p.bias as usize..][..n]);
        }
    }
}

wide! {
    /// dense, rows of `row` elements, = dy times slope at the places, zero beside them; what no window reaches is left alone.
    fn unpool_image<T: Real>(row: usize, c: usize, dy: &[T], slope: &[T], place: &[T], dense: &mut [T]) {
        let used = row / (2 * c) * 2 * c;
        let (zero, one, two) = (T::zero(), T::one(), T::of(2.0));
        let kept = slope.chunks_exact(used / 2).zip(place.chunks_exact(used / 2));
        for (dense, (dy, (slope, place))) in dense.chunks_exact_mut(2 * row).zip(dy.chunks_exact(used / 2).zip(kept)) {
            let (above, below) = dense.split_at_mut(row);
            for o in 0..used / (2 * c) {
                let (dy, slope, place) = (&dy[o * c..][..c], &slope[o * c..][..c], &place[o * c..][..c]);
                let (a, b) = above[2 * c * o..][..2 * c].split_at_mut(c);
                let (d, e) = below[2 * c * o..][..2 * c].split_at_mut(c);
                for i in 0..c {
                    let g = dy[i] * slope[i];
                    a[i] = if place[i] == zero { g } else { zero };
                    b[i] = if place[i] == one { g } else { zero };
                    d[i] = if place[i] == two { g } else { zero };
                    e[i] = if place[i] > two { g } else { zero };
                }
            }
        }
    }
}
