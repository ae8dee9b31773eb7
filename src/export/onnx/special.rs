//! Functions that ONNX has not, or has only in a form that loses digits in single precision. Every formula keeps 1e-6.

use super::graph::{Graph, Val};
use crate::method::quadrature::legendre_20;
use crate::ops::head::{NOISE_EXP, NOISE_SOFTPLUS, noise_variance};

/// log(1 + e^x). The operator of this name takes the logarithm of 1 + e^x itself and so loses e^x where it is small.
pub fn softplus(g: &mut Graph, x: &Val) -> Val {
    let positive = g.at_least(x, 0.0);
    let size = g.node("Abs", &[x]);
    let size = g.negated(&size);
    let e = g.exp(&size);
    // 2 atanh(u), u = e / (2 + e) <= 1/3.
    let below = g.affine(&e, 1.0, 2.0);
    let u = g.div(&e, &below);
    let u2 = g.square(&u);
    let series = polynomial(g, &u2, &[1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0]);
    let half = g.mul(&u, &series);
    let log = g.affine(&half, 2.0, 0.0);
    g.add(&positive, &log)
}

/// c0 + c1 x + c2 x^2 + ...
fn polynomial(g: &mut Graph, x: &Val, coefficients: &[f64]) -> Val {
    let mut rest = coefficients.iter().rev();
    let mut sum = g.scalar(rest.next().copied().unwrap_or(0.0));
    for c in rest {
        let product = g.mul(&sum, x);
        sum = g.affine(&product, 1.0, *c);
    }
    sum
}

/// e^(x^2) erfc(x) for x >= 0, to 1.2e-7 of itself: the Chebyshev fit `erfcc` of Numerical Recipes, t e^P(t) with
/// t = 1 / (1 + x / 2).
fn erfcx(g: &mut Graph, x: &Val) -> Val {
    const P: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let below = g.affine(x, 0.5, 1.0);
    let one = g.scalar(1.0);
    let t = g.div(&one, &below);
    let p = polynomial(g, &t, &P);
    let e = g.exp(&p);
    g.mul(&t, &e)
}

/// Bound of z: far beyond where e^(-z^2 / 2) is 0, and its square is still finite.
const FAR: f64 = 1e4;

/// e^(exponent + size^2 / 2) P(Z > size) for size >= 0, without the overflow of its parts: with the exponent -size^2 / 2 the
/// normal's tail itself.
fn tail(g: &mut Graph, exponent: &Val, size: &Val) -> Val {
    let x = g.affine(size, std::f64::consts::FRAC_1_SQRT_2, 0.0);
    let mills = erfcx(g, &x);
    let e = g.exp(exponent);
    let product = g.mul(&e, &mills);
    g.affine(&product, 0.5, 0.0)
}

/// P(Z <= z).
fn normal_cdf(g: &mut Graph, z: &Val) -> Val {
    let size = g.node("Abs", &[z]);
    let square = g.square(z);
    let exponent = g.affine(&square, -0.5, 0.0);
    let beyond = tail(g, &exponent, &size);
    let rest = g.negated(&beyond);
    let rest = g.affine(&rest, 1.0, 1.0);
    let zero = g.scalar(0.0);
    let is_left = g.node("Less", &[z, &zero]);
    g.choose(&is_left, &beyond, &rest)
}

/// Where g is held constant (`ops::head::noise_variance`).
fn bounds(link: u32) -> (f64, f64) {
    // softplus(x) = 1e-3 and 1e3.
    if link == NOISE_SOFTPLUS { (libm::log(libm::expm1(1e-3)), 1e3) } else { (-10.0, 10.0) }
}

/// Least sd of L that is told from 0: g changes by less than 1e-9 of itself.
const LEAST_SD: f64 = 1e-5;

/// g(L) of the noise link where L is known.
pub fn noise(g: &mut Graph, link: u32, l: &Val) -> Val {
    if link == NOISE_EXP {
        let l = g.clamp(l, -10.0, 10.0);
        return g.exp(&l);
    }
    let v = softplus(g, l);
    g.clamp(&v, 1e-3, 1e3)
}

/// E g(L), L ~ N(l, sd^2), as `ScaleMixture::mean_noise` defines it.
pub fn mean_noise(g: &mut Graph, link: u32, l: &Val, sd: &Val) -> Val {
    let sd = g.at_least(sd, LEAST_SD);
    let (low, high) = bounds(link);
    let in_sds = |g: &mut Graph, bound: f64| {
        let bound = g.scalar(bound);
        let distance = g.sub(&bound, l);
        let z = g.div(&distance, &sd);
        g.clamp(&z, -FAR, FAR)
    };
    let (z_low, z_high) = (in_sds(g, low), in_sds(g, high));
    let below = normal_cdf(g, &z_low);
    let below = g.affine(&below, noise_variance(link, low).0, 0.0);
    let other_side = g.negated(&z_high);
    let above = normal_cdf(g, &other_side);
    let above = g.affine(&above, noise_variance(link, high).0, 0.0);
    let between = if link == NOISE_EXP {
        exp_between(g, l, &sd, (&z_low, low), (&z_high, high))
    } else {
        by_quadrature(g, link, l, &sd, &z_low, &z_high)
    };
    let sum = g.add(&below, &above);
    g.add(&sum, &between)
}

/// The integral of e^L between the bounds: e^s (P(z_high - sd) - P(z_low - sd)), s = l + sd^2 / 2. As e^s and a tail's share may
/// overflow and vanish, each tail is written by e^s phi(z - sd) = e^bound phi(z).
fn exp_between(g: &mut Graph, l: &Val, sd: &Val, low: (&Val, f64), high: (&Val, f64)) -> Val {
    let zero = g.scalar(0.0);
    let mut tails = vec![];
    let mut is_right = vec![];
    for (z, bound) in [low, high] {
        let a = g.sub(z, sd);
        let size = g.node("Abs", &[&a]);
        let square = g.square(z);
        let exponent = g.affine(&square, -0.5, bound);
        tails.push(tail(g, &exponent, &size));
        is_right.push(g.node("Greater", &[&a, &zero]));
    }
    let variance = g.square(sd);
    let half = g.affine(&variance, 0.5, 0.0);
    let shift = g.add(l, &half);
    let whole = g.exp(&shift);
    // Right of the mode a bound has all of it but its tail on its left.
    let other = g.not(&is_right[0]);
    let is_between = g.and(&other, &is_right[1]);
    let all = g.choose(&is_between, &whole, &zero);
    let signed = |g: &mut Graph, at: usize, if_right: f64, tails: &[Val]| {
        let (yes, no) = (g.scalar(if_right), g.scalar(-if_right));
        let sign = g.choose(&is_right[at], &yes, &no);
        g.mul(&tails[at], &sign)
    };
    // P(a_high) - P(a_low): + or - a tail each, by the side on which its bound lies.
    let from_low = signed(g, 0, 1.0, &tails);
    let from_high = signed(g, 1, -1.0, &tails);
    let sum = g.add(&all, &from_low);
    g.add(&sum, &from_high)
}

/// Standard deviations of L about its mean that count.
const REACH: f64 = 7.0;

/// The integral of g(L) between the bounds: three times twenty points of Gauss and Legendre.
fn by_quadrature(g: &mut Graph, link: u32, l: &Val, sd: &Val, z_low: &Val, z_high: &Val) -> Val {
    debug_assert_eq!(link, NOISE_SOFTPLUS);
    let nodes: Vec<(f64, f64)> = (0..3).flat_map(|i| legendre_20(f64::from(i) / 3.0, f64::from(i + 1) / 3.0)).collect();
    let (from, to) = (g.clamp(z_low, -REACH, REACH), g.clamp(z_high, -REACH, REACH));
    let length = g.sub(&to, &from);
    let places: Vec<f32> = nodes.iter().map(|n| n.0 as f32).collect();
    let weights: Vec<f32> = nodes.iter().map(|n| (n.1 / std::f64::consts::TAU.sqrt()) as f32).collect();
    let (places, weights) = (g.floats(&[places.len()], &places), g.floats(&[weights.len()], &weights));
    let (from, wide) = (g.unsqueeze(&from, -1), g.unsqueeze(&length, -1));
    let (l, sd) = (g.unsqueeze(l, -1), g.unsqueeze(sd, -1));
    let step = g.mul(&wide, &places);
    let t = g.add(&from, &step);
    let square = g.square(&t);
    let exponent = g.affine(&square, -0.5, 0.0);
    let density = g.exp(&exponent);
    let away = g.mul(&sd, &t);
    let x = g.add(&l, &away);
    let values = softplus(g, &x);
    let product = g.mul(&values, &density);
    let weighted = g.mul(&product, &weights);
    let sum = g.sum_last(&weighted);
    g.mul(&sum, &length)
}

/// psi(x) for x >= 1: four steps up the recurrence, then the asymptotic series, whose next term is below 3e-9.
pub fn digamma(g: &mut Graph, x: &Val) -> Val {
    let one = g.scalar(1.0);
    let far = g.affine(x, 1.0, 4.0);
    let mut sum = g.log(&far);
    for i in 0..4 {
        let at = g.affine(x, 1.0, f64::from(i));
        let part = g.div(&one, &at);
        sum = g.sub(&sum, &part);
    }
    let inverse = g.div(&one, &far);
    let half = g.affine(&inverse, 0.5, 0.0);
    let square = g.square(&inverse);
    let series = polynomial(g, &square, &[1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0]);
    let series = g.mul(&square, &series);
    let sum = g.sub(&sum, &half);
    g.sub(&sum, &series)
}

/// sigma of a link, floor included (`ops::regularizer::sigma`).
pub fn sigma(g: &mut Graph, is_exp: bool, rho: &Val) -> Val {
    let s = if is_exp { g.exp(rho) } else { softplus(g, rho) };
    g.at_least(&s, crate::ops::regularizer::SIGMA_MIN)
}

/// Entropies in nats over the last axis, which falls away; a probability of 0 adds 0.
pub fn entropy(g: &mut Graph, p: &Val) -> Val {
    let least = g.at_least(p, f64::from(f32::MIN_POSITIVE));
    let log = g.log(&least);
    let terms = g.mul(p, &log);
    let sum = g.sum_last(&terms);
    g.negated(&sum)
}
