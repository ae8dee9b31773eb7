//! Which rows of new data can be encoded, and warnings for those unlike the training rows.

use super::cells::Cellwise;
use super::feature::{CellFault, Feature, FeatureKind, StandIn, Strange, Unseen};
use super::{Encoder, fault_error, number_text};
use crate::data::table::rows::Lost;
use crate::data::table::{Lines, Table};
use crate::data::{counted, quoted};
use crate::error::{Error, Result};

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

impl Encoder {
    /// Which rows of new data can be encoded. An error where none can, and in a strict encoder at the first that cannot.
    /// Looks into the file again for what a column of numbers does not keep.
    pub fn usable(&self, table: &Table, need_target: bool) -> Result<Usable> {
        let columns = self.columns(table)?;
        let lost = Lost::of(table, &columns);
        let of = self.features.iter().zip(&columns);
        let cells: Vec<Cellwise> = of.map(|(f, column)| Cellwise::new(&f.kind, column, self.fills())).collect();
        let mut reasons: Vec<Option<String>> = vec![None; table.rows()];
        // The first row that cannot be encoded, and the warning about it.
        let mut first: Option<(usize, Error)> = None;
        let mut refuse = |row: usize, reason: String, error: Error| {
            reasons[row].get_or_insert(reason);
            if first.as_ref().is_none_or(|(other, _)| row < *other) {
                first = Some((row, error));
            }
        };
        let of_cell = |name: &str, fault: &CellFault| format!("column {}: {}", quoted(name), fault.found);
        // Per row: how many cells say nothing, and whether one is not as in training.
        let (mut blank, mut is_odd) = (vec![0usize; table.rows()], vec![false; table.rows()]);
        // And whether the network has learnt of such cells.
        let mut is_unlearnt = vec![false; table.rows()];
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
                        let learnt = matches!(cells.kind.stand_in(), StandIn::RareLevel | StandIn::Missing);
                        is_unlearnt[row] |= strange == Strange::Filled || (strange != Strange::No && !learnt);
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
                let notes =
                    notes.flat_map(|(at, (f, cells))| summed(f, cells, &odd, &table.lines, |row| lost.text(at, row)));
                let notes = notes.chain(too_narrow(rows.iter().filter(|&&row| is_unlearnt[row]).count())).collect();
                let odd = odd.into_iter().map(|row| (row, said_of_row(&cells, row, &lost))).collect();
                let refused =
                    reasons.into_iter().enumerate().filter_map(|(row, reason)| Some((row, reason?))).collect();
                Ok(Usable { rows, refused, notes, odd, ragged: lost.ragged })
            }
        }
    }
}

/// Why a row is refused that says nothing.
const NOTHING_READ: &str = "no input could be read";

/// What stand-ins do to error bars of which no training row had any: a network takes them for what was measured.
fn too_narrow(rows: usize) -> Option<String> {
    let whose = if rows == 1 { "this row".into() } else { format!("these {rows} rows") };
    (rows > 0).then(|| {
        format!("the error bars of {whose} are likely too narrow: a stand-in counts as if it had been measured")
    })
}

/// What to say of the cells of `rows` that are not as in training.
fn summed<'l>(
    feature: &Feature,
    cells: &Cellwise,
    rows: &[usize],
    lines: &Lines,
    lost: impl Fn(usize) -> Option<&'l str>,
) -> Vec<String> {
    let (mut filled, mut unread, mut unseen) = (0, 0, 0);
    let mut first: Option<usize> = None;
    for &row in rows {
        match cells.judge(row, lost(row)) {
            Ok(Strange::Filled) => filled += 1,
            Ok(Strange::Unread) => {
                unread += 1;
                first.get_or_insert(row);
            }
            Ok(Strange::Unseen) => unseen += 1,
            Ok(Strange::No) | Err(_) => {}
        }
    }
    let (name, kind) = (quoted(&feature.name), &feature.kind);
    let stand_in = kind.stand_in();
    let has = |n: usize, what: String| (n > 0).then(|| format!("column {name} has {what}: {}", stand_in.of_cells(n)));
    let unreadable = first.map(|row| {
        let at = format!("{} in line {}", quoted(&shown(cells, row, lost(row))), lines.get(row));
        let what = kind.unread();
        let found = if unread == 1 {
            format!("{at} is no {what}")
        } else {
            format!("{unread} cells are no {what}s, the first {at}")
        };
        format!("column {name}: {found}; {}", stand_in.of_cells(unread))
    });
    let rare = match unseen {
        1 => "1 cell is a level that is rare or not in training: it counts as rare".into(),
        n => format!("{n} cells are levels that are rare or not in training: they count as rare"),
    };
    let is_rare = matches!(kind, FeatureKind::Levels { unseen: Unseen::Other, .. });
    let all = [
        has(filled, format!("{}, as none was in training", counted(filled, "missing cell"))),
        unreadable,
        match is_rare {
            true => (unseen > 0).then(|| format!("column {name}: {rare}")),
            false => has(unseen, format!("{} that training did not have", counted(unseen, "cell"))),
        },
    ];
    all.into_iter().flatten().collect()
}

/// What stands in a cell.
fn shown(cells: &Cellwise, row: usize, lost: Option<&str>) -> String {
    match cells.column.number(row) {
        Some(value) => number_text(value),
        None => cells.column.text(row).or(lost).unwrap_or("").to_string(),
    }
}

/// The most columns that are named of a row.
pub const NAMED: usize = 3;

/// The cells of a row that are not as in training: "a, b: missing, the training mean is used; c: 'x' not in training".
fn said_of_row(features: &[Cellwise], row: usize, lost: &Lost) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = vec![];
    let mut n = 0;
    for (at, cells) in features.iter().enumerate() {
        let text = || quoted(&shown(cells, row, lost.text(at, row)));
        let stand_in = cells.kind.stand_in().of_cell();
        let said = match cells.judge(row, lost.text(at, row)) {
            Ok(Strange::No) | Err(_) => continue,
            Ok(_) if n >= NAMED => String::new(),
            Ok(Strange::Filled) => format!("missing, {stand_in}"),
            Ok(Strange::Unread) => format!("{} cannot be read as a {}, {stand_in}", text(), cells.kind.unread()),
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
