//! The plain network: loss -log p(y|z), one pass in prediction (MATH.md section 5, base). Weight-space VI has the same
//! head on each of its weight samples.

use super::Setup;
use crate::data::Task;
use crate::ops::Op;
use crate::ops::head::{GaussianHead, SoftmaxHead};
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Role};

/// Returns (terms [R, rows, 3], gradient of the outputs).
pub fn record_head(setup: &Setup, b: &mut Builder, z: Tensor, y: Buf, share: u32) -> (Buf, Buf) {
    let (replicas, rows) = (z.replicas, z.rows);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dz = b.buffer("dz", (replicas * rows * z.cols()) as usize, Role::Scratch);
    let op = match setup.task {
        Task::Classification => Op::SoftmaxHead(SoftmaxHead { replicas, rows, k: setup.k, share }),
        Task::Regression => Op::GaussianHead(GaussianHead { replicas, rows, share, noise_link: setup.noise_code() }),
    };
    b.push(op, &[z.buf, y], &[terms, dz]);
    (terms, dz)
}
