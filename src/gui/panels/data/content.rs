//! What lies behind a path, looked at as `vifo inspect` does, and the recipe that trains on it. Runs in jobs, on a page beside it; draws
//! nothing.

use crate::base::clock::SystemTime;
use crate::base::fs;
use crate::data::encode::Missing;
use crate::data::encode::meaning::Rules;
use crate::data::images::is_images;
use crate::data::inspect::images::{ImageReport, Samples, inspect_with_samples};
use crate::data::inspect::{Role, TableReport, inspect};
use crate::data::table::Table;
use crate::data::{Task, load};
use crate::error::{Error, Result};
use crate::live::Chore;
use crate::live::chore::{beside, files_of};
use crate::recipe::keys::Key;
use crate::recipe::{self, Likelihood, Recipe, builtin, key, keys};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use toml::Value;

/// How a file is read, where it is not found out: keys of a recipe with their values as it has them, "data.skip_lines" and "2".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading(BTreeMap<String, String>);

impl Reading {
    pub fn get(&self, key: &Key) -> Option<&str> {
        self.0.get(key.path).map(String::as_str)
    }

    /// None takes it back.
    pub fn put(&mut self, key: &Key, value: Option<String>) {
        match value {
            Some(value) => self.0.insert(key.path.into(), value),
            None => self.0.remove(key.path),
        };
    }

    /// One more text of a key that holds a list of them.
    pub fn add(&mut self, key: &Key, text: &str) {
        let mut list = self.list(key);
        list.push(Value::String(text.into()));
        self.put(key, Some(Value::Array(list).to_string()));
    }

    fn list(&self, key: &Key) -> Vec<Value> {
        let table = self.get(key).and_then(|text| format!("v = {text}").parse::<toml::Table>().ok());
        table.and_then(|t| t.get("v").and_then(Value::as_array).cloned()).unwrap_or_default()
    }

    /// The kind that a column was given: "text".
    pub fn kind(&self, column: &str) -> Option<String> {
        let pairs = self.list(KINDS);
        let pairs = pairs.iter().filter_map(Value::as_str).filter_map(|pair| pair.rsplit_once('='));
        pairs.rev().find(|(name, _)| *name == column).map(|(_, kind)| kind.to_string())
    }

    pub fn put_kind(&mut self, column: &str, kind: Option<&str>) {
        let mut list = self.list(KINDS);
        list.retain(|pair| pair.as_str().and_then(|p| p.rsplit_once('=')).is_none_or(|(name, _)| name != column));
        list.extend(kind.map(|kind| Value::String(format!("{column}={kind}"))));
        let text = (!list.is_empty()).then(|| Value::Array(list).to_string());
        self.put(KINDS, text);
    }
}

/// What the page was left with: what was open, how it is read, and what the controls said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Left {
    pub path: PathBuf,
    pub reading: Reading,
    pub choice: Option<Choice>,
}

/// Kinds of columns.
const KINDS: &Key = keys::named("data.as");

/// What the page's controls say; None stands for what `vifo fit` does by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// A column's name.
    pub target: Option<String>,
    pub task: Option<Task>,
    pub ignore: Vec<String>,
    pub missing: Option<Missing>,
    pub method: String,
    pub members: u32,
    pub eta: Option<f64>,
    pub epochs: Option<u32>,
    /// `train.budget`.
    pub budget: Option<String>,
    /// Of a regression.
    pub likelihood: Option<Likelihood>,
    /// One of `BESIDE`.
    pub beside: Option<usize>,
    /// Columns.
    pub group: Option<String>,
    pub time: Option<String>,
    pub weight: Option<String>,
    /// What a cure of an error has set beside all these: keys of a recipe, and their values.
    pub more: Vec<(String, String)>,
}

/// What the page offers to train beside each other, to keep the better one: a name, and the variants.
pub const BESIDE: [(&str, &[&str]); 3] = [
    ("dropout 0 or 0.15", &["net.dropout=0", "net.dropout=0.15"]),
    ("normal or Student's t", &["method.likelihood=\"gaussian\"", "method.likelihood=\"student-t\""]),
    ("eta 0.003, 0.01 or 0.03", &["method.eta=0.003", "method.eta=0.01", "method.eta=0.03"]),
];

impl Choice {
    /// Of data just opened: as its recipe has them.
    fn of(recipe: &Recipe) -> Choice {
        let m = &recipe.method;
        Choice {
            target: None,
            task: None,
            ignore: vec![],
            missing: None,
            method: m.name.clone(),
            members: m.members,
            eta: m.eta,
            epochs: recipe.train.epochs,
            budget: None,
            likelihood: None,
            beside: None,
            group: None,
            time: None,
            weight: None,
            more: vec![],
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Content {
    pub path: PathBuf,
    pub kind: ContentKind,
    /// How it was read.
    pub reading: Reading,
    /// The recipe before any choice.
    base: toml::Table,
    pub choice: Choice,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum ContentKind {
    Table { report: Box<TableReport> },
    Images { report: Box<ImageReport>, samples: Vec<Samples> },
}

/// A look at what lies behind a path; with choices about its columns from the second on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Look {
    pub path: PathBuf,
    pub reading: Reading,
    pub choice: Option<Choice>,
}

impl Chore for Look {
    const NAME: &'static str = "look at data";
    type Done = Content;
    fn paths(&self) -> Vec<PathBuf> {
        base_of(&self.path, &self.reading).map_or_else(|_| vec![beside(&self.path)], |base| files_of(&base.recipe))
    }
    fn work(self) -> Result<Content> {
        Content::read(&self.path, &self.reading, self.choice)
    }
}

/// The table that was read last, for the next look at it.
static LAST: Mutex<Option<(Read, Arc<Table>)>> = Mutex::new(None);

/// What a table was read from, and how.
#[derive(PartialEq)]
struct Read {
    path: PathBuf,
    reading: Reading,
    modified: Option<SystemTime>,
}

/// The table at a path, as it is now.
fn table_of(path: &Path, reading: &Reading, recipe: &Recipe) -> Result<Arc<Table>> {
    let modified = fs::metadata(path).and_then(|m| m.modified()).ok();
    let read = Read { path: path.to_path_buf(), reading: reading.clone(), modified };
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, table)) = last.as_ref().filter(|(of, _)| modified.is_some() && *of == read) {
        return Ok(table.clone());
    }
    // One at a time has room in memory.
    *last = None;
    let table = Arc::new(load::read(&recipe.data, path)?);
    *last = Some((read, table.clone()));
    Ok(table)
}

/// The recipe before any choice.
struct Base {
    table: toml::Table,
    recipe: Recipe,
    images: bool,
}

fn base_of(path: &Path, reading: &Reading) -> Result<Base> {
    let name = path.display().to_string();
    let images = is_images(path);
    // A bundled set comes with the recipe that suits it.
    let own = if images && recipe::is_bundled(path) { builtin::find(&name) } else { None };
    let table = match own {
        Some(text) => Recipe::parse(text, &name)?,
        None => {
            let mut base = toml::Table::new();
            set(&mut base, if images { "data.images" } else { "data.file" }, &name)?;
            // Each kind of file has its own.
            let of_images = |key: &str| key == key!(data.skip_broken).path;
            for (key, value) in reading.0.iter().filter(|(key, _)| of_images(key) == images) {
                set(&mut base, key, value)?;
            }
            base
        }
    };
    let recipe = crate::method::checked(&table, &name)?;
    Ok(Base { table, recipe, images })
}

/// Images of each class that the page shows.
const SHOWN: usize = 8;

/// Sets a key to a text, quoted where the key holds one.
fn set(table: &mut toml::Table, key: &str, text: &str) -> Result<()> {
    let is_text = keys::find(key).is_some_and(|k| matches!(k.kind, keys::ValueKind::Text | keys::ValueKind::Choice(_)));
    let value = if is_text { Value::String(text.into()).to_string() } else { text.to_string() };
    keys::set(table, key, &value, key)
}

impl Content {
    /// `choice`: about a table's columns, and otherwise as it is; images have none. None = as the recipe has them.
    fn read(path: &Path, reading: &Reading, choice: Option<Choice>) -> Result<Content> {
        let name = path.display().to_string();
        if path.extension().is_some_and(|e| e == "toml") {
            let help = "drop it on the window, or paste it on the page Recipe";
            return Err(Error::usage(name, "is a recipe", "a table or an image set", help));
        }
        let Base { table: base, recipe, images } = base_of(path, reading)?;
        let chosen = match choice {
            Some(choice) => choice,
            None => {
                let mut choice = Choice::of(&recipe);
                if !images {
                    let mut whole = base.clone();
                    crate::method::preset(&mut whole)?;
                    choice.members = crate::method::checked(&whole, &name)?.method.members;
                }
                choice
            }
        };
        let kind = if images {
            let (report, samples) = inspect_with_samples(path, recipe.data.skip_broken, SHOWN)?;
            ContentKind::Images { report: Box::new(report), samples }
        } else {
            let table = table_of(path, reading, &recipe)?;
            let missing = chosen.missing.unwrap_or_default();
            let rules = Rules { ignore: &chosen.ignore, missing, ..Rules::default() };
            let report = inspect(&table, chosen.target.as_deref(), chosen.task, &rules)?;
            ContentKind::Table { report: Box::new(report) }
        };
        Ok(Content { path: path.to_path_buf(), kind, reading: reading.clone(), base, choice: chosen })
    }

    /// What the target asks for.
    pub fn task(&self, choice: &Choice) -> Task {
        match &self.kind {
            ContentKind::Table { report, .. } => choice.task.unwrap_or(report.task),
            ContentKind::Images { .. } => Task::Classification,
        }
    }

    /// Why no training can begin; None where one can.
    pub fn obstacle(&self) -> Option<String> {
        match &self.kind {
            ContentKind::Table { report, .. } => report.plan.first().filter(|_| report.stops).map(ToString::to_string),
            ContentKind::Images { report, .. } if report.command.is_empty() => report.warnings.first().cloned(),
            ContentKind::Images { .. } => None,
        }
    }

    /// Where nobody chooses it: of a table's preset, or of the method.
    pub fn usual_eta(&self, choice: &Choice) -> f64 {
        let task = match &self.kind {
            ContentKind::Table { report, .. } => report.task,
            ContentKind::Images { .. } => Task::Classification,
        };
        let preset = self.recipe(&Choice { eta: None, ..choice.clone() }).ok().and_then(|r| r.method.eta);
        preset.unwrap_or_else(|| crate::method::find(&choice.method).map_or(0.0, |m| m.usual_eta(task)))
    }

    /// Whether a training could begin with these choices, as far as the columns tell.
    pub fn takes(&self, choice: &Choice) -> bool {
        self.recipe(choice).is_ok()
    }

    /// The recipe that `vifo fit` would have of these choices.
    pub fn recipe(&self, choice: &Choice) -> Result<Recipe> {
        let mut table = self.base.clone();
        if let ContentKind::Table { report, .. } = &self.kind {
            set(&mut table, "data.target", &report.target)?;
            set(&mut table, "data.task", &report.task.to_string())?;
            let out = report.columns.iter().filter(|c| c.role == Role::Ignored);
            let names: Vec<Value> = out.map(|c| Value::String(c.name.clone())).collect();
            if !names.is_empty() {
                set(&mut table, "data.ignore", &Value::Array(names).to_string())?;
            }
            set(&mut table, "data.missing", &choice.missing.unwrap_or_default().to_string())?;
        }
        set(&mut table, "method.name", &choice.method)?;
        set(&mut table, "method.members", &choice.members.to_string())?;
        if let Some(eta) = choice.eta {
            set(&mut table, "method.eta", &format!("{eta:?}"))?;
        }
        if let Some(epochs) = choice.epochs {
            set(&mut table, "train.epochs", &epochs.to_string())?;
        }
        if let Some(budget) = &choice.budget {
            set(&mut table, "train.budget", budget)?;
        }
        if let Some(likelihood) = choice.likelihood {
            set(&mut table, "method.likelihood", &likelihood.to_string())?;
        }
        if let Some((_, variants)) = choice.beside.and_then(|at| BESIDE.get(at)) {
            let list = variants.iter().map(|v| Value::String(v.to_string())).collect();
            set(&mut table, "train.variants", &Value::Array(list).to_string())?;
        }
        for (key, column) in
            [("data.group", &choice.group), ("data.time", &choice.time), ("data.weight", &choice.weight)]
        {
            if let Some(column) = column {
                set(&mut table, key, column)?;
            }
        }
        for (key, value) in &choice.more {
            set(&mut table, key, value)?;
        }
        if matches!(self.kind, ContentKind::Table { .. }) {
            crate::method::preset(&mut table)?;
        }
        crate::method::checked(&table, &self.path.display().to_string())
    }
}

/// Cells that `data.missing` decides about: a column without a single value is left out anyway.
pub fn has_missing(report: &TableReport) -> bool {
    report.columns.iter().any(|c| match c.role {
        Role::Target => c.missing > 0,
        Role::Input => c.missing > 0 && c.missing < report.rows,
        Role::Ignored | Role::Unusable => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: &str) -> (tempfile::TempDir, Content) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("t.csv");
        crate::run::write_atomic(&path, text.as_bytes()).expect("written");
        let content = Content::read(&path, &Reading::default(), None).expect("a table");
        (dir, content)
    }

    #[test]
    fn the_recipe_says_what_the_report_says() {
        let rows: String =
            (0..40).map(|i| format!("{i},{},{}\n", i % 7, if i == 3 { "".into() } else { i.to_string() })).collect();
        let (_dir, content) = look(&format!("id,a,y\n{rows}"));
        let recipe = content.recipe(&content.choice).expect("a recipe");
        assert_eq!((recipe.data.target.as_deref(), recipe.data.missing), (Some("y"), Missing::Flag));
        assert_eq!(
            (recipe.method.name.as_str(), recipe.method.members, recipe.method.eta),
            ("vifo-mean", 8, Some(0.01))
        );
        assert_eq!(content.usual_eta(&content.choice), 0.01, "what the slider shows is what is trained");
        let other =
            Choice { target: Some("a".into()), ignore: vec!["id".into()], epochs: Some(3), ..content.choice.clone() };
        let look = Look { path: content.path, reading: Reading::default(), choice: Some(other.clone()) };
        let again = look.work().expect("a report");
        let recipe = again.recipe(&other).expect("a recipe");
        assert_eq!((recipe.data.target.as_deref(), recipe.train.epochs), (Some("a"), Some(3)));
        assert_eq!(recipe.data.ignore, ["id"]);
    }

    #[test]
    fn the_bundled_digits_bring_their_own_recipe() {
        let content = Content::read(Path::new("digits"), &Reading::default(), None).expect("bundled");
        assert_eq!(content.choice.eta, Some(0.01), "assets/recipes/digits.toml");
        let recipe = content.recipe(&content.choice).expect("a recipe");
        assert_eq!((recipe.data.test_fraction, recipe.data.images), (0.2, Some("digits".into())));
        assert!(content.obstacle().is_none());
    }

    /// A title above the header, as iris.csv has it: without it the columns have their names.
    #[test]
    fn lines_above_the_header_are_left_out_and_the_recipe_says_so() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/data/iris.csv"));
        let mut reading = Reading::default();
        reading.put(key!(data.skip_lines), Some("1".into()));
        let content = Content::read(path, &reading, None).expect("a table");
        let recipe = content.recipe(&content.choice).expect("a recipe");
        assert_eq!(recipe.data.skip_lines, 1);
        let report = |content: Content| match content.kind {
            ContentKind::Table { report } => (report.rows, report.columns.len()),
            ContentKind::Images { .. } => panic!("no table"),
        };
        let whole = Content::read(path, &Reading::default(), None).expect("a table");
        assert_eq!(report(content), (150, 5));
        assert_eq!(report(whole).0, 150);
    }

    /// What changes between two looks is seen by the second.
    #[test]
    fn a_second_look_is_at_the_file_as_it_is_then() {
        let (_dir, content) = look("a,b,y\n1,2,3\n2,3,4\n3,5,5\n");
        let rows = |content: &Content| match &content.kind {
            ContentKind::Table { report } => report.rows,
            ContentKind::Images { .. } => 0,
        };
        let again =
            Look { path: content.path.clone(), reading: Reading::default(), choice: Some(content.choice.clone()) };
        assert_eq!((rows(&content), rows(&again.clone().work().expect("a report"))), (3, 3));
        std::thread::sleep(std::time::Duration::from_millis(20));
        crate::run::write_atomic(&content.path, b"a,b,y\n1,2,3\n2,3,4\n3,5,5\n4,7,6\n").expect("written");
        assert_eq!(rows(&again.work().expect("a report")), 4);
    }

    /// A page's program beside it hands over what a window reads itself: cures of warnings, and numbers that are none.
    #[test]
    fn a_look_survives_the_way_to_a_page() {
        let rows: String = (0..40).map(|i| format!("{i},{},,{}\n", i % 7, i * i)).collect();
        // A name that is a number is asked about.
        let (_dir, content) = look(&format!("id,7,empty,y\n{rows}"));
        let mut bytes = vec![];
        content.serialize(&mut rmp_serde::Serializer::new(&mut bytes).with_struct_map()).expect("written");
        let back: Content = rmp_serde::from_slice(&bytes).expect("read");
        assert_eq!(format!("{back:?}"), format!("{content:?}"));
        let ContentKind::Table { report } = &back.kind else { panic!("no table") };
        assert!(report.warnings.iter().any(|w| !w.cures.is_empty()), "{report:?}");
    }
}
