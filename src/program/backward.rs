//! From the gradient of the last layer's outputs back to the weights: the tape, walked from its end.

use super::builder::{Builder, Node};
use super::{Buf, Role};
use crate::ops::Op;
use crate::ops::linear::{ACT_NONE, LinearBackwardData, LinearBackwardWeight};

impl Builder {
    /// Records the backward pass of everything on the tape; returns the flat gradient [R, P]. Every weight belongs to
    /// exactly one layer, so each element of the gradient is written once, with `=`.
    pub fn backward(&mut self, dout: Buf) -> Buf {
        let grad = self.buffer("grad", self.replicas as usize * self.stride as usize, Role::Scratch);
        let mut dy = dout;
        let tape = std::mem::take(&mut self.tape);
        let first_linear = tape.iter().position(|n| matches!(n, Node::Linear { .. }));
        for (i, node) in tape.iter().enumerate().rev() {
            match node {
                Node::Linear { x, at, before } => {
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
                    if first_linear == Some(i) {
                        break; // nobody asks for the gradient of the inputs
                    }
                    let (activation, saved) = before.unwrap_or((ACT_NONE, x.buf));
                    let len = self.replicas as usize * x.rows as usize * at.n_in as usize;
                    let dx = self.buffer(&format!("d{}", self.program.info(x.buf).name.clone()), len, Role::Scratch);
                    let op = LinearBackwardData {
                        replicas: self.replicas,
                        rows: x.rows,
                        n_in: at.n_in,
                        n_out: at.n_out,
                        weight: at.weight,
                        stride: self.stride,
                        activation,
                    };
                    self.push(Op::LinearBackwardData(op), &[dy, self.weights, saved], &[dx]);
                    dy = dx;
                }
                // The slope of the activation before it was multiplied in already; the two commute.
                Node::Dropout(op) => {
                    let dx = self.buffer("ddropout", (op.replicas * op.count) as usize, Role::Scratch);
                    self.push(Op::Dropout(*op), &[dy], &[dx]);
                    dy = dx;
                }
            }
        }
        grad
    }
}
