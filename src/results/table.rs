//! Results as tables.

use super::{Better, Metric, Results};
use crate::tables::{Format, TextTable, full, number};

impl Results {
    /// One row per metric: ours, and the baselines where they exist.
    pub fn table(&self, ours: &str) -> TextTable {
        metrics_of(&[self], ours, number, true)
    }
}

/// The metrics of all sets in one table, for a format that is read by programs or set in a paper: with a column of sets
/// where there are several; CSV has every digit and bare names.
pub fn of_sets(sets: &[&Results], ours: &str, format: Format) -> TextTable {
    let is_csv = format == Format::Csv;
    metrics_of(sets, ours, if is_csv { full as fn(f64) -> String } else { number }, !is_csv)
}

fn metrics_of(sets: &[&Results], ours: &str, write: fn(f64) -> String, arrows: bool) -> TextTable {
    let has = |f: fn(&Metric) -> Option<f64>| sets.iter().flat_map(|r| &r.metrics).any(|m| f(m).is_some());
    let (constant, linear, calibrated) = (has(|m| m.constant), has(|m| m.least_squares), has(|m| m.calibrated));
    let mut t = TextTable::new(&["metric", "unit", ours]);
    if sets.len() > 1 {
        t.header.insert(0, "set".into());
    }
    let boosting = has(|m| m.boosting);
    let of_classes = sets.iter().flat_map(|r| &r.metrics).any(|m| m.name.starts_with("accuracy"));
    let constant_name = if of_classes { "class shares" } else { "mean baseline" };
    let beside =
        [(calibrated, "calibrated"), (constant, constant_name), (linear, "least squares"), (boosting, "boosting")];
    for (is_there, name) in beside {
        if is_there {
            t.header.push(name.into());
        }
    }
    for (set, m) in sets.iter().flat_map(|r| r.metrics.iter().map(move |m| (&r.set, m))) {
        let mark = match m.better {
            Better::Higher if arrows => " ↑",
            Better::Lower if arrows => " ↓",
            _ => "",
        };
        let value = m.value.value().map_or_else(|| m.value.to_string(), write);
        let mut row = if sets.len() > 1 { vec![set.clone()] } else { vec![] };
        row.extend([format!("{}{mark}", m.name), m.unit.clone(), value]);
        let values = [m.calibrated, m.constant, m.least_squares, m.boosting];
        for ((is_there, _), value) in beside.iter().zip(values) {
            if *is_there {
                row.push(value.map_or(String::new(), write));
            }
        }
        t.rows.push(row);
    }
    t
}
