//! Win rates: the share of common cells in which one beats the other. A cell is a metric with a direction on one data set,
//! seed and split; a tie counts one half.

use super::{Column, ComparedRun, pair};
use crate::results::Better;

/// Cells won and cells shared, [row against column].
pub struct Tally {
    won: Vec<Vec<f64>>,
    shared: Vec<Vec<f64>>,
}

impl Tally {
    pub fn new(n: usize) -> Tally {
        Tally { won: vec![vec![0.0; n]; n], shared: vec![vec![0.0; n]; n] }
    }

    /// All cells of one data set; `groups` are (method, runs).
    pub fn add(&mut self, groups: &[(usize, Vec<ComparedRun>)], metrics: &[Column]) {
        for column in metrics.iter().filter(|c| c.better != Better::Neither) {
            let sign = if column.better == Better::Higher { 1.0 } else { -1.0 };
            for (i, ours) in groups {
                for (j, theirs) in groups.iter().filter(|(j, _)| j != i) {
                    for (a, b) in ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b))) {
                        let both = a.results.get(&column.name).zip(b.results.get(&column.name));
                        let Some((x, y)) = both.filter(|_| pair(a) == pair(b)) else { continue };
                        self.shared[*i][*j] += 1.0;
                        self.won[*i][*j] += if x == y { 0.5 } else { f64::from(sign * x > sign * y) };
                    }
                }
            }
        }
    }

    pub fn merge(&mut self, other: &Tally) {
        for (mine, theirs) in [(&mut self.won, &other.won), (&mut self.shared, &other.shared)] {
            for (a, b) in mine.iter_mut().flatten().zip(theirs.iter().flatten()) {
                *a += b;
            }
        }
    }

    pub fn rate(&self, i: usize, j: usize) -> Option<f64> {
        (self.shared[i][j] > 0.0).then(|| self.won[i][j] / self.shared[i][j])
    }

    pub fn overall(&self, i: usize) -> Option<f64> {
        let (won, shared): (f64, f64) = (self.won[i].iter().sum(), self.shared[i].iter().sum());
        (shared > 0.0).then(|| won / shared)
    }
}
