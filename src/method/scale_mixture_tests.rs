//! The scale mixture against sums over fine grids of L that know neither mode nor shape.

use super::*;
use crate::metrics::Mixture;
use crate::ops::head::NOISE_EXP;

/// Between the bounds, and far enough beyond where there is none near.
fn span(c: &ScaleMixture) -> (f64, f64) {
    if c.link == NOISE_SOFTPLUS { (SOFTPLUS_LOW, SOFTPLUS_HIGH) } else { (-10.0, 10.0) }
}

/// log p(y): a scan for all that is within exp(-32) of the greatest, Simpson's rule with 20,000 steps over it (at least 16
/// widths, so a step of a 1,000th of it; at a bound it may rise by 70 per unit, 0.07 per step, for an error of 0.07^4 / 180), and both tails beyond the bounds.
fn log_density_on_a_grid(c: &ScaleMixture, y: f64) -> f64 {
    let (low, high) = span(c);
    let half_square = 0.5 * (y - c.m).powi(2);
    let f = |x: f64| {
        log_normal(half_square, c.v + noise_variance(c.link, x).0)
            - 0.5 * ((x - c.l) / c.sd).powi(2)
            - 0.5 * LN_TWO_PI
            - c.sd.ln()
    };
    let even = |from: f64, to: f64, n: u32| (0..=n).map(move |i| from + (to - from) * f64::from(i) / f64::from(n));
    let mut points: Vec<f64> = even(low, high.min(40.0), 3000).chain(even(40.0, high.max(40.0), 400)).collect();
    points.extend(even(c.l - 12.0 * c.sd, c.l + 40.0 * c.sd, 3000));
    points.retain(|x| (low..=high).contains(x));
    points.sort_by(f64::total_cmp);
    let values: Vec<f64> = points.iter().map(|x| f(*x)).collect();
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = values.iter().position(|v| *v > top - 32.0).expect("a top").saturating_sub(1);
    let last = (values.iter().rposition(|v| *v > top - 32.0).expect("a top") + 1).min(points.len() - 1);
    let n = 20_000;
    let weight = |i: usize| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    let sum: f64 =
        even(points[first], points[last], n as u32).enumerate().map(|(i, x)| weight(i) * (f(x) - top).exp()).sum();
    let inside = top + (sum * (points[last] - points[first]) / (3.0 * n as f64)).ln();
    let below = log_normal(half_square, c.v + noise_variance(c.link, low).0) + log_normal_cdf((low - c.l) / c.sd);
    let above = log_normal(half_square, c.v + noise_variance(c.link, high).0) + log_normal_cdf((c.l - high) / c.sd);
    let most = inside.max(below).max(above);
    most + ((inside - most).exp() + (below - most).exp() + (above - most).exp()).ln()
}

/// FAULTS A1: from the mean to 60 predictive standard deviations off it; v from nothing to all of the variance, sd from 1e-6
/// to 20, l on both sides of both bounds.
#[test]
fn a1_the_log_density_is_that_of_a_fine_grid() {
    let (mut worst, mut count) = (0.0f64, 0);
    for link in [NOISE_EXP, NOISE_SOFTPLUS] {
        for v in [0.0, 1e-12, 1e-3, 0.3, 3.0, 1e4] {
            for sd in [1e-6, 1e-4, 0.02, 0.3, 0.8, 1.7, 5.0, 20.0] {
                for l in [-14.0, -10.0, -9.3, -6.0, -2.0, 0.5, 5.0, 9.8, 12.0] {
                    let c = ScaleMixture { m: 0.3, v, l, sd, link };
                    let unit = (v + c.mean_noise()).sqrt();
                    for d in [0.0, 0.7, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0] {
                        let y = 0.3 - d * unit;
                        let (found, want) = (c.log_density(y), log_density_on_a_grid(&c, y));
                        let error = (found - want).abs();
                        assert!(error < 1e-6, "{c:?}, {d} sd off: {found}, the grid {want}");
                        (worst, count) = (worst.max(error), count + 1);
                    }
                }
            }
        }
    }
    println!("{count} densities, the worst {worst:.1e} nats off");
}

/// Nine fixed nodes, which this replaced, fail the test above on a row like those of the demo.
#[test]
fn fixed_nodes_cut_off_the_tail() {
    let c = ScaleMixture { m: 0.0, v: 1e-3, l: -4.0, sd: 0.5, link: NOISE_EXP };
    let y = 30.0 * (c.v + c.mean_noise()).sqrt();
    let fixed: f64 =
        HERMITE_9.iter().map(|(x, w)| w * log_normal(0.5 * y * y, c.v + (c.l + c.sd * x).exp()).exp()).sum();
    assert!((c.log_density(y) - log_density_on_a_grid(&c, y)).abs() < 1e-6);
    assert!((fixed.ln() - c.log_density(y)).abs() > 5.0, "{}", fixed.ln());
}

/// Integral over L of what is bounded: the middle 18 standard deviations in 20,000 steps, each cell by its own middle.
fn expectation(c: &ScaleMixture, f: impl Fn(f64) -> f64) -> f64 {
    let n = 20_000;
    let h = 18.0 / f64::from(n);
    let at = |i: i32| -9.0 + (f64::from(i) + 0.5) * h;
    (0..n).map(|i| h * (-0.5 * at(i).powi(2) - 0.5 * LN_TWO_PI).exp() * f(c.l + c.sd * at(i))).sum()
}

fn some() -> Vec<ScaleMixture> {
    let mut all = vec![];
    for link in [NOISE_EXP, NOISE_SOFTPLUS] {
        for v in [0.0, 0.01, 1.0] {
            for sd in [1e-4, 0.02, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0] {
                for l in [-11.0, -8.0, -2.0, 0.0, 4.0, 9.5] {
                    all.push(ScaleMixture { m: 0.0, v, l, sd, link });
                }
            }
        }
    }
    all
}

/// Cells of 1e-3 sd that a bound of g may cut: an error of (1e-3 sd)^2 of g's slope there.
#[test]
fn the_mean_noise_is_that_of_a_fine_grid() {
    for c in some() {
        let want = expectation(&c, |x| noise_variance(c.link, x).0);
        // e^x takes the normal to l + sd^2, beyond 9 sd for the widest; the bound at 10 holds it there.
        assert!((c.mean_noise() / want - 1.0).abs() < 2e-6, "{c:?}: {} {want}", c.mean_noise());
    }
}

/// A variance that has no digits left is still a number.
#[test]
fn the_mean_noise_beyond_the_bounds_is_the_bound() {
    for (l, sd, want) in
        [(-60.0, 0.5, (-10f64).exp()), (60.0, 0.5, 10f64.exp()), (-40.0, 9.0, f64::NAN), (0.0, 1e3, f64::NAN)]
    {
        let c = ScaleMixture { m: 0.0, v: 0.0, l, sd, link: NOISE_EXP };
        let found = c.mean_noise();
        let want = if want.is_nan() { expectation(&c, |x| noise_variance(NOISE_EXP, x).0) } else { want };
        assert!((found / want - 1.0).abs() < 1e-3 * f64::from(sd > 1.0) + 1e-12, "{c:?}: {found} {want}");
    }
}

#[test]
fn the_nodes_give_the_cdf_of_a_fine_grid() {
    let (mut worst, mut worst_tail) = (0.0f64, 0.0f64);
    for c in some() {
        let (mut weights, mut vars) = (vec![], vec![]);
        c.nodes(|w, v| {
            weights.push(w);
            vars.push(v);
        });
        let means = vec![0.0; weights.len()];
        let mixture = Mixture { weights: &weights, means: &means, vars: &vars };
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && weights.iter().all(|w| *w >= 0.0), "{c:?}");
        let unit = mixture.quantile(0.84);
        for z in [0.05, 0.5, 1.0, 2.0, 3.0] {
            let want = expectation(&c, |x| normal_cdf(-z * unit / (c.v + noise_variance(c.link, x).0).sqrt()));
            let error = (mixture.cdf(-z * unit) - want).abs();
            assert!(error < 2e-7, "{c:?}, {z}: {error:e}");
            worst = worst.max(error);
            if want > 1e-3 {
                assert!(error < 2e-5 * want, "{c:?}, {z}: {error:e} of {want}");
                worst_tail = worst_tail.max(error / want);
            }
        }
    }
    println!("CDF {worst:.1e} off at most, of itself {worst_tail:.1e} where it is above 1e-3");
}

/// CRPS of the nodes against that of a mixture with 200 nodes, 0.06 sd apart.
#[test]
fn the_nodes_give_the_crps_of_many_nodes() {
    for c in some().into_iter().filter(|c| c.sd <= 1.0 && c.v < 0.5 && (-2.0..=3.0).contains(&c.l)) {
        let (mut weights, mut vars) = (vec![], vec![]);
        c.nodes(|w, v| {
            weights.push(w);
            vars.push(v);
        });
        let fine: Vec<f64> = (-100..=100).map(|k| 0.06 * f64::from(k)).collect();
        let sum: f64 = fine.iter().map(|t| (-0.5 * t * t).exp()).sum();
        let fine_weights: Vec<f64> = fine.iter().map(|t| (-0.5 * t * t).exp() / sum).collect();
        let fine_vars: Vec<f64> = fine.iter().map(|t| c.v + noise_variance(c.link, c.l + c.sd * t).0).collect();
        let means = vec![0.0; 201];
        for y in [0.0, 0.3, 2.0] {
            let found = Mixture { weights: &weights, means: &means[..weights.len()], vars: &vars }.crps(y);
            let want = Mixture { weights: &fine_weights, means: &means, vars: &fine_vars }.crps(y);
            assert!((found - want).abs() < 2e-6 * want, "{c:?} at {y}: {found} {want}");
        }
    }
}

#[test]
fn what_is_no_number_stays_none() {
    let c = ScaleMixture { m: 0.0, v: 0.1, l: 0.0, sd: 0.5, link: NOISE_EXP };
    assert!(c.log_density(f64::NAN).is_nan());
    assert_eq!(c.log_density(f64::INFINITY), f64::NEG_INFINITY);
    for c in [ScaleMixture { l: f64::NAN, ..c }, ScaleMixture { sd: f64::NAN, ..c }, ScaleMixture { v: f64::NAN, ..c }]
    {
        assert!(c.log_density(0.5).is_nan(), "{c:?}");
    }
    assert_eq!(ScaleMixture::normal(1.0, 4.0).log_density(3.0), -0.5 * (LN_TWO_PI + 4f64.ln()) - 0.5);
}

/// Where an argument is far out or infinite, the density is the limit: half of the mass at each bound of g for a wide L, the
/// nearer bound for an L far away, and the greatest variance for a y far away. By hand from N(0; 0, v + g).
#[test]
fn the_ends_are_limits() {
    let (v, d) = (0.5, 1.5f64);
    let normal = |g: f64| -0.5 * ((2.0 * std::f64::consts::PI * (v + g)).ln() + d * d / (v + g));
    let (low, high) = ((-10f64).exp(), 10f64.exp());
    let halves = (0.5 * normal(low).exp() + 0.5 * normal(high).exp()).ln();
    let of = |l: f64, sd: f64| ScaleMixture { m: 0.0, v, l, sd, link: NOISE_EXP };
    for sd in [1e9, 1e21, 1e200, f64::INFINITY] {
        let got = of(3.0, sd).log_density(d);
        // 20 / sd of the mass lies between.
        assert!((got - halves).abs() < 1e-7, "sd {sd:e}: {got} {halves}");
    }
    for (l, g) in [(f64::NEG_INFINITY, low), (f64::INFINITY, high), (-1e9, low), (1e9, high), (1e30, high)] {
        let got = of(l, 1.0).log_density(d);
        assert!((got - normal(g)).abs() < 1e-9, "l {l:e}: {got} {}", normal(g));
    }
    for y in [1e30, 1e100, 1e145, 1e150] {
        let (got, want) = (of(3.0, 0.7).log_density(y), -0.5 * y * y / (v + high));
        assert!((got / want - 1.0).abs() < 1e-9, "y {y:e}: {got:e} {want:e}");
    }
    // A variance beside which no noise counts.
    let got = ScaleMixture { v: 1e290, ..of(3.0, 0.7) }.log_density(d);
    assert!((got + 0.5 * (2.0 * std::f64::consts::PI * 1e290).ln()).abs() < 1e-9, "{got}");
}

/// Whatever a diverging network says: between the densities of the extreme variances and never NaN, falling with the distance,
/// and found at once (a walk that never ends would end this test).
#[test]
fn no_argument_leads_astray() {
    let log_n = |h: f64, s: f64| -0.5 * ((2.0 * std::f64::consts::PI).ln() + s.ln()) - h / s;
    let distances = [0.0, 1e-3, 1.0, 30.0, 1e3, 1e4, 1e5, 1e6, 1e8, 1e10, 1e15, 1e20, 1e30, 1e38];
    for link in [NOISE_EXP, NOISE_SOFTPLUS] {
        let (low, high) = if link == NOISE_EXP { ((-10f64).exp(), 10f64.exp()) } else { (1e-3, 1e3) };
        for v in [0.0, 1e-12, 1e-6, 1e-2, 1.0, 1e3, 1e8, 1e30, 1e70] {
            for sd in [1e-6, 1e-3, 0.1, 1.0, 5.0, 100.0, 1e6, 1e15, 1e30, 3e38] {
                for l in [-3e38, -1e20, -1e3, -12.0, -3.0, 0.0, 4.0, 12.0, 1e3, 1e20, 3e38] {
                    let c = ScaleMixture { m: 0.0, v, l, sd, link };
                    let mut before = f64::INFINITY;
                    for y in distances {
                        let (got, h) = (c.log_density(y), 0.5 * y * y);
                        let of = [v + low, v + high, (2.0 * h).clamp(v + low, v + high)].map(|s| log_n(h, s));
                        let least = of.iter().copied().fold(f64::INFINITY, f64::min);
                        let most = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let granted = |bound: f64| 1e-6 * (1.0 + bound.abs());
                        assert!(
                            got >= least - granted(least)
                                && got <= most + granted(most)
                                && got <= before + granted(before),
                            "{c:?} at {y:e}: {got:e}, bounds {least:e} {most:e}, nearer {before:e}"
                        );
                        before = got;
                    }
                }
            }
        }
    }
}
