//! Tools beside each other: a panel for each metric with an axis of its own, the same rows everywhere, a mark for each tool, and
//! a line at the value that marks are measured by.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, Tick, extent, padded, usable};
use super::legend::{Entry, MARGIN, Symbol, draw_head, entry, head_height};
use super::numbers::Numbers;
use super::palette::{FRAME, WHITE, series};
use super::plot::{MARKERS, Marker, Plot, REFERENCE, TICK_SIZE, draw_marker};
use super::save::{Figure, save};
use super::svg::{Rect, Stroke, Svg};
use super::text::text_width;
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparisonFigure {
    pub title: String,
    /// What marks and bars are.
    pub note: String,
    /// Names of the rows, from above.
    pub rows: Vec<String>,
    /// Names of the tools; the marks of the first are larger.
    pub series: Vec<String>,
    pub panels: Vec<ComparisonPanel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ComparisonScale {
    #[default]
    Linear,
    /// Of what is above 0; nothing else is drawn.
    Log,
    /// Linear near 0, logarithmic beyond 1 on either side.
    SymLog,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparisonPanel {
    /// With the unit.
    pub x_label: String,
    pub scale: ComparisonScale,
    /// Where a dashed line stands.
    pub line: Option<f64>,
    /// For each tool and row the value and both ends of its bar; NaN leaves one out.
    pub marks: Vec<Vec<(f64, f64, f64)>>,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn comparison(dir: &Path, stem: &str, figure: &ComparisonFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

const WIDTH: f64 = 1000.0;
const COLUMNS: usize = 2;
/// Height of a mark's place in its row, and of a row at least.
const MARK: f64 = 4.4;
const ROW: f64 = 30.0;
/// Share of a row that its marks fill.
const FILLED: f64 = 0.8;
const ABOVE: f64 = 14.0;
const BELOW: f64 = 48.0;
const GAP: f64 = 26.0;
/// Between tick labels.
const LABEL_GAP: f64 = 44.0;

/// A second round through the colours has other markers.
fn marker(i: usize) -> Marker {
    MARKERS[(i + i / 8) % MARKERS.len()]
}

fn radius(i: usize) -> f64 {
    if i == 0 { 4.6 } else { 3.2 }
}

impl ComparisonScale {
    /// As the axis has it.
    fn place(self, v: f64) -> f64 {
        match self {
            ComparisonScale::Log if v > 0.0 => libm::log10(v),
            ComparisonScale::Log => f64::NAN,
            _ => v,
        }
    }

    /// Over limits that `place` gave, `pixels` long.
    fn axis(self, (low, high): (f64, f64), pixels: f64) -> Axis {
        match self {
            ComparisonScale::SymLog => Axis::symlog_from(1.0, low, high, pixels, LABEL_GAP),
            ComparisonScale::Linear => {
                let (low, high) = padded((low, high), 0.06);
                Axis::linear(low, high, (pixels / 62.0) as usize)
            }
            ComparisonScale::Log => {
                // Ratios that hardly differ are not blown up.
                let (low, high) = if high - low < 0.05 { (low - 0.025, high + 0.025) } else { (low, high) };
                let (low, high) = padded((low, high), 0.06);
                let mut axis = Axis::linear(low, high, 4);
                axis.ticks = log_ticks(&axis, pixels);
                axis
            }
        }
    }
}

/// Of several sets of round values the one with most that stand apart.
fn log_ticks(axis: &Axis, pixels: f64) -> Vec<Tick> {
    const STEPS: [&[f64]; 5] =
        [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[0.9, 1.0, 1.1, 1.2, 1.5, 2.0]];
    let (first, last) = (axis.low.floor().max(-30.0) as i32, axis.high.ceil().min(30.0) as i32);
    let apart = |pair: &[Tick]| (axis.share(pair[1].value) - axis.share(pair[0].value)) * pixels >= 0.8 * LABEL_GAP;
    let mut best: Vec<Tick> = vec![];
    if axis.high - axis.low < 1.0 {
        // Less than a decade may hold none of the steps below.
        let mut even = Axis::linear(libm::pow(10f64, axis.low), libm::pow(10f64, axis.high), 5).ticks;
        even.iter_mut().for_each(|t| t.value = libm::log10(t.value));
        best = if even.windows(2).all(apart) { even } else { best };
    }
    for (steps, every) in STEPS.iter().map(|s| (*s, 1)).chain([(STEPS[0], 2), (STEPS[0], 4), (STEPS[0], 8)]) {
        let powers = (first..=last).filter(|p| p.rem_euclid(every) == 0);
        let values = powers.flat_map(|p| steps.iter().map(move |s| s * 10f64.powi(p)));
        let mut ticks: Vec<Tick> = values
            .map(|v| Tick { value: libm::log10(v), label: log_label(v) })
            .filter(|t| (axis.low..=axis.high).contains(&t.value))
            .collect();
        ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
        if ticks.windows(2).all(apart) && ticks.len() > best.len() {
            best = ticks;
        }
    }
    best
}

/// Of a round number: "0.05", "1.5", "200", "1e6".
fn log_label(v: f64) -> String {
    if (0.999e-3..1e5).contains(&v) {
        let text = format!("{v:.4}");
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        format!("{v:.0e}").replace('-', "−")
    }
}

impl ComparisonFigure {
    fn legend(&self) -> Vec<Entry> {
        let symbol = |i: usize| Symbol::Point(marker(i), radius(i) + 0.4, series(i), WHITE);
        self.series.iter().enumerate().map(|(i, name)| entry(symbol(i), name.as_str())).collect()
    }

    fn panel_rows(&self) -> usize {
        self.panels.len().max(1).div_ceil(COLUMNS)
    }

    fn panel_height(&self) -> f64 {
        let row = (self.series.len() as f64 * MARK / FILLED).max(ROW);
        (row * self.rows.len().max(1) as f64).clamp(80.0, 1200.0).round()
    }

    fn draw_panel(&self, s: &mut Svg, panel: &ComparisonPanel, area: Rect, labels: bool) {
        let n = self.rows.len().max(1);
        // Rows go down, the axis goes up: row i lies at n - 1 - i.
        let mut y = Axis::linear(-0.5, n as f64 - 0.5, 2);
        let tick = |(i, name): (usize, &String)| Tick { value: (n - 1 - i) as f64, label: name.clone() };
        y.ticks = self.rows.iter().enumerate().map(tick).collect();
        let place = |v: f64| panel.scale.place(v);
        let drawn = panel.marks.iter().flat_map(|m| m.iter().take(n)).filter(|m| usable(place(m.0)));
        let values = extent(drawn.clone().map(|m| place(m.0)));
        let with_line = values.and_then(|(low, high)| extent([low, high].into_iter().chain(panel.line.map(place))));
        // One bar that reaches near 0 may not press the values together: it is cut at the frame.
        let limits = with_line.and_then(|(low, high)| {
            let reach = if high > low { 0.25 * (high - low) } else { f64::INFINITY };
            let ends = drawn.flat_map(|m| [m.1, m.2]).map(place).filter(|v| usable(*v));
            extent(ends.map(|v| v.clamp(low - reach, high + reach)).chain([low, high]))
        });
        let plot = Plot { area, x: panel.scale.axis(limits.unwrap_or((0.0, 1.0)), area.width()), y };
        plot.draw_grid(s);
        let (low, high) = (plot.x.low, plot.x.high);
        for i in 1..n {
            let edge = i as f64 - 0.5;
            plot.line(s, &[low, high], &[edge, edge], Stroke::solid(FRAME.alpha(0.5), 1.0));
        }
        if let Some(line) = panel.line.map(place) {
            plot.line(s, &[line, line], &[-0.5, n as f64 - 0.5], REFERENCE);
        }
        let step = FILLED / panel.marks.len().max(1) as f64;
        // The first tool lies above the others.
        for (k, marks) in panel.marks.iter().enumerate().rev() {
            for (i, (value, from, to)) in marks.iter().enumerate().take(n) {
                let height = (n - 1 - i) as f64 + FILLED / 2.0 - step * (k as f64 + 0.5);
                // A bar that begins below 0 has no beginning on a logarithmic axis: it is drawn from the edge.
                let from = if usable(place(*from)) || !usable(*from) { place(*from) } else { low };
                plot.line(s, &[from, place(*to)], &[height, height], Stroke::solid(series(k), 1.4));
                if let Some(at) = plot.place(place(*value), height) {
                    draw_marker(s, at, marker(k), radius(k), series(k), WHITE);
                }
            }
        }
        plot.draw_frame(s, true, labels);
        plot.draw_x_label(s, &panel.x_label);
        if limits.is_none() {
            plot.draw_no_data(s);
        }
    }
}

impl Figure for ComparisonFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn size(&self) -> (f64, f64) {
        let rows = self.panel_rows() as f64;
        (WIDTH, head_height(WIDTH, &self.note, &self.legend()) + rows * (ABOVE + self.panel_height() + BELOW))
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new(["panel", "row", "series", "value", "bar_from", "bar_to", "line"]);
        for panel in &self.panels {
            for (name, marks) in self.series.iter().zip(&panel.marks) {
                for (row, (value, from, to)) in self.rows.iter().zip(marks) {
                    let cells = [(*value).into(), (*from).into(), (*to).into(), panel.line.into()];
                    let names = [(&panel.x_label).into(), row.into(), name.into()];
                    numbers.push(names.into_iter().chain(cells).collect());
                }
            }
        }
        numbers
    }

    fn draw(&self, s: &mut Svg) {
        let (width, _) = self.size();
        let top = draw_head(s, width, &self.title, &self.note, &self.legend());
        let names = self.rows.iter().map(|r| text_width(r, TICK_SIZE)).fold(0.0, f64::max).min(0.3 * WIDTH);
        let left = MARGIN + names + 10.0;
        let columns = self.panels.len().clamp(1, COLUMNS);
        let panel_width = (width - left - MARGIN - GAP * (columns - 1) as f64) / columns as f64;
        let empty = [ComparisonPanel::default()];
        let panels = if self.panels.is_empty() { &empty[..] } else { &self.panels };
        for (i, panel) in panels.iter().enumerate() {
            let (row, column) = ((i / columns) as f64, (i % columns) as f64);
            let x0 = left + column * (panel_width + GAP);
            let y0 = top + ABOVE + row * (ABOVE + self.panel_height() + BELOW);
            let area = Rect { left: x0, top: y0, right: x0 + panel_width, bottom: y0 + self.panel_height() };
            self.draw_panel(s, panel, area, i % columns == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_round_ticks_that_stand_apart() {
        for (low, high) in [(0.98, 1.02), (0.5, 8.0), (0.01, 90.0), (0.9, 1.3), (1e-9, 1e12), (2.0, 2.0)] {
            let axis = ComparisonScale::Log.axis((libm::log10(low), libm::log10(high)), 420.0);
            assert!(axis.ticks.len() >= 2, "{low} to {high}: {axis:?}");
            for t in &axis.ticks {
                let shown: f64 = t.label.replace('−', "-").parse().expect("a number");
                assert!((libm::log10(shown) - t.value).abs() < 1e-9, "{low} to {high}: {t:?}");
            }
        }
    }

    #[test]
    fn what_is_not_positive_has_no_place_on_a_logarithmic_axis() {
        assert!(ComparisonScale::Log.place(0.0).is_nan() && ComparisonScale::Log.place(-1.0).is_nan());
        assert_eq!((ComparisonScale::Log.place(100.0), ComparisonScale::SymLog.place(-3.0)), (2.0, -3.0));
    }
}
