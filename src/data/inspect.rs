//! The preflight report of a table: what each column holds, what looks wrong, and what `vifo fit` would do with it,
//! found out by fitting the same encoder. Must not change the table and must not print; `report` lays it out.

use super::encode::{Encoder, FeatureKind, Missing, Target, rows_without_missing};
use super::fit::{MAX_LEVELS, MIN_ROWS, Stats, detect_task, labels_of};
use super::table::{Cells, Column, Table};
use super::{Task, counted, quoted, report};
use crate::error::{Error, Result};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
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
    pub warnings: Vec<String>,
    /// What `fit` would do, sentence by sentence.
    pub plan: Vec<String>,
    /// The command line that does it.
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnReport {
    pub name: String,
    pub kind: ColumnKind,
    pub role: Role,
    pub missing: usize,
    pub distinct: usize,
    /// Of a column of numbers with at least one value.
    pub numbers: Option<NumberReport>,
    /// The five most frequent levels of a text.
    pub levels: Vec<LevelCount>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    Number,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Input,
    Target,
    /// By the caller's wish.
    Ignored,
    /// Because it cannot be an input as it is; the command says `--ignore`.
    Unusable,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NumberReport {
    pub min: f64,
    pub mean: f64,
    pub max: f64,
    /// Population standard deviation.
    pub sd: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelCount {
    pub level: String,
    pub count: usize,
}

/// `target` (a name or an index) is the last column unless given; `task` is detected unless given.
pub fn inspect(
    table: &Table,
    target: Option<&str>,
    task: Option<Task>,
    ignore: &[String],
    missing: Option<Missing>,
) -> Result<Report> {
    let target = match target {
        Some(name) => table.column_index(name)?,
        None => table.columns.len().checked_sub(1).ok_or_else(|| {
            Error::data(table.path.display().to_string(), "no column", "at least two columns", "check the file")
        })?,
    };
    let mut ignored = HashSet::new();
    for name in ignore {
        ignored.insert(table.column_index(name)?);
    }
    let mut columns: Vec<ColumnReport> = table.columns.iter().map(column_report).collect();
    for (index, column) in columns.iter_mut().enumerate() {
        column.role = match column.kind {
            _ if index == target => Role::Target,
            _ if ignored.contains(&index) => Role::Ignored,
            ColumnKind::Text if column.distinct > MAX_LEVELS => Role::Unusable,
            _ => Role::Input,
        };
    }
    let found_task = task.unwrap_or_else(|| detect_task(&table.columns[target]));
    let classes = match found_task {
        Task::Classification => class_counts(&table.columns[target]),
        Task::Regression => Vec::new(),
    };
    let warnings = warnings(table, &columns, &classes);
    let left_out = |c: &&ColumnReport| matches!(c.role, Role::Ignored | Role::Unusable);
    let left_out: Vec<String> = columns.iter().filter(left_out).map(|c| c.name.clone()).collect();
    let has_missing = columns.iter().any(|c| {
        matches!(c.role, Role::Input | Role::Target)
            && c.missing > 0
            && (c.missing < table.rows() || c.role == Role::Target)
    });
    let missing = missing.unwrap_or(if has_missing { Missing::Drop } else { Missing::Error });
    let target_name = table.columns[target].name.clone();
    Ok(Report {
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
        plan: plan(table, &target_name, found_task, task.is_some(), &left_out, missing),
        command: command(table, &target_name, found_task, &left_out, missing),
        target: target_name,
        task: found_task,
        classes,
        columns,
        warnings,
    })
}

/// Role aside, all about one column.
fn column_report(column: &Column) -> ColumnReport {
    let mut report = ColumnReport {
        name: column.name.clone(),
        kind: ColumnKind::Text,
        role: Role::Input,
        missing: column.missing(),
        distinct: 0,
        numbers: None,
        levels: Vec::new(),
        notes: column.reading.clone(),
    };
    match &column.cells {
        Cells::Number(values) => {
            report.kind = ColumnKind::Number;
            let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            let mut sorted = known.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            report.distinct = sorted.len();
            if let Some(stats) = Stats::of(&known) {
                report.numbers = Some(NumberReport { min: stats.min, mean: stats.mean, max: stats.max, sd: stats.sd });
                report.notes.extend(number_notes(&known, stats));
            }
        }
        Cells::Text(texts) => {
            report.distinct = texts.levels().len();
            let mut levels: Vec<(&str, usize)> =
                texts.levels().iter().map(String::as_str).zip(texts.counts()).collect();
            levels.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let top = levels.iter().take(5);
            report.levels = top.map(|&(level, count)| LevelCount { level: level.into(), count }).collect();
            let known = texts.len() - report.missing;
            if report.distinct == 1 {
                report.notes.push("constant".into());
            } else if report.distinct == known && known >= MIN_ROWS {
                report.notes.push("every text occurs once: an id, a date or free text".into());
            } else if report.distinct > MAX_LEVELS {
                report.notes.push(format!("more than {MAX_LEVELS} levels"));
            }
        }
    }
    if report.missing == column.rows() {
        report.notes.push("no value at all".into());
    }
    report
}

fn number_notes(known: &[f64], stats: Stats) -> Vec<String> {
    if stats.is_constant() {
        return vec!["constant".into()];
    }
    let mut notes = Vec::new();
    let counts_up = |start: f64| known.iter().enumerate().all(|(i, &v)| v == start + i as f64);
    if known.len() >= MIN_ROWS && (counts_up(0.0) || counts_up(1.0)) {
        notes.push("counts the rows: an id?".into());
    }
    let z = |v: &f64| (v - stats.mean) / stats.sd;
    let far = known.iter().filter(|v| z(v).abs() > 10.0).count();
    if far > 0 {
        notes.push(format!("{} beyond 10 sd of the mean", counted(far, "value")));
    }
    let skewness = known.iter().map(|v| z(v).powi(3)).sum::<f64>() / known.len() as f64;
    if skewness.abs() > 3.0 {
        notes.push(format!("heavy skew ({skewness:.1}): a logarithm may help"));
    }
    notes
}

fn class_counts(column: &Column) -> Vec<LevelCount> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    match &column.cells {
        Cells::Number(values) => {
            for value in values.iter().filter(|v| !v.is_nan()) {
                *counts.entry(super::encode::number_text(*value)).or_default() += 1;
            }
        }
        Cells::Text(texts) => counts.extend(texts.levels().iter().cloned().zip(texts.counts())),
    }
    let labels = labels_of(column).into_iter();
    labels.map(|level| LevelCount { count: counts.get(&level).copied().unwrap_or(0), level }).collect()
}

fn warnings(table: &Table, columns: &[ColumnReport], classes: &[LevelCount]) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_number = |(i, c): (usize, &Column)| c.name != i.to_string() && c.name.parse::<f64>().is_ok();
    if table.header && table.options.header.is_none() && table.columns.iter().enumerate().any(is_number) {
        warnings.push(
            "some column names are numbers: is the first line data (--header no) or a note (--skip-lines 1)?".into(),
        );
    }
    let copies = duplicate_rows(table);
    if copies > 0 {
        let rows = if copies == 1 { "1 row repeats".into() } else { format!("{copies} rows repeat") };
        warnings.push(format!("{rows} an earlier row: copies in the training and the test part flatter the test"));
    }
    for column in columns {
        let name = quoted(&column.name);
        let missing = counted(column.missing, "row");
        match column.role {
            Role::Target if column.missing > 0 => {
                warnings.push(format!("the target is missing in {missing}: --missing drop leaves them out"));
            }
            Role::Input if column.missing > 0 && column.missing < table.rows() => {
                warnings.push(format!("column {name} is missing in {missing}: choose --missing drop or --missing mean"))
            }
            Role::Input if column.notes.iter().any(|note| note.starts_with("counts the rows")) => {
                warnings.push(format!(
                    "column {name} counts the rows: --ignore {} if it means nothing",
                    shell(&column.name)
                ));
            }
            Role::Unusable => warnings.push(format!(
                "column {name} is text with {} levels, at most {MAX_LEVELS} can be inputs: it is ignored below",
                column.distinct
            )),
            _ => {}
        }
    }
    for class in classes.iter().filter(|c| c.count < 5).take(20) {
        warnings.push(format!("class {} has only {}", quoted(&class.level), counted(class.count, "row")));
    }
    warnings
}

/// Rows equal to an earlier one in every cell, by a 64-bit hash: a false alarm has odds below n^2 / 2^65.
fn duplicate_rows(table: &Table) -> usize {
    let mut hashes: Vec<DefaultHasher> = (0..table.rows()).map(|_| DefaultHasher::new()).collect();
    for column in &table.columns {
        for (row, hasher) in hashes.iter_mut().enumerate() {
            match &column.cells {
                Cells::Number(values) => (values[row] + 0.0).to_bits().hash(hasher),
                Cells::Text(texts) => texts.get(row).hash(hasher),
            }
        }
    }
    let distinct: HashSet<u64> = hashes.iter().map(DefaultHasher::finish).collect();
    table.rows() - distinct.len()
}

/// What the encoder makes of all rows; an error becomes a sentence, for the report must appear all the same.
fn plan(table: &Table, target: &str, task: Task, is_forced: bool, ignore: &[String], missing: Missing) -> Vec<String> {
    let fitted = rows_without_missing(table, target, ignore, missing)
        .and_then(|kept| Ok((Encoder::fit(table, target, Some(task), ignore, missing, &kept.rows)?, kept)));
    let (encoder, kept) = match fitted {
        Ok(fitted) => fitted,
        Err(error) => return vec![format!("fit would stop: {error}")],
    };
    let why = if is_forced { "as asked" } else { "detected; --task overrides" };
    let mut plan = Vec::new();
    match &encoder.target {
        Target::Regression { min, max, .. } => {
            let (min, max) = (report::number(*min), report::number(*max));
            plan.push(format!("Learn {} as a number from {min} to {max} ({task}, {why}).", quoted(target)));
        }
        Target::Classes { labels, .. } => {
            plan.push(format!("Learn {} as one of {} classes ({task}, {why}).", quoted(target), labels.len()));
        }
    }
    let is_number = |f: &&super::encode::Feature| matches!(f.kind, FeatureKind::Numeric { .. });
    let numeric = encoder.features.iter().filter(is_number).count();
    let texts = encoder.features.len() - numeric;
    let one_hot = encoder.n_inputs() - numeric;
    let mut inputs =
        format!("Use {}: {}", counted(encoder.n_inputs(), "input"), counted(numeric, "standardised number"));
    if texts > 0 {
        inputs.push_str(&format!(" and {one_hot} for the levels of {}", counted(texts, "text")));
    }
    plan.push(inputs + ".");
    for column in encoder.dropped.iter().take(10) {
        plan.push(format!("Leave out {}: {}.", quoted(&column.name), column.reason));
    }
    if encoder.dropped.len() > 10 {
        plan.push(format!("Leave out {} more columns.", encoder.dropped.len() - 10));
    }
    if kept.dropped > 0 {
        plan.push(format!("Drop {} of {} rows for missing cells (--missing {missing}).", kept.dropped, table.rows()));
    }
    plan
}

/// The command line that reads the table in the same way and fits it.
fn command(table: &Table, target: &str, task: Task, ignore: &[String], missing: Missing) -> String {
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
    if missing != Missing::Error {
        flag("--missing", &missing.to_string());
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
    if options.strict {
        words.push("--strict".into());
    }
    words.join(" ")
}

/// A word as a POSIX shell reads it back.
pub(crate) fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
