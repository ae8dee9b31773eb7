//! Fused heads: from the last layer's outputs to per-row loss terms and their gradient, in one pass.
//! terms [R, rows, 3] = (-log p or its expectation, regularizer, auxiliary regularizer), each NOT yet divided by the
//! number of rows; gradients are those of the mean over the valid rows (MATH.md sections 1 and 2).

use super::regularizer::{self, REG_NONE, sigma};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, params, shared};
use crate::base::Real;
use crate::base::gamma::LN_TAU;
use crate::base::rng::{Draw, Stream};

mod expectation;
mod student;

pub use expectation::{exact_expectation, sampled_expectation};
pub use student::{HERMITE_5, HERMITE_9, Student, StudentHead, student_expectation, student_head, student_loss};

use expectation::{Block, Normals, ROWS, regression_samples};

pub const LIKELIHOOD_SOFTMAX: u32 = 0;
pub const LIKELIHOOD_GAUSSIAN: u32 = 1;
/// Student's t about m, its squared scale by the noise link (MATH.md section 1).
pub const LIKELIHOOD_STUDENT: u32 = 2;

/// Link g of the noise variance: exp (l clamped to [-10, 10]) or softplus (g clamped to [1e-3, 1e3]).
pub const NOISE_EXP: u32 = 0;
pub const NOISE_SOFTPLUS: u32 = 1;

params! {
    SoftmaxHead {
        replicas: u32,
        rows: u32,
        k: u32,
        /// Replicas that share one row of labels: R / Y.
        share: u32,
    }
}
params! {
    GaussianHead {
        replicas: u32,
        rows: u32,
        share: u32,
        noise_link: u32,
    }
}
params! {
    /// outputs [R, rows, 2K] = (mu, rho). Rows before `data_rows` carry the likelihood and eta * Reg, the others
    /// eta_aux * Reg.
    VifoHead {
        replicas: u32,
        rows: u32,
        data_rows: u32,
        k: u32,
        share: u32,
        likelihood: u32,
        noise_link: u32,
        sigma_link: u32,
        regularizer: u32,
        /// 1: without samples, by the closed form (Gaussian with the exp link only) or by quadrature (Student-t); 0: M samples.
        exact: u32,
        first_replica: u32,
        /// Of `LIKELIHOOD_STUDENT`, as in [`StudentHead`].
        nu: f32,
        constant: f32,
    }
}

/// Of a head that reads `k` outputs and a label of each row, and writes terms and the outputs' gradient.
pub(super) fn head_lengths(replicas: u32, share: u32, rows: u32, k: u32) -> Lengths {
    let z = elements(&[replicas, rows, k]);
    (vec![z, elements(&[replicas / share.max(1), rows])], vec![elements(&[replicas, rows, 3]), z])
}

impl OpSpec for SoftmaxHead {
    binds!(softmax_head(step): [z, labels] -> [terms, dz]);
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
impl OpSpec for GaussianHead {
    binds!(gaussian_head(step): [z, targets] -> [terms, dz]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64)
    }
    fn lengths(&self) -> Lengths {
        head_lengths(self.replicas, self.share, self.rows, 2)
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
    }
}
impl OpSpec for VifoHead {
    binds!(vifo_head(step): [outputs, targets, moments] -> [terms, doutputs], scratch);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64)
    }
    /// z, eps, sigma, slope, s2, dmu, dsigma, ds2.
    fn scratch(&self) -> usize {
        8 * self.k as usize
    }
    fn lengths(&self) -> Lengths {
        let z = elements(&[self.replicas, self.rows, 2, self.k]);
        let moments =
            if self.regularizer >= regularizer::REG_MEAN_ALL { elements(&[self.replicas, 6, self.k]) } else { 1 };
        (
            vec![z, elements(&[self.replicas / self.share.max(1), self.data_rows]), moments],
            vec![elements(&[self.replicas, self.rows, 3]), z],
        )
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share)
            && self.data_rows <= self.rows
            && self.k > 0
            && (self.likelihood == LIKELIHOOD_SOFTMAX || self.k == 2)
    }
}

/// -log p(y|z) by log-sum-exp; dz += scale * gradient.
#[inline(always)]
pub fn softmax_loss<T: Real>(z: &[T], label: usize, scale: T, dz: &mut [T]) -> T {
    let mut top = z[0];
    for v in &z[1..] {
        top = top.at_least(*v);
    }
    let mut sum = T::zero();
    for v in z {
        sum += (*v - top).exp();
    }
    for (d, v) in dz.iter_mut().zip(z) {
        *d += scale * ((*v - top).exp() / sum);
    }
    dz[label] -= scale;
    sum.ln() + top - z[label]
}

/// g and dg/dl of the noise link, clamped; the slope is 0 on the clamp.
#[inline(always)]
pub fn noise_variance<T: Real>(link: u32, l: T) -> (T, T) {
    if link == NOISE_SOFTPLUS {
        let g = l.softplus();
        let (low, high) = (T::of(1e-3), T::of(1e3));
        if g < low {
            (low, T::zero())
        } else if g > high {
            (high, T::zero())
        } else {
            (g, l.sigmoid())
        }
    } else {
        let c = l.at_least(T::of(-10.0)).at_most(T::of(10.0));
        let g = c.exp();
        (g, if c == l { g } else { T::zero() })
    }
}

/// -log N(y | m, g(l)) and its gradient (dm, dl).
#[inline(always)]
pub fn gaussian_loss<T: Real>(link: u32, m: T, l: T, y: T) -> (T, T, T) {
    let half = T::of(0.5);
    let (g, slope) = noise_variance(link, l);
    // With the exp link log g is the clamped l itself: no logarithm, and no loss of digits.
    let log_g = if link == NOISE_EXP { l.at_least(T::of(-10.0)).at_most(T::of(10.0)) } else { g.ln() };
    let e = y - m;
    let q = e * e / g;
    let value = half * (q + log_g + T::of(LN_TAU));
    (value, -e / g, half * (T::one() - q) / g * slope)
}

#[inline(always)]
pub fn softmax_head<T: Real>(
    p: &SoftmaxHead,
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
            dz.fill(T::zero());
            terms[at * 3..at * 3 + 3].fill(T::zero());
            if b < args.n_valid as usize {
                let label = labels[r / p.share as usize * rows + b].f64() as usize;
                terms[at * 3] = softmax_loss(&z[at * k..(at + 1) * k], label, weight, dz);
            }
        }
    }
}

#[inline(always)]
pub fn gaussian_head<T: Real>(
    p: &GaussianHead,
    args: &StepArgs<T>,
    z: &[T],
    targets: &[T],
    terms: &mut [T],
    dz: &mut [T],
) {
    let sizes = (p.replicas as usize, p.rows as usize, p.share as usize);
    // The link a constant: of that the compiler makes vector code.
    if p.noise_link == NOISE_EXP {
        regression_rows(sizes, args, z, targets, terms, dz, |m, l, y| gaussian_loss(NOISE_EXP, m, l, y));
    } else {
        regression_rows(sizes, args, z, targets, terms, dz, |m, l, y| gaussian_loss(NOISE_SOFTPLUS, m, l, y));
    }
}

/// The head of a regression by `loss` of (m, l, y), which gives -log p and its slopes in m and l. `sizes` are those of the
/// head: replicas, rows, share.
#[inline(always)]
fn regression_rows<T: Real>(
    (replicas, rows, share): (usize, usize, usize),
    args: &StepArgs<T>,
    z: &[T],
    targets: &[T],
    terms: &mut [T],
    dz: &mut [T],
    of_row: impl Fn(T, T, T) -> (T, T, T),
) {
    let n_valid = args.n_valid as usize;
    let weight = T::one() / T::of(args.n_valid as f64);
    for r in 0..replicas {
        let targets = &targets[r / share * rows..][..rows];
        for first in (0..rows).step_by(ROWS) {
            let n = ROWS.min(rows - first);
            let at = r * rows + first..r * rows + first + n;
            let (z, targets) = (&z[2 * at.start..2 * at.end], &targets[first..first + n]);
            let (mut m, mut l, mut y) = ([T::zero(); ROWS], [T::zero(); ROWS], [T::zero(); ROWS]);
            for i in 0..n {
                (m[i], l[i], y[i]) = (z[2 * i], z[2 * i + 1], targets[i]);
            }
            let (mut loss, mut dm, mut dl) = ([T::zero(); ROWS], [T::zero(); ROWS], [T::zero(); ROWS]);
            for i in 0..ROWS {
                (loss[i], dm[i], dl[i]) = of_row(m[i], l[i], y[i]);
            }
            let (terms, dz) = (&mut terms[3 * at.start..3 * at.end], &mut dz[2 * at.start..2 * at.end]);
            let zero = T::zero();
            for (i, (terms, dz)) in terms.as_chunks_mut().0.iter_mut().zip(dz.as_chunks_mut().0).enumerate() {
                let valid = first + i < n_valid;
                *terms = [if valid { loss[i] } else { zero }, zero, zero];
                *dz = if valid { [weight * dm[i], weight * dl[i]] } else { [zero; 2] };
            }
        }
    }
}

#[inline(always)]
pub fn vifo_head<T: Real>(
    p: &VifoHead,
    args: &StepArgs<T>,
    outputs: &[T],
    targets: &[T],
    moments: &[T],
    terms: &mut [T],
    doutputs: &mut [T],
    scratch: &mut [T],
) {
    let (rows, data_rows, k) = (p.rows as usize, p.data_rows as usize, p.k as usize);
    for r in 0..p.replicas as usize {
        let part = r * rows * 2 * k..(r + 1) * rows * 2 * k;
        let head = Rows {
            p,
            args,
            outputs: &outputs[part.clone()],
            targets: &targets[r / p.share as usize * data_rows..][..data_rows],
            moments: if p.regularizer >= regularizer::REG_MEAN_ALL {
                &moments[r * 6 * k..(r + 1) * 6 * k]
            } else {
                &[]
            },
            draw: Draw {
                seed: args.seed,
                stream: Stream::Head as u32,
                step: args.step,
                replica: p.first_replica + r as u32,
            },
        };
        let terms = &mut terms[r * rows * 3..(r + 1) * rows * 3];
        if p.likelihood == LIKELIHOOD_SOFTMAX {
            head.softmax(terms, &mut doutputs[part], scratch);
        } else {
            head.regression(terms, &mut doutputs[part]);
        }
    }
}

/// The rows of one replica.
struct Rows<'a, T> {
    p: &'a VifoHead,
    args: &'a StepArgs<T>,
    outputs: &'a [T],
    targets: &'a [T],
    /// [2, 3, K], for the "_all" regularizers.
    moments: &'a [T],
    draw: Draw,
}

impl<T: Real> Rows<'_, T> {
    /// 1 / valid rows, 1 / auxiliary rows.
    #[inline(always)]
    fn weights(&self) -> (T, T) {
        let aux = (self.p.rows - self.p.data_rows).max(1);
        (T::one() / T::of(self.args.n_valid as f64), T::one() / T::of(aux as f64))
    }

    /// Adds the regularizer of row `b` to its terms and gradients.
    #[inline(always)]
    fn regularize(&self, b: usize, mu: &[T], s2: &[T], term: &mut [T], dmu: &mut [T], ds2: &mut [T]) {
        if self.p.regularizer == REG_NONE {
            return;
        }
        let is_data = b < self.p.data_rows as usize;
        let (data_weight, aux_weight) = self.weights();
        let (weight, group) =
            if is_data { (self.args.eta * data_weight, 0) } else { (self.args.eta_aux * aux_weight, 1) };
        let moments = if self.moments.is_empty() { &[] } else { &self.moments[group * 3 * mu.len()..] };
        term[1 + group] = regularizer::row(self.p.regularizer, &self.args.prior, mu, s2, moments, weight, dmu, ds2);
    }

    #[inline(always)]
    fn regression(&self, terms: &mut [T], doutputs: &mut [T]) {
        let p = self.p;
        let (rows, data_rows, n_valid) = (p.rows as usize, p.data_rows as usize, self.args.n_valid as usize);
        let weight = self.weights().0;
        terms.fill(T::zero());
        doutputs[n_valid * 4..data_rows * 4].fill(T::zero());
        // Blocks of valid rows, then blocks of auxiliary rows.
        let mut b = 0;
        while b < rows {
            if b == n_valid {
                b = data_rows;
            }
            let end = if b < n_valid { n_valid } else { rows }.min(b + ROWS);
            if b >= end {
                break;
            }
            let targets = if b < n_valid { &self.targets[b..end] } else { &[] };
            let mut block = Block::new(p.sigma_link, &self.outputs[b * 4..end * 4], targets);
            if b < n_valid {
                if p.exact == 1 && p.likelihood == LIKELIHOOD_STUDENT {
                    student_expectation(p.noise_link, Student::new(p.nu, p.constant), &mut block, weight);
                } else if p.exact == 1 {
                    for i in 0..ROWS {
                        let (mu, sd) = ([block.mu[0][i], block.mu[1][i]], [block.sd[0][i], block.sd[1][i]]);
                        let (mut dmu, mut dsd) = ([T::zero(); 2], [T::zero(); 2]);
                        block.loss[i] = exact_expectation(&mu, &sd, block.y[i], weight, &mut dmu, &mut dsd);
                        (block.dmu[0][i], block.dmu[1][i], block.dsd[0][i], block.dsd[1][i]) =
                            (dmu[0], dmu[1], dsd[0], dsd[1]);
                    }
                } else {
                    regression_samples(p, self.args.n_samples, &self.draw, b, &mut block, weight);
                }
            }
            for i in 0..end - b {
                let term = &mut terms[(b + i) * 3..(b + i + 1) * 3];
                term[0] = block.loss[i];
                let (mu, sd) = ([block.mu[0][i], block.mu[1][i]], [block.sd[0][i], block.sd[1][i]]);
                let (mut dmu, mut ds2) = ([block.dmu[0][i], block.dmu[1][i]], [T::zero(); 2]);
                self.regularize(b + i, &mu, &[sd[0] * sd[0], sd[1] * sd[1]], term, &mut dmu, &mut ds2);
                let drho = |c: usize| (block.dsd[c][i] + T::of(2.0) * sd[c] * ds2[c]) * block.slope[c][i];
                doutputs[(b + i) * 4..(b + i + 1) * 4].copy_from_slice(&[dmu[0], dmu[1], drho(0), drho(1)]);
            }
            b = end;
        }
    }

    #[inline(always)]
    fn softmax(&self, terms: &mut [T], doutputs: &mut [T], scratch: &mut [T]) {
        let p = self.p;
        let (rows, data_rows, n_valid, k) =
            (p.rows as usize, p.data_rows as usize, self.args.n_valid as usize, p.k as usize);
        let mut normals = Normals::new(self.draw);
        for b in 0..rows {
            let term = &mut terms[b * 3..b * 3 + 3];
            term.fill(T::zero());
            let grad = &mut doutputs[b * 2 * k..(b + 1) * 2 * k];
            if b < data_rows && b >= n_valid {
                grad.fill(T::zero());
                continue;
            }
            let (mu, rho) = self.outputs[b * 2 * k..(b + 1) * 2 * k].split_at(k);
            let mut part = scratch.chunks_exact_mut(k);
            let mut next = || part.next().expect("scratch() asks for eight parts");
            let (z, e, sd, slope, s2, dsigma, ds2) = (next(), next(), next(), next(), next(), next(), next());
            for c in 0..k {
                (sd[c], slope[c]) = sigma(p.sigma_link, rho[c]);
                s2[c] = sd[c] * sd[c];
            }
            dsigma.fill(T::zero());
            ds2.fill(T::zero());
            let (dmu, drho) = grad.split_at_mut(k);
            dmu.fill(T::zero());
            if b < data_rows {
                let eps = || T::of(normals.take() as f64);
                let weight = self.weights().0;
                term[0] = sampled_expectation(
                    p,
                    self.args.n_samples,
                    mu,
                    sd,
                    self.targets[b],
                    eps,
                    z,
                    e,
                    weight,
                    dmu,
                    dsigma,
                );
            }
            self.regularize(b, mu, s2, term, dmu, ds2);
            let two = T::of(2.0);
            for c in 0..k {
                drho[c] = (dsigma[c] + two * sd[c] * ds2[c]) * slope[c];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two logits 0 and log 3: p = (1/4, 3/4).
    #[test]
    fn softmax_by_hand() {
        let mut dz = [0.0; 2];
        let loss = softmax_loss(&[0.0, 3f64.ln()], 1, 1.0, &mut dz);
        assert!((loss - (4.0f64 / 3.0).ln()).abs() < 1e-15);
        assert!((dz[0] - 0.25).abs() < 1e-15 && (dz[1] + 0.25).abs() < 1e-15);
    }
}
