//! The picture of the playground: a band over one input, or a map over two, and the words above it.

use super::Playground;
use crate::data::Task;
use crate::data::toy::ToyKind;
use crate::figure::BOUNDARY;
use crate::gui::gallery;
use crate::gui::panels::tour::{self, Target};
use crate::gui::plots::legend::{Entry, Mark, entry, legend_ui};
use crate::gui::plots::navigate::{self, Reader};
use crate::gui::plots::{axes, bands, boundary, map, read};
use crate::gui::settings::{BandOptions, MapKind, Settings};
use crate::gui::theme::{self, Colours};
use eframe::egui::{self, Color32};
use egui_plot::PlotPoint;

impl Playground {
    pub(super) fn hint_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings) {
        let text = match self.task() {
            Task::Regression => {
                "The shaded band is where the network predicts new points: 68 % within the inner shade, 95 % within the outer. It should \
                 widen away from the data."
            }
            Task::Classification => {
                "Colour is the predicted class; it fades where the prediction is uncertain. Switch to entropy to see the total and the epistemic uncertainty."
            }
        };
        ui.horizontal_wrapped(|ui| {
            ui.label(text);
        });
        if !settings.hint_seen && self.can_edit() {
            ui.horizontal_wrapped(|ui| {
                ui.weak(
                    "Click adds a point, drag moves one, right-click removes it; training continues with them at once. Beside them: wheel zooms at the pointer, drag pans, double click shows all.",
                );
                if ui.small_button("Got it").clicked() {
                    settings.hint_seen = true;
                }
            });
        }
    }

    /// A plot that was panned, zoomed or clicked stands still until this. Always there: a button that comes and goes would move
    /// the plot under the mouse.
    fn show_all_ui(&mut self, ui: &mut egui::Ui) {
        let button = egui::Button::new("Show all").small();
        if ui
            .add_enabled(self.asked.is_some(), button)
            .on_hover_text("Axes that hold all points and the band")
            .clicked()
        {
            self.show_all = true;
        }
        // Elsewhere the menu above has it.
        if self.embedded {
            let tip = "The plot alone, in large type (Esc leaves)";
            self.ask_present |= ui.small_button("Present").on_hover_text(tip).clicked();
        }
    }

    pub(super) fn no_picture_ui(&self, ui: &mut egui::Ui, height: f32) {
        let text = match self.group.slots.first() {
            None if self.is_empty() => "Nothing is in training: change the recipe on the left, then start it.",
            None => "starting",
            Some(slot) if !slot.points.ranges.is_empty() => "starting",
            Some(_) => "This data has more than two inputs: see the curves below, and the results when it is done.",
        };
        ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
            ui.centered_and_justified(|ui| ui.weak(text));
        });
    }

    pub(super) fn band_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        height: f32,
        band: &crate::live::picture::Band,
        names: Option<&(Vec<String>, String)>,
    ) {
        let (members, truth) = (!band.members.is_empty(), self.truth.is_some());
        if !self.presented {
            band_options_ui(ui, &mut settings.bands, members, truth, |ui| self.show_all_ui(ui));
        }
        let colours = Colours::of(ui);
        let options = settings.bands;
        let points = self.points();
        let slot = self.group.slots.first();
        let data = &self.draft.data;
        let held_out: Vec<[f64; 3]> = match data.points {
            Some(_) => data.validation_points.iter().flatten().map(|r| [r[0], r[1], 0.0]).collect(),
            None => slot.map_or(vec![], |l| l.points.held_out.clone()),
        };
        let aux = slot.and_then(|l| l.points.aux.first().copied());
        let truth = self.truth;
        let (x_label, y_label) = names.map_or(("x", "y"), |n| (n.0.first().map_or("x", String::as_str), n.1.as_str()));
        let mut entries = bands::band_entries(band, &options, &colours);
        if options.truth && truth.and_then(ToyKind::truth).is_some() {
            entries.push(entry(Mark::Dashed, colours.truth, "truth"));
        }
        if options.aux && aux.is_some() {
            entries.push(entry(Mark::Dashed, colours.aux, "auxiliary inputs between"));
        }
        if options.points {
            entries.push(entry(Mark::Dot, colours.point, "training points"));
            if !held_out.is_empty() {
                entries.push(entry(Mark::Ring, colours.held_out, "validation points"));
            }
        }
        legend_ui(ui, &entries);
        self.grab(ui, &points);
        // On a narrow page the words above have more lines.
        let height = (height - 52.0).min(ui.available_height() - 4.0).max(120.0);
        let y_limits = limits(band, &points, &options);
        let mut plot = axes::plot(ui, "band", x_label, y_label).height(height).allow_drag(self.grabbed.is_none());
        if std::mem::take(&mut self.show_all) {
            plot = plot.reset();
        }
        if let Some((low, high)) = y_limits {
            plot = plot.include_y(low).include_y(high);
        }
        let still = self.grabbed.is_none() && !tour::is_over(ui.ctx());
        let read = |at: PlotPoint| read::band(band, (x_label, y_label), at.x).filter(|_| still);
        let reader = Reader {
            own_double_click: true,
            ..Reader::new(format!("Predictive band of {y_label} over {x_label}"), &read)
        };
        let shown = navigate::show(ui, plot, &reader, |plot, cross| {
            bands::band_ui(plot, band, &options, &colours);
            if let (true, Some(f)) = (options.truth, truth.and_then(ToyKind::truth)) {
                bands::truth_ui(plot, &band.x, f, &colours);
            }
            if let (true, Some(range)) = (options.aux, aux) {
                bands::aux_ui(plot, range, &colours);
            }
            if options.points {
                let held = held_out.iter().map(|p| [p[0], p[1]]);
                bands::points_ui(plot, "validation points", held, None, colours.held_out);
                let train = points.iter().map(|p| [p[0], p[1]]);
                bands::points_ui(plot, "training points", train, Some(colours.point), colours.point_edge);
            }
            self.edit(plot, &points, cross)
        });
        tour::mark(ui.ctx(), Target::Plot, with_axes(shown.response.rect));
        self.finish_edit(shown.transform, shown.inner, ui.input(|i| i.time));
    }

    fn map_options_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, classes: &[String]) {
        ui.horizontal_wrapped(|ui| {
            for (kind, name, tip) in [
                (MapKind::Probability, "Probability", "Class colours mixed by their probabilities"),
                (MapKind::Entropy, "Total entropy", "Predictive entropy, in nats: bright is uncertain"),
                (
                    MapKind::MutualInformation,
                    "Mutual information",
                    "The epistemic part (mutual information), in nats: what more data would reduce",
                ),
            ] {
                ui.selectable_value(&mut settings.map, kind, name).on_hover_text(tip);
            }
            ui.checkbox(&mut settings.boundary, "decision boundary").on_hover_text(boundary::RULE);
            ui.separator();
            ui.label("click adds").on_hover_text(
                "The class of a point that a click adds. A new class restarts training, after you confirm.",
            );
            for class in 0..(classes.len() + 1).min(8) {
                let name = classes.get(class).cloned().unwrap_or_else(|| "new class".into());
                let text = egui::RichText::new(name).color(if self.new_class == class {
                    Color32::WHITE
                } else {
                    theme::class(class)
                });
                let button = egui::Button::selectable(self.new_class == class, text);
                let button = if self.new_class == class { button.fill(theme::class(class)) } else { button };
                if ui.add(button).clicked() {
                    self.new_class = class;
                }
            }
            if self.new_class >= classes.len() {
                ui.weak("its first point asks for a restart");
            }
            self.show_all_ui(ui);
        });
    }

    // Long: the picture from the bottom layer to the top one.
    pub(super) fn map_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        height: f32,
        picture: &crate::live::picture::Map,
        names: Option<&(Vec<String>, String)>,
    ) {
        let number = self.group.snapshot.number;
        let classes = self.classes(picture.k);
        if !self.presented {
            self.map_options_ui(ui, settings, &classes);
        }
        let colours = Colours::of(ui);
        let points = self.points();
        let (x_label, y_label) = names.map_or(("x1", "x2"), |n| {
            (n.0.first().map_or("x1", String::as_str), n.0.get(1).map_or("x2", String::as_str))
        });
        let (kind, with_boundary) = (settings.map, settings.boundary);
        self.texture.update(ui, picture, kind, number);
        let mut entries: Vec<Entry> = classes
            .iter()
            .enumerate()
            .map(|(i, name)| entry(Mark::Shape(theme::class_marker(i)), theme::class(i), format!("class {name}")))
            .collect();
        if with_boundary {
            entries.push(match kind {
                MapKind::Probability => entry(Mark::Line, colours.boundary, BOUNDARY),
                _ => entry(Mark::LineOnMap, Color32::WHITE, BOUNDARY),
            });
        }
        legend_ui(ui, &entries);
        self.grab(ui, &points);
        // On a narrow page the words above have more lines.
        let height = (height - 52.0).min(ui.available_height() - 4.0).max(120.0);
        let width = ui.available_width();
        let segments = if with_boundary { boundary::segments(picture) } else { vec![] };
        let scale = (kind != MapKind::Probability).then(|| map::values(picture, kind).1);
        ui.horizontal(|ui| {
            let mut plot = axes::plot(ui, "map", x_label, y_label)
                .width(width - if scale.is_some() { 70.0 } else { 0.0 })
                .height(height)
                .allow_drag(self.grabbed.is_none());
            if std::mem::take(&mut self.show_all) {
                plot = plot.reset();
            }
            let still = self.grabbed.is_none() && !tour::is_over(ui.ctx());
            let read = |at: PlotPoint| read::map(picture, (x_label, y_label), &classes, (at.x, at.y)).filter(|_| still);
            let reader = Reader {
                own_double_click: true,
                ..Reader::new(format!("Map of the predicted classes over {x_label} and {y_label}"), &read)
            };
            let shown = navigate::show(ui, plot, &reader, |plot, cross| {
                self.texture.draw(plot, picture);
                map::boundary_ui(
                    plot,
                    &segments,
                    if kind == MapKind::Probability { colours.boundary } else { Color32::WHITE },
                );
                for (class, name) in classes.iter().enumerate() {
                    let of = points.iter().filter(|p| p[2] as usize == class).map(|p| [p[0], p[1]]);
                    bands::class_ui(plot, &format!("class {name}"), of, class);
                }
                self.edit(plot, &points, cross)
            });
            tour::mark(ui.ctx(), Target::Plot, with_axes(shown.response.rect));
            self.finish_edit(shown.transform, shown.inner, ui.input(|i| i.time));
            if let Some(most) = scale {
                scale_ui(ui, most, height);
            }
        });
    }

    /// What inputs and target are called.
    pub fn names(&self) -> Option<(Vec<String>, String)> {
        let slot = self.group.slots.first()?;
        let known = slot.recipe.as_deref().and_then(gallery::axes);
        let own = || (slot.points.inputs.clone(), slot.points.target.clone());
        Some(known.map_or_else(own, |[x, y]| (vec![x.clone()], y.clone())))
    }

    /// Names of the classes; the recipe's points count them by number.
    pub fn classes(&self, k: usize) -> Vec<String> {
        let known = self.group.slots.first().map_or(&[][..], |l| l.points.classes.as_slice());
        // A class that waits for a restart has points already.
        let drawn = self.draft.data.points.iter().flatten().filter_map(|r| r.get(2)).fold(0.0, |most, c| c.max(most));
        let drawn = if self.draft.data.points.is_some() { drawn as usize + 1 } else { 0 };
        (0..k.max(known.len()).max(drawn)).map(|i| known.get(i).cloned().unwrap_or_else(|| i.to_string())).collect()
    }
}

/// A plot with the numbers of its axes.
fn with_axes(rect: egui::Rect) -> egui::Rect {
    egui::Rect::from_min_max(rect.min - egui::vec2(52.0, 0.0), rect.max + egui::vec2(0.0, 36.0))
}

/// What a band must show: the points and, at most one and a half times their range further, the wider band.
pub fn limits(band: &crate::live::picture::Band, points: &[[f64; 3]], options: &BandOptions) -> Option<(f64, f64)> {
    let (low, high) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p[1]), h.max(p[1])));
    let reach = 1.5 * (high - low).max(1e-6);
    let edge = |sign: f64| {
        let shade = |i: usize| bands::shade_sd(band, options, i).unwrap_or(0.0);
        (0..band.mean.len())
            .map(move |i| band.mean[i] + sign * 2.0 * shade(i))
            .filter(|v| v.is_finite())
            .collect::<Vec<f64>>()
    };
    let bottom = edge(-1.0).into_iter().fold(f64::INFINITY, f64::min).max(low - reach);
    let top = edge(1.0).into_iter().fold(f64::NEG_INFINITY, f64::max).min(high + reach);
    (bottom < top).then_some((bottom.min(low), top.max(high)))
}

/// `end` stands at the end of the row.
pub fn band_options_ui(
    ui: &mut egui::Ui,
    options: &mut BandOptions,
    members: bool,
    truth: bool,
    end: impl FnOnce(&mut egui::Ui),
) {
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut options.one_sd, "1 sd");
        ui.checkbox(&mut options.two_sd, "2 sd");
        ui.separator();
        ui.checkbox(&mut options.aleatoric, "aleatoric")
            .on_hover_text("Aleatoric: noise in the data, which more points do not reduce");
        ui.checkbox(&mut options.epistemic, "epistemic")
            .on_hover_text("Epistemic: what the network does not know, which more points reduce");
        ui.separator();
        if members {
            ui.checkbox(&mut options.members, "members").on_hover_text("The mean of each network in the ensemble");
        }
        if truth {
            ui.checkbox(&mut options.truth, "truth").on_hover_text("The true function of the toy data, without noise");
        }
        ui.checkbox(&mut options.aux, "auxiliary range")
            .on_hover_text("Inputs for the auxiliary regularizer are drawn between these lines");
        ui.checkbox(&mut options.points, "points");
        end(ui);
    });
}

/// A colour scale from 0 to `most` nats.
fn scale_ui(ui: &mut egui::Ui, most: f64, height: f32) {
    let (response, painter) = ui.allocate_painter(egui::vec2(60.0, height), egui::Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Colour scale from 0 to {most:.2} nats"))
    });
    let area = response.rect.shrink2(egui::vec2(0.0, 24.0));
    let bar = egui::Rect::from_min_size(area.min, egui::vec2(14.0, area.height()));
    const PARTS: usize = 64;
    for i in 0..PARTS {
        let top = bar.bottom() - bar.height() * (i + 1) as f32 / PARTS as f32;
        let part =
            egui::Rect::from_min_size(egui::pos2(bar.left(), top), egui::vec2(14.0, bar.height() / PARTS as f32 + 0.5));
        painter.rect_filled(part, 0.0, theme::heat(i as f64 / (PARTS - 1) as f64));
    }
    let ink = ui.visuals().text_color();
    let font = egui::FontId::proportional(11.0);
    for (share, text) in [(0.0, "0".to_string()), (0.5, format!("{:.2}", most / 2.0)), (1.0, format!("{most:.2}"))] {
        let at = egui::pos2(bar.right() + 4.0, bar.bottom() - bar.height() * share);
        painter.text(at, egui::Align2::LEFT_CENTER, text, font.clone(), ink);
    }
    painter.text(egui::pos2(bar.left(), bar.top() - 12.0), egui::Align2::LEFT_CENTER, "nats", font, ink);
}
