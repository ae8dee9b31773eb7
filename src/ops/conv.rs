//! Two-dimensional convolutions, NHWC, weights [kh * kw * c_in, c_out] so that output channels are contiguous. Any stride
//! and padding; rows and columns of an image that no window reaches get no gradient.
//! The twins are implicit matrix products: an image is copied once into a padded frame, and the tiles of `gemm` read the
//! windows from there. Images are worked on in a fixed number of groups, so results do not depend on the thread count.

use super::gemm::{Epilogue, Panels, Rows, Runs, Store, in_place, pack_len, pack_panels, tiles};
use super::linear::{ACT_NONE, ACT_RELU, ACT_SILU, activate, activation_slope};
use super::{Grid, params};
use crate::base::Real;
use rayon::prelude::*;

params! {
    /// y [R, batch, out_h, out_w, c_out] = act(x [R or X, batch, h, w, c_in] * W + b); `pre` as in `linear_forward`.
    Conv2dForward {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        batch: u32,
        h: u32,
        w: u32,
        c_in: u32,
        out_h: u32,
        out_w: u32,
        c_out: u32,
        kernel_h: u32,
        kernel_w: u32,
        stride: u32,
        pad_top: u32,
        pad_left: u32,
        weight: u32,
        bias: u32,
        has_bias: u32,
        /// P, the length of one replica's weight vector.
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dx [R, batch, h, w, c_in] from dy [R, batch, out_h, out_w, c_out], times act'(saved), act having produced x.
    Conv2dBackwardData {
        replicas: u32,
        batch: u32,
        h: u32,
        w: u32,
        c_in: u32,
        out_h: u32,
        out_w: u32,
        c_out: u32,
        kernel_h: u32,
        kernel_w: u32,
        stride: u32,
        pad_top: u32,
        pad_left: u32,
        weight: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dW and db at `weight` and `bias` of the gradient vector [R, P].
    Conv2dBackwardWeight {
        replicas: u32,
        share: u32,
        batch: u32,
        h: u32,
        w: u32,
        c_in: u32,
        out_h: u32,
        out_w: u32,
        c_out: u32,
        kernel_h: u32,
        kernel_w: u32,
        stride: u32,
        pad_top: u32,
        pad_left: u32,
        weight: u32,
        bias: u32,
        has_bias: u32,
        weights_stride: u32,
    }
}

/// Groups of images: the unit of parallel work, and of partial sums in the weight gradient.
const GROUPS: usize = 16;

/// Sizes of a convolution of one image, shared by its three ops.
#[derive(Clone, Copy)]
pub struct Shape {
    pub h: usize,
    pub w: usize,
    pub c_in: usize,
    pub out_h: usize,
    pub out_w: usize,
    pub c_out: usize,
    pub kernel_h: usize,
    pub kernel_w: usize,
    pub stride: usize,
    pub pad_top: usize,
    pub pad_left: usize,
}

macro_rules! shape {
    ($($name:ident)*) => {$(
        impl $name {
            pub fn shape(&self) -> Shape {
                Shape {
                    h: self.h as usize,
                    w: self.w as usize,
                    c_in: self.c_in as usize,
                    out_h: self.out_h as usize,
                    out_w: self.out_w as usize,
                    c_out: self.c_out as usize,
                    kernel_h: self.kernel_h as usize,
                    kernel_w: self.kernel_w as usize,
                    stride: self.stride as usize,
                    pad_top: self.pad_top as usize,
                    pad_left: self.pad_left as usize,
                }
            }
            fn images_a_group(&self) -> usize {
                (self.batch as usize).div_ceil(GROUPS)
            }
        }
    )*};
}
shape! { Conv2dForward Conv2dBackwardData Conv2dBackwardWeight }

impl Shape {
    pub fn inputs(&self) -> usize {
        self.h * self.w * self.c_in
    }
    pub fn outputs(&self) -> usize {
        self.out_h * self.out_w * self.c_out
    }
    pub fn weights(&self) -> u64 {
        self.taps() as u64 * self.c_out as u64
    }
    /// Rows of the weight matrix.
    pub fn taps(&self) -> usize {
        self.kernel_h * self.kernel_w * self.c_in
    }
    /// Height and width of the padded input frame: what the windows reach.
    fn frame(&self) -> (usize, usize) {
        ((self.out_h - 1) * self.stride + self.kernel_h, (self.out_w - 1) * self.stride + self.kernel_w)
    }
    fn frame_len(&self) -> usize {
        let (h, w) = self.frame();
        h * w * self.c_in
    }
    /// The same for the gradient: dy, spread by the stride, in a frame whose windows are the input's pixels.
    fn spread(&self) -> (usize, usize) {
        (self.h + self.kernel_h - 1, self.w + self.kernel_w - 1)
    }
    fn spread_len(&self) -> usize {
        let (h, w) = self.spread();
        h * w * self.c_out
    }

    /// Copies an image into its frame; what lies outside of it is zero.
    fn pad<T: Real>(&self, x: &[T], frame: &mut [T]) {
        let (fh, fw) = self.frame();
        let c = self.c_in;
        frame.fill(T::zero());
        for fy in self.pad_top..fh.min(self.pad_top + self.h) {
            let (from, to) = ((fy - self.pad_top) * self.w * c, (fy * fw + self.pad_left) * c);
            let len = self.w.min(fw.saturating_sub(self.pad_left)) * c;
            // Nothing where every window lies in the left padding.
            if len > 0 {
                frame[to..to + len].copy_from_slice(&x[from..from + len]);
            }
        }
    }

    /// Spreads dy by the stride into its frame.
    fn spread_gradient<T: Real>(&self, dy: &[T], frame: &mut [T]) {
        let (fh, fw) = self.spread();
        let c = self.c_out;
        frame.fill(T::zero());
        // oy * stride + kernel_h - 1 - pad_top, where that lies inside.
        let place = |o: usize, kernel: usize, pad: usize, end: usize| {
            let p = (o * self.stride + kernel - 1).checked_sub(pad)?;
            (p < end).then_some(p)
        };
        for oy in 0..self.out_h {
            let Some(fy) = place(oy, self.kernel_h, self.pad_top, fh) else { continue };
            for ox in 0..self.out_w {
                let Some(fx) = place(ox, self.kernel_w, self.pad_left, fw) else { continue };
                let from = (oy * self.out_w + ox) * c;
                frame[(fy * fw + fx) * c..][..c].copy_from_slice(&dy[from..from + c]);
            }
        }
    }
}

impl Conv2dForward {
    pub fn grid(&self) -> Grid {
        let tiles = |n: u32| u64::from(n.div_ceil(4));
        Grid::Threads(u64::from(self.replicas) * tiles(self.batch * self.out_h * self.out_w) * tiles(self.c_out))
    }
    pub fn scratch(&self) -> usize {
        let s = self.shape();
        pack_len(s.taps(), s.c_out) + GROUPS * s.frame_len()
    }
}
impl Conv2dBackwardData {
    pub fn grid(&self) -> Grid {
        let tiles = |n: u32| u64::from(n.div_ceil(4));
        // Pixels are sorted by their remainders by the stride.
        let s = self.stride.max(1);
        let pixels = self.batch * self.h.div_ceil(s) * self.w.div_ceil(s);
        Grid::Threads(u64::from(self.replicas) * u64::from(s * s) * tiles(pixels) * tiles(self.c_in))
    }
    pub fn scratch(&self) -> usize {
        let s = self.shape();
        pack_len(s.kernel_h * s.kernel_w * s.c_out, s.c_in) + GROUPS * s.spread_len()
    }
}
impl Conv2dBackwardWeight {
    pub fn grid(&self) -> Grid {
        let tiles = |n: u32| u64::from(n.div_ceil(4));
        let taps = self.kernel_h * self.kernel_w * self.c_in;
        // One more row of tiles: the bias.
        Grid::Threads(u64::from(self.replicas) * (tiles(taps) + 1) * tiles(self.c_out))
    }
    fn group_len(&self) -> usize {
        let s = self.shape();
        s.frame_len() + pack_len(s.out_h * s.out_w, s.c_out) + (s.taps() + 1) * s.c_out
    }
    pub fn scratch(&self) -> usize {
        GROUPS * self.group_len()
    }
}

/// Windows of a frame: row i of A is the window of pixel (i / columns, i % columns).
#[derive(Clone, Copy)]
struct Windows {
    columns: usize,
    row: usize,
    col: usize,
}
impl Rows for Windows {
    #[inline(always)]
    fn at(&self, i: usize) -> usize {
        i / self.columns * self.row + i % self.columns * self.col
    }
}

struct Finish<'a, T> {
    bias: Option<&'a [T]>,
    activation: u32,
}
impl<T: Real> Epilogue<T> for Finish<'_, T> {
    #[inline(always)]
    fn apply(&self, _: usize, col: usize, values: &mut [T]) {
        if let Some(bias) = self.bias {
            for (v, b) in values.iter_mut().zip(&bias[col..]) {
                *v += *b;
            }
        }
        if self.activation == ACT_RELU {
            for v in values.iter_mut() {
                *v = v.at_least(T::zero());
            }
        }
    }
}

pub fn conv2d_forward<T: Real>(p: &Conv2dForward, x: &[T], w: &[T], y: &mut [T], pre: &mut [T], scratch: &mut [T]) {
    let s = p.shape();
    let (n, batch, per_group) = (s.c_out, p.batch as usize, p.images_a_group());
    let (pack, frames) = scratch.split_at_mut(pack_len(s.taps(), n));
    let (fh, fw) = s.frame();
    let framed = s.pad_top > 0 || s.pad_left > 0 || (fh, fw) != (s.h, s.w);
    let windows = Windows { columns: s.out_w, row: s.stride * fw * s.c_in, col: s.stride * s.c_in };
    let runs = Runs { count: s.kernel_h, len: s.kernel_w * s.c_in, run: fw * s.c_in, col: 1 };
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let w = &w[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let weight = &w[p.weight as usize..][..s.taps() * n];
        let panels = match in_place(weight, n) {
            Some(panels) => panels,
            None => pack_panels(s.taps(), n, pack, |l, j| weight[l * n + j], Some((weight, n))),
        };
        let part = r * batch * s.outputs()..(r + 1) * batch * s.outputs();
        let out = if p.activation == ACT_SILU { &mut pre[part.clone()] } else { &mut y[part.clone()] };
        let bias = (p.has_bias == 1).then(|| &w[p.bias as usize..][..n]);
        let finish = Finish { bias, activation: if p.activation == ACT_SILU { ACT_NONE } else { p.activation } };
        let groups =
            out.par_chunks_mut(per_group * s.outputs()).zip(frames.par_chunks_mut(s.frame_len().max(1))).enumerate();
        groups.for_each(|(g, (out, frame))| {
            for (i, out) in out.chunks_exact_mut(s.outputs()).enumerate() {
                let image = &x[(g * per_group + i) * s.inputs()..][..s.inputs()];
                let a = if framed {
                    s.pad(image, frame);
                    &*frame
                } else {
                    image
                };
                tiles(0, n, a, windows, runs, panels, false, out, &finish);
            }
        });
        if p.activation == ACT_SILU {
            silu(&pre[part.clone()], &mut y[part]);
        }
    }
}

fn silu<T: Real>(pre: &[T], y: &mut [T]) {
    const CHUNK: usize = 1 << 14;
    y.par_chunks_mut(CHUNK).zip(pre.par_chunks(CHUNK)).for_each(|(y, pre)| vector_silu(y, pre));
}

/// A function of its own, so that it can be compiled for the machine's vectors inside a closure of rayon.
fn vector_silu<T: Real>(y: &mut [T], pre: &[T]) {
    #[inline(always)]
    fn any<T: Real>(y: &mut [T], pre: &[T]) {
        for (y, z) in y.iter_mut().zip(pre) {
            *y = activate(ACT_SILU, *z);
        }
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
        fn avx512<T: Real>(y: &mut [T], pre: &[T]) {
            any(y, pre)
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<T: Real>(y: &mut [T], pre: &[T]) {
            any(y, pre)
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the processor was just asked for these features.
            return unsafe { avx512(y, pre) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { avx2(y, pre) };
        }
    }
    any(y, pre)
}

struct TimesSlope<'a, T> {
    saved: &'a [T],
    cols: usize,
    activation: u32,
}
impl<T: Real> Epilogue<T> for TimesSlope<'_, T> {
    #[inline(always)]
    fn apply(&self, row: usize, col: usize, values: &mut [T]) {
        let saved = &self.saved[row * self.cols + col..][..values.len()];
        for (v, s) in values.iter_mut().zip(saved) {
            *v *= activation_slope(self.activation, *s);
        }
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
    let s = p.shape();
    let (c_in, c_out, batch, per_group) = (s.c_in, s.c_out, p.batch as usize, p.images_a_group());
    let taps = s.kernel_h * s.kernel_w * c_out;
    let (pack, frames) = scratch.split_at_mut(pack_len(taps, c_in));
    let fw = s.spread().1;
    let windows = Windows { columns: s.w, row: fw * c_out, col: c_out };
    let runs = Runs { count: s.kernel_h, len: s.kernel_w * c_out, run: fw * c_out, col: 1 };
    for r in 0..p.replicas as usize {
        let weight = &w[r * p.weights_stride as usize + p.weight as usize..][..s.taps() * c_out];
        // Turned by half a turn, input and output channels exchanged.
        let turned = |l: usize, ci: usize| {
            let tap = s.kernel_h * s.kernel_w - 1 - l / c_out;
            weight[(tap * c_in + ci) * c_out + l % c_out]
        };
        let panels: Panels<T> = pack_panels(taps, c_in, pack, turned, None);
        let part = r * batch * s.inputs()..(r + 1) * batch * s.inputs();
        let saved = if p.activation == ACT_NONE { &[] } else { &saved[part.clone()] };
        let dy = &dy[r * batch * s.outputs()..][..batch * s.outputs()];
        let groups = dx[part]
            .par_chunks_mut(per_group * s.inputs())
            .zip(frames.par_chunks_mut(s.spread_len().max(1)))
            .enumerate();
        groups.for_each(|(g, (dx, frame))| {
            for (i, dx) in dx.chunks_exact_mut(s.inputs()).enumerate() {
                let image = g * per_group + i;
                s.spread_gradient(&dy[image * s.outputs()..][..s.outputs()], frame);
                if p.activation == ACT_NONE {
                    tiles(0, c_in, frame, windows, runs, panels, false, dx, &Store);
                } else {
                    let slope = TimesSlope {
                        saved: &saved[image * s.inputs()..][..s.inputs()],
                        cols: c_in,
                        activation: p.activation,
                    };
                    tiles(0, c_in, frame, windows, runs, panels, false, dx, &slope);
                }
            }
        });
    }
}

/// Rows of the transposed window matrix: one a tap.
#[derive(Clone, Copy)]
struct Taps {
    len: usize,
    run: usize,
}
impl Rows for Taps {
    #[inline(always)]
    fn at(&self, i: usize) -> usize {
        i / self.len * self.run + i % self.len
    }
}

pub fn conv2d_backward_weight<T: Real>(p: &Conv2dBackwardWeight, x: &[T], dy: &[T], grad: &mut [T], scratch: &mut [T]) {
    let s = p.shape();
    let (n, batch, per_group) = (s.c_out, p.batch as usize, p.images_a_group());
    let fw = s.frame().1;
    let taps = Taps { len: s.kernel_w * s.c_in, run: fw * s.c_in };
    let runs = Runs { count: s.out_h, len: s.out_w, run: s.stride * fw * s.c_in, col: s.stride * s.c_in };
    let (dw_len, pixels) = (s.taps() * n, s.out_h * s.out_w);
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let dy = &dy[r * batch * s.outputs()..][..batch * s.outputs()];
        let groups = batch.div_ceil(per_group);
        scratch[..groups * p.group_len()].par_chunks_mut(p.group_len()).enumerate().for_each(|(g, part)| {
            let (partial, rest) = part.split_at_mut(dw_len + n);
            let (frame, pack) = rest.split_at_mut(s.frame_len());
            let (dw, db) = partial.split_at_mut(dw_len);
            db.fill(T::zero());
            for (i, image) in (g * per_group..((g + 1) * per_group).min(batch)).enumerate() {
                s.pad(&x[image * s.inputs()..][..s.inputs()], frame);
                let dy = &dy[image * s.outputs()..][..s.outputs()];
                let panels = match in_place(dy, n) {
                    Some(panels) => panels,
                    None => pack_panels(pixels, n, pack, |l, j| dy[l * n + j], Some((dy, n))),
                };
                tiles(0, n, frame, taps, runs, panels, i > 0, dw, &Store);
                for row in dy.chunks_exact(n) {
                    for (b, d) in db.iter_mut().zip(row) {
                        *b += *d;
                    }
                }
            }
        });
        let grad = &mut grad[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let mut sum = |to: std::ops::Range<usize>, from: usize| {
            let to = &mut grad[to];
            to.fill(T::zero());
            for part in scratch[..groups * p.group_len()].chunks_exact(p.group_len()) {
                for (t, v) in to.iter_mut().zip(&part[from..]) {
                    *t += *v;
                }
            }
        };
        sum(p.weight as usize..p.weight as usize + dw_len, 0);
        if p.has_bias == 1 {
            sum(p.bias as usize..p.bias as usize + n, dw_len);
        }
    }
}

/// The forward pass of one image, product by product: the oracle of the fast form. No bias, no activation.
pub fn conv2d_naive<T: Real>(s: &Shape, x: &[T], weight: &[T], y: &mut [T]) {
    for oy in 0..s.out_h {
        for ox in 0..s.out_w {
            for co in 0..s.c_out {
                let mut sum = T::zero();
                for ky in 0..s.kernel_h {
                    for kx in 0..s.kernel_w {
                        let (iy, ix) = (
                            (oy * s.stride + ky).wrapping_sub(s.pad_top),
                            (ox * s.stride + kx).wrapping_sub(s.pad_left),
                        );
                        if iy < s.h && ix < s.w {
                            for ci in 0..s.c_in {
                                sum += x[(iy * s.w + ix) * s.c_in + ci]
                                    * weight[((ky * s.kernel_w + kx) * s.c_in + ci) * s.c_out + co];
                            }
                        }
                    }
                }
                y[(oy * s.out_w + ox) * s.c_out + co] = sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, f: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * f + 0.3).sin()).collect()
    }

    /// (h, w, c_in, c_out, kernel_h, kernel_w, stride, pad top, left, bottom, right)
    const CASES: &[[usize; 11]] = &[
        [8, 8, 3, 4, 3, 3, 1, 1, 1, 1, 1],
        [7, 5, 4, 3, 3, 3, 2, 1, 1, 1, 1],
        [6, 6, 5, 2, 1, 1, 2, 0, 0, 0, 0],
        [8, 8, 4, 6, 2, 2, 1, 0, 0, 1, 1],
        [1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1],
        [5, 4, 16, 32, 3, 3, 1, 0, 0, 0, 0],
        [6, 7, 2, 16, 5, 3, 2, 2, 1, 2, 1],
        [3, 3, 2, 33, 2, 2, 1, 3, 3, 3, 3],
        [9, 9, 3, 5, 3, 3, 3, 0, 0, 0, 0],
    ];

    fn case(c: &[usize; 11]) -> Shape {
        let [h, w, c_in, c_out, kernel_h, kernel_w, stride, pad_top, pad_left, bottom, right] = *c;
        let out = |n: usize, k: usize, pads: usize| (n + pads - k) / stride + 1;
        let (out_h, out_w) = (out(h, kernel_h, pad_top + bottom), out(w, kernel_w, pad_left + right));
        Shape { h, w, c_in, out_h, out_w, c_out, kernel_h, kernel_w, stride, pad_top, pad_left }
    }

    /// Forward against the naive form; backward by the adjoint identity <conv(x), dy> = <x, dx> = <W, dW>, which
    /// determines both because it holds for every x and W: checked here for unit vectors drawn at random.
    #[test]
    fn fast_equals_naive_and_its_adjoints() {
        for c in CASES {
            let s = case(c);
            for batch in [1usize, 7, 33] {
                let n = s.taps() * s.c_out + s.c_out;
                let (x, w) = (wave(batch * s.inputs(), 0.37), wave(n, 0.11));
                let dy = wave(batch * s.outputs(), 0.71);
                let forward = Conv2dForward {
                    replicas: 1,
                    share: 1,
                    batch: batch as u32,
                    h: s.h as u32,
                    w: s.w as u32,
                    c_in: s.c_in as u32,
                    out_h: s.out_h as u32,
                    out_w: s.out_w as u32,
                    c_out: s.c_out as u32,
                    kernel_h: s.kernel_h as u32,
                    kernel_w: s.kernel_w as u32,
                    stride: s.stride as u32,
                    pad_top: s.pad_top as u32,
                    pad_left: s.pad_left as u32,
                    weight: 0,
                    bias: (n - s.c_out) as u32,
                    has_bias: 0,
                    weights_stride: n as u32,
                    activation: ACT_NONE,
                };
                let f = &forward;
                let (mut y, mut pre) = (vec![f64::NAN; batch * s.outputs()], vec![0.0]);
                conv2d_forward(f, &x, &w, &mut y, &mut pre, &mut vec![f64::NAN; f.scratch()]);
                let naive = |x: &[f64], w: &[f64]| {
                    let mut y = vec![0.0; batch * s.outputs()];
                    for (x, y) in x.chunks(s.inputs()).zip(y.chunks_mut(s.outputs())) {
                        conv2d_naive(&s, x, w, y);
                    }
                    y
                };
                let bound = 8.0 * s.taps() as f64 * f64::EPSILON;
                for (a, b) in y.iter().zip(naive(&x, &w)) {
                    assert!((a - b).abs() <= bound, "{c:?} batch {batch}: {a} {b}");
                }
                let data = Conv2dBackwardData {
                    replicas: 1,
                    batch: f.batch,
                    h: f.h,
                    w: f.w,
                    c_in: f.c_in,
                    out_h: f.out_h,
                    out_w: f.out_w,
                    c_out: f.c_out,
                    kernel_h: f.kernel_h,
                    kernel_w: f.kernel_w,
                    stride: f.stride,
                    pad_top: f.pad_top,
                    pad_left: f.pad_left,
                    weight: 0,
                    weights_stride: f.weights_stride,
                    activation: ACT_NONE,
                };
                let mut dx = vec![f64::NAN; x.len()];
                conv2d_backward_data(&data, &dy, &w, &[0.0], &mut dx, &mut vec![f64::NAN; data.scratch()]);
                let weight = Conv2dBackwardWeight {
                    replicas: 1,
                    share: 1,
                    batch: f.batch,
                    h: f.h,
                    w: f.w,
                    c_in: f.c_in,
                    out_h: f.out_h,
                    out_w: f.out_w,
                    c_out: f.c_out,
                    kernel_h: f.kernel_h,
                    kernel_w: f.kernel_w,
                    stride: f.stride,
                    pad_top: f.pad_top,
                    pad_left: f.pad_left,
                    weight: 0,
                    bias: f.bias,
                    has_bias: 1,
                    weights_stride: f.weights_stride,
                };
                let mut grad = vec![f64::NAN; n];
                conv2d_backward_weight(&weight, &x, &dy, &mut grad, &mut vec![f64::NAN; weight.scratch()]);
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let slack = bound * batch as f64 * s.outputs() as f64;
                for t in 0..12 {
                    let i = (t * 7919 + 13) % x.len();
                    let mut unit = vec![0.0; x.len()];
                    unit[i] = 1.0;
                    let want = dot(&naive(&unit, &w), &dy);
                    assert!((dx[i] - want).abs() <= slack, "{c:?} dx[{i}] = {} not {want}", dx[i]);
                    let i = (t * 104_729 + 5) % (s.taps() * s.c_out);
                    let mut unit = vec![0.0; n];
                    unit[i] = 1.0;
                    let want = dot(&naive(&x, &unit), &dy);
                    assert!((grad[i] - want).abs() <= slack, "{c:?} dW[{i}] = {} not {want}", grad[i]);
                }
                for co in 0..s.c_out {
                    let want: f64 = dy.iter().skip(co).step_by(s.c_out).sum();
                    assert!((grad[n - s.c_out + co] - want).abs() <= slack);
                }
            }
        }
    }
}
