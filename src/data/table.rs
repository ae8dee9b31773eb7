//! A text file to a table of named columns, each all numbers or all text; every fault names its line and column.
//! Must not know what is learnt from the table.

pub use super::column::{Cells, Column, Lines, Texts};
use super::rows::{Flaw, Rows, detect_delimiter, split_rows};
use super::source::read_text;
use super::{cell_place, listed, quoted};
use crate::error::{Error, Result};
use std::collections::HashMap;
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
    pub kinds: Vec<(String, Kind)>,
}

/// What the user says that a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number,
    Text,
    Date,
    Ignore,
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
        find_column(&self.path, &self.names(), name_or_index)
    }

    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
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
    let cure = match nearest {
        Some(name) => format!("did you mean {}?", quoted(name)),
        None => "name a column of the file, or give its index".into(),
    };
    Err(Error::usage(place, format!("no column {}", quoted(wanted)), listed(names.iter().copied()), cure))
}

/// What one cell is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    Missing,
    Number(f64),
    /// `inf`, or a number beyond the largest double.
    Infinite,
    /// A number but for its commas: `3,5`, `1,234.5`.
    Comma,
    Text,
}

/// `comma`: the file writes decimal commas.
fn kind_of(cell: &str, comma: bool) -> Found {
    if comma && cell.contains(',') {
        let point = cell.replacen(',', ".", 1);
        return if is_decimal_comma(cell) { kind_of(&point, false) } else { Found::Text };
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => return Found::Number(value),
        Ok(value) if value.is_nan() => return Found::Missing,
        Ok(_) => return Found::Infinite,
        Err(_) => {}
    }
    if cell.is_empty() || ["na", "n/a", "null", "?", "none"].iter().any(|m| cell.eq_ignore_ascii_case(m)) {
        return Found::Missing;
    }
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | '-' | '+' | 'e' | 'E');
    if cell.contains(',') && cell.chars().all(is_plain) && cell.replace(',', "").parse::<f64>().is_ok() {
        return Found::Comma;
    }
    Found::Text
}

/// `-3,5`, `0,942`, `1,5e-3`: digits, one comma, digits.
fn is_decimal_comma(cell: &str) -> bool {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+' | 'e' | 'E');
    cell.chars().all(plain) && cell.matches(',').count() == 1 && cell.replacen(',', ".", 1).parse::<f64>().is_ok()
}

/// Whether the file writes decimal commas, as semicolons between cells suggest: some cells have one, no number has a
/// point, and not all of them could be thousands (`1,234`).
fn writes_decimal_commas(rows: &Rows<'_>, delimiter: u8) -> bool {
    if delimiter == b',' {
        return false;
    }
    let (mut commas, mut not_thousands) = (0usize, false);
    for i in 0..rows.len() {
        for cell in rows.row(i) {
            if cell.contains('.') && cell.parse::<f64>().is_ok() {
                return false;
            }
            if is_decimal_comma(cell) {
                commas += 1;
                let (whole, rest) = cell.split_once(',').unwrap_or((cell, ""));
                not_thousands |=
                    rest.len() != 3 || whole.trim_start_matches('-') == "0" || whole.trim_start_matches('-').len() > 3;
            }
        }
    }
    commas > 0 && not_thousands
}

/// How many cells of a column are of each kind.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    number: usize,
    infinite: usize,
    comma: usize,
    text: usize,
    missing: usize,
}

impl Tally {
    fn add(&mut self, kind: Found) {
        match kind {
            Found::Missing => self.missing += 1,
            Found::Number(_) => self.number += 1,
            Found::Infinite => self.infinite += 1,
            Found::Comma => self.comma += 1,
            Found::Text => self.text += 1,
        }
    }

    /// Whether `like` of the cells make it a column of numbers: nine in ten, or all where there are few.
    fn mostly(&self, like: usize) -> bool {
        let known = self.number + self.infinite + self.comma + self.text;
        let enough = if known + self.missing >= 10 { like * 10 >= known * 9 } else { like == known };
        known > 0 && enough
    }

    fn looks_numeric(&self) -> bool {
        self.mostly(self.number + self.infinite + self.comma)
    }
}

/// A column as found: the first row apart, because it may be the header.
struct Probe {
    first: Found,
    rest: Tally,
    /// `[rows]`, the first row included; NaN where there is no number.
    values: Vec<f64>,
}

fn probe(rows: &Rows<'_>, column: usize, comma: bool) -> Probe {
    let mut rest = Tally::default();
    let mut values = Vec::with_capacity(rows.len());
    let mut first = Found::Missing;
    for i in 0..rows.len() {
        let kind = kind_of(rows.cell(i, column), comma);
        values.push(if let Found::Number(value) = kind { value } else { f64::NAN });
        if i == 0 {
            first = kind;
        } else {
            rest.add(kind);
        }
    }
    Probe { first, rest, values }
}

/// Reads a delimited text file, plain or gzip.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table> {
    if let Some(d) = options.delimiter.filter(|d| !d.is_ascii() || matches!(d, b'"' | b'\n' | b'\r' | b'#' | 0)) {
        let found = format!("{} cannot be a delimiter", quoted(&char::from(d).to_string()));
        return Err(Error::usage("--delimiter", found, "one ASCII character, no quote, '#' or line end", ""));
    }
    parse_table(path, &read_text(path)?, options)
}

/// `path` serves the messages only.
fn parse_table(path: &Path, text: &str, options: &ReadOptions) -> Result<Table> {
    let is_number = |cell: &str| matches!(kind_of(cell, false), Found::Number(_) | Found::Comma);
    let delimiter = options.delimiter.unwrap_or_else(|| detect_delimiter(text, options.skip_lines, is_number));
    let rows = split_rows(text, delimiter, options.skip_lines, usize::MAX).map_err(|flaw| flaw_error(path, flaw))?;
    if rows.len() == 0 {
        let found = if options.skip_lines > 0 { "no row after the skipped lines" } else { "the file is empty" };
        return Err(Error::data(path.display().to_string(), found, "rows of data", "check that it was written"));
    }
    check_widths(path, &rows)?;
    let comma = writes_decimal_commas(&rows, delimiter);
    let mut probes: Vec<Probe> = (0..rows.row(0).len()).map(|column| probe(&rows, column, comma)).collect();
    let header = options.header.unwrap_or_else(|| detect_header(&rows, &probes));
    if header && rows.len() == 1 {
        let found = "only a header, no row of data";
        return Err(Error::data(path.display().to_string(), found, "rows of data", "check that it was written"));
    }
    // A delimiter at the end of every line makes a nameless column of nothing.
    let is_void = |p: &Probe| p.first == Found::Missing && p.rest.missing + 1 == rows.len();
    if header
        && probes.len() > 1
        && probes.last().is_some_and(is_void)
        && rows.row(0).last().is_some_and(|c| c.is_empty())
    {
        probes.pop();
    }
    let names = column_names(path, &rows, probes.len(), header)?;
    let mut is_text = vec![false; names.len()];
    let name_list: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &options.text_columns {
        is_text[find_column(path, &name_list, name)?] = true;
    }
    let mut columns = Vec::with_capacity(names.len());
    for (index, (found, name)) in probes.into_iter().zip(&names).enumerate() {
        let cells = column_cells(path, &rows, found, index, name, header, is_text[index], comma)?;
        columns.push(Column::new(name, cells));
    }
    let lines = rows.lines[usize::from(header)..].iter().copied().collect();
    Ok(Table {
        path: path.to_path_buf(),
        columns,
        lines,
        header,
        delimiter,
        options: options.clone(),
        beside: None,
        notes: Vec::new(),
    })
}

fn flaw_error(path: &Path, flaw: Flaw) -> Error {
    let (line, found, cure) = match flaw {
        Flaw::OpenQuote { line } => {
            (line, "a quote is opened and never closed", "close it, or double it inside a cell")
        }
        Flaw::AfterQuote { line } => {
            (line, "text follows a closing quote", "double the quotes inside a cell, or force --delimiter")
        }
    };
    Error::data(format!("{}, line {line}", path.display()), found, "\"...\" around a whole cell", cure)
}

fn check_widths(path: &Path, rows: &Rows<'_>) -> Result<()> {
    let expected = rows.row(0).len();
    let Some(i) = (1..rows.len()).find(|&i| rows.row(i).len() != expected) else { return Ok(()) };
    let cells = |n: usize| if n == 1 { "1 cell".to_string() } else { format!("{n} cells") };
    Err(Error::data(
        format!("{}, line {}", path.display(), rows.lines[i]),
        cells(rows.row(i).len()),
        format!("{}, as in line {}", cells(expected), rows.lines[0]),
        "fix the row, force --delimiter, or leave lines in front out with --skip-lines N",
    ))
}

/// A header is there if a text stands over numbers; in a table of text alone, if no word of the first row occurs
/// again in its column though values do repeat.
fn detect_header(rows: &Rows<'_>, probes: &[Probe]) -> bool {
    if rows.len() == 1 {
        return probes.iter().all(|p| p.first == Found::Text);
    }
    if probes.iter().any(|p| p.first == Found::Text && p.rest.looks_numeric()) {
        return true;
    }
    if rows.len() < 10 || probes.iter().any(|p| p.first != Found::Text || p.rest.looks_numeric()) {
        return false;
    }
    let mut repeats = false;
    for column in 0..probes.len() {
        let mut seen = std::collections::HashSet::new();
        for i in 1..rows.len() {
            seen.insert(rows.cell(i, column));
        }
        if seen.contains(rows.cell(0, column)) {
            return false;
        }
        repeats |= seen.len() * 2 <= rows.len();
    }
    repeats
}

/// Names of the header, or "0", "1", ...; a nameless column gets its index.
fn column_names(path: &Path, rows: &Rows<'_>, n: usize, header: bool) -> Result<Vec<String>> {
    if !header {
        return Ok((0..n).map(|i| i.to_string()).collect());
    }
    let mut first_of: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::with_capacity(n);
    for (i, cell) in rows.row(0).iter().take(n).enumerate() {
        let name = if cell.is_empty() { i.to_string() } else { cell.split_whitespace().collect::<Vec<_>>().join(" ") };
        if let Some(other) = first_of.insert(name.clone(), i) {
            return Err(Error::data(
                format!("{}, line {}", path.display(), rows.lines[0]),
                format!("columns {other} and {i} (from 0) are both named {}", quoted(&name)),
                "every name once",
                "rename one of them",
            ));
        }
        names.push(name);
    }
    Ok(names)
}

fn column_cells(
    path: &Path,
    rows: &Rows<'_>,
    found: Probe,
    index: usize,
    name: &str,
    header: bool,
    is_text: bool,
    comma: bool,
) -> Result<Cells> {
    let mut tally = found.rest;
    if !header {
        tally.add(found.first);
    }
    let first_row = usize::from(header);
    let fault_at = |wrong: fn(Found) -> bool, what: &str, allowed: &str, cure: &str| {
        let i = (first_row..rows.len()).find(|&i| wrong(kind_of(rows.cell(i, index), comma))).unwrap_or(first_row);
        let cell = rows.cell(i, index);
        // Near the top a text among numbers is more likely a title or a second header than a cell.
        let line = rows.lines[i];
        let title = if i < 3 {
            format!("if the line is a title or a header, leave it out with --skip-lines {line}; else ")
        } else {
            String::new()
        };
        Error::data(cell_place(path, line, name), format!("{} {what}", quoted(cell)), allowed, title + cure)
    };
    if !is_text && tally.comma > 0 && tally.looks_numeric() {
        let cure = "write numbers as 3.5 and 1234 (decimal commas are read where cells are not separated by commas)"
            .to_string();
        let what = "has a comma inside a number";
        return Err(fault_at(|k| k == Found::Comma, what, "a decimal point, no thousands separator", &cure));
    }
    // Nothing but infinity, as the bounds of intervals without end: no column of numbers, and no fault of one.
    let is_endless = tally.infinite > 0 && tally.number + tally.text + tally.comma == 0;
    if !is_text && !is_endless && tally.text + tally.comma == 0 {
        if tally.infinite > 0 {
            let cure = "give the number, or leave the cell empty if it is missing";
            return Err(fault_at(|k| k == Found::Infinite, "is infinite", "finite numbers", cure));
        }
        let mut values = found.values;
        values.drain(..first_row);
        return Ok(Cells::Number(values));
    }
    if !is_text && !is_endless && rows.len() - first_row >= 10 && tally.mostly(tally.number + tally.infinite) {
        let cure = format!(
            "fix it, leave the cell empty if it is missing, or name the column with --text-column {} if it is really text",
            quoted(name)
        );
        let what = "in a column of numbers";
        return Err(fault_at(|k| matches!(k, Found::Text | Found::Comma), what, "numbers", &cure));
    }
    let text = |i: usize| {
        let cell = rows.cell(i, index);
        (kind_of(cell, comma) != Found::Missing).then_some(cell)
    };
    Ok(Cells::Text((first_row..rows.len()).map(text).collect()))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
