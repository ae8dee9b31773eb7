//! Temperature scaling of class probabilities (Guo et al. 2017, "On calibration of modern neural networks"), of the
//! averaged probabilities rather than of logits, so that one definition serves every method:
//! p_T(c) = p(c)^(1/T) / sum over j of p(j)^(1/T). T > 1 softens, T < 1 sharpens; the order of the classes stays.
//! `probs` is [n, k] row-major, `y` [n] labels in 0..k.

use serde::{Deserialize, Serialize};

/// T lies in 1/MOST..=MOST.
pub const MOST: f64 = 20.0;
/// Fewer rows than this choose no temperature.
pub const LEAST_ROWS: usize = 10;

/// Why a temperature is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The NLL has its minimum there.
    Fitted,
    /// 1: no other T lowers the NLL by more than fitting it to these rows would by chance.
    NoGain,
    /// 1: the NLL falls down to T = 1/MOST, as it does where every row is right; such rows cannot tell how far to sharpen.
    Unbounded,
    /// MOST: the NLL falls up to there, as it does where the probabilities know less than nothing.
    AtMost,
    /// 1: fewer than LEAST_ROWS rows.
    FewRows,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Temperature {
    pub value: f64,
    pub verdict: Verdict,
    /// Mean NLL of the rows in nats, at T = 1 and at T.
    pub nll_before: f64,
    pub nll_after: f64,
}

/// log p with the floor of `classification::nll`, so that a probability of 0 has a logarithm.
fn log(p: f64) -> f64 {
    // Not f64::max, which would turn NaN into the floor.
    libm::log(if p < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { p })
}

/// Sums over rows at beta = 1/T: the NLL, its first two derivatives in beta, and the squares of each row's first.
struct Sums {
    nll: f64,
    slope: f64,
    curvature: f64,
    squares: f64,
}

/// NLL(beta) = sum of logsumexp(beta log p) - beta log p_y is convex in beta: its second derivative is the variance of log p
/// under p_T.
fn sums(logs: &[f64], y: &[usize], k: usize, beta: f64) -> Sums {
    let mut s = Sums { nll: 0.0, slope: 0.0, curvature: 0.0, squares: 0.0 };
    for (l, &c) in logs.chunks_exact(k).zip(y) {
        let top = l.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for l in l {
            let (w, d) = (libm::exp(beta * (l - top)), l - top);
            sum += w;
            first += w * d;
            second += w * d * d;
        }
        let mean = first / sum;
        let slope = mean - (l[c] - top);
        s.nll += libm::log(sum) - beta * (l[c] - top);
        s.slope += slope;
        s.curvature += (second / sum - mean * mean).max(0.0);
        s.squares += slope * slope;
    }
    s
}

/// The T in 1/MOST..=MOST with the least mean NLL, or 1 where that does not help: the gain must exceed what fitting one
/// number to the same rows brings by itself, estimated by leaving out one row at a time to first order (sum of squared
/// slopes / curvature, at the minimum). None for no rows, shapes that disagree, a label >= k or a NaN.
pub fn fit(probs: &[f64], y: &[usize], k: usize) -> Option<Temperature> {
    let fits = k > 0 && !y.is_empty() && y.len().checked_mul(k) == Some(probs.len()) && y.iter().all(|&c| c < k);
    if !fits || probs.iter().any(|p| p.is_nan()) {
        return None;
    }
    let logs: Vec<f64> = probs.iter().map(|&p| log(p)).collect();
    let n = y.len() as f64;
    let at = |beta: f64| sums(&logs, y, k, beta);
    let before = at(1.0).nll;
    let found = |value: f64, verdict| {
        let after = if value == 1.0 { before } else { at(1.0 / value).nll };
        Some(Temperature { value, verdict, nll_before: before / n, nll_after: after / n })
    };
    if y.len() < LEAST_ROWS {
        return found(1.0, Verdict::FewRows);
    }
    let (low, high) = (1.0 / MOST, MOST);
    // No slope at all where every row is uniform: then no T differs from another.
    if at(high).slope < 0.0 {
        return found(1.0, Verdict::Unbounded);
    }
    let (beta, verdict) =
        if at(low).slope > 0.0 { (low, Verdict::AtMost) } else { (root(&at, low, high), Verdict::Fitted) };
    let best = at(beta);
    // At a bound no single row moves T, and there is nothing to gain by chance.
    let by_chance =
        if verdict == Verdict::Fitted && best.curvature > 0.0 { best.squares / best.curvature } else { 0.0 };
    if before - best.nll > by_chance { found(1.0 / beta, verdict) } else { found(1.0, Verdict::NoGain) }
}

/// Where the slope is zero, by Newton's method, by bisection (of the logarithm) where that leaves the bracket.
fn root(at: &impl Fn(f64) -> Sums, mut low: f64, mut high: f64) -> f64 {
    let mut beta: f64 = 1.0;
    for _ in 0..200 {
        let s = at(beta);
        if s.slope == 0.0 {
            break;
        }
        if s.slope > 0.0 {
            high = beta
        } else {
            low = beta
        }
        let newton = beta - s.slope / s.curvature;
        let next = if newton > low && newton < high { newton } else { (low * high).sqrt() };
        if (next - beta).abs() <= 1e-13 * beta {
            break;
        }
        beta = next;
    }
    beta
}

/// `probs` at temperature `t`, [n, k]; unchanged at 1.
pub fn apply(probs: &[f64], k: usize, t: f64) -> Vec<f64> {
    let mut out = probs.to_vec();
    if t == 1.0 || k == 0 {
        return out;
    }
    for row in out.chunks_exact_mut(k) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, |a, p| a.max(log(p)));
        row.iter_mut().for_each(|p| *p = libm::exp((log(*p) - top) / t));
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rng, assert_near};
    use super::super::{confidences, nll};
    use super::*;

    const K: usize = 4;

    /// n rows of probabilities with labels drawn from them, and the same probabilities at temperature 1/factor: what a
    /// network reports whose logits are `factor` times too large.
    fn drawn(seed: u64, n: usize, factor: f64) -> (Vec<f64>, Vec<usize>) {
        let mut rng = Rng::new(seed);
        let (mut probs, mut y) = (vec![], vec![]);
        for _ in 0..n {
            let z: Vec<f64> = (0..K).map(|_| 1.5 * rng.normal()).collect();
            let p: Vec<f64> = z.iter().map(|z| libm::exp(*z)).collect();
            let sum: f64 = p.iter().sum();
            let mut u = rng.uniform() * sum;
            y.push(
                (0..K - 1)
                    .position(|c| {
                        u -= p[c];
                        u < 0.0
                    })
                    .unwrap_or(K - 1),
            );
            probs.extend(apply(&p.iter().map(|p| p / sum).collect::<Vec<_>>(), K, 1.0 / factor));
        }
        (probs, y)
    }

    #[test]
    fn logits_too_large_by_a_factor_give_that_temperature() {
        for (seed, factor) in [(1, 2.5), (2, 0.4), (3, 6.0)] {
            let (probs, y) = drawn(seed, 5000, factor);
            let t = fit(&probs, &y, K).unwrap();
            // The variance of factor / T is one over the curvature in that unit, the Fisher information: 4 standard errors.
            let logs: Vec<f64> = probs.iter().map(|&p| log(p)).collect();
            let information = sums(&logs, &y, K, 1.0 / factor).curvature / (factor * factor);
            assert!((1.0 / t.value - 1.0 / factor).abs() * factor < 4.0 / information.sqrt(), "{factor}: {t:?}");
            assert_eq!(t.verdict, Verdict::Fitted);
            // The NLL is that of the metrics, and a minimum.
            assert_near(t.nll_before, nll(&probs, &y, K), 1e-12);
            assert_near(t.nll_after, nll(&apply(&probs, K, t.value), &y, K), 1e-12);
            for other in [0.99, 1.01] {
                assert!(nll(&apply(&probs, K, t.value * other), &y, K) > t.nll_after);
            }
        }
    }

    /// Labels drawn from the probabilities: T = 1 is the truth. The doubled gain of fitting one number is chi-squared with one
    /// degree of freedom, and the correction is 1 on average: T moves in P(chi2 > 2) = 16 % of draws, and the NLL of the truth
    /// rises by little.
    #[test]
    fn it_stays_at_one_where_it_does_not_help() {
        let draws = 400;
        let moved = (0..draws).filter(|&i| {
            let (probs, y) = drawn(100 + i, 200, 1.0);
            let t = fit(&probs, &y, K).unwrap();
            assert_eq!(t.verdict == Verdict::NoGain, t.value == 1.0 && t.nll_after == t.nll_before);
            t.value != 1.0
        });
        let share = moved.count() as f64 / draws as f64;
        // 4 standard errors of a share of 0.157 in 400 draws are 0.073; the correction is itself estimated, 0.02 more.
        assert!((share - 0.157).abs() < 0.093, "{share}");
        // Uniform rows: all temperatures are equal.
        let t = fit(&[0.25; 4 * 40], &[1; 40], K).unwrap();
        assert_eq!((t.value, t.verdict), (1.0, Verdict::NoGain));
    }

    #[test]
    fn bounds_are_told() {
        // Every row right: the likelihood asks for ever more confidence.
        let sure = [0.9, 0.1].repeat(50);
        let t = fit(&sure, &[0; 50], 2).unwrap();
        assert_eq!((t.value, t.verdict, t.nll_after), (1.0, Verdict::Unbounded, t.nll_before));
        // Every row wrong: for ever less.
        let t = fit(&sure, &[1; 50], 2).unwrap();
        assert_eq!((t.value, t.verdict), (MOST, Verdict::AtMost));
        assert!(t.nll_after < t.nll_before && t.nll_after > libm::log(2f64));
        let t = fit(&sure[..18], &[1; 9], 2).unwrap();
        assert_eq!((t.value, t.verdict), (1.0, Verdict::FewRows));
        // Certain and right, certain and wrong: probabilities of 0 have a floor.
        let t = fit(&[1.0, 0.0].repeat(20), &[[0; 15], [1; 15]].concat()[5..25], 2).unwrap();
        assert!(t.value > 1.0 && t.nll_after.is_finite(), "{t:?}");
    }

    #[test]
    fn rows_in_another_order_give_the_same_temperature() {
        let (probs, y) = drawn(9, 300, 2.0);
        let back: Vec<f64> = probs.chunks(K).rev().flatten().copied().collect();
        let y_back: Vec<usize> = y.iter().rev().copied().collect();
        let (a, b) = (fit(&probs, &y, K).unwrap(), fit(&back, &y_back, K).unwrap());
        // The root is found to 1e-13 of itself; sums of 300 terms in two orders differ by less than 300 ulp of their size.
        assert_near(a.value, b.value, 1e-11);
        assert_eq!(a.verdict, b.verdict);
    }

    #[test]
    fn the_order_of_classes_stays_and_ties_stay_ties() {
        let probs = [0.5, 0.2, 0.2, 0.1, 1.0, 0.0, 0.0, 0.0, 0.25, 0.25, 0.25, 0.25];
        for t in [1.0 / MOST, 0.3, 2.5, MOST] {
            let out = apply(&probs, K, t);
            assert_eq!(confidences(&out, K).1, confidences(&probs, K).1);
            assert!(out[1] == out[2] && out[3] < out[2] && out[8..].iter().all(|p| *p == 0.25), "{out:?}");
            for row in out.chunks(K) {
                assert_near(row.iter().sum(), 1.0, 1e-15);
            }
        }
        assert_eq!(apply(&probs, K, 1.0), probs);
        // By hand: squares of 0.8 and 0.2 are 0.64 and 0.04.
        assert_near(apply(&[0.8, 0.2], 2, 0.5)[0], 0.64 / 0.68, 1e-15);
    }

    #[test]
    fn malformed_input_gives_none() {
        assert!(fit(&[], &[], 2).is_none() && fit(&[0.5, 0.5], &[2], 2).is_none() && fit(&[0.5], &[0], 2).is_none());
        assert!(fit(&[f64::NAN, 0.5], &[0], 2).is_none() && fit(&[0.5, 0.5], &[0], 0).is_none());
    }
}
