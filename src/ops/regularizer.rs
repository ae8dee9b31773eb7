//! Regularizers on the network's outputs (MATH.md section 3), the formulas shared by the VIFO head and weight-space VI,
//! and the column moments that the "_all" forms need.

use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, params, shared, step::Prior};
use crate::base::Real;

pub const REG_NONE: u32 = 0;
pub const REG_NAIVE: u32 = 1;
pub const REG_MEAN: u32 = 2;
pub const REG_MV: u32 = 3;
pub const REG_EB: u32 = 4;
pub const REG_MEAN_ALL: u32 = 5;
pub const REG_MV_ALL: u32 = 6;
pub const REG_EB_ALL: u32 = 7;

/// sigma = softplus(rho) or exp(rho).
pub const SIGMA_SOFTPLUS: u32 = 0;
pub const SIGMA_EXP: u32 = 1;
/// sigma is at least this (MATH.md section 2).
pub const SIGMA_MIN: f64 = 1e-6;

/// sigma and d sigma / d rho; the slope is 0 where the floor holds.
#[inline(always)]
pub fn sigma<T: Real>(link: u32, rho: T) -> (T, T) {
    let (s, slope) = if link == SIGMA_EXP {
        let s = rho.exp();
        (s, s)
    } else {
        (rho.softplus(), rho.sigmoid())
    };
    let floor = T::of(SIGMA_MIN);
    if s < floor { (floor, T::zero()) } else { (s, slope) }
}

params! {
    /// moments [R, 2, 3, K]: over the valid rows (group 0) and the auxiliary rows (group 1) the means of mu, mu^2 and s2.
    ColumnMoments {
        replicas: u32,
        rows: u32,
        /// Rows before this one are data, the others auxiliary.
        data_rows: u32,
        k: u32,
        sigma_link: u32,
    }
}

params! {
    /// The same of rows that count by weights [R / share, data_rows]: weighted means over the valid rows, so that each row's
    /// gradient times its weight is that of the weighted sum. Auxiliary rows count alike. All 0 where no row counts.
    WeighedMoments {
        replicas: u32,
        rows: u32,
        data_rows: u32,
        k: u32,
        sigma_link: u32,
        /// Replicas that share one row of weights: R / Y.
        share: u32,
    }
}

impl OpSpec for WeighedMoments {
    binds!(weighed_moments(step): [outputs, weights] -> [moments]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * 2 * self.k as u64)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![
                elements(&[self.replicas, self.rows, 2, self.k]),
                elements(&[self.replicas / self.share.max(1), self.data_rows]),
            ],
            vec![elements(&[self.replicas, 6, self.k])],
        )
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && self.data_rows <= self.rows && self.k > 0
    }
}
impl OpSpec for ColumnMoments {
    binds!(column_moments(step): [outputs] -> [moments]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * 2 * self.k as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.rows, 2, self.k])], vec![elements(&[self.replicas, 6, self.k])])
    }
    fn sizes_agree(&self) -> bool {
        self.data_rows <= self.rows && self.k > 0
    }
}

#[inline(always)]
pub fn column_moments<T: Real>(p: &ColumnMoments, args: &StepArgs<T>, outputs: &[T], moments: &mut [T]) {
    let k = p.k as usize;
    for r in 0..p.replicas as usize {
        for group in 0..2 {
            let (first, last) = if group == 0 { (0, args.n_valid) } else { (p.data_rows, p.rows) };
            let n = T::of((last - first).max(1) as f64);
            for c in 0..k {
                let (mut m1, mut m2, mut v) = (T::zero(), T::zero(), T::zero());
                for b in first as usize..last as usize {
                    let row = &outputs[(r * p.rows as usize + b) * 2 * k..][..2 * k];
                    let s = sigma(p.sigma_link, row[k + c]).0;
                    m1 += row[c];
                    m2 += row[c] * row[c];
                    v += s * s;
                }
                let at = (r * 2 + group) * 3 * k + c;
                moments[at] = m1 / n;
                moments[at + k] = m2 / n;
                moments[at + 2 * k] = v / n;
            }
        }
    }
}

#[inline(always)]
pub fn weighed_moments<T: Real>(
    p: &WeighedMoments,
    args: &StepArgs<T>,
    outputs: &[T],
    weights: &[T],
    moments: &mut [T],
) {
    let k = p.k as usize;
    for r in 0..p.replicas as usize {
        let weights = &weights[r / p.share as usize * p.data_rows as usize..][..p.data_rows as usize];
        for group in 0..2 {
            let (first, last) = if group == 0 { (0, args.n_valid) } else { (p.data_rows, p.rows) };
            for c in 0..k {
                let (mut m1, mut m2, mut v, mut total) = (T::zero(), T::zero(), T::zero(), T::zero());
                for b in first as usize..last as usize {
                    let row = &outputs[(r * p.rows as usize + b) * 2 * k..][..2 * k];
                    let s = sigma(p.sigma_link, row[k + c]).0;
                    let w = if group == 0 { weights[b] } else { T::one() };
                    m1 += w * row[c];
                    m2 += w * (row[c] * row[c]);
                    v += w * (s * s);
                    total += w;
                }
                let n = if total > T::zero() { total } else { T::one() };
                let at = (r * 2 + group) * 3 * k + c;
                moments[at] = m1 / n;
                moments[at + k] = m2 / n;
                moments[at + 2 * k] = v / n;
            }
        }
    }
}

/// The weight w* of eb and its derivative: f(S) = D log w + S / w with w = (S + 2 beta) / (D + 2 alpha + 2).
/// Returns (f, df/dS).
#[inline(always)]
pub fn eb_energy<T: Real>(prior: &Prior<T>, dims: T, s: T) -> (T, T) {
    let two = T::of(2.0);
    let c = dims + two * prior.p0 + two;
    let w = (s + two * prior.p1) / c;
    let f = dims * w.ln() + s / w;
    let df = dims / (w * c) + T::one() / w - s / (w * w * c);
    (f, df)
}

/// Terms of the separable kinds (naive, mean, mv) for one dimension: (value without the constant, d/dmu, d/ds2).
#[inline(always)]
pub fn separable<T: Real>(kind: u32, p: &Prior<T>, mu: T, s2: T) -> (T, T, T) {
    let half = T::of(0.5);
    let log = half * s2.ln();
    let inv = half / s2;
    match kind {
        REG_NAIVE => {
            let v = T::one() / p.p0;
            (half * v * (s2 + mu * mu) - log, v * mu, half * v - inv)
        }
        REG_MEAN => {
            let g = T::one() / p.p0;
            (half * g * (s2 + p.p1 * mu * mu) - log, g * p.p1 * mu, half * g - inv)
        }
        _ => {
            let q = p.p1 + half * p.p2 * mu * mu + half * s2;
            let a = (p.p0 + half) / q;
            ((p.p0 + half) * q.ln() - log, a * p.p2 * mu, half * a - inv)
        }
    }
}

/// Reg of one row and `scale` times its gradient, added to `dmu` and `ds2`. `moments` are this group's [3, K].
#[inline(always)]
pub fn row<T: Real>(
    kind: u32,
    p: &Prior<T>,
    mu: &[T],
    s2: &[T],
    moments: &[T],
    scale: T,
    dmu: &mut [T],
    ds2: &mut [T],
) -> T {
    let k = mu.len();
    let (half, dims) = (T::of(0.5), T::of(k as f64));
    let mut value = dims * p.constant;
    match kind {
        REG_NONE => return T::zero(),
        REG_NAIVE | REG_MEAN | REG_MV => {
            for c in 0..k {
                let (v, dm, ds) = separable(kind, p, mu[c], s2[c]);
                value += v;
                dmu[c] += scale * dm;
                ds2[c] += scale * ds;
            }
        }
        REG_EB | REG_EB_ALL => {
            let mut s = T::zero();
            for c in 0..k {
                s += if kind == REG_EB { mu[c] * mu[c] + s2[c] } else { moments[k + c] + moments[2 * k + c] };
            }
            let (f, df) = eb_energy(p, dims, s);
            value += half * f;
            for c in 0..k {
                value -= half * s2[c].ln();
                dmu[c] += scale * df * mu[c];
                ds2[c] += scale * half * (df - T::one() / s2[c]);
            }
        }
        REG_MEAN_ALL => {
            let g = T::one() / p.p0;
            let shrink = g - g * p.p1;
            for c in 0..k {
                value +=
                    half * g * (s2[c] + mu[c] * mu[c]) - half * s2[c].ln() - half * shrink * moments[c] * moments[c];
                dmu[c] += scale * (g * mu[c] - shrink * moments[c]);
                ds2[c] += scale * half * (g - T::one() / s2[c]);
            }
        }
        _ => {
            for c in 0..k {
                let q = p.p1 + half * p.p2 * moments[k + c] + half * moments[2 * k + c];
                let a = (p.p0 + half) / q;
                value += (p.p0 + half) * q.ln() - half * s2[c].ln();
                dmu[c] += scale * a * p.p2 * mu[c];
                ds2[c] += scale * half * (a - T::one() / s2[c]);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KL(N(0.5, 0.25) || N(0, 1)) = 1/2 (0.25 + 0.25 - 1 - log 0.25).
    #[test]
    fn naive_is_the_gaussian_divergence() {
        let prior = Prior { p0: 1.0, constant: -0.5, ..Default::default() };
        let (mut dmu, mut ds2) = ([0.0], [0.0]);
        let v = row(REG_NAIVE, &prior, &[0.5], &[0.25], &[0.0; 3], 1.0, &mut dmu, &mut ds2);
        assert!((v - 0.5 * (-0.5 - 0.25f64.ln())).abs() < 1e-15);
        assert_eq!((dmu[0], ds2[0]), (0.5, 0.5 - 2.0));
    }

    #[test]
    fn eb_slope_follows_w() {
        let prior = Prior { p0: 4.4798, p1: 10.0, ..Default::default() };
        for s in [0.01f64, 1.0, 50.0] {
            let h = 1e-5 * s;
            let d = (eb_energy(&prior, 3.0, s + h).0 - eb_energy(&prior, 3.0, s - h).0) / (2.0 * h);
            assert!((d - eb_energy(&prior, 3.0, s).1).abs() < 1e-8);
        }
    }
}
