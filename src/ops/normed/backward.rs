//! The gradients.

use super::{Norm, NormConvBackward, kinds, norm_fits};
use crate::base::Real;
use crate::ops::conv::GROUPS;
use crate::ops::conv::backward::{add_parts, data_image, pack_turned, weight_image};
use crate::ops::gemm::{Finish, pack_len};
use crate::ops::linear::{ACT_RELU, activation_slope};
use crate::ops::norm::{any_slope, channels, kind, of_channels};
use crate::ops::wide::wide;
use crate::ops::{
    Forms, Grid, Lengths, OpSpec, Product, StepArgs, binds, elements, elements_u64, fits, in_quadruples, shared,
};
use rayon::prelude::*;

impl NormConvBackward {
    /// Frame of x, dy in panels and in its frame, dW, and the sums of both kinds of image.
    fn group_len(&self) -> [usize; 5] {
        let (s, f) = (self.shape(), self.shape().gradient_frame());
        let pack = pack_len(s.out_h * s.out_w, s.c_out);
        let sums = if self.normed == 1 { 4 * s.c_in } else { 0 };
        [s.frame_len(), pack, f.h * f.w * s.c_out, s.taps() * s.c_out, sums]
    }
}
impl OpSpec for NormConvBackward {
    binds!(norm_conv_backward(step): [x, dy, stats, weights] -> [d, sums, grad], scratch);
    const HALVES: &'static [&'static str] = &["x", "dy", "weights", "d"];
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
    fn of_input(&self) -> Option<usize> {
        // The normalisation's gradient reads them all.
        let seen = if self.normed == 1 { self.shape().inputs() } else { self.shape().seen() };
        Some(elements(&[self.replicas / self.share.max(1), self.batch]) * seen)
    }
    fn product(&self) -> Option<Product> {
        let s = self.stride.max(1);
        let m = elements_u64(&[self.batch, self.h.div_ceil(s), self.w.div_ceil(s)]);
        let k = elements_u64(&[self.kernel_h.div_ceil(s), self.kernel_w.div_ceil(s), self.c_out]);
        let whole = in_quadruples(&[self.c_in, self.c_out, self.weight], self.replicas, self.weights_stride);
        Some(Product { count: (self.replicas * s * s).into(), m, n: self.c_in.into(), k, whole })
    }
    fn weight_product(&self) -> Option<Product> {
        let m = elements_u64(&[self.kernel_h, self.kernel_w, self.c_in]);
        let k = elements_u64(&[self.batch, self.out_h, self.out_w]);
        let whole = in_quadruples(&[self.c_in, self.c_out], 1, 0);
        Some(Product { count: self.replicas.into(), m, n: self.c_out.into(), k, whole })
    }
    fn sums(&self) -> u64 {
        if self.normed == 1 { 2 * kinds(self.batch, self.data_images) } else { 0 }
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
    let (len, dw_len) = (lens.iter().sum::<usize>(), lens[3]);
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
            let (dw, own) = part.split_at_mut(lens[3]);
            [&mut *frame, &mut *dy_frame, &mut *own].into_iter().for_each(|v| v.fill(T::zero()));
            for (i, d) in d.chunks_exact_mut(s.inputs()).enumerate() {
                let image = g * per_group + i;
                let (x, dy) = (&x[image * s.inputs()..][..s.inputs()], &dy[image * s.outputs()..][..s.outputs()]);
                match norm {
                    Some(norm) => norm.pad(&s, image, x, frame),
                    None => s.pad(x, frame),
                }
                weight_image(&s, frame, dy, pack, i > 0, dw);
                data_image((&s, &f), dy, dy_frame, turned, d, &Finish::default());
                if let Some(norm) = norm {
                    let k = usize::from(image >= p.data_images as usize);
                    // Rows that are neither data nor auxiliary count for nothing.
                    let counts = k == 1 || image < args.n_valid as usize;
                    let own = if counts { &mut own[2 * c * k..][..2 * c] } else { &mut [][..] };
                    pull_image(p.activation, x, norm.of_image(image), norm.gamma, norm.beta, d, own);
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
                for part in parts.chunks_exact(len) {
                    let (d, with_x) = part[at + 2 * c * k..][..2 * c].split_at(c);
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

wide! {
    /// d times the slope of the activation at what x is normalised to; own [2, c] += d and d (x - mean), unless it is empty.
    fn pull_image<T: Real>(
        activation: u32,
        x: &[T],
        stats: &[T],
        gamma: &[T],
        beta: &[T],
        d: &mut [T],
        own: &mut [T],
    ) {
        let c = gamma.len();
        let by = [&stats[..c], &stats[c..2 * c], gamma, beta];
        if activation == ACT_RELU {
            channels!(c, pull_some(x, by, |v| activation_slope(ACT_RELU, v), d, own));
        } else {
            channels!(c, pull_some(x, by, |v| any_slope(activation, v), d, own));
        }
    }
}

#[inline(always)]
fn pull_some<T: Real, const N: usize>(
    first: usize,
    x: &[T],
    by: [&[T]; 4],
    slope: impl Fn(T) -> T,
    d: &mut [T],
    own: &mut [T],
) {
    let (c, [mean, inv_sd, gamma, beta]) = (by[0].len(), of_channels::<T, N, 4>(first, by));
    // Two of each, so that a sum needs not wait for itself.
    let (mut sums, mut with_x) = ([[T::zero(); N]; 2], [[T::zero(); N]; 2]);
    for (x, d) in x.chunks(2 * c).zip(d.chunks_mut(2 * c)) {
        let pixels = x.chunks_exact(c).zip(d.chunks_exact_mut(c));
        for ((x, d), (sums, with_x)) in pixels.zip(sums.iter_mut().zip(&mut with_x)) {
            let (x, d) = (&x[first..][..N], &mut d[first..][..N]);
            for i in 0..N {
                let centred = x[i] - mean[i];
                d[i] *= slope(gamma[i] * (centred * inv_sd[i]) + beta[i]);
                sums[i] += d[i];
                with_x[i] += d[i] * centred;
            }
        }
    }
    if !own.is_empty() {
        for i in 0..N {
            own[first + i] += sums[0][i] + sums[1][i];
            own[c + first + i] += with_x[0][i] + with_x[1][i];
        }
    }
}
