//! Your data: a table or images are opened, looked at, and trained on with one click. Reading and inspecting run in jobs, the
//! training on this page's own worker.

pub mod content;
mod images;
mod reading;
mod settings;
mod table;
mod training;

use super::banner::Banner;
use super::keys;
use super::pick::{DialogKind, PathPick, file_name, take_result, working_ui};
use crate::base::fs;
use crate::data::Task;
use crate::data::encode::Missing;
use crate::error::{Cure, Error, Result};
use crate::gui::export::{Exports, Plottable};
use crate::gui::settings::Settings;
use crate::live::{Command, Group, Job, Keep, View, WorkerState};
use crate::method;
use crate::recipe::{self, Recipe, key};
use crate::run::RunFolder;
use crate::run::recipe_name;
use crate::train::plan::usual_epochs;
use content::{Choice, Content, ContentKind, Left, Look, Reading};
use eframe::egui;
use std::path::{Path, PathBuf};

pub struct DataPage {
    /// The training of this page.
    pub group: Group,
    /// What the controls say of the data that is open.
    pub choice: Option<Choice>,
    path: PathPick,
    looking: Option<Job<Content>>,
    /// How what the path names is read.
    reading: Reading,
    /// Part of the names of the columns that are listed.
    search: String,
    thumbnails: images::Shown,
    content: Option<Content>,
    /// What the controls said when the window was closed, until its data are open again.
    left: Option<Choice>,
    training: Option<Training>,
    finished: Option<PathBuf>,
    shown: Shown,
    curves: super::curves::CurveCache,
}

/// A training that was asked for, from the click on.
struct Training {
    name: String,
    folder: PathBuf,
    /// What the sliders say; the worker's own recipe lags behind. None until it has begun.
    draft: Option<Recipe>,
    complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Content,
    Training,
}

/// A new folder for a run. Where none can be made, the error says where it was to be, and another place can be chosen.
pub fn claim(runs: &Path, name: &str) -> Result<PathBuf> {
    RunFolder::claim(runs, name).map_err(|e| {
        let place = fs::absolute(runs).unwrap_or_else(|_| runs.to_path_buf());
        let found = format!("no run can be put there: {}", e.fault().found);
        Error::run(place.display().to_string(), found, "choose another folder for runs").curing(Cure::RunsFolder)
    })
}

impl DataPage {
    pub fn new(ctx: &egui::Context) -> Result<DataPage> {
        let wake = ctx.clone();
        Ok(DataPage {
            group: Group::new("vifo data", move || wake.request_repaint())?,
            choice: None,
            path: PathPick::default(),
            looking: None,
            reading: Reading::default(),
            search: String::new(),
            thumbnails: images::Shown::default(),
            content: None,
            left: None,
            training: None,
            finished: None,
            shown: Shown::Content,
            curves: super::curves::CurveCache::default(),
        })
    }

    /// For the bar at the foot: what is open.
    pub fn opened(&self) -> Option<String> {
        self.content.as_ref().map(|content| file_name(&content.path))
    }

    /// Looks at a table or an image set.
    pub fn open(&mut self, ctx: &egui::Context, path: &Path) {
        // What the file before needed is no business of this one's.
        (self.reading, self.left) = (Reading::default(), None);
        self.read(ctx, path);
    }

    /// For the next start, as text; None where nothing is open.
    pub fn left(&self) -> Option<String> {
        let content = self.content.as_ref()?;
        // A bundled set has a name and no place.
        let path = if fs::exists(&content.path) { fs::absolute(&content.path).ok()? } else { content.path.clone() };
        serde_json::to_string(&Left { path, reading: self.reading.clone(), choice: self.choice.clone() }).ok()
    }

    /// Whether what was left is on its way.
    pub fn is_reading(&self) -> bool {
        self.looking.is_some()
    }

    /// Opens again what was left, where it is still there.
    pub fn come_back(&mut self, ctx: &egui::Context, left: &str) {
        let Ok(left) = serde_json::from_str::<Left>(left) else { return };
        if fs::exists(&left.path) || left.path.to_str().is_some_and(|p| recipe::BUNDLED.contains(&p)) {
            (self.reading, self.left) = (left.reading, left.choice);
            self.read(ctx, &left.path);
        }
    }

    fn read(&mut self, ctx: &egui::Context, path: &Path) {
        self.path.set(path);
        // What is open stays until this can be shown in its place.
        self.look(ctx, Look { path: path.to_path_buf(), reading: self.reading.clone(), choice: None });
        self.shown = Shown::Content;
    }

    fn look(&mut self, ctx: &egui::Context, look: Look) {
        let wake = ctx.clone();
        let what = format!("Reading {}", file_name(&look.path));
        self.looking = Some(Job::beside(what, move || wake.request_repaint(), look));
    }

    /// Asks for a file with the system's dialog.
    pub fn choose_file(&mut self, ctx: &egui::Context) {
        self.path.ask(ctx, DialogKind::File);
    }

    pub fn poll(&mut self, ctx: &egui::Context, banner: &mut Banner) {
        if self.path.poll(banner) {
            self.open_typed(ctx);
        }
        let asked = self.looking.is_some();
        if let Some(content) = take_result(&mut self.looking, banner) {
            banner.settled();
            self.choice = Some(content.choice.clone());
            self.thumbnails = images::Shown::default();
            self.content = Some(content);
            if let Some(left) = self.left.take() {
                self.choice = Some(left);
                self.look_again(ctx);
            }
        } else if asked && self.looking.is_none() {
            // The controls show what the report shows.
            self.choice = self.content.as_ref().map(|c| c.choice.clone());
        }
        self.group.poll();
        self.follow_training(banner);
    }

    fn open_typed(&mut self, ctx: &egui::Context) {
        if let Some(path) = self.path.path() {
            self.read(ctx, &path);
        }
    }

    fn follow_training(&mut self, banner: &mut Banner) {
        let failed = !self.group.errors.is_empty();
        for e in self.group.errors.drain(..) {
            banner.error(e);
        }
        let saved = std::mem::take(&mut self.group.saved);
        let Some(training) = &mut self.training else { return };
        if saved.contains(&training.folder) {
            training.complete = true;
            self.finished = Some(training.folder.clone());
        }
        if let Some(slot) = self.group.slots.first() {
            self.curves.update(&slot.run.rows, slot.points.target_sd);
            if training.draft.is_none() {
                training.draft = slot.recipe.as_deref().cloned();
            }
        } else if failed {
            // It could not begin: an empty folder would only stand in the way.
            let _ = fs::remove_dir(&training.folder);
            self.training = None;
            self.shown = Shown::Content;
        }
    }

    /// A run folder that this page's training has completed, once.
    pub fn take_finished(&mut self) -> Option<PathBuf> {
        self.finished.take()
    }

    /// Whether the controls' training has not come to its end.
    fn is_busy(&self) -> bool {
        self.training.is_some() && matches!(self.group.state, WorkerState::Running | WorkerState::Paused)
            || self.training.as_ref().is_some_and(|t| t.draft.is_none())
    }

    /// Trains on what is open, with what the controls say.
    pub fn train(&mut self, settings: &Settings, banner: &mut Banner) {
        let (Some(content), Some(choice)) = (&self.content, &self.choice) else { return };
        let claimed = content.recipe(choice).and_then(|recipe| {
            let name = recipe_name(&recipe);
            Ok((claim(&settings.runs, &name)?, name, recipe))
        });
        match claimed {
            Ok((folder, name, recipe)) => {
                self.follow(name, folder.clone());
                let keep = Keep { path: folder, force: true, report: true };
                self.group.start(vec![recipe], Some(keep), true);
            }
            Err(e) => banner.error(e),
        }
    }

    /// Shows the training that is about to begin in a folder.
    fn follow(&mut self, name: String, folder: PathBuf) {
        // What is left of the training before must not pass for this one's.
        self.group.slots.clear();
        self.group.state = WorkerState::Empty;
        self.curves = super::curves::CurveCache::default();
        self.group.send(Command::View(View { interval: 0.1, ..View::default() }));
        self.training = Some(Training { name, folder, draft: None, complete: false });
        self.shown = Shown::Training;
    }

    /// Goes on with a run, for `more` epochs where it has come to its end; false where another training is in the way.
    pub fn resume(&mut self, path: &Path, more: Option<u32>, banner: &mut Banner) -> bool {
        if self.is_busy() {
            let help = "stop it there, or wait for its end";
            banner.error(Error::run("the page Your data", "is training another run", help));
            return false;
        }
        self.follow(file_name(path), path.to_path_buf());
        self.group.resume(path.to_path_buf(), more);
        true
    }

    pub fn data_ui(&mut self, ui: &mut egui::Ui, settings: &Settings, banner: &mut Banner, exports: &mut Exports) {
        egui::Panel::top("data path").show(ui, |ui| self.path_ui(ui));
        if self.content.is_some() {
            egui::Panel::left("data settings").resizable(false).exact_size(316.0).show(ui, |ui| {
                egui::ScrollArea::vertical()
                    .auto_shrink([false, false])
                    .show(ui, |ui| self.settings_ui(ui, settings, banner));
            });
        }
        egui::CentralPanel::default().show(ui, |ui| {
            if self.training.is_some() {
                ui.horizontal(|ui| {
                    ui.selectable_value(&mut self.shown, Shown::Content, "What is in it");
                    ui.selectable_value(&mut self.shown, Shown::Training, "Training");
                });
                ui.separator();
            }
            match self.shown {
                Shown::Training if self.training.is_some() => self.training_ui(ui, settings),
                _ => self.content_ui(ui),
            }
        });
        exports.offer(|| {
            let series = self.curves.shown(&settings.curves);
            if series.is_empty() {
                return vec![];
            }
            let axis = super::curves::x_label(settings.curves.axis);
            vec![Plottable::curves("learning_curves", axis, settings.curves.log, &series)]
        });
    }

    fn path_ui(&mut self, ui: &mut egui::Ui) {
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            let width = (ui.available_width() - 660.0).min(700.0);
            let enter =
                self.path.field_ui(ui, "file or folder", "a table (CSV, TSV, .gz) or a folder of images", width);
            let ready = self.path.path().is_some();
            let look = ui.add_enabled(ready, egui::Button::new("Look at it")).on_hover_text("Read and summarise it");
            if enter || look.clicked() {
                self.open_typed(ui.ctx());
            }
            if reading::reading_ui(ui, &mut self.reading) && ready {
                self.open_typed(ui.ctx());
            }
            if ui.button("Open file…").on_hover_text("With the system's dialog").clicked() {
                self.path.ask(ui.ctx(), DialogKind::File);
            }
            if ui.button("Open folder…").on_hover_text("A folder with one subfolder per class").clicked() {
                self.path.ask(ui.ctx(), DialogKind::Folder);
            }
            if ui.button("Example: digits").on_hover_text("1,797 handwritten digits that come with vifo").clicked() {
                self.open(ui.ctx(), Path::new(recipe::BUNDLED[0]));
            }
            if self.looking.is_some() {
                ui.spinner();
            }
        });
        ui.add_space(2.0);
    }

    fn content_ui(&mut self, ui: &mut egui::Ui) {
        let Some(content) = &self.content else {
            ui.vertical_centered(|ui| {
                ui.add_space(0.25 * ui.available_height());
                ui.heading("Nothing is open yet");
                ui.add_space(6.0);
                ui.label("Drop a CSV file or a folder of images on this window, open one above, or type its path.");
                ui.label(
                    "A folder of images has one subfolder per class. CIFAR, SVHN, STL-10 and MNIST files are known too.",
                );
                ui.add_space(6.0);
                working_ui(ui, &self.looking);
            });
            return;
        };
        let (mut ignore, before) = match &self.choice {
            Some(choice) => (choice.ignore.clone(), choice.ignore.clone()),
            None => (vec![], vec![]),
        };
        let mut reading = self.reading.clone();
        let mut cure = None;
        match &content.kind {
            ContentKind::Table { report, .. } => {
                let asked = table::Asked { ignore: &mut ignore, reading: &mut reading, search: &mut self.search };
                cure = table::report_ui(ui, report, asked);
            }
            ContentKind::Images { report, samples } => images::report_ui(ui, report, samples, &mut self.thumbnails),
        }
        let path = content.path.clone();
        if ignore != before {
            if let Some(choice) = &mut self.choice {
                choice.ignore = ignore;
            }
            self.look_again(ui.ctx());
        }
        if reading != self.reading {
            self.reading = reading;
            self.read(ui.ctx(), &path);
        }
        if let Some(Cure::Set { key, value }) = cure {
            self.cure(ui.ctx(), &key, &value);
        }
    }

    /// Sets what would cure an error or a warning, and looks at the data again; a training is asked for by hand.
    pub fn cure(&mut self, ctx: &egui::Context, key: &str, value: &str) {
        let Some(of) = recipe::keys::find(key) else { return };
        let is_list = matches!(of.kind, recipe::keys::ValueKind::TextList);
        let reads = of.flag.is_some_and(|f| f.reads) || key == key!(data.skip_broken).path;
        match (&mut self.choice, key) {
            (Some(choice), k) if k == key!(data.ignore).path => {
                choice.ignore.push(value.into());
                self.look_again(ctx);
            }
            (Some(choice), k) if k == key!(data.task).path => {
                choice.task = [Task::Regression, Task::Classification].into_iter().find(|t| t.to_string() == value);
                self.look_again(ctx);
            }
            (Some(choice), k) if k == key!(data.missing).path => {
                choice.missing = Missing::ALL.into_iter().find(|m| m.to_string() == value);
                self.look_again(ctx);
            }
            (_, _) if reads => {
                match is_list {
                    true => self.reading.add(of, value),
                    false => self.reading.put(of, Some(value.into())),
                }
                self.open_typed(ctx);
            }
            (Some(choice), _) => {
                choice.more.retain(|(k, _)| *k != of.path);
                choice.more.push((of.path.into(), value.into()));
                self.shown = Shown::Content;
            }
            (None, _) => {}
        }
    }

    /// The report of the same data under the choices as they are now.
    fn look_again(&mut self, ctx: &egui::Context) {
        let (Some(content), Some(choice)) = (&self.content, &self.choice) else { return };
        // A report of images has no choices.
        if matches!(content.kind, ContentKind::Table { .. }) {
            let look =
                Look { path: content.path.clone(), reading: content.reading.clone(), choice: Some(choice.clone()) };
            self.look(ctx, look);
        }
    }

    fn settings_ui(&mut self, ui: &mut egui::Ui, settings: &Settings, banner: &mut Banner) {
        let (Some(content), Some(mut choice)) = (&self.content, self.choice.clone()) else { return };
        ui.add_space(4.0);
        if let ContentKind::Table { report, .. } = &content.kind {
            ui.heading("What to learn");
            settings::columns_ui(ui, report, &mut choice);
            settings::roles_ui(ui, report, &mut choice);
            ui.separator();
        }
        ui.heading("How");
        let task = content.task(&choice);
        if !keys::suits(&choice.method, task) {
            // Of the target before.
            choice.method = content.choice.method.clone();
        }
        keys::method_ui(ui, "method", &mut choice.method, &|m| keys::unsuited(m, task));
        keys::whole_ui(ui, key!(method.members), &mut choice.members);
        if choice.method != method::base::NAME {
            let usual = content.usual_eta(&choice);
            let before = choice.eta.unwrap_or(usual);
            let mut eta = before;
            keys::slider_ui(ui, key!(method.eta), &mut eta);
            if eta != before {
                choice.eta = Some(eta);
            }
        }
        ui.horizontal(|ui| {
            let mut chosen = choice.epochs.is_some();
            let tick = ui.checkbox(&mut chosen, "set the epochs").on_hover_text(keys::tip(key!(train.epochs)));
            if tick.changed() {
                let (usual, _) = usual_epochs(matches!(content.kind, ContentKind::Images { .. }));
                choice.epochs = chosen.then_some(usual);
            }
            if let Some(epochs) = &mut choice.epochs {
                let drag = keys::checked_drag_ui(ui, epochs, (1.0, 100_000.0), 1.0, tick.id);
                drag.on_hover_text(keys::tip(key!(train.epochs)));
            }
        });
        if matches!(content.kind, ContentKind::Table { .. }) {
            settings::training_ui(ui, content, &mut choice);
        }
        settings::more_ui(ui, &mut choice);
        ui.add_space(6.0);
        let obstacle = content.obstacle();
        // A report that is still of other choices would train on them.
        let ready = obstacle.is_none() && self.looking.is_none() && !self.is_busy();
        let train = egui::Button::new(egui::RichText::new("Train").strong());
        let why = match (&obstacle, self.is_busy()) {
            (Some(obstacle), _) => obstacle.as_str(),
            (_, true) => "Training is running: stop it first",
            _ => "Reading",
        };
        let clicked = ui
            .add_enabled_ui(ready, |ui| ui.add_sized([120.0, 30.0], train))
            .inner
            .on_hover_text("Trains into a new run folder, tests on held-out rows, and shows the results")
            .on_disabled_hover_text(why)
            .clicked();
        if let Some(obstacle) = &obstacle {
            ui.add(egui::Label::new(egui::RichText::new(obstacle).color(ui.visuals().error_fg_color)).wrap());
        }
        let anew = self.choice.as_ref().is_some_and(|c| {
            (&c.target, c.task, &c.ignore, c.missing) != (&choice.target, choice.task, &choice.ignore, choice.missing)
        });
        self.choice = Some(choice);
        if anew {
            self.look_again(ui.ctx());
        }
        if clicked {
            self.train(settings, banner);
        }
        self.live_ui(ui);
        ui.add_space(8.0);
    }
}
