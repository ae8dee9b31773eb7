//! How far a metric of few rows can be trusted: each has a standard error of its own.

use super::Metric;
use crate::metrics::weighted;
use crate::tables::number;

/// A figure in words, with the standard error that the rows it was taken from leave it.
pub struct Uncertain(Option<String>);

impl Uncertain {
    pub fn plain(name: &str, unit: &str, value: f64, error: f64) -> Self {
        let text = || format!("{name} {} ± {} {unit}", number(value), number(error)).trim_end().to_string();
        Uncertain((value.is_finite() && error.is_finite()).then(text))
    }

    /// `error` is a share of the value.
    pub fn relative(name: &str, unit: &str, value: f64, error: f64) -> Self {
        let Uncertain(text) = Self::plain(name, unit, value, error * value);
        Uncertain(text.map(|t| format!("{t} ({:.0} %)", 100.0 * error)))
    }

    /// A share of `n` rows is binomial. None or all of them would have no error by that: two more rows of either kind are
    /// counted then (Agresti and Coull 1998).
    pub fn share(name: &str, metric: Option<&Metric>, n: usize) -> Self {
        let Some(share) = metric.and_then(|m| m.value.value()) else { return Uncertain(None) };
        let error = error_of_share(share, n);
        let (low, high) = (share - error, share + error);
        if low >= 0.0 && high <= 1.0 {
            return Self::relative(name, "", share, error / share);
        }
        // No share is below 0 or above 1.
        let text = || {
            let (low, high) = (number(low.max(0.0)), number(high.min(1.0)));
            format!("{name} {} ({low} to {high})", number(share))
        };
        Uncertain(error.is_finite().then(text))
    }
}

/// Standard error of a share of so many rows; where none or all of them count, as with two more of either kind.
pub fn error_of_share(share: f64, n: usize) -> f64 {
    let n = n as f64;
    let of = |p: f64, n: f64| (p * (1.0 - p) / n).sqrt();
    let is_between = share > 0.0 && share < 1.0;
    if is_between { of(share, n) } else { of((share * n + 2.0) / (n + 4.0), n + 4.0) }
}

/// Standard error of a mean over rows that count by `w` [n], or alike where there are none; None for fewer than two rows.
pub fn error_of(values: &[f64], w: &[f32]) -> Option<f64> {
    let error = match w.is_empty() {
        true => error_of_mean(values),
        false => {
            let mean = weighted::mean(values.iter().copied(), w);
            let counted = || values.iter().zip(w).filter(|(_, w)| **w != 0.0).map(|(v, w)| (v - mean, f64::from(*w)));
            counted().map(|(d, w)| (w * d).powi(2)).sum::<f64>().sqrt() / counted().map(|(_, w)| w).sum::<f64>()
        }
    };
    (error.is_finite() && values.len() > 1).then_some(error)
}

/// Standard error of the mean of the values; NaN for fewer than two.
pub fn error_of_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt()
}

/// What few rows leave open, each figure by its own standard error.
pub fn few_rows(n: usize, figures: &[Uncertain]) -> Option<String> {
    let figures: Vec<&str> = figures.iter().filter_map(|u| u.0.as_deref()).collect();
    let rows = if n == 1 { "1 row is".to_string() } else { format!("{n} rows are") };
    (n < 50).then(|| match figures.is_empty() {
        true => format!("{rows} too few to tell how uncertain these figures are"),
        false => format!("{rows} few; the figures with their standard errors: {}", figures.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::method::predictive::{Classification, Regression};
    use crate::results::{classification, regression};

    #[test]
    fn a7_each_figure_of_few_rows_has_its_own_error() {
        // Ten of forty right, sure of all: accuracy 0.25 with sqrt(0.25 * 0.75 / 40) = 0.0685, 27 % of it.
        let y: Vec<usize> = (0..40).map(|i| usize::from(i % 4 > 0)).collect();
        let p = Classification { k: 2, probs: [0.6, 0.4].repeat(40), epistemic: vec![0.0; 40], ..Default::default() };
        let notes = classification(&p, &y, None).notes.join("\n");
        assert!(notes.contains("accuracy 0.2500 ± 0.06847 (27 %)"), "{notes}");
        // nll: 10 terms of -ln 0.6, 30 of -ln 0.4; sd = (ln 0.6 - ln 0.4) sqrt(10 * 30 / (40 * 39)), over sqrt 40.
        let error = libm::log(0.6f64 / 0.4) * (300.0f64 / (40.0 * 39.0)).sqrt() / 40f64.sqrt();
        assert!(notes.contains(&format!("± {} nats", number(error))), "{notes}");
        // All of four right is no certainty: (4 + 2) / (4 + 4) = 3/4, sqrt(3/16 / 8).
        let sure = Classification { k: 2, probs: [0.9, 0.1].repeat(4), epistemic: vec![0.0; 4], ..Default::default() };
        let notes = classification(&sure, &[0; 4], None).notes.join("\n");
        assert!(notes.contains("accuracy 1.000 (0.8469 to 1.000),"), "{notes}");
        // Squared errors 1, 1, 1, 9: mean 3, sd 4, error 2 of the mean, so 2 / (2 * 3) of the root.
        let r = Regression::normals(vec![0.0; 4], &[1.0; 4], vec![1.0; 4], vec![0.0; 4]);
        let notes = regression(&r, &[1.0, -1.0, 1.0, 3.0], &Dataset::default(), None, "m").expect("metrics").notes;
        let notes = notes.join("\n");
        assert!(notes.contains("rmse 1.732 ± 0.5774 m (33 %)") && !notes.contains("every figure"), "{notes}");
        // The same errors stand beside the figures, of any number of rows.
        let of =
            |r: &crate::results::Results, name: &str| r.metrics.iter().find(|m| m.name == name).and_then(|m| m.error);
        let metrics = regression(&r, &[1.0, -1.0, 1.0, 3.0], &Dataset::default(), None, "m").expect("metrics");
        assert!((of(&metrics, "rmse").expect("known") - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        let classes = classification(&p, &y, None);
        assert!((of(&classes, "accuracy").expect("known") - (0.1875f64 / 40.0).sqrt()).abs() < 1e-12);
        assert_eq!(of(&classes, "ece_equal_mass"), None);
        // Weights of 1 are none.
        let (values, ones) = ([1.0, 5.0, 2.0, 0.0], [1.0; 4]);
        let (plain, weighed) = (error_of(&values, &[]).expect("four"), error_of(&values, &ones).expect("four"));
        assert!((weighed - plain * 0.75f64.sqrt()).abs() < 1e-12, "{plain} {weighed}");
        assert_eq!(error_of(&[1.0], &[]), None);
        assert!(few_rows(50, &[]).is_none() && few_rows(1, &[]).is_some_and(|t| t.starts_with("1 row is too few")));
    }
}
