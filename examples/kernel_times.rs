//! Times every variant of the product ops on layers of the paper's networks, one adapter: the numbers behind the table of
//! choices in src/exec/gpu/variants.rs. `cargo run --release --example kernel_times -- [ADAPTER] [BATCH]`; without a name
//! the software adapter. Parity is `tests/numbers/op_parity`'s business.

use std::sync::Arc;
use vifo::exec::gpu::{Checks, Choice, open};
use vifo::ops::Op;
use vifo::ops::conv::{Conv2dBackwardData, Conv2dBackwardWeight, Conv2dForward};
use vifo::ops::norm::{BatchNormStats, BatchNormSums};

/// side, c_in, c_out, stride.
const LAYERS: [(u32, u32, u32, u32); 6] =
    [(32, 3, 64, 1), (32, 16, 16, 1), (32, 16, 32, 2), (16, 32, 32, 1), (8, 64, 64, 1), (8, 192, 384, 1)];

fn layer(batch: u32, (side, c_in, c_out, stride): (u32, u32, u32, u32)) -> Conv2dForward {
    let out = (side - 1) / stride + 1;
    let n = 9 * c_in * c_out;
    Conv2dForward {
        replicas: 1,
        share: 1,
        batch,
        h: side,
        w: side,
        c_in,
        out_h: out,
        out_w: out,
        c_out,
        kernel_h: 3,
        kernel_w: 3,
        stride,
        pad_top: 1,
        pad_left: 1,
        weight: 0,
        bias: n,
        has_bias: 1,
        weights_stride: n + c_out,
        activation: 0,
    }
}

fn ops(f: Conv2dForward) -> [Op; 5] {
    let Conv2dForward { replicas, share, batch, h, w, c_in, out_h, out_w, c_out, kernel_h, kernel_w, .. } = f;
    let Conv2dForward { stride, pad_top, pad_left, weight, bias, has_bias, weights_stride, activation, .. } = f;
    let (images, data_images, pixels, c) = (batch, batch, out_h * out_w, c_out);
    [
        Op::Conv2dForward(f),
        Op::Conv2dBackwardData(Conv2dBackwardData {
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
        }),
        Op::Conv2dBackwardWeight(Conv2dBackwardWeight {
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
        }),
        Op::BatchNormStats(BatchNormStats {
            replicas,
            images,
            data_images,
            pixels,
            c,
            running: 0,
            running_stride: 2 * c,
            eps: 1e-5,
            momentum: 0.1,
        }),
        Op::BatchNormSums(BatchNormSums {
            replicas,
            images,
            data_images,
            pixels,
            c,
            gamma: 0,
            beta: c,
            weights_stride: 2 * c,
            activation,
        }),
    ]
}

fn main() -> vifo::error::Result<()> {
    let mut words = std::env::args().skip(1);
    let gpu = Arc::new(open(words.next().map_or(Choice::Software, Choice::Named))?);
    let batch = words.next().and_then(|w| w.parse().ok()).unwrap_or(16);
    println!("{}, batch {batch}; ms (GFLOP/s), the choice marked", gpu.describe());
    for sizes in LAYERS {
        let f = layer(batch, sizes);
        let (side, c_in, c_out, stride) = sizes;
        println!("{side} x {side}, {c_in} -> {c_out} channels, 3 x 3, stride {stride}");
        let flops = 2.0 * f64::from(batch * f.out_h * f.out_w) * f64::from(9 * c_in * c_out);
        for op in ops(f) {
            let (variants, chosen) = gpu.variants(&op);
            let mut line = format!("  {:24}", op.name());
            for variant in variants {
                let ms = 1e3 * gpu.seconds_of(op, variant, Checks::Off)?;
                let mark = if variant == chosen { "*" } else { "" };
                let rate = if op.family() == "conv" { format!(" ({:.1})", flops / ms / 1e6) } else { String::new() };
                line += &format!("  {}{mark} {ms:.3}{rate}", variant.name());
            }
            println!("{line}");
        }
    }
    Ok(())
}
