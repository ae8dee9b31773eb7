//! Theorem 3.2 of the paper, a limit: for one hidden unit z = w relu(u x) with w ~ N(w, sd_w^2), u ~ N(u, sd_u^2) the mean
//! E[z](x) rises on both sides of 0, which no single (w, u) does: one side of its relu is flat. So a network whose outputs
//! are the mean of VI's predictive distribution need not exist at the same size.

use super::{Estimate, Normals};
use crate::figure::{CurvesFigure, Series};
use crate::metrics::normal_cdf;

/// Means and standard deviations of w and u.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    pub w_mean: f64,
    pub w_sd: f64,
    pub u_mean: f64,
    pub u_sd: f64,
}

pub const UNIT: Unit = Unit { w_mean: 1.0, w_sd: 0.5, u_mean: 0.5, u_sd: 1.0 };

/// Monte Carlo samples at each input.
pub const SAMPLES: usize = 20_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Inputs, symmetric around 0.
    pub x: Vec<f64>,
    /// E[z] by the closed form and by Monte Carlo, [x] each.
    pub mean: Vec<f64>,
    pub sampled: Vec<Estimate>,
    /// (w, u) of the single unit with the least squared distance, and its output.
    pub best: (f64, f64),
    pub single: Vec<f64>,
}

impl Unit {
    /// E[z] at x (the paper's equations for x >= 0 and x < 0, simplified): w |x| E[relu(+-u)], and
    /// E[relu(u)] = u Phi(u/sd) + sd phi(u/sd).
    pub fn mean(&self, x: f64) -> f64 {
        let u = if x < 0.0 { -self.u_mean } else { self.u_mean };
        let t = u / self.u_sd;
        self.w_mean * x.abs() * (u * normal_cdf(t) + self.u_sd * normal_pdf(t))
    }

    fn sample(&self, x: f64, normals: &mut Normals) -> f64 {
        let (w, u) = (self.w_mean + self.w_sd * normals.take(), self.u_mean + self.u_sd * normals.take());
        single(w, u, x)
    }
}

fn normal_pdf(t: f64) -> f64 {
    libm::exp(-0.5 * t * t) / (2.0 * std::f64::consts::PI).sqrt()
}

/// w relu(u x).
pub fn single(w: f64, u: f64, x: f64) -> f64 {
    w * (u * x).max(0.0)
}

/// The (w, u) with the least squared distance from `y` over `x`. w relu(u x) is w |u| relu(+-x), so u = 1 and u = -1 with
/// the least-squares w of each stand for all.
pub fn best_single(x: &[f64], y: &[f64]) -> (f64, f64) {
    let fit = |u: f64| {
        let (mut xy, mut xx) = (0.0, 0.0);
        for (x, y) in x.iter().zip(y) {
            let r = single(1.0, u, *x);
            xy += r * y;
            xx += r * r;
        }
        (xy / xx, u)
    };
    let (right, left) = (fit(1.0), fit(-1.0));
    if distance(right, x, y) <= distance(left, x, y) { right } else { left }
}

/// Root mean squared distance of a single unit from `y`.
pub fn distance((w, u): (f64, f64), x: &[f64], y: &[f64]) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (single(w, u, *x) - y).powi(2)).sum();
    (square / x.len().max(1) as f64).sqrt()
}

pub fn limit(seed: u32, unit: &Unit, samples: usize) -> Limit {
    let x: Vec<f64> = (-30..=30).map(|i| f64::from(i) / 10.0).collect();
    let mean: Vec<f64> = x.iter().map(|x| unit.mean(*x)).collect();
    let sampled = (x.iter().enumerate())
        .map(|(i, x)| {
            let mut normals = Normals::new(seed, 100 + i as u32);
            Estimate::of(&(0..samples).map(|_| unit.sample(*x, &mut normals)).collect::<Vec<_>>())
        })
        .collect();
    let best = best_single(&x, &mean);
    let single = x.iter().map(|x| single(best.0, best.1, *x)).collect();
    Limit { x, mean, sampled, best, single }
}

impl Limit {
    /// Values at the outermost inputs: (left, right).
    pub fn ends<T: Copy>(v: &[T]) -> Option<(T, T)> {
        Some((*v.first()?, *v.last()?))
    }
    /// Root mean squared distance of the best single unit from E[z].
    pub fn remaining(&self) -> f64 {
        distance(self.best, &self.x, &self.mean)
    }
    /// Root mean square of E[z].
    pub fn size(&self) -> f64 {
        distance((0.0, 1.0), &self.x, &self.mean)
    }
    /// Largest |Monte Carlo - closed form| in standard errors.
    pub fn largest_error(&self) -> f64 {
        let one = |(s, m): (&Estimate, &f64)| {
            let off = (s.mean - m).abs();
            if off == 0.0 {
                0.0
            } else if s.se > 0.0 {
                off / s.se
            } else {
                f64::INFINITY
            }
        };
        self.sampled.iter().zip(&self.mean).map(one).fold(0.0, f64::max)
    }
    /// The closed form is what samples average to, it is nonzero on both sides, and the best single unit misses it.
    /// 60 independent errors stay below five standard errors but once in 29,000 seeds.
    pub fn verdict(&self) -> bool {
        let both = Self::ends(&self.mean).is_some_and(|(l, r)| l.abs() > 0.01 && r.abs() > 0.01);
        self.largest_error() < 5.0 && both && self.remaining() > 0.01 * self.size()
    }

    pub fn figure(&self) -> CurvesFigure {
        let series = |name: &str, y: Vec<f64>| Series { name: name.into(), x: self.x.clone(), y, sd: None };
        let side = if self.best.1 > 0.0 { "right" } else { "left" };
        let single = format!("best single (w, u); equals E[z] on the {side}");
        CurvesFigure {
            title: "Theorem 3.2: the mean of a random ReLU unit is no ReLU unit".into(),
            x_label: "input x".into(),
            y_label: "output z".into(),
            // Where curves lie on one another the later ones are dashed and thinner; the names say which do.
            series: vec![
                series("E[z](x), Monte Carlo", self.sampled.iter().map(|s| s.mean).collect()),
                series(&single, self.single.clone()),
                series("E[z](x), closed form", self.mean.clone()),
            ],
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_is_what_samples_average_to() {
        let units = [UNIT, Unit { u_mean: -1.0, w_mean: -2.0, ..UNIT }, Unit { u_mean: 0.0, u_sd: 0.3, ..UNIT }];
        for (seed, unit) in units.iter().enumerate() {
            let l = limit(seed as u32 + 1, unit, 5000);
            assert!(l.verdict(), "{unit:?}: {} standard errors", l.largest_error());
        }
    }

    /// u ~ N(0, 1): E[relu(u)] = 1/sqrt(2 pi) on both sides.
    #[test]
    fn by_hand() {
        let unit = Unit { w_mean: 2.0, u_mean: 0.0, ..UNIT };
        let want = 2.0 * 3.0 / (2.0 * std::f64::consts::PI).sqrt();
        for x in [-3.0, 3.0] {
            assert!((unit.mean(x) - want).abs() < 1e-12);
        }
        assert_eq!(unit.mean(0.0), 0.0);
    }

    #[test]
    fn no_single_unit_comes_closer() {
        let l = limit(1, &UNIT, 100);
        // The right side is the steeper one and is met exactly; the left side remains, whole.
        let left: f64 = l.x.iter().zip(&l.mean).filter(|(x, _)| **x < 0.0).map(|(_, m)| m * m).sum();
        assert!((l.remaining() - (left / l.x.len() as f64).sqrt()).abs() < 1e-12);
        for i in -60..=60 {
            for j in -60..=60 {
                let other = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                assert!(distance(other, &l.x, &l.mean) >= l.remaining() - 1e-12, "{other:?}");
            }
        }
    }

    #[test]
    fn the_check_rejects_a_wrong_formula() {
        let good = limit(2, &UNIT, SAMPLES);
        // The mean of the unit at mean weights is no E[z]: zero on the left, too low on the right.
        let naive = Limit { mean: good.x.iter().map(|x| single(1.0, 0.5, *x)).collect(), ..good.clone() };
        assert!(!naive.verdict());
        let scaled = Limit { mean: good.mean.iter().map(|m| 1.1 * m).collect(), ..good.clone() };
        assert!(!scaled.verdict());
        // What a single unit can reproduce shows nothing.
        let one_sided = Limit { mean: good.single.clone(), ..good };
        assert!(one_sided.remaining() < 1e-12 && !one_sided.verdict());
    }
}
