//! Rows of the convolutions between batch normalisations. Where the activation has a kink, what it is of is an odd multiple of 1/128
//! and exact: on which side of the kink it lies no rounding decides.

use super::{OFFSET, Row, fill, poison};
use vifo::ops::Op;
use vifo::ops::linear::{ACT_NONE, ACT_RELU, ACT_SILU};
use vifo::ops::norm::BatchNormPull;
use vifo::ops::normed::{NormConvBackward, NormConvForward};

/// h, w, c_in, c_out, kernel, stride, padding; data images, valid ones, auxiliary images. Images smaller than a tile and larger,
/// tiles that end within an image, all rows filler but one, channels about the edges of the tiles.
const SHAPES: [[u32; 10]; 13] = [
    [1, 1, 4, 4, 1, 1, 0, 1, 1, 0],
    [3, 3, 4, 8, 3, 1, 1, 7, 4, 0],
    [8, 8, 16, 16, 3, 1, 1, 2, 1, 1],
    [5, 7, 12, 20, 3, 1, 1, 3, 1, 4],
    [9, 9, 16, 32, 3, 2, 1, 2, 2, 0],
    [8, 8, 16, 32, 1, 2, 0, 4, 2, 1],
    [4, 4, 64, 64, 3, 1, 1, 5, 4, 0],
    [13, 5, 68, 36, 3, 1, 1, 1, 1, 1],
    [6, 6, 20, 4, 2, 2, 0, 7, 6, 0],
    [7, 7, 8, 24, 5, 3, 2, 3, 3, 1],
    [17, 17, 8, 8, 3, 1, 1, 2, 2, 1],
    [2, 2, 128, 12, 1, 1, 0, 3, 2, 2],
    // More tiles of valid images than lanes of the kernel that combines them.
    [32, 32, 4, 4, 3, 1, 1, 10, 9, 0],
];

fn len(sizes: &[u32]) -> usize {
    sizes.iter().map(|n| *n as usize).product()
}

/// Multiples of 1/`of`.
fn parts(n: usize, seed: u32, (low, high): (f32, f32), of: f32) -> Vec<f32> {
    fill(n, seed, low, high).into_iter().map(|v| (of * v).round() / of).collect()
}

/// [R, 2, 2, c]: means about 0 and inverse deviations, powers of two where they are `exact`.
fn stats(replicas: u32, c: u32, exact: bool) -> Vec<f32> {
    let n = len(&[replicas, 4, c]);
    let (means, powers) = (parts(n, 11, (-0.5, 0.5), 8.0), parts(n, 12, (-1.0, 1.0), 1.0));
    let (rough, inverse) = (fill(n, 11, -0.5, 0.5), fill(n, 12, 0.5, 2.0));
    (0..n)
        .map(|i| match ((i / c as usize).is_multiple_of(2), exact) {
            (true, true) => means[i],
            (true, false) => rough[i],
            (false, true) => powers[i].exp2(),
            (false, false) => inverse[i],
        })
        .collect()
}

/// Weights with gamma and beta at their places.
fn weights(p: &NormConvForward, exact: bool) -> Vec<f32> {
    let mut w = fill(len(&[p.replicas, p.weights_stride]), 2, -1.0, 1.0);
    if exact && p.normed == 1 {
        let odd = parts(len(&[p.replicas, p.c_in]), 13, (-0.5, 0.5), 64.0);
        let gamma = parts(odd.len(), 14, (-1.0, 1.0), 4.0);
        for (i, (odd, gamma)) in odd.into_iter().zip(gamma).enumerate() {
            let (r, channel) = (i as u32 / p.c_in, i as u32 % p.c_in);
            w[(r * p.weights_stride + p.gamma + channel) as usize] = gamma;
            w[(r * p.weights_stride + p.beta + channel) as usize] = odd + 1.0 / 128.0;
        }
    }
    w
}

/// The op, valid images, and whether the activation's inputs are exact.
fn cases() -> Vec<(NormConvForward, u32, bool)> {
    let mut all = vec![];
    for (i, [h, w, c_in, c_out, kernel, stride, pad, data_images, valid, aux]) in SHAPES.into_iter().enumerate() {
        for j in 0..4u32 {
            let replicas = [1, 2][(i + j as usize) % 2];
            let (weight, gap) = if j % 2 == 0 { (8, 4) } else { (OFFSET, 3) };
            let gamma = weight + kernel * kernel * c_in * c_out + gap;
            let normed = u32::from(j < 3);
            let activation = [ACT_RELU, ACT_SILU, ACT_NONE, ACT_NONE][j as usize];
            let op = NormConvForward {
                replicas,
                share: 1,
                batch: data_images + aux,
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
                weights_stride: gamma + 2 * c_in + 2 * gap,
                normed,
                gamma: if normed == 1 { gamma } else { 0 },
                beta: if normed == 1 { gamma + c_in + gap } else { 0 },
                activation,
                data_images,
                has_shortcut: u32::from(!(i + j as usize).is_multiple_of(3)),
                frozen: u32::from(i % 4 == 2 && j == 1),
                running: OFFSET,
                running_stride: OFFSET + 2 * c_out + 3,
                eps: 1e-5,
                momentum: 0.1,
            };
            all.push((op, valid, activation == ACT_RELU));
        }
    }
    // A first layer: three channels, an input that the replicas share.
    let first =
        NormConvForward { share: 3, replicas: 3, c_in: 3, h: 9, w: 7, out_h: 9, out_w: 7, has_shortcut: 0, ..all[7].0 };
    all.push((first, 3, false));
    all
}

fn x_of(p: &NormConvForward, exact: bool) -> Vec<f32> {
    let n = len(&[p.replicas / p.share, p.batch, p.h, p.w, p.c_in]);
    if exact { parts(n, 1, (-1.0, 1.0), 8.0) } else { fill(n, 1, -1.0, 1.0) }
}

pub fn norm_conv_forward() -> Vec<Row> {
    let row = |(p, valid, exact): (NormConvForward, u32, bool)| {
        let y = len(&[p.replicas, p.batch, p.out_h, p.out_w, p.c_out]);
        let given = vec![
            x_of(&p, exact),
            if p.normed == 1 { stats(p.replicas, p.c_in, exact) } else { vec![0.0] },
            weights(&p, exact),
            fill(if p.has_shortcut == 1 { y } else { 1 }, 3, -1.0, 1.0),
        ];
        let of_next = |n: usize| if p.frozen == 1 { 1 } else { n };
        let next = poison(of_next(len(&[p.replicas, 4, p.c_out])));
        let running = fill(of_next(len(&[p.replicas, p.running_stride])), 4, 0.1, 1.0);
        let row =
            Row::new(Op::NormConvForward(p), format!("{p:?} {valid} valid"), given, vec![poison(y), next, running]);
        row.with(|a| a.n_valid = valid)
    };
    cases().into_iter().map(row).collect()
}

pub fn norm_conv_backward() -> Vec<Row> {
    let row = |(f, valid, exact): (NormConvForward, u32, bool)| {
        let p = NormConvBackward {
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
            weights_stride: f.weights_stride,
            normed: f.normed,
            gamma: f.gamma,
            beta: f.beta,
            activation: f.activation,
            data_images: f.data_images,
        };
        let dy = len(&[p.replicas, p.batch, p.out_h, p.out_w, p.c_out]);
        let given = vec![
            x_of(&f, exact),
            fill(dy, 3, -1.0, 1.0),
            if p.normed == 1 { stats(p.replicas, p.c_in, exact) } else { vec![0.0] },
            weights(&f, exact),
        ];
        let sums = if p.normed == 1 { len(&[p.replicas, 4, p.c_in]) } else { 1 };
        let outputs = vec![
            poison(len(&[p.replicas, p.batch, p.h, p.w, p.c_in])),
            poison(sums),
            poison(len(&[p.replicas, p.weights_stride])),
        ];
        let row = Row::new(Op::NormConvBackward(p), format!("{p:?} {valid} valid"), given, outputs);
        row.with(|a| a.n_valid = valid)
    };
    cases().into_iter().filter(|(p, ..)| p.c_in.is_multiple_of(4)).map(row).collect()
}

/// data images, valid ones, auxiliary images, pixels, c.
const PULLED: [(u32, u32, u32, u32, u32); 7] = [
    (1, 1, 0, 1, 1),
    (1, 1, 1, 1, 3),
    (7, 4, 0, 4, 3),
    (7, 5, 7, 35, 5),
    (8, 3, 2, 1, 16),
    (1, 1, 0, 64, 33),
    (65, 40, 64, 1, 5),
];

pub fn batch_norm_pull() -> Vec<Row> {
    let mut all = vec![];
    for (data_images, valid, aux, pixels, c) in PULLED {
        for (replicas, has_other) in [(1, 0), (3, 0), (1, 1), (3, 1)] {
            let (images, gamma, weights_stride) = (data_images + aux, OFFSET, OFFSET + c + 3);
            let p = BatchNormPull { replicas, images, data_images, pixels, c, gamma, weights_stride, has_other };
            let n = len(&[replicas, images, pixels, c]);
            let given = vec![
                fill(n, 1, -1.0, 1.0),
                fill(n, 2, -1.0, 1.0),
                stats(replicas, c, false),
                fill(len(&[replicas, 4, c]), 7, -0.5, 0.5),
                fill(len(&[replicas, weights_stride]), 3, -1.0, 1.0),
                fill(if has_other == 1 { n } else { 1 }, 4, -1.0, 1.0),
            ];
            let row = Row::new(Op::BatchNormPull(p), format!("{p:?} {valid} valid"), given, vec![poison(n)]);
            all.push(row.with(|a| a.n_valid = valid));
        }
    }
    all
}
