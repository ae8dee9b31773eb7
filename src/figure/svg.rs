//! The canvas of a figure: an SVG of plain shapes in figure pixels (y down, fractions allowed) with their looks in
//! attributes, no script, no reference to anything outside. The bitmap (`png`) is this text, drawn.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::pixels::Pixels;
use super::text::{FAMILY, clean, escape};

/// A point in figure pixels.
pub type Point = (f64, f64);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub fn width(&self) -> f64 {
        self.right - self.left
    }
    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }
    pub fn middle(&self) -> Point {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }
    /// Wider by `by` on every side.
    pub fn grown(&self, by: f64) -> Rect {
        Rect { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }
}

/// A colour with its opacity in 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ink {
    pub rgb: (u8, u8, u8),
    pub alpha: f64,
}

impl Ink {
    pub const fn new(r: u8, g: u8, b: u8) -> Self {
        Ink { rgb: (r, g, b), alpha: 1.0 }
    }
    pub const fn alpha(self, alpha: f64) -> Self {
        Ink { rgb: self.rgb, alpha }
    }
    /// "#0072b2": how an SVG writes the colour, without its opacity.
    pub fn hex(self) -> String {
        let (r, g, b) = self.rgb;
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// The text of an SVG with the colours of a dark ground in place of those that would blind or vanish there.
pub fn on_dark(svg: &str) -> String {
    let swap = |text: String, (light, dark): (Ink, Ink)| {
        text.replace(&format!("\"{}\"", light.hex()), &format!("\"{}\"", dark.hex()))
    };
    super::palette::DARK.into_iter().fold(svg.to_string(), swap)
}

/// How a line is drawn; `dash` is (on, off) in figure pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    pub ink: Ink,
    pub width: f64,
    pub dash: Option<(f64, f64)>,
}

impl Stroke {
    pub const fn solid(ink: Ink, width: f64) -> Self {
        Stroke { ink, width, dash: None }
    }
    pub const fn dashed(ink: Ink, width: f64, on: f64, off: f64) -> Self {
        Stroke { ink, width, dash: Some((on, off)) }
    }
}

/// Which point of a text lies at the given place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Start,
    Middle,
    End,
}

/// Collects the elements; `finish` gives the document. Points that are not finite are left out by the caller (`Plot`).
pub struct Svg {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

/// Coordinates carry two decimals: a hundredth of a pixel is beyond what a printer resolves.
struct Num(f64);

impl std::fmt::Display for Num {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // Adding zero turns -0 into 0.
        write!(f, "{}", rounded + 0.0)
    }
}

/// The attributes of a colour; `part` is "fill" or "stroke".
fn paint(part: &str, ink: Ink) -> String {
    let opacity = if ink.alpha < 1.0 { format!(" {part}-opacity=\"{}\"", Num(ink.alpha)) } else { String::new() };
    format!("{part}=\"{}\"{opacity}", ink.hex())
}

fn pen(stroke: Stroke) -> String {
    let dash = stroke.dash.map(|(on, off)| format!(" stroke-dasharray=\"{} {}\"", Num(on), Num(off)));
    let ink = paint("stroke", stroke.ink);
    format!("fill=\"none\" {ink} stroke-width=\"{}\"{}", Num(stroke.width), dash.unwrap_or_default())
}

fn points_of(points: &[Point]) -> String {
    let mut out = String::with_capacity(points.len() * 14);
    for (i, &(x, y)) in points.iter().enumerate() {
        let gap = if i == 0 { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(out, "{gap}{},{}", Num(x), Num(y));
    }
    out
}

fn sides(area: Rect) -> String {
    let (x, y) = (Num(area.left), Num(area.top));
    format!("x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"", Num(area.width()), Num(area.height()))
}

impl Svg {
    /// An empty figure on white, `width` by `height` figure pixels.
    pub fn new((width, height): (f64, f64), title: &str) -> Self {
        let mut svg = Svg { width, height, title: clean(title), body: String::new() };
        svg.rect(Rect { left: 0.0, top: 0.0, right: width, bottom: height }, super::palette::WHITE);
        svg
    }

    pub fn finish(self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
             font-family=\"{FAMILY}\" stroke-linejoin=\"round\">\n<title>{}</title>\n{}</svg>\n",
            escape(&self.title),
            self.body,
            w = Num(self.width),
            h = Num(self.height),
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
    }

    pub fn polyline(&mut self, points: &[Point], stroke: Stroke) {
        if points.len() > 1 {
            self.push(format_args!("<polyline {} points=\"{}\"/>\n", pen(stroke), points_of(points)));
        }
    }

    pub fn polygon(&mut self, points: &[Point], ink: Ink) {
        if points.len() > 2 {
            self.push(format_args!("<polygon {} points=\"{}\"/>\n", paint("fill", ink), points_of(points)));
        }
    }

    pub fn rect(&mut self, area: Rect, ink: Ink) {
        self.push(format_args!("<rect {} {}/>\n", paint("fill", ink), sides(area)));
    }

    /// The edge of a rectangle, half of the stroke on each side of it.
    pub fn outline(&mut self, area: Rect, stroke: Stroke) {
        self.push(format_args!("<rect {} stroke-linejoin=\"miter\" {}/>\n", pen(stroke), sides(area)));
    }

    pub fn circles(&mut self, centres: &[Point], radius: f64, ink: Ink) {
        if centres.is_empty() {
            return;
        }
        self.push(format_args!("<g {}>\n", paint("fill", ink)));
        for &(x, y) in centres {
            self.push(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", Num(x), Num(y), Num(radius)));
        }
        self.push(format_args!("</g>\n"));
    }

    /// Opaque rectangles drawn edge to edge, as in a heat map.
    pub fn cells(&mut self, cells: &[(Rect, Ink)]) {
        if cells.is_empty() {
            return;
        }
        // One path per colour keeps the file small.
        let mut paths: BTreeMap<(u8, u8, u8), String> = BTreeMap::new();
        for &(area, ink) in cells {
            let path = paths.entry(ink.rgb).or_default();
            let (width, height) = (area.width(), area.height());
            let _ =
                write!(path, "M{} {}h{}v{}h{}z", Num(area.left), Num(area.top), Num(width), Num(height), Num(-width));
        }
        // Crisp edges keep neighbouring cells from showing a seam.
        self.push(format_args!("<g shape-rendering=\"crispEdges\">\n"));
        for ((r, g, b), path) in paths {
            self.push(format_args!("<path fill=\"{}\" d=\"{path}\"/>\n", Ink::new(r, g, b).hex()));
        }
        self.push(format_args!("</g>\n"));
    }

    /// A picture from `at` (above, left) on, each of its pixels a square of `side` figure pixels; halves stay sharp in the
    /// bitmap.
    pub fn image(&mut self, (left, top): Point, side: f64, pixels: &Pixels) {
        let Some(uri) = pixels.data_uri() else { return };
        let (right, bottom) = (left + pixels.width as f64 * side, top + pixels.height as f64 * side);
        // The last word that a viewer knows wins; all mean squares, not a blur.
        let squares = "image-rendering:optimizeSpeed;image-rendering:crisp-edges;image-rendering:pixelated";
        let place = sides(Rect { left, top, right, bottom });
        self.push(format_args!("<image {place} style=\"{squares}\" href=\"{uri}\"/>\n"));
    }

    /// `at` is on the baseline. `upward` turns the text by 90 degrees so that it reads from bottom to top.
    pub fn text(&mut self, text: &str, (x, y): Point, size: f64, ink: Ink, align: Align, upward: bool) {
        let anchor = match align {
            Align::Start => "start",
            Align::Middle => "middle",
            Align::End => "end",
        };
        let turn = if upward { format!(" transform=\"rotate(-90 {} {})\"", Num(x), Num(y)) } else { String::new() };
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" {} text-anchor=\"{anchor}\"{turn}>{}</text>\n",
            Num(x),
            Num(y),
            Num(size),
            paint("fill", ink),
            escape(&clean(text)),
        ));
    }
}
