//! One image file to bytes of a wanted size. 16 bits become 8 (rounded), transparency is laid on white, the camera's
//! EXIF orientation is applied, of an animation the first frame is taken. The content decides the format, not the name.

use super::transform::{Resampler, luma};
use super::{counted, place, read_bytes};
use crate::error::{Error, Result};
use crate::system::stop;
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader};
use std::io::Cursor;
use std::path::Path;

const ALLOWED: &str = "PNG, JPEG, BMP, GIF or WebP";
/// A file whose picture is larger than this is refused before memory is taken for it.
const MAX_PICTURE_BYTES: u64 = 1 << 30;

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub h: usize,
    pub w: usize,
    pub grey: bool,
    /// Of the whole picture, decoded.
    pub bytes: u64,
}

/// What had to be changed on the way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Converted {
    deep: bool,
    transparent: bool,
    turned: bool,
    grey: bool,
    cmyk: bool,
    misnamed: bool,
}

fn broken(path: &Path, e: &image::ImageError) -> Error {
    let found = match e {
        image::ImageError::Limits(_) => "is too large to decode".to_string(),
        e => format!("cannot be decoded, perhaps cut off ({e})"),
    };
    Error::data(place(path), found, ALLOWED, "bring a whole file, or take it out of the folder")
}

/// A decoder by content, with what its format is.
fn decoder<'a>(path: &Path, raw: &'a [u8]) -> Result<(ImageFormat, impl ImageDecoder + 'a)> {
    let reader = ImageReader::new(Cursor::new(raw)).with_guessed_format().map_err(|e| Error::io(path, "read", &e))?;
    let Some(format) = reader.format().filter(|f| f.reading_enabled()) else {
        let help = "bring a whole file, or take it out of the folder";
        return Err(Error::data(place(path), "is no image by its first bytes", ALLOWED, help));
    };
    let decoder = reader.into_decoder().map_err(|e| broken(path, &e))?;
    if decoder.total_bytes() > MAX_PICTURE_BYTES {
        let (w, h) = decoder.dimensions();
        let found = format!("claims an image of {h} x {w}");
        return Err(Error::data(place(path), found, "up to 1 GiB per image", "save it smaller"));
    }
    Ok((format, decoder))
}

pub(crate) fn header(path: &Path) -> Result<Header> {
    let raw = read_bytes(path)?;
    let (_, mut decoder) = decoder(path, &raw)?;
    let (w, h) = decoder.dimensions();
    let sideways = matches!(
        decoder.orientation().unwrap_or(Orientation::NoTransforms),
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    );
    let (w, h) = if sideways { (h, w) } else { (w, h) };
    if w == 0 || h == 0 {
        return Err(Error::data(place(path), format!("has the size {h} x {w}"), ALLOWED, "take it out of the folder"));
    }
    let (grey, bytes) = (!decoder.color_type().has_color(), decoder.total_bytes());
    Ok(Header { h: h as usize, w: w as usize, grey, bytes })
}

/// Decodes into `to`, `[h, w, c]`.
pub(crate) fn decode(path: &Path, (h, w, c): (usize, usize, usize), to: &mut [u8]) -> Result<Converted> {
    stop::check()?;
    let raw = read_bytes(path)?;
    let (format, mut decoder) = decoder(path, &raw)?;
    let mut converted = Converted { misnamed: ImageFormat::from_path(path).ok() != Some(format), ..Default::default() };
    if format == ImageFormat::Jpeg {
        converted.cmyk = check_jpeg(path, &raw)?;
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let color = decoder.color_type();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|e| broken(path, &e))?;
    if orientation != Orientation::NoTransforms {
        picture.apply_orientation(orientation);
        converted.turned = true;
    }
    converted.deep = !matches!(color, ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8);
    converted.grey = !color.has_color();
    let from = (picture.height() as usize, picture.width() as usize);
    let mut pixels = match (color.has_alpha(), converted.grey) {
        (true, _) => on_white(picture, &mut converted.transparent),
        (false, true) => picture.into_luma8().into_raw(),
        (false, false) => picture.into_rgb8().into_raw(),
    };
    // Transparent pictures come back in three channels whatever they were.
    let mut channels = if converted.grey && !color.has_alpha() { 1 } else { 3 };
    if channels == 3 && c == 1 {
        pixels = pixels.chunks_exact(3).map(|p| luma([p[0], p[1], p[2]])).collect();
        channels = 1;
    } else if channels == 1 && c == 3 {
        pixels = pixels.iter().flat_map(|&v| [v; 3]).collect();
        channels = 3;
    }
    if from == (h, w) {
        if pixels.len() != to.len() {
            return Err(Error::data(
                place(path),
                "decodes to another size than its header says",
                ALLOWED,
                "save it again",
            ));
        }
        to.copy_from_slice(&pixels);
    } else {
        Resampler::triangle(from, (h, w)).run(&pixels, channels, to);
    }
    Ok(converted)
}

/// RGB of a transparent picture laid on white paper; says whether any of it was transparent.
fn on_white(picture: DynamicImage, transparent: &mut bool) -> Vec<u8> {
    let rgba = picture.into_rgba8();
    let mut out = Vec::with_capacity(rgba.len() / 4 * 3);
    for pixel in rgba.as_raw().chunks_exact(4) {
        let alpha = u32::from(pixel[3]);
        *transparent |= alpha < 255;
        out.extend(pixel[..3].iter().map(|&v| ((u32::from(v) * alpha + 255 * (255 - alpha) + 127) / 255) as u8));
    }
    out
}

/// Refuses a JPEG without an end marker, which the decoder would fill with grey in silence; says whether it is CMYK.
fn check_jpeg(path: &Path, raw: &[u8]) -> Result<bool> {
    let cut = || {
        let help = "bring a whole file, or take it out of the folder";
        Error::data(place(path), "is a JPEG that ends before its end marker", ALLOWED, help)
    };
    let (mut at, mut components) = (2, 0u8);
    loop {
        let Some(&[marker, code]) = raw.get(at..at + 2) else { return Err(cut()) };
        if marker != 0xFF {
            // No segment where one should be: the decoder may judge.
            break;
        }
        match code {
            0xFF => at += 1,
            0xD9 => break,
            0x01 | 0xD0..=0xD8 => at += 2,
            _ => {
                let Some(&[high, low]) = raw.get(at + 2..at + 4) else { return Err(cut()) };
                // Frame headers: precision, height, width, then the number of components.
                if matches!(code, 0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF) {
                    components = raw.get(at + 9).copied().unwrap_or(0);
                }
                at += 2 + usize::from(u16::from_be_bytes([high, low]));
                if code == 0xDA {
                    break;
                }
            }
        }
    }
    // Inside the picture FF is followed by 00 or a restart, so that FF D9 is the end and nothing else.
    match raw.get(at.min(raw.len())..).is_some_and(|rest| rest.windows(2).any(|pair| pair == [0xFF, 0xD9])) {
        true => Ok(components == 4),
        false => Err(cut()),
    }
}

/// One sentence for each thing that was converted.
pub(crate) fn sentences(all: &[Converted], c: usize) -> Vec<String> {
    let count = |test: fn(&Converted) -> bool| all.iter().filter(|x| test(x)).count();
    let rows = [
        (count(|x| x.deep), "of more than 8 bits per channel reduced to 8"),
        (count(|x| x.transparent), "with transparency laid on white"),
        (count(|x| x.turned), "turned as the camera's EXIF orientation says"),
        (if c == 3 { count(|x| x.grey) } else { 0 }, "in grey given three equal channels"),
        (count(|x| x.cmyk), "in CMYK converted to RGB without a colour profile"),
        (count(|x| x.misnamed), "of another format than the name says, read by content"),
    ];
    rows.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}.", counted(*n, "image"))).collect()
}
