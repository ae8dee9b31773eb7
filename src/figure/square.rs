//! Figures on the unit square: coverage of intervals, and receiver operating characteristics.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, usable};
use super::legend::{Entry, Symbol, draw_head, entry};
use super::numbers::{Numbers, at, named};
use super::palette::{WHITE, series, series_dash};
use super::plot::{MARKERS, Plot, REFERENCE};
use super::save::{Figure, save};
use super::svg::{Stroke, Svg};
use crate::error::Result;

/// Share of observations inside central predictive intervals, against the share the model promised.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CoverageFigure {
    pub title: String,
    /// Nominal coverage in 0..=1.
    pub levels: Vec<f64>,
    /// (name, observed coverage at each level).
    pub observed: Vec<(String, Vec<f64>)>,
}

/// Detection of one class (out-of-distribution, error) by a score.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RocFigure {
    pub title: String,
    /// (name, false positive rates ascending, true positive rates).
    pub curves: Vec<(String, Vec<f64>, Vec<f64>)>,
}

const NOMINAL: &str = "nominal coverage of the central interval";
const OBSERVED: &str = "observed coverage";
/// Above the plot, where no curve can cross it.
const SIDES: &str = "above the line: intervals too wide (under-confident) · below it: too narrow (over-confident)";
const FALSE_POSITIVE: &str = "false positive rate";
const TRUE_POSITIVE: &str = "true positive rate";
const SIZE: (f64, f64) = (640.0, 690.0);

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn coverage(dir: &Path, stem: &str, figure: &CoverageFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn roc(dir: &Path, stem: &str, figure: &RocFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

fn stroke(i: usize) -> Stroke {
    Stroke { ink: series(i), width: 1.8, dash: series_dash(i) }
}

fn any_pair(x: &[f64], y: &[f64]) -> bool {
    x.iter().zip(y).any(|(x, y)| usable(*x) && usable(*y))
}

impl Figure for CoverageFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new(["series".into(), named("nominal", NOMINAL), named("observed", OBSERVED)]);
        for (name, observed) in &self.observed {
            for (i, level) in self.levels.iter().enumerate() {
                numbers.push(vec![name.into(), (*level).into(), at(observed, i)]);
            }
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        SIZE
    }

    fn draw(&self, s: &mut Svg) {
        let mut legend: Vec<Entry> = (self.observed.iter().enumerate())
            .map(|(i, (name, _))| entry(Symbol::Dotted(stroke(i), MARKERS[i % MARKERS.len()]), name.as_str()))
            .collect();
        legend.push(entry(Symbol::Line(REFERENCE), "ideal"));
        let top = draw_head(s, SIZE.0, &self.title, SIDES, &legend) + 6.0;
        let plot = Plot::square(top, SIZE, Axis::linear(0.0, 1.0, 5));
        plot.draw_grid(s);
        plot.line(s, &[0.0, 1.0], &[0.0, 1.0], REFERENCE);
        for (i, (_, observed)) in self.observed.iter().enumerate() {
            let mut pairs: Vec<(f64, f64)> = self.levels.iter().copied().zip(observed.iter().copied()).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            plot.line(s, &x, &y, stroke(i));
            if x.len() <= 40 {
                plot.markers(s, &x, &y, MARKERS[i % MARKERS.len()], 3.4, (series(i), WHITE));
            }
        }
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, NOMINAL);
        plot.draw_y_label(s, OBSERVED);
        if !self.observed.iter().any(|(_, y)| any_pair(&self.levels, y)) {
            plot.draw_no_data(s);
        }
    }
}

/// Area under a curve by the trapezoidal rule; None when it does not run from 0 to 1 in ascending order.
fn area_under(x: &[f64], y: &[f64]) -> Option<f64> {
    let whole = x.len() == y.len() && x.first()?.abs() < 1e-9 && (x.last()? - 1.0).abs() < 1e-9;
    let ascending = x.windows(2).all(|p| p[1] >= p[0]);
    let area: f64 = x.windows(2).zip(y.windows(2)).map(|(x, y)| (x[1] - x[0]) * (y[0] + y[1]) / 2.0).sum();
    (whole && ascending && area.is_finite()).then_some(area)
}

impl Figure for RocFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let columns =
            [named("fpr", FALSE_POSITIVE), named("tpr", TRUE_POSITIVE), named("auroc", "area under the curve")];
        let mut numbers = Numbers::new(std::iter::once("series".into()).chain(columns));
        for (name, x, y) in &self.curves {
            let area = area_under(x, y);
            for (i, fpr) in x.iter().enumerate() {
                numbers.push(vec![name.into(), (*fpr).into(), at(y, i), area.into()]);
            }
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        SIZE
    }

    fn draw(&self, s: &mut Svg) {
        let label = |(name, x, y): &(String, Vec<f64>, Vec<f64>)| match area_under(x, y) {
            Some(area) if !name.contains("AU") => format!("{name} (AUROC {area:.3})"),
            _ => name.clone(),
        };
        let mut legend: Vec<Entry> =
            (self.curves.iter().enumerate()).map(|(i, curve)| entry(Symbol::Line(stroke(i)), label(curve))).collect();
        legend.push(entry(Symbol::Line(REFERENCE), "chance"));
        let top = draw_head(s, SIZE.0, &self.title, "", &legend) + 6.0;
        let plot = Plot::square(top, SIZE, Axis::linear(0.0, 1.0, 5));
        plot.draw_grid(s);
        plot.line(s, &[0.0, 1.0], &[0.0, 1.0], REFERENCE);
        for (i, (_, x, y)) in self.curves.iter().enumerate() {
            plot.line(s, x, y, stroke(i));
        }
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, FALSE_POSITIVE);
        plot.draw_y_label(s, TRUE_POSITIVE);
        if !self.curves.iter().any(|(_, x, y)| any_pair(x, y)) {
            plot.draw_no_data(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::area_under;

    #[test]
    fn area_of_known_curves() {
        assert_eq!(area_under(&[0.0, 1.0], &[0.0, 1.0]), Some(0.5));
        assert_eq!(area_under(&[0.0, 0.0, 1.0], &[0.0, 1.0, 1.0]), Some(1.0));
        assert_eq!(area_under(&[0.0, 0.5], &[0.0, 1.0]), None);
        assert_eq!(area_under(&[], &[]), None);
        assert_eq!(area_under(&[0.0, f64::NAN, 1.0], &[0.0, 0.5, 1.0]), None);
    }
}
