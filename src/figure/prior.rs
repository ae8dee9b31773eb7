//! Samples from the prior of the outputs, one panel per method, with the training points over them: does the prior
//! leave room where there is no data? (The paper's figure 2.)

use std::path::Path;

use super::Saved;
use super::axis::{central, extent, usable};
use super::bands::{draw_training_points, training_entry};
use super::legend::{Symbol, draw_head, entry};
use super::numbers::{Numbers, at, named};
use super::palette::{BLUE, SKY};
use super::panels::{MOST_PANELS, Shared, draw_grid, evenly, size, thousands, x_limits, y_limits};
use super::plot::{Marker, Plot};
use super::save::{Figure, save};
use super::svg::Svg;
use crate::error::Result;

/// Prior samples of several methods on the same axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriorFigure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// A symmetric logarithmic y axis, linear within the data's range: for priors of very different widths.
    pub log: bool,
    /// 1 to 8; further ones are not drawn, and the figure says so.
    pub panels: Vec<PriorPanel>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriorPanel {
    pub title: String,
    pub x: Vec<f64>,
    /// Each sample has one y for every x.
    pub samples: Vec<Vec<f64>>,
    pub train_x: Vec<f64>,
    pub train_y: Vec<f64>,
}

const MOST_POINTS: usize = 6000;

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn prior_samples(dir: &Path, stem: &str, figure: &PriorFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

impl PriorPanel {
    /// The samples drawn, evenly chosen as wholes, so that every x shows the same ones.
    fn chosen(&self) -> Vec<usize> {
        evenly(self.samples.len(), (MOST_POINTS / self.x.len().max(1)).max(1))
    }

    fn points(&self, samples: &[usize]) -> Vec<(f64, f64)> {
        let pairs = samples.iter().flat_map(|i| self.x.iter().copied().zip(self.samples[*i].iter().copied()));
        pairs.filter(|(x, y)| usable(*x) && usable(*y)).collect()
    }

    fn draw(&self, s: &mut Svg, plot: &Plot) {
        let all = self.points(&self.chosen());
        let chosen = evenly(all.len(), MOST_POINTS);
        let xs: Vec<f64> = chosen.iter().map(|i| all[*i].0).collect();
        let ys: Vec<f64> = chosen.iter().map(|i| all[*i].1).collect();
        let alpha = if chosen.len() > 2000 { 0.22 } else { 0.4 };
        plot.points(s, &xs, &ys, 1.3, BLUE.alpha(alpha));
        draw_training_points(s, plot, &self.train_x, &self.train_y);
        if all.is_empty() && self.train_x.is_empty() {
            plot.draw_no_data(s);
        }
    }
}

impl Figure for PriorFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let (x, y) = (named("x", &self.x_label), named("y", &self.y_label));
        let mut numbers = Numbers::new(["part".into(), "panel".into(), "curve".into(), x, y]);
        for panel in &self.panels {
            let mut add = |part: &str, curve: Option<usize>, x: &[f64], y: &[f64]| {
                for (i, x) in x.iter().enumerate() {
                    numbers.push(vec![part.into(), (&panel.title).into(), curve.into(), (*x).into(), at(y, i)]);
                }
            };
            for (i, sample) in panel.samples.iter().enumerate() {
                add("prior sample", Some(i + 1), &panel.x, sample);
            }
            add("training point", None, &panel.train_x, &panel.train_y);
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        size(self.panels.len())
    }

    fn draw(&self, s: &mut Svg) {
        let panels = &self.panels[..self.panels.len().min(MOST_PANELS)];
        let samples: Vec<Vec<f64>> =
            panels.iter().map(|p| p.points(&p.chosen()).iter().map(|p| p.1).collect()).collect();
        let fewest = panels.iter().filter(|p| p.chosen().len() < p.samples.len()).min_by_key(|p| p.chosen().len());
        let label = match fewest {
            Some(p) => {
                format!("prior samples ({} of {} drawn)", thousands(p.chosen().len()), thousands(p.samples.len()))
            }
            None => "prior samples".into(),
        };
        let mut legend = vec![entry(Symbol::Point(Marker::Circle, 2.2, BLUE, SKY), label)];
        let n_train = panels.iter().map(|p| p.train_x.len().min(p.train_y.len())).max().unwrap_or(0);
        if n_train > 0 {
            legend.push(training_entry(n_train));
        }
        let data: Vec<f64> = panels.iter().flat_map(|p| p.train_y.iter().copied()).collect();
        let xs = panels.iter().flat_map(|p| p.x.iter().chain(&p.train_x).copied());
        let mut notes = Vec::new();
        let limits = if self.log {
            notes.push("y: logarithmic, linear within the data's range".to_string());
            let wides = samples.iter().filter_map(|s| central(s.iter().copied(), 0.01)).flat_map(|w| [w.0, w.1]);
            let size = data.iter().copied().filter(|v| usable(*v)).fold(0.0, |m: f64, v| m.max(v.abs()));
            let y = extent(data.iter().copied().chain(wides)).unwrap_or((0.0, 1.0));
            Shared {
                x: x_limits(xs),
                y,
                log_from: Some(if size > 0.0 { libm::pow(10f64, libm::log10(size).round()) } else { 1.0 }),
            }
        } else {
            Shared { x: x_limits(xs), y: y_limits(&data, &samples), log_from: None }
        };
        let outside = samples.iter().flatten().filter(|v| !(limits.y.0..=limits.y.1).contains(*v)).count();
        if outside > 0 {
            notes.push(format!(
                "{} of {} points lie outside the frame",
                thousands(outside),
                thousands(samples.iter().map(Vec::len).sum())
            ));
        }
        if self.panels.len() > panels.len() {
            notes.push(format!("{} further panels are not drawn", self.panels.len() - panels.len()));
        }
        let top = draw_head(s, self.size().0, &self.title, &notes.join(" · "), &legend);
        let titles: Vec<&str> = panels.iter().map(|p| p.title.as_str()).collect();
        draw_grid(s, self.size(), top, &titles, (&self.x_label, &self.y_label), &limits, |s, plot, i| {
            match panels.get(i) {
                Some(panel) => panel.draw(s, plot),
                None => plot.draw_no_data(s),
            }
        });
    }
}
