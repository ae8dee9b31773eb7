//! A logarithmic scale that copes with zero and negatives: linear below a threshold, logarithmic beyond. egui_plot knows linear
//! axes only, so values are drawn as shares of decades and the axis is labelled back.

use egui_plot::{GridInput, GridMark};

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
                for i in 0..8 {
                    take(i, eight[i]);
                }
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
        Scale { linear_below: Some(10f64.powf(c.log10().floor())) }
    }

    pub fn to(&self, y: f64) -> f64 {
        match self.linear_below {
            Some(c) => (y / (2.0 * c)).asinh() / std::f64::consts::LN_10,
            None => y,
        }
    }

    pub fn back(&self, t: f64) -> f64 {
        match self.linear_below {
            Some(c) => 2.0 * c * (t * std::f64::consts::LN_10).sinh(),
            None => t,
        }
    }

    /// Marks at 1, 2 and 5 of every decade and at zero.
    pub fn marks(&self, input: GridInput) -> Vec<GridMark> {
        let Some(c) = self.linear_below else { return egui_plot::log_grid_spacer(10)(input) };
        let (low, high) = input.bounds;
        if !(high - low).is_finite() || high - low > 60.0 {
            return vec![];
        }
        let mut marks = vec![GridMark { value: 0.0, step_size: 1.0 }];
        let first = c.log10().round() as i32;
        for decade in first..first + 40 {
            for (factor, step_size) in [(1.0, 1.0), (2.0, 0.3), (5.0, 0.3)] {
                // The turn itself lies too near to zero for a label of its own.
                let step_size = if decade == first { 0.05 } else { step_size };
                let t = self.to(factor * 10f64.powi(decade));
                marks.extend([t, -t].map(|value| GridMark { value, step_size }));
            }
        }
        marks.retain(|m| (low..=high).contains(&m.value));
        if marks.len() < 4 { self.fine_marks(low, high) } else { marks }
    }

    /// Round values of y at equal distances, for a range that holds too few powers of ten.
    fn fine_marks(&self, low: f64, high: f64) -> Vec<GridMark> {
        let (from, to) = (self.back(low), self.back(high));
        let rough = (to - from) / 6.0;
        if !(rough.is_finite() && rough > 0.0) {
            return vec![];
        }
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * decade).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let of = |i: i64| GridMark { value: self.to(i as f64 * step), step_size: (high - low) * step / (to - from) };
        ((from / step).ceil() as i64..=(to / step).floor() as i64).map(of).collect()
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
        let marks = s.marks(GridInput { bounds: (s.to(1.25), s.to(2.35)), base_step_size: 0.1 });
        let labels: Vec<String> = marks.iter().map(|m| s.label(m.value)).collect();
        assert_eq!(labels, ["1.4", "1.6", "1.8", "2", "2.2"]);
        let s = Scale::symlog([&[0.1, 5000.0][..]].into_iter());
        assert_eq!([100.0, 2000.0, -5000.0, 0.5].map(|y| s.label(s.to(y))), ["100", "2000", "-5000", "0.5"]);
        let labels = [0.0, 1e-5, 1e6].map(|y| s.label(s.to(y)));
        assert_eq!(labels, ["0", "1e-5", "1e6"]);
    }
}
