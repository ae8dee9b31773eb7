//! Latin hypercubes of normals: the samples of a row's logits when VIFO, VBLL or Laplace predict classes.

use crate::base::rng::{Draw, Stream};
use crate::metrics::normal_quantile;

/// Each of k numbers falls into every one of S strata of equal probability once, in an order of its own, all of a number at the
/// same random place within their strata. What adds over the numbers then has little noise left, and most of log softmax does:
/// a row's mutual information has about half of the error of independent draws (MATH.md section 12).
pub struct Hypercube {
    samples: usize,
    /// [places, S]: the normal's quantiles at (stratum + place) / S.
    quantiles: Vec<f32>,
    places: usize,
    order: Vec<usize>,
}

impl Hypercube {
    pub fn new(samples: usize) -> Hypercube {
        let places = (4096 / samples.max(1)).clamp(4, 1024);
        let at = |p: usize, s: usize| (s as f64 + (p as f64 + 0.5) / places as f64) / samples as f64;
        let quantiles = (0..places).flat_map(|p| (0..samples).map(move |s| normal_quantile(at(p, s)) as f32)).collect();
        Hypercube { samples, quantiles, places, order: vec![0; samples] }
    }

    /// `out` [S, k] for the row of this key.
    pub fn fill(&mut self, seed: u32, replica: u32, key: u32, k: usize, out: &mut [f32]) {
        let draw = Draw { seed, stream: Stream::Predict as u32, step: key, replica };
        let (mut block, mut used) = ([0; 4], 0u32);
        // floor(word n / 2^32)
        let mut below = |n: usize| {
            if used.is_multiple_of(4) {
                block = draw.block(used / 4);
            }
            used += 1;
            ((u64::from(block[(used as usize - 1) % 4]) * n as u64) >> 32) as usize
        };
        for c in 0..k {
            let first = below(self.places) * self.samples;
            let quantiles = &self.quantiles[first..first + self.samples];
            for i in 0..self.samples {
                let j = below(i + 1);
                self.order[i] = self.order[j];
                self.order[j] = i;
            }
            for (s, stratum) in self.order.iter().enumerate() {
                out[s * k + c] = quantiles[*stratum];
            }
        }
    }
}

/// The key of a row of outputs: its own numbers, so that neither place nor company matters. Rounded to 2^-10, so that most rows
/// keep their samples on a device whose sums have another order.
pub fn key(outputs: &[f32]) -> u32 {
    // FNV-1a over whole words, and the finalizer of MurmurHash3.
    let word = |z: &f32| (z * 1024.0).round_ties_even() as i32 as u32;
    let mut h = outputs.iter().fold(0x811C_9DC5u32, |h, z| (h ^ word(z)).wrapping_mul(0x0100_0193).rotate_left(13));
    h = (h ^ (h >> 16)).wrapping_mul(0x85EB_CA6B);
    h = (h ^ (h >> 13)).wrapping_mul(0xC2B2_AE35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stratum_is_met_once() {
        for samples in [1, 2, 10, 37] {
            let mut cube = Hypercube::new(samples);
            let mut out = vec![f32::NAN; samples * 3];
            cube.fill(5, 1, key(&[0.1, 0.2]), 3, &mut out);
            for c in 0..3 {
                let cdf = |s: usize| crate::metrics::normal_cdf(f64::from(out[s * 3 + c]));
                let mut strata: Vec<usize> = (0..samples).map(|s| (cdf(s) * samples as f64) as usize).collect();
                strata.sort_unstable();
                assert_eq!(strata, (0..samples).collect::<Vec<_>>());
            }
        }
    }

    /// Over many keys each number is a standard normal, and no two numbers know of each other.
    #[test]
    fn moments_over_keys() {
        let mut cube = Hypercube::new(10);
        let (rows, mut out) = (4000, vec![0.0; 20]);
        let mut sums = [0.0f64; 4];
        for row in 0..rows {
            cube.fill(1, 0, key(&[row as f32 * 0.01]), 2, &mut out);
            // One sample of each row: independent from row to row.
            let (a, b) = (f64::from(out[6]), f64::from(out[7]));
            for (sum, v) in sums.iter_mut().zip([a, a * a, a.powi(4), a * b]) {
                *sum += v / f64::from(rows);
            }
        }
        // Five standard errors of a mean of 4,000: variances 1, 2, 96, 1.
        for (found, (want, sd)) in sums.iter().zip([(0.0, 1.0), (1.0, 1.5), (3.0, 9.8), (0.0, 1.0)]) {
            assert!((found - want).abs() < 5.0 * sd / 4000f64.sqrt(), "{found} against {want}");
        }
    }

    #[test]
    fn keys_differ_with_the_row_alone() {
        let rows: Vec<[f32; 2]> = (0..3000).map(|i| [i as f32 * 0.01, -0.5]).collect();
        let mut keys: Vec<u32> = rows.iter().map(|r| key(r)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert!(keys.len() > 2995, "{}", keys.len());
        assert_eq!(key(&[1.0, 2.0]), key(&[1.0 + 1e-6, 2.0]));
        assert_ne!(key(&[1.0, 2.0]), key(&[2.0, 1.0]));
        key(&[f32::NAN, f32::INFINITY]);
    }
}
