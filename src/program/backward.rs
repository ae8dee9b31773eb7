//! From the gradient of the last layer's outputs back to the weights: the tape, walked from its end.

use super::builder::{Builder, Node, Tensor};
use super::{Buf, Role};
use crate::ops::norm::Add;
use crate::ops::{Gradient, GradientStep, Op, Place};

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
            let Some(dy) = gradients.take(node.y) else { continue };
            match node.op.gradient(node.inputs[0].activation).expect("a layer's op has a gradient") {
                Gradient::OfEachInput => node.inputs.iter().for_each(|x| self.join(&mut gradients, *x, dy)),
                Gradient::Steps(steps) => self.gradient(&mut gradients, node, dy, grad, &steps),
            }
        }
        grad
    }

    /// Records the backward pass of one layer, and adds the gradient of its input to what that has from elsewhere.
    fn gradient(&mut self, gradients: &mut Gradients, node: &Node, dy: Buf, grad: Buf, steps: &[GradientStep]) {
        let x = node.inputs[0];
        let mut between: Vec<(&str, Buf)> = vec![];
        for step in steps {
            let of_input = step.writes.contains(&Place::Dx);
            if of_input && !x.has_gradient {
                continue;
            }
            let dx = of_input.then(|| {
                let name = format!("d{}", self.program.info(x.buf).name);
                self.buffer(&name, x.len(), Role::Scratch)
            });
            for (place, len) in step.writes.iter().zip(step.op.lengths().1) {
                if let Place::Between(name) = *place {
                    between.push((name, self.buffer(name, len, Role::Scratch)));
                }
            }
            let buf = |place: &Place| match *place {
                Place::X => x.buf,
                Place::Y => node.y.buf,
                Place::Dy => dy,
                Place::Dx => dx.expect("made above"),
                Place::Saved => x.saved,
                Place::Weights => self.weights,
                Place::Grad => grad,
                Place::Kept => node.kept.expect("the layer kept it"),
                Place::Between(name) => between.iter().find(|b| b.0 == name).expect("an earlier step wrote it").1,
            };
            let inputs: Vec<Buf> = step.reads.iter().map(buf).collect();
            let outputs: Vec<Buf> = step.writes.iter().map(buf).collect();
            self.push(step.op, &inputs, &outputs);
            if let Some(dx) = dx {
                self.join(gradients, x, dx);
            }
        }
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
