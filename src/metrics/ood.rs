//! How well a score separates in-distribution rows (positive, high score) from out-of-distribution rows (negative):
//! MATH.md section 7, AUROC / AUPR / FPR95. The score is the caller's: maximum probability, or minus entropy, or minus
//! mutual information, so that in-distribution is the high side. Counts are integers; only the last division rounds.

use super::{Measure, is_same};

/// Rows that share one score, of which `pos` and `neg` are from either set.
struct Tie {
    pos: u64,
    neg: u64,
}

/// Both sets in one descending order, rows of one score together: all that the measures need. Scores are one where
/// they differ by rounding alone ([`is_same`]): which of them came first would be an accident of how they were summed.
pub struct Ranking {
    ties: Result<Vec<Tie>, &'static str>,
    n_pos: u64,
    n_neg: u64,
}

impl Ranking {
    /// Of `pos` [p] and `neg` [q]; `error` is the absolute error of a score beside its relative rounding, 0 where it is no
    /// difference of larger numbers. O(n log n).
    pub fn new(pos: &[f64], neg: &[f64], error: f64) -> Ranking {
        Ranking { ties: descending_ties(pos, neg, error), n_pos: pos.len() as u64, n_neg: neg.len() as u64 }
    }

    fn measure(&self, f: impl Fn(&[Tie], u64, u64) -> f64) -> Measure {
        match &self.ties {
            Ok(ties) => Measure::Value(f(ties, self.n_pos, self.n_neg)),
            Err(why) => Measure::Undefined(why),
        }
    }

    /// Area under the ROC curve, in 0..=1: the probability that a row of `pos` scores above a row of `neg`, ties counted
    /// one half. Undefined where a set is empty or a score is NaN. MATH.md section 7, AUROC.
    pub fn auroc(&self) -> Measure {
        self.measure(|ties, n_pos, n_neg| {
            let (mut pos_above, mut twice_wins) = (0u64, 0u128);
            for t in ties {
                twice_wins += u128::from(t.neg) * u128::from(2 * pos_above + t.pos);
                pos_above += t.pos;
            }
            twice_wins as f64 / (2 * u128::from(n_pos) * u128::from(n_neg)) as f64
        })
    }

    /// Average precision, in 0..=1: sum over thresholds of precision times the gain in recall, every distinct score one
    /// threshold (no interpolation). Undefined as `auroc`. MATH.md section 7, AUPR.
    pub fn aupr(&self) -> Measure {
        self.measure(|ties, n_pos, _| {
            let (mut hits, mut taken, mut sum) = (0u64, 0u64, 0.0);
            for t in ties {
                hits += t.pos;
                taken += t.pos + t.neg;
                sum += t.pos as f64 * (hits as f64 / taken as f64);
            }
            sum / n_pos as f64
        })
    }

    /// False positive rate, in 0..=1, at the largest threshold (rows with score >= threshold are called in-distribution)
    /// whose true positive rate is at least 0.95. Undefined as `auroc`. MATH.md section 7, FPR95.
    pub fn fpr95(&self) -> Measure {
        self.measure(|ties, n_pos, n_neg| {
            let (mut hits, mut false_hits) = (0u64, 0u64);
            for t in ties {
                hits += t.pos;
                false_hits += t.neg;
                // hits / n_pos >= 0.95, in integers: 0.95 has no exact f64.
                if u128::from(hits) * 20 >= u128::from(n_pos) * 19 {
                    break;
                }
            }
            false_hits as f64 / n_neg as f64
        })
    }

    /// The ROC curve: false and true positive rates from (0, 0) on, one point per distinct score; (0, 0) alone where
    /// `auroc` is undefined.
    pub fn curve(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut fpr, mut tpr, mut fp, mut tp) = (vec![0.0], vec![0.0], 0, 0);
        for t in self.ties.as_deref().unwrap_or_default() {
            fp += t.neg;
            tp += t.pos;
            fpr.push(fp as f64 / self.n_neg as f64);
            tpr.push(tp as f64 / self.n_pos as f64);
        }
        (fpr, tpr)
    }
}

/// The distinct scores in descending order, each with its counts.
fn descending_ties(pos: &[f64], neg: &[f64], error: f64) -> Result<Vec<Tie>, &'static str> {
    if pos.is_empty() {
        return Err("no in-distribution rows");
    }
    if neg.is_empty() {
        return Err("no out-of-distribution rows");
    }
    let mut scores: Vec<(f64, bool)> = pos.iter().map(|&s| (s, true)).chain(neg.iter().map(|&s| (s, false))).collect();
    if scores.iter().any(|(s, _)| s.is_nan()) {
        return Err("a score is NaN");
    }
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut ties: Vec<Tie> = vec![];
    // Each against the first of its tie, not its neighbour: a tie must not grow along a chain of near neighbours.
    let mut first = f64::NAN;
    for (score, is_pos) in scores {
        if !is_same(first, score, error) {
            first = score;
            ties.push(Tie { pos: 0, neg: 0 });
        }
        if let Some(t) = ties.last_mut() {
            t.pos += u64::from(is_pos);
            t.neg += u64::from(!is_pos);
        }
    }
    Ok(ties)
}

/// [`Ranking::auroc`] of scores that are no differences.
pub fn auroc(pos: &[f64], neg: &[f64]) -> Measure {
    Ranking::new(pos, neg, 0.0).auroc()
}

/// [`Ranking::aupr`] of scores that are no differences.
pub fn aupr(pos: &[f64], neg: &[f64]) -> Measure {
    Ranking::new(pos, neg, 0.0).aupr()
}

/// [`Ranking::fpr95`] of scores that are no differences.
pub fn fpr95(pos: &[f64], neg: &[f64]) -> Measure {
    Ranking::new(pos, neg, 0.0).fpr95()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rng, assert_near};
    use super::*;

    fn val(m: Measure) -> f64 {
        m.value().expect("defined")
    }

    #[test]
    fn auroc_by_hand() {
        // Six pairs: 0.9 wins twice, each 0.8 ties once and wins once: (2 + 1.5 + 1.5) / 6.
        assert_eq!(val(auroc(&[0.9, 0.8, 0.8], &[0.8, 0.1])), 5.0 / 6.0);
        assert_eq!(val(auroc(&[1.0], &[0.0])), 1.0);
        assert_eq!(val(auroc(&[0.0], &[1.0, 2.0])), 0.0);
        assert_eq!(val(auroc(&[0.0; 7], &[-0.0; 3])), 0.5);
    }

    #[test]
    fn a3_scores_that_differ_by_rounding_are_ties() {
        let near = [0.3, 0.1 + 0.2, 0.3f64.next_down()];
        for f in [auroc, aupr] {
            assert_eq!(val(f(&near, &near)), 0.5);
        }
        assert_eq!(val(auroc(&[0.1 + 0.2; 4], &[0.3; 5])), 0.5);
        assert_eq!(val(fpr95(&[0.3], &[0.3f64.next_down()])), 1.0);
        // What single precision can tell apart is apart, and so is what is a thousand units of rounding apart.
        assert_eq!(val(auroc(&[0.3 * (1.0 + 2f64.powi(-24))], &[0.3])), 1.0);
        assert_eq!(val(auroc(&[1.0], &[1.0 - 2.5e-13])), 1.0);
        // What is left of a difference of numbers near 1 is nothing.
        assert_eq!(val(auroc(&[1e-16], &[3e-17])), 1.0);
        assert_eq!(val(Ranking::new(&[1e-16], &[3e-17], super::super::ROUNDING).auroc()), 0.5);
        // Neighbours within rounding do not chain the first to the last.
        let chain: Vec<f64> = (0..1000).map(|i| 1.0 + f64::from(i) * 8.0 * f64::EPSILON).collect();
        assert!(val(auroc(&chain[500..], &chain[..500])) > 0.99);
        let (fpr, tpr) = Ranking::new(&[0.9, 0.3], &[0.1 + 0.2], 0.0).curve();
        assert_eq!((fpr, tpr), (vec![0.0, 0.0, 1.0], vec![0.0, 0.5, 1.0]));
    }

    #[test]
    fn auroc_is_its_definition_over_all_pairs() {
        let mut rng = Rng::new(11);
        for (np, nn, levels) in [(1, 1, 2), (40, 70, 5), (200, 150, 30), (90, 90, 1000)] {
            let pos: Vec<f64> = (0..np).map(|_| (1 + rng.below(levels)) as f64 / 7.0).collect();
            let neg: Vec<f64> = (0..nn).map(|_| rng.below(levels) as f64 / 7.0).collect();
            let pair = |p: f64, q: f64| {
                if p > q {
                    1.0
                } else if p == q {
                    0.5
                } else {
                    0.0
                }
            };
            let wins: f64 = pos.iter().flat_map(|&p| neg.iter().map(move |&q| pair(p, q))).sum();
            assert_eq!(val(auroc(&pos, &neg)), wins / (np * nn) as f64);
            assert_near(val(auroc(&neg, &pos)), 1.0 - val(auroc(&pos, &neg)), 1e-15);
        }
    }

    #[test]
    fn aupr_by_hand() {
        // Thresholds 0.9 (1/1, recall 1/3), 0.8 (3/4, recall 1): 1/3 + 2/3 * 3/4.
        assert_near(val(aupr(&[0.9, 0.8, 0.8], &[0.8, 0.1])), 1.0 / 3.0 + 0.5, 1e-15);
        // Every score equal: one threshold, precision = share of positives.
        assert_near(val(aupr(&[0.5; 3], &[0.5; 9])), 0.25, 1e-15);
        assert_eq!(val(aupr(&[0.9, 0.8], &[0.1])), 1.0);
    }

    #[test]
    fn aupr_is_precision_at_each_positive_when_scores_are_distinct() {
        let mut rng = Rng::new(5);
        let pos: Vec<f64> = (0..60).map(|_| rng.uniform() + 0.2).collect();
        let neg: Vec<f64> = (0..80).map(|_| rng.uniform()).collect();
        let above = |set: &[f64], t: f64| set.iter().filter(|&&s| s >= t).count() as f64;
        let sum: f64 = pos.iter().map(|&t| above(&pos, t) / (above(&pos, t) + above(&neg, t))).sum();
        assert_near(val(aupr(&pos, &neg)), sum / 60.0, 1e-14);
    }

    #[test]
    fn fpr95_takes_the_largest_threshold_that_reaches_95_percent() {
        let pos: Vec<f64> = (1..=20).map(f64::from).collect();
        // 19 of 20 positives are >= 2: exactly 0.95, so the threshold is 2, not 1.
        assert_eq!(val(fpr95(&pos, &[1.5, 2.0, 2.5, 30.0])), 0.75);
        assert_eq!(val(fpr95(&pos, &[1.0, 1.9])), 0.0);
        assert_eq!(val(fpr95(&[1.0], &[1.0])), 1.0);
    }

    #[test]
    fn an_empty_class_or_nan_is_undefined_and_infinity_is_a_score() {
        for f in [auroc, aupr, fpr95] {
            assert!(f(&[], &[1.0]).reason().is_some_and(|r| r.contains("no in-distribution")));
            assert!(f(&[1.0], &[]).reason().is_some_and(|r| r.contains("no out-of-distribution")));
            assert!(f(&[1.0, f64::NAN], &[1.0]).reason().is_some_and(|r| r.contains("NaN")));
            assert!(f(&[f64::INFINITY], &[f64::NEG_INFINITY]).value().is_some());
        }
    }

    #[test]
    fn thirty_six_thousand_scores_take_no_time() {
        let mut rng = Rng::new(1);
        let pos: Vec<f64> = (0..10_000).map(|_| rng.uniform() + 0.1).collect();
        let neg: Vec<f64> = (0..26_000).map(|_| rng.uniform()).collect();
        let start = std::time::Instant::now();
        // P(U + 0.1 > V) = 1 - 0.9^2 / 2 = 0.595; sd of the estimate is below 0.004.
        assert_near(val(auroc(&pos, &neg)), 0.595, 0.016);
        assert!(start.elapsed().as_secs_f64() < 1.0);
    }
}
