//! Metrics of rows with a known target, beside the baselines.

use super::{Baselines, ClassBaselines, Results};
use crate::data::Dataset;
use crate::data::encode::Feature;
use crate::data::load::Loaded;
use crate::data::targets_of;
use crate::error::Result;
use crate::method::Predictive;
use crate::recipe::Boosting;

/// Metrics of the test rows beside the baselines, fitted on the rows that training saw (validation included: they chose the
/// stopping time).
pub fn test(data: &Loaded, predictive: &Predictive, y: &[f64], boosting: Boosting) -> Result<Results> {
    results_of(data, predictive, &data.test, y, boosting)
}

/// The same of other rows, with targets `y`.
pub fn results_of(
    data: &Loaded,
    predictive: &Predictive,
    rows: &Dataset,
    y: &[f64],
    boosting: Boosting,
) -> Result<Results> {
    let seen = joined(&data.train, &data.validation);
    let mut results = beside_baselines(data, predictive, rows, y, &seen, boosting)?;
    let of = |f: &&Feature| f.kind.table().is_some();
    let names: Vec<&str> = data.encoder.features.iter().filter(of).map(|f| f.name.as_str()).collect();
    if !names.is_empty() {
        results.notes.push(format!("the baselines see the levels of {} as their plain numbers", names.join(", ")));
    }
    Ok(results)
}

fn beside_baselines(
    data: &Loaded,
    predictive: &Predictive,
    rows: &Dataset,
    y: &[f64],
    seen: &Dataset,
    boosting: Boosting,
) -> Result<Results> {
    match predictive {
        Predictive::Regression(r) => {
            let baselines = Baselines::fit(seen, &targets_of(seen), data.validation.n, boosting)?;
            super::regression(r, y, rows, Some(&baselines), data.encoder.target_name())
        }
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            let k = data.encoder.n_classes().unwrap_or(0);
            let baselines = ClassBaselines::fit(seen, k, data.validation.n, boosting, rows)?;
            Ok(super::classification_of_rows(c, &classes, &rows.weights, Some(&baselines)))
        }
    }
}

/// Metrics of training rows that were predicted without having been seen, beside no baselines, which saw them.
pub fn alone(predictive: &Predictive, data: &Loaded, y: &[f64]) -> Result<Results> {
    match predictive {
        Predictive::Regression(r) => super::regression(r, y, &data.train, None, data.encoder.target_name()),
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            Ok(super::classification_of_rows(c, &classes, &data.train.weights, None))
        }
    }
}

fn joined(a: &Dataset, b: &Dataset) -> Dataset {
    if b.n == 0 {
        return a.clone();
    }
    // Only what the baselines read: images and names of rows would be copied for nothing.
    let weights = match a.weights.is_empty() {
        true => vec![],
        false => a.weights.iter().copied().chain(b.row_weights()).collect(),
    };
    Dataset {
        x: [&a.x[..], &b.x].concat().into(),
        y: [&a.y[..], &b.y].concat(),
        target: [&a.target[..], &b.target].concat(),
        n: a.n + b.n,
        d: a.d,
        weights,
        ..Default::default()
    }
}
