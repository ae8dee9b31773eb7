//! A page of small images in a grid, such as the most and the least certain of a test set: each with its caption and a
//! frame that says whether the prediction is right.

use std::path::Path;

use super::Saved;
use super::legend::{Entry, MARGIN, Symbol, draw_head, entry, head_height};
use super::numbers::Numbers;
use super::palette::{BLUE, FRAME, GRID, MUTED, TEXT, VERMILLION, WHITE};
use super::pixels::Pixels;
use super::plot::{Marker, draw_marker};
use super::png::SCALE;
use super::save::{Figure, save};
use super::svg::{Align, Rect, Stroke, Svg};
use super::text::{clean, fit_text, text_width};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SheetImage {
    /// [h, w, c], 1 (grey) or 3 channels.
    pub bytes: Vec<u8>,
    pub h: usize,
    pub w: usize,
    pub c: usize,
    /// Up to three lines, such as "cat (0.55)\ntrue: dog"; a longer line is broken at a blank.
    pub caption: String,
    /// Whether the prediction is right; None where the true class is not known.
    pub right: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SheetFigure {
    pub title: String,
    /// (heading, images in the order in which they are drawn); the first 6 of these, the first 40 of those.
    pub sections: Vec<(String, Vec<SheetImage>)>,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn sheet(dir: &Path, stem: &str, figure: &SheetFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

const WIDTH: f64 = 940.0;
const COLUMNS: usize = 8;
const MOST_IMAGES: usize = 40;
const MOST_SECTIONS: usize = 6;
/// Room of an image, a side. Digits of 8 pixels, letters of 28 and photos of 32 or 96 fill it.
const ROOM: f64 = 98.0;
/// White between an image and its frame.
const GAP: f64 = 1.5;
const FRAME_ROOM: f64 = 4.0;
const PITCH: f64 = 114.5;
const CAPTION_SIZE: f64 = 11.5;
const CAPTION_LINE: f64 = 14.5;
const MOST_LINES: usize = 3;
const HEADING_SIZE: f64 = 14.0;
const HEADING_ROOM: f64 = 34.0;
const ROW_GAP: f64 = 16.0;

fn stroke(right: Option<bool>) -> Stroke {
    match right {
        Some(true) => Stroke::solid(BLUE, 1.5),
        Some(false) => Stroke::solid(VERMILLION, 2.5),
        None => Stroke::solid(FRAME, 1.0),
    }
}

/// An image as it is drawn.
struct Tile {
    pixels: Option<Pixels>,
    /// Figure pixels of an image's pixel: halves, so that they are whole in the bitmap.
    side: f64,
    lines: Vec<String>,
    right: Option<bool>,
}

impl Tile {
    fn new(image: &SheetImage) -> Tile {
        let pixels = Pixels::new(&image.bytes, image.h, image.w, image.c).map(|p| p.shrunk((ROOM * SCALE) as usize));
        let longer = pixels.as_ref().map_or(1, |p| p.width.max(p.height));
        let side = (ROOM * SCALE / longer as f64).floor() / SCALE;
        Tile { pixels, side, lines: caption_lines(&image.caption), right: image.right }
    }

    fn size(&self) -> (f64, f64) {
        match &self.pixels {
            Some(p) => (p.width as f64 * self.side, p.height as f64 * self.side),
            None => (ROOM, ROOM),
        }
    }

    /// `bottom` is that of the image; the caption stands below it.
    fn draw(&self, s: &mut Svg, left: f64, bottom: f64) {
        let (width, height) = self.size();
        let top = bottom - height;
        let area = Rect { left, top, right: left + width, bottom };
        match &self.pixels {
            Some(pixels) => s.image((left, top), self.side, pixels),
            None => {
                s.rect(area, GRID);
                let (x, y) = area.middle();
                s.text("no image", (x, y + 4.0), CAPTION_SIZE, MUTED, Align::Middle, false);
            }
        }
        let stroke = stroke(self.right);
        s.outline(area.grown(GAP + stroke.width / 2.0), stroke);
        if self.right == Some(false) {
            draw_marker(s, (left + width - 1.0, top + 1.0), Marker::Cross, 8.0, VERMILLION, WHITE);
        }
        for (i, line) in self.lines.iter().enumerate() {
            let at = (left - FRAME_ROOM, bottom + FRAME_ROOM + 13.0 + CAPTION_LINE * i as f64);
            s.text(line, at, CAPTION_SIZE, if i == 0 { TEXT } else { MUTED }, Align::Start, false);
        }
    }
}

/// The caption's lines, broken at blanks where they are too long, the last one cut.
fn caption_lines(caption: &str) -> Vec<String> {
    let room = PITCH - 7.0;
    let mut lines: Vec<String> = vec![];
    for line in caption.split('\n').map(clean).filter(|l| !l.is_empty()) {
        let mut now = String::new();
        // More words than this are not seen anyway.
        for word in line.split(' ').take(40) {
            let longer = if now.is_empty() { word.to_string() } else { format!("{now} {word}") };
            if !now.is_empty() && text_width(&longer, CAPTION_SIZE) > room {
                lines.push(std::mem::replace(&mut now, word.to_string()));
            } else {
                now = longer;
            }
        }
        lines.push(now);
    }
    if lines.len() > MOST_LINES {
        let rest = lines.split_off(MOST_LINES - 1).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|l| fit_text(l, CAPTION_SIZE, room)).collect()
}

/// Where a section stands: rows of tiles, each with the bottom of its images.
struct Block {
    heading: String,
    top: f64,
    rows: Vec<(f64, Vec<Tile>)>,
}

impl SheetFigure {
    /// The sections from `top` down, and the bottom of the last one.
    fn blocks(&self, top: f64) -> (Vec<Block>, f64) {
        let mut y = top;
        let mut blocks = vec![];
        for (name, images) in self.sections.iter().take(MOST_SECTIONS) {
            let heading = match images.len() {
                0 => format!("{name}: no images"),
                n if n > MOST_IMAGES => format!("{name} (the first {MOST_IMAGES} of {n})"),
                _ => name.clone(),
            };
            let mut block = Block { heading, top: y, rows: vec![] };
            y += HEADING_ROOM;
            for row in images[..images.len().min(MOST_IMAGES)].chunks(COLUMNS) {
                let tiles: Vec<Tile> = row.iter().map(Tile::new).collect();
                let tall = tiles.iter().map(|t| t.size().1).fold(0.0, f64::max);
                let lines = tiles.iter().map(|t| t.lines.len()).max().unwrap_or(0);
                block.rows.push((y + FRAME_ROOM + tall, tiles));
                y += 2.0 * FRAME_ROOM + tall + CAPTION_LINE * lines as f64 + ROW_GAP;
            }
            blocks.push(block);
        }
        (blocks, if blocks_are_empty(&self.sections) { top + 120.0 } else { y })
    }

    fn legend(&self) -> Vec<Entry> {
        let shown = || self.sections.iter().take(MOST_SECTIONS).flat_map(|s| s.1.iter().take(MOST_IMAGES));
        [
            (Some(true), "predicted class is right"),
            (Some(false), "wrong: marked with a cross, true class below"),
            (None, "true class not known"),
        ]
        .into_iter()
        .filter(|(right, _)| shown().any(|image| image.right == *right))
        .map(|(right, label)| entry(Symbol::Frame(stroke(right), right == Some(false)), label))
        .collect()
    }

    fn notes(&self) -> String {
        match self.sections.len().saturating_sub(MOST_SECTIONS) {
            0 => String::new(),
            n => format!("{n} further sections are not drawn"),
        }
    }
}

fn blocks_are_empty(sections: &[(String, Vec<SheetImage>)]) -> bool {
    sections.iter().all(|s| s.1.is_empty())
}

impl Figure for SheetFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new(["section", "position", "caption", "right"]);
        for (heading, images) in &self.sections {
            for (i, image) in images.iter().enumerate() {
                let right = image.right.map(|right| if right { "true" } else { "false" });
                numbers.push(vec![heading.into(), (i + 1).into(), (&image.caption).into(), right.into()]);
            }
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        let top = head_height(WIDTH, &self.notes(), &self.legend());
        (WIDTH, (self.blocks(top).1 + 4.0).ceil())
    }

    fn draw(&self, s: &mut Svg) {
        let top = draw_head(s, WIDTH, &self.title, &self.notes(), &self.legend());
        let (blocks, bottom) = self.blocks(top);
        if blocks_are_empty(&self.sections) {
            s.text("no data", (WIDTH / 2.0, (top + bottom) / 2.0), 16.0, MUTED, Align::Middle, false);
            return;
        }
        for block in blocks {
            let heading = fit_text(&block.heading, HEADING_SIZE, WIDTH - 2.0 * MARGIN);
            let line = (MARGIN + text_width(&heading, HEADING_SIZE) + 10.0).min(WIDTH - MARGIN);
            s.polyline(&[(line, block.top + 15.0), (WIDTH - MARGIN, block.top + 15.0)], Stroke::solid(GRID, 1.0));
            s.text(&heading, (MARGIN, block.top + 20.0), HEADING_SIZE, TEXT, Align::Start, false);
            for (bottom, tiles) in &block.rows {
                for (i, tile) in tiles.iter().enumerate() {
                    tile.draw(s, MARGIN + FRAME_ROOM + PITCH * i as f64, *bottom);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_break_at_blanks_and_end_after_three_lines() {
        assert_eq!(caption_lines("cat (0.55)\ntrue: dog"), ["cat (0.55)", "true: dog"]);
        let long = caption_lines("a class name of many words 0.55\ntrue: another class of many words");
        assert_eq!(long.len(), 3);
        assert!(long[2].ends_with('…'), "{long:?}");
        assert!(long.iter().all(|l| text_width(l, CAPTION_SIZE) <= PITCH - 7.0), "{long:?}");
        assert_eq!(caption_lines(&"x".repeat(1000)).len(), 1);
        assert_eq!(caption_lines(" \n\u{0}\n"), Vec::<String>::new());
        // The longest captions of CIFAR-10 are not cut.
        assert_eq!(caption_lines("automobile (0.55)\ntrue: automobile"), ["automobile (0.55)", "true: automobile"]);
    }

    #[test]
    fn pixels_are_whole_in_the_bitmap_and_fill_the_room() {
        for (side, factor) in [(8, 12.0), (28, 3.5), (32, 3.0), (64, 1.5), (96, 1.0), (196, 0.5)] {
            let image = SheetImage { bytes: vec![0; side * side], h: side, w: side, c: 1, ..Default::default() };
            let tile = Tile::new(&image);
            assert_eq!(tile.side, factor, "{side}");
            assert!(tile.size().0 > 0.97 * 96.0 && tile.size().0 <= ROOM, "{side}");
        }
        let large = SheetImage { bytes: vec![0; 1000 * 500 * 3], h: 500, w: 1000, c: 3, ..Default::default() };
        assert_eq!(Tile::new(&large).size(), (ROOM, ROOM / 2.0));
    }
}
