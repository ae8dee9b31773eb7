//! Curves sampled from a prior.

use eframe::egui::Color32;
use egui_plot::{Line, PlotPoint, PlotPoints, PlotUi};

pub fn curves_ui<'a>(plot: &mut PlotUi<'a>, x: &[f64], curves: &[Vec<f64>], most: usize, colour: Color32) {
    for curve in curves.iter().take(most) {
        let points: Vec<PlotPoint> = x.iter().zip(curve).map(|(x, y)| PlotPoint::new(*x, *y)).collect();
        let line = Line::new("sampled from the prior", PlotPoints::Owned(points));
        plot.line(line.color(colour).width(1.0).allow_hover(false));
    }
}
