//! Figures of one size, one after the other: as a GIF, which every program for slides and messages shows, or as a PNG that moves,
//! which browsers show in all its colours. A frame holds only what differs from the one before.

use std::borrow::Cow;
use std::collections::HashMap;

use color_quant::NeuQuant;

use super::png::{Bitmap, bitmap};
use super::save::{Figure, svg_text};
use super::svg::on_dark;
use crate::error::{Error, Fault, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnimationKind {
    Gif,
    Png,
}

impl AnimationKind {
    pub fn ending(self) -> &'static str {
        match self {
            AnimationKind::Gif => "gif",
            AnimationKind::Png => "png",
        }
    }
}

/// Device pixels per figure pixel: what a slide shows, and a quarter of the bytes of a still figure's.
const SCALE: f64 = 1.0;
/// Colours of a GIF; one number more stands for a pixel that stays.
const COLOURS: usize = 255;
/// Those that cover most are kept as they are: a ground that is nearly white is not white.
const EXACT: usize = 128;

/// An animation that grows frame by frame; it plays over and over.
pub struct Animation {
    title: String,
    size: (u32, u32),
    dark: bool,
    before: Vec<u8>,
    writer: Writer,
}

enum Writer {
    Gif(Box<gif::Encoder<Vec<u8>>>, Palette),
    /// `std::io::Write` of a header is there before the first frame.
    Png(Box<png::Writer<Shared>>, Shared),
}

fn broken(title: &str, found: impl std::fmt::Display) -> Error {
    let found = format!("cannot make an animation of the figure: {found}");
    let (place, help) = (title.to_owned(), "save it as PNG or SVG".to_owned());
    Error::Io(Fault { place, found, allowed: String::new(), help, cures: Box::default() })
}

/// The encoder of PNG keeps what it writes to, so that the bytes are read beside it.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().map_err(|_| std::io::Error::other("a writer failed"))?.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Animation {
    /// Of `frames` figures, of which `samples` are some: the colours of a GIF are chosen from them. `dark`: on the ground of a
    /// dark screen.
    ///
    /// # Errors
    /// No frame, or a figure that cannot be drawn.
    pub fn new(kind: AnimationKind, frames: u32, samples: &[&dyn Figure], dark: bool) -> Result<Animation> {
        let title = samples.first().map_or_else(String::new, |f| f.title().to_owned());
        let drawn: Vec<Bitmap> = samples.iter().map(|f| draw(*f, dark)).collect::<Result<_>>()?;
        let Some(first) = drawn.first() else { return Err(broken(&title, "it has no frame")) };
        let size = (first.width, first.height);
        let writer = match kind {
            AnimationKind::Gif => {
                let palette = Palette::of(&drawn);
                let side = |n: u32| u16::try_from(n).map_err(|_| broken(&title, format!("{n} pixels")));
                let mut encoder = gif::Encoder::new(vec![], side(size.0)?, side(size.1)?, &palette.rgb)
                    .map_err(|e| broken(&title, e))?;
                encoder.set_repeat(gif::Repeat::Infinite).map_err(|e| broken(&title, e))?;
                Writer::Gif(Box::new(encoder), palette)
            }
            AnimationKind::Png => {
                let bytes = Shared::default();
                let mut encoder = png::Encoder::new(bytes.clone(), size.0, size.1);
                encoder.set_color(png::ColorType::Rgb);
                encoder.set_depth(png::BitDepth::Eight);
                encoder.set_compression(png::Compression::Balanced);
                let writer = encoder.set_animated(frames, 0).and_then(|()| encoder.write_header());
                Writer::Png(Box::new(writer.map_err(|e| broken(&title, e))?), bytes)
            }
        };
        Ok(Animation { title, size, dark, before: vec![], writer })
    }

    /// Draws the next frame, which stands for `seconds`. All frames have the size of the first.
    ///
    /// # Errors
    /// Another size, or a figure that cannot be drawn.
    pub fn add(&mut self, figure: &dyn Figure, seconds: f64) -> Result<()> {
        let drawn = draw(figure, self.dark)?;
        if (drawn.width, drawn.height) != self.size {
            return Err(broken(&self.title, "its frames differ in size"));
        }
        let part = match self.before.is_empty() {
            true => Part { left: 0, top: 0, width: self.size.0, height: self.size.1 },
            false => Part::changed(&self.before, &drawn.rgb, self.size),
        };
        let hundredths = (seconds * 100.0).round().clamp(2.0, 6000.0) as u16;
        match &mut self.writer {
            Writer::Gif(encoder, palette) => {
                let frame = gif::Frame {
                    delay: hundredths,
                    left: part.left as u16,
                    top: part.top as u16,
                    width: part.width as u16,
                    height: part.height as u16,
                    transparent: Some(COLOURS as u8),
                    buffer: Cow::Owned(palette.numbers(&self.before, &drawn.rgb, self.size.0, part)),
                    ..gif::Frame::default()
                };
                encoder.write_frame(&frame).map_err(|e| broken(&self.title, e))?;
            }
            Writer::Png(writer, _) => {
                let mut write = || {
                    if !self.before.is_empty() {
                        // At its place only once it is small enough for it.
                        writer.set_frame_position(0, 0)?;
                        writer.set_frame_dimension(part.width, part.height)?;
                        writer.set_frame_position(part.left, part.top)?;
                    }
                    writer.set_frame_delay(hundredths, 100)?;
                    writer.write_image_data(&part.cut(&drawn.rgb, self.size.0))
                };
                write().map_err(|e: png::EncodingError| broken(&self.title, e))?;
            }
        }
        self.before = drawn.rgb;
        Ok(())
    }

    /// The content of the file.
    ///
    /// # Errors
    /// Fewer frames than were announced.
    pub fn finish(self) -> Result<Vec<u8>> {
        match self.writer {
            Writer::Gif(encoder, _) => encoder.into_inner().map_err(|e| broken(&self.title, e)),
            Writer::Png(writer, bytes) => {
                writer.finish().map_err(|e| broken(&self.title, e))?;
                let mut bytes = bytes.0.lock().map_err(|_| broken(&self.title, "a writer failed"))?;
                Ok(std::mem::take(&mut *bytes))
            }
        }
    }
}

fn draw(figure: &dyn Figure, dark: bool) -> Result<Bitmap> {
    let svg = svg_text(figure);
    bitmap(&if dark { on_dark(&svg) } else { svg }, SCALE).map_err(|e| broken(figure.title(), e))
}

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl Part {
    /// What differs between two bitmaps of a size; one pixel where nothing does, for a frame must have one.
    fn changed(before: &[u8], now: &[u8], (width, height): (u32, u32)) -> Part {
        let line = 3 * width as usize;
        let differs = |y: usize| before[y * line..(y + 1) * line] != now[y * line..(y + 1) * line];
        let rows = 0..height as usize;
        let (Some(top), Some(bottom)) = (rows.clone().find(|y| differs(*y)), rows.clone().rfind(|y| differs(*y)))
        else {
            return Part { left: 0, top: 0, width: 1, height: 1 };
        };
        let (mut left, mut right) = (width as usize - 1, 0);
        for y in top..=bottom {
            let at = |x: usize| (y * line + 3 * x)..(y * line + 3 * x + 3);
            left = (0..left).find(|x| before[at(*x)] != now[at(*x)]).unwrap_or(left);
            right = (right..width as usize).rfind(|x| before[at(*x)] != now[at(*x)]).unwrap_or(right);
        }
        let (right, bottom) = (right.max(left), bottom as u32);
        Part { left: left as u32, top: top as u32, width: (right - left + 1) as u32, height: bottom - top as u32 + 1 }
    }

    /// Offsets of its first and behind its last byte in each row of an image `width` wide.
    fn rows(self, width: u32) -> impl Iterator<Item = std::ops::Range<usize>> {
        let (from, len) = (3 * self.left as usize, 3 * self.width as usize);
        (self.top..self.top + self.height)
            .map(move |y| y as usize * 3 * width as usize + from)
            .map(move |at| at..at + len)
    }

    fn cut(self, rgb: &[u8], width: u32) -> Vec<u8> {
        self.rows(width).flat_map(|row| &rgb[row]).copied().collect()
    }
}

/// At most `COLOURS` colours, and the number of the nearest for every colour that has come by.
struct Palette {
    rgb: Vec<u8>,
    nearest: HashMap<[u8; 3], u8, foldhash::fast::FixedState>,
}

impl Palette {
    /// All colours of the bitmaps where they are few enough; else the most frequent ones, and for the rest the colours that a
    /// network of Kohonen's settles on.
    fn of(bitmaps: &[Bitmap]) -> Palette {
        let mut counts: HashMap<[u8; 3], usize, foldhash::fast::FixedState> = HashMap::default();
        for pixel in bitmaps.iter().flat_map(|b| b.rgb.as_chunks::<3>().0) {
            *counts.entry(*pixel).or_default() += 1;
        }
        let mut all: Vec<([u8; 3], usize)> = counts.into_iter().collect();
        // The colour itself decides between two as frequent: the same figures give the same file.
        all.sort_unstable_by_key(|(colour, n)| (std::cmp::Reverse(*n), *colour));
        let exact = if all.len() <= COLOURS { all.len() } else { EXACT };
        let mut rgb: Vec<u8> = all[..exact].iter().flat_map(|(colour, _)| *colour).collect();
        if exact < all.len() {
            // As often as their root says: a thin line of few pixels has its colour, too.
            let often = |n: usize| (n as f64).sqrt().ceil() as usize;
            let rest = all[exact..].iter().flat_map(|(c, n)| std::iter::repeat_n([c[0], c[1], c[2], 255], often(*n)));
            let learnt = NeuQuant::new(1, COLOURS - EXACT, rest.collect::<Vec<_>>().as_flattened());
            rgb.extend(learnt.color_map_rgb());
        }
        rgb.resize(3 * (COLOURS + 1), 0);
        Palette { rgb, nearest: HashMap::default() }
    }

    fn number(&mut self, colour: [u8; 3]) -> u8 {
        let Palette { rgb, nearest } = self;
        *nearest.entry(colour).or_insert_with(|| {
            let far = |at: &[u8; 3]| -> u32 {
                // As bright as they look: green counts most, blue least.
                let d = |i: usize| u32::from(colour[i].abs_diff(at[i])).pow(2);
                3 * d(0) + 4 * d(1) + 2 * d(2)
            };
            let all = rgb.as_chunks::<3>().0[..COLOURS].iter().enumerate();
            all.min_by_key(|(_, at)| far(at)).map_or(0, |(i, _)| i as u8)
        })
    }

    /// Of the pixels in `part`; those that stay are `COLOURS`.
    fn numbers(&mut self, before: &[u8], now: &[u8], width: u32, part: Part) -> Vec<u8> {
        let mut numbers = Vec::with_capacity((part.width * part.height) as usize);
        for row in part.rows(width) {
            let old = before.get(row.clone()).unwrap_or_default().as_chunks::<3>().0;
            for (x, pixel) in now[row].as_chunks::<3>().0.iter().enumerate() {
                let stays = old.get(x) == Some(pixel);
                numbers.push(if stays { COLOURS as u8 } else { self.number(*pixel) });
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::samples::{bands_figure, heat_figure};
    use crate::figure::{BandsFigure, HeatFigure};
    use image::AnimationDecoder;
    use image::codecs::{gif::GifDecoder, png::PngDecoder};
    use std::io::Cursor;

    fn moving(n: usize) -> Vec<BandsFigure> {
        let at = |i: usize| {
            let mut figure = bands_figure(1);
            figure.title = format!("step {i}");
            figure.panels[0].mean.iter_mut().for_each(|m| *m += 0.1 * i as f64);
            figure
        };
        (0..n).map(at).collect()
    }

    fn encoded<F: Figure>(kind: AnimationKind, figures: &[F]) -> Vec<u8> {
        let all: Vec<&dyn Figure> = figures.iter().map(|f| f as &dyn Figure).collect();
        let mut animation = Animation::new(kind, all.len() as u32, &all, false).expect("an animation");
        for (i, figure) in all.iter().enumerate() {
            animation.add(*figure, 0.1 + 0.1 * i as f64).expect("a frame");
        }
        animation.finish().expect("a file")
    }

    /// Per frame its pixels as RGB and how long it stands, in milliseconds, read by another program's decoder.
    fn decoded(kind: AnimationKind, bytes: &[u8]) -> Vec<(Vec<u8>, u32)> {
        let frames = match kind {
            AnimationKind::Gif => GifDecoder::new(Cursor::new(bytes)).expect("a GIF").into_frames(),
            AnimationKind::Png => {
                PngDecoder::new(Cursor::new(bytes)).expect("a PNG").apng().expect("one that moves").into_frames()
            }
        };
        let frames = frames.collect_frames().expect("frames");
        let of = |frame: &image::Frame| {
            let (ms, part) = frame.delay().numer_denom_ms();
            let rgb = frame.buffer().pixels().flat_map(|p| [p.0[0], p.0[1], p.0[2]]).collect();
            (rgb, ms / part)
        };
        frames.iter().map(of).collect()
    }

    /// Root of the mean squared difference of two bitmaps, in steps of 256.
    fn rms(a: &[u8], b: &[u8]) -> f64 {
        let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
        (sum / a.len() as f64).sqrt()
    }

    #[test]
    fn every_frame_of_a_file_shows_its_figure_for_its_time() {
        let figures = moving(4);
        for (kind, most) in [(AnimationKind::Gif, 2.0), (AnimationKind::Png, 0.0)] {
            let file = encoded(kind, &figures);
            let frames = decoded(kind, &file);
            assert_eq!(frames.iter().map(|f| f.1).collect::<Vec<_>>(), [100, 200, 300, 400], "{kind:?}");
            for (figure, (rgb, _)) in figures.iter().zip(&frames) {
                let drawn = draw(figure, false).expect("a bitmap");
                let off = rms(&drawn.rgb, rgb);
                assert!(off <= most, "{kind:?}: {off}");
                assert_eq!(rgb[..3], [255, 255, 255], "the ground is white");
            }
            let one = encoded(kind, &figures[..1]).len();
            assert!(file.len() < 4 * one, "{kind:?}: four frames in {}, one in {one}", file.len());
        }
    }

    #[test]
    fn a_map_of_many_colours_keeps_them() {
        let mut figure: HeatFigure = heat_figure(3);
        figure.title = "map".into();
        let drawn = draw(&figure, false).expect("a bitmap");
        let frames = decoded(AnimationKind::Gif, &encoded(AnimationKind::Gif, &[figure]));
        let off = rms(&drawn.rgb, &frames[0].0);
        assert!(off < 3.0, "{off}");
    }

    #[test]
    fn what_stays_is_left_out_and_sizes_must_agree() {
        let (width, height) = (5, 4);
        let before = vec![9; 3 * 20];
        let mut now = before.clone();
        assert_eq!(Part::changed(&before, &now, (width, height)), Part { left: 0, top: 0, width: 1, height: 1 });
        for (x, y) in [(3, 1), (1, 2)] {
            now[3 * (y * 5 + x) + 1] = 7;
        }
        let part = Part::changed(&before, &now, (width, height));
        assert_eq!(part, Part { left: 1, top: 1, width: 3, height: 2 });
        assert_eq!(part.cut(&now, width).len(), 18);
        let figures: [&dyn Figure; 2] = [&bands_figure(1), &bands_figure(2)];
        let mut animation = Animation::new(AnimationKind::Gif, 2, &figures, false).expect("an animation");
        assert!(animation.add(figures[0], 0.1).is_ok());
        assert!(animation.add(figures[1], 0.1).is_err_and(|e| e.to_string().contains("differ in size")));
        assert!(Animation::new(AnimationKind::Png, 0, &[], false).is_err());
    }

    #[test]
    fn on_a_dark_ground_the_ground_is_dark() {
        let figures = moving(1);
        let corner = |dark: bool| {
            let mut animation = Animation::new(AnimationKind::Png, 1, &[&figures[0]], dark).expect("an animation");
            animation.add(&figures[0], 0.1).expect("a frame");
            decoded(AnimationKind::Png, &animation.finish().expect("a file"))[0].0[..3].to_vec()
        };
        assert!(corner(false).iter().all(|v| *v > 240) && corner(true).iter().all(|v| *v < 60));
    }
}
