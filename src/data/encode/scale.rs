//! How a number becomes an input and back: by mean and sd, or by median and quartiles with a smooth clip (MATH.md section 6).
//! Must not compute statistics (that is `fit`).

use serde::{Deserialize, Serialize};

/// Statistics of a number in training. `sd` is the population standard deviation, above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    pub mean: f64,
    pub sd: f64,
    pub min: f64,
    pub max: f64,
    /// Where the input is scaled by these instead of mean and sd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<Robust>,
}

/// Median and quartiles in training, which no outlier moves; the input is clipped smoothly, so that none is large.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Robust {
    pub median: f64,
    /// From quartile to quartile; half the whole range where the quartiles are equal; 0 where nothing varies: the input is 0.
    pub width: f64,
}

/// No input is further from 0 than this.
pub const CLIP: f64 = 3.0;
/// What is further away, in widths, counts as this: its square is a number in single precision, too.
pub(crate) const FAR: f64 = 1e18;

impl Scale {
    /// The input of the number `v`.
    pub fn scaled(&self, v: f64) -> f64 {
        self.clipped(self.ratio(v))
    }

    /// The number whose input is `x`. Of a clipped input that is known to f32 the digits are lost beyond some thousand widths.
    pub fn unscaled(&self, x: f64) -> f64 {
        match self.robust {
            None => self.mean + self.sd * x,
            Some(Robust { median, width }) => {
                let room = (1.0 - (x / CLIP).powi(2)).max(f64::from(f32::EPSILON));
                median + width * x / room.sqrt()
            }
        }
    }

    /// What takes the place of a missing number: the mean, or in the file's own units, where it is not kept, the middle of the
    /// range; the median where that scales.
    pub fn middle(&self) -> f64 {
        match self.robust {
            Some(Robust { median, .. }) => median,
            None if (self.min..=self.max).contains(&self.mean) => self.mean,
            None => self.min / 2.0 + self.max / 2.0,
        }
    }

    /// Range of auxiliary inputs: [min - d/2, max + d/2] with d = max - min (MATH.md section 2), +-1 about one that does not
    /// vary, clipped as an input is.
    pub(crate) fn widened(&self) -> (f64, f64) {
        let (min, max) = (self.ratio(self.min), self.ratio(self.max));
        let half = if max > min { (max - min) / 2.0 } else { 1.0 };
        (self.clipped(min - half), self.clipped(max + half))
    }

    /// Before the clip.
    fn ratio(&self, v: f64) -> f64 {
        match self.robust {
            None => (v - self.mean) / self.sd,
            Some(Robust { width: 0.0, .. }) => 0.0,
            Some(Robust { median, width }) => ((v - median) / width).clamp(-FAR, FAR),
        }
    }

    fn clipped(&self, z: f64) -> f64 {
        if self.robust.is_none() { z } else { z / (1.0 + (z / CLIP).powi(2)).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: Scale = Scale { mean: 2.0, sd: 4.0, min: 0.0, max: 10.0, robust: None };
    const ROBUST: Scale = Scale { robust: Some(Robust { median: 1.0, width: 2.0 }), ..STANDARD };

    /// z = 4 in widths: 4 / sqrt(1 + 16/9) = 2.4. Outliers and infinities end at 3.
    #[test]
    fn robust_inputs_by_hand() {
        assert_eq!((STANDARD.scaled(10.0), ROBUST.scaled(1.0), ROBUST.middle()), (2.0, 0.0, 1.0));
        assert!((ROBUST.scaled(9.0) - 2.4).abs() < 1e-15 && (ROBUST.scaled(-7.0) + 2.4).abs() < 1e-15);
        for far in [1e30, f64::MAX, f64::INFINITY] {
            assert_eq!((ROBUST.scaled(far), ROBUST.scaled(-far)), (3.0, -3.0));
        }
        assert!(ROBUST.scaled(f64::NAN).is_nan());
        let constant = Scale { robust: Some(Robust { median: 1.0, width: 0.0 }), ..STANDARD };
        assert_eq!((constant.scaled(7.0), constant.scaled(1.0)), (0.0, 0.0));
    }

    /// To a rounding in double precision, to a thousandth 100 widths away in single precision.
    #[test]
    fn there_and_back() {
        for v in [-3.0, 0.0, 1.0, 2.5, 10.0] {
            for scale in [STANDARD, ROBUST] {
                assert!((scale.unscaled(scale.scaled(v)) - v).abs() < 1e-12, "{v} of {scale:?}");
            }
        }
        let seen = f64::from(ROBUST.scaled(201.0) as f32);
        assert!((ROBUST.unscaled(seen) / 201.0 - 1.0).abs() < 1e-3, "{}", ROBUST.unscaled(seen));
        assert!(ROBUST.unscaled(3.0).is_finite());
    }

    /// Of numbers from 0 to 10 [-5, 15], whatever the scaling; a robust one's ends are inputs that such numbers have.
    #[test]
    fn auxiliary_ranges_are_those_of_widened_numbers() {
        for scale in [STANDARD, ROBUST] {
            let (low, high) = scale.widened();
            assert!((low - scale.scaled(-5.0)).abs() < 1e-15 && (high - scale.scaled(15.0)).abs() < 1e-15, "{scale:?}");
        }
    }
}
