use super::super::temperature;
use super::super::testing::{Rng, assert_near};
use super::*;

#[test]
fn the_rank_is_the_finite_sample_one() {
    // ceil(7 * 0.9) = 7 > 6: infinite. Nine rows are the least for 0.1, and their largest score is the threshold.
    assert_eq!(rank(6, 0.1), None);
    assert_eq!(threshold(&[1.0; 6], 0.1), f64::INFINITY);
    assert_eq!((rank(8, 0.1), rank(9, 0.1), rank(10, 0.1), rank(19, 0.1)), (None, Some(9), Some(10), Some(18)));
    assert_eq!(rank(0, 0.5), None);
    assert_eq!((least_rows(0.1), least_rows(0.05), least_rows(0.3), least_rows(0.5)), (9, 19, 3, 1));
    // All hundredths with n + 1 = 100 divide evenly, though few of them are binary numbers.
    for percent in 1..100 {
        assert_eq!(rank(99, percent as f64 / 100.0), Some(100 - percent), "{percent}");
    }
    for n in 1..300 {
        for alpha in [0.01, 0.05, 0.1, 0.2, 0.29, 0.5, 0.9] {
            // In hundredths, by whole numbers: ceil((n+1)(100-a)/100).
            let a = (alpha * 100.0_f64).round() as usize;
            let want = ((n + 1) * (100 - a)).div_ceil(100);
            assert_eq!(rank(n, alpha), (want <= n).then_some(want), "{n} {alpha}");
            assert_eq!(rank(n, alpha).is_some(), n >= least_rows(alpha), "{n} {alpha}");
        }
    }
}

#[test]
fn the_threshold_is_a_score_and_ties_and_order_do_not_matter() {
    let mut scores: Vec<f64> = (1..=19).map(f64::from).collect();
    assert_eq!(threshold(&scores, 0.1), 18.0);
    scores.reverse();
    assert_eq!(threshold(&scores, 0.1), 18.0);
    // Of 19 scores with 12 twos on top the 18th is a 2: every row scores at most that.
    let tied: Vec<f64> = [vec![1.0; 7], vec![2.0; 12]].concat();
    assert_eq!((threshold(&tied, 0.1), threshold(&tied, 0.7)), (2.0, 1.0));
    // What cannot be scored is the worst, whatever the sign of its NaN.
    assert_eq!(threshold(&[1.0, 2.0, -f64::NAN], 0.25), f64::INFINITY);
    assert_eq!(threshold(&[1.0, 2.0, f64::NAN], 0.5), 2.0);
}

#[test]
fn scores_and_sets_by_hand() {
    let p = [0.2, 0.5, 0.05, 0.25];
    let near = |got: Vec<f64>, want: [f64; 4]| got.iter().zip(want).for_each(|(g, w)| assert_near(*g, w, 1e-15));
    near(Sets::Lac.scores(&p), [0.8, 0.5, 0.95, 0.75]);
    near(Sets::Aps.scores(&p), [0.75, 0.0, 0.95, 0.5]);
    assert_eq!(Sets::Lac.set(&p, 0.76), [1, 3]);
    assert_eq!((Sets::Lac.set(&p, 0.4), Sets::Lac.set(&p, f64::INFINITY)), (vec![], vec![1, 3, 0, 2]));
    assert_eq!((Sets::Aps.set(&p, 0.0), Sets::Aps.set(&p, 0.8)), (vec![1], vec![1, 3, 0]));
    // Classes that are tied enter together.
    let tied = [0.3, 0.3, 0.2, 0.2];
    near(Sets::Aps.scores(&tied), [0.0, 0.0, 0.6, 0.6]);
    assert_eq!((Sets::Aps.set(&tied, 0.1), Sets::Aps.set(&tied, 0.7)), (vec![0, 1], vec![0, 1, 2, 3]));
    assert_eq!(
        (believed_set(&p, 0.7), believed_set(&p, 0.8), believed_set(&p, 1.5).len()),
        (vec![1, 3], vec![1, 3, 0], 4)
    );
    assert_eq!(interval(2.0, 0.5, 3.0), (0.5, 3.5));
    assert_eq!(interval(2.0, 0.0, f64::INFINITY), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!((residual(3.0, 2.0, 0.5), residual(2.0, 2.0, 0.0), residual(3.0, 2.0, 0.0)), (2.0, 0.0, f64::INFINITY));
}

/// A row of a hard problem: probabilities of a model that is too sure of itself (temperature 0.4), and a label from the truth.
fn class_row(rng: &mut Rng) -> (Vec<f64>, usize) {
    let truth: Vec<f64> = (0..6).map(|_| rng.normal().exp()).collect();
    let sum: f64 = truth.iter().sum();
    let mut u = rng.uniform() * sum;
    let label = truth.iter().position(|p| {
        u -= p;
        u < 0.0
    });
    let p: Vec<f64> = truth.iter().map(|p| p / sum).collect();
    (temperature::apply(&p, 6, 0.4), label.unwrap_or(5))
}

/// A row whose predicted sd is wrong in a way that depends on the row, with errors of heavy tails.
fn regression_row(rng: &mut Rng) -> (f64, f64, f64) {
    let (x, error) = (rng.normal(), rng.normal() / rng.uniform().max(0.01));
    (x.sin() + error * (1.0 + x.abs()), x.sin() + 0.3 * x, 0.2 + x * x)
}

/// Mean coverage over `DRAWS` draws of n calibration rows and `NEW` new ones lies where the theory puts it: between 1 - alpha
/// and 1 - alpha + 1/(n+1); exactly k/(n+1) without ties. Tolerance: 4 standard errors of the mean over draws. A draw's
/// coverage is Beta(k, n+1-k); a binomial of `NEW` rows on top, whose variance is at most k(n+1-k)/(n+1)^2 / NEW.
#[track_caller]
fn coverage_within_theory(name: &str, n: usize, alpha: f64, mut draw: impl FnMut(&mut Rng, usize) -> Vec<f64>) {
    const DRAWS: usize = 200;
    const NEW: usize = 500;
    let mut rng = Rng::new(n as u64 * 1000 + (alpha * 100.0) as u64);
    let mut covered = vec![];
    for _ in 0..DRAWS {
        let q = threshold(&draw(&mut rng, n), alpha);
        covered.push(draw(&mut rng, NEW).iter().filter(|s| **s <= q).count() as f64 / NEW as f64);
    }
    let mean = covered.iter().sum::<f64>() / DRAWS as f64;
    let want = rank(n, alpha).unwrap() as f64 / (n as f64 + 1.0);
    let beta = coverage_sd(n, alpha).unwrap().powi(2);
    let tolerance = 4.0 * ((beta + want * (1.0 - want) / NEW as f64) / DRAWS as f64).sqrt();
    assert!((mean - want).abs() < tolerance, "{name}, {n} rows, {alpha}: {mean}, theory {want} +- {tolerance}");
    assert!(want >= 1.0 - alpha - 1e-12 && want <= 1.0 - alpha + 1.0 / (n as f64 + 1.0) + 1e-12);
    // The spread is the theory's too: a chi-squared of 199 degrees has relative sd sqrt(2/199) = 0.1, and a Beta's tails are
    // lighter than a normal's; 4 of these.
    let spread = covered.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
    let theory = beta + (want * (1.0 - want) - beta) / NEW as f64;
    assert!((spread / theory - 1.0).abs() < 0.4, "{name}, {n} rows, {alpha}: variance {spread}, theory {theory}");
}

#[test]
fn coverage_is_within_its_theory_over_200_draws() {
    for (n, alpha) in [(9, 0.1), (30, 0.1), (100, 0.2), (57, 0.05)] {
        coverage_within_theory("regression", n, alpha, |rng, n| {
            let score = |(y, mean, sd)| residual(y, mean, sd);
            (0..n).map(|_| score(regression_row(rng))).collect()
        });
        for sets in Sets::ALL {
            // The score of the true class is what the set is made from: it is in the set where that is at most q.
            coverage_within_theory(sets.name(), n, alpha, |rng, n| {
                (0..n)
                    .map(|_| {
                        let (p, y) = class_row(rng);
                        let score = sets.scores(&p)[y];
                        assert!(sets.set(&p, score).contains(&y));
                        score
                    })
                    .collect()
            });
        }
    }
}

#[test]
#[should_panic(expected = "theory")]
fn the_harness_rejects_intervals_that_are_too_narrow() {
    let mut calls = 0;
    // New rows whose errors are a tenth larger than those of the calibration rows.
    coverage_within_theory("wrong", 100, 0.2, |rng, n| {
        calls += 1;
        (0..n).map(|_| rng.normal().abs() * if calls % 2 == 0 { 1.1 } else { 1.0 }).collect()
    });
}

/// Scores with ties (a model of few distinct probabilities): coverage may lie above the upper end, never below the lower.
#[test]
fn ties_only_add_coverage() {
    let mut rng = Rng::new(77);
    let mut row = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.below(4) as f64).collect() };
    let covered: Vec<f64> = (0..200)
        .map(|_| {
            let q = threshold(&row(40), 0.1);
            row(500).iter().filter(|s| **s <= q).count() as f64 / 500.0
        })
        .collect();
    let mean = covered.iter().sum::<f64>() / 200.0;
    // Of four equal values the largest is nearly always the threshold: everything is covered.
    assert!(mean >= 0.9, "{mean}");
    assert!(covered.iter().all(|c| *c == 1.0 || (c - 0.75).abs() < 0.1));
}

/// Overconfident sets under-cover; the conformal ones of the same probabilities do not, and hold a row whatever its place.
#[test]
fn a_set_depends_on_its_row_alone() {
    let mut rng = Rng::new(5);
    let rows: Vec<(Vec<f64>, usize)> = (0..2000).map(|_| class_row(&mut rng)).collect();
    let believed = rows.iter().filter(|(p, y)| believed_set(p, 0.9).contains(y)).count() as f64 / 2000.0;
    assert!(believed < 0.8, "{believed}");
    for sets in Sets::ALL {
        let scores: Vec<f64> = rows.iter().map(|(p, y)| sets.scores(p)[*y]).collect();
        let q = threshold(&scores[..1000], 0.1);
        let mut back = scores[..1000].to_vec();
        back.reverse();
        assert_eq!(q.to_bits(), threshold(&back, 0.1).to_bits());
        let covered = rows[1000..].iter().filter(|(p, y)| sets.set(p, q).contains(y)).count() as f64 / 1000.0;
        // 4 standard errors: sqrt(0.09/1000 + 0.09/1002).
        assert!((covered - 0.9).abs() < 4.0 * 0.0134, "{}: {covered}", sets.name());
        // Classes renamed: the same set under the new names.
        let p = &rows[3].0;
        let turned: Vec<f64> = (0..6).map(|c| p[(c + 2) % 6]).collect();
        let renamed: Vec<usize> = sets.set(&turned, q).iter().map(|c| (c + 2) % 6).collect();
        assert_eq!(renamed, sets.set(p, q));
    }
}
