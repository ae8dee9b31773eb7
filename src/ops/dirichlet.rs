//! The Dirichlet head (MATH.md section 5; Sensoy et al. 2018): class probabilities are Dirichlet with concentrations
//! relu(z) + 1, the loss is the expected -log p(y) plus eta times the divergence from the flat Dirichlet.

use super::head::head_lengths;
use super::{Grid, Lengths, OpSpec, StepArgs, binds, params, shared};
use crate::base::Real;
use crate::base::gamma::{digamma, ln_gamma, trigamma};

params! {
    /// terms [R, rows, 3] = (E[-log p_y], KL(Dir(c) || Dir(1)), 0); dz = gradient of the mean of nll + eta KL over the valid
    /// rows, 0 beyond them.
    DirichletHead {
        replicas: u32,
        rows: u32,
        k: u32,
        /// Replicas that share one row of labels: R / Y.
        share: u32,
    }
}

impl OpSpec for DirichletHead {
    binds!(dirichlet_head(step): [z, labels] -> [terms, dz]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64)
    }
    fn lengths(&self) -> Lengths {
        head_lengths(self.replicas, self.share, self.rows, self.k)
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && self.k > 0
    }
}

/// (E[-log p_y], KL) of one row; dz = weight * d(nll + eta KL)/dz.
#[inline(always)]
pub fn dirichlet_loss<T: Real>(z: &[T], label: usize, eta: T, weight: T, dz: &mut [T]) -> (T, T) {
    let (zero, one) = (T::zero(), T::one());
    // S - K, the part of the concentrations' sum that the outputs make.
    let mut excess = zero;
    for z in z {
        excess += z.at_least(zero);
    }
    let classes = T::of(z.len() as f64);
    let s = excess + classes;
    let (psi, slope) = (digamma(s), trigamma(s));
    let mut nll = psi - digamma(one);
    let mut kl = ln_gamma(s) - ln_gamma(classes);
    for (c, (z, dz)) in z.iter().zip(dz).enumerate() {
        // Where the concentration is 1 the divergence has no part and the relu no slope.
        if *z > zero {
            let conc = *z + one;
            let (psi_c, slope_c) = (digamma(conc), trigamma(conc));
            kl += *z * (psi_c - psi) - ln_gamma(conc);
            let mut d = slope + eta * (*z * slope_c - excess * slope);
            if c == label {
                nll = psi - psi_c;
                d -= slope_c;
            }
            *dz = weight * d;
        } else {
            // NaN is neither above nor below; it must stay visible.
            *dz = if *z <= zero { zero } else { *z };
        }
    }
    (nll, kl)
}

#[inline(always)]
pub fn dirichlet_head<T: Real>(
    p: &DirichletHead,
    args: &StepArgs<T>,
    z: &[T],
    labels: &[T],
    terms: &mut [T],
    dz: &mut [T],
) {
    let (rows, k) = (p.rows as usize, p.k as usize);
    let weight = T::one() / T::of(args.n_valid as f64);
    for r in 0..p.replicas as usize {
        for b in 0..rows {
            let at = r * rows + b;
            let dz = &mut dz[at * k..(at + 1) * k];
            let (mut nll, mut kl) = (T::zero(), T::zero());
            if b < args.n_valid as usize {
                let label = labels[r / p.share as usize * rows + b].f64() as usize;
                (nll, kl) = dirichlet_loss(&z[at * k..(at + 1) * k], label, args.eta, weight, dz);
            } else {
                dz.fill(T::zero());
            }
            terms[at * 3..at * 3 + 3].copy_from_slice(&[nll, kl, T::zero()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outputs (1, 0, -3): concentrations (2, 1, 1), S = 4. digamma(4) - digamma(2) = 1/2 + 1/3, and KL = E[log p_1] +
    /// log Gamma(4) - log Gamma(3) = log 3 - 5/6.
    #[test]
    fn by_hand() {
        let mut dz = [f64::NAN; 3];
        let (nll, kl) = dirichlet_loss(&[1.0, 0.0, -3.0], 0, 0.0, 1.0, &mut dz);
        assert!((nll - 5.0 / 6.0).abs() < 1e-14 && (kl - (3f64.ln() - 5.0 / 6.0)).abs() < 1e-14, "{nll} {kl}");
        // trigamma(4) - trigamma(2) = -(1/4 + 1/9); no slope where the concentration is 1.
        assert!((dz[0] + 13.0 / 36.0).abs() < 1e-14 && dz[1..] == [0.0, 0.0]);
        // A flat Dirichlet: no divergence, and harmonic numbers for the loss.
        let (nll, kl) = dirichlet_loss(&[-1.0, 0.0, -3.0], 2, 0.1, 1.0, &mut dz);
        assert!((nll - 1.5).abs() < 1e-14 && kl == 0.0 && dz == [0.0; 3]);
    }

    /// Five-point differences: h^4/30 f''''' + 1.5 eps f/h = 1e-13 + 1e-12.
    #[test]
    fn slopes_are_the_derivatives() {
        let z = [0.7, -0.4, 3.0, 25.0];
        for label in 0..4 {
            for eta in [0.0, 0.1, 2.0] {
                let loss = |z: &[f64]| {
                    let (nll, kl) = dirichlet_loss(z, label, eta, 1.0, &mut [0.0; 4]);
                    0.5 * (nll + eta * kl)
                };
                let mut dz = [f64::NAN; 4];
                dirichlet_loss(&z, label, eta, 0.5, &mut dz);
                for i in 0..4 {
                    let at = |m: f64| {
                        let mut v = z;
                        v[i] += m * 1e-3;
                        loss(&v)
                    };
                    let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * 1e-3);
                    assert!((dz[i] - slope).abs() < 1e-10, "{label} {eta} {i}: {} {slope}", dz[i]);
                }
            }
        }
    }

    #[test]
    fn not_a_number_stays_visible() {
        let mut dz = [0.0; 2];
        let (nll, kl) = dirichlet_loss(&[f64::NAN, 1.0], 1, 0.1, 1.0, &mut dz);
        assert!(nll.is_nan() && kl.is_nan() && dz.iter().all(|d| d.is_nan()));
    }
}
