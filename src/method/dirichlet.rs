//! Evidential classification: a Dirichlet distribution over the class probabilities, its concentrations
//! relu(z) + 1; expected -log p under it, and eta * KL to the flat one (MATH.md section 5, Dirichlet).

use super::Setup;
use crate::ops::Op;
use crate::ops::dirichlet::DirichletHead;
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Role};

/// Returns (terms [R, rows, 3], gradient of the outputs).
pub fn record_head(setup: &Setup, b: &mut Builder, z: Tensor, y: Buf, share: u32) -> (Buf, Buf) {
    let (replicas, rows) = (z.replicas, z.rows);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dz = b.buffer("dz", z.len(), Role::Scratch);
    b.push(Op::DirichletHead(DirichletHead { replicas, rows, k: setup.k, share }), &[z.buf, y], &[terms, dz]);
    (terms, dz)
}
