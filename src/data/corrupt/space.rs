//! Corruptions that move or mix pixels. Arithmetic in f64, as in the published program; comments name where that
//! program's way matters. Images are `[h, w, c]`.

use super::{Apply, byte};
use crate::base::rng::SplitMix64;
use crate::data::images::transform::Resampler;

type Shape = (usize, usize, usize);

fn units(from: &[u8]) -> Vec<f64> {
    from.iter().map(|&v| f64::from(v) / 255.0).collect()
}

fn bytes_of(x: &[f64], to: &mut [u8]) {
    to.iter_mut().zip(x).for_each(|(to, &x)| *to = byte(x));
}

/// Convolution with a Gaussian cut at four sigma, edges repeated.
pub(crate) fn gaussian_blur(from: &[u8], shape: Shape, sigma: f64, to: &mut [u8]) {
    bytes_of(&gaussian(&units(from), shape, sigma), to);
}

fn gaussian(x: &[f64], (h, w, c): Shape, sigma: f64) -> Vec<f64> {
    let radius = (4.0 * sigma + 0.5) as isize;
    let kernel: Vec<f64> = (-radius..=radius).map(|d| libm::exp(-0.5 * (d as f64 / sigma).powi(2))).collect();
    let total: f64 = kernel.iter().sum();
    let near = |i: usize, d: usize, len: usize| (i as isize + d as isize - radius).clamp(0, len as isize - 1) as usize;
    let mut tall = vec![0.0; x.len()];
    for i in 0..h {
        for (d, weight) in kernel.iter().enumerate() {
            let row = near(i, d, h) * w * c;
            for j in 0..w * c {
                tall[i * w * c + j] += weight / total * x[row + j];
            }
        }
    }
    let mut out = vec![0.0; x.len()];
    for i in 0..h {
        for j in 0..w {
            for (d, weight) in kernel.iter().enumerate() {
                let (to, at) = ((i * w + j) * c, (i * w + near(j, d, w)) * c);
                for k in 0..c {
                    out[to + k] += weight / total * tall[at + k];
                }
            }
        }
    }
    out
}

/// Blur, local moves, blur. The published program means to swap two pixels, but its array views make it copy the
/// neighbour over the pixel; so does this. Moves go up and left by 0 to `delta` - the program's bounds.
pub(crate) fn glass_blur(
    rng: &mut SplitMix64,
    from: &[u8],
    shape: Shape,
    sigma: f64,
    delta: usize,
    rounds: usize,
    to: &mut [u8],
) {
    let (h, w, c) = shape;
    let mut x = vec![0u8; from.len()];
    gaussian_blur(from, shape, sigma, &mut x);
    // Uniform on -delta .. delta - 1.
    let shift = |rng: &mut SplitMix64| (rng.uniform() * (2 * delta) as f64) as isize - delta as isize;
    for _ in 0..rounds {
        for i in (delta + 1..(h + 1).saturating_sub(delta)).rev() {
            for j in (delta + 1..(w + 1).saturating_sub(delta)).rev() {
                let (dx, dy) = (shift(rng), shift(rng));
                let at = (i.saturating_add_signed(dy) * w + j.saturating_add_signed(dx)) * c;
                x.copy_within(at..at + c, (i * w + j) * c);
            }
        }
    }
    gaussian_blur(&x, shape, sigma, to);
}

/// Mean of the image and its magnifications by 1, 1.01, .. up to `stop` about the centre.
pub(crate) fn zoom_blur(from: &[u8], (h, w, c): Shape, stop: f64, to: &mut [u8]) {
    let x = units(from);
    let mut sum = x.clone();
    // The count and the steps of numpy's arange(1, stop, 0.01), whose rounding sometimes includes the end.
    let count = ((stop - 1.0) / 0.01).ceil() as usize;
    let step = 1.01 - 1.0;
    for i in 0..count {
        let zoom = 1.0 + i as f64 * step;
        let (rows, columns) = (zoomed(h, zoom), zoomed(w, zoom));
        for (y, (top, bottom, down)) in rows.iter().enumerate() {
            for (x_at, (left, right, across)) in columns.iter().enumerate() {
                for k in 0..c {
                    let at = |i: &usize, j: &usize| x[(i * w + j) * c + k];
                    let upper = at(top, left) * (1.0 - across) + at(top, right) * across;
                    let lower = at(bottom, left) * (1.0 - across) + at(bottom, right) * across;
                    sum[(y * w + x_at) * c + k] += upper * (1.0 - down) + lower * down;
                }
            }
        }
    }
    sum.iter_mut().for_each(|s| *s /= (count + 1) as f64);
    bytes_of(&sum, to);
}

/// For each place of a zoomed axis: the two old places it lies between and the share of the second. The middle
/// ceil(len / zoom) places are stretched end to end to round(that * zoom), of which the middle `len` are kept.
fn zoomed(len: usize, zoom: f64) -> Vec<(usize, usize, f64)> {
    let crop = ((len as f64 / zoom).ceil() as usize).clamp(1, len);
    let start = (len - crop) / 2;
    let wide = ((crop as f64 * zoom).round_ties_even() as usize).max(len);
    let trim = (wide - len) / 2;
    let scale = if wide > 1 { (crop - 1) as f64 / (wide - 1) as f64 } else { 0.0 };
    let one = |i: usize| {
        let at = ((i + trim) as f64 * scale).min((crop - 1) as f64);
        let low = at.floor() as usize;
        (start + low, start + (low + 1).min(crop - 1), at - low as f64)
    };
    (0..len).map(one).collect()
}

/// x + strength * plasma, scaled by max / (max + strength).
pub(crate) fn fog(rng: &mut SplitMix64, from: &[u8], (h, w, c): Shape, strength: f64, decay: f64, to: &mut [u8]) {
    let size = h.max(w).next_power_of_two().max(32);
    let plasma = plasma(rng, size, decay);
    let most = from.iter().copied().max().map_or(0.0, |v| f64::from(v) / 255.0);
    let scale = most / (most + strength);
    for i in 0..h {
        for j in 0..w {
            for k in 0..c {
                let at = (i * w + j) * c + k;
                to[at] = byte((f64::from(from[at]) / 255.0 + strength * plasma[i * size + j]) * scale);
            }
        }
    }
}

/// Height map in [0, 1] by diamond-square on a torus; `size` is a power of two, each level wobbles `decay` times less.
fn plasma(rng: &mut SplitMix64, size: usize, decay: f64) -> Vec<f64> {
    let mut map = vec![0.0; size * size];
    let mut step = size;
    let mut wobble = 100.0;
    while step >= 2 {
        let half = step / 2;
        let grid = |i: usize, j: usize| (i % size) * size + j % size;
        let mut draw = |sum: f64| sum / 4.0 + wobble * (2.0 * rng.uniform() - 1.0) * wobble;
        for i in (0..size).step_by(step) {
            for j in (0..size).step_by(step) {
                let corners =
                    map[grid(i, j)] + map[grid(i + step, j)] + map[grid(i, j + step)] + map[grid(i + step, j + step)];
                map[grid(i + half, j + half)] = draw(corners);
            }
        }
        // Edges between two corners and two centres: first the horizontal ones, then the vertical ones.
        for i in (0..size).step_by(step) {
            for j in (0..size).step_by(step) {
                let sides = map[grid(i, j)] + map[grid(i, j + step)];
                let centres = map[grid(i + half, j + half)] + map[grid(i + size - half, j + half)];
                map[grid(i, j + half)] = draw(sides + centres);
            }
        }
        for i in (0..size).step_by(step) {
            for j in (0..size).step_by(step) {
                let sides = map[grid(i, j)] + map[grid(i + step, j)];
                let centres = map[grid(i + half, j + half)] + map[grid(i + half, j + size - half)];
                map[grid(i + half, j)] = draw(sides + centres);
            }
        }
        step = half;
        wobble /= decay;
    }
    let least = map.iter().copied().fold(f64::INFINITY, f64::min);
    let span = map.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least;
    map.iter_mut().for_each(|m| *m = if span > 0.0 { (*m - least) / span } else { 0.0 });
    map
}

/// Box filter down to int(side * share) and up again.
pub(crate) fn pixelate((h, w, c): Shape, share: f64) -> Apply {
    let small = |side: usize| ((side as f64 * share) as usize).max(1);
    let size = (small(h), small(w));
    let (down, up) = (Resampler::boxes((h, w), size), Resampler::boxes(size, (h, w)));
    Box::new(move |_, from, to| {
        let mut little = vec![0u8; size.0 * size.1 * c];
        down.run(from, c, &mut little);
        up.run(&little, c, to);
    })
}
