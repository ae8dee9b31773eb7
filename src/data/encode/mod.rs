//! The encoder: from named columns to standardised inputs and targets, and back to the target's unit. It is stored in
//! model files, so that new rows meet the same numbers as the training rows did. What a column's cells become is told in
//! `feature`.
//!
//! Must not compute statistics (that is `fit`) and must not fill a missing target.

pub use feature::{Calendar, Feature, FeatureKind, Scale, Unseen};
pub mod feature;
pub(crate) mod learn;
pub mod meaning;

use super::images::pixels::Pixels;
use super::table::rows::Lost;
use super::table::{Cells, Column, Table};
use super::{Dataset, Ids, Task, counted, listed, quoted};
use crate::error::{Error, Result};
pub use crate::recipe::Missing;
use feature::{Fault, Reading, Strange, position, unseen_level};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

impl Missing {
    /// Whether a missing input is filled.
    pub fn fills(self) -> bool {
        matches!(self, Missing::Mean | Missing::Flag)
    }
}

/// All statistics are of the training rows, in the file's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    pub features: Vec<Feature>,
    pub dropped: Vec<Dropped>,
    /// The first target; the others, all numbers, in the order in which they were named.
    pub target: Target,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_targets: Vec<Target>,
    /// Which of the network's targets `target` is: not 0 in a view of one of several (`of_target`).
    #[serde(skip)]
    pub target_at: usize,
    pub missing: Missing,
    /// A cell that cannot be encoded stops the program; else its row alone is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The inputs are images; there are no features then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pixels>,
}

/// A column that is no input, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub name: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    Regression { name: String, mean: f64, sd: f64, min: f64, max: f64 },
    Classes { name: String, labels: Vec<String> },
}

impl Target {
    pub fn name(&self) -> &str {
        match self {
            Target::Regression { name, .. } | Target::Classes { name, .. } => name,
        }
    }

    fn column<'t>(&self, table: &'t Table) -> Result<&'t Column> {
        table.columns.iter().find(|c| c.name == self.name()).ok_or_else(|| absent(table, self.name()))
    }

    fn scale(&self) -> Option<Scale> {
        match *self {
            Target::Regression { mean, sd, min, max, .. } => Some(Scale { mean, sd, min, max }),
            Target::Classes { .. } => None,
        }
    }

    fn standard(&self, value: f64) -> Option<f32> {
        let Scale { mean, sd, .. } = self.scale()?;
        Some(((value - mean) / sd) as f32).filter(|z| z.is_finite())
    }

    /// The standardised value or the class of each of `rows`.
    fn encode(&self, table: &Table, rows: &[usize]) -> Result<Vec<f32>> {
        let column = self.column(table)?;
        if let Target::Classes { labels, .. } = self {
            let index: HashMap<&str, usize> = labels.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
            let class = |&row: &usize| {
                let class = class_of(column, row, labels, &index);
                class.map(|c| c as f32).map_err(|fault| fault_error(table, &column.name, row, fault))
            };
            return rows.iter().map(class).collect();
        }
        let standard = |&row: &usize| {
            let value = number_of(column, row).map_err(|fault| fault_error(table, &column.name, row, fault))?;
            self.standard(value).ok_or_else(|| too_far(table, column, row, value, self.scale()))
        };
        rows.iter().map(standard).collect()
    }

    /// Whether the target of a row can be encoded.
    fn takes(&self, column: &Column, row: usize) -> std::result::Result<(), Fault> {
        match self {
            Target::Regression { .. } => number_of(column, row).and_then(|value| {
                self.standard(value).map(|_| ()).ok_or_else(|| Fault {
                    found: format!("{value:e} is too far from the training mean"),
                    allowed: "up to 1e38 sd".into(),
                    cure: "fix the cell",
                })
            }),
            Target::Classes { labels, .. } => class_of(column, row, labels, &HashMap::new()).map(|_| ()),
        }
    }
}

/// Rows that can be used, and how many were left out because a cell is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub rows: Vec<usize>,
    pub dropped: usize,
}

/// Rows of new data: those that can be encoded, and the others with the reason.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usable {
    pub rows: Vec<usize>,
    pub refused: Vec<(usize, String)>,
    /// What was filled in, a sentence each.
    pub notes: Vec<String>,
    /// The same of each of `rows` that is not plain, in a few words.
    pub odd: Vec<(usize, String)>,
    /// Lines of the file that have too few or too many cells to be rows, and the reason.
    pub ragged: Vec<(usize, String)>,
}

/// Rows to split and train on: `target` is a name or an index, `ignore` the columns that are no inputs. A column without
/// any value does not count: `Encoder::fit` drops it.
pub fn rows_without_missing(table: &Table, target: &str, ignore: &[String], missing: Missing) -> Result<Kept> {
    let target = table.column_index(target)?;
    let mut is_input = vec![true; table.columns.len()];
    for name in ignore {
        is_input[table.column_index(name)?] = false;
    }
    is_input[target] = false;
    let inputs = table.columns.iter().zip(&is_input).filter(|(_, keep)| **keep).map(|(column, _)| column);
    let inputs: Vec<&Column> = inputs.filter(|column| column.missing() < table.rows()).collect();
    kept_rows(table, &inputs, &table.columns[target], missing)
}

fn kept_rows(table: &Table, inputs: &[&Column], target: &Column, missing: Missing) -> Result<Kept> {
    let mut keep = vec![true; table.rows()];
    // The first missing cell in the order of the file: (row, name, whether it is the target).
    let mut first: Option<(usize, &str, bool)> = None;
    for (column, is_target) in inputs.iter().map(|c| (*c, false)).chain([(target, true)]) {
        if missing.fills() && !is_target {
            continue;
        }
        for (row, kept) in keep.iter_mut().enumerate() {
            if column.is_missing(row) {
                *kept = false;
                if first.is_none_or(|(other, _, _)| row < other) {
                    first = Some((row, &column.name, is_target));
                }
            }
        }
    }
    if let (Missing::Error, Some((row, name, is_target))) = (missing, first) {
        let (found, cure) = match is_target {
            true => ("the target is missing", "fill it in, or use --missing drop to leave such rows out".to_string()),
            false => {
                let cure = format!("fill it in, use --missing drop or --missing mean, or --ignore {}", quoted(name));
                ("the cell is missing", cure)
            }
        };
        return Err(Error::data(table.place(row, name), found, "a value in every row", cure));
    }
    let rows: Vec<usize> = (0..table.rows()).filter(|&row| keep[row]).collect();
    if rows.is_empty() {
        let (found, cure) = match missing.fills() {
            true => (format!("the target {} is missing in every row", quoted(&target.name)), "choose another --target"),
            false => {
                ("every row has a missing cell".into(), "use --missing mean, or --ignore the columns with most of them")
            }
        };
        return Err(Error::data(table.path.display().to_string(), found, "complete rows", cure));
    }
    Ok(Kept { dropped: table.rows() - rows.len(), rows })
}

/// "1" for 1.0: the text of a number that serves as a label or a level.
pub(crate) fn number_text(value: f64) -> String {
    // Adding 0 makes -0 a 0.
    (value + 0.0).to_string()
}

impl Encoder {
    /// Of this target, with no input yet.
    pub fn of(target: Target) -> Encoder {
        Encoder {
            features: vec![],
            dropped: vec![],
            target,
            more_targets: vec![],
            target_at: 0,
            missing: Missing::Error,
            strict: false,
            pixels: None,
        }
    }

    pub fn task(&self) -> Task {
        match self.target {
            Target::Regression { .. } => Task::Regression,
            Target::Classes { .. } => Task::Classification,
        }
    }

    pub fn target_name(&self) -> &str {
        self.target.name()
    }

    /// All targets, in the order of the network's outputs.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.target).chain(&self.more_targets)
    }

    pub fn n_targets(&self) -> usize {
        1 + self.more_targets.len()
    }

    /// "a", or "a, b" where there are several.
    pub fn target_names(&self) -> String {
        self.targets().map(Target::name).collect::<Vec<_>>().join(", ")
    }

    /// This encoder with target `at` alone: what is evaluated, drawn and told is told of one target.
    pub fn of_target(&self, at: usize) -> Encoder {
        let target = self.targets().nth(at).unwrap_or(&self.target).clone();
        let (features, dropped, pixels) = (self.features.clone(), self.dropped.clone(), self.pixels.clone());
        Encoder { features, dropped, target, more_targets: vec![], target_at: at, pixels, ..*self }
    }

    /// Width of an encoded row.
    pub fn n_inputs(&self) -> usize {
        self.features.iter().map(|f| f.kind.inputs()).sum::<usize>() + self.pixels.as_ref().map_or(0, Pixels::len)
    }

    pub fn n_classes(&self) -> Option<usize> {
        match &self.target {
            Target::Regression { .. } => None,
            Target::Classes { labels, .. } => Some(labels.len()),
        }
    }

    /// Per encoded input the range of the auxiliary rows, in standardised units (`FeatureKind::aux_range`).
    pub fn aux_range(&self) -> (Vec<f32>, Vec<f32>) {
        if let Some(pixels) = &self.pixels {
            return pixels.aux_range();
        }
        let (mut low, mut high) = (Vec::new(), Vec::new());
        self.features.iter().for_each(|feature| feature.kind.aux_range(&mut low, &mut high));
        (low, high)
    }

    /// A standardised target in the file's unit; the value itself for classes. Of several targets the first.
    pub fn destandardise(&self, value: f64) -> f64 {
        match self.target {
            Target::Regression { mean, sd, .. } => mean + sd * value,
            Target::Classes { .. } => value,
        }
    }

    /// Unit of the standardised target; 1 for classes, and for several targets, which have none in common.
    pub fn target_sd(&self) -> f64 {
        match self.target {
            _ if !self.more_targets.is_empty() => 1.0,
            Target::Regression { sd, .. } => sd,
            Target::Classes { .. } => 1.0,
        }
    }

    /// Which rows of new data can be encoded. An error where none can, and in a strict encoder at the first that cannot.
    /// Looks into the file again for what a column of numbers does not keep.
    pub fn usable(&self, table: &Table, need_target: bool) -> Result<Usable> {
        let columns = self.columns(table)?;
        let lost = Lost::of(table, &columns);
        let of = self.features.iter().zip(&columns);
        let cells: Vec<Cellwise> = of.map(|(f, column)| Cellwise::new(&f.kind, column, self.fills())).collect();
        let mut reasons: Vec<Option<String>> = vec![None; table.rows()];
        // The first row that cannot be encoded, and what it is to be told.
        let mut first: Option<(usize, Error)> = None;
        let mut refuse = |row: usize, reason: String, error: Error| {
            reasons[row].get_or_insert(reason);
            if first.as_ref().is_none_or(|(other, _)| row < *other) {
                first = Some((row, error));
            }
        };
        let of_cell = |name: &str, fault: &Fault| format!("column {}: {}", quoted(name), fault.found);
        // Per row: how many cells say nothing, and whether one is not as in training.
        let (mut blank, mut is_odd) = (vec![0usize; table.rows()], vec![false; table.rows()]);
        for (at, cells) in cells.iter().enumerate() {
            for row in 0..table.rows() {
                match cells.judge(row, lost.text(at, row)) {
                    Ok(strange) => {
                        let is_switch = matches!(cells.kind, FeatureKind::Switch { .. });
                        let is_blank = cells.column.is_missing(row)
                            || strange == Strange::Unread
                            || (is_switch && strange == Strange::Unseen);
                        blank[row] += usize::from(is_blank);
                        is_odd[row] |= strange != Strange::No;
                    }
                    Err(fault) => {
                        let name = &cells.column.name;
                        refuse(row, of_cell(name, &fault), fault_error(table, name, row, fault));
                    }
                }
            }
        }
        // Where training had missing cells in every column it knows such a row.
        for row in (0..table.rows()).filter(|&row| is_odd[row] && blank[row] == cells.len()) {
            let place = format!("{}, line {}", table.path.display(), table.lines.get(row));
            let error = Error::data(place, NOTHING_READ, "a value in an input", "fix the cells, or leave the row out");
            refuse(row, NOTHING_READ.into(), error);
        }
        if need_target {
            for target in self.targets() {
                let column = target.column(table)?;
                for row in 0..table.rows() {
                    if let Err(fault) = target.takes(column, row) {
                        let name = &column.name;
                        refuse(row, of_cell(name, &fault), fault_error(table, name, row, fault));
                    }
                }
            }
        }
        let rows: Vec<usize> = (0..table.rows()).filter(|&row| reasons[row].is_none()).collect();
        match first {
            Some((_, error)) if self.strict || rows.is_empty() => Err(error),
            _ => {
                let odd: Vec<usize> = rows.iter().copied().filter(|&row| is_odd[row]).collect();
                let notes = self.features.iter().zip(&cells).enumerate();
                let notes = notes.flat_map(|(at, (f, cells))| summed(f, cells, &odd, |row| lost.text(at, row)));
                let notes = notes.collect();
                let odd = odd.into_iter().map(|row| (row, said_of_row(&cells, row, &lost))).collect();
                let refused =
                    reasons.into_iter().enumerate().filter_map(|(row, reason)| Some((row, reason?))).collect();
                Ok(Usable { rows, refused, notes, odd, ragged: lost.ragged })
            }
        }
    }

    fn fills(&self) -> bool {
        self.missing.fills() && !self.strict
    }

    /// The features' columns, found by name.
    fn columns<'t>(&self, table: &'t Table) -> Result<Vec<&'t Column>> {
        let by_name: HashMap<&str, &Column> = table.columns.iter().map(|c| (c.name.as_str(), c)).collect();
        let find = |f: &Feature| by_name.get(f.name.as_str()).copied().ok_or_else(|| absent(table, &f.name));
        self.features.iter().map(find).collect()
    }

    /// Encodes rows (numbers below `table.rows()`), with columns found by name. Without `need_target` the target is
    /// given only if the column is there and all its cells are valid.
    pub fn encode(&self, table: &Table, rows: &[usize], need_target: bool) -> Result<Dataset> {
        if let Some(row) = rows.iter().find(|&&row| row >= table.rows()) {
            let found = format!("row {row}, but the table has {} rows", table.rows());
            return Err(Error::usage(table.path.display().to_string(), found, "rows of the table", ""));
        }
        // A strict reader's training rows are filled too, if asked for; new data is judged by `usable`.
        let of = self.features.iter().zip(self.columns(table)?);
        let cells: Vec<Cellwise> = of.map(|(f, column)| Cellwise::new(&f.kind, column, self.missing.fills())).collect();
        let (n, d) = (rows.len(), self.n_inputs());
        let mut x = vec![0f32; n * d];
        let blocks = x.par_chunks_mut(BLOCK * d.max(1)).zip(rows.par_chunks(BLOCK));
        let faults = blocks.filter_map(|(x, rows)| write_rows(&cells, x, rows, d).err());
        // That of the first feature is told, whichever core finds one first; blocks keep their order.
        if let Some((at, row, fault)) = faults.collect::<Vec<_>>().into_iter().min_by_key(|(at, _, _)| *at) {
            return Err(fault_error(table, &cells[at].column.name, row, fault));
        }
        let y = match need_target {
            true => self.encode_targets(table, rows)?,
            false => self.encode_targets(table, rows).unwrap_or_default(),
        };
        let ids = Ids::of_lines(rows.iter().map(|&row| table.lines.get(row)));
        let target = match self.target {
            Target::Regression { .. } if !y.is_empty() => {
                let columns = self.targets().map(|t| t.column(table)).collect::<Result<Vec<_>>>()?;
                let values = rows.iter().flat_map(|&row| columns.iter().map(move |c| number_of(c, row)));
                values.filter_map(std::result::Result::ok).collect()
            }
            _ => Vec::new(),
        };
        Ok(Dataset { x, y, n, d, ids, target, ..Default::default() })
    }

    /// [n, T], the targets of a row beside each other.
    fn encode_targets(&self, table: &Table, rows: &[usize]) -> Result<Vec<f32>> {
        if self.more_targets.is_empty() {
            return self.target.encode(table, rows);
        }
        let columns = self.targets().map(|t| t.encode(table, rows)).collect::<Result<Vec<_>>>()?;
        Ok((0..rows.len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect())
    }
}

/// Rows that a core encodes at once: what it writes stays in its cache.
const BLOCK: usize = 4096;

/// Writes the inputs of `rows` into `x` [rows, d], which is all 0. Feature by feature; at the first fault the number of
/// the feature and the row.
fn write_rows(
    features: &[Cellwise],
    x: &mut [f32],
    rows: &[usize],
    d: usize,
) -> std::result::Result<(), (usize, usize, Fault)> {
    let mut at = 0;
    for (number, cells) in features.iter().enumerate() {
        let width = cells.kind.inputs();
        for (i, &row) in rows.iter().enumerate() {
            let (value, _) = cells.at(row).map_err(|fault| (number, row, fault))?;
            cells.kind.write(value, &mut x[i * d + at..][..width]);
        }
        at += width;
    }
    Ok(())
}

/// The cells of a column as a feature reads them; each distinct text once.
struct Cellwise<'t> {
    kind: &'t FeatureKind,
    column: &'t Column,
    texts: Vec<Reading>,
    index: HashMap<&'t str, usize>,
    fills: bool,
}

impl<'t> Cellwise<'t> {
    fn new(kind: &'t FeatureKind, column: &'t Column, fills: bool) -> Cellwise<'t> {
        let index = kind.index();
        let texts = match &column.cells {
            Cells::Text(texts) => texts.levels().iter().map(|text| kind.text(text, &index, fills)).collect(),
            Cells::Number(_) => Vec::new(),
        };
        Cellwise { kind, column, texts, index, fills }
    }

    fn at(&self, row: usize) -> Reading {
        match &self.column.cells {
            Cells::Number(values) if values[row].is_nan() => self.kind.missing(self.fills),
            Cells::Number(values) => self.kind.number(values[row], &self.index, self.fills),
            Cells::Text(texts) => match texts.code(row) {
                Some(code) => self.texts[code].clone(),
                None => self.kind.missing(self.fills),
            },
        }
    }

    /// How far a cell is from training; `lost`: what stands in the file where the column has no number.
    fn judge(&self, row: usize, lost: Option<&str>) -> std::result::Result<Strange, Fault> {
        match (self.at(row), lost) {
            (Ok((_, strange)), None) => Ok(strange),
            (Ok(_), Some(_)) => Ok(Strange::Unread),
            (Err(fault), None) => Err(fault),
            (Err(fault), Some(text)) => {
                Err(Fault { found: format!("{} cannot be read as {}", quoted(text), self.kind.unread()), ..fault })
            }
        }
    }
}

/// Why a row is refused that says nothing.
const NOTHING_READ: &str = "no input could be read";

/// What to say of the cells of `rows` that are not as in training.
fn summed<'l>(
    feature: &Feature,
    cells: &Cellwise,
    rows: &[usize],
    lost: impl Fn(usize) -> Option<&'l str>,
) -> Vec<String> {
    let (mut filled, mut unread, mut unseen) = (0, 0, 0);
    for &row in rows {
        match cells.judge(row, lost(row)) {
            Ok(Strange::Filled) => filled += 1,
            Ok(Strange::Unread) => unread += 1,
            Ok(Strange::Unseen) => unseen += 1,
            Ok(Strange::No) | Err(_) => {}
        }
    }
    let (name, kind) = (quoted(&feature.name), &feature.kind);
    let with = match kind.stand_in() {
        "the training mean stands in" => "the training mean stands in for them".to_string(),
        counts => counts.replacen("counts", "they count", 1),
    };
    let has = |n: usize, what: String| (n > 0).then(|| format!("column {name} has {what}: {with}"));
    let rare = match unseen {
        1 => "1 cell is a level that is rare or not in training: it counts as rare".into(),
        n => format!("{n} cells are levels that are rare or not in training: they count as rare"),
    };
    let is_rare = matches!(kind, FeatureKind::Levels { unseen: Unseen::Other, .. });
    let all = [
        has(filled, format!("{}, as none was in training", counted(filled, "missing cell"))),
        has(unread, format!("{} that cannot be read as {}", counted(unread, "cell"), kind.unread())),
        match is_rare {
            true => (unseen > 0).then(|| format!("column {name}: {rare}")),
            false => has(unseen, format!("{} that training did not have", counted(unseen, "cell"))),
        },
    ];
    all.into_iter().flatten().collect()
}

/// The most columns that are named of a row.
pub const NAMED: usize = 3;

/// The cells of a row that are not as in training: "a, b: missing, the training mean stands in; c: 'x' not in training".
fn said_of_row(features: &[Cellwise], row: usize, lost: &Lost) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = vec![];
    let mut n = 0;
    for (at, cells) in features.iter().enumerate() {
        let text = || match cells.column.number(row) {
            Some(value) => quoted(&number_text(value)),
            None => quoted(cells.column.text(row).or(lost.text(at, row)).unwrap_or("")),
        };
        let stand_in = cells.kind.stand_in();
        let said = match cells.judge(row, lost.text(at, row)) {
            Ok(Strange::No) | Err(_) => continue,
            Ok(_) if n >= NAMED => String::new(),
            Ok(Strange::Filled) => format!("missing, {stand_in}"),
            Ok(Strange::Unread) => format!("{} cannot be read as {}, {stand_in}", text(), cells.kind.unread()),
            Ok(Strange::Unseen) => match cells.kind {
                FeatureKind::Levels { unseen: Unseen::Other, .. } => format!("{} rare or not in training", text()),
                FeatureKind::Levels { .. } => format!("{} not in training", text()),
                _ => format!("{} not in training, {stand_in}", text()),
            },
        };
        n += 1;
        match groups.iter_mut().find(|(other, _)| *other == said) {
            _ if said.is_empty() => {}
            Some((_, names)) => names.push(&cells.column.name),
            None => groups.push((said, vec![&cells.column.name])),
        }
    }
    let groups: Vec<String> = groups.iter().map(|(said, names)| format!("{}: {said}", names.join(", "))).collect();
    let more = if n > NAMED { format!("; and {}", counted(n - NAMED, "more column")) } else { String::new() };
    groups.join("; ") + &more
}

fn fault_error(table: &Table, name: &str, row: usize, fault: Fault) -> Error {
    Error::data(table.place(row, name), fault.found, fault.allowed, fault.cure)
}

fn missing_target() -> Fault {
    Fault {
        found: "the target is missing".into(),
        allowed: "a value in every row".into(),
        cure: "fill it in, or leave the row out",
    }
}

/// The number in a cell of a target.
fn number_of(column: &Column, row: usize) -> std::result::Result<f64, Fault> {
    if column.is_missing(row) {
        return Err(missing_target());
    }
    let text = column.text(row);
    column.number(row).or_else(|| text?.parse().ok()).filter(|v: &f64| v.is_finite()).ok_or_else(|| Fault {
        found: quoted(text.unwrap_or("")),
        allowed: "a number, as in training".into(),
        cure: "fix the cell, or leave it empty if it is missing",
    })
}

/// The class of a cell; `index` may be empty.
fn class_of(
    column: &Column,
    row: usize,
    labels: &[String],
    index: &HashMap<&str, usize>,
) -> std::result::Result<usize, Fault> {
    let number;
    let text = match column.number(row) {
        Some(value) => {
            number = number_text(value);
            number.as_str()
        }
        None => column.text(row).ok_or_else(missing_target)?,
    };
    let found = position(index, labels, text).or_else(|| labels.iter().position(|label| label == text));
    found.ok_or_else(|| unseen_level(text, labels, "class"))
}

fn absent(table: &Table, name: &str) -> Error {
    let cure = match table.header {
        true => "rename the column, or add it",
        false => {
            "the file has no header: give the same columns in the same places as in training, the target's included"
        }
    };
    let columns = listed(table.names().into_iter());
    Error::data(
        table.path.display().to_string(),
        format!("no column {}; the file has {columns}", quoted(name)),
        "",
        cure,
    )
}

fn too_far(table: &Table, column: &Column, row: usize, value: f64, scale: Option<Scale>) -> Error {
    let (mean, sd) = scale.map_or((0.0, 1.0), |s| (s.mean, s.sd));
    let found = format!("{value:e} is too far from the training mean {mean:e} (sd {sd:e})");
    Error::data(table.place(row, &column.name), found, "up to 1e38 sd", "fix the cell")
}

#[cfg(test)]
mod tests;
