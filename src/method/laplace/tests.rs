use super::*;
use crate::base::rng::Draw;
use crate::ops::head::{NOISE_EXP, NOISE_SOFTPLUS};
use serde_json::Value;

pub(super) const ALL: [Structure; 3] = [Structure::Kronecker, Structure::Full, Structure::Diagonal];

pub(super) fn normals(seed: u32, n: usize) -> Vec<f32> {
    let mut out = vec![0f32; n];
    Draw { seed, stream: 99, step: 0, replica: 0 }.fill_normal(0, &mut out);
    out
}

/// Largest |found - wanted| / scale, infinite where anything is NaN or missing.
fn distance(found: &[f64], wanted: &[f64]) -> f64 {
    if found.len() != wanted.len() || wanted.is_empty() {
        return f64::INFINITY;
    }
    let scale = wanted.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    found
        .iter()
        .zip(wanted)
        .map(|(f, w)| (f - w).abs())
        .map(|e| if e.is_nan() { f64::INFINITY } else { e })
        .fold(0.0, f64::max)
        / scale
}

#[track_caller]
fn close(found: &[f64], wanted: &[f64], tolerance: f64) {
    let d = distance(found, wanted);
    assert!(d <= tolerance, "{d:e} > {tolerance:e}\nfound  {found:?}\nwanted {wanted:?}");
}

pub(super) fn fitted(
    structure: Structure,
    f: &[f32],
    lambda: &[f64],
    k: usize,
    w: &[f64],
    prior: PriorPrecision,
) -> Posterior {
    let mut curvature = Curvature::new(structure, k, w.len() / k).unwrap();
    curvature.add(f, lambda).unwrap();
    Posterior::fit(curvature, w, -10.0, prior).unwrap()
}

/// Features, softmax curvatures and weights of a random layer; features as ReLU leaves them: positive and correlated.
pub(super) fn layer(seed: u32, n: usize, k: usize, d: usize) -> (Vec<f32>, Vec<f64>, Vec<f64>) {
    let f: Vec<f32> = normals(seed, n * (d - 1)).into_iter().map(|v| (v + 1.0).max(0.0)).collect();
    let w: Vec<f64> = normals(seed + 1, k * d).into_iter().map(|v| 0.3 * v as f64).collect();
    let mut lambda = vec![0.0; n * k * k];
    for (f, lambda) in f.chunks(d - 1).zip(lambda.chunks_mut(k * k)) {
        let z: Vec<f64> =
            w.chunks(d).map(|w| w[d - 1] + f.iter().zip(w).map(|(f, w)| *f as f64 * w).sum::<f64>()).collect();
        softmax_lambda(&z, lambda);
    }
    (f, lambda, w)
}

fn golden() -> Value {
    let rows: Value = serde_json::from_str(include_str!("../../../tests/golden/methods.json")).unwrap();
    let rows = rows.as_array().or_else(|| rows["rows"].as_array()).unwrap().clone();
    rows.into_iter().find(|r| r["kind"] == "laplace_last_layer").unwrap()
}

fn array(v: &Value) -> Vec<f64> {
    v["data"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Both programs lose some hundred units of 1e-16.
#[test]
fn numbers_of_another_program() {
    let row = golden();
    let (k, d) = (3, 5);
    let plain = |v: &Value| -> Vec<f64> { array(v).chunks(d).flat_map(|f| f[..d - 1].to_vec()).collect() };
    let (f, test, w) = (plain(&row["features_with_one"]), plain(&row["test_features_with_one"]), array(&row["W"]));
    let (mut lambda, mut log_likelihood) = (vec![0.0; 30 * k * k], 0.0);
    for (i, f) in f.chunks(d - 1).enumerate() {
        let z: Vec<f64> = w.chunks(d).map(|w| w[d - 1] + f.iter().zip(w).map(|(f, w)| f * w).sum::<f64>()).collect();
        softmax_lambda(&z, &mut lambda[i * k * k..(i + 1) * k * k]);
        log_likelihood += softmax(z.iter().copied())[row["y"][i].as_u64().unwrap() as usize].ln();
    }
    let fit = |structure, delta| {
        let mut curvature = Curvature::new(structure, k, d).unwrap();
        // In two chunks.
        curvature.add(&f[..7 * (d - 1)], &lambda[..7 * k * k]).unwrap();
        curvature.add(&f[7 * (d - 1)..], &lambda[7 * k * k..]).unwrap();
        Posterior::fit(curvature, &w, log_likelihood, PriorPrecision::Fixed(delta)).unwrap()
    };
    let mut cases = 0;
    for case in row["cases"].as_array().unwrap() {
        let delta = case["prior_precision"].as_f64().unwrap();
        let number = |name: &str| [case[name].as_f64().unwrap()];
        let (kron, full) = (fit(Structure::Kronecker, delta), fit(Structure::Full, delta));
        close(&[kron.log_evidence(delta)], &number("kron_log_marglik"), 1e-12);
        close(&[full.log_evidence(delta)], &number("full_log_marglik"), 1e-12);
        let variances = |p: &Posterior| -> Vec<f64> { test.chunks(d - 1).flat_map(|f| p.logit_variances(f)).collect() };
        close(&variances(&kron), &array(&case["kron_logit_variance"]), 1e-12);
        close(&variances(&full), &array(&case["full_logit_variance"]), 1e-12);
        let probs: Vec<f64> =
            test.chunks(d - 1).flat_map(|f| probit(&kron.logits(f), &kron.logit_variances(f))).collect();
        close(&probs, &array(&case["kron_probit_probs"]), 1e-12);
        // The comparison rejects the evidence of another precision and the variances of the other form.
        assert!(distance(&[kron.log_evidence(1.001 * delta)], &number("kron_log_marglik")) > 1e-6);
        assert!(distance(&variances(&kron), &array(&case["full_logit_variance"])) > 1e-3);
        cases += 1;
    }
    assert_eq!(cases, 2);
}

/// Solves A x = b and gives log det A, by Cholesky written out: a witness that shares nothing with the code under test.
fn solve(mut a: Vec<f64>, n: usize, b: &[f64]) -> (Vec<f64>, f64) {
    let mut x = b.to_vec();
    for j in 0..n {
        for i in j..n {
            let s: f64 = (0..j).map(|t| a[i * n + t] * a[j * n + t]).sum();
            a[i * n + j] = if i == j { (a[j * n + j] - s).sqrt() } else { (a[i * n + j] - s) / a[j * n + j] };
        }
    }
    for i in 0..n {
        x[i] = (x[i] - (0..i).map(|t| a[i * n + t] * x[t]).sum::<f64>()) / a[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - (i + 1..n).map(|t| a[t * n + i] * x[t]).sum::<f64>()) / a[i * n + i];
    }
    (x, (0..n).map(|i| 2.0 * a[i * n + i].ln()).sum())
}

/// y = w' f + noise of variance 0.3, 25 rows: the last layer is Bayesian linear regression, whose posterior and evidence
/// have closed forms that never see H. Evidence: log N(y | 0, 0.3 I + F F' / delta).
#[test]
fn linear_regression_is_exact() {
    let (n, d, noise) = (25, 4, 0.3);
    let f = normals(5, n * (d - 1));
    let one =
        |i: usize| -> Vec<f64> { f[i * (d - 1)..(i + 1) * (d - 1)].iter().map(|v| *v as f64).chain([1.0]).collect() };
    let e = normals(6, n);
    let y: Vec<f64> =
        (0..n).map(|i| spectrum::dot(&one(i), &[1.0, -0.5, 0.25, 0.75]) + noise.sqrt() * e[i] as f64).collect();
    let precision = |delta: f64| {
        let mut a = vec![0.0; d * d];
        for f in (0..n).map(one) {
            for i in 0..d * d {
                a[i] += f[i / d] * f[i % d] / noise;
            }
        }
        (0..d).for_each(|i| a[i * d + i] += delta);
        a
    };
    let map = |delta: f64| {
        let mut b = vec![0.0; d];
        for (f, y) in (0..n).map(one).zip(&y) {
            b.iter_mut().zip(f).for_each(|(b, f)| *b += f * y / noise);
        }
        solve(precision(delta), d, &b).0
    };
    let exact_evidence = |delta: f64| {
        let mut cov = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                cov[i * n + j] = spectrum::dot(&one(i), &one(j)) / delta + if i == j { noise } else { 0.0 };
            }
        }
        let (x, logdet) = solve(cov, n, &y);
        -0.5 * (spectrum::dot(&x, &y) + logdet + n as f64 * (2.0 * std::f64::consts::PI).ln())
    };
    let fit = |w: &[f64], structure: Structure, prior: PriorPrecision| {
        let mut curvature = Curvature::new(structure, 1, d).unwrap();
        curvature.add(&f, &vec![1.0 / noise; n]).unwrap();
        let log_p = |i: usize| {
            -0.5 * ((y[i] - spectrum::dot(w, &one(i))).powi(2) / noise + (2.0 * std::f64::consts::PI * noise).ln())
        };
        Posterior::fit(curvature, w, (0..n).map(log_p).sum(), prior).unwrap()
    };
    // With one output and one noise variance Kronecker is the full form.
    for structure in [Structure::Kronecker, Structure::Full] {
        for delta in [0.01, 1.0, 30.0] {
            let w = map(delta);
            let p = fit(&w, structure, PriorPrecision::Fixed(delta));
            close(&[p.log_evidence(delta)], &[exact_evidence(delta)], 1e-11);
            for x in [[0.0f32, 0.0, 0.0], [1.0, -2.0, 0.5], [10.0, 0.0, 3.0]] {
                let f: Vec<f64> = x.iter().map(|v| *v as f64).chain([1.0]).collect();
                let variance = spectrum::dot(&f, &solve(precision(delta), d, &f).0);
                close(&p.logit_variances(&x), &[variance], 1e-11);
                close(&p.logit_covariance(&x), &[variance], 1e-11);
                close(&p.logits(&x), &[spectrum::dot(&w, &f)], 1e-11);
            }
        }
        // MAP at delta, then the best delta for that MAP: the fixed point is the maximum of the exact evidence, because
        // the MAP is where the evidence does not move with W. It contracts by a factor well below one each time.
        let mut delta = 1.0;
        for _ in 0..200 {
            delta = fit(&map(delta), structure, PriorPrecision::MarginalLikelihood).precision();
        }
        let grid = |i: i32| delta * (0.02 * i as f64).exp();
        let best = (-200..=200).max_by(|a, b| exact_evidence(grid(*a)).total_cmp(&exact_evidence(grid(*b)))).unwrap();
        assert_eq!(best, 0, "the exact evidence is largest at {}, not at {delta}", grid(best));
        // Between grid points too: no slope. The evidence, of size 30, holds 1e-13 of noise, so its difference 1e-9.
        let slope = (exact_evidence(delta * 1.0001) - exact_evidence(delta / 1.0001)) / 2e-4;
        assert!(slope.abs() < 1e-6, "slope {slope:e}");
    }
}

#[test]
fn the_chosen_precision_has_the_largest_evidence() {
    let (f, lambda, w) = layer(20, 300, 4, 6);
    for structure in ALL {
        let p = fitted(structure, &f, &lambda, 4, &w, PriorPrecision::MarginalLikelihood);
        assert_eq!(p.at_bound(), None);
        let best = p.log_evidence(p.precision());
        for i in 1..4000 {
            for sign in [-1.0, 1.0] {
                let other = p.precision() * (sign * 0.005 * i as f64).exp();
                assert!(p.log_evidence(other) <= best + 1e-12 * best.abs(), "{structure:?} at {other}");
            }
        }
        assert!(p.log_evidence(p.precision() * 1.2) < best && p.log_evidence(p.precision() / 1.2) < best);
    }
}

#[test]
fn a_precision_at_the_bound_is_said() {
    let (f, lambda, w) = layer(21, 50, 3, 4);
    let zero = vec![0.0; w.len()];
    let huge: Vec<f64> = w.iter().map(|w| 1e6 * w).collect();
    for structure in ALL {
        let best = |w: &[f64]| fitted(structure, &f, &lambda, 3, w, PriorPrecision::MarginalLikelihood).at_bound();
        assert_eq!(best(&zero), Some(PRECISIONS.1));
        assert_eq!(best(&huge), Some(PRECISIONS.0));
    }
}

/// The same Lambda in every row: sum Lambda (x) f f' = (n Lambda) (x) (mean f f').
#[test]
fn kronecker_is_full_where_lambda_is_constant() {
    let (f, lambda, w) = layer(22, 40, 3, 5);
    let same = lambda[..9].repeat(40);
    let at = PriorPrecision::Fixed(0.7);
    let (a, b) = (fitted(Structure::Kronecker, &f, &same, 3, &w, at), fitted(Structure::Full, &f, &same, 3, &w, at));
    close(&[a.log_evidence(2.0)], &[b.log_evidence(2.0)], 1e-12);
    close(&a.logit_covariance(&f[..4]), &b.logit_covariance(&f[..4]), 1e-11);
    // With the rows' own curvatures they differ.
    let (a, b) =
        (fitted(Structure::Kronecker, &f, &lambda, 3, &w, at), fitted(Structure::Full, &f, &lambda, 3, &w, at));
    assert!(distance(&a.logit_covariance(&f[..4]), &b.logit_covariance(&f[..4])) > 1e-3);
}

/// Regression's Lambda is diagonal: H falls apart into one matrix for m and one for l, each of a layer with one output.
#[test]
fn full_falls_apart_with_diagonal_lambda() {
    let (n, d) = (60, 4);
    let (f, _, w) = layer(23, n, 2, d);
    let l = normals(24, n);
    let lambda: Vec<f64> = l.iter().flat_map(|l| gaussian_lambda(NOISE_SOFTPLUS, *l as f64)).collect();
    let at = PriorPrecision::Fixed(0.2);
    let both = fitted(Structure::Full, &f, &lambda, 2, &w, at);
    let row = &f[..d - 1];
    let alone: Vec<f64> = (0..2)
        .flat_map(|o| {
            let one: Vec<f64> = lambda.chunks(4).map(|l| l[3 * o]).collect();
            fitted(Structure::Full, &f, &one, 1, &w[o * d..(o + 1) * d], at).logit_variances(row)
        })
        .collect();
    close(&both.logit_variances(row), &alone, 1e-12);
    close(&both.logit_covariance(row), &[alone[0], 0.0, 0.0, alone[1]], 1e-12);
}

/// Only the bias: H is diagonal where Lambda is, and the diagonal form is exact.
#[test]
fn diagonal_is_full_where_h_is_diagonal() {
    let lambda: Vec<f64> = normals(25, 30).iter().flat_map(|l| gaussian_lambda(NOISE_EXP, *l as f64)).collect();
    let at = PriorPrecision::Fixed(1.5);
    let fit = |structure| fitted(structure, &[], &lambda, 2, &[0.5, -0.25], at);
    let (a, b) = (fit(Structure::Diagonal), fit(Structure::Full));
    let none: [f32; 0] = [];
    close(&a.logit_variances(&none), &b.logit_variances(&none), 1e-13);
    close(&[a.log_evidence(1.5)], &[b.log_evidence(1.5)], 1e-13);
    // sum 1/g + delta, by hand.
    let sum: f64 = lambda.chunks(4).map(|l| l[0]).sum();
    close(&a.logit_variances(&none)[..1], &[1.0 / (sum + 1.5)], 1e-13);
}

/// Mean and covariance of 20,000 samples: an entry of the sample covariance has the variance
/// (S_ii S_jj + S_ij^2) / n; 5.5 of its standard deviations are exceeded once in 26 million entries.
#[test]
fn samples_have_the_posterior_covariance() {
    let (n, k, d) = (20_000, 3, 4);
    let (f, lambda, w) = layer(26, 80, k, d);
    let p = k * d;
    for structure in ALL {
        let posterior = fitted(structure, &f, &lambda, k, &w, PriorPrecision::Fixed(0.5));
        // S as the predictions use it: the covariance of the outputs W f at three rows f.
        let rows: Vec<&[f32]> = f.chunks(d - 1).take(3).collect();
        let eps = normals(27, n * p);
        let mut sums = vec![(vec![0.0; k], vec![0.0; k * k]); rows.len()];
        for eps in eps.chunks(p) {
            let sample = posterior.sample_weights(eps);
            for (row, (first, second)) in rows.iter().zip(&mut sums) {
                let f: Vec<f64> = row.iter().map(|v| *v as f64).chain([1.0]).collect();
                let z: Vec<f64> = (0..k)
                    .map(|o| spectrum::dot(&sample[o * d..(o + 1) * d], &f) - spectrum::dot(&w[o * d..(o + 1) * d], &f))
                    .collect();
                for o in 0..k {
                    first[o] += z[o] / n as f64;
                    (0..k).for_each(|q| second[o * k + q] += z[o] * z[q] / n as f64);
                }
            }
        }
        for (row, (first, second)) in rows.iter().zip(&sums) {
            let s = posterior.logit_covariance(row);
            close(&(0..k).map(|o| s[o * k + o]).collect::<Vec<_>>(), &posterior.logit_variances(row), 1e-12);
            for o in 0..k {
                assert!(first[o].abs() < 5.5 * (s[o * k + o] / n as f64).sqrt());
                for q in 0..k {
                    let se = ((s[o * k + o] * s[q * k + q] + s[o * k + q].powi(2)) / n as f64).sqrt();
                    let error = (second[o * k + q] - s[o * k + q]).abs();
                    assert!(error < 5.5 * se, "{structure:?} ({o}, {q}): {error:e}, standard error {se:e}");
                }
            }
        }
    }
}

/// Rows given twice double H to the last bit; in another order, to rounding.
#[test]
fn duplicates_double_the_curvature() {
    let (f, lambda, w) = layer(28, 200, 3, 6);
    for structure in ALL {
        let fit = |times: usize| {
            let mut c = Curvature::new(structure, 3, 6).unwrap();
            (0..times).for_each(|_| c.add(&f, &lambda).unwrap());
            Posterior::fit(c, &w, -1.0, PriorPrecision::Fixed(1.0)).unwrap()
        };
        let mut once = Curvature::new(structure, 3, 6).unwrap();
        once.add(&f, &lambda).unwrap();
        let mut twice = once.clone();
        twice.add(&f, &lambda).unwrap();
        let (a, b) = (once.sums(), twice.sums());
        assert_eq!(a.iter().map(|v| 2.0 * v).collect::<Vec<_>>(), b, "{structure:?}");
        // H + delta I with both doubled is the same matrix twice: half the variance.
        let (p, mut q) = (fit(1), fit(2));
        q.set_precision(2.0).unwrap();
        let half: Vec<f64> = p.logit_variances(&f[..5]).iter().map(|v| v / 2.0).collect();
        close(&q.logit_variances(&f[..5]), &half, 1e-13);
        let each_twice = |v: &[f64], n: usize| v.chunks(n).flat_map(|r| [r, r].concat()).collect::<Vec<_>>();
        let f64s: Vec<f64> = f.iter().map(|v| *v as f64).collect();
        let mut mixed = Curvature::new(structure, 3, 6).unwrap();
        mixed.add(&each_twice(&f64s, 5), &each_twice(&lambda, 9)).unwrap();
        close(&mixed.sums(), &b, 1e-13);
    }
}

/// More rows than a block, on one thread and on several.
#[test]
fn threads_and_chunks_change_nothing() {
    let (f, lambda, _) = layer(29, 1300, 3, 6);
    for structure in ALL {
        let sum = |threads: usize, rows: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut c = Curvature::new(structure, 3, 6).unwrap();
                for (f, l) in f.chunks(rows * 5).zip(lambda.chunks(rows * 9)) {
                    c.add(f, l).unwrap();
                }
                c.sums()
            })
        };
        assert_eq!(sum(1, 1300), sum(4, 1300));
        close(&sum(1, 7), &sum(1, 1300), 1e-12);
    }
}

/// Against second differences of the losses: Lambda of softmax exactly; of the Gaussian as an expectation over y, by the
/// squared first derivatives at y = m +- sd t of a three-point rule that is exact to degree 5.
#[test]
fn curvatures_are_those_of_the_losses() {
    let z = [0.3, -1.2, 0.8];
    let mut lambda = [0.0; 9];
    softmax_lambda(&z, &mut lambda);
    let h = 1e-5;
    for a in 0..3 {
        let grad = |shift: f64| {
            let mut at = z;
            at[a] += shift;
            let mut dz = [0.0; 3];
            crate::ops::head::softmax_loss(&at, 1, 1.0, &mut dz);
            dz
        };
        let (up, down) = (grad(h), grad(-h));
        // Truncation h^2/6 and cancellation 1e-16/h: both below 1e-10.
        (0..3).for_each(|b| assert!((lambda[a * 3 + b] - (up[b] - down[b]) / (2.0 * h)).abs() < 1e-9));
    }
    for (link, l) in [(NOISE_EXP, 0.4), (NOISE_EXP, -11.0), (NOISE_SOFTPLUS, -1.0), (NOISE_SOFTPLUS, -9.0)] {
        let g = noise_variance(link, l).0;
        let mut fisher = [0.0; 4];
        for (t, weight) in [(-(3f64.sqrt()), 1.0 / 6.0), (0.0, 2.0 / 3.0), (3f64.sqrt(), 1.0 / 6.0)] {
            let (_, dm, dl) = crate::ops::head::gaussian_loss(link, 1.0, l, 1.0 + g.sqrt() * t);
            let s = [dm * dm, dm * dl, dm * dl, dl * dl];
            (0..4).for_each(|i| fisher[i] += weight * s[i]);
        }
        close(&gaussian_lambda(link, l), &fisher, 1e-13);
        assert_eq!(gaussian_lambda(link, l)[3] == 0.0, l < -8.0);
    }
}

/// f' S_oo f as sums of squares, for another program: a triangle of 6 columns and products of eigenvectors lose little.
#[test]
fn variances_are_sums_of_squares() {
    let (n, k, d) = (40, 3, 6);
    let (f, lambda, w) = layer(5, n, k, d);
    for structure in ALL {
        let posterior = fitted(structure, &f, &lambda, k, &w, PriorPrecision::Fixed(0.3));
        let form = posterior.variance_form();
        assert!(form.weights.iter().all(|w| *w >= 0.0) && form.directions.len() == d * form.places);
        for f in f.chunks(d - 1) {
            let with_one: Vec<f64> = f.iter().map(|v| f64::from(*v)).chain([1.0]).collect();
            let along = |j: usize| -> f64 { (0..d).map(|i| with_one[i] * form.directions[i * form.places + j]).sum() };
            let variance = |o: usize| (0..form.places).map(|j| along(j).powi(2) * form.weights[j * k + o]).sum::<f64>();
            close(&(0..k).map(variance).collect::<Vec<_>>(), &posterior.logit_variances(f), 1e-11);
        }
    }
}
