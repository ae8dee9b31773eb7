//! Laplace on the last layer (MATH.md section 5, Laplace): a Gaussian over the last layer's weights and biases around
//! the trained ones, its covariance from the curvature of the likelihood, its prior precision by marginal likelihood. The
//! network stays as it is: features in, logits' variances out. Host arithmetic in f64; neither disk nor device.
//!
//! Shapes: features [n, d-1] as the last layer takes them, d with the 1 of the bias appended; W [k, d], weight i of output
//! o at `o * d + i`, the bias last; P = k d; every square matrix row by row.

mod curvature;
mod layer;
mod method;
mod spectrum;
mod storage;
#[cfg(test)]
mod storage_tests;
#[cfg(test)]
mod tests;

pub use crate::recipe::Structure;
pub use curvature::Curvature;
pub use layer::{Fit, LastLayer, finish, last_layers, sizes};
pub use method::{Laplace, NAME};
pub use storage::{bytes, fit_bytes};

use crate::base::Real;
use crate::error::{Error, Result};
use crate::ops::head::noise_variance;
use spectrum::Spectrum;
pub use spectrum::VarianceForm;

/// delta, the precision of the prior N(0, I / delta) of the last layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PriorPrecision {
    Fixed(f64),
    /// Where the log evidence is largest within `PRECISIONS`.
    MarginalLikelihood,
}

/// Prior precisions among which the marginal likelihood chooses.
pub const PRECISIONS: (f64, f64) = (1e-6, 1e8);

/// N(W_map, (H + delta I)^-1).
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    k: usize,
    d: usize,
    /// W_map [k, d].
    weights: Vec<f64>,
    log_likelihood: f64,
    delta: f64,
    spectrum: Spectrum,
}

/// diag(p) - p p' of a softmax over `z` [k], into `lambda` [k, k].
pub fn softmax_lambda(z: &[f64], lambda: &mut [f64]) {
    let k = z.len();
    let p = softmax(z.iter().copied());
    for a in 0..k {
        for b in 0..k {
            lambda[a * k + b] = if a == b { p[a] * (1.0 - p[a]) } else { -p[a] * p[b] };
        }
    }
}

/// Fisher information of N(y | m, g(l)) about (m, l): diag(1/g, 1/2 (d log g / dl)^2), row by row. It does not depend on
/// m; on the clamp of the link nothing is learned about l, and its entry is 0.
pub fn gaussian_lambda(noise_link: u32, l: f64) -> [f64; 4] {
    let (g, slope) = noise_variance(noise_link, l);
    [1.0 / g, 0.0, 0.0, 0.5 * (slope / g).powi(2)]
}

/// softmax(z / sqrt(1 + pi/8 var)): the class probabilities of logits `z` [k] with variances `var` [k].
pub fn probit(z: &[f64], var: &[f64]) -> Vec<f64> {
    softmax(z.iter().zip(var).map(|(z, v)| z / (1.0 + std::f64::consts::PI / 8.0 * v).sqrt()))
}

fn softmax(z: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut p: Vec<f64> = z.collect();
    let top = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    p.iter_mut().for_each(|v| *v = libm::exp(*v - top));
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|v| *v /= sum);
    p
}

impl Posterior {
    /// `weights` = W_map [k, d]; `log_likelihood` = sum over the rows of log p(y | W_map f), in nats.
    pub fn fit(curvature: Curvature, weights: &[f64], log_likelihood: f64, prior: PriorPrecision) -> Result<Posterior> {
        let (k, d) = (curvature.k(), curvature.d());
        if weights.len() != k * d {
            let found = format!("{} last-layer weights for {k} outputs and {d} inputs, bias included", weights.len());
            return Err(Error::run("Laplace", found, "give the last layer of the network whose features were added"));
        }
        if !log_likelihood.is_finite() || weights.iter().any(|w| !w.is_finite()) {
            let term = if log_likelihood.is_finite() { "last-layer weights" } else { "log-likelihood" };
            let help = "take an earlier checkpoint or train with a lower learning rate";
            return Err(Error::run("Laplace", format!("the {term} are not finite"), help));
        }
        let spectrum = curvature.decompose()?;
        let mut posterior = Posterior { k, d, weights: weights.to_vec(), log_likelihood, delta: f64::NAN, spectrum };
        let delta = match prior {
            PriorPrecision::Fixed(delta) => delta,
            PriorPrecision::MarginalLikelihood => posterior.best_precision(),
        };
        posterior.set_precision(delta)?;
        Ok(posterior)
    }

    pub fn structure(&self) -> Structure {
        self.spectrum.structure()
    }
    pub fn k(&self) -> usize {
        self.k
    }
    pub fn d(&self) -> usize {
        self.d
    }
    /// W_map [k, d].
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
    /// delta.
    pub fn precision(&self) -> f64 {
        self.delta
    }

    /// Takes another prior precision; the curvature is kept.
    pub fn set_precision(&mut self, delta: f64) -> Result<()> {
        if !(delta.is_finite() && delta > 0.0) {
            let found = format!("prior precision {delta}");
            return Err(Error::run("Laplace", found, "give a positive number, or choose it by marginal likelihood"));
        }
        self.delta = delta;
        self.spectrum.prepare(self.k, self.d, delta);
        Ok(())
    }

    /// The end of `PRECISIONS` at which the precision stands, if it does: the evidence still rises beyond it.
    pub fn at_bound(&self) -> Option<f64> {
        [PRECISIONS.0, PRECISIONS.1].into_iter().find(|bound| *bound == self.delta)
    }

    /// Log marginal likelihood in nats, by Laplace:
    /// log lik - 1/2 [ logdet(H + delta I) - P log delta + delta |W|^2 ].
    pub fn log_evidence(&self, delta: f64) -> f64 {
        // The two logarithms as one: their difference keeps its digits where delta dwarfs H.
        let occam: f64 = self.spectrum.values().map(|h| libm::log1p(h / delta)).sum();
        self.log_likelihood - 0.5 * (occam + delta * self.squared_norm())
    }

    /// The maximum of `log_evidence` within `PRECISIONS`. Its derivative by log delta is
    /// 1/2 [ sum h / (h + delta) - delta |W|^2 ], which falls in delta, so halving the interval cannot miss it.
    fn best_precision(&self) -> f64 {
        let norm = self.squared_norm();
        let rises = |delta: f64| self.spectrum.values().map(|h| h / (h + delta)).sum::<f64>() > delta * norm;
        let (mut low, mut high) = (PRECISIONS.0, PRECISIONS.1);
        if rises(high) {
            return high;
        }
        if !rises(low) {
            return low;
        }
        // 32 in natural logarithm over 2^60: below the spacing of f64.
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            *(if rises(middle) { &mut low } else { &mut high }) = middle;
        }
        (low * high).sqrt()
    }

    fn squared_norm(&self) -> f64 {
        self.weights.iter().map(|w| w * w).sum()
    }

    /// f with the 1 of the bias appended.
    fn with_one<T: Real>(&self, features: &[T]) -> Vec<f64> {
        assert_eq!(features.len() + 1, self.d, "a row of the features that the posterior was fitted on");
        features.iter().map(|v| v.f64()).chain([1.0]).collect()
    }

    /// W_map f [k] at one row of features [d-1].
    pub fn logits<T: Real>(&self, features: &[T]) -> Vec<f64> {
        let f = self.with_one(features);
        self.weights.chunks_exact(self.d).map(|w| spectrum::dot(w, &f)).collect()
    }

    /// Variances f' S_oo f [k] of the outputs at one row of features [d-1].
    pub fn logit_variances<T: Real>(&self, features: &[T]) -> Vec<f64> {
        self.spectrum.variances(&self.with_one(features), self.k, self.delta)
    }

    /// The variances as weighted sums of squares.
    pub fn variance_form(&self) -> VarianceForm {
        self.spectrum.variance_form(self.k, self.d, self.delta)
    }

    /// Covariance f' S_op f [k, k] of the outputs at one row of features [d-1].
    pub fn logit_covariance<T: Real>(&self, features: &[T]) -> Vec<f64> {
        self.spectrum.covariance(&self.with_one(features), self.k, self.delta)
    }

    /// A sample of W [k, d] from P standard normals.
    pub fn sample_weights(&self, normals: &[f32]) -> Vec<f64> {
        assert_eq!(normals.len(), self.k * self.d, "one normal per weight");
        let mut w = self.weights.clone();
        self.spectrum.add_sample(normals, self.delta, self.d, &mut w);
        w
    }
}
