//! A table of a recipe, divided and encoded.

use super::{Loaded, read, read_options, rules, unstandardise};
use crate::base::fs;
use crate::base::visible::shell;
use crate::data::encode::learn::MIN_ROWS;
use crate::data::encode::meaning::{self, Rules};
use crate::data::encode::targets::{rows_with_all, targets_of};
use crate::data::encode::{Encoder, strata};
use crate::data::hash::{add_text, add_values, hash, hex};
use crate::data::inspect::sentence::Sentence;
use crate::data::inspect::{cautions, choices};
use crate::data::roles::Roles;
use crate::data::split::{Split, by_split_file, in_folds};
use crate::data::table::{ReadOptions, Table, read_table};
use crate::data::{counted, quoted, source};
use crate::error::{Error, Result, either};
use crate::recipe;
use crate::system::memory;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// `given` is the table of `data.file` as somebody read it; it is taken where the recipe would have it read so.
pub(super) fn load_file(recipe: &recipe::Recipe, given: Option<&Table>) -> Result<Loaded> {
    let data = &recipe.data;
    let file = data
        .file
        .as_deref()
        .ok_or_else(|| Error::usage("recipe", either("no data.file", "no table"), "", "name a table"))?;
    let as_wanted =
        |t: &&Table| t.path == file && t.options == read_options(data).for_path(file) && data.target_file.is_none();
    let table = match given.filter(as_wanted) {
        Some(table) => Cow::Borrowed(table),
        None => Cow::Owned(read(data, file)?),
    };
    let table: &Table = &table;
    let targets = targets_of(data.target.as_deref(), table)?;
    // What was read of the other columns stands in their lines below.
    let mut notes = table.notes.clone();
    for target in &targets {
        let column = &table.columns[table.column_index(target)?];
        notes.extend(column.notes().map(|r| format!("column {}: {r}", quoted(&column.name))));
    }
    // No part may be a target.
    let roles = targets.iter().rev().map(|target| Roles::find(table, target, data));
    let roles = roles.collect::<Result<Vec<_>>>()?.pop().unwrap_or_default();
    let ignore = roles.left_out(table, data)?;
    let rules = Rules { ignore: &ignore, ..rules(data) };
    let kept = rows_with_all(table, &targets, &ignore, rules.missing)?;
    if kept.dropped > 0 {
        let what = match (rules.missing.fills(), targets.len()) {
            (true, 1) => "the target",
            (true, _) => "a target",
            (false, _) => "a cell",
        };
        notes.push(format!("{} of {} rows left out because {what} is missing", kept.dropped, table.rows()));
    }
    let mut split = split_of(recipe, table, (&roles, targets[0].as_str()), &kept.rows, &mut notes)?;
    enough_rows(table, data, &split)?;
    if recipe.has_folds() {
        let classes = strata(table, &targets[0], data.task, &split.train)?;
        split.train = in_folds(&split.train, u64::from(recipe.seed), classes.as_deref());
    }
    let (mut encoder, said) = Encoder::learn_all(table, &targets, data.task, &rules, &split.train)?;
    roles.explain(table, data, &mut encoder);
    notes.extend(column_lines(table, &encoder, file));
    notes.extend(said);
    notes.extend(choices::notes(table, &encoder, &roles, data));
    notes.extend(of_several_targets(&encoder));
    notes.extend(cautions_of(table, &encoder, &kept.rows));
    notes.extend(same_files(data)?);
    if !data.standardise {
        unstandardise(&mut encoder);
    }
    let (hash, mut values) = hashes(table, data)?;
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
        None => (table, split.test.clone()),
    };
    let mut train = encoder.encode(table, &split.train, true)?;
    let mut validation = encoder.encode(table, &split.validation, true)?;
    let mut test = encoder.encode(test_table, &test_rows, true)?;
    let parts = [
        (table, &split.train[..], &mut train),
        (table, &split.validation[..], &mut validation),
        (test_table, &test_rows[..], &mut test),
    ];
    roles.weigh(data.weight.as_deref(), parts, &mut notes)?;
    Ok(Loaded { train, validation, test, encoder, notes, hash, values: hex(values) })
}

/// Training, validation and test rows of those that were `kept`.
fn split_of(
    recipe: &recipe::Recipe,
    table: &Table,
    (roles, target): (&Roles, &str),
    kept: &[usize],
    notes: &mut Vec<String>,
) -> Result<Split> {
    // Members that hold out folds of the training rows need no further ones.
    let validation_fraction = if recipe.has_folds() { 0.0 } else { recipe.data.validation_fraction };
    let data = &recipe::Data { validation_fraction, ..recipe.data.clone() };
    let seed = u64::from(recipe.seed);
    let Some(path) = &data.split_file else {
        let strata = strata(table, target, data.task, kept)?;
        return roles.split(table, kept, data, seed, strata.as_deref(), notes);
    };
    // The file numbers the table's own rows; rows left out leave their part.
    let split = by_split_file(path, data.split, table.rows(), data.validation_fraction, seed)?;
    let usable: std::collections::HashSet<usize> = kept.iter().copied().collect();
    let keep = |rows: Vec<usize>| rows.into_iter().filter(|r| usable.contains(r)).collect();
    Ok(Split { train: keep(split.train), validation: keep(split.validation), test: keep(split.test) })
}

/// Says where the rows went, which the encoder that learns from the rest cannot know.
fn enough_rows(table: &Table, data: &recipe::Data, split: &Split) -> Result<()> {
    if split.train.len() >= MIN_ROWS {
        return Ok(());
    }
    let verb = |n: usize, verb: &str| (n > 0).then(|| format!("{n} {verb}{}", if n == 1 { "s" } else { "" }));
    let elsewhere: Vec<String> =
        [verb(split.test.len(), "test"), verb(split.validation.len(), "validate")].into_iter().flatten().collect();
    let all = split.train.len() + split.test.len() + split.validation.len();
    let of = if elsewhere.is_empty() { String::new() } else { format!(" (of {all}: {})", elsewhere.join(", ")) };
    let is_by_fraction = data.test_file.is_none() && data.split_file.is_none() && data.test_fraction > 0.0;
    // All rows together may be too few, too.
    let help = if is_by_fraction && all >= MIN_ROWS {
        either("add rows, or --set data.test_fraction=0", "add rows")
    } else {
        "add rows".into()
    };
    let found = format!("{} to train on{of}", counted(split.train.len(), "row"));
    Err(Error::data(table.path.display().to_string(), found, format!("at least {MIN_ROWS}"), help))
}

fn of_several_targets(encoder: &Encoder) -> Option<String> {
    let n = encoder.n_targets();
    (n > 1).then(|| {
        format!("{n} targets: one network learns all, and its validation NLL is their mean, each in units of its sd")
    })
}

/// The gravest few, each said once.
fn cautions_of(table: &Table, encoder: &Encoder, rows: &[usize]) -> Vec<String> {
    const MOST: usize = 5;
    let mut cautions: Vec<Sentence> = vec![];
    for at in 0..encoder.n_targets() {
        let of_one = cautions::of(table, &encoder.of_target(at), rows);
        cautions.extend(of_one.into_iter().filter(|said| !cautions.contains(said)).collect::<Vec<_>>());
    }
    cautions.into_iter().take(MOST).map(String::from).collect()
}

/// Of the files, and, still open, of the values in the table and the split file.
fn hashes(table: &Table, data: &recipe::Data) -> Result<(String, Sha256)> {
    let of_values = || {
        let mut values = Sha256::new();
        add_values(&mut values, table);
        values
    };
    let (hash, mut values) = rayon::join(|| hash(&data.files()), of_values);
    if let Some(path) = &data.split_file {
        let text = source::read_text(path)?;
        text.lines().for_each(|line| line.split_whitespace().for_each(|n| add_text(&mut values, n)));
    }
    Ok((hash?, values))
}

/// Most lines about columns that a training prints.
const COLUMN_LINES: usize = 12;

fn column_lines(table: &Table, encoder: &Encoder, file: &Path) -> Vec<String> {
    let mut lines = meaning::lines(table, encoder);
    let more = lines.len().saturating_sub(COLUMN_LINES);
    lines.truncate(COLUMN_LINES);
    if more > 0 {
        let file = shell(&file.display().to_string());
        lines.push(format!("and {} more about columns: vifo inspect {file}", counted(more, "line")));
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
        let len = |path: &Path| fs::metadata(path).map(|m| m.len()).ok();
        if len(file) == len(other) && hash(&[file])? == hash(&[other.as_path()])? {
            notes.push(format!("{what} {} holds the same bytes as {}: {so}", other.display(), file.display()));
        }
    }
    Ok(notes)
}
