//! The sections of a recipe as serde mirrors of the TOML, one struct a section. Defaults and ranges stand in `keys::KEYS`.

use crate::data::Task;
use crate::data::encode::Missing;
use crate::data::toy::{Gap, ToyKind};
use crate::program::Act;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Data {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toy: Option<ToyKind>,
    pub gap: Gap,
    pub rows: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<PathBuf>,
    /// Rows of two or three numbers (`data::points`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Vec<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_size: Option<u32>,
    pub coarse: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crop: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flip: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    pub skip_broken: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    pub standardise: bool,
    pub skip_lines: usize,
    pub missing: Missing,
    pub max_levels: usize,
    pub strict: bool,
    pub ignore: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    #[serde(default)]
    pub keep: Vec<String>,
    pub text_columns: Vec<String>,
    /// "column=kind".
    #[serde(rename = "as")]
    pub kinds: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_markers: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_file: Option<PathBuf>,
    pub split: usize,
    pub test_fraction: f64,
    pub validation_fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Net {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<NetName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widths: Option<Vec<u32>>,
    pub depth: u32,
    pub activation: Act,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropout: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetName {
    Mlp,
    Cnn,
    AlexNet,
    PreResNet,
}

impl NetName {
    /// Height and width of its inputs, where it takes one size only.
    pub fn fixed_side(self) -> Option<u32> {
        matches!(self, NetName::AlexNet | NetName::PreResNet).then_some(32)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expectation {
    Auto,
    Sampled,
    Exact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    Exp,
    Softplus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuxSource {
    Uniform,
    Grid,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Method {
    pub name: String,
    pub members: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    pub eta_aux: f64,
    pub samples: u32,
    pub expectation: Expectation,
    pub sigma_link: Link,
    pub noise_link: Link,
    pub aux_source: AuxSource,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    pub gamma: f64,
    pub a: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    pub d: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViInit {
    Normal,
    Torch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViGroups {
    All,
    Layer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vi {
    pub init: ViInit,
    pub init_rho: f64,
    pub groups: ViGroups,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swag {
    pub columns: u32,
}

/// What is kept of the curvature H = sum_n Lambda_n (x) f_n f_n' of a last layer (MATH.md section 5, Laplace).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Structure {
    /// (sum Lambda) (x) (mean f f'): exact where Lambda is the same for all rows; k^2 + d^2 numbers.
    #[default]
    Kronecker,
    /// All of it: (k d)^2 numbers.
    Full,
    /// Its diagonal: k d numbers.
    Diagonal,
}

/// What a repulsive ensemble keeps apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    #[default]
    Function,
    Weights,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repulsive {
    pub space: Space,
    pub strength: f64,
    pub prior_variance: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaplacePredict {
    #[default]
    Probit,
    Samples,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Laplace {
    pub structure: Structure,
    pub prior_variance: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_precision: Option<f64>,
    pub predict: LaplacePredict,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vbll {
    pub regularizer: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    Adam,
    Sgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    Cosine,
    Constant,
    Step,
    Swa,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Train {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Optimizer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swa_start: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swa_lr: Option<f64>,
    pub adam_epochs: u32,
    pub momentum: f64,
    pub weight_decay: f64,
    pub kl_warmup: u32,
    pub clip: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<u32>,
    pub evaluate_every: u32,
    pub watch_test: bool,
    pub checkpoint_seconds: f64,
}

/// Whether gradient-boosted trees stand beside the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boosting {
    /// Where they take under a second.
    #[default]
    Auto,
    On,
    Off,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    pub boosting: Boosting,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predict {
    pub samples: u32,
}

impl Data {
    /// All files that a table comes from.
    pub fn files(&self) -> Vec<&Path> {
        [&self.file, &self.target_file, &self.test_file, &self.split_file]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect()
    }
}
