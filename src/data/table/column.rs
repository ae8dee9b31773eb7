//! A column of a table: numbers, or texts that are kept once each. Must not know where it was read from.

use std::borrow::Cow;
use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    pub cells: Cells,
    /// What the reader made of cells that are no plain numbers, a short note each ("read 'kg' as the unit").
    pub reading: Vec<String>,
    /// That cells which are no numbers count as missing, where there are some.
    pub unread: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Finite numbers; NaN = missing.
    Number(Vec<f64>),
    Text(Texts),
}

/// Texts of a column, each distinct one kept once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    /// `[rows]`: index among `levels`; `MISSING` for a missing cell.
    codes: Vec<u32>,
    /// In the order in which they first occur; each occurs.
    levels: Vec<String>,
}

const MISSING: u32 = u32::MAX;

impl Texts {
    /// `cells`: row and level of every cell; levels for which `is_missing` are no texts.
    pub(crate) fn of_codes(
        rows: usize,
        cells: &[(u32, u32)],
        levels: &[Cow<'_, str>],
        is_missing: impl Fn(usize) -> bool,
    ) -> Texts {
        let mut texts = Texts { codes: vec![MISSING; rows], levels: Vec::new() };
        let code = |(level, text): (usize, &Cow<'_, str>)| match is_missing(level) {
            true => MISSING,
            false => {
                texts.levels.push(text.to_string());
                texts.levels.len() as u32 - 1
            }
        };
        let codes: Vec<u32> = levels.iter().enumerate().map(code).collect();
        for &(row, level) in cells {
            texts.codes[row as usize] = codes[level as usize];
        }
        texts
    }

    pub fn len(&self) -> usize {
        self.codes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// `None` for a missing cell.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.code(row).map(|code| self.levels[code].as_str())
    }

    /// Index of the cell's text among `levels`.
    pub fn code(&self, row: usize) -> Option<usize> {
        let code = self.codes[row];
        (code != MISSING).then_some(code as usize)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Every distinct text once, in the order in which they first occur.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// `[levels]`: how many cells hold each.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.levels.len()];
        (0..self.len()).filter_map(|row| self.code(row)).for_each(|code| counts[code] += 1);
        counts
    }

    pub fn missing(&self) -> usize {
        self.codes.iter().filter(|&&code| code == MISSING).count()
    }
}

impl<S: AsRef<str>> FromIterator<Option<S>> for Texts {
    fn from_iter<I: IntoIterator<Item = Option<S>>>(cells: I) -> Self {
        let mut texts = Texts::default();
        let mut index: HashMap<String, u32> = HashMap::new();
        for cell in cells {
            let code = cell.map_or(MISSING, |cell| {
                let cell = cell.as_ref();
                index.get(cell).copied().unwrap_or_else(|| {
                    let code = texts.levels.len() as u32;
                    index.insert(cell.to_string(), code);
                    texts.levels.push(cell.to_string());
                    code
                })
            });
            texts.codes.push(code);
        }
        texts
    }
}

impl Column {
    /// Without notes.
    pub fn new(name: impl Into<String>, cells: Cells) -> Column {
        Column { name: name.into(), cells, reading: Vec::new(), unread: None }
    }

    /// All that the reader made of its cells.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.reading.iter().chain(&self.unread).map(String::as_str)
    }

    pub fn rows(&self) -> usize {
        match &self.cells {
            Cells::Number(values) => values.len(),
            Cells::Text(texts) => texts.len(),
        }
    }

    /// The number of a column of numbers; `None` for a missing cell and in a column of texts.
    pub fn number(&self, row: usize) -> Option<f64> {
        match &self.cells {
            Cells::Number(values) => Some(values[row]).filter(|v| !v.is_nan()),
            Cells::Text(_) => None,
        }
    }

    /// The text of a column of texts; `None` for a missing cell and in a column of numbers.
    pub fn text(&self, row: usize) -> Option<&str> {
        match &self.cells {
            Cells::Number(_) => None,
            Cells::Text(texts) => texts.get(row),
        }
    }

    pub fn is_missing(&self, row: usize) -> bool {
        match &self.cells {
            Cells::Number(values) => values[row].is_nan(),
            Cells::Text(texts) => texts.code(row).is_none(),
        }
    }

    pub fn missing(&self) -> usize {
        match &self.cells {
            Cells::Number(values) => values.iter().filter(|v| v.is_nan()).count(),
            Cells::Text(texts) => texts.missing(),
        }
    }
}

/// File line, from 1, of each row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lines {
    /// One row on each line from `first` on, as in nearly every file.
    Run {
        first: usize,
        rows: usize,
    },
    Each(Vec<u32>),
}

impl Lines {
    pub fn len(&self) -> usize {
        match self {
            Lines::Run { rows, .. } => *rows,
            Lines::Each(lines) => lines.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, row: usize) -> usize {
        match self {
            Lines::Run { first, .. } => first + row,
            Lines::Each(lines) => lines[row] as usize,
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl FromIterator<usize> for Lines {
    fn from_iter<I: IntoIterator<Item = usize>>(lines: I) -> Self {
        // A file of 8 GiB, the most that is read, has fewer than 2^32 rows.
        let lines: Vec<u32> = lines.into_iter().map(|line| u32::try_from(line).unwrap_or(u32::MAX)).collect();
        let first = lines.first().copied().unwrap_or(1);
        match lines.iter().zip(first..).all(|(&line, expected)| line == expected) {
            true => Lines::Run { first: first as usize, rows: lines.len() },
            false => Lines::Each(lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once() {
        let texts: Texts = [Some("b"), None, Some("a"), Some("b")].into_iter().collect();
        assert_eq!((texts.levels(), texts.counts(), texts.missing()), (&["b".into(), "a".into()][..], vec![2, 1], 1));
        assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("b"), None, Some("a"), Some("b")]);
        let column = Column::new("c", Cells::Text(texts));
        assert_eq!((column.text(2), column.number(2), column.is_missing(1)), (Some("a"), None, true));
    }

    #[test]
    fn lines_in_a_row_take_no_memory() {
        let run: Lines = [3, 4, 5].into_iter().collect();
        assert_eq!(run, Lines::Run { first: 3, rows: 3 });
        let each: Lines = [3, 4, 6].into_iter().collect();
        assert_eq!((each.get(2), each.iter().collect::<Vec<_>>()), (6, vec![3, 4, 6]));
    }
}
