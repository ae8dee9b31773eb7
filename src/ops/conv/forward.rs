//! The forward pass.

use super::{Conv2dBackwardData, Conv2dBackwardWeight, Conv2dForward, GROUPS, Shape, Windows, tiles_of_four};
use crate::base::Real;
use crate::ops::gemm::{Finish, InOrder, Runs, in_place, pack_len, pack_panels, tiles};
use crate::ops::linear::{ACT_RELU, activate_all, keeps_pre};
use crate::ops::wide::wide;
use crate::ops::{
    Forms, Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, Product, binds, elements, elements_u64, fits,
    in_quadruples, shared,
};
use rayon::prelude::*;

impl OpSpec for Conv2dForward {
    binds!(conv2d_forward: [x, weights] -> [y, pre], scratch);
    const HALVES: &'static [&'static str] = &["x", "weights", "y", "pre"];
    const FORMS: Forms =
        Forms::Tiled { module: "conv_tiled", entry: "conv2d_forward_tiled", quads: "conv2d_forward_tiled_quads" };

    fn grid(&self) -> Grid {
        Grid::Threads(
            u64::from(self.replicas) * tiles_of_four(self.batch * self.out_h * self.out_w) * tiles_of_four(self.c_out),
        )
    }
    fn scratch(&self) -> usize {
        let s = self.shape();
        pack_len(s.taps(), s.c_out) + GROUPS * s.frame_len()
    }
    fn lengths(&self) -> Lengths {
        let y = elements(&[self.replicas, self.batch, self.out_h, self.out_w, self.c_out]);
        let pre = if keeps_pre(self.activation) { y } else { 1 };
        let x = elements(&[self.replicas / self.share.max(1), self.batch, self.h, self.w, self.c_in]);
        (vec![x, elements(&[self.replicas, self.weights_stride])], vec![y, pre])
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
        let m = elements_u64(&[self.batch, self.out_h, self.out_w]);
        let k = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let whole = in_quadruples(&[self.c_in, self.c_out, self.weight, self.bias], self.replicas, self.weights_stride);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k, whole })
    }
    fn gradient(&self, activation: u32) -> Option<Gradient> {
        let Self { replicas, share, batch, h, w, c_in, out_h, out_w, c_out, .. } = *self;
        let Self { kernel_h, kernel_w, stride, pad_top, pad_left, weight, bias, has_bias, weights_stride, .. } = *self;
        let of_weight = Conv2dBackwardWeight {
            replicas,
            share,
            batch,
            h,
            w,
            c_in,
            out_h,
            out_w,
            c_out,
            kernel_h,
            kernel_w,
            stride,
            pad_top,
            pad_left,
            weight,
            bias,
            has_bias,
            weights_stride,
        };
        let of_data = Conv2dBackwardData {
            replicas,
            batch,
            h,
            w,
            c_in,
            out_h,
            out_w,
            c_out,
            kernel_h,
            kernel_w,
            stride,
            pad_top,
            pad_left,
            weight,
            weights_stride,
            activation,
        };
        Some(Gradient::Steps(vec![
            GradientStep {
                op: Op::Conv2dBackwardWeight(of_weight),
                reads: &[Place::X, Place::Dy],
                writes: &[Place::Grad],
            },
            GradientStep {
                op: Op::Conv2dBackwardData(of_data),
                reads: &[Place::Dy, Place::Weights, Place::Saved],
                writes: &[Place::Dx],
            },
        ]))
    }
}

pub fn conv2d_forward<T: Real>(p: &Conv2dForward, x: &[T], w: &[T], y: &mut [T], pre: &mut [T], scratch: &mut [T]) {
    let s = p.shape();
    let (n, batch, per_group) = (s.c_out, p.batch as usize, p.images_a_group());
    let (pack, frames) = scratch.split_at_mut(pack_len(s.taps(), n));
    let (fh, fw) = s.frame();
    let framed = s.pad_top > 0 || s.pad_left > 0 || (fh, fw) != (s.h, s.w);
    let windows = Windows { first: 0, columns: s.out_w, row: s.stride * fw * s.c_in, col: s.stride * s.c_in };
    let runs = Runs { count: s.kernel_h, len: s.kernel_w * s.c_in, run: fw * s.c_in, col: 1 };
    for r in 0..p.replicas as usize {
        let x = &x[r / p.share as usize * batch * s.inputs()..][..batch * s.inputs()];
        let w = &w[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let weight = &w[p.weight as usize..][..s.taps() * n];
        let panels = match in_place(weight, n) {
            Some(panels) => panels,
            None => pack_panels(s.taps(), n, pack, |l, j| weight[l * n + j], Some((weight, n))),
        };
        let bias = (p.has_bias == 1).then(|| &w[p.bias as usize..][..n]);
        let finish = Finish { bias, relu: p.activation == ACT_RELU, gate: None };
        let image = |i: usize, frame: &mut [T], out: &mut [T]| {
            let image = &x[i * s.inputs()..][..s.inputs()];
            let a = if framed {
                s.pad(image, frame);
                &*frame
            } else {
                image
            };
            tiles(s.out_h * s.out_w, 0, n, a, windows, runs, panels, false, out, InOrder, &finish);
        };
        let part = r * batch * s.outputs()..(r + 1) * batch * s.outputs();
        let group = per_group * s.outputs();
        let groups = y[part.clone()].par_chunks_mut(group).zip(frames.par_chunks_mut(s.frame_len().max(1))).enumerate();
        if keeps_pre(p.activation) {
            groups.zip(pre[part].par_chunks_mut(group)).for_each(|((g, (y, frame)), pre)| {
                frame.fill(T::zero());
                let images = y.chunks_exact_mut(s.outputs()).zip(pre.chunks_exact_mut(s.outputs()));
                for (i, (y, pre)) in images.enumerate() {
                    image(g * per_group + i, frame, pre);
                    // While it lies in the cache.
                    activated(p.activation, pre, y);
                }
            });
        } else {
            groups.for_each(|(g, (y, frame))| {
                frame.fill(T::zero());
                for (i, y) in y.chunks_exact_mut(s.outputs()).enumerate() {
                    image(g * per_group + i, frame, y);
                }
            });
        }
    }
}

wide! {
    fn activated<T: Real>(activation: u32, pre: &[T], y: &mut [T]) {
        activate_all(activation, pre, y);
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
