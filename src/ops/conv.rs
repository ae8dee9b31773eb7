//! Two-dimensional convolutions, NHWC, weights [kh * kw * c_in, c_out] so that output channels are contiguous. Any stride
//! and padding; rows and columns of an image that no window reaches get no gradient.
//! The CPU kernels are implicit matrix products: an image is copied once into a padded frame, and the tiles of `gemm` read the
//! windows from there. Images are worked on in a fixed number of groups, so results do not depend on the thread count.

pub(super) mod backward;
mod forward;
#[cfg(test)]
mod tests;

pub use backward::{conv2d_backward_data, conv2d_backward_weight};
pub use forward::{conv2d_forward, conv2d_naive};

use super::gemm::{Places, Rows};
use super::params;
use crate::base::Real;

/// Parameters of a convolution: `first` and `last` are those of one op, between them stands what all three share.
macro_rules! conv_params {
    ($(#[$doc:meta])* $name:ident first { $($first:tt)* } last { $($last:tt)* }) => {
        params! {
            $(#[$doc])*
            $name {
                $($first)*
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
                $($last)*
            }
        }
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
            pub(in crate::ops) fn images_a_group(&self) -> usize {
                (self.batch as usize).div_ceil(GROUPS).max(1)
            }
        }
    };
}
pub(super) use conv_params;

conv_params! {
    /// y [R, batch, out_h, out_w, c_out] = act(x [R or X, batch, h, w, c_in] * W + b); `pre` as in `linear_forward`.
    Conv2dForward
    first {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
    }
    last {
        bias: u32,
        has_bias: u32,
        /// P, the length of one replica's weight vector.
        weights_stride: u32,
        activation: u32,
    }
}
conv_params! {
    /// dx [R, batch, h, w, c_in] from dy [R, batch, out_h, out_w, c_out], times act'(saved), act having produced x.
    Conv2dBackwardData
    first {
        replicas: u32,
    }
    last {
        weights_stride: u32,
        activation: u32,
    }
}
conv_params! {
    /// dW and db at `weight` and `bias` of the gradient vector [R, P].
    Conv2dBackwardWeight
    first {
        replicas: u32,
        share: u32,
    }
    last {
        bias: u32,
        has_bias: u32,
        weights_stride: u32,
    }
}

/// A thread of the shaders works out a tile of 4 x 4.
fn tiles_of_four(n: u32) -> u64 {
    u64::from(n.div_ceil(4))
}

/// Groups of images: the unit of parallel work, and of partial sums in the weight gradient.
pub(super) const GROUPS: usize = 16;

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

impl Shape {
    /// Every window has a size and a place.
    pub(super) fn windows_fit(&self) -> bool {
        self.stride > 0
            && self.kernel_h > 0
            && self.kernel_w > 0
            && self.out_h > 0
            && self.out_w > 0
            && self.c_in > 0
            && self.c_out > 0
            && self.h > 0
            && self.w > 0
    }
    pub fn inputs(&self) -> usize {
        self.h * self.w * self.c_in
    }
    /// Numbers of an image that lie in some window.
    pub(super) fn seen(&self) -> usize {
        let side = |all: usize, out: usize, kernel: usize| all.min(out * kernel.min(self.stride));
        side(self.h, self.out_h, self.kernel_h) * side(self.w, self.out_w, self.kernel_w) * self.c_in
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
    pub(super) fn frame(&self) -> (usize, usize) {
        ((self.out_h - 1) * self.stride + self.kernel_h, (self.out_w - 1) * self.stride + self.kernel_w)
    }
    pub(super) fn frame_len(&self) -> usize {
        let (h, w) = self.frame();
        h * w * self.c_in
    }
    /// Copies an image into its frame, whose border is zero already.
    pub(super) fn pad<T: Real>(&self, x: &[T], frame: &mut [T]) {
        pad(x, (self.h, self.w), frame, self.frame(), (self.pad_top, self.pad_left), self.c_in);
    }
}

/// Copies an image of c channels into a frame, (top, left) of its corner; both are (height, width), and rows and columns
/// outside of the frame are left out.
fn pad<T: Real>(
    x: &[T],
    (h, w): (usize, usize),
    frame: &mut [T],
    (frame_h, frame_w): (usize, usize),
    (top, left): (usize, usize),
    c: usize,
) {
    let len = w.min(frame_w.saturating_sub(left)) * c;
    // Nothing where every window lies in the left padding.
    if len > 0 {
        for y in top..frame_h.min(top + h) {
            let (from, to) = ((y - top) * w * c, (y * frame_w + left) * c);
            frame[to..to + len].copy_from_slice(&x[from..from + len]);
        }
    }
}

/// Rows of a grid that is `columns` wide: row i stands at (i / columns) * row + (i % columns) * col.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub first: usize,
    pub columns: usize,
    pub row: usize,
    pub col: usize,
}
// SAFETY: the places of one row of the grid ascend evenly; of those of several the furthest is kept.
unsafe impl Rows for Windows {
    #[inline(always)]
    fn set(&self, i: usize, h: usize, places: &mut Places) {
        // One division per tile: with few channels a product of a window is not much longer than a division.
        let (mut y, mut x) = (i / self.columns, i % self.columns);
        if x + h <= self.columns {
            return places.set_even(self.first + y * self.row + x * self.col, self.col, h);
        }
        (places.step, places.furthest) = (0, 0);
        for at in &mut places.at[..h] {
            *at = self.first + y * self.row + x * self.col;
            places.furthest = places.furthest.max(*at);
            x += 1;
            if x == self.columns {
                (x, y) = (0, y + 1);
            }
        }
    }
    #[inline(always)]
    fn evenly(&self) -> usize {
        self.columns
    }
}
