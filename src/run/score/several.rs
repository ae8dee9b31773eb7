//! Predictions of several targets side by side, as `vifo predict` writes them for a run with several: "a_mean", "a_sd", ...
//! for target "a".

use super::Asked;
use crate::data::table::Table;
use crate::error::{Error, Result};

/// Leaves the columns of the target that is asked for, under their usual names.
pub fn keep_one(table: &mut Table, asked: &Asked) -> Result<()> {
    let has = |name: String| table.columns.iter().any(|c| c.name == name);
    let is_told = |name: &str| has(format!("{name}_mean")) && has(format!("{name}_sd"));
    let targets: Vec<String> = table.columns.iter().map(|c| c.name.clone()).filter(|name| is_told(name)).collect();
    if targets.len() < 2 || asked.mean.is_some() {
        return Ok(());
    }
    let index = asked.target.as_ref().map(|t| table.column_index(t)).transpose()?;
    let Some(target) = index.map(|i| table.columns[i].name.clone()).filter(|name| targets.contains(name)) else {
        let found = format!("predictions of {} targets: {}", targets.len(), targets.join(", "));
        let cure = format!("name one: --target {}", targets[0]);
        return Err(Error::usage(table.path.display().to_string(), found, "one target at a time", cure));
    };
    // A longer name that begins alike has columns of its own.
    let prefix = format!("{target}_");
    let of_other = |name: &str| {
        let longer = targets.iter().filter(|other| other.starts_with(&prefix));
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
