//! What is asked for: a sweep file, a sweep folder, or a recipe with `--grid` flags, checked key by key. A sweep file is a
//! recipe with a `[grid]`: the recipe's own keys and sections hold for all runs, `recipe = "..."` names another to start from.

use super::slurm;
use super::values::{axes, distinct, free, seeds, single, take, without};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::method::check_name;
use crate::recipe::{Recipe, keys, no_name, read_toml};
use crate::run::recipe_name;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The words of a command line, before they are checked.
#[derive(Debug, Clone, Default)]
pub struct Words {
    pub input: String,
    /// "method.eta=0.1,1".
    pub grid: Vec<String>,
    /// "train.epochs=50".
    pub sets: Vec<String>,
    /// "3" or "1,2,3".
    pub seeds: Option<String>,
    pub out: Option<PathBuf>,
    pub metrics: Vec<String>,
    /// "--partition=p".
    pub slurm_options: Vec<String>,
}

/// A key of the grid and its values, as a recipe stores them.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub key: String,
    pub values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SweepRequest {
    pub name: String,
    /// For messages: the sweep file, or "the command line".
    pub place: String,
    /// What all runs share, with paths that hold from anywhere.
    pub base: Table,
    pub axes: Vec<Axis>,
    pub seeds: Vec<u32>,
    /// A run is left out where all keys of one of these tables have one of the values.
    pub without: Vec<Vec<Axis>>,
    pub out: PathBuf,
    pub jobs: Option<usize>,
    pub metrics: Vec<String>,
    pub slurm: slurm::Options,
}

/// Keys of a sweep file that no recipe has.
const OWN: [&str; 8] = ["recipe", "grid", "without", "seeds", "jobs", "out", "metrics", "slurm"];
pub const FILE: &str = "sweep.toml";
const COMMAND: &str = "the command line";

impl SweepRequest {
    /// `input` makes a recipe's name, a recipe file or a data file a checked table, as `vifo fit` does.
    pub fn new(words: &Words, input: &dyn Fn(&str) -> Result<Table>) -> Result<SweepRequest> {
        let path = Path::new(&words.input);
        let mut request = if fs::is_file(path.join(FILE)) {
            // A sweep folder: its own file says everything.
            let mut request = Self::read(&path.join(FILE), input)?;
            request.out = path.to_path_buf();
            request
        } else if path.extension().is_some_and(|e| e == "toml") && is_sweep(path)? {
            Self::read(path, input)?
        } else {
            Self::of_recipe(&words.input, input)?
        };
        request.apply(words)?;
        request.make_absolute()?;
        if request.axes.is_empty() && request.seeds.len() < 2 {
            let (found, help) = ("neither a grid nor several seeds", "add --grid method.eta=0.1,1 or --seeds 3");
            return Err(Error::usage(words.input.as_str(), found, "", help));
        }
        Ok(request)
    }

    /// Reads a sweep file; relative paths start at its folder.
    pub fn read(path: &Path, input: &dyn Fn(&str) -> Result<Table>) -> Result<SweepRequest> {
        let text = fs::read_to_string(path).map_err(|e| Error::io(path, "read", &e))?;
        let place = path.display().to_string();
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::parse(read_toml(&text, &place)?, &place, &stem, base, input)
    }

    fn of_recipe(name: &str, input: &dyn Fn(&str) -> Result<Table>) -> Result<SweepRequest> {
        let base = input(name)?;
        let recipe = crate::method::checked(&base, name)?;
        let name = format!("{}-sweep", recipe_name(&recipe));
        let seeds = vec![recipe.seed];
        let (out, slurm) = (Path::new("runs").join(&name), slurm::Options::default());
        let place = COMMAND.into();
        let (axes, without, metrics) = (vec![], vec![], vec![]);
        Ok(SweepRequest { name, place, base, axes, seeds, without, out, jobs: None, metrics, slurm })
    }

    fn parse(
        mut table: Table,
        place: &str,
        stem: &str,
        folder: &Path,
        input: &dyn Fn(&str) -> Result<Table>,
    ) -> Result<SweepRequest> {
        let mut own = Table::new();
        for key in OWN {
            own.extend(table.remove(key).map(|value| (key.to_string(), value)));
        }
        let mut mine = own_keys(&table, place)?;
        Recipe::anchor(&mut mine, folder);
        let own_name = mine.get("name").and_then(Value::as_str).map(String::from);
        let mut base = match own.get("recipe") {
            None => Table::new(),
            Some(Value::String(name)) => input(&beside(name, folder))?,
            Some(other) => return Err(refuse(place, "recipe", other, "the name of a recipe, in quotes")),
        };
        overlay(&mut base, mine);
        let axes = match own.get("grid") {
            None => vec![],
            Some(Value::Table(grid)) => axes(grid, &format!("{place}, [grid]"), folder)?,
            Some(other) => return Err(refuse(place, "grid", other, "a table of keys with lists of values")),
        };
        let seed = base.get("seed").and_then(Value::as_integer).map_or(1, |s| s as u32);
        let seeds = own.get("seeds").map_or(Ok(vec![seed]), |v| seeds(v, place))?;
        let without = own.get("without").map_or(Ok(vec![]), |v| without(v, place, folder, (&axes, &seeds)))?;
        if let Some(found) = own_name.as_deref().and_then(no_name) {
            return Err(Error::usage(format!("{place}: name"), found, "a name that is no path", ""));
        }
        // The recipe that it starts from has a name of its own.
        let name = own_name.unwrap_or_else(|| stem.to_string());
        let text = |key: &str| match own.get(key) {
            None => Ok(None),
            Some(Value::String(s)) if !s.is_empty() => Ok(Some(s.clone())),
            Some(other) => Err(refuse(place, key, other, "a text in quotes")),
        };
        let out = text("out")?.map_or_else(|| Path::new("runs").join(&name), |out| folder.join(out));
        let jobs = match own.get("jobs") {
            None => None,
            Some(Value::Integer(n)) if (1..=1024).contains(n) => Some(*n as usize),
            Some(other) => return Err(refuse(place, "jobs", other, "a whole number from 1 to 1024")),
        };
        let metrics = match own.get("metrics") {
            None => vec![],
            Some(Value::Array(list)) if list.iter().all(Value::is_str) => {
                list.iter().filter_map(Value::as_str).map(String::from).collect()
            }
            Some(other) => return Err(refuse(place, "metrics", other, "a list of texts, such as [\"nll\", \"rmse\"]")),
        };
        let slurm = match own.get("slurm") {
            None => slurm::Options::default(),
            Some(Value::Table(t)) => slurm::Options::parse(t, &format!("{place}, [slurm]"))?,
            Some(other) => return Err(refuse(place, "slurm", other, "a table")),
        };
        Ok(SweepRequest { name, place: place.into(), base, axes, seeds, without, out, jobs, metrics, slurm })
    }

    /// The sweep's own file lies elsewhere than what its paths started from.
    fn make_absolute(&mut self) -> Result<()> {
        Recipe::make_absolute(&mut self.base)?;
        for axis in self.axes.iter_mut().chain(self.without.iter_mut().flatten()) {
            for value in &mut axis.values {
                let mut table = single(&axis.key, value.clone());
                Recipe::make_absolute(&mut table)?;
                *value = take(&table, &axis.key).unwrap_or_else(|| value.clone());
            }
        }
        Ok(())
    }

    /// Flags win over the file.
    fn apply(&mut self, words: &Words) -> Result<()> {
        for pair in &words.sets {
            let (key, value) = pair_of(pair, "--set", "train.epochs=50")?;
            if let Some(axis) = self.axes.iter().find(|a| a.key == key) {
                let found = format!("{key} is a key of the grid, with {} values", axis.values.len());
                return Err(Error::usage("--set", found, "", format!("use --grid {key}=VALUE,VALUE")));
            }
            keys::set(&mut self.base, free(key, "--set")?, value, "--set")?;
            check_name(&self.base, "--set")?;
        }
        for pair in &words.grid {
            let (key, list) = pair_of(pair, "--grid", "method.eta=0.1,1")?;
            if words.grid.iter().filter(|p| p.split_once('=').is_some_and(|(k, _)| k.trim() == key)).count() > 1 {
                let found = format!("{key} is given more than once");
                return Err(Error::usage("--grid", found, "", format!("give its values together: --grid {key}=V,V")));
            }
            let mut values = vec![];
            for text in split(list) {
                let mut table = Table::new();
                keys::set(&mut table, free(key, "--grid")?, text, "--grid")?;
                check_name(&table, "--grid")?;
                values.extend(take(&table, key));
            }
            let axis = Axis { key: key.into(), values: distinct(values, &format!("--grid {key}"))? };
            match self.axes.iter_mut().find(|a| a.key == key) {
                Some(old) => *old = axis,
                None => self.axes.push(axis),
            }
        }
        if let Some(text) = &words.seeds {
            let text = if text.contains(',') && !text.contains('[') { format!("[{text}]") } else { text.clone() };
            let parsed = format!("v = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("v"));
            self.seeds = seeds(&parsed.unwrap_or(Value::String(text)), "--seeds")?;
        }
        if let Some(out) = &words.out {
            self.out = out.clone();
        }
        if !words.metrics.is_empty() {
            self.metrics = words.metrics.clone();
        }
        for option in &words.slurm_options {
            self.slurm.add(option, "--slurm-option")?;
        }
        Ok(())
    }

    /// The sweep as a file of its own: nothing outside of it decides what its runs are.
    pub fn to_toml(&self) -> Result<String> {
        let mut table = Table::new();
        table.insert("name".into(), Value::String(self.name.clone()));
        table.extend(
            self.base.iter().filter(|(k, v)| *k != "name" && !v.is_table()).map(|(k, v)| (k.clone(), v.clone())),
        );
        table.insert("seeds".into(), Value::Array(self.seeds.iter().map(|s| Value::Integer(i64::from(*s))).collect()));
        if !self.metrics.is_empty() {
            table.insert("metrics".into(), Value::Array(self.metrics.iter().cloned().map(Value::String).collect()));
        }
        table.extend(self.base.iter().filter(|(_, v)| v.is_table()).map(|(k, v)| (k.clone(), v.clone())));
        let lists =
            |axes: &[Axis]| -> Table { axes.iter().map(|a| (a.key.clone(), Value::Array(a.values.clone()))).collect() };
        if !self.axes.is_empty() {
            table.insert("grid".into(), Value::Table(lists(&self.axes)));
        }
        if !self.without.is_empty() {
            let tables = self.without.iter().map(|w| Value::Table(lists(w))).collect();
            table.insert("without".into(), Value::Array(tables));
        }
        if let Some(slurm) = self.slurm.to_table() {
            table.insert("slurm".into(), Value::Table(slurm));
        }
        let text = toml::to_string(&table);
        let text = text.map_err(|e| Error::run(FILE, e.to_string(), "this is a bug of vifo: please report it"))?;
        Ok(format!("# Written by `vifo sweep`; `vifo sweep` with this folder resumes it.\n{text}"))
    }
}

/// Whether a TOML file is a sweep and no plain recipe.
fn is_sweep(path: &Path) -> Result<bool> {
    let text = fs::read_to_string(path).map_err(|e| Error::io(path, "read", &e))?;
    let table = read_toml(&text, &path.display().to_string())?;
    Ok(OWN.iter().any(|key| table.contains_key(*key)))
}

/// The recipe's keys of a sweep file; a misspelt key of the sweep's own is distinguished from a misspelt one of the recipe.
fn own_keys(table: &Table, place: &str) -> Result<Table> {
    for key in table.keys().filter(|k| keys::find(k).is_none() && !keys::SECTIONS.contains(&k.as_str())) {
        if let Some(near) = OWN.iter().find(|own| strsim::jaro_winkler(own, key) > 0.85) {
            let help = format!("did you mean {near}?");
            return Err(Error::usage(format!("{place}: {key}"), "no such key", "", help));
        }
    }
    let table = keys::check(table, place)?;
    check_name(&table, place)?;
    Ok(table)
}

pub fn refuse(place: &str, key: &str, found: &Value, allowed: &str) -> Error {
    Error::usage(format!("{place}: {key}"), format!("{found} is not allowed"), allowed, "")
}

/// The file beside the sweep, else the name as it is.
fn beside(name: &str, folder: &Path) -> String {
    let path = folder.join(name);
    let builtin = crate::recipe::builtin::find(name).is_some();
    if fs::exists(&path) || !builtin { path.display().to_string() } else { name.into() }
}

fn overlay(base: &mut Table, mine: Table) {
    for (key, value) in mine {
        match (base.get_mut(&key).and_then(Value::as_table_mut), value) {
            (Some(section), Value::Table(inner)) => section.extend(inner),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn pair_of<'a>(pair: &'a str, flag: &str, example: &str) -> Result<(&'a str, &'a str)> {
    let split = pair.split_once('=').map(|(k, v)| (k.trim(), v.trim()));
    split.ok_or_else(|| Error::usage(flag, format!("\"{pair}\""), "KEY=VALUE", format!("for example {flag} {example}")))
}

/// "[50],[50,50]" at its outer commas.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (vec![], 0i32, 0);
    for (i, c) in list.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}
