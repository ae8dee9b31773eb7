//! Metrics: pure functions in f64 from predictions and targets to numbers (MATH.md section 7). Nothing here knows a
//! model, a file or a device, and nothing prints.
//!
//! One rule for malformed input throughout: where a number cannot be computed (no rows, lengths that disagree, a label
//! out of range, a NaN among the inputs) the answer is NaN, an empty vector, or [`Measure::Undefined`], never a panic
//! and never a number that looks fine.

mod baselines;
pub mod boosting;
pub mod calibration;
pub mod classification;
pub mod conformal;
mod normal;
pub mod ood;
pub mod regression;
mod tails;
pub mod temperature;
pub mod weighted;

pub use calibration::{
    ReliabilityBin, binary_ece_equal_width, calibration_curve, coverage, ece_equal_mass, ece_equal_width,
    interval_score, mean_width, pinball, reliability_bins,
};
pub use classification::{Decomposition, accuracy, brier, confidences, entropy, mutual_information, nll};
pub use ood::{Ranking, aupr, auroc, fpr95};
pub use regression::{
    ConstantModel, LinearModel, MAX_LINEAR_COLUMNS, Mixture, gaussian_nll, log_normal_cdf, mae, normal_cdf,
    normal_quantile, rmse,
};
pub use tails::count_tails;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A metric that may have no value, as AUROC has none where a class is empty.
///
/// Serialised as a number, or as the text "undefined" (the reason stays in memory); read back the same way. A value
/// that is not finite is written as "undefined" too: JSON has no NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    Value(f64),
    /// The reason, in a few words.
    Undefined(&'static str),
}

const UNDEFINED: &str = "undefined";

impl Measure {
    pub fn value(self) -> Option<f64> {
        match self {
            Measure::Value(v) => Some(v),
            Measure::Undefined(_) => None,
        }
    }

    pub fn reason(self) -> Option<&'static str> {
        match self {
            Measure::Value(_) => None,
            Measure::Undefined(why) => Some(why),
        }
    }
}

/// `{}` and `{:.4}` write the number or "undefined"; `{:#}` adds the reason in brackets.
impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Measure::Value(v) => std::fmt::Display::fmt(v, f),
            Measure::Undefined(why) if f.alternate() => write!(f, "{UNDEFINED} ({why})"),
            // `pad` would cut the word to the precision asked for the number.
            Measure::Undefined(_) => match f.width() {
                Some(width) => write!(f, "{UNDEFINED:>width$}"),
                None => f.write_str(UNDEFINED),
            },
        }
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Measure::Value(v) if v.is_finite() => serializer.serialize_f64(*v),
            _ => serializer.serialize_str(UNDEFINED),
        }
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(v) => Ok(Measure::Value(v)),
            Written::Text(t) if t == UNDEFINED => Ok(Measure::Undefined("recorded as undefined")),
            Written::Text(t) => {
                Err(serde::de::Error::custom(format!("\"{t}\": a number or \"{UNDEFINED}\" belongs here")))
            }
        }
    }
}

/// Two values of one quantity that are closer than this share of the larger are one: 128 units of rounding, beyond the
/// worst that a sum of 125 terms of one sign can be off, and the usual error of 16,000. Predictions that come from single
/// precision and differ at all are four million times as far apart.
pub const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// Whether two values are one up to rounding; `error` is what they may be off beside it, where a difference of larger
/// numbers made them.
pub fn is_same(a: f64, b: f64, error: f64) -> bool {
    a == b || (a.is_finite() && b.is_finite() && (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) + error)
}

/// The sum in ascending order: to the bit the same for every order of the values.
pub fn sum_of(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.iter().sum()
}

/// Mean over rows of `f(a, b)`; NaN for no rows or unequal lengths.
fn mean_of_pairs(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    if a.len() != b.len() || a.is_empty() {
        return f64::NAN;
    }
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).sum::<f64>() / a.len() as f64
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::base::rng::SplitMix64;

    /// Numbers for tests, the same on every machine.
    pub struct Rng(SplitMix64);

    impl Rng {
        pub fn new(seed: u64) -> Self {
            Rng(SplitMix64::new(seed))
        }

        pub fn uniform(&mut self) -> f64 {
            self.0.uniform()
        }

        pub fn below(&mut self, n: usize) -> usize {
            ((self.uniform() * n as f64) as usize).min(n - 1)
        }

        pub fn normal(&mut self) -> f64 {
            super::normal_quantile(self.uniform().clamp(1e-12, 1.0 - 1e-12))
        }
    }

    /// Fails on NaN, and where the distance exceeds `tol * max(1, |want|)`.
    #[track_caller]
    pub fn assert_near(found: f64, want: f64, tol: f64) {
        assert!((found - want).abs() <= tol * want.abs().max(1.0), "found {found}, want {want}, tolerance {tol}");
    }

    #[test]
    #[should_panic(expected = "found NaN")]
    fn the_comparer_rejects_nan() {
        assert_near(f64::NAN, 1.0, 1e9);
    }

    #[test]
    #[should_panic(expected = "want 1")]
    fn the_comparer_rejects_a_wrong_number() {
        assert_near(1.0 + 1e-8, 1.0, 1e-9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_written_as_a_number_or_the_word() {
        let pair = [Measure::Value(0.75), Measure::Undefined("no positives")];
        let text = serde_json::to_string(&pair).unwrap();
        assert_eq!(text, r#"[0.75,"undefined"]"#);
        let back: Vec<Measure> = serde_json::from_str(&text).unwrap();
        assert_eq!(back[0], pair[0]);
        assert_eq!(back[1].value(), None);
        assert_eq!(serde_json::from_str::<Measure>("1").unwrap(), Measure::Value(1.0));
        assert!(serde_json::from_str::<Measure>("\"fine\"").is_err());
        assert_eq!(serde_json::to_string(&Measure::Value(f64::NAN)).unwrap(), "\"undefined\"");
        assert_eq!(format!("{:.2} {:.2} {:#}", pair[0], pair[1], pair[1]), "0.75 undefined undefined (no positives)");
        assert_eq!(format!("{:>8.2}|{:>11.2}", pair[0], pair[1]), "    0.75|  undefined");
    }
}
