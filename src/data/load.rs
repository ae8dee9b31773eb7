//! From a recipe's data section to standardised training, validation and test rows, with the encoder that made them.

use super::encode::{Encoder, FeatureKind, Missing, Target, rows_without_missing};
use super::points::{self, Prepared};
use super::split::{Split, by_fraction, by_index_file};
use super::table::{Cells, ReadOptions, Table, read_table};
use super::toy::{self, Toy};
use super::{Dataset, Task};
use crate::config;
use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
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
pub fn read_options(data: &config::Data) -> ReadOptions {
    let delimiter = data.delimiter.as_deref().map(|d| match d {
        "tab" => b'\t',
        "space" => b' ',
        other => other.as_bytes().first().copied().unwrap_or(b','),
    });
    ReadOptions { delimiter, header: data.header, skip_lines: data.skip_lines, text_columns: data.text_columns.clone() }
}

/// Reads the table of `file`, with the columns of `target_file` beside it if there is one.
pub fn read(data: &config::Data, file: &Path) -> Result<Table> {
    let options = read_options(data);
    let mut table = read_table(file, &options)?;
    if let Some(target) = &data.target_file {
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
            super::table::Cells::Number(_) => cell.replacen(',', ".", 1).parse::<f64>().is_ok(),
            super::table::Cells::Text(_) => true,
        };
        cells.len() == table.columns.len() && cells.iter().zip(&table.columns).all(fits)
    };
    Ok(text.lines().take(table.options.skip_lines).position(is_row).map(|i| i + 1))
}

/// The target: as named, or the last column.
fn target_of(data: &config::Data, table: &Table) -> String {
    data.target.clone().unwrap_or_else(|| table.columns.last().map_or_else(|| "-1".into(), |c| c.name.clone()))
}

pub fn load(recipe: &config::Recipe) -> Result<Loaded> {
    let loaded = match (&recipe.data.toy, &recipe.data.images, &recipe.data.points) {
        (Some(kind), _, _) => load_toy(recipe, *kind),
        (None, Some(path), _) => super::pixels::load(recipe, path),
        (None, None, Some(points)) => load_points(recipe, points),
        (None, None, None) => load_file(recipe),
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

fn load_toy(recipe: &config::Recipe, kind: toy::ToyKind) -> Result<Loaded> {
    let data = &recipe.data;
    let seed = u64::from(recipe.seed);
    let toy_text =
        format!("toy {kind:?} {:?} rows {} noise {:?} seed {}", data.gap, data.rows, data.noise, recipe.seed);
    let train: Toy = toy::make(kind, data.gap, data.rows, data.noise, seed);
    let test = Toy::test_set(kind, data.gap, 200, data.noise, seed + 1);
    let (train, test) = (train.to_table(), test.to_table());
    let target = train.columns.last().map_or_else(String::new, |c| c.name.clone());
    let rows: Vec<usize> = (0..train.rows()).collect();
    let strata = super::strata(&train, &target, Some(kind.task()), &rows)?;
    let split = by_fraction(train.rows(), data.validation_fraction, 0.0, seed, strata.as_deref())?;
    let mut encoder = Encoder::fit(&train, &target, Some(kind.task()), &[], Missing::Error, &split.train)?;
    if !data.standardise {
        in_own_units(&mut encoder);
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

fn load_points(recipe: &config::Recipe, points: &[Vec<f64>]) -> Result<Loaded> {
    let data = &recipe.data;
    let Prepared { table, split, mut encoder, notes } =
        points::prepare(points, data.validation_fraction, data.test_fraction, u64::from(recipe.seed))?;
    if !data.standardise {
        in_own_units(&mut encoder);
    }
    of_points(points, Prepared { table, split, encoder, notes })
}

fn of_points(points: &[Vec<f64>], prepared: Prepared) -> Result<Loaded> {
    let Prepared { table, split, encoder, notes } = prepared;
    Ok(Loaded {
        train: encoder.encode(&table, &split.train, true)?,
        validation: encoder.encode(&table, &split.validation, true)?,
        test: encoder.encode(&table, &split.test, true)?,
        encoder,
        notes,
        hash: points::hash(points),
        values: points::hash(points),
    })
}

/// Numbers as they stand in the file: the paper's toy is not standardised.
fn in_own_units(encoder: &mut Encoder) {
    for f in &mut encoder.features {
        if let FeatureKind::Numeric { mean, sd, .. } = &mut f.kind {
            (*mean, *sd) = (0.0, 1.0);
        }
    }
    if let Target::Regression { mean, sd, .. } = &mut encoder.target {
        (*mean, *sd) = (0.0, 1.0);
    }
}

fn load_file(recipe: &config::Recipe) -> Result<Loaded> {
    let data = &recipe.data;
    let file = data.file.as_deref().ok_or_else(|| Error::usage("recipe", "no data.file", "", "name a table"))?;
    let table = read(data, file)?;
    let target = target_of(data, &table);
    let mut notes = vec![];
    let kept = rows_without_missing(&table, &target, &data.ignore, data.missing)?;
    if kept.dropped > 0 {
        notes.push(format!("{} of {} rows left out because a cell is missing", kept.dropped, table.rows()));
    }
    let seed = u64::from(recipe.seed);
    let split = match &data.split_file {
        Some(path) => {
            // The file numbers the table's own rows; rows left out above leave their part.
            let split = by_index_file(path, data.split, table.rows(), data.validation_fraction, seed)?;
            let usable: std::collections::HashSet<usize> = kept.rows.iter().copied().collect();
            let keep = |rows: Vec<usize>| rows.into_iter().filter(|r| usable.contains(r)).collect();
            Split { train: keep(split.train), validation: keep(split.validation), test: keep(split.test) }
        }
        None => {
            let test_fraction = if data.test_file.is_some() { 0.0 } else { data.test_fraction };
            let strata = super::strata(&table, &target, data.task, &kept.rows)?;
            by_fraction(kept.rows.len(), data.validation_fraction, test_fraction, seed, strata.as_deref())?
                .of_rows(&kept.rows)
        }
    };
    let mut encoder = Encoder::fit(&table, &target, data.task, &data.ignore, data.missing, &split.train)?;
    if !data.standardise {
        in_own_units(&mut encoder);
    }
    if data.missing == Missing::Mean {
        for feature in &encoder.features {
            let missing = table.columns.iter().find(|c| c.name == feature.name).map_or(0, |c| c.missing());
            if missing > 0 {
                let with = if matches!(feature.kind, FeatureKind::Numeric { .. }) {
                    "the training mean"
                } else {
                    "a level of their own"
                };
                notes.push(format!(
                    "{} of column {} filled with {with}",
                    super::counted(missing, "missing cell"),
                    feature.name
                ));
            }
        }
    }
    // What `inspect` would warn about is no secret of `inspect`; missing cells are told of above.
    let warnings =
        super::inspect::inspect(&table, Some(&target), data.task, &data.ignore, Some(data.missing))?.warnings;
    notes.extend(warnings.into_iter().filter(|w| !w.contains("--missing")).take(5));
    for d in encoder.dropped.iter().filter(|d| !data.ignore.contains(&d.name)) {
        notes.push(format!("column {} left out: {}", d.name, d.reason));
    }
    let mut values = Sha256::new();
    add_values(&mut values, &table);
    if let Some(path) = &data.split_file {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "read", &e))?;
        text.lines().for_each(|line| line.split_whitespace().for_each(|n| add_text(&mut values, n)));
    }
    let test = match &data.test_file {
        Some(path) => {
            let test = read_table(path, &read_options(data))?;
            add_values(&mut values, &test);
            let kept = encoder.rows_without_missing(&test, true)?;
            encoder.encode(&test, &kept.rows, true)?
        }
        None => encoder.encode(&table, &split.test, true)?,
    };
    Ok(Loaded {
        train: encoder.encode(&table, &split.train, true)?,
        validation: encoder.encode(&table, &split.validation, true)?,
        test,
        encoder,
        notes,
        hash: hash(&data.files())?,
        values: hex(values),
    })
}

fn add_text(digest: &mut Sha256, text: &str) {
    digest.update((text.len() as u64).to_le_bytes());
    digest.update(text.as_bytes());
}

/// Names and cells: equal numbers are equal however they are written.
fn add_values(digest: &mut Sha256, table: &Table) {
    digest.update((table.rows() as u64).to_le_bytes());
    for column in &table.columns {
        add_text(digest, &column.name);
        match &column.cells {
            // All that is missing is one, and so are 0 and -0.
            Cells::Number(v) => {
                digest.update(b"numbers");
                v.iter()
                    .for_each(|v| digest.update((if v.is_nan() { f64::NAN } else { v + 0.0 }).to_bits().to_le_bytes()));
            }
            Cells::Text(v) => {
                digest.update(b"texts");
                for cell in v {
                    digest.update([u8::from(cell.is_some())]);
                    add_text(digest, cell.as_deref().unwrap_or_default());
                }
            }
        }
    }
}

/// SHA-256 over the contents of all files, each preceded by its length.
pub fn hash(files: &[&Path]) -> Result<String> {
    let mut digest = Sha256::new();
    for file in files {
        let bytes = std::fs::read(file).map_err(|e| Error::io(file, "read", &e))?;
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    Ok(hex(digest))
}

/// SHA-256 of a text.
pub fn hash_text(text: &str) -> String {
    hex(Sha256::new_with_prefix(text.as_bytes()))
}

pub(super) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

impl Loaded {
    pub fn task(&self) -> Task {
        self.encoder.task()
    }
}

/// The recipe's points on the scale of an encoder that was fitted before some of them moved: means and units stay, ranges
/// follow. None where the points do not suit it: other columns, or a class that it does not know.
pub fn load_on_scale(recipe: &config::Recipe, scale: &Encoder) -> Result<Option<Loaded>> {
    let Some(points) = &recipe.data.points else { return Ok(None) };
    let data = &recipe.data;
    let Prepared { table, split, encoder: fresh, notes } =
        points::prepare(points, data.validation_fraction, data.test_fraction, u64::from(recipe.seed))?;
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
    of_points(points, Prepared { table, split, encoder, notes }).map(Some)
}
