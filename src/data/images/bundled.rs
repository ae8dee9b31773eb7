//! Image sets inside the program. Must not touch files.

use super::{Format, ImageSet, Options, resize};
use crate::error::Result;

/// Numbers of each image: its pixels and its label.
const NUMBERS: usize = 65;

/// 1,797 handwritten digits of 8 x 8 (assets/data/README.md); grey values 0 to 16 become 0 to 255.
pub fn digits(options: &Options) -> Result<ImageSet> {
    // First the first pixel of all images: so a page is packed best.
    let columns = &include_bytes!("../../../assets/data/digits.bytes")[..];
    let n = columns.len() / NUMBERS;
    let (pixels, labels) = columns.split_at(n * (NUMBERS - 1));
    let mut set = ImageSet {
        n,
        h: 8,
        w: 8,
        c: 1,
        classes: (0..10).map(|d| d.to_string()).collect(),
        labels: labels.iter().map(|label| u32::from(*label)).collect(),
        format: Some(Format::Digits),
        source: "digits from scikit-learn, bundled".into(),
        ..Default::default()
    };
    for image in 0..n {
        let grey = |v: &u8| (f32::from(*v) * 255.0 / 16.0).round() as u8;
        set.bytes.extend(pixels.iter().skip(image).step_by(n).map(grey));
        set.ids.push(image.to_string());
    }
    set.check()?;
    Ok(match options.size {
        Some((h, w)) if (h, w) != (set.h, set.w) => {
            set.notes.push(format!("Images of 8 x 8 were resized to {h} x {w}."));
            resize(&set, h, w)
        }
        Some(_) => set,
        None => set,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of the set's description: 178 zeros to 180 nines.
    #[test]
    fn digits_are_all_there() {
        let set = digits(&Options::default()).expect("bundled");
        let mut counts = [0; 10];
        set.labels.iter().for_each(|&l| counts[l as usize] += 1);
        assert_eq!((set.n, counts), (1797, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]));
        assert_eq!(set.bytes.iter().max(), Some(&255));
        // As scikit-learn has them: the first row of the first image, and the sum of all grey values.
        let grey = |v: u8| (f32::from(v) * 16.0 / 255.0).round() as u32;
        assert_eq!(set.bytes[..8].iter().map(|v| grey(*v)).collect::<Vec<_>>(), [0, 0, 5, 13, 9, 1, 0, 0]);
        assert_eq!(set.bytes.iter().map(|v| grey(*v)).sum::<u32>(), 561_718);
    }
}
