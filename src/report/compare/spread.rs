//! What stands behind a mean over seeds: how far they scatter, or how well the mean itself is known.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize, Deserialize)]
pub enum Spread {
    /// Standard deviation over seeds: how far one run lies from the mean
    #[default]
    Sd,
    /// Standard error: how far the mean would lie from that of very many seeds
    Se,
    /// 95 % interval of the mean, by Student's t
    Interval,
}

impl Spread {
    pub const ALL: [Spread; 3] = [Spread::Sd, Spread::Se, Spread::Interval];

    /// "mean ± sd".
    pub fn words(self) -> &'static str {
        match self {
            Spread::Sd => "mean ± sd",
            Spread::Se => "mean ± standard error",
            Spread::Interval => "mean (95 % interval)",
        }
    }

    /// To either side of a mean over `n` values with this standard deviation.
    pub fn half(self, sd: f64, n: usize) -> f64 {
        let error = sd / (n as f64).sqrt();
        match self {
            Spread::Sd => sd,
            Spread::Se => error,
            Spread::Interval => student_975(n.saturating_sub(1)) * error,
        }
    }
}

/// Of 1 to 30 degrees of freedom.
const TABLE: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139,
    2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922, 2.093_024, 2.085_963,
    2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];

/// The 97.5 % quantile of Student's t; NaN without a degree of freedom. Beyond the table by the expansion around the normal
/// (Abramowitz and Stegun 26.7.5), which is off by less than 1e-6 there.
fn student_975(freedom: usize) -> f64 {
    let Some(row) = freedom.checked_sub(1) else { return f64::NAN };
    TABLE.get(row).copied().unwrap_or_else(|| {
        let (z, v) = (1.959_963_984_540_054_f64, freedom as f64);
        let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
        let first = (z3 + z) / 4.0;
        let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
        let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
        z + first / v + second / v.powi(2) + third / v.powi(3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_by_hand() {
        // Five values with sd 2: error 2 / sqrt 5 = 0.894427, times 2.776445.
        assert_eq!(Spread::Sd.half(2.0, 5), 2.0);
        assert!((Spread::Se.half(2.0, 5) - 0.894_427).abs() < 1e-6);
        assert!((Spread::Interval.half(2.0, 5) - 2.483_328).abs() < 1e-5);
        assert!(Spread::Interval.half(2.0, 1).is_nan());
    }

    #[test]
    fn the_expansion_goes_on_where_the_table_ends() {
        // Published: 2.039513 at 31, 2.000298 at 60, 1.979930 at 120.
        for (freedom, t) in [(31, 2.039_513), (60, 2.000_298), (120, 1.979_930)] {
            assert!((student_975(freedom) - t).abs() < 2e-6, "{freedom}: {}", student_975(freedom));
        }
    }
}
