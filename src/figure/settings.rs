//! Metrics against the settings of a grid: one panel per metric, one below the other on a shared axis of evenly spaced values, each
//! mean with its sd.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, Tick, extent, padded, usable};
use super::legend::{MARGIN, Symbol, draw_head, entry, head_height};
use super::numbers::{Numbers, at};
use super::palette::{WHITE, series, series_dash};
use super::plot::{MARKERS, Marker, Plot, TICK_SIZE, left_edge};
use super::save::{Figure, save};
use super::svg::{Rect, Stroke, Svg};
use super::text::fit_text;
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettingsFigure {
    pub title: String,
    /// A sentence below the title, or nothing.
    pub note: String,
    pub x_label: String,
    /// Whether the values ascend along something: then lines join their points.
    pub ordered: bool,
    /// The values of the x axis as they are to be read, from left to right.
    pub ticks: Vec<String>,
    pub panels: Vec<SettingsPanel>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettingsPanel {
    pub y_label: String,
    pub series: Vec<SettingsSeries>,
}

/// One value per tick; NaN where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettingsSeries {
    /// Empty where it is the only one.
    pub name: String,
    pub mean: Vec<f64>,
    pub sd: Vec<f64>,
}

const WIDTH: f64 = 900.0;
const FOOT: f64 = 52.0;
const GAP: f64 = 18.0;

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn settings(dir: &Path, stem: &str, figure: &SettingsFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

impl SettingsFigure {
    fn legend(&self) -> Vec<super::legend::Entry> {
        let all = self.panels.first().map_or(&[][..], |p| &p.series);
        let named = all.iter().enumerate().filter(|(_, one)| !one.name.is_empty());
        named.map(|(i, one)| entry(self.symbol(i), one.name.as_str())).collect()
    }

    fn symbol(&self, i: usize) -> Symbol {
        match self.ordered {
            true => Symbol::Dotted(stroke(i), marker(i)),
            false => Symbol::Point(marker(i), 4.0, series(i), WHITE),
        }
    }

    fn subtitle(&self) -> String {
        let has_sd = self.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.sd).any(|v| usable(*v));
        let bars = match (has_sd, self.panels.iter().any(cuts_bars)) {
            (false, _) => "",
            (true, false) => "bars: mean ± 1 sd",
            (true, true) => "bars: mean ± 1 sd, cut at the frame",
        };
        [bars, self.note.as_str()].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    fn panel_height(&self) -> f64 {
        match self.panels.len() {
            0 | 1 => 420.0,
            2 => 260.0,
            _ => 200.0,
        }
    }

    /// Series stand a little beside each other, so that bars of equal values are seen.
    fn x(&self, i: usize, n: usize, tick: usize) -> f64 {
        let width = 0.5_f64.min(0.08 * n.saturating_sub(1) as f64);
        let share = if n > 1 { i as f64 / (n - 1) as f64 - 0.5 } else { 0.0 };
        tick as f64 + share * width
    }

    fn draw_panel(&self, s: &mut Svg, plot: &Plot, panel: &SettingsPanel) {
        let n = panel.series.len();
        for (i, one) in panel.series.iter().enumerate() {
            let x: Vec<f64> = (0..one.mean.len().min(self.ticks.len())).map(|t| self.x(i, n, t)).collect();
            for (t, (&x, &mean)) in x.iter().zip(&one.mean).enumerate() {
                let sd = one.sd.get(t).copied().unwrap_or(f64::NAN);
                if usable(sd) && usable(mean) {
                    plot.line(s, &[x, x], &[mean - sd, mean + sd], Stroke::solid(series(i).alpha(0.55), 1.6));
                }
            }
            if self.ordered {
                plot.line(s, &x, &one.mean, stroke(i));
            }
            plot.markers(s, &x, &one.mean, marker(i), 4.2, (series(i), WHITE));
        }
    }
}

fn stroke(i: usize) -> Stroke {
    Stroke { ink: series(i), width: 1.8, dash: series_dash(i) }
}

fn marker(i: usize) -> Marker {
    MARKERS[i % MARKERS.len()]
}

/// Whether a bar reaches beyond the limits of its panel.
fn cuts_bars(panel: &SettingsPanel) -> bool {
    let Some((low, high)) = y_limits(panel) else { return false };
    let bars = panel.series.iter().flat_map(|s| s.mean.iter().zip(&s.sd));
    bars.filter(|(m, sd)| usable(**m) && usable(**sd)).any(|(m, sd)| m - sd < low || m + sd > high)
}

/// Limits of a panel: all means, and as much of the bars as leaves the means half of the height.
fn y_limits(panel: &SettingsPanel) -> Option<(f64, f64)> {
    let means = || panel.series.iter().flat_map(|s| s.mean.iter().copied()).filter(|v| usable(*v));
    let (low, high) = extent(means())?;
    let reach = if high > low { (high - low) / 2.0 } else { f64::INFINITY };
    let bars = panel.series.iter().flat_map(|s| s.mean.iter().zip(&s.sd)).flat_map(|(m, sd)| [m - sd, m + sd]);
    let within = bars.filter(|v| usable(*v)).map(|v| v.clamp(low - reach, high + reach));
    extent(means().chain(within)).map(|limits| padded(limits, 0.08))
}

impl Figure for SettingsFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new(["metric", "series", "x", "mean", "sd"]);
        for panel in &self.panels {
            for one in &panel.series {
                for (t, tick) in self.ticks.iter().enumerate() {
                    let (mean, sd) = (at(&one.mean, t), at(&one.sd, t));
                    numbers.push(vec![(&panel.y_label).into(), (&one.name).into(), tick.into(), mean, sd]);
                }
            }
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        let head = head_height(WIDTH, &self.subtitle(), &self.legend());
        let n = self.panels.len().max(1) as f64;
        (WIDTH, (head + 6.0 + n * self.panel_height() + (n - 1.0) * GAP + FOOT).ceil())
    }

    fn draw(&self, s: &mut Svg) {
        let top = draw_head(s, WIDTH, &self.title, &self.subtitle(), &self.legend()) + 6.0;
        let empty = [SettingsPanel::default()];
        let panels = if self.panels.is_empty() { &empty[..] } else { &self.panels };
        let limits: Vec<Option<(f64, f64)>> = panels.iter().map(y_limits).collect();
        let axes = limits.iter().map(|l| l.unwrap_or((0.0, 1.0))).map(|(low, high)| Axis::linear(low, high, 6));
        let axes: Vec<Axis> = axes.collect();
        let (left, right) = (axes.iter().map(left_edge).fold(0.0, f64::max), WIDTH - MARGIN - 8.0);
        let mut x = Axis::linear(-0.5, self.ticks.len().max(1) as f64 - 0.5, 1);
        let slot = (right - left) / self.ticks.len().max(1) as f64 - 8.0;
        let tick =
            |(i, label): (usize, &String)| Tick { value: i as f64, label: fit_text(label, TICK_SIZE, slot.max(60.0)) };
        x.ticks = self.ticks.iter().enumerate().map(tick).collect();
        for (i, (panel, y)) in panels.iter().zip(axes).enumerate() {
            let top = top + i as f64 * (self.panel_height() + GAP);
            let area = Rect { left, top, right, bottom: top + self.panel_height() };
            // All y labels in one line, however wide the numbers of their panel are.
            let plot = Plot { area, x: x.clone(), y };
            plot.draw_grid(s);
            self.draw_panel(s, &plot, panel);
            plot.draw_frame(s, i + 1 == panels.len(), true);
            plot.draw_y_label(s, &panel.y_label);
            if limits[i].is_none() {
                plot.draw_no_data(s);
            }
            if i + 1 == panels.len() {
                plot.draw_x_label(s, &self.x_label);
            }
        }
    }
}
