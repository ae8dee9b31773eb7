//! Title, subtitle and legend above the plots: a legend never covers data.

use super::palette::{MUTED, TEXT, WHITE};
use super::plot::{Marker, draw_marker};
use super::svg::{Align, Ink, Rect, Stroke, Svg};
use super::text::{fit_text, text_width};

const TITLE_SIZE: f64 = 17.0;
const SUBTITLE_SIZE: f64 = 12.0;
const ENTRY_SIZE: f64 = 12.0;
const SYMBOL: f64 = 26.0;
const ROW: f64 = 19.0;
/// More rows than this would leave too little room for the data.
const MOST_ROWS: usize = 5;
pub const MARGIN: f64 = 16.0;

#[derive(Debug, Clone, Copy)]
pub enum Symbol {
    Line(Stroke),
    /// A line within its band.
    Band(Stroke, Ink),
    Patch(Ink),
    Point(Marker, f64, Ink, Ink),
    /// A line with points on it.
    Dotted(Stroke, Marker),
    /// The frame of an image, with a cross at its corner or without.
    Frame(Stroke, bool),
}

pub struct Entry {
    pub symbol: Symbol,
    pub label: String,
}

pub fn entry(symbol: Symbol, label: impl Into<String>) -> Entry {
    Entry { symbol, label: label.into() }
}

/// Draws the head of a figure `width` wide and returns the y below it.
pub fn draw_head(s: &mut Svg, width: f64, title: &str, subtitle: &str, entries: &[Entry]) -> f64 {
    let room = width - 2.0 * MARGIN;
    // A long title first gets smaller, then shorter.
    let full = text_width(title, TITLE_SIZE);
    let size = if full > room { (TITLE_SIZE * room / full).max(12.5) } else { TITLE_SIZE };
    s.text(&fit_text(title, size, room), (MARGIN, 29.0), size, TEXT, Align::Start, false);
    let mut y = 37.0;
    if !subtitle.is_empty() {
        let text = fit_text(subtitle, SUBTITLE_SIZE, room);
        s.text(&text, (MARGIN, y + 12.0), SUBTITLE_SIZE, MUTED, Align::Start, false);
        y += 19.0;
    }
    let (placed, _) = arrange(entries, room);
    for (entry, column, row, label) in placed {
        let middle = y + 11.0 + ROW * row as f64;
        draw_symbol(s, entry.symbol, MARGIN + column, middle);
        s.text(&label, (MARGIN + column + SYMBOL + 6.0, middle + 4.3), ENTRY_SIZE, TEXT, Align::Start, false);
    }
    head_height(width, subtitle, entries)
}

/// What `draw_head` returns, without drawing: for figures whose size depends on it.
pub fn head_height(width: f64, subtitle: &str, entries: &[Entry]) -> f64 {
    let rows = arrange(entries, width - 2.0 * MARGIN).1;
    let words = if subtitle.is_empty() { 37.0 } else { 56.0 };
    words + ROW * rows as f64 + if rows > 0 { 6.0 } else { 2.0 }
}

/// Where each entry stands (x, row, label as drawn) and how many rows there are.
fn arrange(entries: &[Entry], room: f64) -> (Vec<(&Entry, f64, usize, String)>, usize) {
    let mut placed = Vec::new();
    let (mut x, mut row) = (0.0, 0);
    for (i, entry) in entries.iter().enumerate() {
        let label = fit_text(&entry.label, ENTRY_SIZE, (room * 0.6).min(340.0));
        let wide = SYMBOL + 6.0 + text_width(&label, ENTRY_SIZE) + 20.0;
        if x > 0.0 && x + wide - 20.0 > room && row + 1 < MOST_ROWS {
            (x, row) = (0.0, row + 1);
        }
        let left = entries.len() - i;
        // In the last row an entry that is not the last of all leaves room for these words.
        let needed = if left > 1 { x + wide + 110.0 } else { x + wide - 20.0 };
        if row + 1 == MOST_ROWS && x > 0.0 && needed > room {
            placed.push((entry, x, row, format!("and {left} more")));
            break;
        }
        placed.push((entry, x, row, label));
        x += wide;
    }
    let rows = placed.last().map_or(0, |p| p.2 + 1);
    (placed, rows)
}

fn draw_symbol(s: &mut Svg, symbol: Symbol, x: f64, y: f64) {
    let line = [(x, y), (x + SYMBOL, y)];
    let block = Rect { left: x, top: y - 6.0, right: x + SYMBOL, bottom: y + 6.0 };
    match symbol {
        Symbol::Line(stroke) => s.polyline(&line, stroke),
        Symbol::Band(stroke, ink) => {
            s.rect(block, ink);
            s.polyline(&line, stroke);
        }
        Symbol::Patch(ink) => s.rect(block, ink),
        Symbol::Point(marker, radius, ink, edge) => draw_marker(s, (x + SYMBOL / 2.0, y), marker, radius, ink, edge),
        Symbol::Dotted(stroke, marker) => {
            s.polyline(&line, stroke);
            draw_marker(s, (x + SYMBOL / 2.0, y), marker, 3.4, stroke.ink, WHITE);
        }
        Symbol::Frame(stroke, crossed) => {
            let (middle, half) = (x + SYMBOL / 2.0, 6.5);
            let area = Rect { left: middle - half, top: y - half, right: middle + half, bottom: y + half };
            s.outline(area, stroke);
            if crossed {
                draw_marker(s, (area.right, area.top), Marker::Cross, 5.0, stroke.ink, WHITE);
            }
        }
    }
}
