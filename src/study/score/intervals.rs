//! Scores of intervals and quantiles, which need no whole distribution: coverage, width, interval score, pinball loss.

use super::columns::Numbers;
use super::{ends, numbers};
use crate::data::table::Table;
use crate::error::{Error, Result};
use crate::method::predictive::Regression;
use crate::metrics::{self, Measure};
use crate::results::{Better, LEVELS, Results, metric};

/// Central intervals as columns of numbers.
struct Ends {
    /// "_90", or nothing where the level is not known.
    suffix: String,
    level: Option<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

/// A share as in names of metrics: 90, 2.5.
fn percent(share: f64) -> String {
    format!("{}", (share * 1e4).round() / 100.0)
}

/// The interval scores of a Gaussian's central intervals, beside the coverage and width that the results have.
pub fn of_gaussians(r: &Regression, y: &[f64], results: &mut Results) {
    for level in LEVELS {
        let tail = (1.0 - level) / 2.0;
        let ends = |q: f64| (0..r.n()).map(|i| r.row(i).quantile(q)).collect::<Vec<f64>>();
        let value = metrics::interval_score(&ends(tail), &ends(1.0 - tail), y, level);
        put(results, &format!("interval_score_{}", percent(level)), value, Better::Lower);
    }
}

/// All that the file's own quantiles and intervals tell; where both they and a Gaussian give a level, the file's stand.
pub fn of_columns(table: &Table, columns: &Numbers, y: &[f64], results: &mut Results) -> Result<Vec<String>> {
    let quantiles: Vec<(f64, usize, Vec<f64>)> =
        columns.quantiles.iter().map(|&(q, c)| Ok((q, c, numbers(table, c)?))).collect::<Result<_>>()?;
    let mut all: Vec<Ends> = vec![];
    for (q, lower, low) in quantiles.iter().filter(|(q, _, _)| *q < 0.5) {
        let Some((_, upper, high)) = quantiles.iter().find(|(p, _, _)| (p + q - 1.0).abs() < 1e-9) else { continue };
        // To the digits of its name: 0.95 - 0.05 is not 0.9.
        let level = ((1.0 - 2.0 * q) * 1e9).round() / 1e9;
        in_order(table, (*lower, low.as_slice()), (*upper, high.as_slice()))?;
        all.push(Ends {
            suffix: format!("_{}", percent(level)),
            level: Some(level),
            low: low.clone(),
            high: high.clone(),
        });
    }
    let mut notes = vec![];
    for i in &columns.intervals {
        let (low, high) = (ends(table, i.lower)?, ends(table, i.upper)?);
        in_order(table, (i.lower, low.as_slice()), (i.upper, high.as_slice()))?;
        let suffix = i.level.map_or(String::new(), |l| format!("_{}", percent(l)));
        if i.level.is_none() {
            let name = &table.columns[i.lower].name;
            notes.push(format!(
                "the interval score is left out: the level of '{name}' is not known; name it with --level"
            ));
        }
        // What is called an interval stands before a pair of quantiles.
        all.retain(|e| e.suffix != suffix);
        all.push(Ends { suffix, level: i.level, low, high });
    }
    for e in &all {
        put(results, &format!("coverage{}", e.suffix), metrics::coverage(&e.low, &e.high, y), Better::Neither);
        let (width, score) = (format!("width{}", e.suffix), format!("interval_score{}", e.suffix));
        let infinite = e.low.iter().zip(&e.high).filter(|(l, h)| l.is_infinite() || h.is_infinite()).count();
        if infinite > 0 {
            // Not those of the Gaussian either, which would stand beside the coverage of these intervals.
            results.metrics.retain(|m| m.name != width && m.name != score);
            notes.push(format!("{width} and {score} left out: {infinite} of {} intervals are infinite", e.low.len()));
            continue;
        }
        put(results, &width, metrics::mean_width(&e.low, &e.high), Better::Neither);
        if let Some(level) = e.level {
            let value = metrics::interval_score(&e.low, &e.high, y, level);
            put(results, &score, value, Better::Lower);
        }
    }
    let losses: Vec<(f64, f64)> = quantiles.iter().map(|(q, _, v)| (*q, metrics::pinball(v, y, *q))).collect();
    for (q, loss) in &losses {
        put(results, &format!("pinball_{}", percent(*q)), *loss, Better::Lower);
    }
    if losses.len() > 1 {
        let mean = losses.iter().map(|l| l.1).sum::<f64>() / losses.len() as f64;
        put(results, "pinball", mean, Better::Lower);
    }
    if columns.mean.is_some() && columns.sd.is_some() && !all.is_empty() {
        let levels: Vec<String> = all.iter().filter_map(|e| e.level).map(|l| format!("{} %", percent(l))).collect();
        // coverage_verdict judged the Gaussian's.
        results.notes.retain(|n| !(n.starts_with("the error bars") && all.iter().any(|e| e.suffix == "_90")));
        notes.push(format!(
            "coverage and width of {} from the file's quantiles; nll and crps are those of one Gaussian per row",
            levels.join(", ")
        ));
    }
    Ok(notes)
}

/// The lower end must not lie above the upper one.
fn in_order(table: &Table, lower: (usize, &[f64]), upper: (usize, &[f64])) -> Result<()> {
    let Some(row) = (0..lower.1.len()).find(|&i| lower.1[i] > upper.1[i]) else { return Ok(()) };
    let name = &table.columns[upper.0].name;
    let found = format!("{} is above {name}, {}", lower.1[row], upper.1[row]);
    let place = table.place(row, &table.columns[lower.0].name);
    Err(Error::data(place, found, "the lower end of the interval", "exchange the two columns, or mend the row"))
}

fn put(results: &mut Results, name: &str, value: f64, better: Better) {
    match results.metrics.iter_mut().find(|m| m.name == name) {
        Some(m) => m.value = Measure::Value(value),
        None => results.metrics.push(metric(name, "", value, better)),
    }
}
