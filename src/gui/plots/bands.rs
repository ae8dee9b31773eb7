//! A predictive band: mean, shade of one and two sd, members, truth, auxiliary range and points.

use super::legend::{Entry, Mark, entry};
use crate::gui::settings::BandOptions;
use crate::gui::theme::{self, Colours};
use crate::live::picture::Band;
use eframe::egui::{Color32, Stroke};
use egui_plot::{FilledArea, Line, LineStyle, MarkerShape, PlotPoint, PlotPoints, PlotUi, Points, VLine};

/// More members than this make a grey area.
const MOST_MEMBERS: usize = 30;
/// More points than this cover the plot.
const MOST_DRAWN: usize = 3000;

fn line<'a>(name: &str, x: &[f64], y: impl Iterator<Item = f64>) -> Line<'a> {
    let points: Vec<PlotPoint> = x.iter().zip(y).map(|(x, y)| PlotPoint::new(*x, y)).collect();
    Line::new(name, PlotPoints::Owned(points)).allow_hover(false)
}

/// Standard deviation of the chosen parts of the variance at point `i`; None if none is chosen.
pub fn shade_sd(band: &Band, options: &BandOptions, i: usize) -> Option<f64> {
    match (options.aleatoric, options.epistemic) {
        (true, true) => Some(band.total_sd(i)),
        (true, false) => Some(band.aleatoric_sd[i]),
        (false, true) => Some(band.epistemic_sd[i]),
        (false, false) => None,
    }
}

/// "total", "aleatoric" or "epistemic": what the shade stands for.
pub fn shade_name(options: &BandOptions) -> &'static str {
    match (options.aleatoric, options.epistemic) {
        (true, true) => "total",
        (true, false) => "aleatoric",
        _ => "epistemic",
    }
}

pub fn band_ui<'a>(plot: &mut PlotUi<'a>, band: &Band, options: &BandOptions, colours: &Colours) {
    let sd: Option<Vec<f64>> = (0..band.x.len()).map(|i| shade_sd(band, options, i)).collect();
    if let Some(sd) = sd.filter(|sd| sd.iter().all(|v| v.is_finite()) && !sd.is_empty()) {
        let what = shade_name(options);
        for (k, shown, alpha) in [(2.0, options.two_sd, 0.14), (1.0, options.one_sd, 0.24)] {
            if shown {
                let edge =
                    |sign: f64| -> Vec<f64> { band.mean.iter().zip(&sd).map(|(m, s)| m + sign * k * s).collect() };
                let area = FilledArea::new(format!("±{k} sd {what}"), &band.x, &edge(-1.0), &edge(1.0));
                plot.add(area.fill_color(colours.band.gamma_multiply(alpha)).allow_hover(false));
            }
        }
    }
    if options.members {
        for member in band.members.iter().take(MOST_MEMBERS) {
            plot.line(line("members", &band.x, member.iter().copied()).color(colours.member).width(1.0));
        }
    }
    plot.line(line("predictive mean", &band.x, band.mean.iter().copied()).color(colours.mean).width(2.2));
}

/// What `band_ui` draws.
pub fn band_entries(band: &Band, options: &BandOptions, colours: &Colours) -> Vec<Entry> {
    let mut all = vec![entry(Mark::Line, colours.mean, "predictive mean")];
    if options.aleatoric || options.epistemic {
        let what = shade_name(options);
        for (k, shown, alpha) in [(1, options.one_sd, 0.38), (2, options.two_sd, 0.14)] {
            if shown {
                all.push(entry(Mark::Patch, colours.band.gamma_multiply(alpha), format!("±{k} sd {what}")));
            }
        }
    }
    if options.members && !band.members.is_empty() {
        all.push(entry(Mark::Line, colours.member, "members"));
    }
    all
}

pub fn truth_ui<'a>(plot: &mut PlotUi<'a>, x: &[f64], truth: impl Fn(f64) -> f64, colours: &Colours) {
    let dashed = LineStyle::Dashed { length: 7.0 };
    plot.line(line("truth", x, x.iter().map(|x| truth(*x))).color(colours.truth).width(1.3).style(dashed));
}

/// The ends of the range from which auxiliary inputs are drawn.
pub fn aux_ui<'a>(plot: &mut PlotUi<'a>, (low, high): (f64, f64), colours: &Colours) {
    for x in [low, high] {
        let stroke = Stroke::new(1.2, colours.aux);
        plot.vline(
            VLine::new("auxiliary inputs between", x)
                .stroke(stroke)
                .style(LineStyle::dashed_dense())
                .allow_hover(false),
        );
    }
}

/// Points to train on, and hollow ones that are held out.
pub fn points_ui<'a>(
    plot: &mut PlotUi<'a>,
    name: &str,
    points: impl Iterator<Item = [f64; 2]>,
    fill: Option<Color32>,
    edge: Color32,
) {
    marks_ui(plot, name, points, (fill, edge), MarkerShape::Circle);
}

/// Points of a class, by its colour and its shape.
pub fn class_ui<'a>(plot: &mut PlotUi<'a>, name: &str, points: impl Iterator<Item = [f64; 2]>, class: usize) {
    marks_ui(plot, name, points, (Some(theme::class(class)), Color32::WHITE), theme::class_marker(class));
}

fn marks_ui<'a>(
    plot: &mut PlotUi<'a>,
    name: &str,
    points: impl Iterator<Item = [f64; 2]>,
    (fill, edge): (Option<Color32>, Color32),
    shape: MarkerShape,
) {
    let mut points: Vec<PlotPoint> = points.map(PlotPoint::from).collect();
    let step = points.len().div_ceil(MOST_DRAWN).max(1);
    if step > 1 {
        points = points.into_iter().step_by(step).collect();
    }
    let radius = if points.len() > 400 { 2.2 } else { 3.6 };
    if points.is_empty() {
        return;
    }
    if points.len() <= 2000 {
        let rim = Points::new(name.to_string(), PlotPoints::Owned(points.clone())).id(format!("{name} rim"));
        plot.points(rim.radius(radius + 0.9).color(edge).filled(fill.is_some()).shape(shape).allow_hover(false));
    }
    if let Some(fill) = fill {
        plot.points(
            Points::new(name.to_string(), PlotPoints::Owned(points))
                .radius(radius)
                .color(fill)
                .shape(shape)
                .allow_hover(false),
        );
    }
}
