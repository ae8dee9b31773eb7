//! What changes from step to step. The host writes one row per step into a table; the device (or the CPU executor) walks
//! over it, so that many steps go into one submit and a live change of eta or the rate is one small upload.

use crate::base::Real;

/// Arguments of one step, shared by every op that asks for them. `shaders/common/step.wgsl` mirrors the order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepArgs<T> {
    /// Global step, the first word of every random counter.
    pub step: u32,
    pub epoch: u32,
    /// First row of the batch in this epoch's order.
    pub batch_start: u32,
    /// Rows of the batch that count; the last batch of an epoch may be short.
    pub n_valid: u32,
    pub seed: u32,
    /// M, the Monte Carlo samples of the VIFO head.
    pub n_samples: u32,
    pub lr: T,
    /// 1 - beta1^t and 1 - beta2^t of Adam.
    pub bias1: T,
    pub bias2: T,
    /// Largest gradient norm; 0 = unclipped.
    pub clip_norm: T,
    /// Weight of the regularizer, KL warm-up included.
    pub eta: T,
    pub eta_aux: T,
    pub weight_decay: T,
    pub prior: Prior<T>,
    /// Number of the weight snapshot that this step ends with, counted from 1; 0 = none.
    pub collect: u32,
    /// 1: an early step, which an SGD run leaves to Adam.
    pub warm: u32,
    /// Share of the recorded dropout rate that counts in this step, where it follows a schedule.
    pub dropout: T,
}

/// The prior's parameters in the order in which the regularizer reads them (MATH.md section 3) and the additive constant
/// a dimension, which the host computes because it needs logGamma.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prior<T> {
    pub p0: T,
    pub p1: T,
    pub p2: T,
    pub constant: T,
}

/// Words of one row in the device's table.
pub const STEP_WORDS: usize = 20;

impl StepArgs<f64> {
    /// The same arguments in the executor's scalar.
    pub fn cast<T: Real>(&self) -> StepArgs<T> {
        let of = T::of;
        StepArgs {
            step: self.step,
            epoch: self.epoch,
            batch_start: self.batch_start,
            n_valid: self.n_valid,
            seed: self.seed,
            n_samples: self.n_samples,
            lr: of(self.lr),
            bias1: of(self.bias1),
            bias2: of(self.bias2),
            clip_norm: of(self.clip_norm),
            eta: of(self.eta),
            eta_aux: of(self.eta_aux),
            weight_decay: of(self.weight_decay),
            prior: Prior {
                p0: of(self.prior.p0),
                p1: of(self.prior.p1),
                p2: of(self.prior.p2),
                constant: of(self.prior.constant),
            },
            collect: self.collect,
            warm: self.warm,
            dropout: of(self.dropout),
        }
    }

    /// The row of the device's table.
    pub fn words(&self) -> [u32; STEP_WORDS] {
        let a = self.cast::<f32>();
        let f = f32::to_bits;
        [
            a.step,
            a.epoch,
            a.batch_start,
            a.n_valid,
            a.seed,
            a.n_samples,
            f(a.lr),
            f(a.bias1),
            f(a.bias2),
            f(a.clip_norm),
            f(a.eta),
            f(a.eta_aux),
            f(a.weight_decay),
            f(a.prior.p0),
            f(a.prior.p1),
            f(a.prior.p2),
            f(a.prior.constant),
            a.collect,
            a.warm,
            f(a.dropout),
        ]
    }
}
