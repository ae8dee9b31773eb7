//! The values of keys that are choices: one enum each, with the texts beside the variants.

use super::declaration::{Field, ValueKind};
use super::keys::{Data, Train};
use crate::error::{Error, Result, either};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use toml::Value;

macro_rules! choice {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            pub const NAMES: &[&str] = &[$($text),*];
            pub const ALL: [$name; $name::NAMES.len()] = [$($name::$variant),*];

            /// As a recipe writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl Field for $name {
            const KIND: ValueKind = ValueKind::Choice($name::NAMES);
            fn value(&self) -> Option<Value> {
                Some(Value::String(self.name().into()))
            }
        }
    )*};
}

choice! {
    ToyKind {
        /// y = 2 sin x + 0.1 eps on two intervals (vifo.tex, appendix on the artificial data).
        Sinusoid = "sinusoid",
        /// y = sin x + (0.05 + 0.05 x) eps, x on [0, 10].
        Heteroscedastic = "heteroscedastic",
        /// y = x^3 + 3 eps, x on [-4, 4] (Hernandez-Lobato & Adams 2015).
        Cubic = "cubic",
        /// Two half circles, classes 0 and 1.
        Moons = "moons",
        /// Circles of radius 1 and 1/2, classes 0 and 1.
        Rings = "rings",
        /// Three Gaussian clouds, classes 0, 1 and 2.
        Blobs = "blobs",
    }

    /// Where the sinusoid has data (MATH.md section 9).
    #[derive(Default)]
    Gap {
        /// +-[pi/4, 3 pi/4], as the published figure.
        #[default]
        Figure = "figure",
        /// +-[pi/2, 3 pi/4], as the text of the paper.
        Paper = "paper",
    }

    /// What is learnt: a number or a class.
    Task { Regression = "regression", Classification = "classification" }

    /// What to do with missing cells.
    #[derive(Default)]
    Missing {
        /// As `Mean`, with an indicator input beside each number: whether it was missing.
        #[default]
        Flag = "flag",
        /// Numbers take the training mean, texts a level of their own; a row without target is left out.
        Mean = "mean",
        /// Leave the row out.
        Drop = "drop",
        /// Stop at the first one.
        Error = "error",
    }

    /// By what a table's numbers become inputs.
    #[derive(Default)]
    Scaling {
        /// Mean and standard deviation.
        #[default]
        Standard = "standard",
        /// Median and quartiles, clipped smoothly (MATH.md section 6).
        Robust = "robust",
    }

    /// Whose the validation rows are.
    Holdout {
        /// One part of the rows for all members of an ensemble.
        Shared = "shared",
        /// For each member a fold of the rows that the others train on, so that every row is trained on and every row is
        /// predicted by a member that did not see it.
        Own = "own",
    }

    /// What the user says that a column is.
    ColumnKind { Number = "number", Text = "text", Date = "date", Ignore = "ignore" }

    NetName { Mlp = "mlp", Cnn = "cnn", AlexNet = "alexnet", PreResNet = "preresnet" }

    /// What stands between a table's numbers and the first layer.
    #[derive(Default)]
    Embedding {
        #[default]
        None = "none",
        /// Cosines of trained frequencies and phases (MATH.md section 6).
        Periodic = "periodic",
    }

    /// The noise of a regression about its mean.
    #[derive(Default)]
    Likelihood {
        #[default]
        Gaussian = "gaussian",
        /// With heavy tails, by `method.nu` (MATH.md section 1).
        StudentT = "student-t",
    }

    Expectation { Auto = "auto", Sampled = "sampled", Exact = "exact" }

    Link { Exp = "exp", Softplus = "softplus" }

    AuxSource { Uniform = "uniform", Grid = "grid" }

    ViInit { Normal = "normal", Torch = "torch" }

    ViGroups { All = "all", Layer = "layer" }

    /// What is kept of the curvature H = sum_n Lambda_n (x) f_n f_n' of a last layer (MATH.md section 5, Laplace).
    #[derive(Default)]
    Structure {
        /// (sum Lambda) (x) (mean f f'): exact where Lambda is the same for all rows; k^2 + d^2 numbers.
        #[default]
        Kronecker = "kronecker",
        /// All of it: (k d)^2 numbers.
        Full = "full",
        /// Its diagonal: k d numbers.
        Diagonal = "diagonal",
    }

    /// What a repulsive ensemble keeps apart.
    #[derive(Default)]
    Space {
        #[default]
        Function = "function",
        Weights = "weights",
    }

    #[derive(Default)]
    LaplacePredict {
        #[default]
        Probit = "probit",
        Samples = "samples",
    }

    /// What the weights of an MLP on a table start from and how fast each is learnt (MATH.md section 12).
    #[derive(Default)]
    Parametrisation {
        /// PyTorch's start, one learning rate for all.
        #[default]
        Standard = "standard",
        /// As if each layer divided its weights by the root of its inputs.
        Ntk = "ntk",
    }

    Optimizer {
        Adam = "adam",
        Sgd = "sgd",
        /// Adam whose weight decay is no part of the gradient.
        AdamW = "adamw",
    }

    /// What activations, their gradients and the operands of matrix products are stored in while training (MATH.md section 13).
    #[derive(Default)]
    Precision {
        #[default]
        F32 = "f32",
        /// In 16 bits; sums and weights stay f32.
        F16 = "f16",
        /// The same, with products on a card's matrix units.
        Matrix = "f16-matrix",
    }

    Schedule { Cosine = "cosine", Constant = "constant", Step = "step", Swa = "swa", Coslog4 = "coslog4" }

    /// What becomes of a strength along the steps.
    #[derive(Default)]
    Strength {
        #[default]
        Constant = "constant",
        /// As it is in the first half of the steps, then by a cosine to 0.
        FlatCosine = "flat_cosine",
    }

    /// Whether gradient-boosted trees stand beside the network.
    #[derive(Default)]
    Boosting {
        /// Where they take under a second.
        #[default]
        Auto = "auto",
        On = "on",
        Off = "off",
    }
}

impl Optimizer {
    /// Whether it keeps Adam's moments.
    pub fn is_adam(self) -> bool {
        matches!(self, Optimizer::Adam | Optimizer::AdamW)
    }
}

impl Precision {
    /// Whether anything is stored in 16 bits.
    pub fn is_half(self) -> bool {
        self != Precision::F32
    }
}

impl Strength {
    /// The share of the strength at the share `t` of the steps.
    pub fn share(self, t: f64) -> f64 {
        match self {
            Strength::FlatCosine if t > 0.5 => 0.5 * (1.0 + libm::cos(std::f64::consts::TAU * (t - 0.5))),
            _ => 1.0,
        }
    }
}

impl ToyKind {
    pub fn task(self) -> Task {
        match self {
            ToyKind::Moons | ToyKind::Rings | ToyKind::Blobs => Task::Classification,
            _ => Task::Regression,
        }
    }

    /// Number of classes; 0 for a regression.
    pub fn classes(self) -> usize {
        match self {
            ToyKind::Moons | ToyKind::Rings => 2,
            ToyKind::Blobs => 3,
            _ => 0,
        }
    }
}

impl NetName {
    /// Height and width of its inputs, where it takes one size only.
    pub fn fixed_side(self) -> Option<u32> {
        matches!(self, NetName::AlexNet | NetName::PreResNet).then_some(32)
    }
}

/// Column and kind of a "column=kind" of `data.as`.
pub fn kind_of(pair: &str) -> Result<(String, ColumnKind)> {
    let kind = |name: &str| ColumnKind::ALL.into_iter().find(|kind| kind.name() == name);
    let parts = pair.rsplit_once('=').map(|(column, name)| (column.trim(), kind(name.trim())));
    match parts {
        Some((column, Some(kind))) if !column.is_empty() => Ok((column.to_string(), kind)),
        _ => {
            let allowed = format!("COLUMN=KIND with KIND one of {}", ColumnKind::NAMES.join(", "));
            Err(Error::usage(
                either("data.as", "kinds of columns"),
                format!("\"{pair}\""),
                allowed,
                either("for example --as zip=text", "for example zip=text"),
            ))
        }
    }
}

/// How long a training on a table may take (`train.budget`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// As long as is usual for its number of rows, the same on every machine.
    Auto,
    Seconds(f64),
}

impl Budget {
    /// "auto", or a number with its unit: "10s", "1.5m", "2h".
    pub fn of(text: &str) -> Result<Budget> {
        const DAY: f64 = 86_400.0;
        let text = text.trim();
        if text == "auto" {
            return Ok(Budget::Auto);
        }
        let unit = |end: char| [('s', 1.0), ('m', 60.0), ('h', 3600.0)].into_iter().find(|(name, _)| *name == end);
        let seconds = text.chars().last().and_then(unit).and_then(|(end, seconds)| {
            text.strip_suffix(end).and_then(|number| number.trim().parse::<f64>().ok()).map(|number| number * seconds)
        });
        match seconds {
            Some(seconds) if (1.0..=30.0 * DAY).contains(&seconds) => Ok(Budget::Seconds(seconds)),
            _ => Err(Error::usage(
                either("train.budget", "time"),
                format!("\"{text}\""),
                "auto, or a time from 1s to 720h: a number with s, m or h",
                either("for example --budget 1m", "for example 1m"),
            )),
        }
    }
}

impl Train {
    /// What `train.budget` says, where it says anything.
    pub fn budget(&self) -> Result<Option<Budget>> {
        self.budget.as_deref().map(Budget::of).transpose()
    }
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
