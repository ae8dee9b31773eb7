//! Data: from a file or a toy to a matrix of standardised numbers.
//!
//! The road is `table::read_table` -> `encode::rows_without_missing` -> `split` -> `Encoder::learn` on the training rows ->
//! `Encoder::encode` for each part; for images `images::open` -> `pixels::load`; for points of the recipe `points::prepare`. Rooms below this one know nothing of files. Must not: print, train, name a device,
//! or let a statistic of a validation or test row into the encoder.

pub mod corrupt;
pub mod encode;
mod ids;
pub mod images;
pub mod load;
pub mod points;
pub mod source;
pub mod split;
pub mod table;
pub mod toy;

pub use encode::learn::{detect_task, strata};
pub use ids::Ids;

use crate::base::visible::visible;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// What is learnt: a number or a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    Regression,
    Classification,
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Task::Regression => "regression",
            Task::Classification => "classification",
        })
    }
}

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

/// SplitMix64 (Steele, Lea, Flood 2014): the generator of splits and toys, so that neither changes when the
/// network's own generator does.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1), 53 bits.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal by Box-Muller; two uniforms a number, the sine half unused.
    pub(crate) fn normal(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Fisher-Yates; the multiply-shift bias is below n / 2^64.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = ((u128::from(self.next_u64()) * (i as u128 + 1)) >> 64) as usize;
            items.swap(i, j);
        }
    }
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

/// "1 row", "2 rows".
fn counted(n: usize, what: &str) -> String {
    let plural = match what.strip_suffix("ss") {
        _ if n == 1 => "",
        Some(_) => "es",
        None => "s",
    };
    format!("{n} {what}{plural}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        // First outputs for seed 1234567 of the reference C program (Vigna, prng.di.unimi.it/splitmix64.c).
        let mut rng = SplitMix64::new(1234567);
        assert_eq!([rng.next_u64(), rng.next_u64()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        // 4 standard errors: 1/sqrt(n) for the mean, sqrt(2/n) for the variance.
        let mut rng = SplitMix64::new(3);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 4.0 / (n as f64).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / n as f64).sqrt(), "{variance}");
    }

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
}
