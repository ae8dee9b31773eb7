//! The training step of the toy, recorded by hand: 1 -> 50 x 5 -> 4, 100 rows and 100 auxiliary rows, VIFO head.

use vifo::base::rng::Draw;
use vifo::exec::Executor;
use vifo::ops::gather::{AuxInputs, GatherRows};
use vifo::ops::head::{LIKELIHOOD_GAUSSIAN, NOISE_EXP, VifoHead};
use vifo::ops::optimizer::{Adam, Sgd};
use vifo::ops::reduce::{LossReduce, SUM_WORDS, SumSquares};
use vifo::ops::regularizer::{REG_MEAN, SIGMA_EXP};
use vifo::ops::step::Prior;
use vifo::ops::{Op, StepArgs};
use vifo::program::builder::{LinearAt, Tensor};
use vifo::program::{Act, Buf, Builder, Program, Role};

pub const ROWS: u32 = 100;
pub const AUX: u32 = 100;

pub struct Toy {
    pub program: Program,
    pub sums: Buf,
    pub weights: Buf,
    /// Buffers that start with something else than zero.
    pub start: Vec<(Buf, Vec<f32>)>,
}

/// Records where a step's inputs [E, ROWS + AUX] and targets [E, ROWS] come from.
fn inputs(b: &mut Builder, members: u32, [data, targets, low, high]: [Buf; 4]) -> (Buf, Buf) {
    // Inputs and targets are gathered in the same order; targets have no auxiliary rows.
    let rows = ROWS + AUX;
    let gather = |out_rows| {
        Op::GatherRows(GatherRows {
            replicas: members,
            n_rows: ROWS,
            cols: 1,
            batch: ROWS,
            out_rows,
            shuffle: 1,
            first_member: 0,
            per_set: 0,
            first_set: 0,
            held_out: 0,
            folds: 0,
        })
    };
    let x = b.buffer("x", (members * rows) as usize, Role::Scratch);
    let y = b.buffer("y", (members * ROWS) as usize, Role::Scratch);
    b.push(gather(rows), &[data], &[x]);
    b.push(gather(ROWS), &[targets], &[y]);
    let aux = AuxInputs {
        replicas: members,
        cols: 1,
        count: AUX,
        first_row: ROWS,
        out_rows: rows,
        grid: 0,
        first_member: 0,
        per_set: 0,
        first_set: 0,
    };
    b.push(Op::AuxInputs(aux), &[low, high], &[x]);
    (x, y)
}

pub fn toy(members: u32, hidden: &[u32], adam: bool) -> Toy {
    let sizes: Vec<u32> = [1].iter().chain(hidden).chain(&[4]).copied().collect();
    let stride: u32 = sizes.windows(2).map(|s| (s[0] + 1) * s[1]).sum();
    let n = (members * stride) as usize;
    let mut b = Builder::new(members, stride);
    let [data, targets, low, high] = [("data", ROWS as usize), ("targets", ROWS as usize), ("low", 1), ("high", 1)]
        .map(|(name, len)| b.buffer(name, len, Role::Input));
    let weights = b.buffer("weights", n, Role::State);
    let states = [("first", n), ("second", n), ("sums", members as usize * SUM_WORDS)]
        .map(|(name, len)| b.buffer(name, len, Role::State));
    b.set_weights(weights);

    let rows = ROWS + AUX;
    let (x, y) = inputs(&mut b, members, [data, targets, low, high]);
    let mut h = Tensor::input(x, members, rows, (1, 1, 1));
    let mut at = 0;
    let mut start = vec![0f32; n];
    for (i, s) in sizes.windows(2).enumerate() {
        let place = LinearAt { n_in: s[0], n_out: s[1], weight: at, bias: at + s[0] * s[1] };
        h = b.linear(&format!("fc{i}"), h, place, (i + 2 < sizes.len()).then_some(Act::Relu));
        let bound = (3.0 / s[0] as f32).sqrt();
        for m in 0..members {
            let draw = Draw { seed: 3, stream: 1, step: i as u32, replica: m };
            for j in 0..(s[0] + 1) * s[1] {
                let scale = if j < s[0] * s[1] { bound } else { 0.1 };
                start[(m * stride + at + j) as usize] = scale * (2.0 * draw.uniform(j) - 1.0);
            }
        }
        at += (s[0] + 1) * s[1];
    }
    let head = VifoHead {
        replicas: members,
        rows,
        data_rows: ROWS,
        k: 2,
        share: 1,
        likelihood: LIKELIHOOD_GAUSSIAN,
        noise_link: NOISE_EXP,
        sigma_link: SIGMA_EXP,
        regularizer: REG_MEAN,
        exact: 0,
        first_replica: 0,
        nu: 0.0,
        constant: 0.0,
    };
    let terms = b.buffer("terms", (members * rows * 3) as usize, Role::Scratch);
    let dout = b.buffer("dout", (members * rows * 4) as usize, Role::Scratch);
    let none = b.buffer("none", 1, Role::Input);
    b.push(Op::VifoHead(head), &[h.buf, y, none], &[terms, dout]);
    let loss = LossReduce { members, samples: 1, rows, data_rows: ROWS, has_extra: 0, extra_scale: 0.0 };
    b.push(Op::LossReduce(loss), &[terms, none], &[states[2]]);
    let grad = b.backward(h, dout);
    let norm = b.buffer("norm", members as usize, Role::Scratch);
    b.push(Op::SumSquares(SumSquares { replicas: members, stride, first: 0, length: stride }), &[grad], &[norm]);
    if adam {
        let (replicas, count, beta1, beta2, eps) = (members, stride, 0.9, 0.999, 1e-8);
        let adam = Adam { replicas, count, beta1, beta2, eps, only_warm: 0, decoupled: 0, rated: 0, guarded: 0 };
        b.push(Op::Adam(adam), &[grad, norm, none], &[weights, states[0], states[1]]);
    } else {
        let sgd = Sgd { replicas: members, count: stride, momentum: 0.9, rated: 0, guarded: 0 };
        b.push(Op::Sgd(sgd), &[grad, norm, none], &[weights, states[0]]);
    }
    let xs: Vec<f32> = (0..ROWS).map(|i| i as f32 / 50.0 - 1.0).collect();
    let ys = xs.iter().map(|x| (3.0 * x).sin()).collect();
    let program = b.finish().unwrap_or_else(|e| panic!("{e}"));
    Toy {
        program,
        sums: states[2],
        weights,
        start: vec![(weights, start), (data, xs), (targets, ys), (low, vec![-2.0]), (high, vec![2.0])],
    }
}

impl Toy {
    pub fn load(&self, executor: &mut dyn Executor) {
        for (buf, values) in &self.start {
            executor.write(*buf, values).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    pub fn args(&self, steps: std::ops::Range<u32>) -> Vec<StepArgs<f64>> {
        steps
            .map(|step| {
                let t = step as i32 + 1;
                let (bias1, bias2) = (1.0 - 0.9f64.powi(t), 1.0 - 0.999f64.powi(t));
                let prior = Prior { p0: 0.3, p1: 0.05, p2: 0.0, constant: 0.0 };
                StepArgs {
                    step,
                    epoch: step,
                    batch_start: 0,
                    n_valid: ROWS,
                    seed: 8,
                    n_samples: 5,
                    lr: 1e-3,
                    bias1,
                    bias2,
                    clip_norm: 0.0,
                    eta: 0.1,
                    eta_aux: 1.0,
                    weight_decay: 0.0,
                    prior,
                    collect: 0,
                    warm: 0,
                    dropout: 1.0,
                }
            })
            .collect()
    }
}
