//! Reliability of class probabilities: accuracy against confidence, the gap between them, and how many predictions
//! each bin holds.

use std::path::Path;

use super::Saved;
use super::axis::{Axis, usable};
use super::legend::{MARGIN, Symbol, draw_head, entry};
use super::numbers::{Cell, Numbers, named};
use super::palette::{BLUE, MUTED, VERMILLION};
use super::panels::thousands;
use super::plot::{Plot, REFERENCE, left_edge};
use super::save::{Figure, save};
use super::svg::{Rect, Stroke, Svg};
use crate::base::counted::counted;
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReliabilityFigure {
    pub title: String,
    /// (mean confidence, accuracy, number of predictions) of each bin; an empty bin has count 0.
    pub bins: Vec<(f64, f64, usize)>,
    /// Expected calibration error in 0..=1.
    pub ece: f64,
}

const CONFIDENCE: Stroke = Stroke::solid(VERMILLION, 3.0);
const BAR: f64 = 0.6;

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn reliability(dir: &Path, stem: &str, figure: &ReliabilityFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

/// Left and right edge of a bin, its mean confidence, its accuracy and its count.
type Bin = (f64, f64, f64, f64, usize);

/// Whether a bin has predictions and can be drawn.
fn is_filled(bin: &(f64, f64, usize)) -> bool {
    bin.2 > 0 && (0.0..=1.0).contains(&bin.0) && (0.0..=1.0).contains(&bin.1)
}

impl ReliabilityFigure {
    /// Left and right edge of each bin. Equal widths where the confidences agree with them, else edges half way
    /// between neighbouring confidences (bins of equal counts) and None where nothing can be drawn.
    fn edges(&self) -> Vec<Option<(f64, f64)>> {
        let n = self.bins.len().max(1) as f64;
        let equal: Vec<(f64, f64)> = (0..self.bins.len()).map(|i| (i as f64 / n, (i + 1) as f64 / n)).collect();
        let agrees =
            |(b, e): (&(f64, f64, usize), &(f64, f64))| !is_filled(b) || (e.0 - 1e-6..=e.1 + 1e-6).contains(&b.0);
        if self.bins.iter().zip(&equal).all(agrees) {
            return equal.into_iter().map(Some).collect();
        }
        let mut order: Vec<usize> = (0..self.bins.len()).filter(|i| is_filled(&self.bins[*i])).collect();
        order.sort_by(|a, b| self.bins[*a].0.total_cmp(&self.bins[*b].0));
        let between = |place: usize| (self.bins[order[place]].0 + self.bins[order[place + 1]].0) / 2.0;
        let mut edges = vec![None; self.bins.len()];
        for (place, &bin) in order.iter().enumerate() {
            let left = if place == 0 { 0.0 } else { between(place - 1) };
            let right = if place + 1 == order.len() { 1.0 } else { between(place) };
            edges[bin] = Some((left, right));
        }
        edges
    }

    fn filled(&self) -> Vec<Bin> {
        let both = self.bins.iter().zip(self.edges()).filter(|(b, _)| is_filled(b));
        both.filter_map(|(b, edges)| edges.map(|(left, right)| (left, right, b.0, b.1, b.2))).collect()
    }
}

impl Figure for ReliabilityFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let columns = [
            named("low", "left edge of the bin"),
            named("high", "right edge of the bin"),
            named("confidence", "mean probability of the predicted class"),
            "accuracy".into(),
            named("count", "predictions in the bin"),
            named("ece", "expected calibration error of all bins"),
        ];
        let mut numbers = Numbers::new(std::iter::once("bin".into()).chain(columns));
        for (i, (&(confidence, accuracy, count), edges)) in self.bins.iter().zip(self.edges()).enumerate() {
            let mut row: Vec<Cell> = vec![(i + 1).into(), edges.map(|e| e.0).into(), edges.map(|e| e.1).into()];
            row.extend([confidence.into(), accuracy.into(), count.into(), self.ece.into()]);
            numbers.push(row);
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        (640.0, 720.0)
    }

    fn draw(&self, s: &mut Svg) {
        let (width, height) = self.size();
        let bins = self.filled();
        let total = bins.iter().fold(0usize, |sum, b| sum.saturating_add(b.4));
        let ece = if usable(self.ece) { format!("{:.4}", self.ece) } else { "unknown".into() };
        // The metrics' own takes other bins.
        let n = counted(self.bins.len(), "equal bin");
        let subtitle = format!("expected calibration error {ece} ({n}) · {} predictions", thousands(total));
        let legend = [
            entry(Symbol::Patch(BLUE.alpha(BAR)), "accuracy"),
            entry(Symbol::Line(CONFIDENCE), "mean confidence"),
            entry(Symbol::Line(REFERENCE), "ideal"),
        ];
        let top = draw_head(s, width, &self.title, &subtitle, &legend) + 6.0;
        let bottom = height - 52.0;
        let split = bottom - 112.0;

        let most = bins.iter().map(|b| b.4).max().unwrap_or(0).max(1);
        let counts = Axis::linear(0.0, most as f64 * 1.12, 4);
        let unit = Axis::linear(0.0, 1.0, 5);
        let left = left_edge(&counts).max(left_edge(&unit));
        let area = Rect { left, top, right: width - MARGIN - 10.0, bottom: split };
        let plot = Plot { area, x: Axis::linear(0.0, 1.0, 10), y: unit };
        plot.draw_grid(s);
        for &(from, to, confidence, accuracy, _) in &bins {
            // A sliver of ground between the bars.
            let inset = (to - from) * 0.03;
            let sides = (from + inset, to - inset);
            plot.bar(s, sides, (0.0, accuracy), BLUE.alpha(BAR));
            plot.line(s, &[sides.0, sides.1], &[confidence, confidence], CONFIDENCE);
        }
        plot.line(s, &[0.0, 1.0], &[0.0, 1.0], REFERENCE);
        plot.draw_frame(s, false, true);
        plot.draw_y_label(s, "accuracy");

        let area = Rect { left, top: split + 14.0, right: width - MARGIN - 10.0, bottom };
        let below = Plot { area, x: Axis::linear(0.0, 1.0, 10), y: counts };
        below.draw_grid(s);
        for &(from, to, _, _, count) in &bins {
            let inset = (to - from) * 0.03;
            below.bar(s, (from + inset, to - inset), (0.0, count as f64), MUTED.alpha(0.7));
        }
        below.draw_frame(s, true, true);
        below.draw_x_label(s, "confidence (probability of the predicted class)");
        below.draw_y_label(s, "count");
        if bins.is_empty() {
            plot.draw_no_data(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_reaches_to_the_accuracy_and_a_line_marks_the_confidence() {
        let figure = ReliabilityFigure { bins: vec![(0.25, 0.4, 10), (0.75, 0.6, 10)], ..Default::default() };
        let mut s = Svg::new(figure.size(), "");
        figure.draw(&mut s);
        let svg = s.finish();
        assert!(svg.contains("mean confidence") && svg.contains(">accuracy<"), "{svg}");
        let count = |part: &str| svg.matches(part).count();
        let fill = format!("fill=\"{}\"", BLUE.hex());
        assert!(count(&fill) >= 3, "two bars and the legend: {svg}");
    }
}
