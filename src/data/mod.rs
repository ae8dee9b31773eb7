//! Data: from a file or a toy to a matrix of standardised numbers.
//!
//! The road is `table::read_table` -> `encode::rows_without_missing` -> `split` -> `Encoder::learn` on the training rows ->
//! `Encoder::encode` for each part; for images `images::named::open` -> `load::images`; for points of the recipe
//! `points::prepare`. ARCHITECTURE.md says which part may use which. Must not: print, train, name a device, or let a
//! statistic of a validation or test row into the encoder.

pub mod corrupt;
pub mod encode;
mod encoding;
mod hash;
mod ids;
pub mod images;
pub mod inspect;
mod json;
pub mod load;
pub mod points;
pub mod roles;
pub mod source;
pub mod split;
pub mod table;
pub mod toy;

pub use crate::recipe::Task;
pub use ids::Ids;

use crate::base::counted::counted;
use crate::base::visible::visible;
use std::path::Path;
use std::sync::Arc;

/// Rows ready for a network.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dataset {
    /// `[n, d]`, row after row, standardised with the training rows. Copies of a set share its inputs.
    pub x: Arc<Vec<f32>>,
    /// `[n, T]`: standardised targets, T = 1 but for a table with several; or the class index. Empty when unknown.
    pub y: Vec<f32>,
    pub n: usize,
    pub d: usize,
    /// `[n]`: line of the row in its file, counted from 1.
    pub ids: Ids,
    /// `[n, T]`: the targets of a regression as the file has them; empty for classes and where it is unknown.
    pub target: Vec<f64>,
    /// `[n]`: what each row counts for, in units of the training rows' mean; empty where all rows count alike.
    pub weights: Vec<f32>,
    /// `[n, h, w, c]` where the inputs are images; then `x` is empty and `d` = h w c.
    pub bytes: Arc<Vec<u8>>,
}

/// What a network is given: rows of standardised numbers, or images as bytes.
#[derive(Debug, Clone, Copy)]
pub enum Inputs<'a> {
    Rows(&'a [f32]),
    Images(&'a [u8]),
}

impl Inputs<'_> {
    /// Numbers of all inputs together.
    pub fn len(&self) -> usize {
        match self {
            Inputs::Rows(x) => x.len(),
            Inputs::Images(bytes) => bytes.len(),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Dataset {
    /// The named rows, in the order given; each must be below `n`.
    pub fn subset(&self, rows: &[usize]) -> Dataset {
        fn pick<T: Copy>(from: &[T], rows: &[usize], d: usize) -> Vec<T> {
            if from.is_empty() {
                return vec![];
            }
            rows.iter().flat_map(|&row| from[row * d..(row + 1) * d].iter().copied()).collect()
        }
        let x = Arc::new(pick(&self.x, rows, self.d));
        let bytes = Arc::new(pick(&self.bytes, rows, self.d));
        let targets = self.y.len() / self.n.max(1);
        let y = pick(&self.y, rows, targets);
        let ids = self.ids.subset(rows);
        let target = pick(&self.target, rows, targets);
        let weights = pick(&self.weights, rows, 1);
        Dataset { x, y, n: rows.len(), d: self.d, ids, target, weights, bytes }
    }

    /// The same rows with the one of their `of` targets that stands at place `at`.
    pub fn of_target(&self, at: usize, of: usize) -> Dataset {
        let y = self.y.iter().skip(at).step_by(of).copied().collect();
        let target = self.target.iter().skip(at).step_by(of).copied().collect();
        Dataset { y, target, ..self.clone() }
    }

    /// What each row counts for: its weight, or 1.
    pub fn row_weights(&self) -> impl Iterator<Item = f32> + '_ {
        (0..self.n).map(|i| self.weights.get(i).copied().unwrap_or(1.0))
    }

    pub fn inputs(&self) -> Inputs<'_> {
        if self.bytes.is_empty() { Inputs::Rows(&self.x) } else { Inputs::Images(&self.bytes) }
    }
}

/// Targets as the file has them, or class indices.
pub fn targets_of(data: &Dataset) -> Vec<f64> {
    if data.target.is_empty() { data.y.iter().map(|&v| f64::from(v)).collect() } else { data.target.clone() }
}

/// "data.csv, line 7, column 'age'": the place of an error.
fn cell_place(path: &Path, line: usize, column: &str) -> String {
    format!("{}, line {line}, column {}", path.display(), quoted(column))
}

/// Text of a file inside a message: quoted, at most 40 characters, with control characters as escapes.
fn quoted(text: &str) -> String {
    let mut shown = visible(&text.chars().take(40).collect::<String>()).into_owned();
    if text.chars().nth(40).is_some() {
        shown.push_str("...");
    }
    format!("'{shown}'")
}

/// The first ten names, quoted, and how many more there are.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(10);
    let mut shown = names.take(10).map(quoted).collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown.push_str(&format!(" and {more} more"));
    }
    shown
}

/// Five significant digits in at most ten characters.
fn five_digits(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        return if (1e6..1e9).contains(&size) && value.fract() == 0.0 {
            format!("{value}")
        } else {
            format!("{value:.3e}")
        };
    }
    let decimals = (4 - libm::log10(size).floor() as i32).clamp(0, 7) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subset_takes_rows_in_the_order_given() {
        let all = Dataset {
            x: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into(),
            y: vec![0.1, 0.2, 0.3],
            n: 3,
            d: 2,
            ids: Ids::of_lines([2, 3, 4].into_iter()),
            target: vec![1.0, 2.0, 3.0],
            ..Default::default()
        };
        let part = all.subset(&[2, 0]);
        assert_eq!((part.x.to_vec(), part.y, part.n), (vec![5.0, 6.0, 1.0, 2.0], vec![0.3, 0.1], 2));
        assert_eq!(Vec::from(part.ids), ["4", "2"]);
        assert_eq!(part.target, [3.0, 1.0]);
    }

    #[test]
    fn counts_have_their_plural() {
        assert_eq!([counted(1, "row"), counted(2, "row"), counted(0, "class")], ["1 row", "2 rows", "0 classes"]);
    }

    #[test]
    fn quoted_text_is_short_and_on_one_line() {
        assert_eq!(quoted("a\nb"), "'a\\nb'");
        assert_eq!(quoted(&"x".repeat(50)).len(), 45);
    }

    #[test]
    fn numbers_fit_ten_characters() {
        let shown = [-1234.5678, 0.5, 1e-9, -1.2345e-300, 99_999.96, -999_999.6, 12_345_678.0, f64::MAX, 100.0]
            .map(five_digits);
        assert_eq!(
            shown,
            ["-1234.6", "0.5", "1.000e-9", "-1.234e-300", "100000", "-1000000", "12345678", "1.798e308", "100"]
        );
    }
}
