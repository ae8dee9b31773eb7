//! All rows of a text into columns, on all cores: plain numbers as numbers at once, every other cell as the number of a
//! distinct text. Must not decide what such a text means: that is `reading`.
//!
//! The text is cut at line ends into stretches that are split apart from each other. A cut inside a quoted cell shows when
//! the stretch before it ends elsewhere; the one behind is then split again from there.

use super::cell::Plain;
use super::column::Lines;
use super::index::Index;
use super::rows::{Cell, Flaw, Splitter};
use foldhash::fast::RandomState;
use rayon::prelude::*;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// A column as found.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    pub rows: usize,
    /// `[rows]`, NaN where the cell is no plain number; empty if none is.
    pub values: Vec<f64>,
    /// Row and level of each cell that is no plain number, by row.
    pub odd: Vec<(u32, u32)>,
    /// Distinct texts of those cells, in the order in which they first occur.
    pub levels: Vec<Cow<'a, str>>,
    pub plain: Plain,
}

impl Found<'_> {
    /// `[levels]`: how many cells hold each text, and the first row that does.
    pub fn counts(&self) -> Vec<(usize, usize)> {
        let mut counts = vec![(0, 0); self.levels.len()];
        for &(row, level) in &self.odd {
            let (count, first) = &mut counts[level as usize];
            if *count == 0 {
                *first = row as usize;
            }
            *count += 1;
        }
        counts
    }
}

/// A row of another width than the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ragged {
    pub line: usize,
    pub width: usize,
}

#[derive(Debug)]
pub(crate) struct Scanned<'a> {
    /// Of the columns that were asked for.
    pub columns: Vec<Found<'a>>,
    pub lines: Lines,
    /// Rows that were left out, in the order of the file.
    pub ragged: Vec<Ragged>,
}

/// How each column is to be gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gather {
    Numbers,
    /// Every cell as a text.
    Texts,
    Skip,
}

/// The part of the text that holds rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    pub text: &'a str,
    pub delimiter: u8,
    /// Byte and line at which the first row begins.
    pub at: usize,
    pub line: usize,
}

#[derive(Default)]
struct Gathered<'a> {
    found: Found<'a>,
    index: Index,
}

impl<'a> Gathered<'a> {
    fn push(&mut self, cell: &Cell<'a>, gather: Gather, hasher: &RandomState) {
        let found = &mut self.found;
        let plain = match (gather, cell.decimal) {
            (Gather::Numbers, Some(decimal)) => {
                found.plain.count(cell.text.as_bytes(), decimal);
                Some(decimal.value)
            }
            (Gather::Numbers, None) => found.plain.read(&cell.text),
            (Gather::Texts | Gather::Skip, _) => None,
        };
        if let Some(value) = plain {
            if found.values.len() < found.rows {
                found.values.resize(found.rows, f64::NAN);
            }
            found.values.push(value);
        } else {
            let levels = &mut found.levels;
            let known = self.index.place(hasher.hash_one(&*cell.text), |level| levels[level] == cell.text);
            let level = known.unwrap_or_else(|| {
                levels.push(cell.text.clone());
                levels.len() as u32 - 1
            });
            found.odd.push((found.rows as u32, level));
        }
        found.rows += 1;
    }

    /// Puts the rows of the next stretch, hashed with the same hasher, behind those of this one.
    fn append(&mut self, other: Gathered<'a>) {
        let (found, hashes, other) = (&mut self.found, other.index.into_hashes(), other.found);
        if !other.values.is_empty() {
            found.values.resize(found.rows, f64::NAN);
            found.values.extend(other.values);
        }
        let known = &mut found.levels;
        let place = |(text, hash): (Cow<'a, str>, u64)| {
            self.index.place(hash, |level| known[level] == text).unwrap_or_else(|| {
                known.push(text);
                known.len() as u32 - 1
            })
        };
        let levels: Vec<u32> = other.levels.into_iter().zip(hashes).map(place).collect();
        let before = found.rows as u32;
        found.odd.extend(other.odd.into_iter().map(|(row, level)| (before + row, levels[level as usize])));
        found.plain.add(&other.plain);
        found.rows += other.rows;
    }
}

struct Stretch<'a> {
    /// Where the row after the last one begins.
    end: usize,
    columns: Vec<Gathered<'a>>,
    /// Lines of the rows, from 0 at the start of the stretch.
    lines: Vec<u32>,
    n_lines: usize,
    ragged: Vec<Ragged>,
    flaw: Option<Flaw>,
}

/// Splits all rows; each must have as many cells as `gather`.
pub(crate) fn scan<'a>(body: Body<'a>, gather: &[Gather]) -> Result<Scanned<'a>, Flaw> {
    let starts = cuts(body);
    let ends = starts.iter().skip(1).copied().chain([body.text.len()]);
    let bounds: Vec<(usize, usize)> = starts.iter().copied().zip(ends).collect();
    // One for all stretches, so that they can be joined by it.
    let hasher = RandomState::default();
    let mut stretches: Vec<Stretch<'a>> =
        bounds.par_iter().map(|&(start, end)| stretch(body, gather, &hasher, start, end)).collect();
    let mut at = body.at;
    for (i, &(start, end)) in bounds.iter().enumerate() {
        if start != at {
            stretches[i] = stretch(body, gather, &hasher, at, end);
        }
        if stretches[i].flaw.is_some() {
            stretches.truncate(i + 1);
            break;
        }
        at = stretches[i].end;
    }
    join(body, gather, stretches)
}

/// Starts of the stretches: line ends at even distances.
fn cuts(body: Body<'_>) -> Vec<usize> {
    const STRETCH: usize = 2 << 20;
    let bytes = body.text.as_bytes();
    let mut starts = vec![body.at];
    let mut at = body.at;
    while bytes.len() - at > STRETCH {
        let Some(end) = bytes[at + STRETCH..].iter().position(|&b| b == b'\n') else { break };
        at += STRETCH + end + 1;
        if at < bytes.len() {
            starts.push(at);
        }
    }
    starts
}

/// The rows that begin before `end`.
fn stretch<'a>(body: Body<'a>, gather: &[Gather], hasher: &RandomState, start: usize, end: usize) -> Stretch<'a> {
    let mut splitter = Splitter::new(body.text, body.delimiter, start, 0);
    let mut columns: Vec<Gathered<'a>> = gather.iter().map(|_| Gathered::default()).collect();
    let (mut lines, mut ragged, mut flaw, mut cells) = (vec![], vec![], None, vec![]);
    while splitter.at < end {
        let line = match splitter.row(&mut cells) {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(found) => {
                flaw = Some(found);
                break;
            }
        };
        let is_wide = cells.len() > gather.len() && cells[gather.len()..].iter().all(|c| c.text.is_empty());
        if cells.len() != gather.len() && !is_wide {
            ragged.push(Ragged { line, width: cells.len() });
            continue;
        }
        lines.push(line as u32);
        for ((cell, column), &gather) in cells.iter().zip(&mut columns).zip(gather) {
            if gather != Gather::Skip {
                column.push(cell, gather, hasher);
            }
        }
    }
    Stretch { end: splitter.at, columns, lines, n_lines: splitter.line, ragged, flaw }
}

fn join<'a>(body: Body<'a>, gather: &[Gather], stretches: Vec<Stretch<'a>>) -> Result<Scanned<'a>, Flaw> {
    let mut columns: Vec<Vec<Gathered<'a>>> = gather.iter().map(|_| Vec::new()).collect();
    let (mut lines, mut ragged) = (Vec::new(), Vec::new());
    let mut first_line = body.line;
    for stretch in stretches {
        match stretch.flaw {
            Some(Flaw::OpenQuote { line }) => return Err(Flaw::OpenQuote { line: line + first_line }),
            Some(Flaw::AfterQuote { line, end }) => {
                return Err(Flaw::AfterQuote { line: line + first_line, end: end + first_line });
            }
            None => {}
        }
        lines.push((first_line, stretch.lines));
        ragged.extend(stretch.ragged.into_iter().map(|r| Ragged { line: r.line + first_line, ..r }));
        first_line += stretch.n_lines;
        columns.iter_mut().zip(stretch.columns).for_each(|(all, part)| all.push(part));
    }
    let lines = lines.iter().flat_map(|(first, lines)| lines.iter().map(move |line| first + *line as usize)).collect();
    let columns = columns
        .into_par_iter()
        .map(|parts| {
            let mut parts = parts.into_iter();
            let mut whole = parts.next().unwrap_or_default();
            // A list that grows may come to hold twice what it needs.
            let found = &mut whole.found;
            let rest = || parts.as_slice().iter().map(|part| &part.found);
            if !found.values.is_empty() || rest().any(|f| !f.values.is_empty()) {
                let rows = found.rows + rest().map(|f| f.rows).sum::<usize>();
                found.values.reserve_exact(rows - found.values.len());
            }
            found.odd.reserve_exact(rest().map(|f| f.odd.len()).sum());
            parts.for_each(|part| whole.append(part));
            let mut found = whole.found;
            if !found.values.is_empty() {
                found.values.resize(found.rows, f64::NAN);
            }
            found
        })
        .collect();
    Ok(Scanned { columns, lines, ragged })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan_all<'a>(text: &'a str, gather: &[Gather]) -> Result<Scanned<'a>, Flaw> {
        scan(Body { text, delimiter: b',', at: 0, line: 1 }, gather)
    }

    #[test]
    fn numbers_and_other_cells_are_told_apart() {
        let s = scan_all("1,a\n\nx,b\n2.5,a\n1,2,3\n3,b,,\n", &[Gather::Numbers, Gather::Texts]).unwrap();
        let [a, b] = &s.columns[..] else { panic!() };
        assert_eq!((a.values[0], a.values[2], a.values[3], a.values.len()), (1.0, 2.5, 3.0, 4));
        assert!(a.values[1].is_nan());
        assert_eq!((&a.odd, &a.levels), (&vec![(1, 0)], &vec![Cow::Borrowed("x")]));
        assert_eq!((b.counts(), b.levels.len()), (vec![(2, 0), (2, 1)], 2));
        assert_eq!(
            (s.lines.iter().collect::<Vec<_>>(), s.ragged),
            (vec![1, 3, 4, 6], vec![Ragged { line: 5, width: 3 }])
        );
    }

    /// Quoted cells with line ends lie across every cut of a text that is longer than a stretch.
    #[test]
    fn stretches_join_as_if_never_cut() {
        let mut text = String::new();
        let rows = 40_000;
        for i in 0..rows {
            text += &format!("{i},\"a{}\n{}\"\n", i % 7, "\n1,2".repeat(i % 50));
        }
        assert!(text.len() > 3 << 20);
        let s = scan_all(&text, &[Gather::Numbers, Gather::Texts]).unwrap();
        assert!(s.ragged.is_empty());
        assert!(s.columns[0].values.iter().enumerate().all(|(i, &v)| v == i as f64));
        assert_eq!((s.columns[0].rows, s.columns[1].levels.len()), (rows, 350));
        let mut line = 1;
        for i in 0..rows {
            assert_eq!(s.lines.get(i), line);
            line += 2 + i % 50;
        }
        let flaw = scan_all(&(text + "1,\"open"), &[Gather::Numbers, Gather::Texts]).unwrap_err();
        assert_eq!(flaw, Flaw::OpenQuote { line });
    }
}
