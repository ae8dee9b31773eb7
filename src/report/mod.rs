//! Figures of a run and its one-page report.

pub mod about;
mod axis;
mod calibration;
pub mod compare;
pub mod evaluations;
mod page;
pub mod verdict;

pub use page::{html, write};

use axis::Axis;

use crate::data::encode::pixels::Pixels;
use crate::data::encode::{Encoder, FeatureKind, Scale, Target};
use crate::data::load::Loaded;
use crate::data::targets_of as targets;
use crate::data::{Dataset, Inputs};
use crate::error::Result;
use crate::exec::Device;
use crate::figure::{
    self, BandPanel, BandsFigure, CoverageFigure, CurvesFigure, HeatFigure, HeatPanel, HistogramFigure,
    ReliabilityFigure, RocFigure, Saved, ScatterFigure, Series, SheetFigure, SheetImage,
};
use crate::method::Predictive;
use crate::method::predictive::{Classification, Regression};
use crate::metrics;
use crate::results;
use crate::run::Fitted;
use crate::run::model;
use crate::train::EpochRow;
use std::path::{Path, PathBuf};

pub(crate) type Drawn = (PathBuf, String);

fn drawn(saved: Saved, caption: &str) -> Drawn {
    (saved.svg, caption.into())
}

/// A numeric input: statistics of its training rows, in the file's unit.
struct Input {
    name: String,
    scale: Scale,
}

impl Input {
    /// The training range widened by half its length on either side; by its unit where it has no length.
    fn wide(&self) -> (f64, f64) {
        let Scale { sd, min, max, .. } = self.scale;
        let half = if max > min { 0.5 * (max - min) } else { sd };
        (min - half, max + half)
    }
    fn standard(&self, v: f64) -> f32 {
        self.scale.scaled(v) as f32
    }
    fn raw(&self, v: f32) -> f64 {
        self.scale.unscaled(f64::from(v))
    }
}

/// The inputs, if all are numeric.
fn numeric_inputs(encoder: &Encoder) -> Option<Vec<Input>> {
    encoder
        .features
        .iter()
        .map(|f| {
            let is_number = matches!(f.kind, FeatureKind::Numeric { .. });
            f.kind.scale().filter(|_| is_number).map(|scale| Input { name: f.name.clone(), scale })
        })
        .collect()
}

/// The band of a regression on one column, a number or a date, on the training range widened by half its length on either
/// side. `data` is that of one target.
pub fn band(
    fitted: &Fitted,
    data: &Loaded,
    device: &Device,
    title: &str,
    range: Option<(f64, f64)>,
) -> Result<Option<BandPanel>> {
    let encoder = &data.encoder;
    let Some(axis) = Axis::of(encoder) else { return Ok(None) };
    let (mut low, mut high) = range.unwrap_or_else(|| axis.wide());
    let held_out = axis.held_out(data);
    if range.is_none() {
        // What is foretold is seen to its end.
        let ends = held_out.iter().map(|(x, _)| *x);
        (low, high) = ends.fold((low, high), |(low, high), x| (low.min(x), high.max(x)));
    }
    let (test_x, test_y) = held_out.into_iter().filter(|(x, _)| (low..=high).contains(x)).unzip();
    let n = axis.points(low, high);
    let x: Vec<f64> = (0..=n).map(|i| low + (high - low) * i as f64 / n as f64).collect();
    let standard = axis.encode(&x);
    let Predictive::Regression(r) =
        model::predict(&fitted.plan, encoder, &fitted.trained, device, Inputs::Rows(&standard))?
    else {
        return Ok(None);
    };
    let members = fitted.plan.setup.members as usize;
    let (train_x, train_y) = axis
        .raw(&data.train.x)
        .into_iter()
        .zip(targets(&data.train))
        .filter(|(at, _)| (low..=high).contains(at))
        .unzip();
    Ok(Some(BandPanel {
        title: title.into(),
        total_sd: (0..x.len()).map(|i| r.sd(i)).collect(),
        aleatoric_sd: r.aleatoric.iter().map(|v| v.sqrt()).collect(),
        mean: r.mean.clone(),
        truth: None,
        train_x,
        train_y,
        test_x,
        test_y,
        members: if members > 1 { r.member_means.chunks(x.len()).map(<[f64]>::to_vec).collect() } else { vec![] },
        x,
        ..BandPanel::default()
    }))
}

/// Figures over the input space: bands for one column, with the last years of one of dates by themselves; heat maps for two
/// numbers. `data` is that of one target.
pub fn input_figures(dir: &Path, fitted: &Fitted, data: &Loaded, device: &Device) -> Result<Vec<Drawn>> {
    let encoder = &data.encoder;
    if encoder.n_classes().is_some() {
        return match numeric_inputs(encoder) {
            Some(inputs) if inputs.len() == 2 => Ok(vec![heat(dir, fitted, device, &inputs)?]),
            _ => Ok(vec![]),
        };
    }
    let Some(axis) = Axis::of(encoder) else { return Ok(vec![]) };
    let mut all = vec![];
    let ranges = [("bands", None), ("bands_end", axis.end())];
    for (name, range) in ranges.into_iter().filter(|(name, range)| *name == "bands" || range.is_some()) {
        let Some(panel) = band(fitted, data, device, "", range)? else { continue };
        let target = encoder.target_name();
        let figure = BandsFigure {
            title: match range {
                None => format!("Prediction of {target} with 1 and 2 sd"),
                Some(_) => format!("Prediction of {target} around the end of the training data"),
            },
            x_label: axis.label(),
            y_label: target.into(),
            panels: vec![panel],
            limits: None,
        };
        let caption = "Predictive mean, one and two standard deviations, and the aleatoric part alone (dashed). The band should \
                       widen away from the training points.";
        all.push(drawn(figure::bands(dir, name, &figure)?, caption));
    }
    Ok(all)
}

fn heat(dir: &Path, fitted: &Fitted, device: &Device, inputs: &[Input]) -> Result<Drawn> {
    const N: usize = 80;
    let (xr, yr) = (inputs[0].wide(), inputs[1].wide());
    let at = |(low, high): (f64, f64), i: usize| low + (high - low) * (i as f64 + 0.5) / N as f64;
    let grid: Vec<f32> =
        (0..N * N).flat_map(|i| [inputs[0].standard(at(xr, i % N)), inputs[1].standard(at(yr, i / N))]).collect();
    let encoder = &fitted.data.encoder;
    let Predictive::Classification(c) =
        model::predict(&fitted.plan, encoder, &fitted.trained, device, Inputs::Rows(&grid))?
    else {
        return Ok((PathBuf::new(), String::new()));
    };
    let panel = |title: &str, value_label: &str, values: Vec<f64>| HeatPanel {
        title: title.into(),
        x_range: xr,
        y_range: yr,
        nx: N,
        ny: N,
        values,
        value_label: value_label.into(),
    };
    let confidence = metrics::confidences(&c.probs, c.k).0;
    let first = if c.k == 2 { c.probs.iter().skip(1).step_by(2).copied().collect() } else { confidence };
    let d = &fitted.data.train;
    let raw = |row: usize, i: usize| inputs[i].raw(d.x[row * 2 + i]);
    let figure = HeatFigure {
        title: format!("Uncertainty of {} over the inputs", encoder.target_name()),
        x_label: inputs[0].name.clone(),
        y_label: inputs[1].name.clone(),
        panels: vec![
            panel(
                if c.k == 2 { "Probability of the second class" } else { "Largest probability" },
                "probability",
                first,
            ),
            panel("Total entropy", "nats", c.total),
            panel("Mutual information (epistemic)", "nats, own scale", c.epistemic),
        ],
        points: (0..d.n).map(|i| (raw(i, 0), raw(i, 1), d.y[i] as usize)).collect(),
        classes: match &encoder.target {
            Target::Classes { labels, .. } => labels.clone(),
            Target::Regression { .. } => vec![],
        },
        colours: vec![],
    };
    Ok(drawn(
        figure::heat2d(dir, "heat", &figure)?,
        "Confident regions, class boundaries, and regions without training data.",
    ))
}

/// `target_sd` brings the validation NLL to the standardised target, so that all curves share a unit; `kept` is the epoch whose
/// weights are kept where they are not the last.
pub fn learning_curves(dir: &Path, name: &str, rows: &[EpochRow], target_sd: f64, kept: Option<u32>) -> Result<Drawn> {
    let x: Vec<f64> = rows.iter().map(|r| f64::from(r.epoch)).collect();
    let series = |name: &str, y: Vec<f64>| Series { name: name.into(), x: x.clone(), y, sd: None };
    let mut all = vec![
        series("training loss", rows.iter().map(|r| r.loss).collect()),
        series("expected NLL (training)", rows.iter().map(|r| r.expected_nll).collect()),
    ];
    // As they stand in the loss: without their weights they would squeeze everything else.
    let weighted: Vec<f64> = rows.iter().map(|r| r.loss - r.expected_nll).collect();
    if rows.iter().any(|r| r.regularizer != 0.0 || r.auxiliary != 0.0) {
        all.push(series("regularizers, weighted", weighted));
    }
    if rows.iter().any(|r| r.validation_nll.is_some()) {
        all.push(series(
            "validation NLL",
            rows.iter().map(|r| r.validation_nll.map_or(f64::NAN, |v| v - libm::log(target_sd))).collect(),
        ));
    }
    let figure = CurvesFigure {
        title: format!("Learning curves of {name}"),
        x_label: "epoch".into(),
        y_label: "nats per row".into(),
        log: true,
        mark: kept.map(|epoch| (f64::from(epoch), format!("kept: epoch {epoch}"))),
        series: all,
        ..Default::default()
    };
    Ok(drawn(
        figure::curves(dir, "learning_curves", &figure)?,
        "Training loss, its terms, and the validation NLL of the ensemble, in nats per row. The scale is logarithmic, and linear near zero. \
         Targets that are numbers are standardised.",
    ))
}

/// Figures of the test rows.
pub fn test_figures(dir: &Path, data: &Loaded, predictive: &Predictive, y: &[f64]) -> Result<Vec<Drawn>> {
    match predictive {
        Predictive::Regression(r) => regression_figures(dir, data.encoder.target_name(), r, y),
        Predictive::Classification(c) => {
            let mut all = classification_figures(dir, c, y)?;
            if let Some(pixels) = &data.encoder.pixels {
                all.push(sheet(dir, "certainty", &data.encoder, pixels, &data.test, c, Some(y))?);
            }
            Ok(all)
        }
    }
}

/// The images that the model is most and least sure of, by total entropy.
pub fn sheet(
    dir: &Path,
    stem: &str,
    encoder: &Encoder,
    pixels: &Pixels,
    rows: &Dataset,
    c: &Classification,
    y: Option<&[f64]>,
) -> Result<Drawn> {
    // No image stands among both the most and the least certain.
    let most = (rows.n / 2).clamp(1, 16);
    let labels = match &encoder.target {
        Target::Classes { labels, .. } => labels.as_slice(),
        Target::Regression { .. } => &[],
    };
    let (confidence, class) = metrics::confidences(&c.probs, c.k);
    let mut order: Vec<usize> = (0..rows.n).collect();
    order.sort_by(|a, b| c.total[*a].total_cmp(&c.total[*b]));
    // A longer name would push the probability and the true class out of the caption.
    let short = |label: &String| match label.chars().count() {
        0..=11 => label.clone(),
        _ => label.chars().take(10).collect::<String>() + "…",
    };
    let name = |i: usize| labels.get(i).map_or_else(|| i.to_string(), short);
    let image = |&i: &usize| {
        let truth = y.map(|y| y[i] as usize);
        let mut caption = format!("{} ({:.2})", name(class[i]), confidence[i]);
        if let Some(truth) = truth.filter(|t| *t != class[i]) {
            caption += &format!("\ntrue: {}", name(truth));
        }
        let bytes = rows.bytes[i * rows.d..(i + 1) * rows.d].to_vec();
        SheetImage { bytes, h: pixels.h, w: pixels.w, c: pixels.c, caption, right: truth.map(|t| t == class[i]) }
    };
    let figure = SheetFigure {
        title: "The most and the least certain test images".into(),
        sections: vec![
            ("Lowest entropy: the most certain".into(), order.iter().take(most).map(image).collect()),
            ("Highest entropy: the least certain".into(), order.iter().rev().take(most).map(image).collect()),
        ],
    };
    let caption = match y {
        Some(_) => {
            "Predicted class with its probability under each image, the true class where they differ. Wrong and certain is worth a look: \
             often it is the label that is wrong."
        }
        None => {
            "Out-of-distribution images, the predicted class with its probability under each. The model should not be confident on any of them."
        }
    };
    Ok(drawn(figure::sheet(dir, stem, &figure)?, caption))
}

pub fn regression_figures(dir: &Path, target: &str, r: &Regression, y: &[f64]) -> Result<Vec<Drawn>> {
    let levels: Vec<f64> = (1..20).map(|i| i as f64 / 20.0).collect();
    let cdf: Vec<f64> = y.iter().enumerate().map(|(i, y)| r.row(i).cdf(*y)).collect();
    let coverage = CoverageFigure {
        title: format!("Coverage of central intervals of {target}"),
        observed: vec![("test rows".into(), metrics::calibration_curve(&levels, &cdf))],
        levels,
    };
    let scatter = ScatterFigure {
        title: format!("Predicted against observed {target}"),
        x_label: format!("observed {target}"),
        y_label: format!("predicted {target}"),
        x: y.to_vec(),
        y: r.mean.clone(),
        sd: (0..r.n()).map(|i| r.sd(i)).collect(),
    };
    Ok(vec![
        drawn(
            figure::coverage(dir, "coverage", &coverage)?,
            "How many test rows fall inside the central interval of each nominal level. On the diagonal the error bars are calibrated.",
        ),
        drawn(
            figure::scatter(dir, "predicted", &scatter)?,
            "Predicted against true values of the test rows; the bars are ± one predicted sd.",
        ),
    ])
}

pub fn classification_figures(dir: &Path, c: &Classification, y: &[f64]) -> Result<Vec<Drawn>> {
    let (conf, class) = metrics::confidences(&c.probs, c.k);
    let correct: Vec<bool> = class.iter().zip(y).map(|(c, y)| *c == *y as usize).collect();
    let bins = metrics::reliability_bins(&conf, &correct, 10, false);
    let figure = ReliabilityFigure {
        title: "Reliability of the test predictions".into(),
        // One entry a bin, empty ones too: the figure places them by their number.
        bins: (0..10)
            .map(|i| {
                let here = bins.iter().find(|b| (b.low * 10.0).round() as usize == i);
                here.map_or((f64::NAN, f64::NAN, 0), |b| (b.confidence, b.accuracy, b.count))
            })
            .collect(),
        ece: metrics::ece_equal_width(&conf, &correct, 10),
    };
    let split =
        |right: bool| c.total.iter().zip(&correct).filter(|(_, c)| **c == right).map(|(v, _)| *v).collect::<Vec<f64>>();
    let histogram = HistogramFigure {
        title: "Entropy of right and wrong predictions".into(),
        x_label: "entropy, nats".into(),
        groups: vec![("right".into(), split(true)), ("wrong".into(), split(false))],
        bins: 20,
    };
    Ok(vec![
        drawn(
            figure::reliability(dir, "reliability", &figure)?,
            "Accuracy against confidence in ten bins of equal width. On the diagonal, predictions with a confidence of 0.8 are right 80 % of the time.",
        ),
        drawn(
            figure::histograms(dir, "entropy", &histogram)?,
            "Entropy of right and of wrong predictions; the wrong ones should lie further right.",
        ),
    ])
}

/// Entropy (or sd) in against out of distribution, and the ROC curves of telling them apart.
/// `name` is that of the set outside.
pub fn ood_figures(dir: &Path, name: &str, inside: &Predictive, outside: &Predictive) -> Result<Vec<Drawn>> {
    type Scores = Vec<(&'static str, Vec<f64>, Vec<f64>)>;
    let (label, groups, scores): (&str, [Vec<f64>; 2], Scores) = match (inside, outside) {
        (Predictive::Classification(a), Predictive::Classification(b)) => {
            let conf =
                |c: &Classification| metrics::confidences(&c.probs, c.k).0.iter().map(|p| -p).collect::<Vec<_>>();
            (
                "entropy, nats",
                [a.total.clone(), b.total.clone()],
                vec![
                    ("max probability", conf(a), conf(b)),
                    ("entropy", a.total.clone(), b.total.clone()),
                    ("mutual information", a.epistemic.clone(), b.epistemic.clone()),
                ],
            )
        }
        (Predictive::Regression(a), Predictive::Regression(b)) => {
            let total = |r: &Regression| (0..r.n()).map(|i| r.sd(i)).collect::<Vec<_>>();
            (
                "predictive sd, in the target's unit",
                [total(a), total(b)],
                vec![("total sd", total(a), total(b)), ("epistemic sd", a.epistemic.clone(), b.epistemic.clone())],
            )
        }
        _ => return Ok(vec![]),
    };
    let inside_k = if let Predictive::Classification(c) = inside { c.k } else { 1 };
    let [a, b] = groups;
    // One member without output variance has no epistemic part: a curve of zeros against zeros would say nothing.
    let mut scores = scores;
    scores.retain(|(_, a, b)| a.iter().chain(b).any(|v| *v != 0.0));
    let histogram = HistogramFigure {
        title: format!("Uncertainty in and out of distribution ({name})"),
        x_label: label.into(),
        groups: vec![("in distribution".into(), a), ("out of distribution".into(), b)],
        bins: 30,
    };
    let roc = RocFigure {
        title: format!("Out-of-distribution detection ({name})"),
        curves: scores
            .into_iter()
            .map(|(name, inside, outside)| {
                // Low uncertainty says in distribution; the mutual information is a difference of entropies.
                let certain = |v: &[f64]| v.iter().map(|v| -v).collect::<Vec<_>>();
                let error =
                    if name == "mutual information" { results::mutual_information_error(inside_k) } else { 0.0 };
                let (fpr, tpr) = metrics::Ranking::new(&certain(&inside), &certain(&outside), error).curve();
                (name.to_string(), fpr, tpr)
            })
            .collect(),
    };
    Ok(vec![
        drawn(
            figure::histograms(dir, "ood_uncertainty", &histogram)?,
            "The further apart the two, the better the uncertainty separates them.",
        ),
        drawn(
            figure::roc(dir, "ood_roc", &roc)?,
            "In-distribution rows are the positive class, scored by low uncertainty.",
        ),
    ])
}
