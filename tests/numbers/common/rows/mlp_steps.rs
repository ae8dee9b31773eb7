//! Rows of many steps of a small network. Each network is a pipeline of its own, which takes a software adapter a second or ten to make:
//! few are tried, each on several batches. Behind a ReLU every number of the first step is exact (rows/mlp.rs), and there is only one.

use super::heads::labels;
use super::mlp::{quarters, weights};
use super::{NORMALS, Row, fill};
use bytemuck::Zeroable;
use vifo::ops::head::{LIKELIHOOD_GAUSSIAN, LIKELIHOOD_SOFTMAX, NOISE_SOFTPLUS, Student};
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU};
use vifo::ops::mlp::{HEAD_GAUSSIAN, HEAD_SOFTMAX, HEAD_STUDENT, HEAD_VIFO};
use vifo::ops::mlp_steps::*;
use vifo::ops::reduce::SUM_WORDS;
use vifo::ops::regularizer::{REG_EB, REG_MEAN, SIGMA_EXP};
use vifo::ops::{Op, OpSpec, StepArgs};

/// Rows that members see, of a batch, valid ones; replicas, members of a set, rows that each holds out.
const BATCHES: [[u32; 6]; 5] =
    [[1, 1, 1, 1, 0, 0], [7, 7, 6, 3, 0, 0], [23, 9, 9, 3, 1, 0], [40, 17, 5, 2, 2, 3], [33, 33, 33, 3, 3, 0]];

/// A network on a batch.
fn on(p: MlpSteps, [n_rows, batch, valid, replicas, per_set, held_out]: [u32; 6], steps: u32) -> Row {
    let whole = n_rows == batch;
    let p = MlpSteps {
        n_rows,
        batch,
        replicas,
        per_set,
        held_out,
        folds: if held_out > 0 { 4 } else { 0 },
        shuffle: u32::from(!whole),
        // The second set on, of sets.
        first_member: per_set,
        first_set: u32::from(per_set > 0),
        first_replica: 3,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        momentum: 0.9,
        ..p
    };
    let (inputs, outputs) = p.lengths();
    let exact = p.activation == ACT_RELU;
    let x = if exact { quarters(inputs[0], 1, 1.0) } else { fill(inputs[0], 1, -1.0, 1.0) };
    let is_class = p.head == HEAD_SOFTMAX || p.head == HEAD_VIFO && p.likelihood == LIKELIHOOD_SOFTMAX;
    let targets = if is_class { labels(inputs[1], p.k) } else { fill(inputs[1], 2, -2.0, 2.0) };
    let n = outputs[1];
    let second = if p.optimizer == OPTIMIZER_SGD { vec![0.0] } else { fill(n, 4, 0.01, 0.1) };
    let sums = fill(outputs[3], 5, 0.5, 2.0).into_iter().enumerate();
    // Two words of an entry name a bad step, which there has been none of.
    let sums = sums.map(|(i, v)| if i % SUM_WORDS < 4 { v } else { 0.0 }).collect();
    let start = vec![weights(&p.widths(), replicas, exact), fill(n, 3, -0.1, 0.1), second, sums];
    let row = Row::new(Op::MlpSteps(p), format!("{p:?} {valid} valid {steps} steps"), vec![x, targets], start);
    let drawn = p.head == HEAD_VIFO && p.exact == 0;
    let mut row = row.drawing(if drawn { NORMALS } else { (0.0, 0.0) });
    row.args[0] = StepArgs { n_valid: valid, clip_norm: 0.7, weight_decay: 0.01, ..row.args[0] };
    for s in 1..steps {
        let before = row.args[0];
        // The last batch of an epoch may be short.
        let n_valid = if s % 2 == 1 { batch } else { valid };
        row.args.push(StepArgs {
            step: before.step + s,
            batch_start: s * batch % n_rows,
            n_valid,
            lr: 0.005,
            ..before
        });
    }
    row
}

fn net(inputs: u32, hidden: u32, outputs: u32, activation: u32) -> MlpSteps {
    MlpSteps { inputs, hidden, outputs, activation, head: HEAD_GAUSSIAN, k: 2, clip: 1, ..MlpSteps::zeroed() }
}

pub fn mlp_steps() -> Vec<Row> {
    let (nu, constant) = (4.0, Student::constant_of(4.0) as f32);
    let vifo = MlpSteps {
        head: HEAD_VIFO,
        likelihood: LIKELIHOOD_GAUSSIAN,
        exact: 1,
        regularizer: REG_MEAN,
        ..net(5, 9, 4, ACT_MISH)
    };
    let classes =
        MlpSteps { likelihood: LIKELIHOOD_SOFTMAX, k: 3, exact: 0, regularizer: REG_EB, sigma_link: SIGMA_EXP, ..vifo };
    let mut all = vec![];
    all.extend(BATCHES.map(|batch| on(net(1, 5, 2, ACT_RELU), batch, 1)));
    all.push(on(MlpSteps { clip: 0, ..net(4, 8, 2, ACT_MISH) }, BATCHES[4], 2));
    all.extend([1, 3].map(|i| on(vifo, BATCHES[i], 2)));
    all.push(on(MlpSteps { optimizer: OPTIMIZER_SGD, ..net(3, 17, 2, ACT_NONE) }, BATCHES[3], 4));
    all.push(on(
        MlpSteps { head: HEAD_STUDENT, nu, constant, noise_link: NOISE_SOFTPLUS, ..net(2, 3, 2, ACT_SILU) },
        BATCHES[2],
        2,
    ));
    all.push(on(
        MlpSteps { head: HEAD_SOFTMAX, k: 5, optimizer: OPTIMIZER_ADAMW, ..net(6, 11, 5, ACT_MISH) },
        BATCHES[2],
        2,
    ));
    all.push(on(MlpSteps { outputs: 6, ..classes }, BATCHES[1], 2));
    // More units than eight threads take.
    all.push(on(net(2, 70, 2, ACT_SELU), BATCHES[2], 1));
    // A slip is sought in the last rows first.
    all.push(on(net(13, 50, 2, ACT_RELU), BATCHES[3], 1));
    // SGD, because after a step Adam divides by what may be zero within its error.
    all.push(on(MlpSteps { clip: 0, optimizer: OPTIMIZER_SGD, ..net(5, 9, 2, ACT_SILU) }, BATCHES[2], 3));
    all
}
