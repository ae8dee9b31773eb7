//! The grid as a list of runs, each with a recipe and a name of its own. The last key varies fastest, the seed fastest of all.

use super::ask::{Axis, SweepRequest};
use crate::error::{Error, Result};
use crate::recipe::{FILE_KEYS, Recipe};
use crate::report::compare::{short, shown};
use crate::run::place::absolute;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use toml::{Table, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct SweepRun {
    /// From 1.
    pub number: usize,
    /// Of its folder.
    pub name: String,
    /// One value for each axis.
    pub values: Vec<Value>,
    pub seed: u32,
    pub recipe: Recipe,
}

/// More would be no sweep but a typing error.
const MOST_RUNS: usize = 100_000;

impl SweepRequest {
    /// All runs, every one with a recipe that was checked.
    pub fn runs(&self) -> Result<Vec<SweepRun>> {
        let counts = self.axes.iter().map(|a| a.values.len()).chain([self.seeds.len()]);
        let all = counts.clone().try_fold(1usize, usize::checked_mul).filter(|n| *n <= MOST_RUNS);
        let Some(all) = all else {
            let product = counts.map(|n| n.to_string()).collect::<Vec<_>>().join(" x ");
            let help = "leave values out, or make several sweeps";
            return Err(Error::usage(
                self.place.as_str(),
                format!("{product} runs"),
                format!("at most {MOST_RUNS}"),
                help,
            ));
        };
        let mut runs: Vec<SweepRun> = vec![];
        for i in 0..all {
            let (values, seed) = self.combination(i);
            if self.is_without(&values, seed) {
                continue;
            }
            let name = self.run_name(&values, seed);
            let recipe = self.recipe(&name, &values, seed)?;
            runs.push(SweepRun { number: runs.len() + 1, name, values, seed, recipe });
        }
        if runs.is_empty() {
            return Err(Error::usage(self.place.as_str(), "[[without]] leaves out every run", "", "leave out fewer"));
        }
        let mut names = HashSet::new();
        match runs.iter().find(|r| !names.insert(r.name.to_lowercase())) {
            Some(twice) => {
                let found = format!("two runs would have the name {}", twice.name);
                Err(Error::usage(self.place.as_str(), found, "", "give values that differ in more than signs and case"))
            }
            None => Ok(runs),
        }
    }

    /// The values of the i-th point of the whole grid.
    fn combination(&self, mut i: usize) -> (Vec<Value>, u32) {
        let seed = self.seeds[i % self.seeds.len()];
        i /= self.seeds.len();
        let mut values = vec![];
        for axis in self.axes.iter().rev() {
            values.push(axis.values[i % axis.values.len()].clone());
            i /= axis.values.len();
        }
        values.reverse();
        (values, seed)
    }

    fn is_without(&self, values: &[Value], seed: u32) -> bool {
        let seed = Value::Integer(i64::from(seed));
        let of = |key: &str| self.axes.iter().position(|a| a.key == key).map_or(&seed, |at| &values[at]);
        self.without.iter().any(|w| w.iter().all(|a| a.values.contains(of(&a.key))))
    }

    /// "vifo-mean-eta0.1-seed2".
    fn run_name(&self, values: &[Value], seed: u32) -> String {
        const MOST: usize = 120;
        let part = |(axis, value): (&Axis, &Value)| {
            let text = word(axis, value);
            if axis.key == "method.name" { text } else { format!("{}{text}", short(&axis.key).replace('.', "_")) }
        };
        let parts: Vec<String> = self.axes.iter().zip(values).map(part).collect();
        let mut all = parts.join("-");
        if all.len() > MOST {
            // A file name ends somewhere; what is cut off still tells runs apart.
            let hash = hash(&all);
            let end = (0..=MOST).rev().find(|end| all.is_char_boundary(*end)).unwrap_or(0);
            all.truncate(end);
            all = format!("{all}-{hash}");
        }
        if all.is_empty() { format!("seed{seed}") } else { format!("{all}-seed{seed}") }
    }

    fn recipe(&self, name: &str, values: &[Value], seed: u32) -> Result<Recipe> {
        let mut table = self.base.clone();
        table.insert("name".into(), Value::String(name.into()));
        table.insert("seed".into(), Value::Integer(i64::from(seed)));
        let axes = || self.axes.iter().zip(values);
        axes().filter(|(axis, _)| axis.key == "method.name").for_each(|(a, v)| insert(&mut table, &a.key, v.clone()));
        // What the base says for VIFO is not meant for the other methods of the grid.
        if self.axes.iter().any(|a| a.key == "method.name") {
            crate::method::leave_out(&mut table);
        }
        axes().for_each(|(axis, value)| insert(&mut table, &axis.key, value.clone()));
        let recipe = crate::method::checked(&table, &format!("{}, run {name}", self.place))?;
        absolute(&recipe)
    }
}

fn insert(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.into(), value);
        }
        Some((section, name)) => {
            let section = table.entry(section.to_string()).or_insert_with(|| Value::Table(Table::new()));
            if let Some(inner) = section.as_table_mut() {
                inner.insert(name.into(), value);
            }
        }
    }
}

/// A value as a part of a file name: letters, digits, dots, signs. A path is its stem, with the folder above it where another
/// path has the same. One that says nothing of itself, or the same as another of its axis, ends in a hash.
fn word(axis: &Axis, value: &Value) -> String {
    let same = |deep| {
        let text = plain(&axis.key, value, deep).to_lowercase();
        axis.values.iter().filter(|v| plain(&axis.key, v, deep).to_lowercase() == text).count() > 1
    };
    let deep = same(false);
    let text = plain(&axis.key, value, deep);
    if (deep && same(true)) || text.is_empty() || text.len() > 40 {
        let cut: String = text.chars().take(40).collect();
        return format!("{cut}~{}", hash(&value.to_string()));
    }
    text
}

fn plain(key: &str, value: &Value, deep: bool) -> String {
    let text = match value {
        Value::String(s) if is_path(key) => {
            let path = Path::new(s);
            let name = |part: Option<&OsStr>| part.map_or_else(String::new, |p| p.to_string_lossy().into_owned());
            let above = if deep { name(path.parent().and_then(Path::file_name)) + "_" } else { String::new() };
            above + &name(path.file_stem())
        }
        Value::String(s) => s.clone(),
        Value::Float(v) => v.to_string(),
        Value::Array(list) => list.iter().map(|v| plain(key, v, deep)).collect::<Vec<_>>().join("x"),
        other => other.to_string(),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    text.chars().map(safe).collect()
}

/// Whether a key's values are files.
fn is_path(key: &str) -> bool {
    FILE_KEYS.iter().any(|(section, name)| key.split_once('.') == Some((section, name)))
}

/// A value for people: of a path the last two parts.
pub fn for_people(key: &str, value: &Value) -> String {
    let text = shown(value);
    if !is_path(key) {
        return text;
    }
    let parts: Vec<&str> = text.split(std::path::is_separator).filter(|p| !p.is_empty()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(3).map(|b| format!("{b:02x}")).collect()
}
