//! Records layers onto a tape. A layer is one call; its backward pass follows from the tape.

use super::{Buf, BufferInfo, Program, Role, Step};
use crate::base::rng::Stream;
use crate::ops::Op;
use crate::ops::gather::Dropout;
use crate::ops::linear::{ACT_NONE, ACT_RELU, ACT_SILU, LinearForward};

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Relu,
    Silu,
}

impl Act {
    pub fn code(this: Option<Act>) -> u32 {
        match this {
            None => ACT_NONE,
            Some(Act::Relu) => ACT_RELU,
            Some(Act::Silu) => ACT_SILU,
        }
    }
}

/// An activation tensor [replicas, rows, cols].
#[derive(Debug, Clone, Copy)]
pub struct Tensor {
    pub buf: Buf,
    pub replicas: u32,
    pub rows: u32,
    pub cols: u32,
}

/// Where a linear layer's weights lie in the flat vector.
#[derive(Debug, Clone, Copy)]
pub struct LinearAt {
    pub n_in: u32,
    pub n_out: u32,
    pub weight: u32,
    pub bias: u32,
}

/// What the backward pass must know of a recorded layer.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Linear {
        x: Tensor,
        at: LinearAt,
        /// The activation that produced x and the buffer its slope is read from; None for the network's input.
        before: Option<(u32, Buf)>,
    },
    Dropout(Dropout),
}

#[derive(Debug)]
pub struct Builder {
    pub(super) program: Program,
    pub(super) tape: Vec<Node>,
    /// Flat weights [R, P].
    pub(super) weights: Buf,
    pub(super) replicas: u32,
    pub(super) stride: u32,
    /// The activation of the last recorded layer and what its slope is read from.
    before: Option<(u32, Buf)>,
    dropouts: u32,
}

impl Builder {
    /// `stride` = P; the weights buffer is `weights` if given, else new state.
    pub fn new(replicas: u32, stride: u32) -> Self {
        Builder {
            program: Program::default(),
            tape: vec![],
            weights: Buf(0),
            replicas,
            stride,
            before: None,
            dropouts: 0,
        }
    }

    pub fn buffer(&mut self, name: &str, len: usize, role: Role) -> Buf {
        self.program.buffers.push(BufferInfo { name: name.into(), len: len.max(1), role });
        Buf(self.program.buffers.len() as u32 - 1)
    }

    pub fn set_weights(&mut self, weights: Buf) {
        self.weights = weights;
    }

    pub fn push(&mut self, op: Op, inputs: &[Buf], outputs: &[Buf]) {
        self.program.steps.push(Step { op, inputs: inputs.to_vec(), outputs: outputs.to_vec() });
    }

    /// y = act(x W + b).
    pub fn linear(&mut self, name: &str, x: Tensor, at: LinearAt, act: Option<Act>) -> Tensor {
        let code = Act::code(act);
        let len = self.replicas as usize * x.rows as usize * at.n_out as usize;
        let y = self.buffer(&format!("{name}.y"), len, Role::Scratch);
        let pre = self.buffer(&format!("{name}.pre"), if code == ACT_SILU { len } else { 1 }, Role::Scratch);
        let op = LinearForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            rows: x.rows,
            n_in: at.n_in,
            n_out: at.n_out,
            weight: at.weight,
            bias: at.bias,
            stride: self.stride,
            activation: code,
        };
        self.push(Op::LinearForward(op), &[x.buf, self.weights], &[y, pre]);
        self.tape.push(Node::Linear { x, at, before: self.before });
        self.before = Some((code, if code == ACT_SILU { pre } else { y }));
        Tensor { buf: y, replicas: self.replicas, rows: x.rows, cols: at.n_out }
    }

    /// Dropout after an activation; recorded only where `rate` > 0.
    pub fn dropout(&mut self, x: Tensor, rate: f32, first_replica: u32) -> Tensor {
        if rate <= 0.0 {
            return x;
        }
        let count = x.rows * x.cols;
        let y = self.buffer(&format!("dropout{}.y", self.dropouts), (x.replicas * count) as usize, Role::Scratch);
        let op = Dropout {
            replicas: x.replicas,
            count,
            stream: Stream::Dropout as u32 + self.dropouts,
            first_replica,
            rate,
        };
        self.dropouts += 1;
        self.push(Op::Dropout(op), &[x.buf], &[y]);
        self.tape.push(Node::Dropout(op));
        Tensor { buf: y, ..x }
    }

    /// Marks a recorded buffer as one that the host reads.
    pub fn keep(&mut self, buf: Buf) {
        self.program.buffers[buf.0 as usize].role = Role::Output;
    }

    pub fn finish(self) -> crate::error::Result<Program> {
        super::check::check(&self.program)?;
        Ok(self.program)
    }
}
