//! The numbers of an evaluation: each metric of MATH.md section 7 beside a constant baseline and ordinary least squares.
//! `regression`, `classification` and `outside` each hold a family of metrics, a line for each; `words` says what they mean.

pub(crate) mod against;
mod baselines;
pub(crate) mod chance;
mod classification;
mod kind;
pub(crate) mod of_rows;
mod outside;
mod per_class;
pub mod predictions;
mod regression;
mod table;
mod titles;
mod uncertain;
pub(crate) mod words;

pub use self::baselines::{Baselines, ClassBaselines};
pub use self::of_rows::{alone, results_of, test};
pub(crate) use self::outside::mutual_information_error;
pub use self::per_class::per_class;
pub use self::table::{of_sets, share_of};
pub use self::titles::{Title, title};
pub(crate) use self::words::half_words;
pub use self::words::{Said, advises_calibration, said, with_button};
use crate::metrics::Measure;
pub use crate::results::classification::{classification, classification_of_rows};
pub use crate::results::kind::{Better, MetricKind, Shown, Unit, shown_of};
pub use crate::results::outside::{aurocs, ood_classification, ood_regression};
pub use crate::results::regression::{LEVELS, regression};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// "rmse", "nll", ...: the key in results.json and in tables.
    pub name: String,
    /// Empty for pure numbers.
    pub unit: String,
    pub value: Measure,
    /// Standard error that the number of rows leaves it; None where it is not known, as of a calibration error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The same after `vifo calibrate`, where the run is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<f64>,
    /// Of a predictor that always gives the training mean and sd, or the class shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// Of ordinary least squares with the training residual's sd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_squares: Option<f64>,
    /// Of gradient-boosted trees, with the sd of their errors on rows that they had not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boosting: Option<f64>,
    /// For comparisons: whether more is better, less is better, or neither.
    pub better: Better,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// "test", "shift", "ood".
    pub set: String,
    pub rows: usize,
    pub metrics: Vec<Metric>,
    pub notes: Vec<String>,
    /// The variants that the run chose from, in their order; none where its recipe has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantResult>,
}

/// A variant of a training, by what its members predict of the training rows that they held out (`train.variants`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// As the recipe has them.
    pub keys: String,
    /// Nats per row, in the target's unit; of several targets the mean, each in units of its own sd. None where training broke
    /// off, for a loss was no number.
    pub nll: Option<f64>,
    /// How much more that is than the chosen one's, and the standard error of the difference.
    pub difference: Option<f64>,
    pub standard_error: Option<f64>,
    pub chosen: bool,
}

impl Results {
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).and_then(|m| m.value.value())
    }
}

pub(crate) fn metric(name: &str, unit: &str, value: f64, better: Better) -> Metric {
    Metric {
        name: name.into(),
        unit: unit.into(),
        value: Measure::Value(value),
        error: None,
        calibrated: None,
        constant: None,
        least_squares: None,
        boosting: None,
        better,
    }
}

/// Fewer rows than this say nothing about which of two models is better.
pub(crate) const FEW: usize = 20;
