//! The curvature of the likelihood, summed over chunks of rows.

use super::Structure;
use super::spectrum::Spectrum;
use crate::base::Real;
use crate::error::{Error, Result};
use crate::ops::gemm::{Finish, Mat, gemm, pack_len};
use rayon::prelude::*;

/// Rows that are multiplied at a time: their features and a weighted copy of them stay in the cache.
const ROWS: usize = 512;

/// H = sum_n Lambda_n (x) f_n f_n' in the form that `Structure` keeps. Symmetric matrices hold their lower triangle.
#[derive(Debug, Clone)]
pub struct Curvature {
    structure: Structure,
    k: usize,
    d: usize,
    rows: u64,
    /// Kronecker: sum f f' [d, d]; Full: sum Lambda_ab f f' for every a >= b, [k (k+1) / 2, d, d];
    /// Diagonal: sum Lambda_aa f^2 [k, d].
    sums: Vec<f64>,
    /// Kronecker: sum Lambda [k, k].
    lambda: Vec<f64>,
}

impl Curvature {
    /// `d` counts the bias. `bytes` and `fit_bytes` say what it will need.
    pub fn new(structure: Structure, k: usize, d: usize) -> Result<Self> {
        let numbers = match structure {
            Structure::Kronecker => d * d,
            Structure::Full => k * (k + 1) / 2 * d * d,
            Structure::Diagonal => k * d,
        };
        let mut sums = allocate(numbers)?;
        sums.resize(numbers, 0.0);
        let lambda = if structure == Structure::Kronecker { vec![0.0; k * k] } else { vec![] };
        Ok(Curvature { structure, k, d, rows: 0, sums, lambda })
    }

    pub fn k(&self) -> usize {
        self.k
    }
    pub fn d(&self) -> usize {
        self.d
    }
    /// All that was summed: H, or for Kronecker its two factors, not yet divided by the number of rows.
    #[cfg(test)]
    pub(super) fn sums(&self) -> Vec<f64> {
        [&self.sums[..], &self.lambda].concat()
    }

    /// Adds rows: `features` [n, d-1] without the 1 of the bias, `lambda` [n, k, k], symmetric, its curvature -d^2 log p /
    /// dz dz' (`softmax_lambda`, `gaussian_lambda`). The result does not depend on the number of threads.
    pub fn add<T: Real>(&mut self, features: &[T], lambda: &[f64]) -> Result<()> {
        self.add_weighed(features, lambda, &[])
    }

    /// The same of rows that count by `weights` [n] of mean 1, which `lambda` holds already.
    pub fn add_weighed<T: Real>(&mut self, features: &[T], lambda: &[f64], weights: &[f32]) -> Result<()> {
        let (k, d) = (self.k, self.d);
        let n = lambda.len() / (k * k).max(1);
        if n * k * k != lambda.len() || features.len() != n * (d - 1) {
            let found = format!("{} features and {} curvatures do not make rows", features.len(), lambda.len());
            return Err(Error::run("Laplace", found, format!("give rows of {} features and {k} x {k}", d - 1)));
        }
        let bad_feature = features.iter().position(|v| !v.is_finite()).map(|at| ("features", at / (d - 1).max(1)));
        let bad_lambda =
            || lambda.iter().position(|v| !v.is_finite()).map(|at| ("curvature of the likelihood", at / (k * k)));
        if let Some((term, row)) = bad_feature.or_else(bad_lambda) {
            let found = format!("the {term} of training row {} are not finite", self.rows + row as u64 + 1);
            let help = "take an earlier checkpoint or train with a lower learning rate";
            return Err(Error::run("Laplace", found, help));
        }
        let mut f = Vec::with_capacity(ROWS.min(n) * d);
        for first in (0..n).step_by(ROWS) {
            let end = n.min(first + ROWS);
            f.clear();
            for row in first..end {
                f.extend(features[row * (d - 1)..(row + 1) * (d - 1)].iter().map(|v| v.f64()));
                f.push(1.0);
            }
            let weights = if weights.is_empty() { weights } else { &weights[first..end] };
            self.add_block(&f, &lambda[first * k * k..end * k * k], weights);
        }
        self.rows += n as u64;
        Ok(())
    }

    /// `f` [n, d] with the 1. Each block is summed by itself and then added, so that a block given twice counts twice to
    /// the last bit.
    fn add_block(&mut self, f: &[f64], lambda: &[f64], weights: &[f32]) {
        let (k, d) = (self.k, self.d);
        match self.structure {
            Structure::Kronecker => {
                let mut sum = vec![0.0; k * k];
                for one in lambda.chunks_exact(k * k) {
                    add_to(&mut sum, one);
                }
                add_to(&mut self.lambda, &sum);
                let mut gram = vec![0.0; d * d];
                let weight = |row: usize| weights.get(row).map_or(1.0, |w| f64::from(*w));
                weighted_gram(f, d, d, weight, &mut vec![], &mut gram);
                add_to(&mut self.sums, &gram);
            }
            Structure::Full => {
                let pairs: Vec<(usize, usize)> = (0..k).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
                let work = self.sums.par_chunks_exact_mut(d * d).zip(pairs);
                work.for_each_init(
                    || (vec![], vec![0.0; d * d]),
                    |(scratch, gram), (sum, (a, b))| {
                        weighted_gram(f, d, d, |row| lambda[(row * k + a) * k + b], scratch, gram);
                        add_to(sum, gram);
                    },
                );
            }
            Structure::Diagonal => {
                let mut sum = vec![0.0; k * d];
                for (f, lambda) in f.chunks_exact(d).zip(lambda.chunks_exact(k * k)) {
                    for (a, sum) in sum.chunks_exact_mut(d).enumerate() {
                        let weight = lambda[a * k + a];
                        sum.iter_mut().zip(f).for_each(|(s, v)| *s += weight * v * v);
                    }
                }
                add_to(&mut self.sums, &sum);
            }
        }
    }

    /// Eigenvalues and eigenvectors of H.
    pub(super) fn decompose(self) -> Result<Spectrum> {
        if self.rows == 0 {
            return Err(Error::run("Laplace", "no training rows", "add the training rows before fitting"));
        }
        // Finite rows can sum to infinity.
        if self.sums.iter().chain(&self.lambda).any(|v| !v.is_finite()) {
            let help = "standardise the inputs or train with a lower learning rate";
            return Err(Error::run("Laplace", "the curvature H is not finite", help));
        }
        match self.structure {
            Structure::Kronecker => {
                let mean = self.sums.iter().map(|s| s / self.rows as f64).collect();
                Spectrum::kronecker(self.lambda, self.k, mean, self.d)
            }
            Structure::Full => {
                let (k, d) = (self.k, self.d);
                Spectrum::full(self.assemble()?, k, d)
            }
            Structure::Diagonal => Spectrum::diagonal(self.sums),
        }
    }

    /// H [P, P], its lower triangle by columns.
    fn assemble(self) -> Result<Vec<f64>> {
        let (k, d) = (self.k, self.d);
        let p = k * d;
        let mut h = allocate(p * p)?;
        h.resize(p * p, 0.0);
        let mut blocks = self.sums.chunks_exact(d * d);
        for a in 0..k {
            for b in 0..=a {
                let Some(block) = blocks.next() else { break };
                for j in 0..d {
                    for i in 0..d {
                        let (low, high) = (i.min(j), i.max(j));
                        h[(b * d + j) * p + a * d + i] = block[low * d + high];
                    }
                }
            }
        }
        Ok(h)
    }
}

/// Room for `numbers` f64, or an error that says how much was asked for.
pub(super) fn allocate(numbers: usize) -> Result<Vec<f64>> {
    let mut room = Vec::new();
    room.try_reserve_exact(numbers).map_err(|_| super::storage::too_large(numbers as u64 * 8))?;
    Ok(room)
}

fn add_to(sum: &mut [f64], more: &[f64]) {
    sum.iter_mut().zip(more).for_each(|(s, m)| *s += m);
}

/// `gram` [d, d] = sum over rows r of weight(r) f_r f_r'; row r of `f` begins at r * stride.
pub(super) fn weighted_gram(
    f: &[f64],
    d: usize,
    stride: usize,
    weight: impl Fn(usize) -> f64,
    scratch: &mut Vec<f64>,
    gram: &mut [f64],
) {
    let rows = if f.len() < d { 0 } else { (f.len() - d) / stride + 1 };
    scratch.clear();
    for row in 0..rows {
        let weight = weight(row);
        scratch.extend(f[row * stride..row * stride + d].iter().map(|v| weight * v));
    }
    scratch.resize(rows * d + pack_len(rows, d), 0.0);
    let (weighted, pack) = scratch.split_at_mut(rows * d);
    let left = Mat { data: f, row: 1, col: stride };
    gemm(d, d, rows, left, Mat::rows(weighted, d), gram, pack, &Finish::default());
}
