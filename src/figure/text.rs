//! The one font that the program carries, how wide a line of text is in it, and text made fit for a figure and a page.

use std::sync::OnceLock;

use crate::base::font;
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::{FontRef, MetadataProvider};

/// The name in `font::SANS`.
pub const FONT_NAME: &str = "DejaVu Sans";
/// The families that an SVG names: a browser without the first takes one that is about as wide.
pub const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";
/// Capitals of DejaVu Sans are 0.73 em high: a baseline this far below a centre puts them in the middle.
pub const HALF_CAP: f64 = 0.36;
/// Width in em of a character that the font does not tell.
const USUAL_ADVANCE: f64 = 0.6;

/// Width of one line of text in pixels at `em` pixels: the sum of its advances. Kerning, which a renderer adds, moves it by a
/// hundredth or two.
pub fn text_width(text: &str, em: f64) -> f64 {
    static METRICS: OnceLock<Option<(Charmap<'static>, GlyphMetrics<'static>)>> = OnceLock::new();
    let metrics = METRICS.get_or_init(|| {
        let font = FontRef::new(font::SANS).ok()?;
        Some((font.charmap(), font.glyph_metrics(Size::new(1.0), LocationRef::default())))
    });
    let advance = |c: char| {
        let (map, glyphs) = metrics.as_ref()?;
        glyphs.advance_width(map.map(c).unwrap_or_default()).map(f64::from)
    };
    em * text.chars().map(|c| advance(c).unwrap_or(USUAL_ADVANCE)).sum::<f64>()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Advances of DejaVu Sans in 2048ths of an em: l 569, o 1253; a smiling face it does not have.
    #[test]
    fn widths_are_those_of_the_font() {
        assert!((text_width("lo", 2048.0) - (569.0 + 1253.0)).abs() < 1e-3, "{}", text_width("lo", 2048.0));
        assert_eq!(text_width("", 12.0), 0.0);
        assert!(text_width("\u{1f600}", 12.0) > 0.0);
    }

    #[test]
    fn a_text_too_wide_ends_in_an_ellipsis_that_fits() {
        let text = "a text of\nmany words\u{0} and letters";
        assert_eq!(fit_text(text, 12.0, 1e3), "a text of many words and letters");
        let short = fit_text(text, 12.0, 80.0);
        assert!(short.ends_with('…') && text_width(&short, 12.0) <= 80.0 && text_width(&short, 12.0) > 60.0, "{short}");
        assert_eq!(fit_text(text, 12.0, 1.0), "");
    }
}
