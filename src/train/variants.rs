//! Variants of one training (`train.variants`): plans that are trained beside each other, each with members of the same folds,
//! and the choice of one by what its members predict of the rows that they held out (MATH.md section 7).

use super::held_out::{out_of_fold, row_nll};
use super::plan::TrainingPlan;
use crate::data::Dataset;
use crate::error::{Error, Result, either};
use crate::exec::Device;
use crate::method::Trained;
use crate::metrics::weighted;
use crate::ops::gather::fold_start;
use crate::recipe::{Recipe, key, variant_place};

/// The plan of a recipe: `of` it, or where it has variants that of the first, with the plans of all inside.
pub(super) fn plan(recipe: &Recipe, of: impl Fn(&Recipe) -> Result<TrainingPlan>) -> Result<TrainingPlan> {
    let recipes = recipe.variants("recipe")?;
    let mut all: Vec<TrainingPlan> = vec![];
    for (i, (recipe, text)) in recipes.iter().zip(recipe.variant_texts()).enumerate() {
        let place = variant_place(&key!(train.variants).said(), i);
        let plan = of(recipe).map_err(|e| e.within(&place))?;
        let found = match all.first().and_then(|first| difference(first, &plan)) {
            Some(what) => format!("\"{text}\" changes {what}"),
            None => match all.iter().position(|other| *other == plan) {
                Some(same) => format!("\"{text}\" is the same training as variant {}", same + 1),
                None => {
                    all.push(plan);
                    continue;
                }
            },
        };
        let allowed = "variants that differ, with the same method, members, weights, optimizer, precision, batches, epochs and patience";
        return Err(Error::usage(
            place,
            found,
            allowed,
            either(
                "train it as a run of its own, and `vifo compare` the two",
                "train it as a run of its own, and compare the two",
            ),
        ));
    }
    for (plan, text) in all.iter_mut().zip(recipe.variant_texts()) {
        plan.variant.clone_from(text);
    }
    match all.first() {
        None => of(recipe),
        Some(first) => Ok(TrainingPlan { variant: String::new(), variants: all.clone(), ..first.clone() }),
    }
}

/// What two variants must share to be trained step by step beside each other, in one checkpoint; the first that differs.
fn difference(a: &TrainingPlan, b: &TrainingPlan) -> Option<&'static str> {
    let (s, t) = (&a.setup, &b.setup);
    let of_weights = |p: &TrainingPlan| (p.setup.layout(), p.setup.member_len(), p.setup.running_len());
    let same = [
        ("the method", s.method.name() == t.method.name()),
        ("the number of members", s.members == t.members),
        ("the weights of the network", of_weights(a) == of_weights(b)),
        ("the optimizer", (s.optimizer, s.warm) == (t.optimizer, t.warm)),
        ("the precision", s.stepping.half == t.stepping.half),
        ("the batches", (s.n_rows, s.folds, s.batch_rows()) == (t.n_rows, t.folds, t.batch_rows())),
        ("the epochs", a.epochs == b.epochs),
        ("the patience", a.patience == b.patience),
        ("the evaluations", a.train.evaluate_every == b.train.evaluate_every),
        ("what is watched", a.train.watch_test == b.train.watch_test),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}

impl TrainingPlan {
    /// The plans that are trained beside each other: those of the variants, or this one alone.
    pub fn lanes(&self) -> impl Iterator<Item = &TrainingPlan> {
        self.variants.iter().chain(self.variants.is_empty().then_some(self))
    }

    /// How many there are.
    pub fn n_lanes(&self) -> usize {
        self.variants.len().max(1)
    }

    /// The one at place `at` of `lanes`.
    pub fn lane(&self, at: usize) -> &TrainingPlan {
        self.variants.get(at).unwrap_or(self)
    }

    /// Members of all lanes together.
    pub fn all_members(&self) -> usize {
        self.setup.members as usize * self.n_lanes()
    }

    /// Judges (`ModelSpec::judges`) of all lanes together.
    pub(super) fn all_judges(&self) -> usize {
        self.setup.judges() * self.n_lanes()
    }
}

/// Which of the variants predicts, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Its place among them.
    pub chosen: usize,
    /// In their order.
    pub variants: Vec<VariantScore>,
}

/// How well the members of a variant predict the rows that they held out.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantScore {
    /// Its keys, as the recipe has them.
    pub keys: String,
    /// Mean over the training rows, in the user's unit; of several targets the mean, each in units of its own sd. None where
    /// training broke off, for its loss was no number any more.
    pub nll: Option<f64>,
    /// How much more that is than the chosen one's, row by row, and the standard error of it.
    pub difference: Option<(f64, f64)>,
}

/// The first variant, in their order, whose out-of-fold NLL is within a standard error of the best one's. `trained` = the
/// weights to predict with of each, None of those that broke off; `train` = all rows; `target_sd` as `score` takes it.
pub(super) fn choose(
    plan: &TrainingPlan,
    trained: &[Option<Trained>],
    (train, target_sd): (&Dataset, f64),
    device: &Device,
) -> Result<Choice> {
    let mut rows: Vec<Option<Vec<f64>>> = vec![];
    for (lane, trained) in plan.lanes().zip(trained) {
        let Some(trained) = trained else {
            rows.push(None);
            continue;
        };
        let each = row_nll(&out_of_fold(lane, trained, train, device)?, train, target_sd);
        rows.push(Some(each).filter(|each| mean(each, train).is_finite()));
    }
    let means: Vec<Option<f64>> = rows.iter().map(|r| r.as_ref().map(|r| mean(r, train))).collect();
    let known = means.iter().enumerate().filter_map(|(v, mean)| Some((v, (*mean)?)));
    let Some((best, _)) = known.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(Error::run(
            key!(train.variants).said(),
            "no variant predicts the rows that it held out with a finite likelihood",
            plan.help(),
        ));
    };
    let to = |other: usize, v: usize| -> Option<(f64, f64)> {
        let (a, b) = (rows[v].as_ref()?, rows[other].as_ref()?);
        let each: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Some(paired(&each, &train.weights, plan.setup.folds))
    };
    let is_tie = |v: &usize| to(best, *v).is_some_and(|(difference, error)| difference <= error);
    let chosen = (0..rows.len()).find(is_tie).unwrap_or(best);
    let score = |(v, lane): (usize, &TrainingPlan)| VariantScore {
        keys: lane.variant.clone(),
        nll: means[v],
        difference: to(chosen, v),
    };
    Ok(Choice { chosen, variants: plan.lanes().enumerate().map(score).collect() })
}

fn mean(values: &[f64], rows: &Dataset) -> f64 {
    weighted::mean(values.iter().copied(), &rows.weights)
}

/// Mean of the differences between two variants on the rows of `folds` folds, and its standard error: the larger of two.
/// That over rows takes each row for a draw of its own. Rows of one fold share the two trainings that are compared, whose
/// chance is in all of them: that over folds takes each fold for one draw.
fn paired(differences: &[f64], weights: &[f32], folds: u32) -> (f64, f64) {
    let n = differences.len();
    let weight = |i: usize| weights.get(i).map_or(1.0, |w| f64::from(*w));
    let mean = weighted::mean(differences.iter().copied(), weights);
    let counts = || (0..n).filter(|i| weight(*i) != 0.0);
    let total: f64 = counts().map(weight).sum();
    let error = |sums: &[f64]| {
        let m = sums.len() as f64;
        (sums.iter().map(|s| s * s).sum::<f64>() * m / (m - 1.0).max(1.0)).sqrt() / total
    };
    let off = |i: usize| weight(i) * (differences[i] - mean);
    let by_row: Vec<f64> = counts().map(off).collect();
    let start = |fold: u32| fold_start(fold, folds.max(1), n as u32) as usize;
    let of_fold = |fold: u32| (start(fold)..start(fold + 1)).filter(|i| weight(*i) != 0.0).map(off).sum::<f64>();
    let by_fold: Vec<f64> = (0..folds).map(of_fold).collect();
    (mean, error(&by_row).max(error(&by_fold)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the textbook's formulas: s / sqrt(n) over rows, and the same over the means of folds of equal size.
    #[test]
    fn the_standard_error_is_the_larger_of_rows_and_folds() {
        let textbook = |v: &[f64]| {
            let (n, mean) = (v.len() as f64, v.iter().sum::<f64>() / v.len() as f64);
            (v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt()
        };
        // Rows alike within a fold: the folds decide. Rows that differ within folds of equal means: the rows do.
        for (rows, by_fold) in [
            ([1.0, 1.1, 0.9, 3.0, 3.1, 2.9, -1.0, -1.1, -0.9], true),
            ([1.0, -2.0, 4.0, -2.0, 4.0, 1.0, 4.0, 1.0, -2.0], false),
        ] {
            let folds: Vec<f64> = rows.chunks(3).map(|f| f.iter().sum::<f64>() / 3.0).collect();
            let (mean, error) = paired(&rows, &[], 3);
            assert!((mean - rows.iter().sum::<f64>() / 9.0).abs() < 1e-15);
            let (a, b) = (textbook(&rows), textbook(&folds));
            assert_eq!(b > a, by_fold);
            assert!((error - a.max(b)).abs() < 1e-14, "{error}, {a}, {b}");
            // Weights that are all alike are none, and rows of weight 0 may hold anything.
            let (same, weighed) = paired(&rows, &[2.0; 9], 3);
            assert!((same - mean).abs() < 1e-15 && (weighed - error).abs() < 1e-14);
            let mut wild = rows;
            wild[4] = f64::INFINITY;
            let mut weights = [1.0; 9];
            weights[4] = 0.0;
            let (mean, error) = paired(&wild, &weights, 3);
            assert!(mean.is_finite() && error.is_finite());
        }
    }
}
