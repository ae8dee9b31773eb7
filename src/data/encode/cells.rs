//! The cells of a column as a feature reads them, and the inputs that they become.

use super::feature::{CellFault, FeatureKind, Reading, Strange};
use crate::data::quoted;
use crate::data::table::{Cells, Column};
use std::collections::HashMap;

/// Rows that a core encodes at once: what it writes stays in its cache.
pub(super) const BLOCK: usize = 4096;

/// Writes the inputs of `rows` into `x` [rows, d], which is all 0. Feature by feature; at the first fault the number of
/// the feature and the row.
pub(super) fn write_rows(
    features: &[Cellwise],
    x: &mut [f32],
    rows: &[usize],
    d: usize,
) -> std::result::Result<(), (usize, usize, CellFault)> {
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
pub(super) struct Cellwise<'t> {
    pub kind: &'t FeatureKind,
    pub column: &'t Column,
    texts: Vec<Reading>,
    index: HashMap<&'t str, usize>,
    fills: bool,
}

impl<'t> Cellwise<'t> {
    pub fn new(kind: &'t FeatureKind, column: &'t Column, fills: bool) -> Cellwise<'t> {
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
    pub fn judge(&self, row: usize, lost: Option<&str>) -> std::result::Result<Strange, CellFault> {
        match (self.at(row), lost) {
            (Ok((_, strange)), None) => Ok(strange),
            (Ok(_), Some(_)) => Ok(Strange::Unread),
            (Err(fault), None) => Err(fault),
            (Err(fault), Some(text)) => Err(CellFault {
                found: format!("{} cannot be read as a {}", quoted(text), self.kind.unread()),
                ..fault
            }),
        }
    }
}
