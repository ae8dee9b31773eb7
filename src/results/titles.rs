//! Metrics for people: what each is called, what it says in a sentence, and whether it is read as a percentage.

/// Words about a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// "Typical error (RMSE)".
    pub name: String,
    /// One sentence; empty for what only the name says.
    pub meaning: String,
    /// A share, which is written as 86.4 %.
    pub is_share: bool,
}

/// The words of a metric by its key: "rmse", "coverage_90", "rmse[width]" of one of several targets, "shift.nll" of another set.
pub fn title(key: &str) -> Title {
    let (key, target) = match key.strip_suffix(']').and_then(|k| k.split_once('[')) {
        Some((key, target)) => (key, Some(target)),
        None => (key, None),
    };
    let (set, key) = key.rsplit_once('.').map_or((None, key), |(set, key)| (Some(set), key));
    let (name, meaning, is_share) = of(key);
    let of_target = target.map_or(String::new(), |t| format!(", {t}"));
    let on_set = set.map_or(String::new(), |s| format!(" on {s}"));
    Title { name: format!("{name}{of_target}{on_set}"), meaning, is_share }
}

fn of(key: &str) -> (String, String, bool) {
    let fixed = |name: &str, meaning: &str, share: bool| (name.to_string(), meaning.to_string(), share);
    if let Some(known) = PLAIN.iter().find(|p| p.0 == key) {
        return fixed(known.1, known.2, known.3);
    }
    // "90" of coverage_90, or the score of auroc_entropy.
    let behind = |front: &str| key.strip_prefix(front);
    let level = |front: &str| behind(front).filter(|p| p.parse::<f64>().is_ok());
    if let Some(p) = level("set_coverage_") {
        let meaning = format!("Share of rows whose class is in the set; {p} % or more is promised.");
        return (format!("Inside the {p} % sets"), meaning, true);
    }
    if let Some(p) = level("set_size_") {
        return (format!("Classes in a {p} % set"), "Mean number of classes; one says which it is.".into(), false);
    }
    if let Some(p) = level("coverage_") {
        let meaning =
            format!("Share of true values inside their {p} % interval; {p} % where the error bars are honest.");
        return (format!("Inside the {p} % intervals"), meaning, true);
    }
    if let Some(p) = level("width_") {
        let meaning = "From end to end, on average; narrower says more, as long as the values lie inside.".into();
        return (format!("Width of the {p} % intervals"), meaning, false);
    }
    let by = |score: &str| score.replace('_', " ");
    if let Some(score) = behind("auroc_") {
        let meaning = "How often an unfamiliar row is less certain than a familiar one: 1 always, 0.5 by chance.";
        return (format!("Familiar or not, by {} (AUROC)", by(score)), meaning.into(), false);
    }
    if let Some(score) = behind("aupr_") {
        let meaning = "Area under precision against recall, familiar rows being the ones to find; 1 is perfect.";
        return (format!("Familiar or not, by {} (AUPR)", by(score)), meaning.into(), false);
    }
    if let Some(score) = behind("fpr95_") {
        let meaning = "Share of unfamiliar rows that pass where 95 % of the familiar ones do.";
        return (format!("Passed unnoticed, by {} (FPR95)", by(score)), meaning.into(), true);
    }
    fixed(&by(key), "", false)
}

/// Key, name, meaning, whether it is a share.
const PLAIN: [(&str, &str, &str, bool); 12] = [
    (
        "rmse",
        "Typical error (RMSE)",
        "Root mean squared error: how far predictions are from the true values; large misses weigh more.",
        false,
    ),
    (
        "nll",
        "Surprise (NLL)",
        "Negative log-likelihood: low where predictions are close and error bars say how close.",
        false,
    ),
    (
        "crps",
        "Error of the distribution (CRPS)",
        "Continuous ranked probability score: the mean absolute error of whole distributions; low is close and sharp.",
        false,
    ),
    (
        "mean_aleatoric_sd",
        "Noise (aleatoric sd)",
        "Mean predicted noise of the data, which more rows would not reduce.",
        false,
    ),
    (
        "mean_epistemic_sd",
        "Lack of knowledge (epistemic sd)",
        "Mean predicted uncertainty of the model itself, which more rows would reduce.",
        false,
    ),
    ("accuracy", "Right (accuracy)", "Share of rows whose most probable class is the true one.", true),
    (
        "brier",
        "Squared error of probabilities (Brier)",
        "0 where every class is right and certain, 2 where every one is wrong and certain.",
        false,
    ),
    (
        "ece_equal_mass",
        "Calibration error (ECE, 20 bins of equally many rows)",
        "How far confidence is from the share that is right, on average over 20 groups of equally many rows.",
        true,
    ),
    (
        "ece_equal_width",
        "Calibration error (ECE, 20 bins of equal width)",
        "The same over 20 groups of equal width in confidence.",
        true,
    ),
    ("mean_entropy", "Total uncertainty (entropy)", "Mean over rows; 0 is certain.", false),
    (
        "mean_mutual_information",
        "Lack of knowledge (mutual information)",
        "The part of the entropy that more rows would reduce, mean over rows.",
        false,
    ),
    (
        "ood_mean_entropy",
        "Total uncertainty on unfamiliar rows (entropy)",
        "Mean over rows; it should be higher than on the test rows.",
        false,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{classification, outside, regression};

    #[test]
    fn every_metric_has_a_name_and_a_sentence() {
        let kinds =
            regression::METRICS.iter().map(|(_, k)| k.name).chain(classification::METRICS.iter().map(|k| k.name));
        let more = ["set_coverage_90", "set_size_95", "auroc_total_sd", "aupr_entropy", "fpr95_epistemic_sd"];
        for key in kinds.chain([outside::MEAN_ENTROPY.name]).chain(more) {
            let t = title(key);
            assert!(!t.name.contains('_') && t.meaning.ends_with('.'), "{key}: {t:?}");
        }
        assert_eq!(title("coverage_90").name, "Inside the 90 % intervals");
        assert!(title("coverage_90").is_share && !title("width_90").is_share);
        assert_eq!(title("rmse[ink]").name, "Typical error (RMSE), ink");
        assert_eq!(title("fog.3.accuracy").name, "Right (accuracy) on fog.3");
        assert_eq!(title("of_a_plugin").name, "of a plugin");
    }
}
