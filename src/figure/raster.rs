//! The bitmap surface: shapes are filled by exact pixel coverage (signed-area accumulation), so that thin lines,
//! small circles and text stay legible. Overlapping parts of one stroke are blended once.

use super::pixels::Pixels;
use super::surface::{Align, Ink, Point, Stroke, Surface, clean, font, text_width};

/// Device pixels per figure pixel of a PNG: sharp on dense screens and in print.
pub const SCALE: f64 = 2.0;
/// Text is rasterized this many times larger and averaged down.
const TEXT_OVERSAMPLING: i32 = 4;

pub struct Raster {
    pub width: u32,
    pub height: u32,
    /// Row-major RGB, three bytes a pixel.
    pub rgb: Vec<u8>,
    /// Device pixels per figure pixel.
    scale: f64,
}

/// Signed coverage of the pixels in a box of the image.
struct Coverage {
    x0: i64,
    y0: i64,
    width: usize,
    height: usize,
    /// height rows of width + 2 entries; each entry is the change against its left neighbour.
    change: Vec<f32>,
}

impl Coverage {
    /// A box around `points` (device pixels), cut to the image; None when nothing of it is visible.
    fn around(points: &[Point], pad: f64, image: (u32, u32)) -> Option<Self> {
        let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for &(x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        let x0 = (low.0 - pad).floor().max(0.0);
        let y0 = (low.1 - pad).floor().max(0.0);
        let x1 = (high.0 + pad).ceil().min(f64::from(image.0));
        let y1 = (high.1 + pad).ceil().min(f64::from(image.1));
        if !(x1 > x0 && y1 > y0) {
            return None;
        }
        let (width, height) = ((x1 - x0) as usize, (y1 - y0) as usize);
        Some(Coverage { x0: x0 as i64, y0: y0 as i64, width, height, change: vec![0.0; (width + 2) * height] })
    }

    /// Adds the closed polygon; all polygons of one shape must turn the same way.
    fn add(&mut self, polygon: impl Iterator<Item = Point> + Clone) {
        let Some(first) = polygon.clone().next() else { return };
        for (from, to) in polygon.clone().zip(polygon.skip(1).chain(std::iter::once(first))) {
            self.edge(from, to);
        }
    }

    fn edge(&mut self, from: Point, to: Point) {
        // What lies outside the box counts at its border: left of it covers the whole row, right of it nothing.
        let place = |(x, y): Point| {
            let x = (x - self.x0 as f64).clamp(0.0, self.width as f64);
            (x, (y - self.y0 as f64).clamp(0.0, self.height as f64))
        };
        let (a, b) = (place(from), place(to));
        if !(a.1.is_finite() && b.1.is_finite() && a.0.is_finite() && b.0.is_finite()) || a.1 == b.1 {
            return;
        }
        let (sign, top, bottom) = if a.1 < b.1 { (1.0, a, b) } else { (-1.0, b, a) };
        let slope = (bottom.0 - top.0) / (bottom.1 - top.1);
        let mut x = top.0;
        for row in top.1 as usize..(bottom.1.ceil() as usize).min(self.height) {
            let tall = (bottom.1.min(row as f64 + 1.0) - top.1.max(row as f64)).max(0.0);
            let next = (x + slope * tall).clamp(0.0, self.width as f64);
            let start = row * (self.width + 2);
            spread(&mut self.change[start..start + self.width + 2], x.min(next), x.max(next), sign * tall);
            x = next;
        }
    }

    /// Calls `paint(x, y, share)` for every pixel of the image that is covered.
    fn for_each(&self, mut paint: impl FnMut(usize, usize, f64)) {
        for row in 0..self.height {
            let mut sum = 0.0;
            for column in 0..self.width {
                sum += self.change[row * (self.width + 2) + column];
                let share = f64::from(sum.abs().min(1.0));
                if share > 1e-3 {
                    paint(self.x0 as usize + column, self.y0 as usize + row, share);
                }
            }
        }
    }
}

/// Spreads the coverage `d` of an edge that crosses one row between x0 and x1 over the pixels to its right.
fn spread(row: &mut [f32], x0: f64, x1: f64, d: f64) {
    let first = x0.floor() as usize;
    let end = x1.ceil() as usize;
    if end <= first + 1 {
        let inside = 0.5 * (x0 + x1) - first as f64;
        row[first] += (d * (1.0 - inside)) as f32;
        row[first + 1] += (d * inside) as f32;
        return;
    }
    // The share of the row that lies right of the edge, pixel by pixel, is the integral of a ramp.
    let slope = 1.0 / (x1 - x0);
    let area_left_of = |x: f64| 0.5 * slope * (x - x0).clamp(0.0, x1 - x0).powi(2) + (x - x1).max(0.0);
    let mut covered_before = 0.0;
    for pixel in first..=end {
        let covered = area_left_of(pixel as f64 + 1.0) - area_left_of(pixel as f64);
        row[pixel] += (d * (covered - covered_before)) as f32;
        covered_before = covered;
    }
}

fn circle(centre: Point, radius: f64) -> impl Iterator<Item = Point> + Clone {
    let corners = (radius * 4.0).clamp(8.0, 64.0) as usize;
    (0..corners).map(move |i| {
        // Falling angles: the same turn as the boxes of `stroke_into`.
        let angle = -std::f64::consts::TAU * i as f64 / corners as f64;
        (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
    })
}

impl Raster {
    /// A white image for a figure of the given size in figure pixels, with `scale` device pixels each.
    pub fn new((width, height): (f64, f64), scale: f64) -> Self {
        let (width, height) = ((width * scale) as u32, (height * scale) as u32);
        Raster { width, height, rgb: vec![255; width as usize * height as usize * 3], scale }
    }

    fn device(&self, points: &[Point]) -> Vec<Point> {
        points.iter().map(|&(x, y)| (x * self.scale, y * self.scale)).collect()
    }

    fn blend(&mut self, coverage: &Coverage, ink: Ink) {
        let width = self.width as usize;
        coverage.for_each(|x, y, share| blend_pixel(&mut self.rgb[(y * width + x) * 3..][..3], ink, share));
    }

    fn stroke(&mut self, points: &[Point], ink: Ink, width: f64) {
        // Thinner than one device pixel would only look grey.
        let half = (width * self.scale).max(1.0) / 2.0;
        let Some(mut coverage) = Coverage::around(points, half + 1.0, (self.width, self.height)) else { return };
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let length = (x1 - x0).hypot(y1 - y0);
            if length > 0.0 {
                let (nx, ny) = (-(y1 - y0) / length * half, (x1 - x0) / length * half);
                let corners = [(x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny)];
                coverage.add(corners.into_iter());
            }
        }
        if half > 0.75 {
            for &joint in points.iter().skip(1).take(points.len().saturating_sub(2)) {
                coverage.add(circle(joint, half));
            }
        }
        self.blend(&coverage, ink);
    }
}

fn blend_pixel(pixel: &mut [u8], ink: Ink, share: f64) {
    let weight = (share * ink.alpha).clamp(0.0, 1.0);
    for (old, new) in pixel.iter_mut().zip([ink.rgb.0, ink.rgb.1, ink.rgb.2]) {
        *old = (f64::from(*old) * (1.0 - weight) + f64::from(new) * weight).round() as u8;
    }
}

/// The pieces of a polyline that a dash pattern (on, off) leaves.
fn dashes(points: &[Point], on: f64, off: f64) -> Vec<Vec<Point>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Point> = points.first().copied().into_iter().collect();
    let (mut drawing, mut left) = (true, on.max(0.1));
    for pair in points.windows(2) {
        let ((mut x, mut y), (x1, y1)) = (pair[0], pair[1]);
        let mut length = (x1 - x).hypot(y1 - y);
        while length > left {
            (x, y) = (x + (x1 - x) * left / length, y + (y1 - y) * left / length);
            length -= left;
            if drawing {
                piece.push((x, y));
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![(x, y)];
            }
            drawing = !drawing;
            left = if drawing { on.max(0.1) } else { off.max(0.1) };
        }
        left -= length;
        if drawing {
            piece.push((x1, y1));
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

impl Surface for Raster {
    fn polyline(&mut self, points: &[Point], stroke: Stroke) {
        let points = self.device(points);
        match stroke.dash {
            None => self.stroke(&points, stroke.ink, stroke.width),
            Some((on, off)) => {
                for piece in dashes(&points, on * self.scale, off * self.scale) {
                    self.stroke(&piece, stroke.ink, stroke.width);
                }
            }
        }
    }

    fn polygon(&mut self, points: &[Point], ink: Ink) {
        let points = self.device(points);
        if let Some(mut coverage) = Coverage::around(&points, 0.0, (self.width, self.height)) {
            coverage.add(points.iter().copied());
            self.blend(&coverage, ink);
        }
    }

    fn circles(&mut self, centres: &[Point], radius: f64, ink: Ink) {
        let radius = radius * self.scale;
        for centre in self.device(centres) {
            if let Some(mut coverage) = Coverage::around(&[centre], radius + 1.0, (self.width, self.height)) {
                coverage.add(circle(centre, radius));
                self.blend(&coverage, ink);
            }
        }
    }

    fn cells(&mut self, cells: &[(f64, f64, f64, f64, Ink)]) {
        let (columns, rows) = (f64::from(self.width), f64::from(self.height));
        let (width, scale) = (self.width as usize, self.scale);
        for &(x, y, w, h, ink) in cells {
            // Whole pixels, so that neighbours neither overlap nor leave a seam.
            let edge = |v: f64, most: f64| (v * scale).round().clamp(0.0, most) as usize;
            for row in edge(y, rows)..edge(y + h, rows) {
                for column in edge(x, columns)..edge(x + w, columns) {
                    blend_pixel(&mut self.rgb[(row * width + column) * 3..][..3], ink, 1.0);
                }
            }
        }
    }

    fn image(&mut self, (x, y): Point, side: f64, pixels: &Pixels) {
        // Cells land on whole device pixels, whatever `side` is.
        for (i, [r, g, b]) in pixels.rgb.as_chunks().0.iter().enumerate() {
            let (column, row) = ((i % pixels.width) as f64, (i / pixels.width) as f64);
            self.cells(&[(x + column * side, y + row * side, side, side, Ink::new(*r, *g, *b))]);
        }
    }

    fn text(&mut self, text: &str, (x, y): Point, size: f64, ink: Ink, align: Align, upward: bool) {
        let text = clean(text);
        let fine = self.scale * f64::from(TEXT_OVERSAMPLING);
        let shift = match align {
            Align::Start => 0.0,
            Align::Middle => -text_width(&text, size) / 2.0,
            Align::End => -text_width(&text, size),
        };
        let Some((columns, rows, share)) = glyphs(&text, size * fine, shift * fine, (x * fine, y * fine), upward)
        else {
            return;
        };
        let width = self.width as usize;
        for (row, y) in (rows.0..rows.1).enumerate() {
            for (column, x) in (columns.0..columns.1).enumerate() {
                let share = share[row * (columns.1 - columns.0) as usize + column];
                if share > 0.0 && (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y) {
                    blend_pixel(
                        &mut self.rgb[(y as usize * width + x as usize) * 3..][..3],
                        ink,
                        f64::from(share.min(1.0)),
                    );
                }
            }
        }
    }
}

/// Coverage by a line of text in device pixels: column range, row range and shares in row-major order.
type Glyphs = ((i64, i64), (i64, i64), Vec<f32>);

/// Rasterizes at `em` fine pixels with the baseline's start at `origin` moved by `shift` along the text.
fn glyphs(text: &str, em: f64, shift: f64, origin: Point, upward: bool) -> Option<Glyphs> {
    let desc = font(em);
    // The rasterizer puts the baseline half of its size below the given point.
    let baseline = (desc.get_size() / 2.0) as i32;
    let mut dots: Vec<(i64, i64, f32)> = Vec::new();
    let (x0, y0) = (origin.0.round() as i64, origin.1.round() as i64);
    let shift = shift.round() as i64;
    let mut pen = 0.0;
    for c in text.chars() {
        let mut letter = [0u8; 4];
        let letter: &str = c.encode_utf8(&mut letter);
        let bearing = super::bearing::left_bearing(c) * em;
        let start = (pen + bearing).round() as i64 + shift;
        let drawn = desc.draw(letter, (0, -baseline), |x, y, share| {
            let (along, down) = (i64::from(x) + start, i64::from(y));
            let (x, y) = if upward { (x0 + down, y0 - along) } else { (x0 + along, y0 + down) };
            let fine = i64::from(TEXT_OVERSAMPLING);
            dots.push((x.div_euclid(fine), y.div_euclid(fine), share));
            Ok::<(), std::convert::Infallible>(())
        });
        if drawn.is_err() {
            return None;
        }
        pen += text_width(letter, em);
    }
    let columns = (dots.iter().map(|d| d.0).min()?, dots.iter().map(|d| d.0).max()? + 1);
    let rows = (dots.iter().map(|d| d.1).min()?, dots.iter().map(|d| d.1).max()? + 1);
    let width = (columns.1 - columns.0) as usize;
    let mut share = vec![0.0; width * (rows.1 - rows.0) as usize];
    let one = 1.0 / (TEXT_OVERSAMPLING * TEXT_OVERSAMPLING) as f32;
    for (x, y, part) in dots {
        share[(y - rows.0) as usize * width + (x - columns.0) as usize] += part * one;
    }
    Some((columns, rows, share))
}
