//! What a run is compared with, fitted on the training rows: a constant, a straight line, boosted trees.

use crate::data::Dataset;
use crate::error::{Error, either};
use crate::metrics::boosting::{self, Boosting};
use crate::metrics::{ConstantModel, LinearModel};
use crate::recipe::Boosting as Choice;
use crate::system::stop;
use crate::tables::rough_duration;

/// Fitted trees, or why there are none.
type Trees = Result<Boosting, String>;

/// Baselines for a regression.
pub struct Baselines {
    pub constant: ConstantModel,
    pub linear: Result<LinearModel, String>,
    /// None where they are not asked for.
    pub boosting: Option<Trees>,
}

/// What an error says without its place and cure.
fn found(e: Error) -> String {
    match e {
        Error::Run(f) => f.found,
        e => e.to_string(),
    }
}

/// The trees of rows with targets `y` [n], of which the last `validation` chose when to stop; `classes` is 0 for a regression.
///
/// # Errors
/// A stop that came before they were grown.
fn trees(
    seen: &Dataset,
    y: &[f64],
    validation: usize,
    classes: usize,
    boosting: Choice,
) -> crate::error::Result<Option<Trees>> {
    // Pixels are no columns.
    if boosting == Choice::Off || seen.x.is_empty() {
        return Ok(None);
    }
    if boosting == Choice::Auto && !boosting::is_quick(seen.n, seen.d, classes) {
        let about = rough_duration(boosting::seconds(seen.n, seen.d, classes));
        return Ok(Some(Err(format!(
            "left out: it would take about {about}{}",
            either(" (--baseline on fits it all the same)", "")
        ))));
    }
    // Those of a large table take minutes, and the crate cannot be interrupted between two of them.
    let (x, y, weights, d) = (seen.x.clone(), y.to_vec(), seen.weights.clone(), seen.d);
    let fitted = stop::abandonable(move || {
        let rows = boosting::Rows { x: &x, y: &y, weights: &weights, d };
        match classes {
            0 => Boosting::regression(rows, validation),
            k => Boosting::classification(rows, k, validation),
        }
    });
    match fitted {
        Err(e @ Error::Stopped(_)) => Err(e),
        fitted => Ok(Some(fitted.map_err(found))),
    }
}

impl Baselines {
    /// `y` in the user's unit; the last `validation` rows chose the stopping time.
    ///
    /// # Errors
    /// A stop.
    pub fn fit(seen: &Dataset, y: &[f64], validation: usize, boosting: Choice) -> crate::error::Result<Baselines> {
        let linear = LinearModel::fit_weighed(&seen.x, y, &seen.weights, seen.n, seen.d).map_err(found);
        let boosting = trees(seen, y, validation, 0, boosting)?;
        Ok(Baselines { constant: ConstantModel::fit_weighed(y, &seen.weights), linear, boosting })
    }
}

/// Baselines for classes.
pub struct ClassBaselines {
    /// [k]: class shares of the rows that training saw, the constant baseline.
    pub shares: Vec<f64>,
    /// Class probabilities [n, k] that the trees give to the rows in question.
    pub boosted: Option<Result<Vec<f64>, String>>,
}

impl ClassBaselines {
    /// Fitted on `seen`, as `Baselines::fit`, and predicting `rows`.
    ///
    /// # Errors
    /// A stop.
    pub fn fit(
        seen: &Dataset,
        classes: usize,
        validation: usize,
        boosting: Choice,
        rows: &Dataset,
    ) -> crate::error::Result<ClassBaselines> {
        let mut shares = vec![0.0; classes];
        for (y, w) in seen.y.iter().zip(seen.row_weights()) {
            shares[*y as usize] += f64::from(w);
        }
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= if total > 0.0 { total } else { 1.0 });
        let y: Vec<f64> = seen.y.iter().map(|&y| f64::from(y)).collect();
        let boosted = trees(seen, &y, validation, classes, boosting)?
            .map(|t| t.and_then(|t| t.probabilities(&rows.x, rows.n).map_err(found)));
        Ok(ClassBaselines { shares, boosted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_trees_wait_to_be_asked_for() {
        let n = 200_000;
        let x: Vec<f32> = (0..n * 4).map(|i| (i as f32 * 0.37).sin()).collect();
        let large = Dataset { x: x.into(), y: vec![0.0; n], n, d: 4, ..Default::default() };
        let y: Vec<f64> = vec![0.0; n];
        let trees = |rows: &Dataset, y: &[f64], boosting| trees(rows, y, 10, 0, boosting).expect("no stop");
        let why = trees(&large, &y, Choice::Auto).expect("an answer").err().expect("a reason");
        assert!(why.starts_with("left out: it would take about ") && why.contains("--baseline on"), "{why}");
        assert!(trees(&large, &y, Choice::Off).is_none());
        let image = Dataset { y: vec![0.0; 30], n: 30, d: 64, ..Default::default() };
        assert!(trees(&image, &y[..30], Choice::On).is_none());
    }
}
