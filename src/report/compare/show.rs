//! A comparison as tables, one line per group, and as overlaid learning curves.

use super::{Block, Comparison, Group, Spread, Summary, Wins};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::figure::{self, CurvesFigure, Series};
use crate::results::Better;
use crate::run::write_atomic;
use crate::tables::{Format, TextTable, rounded};
use crate::train::EpochRow;
use std::path::{Path, PathBuf};

impl Comparison {
    /// All blocks and win rates as one text; CSV has every spread.
    pub fn render(&self, format: Format, spread: Spread) -> String {
        if format == Format::Csv {
            return self.csv().csv();
        }
        let heading = |text: &str| match format {
            Format::Markdown => format!("### {text}\n\n"),
            Format::Latex => format!("% {text}\n"),
            _ => format!("{text}\n"),
        };
        let mut parts: Vec<String> =
            self.blocks.iter().map(|b| heading(&b.data) + &self.table(b, spread).render(format)).collect();
        if let Some(table) = self.wins.table() {
            let of =
                if self.blocks.len() == 1 { String::new() } else { format!(" over {} data sets", self.blocks.len()) };
            let text = format!("win rates{of}: share of (data, seed, split, metric) in which the row beats the column");
            parts.push(heading(&text) + &table.render(format));
        }
        parts.join("\n")
    }

    /// One block, one line per group; the best mean of a column ends in `*`.
    pub fn table(&self, block: &Block, spread: Spread) -> TextTable {
        let mut t = TextTable::new(&["method", "runs"]);
        let shown: Vec<usize> =
            (0..self.metrics.len()).filter(|&c| block.groups.iter().any(|g| g.metrics[c].is_some())).collect();
        for &c in &shown {
            let m = &self.metrics[c];
            let arrow = match m.better {
                Better::Higher => " ↑",
                Better::Lower => " ↓",
                Better::Neither => "",
            };
            // The target's unit is not the same in every block; that of nats is.
            let unit = if m.unit == "nats" { " [nats]" } else { "" };
            t.header.push(format!("{}{unit}{arrow}", m.name));
        }
        let has_wins = block.groups.iter().any(|g| g.wins.is_some());
        if has_wins {
            t.header.push("wins".into());
        }
        for g in &block.groups {
            let mut row = vec![g.label.clone(), g.runs.len().to_string()];
            row.extend(
                shown
                    .iter()
                    .map(|&c| g.metrics[c].map_or_else(|| "undefined".into(), |s| cell(s, g.runs.len(), spread))),
            );
            if has_wins {
                row.push(share(g.wins));
            }
            t.rows.push(row);
        }
        t
    }

    /// For other programs: one line per group, the mean and what stands behind it in columns of their own, every digit.
    fn csv(&self) -> TextTable {
        let mut t = TextTable::new(&["data", "method", "n", "wins"]);
        for m in &self.metrics {
            t.header.extend(["mean", "sd", "se", "low_95", "high_95"].map(|what| format!("{}_{what}", m.name)));
        }
        let full = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        for (block, g) in self.blocks.iter().flat_map(|b| b.groups.iter().map(move |g| (b, g))) {
            let mut row = vec![block.data.clone(), g.label.clone(), g.runs.len().to_string(), full(g.wins)];
            for s in &g.metrics {
                let (low, high) = s.and_then(|s| s.interval).unzip();
                let error = s.and_then(|s| s.standard_error);
                row.extend([s.map(|s| s.mean), s.and_then(|s| s.sd), error, low, high].map(full));
            }
            t.rows.push(row);
        }
        t
    }
}

impl Wins {
    fn table(&self) -> Option<TextTable> {
        if self.labels.len() < 2 {
            return None;
        }
        let mut t = TextTable::new(&["method", "all others"]);
        t.header.extend(self.labels.iter().cloned());
        for (i, label) in self.labels.iter().enumerate() {
            let mut row = vec![label.clone(), share(self.overall[i])];
            row.extend(self.against[i].iter().map(|v| share(*v)));
            t.rows.push(row);
        }
        Some(t)
    }
}

fn share(v: Option<f64>) -> String {
    v.map_or_else(|| "-".into(), |v| format!("{v:.3}"))
}

/// "1.310 ± 0.042*", to the digits that the standard error leaves; how many runs have the metric where not all do.
fn cell(s: Summary, runs: usize, spread: Spread) -> String {
    let write = |v: f64| rounded(v, s.standard_error);
    let behind = match (spread, s.sd, s.interval) {
        (Spread::Interval, _, Some((low, high))) => format!(" ({} to {})", write(low), write(high)),
        (_, Some(sd), _) => format!(" ± {}", write(spread.half(sd, s.n))),
        _ => String::new(),
    };
    let of = if s.n < runs { format!(" ({} of {runs})", s.n) } else { String::new() };
    format!("{}{behind}{of}{}", write(s.mean), if s.best { "*" } else { "" })
}

/// The table in every format and a figure of learning curves for each data set. Returns the figures.
pub fn write(dir: &Path, comparison: &Comparison, spread: Spread) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
    let formats = [("txt", Format::Text), ("md", Format::Markdown), ("tex", Format::Latex), ("csv", Format::Csv)];
    for (ending, format) in formats {
        write_atomic(&dir.join(format!("comparison.{ending}")), comparison.render(format, spread).as_bytes())?;
    }
    let mut drawn = vec![];
    for (i, block) in comparison.blocks.iter().enumerate() {
        let stem = if comparison.blocks.len() == 1 { "curves".into() } else { format!("curves-{}", i + 1) };
        if let Some(figure) = curves(block) {
            drawn.push(figure::curves(dir, &stem, &figure)?.svg);
        }
    }
    Ok(drawn)
}

type Of = fn(&EpochRow) -> Option<f64>;

/// Validation NLL by epoch; the loss on training rows where no run has a validation part.
fn curves(block: &Block) -> Option<CurvesFigure> {
    let validation: Of = |r| r.validation_nll;
    let training: Of = |r| Some(r.expected_nll);
    let of = |value: Of| -> Vec<Series> { block.groups.iter().filter_map(|g| series(g, value)).collect() };
    let (series, y_label) = match of(validation) {
        none if none.is_empty() => (of(training), "expected NLL of the training rows, nats per row"),
        some => (some, "validation NLL, nats per row"),
    };
    let title = format!("Learning curves of {}", block.data);
    let (x_label, y_label) = ("epoch".into(), y_label.into());
    (!series.is_empty()).then_some(CurvesFigure { title, x_label, y_label, log: true, series, ..Default::default() })
}

/// Mean and sd over the runs of a group at the epochs that all of them reached: a mean over fewer runs would jump where
/// one stopped early.
fn series(group: &Group, value: Of) -> Option<Series> {
    let at = |rows: &[EpochRow], epoch: u32| {
        rows.binary_search_by_key(&epoch, |r| r.epoch).ok().and_then(|i| value(&rows[i]))
    };
    let with_rows: Vec<&[EpochRow]> = group
        .members
        .iter()
        .map(|r| r.rows.as_slice())
        .filter(|rows| rows.iter().any(|r| value(r).is_some()))
        .collect();
    let mut out = Series { name: group.label.clone(), sd: (with_rows.len() > 1).then(Vec::new), ..Default::default() };
    for row in *with_rows.first()? {
        let values: Vec<f64> = with_rows.iter().filter_map(|rows| at(rows, row.epoch)).collect();
        if values.len() < with_rows.len() {
            continue;
        }
        let s = super::summary(&values);
        out.x.push(f64::from(row.epoch));
        out.y.push(s.mean);
        if let (Some(all), Some(sd)) = (&mut out.sd, s.sd) {
            all.push(sd);
        }
    }
    (!out.x.is_empty()).then_some(out)
}
