//! Means with error bars in rows, several panels beside each other: the same rows everywhere, an axis for each panel, and a
//! dashed line at the value that each series is measured by.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, Tick, extent, padded, quantile, usable};
use super::legend::{Entry, MARGIN, Symbol, draw_head, entry, head_height};
use super::numbers::{Cell, Numbers, at, named};
use super::palette::{BLACK, SKY, VERMILLION, WHITE};
use super::plot::{Marker, Plot, TICK_SIZE, draw_marker};
use super::save::{Figure, save};
use super::svg::{Ink, Rect, Stroke, Svg};
use super::text::text_width;
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotsFigure {
    pub title: String,
    /// What bars and lines are.
    pub note: String,
    pub x_label: String,
    /// Names of the rows, from above.
    pub rows: Vec<String>,
    /// Rows from above that stand on a ground of their own: those that the lines are the best of.
    pub marked: usize,
    /// One or two; the first is drawn as rings.
    pub series: Vec<String>,
    pub panels: Vec<DotsPanel>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotsPanel {
    pub title: String,
    /// As many as the figure's.
    pub series: Vec<DotsSeries>,
}

/// `middle` and `half` (the length of a bar to either side) have one value per row; NaN leaves one out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotsSeries {
    pub middle: Vec<f64>,
    pub half: Vec<f64>,
    /// Where its dashed line stands.
    pub line: Option<f64>,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn dots(dir: &Path, stem: &str, figure: &DotsFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

const WIDTH: f64 = 960.0;
const ROW: f64 = 17.0;
const COLUMNS: usize = 2;
/// Above a panel its title, below it the tick labels and the axis's name.
const ABOVE: f64 = 24.0;
const BELOW: f64 = 46.0;
const GAP: f64 = 26.0;
const GROUND: f64 = 0.14;
const INKS: [Ink; 2] = [BLACK, VERMILLION];
const MARKER_SHAPES: [Marker; 2] = [Marker::Circle, Marker::Diamond];

fn stroke(i: usize) -> Stroke {
    let (on, off) = if i == 0 { (6.0, 4.0) } else { (2.5, 3.0) };
    Stroke::dashed(INKS[i % 2], 1.3, on, off)
}

/// Radius, colour and edge of the marks of the i-th series.
fn mark(i: usize) -> (f64, Ink, Ink) {
    if i == 0 { (2.6, WHITE, INKS[0]) } else { (3.4, INKS[1], WHITE) }
}

/// Limits for all middles and lines. Bars may widen them, but not to more than twice the range of the middle nine tenths: one
/// method of a great sd may not press the others flat.
fn limits(panel: &DotsPanel) -> Option<(f64, f64)> {
    let middles: Vec<f64> = panel.series.iter().flat_map(|s| s.middle.iter().copied().chain(s.line)).collect();
    let (low, high) = extent(middles.iter().copied())?;
    let mut sorted: Vec<f64> = middles.into_iter().filter(|v| usable(*v)).collect();
    sorted.sort_by(f64::total_cmp);
    let core = (quantile(&sorted, 0.05)?, quantile(&sorted, 0.95)?);
    let reach = if core.1 > core.0 { 0.5 * (core.1 - core.0) } else { f64::INFINITY };
    let ends = panel.series.iter().flat_map(|s| {
        let pair = |(m, h): (&f64, &f64)| [(m - h).max(low - reach), (m + h).min(high + reach)];
        // NaN would pass for the limit itself.
        s.middle.iter().zip(&s.half).filter(|(m, h)| usable(**m) && usable(**h)).flat_map(pair)
    });
    extent(ends.chain([low, high]))
}

impl DotsFigure {
    fn legend(&self) -> Vec<Entry> {
        let mut out = vec![];
        for (i, name) in self.series.iter().enumerate().take(2) {
            let (radius, ink, edge) = mark(i);
            out.push(entry(Symbol::Point(MARKER_SHAPES[i], radius + 0.6, ink, edge), name.as_str()));
            if self.panels.iter().any(|p| p.series.get(i).is_some_and(|s| s.line.is_some())) {
                out.push(entry(Symbol::Line(stroke(i)), format!("best VIFO, {name}")));
            }
        }
        if self.marked > 0 {
            out.push(entry(Symbol::Patch(SKY.alpha(2.0 * GROUND)), "VIFO"));
        }
        out
    }

    fn panel_rows(&self) -> usize {
        self.panels.len().max(1).div_ceil(COLUMNS)
    }

    fn panel_height(&self) -> f64 {
        (ROW * self.rows.len().max(1) as f64).clamp(90.0, 1200.0)
    }

    fn draw_panel(&self, s: &mut Svg, panel: &DotsPanel, area: Rect, labels: bool) {
        let n = self.rows.len().max(1);
        // Rows go down, the axis goes up: row i lies at n - 1 - i.
        let mut y = Axis::linear(-0.5, n as f64 - 0.5, 2);
        let tick = |(i, name): (usize, &String)| Tick { value: (n - 1 - i) as f64, label: name.clone() };
        y.ticks = self.rows.iter().enumerate().map(tick).collect();
        let found = limits(panel);
        let (low, high) = padded(found.unwrap_or((0.0, 1.0)), 0.05);
        let plot = Plot { area, x: Axis::linear(low, high, (area.width() / 62.0) as usize), y };
        if self.marked > 0 {
            plot.bar(s, (low, high), (n as f64 - 0.5, n as f64 - 0.5 - self.marked as f64), SKY.alpha(GROUND));
        }
        plot.draw_grid(s);
        for (i, one) in panel.series.iter().enumerate().take(2) {
            if let Some(line) = one.line {
                plot.line(s, &[line, line], &[-0.5, n as f64 - 0.5], stroke(i));
            }
        }
        let both = panel.series.iter().filter(|one| one.middle.iter().any(|m| usable(*m))).count() > 1;
        for (i, one) in panel.series.iter().enumerate().take(2) {
            let shift = if both { 0.2 - 0.4 * i as f64 } else { 0.0 };
            for (row, &middle) in one.middle.iter().enumerate().filter(|(row, m)| *row < n && usable(**m)) {
                let height = (n - 1 - row) as f64 + shift;
                if let Some(&half) = one.half.get(row).filter(|h| usable(**h)) {
                    plot.line(s, &[middle - half, middle + half], &[height, height], Stroke::solid(INKS[i], 1.5));
                }
                if let Some(place) = plot.place(middle, height) {
                    let (radius, ink, edge) = mark(i);
                    draw_marker(s, place, MARKER_SHAPES[i], radius, ink, edge);
                }
            }
        }
        plot.draw_frame(s, true, labels);
        plot.draw_title(s, &panel.title);
        plot.draw_x_label(s, &self.x_label);
        if found.is_none() {
            plot.draw_no_data(s);
        }
    }
}

impl Figure for DotsFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (f64, f64) {
        let rows = self.panel_rows() as f64;
        (WIDTH, head_height(WIDTH, &self.note, &self.legend()) + rows * (ABOVE + self.panel_height() + BELOW))
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new([
            "panel".into(),
            "row".into(),
            "series".into(),
            named("middle", &self.x_label),
            named("half", "length of the bar to either side"),
            named("line", "where the dashed line of the series stands"),
        ]);
        for panel in &self.panels {
            for (name, one) in self.series.iter().zip(&panel.series) {
                for (i, row) in self.rows.iter().enumerate() {
                    let (middle, half): (Cell, Cell) = (at(&one.middle, i), at(&one.half, i));
                    numbers.push(vec![(&panel.title).into(), row.into(), name.into(), middle, half, one.line.into()]);
                }
            }
        }
        numbers
    }

    fn draw(&self, s: &mut Svg) {
        let (width, _) = self.size();
        let top = draw_head(s, width, &self.title, &self.note, &self.legend());
        let names = self.rows.iter().map(|r| text_width(r, TICK_SIZE)).fold(0.0, f64::max).min(0.3 * WIDTH);
        let left = MARGIN + names + 8.0;
        let columns = self.panels.len().clamp(1, COLUMNS);
        let panel_width = (width - left - MARGIN - GAP * (columns - 1) as f64) / columns as f64;
        for (i, panel) in self.panels.iter().enumerate() {
            let (row, column) = ((i / columns) as f64, (i % columns) as f64);
            let x0 = left + column * (panel_width + GAP);
            let y0 = top + ABOVE + row * (ABOVE + self.panel_height() + BELOW);
            let area = Rect { left: x0, top: y0, right: x0 + panel_width, bottom: y0 + self.panel_height() };
            self.draw_panel(s, panel, area, i % columns == 0);
        }
        if self.panels.is_empty() {
            let area =
                Rect { left, top: top + ABOVE, right: width - MARGIN, bottom: top + ABOVE + self.panel_height() };
            self.draw_panel(s, &DotsPanel::default(), area, true);
        }
    }
}
