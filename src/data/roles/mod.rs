//! Columns with a special role: groups of rows, times, and weights.
//! They are no inputs unless they are asked to be. Must not look at other columns.

mod split_by;

use crate::base::visible::shell;
use crate::data::encode::targets::names_of;
use crate::data::encode::{Encoder, number_text};
use crate::data::split::{Split, by_fraction};
use crate::data::table::calendar::{self, Order};
use crate::data::table::{Cells, Table};
use crate::data::{Dataset, counted, five_digits, quoted};
use crate::error::{Error, Result, either};
use crate::recipe::keys::Key;
use crate::recipe::{self, key};
use split_by::{by_group, by_time};
use std::collections::HashMap;

/// Places among the table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    pub group: Option<usize>,
    pub time: Option<usize>,
    pub weight: Option<usize>,
}

/// The text of a cell; None where it is missing.
fn text(table: &Table, column: usize, row: usize) -> Option<String> {
    match &table.columns[column].cells {
        Cells::Number(values) => Some(values[row]).filter(|v| !v.is_nan()).map(number_text),
        Cells::Text(texts) => texts.get(row).map(String::from),
    }
}

impl Roles {
    pub fn find(table: &Table, target: &str, data: &recipe::Data) -> Result<Roles> {
        let index = |name: &Option<String>| name.as_deref().map(|n| table.column_index(n)).transpose();
        let roles = Roles { group: index(&data.group)?, time: index(&data.time)?, weight: index(&data.weight)? };
        let target = table.column_index(target)?;
        let said = [key!(data.group), key!(data.time), key!(data.weight)].map(Key::said);
        let columns = [roles.group, roles.time, roles.weight];
        let named: Vec<(&str, Option<usize>)> = said.iter().map(String::as_str).zip(columns).collect();
        for (i, (key, column)) in named.iter().enumerate() {
            let Some(column) = column else { continue };
            let name = quoted(&table.columns[*column].name);
            if *column == target {
                let help = "choose another column, or another target";
                return Err(Error::usage(*key, format!("column {name} is the target"), "any other column", help));
            }
            if let Some((other, _)) = named[..i].iter().find(|(_, c)| *c == Some(*column)) {
                return Err(Error::usage(*key, format!("column {name} is {other} already"), "one of them", "drop one"));
            }
        }
        if roles.group.is_some() && roles.time.is_some() {
            let help = "choose one: a group may reach from the past into the future";
            return Err(Error::usage(
                key!(data.time).said(),
                either("data.group is set, too", "groups are chosen, too"),
                "one of them",
                help,
            ));
        }
        for (key, column) in &named[..2] {
            if column.is_some() && data.split_file.is_some() {
                let found = either(
                    "data.split_file says which rows are the test part",
                    "a file says which rows are the test part",
                );
                return Err(Error::usage(*key, found, "one of them", "leave the split file out, or this key"));
            }
        }
        Ok(roles)
    }

    fn each(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let of = [
            (self.group, "its rows of one value stay in one part of the split"),
            (self.time, "it orders the split"),
            (self.weight, "it weighs the rows"),
        ];
        of.into_iter().filter_map(|(column, why)| Some((column?, why)))
    }

    /// Columns that are no inputs: those of `data.ignore`, and these unless `data.keep` names them.
    pub fn left_out(&self, table: &Table, data: &recipe::Data) -> Result<Vec<String>> {
        let kept = data.keep.iter().map(|name| table.column_index(name)).collect::<Result<Vec<usize>>>()?;
        let own = self.each().filter(|(column, _)| !kept.contains(column)).map(|(c, _)| table.columns[c].name.clone());
        Ok(names_of(&data.ignore, table).into_iter().chain(own).collect())
    }

    /// Says in the encoder why these columns are left out.
    pub fn explain(&self, table: &Table, data: &recipe::Data, encoder: &mut Encoder) {
        let ignored = names_of(&data.ignore, table);
        for (column, why) in self.each() {
            let name = &table.columns[column].name;
            if let Some(d) = encoder.dropped.iter_mut().find(|d| d.name == *name && !ignored.contains(name)) {
                d.reason = format!("{why}{}", either(format!(" (--keep {} makes it an input)", shell(name)), ""));
            }
        }
    }

    /// The parts of `rows`, by group, by time or by chance; `strata` [rows] are their classes. Also says how they were made.
    // Long: the three ways to part rows share the counts that their errors name.
    pub fn split(
        &self,
        table: &Table,
        rows: &[usize],
        data: &recipe::Data,
        seed: u64,
        strata: Option<&[usize]>,
        notes: &mut Vec<String>,
    ) -> Result<Split> {
        let test_fraction = if data.test_file.is_some() { 0.0 } else { data.test_fraction };
        let validation_fraction = data.validation_fraction;
        if let Some(column) = self.group {
            let name = &table.columns[column].name;
            let mut numbers: HashMap<String, usize> = HashMap::new();
            let mut unknown = 0;
            let mut number = |&row: &usize| {
                let label = text(table, column, row);
                unknown += usize::from(label.is_none());
                let next = numbers.len();
                *numbers.entry(label.unwrap_or_default()).or_insert(next)
            };
            let groups: Vec<usize> = rows.iter().map(&mut number).collect();
            let split = by_group(&groups, validation_fraction, test_fraction, seed, strata)
                .map_err(|e| at_column(e, key!(data.group), name))?;
            let count = |part: &[usize]| {
                let distinct: std::collections::HashSet<usize> = part.iter().map(|&i| groups[i]).collect();
                format!("{} ({})", distinct.len(), counted(part.len(), "row"))
            };
            notes.push(format!(
                "split by {}: groups that train {}, validate {}, test {}; none is in two parts",
                quoted(name),
                count(&split.train),
                count(&split.validation),
                count(&split.test)
            ));
            if unknown > 0 {
                notes.push(format!(
                    "{} without a value of {} are taken for one group",
                    counted(unknown, "row"),
                    quoted(name)
                ));
            }
            return Ok(split.of_rows(rows));
        }
        let Some(column) = self.time else {
            let split = by_fraction(rows.len(), validation_fraction, test_fraction, seed, strata)?;
            return Ok(split.of_rows(rows));
        };
        let name = &table.columns[column].name;
        let (mut moments, mut known) = (vec![], vec![]);
        let order = match &table.columns[column].cells {
            Cells::Text(texts) => calendar::detect(texts.levels().iter().map(String::as_str)).map(|found| found.order),
            Cells::Number(_) => None,
        };
        for &row in rows {
            let Some(cell) = text(table, column, row) else { continue };
            let when = moment(&cell, order.unwrap_or_default()).ok_or_else(|| {
                let help = "write such times as 2024-03-01 or 2024-03-01T12:30, or choose another column";
                Error::data(table.place(row, name), quoted(&cell), "numbers or dates", help)
            })?;
            moments.push(when);
            known.push(row);
        }
        if known.len() < rows.len() {
            notes.push(format!(
                "{} left out: without a value of {} they cannot be placed in time",
                counted(rows.len() - known.len(), "row"),
                quoted(name)
            ));
        }
        let split =
            by_time(&moments, validation_fraction, test_fraction).map_err(|e| at_column(e, key!(data.time), name))?;
        let since = |part: &[usize]| {
            let first = part.iter().copied().reduce(|a, b| if moments[b] < moments[a] { b } else { a })?;
            text(table, column, known[first])
        };
        let said: Vec<String> = [("test", since(&split.test)), ("validation", since(&split.validation))]
            .into_iter()
            .filter_map(|(part, since)| Some(format!("{part} rows are those from {} on", since?)))
            .collect();
        let before = if said.len() == 2 { " (the later ones test)" } else { "" };
        if !said.is_empty() {
            notes.push(format!("split by {}: {}{before}", quoted(name), said.join(", ")));
        }
        Ok(split.of_rows(&known))
    }

    /// Gives each row of the parts (train, validation, test) its weight, in units of the mean over the training rows.
    /// `parts` come with the tables and the rows that they were encoded from; a test table of its own may lack the column.
    pub fn weigh(
        &self,
        name: Option<&str>,
        parts: [(&Table, &[usize], &mut Dataset); 3],
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let (Some(_), Some(name)) = (self.weight, name) else { return Ok(()) };
        let mut mean = 1.0;
        for (i, (table, rows, part)) in parts.into_iter().enumerate() {
            let Ok(column) = table.column_index(name) else {
                notes.push(format!("{} has no column {}: its rows weigh alike", table.path.display(), quoted(name)));
                continue;
            };
            let weights = weights_of(table, column, rows)?;
            if i == 0 {
                let (low, high) = weights.iter().fold((f64::INFINITY, 0f64), |(l, h), w| (l.min(*w), h.max(*w)));
                // Scaled before the sum, which would overflow for weights near the largest double.
                mean = high * weights.iter().map(|w| w / high).sum::<f64>() / weights.len().max(1) as f64;
                if !(mean > 0.0 && mean.is_finite()) {
                    let found = format!("all training rows weigh {low}");
                    let help = "give some rows a weight above 0, or choose another column";
                    return Err(Error::data(
                        format!("{}, column {}", key!(data.weight).said(), quoted(name)),
                        found,
                        "",
                        help,
                    ));
                }
                let (low, high) = (five_digits(low / mean), five_digits(high / mean));
                notes.push(format!(
                    "rows weigh by {} ({low} to {high} in units of the training rows' mean): the loss, the choice of the epoch and the \
                     metrics are weighted",
                    quoted(name)
                ));
            }
            part.weights = weights.into_iter().map(|w| (w / mean) as f32).collect();
        }
        Ok(())
    }
}

/// When something was, as a number that sorts: a number itself, or the seconds since 1970 of a date. None for any other text.
fn moment(text: &str, order: Order) -> Option<f64> {
    match text.trim().parse::<f64>() {
        Ok(number) => number.is_finite().then_some(number),
        Err(_) => calendar::parse(text, order).map(|m| m.instant()),
    }
}

/// Weights [rows] as the file has them.
fn weights_of(table: &Table, column: usize, rows: &[usize]) -> Result<Vec<f64>> {
    let name = &table.columns[column].name;
    let of = |&row: &usize| {
        let refuse = |found: String| {
            let help = "fix the cell, or leave the row out (weight 0 keeps it without effect)";
            Error::data(table.place(row, name), found, "a weight of at least 0 in every row", help)
        };
        let cell = text(table, column, row).ok_or_else(|| refuse("the weight is missing".into()))?;
        let value = cell.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        value.ok_or_else(|| refuse(format!("the weight {}", quoted(&cell))))
    };
    rows.iter().map(of).collect()
}

/// Weights [rows] for means, in units of the largest; empty where the table has no column of that name.
pub fn weights(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<f32>> {
    let Ok(column) = table.column_index(name) else { return Ok(vec![]) };
    let weights = weights_of(table, column, rows)?;
    let largest = weights.iter().copied().fold(0.0, f64::max);
    // Rows that all do not count: no mean is taken over them.
    Ok(if largest > 0.0 { weights.into_iter().map(|w| (w / largest) as f32).collect() } else { vec![] })
}

/// The error of a split, with the column that caused it.
fn at_column(error: Error, key: &Key, name: &str) -> Error {
    match error {
        Error::Usage(f) if f.place == "split" => {
            Error::usage(format!("{}, column {}", key.said(), quoted(name)), f.found, f.allowed, f.help)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
