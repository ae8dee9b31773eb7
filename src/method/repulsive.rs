//! Repulsive ensembles: members follow the gradient of their posterior and keep away from each other by a kernel density
//! estimate, in the space of functions (their outputs on the batch) or of weights (MATH.md section 5, repulsive).

use super::Setup;
use crate::ops::Op;
use crate::ops::repulsion::{KernelWeights, PairDistances, Repulsion};
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Role};

/// In function space: adds to the gradient of the outputs; returns the value a member.
pub fn record_outputs(setup: &Setup, b: &mut Builder, z: Tensor, dz: Buf) -> Buf {
    record(setup, b, z.buf, dz, z.rows * z.cols(), z.cols())
}

/// In weight space: adds to the gradient of the weights; returns the value a member.
pub fn record_weights(setup: &Setup, b: &mut Builder, weights: Buf, dweights: Buf) -> Buf {
    record(setup, b, weights, dweights, setup.member_len() as u32, 0)
}

fn record(setup: &Setup, b: &mut Builder, v: Buf, dv: Buf, count: u32, cols: u32) -> Buf {
    let replicas = setup.members;
    // Members of other data sets are other ensembles.
    let group = if setup.per_set == 0 { replicas } else { setup.per_set };
    let distances = b.buffer("distances", (replicas * group) as usize, Role::Scratch);
    b.push(Op::PairDistances(PairDistances { replicas, group, count, cols }), &[v], &[distances]);
    let kernel = b.buffer("kernel", (replicas * (group + 1)) as usize, Role::Scratch);
    b.push(Op::KernelWeights(KernelWeights { replicas, group }), &[distances], &[kernel]);
    let value = b.buffer("repulsion", replicas as usize, Role::Scratch);
    let prior_variance = setup.options.particle_variance;
    let op = Repulsion { replicas, group, count, cols, n_rows: setup.observations(), prior_variance };
    b.push(Op::Repulsion(op), &[v, kernel], &[dv, value]);
    value
}
