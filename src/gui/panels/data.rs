//! Your data: a table or images are opened, looked at, and trained on with one click. Reading and inspecting run in jobs, the
//! training on this page's own worker.

pub mod content;
mod images;
mod settings;
mod table;
mod training;

use super::banner::Banner;
use super::keys;
use super::pick::{DialogKind, PathPick, file_name, take_result, working_ui};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::gui::export::{Exports, Plottable};
use crate::gui::settings::Settings;
use crate::live::{Command, Group, Job, Keep, View, WorkerState};
use crate::method;
use crate::recipe::{self, Recipe, key};
use crate::run::RunFolder;
use crate::run::recipe_name;
use crate::train::plan::usual_epochs;
use content::{Choice, Content, ContentKind};
use eframe::egui::{self, DragValue};
use std::path::{Path, PathBuf};

pub struct DataPage {
    /// The training of this page.
    pub group: Group,
    /// What the controls say of the data that is open.
    pub choice: Option<Choice>,
    path: PathPick,
    looking: Option<Job<Content>>,
    /// Lines above a table's header.
    skip_lines: u32,
    content: Option<Content>,
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

impl DataPage {
    pub fn new(ctx: &egui::Context) -> Result<DataPage> {
        let wake = ctx.clone();
        Ok(DataPage {
            group: Group::new("vifo data", move || wake.request_repaint())?,
            choice: None,
            path: PathPick::default(),
            looking: None,
            skip_lines: 0,
            content: None,
            training: None,
            finished: None,
            shown: Shown::Content,
            curves: super::curves::CurveCache::default(),
        })
    }

    /// Looks at a table or an image set.
    pub fn open(&mut self, ctx: &egui::Context, path: &Path) {
        // What the file before needed is no business of this one's.
        self.skip_lines = 0;
        self.read(ctx, path);
    }

    fn read(&mut self, ctx: &egui::Context, path: &Path) {
        let skip = self.skip_lines;
        self.path.set(path);
        // What was open before is not what this path names.
        (self.content, self.choice) = (None, None);
        let (path, wake) = (path.to_path_buf(), ctx.clone());
        let what = format!("Reading {}", file_name(&path));
        self.looking = Some(Job::start(what, move || wake.request_repaint(), move || Content::read(&path, skip)));
        self.shown = Shown::Content;
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
            self.choice = Some(content.choice.clone());
            self.content = Some(content);
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
            self.curves.update(&slot.run.rows);
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
            Ok((RunFolder::claim(&settings.runs, &name)?, name, recipe))
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
            let width = (ui.available_width() - 690.0).min(700.0);
            let enter =
                self.path.field_ui(ui, "file or folder", "a table (CSV, TSV, .gz) or a folder of images", width);
            let ready = self.path.path().is_some();
            let look = ui.add_enabled(ready, egui::Button::new("Look at it")).on_hover_text("Read and summarise it");
            if enter || look.clicked() {
                self.open_typed(ui.ctx());
            }
            let label = ui.label("skip lines");
            let skip =
                ui.add(egui::DragValue::new(&mut self.skip_lines).range(0..=1000).speed(0.05)).labelled_by(label.id);
            if skip.on_hover_text("Lines above the header of a table: a title, a note, units").changed() && ready {
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
        match &content.kind {
            ContentKind::Table { report, .. } => table::report_ui(ui, report, &mut ignore),
            ContentKind::Images(report) => images::report_ui(ui, report),
        }
        if ignore != before {
            if let Some(choice) = &mut self.choice {
                choice.ignore = ignore;
            }
            self.look_again(ui.ctx());
        }
    }

    /// The report of the same data under the choices as they are now.
    fn look_again(&mut self, ctx: &egui::Context) {
        let (Some(content), Some(choice)) = (&self.content, &self.choice) else { return };
        if let Some(work) = content.look_again(choice) {
            let wake = ctx.clone();
            let what = format!("Reading {}", file_name(&content.path));
            self.looking = Some(Job::start(what, move || wake.request_repaint(), work));
        }
    }

    fn settings_ui(&mut self, ui: &mut egui::Ui, settings: &Settings, banner: &mut Banner) {
        let (Some(content), Some(mut choice)) = (&self.content, self.choice.clone()) else { return };
        ui.add_space(4.0);
        if let ContentKind::Table { report, .. } = &content.kind {
            ui.heading("What to learn");
            settings::columns_ui(ui, report, &mut choice);
            ui.separator();
        }
        ui.heading("How");
        let task = content.task(&choice);
        if !keys::suits(&choice.method, task) {
            // Of the target before.
            choice.method = content.choice.method.clone();
        }
        keys::method_ui(ui, "method", &mut choice.method, task);
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
                let (usual, _) = usual_epochs(matches!(content.kind, ContentKind::Images(_)));
                choice.epochs = chosen.then_some(usual);
            }
            if let Some(epochs) = &mut choice.epochs {
                let drag = DragValue::new(epochs).range(1..=100_000).speed(1.0);
                ui.add(drag).labelled_by(tick.id).on_hover_text(keys::tip(key!(train.epochs)));
            }
        });
        if matches!(content.kind, ContentKind::Table { .. }) {
            settings::training_ui(ui, content, &mut choice);
        }
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
