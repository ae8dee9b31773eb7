//! A posterior as named f32 tensors, as checkpoints hold them, and the memory it takes, known before it is taken.

use super::spectrum::{Eigen, Spectrum, scratch};
use super::{Posterior, Structure};
use crate::error::{Error, Result};

/// A name, a shape, and its numbers row by row.
type Tensor = (String, Vec<usize>, Vec<f32>);

/// Bytes of the stored posterior of k outputs and d inputs, bias included: what `to_tensors` gives.
pub fn bytes(structure: Structure, k: usize, d: usize) -> u64 {
    let (k, d) = (k as u64, d as u64);
    let p = k.saturating_mul(d);
    let spectrum = match structure {
        Structure::Kronecker => (k + k * k).saturating_add(d.saturating_add(d.saturating_mul(d))),
        Structure::Full => p.saturating_add(p.saturating_mul(p)),
        Structure::Diagonal => p,
    };
    // W_map and two numbers of two parts each.
    spectrum.saturating_add(p).saturating_add(4).saturating_mul(4)
}

/// Bytes of main memory at the peak of summing, fitting and predicting, in f64.
pub fn fit_bytes(structure: Structure, k: usize, d: usize) -> u64 {
    let (p, pairs) = (k.saturating_mul(d) as u64, (k * (k + 1) / 2) as u64);
    let square = |n: usize| (n as u64).saturating_mul(n as u64);
    // The matrix, its eigenvectors and what the decomposition needs beside them.
    let eigen = |n: usize| (2 * 8u64).saturating_mul(square(n)).saturating_add(decomposition(n));
    match structure {
        Structure::Kronecker => eigen(k).saturating_add(eigen(d)),
        // The sums of every pair of outputs live until H is put together from them.
        Structure::Full => {
            let sums = pairs.saturating_mul(square(d)).saturating_mul(8);
            eigen(k.saturating_mul(d)).max(sums.saturating_add(square(k.saturating_mul(d)).saturating_mul(8)))
        }
        Structure::Diagonal => p.saturating_mul(24),
    }
}

/// Beyond this many rows no matrix fits any memory, and sizes of the decomposition would overflow.
const LARGEST: usize = 1 << 24;

fn decomposition(n: usize) -> u64 {
    if n > LARGEST { u64::MAX } else { scratch(n) }
}

pub(super) fn too_large(bytes: u64) -> Error {
    let found = format!("{:.1} GB more memory than there is", bytes as f64 / 1e9);
    Error::run("Laplace", found, "take the Kronecker or the diagonal form")
}

/// A number as two f32 whose sum has 48 bits of it.
fn parts(v: f64) -> Vec<f32> {
    let high = v as f32;
    vec![high, (v - high as f64) as f32]
}

fn single(v: &[f64]) -> Vec<f32> {
    v.iter().map(|v| *v as f32).collect()
}

impl Posterior {
    pub fn to_tensors(&self) -> Vec<Tensor> {
        let (k, d) = (self.k, self.d);
        let p = k * d;
        let tensor = |name: &str, shape: &[usize], v: Vec<f32>| (format!("laplace.{name}"), shape.to_vec(), v);
        let mut out = vec![
            tensor("weights", &[k, d], single(&self.weights)),
            tensor("log_likelihood", &[2], parts(self.log_likelihood)),
            tensor("precision", &[2], parts(self.delta)),
        ];
        out.extend(match &self.spectrum {
            Spectrum::Kronecker { out, input } => vec![
                tensor("eigen_out", &[k], single(&out.values)),
                tensor("vectors_out", &[k, k], single(&out.vectors)),
                tensor("eigen_in", &[d], single(&input.values)),
                tensor("vectors_in", &[d, d], single(&input.vectors)),
            ],
            Spectrum::Full { eigen, .. } => {
                vec![tensor("eigen", &[p], single(&eigen.values)), tensor("vectors", &[p, p], single(&eigen.vectors))]
            }
            Spectrum::Diagonal { values } => vec![tensor("diagonal", &[k, d], single(values))],
        });
        out
    }

    /// The posterior that `to_tensors` wrote; other tensors are passed over. The structure follows from the names.
    pub fn from_tensors(tensors: &[Tensor]) -> Result<Self> {
        let found = |name: &str| tensors.iter().find(|t| t.0.strip_prefix("laplace.") == Some(name));
        let damaged = |name: &str, what: &str| {
            Error::run(format!("laplace.{name}"), what, "the file is damaged: fit the Laplace posterior again")
        };
        let take = |name: &str, shape: &[usize]| -> Result<Vec<f64>> {
            let (_, has, v) = found(name).ok_or_else(|| damaged(name, "is missing"))?;
            if has != shape || v.len() != shape.iter().product::<usize>() {
                return Err(damaged(name, &format!("has {} numbers in {has:?}, not {shape:?}", v.len())));
            }
            if v.iter().any(|v| !v.is_finite()) {
                return Err(damaged(name, "is not finite"));
            }
            Ok(v.iter().map(|v| *v as f64).collect())
        };
        let eigen = |values: &str, vectors: &str, n: usize| -> Result<Eigen> {
            let eigen = Eigen { values: take(values, &[n])?, vectors: take(vectors, &[n, n])? };
            if eigen.values.iter().any(|v| *v < 0.0) {
                return Err(damaged(values, "is negative"));
            }
            Ok(eigen)
        };
        let (k, d) = match found("weights") {
            Some((_, shape, _)) if shape.len() == 2 && shape.iter().all(|n| *n > 0) => (shape[0], shape[1]),
            Some((_, shape, _)) => return Err(damaged("weights", &format!("has the shape {shape:?}, not [k, d]"))),
            None => return Err(damaged("weights", "is missing")),
        };
        let spectrum = if found("eigen_out").is_some() {
            let out = eigen("eigen_out", "vectors_out", k)?;
            Spectrum::Kronecker { out, input: eigen("eigen_in", "vectors_in", d)? }
        } else if found("eigen").is_some() {
            Spectrum::Full { eigen: eigen("eigen", "vectors", k * d)?, blocks: vec![] }
        } else {
            let values = take("diagonal", &[k, d])?;
            if values.iter().any(|v| *v < 0.0) {
                return Err(damaged("diagonal", "is negative"));
            }
            Spectrum::Diagonal { values }
        };
        let sum = |name: &str| Ok::<f64, Error>(take(name, &[2])?.iter().sum());
        let (weights, log_likelihood, delta) = (take("weights", &[k, d])?, sum("log_likelihood")?, sum("precision")?);
        let mut posterior = Posterior { k, d, weights, log_likelihood, delta, spectrum };
        posterior.set_precision(delta)?;
        Ok(posterior)
    }
}
