//! Metrics of class probabilities (MATH.md section 7). `probs` is [n, k] row-major, `y` [n] labels in 0..k. Whether a
//! row sums to one is the caller's business.

use super::sum_of;

/// The least probability `nll` takes the logarithm of: the smallest positive normal f64, 2.2e-308. A row that gave its
/// true class probability 0 costs 708.4 nats, a large number that can still be averaged.
const P_FLOOR: f64 = f64::MIN_POSITIVE;

/// The n rows of `probs` with their labels, or None where shapes or labels do not fit or there is no row.
fn labelled<'a>(probs: &'a [f64], y: &'a [usize], k: usize) -> Option<impl Iterator<Item = (&'a [f64], usize)>> {
    let fits = k > 0 && !y.is_empty() && y.len().checked_mul(k) == Some(probs.len()) && y.iter().all(|&c| c < k);
    fits.then(|| probs.chunks_exact(k).zip(y.iter().copied()))
}

fn mean_over_rows(probs: &[f64], y: &[usize], k: usize, f: impl Fn(&[f64], usize) -> f64) -> f64 {
    labelled(probs, y, k).map_or(f64::NAN, |rows| rows.map(|(p, c)| f(p, c)).sum::<f64>() / y.len() as f64)
}

/// Mean negative log-likelihood in nats: mean over rows of -log p_y, with p_y at least 2.2e-308 (the smallest positive
/// normal f64). NaN for no rows, shapes that disagree, a label >= k or a NaN probability. MATH.md section 7, NLL.
pub fn nll(probs: &[f64], y: &[usize], k: usize) -> f64 {
    // Not f64::max, which would turn NaN into the floor.
    mean_over_rows(probs, y, k, |p, c| -libm::log(if p[c] < P_FLOOR { P_FLOOR } else { p[c] }))
}

/// Share of rows, in 0..=1, whose largest probability is that of the true class; ties go to the lowest index. NaN as in
/// [`nll`]. MATH.md section 7, accuracy.
pub fn accuracy(probs: &[f64], y: &[usize], k: usize) -> f64 {
    mean_over_rows(probs, y, k, |p, c| {
        let (max, arg) = max_and_argmax(p);
        if max.is_nan() { f64::NAN } else { f64::from(arg == c) }
    })
}

/// Brier score, in 0..=2: mean over rows of the sum over classes of (p - onehot(y))^2. A class that no row has is a
/// class like any other. NaN as in [`nll`]. MATH.md section 7, Brier.
pub fn brier(probs: &[f64], y: &[usize], k: usize) -> f64 {
    mean_over_rows(probs, y, k, |p, c| p.iter().enumerate().map(|(j, &pj)| (pj - f64::from(j == c)).powi(2)).sum())
}

/// Entropy of each row in nats, [n], with 0 log 0 = 0; the order of the classes changes no bit. Empty where k = 0 or `probs` is no whole number of rows.
/// MATH.md section 7, entropy.
pub fn entropy(probs: &[f64], k: usize) -> Vec<f64> {
    rows(probs, k).map(entropy_of).collect()
}

/// The largest probability [n] and its class [n] (the lowest index among equals) of each row. A row that holds a NaN
/// has confidence NaN and class 0. Empty as in [`entropy`].
pub fn confidences(probs: &[f64], k: usize) -> (Vec<f64>, Vec<usize>) {
    rows(probs, k).map(max_and_argmax).unzip()
}

/// Uncertainty of each row in nats: `total` = `aleatoric` + `epistemic`, each [n].
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Decomposition {
    /// Entropy of the mean prediction.
    pub total: Vec<f64>,
    /// Mean entropy of the members' predictions.
    pub aleatoric: Vec<f64>,
    /// Mutual information between the label and the member: the difference, at least 0.
    pub epistemic: Vec<f64>,
}

/// Splits the predictive entropy of `s` members or samples; `member_probs` is [s, n, k]. The difference is negative only
/// by rounding and is then set to 0. Empty vectors where the length is not s * n * k or one of the three is 0.
/// MATH.md section 7, "Classification".
pub fn mutual_information(member_probs: &[f64], s: usize, n: usize, k: usize) -> Decomposition {
    let size = s.checked_mul(n).and_then(|sn| sn.checked_mul(k));
    if size != Some(member_probs.len()) || member_probs.is_empty() {
        return Decomposition::default();
    }
    let mut mean = vec![0.0; n * k];
    let mut aleatoric = vec![0.0; n];
    for member in member_probs.chunks_exact(n * k) {
        for (m, p) in mean.iter_mut().zip(member) {
            *m += p / s as f64;
        }
        for (a, p) in aleatoric.iter_mut().zip(member.chunks_exact(k)) {
            *a += entropy_of(p) / s as f64;
        }
    }
    let total = entropy(&mean, k);
    let epistemic = total.iter().zip(&aleatoric).map(|(t, a)| if t - a < 0.0 { 0.0 } else { t - a }).collect();
    Decomposition { total, aleatoric, epistemic }
}

fn rows(probs: &[f64], k: usize) -> impl Iterator<Item = &[f64]> {
    let whole = k > 0 && probs.len().is_multiple_of(k);
    (if whole { probs } else { &[] }).chunks_exact(k.max(1))
}

fn entropy_of(p: &[f64]) -> f64 {
    // Adding 0 turns the -0 of a certain row into 0.
    0.0 - sum_of(p.iter().map(|&p| if p == 0.0 { 0.0 } else { p * libm::log(p) }))
}

fn max_and_argmax(p: &[f64]) -> (f64, usize) {
    let mut best = (f64::NEG_INFINITY, 0);
    for (j, &pj) in p.iter().enumerate() {
        if pj.is_nan() {
            return (f64::NAN, 0);
        }
        if pj > best.0 {
            best = (pj, j);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rng, assert_near};
    use super::*;

    #[test]
    fn nll_is_the_mean_log_and_the_floor_keeps_it_finite() {
        assert_near(nll(&[0.5, 0.5, 0.25, 0.75], &[0, 0], 2), (libm::log(2f64) + libm::log(4f64)) / 2.0, 1e-15);
        assert_near(nll(&[0.0, 1.0], &[0], 2), -libm::log(f64::MIN_POSITIVE), 1e-15);
        assert_near(nll(&[1e-307, 1.0], &[0], 2), 307.0 * libm::log(10f64), 1e-14);
        assert_eq!(nll(&[0.0, 1.0], &[1], 2), 0.0);
    }

    #[test]
    fn accuracy_gives_a_tie_to_the_lowest_index() {
        let probs = [0.4, 0.4, 0.2, 0.1, 0.45, 0.45];
        assert_eq!(accuracy(&probs, &[0, 1], 3), 1.0);
        assert_eq!(accuracy(&probs, &[1, 2], 3), 0.0);
        assert_eq!(confidences(&probs, 3), (vec![0.4, 0.45], vec![0, 1]));
    }

    #[test]
    fn brier_with_a_class_no_row_has() {
        // Rows of classes 0 and 1 only: (0.3^2 + 0.2^2 + 0.1^2 + 0.5^2 + 0.25^2 + 0.25^2) / 2.
        let b = brier(&[0.7, 0.2, 0.1, 0.5, 0.25, 0.25], &[0, 0], 3);
        assert_near(b, (0.09 + 0.04 + 0.01 + 0.25 + 0.0625 + 0.0625) / 2.0, 1e-15);
        assert_eq!(brier(&[1.0, 0.0, 0.0], &[1], 3), 2.0);
    }

    #[test]
    fn entropy_counts_zero_probability_as_zero() {
        let h = entropy(&[1.0, 0.0, 0.0, 0.0, 0.25, 0.25, 0.25, 0.25], 4);
        assert_eq!(h[0].to_bits(), 0.0f64.to_bits());
        assert_near(h[1], libm::log(4f64), 1e-15);
    }

    #[test]
    fn a3_entropy_does_not_know_the_order_of_the_classes() {
        let mut rng = Rng::new(17);
        for k in [3, 10, 101] {
            let mut p: Vec<f64> = (0..k).map(|_| rng.uniform()).collect();
            let sum = sum_of(p.iter().copied());
            p.iter_mut().for_each(|v| *v /= sum);
            let first = entropy(&p, k)[0];
            for _ in 0..50 {
                (1..k).for_each(|i| p.swap(i, rng.below(i + 1)));
                assert_eq!(entropy(&p, k)[0].to_bits(), first.to_bits());
            }
        }
    }

    #[test]
    fn mutual_information_between_its_two_extremes() {
        // Members that agree know all they can; members certain of different classes differ by log 2.
        let agree = mutual_information(&[0.3, 0.7, 0.3, 0.7, 0.3, 0.7], 3, 1, 2);
        assert!(agree.epistemic[0] >= 0.0 && agree.epistemic[0] < 1e-15);
        let differ = mutual_information(&[1.0, 0.0, 0.0, 1.0], 2, 1, 2);
        assert_near(differ.epistemic[0], libm::log(2f64), 1e-15);
        assert_eq!(differ.aleatoric[0], 0.0);
    }

    #[test]
    fn mutual_information_is_the_mean_divergence_from_the_mean() {
        let (s, n, k) = (4, 50, 5);
        let mut rng = Rng::new(3);
        let mut p: Vec<f64> = (0..s * n * k).map(|_| rng.uniform().powi(3)).collect();
        p.chunks_exact_mut(k).for_each(|row| {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|v| *v /= sum);
        });
        let d = mutual_information(&p, s, n, k);
        for i in 0..n {
            let at = |m: usize, j: usize| p[(m * n + i) * k + j];
            let mean = |j: usize| (0..s).map(|m| at(m, j)).sum::<f64>() / s as f64;
            let kl: f64 = (0..s)
                .flat_map(|m| (0..k).map(move |j| (m, j)))
                .map(|(m, j)| at(m, j) * libm::log(at(m, j) / mean(j)) / s as f64)
                .sum();
            assert_near(d.epistemic[i], kl, 1e-13);
            assert_near(d.total[i], d.aleatoric[i] + d.epistemic[i], 1e-13);
        }
    }

    #[test]
    fn malformed_input_gives_nan_or_nothing() {
        for f in [nll, accuracy, brier] {
            assert!(f(&[], &[], 2).is_nan());
            assert!(f(&[0.5, 0.5], &[2], 2).is_nan());
            assert!(f(&[0.5, 0.5], &[0], 0).is_nan());
            assert!(f(&[0.5, 0.5], &[0, 1], 2).is_nan());
            assert!(f(&[0.5, 0.5], &[0, 1], usize::MAX).is_nan());
            assert!(f(&[f64::NAN, 0.5], &[0], 2).is_nan());
        }
        assert!(entropy(&[0.5, 0.5], 0).is_empty() && entropy(&[0.5, 0.5, 0.1], 2).is_empty());
        assert!(entropy(&[f64::NAN, 1.0], 2)[0].is_nan());
        assert!(confidences(&[f64::NAN, 1.0], 2).0[0].is_nan());
        assert_eq!(mutual_information(&[0.5], usize::MAX, 2, 2), Decomposition::default());
        assert_eq!(mutual_information(&[], 0, 3, 2), Decomposition::default());
        assert!(mutual_information(&[f64::NAN, 1.0], 1, 1, 2).epistemic[0].is_nan());
    }
}
