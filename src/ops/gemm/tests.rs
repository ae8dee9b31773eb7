//! The product in all its forms against the naive one.

use super::*;

fn wave(n: usize, f: f64) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * f + 0.3).sin()).collect()
}

/// Fast against naive at sizes around every tile edge, all four transposes, in f64: |error| <= k * 2^-53 * sum|ab|.
#[test]
fn fast_equals_naive_at_awkward_sizes() {
    for m in [1, 7, 8, 9, 17] {
        for n in [1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 50, 65] {
            for k in [1, 3, 16, 50, 300] {
                for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
                    let (da, db) = (wave(m * k, 0.37), wave(k * n, 0.11));
                    let a = if ta { Mat::transposed(&da, m) } else { Mat::rows(&da, k) };
                    let b = if tb { Mat::transposed(&db, k) } else { Mat::rows(&db, n) };
                    let (mut c, mut want) = (vec![f64::NAN; m * n], vec![f64::NAN; m * n]);
                    let mut pack = vec![f64::NAN; pack_len(k, n)];
                    gemm(m, n, k, a, b, &mut c, &mut pack, &Finish::default());
                    naive(m, n, k, a, b, &mut want, &Finish::default());
                    for (x, y) in c.iter().zip(&want) {
                        assert!((x - y).abs() <= 4.0 * k as f64 * f64::EPSILON, "{m} {n} {k} {ta} {tb}: {x} {y}");
                    }
                }
            }
        }
    }
}

/// Bias, relu and gate where the tile is whole, where it is cut off, and in the forms for few columns.
#[test]
fn what_finishes_a_row_is_the_same_in_every_form() {
    for (m, n, k) in [(1, 2, 50), (32, 50, 4), (32, 2, 50), (50, 3, 32), (9, 5, 3), (17, 33, 200), (5, 70, 90)] {
        for turned in [false, true] {
            let (da, db) = (wave(m * k, 0.37), wave(k * n, 0.11));
            let a = if turned { Mat::transposed(&da, m) } else { Mat::rows(&da, k) };
            let (bias, values) = (wave(n, 0.9), wave(m * n, 0.53));
            let gate = Some(Gate { values: &values, cols: n });
            for finish in [
                Finish { bias: Some(&bias), ..Default::default() },
                Finish { bias: Some(&bias), relu: true, gate: None },
                Finish { relu: true, ..Default::default() },
                Finish { gate, ..Default::default() },
            ] {
                let (mut c, mut want) = (vec![f64::NAN; m * n], vec![f64::NAN; m * n]);
                let mut pack = vec![f64::NAN; pack_len(k, n)];
                gemm(m, n, k, a, Mat::rows(&db, n), &mut c, &mut pack, &finish);
                naive(m, n, k, a, Mat::rows(&db, n), &mut want, &finish);
                for (x, y) in c.iter().zip(&want) {
                    assert!((x - y).abs() <= 4.0 * k as f64 * f64::EPSILON, "{m} {n} {k} {turned}: {x} {y}");
                }
            }
        }
    }
}

/// A row's product does not depend on how many rows there are.
#[test]
fn a_row_is_the_same_in_any_company() {
    for (n, k) in [(1, 50), (2, 50), (4, 16), (10, 50), (50, 4), (33, 70), (2, 3000)] {
        let m = 70;
        let a: Vec<f32> = wave(m * k, 0.37).iter().map(|&x| x as f32).collect();
        let b: Vec<f32> = wave(k * n, 0.11).iter().map(|&x| x as f32).collect();
        let rows = |first: usize, m: usize| {
            let (mut c, mut pack) = (vec![f32::NAN; m * n], vec![f32::NAN; pack_len(k, n)]);
            let a = Mat::rows(&a[first * k..], k);
            gemm(m, n, k, a, Mat::rows(&b, n), &mut c, &mut pack, &Finish::default());
            c
        };
        let all = rows(0, m);
        for (first, m) in [(0, 1), (5, 16), (33, 37), (69, 1)] {
            assert_eq!(rows(first, m), all[first * n..(first + m) * n], "{m} rows of {k} x {n}");
        }
    }
}

/// B in place and adding: C = 1 + A B.
#[test]
fn in_place_and_adding() {
    for n in [16, 23, 32, 50, 64] {
        let (m, k) = (9, 5);
        let (a, b) = (wave(m * k, 0.7), wave(k * n, 0.2));
        let (mut c, mut want) = (vec![1.0; m * n], vec![0.0; m * n]);
        let runs = Runs { count: 1, len: k, run: 0, col: 1 };
        let at = Even { first: 0, stride: k };
        let b_in_place = in_place(&b, n).unwrap_or_else(|| small_panels(k, n, Mat::rows(&b, n), &mut []));
        tiles(m, 0, n, &a, at, runs, b_in_place, true, &mut c, InOrder, &Finish::default());
        naive(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut want, &Finish::default());
        for (x, y) in c.iter().zip(&want) {
            assert!((x - 1.0 - y).abs() <= 8.0 * k as f64 * f64::EPSILON);
        }
    }
    assert!(in_place(&[0.0; 33], 33).is_none());
}

#[test]
fn one_and_two_threads_agree_to_the_bit() {
    let (m, n, k) = (513, 130, 70);
    let a: Vec<f32> = wave(m * k, 0.7).iter().map(|&x| x as f32).collect();
    let b: Vec<f32> = wave(k * n, 0.2).iter().map(|&x| x as f32).collect();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let (mut c, mut pack) = (vec![0f32; m * n], vec![0f32; pack_len(k, n)]);
        pool.install(|| gemm(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut c, &mut pack, &Finish::default()));
        c
    };
    assert_eq!(run(1), run(2));
}
