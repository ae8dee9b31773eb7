//! Rows of the convolutions: every image with every kernel, stride and padding that gives an output; channels, batches,
//! replicas, bias and activation are drawn for each, so that any two values meet in some row (test below). Then sizes about
//! the edges of the tiles, whose weights lie at whole quadruples where the channels are such.

use super::{OFFSET, Row, SHARES, fill, poison};
use vifo::base::rng::Draw;
use vifo::ops::Op;
use vifo::ops::conv::{Conv2dBackwardData, Conv2dBackwardWeight, Conv2dForward};
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU, keeps_pre};

const IMAGES: [(u32, u32); 5] = [(1, 1), (2, 2), (5, 7), (8, 8), (9, 9)];
const KERNELS: [(u32, u32); 4] = [(1, 1), (2, 2), (3, 3), (5, 3)];
const STRIDES: [u32; 3] = [1, 2, 3];
/// Top, left, bottom, right: the fourth makes a 2 x 2 kernel "same", with others some windows lie outside altogether.
const PADS: [[u32; 4]; 5] = [[0; 4], [1; 4], [2; 4], [0, 0, 1, 1], [2, 1, 0, 3]];
const CHANNELS: [u32; 5] = [1, 3, 5, 16, 33];
const BATCHES: [u32; 2] = [1, 7];

/// A forward pass; its backward passes are made from the same numbers.
fn cases() -> Vec<Conv2dForward> {
    let mut all = vec![];
    for (h, w) in IMAGES {
        for (kernel_h, kernel_w) in KERNELS {
            for stride in STRIDES {
                for [pad_top, pad_left, bottom, right] in PADS {
                    let (frame_h, frame_w) = (h + pad_top + bottom, w + pad_left + right);
                    if frame_h < kernel_h || frame_w < kernel_w {
                        continue;
                    }
                    let draw = Draw { seed: all.len() as u32, stream: 1001, step: 0, replica: 0 };
                    let pick = |what, n: usize| (draw.uniform(what) * n as f32) as usize;
                    let (c_in, c_out) = (CHANNELS[pick(0, 5)], CHANNELS[pick(1, 5)]);
                    let (replicas, share) = SHARES[pick(2, 3)];
                    let has_bias = pick(3, 2) as u32;
                    // Other weights before, between and behind; without a bias its place holds one of them.
                    let behind = OFFSET + kernel_h * kernel_w * c_in * c_out + 2;
                    all.push(Conv2dForward {
                        replicas,
                        share,
                        batch: BATCHES[pick(4, 2)],
                        h,
                        w,
                        c_in,
                        out_h: (frame_h - kernel_h) / stride + 1,
                        out_w: (frame_w - kernel_w) / stride + 1,
                        c_out,
                        kernel_h,
                        kernel_w,
                        stride,
                        pad_top,
                        pad_left,
                        weight: OFFSET,
                        bias: if has_bias == 1 { behind } else { 0 },
                        has_bias,
                        weights_stride: behind + c_out + 3,
                        activation: [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU][pick(5, 5)],
                    });
                }
            }
        }
    }
    all
}

/// h, w, c_in, c_out, kernel, stride, padding, batch: pixels and taps about 63, 64 and 65, channels about 16 and 64, long sums.
const EDGES: [[u32; 8]; 14] = [
    [1, 1, 64, 64, 1, 1, 0, 7],
    [1, 1, 17, 64, 3, 1, 1, 1],
    [8, 8, 64, 16, 3, 1, 1, 1],
    [7, 9, 16, 64, 3, 1, 1, 1],
    [13, 5, 16, 17, 3, 1, 1, 1],
    [5, 13, 17, 16, 1, 1, 0, 7],
    [9, 9, 16, 64, 3, 2, 1, 7],
    [8, 8, 64, 16, 1, 2, 0, 7],
    [9, 8, 4, 12, 3, 2, 1, 7],
    [6, 6, 20, 5, 2, 2, 0, 1],
    [8, 8, 3, 64, 3, 1, 1, 7],
    [16, 16, 8, 8, 3, 1, 1, 7],
    [7, 7, 12, 24, 5, 3, 2, 7],
    [8, 8, 1, 36, 3, 1, 1, 7],
];

fn edges() -> Vec<Conv2dForward> {
    let case = |(i, [h, w, c_in, c_out, kernel, stride, pad, batch]): (usize, [u32; 8])| {
        let (replicas, share) = SHARES[i % 3];
        let has_bias = u32::from(i % 4 != 0);
        let whole = c_in.is_multiple_of(4) && c_out.is_multiple_of(4);
        let (weight, gap) = if whole { (8, 4) } else { (OFFSET, 3) };
        let behind = weight + kernel * kernel * c_in * c_out + gap;
        Conv2dForward {
            replicas,
            share,
            batch,
            h,
            w,
            c_in,
            out_h: (h + 2 * pad - kernel) / stride + 1,
            out_w: (w + 2 * pad - kernel) / stride + 1,
            c_out,
            kernel_h: kernel,
            kernel_w: kernel,
            stride,
            pad_top: pad,
            pad_left: pad,
            weight,
            bias: if has_bias == 1 { behind } else { 0 },
            has_bias,
            weights_stride: behind + c_out + gap,
            activation: [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU][i / 2 % 5],
        }
    };
    EDGES.into_iter().enumerate().map(case).collect()
}

fn all_cases() -> Vec<Conv2dForward> {
    [cases(), edges()].concat()
}

fn inputs(p: &Conv2dForward) -> usize {
    (p.batch * p.h * p.w * p.c_in) as usize
}
fn outputs(p: &Conv2dForward) -> usize {
    (p.replicas * p.batch * p.out_h * p.out_w * p.c_out) as usize
}
fn weights(p: &Conv2dForward) -> usize {
    (p.replicas * p.weights_stride) as usize
}

pub fn conv2d_forward() -> Vec<Row> {
    let row = |p: Conv2dForward| {
        let x = inputs(&p) * (p.replicas / p.share) as usize;
        let pre = if keeps_pre(p.activation) { outputs(&p) } else { 1 };
        let given = vec![fill(x, 1, -1.0, 1.0), fill(weights(&p), 2, -1.0, 1.0)];
        Row::new(Op::Conv2dForward(p), format!("{p:?}"), given, vec![poison(outputs(&p)), poison(pre)])
    };
    all_cases().into_iter().map(row).collect()
}

pub fn conv2d_backward_data() -> Vec<Row> {
    let row = |f: Conv2dForward| {
        let p = Conv2dBackwardData {
            replicas: f.replicas,
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
            weights_stride: f.weights_stride,
            activation: f.activation,
        };
        let dx = inputs(&f) * f.replicas as usize;
        let mut saved = fill(if p.activation == ACT_NONE { 1 } else { dx }, 3, -3.0, 3.0);
        saved[0] = 0.0; // the kink itself: the slope there is 0
        let given = vec![fill(outputs(&f), 1, -1.0, 1.0), fill(weights(&f), 2, -1.0, 1.0), saved];
        Row::new(Op::Conv2dBackwardData(p), format!("{p:?}"), given, vec![poison(dx)])
    };
    all_cases().into_iter().map(row).collect()
}

pub fn conv2d_backward_weight() -> Vec<Row> {
    let row = |f: Conv2dForward| {
        let p = Conv2dBackwardWeight {
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
        };
        let x = inputs(&f) * (f.replicas / f.share) as usize;
        let given = vec![fill(x, 1, -1.0, 1.0), fill(outputs(&f), 2, -1.0, 1.0)];
        Row::new(Op::Conv2dBackwardWeight(p), format!("{p:?}"), given, vec![poison(weights(&f))])
    };
    all_cases().into_iter().map(row).collect()
}

/// Every value of one size meets every value of another.
#[test]
fn any_two_sizes_meet() {
    use std::collections::BTreeSet;
    let mut pairs = BTreeSet::new();
    for p in cases() {
        let values = [
            p.h * 100 + p.w,
            p.kernel_h * 100 + p.kernel_w,
            p.stride,
            p.c_in,
            p.c_out,
            p.batch,
            p.replicas * 100 + p.share,
            p.has_bias,
            p.activation,
        ];
        for i in 0..values.len() {
            for j in 0..i {
                pairs.insert((i, values[i], j, values[j]));
            }
        }
    }
    let counts = [5, 4, 3, 5, 5, 2, 3, 2, 5];
    let wanted: usize = (0..9).flat_map(|i| (0..i).map(move |j| counts[i] * counts[j])).sum();
    assert_eq!(pairs.len(), wanted);
}
