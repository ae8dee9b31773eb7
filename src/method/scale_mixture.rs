//! A normal whose variance is itself uncertain: y ~ N(m, v + g(L)), L ~ N(l, sd^2), what one network of VIFO or Laplace says of
//! a row (MATH.md sections 7 and 12). Its density is one integral over L without a closed form. Where a target lies far out,
//! the L that explain it lie far from l, so no fixed rule about l serves: the nodes stand about the mode of the integrand.

use super::quadrature::{self, HERMITE_3, HERMITE_5, HERMITE_9};
use crate::metrics::{log_normal_cdf, normal_cdf};
use crate::ops::head::{NOISE_SOFTPLUS, noise_variance};

/// In the unit of the standardised target, as `noise_variance` bounds g.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScaleMixture {
    /// Mean of y.
    pub m: f64,
    /// Variance of the mean, >= 0.
    pub v: f64,
    /// Mean and standard deviation of L; where the latter is 0, y is normal.
    pub l: f64,
    pub sd: f64,
    /// `NOISE_EXP`, `NOISE_SOFTPLUS`, or `NO_NOISE`: g is 0 and y is normal.
    pub link: u32,
}

/// The link of a normal whose variance is all in `v`.
pub const NO_NOISE: u32 = u32::MAX;

/// In nats: targets a thousand standard deviations away, or an L that many beyond the bounds of g.
const FAR_OUT: f64 = -1e6;
/// Spread of L beyond which no more than 20 / sd of its mass, less than a digit, lies between the bounds of g.
const WIDEST: f64 = 1e20;
/// Steps on one side of the mode: a log-concave integrand falls below `CUT` in some fifty.
const MAX_STEPS: i32 = 100_000;

/// log 2 pi.
const LN_TWO_PI: f64 = 1.837_877_066_409_345_5;
/// Below this the spread of L changes no log density by 1e-9, 1,000 standard deviations out: the first correction
/// is sd^2 / 2 times the second derivative of the likelihood by L, at most its T^2 + T with T = 5e5.
const SD_MIN: f64 = 1e-10;
/// Terms below this share of the sum end it. The integrand is log-concave where this rule is used, so the terms left out fall
/// at least as fast as the last ones did: together they are of the size of the last one.
const CUT: f64 = 1e-8;
/// First step in widths of the mode: a normal's sum is then right to 1e-4 and, at half of it, to 1e-16.
const STEP: f64 = 1.4;
/// Agreement of a sum with the one of twice the step at which the finer one is taken. The trapezoidal rule's error falls as
/// exp(-c / h) or faster, so halving h squares it, and 3e-4 becomes 1e-7.
const AGREE: f64 = 3e-4;
/// exp(-25) of the greatest: what lies below is no part of the integral.
const DEEP: f64 = 25.0;
/// Each halves the step: far beyond need.
const HALVINGS: usize = 14;
/// Standard deviations of L about its mean that its nodes span; less than 1e-10 lies beyond.
const REACH: f64 = 6.5;
/// As far, where the bounds of g change no digit.
const FAR: f64 = 9.0;

/// The first two derivatives by L of the integrand's logarithm.
struct Slopes {
    first: f64,
    second: f64,
}

/// N(y; m, v + g(x)) N(x; l, sd^2) without the constants, g not bounded.
#[derive(Clone, Copy)]
struct Integrand {
    /// (y - m)^2 / 2.
    half_square: f64,
    v: f64,
    l: f64,
    /// 1 / sd^2.
    precision: f64,
    link: u32,
}

impl Integrand {
    /// v + g(x).
    #[inline(always)]
    fn variance(&self, x: f64) -> f64 {
        self.v + if self.link == NOISE_SOFTPLUS { softplus(x) } else { libm::exp(x) }
    }
    /// The same of x and e^x.
    #[inline(always)]
    fn variance_of(&self, x: f64, e: f64) -> f64 {
        self.v
            + if self.link != NOISE_SOFTPLUS {
                e
            } else if x < 30.0 {
                libm::log1p(e)
            } else {
                x
            }
    }
    /// Logarithm.
    fn log(&self, x: f64) -> f64 {
        let s = self.variance(x);
        -0.5 * libm::log(s) - self.half_square / s - 0.5 * (x - self.l).powi(2) * self.precision
    }
    /// With T = (y - m)^2 / 2s and u = g' / s, the logarithm has u (T - 1/2) - (x - l) / sd^2 and
    /// u ((c - u) (T - 1/2) - u T) - 1 / sd^2, c = g'' / g'.
    #[inline(always)]
    fn slopes(&self, x: f64) -> Slopes {
        let (g, slope, c) = if self.link == NOISE_SOFTPLUS {
            let (g, sigmoid) = (softplus(x), 1.0 / (1.0 + libm::exp(-x)));
            (g, sigmoid, 1.0 - sigmoid)
        } else {
            let g = libm::exp(x);
            (g, g, 1.0)
        };
        let s = self.v + g;
        let (t, u) = (self.half_square / s, slope / s);
        Slopes {
            first: u * (t - 0.5) - (x - self.l) * self.precision,
            second: u * ((c - u) * (t - 0.5) - u * t) - self.precision,
        }
    }
    /// The x beyond which the likelihood only falls: g = (y - m)^2 - v.
    fn last_rise(&self) -> f64 {
        let g = (2.0 * self.half_square - self.v).max(f64::MIN_POSITIVE);
        match self.link {
            NOISE_SOFTPLUS if g < 30.0 => libm::log(libm::expm1(g)),
            NOISE_SOFTPLUS => g,
            _ => libm::log(g),
        }
    }
}

/// How the integrand behaves, which says how to integrate it.
enum Shape {
    /// Log-concave at and right of this, negligible left of it.
    Concave(f64),
    /// Perhaps of two modes.
    Unknown,
}

impl ScaleMixture {
    /// Where g is held constant: below the first, above the second.
    pub(super) fn bounds(&self) -> (f64, f64) {
        if self.link == NOISE_SOFTPLUS { (SOFTPLUS_LOW, SOFTPLUS_HIGH) } else { (-10.0, 10.0) }
    }

    /// N(m, v).
    pub fn normal(m: f64, v: f64) -> ScaleMixture {
        ScaleMixture { m, v, link: NO_NOISE, ..Default::default() }
    }

    pub(super) fn is_normal(&self) -> bool {
        self.sd < SD_MIN
    }

    pub(super) fn noise(&self, x: f64) -> f64 {
        if self.link == NO_NOISE { 0.0 } else { noise_variance(self.link, x).0 }
    }

    /// v + g(x), bounded.
    fn variance_at(&self, x: f64) -> f64 {
        self.v + self.noise(x)
    }

    /// log p(y) in nats, to 1e-6 (proved against a grid in the tests below).
    pub fn log_density(&self, y: f64) -> f64 {
        let half_square = 0.5 * (y - self.m).powi(2);
        if self.is_normal() {
            return log_normal(half_square, self.variance_at(self.l));
        }
        if self.l.is_infinite() && self.sd.is_finite() {
            // All of it lies beyond a bound of g.
            return log_normal(half_square, self.variance_at(self.l));
        }
        if !(half_square.is_finite() && self.v.is_finite() && self.l.is_finite() && self.sd > 0.0) {
            return if half_square == f64::INFINITY { f64::NEG_INFINITY } else { f64::NAN };
        }
        let (_, high) = self.bounds();
        if self.v * f64::EPSILON > self.variance_at(high) - self.v {
            // The noise changes no digit of the variance.
            return log_normal(half_square, self.v);
        }
        let f = Integrand { half_square, v: self.v, l: self.l, precision: self.sd.powi(-2), link: self.link };
        if self.sd > WIDEST {
            return self.with_bounds(&f, f64::NEG_INFINITY);
        }
        let norm = -LN_TWO_PI - libm::log(self.sd);
        if let Some(highest) = self.far_out(&f) {
            return self.with_bounds(&f, highest + norm);
        }
        match self.shape(&f) {
            Shape::Concave(from) => self.about_the_mode(&f, from, norm),
            Shape::Unknown => self.with_bounds(&f, self.between(&f) + norm),
        }
    }

    /// Where the integrand is below exp(`FAR_OUT`) between the bounds: log of its integral there, its greatest value times the
    /// width about it. What a closer look would add, some tens of nats, is less than 1e-4 of that number, and the terms of a
    /// sum would have lost their digits.
    fn far_out(&self, f: &Integrand) -> Option<f64> {
        let (low, high) = self.bounds();
        if f.log(f.l.clamp(low, high)) >= FAR_OUT {
            return None;
        }
        let better = |a: f64, b: f64| if f.log(b) > f.log(a) { b } else { a };
        let mut best =
            [f.last_rise(), low, high].into_iter().map(|x| x.clamp(low, high)).fold(f.l.clamp(low, high), better);
        if f.log(best) >= FAR_OUT {
            return None;
        }
        // There may be two hills: the higher one on a grid, then by thirds.
        let step = (high - low) / 256.0;
        best = (1..256).map(|i| low + f64::from(i) * step).fold(best, better);
        let (mut from, mut to) = ((best - step).max(low), (best + step).min(high));
        for _ in 0..80 {
            let third = (to - from) / 3.0;
            if f.log(from + third) < f.log(to - third) { from += third } else { to -= third }
        }
        best = better(best, 0.5 * (from + to));
        let top = f.log(best);
        let at = f.slopes(best);
        let width = (high - low).min(1.0 / at.first.abs()).min((std::f64::consts::TAU / at.second.abs()).sqrt());
        (top < FAR_OUT).then(|| top + libm::log(width.max(f64::MIN_POSITIVE)))
    }

    /// With u = g' / (v + g) and T0 = (y - m)^2 / 2v, the second derivative is at most T0 u (1 - u) (1 - 2u) - 1 / sd^2, and
    /// u (1 - u) (1 - 2u) <= 0.0963; where T < 1/2 softplus, which flattens, adds at most 0.084. Else it can be positive left
    /// of log v alone (there e^x < v); it matters not where all of that part is negligible.
    fn shape(&self, f: &Integrand) -> Shape {
        let (low, high) = self.bounds();
        let flat = if self.link == NOISE_SOFTPLUS { 0.084 } else { 0.0 };
        if f.precision * f.v >= 0.0963 * f.half_square + flat * f.v {
            return Shape::Concave(low);
        }
        if f.precision < flat {
            return Shape::Unknown;
        }
        let edge = libm::log(f.v);
        if edge <= low {
            return Shape::Concave(low);
        }
        if edge >= high || f.l <= low {
            return Shape::Unknown;
        }
        // Left of log v: T >= T0 / 2, the variance at least v. The integrand at any point is a lower bound of its greatest.
        let most = -0.5 * edge - 0.5 * f.half_square / f.v - 0.5 * (f.l - edge).max(0.0).powi(2) * f.precision;
        let known = f.log(f.last_rise().clamp(edge, high)).max(f.log(f.l.clamp(edge, high)));
        if most + DEEP < known { Shape::Concave(edge) } else { Shape::Unknown }
    }

    /// The mode of a log-concave integrand in [from, the upper bound] to half of its width, and that width: Newton in a bracket.
    fn mode(&self, f: &Integrand, from: f64) -> (f64, f64) {
        let (mut low, mut high) = (from, self.bounds().1);
        let mut x = f.l.clamp(low, high);
        for round in 0..100 {
            let at = f.slopes(x);
            let curve = at.second.abs().sqrt();
            let step = -at.first / at.second;
            if at.first > 0.0 {
                low = x
            } else {
                high = x
            }
            if at.second < 0.0 && step.abs() * curve < 0.5 {
                return (x, 1.0 / curve);
            }
            if high - low < 1e-9 {
                // At a bound: it falls from there at once.
                return (x, 1.0 / curve.max(at.first.abs()));
            }
            let next = match round {
                // Far out the rise is T e^-step against the pull step / sd^2: Lambert's W.
                0 if at.first > f.precision => x + lambert(at.first / f.precision),
                _ => x + step,
            };
            x = if at.second < 0.0 && next > low && next < high { next } else { 0.5 * (low + high) };
        }
        (x, 1.0 / f.slopes(x).second.abs().sqrt())
    }

    /// log p of a log-concave integrand, by the trapezoidal rule about its mode, or in panels where a bound of g cuts it.
    fn about_the_mode(&self, f: &Integrand, from: f64, norm: f64) -> f64 {
        let (low, high) = self.bounds();
        let (centre, width) = self.mode(f, from);
        let mut h = (STEP * width).min(0.8);
        let e0 = libm::exp(centre);
        let s0 = f.variance_of(centre, e0);
        let (t0, p0) = (f.half_square / s0, (centre - f.l).powi(2));
        // Relative to the centre; e = e^x.
        let term = |x: f64, e: f64| {
            let inverse = 1.0 / f.variance_of(x, e);
            let exponent = t0 - f.half_square * inverse + 0.5 * (p0 - (x - f.l).powi(2)) * f.precision;
            libm::exp(exponent) * (s0 * inverse).sqrt()
        };
        let top = norm - 0.5 * libm::log(s0) - t0 - 0.5 * p0 * f.precision;
        let mut sum = 1.0;
        let mut counts = [0; 2];
        let mut ends = [low, high];
        let mut is_cut = !(low < f.l && f.l < high);
        let growth = libm::exp(h);
        for (side, (sign, growth)) in [(-1.0, 1.0 / growth), (1.0, growth)].into_iter().enumerate() {
            let mut e = e0;
            loop {
                counts[side] += 1;
                e *= growth;
                let x = centre + sign * f64::from(counts[side]) * h;
                if x <= low || x >= high {
                    is_cut = true;
                    break;
                }
                let t = term(x, e);
                sum += t;
                // Also where it is no number, and where a step is too small to be one.
                if t < CUT * sum || t.is_nan() || counts[side] == MAX_STEPS {
                    ends[side] = x;
                    break;
                }
            }
        }
        if is_cut {
            let panel = (8.0 * width).min(6.0);
            let inside = quadrature::panels(ends[0], ends[1], panel, |x| term(x, libm::exp(x)));
            return self.with_bounds(f, top + libm::log(inside));
        }
        // From -left to right; halving doubles both.
        let [mut left, mut right] = counts;
        if sum.is_nan() || left.max(right) == MAX_STEPS {
            return top + libm::log(h * sum);
        }
        for _ in 0..HALVINGS {
            let first = centre - (f64::from(left) - 0.5) * h;
            let (mut e, growth) = (libm::exp(first), libm::exp(h));
            let mut between = 0.0;
            for k in 0..left + right {
                between += term(first + f64::from(k) * h, e);
                e *= growth;
            }
            let agree = (sum - between).abs() <= AGREE * (sum + between);
            (sum, h, left, right) = (sum + between, 0.5 * h, 2 * left, 2 * right);
            if agree {
                break;
            }
        }
        top + libm::log(h * sum)
    }

    /// log p from log of the integral between the bounds: beyond them g is constant, and the normal's tails are the rest.
    fn with_bounds(&self, f: &Integrand, between: f64) -> f64 {
        let (low, high) = self.bounds();
        let below = log_normal(f.half_square, self.variance_at(low)) + log_normal_cdf((low - f.l) / self.sd);
        let above = log_normal(f.half_square, self.variance_at(high)) + log_normal_cdf((f.l - high) / self.sd);
        let top = below.max(between).max(above);
        if top == f64::NEG_INFINITY {
            return top;
        }
        top + libm::log(libm::exp(below - top) + libm::exp(between - top) + libm::exp(above - top))
    }

    /// log of the integral between the bounds, whatever its shape: the trapezoidal rule over all that may count, or panels
    /// where a bound of g cuts it.
    fn between(&self, f: &Integrand) -> f64 {
        // Left of l the likelihood rises towards the left by no more than exp(1/2 per step); right of l and of the last rise it falls.
        let (low, high) = self.bounds();
        let reach = self.sd * (0.5 * self.sd + (0.25 * self.sd * self.sd + 2.0 * DEEP).sqrt());
        let from = (f.l - reach).clamp(low, high);
        let to = (f.l.max(f.last_rise()) + self.sd * (2.0 * DEEP).sqrt()).clamp(low, high);
        if to - from < 1e-12 {
            return f64::NEG_INFINITY;
        }
        let points = ((to - from) / (0.4 * self.sd).min(0.4)).ceil().clamp(32.0, 65_536.0);
        let mut h = (to - from) / points;
        let values: Vec<f64> = (0..=points as usize).map(|i| f.log(from + i as f64 * h)).collect();
        let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let counts = |v: &f64| *v > top - DEEP;
        let first = values.iter().position(counts).map_or(0, |i| i.saturating_sub(1));
        let last = values.iter().rposition(counts).map_or(values.len() - 1, |i| (i + 1).min(values.len() - 1));
        let (start, end) = (from + first as f64 * h, from + last as f64 * h);
        let relative = |x: f64| libm::exp(f.log(x) - top);
        if counts(&values[first]) || counts(&values[last]) {
            // At a bound it may rise steeply.
            let scale = |x: f64| {
                let at = f.slopes(x);
                12.0 / (at.first.abs() + at.second.abs().sqrt())
            };
            let panel = self.sd.min(4.0).min((end - start) / 3.0).min(scale(start)).min(scale(end));
            return top + libm::log(quadrature::panels(start, end, panel, relative));
        }
        let mut sum: f64 = values[first..=last].iter().map(|v| libm::exp(v - top)).sum();
        let mut steps = last - first;
        for _ in 0..HALVINGS {
            let between: f64 = (0..steps).map(|k| relative(start + (k as f64 + 0.5) * h)).sum();
            let agree = (sum - between).abs() <= AGREE * (sum + between);
            (sum, h, steps) = (sum + between, 0.5 * h, 2 * steps);
            if agree {
                break;
            }
        }
        top + libm::log(h * sum)
    }

    /// E g(L). With the exp link in closed form, the bounds included: e^low Phi + e^(l + sd^2 / 2) (Phi - Phi) + e^high Phi.
    pub fn mean_noise(&self) -> f64 {
        let (low, high) = self.bounds();
        let (l, sd) = (self.l, self.sd);
        if self.is_normal() {
            return self.noise(l);
        }
        if self.link == NOISE_SOFTPLUS {
            let mut sum = 0.0;
            self.nodes(|weight, variance| sum += weight * (variance - self.v));
            return sum;
        }
        let shift = l + 0.5 * sd * sd;
        if l - FAR * sd > low && l + sd * sd + FAR * sd < high {
            return libm::exp(shift);
        }
        let (z_low, z_high) = ((low - l) / sd, (high - l) / sd);
        let tail = |z: f64| libm::exp(shift + log_normal_cdf(z));
        // In the tail that keeps the digits.
        let between = match z_low > sd {
            true => tail(sd - z_low) - tail(sd - z_high),
            false => tail(z_high - sd) - tail(z_low - sd),
        };
        libm::exp(low) * normal_cdf(z_low) + between + libm::exp(high) * normal_cdf(-z_high)
    }

    /// y as a mixture of normals about m: (weight, variance) of each, weights summing to 1. For what is smooth in L and asks for
    /// no far tail: CDF, quantiles and CRPS, to 1e-7 of the probability (see the tests).
    pub fn nodes(&self, mut take: impl FnMut(f64, f64)) {
        let (low, high) = self.bounds();
        let (l, sd) = (self.l, self.sd);
        let mut at = |weight: f64, x: f64| take(weight, self.variance_at(x));
        if self.is_normal() {
            at(1.0, l);
        } else if l - REACH * sd <= low || l + REACH * sd >= high {
            self.nodes_between_bounds(at);
        } else if sd <= 0.3 {
            let nodes: &[(f64, f64)] = match sd {
                sd if sd <= 0.02 => &HERMITE_3,
                sd if sd <= 0.1 => &HERMITE_5,
                _ => &HERMITE_9,
            };
            nodes.iter().for_each(|(node, weight)| at(*weight, l + sd * node));
        } else {
            // The trapezoidal rule: the normal asks for a step of 0.9 sd, the rest of the integrand for 0.45.
            let h = 0.9f64.min(0.45 / sd);
            let last = (REACH / h).floor() as i32;
            let weight = |k: i32| libm::exp(-0.5 * (f64::from(k) * h).powi(2));
            let sum: f64 = (-last..=last).map(weight).sum();
            (-last..=last).for_each(|k| at(weight(k) / sum, l + sd * h * f64::from(k)));
        }
    }

    /// Both parts where g is constant as one node each, the part between by Gauss-Legendre in panels of the integrand's scale.
    fn nodes_between_bounds(&self, mut at: impl FnMut(f64, f64)) {
        let (low, high) = self.bounds();
        let (l, sd) = (self.l, self.sd);
        let (below, above) = (normal_cdf((low - l) / sd), normal_cdf((l - high) / sd));
        let (mut from, to) = ((l - REACH * sd).max(low), (l + REACH * sd).min(high));
        let mut nodes = vec![];
        while from < to {
            let end = (from + (6.0 * sd).min(from.max(7.0))).min(to);
            let normal = |x: f64| libm::exp(-0.5 * ((x - l) / sd).powi(2));
            nodes.extend(quadrature::legendre_20(from, end).map(|(x, weight)| (weight * normal(x), x)));
            from = end;
        }
        let scale = (sd * libm::exp(0.5 * LN_TWO_PI)).recip();
        let sum: f64 = below + above + nodes.iter().map(|n| n.0 * scale).sum::<f64>();
        for (share, x) in [(below, low), (above, high)] {
            if share > 0.0 {
                at(share / sum, x);
            }
        }
        nodes.iter().for_each(|(weight, x)| at(weight * scale / sum, *x));
    }
}

/// log N(., s) at half the squared distance from the mean.
pub(super) fn log_normal(half_square: f64, s: f64) -> f64 {
    -0.5 * (LN_TWO_PI + libm::log(s)) - half_square / s
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

/// Lambert's W of z >= 0 to a few per cent: w e^w = z.
fn lambert(z: f64) -> f64 {
    let l = libm::log1p(z);
    l * (1.0 - libm::log1p(l) / (2.0 + l))
}

/// softplus(x) = 1e-3 and 1e3.
const SOFTPLUS_LOW: f64 = -6.907_255_237_315_470_5;
const SOFTPLUS_HIGH: f64 = 1e3;

#[cfg(test)]
#[path = "scale_mixture_tests.rs"]
mod tests;
