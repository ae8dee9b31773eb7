//! What a program asks of a GPU, counted without one: every dispatch with its workgroups, bytes and operations, and how long it
//! would take on cards whose peak rates are known. A time is the start of each dispatch, and the longer of its operations and
//! its bytes; what waits for memory within a workgroup is not in it, so that small kernels take longer than this says.

use super::Gpu;
use super::tune::Forms as Measured;
use super::variants::{Class, Variant, choose, form};
use crate::ops::{Forms, Op};
use crate::program::cost::touched;
use crate::program::fuse::mlp::joined;
use crate::program::{Program, Step};

/// One kernel that a step starts.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelledDispatch {
    /// "linear_forward_tiled 32x32".
    pub kernel: String,
    pub groups: u64,
    pub threads: u32,
    pub flops: f64,
    /// Each operand once, with the scratch memory that an op's kernels share.
    pub bytes: f64,
}

/// Peak rates as its maker gives them, and shares of them as kernels like these reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Card {
    pub name: &'static str,
    /// Seconds for the start of a dispatch behind another.
    pub start: f64,
    pub flops: f64,
    /// Share of `flops` that the tiles reach.
    pub share: f64,
    pub bytes: f64,
}

pub const CARDS: [Card; 4] = [
    Card { name: "H100", start: 2.5e-6, flops: 67e12, share: 0.40, bytes: 3.35e12 },
    Card { name: "RTX 4070", start: 2e-6, flops: 29e12, share: 0.45, bytes: 504e9 },
    Card { name: "M3", start: 4e-6, flops: 3.5e12, share: 0.50, bytes: 100e9 },
    Card { name: "Intel iGPU", start: 5e-6, flops: 1.75e12, share: 0.35, bytes: 60e9 },
];

impl Card {
    /// Seconds that the dispatch takes behind another.
    pub fn seconds(&self, d: &ModelledDispatch) -> f64 {
        self.start + (d.flops / (self.share * self.flops)).max(d.bytes / self.bytes)
    }
}

/// Limits of the cards above, as their drivers report them.
fn limits() -> wgpu::Limits {
    wgpu::Limits {
        max_buffer_size: u64::from(u32::MAX),
        max_storage_buffer_binding_size: u64::from(u32::MAX) - 3,
        ..wgpu::Limits::default()
    }
}

/// The program's ops as a GPU runs them, joined.
pub fn ops(program: &Program) -> usize {
    joined(program.clone()).steps.len()
}

/// The kernels that a replay of the program starts on hardware, `advance` first. Of a network that trains many steps in a dispatch
/// it is that one, of a single step.
pub fn dispatches(program: &Program) -> Vec<ModelledDispatch> {
    let limits = limits();
    of_program(program, &|op| choose(op, Class::Hardware, &limits), &limits)
}

impl Gpu {
    /// The same on this adapter, with these forms of ops.
    pub fn modelled(&self, program: &Program, forms: &Measured) -> Vec<ModelledDispatch> {
        of_program(program, &|op| self.of_forms(op, forms), &self.limits)
    }
}

fn of_program(program: &Program, wanted: &dyn Fn(&Op) -> Variant, limits: &wgpu::Limits) -> Vec<ModelledDispatch> {
    let program = joined(program.clone());
    let advance = ModelledDispatch { kernel: "advance".into(), groups: 1, threads: 1, flops: 0.0, bytes: 0.0 };
    let all = program.steps.iter().flat_map(|step| of_step(step, wanted(&step.op), limits));
    let resident = program.steps.iter().any(|s| s.op.forms() == Forms::Resident);
    (!resident).then_some(advance).into_iter().chain(all.filter(|d| d.groups > 0)).collect()
}

fn of_step(step: &Step, variant: Variant, limits: &wgpu::Limits) -> Vec<ModelledDispatch> {
    let cost = step.cost();
    let Some(form) = form(&step.op, variant, super::variants::most_bytes(limits)) else { return vec![] };
    // The last kernel of several writes the outputs, but those that the first has for its own.
    let own = if let Forms::Fused { own, .. } = step.op.forms() { own } else { 0 };
    let written = 4.0 * touched(&step.op).1.iter().skip(own).sum::<usize>() as f64;
    let last = form.kernels.len() - 1;
    let scratch = if form.kernels.len() > 1 { form.scratch_bytes as f64 } else { 0.0 };
    let one = |(i, k): (usize, &super::variants::Kernel)| ModelledDispatch {
        kernel: k.name(),
        groups: k.groups,
        threads: k.threads,
        // The first does the sums, the last adds up its parts.
        flops: if i == 0 { cost.flops } else { scratch / 4.0 },
        bytes: match (i == 0, i == last) {
            (true, true) => cost.bytes,
            (true, false) => cost.bytes - written + scratch,
            _ => scratch + written,
        },
    };
    form.kernels.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::norm::Add;
    use crate::program::{Builder, Role};

    #[test]
    fn a_sum_of_two_buffers_moves_three() {
        let mut b = Builder::new(1, 1);
        let (x, y) = (b.buffer("x", 256, Role::Input), b.buffer("y", 256, Role::Output));
        b.push(Op::Add(Add { count: 256 }), &[x, x], &[y]);
        let all = dispatches(&b.finish().expect("a sound program"));
        assert_eq!((all.len(), all[0].kernel.as_str(), all[1].kernel.as_str()), (2, "advance", "add"));
        assert_eq!((all[1].groups, all[1].threads, all[1].bytes), (4, 64, 3.0 * 1024.0));
        let card = CARDS[3];
        assert_eq!(card.seconds(&all[0]), card.start);
        assert!((card.seconds(&all[1]) - (card.start + 3072.0 / card.bytes)).abs() < 1e-12);
    }
}
