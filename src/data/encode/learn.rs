//! What the encoder learns from the training rows: means, sds, ranges, levels (`meaning`); and from all rows of the file:
//! the list of labels, so that a rare one that fell into the test part does not stop the run.
//! Must not touch a number of a validation or test row, but to see that a column counts or names the rows.

use super::meaning::{self, Meaning, Rules};
use super::{Dropped, Encoder, Feature, Missing, Robust, Target, number_text};
use crate::data::table::calendar;
use crate::data::table::{Cells, Column, ColumnKind, Table, Texts};
use crate::data::{Task, counted, listed, quoted};
use crate::error::{Cure, Error, Result, either};
use crate::recipe::key;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// Of training: a table of ten rows leaves eight.
pub(crate) const MIN_ROWS: usize = 6;

/// Mean, population sd, smallest and largest value; without overflow for any finite values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stats {
    pub mean: f64,
    pub sd: f64,
    pub min: f64,
    pub max: f64,
}

impl Stats {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Stats> {
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        let n = values.len() as f64;
        // Deviations from the first value are small where the values share a large offset.
        let origin = values[0];
        let mean = origin + values.iter().map(|v| v / n - origin / n).sum::<f64>();
        let largest = values.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max);
        let scaled = |v: &f64| ((v - mean) / largest).powi(2);
        let sd = if largest > 0.0 { largest * (values.iter().map(scaled).sum::<f64>() / n).sqrt() } else { 0.0 };
        Some(Stats { mean, sd, min, max })
    }

    pub fn is_constant(&self) -> bool {
        self.min == self.max || self.sd == 0.0
    }
}

/// Median and width of the middle half, as `numpy.quantile` has them (between two values in proportion); `None` without values.
/// Where the quartiles are equal half the range takes their place (RealMLP, Holzmueller et al. 2024).
pub(crate) fn quartiles(values: &[f64]) -> Option<Robust> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let at = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    let middle_half = at(0.75) - at(0.25);
    Some(Robust { median: at(0.5), width: if middle_half > 0.0 { middle_half } else { max / 2.0 - min / 2.0 } })
}

/// What to do where no column is an input.
fn more_inputs(table: &Table, rules: &Rules, dropped: &[Dropped]) -> String {
    let kind = |d: &Dropped| table.columns.iter().find(|c| c.name == d.name).and_then(|c| table.kind_of(c));
    let is_ignored = |d: &Dropped| kind(d) == Some(ColumnKind::Ignore);
    if !rules.ignore.is_empty() || dropped.iter().any(is_ignored) {
        return "add a column, or ignore fewer".into();
    }
    let is_text = |d: &&Dropped| {
        table.columns.iter().any(|c| c.name == d.name && matches!(&c.cells, Cells::Text(t) if t.levels().len() > 1))
    };
    match dropped.iter().find(is_text) {
        Some(text) => {
            let name = quoted(&text.name);
            format!(
                "add a column of numbers, or rows in which the texts of {name} repeat, so that there is something to learn from them"
            )
        }
        None => "add a column whose values differ".into(),
    }
}

/// Why each column is no input, of the first few.
fn reasons(dropped: &[Dropped]) -> String {
    const SHOWN: usize = 5;
    let said = |d: &Dropped| format!("{} {}", quoted(&d.name), d.said());
    let mut all: Vec<String> = dropped.iter().take(SHOWN).map(said).collect();
    if dropped.len() > SHOWN {
        all.push(format!("and {}", counted(dropped.len() - SHOWN, "more column")));
    }
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

impl Encoder {
    /// `target` and `ignore` are names or indices; `task` is detected if `None` (see `detect_task`); `train_rows` are rows
    /// that `rows_without_missing` kept. Columns are taken as they stand: nothing is left out by a guess, and what is not
    /// clear is an error.
    pub fn fit(
        table: &Table,
        target: &str,
        task: Option<Task>,
        ignore: &[String],
        missing: Missing,
        train_rows: &[usize],
    ) -> Result<Encoder> {
        let rules = Rules { ignore, missing, strict: true, ..Rules::default() };
        let (encoder, _) = Self::learn(table, target, task, &rules, train_rows)?;
        // Only the caller knows whether one row of new data may stop the program.
        Ok(Encoder { strict: false, ..encoder })
    }

    /// The same under `rules`; also returns what the user should know of the columns, a sentence each.
    // Long: one walk over the columns, in which each finding rests on those before it.
    pub fn learn(
        table: &Table,
        target: &str,
        task: Option<Task>,
        rules: &Rules,
        train_rows: &[usize],
    ) -> Result<(Encoder, Vec<String>)> {
        let place = || table.path.display().to_string();
        if train_rows.len() < MIN_ROWS {
            let found = format!("{} to train on", counted(train_rows.len(), "row"));
            return Err(Error::data(
                place(),
                found,
                format!("at least {MIN_ROWS}"),
                "add rows, or make the other parts smaller",
            ));
        }
        if let Some(row) = train_rows.iter().find(|&&row| row >= table.rows()) {
            let found = format!("row {row}, but the table has {} rows", table.rows());
            return Err(Error::usage(place(), found, "rows of the table", ""));
        }
        let target = table.column_index(target)?;
        let mut ignored = HashSet::new();
        for name in rules.ignore {
            let index = table.column_index(name)?;
            if index == target {
                let found = format!("column {} is the target and ignored", quoted(&table.columns[index].name));
                return Err(Error::usage(
                    place(),
                    found,
                    "",
                    either("take it out of --ignore, or choose another --target", "choose another target"),
                ));
            }
            ignored.insert(index);
        }
        let fitted_target = fit_target(table, &table.columns[target], task, train_rows)?;
        let (mut features, mut dropped, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut guessed = Vec::new();
        let inputs: Vec<(usize, &Column)> =
            table.columns.iter().enumerate().filter(|(index, _)| *index != target).collect();
        let meaning = |&(index, column): &(usize, &Column)| {
            let mut notes = Vec::new();
            let meaning = match ignored.contains(&index) {
                true => Meaning::Nothing(either("--ignore", "its tick is taken away")),
                false => meaning::of(table, column, rules, train_rows, &mut notes)?,
            };
            Ok((meaning, notes))
        };
        // The first column's fault is the one reported, whichever core finds one first.
        let meanings: Vec<Result<(Meaning, Vec<String>)>> = inputs.par_iter().map(meaning).collect();
        for ((_, column), meaning) in inputs.into_iter().zip(meanings) {
            let (meaning, said) = meaning?;
            notes.extend(said);
            let name = column.name.clone();
            match meaning {
                Meaning::Input(kind) => features.push(Feature { name, kind }),
                Meaning::Nothing(reason) => dropped.push(Dropped { name, reason }),
                Meaning::Guess(reason, kind) => {
                    guessed.push((dropped.len(), Feature { name: name.clone(), kind }));
                    dropped.push(Dropped { name, reason });
                }
            }
        }
        // Better an input that may mean nothing than none.
        if features.is_empty() {
            for (index, feature) in guessed.into_iter().rev() {
                dropped.remove(index);
                features.insert(0, feature);
            }
        }
        if features.is_empty() {
            return Err(Error::data(
                place(),
                format!("no input is left{}", reasons(&dropped)),
                "at least one column that varies",
                more_inputs(table, rules, &dropped),
            ));
        }
        let (missing, strict) = (rules.missing, rules.strict);
        Ok((
            Encoder {
                features,
                dropped,
                target: fitted_target,
                more_targets: vec![],
                target_at: 0,
                missing,
                strict,
                pixels: None,
            },
            notes,
        ))
    }
}

/// The training values that are there.
pub(crate) fn known(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&row| values[row]).filter(|v| !v.is_nan()).collect()
}

pub(crate) fn range_error(table: &Table, column: &Column, stats: Stats) -> Error {
    let place = format!("{}, column {}", table.path.display(), quoted(&column.name));
    let found = format!("values from {:e} to {:e}", stats.min, stats.max);
    Error::data(place, found, "a range within a double", "scale the column, or mark such cells missing")
}

/// Distinct values of all rows as text: in numeric order if all are whole numbers, else in alphabetical order.
pub(crate) fn labels_of(column: &Column) -> Vec<String> {
    let distinct: HashSet<String> = match &column.cells {
        Cells::Number(values) => {
            let bits: HashSet<u64> = values.iter().filter(|v| !v.is_nan()).map(|v| (v + 0.0).to_bits()).collect();
            bits.into_iter().map(|bits| number_text(f64::from_bits(bits))).collect()
        }
        Cells::Text(texts) => texts.levels().iter().cloned().collect(),
    };
    let mut labels: Vec<String> = distinct.into_iter().collect();
    sort_labels(&mut labels);
    labels
}

/// In numeric order if all are whole numbers, else in alphabetical order.
pub(crate) fn sort_labels(labels: &mut [String]) {
    labels.sort_unstable();
    let whole = |label: &String| label.parse::<f64>().ok().filter(|v| v.fract() == 0.0);
    if labels.iter().all(|label| whole(label).is_some()) {
        labels.sort_by(|a, b| whole(a).unwrap_or(0.0).total_cmp(&whole(b).unwrap_or(0.0)));
    }
}

/// Text is classes. Numbers are classes only if they are at most ten consecutive whole numbers from 0 or 1, or -1 and
/// 1: a score of 3..8 (UCI wine quality) stays a number.
pub fn detect_task(column: &Column) -> Task {
    let Cells::Number(values) = &column.cells else { return Task::Classification };
    let mut distinct: Vec<f64> = Vec::new();
    for &value in values.iter().filter(|v| !v.is_nan()) {
        if !distinct.contains(&value) {
            if distinct.len() == 10 {
                return Task::Regression;
            }
            distinct.push(value);
        }
    }
    distinct.sort_by(f64::total_cmp);
    let counts_from = |start: f64| distinct.iter().enumerate().all(|(i, &v)| v == start + i as f64);
    let is_coded = !distinct.is_empty() && (counts_from(0.0) || counts_from(1.0) || distinct == [-1.0, 1.0]);
    if is_coded { Task::Classification } else { Task::Regression }
}

/// The class of each of `rows` for `split::by_fraction`; `None` for a regression. A missing target is a class of its own.
pub fn strata(table: &Table, target: &str, task: Option<Task>, rows: &[usize]) -> Result<Option<Vec<usize>>> {
    let column = &table.columns[table.column_index(target)?];
    if task.unwrap_or_else(|| detect_task(column)) == Task::Regression {
        return Ok(None);
    }
    let mut classes: HashMap<String, usize> = HashMap::new();
    let mut class_of = |row: &usize| {
        let label = match &column.cells {
            Cells::Number(values) => number_text(values[*row]),
            Cells::Text(texts) => texts.get(*row).unwrap_or_default().to_string(),
        };
        let next = classes.len();
        *classes.entry(label).or_insert(next)
    };
    Ok(Some(rows.iter().map(&mut class_of).collect()))
}

/// Standard deviations of a target whose squares, and products of those, are numbers.
const SCALES: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

fn another_target() -> String {
    either("choose another --target", "choose another target")
}

/// Columns that can be a target, for a message: ": 'a', 'b'".
fn proposal(table: &Table, but: &str) -> String {
    let suits = |c: &&Column| {
        let repeats = match &c.cells {
            Cells::Number(values) => !meaning::counts_rows(values),
            Cells::Text(texts) => (2..=texts.len() / 4).contains(&texts.levels().len()),
        };
        c.name != but && c.missing() < c.rows() && repeats
    };
    let names: Vec<&str> = table.columns.iter().filter(suits).map(|c| c.name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(", such as {}", listed(names.into_iter())) }
}

fn are_dates(texts: &Texts) -> bool {
    texts.levels().len() > 2 && calendar::detect(texts.levels().iter().map(String::as_str)).is_some()
}

/// No task makes a date a target, so none is proposed.
fn dates_error(table: &Table, target: &str) -> Error {
    let place = format!("{}, target {}", table.path.display(), quoted(target));
    let other = proposal(table, target);
    let help = match other.is_empty() {
        false => format!("{}{other}; the date can be an input", another_target()),
        true => "add a column of numbers or classes to predict, such as the days between two dates".into(),
    };
    Error::data(place, "dates", "a number or classes to predict", help)
}

pub(crate) fn fit_target(table: &Table, column: &Column, task: Option<Task>, rows: &[usize]) -> Result<Target> {
    let place = || format!("{}, target {}", table.path.display(), quoted(&column.name));
    let name = column.name.clone();
    if let Some(&row) = rows.iter().find(|&&row| column.is_missing(row)) {
        let help = either(
            "fill it in, or use --missing drop to leave such rows out",
            "fill it in, or choose that such rows are left out",
        );
        return Err(Error::data(table.place(row, &name), "the target is missing", "a value in every row", help));
    }
    match (task.unwrap_or_else(|| detect_task(column)), &column.cells) {
        (Task::Regression, Cells::Text(texts)) if are_dates(texts) => Err(dates_error(table, &name)),
        (Task::Regression, Cells::Text(texts)) => {
            let is_text = |row: &&usize| texts.get(**row).is_some_and(|text| text.parse::<f64>().is_err());
            let row = rows.iter().find(is_text).or(rows.first()).copied().unwrap_or(0);
            let found = format!("the text {} as target of a regression", quoted(texts.get(row).unwrap_or("")));
            let help = either(
                "fix the cell, use --task classification, or choose another --target",
                "fix the cell, or choose the task classification or another target",
            );
            let classes = Cure::set(key!(data.task).path, "classification");
            Err(Error::data(table.place(row, &name), found, "numbers", help).curing(classes))
        }
        (Task::Regression, Cells::Number(values)) => {
            let stats = Stats::of(&known(values, rows));
            let Some(stats) = stats.filter(|s| !s.is_constant()) else {
                let found = format!("the same value in all {} training rows", rows.len());
                return Err(Error::data(place(), found, "a target that varies", another_target()));
            };
            let Stats { mean, sd, min, max } = stats;
            if !(mean.is_finite() && sd.is_finite() && (max - min).is_finite()) {
                return Err(range_error(table, column, stats));
            }
            if !SCALES.contains(&sd) {
                let found = format!("a standard deviation of {sd:e}");
                let help = "give it in another unit, multiplied by a power of ten";
                return Err(Error::data(place(), found, "1e-30 to 1e30", help));
            }
            Ok(Target::Regression { name, mean, sd, min, max })
        }
        (Task::Classification, cells) => {
            if task.is_none() && matches!(cells, Cells::Text(texts) if are_dates(texts)) {
                return Err(dates_error(table, &name));
            }
            let seen = match &column.cells {
                Cells::Number(values) => {
                    rows.iter().map(|&row| (values[row] + 0.0).to_bits()).collect::<HashSet<_>>().len()
                }
                Cells::Text(texts) => rows.iter().map(|&row| texts.code(row)).collect::<HashSet<_>>().len(),
            };
            if seen < 2 {
                let help = format!("add rows of another class, or {}", another_target());
                return Err(Error::data(place(), "only one class in the training rows", "at least 2 classes", help));
            }
            if seen * 2 > rows.len() {
                let found =
                    format!("{seen} classes in {} training rows: this looks like a number or an id", rows.len());
                let help = match column.cells {
                    Cells::Number(_) => either(
                        "use --task regression, or choose another --target",
                        "choose the task regression, or another target",
                    ),
                    Cells::Text(_) => format!("{}{}", another_target(), proposal(table, &name)),
                };
                let error = Error::data(place(), found, format!("up to {} classes", rows.len() / 2), help);
                return Err(match column.cells {
                    Cells::Number(_) => error.curing(Cure::set(key!(data.task).path, "regression")),
                    Cells::Text(_) => error,
                });
            }
            Ok(Target::Classes { name, labels: labels_of(column) })
        }
    }
}
