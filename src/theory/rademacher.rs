//! Theorem 4.5 of the paper (MATH.md section 10, Rademacher): R(loss o (H x H) o S) <= 2 L0 max(1, L1) K R(H o S), both
//! sides by Monte Carlo over sign vectors.
//!
//! The class: two-class VIFO (K = 2) on a linear network, mu_c = w_c' x and s_c = softplus(v_c' x) with the norm of every
//! w_c and v_c at most `NORM`, so H is the class of x -> w' x with |w| <= NORM and L1 = 1. The loss E_q[-log p(y|z)] of the
//! softmax has gradients of at most 1 in every output, so L0 = 1 (in the 1-norm, in which the proof uses it).
//!
//! Right side: sup over |w| <= NORM of sum sigma_i w' x_i is NORM |sum sigma_i x_i|, exact for every sign vector. Left
//! side: its supremum has no closed form; projected gradient ascent from several starts finds it FROM BELOW. A left side
//! above the right one would refute the bound; the search can only make the ratio too small, and the tests measure how
//! little where the supremum is known.

use super::{Estimate, Normals};
use crate::base::Real;
use crate::figure::{CurvesFigure, Series};
use crate::method::quadrature::HERMITE_9;
use rayon::prelude::*;

/// Bound of the norms of w_c and v_c.
pub const NORM: f64 = 1.0;
/// Inputs of a row, standard normal.
pub const INPUTS: usize = 3;
/// Classes, K.
pub const CLASSES: usize = 2;
/// Sizes of the training set.
pub const ROWS: [usize; 6] = [25, 50, 100, 200, 400, 800];
/// Pairs of opposite sign vectors drawn for each size.
pub const SIGNS: usize = 100;
/// 2 L0 max(1, L1) K.
pub const FACTOR: f64 = 2.0 * CLASSES as f64;

const STEPS: usize = 60;

/// Both sides at N rows; `ratio` = left / right.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    pub rows: usize,
    /// R(loss o (H x H) o S), from below.
    pub loss: Estimate,
    /// R(H o S).
    pub class: Estimate,
    /// Left over right, its error from the sign vectors that both sides share.
    pub ratio: Estimate,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rademacher {
    pub sides: Vec<Side>,
}

/// Training rows: x [n, INPUTS], y in {-1, 1} for the first and the second class.
struct Sample {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// (w_0, w_1, v_0, v_1), INPUTS numbers each.
type Weights = [f64; 4 * INPUTS];

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// E_q[-log p(y|z)] and its derivatives by (mu_0, mu_1, s_0, s_1). Two logits enter by their difference alone, which is
/// N(mu_0 - mu_1, s_0^2 + s_1^2): one integral, by nine Gauss-Hermite points.
fn loss(mu: [f64; 2], s: [f64; 2], y: f64) -> (f64, [f64; 4]) {
    let (difference, sd) = (mu[0] - mu[1], libm::hypot(s[0], s[1]));
    let (mut value, mut slope, mut slope_sd) = (0.0, 0.0, 0.0);
    for (node, weight) in HERMITE_9 {
        let z = -y * (difference + sd * node);
        value += weight * z.softplus();
        slope += weight * -y * z.sigmoid();
        slope_sd += weight * -y * z.sigmoid() * node;
    }
    (value, [slope, -slope, slope_sd * s[0] / sd, slope_sd * s[1] / sd])
}

/// 1/N sum sigma_i loss_i and its gradient.
fn objective(sample: &Sample, signs: &[f64], w: &Weights) -> (f64, Weights) {
    let (mut value, mut gradient) = (0.0, [0.0; 4 * INPUTS]);
    for ((x, y), sign) in sample.x.chunks_exact(INPUTS).zip(&sample.y).zip(signs) {
        let out: [f64; 4] = std::array::from_fn(|c| dot(&w[c * INPUTS..(c + 1) * INPUTS], x));
        let (loss, slopes) = loss([out[0], out[1]], [out[2].softplus(), out[3].softplus()], *y);
        value += sign * loss;
        for c in 0..4 {
            let link = if c < 2 { 1.0 } else { out[c].sigmoid() };
            let scale = sign * slopes[c] * link;
            gradient[c * INPUTS..(c + 1) * INPUTS].iter_mut().zip(x).for_each(|(g, x)| *g += scale * x);
        }
    }
    let n = signs.len() as f64;
    (value / n, gradient.map(|g| g / n))
}

/// Each of the four vectors back into its ball.
fn project(w: &mut Weights, norm: f64) {
    for v in w.chunks_exact_mut(INPUTS) {
        let length = dot(v, v).sqrt();
        if length > norm {
            v.iter_mut().for_each(|v| *v *= norm / length);
        }
    }
}

/// The largest objective that ascent finds: from 0, from where the linearised loss is largest, and from random points.
/// A step that does not rise is halved, one that does grows.
fn supremum(sample: &Sample, signs: &[f64], norm: f64, normals: &mut Normals) -> f64 {
    let mut first = objective(sample, signs, &[0.0; 4 * INPUTS]).1;
    let mut starts = vec![[0.0; 4 * INPUTS]];
    for v in first.chunks_exact_mut(INPUTS) {
        let length = dot(v, v).sqrt().max(f64::MIN_POSITIVE);
        v.iter_mut().for_each(|v| *v *= norm / length);
    }
    starts.push(first);
    for _ in 0..2 {
        let mut start: Weights = std::array::from_fn(|_| norm * normals.take());
        project(&mut start, norm);
        starts.push(start);
    }
    let mut best = f64::NEG_INFINITY;
    for mut at in starts {
        let (mut value, mut gradient) = objective(sample, signs, &at);
        let mut step = norm / dot(&gradient, &gradient).sqrt().max(f64::MIN_POSITIVE);
        for _ in 0..STEPS {
            let mut next: Weights = std::array::from_fn(|i| at[i] + step * gradient[i]);
            project(&mut next, norm);
            let (new, slopes) = objective(sample, signs, &next);
            if new > value {
                (at, value, gradient, step) = (next, new, slopes, 1.5 * step);
            } else {
                step *= 0.5;
            }
        }
        best = best.max(value);
    }
    best
}

/// sup over |w| <= norm of 1/N sum sigma_i w' x_i.
fn class_supremum(sample: &Sample, signs: &[f64], norm: f64) -> f64 {
    let mut sum = [0.0; INPUTS];
    for (x, sign) in sample.x.chunks_exact(INPUTS).zip(signs) {
        sum.iter_mut().zip(x).for_each(|(s, x)| *s += sign * x);
    }
    norm * dot(&sum, &sum).sqrt() / signs.len() as f64
}

fn signs(normals: &mut Normals, n: usize) -> Vec<f64> {
    (0..n).map(|_| if normals.take() < 0.0 { -1.0 } else { 1.0 }).collect()
}

/// Rows whose classes follow a linear rule with noise: labels mean something, as in training.
fn sample(normals: &mut Normals, n: usize) -> Sample {
    let (x, rule) = (normals.vec(n * INPUTS), normals.vec(INPUTS));
    let y = x.chunks_exact(INPUTS).map(|x| if dot(x, &rule) + 0.5 * normals.take() < 0.0 { -1.0 } else { 1.0 });
    let y = y.collect();
    Sample { x, y }
}

/// Both suprema for every pair of opposite sign vectors, their means. What the loss has in common for all weights averages
/// to nothing over the signs; in a pair it cancels, so that it adds no noise.
fn suprema(seed: u32, n: usize, draws: usize, norm: f64) -> Vec<(f64, f64)> {
    let sample = sample(&mut Normals::new(seed, 200_000 + n as u32), n);
    let one = |draw: usize| {
        let mut normals = Normals::new(seed, 1_000_000 + (n * 1000 + draw) as u32);
        let signs = signs(&mut normals, n);
        let opposite: Vec<f64> = signs.iter().map(|s| -s).collect();
        let loss = [&signs, &opposite].map(|s| supremum(&sample, s, norm, &mut normals));
        (0.5 * (loss[0] + loss[1]), class_supremum(&sample, &signs, norm))
    };
    (0..draws).into_par_iter().map(one).collect()
}

fn side(seed: u32, n: usize, draws: usize, norm: f64) -> Side {
    let (left, right): (Vec<f64>, Vec<f64>) = suprema(seed, n, draws, norm).into_iter().unzip();
    let (loss, class) = (Estimate::of(&left), Estimate::of(&right));
    let ratio = loss.mean / (FACTOR * class.mean);
    // Delta method: the error of a quotient of means is that of left - ratio * right.
    let rest: Vec<f64> = left.iter().zip(&right).map(|(l, r)| l - ratio * FACTOR * r).collect();
    Side { rows: n, loss, class, ratio: Estimate { mean: ratio, se: Estimate::of(&rest).se / (FACTOR * class.mean) } }
}

/// Both sides at each size of the training set, from `draws` pairs of sign vectors.
pub fn rademacher(seed: u32, rows: &[usize], draws: usize) -> Rademacher {
    Rademacher { sides: rows.iter().map(|n| side(seed, *n, draws, NORM)).collect() }
}

impl Side {
    /// The right side, R(H o S) times `factor`.
    pub fn bound(&self, factor: f64) -> Estimate {
        Estimate { mean: factor * self.class.mean, se: factor * self.class.se }
    }
    /// The left side is not above the right one by more than three standard errors.
    pub fn is_below(&self, factor: f64) -> bool {
        let scale = FACTOR / factor;
        self.loss.mean > 0.0 && (self.ratio.mean - 3.0 * self.ratio.se) * scale <= 1.0
    }
}

impl Rademacher {
    pub fn verdict(&self) -> bool {
        !self.sides.is_empty() && self.sides.iter().all(|s| s.is_below(FACTOR))
    }

    pub fn figure(&self) -> CurvesFigure {
        let x: Vec<f64> = self.sides.iter().map(|s| s.rows as f64).collect();
        let series = |name: &str, values: Vec<Estimate>| Series {
            name: name.into(),
            x: x.clone(),
            y: values.iter().map(|e| e.mean).collect(),
            sd: Some(values.iter().map(|e| e.se).collect()),
        };
        CurvesFigure {
            title: "Rademacher complexity of VIFO's loss and its bound".into(),
            x_label: "training rows N".into(),
            y_label: "Rademacher complexity, nats".into(),
            shaded: Some("shaded: ± 1 standard error".into()),
            log: false,
            series: vec![
                series("loss of VIFO, from below", self.sides.iter().map(|s| s.loss).collect()),
                series("bound 2 L0 max(1, L1) K R(H)", self.sides.iter().map(|s| s.bound(FACTOR)).collect()),
            ],
            mark: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the mean of many reparameterised samples, and by differences of the quadrature itself.
    #[test]
    fn the_loss_and_its_slopes() {
        let (mu, s, y) = ([0.4, -0.3], [0.6, 0.9], 1.0);
        let (value, slopes) = loss(mu, s, y);
        let mut normals = Normals::new(3, 1);
        let draws: Vec<f64> = (0..200_000)
            .map(|_| {
                let z: [f64; 2] = std::array::from_fn(|c| mu[c] + s[c] * normals.take());
                let mut dz = [0.0; 2];
                // Class 0 is y = 1.
                crate::ops::head::softmax_loss(&z, 0, 1.0, &mut dz)
            })
            .collect();
        let sampled = Estimate::of(&draws);
        assert!((value - sampled.mean).abs() < 5.0 * sampled.se, "{value} {sampled:?}");
        let h = 1e-5;
        for c in 0..4 {
            let at = |shift: f64| {
                let (mut mu, mut s) = (mu, s);
                *(if c < 2 { &mut mu[c] } else { &mut s[c - 2] }) += shift;
                loss(mu, s, y).0
            };
            assert!((slopes[c] - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-9, "{c}");
            assert!(slopes[c].abs() <= 1.0, "the theorem's L0");
        }
    }

    /// In a small ball the loss is linear: its supremum is the sum over the four vectors of norm * |gradient at 0|. The
    /// rest is of second order: norm times the curvature over the slope, some units.
    #[test]
    fn the_search_finds_a_known_supremum() {
        let norm = 1e-4;
        let mut normals = Normals::new(5, 2);
        let rows = sample(&mut normals, 50);
        for _ in 0..10 {
            let signs = signs(&mut normals, 50);
            let (at_zero, slopes) = objective(&rows, &signs, &[0.0; 4 * INPUTS]);
            let exact: f64 = slopes.chunks(INPUTS).map(|g| norm * dot(g, g).sqrt()).sum();
            let found = supremum(&rows, &signs, norm, &mut normals) - at_zero;
            assert!((found / exact - 1.0).abs() < 1e-2, "{found:e} {exact:e}");
        }
    }

    /// At the ball's full size no random point is better than what the search found.
    #[test]
    fn the_search_beats_random_points() {
        let mut normals = Normals::new(6, 3);
        let rows = sample(&mut normals, 40);
        let signs = signs(&mut normals, 40);
        let found = supremum(&rows, &signs, NORM, &mut normals);
        let again = supremum(&rows, &signs, NORM, &mut normals);
        assert!((found - again).abs() < 1e-3 * found.abs(), "other starts: {found} {again}");
        for _ in 0..20_000 {
            let mut w: Weights = std::array::from_fn(|_| 2.0 * normals.take());
            project(&mut w, NORM);
            assert!(objective(&rows, &signs, &w).0 <= found + 1e-9);
        }
    }

    #[test]
    fn the_bound_holds_and_a_wrong_one_is_rejected() {
        let r = rademacher(1, &[20, 80], 200);
        assert!(r.verdict(), "{r:?}");
        for side in &r.sides {
            // Without the 2 (two outputs per class) and K the bound is wrong, and the check says so.
            assert!(!side.is_below(FACTOR / 4.0), "{side:?}");
            assert!(side.ratio.mean > 0.2 && side.ratio.se < 0.05, "{side:?}");
        }
        // Four times the rows: half the complexity, within errors.
        let halves = r.sides[0].class.mean / r.sides[1].class.mean;
        assert!((halves - 2.0).abs() < 0.5, "{halves}");
        assert_eq!(r, rademacher(1, &[20, 80], 200));
        let mut bad = r;
        bad.sides[0].ratio.mean = f64::NAN;
        assert!(!bad.verdict());
    }
}
