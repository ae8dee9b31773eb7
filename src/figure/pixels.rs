//! A small picture inside a figure: RGB pixels, how they are made to fit, and the text form that an SVG holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ExtendedColorType;

use super::png::encode;

/// Row-major RGB, three bytes per pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

impl Pixels {
    /// From [height, width, channels] with 1 (grey) or 3 channels; None where sizes and bytes do not fit each other.
    pub fn new(bytes: &[u8], height: usize, width: usize, channels: usize) -> Option<Pixels> {
        let n = height.checked_mul(width)?;
        if n == 0 || n.checked_mul(channels)? != bytes.len() {
            return None;
        }
        let rgb = match channels {
            1 => bytes.iter().flat_map(|&v| [v; 3]).collect(),
            3 => bytes.to_vec(),
            _ => return None,
        };
        Some(Pixels { width, height, rgb })
    }

    /// At most `most` pixels per side: each new pixel is the mean of the area that it covers.
    pub fn shrunk(self, most: usize) -> Pixels {
        let longer = self.width.max(self.height);
        if longer <= most {
            return self;
        }
        let size = |n: usize| ((n as f64 * most as f64 / longer as f64).round() as usize).clamp(1, n);
        let (width, height) = (size(self.width), size(self.height));
        let (columns, rows) = (shares(self.width, width), shares(self.height, height));
        let mut rgb = Vec::with_capacity(width * height * 3);
        for row in &rows {
            for column in &columns {
                let mut sum = [0.0; 3];
                for &(y, tall) in row {
                    for &(x, wide) in column {
                        let pixel = &self.rgb[(y * self.width + x) * 3..][..3];
                        sum.iter_mut().zip(pixel).for_each(|(s, v)| *s += tall * wide * f64::from(*v));
                    }
                }
                rgb.extend(sum.map(|v| v.round() as u8));
            }
        }
        Pixels { width, height, rgb }
    }

    /// The pixels as "data:image/png;base64,..."; None if the encoder fails.
    pub fn data_uri(&self) -> Option<String> {
        let size = (u32::try_from(self.width).ok()?, u32::try_from(self.height).ok()?);
        let is_grey = self.rgb.as_chunks::<3>().0.iter().all(|[r, g, b]| r == g && g == b);
        let file = if is_grey {
            let grey: Vec<u8> = self.rgb.iter().step_by(3).copied().collect();
            encode(&grey, size, ExtendedColorType::L8, true)
        } else {
            encode(&self.rgb, size, ExtendedColorType::Rgb8, true)
        };
        Some(format!("data:image/png;base64,{}", STANDARD.encode(file.ok()?)))
    }
}

/// For each of `to` equal parts of 0..from: the indices it covers, with weights that sum to one.
fn shares(from: usize, to: usize) -> Vec<Vec<(usize, f64)>> {
    let step = from as f64 / to as f64;
    (0..to)
        .map(|i| {
            let (low, high) = (i as f64 * step, ((i + 1) as f64 * step).min(from as f64));
            (low as usize..(high.ceil() as usize).min(from))
                .map(|j| (j, (high.min(j as f64 + 1.0) - low.max(j as f64)).max(0.0) / (high - low)))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_keeps_means_and_shape() {
        let bytes: Vec<u8> = (0..300 * 150).map(|i| (i % 251) as u8).collect();
        let image = Pixels::new(&bytes, 150, 300, 1).expect("an image");
        let small = image.clone().shrunk(196);
        assert_eq!((small.width, small.height, small.rgb.len()), (196, 98, 196 * 98 * 3));
        let mean = |v: &[u8]| v.iter().map(|&b| f64::from(b)).sum::<f64>() / v.len() as f64;
        assert!((mean(&small.rgb) - mean(&image.rgb)).abs() < 0.1);
        assert_eq!(image.clone().shrunk(300), image);
        // A row of ten thousand pixels stays visible.
        let line = Pixels::new(&vec![7; 10_000], 1, 10_000, 1).expect("an image").shrunk(196);
        assert_eq!((line.width, line.height), (196, 1));
        assert!(line.rgb.iter().all(|v| *v == 7));
    }

    #[test]
    fn what_is_no_image_is_none() {
        for (n, h, w, c) in [(0, 0, 0, 1), (5, 2, 2, 1), (8, 2, 2, 2), (4, usize::MAX, 2, 3), (4, 2, 2, usize::MAX)] {
            assert_eq!(Pixels::new(&vec![0; n], h, w, c), None, "{h} {w} {c}");
        }
    }

    /// What the encoder wrote, read by the decoder.
    #[test]
    fn a_png_holds_the_pixels() {
        for (channels, kind) in [(1, image::ColorType::L8), (3, image::ColorType::Rgb8)] {
            let bytes: Vec<u8> = (0..4 * 3 * channels).map(|i| (i * 21) as u8).collect();
            let uri = Pixels::new(&bytes, 4, 3, channels).and_then(|p| p.data_uri()).expect("a PNG");
            let code = uri.strip_prefix("data:image/png;base64,").expect("a data URI");
            let file = STANDARD.decode(code).expect("RFC 4648");
            let read = image::load_from_memory(&file).expect("a PNG");
            assert_eq!((read.width(), read.height(), read.color()), (3, 4, kind));
            assert_eq!(read.as_bytes(), bytes);
        }
    }
}
