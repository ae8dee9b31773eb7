//! Maps of a value over a plane, for classification with two inputs: probability, entropy, mutual information.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, extent, usable, widen};
use super::inputs;
use super::legend::{MARGIN, Symbol, draw_head, entry};
use super::numbers::{Cell, Numbers};
use super::palette::{BLACK, FRAME, ORANGE, PURPLE, SKY, TEXT, VERMILLION, WHITE, viridis};
use super::panels::{MOST_PANELS, shape};
use super::plot::{LABEL_SIZE, MARKERS, Plot, TICK_SIZE, tick_width};
use super::save::{Figure, save};
use super::svg::{Align, Ink, Rect, Stroke, Svg};
use super::text::{HALF_CAP, fit_text};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatFigure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// 1 to 8; further ones are not drawn, and the figure says so.
    pub panels: Vec<HeatPanel>,
    /// Training points (x, y, class), drawn on every panel.
    pub points: Vec<(f64, f64, usize)>,
    /// Names of the classes, by their numbers; one without a name is called by its number.
    pub classes: Vec<String>,
    /// Per value label the range of the colours, where several figures are to have the same; else that of the panels.
    pub colours: Vec<(String, (f64, f64))>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatPanel {
    pub title: String,
    pub x_range: (f64, f64),
    pub y_range: (f64, f64),
    pub nx: usize,
    pub ny: usize,
    /// values[iy * nx + ix]; ix counts from x_range.0, iy from y_range.0 (bottom row first).
    pub values: Vec<f64>,
    /// Quantity and unit, such as "entropy (nats)". Panels with the same label share their colours.
    pub value_label: String,
}

/// Finer than this, cells are smaller than what a page shows.
const MOST_CELLS: usize = 160;
const LEVELS: f64 = 96.0;
const CLASSES: [(Ink, Ink); 5] = [(WHITE, BLACK), (VERMILLION, WHITE), (SKY, BLACK), (ORANGE, BLACK), (PURPLE, BLACK)];

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn heat2d(dir: &Path, stem: &str, figure: &HeatFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

impl HeatPanel {
    fn value(&self, column: usize, row: usize) -> f64 {
        let at = row.checked_mul(self.nx).and_then(|r| r.checked_add(column));
        at.and_then(|i| self.values.get(i)).copied().unwrap_or(f64::NAN)
    }

    fn has_data(&self) -> bool {
        self.nx > 0 && self.ny > 0 && self.values.iter().any(|v| usable(*v))
    }

    /// Colours as runs of equal level along each row: small files, no seams.
    fn draw_cells(&self, s: &mut Svg, area: Rect, colours: &Axis) {
        let (columns, rows) = (self.nx.min(MOST_CELLS), self.ny.min(MOST_CELLS));
        let level = |column: usize, row: usize| -> Option<i64> {
            let at = |i: usize, shown: usize, all: usize| (i as u128 * all as u128 / shown as u128) as usize;
            let v = self.value(at(column, columns, self.nx), at(row, rows, self.ny));
            usable(v).then(|| (colours.share(v).clamp(0.0, 1.0) * LEVELS).round() as i64)
        };
        let mut cells = Vec::new();
        let (cell_width, cell_height) = (area.width() / columns as f64, area.height() / rows as f64);
        for row in 0..rows {
            let y = area.bottom - cell_height * (row + 1) as f64;
            let levels: Vec<Option<i64>> = (0..columns).map(|c| level(c, row)).collect();
            let mut start = 0;
            for run in levels.chunk_by(|a, b| a == b) {
                let ink = viridis(run[0].map_or(f64::NAN, |l| l as f64 / LEVELS));
                let x = area.left + cell_width * start as f64;
                let right = x + cell_width * run.len() as f64;
                cells.push((Rect { left: x, top: y, right, bottom: y + cell_height }, ink));
                start += run.len();
            }
        }
        s.cells(&cells);
    }
}

/// The colour range: what all panels with this label hold, from zero or to one where the values come close.
fn colour_range<'a>(panels: impl Iterator<Item = &'a HeatPanel>, label: &str) -> (f64, f64) {
    let same = panels.filter(|p| p.value_label == label);
    let (low, high) = extent(same.flat_map(|p| p.values.iter().copied())).unwrap_or((0.0, 1.0));
    let low = if low >= 0.0 && low < 0.3 * high { 0.0 } else { low };
    let high = if low >= 0.0 && (0.85..1.0).contains(&high) { 1.0 } else { high };
    widen(low, high)
}

impl HeatFigure {
    /// Ranges of the colours in which all of these can be seen, for `colours`.
    pub fn colours_of(figures: &[HeatFigure]) -> Vec<(String, (f64, f64))> {
        let panels = || figures.iter().flat_map(|f| f.panels.iter().take(MOST_PANELS));
        let mut labels: Vec<&String> = panels().map(|p| &p.value_label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.into_iter().map(|label| (label.clone(), colour_range(panels(), label))).collect()
    }

    /// A class in the legend: by its own name, but "class 1" where that would be a bare number.
    fn name(&self, class: usize) -> String {
        match self.classes.get(class) {
            Some(name) if name.parse::<f64>().is_err() => name.clone(),
            Some(number) => format!("class {number}"),
            None => format!("class {class}"),
        }
    }

    fn colour_axis(&self, panels: &[HeatPanel], label: &str) -> Axis {
        let given = self.colours.iter().find(|c| c.0 == label).map(|c| c.1);
        let (low, high) = given.unwrap_or_else(|| colour_range(panels.iter(), label));
        Axis::linear(low, high, 5)
    }
}

pub fn draw_colour_bar(s: &mut Svg, area: Rect, axis: &Axis, label: &str) {
    let steps = 64;
    let step = area.height() / f64::from(steps);
    let cells: Vec<_> = (0..steps)
        .map(|i| {
            let y = area.bottom - step * f64::from(i + 1);
            (Rect { top: y, bottom: y + step, ..area }, viridis(f64::from(i) / f64::from(steps - 1)))
        })
        .collect();
    s.cells(&cells);
    s.outline(area, Stroke::solid(FRAME, 1.0));
    for tick in &axis.ticks {
        let y = area.bottom - axis.share(tick.value) * area.height();
        s.polyline(&[(area.right, y), (area.right + 3.0, y)], Stroke::solid(FRAME, 1.0));
        s.text(&tick.label, (area.right + 5.0, y + HALF_CAP * TICK_SIZE), TICK_SIZE, TEXT, Align::Start, false);
    }
    let at = (area.right + 5.0 + tick_width(axis) + 15.0, (area.top + area.bottom) / 2.0);
    s.text(&fit_text(label, 12.0, area.height()), at, 12.0, TEXT, Align::Middle, true);
}

impl Figure for HeatFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = inputs::numbers(&self.x_label, &self.y_label);
        for panel in &self.panels {
            let middle = |i: usize, (low, high): (f64, f64), n: usize| low + (high - low) * (i as f64 + 0.5) / n as f64;
            // Without columns there are no cells, whatever the values say.
            let (columns, rows) = (panel.nx.max(1), if panel.nx == 0 { 0 } else { panel.ny });
            for (i, value) in panel.values.iter().take(columns.saturating_mul(rows)).enumerate() {
                let (x, y) = (middle(i % columns, panel.x_range, columns), middle(i / columns, panel.y_range, rows));
                let row = ["cell".into(), (&panel.title).into(), (&panel.value_label).into(), x.into(), y.into()];
                numbers.push(row.into_iter().chain([Cell::from(*value)]).collect());
            }
        }
        inputs::push_points(&mut numbers, &self.points);
        numbers
    }

    fn size(&self) -> (f64, f64) {
        match shape(self.panels.len()) {
            (1, 1) => (700.0, 620.0),
            (1, 2) => (900.0, 480.0),
            (1, _) => (1100.0, 440.0),
            (2, _) => (1100.0, 760.0),
            _ => (1100.0, 1080.0),
        }
    }

    fn draw(&self, s: &mut Svg) {
        let (width, height) = self.size();
        let panels = &self.panels[..self.panels.len().min(MOST_PANELS)];
        let chosen = inputs::chosen(&self.points);
        let mut classes: Vec<usize> = chosen.iter().map(|p| p.2).collect();
        classes.sort_unstable();
        classes.dedup();
        let look = |class: usize| {
            let (colour, round) = (class % CLASSES.len(), class / CLASSES.len());
            let (ink, edge) = CLASSES[colour];
            // A second round through the colours meets other shapes.
            (MARKERS[(colour + round % MARKERS.len()) % MARKERS.len()], ink, edge)
        };
        let legend: Vec<_> = (classes.iter())
            .map(|&class| {
                let (marker, ink, edge) = look(class);
                entry(Symbol::Point(marker, 3.6, ink, edge), self.name(class))
            })
            .collect();
        let notes = inputs::left_out(self.points.len(), self.panels.len());
        let top = draw_head(s, width, &self.title, &notes, &legend);

        let n = panels.len().max(1);
        let (rows, columns) = shape(n);
        let ticks = panels.iter().map(|p| tick_width(&self.colour_axis(panels, &p.value_label))).fold(20.0, f64::max);
        let bar_room = 22.0 + 5.0 + ticks + 28.0;
        let left = MARGIN + LABEL_SIZE + 14.0;
        let (slot_width, slot_height) = ((width - left - 4.0) / columns as f64, (height - 32.0 - top) / rows as f64);
        let empty = HeatPanel::default();
        for i in 0..n {
            let panel = panels.get(i).unwrap_or(&empty);
            let (row, column) = (i / columns, i % columns);
            let (x_range, y_range) = (widen(panel.x_range.0, panel.x_range.1), widen(panel.y_range.0, panel.y_range.1));
            let y = Axis::linear(y_range.0, y_range.1, 6);
            let (x0, y0) = (left + slot_width * column as f64, top + slot_height * row as f64);
            let area = Rect {
                left: x0 + tick_width(&y) + 6.0,
                top: y0 + 22.0,
                right: x0 + slot_width - bar_room,
                bottom: y0 + slot_height - 24.0,
            };
            let plot = Plot { area, x: Axis::linear(x_range.0, x_range.1, 5), y };
            if panel.has_data() {
                let colours = self.colour_axis(panels, &panel.value_label);
                panel.draw_cells(s, area, &colours);
                let bar = Rect { left: area.right + 10.0, right: area.right + 22.0, ..area };
                draw_colour_bar(s, bar, &colours, &panel.value_label);
            } else {
                plot.draw_grid(s);
            }
            for &(x, y, class) in &chosen {
                let (marker, ink, edge) = look(class);
                plot.markers(s, &[x], &[y], marker, if chosen.len() > 120 { 2.4 } else { 3.2 }, (ink, edge));
            }
            plot.draw_frame(s, true, true);
            plot.draw_title(s, &panel.title);
            if !panel.has_data() {
                plot.draw_no_data(s);
            }
        }
        let middle = (left + width - bar_room) / 2.0;
        let text = fit_text(&self.x_label, LABEL_SIZE, width - left - bar_room);
        s.text(&text, (middle, height - 14.0), LABEL_SIZE, TEXT, Align::Middle, false);
        let text = fit_text(&self.y_label, LABEL_SIZE, height - top - 60.0);
        s.text(&text, (MARGIN + LABEL_SIZE - 2.0, (top + height - 32.0) / 2.0), LABEL_SIZE, TEXT, Align::Middle, true);
    }
}
