//! Size, channels, statistics, and the labels of the shift pair CIFAR-10 <-> STL-10. Must not read files.

use super::ImageSet;
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Images of `h` x `w`: bilinear with half-pixel centres; when shrinking, the triangle widens with the factor, so that
/// no detail aliases. A set that has the size already is returned as it is. A side of 0 is taken as 1;
/// the caller sees to it that the result fits into memory.
pub fn resize(set: &ImageSet, h: usize, w: usize) -> ImageSet {
    let (h, w) = (h.max(1), w.max(1));
    let size = set.pixels();
    if (h, w) == (set.h, set.w) || size == 0 {
        return set.clone();
    }
    let plan = Resampler::triangle((set.h, set.w), (h, w));
    let mut bytes = vec![0u8; set.n * h * w * set.c];
    let images = bytes.par_chunks_exact_mut(h * w * set.c).zip(set.bytes.par_chunks_exact(size));
    images.for_each(|(to, from)| plan.run(from, set.c, to));
    ImageSet { bytes, h, w, ..set.without_bytes() }
}

/// Grey to three equal channels, or colour to grey by the luma of ITU-R BT.601 (0.299 R + 0.587 G + 0.114 B).
pub fn to_channels(set: &ImageSet, c: usize) -> Result<ImageSet> {
    let bytes = match (set.c, c) {
        (1, 1) | (3, 3) => return Ok(set.clone()),
        (1, 3) => set.bytes.iter().flat_map(|&grey| [grey; 3]).collect(),
        (3, 1) => set.bytes.chunks_exact(3).map(|p| luma([p[0], p[1], p[2]])).collect(),
        _ => {
            let found = format!("{} channels to {c}", set.c);
            return Err(Error::usage("channels", found, "1 (grey) or 3 (colour)", "choose another number"));
        }
    };
    Ok(ImageSet { bytes, c, ..set.without_bytes() })
}

/// Luma in 16-bit fixed point, rounded: the weights sum to 65,536, so white stays white.
pub(crate) fn luma([r, g, b]: [u8; 3]) -> u8 {
    ((19595 * u32::from(r) + 38470 * u32::from(g) + 7471 * u32::from(b) + 32768) >> 16) as u8
}

/// Mean and standard deviation (division by the count) of each channel, in units where 255 is 1. Sums are of integers,
/// so the result has no order. A constant channel has deviation 0: divide it by 1.
pub fn normalise_stats(set: &ImageSet) -> (Vec<f32>, Vec<f32>) {
    let c = set.c.max(1);
    let mut sums = vec![(0u64, 0u64); c];
    for pixel in set.bytes.chunks_exact(c) {
        for (sum, &v) in sums.iter_mut().zip(pixel) {
            sum.0 += u64::from(v);
            sum.1 += u64::from(v) * u64::from(v);
        }
    }
    let count = (set.bytes.len() / c).max(1) as f64;
    let one = |&(sum, squares): &(u64, u64)| {
        let mean = sum as f64 / count;
        ((mean / 255.0) as f32, ((squares as f64 / count - mean * mean).max(0.0).sqrt() / 255.0) as f32)
    };
    sums.iter().map(one).unzip()
}

/// Whose labels are given, and whose numbering is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShiftPair {
    Cifar10ToStl10,
    Stl10ToCifar10,
}

/// Class numbers of one set in the numbering of another (MATH.md section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelMap {
    /// New number of each old class; one to one.
    pub to: [u32; 10],
    /// Whether the other set has the class.
    pub has_partner: [bool; 10],
}

/// Classes 1 and 2 (automobile, bird | bird, car) and 6 and 7 (frog, horse | horse, monkey) change places. Frog
/// (CIFAR-10, 6) and monkey (STL-10, 7) take each other's number but are no partners.
pub fn label_map(pair: ShiftPair) -> LabelMap {
    let mut has_partner = [true; 10];
    match pair {
        ShiftPair::Cifar10ToStl10 => has_partner[6] = false,
        ShiftPair::Stl10ToCifar10 => has_partner[7] = false,
    }
    LabelMap { to: [0, 2, 1, 3, 4, 5, 7, 6, 8, 9], has_partner }
}

impl LabelMap {
    /// New labels, and the mask of the rows to keep when classes without partner are left out.
    pub fn apply(&self, labels: &[u32]) -> Result<(Vec<u32>, Vec<bool>)> {
        let one = |(i, &label): (usize, &u32)| match self.to.get(label as usize) {
            Some(&to) => Ok((to, self.has_partner[label as usize])),
            None => {
                let place = format!("image {i} of the shift pair");
                Err(Error::data(place, format!("label {label}"), "0 to 9", "give a set of CIFAR-10 or STL-10"))
            }
        };
        let pairs: Vec<(u32, bool)> = labels.iter().enumerate().map(one).collect::<Result<_>>()?;
        Ok(pairs.into_iter().unzip())
    }
}

impl ImageSet {
    /// Everything but the pixels.
    pub(crate) fn without_bytes(&self) -> ImageSet {
        ImageSet {
            bytes: vec![],
            labels: self.labels.clone(),
            classes: self.classes.clone(),
            ids: self.ids.clone(),
            source: self.source.clone(),
            notes: self.notes.clone(),
            ..*self
        }
    }
}

/// First source place and the weights from there on, for one place of the result.
type Taps = (usize, Vec<f32>);

/// A separable resampling from one size to another, planned once for many images.
pub(crate) struct Resampler {
    from: (usize, usize),
    /// Rounds to bytes after the columns too, as the Pillow library does.
    round_between: bool,
    rows: Vec<Taps>,
    columns: Vec<Taps>,
}

impl Resampler {
    /// Bilinear; widened when shrinking.
    pub(crate) fn triangle(from: (usize, usize), to: (usize, usize)) -> Self {
        let tent = |x: f64| (1.0 - x.abs()).max(0.0);
        Resampler {
            from,
            round_between: false,
            rows: taps(from.0, to.0, 1.0, tent),
            columns: taps(from.1, to.1, 1.0, tent),
        }
    }

    /// Means over the area of the coarser pixels.
    pub(crate) fn boxes(from: (usize, usize), to: (usize, usize)) -> Self {
        let flat = |x: f64| if -0.5 < x && x <= 0.5 { 1.0 } else { 0.0 };
        Resampler {
            from,
            round_between: true,
            rows: taps(from.0, to.0, 0.5, flat),
            columns: taps(from.1, to.1, 0.5, flat),
        }
    }

    /// `from` `[h, w, c]` -> `to`.
    pub(crate) fn run(&self, from: &[u8], c: usize, to: &mut [u8]) {
        let width = self.columns.len();
        let mut wide = vec![0f32; self.from.0 * width * c];
        for (row_to, row) in wide.chunks_exact_mut(width * c).zip(from.chunks_exact(self.from.1 * c)) {
            for (pixel, (start, weights)) in row_to.chunks_exact_mut(c).zip(&self.columns) {
                for (source, weight) in row[start * c..].chunks_exact(c).zip(weights) {
                    pixel.iter_mut().zip(source).for_each(|(p, &s)| *p += weight * f32::from(s));
                }
            }
        }
        if self.round_between {
            wide.iter_mut().for_each(|x| *x = (*x + 0.5).floor());
        }
        let mut sum = vec![0f32; width * c];
        for (row_to, (start, weights)) in to.chunks_exact_mut(width * c).zip(&self.rows) {
            sum.fill(0.0);
            for (source, weight) in wide[start * width * c..].chunks_exact(width * c).zip(weights) {
                sum.iter_mut().zip(source).for_each(|(p, s)| *p += weight * s);
            }
            row_to.iter_mut().zip(&sum).for_each(|(to, s)| *to = (s + 0.5).clamp(0.0, 255.0) as u8);
        }
    }
}

/// Weights of a filter of half-width `support` (in pixels of the coarser side), normalised to sum 1.
fn taps(from: usize, to: usize, support: f64, filter: impl Fn(f64) -> f64) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let widen = scale.max(1.0);
    let one = |i: usize| {
        let centre = (i as f64 + 0.5) * scale;
        let first = ((centre - support * widen + 0.5).max(0.0) as usize).min(from.saturating_sub(1));
        let last = ((centre + support * widen + 0.5) as usize).clamp(first + 1, from.max(first + 1));
        let weights: Vec<f64> = (first..last).map(|x| filter((x as f64 + 0.5 - centre) / widen)).collect();
        let sum: f64 = weights.iter().sum();
        match sum > 0.0 {
            true => (first, weights.iter().map(|w| (w / sum) as f32).collect()),
            false => (first, vec![1.0]),
        }
    };
    (0..to).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(h: usize, w: usize, bytes: &[u8]) -> ImageSet {
        let ids = vec!["0".to_string()];
        ImageSet { bytes: bytes.to_vec(), n: 1, h, w, c: 1, ids, ..Default::default() }
    }

    #[test]
    fn the_same_size_is_the_same_set() {
        let set = grey(2, 2, &[1, 2, 3, 4]);
        assert_eq!(resize(&set, 2, 2), set);
    }

    #[test]
    fn doubling_has_half_pixel_centres() {
        // Centres of the four lie at -0.25, 0.25, 0.75, 1.25 of the old pixels: 0, 25, 75, 100 per cent of the step.
        assert_eq!(resize(&grey(1, 2, &[0, 100]), 1, 4).bytes, [0, 25, 75, 100]);
    }

    #[test]
    fn halving_averages_with_a_tent() {
        // Tent of half-width 2 at 0.5 pixels from the two nearest: weights 1.5, 1.5, 0.5 (one side is cut off), of 3.5.
        let out = resize(&grey(1, 4, &[0, 0, 210, 210]), 1, 2).bytes;
        assert_eq!(out, [(210.0f32 * 0.5 / 3.5).round() as u8, (210.0f32 * 3.0 / 3.5).round() as u8]);
    }

    #[test]
    fn a_constant_stays_constant_at_any_size() {
        for (h, w) in [(1, 1), (3, 7), (31, 5), (64, 64)] {
            assert!(resize(&grey(8, 6, &[137; 48]), h, w).bytes.iter().all(|&v| v == 137), "{h} x {w}");
        }
        assert_eq!(resize(&grey(2, 2, &[9; 4]), 0, 0).bytes, [9]);
    }

    #[test]
    fn channels_go_both_ways() {
        let colour = to_channels(&grey(1, 2, &[7, 255]), 3).unwrap();
        assert_eq!(colour.bytes, [7, 7, 7, 255, 255, 255]);
        assert_eq!(to_channels(&colour, 1).unwrap().bytes, [7, 255]);
        // 0.299, 0.587, 0.114 of 255.
        assert_eq!([luma([255, 0, 0]), luma([0, 255, 0]), luma([0, 0, 255])], [76, 150, 29]);
        assert!(to_channels(&colour, 2).unwrap_err().to_string().contains("3 channels to 2"));
    }

    #[test]
    fn statistics_of_two_values() {
        let (mean, sd) = normalise_stats(&grey(1, 2, &[0, 255]));
        assert_eq!((mean, sd), (vec![0.5], vec![0.5]));
        assert_eq!(normalise_stats(&ImageSet::default()), (vec![0.0], vec![0.0]));
    }

    #[test]
    fn the_map_joins_equal_names_and_is_its_own_inverse() {
        let (cifar, stl) = (super::super::cifar::CIFAR10, super::super::stl10::STL10);
        let (there, back) = (label_map(ShiftPair::Cifar10ToStl10), label_map(ShiftPair::Stl10ToCifar10));
        for (class, &to) in there.to.iter().enumerate() {
            assert_eq!(back.to[to as usize] as usize, class);
            let names = (cifar[class], stl[to as usize]);
            let same = names.0 == names.1 || names == ("automobile", "car");
            assert_eq!((there.has_partner[class], back.has_partner[to as usize]), (same, same), "{names:?}");
        }
        assert_eq!(there.apply(&[6, 1]).unwrap(), (vec![7, 2], vec![false, true]));
        assert!(there.apply(&[10]).is_err());
    }
}
