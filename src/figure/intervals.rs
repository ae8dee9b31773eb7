//! Means with error bars in rows: one row per category, one mark per series, so that methods can be compared set by set.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, Tick, extent, padded, usable};
use super::legend::{MARGIN, Symbol, draw_head, entry};
use super::numbers::{Cell, Numbers, at, named};
use super::palette::{FRAME, WHITE, series};
use super::plot::{LABEL_SIZE, MARKERS, Marker, Plot, REFERENCE, draw_marker, tick_width};
use super::save::{Figure, save};
use super::svg::{Ink, Rect, Stroke, Svg};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalsFigure {
    pub title: String,
    pub x_label: String,
    /// What the bars are.
    pub note: String,
    /// Names of the rows, from above.
    pub rows: Vec<String>,
    /// A line at 0, to which the values are differences.
    pub zero: bool,
    pub series: Vec<IntervalsSeries>,
}

/// `middle` and `half_width` (the length of a bar to either side) have one value per row; NaN leaves one out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalsSeries {
    pub name: String,
    pub middle: Vec<f64>,
    pub half_width: Vec<f64>,
    /// Rings instead of filled marks: a second kind of series, such as the numbers of others.
    pub hollow: bool,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn intervals(dir: &Path, stem: &str, figure: &IntervalsFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

const WIDTH: f64 = 900.0;
/// Height of a mark's place in its row.
const MARK_HEIGHT: f64 = 9.0;
/// Share of a row that its marks fill.
const FILLED_SHARE: f64 = 0.8;

/// A second round through the colours has other markers.
fn marker(i: usize) -> Marker {
    MARKERS[(i + i / 8) % MARKERS.len()]
}

impl IntervalsSeries {
    /// Radius, colour and edge of the marks of the i-th series.
    fn mark(&self, i: usize, radius: f64) -> (f64, Ink, Ink) {
        if self.hollow { (radius - 1.0, WHITE, series(i)) } else { (radius, series(i), WHITE) }
    }
}

impl IntervalsFigure {
    fn legend(&self) -> Vec<super::legend::Entry> {
        let symbol = |i: usize, one: &IntervalsSeries| {
            let (radius, ink, edge) = one.mark(i, 4.0);
            Symbol::Point(marker(i), radius, ink, edge)
        };
        self.series.iter().enumerate().map(|(i, s)| entry(symbol(i, s), s.name.as_str())).collect()
    }

    fn plot_height(&self) -> f64 {
        let row = (self.series.len() as f64 * MARK_HEIGHT / FILLED_SHARE).max(26.0);
        (row * self.rows.len().max(1) as f64).clamp(120.0, 2400.0)
    }

    fn head(&self) -> f64 {
        super::legend::head_height(WIDTH, &self.note, &self.legend())
    }
}

impl Figure for IntervalsFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (f64, f64) {
        (WIDTH, self.head() + 4.0 + self.plot_height() + 52.0)
    }

    fn numbers(&self) -> Numbers {
        let mut numbers =
            Numbers::new(["series".into(), "row".into(), named("middle", &self.x_label), "half_width".into()]);
        for one in &self.series {
            for (i, row) in self.rows.iter().enumerate() {
                let cells: [Cell; 2] = [at(&one.middle, i), at(&one.half_width, i)];
                let [middle, half] = cells;
                numbers.push(vec![(&one.name).into(), row.into(), middle, half]);
            }
        }
        numbers
    }

    fn draw(&self, s: &mut Svg) {
        let (width, height) = self.size();
        let top = draw_head(s, width, &self.title, &self.note, &self.legend()) + 4.0;
        let n = self.rows.len().max(1);
        // Rows go down, the axis goes up: row i lies at n - 1 - i.
        let mut y = Axis::linear(-0.5, n as f64 - 0.5, 2);
        let tick = |(i, name): (usize, &String)| Tick { value: (n - 1 - i) as f64, label: name.clone() };
        y.ticks = self.rows.iter().enumerate().map(tick).collect();
        let ends = |one: &IntervalsSeries| -> Vec<f64> {
            let half = |i: usize| one.half_width.get(i).copied().filter(|h| usable(*h)).unwrap_or(0.0);
            let each = one.middle.iter().enumerate().filter(|(_, m)| usable(**m));
            each.flat_map(|(i, m)| [m - half(i), m + half(i)]).collect()
        };
        let zero = self.zero.then_some(0.0);
        let limits = extent(self.series.iter().flat_map(ends).chain(zero));
        let (low, high) = padded(limits.unwrap_or((0.0, 1.0)), 0.04);
        let left = MARGIN + LABEL_SIZE + tick_width(&y);
        let area = Rect { left, top, right: width - MARGIN - 8.0, bottom: height - 52.0 };
        let plot = Plot { area, x: Axis::linear(low, high, 10), y };
        plot.draw_grid(s);
        for i in 1..n {
            let edge = i as f64 - 0.5;
            plot.line(s, &[low, high], &[edge, edge], Stroke::solid(FRAME.alpha(0.5), 1.0));
        }
        if self.zero {
            plot.line(s, &[0.0, 0.0], &[-0.5, n as f64 - 0.5], REFERENCE);
        }
        let step = FILLED_SHARE / self.series.len().max(1) as f64;
        for (k, one) in self.series.iter().enumerate() {
            for (i, &middle) in one.middle.iter().enumerate().filter(|(i, m)| *i < n && usable(**m)) {
                let at = (n - 1 - i) as f64 + FILLED_SHARE / 2.0 - step * (k as f64 + 0.5);
                if let Some(&half) = one.half_width.get(i).filter(|h| usable(**h)) {
                    plot.line(s, &[middle - half, middle + half], &[at, at], Stroke::solid(series(k), 1.6));
                }
                if let Some(place) = plot.place(middle, at) {
                    let (radius, ink, edge) = one.mark(k, 3.4);
                    draw_marker(s, place, marker(k), radius, ink, edge);
                }
            }
        }
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, &self.x_label);
        if limits.is_none() || self.series.is_empty() || self.rows.is_empty() {
            plot.draw_no_data(s);
        }
    }
}
