//! The loss on top of a variational last layer: the bound on the expected log likelihood that Harrison et al. derive.

use crate::base::Real;
use crate::base::gamma::LN_TAU;
use crate::ops::head::{LIKELIHOOD_GAUSSIAN, head_lengths};
use crate::ops::{Grid, Lengths, OpSpec, StepArgs, binds, params, shared};

params! {
    /// terms [R, rows, 3] = (loss, 0, 0) from y [R, rows, 3k] = (m, v, log sn); dy = gradient of the mean over the valid rows, 0
    /// beyond them. Classification: logsumexp(m + (v + sn^2) / 2) - m_label. Regression, k = 1:
    /// 1/2 (t - m)^2 / sn^2 + log sn + 1/2 log 2pi + 1/2 v / sn^2.
    VbllHead {
        replicas: u32,
        rows: u32,
        k: u32,
        /// Replicas that share one row of labels: R / Y.
        share: u32,
        likelihood: u32,
    }
}

impl OpSpec for VbllHead {
    binds!(vbll_head(step): [y, labels] -> [terms, dy]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64)
    }
    fn lengths(&self) -> Lengths {
        head_lengths(self.replicas, self.share, self.rows, 3 * self.k)
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && self.k > 0 && (self.likelihood != LIKELIHOOD_GAUSSIAN || self.k == 1)
    }
}

/// -m_label + logsumexp(m + (v + sn^2) / 2); dy = weight * gradient.
#[inline(always)]
pub fn bound<T: Real>(y: &[T], label: usize, weight: T, dy: &mut [T]) -> T {
    let k = y.len() / 3;
    let half = T::of(0.5);
    let logit = |c: usize| y[c] + half * (y[k + c] + (y[2 * k + c] + y[2 * k + c]).exp());
    let mut top = logit(0);
    for c in 1..k {
        top = top.at_least(logit(c));
    }
    let (mut sum, mut chosen) = (T::zero(), T::zero());
    for c in 0..k {
        // Kept until the sum is known.
        dy[c] = (logit(c) - top).exp();
        sum += dy[c];
        if c == label {
            chosen = y[c];
        }
    }
    for c in 0..k {
        let share = dy[c] / sum;
        dy[c] = weight * if c == label { share - T::one() } else { share };
        dy[k + c] = weight * half * share;
        dy[2 * k + c] = weight * share * (y[2 * k + c] + y[2 * k + c]).exp();
    }
    sum.ln() + top - chosen
}

/// The expected -log N(t | z, sn^2), z ~ N(m, v), of y = (m, v, log sn); dy = weight * gradient.
#[inline(always)]
pub fn gaussian<T: Real>(y: &[T], t: T, weight: T, dy: &mut [T]) -> T {
    let half = T::of(0.5);
    let precision = (-(y[2] + y[2])).exp();
    let e = t - y[0];
    dy[0] = -weight * e * precision;
    dy[1] = weight * half * precision;
    let q = (e * e + y[1]) * precision;
    dy[2] = weight * (T::one() - q);
    half * q + y[2] + half * T::of(LN_TAU)
}

#[inline(always)]
pub fn vbll_head<T: Real>(p: &VbllHead, args: &StepArgs<T>, y: &[T], labels: &[T], terms: &mut [T], dy: &mut [T]) {
    let (rows, cols) = (p.rows as usize, 3 * p.k as usize);
    let weight = T::one() / T::of(args.n_valid as f64);
    for r in 0..p.replicas as usize {
        for b in 0..rows {
            let at = r * rows + b;
            let (y, dy) = (&y[at * cols..(at + 1) * cols], &mut dy[at * cols..(at + 1) * cols]);
            let mut loss = T::zero();
            if b < args.n_valid as usize {
                let label = labels[r / p.share as usize * rows + b];
                loss = if p.likelihood == LIKELIHOOD_GAUSSIAN {
                    gaussian(y, label, weight, dy)
                } else {
                    bound(y, label.f64() as usize, weight, dy)
                };
            } else {
                dy.fill(T::zero());
            }
            terms[at * 3..at * 3 + 3].copy_from_slice(&[loss, T::zero(), T::zero()]);
        }
    }
}
