//! Eigenvalues and eigenvectors of H, from which H + delta I follows for every delta: its determinant, its inverse, a
//! square root of its inverse.

use super::Structure;
use super::curvature::{allocate, weighted_gram};
use crate::error::{Error, Result};
use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

/// Row j of `vectors` is eigenvector j.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spectrum {
    /// Of sum Lambda and of mean f f': H has the products of their eigenvalues.
    Kronecker { out: Eigen, input: Eigen },
    /// `blocks` [k, d, d]: S_oo, the covariance of the weights of output o, lower triangle by columns.
    Full { eigen: Eigen, blocks: Vec<f64> },
    /// H [k, d].
    Diagonal { values: Vec<f64> },
}

/// f' S_oo f = sum over j of (f' a_j)^2 w_jo: variances in a form that another program can compute, no term of which is
/// negative.
#[derive(Debug, Clone, PartialEq)]
pub struct VarianceForm {
    /// J, how many a there are.
    pub places: usize,
    /// [d, J].
    pub directions: Vec<f64>,
    /// [J, k].
    pub weights: Vec<f64>,
}

/// L with L L' = S, [d, d] by rows, from the lower triangle of S by columns.
fn cholesky(block: &[f64], d: usize) -> Vec<f64> {
    let mut l = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let left = block[j * d + i] - dot(&l[i * d..i * d + j], &l[j * d..j * d + j]);
            // A variance that rounding made negative is 0.
            l[i * d + j] = match l[j * d + j] {
                _ if i == j => left.max(0.0).sqrt(),
                0.0 => 0.0,
                root => left / root,
            };
        }
    }
    l
}

/// Negative eigenvalues of a positive matrix are rounding, P units of 1e-16 of the largest at most; more than this share
/// of it is none.
const ROUNDING: f64 = 1e-9;

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The eigenvalues of `what` without what rounding made negative.
fn positive(values: &mut [f64], what: &str) -> Result<()> {
    let top = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for v in values {
        if !v.is_finite() || *v < -ROUNDING * top {
            let found = format!("{what} has the eigenvalue {v:e} beside {top:e}, so it is no curvature");
            return Err(Error::run("Laplace", found, "give positive curvatures, such as the Fisher information"));
        }
        *v = v.max(0.0);
    }
    Ok(())
}

/// Bytes that the decomposition of an n x n matrix needs beside the matrix and its eigenvectors: a copy that is sorted.
pub(super) fn scratch(n: usize) -> u64 {
    8 * (n as u64).pow(2) + 32 * n as u64
}

/// Decomposes the matrix [n, n] whose lower triangle `a` holds by columns; the smallest eigenvalue comes first.
fn eigen(a: Vec<f64>, n: usize, what: &str) -> Result<Eigen> {
    // The library's own vectors abort where there is no room: asked for first.
    drop(allocate(2 * n * n + 4 * n)?);
    let sweeps = 100 * n.max(1);
    let found = SymmetricEigen::try_new(DMatrix::from_vec(n, n, a), f64::EPSILON, sweeps)
        .ok_or_else(|| Error::run("Laplace", format!("{what} has no eigenvalues"), "take the diagonal form"))?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| found.eigenvalues[*i].total_cmp(&found.eigenvalues[*j]));
    let mut values: Vec<f64> = order.iter().map(|j| found.eigenvalues[*j]).collect();
    let vectors =
        order.iter().flat_map(|j| found.eigenvectors.column(*j).iter().copied().collect::<Vec<_>>()).collect();
    positive(&mut values, what)?;
    Ok(Eigen { values, vectors })
}

impl Spectrum {
    /// Lower triangles by columns of sum Lambda [k, k] and mean f f' [d, d].
    pub fn kronecker(lambda: Vec<f64>, k: usize, mean: Vec<f64>, d: usize) -> Result<Self> {
        let out = eigen(lambda, k, "the sum of the likelihood's curvatures")?;
        Ok(Spectrum::Kronecker { out, input: eigen(mean, d, "the mean of f f'")? })
    }

    /// Lower triangle by columns of H [P, P].
    pub fn full(h: Vec<f64>, k: usize, d: usize) -> Result<Self> {
        Ok(Spectrum::Full { eigen: eigen(h, k * d, "H")?, blocks: vec![] })
    }

    /// The diagonal of H [k, d].
    pub fn diagonal(mut values: Vec<f64>) -> Result<Self> {
        positive(&mut values, "the diagonal of H")?;
        Ok(Spectrum::Diagonal { values })
    }

    pub fn structure(&self) -> Structure {
        match self {
            Spectrum::Kronecker { .. } => Structure::Kronecker,
            Spectrum::Full { .. } => Structure::Full,
            Spectrum::Diagonal { .. } => Structure::Diagonal,
        }
    }

    /// All P eigenvalues of H.
    pub fn values(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Spectrum::Kronecker { out, input } => {
                Box::new(out.values.iter().flat_map(|g| input.values.iter().map(move |a| g * a)))
            }
            Spectrum::Full { eigen, .. } => Box::new(eigen.values.iter().copied()),
            Spectrum::Diagonal { values } => Box::new(values.iter().copied()),
        }
    }

    /// What depends on delta alone: the full form's blocks S_oo, without which one row's variances would take P^2 steps.
    pub fn prepare(&mut self, k: usize, d: usize, delta: f64) {
        let Spectrum::Full { eigen, blocks } = self else { return };
        let p = k * d;
        blocks.resize(k * d * d, 0.0);
        blocks.par_chunks_exact_mut(d * d).enumerate().for_each(|(o, block)| {
            let inverse = |j: usize| 1.0 / (eigen.values[j] + delta);
            weighted_gram(&eigen.vectors[o * d..], d, p, inverse, &mut vec![], block);
        });
    }

    /// f' S_oo f for every output o.
    pub fn variances(&self, f: &[f64], k: usize, delta: f64) -> Vec<f64> {
        let d = f.len();
        match self {
            Spectrum::Kronecker { out, input } => {
                let spread = spread(out, input, f, delta);
                (0..k).map(|o| (0..k).map(|a| out.vectors[a * k + o].powi(2) * spread[a]).sum()).collect()
            }
            Spectrum::Full { blocks, .. } => (0..k)
                .map(|o| {
                    let block = &blocks[o * d * d..(o + 1) * d * d];
                    let column = |j: usize| {
                        let below = dot(&block[j * d + j + 1..(j + 1) * d], &f[j + 1..]);
                        f[j] * (block[j * d + j] * f[j] + 2.0 * below)
                    };
                    (0..d).map(column).sum::<f64>().max(0.0)
                })
                .collect(),
            Spectrum::Diagonal { values } => {
                let one = |h: &[f64]| h.iter().zip(f).map(|(h, f)| f * f / (h + delta)).sum();
                values.chunks_exact(d).map(one).collect()
            }
        }
    }

    /// The same as a weighted sum of squares, for k outputs and d inputs.
    pub fn variance_form(&self, k: usize, d: usize, delta: f64) -> VarianceForm {
        match self {
            Spectrum::Kronecker { out, input } => {
                let along = |j: usize, o: usize| -> f64 {
                    let one = |a: usize| out.vectors[a * k + o].powi(2) / (out.values[a] * input.values[j] + delta);
                    (0..k).map(one).sum()
                };
                let directions = (0..d).flat_map(|i| (0..d).map(move |j| input.vectors[j * d + i])).collect();
                let weights = (0..d).flat_map(|j| (0..k).map(move |o| along(j, o))).collect();
                VarianceForm { places: d, directions, weights }
            }
            Spectrum::Full { blocks, .. } => {
                let roots: Vec<Vec<f64>> = blocks.chunks_exact(d * d).map(|block| cholesky(block, d)).collect();
                let row = |i: usize| roots.iter().flat_map(move |l| l[i * d..(i + 1) * d].iter().copied());
                let own = |p: usize| (0..k).map(move |o| f64::from(u8::from(p / d == o)));
                let directions = (0..d).flat_map(row).collect();
                VarianceForm { places: k * d, directions, weights: (0..k * d).flat_map(own).collect() }
            }
            Spectrum::Diagonal { values } => {
                let unit = |i: usize| (0..d).map(move |j| f64::from(u8::from(i == j)));
                let weight = |j: usize| (0..k).map(move |o| 1.0 / (values[o * d + j] + delta));
                let directions = (0..d).flat_map(unit).collect();
                VarianceForm { places: d, directions, weights: (0..d).flat_map(weight).collect() }
            }
        }
    }

    /// f' S_op f [k, k].
    pub fn covariance(&self, f: &[f64], k: usize, delta: f64) -> Vec<f64> {
        let d = f.len();
        let mut covariance = vec![0.0; k * k];
        let mut add = |weight: f64, v: &dyn Fn(usize) -> f64| {
            for o in 0..k {
                for q in 0..k {
                    covariance[o * k + q] += weight * v(o) * v(q);
                }
            }
        };
        match self {
            Spectrum::Kronecker { out, input } => {
                for (a, spread) in spread(out, input, f, delta).into_iter().enumerate() {
                    add(spread, &|o| out.vectors[a * k + o]);
                }
            }
            Spectrum::Full { eigen, .. } => {
                let mut projection = vec![0.0; k];
                for (value, vector) in eigen.values.iter().zip(eigen.vectors.chunks_exact(k * d)) {
                    projection.iter_mut().zip(vector.chunks_exact(d)).for_each(|(p, v)| *p = dot(v, f));
                    add(1.0 / (value + delta), &|o| projection[o]);
                }
            }
            Spectrum::Diagonal { .. } => {
                for (o, variance) in self.variances(f, k, delta).into_iter().enumerate() {
                    covariance[o * k + o] = variance;
                }
            }
        }
        covariance
    }

    /// w += (H + delta I)^(-1/2) n, the root along the eigenvectors.
    pub fn add_sample(&self, normals: &[f32], delta: f64, d: usize, w: &mut [f64]) {
        let axpy = |to: &mut [f64], scale: f64, v: &[f64]| to.iter_mut().zip(v).for_each(|(t, v)| *t += scale * v);
        let scale = |n: f32, h: f64| n as f64 / (h + delta).sqrt();
        match self {
            Spectrum::Kronecker { out, input } => {
                let k = out.values.len();
                for (a, normals) in normals.chunks_exact(d).enumerate() {
                    let mut along = vec![0.0; d];
                    for (j, n) in normals.iter().enumerate() {
                        let h = out.values[a] * input.values[j];
                        axpy(&mut along, scale(*n, h), &input.vectors[j * d..(j + 1) * d]);
                    }
                    for (o, w) in w.chunks_exact_mut(d).enumerate() {
                        axpy(w, out.vectors[a * k + o], &along);
                    }
                }
            }
            Spectrum::Full { eigen, .. } => {
                let vectors = eigen.vectors.chunks_exact(normals.len());
                for ((n, h), vector) in normals.iter().zip(&eigen.values).zip(vectors) {
                    axpy(w, scale(*n, *h), vector);
                }
            }
            Spectrum::Diagonal { values } => {
                for ((w, n), h) in w.iter_mut().zip(normals).zip(values) {
                    *w += scale(*n, *h);
                }
            }
        }
    }
}

/// Sum over j of (v_j' f)^2 / (g_a a_j + delta) for each eigenvalue g_a of sum Lambda.
fn spread(out: &Eigen, input: &Eigen, f: &[f64], delta: f64) -> Vec<f64> {
    let squares: Vec<f64> = input.vectors.chunks_exact(f.len()).map(|v| dot(v, f).powi(2)).collect();
    let one = |g: &f64| squares.iter().zip(&input.values).map(|(s, a)| s / (g * a + delta)).sum();
    out.values.iter().map(one).collect()
}
