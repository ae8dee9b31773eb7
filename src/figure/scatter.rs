//! Predicted against observed values with error bars: points on the diagonal are right, bars that miss it were too
//! sure.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, padded, robust, usable};
use super::legend::{Symbol, draw_head, entry};
use super::numbers::{Numbers, at, named};
use super::palette::{BLUE, WHITE};
use super::panels::{evenly, thousands};
use super::plot::{Marker, Plot, REFERENCE};
use super::save::{Figure, save};
use super::svg::{Stroke, Svg};
use crate::error::Result;

/// `x`, `y` and `sd` (of y) are of one length; an empty `sd` draws no bars.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScatterFigure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub sd: Vec<f64>,
}

const MOST_POINTS: usize = 500;

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn scatter(dir: &Path, stem: &str, figure: &ScatterFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

impl Figure for ScatterFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let (x, y) = (named("x", &self.x_label), named("y", &self.y_label));
        let mut numbers = Numbers::new([x, y, "sd".into()]);
        for (i, x) in self.x.iter().enumerate() {
            numbers.push(vec![(*x).into(), at(&self.y, i), at(&self.sd, i)]);
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        (640.0, 690.0)
    }

    fn draw(&self, s: &mut Svg) {
        let (width, _) = self.size();
        let pairs: Vec<(f64, f64, f64)> = (self.x.iter().zip(&self.y).enumerate())
            .filter(|(_, (x, y))| usable(**x) && usable(**y))
            .map(|(i, (x, y))| (*x, *y, self.sd.get(i).copied().unwrap_or(f64::NAN)))
            .collect();
        let drawn: Vec<(f64, f64, f64)> = evenly(pairs.len(), MOST_POINTS).into_iter().map(|i| pairs[i]).collect();
        let values: Vec<f64> = drawn.iter().flat_map(|p| [p.0, p.1]).collect();
        // One range for both axes, so that the diagonal is the diagonal.
        let (low, high) = padded(robust(&values).unwrap_or((0.0, 1.0)), 0.06);
        let inside = |v: f64| (low..=high).contains(&v);
        let outside = drawn.iter().filter(|p| !(inside(p.0) && inside(p.1))).count();

        let has_sd = drawn.iter().any(|p| usable(p.2));
        let mut notes = vec![match pairs.len() {
            n if n > MOST_POINTS => format!("{MOST_POINTS} of {} points drawn, evenly chosen", thousands(n)),
            n => format!("{} points", thousands(n)),
        }];
        if outside > 0 {
            notes.push(format!("{outside} outside the frame"));
        }
        let symbol = Symbol::Point(Marker::Circle, 2.8, BLUE, WHITE);
        let legend = [
            entry(symbol, if has_sd { "prediction, bar ±1 sd" } else { "prediction" }),
            entry(Symbol::Line(REFERENCE), "prediction = observation"),
        ];
        let top = draw_head(s, width, &self.title, &notes.join(" · "), &legend) + 6.0;

        let axis = Axis::linear(low, high, 7);
        let plot = Plot::square(top, self.size(), axis);
        plot.draw_grid(s);
        for &(x, y, sd) in &drawn {
            if sd.is_finite() && inside(x) {
                plot.line(s, &[x, x], &[y - sd, y + sd], Stroke::solid(BLUE.alpha(0.35), 1.0));
            }
        }
        let (x, y): (Vec<f64>, Vec<f64>) = drawn.iter().map(|p| (p.0, p.1)).unzip();
        plot.points(s, &x, &y, if drawn.len() > 200 { 2.1 } else { 3.0 }, BLUE.alpha(0.8));
        plot.line(s, &[low, high], &[low, high], REFERENCE);
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, &self.x_label);
        plot.draw_y_label(s, &self.y_label);
        if drawn.is_empty() {
            plot.draw_no_data(s);
        }
    }
}
