//! From the gradient of the last layer's outputs back to the weights: the tape, walked from its end.

use super::builder::{Builder, Node, Tensor};
use super::{Buf, Role};
use crate::ops::Op;
use crate::ops::conv::{Conv2dBackwardData, Conv2dBackwardWeight};
use crate::ops::linear::{LinearBackwardData, LinearBackwardWeight};
use crate::ops::norm::{Add, BatchNormBackward, BatchNormSums};
use crate::ops::pool::{AvgPoolBackward, MaxPool2Backward};
use crate::ops::vbll::{VbllBackwardData, VbllBackwardWeight};

/// Gradients of tensors, by the tensor's buffer.
#[derive(Default)]
struct Gradients(Vec<(Buf, Buf)>);

impl Gradients {
    fn take(&mut self, of: Tensor) -> Option<Buf> {
        let i = self.0.iter().position(|(t, _)| *t == of.buf)?;
        Some(self.0.swap_remove(i).1)
    }
}

impl Builder {
    /// Records the backward pass of everything on the tape; returns the flat gradient [R, P]. Every weight belongs to
    /// exactly one layer, so each element of the gradient is written once, with `=`.
    pub fn backward(&mut self, outputs: Tensor, dout: Buf) -> Buf {
        let grad = self.buffer("grad", self.replicas as usize * self.stride as usize, Role::Scratch);
        let tape = std::mem::take(&mut self.tape);
        let mut gradients = Gradients(vec![(outputs.buf, dout)]);
        for node in tape.iter().rev() {
            match node {
                Node::Linear { x, y, at } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    let op = LinearBackwardWeight {
                        replicas: self.replicas,
                        share: self.replicas / x.replicas,
                        rows: x.rows,
                        n_in: at.n_in,
                        n_out: at.n_out,
                        weight: at.weight,
                        bias: at.bias,
                        stride: self.stride,
                    };
                    self.push(Op::LinearBackwardWeight(op), &[x.buf, dy], &[grad]);
                    let op = LinearBackwardData {
                        replicas: self.replicas,
                        rows: x.rows,
                        n_in: at.n_in,
                        n_out: at.n_out,
                        weight: at.weight,
                        stride: self.stride,
                        activation: x.activation,
                    };
                    let inputs = [dy, self.weights, x.saved];
                    self.gradient(&mut gradients, *x, |b, dx| b.push(Op::LinearBackwardData(op), &inputs, &[dx]));
                }
                Node::Vbll { x, y, at } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    let op = VbllBackwardWeight {
                        replicas: self.replicas,
                        share: self.replicas / x.replicas,
                        rows: x.rows,
                        n_in: at.n_in,
                        k: at.k,
                        mean: at.mean,
                        log_scale: at.log_scale,
                        log_noise: at.log_noise,
                        stride: self.stride,
                    };
                    self.push(Op::VbllBackwardWeight(op), &[x.buf, dy, self.weights], &[grad]);
                    let op = VbllBackwardData {
                        replicas: self.replicas,
                        rows: x.rows,
                        n_in: at.n_in,
                        k: at.k,
                        mean: at.mean,
                        log_scale: at.log_scale,
                        stride: self.stride,
                        activation: x.activation,
                    };
                    let inputs = [x.buf, dy, self.weights, x.saved];
                    self.gradient(&mut gradients, *x, |b, dx| b.push(Op::VbllBackwardData(op), &inputs, &[dx]));
                }
                Node::Conv { x, y, op: f } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    let op = Conv2dBackwardWeight {
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
                    self.push(Op::Conv2dBackwardWeight(op), &[x.buf, dy], &[grad]);
                    let op = Conv2dBackwardData {
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
                        activation: x.activation,
                    };
                    let inputs = [dy, self.weights, x.saved];
                    self.gradient(&mut gradients, *x, |b, dx| b.push(Op::Conv2dBackwardData(op), &inputs, &[dx]));
                }
                Node::MaxPool { x, y } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    let op = MaxPool2Backward {
                        images: x.replicas * x.rows,
                        h: x.h,
                        w: x.w,
                        c: x.c,
                        activation: x.activation,
                    };
                    self.gradient(&mut gradients, *x, |b, dx| {
                        b.push(Op::MaxPool2Backward(op), &[x.buf, dy, x.saved], &[dx])
                    });
                }
                Node::AvgPool { x, y, size } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    let op = AvgPoolBackward {
                        images: x.replicas * x.rows,
                        h: x.h,
                        w: x.w,
                        c: x.c,
                        size: *size,
                        activation: x.activation,
                    };
                    self.gradient(&mut gradients, *x, |b, dx| b.push(Op::AvgPoolBackward(op), &[dy, x.saved], &[dx]));
                }
                Node::Norm { x, y, stats, op: f } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    let sums = self.buffer("norm.sums", 4 * (f.replicas * f.c) as usize, Role::Scratch);
                    let op = BatchNormSums {
                        replicas: f.replicas,
                        images: f.images,
                        data_images: f.data_images,
                        pixels: f.pixels,
                        c: f.c,
                        gamma: f.gamma,
                        beta: f.beta,
                        weights_stride: f.weights_stride,
                        activation: f.activation,
                    };
                    self.push(Op::BatchNormSums(op), &[x.buf, y.buf, dy, *stats], &[sums, grad]);
                    let op = BatchNormBackward {
                        replicas: f.replicas,
                        images: f.images,
                        data_images: f.data_images,
                        pixels: f.pixels,
                        c: f.c,
                        gamma: f.gamma,
                        weights_stride: f.weights_stride,
                        activation: f.activation,
                    };
                    let inputs = [x.buf, y.buf, dy, *stats, sums, self.weights];
                    self.gradient(&mut gradients, *x, |b, dx| b.push(Op::BatchNormBackward(op), &inputs, &[dx]));
                }
                Node::Add { a, b, y } => {
                    // The gradient of a sum is the gradient of both its parts.
                    let Some(dy) = gradients.take(*y) else { continue };
                    for part in [a, b] {
                        self.join(&mut gradients, *part, dy);
                    }
                }
                // The slope of the activation before it was multiplied in already; the two commute.
                Node::Dropout { x, y, op } => {
                    let Some(dy) = gradients.take(*y) else { continue };
                    self.gradient(&mut gradients, *x, |b, dx| b.push(Op::Dropout(*op), &[dy], &[dx]));
                }
            }
        }
        grad
    }

    /// Records a gradient of `x` by `record` into a new buffer, and adds it to what `x` has from elsewhere.
    fn gradient(&mut self, gradients: &mut Gradients, x: Tensor, record: impl FnOnce(&mut Builder, Buf)) {
        if !x.has_gradient {
            return;
        }
        let name = format!("d{}", self.program.info(x.buf).name);
        let dx = self.buffer(&name, x.len(), Role::Scratch);
        record(self, dx);
        self.join(gradients, x, dx);
    }

    fn join(&mut self, gradients: &mut Gradients, x: Tensor, dx: Buf) {
        if !x.has_gradient {
            return;
        }
        let dx = match gradients.take(x) {
            None => dx,
            Some(other) => {
                let sum = self.buffer("dsum", x.len(), Role::Scratch);
                self.push(Op::Add(Add { count: x.len() as u32 }), &[other, dx], &[sum]);
                sum
            }
        };
        gradients.0.push((x.buf, dx));
    }
}
