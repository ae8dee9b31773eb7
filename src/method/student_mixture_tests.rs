//! The mixture with a Student-t noise against sums that know nothing of its lattice. Golden numbers of scipy: `tests/numbers/golden/student.rs`.

use super::*;
use crate::metrics::{Mixture, normal_cdf};
use crate::ops::head::{NOISE_EXP, NOISE_SOFTPLUS};

fn some() -> Vec<ScaleMixture> {
    let mut all = vec![];
    for v in [0.0, 1e-9, 0.02, 1.0, 30.0] {
        for sd in [0.0, 0.05, 0.3, 1.0] {
            for l in [-5.0, 0.0, 2.0] {
                all.push(ScaleMixture { m: 0.3, v, l, sd, link: NOISE_EXP });
            }
        }
    }
    all
}

/// log E over W of the density given W, W in 1,500 equal steps: given W, y is the scale mixture of a normal noise, in the unit e^(W / 2).
fn over_w(c: &ScaleMixture, nu: f64, y: f64) -> f64 {
    let a = 0.5 * nu;
    // A target far out is explained by a W up to log (y - m)^2 / g.
    let (from, to) = (-4.0 - 6.0 / a.sqrt(), 40.0 / a + 23.0);
    let h = (to - from) / 1500.0;
    let logs: Vec<f64> = (0..=1500)
        .map(|i| {
            let w = from + f64::from(i) * h;
            // e^w beside the noise: all lengths are divided by its root instead.
            let unit = (0.5 * w).exp();
            let c = ScaleMixture { m: c.m / unit, v: c.v / (unit * unit), ..*c };
            a * a.ln() - ln_gamma(a) - a * w - a * (-w).exp() + c.log_density(y / unit) - unit.ln()
        })
        .collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + (h * logs.iter().map(|l| (l - top).exp()).sum::<f64>()).ln()
}

#[test]
fn the_log_density_is_that_of_the_normal_noise_over_its_variance() {
    let (mut worst, mut count) = (0.0f64, 0);
    for nu in [2.05f64, 2.5, 4.0, 11.0, 30.0, 100.0] {
        for c in some() {
            let unit = (c.v + c.mean_noise()).sqrt();
            for d in [0.0, 1.0, 6.0, 60.0] {
                let y = c.m - d * unit;
                let (found, want) = (log_density(&c, nu, y), over_w(&c, nu, y));
                let error = (found - want).abs();
                assert!(error < 1e-7, "{c:?}, nu {nu}, {d} sd off: {found}, over W {want}");
                (worst, count) = (worst.max(error), count + 1);
            }
        }
    }
    println!("{count} densities, the worst {worst:.1e} nats off");
}

/// The same of the CDF, by the normals of L given W; and the mass of the density between two quantiles is that of the CDF.
#[test]
fn the_nodes_give_the_cdf() {
    let mut worst = 0.0f64;
    for nu in [2.05f64, 2.5, 4.0, 11.0, 30.0, 100.0] {
        let a = 0.5 * nu;
        let (from, to) = (-4.0 - 6.0 / a.sqrt(), 40.0 / a + 3.0);
        let h = (to - from) / 1000.0;
        for c in some() {
            let (mut weights, mut vars) = (vec![], vec![]);
            nodes(&c, nu, Lattice::Fine, |w, v| {
                weights.push(w);
                vars.push(v);
            });
            let means = vec![0.0; weights.len()];
            let mixture = Mixture { weights: &weights, means: &means, vars: &vars };
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-10 && weights.iter().all(|w| *w >= 0.0), "{c:?}");
            let unit = mixture.quantile(0.84);
            for z in [0.05, 0.7, 2.0, 8.0] {
                let given = |w: f64| {
                    let mut sum = 0.0;
                    let noise = ScaleMixture { v: 0.0, ..c };
                    noise.nodes(|weight, g| sum += weight * normal_cdf(-z * unit / (c.v + g * w.exp()).sqrt()));
                    sum
                };
                let density = |w: f64| (a * a.ln() - ln_gamma(a) - a * w - a * (-w).exp()).exp();
                let want: f64 = (0..=1000).map(|i| from + h * f64::from(i)).map(|w| h * density(w) * given(w)).sum();
                let error = (mixture.cdf(-z * unit) - want).abs();
                assert!(error < 2e-7, "{c:?}, nu {nu}, {z}: {error:e}");
                worst = worst.max(error);
            }
        }
    }
    println!("CDF {worst:.1e} off at most");
}

#[test]
fn density_and_nodes_are_of_one_distribution() {
    for (nu, v) in [(2.5, 0.0), (4.0, 0.1), (30.0, 1.0)] {
        let c = ScaleMixture { m: 0.0, v, l: -1.0, sd: 0.4, link: NOISE_SOFTPLUS };
        let mut mass = 0.0;
        let (mut weights, mut vars) = (vec![], vec![]);
        nodes(&c, nu, Lattice::Fine, |w, s| {
            weights.push(w);
            vars.push(s);
        });
        let means = vec![0.0; weights.len()];
        let mixture = Mixture { weights: &weights, means: &means, vars: &vars };
        let (low, high) = (mixture.quantile(0.01), mixture.quantile(0.7));
        let n = 4000;
        let h = (high - low) / f64::from(n);
        (0..n).for_each(|i: i32| mass += h * log_density(&c, nu, low + (f64::from(i) + 0.5) * h).exp());
        assert!((mass - 0.69).abs() < 1e-6, "nu {nu}, v {v}: {mass}");
    }
}

/// Without other uncertainty it is Student's t, by hand: t_4 has the density 3 / 8 (1 + x^2 / 4)^-5/2.
#[test]
fn a_network_that_is_sure_gives_a_t() {
    let c = ScaleMixture { m: 1.0, v: 0.0, l: 4f64.ln(), sd: 0.0, link: NOISE_EXP };
    for x in [0.0f64, 0.5, 3.0, 1e3, 1e9] {
        let want = (3.0 / 16.0f64).ln() - 2.5 * (0.25 * x * x).ln_1p();
        assert!((log_density(&c, 4.0, 1.0 + 2.0 * x) - want).abs() < 1e-12 * (1.0 + want.abs()), "{x}");
    }
    assert!((mean_noise(&c, 4.0) - 8.0).abs() < 1e-12);
}

/// Whatever a diverging network says: a number that falls with the distance, found at once.
#[test]
fn no_argument_leads_astray() {
    let distances = [0.0, 1e-3, 1.0, 30.0, 1e4, 1e8, 1e15, 1e38];
    for link in [NOISE_EXP, NOISE_SOFTPLUS] {
        for v in [0.0, 1e-12, 1e-2, 1e3, 1e30, 1e70] {
            for sd in [0.0, 1e-6, 0.1, 5.0, 1e6, 3e38] {
                for l in [-3e38, -1e3, -3.0, 4.0, 1e3, 3e38] {
                    for nu in [2.001, 4.0, 100.0] {
                        let c = ScaleMixture { m: 0.0, v, l, sd, link };
                        let mut before = f64::INFINITY;
                        for y in distances {
                            let got = log_density(&c, nu, y);
                            let granted = 1e-6 * (1.0 + got.abs());
                            assert!(
                                got.is_finite() && got <= before + granted,
                                "{c:?}, nu {nu} at {y:e}: {got:e}, nearer {before:e}"
                            );
                            before = got;
                        }
                        let (mut sum, mut least) = (0.0, f64::INFINITY);
                        nodes(&c, nu, Lattice::Coarse, |w, s| (sum, least) = (sum + w, least.min(s)));
                        assert!((sum - 1.0).abs() < 1e-9 && least > 0.0, "{c:?}, nu {nu}: {sum} {least}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_no_number_stays_none() {
    let c = ScaleMixture { m: 0.0, v: 0.1, l: 0.0, sd: 0.5, link: NOISE_EXP };
    assert!(log_density(&c, 4.0, f64::NAN).is_nan());
    assert_eq!(log_density(&c, 4.0, f64::INFINITY), f64::NEG_INFINITY);
    for c in [ScaleMixture { l: f64::NAN, ..c }, ScaleMixture { sd: f64::NAN, ..c }, ScaleMixture { v: f64::NAN, ..c }]
    {
        assert!(log_density(&c, 4.0, 0.5).is_nan(), "{c:?}");
        let mut all = vec![];
        nodes(&c, 4.0, Lattice::Fine, |w, v| all.push(w * v));
        assert!(all.iter().any(|x| x.is_nan()), "{c:?}");
    }
}
