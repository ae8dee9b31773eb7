//! Quadrature in one dimension.

pub use crate::ops::head::{HERMITE_5, HERMITE_9};

/// Exact to degree 5.
pub const HERMITE_3: [(f64, f64); 3] = [
    (-1.732_050_807_568_877_2, 0.166_666_666_666_666_66),
    (0.0, 0.666_666_666_666_666_6),
    (1.732_050_807_568_877_2, 0.166_666_666_666_666_66),
];
/// The positive half of the nodes of Gauss-Legendre quadrature on [-1, 1] with twenty points.
const LEGENDRE_20: [(f64, f64); 10] = [
    (0.993_128_599_185_094_9, 0.017_614_007_139_152_118),
    (0.963_971_927_277_913_8, 0.040_601_429_800_386_94),
    (0.912_234_428_251_326, 0.062_672_048_334_109_07),
    (0.839_116_971_822_218_8, 0.083_276_741_576_704_75),
    (0.746_331_906_460_150_8, 0.101_930_119_817_240_44),
    (0.636_053_680_726_515, 0.118_194_531_961_518_43),
    (0.510_867_001_950_827_1, 0.131_688_638_449_176_64),
    (0.373_706_088_715_419_55, 0.142_096_109_318_382_04),
    (0.227_785_851_141_645_07, 0.149_172_986_472_603_74),
    (0.076_526_521_133_497_34, 0.152_753_387_130_725_84),
];

/// Twenty nodes on [low, high] and their weights, which sum to its length (exact to degree 39).
pub fn legendre_20(low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> {
    let (half, middle) = (0.5 * (high - low), 0.5 * (high + low));
    LEGENDRE_20.iter().flat_map(move |&(x, w)| [(middle - half * x, half * w), (middle + half * x, half * w)])
}

/// Integral of f over [low, high] by twenty points in each of equal panels no longer than `panel`.
pub fn panels(low: f64, high: f64, panel: f64, f: impl Fn(f64) -> f64) -> f64 {
    let count = ((high - low) / panel).ceil().clamp(1.0, 1e4);
    let length = (high - low) / count;
    let of = |i: usize| {
        let from = low + i as f64 * length;
        legendre_20(from, from + length).map(|(x, w)| w * f(x)).sum::<f64>()
    };
    (0..count as usize).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(nodes: &[(f64, f64)], p: i32) -> f64 {
        nodes.iter().map(|(x, w)| w * x.powi(p)).sum()
    }

    /// A rule integrates the even powers of a standard normal exactly, 1, 1, 3, 15, 105, up to its degree.
    #[test]
    fn hermite_has_the_normals_moments() {
        let moments = [1.0, 1.0, 3.0, 15.0, 105.0, 945.0, 10_395.0, 135_135.0, 2_027_025.0];
        for (nodes, exact) in [(&HERMITE_3[..], 3), (&HERMITE_5, 5), (&HERMITE_9, 9)] {
            for (i, want) in moments[..exact].iter().enumerate() {
                let got = moment(nodes, 2 * i as i32);
                assert!((got / want - 1.0).abs() < 1e-12, "{exact} points, power {}: {got}", 2 * i);
            }
        }
    }

    #[test]
    fn legendre_integrates_powers() {
        let nodes: Vec<(f64, f64)> = legendre_20(-1.0, 1.0).collect();
        for p in (0..39).step_by(2) {
            assert!((moment(&nodes, p) - 2.0 / f64::from(p + 1)).abs() < 1e-14, "power {p}");
        }
    }

    #[test]
    fn panels_join() {
        assert!((panels(-1.0, 8.0, 2.5, libm::exp) / (libm::exp(8f64) - libm::exp(-1f64)) - 1.0).abs() < 1e-14);
    }
}
