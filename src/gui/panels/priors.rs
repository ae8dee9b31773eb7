//! Samples from learned priors, side by side on shared axes: the paper's figure 2, live.

use super::banner::Banner;
use super::controls::{again, controls_ui};
use super::keys;
use crate::bench::demo;
use crate::figure::{PriorFigure, PriorPanel};
use crate::gui::export::{Exports, Plottable};
use crate::gui::plots::navigate::{self, HINT, Reader};
use crate::gui::plots::symlog::Scale;
use crate::gui::plots::{axes, bands, prior};
use crate::gui::settings::Settings;
use crate::gui::theme::Colours;
use crate::live::{Command, Group, Picture, View};
use crate::method::vi;
use crate::tables::number;
use eframe::egui::{self, Slider};
use egui_plot::PlotPoint;

/// Of the demo: the three priors that the paper draws.
const METHODS: [&str; 3] = [demo::VIFO_AUX, vi::NAIVE.name, vi::MEAN.name];

#[derive(Default)]
pub struct Priors {
    pub group: Option<Group>,
    /// Chooses the draw.
    seed: u32,
    view: View,
    interval: f64,
    pace: f64,
}

impl Priors {
    pub fn poll(&mut self, interval: f64, banner: &mut Banner) {
        self.interval = interval;
        if let Some(group) = &mut self.group {
            banner.follow(group);
            if interval > 1.0 && interval > self.view.interval {
                // The window is hidden; the page asks for more again when it is seen.
                self.view.interval = interval;
                group.send(Command::View(self.view.clone()));
            }
        }
    }

    /// Nobody sees it train behind another page, and nothing there could stop it.
    pub fn in_front(&mut self, seen: bool) {
        if let Some(group) = &mut self.group {
            group.in_front(seen);
        }
    }

    fn start(&mut self, ui: &egui::Ui, banner: &mut Banner) {
        let wake = ui.ctx().clone();
        let started = || {
            let recipes: Vec<_> =
                METHODS.iter().map(|m| demo::recipe(m, "figure", 1)).collect::<crate::error::Result<_>>()?;
            let mut group = Group::new("vifo priors", move || wake.request_repaint())?;
            group.start(recipes, None, true);
            Ok(group)
        };
        match started() {
            Ok(group) => self.group = Some(group),
            Err(e) => banner.error(e),
        }
    }

    pub fn priors_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        banner: &mut Banner,
        exports: &mut Exports,
    ) {
        if self.group.is_none() {
            self.start(ui, banner);
        }
        egui::Panel::top("prior controls").show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                if let Some(group) = &mut self.group {
                    let anew = controls_ui(ui, group, false);
                    again(group, anew);
                }
                ui.separator();
                if ui.button("Resample").on_hover_text("Another draw from the same priors").clicked() {
                    self.seed = self.seed.wrapping_add(1);
                }
                ui.add(Slider::new(&mut settings.prior_curves, 1..=200).text("curves"));
                ui.add(Slider::new(&mut settings.prior_opacity, 0.05..=1.0).text("opacity"));
            });
            ui.weak("The prior predictive of each method: VI's prior on weights is uninformative, VIFO's learned prior on outputs follows the data.");
            ui.weak(HINT);
        });
        egui::CentralPanel::default().show(ui, |ui| self.plots_ui(ui, settings));
        let view = View {
            interval: self.interval.max(0.1),
            band_points: 101,
            prior: Some((settings.prior_curves, self.seed)),
            ..View::default()
        };
        if let Some(group) = &mut self.group {
            if view != self.view {
                self.view = view.clone();
                group.send(Command::View(view));
            }
            if self.pace.to_bits() != settings.pace.to_bits() {
                self.pace = settings.pace;
                group.send(Command::Pace((settings.pace > 0.0).then_some(settings.pace)));
            }
        }
        exports.offer(|| self.plottables());
    }

    fn plots_ui(&self, ui: &mut egui::Ui, settings: &Settings) {
        let Some(group) = &self.group else { return };
        let n = group.slots.len().min(group.snapshot.slots.len());
        if n == 0 {
            ui.weak("starting");
            return;
        }
        let colours = Colours::of(ui);
        let width = (ui.available_width() - 8.0 * (n as f32 - 1.0)) / n as f32;
        let height = ui.available_height() - 26.0;
        // Priors of weights reach a hundred times further than the data: one scale that holds both.
        let scale = Scale { linear_below: Some(1.0) };
        let all =
            group.snapshot.slots.iter().flat_map(|l| l.prior.iter().flatten().flatten()).filter(|v| v.is_finite());
        let (low, high) = all.fold((-3.0, 3.0), |(l, h): (f64, f64), v| (l.min(*v), h.max(*v)));
        let link = egui::Id::unique("priors");
        ui.horizontal(|ui| {
            for i in 0..n {
                let (slot, snapshot) = (&group.slots[i], &group.snapshot.slots[i]);
                let Picture::Band(band) = &snapshot.picture else { continue };
                ui.vertical(|ui| {
                    ui.set_width(width);
                    let method = slot.recipe.as_ref().map_or("", |r| r.method.name.as_str());
                    ui.strong(keys::method_name(method));
                    let plot = axes::plot(ui, format!("prior {i}"), "x", "y, logarithmic, linear near zero")
                        .width(width)
                        .height(height)
                        .link_axis(link, true)
                        .include_y(scale.to(low))
                        .include_y(scale.to(high))
                        .y_grid_spacer(move |input| scale.marks(input))
                        .y_axis_formatter(move |mark, _| scale.label(mark.value));
                    let read = |at: PlotPoint| Some(format!("x {}, y {}", number(at.x), number(scale.back(at.y))));
                    let name = format!("Functions from the prior of {}", keys::method_name(method));
                    let reader = Reader::new(name, &read);
                    navigate::show(ui, plot, &reader, |plot, _| {
                        if let Some(curves) = &snapshot.prior {
                            let drawn: Vec<Vec<f64>> =
                                curves.iter().map(|c| c.iter().map(|y| scale.to(*y)).collect()).collect();
                            let ink = colours.series(i).gamma_multiply(settings.prior_opacity);
                            prior::curves_ui(plot, &band.x, &drawn, settings.prior_curves as usize, ink);
                        }
                        let points = slot.points.train.iter().map(|p| [p[0], scale.to(p[1])]);
                        bands::points_ui(plot, "training points", points, Some(colours.point), colours.point_edge);
                    });
                });
            }
        });
    }

    fn plottables(&self) -> Vec<Plottable> {
        let Some(group) = &self.group else { return vec![] };
        let panels: Vec<PriorPanel> = group
            .slots
            .iter()
            .zip(&group.snapshot.slots)
            .filter_map(|(slot, snapshot)| {
                let Picture::Band(band) = &snapshot.picture else { return None };
                Some(PriorPanel {
                    title: keys::method_name(slot.recipe.as_ref().map_or("", |r| r.method.name.as_str())).into(),
                    x: band.x.clone(),
                    samples: snapshot.prior.clone()?,
                    train_x: slot.points.train.iter().map(|p| p[0]).collect(),
                    train_y: slot.points.train.iter().map(|p| p[1]).collect(),
                })
            })
            .collect();
        if panels.is_empty() {
            return vec![];
        }
        let figure = PriorFigure {
            title: "Predictions sampled from each learned prior".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            log: true,
            panels,
        };
        vec![Plottable::priors("priors", figure)]
    }
}
