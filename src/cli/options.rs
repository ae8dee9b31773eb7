//! Flags shared by verbs, and how flags, recipe and built-in recipes become one `Recipe`.

use super::{shell, tell};
use crate::data::images::pixels;
pub use crate::data::images::pixels::is_images;
use crate::error::{Error, Result};
use crate::method::check_name;
use crate::recipe::{Recipe, builtin, keys};
use crate::run::RunFolder;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// How to read a data file; every flag is a recipe key of the same name.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Data")]
pub struct DataFlags {
    /// Column to predict, by name or index (-1 = last); several with commas between them: a,b [default: the last]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub target: Option<String>,
    /// Second file whose columns are put beside those of the first
    #[arg(long, value_name = "FILE")]
    pub target_file: Option<PathBuf>,
    /// regression or classification [default: found from the target]
    #[arg(long)]
    pub task: Option<String>,
    /// One character, or tab or space [default: found]
    #[arg(long, value_name = "CHAR")]
    pub delimiter: Option<String>,
    /// yes or no: whether the first line holds names [default: found]
    #[arg(long, value_name = "YES|NO")]
    pub header: Option<String>,
    /// Lines to leave out at the top of the file
    #[arg(long, value_name = "N")]
    pub skip_lines: Option<String>,
    /// flag, mean, drop or error: what to do with missing inputs [default: flag, the mean and an input that tells]
    #[arg(long, value_name = "HOW")]
    pub missing: Option<String>,
    /// Most levels of a text column with an input each; rarer ones share one [default: 300]
    #[arg(long, value_name = "N")]
    pub max_levels: Option<String>,
    /// Stop at the first cell, row or column that is not clear, instead of leaving it out or guessing
    #[arg(long)]
    pub strict: bool,
    /// Column to leave out (repeat for more)
    #[arg(long, value_name = "COLUMN")]
    pub ignore: Vec<String>,
    /// Column that is text although it looks like numbers; the same as --as COLUMN=text (repeat for more)
    #[arg(long, value_name = "COLUMN")]
    pub text_column: Vec<String>,
    /// What a column is: number, text, date or ignore (repeat for more)
    #[arg(long = "as", value_name = "COLUMN=KIND")]
    pub kinds: Vec<String>,
    /// Text that stands for a missing cell, instead of NA, null, ?, - and the like (repeat for more)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub missing_marker: Vec<String>,
}

impl DataFlags {
    pub fn apply(&self, table: &mut Table) -> Result<()> {
        let header = yes_or_no(self.header.as_deref())?.map(|yes| yes.to_string());
        let file = |p: &Option<PathBuf>| p.as_ref().map(|p| p.display().to_string());
        for (key, flag, value) in [
            ("data.target", "--target", self.target.clone()),
            ("data.target_file", "--target-file", file(&self.target_file)),
            ("data.task", "--task", self.task.clone()),
            ("data.delimiter", "--delimiter", self.delimiter.clone()),
            ("data.header", "--header", header),
            ("data.skip_lines", "--skip-lines", self.skip_lines.clone()),
            ("data.missing", "--missing", self.missing.clone()),
            ("data.max_levels", "--max-levels", self.max_levels.clone()),
            ("data.strict", "--strict", self.strict.then(|| "true".to_string())),
        ] {
            set(table, key, flag, value)?;
        }
        for (key, flag, values) in [
            ("data.ignore", "--ignore", &self.ignore),
            ("data.text_columns", "--text-column", &self.text_column),
            ("data.as", "--as", &self.kinds),
            ("data.missing_markers", "--missing-marker", &self.missing_marker),
        ] {
            set(table, key, flag, list(values))?;
        }
        Ok(())
    }
}

/// A repeated flag as a list of texts; None where it was not given.
pub fn list(values: &[String]) -> Option<String> {
    let texts = || Value::Array(values.iter().cloned().map(Value::String).collect());
    (!values.is_empty()).then(|| texts().to_string())
}

/// The value of `--header`.
pub fn yes_or_no(text: Option<&str>) -> Result<Option<bool>> {
    match text {
        None => Ok(None),
        Some("yes" | "true") => Ok(Some(true)),
        Some("no" | "false") => Ok(Some(false)),
        Some(other) => Err(Error::usage("--header", format!("\"{other}\""), "yes, no", "")),
    }
}

/// `text` as the value of `key`; texts are quoted so that "1" stays a text where one is meant.
pub fn set(table: &mut Table, key: &str, flag: &str, text: Option<String>) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    let is_text = keys::find(key).is_some_and(|k| matches!(k.kind, keys::Kind::Text | keys::Kind::Choice(_)));
    let value = if is_text { Value::String(text).to_string() } else { text };
    keys::set(table, key, &value, flag)?;
    check_name(table, flag)
}

/// `--set key=value`.
pub fn set_pair(table: &mut Table, pair: &str) -> Result<()> {
    let Some((key, value)) = pair.split_once('=') else {
        return Err(Error::usage("--set", format!("\"{pair}\""), "key=value", "for example --set train.clip=1"));
    };
    keys::set(table, key.trim(), value.trim(), "--set")?;
    check_name(table, "--set")
}

/// A run folder; where `accept_changed` is asked for, its files are what vifo wrote from now on.
pub fn open_run(path: &Path, accept_changed: bool) -> Result<RunFolder> {
    let folder = RunFolder::open(path)?;
    if accept_changed {
        let changed = folder.accept_changed()?;
        let what = if changed.is_empty() {
            "no file had changed".into()
        } else {
            format!("{} as it is now", changed.join(", "))
        };
        tell(&format!("note: accepted: {what}"));
    }
    Ok(folder)
}

/// A recipe file, a built-in recipe or a data file, as a checked table.
pub fn input(name: &str) -> Result<Table> {
    let path = Path::new(name);
    if path.extension().is_some_and(|e| e == "toml") {
        let table = Recipe::read(path)?;
        check_name(&table, &path.display().to_string())?;
        return Ok(table);
    }
    let is_run = pixels::is_run(path);
    if is_run && builtin::find(name).is_none() {
        let cure =
            format!("go on with `vifo fit --resume {0}`, or repeat it with `vifo fit {0}/recipe.toml`", shell(path));
        return Err(Error::usage(name, "is a run folder", "a table, an image set or a recipe", cure));
    }
    let is_stdin = name == crate::data::source::STDIN;
    if is_run || (!path.exists() && !name.ends_with("#coarse") && !is_stdin) {
        if let Some(text) = builtin::find(name) {
            return Recipe::parse(text, name);
        }
        let near = |n: &&str| strsim::jaro_winkler(n, &name.to_lowercase());
        let nearest = builtin::RECIPES.iter().map(|(n, _)| *n).max_by(|a, b| near(a).total_cmp(&near(b)));
        let cure =
            nearest.filter(|n| near(n) > 0.85).map_or("check the path".to_string(), |n| format!("did you mean {n}?"));
        return Err(Error::usage(
            name,
            "no such file",
            format!("a table, an image set, a recipe (.toml), or a built-in recipe: {}", builtin::names()),
            cure,
        ));
    }
    let mut table = Table::new();
    let key = if is_images(path) { "data.images" } else { "data.file" };
    set(&mut table, key, name, Some(name.to_string()))?;
    Ok(table)
}
