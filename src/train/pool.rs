//! How sure an ensemble is whose members hold out their own rows (Gneiting and Ranjan 2013, "Combining predictive
//! distributions": a linear pool of calibrated forecasts is too wide, and an adjusted one need not be).
//!
//! Regression. Each member's error bars hold for its own errors, which its fold shows. The pool adds the distance between the members to
//! them, though the mean of the members errs less than each. So what is said of a row is drawn together about its mean by one
//! factor s = sqrt(1 - mean(A / V)) q^w, with A the variance between the members' means and V the pool's variance, so that a pool
//! is as wide as its members are; q the factor by which the members' 90 % intervals hold 90 % of the rows that they held out;
//! and w = n / (n + 300) for n such rows, as a quantile of few rows is no more than a hint. One factor for all rows, so that
//! rows far from the data stay as much wider than the others as they are.
//!
//! Classes. The same with entropies in place of variances: the average's probabilities are taken to the power (q H / A)^w,
//! H their mean entropy and A the members' own, 1/q the temperature at which the members' probabilities have the least NLL on the
//! rows that they held out, and w = n / (n + 1000).

use super::held_out::out_of_fold;
use super::plan::TrainingPlan;
use crate::data::{Dataset, Task};
use crate::error::Result;
use crate::exec::Device;
use crate::method::predictive::Classification;
use crate::method::{ModelSpec, Named, Predictive, Regression, Row, SHARPNESS, SPREAD, Trained};
use crate::metrics::temperature;
use crate::train::Predictor;
use rayon::prelude::*;

/// Rows that are looked at; a share of the larger sets says the same.
const ENOUGH: usize = 4096;
/// As far as the members' own error bars may be from their errors before something else is wrong with them.
const Q: (f64, f64) = (0.8, 1.25);

/// Rows that count half.
const HALF: f64 = 300.0;
/// Of classes, where on small easy sets no row that was held out is wrong and one test row may be.
const HALF_OF_CLASSES: f64 = 1000.0;

/// Whether a training of it ends so.
pub(crate) fn applies(setup: &ModelSpec) -> bool {
    setup.folds > 1 && setup.members > 1
}

/// `trained` with the factor of each target [E, targets], or with the exponents of the classes [E, 2], where it `applies`;
/// `train` = the rows that training saw.
pub(super) fn adjust(plan: &TrainingPlan, mut trained: Trained, train: &Dataset, device: &Device) -> Result<Trained> {
    if !applies(&plan.setup) || train.n == 0 {
        return Ok(trained);
    }
    let alone = out_of_fold(plan, &trained, train, device)?;
    let every = train.n.div_ceil(ENOUGH);
    let some: Vec<usize> = (0..train.n).step_by(every).collect();
    let mut predictor = Predictor::new(&plan.setup, device, plan.seed, some.len())?;
    predictor.set(&trained)?;
    let pool = predictor.predict_all(train.subset(&some).inputs())?;
    let (targets, members) = (plan.setup.targets as usize, plan.setup.members as usize);
    let y = |at: usize| move |row: &usize| f64::from(train.y[row * targets + at]);
    let (name, each) = match (&alone[0], &pool[0], plan.setup.task) {
        (Predictive::Classification(alone), Predictive::Classification(pool), Task::Classification) => {
            let classes: Vec<usize> = train.y.iter().map(|y| *y as usize).collect();
            (SHARPNESS, exponents(pool, alone, &classes).map(|v| v as f32).to_vec())
        }
        _ => {
            let of_target = |at: usize| match (&alone[at], &pool[at]) {
                (Predictive::Regression(alone), Predictive::Regression(pool)) => {
                    let y: Vec<f64> = some.iter().map(y(at)).collect();
                    factor(pool, alone, &some, &y) as f32
                }
                _ => 1.0,
            };
            (SPREAD, (0..targets).map(of_target).collect())
        }
    };
    trained.posterior.retain(|p| p.name != name);
    let shape = vec![members, each.len()];
    trained.posterior.push(Named { name: name.into(), shape, values: each.repeat(members) });
    Ok(trained)
}

/// By the members' agreement and by their folds; `pool` = what all members say of some rows, `alone` = of all rows what those say
/// that held them out, `classes` = of all rows.
fn exponents(pool: &Classification, alone: &Classification, classes: &[usize]) -> [f64; 2] {
    let (total, own) = (pool.total.iter().sum::<f64>(), pool.aleatoric.iter().sum::<f64>());
    // A pool of any entropy at all has members with some.
    let agreement = if own > 0.0 { (total / own).clamp(1.0, 4.0) } else { 1.0 };
    let q = temperature::fit(&alone.probs, classes, alone.k).map_or(1.0, |t| 1.0 / t.value);
    let n = classes.len() as f64;
    [agreement, q.clamp(Q.0, Q.1)].map(|v| libm::pow(v, n / (n + HALF_OF_CLASSES)))
}

/// `pool` = what all members say of the rows `some`; `alone` = of all rows what those say that held them out; y of `some`. In
/// standardised units.
fn factor(pool: &Regression, alone: &Regression, some: &[usize], y: &[f64]) -> f64 {
    let n = some.len();
    let between = (0..n).map(|i| {
        let means = pool.member_means.iter().skip(i).step_by(n);
        let variance = means.clone().map(|m| (m - pool.mean[i]).powi(2)).sum::<f64>() / means.len().max(1) as f64;
        let all = pool.aleatoric[i] + pool.epistemic[i];
        if all > 0.0 { (variance / all).clamp(0.0, 1.0) } else { 0.0 }
    });
    let share = between.sum::<f64>() / n.max(1) as f64;
    let rows: Vec<(Row, f64, f64)> = some.iter().zip(y).map(|(i, y)| (alone.row(*i), alone.mean[*i], *y)).collect();
    let inside = |q: f64| {
        let holds = |(row, mean, y): &&(Row, f64, f64)| (0.05..=0.95).contains(&row.cdf(mean + (y - mean) / q));
        rows.par_iter().filter(holds).count() as f64 >= 0.9 * n as f64
    };
    // The least q whose intervals hold enough; they hold more the wider they are.
    let (mut low, mut high) = Q;
    for _ in 0..12 {
        let middle = (low + high) / 2.0;
        if inside(middle) { high = middle } else { low = middle }
    }
    let weight = n as f64 / (n as f64 + HALF);
    (1.0 - share).max(0.25).sqrt() * libm::pow(high, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members about 0, `apart` from each other, both with noise of variance 1.
    fn pool(n: usize, apart: f64) -> Regression {
        let normals = |m: f64| Regression::normals(vec![m; n], &vec![1.0; n], vec![1.0; n], vec![0.0; n]);
        let mut all = normals(0.0);
        let (a, b) = (normals(-apart / 2.0), normals(apart / 2.0));
        all.parts = a.parts.iter().zip(&b.parts).flat_map(|(a, b)| [*a, *b]).collect();
        all.member_means = [a.mean, b.mean].concat();
        all.epistemic = vec![apart * apart / 4.0; n];
        all
    }

    /// y such that the 90 % interval of a member of sd 1 about 0 holds 90 % of them if it is stretched by `q`.
    fn targets(n: usize, q: f64) -> Vec<f64> {
        (0..n).map(|i| q * crate::metrics::normal_quantile((i as f64 + 0.5) / n as f64)).collect()
    }

    #[test]
    fn a_pool_of_calibrated_members_becomes_as_wide_as_they_are() {
        let (n, some) = (1000, (0..1000).collect::<Vec<_>>());
        let alone = Regression::normals(vec![0.0; n], &vec![1.0; n], vec![1.0; n], vec![0.0; n]);
        for (apart, q) in [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, 0.9), (1.0, 1.1)] {
            let s = factor(&pool(n, apart), &alone, &some, &targets(n, q));
            let between = apart * apart / 4.0;
            let expected = (1.0 / (1.0 + between)).sqrt() * libm::pow(q, 1000.0 / 1300.0);
            // The least q is found between two rows: half a row of 1000 is 0.0005 / (1.645 density(1.645)) = 0.003 of it.
            assert!((s - expected).abs() < 3e-3, "{apart} {q}: {s} is not {expected}");
        }
    }

    /// Two members that say p and 1 - p, or both p, of classes drawn by p.
    fn classes(n: usize, p: f64, apart: bool) -> (Classification, Vec<usize>) {
        let pair = |p: f64| [p, 1.0 - p].repeat(n);
        let entropy = |p: f64| -p * libm::log(p) - (1.0 - p) * libm::log(1.0 - p);
        let average = if apart { 0.5 } else { p };
        let (total, own) = (entropy(average), entropy(p));
        let pool = Classification {
            k: 2,
            probs: pair(average),
            total: vec![total; n],
            aleatoric: vec![own; n],
            epistemic: vec![total - own; n],
            by_folds: None,
        };
        (pool, (0..n).map(|i| usize::from(i as f64 >= p * n as f64)).collect())
    }

    #[test]
    fn classes_become_as_sure_as_the_members_are() {
        let entropy = |p: f64| -p * libm::log(p) - (1.0 - p) * libm::log(1.0 - p);
        let (apart, y) = classes(1000, 0.9, true);
        let (alone, _) = classes(1000, 0.9, false);
        let [agreement, folds] = exponents(&apart, &alone, &y);
        assert!(
            (agreement - (libm::log(2f64) / entropy(0.9)).sqrt()).abs() < 1e-9 && folds == 1.0,
            "{agreement} {folds}"
        );
        // Members that say 0.87 of what is so in 0.9 of the rows: (0.9 / 0.1) = (0.87 / 0.13)^q.
        let (meek, _) = classes(1000, 0.87, false);
        let [agreement, folds] = exponents(&meek, &meek, &y);
        let q = libm::log(9f64) / libm::log(87f64 / 13.0);
        assert!((agreement - 1.0).abs() < 1e-9 && (folds - q.sqrt()).abs() < 1e-6, "{agreement} {folds}");
        // A pool without a doubt.
        let (sure, y) = classes(10, 1.0 - 1e-300, false);
        let [agreement, folds] = exponents(&Classification { aleatoric: vec![0.0; 10], ..sure.clone() }, &sure, &y);
        assert!(agreement == 1.0 && folds.is_finite());
    }

    #[test]
    fn few_rows_and_wild_targets_move_it_little() {
        let alone = Regression::normals(vec![0.0; 10], &[1.0; 10], vec![1.0; 10], vec![0.0; 10]);
        let some: Vec<usize> = (0..10).collect();
        let s = factor(&pool(10, 0.0), &alone, &some, &[100.0; 10]);
        assert!(s > 1.0 && s < 1.01, "{s}");
    }
}
