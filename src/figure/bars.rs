//! Bars in groups: shares between 0 and 1, a group per category and a bar per series.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, Tick, usable};
use super::legend::{Entry, Symbol, draw_head, entry};
use super::numbers::{Numbers, at, named};
use super::palette::{WHITE, series};
use super::plot::{Plot, REFERENCE};
use super::save::{Figure, save};
use super::svg::{Ink, Rect, Stroke, Svg};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarsFigure {
    pub title: String,
    pub note: String,
    pub x_label: String,
    pub y_label: String,
    /// Names of the groups.
    pub ticks: Vec<String>,
    pub series: Vec<BarsSeries>,
    /// A dashed line across: at this share, with this name.
    pub line: Option<(f64, String)>,
}

/// One value per group; NaN leaves one out, and 0 is a bar without height.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarsSeries {
    pub name: String,
    pub values: Vec<f64>,
    /// Number of its colour: two series of one colour belong together.
    pub colour: usize,
    /// An outline instead of a filled bar, such as the numbers of others.
    pub hollow: bool,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn bars(dir: &Path, stem: &str, figure: &BarsFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

/// Share of a group's width that its bars fill.
const FILLED: f64 = 0.8;

impl BarsSeries {
    fn ink(&self) -> Ink {
        series(self.colour).alpha(if self.hollow { 0.22 } else { 1.0 })
    }
}

impl BarsFigure {
    fn legend(&self) -> Vec<Entry> {
        let mut out: Vec<Entry> = self.series.iter().map(|s| entry(Symbol::Patch(s.ink()), s.name.as_str())).collect();
        out.extend(self.line.iter().map(|(_, name)| entry(Symbol::Line(REFERENCE), name.as_str())));
        out
    }
}

impl Figure for BarsFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new(["series".into(), named("group", &self.x_label), named("value", &self.y_label)]);
        for one in &self.series {
            for (i, tick) in self.ticks.iter().enumerate() {
                numbers.push(vec![(&one.name).into(), tick.into(), at(&one.values, i)]);
            }
        }
        numbers
    }

    fn draw(&self, s: &mut Svg) {
        let (width, height) = self.size();
        let top = draw_head(s, width, &self.title, &self.note, &self.legend()) + 6.0;
        let n = self.ticks.len().max(1);
        let mut x = Axis::linear(-0.5, n as f64 - 0.5, 2);
        let tick = |(i, name): (usize, &String)| Tick { value: i as f64, label: name.clone() };
        x.ticks = self.ticks.iter().enumerate().map(tick).collect();
        let y = Axis::linear(0.0, 1.04, 6);
        let mut plot = Plot::below(top, (width, height), x, y);
        let ticks = std::mem::take(&mut plot.x.ticks);
        plot.draw_grid(s);
        plot.x.ticks = ticks;
        let count = self.series.len().max(1) as f64;
        let wide = FILLED / count;
        let mut any = false;
        for (k, one) in self.series.iter().enumerate() {
            for (i, &value) in one.values.iter().enumerate().filter(|(i, v)| *i < n && usable(**v)) {
                any = true;
                let from = i as f64 - FILLED / 2.0 + wide * k as f64;
                let sides = (from + 0.06 * wide, from + 0.94 * wide);
                let value = value.clamp(0.0, 1.0);
                plot.bar(s, sides, (0.0, value), WHITE);
                plot.bar(s, sides, (0.0, value), one.ink());
                if let (Some(p), Some(q)) = (plot.place(sides.0, value), plot.place(sides.1, 0.0)) {
                    // At least a line on the ground: a share of 0 is a value too.
                    let outline = Rect { left: p.0, top: p.1.min(q.1 - 1.5), right: q.0, bottom: q.1 };
                    s.outline(outline, Stroke::solid(series(one.colour), 1.2));
                }
            }
        }
        if let Some((value, _)) = &self.line {
            plot.line(s, &[-0.5, n as f64 - 0.5], &[*value, *value], REFERENCE);
        }
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, &self.x_label);
        plot.draw_y_label(s, &self.y_label);
        if !any {
            plot.draw_no_data(s);
        }
    }
}
