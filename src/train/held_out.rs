//! Rows that are looked at in training but not trained on: shared by the ensemble, or a fold of the training rows for each
//! member.

use super::evaluate::{Predictor, Window};
use super::forward::Forward;
use super::plan::TrainingPlan;
use crate::data::Dataset;
use crate::error::Result;
use crate::exec::Device;
use crate::method::{ModelSpec, Predictive, Trained};
use crate::metrics::{self, weighted};
use crate::ops::gather::fold_start;
use rayon::prelude::*;
use std::sync::Arc;

/// `Own` of each lane of the plan.
pub(super) enum HeldOut {
    Shared { predictor: Box<Predictor>, rows: Dataset },
    Own(Vec<Folds>),
}

impl HeldOut {
    /// None without rows.
    pub fn shared(plan: &TrainingPlan, rows: &Dataset, device: &Device) -> Result<Option<HeldOut>> {
        if rows.n == 0 {
            return Ok(None);
        }
        let predictor = Predictor::new(&plan.setup.in_training(), device, plan.seed, rows.n)?;
        Ok(Some(HeldOut::Shared { predictor: Box::new(predictor), rows: rows.clone() }))
    }

    /// `train` = all rows, of which each member holds out its fold.
    pub fn own(plan: &TrainingPlan, train: &Dataset, device: &Device) -> Result<HeldOut> {
        let of = |lane: &TrainingPlan| Folds::new(&lane.setup.in_training(), lane.seed, train, device);
        plan.lanes().map(of).collect::<Result<_>>().map(HeldOut::Own)
    }

    /// By what all lanes predict with where members hold out their own rows, else by one lane's. Of each judge NLL and RMSE in the user's unit, or NLL and accuracy. Of several targets the means, each in units of its
    /// own sd.
    pub fn score(&mut self, trained: &Trained, target_sd: f64) -> Result<Vec<(f64, f64)>> {
        match self {
            HeldOut::Shared { predictor, rows } => {
                predictor.set(trained)?;
                Ok(vec![score_all(&predictor.predict_all(rows.inputs())?, rows, target_sd)])
            }
            HeldOut::Own(lanes) => {
                let score = |rows: &Dataset, p: &[Predictive]| score_all(p, rows, target_sd);
                if let [one] = &mut lanes[..] {
                    return one.each(trained, score);
                }
                let (of, mut all) = (lanes.len(), vec![]);
                for (at, folds) in lanes.iter_mut().enumerate() {
                    all.extend(folds.each(&trained.part(at..at + 1, of), score)?);
                }
                Ok(all)
            }
        }
    }
}

/// Means over the judges.
pub(super) fn mean(scores: &[(f64, f64)]) -> (f64, f64) {
    let n = scores.len() as f64;
    (scores.iter().map(|s| s.0).sum::<f64>() / n, scores.iter().map(|s| s.1).sum::<f64>() / n)
}

/// The fold of each member, and what predicts it by that member alone. The inputs stay where they are among the training rows.
pub(super) struct Folds {
    forward: Forward,
    /// Targets, names and weights; without inputs.
    rows: Vec<Dataset>,
}

impl Folds {
    pub fn new(setup: &ModelSpec, seed: u32, train: &Dataset, device: &Device) -> Result<Folds> {
        let known = Dataset { x: Arc::default(), ..train.clone() };
        let rows: Vec<Dataset> = (0..setup.members).map(|m| known.subset(&fold(setup, m, train.n))).collect();
        let window = |m| Window { x: train.x.clone(), first: fold(setup, m, train.n).first().copied().unwrap_or(0) };
        let windows: Vec<Window> = (0..setup.members).map(window).collect();
        let alone = ModelSpec { folds: 0, held_out: 0, first_member: 0, per_set: 1, ..setup.clone() };
        let forward = Forward::new(&alone, seed, device, &windows, setup.held_out as usize)?;
        Ok(Folds { forward, rows })
    }

    /// `of` the rows and predictives of each target, member by member.
    pub fn each<T: Send>(
        &mut self,
        trained: &Trained,
        of: impl Fn(&Dataset, &[Predictive]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let (rows, all) = (&self.rows, vec![true; self.rows.len()]);
        Ok(self.forward.each(trained, &all, |m, p| of(&rows[m], p))?.into_iter().flatten().collect())
    }
}

/// What is predicted of each of the rows `train` by the member that held it out, of each target in standardised units; an
/// honest prediction of every row. Of a plan with folds.
pub fn out_of_fold(
    plan: &TrainingPlan,
    trained: &Trained,
    train: &Dataset,
    device: &Device,
) -> Result<Vec<Predictive>> {
    let setup = &plan.setup;
    let by_fold = Folds::new(setup, plan.seed, train, device)?.each(trained, |_, p| p.to_vec())?;
    let start = |fold: u32| fold_start(fold, setup.folds.max(1), train.n as u32) as usize;
    let from: Vec<(usize, usize)> =
        (0..setup.folds).flat_map(|f| (0..start(f + 1) - start(f)).map(move |row| (f as usize, row))).collect();
    let of_target = |at: usize| {
        let all: Vec<&Predictive> = by_fold.iter().filter_map(|targets| targets.get(at)).collect();
        Predictive::gather(&all, &from)
    };
    Ok((0..setup.targets as usize).map(of_target).collect())
}

/// Places of the rows among all `rows` that member m holds out.
fn fold(setup: &ModelSpec, m: u32, rows: usize) -> Vec<usize> {
    let start = fold_start(m % setup.folds.max(1), setup.folds.max(1), rows as u32) as usize;
    (0..setup.held_out as usize).map(|i| (start + i) % rows).collect()
}

/// The negative log-likelihood of each of the rows [n], in the units of `score`; of several targets the mean, each in units of
/// its own sd.
pub(super) fn row_nll(predictives: &[Predictive], rows: &Dataset, target_sd: f64) -> Vec<f64> {
    let of = predictives.len();
    let shift = if of == 1 { libm::log(target_sd) } else { 0.0 };
    let one = |row: usize| {
        let of_target = |(at, predictive): (usize, &Predictive)| {
            let y = rows.y[row * of + at];
            match predictive {
                Predictive::Regression(r) => shift - r.log_density(row, f64::from(y)),
                Predictive::Classification(c) => metrics::nll(&c.probs[row * c.k..][..c.k], &[y as usize], c.k),
            }
        };
        predictives.iter().enumerate().map(of_target).sum::<f64>() / of as f64
    };
    (0..rows.n).into_par_iter().map(one).collect()
}

fn score_all(predictives: &[Predictive], rows: &Dataset, target_sd: f64) -> (f64, f64) {
    if let [one] = predictives {
        return score(one, target_sd, &rows.y, &rows.weights);
    }
    let of = predictives.len();
    let each: Vec<(f64, f64)> = predictives
        .iter()
        .enumerate()
        .map(|(at, predictive)| {
            let y: Vec<f32> = rows.y.iter().skip(at).step_by(of).copied().collect();
            score(predictive, 1.0, &y, &rows.weights)
        })
        .collect();
    mean(&each)
}

/// NLL and RMSE in the user's unit, or NLL and accuracy; `y` is standardised or holds class indices. Rows count by `weights`
/// [n], or alike where there are none.
pub(super) fn score(predictive: &Predictive, target_sd: f64, y: &[f32], weights: &[f32]) -> (f64, f64) {
    match predictive {
        Predictive::Regression(r) => {
            let y: Vec<f64> = y.iter().map(|&v| v as f64).collect();
            let squares = r.mean.iter().zip(&y).map(|(m, y)| (m - y).powi(2));
            (r.weighted_nll(&y, weights) + libm::log(target_sd), weighted::mean(squares, weights).sqrt() * target_sd)
        }
        Predictive::Classification(c) => {
            let y: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            if weights.is_empty() {
                return (metrics::nll(&c.probs, &y, c.k), metrics::accuracy(&c.probs, &y, c.k));
            }
            let of = |f: fn(&[f64], &[usize], usize) -> f64| {
                weighted::mean(c.probs.chunks_exact(c.k).zip(&y).map(|(p, y)| f(p, &[*y], c.k)), weights)
            };
            (of(metrics::nll), of(metrics::accuracy))
        }
    }
}
