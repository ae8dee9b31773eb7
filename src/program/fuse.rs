//! Rewrites a recorded program so that a step moves fewer bytes in fewer kernels: ops that hand a tensor on, which nobody else
//! reads, become one op that never stores it. What the program computes stays the same but for the order of some sums.

pub mod mlp;
pub mod mlp_steps;
mod norms;
mod pools;

use super::{Buf, BufferInfo, Element, Program, Role, Step};

pub fn fuse(program: &mut Program) {
    pools::fuse(program);
    norms::fuse(program);
    forget_unnamed(program);
}

/// Scratch that no step names takes no memory.
fn forget_unnamed(program: &mut Program) {
    let named = named(program);
    for (info, named) in program.buffers.iter_mut().zip(named) {
        if info.role == Role::Scratch && !named {
            info.len = 1;
        }
    }
}

/// Of each buffer whether it is scratch that some step names.
fn named(program: &Program) -> Vec<bool> {
    let mut named = vec![false; program.buffers.len()];
    for buf in program.steps.iter().flat_map(|s| s.inputs.iter().chain(&s.outputs)) {
        named[buf.0 as usize] = program.info(*buf).role == Role::Scratch;
    }
    named
}

impl Program {
    /// The steps that read a buffer.
    fn readers(&self, buf: Buf) -> Vec<usize> {
        (0..self.steps.len()).filter(|&i| self.steps[i].inputs.contains(&buf)).collect()
    }

    /// The step before `before` that wrote a scratch buffer last.
    fn writer(&self, buf: Buf, before: usize) -> Option<usize> {
        let is_scratch = self.info(buf).role == Role::Scratch;
        (0..before).rev().find(|&i| self.steps[i].outputs.contains(&buf)).filter(|_| is_scratch)
    }

    fn scratch(&mut self, name: String, len: usize) -> Buf {
        self.buffers.push(BufferInfo { name, len: len.max(1), role: Role::Scratch, kind: Element::Scalar });
        Buf(self.buffers.len() as u32 - 1)
    }

    /// Puts new steps in the places of old ones and leaves others out.
    fn replace(&mut self, new: Vec<(usize, Step)>, out: &[usize]) {
        for (i, step) in new {
            self.steps[i] = step;
        }
        let mut i = 0;
        self.steps.retain(|_| {
            i += 1;
            !out.contains(&(i - 1))
        });
    }
}

/// The parameters of a step that is such an op.
macro_rules! as_op {
    ($program:expr, $i:expr, $op:ident) => {
        match $program.steps[$i].op {
            crate::ops::Op::$op(p) => Some(p),
            _ => None,
        }
    };
}
use as_op;
