//! The numbers of an evaluation: each metric of MATH.md section 7 beside a constant predictor and ordinary least squares.

pub(crate) mod against;
pub(crate) mod chance;
mod uncertain;

use self::against::{Losses, Rival};
use self::chance::{Chance, Judgement};
use self::uncertain::{Uncertain, error_of_mean, few_rows};
pub use super::baselines::{Baselines, ClassBaselines};
use crate::data::Dataset;
use crate::error::Result;
use crate::method::predictive::{Classification, Regression};
use crate::metrics::{self, Measure, normal_quantile, weighted};
use crate::report::tables::{apart, number};
use rayon::prelude::*;
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
    /// Of gradient-boosted trees, with the sd of their errors on rows that they had not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boosting: Option<f64>,
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

pub(crate) fn metric(name: &str, unit: &str, value: f64, better: Better) -> Metric {
    Metric {
        name: name.into(),
        unit: unit.into(),
        value: Measure::Value(value),
        calibrated: None,
        constant: None,
        least_squares: None,
        boosting: None,
        better,
    }
}

/// Nominal levels of the central intervals in tables.
pub const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// Predictions and targets `y` in the user's unit; `x` are the standardised rows for the baselines, with their weights.
pub fn regression(
    p: &Regression,
    y: &[f64],
    x: &Dataset,
    baselines: Option<&Baselines>,
    unit: &str,
) -> Result<Results> {
    let (n, w) = (y.len(), &x.weights[..]);
    // Row by row on all cores; the means below are summed in the order of the rows.
    let of_row = |(i, y): (usize, &f64)| {
        let row = p.row(i);
        let tails = LEVELS.map(|level| (1.0 - level) / 2.0);
        (row.crps(*y), tails.map(|tail| (row.quantile(tail), row.quantile(1.0 - tail))))
    };
    let (crps, intervals): (Vec<f64>, Vec<[(f64, f64); LEVELS.len()]>) = y.par_iter().enumerate().map(of_row).unzip();
    let mut out = vec![
        metric("rmse", unit, weighted_rmse(&p.mean, y, w), Better::Lower),
        metric("nll", "nats", p.weighted_nll(y, w), Better::Lower),
        metric("crps", unit, weighted::mean(crps.into_iter(), w), Better::Lower),
    ];
    for (at, level) in LEVELS.into_iter().enumerate() {
        let (low, high): (Vec<f64>, Vec<f64>) = intervals.iter().map(|of_row| of_row[at]).unzip();
        let percent = (level * 100.0).round();
        out.push(metric(
            &format!("coverage_{percent}"),
            "",
            weighted::mean(inside(&low, &high, y), w),
            Better::Neither,
        ));
        out.push(metric(&format!("width_{percent}"), unit, weighted::mean(widths(&low, &high), w), Better::Neither));
    }
    let mean_sd = |v: &[f64]| weighted::mean(v.iter().map(|v| v.sqrt()), w);
    out.push(metric("mean_aleatoric_sd", unit, mean_sd(&p.aleatoric), Better::Neither));
    out.push(metric("mean_epistemic_sd", unit, mean_sd(&p.epistemic), Better::Neither));
    let squares = |mean: &[f64]| -> Vec<f64> { mean.iter().zip(y).map(|(m, y)| (m - y).powi(2)).collect() };
    let surprises = y.iter().enumerate().map(|(i, y)| -p.log_density(i, *y)).collect();
    let ours = Losses { point: squares(&p.mean), nll: surprises };
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
                line = Some(Rival { name: "ordinary least squares", of: |m| m.least_squares, losses });
            }
            Err(why) => notes.push(format!("ordinary least squares {why}")),
        }
        match &b.boosting {
            Some(Ok(boosted)) => {
                let (mean, sd) = (boosted.predict(&x.x, n)?, boosted.residual_sd());
                beside(&mut out, &mean, sd, y, w, |m| &mut m.boosting);
                let losses = gaussian(&mean, sd);
                trees = Some(Rival { name: "gradient boosting", of: |m| m.boosting, losses });
            }
            Some(Err(why)) => notes.push(format!("gradient boosting {why}")),
            None => {}
        }
    }
    let said = weighted::effective_rows(n, w);
    notes.extend(against_constant(&out, said, "rmse", "always giving the mean of the training rows"));
    notes.extend(line.and_then(|r| r.does_better(&out, "rmse", &ours, w)));
    notes.extend(trees.and_then(|r| r.does_better_in_part(&out, "rmse", &ours, w)));
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
                        Uncertain::relative("rmse", unit, rmse, error_of_mean(&ours.point) / (2.0 * rmse * rmse)),
                        Uncertain::plain("nll", "nats", p.nll(y), error_of_mean(&ours.nll)),
                        Uncertain::share("coverage_90", out.iter().find(|m| m.name == "coverage_90"), said),
                    ],
                )
            })
            .flatten(),
    );
    notes.extend((!w.is_empty()).then(|| "rows count by their weights in all of these figures".into()));
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
    let observed = metrics.iter().find(|m| m.name == "coverage_90").and_then(|m| m.value.value())?;
    if !observed.is_finite() {
        return None;
    }
    let mut chance = Chance::new(&vec![0.9; n], (observed * n as f64).round() as usize, 1, 0.0);
    // Of rows with weights the count is rounded, the share is not.
    chance.observed = observed;
    let (share, range) = chance.words();
    let by = format!("the 90 % intervals hold {share} of the rows, where chance alone allows {range}");
    let rows = rows_words(n);
    Some(match chance.judgement {
        Judgement::Holds => format!("the error bars hold: {by}"),
        Judgement::Short => format!("the error bars are too narrow: {by}"),
        Judgement::Long => format!("the error bars are too wide: {by}"),
        Judgement::LooksShort => format!("the error bars look too narrow, but {rows} cannot settle it: {by}"),
        Judgement::LooksLong => format!("the error bars look too wide, but {rows} cannot settle it: {by}"),
        Judgement::Few => format!("the error bars cannot be judged by {rows}"),
    })
}

/// Whether the classes named are right as often as their probabilities say, in words.
fn confidence_verdict(confidence: &[f64], right: usize) -> String {
    let chance = Chance::new(confidence, right, 1, 0.0);
    let (share, range) = chance.words();
    let mean = 100.0 * chance.promised;
    let by = format!("mean confidence {mean:.0} %, {share} right, where chance alone allows {range}");
    let rows = rows_words(chance.rows);
    match chance.judgement {
        Judgement::Holds => format!("the probabilities hold on average: {by}"),
        Judgement::Short => format!("the probabilities are too sure: {by}"),
        Judgement::Long => format!("the probabilities are too cautious: {by}"),
        Judgement::LooksShort => format!("the probabilities look too sure, but {rows} cannot settle it: {by}"),
        Judgement::LooksLong => format!("the probabilities look too cautious, but {rows} cannot settle it: {by}"),
        Judgement::Few => format!("the probabilities cannot be judged by {rows}"),
    }
}

fn rows_words(n: usize) -> String {
    if n == 1 { "1 row".into() } else { format!("{n} rows") }
}

/// Fewer rows than this say nothing about which of two models is better.
pub(crate) const FEW: usize = 20;

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

/// The metrics of a Gaussian with one sd for all rows.
fn beside(
    out: &mut [Metric],
    mean: &[f64],
    sd: f64,
    y: &[f64],
    w: &[f32],
    place: impl Fn(&mut Metric) -> &mut Option<f64>,
) {
    let of = |m: f64, y: f64| metrics::Mixture { weights: &[1.0], means: &[m], vars: &[sd * sd] }.crps(y);
    let crps = weighted::mean(mean.iter().zip(y).map(|(m, y)| of(*m, *y)), w);
    for m in out {
        let value = match m.name.as_str() {
            "rmse" => weighted_rmse(mean, y, w),
            "nll" => {
                let each = mean.iter().zip(y).map(|(m, y)| metrics::gaussian_nll(&[*m], &[*y], sd));
                weighted::mean(each, w)
            }
            "crps" => crps,
            name => {
                let Some((what, percent)) = name.split_once('_') else { continue };
                let Ok(percent) = percent.parse::<f64>() else { continue };
                let half = normal_quantile(0.5 + percent / 200.0) * sd;
                match what {
                    "coverage" => {
                        let each = mean.iter().zip(y).map(|(m, y)| f64::from(u8::from((y - m).abs() <= half)));
                        weighted::mean(each, w)
                    }
                    "width" => 2.0 * half,
                    _ => continue,
                }
            }
        };
        *place(m) = Some(value);
    }
}

/// What probabilities [n, k] come to: accuracy, NLL, Brier score, both ECEs (which know no weights) and mean entropy.
fn class_numbers(probs: &[f64], y: &[usize], k: usize, w: &[f32]) -> [f64; 6] {
    let (conf, class) = metrics::confidences(probs, k);
    let correct: Vec<bool> = class.iter().zip(y).map(|(c, y)| c == y).collect();
    let mean = |of: fn(&[f64], &[usize], usize) -> f64| {
        if w.is_empty() {
            return of(probs, y, k);
        }
        weighted::mean(probs.chunks_exact(k).zip(y).map(|(p, y)| of(p, &[*y], k)), w)
    };
    [
        mean(metrics::accuracy),
        mean(metrics::nll),
        mean(metrics::brier),
        metrics::ece_equal_mass(&conf, &correct, 20),
        metrics::ece_equal_width(&conf, &correct, 20),
        weighted::mean(metrics::entropy(probs, k).into_iter(), w),
    ]
}

/// `shares` are the class shares of the training rows, the constant predictor.
pub fn classification(p: &Classification, y: &[usize], shares: Option<&[f64]>) -> Results {
    let baselines = shares.map(|s| ClassBaselines { shares: s.to_vec(), boosted: None });
    classification_of_rows(p, y, &[], baselines.as_ref())
}

/// The same of rows that count by `w` [n], or alike where there are none, beside all baselines.
pub fn classification_of_rows(
    p: &Classification,
    y: &[usize],
    w: &[f32],
    baselines: Option<&ClassBaselines>,
) -> Results {
    let k = p.k;
    let numbers = |probs: &[f64]| class_numbers(probs, y, k, w);
    let names = [
        ("accuracy", "", Better::Higher),
        ("nll", "nats", Better::Lower),
        ("brier", "", Better::Lower),
        ("ece_equal_mass", "", Better::Lower),
        ("ece_equal_width", "", Better::Lower),
        ("mean_entropy", "nats", Better::Neither),
    ];
    let constant = baselines.map(|b| numbers(&b.shares.repeat(y.len())));
    let boosted = baselines.and_then(|b| b.boosted.as_ref());
    let boosting = boosted.and_then(|b| b.as_ref().ok()).map(|probs| numbers(probs));
    let mut out: Vec<Metric> = names
        .iter()
        .zip(numbers(&p.probs))
        .enumerate()
        .map(|(i, ((name, unit, better), v))| Metric {
            constant: constant.map(|c| c[i]),
            boosting: boosting.map(|b| b[i]),
            ..metric(name, unit, v, *better)
        })
        .collect();
    out.push(metric(
        "mean_mutual_information",
        "nats",
        weighted::mean(p.epistemic.iter().copied(), w),
        Better::Neither,
    ));
    let (conf, class) = metrics::confidences(&p.probs, k);
    let right = class.iter().zip(y).filter(|(c, y)| c == y).count();
    let losses = |probs: &[f64]| {
        let (_, class) = metrics::confidences(probs, k);
        Losses {
            point: class.iter().zip(y).map(|(c, y)| f64::from(u8::from(c != y))).collect(),
            nll: probs.chunks_exact(k).zip(y).map(|(row, c)| metrics::nll(row, &[*c], k)).collect(),
        }
    };
    let ours = losses(&p.probs);
    let mut notes: Vec<String> =
        against_constant(&out, y.len(), "accuracy", "always naming the commonest class").into_iter().collect();
    notes.extend(boosted.and_then(|b| b.as_ref().err()).map(|why| format!("gradient boosting {why}")));
    let trees = boosted.and_then(|b| b.as_ref().ok()).map(|probs| Rival {
        name: "gradient boosting",
        of: |m| m.boosting,
        losses: losses(probs),
    });
    notes.extend(trees.and_then(|r| r.does_better_in_part(&out, "accuracy", &ours, w)));
    notes.push(confidence_verdict(&conf, right));
    let squares: Vec<f64> = p.probs.chunks(k).zip(y).map(|(row, c)| metrics::brier(row, &[*c], k)).collect();
    let value = |name: &str| out.iter().find(|m| m.name == name).and_then(|m| m.value.value()).unwrap_or(f64::NAN);
    notes.extend(
        w.is_empty()
            .then(|| {
                few_rows(
                    y.len(),
                    &[
                        Uncertain::share("accuracy", out.iter().find(|m| m.name == "accuracy"), y.len()),
                        Uncertain::plain("nll", "nats", value("nll"), error_of_mean(&ours.nll)),
                        Uncertain::plain("brier", "", value("brier"), error_of_mean(&squares)),
                    ],
                )
            })
            .flatten(),
    );
    notes.extend((!w.is_empty()).then(|| "rows count by their weights in all of these figures but ece_*".into()));
    Results { set: "test".into(), rows: y.len(), metrics: out, notes }
}

/// Absolute rounding of a mutual information: it is the difference of two entropies of up to ln k.
pub(crate) fn mutual_information_error(k: usize) -> f64 {
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

    fn covered(hits: usize, n: usize) -> String {
        let share = metric("coverage_90", "", hits as f64 / n as f64, Better::Neither);
        coverage_verdict(&[share], n).expect("a verdict")
    }

    #[test]
    fn a_verdict_does_not_contradict_its_numbers() {
        assert_eq!(
            covered(19, 25),
            "the error bars look too narrow, but 25 rows cannot settle it: the 90 % intervals hold 76 % of the rows, where chance alone \
             allows 80 to 100 %"
        );
        assert!(covered(23, 25).starts_with("the error bars hold: the 90 % intervals hold 92 % of the rows"));
        assert!(covered(3, 12).starts_with("the error bars are too narrow: the 90 % intervals hold 25 % of the rows"));
        assert!(covered(0, 2).starts_with("the error bars are too narrow"));
        assert!(covered(200, 200).starts_with("the error bars are too wide"));
        assert_eq!(covered(0, 1), "the error bars cannot be judged by 1 row");
        let sure = |right| confidence_verdict(&[0.9; 25], right);
        assert!(
            sure(19).starts_with("the probabilities look too sure, but 25 rows cannot settle it: mean confidence 90 %")
        );
        assert!(sure(23).starts_with("the probabilities hold on average: mean confidence 90 %, 92 % right"));
        assert!(sure(10).starts_with("the probabilities are too sure"));
    }

    /// A line through the origin, and a network that gives zero with the same sd.
    #[test]
    fn least_squares_that_do_better_are_named() {
        let n = 60;
        let line: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let y: Vec<f64> = line.iter().enumerate().map(|(i, x)| 3.0 * x + 0.1 * (i as f64 * 1.9).cos()).collect();
        let x = Dataset {
            x: line.iter().map(|x| *x as f32).collect(),
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
