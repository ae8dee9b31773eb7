//! A folder of images, watched live: each image as it comes, what the run sees in it, and whether it is like what it was trained on.

use crate::base::clock::{Duration, Instant};
use crate::gui::camera::CameraPick;
use crate::gui::panels::banner::Banner;
use crate::gui::panels::pick::{DialogKind, PathPick, file_name};
use crate::gui::theme;
use crate::live::Watch;
use crate::run::RunFolder;
use crate::workflow::frames::{Frame, FrameEvent, in_words};
use eframe::egui::{self, Color32, ColorImage, Image, Label, RichText, TextureHandle, TextureOptions};
use std::collections::VecDeque;
use std::path::PathBuf;

/// Images that are kept in sight.
const STRIP: usize = 12;
/// Skipped files that are named.
const MOST_SKIPPED: usize = 5;
/// Over which frames are counted.
const SPAN: Duration = Duration::from_secs(2);
/// Points, of the image that came last and of those before it.
const LARGE: f32 = 240.0;
const SMALL: f32 = 84.0;

#[derive(Default)]
pub struct FramesPage {
    folder: PathPick,
    pub camera: CameraPick,
    watched: Option<PathBuf>,
    watch: Option<Watch>,
    /// What the images are compared with.
    said: String,
    /// The latest first.
    shown: VecDeque<Shown>,
    /// When the last ones came, as far back as they are counted.
    times: VecDeque<Instant>,
    pub count: u64,
    skipped: VecDeque<(String, String)>,
}

struct Shown {
    frame: Frame,
    texture: TextureHandle,
}

impl FramesPage {
    /// Another run is open.
    pub fn clear(&mut self) {
        let (folder, camera) = (std::mem::take(&mut self.folder), std::mem::take(&mut self.camera));
        *self = FramesPage { folder, camera, ..FramesPage::default() };
        self.camera.stop();
    }

    pub fn watch(&mut self, ctx: &egui::Context, run: &RunFolder, dir: PathBuf) {
        self.clear();
        self.folder.set(&dir);
        self.begin(ctx, run, dir);
    }

    fn begin(&mut self, ctx: &egui::Context, run: &RunFolder, dir: PathBuf) {
        let wake = ctx.clone();
        self.watch = Some(Watch::start(run.clone(), &dir, move || wake.request_repaint()));
        self.watched = Some(dir);
    }

    /// Nothing is watched any more.
    fn stop(&mut self) {
        (self.watch, self.watched) = (None, None);
        self.camera.stop();
    }

    /// What is watched stands still while another page is in front.
    pub fn in_front(&mut self, seen: bool) {
        if let Some(watch) = &self.watch {
            watch.in_front(seen);
        }
    }

    pub fn poll(&mut self, ctx: &egui::Context, run: Option<&RunFolder>, banner: &mut Banner) {
        self.folder.poll(banner);
        let was_on = self.camera.name().is_some();
        if let Some((dir, run)) = self.camera.poll(banner).zip(run) {
            (self.count, self.said) = (0, String::new());
            self.shown.clear();
            self.times.clear();
            self.begin(ctx, run, dir);
        } else if was_on && self.camera.name().is_none() {
            self.stop();
        }
        while let Some(event) = self.watch.as_ref().and_then(Watch::poll) {
            match event {
                Ok(FrameEvent::Ready(said)) => self.said = said,
                Ok(FrameEvent::Frame(frame)) => self.take(ctx, *frame),
                Ok(FrameEvent::Skipped { name, why }) => {
                    self.skipped.retain(|s| s.0 != name);
                    self.skipped.push_front((name, why));
                    self.skipped.truncate(MOST_SKIPPED);
                }
                Err(e) => {
                    banner.error(e);
                    self.stop();
                }
            }
        }
    }

    fn take(&mut self, ctx: &egui::Context, frame: Frame) {
        let (h, w, c) = frame.size;
        let image = match c {
            1 => ColorImage::from_gray([w, h], &frame.pixels),
            _ => ColorImage::from_rgb([w, h], &frame.pixels),
        };
        self.count += 1;
        self.skipped.retain(|s| s.0 != frame.name);
        let texture = ctx.load_texture(format!("frame {}", self.count), image, TextureOptions::NEAREST);
        self.shown.push_front(Shown { frame, texture });
        self.shown.truncate(STRIP + 1);
        self.times.push_back(Instant::now());
    }

    /// Frames per second of the last two seconds.
    fn rate(&mut self) -> f64 {
        while self.times.front().is_some_and(|at| at.elapsed() > SPAN) {
            self.times.pop_front();
        }
        self.times.len() as f64 / SPAN.as_secs_f64()
    }

    pub fn frames_ui(&mut self, ui: &mut egui::Ui, run: &RunFolder) {
        ui.add(
            Label::new(
                "Each new or changed image of a folder, or of a camera, is predicted as it comes, in one pass of the network.",
            )
            .wrap(),
        );
        ui.horizontal_wrapped(|ui| {
            let width = (ui.available_width() - 520.0).clamp(170.0, 500.0);
            let enter = self.folder.field_ui(ui, "image folder", "where the frames come", width);
            let dir = self.folder.path();
            let go = ui.add_enabled(dir.is_some(), egui::Button::new("Watch folder")).clicked();
            if let Some(dir) = dir.filter(|_| go || enter) {
                self.watch(ui.ctx(), run, dir);
            }
            if ui.add_enabled(self.watch.is_some(), egui::Button::new("Stop watching")).clicked() {
                self.stop();
            }
            if ui.button("Folder…").on_hover_text("Choose a folder").clicked() {
                self.folder.ask(ui.ctx(), DialogKind::Folder);
            }
            self.camera.button_ui(ui);
        });
        if let Some(dir) = &self.watched {
            let name = self.camera.name().map_or_else(|| file_name(dir), String::from);
            let (count, rate) = (self.count, self.rate());
            ui.horizontal_wrapped(|ui| {
                ui.strong(format!("{rate:.1} frames/s"));
                ui.label(format!("{count} images of {name} so far"));
                ui.weak(if self.said.is_empty() { "opening the run" } else { &self.said });
            });
            // The rate falls where nothing comes.
            ui.ctx().request_repaint_after(Duration::from_secs(1));
        }
        ui.separator();
        match self.shown.front() {
            Some(latest) => latest.large_ui(ui),
            None if self.watch.is_some() => drop(ui.weak("No image yet.")),
            None => drop(ui.weak("Nothing is watched yet.")),
        }
        ui.add_space(6.0);
        egui::ScrollArea::horizontal().id_salt("frames").show(ui, |ui| {
            ui.horizontal_top(|ui| self.shown.iter().skip(1).for_each(|shown| shown.small_ui(ui)));
        });
        for (name, why) in &self.skipped {
            // What is wrong with it, without its folder and what to do: it is tried again by itself.
            let why = why.split_once(&format!("{name}: ")).map_or(why.as_str(), |(_, why)| why);
            let why = why.split("; ").next().unwrap_or(why);
            ui.add(
                Label::new(RichText::new(format!("skipped {name}: {why}")).color(ui.visuals().warn_fg_color)).wrap(),
            );
        }
    }
}

/// How far out an image lies: from the ground of the page to a strong colour.
fn bar_ui(ui: &mut egui::Ui, above: f64, width: f32) {
    let height = if width > 150.0 { 14.0 } else { 6.0 };
    let (rect, response) = ui.allocate_exact_size(egui::vec2(width, height), egui::Sense::hover());
    let words = format!("more uncertain than {:.0} % of the run's own images", 100.0 * above);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &words));
    ui.painter().rect_filled(rect, 2.0, ui.visuals().extreme_bg_color);
    let part = egui::Rect::from_min_size(rect.min, egui::vec2(width * above as f32, height));
    ui.painter().rect_filled(part, 2.0, colour(above));
    ui.painter().rect_stroke(rect, 2.0, ui.visuals().widgets.noninteractive.bg_stroke, egui::StrokeKind::Inside);
    response.on_hover_text(words);
}

/// As the words say it: usual, unusual, unlike.
fn colour(above: f64) -> Color32 {
    use crate::figure::palette::{BLUE, ORANGE, VERMILLION};
    theme::colour(match in_words(above) {
        words if words.starts_with("unlike") => VERMILLION,
        words if words.starts_with("unusual") => ORANGE,
        _ => BLUE,
    })
}

impl Shown {
    fn image_ui(&self, ui: &mut egui::Ui, side: f32) {
        let (h, w, _) = self.frame.size;
        let size = egui::vec2(w as f32, h as f32) * (side / w.max(h).max(1) as f32);
        ui.add(Image::new((self.texture.id(), size)).alt_text(format!("image {}", self.frame.name)));
    }

    fn large_ui(&self, ui: &mut egui::Ui) {
        let frame = &self.frame;
        ui.horizontal_top(|ui| {
            self.image_ui(ui, LARGE);
            ui.add_space(10.0);
            ui.vertical(|ui| {
                ui.weak(&frame.name);
                let (class, _) = frame.classes.first().cloned().unwrap_or_default();
                ui.label(RichText::new(class).size(34.0).strong());
                for (class, p) in &frame.classes {
                    ui.horizontal(|ui| {
                        let bar = egui::ProgressBar::new(*p as f32).desired_width(180.0);
                        ui.add(bar.text(format!("{:.1} %", 100.0 * p)));
                        ui.label(class);
                    });
                }
                ui.label(format!("entropy {:.3} nats", frame.entropy));
                ui.add_space(6.0);
                match frame.above {
                    Some(above) => {
                        ui.label(RichText::new(in_words(above)).size(18.0));
                        bar_ui(ui, above, 260.0);
                        ui.weak(format!("more uncertain than {:.0} % of the run's own images", 100.0 * above));
                    }
                    None => drop(ui.weak("no images to compare with")),
                }
            });
        });
    }

    fn small_ui(&self, ui: &mut egui::Ui) {
        let frame = &self.frame;
        ui.vertical(|ui| {
            ui.set_width(SMALL);
            self.image_ui(ui, SMALL);
            if let Some((class, p)) = frame.classes.first() {
                ui.add(Label::new(format!("{class} {:.0} %", 100.0 * p)).truncate());
            }
            if let Some(above) = frame.above {
                bar_ui(ui, above, SMALL);
            }
        });
    }
}
