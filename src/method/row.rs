//! One row of a predicted regression, for its distribution function, quantiles and CRPS.

use super::scale_mixture::ScaleMixture;
use super::student_mixture::{self, Lattice};
use crate::metrics::Mixture;

/// One row as a mixture of normals: for its CDF, quantiles and CRPS, in the unit of y.
#[derive(Debug, Clone)]
pub struct Row {
    normals: Normals,
    /// Fewer of them for the CRPS, which compares each with each, where there are many.
    few: Option<Normals>,
    shift: f64,
    scale: f64,
}

/// [c] each, standardised.
#[derive(Debug, Clone, Default)]
struct Normals {
    weights: Vec<f64>,
    means: Vec<f64>,
    vars: Vec<f64>,
}

impl Normals {
    /// What `nodes` gives of each part.
    fn of(parts: &[ScaleMixture], nodes: impl Fn(&ScaleMixture, &mut dyn FnMut(f64, f64))) -> Normals {
        let mut all = Normals::default();
        for part in parts {
            nodes(part, &mut |weight, variance| {
                all.weights.push(weight / parts.len() as f64);
                all.means.push(part.m);
                all.vars.push(variance);
            });
        }
        all
    }
    fn mixture(&self) -> Mixture<'_> {
        Mixture { weights: &self.weights, means: &self.means, vars: &self.vars }
    }
}

impl Row {
    /// Of its parts in equal shares, with noise of `nu` degrees of freedom or normal noise; y = shift + scale * standardised y.
    pub(super) fn of(parts: &[ScaleMixture], nu: Option<f64>, shift: f64, scale: f64) -> Row {
        let student = |nu, lattice| Normals::of(parts, |part, take| student_mixture::nodes(part, nu, lattice, take));
        let normals = match nu {
            None => Normals::of(parts, |part, take| part.nodes(take)),
            Some(nu) => student(nu, Lattice::Fine),
        };
        Row { normals, few: nu.map(|nu| student(nu, Lattice::Coarse)), shift, scale }
    }
    /// P(Y <= y).
    pub fn cdf(&self, y: f64) -> f64 {
        self.normals.mixture().cdf((y - self.shift) / self.scale)
    }
    /// The y below which lies q.
    pub fn quantile(&self, q: f64) -> f64 {
        self.shift + self.scale * self.normals.mixture().quantile(q)
    }
    /// In the unit of y.
    pub fn crps(&self, y: f64) -> f64 {
        self.scale * self.few.as_ref().unwrap_or(&self.normals).mixture().crps((y - self.shift) / self.scale)
    }
}
