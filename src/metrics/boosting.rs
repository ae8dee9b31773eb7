//! Gradient-boosted trees as a baseline: how well a table's columns predict its target without a network. The trees are
//! those of the crate forust-ml (XGBoost's algorithm); here is how many of them are taken, and how wrong they are.
//!
//! Each booster runs on one thread, so that the trees do not depend on the number of threads.

use crate::error::{Error, Result};
use forust_ml::data::Matrix;
use forust_ml::gradientbooster::{GradientBooster, GrowPolicy};
use forust_ml::metric::Metric;
use forust_ml::objective::ObjectiveType;
use rayon::prelude::*;

/// Trees of a booster at most.
const MOST_TREES: usize = 1000;
/// Trees without a better loss on the rows held out before a booster stops.
const PATIENCE: usize = 20;
const LEARNING_RATE: f32 = 0.1;
const LEAVES: usize = 31;
const BINS: u16 = 64;
/// Rows of a leaf at least, and the penalty on its value: enough that a single row makes no leaf.
const LEAST_LEAF: f32 = 5.0;
const L2: f32 = 1.0;
/// Fewer rows held out than this say too little: every fifth row is held out in turn then.
const ENOUGH_HELD_OUT: usize = 50;
const FOLDS: usize = 5;
/// Rows below which trees have nothing to split.
const LEAST_ROWS: usize = 20;
/// An error below this share of the target's standard deviation is rounding, not knowledge.
const RELATIVE_SD_FLOOR: f64 = 1e-6;

/// Encoded rows with their targets and what each of them counts for.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// [n, d], row after row.
    pub x: &'a [f32],
    /// [n]: a number, or a class index.
    pub y: &'a [f64],
    /// [n], or empty where all rows count alike.
    pub weights: &'a [f32],
    pub d: usize,
}

impl Rows<'_> {
    fn n(&self) -> usize {
        self.y.len()
    }
    fn weight(&self, i: usize) -> f64 {
        self.weights.get(i).map_or(1.0, |w| f64::from(*w))
    }
}

/// Chosen rows, column after column as the crate takes them.
struct Columns {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    d: usize,
}

impl Columns {
    /// `y` [n] stands in for the rows' own targets.
    fn of(rows: Rows, y: &[f64], chosen: &[usize]) -> Columns {
        let d = rows.d;
        // Of its final size at once: a large table would be moved as it grows.
        let mut x = Vec::with_capacity(chosen.len() * d);
        (0..d).for_each(|j| x.extend(chosen.iter().map(|&i| f64::from(rows.x[i * d + j]))));
        let weights = chosen.iter().map(|&i| rows.weight(i)).collect();
        Columns { x, y: chosen.iter().map(|&i| y[i]).collect(), weights, d }
    }
    fn matrix(&self) -> Matrix<'_, f64> {
        Matrix::new(&self.x, self.y.len(), self.d)
    }
}

enum Booster {
    Trees(Box<GradientBooster>),
    /// Where all rows have one target there is nothing to boost: that value, or the log odds of the class.
    Constant(f64),
}

impl Booster {
    fn predict(&self, x: &Matrix<f64>) -> Vec<f64> {
        match self {
            Booster::Trees(trees) => trees.predict(x, false),
            Booster::Constant(value) => vec![*value; x.rows],
        }
    }
    /// Trees that predict.
    fn trees(&self) -> usize {
        match self {
            Booster::Trees(b) => b.prediction_iteration.unwrap_or(b.trees.len()),
            Booster::Constant(_) => 1,
        }
    }
}

/// Trained boosters, ready to predict.
pub struct Boosting {
    /// One for a regression or for two classes, else one per class.
    boosters: Vec<Booster>,
    /// 0 for a regression.
    classes: usize,
    /// Regression: predictions are mean + sd * what the trees say.
    mean: f64,
    sd: f64,
    residual_sd: f64,
    d: usize,
}

/// Seconds of one core that the trees take for `n` rows of `d` columns, by their order of magnitude: the bins of every leaf
/// and, for every level, a pass over the rows. `classes` is 0 for a regression. `examples/boosting_cost.rs` measures it: on
/// tables of 300 to 45,000 rows within a factor of 3.5, mostly of 2.
pub fn seconds(n: usize, d: usize, classes: usize) -> f64 {
    // One class against many others stops sooner.
    let boosters = if classes > 2 { 0.6 * classes as f64 } else { 1.0 };
    let fits = if n < 10 * ENOUGH_HELD_OUT { 1.0 + FOLDS as f64 } else { 2.0 };
    // Small tables run out of leaves before they run out of patience.
    let trees = if classes == 0 { 400.0 } else { 200.0 };
    let leaves = (n as f64 / 20.0).min(LEAVES as f64);
    let tree = NANOSECONDS_A_BIN * leaves * d as f64 * f64::from(BINS) + NANOSECONDS_A_NUMBER * (n * d) as f64;
    boosters * fits * trees * tree * 1e-9
}

/// Whether they are fitted unasked: in under a second.
pub fn is_quick(n: usize, d: usize, classes: usize) -> bool {
    seconds(n, d, classes) <= 1.0
}

/// Bytes that the trees take at most for `n` rows of `d` columns, beside the rows themselves: the numbers as doubles, and their
/// bins; those of several fits side by side where every fifth of the rows is held out in turn. Arguments as of `seconds`.
pub fn bytes(n: usize, d: usize, classes: usize, held_out: usize) -> u64 {
    let folds = if held_out < ENOUGH_HELD_OUT { FOLDS } else { 1 };
    let boosters = if classes > 2 { classes } else { 1 };
    let at_once = (folds * boosters).min(rayon::current_num_threads());
    (n * d * (size_of::<f64>() + size_of::<u16>()) * at_once) as u64
}

/// Of one core of an Intel Xeon.
const NANOSECONDS_A_BIN: f64 = 10.0;
const NANOSECONDS_A_NUMBER: f64 = 12.0;

fn refuse(found: impl Into<String>, help: &str) -> Error {
    Error::run("gradient boosting", found, help)
}

fn check(rows: Rows, classes: usize) -> Result<()> {
    let n = rows.n();
    let fits = rows.d > 0 && n.checked_mul(rows.d) == Some(rows.x.len());
    if !fits || !(rows.weights.is_empty() || rows.weights.len() == n) {
        let found = format!("{} inputs and {n} targets for rows of {} columns", rows.x.len(), rows.d);
        return Err(refuse(found, "give rows x columns inputs"));
    }
    if n < LEAST_ROWS {
        let help = format!("none needed: from {LEAST_ROWS} rows on it is fitted");
        return Err(refuse(format!("skipped: too few rows ({n})"), &help));
    }
    if !rows.x.iter().chain(rows.weights).all(|v| v.is_finite()) || !rows.y.iter().all(|v| v.is_finite()) {
        return Err(refuse("a value is not finite", "clean the data"));
    }
    if rows.weights.iter().any(|w| *w < 0.0) || rows.weights.iter().all(|w| *w == 0.0) && !rows.weights.is_empty() {
        return Err(refuse("weights below 0, or none above", "give weights of at least 0"));
    }
    if classes > 0 && rows.y.iter().any(|&y| y < 0.0 || y as usize >= classes) {
        return Err(refuse("a class out of range", "give class indices"));
    }
    Ok(())
}

/// Trees until the loss on the rows `held` out gets no better, or `trees` of them.
fn boost(train: &Columns, held: Option<&Columns>, is_class: bool, trees: usize) -> Result<Booster> {
    let first = train.y.first().copied().unwrap_or(0.0);
    if train.y.iter().all(|y| *y == first) {
        // As if one row more had been of the other side.
        let odds = libm::log(train.y.len() as f64 + 1.0);
        return Ok(Booster::Constant(if !is_class {
            first
        } else if first > 0.5 {
            odds
        } else {
            -odds
        }));
    }
    let (objective, metric) = match is_class {
        true => (ObjectiveType::LogLoss, Metric::LogLoss),
        // The crate's own choice is the error of logarithms.
        false => (ObjectiveType::SquaredLoss, Metric::RootMeanSquaredError),
    };
    // A row of class probability p has the Hessian p (1 - p), a quarter at most.
    let least_leaf = if is_class { LEAST_LEAF / 4.0 } else { LEAST_LEAF };
    let mut booster = GradientBooster::default()
        .set_objective_type(objective)
        .set_evaluation_metric(Some(metric))
        .set_early_stopping_rounds(held.map(|_| PATIENCE))
        .set_iterations(trees)
        .set_learning_rate(LEARNING_RATE)
        .set_max_depth(64)
        .set_max_leaves(LEAVES)
        .set_min_leaf_weight(least_leaf)
        .set_l2(L2)
        .set_nbins(BINS)
        .set_parallel(false);
    booster.grow_policy = GrowPolicy::LossGuide;
    let evaluation = held.map(|h| vec![(h.matrix(), &h.y[..], &h.weights[..])]);
    booster
        .fit(&train.matrix(), &train.y, &train.weights, evaluation)
        .map_err(|e| refuse(e.to_string(), "none needed: the network does not depend on it"))?;
    Ok(Booster::Trees(Box::new(booster)))
}

/// Which rows are held out from which fit: those from `validation` on, or every fifth in turn where they are too few.
fn folds(n: usize, validation: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let start = n - validation.min(n);
    if n - start >= ENOUGH_HELD_OUT && start >= LEAST_ROWS {
        return vec![((0..start).collect(), (start..n).collect())];
    }
    (0..FOLDS).map(|f| (0..n).partition(|i| i % FOLDS != f)).collect()
}

/// Those that count: the crate takes no weights of 0.
fn counted(rows: Rows, mut chosen: Vec<usize>) -> Vec<usize> {
    chosen.retain(|&i| rows.weight(i) > 0.0);
    chosen
}

/// A booster of all rows, with as many trees as served best on rows held out, and the predictions of those rows: (row,
/// prediction by trees that had not seen it).
fn boost_and_hold_out(
    rows: Rows,
    y: &[f64],
    validation: usize,
    is_class: bool,
) -> Result<(Booster, Vec<(usize, f64)>)> {
    let one = |(train, held): (Vec<usize>, Vec<usize>)| -> Result<(usize, Vec<(usize, f64)>)> {
        let (train, held) = (counted(rows, train), counted(rows, held));
        let (train, out) = (Columns::of(rows, y, &train), Columns::of(rows, y, &held));
        let booster = boost(&train, Some(&out), is_class, MOST_TREES)?;
        let predicted = booster.predict(&out.matrix());
        Ok((booster.trees(), held.into_iter().zip(predicted).collect()))
    };
    let tried = folds(rows.n(), validation).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    let trees = tried.iter().map(|t| t.0).sum::<usize>().div_ceil(tried.len().max(1));
    let all = counted(rows, (0..rows.n()).collect());
    let booster = boost(&Columns::of(rows, y, &all), None, is_class, trees.max(1))?;
    Ok((booster, tried.into_iter().flat_map(|t| t.1).collect()))
}

impl Boosting {
    /// Fits numbers. The last `validation` rows choose the number of trees and give the error, where they are 50 or more;
    /// else every fifth row does in turn. All rows train the trees that predict.
    ///
    /// Errors (`Run`): fewer than 20 rows, lengths that disagree, values that are not finite.
    pub fn regression(rows: Rows, validation: usize) -> Result<Boosting> {
        check(rows, 0)?;
        let total: f64 = (0..rows.n()).map(|i| rows.weight(i)).sum();
        let mean_of = |f: &dyn Fn(usize) -> f64| (0..rows.n()).map(|i| rows.weight(i) / total * f(i)).sum::<f64>();
        let mean = mean_of(&|i| rows.y[i]);
        let sd = mean_of(&|i| (rows.y[i] - mean).powi(2)).sqrt();
        if !(mean.is_finite() && sd.is_finite()) {
            return Err(refuse("a target is too large to square", "rescale the data"));
        }
        // The crate computes gradients in f32.
        let unit = if sd > 0.0 { sd } else { 1.0 };
        let y: Vec<f64> = rows.y.iter().map(|y| (y - mean) / unit).collect();
        let (booster, held) = boost_and_hold_out(rows, &y, validation, false)?;
        let weight: f64 = held.iter().map(|(i, _)| rows.weight(*i)).sum();
        let square: f64 = held.iter().map(|(i, p)| rows.weight(*i) * (y[*i] - p).powi(2)).sum();
        let residual_sd = unit * (square / weight).sqrt().max(RELATIVE_SD_FLOOR);
        if !residual_sd.is_finite() {
            return Err(refuse("no row that counts was held out", "hold out more rows"));
        }
        Ok(Boosting { boosters: vec![booster], classes: 0, mean, sd: unit, residual_sd, d: rows.d })
    }

    /// Fits `classes` classes, one booster against the rest each (one for two). Rows and errors as in `regression`.
    pub fn classification(rows: Rows, classes: usize, validation: usize) -> Result<Boosting> {
        check(rows, classes)?;
        let of: Vec<usize> = if classes == 2 { vec![1] } else { (0..classes).collect() };
        let one = |&class: &usize| {
            let y: Vec<f64> = rows.y.iter().map(|&y| f64::from(u8::from(y as usize == class))).collect();
            Ok(boost_and_hold_out(rows, &y, validation, true)?.0)
        };
        let boosters = of.par_iter().map(one).collect::<Result<Vec<_>>>()?;
        Ok(Boosting { boosters, classes, mean: 0.0, sd: 1.0, residual_sd: f64::NAN, d: rows.d })
    }

    /// Of each booster, column after column.
    fn outputs(&self, x: &[f32], n: usize) -> Result<Vec<Vec<f64>>> {
        if n.checked_mul(self.d) != Some(x.len()) {
            let found = format!("{} values given for {n} rows of {} columns", x.len(), self.d);
            return Err(refuse(found, "give rows x columns values"));
        }
        let rows = Rows { x, y: &vec![0.0; n], weights: &[], d: self.d };
        let columns = Columns::of(rows, rows.y, &(0..n).collect::<Vec<_>>());
        Ok(self.boosters.iter().map(|b| b.predict(&columns.matrix())).collect())
    }

    /// Predicted means [n] of `x` [n, d], in y's unit.
    pub fn predict(&self, x: &[f32], n: usize) -> Result<Vec<f64>> {
        let outputs = self.outputs(x, n)?;
        Ok(outputs.into_iter().next().unwrap_or_default().into_iter().map(|v| self.mean + self.sd * v).collect())
    }

    /// Class probabilities [n, k] of `x` [n, d]: those of the boosters, divided by their sum.
    pub fn probabilities(&self, x: &[f32], n: usize) -> Result<Vec<f64>> {
        let of_class: Vec<Vec<f64>> = self.outputs(x, n)?;
        let probability = |odds: f64| 1.0 / (1.0 + libm::exp(-odds));
        let row = |i: usize| -> Vec<f64> {
            if self.classes == 2 {
                let p = probability(of_class[0][i]);
                return vec![1.0 - p, p];
            }
            let p: Vec<f64> = of_class.iter().map(|odds| probability(odds[i])).collect();
            // No class at all: as likely as each other.
            let sum: f64 = p.iter().sum();
            p.iter().map(|p| if sum > 0.0 { p / sum } else { 1.0 / self.classes as f64 }).collect()
        };
        Ok((0..n).flat_map(row).collect())
    }

    /// Standard deviation of the errors on rows that the trees had not seen, in y's unit; NaN for classes.
    pub fn residual_sd(&self) -> f64 {
        self.residual_sd
    }
}

#[cfg(test)]
#[path = "boosting_tests.rs"]
mod tests;
