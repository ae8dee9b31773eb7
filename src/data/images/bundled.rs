//! Image sets inside the program. Must not touch files.

use super::{Format, ImageSet, Options, resize};
use crate::error::{Error, Result};
use std::io::Read;

/// 1,797 handwritten digits of 8 x 8 (assets/data/README.md); grey values 0 to 16 become 0 to 255.
pub fn digits(options: &Options) -> Result<ImageSet> {
    let broken =
        |e: &dyn std::fmt::Display| Error::run("digits", e.to_string(), "this is a bug of vifo: please report it");
    let mut text = String::new();
    let packed = &include_bytes!("../../../assets/data/digits.csv.bz2")[..];
    bzip2::read::BzDecoder::new(packed).read_to_string(&mut text).map_err(|e| broken(&e))?;
    let mut set = ImageSet {
        h: 8,
        w: 8,
        c: 1,
        classes: (0..10).map(|d| d.to_string()).collect(),
        format: Some(Format::Digits),
        source: "digits from scikit-learn, bundled".into(),
        ..Default::default()
    };
    for line in text.lines() {
        let numbers: Vec<f32> = line
            .split(',')
            .map(|v| v.trim().parse::<f32>())
            .collect::<std::result::Result<_, _>>()
            .map_err(|e| broken(&e))?;
        let Some((label, pixels)) = numbers.split_last().filter(|(_, pixels)| pixels.len() == 64) else {
            return Err(broken(&"a row that is no image"));
        };
        set.bytes.extend(pixels.iter().map(|v| (v * 255.0 / 16.0).round() as u8));
        set.labels.push(*label as u32);
        set.ids.push(set.n.to_string());
        set.n += 1;
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
    }
}
