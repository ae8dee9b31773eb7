//! The numbers of an evaluation: each metric of MATH.md section 7 beside a constant predictor and ordinary least squares.

mod uncertain;

use self::uncertain::{Uncertain, error_of_mean, few_rows};
use super::tables::{apart, number};
use crate::data::Dataset;
use crate::error::Result;
use crate::method::predictive::{Classification, Regression};
use crate::metrics::{self, ConstantModel, LinearModel, Measure, normal_quantile};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// "rmse", "nll", ...: the key in results.json and in tables.
    pub name: String,
    /// Empty for pure numbers.
    pub unit: String,
    pub value: Measure,
    /// The same after `vifo calibrate`, where the run is calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<f64>,
    /// Of a predictor that always gives the training mean and sd, or the class shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// Of ordinary least squares with the training residual's sd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_squares: Option<f64>,
    /// For comparisons: whether more is better, less is better, or neither.
    pub better: Better,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// "test", "shift", "ood".
    pub set: String,
    pub rows: usize,
    pub metrics: Vec<Metric>,
    pub notes: Vec<String>,
}

impl Results {
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).and_then(|m| m.value.value())
    }
}

pub(super) fn metric(name: &str, unit: &str, value: f64, better: Better) -> Metric {
    Metric {
        name: name.into(),
        unit: unit.into(),
        value: Measure::Value(value),
        calibrated: None,
        constant: None,
        least_squares: None,
        better,
    }
}

/// Nominal levels of the central intervals in tables.
pub const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// Baselines for a regression, fitted on the rows that training saw (validation included: they chose the stopping time).
pub struct Baselines {
    constant: ConstantModel,
    linear: std::result::Result<LinearModel, String>,
}

impl Baselines {
    /// `y` in the user's unit.
    pub fn fit(train: &Dataset, y: &[f64]) -> Baselines {
        let x: Vec<f64> = train.x.iter().map(|&v| v as f64).collect();
        let linear = LinearModel::fit(&x, y, train.n, train.d).map_err(|e| match e {
            crate::error::Error::Run(f) => f.found,
            e => e.to_string(),
        });
        Baselines { constant: ConstantModel::fit(y), linear }
    }
}

/// Predictions and targets `y` in the user's unit; `x` are the standardised rows for the linear model.
pub fn regression(
    p: &Regression,
    y: &[f64],
    x: &Dataset,
    baselines: Option<&Baselines>,
    unit: &str,
) -> Result<Results> {
    let n = y.len();
    let rows = || (0..n).map(|i| p.row(i));
    let mut out = vec![
        metric("rmse", unit, metrics::rmse(&p.mean, y), Better::Lower),
        metric("nll", "nats", p.nll(y), Better::Lower),
        metric("crps", unit, rows().zip(y).map(|(m, y)| m.crps(*y)).sum::<f64>() / n as f64, Better::Lower),
    ];
    for level in LEVELS {
        let tail = (1.0 - level) / 2.0;
        let (low, high): (Vec<f64>, Vec<f64>) = rows().map(|m| (m.quantile(tail), m.quantile(1.0 - tail))).unzip();
        let percent = (level * 100.0).round();
        out.push(metric(&format!("coverage_{percent}"), "", metrics::coverage(&low, &high, y), Better::Neither));
        out.push(metric(&format!("width_{percent}"), unit, metrics::mean_width(&low, &high), Better::Neither));
    }
    let mean_sd = |v: &[f64]| v.iter().map(|v| v.sqrt()).sum::<f64>() / n as f64;
    out.push(metric("mean_aleatoric_sd", unit, mean_sd(&p.aleatoric), Better::Neither));
    out.push(metric("mean_epistemic_sd", unit, mean_sd(&p.epistemic), Better::Neither));
    let mut notes = vec![];
    if let Some(b) = baselines {
        let constant = vec![b.constant.mean; n];
        beside(&mut out, &constant, b.constant.sd, y, |m| &mut m.constant);
        match &b.linear {
            Ok(linear) => {
                let xs: Vec<f64> = x.x.iter().map(|&v| v as f64).collect();
                beside(&mut out, &linear.predict(&xs, n)?, linear.residual_sd(), y, |m| &mut m.least_squares);
            }
            Err(why) => notes.push(format!("ordinary least squares {why}")),
        }
    }
    notes.extend(against_constant(&out, n, "rmse", "always giving the mean of the training rows"));
    notes.extend(coverage_verdict(&out, n));
    let squares: Vec<f64> = p.mean.iter().zip(y).map(|(m, y)| (m - y).powi(2)).collect();
    let surprises: Vec<f64> = rows().zip(y).map(|(m, y)| -m.log_density(*y)).collect();
    let rmse = metrics::rmse(&p.mean, y);
    notes.extend(few_rows(
        n,
        &[
            // Of a root: half the relative error of what stands under it.
            Uncertain::relative("rmse", unit, rmse, error_of_mean(&squares) / (2.0 * rmse * rmse)),
            Uncertain::plain("nll", "nats", p.nll(y), error_of_mean(&surprises)),
            Uncertain::share("coverage_90", out.iter().find(|m| m.name == "coverage_90"), n),
        ],
    ));
    Ok(Results { set: "test".into(), rows: n, metrics: out, notes })
}

/// Says so where the constant predictor does better, by the metric of its `point` predictions or else by the likelihood.
fn against_constant(metrics: &[Metric], n: usize, point: &str, constant: &str) -> Option<String> {
    let worse = |name: &str| {
        let m = metrics.iter().find(|m| m.name == name)?;
        let (ours, theirs) = (m.value.value()?, m.constant?);
        let is_worse = if m.better == Better::Higher { ours < theirs } else { ours > theirs };
        (n >= FEW && is_worse).then(|| {
            let unit = if m.unit.is_empty() { String::new() } else { format!(" {}", m.unit) };
            let (ours, theirs) = apart(ours, theirs);
            format!("{name} {ours} against {theirs}{unit}")
        })
    };
    match (worse(point), worse("nll")) {
        (Some(by), _) => Some(format!(
            "worse than {constant} ({by}): too much or too little training, or columns that say nothing about the target"
        )),
        (None, Some(by)) => Some(format!(
            "its predictions are no worse than {constant}, but its uncertainty is ({by}): `vifo calibrate RUN` may help"
        )),
        (None, None) => None,
    }
}

/// Whether the 90 % intervals hold what they promise, in words.
fn coverage_verdict(metrics: &[Metric], n: usize) -> Option<String> {
    let nominal: f64 = 0.9;
    let observed =
        metrics.iter().find(|m| m.name == "coverage_90").and_then(|m| m.value.value()).filter(|_| n >= FEW)?;
    let error = (nominal * (1.0 - nominal) / n.max(1) as f64).sqrt();
    let z = (observed - nominal) / error;
    Some(if z < -2.0 {
        format!(
            "the error bars are too narrow: the 90 % intervals hold {:.0} % of the rows, {:.1} standard errors too few",
            observed * 100.0,
            -z
        )
    } else if z > 2.0 {
        format!(
            "the error bars are wider than need be: the 90 % intervals hold {:.0} % of the rows, {z:.1} standard errors too many",
            observed * 100.0
        )
    } else {
        format!(
            "the error bars hold: the 90 % intervals cover {:.0} % of the rows, within two standard errors ({:.0} %)",
            observed * 100.0,
            error * 200.0
        )
    })
}

/// Fewer test rows than this say nothing about error bars.
pub(super) const FEW: usize = 20;

/// The metrics of a Gaussian with one sd for all rows.
fn beside(out: &mut [Metric], mean: &[f64], sd: f64, y: &[f64], place: impl Fn(&mut Metric) -> &mut Option<f64>) {
    let n = y.len() as f64;
    let crps = mean
        .iter()
        .zip(y)
        .map(|(m, y)| metrics::Mixture { weights: &[1.0], means: &[*m], vars: &[sd * sd] }.crps(*y))
        .sum::<f64>();
    for m in out {
        let value = match m.name.as_str() {
            "rmse" => metrics::rmse(mean, y),
            "nll" => metrics::gaussian_nll(mean, y, sd),
            "crps" => crps / n,
            name => {
                let Some((what, percent)) = name.split_once('_') else { continue };
                let Ok(percent) = percent.parse::<f64>() else { continue };
                let half = normal_quantile(0.5 + percent / 200.0) * sd;
                match what {
                    "coverage" => mean.iter().zip(y).filter(|(m, y)| (**y - **m).abs() <= half).count() as f64 / n,
                    "width" => 2.0 * half,
                    _ => continue,
                }
            }
        };
        *place(m) = Some(value);
    }
}

/// `shares` are the class shares of the training rows, the constant predictor.
pub fn classification(p: &Classification, y: &[usize], shares: Option<&[f64]>) -> Results {
    let k = p.k;
    let numbers = |probs: &[f64]| {
        let (conf, class) = metrics::confidences(probs, k);
        let correct: Vec<bool> = class.iter().zip(y).map(|(c, y)| c == y).collect();
        let entropy = metrics::entropy(probs, k);
        [
            metrics::accuracy(probs, y, k),
            metrics::nll(probs, y, k),
            metrics::brier(probs, y, k),
            metrics::ece_equal_mass(&conf, &correct, 20),
            metrics::ece_equal_width(&conf, &correct, 20),
            entropy.iter().sum::<f64>() / entropy.len().max(1) as f64,
        ]
    };
    let names = [
        ("accuracy", "", Better::Higher),
        ("nll", "nats", Better::Lower),
        ("brier", "", Better::Lower),
        ("ece_equal_mass", "", Better::Lower),
        ("ece_equal_width", "", Better::Lower),
        ("mean_entropy", "nats", Better::Neither),
    ];
    let constant = shares.map(|s| numbers(&s.repeat(y.len())));
    let mut out: Vec<Metric> = names
        .iter()
        .zip(numbers(&p.probs))
        .enumerate()
        .map(|(i, ((name, unit, better), v))| Metric {
            constant: constant.map(|c| c[i]),
            ..metric(name, unit, v, *better)
        })
        .collect();
    out.push(metric(
        "mean_mutual_information",
        "nats",
        p.epistemic.iter().sum::<f64>() / y.len().max(1) as f64,
        Better::Neither,
    ));
    let (conf, class) = metrics::confidences(&p.probs, k);
    let n = y.len().max(1) as f64;
    let accuracy = class.iter().zip(y).filter(|(c, y)| c == y).count() as f64 / n;
    let confidence = conf.iter().sum::<f64>() / n;
    // The number right is a sum of coins, each with its own confidence, if the confidences mean what they say.
    let error = (conf.iter().map(|c| c * (1.0 - c)).sum::<f64>()).sqrt() / n;
    let z = (accuracy - confidence) / error.max(1e-12);
    let said = format!("mean confidence {:.0} %, {:.0} % right", confidence * 100.0, accuracy * 100.0);
    let mut notes: Vec<String> =
        against_constant(&out, y.len(), "accuracy", "always naming the commonest class").into_iter().collect();
    notes.push(if y.len() < FEW {
        "too few rows to judge the probabilities".to_string()
    } else if z > 2.0 {
        format!("the probabilities are too cautious: {said}, {z:.1} standard errors apart")
    } else if z < -2.0 {
        format!("the probabilities are too sure: {said}, {:.1} standard errors apart", -z)
    } else {
        format!("the probabilities hold on average: {said}, within two standard errors")
    });
    let kept = |f: &dyn Fn(&[f64], usize) -> f64| -> Vec<f64> {
        p.probs.chunks(k).zip(y).map(|(row, c)| f(row, *c)).collect()
    };
    let surprises = kept(&|row, c| metrics::nll(row, &[c], k));
    let squares = kept(&|row, c| metrics::brier(row, &[c], k));
    let value = |name: &str| out.iter().find(|m| m.name == name).and_then(|m| m.value.value()).unwrap_or(f64::NAN);
    notes.extend(few_rows(
        y.len(),
        &[
            Uncertain::share("accuracy", out.iter().find(|m| m.name == "accuracy"), y.len()),
            Uncertain::plain("nll", "nats", value("nll"), error_of_mean(&surprises)),
            Uncertain::plain("brier", "", value("brier"), error_of_mean(&squares)),
        ],
    ));
    Results { set: "test".into(), rows: y.len(), metrics: out, notes }
}

/// Absolute rounding of a mutual information: it is the difference of two entropies of up to ln k.
pub(super) fn mutual_information_error(k: usize) -> f64 {
    metrics::ROUNDING * (k.max(2) as f64).ln()
}

/// In- against out-of-distribution, by maximum probability, total entropy and mutual information (in-distribution positive).
pub fn ood_classification(inside: &Classification, outside: &Classification) -> Results {
    let negate = |v: &[f64]| v.iter().map(|v| -v).collect::<Vec<_>>();
    let conf = |c: &Classification| metrics::confidences(&c.probs, c.k).0;
    let mut out = vec![metric(
        "ood_mean_entropy",
        "nats",
        outside.total.iter().sum::<f64>() / outside.total.len().max(1) as f64,
        Better::Higher,
    )];
    for (by, a, b, error) in [
        ("max_probability", conf(inside), conf(outside), 0.0),
        ("entropy", negate(&inside.total), negate(&outside.total), 0.0),
        (
            "mutual_information",
            negate(&inside.epistemic),
            negate(&outside.epistemic),
            mutual_information_error(inside.k),
        ),
    ] {
        out.extend(separation(by, &a, &b, error));
    }
    let notes = ood_notes(&out, inside.total.len(), outside.total.len());
    Results { set: "ood".into(), rows: outside.total.len(), metrics: out, notes }
}

/// The same by predictive sd, for a regression.
pub fn ood_regression(inside: &Regression, outside: &Regression) -> Results {
    let total = |r: &Regression| (0..r.n()).map(|i| -r.sd(i)).collect::<Vec<_>>();
    let epistemic = |r: &Regression| r.epistemic.iter().map(|v| -v.sqrt()).collect::<Vec<_>>();
    let mut out = separation("total_sd", &total(inside), &total(outside), 0.0);
    out.extend(separation("epistemic_sd", &epistemic(inside), &epistemic(outside), 0.0));
    let notes = ood_notes(&out, inside.n(), outside.n());
    Results { set: "ood".into(), rows: outside.n(), metrics: out, notes }
}

fn ood_notes(metrics: &[Metric], inside: usize, outside: usize) -> Vec<String> {
    let share = inside as f64 / (inside + outside).max(1) as f64;
    let mut notes = vec![format!(
        "in-distribution rows are the positive class; a guess would have AUROC 0.5, AUPR {share:.2}, FPR95 0.95"
    )];
    let best =
        metrics.iter().filter(|m| m.name.starts_with("auroc")).filter_map(|m| m.value.value()).fold(f64::NAN, f64::max);
    if best < 0.6 {
        notes.push(
            "the model does not tell these rows from its own: train with auxiliary inputs (--eta-aux 0.1 and up, VIFO), which ask it to be \
             uncertain where it has no data"
                .into(),
        );
    }
    notes
}

/// `error`: as in [`metrics::Ranking::new`].
fn separation(by: &str, inside: &[f64], outside: &[f64], error: f64) -> Vec<Metric> {
    let ranking = metrics::Ranking::new(inside, outside, error);
    let measure = |name: &str, value, better| Metric { value, ..metric(&format!("{name}_{by}"), "", 0.0, better) };
    vec![
        measure("auroc", ranking.auroc(), Better::Higher),
        measure("aupr", ranking.aupr(), Better::Higher),
        measure("fpr95", ranking.fpr95(), Better::Lower),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_that_does_better_is_named() {
        let of = |name: &str, better, ours: f64, constant: f64| Metric {
            constant: Some(constant),
            ..metric(name, if name == "accuracy" { "" } else { "m" }, ours, better)
        };
        let say = |point: Metric, nll: (f64, f64), n| {
            let name = point.name.clone();
            against_constant(&[point, of("nll", Better::Lower, nll.0, nll.1)], n, &name, "C")
        };
        let rmse = |ours, constant| of("rmse", Better::Lower, ours, constant);
        let worse = say(rmse(3.2, 3.0), (1.0, 2.0), 20).expect("a note");
        assert!(worse.starts_with("worse than C (rmse 3.200 against 3.000 m)"), "{worse}");
        let unsure = say(rmse(1.0, 3.0), (2.5, 2.0), 20).expect("a note");
        assert!(unsure.contains("no worse than C") && unsure.contains("(nll 2.500 against 2.000 m)"), "{unsure}");
        assert_eq!(say(rmse(1.0, 3.0), (1.5, 2.0), 20), None);
        assert_eq!(say(rmse(3.2, 3.0), (1.0, 2.0), FEW - 1), None, "few rows say nothing");
        let accuracy = |ours| say(of("accuracy", Better::Higher, ours, 0.5), (1.0, 2.0), 50);
        assert!(accuracy(0.4).is_some_and(|s| s.contains("(accuracy 0.4000 against 0.5000)")));
        assert_eq!(accuracy(0.5), None, "all rows may be of one class");
    }
}
