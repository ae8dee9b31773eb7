//! Which rows of a table are split and trained on.

use super::Missing;
use crate::data::quoted;
use crate::data::table::{Column, Table};
use crate::error::{Cure, Error, Result, either};
use crate::recipe::key;

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
        let (found, help) = match is_target {
            true => (
                "the target is missing",
                either(
                    "fill it in, or use --missing drop to leave such rows out",
                    "fill it in, or choose that such rows are left out",
                ),
            ),
            false => {
                let help = either(
                    format!("fill it in, use --missing drop or --missing mean, or --ignore {}", quoted(name)),
                    "fill it in, choose another way with missing cells, or take the column's tick away",
                );
                ("the cell is missing", help)
            }
        };
        let fill = Cure::set(key!(data.missing).path, if is_target { "drop" } else { "flag" });
        return Err(Error::data(table.place(row, name), found, "a value in every row", help).curing(fill));
    }
    let rows: Vec<usize> = (0..table.rows()).filter(|&row| keep[row]).collect();
    if rows.is_empty() {
        let (found, help) = match missing.fills() {
            true => (
                format!("the target {} is missing in every row", quoted(&target.name)),
                either("choose another --target", "choose another target"),
            ),
            false => (
                "every row has a missing cell".into(),
                either(
                    "use --missing mean, or --ignore the columns with most of them",
                    "let missing cells be filled, or take the tick of the columns with most of them away",
                ),
            ),
        };
        return Err(Error::data(table.path.display().to_string(), found, "complete rows", help));
    }
    Ok(Kept { dropped: table.rows() - rows.len(), rows })
}
