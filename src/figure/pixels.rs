//! A small picture inside a figure: RGB pixels, how they are made to fit, and the text form that an SVG holds.

/// Row-major RGB, three bytes a pixel.
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

    /// At most `most` pixels a side: each new pixel is the mean of the area that it covers.
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
        let is_grey = self.rgb.as_chunks::<3>().0.iter().all(|[r, g, b]| r == g && g == b);
        let grey: Vec<u8>;
        let (colour, data) = if is_grey {
            grey = self.rgb.iter().step_by(3).copied().collect();
            (png::ColorType::Grayscale, &grey)
        } else {
            (png::ColorType::Rgb, &self.rgb)
        };
        let mut file = vec![];
        let mut encoder =
            png::Encoder::new(&mut file, u32::try_from(self.width).ok()?, u32::try_from(self.height).ok()?);
        encoder.set_color(colour);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Best);
        encoder.set_adaptive_filter(png::AdaptiveFilterType::Adaptive);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(data).ok()?;
        writer.finish().ok()?;
        Some(format!("data:image/png;base64,{}", base64(&file)))
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

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let word = part.iter().chain([0, 0].iter()).take(3).fold(0u32, |w, b| w << 8 | u32::from(*b));
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= part.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64_is_the_standards() {
        let rows =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (text, code) in rows {
            assert_eq!(base64(text.as_bytes()), code);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

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
        for (channels, kind) in [(1, png::ColorType::Grayscale), (3, png::ColorType::Rgb)] {
            let bytes: Vec<u8> = (0..4 * 3 * channels).map(|i| (i * 21) as u8).collect();
            let uri = Pixels::new(&bytes, 4, 3, channels).and_then(|p| p.data_uri()).expect("a PNG");
            let code = uri.strip_prefix("data:image/png;base64,").expect("a data URI");
            let file = unbase64(code);
            let mut reader = png::Decoder::new(&file[..]).read_info().expect("a PNG");
            let mut out = vec![0; reader.output_buffer_size()];
            let info = reader.next_frame(&mut out).expect("pixels");
            assert_eq!((info.width, info.height, info.color_type), (3, 4, kind));
            assert_eq!(out, bytes);
        }
    }

    fn unbase64(code: &str) -> Vec<u8> {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits = code.bytes().filter(|b| *b != b'=').flat_map(|b| {
            let v = letters.iter().position(|l| *l == b).expect("a letter");
            (0..6).rev().map(move |i| v >> i & 1)
        });
        let bits: Vec<usize> = bits.collect();
        bits.chunks_exact(8).map(|b| b.iter().fold(0, |w, bit| w << 1 | *bit as u8)).collect()
    }
}
