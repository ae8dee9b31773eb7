//! Predictions of several targets side by side, as `vifo predict` writes them for a run with several: "a_mean", "a_sd", ...
//! for target "a".

use super::ScoreRequest;
use crate::data::table::Table;
use crate::error::{Error, Result};

/// Leaves the columns of the target that is asked for, under their usual names.
pub fn keep_one(table: &mut Table, request: &ScoreRequest) -> Result<()> {
    let has = |name: String| table.columns.iter().any(|c| c.name == name);
    let is_told = |name: &str| has(format!("{name}_mean")) && has(format!("{name}_sd"));
    let targets: Vec<String> = table.columns.iter().map(|c| c.name.clone()).filter(|name| is_told(name)).collect();
    if request.mean.is_some() {
        return Ok(());
    }
    let ours = predicted(table);
    if targets.is_empty() && ours.len() > 1 {
        return Err(nothing_known(table, &ours));
    }
    if targets.len() < 2 && ours.len() < 2 {
        return Ok(());
    }
    // Of several targets the only one whose true values are there.
    let only = targets.first().filter(|_| targets.len() == 1);
    let index = request.target.as_ref().or(only).map(|t| table.column_index(t)).transpose()?;
    let Some(target) = index.map(|i| table.columns[i].name.clone()).filter(|name| targets.contains(name)) else {
        let found = format!("predictions of {} targets: {}", targets.len(), targets.join(", "));
        let help = format!("name one: --target {}", targets[0]);
        return Err(Error::usage(table.path.display().to_string(), found, "one target at a time", help));
    };
    // A longer name that begins alike has columns of its own.
    let prefix = format!("{target}_");
    let of_other = |name: &str| {
        let longer = targets.iter().chain(&ours).filter(|other| other.starts_with(&prefix));
        longer.into_iter().any(|other| name == other || name.starts_with(&format!("{other}_")))
    };
    let own = |name: &str| name.strip_prefix(&prefix).filter(|_| !of_other(name)).map(String::from);
    table.columns.retain(|c| c.name == target || own(&c.name).is_some());
    for column in &mut table.columns {
        if let Some(name) = own(&column.name) {
            column.name = name;
        }
    }
    Ok(())
}

/// Targets whose predictions stand side by side as `vifo predict` writes them, whether their true values are there or not.
fn predicted(table: &Table) -> Vec<String> {
    let has = |name: String| table.columns.iter().any(|c| c.name == name);
    let is_ours = |stem: &&str| has(format!("{stem}_sd")) && has(format!("{stem}_aleatoric_sd"));
    table.columns.iter().filter_map(|c| c.name.strip_suffix("_mean")).filter(is_ours).map(String::from).collect()
}

fn nothing_known(table: &Table, targets: &[String]) -> Error {
    let first = &targets[0];
    let found =
        format!("predictions of {} targets, {}, and no column of true values", targets.len(), targets.join(", "));
    let allowed = format!("a column '{first}' of true values beside '{first}_mean'");
    let help = format!("add the true values of a target under its own name, then name it: --target {first}");
    Error::usage(table.path.display().to_string(), found, allowed, help)
}
