//! What a figure is drawn on: a handful of shapes in figure pixels (y down, fractions allowed), and the text
//! measure that layouts rely on. `svg` and `raster` implement it, so that one drawing function gives both files.

use std::sync::OnceLock;

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};

use super::pixels::Pixels;

/// A point in figure pixels.
pub type Point = (f64, f64);

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

/// The shapes a figure is made of. Points that are not finite are left out by the caller (`Plot`).
pub trait Surface {
    fn polyline(&mut self, points: &[Point], stroke: Stroke);
    fn polygon(&mut self, points: &[Point], ink: Ink);
    fn circles(&mut self, centres: &[Point], radius: f64, ink: Ink);
    /// Axis-aligned cells drawn edge to edge, as in a heat map: (x, y, width, height, ink).
    fn cells(&mut self, cells: &[(f64, f64, f64, f64, Ink)]);
    /// A picture from `at` (above, left) on, each of its pixels a square of `side` figure pixels; halves stay sharp in the
    /// bitmap.
    fn image(&mut self, at: Point, side: f64, pixels: &Pixels);
    /// `at` is on the baseline. `upward` turns the text by 90 degrees so that it reads from bottom to top.
    fn text(&mut self, text: &str, at: Point, size: f64, ink: Ink, align: Align, upward: bool);
}

/// The family named in the SVG; the embedded font is registered under the same name for the bitmap.
pub const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";
pub const FONT: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/DejaVuSans.ttf"));
/// Pixel height (ascent to descent) of DejaVu Sans per em: what the glyph rasterizer calls the size.
const HEIGHT_PER_EM: f64 = 2384.0 / 2048.0;
/// Capitals of DejaVu Sans are 0.73 em high: a baseline this far below a centre puts them in the middle.
pub const HALF_CAP: f64 = 0.36;

/// The embedded font at `em` pixels, independent of what the machine has installed.
pub fn font(em: f64) -> FontDesc<'static> {
    static REGISTERED: OnceLock<()> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        // A font that cannot be read leaves the bitmap without text; the SVG still has it.
        let _ = register_font(FAMILY, FontStyle::Normal, FONT);
    });
    FontDesc::new(FontFamily::Name(FAMILY), em * HEIGHT_PER_EM, FontStyle::Normal)
}

/// Width of one line of text in pixels at `em` pixels.
pub fn text_width(text: &str, em: f64) -> f64 {
    const MEASURED_EM: f64 = 100.0;
    let fallback = 0.6 * MEASURED_EM * text.chars().count() as f64;
    let width = font(MEASURED_EM).layout_box(text).map_or(fallback, |((x0, _), (x1, _))| f64::from(x1 - x0));
    width * em / MEASURED_EM
}

/// The text in one line without control characters, shortened with an ellipsis to fit `width` pixels.
pub fn fit_text(text: &str, em: f64, width: f64) -> String {
    let clean = clean(text);
    if text_width(&clean, em) <= width {
        return clean;
    }
    // Far more characters than fit need not be measured one by one.
    let mut short: Vec<char> = clean.chars().take((width / em * 5.0).max(1.0) as usize).collect();
    while !short.is_empty() {
        short.pop();
        let candidate: String = short.iter().collect::<String>().trim_end().to_owned() + "…";
        if text_width(&candidate, em) <= width {
            return candidate;
        }
    }
    String::new()
}

/// One line, no control characters (XML 1.0 forbids them), no runs of blanks.
pub fn clean(text: &str) -> String {
    let printable: String =
        text.chars().map(|c| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c }).collect();
    printable.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text as XML or HTML content or attribute value.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
