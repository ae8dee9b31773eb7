//! From outputs to predictions (MATH.md section 7): average over samples and members of p(y|z).
//! Regression integrates z exactly: m analytically, l by Gauss-Hermite quadrature, so a prediction has no sampling noise.

use super::{Kind, Setup, laplace};
use crate::base::gamma::digamma;
use crate::base::rng::{Draw, Stream};
use crate::data::Task;
use crate::metrics::{Mixture, mutual_information, weighted};
use crate::ops::head::{NOISE_EXP, noise_variance};
use crate::ops::regularizer::sigma;

#[derive(Debug, Clone)]
pub enum Predictive {
    Regression(Regression),
    Classification(Classification),
}

/// A Gaussian mixture for each row, in standardised units until `rescale`.
#[derive(Debug, Clone, Default)]
pub struct Regression {
    /// [c], the same for all rows.
    pub weights: Vec<f64>,
    /// [n, c].
    pub means: Vec<f64>,
    pub vars: Vec<f64>,
    /// [n] each: predictive mean, aleatoric and epistemic variance (their sum is the total).
    pub mean: Vec<f64>,
    pub aleatoric: Vec<f64>,
    pub epistemic: Vec<f64>,
    /// [E, n], for drawing members.
    pub member_means: Vec<f64>,
}

#[derive(Debug, Clone, Default)]
pub struct Classification {
    pub k: usize,
    /// [n, k]: the average.
    pub probs: Vec<f64>,
    /// [n] each, in nats: H(p-bar), mean H(p_s), their difference.
    pub total: Vec<f64>,
    pub aleatoric: Vec<f64>,
    pub epistemic: Vec<f64>,
}

impl Regression {
    pub fn n(&self) -> usize {
        self.mean.len()
    }
    pub fn row(&self, i: usize) -> Mixture<'_> {
        let c = self.weights.len();
        Mixture { weights: &self.weights, means: &self.means[i * c..(i + 1) * c], vars: &self.vars[i * c..(i + 1) * c] }
    }
    pub fn sd(&self, i: usize) -> f64 {
        (self.aleatoric[i] + self.epistemic[i]).sqrt()
    }
    /// Into the user's units: y = mean + sd * standardised y.
    pub fn rescale(&mut self, mean: f64, sd: f64) {
        for v in self.means.iter_mut().chain(&mut self.mean).chain(&mut self.member_means) {
            *v = mean + sd * *v;
        }
        for v in self.vars.iter_mut().chain(&mut self.aleatoric).chain(&mut self.epistemic) {
            *v *= sd * sd;
        }
    }
    /// Mean of -log p(y), in the units in which the mixture stands.
    pub fn nll(&self, y: &[f64]) -> f64 {
        -y.iter().enumerate().map(|(i, y)| self.row(i).log_density(*y)).sum::<f64>() / y.len() as f64
    }
    /// The same of rows that count by `weights` [n], or alike where there are none.
    pub fn weighted_nll(&self, y: &[f64], weights: &[f32]) -> f64 {
        if weights.is_empty() {
            return self.nll(y);
        }
        weighted::mean(y.iter().enumerate().map(|(i, y)| -self.row(i).log_density(*y)), weights)
    }
}

/// Nodes and weights of Gauss-Hermite quadrature for a standard normal, nine points (exact to degree 17).
pub(crate) const NODES: [(f64, f64); 9] = [
    (-4.512745863399783, 2.234584400774658e-5),
    (-3.20542900285647, 2.789141321231769e-3),
    (-2.07684797867783, 4.991640676521787e-2),
    (-1.023255663789133, 2.440975028949394e-1),
    (0.0, 4.063492063492064e-1),
    (1.023255663789133, 2.440975028949394e-1),
    (2.07684797867783, 4.991640676521787e-2),
    (3.20542900285647, 2.789141321231769e-3),
    (4.512745863399783, 2.234584400774658e-5),
];

impl Setup {
    /// `outputs` [replicas, n, n_out] of all members in order.
    pub fn predictive(&self, outputs: &[f32], n: usize, seed: u32) -> Predictive {
        match self.task {
            Task::Regression => Predictive::Regression(self.regression(outputs, n)),
            Task::Classification => Predictive::Classification(self.classification(outputs, n, seed)),
        }
    }

    /// A row of outputs as normals: (mean of m, mean of l, variance of m, sd of l). Only VIFO and Laplace leave l open; VBLL
    /// has one noise for all rows.
    fn normals(&self, z: &[f32]) -> (f64, f64, f64, f64) {
        let at = |i: usize| f64::from(z[i]);
        match self.kind {
            Kind::Vifo(_) => {
                let sd = |i: usize| sigma(self.sigma_code(), at(i)).0;
                (at(0), at(1), sd(2) * sd(2), sd(3))
            }
            Kind::Laplace => (at(0), at(1), at(2), at(3).max(0.0).sqrt()),
            Kind::Vbll => (at(0), 2.0 * at(2), at(1), 0.0),
            _ => (at(0), at(1), 0.0, 0.0),
        }
    }

    /// Numbers of a row of outputs as `Predictor` gives them: Laplace adds a variance to each.
    pub fn output_width(&self) -> usize {
        let n_out = self.net.n_out() as usize;
        match self.kind {
            Kind::Laplace if !self.draws_last_layer() => 2 * n_out,
            _ => n_out,
        }
    }

    /// Whether Laplace's classes come from samples of the last layer, `predict_samples` replicas a member.
    pub fn draws_last_layer(&self) -> bool {
        self.kind == Kind::Laplace && self.options.last_layer_samples && self.task == Task::Classification
    }

    fn regression(&self, outputs: &[f32], n: usize) -> Regression {
        let is_open = matches!(self.kind, Kind::Vifo(_) | Kind::Laplace);
        let n_out = self.output_width();
        let replicas = outputs.len() / (n * n_out).max(1);
        let members = self.members as usize;
        let per_member = replicas / members;
        let nodes: &[(f64, f64)] = if is_open { &NODES } else { &[(0.0, 1.0)] };
        let c = replicas * nodes.len();
        let noise = if self.kind == Kind::Vbll { NOISE_EXP } else { self.noise_code() };
        let mut out = Regression { member_means: vec![0.0; members * n], ..Default::default() };
        for _ in 0..replicas {
            out.weights.extend(nodes.iter().map(|(_, w)| w / replicas as f64));
        }
        for i in 0..n {
            let (mut aleatoric, mut mean, mut square, mut spread) = (0.0, 0.0, 0.0, 0.0);
            for r in 0..replicas {
                let (m, l, s2_m, sd_l) = self.normals(&outputs[(r * n + i) * n_out..][..n_out]);
                let mut noise_mean = 0.0;
                for (node, weight) in nodes {
                    let g = noise_variance(noise, l + sd_l * node).0;
                    noise_mean += weight * g;
                    out.means.push(m);
                    out.vars.push(s2_m + g);
                }
                // E exp(l) has a closed form (MATH.md section 7); the clamp of l is kept.
                aleatoric += if is_open && noise == NOISE_EXP {
                    (l + 0.5 * sd_l * sd_l).clamp(-10.0, 10.0).exp()
                } else {
                    noise_mean
                };
                mean += m;
                square += m * m;
                spread += s2_m;
                out.member_means[(r / per_member) * n + i] += m / per_member as f64;
            }
            let r = replicas as f64;
            let mean = mean / r;
            out.mean.push(mean);
            out.aleatoric.push(aleatoric / r);
            out.epistemic.push(spread / r + (square / r - mean * mean).max(0.0));
        }
        debug_assert_eq!(out.means.len(), n * c);
        out
    }

    /// Whether a row of outputs holds a distribution of the logits instead of the logits themselves.
    fn has_open_logits(&self) -> bool {
        match self.kind {
            Kind::Vifo(_) | Kind::Vbll => true,
            Kind::Laplace => !self.draws_last_layer(),
            _ => false,
        }
    }

    /// Standard deviation of logit `c` of a row.
    fn logit_sd(&self, z: &[f32], c: usize) -> f64 {
        let k = self.k as usize;
        match self.kind {
            Kind::Vifo(_) => sigma(self.sigma_code(), f64::from(z[k + c])).0,
            Kind::Laplace if !self.draws_last_layer() => f64::from(z[k + c]).max(0.0).sqrt(),
            Kind::Vbll => (f64::from(z[k + c]) + (2.0 * f64::from(z[2 * k + c])).exp()).sqrt(),
            _ => 0.0,
        }
    }

    fn classification(&self, outputs: &[f32], n: usize, seed: u32) -> Classification {
        if self.kind == Kind::Dirichlet {
            return self.evidential(outputs, n);
        }
        let k = self.k as usize;
        let n_out = self.output_width();
        let replicas = outputs.len() / (n * n_out).max(1);
        let is_open = self.has_open_logits();
        let samples = if is_open { self.predict_samples as usize } else { 1 };
        let total = replicas * samples;
        // A chunk of rows at a time: all samples of all rows would not fit for large sets.
        let chunk = (1 << 20) / (total * k).max(1) + 1;
        let mut out = Classification { k, ..Default::default() };
        let mut eps = vec![0f32; samples * k];
        let mut probs = vec![];
        for first in (0..n).step_by(chunk) {
            let rows = chunk.min(n - first);
            probs.clear();
            probs.resize(total * rows * k, 0.0);
            for r in 0..replicas {
                // The same normals for every row: a row's prediction does not depend on its place in the file.
                let replica = self.first_member + r as u32;
                Draw { seed, stream: Stream::Predict as u32, step: 0, replica }.fill_normal(0, &mut eps);
                for i in 0..rows {
                    let z = &outputs[(r * n + first + i) * n_out..][..n_out];
                    for s in 0..samples {
                        let p = &mut probs[((r * samples + s) * rows + i) * k..][..k];
                        for c in 0..k {
                            p[c] = f64::from(z[c]);
                            if is_open {
                                p[c] += self.logit_sd(z, c) * f64::from(eps[s * k + c]);
                            }
                        }
                        softmax(p);
                    }
                }
            }
            let split = mutual_information(&probs, total, rows, k);
            out.total.extend(split.total);
            out.aleatoric.extend(split.aleatoric);
            out.epistemic.extend(split.epistemic);
            for i in 0..rows {
                for c in 0..k {
                    out.probs.push((0..total).map(|s| probs[(s * rows + i) * k + c]).sum::<f64>() / total as f64);
                }
            }
        }
        if self.kind == Kind::Laplace && !self.draws_last_layer() {
            self.probit(outputs, n, &mut out);
        }
        out
    }

    /// Laplace: the probit approximation in place of the samples' average. The samples keep their say in how the
    /// entropy parts, since an approximated average alone has no parts.
    fn probit(&self, outputs: &[f32], n: usize, out: &mut Classification) {
        let (k, n_out) = (self.k as usize, self.output_width());
        let replicas = outputs.len() / (n * n_out).max(1);
        for i in 0..n {
            let average = &mut out.probs[i * k..(i + 1) * k];
            average.fill(0.0);
            for r in 0..replicas {
                let row: Vec<f64> = outputs[(r * n + i) * n_out..][..n_out].iter().map(|&v| f64::from(v)).collect();
                for (sum, p) in average.iter_mut().zip(laplace::probit(&row[..k], &row[k..])) {
                    *sum += p / replicas as f64;
                }
            }
            out.total[i] = entropy(average);
            out.aleatoric[i] = out.aleatoric[i].min(out.total[i]);
            out.epistemic[i] = out.total[i] - out.aleatoric[i];
        }
    }

    /// Dirichlet: p = conc / sum conc; the expected entropy under it has a closed form,
    /// digamma(S + 1) - sum_j p_j digamma(conc_j + 1).
    fn evidential(&self, outputs: &[f32], n: usize) -> Classification {
        let k = self.k as usize;
        let replicas = outputs.len() / (n * k).max(1);
        let mut out = Classification { k, ..Default::default() };
        for i in 0..n {
            let (mut average, mut aleatoric) = (vec![0.0; k], 0.0);
            for r in 0..replicas {
                let conc: Vec<f64> =
                    outputs[(r * n + i) * k..][..k].iter().map(|&z| f64::from(z).max(0.0) + 1.0).collect();
                let sum: f64 = conc.iter().sum();
                for (a, c) in average.iter_mut().zip(&conc) {
                    *a += c / sum / replicas as f64;
                }
                let inner: f64 = conc.iter().map(|c| c / sum * digamma(c + 1.0)).sum();
                aleatoric += (digamma(sum + 1.0) - inner) / replicas as f64;
            }
            let total = entropy(&average);
            let aleatoric = aleatoric.clamp(0.0, total);
            out.probs.extend(average);
            out.total.push(total);
            out.aleatoric.push(aleatoric);
            out.epistemic.push(total - aleatoric);
        }
        out
    }
}

/// In nats.
fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

fn softmax(z: &mut [f64]) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for v in z.iter_mut() {
        *v = (*v - top).exp();
        sum += *v;
    }
    for v in z.iter_mut() {
        *v /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule integrates even powers of a standard normal exactly: 1, 1, 3, 15, 105.
    #[test]
    fn quadrature_has_the_normals_moments() {
        for (p, want) in [(0, 1.0), (2, 1.0), (4, 3.0), (6, 15.0), (8, 105.0), (16, 2_027_025.0)] {
            let got: f64 = NODES.iter().map(|(x, w)| w * x.powi(p)).sum();
            assert!((got / want - 1.0).abs() < 1e-12, "power {p}: {got}");
        }
    }
}
