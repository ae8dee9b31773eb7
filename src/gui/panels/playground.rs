//! The playground: points that can be moved, live training on them, and all settings.

use super::banner::Banner;
use super::keys;
use crate::data::Task;
use crate::data::toy::ToyKind;
use crate::error::Result;
use crate::gui::export::Exports;
use crate::gui::gallery::Example;
use crate::gui::plots::{curves, map, navigate, network};
use crate::gui::settings::{Below, Settings};
use crate::gui::theme::Colours;
use crate::live::change::split;
use crate::live::{Command, Group, Picture, View};
use crate::recipe::{Recipe, Schedule, builtin};
use crate::run::RunFolder;
use eframe::egui::{self};
use egui_plot::PlotTransform;
use std::path::{Path, PathBuf};

mod begin;
mod edit;
mod history;
mod picture;
mod present;
mod settings;
mod timeline;

pub use picture::{band_options_ui, limits};

/// Points between the picture and what stands below it: the slider over time.
const BETWEEN: f32 = 30.0;

pub struct Playground {
    pub group: Group,
    /// What the controls say; the worker's own lags behind, or waits for a restart.
    pub draft: Recipe,
    /// The toy that the points came from: its curve stays when they are moved.
    pub truth: Option<ToyKind>,
    /// The plot and its controls alone.
    pub embedded: bool,
    /// The plot alone was asked for.
    pub ask_present: bool,
    /// It is shown alone: its options are not.
    pub presented: bool,
    /// The guided example that is in training, whose words stand above the plot.
    pub lesson: Option<&'static Example>,
    /// Of the start that was asked for, until it has succeeded or was refused.
    taking: Option<Taking>,
    /// The number of the training that is shown, under which it can be brought back.
    training: u64,
    /// The last number that was given.
    trainings: u64,
    /// Trainings that have begun, as far as they are followed here.
    begun: u64,
    /// Where the plot's points lay on the screen in the last frame; for tests, and for the mouse.
    pub transform: Option<PlotTransform>,
    session: PathBuf,
    history: history::History,
    taken_away: keys::TakenAway,
    grabbed: Option<usize>,
    /// The point that was added last, and when: a second click there takes it back.
    added: Option<(usize, f64)>,
    new_class: usize,
    /// The step of the training so far that is looked at; None = the present.
    looks_at: Option<u64>,
    /// The input that the network's picture is of.
    input: Option<Vec<f64>>,
    below: Below,
    texture: map::MapTexture,
    /// Ranges that the picture was asked to cover.
    asked: Option<[(f64, f64); 2]>,
    pace: f64,
    interval: f64,
    view: View,
    /// The recipe that the settings hold.
    stored: Option<Recipe>,
    fell_back: bool,
    /// Another window has the session.
    pub is_second: bool,
    /// The next frame fits the axes to everything.
    show_all: bool,
    /// A list was open in the last frame: a click beside it closes it and means no point.
    popup_was_open: bool,
    pub curves: super::curves::CurveCache,
}

/// What is so once a start has succeeded.
struct Taking {
    truth: Option<ToyKind>,
    training: u64,
}

/// Epochs and learning rate of the first launch: a few seconds to watch. The rate falls to 0, and in time: held, or for longer, the
/// curve goes on to thread the points, and the band of the end is the worst.
const FIRST: (Option<u32>, Option<f64>) = (Some(1000), Some(0.0005));
/// Of the other toys, which have more rows.
const LONGER: (Option<u32>, Option<f64>) = (Some(4000), Some(0.001));

/// The first launch: the paper's toy.
pub fn first_recipe() -> Recipe {
    let text = builtin::find("sinusoid").unwrap_or_default();
    let table = Recipe::parse(text, "sinusoid").unwrap_or_default();
    let mut recipe = crate::method::checked(&table, "sinusoid").unwrap_or_else(|_| empty_recipe());
    (recipe.train.epochs, recipe.train.lr) = FIRST;
    recipe.train.schedule = Some(Schedule::Cosine);
    recipe.train.watch_test = true;
    recipe
}

/// Of the toys: whatever a built-in recipe cannot give.
fn empty_recipe() -> Recipe {
    let mut table = toml::Table::new();
    let mut data = toml::Table::new();
    data.insert("toy".into(), "sinusoid".into());
    table.insert("data".into(), data.into());
    match crate::method::checked(&table, "sinusoid") {
        Ok(recipe) => recipe,
        Err(e) => unreachable!("defaults are a recipe: {e}"),
    }
}

/// The recipe of a toy for the playground: long, steady, and watched on the test rows.
fn toy_recipe(kind: ToyKind, before: &Recipe) -> Recipe {
    let mut recipe = before.clone();
    recipe.data.toy = Some(kind);
    (recipe.data.points, recipe.data.validation_points) = (None, None);
    recipe.data.noise = None;
    recipe.data.validation_fraction = 0.0;
    recipe.name = Some(kind.to_string());
    let (own, other) = if kind == ToyKind::Sinusoid { (FIRST, LONGER) } else { (LONGER, FIRST) };
    if (recipe.train.epochs, recipe.train.lr) == other {
        (recipe.train.epochs, recipe.train.lr) = own;
    }
    if !keys::suits(&recipe.method.name, kind.task()) {
        recipe.method.name = crate::method::default_name();
        crate::method::adapt(&mut recipe);
    }
    if kind.task() == Task::Classification {
        recipe.data.standardise = true;
        recipe.method.noise_link = crate::recipe::Link::Exp;
        recipe.method.expectation = crate::recipe::Expectation::Auto;
        recipe.method.likelihood = crate::recipe::Likelihood::Gaussian;
        recipe.data.rows = recipe.data.rows.max(200);
    } else {
        // The paper's curve alone has units in which nothing need be scaled.
        recipe.data.standardise |= kind != ToyKind::Sinusoid;
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
            crate::method::checked(&table, "the stored recipe").ok()
        };
        let fresh = asked.is_some();
        let draft = asked.or_else(stored).unwrap_or_else(first_recipe);
        let mut playground = Playground {
            group,
            truth: None,
            embedded: false,
            ask_present: false,
            presented: false,
            lesson: None,
            taking: Some(Taking { truth: draft.data.toy, training: 1 }),
            training: 1,
            trainings: 1,
            begun: 0,
            history: history::History::new(&draft),
            taken_away: keys::TakenAway::default(),
            draft,
            transform: None,
            session,
            grabbed: None,
            added: None,
            new_class: 0,
            looks_at: None,
            input: None,
            below: settings.below,
            texture: map::MapTexture::default(),
            asked: None,
            pace: f64::NAN,
            interval: 0.0,
            view: View::default(),
            stored: None,
            fell_back: false,
            is_second: false,
            show_all: false,
            popup_was_open: false,
            curves: super::curves::CurveCache::default(),
        };
        // Before the first step: its moment is kept, too.
        playground.send_look();
        // The last training goes on where the window was closed, if it was of this recipe.
        let folder = RunFolder::open(&playground.session);
        playground.is_second = folder.as_ref().is_ok_and(RunFolder::is_held);
        let same = folder.and_then(|f| f.recipe()).is_ok_and(|r| r == playground.draft) && !playground.is_second;
        if same && !fresh {
            let path = playground.session.clone();
            playground.group.send(Command::Resume { path, more: None, report: false, running: settings.running });
        } else {
            playground.fell_back = true;
            playground.group.start(vec![playground.draft.clone()], playground.keep(), true);
        }
        Ok(playground)
    }

    /// Takes over what a start has been waiting for, or drops it with the start.
    fn follow_start(&mut self, banner: &mut Banner) {
        if self.group.is_starting() {
            return;
        }
        if self.group.begun != self.begun {
            // Of the first start nobody knows yet what failed before it.
            if self.begun > 0 {
                banner.settled();
            }
            self.begun = self.group.begun;
            self.take_numbers();
            if let Some(taking) = self.taking.take() {
                (self.truth, self.training, self.asked, self.show_all) = (taking.truth, taking.training, None, true);
            }
            (self.looks_at, self.input) = (None, None);
            self.send_look();
        } else if !self.group.errors.is_empty() && self.fell_back {
            self.taking = None;
        }
    }

    /// A budget of the draft has become numbers: with the budget left there, every look would find a change that waits.
    fn take_numbers(&mut self) {
        let running = self.group.slots.first().and_then(|l| l.recipe.as_deref());
        let Some(running) = running.filter(|r| r.train.budget.is_none() && self.draft.train.budget.is_some()) else {
            return;
        };
        let train = &mut self.draft.train;
        (train.budget, train.batch, train.epochs) = (None, running.train.batch, running.train.epochs);
        self.draft.method.members = running.method.members;
        self.history.settle(&self.draft);
    }

    pub fn poll(&mut self, interval: f64, settings: &mut Settings, banner: &mut Banner) {
        self.group.poll();
        self.follow_start(banner);
        // Here, not on the page: another page may be in front from the start.
        if settings.pace.to_bits() != self.pace.to_bits() {
            self.pace = settings.pace;
            self.group.send(Command::Pace((settings.pace > 0.0).then_some(settings.pace)));
        }
        let recipe = self.group.slots.first().and_then(|l| l.recipe.as_deref());
        if let Some(recipe) = recipe.filter(|r| self.stored.as_ref() != Some(r)) {
            // What is trained is what the next start of the app goes on with.
            settings.recipe = recipe.to_toml().unwrap_or_default();
            self.stored = Some(recipe.clone());
        }
        let failed = !self.group.errors.is_empty();
        for e in self.group.errors.drain(..) {
            banner.error(e);
        }
        if failed && self.group.slots.is_empty() && !self.fell_back {
            // The last session cannot be gone on with (another window holds it, its file is gone): begin anew.
            self.fell_back = true;
            self.group.start(vec![self.draft.clone()], self.keep(), true);
        }
        for path in self.group.saved.drain(..) {
            banner.note(format!("saved: {}", path.display()));
        }
        if (interval - self.interval).abs() > 0.2 * interval {
            self.interval = interval;
            self.send_look();
        }
        if let Some(slot) = self.group.slots.first() {
            self.curves.update(&slot.run.rows, slot.points.target_sd);
        }
    }

    fn send_look(&mut self) {
        let view = View {
            interval: self.interval.max(0.02),
            x_range: self.asked.map(|a| a[0]),
            y_range: self.asked.map(|a| a[1]),
            moments: true,
            look_at: self.looks_at,
            network: self.below == Below::Network,
            input: self.input.clone().filter(|_| self.below == Below::Network),
            ..View::default()
        };
        if view != self.view {
            self.view = view.clone();
            self.group.send(Command::View(view));
        }
    }

    /// Hands on what the controls have changed and a running training can take up; the rest waits for a restart.
    fn send_changes(&mut self) {
        let recipe = self.group.slots.first().and_then(|l| l.recipe.as_deref());
        let Some(recipe) = recipe.filter(|_| !self.group.is_starting()) else { return };
        if *recipe != self.draft || self.group.owes(&self.draft) {
            let (next, _) = split(recipe, &self.draft);
            if next != *recipe || self.group.owes(&next) {
                self.group.change(vec![next]);
            }
        }
    }

    /// Keys that wait for a restart, "net.hidden" and so on.
    pub fn waiting(&self) -> Vec<String> {
        match self.group.slots.first().and_then(|l| l.recipe.as_deref()) {
            _ if self.group.is_starting() => vec![],
            Some(recipe) if *recipe != self.draft => split(recipe, &self.draft).1,
            _ => vec![],
        }
    }

    /// The points as they are drawn: those of the recipe, or those of its toy.
    pub fn points(&self) -> Vec<[f64; 3]> {
        match &self.draft.data.points {
            Some(rows) => rows.iter().map(|r| [r[0], r[1], r.get(2).copied().unwrap_or(0.0)]).collect(),
            None => self.group.slots.first().map_or(vec![], |l| l.points.train.clone()),
        }
    }

    pub fn task(&self) -> Task {
        match (&self.draft.data.points, self.group.slots.first().and_then(|l| l.points.task)) {
            (Some(rows), _) => match rows.first().map(Vec::len) {
                Some(3) => Task::Classification,
                _ => Task::Regression,
            },
            (None, Some(task)) => task,
            (None, None) => self.draft.data.toy.map_or(Task::Regression, ToyKind::task),
        }
    }

    /// What the controls ask for; None where only the data will tell.
    pub fn asked_task(&self) -> Option<Task> {
        let of_running = || {
            let running = self.group.slots.first()?;
            let same = running.recipe.as_ref().is_some_and(|r| r.data == self.draft.data);
            running.points.task.filter(|_| same)
        };
        match (&self.draft.data.points, self.draft.data.toy) {
            (Some(_), _) => Some(self.task()),
            (None, Some(kind)) => Some(kind.task()),
            (None, None) if self.draft.data.images.is_some() => Some(Task::Classification),
            _ => self.draft.data.task.or_else(of_running),
        }
    }

    /// Whether the points may be moved: those of a table or images may not.
    fn can_edit(&self) -> bool {
        self.draft.data.points.is_some()
            || (self.draft.data.toy.is_some() && self.group.slots.first().is_some_and(|l| !l.points.train.is_empty()))
    }

    /// The recipe's own points, taken over from its toy if need be.
    fn rows(&mut self) -> Option<&mut Vec<Vec<f64>>> {
        if self.draft.data.points.is_none() && self.draft.data.toy.is_some() {
            let mut parts = self.group.slots.first()?.points.to_recipe();
            parts.iter_mut().flatten().flatten().for_each(|v| *v = edit::five_digits(*v));
            let [points, held_out] = parts;
            let data = &mut self.draft.data;
            (data.toy, data.points, data.noise) = (None, Some(points), None);
            // What was held out stays so.
            data.validation_points = Some(held_out).filter(|rows| !rows.is_empty());
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
        self.undo_keys(ui);
        let size = ui.available_size();
        // A phone held upright has the plot above its controls.
        let is_narrow = size.x < 640.0;
        let controls = match is_narrow {
            true => egui::Panel::bottom("controls below").exact_size(0.42 * size.y),
            false => egui::Panel::left("controls").exact_size(300.0),
        };
        controls.resizable(false).show(ui, |ui| {
            egui::ScrollArea::vertical()
                .auto_shrink([false, false])
                .show(ui, |ui| self.settings_ui(ui, settings, banner));
        });
        egui::CentralPanel::default().show(ui, |ui| {
            let pictured = self.is_pictured();
            if !self.embedded && self.lesson.is_none() && pictured {
                self.hint_ui(ui, settings);
            }
            // Where there is little room, the picture has it.
            let curves_too = !self.embedded && !is_narrow;
            let height = ui.available_height();
            let names = self.names();
            let picture = self.group.slot_snapshot(0).map(|l| l.picture.clone()).unwrap_or_default();
            let plot_height = match curves_too {
                true if pictured => (height * 0.62 - BETWEEN).max(160.0),
                true => 40.0,
                false => (height - 4.0).max(160.0),
            };
            match picture {
                Picture::None => self.no_picture_ui(ui, plot_height),
                Picture::Band(band) => self.band_ui(ui, settings, plot_height, &band, names.as_ref()),
                Picture::Map(map) => self.map_ui(ui, settings, plot_height, &map, names.as_ref()),
            }
            if !curves_too {
                return;
            }
            self.dead_ui(ui);
            self.ending_ui(ui);
            self.timeline_ui(ui);
            self.below_ui(ui, settings);
        });
        self.offer(settings, exports);
        self.record(ui);
        self.send_changes();
        self.send_look();
        self.popup_was_open = egui::Popup::is_any_open(ui.ctx());
    }

    /// Whether there is, or will be, a plot of the data: of more than two inputs there is none.
    fn is_pictured(&self) -> bool {
        self.group.slots.first().is_none_or(|l| !l.points.ranges.is_empty())
    }

    /// Learning curves, or the network.
    fn below_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings) {
        ui.horizontal_wrapped(|ui| {
            for (below, name, tip) in [
                (Below::Curves, "Curves", "Loss, its terms and held-out figures by step"),
                (Below::Network, "Network", "Layers, sizes, and what the units make of the input under the pointer"),
            ] {
                ui.selectable_value(&mut settings.below, below, name).on_hover_text(tip);
            }
            if settings.below == Below::Curves {
                ui.weak(navigate::HINT);
            }
        });
        self.below = settings.below;
        let height = ui.available_height().max(110.0);
        match settings.below {
            Below::Curves => {
                let view = curves::CurvesView {
                    id: "playground curves",
                    x_label: "step",
                    y_label: "nats per row",
                    log: settings.curves.log,
                    smoothing: settings.curves.smoothing,
                    height,
                };
                let series = self.curves.shown(&settings.curves);
                let colours = Colours::of(ui);
                curves::marked_curves_ui(ui, &view, &series, |i| colours.series(i), &self.marks(&colours));
            }
            Below::Network => {
                let look = self.group.slot_snapshot(0).and_then(|l| l.network.as_ref());
                let inputs = self.group.slots.first().map_or(&[][..], |l| &l.points.inputs);
                match look {
                    Some(look) => network::network_ui(ui, look, inputs, height),
                    None => drop(ui.weak("starting")),
                }
            }
        }
    }
}
