//! Split conformal prediction: from the scores of n calibration rows to intervals or sets that hold the truth of an
//! exchangeable new row with probability at least 1 - alpha, whatever the model (Vovk et al. 2005; Lei et al. 2018).
//! The probability is over the calibration rows and the new row together; if scores have no ties it is at most
//! 1 - alpha + 1/(n+1). A score must be a function of its row alone: nothing here depends on a row's place or its neighbours.

use serde::{Deserialize, Serialize};

/// The score of a class, given a row's probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Sets {
    /// Adaptive sets (Romano et al. 2020), without randomisation: the score of a class is the probability of all classes more
    /// probable than it. Never empty; larger where the model is less sure
    Aps,
    /// Least ambiguous sets (Sadinle et al. 2019): the score of a class is 1 - its probability. The smallest sets on average;
    /// empty where no class is probable enough
    Lac,
}

/// Which of n sorted scores, counted from 1, is the threshold: ceil((n+1)(1-alpha)). None where that is beyond the last: n
/// rows are too few for this alpha, and only an infinite threshold keeps the promise.
pub fn rank(n: usize, alpha: f64) -> Option<usize> {
    let exact = (n as f64 + 1.0) * alpha;
    // n + 1 - floor((n+1) alpha) is the same rank. Decimals such as 0.29 are no binary numbers: 100 * 0.29 < 29 in f64.
    let left_out = (exact + 1e-9 * exact.max(1.0)).floor() as usize;
    if left_out == 0 { None } else { (n + 1).checked_sub(left_out).filter(|k| *k >= 1) }
}

/// The least number of calibration rows for which the threshold is finite: ceil(1/alpha) - 1.
pub fn least_rows(alpha: f64) -> usize {
    ((1.0 / alpha) * (1.0 - 1e-9)).ceil() as usize - 1
}

/// The finite-sample quantile of `scores` [n], or infinity where n is too small. A NaN counts as infinite: a row whose
/// score cannot be told is the worst.
pub fn threshold(scores: &[f64], alpha: f64) -> f64 {
    let Some(k) = rank(scores.len(), alpha) else { return f64::INFINITY };
    let mut sorted: Vec<f64> = scores.iter().map(|s| if s.is_nan() { f64::INFINITY } else { *s }).collect();
    *sorted.select_nth_unstable_by(k - 1, f64::total_cmp).1
}

/// Standard deviation of the coverage from one set of n calibration rows to another: that of Beta(k, n + 1 - k), k the
/// rank. None where the threshold is infinite (the coverage is 1).
pub fn coverage_sd(n: usize, alpha: f64) -> Option<f64> {
    let (k, m) = (rank(n, alpha)? as f64, n as f64 + 1.0);
    Some((k * (m - k) / (m * m * (m + 1.0))).sqrt())
}

/// |y - mean| / sd: how many predictive standard deviations the truth is away. Both in the same unit, sd >= 0.
pub fn residual(y: f64, mean: f64, sd: f64) -> f64 {
    // 0/0: a point mass that was hit.
    if y == mean { 0.0 } else { (y - mean).abs() / sd }
}

/// [mean - q sd, mean + q sd].
pub fn interval(mean: f64, sd: f64, q: f64) -> (f64, f64) {
    // Infinity times a sd of 0 is no number.
    if q == f64::INFINITY { (f64::NEG_INFINITY, f64::INFINITY) } else { (mean - q * sd, mean + q * sd) }
}

/// Classes of a row from the most probable on; among equals by index.
fn by_probability(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    order
}

impl Sets {
    pub const ALL: [Sets; 2] = [Sets::Aps, Sets::Lac];

    pub fn name(self) -> &'static str {
        match self {
            Sets::Aps => "aps",
            Sets::Lac => "lac",
        }
    }

    /// The score of each class of one row, [k]; `p` [k] are its probabilities. Equal probabilities have equal scores.
    pub fn scores(self, p: &[f64]) -> Vec<f64> {
        if self == Sets::Lac {
            return p.iter().map(|p| 1.0 - p).collect();
        }
        let mut out = vec![0.0; p.len()];
        let (mut above, mut run, mut last) = (0.0, 0.0, f64::NAN);
        for c in by_probability(p) {
            if p[c] != last {
                above += run;
                (run, last) = (0.0, p[c]);
            }
            out[c] = above;
            run += p[c];
        }
        out
    }

    /// The classes whose score is at most `q`, from the most probable on. All at infinity.
    pub fn set(self, p: &[f64], q: f64) -> Vec<usize> {
        let scores = self.scores(p);
        by_probability(p).into_iter().filter(|&c| scores[c] <= q || q == f64::INFINITY).collect()
    }
}

/// What sets would be if the probabilities were to be believed: the most probable classes until they reach `level`
/// together. No guarantee; the yardstick for the conformal ones.
pub fn believed_set(p: &[f64], level: f64) -> Vec<usize> {
    let mut sum = 0.0;
    let mut out = by_probability(p);
    let enough = out.iter().position(|&c| {
        sum += p[c];
        sum >= level
    });
    out.truncate(enough.map_or(p.len(), |i| i + 1));
    out
}

#[cfg(test)]
#[path = "conformal_tests.rs"]
mod tests;
