//! What is done: results.jsonl, one line for each set, split and seed. A line counts for the default and the data that made it:
//! those of another default stay in the file, and are not shown beside it.

use crate::base::fs;
use crate::data::load;
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::run::write_atomic;
use crate::study::run_set::move_away_help;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One split, once trained and tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitResult {
    pub set: String,
    pub split: u32,
    pub seed: u32,
    /// In the target's unit, as are `crps` and `width_90`.
    pub rmse: f64,
    /// Nats, in the target's unit.
    pub nll: f64,
    pub crps: f64,
    pub coverage_90: f64,
    pub width_90: f64,
    /// From reading the table to the tested predictions.
    pub seconds: f64,
    pub vifo: String,
    pub git: String,
    /// With its threads.
    pub device: String,
    /// `default_of` its recipe.
    pub default: String,
    /// SHA-256 of table and splits.
    pub data: String,
}

/// Identifies what is trained, whichever split, seed, device and place of the data: the start of the SHA-256 of the recipe
/// without these.
///
/// # Errors
/// None that a checked recipe has.
pub fn default_of(recipe: &Recipe) -> Result<String> {
    let mut recipe = recipe.clone();
    let fresh = Recipe::default();
    (recipe.name, recipe.seed, recipe.device) = (None, fresh.seed, fresh.device);
    (recipe.data.file, recipe.data.split_file, recipe.data.split) = (None, None, fresh.data.split);
    Ok(load::hash_text(&recipe.to_toml()?).chars().take(16).collect())
}

pub struct Store {
    pub path: PathBuf,
    lines: Vec<String>,
    pub results: Vec<SplitResult>,
}

impl Store {
    pub const FILE: &str = "results.jsonl";

    /// What is there, or nothing.
    ///
    /// # Errors
    /// A file that cannot be read, or a damaged line.
    pub fn read(folder: &Path) -> Result<Store> {
        let path = folder.join(Store::FILE);
        let text = match fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.map_err(|e| Error::io(&path, "read", &e))?,
        };
        let all: Vec<(usize, &str)> = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).collect();
        let parse = |(i, line): &(usize, &str)| {
            serde_json::from_str(line).map_err(|e| {
                let place = format!("{}, line {}", path.display(), i + 1);
                Error::data(place, format!("damaged: {e}"), "", move_away_help("--runs"))
            })
        };
        let results = all.iter().map(parse).collect::<Result<Vec<SplitResult>>>()?;
        let lines = all.into_iter().map(|(_, line)| line.to_string()).collect();
        Ok(Store { path, lines, results })
    }

    /// The file has the line as a whole or not at all, whenever the program ends.
    pub fn add(&mut self, result: SplitResult) -> Result<()> {
        let line = serde_json::to_string(&result);
        self.lines.push(
            line.map_err(|e| {
                Error::run(result.set.as_str(), e.to_string(), "this is a bug of vifo: please report it")
            })?,
        );
        self.results.push(result);
        write_atomic(&self.path, (self.lines.join("\n") + "\n").as_bytes())
    }
}
