//! The metrics of out-of-distribution detection.

use crate::error::either;
use crate::method::predictive::{Classification, Regression};
use crate::metrics;
use crate::results::kind::{Better, MetricKind, Shown, Unit};
use crate::results::{Metric, Results, metric};

pub(super) const MEAN_ENTROPY: MetricKind =
    MetricKind::new("ood_mean_entropy", Unit::Nats, Better::Higher, Shown::WhenAsked);

/// What rows are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Score {
    MaxProbability,
    Entropy,
    MutualInformation,
    TotalSd,
    EpistemicSd,
}

const SCORES: [Score; 5] =
    [Score::MaxProbability, Score::Entropy, Score::MutualInformation, Score::TotalSd, Score::EpistemicSd];

impl Score {
    /// In names of metrics.
    fn name(self) -> &'static str {
        match self {
            Score::MaxProbability => "max_probability",
            Score::Entropy => "entropy",
            Score::MutualInformation => "mutual_information",
            Score::TotalSd => "total_sd",
            Score::EpistemicSd => "epistemic_sd",
        }
    }

    /// For people.
    fn title(self) -> &'static str {
        match self {
            Score::MaxProbability => "max probability",
            Score::Entropy => "entropy",
            Score::MutualInformation => "mutual information",
            Score::TotalSd => "total sd",
            Score::EpistemicSd => "epistemic sd",
        }
    }
}

/// The AUROC of each score among the metrics, with the score's title.
pub fn aurocs(metrics: &[Metric]) -> impl Iterator<Item = (&'static str, f64)> {
    metrics.iter().filter_map(|m| {
        let by = m.name.strip_prefix("auroc_")?;
        let score = SCORES.into_iter().find(|s| s.name() == by)?;
        Some((score.title(), m.value.value()?))
    })
}

/// Absolute rounding of a mutual information: it is the difference of two entropies of up to ln k.
pub(crate) fn mutual_information_error(k: usize) -> f64 {
    metrics::ROUNDING * libm::log(k.max(2) as f64)
}

/// In- against out-of-distribution, by maximum probability, total entropy and mutual information (in-distribution positive).
pub fn ood_classification(inside: &Classification, outside: &Classification) -> Results {
    let negate = |v: &[f64]| v.iter().map(|v| -v).collect::<Vec<_>>();
    let conf = |c: &Classification| metrics::confidences(&c.probs, c.k).0;
    let mean = outside.total.iter().sum::<f64>() / outside.total.len().max(1) as f64;
    let mut out = vec![MEAN_ENTROPY.of(mean, "")];
    for (by, a, b, error) in [
        (Score::MaxProbability, conf(inside), conf(outside), 0.0),
        (Score::Entropy, negate(&inside.total), negate(&outside.total), 0.0),
        (
            Score::MutualInformation,
            negate(&inside.epistemic),
            negate(&outside.epistemic),
            mutual_information_error(inside.k),
        ),
    ] {
        out.extend(separation(by, &a, &b, error));
    }
    let notes = ood_notes(&out, inside.total.len(), outside.total.len());
    Results { set: "ood".into(), rows: outside.total.len(), metrics: out, notes, variants: vec![] }
}

/// The same by predictive sd, for a regression.
pub fn ood_regression(inside: &Regression, outside: &Regression) -> Results {
    let total = |r: &Regression| (0..r.n()).map(|i| -r.sd(i)).collect::<Vec<_>>();
    let epistemic = |r: &Regression| r.epistemic.iter().map(|v| -v.sqrt()).collect::<Vec<_>>();
    let mut out = separation(Score::TotalSd, &total(inside), &total(outside), 0.0);
    out.extend(separation(Score::EpistemicSd, &epistemic(inside), &epistemic(outside), 0.0));
    let notes = ood_notes(&out, inside.n(), outside.n());
    Results { set: "ood".into(), rows: outside.n(), metrics: out, notes, variants: vec![] }
}

fn ood_notes(metrics: &[Metric], inside: usize, outside: usize) -> Vec<String> {
    let share = inside as f64 / (inside + outside).max(1) as f64;
    let mut notes = vec![format!(
        "in-distribution rows are the positive class; chance level is AUROC 0.5, AUPR {share:.2}, FPR95 0.95"
    )];
    let best = aurocs(metrics).map(|(_, auroc)| auroc).fold(f64::NAN, f64::max);
    if best < 0.6 {
        notes.push(format!(
            "the model does not separate these rows from in-distribution ones: train VIFO with auxiliary inputs ({} 0.1 and up), \
             which raise its uncertainty where it has no data",
            either("--eta-aux", "eta_aux")
        ));
    }
    notes
}

/// `error`: as in [`metrics::Ranking::new`].
fn separation(by: Score, inside: &[f64], outside: &[f64], error: f64) -> Vec<Metric> {
    let ranking = metrics::Ranking::new(inside, outside, error);
    let measure =
        |name: &str, value, better| Metric { value, ..metric(&format!("{name}_{}", by.name()), "", 0.0, better) };
    vec![
        measure("auroc", ranking.auroc(), Better::Higher),
        measure("aupr", ranking.aupr(), Better::Higher),
        measure("fpr95", ranking.fpr95(), Better::Lower),
    ]
}
