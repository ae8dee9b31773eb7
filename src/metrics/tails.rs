//! Tail probabilities of a count: they separate miscalibration from the chance of a few rows.

use super::normal_cdf;

/// Cells of the sum below which it is carried out exactly; beyond, the count has so many expected on either side that a
/// normal with continuity correction is as good.
const MOST_CELLS: f64 = 5e7;

/// Of independent events with these probabilities: P(at most `count` happen) and P(at least `count` happen). NaN where a
/// probability is none or `count` is more than there are events.
pub fn count_tails(p: &[f64], count: usize) -> (f64, f64) {
    let n = p.len();
    if count > n || p.iter().any(|p| !(-1e-6..=1.0 + 1e-6).contains(p)) {
        return (f64::NAN, f64::NAN);
    }
    // The rarer outcome is counted: fewer cells, and no difference of numbers near one.
    let happened = count <= n - count;
    let rare = if happened { count } else { n - count };
    let chance = |p: f64| if happened { p.clamp(0.0, 1.0) } else { 1.0 - p.clamp(0.0, 1.0) };
    let (at_most, at_least) = if n as f64 * (rare + 2) as f64 > MOST_CELLS {
        let mean: f64 = p.iter().map(|p| chance(*p)).sum();
        let sd = p.iter().map(|p| chance(*p) * (1.0 - chance(*p))).sum::<f64>().sqrt().max(1e-12);
        (normal_cdf((rare as f64 + 0.5 - mean) / sd), normal_cdf((mean - rare as f64 + 0.5) / sd))
    } else {
        // Probabilities of 0, 1, ..., `rare` and of more.
        let mut mass = vec![0.0; rare + 2];
        mass[0] = 1.0;
        for q in p.iter().map(|p| chance(*p)) {
            mass[rare + 1] += mass[rare] * q;
            for j in (1..=rare).rev() {
                mass[j] = mass[j] * (1.0 - q) + mass[j - 1] * q;
            }
            mass[0] *= 1.0 - q;
        }
        (mass[..=rare].iter().sum(), mass[rare] + mass[rare + 1])
    };
    if happened { (at_most, at_least) } else { (at_least, at_most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.binom.cdf and .sf.
    #[test]
    fn equal_events_are_binomial() {
        for (n, count, p, at_most, at_least) in [
            (20, 15, 0.9, 0.043174497, 0.988746865),
            (20, 20, 0.9, 1.0, 0.121576655),
            (200, 170, 0.9, 0.016326566, 0.990491688),
            (10, 0, 0.3, 0.0282475249, 1.0),
        ] {
            let (low, high) = count_tails(&vec![p; n], count);
            assert!((low - at_most).abs() < 1e-6 && (high - at_least).abs() < 1e-6, "{n} {count}: {low} {high}");
        }
    }

    /// Two coins of 0.5 and 0.9: both 0.45, none 0.05.
    #[test]
    fn unequal_events_by_hand_and_the_normal_where_it_takes_over() {
        let (low, high) = count_tails(&[0.5, 0.9], 1);
        assert!((low - 0.55).abs() < 1e-12 && (high - 0.95).abs() < 1e-12);
        assert!(count_tails(&[0.5], 2).0.is_nan() && count_tails(&[f64::NAN], 0).0.is_nan());
        // Just beyond the change, where the normal's error is of the order of 1e-4.
        let p: Vec<f64> = (0..12_000).map(|i| 0.2 + 0.5 * f64::from(i % 7) / 7.0).collect();
        let mean: f64 = p.iter().sum();
        let exact = |count: usize| {
            let mut mass = vec![0.0; p.len() + 1];
            mass[0] = 1.0;
            for (k, q) in p.iter().enumerate() {
                for j in (1..=k + 1).rev() {
                    mass[j] = mass[j] * (1.0 - q) + mass[j - 1] * q;
                }
                mass[0] *= 1.0 - q;
            }
            mass[..=count].iter().sum::<f64>()
        };
        let count = mean as usize - 80;
        assert!((count_tails(&p, count).0 - exact(count)).abs() < 1e-3);
    }
}
