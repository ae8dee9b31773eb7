//! The theorems of the VIFO paper as experiments (MATH.md section 10): each gives what the theorem says, what was computed,
//! a verdict and a figure. Pure arithmetic in f64 from a seed; nothing here prints or touches the disk.

pub mod limit;
pub mod linear;
pub mod rademacher;

use crate::base::rng::{Draw, Stream};

/// Standard normals one after the other.
pub(crate) struct Normals {
    draw: Draw,
    next: u32,
}

impl Normals {
    /// Sequence `part` of an experiment's seed.
    pub fn new(seed: u32, part: u32) -> Self {
        Normals { draw: Draw { seed, stream: Stream::Theory as u32, step: part, replica: 0 }, next: 0 }
    }
    pub fn take(&mut self) -> f64 {
        self.next += 1;
        self.draw.normal(self.next - 1) as f64
    }
    pub fn vec(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.take()).collect()
    }
}

/// A Monte Carlo mean and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub se: f64,
}

impl Estimate {
    pub fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Estimate { mean, se: (square / n).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3: mean 2, variance 1, standard error 1/sqrt 3.
    #[test]
    fn estimates_by_hand() {
        let e = Estimate::of(&[1.0, 2.0, 3.0]);
        assert!((e.mean - 2.0).abs() < 1e-15 && (e.se - 1.0 / 3f64.sqrt()).abs() < 1e-15);
    }
}
