//! A logarithmic scale that copes with zero and negatives: linear below a threshold, logarithmic beyond. egui_plot knows linear
//! axes only, so values are drawn as shares of decades and the axis is labelled back.

use super::axes::{self, LABELLED};
use egui_plot::{GridInput, GridMark};

/// Screen points between two numbers on the axis.
const APART: f64 = 24.0;

/// Of marks in the order of their worth those that are `apart` from all before them.
fn spread(all: &[f64], apart: f64) -> Vec<f64> {
    let mut chosen: Vec<f64> = vec![];
    for t in all {
        if chosen.iter().all(|c| (c - t).abs() >= apart * (1.0 - 1e-9)) {
            chosen.push(*t);
        }
    }
    chosen
}

/// y -> asinh(y / (2 c)) / ln 10: c is where the scale turns from linear to logarithmic; a decade is 1 beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub linear_below: Option<f64>,
}

impl Scale {
    pub const LINEAR: Scale = Scale { linear_below: None };

    /// Turns at a share of the largest value, or at the smallest that there is.
    pub fn symlog<'a>(columns: impl Iterator<Item = &'a [f64]>) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0f64);
        for column in columns {
            // Eight running extremes without a branch: 100,000 values are looked at in every frame.
            let (mut lows, mut highs) = ([f64::INFINITY; 8], [0f64; 8]);
            let (eights, rest) = column.as_chunks::<8>();
            let mut take = |i: usize, v: f64| {
                let v = v.abs();
                let counts = (v > 0.0) & (v < f64::INFINITY);
                lows[i] = if counts & (v < lows[i]) { v } else { lows[i] };
                highs[i] = if counts & (v > highs[i]) { v } else { highs[i] };
            };
            for eight in eights {
                eight.iter().enumerate().for_each(|(i, v)| take(i, *v));
            }
            rest.iter().enumerate().for_each(|(i, v)| take(i, *v));
            low = lows.into_iter().fold(low, f64::min);
            high = highs.into_iter().fold(high, f64::max);
        }
        if high == 0.0 {
            return Scale::LINEAR;
        }
        // A power of ten, so that the axis does not creep while values come in.
        let c = low.max(high * 1e-4);
        Scale { linear_below: Some(libm::pow(10f64, libm::log10(c).floor())) }
    }

    pub fn to(&self, y: f64) -> f64 {
        match self.linear_below {
            Some(c) => libm::asinh(y / (2.0 * c)) / std::f64::consts::LN_10,
            None => y,
        }
    }

    pub fn back(&self, t: f64) -> f64 {
        match self.linear_below {
            Some(c) => 2.0 * c * libm::sinh(t * std::f64::consts::LN_10),
            None => t,
        }
    }

    /// Marks at 1, 2 and 5 of every decade and at zero, or at round values of y where the range holds too few of them. Those that
    /// have room for a number are `LABELLED`, at least two of them in any range; the others are lines alone.
    pub fn marks(&self, input: GridInput) -> Vec<GridMark> {
        let Some(c) = self.linear_below else { return egui_plot::log_grid_spacer(10)(input) };
        let (low, high) = input.bounds;
        if !(high - low).is_finite() || high <= low {
            return vec![];
        }
        let each = input.base_step_size / axes::CLOSEST;
        let apart = each * APART;
        let decades = self.decades(c, low, high);
        let chosen = spread(&decades, apart);
        let (lines, chosen) = match chosen.len() {
            0..3 => {
                let even = self.even(low, high, apart);
                let of_even = spread(&even, apart);
                if of_even.len() > chosen.len() { (even, of_even) } else { (decades, chosen) }
            }
            _ => (decades, chosen),
        };
        // Seen, and too close for a number.
        let line = each * 1.5 * axes::CLOSEST;
        let mark = |t: &f64| GridMark { value: *t, step_size: if chosen.contains(t) { LABELLED } else { line } };
        lines.iter().map(mark).collect()
    }

    /// Zero, then the powers of ten, the widest steps first, then 2 and 5 of each: in the order in which they are to be labelled.
    fn decades(&self, c: f64, low: f64, high: f64) -> Vec<f64> {
        let first = libm::log10(c).round() as i32;
        // Powers beyond what the axis shows are not looked at.
        let top = libm::log10(self.back(low.abs().max(high.abs())).abs()).ceil().min(308.0) as i32;
        let mut all = vec![0.0];
        let mut push = |factor: f64, decade: i32| {
            let t = self.to(factor * 10f64.powi(decade));
            all.extend([t, -t]);
        };
        let mut powers: Vec<i32> = (first..=top).collect();
        let rank = |d: &i32| [60, 30, 10, 5, 3, 2].into_iter().position(|k| d.rem_euclid(k) == 0).unwrap_or(6);
        powers.sort_by_key(|d| (rank(d), *d));
        powers.iter().for_each(|d| push(1.0, *d));
        for factor in [2.0, 5.0] {
            powers.iter().for_each(|d| push(factor, *d));
        }
        all.retain(|t| (low..=high).contains(t));
        all
    }

    /// Round values of y at equal distances, for a range that holds too few powers of ten.
    fn even(&self, low: f64, high: f64, apart: f64) -> Vec<f64> {
        let (from, to) = (self.back(low), self.back(high));
        let room = ((high - low) / apart).clamp(2.0, 6.0);
        let rough = (to - from) / room;
        if !(rough.is_finite() && rough > 0.0) {
            return vec![];
        }
        let decade = libm::pow(10f64, libm::log10(rough).floor());
        let steps = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1].map(|f| f * decade);
        let of = |step: f64| -> Vec<f64> {
            let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
            (first..=last.min(first.saturating_add(200))).map(|i| self.to(i as f64 * step)).collect()
        };
        // Halfway into a logarithmic range equal steps crowd at its upper end: finer ones until two have room.
        let of_step = steps.map(of);
        let begin = steps.iter().rposition(|s| *s >= rough).unwrap_or(0);
        let fits = |all: &&Vec<f64>| spread(all, apart).len() >= 2;
        of_step[begin..].iter().find(fits).or(of_step.last()).cloned().unwrap_or_default()
    }

    pub fn label(&self, t: f64) -> String {
        let y = self.back(t);
        // Back and forth through sinh leaves dust on the last digits.
        let y: f64 = format!("{y:.6e}").parse().unwrap_or(y);
        match y.abs() {
            _ if t.abs() < 1e-12 => "0".into(),
            1e-3..1e5 => format!("{y}"),
            _ => format!("{y:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_with_negatives_and_zero() {
        let s = Scale::symlog([&[0.001, -3.0, 50.0][..]].into_iter());
        for y in [-300.0, -1.0, -1e-5, 0.0, 1e-5, 0.5, 1e6] {
            assert!((s.back(s.to(y)) - y).abs() <= 1e-9 * y.abs(), "{y}");
        }
        // A decade has length 1 well above the threshold: asinh(u) = ln 2u + O(1/u^2).
        assert!((s.to(1000.0) - s.to(100.0) - 1.0).abs() < 1e-6);
        assert_eq!(Scale::symlog([&[f64::NAN, 0.0, f64::INFINITY][..]].into_iter()), Scale::LINEAR);
        assert_eq!((Scale::LINEAR.to(3.0), Scale::LINEAR.back(3.0)), (3.0, 3.0));
    }

    #[test]
    fn a_narrow_range_has_round_marks_and_labels_keep_their_zeros() {
        let s = Scale::symlog([&[1.2, 2.3][..]].into_iter());
        // 300 points high.
        let bounds = (s.to(1.25), s.to(2.35));
        let marks = s.marks(GridInput { bounds, base_step_size: (bounds.1 - bounds.0) / 300.0 * axes::CLOSEST });
        let labels: Vec<String> = marks.iter().map(|m| s.label(m.value)).collect();
        assert_eq!(labels, ["1.4", "1.6", "1.8", "2", "2.2"]);
        let s = Scale::symlog([&[0.1, 5000.0][..]].into_iter());
        assert_eq!([100.0, 2000.0, -5000.0, 0.5].map(|y| s.label(s.to(y))), ["100", "2000", "-5000", "0.5"]);
        let labels = [0.0, 1e-5, 1e6].map(|y| s.label(s.to(y)));
        assert_eq!(labels, ["0", "1e-5", "1e6"]);
    }

    /// Ranges of all widths at all places, on plots of all heights.
    #[test]
    fn bug_4_every_range_has_two_numbers_that_do_not_touch() {
        for c in [1e-6, 1e-3, 1.0, 100.0] {
            let s = Scale { linear_below: Some(c) };
            for height in [60.0, 110.0, 180.0, 300.0, 900.0] {
                for middle in (-80..=80).map(|i| f64::from(i) * 0.137) {
                    for width in [1e-3, 0.02, 0.1, 0.3, 0.7, 1.0, 1.9, 3.0, 6.0, 11.0, 25.0, 60.0] {
                        let (low, high) = (middle - width / 2.0, middle + width / 2.0);
                        let each = width / height;
                        let input = GridInput { bounds: (low, high), base_step_size: each * axes::CLOSEST };
                        let marks = s.marks(input);
                        let labelled: Vec<f64> =
                            marks.iter().filter(|m| m.step_size == LABELLED).map(|m| m.value).collect();
                        let place = format!("c {c}, {low}..{high}, {height} points: {labelled:?}");
                        assert!(labelled.len() >= 2, "{place}");
                        assert!(labelled.iter().all(|t| (low..=high).contains(t)), "{place}");
                        let mut sorted = labelled.clone();
                        sorted.sort_by(f64::total_cmp);
                        assert!(sorted.windows(2).all(|w| (w[1] - w[0]) / each >= 23.9), "{place}");
                        let texts: std::collections::BTreeSet<String> = labelled.iter().map(|t| s.label(*t)).collect();
                        assert_eq!(texts.len(), labelled.len(), "no number twice: {texts:?} {place}");
                    }
                }
            }
        }
    }
}
