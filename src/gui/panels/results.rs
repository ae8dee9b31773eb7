//! Results of a run: its metrics, predictions sorted by uncertainty, figures, and evaluation on out-of-distribution rows.
//! Reading, predicting and evaluating run in jobs.

mod classes;
mod frames;
mod gallery;
mod head;
mod images;
mod metrics;
pub mod predictions;
pub mod read;
mod rows;
mod second;
mod view;

use super::banner::Banner;
use super::curves::CurveCache;
use super::pick::{DialogKind, PathPick, file_name, take_result, working_ui};
use super::runs::Asked;
use crate::base::clock::{Duration, Instant, SystemTime};
use crate::base::fs;
use crate::error::Error;
use crate::gui::export::{Exports, Plottable};
use crate::gui::plots::network::layers_ui;
use crate::gui::settings::{CurveOptions, RowsShown, Sub};
use crate::live::Job;
use crate::tables::TextTable;
use crate::workflow::calibrate::Calibrated;
use crate::workflow::evaluate::Evaluation;
use eframe::egui;
use frames::FramesPage;
use gallery::Gallery;
use images::Images;
use read::{Calibrate, Pixels, Predict, Predicted, Run, TestImages};
use std::path::{Path, PathBuf};
use view::{Thumbnails, View};

#[derive(Default)]
pub struct ResultsPage {
    path: PathPick,
    reading: Option<Job<Run>>,
    run: Option<Run>,
    tab: Sub,
    /// What was shown when the window was closed.
    left: Option<(Sub, RowsShown)>,
    /// Of the run's own test rows.
    own: Option<View>,
    own_images: Option<Job<Option<Pixels>>>,
    /// Of the rows asked for last, in place of the run's own.
    other: Option<View>,
    /// The file of these.
    other_file: Option<PathBuf>,
    rows: PathPick,
    predicting: Option<Job<Predicted>>,
    save: PathPick,
    saving: Option<Job<PathBuf>>,
    second: PathPick,
    evaluating: Option<Job<Evaluation>>,
    calibrating: Option<Job<Calibrated>>,
    /// What the last evaluation said.
    said: Vec<String>,
    gallery: Gallery,
    pub frames: FramesPage,
    /// They were in front in the last frame.
    frames_seen: bool,
    curves: CurveCache,
    /// When its metrics were last written, and whether a process trains in the folder.
    seen: (Option<SystemTime>, bool),
    /// When the folder was last looked at; None while the page is not in front.
    looked: Option<Instant>,
    /// The folder of what is shown is not there any more.
    removed: bool,
    /// Why a file did not reach the user.
    failed: Option<Error>,
    /// A report or a folder that is being opened outside.
    opening: Option<Job<()>>,
    asked: Vec<Asked>,
    /// Epochs that the run would be continued for; None = as many as it had.
    more: Option<u32>,
    classes: Option<TextTable>,
    images: Images,
}

/// Between two looks at whether the folder is still there, and still in training.
const INTERVAL: Duration = Duration::from_secs(1);

impl ResultsPage {
    /// The folder of the run that is shown.
    pub fn opened(&self) -> Option<PathBuf> {
        self.run.as_ref().map(|run| run.folder.path.clone())
    }

    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// For the next start.
    pub fn part(&self) -> Sub {
        self.tab
    }

    /// How the test rows are shown.
    pub fn rows_shown(&self) -> RowsShown {
        self.own.as_ref().map_or_else(RowsShown::default, View::shown)
    }

    pub fn come_back(&mut self, ctx: &egui::Context, path: &Path, part: Sub, rows: RowsShown) {
        self.left = Some((part, rows));
        self.open(ctx, path);
    }

    /// For the bar at the foot: the run, its method, what became of it, and where it was trained.
    pub fn status(&self) -> Vec<String> {
        let Some(run) = &self.run else { return vec!["no run is open".into()] };
        let state = if self.removed { "removed" } else { run.state.word() };
        let method = super::keys::method_name(&run.recipe.method.name);
        [file_name(&run.folder.path).as_str(), method, state, &run.manifest.device].map(String::from).to_vec()
    }

    /// Reads a run folder.
    pub fn open(&mut self, ctx: &egui::Context, path: &Path) {
        self.path.set(path);
        self.read(ctx, path);
    }

    fn read(&mut self, ctx: &egui::Context, path: &Path) {
        let (path, wake) = (path.to_path_buf(), ctx.clone());
        let what = format!("Reading {}", path.display());
        self.reading = Some(Job::start(what, move || wake.request_repaint(), move || read::read(&path)));
    }

    /// Rows of the test that pass the filter.
    pub fn shown_rows(&self) -> usize {
        self.own.as_ref().map_or(0, |v| v.order.len())
    }

    /// What the rest of the app was asked for, once.
    pub fn take_asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }

    /// The run that is open has another name.
    pub fn follow_to(&mut self, ctx: &egui::Context, from: &Path, to: &Path) {
        if self.run.as_ref().is_some_and(|r| fs::absolute(&r.folder.path).ok() == fs::absolute(from).ok()) {
            self.open(ctx, to);
        }
    }

    fn open_typed(&mut self, ctx: &egui::Context) {
        if let Some(path) = self.path.path() {
            self.open(ctx, &path);
        }
    }

    pub fn poll(&mut self, ctx: &egui::Context, banner: &mut Banner) {
        if self.path.poll(banner) {
            self.open_typed(ctx);
        }
        self.rows.poll(banner);
        self.failed.take().into_iter().for_each(|e| banner.error(e));
        take_result(&mut self.opening, banner);
        self.save.poll(banner);
        self.second.poll(banner);
        if let Some(run) = take_result(&mut self.reading, banner) {
            banner.settled();
            self.show(ctx, run);
        }
        if let (Some(Some(pixels)), Some(own)) = (take_result(&mut self.own_images, banner), &mut self.own) {
            own.images = Some(Thumbnails::new(pixels));
        }
        if let Some(done) = take_result(&mut self.predicting, banner) {
            let title = format!("Predictions of {}", file_name(&done.file));
            let mut view = View::new(ctx, title, done.predictions, done.notes);
            view.images = done.pixels.map(Thumbnails::new);
            (self.other, self.other_file) = (Some(view), Some(done.file));
        }
        if let Some(done) = take_result(&mut self.calibrating, banner) {
            // Its own caveats stand beside it from now on.
            let caveats = done.calibration.caveats();
            done.notes.into_iter().filter(|n| !caveats.contains(n)).for_each(|n| banner.note(n));
            if let Some(path) = self.run.as_ref().map(|r| r.folder.path.clone()) {
                self.open(ctx, &path);
            }
            // Rows that are shown were predicted without it.
            if let Some(file) = self.other_file.clone().filter(|_| self.other.is_some()) {
                self.predict(ctx, file);
            }
        }
        if let Some(path) = take_result(&mut self.saving, banner) {
            match crate::gui::shell::hand_over(&path) {
                Ok(()) => banner.note(format!("saved {}", path.display())),
                Err(e) => banner.error(e),
            }
        }
        if let Some(done) = take_result(&mut self.evaluating, banner) {
            self.said = done.notes;
            if let Some(run) = &mut self.run {
                run.evaluation = done.results;
                for path in done.figures.iter().map(|f| f.0.with_extension("png")) {
                    if !run.figures.contains(&path) {
                        run.figures.push(path);
                    }
                }
                self.gallery.load(ctx, run.figures.clone());
            }
        }
        self.gallery.poll(banner);
        self.frames.in_front(std::mem::take(&mut self.frames_seen));
        self.frames.poll(ctx, self.run.as_ref().map(|r| &r.folder), banner);
        self.follow(ctx);
        for view in [&mut self.own, &mut self.other].into_iter().flatten() {
            view.poll(banner);
        }
    }

    /// Notices that the folder is gone, or that a training in it has ended or gone on.
    fn follow(&mut self, ctx: &egui::Context) {
        let Some(run) = self.run.as_ref().filter(|_| self.looked.is_some_and(|at| at.elapsed() >= INTERVAL)) else {
            return;
        };
        self.looked = None;
        self.removed = !fs::is_file(run.folder.file("manifest.json"));
        let written = |name: &str| fs::metadata(run.folder.file(name)).and_then(|m| m.modified()).ok();
        let now = (written("metrics.csv"), run.folder.is_held());
        if !self.removed && self.reading.is_none() && now != self.seen {
            let path = run.folder.path.clone();
            // Not `open`: another path may just be typed.
            self.read(ctx, &path);
        }
    }

    fn show(&mut self, ctx: &egui::Context, run: Run) {
        let written = fs::metadata(run.folder.file("metrics.csv")).and_then(|m| m.modified()).ok();
        self.seen = (written, run.held);
        self.removed = false;
        let other_run = self.run.as_ref().is_none_or(|r| r.folder.path != run.folder.path);
        // Read anew, after a calibration, they stay as they were.
        let mut rows = self.rows_shown();
        if other_run {
            (self.other, self.more) = (None, None);
            (self.tab, rows) = self.left.take().unwrap_or_default();
            self.images = Images::default();
            (self.predicting, self.evaluating, self.calibrating) = (None, None, None);
            self.gallery = Gallery::default();
            self.frames.clear();
            self.save.text = String::new();
        }
        self.said.clear();
        self.classes = run.predictions.as_ref().and_then(|p| p.per_class());
        self.own =
            run.predictions.clone().map(|p| View::shown_as(ctx, "Test rows".into(), p, run.of_rows.clone(), &rows));
        self.own_images = None;
        if self.own.is_some() && run.encoder.pixels.is_some() {
            let (folder, wake) = (run.folder.clone(), ctx.clone());
            let images = TestImages(folder);
            self.own_images = Some(Job::beside("Reading images", move || wake.request_repaint(), images));
        }
        self.gallery.load(ctx, run.figures.clone());
        self.curves = CurveCache::default();
        self.curves.update(&run.rows, run.encoder.target_sd());
        self.run = Some(run);
    }

    /// The run that is open.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Calibrates as `vifo calibrate RUN` does without flags.
    pub fn calibrate(&mut self, ctx: &egui::Context) {
        let Some(run) = &self.run else { return };
        let (folder, wake) = (run.folder.clone(), ctx.clone());
        self.calibrating = Some(Job::beside("Calibrating", move || wake.request_repaint(), Calibrate(folder)));
    }

    /// Predicts other rows, which are shown in place of the run's own.
    pub fn predict(&mut self, ctx: &egui::Context, file: PathBuf) {
        let Some(run) = &self.run else { return };
        let (what, wake) = (format!("Predicting {}", file_name(&file)), ctx.clone());
        let chore = Predict { folder: run.folder.clone(), file };
        self.predicting = Some(Job::beside(what, move || wake.request_repaint(), chore));
    }

    /// The rows that are shown: their title, and how many.
    pub fn rows(&self) -> Option<(&str, usize)> {
        let view = self.other.as_ref().or(self.own.as_ref())?;
        Some((&view.title, view.predictions.table.rows.len()))
    }

    /// The parts of the page that this run has.
    fn parts_ui(&mut self, ui: &mut egui::Ui) {
        let of_images = self.run.as_ref().is_some_and(|r| r.encoder.pixels.is_some());
        ui.horizontal(|ui| {
            for (tab, name, is_there) in [
                (Sub::Predictions, "Predictions", true),
                (Sub::Images, "Images", of_images && self.own.is_some()),
                (Sub::Classes, "Per class", self.classes.is_some()),
                (Sub::Figures, "Figures", true),
                (Sub::Second, "Second set", true),
                // A page in a browser sees no folder that changes.
                (Sub::Live, "Live images", of_images && !crate::gui::shell::DOWNLOADS),
                (Sub::Report, "Report", true),
            ] {
                if is_there {
                    ui.selectable_value(&mut self.tab, tab, name);
                } else if self.tab == tab {
                    self.tab = Sub::Predictions;
                }
            }
        });
    }

    pub fn results_ui(&mut self, ui: &mut egui::Ui, _banner: &mut Banner, exports: &mut Exports) {
        if self.run.is_some() {
            self.looked.get_or_insert_with(Instant::now);
            ui.ctx().request_repaint_after(INTERVAL);
        }
        egui::Panel::top("run path").show(ui, |ui| self.path_ui(ui));
        let mut asked = false;
        if let Some(run) = &self.run {
            let width = metrics::width(run).min(0.47 * ui.available_width());
            egui::Panel::left("metrics").resizable(false).exact_size(width).show(ui, |ui| {
                egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                    metrics::run_ui(ui, run);
                    asked = head::calibrate_ui(ui, run, self.calibrating.is_some());
                    head::continue_ui(ui, run, self.removed, &mut self.more, &mut self.asked);
                    if let Some(network) = &run.network {
                        egui::CollapsingHeader::new("Network").show(ui, |ui| layers_ui(ui, network));
                    }
                });
            });
        }
        if asked {
            self.calibrate(ui.ctx());
        }
        egui::CentralPanel::default().show(ui, |ui| {
            if self.run.is_none() {
                ui.vertical_centered(|ui| {
                    ui.add_space(0.25 * ui.available_height());
                    ui.heading("No run is open yet");
                    ui.add_space(6.0);
                    ui.label("Train on the page Your data, choose a run on the page Runs, or open a run folder above.");
                    ui.add_space(6.0);
                    working_ui(ui, &self.reading);
                });
                return;
            }
            self.parts_ui(ui);
            ui.separator();
            match self.tab {
                Sub::Predictions => self.predictions_ui(ui),
                Sub::Images => {
                    working_ui(ui, &self.own_images);
                    if let Some(own) = &mut self.own {
                        self.images.images_ui(ui, own);
                    }
                }
                Sub::Classes => classes::classes_ui(ui, self.classes.as_ref()),
                Sub::Figures => {
                    egui::ScrollArea::vertical()
                        .id_salt("gallery")
                        .auto_shrink([false, false])
                        .show(ui, |ui| self.gallery.gallery_ui(ui, |_| true));
                }
                Sub::Second => self.second_ui(ui),
                Sub::Live => {
                    self.frames_seen = true;
                    if let Some(run) = &self.run {
                        self.frames.frames_ui(ui, &run.folder);
                    }
                }
                Sub::Report => self.report_ui(ui),
            }
        });
        exports.offer(|| {
            let mut all = self.gallery.plottables();
            let series = self.curves.shown(&CurveOptions::default());
            if all.is_empty() && !series.is_empty() {
                all.push(Plottable::curves("learning_curves", "step", true, &series));
            }
            all
        });
    }

    fn path_ui(&mut self, ui: &mut egui::Ui) {
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            let width = (ui.available_width() - 370.0).min(800.0);
            let enter = self.path.field_ui(ui, "run folder", "a folder that a training made", width);
            let ready = self.path.path().is_some();
            let open = ui.add_enabled(ready, egui::Button::new("Open run")).on_hover_text("Read it, or read it again");
            if enter || open.clicked() {
                self.open_typed(ui.ctx());
            }
            if ui.button("Open folder…").on_hover_text("With the system's dialog").clicked() {
                self.path.ask(ui.ctx(), DialogKind::Folder);
            }
            if self.reading.is_some() {
                ui.spinner();
            }
        });
        self.head_ui(ui);
        ui.add_space(2.0);
    }
}
