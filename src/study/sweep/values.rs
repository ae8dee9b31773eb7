//! The values of a sweep: of the grid's keys, of the seeds, and of what is left out, each checked as a recipe checks it.

use super::ask::{Axis, refuse};
use crate::error::{Error, Result};
use crate::method::check_name;
use crate::recipe::{Recipe, keys};
use std::path::Path;
use toml::{Table, Value};

const MOST_SEEDS: i64 = 10_000;

/// `key` if a sweep may vary it.
pub fn free<'a>(key: &'a str, place: &str) -> Result<&'a str> {
    let (found, help) = match key {
        "seed" => ("seeds stand outside of the grid", "write seeds = [1, 2, 3], or --seeds 1,2,3"),
        "name" => ("each run gets its name from the grid", "leave it out"),
        _ => return Ok(key),
    };
    Err(Error::usage(format!("{place}: {key}"), found, "", help))
}

/// "a.b" -> value, of nested and dotted keys alike.
fn flat<'a>(table: &'a Table, prefix: &str, out: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => flat(inner, &path, out),
            value => out.push((path, value)),
        }
    }
}

pub fn axes(grid: &Table, place: &str, folder: &Path) -> Result<Vec<Axis>> {
    let mut found = vec![];
    flat(grid, "", &mut found);
    found.into_iter().map(|(key, value)| axis(key, value, place, folder)).collect()
}

fn axis(key: String, value: &Value, place: &str, folder: &Path) -> Result<Axis> {
    free(&key, place)?;
    if keys::find(&key).is_none() {
        return Err(keys::unknown(&key, place));
    }
    let Value::Array(list) = value else {
        let help = format!("write {key} = [{value}], or put it outside of [grid] if it is the same for all runs");
        return Err(Error::usage(format!("{place}: {key}"), format!("{value} is no list"), "a list of values", help));
    };
    let admitted = list.iter().map(|v| admit(&key, v, place, folder)).collect::<Result<Vec<_>>>()?;
    let values = distinct(admitted, &format!("{place}: {key}"))?;
    Ok(Axis { key, values })
}

/// One value as the recipe stores it.
fn admit(key: &str, value: &Value, place: &str, folder: &Path) -> Result<Value> {
    let mut table = keys::check(&single(key, value.clone()), place)?;
    check_name(&table, place)?;
    Recipe::anchor(&mut table, folder);
    take(&table, key).ok_or_else(|| keys::unknown(key, place))
}

/// A recipe of this key alone.
pub fn single(key: &str, value: Value) -> Table {
    match key.split_once('.') {
        Some((section, name)) => {
            let inner = Table::from_iter([(name.to_string(), value)]);
            Table::from_iter([(section.to_string(), Value::Table(inner))])
        }
        None => Table::from_iter([(key.to_string(), value)]),
    }
}

pub fn take(table: &Table, key: &str) -> Option<Value> {
    match key.split_once('.') {
        Some((section, name)) => table.get(section)?.get(name).cloned(),
        None => table.get(key).cloned(),
    }
}

pub fn distinct(values: Vec<Value>, place: &str) -> Result<Vec<Value>> {
    if values.is_empty() {
        return Err(Error::usage(place, "no values", "", "give one or more"));
    }
    for (i, value) in values.iter().enumerate() {
        if values[..i].contains(value) {
            return Err(Error::usage(place, format!("{value} stands twice"), "", "keep one of them"));
        }
    }
    Ok(values)
}

/// A number counts from 1; a list names them.
pub fn seeds(value: &Value, place: &str) -> Result<Vec<u32>> {
    let place = if place.starts_with("--") { place.to_string() } else { format!("{place}: seeds") };
    let wrong = || {
        let allowed = format!("how many (1 to {MOST_SEEDS}), or which: [1, 2, 3]");
        Error::usage(place.as_str(), format!("{value} is not allowed"), allowed, "")
    };
    match value {
        Value::Integer(n) if (1..=MOST_SEEDS).contains(n) => Ok((1..=*n as u32).collect()),
        Value::Array(list) if list.len() <= MOST_SEEDS as usize => {
            let list = distinct(list.clone(), &place)?;
            list.iter().map(|v| v.as_integer().and_then(|i| u32::try_from(i).ok()).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}

type Known<'a> = (&'a [Axis], &'a [u32]);

pub fn without(value: &Value, place: &str, folder: &Path, known: Known) -> Result<Vec<Vec<Axis>>> {
    let tables = value.as_array().filter(|list| list.iter().all(Value::is_table));
    let tables = tables.ok_or_else(|| refuse(place, "without", value, "tables, each under [[without]]"))?;
    let one =
        |(i, table): (usize, &Table)| without_one(table, &format!("{place}, [[without]] {}", i + 1), folder, known);
    tables.iter().filter_map(Value::as_table).enumerate().map(one).collect()
}

/// Keys and values of one [[without]]; they must be the grid's, or a typing error would leave out nothing in silence.
fn without_one(table: &Table, place: &str, folder: &Path, (axes, seeds): Known) -> Result<Vec<Axis>> {
    let mut found = vec![];
    flat(table, "", &mut found);
    if found.is_empty() {
        return Err(Error::usage(place, "is empty and would leave out every run", "", "name keys of the grid in it"));
    }
    let mut out = vec![];
    for (key, value) in found {
        let list = value.as_array().cloned();
        // One value of a key that holds lists is a list itself.
        let single = keys::find(&key)
            .is_some_and(|k| matches!(k.kind, keys::ValueKind::WholeList(..) | keys::ValueKind::TextList));
        let list = match list {
            Some(list) if !single || list.iter().all(Value::is_array) => list,
            _ => vec![value.clone()],
        };
        let (values, all): (Vec<Value>, Vec<Value>) = if key == "seed" {
            (list, seeds.iter().map(|s| Value::Integer(i64::from(*s))).collect())
        } else {
            let axis = axes.iter().find(|a| a.key == key).ok_or_else(|| {
                let names = axes.iter().map(|a| a.key.as_str()).chain(["seed"]).collect::<Vec<_>>().join(", ");
                Error::usage(format!("{place}: {key}"), "is no key of the grid", names, "")
            })?;
            let admitted = list.iter().map(|v| admit(&key, v, place, folder)).collect::<Result<_>>()?;
            (admitted, axis.values.clone())
        };
        if let Some(stranger) = values.iter().find(|v| !all.contains(v)) {
            let allowed = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Error::usage(
                format!("{place}: {key}"),
                format!("{stranger} is no value of the grid"),
                allowed,
                "",
            ));
        }
        out.push(Axis { key, values });
    }
    Ok(out)
}
