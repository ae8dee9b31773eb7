//! Theorem 3.1 of the paper, the linear case: z = theta' x with q(theta) = N(w, V), prior N(m0, S0). VIFO's objective
//! with the prior N(m0' X, X' S0 X) and the posterior N(w' X, X' V X) over all N outputs at once equals the ELBO of
//! variational inference up to a constant. For N > d both covariances have rank d, so inverses are pseudo-inverses and
//! determinants pseudo-determinants; the constant is (N - d)/2.
//!
//! Both sides are computed as they are written: the ELBO from d x d matrices, the VIFO objective from N x N ones.

use super::Normals;
use crate::error::{Error, Result};
use crate::figure::{CurvesFigure, Series};
use nalgebra::DMatrix;

type Mat = DMatrix<f64>;

/// Rows and inputs where the theorem's assumption N > d holds.
pub const SIZE: (usize, usize) = (40, 5);
/// And where it does not: the outputs at three points leave two directions of theta free.
pub const SHORT: (usize, usize) = (3, 5);
/// Random variational parameters (w, V) tried.
pub const DRAWS: usize = 200;

/// Iterations of an eigenvalue problem of some tens of rows, far more than it needs.
const SWEEPS: usize = 10_000;

/// Both objectives in nats at `DRAWS` random variational parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub rows: usize,
    pub inputs: usize,
    pub vifo: Vec<f64>,
    pub elbo: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    pub holds: Run,
    pub short: Run,
}

impl Run {
    /// VIFO's objective less the ELBO.
    pub fn differences(&self) -> Vec<f64> {
        self.vifo.iter().zip(&self.elbo).map(|(v, e)| v - e).collect()
    }
    /// Mean, smallest and largest difference.
    pub fn difference(&self) -> (f64, f64, f64) {
        let d = self.differences();
        let mean = d.iter().sum::<f64>() / d.len().max(1) as f64;
        (mean, d.iter().copied().fold(f64::INFINITY, f64::min), d.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
    /// (N - d)/2, what the theorem leaves.
    pub fn constant(&self) -> f64 {
        (self.rows as f64 - self.inputs as f64) / 2.0
    }
    /// The largest distance of a difference from the constant; NaN counts as infinite.
    pub fn deviation(&self) -> f64 {
        let off = |d: f64| if d.is_finite() { (d - self.constant()).abs() } else { f64::INFINITY };
        self.differences().into_iter().map(off).fold(0.0, f64::max)
    }
    /// What rounding may leave: N x N eigenvalue problems lose some N units of 1e-16 of the largest term, which the ELBOs
    /// bound from below, times the condition number of X' S0 X, some tens.
    pub fn tolerance(&self) -> f64 {
        let size = self.elbo.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        size * self.rows as f64 * 100.0 * f64::EPSILON
    }
    pub fn is_equal(&self) -> bool {
        !self.vifo.is_empty() && self.deviation() <= self.tolerance()
    }
}

/// What q is compared with: data X [d, N], targets y [N], noise variance of the likelihood, prior N(m0, S0).
struct Problem {
    x: Mat,
    y: Mat,
    noise: f64,
    m0: Mat,
    s0: Mat,
}

fn random(normals: &mut Normals, rows: usize, columns: usize) -> Mat {
    Mat::from_fn(rows, columns, |_, _| normals.take())
}

/// A A'/d + I/2: well away from singular.
fn covariance(normals: &mut Normals, d: usize) -> Mat {
    let a = random(normals, d, d);
    let product = &a * a.transpose();
    Mat::from_fn(d, d, |i, j| product[(i, j)] / d as f64 + if i == j { 0.5 } else { 0.0 })
}

fn failed(what: &str) -> Error {
    Error::run("theory linear", format!("{what} could not be decomposed"), "take another --seed")
}

fn trace_of_product(a: &Mat, b: &Mat) -> f64 {
    (0..a.nrows()).map(|i| (0..a.ncols()).map(|j| a[(i, j)] * b[(j, i)]).sum::<f64>()).sum()
}

fn log_determinant(a: &Mat) -> Result<f64> {
    let eigen = a.clone().try_symmetric_eigen(f64::EPSILON, SWEEPS).ok_or_else(|| failed("a covariance"))?;
    Ok(eigen.eigenvalues.iter().map(|v| libm::log(*v)).sum())
}

impl Problem {
    fn new(normals: &mut Normals, n: usize, d: usize) -> Self {
        let (x, m0, s0) = (random(normals, d, n), random(normals, d, 1), covariance(normals, d));
        let (theta, e) = (random(normals, d, 1), random(normals, n, 1));
        let y = x.transpose() * &theta + &e * 0.5;
        Problem { x, y, noise: 0.25, m0, s0 }
    }

    fn log_density(&self, square: f64) -> f64 {
        -0.5 * (square / self.noise + libm::log(2.0 * std::f64::consts::PI * self.noise))
    }

    /// The ELBO over theta: E_q log p(y | theta' x) with E (y - theta' x)^2 = (y - w' x)^2 + tr(V x x'), less
    /// KL(N(w, V) || N(m0, S0)) in d dimensions.
    fn elbo(&self, w: &Mat, v: &Mat) -> Result<f64> {
        let (d, n) = (self.x.nrows(), self.x.ncols());
        let mut value = 0.0;
        for i in 0..n {
            let column = self.x.column(i);
            let residual = self.y[(i, 0)] - (w.transpose() * column)[(0, 0)];
            value += self.log_density(residual * residual + trace_of_product(v, &(column * column.transpose())));
        }
        let factor = self.s0.clone().cholesky().ok_or_else(|| failed("S0"))?;
        let shift = w - &self.m0;
        let quadratic = (shift.transpose() * factor.solve(&shift))[(0, 0)];
        let trace = trace_of_product(&factor.inverse(), v);
        let log_ratio = log_determinant(v)? - log_determinant(&self.s0)?;
        Ok(value - 0.5 * (trace - log_ratio + quadratic - d as f64))
    }

    /// VIFO's objective over the N outputs: row i's loss under q(z | x_i) = N(w' x_i, x_i' V x_i), less the KL divergence
    /// of N(X' w, X' V X) from N(X' m0, X' S0 X) by pseudo-inverse and pseudo-determinant.
    fn vifo(&self, w: &Mat, v: &Mat) -> Result<f64> {
        let n = self.x.ncols();
        let (mean, cov) = (self.x.transpose() * w, self.x.transpose() * v * &self.x);
        let prior = self.x.transpose() * &self.s0 * &self.x;
        let mut value = 0.0;
        for i in 0..n {
            value += self.log_density((self.y[(i, 0)] - mean[(i, 0)]).powi(2) + cov[(i, i)]);
        }
        let root = inverse_root(&prior)?;
        // root cov root' has the eigenvalues of prior^+ cov that are not zero.
        let ratio = &root * &cov * root.transpose();
        let shift = &root * (mean - self.x.transpose() * &self.m0);
        let quadratic = (shift.transpose() * &shift)[(0, 0)];
        let trace: f64 = (0..ratio.nrows()).map(|i| ratio[(i, i)]).sum();
        Ok(value - 0.5 * (trace - log_determinant(&ratio)? + quadratic) + 0.5 * n as f64)
    }
}

/// R [rank, N] with R' R the pseudo-inverse of `a` [N, N].
fn inverse_root(a: &Mat) -> Result<Mat> {
    let n = a.nrows();
    let eigen = a.clone().try_symmetric_eigen(f64::EPSILON, SWEEPS).ok_or_else(|| failed("X' S0 X"))?;
    let value = |j: usize| eigen.eigenvalues[j];
    let top = (0..n).map(value).fold(0.0, f64::max);
    // What is zero in exact arithmetic is left at N units of 1e-16 of the largest.
    let kept: Vec<usize> = (0..n).filter(|j| value(*j) > 1e-10 * top).collect();
    Ok(Mat::from_fn(kept.len(), n, |r, i| eigen.eigenvectors[(i, kept[r])] / value(kept[r]).sqrt()))
}

/// Random data, prior and `draws` random variational parameters.
pub fn compare(seed: u32, (n, d): (usize, usize), draws: usize) -> Result<Run> {
    let mut normals = Normals::new(seed, 10 + n as u32);
    let problem = Problem::new(&mut normals, n, d);
    let mut run = Run { rows: n, inputs: d, vifo: vec![], elbo: vec![] };
    for _ in 0..draws {
        let (w, v) = (&problem.m0 + random(&mut normals, d, 1), covariance(&mut normals, d));
        run.vifo.push(problem.vifo(&w, &v)?);
        run.elbo.push(problem.elbo(&w, &v)?);
    }
    Ok(run)
}

pub fn linear(seed: u32) -> Result<Linear> {
    Ok(Linear { holds: compare(seed, SIZE, DRAWS)?, short: compare(seed, SHORT, DRAWS)? })
}

impl Linear {
    /// The objectives differ by the constant where N > d, and by more where N < d.
    pub fn verdict(&self) -> bool {
        self.holds.is_equal() && !self.short.is_equal()
    }

    pub fn figure(&self) -> CurvesFigure {
        let x: Vec<f64> = (1..=self.holds.elbo.len()).map(|i| i as f64).collect();
        let series = |name: String, y: Vec<f64>| Series { name, x: x.clone(), y, sd: None };
        let said = format!(
            "{} rows > {} inputs, theorem: (N − d)/2 = {}",
            self.holds.rows,
            self.holds.inputs,
            self.holds.constant()
        );
        let short = format!("{} rows < {} inputs, assumption broken", self.short.rows, self.short.inputs);
        CurvesFigure {
            title: "Theorem 3.1: VIFO's objective is the ELBO plus a constant".into(),
            x_label: "random variational parameters (w, V), number".into(),
            y_label: "VIFO's objective − ELBO, nats".into(),
            series: vec![series(said, self.holds.differences()), series(short, self.short.differences())],
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_differ_by_the_constant() {
        for seed in 1..6 {
            let run = compare(seed, SIZE, 50).unwrap();
            assert!(run.is_equal(), "{:e} > {:e}", run.deviation(), run.tolerance());
            assert!(run.tolerance() < 1e-8, "the bound says nothing: {:e}", run.tolerance());
            // The parameters do move the objective.
            let (low, high) = run.elbo.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
            assert!(high - low > 10.0);
        }
    }

    #[test]
    fn the_check_rejects_wrong_objectives() {
        let run = compare(1, SIZE, 20).unwrap();
        let spoilt = |f: &dyn Fn(usize, f64) -> f64| {
            let vifo = run.vifo.iter().enumerate().map(|(i, v)| f(i, *v)).collect();
            Run { vifo, ..run.clone() }.is_equal()
        };
        assert!(spoilt(&|_, v| v));
        assert!(!spoilt(&|_, v| v + 1e-7), "another constant");
        assert!(!spoilt(&|i, v| if i == 3 { v + 1e-7 } else { v }), "one value");
        assert!(!spoilt(&|i, v| if i == 3 { f64::NAN } else { v }), "NaN");
        // Fewer rows than inputs: the outputs do not tell all of theta, and the difference depends on (w, V).
        let short = compare(1, SHORT, 20).unwrap();
        assert!(!short.is_equal() && short.deviation() > 0.1);
    }

    /// As many rows as inputs: X is invertible, pseudo-inverse and inverse are one, and nothing is left over.
    #[test]
    fn square_data_leaves_no_constant() {
        let run = compare(3, (4, 4), 20).unwrap();
        assert_eq!(run.constant(), 0.0);
        assert!(run.deviation() < 1e-6, "{:e}", run.deviation());
    }
}
