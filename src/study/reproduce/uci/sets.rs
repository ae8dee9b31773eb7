//! The sets, where they lie, and their splits as training takes them.

use super::ask::UciRequest;
use super::methods::Method;
use super::standard;
use crate::base::fs;
use crate::data::Task;
use crate::data::encode::{Encoder, Missing};
use crate::data::load::{self, Loaded};
use crate::data::source::read_text;
use crate::data::split::by_split_text;
use crate::data::table::{ReadOptions, Table, read_table};
use crate::error::{Error, Result};
use crate::recipe::{Recipe, keys};
use crate::run::write_atomic;
use crate::system::stop;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq)]
pub struct Set {
    /// Of its folder, and in the published table.
    pub name: &'static str,
    pub short: &'static str,
    pub target: &'static str,
    /// Columns that are no inputs.
    pub ignore: &'static [&'static str],
    /// Units of the hidden layer.
    pub hidden: u32,
    /// Of the protocol.
    pub splits: u32,
    /// Decimals of its RMSE.
    pub decimals: usize,
}

macro_rules! sets {
    ($($name:literal, $short:literal, $target:literal, [$($ignore:literal)*], $hidden:literal, $splits:literal, $decimals:literal;)*) => {
        pub const SETS: &[Set] = &[$(Set {
            name: $name, short: $short, target: $target, ignore: &[$($ignore)*], hidden: $hidden, splits: $splits, decimals: $decimals,
        },)*];
    };
}

// The cheapest first.
sets! {
    "yacht", "yacht", "residuary_resistance", [], 50, 20, 2;
    "energy", "energy", "heating_load", [], 50, 20, 2;
    "concrete", "concrete", "strength_mpa", [], 50, 20, 2;
    "wine-quality-red", "wine", "quality", [], 50, 20, 3;
    "power-plant", "power", "PE", [], 50, 20, 2;
    "kin8nm", "kin8nm", "y", [], 50, 20, 4;
    "naval-propulsion-plant", "naval", "compressor_decay", ["turbine_decay"], 50, 20, 5;
    "protein-tertiary-structure", "protein", "RMSD", [], 100, 5, 2;
}

/// A set that is there.
pub struct Source {
    pub set: &'static Set,
    pub n_splits: u32,
    pub hash: String,
    table: Table,
    file: PathBuf,
    split_file: PathBuf,
    /// There is no file: the splits are the protocol's own.
    pub computed: bool,
    /// What stands in `split_file`, or will stand there.
    split_text: String,
}

/// The asked sets (None = all), or those of them that lie in the folder `data`; and the names of those that do not.
pub fn find(data: &Path, asked: Option<&[&'static Set]>) -> Result<(Vec<&'static Set>, Vec<&'static str>)> {
    let here = |s: &&Set| fs::is_dir(data.join(s.name));
    let wanted: Vec<&Set> = asked.map_or_else(|| SETS.iter().collect(), <[&Set]>::to_vec);
    let (there, missing): (Vec<&Set>, Vec<&Set>) = wanted.into_iter().partition(here);
    let missing: Vec<&str> = missing.iter().map(|s| s.name).collect();
    if there.is_empty() || asked.is_some() && !missing.is_empty() {
        let place = data.display();
        let found = match fs::is_dir(data) {
            false => "no such folder".to_string(),
            true => format!("no folder {} in it", missing.join(", ")),
        };
        let names: Vec<&str> = SETS.iter().map(|s| s.name).collect();
        let layout = "each with data.csv (a line of column names first) and, unless the protocol's own splits serve, \
                      test_index.txt (one line per split, the 0-based test rows)";
        let help = format!("give with --data FOLDER the folder of {}, {layout}", names.join(", "));
        return Err(Error::data(place.to_string(), found, "", help));
    }
    Ok((there, missing))
}

impl Source {
    /// Of the set in the folder `data`; `results` is where computed splits are written.
    pub fn open(set: &'static Set, data: &Path, results: &Path) -> Result<Source> {
        let folder = data.join(set.name);
        let (file, given) = (folder.join("data.csv"), folder.join("test_index.txt"));
        let of_thread = file.clone();
        let table = stop::abandonable(move || read_table(&of_thread, &ReadOptions::default()))?;
        for name in set.ignore.iter().chain([&set.target]) {
            table.column_index(name)?;
        }
        let computed = !fs::exists(&given);
        let (split_file, split_text) = match !computed {
            true => (given.clone(), read_text(&given)?),
            false => {
                (results.join("splits").join(format!("{}.txt", set.name)), standard::splits(table.rows(), set.splits))
            }
        };
        if split_text.trim().is_empty() {
            let help = "fill it, or remove it for the protocol's own splits";
            return Err(Error::data(
                given.display().to_string(),
                "is empty",
                "one line per split, the 0-based test rows",
                help,
            ));
        }
        let n_splits = split_text.lines().filter(|line| !line.trim().is_empty()).count() as u32;
        let hash = format!("{} {}", load::hash(&[&file])?, load::hash_text(&split_text));
        Ok(Source { set, n_splits, hash, table, file, split_file, computed, split_text })
    }

    /// Writes computed splits down where the recipe of the results has them, for training it with `vifo fit`.
    pub fn write_splits(&self) -> Result<()> {
        let Some(dir) = self.split_file.parent().filter(|_| self.computed) else { return Ok(()) };
        fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
        self.write_splits_to(&self.split_file)
    }

    pub fn write_splits_to(&self, file: &Path) -> Result<()> {
        write_atomic(file, self.split_text.as_bytes())
    }

    /// As `vifo fit` would take it from the recipe below, from the table that was read once.
    pub fn load(&self, seed: u32, split: u32) -> Result<Loaded> {
        let (rows, ignore) = (self.table.rows(), self.ignored());
        let (file, seed) = (&self.split_file, u64::from(seed));
        let parts = by_split_text(&self.split_text, file, split as usize, rows, VALIDATION, seed)?;
        let regression = Some(Task::Regression);
        let encoder = Encoder::fit(&self.table, self.set.target, regression, &ignore, Missing::Error, &parts.train)?;
        let encode = |rows: &[usize]| encoder.encode(&self.table, rows, true);
        Ok(Loaded {
            train: encode(&parts.train)?,
            validation: encode(&parts.validation)?,
            test: encode(&parts.test)?,
            encoder,
            notes: vec![],
            hash: self.hash.clone(),
            values: self.hash.clone(),
        })
    }

    fn ignored(&self) -> Vec<String> {
        self.set.ignore.iter().map(|s| s.to_string()).collect()
    }

    /// What `vifo fit FILE --target T --ignore COLUMN --split-file F --split N` says of its data, and nothing else.
    pub fn keys(&self, split: u32) -> Result<toml::Table> {
        let mut table = toml::Table::new();
        let mut set_key = |key: &str, value: String| keys::set(&mut table, key, &value, "reproduce");
        let quoted = |text: &str| toml::Value::String(text.into()).to_string();
        let path = |p: &Path| fs::absolute(p).map_err(|e| Error::io(p, "find", &e));
        set_key("data.file", quoted(&path(&self.file)?.display().to_string()))?;
        set_key("data.target", quoted(self.set.target))?;
        set_key("data.ignore", toml::Value::from(self.ignored()).to_string())?;
        set_key("data.split_file", quoted(&path(&self.split_file)?.display().to_string()))?;
        set_key("data.split", split.to_string())?;
        Ok(table)
    }

    /// The benchmark's settings: vifo's own for tables, the same for all sets and methods, and the protocol's network.
    pub fn recipe(&self, request: &UciRequest, method: &Method, seed: u32, split: u32) -> Result<Recipe> {
        let mut table = self.keys(split)?;
        let mut set_key = |key: &str, value: String| keys::set(&mut table, key, &value, "reproduce uci");
        set_key("seed", seed.to_string())?;
        set_key("device", toml::Value::String(request.device.clone()).to_string())?;
        set_key("data.task", "regression".into())?;
        // The benchmark's inputs are the file's own: no column is left out by a guess.
        set_key("data.strict", "true".into())?;
        set_key("data.validation_fraction", VALIDATION.to_string())?;
        set_key("net.hidden", format!("[{}]", self.set.hidden))?;
        set_key("method.name", method.ours.into())?;
        set_key("method.eta", "0.1".into())?;
        set_key("method.members", request.members.to_string())?;
        for (key, number) in [("train.epochs", request.epochs), ("train.batch", request.batch)] {
            if let Some(number) = number {
                set_key(key, number.to_string())?;
            }
        }
        for (key, value) in method.keys {
            set_key(key, value.to_string())?;
        }
        crate::method::checked(&table, "reproduce uci")
    }
}

/// Share of the rows of a split's training part that decide when to stop.
const VALIDATION: f64 = 0.1;
