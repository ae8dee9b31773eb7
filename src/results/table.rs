//! Results as tables.

use super::{Better, Metric, Results, title};
use crate::tables::{Format, TextTable, full, rounded};

impl Results {
    /// One row per metric by its key: ours, and the baselines where they exist, with the digits that few rows leave.
    pub fn table(&self, ours: &str) -> TextTable {
        metrics_of(&[self], ours, |v, m| rounded(v, m.error), true)
    }

    /// The same for people who do not know the keys: names in words, shares as percentages, and each figure of ours with its
    /// standard error.
    pub fn table_in_words(&self, ours: &str) -> TextTable {
        let mut t = metrics_of(&[self], ours, in_words, true);
        for (row, m) in t.rows.iter_mut().zip(&self.metrics) {
            let arrow = row[0].strip_prefix(&m.name).unwrap_or_default().to_string();
            row[0] = title(&m.name).name + &arrow;
            row[1] = match m.unit.as_str() {
                "" => String::new(),
                "nats" => "nats per row".into(),
                target => format!("unit of {target}"),
            };
            if let (Some(error), Some(_)) = (m.error.filter(|e| e.is_finite() && *e > 0.0), m.value.value()) {
                let error = if title(&m.name).is_share { 100.0 * error } else { error };
                row[2] += &format!(" ± {}", rounded(error, Some(error)));
            }
        }
        t
    }
}

/// A share as a percentage, to the digits that its standard error leaves it.
pub fn share_of(v: f64, error: Option<f64>) -> String {
    format!("{} %", rounded(100.0 * v, Some(100.0 * error.unwrap_or(0.005)).filter(|_| v.is_finite())))
}

fn in_words(v: f64, m: &Metric) -> String {
    if title(&m.name).is_share { share_of(v, m.error) } else { rounded(v, m.error) }
}

/// The metrics of all sets in one table, for a format that is read by programs or set in a paper: with a column of sets
/// where there are several; CSV has every digit and bare names.
pub fn of_sets(sets: &[&Results], ours: &str, format: Format) -> TextTable {
    let is_csv = format == Format::Csv;
    let write = |v: f64, m: &Metric| if is_csv { full(v) } else { rounded(v, m.error) };
    metrics_of(sets, ours, write, !is_csv)
}

fn metrics_of(sets: &[&Results], ours: &str, write: impl Fn(f64, &Metric) -> String, arrows: bool) -> TextTable {
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
        let value = m.value.value().map_or_else(|| m.value.to_string(), |v| write(v, m));
        let mut row = if sets.len() > 1 { vec![set.clone()] } else { vec![] };
        row.extend([format!("{}{mark}", m.name), m.unit.clone(), value]);
        let values = [m.calibrated, m.constant, m.least_squares, m.boosting];
        for ((is_there, _), value) in beside.iter().zip(values) {
            if *is_there {
                row.push(value.map_or(String::new(), |v| write(v, m)));
            }
        }
        t.rows.push(row);
    }
    t
}

#[cfg(test)]
mod tests {
    use super::super::metric;
    use super::*;

    #[test]
    fn people_read_words_percentages_and_the_digits_that_hold() {
        let with = |name: &str, unit: &str, v: f64, error: f64, better| Metric {
            error: Some(error),
            constant: Some(1.5 * v),
            ..metric(name, unit, v, better)
        };
        let metrics = vec![
            with("rmse", "price", 48_123.4, 1_210.0, Better::Lower),
            with("coverage_90", "", 0.8641, 0.0123, Better::Neither),
            metric("ece_equal_mass", "", 0.02348, Better::Lower),
        ];
        let results = Results { set: "test".into(), rows: 500, metrics, notes: vec![], variants: vec![] };
        let t = results.table_in_words("ours");
        assert_eq!(t.rows[0], ["Typical error (RMSE) ↓", "unit of price", "48,100 ± 1,200", "72,200"]);
        assert_eq!(t.rows[1], ["Inside the 90 % intervals", "", "86.4 % ± 1.2", "129.6 %"]);
        assert_eq!(t.rows[2], ["Calibration error (ECE, 20 bins of equally many rows) ↓", "", "2.35 %", ""]);
        assert_eq!(results.table("ours").rows[0], ["rmse ↓", "price", "48,100", "72,200"]);
        let csv = of_sets(&[&results], "ours", Format::Csv);
        assert_eq!(csv.rows[0], ["rmse", "price", "48123.4", "72185.1"]);
    }
}
