//! Methods side by side: two to four trainings in step, on the playground's points, with the same seed and linked axes.

use super::banner::Banner;
use super::controls::{again, controls_ui};
use super::keys;
use super::playground::{Playground, band_options_ui, limits as limits_of};
use crate::data::Task;
use crate::gui::export::{Exports, Plottable, band_panel, map_panel};
use crate::gui::film::Scene;
use crate::gui::plots::legend::{Mark, entry, legend_ui};
use crate::gui::plots::navigate::{self, HINT, Reader};
use crate::gui::plots::{axes, bands, boundary, map, read};
use crate::gui::present;
use crate::gui::settings::{BandOptions, MapKind, Settings};
use crate::gui::theme::Colours;
use crate::live::{Command, Group, Keep, Picture, View, kept_in};
use crate::method::{self, vifo};
use crate::recipe::Recipe;
use crate::run::RunFolder;
use crate::tables::number;
use eframe::egui::{self, Color32};
use egui_plot::PlotPoint;
use std::path::{Path, PathBuf};

#[derive(Default)]
pub struct SideBySide {
    pub group: Option<Group>,
    /// What the group was started with.
    started: Vec<Recipe>,
    home: Option<PathBuf>,
    /// The next start goes on with nothing.
    anew: bool,
    textures: Vec<map::MapTexture>,
    interval: f64,
    pace: f64,
}

/// The playground's recipe with another method. VI starts as the paper has it on the toy.
pub fn with_method(base: &Recipe, method: &str) -> Recipe {
    let mut recipe = base.clone();
    recipe.method.name = method.into();
    method::adapt(&mut recipe);
    if let Some(method) = method::find(method) {
        method.adapt_to_toy(&mut recipe);
    }
    recipe.name = Some(method.into());
    recipe
}

/// What all plots show of y: the points, and of the bands what lies within the points' range beyond them. Far bands would squeeze the
/// data; a double click shows them whole.
fn limits(group: &Group, options: &BandOptions) -> (f64, f64) {
    let of_slots = group.slots.iter().zip(&group.snapshot.slots).filter_map(|(slot, look)| match &look.picture {
        Picture::Band(band) => limits_of(band, &slot.points.train, options),
        _ => None,
    });
    let (low, high) = of_slots.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (a, b)| (l.min(a), h.max(b)));
    let edge = 0.03 * (high - low);
    if low < high { (low - edge, high + edge) } else { (-1.0, 1.0) }
}

fn look(interval: f64) -> View {
    View { interval: interval.max(0.05), band_points: 121, map_cells: 40, ..View::default() }
}

impl SideBySide {
    pub fn poll(&mut self, interval: f64, banner: &mut Banner) {
        let Some(group) = &mut self.group else {
            self.interval = interval;
            return;
        };
        banner.follow(group);
        // As a frame takes; far less often in a window that is hidden.
        if (interval - self.interval).abs() > 0.2 * self.interval {
            self.interval = interval;
            group.send(Command::View(look(interval)));
        }
    }

    /// Nobody sees it train behind another page, and nothing there could stop it.
    pub fn in_front(&mut self, seen: bool) {
        if let Some(group) = &mut self.group {
            group.in_front(seen);
        }
    }

    /// The next time that the page is in front it starts with what the playground has then.
    pub fn begin_anew(&mut self) {
        (self.group, self.anew) = (None, true);
    }

    /// Where its trainings are kept between two starts of the app.
    pub fn kept(home: &Path) -> SideBySide {
        SideBySide { home: Some(home.join("side")), ..SideBySide::default() }
    }

    /// Whether what is kept there are these trainings, and no other window has them.
    fn can_resume(path: &Path, recipes: &[Recipe]) -> bool {
        recipes.iter().enumerate().all(|(i, recipe)| {
            let folder = RunFolder::open(&kept_in(path, i, recipes.len()));
            folder.is_ok_and(|f| !f.is_held() && f.recipe().is_ok_and(|r| r == *recipe))
        })
    }

    fn start(&mut self, ui: &egui::Ui, settings: &Settings, playground: &Playground, banner: &mut Banner) {
        let wake = ui.ctx().clone();
        // A first start goes on with what the window was closed with.
        let (group, is_first) = match self.group.take() {
            Some(group) => (Ok(group), false),
            None => (Group::new("vifo side by side", move || wake.request_repaint()), !self.anew),
        };
        self.anew = false;
        match group {
            Ok(mut group) => {
                self.started = settings.side.iter().map(|m| with_method(&playground.draft, m)).collect();
                group.send(Command::View(look(self.interval)));
                let home = self.home.clone().filter(|_| !playground.is_second);
                match home {
                    Some(path) if is_first && Self::can_resume(&path, &self.started) => {
                        group.send(Command::Resume { path, more: None, report: false, running: true });
                    }
                    home => {
                        let keep = home.map(|path| Keep { path, force: true, report: false });
                        group.start(self.started.clone(), keep, true);
                    }
                }
                self.group = Some(group);
            }
            Err(e) => banner.error(e),
        }
    }

    pub fn side_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        playground: &Playground,
        banner: &mut Banner,
        exports: &mut Exports,
    ) {
        let task = playground.asked_task().unwrap_or(Task::Classification);
        for method in settings.side.iter_mut().filter(|m| !keys::suits(m, task)) {
            // Of points before.
            *method = method::default_name();
        }
        if self.group.is_none() {
            self.start(ui, settings, playground, banner);
        }
        let wanted: Vec<Recipe> = settings.side.iter().map(|m| with_method(&playground.draft, m)).collect();
        egui::Panel::top("side controls").show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                let can_begin = self.group.as_ref().is_some_and(|g| !g.is_starting());
                let begin = self.group.as_mut().is_some_and(|group| {
                    let anew = controls_ui(ui, group, can_begin);
                    again(group, anew)
                });
                if begin {
                    self.start(ui, settings, playground, banner);
                }
                ui.separator();
                for i in 0..settings.side.len() {
                    let mut method = settings.side[i].clone();
                    if keys::method_ui(ui, &format!("method {}", i + 1), &mut method, &|m| keys::unsuited(m, task)) {
                        settings.side[i] = method;
                    }
                }
                if ui.add_enabled(settings.side.len() < 4, egui::Button::new("Add method")).clicked() {
                    settings.side.push(vifo::NAIVE.name.into());
                }
                if ui.add_enabled(settings.side.len() > 2, egui::Button::new("Remove last")).clicked() {
                    settings.side.pop();
                }
            });
            ui.horizontal_wrapped(|ui| {
                ui.weak("The playground's points, network and settings; all from one seed, with the same steps each. Paused while another page is open.");
                ui.weak(HINT);
                if wanted != self.started
                    && ui
                        .button("Restart with changes")
                        .on_hover_text("Other methods or settings, from step 0")
                        .clicked()
                {
                    self.start(ui, settings, playground, banner);
                }
            });
        });
        egui::CentralPanel::default().show(ui, |ui| self.plots_ui(ui, settings, true));
        if let Some(group) = &mut self.group
            && self.pace.to_bits() != settings.pace.to_bits()
        {
            self.pace = settings.pace;
            group.send(Command::Pace((settings.pace > 0.0).then_some(settings.pace)));
        }
        self.offer(settings, exports);
    }

    // Long: the panel from top to bottom.
    fn plots_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, options: bool) {
        let Some(group) = &self.group else { return };
        let n = group.slots.len().min(group.snapshot.slots.len());
        if n == 0 {
            let idle = group.slots.is_empty() && !group.is_starting();
            ui.weak(if idle { "Nothing is in training: choose other methods, then start." } else { "starting" });
            return;
        }
        if matches!(group.snapshot.slots[0].picture, Picture::Band(_)) {
            let members =
                group.snapshot.slots.iter().any(|l| matches!(&l.picture, Picture::Band(b) if !b.members.is_empty()));
            if options {
                band_options_ui(ui, &mut settings.bands, members, false, |_| {});
            }
            if let Picture::Band(band) = &group.snapshot.slots[0].picture {
                let colours = Colours::of(ui);
                let mut entries = bands::band_entries(band, &settings.bands, &colours);
                entries.push(entry(Mark::Dot, colours.point, "training points"));
                legend_ui(ui, &entries);
            }
        } else if options {
            ui.horizontal(|ui| {
                for (kind, name) in [
                    (MapKind::Probability, "Probability"),
                    (MapKind::Entropy, "Total entropy"),
                    (MapKind::MutualInformation, "Mutual information"),
                ] {
                    ui.selectable_value(&mut settings.map, kind, name);
                }
            });
        }
        self.textures.resize_with(n, map::MapTexture::default);
        let colours = Colours::of(ui);
        let columns = if n == 4 { 2 } else { n };
        let rows = n.div_ceil(columns);
        let width = (ui.available_width() - 8.0 * (columns as f32 - 1.0)) / columns as f32;
        let height = (ui.available_height() / rows as f32 - 30.0).max(120.0);
        let link = egui::Id::unique("side by side");
        let limits = limits(group, &settings.bands);
        for row in 0..rows {
            ui.horizontal(|ui| {
                for i in row * columns..((row + 1) * columns).min(n) {
                    let (slot, look) = (&group.slots[i], &group.snapshot.slots[i]);
                    let method = slot.recipe.as_ref().map_or("", |r| r.method.name.as_str());
                    ui.vertical(|ui| {
                        ui.set_width(width);
                        ui.horizontal(|ui| {
                            ui.strong(keys::method_name(method));
                            if let Some(last) = slot.run.last() {
                                let test = last.test_nll.or(last.validation_nll);
                                if let Some(nll) = test {
                                    let tip = "Negative log likelihood of rows that were held out, nats per row: lower is better, \
                                               and the methods can be compared by it";
                                    ui.label(format!("test NLL {}", number(nll))).on_hover_text(tip);
                                }
                                let tip = "Each method minimises a loss of its own: the numbers cannot be compared with each other";
                                ui.weak(format!("own loss {}", number(last.loss))).on_hover_text(tip);
                            }
                        });
                        let x_label = slot.points.inputs.first().map_or("x", String::as_str);
                        let y_label = slot.points.inputs.get(1).unwrap_or(&slot.points.target);
                        let plot = axes::plot(ui, format!("side {i}"), x_label, y_label);
                        let plot = plot.width(width).height(height).link_axis(link, true);
                        match &look.picture {
                            Picture::Band(band) => {
                                let (low, high) = limits;
                                let plot = plot
                                    .default_y_bounds(low, high)
                                    .default_x_bounds(band.x[0], band.x[band.x.len() - 1]);
                                let read = |at: PlotPoint| read::band(band, (x_label, y_label), at.x);
                                let name = format!("Predictive band of {}", keys::method_name(method));
                                navigate::show(ui, plot, &Reader::new(name, &read), |plot, _| {
                                    bands::band_ui(plot, band, &settings.bands, &colours);
                                    if settings.bands.points {
                                        let points = slot.points.train.iter().map(|p| [p[0], p[1]]);
                                        bands::points_ui(
                                            plot,
                                            "training points",
                                            points,
                                            Some(colours.point),
                                            colours.point_edge,
                                        );
                                    }
                                });
                            }
                            Picture::Map(picture) => {
                                self.textures[i].update(ui, picture, settings.map, group.snapshot.number);
                                let segments = boundary::segments(picture);
                                let classes = &slot.points.classes;
                                let read =
                                    |at: PlotPoint| read::map(picture, (x_label, y_label), classes, (at.x, at.y));
                                let name = format!("Map of the classes by {}", keys::method_name(method));
                                navigate::show(ui, plot, &Reader::new(name, &read), |plot, _| {
                                    self.textures[i].draw(plot, picture);
                                    let ink = if settings.map == MapKind::Probability {
                                        colours.boundary
                                    } else {
                                        Color32::WHITE
                                    };
                                    map::boundary_ui(plot, &segments, ink);
                                    for class in 0..picture.k {
                                        let of = slot
                                            .points
                                            .train
                                            .iter()
                                            .filter(|p| p[2] as usize == class)
                                            .map(|p| [p[0], p[1]]);
                                        bands::class_ui(plot, &format!("class {class}"), of, class);
                                    }
                                });
                            }
                            Picture::None => {
                                ui.weak("This data has more than two inputs.");
                            }
                        }
                    });
                }
            });
        }
    }

    /// The plots alone, with what starts and pauses them.
    pub fn present_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, leave: &mut bool) {
        if let Some(group) = &mut self.group {
            let anew = present::head_ui(ui, group, "", leave);
            again(group, anew);
        }
        self.plots_ui(ui, settings, false);
    }

    /// Its plots, still and in motion, where they are asked for.
    pub fn offer(&self, settings: &Settings, exports: &mut Exports) {
        exports.offer(|| self.plottables(settings));
        exports.films.offer(|| Scene { lines: settings.bands, ..self.scene() });
    }

    /// What an animation shows.
    fn scene(&self) -> Scene {
        let Some(group) = &self.group else { return Scene::default() };
        let method =
            |recipe: Option<&Recipe>| recipe.map_or(String::new(), |r| keys::method_name(&r.method.name).into());
        let names = group.slots.iter().map(|slot| method(slot.recipe.as_deref())).collect();
        Scene { stem: "side_by_side".into(), title: "Predictions of several methods".into(), names, ..Scene::of(group) }
    }

    fn plottables(&self, settings: &Settings) -> Vec<Plottable> {
        let Some(group) = &self.group else { return vec![] };
        let (mut panels, mut maps, mut points, mut classes) = (vec![], vec![], vec![], vec![]);
        for (slot, look) in group.slots.iter().zip(&group.snapshot.slots) {
            let name = keys::method_name(slot.recipe.as_ref().map_or("", |r| r.method.name.as_str()));
            points = slot.points.train.clone();
            match &look.picture {
                Picture::Band(band) => panels.push(band_panel(name, band, &slot.points.train, None)),
                Picture::Map(map) => {
                    let known = &slot.points.classes;
                    classes = (0..map.k).map(|i| known.get(i).map_or_else(|| i.to_string(), String::clone)).collect();
                    maps.push(map_panel(name, map, settings.map, true, &classes));
                }
                Picture::None => {}
            }
        }
        let labels = |i: usize| group.slots.first().and_then(|l| l.points.inputs.get(i)).map_or("x", String::as_str);
        let target = group.slots.first().map_or("y", |l| l.points.target.as_str());
        match (panels.is_empty(), maps.is_empty()) {
            (false, _) => {
                vec![Plottable::bands("side_by_side", "Predictions of several methods", labels(0), target, panels)]
            }
            (_, false) => {
                let labels = (labels(0), labels(1));
                vec![Plottable::maps("side_by_side", settings.map, labels, maps, &points, &classes)]
            }
            _ => vec![],
        }
    }
}
