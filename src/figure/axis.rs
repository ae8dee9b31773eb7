//! One axis: its limits, its scale (linear, or linear near zero and logarithmic beyond) and its ticks with labels
//! in original units. Also the robust limits that several figures share.

/// Beyond this a number is treated like infinity: differences of what remains stay finite.
const HUGE: f64 = 1e200;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    Linear,
    /// asinh(v / threshold): linear within the threshold, logarithmic far beyond it, defined for every sign.
    SymLog {
        threshold: f64,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub low: f64,
    pub high: f64,
    scale: Scale,
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// A linear axis over exactly [low, high] (widened when empty) with at most about `most_ticks` ticks.
    pub fn linear(low: f64, high: f64, most_ticks: usize) -> Self {
        let (low, high) = widen(low, high);
        let ticks = label(&nice_ticks(low, high, most_ticks));
        Axis { low, high, scale: Scale::Linear, ticks }
    }

    /// A symmetric logarithmic axis for `values`, `pixels` long; labels at least `gap` pixels apart.
    pub fn symlog(values: &[f64], pixels: f64, gap: f64) -> Self {
        let mut sizes: Vec<f64> = values.iter().filter(|v| usable(**v) && **v != 0.0).map(|v| v.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let largest = sizes.last().copied().unwrap_or(1.0).max(1e-200);
        // A lower threshold would blow up the noise around zero.
        let typical_small = quantile(&sizes, 0.25).unwrap_or(1.0);
        // Six decades are as many as a reader can use.
        let threshold = libm::pow(10f64, libm::log10(typical_small.max(largest * 1e-6)).floor());
        let (low, high) = extent(values.iter().copied()).unwrap_or((0.0, 1.0));
        Self::symlog_from(threshold, low, high, pixels, gap)
    }

    /// The same over [low, high], linear up to about `threshold`.
    pub fn symlog_from(threshold: f64, low: f64, high: f64, pixels: f64, gap: f64) -> Self {
        let scale = Scale::SymLog { threshold };
        let (low, high) = widen(low, high);
        let (a, b) = (apply(scale, low), apply(scale, high));
        let pad = (b - a) * 0.05;
        let invert = |u: f64| libm::sinh(u.clamp(-500.0, 500.0)) * threshold;
        let (low, high) = (invert(a - pad), invert(b + pad));
        let mut axis = Axis { low, high, scale, ticks: Vec::new() };
        axis.ticks = label(&axis.symlog_ticks(threshold, low.abs().max(high.abs()), pixels, gap));
        axis
    }

    /// Of several candidate sets the one with most ticks whose labels do not collide.
    fn symlog_ticks(&self, threshold: f64, largest: f64, pixels: f64, gap: f64) -> Vec<f64> {
        let decades = (libm::log10(largest / threshold).ceil().clamp(0.0, 12.0)) as i32;
        let powers = |steps: &[f64], first: i32, every: usize| -> Vec<f64> {
            let positive: Vec<f64> = (first..=decades + 1)
                .step_by(every)
                .flat_map(|d| steps.iter().map(move |s| s * threshold * 10f64.powi(d)))
                .collect();
            positive.iter().map(|v| -v).chain(std::iter::once(0.0)).chain(positive.iter().copied()).collect()
        };
        let mut candidates: Vec<Vec<f64>> = [8, 5, 3, 1].map(|most| nice_ticks(self.low, self.high, most)).into();
        // Next to zero the first powers stand closest: they may be left out.
        for first in 0..3 {
            candidates.push(powers(&[1.0, 2.0, 5.0], first, 1));
            candidates.push(powers(&[1.0, 3.0], first, 1));
            candidates.extend([1, 2, 3, 4].map(|every| powers(&[1.0], first, every)));
        }
        let mut best: Vec<f64> = Vec::new();
        for candidate in candidates {
            let mut inside: Vec<f64> =
                candidate.into_iter().filter(|v| (0.0..=1.0).contains(&self.share(*v))).collect();
            inside.sort_by(f64::total_cmp);
            let apart = inside.windows(2).all(|p| (self.share(p[1]) - self.share(p[0])) * pixels >= gap);
            if apart && inside.len() > best.len() {
                best = inside;
            }
        }
        best
    }

    /// Where `value` lies between low (0) and high (1); outside of 0..=1 beyond the limits.
    pub fn share(&self, value: f64) -> f64 {
        let (a, b) = (apply(self.scale, self.low), apply(self.scale, self.high));
        (apply(self.scale, value) - a) / (b - a)
    }
}

fn apply(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::SymLog { threshold } => libm::asinh(value / threshold),
    }
}

pub fn usable(value: f64) -> bool {
    value.abs() < HUGE
}

/// Limits with a visible distance between them, whatever came in.
pub fn widen(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = match (usable(low), usable(high)) {
        (true, true) => (low.min(high), low.max(high)),
        (true, false) => (low, low),
        (false, true) => (high, high),
        (false, false) => (0.0, 1.0),
    };
    let size = low.abs().max(high.abs());
    // Closer than this, tick labels could not tell the values apart.
    if high - low > size * 1e-8 && high - low > 1e-200 {
        return (low, high);
    }
    let half = if size > 1e-100 { size * 0.1 } else { 0.5 };
    (low - half, high + half)
}

/// The limits with `share` of their distance added on both sides.
pub fn padded((low, high): (f64, f64), share: f64) -> (f64, f64) {
    let (low, high) = widen(low, high);
    let pad = (high - low) * share;
    (low - pad, high + pad)
}

/// Smallest and largest usable value.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| usable(*v)).fold(None, |limits, v| match limits {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}

/// Linear interpolation between order statistics of ascending values.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let place = q.clamp(0.0, 1.0) * ascending.len().checked_sub(1)? as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let low = *ascending.get(below)?;
    let high = ascending.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * part)
}

/// The quantiles `q` and 1 - `q` of the usable values.
pub fn central(values: impl IntoIterator<Item = f64>, q: f64) -> Option<(f64, f64)> {
    let mut ascending: Vec<f64> = values.into_iter().filter(|v| usable(*v)).collect();
    ascending.sort_by(f64::total_cmp);
    Some((quantile(&ascending, q)?, quantile(&ascending, 1.0 - q)?))
}

/// Smallest and largest value, but no further from the 1 and 99 % quantiles than half of their distance: single
/// wild values do not decide the picture.
pub fn robust(values: &[f64]) -> Option<(f64, f64)> {
    let (low, high) = extent(values.iter().copied())?;
    let (q_low, q_high) = central(values.iter().copied(), 0.01)?;
    // Few values, or all the same: quantiles say nothing.
    let reach = if q_high > q_low { 0.5 * (q_high - q_low) } else { f64::INFINITY };
    Some((low.max(q_low - reach), high.min(q_high + reach)))
}

/// Multiples of 1, 2, 2.5 or 5 times a power of ten within [low, high].
fn nice_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let rough = (high - low) / most.max(1) as f64;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let power = libm::pow(10f64, libm::log10(rough).floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil();
    (0..=2 * most.max(1))
        .map(|i| (first + i as f64) * step)
        .take_while(|v| *v <= high + step * 1e-9)
        // Adding zero turns -0 into 0.
        .map(|v| if v.abs() < step * 1e-9 { 0.0 } else { v })
        .collect()
}

/// Labels as short as they can be while different values read differently.
fn label(values: &[f64]) -> Vec<Tick> {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let smallest = values.iter().filter(|v| **v != 0.0).fold(f64::INFINITY, |m, v| m.min(v.abs()));
    let scientific = largest >= 1e6 || (largest > 0.0 && largest < 1e-3);
    let mixed = largest > 0.0 && largest / smallest > 1e3 && smallest < 0.01;
    values
        .iter()
        .map(|&value| {
            let label = if scientific || (mixed && value.abs() < 0.01 && value != 0.0) {
                power_label(value, values)
            } else {
                plain_label(value, values)
            };
            Tick { value, label }
        })
        .collect()
}

fn minus(text: String) -> String {
    text.replace('-', "−")
}

/// The number of decimals at which every value of `all` is itself; on a scale of decades each has its own.
fn plain_label(value: f64, all: &[f64]) -> String {
    let exact = |v: f64, decimals: usize| {
        let read: f64 = format!("{v:.decimals$}").parse().unwrap_or(f64::NAN);
        (read - v).abs() <= v.abs() * 1e-6
    };
    let regular = all.windows(3).all(|w| ((w[2] - w[1]) - (w[1] - w[0])).abs() <= (w[2] - w[0]).abs() * 1e-6);
    let decimals =
        if regular { (0..=9).find(|d| all.iter().all(|v| exact(*v, *d))) } else { (0..=9).find(|d| exact(value, *d)) };
    minus(format!("{value:.*}", decimals.unwrap_or(9)))
}

/// "2.5×10⁶": the mantissa has as many digits as the values need to differ.
fn power_label(value: f64, all: &[f64]) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let mut digits = 0;
    while digits < 10 && all.iter().any(|v| *v != 0.0 && !mantissa_is_exact(*v, digits)) {
        digits += 1;
    }
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let raised: String = exponent
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            c => c.to_digit(10).and_then(|d| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(d as usize)).unwrap_or(c),
        })
        .collect();
    match mantissa {
        "1" => format!("10{raised}"),
        "-1" => format!("−10{raised}"),
        _ => minus(format!("{mantissa}×10")) + &raised,
    }
}

fn mantissa_is_exact(value: f64, digits: usize) -> bool {
    let read: f64 = format!("{value:.digits$e}").parse().unwrap_or(f64::NAN);
    (read - value).abs() <= value.abs() * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_labels_are_short_and_distinct() {
        assert_eq!(labels(&Axis::linear(-1.0, 1.0, 4)), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(&Axis::linear(0.0, 4e6, 4)), ["0", "10⁶", "2×10⁶", "3×10⁶", "4×10⁶"]);
        for (low, high) in [
            (5.0, 5.0),
            (f64::NAN, 1.0),
            (1e12, 1e12),
            (f64::NEG_INFINITY, f64::INFINITY),
            (0.0, 1e-30),
            (-1e199, 1e199),
        ] {
            let axis = Axis::linear(low, high, 5);
            assert!(axis.high > axis.low && !axis.ticks.is_empty(), "{low} {high}: {axis:?}");
            let mut seen = labels(&axis);
            seen.dedup();
            assert_eq!(seen.len(), axis.ticks.len(), "{axis:?}");
        }
    }

    #[test]
    fn symlog_ticks_are_monotone_in_value_and_place() {
        let cases: [&[f64]; 8] = [
            &[1e-3, 1.0, 1e5],
            &[-50.0, -1.0, 0.5, 3000.0],
            &[-1e12, 1e12],
            &[0.0],
            &[],
            &[2.30, 2.31, 2.29],
            &[f64::NAN, f64::INFINITY, 1.0],
            &[-3.0, -2.0, -0.1],
        ];
        for values in cases {
            let axis = Axis::symlog(values, 400.0, 20.0);
            assert!(axis.ticks.len() >= 2, "{values:?}: {:?}", axis.ticks);
            for pair in axis.ticks.windows(2) {
                assert!(pair[0].value < pair[1].value, "{values:?}: {:?}", axis.ticks);
                assert!(axis.share(pair[0].value) < axis.share(pair[1].value));
                assert_ne!(pair[0].label, pair[1].label, "{values:?}");
            }
            assert!(axis.ticks.iter().all(|t| (0.0..=1.0).contains(&axis.share(t.value))));
        }
    }

    #[test]
    fn robust_limits_ignore_a_wild_value() {
        let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        values.extend([1e12, f64::NAN, f64::INFINITY]);
        let (low, high) = robust(&values).unwrap();
        assert!(low == 0.0 && high < 1.6, "{low} {high}");
        assert_eq!(robust(&[]), None);
        assert_eq!(robust(&[3.0]), Some((3.0, 3.0)));
    }
}
