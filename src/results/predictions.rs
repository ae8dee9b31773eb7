//! Predictions as a table: predictions.csv.

use crate::data::Ids;
use crate::data::encode::{Encoder, Target};
use crate::method::Predictive;
use crate::tables::{TextTable, full};
use rayon::prelude::*;
use std::collections::HashMap;

/// Quantiles of predictions.csv.
pub const QUANTILES: [f64; 7] = [0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975];

/// One row per prediction: id, target if known (an empty cell in a row without one: NaN), then the uncertainty in the user's units (or nats).
pub fn predictions(predictive: &Predictive, encoder: &Encoder, ids: &Ids, y: Option<&[f64]>) -> TextTable {
    let mut t = TextTable::new(&[if encoder.pixels.is_some() { "image" } else { "line" }]);
    if y.is_some() {
        t.header.push(encoder.target_name().to_string());
    }
    let has_target = y.is_some();
    match predictive {
        Predictive::Regression(r) => {
            t.header.extend(["mean", "sd", "aleatoric_sd", "epistemic_sd"].map(String::from));
            t.header.extend(QUANTILES.iter().map(|q| format!("q{}", q * 100.0)));
            distinct_target(&mut t.header, has_target);
            let of_row = |i: usize| {
                let mut row = vec![ids.get(i).unwrap_or_default()];
                row.extend(y.map(|y| if y[i].is_nan() { String::new() } else { full(y[i]) }));
                row.extend([r.mean[i], r.sd(i), r.aleatoric[i].sqrt(), r.epistemic[i].sqrt()].map(full));
                let mixture = r.row(i);
                row.extend(QUANTILES.iter().map(|q| full(mixture.quantile(*q))));
                row
            };
            t.rows = (0..r.n()).into_par_iter().map(of_row).collect();
        }
        Predictive::Classification(c) => {
            let labels: Vec<String> = match &encoder.target {
                Target::Classes { labels, .. } => labels.clone(),
                Target::Regression { .. } => vec![],
            };
            let name = |j: usize| labels.get(j).cloned().unwrap_or_else(|| j.to_string());
            t.header.push("predicted".into());
            t.header.extend((0..c.k).map(|j| format!("p_{}", name(j))));
            t.header.extend(["entropy", "aleatoric_entropy", "mutual_information"].map(String::from));
            distinct_target(&mut t.header, has_target);
            let classes = crate::metrics::confidences(&c.probs, c.k).1;
            for i in 0..classes.len() {
                let mut row = vec![ids.get(i).unwrap_or_default()];
                row.extend(y.map(|y| if y[i].is_nan() { String::new() } else { name(y[i] as usize) }));
                row.push(name(classes[i]));
                row.extend(c.probs[i * c.k..(i + 1) * c.k].iter().copied().map(full));
                row.extend([c.total[i], c.aleatoric[i], c.epistemic[i]].map(full));
                t.rows.push(row);
            }
        }
    }
    t
}

/// Adds a column "note": what there is to say of a row that was predicted (`odd`), and the reason of one that could not be,
/// which takes its place among the others, in the order of their lines; nothing without such rows. Both are id and text.
pub fn add_notes(table: &mut TextTable, odd: &[(String, String)], refused: &[(String, String)]) {
    if odd.is_empty() && refused.is_empty() {
        return;
    }
    let mut name = String::from("note");
    while table.header.contains(&name) {
        name.push('_');
    }
    table.header.push(name);
    let width = table.header.len();
    let odd: HashMap<&str, &str> = odd.iter().map(|(id, said)| (id.as_str(), said.as_str())).collect();
    for row in &mut table.rows {
        row.resize(width, String::new());
        row[width - 1] = odd.get(row[0].as_str()).unwrap_or(&"").to_string();
    }
    for (id, reason) in refused {
        let mut row = vec![String::new(); width];
        (row[0], row[width - 1]) = (id.clone(), reason.clone());
        table.rows.push(row);
    }
    table.rows.sort_by_key(|row| row[0].parse::<u64>().unwrap_or(u64::MAX));
}

/// A target named "sd" would give two columns of that name.
pub(crate) fn distinct_target(header: &mut [String], has_target: bool) {
    while has_target && header.iter().filter(|h| **h == header[1]).count() > 1 {
        header[1].push_str("_target");
    }
}
