//! The preflight report of a table: what each column holds, what looks wrong, and what `vifo fit` would do with it,
//! found out by fitting the same encoder. Must not change the table and must not print; `report` lays it out. Beside it `images`,
//! the report of an image set, and what a training says of its data: `cautions` and `choices`.

pub mod cautions;
pub(crate) mod choices;
mod far;
pub mod images;
mod report;
pub mod sentence;

use crate::base::visible::shell;
use crate::data::encode::learn::{Stats, detect_task, labels_of};
use crate::data::encode::meaning::{self, Rules};
use crate::data::encode::targets::{names_of, rows_with_all, targets_of};
use crate::data::encode::{Encoder, FeatureKind, Kept, Missing, Target, number_text};
use crate::data::table::calendar::{self, Order};
use crate::data::table::{Cells, Column, Table};
use crate::data::{Task, counted, five_digits, listed, quoted};
use crate::error::{Error, Result, either};
use crate::recipe::Scaling;
use rayon::prelude::*;
use sentence::Sentence;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableReport {
    pub file: String,
    pub rows: usize,
    /// "comma", "semicolon", "tab", "bar", "spaces", or the character.
    pub delimiter: String,
    pub header: bool,
    pub columns: Vec<ColumnReport>,
    pub target: String,
    pub task: Task,
    /// Classes of a classification in the order of their labels; empty for a regression.
    pub classes: Vec<LevelCount>,
    pub warnings: Vec<Sentence>,
    /// What `fit` would do, sentence by sentence.
    pub plan: Vec<Sentence>,
    /// Whether `fit` would stop, for the reason that the plan gives.
    pub stops: bool,
    /// The command line that does it.
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnReport {
    pub name: String,
    pub kind: ColumnKind,
    pub role: Role,
    pub missing: usize,
    pub distinct: usize,
    /// Of a column of numbers with at least one value.
    pub numbers: Option<NumberReport>,
    /// Of a column of dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateReport>,
    /// The five most frequent levels of a text.
    pub levels: Vec<LevelCount>,
    /// What it becomes as an input, or why it is none; empty for the target.
    pub became: String,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    Number,
    Text,
    Date,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Input,
    Target,
    /// By the caller's wish.
    Ignored,
    /// By the program, because it cannot be an input; `became` says why.
    Unusable,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NumberReport {
    pub min: f64,
    pub mean: f64,
    pub max: f64,
    /// Population standard deviation.
    pub sd: f64,
}

/// The first and the last, as the file writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DateReport {
    pub min: String,
    pub max: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelCount {
    pub level: String,
    pub count: usize,
}

/// `target` (a name or an index) is the last column unless given; `task` is detected unless given.
pub fn inspect(table: &Table, target: Option<&str>, task: Option<Task>, rules: &Rules) -> Result<TableReport> {
    if table.columns.is_empty() {
        let place = table.path.display().to_string();
        return Err(Error::data(place, "no column", "at least two columns", "check the file"));
    }
    let named = targets_of(target, table)?;
    let places = named.iter().map(|name| table.column_index(name)).collect::<Result<Vec<_>>>()?;
    let target = places[0];
    let ignore = names_of(rules.ignore, table);
    let rules = &Rules { ignore: &ignore, ..*rules };
    let mut ignored = HashSet::new();
    for name in rules.ignore {
        ignored.insert(table.column_index(name)?);
    }
    let mut columns: Vec<ColumnReport> = table.columns.par_iter().map(column_report).collect();
    let names: Vec<String> = places.iter().map(|&i| table.columns[i].name.clone()).collect();
    let found_task = task.unwrap_or_else(|| detect_task(&table.columns[target]));
    let learnt = rows_with_all(table, &names, rules.ignore, rules.missing).and_then(|kept| {
        let (encoder, notes) = Encoder::learn_all(table, &names, task, rules, &kept.rows)?;
        Ok(Learnt { encoder, notes, kept })
    });
    for (index, column) in columns.iter_mut().enumerate() {
        let encoder = learnt.as_ref().ok().map(|l| &l.encoder);
        let is_input = encoder.is_none_or(|e| e.features.iter().any(|f| f.name == column.name));
        column.role = match () {
            () if places.contains(&index) => Role::Target,
            () if ignored.contains(&index) => Role::Ignored,
            () if is_input => Role::Input,
            () => Role::Unusable,
        };
        column.became = encoder.and_then(|e| meaning::became(e, &column.name)).unwrap_or_default();
        let kind = encoder.and_then(|e| e.features.iter().find(|f| f.name == column.name)).map(|f| &f.kind);
        if let Some(FeatureKind::Date(calendar)) = kind {
            column.kind = ColumnKind::Date;
            column.dates = dates(&table.columns[index], calendar.order);
            (column.numbers, column.levels) = (None, vec![]);
            column.notes = table.columns[index].notes().map(String::from).collect();
        }
    }
    let classes = match found_task {
        Task::Classification => class_counts(&table.columns[target]),
        Task::Regression => Vec::new(),
    };
    let mut warnings: Vec<Sentence> = table.notes.iter().cloned().map(Sentence::from).collect();
    if let Ok(learnt) = &learnt {
        warnings.extend(learnt.notes.iter().cloned().map(Sentence::from));
        warnings.extend(cautions::of(table, &learnt.encoder, &learnt.kept.rows));
    }
    let left_out: Vec<String> = columns.iter().filter(|c| c.role == Role::Ignored).map(|c| c.name.clone()).collect();
    Ok(TableReport {
        file: table.path.display().to_string(),
        rows: table.rows(),
        delimiter: match table.delimiter {
            b',' => "comma".into(),
            b';' => "semicolon".into(),
            b'\t' => "tab".into(),
            b'|' => "bar".into(),
            b' ' => "spaces".into(),
            other => char::from(other).to_string(),
        },
        header: table.header,
        stops: learnt.is_err(),
        plan: plan(table, found_task, task.is_some(), rules.missing, learnt),
        command: command(table, &names.join(","), found_task, &left_out, rules),
        target: names.join(","),
        task: found_task,
        classes,
        columns,
        warnings,
    })
}

/// What `fit` would learn if it trained on all rows.
struct Learnt {
    encoder: Encoder,
    notes: Vec<String>,
    kept: Kept,
}

const SHOWN_LEVELS: usize = 5;

/// Role aside, all about one column.
fn column_report(column: &Column) -> ColumnReport {
    let mut report = ColumnReport {
        name: column.name.clone(),
        kind: ColumnKind::Text,
        role: Role::Input,
        missing: column.missing(),
        distinct: 0,
        numbers: None,
        dates: None,
        levels: Vec::new(),
        became: String::new(),
        notes: column.notes().map(String::from).collect(),
    };
    match &column.cells {
        Cells::Number(values) => {
            report.kind = ColumnKind::Number;
            let known: Cow<[f64]> = match report.missing {
                0 => Cow::Borrowed(values),
                _ => Cow::Owned(values.iter().copied().filter(|v| !v.is_nan()).collect()),
            };
            report.distinct = distinct(&known);
            if let Some(stats) = Stats::of(&known) {
                report.numbers = Some(NumberReport { min: stats.min, mean: stats.mean, max: stats.max, sd: stats.sd });
                report.notes.extend(number_notes(&known, stats));
            }
        }
        Cells::Text(texts) => {
            report.distinct = texts.levels().len();
            let mut levels: Vec<(&str, usize)> =
                texts.levels().iter().map(String::as_str).zip(texts.counts()).collect();
            let by_count = |a: &(&str, usize), b: &(&str, usize)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
            // Texts that are all different can be as many as the rows.
            if levels.len() > SHOWN_LEVELS {
                levels.select_nth_unstable_by(SHOWN_LEVELS, by_count);
                levels.truncate(SHOWN_LEVELS);
            }
            levels.sort_by(by_count);
            report.levels = levels.iter().map(|&(level, count)| LevelCount { level: level.into(), count }).collect();
        }
    }
    report
}

fn dates(column: &Column, order: Order) -> Option<DateReport> {
    let texts: Vec<String> = match &column.cells {
        Cells::Number(values) => values.iter().filter(|v| !v.is_nan()).map(|v| number_text(*v)).collect(),
        Cells::Text(texts) => texts.levels().to_vec(),
    };
    let dated = texts.iter().filter_map(|text| Some((calendar::parse(text, order)?.instant(), text)));
    let (mut first, mut last) = (None, None);
    for date in dated {
        first = Some(first.filter(|f: &(f64, &String)| f.0 <= date.0).unwrap_or(date));
        last = Some(last.filter(|l: &(f64, &String)| l.0 >= date.0).unwrap_or(date));
    }
    Some(DateReport { min: first?.1.clone(), max: last?.1.clone() })
}

/// How many different numbers there are. They are spread over lists that a core's cache holds, and sorted there.
fn distinct(known: &[f64]) -> usize {
    /// Numbers of a list, about.
    const LIST: usize = 1024;
    let n_bits = (known.len() / LIST).max(2).ilog2();
    // -0 and 0 are one value.
    let bits = |v: &f64| (v + 0.0).to_bits();
    let list_of = |bits: u64| (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - n_bits)) as usize;
    let mut next = vec![0; (1 << n_bits) + 1];
    known.iter().for_each(|v| next[list_of(bits(v)) + 1] += 1);
    (1..next.len()).for_each(|list| next[list] += next[list - 1]);
    let mut spread = vec![0; known.len()];
    for v in known {
        let at = &mut next[list_of(bits(v))];
        spread[*at] = bits(v);
        *at += 1;
    }
    let (mut start, mut n) = (0, 0);
    for &end in &next[..1 << n_bits] {
        let list = &mut spread[start..end];
        list.sort_unstable();
        n += list.chunk_by(|a, b| a == b).count();
        start = end;
    }
    n
}

fn number_notes(known: &[f64], stats: Stats) -> Vec<String> {
    if stats.is_constant() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let z = |v: &f64| (v - stats.mean) / stats.sd;
    let skewness = known.iter().map(|v| z(v).powi(3)).sum::<f64>() / known.len() as f64;
    if skewness.abs() > 3.0 {
        notes.push(format!("heavy skew ({skewness:.1}): a logarithm may help"));
    }
    notes
}

fn class_counts(column: &Column) -> Vec<LevelCount> {
    let counts = cautions::class_counts(column);
    let labels = labels_of(column).into_iter();
    labels.map(|level| LevelCount { count: counts.get(&level).copied().unwrap_or(0), level }).collect()
}

/// What the encoder makes of all rows; an error becomes a sentence, for the report must appear all the same.
fn plan(table: &Table, task: Task, is_forced: bool, missing: Missing, learnt: Result<Learnt>) -> Vec<Sentence> {
    let Learnt { encoder, kept, .. } = match learnt {
        Ok(learnt) => learnt,
        Err(error) => {
            return vec![error.cures().iter().cloned().fold(Sentence::from(error.to_string()), Sentence::curing)];
        }
    };
    let found = either("detected; --task overrides", "as found");
    let learn = |what: String| match is_forced {
        true => Sentence::from(format!("{what} ({task}, as asked).")),
        false => Sentence::from(format!("{what} ({task}, {found}).")),
    };
    let mut plan: Vec<Sentence> = Vec::new();
    for target in encoder.targets() {
        let name = quoted(target.name());
        match target {
            Target::Regression { min, max, .. } => {
                let (min, max) = (five_digits(*min), five_digits(*max));
                plan.push(learn(format!("Learn {name} as a number from {min} to {max}")));
            }
            Target::Classes { labels, .. } => {
                plan.push(learn(format!("Learn {name} as one of {} classes", labels.len())));
            }
        }
    }
    let columns = counted(encoder.features.len(), "column");
    plan.push(format!("Use {} from {columns}.", counted(encoder.n_inputs(), "input")).into());
    if !encoder.dropped.is_empty() {
        plan.push(format!("Leave out {}.", listed(encoder.dropped.iter().map(|d| d.name.as_str()))).into());
    }
    if kept.dropped > 0 {
        let n = format!("{} of {} rows", kept.dropped, table.rows());
        plan.push(match missing.fills() {
            true => format!("Leave out {n} without a target.").into(),
            false => {
                let flag = either(format!(" (--missing {missing})"), "");
                format!("Drop {n} for missing cells{flag}.").into()
            }
        });
    }
    plan
}

/// The command line that reads the table in the same way and fits it.
fn command(table: &Table, target: &str, task: Task, ignore: &[String], rules: &Rules) -> String {
    let mut words = vec!["vifo fit".to_string(), shell(&table.path.display().to_string())];
    let mut flag = |name: &str, value: &str| words.push(format!("{name} {}", shell(value)));
    if let Some(path) = &table.beside {
        flag("--target-file", &path.display().to_string());
    }
    flag("--target", target);
    flag("--task", &task.to_string());
    for name in ignore {
        flag("--ignore", name);
    }
    if rules.missing != if rules.strict { Missing::Error } else { Missing::default() } {
        flag("--missing", &rules.missing.to_string());
    }
    if rules.scaling != Scaling::default() {
        flag("--scaling", &rules.scaling.to_string());
    }
    if rules.max_levels != meaning::MAX_LEVELS {
        flag("--max-levels", &rules.max_levels.to_string());
    }
    if let Some(most) = rules.embed_above {
        flag("--embed-above", &most.to_string());
    }
    let options = &table.options;
    if let Some(delimiter) = options.delimiter {
        let name = if delimiter == b'\t' { "tab".into() } else { char::from(delimiter).to_string() };
        flag("--delimiter", &name);
    }
    if let Some(header) = options.header {
        flag("--header", if header { "yes" } else { "no" });
    }
    if options.skip_lines > 0 {
        flag("--skip-lines", &options.skip_lines.to_string());
    }
    for name in &options.text_columns {
        flag("--text-column", name);
    }
    for (name, kind) in &options.kinds {
        flag("--as", &format!("{name}={kind}"));
    }
    for marker in options.missing_markers.iter().flatten() {
        flag("--missing-marker", marker);
    }
    if rules.strict {
        words.push("--strict".into());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests;
