//! How many cells a row of the table has, and which lines are no rows of it: titles in front, footnotes behind, and the odd
//! row of another width. Must not know what a cell means.

use super::is_bare_number;
use super::rows::{Rows, detect_delimiter, sample};
use super::scan::{Ragged, Scanned};
use crate::data::{counted, quoted};
use crate::error::{Cure, Error, Result, either};
use crate::recipe::key;
use std::collections::HashMap;
use std::path::Path;

fn cells(n: usize) -> String {
    counted(n, "cell")
}

fn ragged_error(path: &Path, line: usize, width: usize, (expected, as_in): (usize, usize)) -> Error {
    Error::data(
        format!("{}, line {line}", path.display()),
        cells(width),
        format!("{}, as in line {as_in}", cells(expected)),
        either(
            "fix the row, force --delimiter, or leave lines in front out with --skip-lines N",
            "fix the row, choose the separator, or skip the lines in front",
        ),
    )
}

/// Of lines behind the table, which no flag leaves out.
fn foot_error(path: &Path, first: Ragged, n: usize, (expected, as_in): (usize, usize)) -> Error {
    let help = match n {
        1 => "fix the row, or delete it".into(),
        n => format!("delete the last {n} lines, if they are no rows"),
    };
    let place = format!("{}, line {}", path.display(), first.line);
    Error::data(place, cells(first.width), format!("{}, as in line {as_in}", cells(expected)), help)
}

/// The width of the table: that of most of the first rows, to which the first one must agree; or be one short, as R
/// writes headers over row names; or end in empty cells that no row has.
pub(super) fn width(path: &Path, sample: &Rows<'_>) -> Result<usize> {
    let first = sample.row(0).len();
    let mut counts: HashMap<usize, usize> = HashMap::new();
    (0..sample.len()).for_each(|i| *counts.entry(sample.row(i).len()).or_default() += 1);
    let usual = counts.iter().max_by_key(|&(&width, &n)| (n, width == first, width)).map_or(first, |(&width, _)| width);
    if let Some(line) = title(sample, usual) {
        let found = format!("1 cell where the rows have {usual}");
        let help = either(
            format!("line {line} looks like the column names: --skip-lines {}", line - 1),
            format!("line {line} looks like the column names: skip {}", counted(line - 1, "line")),
        );
        let skip = Cure::set(key!(data.skip_lines).path, (line - 1).to_string());
        return Err(Error::data(format!("{}, line {}", path.display(), sample.lines[0]), found, "", help).curing(skip));
    }
    let is_short_header = first + 1 == usual && sample.len() > 1 && counts[&usual] + 1 == sample.len();
    let ends_empty = || usual > 1 && sample.row(0).get(usual..).is_some_and(|cells| cells.iter().all(|c| c.is_empty()));
    if usual == first || is_short_header || ends_empty() {
        return Ok(usual);
    }
    let Some(i) = (1..sample.len()).find(|&i| sample.row(i).len() != first) else { return Ok(first) };
    Err(ragged_error(path, sample.lines[i], sample.row(i).len(), (first, sample.lines[0])))
}

/// Where the first rows are one text each and titles of what follows: names, and under them numbers. The line of the names.
fn title(sample: &Rows<'_>, width: usize) -> Option<usize> {
    let is_text = |cell: &str| !cell.is_empty() && !is_bare_number(cell);
    let is_title = |&i: &usize| matches!(sample.row(i), [title] if is_text(title));
    let n = (0..sample.len()).take_while(is_title).count();
    if n == 0 || n + 1 >= sample.len() || width < 2 || sample.row(n + 1).len() != width {
        return None;
    }
    let (names, behind) = sample.row(n).split_at_checked(width)?;
    let are_names = names.iter().all(|cell| is_text(cell)) && behind.iter().all(|cell| cell.is_empty());
    let is_data = sample.row(n + 1).iter().any(|cell| is_bare_number(cell));
    (are_names && is_data).then(|| sample.lines[n])
}

/// Of a table that is one column under the delimiter that was given: an error where another parts names and all rows alike.
pub(super) fn check_delimiter(path: &Path, text: &str, given: u8, skip_lines: usize) -> Result<()> {
    const ROWS: usize = 50;
    let other = detect_delimiter(text, skip_lines, is_bare_number);
    let Ok(rows) = sample(text, other, skip_lines, ROWS) else { return Ok(()) };
    if other == given || rows.len() < 2 {
        return Ok(());
    }
    let width = rows.row(0).len();
    let agree = width > 1 && (1..rows.len()).all(|i| rows.row(i).len() == width);
    // `1,5` under `1,5` is a column of decimal commas.
    let is_number = |i: usize| is_bare_number(rows.cell(0, i));
    if !agree || other == b' ' || (0..width).all(is_number) {
        return Ok(());
    }
    let sign = |byte: u8| if byte == b'\t' { "a tab".into() } else { quoted(&char::from(byte).to_string()) };
    let found = format!("one column under the delimiter {}", sign(given));
    let help =
        format!("it seems to use {}: {}", sign(other), either("leave --delimiter out", "let the separator be found"));
    Err(Error::data(path.display().to_string(), found, "a delimiter that the file has", help))
}

/// How many of the lines that are no rows stand behind the table and are too short for it: its footnotes.
fn footnotes(scanned: &Scanned<'_>, width: usize) -> usize {
    let rows = scanned.lines.len();
    let Some(last) = rows.checked_sub(1).map(|row| scanned.lines.get(row)) else { return 0 };
    scanned.ragged.iter().rev().take_while(|r| r.line > last && r.width < width).count()
}

/// Rows of another width are left out if they are few: one in a hundred, or up to three in ten each. Otherwise the first
/// one is the error. Footnotes are left out for their own sake, unless they could be half of the table.
pub(super) fn check_ragged(
    path: &Path,
    scanned: &Scanned<'_>,
    as_in: (usize, usize),
    strict: bool,
) -> Result<Vec<String>> {
    /// Sources and remarks of public tables take up to a dozen lines.
    const MOST_FOOTNOTES: usize = 20;
    let rows = scanned.lines.len();
    let n_foot = footnotes(scanned, as_in.0);
    let (inside, foot) = scanned.ragged.split_at(scanned.ragged.len() - n_foot);
    let mut notes = vec![];
    if let Some(first) = inside.first() {
        let n = inside.len();
        let are_few = n * 100 <= rows + n || (n <= 3 && n * 10 <= rows + n);
        if strict || !are_few {
            return Err(ragged_error(path, first.line, first.width, as_in));
        }
        notes.push(left_out(*first, n, as_in.0));
    }
    if let (Some(first), Some(last)) = (foot.first(), foot.last()) {
        if strict || n_foot > MOST_FOOTNOTES || n_foot * 2 > rows {
            return Err(foot_error(path, *first, n_foot, as_in));
        }
        let stops = either(" (--strict stops there)", "");
        notes.push(match n_foot {
            1 => format!(
                "line {}, the last one, is left out: {} instead of {}{stops}",
                first.line,
                cells(first.width),
                as_in.0
            ),
            n => format!(
                "the last {n} lines, {} to {}, are left out: the first has {} instead of {}{stops}",
                first.line,
                last.line,
                cells(first.width),
                as_in.0
            ),
        });
    }
    Ok(notes)
}

fn left_out(first: Ragged, n: usize, width: usize) -> String {
    let line = first.line;
    match n {
        1 => format!(
            "line {line} is left out: {} instead of {width}{}",
            cells(first.width),
            either(" (--strict stops there)", "")
        ),
        n => format!(
            "{n} rows are left out for their number of cells, the first in line {line} ({} instead of {width}){}",
            first.width,
            either("; --strict stops there", "")
        ),
    }
}
