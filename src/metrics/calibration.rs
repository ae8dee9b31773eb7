//! Calibration: expected calibration error, reliability bins, and the coverage of intervals (MATH.md section 7, ECE and
//! PICP/MPIW). `conf` [n] holds confidences, `correct` [n] whether the prediction was right.

use super::{is_same, mean_of_pairs};
use std::collections::BTreeMap;

/// One bar of a reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReliabilityBin {
    /// Equal width: the bin's edges, (low, high]. Equal mass: the least and the greatest confidence in the bin.
    pub low: f64,
    pub high: f64,
    /// Rows in the bin, at least 1.
    pub count: usize,
    /// Mean confidence of these rows.
    pub confidence: f64,
    /// Share of these rows that were correct; with equal mass a fraction of a row may count, see [`ece_equal_mass`].
    pub accuracy: f64,
}

/// Expected calibration error, in 0..=1, over `bins` bins of equal width: sum over bins of (rows in the bin / n) *
/// |mean confidence - accuracy|. Bin i holds (i/bins, (i+1)/bins], bin 0 also 0; values outside 0..=1 go to the outer
/// bins. An edge is the f64 nearest to i/bins, so with 100 bins 0.28 lies in (0.27, 0.28] although 0.28 * 100 > 28 in f64;
/// a confidence that is the edge up to rounding, as 0.1 + 0.2 is 0.3, lies on it.
/// NaN for no rows, no bins, unequal lengths or a confidence that is not finite. MATH.md section 7, ECE.
pub fn ece_equal_width(conf: &[f64], correct: &[bool], bins: usize) -> f64 {
    ece(equal_width(conf, &as_shares(correct), bins), conf.len())
}

/// Expected calibration error, in 0..=1, over `bins` bins of equal mass: rows sorted by confidence, cut at
/// round(i n / bins) with halves to even, every row in exactly one bin. NaN as in [`ece_equal_width`].
///
/// Ties: a cut may fall inside a run of rows of equal confidence, and which of them lands left of it would be an
/// accident of row order. Each row of such a run therefore counts with the mean correctness of its run. The value then
/// does not depend on row order, and with distinct confidences it is the plain one. MATH.md section 7, ECE.
pub fn ece_equal_mass(conf: &[f64], correct: &[bool], bins: usize) -> f64 {
    ece(equal_mass(conf, &as_shares(correct), bins), conf.len())
}

/// Calibration error of a binary probability, in 0..=1, equal width: `p` [n] is the probability of class 1 and stands for
/// the confidence, `y` [n] in {0, 1} stands for correctness, bins are over p. It differs from [`ece_equal_width`] of
/// max(p, 1 - p), which folds p at one half. NaN as there, and for a label above 1.
/// Source: the binary calibration error (l1 norm) of torchmetrics; bin edges as in [`ece_equal_width`].
pub fn binary_ece_equal_width(p: &[f64], y: &[usize], bins: usize) -> f64 {
    if y.iter().any(|&c| c > 1) {
        return f64::NAN;
    }
    let shares: Vec<f64> = y.iter().map(|&c| c as f64).collect();
    ece(equal_width(p, &shares, bins), p.len())
}

/// The bars of a reliability diagram in ascending confidence, binned as by [`ece_equal_mass`] or [`ece_equal_width`].
/// Bins that hold no row are left out, so there are at most min(bins, n). Empty where the error would be NaN.
pub fn reliability_bins(conf: &[f64], correct: &[bool], bins: usize, equal_mass: bool) -> Vec<ReliabilityBin> {
    let shares = as_shares(correct);
    if equal_mass { self::equal_mass(conf, &shares, bins) } else { equal_width(conf, &shares, bins) }
        .unwrap_or_default()
}

/// Share of rows, in 0..=1, with lower <= y <= upper (all [n]): PICP. NaN for no rows, unequal lengths or any NaN.
/// MATH.md section 7, PICP.
pub fn coverage(lower: &[f64], upper: &[f64], y: &[f64]) -> f64 {
    let lengths_agree = lower.len() == y.len() && upper.len() == y.len() && !y.is_empty();
    if !lengths_agree || [lower, upper, y].iter().any(|s| s.iter().any(|v| v.is_nan())) {
        return f64::NAN;
    }
    let inside = (0..y.len()).filter(|&i| lower[i] <= y[i] && y[i] <= upper[i]).count();
    inside as f64 / y.len() as f64
}

/// Mean of upper - lower (both [n]), in the target's unit: MPIW. NaN for no rows or unequal lengths.
/// MATH.md section 7, MPIW.
pub fn mean_width(lower: &[f64], upper: &[f64]) -> f64 {
    mean_of_pairs(lower, upper, |l, u| u - l)
}

/// Mean over rows of the interval score (Winkler) of the central interval of `level`, in the target's unit, smaller is
/// better: upper - lower + 2 / (1 - level) times the distance of y outside. NaN for no rows, unequal lengths or a level
/// outside of (0, 1). Source: Gneiting and Raftery 2007, section 6.2.
pub fn interval_score(lower: &[f64], upper: &[f64], y: &[f64], level: f64) -> f64 {
    if lower.len() != y.len() || !(level > 0.0 && level < 1.0) {
        return f64::NAN;
    }
    // Not f64::max, which would hide NaN.
    let beyond = |d: f64| if d < 0.0 { 0.0 } else { d };
    let outside = mean_of_pairs(lower, y, |l, y| beyond(l - y)) + mean_of_pairs(upper, y, |u, y| beyond(y - u));
    mean_width(lower, upper) + 2.0 / (1.0 - level) * outside
}

/// Mean over rows of the pinball (quantile) loss of `quantile` [n], the predicted quantile at `share` in 0..=1, in the
/// target's unit, smaller is better: share * (y - q) where y is above, (1 - share) * (q - y) below. NaN for no rows or
/// unequal lengths. Source: Koenker and Bassett 1978.
pub fn pinball(quantile: &[f64], y: &[f64], share: f64) -> f64 {
    mean_of_pairs(quantile, y, |q, y| if y >= q { share * (y - q) } else { (1.0 - share) * (q - y) })
}

/// For each level in `levels` [m] the observed share of rows, in 0..=1, whose predictive CDF at the target,
/// `cdf_values` [n], lies in the central interval of that level: |2 cdf - 1| <= level. A calibrated prediction gives
/// back the levels. A level or CDF value that is NaN, or no rows, gives NaN. MATH.md section 7, PICP at every level.
pub fn calibration_curve(levels: &[f64], cdf_values: &[f64]) -> Vec<f64> {
    if cdf_values.is_empty() || cdf_values.iter().any(|u| u.is_nan()) {
        return vec![f64::NAN; levels.len()];
    }
    let mut distance: Vec<f64> = cdf_values.iter().map(|u| 2.0 * (u - 0.5).abs()).collect();
    distance.sort_unstable_by(f64::total_cmp);
    let share = |&level: &f64| {
        let inside = distance.partition_point(|&d| d <= level);
        if level.is_nan() { f64::NAN } else { inside as f64 / distance.len() as f64 }
    };
    levels.iter().map(share).collect()
}

fn as_shares(correct: &[bool]) -> Vec<f64> {
    correct.iter().map(|&c| f64::from(c)).collect()
}

fn ece(bins: Option<Vec<ReliabilityBin>>, n: usize) -> f64 {
    let gap = |b: &ReliabilityBin| b.count as f64 / n as f64 * (b.confidence - b.accuracy).abs();
    bins.map_or(f64::NAN, |bins| bins.iter().map(gap).sum())
}

fn usable(conf: &[f64], shares: &[f64], bins: usize) -> bool {
    bins > 0 && !conf.is_empty() && conf.len() == shares.len() && conf.iter().all(|c| c.is_finite())
}

/// The bin with i/bins < conf <= (i+1)/bins, edges rounded to f64 and what is within rounding of them taken for them. The product only guesses: it may be off by one where
/// conf is an edge.
fn bin_of(conf: f64, bins: usize) -> usize {
    let edge = |i: usize| i as f64 / bins as f64;
    let is_above = |i: usize| conf > edge(i) && !is_same(conf, edge(i), 0.0);
    let mut i = ((conf * bins as f64).ceil().max(1.0) as usize - 1).min(bins - 1);
    if i > 0 && !is_above(i) {
        i -= 1;
    } else if i + 1 < bins && is_above(i + 1) {
        i += 1;
    }
    i
}

fn equal_width(conf: &[f64], shares: &[f64], bins: usize) -> Option<Vec<ReliabilityBin>> {
    if !usable(conf, shares, bins) {
        return None;
    }
    // Keyed by bin, so that memory follows the rows, not the number of bins asked for.
    let mut sums: BTreeMap<usize, (usize, f64, f64)> = BTreeMap::new();
    for (&c, &share) in conf.iter().zip(shares) {
        let s = sums.entry(bin_of(c, bins)).or_default();
        *s = (s.0 + 1, s.1 + c, s.2 + share);
    }
    let bar = |(i, (count, c, share)): (usize, (usize, f64, f64))| ReliabilityBin {
        low: i as f64 / bins as f64,
        high: (i + 1) as f64 / bins as f64,
        count,
        confidence: c / count as f64,
        accuracy: share / count as f64,
    };
    Some(sums.into_iter().map(bar).collect())
}

fn equal_mass(conf: &[f64], shares: &[f64], bins: usize) -> Option<Vec<ReliabilityBin>> {
    if !usable(conf, shares, bins) {
        return None;
    }
    let n = conf.len();
    // More bins than rows cut every row off alone, as n bins do.
    let bins = bins.min(n);
    let mut rows: Vec<(f64, f64)> = conf.iter().copied().zip(shares.iter().copied()).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    for run in rows.chunk_by_mut(|a, b| is_same(a.0, b.0, 0.0)) {
        let mean = run.iter().map(|r| r.1).sum::<f64>() / run.len() as f64;
        run.iter_mut().for_each(|r| r.1 = mean);
    }
    let cut = |i: usize| ((i as f64 * n as f64 / bins as f64).round_ties_even() as usize).min(n);
    let bar = |r: &[(f64, f64)]| {
        let count = r.len();
        let mean = |f: fn(&(f64, f64)) -> f64| r.iter().map(f).sum::<f64>() / count as f64;
        let (low, high) = (r.first()?.0, r.last()?.0);
        Some(ReliabilityBin { low, high, count, confidence: mean(|r| r.0), accuracy: mean(|r| r.1) })
    };
    Some((0..bins).filter_map(|i| bar(&rows[cut(i)..cut(i + 1)])).collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rng, assert_near};
    use super::*;

    #[test]
    fn ece_of_two_rows_by_hand() {
        // Both in (0.9, 1.0]: |0.975 - 0.5|.
        assert_near(ece_equal_width(&[0.95, 1.0], &[true, false], 10), 0.475, 1e-15);
    }

    #[test]
    fn binary_ece_of_five_rows_by_hand_under_both_conventions() {
        let (p, y) = ([1.0, 1.0, 1.0, 1.0, 0.0], [0, 0, 1, 1, 1]);
        // Bins over p: 4/5 * |1 - 1/2| + 1/5 * |0 - 1| = 0.6.
        assert_near(binary_ece_equal_width(&p, &y, 2), 0.6, 1e-15);
        // The multi-class convention happens to agree here: every confidence is 1, two of five are right, |1 - 2/5|.
        let conf: Vec<f64> = p.iter().map(|p: &f64| p.max(1.0 - p)).collect();
        let correct: Vec<bool> = p.iter().zip(y).map(|(&p, y)| usize::from(p > 0.5) == y).collect();
        assert_near(ece_equal_width(&conf, &correct, 2), 0.6, 1e-15);
        // They are not the same thing: p = 1/4 and 3/4, both of class 0, one bin.
        assert_near(binary_ece_equal_width(&[0.25, 0.75], &[0, 0], 1), 0.5, 1e-15);
        assert_near(ece_equal_width(&[0.75, 0.75], &[true, false], 1), 0.25, 1e-15);
        assert!(binary_ece_equal_width(&[0.25], &[2], 1).is_nan());
    }

    #[test]
    fn a_hundred_sure_and_wrong_rows_have_error_one() {
        for bins in [1, 7, 20, 100, 1000, usize::MAX] {
            assert_near(ece_equal_mass(&[1.0; 100], &[false; 100], bins), 1.0, 1e-14);
            assert_near(ece_equal_width(&[1.0; 100], &[false; 100], bins), 1.0, 1e-14);
        }
    }

    #[test]
    fn every_edge_belongs_to_the_bin_it_closes() {
        for bins in [1, 3, 7, 10, 15, 20, 100, 1000] {
            assert_eq!(bin_of(0.0, bins), 0);
            for i in 0..bins {
                let edge = (i + 1) as f64 / bins as f64;
                assert_eq!(bin_of(edge, bins), i, "{edge} in {bins} bins");
                assert_eq!(bin_of(edge.next_up(), bins), i, "one unit of rounding is the edge itself");
                assert_eq!(bin_of(edge * (1.0 + 1e-12), bins), (i + 1).min(bins - 1));
            }
            assert_eq!((bin_of(-3.0, bins), bin_of(3.0, bins)), (0, bins - 1));
        }
        assert!(0.28 * 100.0 > 28.0 && bin_of(0.28, 100) == 27);
    }

    #[test]
    fn equal_mass_uses_every_row_once_and_cuts_as_python_rounds() {
        let mut rng = Rng::new(8);
        for (n, bins) in [(1, 20), (19, 20), (50, 20), (203, 20), (10, 4)] {
            let conf: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let correct: Vec<bool> = (0..n).map(|_| rng.below(2) == 1).collect();
            let bars = reliability_bins(&conf, &correct, bins, true);
            assert_eq!(bars.iter().map(|b| b.count).sum::<usize>(), n);
            let right: f64 = bars.iter().map(|b| b.accuracy * b.count as f64).sum();
            assert_near(right, correct.iter().filter(|&&c| c).count() as f64, 1e-12);
            assert!(bars.windows(2).all(|w| w[0].high <= w[1].low));
        }
        // round(2.5) = 2, round(5) = 5, round(7.5) = 8.
        let conf: Vec<f64> = (0..10).map(|i| i as f64 / 10.0).collect();
        let counts: Vec<usize> = reliability_bins(&conf, &[true; 10], 4, true).iter().map(|b| b.count).collect();
        assert_eq!(counts, [2, 3, 3, 2]);
    }

    #[test]
    fn equal_mass_does_not_depend_on_the_order_of_tied_rows() {
        let mut rng = Rng::new(21);
        let mut rows: Vec<(f64, bool)> = (0..300).map(|_| (rng.below(6) as f64 / 5.0, rng.below(3) > 0)).collect();
        let value = |rows: &[(f64, bool)]| {
            let (conf, correct): (Vec<f64>, Vec<bool>) = rows.iter().copied().unzip();
            ece_equal_mass(&conf, &correct, 20)
        };
        let first = value(&rows);
        for _ in 0..20 {
            (1..rows.len()).for_each(|i| rows.swap(i, rng.below(i + 1)));
            assert_eq!(value(&rows).to_bits(), first.to_bits());
        }
        // Two bins cut one run of four, half of it right: both bins hold 0.5, whatever the order.
        assert_near(ece_equal_mass(&[0.5; 4], &[true, true, false, false], 2), 0.0, 1e-15);
    }

    #[test]
    fn the_error_is_the_gap_of_the_bars() {
        let mut rng = Rng::new(2);
        let conf: Vec<f64> = (0..500).map(|_| rng.uniform()).collect();
        let correct: Vec<bool> = conf.iter().map(|&c| rng.uniform() < c * c).collect();
        let bars = reliability_bins(&conf, &correct, 10, false);
        // The definition, one pass a bin.
        let mut want = 0.0;
        for i in 0..10 {
            let inside = |c: f64| c > i as f64 / 10.0 && c <= (i + 1) as f64 / 10.0;
            let gap: f64 = conf.iter().zip(&correct).filter(|(c, _)| inside(**c)).map(|(c, &r)| c - f64::from(r)).sum();
            want += gap.abs() / 500.0;
        }
        assert_near(ece_equal_width(&conf, &correct, 10), want, 1e-13);
        assert_eq!(bars.iter().map(|b| b.count).sum::<usize>(), 500);
        assert_eq!((bars[3].low, bars[3].high), (0.3, 0.4));
    }

    #[test]
    fn intervals() {
        assert_eq!(coverage(&[0.0, 0.0, 0.0], &[1.0, 1.0, 1.0], &[0.0, 1.0, 1.5]), 2.0 / 3.0);
        assert_eq!(mean_width(&[0.0, 1.0], &[1.0, 4.0]), 2.0);
        let uniform: Vec<f64> = (0..1000).map(|i| (i as f64 + 0.5) / 1000.0).collect();
        for (level, share) in [0.1, 0.5, 0.9, 1.0].iter().zip(calibration_curve(&[0.1, 0.5, 0.9, 1.0], &uniform)) {
            assert_near(share, *level, 1e-12);
        }
        assert_eq!(calibration_curve(&[0.0, 1.0], &[0.0, 0.5, 1.0]), [1.0 / 3.0, 1.0]);
    }

    #[test]
    fn malformed_input_gives_nan_or_nothing() {
        for f in [ece_equal_width, ece_equal_mass] {
            assert!(f(&[], &[], 10).is_nan());
            assert!(f(&[0.5], &[], 10).is_nan());
            assert!(f(&[0.5], &[true], 0).is_nan());
            assert!(f(&[0.5, f64::NAN], &[true, true], 5).is_nan());
            assert!(f(&[f64::INFINITY], &[true], 5).is_nan());
            assert!(f(&[1e300, -1e300], &[true, true], 5).is_finite());
        }
        assert!(reliability_bins(&[f64::NAN], &[true], 3, true).is_empty());
        assert!(coverage(&[0.0], &[f64::NAN], &[0.0]).is_nan() && coverage(&[], &[], &[]).is_nan());
        assert!(coverage(&[0.0], &[1.0], &[0.0, 1.0]).is_nan() && mean_width(&[], &[]).is_nan());
        assert!(calibration_curve(&[0.5], &[])[0].is_nan() && calibration_curve(&[f64::NAN], &[0.5])[0].is_nan());
    }
}
