//! The convolutions against their naive form.

use super::*;
use crate::ops::linear::ACT_NONE;
use crate::ops::{Gradient, Op, OpSpec};

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

/// The forward pass without bias or activation, and its backward pass with the bias's gradient.
fn ops(s: &Shape, batch: u32) -> (Conv2dForward, Conv2dBackwardData, Conv2dBackwardWeight) {
    let n = s.taps() * s.c_out;
    let forward = Conv2dForward {
        replicas: 1,
        share: 1,
        batch,
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
        bias: n as u32,
        has_bias: 0,
        weights_stride: (n + s.c_out) as u32,
        activation: ACT_NONE,
    };
    let Some(Gradient::Steps(steps)) = forward.gradient(ACT_NONE) else { panic!("a layer has a gradient") };
    let [Op::Conv2dBackwardWeight(weight), Op::Conv2dBackwardData(data)] = [steps[0].op, steps[1].op] else {
        panic!("{steps:?}")
    };
    (forward, data, Conv2dBackwardWeight { has_bias: 1, ..weight })
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
            let (f, data, weight) = ops(&s, batch as u32);
            let (mut y, mut pre) = (vec![f64::NAN; batch * s.outputs()], vec![0.0]);
            conv2d_forward(&f, &x, &w, &mut y, &mut pre, &mut vec![f64::NAN; f.scratch()]);
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
            let mut dx = vec![f64::NAN; x.len()];
            conv2d_backward_data(&data, &dy, &w, &[0.0], &mut dx, &mut vec![f64::NAN; data.scratch()]);
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
