//! Which rows of a file can be scored: those with a true value and a prediction. What is left out is reported; a prediction
//! that is there in part is a fault, which the readers of the cells find. Must not look at a value.

use super::columns::place;
use crate::data::table::{Cells, Column, Table};
use crate::error::{Error, Result};

/// Rows with a `target`, if one is asked for, and with a cell in any of the columns `used` if there are any; and what there is to say.
pub fn complete(table: &Table, used: &[usize], target: Option<&Column>) -> Result<(Vec<usize>, Vec<String>)> {
    let all = table.rows();
    let has_target = |row: &usize| target.is_none_or(|t| !t.is_missing(*row));
    let is_predicted = |row: &usize| used.is_empty() || used.iter().any(|&c| !table.columns[c].is_missing(*row));
    let known: Vec<usize> = (0..all).filter(has_target).collect();
    let both: Vec<usize> = known.iter().copied().filter(is_predicted).collect();
    if both.is_empty() && all > 0 {
        let found = match target {
            Some(t) if known.is_empty() => format!("column '{}' of the true values is empty in every row", t.name),
            Some(t) => format!("no row has both a true value in column '{}' and a prediction", t.name),
            None => "no row has a prediction".into(),
        };
        let allowed = "a prediction and its true value in a row";
        return Err(Error::data(place(table), found, allowed, "put the true values into the file"));
    }
    let left_out = [(all - known.len(), "a target"), (known.len() - both.len(), "a prediction")];
    let said = |(n, what): (usize, &str)| (n > 0).then(|| format!("{n} of {all} rows without {what} left out"));
    Ok((both, left_out.into_iter().filter_map(said).collect()))
}

/// The table with these rows alone.
pub fn keep(table: &mut Table, rows: &[usize]) {
    if rows.len() == table.rows() {
        return;
    }
    for column in &mut table.columns {
        column.cells = match &column.cells {
            Cells::Number(values) => Cells::Number(rows.iter().map(|&row| values[row]).collect()),
            Cells::Text(texts) => Cells::Text(rows.iter().map(|&row| texts.get(row)).collect()),
        };
    }
    table.lines = rows.iter().map(|&row| table.lines.get(row)).collect();
}
