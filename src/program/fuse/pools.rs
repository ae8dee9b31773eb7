//! A convolution and the pool behind it: `ConvPoolForward`, and their gradients `ConvPoolBackward`.

use super::as_op;
use crate::ops::Op;
use crate::ops::conv::{Conv2dBackwardData, Conv2dBackwardWeight, Conv2dForward};
use crate::ops::linear::ACT_NONE;
use crate::ops::pooled::{ConvPoolBackward, ConvPoolForward};
use crate::program::{Buf, Program, Step};

/// The backward pass of such a pair: the steps of the pool, of the weights and of the input.
struct Backward {
    pool: usize,
    weight: (usize, Conv2dBackwardWeight),
    data: Option<(usize, Conv2dBackwardData)>,
}

pub fn fuse(program: &mut Program) {
    let mut i = 0;
    while i < program.steps.len() {
        if let Some((conv, backward)) = found(program, i) {
            join(program, i, conv, backward);
        }
        i += 1;
    }
}

/// The convolution that the pool at step `i` reads, where nothing else does but their backward pass.
fn found(program: &Program, i: usize) -> Option<((usize, Conv2dForward), Option<Backward>)> {
    as_op!(program, i, MaxPool2Forward)?;
    let y = program.steps[i].inputs[0];
    let at = program.writer(y, i)?;
    let conv = as_op!(program, at, Conv2dForward)?;
    let (x, pre) = (program.steps[at].inputs[0], program.steps[at].outputs[1]);
    let mut readers: Vec<usize> = [program.readers(y), program.readers(pre)].concat();
    readers.retain(|&r| r != i);
    readers.dedup();
    readers.sort_unstable();
    readers.dedup();
    if !conv.c_out.is_multiple_of(4) {
        return None;
    }
    let backward = match readers[..] {
        [] => None,
        [pool] => Some(backward(program, pool, x)?),
        _ => return None,
    };
    let has_dx = backward.as_ref().is_some_and(|b| b.data.is_some());
    (!has_dx || conv.c_in.is_multiple_of(4)).then_some(((at, conv), backward))
}

fn backward(program: &Program, pool: usize, x: Buf) -> Option<Backward> {
    as_op!(program, pool, MaxPool2Backward)?;
    let readers = program.readers(program.steps[pool].outputs[0]);
    let weight = readers.iter().find_map(|&r| Some((r, as_op!(program, r, Conv2dBackwardWeight)?)))?;
    let data = readers.iter().find_map(|&r| Some((r, as_op!(program, r, Conv2dBackwardData)?)));
    let all = readers.len() == 1 + usize::from(data.is_some()) && program.steps[weight.0].inputs[0] == x;
    all.then_some(Backward { pool, weight, data })
}

fn join(program: &mut Program, i: usize, (at, f): (usize, Conv2dForward), backward: Option<Backward>) {
    let (conv, pool) = (program.steps[at].clone(), program.steps[i].outputs[0]);
    let name = program.info(pool).name.clone();
    let kept = if backward.is_some() { program.info(pool).len } else { 1 };
    let (slope, place) =
        (program.scratch(format!("{name}.slope"), kept), program.scratch(format!("{name}.place"), kept));
    let op = Op::ConvPoolForward(ConvPoolForward {
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
        activation: f.activation,
        frozen: u32::from(backward.is_none()),
    });
    let forward = Step { op, inputs: conv.inputs.clone(), outputs: vec![pool, slope, place] };
    let (mut new, mut out) = (vec![(i, forward)], vec![at]);
    if let Some(b) = backward {
        let (x, weights) = (conv.inputs[0], conv.inputs[1]);
        let (dy, grad) = (program.steps[b.pool].inputs[1], program.steps[b.weight.0].outputs[0]);
        let (dx, saved) = match b.data {
            Some((d, _)) => (program.steps[d].outputs[0], program.steps[d].inputs[2]),
            None => (program.scratch(format!("{name}.none"), 1), x),
        };
        let op = Op::ConvPoolBackward(ConvPoolBackward {
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
            activation: b.data.map_or(ACT_NONE, |(_, d)| d.activation),
            no_dx: u32::from(b.data.is_none()),
        });
        let step = Step { op, inputs: vec![x, dy, slope, place, weights, saved], outputs: vec![dx, grad] };
        new.push((b.weight.0, step));
        out.push(b.pool);
        out.extend(b.data.map(|(d, _)| d));
    }
    program.replace(new, &out);
}
