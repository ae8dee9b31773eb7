//! Metrics of regression: the Gaussian mixture that a prediction is, row by row, with its exact moments, CDF, quantiles
//! and CRPS (MATH.md section 7), errors of point predictions, and the two baselines every model is compared with.
//! Everything is in the unit of `y`; variances in its square.

pub use super::baselines::{ConstantModel, LinearModel, MAX_LINEAR_COLUMNS, gaussian_nll};
use super::mean_of_pairs;
use super::normal::{HALF_LN_TWO_PI, normal_density};
pub use super::normal::{log_normal_cdf, normal_cdf, normal_quantile};
use std::f64::consts::FRAC_1_SQRT_2;

/// Root of the mean squared error of `prediction` [n] against `y` [n], in y's unit. NaN for no rows or unequal lengths.
pub fn rmse(prediction: &[f64], y: &[f64]) -> f64 {
    mean_of_pairs(prediction, y, |p, y| (p - y).powi(2)).sqrt()
}

/// Mean absolute error, as [`rmse`].
pub fn mae(prediction: &[f64], y: &[f64]) -> f64 {
    mean_of_pairs(prediction, y, |p, y| (p - y).abs())
}

/// The predictive distribution of one row: sum over c components of weight * N(mean, var), all slices [c].
///
/// Weights are >= 0 and sum to one. A variance of 0 is a point mass (in densities the smallest positive normal f64
/// takes its place). No component, unequal lengths, a NaN or a negative weight or variance make every answer NaN.
#[derive(Debug, Clone, Copy)]
pub struct Mixture<'a> {
    pub weights: &'a [f64],
    pub means: &'a [f64],
    pub vars: &'a [f64],
}

impl Mixture<'_> {
    /// log p(y) in nats, by log-sum-exp. MATH.md section 7, first line.
    pub fn log_density(&self, y: f64) -> f64 {
        if !self.well_formed() {
            return f64::NAN;
        }
        // In one pass: `sum` is that of exp(term - max) so far.
        let (mut max, mut sum) = (f64::NEG_INFINITY, 0.0);
        for (w, m, sd) in self.parts() {
            // One logarithm for both, but where the quotient has lost its digits.
            let scale = if w >= sd * f64::MIN_POSITIVE { libm::log(w / sd) } else { libm::log(w) - libm::log(sd) };
            let term = scale - 0.5 * ((y - m) / sd).powi(2) - HALF_LN_TWO_PI;
            if term.is_nan() {
                return term;
            }
            if term > max {
                (max, sum) = (term, sum * libm::exp(max - term) + 1.0);
            } else if term > f64::NEG_INFINITY {
                sum += libm::exp(term - max);
            }
        }
        if sum > 0.0 { max + libm::log(sum) } else { max }
    }

    /// E y.
    pub fn mean(&self) -> f64 {
        if !self.well_formed() {
            return f64::NAN;
        }
        self.weights.iter().zip(self.means).map(|(w, m)| w * m).sum()
    }

    /// Var y by the law of total variance: mean of the variances + variance of the means. MATH.md section 7.
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        if mean.is_nan() {
            return f64::NAN;
        }
        let part = |((w, m), v): ((&f64, &f64), &f64)| w * (v + (m - mean).powi(2));
        self.weights.iter().zip(self.means).zip(self.vars).map(part).sum()
    }

    /// P(Y <= y), in 0..=1.
    pub fn cdf(&self, y: f64) -> f64 {
        if self.well_formed() { self.tail(y, false) } else { f64::NAN }
    }

    /// The y with cdf(y) = q to a relative error of 1e-10 (near 0: to 1e-13 of the least standard deviation); where the
    /// CDF is flat at q, any y of the flat stretch. -inf at q = 0, inf at 1, NaN outside 0..=1.
    /// Newton on the logarithm of the smaller tail, bisection where Newton leaves the bracket or stalls.
    pub fn quantile(&self, q: f64) -> f64 {
        if !self.well_formed() || !(0.0..=1.0).contains(&q) {
            return f64::NAN;
        }
        let z = normal_quantile(q);
        if z.is_infinite() {
            return z;
        }
        // Between the least and the greatest quantile of the components lies that of the mixture.
        let of_parts = self.parts().filter(|(w, _, _)| *w > 0.0).map(|(_, m, sd)| m + sd * z);
        let (lo, hi) = of_parts.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), y| (lo.min(y), hi.max(y)));
        if !(lo.is_finite() && hi.is_finite()) {
            return f64::NAN;
        }
        self.solve(q, lo, hi)
    }

    /// Root of cdf - q inside [lo, hi].
    fn solve(&self, q: f64, mut lo: f64, mut hi: f64) -> f64 {
        let upper = q > 0.5;
        // Weights sum to one only up to rounding, which a far tail would feel.
        let total: f64 = self.weights.iter().sum();
        let log_target = libm::log((if upper { 1.0 - q } else { q }) * total);
        let least_sd = self.parts().map(|(_, _, sd)| sd).fold(f64::INFINITY, f64::min);
        let tolerance = |y: f64| 2.5e-13 * y.abs().max(0.1 * least_sd);
        // A normal of the mixture's mean and variance is near enough for Newton to end after three or four evaluations.
        let mean = self.parts().map(|(w, m, _)| w * m).sum::<f64>() / total;
        let variance = self.parts().map(|(w, m, sd)| w * (sd * sd + (m - mean).powi(2))).sum::<f64>() / total;
        let guess = mean + variance.sqrt() * normal_quantile(q);
        let start = if guess > lo && guess < hi { guess } else { 0.5 * lo + 0.5 * hi };
        let (mut y, mut last_step) = (start, hi - lo);
        // Bisection alone crosses the whole range of f64 in fewer rounds; a handful is usual.
        for _ in 0..2200 {
            if hi - lo <= 2.0 * tolerance(y) {
                break;
            }
            let tail = self.tail(y, upper);
            let excess = if upper { log_target - libm::log(tail) } else { libm::log(tail) - log_target };
            if excess == 0.0 {
                return y;
            }
            if excess > 0.0 {
                hi = y
            } else {
                lo = y
            }
            let density: f64 = self.parts().map(|(w, m, sd)| w * normal_density((y - m) / sd) / sd).sum();
            let mut step = -excess * tail / density;
            if step.abs() < tolerance(y) {
                // Overstep, so that the bracket closes from the other side.
                step = -excess.signum() * tolerance(y);
            }
            let newton_serves = step.abs() <= 0.5 * last_step && y + step > lo && y + step < hi;
            // After a step of e sd Newton is off by about e^2 sd, times how far out y is in sd: here 1e-16 and little more.
            if newton_serves && step.abs() <= 1e-8 * least_sd {
                return y + step;
            }
            let next = if newton_serves { y + step } else { 0.5 * lo + 0.5 * hi };
            last_step = (next - y).abs();
            y = next;
        }
        y
    }

    /// Continuous ranked probability score at y, in y's unit, >= 0, smaller is better: sum_i w_i A(y - m_i, v_i) -
    /// 1/2 sum_ij w_i w_j A(m_i - m_j, v_i + v_j), A(m, v) = E|N(m, v)|. O(c^2).
    /// Source: Grimit, Gneiting, Berrocal, Johnson 2006. MATH.md section 7, CRPS.
    pub fn crps(&self, y: f64) -> f64 {
        if !self.well_formed() {
            return f64::NAN;
        }
        let (w, m, v) = (self.weights, self.means, self.vars);
        let (mut to_y, mut between) = (0.0, 0.0);
        for i in 0..w.len() {
            to_y += w[i] * mean_abs_normal(y - m[i], v[i]);
            // The sum over i, j is symmetric: half of it is half the diagonal and one triangle.
            between += 0.5 * w[i] * w[i] * mean_abs_normal(0.0, 2.0 * v[i]);
            for j in 0..i {
                between += w[i] * w[j] * mean_abs_normal(m[i] - m[j], v[i] + v[j]);
            }
        }
        let crps = to_y - between;
        // Below 0 only by rounding. Not f64::max, which would hide NaN.
        if crps < 0.0 { 0.0 } else { crps }
    }

    fn well_formed(&self) -> bool {
        let c = self.weights.len();
        let not_negative = |s: &[f64]| s.iter().all(|&v| v >= 0.0);
        c > 0 && self.means.len() == c && self.vars.len() == c && not_negative(self.weights) && not_negative(self.vars)
    }

    /// (weight, mean, standard deviation > 0) of each component.
    fn parts(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let sd = |v: f64| v.max(f64::MIN_POSITIVE).sqrt();
        self.weights.iter().zip(self.means).zip(self.vars).map(move |((&w, &m), &v)| (w, m, sd(v)))
    }

    /// P(Y > y) where `upper`, else P(Y <= y).
    fn tail(&self, y: f64, upper: bool) -> f64 {
        self.parts().map(|(w, m, sd)| w * normal_cdf(if upper { (m - y) / sd } else { (y - m) / sd })).sum()
    }
}

/// E|X| for X ~ N(m, v): 2 s phi(m/s) + m (2 Phi(m/s) - 1), and |m| for v = 0.
fn mean_abs_normal(m: f64, v: f64) -> f64 {
    if v == 0.0 {
        return m.abs();
    }
    let s = v.sqrt();
    2.0 * s * normal_density(m / s) + m * libm::erf(m / s * FRAC_1_SQRT_2)
}

#[cfg(test)]
#[path = "regression_tests.rs"]
mod tests;
