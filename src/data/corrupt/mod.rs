//! Shifted sets: the 13 corruptions of CIFAR-10-C that need no outside pictures, after Hendrycks and Dietterich 2019,
//! "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations".
//!
//! They follow the paper's released program (values truncated, not rounded, to bytes; its order of steps) with its
//! constants for CIFAR-10, but draw their random numbers from a generator of their own, so that the images are NOT
//! bit-equal to the published files. (Given the same draws, that program's bytes come out but for rare differences of
//! 1; JPEG differs where a coefficient lies half way between two steps.) Not here: defocus and motion blur, snow,
//! frost, elastic transform, spatter.
//!
//! Each image has its own random stream, from (seed, corruption, place in the set): neither threads nor the rest of the
//! set change it, and a higher severity scales the same noise. Must not touch files.

mod colour;
mod jpeg_loss;
mod space;

use super::images::ImageSet;
use crate::base::rng::SplitMix64;
use crate::error::{Error, Result};
use jpeg_loss::JpegLoss;
use rayon::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Corruption {
    /// Adds a normal of the given standard deviation to every value.
    GaussianNoise,
    /// Replaces every value by a Poisson count of that many photons at full brightness.
    ShotNoise,
    /// Sets a share of the values to black or white, either with probability one half.
    ImpulseNoise,
    /// Blurs, moves pixels by one place at random, and blurs again: frosted glass.
    GlassBlur,
    /// Averages the image with itself magnified in steps of one per cent.
    ZoomBlur,
    /// Adds a plasma fractal (diamond-square) and scales back to the old maximum.
    Fog,
    /// Raises the value of HSV.
    Brightness,
    /// Draws every value towards its channel's mean.
    Contrast,
    /// Shrinks with a box filter and enlarges again.
    Pixelate,
    /// Loses what a JPEG file of the given quality loses (4:2:0 chroma).
    JpegCompression,
    /// Adds a normal in proportion to the value.
    SpeckleNoise,
    /// Convolves with a Gaussian.
    GaussianBlur,
    /// Multiplies and raises the saturation of HSV; colour images only.
    Saturate,
}

/// Name and the constants of severities 1 to 5, unused places 0. Source: hendrycks/robustness,
/// ImageNet-C/create_c/make_cifar_c.py, commit ca360085d57889288c4143fddd8a707bbcae01bd.
type Row = (Corruption, &'static str, [[f64; 3]; 5]);

const fn one(c: [f64; 5]) -> [[f64; 3]; 5] {
    [[c[0], 0.0, 0.0], [c[1], 0.0, 0.0], [c[2], 0.0, 0.0], [c[3], 0.0, 0.0], [c[4], 0.0, 0.0]]
}

#[rustfmt::skip]
const TABLE: [Row; 13] = [
    // standard deviation
    (Corruption::GaussianNoise, "gaussian_noise", one([0.04, 0.06, 0.08, 0.09, 0.10])),
    // photons at full brightness
    (Corruption::ShotNoise, "shot_noise", one([500.0, 250.0, 100.0, 75.0, 50.0])),
    // share of the values
    (Corruption::ImpulseNoise, "impulse_noise", one([0.01, 0.02, 0.03, 0.05, 0.07])),
    // sigma of the blur, largest move, rounds
    (Corruption::GlassBlur, "glass_blur",
        [[0.05, 1.0, 1.0], [0.25, 1.0, 1.0], [0.4, 1.0, 1.0], [0.25, 1.0, 2.0], [0.4, 1.0, 2.0]]),
    // end of the magnifications 1, 1.01, ...
    (Corruption::ZoomBlur, "zoom_blur", one([1.06, 1.11, 1.16, 1.21, 1.26])),
    // strength, decay of the fractal's wobble
    (Corruption::Fog, "fog", [[0.2, 3.0, 0.0], [0.5, 3.0, 0.0], [0.75, 2.5, 0.0], [1.0, 2.0, 0.0], [1.5, 1.75, 0.0]]),
    // added to V
    (Corruption::Brightness, "brightness", one([0.05, 0.1, 0.15, 0.2, 0.3])),
    // factor
    (Corruption::Contrast, "contrast", one([0.75, 0.5, 0.4, 0.3, 0.15])),
    // side of the small image as a share
    (Corruption::Pixelate, "pixelate", one([0.95, 0.9, 0.85, 0.75, 0.65])),
    // quality
    (Corruption::JpegCompression, "jpeg_compression", one([80.0, 65.0, 58.0, 50.0, 40.0])),
    // standard deviation as a share of the value
    (Corruption::SpeckleNoise, "speckle_noise", one([0.06, 0.1, 0.12, 0.16, 0.2])),
    // sigma in pixels
    (Corruption::GaussianBlur, "gaussian_blur", one([0.4, 0.6, 0.7, 0.8, 1.0])),
    // factor of S, then added
    (Corruption::Saturate, "saturate", [[0.3, 0.0, 0.0], [0.1, 0.0, 0.0], [1.5, 0.0, 0.0], [2.0, 0.1, 0.0], [2.5, 0.2, 0.0]]),
];

impl Corruption {
    pub const ALL: [Corruption; 13] = {
        let mut all = [Corruption::GaussianNoise; 13];
        let mut i = 0;
        while i < 13 {
            all[i] = TABLE[i].0;
            i += 1;
        }
        all
    };

    /// Name in the published set: "gaussian_noise".
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The three constants of a severity, 1 to 5.
    pub fn constants(self, severity: u8) -> Option<[f64; 3]> {
        TABLE[self as usize].2.get(usize::from(severity).checked_sub(1)?).copied()
    }
}

impl std::fmt::Display for Corruption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Corruption {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Corruption::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Corruption::ALL.iter().map(|kind| kind.name()).collect();
            let found = format!("'{}'", text.chars().take(40).collect::<String>());
            Error::usage("corruption", found, names.join(", "), "choose one of these names")
        })
    }
}

/// Draws for one image and writes its corrupted bytes: (stream, image, result).
pub(crate) type Apply = Box<dyn Fn(&mut SplitMix64, &[u8], &mut [u8]) + Sync>;

/// `set` with every image corrupted; severity 1 to 5. The constants are those of images of 32 x 32 at any size.
pub fn corrupt(set: &ImageSet, kind: Corruption, severity: u8, seed: u64) -> Result<ImageSet> {
    set.check()?;
    let Some(constants) = kind.constants(severity) else {
        return Err(Error::usage("severity", severity.to_string(), "1 to 5", "choose a severity"));
    };
    if kind == Corruption::Saturate && set.c != 3 {
        let help = "choose another corruption: grey has no saturation";
        return Err(Error::usage("corruption saturate", "grey images", "images of three channels", help));
    }
    let apply = plan(kind, constants, (set.h, set.w, set.c));
    let size = set.pixels();
    let mut bytes = vec![0u8; set.bytes.len()];
    let images = bytes.par_chunks_exact_mut(size).zip(set.bytes.par_chunks_exact(size)).enumerate();
    images.for_each(|(i, (to, from))| apply(&mut SplitMix64::keyed(&[seed, kind as u64, i as u64]), from, to));
    let mut out = ImageSet { bytes, ..set.without_bytes() };
    out.source = format!("{}, {kind} of severity {severity}", set.source);
    out.notes.push(format!(
        "Corrupted by {kind}, severity {severity}, seed {seed}, after Hendrycks and Dietterich 2019; not the published images."
    ));
    Ok(out)
}

fn plan(kind: Corruption, [a, b, rounds]: [f64; 3], (h, w, c): (usize, usize, usize)) -> Apply {
    match kind {
        Corruption::GaussianNoise => Box::new(move |rng, from, to| each(from, to, |x| x + a * rng.normal())),
        Corruption::SpeckleNoise => Box::new(move |rng, from, to| each(from, to, |x| x + x * a * rng.normal())),
        Corruption::ShotNoise => {
            let poisson: Vec<Poisson> = (0..256).map(|v| Poisson::new(f64::from(v) / 255.0 * a)).collect();
            Box::new(move |rng, from, to| {
                for (to, &v) in to.iter_mut().zip(from) {
                    *to = byte(poisson[usize::from(v)].quantile(rng.uniform()) / a);
                }
            })
        }
        Corruption::ImpulseNoise => Box::new(move |rng, from, to| {
            each(from, to, |x| {
                let (hit, white) = (rng.uniform() < a, rng.uniform() < 0.5);
                if hit { f64::from(u8::from(white)) } else { x }
            })
        }),
        Corruption::GlassBlur => {
            Box::new(move |rng, from, to| space::glass_blur(rng, from, (h, w, c), a, b as usize, rounds as usize, to))
        }
        Corruption::ZoomBlur => Box::new(move |_, from, to| space::zoom_blur(from, (h, w, c), a, to)),
        Corruption::Fog => Box::new(move |rng, from, to| space::fog(rng, from, (h, w, c), a, b, to)),
        Corruption::Brightness => Box::new(move |_, from, to| colour::brightness(from, c, a, to)),
        Corruption::Saturate => Box::new(move |_, from, to| colour::saturate(from, a, b, to)),
        Corruption::Contrast => Box::new(move |_, from, to| colour::contrast(from, c, a, to)),
        Corruption::Pixelate => space::pixelate((h, w, c), a),
        Corruption::JpegCompression => {
            let jpeg = JpegLoss::new(a as u32);
            Box::new(move |_, from, to| jpeg.run(from, (h, w, c), to))
        }
        Corruption::GaussianBlur => Box::new(move |_, from, to| space::gaussian_blur(from, (h, w, c), a, to)),
    }
}

fn each(from: &[u8], to: &mut [u8], mut change: impl FnMut(f64) -> f64) {
    for (to, &v) in to.iter_mut().zip(from) {
        *to = byte(change(f64::from(v) / 255.0));
    }
}

/// Clipped to [0, 1] and TRUNCATED to a byte, as the published program does.
pub(crate) fn byte(x: f64) -> u8 {
    (x.clamp(0.0, 1.0) * 255.0) as u8
}

/// Poisson numbers by inversion of a table: an image has only 256 different rates.
pub(crate) struct Poisson {
    first: u32,
    cumulative: Vec<f64>,
}

impl Poisson {
    pub(crate) fn new(rate: f64) -> Self {
        // Relative to the mode, by p(k + 1) / p(k) = rate / (k + 1); ends where the rest is below 1e-18 of it.
        let mode = rate.floor() as u32;
        let mut below = Vec::new();
        let (mut k, mut p) = (mode, 1.0);
        while k > 0 {
            p *= f64::from(k) / rate;
            if p < 1e-18 {
                break;
            }
            below.push(p);
            k -= 1;
        }
        let mut weights: Vec<f64> = below.into_iter().rev().collect();
        weights.push(1.0);
        let (mut k, mut p) = (mode, 1.0);
        while p >= 1e-18 {
            k += 1;
            p *= rate / f64::from(k);
            weights.push(p);
        }
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let cumulative = weights.iter().map(|w| {
            sum += w / total;
            sum
        });
        Poisson { first: k + 1 - weights.len() as u32, cumulative: cumulative.collect() }
    }

    /// Smallest count whose distribution function exceeds `u`.
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        let i = self.cumulative.partition_point(|&p| p <= u).min(self.cumulative.len() - 1);
        f64::from(self.first) + i as f64
    }
}

#[cfg(test)]
mod tests;
