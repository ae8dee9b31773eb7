//! The plain network: loss -log p(y|z), one pass in prediction (MATH.md section 5, base). Weight-space VI has the same
//! head on each of its weight samples.

use super::{Family, Head, Method, ModelSpec};
use crate::data::Task;
use crate::ops::Op;
use crate::ops::head::{GaussianHead, SoftmaxHead, StudentHead};
use crate::program::{Buf, Builder, Role};

pub const NAME: &str = "base";

pub struct Base;

impl Method for Base {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "Plain network"
    }
    fn family(&self) -> Family {
        Family::Single
    }
    fn about(&self) -> &'static str {
        "One pass; several members are a deep ensemble"
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("sgd", "take \"base\" with the optimizer \"sgd\" and the schedule \"swa\" (the paper's)"),
            ("map", "take \"base\", or \"laplace\" for a posterior around it"),
            ("ensemble", "take \"base\": several members of it are a deep ensemble"),
            ("deep-ensemble", "take \"base\": several members of it are a deep ensemble"),
        ]
    }
}

/// Returns (terms [R, rows, 3], gradient of the outputs).
pub fn record_head(setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
    let Head { z, y, share, .. } = head;
    let (replicas, rows) = (z.replicas, z.rows);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dz = b.buffer("dz", (replicas * rows * z.cols()) as usize, Role::Scratch);
    let noise_link = setup.noise_code();
    let op = match (setup.task, setup.student()) {
        (Task::Classification, _) => Op::SoftmaxHead(SoftmaxHead { replicas, rows, k: setup.k, share }),
        (Task::Regression, None) => Op::GaussianHead(GaussianHead { replicas, rows, share, noise_link }),
        (Task::Regression, Some((nu, constant))) => {
            Op::StudentHead(StudentHead { replicas, rows, share, noise_link, nu, constant })
        }
    };
    b.push(op, &[z.buf, y], &[terms, dz]);
    (terms, dz)
}
