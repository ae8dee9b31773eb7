//! A step of a small network with one hidden layer as one op: rows of a batch, forward, head, back, clipping, optimizer and the sums
//! of the loss. It computes what the ops of those names do and takes their place on a GPU (`program::fuse::mlp_steps`), whose kernel
//! runs as many steps in a dispatch as there are rows of the schedule. The reference calls those ops' own kernels one after another.

use super::gather::{GatherRows, gather_rows};
use super::head::LIKELIHOOD_SOFTMAX;
use super::linear::{ACT_NONE, LinearBackwardData, LinearBackwardWeight, LinearForward};
use super::linear::{linear_backward_data, linear_backward_weight, linear_forward};
use super::mlp::{HEAD_SOFTMAX, HEAD_STUDENT, HEAD_VIFO, MOST_LAYERS, MlpPass, Widths, head, largest_pack, take};
use super::optimizer::{Adam, Sgd, adam, sgd};
use super::reduce::{LossReduce, SUM_WORDS, SumSquares, loss_reduce, sum_squares};
use super::regularizer::REG_MEAN_ALL;
use super::{Forms, Grid, Lengths, OpSpec, StepArgs, binds, elements, params};
use crate::base::Real;

pub const MOST_INPUTS: u32 = 32;
pub const MOST_OUTPUTS: u32 = 6;
/// Hidden units of a thread.
const MOST_UNITS: u32 = 8;
/// Into how many parts a sum over threads is cut at most.
const MOST_PARTS: u32 = 4;
/// Rows that go through the network together.
const BLOCK: u32 = 8;
/// Threads of a workgroup on hardware.
const THREADS: u32 = 64;

pub const OPTIMIZER_ADAM: u32 = 0;
/// Its weight decay is no part of the gradient.
pub const OPTIMIZER_ADAMW: u32 = 1;
pub const OPTIMIZER_SGD: u32 = 2;

params! {
    /// weights [R, P], moments first and second [R, P] (SGD: velocity first) and sums [R, 8] after a step on a batch of x [S, n, inputs]
    /// and targets [S, n]. P = the weights of layers inputs -> hidden -> outputs, one behind the other.
    MlpSteps {
        replicas: u32,
        /// These nine as in `GatherRows`.
        n_rows: u32,
        batch: u32,
        shuffle: u32,
        first_member: u32,
        per_set: u32,
        first_set: u32,
        held_out: u32,
        folds: u32,
        inputs: u32,
        hidden: u32,
        outputs: u32,
        activation: u32,
        /// `HEAD_...` of `ops::mlp`; the next ones are of its op.
        head: u32,
        k: u32,
        likelihood: u32,
        noise_link: u32,
        sigma_link: u32,
        regularizer: u32,
        exact: u32,
        first_replica: u32,
        nu: f32,
        constant: f32,
        /// 1: `StepArgs::clip_norm` counts.
        clip: u32,
        /// `OPTIMIZER_...`; the next ones are of its op.
        optimizer: u32,
        beta1: f32,
        beta2: f32,
        eps: f32,
        momentum: f32,
    }
}

impl MlpSteps {
    pub fn widths(&self) -> Widths {
        let mut n = [0; MOST_LAYERS + 1];
        n[..3].copy_from_slice(&[self.inputs, self.hidden, self.outputs]);
        Widths { n, layers: 2 }
    }
    fn gather(&self, cols: u32) -> GatherRows {
        GatherRows {
            replicas: self.replicas,
            n_rows: self.n_rows,
            cols,
            batch: self.batch,
            out_rows: self.batch,
            shuffle: self.shuffle,
            first_member: self.first_member,
            per_set: self.per_set,
            first_set: self.first_set,
            held_out: self.held_out,
            folds: self.folds,
        }
    }
    /// The head of one replica.
    fn pass(&self) -> MlpPass {
        MlpPass {
            replicas: 1,
            share: 1,
            target_share: 1,
            rows: self.batch,
            data_rows: self.batch,
            head: self.head,
            k: self.k,
            likelihood: self.likelihood,
            noise_link: self.noise_link,
            sigma_link: self.sigma_link,
            regularizer: self.regularizer,
            exact: self.exact,
            first_replica: self.first_replica,
            nu: self.nu,
            constant: self.constant,
            ..bytemuck::Zeroable::zeroed()
        }
    }
    /// Where one thread after another computes: few, which have many units each.
    fn threads_alone(&self) -> u32 {
        if self.hidden <= BLOCK * MOST_UNITS { BLOCK } else { 2 * BLOCK }
    }
}

/// A workgroup alone keeps no more of a card busy than one in so many.
const WORKGROUPS: f64 = 80.0;

impl OpSpec for MlpSteps {
    binds!(mlp_steps(step): [x, targets] -> [weights, first, second, sums], scratch);
    const FORMS: Forms = Forms::Resident;

    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64)
    }
    fn settings(&self) -> Vec<(&'static str, u32)> {
        vec![
            ("INPUTS", self.inputs),
            ("HIDDEN", self.hidden),
            ("OUTPUTS", self.outputs),
            ("ACTIVATION", self.activation),
            ("HEAD", self.head),
            ("LIKELIHOOD", self.likelihood),
            ("NOISE_LINK", self.noise_link),
            ("SIGMA_LINK", self.sigma_link),
            ("REGULARIZER", self.regularizer),
            ("EXACT", self.exact),
            ("SHUFFLE", self.shuffle),
            ("FOLDED", u32::from(self.folds > 0)),
            ("CLIP", self.clip),
            ("OPTIMIZER", self.optimizer),
        ]
    }
    fn workgroup(&self, alone: bool) -> (u32, u32) {
        let threads = if alone { self.threads_alone() } else { THREADS };
        let parts = (threads / (2 * self.outputs).max(1)).clamp(1, MOST_PARTS);
        (threads, 4 * BLOCK * (1 + self.inputs + (threads + parts + 1) * self.outputs))
    }
    /// Of a single step; those of a workgroup come one after another.
    fn flops(&self) -> Option<f64> {
        let of_replica = 6.0 * f64::from(self.batch) * self.widths().products() as f64;
        Some(of_replica * f64::from(self.replicas).max(WORKGROUPS))
    }
    /// A replica's inputs, targets, gradient and what its ops need.
    fn scratch(&self) -> usize {
        let (w, rows) = (self.widths(), self.batch as usize);
        let [n, h, o] = [self.inputs, self.hidden, self.outputs].map(|n| n as usize);
        let tensors = rows * (n + 1 + 3 * h + 2 * o + 3) + w.len() + 1;
        tensors + largest_pack(&w, rows).max(8 * self.k as usize)
    }
    fn lengths(&self) -> Lengths {
        let rows = |cols: u32| elements(&[self.gather(1).sets(), self.n_rows.saturating_add(self.held_out), cols]);
        let weights = self.replicas as usize * self.widths().len();
        let second = if self.optimizer == OPTIMIZER_SGD { 1 } else { weights };
        (vec![rows(self.inputs), rows(1)], vec![weights, weights, second, self.replicas as usize * SUM_WORDS])
    }
    fn sizes_agree(&self) -> bool {
        let fit = (1..=MOST_INPUTS).contains(&self.inputs)
            && (1..=MOST_OUTPUTS).contains(&self.outputs)
            && (1..=self.threads_alone() * MOST_UNITS).contains(&self.hidden);
        let (head, outputs) = match self.head {
            HEAD_SOFTMAX => (true, self.k),
            HEAD_STUDENT => (self.nu > 0.0, 2),
            HEAD_VIFO => {
                let kind = self.regularizer < REG_MEAN_ALL && (self.likelihood == LIKELIHOOD_SOFTMAX || self.k == 2);
                (kind, 2 * self.k)
            }
            _ => (true, 2),
        };
        // A number that no row moves stays what it is: 0 / eps.
        fit && head
            && self.outputs == outputs
            && (1..=self.n_rows).contains(&self.batch)
            && (self.optimizer == OPTIMIZER_SGD || self.eps > 0.0)
            && self.gather(1).sizes_agree()
    }
}

/// The reference.
// Long: the ops of a step in their order.
pub fn mlp_steps<T: Real>(
    p: &MlpSteps,
    args: &StepArgs<T>,
    x: &[T],
    targets: &[T],
    weights: &mut [T],
    first: &mut [T],
    second: &mut [T],
    sums: &mut [T],
    scratch: &mut [T],
) {
    let (widths, rows) = (p.widths(), p.batch as usize);
    let (len, batch) = (widths.len(), p.batch);
    let [n, h, o] = [p.inputs, p.hidden, p.outputs].map(|n| n as usize);
    let (weight, stride) = ((p.inputs + 1) * p.hidden, len as u32);
    let (adam_op, sgd_op) = optimizers(p, stride);
    for r in 0..p.replicas {
        let mut rest = &mut scratch[..];
        let [xb, yb] = [n, 1].map(|cols| take(&mut rest, rows * cols));
        let [hidden, pre, dhidden] = [h; 3].map(|cols| take(&mut rest, rows * cols));
        let [z, dz, terms] = [o, o, 3].map(|cols| take(&mut rest, rows * cols));
        let (grad, norm) = (take(&mut rest, len), take(&mut rest, 1));
        let one = GatherRows { replicas: 1, first_member: p.first_member + r, ..p.gather(p.inputs) };
        let (x_of, y_of) = (set(p, r, x, n), set(p, r, targets, 1));
        // Of its set alone.
        let one = GatherRows { per_set: 0, first_set: 0, ..one };
        gather_rows(&one, args, x_of, xb);
        gather_rows(&GatherRows { cols: 1, ..one }, args, y_of, yb);
        let at = r as usize * len..(r as usize + 1) * len;
        let w = &mut weights[at.clone()];
        let lower = LinearForward {
            replicas: 1,
            share: 1,
            rows: batch,
            n_in: p.inputs,
            n_out: p.hidden,
            weight: 0,
            bias: p.inputs * p.hidden,
            stride,
            activation: p.activation,
        };
        let upper = LinearForward {
            n_in: p.hidden,
            n_out: p.outputs,
            weight,
            bias: weight + p.hidden * p.outputs,
            activation: ACT_NONE,
            ..lower
        };
        linear_forward(&lower, xb, w, hidden, pre, rest);
        linear_forward(&upper, hidden, w, z, &mut [], rest);
        let pass = MlpPass { first_replica: p.first_replica + r, ..p.pass() };
        head(&pass, args, 0, z, yb, terms, dz, rest);
        let weight_of = |f: &LinearForward| LinearBackwardWeight {
            replicas: 1,
            share: 1,
            rows: batch,
            n_in: f.n_in,
            n_out: f.n_out,
            weight: f.weight,
            bias: f.bias,
            stride,
        };
        linear_backward_weight(&weight_of(&upper), hidden, dz, grad, rest);
        let data = LinearBackwardData {
            replicas: 1,
            rows: batch,
            n_in: p.hidden,
            n_out: p.outputs,
            weight,
            stride,
            activation: p.activation,
        };
        let saved = if super::linear::keeps_pre(p.activation) { &*pre } else { &*hidden };
        linear_backward_data(&data, dz, w, saved, dhidden, rest);
        linear_backward_weight(&weight_of(&lower), xb, dhidden, grad, rest);
        let reduce =
            LossReduce { members: 1, samples: 1, rows: batch, data_rows: batch, has_extra: 0, extra_scale: 1.0 };
        loss_reduce(&reduce, args, terms, &[], &mut sums[r as usize * SUM_WORDS..][..SUM_WORDS]);
        sum_squares(&SumSquares { replicas: 1, stride, first: 0, length: stride }, grad, norm);
        let args = StepArgs { clip_norm: if p.clip == 1 { args.clip_norm } else { T::zero() }, ..*args };
        match p.optimizer {
            OPTIMIZER_SGD => sgd(&sgd_op, &args, grad, norm, &[], w, &mut first[at]),
            _ => adam(&adam_op, &args, grad, norm, &[], w, &mut first[at.clone()], &mut second[at]),
        }
    }
}

fn optimizers(p: &MlpSteps, count: u32) -> (Adam, Sgd) {
    let decoupled = u32::from(p.optimizer == OPTIMIZER_ADAMW);
    let (beta1, beta2, eps, momentum) = (p.beta1, p.beta2, p.eps, p.momentum);
    let adam = Adam { replicas: 1, count, beta1, beta2, eps, only_warm: 0, decoupled, rated: 0, guarded: 0 };
    (adam, Sgd { replicas: 1, count, momentum, rated: 0, guarded: 0 })
}

/// The rows of replica r's data set.
fn set<'a, T>(p: &MlpSteps, r: u32, data: &'a [T], cols: usize) -> &'a [T] {
    let len = (p.n_rows + p.held_out) as usize * cols;
    let set = super::gather::set_of(p.first_member + r, p.per_set, p.first_set);
    &data[set as usize * len..][..len]
}
