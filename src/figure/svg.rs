//! The SVG surface: plain elements with the shared style in attributes, no script, no reference to anything outside.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::pixels::Pixels;
use super::surface::{Align, FAMILY, Ink, Point, Stroke, Surface, clean, escape};

/// Collects SVG elements; `finish` gives the document.
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

fn colour(ink: Ink) -> String {
    let (r, g, b) = ink.rgb;
    format!("#{r:02x}{g:02x}{b:02x}")
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

impl Svg {
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        Svg { width, height, title: clean(title), body: String::new() }
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
}

impl Surface for Svg {
    fn polyline(&mut self, points: &[Point], stroke: Stroke) {
        if points.len() < 2 {
            return;
        }
        let dash =
            stroke.dash.map(|(on, off)| format!(" stroke-dasharray=\"{} {}\"", Num(on), Num(off))).unwrap_or_default();
        self.push(format_args!(
            "<polyline fill=\"none\" stroke=\"{}\" stroke-opacity=\"{}\" stroke-width=\"{}\"{dash} points=\"{}\"/>\n",
            colour(stroke.ink),
            Num(stroke.ink.alpha),
            Num(stroke.width),
            points_of(points),
        ));
    }

    fn polygon(&mut self, points: &[Point], ink: Ink) {
        if points.len() < 3 {
            return;
        }
        let (fill, alpha) = (colour(ink), Num(ink.alpha));
        self.push(format_args!(
            "<polygon fill=\"{fill}\" fill-opacity=\"{alpha}\" points=\"{}\"/>\n",
            points_of(points)
        ));
    }

    fn circles(&mut self, centres: &[Point], radius: f64, ink: Ink) {
        if centres.is_empty() {
            return;
        }
        self.push(format_args!("<g fill=\"{}\" fill-opacity=\"{}\">\n", colour(ink), Num(ink.alpha)));
        for &(x, y) in centres {
            self.push(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", Num(x), Num(y), Num(radius)));
        }
        self.push(format_args!("</g>\n"));
    }

    fn cells(&mut self, cells: &[(f64, f64, f64, f64, Ink)]) {
        if cells.is_empty() {
            return;
        }
        // One path a colour keeps the file small.
        let mut paths: BTreeMap<(u8, u8, u8), String> = BTreeMap::new();
        for &(x, y, width, height, ink) in cells {
            let path = paths.entry(ink.rgb).or_default();
            let _ = write!(path, "M{} {}h{}v{}h{}z", Num(x), Num(y), Num(width), Num(height), Num(-width));
        }
        // Crisp edges keep neighbouring cells from showing a seam.
        self.push(format_args!("<g shape-rendering=\"crispEdges\">\n"));
        for ((r, g, b), path) in paths {
            self.push(format_args!("<path fill=\"{}\" d=\"{path}\"/>\n", colour(Ink::new(r, g, b))));
        }
        self.push(format_args!("</g>\n"));
    }

    fn image(&mut self, (x, y): Point, side: f64, pixels: &Pixels) {
        let Some(uri) = pixels.data_uri() else { return };
        let (width, height) = (pixels.width as f64 * side, pixels.height as f64 * side);
        // The last word that a viewer knows wins; all mean squares, not a blur.
        let squares = "image-rendering:optimizeSpeed;image-rendering:crisp-edges;image-rendering:pixelated";
        self.push(format_args!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"{squares}\" href=\"{uri}\"/>\n",
            Num(x),
            Num(y),
            Num(width),
            Num(height),
        ));
    }

    fn text(&mut self, text: &str, (x, y): Point, size: f64, ink: Ink, align: Align, upward: bool) {
        let anchor = match align {
            Align::Start => "start",
            Align::Middle => "middle",
            Align::End => "end",
        };
        let turn = if upward { format!(" transform=\"rotate(-90 {} {})\"", Num(x), Num(y)) } else { String::new() };
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\"{turn}>{}</text>\n",
            Num(x),
            Num(y),
            Num(size),
            colour(ink),
            escape(&clean(text)),
        ));
    }
}
