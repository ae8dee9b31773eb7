//! Methods: how a network is trained and what its outputs mean. A method is one file that implements [`Method`], and one
//! line in [`METHODS`]; what it leaves out is that of a plain network. Others can bring their own with [`register`].
//! Nothing else in the library asks which method it has before it.

pub mod base;
pub mod dirichlet;
pub mod dropout;
mod finalize;
mod hypercube;
mod knob;
pub mod laplace;
mod layers;
mod list;
mod model_spec;
mod prediction;
pub mod predictive;
mod preset;
pub mod quadrature;
pub mod regularizer;
pub mod repulsive;
mod row;
mod rules;
pub mod scale_mixture;
pub mod student_mixture;
pub mod swa;
pub mod swag;
pub mod trained;
mod training;
pub mod vbll;
pub mod vi;
pub mod vifo;

pub use finalize::{Finish, HostLayer, LayerForm, Rows};
pub use hypercube::Hypercube;
pub use knob::{Knob, KnobValue};
pub use layers::LayerSize;
pub use list::{all, allowed, check_name, default_name, find, known, of, register};
pub use model_spec::{ImageInput, MethodOptions, ModelSpec, Stepping};
pub use prediction::{Chunk, Features, Networks, PredictProgram};
pub use predictive::{Moments, Outputs, Predictive, Reading, Regression};
pub use preset::{preset, preset_of};
pub use regularizer::Reg;
pub use row::Row;
pub use rules::{adapt, check, checked, degrees_of_freedom, leave_out, reads, usual_eta};
pub use trained::{Named, SHARPNESS, SPREAD, Trained};
pub use training::{AVERAGE, DataX, Head, LOSS_SCALE, TrainProgram};

use crate::data::Task;
use crate::error::Result;
use crate::net::{Last, Layout, Masks};
use crate::ops::step::Prior;
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder};
use crate::recipe::keys::Key;
use crate::recipe::{Optimizer, PriorKeys, Recipe, Schedule, key};

/// All methods of this library, in the order in which they are offered.
pub const METHODS: &[&dyn Method] = &[
    &base::Base,
    &swa::Swa,
    &swag::Swag,
    &dropout::Dropout,
    &dirichlet::Dirichlet,
    &repulsive::Repulsive,
    &laplace::Laplace,
    &vbll::Vbll,
    &vifo::NAIVE,
    &vifo::MEAN,
    &vifo::MV,
    &vifo::EB,
    &vifo::MEAN_ALL,
    &vifo::MV_ALL,
    &vifo::EB_ALL,
    &vifo::L2,
    &vi::NAIVE,
    &vi::MEAN,
    &vi::MV,
    &vi::EB,
];

/// Groups of methods, in the order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    Vifo,
    Weights,
    Single,
    Ensemble,
    Dropout,
    LastLayer,
}

impl Family {
    pub const ALL: [(Family, &'static str); 6] = [
        (Family::Vifo, "VIFO: uncertainty in the outputs"),
        (Family::Weights, "Variational inference over the weights"),
        (Family::Single, "Single networks and averages of weights"),
        (Family::Ensemble, "Ensembles that repel"),
        (Family::Dropout, "Dropout and Dirichlet"),
        (Family::LastLayer, "Last layer"),
    ];
}

/// A method. Every default body is that of a plain network trained by its likelihood. A step's program is recorded once
/// (`record_*`) and replayed, so nothing here is called within one. Buffers: R replicas, `rows` of a batch, E members, P
/// weights of a network.
pub trait Method: Send + Sync {
    /// As recipes, run folders and tables have it: small letters, digits, '-' and '_'.
    fn name(&self) -> &'static str;

    /// By the name that people know, for the app and for figures.
    fn title(&self) -> &'static str {
        self.name()
    }

    /// Among which of the paper's groups the app lists it.
    fn family(&self) -> Family {
        Family::Single
    }

    /// What it does, in a line.
    fn about(&self) -> &'static str {
        ""
    }

    /// Names that others have for it, in small letters, each with what to write instead.
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    // ---- What it takes from a recipe

    /// The recipe keys that it reads among those that not every method reads. A key that any method lists here has no
    /// effect with the methods that do not.
    fn keys(&self) -> Vec<&'static str> {
        vec![key!(method.noise_link).path, key!(method.likelihood).path, key!(method.nu).path]
    }

    /// Whether it can learn such a target.
    fn learns(&self, _task: Task) -> bool {
        true
    }

    /// What it cannot do with these keys on this data: an error that says what to change.
    fn suits(&self, _recipe: &Recipe, _task: Task, _targets: u32) -> Result<()> {
        Ok(())
    }

    /// Changes what `suits` would refuse in a recipe where this method was just chosen.
    fn adapt(&self, _recipe: &mut Recipe) {}

    /// How it starts on a curve of a hundred points, as the paper shows it there.
    fn adapt_to_toy(&self, _recipe: &mut Recipe) {}

    /// What a recipe need not say.
    fn usual(&self) -> Usual {
        Usual::default()
    }

    /// `method.eta` where a recipe leaves it out: the paper's.
    fn usual_eta(&self, _task: Task) -> f64 {
        0.1
    }

    /// Numbers of its own that a training on a table takes where nobody says anything else, beside those of
    /// `assets/table.toml`.
    fn preset(&self) -> &'static [(&'static Key, f64)] {
        &[]
    }

    /// Weight of the regularizer in `StepArgs::eta`; 0 = none.
    fn eta(&self, _recipe: &Recipe, _task: Task) -> f64 {
        0.0
    }

    /// Parameters of the prior in `StepArgs::prior`.
    fn prior(&self, _keys: &PriorKeys) -> Prior<f64> {
        Prior::default()
    }

    /// What recordings depend on beside the recipe's common keys.
    fn options(&self, _recipe: &Recipe) -> MethodOptions {
        MethodOptions::default()
    }

    /// Numbers that a running training takes up at its next step, for the sliders of the app.
    fn knobs(&self) -> Vec<Knob> {
        vec![]
    }

    /// Whether its regularizer is on the outputs, so that auxiliary inputs can be regularized, too (`method.eta_aux`).
    fn takes_auxiliary_inputs(&self) -> bool {
        false
    }

    /// Whether a regression's expected loss has a closed form under the noise link "exp", and under Student's t is taken by
    /// quadrature (`method.expectation`).
    fn has_closed_form(&self) -> bool {
        false
    }

    // ---- The network and its numbers

    /// The network's last layer for z of dimension `k`, that of all targets together.
    fn last_layer(&self, _task: Task, k: u32) -> Last {
        Last::Linear(k)
    }

    /// Trained numbers of one member whose network has `layout`. Its first P are those that `vifo export` writes.
    fn member_len(&self, layout: &Layout) -> usize {
        layout.total
    }

    /// The numbers of member number `member` before the first step, [`Method::member_len`] of them. `vi_uniform` and `init_rho`
    /// are the keys vi.init and vi.init_rho.
    fn initial(&self, layout: &Layout, seed: u32, member: u32, _vi_uniform: bool, _init_rho: f32) -> Vec<f32> {
        crate::net::init::torch_uniform(layout, seed, member)
    }

    /// Whether `method.samples` counts networks drawn for each member in a step, instead of samples in the head.
    fn samples_weights(&self) -> bool {
        false
    }

    /// Networks of a member in prediction.
    fn copies(&self, _setup: &ModelSpec) -> u32 {
        1
    }

    /// Whether members see each other in a step, so that they cannot be trained apart.
    fn is_coupled(&self) -> bool {
        false
    }

    /// Whether all members must see the same rows: their outputs are compared.
    fn shares_rows(&self, _setup: &ModelSpec) -> bool {
        false
    }

    // ---- A training step

    /// The weights [R, P] of the networks of a step, from the members' numbers.
    fn record_step_networks(&self, _setup: &ModelSpec, _b: &mut Builder, numbers: Buf) -> Buf {
        numbers
    }

    /// The loss of each row and its gradient: (terms [R, rows, 3], gradient of the outputs, as large as `head.z`). The terms
    /// are loss, regularizer and auxiliary regularizer.
    fn record_head(&self, setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
        base::record_head(setup, b, head)
    }

    /// Adds to the gradient of the outputs what compares members; returns the value [E] of what it added.
    fn record_on_outputs(&self, _setup: &ModelSpec, _b: &mut Builder, _z: Tensor, _dz: Buf) -> Option<Buf> {
        None
    }

    /// What is regularized outside the outputs. `dweights` [R, P] is the gradient of the networks' weights, `value` what
    /// `record_on_outputs` gave. Returns the gradient of the members' numbers and the value [E], which counts eta / N each.
    fn record_on_weights(
        &self,
        _setup: &ModelSpec,
        _b: &mut Builder,
        _numbers: Buf,
        dweights: Buf,
        value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        (dweights, value)
    }

    /// State to collect after the optimizer's step, where `StepArgs::collect` is not 0 (see [`Method::collects`]); each by its
    /// name in checkpoints, "method.what", which is also its buffer's.
    fn record_collect(&self, _setup: &ModelSpec, _b: &mut Builder, _numbers: Buf) -> Vec<(&'static str, Buf)> {
        vec![]
    }

    /// Whether weights are collected at the end of each epoch from train.swa_start on.
    fn collects(&self) -> bool {
        false
    }

    // ---- The end of training

    /// What training ends with, in words ("posterior"), where that is more than its last weights.
    fn ends_with(&self) -> Option<&'static str> {
        None
    }

    /// The method by which the weights predict until training has ended, where `ends_with` says that it ends with more.
    fn until_then(&self) -> &'static dyn Method {
        &base::Base
    }

    /// Makes of the last weights what predicts.
    fn finalize(&self, finish: Finish) -> Result<Trained> {
        Ok(finish.last)
    }

    // ---- Prediction

    /// The networks that predict, [`Method::copies`] a member. Their numbers begin at `first_sample`, so that a part of them
    /// may be recorded alone.
    fn record_networks(&self, _setup: &ModelSpec, _b: &mut Builder, numbers: Buf, _first_sample: u32) -> Networks {
        Networks { weights: numbers, posterior: vec![] }
    }

    /// `StepArgs::n_samples` of a forward pass.
    fn n_samples(&self, _trained: &Trained) -> u32 {
        0
    }

    /// What is dropped in prediction.
    fn masks(&self) -> Masks {
        Masks::None
    }

    /// Whether each copy of a member has statistics of batch normalisation of its own.
    fn has_own_statistics(&self) -> bool {
        false
    }

    /// Whether a prediction also needs the inputs of the last layer, for `host_layers`.
    fn needs_features(&self) -> bool {
        false
    }

    /// What makes outputs of features and outputs on the host, one per member; none where the network's own are the outputs.
    fn host_layers(&self, _setup: &ModelSpec, _trained: &Trained, _seed: u32) -> Result<Vec<Box<dyn HostLayer>>> {
        Ok(vec![])
    }

    /// What a row of outputs means.
    fn outputs(&self, _setup: &ModelSpec) -> Outputs {
        Outputs::Plain
    }

    /// What curves can be drawn from its learned prior.
    fn prior_draw(&self) -> PriorDraw {
        PriorDraw::None
    }

    // ---- Notes for users

    /// What it cannot show with these settings, a sentence each.
    fn caveats(&self, _setup: &ModelSpec, _epochs: u32, _swa_start: u32) -> Vec<String> {
        vec![]
    }

    /// What `vifo export` leaves out when it writes the weights of a network with batch normalisation, or without.
    fn export_note(&self, _has_statistics: bool) -> Option<String> {
        None
    }

    /// What `record_collect` collects, and what would need less.
    fn collected(&self, setup: &ModelSpec) -> (String, String) {
        (
            format!("what {} collects", self.name()),
            format!("lower {} (now {})", key!(method.members).said(), setup.members),
        )
    }

    /// Numbers of its largest buffer beside weights and their samples, by what they are.
    fn largest_buffer(&self, _setup: &ModelSpec) -> Option<(&'static str, u64)> {
        None
    }

    /// What the end of training needs in the computer's own memory.
    fn host_needs(&self, _setup: &ModelSpec) -> Vec<Need> {
        vec![]
    }
}

/// What a recipe need not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    pub optimizer: Optimizer,
    pub schedule: Schedule,
    /// Whether training may stop early, with a patience of a quarter of the epochs.
    pub stops_early: bool,
    /// net.dropout.
    pub dropout: f64,
}

impl Default for Usual {
    fn default() -> Usual {
        Usual { optimizer: Optimizer::Adam, schedule: Schedule::Cosine, stops_early: true, dropout: 0.0 }
    }
}

/// Curves from a learned prior (MATH.md section 9): what is drawn, and around what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorDraw {
    None,
    /// Every weight from N(0, p0).
    Weights,
    /// Every weight around the learned one: u from q*(u), then W from N(u, gamma).
    WeightsAroundLearned,
    /// Every output from N(0, p0).
    Outputs,
    /// Every output around the learned one.
    OutputsAroundLearned,
}

/// Bytes for one purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    pub what: String,
    pub bytes: u64,
    /// What would need less.
    pub cheaper: String,
    /// In the computer's own memory, whatever device computes.
    pub on_host: bool,
}

impl std::fmt::Debug for dyn Method {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// No two methods have one name.
impl PartialEq for dyn Method {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

pub const BETA1: f32 = 0.9;
pub const BETA2: f32 = 0.999;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
