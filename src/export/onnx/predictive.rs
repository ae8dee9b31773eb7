//! From the outputs of all networks to what `vifo predict` writes, in the unit of y: the nodes of `method::predictive` and
//! of `run::calibrate::apply`.

use super::graph::{Dim, Graph, Val, int, ints, text, texts};
use super::outputs::{self, Moments};
use super::proto::Element;
use super::special;
use crate::data::encode::Target;
use crate::error::Result;
use crate::method::ModelSpec;
use crate::metrics::conformal::Sets;
use crate::run::Calibration;

const ROWS: &[Dim] = &[Dim::Rows];

/// Outputs of a refused row.
fn or_nan(g: &mut Graph, value: &Val, valid: Option<&Val>, wide: bool, element: Element) -> Val {
    let Some(valid) = valid else { return value.clone() };
    let valid = if wide { g.unsqueeze(valid, 1) } else { valid.clone() };
    let nan = if element == Element::Double { g.double(f64::NAN) } else { g.scalar(f64::NAN) };
    g.choose(&valid, value, &nan)
}

/// Mean, aleatoric and epistemic variance [n] of target `at`, standardised.
pub fn regression(setup: &ModelSpec, g: &mut Graph, z: &Val, at: usize) -> Result<(Val, Val, Val)> {
    let Moments { m, l, v, sd } = outputs::moments(setup, g, z, at)?;
    let link = outputs::noise_link(setup);
    let noise = match sd {
        Some(sd) => special::mean_noise(g, link, &l, &sd),
        None => special::noise(g, link, &l),
    };
    let squared_scale = g.mean(&noise, &[0]);
    // The variance of Student's t.
    let aleatoric = setup.nu.map_or(squared_scale.clone(), |nu| g.affine(&squared_scale, nu / (nu - 2.0), 0.0));
    let mean = g.mean(&m, &[0]);
    let away = g.sub(&m, &mean);
    let squares = g.square(&away);
    let mut epistemic = g.mean(&squares, &[0]);
    if let Some(v) = v {
        let spread = g.mean(&v, &[0]);
        epistemic = g.add(&spread, &epistemic);
    }
    Ok((mean, aleatoric, epistemic))
}

/// The outputs of one target: mean, sd, aleatoric_sd, epistemic_sd and the calibrated intervals, as doubles. `prefix` is
/// its name and an underscore where there are several; `spread` = the pool's (`train::pool`), which calibrated
/// intervals do without.
pub fn regression_outputs(
    g: &mut Graph,
    target: &Target,
    spread: f64,
    (mean, aleatoric, epistemic): (Val, Val, Val),
    valid: Option<&Val>,
    calibration: Option<&Calibration>,
    prefix: &str,
) {
    let Target::Regression { name, mean: shift, sd: scale, .. } = target else { return };
    let total = g.add(&aleatoric, &epistemic);
    let [mean, total, aleatoric, epistemic] = [mean, total, aleatoric, epistemic].map(|v| g.cast(&v, Element::Double));
    let (shift, scale, factor) = (g.double(*shift), g.double(*scale), g.double(spread));
    let own = g.mul(&mean, &scale);
    let mean = g.add(&own, &shift);
    let [sd, aleatoric, epistemic] = [total, aleatoric, epistemic].map(|v| {
        let root = g.sqrt(&v);
        let unadjusted = g.mul(&root, &scale);
        g.mul(&unadjusted, &factor)
    });
    let write = |g: &mut Graph, column: &str, value: &Val, what: &str| {
        let value = or_nan(g, value, valid, false, Element::Double);
        g.output(
            &format!("{prefix}{column}"),
            &value,
            Element::Double,
            ROWS,
            &format!("{what}, in the unit of {name}"),
        );
    };
    write(g, "mean", &mean, "predictive mean");
    write(g, "sd", &sd, "predictive standard deviation");
    write(g, "aleatoric_sd", &aleatoric, "standard deviation of the noise that is left with any amount of data");
    write(
        g,
        "epistemic_sd",
        &epistemic,
        "standard deviation for want of data: what the networks do not know of the mean",
    );
    for level in calibration.iter().flat_map(|c| &c.levels) {
        let q = g.double(level.q() / spread);
        // An infinite interval stays so around a point mass.
        let one = g.double(1.0);
        let reach = if level.q().is_finite() { sd.clone() } else { g.add(&sd, &one) };
        let reach = g.mul(&reach, &q);
        let (low, high) = (g.sub(&mean, &reach), g.add(&mean, &reach));
        let percent = level.percent();
        let what = |end: &str| format!("{end} end of the conformal interval that holds {percent} % of new rows");
        write(g, &format!("lower_{percent}"), &low, &what("lower"));
        write(g, &format!("upper_{percent}"), &high, &what("upper"));
    }
}

/// Of each row the average probabilities [n, k], and in nats their entropy, its aleatoric and its epistemic part [n].
pub struct Classes {
    pub probs: Val,
    pub total: Val,
    pub aleatoric: Val,
    pub epistemic: Val,
}

/// `z` [R, n, width]; `draws` [R, S, 1, k] where the logits are open.
pub fn classes(setup: &ModelSpec, g: &mut Graph, z: &Val, draws: Option<&Val>) -> Classes {
    if outputs::is_evidential(setup) {
        return evidential(g, z);
    }
    let k = setup.k as usize;
    let (p, axes): (Val, &[i64]) = match (outputs::logit_sd(setup, g, z), draws) {
        (Some(sd), Some(draws)) => {
            let mean = g.part(z, 0, k);
            let (mean, sd) = (g.unsqueeze(&mean, 1), g.unsqueeze(&sd, 1));
            let away = g.mul(&sd, draws);
            let logits = g.add(&mean, &away);
            (g.softmax(&logits), &[0, 1])
        }
        _ => (g.softmax(z), &[0]),
    };
    let each = special::entropy(g, &p);
    let aleatoric = g.mean(&each, axes);
    match outputs::own_average(setup, g, z) {
        Some(probs) => {
            let total = special::entropy(g, &probs);
            let aleatoric = g.node("Min", &[&aleatoric, &total]);
            let epistemic = g.sub(&total, &aleatoric);
            Classes { probs, total, aleatoric, epistemic }
        }
        None => {
            let probs = g.mean(&p, axes);
            let total = special::entropy(g, &probs);
            let left = g.sub(&total, &aleatoric);
            let epistemic = g.at_least(&left, 0.0);
            Classes { probs, total, aleatoric, epistemic }
        }
    }
}

/// p = conc / S with conc = relu(z) + 1; expected entropy digamma(S + 1) - sum p digamma(conc + 1).
fn evidential(g: &mut Graph, z: &Val) -> Classes {
    let positive = g.node("Relu", &[z]);
    let conc = g.affine(&positive, 1.0, 1.0);
    let sum = g.sum_last(&conc);
    let wide = g.unsqueeze(&sum, -1);
    let p = g.div(&conc, &wide);
    let probs = g.mean(&p, &[0]);
    let next = g.affine(&conc, 1.0, 1.0);
    let psi = special::digamma(g, &next);
    let terms = g.mul(&p, &psi);
    let inner = g.sum_last(&terms);
    let next = g.affine(&sum, 1.0, 1.0);
    let outer = special::digamma(g, &next);
    let each = g.sub(&outer, &inner);
    let aleatoric = g.mean(&each, &[0]);
    let total = special::entropy(g, &probs);
    let aleatoric = g.at_least(&aleatoric, 0.0);
    let aleatoric = g.node("Min", &[&aleatoric, &total]);
    let epistemic = g.sub(&total, &aleatoric);
    Classes { probs, total, aleatoric, epistemic }
}

/// p^by, normalised.
fn power(g: &mut Graph, p: &Val, by: f64) -> Val {
    if by == 1.0 {
        return p.clone();
    }
    let least = g.at_least(p, f64::from(f32::MIN_POSITIVE));
    let log = g.log(&least);
    let scaled = g.affine(&log, by, 0.0);
    g.softmax(&scaled)
}

/// What an ensemble's training has sharpened: `method::predictive::Classification::sharpen`.
fn sharpen(g: &mut Graph, c: Classes, [agreement, folds]: [f64; 2]) -> Classes {
    let probs = power(g, &c.probs, agreement * folds);
    let total = special::entropy(g, &probs);
    // A row without any entropy keeps none.
    let before = g.at_least(&c.total, f64::from(f32::MIN_POSITIVE));
    let by = g.div(&total, &before);
    let [aleatoric, epistemic] = [c.aleatoric, c.epistemic].map(|part| g.mul(&part, &by));
    Classes { probs, total, aleatoric, epistemic }
}

/// probabilities [n, k], predicted, entropy, aleatoric_entropy, mutual_information and the conformal sets; `sharpness` = the
/// pool's (`train::pool`), of which calibration does without the part of the folds.
pub fn class_outputs(
    g: &mut Graph,
    labels: &[String],
    classes: Classes,
    sharpness: Option<[f64; 2]>,
    valid: Option<&Val>,
    calibration: Option<&Calibration>,
) {
    let k = labels.len();
    let uncalibrated = power(g, &classes.probs, sharpness.map_or(1.0, |[agreement, _]| agreement));
    let classes = match sharpness {
        Some(sharpness) => sharpen(g, classes, sharpness),
        None => classes,
    };
    let Classes { mut probs, mut total, aleatoric, epistemic } = classes;
    if let Some(temperature) = calibration.and_then(|c| c.temperature) {
        probs = power(g, &uncalibrated, 1.0 / temperature.value);
        total = special::entropy(g, &probs);
    }
    let table = [Dim::Rows, Dim::Is(k)];
    let order = labels.iter().take(100).cloned().collect::<Vec<_>>().join(", ");
    let more = if k > 100 { ", ..." } else { "" };
    let value = or_nan(g, &probs, valid, true, Element::Float);
    g.output("probabilities", &value, Element::Float, &table, &format!("of the classes in this order: {order}{more}"));
    let index = g.node_with("ArgMax", &[&probs], vec![int("axis", -1), int("keepdims", 0)]);
    let index = match valid {
        Some(valid) => {
            let nobody = g.whole(-1);
            g.choose(valid, &index, &nobody)
        }
        None => index,
    };
    let numbers: Vec<i64> = (0..k as i64).collect();
    let attributes = vec![ints("keys_int64s", &numbers), texts("values_strings", labels), text("default_string", "")];
    let name = g.node_ml("LabelEncoder", &[&index], attributes);
    g.output(
        "predicted",
        &name,
        Element::Text,
        ROWS,
        "the most probable class; \"\" for a row that cannot be predicted",
    );
    for (column, value, what) in [
        ("entropy", &total, "entropy of the probabilities in nats: the whole uncertainty of the class"),
        (
            "aleatoric_entropy",
            &aleatoric,
            "mean entropy of the networks and their draws in nats: what no data takes away",
        ),
        (
            "mutual_information",
            &epistemic,
            "mutual information of class and network in nats: uncertainty for want of data",
        ),
    ] {
        let value = or_nan(g, value, valid, false, Element::Float);
        g.output(column, &value, Element::Float, ROWS, what);
    }
    let Some(calibration) = calibration else { return };
    let sets = calibration.sets.unwrap_or(Sets::Aps);
    // Thresholds are of the probabilities before the temperature.
    let scores = scores(g, sets, &uncalibrated);
    for level in &calibration.levels {
        let q = g.scalar(level.q());
        let mut inside = g.node("LessOrEqual", &[&scores, &q]);
        if let Some(valid) = valid {
            let valid = g.unsqueeze(valid, 1);
            inside = g.and(&inside, &valid);
        }
        let percent = level.percent();
        let what = format!("whether a class is in the conformal set that holds the class of {percent} % of new rows");
        g.output(&format!("set_{percent}"), &inside, Element::Bool, &table, &what);
    }
}

/// The conformal score of each class [n, k].
fn scores(g: &mut Graph, sets: Sets, p: &Val) -> Val {
    if sets == Sets::Lac {
        let one = g.scalar(1.0);
        return g.sub(&one, p);
    }
    // The probability of all classes more probable than it.
    let (others, own) = (g.unsqueeze(p, 1), g.unsqueeze(p, 2));
    let above = g.node("Greater", &[&others, &own]);
    let above = g.cast(&above, Element::Float);
    let parts = g.mul(&above, &others);
    g.sum_last(&parts)
}
