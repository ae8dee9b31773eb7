//! Predictions as a table that can be sorted, the least certain first. Plain data.

use crate::data::Task;
use crate::tables::{TextTable, number};
use std::cmp::Ordering;

#[derive(serde::Serialize, serde::Deserialize)]
pub struct Predictions {
    pub table: TextTable,
    /// Columns in the order in which they are shown.
    pub shown: Vec<usize>,
    /// The column that says how uncertain a prediction is.
    pub uncertainty: usize,
    /// Of classes: the columns of the true class, if it is known, and of the predicted one.
    pub classes: Option<(usize, usize)>,
    /// Of each column, whether it holds numbers alone.
    pub numeric: Vec<bool>,
    /// Points on the screen.
    pub widths: Vec<f32>,
}

/// Which column, and whether the largest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub column: usize,
    pub descending: bool,
}

impl Predictions {
    pub fn of(table: TextTable, task: Task) -> Predictions {
        let header = &table.header;
        let last = |name: &str| header.iter().rposition(|h| h == name);
        let (uncertainty, predicted) = match task {
            Task::Regression => (last("sd"), None),
            // A class may be called so too, but not without its p_.
            Task::Classification => (last("entropy"), last("predicted")),
        };
        // Probabilities of many classes go to the end.
        let (back, front): (Vec<usize>, Vec<usize>) =
            (0..header.len()).partition(|&c| predicted.is_some_and(|p| c > p) && header[c].starts_with("p_"));
        let numeric: Vec<bool> = (0..header.len())
            .map(|c| table.rows.iter().all(|r| r.get(c).is_some_and(|t| t.parse::<f64>().is_ok())))
            .collect();
        let mut all = Predictions {
            shown: front.into_iter().chain(back).collect(),
            uncertainty: uncertainty.unwrap_or(0),
            classes: predicted.filter(|p| *p > 1).map(|p| (p - 1, p)),
            widths: vec![],
            numeric,
            table,
        };
        all.widths = (0..all.table.header.len()).map(|c| all.width(c)).collect();
        all
    }

    fn width(&self, column: usize) -> f32 {
        let first = (0..self.table.rows.len()).take(300).map(|r| self.cell(r, column).chars().count());
        let most = first.max().unwrap_or(0).max(self.table.header[column].chars().count() + 2);
        (most as f32 * 7.8 + 12.0).clamp(52.0, 230.0)
    }

    /// As it is shown: numbers with four digits.
    pub fn cell(&self, row: usize, column: usize) -> String {
        let text = self.table.rows.get(row).and_then(|r| r.get(column)).map_or("", String::as_str);
        // A line's number and a class stay as they are.
        let plain = column == 0 || self.classes.is_some_and(|(a, b)| column == a || column == b);
        match text.parse::<f64>() {
            Ok(v) if self.numeric[column] && !plain => number(v),
            _ => text.to_string(),
        }
    }

    pub fn is_wrong(&self, row: usize) -> bool {
        let Some((truth, predicted)) = self.classes else { return false };
        let cells = &self.table.rows[row];
        cells.get(truth) != cells.get(predicted)
    }

    pub fn by_uncertainty(&self) -> Sort {
        Sort { column: self.uncertainty, descending: true }
    }

    /// Rows in the order of a column; equal ones stay as in the file, and what is no number comes last.
    pub fn order(&self, sort: Sort) -> Vec<usize> {
        let cell = |r: usize| self.table.rows[r].get(sort.column).map_or("", String::as_str);
        let way = |o: Ordering| if sort.descending { o.reverse() } else { o };
        let mut order: Vec<usize> = (0..self.table.rows.len()).collect();
        if self.numeric.get(sort.column) == Some(&true) {
            let key: Vec<f64> = order.iter().map(|&r| cell(r).parse().unwrap_or(f64::NAN)).collect();
            order.sort_by(|&a, &b| match (key[a].is_nan(), key[b].is_nan()) {
                (false, false) => way(key[a].total_cmp(&key[b])),
                (a, b) => a.cmp(&b),
            });
        } else {
            order.sort_by(|&a, &b| way(cell(a).cmp(cell(b))));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(header: &[&str], rows: &[&[&str]]) -> TextTable {
        let mut t = TextTable::new(header);
        t.rows = rows.iter().map(|r| r.iter().map(|c| c.to_string()).collect()).collect();
        t
    }

    #[test]
    fn rows_come_by_uncertainty_and_what_is_no_number_last() {
        let t = table(
            &["line", "y", "mean", "sd"],
            &[&["2", "1", "1", "0.5"], &["3", "1", "2", "NaN"], &["4", "9", "3", "10"]],
        );
        let p = Predictions::of(t, Task::Regression);
        assert_eq!(p.by_uncertainty(), Sort { column: 3, descending: true });
        assert_eq!(p.order(p.by_uncertainty()), [2, 0, 1]);
        assert_eq!(p.order(Sort { column: 3, descending: false }), [0, 2, 1]);
        assert_eq!(p.order(Sort { column: 1, descending: true }), [2, 0, 1], "equal ones stay in the file's order");
    }

    #[test]
    fn classes_are_compared_and_their_probabilities_come_last() {
        let header = ["line", "kind", "predicted", "p_a", "p_b", "entropy", "aleatoric_entropy", "mutual_information"];
        let rows: [&[&str]; 2] =
            [&["2", "a", "a", "0.9", "0.1", "0.3", "0.2", "0.1"], &["3", "a", "b", "0.4", "0.6", "0.6", "0.2", "0.4"]];
        let p = Predictions::of(table(&header, &rows), Task::Classification);
        assert_eq!(p.shown, [0, 1, 2, 5, 6, 7, 3, 4]);
        assert_eq!((p.is_wrong(0), p.is_wrong(1)), (false, true));
        assert_eq!(p.order(Sort { column: 2, descending: true }), [1, 0]);
        let unknown = Predictions::of(
            table(&["line", "predicted", "p_a", "entropy"], &[&["2", "a", "1", "0"]]),
            Task::Classification,
        );
        assert!(!unknown.is_wrong(0));
    }
}
