//! The report of a finished or unfinished sweep: tables and figure of the runs that are done, and the list of those that are not.

use super::ask::SweepRequest;
use super::folder::SweepFolder;
use super::grid::{SweepRun, for_people};
use super::table::{Line, SPLIT, Tables, VALIDATION, short_name, tables};
use crate::error::Result;
use crate::figure::{self, SettingsFigure, SettingsPanel, SettingsSeries};
use crate::recipe::keys;
use crate::report::compare::Column;
use crate::results::Better;
use crate::run::write_atomic;
use crate::study::run_set::RunStatus;
use crate::tables::{Format, TextTable};
use toml::Value;

pub struct SweepReport {
    title: String,
    text: TextTable,
    csv: TextTable,
    /// Whether a figure could be drawn: figures/sweep.svg and .png.
    pub figure: bool,
    pub done: usize,
    pub all: usize,
    /// Name and line of each run that failed.
    pub failed: Vec<(String, String)>,
    /// Name and state of each run that is neither done nor failed.
    pub left: Vec<(String, RunStatus)>,
    /// What to know of the table, a sentence each.
    pub notes: Vec<String>,
    /// The setting with the lowest validation NLL, "method=base eta=0.1", and the name of its first run.
    pub best: Option<(String, String)>,
}

impl SweepReport {
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Csv => self.csv.csv(),
            Format::Markdown => format!("### {}\n\n{}", self.title, self.text.render(format)),
            Format::Latex => format!("% {}\n{}", self.title, self.text.render(format)),
            Format::Text => format!("{}\n{}", self.title, self.text.render(format)),
        }
    }
}

/// Writes table.txt, .md, .tex and .csv, runs.csv and the figure of what is done.
pub fn report(folder: &SweepFolder, request: &SweepRequest, runs: Vec<SweepRun>) -> Result<SweepReport> {
    let mut notes = vec![];
    let strangers = folder.strangers(&runs)?;
    if !strangers.is_empty() {
        let n = strangers.len();
        notes.push(format!(
            "{n} run{} of an earlier grid in no table: {}",
            if n == 1 { "" } else { "s" },
            list(&strangers)
        ));
    }
    let t = tables(folder, request, runs)?;
    let (all, done) = (t.rows.len(), t.rows.iter().filter(|r| r.state == RunStatus::Done).count());
    let of_splits = if request.axes.iter().any(|a| a.key == SPLIT) { " and splits" } else { "" };
    let title = format!("{}: {done} of {all} runs, mean ± sd over seeds{of_splits}", request.name);
    let failed = t.rows.iter().filter_map(|r| match &r.state {
        RunStatus::Failed(line) => Some((r.run.name.clone(), line.clone())),
        _ => None,
    });
    let left = t.rows.iter().filter(|r| !matches!(r.state, RunStatus::Done | RunStatus::Failed(_)));
    let mut report = SweepReport {
        title,
        text: t.text(),
        csv: t.csv(),
        figure: false,
        done,
        all,
        failed: failed.collect(),
        left: left.map(|r| (r.run.name.clone(), r.state.clone())).collect(),
        notes,
        best: best(&t),
    };
    let endings = [("txt", Format::Text), ("md", Format::Markdown), ("tex", Format::Latex), ("csv", Format::Csv)];
    for (ending, format) in endings {
        write_atomic(&folder.path.join(format!("table.{ending}")), report.render(format).as_bytes())?;
    }
    write_atomic(&folder.path.join("runs.csv"), t.runs(request).csv().as_bytes())?;
    if let Some(figure) = drawn(request, &t) {
        figure::settings(&folder.path.join("figures"), "sweep", &figure)?;
        report.figure = true;
    }
    Ok(report)
}

fn list(names: &[String]) -> String {
    const MOST: usize = 3;
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MOST { format!("{shown} and {} more", names.len() - MOST) } else { shown }
}

/// By validation NLL alone: what was chosen by the test rows would no longer be tested by them.
fn best(t: &Tables) -> Option<(String, String)> {
    let c = t.columns.iter().position(|c| c.name == VALIDATION)?;
    let one_set = !t.keys.iter().any(|k| k.starts_with("data."));
    let with = t.lines.iter().filter_map(|l| Some((l, l.metrics[c]?.mean)));
    let (line, _) = with.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| one_set && t.lines.len() > 1)?;
    let words: Vec<String> =
        t.keys.iter().zip(&line.values).map(|(k, v)| format!("{}={}", short_name(k), for_people(k, v))).collect();
    Some((words.join(" "), line.first.clone()?))
}

/// More panels or curves than these say less, not more.
const MOST_PANELS: usize = 3;
const MOST_SERIES: usize = 10;

/// The metrics against the values of one key, a curve for each setting of the others.
fn drawn(request: &SweepRequest, t: &Tables) -> Option<SettingsFigure> {
    let with_direction = |c: &&(usize, &Column)| c.1.better != Better::Neither;
    let all: Vec<(usize, &Column)> = t.columns.iter().enumerate().collect();
    let has_direction = all.iter().any(|c| with_direction(&c));
    let columns: Vec<(usize, &Column)> =
        all.iter().filter(|c| !has_direction || with_direction(c)).take(MOST_PANELS).copied().collect();
    if columns.is_empty() {
        return None;
    }
    let values = |key: &str| request.axes.iter().find(|a| a.key == key).map_or(&[][..], |a| &a.values);
    // Along numbers, and along the key with most values: fewer curves.
    let x = t.keys.iter().enumerate().max_by_key(|(i, k)| {
        let n = values(k).len();
        (n > 1, is_number(k), n, std::cmp::Reverse(*i))
    });
    let along: &[Value] = x.map_or(&[], |(_, key)| values(key));
    let others = |line: &Line| -> String {
        let parts = t.keys.iter().zip(&line.values).enumerate().filter(|(i, _)| Some(*i) != x.map(|x| x.0));
        let parts = parts.filter(|(_, (k, _))| values(k).len() > 1 || *k == "method.name");
        let part = |(k, v): (&String, &Value)| {
            if k == "method.name" { for_people(k, v) } else { format!("{}={}", short_name(k), for_people(k, v)) }
        };
        parts.map(|(_, pair)| part(pair)).collect::<Vec<_>>().join(" ")
    };
    let mut names: Vec<String> = vec![];
    for line in &t.lines {
        let name = others(line);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let total = names.len();
    if total > MOST_SERIES {
        keep_best(&mut names, t, columns[0], &others);
    }
    let ticks =
        x.map_or_else(|| vec!["all runs".to_string()], |(_, key)| along.iter().map(|v| for_people(key, v)).collect());
    let panel = |&(c, column): &(usize, &Column)| {
        let at = |name: &String, i: usize| {
            let mut lines = t.lines.iter().filter(|l| others(l) == *name);
            lines.find(|l| x.is_none_or(|(k, _)| l.values[k] == along[i])).and_then(|l| l.metrics[c])
        };
        let series = |name: &String| {
            let all: Vec<_> = (0..ticks.len()).map(|i| at(name, i)).collect();
            SettingsSeries {
                name: name.clone(),
                mean: all.iter().map(|s| s.map_or(f64::NAN, |s| s.mean)).collect(),
                sd: all.iter().map(|s| s.and_then(|s| s.sd).unwrap_or(f64::NAN)).collect(),
            }
        };
        let unit = if column.unit.is_empty() { String::new() } else { format!(", {}", column.unit) };
        let better = match column.better {
            Better::Higher => " ↑",
            Better::Lower => " ↓",
            Better::Neither => "",
        };
        SettingsPanel {
            y_label: format!("{}{unit}{better}", in_words(&column.name)),
            series: names.iter().map(series).collect(),
        }
    };
    let note = if total > MOST_SERIES {
        format!("the {MOST_SERIES} best of {total} curves by {}", in_words(&columns[0].1.name))
    } else {
        String::new()
    };
    Some(SettingsFigure {
        title: format!("Sweep {}", request.name),
        note,
        x_label: x.map_or_else(String::new, |(_, key)| key.clone()),
        ordered: x.is_some_and(|(_, key)| is_number(key)),
        panels: columns.iter().map(panel).collect(),
        ticks,
    })
}

fn is_number(key: &str) -> bool {
    use keys::ValueKind::{Above, Number, Whole};
    keys::find(key).is_some_and(|k| matches!(k.kind, Whole(..) | Number(..) | Above(..)))
}

/// "validation NLL", "test accuracy", "test ECE equal mass".
fn in_words(metric: &str) -> String {
    const SHORT: [&str; 4] = ["nll", "rmse", "crps", "ece"];
    let word = |w: &str| if SHORT.contains(&w) { w.to_uppercase() } else { w.to_string() };
    let words = metric.split('_').map(word).collect::<Vec<_>>().join(" ");
    if metric == VALIDATION { words } else { format!("test {words}") }
}

fn keep_best(names: &mut Vec<String>, t: &Tables, (c, column): (usize, &Column), others: &dyn Fn(&Line) -> String) {
    let sign = if column.better == Better::Higher { -1.0 } else { 1.0 };
    let score = |name: &String| {
        let of = t.lines.iter().filter(|l| others(l) == *name).filter_map(|l| l.metrics[c]);
        of.map(|s| sign * s.mean).fold(f64::INFINITY, f64::min)
    };
    let mut ranked: Vec<(f64, String)> = names.drain(..).map(|n| (score(&n), n)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    names.extend(ranked.into_iter().take(MOST_SERIES).map(|r| r.1));
}
