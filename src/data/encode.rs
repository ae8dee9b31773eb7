//! The encoder: from named columns to standardised inputs and targets, and back to the target's unit. It is stored in
//! model files, so that new rows meet the same numbers as the training rows did.
//!
//! Inputs, in the order of `features`: a number gives one input (x - mean)/sd; a text gives one input a level, 0 or 1.
//! Must not compute statistics (that is `fit`) and must not fill a missing target.

use super::pixels::Pixels;
use super::table::{Cells, Column, Table};
use super::{Dataset, Task, listed, quoted};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What to do with missing cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Stop at the first one.
    #[default]
    Error,
    /// Leave the row out.
    Drop,
    /// Numbers take the training mean, texts a level of their own; a row without target is left out.
    Mean,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Missing::Error => "error",
            Missing::Drop => "drop",
            Missing::Mean => "mean",
        })
    }
}

/// All statistics are of the training rows, in the file's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    pub features: Vec<Feature>,
    pub dropped: Vec<Dropped>,
    pub target: Target,
    pub missing: Missing,
    /// The inputs are images; there are no features then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pixels>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    pub name: String,
    pub kind: FeatureKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// `sd` is the population standard deviation, above 0.
    Numeric { mean: f64, sd: f64, min: f64, max: f64 },
    /// Sorted; the level "" stands for a missing cell.
    Levels { levels: Vec<String> },
}

impl FeatureKind {
    /// Numbers that a cell becomes.
    pub fn inputs(&self) -> usize {
        match self {
            FeatureKind::Numeric { .. } => 1,
            FeatureKind::Levels { levels } => levels.len(),
        }
    }
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

/// Rows that can be used, and how many were left out because a cell is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub rows: Vec<usize>,
    pub dropped: usize,
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
    kept_rows(table, &inputs, Some(&table.columns[target]), missing, true)
}

/// `training` decides what the message offers as a cure.
fn kept_rows(
    table: &Table,
    inputs: &[&Column],
    target: Option<&Column>,
    missing: Missing,
    training: bool,
) -> Result<Kept> {
    let mut keep = vec![true; table.rows()];
    // The first missing cell in the order of the file: (row, name, whether it is the target).
    let mut first: Option<(usize, &str, bool)> = None;
    let columns = inputs.iter().map(|c| (*c, false)).chain(target.map(|c| (c, true)));
    for (column, is_target) in columns {
        if missing == Missing::Mean && !is_target {
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
            _ if !training => {
                let found = if is_target { "the target is missing" } else { "the cell is missing" };
                (
                    found.to_string(),
                    "fill it in or leave the row out, or train again with --missing drop or --missing mean".into(),
                )
            }
            true => {
                ("the target is missing".to_string(), "fill it in, or use --missing drop to leave such rows out".into())
            }
            false => {
                let cure = format!("fill it in, use --missing drop or --missing mean, or --ignore {}", quoted(name));
                ("the cell is missing".to_string(), cure)
            }
        };
        return Err(Error::data(table.place(row, name), found, "a value in every row", cure));
    }
    let rows: Vec<usize> = (0..table.rows()).filter(|&row| keep[row]).collect();
    if rows.is_empty() {
        let found = "every row has a missing cell";
        let cure = "use --missing mean, or --ignore the columns with most of them";
        return Err(Error::data(table.path.display().to_string(), found, "complete rows", cure));
    }
    Ok(Kept { dropped: table.rows() - rows.len(), rows })
}

/// "1" for 1.0: the text of a number that serves as a label or a level.
pub(super) fn number_text(value: f64) -> String {
    // Adding 0 makes -0 a 0.
    (value + 0.0).to_string()
}

/// Index of a text among labels or levels; "01" and "1.0" are "1" if nothing matches letter by letter.
fn position(index: &HashMap<&str, usize>, names: &[String], text: &str) -> Option<usize> {
    index.get(text).copied().or_else(|| {
        let value = text.parse::<f64>().ok().filter(|v| v.is_finite())?;
        names.iter().position(|name| name.parse::<f64>() == Ok(value))
    })
}

impl Encoder {
    pub fn task(&self) -> Task {
        match self.target {
            Target::Regression { .. } => Task::Regression,
            Target::Classes { .. } => Task::Classification,
        }
    }

    pub fn target_name(&self) -> &str {
        match &self.target {
            Target::Regression { name, .. } | Target::Classes { name, .. } => name,
        }
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

    /// Per encoded input the range of the auxiliary rows, [min - d/2, max + d/2] with d = max - min (MATH.md section 2),
    /// in standardised units; [0, 1] for the inputs of a text, +-1 about an input that does not vary (`points`).
    pub fn aux_range(&self) -> (Vec<f32>, Vec<f32>) {
        if let Some(pixels) = &self.pixels {
            return pixels.aux_range();
        }
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for feature in &self.features {
            match &feature.kind {
                FeatureKind::Numeric { mean, sd, min, max } => {
                    let (min, max) = ((min - mean) / sd, (max - mean) / sd);
                    let half = if max > min { (max - min) / 2.0 } else { 1.0 };
                    low.push((min - half) as f32);
                    high.push((max + half) as f32);
                }
                FeatureKind::Levels { levels } => {
                    low.extend(levels.iter().map(|_| 0.0));
                    high.extend(levels.iter().map(|_| 1.0));
                }
            }
        }
        (low, high)
    }

    /// A standardised target in the file's unit; the value itself for classes.
    pub fn destandardise(&self, value: f64) -> f64 {
        match self.target {
            Target::Regression { mean, sd, .. } => mean + sd * value,
            Target::Classes { .. } => value,
        }
    }

    /// Unit of the standardised target; 1 for classes.
    pub fn target_sd(&self) -> f64 {
        match self.target {
            Target::Regression { sd, .. } => sd,
            Target::Classes { .. } => 1.0,
        }
    }

    /// Rows of new data that can be encoded under the encoder's own rule for missing cells.
    pub fn rows_without_missing(&self, table: &Table, need_target: bool) -> Result<Kept> {
        let columns = self.columns(table)?;
        let target = if need_target { Some(self.target_column(table)?) } else { None };
        kept_rows(table, &columns, target, self.missing, false)
    }

    /// The features' columns, found by name.
    fn columns<'t>(&self, table: &'t Table) -> Result<Vec<&'t Column>> {
        let by_name: HashMap<&str, &Column> = table.columns.iter().map(|c| (c.name.as_str(), c)).collect();
        let find = |f: &Feature| by_name.get(f.name.as_str()).copied().ok_or_else(|| absent(table, &f.name));
        self.features.iter().map(find).collect()
    }

    fn target_column<'t>(&self, table: &'t Table) -> Result<&'t Column> {
        let name = self.target_name();
        table.columns.iter().find(|c| c.name == name).ok_or_else(|| absent(table, name))
    }

    /// Encodes rows (numbers below `table.rows()`), with columns found by name. Without `need_target` the target is
    /// given only if the column is there and all its cells are valid.
    pub fn encode(&self, table: &Table, rows: &[usize], need_target: bool) -> Result<Dataset> {
        if let Some(row) = rows.iter().find(|&&row| row >= table.rows()) {
            let found = format!("row {row}, but the table has {} rows", table.rows());
            return Err(Error::usage(table.path.display().to_string(), found, "rows of the table", ""));
        }
        let columns = self.columns(table)?;
        let (n, d) = (rows.len(), self.n_inputs());
        let mut x = vec![0f32; n * d];
        let mut at = 0;
        for (feature, column) in self.features.iter().zip(columns) {
            match &feature.kind {
                FeatureKind::Numeric { mean, sd, .. } => {
                    let fill = if self.missing == Missing::Mean { Some(*mean) } else { None };
                    for (i, value) in numbers(table, column, rows, fill)?.into_iter().enumerate() {
                        x[i * d + at] = standardised(table, column, rows[i], value, *mean, *sd)?;
                    }
                }
                FeatureKind::Levels { levels } => {
                    for (i, level) in indices(table, column, rows, levels, "level")?.into_iter().enumerate() {
                        x[i * d + at + level] = 1.0;
                    }
                }
            }
            at += feature.kind.inputs();
        }
        let y = if need_target {
            self.encode_target(table, rows)?
        } else {
            self.encode_target(table, rows).unwrap_or_default()
        };
        let ids = rows.iter().map(|&row| table.lines.get(row).to_string()).collect();
        let target = match self.target {
            Target::Regression { .. } if !y.is_empty() => numbers(table, self.target_column(table)?, rows, None)?,
            _ => Vec::new(),
        };
        Ok(Dataset { x, y, n, d, ids, target, ..Default::default() })
    }

    fn encode_target(&self, table: &Table, rows: &[usize]) -> Result<Vec<f32>> {
        let column = self.target_column(table)?;
        match &self.target {
            Target::Regression { mean, sd, .. } => {
                let values = numbers(table, column, rows, None)?;
                values.into_iter().zip(rows).map(|(v, &row)| standardised(table, column, row, v, *mean, *sd)).collect()
            }
            Target::Classes { labels, .. } => {
                Ok(indices(table, column, rows, labels, "class")?.into_iter().map(|index| index as f32).collect())
            }
        }
    }
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

fn missing_cell(table: &Table, column: &Column, row: usize) -> Error {
    let cure = "fill it in, or use --missing drop or --missing mean in training";
    Error::data(table.place(row, &column.name), "the cell is missing", "a value in every row", cure)
}

/// Values of a numeric column; a missing cell takes `fill` or is an error, and so is a text.
fn numbers(table: &Table, column: &Column, rows: &[usize], fill: Option<f64>) -> Result<Vec<f64>> {
    let or_fill = |row: usize| fill.ok_or_else(|| missing_cell(table, column, row));
    let value = |&row: &usize| match &column.cells {
        Cells::Number(values) if values[row].is_nan() => or_fill(row),
        Cells::Number(values) => Ok(values[row]),
        Cells::Text(texts) => match texts.get(row) {
            None => or_fill(row),
            Some(text) => text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| {
                let cure = "fix the cell, or leave it empty if it is missing";
                Error::data(table.place(row, &column.name), quoted(text), "a number, as in training", cure)
            }),
        },
    };
    rows.iter().map(value).collect()
}

fn standardised(table: &Table, column: &Column, row: usize, value: f64, mean: f64, sd: f64) -> Result<f32> {
    let z = ((value - mean) / sd) as f32;
    if z.is_finite() {
        return Ok(z);
    }
    let found = format!("{value:e} is too far from the training mean {mean:e} (sd {sd:e})");
    Err(Error::data(table.place(row, &column.name), found, "up to 1e38 sd", "fix the cell"))
}

/// Positions of the cells among levels or labels.
fn indices(table: &Table, column: &Column, rows: &[usize], names: &[String], what: &str) -> Result<Vec<usize>> {
    let index: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let find = |row: usize, text: &str| {
        position(&index, names, text).ok_or_else(|| match text {
            "" => missing_cell(table, column, row),
            _ => {
                let found = format!("{what} {} was not seen in training", quoted(text));
                let allowed = listed(names.iter().map(String::as_str));
                let cure = "correct the cell, leave the row out, or train again with such rows";
                Error::data(table.place(row, &column.name), found, allowed, cure)
            }
        })
    };
    let position_in = |&row: &usize| match &column.cells {
        Cells::Number(values) if values[row].is_nan() => find(row, ""),
        Cells::Number(values) => find(row, &number_text(values[row])),
        Cells::Text(texts) => find(row, texts.get(row).unwrap_or("")),
    };
    rows.iter().map(position_in).collect()
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
