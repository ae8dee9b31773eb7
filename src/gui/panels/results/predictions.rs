//! Predictions as a table that can be sorted, the least certain first. Plain data.

use crate::data::Task;
use crate::gui::panels::filter::{Filter, Line};
use crate::results::per_class;
use crate::tables::{TextTable, readable, rounded};
use std::cmp::Ordering;
use std::collections::HashMap;

#[derive(serde::Serialize, serde::Deserialize)]
pub struct Predictions {
    pub table: TextTable,
    /// Columns in the order in which they are shown.
    pub shown: Vec<usize>,
    /// The column that says how uncertain a prediction is.
    pub uncertainty: usize,
    /// Of classes: the columns of the true class, if it is known, and of the predicted one.
    pub classes: Option<(usize, usize)>,
    /// The probabilities of the classes; empty for numbers.
    probabilities: Vec<usize>,
    /// The sd of the same row, for columns in the target's unit that it decides the digits of.
    digits: Vec<Option<usize>>,
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
        let is_of_sd = |name: &str| {
            let behind = |front: &str| name.strip_prefix(front).is_some_and(|p| p.parse::<f64>().is_ok());
            matches!(name, "mean" | "sd" | "aleatoric_sd" | "epistemic_sd")
                || behind("q")
                || behind("lower_")
                || behind("upper_")
        };
        let sd = (task == Task::Regression).then(|| last("sd")).flatten();
        // The target itself stands as it is in the file.
        let digits = header.iter().enumerate().map(|(c, name)| sd.filter(|_| c > 0 && is_of_sd(name))).collect();
        let mut all = Predictions {
            probabilities: predicted
                .map_or(vec![], |p| (p + 1..header.len()).filter(|c| header[*c].starts_with("p_")).collect()),
            digits,
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

    /// As it is shown: what has a predicted sd with the digits that it leaves, other numbers with four.
    pub fn cell(&self, row: usize, column: usize) -> String {
        let text = self.table.rows.get(row).and_then(|r| r.get(column)).map_or("", String::as_str);
        // A line's number and a class stay as they are.
        let plain = column == 0 || self.classes.is_some_and(|(a, b)| column == a || column == b);
        match text.parse::<f64>() {
            Ok(v) if self.numeric[column] && !plain => match self.digits[column] {
                Some(sd) => rounded(v, self.number(row, sd)),
                None => readable(v),
            },
            _ => text.to_string(),
        }
    }

    pub fn is_wrong(&self, row: usize) -> bool {
        let Some((truth, predicted)) = self.classes else { return false };
        let cells = &self.table.rows[row];
        cells.get(truth) != cells.get(predicted)
    }

    fn number(&self, row: usize, column: usize) -> Option<f64> {
        self.table.rows.get(row)?.get(column)?.parse().ok()
    }

    /// The class that was named, and the true one where it is known.
    pub fn named(&self, row: usize) -> (&str, Option<&str>) {
        let cell = |c: usize| self.table.rows[row].get(c).map_or("", String::as_str);
        match self.classes {
            Some((truth, named)) => (cell(named), Some(cell(truth))),
            None => (self.probabilities.first().map_or("", |p| cell(p - 1)), None),
        }
    }

    /// Classes with their probabilities, the most probable first.
    pub fn probabilities(&self, row: usize) -> Vec<(&str, f64)> {
        let of = |c: &usize| Some((self.table.header[*c].strip_prefix("p_")?, self.number(row, *c)?));
        let mut all: Vec<(&str, f64)> = self.probabilities.iter().filter_map(of).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// How well each class is found; None without known classes.
    pub fn per_class(&self) -> Option<TextTable> {
        let (truth, named) = self.classes?;
        let labels: Vec<String> = self
            .probabilities
            .iter()
            .filter_map(|c| self.table.header[*c].strip_prefix("p_"))
            .map(String::from)
            .collect();
        let places: HashMap<&str, usize> = labels.iter().enumerate().map(|(i, l)| (l.as_str(), i)).collect();
        let place = |row: &[String], c: usize| row.get(c).and_then(|l| places.get(l.as_str()).copied());
        let rows: Vec<(usize, usize)> =
            self.table.rows.iter().filter_map(|r| Some((place(r, truth)?, place(r, named)?))).collect();
        (!rows.is_empty()).then(|| per_class(&labels, rows.into_iter()))
    }

    /// These rows, with all their digits.
    pub fn picked(&self, rows: &[usize]) -> TextTable {
        let of = |i: &usize| self.table.rows.get(*i).cloned();
        TextTable { header: self.table.header.clone(), rows: rows.iter().filter_map(of).collect() }
    }

    pub fn by_uncertainty(&self) -> Sort {
        Sort { column: self.uncertainty, descending: true }
    }

    /// Rows that pass, in the order of a column; equal ones stay as in the file, and what is no number comes last.
    pub fn order(&self, sort: Sort, filter: &Filter, wrong_only: bool) -> Vec<usize> {
        let cell = |r: usize| self.table.rows[r].get(sort.column).map_or("", String::as_str);
        let way = |o: Ordering| if sort.descending { o.reverse() } else { o };
        let passes = |r: &usize| (!wrong_only || self.is_wrong(*r)) && filter.passes(&Row { of: self, row: *r });
        let mut order: Vec<usize> = (0..self.table.rows.len()).filter(passes).collect();
        if self.numeric.get(sort.column) == Some(&true) {
            let key: Vec<f64> = (0..self.table.rows.len()).map(|r| cell(r).parse().unwrap_or(f64::NAN)).collect();
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

/// A row, for the filter: columns by their names in small letters.
struct Row<'a> {
    of: &'a Predictions,
    row: usize,
}

impl Row<'_> {
    fn column(&self, name: &str) -> Option<usize> {
        self.of.table.header.iter().position(|h| h.to_lowercase() == name)
    }
}

impl Line for Row<'_> {
    fn text(&self) -> String {
        self.of.table.rows[self.row].join(" ")
    }
    fn under(&self, name: &str) -> Option<String> {
        self.of.table.rows[self.row].get(self.column(name)?).cloned()
    }
    fn number(&self, name: &str) -> Option<f64> {
        self.of.number(self.row, self.column(name)?)
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

    fn order(p: &Predictions, sort: Sort) -> Vec<usize> {
        p.order(sort, &Filter::default(), false)
    }

    #[test]
    fn rows_come_by_uncertainty_and_what_is_no_number_last() {
        let t = table(
            &["line", "y", "mean", "sd"],
            &[&["2", "1", "1", "0.5"], &["3", "1", "2", "NaN"], &["4", "9", "3", "10"]],
        );
        let p = Predictions::of(t, Task::Regression);
        assert_eq!(p.by_uncertainty(), Sort { column: 3, descending: true });
        assert_eq!(order(&p, p.by_uncertainty()), [2, 0, 1]);
        assert_eq!(order(&p, Sort { column: 3, descending: false }), [0, 2, 1]);
        assert_eq!(order(&p, Sort { column: 1, descending: true }), [2, 0, 1], "equal ones stay in the file's order");
    }

    #[test]
    fn classes_are_compared_and_their_probabilities_come_last() {
        let header = ["line", "kind", "predicted", "p_a", "p_b", "entropy", "aleatoric_entropy", "mutual_information"];
        let rows: [&[&str]; 2] =
            [&["2", "a", "a", "0.9", "0.1", "0.3", "0.2", "0.1"], &["3", "a", "b", "0.4", "0.6", "0.6", "0.2", "0.4"]];
        let p = Predictions::of(table(&header, &rows), Task::Classification);
        assert_eq!(p.shown, [0, 1, 2, 5, 6, 7, 3, 4]);
        assert_eq!((p.is_wrong(0), p.is_wrong(1)), (false, true));
        assert_eq!(order(&p, Sort { column: 2, descending: true }), [1, 0]);
        let unknown = Predictions::of(
            table(&["line", "predicted", "p_a", "entropy"], &[&["2", "a", "1", "0"]]),
            Task::Classification,
        );
        assert!(!unknown.is_wrong(0));
    }

    #[test]
    fn rows_are_narrowed_and_picked_as_they_are_shown() {
        let header = ["image", "kind", "predicted", "p_a", "p_b", "entropy"];
        let rows: [&[&str]; 3] = [
            &["x1", "a", "a", "0.9", "0.1", "0.3"],
            &["x2", "a", "b", "0.4", "0.6", "0.6"],
            &["y3", "b", "b", "0.2", "0.8", "0.5"],
        ];
        let p = Predictions::of(table(&header, &rows), Task::Classification);
        let shown = |text: &str, wrong: bool| p.order(p.by_uncertainty(), &Filter::of(text), wrong);
        assert_eq!((shown("", false), shown("", true)), (vec![1, 2, 0], vec![1]));
        assert_eq!((shown("entropy>0.4", false), shown("x", false)), (vec![1, 2], vec![1, 0]));
        assert_eq!((shown("predicted:b kind:b", false), shown("nothing", false)), (vec![2], vec![]));
        let picked = p.picked(&shown("entropy>0.4", false));
        assert_eq!(picked.rows.iter().map(|r| r[0].as_str()).collect::<Vec<_>>(), ["x2", "y3"]);
        assert_eq!((p.named(1), p.probabilities(1)), (("b", Some("a")), vec![("b", 0.6), ("a", 0.4)]));
        let classes = p.per_class().expect("known");
        assert_eq!(classes.rows[0], ["a", "2", "50 %", "1", "100 %", "b (1)"]);
    }

    #[test]
    fn the_predicted_sd_decides_the_digits() {
        let rows: [&[&str]; 1] = [&["2", "385123.25", "384685.123", "48123.4", "1234567.8"]];
        let p = Predictions::of(table(&["line", "price", "mean", "sd", "q95"], &rows), Task::Regression);
        let shown: Vec<String> = (0..5).map(|c| p.cell(0, c)).collect();
        assert_eq!(shown, ["2", "385,123", "385,000", "48,000", "1,235,000"]);
    }
}
