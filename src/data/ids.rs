//! What the rows of a data set are called: the lines of a table in four bytes each, the names of images as texts.

/// One name per row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ids {
    /// Counted from 1.
    Lines(Vec<u32>),
    Names(Vec<String>),
}

impl Default for Ids {
    fn default() -> Ids {
        Ids::Names(vec![])
    }
}

impl Ids {
    /// Of lines below 2^32, which no file that is read exceeds.
    pub fn of_lines(lines: impl Iterator<Item = usize>) -> Ids {
        Ids::Lines(lines.map(|line| u32::try_from(line).unwrap_or(u32::MAX)).collect())
    }

    pub fn len(&self) -> usize {
        match self {
            Ids::Lines(lines) => lines.len(),
            Ids::Names(names) => names.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As it is shown; `None` beyond the last row.
    pub fn get(&self, row: usize) -> Option<String> {
        match self {
            Ids::Lines(lines) => lines.get(row).map(u32::to_string),
            Ids::Names(names) => names.get(row).cloned(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = String> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Of the named rows, in the order given.
    pub fn subset(&self, rows: &[usize]) -> Ids {
        match self {
            Ids::Lines(lines) => Ids::Lines(rows.iter().filter_map(|&row| lines.get(row).copied()).collect()),
            Ids::Names(names) => Ids::Names(rows.iter().filter_map(|&row| names.get(row).cloned()).collect()),
        }
    }
}

impl FromIterator<String> for Ids {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Ids {
        Ids::Names(names.into_iter().collect())
    }
}

impl From<Vec<String>> for Ids {
    fn from(names: Vec<String>) -> Ids {
        Ids::Names(names)
    }
}

impl From<Ids> for Vec<String> {
    fn from(ids: Ids) -> Vec<String> {
        match ids {
            Ids::Names(names) => names,
            lines @ Ids::Lines(_) => lines.iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_names_read_alike() {
        let lines = Ids::of_lines([2, 3, 7].into_iter());
        let names: Ids = ["2", "3", "7"].map(String::from).into_iter().collect();
        for ids in [&lines, &names] {
            assert_eq!((ids.len(), ids.get(2), ids.get(3)), (3, Some("7".into()), None));
            assert_eq!(Vec::from(ids.subset(&[2, 0, 9])), ["7", "2"]);
            assert_eq!(ids.iter().collect::<Vec<_>>(), ["2", "3", "7"]);
        }
        assert!(Ids::default().is_empty());
    }
}
