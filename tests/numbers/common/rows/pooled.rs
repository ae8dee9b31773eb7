//! Rows of the convolution with a pool behind it. Inputs and weights are multiples of 1/4, so that sums are exact in any order and
//! no executor takes another pixel for the largest; windows hold equal ones, too.

use super::{OFFSET, Row, SHARES, fill, poison};
use vifo::ops::Op;
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU};
use vifo::ops::pooled::{ConvPoolBackward, ConvPoolForward};

/// h, w, c_in, c_out, kernel, stride, padding before and behind, batch: odd images, images that no window reaches, channels about
/// the edges of the tiles, strides, long sums.
const SHAPES: [[u32; 9]; 14] = [
    [1, 1, 4, 4, 1, 1, 0, 0, 1],
    [2, 2, 1, 4, 1, 1, 0, 0, 7],
    [5, 7, 3, 12, 3, 1, 1, 1, 7],
    [8, 8, 4, 36, 3, 1, 1, 1, 3],
    [9, 9, 5, 4, 2, 1, 0, 1, 1],
    [9, 9, 8, 20, 3, 2, 1, 1, 7],
    [4, 6, 16, 64, 3, 1, 1, 1, 7],
    [8, 8, 64, 16, 3, 1, 1, 1, 1],
    [6, 6, 20, 8, 2, 2, 0, 0, 7],
    [7, 7, 12, 24, 5, 3, 2, 2, 7],
    [16, 16, 3, 64, 3, 1, 1, 1, 2],
    [16, 16, 8, 8, 3, 1, 1, 1, 7],
    [1, 9, 4, 8, 1, 1, 0, 0, 7],
    [13, 5, 68, 68, 1, 1, 0, 0, 1],
];
const ACTIVATIONS: [u32; 5] = [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU];

/// Multiples of 1/4.
fn quarters(n: usize, seed: u32) -> Vec<f32> {
    fill(n, seed, -2.0, 2.0).into_iter().map(|v| (4.0 * v).round() / 4.0).collect()
}

fn cases() -> Vec<ConvPoolForward> {
    let mut all = vec![];
    for (i, [h, w, c_in, c_out, kernel, stride, before, behind, batch]) in SHAPES.into_iter().enumerate() {
        for j in 0..3 {
            let (replicas, share) = SHARES[(i + j) % 3];
            let has_bias = ((i + j) % 2) as u32;
            let (weight, gap) = if j == 0 { (8, 4) } else { (OFFSET, 3) };
            let bias = weight + kernel * kernel * c_in * c_out + gap;
            all.push(ConvPoolForward {
                replicas,
                share,
                batch,
                h,
                w,
                c_in,
                out_h: (h + before + behind - kernel) / stride + 1,
                out_w: (w + before + behind - kernel) / stride + 1,
                c_out,
                kernel_h: kernel,
                kernel_w: kernel,
                stride,
                pad_top: before,
                pad_left: before,
                weight,
                bias: if has_bias == 1 { bias } else { 0 },
                has_bias,
                weights_stride: bias + c_out + gap,
                activation: ACTIVATIONS[(i + 2 * j) % 5],
                frozen: u32::from(j == 1 && i % 2 == 0),
            });
        }
    }
    all
}

/// Small ones before a SELU: its values below -17 are equal in f32, and which of them is the largest, and so the slope, is open.
fn kernel(f: &ConvPoolForward, n: usize) -> Vec<f32> {
    let by = if f.activation == ACT_SELU { 1.0 / 16.0 } else { 1.0 };
    quarters(n, 2).into_iter().map(|v| by * v).collect()
}

/// x, the pool's output, the weights.
fn lens(f: &ConvPoolForward) -> [usize; 3] {
    let x = f.replicas / f.share * f.batch * f.h * f.w * f.c_in;
    let y = f.replicas * f.batch * (f.out_h / 2) * (f.out_w / 2) * f.c_out;
    [x, y, f.replicas * f.weights_stride].map(|n| n as usize)
}

pub fn conv_pool_forward() -> Vec<Row> {
    let row = |p: ConvPoolForward| {
        let [x, y, w] = lens(&p);
        let kept = if p.frozen == 1 { 1 } else { y.max(1) };
        let outputs = vec![poison(y.max(1)), poison(kept), poison(kept)];
        Row::new(Op::ConvPoolForward(p), format!("{p:?}"), vec![quarters(x, 1), kernel(&p, w)], outputs)
    };
    cases().into_iter().map(row).collect()
}

pub fn conv_pool_backward() -> Vec<Row> {
    let row = |(i, f): (usize, ConvPoolForward)| {
        // The gradient of a shared input is that of each replica.
        let no_dx = u32::from(!f.c_in.is_multiple_of(4) || i % 4 == 3);
        let activation = if no_dx == 1 { ACT_NONE } else { ACTIVATIONS[i % 5] };
        let p = ConvPoolBackward {
            replicas: f.replicas,
            share: f.share,
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
            weight: f.weight,
            bias: f.bias,
            has_bias: f.has_bias,
            weights_stride: f.weights_stride,
            activation,
            no_dx,
        };
        let [x, y, w] = lens(&f);
        let dx = if no_dx == 1 { 1 } else { x * f.share as usize };
        let place = fill(y.max(1), 4, 0.0, 3.99).into_iter().map(f32::floor).collect();
        let mut saved = fill(if activation == ACT_NONE { 1 } else { dx }, 6, -3.0, 3.0);
        saved[0] = 0.0; // the kink itself: the slope there is 0
        let given = vec![
            fill(x, 1, -1.0, 1.0),
            fill(y.max(1), 2, -1.0, 1.0),
            fill(y.max(1), 3, -0.2, 1.1),
            place,
            fill(w, 5, -1.0, 1.0),
            saved,
        ];
        Row::new(Op::ConvPoolBackward(p), format!("{p:?}"), given, vec![poison(dx), poison(w)])
    };
    cases().into_iter().enumerate().map(row).collect()
}
