//! Text to rows of cells: quotes, line ends, blank lines, comments in front, and which delimiter the file uses.
//!
//! Written here and not taken from the `csv` crate because that one cannot split on runs of spaces, takes a quote after
//! a space as text, swallows the rest of the file after an open quote, and counts no lines in files with bare CR.
//! Must not decide what a cell means.

use std::borrow::Cow;

/// Cells of all rows in one list; row `i` is `cells[starts[i]..starts[i + 1]]`.
#[derive(Debug, Default)]
pub(super) struct Rows<'a> {
    cells: Vec<Cow<'a, str>>,
    ends: Vec<usize>,
    /// File line, from 1, on which the row begins.
    pub lines: Vec<usize>,
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn row(&self, i: usize) -> &[Cow<'a, str>] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.cells[start..self.ends[i]]
    }

    /// Cell of a table whose rows all have the same width.
    pub fn cell(&self, i: usize, column: usize) -> &str {
        &self.row(i)[column]
    }
}

/// A quote that cannot be read; the line counts from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The quote opened on this line is never closed.
    OpenQuote { line: usize },
    /// Something other than a delimiter follows a closing quote.
    AfterQuote { line: usize },
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

/// At most `limit` rows. `delimiter` is one ASCII byte; a space means runs of spaces and tabs. Lines that start with '#'
/// are skipped in front of the first row only.
pub(super) fn split_rows(text: &str, delimiter: u8, skip_lines: usize, limit: usize) -> Result<Rows<'_>, Flaw> {
    let bytes = text.as_bytes();
    let is_padding = |b: u8| b == b' ' || (b == b'\t' && delimiter != b'\t');
    let skip_padding = |mut at: usize| {
        while at < bytes.len() && is_padding(bytes[at]) {
            at += 1;
        }
        at
    };
    let (mut at, mut line) = (0, 1);
    for _ in 0..skip_lines {
        at = next_line(bytes, line_end(bytes, at));
        line += 1;
        if at == bytes.len() {
            break;
        }
    }
    let mut rows = Rows::default();
    while at < bytes.len() && rows.len() < limit {
        let first = skip_padding(at);
        let is_comment = rows.len() == 0 && bytes.get(first) == Some(&b'#');
        if is_comment || first == bytes.len() || is_end(bytes[first]) {
            at = next_line(bytes, line_end(bytes, first));
            line += 1;
            continue;
        }
        rows.lines.push(line);
        loop {
            at = skip_padding(at);
            if bytes.get(at) == Some(&b'"') {
                let (cell, close) = quoted_cell(text, at).ok_or(Flaw::OpenQuote { line })?;
                line += newlines(&bytes[at..close]);
                rows.cells.push(cell);
                at = skip_padding(close + 1);
                let spaced = delimiter == b' ' && at > close + 1;
                if at < bytes.len() && !is_end(bytes[at]) && bytes[at] != delimiter && !spaced {
                    return Err(Flaw::AfterQuote { line });
                }
            } else {
                let stop = |&b: &u8| is_end(b) || b == delimiter || (delimiter == b' ' && b == b'\t');
                let end = bytes[at..].iter().position(stop).map_or(bytes.len(), |n| at + n);
                rows.cells.push(Cow::Borrowed(text[at..end].trim()));
                at = end;
            }
            if delimiter == b' ' {
                at = skip_padding(at);
            }
            if at == bytes.len() || is_end(bytes[at]) {
                at = next_line(bytes, at);
                line += 1;
                break;
            }
            if delimiter != b' ' {
                at += 1;
            }
        }
        rows.ends.push(rows.cells.len());
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
        if doubled { Cow::Owned(raw.replace("\"\"", "\"").trim().to_string()) } else { Cow::Borrowed(raw.trim()) };
    Some((cell, close))
}

fn newlines(bytes: &[u8]) -> usize {
    (0..bytes.len()).filter(|&i| bytes[i] == b'\n' || (bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n'))).count()
}

/// The delimiter under which the first rows agree best on their width; on a tie the one under which more cells are
/// numbers (`1,5;2,5` is two numbers, not three texts). Runs of spaces only if nothing else fits; a comma for one column.
pub(super) fn detect_delimiter(text: &str, skip_lines: usize, is_number: impl Fn(&str) -> bool) -> u8 {
    const SAMPLE_ROWS: usize = 50;
    const SAMPLE_CELLS: usize = 200;
    let fit = |delimiter: u8| -> Option<(f64, f64, usize)> {
        let rows = split_rows(text, delimiter, skip_lines, SAMPLE_ROWS).ok()?;
        let widths: Vec<usize> = (0..rows.len()).map(|i| rows.row(i).len()).collect();
        let count = |width: usize| widths.iter().filter(|&&w| w == width).count();
        let width = *widths.iter().max_by_key(|&&w| (count(w), w))?;
        let agreement = count(width) as f64 / widths.len() as f64;
        let sample = || (0..rows.len()).flat_map(|i| rows.row(i).iter().take(SAMPLE_CELLS));
        let numbers = sample().filter(|cell| is_number(cell)).count() as f64 / sample().count() as f64;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str, delimiter: u8) -> Vec<Vec<String>> {
        let rows = split_rows(text, delimiter, 0, usize::MAX).unwrap();
        (0..rows.len()).map(|i| rows.row(i).iter().map(|c| c.to_string()).collect()).collect()
    }

    fn detect(text: &str) -> u8 {
        detect_delimiter(text, 0, |cell| cell.replace(',', ".").parse::<f64>().is_ok())
    }

    #[test]
    fn quotes_hold_delimiters_newlines_and_quotes() {
        let text = "a, \"b, \"\"c\"\"\nd\" ,e\n1,\"\",3";
        assert_eq!(cells(text, b','), [vec!["a", "b, \"c\"\nd", "e"], vec!["1", "", "3"]]);
        assert_eq!(split_rows(text, b',', 0, 9).unwrap().lines, [1, 3]);
    }

    #[test]
    fn a_broken_quote_is_a_flaw_with_its_line() {
        assert_eq!(split_rows("a\nb,\"c\nd\n", b',', 0, 9).unwrap_err(), Flaw::OpenQuote { line: 2 });
        assert_eq!(split_rows("a\n\"b\"c\n", b',', 0, 9).unwrap_err(), Flaw::AfterQuote { line: 2 });
    }

    #[test]
    fn line_ends_blank_lines_and_leading_comments() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["# note", "", "a,b", "  ", "1,#2", "3,4"].join(end);
            let rows = split_rows(&text, b',', 0, 9).unwrap();
            assert_eq!((rows.len(), rows.lines.clone()), (3, vec![3, 5, 6]), "{end:?}");
            assert_eq!(rows.cell(1, 1), "#2");
            assert_eq!(split_rows(&(text + end), b',', 3, 9).unwrap().len(), 2);
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
