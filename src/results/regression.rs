//! The metrics of a regression.

use crate::data::Dataset;
use crate::error::Result;
use crate::method::predictive::Regression;
use crate::metrics::{self, normal_quantile, weighted};
use crate::results::against::{LINEAR, Losses, Rival, TREES};
use crate::results::kind::{Better, MetricKind, Shown, Unit};
use crate::results::uncertain::{Uncertain, error_of, error_of_mean, error_of_share, few_rows};
use crate::results::words::{against_constant, all_alike, coverage_verdict};
use crate::results::{Baselines, Metric, Results};
use rayon::prelude::*;

/// Nominal levels of the central intervals in tables.
pub const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// How a metric is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Rmse,
    Nll,
    Crps,
    /// Of the interval at this place among `LEVELS`.
    Coverage(usize),
    Width(usize),
    AleatoricSd,
    EpistemicSd,
}

/// In the order of the tables.
pub(super) const METRICS: [(By, MetricKind); 11] = {
    use Better::{Lower, Neither};
    use Shown::{Always, OfEachTarget, WhenAsked};
    use Unit::{Nats, None, OfTarget};
    [
        (By::Rmse, MetricKind::new("rmse", OfTarget, Lower, OfEachTarget)),
        (By::Nll, MetricKind::new("nll", Nats, Lower, OfEachTarget)),
        (By::Crps, MetricKind::new("crps", OfTarget, Lower, Always)),
        (By::Coverage(0), MetricKind::new("coverage_50", None, Neither, WhenAsked)),
        (By::Width(0), MetricKind::new("width_50", OfTarget, Neither, WhenAsked)),
        (By::Coverage(1), MetricKind::new("coverage_90", None, Neither, OfEachTarget)),
        (By::Width(1), MetricKind::new("width_90", OfTarget, Neither, WhenAsked)),
        (By::Coverage(2), MetricKind::new("coverage_95", None, Neither, WhenAsked)),
        (By::Width(2), MetricKind::new("width_95", OfTarget, Neither, WhenAsked)),
        (By::AleatoricSd, MetricKind::new("mean_aleatoric_sd", OfTarget, Neither, WhenAsked)),
        (By::EpistemicSd, MetricKind::new("mean_epistemic_sd", OfTarget, Neither, WhenAsked)),
    ]
};

/// Predictions and targets `y` in the user's unit; `x` are the standardised rows for the baselines, with their weights.
pub fn regression(
    p: &Regression,
    y: &[f64],
    x: &Dataset,
    baselines: Option<&Baselines>,
    unit: &str,
) -> Result<Results> {
    let (n, w) = (y.len(), &x.weights[..]);
    let mut out = ours(p, y, w, unit);
    let squares = |mean: &[f64]| -> Vec<f64> { mean.iter().zip(y).map(|(m, y)| (m - y).powi(2)).collect() };
    let surprises = y.iter().enumerate().map(|(i, y)| -p.log_density(i, *y)).collect();
    let losses = Losses { point: squares(&p.mean), nll: surprises };
    let gaussian = |mean: &[f64], sd: f64| Losses {
        point: squares(mean),
        nll: mean.iter().zip(y).map(|(m, y)| metrics::gaussian_nll(&[*m], &[*y], sd)).collect(),
    };
    let mut notes = vec![];
    let (mut line, mut trees) = (None, None);
    if let Some(b) = baselines {
        let constant = vec![b.constant.mean; n];
        beside(&mut out, &constant, b.constant.sd, y, w, |m| &mut m.constant);
        match &b.linear {
            Ok(linear) => {
                let (mean, sd) = (linear.predict(&x.x, n)?, linear.residual_sd());
                beside(&mut out, &mean, sd, y, w, |m| &mut m.least_squares);
                let losses = gaussian(&mean, sd);
                line = Some(Rival { name: "ordinary least squares", advice: LINEAR, of: |m| m.least_squares, losses });
            }
            Err(why) => notes.push(format!("ordinary least squares {why}")),
        }
        match &b.boosting {
            Some(Ok(boosted)) => {
                let (mean, sd) = (boosted.predict(&x.x, n)?, boosted.residual_sd());
                beside(&mut out, &mean, sd, y, w, |m| &mut m.boosting);
                let losses = gaussian(&mean, sd);
                trees = Some(Rival { name: "gradient boosting", advice: TREES, of: |m| m.boosting, losses });
            }
            Some(Err(why)) => notes.push(format!("gradient boosting {why}")),
            None => {}
        }
    }
    let said = weighted::effective_rows(n, w);
    notes.extend(all_alike(&p.mean));
    notes.extend(against_constant(&out, said, "rmse"));
    notes.extend(line.and_then(|r| r.does_better(&out, "rmse", &losses, w)));
    notes.extend(trees.and_then(|r| r.does_better_in_part(&out, "rmse", &losses, w)));
    notes.extend(coverage_verdict(&out, said));
    let rmse = metrics::rmse(&p.mean, y);
    // The errors are those of plain means.
    notes.extend(
        w.is_empty()
            .then(|| {
                few_rows(
                    said,
                    &[
                        // Of a root: half the relative error of what stands under it.
                        Uncertain::relative("rmse", unit, rmse, error_of_mean(&losses.point) / (2.0 * rmse * rmse)),
                        Uncertain::plain("nll", "nats", p.nll(y), error_of_mean(&losses.nll)),
                        Uncertain::share("coverage_90", out.iter().find(|m| m.name == "coverage_90"), said),
                    ],
                )
            })
            .flatten(),
    );
    notes.extend((!w.is_empty()).then(|| "rows count by their weights in all of these figures".into()));
    Ok(Results { set: "test".into(), rows: n, metrics: out, notes, variants: vec![] })
}

/// The metrics of the network's own predictions.
fn ours(p: &Regression, y: &[f64], w: &[f32], unit: &str) -> Vec<Metric> {
    // Row by row on all cores; the means below are summed in the order of the rows.
    let of_row = |(i, y): (usize, &f64)| {
        let row = p.row(i);
        let tails = LEVELS.map(|level| (1.0 - level) / 2.0);
        (row.crps(*y), tails.map(|tail| (row.quantile(tail), row.quantile(1.0 - tail))))
    };
    let (crps, intervals): (Vec<f64>, Vec<[(f64, f64); LEVELS.len()]>) = y.par_iter().enumerate().map(of_row).unzip();
    let ends = |at: usize| -> (Vec<f64>, Vec<f64>) { intervals.iter().map(|of_row| of_row[at]).unzip() };
    let mean_sd = |v: &[f64]| weighted::mean(v.iter().map(|v| v.sqrt()), w);
    let value = |by: By| match by {
        By::Rmse => weighted_rmse(&p.mean, y, w),
        By::Nll => p.weighted_nll(y, w),
        By::Crps => weighted::mean(crps.iter().copied(), w),
        By::Coverage(at) => {
            let (low, high) = ends(at);
            weighted::mean(inside(&low, &high, y), w)
        }
        By::Width(at) => {
            let (low, high) = ends(at);
            weighted::mean(widths(&low, &high), w)
        }
        By::AleatoricSd => mean_sd(&p.aleatoric),
        By::EpistemicSd => mean_sd(&p.epistemic),
    };
    let error = |by: By| match by {
        By::Rmse => {
            // Of a root: half the relative error of what stands under it.
            let squares: Vec<f64> = p.mean.iter().zip(y).map(|(m, y)| (m - y).powi(2)).collect();
            let rmse = weighted_rmse(&p.mean, y, w);
            error_of(&squares, w).map(|e| e / (2.0 * rmse)).filter(|e| e.is_finite())
        }
        By::Nll => error_of(&y.iter().enumerate().map(|(i, y)| -p.log_density(i, *y)).collect::<Vec<_>>(), w),
        By::Crps => error_of(&crps, w),
        By::Coverage(_) => {
            Some(error_of_share(value(by), weighted::effective_rows(y.len(), w))).filter(|e| e.is_finite())
        }
        By::Width(at) => {
            let (low, high) = ends(at);
            error_of(&widths(&low, &high).collect::<Vec<_>>(), w)
        }
        By::AleatoricSd => error_of(&p.aleatoric.iter().map(|v| v.sqrt()).collect::<Vec<_>>(), w),
        By::EpistemicSd => error_of(&p.epistemic.iter().map(|v| v.sqrt()).collect::<Vec<_>>(), w),
    };
    METRICS.iter().map(|(by, kind)| Metric { error: error(*by), ..kind.of(value(*by), unit) }).collect()
}

fn weighted_rmse(mean: &[f64], y: &[f64], weights: &[f32]) -> f64 {
    weighted::mean(mean.iter().zip(y).map(|(m, y)| (m - y).powi(2)), weights).sqrt()
}

/// 1 for each row whose target lies in its closed interval.
fn inside<'a>(low: &'a [f64], high: &'a [f64], y: &'a [f64]) -> impl ExactSizeIterator<Item = f64> + 'a {
    low.iter().zip(high).zip(y).map(|((low, high), y)| match low.is_nan() || high.is_nan() || y.is_nan() {
        true => f64::NAN,
        false => f64::from(u8::from(low <= y && y <= high)),
    })
}

fn widths<'a>(low: &'a [f64], high: &'a [f64]) -> impl ExactSizeIterator<Item = f64> + 'a {
    low.iter().zip(high).map(|(low, high)| high - low)
}

/// Puts those of a Gaussian with one sd for all rows beside ours, `out`, which are in the order of `METRICS`.
fn beside(
    out: &mut [Metric],
    mean: &[f64],
    sd: f64,
    y: &[f64],
    w: &[f32],
    place: impl Fn(&mut Metric) -> &mut Option<f64>,
) {
    let pairs = || mean.iter().zip(y);
    let half = |at: usize| normal_quantile(0.5 + (LEVELS[at] * 100.0).round() / 200.0) * sd;
    let crps = |m: f64, y: f64| metrics::Mixture { weights: &[1.0], means: &[m], vars: &[sd * sd] }.crps(y);
    let value = |by: By| match by {
        By::Rmse => Some(weighted_rmse(mean, y, w)),
        By::Nll => Some(weighted::mean(pairs().map(|(m, y)| metrics::gaussian_nll(&[*m], &[*y], sd)), w)),
        By::Crps => Some(weighted::mean(pairs().map(|(m, y)| crps(*m, *y)), w)),
        By::Coverage(at) => {
            let half = half(at);
            Some(weighted::mean(pairs().map(|(m, y)| f64::from(u8::from((y - m).abs() <= half))), w))
        }
        By::Width(at) => Some(2.0 * half(at)),
        By::AleatoricSd | By::EpistemicSd => None,
    };
    for (m, (by, _)) in out.iter_mut().zip(&METRICS) {
        if let Some(value) = value(*by) {
            *place(m) = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line through the origin, and a network that gives zero with the same sd.
    #[test]
    fn least_squares_that_do_better_are_named() {
        let n = 60;
        let line: Vec<f64> = (0..n).map(|i| libm::sin(f64::from(i) * 0.7)).collect();
        let y: Vec<f64> = line.iter().enumerate().map(|(i, x)| 3.0 * x + 0.1 * libm::cos(i as f64 * 1.9)).collect();
        let x = Dataset {
            x: line.iter().map(|x| *x as f32).collect::<Vec<_>>().into(),
            y: vec![0.0; 60],
            n: 60,
            d: 1,
            ..Default::default()
        };
        let baselines = Baselines::fit(&x, &y, 10, crate::recipe::Boosting::Off).expect("no stop");
        let notes = |mean: Vec<f64>, var: f64| {
            let p = Regression::normals(mean, &[var; 60], vec![var; 60], vec![0.0; 60]);
            regression(&p, &y, &x, Some(&baselines), "m").expect("metrics").notes.join("\n")
        };
        let worse = notes(vec![0.0; 60], 4.0);
        assert!(worse.contains("ordinary least squares does better on these rows (rmse 0.0"), "{worse}");
        let as_good = notes(line.iter().map(|x| 3.0 * x).collect(), 0.005);
        assert!(!as_good.contains("does better"), "{as_good}");
    }
}
