//! Tests of the mixture against sums and quadrature, never against itself.

use super::super::testing::{Rng, assert_near};
use super::*;

const ONE: Mixture = Mixture { weights: &[1.0], means: &[1.5], vars: &[4.0] };
const THREE: Mixture = Mixture { weights: &[0.5, 0.3, 0.2], means: &[-1.0, 0.5, 4.0], vars: &[0.25, 1.0, 2.25] };
const REPEATED: Mixture = Mixture { weights: &[0.25; 4], means: &[2.0; 4], vars: &[0.01; 4] };
const ALL: [Mixture; 3] = [ONE, THREE, REPEATED];

/// Composite Simpson with 2^14 steps: its error, h^4 / 180 * length * max |f''''|, is below 1e-11 for the smooth
/// functions here on stretches of at most 40 standard deviations.
fn integral(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let steps = 1 << 14;
    let h = (to - from) / f64::from(steps);
    let weight = |i: i32| {
        if i == 0 || i == steps {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    (0..=steps).map(|i| weight(i) * f(from + h * f64::from(i))).sum::<f64>() * h / 3.0
}

/// Beyond these lies less than 1e-20 of the mass.
fn range(m: &Mixture) -> (f64, f64) {
    let edge = |sign: f64| m.parts().map(move |(_, mean, sd)| mean + sign * 10.0 * sd);
    (edge(-1.0).fold(f64::INFINITY, f64::min), edge(1.0).fold(f64::NEG_INFINITY, f64::max))
}

fn density(m: &Mixture, y: f64) -> f64 {
    let part = |i: usize| {
        let (mean, v) = (m.means[i], m.vars[i]);
        m.weights[i] * (-(y - mean).powi(2) / (2.0 * v)).exp() / (2.0 * std::f64::consts::PI * v).sqrt()
    };
    (0..m.weights.len()).map(part).sum()
}

#[test]
fn log_density_is_the_log_of_the_sum() {
    for m in ALL {
        for y in [-3.0, 0.0, 1.7, 2.0, 4.5] {
            let direct = density(&m, y);
            if direct > 1e-250 {
                assert_near(m.log_density(y), direct.ln(), 1e-13);
            }
        }
    }
    // Where the density underflows: log N(200; 1.5, 4) exactly.
    assert_near(ONE.log_density(200.0), -0.5 * 198.5f64.powi(2) / 4.0 - 0.5 * 4f64.ln() - HALF_LN_TWO_PI, 1e-14);
    assert!(THREE.log_density(1e4).is_finite());
}

#[test]
fn moments_and_cdf_by_quadrature() {
    for m in ALL {
        let (lo, hi) = range(&m);
        let mean = integral(lo, hi, |y| y * density(&m, y));
        assert_near(integral(lo, hi, |y| density(&m, y)), 1.0, 1e-10);
        assert_near(m.mean(), mean, 1e-10);
        assert_near(m.variance(), integral(lo, hi, |y| (y - mean).powi(2) * density(&m, y)), 1e-10);
        for y in [-1.5, 0.3, 1.95, 3.0] {
            assert_near(m.cdf(y), if y < lo { 0.0 } else { integral(lo, y, |t| density(&m, t)) }, 1e-10);
        }
    }
}

#[test]
fn crps_by_integrating_the_squared_distance_of_cdfs() {
    for m in ALL {
        let (lo, hi) = range(&m);
        for y in [-4.0, -1.0, 0.7, 2.02, 9.0] {
            let below = integral(lo.min(y), y, |t| m.cdf(t).powi(2));
            let above = integral(y, hi.max(y), |t| (1.0 - m.cdf(t)).powi(2));
            assert_near(m.crps(y), below + above, 1e-9);
        }
    }
}

#[test]
fn crps_of_one_normal_and_of_points() {
    // Gneiting & Raftery 2007: at y = mean, sd (sqrt 2 - 1) / sqrt pi.
    let want = 2.0 * (2f64.sqrt() - 1.0) / std::f64::consts::PI.sqrt();
    assert_near(ONE.crps(1.5), want, 1e-14);
    // Point masses: E|X - y| - 1/2 E|X - X'|.
    let points = Mixture { weights: &[0.5, 0.5], means: &[0.0, 2.0], vars: &[0.0, 0.0] };
    assert_near(points.crps(3.0), 2.0 - 0.5, 1e-14);
    let sure = Mixture { weights: &[1.0], means: &[1e8], vars: &[0.0] };
    assert_eq!((sure.crps(1e8), sure.crps(1e8 + 1.0)), (0.0, 1.0));
}

#[test]
fn quantile_of_one_normal_is_exact() {
    for q in [1e-200, 0.025, 0.5, 0.975] {
        assert_near(ONE.quantile(q), 1.5 + 2.0 * normal_quantile(q), 1e-12);
        assert_near(REPEATED.quantile(q), 2.0 + 0.1 * normal_quantile(q), 1e-12);
    }
}

#[test]
fn quantile_inverts_the_cdf() {
    for i in -60..=120 {
        let y = f64::from(i) / 10.0;
        // A CDF near 1 knows y only to eps / density; y is demanded where that is below the tolerance.
        if density(&THREE, y) > 1e-4 || y < 0.0 {
            assert_near(THREE.quantile(THREE.cdf(y)), y, 1e-10);
        }
    }
}

#[test]
fn quantile_of_random_mixtures_of_any_scale() {
    let mut rng = Rng::new(17);
    for _ in 0..400 {
        let c = 1 + rng.below(12);
        let unit = 10f64.powf(20.0 * rng.uniform() - 10.0);
        let mut w: Vec<f64> = (0..c).map(|_| rng.uniform() + 1e-3).collect();
        let total: f64 = w.iter().sum();
        w.iter_mut().for_each(|w| *w /= total);
        let means: Vec<f64> = (0..c).map(|_| unit * 5.0 * rng.normal()).collect();
        let vars: Vec<f64> = (0..c).map(|_| (unit * 10f64.powf(4.0 * rng.uniform() - 3.0)).powi(2)).collect();
        let m = Mixture { weights: &w, means: &means, vars: &vars };
        for q in [1e-12, 0.005, 0.1, 0.5, rng.uniform(), 0.9, 0.995] {
            let y = m.quantile(q);
            // The root lies within the promised distance: the CDF passes q between y - d and y + d.
            let d = 1e-10 * y.abs() + 1e-13 * unit;
            let slack = 4.0 * f64::EPSILON * c as f64;
            assert!(m.cdf(y - d) <= q + slack && m.cdf(y + d) >= q - slack, "c {c} unit {unit} q {q} y {y}");
        }
    }
}

#[test]
fn quantile_of_a_flat_or_spiked_cdf_stays_put() {
    let apart = Mixture { weights: &[0.5, 0.5], means: &[-1e6, 1e6], vars: &[1.0, 1.0] };
    let middle = apart.quantile(0.5);
    assert!(middle > -1e6 && middle < 1e6);
    assert_near(apart.quantile(0.25), -1e6, 1e-10);
    // A spike of half the mass inside a wide normal: a quarter to three quarters all lie in it.
    let spike = Mixture { weights: &[0.5, 0.5], means: &[3.0, 3.0], vars: &[1e-24, 1.0] };
    assert_near(spike.quantile(0.6), 3.0, 1e-11);
    let point = Mixture { weights: &[0.5, 0.5], means: &[3.0, 3.5], vars: &[0.0, 1.0] };
    assert_near(point.quantile(0.5), 3.0, 1e-10);
}

#[test]
fn malformed_mixtures_answer_nan() {
    let bad: [(&[f64], &[f64], &[f64]); 6] = [
        (&[], &[], &[]),
        (&[1.0], &[0.0, 1.0], &[1.0]),
        (&[1.0], &[0.0], &[]),
        (&[-1.0], &[0.0], &[1.0]),
        (&[1.0], &[0.0], &[-1.0]),
        (&[1.0], &[f64::NAN], &[1.0]),
    ];
    for (weights, means, vars) in bad {
        let m = Mixture { weights, means, vars };
        for v in [m.log_density(0.0), m.mean(), m.variance(), m.cdf(0.0), m.quantile(0.3), m.crps(0.0)] {
            assert!(v.is_nan(), "{m:?} {v}");
        }
    }
    assert!(THREE.log_density(f64::NAN).is_nan() && THREE.cdf(f64::NAN).is_nan() && THREE.crps(f64::NAN).is_nan());
    assert!(THREE.quantile(-0.1).is_nan() && THREE.quantile(f64::NAN).is_nan());
    assert_eq!((THREE.quantile(0.0), THREE.quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!((THREE.cdf(f64::NEG_INFINITY), THREE.log_density(f64::INFINITY)), (0.0, f64::NEG_INFINITY));
}

#[test]
fn point_errors() {
    assert_eq!(rmse(&[1.0, 2.0], &[4.0, 6.0]), 12.5f64.sqrt());
    assert_eq!(mae(&[1.0, 2.0], &[4.0, 6.0]), 3.5);
    assert!(rmse(&[], &[]).is_nan() && mae(&[1.0], &[]).is_nan());
}
