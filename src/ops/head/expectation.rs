//! The expected -log p of a VIFO row and its gradient (MATH.md section 2): by samples, or in closed form.

use super::super::regularizer::sigma;
use super::{LIKELIHOOD_SOFTMAX, LIKELIHOOD_STUDENT, Student, VifoHead, gaussian_loss, student_loss};
use crate::base::Real;
use crate::base::gamma::LN_TAU;
use crate::base::rng::Draw;

/// Above this exponent the exact expectation goes on along its tangent: finite, and still pulling the right way.
const EXPONENT_MAX: f64 = 30.0;

/// Normals in the order in which the head reads them, drawn some hundred at a time.
pub(super) struct Normals {
    draw: Draw,
    next: u32,
    buffer: [f32; 256],
    used: usize,
}

impl Normals {
    #[inline(always)]
    pub(super) fn new(draw: Draw) -> Self {
        Normals { draw, next: 0, buffer: [0.0; 256], used: 256 }
    }
    #[inline(always)]
    pub(super) fn take(&mut self) -> f32 {
        if self.used == self.buffer.len() {
            self.draw.fill_normal(self.next, &mut self.buffer);
            self.next += self.buffer.len() as u32;
            self.used = 0;
        }
        self.used += 1;
        self.buffer[self.used - 1]
    }
}

/// One row's expected -log p by M samples, given the normals in the order (sample, output); adds to dmu and dsigma.
#[inline(always)]
pub fn sampled_expectation<T: Real>(
    p: &VifoHead,
    n_samples: u32,
    mu: &[T],
    sigma: &[T],
    y: T,
    mut eps: impl FnMut() -> T,
    z: &mut [T],
    e: &mut [T],
    scale: T,
    dmu: &mut [T],
    dsigma: &mut [T],
) -> T {
    let k = mu.len();
    let share = scale / T::of(n_samples as f64);
    let mut loss = T::zero();
    for _ in 0..n_samples {
        for c in 0..k {
            e[c] = eps();
            z[c] = mu[c] + sigma[c] * e[c];
        }
        if p.likelihood != LIKELIHOOD_SOFTMAX {
            let (v, dm, dl) = if p.likelihood == LIKELIHOOD_STUDENT {
                student_loss(p.noise_link, Student::new(p.nu, p.constant), z[0], z[1], y)
            } else {
                gaussian_loss(p.noise_link, z[0], z[1], y)
            };
            loss += v;
            dmu[0] += share * dm;
            dmu[1] += share * dl;
            dsigma[0] += share * dm * e[0];
            dsigma[1] += share * dl * e[1];
        } else {
            let mut top = z[0];
            for v in &z[1..] {
                top = top.at_least(*v);
            }
            let mut sum = T::zero();
            let label = y.f64() as usize;
            let chosen = z[label];
            for v in z.iter_mut() {
                *v = (*v - top).exp();
                sum += *v;
            }
            loss += sum.ln() + top - chosen;
            for c in 0..k {
                let d = share * (z[c] / sum - if c == label { T::one() } else { T::zero() });
                dmu[c] += d;
                dsigma[c] += d * e[c];
            }
        }
    }
    loss / T::of(n_samples as f64)
}

/// Pairs (row, sample) of a regression's head worked on at a time.
const PAIRS: usize = 256;

/// The sampled expectation of a regression's likelihood for the rows of `block`, `sampled_expectation` turned on its side:
/// over (row, sample) pairs, so that it becomes vector code. `first_row` is the block's place among the data rows.
#[inline(always)]
pub(super) fn regression_samples<T: Real>(
    p: &VifoHead,
    n_samples: u32,
    draw: &Draw,
    first_row: usize,
    block: &mut Block<T>,
    scale: T,
) {
    let m = n_samples as usize;
    let share = scale / T::of(m as f64);
    let each = T::one() / T::of(m as f64);
    let pairs = block.len * m;
    let mut eps = [0f32; 2 * PAIRS];
    let (mut mean, mut log, mut y) = ([T::zero(); PAIRS], [T::zero(); PAIRS], [T::zero(); PAIRS]);
    let (mut loss, mut dm, mut dl) = ([T::zero(); PAIRS], [T::zero(); PAIRS], [T::zero(); PAIRS]);
    let mut first = 0;
    while first < pairs {
        let n = PAIRS.min(pairs - first);
        draw.fill_normal(((first_row * m + first) * 2) as u32, &mut eps[..2 * n]);
        let e = |i: usize, c: usize| T::of(eps[2 * i + c] as f64);
        for i in 0..n {
            let b = (first + i) / m;
            mean[i] = block.mu[0][b] + block.sd[0][b] * e(i, 0);
            log[i] = block.mu[1][b] + block.sd[1][b] * e(i, 1);
            y[i] = block.y[b];
        }
        if p.likelihood == LIKELIHOOD_STUDENT {
            let t = Student::new(p.nu, p.constant);
            for i in 0..PAIRS {
                (loss[i], dm[i], dl[i]) = student_loss(p.noise_link, t, mean[i], log[i], y[i]);
            }
        } else {
            for i in 0..PAIRS {
                (loss[i], dm[i], dl[i]) = gaussian_loss(p.noise_link, mean[i], log[i], y[i]);
            }
        }
        for i in 0..n {
            let b = (first + i) / m;
            block.loss[b] += each * loss[i];
            block.dmu[0][b] += share * dm[i];
            block.dmu[1][b] += share * dl[i];
            block.dsd[0][b] += share * dm[i] * e(i, 0);
            block.dsd[1][b] += share * dl[i] * e(i, 1);
        }
        first += n;
    }
}

/// Rows of a block.
pub(super) const ROWS: usize = 64;

/// A block of rows of a regression's VIFO head, output by output.
pub struct Block<T> {
    pub(super) len: usize,
    pub(super) y: [T; ROWS],
    pub(super) mu: [[T; ROWS]; 2],
    pub(super) sd: [[T; ROWS]; 2],
    pub(super) slope: [[T; ROWS]; 2],
    pub(super) loss: [T; ROWS],
    pub(super) dmu: [[T; ROWS]; 2],
    pub(super) dsd: [[T; ROWS]; 2],
}

impl<T: Real> Block<T> {
    /// From `len` rows of outputs [len, 4].
    #[inline(always)]
    pub(super) fn new(sigma_link: u32, outputs: &[T], targets: &[T]) -> Self {
        let zero = T::zero();
        let pair = [[zero; ROWS]; 2];
        let mut block = Block {
            len: outputs.len() / 4,
            y: [zero; ROWS],
            mu: pair,
            sd: pair,
            slope: pair,
            loss: [zero; ROWS],
            dmu: pair,
            dsd: pair,
        };
        block.y[..targets.len()].copy_from_slice(targets);
        let mut rho = pair;
        for (b, row) in outputs.as_chunks::<4>().0.iter().take(ROWS).enumerate() {
            (block.mu[0][b], block.mu[1][b], rho[0][b], rho[1][b]) = (row[0], row[1], row[2], row[3]);
        }
        for c in 0..2 {
            for b in 0..ROWS {
                (block.sd[c][b], block.slope[c][b]) = sigma(sigma_link, rho[c][b]);
            }
        }
        block
    }
}

/// The closed form for a Gaussian likelihood with the exp link (MATH.md section 2).
#[inline(always)]
pub fn exact_expectation<T: Real>(mu: &[T], sigma: &[T], y: T, scale: T, dmu: &mut [T], dsigma: &mut [T]) -> T {
    let half = T::of(0.5);
    let e = y - mu[0];
    let q = e * e + sigma[0] * sigma[0];
    let x = half * sigma[1] * sigma[1] - mu[1];
    let top = T::of(EXPONENT_MAX);
    let slope = x.at_most(top).exp();
    let value = if x > top { slope * (T::one() + x - top) } else { slope };
    dmu[0] -= scale * e * value;
    dsigma[0] += scale * sigma[0] * value;
    dmu[1] += scale * half * (T::one() - q * slope);
    dsigma[1] += scale * half * q * slope * sigma[1];
    half * (q * value + mu[1] + T::of(LN_TAU))
}

#[cfg(test)]
mod tests {
    use super::super::{LIKELIHOOD_GAUSSIAN, NOISE_EXP};
    use super::*;

    /// The sampled expectation converges to the exact one: 200,000 samples, five standard errors.
    #[test]
    fn sampled_expectation_meets_the_closed_form() {
        let p = VifoHead {
            replicas: 1,
            rows: 1,
            data_rows: 1,
            k: 2,
            share: 1,
            likelihood: LIKELIHOOD_GAUSSIAN,
            noise_link: NOISE_EXP,
            sigma_link: 0,
            regularizer: 0,
            exact: 0,
            first_replica: 0,
            nu: 0.0,
            constant: 0.0,
        };
        let (mu, sd, y, n) = ([0.3, -0.5], [0.4, 0.3], 1.1, 200_000u32);
        let mut normals = Normals::new(Draw { seed: 4, stream: 1, step: 0, replica: 0 });
        let (mut a, mut b, mut c, mut d) = ([0.0; 2], [0.0; 2], [0.0; 2], [0.0; 2]);
        let (mut z, mut e) = ([0.0; 2], [0.0; 2]);
        let eps = || normals.take() as f64;
        let sampled = sampled_expectation(&p, n, &mu, &sd, y, eps, &mut z, &mut e, 1.0, &mut a, &mut b);
        let exact = exact_expectation(&mu, &sd, y, 1.0, &mut c, &mut d);
        // The integrand's sd is about 1.2 here, its gradients' below 3.
        let se = 5.0 * 3.0 / (n as f64).sqrt();
        assert!((sampled - exact).abs() < se, "{sampled} {exact}");
        for i in 0..2 {
            assert!((a[i] - c[i]).abs() < se && (b[i] - d[i]).abs() < se);
        }
    }
}
