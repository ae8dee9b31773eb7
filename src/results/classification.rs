//! The metrics of a classification.

use crate::method::predictive::Classification;
use crate::metrics::{self, weighted};
use crate::results::against::{Losses, Rival, TREES};
use crate::results::kind::{Better, MetricKind, Shown, Unit};
use crate::results::uncertain::{Uncertain, error_of, error_of_mean, error_of_share, few_rows};
use crate::results::words::{against_constant, confidence_verdict};
use crate::results::{ClassBaselines, Metric, Results};

/// In the order of the tables and of `class_numbers`; the last is of the members alone.
pub(super) const METRICS: [MetricKind; 7] = {
    use Better::{Higher, Lower, Neither};
    use Shown::{Always, WhenAsked};
    use Unit::{Nats, None};
    [
        MetricKind::new("accuracy", None, Higher, Always),
        MetricKind::new("nll", Nats, Lower, Always),
        MetricKind::new("brier", None, Lower, Always),
        MetricKind::new("ece_equal_mass", None, Lower, Always),
        MetricKind::new("ece_equal_width", None, Lower, WhenAsked),
        MetricKind::new("mean_entropy", Nats, Neither, WhenAsked),
        MetricKind::new("mean_mutual_information", Nats, Neither, WhenAsked),
    ]
};

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

/// `shares` are the class shares of the training rows, the constant baseline.
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
    let constant = baselines.map(|b| numbers(&b.shares.repeat(y.len())));
    let boosted = baselines.and_then(|b| b.boosted.as_ref());
    let boosting = boosted.and_then(|b| b.as_ref().ok()).map(|probs| numbers(probs));
    let mut out: Vec<Metric> = METRICS
        .iter()
        .zip(numbers(&p.probs))
        .enumerate()
        .map(|(i, (kind, v))| Metric {
            constant: constant.map(|c| c[i]),
            boosting: boosting.map(|b| b[i]),
            ..kind.of(v, "")
        })
        .collect();
    out.push(METRICS[6].of(weighted::mean(p.epistemic.iter().copied(), w), ""));
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
    let squares: Vec<f64> = p.probs.chunks(k).zip(y).map(|(row, c)| metrics::brier(row, &[*c], k)).collect();
    for m in &mut out {
        m.error = match m.name.as_str() {
            "accuracy" => m.value.value().map(|v| error_of_share(v, weighted::effective_rows(y.len(), w))),
            "nll" => error_of(&ours.nll, w),
            "brier" => error_of(&squares, w),
            "mean_entropy" => error_of(&metrics::entropy(&p.probs, k), w),
            "mean_mutual_information" => error_of(&p.epistemic, w),
            _ => None,
        };
    }
    let mut notes: Vec<String> = against_constant(&out, y.len(), "accuracy").into_iter().collect();
    notes.extend(boosted.and_then(|b| b.as_ref().err()).map(|why| format!("gradient boosting {why}")));
    let trees = boosted.and_then(|b| b.as_ref().ok()).map(|probs| Rival {
        name: "gradient boosting",
        advice: TREES,
        of: |m| m.boosting,
        losses: losses(probs),
    });
    notes.extend(trees.and_then(|r| r.does_better_in_part(&out, "accuracy", &ours, w)));
    notes.push(confidence_verdict(&conf, right));
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
    Results { set: "test".into(), rows: y.len(), metrics: out, notes, variants: vec![] }
}
