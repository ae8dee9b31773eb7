//! A target: its name and scale or its classes, and what a cell of it is.

use super::feature::{CellFault, Scale, position, unseen_level};
use super::{absent, fault_error, number_text};
use crate::data::quoted;
use crate::data::table::{Column, Table};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

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

    pub(super) fn column<'t>(&self, table: &'t Table) -> Result<&'t Column> {
        table.columns.iter().find(|c| c.name == self.name()).ok_or_else(|| absent(table, self.name()))
    }

    fn scale(&self) -> Option<Scale> {
        match *self {
            Target::Regression { mean, sd, min, max, .. } => Some(Scale { mean, sd, min, max, robust: None }),
            Target::Classes { .. } => None,
        }
    }

    fn standard(&self, value: f64) -> Option<f32> {
        let Scale { mean, sd, .. } = self.scale()?;
        Some(((value - mean) / sd) as f32).filter(|z| z.is_finite())
    }

    /// The standardised value or the class of each of `rows`.
    pub(super) fn encode(&self, table: &Table, rows: &[usize]) -> Result<Vec<f32>> {
        let (column, index) = (self.column(table)?, self.index());
        let value = |&row: &usize| {
            let value = self.value(column, row, &index);
            value.map_err(|fault| fault_error(table, &column.name, row, fault))
        };
        rows.iter().map(value).collect()
    }

    /// The same of rows of which some may have no target: NaN there. None where the column is absent.
    pub(super) fn encode_known(&self, table: &Table, rows: &[usize]) -> Option<Vec<f32>> {
        let (column, index) = (self.column(table).ok()?, self.index());
        Some(rows.iter().map(|&row| self.value(column, row, &index).unwrap_or(f32::NAN)).collect())
    }

    /// The place of each label.
    fn index(&self) -> HashMap<&str, usize> {
        match self {
            Target::Classes { labels, .. } => labels.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect(),
            Target::Regression { .. } => HashMap::new(),
        }
    }

    /// The standardised value or the class of a row; `index` may be empty.
    fn value(&self, column: &Column, row: usize, index: &HashMap<&str, usize>) -> std::result::Result<f32, CellFault> {
        match self {
            Target::Regression { mean, sd, .. } => {
                let value = number_of(column, row)?;
                self.standard(value).ok_or_else(|| CellFault {
                    found: format!("{value:e} is too far from the training mean {mean:e} (sd {sd:e})"),
                    allowed: "up to 1e38 sd".into(),
                    help: "fix the cell".into(),
                })
            }
            Target::Classes { labels, .. } => class_of(column, row, labels, index).map(|class| class as f32),
        }
    }

    /// Whether the target of a row can be encoded.
    pub(super) fn takes(&self, column: &Column, row: usize) -> std::result::Result<(), CellFault> {
        self.value(column, row, &HashMap::new()).map(drop)
    }
}

fn missing_target() -> CellFault {
    CellFault {
        found: "the target is missing".into(),
        allowed: "a value in every row".into(),
        help: "fill it in, or leave the row out".into(),
    }
}

/// The number in a cell of a target.
pub(super) fn number_of(column: &Column, row: usize) -> std::result::Result<f64, CellFault> {
    if column.is_missing(row) {
        return Err(missing_target());
    }
    let text = column.text(row);
    column.number(row).or_else(|| text?.parse().ok()).filter(|v: &f64| v.is_finite()).ok_or_else(|| CellFault {
        found: quoted(text.unwrap_or("")),
        allowed: "a number, as in training".into(),
        help: "fix the cell, or leave it empty if it is missing".into(),
    })
}

/// The class of a cell; `index` may be empty.
fn class_of(
    column: &Column,
    row: usize,
    labels: &[String],
    index: &HashMap<&str, usize>,
) -> std::result::Result<usize, CellFault> {
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
