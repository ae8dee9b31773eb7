//! The standard normal distribution in f64: log density, CDF and quantile.

use std::f64::consts::FRAC_1_SQRT_2;

/// 1/2 log 2 pi.
pub(super) const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Density of N(0, 1) at z.
pub(super) fn normal_density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z - HALF_LN_TWO_PI)
}

/// CDF of N(0, 1) at z, in 0..=1, by erfc: small values keep their relative accuracy.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// log of [`normal_cdf`], finite for every finite z: far out by the asymptotic series of Mills' ratio, whose first term
/// left out is 105 / z^8, 1.6e-10 at -30.
pub fn log_normal_cdf(z: f64) -> f64 {
    if z > -30.0 {
        return libm::log(normal_cdf(z));
    }
    let q = 1.0 / (z * z);
    -0.5 * z * z - libm::log(-z) - HALF_LN_TWO_PI + libm::log1p(-q * (1.0 - 3.0 * q * (1.0 - 5.0 * q)))
}

/// Below this the CDF nears the subnormal numbers, and a Newton step would add noise.
const NEWTON_FROM: f64 = 1e-290;

/// The z with CDF(z) = p, relative error below 1e-12 (p and 1 - p taken as the f64 they are). -inf at 0, inf at 1, NaN
/// outside 0..=1. Source: Wichura 1988, algorithm AS 241 (PPND16), and one Newton step.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    // 1 - p is exact from 1/2 on, so both halves are computed in the lower tail.
    if p > 0.5 { -lower_quantile(1.0 - p) } else { lower_quantile(p) }
}

fn lower_quantile(p: f64) -> f64 {
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    let z = as241(p);
    if p < NEWTON_FROM { z } else { z - (normal_cdf(z) - p) / normal_density(z) }
}

/// AS 241 for 0 < p <= 1/2.
fn as241(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180625 - q * q);
    }
    let r = (-libm::log(p)).sqrt();
    -(if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&TAIL, r - 5.0) })
}

fn ratio([numerator, denominator]: &[[f64; 8]; 2], r: f64) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &c| sum * r + c);
    horner(numerator) / horner(denominator)
}

/// Numerator and denominator of AS 241, ascending powers.
#[rustfmt::skip]
const CENTRE: [[f64; 8]; 2] = [
    [3.387_132_872_796_366_5, 1.331_416_678_917_843_8e2, 1.971_590_950_306_551_3e3, 1.373_169_376_550_946e4,
     4.592_195_393_154_987e4, 6.726_577_092_700_87e4, 3.343_057_558_358_813e4, 2.509_080_928_730_122_7e3],
    [1.0, 4.231_333_070_160_091e1, 6.871_870_074_920_579e2, 5.394_196_021_424_751e3,
     2.121_379_430_158_659_7e4, 3.930_789_580_009_271e4, 2.872_908_573_572_194_3e4, 5.226_495_278_852_854e3],
];
#[rustfmt::skip]
const MIDDLE: [[f64; 8]; 2] = [
    [1.423_437_110_749_683_5, 4.630_337_846_156_546, 5.769_497_221_460_691, 3.647_848_324_763_204_5,
     1.270_458_252_452_368_4, 2.417_807_251_774_506e-1, 2.272_384_498_926_918_4e-2, 7.745_450_142_783_414e-4],
    [1.0, 2.053_191_626_637_759, 1.676_384_830_183_803_8, 6.897_673_349_851e-1,
     1.481_039_764_274_800_8e-1, 1.519_866_656_361_645_7e-2, 5.475_938_084_995_345e-4, 1.050_750_071_644_416_9e-9],
];
#[rustfmt::skip]
const TAIL: [[f64; 8]; 2] = [
    [6.657_904_643_501_103, 5.463_784_911_164_114, 1.784_826_539_917_291_3, 2.965_605_718_285_048_7e-1,
     2.653_218_952_657_612_4e-2, 1.242_660_947_388_078_4e-3, 2.711_555_568_743_487_6e-5, 2.010_334_399_292_288_1e-7],
    [1.0, 5.998_322_065_558_88e-1, 1.369_298_809_227_358e-1, 1.487_536_129_085_061_5e-2,
     7.868_691_311_456_133e-4, 1.846_318_317_510_054_8e-5, 1.421_511_758_316_446e-7, 2.044_263_103_389_939_8e-15],
];

#[cfg(test)]
mod tests {
    use super::super::testing::{Rng, assert_near};
    use super::*;

    /// Quantiles from tables (mpmath, 50 digits).
    const KNOWN: [(f64, f64); 8] = [
        (0.5, 0.0),
        (0.75, 0.674_489_750_196_081_7),
        (0.9, 1.281_551_565_544_600_4),
        (0.975, 1.959_963_984_540_054),
        (0.995, 2.575_829_303_548_901),
        (0.001, -3.090_232_306_167_813_5),
        (1e-10, -6.361_340_902_404_056),
        (1e-100, -21.273_453_560_965_324),
    ];

    #[test]
    fn known_quantiles() {
        for (p, z) in KNOWN {
            assert_near(normal_quantile(p), z, 1e-13);
        }
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan() && normal_quantile(f64::NAN).is_nan());
        assert!(normal_quantile(5e-324) < -38.0 && normal_quantile(5e-324) > -39.0);
    }

    #[test]
    fn the_logarithm_of_the_cdf_goes_on() {
        // mpmath, 50 digits.
        for (z, want) in [
            (-29.999, -454.291_211_196_123_87),
            (-30.001, -454.351_277_715_458_76),
            (-1e3, -500_007.826_694_812_2),
            (0.0, -std::f64::consts::LN_2),
        ] {
            assert_near(log_normal_cdf(z), want, 1e-12);
        }
        assert_near(log_normal_cdf(-1e150), -0.5e300, 1e-12);
    }

    #[test]
    fn the_coefficients_alone_are_already_right() {
        // The Newton step would hide a mistyped digit; AS 241 promises 1e-16, the CDF used here is good to 1e-15.
        for i in 1..=3000 {
            let p = libm::pow(10f64, -f64::from(i) / 11.0).min(0.5);
            let z = as241(p);
            assert_near((normal_cdf(z) - p) / normal_density(z) / z.abs().max(1.0), 0.0, 3e-15);
        }
    }

    #[test]
    fn quantile_inverts_the_cdf() {
        let mut rng = Rng::new(4);
        for _ in 0..2000 {
            let z = -35.0 * rng.uniform();
            assert_near(normal_quantile(normal_cdf(z)), z, 1e-13);
        }
        for i in 1..100 {
            let p = f64::from(i) / 100.0;
            assert_near(normal_quantile(1.0 - p), -normal_quantile(p), 1e-13);
        }
    }
}
