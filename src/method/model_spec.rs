//! Everything a recording depends on: the same setup gives the same program.

use super::{BETA2, Method, Outputs};
use crate::data::Task;
use crate::net::{Layout, Net, ntk};
use crate::ops::head::{
    LIKELIHOOD_GAUSSIAN, LIKELIHOOD_SOFTMAX, LIKELIHOOD_STUDENT, NOISE_EXP, NOISE_SOFTPLUS, Student,
};
use crate::ops::regularizer::{SIGMA_EXP, SIGMA_SOFTPLUS};
use crate::recipe::{AuxSource, Link, Optimizer, Precision, Space, Structure};

/// How bytes become a network's inputs, and how training images are varied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageInput {
    /// (h, w, c) of an image.
    pub size: (u32, u32, u32),
    /// Largest shift in pixels.
    pub crop: u32,
    /// Mirrored with probability one half.
    pub flip: bool,
    /// Per channel, in units where 255 is 1.
    pub mean: [f32; 3],
    pub inv_sd: [f32; 3],
}

/// Everything a recording depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSpec {
    pub method: &'static dyn Method,
    pub task: Task,
    /// Dimension of z for one target: classes, or 2.
    pub k: u32,
    /// Targets, each with a z of its own; several in regressions on tables alone. To head and regularizer every target of a
    /// row is a row.
    pub targets: u32,
    pub noise_link: Link,
    /// Degrees of freedom, above 2, where a regression's noise is Student's t; None where it is normal.
    pub nu: Option<f64>,
    pub sigma_link: Link,
    /// The expectation without samples: its closed form, or quadrature where it has none.
    pub exact: bool,
    /// Weight samples of a VI step; the head's M is live, in `StepArgs`.
    pub samples: u32,
    pub predict_samples: u32,
    pub members: u32,
    /// Number of this part's first member in the whole ensemble.
    pub first_member: u32,
    /// Members that share a data set, where several sets of equal size stand on the replica axis: member number m belongs
    /// to set m / per_set. 0: all members share one set.
    pub per_set: u32,
    /// Rows come with weights of mean 1, which scale the head's loss, regularizer and gradient row by row.
    pub weighted: bool,
    pub groups_by_layer: bool,
    pub net: Net,
    /// The inputs are images, kept as bytes.
    pub image: Option<ImageInput>,
    pub optimizer: Optimizer,
    pub momentum: f32,
    pub clip: bool,
    /// N, rows that each member is trained on.
    pub n_rows: u32,
    /// Folds of the training rows, of which member m holds out fold m % folds; 0: all members see all rows.
    pub folds: u32,
    /// Rows that each member holds out: those of the largest fold, or 0.
    pub held_out: u32,
    pub batch: u32,
    /// Auxiliary inputs, one per row of the batch.
    pub aux: Option<AuxSource>,
    /// SGD whose first epochs take Adam steps.
    pub warm: bool,
    pub stepping: Stepping,
    pub options: MethodOptions,
}

/// How weights start and are stepped, beside the optimizer's name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stepping {
    /// Adam's.
    pub beta2: f32,
    /// NTK parametrisation (`net::ntk`).
    pub ntk: bool,
    /// The dropout rate follows `StepArgs::dropout`.
    pub dropout_by_step: bool,
    /// Share that the average of the weights keeps of itself at a step; None: the weights themselves predict.
    pub average: Option<f64>,
    /// Activations and their gradients are stored in 16 bits, with a scaled loss.
    pub half: bool,
    /// With `half`: products are for a card's matrix units.
    pub matrices: bool,
}

impl Stepping {
    pub fn store_in(&mut self, precision: Precision) {
        self.half = precision.is_half();
        self.matrices = precision == Precision::Matrix;
    }
}

impl Default for Stepping {
    fn default() -> Stepping {
        Stepping { beta2: BETA2, ntk: false, dropout_by_step: false, average: None, half: false, matrices: false }
    }
}

/// What one method alone reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MethodOptions {
    /// SWAG: deviations kept.
    pub swag_columns: u32,
    /// Repulsive ensembles: what is kept apart, and the variance of its normal prior.
    pub space: Space,
    pub particle_variance: f32,
    /// Laplace: of the last layer's covariance; None = by maximum marginal likelihood.
    pub structure: Structure,
    pub prior_precision: Option<f64>,
    /// Laplace: classes by samples of the last layer instead of the probit approximation.
    pub last_layer_samples: bool,
}

impl ModelSpec {
    pub fn layout(&self) -> Layout {
        self.net.layout()
    }
    /// Trained numbers of one member.
    pub fn member_len(&self) -> usize {
        self.method.member_len(&self.layout())
    }
    /// Running statistics of one member in training: VI keeps those of each weight sample.
    pub fn running_len(&self) -> usize {
        self.layout().running * self.train_copies() as usize
    }
    /// Running statistics at the start: mean 0, variance 1.
    pub fn initial_running(&self) -> Vec<f32> {
        let layout = self.layout();
        let mut one = vec![0.0; layout.running];
        for (_, c, at) in &layout.norms {
            one[at + c..at + 2 * c].fill(1.0);
        }
        let copies = (self.members * self.train_copies()) as usize;
        one.repeat(copies)
    }
    /// What the replicas of a prediction take: a member's statistics, averaged over its weight samples in VI. SWAG has a
    /// set for each of its networks.
    pub fn predict_running(&self, running: &[f32]) -> Vec<f32> {
        let q = self.layout().running;
        if q == 0 || running.len() == (self.members * self.copies()) as usize * q {
            return running.to_vec();
        }
        let samples = running.len() / (q * self.members as usize);
        let mean = |member: &[f32]| -> Vec<f32> {
            (0..q).map(|i| member.iter().skip(i).step_by(q).sum::<f32>() / samples as f32).collect()
        };
        running.chunks(q * samples).flat_map(|m| mean(m).repeat(self.copies() as usize)).collect()
    }
    /// What the loss is the mean over: rows and their targets.
    pub fn observations(&self) -> u32 {
        self.n_rows * self.targets
    }
    pub fn full_batch(&self) -> bool {
        self.batch >= self.n_rows
    }
    pub fn batch_rows(&self) -> u32 {
        self.batch.min(self.n_rows)
    }
    /// Networks of a member in prediction.
    pub fn copies(&self) -> u32 {
        self.method.copies(self)
    }
    /// Networks of a member in training.
    pub fn train_copies(&self) -> u32 {
        if self.method.samples_weights() { self.samples } else { 1 }
    }
    /// Whether members see each other in a step, so that they cannot be trained apart.
    pub fn is_coupled(&self) -> bool {
        self.method.is_coupled()
    }
    /// Whether all members must see the same rows: their outputs are compared.
    pub(super) fn shares_rows(&self) -> bool {
        self.method.shares_rows(self)
    }
    /// The last layer's part of a member's weights.
    pub fn last_layer(&self) -> std::ops::Range<u32> {
        let (first, length) = self.layout().layers().last().copied().unwrap_or_default();
        first as u32..(first + length) as u32
    }
    /// This setup with the weights as they stand in a step, where training ends in something else.
    pub fn in_training(&self) -> ModelSpec {
        let method = if self.concludes() { self.method.until_then() } else { self.method };
        ModelSpec { method, ..self.clone() }
    }
    /// Whether weights are collected in the course of training.
    pub fn averages(&self) -> bool {
        self.method.collects()
    }
    /// Whether training ends in a step of its own: averages, or a posterior around the weights.
    pub fn concludes(&self) -> bool {
        self.method.ends_with().is_some()
    }
    /// Factors of the learning rate of each of a member's numbers; None where all are 1.
    pub fn rates(&self) -> Option<Vec<f32>> {
        self.stepping.ntk.then(|| ntk::rates(&self.layout()))
    }
    /// What a row of outputs means.
    pub fn outputs(&self) -> Outputs {
        self.method.outputs(self)
    }
    /// The noise link as heads and shaders know it.
    pub fn noise_code(&self) -> u32 {
        if self.noise_link == Link::Exp { NOISE_EXP } else { NOISE_SOFTPLUS }
    }
    /// The same of the sigma link.
    pub fn sigma_code(&self) -> u32 {
        if self.sigma_link == Link::Exp { SIGMA_EXP } else { SIGMA_SOFTPLUS }
    }
    /// The likelihood as heads and shaders know it.
    pub fn likelihood_code(&self) -> u32 {
        match (self.task, self.nu) {
            (Task::Classification, _) => LIKELIHOOD_SOFTMAX,
            (Task::Regression, None) => LIKELIHOOD_GAUSSIAN,
            (Task::Regression, Some(_)) => LIKELIHOOD_STUDENT,
        }
    }
    /// Degrees of freedom of Student's t and its constant ([`Student::constant_of`]), as heads know them.
    pub fn student(&self) -> Option<(f32, f32)> {
        self.nu.map(|nu| (nu as f32, Student::constant_of(nu) as f32))
    }
    /// Who judges the weights in training, each by held-out rows of its own: the ensemble as a whole, or every member.
    pub fn judges(&self) -> usize {
        if self.folds > 0 { self.members as usize } else { 1 }
    }
    /// Number of the first member's data set, and how many sets the members read.
    pub fn sets(&self) -> (u32, u32) {
        match self.first_member.checked_div(self.per_set) {
            None => (0, 1),
            Some(first) => (first, (self.first_member + self.members.max(1) - 1) / self.per_set - first + 1),
        }
    }
    /// Every set has all of its members here, so that each group of `per_set` replicas can share its rows in place.
    pub(super) fn whole_sets(&self) -> bool {
        self.per_set == 0 || self.first_member.is_multiple_of(self.per_set) && self.members.is_multiple_of(self.per_set)
    }
    /// This setup for members `first .. first + count` only.
    pub fn part(&self, first: u32, count: u32) -> ModelSpec {
        ModelSpec { first_member: self.first_member + first, members: count, ..self.clone() }
    }

    /// Initial weights of all members, one after another.
    pub fn initial_weights(&self, seed: u32, vi_uniform: bool, init_rho: f32) -> Vec<f32> {
        let layout = self.layout();
        (self.first_member..self.first_member + self.members)
            .flat_map(|m| self.method.initial(&layout, seed, m, vi_uniform, init_rho))
            .collect()
    }
}
