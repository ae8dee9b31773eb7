//! The numbers of the runs that are done: one line per setting with mean and sd over its seeds and splits, one line per run.

use super::ask::SweepRequest;
use super::folder::SweepFolder;
use super::grid::{SweepRun, for_people};
use crate::base::fs;
use crate::error::Result;
use crate::metrics::Measure;
use crate::report::compare::{Column, Summary, columns, is_main, short, shown, summary};
use crate::results::{Better, Metric, Results};
use crate::study::run_set::RunStatus;
use crate::tables::{TextTable, number};
use std::collections::HashMap;
use toml::Value;

/// A key that makes no setting of its own: splits are repetitions, as seeds are.
pub const SPLIT: &str = "data.split";
pub const VALIDATION: &str = "validation_nll";

/// A run and how far it is.
pub struct Row {
    pub run: SweepRun,
    pub state: RunStatus,
    /// Of a run that is done; without test rows only what the validation rows say.
    pub results: Option<Results>,
    /// Of training.
    pub seconds: Option<f64>,
}

/// The runs of one setting.
pub struct Line {
    /// One for each axis but the split.
    pub values: Vec<Value>,
    pub done: usize,
    pub of: usize,
    /// Name of the first run that is done.
    pub first: Option<String>,
    /// One for each column.
    pub metrics: Vec<Option<Summary>>,
}

pub struct Tables {
    pub rows: Vec<Row>,
    /// Keys of the lines.
    pub keys: Vec<String>,
    pub lines: Vec<Line>,
    pub columns: Vec<Column>,
}

pub fn tables(folder: &SweepFolder, request: &SweepRequest, runs: Vec<SweepRun>) -> Result<Tables> {
    let rows = runs.into_iter().map(|run| row(folder, run)).collect::<Result<Vec<_>>>()?;
    let columns = wanted(&rows, &request.metrics)?;
    let at: Vec<usize> = (0..request.axes.len()).filter(|&i| request.axes[i].key != SPLIT).collect();
    let keys: Vec<String> = at.iter().map(|&i| request.axes[i].key.clone()).collect();
    let values = |row: &Row| at.iter().map(|&i| row.run.values[i].clone()).collect::<Vec<_>>();
    let mut members: Vec<(Vec<Value>, Vec<&Row>)> = vec![];
    // By text: values have no hash of their own.
    let mut known: HashMap<String, usize> = HashMap::new();
    for row in &rows {
        let values = values(row);
        let place = *known.entry(format!("{values:?}")).or_insert_with(|| {
            members.push((values, vec![]));
            members.len() - 1
        });
        members[place].1.push(row);
    }
    let mut lines: Vec<Line> = members.into_iter().map(|(values, of)| line(values, &of, &columns)).collect();
    mark_best(&mut lines, &keys, &columns);
    Ok(Tables { rows, keys, lines, columns })
}

fn row(folder: &SweepFolder, run: SweepRun) -> Result<Row> {
    let state = folder.state(&run)?;
    if state != RunStatus::Done {
        return Ok(Row { run, state, results: None, seconds: None });
    }
    let own = folder.run(&run);
    let tested = fs::is_file(own.file("results.json"));
    let none = Results { set: "test".into(), rows: 0, metrics: vec![], notes: vec![], variants: vec![] };
    let mut results = if tested { own.results()? } else { none };
    let epochs = own.metrics(u32::MAX)?;
    // Of the weights that were kept: the best where training may stop early, else the last.
    let mut nll = epochs.iter().filter_map(|r| r.validation_nll);
    let kept = match run.recipe.train.patience {
        Some(0) => nll.next_back(),
        _ => nll.min_by(f64::total_cmp),
    };
    let metric = |value| Metric {
        name: VALIDATION.into(),
        unit: "nats".into(),
        value: Measure::Value(value),
        error: None,
        constant: None,
        calibrated: None,
        least_squares: None,
        boosting: None,
        better: Better::Lower,
    };
    results.metrics.splice(0..0, kept.map(metric));
    Ok(Row { run, state, results: Some(results), seconds: epochs.last().map(|r| r.seconds) })
}

/// The validation NLL, by which to choose, then the main metrics of the test; or what is named.
fn wanted(rows: &[Row], names: &[String]) -> Result<Vec<Column>> {
    let results = || rows.iter().filter_map(|r| r.results.as_ref());
    if results().next().is_none() {
        return Ok(vec![]);
    }
    if !names.is_empty() {
        return columns(results(), names);
    }
    let all = columns(results(), &["all".to_string()])?;
    // Of several targets the metrics of each.
    let is_main = |name: &str| results().flat_map(|r| &r.metrics).any(|m| m.name == name && is_main(m));
    Ok(all.into_iter().filter(|c| c.name == VALIDATION || is_main(&c.name)).collect())
}

fn line(values: Vec<Value>, of: &[&Row], columns: &[Column]) -> Line {
    let results: Vec<&Results> = of.iter().filter_map(|r| r.results.as_ref()).collect();
    let one = |column: &Column| {
        let values: Vec<f64> = results.iter().filter_map(|r| r.get(&column.name)).collect();
        (!values.is_empty()).then(|| summary(&values))
    };
    let first = of.iter().find(|r| r.results.is_some()).map(|r| r.run.name.clone());
    Line { values, done: results.len(), of: of.len(), first, metrics: columns.iter().map(one).collect() }
}

/// The best mean among the lines of the same data.
fn mark_best(lines: &mut [Line], keys: &[String], columns: &[Column]) {
    let data: Vec<Vec<Value>> = lines
        .iter()
        .map(|l| l.values.iter().zip(keys).filter(|(_, k)| k.starts_with("data.")).map(|(v, _)| v.clone()).collect())
        .collect();
    for (c, column) in columns.iter().enumerate().filter(|(_, c)| c.better != Better::Neither) {
        let sign = if column.better == Better::Higher { 1.0 } else { -1.0 };
        for i in 0..lines.len() {
            let rivals = (0..lines.len()).filter(|&j| data[j] == data[i]).filter_map(|j| lines[j].metrics[c]);
            let means: Vec<f64> = rivals.map(|s| sign * s.mean).collect();
            let highest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // One alone is not the best of anything, nor are all.
            let someone_is_worse = means.iter().any(|m| *m < highest);
            if let Some(s) = &mut lines[i].metrics[c] {
                s.best = someone_is_worse && sign * s.mean == highest;
            }
        }
    }
}

impl Tables {
    /// Mean ± sd of each setting; the best mean ends in `*`.
    pub fn text(&self) -> TextTable {
        let mut t = TextTable::default();
        t.header.extend(self.keys.iter().map(|k| short_name(k)));
        t.header.push("runs".into());
        for c in &self.columns {
            let arrow = match c.better {
                Better::Higher => " ↑",
                Better::Lower => " ↓",
                Better::Neither => "",
            };
            let unit = if c.unit == "nats" { " [nats]" } else { "" };
            t.header.push(format!("{}{unit}{arrow}", c.name));
        }
        for line in &self.lines {
            let mut row: Vec<String> = self.keys.iter().zip(&line.values).map(|(k, v)| for_people(k, v)).collect();
            let all = line.done == line.of;
            row.push(if all { line.of.to_string() } else { format!("{} of {}", line.done, line.of) });
            row.extend(line.metrics.iter().map(|s| s.map_or_else(|| "-".into(), |s| cell(&s))));
            t.rows.push(row);
        }
        t
    }

    /// For other programs: keys in full, mean and sd in columns of their own, every digit.
    pub fn csv(&self) -> TextTable {
        let mut t = TextTable::default();
        t.header.extend(self.keys.iter().cloned());
        t.header.extend(["runs".into(), "runs_asked".into()]);
        for c in &self.columns {
            t.header.extend(["mean", "sd"].map(|what| format!("{}_{what}", c.name)));
        }
        for line in &self.lines {
            let mut row: Vec<String> = line.values.iter().map(shown).collect();
            row.extend([line.done.to_string(), line.of.to_string()]);
            for s in &line.metrics {
                row.extend([full(s.map(|s| s.mean)), full(s.and_then(|s| s.sd))]);
            }
            t.rows.push(row);
        }
        t
    }

    /// One line per run with everything that is known of it.
    pub fn runs(&self, request: &SweepRequest) -> TextTable {
        let mut metrics: Vec<&str> = vec![];
        for m in self.rows.iter().filter_map(|r| r.results.as_ref()).flat_map(|r| &r.metrics) {
            if !metrics.contains(&m.name.as_str()) {
                metrics.push(&m.name);
            }
        }
        let mut t = TextTable::new(&["number", "run"]);
        t.header.extend(request.axes.iter().map(|a| a.key.clone()));
        t.header.extend(["seed", "state", "seconds"].map(String::from));
        t.header.extend(metrics.iter().map(|m| m.to_string()));
        for row in &self.rows {
            let mut cells = vec![row.run.number.to_string(), row.run.name.clone()];
            cells.extend(row.run.values.iter().map(shown));
            cells.extend([row.run.seed.to_string(), row.state.word().into(), full(row.seconds)]);
            cells.extend(metrics.iter().map(|m| full(row.results.as_ref().and_then(|r| r.get(m)))));
            t.rows.push(cells);
        }
        t
    }
}

/// "method" for method.name, "eta" for method.eta where no other section has one.
pub fn short_name(key: &str) -> String {
    key.strip_suffix(".name").unwrap_or(short(key)).into()
}

fn full(v: Option<f64>) -> String {
    v.map_or(String::new(), |v| v.to_string())
}

fn cell(s: &Summary) -> String {
    let sd = s.sd.map_or(String::new(), |sd| format!(" ± {}", number(sd)));
    format!("{}{sd}{}", number(s.mean), if s.best { "*" } else { "" })
}
