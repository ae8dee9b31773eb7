//! Learning curves: any number of series with a band of one sd, thinned to what the screen can show.

use super::axes;
use super::legend::{Entry, Mark, entry, switches_ui};
use super::navigate::{self, Reader};
use super::read;
use super::symlog::Scale;
use crate::figure::Series;
use eframe::egui::{self, Color32};
use egui_plot::{FilledArea, Line, LineStyle, PlotPoint, PlotPoints, VLine};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Beyond, a curve of any length is a flat line.
pub const MOST_SMOOTHING: f64 = 0.99;

/// One curve as it lies in its owner's columns: 100,000 points are not copied for every frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve<'a> {
    pub name: Cow<'a, str>,
    pub x: &'a [f64],
    pub y: &'a [f64],
    pub sd: Option<&'a [f64]>,
    /// Chooses colour and dash, so that one quantity looks the same wherever it is drawn; None = by its place in the list.
    pub look: Option<usize>,
}

impl<'a> Curve<'a> {
    pub fn of(series: &'a Series) -> Curve<'a> {
        Curve { name: Cow::Borrowed(&series.name), x: &series.x, y: &series.y, sd: series.sd.as_deref(), look: None }
    }

    pub fn named(self, name: impl Into<Cow<'a, str>>) -> Curve<'a> {
        Curve { name: name.into(), ..self }
    }

    pub fn to_series(&self) -> Series {
        Series { name: self.name.to_string(), x: self.x.to_vec(), y: self.y.to_vec(), sd: self.sd.map(<[f64]>::to_vec) }
    }
}

/// Lowest and highest point of each of `columns` equal parts of the range, in their order: what a line through all points
/// would cover. A value that is not finite ends a piece.
pub fn thin(x: &[f64], y: &[f64], (low, high): (f64, f64), columns: usize) -> Vec<Vec<PlotPoint>> {
    let n = x.len().min(y.len());
    let columns = columns.max(1);
    let inside = visible(&x[..n], (low, high));
    let mut pieces = vec![vec![]];
    let push = |pieces: &mut Vec<Vec<PlotPoint>>, i: usize| {
        if let Some(piece) = pieces.last_mut() {
            piece.push(PlotPoint::new(x[i], y[i]));
        }
    };
    if inside.len() <= 2 * columns {
        for i in inside {
            if y[i].is_finite() && x[i].is_finite() {
                push(&mut pieces, i);
            } else {
                pieces.push(vec![]);
            }
        }
        pieces.retain(|p| !p.is_empty());
        return pieces;
    }
    let usual = inside.len() / columns + 1;
    let mut at = inside.start;
    for column in 0..=columns {
        let edge = low + (high - low) * (column + 1) as f64 / columns as f64;
        let end = match column == columns {
            true => inside.end,
            false => {
                // Rows are mostly even: the edge is nearly always a few columns' worth away.
                let near = (at + 4 * usual).min(inside.end);
                let end = if near > at && x[near - 1] >= edge { near } else { inside.end };
                at + x[at..end].partition_point(|v| *v < edge)
            }
        };
        // Both ends keep the joints to the columns beside it.
        for part in runs_of_finite(&y[at..end]) {
            let (from, to) = (at + part.start, at + part.end);
            if from > at {
                pieces.push(vec![]);
            }
            let (lowest, highest) = extremes(&y[from..to]);
            let mut chosen = [from, from + lowest, from + highest, to - 1];
            chosen.sort_unstable();
            let mut last = usize::MAX;
            for c in chosen {
                if c != last {
                    push(&mut pieces, c);
                }
                last = c;
            }
            if to < end {
                pieces.push(vec![]);
            }
        }
        if end > at && !y[at..end].iter().any(|v| v.is_finite()) {
            pieces.push(vec![]);
        }
        at = end;
    }
    pieces.retain(|p| !p.is_empty());
    pieces
}

/// Ranges without a value that is not finite. Almost always there is one.
fn runs_of_finite(y: &[f64]) -> Vec<Range<usize>> {
    if lowest_and_highest(y).is_some() {
        return std::iter::once(0..y.len()).collect();
    }
    let mut runs: Vec<Range<usize>> = vec![];
    for (i, _) in y.iter().enumerate().filter(|(_, v)| v.is_finite()) {
        match runs.last_mut() {
            Some(run) if run.end == i => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// None if a value is not finite, or none is there. Eight at a time without a branch: every value of every curve comes by in
/// every frame.
fn lowest_and_highest(y: &[f64]) -> Option<(f64, f64)> {
    let (mut low, mut high, mut zero) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8], [0f64; 8]);
    let (eights, rest) = y.as_chunks::<8>();
    let mut take = |i: usize, v: f64| {
        low[i] = if v < low[i] { v } else { low[i] };
        high[i] = if v > high[i] { v } else { high[i] };
        // Becomes NaN with the first value that is not finite.
        zero[i] += v * 0.0;
    };
    for eight in eights {
        eight.iter().enumerate().for_each(|(i, v)| take(i, *v));
    }
    for (i, v) in rest.iter().enumerate() {
        take(i, *v);
    }
    let finite = !y.is_empty() && zero.into_iter().sum::<f64>() == 0.0;
    finite.then(|| (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(f64::NEG_INFINITY, f64::max)))
}

/// Indices of the lowest and the highest of finite values.
fn extremes(y: &[f64]) -> (usize, usize) {
    let (low, high) = lowest_and_highest(y).unwrap_or((f64::NAN, f64::NAN));
    let place = |of: f64| y.iter().position(|v| *v == of).unwrap_or(0);
    (place(low), place(high))
}

/// Indices whose x lies in the range, and one more on either side. x ascends.
fn visible(x: &[f64], (low, high): (f64, f64)) -> Range<usize> {
    let first = x.partition_point(|v| *v < low).saturating_sub(1);
    let end = (x.partition_point(|v| *v <= high) + 1).min(x.len());
    first..end.max(first)
}

/// Rows of a band, every so many so that there are about `columns` of them; a value that is not finite ends a piece.
fn pieces_of_band(x: &[f64], y: &[f64], sd: &[f64], range: (f64, f64), columns: usize) -> Vec<Vec<usize>> {
    let n = x.len().min(y.len()).min(sd.len());
    let inside = visible(&x[..n], range);
    let step = inside.len().div_ceil(columns.max(1)).max(1);
    let mut pieces = vec![vec![]];
    for i in inside.step_by(step) {
        match pieces.last_mut() {
            Some(piece) if x[i].is_finite() && (y[i] + sd[i]).is_finite() => piece.push(i),
            _ => pieces.push(vec![]),
        }
    }
    pieces.retain(|p| p.len() > 1);
    pieces
}

pub struct CurvesView<'a> {
    pub id: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    pub log: bool,
    /// Weight of what came before in a running mean: 0 = the values as they are, towards 1 = ever smoother.
    pub smoothing: f64,
    pub height: f32,
}

/// The running mean of values, each `weight` of the one before and the rest of its own, freed of the start at zero (Kingma and Ba
/// 2015, as in TensorBoard). What is not finite stays, and changes nothing behind it.
pub fn smooth(y: &[f64], weight: f64) -> Vec<f64> {
    let (mut mean, mut share) = (0.0, 0.0);
    let step = |v: &f64| {
        if !v.is_finite() {
            return *v;
        }
        (mean, share) = (weight * mean + (1.0 - weight) * v, weight * share + (1.0 - weight));
        mean / share
    };
    y.iter().map(step).collect()
}

fn style(i: usize) -> LineStyle {
    match crate::figure::palette::series_dash(i) {
        None => LineStyle::Solid,
        Some((on, _)) => LineStyle::Dashed { length: on as f32 },
    }
}

/// A line across all curves, at a place of the x axis.
pub struct At {
    pub x: f64,
    pub name: &'static str,
    pub colour: Color32,
    pub dashed: bool,
}

/// The legend of curves and marks; those whose names are not hidden, curves with their places.
fn legend_ui<'a, 'b, 'm>(
    ui: &mut egui::Ui,
    id: &str,
    series: &'b [Curve<'a>],
    colour: &impl Fn(usize) -> Color32,
    marks: &'m [At],
) -> (Vec<(usize, &'b Curve<'a>)>, Vec<&'m At>) {
    let look = |i: usize| series[i].look.unwrap_or(i);
    let mark = |i: usize| if style(look(i)) == LineStyle::Solid { Mark::Line } else { Mark::Dashed };
    let entries: Vec<Entry> = series
        .iter()
        .enumerate()
        .map(|(i, s)| entry(mark(i), colour(i), s.name.as_ref()))
        .chain(marks.iter().map(|m| entry(if m.dashed { Mark::Dashed } else { Mark::Line }, m.colour, m.name)))
        .collect();
    let hidden_at = egui::Id::unique(("hidden curves", id));
    let mut hidden: BTreeSet<String> = ui.data(|d| d.get_temp(hidden_at)).unwrap_or_default();
    switches_ui(ui, &entries, &mut hidden);
    let seen = series.iter().enumerate().filter(|(_, s)| !hidden.contains(&*s.name)).collect();
    let marked = marks.iter().filter(|m| !hidden.contains(m.name)).collect();
    ui.data_mut(|d| d.insert_temp(hidden_at, hidden));
    (seen, marked)
}

/// Draws the series. A click on a name of the legend hides its curve. Under a smoothed curve the values as they are stay in sight,
/// faint.
pub fn curves_ui(ui: &mut egui::Ui, view: &CurvesView, series: &[Curve], colour: impl Fn(usize) -> Color32) {
    marked_curves_ui(ui, view, series, colour, &[]);
}

/// The last number under the axis needs room beyond its end.
const BEYOND: f32 = 16.0;

/// The same with marks.
pub fn marked_curves_ui(
    ui: &mut egui::Ui,
    view: &CurvesView,
    series: &[Curve],
    colour: impl Fn(usize) -> Color32,
    marks: &[At],
) {
    let look = |i: usize| series[i].look.unwrap_or(i);
    let (colour, style) = (|i| colour(look(i)), |i| style(look(i)));
    let columns = ui.available_width().max(50.0) as usize;
    let before = ui.available_height();
    let (seen, marks) = legend_ui(ui, view.id, series, &colour, marks);
    let scale = if view.log { Scale::symlog(seen.iter().map(|(_, s)| s.y)) } else { Scale::LINEAR };
    let weight = view.smoothing.clamp(0.0, MOST_SMOOTHING);
    let height = (view.height - (before - ui.available_height())).max(80.0);
    let width = (ui.available_width() - BEYOND).max(60.0);
    let plot = axes::plot(ui, view.id.to_string(), view.x_label, view.y_label);
    let mut plot = plot.width(width).height(height).allow_boxed_zoom(true);
    if scale.linear_below.is_some() {
        plot = plot
            .y_grid_spacer(move |input| scale.marks(input))
            .y_axis_formatter(move |mark, _| scale.label(mark.value));
    }
    let shown: Vec<Curve> = seen.iter().map(|(_, s)| (*s).clone()).collect();
    let read = |at: PlotPoint| read::curves(&shown, view.x_label, at.x);
    let reader = Reader::new(format!("Learning curves: {} against {}", view.y_label, view.x_label), &read);
    navigate::show(ui, plot, &reader, |plot, _| {
        let auto = plot.auto_bounds().x;
        let bounds = plot.plot_bounds();
        let extent = || {
            let x =
                seen.iter().map(|(_, s)| s).flat_map(|s| [s.x.first(), s.x.last()]).flatten().filter(|v| v.is_finite());
            x.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)))
        };
        let range = if auto { extent() } else { (bounds.min()[0], bounds.max()[0]) };
        if range.1 - range.0 <= 0.0 || !(range.1 - range.0).is_finite() {
            // A single row, or none: a point at most.
            for &(i, s) in &seen {
                if let (Some(x), Some(y)) = (s.x.last(), s.y.last().filter(|y| y.is_finite())) {
                    let point = vec![PlotPoint::new(*x, scale.to(*y))];
                    plot.points(
                        egui_plot::Points::new(s.name.to_string(), PlotPoints::Owned(point))
                            .radius(3.0)
                            .color(colour(i)),
                    );
                }
            }
            return;
        }
        for &(i, s) in &seen {
            let Some(sd) = s.sd else { continue };
            for rows in pieces_of_band(s.x, s.y, sd, range, columns) {
                let x: Vec<f64> = rows.iter().map(|r| s.x[*r]).collect();
                let edge = |k: f64| rows.iter().map(|r| scale.to(s.y[*r] + k * sd[*r])).collect::<Vec<f64>>();
                let area = FilledArea::new(format!("{} ±", s.name), &x, &edge(-1.0), &edge(1.0)).name("");
                plot.add(area.fill_color(colour(i).gamma_multiply(0.18)).allow_hover(false));
            }
        }
        for mark in marks {
            let style = if mark.dashed { LineStyle::dashed_dense() } else { LineStyle::Solid };
            let line = VLine::new(mark.name, mark.x).color(mark.colour).width(1.4).style(style);
            plot.vline(line.allow_hover(false));
        }
        for &(i, s) in &seen {
            let mut draw = |y: &[f64], colour: Color32, width: f32, hover: bool| {
                for mut piece in thin(s.x, y, range, columns) {
                    piece.iter_mut().for_each(|p| p.y = scale.to(p.y));
                    let line = Line::new(s.name.to_string(), PlotPoints::Owned(piece));
                    plot.line(line.color(colour).width(width).style(style(i)).allow_hover(hover));
                }
            };
            if weight == 0.0 {
                draw(s.y, colour(i), 1.6, true);
            } else {
                draw(s.y, colour(i).gamma_multiply(0.3), 1.0, false);
                draw(&smooth(s.y, weight), colour(i), 1.8, true);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_extreme_and_every_gap() {
        let n = 100_000;
        let x: Vec<f64> = (0..n).map(f64::from).collect();
        let mut y: Vec<f64> = x.iter().map(|x| (x * 0.01).sin()).collect();
        (y[50_123], y[70_001], y[3]) = (9.0, f64::NAN, -7.0);
        let pieces = thin(&x, &y, (0.0, 99_999.0), 800);
        assert_eq!(pieces.len(), 2, "one gap");
        let all: Vec<PlotPoint> = pieces.concat();
        assert!(all.len() <= 4 * 801, "{}", all.len());
        assert!(all.iter().any(|p| p.y == 9.0) && all.iter().any(|p| p.y == -7.0));
        assert!(all.windows(2).all(|w| w[0].x <= w[1].x));
        assert_eq!((all[0].x, all[all.len() - 1].x), (0.0, 99_999.0));
    }

    #[test]
    fn a_running_mean_begins_at_the_first_value_and_passes_gaps() {
        // By hand, weight 1/2: 4; (4/4 + 2/2) / (3/4) = 8/3; the gap; (2/2 + 8/2) / (7/8) = 40/7.
        let y = smooth(&[4.0, 2.0, f64::NAN, 8.0], 0.5);
        assert!((y[0] - 4.0).abs() < 1e-12 && (y[1] - 8.0 / 3.0).abs() < 1e-12 && y[2].is_nan(), "{y:?}");
        assert!((y[3] - 40.0 / 7.0).abs() < 1e-12, "{y:?}");
        assert_eq!(smooth(&[3.0, 1.0], 0.0), [3.0, 1.0]);
    }

    #[test]
    fn a_zoomed_range_gets_its_own_points_and_its_neighbours() {
        let x: Vec<f64> = (0..1000).map(f64::from).collect();
        let pieces = thin(&x, &x, (10.5, 20.5), 800);
        assert_eq!(
            pieces.concat().iter().map(|p| p.x).collect::<Vec<_>>(),
            (10..=21).map(f64::from).collect::<Vec<_>>()
        );
        assert!(thin(&[], &[], (0.0, 1.0), 10).is_empty());
        assert!(thin(&[0.0, 1.0], &[f64::NAN, f64::INFINITY], (0.0, 1.0), 10).is_empty());
    }
}
