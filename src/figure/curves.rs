//! Learning curves: any number of series over steps or epochs, each with its sd over seeds when there is one.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, extent, padded, usable, widen};
use super::legend::{Symbol, draw_head, entry};
use super::numbers::{Cell, Numbers, at, named};
use super::palette::{series, series_dash};
use super::plot::{Plot, REFERENCE};
use super::save::{Figure, save};
use super::svg::{Stroke, Svg};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurvesFigure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// A symmetric logarithmic y axis, linear near zero: negative losses have a place on it.
    pub log: bool,
    /// What the shaded bands are, where they are not the sd about the mean.
    pub shaded: Option<String>,
    pub series: Vec<Series>,
    /// A vertical line at this x, and its name in the legend.
    pub mark: Option<(f64, String)>,
}

/// One curve; `y` and `sd` are as long as `x`. NaN leaves a gap.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    pub name: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub sd: Option<Vec<f64>>,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn curves(dir: &Path, stem: &str, figure: &CurvesFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

impl CurvesFigure {
    /// The y values that decide the limits. An sd may not stretch the axis to more than twice the range of the curves.
    fn y_values(&self) -> Vec<f64> {
        let drawn = |s: &Series| -> Vec<(f64, f64)> {
            let sd = |i: usize| s.sd.as_ref().and_then(|sd| sd.get(i)).copied().unwrap_or(0.0);
            let both = s.x.iter().zip(&s.y).enumerate();
            both.filter(|(_, (x, y))| usable(**x) && usable(**y)).map(|(i, (_, y))| (*y, sd(i))).collect()
        };
        let all: Vec<(f64, f64)> = self.series.iter().flat_map(drawn).collect();
        let Some((low, high)) = extent(all.iter().map(|p| p.0)) else { return Vec::new() };
        let reach = if high > low { (high - low) / 2.0 } else { f64::INFINITY };
        // On a logarithmic axis mean - sd may cross zero and would add decades that hold no curve.
        let floor = if self.log && low > 0.0 { low / 2.0 } else { low - reach };
        let within = |v: f64| v.clamp(floor, high + reach);
        all.iter().flat_map(|(y, sd)| [*y, within(y - sd), within(y + sd)]).filter(|v| usable(*v)).collect()
    }
}

/// Dashes of curves that lie on one other curve, and on two or more.
const OVER: [(f64, f64); 2] = [(9.0, 9.0), (5.0, 13.0)];
/// A line, and what it gains with each curve that lies on it: those below reach out at both sides of those above.
const WIDTH: f64 = 1.8;
const WIDER: f64 = 1.6;
/// Opacity of a solid line on which others lie: their dashes stand out.
const PALE: f64 = 0.5;
/// Share of the range of all curves within which two lie on one another: about the width of a line.
const CLOSE: f64 = 0.004;
/// Share of its points by which a curve lies on another.
const COVERED: f64 = 0.15;

impl CurvesFigure {
    /// How each curve is drawn: one that lies on earlier curves would hide them, so that it is dashed and they are wider and paler.
    fn strokes(&self) -> Vec<Stroke> {
        let range = extent(self.series.iter().flat_map(|s| s.y.iter().copied())).map_or(0.0, |(low, high)| high - low);
        let near = |a: f64, b: f64| {
            let room = if self.log { CLOSE * a.abs().max(b.abs()) } else { CLOSE * range };
            usable(a) && usable(b) && (a - b).abs() <= room
        };
        let lies_on = |over: &Series, under: &Series| {
            let same = over.x == under.x && !over.x.is_empty();
            let count = over.y.iter().zip(&under.y).filter(|(a, b)| near(**a, **b)).count();
            same && count as f64 > COVERED * over.x.len() as f64
        };
        let n = self.series.len();
        let stroke = |i: usize| {
            let below = (0..i).filter(|&j| lies_on(&self.series[i], &self.series[j])).count();
            let above = (i + 1..n).filter(|&j| lies_on(&self.series[j], &self.series[i])).count();
            let dash = if below == 0 { series_dash(i) } else { Some(OVER[(below - 1).min(OVER.len() - 1)]) };
            let alpha = if dash.is_none() && above > 0 { PALE } else { 1.0 };
            Stroke { ink: series(i).alpha(alpha), width: WIDTH + WIDER * above.min(2) as f64, dash }
        };
        (0..n).map(stroke).collect()
    }
}

impl Figure for CurvesFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let (x, y) = (named("x", &self.x_label), named("y", &self.y_label));
        let mut numbers = Numbers::new(["series".into(), x, y, "sd".into()]);
        for one in &self.series {
            for (i, x) in one.x.iter().enumerate() {
                let sd = one.sd.as_ref().map_or(Cell::Empty, |sd| at(sd, i));
                numbers.push(vec![(&one.name).into(), (*x).into(), at(&one.y, i), sd]);
            }
        }
        numbers
    }

    fn draw(&self, s: &mut Svg) {
        let (width, height) = self.size();
        let strokes = self.strokes();
        let has_sd = |series: &Series| series.sd.as_ref().is_some_and(|sd| sd.iter().any(|v| usable(*v)));
        let mut legend: Vec<_> = (self.series.iter().enumerate())
            .map(|(i, one)| {
                let symbol = if has_sd(one) {
                    Symbol::Band(strokes[i], series(i).alpha(0.18))
                } else {
                    Symbol::Line(strokes[i])
                };
                entry(symbol, one.name.as_str())
            })
            .collect();
        legend.extend(self.mark.iter().map(|(_, name)| entry(Symbol::Line(REFERENCE), name.as_str())));
        let mut notes = Vec::new();
        if self.series.iter().any(has_sd) {
            notes.push(self.shaded.as_deref().unwrap_or("shaded: mean ± 1 sd"));
        }
        if self.log {
            notes.push("y: logarithmic, linear near zero");
        }
        let top = draw_head(s, width, &self.title, &notes.join(" · "), &legend) + 4.0;
        let bottom = height - 52.0;

        let values = self.y_values();
        let y = if self.log {
            Axis::symlog(&values, bottom - top, 26.0)
        } else {
            let (low, high) = padded(extent(values.iter().copied()).unwrap_or((0.0, 1.0)), 0.05);
            Axis::linear(low, high, 8)
        };
        let (low, high) = extent(self.series.iter().flat_map(|s| s.x.iter().copied())).unwrap_or((0.0, 1.0));
        let (low, high) = widen(low, high);
        let plot = Plot::below(top, self.size(), Axis::linear(low, high, 10), y);
        plot.draw_grid(s);
        for (i, one) in self.series.iter().enumerate() {
            if let Some(sd) = &one.sd {
                let edge = |k: f64| one.y.iter().zip(sd).map(|(y, sd)| y + k * sd).collect::<Vec<_>>();
                plot.band(s, &one.x, &edge(-1.0), &edge(1.0), series(i).alpha(0.18));
            }
        }
        for (i, one) in self.series.iter().enumerate() {
            plot.line(s, &one.x, &one.y, strokes[i]);
        }
        if let Some((x, _)) = &self.mark {
            let (from, to) = (plot.y.low, plot.y.high);
            plot.line(s, &[*x, *x], &[from, to], REFERENCE);
        }
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, &self.x_label);
        plot.draw_y_label(s, &self.y_label);
        if values.is_empty() {
            plot.draw_no_data(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_on_another_lets_it_through() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let of = |y: &dyn Fn(f64) -> f64| Series {
            x: x.clone(),
            y: x.iter().map(|x| y(*x)).collect(),
            ..Default::default()
        };
        let figure = CurvesFigure {
            series: vec![of(&|x| x), of(&|x| x.max(25.0)), of(&|x| x + 0.01), of(&|x| 40.0 - x)],
            ..Default::default()
        };
        let strokes = figure.strokes();
        let looks: Vec<_> = strokes.iter().map(|s| (s.dash, ((s.width - WIDTH) / WIDER).round())).collect();
        assert_eq!(strokes.iter().map(|s| s.ink.alpha).collect::<Vec<_>>(), [PALE, 1.0, 1.0, 1.0]);
        assert_eq!(looks, [(None, 2.0), (Some(OVER[0]), 1.0), (Some(OVER[1]), 0.0), (None, 0.0)]);
    }

    #[test]
    fn the_kept_epoch_is_a_line_with_its_name() {
        let series = Series { x: vec![1.0, 2.0, 3.0], y: vec![3.0, 1.0, 2.0], ..Default::default() };
        let drawn = |mark: Option<(f64, String)>| {
            let figure = CurvesFigure { series: vec![series.clone()], mark, ..Default::default() };
            let mut s = Svg::new(figure.size(), "");
            figure.draw(&mut s);
            s.finish()
        };
        let (with, without) = (drawn(Some((2.0, "kept: epoch 2".into()))), drawn(None));
        assert!(with.contains("kept: epoch 2") && !without.contains("kept"));
        let dashes = |svg: &str| svg.matches("stroke-dasharray").count();
        assert_eq!(dashes(&with), dashes(&without) + 2, "the line and its place in the legend");
    }
}
