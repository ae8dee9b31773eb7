//! From a recipe's data section to standardised training, validation and test rows, with the encoder that made them.

use super::encode::meaning::{self, Rules};
use super::encode::{Encoder, FeatureKind, Missing, Target};
use super::points::{self, Prepared};
use super::source;
use super::split::{Split, by_fraction, by_index_file};
use super::table::roles::Roles;
use super::table::targets::{rows_with_all, targets_of};
use super::table::{Cells, ReadOptions, Table, read_table};
use super::toy::{self, Toy};
use super::{Dataset, Task};
use crate::error::{Error, Result};
use crate::recipe;
pub use crate::recipe::kind_of;
use crate::system::memory;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

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
        expected: Vec::new(),
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
    let mut table = read_table(file, &options)?;
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

pub fn load(recipe: &recipe::Recipe) -> Result<Loaded> {
    let loaded = match (&recipe.data.toy, &recipe.data.images, &recipe.data.points) {
        (Some(kind), _, _) => load_toy(recipe, *kind),
        (None, Some(path), _) => crate::data::images::pixels::load(recipe, path),
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

fn load_points(recipe: &recipe::Recipe, points: &[Vec<f64>]) -> Result<Loaded> {
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
    encoder.features.iter_mut().for_each(|feature| feature.kind.in_own_units());
    for target in std::iter::once(&mut encoder.target).chain(&mut encoder.more_targets) {
        if let Target::Regression { mean, sd, .. } = target {
            (*mean, *sd) = (0.0, 1.0);
        }
    }
}

/// What a recipe says of the columns' meaning.
pub fn rules(data: &recipe::Data) -> Rules<'_> {
    // The default goes on; a strict reader wants to know.
    let missing = if data.strict && data.missing == Missing::Flag { Missing::Error } else { data.missing };
    Rules { ignore: &data.ignore, missing, max_levels: data.max_levels, strict: data.strict }
}

fn load_file(recipe: &recipe::Recipe) -> Result<Loaded> {
    let data = &recipe.data;
    let file = data.file.as_deref().ok_or_else(|| Error::usage("recipe", "no data.file", "", "name a table"))?;
    let table = read(data, file)?;
    let targets = targets_of(data.target.as_deref(), &table)?;
    let target = &targets[0];
    // What was read of the other columns stands in their lines below.
    let mut notes = table.notes.clone();
    for target in &targets {
        let column = &table.columns[table.column_index(target)?];
        notes.extend(column.reading.iter().map(|r| format!("column {}: {r}", super::quoted(&column.name))));
    }
    // No part may be a target.
    let roles = targets.iter().rev().map(|target| Roles::find(&table, target, data));
    let roles = roles.collect::<Result<Vec<_>>>()?.pop().unwrap_or_default();
    let ignore = roles.left_out(&table, data)?;
    let rules = Rules { ignore: &ignore, ..rules(data) };
    let kept = rows_with_all(&table, &targets, &ignore, rules.missing)?;
    if kept.dropped > 0 {
        let what = match (rules.missing.fills(), targets.len()) {
            (true, 1) => "the target",
            (true, _) => "a target",
            (false, _) => "a cell",
        };
        notes.push(format!("{} of {} rows left out because {what} is missing", kept.dropped, table.rows()));
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
            let strata = super::strata(&table, target, data.task, &kept.rows)?;
            roles.split(&table, &kept.rows, data, seed, strata.as_deref(), &mut notes)?
        }
    };
    let (mut encoder, said) = Encoder::learn_all(&table, &targets, data.task, &rules, &split.train)?;
    roles.explain(&table, data, &mut encoder);
    notes.extend(column_lines(&table, &encoder, file));
    notes.extend(said);
    notes.extend(crate::data::table::choices::notes(&table, &encoder, &roles, data));
    if encoder.n_targets() > 1 {
        let n = encoder.n_targets();
        notes.push(format!(
            "{n} targets: one network learns all, and its validation NLL is their mean, each in units of its sd"
        ));
    }
    let mut cautions = vec![];
    for at in 0..encoder.n_targets() {
        let of_one = crate::data::table::cautions::of(&table, &encoder.of_target(at), &kept.rows);
        cautions.extend(of_one.into_iter().filter(|said| !cautions.contains(said)).collect::<Vec<_>>());
    }
    notes.extend(cautions.into_iter().take(5));
    notes.extend(same_files(data)?);
    if !data.standardise {
        in_own_units(&mut encoder);
    }
    let of_values = || {
        let mut values = Sha256::new();
        add_values(&mut values, &table);
        values
    };
    let (hash, mut values) = rayon::join(|| hash(&data.files()), of_values);
    if let Some(path) = &data.split_file {
        let text = source::read_text(path)?;
        text.lines().for_each(|line| line.split_whitespace().for_each(|n| add_text(&mut values, n)));
    }
    let expected = || encoder.features.iter().map(|f| f.name.clone()).collect();
    let read_test = |path: &PathBuf| {
        memory::room_for_table(path)?;
        read_table(path, &ReadOptions { expected: expected(), ..read_options(data) })
    };
    let own_test = data.test_file.as_ref().map(read_test).transpose()?;
    let (test_table, test_rows) = match &own_test {
        Some(test) => {
            add_values(&mut values, test);
            let usable = encoder.usable(test, true)?;
            let path = test.path.display();
            notes.extend(usable.notes.iter().map(|note| format!("{path}: {note}")));
            notes.extend(refused(&usable.refused, test.rows(), test));
            (test, usable.rows)
        }
        None => (&table, split.test.clone()),
    };
    let mut train = encoder.encode(&table, &split.train, true)?;
    let mut validation = encoder.encode(&table, &split.validation, true)?;
    let mut test = encoder.encode(test_table, &test_rows, true)?;
    let parts = [
        (&table, &split.train[..], &mut train),
        (&table, &split.validation[..], &mut validation),
        (test_table, &test_rows[..], &mut test),
    ];
    roles.weigh(data.weight.as_deref(), parts, &mut notes)?;
    Ok(Loaded { train, validation, test, encoder, notes, hash: hash?, values: hex(values) })
}

/// Most lines about columns that a training prints.
const COLUMN_LINES: usize = 12;

fn column_lines(table: &Table, encoder: &Encoder, file: &Path) -> Vec<String> {
    let mut lines = meaning::lines(table, encoder);
    let more = lines.len().saturating_sub(COLUMN_LINES);
    lines.truncate(COLUMN_LINES);
    if more > 0 {
        let file = crate::data::table::inspect::shell(&file.display().to_string());
        lines.push(format!("and {} more about columns: vifo inspect {file}", super::counted(more, "line")));
    }
    lines
}

/// One sentence about rows that cannot be encoded.
pub fn refused(refused: &[(usize, String)], rows: usize, table: &Table) -> Option<String> {
    let (row, reason) = refused.first()?;
    let n = refused.len();
    let line = table.lines.get(*row);
    Some(format!("{n} of {rows} rows cannot be used and are left out; the first is line {line}: {reason}"))
}

/// A test or a target that is the training file again.
fn same_files(data: &recipe::Data) -> Result<Vec<String>> {
    let Some(file) = data.file.as_deref() else { return Ok(vec![]) };
    let mut notes = Vec::new();
    let others = [
        ("the test file", &data.test_file, "the test says nothing"),
        ("the target file", &data.target_file, "the target is among the inputs"),
    ];
    for (what, other, so) in others {
        let Some(other) = other else { continue };
        let len = |path: &Path| std::fs::metadata(path).map(|m| m.len()).ok();
        if len(file) == len(other) && hash(&[file])? == hash(&[other.as_path()])? {
            notes.push(format!("{what} {} holds the same bytes as {}: {so}", other.display(), file.display()));
        }
    }
    Ok(notes)
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
                let bits = |v: &f64| (if v.is_nan() { f64::NAN } else { v + 0.0 }).to_bits().to_le_bytes();
                // A digest takes many at once quicker than each by itself.
                v.chunks(1024).for_each(|v| digest.update(v.iter().flat_map(bits).collect::<Vec<u8>>()));
            }
            Cells::Text(v) => {
                digest.update(b"texts");
                for cell in v.iter() {
                    digest.update([u8::from(cell.is_some())]);
                    add_text(digest, cell.unwrap_or_default());
                }
            }
        }
    }
}

/// SHA-256 over the contents of all files, each preceded by its length.
pub fn hash(files: &[&Path]) -> Result<String> {
    let mut digest = Sha256::new();
    for file in files {
        if source::is_stream(file) {
            let bytes = source::read_bytes(file)?;
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(&bytes);
            continue;
        }
        // Piece by piece: a file may be large beside the rows made of it.
        let failed = |e: std::io::Error| Error::io(file, "read", &e);
        let mut opened = std::fs::File::open(file).map_err(failed)?;
        digest.update(opened.metadata().map_err(failed)?.len().to_le_bytes());
        std::io::copy(&mut opened, &mut digest).map_err(failed)?;
    }
    Ok(hex(digest))
}

/// SHA-256 of a text.
pub fn hash_text(text: &str) -> String {
    hex(Sha256::new_with_prefix(text.as_bytes()))
}

pub(crate) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

impl Loaded {
    /// What is told of target `at` alone: its encoder and its column of the parts.
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
