//! What the names of columns say: mean, sd, the level of a quantile, the end of an interval, the class of a
//! probability. Names are those that scikit-learn, statsmodels, R, tidymodels, Nixtla and others write. Must not know a
//! table.

pub const TARGETS: [&str; 14] = [
    "y",
    "y_true",
    "target",
    "label",
    "truth",
    "actual",
    "observed",
    "true",
    "y_test",
    "obs",
    "ground_truth",
    "true_label",
    "y_actual",
    "class",
];
/// From the surest to the least sure.
pub const MEANS: [&str; 19] = [
    "mean",
    "y_pred",
    "y_mean",
    "pred_mean",
    "predicted_mean",
    "prediction_mean",
    "pred",
    "prediction",
    "predicted",
    "predictions",
    "mu",
    "loc",
    "yhat",
    "y_hat",
    "fit",
    "fitted",
    "forecast",
    "estimate",
    "point",
];
pub const SDS: [&str; 20] = [
    "sd",
    "std",
    "sigma",
    "y_std",
    "y_sd",
    "y_sigma",
    "pred_std",
    "pred_sd",
    "predicted_std",
    "predicted_sd",
    "prediction_std",
    "stdev",
    "std_dev",
    "stddev",
    "standard_deviation",
    "pred_stdev",
    "scale",
    "total_sd",
    "y_stdev",
    "se",
];
pub const VARIANCES: [&str; 8] =
    ["variance", "var", "y_var", "y_variance", "pred_var", "pred_variance", "predicted_variance", "sigma2"];
/// Of a single probability, that of the second of two classes.
pub const PROBABILITIES: [&str; 16] = [
    "p",
    "prob",
    "proba",
    "probability",
    "y_prob",
    "y_proba",
    "y_score",
    "pred_prob",
    "pred_proba",
    "prediction_proba",
    "predicted_probability",
    "predicted_prob",
    "positive_probability",
    "score",
    "p_hat",
    "phat",
];
/// Of the class that was predicted.
pub const CLASSES: [&str; 10] = [
    "predicted",
    "predicted_class",
    "predicted_label",
    "pred_class",
    "pred_label",
    "class_pred",
    "y_pred",
    "pred",
    "prediction",
    "prediction_label",
];
/// Row numbers and what vifo writes beside its predictions: never the target unless named.
pub const BESIDE: [&str; 16] = [
    "line",
    "image",
    "id",
    "row",
    "index",
    "unnamed_0",
    "fold",
    "split",
    "entropy",
    "aleatoric_entropy",
    "mutual_information",
    "aleatoric_sd",
    "epistemic_sd",
    "aleatoric_share",
    "epistemic_share",
    "note",
];

/// Lower case, every run of other characters one underscore, but for the points of numbers: "Y-Pred (97.5 %)" is
/// "y_pred_97.5".
pub fn plain(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let is_digit = |i: usize| chars.get(i).is_some_and(char::is_ascii_digit);
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        if c.is_alphanumeric() || (*c == '.' && i > 0 && is_digit(i - 1) && is_digit(i + 1)) {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.trim_end_matches('_').to_string()
}

/// What `vifo predict --explain` calls a column of its own: sd_from_1, entropy_added_2.
pub fn is_explained(name: &str) -> bool {
    const FRONTS: [&str; 4] = ["sd_from_", "sd_added_", "entropy_from_", "entropy_added_"];
    let plain = plain(name);
    FRONTS.iter().any(|front| plain.strip_prefix(front).is_some_and(|n| n.parse::<u32>().is_ok()))
}

/// The words and the numbers of a plain name: "pi_lower90" is pi, lower and 90.
fn parts(plain: &str) -> (Vec<String>, Vec<String>) {
    let (mut words, mut numbers): (Vec<String>, Vec<String>) = (vec![], vec![]);
    for piece in plain.split('_') {
        let is_number = |c: &char| c.is_ascii_digit() || *c == '.';
        let chars: Vec<char> = piece.chars().collect();
        for run in chars.chunk_by(|a, b| is_number(a) == is_number(b)) {
            let text = run.iter().collect();
            if is_number(&run[0]) { numbers.push(text) } else { words.push(text) }
        }
    }
    (words, numbers)
}

/// "0.05", "5", "05", "2.5", "025", "975" as a share; None outside of (0, 1).
fn share(text: &str) -> Option<f64> {
    let v: f64 = text.parse().ok()?;
    let share = match text.contains('.') {
        true if v < 1.0 => v,
        false if text.len() > 2 => v / 10f64.powi(text.len() as i32),
        _ => v / 100.0,
    };
    (share > 0.0 && share < 1.0).then_some(share)
}

/// Words that say nothing but that it is a prediction.
const FILLERS: [&str; 17] = [
    "y",
    "yhat",
    "pred",
    "prediction",
    "predicted",
    "pi",
    "ci",
    "bound",
    "limit",
    "interval",
    "conf",
    "conformal",
    "obs",
    "mean",
    "int",
    "forecast",
    "end",
];

/// The level of a column of quantiles: q05, q2.5, 0.05, quantile_0.9, p10, 97.5 %.
pub fn quantile(name: &str) -> Option<f64> {
    let name = name.trim();
    if let Some(percent) = name.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()) {
        return Some(percent / 100.0).filter(|q| *q > 0.0 && *q < 1.0);
    }
    if let Ok(v) = name.parse::<f64>() {
        return (v > 0.0 && v < 1.0 && name.contains('.')).then_some(v);
    }
    let (words, numbers) = parts(&plain(name));
    let [number] = numbers.as_slice() else { return None };
    let said: Vec<&str> = words.iter().map(String::as_str).filter(|w| !FILLERS.contains(w)).collect();
    match said.as_slice() {
        ["q" | "quantile" | "quant" | "pct" | "percentile" | "perc" | "pctl"] => share(number),
        // p_10 is the probability of class 10.
        ["p"] if !name.to_ascii_lowercase().contains("p_") => share(number),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Lower,
    Upper,
}

/// One end of an interval: its side, its level where the name holds it, and the other words of the name.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub side: Side,
    pub level: Option<f64>,
    pub rest: Vec<String>,
}

/// lower, hi, lower_90, pi_low, obs_ci_upper, model-lo-95. Words of another kind need a level beside them: "low" alone may
/// be an end, "low_income" may not.
pub fn end(name: &str) -> Option<End> {
    const LOWER: [&str; 6] = ["lower", "low", "lo", "lwr", "lb", "lcl"];
    const UPPER: [&str; 6] = ["upper", "high", "hi", "upr", "ub", "ucl"];
    let (mut rest, numbers) = parts(&plain(name));
    let is_end = |w: &String| LOWER.contains(&w.as_str()) || UPPER.contains(&w.as_str());
    let at = rest.iter().position(is_end)?;
    let side = if LOWER.contains(&rest.remove(at).as_str()) { Side::Lower } else { Side::Upper };
    if rest.iter().any(is_end) {
        return None;
    }
    let level = match numbers.as_slice() {
        [] if rest.iter().all(|w| FILLERS.contains(&w.as_str())) => None,
        [number] => Some(share(number)?),
        _ => return None,
    };
    Some(End { side, level, rest })
}

/// The way of naming, and the class, of a column of probabilities: p_cat, prob_0, proba_cat, .pred_cat, P(cat),
/// probability(cat).
pub fn class(name: &str) -> Option<(&'static str, &str)> {
    const PREFIXES: [&str; 13] = [
        "p_",
        "prob_",
        "proba_",
        "probs_",
        "probability_",
        "y_prob_",
        "y_proba_",
        "pred_prob_",
        "pred_proba_",
        "confidence_",
        "p.",
        "prob.",
        ".pred_",
    ];
    const BRACKETS: [&str; 5] = ["p(", "prob(", "proba(", "probability(", "confidence("];
    let after = |prefix: &str| {
        let head = name.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then(|| &name[prefix.len()..]).filter(|label| !label.is_empty())
    };
    let of_prefix = PREFIXES.iter().find_map(|p| after(p).map(|label| (*p, label)));
    // tidymodels puts the predicted class and the ends of intervals beside the probabilities.
    let of_prefix = of_prefix.filter(|(p, label)| *p != ".pred_" || (*label != "class" && end(label).is_none()));
    let of_bracket = || BRACKETS.iter().find_map(|p| after(p)?.strip_suffix(')').map(|label| (*p, label.trim())));
    of_prefix.or_else(of_bracket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_plain() {
        for (name, want) in [
            ("Y-Pred (97.5 %)", "y_pred_97.5"),
            ("y_true", "y_true"),
            (" .pred ", "pred"),
            ("Std. Dev.", "std_dev"),
            ("Größe", "größe"),
            ("", ""),
        ] {
            assert_eq!(plain(name), want);
        }
    }

    #[test]
    fn b12_levels_of_quantiles_by_their_names() {
        for (name, want) in [
            ("q05", 0.05),
            ("q5", 0.05),
            ("q2.5", 0.025),
            ("q97.5", 0.975),
            ("q0.9", 0.9),
            ("Q025", 0.025),
            ("q_50", 0.5),
            ("0.05", 0.05),
            ("quantile_0.9", 0.9),
            ("quantile_90", 0.9),
            ("p10", 0.1),
            ("P97.5", 0.975),
            ("97.5%", 0.975),
            ("y_pred_q95", 0.95),
            ("percentile 5", 0.05),
        ] {
            assert!(quantile(name).is_some_and(|q| (q - want).abs() < 1e-15), "{name}: {:?}", quantile(name));
        }
        for name in ["p_10", "q", "0", "1", "1.5", "q0", "year", "quality_7", "mean", "q5_q95", "p", "lower_90"] {
            assert_eq!(quantile(name), None, "{name}");
        }
    }

    #[test]
    fn b12_ends_of_intervals_by_their_names() {
        for (name, side, level) in [
            ("lower", Side::Lower, None),
            ("hi", Side::Upper, None),
            ("lower_90", Side::Lower, Some(0.9)),
            ("upper_0.95", Side::Upper, Some(0.95)),
            ("pi_low", Side::Lower, None),
            ("obs_ci_upper", Side::Upper, None),
            ("AutoARIMA-lo-80", Side::Lower, Some(0.8)),
            ("lo80", Side::Lower, Some(0.8)),
            ("97.5_upper", Side::Upper, Some(0.975)),
            ("y_pred_lwr", Side::Lower, None),
        ] {
            let found = end(name).unwrap_or_else(|| panic!("{name} is an end"));
            assert_eq!((found.side, found.level), (side, level), "{name}");
        }
        for name in ["low_income", "slow", "lower_upper", "lower_5_95", "highway", "mean"] {
            assert_eq!(end(name), None, "{name}");
        }
    }

    #[test]
    fn b12_classes_by_their_columns() {
        for (name, want) in [
            ("p_setosa", "setosa"),
            ("prob_0", "0"),
            ("Proba_cat", "cat"),
            (".pred_cat", "cat"),
            ("P(cat)", "cat"),
            ("probability(1)", "1"),
            ("p_-1", "-1"),
        ] {
            assert_eq!(class(name).map(|c| c.1), Some(want), "{name}");
        }
        for name in [".pred_class", ".pred_lower", "p", "price", "prob_", "pred_mean"] {
            assert_eq!(class(name), None, "{name}");
        }
    }
}
