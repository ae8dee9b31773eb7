//! Text to rows of cells: quotes, line ends, blank lines, comments in front, and which delimiter the file uses.
//!
//! Written here and not taken from the `csv` crate because that one cannot split on runs of spaces, takes a quote after
//! a space as text, swallows the rest of the file after an open quote, and counts no lines in files with bare CR.
//! Must not decide what a cell means.

use super::Table;
use super::cell;
use super::column::{Cells, Column};
use super::decimal::{Decimal, decimal};
use crate::data::{counted, source};
use std::borrow::Cow;
use std::collections::HashMap;

/// A cell as it stands between its delimiters.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    pub text: Cow<'a, str>,
    /// Of a cell without quotes that is nothing else.
    pub decimal: Option<Decimal>,
}

/// Cells of some rows in one list.
#[derive(Debug, Default)]
pub(crate) struct Rows<'a> {
    cells: Vec<Cow<'a, str>>,
    ends: Vec<usize>,
    /// File line, from 1, on which the row begins.
    pub lines: Vec<usize>,
    /// The last line in front of the rows that begins with '#'.
    pub comment: Option<&'a str>,
    /// Byte and line at which the first and the second row begin.
    pub starts: [(usize, usize); 2],
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn row(&self, i: usize) -> &[Cow<'a, str>] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.cells[start..self.ends[i]]
    }

    /// "" where the row is too short.
    pub fn cell(&self, i: usize, column: usize) -> &str {
        self.row(i).get(column).map_or("", |c| c)
    }
}

/// A quote that cannot be read; the line counts from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The quote opened on this line is never closed.
    OpenQuote { line: usize },
    /// Something other than a delimiter follows a quote that was opened on `line` and closed on `end`.
    AfterQuote { line: usize, end: usize },
}

/// Where the line that begins at or before `at` ends: the index of its CR or LF, or the end of the text.
fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| is_end(b)).map_or(bytes.len(), |n| at + n)
}

fn is_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Start of the next line, given the end of this one; CR LF counts once.
fn next_line(bytes: &[u8], end: usize) -> usize {
    match &bytes[end..] {
        [b'\r', b'\n', ..] => end + 2,
        [] => end,
        _ => end + 1,
    }
}

/// What Excel's own first line says: `sep=;`, maybe in quotes. The line is no part of the table.
pub(crate) fn separator(text: &str) -> Option<u8> {
    let line = text[..line_end(text.as_bytes(), 0)].trim_start_matches('\u{feff}');
    let line = line.trim_matches(|c| c == '"' || c == ' ');
    let (name, sign) = line.split_at_checked(4)?;
    let is_it = name.eq_ignore_ascii_case("sep=");
    match sign.as_bytes() {
        _ if !is_it => None,
        b"\\t" => Some(b'\t'),
        [sign] if sign.is_ascii() && !matches!(sign, b'"' | b'#' | 0) => Some(*sign),
        // A space was trimmed away.
        [] => text.as_bytes()[..line_end(text.as_bytes(), 0)].contains(&b' ').then_some(b' '),
        _ => None,
    }
}

/// Walks over the rows of a text. `delimiter` is one ASCII byte; a space means runs of spaces and tabs.
pub(crate) struct Splitter<'a> {
    text: &'a str,
    delimiter: u8,
    /// No delimiter can stand inside a number.
    reads_decimals: bool,
    /// Byte and line, from 1, at which the next row begins.
    pub at: usize,
    pub line: usize,
}

impl<'a> Splitter<'a> {
    pub fn new(text: &'a str, delimiter: u8, at: usize, line: usize) -> Self {
        let reads_decimals = !matches!(delimiter, b'+' | b'-' | b'.' | b'0'..=b'9');
        Splitter { text, delimiter, reads_decimals, at, line }
    }

    fn past_padding(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while at < bytes.len() && (bytes[at] == b' ' || (bytes[at] == b'\t' && self.delimiter != b'\t')) {
            at += 1;
        }
        at
    }

    /// Leaves out lines in front of the table, then those that begin with '#', whose last one is returned.
    pub fn skip_front(&mut self, lines: usize) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let lines = if separator(self.text).is_some() { lines.max(1) } else { lines };
        for _ in 0..lines {
            if self.at == bytes.len() {
                return None;
            }
            self.at = next_line(bytes, line_end(bytes, self.at));
            self.line += 1;
        }
        let mut comment = None;
        loop {
            let first = self.past_padding(self.at);
            let is_comment = bytes.get(first) == Some(&b'#');
            if !is_comment && !bytes.get(first).is_some_and(|&b| is_end(b)) {
                return comment;
            }
            let end = line_end(bytes, first);
            if is_comment {
                comment = Some(&self.text[first..end]);
            }
            self.at = next_line(bytes, end);
            self.line += 1;
        }
    }

    /// The cells of the next row and its line; `None` at the end. Blank lines are no rows.
    pub fn row(&mut self, cells: &mut Vec<Cell<'a>>) -> Result<Option<usize>, Flaw> {
        cells.clear();
        let bytes = self.text.as_bytes();
        loop {
            let first = self.past_padding(self.at);
            if first == bytes.len() {
                self.at = first;
                return Ok(None);
            }
            if !is_end(bytes[first]) {
                break;
            }
            self.at = next_line(bytes, first);
            self.line += 1;
        }
        let begun = self.line;
        let (delimiter, by_space) = (self.delimiter, self.delimiter == b' ');
        let stop = |&b: &u8| b == delimiter || is_end(b) || (by_space && b == b'\t');
        loop {
            let mut at = self.past_padding(self.at);
            if bytes.get(at) == Some(&b'"') {
                let (cell, close) = quoted_cell(self.text, at).ok_or(Flaw::OpenQuote { line: self.line })?;
                let opened = self.line;
                self.line += newlines(&bytes[at..close]);
                cells.push(Cell { text: cell, decimal: None });
                at = self.past_padding(close + 1);
                let spaced = by_space && at > close + 1;
                if at < bytes.len() && !is_end(bytes[at]) && bytes[at] != delimiter && !spaced {
                    return Err(Flaw::AfterQuote { line: opened, end: self.line });
                }
            } else {
                let number = if self.reads_decimals { decimal(&bytes[at..]) } else { None };
                let number = number.filter(|d| bytes.get(at + d.length).is_none_or(stop));
                let end = match number {
                    Some(number) => at + number.length,
                    None => bytes[at..].iter().position(stop).map_or(bytes.len(), |n| at + n),
                };
                let text = &self.text[at..end];
                let text = if number.is_some() { text } else { trimmed(text) };
                cells.push(Cell { text: Cow::Borrowed(text), decimal: number });
                at = end;
            }
            if by_space {
                at = self.past_padding(at);
            }
            if at == bytes.len() || is_end(bytes[at]) {
                self.at = next_line(bytes, at);
                self.line += 1;
                return Ok(Some(begun));
            }
            self.at = if by_space { at } else { at + 1 };
        }
    }
}

/// `trim` looks at every character's class; most cells need no look.
fn trimmed(cell: &str) -> &str {
    let bytes = cell.as_bytes();
    let is_plain = |b: Option<&u8>| b.is_none_or(u8::is_ascii_graphic);
    if is_plain(bytes.first()) && is_plain(bytes.last()) { cell } else { cell.trim() }
}

/// At most `limit` rows, and the flaw that ended them before.
fn rows_until_flaw(text: &str, delimiter: u8, skip_lines: usize, limit: usize) -> (Rows<'_>, Option<Flaw>) {
    let mut splitter = Splitter::new(text, delimiter, 0, 1);
    let mut rows = Rows { comment: splitter.skip_front(skip_lines), ..Rows::default() };
    rows.starts[0] = (splitter.at, splitter.line);
    let mut cells = Vec::new();
    while rows.len() < limit {
        match splitter.row(&mut cells) {
            Ok(Some(line)) => rows.lines.push(line),
            Ok(None) => break,
            Err(flaw) => return (rows, Some(flaw)),
        }
        rows.cells.extend(cells.drain(..).map(|cell| cell.text));
        rows.ends.push(rows.cells.len());
        if rows.len() == 1 {
            rows.starts[1] = (splitter.at, splitter.line);
        }
    }
    (rows, None)
}

/// The first rows, at most `limit`, without looking at more than the first bytes of a long text.
pub(crate) fn sample(text: &str, delimiter: u8, skip_lines: usize, limit: usize) -> Result<Rows<'_>, Flaw> {
    const SAMPLE_BYTES: usize = 4 << 20;
    let end = (0..=SAMPLE_BYTES.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    let (mut rows, flaw) = rows_until_flaw(&text[..end], delimiter, skip_lines, limit);
    if end == text.len() {
        return flaw.map_or(Ok(rows), Err);
    }
    if rows.len() < 2 {
        // Rows of megabytes, or thousands of lines to skip.
        let (rows, flaw) = rows_until_flaw(text, delimiter, skip_lines, limit.min(10));
        return flaw.map_or(Ok(rows), Err);
    }
    if flaw.is_none() && rows.len() < limit {
        // The end of the sample cut the last row.
        rows.ends.pop();
        rows.lines.pop();
    }
    Ok(rows)
}

/// The cell whose opening quote stands at `open`, and the index of its closing quote.
fn quoted_cell(text: &str, open: usize) -> Option<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    let (mut from, mut doubled) = (open + 1, false);
    let close = loop {
        let quote = from + bytes[from..].iter().position(|&b| b == b'"')?;
        if bytes.get(quote + 1) != Some(&b'"') {
            break quote;
        }
        doubled = true;
        from = quote + 2;
    };
    let raw = &text[open + 1..close];
    let cell =
        if doubled { Cow::Owned(raw.replace("\"\"", "\"").trim().to_string()) } else { Cow::Borrowed(trimmed(raw)) };
    Some((cell, close))
}

fn newlines(bytes: &[u8]) -> usize {
    (0..bytes.len()).filter(|&i| bytes[i] == b'\n' || (bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n'))).count()
}

/// The delimiter under which the first rows agree best on their width; on a tie the one under which more cells are
/// numbers (`1,5;2,5` is two numbers, not three texts). Runs of spaces only if nothing else fits; a comma for one column.
pub(crate) fn detect_delimiter(text: &str, skip_lines: usize, is_number: impl Fn(&str) -> bool) -> u8 {
    const SAMPLE_ROWS: usize = 50;
    const SAMPLE_CELLS: usize = 200;
    let fit = |delimiter: u8| -> Option<(f64, f64, usize)> {
        let rows = sample(text, delimiter, skip_lines, SAMPLE_ROWS).ok()?;
        let widths: Vec<usize> = (0..rows.len()).map(|i| rows.row(i).len()).collect();
        let count = |width: usize| widths.iter().filter(|&&w| w == width).count();
        let width = *widths.iter().max_by_key(|&&w| (count(w), w))?;
        let agreement = count(width) as f64 / widths.len() as f64;
        let some = || (0..rows.len()).flat_map(|i| rows.row(i).iter().take(SAMPLE_CELLS));
        let numbers = some().filter(|cell| is_number(cell)).count() as f64 / some().count() as f64;
        (width >= 2 && agreement >= 0.5).then_some((agreement, numbers, width))
    };
    let mut best: Option<((f64, f64, usize), u8)> = None;
    for delimiter in [b',', b';', b'\t', b'|'] {
        if let Some(score) = fit(delimiter)
            && best.is_none_or(|(top, _)| score > top)
        {
            best = Some((score, delimiter));
        }
    }
    match best {
        Some((_, delimiter)) => delimiter,
        None if fit(b' ').is_some() => b' ',
        None => b',',
    }
}

/// What a table does not keep of its file: the texts that were no numbers, and the lines that were no rows.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// By the place among the columns that were asked for, and by row.
    texts: HashMap<(usize, usize), String>,
    /// Lines of another width, each with the reason.
    pub ragged: Vec<(usize, String)>,
}

impl Lost {
    /// Reads the file again where something may be lost; nothing where it cannot be read any more.
    pub fn of(table: &Table, columns: &[&Column]) -> Lost {
        let mut lost = Lost::default();
        let has_gaps = |c: &Column| matches!(c.cells, Cells::Number(_)) && c.missing() > 0;
        let place = |c: &Column| table.columns.iter().position(|other| std::ptr::eq(other, c));
        let gappy = columns.iter().enumerate().filter(|(_, c)| has_gaps(c));
        let gappy: Vec<(usize, usize)> = gappy.filter_map(|(at, c)| Some((at, place(c)?))).collect();
        // Lines that were left out are noted.
        if table.rows() == 0 || table.beside.is_some() || (gappy.is_empty() && table.notes.is_empty()) {
            return lost;
        }
        let Ok(text) = source::read_text(&table.path) else { return lost };
        let is_missing = |text: &str| match &table.options.missing_markers {
            None => cell::is_missing(text),
            Some(markers) => {
                let number = text.parse::<f64>().ok();
                let is_it = |marker: &String| marker == text || (number.is_some() && marker.parse().ok() == number);
                text.is_empty() || text.eq_ignore_ascii_case("nan") || markers.iter().any(is_it)
            }
        };
        let mut splitter = Splitter::new(&text, table.delimiter, 0, 1);
        splitter.skip_front(table.options.skip_lines);
        let (mut cells, mut row, mut width, mut ragged) = (Vec::new(), 0, table.columns.len(), vec![]);
        let mut is_first = true;
        while let Ok(Some(line)) = splitter.row(&mut cells) {
            if row < table.rows() && table.lines.get(row) == line {
                width = cells.len();
                for &(at, column) in &gappy {
                    let text = cells.get(column).map_or("", |cell| &cell.text);
                    if table.columns[column].is_missing(row) && !is_missing(text) {
                        lost.texts.insert((at, row), text.to_string());
                    }
                }
                row += 1;
            } else if !is_first {
                ragged.push((line, cells.len()));
            }
            // The first one holds the names, or has the table's width.
            is_first = false;
        }
        let others = if table.header { "the header has" } else { "the other rows have" };
        let reason = |n: usize| format!("{} where {others} {width}", counted(n, "cell"));
        lost.ragged = ragged.into_iter().map(|(line, n)| (line, reason(n))).collect();
        lost
    }

    /// What stands in a cell of column number `at` that holds no number and is not missing.
    pub fn text(&self, at: usize, row: usize) -> Option<&str> {
        if self.texts.is_empty() { None } else { self.texts.get(&(at, row)).map(String::as_str) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str, delimiter: u8) -> Vec<Vec<String>> {
        let rows = sample(text, delimiter, 0, usize::MAX).unwrap();
        (0..rows.len()).map(|i| rows.row(i).iter().map(|c| c.to_string()).collect()).collect()
    }

    fn detect(text: &str) -> u8 {
        detect_delimiter(text, 0, |cell| cell.replace(',', ".").parse::<f64>().is_ok())
    }

    #[test]
    fn quotes_hold_delimiters_newlines_and_quotes() {
        let text = "a, \"b, \"\"c\"\"\nd\" ,e\n1,\"\",3";
        assert_eq!(cells(text, b','), [vec!["a", "b, \"c\"\nd", "e"], vec!["1", "", "3"]]);
        assert_eq!(sample(text, b',', 0, 9).unwrap().lines, [1, 3]);
    }

    #[test]
    fn a_broken_quote_is_a_flaw_with_its_line() {
        assert_eq!(sample("a\nb,\"c\nd\n", b',', 0, 9).unwrap_err(), Flaw::OpenQuote { line: 2 });
        assert_eq!(sample("a\n\"b\"c\n", b',', 0, 9).unwrap_err(), Flaw::AfterQuote { line: 2, end: 2 });
        assert_eq!(sample("a,b\n\"1,2\n3,\"4\n", b',', 0, 9).unwrap_err(), Flaw::AfterQuote { line: 2, end: 3 });
    }

    #[test]
    fn line_ends_blank_lines_and_leading_comments() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["# note", "", "a,b", "  ", "1,#2", "3,4"].join(end);
            let rows = sample(&text, b',', 0, 9).unwrap();
            assert_eq!((rows.len(), rows.lines.clone()), (3, vec![3, 5, 6]), "{end:?}");
            assert_eq!(rows.cell(1, 1), "#2");
            assert_eq!(sample(&(text + end), b',', 3, 9).unwrap().len(), 2);
        }
    }

    #[test]
    fn spaces_are_one_delimiter_and_tabs_keep_empty_cells() {
        assert_eq!(cells("  1   2\t3  \n4 5 6\n", b' '), [["1", "2", "3"], ["4", "5", "6"]]);
        assert_eq!(cells("1\t\t3\n\t\t\n", b'\t'), [["1", "", "3"], ["", "", ""]]);
        assert_eq!(cells("1,2,\n", b','), [["1", "2", ""]]);
    }

    #[test]
    fn delimiters_are_detected() {
        assert_eq!(detect("a,b\n1,2\n"), b',');
        assert_eq!(detect("1,5;2,5\n3,5;4,5\n"), b';');
        assert_eq!(detect("a\tb c\n1\t2 3\n"), b'\t');
        assert_eq!(detect("a|b\n1|2\n"), b'|');
        assert_eq!(detect("1  2\n3 4\n"), b' ');
        assert_eq!(detect("x\n1\n2\n"), b',');
        assert_eq!(detect("name,note\nx,\"a;b;c\"\ny,\"d;e\"\n"), b',');
        assert_eq!(detect(""), b',');
    }
}
