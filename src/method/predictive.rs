//! From outputs to predictions (MATH.md section 7): average over samples and members of p(y|z).
//! Regression integrates z exactly: m analytically, l by quadrature (`scale_mixture`), so a prediction has no sampling noise.

use super::hypercube::{self, Hypercube};
use super::row::Row;
use super::scale_mixture::ScaleMixture;
use super::student_mixture;
use super::{ModelSpec, laplace};
use crate::base::gamma::digamma;
use crate::data::Task;
use crate::metrics::{self, mutual_information, temperature, weighted};
use crate::ops::head::NOISE_EXP;
use crate::ops::regularizer::sigma;

/// What a row of a network's outputs means, for each target of the row in turn; z has k numbers, the logits of k classes or
/// (mean m, l) of a regression with the noise variance g(l) by the noise link.
#[derive(Debug, Clone, Copy)]
pub enum Outputs {
    /// z itself.
    Plain,
    /// Means of z [k], then its standard deviations [k] before the sigma link.
    Sigmas,
    /// Of all targets: means of z, and behind them, from `HostLayer`, variances of z. Classes are averaged by the probit
    /// approximation.
    Variances,
    /// Mean [k], variance [k] and logarithm of the noise's standard deviation [k] of each logit, or of the target itself (k = 1).
    VariancesAndNoise,
    /// Concentrations of a Dirichlet distribution over the classes, relu(z) + 1.
    Concentrations,
    /// By functions of the method's own.
    Own(Reading),
}

/// Of a setup, a row of outputs and a class.
pub type LogitSd = fn(&ModelSpec, &[f32], usize) -> f64;

/// How a row of outputs of one target is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Of a regression.
    pub moments: fn(&ModelSpec, &[f32]) -> Moments,
    /// Standard deviation of the logit of class c, whose mean is output c; None where outputs are the logits.
    pub logit_sd: Option<LogitSd>,
}

/// z = (m, l) of one target as normals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Mean and variance of m, in standardised units.
    pub m: f64,
    pub v: f64,
    /// Mean and standard deviation of l, the noise before its link.
    pub l: f64,
    pub sd: f64,
}

#[derive(Debug, Clone)]
pub enum Predictive {
    Regression(Regression),
    Classification(Classification),
}

/// What is predicted for each row: in equal parts what each network says, a normal or a [`ScaleMixture`], or one with the noise
/// of a Student-t (`student_mixture`).
#[derive(Debug, Clone, Default)]
pub struct Regression {
    /// [n, networks], in standardised units.
    pub parts: Vec<ScaleMixture>,
    /// Degrees of freedom of the noise; None where it is normal.
    pub nu: Option<f64>,
    /// y = shift + scale * standardised y.
    shift: f64,
    scale: f64,
    /// What the parts say of a row is drawn out about its mean by this factor: 1, or what an ensemble's training found (`SPREAD`).
    spread: f64,
    /// [n] each, in the unit of y: predictive mean, aleatoric and epistemic variance (their sum is the total).
    pub mean: Vec<f64>,
    pub aleatoric: Vec<f64>,
    pub epistemic: Vec<f64>,
    /// [E, n], for drawing members.
    pub member_means: Vec<f64>,
}

/// Where a row comes from: the number of a predictive, and the row in it.
pub type From = (usize, usize);

impl Predictive {
    /// The rows `from` of several predictives of one task, made by equally many networks each.
    pub fn gather(all: &[&Predictive], from: &[From]) -> Predictive {
        match all.first() {
            Some(Predictive::Classification(first)) => {
                let all: Vec<&Classification> = all.iter().filter_map(|p| p.classification()).collect();
                let one = |of: fn(&Classification) -> &[f64], k| rows(&all, from, of, k);
                Predictive::Classification(Classification {
                    k: first.k,
                    by_folds: first.by_folds,
                    probs: one(|c| &c.probs, first.k),
                    total: one(|c| &c.total, 1),
                    aleatoric: one(|c| &c.aleatoric, 1),
                    epistemic: one(|c| &c.epistemic, 1),
                })
            }
            Some(Predictive::Regression(first)) => {
                let all: Vec<&Regression> = all.iter().filter_map(|p| p.regression()).collect();
                let one = |of: fn(&Regression) -> &[f64]| rows(&all, from, of, 1);
                let networks = first.parts.len() / first.n().max(1);
                Predictive::Regression(Regression {
                    parts: rows(&all, from, |r| &r.parts, networks),
                    nu: first.nu,
                    spread: first.spread,
                    shift: first.shift,
                    scale: first.scale,
                    mean: one(|r| &r.mean),
                    aleatoric: one(|r| &r.aleatoric),
                    epistemic: one(|r| &r.epistemic),
                    // Those of one member are no members of the whole.
                    member_means: one(|r| &r.mean),
                })
            }
            None => Predictive::Classification(Classification::default()),
        }
    }
    pub fn regression(&self) -> Option<&Regression> {
        if let Predictive::Regression(r) = self { Some(r) } else { None }
    }
    pub fn classification(&self) -> Option<&Classification> {
        if let Predictive::Classification(c) = self { Some(c) } else { None }
    }
}

/// Rows of `width` numbers each.
fn rows<P, T: Clone>(all: &[&P], from: &[From], of: fn(&P) -> &[T], width: usize) -> Vec<T> {
    from.iter().flat_map(|&(p, i)| of(all[p])[i * width..(i + 1) * width].iter().cloned()).collect()
}

#[derive(Debug, Clone, Default)]
pub struct Classification {
    pub k: usize,
    /// [n, k]: the average, or what an ensemble's training has sharpened it to (`SHARPNESS`).
    pub probs: Vec<f64>,
    /// [n] each, in nats: H(p-bar), mean H(p_s), their difference; in the same shares of its entropy where it was sharpened.
    pub total: Vec<f64>,
    pub aleatoric: Vec<f64>,
    pub epistemic: Vec<f64>,
    /// The exponent that the members' folds gave.
    pub by_folds: Option<f64>,
}

impl Classification {
    /// p^(agreement folds), normalised, of each row, once.
    pub fn sharpen(&mut self, [agreement, folds]: [f64; 2]) {
        self.probs = temperature::apply(&self.probs, self.k, 1.0 / (agreement * folds));
        self.by_folds = Some(folds);
        let total = metrics::entropy(&self.probs, self.k);
        for (i, after) in total.into_iter().enumerate() {
            let before = std::mem::replace(&mut self.total[i], after);
            let by = if before > 0.0 { after / before } else { 1.0 };
            self.aleatoric[i] *= by;
            self.epistemic[i] *= by;
        }
    }
    /// [n, k] without the exponent of the folds: calibration makes its own of the same rows.
    pub fn uncalibrated(&self) -> Vec<f64> {
        temperature::apply(&self.probs, self.k, self.by_folds.unwrap_or(1.0))
    }
}

impl Regression {
    /// One normal per row, of these variances and their parts, in the unit of y.
    pub fn normals(mean: Vec<f64>, vars: &[f64], aleatoric: Vec<f64>, epistemic: Vec<f64>) -> Regression {
        let parts = mean.iter().zip(vars).map(|(m, v)| ScaleMixture::normal(*m, *v)).collect();
        Regression {
            parts,
            nu: None,
            shift: 0.0,
            scale: 1.0,
            spread: 1.0,
            member_means: mean.clone(),
            mean,
            aleatoric,
            epistemic,
        }
    }
    pub fn n(&self) -> usize {
        self.mean.len()
    }
    fn parts_of(&self, i: usize) -> &[ScaleMixture] {
        let c = self.parts.len() / self.n().max(1);
        &self.parts[i * c..(i + 1) * c]
    }
    /// Row i, for as many questions as there are.
    pub fn row(&self, i: usize) -> Row {
        let shift = self.mean[i] + self.spread * (self.shift - self.mean[i]);
        Row::of(self.parts_of(i), self.nu, shift, self.spread * self.scale)
    }
    pub fn sd(&self, i: usize) -> f64 {
        (self.aleatoric[i] + self.epistemic[i]).sqrt()
    }
    /// As it would be without a spread: what calibration by members alone refers to.
    pub fn unadjusted_sd(&self, i: usize) -> f64 {
        self.sd(i) / self.spread
    }
    /// Draws what is said of each row out about its mean, once.
    pub fn draw_out(&mut self, spread: f64) {
        self.spread = spread;
        self.aleatoric.iter_mut().chain(&mut self.epistemic).for_each(|v| *v *= spread * spread);
    }
    /// Into the user's units: y = mean + sd * standardised y. Of standardised predictions, once.
    pub fn rescale(&mut self, mean: f64, sd: f64) {
        (self.shift, self.scale) = (mean, sd);
        for v in self.mean.iter_mut().chain(&mut self.member_means) {
            *v = mean + sd * *v;
        }
        for v in self.aleatoric.iter_mut().chain(&mut self.epistemic) {
            *v *= sd * sd;
        }
    }
    /// log p(y) of row i, in nats and in y's unit: the logarithm of the parts' mean.
    pub fn log_density(&self, i: usize, y: f64) -> f64 {
        let y = self.mean[i] + (y - self.mean[i]) / self.spread;
        let (parts, y) = (self.parts_of(i), (y - self.shift) / self.scale);
        // In one pass: `sum` is that of exp(term - top) so far.
        let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0);
        for part in parts {
            let term = match self.nu {
                None => part.log_density(y),
                Some(nu) => student_mixture::log_density(part, nu, y),
            };
            if term.is_nan() {
                return term;
            }
            if term > top {
                (top, sum) = (term, sum * libm::exp(top - term) + 1.0);
            } else if term > f64::NEG_INFINITY {
                sum += libm::exp(term - top);
            }
        }
        let mean = if parts.len() == 1 { top } else { top + libm::log(sum / parts.len() as f64) };
        if top == f64::NEG_INFINITY { top } else { mean - libm::log(self.spread * self.scale) }
    }
    /// Mean of -log p(y), in the unit of y.
    pub fn nll(&self, y: &[f64]) -> f64 {
        -y.iter().enumerate().map(|(i, y)| self.log_density(i, *y)).sum::<f64>() / y.len() as f64
    }
    /// The same of rows that count by `weights` [n], or alike where there are none.
    pub fn weighted_nll(&self, y: &[f64], weights: &[f32]) -> f64 {
        if weights.is_empty() {
            return self.nll(y);
        }
        weighted::mean(y.iter().enumerate().map(|(i, y)| -self.log_density(i, *y)), weights)
    }
}

impl ModelSpec {
    /// `outputs` [replicas, n, n_out] of all members in order.
    pub fn predictive(&self, outputs: &[f32], n: usize, seed: u32) -> Predictive {
        self.predictive_of(0, outputs, n, seed)
    }

    /// The same of target `at`.
    pub fn predictive_of(&self, at: usize, outputs: &[f32], n: usize, seed: u32) -> Predictive {
        match self.task {
            Task::Regression => Predictive::Regression(self.regression(at, outputs, n)),
            Task::Classification => Predictive::Classification(self.classification(outputs, n, seed)),
        }
    }

    /// A row of outputs of one target as normals.
    fn moments(&self, meaning: Outputs, z: &[f32]) -> Moments {
        let at = |i: usize| f64::from(z[i]);
        match meaning {
            Outputs::Sigmas => {
                let sd = |i: usize| sigma(self.sigma_code(), at(i)).0;
                Moments { m: at(0), l: at(1), v: sd(2) * sd(2), sd: sd(3) }
            }
            Outputs::Variances => Moments { m: at(0), l: at(1), v: at(2), sd: at(3).max(0.0).sqrt() },
            // One noise for all rows.
            Outputs::VariancesAndNoise => Moments { m: at(0), l: 2.0 * at(2), v: at(1), sd: 0.0 },
            Outputs::Own(reading) => (reading.moments)(self, z),
            Outputs::Plain | Outputs::Concentrations => Moments { m: at(0), l: at(1), v: 0.0, sd: 0.0 },
        }
    }

    /// Numbers of a row of outputs as `Predictor` gives them: a host layer adds a variance to each.
    pub fn output_width(&self) -> usize {
        self.blocks() * self.net.n_out() as usize
    }

    /// Variances stand behind the outputs of all targets.
    fn blocks(&self) -> usize {
        if matches!(self.outputs(), Outputs::Variances) { 2 } else { 1 }
    }

    fn regression(&self, at: usize, outputs: &[f32], n: usize) -> Regression {
        let n_out = self.output_width();
        let replicas = outputs.len() / (n * n_out).max(1);
        let members = self.members as usize;
        let per_member = replicas / members;
        let meaning = self.outputs();
        let link = if matches!(meaning, Outputs::VariancesAndNoise) { NOISE_EXP } else { self.noise_code() };
        let blocks = self.blocks();
        let (all, width) = (n_out / blocks, n_out / blocks / self.targets as usize);
        let mut of_target = vec![0.0; blocks * width];
        let mut out = Regression {
            nu: self.nu,
            scale: 1.0,
            spread: 1.0,
            member_means: vec![0.0; members * n],
            ..Default::default()
        };
        out.parts.reserve_exact(n * replicas);
        for i in 0..n {
            let (mut aleatoric, mut mean, mut square, mut spread) = (0.0, 0.0, 0.0, 0.0);
            for r in 0..replicas {
                let row = &outputs[(r * n + i) * n_out..][..n_out];
                for (to, from) in of_target.chunks_exact_mut(width).zip(row.chunks_exact(all)) {
                    to.copy_from_slice(&from[at * width..][..width]);
                }
                let Moments { m, l, v, sd } = self.moments(meaning, &of_target);
                let part = ScaleMixture { m, v, l, sd, link };
                out.parts.push(part);
                aleatoric += self.nu.map_or_else(|| part.mean_noise(), |nu| student_mixture::mean_noise(&part, nu));
                mean += m;
                square += m * m;
                spread += v;
                out.member_means[(r / per_member) * n + i] += m / per_member as f64;
            }
            let r = replicas as f64;
            let mean = mean / r;
            out.mean.push(mean);
            out.aleatoric.push(aleatoric / r);
            out.epistemic.push(spread / r + (square / r - mean * mean).max(0.0));
        }
        out
    }

    /// Standard deviation of logit `c` of a row; None where a row holds the logits themselves.
    fn logit_sd(&self, meaning: Outputs) -> Option<impl Fn(&[f32], usize) -> f64> {
        let (k, link) = (self.k as usize, self.sigma_code());
        let own = match meaning {
            Outputs::Plain | Outputs::Concentrations => return None,
            Outputs::Own(reading) => Some(reading.logit_sd?),
            _ => None,
        };
        Some(move |z: &[f32], c: usize| match (meaning, own) {
            (_, Some(own)) => own(self, z, c),
            (Outputs::Sigmas, _) => sigma(link, f64::from(z[k + c])).0,
            (Outputs::Variances, _) => f64::from(z[k + c]).max(0.0).sqrt(),
            _ => (f64::from(z[k + c]) + libm::exp(2.0 * f64::from(z[2 * k + c]))).sqrt(),
        })
    }

    fn classification(&self, outputs: &[f32], n: usize, seed: u32) -> Classification {
        let meaning = self.outputs();
        if matches!(meaning, Outputs::Concentrations) {
            return self.evidential(outputs, n);
        }
        let k = self.k as usize;
        let n_out = self.output_width();
        let replicas = outputs.len() / (n * n_out).max(1);
        let logit_sd = self.logit_sd(meaning);
        let is_open = logit_sd.is_some();
        let samples = if is_open { self.predict_samples as usize } else { 1 };
        let total = replicas * samples;
        // A chunk of rows at a time: all samples of all rows would not fit for large sets.
        let chunk = (1 << 20) / (total * k).max(1) + 1;
        let mut out = Classification { k, ..Default::default() };
        let mut eps = vec![0f32; samples * k];
        let (mut cube, mut sd) = (is_open.then(|| Hypercube::new(samples)), vec![]);
        let mut probs = vec![];
        for first in (0..n).step_by(chunk) {
            let rows = chunk.min(n - first);
            probs.clear();
            probs.resize(total * rows * k, 0.0);
            for r in 0..replicas {
                let replica = self.first_member + r as u32;
                for i in 0..rows {
                    let z = &outputs[(r * n + first + i) * n_out..][..n_out];
                    if let (Some(cube), Some(logit_sd)) = (&mut cube, &logit_sd) {
                        cube.fill(seed, replica, hypercube::key(z), k, &mut eps);
                        sd.clear();
                        sd.extend((0..k).map(|c| logit_sd(z, c)));
                    }
                    for s in 0..samples {
                        let p = &mut probs[((r * samples + s) * rows + i) * k..][..k];
                        for c in 0..k {
                            p[c] = f64::from(z[c]);
                            if is_open {
                                p[c] += sd[c] * f64::from(eps[s * k + c]);
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
        if matches!(meaning, Outputs::Variances) {
            self.probit(outputs, n, &mut out);
        }
        out
    }

    /// The probit approximation in place of the samples' average. The samples keep their say in how the
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
    p.iter().filter(|p| **p > 0.0).map(|p| -p * libm::log(*p)).sum()
}

fn softmax(z: &mut [f64]) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for v in z.iter_mut() {
        *v = libm::exp(*v - top);
        sum += *v;
    }
    for v in z.iter_mut() {
        *v /= sum;
    }
}

#[cfg(test)]
#[path = "predictive_tests.rs"]
mod tests;
