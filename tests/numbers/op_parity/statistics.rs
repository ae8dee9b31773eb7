//! Batch statistics of channels far from zero, which want a bound of their own.

use super::gpu;
use crate::common::bounded::U;
use crate::common::parity::run;
use crate::common::rows::Row;
use crate::common::{Tolerance, compare};
use vifo::base::rng::Draw;
use vifo::exec::Executor;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::variants::Variant;
use vifo::exec::gpu::{Checks, GpuExecutor};
use vifo::ops::norm::BatchNormStats;
use vifo::ops::{Op, StepArgs};

/// Offset and spread of a channel.
const OFFSETS: [(f32, f32); 4] = [(1e3, 1.0), (1e3, 0.25), (0.7, 0.0), (8.0, 0.0)];
const EPS: f32 = 1e-5;
const MOMENTUM: f32 = 0.1;

/// Mean, 1/sd, running mean and running variance (both were 1/2) of a channel, each with its bound. The common running
/// error counts x - mean by the size of x; two passes deserve better. With m the mean, m + d the computed one and X = max |x|:
///   |d| <= (n + 5) u X: n - 1 sums in any order, 1/n (5u), a product (u);
///   sum (x - m - d)^2 = sum (x - m)^2 + n d^2: an error of the mean enters the variance squared;
///   (n + 8) u of that for the difference and its square (3u), n - 1 sums, 1/n and a product (6u);
///   1/sd: half the relative error of var + eps, its sum (u), root (9u) and quotient (5u);
///   running: what `momentum` takes of it, and three roundings of |old| + |new|.
fn channel_statistics(x: &[f64]) -> [(f64, f64); 4] {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    let d = (n + 5.0) * U * x.iter().fold(0f64, |m, v| m.max(v.abs()));
    let dvar = d * d + (n + 8.0) * U * (var + d * d);
    let safe = var + EPS as f64;
    assert!(dvar < 0.1 * safe, "a bound that permits everything");
    let inverse_sd = 1.0 / safe.sqrt();
    let more = if n > 1.0 { n / (n - 1.0) } else { 1.0 };
    let momentum = MOMENTUM as f64;
    let running = |new: f64, error: f64| (0.5 + momentum * (new - 0.5), momentum * error + 3.0 * U * (0.5 + new.abs()));
    [
        (mean, d),
        (inverse_sd, inverse_sd * (0.5 * dvar / (safe - dvar) + 15.0 * U)),
        running(mean, d),
        running(var * more, dvar * more),
    ]
}

/// Offsets a thousand times the spread, and channels without any: the variance keeps its digits, and a sum of squares
/// minus a square, which would not, is seen.
#[test]
fn an_offset_channel_keeps_its_variance() {
    const C: usize = OFFSETS.len();
    let mut one_pass_fails = false;
    for (images, pixels) in [(1, 1), (7, 1), (1, 64), (7, 81)] {
        // Two replicas with data and auxiliary images each: four groups of n rows.
        let (n, c) = ((images * pixels) as usize, C as u32);
        let p = BatchNormStats {
            replicas: 2,
            images: 2 * images,
            data_images: images,
            pixels,
            c,
            running: 0,
            running_stride: 2 * c,
            eps: EPS,
            momentum: MOMENTUM,
        };
        let draw = Draw { seed: 5, stream: 1002, step: images, replica: pixels };
        let value = |i: usize| OFFSETS[i % C].0 + OFFSETS[i % C].1 * (2.0 * draw.uniform(i as u32) - 1.0);
        let x: Vec<f32> = (0..4 * n * C).map(value).collect();
        let outputs = vec![vec![f32::NAN; 8 * C], vec![0.5; 4 * C]];
        let row = Row {
            args: vec![StepArgs { n_valid: images, ..Default::default() }],
            ..Row::new(Op::BatchNormStats(p), format!("{images} x {pixels}"), vec![x.clone()], outputs)
        };
        // stats [R, 2, 2, c] and running [R, 2, c] with their bounds.
        let (mut stats, mut running) = (vec![(0.0, 0.0); 8 * C], vec![(0.0, 0.0); 4 * C]);
        for group in 0..4 {
            for i in 0..C {
                let channel: Vec<f32> = (0..n).map(|k| x[(group * n + k) * C + i]).collect();
                let found = channel_statistics(&channel.iter().map(|v| *v as f64).collect::<Vec<_>>());
                (stats[group * 2 * C + i], stats[(group * 2 + 1) * C + i]) = (found[0], found[1]);
                if group % 2 == 0 {
                    (running[group * C + i], running[(group + 1) * C + i]) = (found[2], found[3]);
                }
                let mean = channel.iter().sum::<f32>() / n as f32;
                let one_pass = channel.iter().map(|v| v * v).sum::<f32>() / n as f32 - mean * mean;
                let (want, bound) = found[1];
                one_pass_fails |= ((1.0 / (one_pass + EPS).sqrt()) as f64 - want).abs() > 4.0 * bound;
            }
        }
        let (program, inputs, outputs) = row.program();
        let mut executors: Vec<Box<dyn Executor>> = vec![Box::new(CpuExecutor::<f32>::new(program.clone()))];
        for variant in [Variant::Plain, Variant::Split] {
            for checks in [Checks::On, Checks::Off] {
                let executor = GpuExecutor::with_variant(program.clone(), gpu(), checks, Some(variant));
                executors.push(Box::new(executor.expect("an executor")));
            }
        }
        for mut executor in executors {
            let got = run(&row, executor.as_mut(), &inputs, &outputs);
            for (got, wanted) in got.iter().zip([&stats, &running]) {
                let (want, bounds): (Vec<f64>, Vec<f64>) = wanted.iter().copied().unzip();
                let name = format!("{} on {}", row.name(), executor.device());
                let report = compare(&name, got, &want, Tolerance::Each(&bounds)).unwrap_or_else(|e| panic!("{e}"));
                println!("{name}: {:.3} of the tolerance", report.share);
            }
        }
    }
    assert!(one_pass_fails, "the bounds would let one pass through");
}
