use super::tests::{ALL, fitted, layer, normals};
use super::*;

/// Stored as f32, the probabilities move by less than 1e-5 of themselves.
#[test]
fn stored_posteriors_predict_the_same() {
    let (k, d) = (5, 65);
    let (f, lambda, w) = layer(30, 2000, k, d);
    // Weights of a network are f32.
    let w: Vec<f64> = w.iter().map(|w| *w as f32 as f64).collect();
    for structure in ALL {
        for prior in [PriorPrecision::Fixed(1e-3), PriorPrecision::MarginalLikelihood] {
            let a = fitted(structure, &f, &lambda, k, &w, prior);
            let tensors = a.to_tensors();
            let size: usize = tensors.iter().map(|t| 4 * t.2.len()).sum();
            assert_eq!(size as u64, bytes(structure, k, d), "{structure:?}");
            assert!(tensors.iter().all(|(_, shape, v)| shape.iter().product::<usize>() == v.len()));
            let b = Posterior::from_tensors(&tensors).unwrap();
            assert_eq!(b.structure(), structure);
            assert!((a.precision() / b.precision() - 1.0).abs() < 1e-13);
            assert!((a.log_evidence(1.0) / b.log_evidence(1.0) - 1.0).abs() < 1e-6);
            let far = normals(31, 50 * (d - 1)).into_iter().map(|v| 5.0 * v).collect::<Vec<_>>();
            for row in f.chunks(d - 1).take(50).chain(far.chunks(d - 1)) {
                let p = probit(&a.logits(row), &a.logit_variances(row));
                let q = probit(&b.logits(row), &b.logit_variances(row));
                for (p, q) in p.iter().zip(&q) {
                    assert!((p / q - 1.0).abs() < 1e-5, "{structure:?} {prior:?}: {p} became {q}");
                }
            }
        }
    }
}

#[test]
fn sizes_are_known_before_they_are_taken() {
    // 256 features and 100 classes: (25,700)^2 f32.
    let full = bytes(Structure::Full, 100, 257);
    assert!((full as f64 / (25_700f64.powi(2) * 4.0) - 1.0).abs() < 1e-3, "{full}");
    let peak = fit_bytes(Structure::Full, 100, 257);
    println!("full form of 256 features and 100 classes: {full} bytes stored, {peak} at the peak");
    assert!(peak > 4 * full);
    assert!(bytes(Structure::Kronecker, 100, 257) < 1_000_000);
    for structure in ALL {
        assert!(fit_bytes(structure, 10, 65) >= bytes(structure, 10, 65));
        // No overflow, whatever is asked for.
        let _ = (bytes(structure, 1 << 31, 1 << 31), fit_bytes(structure, 1 << 31, 1 << 31));
    }
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let (f, lambda, w) = layer(32, 20, 3, 4);
    let spoil = |v: &[f64], at: usize, x: f64| {
        let mut v = v.to_vec();
        v[at] = x;
        v
    };
    let text = |r: Result<()>| r.unwrap_err().to_string();
    for structure in ALL {
        let empty = || Curvature::new(structure, 3, 4).unwrap();
        let full = || {
            let mut c = empty();
            c.add(&f, &lambda).unwrap();
            c
        };
        let mut nan = f.clone();
        nan[3 * 5 + 1] = f32::NAN;
        assert!(text(empty().add(&nan, &lambda)).contains("features of training row 6"));
        let e = text(empty().add(&f, &spoil(&lambda, 9 * 7, f64::INFINITY)));
        assert!(e.contains("curvature of the likelihood of training row 8"), "{e}");
        assert!(text(empty().add(&f[1..], &lambda)).contains("do not make rows"));
        let fit = |c, w: &[f64], l, prior| Posterior::fit(c, w, l, prior).map(|_| ());
        let one = PriorPrecision::Fixed(1.0);
        assert!(text(fit(empty(), &w, 0.0, one)).contains("no training rows"));
        assert!(text(fit(full(), &w[1..], 0.0, one)).contains("11 last-layer weights"));
        assert!(text(fit(full(), &spoil(&w, 2, f64::NAN), 0.0, one)).contains("weights are not finite"));
        assert!(text(fit(full(), &w, f64::NAN, one)).contains("log-likelihood"));
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(text(fit(full(), &w, 0.0, PriorPrecision::Fixed(delta))).contains("prior precision"));
        }
        let negative: Vec<f64> = lambda.iter().map(|v| -v).collect();
        let mut c = empty();
        c.add(&f, &negative).unwrap();
        assert!(text(fit(c, &w, 0.0, one)).contains("no curvature"));
        let mut c = empty();
        c.add(&[f64::MAX; 3], &lambda[..9]).unwrap();
        assert!(text(fit(c, &w, 0.0, one)).contains("not finite"));
        let mut tensors = fitted(structure, &f, &lambda, 3, &w, one).to_tensors();
        tensors[3].2[0] = f32::NAN;
        assert!(text(Posterior::from_tensors(&tensors).map(|_| ())).contains("damaged"));
        tensors.truncate(3);
        assert!(text(Posterior::from_tensors(&tensors).map(|_| ())).contains("missing"));
    }
}
