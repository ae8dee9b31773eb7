//! The encoder: from named columns to standardised inputs and targets, and back to the target's unit. It is stored in
//! model files, so that new rows meet the same numbers as the training rows did. The encoding of a column is in
//! `feature`, that of a target in `target`, and the checks of new rows in `usable`.
//!
//! Must not compute statistics (that is `fit`) and must not fill a missing target.

pub use feature::{Calendar, Feature, FeatureKind, Unseen};
pub use kept::{Kept, rows_without_missing};
pub use learn::{detect_task, strata};
pub use scale::{CLIP, Robust, Scale};
pub use target::Target;
pub use usable::{NAMED, Usable};
mod cells;
pub mod feature;
mod kept;
pub(crate) mod learn;
pub mod meaning;
pub mod pixels;
pub(crate) mod scale;
mod target;
pub mod targets;
mod usable;

use super::table::{Column, Table};
use super::{Dataset, Ids, Task, listed, quoted};
use crate::error::{Error, Result, either};
pub use crate::recipe::Missing;
use cells::{BLOCK, Cellwise, write_rows};
use feature::CellFault;
use pixels::Pixels;
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

/// A column that is no input, and why: in words, or the flag that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub name: String,
    pub reason: String,
}

impl Dropped {
    /// "left out: constant", "left out (--ignore)".
    pub fn said(&self) -> String {
        let Dropped { reason, .. } = self;
        if reason.starts_with("--") { format!("left out ({reason})") } else { format!("left out: {reason}") }
    }
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

    /// This encoder with target `at` alone: evaluation, figures and reports are of one target.
    pub fn of_target(&self, at: usize) -> Encoder {
        let target = self.targets().nth(at).unwrap_or(&self.target).clone();
        let (features, dropped, pixels) = (self.features.clone(), self.dropped.clone(), self.pixels.clone());
        Encoder { features, dropped, target, more_targets: vec![], target_at: at, pixels, ..*self }
    }

    /// Width of an encoded row.
    pub fn n_inputs(&self) -> usize {
        self.features.iter().map(|f| f.kind.inputs()).sum::<usize>() + self.pixels.as_ref().map_or(0, Pixels::len)
    }

    /// Which inputs are standardised numbers: of each number itself and of each date its trend, not the 0 and 1 of levels, of yes
    /// and no and of missing cells, nor a date's places on its circles.
    pub fn number_inputs(&self) -> Vec<u32> {
        let (mut at, mut found) = (0, vec![]);
        for feature in &self.features {
            if feature.kind.scale().is_some() {
                found.push(at);
            }
            at += feature.kind.inputs() as u32;
        }
        found
    }

    /// Inputs that hold the number of a level, and the rows of the table that it is looked up in.
    pub fn tables(&self) -> Vec<(usize, usize)> {
        let (mut at, mut found) = (0, vec![]);
        for feature in &self.features {
            found.extend(feature.kind.table().map(|rows| (at, rows)));
            at += feature.kind.inputs();
        }
        found
    }

    pub fn n_classes(&self) -> Option<usize> {
        match &self.target {
            Target::Regression { .. } => None,
            Target::Classes { labels, .. } => Some(labels.len()),
        }
    }

    /// Per encoded input the range of the auxiliary rows, in the input's own units (`FeatureKind::aux_range`).
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

    fn fills(&self) -> bool {
        self.missing.fills() && !self.strict
    }

    /// The features' columns, found by name.
    fn columns<'t>(&self, table: &'t Table) -> Result<Vec<&'t Column>> {
        let by_name: HashMap<&str, &Column> = table.columns.iter().map(|c| (c.name.as_str(), c)).collect();
        let missing: Vec<&str> =
            self.features.iter().map(|f| f.name.as_str()).filter(|name| !by_name.contains_key(name)).collect();
        if missing.len() > 1 {
            return Err(all_absent(table, &missing));
        }
        let find = |f: &Feature| by_name.get(f.name.as_str()).copied().ok_or_else(|| absent(table, &f.name));
        self.features.iter().map(find).collect()
    }

    /// Encodes rows (numbers below `table.rows()`), with columns found by name. Without `need_target` the target is
    /// given if the column is there and any of its cells is valid: NaN for the other rows.
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
        // That of the first feature is reported, whichever core finds one first; blocks keep their order.
        if let Some((at, row, fault)) = faults.collect::<Vec<_>>().into_iter().min_by_key(|(at, _, _)| *at) {
            return Err(fault_error(table, &cells[at].column.name, row, fault));
        }
        let y = match need_target {
            true => self.encode_targets(table, rows)?,
            false => self.known_targets(table, rows),
        };
        let ids = Ids::of_lines(rows.iter().map(|&row| table.lines.get(row)));
        let target = match self.target {
            Target::Regression { .. } if !y.is_empty() => {
                let columns = self.targets().map(|t| t.column(table)).collect::<Result<Vec<_>>>()?;
                let values = rows.iter().flat_map(|&row| columns.iter().map(move |c| target::number_of(c, row)));
                values.map(|value| value.unwrap_or(f64::NAN)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Dataset { x: x.into(), y, n, d, ids, target, ..Default::default() })
    }

    /// [n, T], NaN where a target is not known; empty where a column is absent or nothing is known.
    fn known_targets(&self, table: &Table, rows: &[usize]) -> Vec<f32> {
        let columns: Option<Vec<Vec<f32>>> = self.targets().map(|t| t.encode_known(table, rows)).collect();
        let columns = columns.filter(|all| all.iter().flatten().any(|v| !v.is_nan())).unwrap_or_default();
        (0..rows.len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect()
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

pub(super) fn fault_error(table: &Table, name: &str, row: usize, fault: CellFault) -> Error {
    Error::data(table.place(row, name), fault.found, fault.allowed, fault.help)
}

pub(super) fn absent(table: &Table, name: &str) -> Error {
    let same = |other: &&&str| other.to_lowercase() == name.to_lowercase();
    let help = match (table.header, table.names().iter().find(same)) {
        (true, Some(other)) => format!("did you mean {}? Rename the column, or add it", quoted(other)),
        (true, None) => "rename the column, or add it".into(),
        (false, _) => nameless(name),
    };
    let columns = listed(table.names().into_iter());
    Error::data(
        table.path.display().to_string(),
        format!("no column {}; the file has {columns}", quoted(name)),
        "",
        help,
    )
}

/// What a file without a header needs for a column of this name.
fn nameless(name: &str) -> String {
    match name.parse::<usize>() {
        Err(_) => either(
            "the file has no line of column names: put one first (or use --header yes)",
            "the file has no line of column names: put one first",
        ),
        Ok(_) => {
            "the file has no header: give the same columns in the same places as in training, the target's included"
                .into()
        }
    }
}

/// Several columns that are not there, with those that only differ in upper and lower case.
fn all_absent(table: &Table, names: &[&str]) -> Error {
    let same = |name: &&str| {
        let other = table.names().into_iter().find(|other| other.to_lowercase() == name.to_lowercase())?;
        Some(format!("{} is {} there", quoted(name), quoted(other)))
    };
    let renamed: Vec<String> = names.iter().filter_map(same).take(5).collect();
    let help = match (table.header, renamed.is_empty()) {
        (true, true) => "rename the columns, or add them".into(),
        (true, false) => format!("rename or add them: {}", renamed.join(", ")),
        (false, _) => nameless(names[0]),
    };
    let found =
        format!("no columns {}; the file has {}", listed(names.iter().copied()), listed(table.names().into_iter()));
    Error::data(table.path.display().to_string(), found, "", help)
}

#[cfg(test)]
mod tests;
