//! Overlaid densities of a score in several groups, for example the predictive entropy on known and unknown inputs.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, extent, robust, usable, widen};
use super::legend::{Symbol, draw_head, entry};
use super::numbers::{Numbers, named};
use super::palette::series;
use super::panels::thousands;
use super::plot::Plot;
use super::save::{Figure, save};
use super::svg::{Stroke, Svg};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistogramFigure {
    pub title: String,
    pub x_label: String,
    /// (name, values).
    pub groups: Vec<(String, Vec<f64>)>,
    /// Number of bins; 0 lets the figure choose.
    pub bins: usize,
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn histograms(dir: &Path, stem: &str, figure: &HistogramFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

/// Density of the usable values in equal bins of [low, high]; values outside count in the total.
fn density(values: &[f64], (low, high): (f64, f64), bins: usize) -> Vec<f64> {
    let width = (high - low) / bins as f64;
    let mut counts = vec![0usize; bins];
    let mut total = 0usize;
    for v in values.iter().filter(|v| usable(**v)) {
        total += 1;
        if (low..=high).contains(v) {
            counts[(((v - low) / width) as usize).min(bins - 1)] += 1;
        }
    }
    counts.into_iter().map(|c| c as f64 / (total.max(1) as f64 * width)).collect()
}

impl Figure for HistogramFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::new(["group".into(), named("value", &self.x_label)]);
        for (name, values) in &self.groups {
            values.iter().for_each(|v| numbers.push(vec![name.into(), (*v).into()]));
        }
        numbers
    }

    fn draw(&self, s: &mut Svg) {
        let (width, _) = self.size();
        let all: Vec<f64> = self.groups.iter().flat_map(|g| g.1.iter().copied()).filter(|v| usable(*v)).collect();
        let (low, high) = robust(&all).unwrap_or((0.0, 1.0));
        let (low, high) = widen(low, high);
        let bins = if self.bins == 0 { 30 } else { self.bins.min(400) };
        let outside = all.iter().filter(|v| !(low..=high).contains(*v)).count();
        let notes =
            if outside > 0 { format!("{} values outside the frame", thousands(outside)) } else { String::new() };
        let legend: Vec<_> = (self.groups.iter().enumerate())
            .map(|(i, (name, values))| {
                let n = values.iter().filter(|v| usable(**v)).count();
                entry(
                    Symbol::Band(Stroke::solid(series(i), 1.8), series(i).alpha(0.25)),
                    format!("{name} (n = {})", thousands(n)),
                )
            })
            .collect();
        let top = draw_head(s, width, &self.title, &notes, &legend) + 4.0;

        let densities: Vec<Vec<f64>> = self.groups.iter().map(|g| density(&g.1, (low, high), bins)).collect();
        let tallest = extent(densities.iter().flatten().copied()).map_or(1.0, |e| e.1);
        let y = Axis::linear(0.0, if tallest > 0.0 { tallest * 1.06 } else { 1.0 }, 7);
        let plot = Plot::below(top, self.size(), Axis::linear(low, high, 10), y);
        plot.draw_grid(s);
        let edge = |i: usize| low + (high - low) * i as f64 / bins as f64;
        // The outline: up, across and down at every bin.
        let x: Vec<f64> = (0..=bins).flat_map(|i| [edge(i), edge(i)]).collect();
        let outlines: Vec<Vec<f64>> = (densities.iter())
            .map(|d| std::iter::once(0.0).chain(d.iter().flat_map(|v| [*v, *v])).chain(std::iter::once(0.0)).collect())
            .collect();
        for (i, y) in outlines.iter().enumerate() {
            plot.band(s, &x, &vec![0.0; y.len()], y, series(i).alpha(0.25));
        }
        for (i, y) in outlines.iter().enumerate() {
            plot.line(s, &x, y, Stroke::solid(series(i), 1.6));
        }
        plot.draw_frame(s, true, true);
        plot.draw_x_label(s, &self.x_label);
        plot.draw_y_label(s, "density");
        if all.is_empty() {
            plot.draw_no_data(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::density;

    #[test]
    fn a_density_has_area_one() {
        let values: Vec<f64> = (0..100).map(f64::from).chain([f64::NAN]).collect();
        let d = density(&values, (0.0, 99.0), 9);
        assert!((d.iter().sum::<f64>() * 11.0 - 1.0).abs() < 1e-12);
    }
}
