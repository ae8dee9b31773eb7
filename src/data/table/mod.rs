//! A text file to a table of named columns, each all numbers or all text; every fault names its line and column.
//! Must not know what is learnt from the table.

pub(crate) mod calendar;
pub(crate) mod cell;
pub mod column;
pub(crate) mod decimal;
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod reading;
pub(crate) mod rows;
pub(crate) mod scan;
mod shape;

use super::source::{is_in_memory, read_source};
use super::{cell_place, counted, listed, quoted};
use crate::base::visible::shell;
use crate::error::{Cure, Error, Result, either};
pub use crate::recipe::ColumnKind;
use crate::recipe::key;
use cell::Sign;
pub use column::{Cells, Column, Lines, Texts};
use header::Header;
use rayon::prelude::*;
use reading::{Habits, Outcome, Reader};
use rows::{Flaw, detect_delimiter, sample};
use scan::{Body, Found, Gather, Scanned, scan};
use shape::{check_ragged, width};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// How to read a file; whatever is left `None` is detected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// One ASCII byte; a space means runs of spaces and tabs.
    pub delimiter: Option<u8>,
    pub header: Option<bool>,
    /// Lines in front that are no part of the table.
    pub skip_lines: usize,
    /// Columns (names or indices) that are text even if their cells look like numbers.
    pub text_columns: Vec<String>,
    /// What the user said of columns (names or indices). The reader heeds `Number` and `Text`, the encoder the others.
    pub kinds: Vec<(String, ColumnKind)>,
    /// Texts that stand for a missing cell, instead of the usual ones; an empty cell always does.
    pub missing_markers: Option<Vec<String>>,
    /// Stop at the first cell or row that would be left out.
    pub strict: bool,
    /// Names of columns that the file may have: a first row that holds them is a header.
    pub expected: Vec<String>,
}

impl ReadOptions {
    /// The same for the table of `path`: what is in memory has names and commas, whatever is said of how files are written.
    pub fn for_path(mut self, path: &Path) -> ReadOptions {
        if is_in_memory(path) {
            (self.delimiter, self.header, self.skip_lines) = (Some(b','), Some(true), 0);
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub path: PathBuf,
    pub columns: Vec<Column>,
    pub lines: Lines,
    pub header: bool,
    pub delimiter: u8,
    /// What the file was read with, so that a proposed command can repeat it.
    pub options: ReadOptions,
    /// The file whose columns were put beside the first one's.
    pub beside: Option<PathBuf>,
    /// What the reader made of the file as a whole, a sentence each; what it made of a column is with the column.
    pub notes: Vec<String>,
}

impl Table {
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// By exact name, else by 0-based index, negative from the end.
    pub fn column_index(&self, name_or_index: &str) -> Result<usize> {
        let found = find_column(&self.path, &self.names(), name_or_index);
        let is_wanted = |c: &Column| {
            c.text(0) == Some(name_or_index) || c.number(0).is_some_and(|v| name_or_index.parse() == Ok(v))
        };
        match found {
            Err(_) if !self.header && self.rows() > 0 && self.columns.iter().any(is_wanted) => {
                Err(nameless(&self.path, name_or_index, self.lines.get(0)))
            }
            found => found,
        }
    }

    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
    }

    /// What the reader made of the file and of its columns, a sentence each: at most ten columns are named.
    pub fn said(&self) -> Vec<String> {
        self.said_but(|_| false)
    }

    /// The same without the unread cells of columns of which somebody else tells them.
    pub fn said_but(&self, is_told: impl Fn(&Column) -> bool) -> Vec<String> {
        let of_column = |c: &Column| {
            let notes: Vec<&str> = match is_told(c) {
                true => c.reading.iter().map(String::as_str).collect(),
                false => c.notes().collect(),
            };
            (!notes.is_empty()).then(|| format!("column {}: {}", quoted(&c.name), notes.join("; ")))
        };
        let said: Vec<String> = self.columns.iter().filter_map(of_column).collect();
        let mut all: Vec<String> = self.notes.iter().chain(said.iter().take(10)).cloned().collect();
        let more = said.len().saturating_sub(10);
        if more > 0 {
            all.push(format!(
                "{} more read in such ways{}",
                counted(more, "column"),
                either(": see `vifo inspect`", "")
            ));
        }
        all
    }

    /// The kind that the user declared for a column.
    pub fn kind_of(&self, column: &Column) -> Option<ColumnKind> {
        let is_it = |name: &str| self.column_index(name).is_ok_and(|i| self.columns[i].name == column.name);
        let told = self.options.kinds.iter().rev().find(|(name, _)| is_it(name)).map(|(_, kind)| *kind);
        told.or_else(|| self.options.text_columns.iter().any(|name| is_it(name)).then_some(ColumnKind::Text))
    }

    /// Place of a cell for a message.
    pub fn place(&self, row: usize, column: &str) -> String {
        cell_place(&self.path, self.lines.get(row), column)
    }

    /// Adds the columns of a second file with as many rows; a name that is taken gets the suffix "_target".
    pub fn append(&mut self, other: Table) -> Result<()> {
        if other.rows() != self.rows() {
            return Err(Error::data(
                other.path.display().to_string(),
                super::counted(other.rows(), "row"),
                format!("{}, as {} has", super::counted(self.rows(), "row"), self.path.display()),
                "give two files with one line for each row, in the same order",
            ));
        }
        self.beside = Some(other.path);
        self.notes.extend(other.notes);
        for mut column in other.columns {
            while self.columns.iter().any(|c| c.name == column.name) {
                column.name.push_str("_target");
            }
            self.columns.push(column);
        }
        Ok(())
    }
}

fn find_column(path: &Path, names: &[&str], wanted: &str) -> Result<usize> {
    if let Some(index) = names.iter().position(|name| *name == wanted) {
        return Ok(index);
    }
    let place = path.display().to_string();
    let n = names.len() as i128;
    if let Ok(index) = wanted.parse::<i64>() {
        let from_start = if index < 0 { i128::from(index) + n } else { i128::from(index) };
        if (0..n).contains(&from_start) {
            return Ok(from_start as usize);
        }
        let allowed = format!("0 to {}, or -{n} to -1 from the end", n - 1);
        return Err(Error::usage(place, format!("no column {index}"), allowed, "name a column of the file"));
    }
    let near = |name: &&&str| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
    let nearest = names.iter().max_by(|a, b| near(a).total_cmp(&near(b))).filter(|name| near(name) > 0.7);
    let help = match nearest {
        // As a shell wants it, where that is another than the name.
        Some(name) if shell(name) != **name => format!("did you mean {}?", either(shell(name), quoted(name))),
        Some(name) => format!("did you mean {}?", quoted(name)),
        None => "name a column of the file, or give its index".into(),
    };
    Err(Error::usage(place, format!("no column {}", quoted(wanted)), listed(names.iter().copied()), help))
}

/// No column has the name, but the first line of a table that seemed to have no header does.
fn nameless(path: &Path, wanted: &str, line: usize) -> Error {
    let help = either("use --header yes, if that line holds the names", "choose \"names of the columns\"");
    let found = format!("no column {}, but line {line} holds it", quoted(wanted));
    let allowed = "indices, as no header was found";
    Error::usage(path.display().to_string(), found, allowed, help).curing(Cure::set(key!(data.header).path, "true"))
}

/// Reads a delimited text file, plain or compressed.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table> {
    if let Some(d) = options.delimiter.filter(|d| !d.is_ascii() || matches!(d, b'"' | b'\n' | b'\r' | b'#' | 0)) {
        let found = format!("{} cannot be a delimiter", quoted(&char::from(d).to_string()));
        return Err(Error::usage(
            either("--delimiter", "separator"),
            found,
            "one ASCII character, no quote, '#' or line end",
            "",
        ));
    }
    let (text, notes) = read_source(path)?;
    let mut table = parse_table(path, &text, options)?;
    table.notes.splice(..0, notes);
    Ok(table)
}

/// `path` serves the messages only.
fn parse_table(path: &Path, text: &str, options: &ReadOptions) -> Result<Table> {
    const SAMPLE_ROWS: usize = 1000;
    let detect = || detect_delimiter(text, options.skip_lines, is_bare_number);
    let delimiter = options.delimiter.or_else(|| rows::separator(text)).unwrap_or_else(detect);
    let sample = sample(text, delimiter, options.skip_lines, SAMPLE_ROWS).map_err(|flaw| flaw_error(path, flaw))?;
    if sample.len() == 0 {
        let found = if options.skip_lines > 0 { "no row after the skipped lines" } else { "the file is empty" };
        return Err(Error::data(path.display().to_string(), found, "rows of data", "check that it was written"));
    }
    let width = width(path, &sample)?;
    if let Some(delimiter) = options.delimiter.filter(|_| width == 1) {
        shape::check_delimiter(path, text, delimiter, options.skip_lines)?;
    }
    let Header { names, in_first_row, mut notes } = header::find(&sample, width, options);
    let (at, line) = sample.starts[usize::from(in_first_row)];
    let body = Body { text, delimiter, at, line };
    let scanned = scan(body, &vec![Gather::Numbers; width]).map_err(|flaw| flaw_error(path, flaw))?;
    notes.extend(check_ragged(path, &scanned, (width, sample.lines[0]), options.strict)?);
    let Scanned { columns: mut found, lines, .. } = scanned;
    if lines.is_empty() {
        let found = "only a header, no row of data";
        return Err(Error::data(path.display().to_string(), found, "rows of data", "check that it was written"));
    }
    let has_header = names.is_some();
    // A model names all of its columns, a recipe at most its target.
    let is_new = options.header.is_none() && options.expected.len() < 2;
    if !has_header && is_new && width > 1 {
        notes.push(format!(
            "no header found: the columns are 0 to {}{}",
            width - 1,
            either(
                "; --header yes if line LINE holds names",
                "; choose \"names of the columns\" if line LINE holds them"
            )
            .replace("LINE", &sample.lines[0].to_string())
        ));
    }
    let mut names = names.unwrap_or_else(|| (0..width).map(|i| i.to_string()).collect());
    // A delimiter at the end of every line makes a nameless column of nothing.
    let is_void = |f: &Found<'_>| f.values.is_empty() && f.levels.iter().all(|l| l.is_empty());
    let is_nameless = in_first_row && sample.cell(0, width - 1).is_empty();
    if is_nameless && width > 1 && found.last().is_some_and(is_void) {
        found.pop();
        names.pop();
    }
    let first = if has_header { None } else { Some((sample.row(0), sample.lines[0])) };
    let kinds = kinds(path, &names, first, options)?;
    let columns = read_columns(path, (body, width), &names, &kinds, &lines, found, options)?;
    Ok(Table {
        path: path.to_path_buf(),
        columns,
        lines,
        header: has_header,
        delimiter,
        options: options.clone(),
        beside: None,
        notes,
    })
}

/// What the user said of each column; `first` = row and line of a table without names.
fn kinds(
    path: &Path,
    names: &[String],
    first: Option<(&[Cow<'_, str>], usize)>,
    options: &ReadOptions,
) -> Result<Vec<Option<ColumnKind>>> {
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut kinds = vec![None; names.len()];
    let texts = options.text_columns.iter().map(|name| (name, ColumnKind::Text));
    for (name, kind) in texts.chain(options.kinds.iter().map(|(name, kind)| (name, *kind))) {
        match find_column(path, &list, name) {
            Ok(index) => kinds[index] = Some(kind),
            // New rows for a model may come without the target, or without what it leaves out.
            Err(_) if !options.expected.is_empty() => {}
            Err(e) => {
                let held = first.filter(|(cells, _)| cells.iter().any(|cell| cell == name));
                return Err(held.map_or(e, |(_, line)| nameless(path, name, line)));
            }
        }
    }
    Ok(kinds)
}

fn read_columns(
    path: &Path,
    (body, width): (Body<'_>, usize),
    names: &[String],
    kinds: &[Option<ColumnKind>],
    lines: &Lines,
    found: Vec<Found<'_>>,
    options: &ReadOptions,
) -> Result<Vec<Column>> {
    let proofs: Vec<Option<Sign>> = found.par_iter().map(reading::proof).collect();
    let count = |sign: Sign| proofs.iter().filter(|p| **p == Some(sign)).count();
    let by_comma = body.delimiter == b',';
    let habits = Habits { points: count(Sign::Point), commas: count(Sign::Comma), by_comma };
    let signs: Vec<(Sign, bool)> =
        found.par_iter().zip(&proofs).map(|(found, proof)| reading::sign(found, *proof, habits)).collect();
    let reader = |i: usize| Reader {
        path,
        options,
        name: &names[i],
        kind: kinds[i],
        lines,
        sign: signs[i].0,
        is_guess: signs[i].1,
    };
    // The first column's fault is the one reported, whichever core finds one first.
    let read: Vec<Result<Outcome>> =
        found.into_par_iter().enumerate().map(|(i, found)| reader(i).read(found)).collect();
    let mut outcomes = read.into_iter().collect::<Result<Vec<Outcome>>>()?;
    let needs_more = |outcome: &Outcome| matches!(outcome, Outcome::Again { .. });
    if outcomes.iter().any(needs_more) {
        let mut gather = vec![Gather::Skip; width];
        gather.iter_mut().zip(&outcomes).filter(|(_, o)| needs_more(o)).for_each(|(g, _)| *g = Gather::Texts);
        let again = scan(body, &gather).map_err(|flaw| flaw_error(path, flaw))?;
        for (i, (outcome, found)) in outcomes.iter_mut().zip(again.columns).enumerate() {
            if let Outcome::Again { as_text } = outcome {
                *outcome = reader(i).read_again(found, as_text.take())?;
            }
        }
    }
    let bug = || Error::run("table", "a column was not gathered", "this is a bug of vifo: please report it");
    let column = |outcome: Outcome| match outcome {
        Outcome::Column(column) => Ok(column),
        Outcome::Again { .. } => Err(bug()),
    };
    outcomes.into_iter().map(column).collect()
}

/// That a column is of texts, as a shell reads it.
pub(crate) fn as_text(name: &str) -> String {
    shell(&format!("{name}=text"))
}

/// A number without a unit, under either decimal sign.
pub(crate) fn is_bare_number(text: &str) -> bool {
    [Sign::Point, Sign::Comma].iter().any(|&sign| cell::number(text, sign).is_some_and(|n| n.unit.is_empty()))
}

fn flaw_error(path: &Path, flaw: Flaw) -> Error {
    let (line, found, help) = match flaw {
        Flaw::OpenQuote { line } => {
            (line, "a quote is opened and never closed".to_string(), "close it, or double it inside a cell".into())
        }
        Flaw::AfterQuote { line, end } => {
            let found = match end == line {
                true => "text follows a closing quote".to_string(),
                false => format!("the quote that begins here ends in line {end}, and text follows it"),
            };
            (
                line,
                found,
                either(
                    "double the quotes inside a cell, or force --delimiter",
                    "double the quotes inside a cell, or choose the separator",
                ),
            )
        }
    };
    Error::data(format!("{}, line {line}", path.display()), found, "\"...\" around a whole cell", help)
}

#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod tests;
