//! The trees find what a line cannot, report an honest error, and panic on nothing.

use super::super::testing::{Rng, assert_near};
use super::*;

/// y = |x1| + step of x2 + noise of sd 0.2, x3 without meaning.
fn table(n: usize, seed: u64) -> (Vec<f32>, Vec<f64>) {
    let mut rng = Rng::new(seed);
    let x: Vec<f32> = (0..3 * n).map(|_| rng.normal() as f32).collect();
    let y = x.chunks_exact(3).map(|r| {
        let truth = 2.0 * f64::from(r[0].abs()) + if r[1] > 0.3 { 1.0 } else { -1.0 };
        truth + 0.2 * rng.normal()
    });
    let y = y.collect();
    (x, y)
}

fn rows<'a>(x: &'a [f32], y: &'a [f64]) -> Rows<'a> {
    Rows { x, y, weights: &[], d: 3 }
}

#[test]
fn finds_bends_and_steps_and_knows_its_error() {
    let (x, y) = table(1500, 1);
    let (test_x, test_y) = table(1500, 2);
    for (n, validation) in [(1500, 200), (300, 0)] {
        let model = Boosting::regression(rows(&x[..3 * n], &y[..n]), validation).expect("a fit");
        let p = model.predict(&test_x, 1500).expect("predictions");
        let rmse = super::super::rmse(&p, &test_y);
        let sd = super::super::ConstantModel::fit(&test_y).sd;
        // The noise alone is 0.2; a line explains the step in part and the bend not at all.
        assert!(rmse < 0.3 * sd && rmse > 0.2, "{n}: {rmse} of {sd}");
        // An sd of 200 held-out rows is uncertain by 5 %, of 300 by 4 %; three of them, and fewer rows make worse trees.
        assert!((model.residual_sd() / rmse - 1.0).abs() < 0.16, "{n}: {} for {rmse}", model.residual_sd());
    }
}

/// Units and offsets of the target change nothing but the unit of the answer.
#[test]
fn the_targets_unit_does_not_matter() {
    let (x, y) = table(200, 3);
    let small = Boosting::regression(rows(&x, &y), 60).expect("a fit");
    let moved: Vec<f64> = y.iter().map(|y| 1e9 * (y + 1000.0)).collect();
    let large = Boosting::regression(rows(&x, &moved), 60).expect("a fit");
    let (a, b) = (small.predict(&x, 200).expect("p"), large.predict(&x, 200).expect("p"));
    for (a, b) in a.iter().zip(&b) {
        // Standardised targets agree to 1e-13; the trees' f32 gradients then differ by an ulp here and there.
        assert_near(*b, 1e9 * (a + 1000.0), 1e-5);
    }
    assert_near(large.residual_sd(), 1e9 * small.residual_sd(), 1e-3);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (x, y) = table(400, 4);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let model = Boosting::regression(rows(&x, &y), 0).expect("a fit");
            let classes: Vec<f64> = y.iter().map(|y| (y.clamp(-1.4, 1.4) + 1.5).floor()).collect();
            let sorted = Boosting::classification(rows(&x, &classes), 3, 80).expect("a fit");
            (model.predict(&x, 400).expect("p"), model.residual_sd(), sorted.probabilities(&x, 400).expect("p"))
        })
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn classes_get_probabilities_that_sum_to_one() {
    let (x, y) = table(900, 5);
    for k in [2, 3] {
        let class = |y: f64| if k == 2 { f64::from(u8::from(y > 1.0)) } else { (y.clamp(-1.4, 1.4) + 1.5).floor() };
        let labels: Vec<f64> = y.iter().map(|y| class(*y)).collect();
        let model = Boosting::classification(rows(&x[..1800], &labels[..600]), k, 100).expect("a fit");
        let p = model.probabilities(&x[1800..], 300).expect("probabilities");
        p.chunks_exact(k).for_each(|p| assert_near(p.iter().sum(), 1.0, 1e-12));
        let held: Vec<usize> = labels[600..].iter().map(|&c| c as usize).collect();
        let accuracy = super::super::accuracy(&p, &held, k);
        // Rows within the noise of a boundary, about one in eight, cannot be classified.
        assert!(accuracy > 0.8, "{k} classes: {accuracy}");
        assert!(super::super::nll(&p, &held, k) < 0.5, "{k} classes");
        assert!(model.residual_sd().is_nan());
    }
}

/// Rows of weight 0 are as good as absent: other targets there change nothing.
#[test]
fn rows_that_do_not_count_change_nothing() {
    let (x, y) = table(400, 6);
    let weights: Vec<f32> = (0..400).map(|i| if i % 4 == 0 { 0.0 } else { 1.0 }).collect();
    let fit = |y: &[f64]| {
        let model = Boosting::regression(Rows { weights: &weights, ..rows(&x, y) }, 100).expect("a fit");
        (model.predict(&x, 400).expect("p"), model.residual_sd())
    };
    let wild: Vec<f64> = y.iter().enumerate().map(|(i, y)| if i % 4 == 0 { 50.0 } else { *y }).collect();
    let ((a, sd_a), (b, sd_b)) = (fit(&y), fit(&wild));
    for (a, b) in a.iter().zip(&b) {
        assert_near(*a, *b, 1e-9);
    }
    assert_near(sd_a, sd_b, 1e-9);
}

#[test]
fn no_table_makes_it_panic() {
    let (x, y) = table(60, 7);
    let few = Boosting::regression(rows(&x[..57], &y[..19]), 5).err().expect("a refusal").to_string();
    assert!(few.contains("skipped: too few rows (19)"), "{few}");
    let constant = Boosting::regression(rows(&x, &[7.0; 60]), 10).expect("a fit");
    assert_eq!(constant.predict(&x, 60).expect("p"), [7.0; 60]);
    assert!(constant.residual_sd() > 0.0);
    let same_x = Boosting::regression(rows(&[0.5; 180], &y), 10).expect("a fit");
    assert!(same_x.predict(&x, 60).expect("p").iter().all(|p| p.is_finite()));
    // A class without rows, one with a single row, all rows of one class.
    for labels in [vec![0.0; 60], (0..60).map(|i| f64::from(u8::from(i == 3))).collect()] {
        for k in [2, 4] {
            let model = Boosting::classification(rows(&x, &labels), k, 0).expect("a fit");
            let p = model.probabilities(&x, 60).expect("p");
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && p.len() == 60 * k);
        }
    }
    let huge: Vec<f64> = y.iter().map(|y| y * 1e300).collect();
    assert!(Boosting::regression(rows(&x, &huge), 10).is_err());
    assert!(Boosting::regression(rows(&x, &[f64::NAN; 60]), 10).is_err());
    assert!(Boosting::regression(rows(&x[1..], &y), 10).is_err());
    assert!(Boosting::regression(rows(&[f32::INFINITY; 180], &y), 10).is_err());
    assert!(Boosting::classification(rows(&x, &[5.0; 60]), 2, 10).is_err());
    assert!(Boosting::regression(Rows { weights: &[0.0; 60], ..rows(&x, &y) }, 10).is_err());
    let wide: Vec<f32> = x.iter().map(|x| x * 1e30).collect();
    assert!(Boosting::regression(rows(&wide, &y), 10).is_ok());
    let model = Boosting::regression(rows(&x, &y), 10).expect("a fit");
    assert!(model.predict(&x[1..], 60).is_err() && model.predict(&[], 0).expect("none").is_empty());
}

#[test]
fn the_seconds_grow_with_the_table() {
    assert!(seconds(200, 5, 0) < 1.0 && seconds(1000, 8, 0) < 1.0);
    assert!(seconds(1_000_000, 10, 0) > 10.0 && seconds(1000, 10, 50) > seconds(1000, 10, 0) * 10.0);
}
