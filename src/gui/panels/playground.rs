//! The playground: points that can be moved, a training that follows, and every setting within reach.

use super::banner::Banner;
use super::controls::controls_ui;
use super::keys;
use crate::config::{Recipe, recipes};
use crate::data::Task;
use crate::data::toy::ToyKind;
use crate::error::Result;
use crate::gui::export::{Exports, Plottable};
use crate::gui::plots::legend::{Entry, Mark, entry, legend_ui};
use crate::gui::plots::{axes, bands, curves, map};
use crate::gui::settings::{BandOptions, MapKind, Settings};
use crate::gui::theme::{self, Colours};
use crate::live::change::split;
use crate::live::{Command, Group, Keep, Look, Picture};
use eframe::egui::{self, Color32, ComboBox, DragValue, PointerButton, Slider};
use egui_plot::{PlotPoint, PlotTransform};
use std::path::{Path, PathBuf};

pub struct Playground {
    pub group: Group,
    /// What the controls say; the worker's own lags behind, or waits for a restart.
    pub draft: Recipe,
    /// The toy that the points came from: its curve stays when they are moved.
    pub truth: Option<ToyKind>,
    /// Where the plot's points lay on the screen in the last frame; for tests, and for the mouse.
    pub transform: Option<PlotTransform>,
    session: PathBuf,
    grabbed: Option<usize>,
    new_class: usize,
    texture: map::MapTexture,
    /// Ranges that the picture was asked to cover.
    asked: Option<[(f64, f64); 2]>,
    pace: f64,
    interval: f64,
    look: Look,
    /// The recipe that the settings hold.
    stored: Option<Recipe>,
    pub curves: super::curves::CurveCache,
}

/// Within so many screen points of the mouse a point is meant.
const REACH: f32 = 9.0;

/// The first launch: the paper's toy, slowly enough to watch.
pub fn first_recipe() -> Recipe {
    let text = recipes::find("sinusoid").unwrap_or_default();
    let table = Recipe::parse(text, "sinusoid").unwrap_or_default();
    let mut recipe = Recipe::from_table(&table, "sinusoid").unwrap_or_else(|_| empty_recipe());
    recipe.train.epochs = Some(20_000);
    recipe.train.lr = Some(0.003);
    recipe.train.watch_test = true;
    recipe
}

/// Of the toys: whatever a built-in recipe cannot give.
fn empty_recipe() -> Recipe {
    let mut table = toml::Table::new();
    let mut data = toml::Table::new();
    data.insert("toy".into(), "sinusoid".into());
    table.insert("data".into(), data.into());
    match Recipe::from_table(&table, "sinusoid") {
        Ok(recipe) => recipe,
        Err(e) => unreachable!("defaults are a recipe: {e}"),
    }
}

/// The recipe of a toy for the playground: long, steady, and watched on the test rows.
fn toy_recipe(kind: ToyKind, before: &Recipe) -> Recipe {
    let mut recipe = before.clone();
    recipe.data.toy = Some(kind);
    recipe.data.points = None;
    recipe.data.noise = None;
    recipe.data.validation_fraction = 0.0;
    recipe.name = Some(kind.to_string());
    if kind.task() == Task::Classification {
        recipe.data.standardise = true;
        recipe.method.noise_link = crate::config::Link::Exp;
        recipe.method.expectation = crate::config::Expectation::Auto;
        recipe.data.rows = recipe.data.rows.max(200);
    } else {
        recipe.data.standardise = kind == ToyKind::Sinusoid && recipe.data.standardise || kind != ToyKind::Sinusoid;
    }
    recipe
}

impl Playground {
    /// `asked` on the command line, else as the last session left it, else the first launch.
    pub fn new(ctx: &egui::Context, settings: &Settings, home: &Path, asked: Option<Recipe>) -> Result<Playground> {
        let wake = ctx.clone();
        let group = Group::new("vifo playground", move || wake.request_repaint())?;
        let session = home.join("session");
        let stored = || {
            let table = Recipe::parse(&settings.recipe, "the stored recipe").ok()?;
            Recipe::from_table(&table, "the stored recipe").ok()
        };
        let fresh = asked.is_some();
        let draft = asked.or_else(stored).unwrap_or_else(first_recipe);
        let mut playground = Playground {
            group,
            truth: draft.data.toy,
            draft,
            transform: None,
            session,
            grabbed: None,
            new_class: 0,
            texture: map::MapTexture::default(),
            asked: None,
            pace: f64::NAN,
            interval: 0.0,
            look: Look::default(),
            stored: None,
            curves: super::curves::CurveCache::default(),
        };
        // The last training goes on where the window was closed, if it was of this recipe.
        let folder = crate::run::RunFolder::open(&playground.session);
        let same = folder.and_then(|f| f.recipe()).is_ok_and(|r| r == playground.draft);
        if same && !fresh {
            let path = playground.session.clone();
            playground.group.send(Command::Resume { path, running: settings.running });
        } else {
            playground.start(true);
        }
        Ok(playground)
    }

    fn start(&mut self, running: bool) {
        let keep = Keep { path: self.session.clone(), force: true, report: false };
        self.group.start(vec![self.draft.clone()], Some(keep), running);
    }

    /// From step 0 with another recipe.
    pub fn take_recipe(&mut self, recipe: Recipe, settings: &mut Settings) {
        self.truth = recipe.data.toy;
        self.draft = recipe;
        self.asked = None;
        settings.recipe = self.draft.to_toml().unwrap_or_default();
        self.stored = Some(self.draft.clone());
        self.start(true);
    }

    pub fn poll(&mut self, interval: f64, settings: &mut Settings, banner: &mut Banner) {
        self.group.poll();
        let recipe = self.group.lanes.first().and_then(|l| l.recipe.as_deref());
        if let Some(recipe) = recipe.filter(|r| self.stored.as_ref() != Some(r)) {
            // What is trained is what the next start of the app goes on with.
            settings.recipe = recipe.to_toml().unwrap_or_default();
            self.stored = Some(recipe.clone());
        }
        for e in self.group.errors.drain(..) {
            banner.error(e);
        }
        for path in self.group.saved.drain(..) {
            banner.note(format!("saved: {}", path.display()));
        }
        if (interval - self.interval).abs() > 0.2 * interval {
            self.interval = interval;
            self.send_look();
        }
        if let Some(lane) = self.group.lanes.first() {
            self.curves.update(&lane.run.rows);
        }
    }

    fn send_look(&mut self) {
        let look = Look {
            interval: self.interval.max(0.02),
            x_range: self.asked.map(|a| a[0]),
            y_range: self.asked.map(|a| a[1]),
            ..Look::default()
        };
        if look != self.look {
            self.look = look.clone();
            self.group.send(Command::Look(look));
        }
    }

    /// Hands on what the controls have changed and a running training can take up; the rest waits for a restart.
    fn send_changes(&mut self, settings: &mut Settings) {
        if settings.pace.to_bits() != self.pace.to_bits() {
            self.pace = settings.pace;
            self.group.send(Command::Pace((settings.pace > 0.0).then_some(settings.pace)));
        }
        let recipe = self.group.lanes.first().and_then(|l| l.recipe.as_deref());
        let Some(recipe) = recipe.filter(|_| !self.group.is_starting()) else { return };
        if *recipe != self.draft {
            let (next, _) = split(recipe, &self.draft);
            if next != *recipe {
                self.group.change(vec![next]);
            }
        }
    }

    /// Keys that wait for a restart, "net.hidden" and so on.
    pub fn waiting(&self) -> Vec<String> {
        match self.group.lanes.first().and_then(|l| l.recipe.as_deref()) {
            _ if self.group.is_starting() => vec![],
            Some(recipe) if *recipe != self.draft => split(recipe, &self.draft).1,
            _ => vec![],
        }
    }

    /// The points as they are drawn: those of the recipe, or those of its toy.
    pub fn points(&self) -> Vec<[f64; 3]> {
        match &self.draft.data.points {
            Some(rows) => rows.iter().map(|r| [r[0], r[1], r.get(2).copied().unwrap_or(0.0)]).collect(),
            None => self.group.lanes.first().map_or(vec![], |l| l.points.train.clone()),
        }
    }

    pub fn task(&self) -> Task {
        match (&self.draft.data.points, self.group.lanes.first().and_then(|l| l.points.task)) {
            (Some(rows), _) => match rows.first().map(Vec::len) {
                Some(3) => Task::Classification,
                _ => Task::Regression,
            },
            (None, Some(task)) => task,
            (None, None) => self.draft.data.toy.map_or(Task::Regression, ToyKind::task),
        }
    }

    /// Whether the points may be moved: those of a table or images may not.
    fn can_edit(&self) -> bool {
        self.draft.data.points.is_some()
            || (self.draft.data.toy.is_some() && self.group.lanes.first().is_some_and(|l| !l.points.train.is_empty()))
    }

    /// The recipe's own points, taken over from its toy if need be.
    fn rows(&mut self) -> Option<&mut Vec<Vec<f64>>> {
        if self.draft.data.points.is_none() && self.draft.data.toy.is_some() {
            let points = self.group.lanes.first()?.points.to_recipe();
            let data = &mut self.draft.data;
            (data.toy, data.points, data.noise) = (None, Some(points), None);
            (data.validation_fraction, data.test_fraction) = (0.0, 0.0);
            self.draft.name = Some("points".into());
        }
        self.draft.data.points.as_mut()
    }

    pub fn playground_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        banner: &mut Banner,
        exports: &mut Exports,
    ) {
        egui::Panel::left("controls").resizable(false).exact_size(300.0).show(ui, |ui| {
            egui::ScrollArea::vertical()
                .auto_shrink([false, false])
                .show(ui, |ui| self.settings_ui(ui, settings, banner));
        });
        egui::CentralPanel::default().show(ui, |ui| {
            self.hint_ui(ui, settings);
            let height = ui.available_height();
            let names = (self.group.lanes.first()).map(|l| (l.points.inputs.clone(), l.points.target.clone()));
            let picture = self.group.lane_look(0).map(|l| l.picture.clone()).unwrap_or_default();
            let plot_height = (height * 0.62).max(160.0);
            match picture {
                Picture::None => self.no_picture_ui(ui, plot_height),
                Picture::Band(band) => self.band_ui(ui, settings, plot_height, &band, names.as_ref()),
                Picture::Map(map) => self.map_ui(ui, settings, plot_height, &map, names.as_ref()),
            }
            ui.add_space(2.0);
            let height = ui.available_height().max(110.0);
            let view = curves::CurvesView {
                id: "playground curves",
                x_label: "step",
                y_label: "nats a row",
                log: settings.curves.log,
                height,
            };
            let series = self.curves.shown(&settings.curves);
            let colours = Colours::of(ui);
            curves::curves_ui(ui, &view, &series, |i| colours.series(i));
        });
        exports.offer(|| Plottable::of_playground(self, settings));
        self.send_changes(settings);
    }

    fn hint_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings) {
        let text = match self.task() {
            Task::Regression => {
                "The shaded band is where the network expects new points: 68 % within the inner shade, 95 % within the outer. Where it has \
                 seen nothing, it should be wide."
            }
            Task::Classification => {
                "Colour is the class that the network expects, pale where it is not sure. Switch to entropy to see where it knows nothing."
            }
        };
        ui.horizontal_wrapped(|ui| {
            ui.label(text);
        });
        if !settings.hint_seen && self.can_edit() {
            ui.horizontal_wrapped(|ui| {
                ui.weak(
                    "Click adds a point, drag moves one, right-click removes it; training goes on with them at once.",
                );
                if ui.small_button("Got it").clicked() {
                    settings.hint_seen = true;
                }
            });
        }
    }

    fn no_picture_ui(&self, ui: &mut egui::Ui, height: f32) {
        let text = match self.group.lanes.is_empty() {
            true => "starting",
            false => {
                "This data has more inputs than a plane has: see the curves below, and the results when it is done."
            }
        };
        ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
            ui.centered_and_justified(|ui| ui.weak(text));
        });
    }

    fn band_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        height: f32,
        band: &crate::live::picture::Band,
        names: Option<&(Vec<String>, String)>,
    ) {
        band_options_ui(ui, &mut settings.bands, !band.members.is_empty(), self.truth.is_some());
        let colours = Colours::of(ui);
        let options = settings.bands;
        let points = self.points();
        let lane = self.group.lanes.first();
        let held_out = match self.draft.data.points {
            Some(_) => vec![],
            None => lane.map_or(vec![], |l| l.points.held_out.clone()),
        };
        let aux = lane.and_then(|l| l.points.aux.first().copied());
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
        let height = (height - 52.0).max(120.0);
        let y_limits = limits(band, &points, &options);
        let mut plot = axes::plot(ui, "band", x_label, y_label).height(height).allow_drag(self.grabbed.is_none());
        if let Some((low, high)) = y_limits {
            plot = plot.include_y(low).include_y(high);
        }
        let shown = plot.show(ui, |plot| {
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
            self.edit(plot, &points)
        });
        self.finish_edit(shown.transform, shown.inner);
    }

    fn map_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        height: f32,
        picture: &crate::live::picture::Map,
        names: Option<&(Vec<String>, String)>,
    ) {
        let number = self.group.look.number;
        let classes = self.classes(picture.k);
        ui.horizontal_wrapped(|ui| {
            for (kind, name, tip) in [
                (MapKind::Probability, "Probability", "Class colours mixed by their probabilities"),
                (MapKind::Entropy, "Total entropy", "How unsure the prediction is, in nats: bright is unsure"),
                (
                    MapKind::MutualInformation,
                    "Mutual information",
                    "The epistemic part: what more data would tell, in nats",
                ),
            ] {
                ui.selectable_value(&mut settings.map, kind, name).on_hover_text(tip);
            }
            ui.checkbox(&mut settings.boundary, "decision boundary");
            ui.separator();
            ui.label("click adds")
                .on_hover_text("The class of a point that a click adds. A new class restarts training.");
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
        });
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
            .map(|(i, name)| entry(Mark::Dot, theme::class(i), format!("class {name}")))
            .collect();
        if with_boundary {
            entries.push(match kind {
                MapKind::Probability => entry(Mark::Line, colours.boundary, "decision boundary"),
                _ => entry(Mark::LineOnMap, Color32::WHITE, "decision boundary"),
            });
        }
        legend_ui(ui, &entries);
        self.grab(ui, &points);
        let height = (height - 52.0).max(120.0);
        let width = ui.available_width();
        let segments = if with_boundary { map::boundary(picture) } else { vec![] };
        let scale = (kind != MapKind::Probability).then(|| map::values(picture, kind).1);
        ui.horizontal(|ui| {
            let plot = axes::plot(ui, "map", x_label, y_label)
                .width(width - if scale.is_some() { 70.0 } else { 0.0 })
                .height(height)
                .allow_drag(self.grabbed.is_none());
            let shown = plot.show(ui, |plot| {
                self.texture.draw(plot, picture);
                map::boundary_ui(
                    plot,
                    &segments,
                    if kind == MapKind::Probability { colours.boundary } else { Color32::WHITE },
                );
                for (class, name) in classes.iter().enumerate() {
                    let of = points.iter().filter(|p| p[2] as usize == class).map(|p| [p[0], p[1]]);
                    bands::points_ui(plot, &format!("class {name}"), of, Some(theme::class(class)), Color32::WHITE);
                }
                self.edit(plot, &points)
            });
            self.finish_edit(shown.transform, shown.inner);
            if let Some(most) = scale {
                scale_ui(ui, most, height);
            }
        });
    }

    /// Names of the classes; the recipe's points count them by number.
    fn classes(&self, k: usize) -> Vec<String> {
        let known = self.group.lanes.first().map_or(&[][..], |l| l.points.classes.as_slice());
        (0..k.max(known.len())).map(|i| known.get(i).cloned().unwrap_or_else(|| i.to_string())).collect()
    }

    /// Finds the point under a press before the plot could pan.
    fn grab(&mut self, ui: &egui::Ui, points: &[[f64; 3]]) {
        let (down, press) = ui.input(|i| (i.pointer.primary_down(), i.pointer.press_origin()));
        if !down {
            self.grabbed = None;
        } else if self.grabbed.is_none()
            && self.can_edit()
            && let (Some(t), Some(p)) = (self.transform, press)
            && t.frame().contains(p)
        {
            self.grabbed = nearest(points, &t, p);
        }
    }

    /// What the mouse asks of the points in this frame.
    fn edit(&self, plot: &mut egui_plot::PlotUi, points: &[[f64; 3]]) -> (Option<Edit>, bool, [(f64, f64); 2]) {
        let response = plot.response().clone();
        let bounds = plot.plot_bounds();
        let range = [(bounds.min()[0], bounds.max()[0]), (bounds.min()[1], bounds.max()[1])];
        let moved = !plot.auto_bounds().x;
        if !self.can_edit() {
            return (None, moved, range);
        }
        let place = response.interact_pointer_pos();
        let edit = match (place, self.transform) {
            (Some(place), Some(t)) => {
                let at = t.value_from_position(place);
                if let Some(i) = self.grabbed.filter(|_| response.dragged_by(PointerButton::Primary)) {
                    Some(Edit::Move(i, at))
                } else if response.secondary_clicked() {
                    nearest(points, &t, place).map(Edit::Remove)
                } else if response.clicked() && nearest(points, &t, place).is_none() {
                    Some(Edit::Add(at))
                } else {
                    None
                }
            }
            _ => None,
        };
        if self.grabbed.is_some() {
            // The axes must stand still under a moving point.
            plot.set_auto_bounds([false, false]);
        }
        (edit, moved, range)
    }

    fn finish_edit(&mut self, transform: PlotTransform, (edit, moved, range): (Option<Edit>, bool, [(f64, f64); 2])) {
        self.transform = Some(transform);
        let class = self.new_class as f64;
        let task = self.task();
        if let Some(edit) = edit
            && let Some(rows) = self.rows()
        {
            match edit {
                Edit::Add(at) if task == Task::Classification => rows.push(vec![at.x, at.y, class]),
                Edit::Add(at) => rows.push(vec![at.x, at.y]),
                Edit::Move(i, at) => {
                    if let Some(row) = rows.get_mut(i) {
                        (row[0], row[1]) = (at.x, at.y);
                    }
                }
                // Fewer than two are nothing to learn from.
                Edit::Remove(i) if i < rows.len() && rows.len() > 2 => drop(rows.remove(i)),
                Edit::Remove(_) => {}
            }
        }
        // A plot that was panned or zoomed asks for a picture of what it shows; a double click goes back.
        let asked = moved.then_some(range).filter(|_| self.grabbed.is_none());
        if self.grabbed.is_none() && asked != self.asked {
            self.asked = asked;
            self.send_look();
        }
    }

    fn settings_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, banner: &mut Banner) {
        ui.add_space(4.0);
        controls_ui(ui, &mut self.group);
        ui.horizontal(|ui| {
            let slider = Slider::new(&mut settings.pace, 0.0..=100_000.0).logarithmic(true).smallest_positive(1.0).max_decimals(0);
            let shown = slider.custom_formatter(|v, _| if v == 0.0 { "max".into() } else { format!("{v:.0}") });
            ui.add(shown.text("steps/s"))
                .on_hover_text("How fast to train, to have time to watch; 0 = as fast as it goes, default 300. Not part of the recipe.");
        });
        ui.separator();
        ui.heading("Training").on_hover_text("Taken up by the next step, without a restart");
        let lr = self.draft.train.lr.unwrap_or(0.01);
        keys::live_keys_ui(ui, &mut self.draft, lr);
        ui.separator();
        ui.heading("Method, network, data").on_hover_text("A change here restarts training, after you agree");
        if keys::method_ui(ui, "method", &mut self.draft.method.name) {
            keys::suit_method(&mut self.draft);
        }
        keys::whole_ui(ui, "members of the ensemble", "method.members", &mut self.draft.method.members, 1..=50);
        self.network_ui(ui);
        self.data_ui(ui, settings);
        keys::whole_ui(ui, "seed", "seed", &mut self.draft.seed, 0..=1_000_000);
        self.waiting_ui(ui, settings);
        ui.separator();
        if ui
            .button("Save as run")
            .on_hover_text(
                "Writes a run folder with weights, figures and report, which `vifo predict` and `vifo compare` read",
            )
            .clicked()
        {
            match super::data::claim_folder(&settings.runs, &crate::run::fit::recipe_name(&self.draft)) {
                Ok(path) => self.group.send(Command::Save { lane: 0, path, force: true }),
                Err(e) => banner.error(e),
            }
        }
        ui.add_space(8.0);
    }

    fn network_ui(&mut self, ui: &mut egui::Ui) {
        let hidden = self.draft.net.hidden.get_or_insert_with(|| vec![50]);
        ui.horizontal(|ui| {
            let label = ui.label("hidden layers");
            let mut layers = hidden.len();
            let mut width = hidden.first().copied().unwrap_or(50);
            let first = ui.add(DragValue::new(&mut layers).range(0..=10).speed(0.05)).labelled_by(label.id);
            let label = ui.label("of");
            let second = ui.add(DragValue::new(&mut width).range(1..=1000).speed(1.0)).labelled_by(label.id);
            ui.label("units");
            if first.union(second).on_hover_text(keys::tip("net.hidden")).changed() {
                *hidden = vec![width; layers];
            }
        });
        let mut silu = self.draft.net.activation == crate::program::Act::Silu;
        if ui.checkbox(&mut silu, "smooth activation (SiLU)").on_hover_text(keys::tip("net.activation")).changed() {
            self.draft.net.activation = if silu { crate::program::Act::Silu } else { crate::program::Act::Relu };
        }
    }

    fn data_ui(&mut self, ui: &mut egui::Ui, _settings: &mut Settings) {
        let now = self.draft.data.toy;
        let shown = match (now, &self.draft.data.points, &self.draft.data.file, &self.draft.data.images) {
            (Some(kind), ..) => kind.to_string(),
            (None, Some(rows), ..) => format!("my {} points", rows.len()),
            (None, None, Some(path), _) | (None, None, None, Some(path)) => {
                path.file_name().map_or_else(|| "file".into(), |n| n.to_string_lossy().into_owned())
            }
            _ => "none".into(),
        };
        let mut chosen = now;
        ComboBox::from_label("data").width(150.0).selected_text(shown).show_ui(ui, |ui| {
            for kind in ToyKind::ALL {
                ui.selectable_value(&mut chosen, Some(kind), kind.to_string());
            }
        });
        if let Some(kind) = chosen.filter(|_| chosen != now) {
            self.draft = toy_recipe(kind, &self.draft);
        }
        if let Some(kind) = self.draft.data.toy {
            let mut rows = self.draft.data.rows as u32;
            keys::whole_ui(ui, "points", "data.rows", &mut rows, 10..=5000);
            self.draft.data.rows = rows as usize;
            let mut noise = self.draft.data.noise.unwrap_or(kind.default_noise());
            let slider =
                Slider::new(&mut noise, 0.0..=3.0_f64.max(kind.default_noise() * 3.0)).max_decimals(3).text("noise");
            if ui.add(slider).on_hover_text(keys::tip("data.noise")).changed() {
                self.draft.data.noise = Some(noise);
            }
        }
    }

    fn waiting_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings) {
        let waiting = self.waiting();
        if waiting.is_empty() {
            return;
        }
        egui::Frame::group(ui.style()).fill(ui.visuals().faint_bg_color).show(ui, |ui| {
            let step = self.group.look.step;
            ui.label(format!("{} will restart training: {step} steps begin anew.", waiting.join(", ")));
            ui.horizontal(|ui| {
                if ui.button("Restart with changes").clicked() {
                    let recipe = self.draft.clone();
                    self.take_recipe(recipe, settings);
                }
                if ui.button("Undo").on_hover_text("Keep training as it is").clicked()
                    && let Some(recipe) = self.group.lanes.first().and_then(|l| l.recipe.as_deref())
                {
                    self.draft = recipe.clone();
                }
            });
        });
    }
}

#[derive(Debug, Clone, Copy)]
enum Edit {
    Add(PlotPoint),
    Move(usize, PlotPoint),
    Remove(usize),
}

fn nearest(points: &[[f64; 3]], t: &PlotTransform, at: egui::Pos2) -> Option<usize> {
    let far = |p: &[f64; 3]| t.position_from_point(&PlotPoint::new(p[0], p[1])).distance(at);
    let all = points.iter().map(far).enumerate();
    all.filter(|(_, d)| *d < REACH).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// What a band must show: the points and, at most one and a half times their range further, the wider band.
fn limits(band: &crate::live::picture::Band, points: &[[f64; 3]], options: &BandOptions) -> Option<(f64, f64)> {
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

pub fn band_options_ui(ui: &mut egui::Ui, options: &mut BandOptions, members: bool, truth: bool) {
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut options.one_sd, "1 sd");
        ui.checkbox(&mut options.two_sd, "2 sd");
        ui.separator();
        ui.checkbox(&mut options.aleatoric, "aleatoric")
            .on_hover_text("Noise of the data: more points do not remove it");
        ui.checkbox(&mut options.epistemic, "epistemic")
            .on_hover_text("What the network does not know: more points remove it");
        ui.separator();
        if members {
            ui.checkbox(&mut options.members, "members").on_hover_text("The mean of every network of the ensemble");
        }
        if truth {
            ui.checkbox(&mut options.truth, "truth")
                .on_hover_text("The curve that the points came from, without its noise");
        }
        ui.checkbox(&mut options.aux, "auxiliary range")
            .on_hover_text("Inputs for the auxiliary regularizer are drawn between these lines");
        ui.checkbox(&mut options.points, "points");
    });
}

/// A colour scale from 0 to `most` nats.
fn scale_ui(ui: &mut egui::Ui, most: f64, height: f32) {
    let (response, painter) = ui.allocate_painter(egui::vec2(60.0, height), egui::Sense::hover());
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
