//! From a recipe's data section to standardised training, validation and test rows, with the encoder that made them.

mod file;
pub mod images;

use self::file::load_file;
pub use self::file::refused;
use super::encode::meaning::Rules;
use super::encode::{Encoder, FeatureKind, Missing, Target, strata};
pub use super::hash::{hash, hash_text};
use super::points::{self, Prepared};
use super::source;
use super::split::by_fraction;
use super::table::{ReadOptions, Table, read_table};
use super::toy::{self, Toy};
use super::{Dataset, Task};
use crate::error::{Error, Result};
pub use crate::recipe::kind_of;
use crate::recipe::{self, Scaling};
use crate::system::{memory, stop};
use std::borrow::Cow;
use std::path::Path;

#[derive(Debug, Clone)]
pub struct Loaded {
    pub encoder: Encoder,
    pub train: Dataset,
    pub validation: Dataset,
    pub test: Dataset,
    /// What was left out or filled in, a sentence each.
    pub notes: Vec<String>,
    /// SHA-256 of the data file or of the points, or the toy's own description.
    pub hash: String,
    /// SHA-256 of what a table holds, whatever the writing of its numbers, its delimiter, its line ends and its place;
    /// of other data the same as `hash`, which is of their values already.
    pub values: String,
}

/// How a recipe says its files are to be read.
pub fn read_options(data: &recipe::Data) -> ReadOptions {
    let delimiter = data.delimiter.as_deref().map(|d| match d {
        "tab" => b'\t',
        "space" => b' ',
        other => other.as_bytes().first().copied().unwrap_or(b','),
    });
    ReadOptions {
        delimiter,
        header: data.header,
        skip_lines: data.skip_lines,
        text_columns: data.text_columns.clone(),
        kinds: data.kinds.iter().filter_map(|pair| kind_of(pair).ok()).collect(),
        missing_markers: data.missing_markers.clone(),
        strict: data.strict,
        // A line that has the target's name is a header.
        expected: data.target.iter().flat_map(|t| t.split(',')).map(|t| t.trim().to_string()).collect(),
    }
}

/// Puts a copy of what can be read only once (standard input, a pipe) into the run's folder and names it instead, so that
/// the run can be evaluated and resumed. Returns what there is to say.
pub fn keep_streams(data: &mut recipe::Data, folder: &Path) -> Result<Vec<String>> {
    let mut notes = vec![];
    let files = [
        (&mut data.file, "data"),
        (&mut data.target_file, "target"),
        (&mut data.test_file, "test"),
        (&mut data.split_file, "split"),
    ];
    for (file, name) in files {
        let Some(path) = file.as_mut().filter(|path| source::is_stream(path)) else { continue };
        let copy = folder.join(format!("{name}.kept"));
        let bytes = source::read_bytes(path)?;
        crate::system::file::write_atomic(&copy, &bytes)?;
        let from = if path.as_os_str() == source::STDIN { "standard input".into() } else { path.display().to_string() };
        notes.push(format!("{from} is kept as {}, for it cannot be read again", copy.display()));
        *path = copy;
    }
    Ok(notes)
}

/// Reads the table of `file`, with the columns of `target_file` beside it if there is one.
pub fn read(data: &recipe::Data, file: &Path) -> Result<Table> {
    let options = read_options(data);
    memory::room_for_table(file)?;
    let mut table = read_table(file, &options.clone().for_path(file))?;
    if let Some(target) = &data.target_file {
        memory::room_for_table(target)?;
        table.append(read_table(target, &options)?)?;
    }
    Ok(table)
}

/// A line among the skipped ones of `table`'s file that reads like a row of it: its number.
pub fn skipped_row(table: &Table) -> Result<Option<usize>> {
    if table.options.skip_lines == 0 {
        return Ok(None);
    }
    let text = super::source::read_text(&table.path)?;
    let is_row = |line: &str| {
        let cells: Vec<&str> = match table.delimiter {
            b' ' => line.split_whitespace().collect(),
            d => line.split(char::from(d)).map(str::trim).collect(),
        };
        let fits = |(cell, column): (&&str, &super::table::Column)| match column.cells {
            super::table::Cells::Number(_) => super::table::is_bare_number(cell),
            super::table::Cells::Text(_) => true,
        };
        cells.len() == table.columns.len() && cells.iter().zip(&table.columns).all(fits)
    };
    Ok(text.lines().take(table.options.skip_lines).position(is_row).map(|i| i + 1))
}

/// The same of a recipe whose `data.file` is read already: `table` is taken where it was read as the recipe says.
pub fn load_table(recipe: &recipe::Recipe, table: &Table) -> Result<Loaded> {
    load_here(recipe, Some(table))
}

pub fn load(recipe: &recipe::Recipe) -> Result<Loaded> {
    if !stop::is_held() {
        return load_here(recipe, None);
    }
    // Who waits for the data has runs to save: a stop abandons the reading.
    let recipe = recipe.clone();
    stop::abandonable(move || load_here(&recipe, None))
}

fn load_here(recipe: &recipe::Recipe, table: Option<&Table>) -> Result<Loaded> {
    let loaded = match (&recipe.data.toy, &recipe.data.images, &recipe.data.points) {
        (Some(kind), _, _) => load_toy(recipe, *kind),
        (None, Some(path), _) => images::load(recipe, path),
        (None, None, Some(_)) => load_points(recipe),
        (None, None, None) => load_file(recipe, table),
    }?;
    if loaded.train.n == 0 {
        return Err(Error::data(
            "data",
            "no rows are left to train on",
            "",
            "lower test_fraction or validation_fraction",
        ));
    }
    Ok(loaded)
}

fn load_toy(recipe: &recipe::Recipe, kind: toy::ToyKind) -> Result<Loaded> {
    let data = &recipe.data;
    let seed = u64::from(recipe.seed);
    let toy_text =
        format!("toy {kind:?} {:?} rows {} noise {:?} seed {}", data.gap, data.rows, data.noise, recipe.seed);
    let train: Toy = toy::make(kind, data.gap, data.rows, data.noise, seed);
    let test = Toy::test_set(kind, data.gap, 200, data.noise, seed + 1);
    let (train, test) = (train.to_table(), test.to_table());
    let target = train.columns.last().map_or_else(String::new, |c| c.name.clone());
    let rows: Vec<usize> = (0..train.rows()).collect();
    let strata = strata(&train, &target, Some(kind.task()), &rows)?;
    let split = by_fraction(train.rows(), data.validation_fraction, 0.0, seed, strata.as_deref())?;
    let mut encoder = Encoder::fit(&train, &target, Some(kind.task()), &[], Missing::Error, &split.train)?;
    if !data.standardise {
        unstandardise(&mut encoder);
    }
    Ok(Loaded {
        train: encoder.encode(&train, &split.train, true)?,
        validation: encoder.encode(&train, &split.validation, true)?,
        test: encoder.encode(&test, &(0..test.rows()).collect::<Vec<_>>(), true)?,
        encoder,
        notes: vec![],
        values: toy_text.clone(),
        hash: toy_text,
    })
}

/// The recipe's points, and those for validation.
fn points_of(recipe: &recipe::Recipe) -> [&[Vec<f64>]; 2] {
    [&recipe.data.points, &recipe.data.validation_points].map(|rows| rows.as_deref().unwrap_or_default())
}

fn prepared(recipe: &recipe::Recipe) -> Result<Prepared> {
    let (data, [points, validation]) = (&recipe.data, points_of(recipe));
    points::prepare(points, validation, (data.validation_fraction, data.test_fraction), u64::from(recipe.seed))
}

fn load_points(recipe: &recipe::Recipe) -> Result<Loaded> {
    let mut prepared = prepared(recipe)?;
    if !recipe.data.standardise {
        unstandardise(&mut prepared.encoder);
    }
    of_points(recipe, prepared)
}

fn of_points(recipe: &recipe::Recipe, prepared: Prepared) -> Result<Loaded> {
    let [points, validation] = points_of(recipe);
    let hash = points::hash(points, validation);
    let Prepared { table, split, encoder, notes } = prepared;
    Ok(Loaded {
        train: encoder.encode(&table, &split.train, true)?,
        validation: encoder.encode(&table, &split.validation, true)?,
        test: encoder.encode(&table, &split.test, true)?,
        encoder,
        notes,
        values: hash.clone(),
        hash,
    })
}

/// Numbers as they stand in the file: the paper's toy is not standardised.
fn unstandardise(encoder: &mut Encoder) {
    encoder.features.iter_mut().for_each(|feature| feature.kind.unstandardise());
    for target in std::iter::once(&mut encoder.target).chain(&mut encoder.more_targets) {
        if let Target::Regression { mean, sd, .. } = target {
            (*mean, *sd) = (0.0, 1.0);
        }
    }
}

/// What a recipe says of the columns' meaning.
pub fn rules(data: &recipe::Data) -> Rules<'_> {
    // The default continues; strict reading reports it.
    let missing = if data.strict && data.missing == Missing::Flag { Missing::Error } else { data.missing };
    // Who keeps the file's own units scales nothing.
    let scaling = if data.standardise { data.scaling } else { Scaling::Standard };
    Rules {
        ignore: &data.ignore,
        missing,
        scaling,
        max_levels: data.max_levels,
        embed_above: data.embed_above,
        strict: data.strict,
    }
}

impl Loaded {
    /// What belongs to target `at` alone: its encoder and its column of the parts.
    pub fn of_target(&self, at: usize) -> Cow<'_, Loaded> {
        let n = self.encoder.n_targets();
        if n == 1 {
            return Cow::Borrowed(self);
        }
        let part = |rows: &Dataset| rows.of_target(at, n);
        Cow::Owned(Loaded {
            encoder: self.encoder.of_target(at),
            train: part(&self.train),
            validation: part(&self.validation),
            test: part(&self.test),
            notes: self.notes.clone(),
            hash: self.hash.clone(),
            values: self.values.clone(),
        })
    }

    pub fn task(&self) -> Task {
        self.encoder.task()
    }
}

/// The recipe's points on the scale of an encoder that was fitted before some of them moved: means and units stay, ranges
/// follow. None where the points do not suit it: other columns, or a class that it does not know.
pub fn load_on_scale(recipe: &recipe::Recipe, scale: &Encoder) -> Result<Option<Loaded>> {
    if recipe.data.points.is_none() {
        return Ok(None);
    }
    let Prepared { table, split, encoder: fresh, notes } = prepared(recipe)?;
    let known = match (&fresh.target, &scale.target) {
        (Target::Classes { labels, .. }, Target::Classes { labels: known, .. }) => {
            labels.iter().all(|l| known.contains(l))
        }
        (Target::Regression { .. }, Target::Regression { .. }) => true,
        _ => false,
    };
    let all_numbers = scale.features.iter().all(|f| matches!(f.kind, FeatureKind::Numeric { .. }));
    if !known || !all_numbers || scale.features.len() != fresh.features.len() {
        return Ok(None);
    }
    let mut encoder = Encoder { features: fresh.features.clone(), ..scale.clone() };
    for (to, from) in encoder.features.iter_mut().zip(&scale.features) {
        if let (FeatureKind::Numeric { mean, sd, .. }, FeatureKind::Numeric { mean: m, sd: s, .. }) =
            (&mut to.kind, &from.kind)
        {
            (*mean, *sd) = (*m, *s);
        }
    }
    match (&mut encoder.target, &fresh.target) {
        (Target::Regression { name, .. }, Target::Regression { name: n, .. })
        | (Target::Classes { name, .. }, Target::Classes { name: n, .. }) => name.clone_from(n),
        _ => {}
    }
    of_points(recipe, Prepared { table, split, encoder, notes }).map(Some)
}
