//! The app's state and its frame: tabs above, the page below, the status bar at the foot.

mod asked;
mod keys;

use super::export::Exports;
use super::gallery::Example;
use super::panels::banner::Banner;
use super::panels::curves::CurvesPage;
use super::panels::data::DataPage;
use super::panels::examples::{Chosen, ExamplesPage};
use super::panels::pick::take_result;
use super::panels::playground::Playground;
use super::panels::priors::Priors;
use super::panels::recipe::RecipePage;
use super::panels::results::ResultsPage;
use super::panels::runs::{Asked, RunsPage};
use super::panels::side::SideBySide;
use super::panels::status::{self, Pages};
use super::panels::tour::{self, Target, Tour};
use super::present::Present;
use super::settings::{Ground, Settings, Tab};
use super::{link, theme};
use crate::base::words::speak_to_window;
use crate::error::Result;
use crate::live::Job;
use crate::recipe::Recipe;
use eframe::egui::{self, Key, KeyboardShortcut, Modifiers};
use std::path::PathBuf;

mod share;

/// What the command line asks to see first.
#[derive(Debug, Clone, PartialEq)]
pub enum Open {
    Run(PathBuf),
    Recipe(Box<Recipe>),
    /// A table or an image set.
    Data(PathBuf),
    Example {
        example: &'static Example,
        recipe: Box<Recipe>,
        embed: bool,
    },
    /// What a link says.
    Link {
        recipe: Option<Box<Recipe>>,
        page: Option<Tab>,
        embed: bool,
    },
}

pub struct App {
    pub settings: Settings,
    pub banner: Banner,
    pub playground: Playground,
    pub examples: ExamplesPage,
    pub side: SideBySide,
    pub priors: Priors,
    pub curves: CurvesPage,
    pub data: DataPage,
    pub results: ResultsPage,
    pub runs: RunsPage,
    pub recipe: RecipePage,
    pub exports: Exports,
    tour: Tour,
    /// Of the last frame.
    tab_before: Tab,
    close_after: Option<u64>,
    /// The page in front alone, inside somebody else's.
    embedded: bool,
    present: Present,
    /// Files on their way into the program.
    receiving: Option<Job<Option<PathBuf>>>,
    /// Another folder for runs.
    choosing: Option<Job<Option<PathBuf>>>,
    /// Whether the window has been fitted to its monitor.
    fitted: bool,
    /// Seconds that a frame takes, smoothed.
    frame_seconds: f64,
    frames: u64,
    /// Looks at the workers since the last frame that was drawn: a window that is minimised draws none.
    unseen: u32,
    began: crate::base::clock::Instant,
}

/// A window without a frame for so many looks is hidden; its pictures are needed so often, seconds.
const UNSEEN: u32 = 8;
const HIDDEN_INTERVAL: f64 = 5.0;

const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const EXPORT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::E);
const COPY_IMAGE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::C);

impl App {
    /// `home` keeps the playground's training between two starts.
    pub fn new(
        ctx: &egui::Context,
        settings: Settings,
        home: PathBuf,
        open: Option<Open>,
        close_after: Option<u64>,
    ) -> Result<App> {
        speak_to_window();
        theme::set_up(ctx);
        let asked = match &open {
            Some(Open::Recipe(recipe) | Open::Example { recipe, .. } | Open::Link { recipe: Some(recipe), .. }) => {
                Some((**recipe).clone())
            }
            _ => None,
        };
        let mut app = App {
            playground: Playground::new(ctx, &settings, &home, asked)?,
            examples: ExamplesPage::default(),
            side: SideBySide::kept(&home),
            priors: Priors::default(),
            curves: CurvesPage::default(),
            data: DataPage::new(ctx)?,
            results: ResultsPage::default(),
            runs: RunsPage::new(&settings.runs),
            recipe: RecipePage::default(),
            exports: Exports::default(),
            banner: Banner::default(),
            tour: Tour::default(),
            tab_before: settings.tab,
            settings,
            close_after,
            embedded: false,
            present: Present::default(),
            receiving: None,
            choosing: None,
            fitted: false,
            frame_seconds: 0.0,
            frames: 0,
            unseen: 0,
            began: crate::base::clock::Instant::now(),
        };
        match open {
            Some(Open::Run(path)) => {
                app.results.open(ctx, &path);
                app.settings.tab = Tab::Results;
            }
            Some(Open::Data(path)) => {
                app.data.open(ctx, &path);
                app.settings.tab = Tab::Data;
            }
            Some(Open::Recipe(_)) => app.settings.tab = Tab::Playground,
            Some(Open::Example { example, embed, .. }) => {
                app.show_example(example);
                app.embedded = embed;
            }
            Some(Open::Link { page, embed, .. }) => {
                app.settings.tab = page.unwrap_or(app.settings.tab);
                app.embedded = embed;
            }
            None => app.reopen(ctx),
        }
        if app.playground.is_second {
            app.banner.tell(
                "Another window of vifo has the last session. This one trains anew, and its training is not kept: close the other \
                 first to go on where it was.",
            );
        }
        Ok(app)
    }

    /// Takes in what the workers have done; runs while the window is hidden too.
    pub fn logic(&mut self, ctx: &egui::Context) {
        // A slow drawing adapter must not be asked for more frames than it can draw.
        let interval = (1.2 * self.frame_seconds).clamp(0.033, 0.11);
        self.unseen = self.unseen.saturating_add(1);
        let interval = if self.unseen > UNSEEN { HIDDEN_INTERVAL } else { interval };
        // Nor for a picture of a page that is not in front: once a second is enough for the bar at the foot.
        let tab = self.settings.tab;
        let of_playground = if matches!(tab, Tab::Playground | Tab::Curves) { interval } else { interval.max(1.0) };
        self.playground.poll(of_playground, &mut self.settings, &mut self.banner);
        self.side.in_front(tab == Tab::SideBySide);
        self.priors.in_front(tab == Tab::Priors);
        self.side.poll(interval, &mut self.banner);
        self.priors.poll(interval, &mut self.banner);
        self.data.poll(ctx, &mut self.banner);
        self.results.poll(ctx, &mut self.banner);
        self.runs.poll(ctx, &mut self.banner);
        self.exports.poll(&mut self.banner);
        self.exports.copies.poll(ctx, &mut self.banner);
        self.exports.films.poll(&mut self.banner);
        self.recipe.poll(&mut self.banner);
        self.settings.running = self.playground.group.is_running();
        if !self.results.is_reading() {
            (self.settings.opened, self.settings.part) = (self.results.opened(), self.results.part());
            self.settings.rows = self.results.rows_shown();
        }
        if !self.data.is_reading() {
            self.settings.data = self.data.left();
        }
        self.settings.filter.clone_from(self.runs.filter());
        self.settings.run_order.clone_from(&self.runs.list.order);
        self.settings.ticked = self.runs.ticked();
        self.settings.edited.clone_from(&self.recipe.edited);
        if let Some(path) = self.data.take_finished() {
            self.results.open(ctx, &path);
            self.settings.tab = Tab::Results;
        }
        for asked in self.runs.take_asked().into_iter().chain(self.results.take_asked()) {
            self.take_asked(ctx, asked);
        }
        if let Some(cure) = self.banner.take_asked() {
            self.cure(ctx, cure);
        }
        if let Some(Some(folder)) = take_result(&mut self.choosing, &mut self.banner) {
            self.settings.runs = folder;
            self.banner.note(format!("new runs go to {}", self.settings.runs.display()));
        }
        if self.close_after.is_some_and(|steps| self.playground.group.step() >= steps) {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
    }

    fn take_asked(&mut self, ctx: &egui::Context, asked: Asked) {
        match asked {
            Asked::Open(path) => {
                self.results.open(ctx, &path);
                self.settings.tab = Tab::Results;
            }
            Asked::Resume { path, more } => {
                if self.data.resume(&path, more, &mut self.banner) {
                    self.settings.tab = Tab::Data;
                }
            }
            Asked::Moved { from, to } => self.results.follow_to(ctx, &from, &to),
        }
    }

    /// One frame on a ground of its own, for whoever does not clear to it.
    pub fn show(&mut self, ui: &mut egui::Ui) {
        let all = ui.ctx().content_rect();
        ui.painter().with_clip_rect(all).rect_filled(all, 0.0, theme::ground(ui.visuals()));
        self.show_cleared(ui);
    }

    /// One frame.
    fn show_cleared(&mut self, ui: &mut egui::Ui) {
        self.unseen = 0;
        ui.ctx().set_theme(match self.settings.ground {
            Ground::System => egui::ThemePreference::System,
            Ground::Light => egui::ThemePreference::Light,
            Ground::Dark => egui::ThemePreference::Dark,
        });
        self.fit_to_monitor(ui.ctx());
        let left = std::mem::replace(&mut self.tab_before, self.settings.tab) != self.settings.tab;
        self.banner.fade(ui.ctx(), left);
        if !self.tour.is_shown() {
            self.keys(ui);
        }
        self.dropped(ui);
        if self.present.is_on() {
            return self.present_ui(ui);
        }
        let mut foot = 0.0;
        if !self.embedded {
            egui::Panel::top("tabs").show(ui, |ui| self.tabs_ui(ui));
            let bar = egui::Panel::bottom("status").show(ui, |ui| {
                let pages = Pages {
                    playground: &self.playground,
                    side: &self.side,
                    priors: &self.priors,
                    data: &self.data,
                    results: &self.results,
                    runs: &self.runs,
                };
                let banner = &mut self.banner;
                ui.horizontal(|ui| {
                    // As high with a message as without.
                    ui.set_min_height(22.0);
                    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                        banner.note_ui(ui);
                        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                            status::status_ui(ui, self.settings.tab, &pages);
                        });
                    });
                });
            });
            foot = bar.response.rect.height();
        }
        self.lesson_ui(ui);
        let least = egui::Vec2::from(self.settings.tab.least());
        let room = ui.available_size();
        if self.embedded || (room.x >= least.x && room.y >= least.y) {
            self.page_ui(ui);
        } else {
            // What does not fit can be scrolled to; the tabs and the bar at the foot stay.
            ui.spacing_mut().scroll = egui::style::ScrollStyle::solid();
            egui::ScrollArea::both().id_salt("page").auto_shrink(false).show(ui, |ui| {
                let (rect, _) = ui.allocate_exact_size(ui.available_size().max(least), egui::Sense::hover());
                self.page_ui(&mut ui.new_child(egui::UiBuilder::new().id_salt("page").max_rect(rect)));
            });
        }
        if self.tour.tour_ui(ui.ctx(), self.settings.tab) {
            self.settings.tour_seen = true;
        }
        self.banner.banner_ui(ui.ctx(), foot);
        self.exports.dialog_ui(ui, &mut self.banner);
        if std::mem::take(&mut self.playground.ask_present) {
            self.present(ui.ctx());
        }
        self.frames += 1;
    }

    fn page_ui(&mut self, ui: &mut egui::Ui) {
        match self.settings.tab {
            Tab::Playground => {
                self.playground.embedded = self.embedded;
                self.playground.playground_ui(ui, &mut self.settings, &mut self.banner, &mut self.exports)
            }
            Tab::Examples => {
                let chosen = self.examples.examples_ui(ui);
                self.take_example(ui.ctx(), chosen);
            }
            Tab::SideBySide => {
                self.side.side_ui(ui, &mut self.settings, &self.playground, &mut self.banner, &mut self.exports)
            }
            Tab::Priors => self.priors.priors_ui(ui, &mut self.settings, &mut self.banner, &mut self.exports),
            Tab::Curves => self.curves.curves_ui(
                ui,
                &mut self.settings,
                &self.playground,
                &self.data,
                &self.runs,
                &mut self.exports,
            ),
            Tab::Data => self.data.data_ui(ui, &self.settings, &mut self.banner, &mut self.exports),
            Tab::Results => self.results.results_ui(ui, &mut self.banner, &mut self.exports),
            Tab::Runs => self.runs.runs_ui(ui, &mut self.settings, &mut self.banner, &mut self.exports),
            Tab::Recipe => self.recipe.recipe_ui(ui, &mut self.settings, &mut self.playground, &mut self.banner),
        }
    }

    /// So many have been drawn.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn tabs_ui(&mut self, ui: &mut egui::Ui) {
        ui.horizontal_wrapped(|ui| {
            // In one row of the narrowest windows.
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.add_space(2.0);
            ui.strong("vifo").on_hover_text("Neural networks whose predictions carry honest uncertainty");
            ui.separator();
            for (tab, name, tip) in Tab::ALL {
                let shown = ui.selectable_value(&mut self.settings.tab, tab, name).on_hover_text(tip);
                if tab == Tab::Data {
                    tour::mark(ui.ctx(), Target::YourData, shown.rect);
                }
            }
            theme::choice_ui(ui, &mut self.settings.ground);
            if ui.button("Tour").on_hover_text("The playground in four steps").clicked() {
                self.settings.tab = self.tour.begin();
            }
            let tip = "An address that opens this training with its points, to the bit: for a colleague, a paper or a lecture";
            if ui.button("Copy link").on_hover_text(tip).clicked() {
                self.copy_link(ui.ctx());
            }
            self.share_ui(ui);
        });
    }

    fn take_example(&mut self, ctx: &egui::Context, chosen: Option<Chosen>) {
        match chosen {
            Some(Chosen::Open(example)) => match example.recipe() {
                Ok(recipe) => {
                    self.playground.take_recipe(recipe);
                    self.show_example(example);
                }
                Err(e) => self.banner.error(e),
            },
            Some(Chosen::CopyLink(example)) => self.copy(ctx, Ok(link::of_example(&example.name))),
            None => {}
        }
    }

    /// The words of the example in training, above the page that shows it.
    fn lesson_ui(&mut self, ui: &mut egui::Ui) {
        let shown = |example: &&'static Example| example.tab() == self.settings.tab && !self.embedded;
        let Some(lesson) = self.playground.lesson.filter(shown) else { return };
        egui::Panel::top("lesson").show(ui, |ui| {
            ui.add_space(2.0);
            ui.horizontal_wrapped(|ui| {
                ui.strong(&lesson.title);
                ui.label(&lesson.text);
            });
            ui.horizontal_wrapped(|ui| {
                ui.strong("Try:");
                ui.label(&lesson.task);
                let tip = "These words go, the training stays";
                if ui.small_button("Close the example").on_hover_text(tip).clicked() {
                    self.playground.lesson = None;
                }
            });
            ui.add_space(2.0);
        });
    }

    /// The page of the example that the playground trains, and what it needs there.
    fn show_example(&mut self, example: &'static Example) {
        self.playground.lesson = Some(example);
        self.settings.tab = example.tab();
        if !example.methods.is_empty() {
            self.settings.side = example.methods.clone();
            self.side.begin_anew();
        }
        self.settings.map = example.map().unwrap_or(self.settings.map);
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        App::logic(self, ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        // Of the frame before, drawing included.
        if let Some(seconds) = frame.info().cpu_usage {
            self.frame_seconds = 0.8 * self.frame_seconds + 0.2 * f64::from(seconds);
        }
        self.show_cleared(ui);
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        theme::ground(visuals).to_normalized_gamma_f32()
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        eframe::set_value(storage, eframe::APP_KEY, &self.settings);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if self.close_after.is_some() {
            let seconds = self.began.elapsed().as_secs_f64();
            let step = self.playground.group.step();
            let rate = self.frames as f64 / seconds;
            eprintln!("closed at step {step}: {} frames in {seconds:.1} s, {rate:.1} per second", self.frames);
        }
    }
}
