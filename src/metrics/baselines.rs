//! The two baselines of every regression report: ordinary least squares, and the training mean. Both predict a Gaussian
//! whose standard deviation is that of the training residuals (maximum likelihood, divided by n).

use super::normal::HALF_LN_TWO_PI;
use super::{mean_of_pairs, weighted};
use crate::error::{Error, Result};

/// More input columns than this are not fitted.
pub const MAX_LINEAR_COLUMNS: usize = 1500;

/// Most multiply-adds, about n d min(n, d), that a fit may take: some ten seconds of one core.
const MAX_WORK: f64 = 1e10;

/// A residual below this share of the target's standard deviation is rounding, not knowledge.
const RELATIVE_SD_FLOOR: f64 = 1e-6;

/// Mean over rows of -log N(y; prediction, sd^2) in nats; `prediction` and `y` are [n], `sd` > 0 is shared by the rows.
/// NaN for no rows, unequal lengths or sd <= 0. MATH.md section 1.
pub fn gaussian_nll(prediction: &[f64], y: &[f64], sd: f64) -> f64 {
    if sd <= 0.0 {
        return f64::NAN;
    }
    mean_of_pairs(prediction, y, |p, y| 0.5 * ((y - p) / sd).powi(2)) + libm::log(sd) + HALF_LN_TWO_PI
}

/// Predicts N(mean, sd^2) for every row.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ConstantModel {
    /// Mean of the training targets.
    pub mean: f64,
    /// Their standard deviation (maximum likelihood), at least 1e-12 of |mean|; 1e-12 where all are 0.
    pub sd: f64,
}

impl ConstantModel {
    /// `y` is [n]; both fields are NaN for no rows.
    pub fn fit(y: &[f64]) -> ConstantModel {
        Self::fit_weighed(y, &[])
    }

    /// The same of rows that count by `weights` [n], or alike where there are none.
    pub fn fit_weighed(y: &[f64], weights: &[f32]) -> ConstantModel {
        let (mean, sd) = mean_and_sd(y, weights);
        let floor = 1e-12 * if mean == 0.0 && sd == 0.0 { 1.0 } else { mean.abs() };
        // Not f64::max, which would hide NaN.
        ConstantModel { mean, sd: if sd < floor { floor.max(f64::MIN_POSITIVE) } else { sd } }
    }
}

/// Least squares with intercept: prediction = y_mean + sum_j coefficient_j (x_j - centre_j) / scale_j.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinearModel {
    centre: Vec<f64>,
    scale: Vec<f64>,
    coefficient: Vec<f64>,
    y_mean: f64,
    residual_sd: f64,
}

impl LinearModel {
    /// Fits `y` [n] to `x` [n, d] by Householder QR with column pivoting on standardised columns. Columns that depend on
    /// others (n <= d included) get coefficient 0, constant ones too.
    ///
    /// Errors (`Run`): no rows or columns, lengths that disagree, values that are not finite or too large to square, and
    /// "skipped: too many columns" above [`MAX_LINEAR_COLUMNS`] or where rows times columns would take minutes.
    pub fn fit<X: Copy + Into<f64>>(x: &[X], y: &[f64], n: usize, d: usize) -> Result<LinearModel> {
        Self::fit_weighed(x, y, &[], n, d)
    }

    /// The same of rows that count by `weights` [n], or alike where there are none: weighted least squares.
    pub fn fit_weighed<X: Copy + Into<f64>>(
        x: &[X],
        y: &[f64],
        weights: &[f32],
        n: usize,
        d: usize,
    ) -> Result<LinearModel> {
        check_sizes(x, y, n, d)?;
        if !(weights.is_empty() || weights.len() == n) {
            return Err(refuse(format!("{} weights for {n} rows", weights.len()), "give one weight per row, or none"));
        }
        let (centre, scale): (Vec<f64>, Vec<f64>) = (0..d).map(|j| centre_and_scale(x, j, d, weights)).unzip();
        let y_stats = ConstantModel::fit_weighed(y, weights);
        let root = |i: usize| weights.get(i).map_or(1.0, |w| f64::from(*w).sqrt());
        if !centre.iter().chain(&scale).chain([&y_stats.mean, &y_stats.sd]).all(|v| v.is_finite()) {
            return Err(refuse("a value is not finite, or too large to square", "clean or rescale the data"));
        }
        // Column-major: a reflection walks down columns.
        let mut columns = Vec::with_capacity(n * d);
        for j in 0..d {
            columns.extend(
                x.chunks_exact(d).enumerate().map(|(i, row)| root(i) * ((row[j].into() - centre[j]) / scale[j])),
            );
        }
        let mut target: Vec<f64> = y.iter().enumerate().map(|(i, y)| root(i) * (y - y_stats.mean)).collect();
        let coefficient = pivoted_least_squares(&mut columns, &mut target, n, d);
        let mut model = LinearModel { centre, scale, coefficient, y_mean: y_stats.mean, residual_sd: f64::NAN };
        let errors = model.predict(x, n)?.into_iter().zip(y).map(|(p, y)| (y - p).powi(2));
        let sd = weighted::mean(errors, weights).sqrt();
        if !sd.is_finite() {
            return Err(refuse("the fit overflowed", "rescale the data"));
        }
        model.residual_sd = sd.max(RELATIVE_SD_FLOOR * y_stats.sd).max(f64::MIN_POSITIVE);
        Ok(model)
    }

    /// Bytes that a fit takes beside the rows themselves: their columns as doubles; 0 where it is left out for its size.
    pub fn bytes(n: usize, d: usize) -> u64 {
        if is_too_large(n, d) { 0 } else { (n * d * size_of::<f64>()) as u64 }
    }

    /// Predicted means [n] of `x` [n, d], in y's unit. Error (`Run`) where x does not hold n rows of the d columns that
    /// were fitted.
    pub fn predict<X: Copy + Into<f64>>(&self, x: &[X], n: usize) -> Result<Vec<f64>> {
        let d = self.coefficient.len();
        if d == 0 || n.checked_mul(d) != Some(x.len()) {
            return Err(refuse(
                format!("{} values given for {n} rows of {d} columns", x.len()),
                "give rows x columns values",
            ));
        }
        let term = |row: &[X], j: usize| self.coefficient[j] * ((row[j].into() - self.centre[j]) / self.scale[j]);
        Ok(x.chunks_exact(d).map(|row| self.y_mean + (0..d).map(|j| term(row, j)).sum::<f64>()).collect())
    }

    /// Standard deviation of the training residuals (maximum likelihood: divided by n), in y's unit; at least 1e-6 of
    /// the target's own, so that a perfect fit has a likelihood.
    pub fn residual_sd(&self) -> f64 {
        self.residual_sd
    }
}

fn refuse(found: impl Into<String>, help: &str) -> Error {
    Error::run("linear baseline", found, help)
}

fn check_sizes<X>(x: &[X], y: &[f64], n: usize, d: usize) -> Result<()> {
    if n == 0 || d == 0 || y.len() != n || n.checked_mul(d) != Some(x.len()) {
        let found = format!("{} inputs and {} targets given for {n} rows of {d} columns", x.len(), y.len());
        return Err(refuse(found, "give at least one row and one column, and rows x columns inputs"));
    }
    if is_too_large(n, d) {
        let help = format!("none needed: up to {MAX_LINEAR_COLUMNS} columns, fewer with many rows, are fitted");
        return Err(refuse(format!("skipped: too many columns ({d}, with {n} rows)"), &help));
    }
    Ok(())
}

fn is_too_large(n: usize, d: usize) -> bool {
    d > MAX_LINEAR_COLUMNS || n as f64 * d as f64 * n.min(d) as f64 > MAX_WORK
}

/// Mean and maximum-likelihood standard deviation; NaN for no values. The second pass takes back what a sum of many
/// values far from 0 has rounded away.
fn mean_and_sd(v: &[f64], weights: &[f32]) -> (f64, f64) {
    let rough = weighted::mean(v.iter().copied(), weights);
    let mean = rough + weighted::mean(v.iter().map(|v| v - rough), weights);
    (mean, weighted::mean(v.iter().map(|v| (v - mean).powi(2)), weights).sqrt())
}

/// Mean and standard deviation of column j. A constant column is centred on its very value, for its mean may be off by
/// a rounding error that the division would blow up to a column of noise.
fn centre_and_scale<X: Copy + Into<f64>>(x: &[X], j: usize, d: usize, weights: &[f32]) -> (f64, f64) {
    let column: Vec<f64> = x.iter().skip(j).step_by(d).map(|&v| v.into()).collect();
    let first = column.first().copied().unwrap_or(f64::NAN);
    let (mean, sd) = mean_and_sd(&column, weights);
    if column.iter().all(|&v| v == first) {
        (first, 1.0)
    } else if sd > 0.0 {
        (mean, sd)
    } else {
        // Squares that underflow: not constant, but too small to count, and this scale makes it 0. NaN goes this way
        // too and is refused.
        (mean, if sd.is_nan() { sd } else { f64::MAX })
    }
}

/// Least squares a b = target by Householder QR with column pivoting; a is [d, n] (column-major), both are overwritten.
/// Stops at the numerical rank; the columns left then get 0. Source: Golub & Van Loan, section 5.4.2.
fn pivoted_least_squares(a: &mut [f64], target: &mut [f64], n: usize, d: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..d).collect();
    let mut norm2: Vec<f64> = a.chunks_exact(n).map(|c| dot(c, c)).collect();
    let smallest = f64::EPSILON * n.max(d) as f64 * norm2.iter().copied().fold(0.0, f64::max).sqrt();
    let mut diagonal = Vec::new();
    for k in 0..n.min(d) {
        let pivot = (k..d).fold(k, |best, j| if norm2[order[j]] > norm2[order[best]] { j } else { best });
        order.swap(k, pivot);
        let norm = norm2[order[k]].sqrt();
        if norm <= smallest {
            break;
        }
        let mut v = a[order[k] * n + k..(order[k] + 1) * n].to_vec();
        let r = if v[0] > 0.0 { -norm } else { norm };
        v[0] -= r;
        let scale = 2.0 / dot(&v, &v);
        diagonal.push(r);
        for &j in &order[k + 1..] {
            let column = &mut a[j * n + k..(j + 1) * n];
            reflect(column, &v, scale);
            norm2[j] = dot(&column[1..], &column[1..]);
        }
        reflect(&mut target[k..], &v, scale);
    }
    let mut b = vec![0.0; d];
    for k in (0..diagonal.len()).rev() {
        let known: f64 = order[k + 1..diagonal.len()].iter().map(|&j| a[j * n + k] * b[j]).sum();
        b[order[k]] = (target[k] - known) / diagonal[k];
    }
    b
}

/// column -= scale * (v . column) * v.
fn reflect(column: &mut [f64], v: &[f64], scale: f64) {
    let s = scale * dot(column, v);
    column.iter_mut().zip(v).for_each(|(c, v)| *c -= s * v);
}

/// Four running sums: one alone would wait for itself at every addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (quads_a, quads_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = quads_a.remainder().iter().zip(quads_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in quads_a.zip(quads_b) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Rng, assert_near};
    use super::*;

    fn random(n: usize, d: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Rng::new(seed);
        let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
        let y = x.chunks_exact(d).map(|r| 3.0 + r.iter().enumerate().map(|(j, v)| v * (j as f64 - 1.5)).sum::<f64>());
        let y = y.map(|y| y + 0.3 * rng.normal()).collect();
        (x, y)
    }

    #[test]
    fn residuals_are_orthogonal_to_every_column_and_to_one() {
        // The normal equations define the fit. Units span ten orders of magnitude around an offset of 1e5, where f64
        // steps by 1.5e-11: a centre is off by at most 0.7e-8 of the finest spread, times 200 rows, slopes and residuals
        // of order one.
        let (n, d) = (200, 6);
        let (mut x, y) = random(n, d, 1);
        x.chunks_exact_mut(d).for_each(|r| (0..d).for_each(|j| r[j] = 1e5 + r[j] * 10f64.powi(j as i32 * 2 - 3)));
        let model = LinearModel::fit(&x, &y, n, d).unwrap();
        let p = model.predict(&x, n).unwrap();
        for j in 0..d {
            let spread = 10f64.powi(j as i32 * 2 - 3);
            let product: f64 = (0..n).map(|i| (y[i] - p[i]) * (x[i * d + j] - 1e5) / spread).sum();
            assert_near(product, 0.0, 1e-5);
        }
        assert_near((0..n).map(|i| y[i] - p[i]).sum(), 0.0, 1e-5);
        assert_near(model.residual_sd(), super::super::rmse(&p, &y), 1e-14);
    }

    #[test]
    fn a_line_by_hand() {
        // y = 0, 1, 5 at x = 0, 1, 2: slope 5/2, intercept -1/2, residuals 1/2, -1, 1/2.
        let model = LinearModel::fit(&[0.0, 1.0, 2.0], &[0.0, 1.0, 5.0], 3, 1).unwrap();
        assert_near(model.predict(&[3.0], 1).unwrap()[0], 7.0, 1e-14);
        assert_near(model.residual_sd(), 0.5f64.sqrt(), 1e-14);
        let (p, y) = (model.predict(&[0.0, 1.0, 2.0], 3).unwrap(), [0.0, 1.0, 5.0]);
        // At the maximum-likelihood sd the NLL is 1/2 + log sd + 1/2 log 2 pi.
        assert_near(gaussian_nll(&p, &y, model.residual_sd()), 0.5 + 0.5 * libm::log(0.5f64) + HALF_LN_TWO_PI, 1e-14);
    }

    #[test]
    fn repeated_constant_and_dependent_columns_change_nothing() {
        let (n, d) = (80, 3);
        let (x, y) = random(n, d, 2);
        let plain = LinearModel::fit(&x, &y, n, d).unwrap().predict(&x, n).unwrap();
        let wide: Vec<f64> =
            x.chunks_exact(d).flat_map(|r| [r[0], r[1], 0.1, r[2], r[0], r[1] - 2.0 * r[2], 0.0]).collect();
        let model = LinearModel::fit(&wide, &y, n, 7).unwrap();
        for (a, b) in model.predict(&wide, n).unwrap().iter().zip(&plain) {
            assert_near(*a, *b, 1e-11);
        }
    }

    #[test]
    fn fewer_rows_than_columns_interpolates_with_a_floor_under_the_sd() {
        for (n, d) in [(1, 1), (1, 5), (2, 2), (10, 10), (10, 40), (5, MAX_LINEAR_COLUMNS)] {
            let (x, y) = random(n, d, 3);
            let model = LinearModel::fit(&x, &y, n, d).unwrap();
            for (p, y) in model.predict(&x, n).unwrap().iter().zip(&y) {
                assert_near(*p, *y, 1e-9);
            }
            assert!(model.residual_sd() > 0.0);
        }
    }

    #[test]
    fn too_wide_or_malformed_is_an_error_not_a_crash() {
        let (x, y) = (vec![1.0; 20_000], [1.0, 2.0]);
        let skipped = LinearModel::fit(&x, &y, 2, 10_000).unwrap_err().to_string();
        assert!(skipped.contains("skipped: too many columns"), "{skipped}");
        assert!(
            LinearModel::fit::<f64>(&[], &[], 0, 0).is_err()
                && LinearModel::fit(&[1.0], &[1.0], usize::MAX, 3).is_err()
        );
        assert!(LinearModel::fit(&[1.0, f64::NAN], &[1.0, 2.0], 2, 1).is_err());
        assert!(LinearModel::fit(&[1.0, 2.0], &[1.0, f64::INFINITY], 2, 1).is_err());
        assert!(LinearModel::fit(&[1e300, -1e300], &y, 2, 1).is_err());
        let tiny = LinearModel::fit(&[1e-161, 2e-161, 3e-170, 1e-170], &y, 2, 2).unwrap();
        assert!(tiny.predict(&[1e-161, 2e-161], 1).unwrap()[0].is_finite() && tiny.residual_sd().is_finite());
        let model = LinearModel::fit(&[1.0, 2.0], &y, 2, 1).unwrap();
        assert!(model.predict(&[1.0], 2).is_err() && model.predict::<f64>(&[], usize::MAX).is_err());
        assert!(ConstantModel::fit(&[]).mean.is_nan() && ConstantModel::fit(&[]).sd.is_nan());
        assert!(gaussian_nll(&[1.0], &[1.0], 0.0).is_nan() && gaussian_nll(&[], &[], 1.0).is_nan());
    }

    /// Weighted fits are those of the rows repeated.
    #[test]
    fn a_row_of_weight_k_counts_as_k_rows() {
        let (n, d) = (40, 3);
        let (x, y) = random(n, d, 9);
        let times: Vec<usize> = (0..n).map(|i| i * 7 % 4).collect();
        let weights: Vec<f32> = times.iter().map(|&k| 0.5 * k as f32).collect();
        let rows = || times.iter().enumerate().flat_map(|(i, &k)| std::iter::repeat_n(i, k));
        let (long_x, long_y): (Vec<f64>, Vec<f64>) =
            (rows().flat_map(|i| x[i * d..(i + 1) * d].to_vec()).collect(), rows().map(|i| y[i]).collect());
        let (a, b) = (ConstantModel::fit_weighed(&y, &weights), ConstantModel::fit(&long_y));
        assert_near(a.mean, b.mean, 1e-13);
        assert_near(a.sd, b.sd, 1e-13);
        let a = LinearModel::fit_weighed(&x, &y, &weights, n, d).unwrap();
        let b = LinearModel::fit(&long_x, &long_y, long_y.len(), d).unwrap();
        for (a, b) in a.predict(&x, n).unwrap().iter().zip(b.predict(&x, n).unwrap()) {
            assert_near(*a, b, 1e-11);
        }
        assert_near(a.residual_sd(), b.residual_sd(), 1e-12);
        assert!(LinearModel::fit_weighed(&x, &y, &weights[1..], n, d).is_err());
    }

    #[test]
    fn the_constant_model_is_mean_and_sd() {
        assert_eq!(ConstantModel::fit(&[1.0, 3.0]), ConstantModel { mean: 2.0, sd: 1.0 });
        assert_eq!((ConstantModel::fit(&[5.0, 5.0]).sd, ConstantModel::fit(&[0.0, 0.0]).sd), (5e-12, 1e-12));
        assert_eq!(ConstantModel::fit(&[-1e-20, 1e-20]).sd, 1e-20);
    }
}
