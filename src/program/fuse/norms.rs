//! Batch normalisations between convolutions: `NormConvForward` and `NormConvBackward` normalise what they read, add the shortcut to
//! what they write and take the sums that the normalisations need; `BatchNormPull` adds the gradient that comes by the shortcut.

use super::as_op;
use crate::ops::Op;
use crate::ops::conv::{Conv2dBackwardData, Conv2dBackwardWeight, Conv2dForward};
use crate::ops::linear::ACT_NONE;
use crate::ops::norm::{BatchNormBackward, BatchNormForward, BatchNormPull};
use crate::ops::normed::{MOST_CHANNELS, NormConvBackward, NormConvForward};
use crate::program::{Buf, Program, Role, Step};

pub fn fuse(program: &mut Program) {
    each(program, read_normalised);
    each(program, add_shortcut);
    each(program, take_statistics);
    each(program, add_gradient);
    each(program, both_gradients);
}

/// Tries a rewrite at every step.
fn each(program: &mut Program, rewrite: fn(&mut Program, usize) -> Option<()>) {
    let mut i = 0;
    while i < program.steps.len() {
        let _ = rewrite(program, i);
        i += 1;
    }
}

/// A plain convolution as the op that can do more.
fn as_norm_conv(f: &Conv2dForward) -> Option<NormConvForward> {
    let fits = f.activation == ACT_NONE && f.has_bias == 0 && f.c_out.is_multiple_of(4);
    fits.then_some(NormConvForward {
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
        normed: 0,
        gamma: 0,
        beta: 0,
        activation: ACT_NONE,
        data_images: f.batch,
        has_shortcut: 0,
        frozen: 1,
        running: 0,
        running_stride: 0,
        eps: 0.0,
        momentum: 0.0,
    })
}

/// Without statistics, without shortcut; `stats` = those of x, or any buffer.
fn forward(program: &mut Program, op: NormConvForward, [x, stats, weights, y]: [Buf; 4]) -> Step {
    let name = program.info(y).name.clone();
    let none = [".next", ".running"].map(|part| program.scratch(format!("{name}{part}"), 1));
    Step {
        op: Op::NormConvForward(op),
        inputs: vec![x, stats, weights, weights],
        outputs: [y].into_iter().chain(none).collect(),
    }
}

/// The backward pass of a normalisation and the convolution behind it.
struct Backward {
    weight: (usize, Conv2dBackwardWeight),
    data: (usize, Conv2dBackwardData),
    sums: usize,
    norm: (usize, BatchNormBackward),
}

/// The normalisation at step `i` goes into the convolution that reads it, and out of memory.
fn read_normalised(program: &mut Program, i: usize) -> Option<()> {
    let n = as_op!(program, i, BatchNormForward)?;
    let [x, stats, weights] = program.steps[i].inputs[..] else { return None };
    let y = program.steps[i].outputs[0];
    let readers = program.readers(y);
    let at = *readers.first()?;
    let f = as_op!(program, at, Conv2dForward)?;
    let fits = program.info(y).role == Role::Scratch
        && n.c.is_multiple_of(4)
        && n.c <= MOST_CHANNELS
        && f.share == 1
        && program.steps[at].inputs[0] == y;
    let conv = as_norm_conv(&f).filter(|_| fits)?;
    let backward = match readers[1..] {
        [] => None,
        [_, _, _, _] => Some(backward_of(program, &readers[1..], y)?),
        _ => return None,
    };
    let conv = NormConvForward {
        normed: 1,
        gamma: n.gamma,
        beta: n.beta,
        activation: n.activation,
        data_images: n.data_images,
        ..conv
    };
    let z = program.steps[at].outputs[0];
    let step = forward(program, conv, [x, stats, weights, z]);
    let (mut new, mut out) = (vec![(at, step)], vec![i]);
    if let Some(b) = backward {
        let (d, dz) = (program.steps[b.data.0].outputs[0], program.steps[b.weight.0].inputs[1]);
        let [sums, grad] = program.steps[b.sums].outputs[..] else { return None };
        let dx = program.steps[b.norm.0].outputs[0];
        let op = Op::NormConvBackward(backward_op(&n, &f));
        new.push((b.weight.0, Step { op, inputs: vec![x, dz, stats, weights], outputs: vec![d, sums, grad] }));
        let op = Op::BatchNormPull(pull_op(&b.norm.1));
        new.push((b.norm.0, Step { op, inputs: vec![x, d, stats, sums, weights, weights], outputs: vec![dx] }));
        out.extend([b.data.0, b.sums]);
    }
    program.replace(new, &out);
    Some(())
}

/// Of the tensor y between the two, `readers` being the steps of the backward pass that read it.
fn backward_of(program: &Program, readers: &[usize], y: Buf) -> Option<Backward> {
    let weight = readers.iter().find_map(|&r| Some((r, as_op!(program, r, Conv2dBackwardWeight)?)))?;
    let sums = *readers.iter().find(|&&r| as_op!(program, r, BatchNormSums).is_some())?;
    let norm = readers.iter().find_map(|&r| Some((r, as_op!(program, r, BatchNormBackward)?)))?;
    let (dz, dy) = (program.steps[weight.0].inputs[1], program.steps[sums].inputs[2]);
    let at = program.writer(dy, sums)?;
    let data = as_op!(program, at, Conv2dBackwardData).filter(|d| d.activation == ACT_NONE)?;
    // It names y for a slope that is 1.
    let fits = readers.contains(&at)
        && program.steps[weight.0].inputs[0] == y
        && program.steps[at].inputs[0] == dz
        && program.readers(dy) == [sums, norm.0]
        && weight.0 < at;
    fits.then_some(Backward { weight, data: (at, data), sums, norm })
}

fn backward_op(n: &BatchNormForward, f: &Conv2dForward) -> NormConvBackward {
    let plain = plain_backward(&Conv2dBackwardWeight {
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
    });
    NormConvBackward {
        normed: 1,
        gamma: n.gamma,
        beta: n.beta,
        activation: n.activation,
        data_images: n.data_images,
        ..plain
    }
}

/// Without a normalisation.
fn plain_backward(g: &Conv2dBackwardWeight) -> NormConvBackward {
    NormConvBackward {
        replicas: g.replicas,
        share: g.share,
        batch: g.batch,
        h: g.h,
        w: g.w,
        c_in: g.c_in,
        out_h: g.out_h,
        out_w: g.out_w,
        c_out: g.c_out,
        kernel_h: g.kernel_h,
        kernel_w: g.kernel_w,
        stride: g.stride,
        pad_top: g.pad_top,
        pad_left: g.pad_left,
        weight: g.weight,
        weights_stride: g.weights_stride,
        normed: 0,
        gamma: 0,
        beta: 0,
        activation: ACT_NONE,
        data_images: g.batch,
    }
}

fn pull_op(n: &BatchNormBackward) -> BatchNormPull {
    BatchNormPull {
        replicas: n.replicas,
        images: n.images,
        data_images: n.data_images,
        pixels: n.pixels,
        c: n.c,
        gamma: n.gamma,
        weights_stride: n.weights_stride,
        has_other: 0,
    }
}

/// The sum at step `i` goes into the convolution that made its first part.
fn add_shortcut(program: &mut Program, i: usize) -> Option<()> {
    as_op!(program, i, Add)?;
    let [part, other] = program.steps[i].inputs[..] else { return None };
    let at = program.writer(part, i)?;
    let conv = as_op!(program, at, NormConvForward).filter(|c| c.has_shortcut == 0)?;
    if part == other || program.readers(part) != [i] {
        return None;
    }
    let mut step = program.steps[at].clone();
    step.op = Op::NormConvForward(NormConvForward { has_shortcut: 1, ..conv });
    step.inputs[3] = other;
    step.outputs[0] = program.steps[i].outputs[0];
    // There, and not before, the other part is written.
    program.replace(vec![(i, step)], &[at]);
    Some(())
}

/// The statistics at step `i` are taken by the convolution that made what they are of.
fn take_statistics(program: &mut Program, i: usize) -> Option<()> {
    let s = as_op!(program, i, BatchNormStats)?;
    let x = program.steps[i].inputs[0];
    let at = program.writer(x, i)?;
    let mut step = program.steps[at].clone();
    let conv = match step.op {
        Op::NormConvForward(conv) if conv.frozen == 1 => conv,
        Op::Conv2dForward(f) => {
            let op = as_norm_conv(&f)?;
            step = forward(program, op, [step.inputs[0], step.inputs[1], step.inputs[1], step.outputs[0]]);
            op
        }
        _ => return None,
    };
    let of = NormConvForward {
        data_images: s.data_images,
        frozen: 0,
        running: s.running,
        running_stride: s.running_stride,
        eps: s.eps,
        momentum: s.momentum,
        ..conv
    };
    step.op = Op::NormConvForward(of);
    step.outputs = [x].into_iter().chain(program.steps[i].outputs.clone()).collect();
    program.replace(vec![(at, step)], &[i]);
    Some(())
}

/// The sum of gradients at step `i` goes into the normalisation that made its second part.
fn add_gradient(program: &mut Program, i: usize) -> Option<()> {
    as_op!(program, i, Add)?;
    let [other, part] = program.steps[i].inputs[..] else { return None };
    let at = program.writer(part, i)?;
    let pull = as_op!(program, at, BatchNormPull).filter(|p| p.has_other == 0)?;
    if part == other || program.readers(part) != [i] {
        return None;
    }
    let mut step = program.steps[at].clone();
    step.op = Op::BatchNormPull(BatchNormPull { has_other: 1, ..pull });
    step.inputs[5] = other;
    step.outputs[0] = program.steps[i].outputs[0];
    program.replace(vec![(i, step)], &[at]);
    Some(())
}

/// The gradient of the weights at step `i` and that of the input from the same gradient become one op.
fn both_gradients(program: &mut Program, i: usize) -> Option<()> {
    let g = as_op!(program, i, Conv2dBackwardWeight)?;
    let ([x, dy], [grad]) = (&program.steps[i].inputs[..], &program.steps[i].outputs[..]) else { return None };
    let (x, dy, grad) = (*x, *dy, *grad);
    let of_input = |r: &usize| {
        let data = as_op!(program, *r, Conv2dBackwardData);
        data.is_some_and(|d| d.activation == ACT_NONE && d.weight == g.weight && program.steps[*r].inputs[0] == dy)
    };
    let at = program.readers(dy).into_iter().find(|r| *r > i && of_input(r))?;
    if g.has_bias == 1 || g.share != 1 || !g.c_in.is_multiple_of(4) || !g.c_out.is_multiple_of(4) {
        return None;
    }
    let (weights, dx) = (program.steps[at].inputs[1], program.steps[at].outputs[0]);
    let none = program.scratch(format!("{}.sums", program.info(dx).name), 1);
    let op = Op::NormConvBackward(plain_backward(&g));
    let step = Step { op, inputs: vec![x, dy, weights, weights], outputs: vec![dx, none, grad] };
    program.replace(vec![(i, step)], &[at]);
    Some(())
}
