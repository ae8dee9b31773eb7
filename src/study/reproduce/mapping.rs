//! What the paper's tables show, as data: tables and figures, data sets with their shifted and out-of-distribution
//! partners, methods and networks under the paper's names and ours. Must not compute anything.
//!
//! Source: Wei & Khardon, TMLR 2024; the labels are those of its LaTeX file, training settings MATH.md section 5.

use crate::recipe::NetName;
use crate::results::Better;

/// One of the paper's tables or figures.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub title: &'static str,
    /// Where the paper has it.
    pub source: &'static str,
    pub show: Show,
    pub networks: &'static [NetName],
    /// The paper's names; empty = all.
    pub methods: &'static [&'static str],
    /// Weights of the auxiliary regularizer that VIFO is trained with unless others are asked for.
    pub eta_aux: &'static [f64],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Show {
    /// Seconds of an epoch; trains nothing.
    Time,
    /// Test NLL of one member beside that of the ensemble.
    SingleAndEnsemble,
    /// One metric, method by method.
    Cells(&'static Metric),
    /// In how many experiments VIFO has the better AUROC.
    WinRates,
    LearningCurves,
    EnsembleSize,
}

#[derive(Debug, PartialEq)]
pub struct Metric {
    /// In results.csv.
    pub paper: &'static str,
    /// In a run's results.
    pub ours: &'static str,
    pub title: &'static str,
    pub better: Better,
    pub rows: Rows,
}

/// What a metric is taken on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Test,
    Shift,
    Outside,
}

const NLL: Metric =
    Metric { paper: "nll", ours: "nll", title: "NLL, nats ↓", better: Better::Lower, rows: Rows::Test };
const ACCURACY: Metric =
    Metric { paper: "accuracy", ours: "accuracy", title: "accuracy ↑", better: Better::Higher, rows: Rows::Test };
const ECE: Metric =
    Metric { paper: "ece", ours: "ece_equal_mass", title: "ECE ↓", better: Better::Lower, rows: Rows::Shift };
const ENTROPY: Metric = Metric {
    paper: "entropy",
    ours: "ood_mean_entropy",
    title: "entropy, nats ↑",
    better: Better::Higher,
    rows: Rows::Outside,
};
pub const AUROC: Metric = Metric {
    paper: "auroc",
    ours: "auroc_max_probability",
    title: "AUROC ↑",
    better: Better::Higher,
    rows: Rows::Outside,
};

const BOTH: &[NetName] = &[NetName::AlexNet, NetName::PreResNet];
const ALEXNET: &[NetName] = &[NetName::AlexNet];
/// With and without auxiliary inputs, as the paper's figures show VIFO.
const WITH_AND_WITHOUT: &[f64] = &[0.0, 0.1];

macro_rules! tables {
    ($($name:literal, $title:literal, $source:literal, $show:expr, $networks:expr, $methods:expr, $eta_aux:expr;)*) => {
        pub const TABLES: &[Table] = &[$(Table {
            name: $name, title: $title, source: $source, show: $show, networks: $networks, methods: $methods, eta_aux: $eta_aux,
        },)*];
    };
}

tables! {
    "table1", "seconds to train one epoch, batch 512", "Table 1 (tab:time-AlexNet)", Show::Time, ALEXNET, &["VI-naive", "VIFO-mean", "SGD"], &[0.0];
    "table2", "test NLL of single VIFO and ensembles", "Table 2 (tab:single-ens), with auxiliary training at 0.1", Show::SingleAndEnsemble, ALEXNET, &["VIFO-mean", "VIFO-mv"], &[0.1];
    "nll", "test NLL", "section Numerical Results; figures fig:log-alexnet, fig:log-preresnet", Show::Cells(&NLL), BOTH, &[], WITH_AND_WITHOUT;
    "accuracy", "test accuracy", "section Numerical Results; figures fig:acc-alexnet, fig:acc-preresnet", Show::Cells(&ACCURACY), BOTH, &[], WITH_AND_WITHOUT;
    "ece", "calibration error on shifted images", "section Numerical Results; figure fig:ece", Show::Cells(&ECE), BOTH, &[], WITH_AND_WITHOUT;
    "entropy", "mean entropy on out-of-distribution images", "section Numerical Results; figures fig:entropy-alexnet, fig:entropy-preresnet", Show::Cells(&ENTROPY), BOTH, &[], WITH_AND_WITHOUT;
    "auroc", "AUROC of the maximum probability, in- against out-of-distribution", "section Numerical Results; figures fig:auroc-alexnet, fig:auroc-preresnet", Show::Cells(&AUROC), BOTH, &[], WITH_AND_WITHOUT;
    "win-rates", "share of the experiments in which VIFO has the better AUROC", "figure fig:auroc; VIFO with auxiliary training at 0.1", Show::WinRates, BOTH, &[], &[0.1];
    "learning-curves", "NLL of held-out images by epoch, single networks", "figure fig:learning-curves", Show::LearningCurves, ALEXNET, &["VIFO-mean", "VI-naive"], &[0.0];
    "ensemble-size", "test NLL by size of the ensemble", "section Ensembles (sec:ensemble)", Show::EnsembleSize, BOTH, &["VIFO-mean", "VIFO-mv"], &[0.1];
}

/// The two methods whose wins fig:auroc counts.
pub const WINNERS: [&str; 2] = ["VIFO-mean", "VIFO-mv"];

/// SGD's settings (MATH.md section 5, tab:swag-params).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdSettings {
    pub lr: f64,
    pub weight_decay: f64,
    pub swa_lr: f64,
    /// Epochs of Adam, rate 1e-3, before it.
    pub adam_epochs: u32,
}

/// An image set to train on.
#[derive(Debug, PartialEq)]
pub struct Set {
    pub name: &'static str,
    /// In results.csv; None for a set that the paper does not have.
    pub paper: Option<&'static str>,
    /// Names that its folder may have, in lower case and without - and _; the first is looked for first.
    pub folders: &'static [&'static str],
    /// The shifted and the out-of-distribution sets of the paper.
    pub shift: Option<&'static str>,
    pub outside: &'static [&'static str],
    /// Height, width, channels, classes and training images.
    pub shape: (usize, usize, usize),
    pub classes: usize,
    pub images: usize,
    /// Instead of the table's, where those make no sense.
    pub networks: Option<&'static [NetName]>,
    pub sgd: SgdSettings,
}

const CIFAR_SGD: SgdSettings = SgdSettings { lr: 0.05, weight_decay: 1e-4, swa_lr: 0.01, adam_epochs: 0 };

pub const SETS: &[Set] = &[
    Set {
        name: "cifar10",
        paper: Some("CIFAR10"),
        folders: &["cifar10", "cifar10batchesbin", "cifar10binary"],
        shift: Some("stl10"),
        outside: &["svhn"],
        shape: (32, 32, 3),
        classes: 10,
        images: 50_000,
        networks: None,
        sgd: CIFAR_SGD,
    },
    Set {
        name: "cifar100",
        paper: Some("CIFAR100"),
        folders: &["cifar100", "cifar100binary", "cifar100bin"],
        shift: None,
        outside: &[],
        shape: (32, 32, 3),
        classes: 100,
        images: 50_000,
        networks: None,
        sgd: CIFAR_SGD,
    },
    Set {
        name: "svhn",
        paper: Some("SVHN"),
        folders: &["svhn", "svhn32x32", "svhncropped", "streetviewhousenumbers"],
        shift: None,
        outside: &["cifar10", "stl10"],
        shape: (32, 32, 3),
        classes: 10,
        images: 73_257,
        networks: None,
        sgd: SgdSettings { lr: 0.001, weight_decay: 1e-4, swa_lr: 0.005, adam_epochs: 5 },
    },
    Set {
        name: "stl10",
        paper: Some("STL10"),
        folders: &["stl10", "stl10binary"],
        shift: Some("cifar10"),
        outside: &["svhn"],
        shape: (32, 32, 3),
        classes: 10,
        // tab:time-AlexNet says 500; the set has 5,000 (MATH.md section 9).
        images: 5_000,
        networks: None,
        sgd: SgdSettings { lr: 0.05, weight_decay: 1e-3, swa_lr: 0.01, adam_epochs: 0 },
    },
    Set {
        name: "digits",
        paper: None,
        folders: &[],
        shift: None,
        outside: &[],
        shape: (8, 8, 1),
        classes: 10,
        images: 1_438,
        networks: Some(&[NetName::Cnn]),
        sgd: CIFAR_SGD,
    },
];

#[derive(Debug, PartialEq)]
pub struct Method {
    /// In results.csv.
    pub paper: &'static str,
    /// In a recipe, if vifo has it.
    pub ours: &'static str,
    pub family: Family,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Has auxiliary inputs.
    Vifo,
    /// One network: the paper makes no ensemble of it, "which is time-consuming".
    Vi,
    /// The paper's SGD settings; the others have Adam.
    Sgd,
    Other,
}

macro_rules! methods {
    ($($paper:literal, $ours:literal, $family:ident;)*) => {
        pub const METHODS: &[Method] = &[$(Method { paper: $paper, ours: $ours, family: Family::$family },)*];
    };
}

// In the order of the paper's tables.
methods! {
    "VIFO-naive", "vifo-naive", Vifo;
    "VIFO-mean", "vifo-mean", Vifo;
    "VIFO-mv", "vifo-mv", Vifo;
    "VIFO-eb", "vifo-eb", Vifo;
    "VI-naive", "vi-naive", Vi;
    "VI-mean", "vi-mean", Vi;
    "VI-mv", "vi-mv", Vi;
    "VI-eb", "vi-eb", Vi;
    "SGD", "base", Sgd;
    "SWA", "swa", Sgd;
    "SWAG", "swag", Sgd;
    "Repulsive", "repulsive", Other;
    "Dir", "dirichlet", Other;
    "Dropout", "dropout", Other;
    "Laplace", "laplace", Other;
    "VBLL", "vbll", Other;
}

impl Method {
    /// Whether a recipe can name it: a method that is added there joins here automatically.
    pub fn trainable(&self) -> bool {
        crate::method::find(self.ours).is_some()
    }
}

/// The weights of auxiliary training in results.csv.
pub const PAPER_ETA_AUX: [f64; 4] = [0.0, 0.1, 0.5, 1.0];

/// A network's name in recipes and in results.csv.
pub fn network_names(network: NetName) -> (&'static str, Option<&'static str>) {
    match network {
        NetName::AlexNet => ("alexnet", Some("AlexNet")),
        NetName::PreResNet => ("preresnet", Some("PreResNet20")),
        NetName::Cnn => ("cnn", None),
        NetName::Mlp => ("mlp", None),
    }
}

pub const NETWORKS: [NetName; 4] = [NetName::AlexNet, NetName::PreResNet, NetName::Cnn, NetName::Mlp];

/// tab:time-AlexNet: mean and sd of ten runs, by set and method.
pub const PAPER_SECONDS: [(&str, &str, f64, f64); 12] = [
    ("CIFAR10", "VI-naive", 8.51, 0.41),
    ("CIFAR100", "VI-naive", 8.27, 0.40),
    ("SVHN", "VI-naive", 11.56, 0.39),
    ("STL10", "VI-naive", 1.75, 0.41),
    ("CIFAR10", "VIFO-mean", 2.18, 0.39),
    ("CIFAR100", "VIFO-mean", 2.17, 0.43),
    ("SVHN", "VIFO-mean", 2.72, 0.38),
    ("STL10", "VIFO-mean", 1.16, 0.40),
    ("CIFAR10", "SGD", 1.97, 0.41),
    ("CIFAR100", "SGD", 1.99, 0.43),
    ("SVHN", "SGD", 2.46, 0.40),
    ("STL10", "SGD", 1.12, 0.38),
];

/// Set, method, single and ensemble, each mean and sd.
pub type SingleAndEnsemble = (&'static str, &'static str, (f64, f64), (f64, f64));

/// tab:single-ens; it does not say its weight of auxiliary training: 0.1 is nearest to the NLL tables but on SVHN, where the
/// two disagree at every weight.
pub const PAPER_SINGLE: [SingleAndEnsemble; 8] = [
    ("CIFAR10", "VIFO-mean", (0.527, 0.015), (0.345, 0.003)),
    ("CIFAR10", "VIFO-mv", (0.626, 0.010), (0.324, 0.001)),
    ("CIFAR100", "VIFO-mean", (2.253, 0.032), (1.688, 0.006)),
    ("CIFAR100", "VIFO-mv", (2.688, 0.029), (1.725, 0.003)),
    ("STL10", "VIFO-mean", (1.333, 0.065), (1.055, 0.008)),
    ("STL10", "VIFO-mv", (1.531, 0.019), (1.123, 0.008)),
    ("SVHN", "VIFO-mean", (0.509, 0.029), (0.351, 0.005)),
    ("SVHN", "VIFO-mv", (0.520, 0.027), (0.298, 0.009)),
];
