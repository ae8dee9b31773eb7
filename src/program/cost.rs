//! What a replay of a program costs: by this `--device auto` chooses, and a GPU's submits are cut.

use super::{Program, Step};
use crate::ops::{Forms, Grid, Lengths, Op, Product};

/// Of one op or of one replay.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Additions and multiplications; of what is no matrix product an estimate.
    pub flops: f64,
    /// Read and written, each operand once.
    pub bytes: f64,
    pub ops: usize,
}

/// Operations per element of an op that is no matrix product: a few for a sum, dozens for a random number.
const FLOPS_PER_ELEMENT: f64 = 10.0;

/// Elements of the inputs and outputs that the op reads and writes.
pub fn touched(op: &Op) -> Lengths {
    let (mut inputs, mut outputs) = op.lengths();
    // Of the flat vector of weights a layer touches its own, of its input what lies in some window.
    let part = |names: &[&str], lens: &mut [usize]| {
        for (len, name) in lens.iter_mut().zip(names) {
            let some = match *name {
                "weights" | "grad" => op.of_weights(),
                "x" => op.of_input(),
                _ => None,
            };
            *len = some.map_or(*len, |n| n.min(*len));
        }
    };
    part(op.inputs(), &mut inputs);
    part(op.outputs(), &mut outputs);
    (inputs, outputs)
}

impl Cost {
    /// From the sizes that the op declares.
    pub fn of(op: &Op) -> Cost {
        let (inputs, outputs) = touched(op);
        let written = outputs.iter().sum::<usize>() as f64;
        let (flops, bytes) = match (op.product(), op.forms()) {
            // It has the sizes of a product and sums over rows.
            (Some(p), Forms::SplitSums { .. }) => {
                let read = inputs.iter().sum::<usize>() as f64;
                (FLOPS_PER_ELEMENT * p.count as f64 * p.m as f64 * p.k as f64, 4.0 * (read + written))
            }
            (Some(p), _) => {
                let read = inputs.iter().sum::<usize>() as f64;
                let flops = |p: Product| 2.0 * p.count as f64 * p.m as f64 * p.n as f64 * p.k as f64;
                (flops(p) + op.weight_product().map_or(0.0, flops), 4.0 * (read + written))
            }
            // Of a whole data set a step reads a batch: no more than it writes, unless it reduces.
            (None, _) => {
                let most = if matches!(op.grid(), Grid::Groups(_)) { f64::INFINITY } else { written };
                let read: f64 = inputs.iter().map(|n| (*n as f64).min(most)).sum();
                let flops = FLOPS_PER_ELEMENT * written.max(if most > written { read } else { 0.0 });
                (op.flops().unwrap_or(flops), 4.0 * (written + read))
            }
        };
        Cost { flops, bytes, ops: 1 }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        let add = |a: Cost, b: Cost| Cost { flops: a.flops + b.flops, bytes: a.bytes + b.bytes, ops: a.ops + b.ops };
        costs.fold(Cost::default(), add)
    }
}

impl Step {
    pub fn cost(&self) -> Cost {
        Cost::of(&self.op)
    }
}

impl Program {
    pub fn cost(&self) -> Cost {
        self.steps.iter().map(Step::cost).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Role};
    use super::*;
    use crate::ops::norm::Add;

    #[test]
    fn a_product_costs_two_operations_for_each_pair() {
        let op = Op::Add(Add { count: 6 });
        assert_eq!(Cost::of(&op), Cost { flops: 60.0, bytes: 72.0, ops: 1 });
        let mut b = Builder::new(1, 1);
        let (x, y, z) = (b.buffer("x", 6, Role::Input), b.buffer("y", 6, Role::Output), b.buffer("z", 6, Role::Output));
        b.push(op, &[x, x], &[y]);
        b.push(op, &[x, y], &[z]);
        assert_eq!(b.finish().expect("a sound program").cost(), Cost { flops: 120.0, bytes: 144.0, ops: 2 });
    }
}
