//! What one network says of a row where the noise is Student's t: y = m' + sqrt(g(L)) T with m' ~ N(m, v), L ~ N(l, sd^2) and T ~ t_nu
//! (MATH.md sections 1 and 7). T is a normal whose variance is e^W, where e^-W follows a gamma distribution of mean 1 and shape nu / 2. So y is a
//! scale mixture of normals over X = log g(L) + W: one lattice in x serves L and W together, its weights sums over the nodes of L.

use super::quadrature::{HERMITE_9, legendre_20};
use super::scale_mixture::{ScaleMixture, log_normal};
use crate::base::gamma::ln_gamma;
use crate::metrics::log_normal_cdf;
use crate::ops::head::{NOISE_EXP, Student};

/// Nats to which the density of W falls at the ends of its lattice: 1e-7 of the mass lies beyond.
const DEEP: f64 = 16.0;
/// Terms below exp(-this) of the greatest are left out: a hundred thousand of them are 1e-8 of it.
const NOTHING: f64 = 30.0;
/// Standard deviations of L that count on either side, beside the shift by what it is multiplied with.
const REACH: f64 = 5.8;
/// Spread of L up to which nine Gauss-Hermite nodes hold e^aL, a at most 50.
const NARROW: f64 = 0.02;
/// log 2 pi.
const LN_TWO_PI: f64 = 1.837_877_066_409_345_5;
/// A sum below this may have lost terms to underflow.
const LEAST_SUM: f64 = 1e-280;
/// Nodes of L of a smaller share are left out.
const LEAST: f64 = 1e-11;

/// A lattice for the CDF, or a coarser one for the CRPS, whose cost is the square of its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lattice {
    /// CDF to 2e-7 (see the tests).
    Fine,
    /// CRPS to 1e-4 of itself.
    Coarse,
}

impl Lattice {
    /// Step, where W alone counts: at most the first, and the second in its standard deviations (about sqrt(2 / nu)). The trapezoidal rule
    /// is off by exp(-pi^2 / step): normal CDF and gamma density are analytic up to pi / 2 off the real line.
    fn step(self, nu: f64) -> f64 {
        let (most, in_sds) = if self == Lattice::Fine { (0.5, 0.85) } else { (0.65, 1.0) };
        f64::min(most, in_sds * (2.0 / nu).sqrt())
    }
    /// Normals of a smaller share of the mixture are left out.
    fn least(self) -> f64 {
        if self == Lattice::Fine { LEAST } else { 1e-6 }
    }
    /// Nats below the density's height at which it is cut on the left, and below which the mass is on the right.
    fn ends(self) -> (f64, f64) {
        if self == Lattice::Fine { (18.0, 18.0) } else { (14.0, 12.0) }
    }
}

/// How far left and right of 0 the density exp(-a (w + e^-w)) of W falls by so many nats: w + e^-w - 1 = nats / a.
fn reach(a: f64, (left, right): (f64, f64)) -> (f64, f64) {
    let (left, right) = (left / a, right / a);
    (libm::log1p(left + (2.0 * left).sqrt()), right + (2.0 * right).sqrt().min(1.0))
}

/// log p(y) in nats, to 1e-7 (against scipy and a fine grid; see the tests). The scale mixture is that of a normal noise, its
/// variance g(L) the squared scale.
pub fn log_density(part: &ScaleMixture, nu: f64, y: f64) -> f64 {
    let d = y - part.m;
    let half_square = 0.5 * d * d;
    if !(half_square.is_finite() && part.v.is_finite() && part.sd >= 0.0) || part.l.is_nan() {
        return if half_square == f64::INFINITY && !part.v.is_nan() { f64::NEG_INFINITY } else { f64::NAN };
    }
    let is_point = part.is_normal() || (part.l.is_infinite() && part.sd.is_finite());
    if is_point && part.v == 0.0 {
        let g = part.noise(part.l);
        let far = libm::log1p(2.0 * half_square / (nu * g));
        return -0.5 * ((nu + 1.0) * far + libm::log(g)) - Student::constant_of(nu);
    }
    if !is_point && part.l.is_infinite() {
        return f64::NAN;
    }
    let a = 0.5 * nu;
    let step = f64::min(0.42, 1.1 / (nu + 1.0).sqrt());
    let constant = a * libm::log(a) - ln_gamma(a);
    // All of L that may count in a tail: the likelihood rises with it by no more than e^aL.
    let (low, high) = part.bounds();
    let square = part.sd * part.sd;
    let ends = (part.l - REACH * part.sd - 0.5 * square, part.l + REACH * part.sd + a * square);
    let is_free = part.link == NOISE_EXP && part.sd > NARROW && ends.0 > low && ends.1 < high;
    if let Some(found) = is_free.then(|| one_lattice(part, half_square, a, ends, step)).filter(|f| f.is_finite()) {
        return constant + found;
    }
    let inner = match is_point {
        true => vec![(0.0, part.noise(part.l))],
        false => nodes_of_l(part, a, (ends.0.max(low), ends.1.min(high))),
    };
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, g) in &inner {
        (least, most) = (least.min(*g), most.max(*g));
    }
    let (left, right) = reach(a, (DEEP, DEEP));
    let span = (libm::log(least) - left, libm::log(most.max(d * d)) + right, step);
    constant + lattice_sum(part.v, half_square, a, &inner, span)
}

/// Where g(L) = e^L, x and L on one lattice: what both meet in, exp(-a e^(L - x)), depends on their difference and is a table. log of the
/// sum as in `lattice_sum`, L between `ends` and x in steps of at most `step`; NaN where the sum is too small for a number.
fn one_lattice(part: &ScaleMixture, half_square: f64, a: f64, ends: (f64, f64), step: f64) -> f64 {
    let (l, sd) = (part.l, part.sd);
    let fine = step.min(sd);
    let each = (step / fine).floor() as usize;
    let coarse = each as f64 * fine;
    let of_l = ((ends.1 - ends.0) / fine).ceil() as usize + 1;
    let (left, right) = reach(a, (DEEP, DEEP));
    let from = ends.0 - left;
    let to = ends.1.max(libm::log(2.0 * half_square)) + right;
    let of_x = ((to - from) / coarse).ceil() as usize + 1;
    let last = (of_x - 1) * each;
    let mut e = libm::exp(left - last as f64 * fine);
    let growth = libm::exp(fine);
    let mut table = Vec::with_capacity(of_l + last);
    for _ in 0..of_l + last {
        table.push(libm::exp(-a * e));
        e *= growth;
    }
    // e^aL N(L; l, sd^2) about its greatest, which lies at l + a sd^2.
    let weight = |k: usize| {
        let z = (ends.0 + k as f64 * fine - l) / sd - a * sd;
        libm::exp(-0.5 * z * z)
    };
    let weights: Vec<f64> = (0..of_l).map(weight).collect();
    // Up to e^a from: e^-ax and e^x.
    let (mut power, mut s, mut sum) = (1.0, libm::exp(from), 0.0);
    let (decay, growth) = (libm::exp(-a * coarse), libm::exp(coarse));
    for n in 0..of_x {
        let at = &table[last - n * each..];
        let inner: f64 = weights.iter().zip(at).map(|(w, t)| w * t).sum();
        let variance = part.v + s;
        sum += inner * power * libm::exp(-half_square / variance) / variance.sqrt();
        power *= decay;
        s *= growth;
    }
    if sum < LEAST_SUM {
        return f64::NAN;
    }
    libm::log(sum * fine * coarse / sd) - LN_TWO_PI + a * (l + 0.5 * a * sd * sd - from)
}

/// log of the sum over x of step * N(d; 0, v + e^x) times the weights that L gives e^(a (log g - x)) exp(-a g / e^x), `inner` its (log weight, g).
fn lattice_sum(v: f64, half_square: f64, a: f64, inner: &[(f64, f64)], (from, to, step): (f64, f64, f64)) -> f64 {
    let of_l: Vec<(f64, f64)> = inner.iter().map(|(weight, g)| (weight + a * libm::log(*g), a * g)).collect();
    let count = ((to - from) / step).ceil().clamp(1.0, 1e5) as usize;
    let mut top = f64::NEG_INFINITY;
    // (log of what does not depend on L, e^-x)
    let mut of_x = Vec::with_capacity(count + 1);
    for i in 0..=count {
        let x = from + i as f64 * step;
        let s = libm::exp(x);
        let rest = log_normal(half_square, v + s) - a * x;
        let inverse = 1.0 / s;
        let best = of_l.iter().map(|(weight, ag)| weight - ag * inverse).fold(f64::NEG_INFINITY, f64::max);
        top = top.max(best + rest);
        of_x.push((rest, inverse, best + rest));
    }
    let mut sum = 0.0;
    for (rest, inverse, best) in of_x {
        if best < top - NOTHING {
            continue;
        }
        for (weight, ag) in &of_l {
            let term = weight - ag * inverse + rest - top;
            if term > -NOTHING {
                sum += libm::exp(term);
            }
        }
    }
    top + libm::log(sum * step)
}

/// (log weight, g) of L between `from` and `to`, a bound of g with all that lies beyond it.
fn nodes_of_l(part: &ScaleMixture, a: f64, (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    let (low, high) = part.bounds();
    let (l, sd) = (part.l, part.sd);
    let log_weight = |x: f64| {
        let z = (x - l) / sd;
        -0.5 * (z * z + LN_TWO_PI) - libm::log(sd)
    };
    let mut nodes = vec![];
    if from == low {
        nodes.push((log_normal_cdf((low - l) / sd), part.noise(low)));
    }
    if to == high {
        nodes.push((log_normal_cdf((l - high) / sd), part.noise(high)));
    }
    if nodes.is_empty() && sd <= NARROW {
        return HERMITE_9.iter().map(|(x, weight)| (libm::log(*weight), part.noise(l + sd * x))).collect();
    }
    if nodes.is_empty() {
        // A normal asks for 0.9 sd; the rest, of which the log has its next branch point pi off the real line, for 0.5, less where a multiplies it.
        let count = ((to - from) / (0.9 * sd).min(0.5).min(1.35 / a.sqrt())).ceil();
        let step = (to - from) / count;
        let all = (0..=count as usize).map(|i| from + i as f64 * step);
        nodes.extend(all.map(|x| (log_weight(x) + libm::log(step), part.noise(x))));
        return nodes;
    }
    // g(L)^a grows by at most e^40 in a panel; softplus(L) is L far out, and doubles in one.
    let (mut at, panel) = (from, f64::min(3.0, 40.0 / a));
    let longest = |at: f64| if part.link == NOISE_EXP { panel } else { at.max(panel) };
    while at < to {
        let end = (at + (6.0 * sd).min(longest(at))).min(to);
        nodes.extend(legendre_20(at, end).map(|(x, weight)| (log_weight(x) + libm::log(weight), part.noise(x))));
        at = end;
    }
    nodes
}

/// y as a mixture of normals about m: (weight, variance) of each, weights summing to 1.
pub fn nodes(part: &ScaleMixture, nu: f64, lattice: Lattice, mut take: impl FnMut(f64, f64)) {
    let mut inner = vec![];
    ScaleMixture { v: 0.0, ..*part }.nodes(|weight, g| inner.push((weight, g)));
    inner.retain(|(weight, _)| *weight > LEAST || weight.is_nan());
    let (mut least, mut most) = (f64::INFINITY, 0f64);
    for (_, g) in &inner {
        (least, most) = (least.min(*g), most.max(*g));
    }
    if !(least > 0.0 && least <= most && most.is_finite() && part.v >= 0.0) {
        return take(1.0, f64::NAN);
    }
    let a = 0.5 * nu;
    let of_l: Vec<(f64, f64)> =
        inner.iter().map(|(weight, g)| (libm::log(*weight) + a * libm::log(*g), a * g)).collect();
    let ((left, right), step) = (reach(a, lattice.ends()), lattice.step(nu));
    let (from, to) = (libm::log(least) - left, libm::log(most) + right);
    let count = ((to - from) / step).ceil().clamp(1.0, 1e5) as usize;
    let all: Vec<(f64, f64)> = (0..=count)
        .map(|i| {
            let x = from + i as f64 * step;
            let s = libm::exp(x);
            let (rest, inverse) = (a - a * x, 1.0 / s);
            let weight: f64 = of_l.iter().map(|(weight, ag)| libm::exp(weight - ag * inverse + rest)).sum();
            (weight, s)
        })
        .collect();
    let sum: f64 = all.iter().map(|n| n.0).sum();
    let counts = |n: &(f64, f64)| n.0 > lattice.least() * sum;
    let kept: f64 = all.iter().filter(|n| counts(n)).map(|n| n.0).sum();
    all.into_iter().filter(counts).for_each(|(weight, s)| take(weight / kept, part.v + s));
}

/// E of the variance of the noise: nu / (nu - 2) times the mean squared scale.
pub fn mean_noise(part: &ScaleMixture, nu: f64) -> f64 {
    nu / (nu - 2.0) * part.mean_noise()
}

#[cfg(test)]
#[path = "student_mixture_tests.rs"]
mod tests;
