//! Several targets of one table: their names, the rows that have them all, and the encoder that knows them.

use super::learn::{detect_task, fit_target};
use super::meaning::Rules;
use super::{Encoder, Kept, Missing, rows_without_missing};
use crate::data::table::Table;
use crate::data::{Task, listed, quoted};
use crate::error::{Error, Result, either};
use std::collections::HashSet;

/// The targets: as named, several with commas between them, or the last column. A column whose own name has a comma is one.
pub fn targets_of(named: Option<&str>, table: &Table) -> Result<Vec<String>> {
    let Some(named) = named else {
        return Ok(vec![table.columns.last().map_or_else(|| "-1".into(), |c| c.name.clone())]);
    };
    if !named.contains(',') || table.columns.iter().any(|c| c.name == named) {
        return Ok(vec![named.to_string()]);
    }
    let names: Vec<String> = named.split(',').map(|name| name.trim().to_string()).collect();
    let mut seen = HashSet::new();
    for name in &names {
        if !seen.insert(table.column_index(name)?) {
            let found = format!("column {} twice in {}", quoted(name), quoted(named));
            return Err(Error::usage(
                either("data.target", "target"),
                found,
                "each column once",
                "take one of them out",
            ));
        }
    }
    Ok(names)
}

/// Columns as `--ignore` names them: one each, or several with commas between them where no column has the whole name.
pub fn names_of(named: &[String], table: &Table) -> Vec<String> {
    let is_column = |name: &str| table.columns.iter().any(|c| c.name == name);
    let parts = |name: &String| match name.contains(',') && !is_column(name) {
        true => name.split(',').map(|part| part.trim().to_string()).collect(),
        false => vec![name.clone()],
    };
    named.iter().flat_map(parts).collect()
}

/// The rows that have all targets, and how many do not.
pub fn rows_with_all(table: &Table, targets: &[String], ignore: &[String], missing: Missing) -> Result<Kept> {
    let mut all: Option<Kept> = None;
    for target in targets {
        let others = targets.iter().filter(|other| *other != target);
        let ignore: Vec<String> = ignore.iter().chain(others).cloned().collect();
        let kept = rows_without_missing(table, target, &ignore, missing)?;
        all = Some(match all {
            None => kept,
            Some(mut all) => {
                all.rows.retain(|row| kept.rows.binary_search(row).is_ok());
                all
            }
        });
    }
    let kept = all.unwrap_or(Kept { rows: vec![], dropped: table.rows() });
    if kept.rows.is_empty() {
        let found = format!("no row has all of the targets {}", listed(targets.iter().map(String::as_str)));
        return Err(Error::data(table.path.display().to_string(), found, "", "name fewer targets"));
    }
    Ok(Kept { dropped: table.rows() - kept.rows.len(), ..kept })
}

impl Encoder {
    /// `learn` for one target or several. Several must all be numbers; none is an input of another.
    pub fn learn_all(
        table: &Table,
        targets: &[String],
        task: Option<Task>,
        rules: &Rules,
        train_rows: &[usize],
    ) -> Result<(Encoder, Vec<String>)> {
        let [first, others @ ..] = targets else {
            return Err(Error::usage(either("data.target", "target"), "no column", "", "name one"));
        };
        if others.is_empty() {
            return Self::learn(table, first, task, rules, train_rows);
        }
        for target in targets {
            let column = &table.columns[table.column_index(target)?];
            if task.unwrap_or_else(|| detect_task(column)) == Task::Classification {
                let found = format!("{} targets, of which {} is classes", targets.len(), quoted(&column.name));
                let help = either(
                    "--task regression if its classes are numbers, else a run of its own for each target",
                    "choose the task regression if its classes are numbers, else a run of its own for each target",
                );
                return Err(Error::usage(
                    either("data.target", "target"),
                    found,
                    "several targets that are all numbers",
                    help,
                ));
            }
            if rules
                .ignore
                .iter()
                .any(|name| table.column_index(name).is_ok_and(|i| table.columns[i].name == column.name))
            {
                let found = format!("column {} is a target and ignored", quoted(&column.name));
                return Err(Error::usage(
                    either("data.ignore", "columns"),
                    found,
                    "",
                    either("take it out of --ignore, or choose other targets", "choose other targets"),
                ));
            }
        }
        let ignore: Vec<String> = rules.ignore.iter().chain(others).cloned().collect();
        let rules = Rules { ignore: &ignore, ..*rules };
        let (mut encoder, notes) = Self::learn(table, first, Some(Task::Regression), &rules, train_rows)?;
        for other in others {
            let column = &table.columns[table.column_index(other)?];
            encoder.dropped.retain(|dropped| dropped.name != column.name);
            encoder.more_targets.push(fit_target(table, column, Some(Task::Regression), train_rows)?);
        }
        Ok((encoder, notes))
    }
}
