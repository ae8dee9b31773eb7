//! A network's work as a static list of steps: recorded once, replayed by an executor. `builder` records, `backward`
//! walks the tape, `check` proves sizes and write-before-read, `fuse` joins ops, `half` stores activations in 16 bits,
//! `plan` lets buffers share memory, `cost` counts, `text` prints.
//! Nothing here computes.

pub mod backward;
pub mod builder;
pub mod check;
pub mod cost;
pub mod fuse;
pub mod half;
pub mod plan;
pub mod text;

pub use builder::{Act, Builder, Tensor};
pub use cost::Cost;

use crate::ops::Op;

/// A buffer of scalars or bytes, by its place in `Program::buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buf(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Written by the host: data, ranges.
    Input,
    /// Lives from step to step: weights, moments, sums. Host and program both write it.
    State,
    /// Read by the host after a run.
    Output,
    /// Lives within a step; may share memory with others.
    Scratch,
}

/// What a buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// f32 on a GPU, the kernels' scalar on the CPU.
    Scalar,
    /// Of 16 bits on a GPU; on the CPU the kernels' scalar, rounded so after each op that writes it.
    Half,
    /// Data kept as its files have it: of role Input, uploaded by `Executor::write_bytes`, never read back.
    Bytes,
}

impl Element {
    /// Whether ops compute with it.
    pub fn is_number(self) -> bool {
        self != Element::Bytes
    }
    /// Bytes of one on a GPU.
    pub fn bytes(self) -> u64 {
        match self {
            Element::Scalar => 4,
            Element::Half => 2,
            Element::Bytes => 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct BufferInfo {
    pub name: String,
    /// Number of elements.
    pub len: usize,
    pub role: Role,
    pub kind: Element,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub op: Op,
    /// In the order of `Op::inputs` and `Op::outputs`.
    pub inputs: Vec<Buf>,
    pub outputs: Vec<Buf>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    pub buffers: Vec<BufferInfo>,
    pub steps: Vec<Step>,
    /// What buffers of role Input hold from the start: sizes that a shader's parameters have no room for. An executor writes
    /// them when it is made.
    pub constants: Vec<(Buf, Vec<f32>)>,
    /// Products of halves are for a card's matrix units. What they compute is the same; the CPU knows no difference.
    pub matrices: bool,
}

impl Program {
    pub fn info(&self, buf: Buf) -> &BufferInfo {
        &self.buffers[buf.0 as usize]
    }
}
