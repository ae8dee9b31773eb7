//! Which column of a table of predictions is what: as the user said, else by name. Must not read a cell but the labels
//! that name columns.

use super::Asked;
use crate::data::table::{Cells, Table};
use crate::error::{Error, Result};

const TARGETS: [&str; 3] = ["y", "target", "label"];
const MEANS: [&str; 1] = ["mean"];
const SDS: [&str; 4] = ["sd", "std", "sigma", VARIANCE];
pub const VARIANCE: &str = "variance";
/// Columns of vifo's own predictions.csv, and usual row numbers: never the target unless named.
const BESIDE: [&str; 9] =
    ["line", "id", "row", "index", "predicted", "entropy", "aleatoric_entropy", "mutual_information", "aleatoric_sd"];

/// Which column is what, by index.
#[derive(Debug, Clone)]
pub enum Columns {
    Regression { mean: usize, sd: usize },
    Classification { probs: Vec<usize>, labels: Vec<String> },
}

pub fn place(table: &Table) -> String {
    table.path.display().to_string()
}

/// What is there, for messages.
fn listed(table: &Table) -> String {
    let names = table.names();
    let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
    names.iter().take(12).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ") + &more
}

pub fn unknown(table: &Table, found: &str) -> Error {
    Error::usage(
        place(table),
        format!("{found} among {}", listed(table)),
        "columns mean and sd (or std, sigma, variance), or one column p_LABEL a class",
        "name them with --mean and --sd, or with --probs",
    )
}

pub fn find(table: &Table, asked: &Asked) -> Result<(Columns, usize)> {
    let asked_target = asked.target.as_ref().map(|t| table.column_index(t)).transpose()?;
    let probs: Vec<String> = if asked.probs.is_empty() { prefixed(table) } else { asked.probs.clone() };
    let gaussian = moments(table, asked)?;
    if gaussian.is_some() && probs.len() > 1 && asked.mean.is_none() && asked.probs.is_empty() {
        return Err(unknown(table, "both mean and sd and probabilities"));
    }
    match gaussian {
        Some((mean, sd)) if asked.probs.is_empty() => {
            let target = target(table, asked_target, &[mean, sd])?;
            Ok((Columns::Regression { mean, sd }, target))
        }
        _ if !probs.is_empty() => {
            let probs = probs.iter().map(|p| table.column_index(p)).collect::<Result<Vec<_>>>()?;
            if probs.len() < 2 {
                let found = format!("one column of probabilities, '{}'", table.columns[probs[0]].name);
                return Err(Error::usage(
                    place(table),
                    found,
                    "one column a class",
                    "add the column of the other class",
                ));
            }
            let target = target(table, asked_target, &probs)?;
            let labels = probs.iter().map(|&c| label_of(table, c)).collect();
            Ok((Columns::Classification { probs, labels }, target))
        }
        _ => bare(table, asked_target),
    }
}

/// Columns named after the labels themselves: all labels of the target column are names of columns of numbers.
fn bare(table: &Table, asked_target: Option<usize>) -> Result<(Columns, usize)> {
    let named = || (0..table.columns.len()).find(|&c| is_one_of(&table.columns[c].name, &TARGETS));
    let none = || unknown(table, "no predictions");
    let target = asked_target.or_else(named).ok_or_else(none)?;
    let is_class = |&c: &usize| {
        c != target && !is_beside(&table.columns[c].name) && matches!(table.columns[c].cells, Cells::Number(_))
    };
    let probs: Vec<usize> = (0..table.columns.len()).filter(is_class).collect();
    let labels: Vec<String> = probs.iter().map(|&c| table.columns[c].name.clone()).collect();
    let known = |row: usize| match &table.columns[target].cells {
        Cells::Text(v) => v.get(row).is_none_or(|l| class_of(l, &labels).is_some()),
        Cells::Number(v) => v[row].is_nan() || class_of(&v[row].to_string(), &labels).is_some(),
    };
    if probs.len() < 2 || !(0..table.rows()).all(known) {
        return Err(none());
    }
    Ok((Columns::Classification { probs, labels }, target))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|n| name.eq_ignore_ascii_case(n))
}

fn is_beside(name: &str) -> bool {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_quantile = name.strip_prefix('q').is_some_and(is_number);
    // lower_90, upper_90, set_90 of a calibrated run.
    let is_conformal = ["lower_", "upper_", "set_"].iter().any(|p| name.strip_prefix(p).is_some_and(is_number));
    is_one_of(name, &BESIDE) || is_one_of(name, &["epistemic_sd"]) || is_quantile || is_conformal
}

pub fn prefixed(table: &Table) -> Vec<String> {
    let names: Vec<String> = table.names().iter().filter(|n| n.starts_with("p_")).map(|n| n.to_string()).collect();
    // One alone may be anything.
    if names.len() > 1 { names } else { vec![] }
}

pub fn label_of(table: &Table, column: usize) -> String {
    let name = &table.columns[column].name;
    name.strip_prefix("p_").unwrap_or(name).to_string()
}

/// Columns of mean and sd: as asked, or by name.
pub fn moments(table: &Table, asked: &Asked) -> Result<Option<(usize, usize)>> {
    let by_name = |names: &[&str]| {
        names.iter().find_map(|n| (0..table.columns.len()).find(|&c| table.columns[c].name.eq_ignore_ascii_case(n)))
    };
    let one = |asked: &Option<String>, names: &[&str]| match asked {
        Some(name) => table.column_index(name).map(Some),
        None => Ok(by_name(names)),
    };
    Ok(one(&asked.mean, &MEANS)?.zip(one(&asked.sd, &SDS)?))
}

/// The target: as asked, by a usual name, or the only column that is nothing else.
fn target(table: &Table, asked: Option<usize>, used: &[usize]) -> Result<usize> {
    let free = |c: &usize| !used.contains(c);
    let refuse = |found: String| {
        let allowed = format!("a column of {}", listed(table));
        Err(Error::usage(place(table), found, allowed, "name the column of the true values with --target"))
    };
    if let Some(c) = asked {
        let name = &table.columns[c].name;
        return if free(&c) { Ok(c) } else { refuse(format!("'{name}' cannot be target and prediction at once")) };
    }
    let all = || (0..table.columns.len()).filter(free);
    let usual: Vec<usize> = all().filter(|&c| is_one_of(&table.columns[c].name, &TARGETS)).collect();
    let rest: Vec<usize> = all().filter(|&c| !is_beside(&table.columns[c].name)).collect();
    match (usual.as_slice(), rest.as_slice()) {
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => refuse("no column is left for the target".into()),
        ([], many) | (many, _) => {
            let names: Vec<String> = many.iter().take(5).map(|&c| format!("'{}'", table.columns[c].name)).collect();
            refuse(format!("more than one column may be the target: {}", names.join(", ")))
        }
    }
}

/// The class of a label: the same text, or the same number ("1.0" is 1).
pub fn class_of(label: &str, labels: &[String]) -> Option<usize> {
    let number = label.parse::<f64>().ok();
    let same = |l: &&String| number.is_some() && l.parse::<f64>().ok() == number;
    labels.iter().position(|l| l == label).or_else(|| labels.iter().position(|l| same(&l)))
}
