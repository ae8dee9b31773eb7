//! Figures of a run: decoded or, on a dark ground, drawn anew in a job; shown as wide as they fit.

use crate::base::fs;
use crate::error::{Error, Result};
use crate::figure::{self, Bitmap};
use crate::gui::export::Plottable;
use crate::gui::panels::banner::Banner;
use crate::gui::panels::pick::{take_result, working_ui};
use crate::live::Job;
use eframe::egui::{self, ColorImage, Image, Label, TextureHandle, TextureOptions};
use std::path::{Path, PathBuf};

/// What to see in each figure, in the order in which they are shown.
const KNOWN: [(&str, &str); 11] = [
    ("reliability", "On the diagonal, predictions with a confidence of 0.8 are right 80 % of the time."),
    ("coverage", "On the diagonal the error bars are calibrated."),
    ("predicted", "Predicted against true values of the test rows; the bars are ± one predicted sd."),
    ("entropy", "Entropy of right and of wrong predictions; the wrong ones should lie further right."),
    ("bands", "Mean, one and two standard deviations; the band should widen away from the points."),
    ("heat", "Confident regions, class boundaries, and regions without training data."),
    ("certainty", "Confident mistakes are worth a look: often the label is wrong."),
    ("ood_uncertainty", "The further apart the two, the better the uncertainty separates them."),
    ("ood_roc", "In-distribution rows are the positive class, scored by low uncertainty."),
    ("ood_certainty", "Out-of-distribution images: the model should not be confident on any of them."),
    ("learning_curves", "Training loss, its terms, and the validation NLL, which decides when training stops early."),
];

/// Pixels per point of a figure that is drawn anew: those of its PNG.
const SCALE: f64 = 2.0;

#[derive(Default)]
pub struct Gallery {
    figures: Vec<Shown>,
    /// Those asked for, and whether for a dark ground.
    paths: Vec<PathBuf>,
    dark: bool,
    job: Option<Job<Vec<Shown>>>,
    /// Shown alone, as wide as the page.
    enlarged: Option<PathBuf>,
}

struct Shown {
    path: PathBuf,
    /// With the folders in between: of the calibration, of one of several targets.
    name: String,
    /// Of the file, in pixels.
    size: egui::Vec2,
    /// Whole, half, quarter, ...: drawing one much smaller than it is would break its lines.
    levels: Vec<Level>,
}

struct Level {
    width: f32,
    /// Taken when the texture is made.
    image: Option<ColorImage>,
    texture: Option<TextureHandle>,
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

pub fn is_of_second_set(path: &Path) -> bool {
    stem(path).starts_with("ood")
}

/// The folders between the run's figures and this one: "calibration", "calibration/before", a target's name.
fn folders(path: &Path) -> Vec<String> {
    let above = path.parent().into_iter().flat_map(Path::ancestors);
    let names = above.map_while(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned());
    let mut inner: Vec<String> = names.take_while(|n| n != "figures").collect();
    inner.reverse();
    inner
}

/// Of the run as it is after its calibration.
const CALIBRATION: &str = "calibration";

/// Those after the calibration first, then those of the test, in the order in which they are read; then folder by folder.
fn place(path: &Path) -> (bool, Vec<String>, usize, PathBuf) {
    let stem = stem(path);
    let known = KNOWN.iter().position(|(name, _)| *name == stem).unwrap_or(KNOWN.len());
    let folders = folders(path);
    (folders.first().is_none_or(|f| f != CALIBRATION), folders, known, path.to_path_buf())
}

/// The figure as its file has it, or drawn anew in the colours of a dark ground.
fn pixels(path: &Path, dark: bool) -> Result<image::RgbImage> {
    let broken = |found: String| {
        let help = "to draw it again, train or evaluate again";
        Error::data(path.display().to_string(), found, "a PNG image", help)
    };
    if let (true, Ok(svg)) = (dark, fs::read_to_string(path.with_extension("svg"))) {
        // What cannot be drawn is shown as it is.
        if let Ok(Bitmap { width, height, rgb }) = figure::bitmap(&figure::on_dark(&svg), SCALE)
            && let Some(image) = image::RgbImage::from_raw(width, height, rgb)
        {
            return Ok(image);
        }
    }
    let bytes = fs::read(path).map_err(|e| broken(e.to_string()))?;
    Ok(image::load_from_memory(&bytes).map_err(|e| broken(e.to_string()))?.to_rgb8())
}

/// By its folders and its file; a figure that the calibration has drawn anew is the one before it.
fn name(path: &Path, all: &[PathBuf]) -> String {
    let is_of_calibration = |p: &Path| folders(p).first().is_some_and(|f| f == CALIBRATION);
    let is_before = !is_of_calibration(path) && all.iter().any(|p| is_of_calibration(p) && stem(p) == stem(path));
    let name = folders(path).into_iter().chain([stem(path)]).collect::<Vec<_>>().join(", ").replace('_', " ");
    if is_before { name + ", before calibration" } else { name }
}

fn decode(path: PathBuf, name: String, dark: bool, most_side: u32) -> Result<Shown> {
    let mut image = pixels(&path, dark)?;
    let size = egui::vec2(image.width() as f32, image.height() as f32);
    let mut levels = vec![];
    loop {
        let (w, h) = image.dimensions();
        if w.max(h) <= most_side {
            let whole = ColorImage::from_rgb([w as usize, h as usize], image.as_raw());
            levels.push(Level { width: w as f32, image: Some(whole), texture: None });
        }
        if w < 400 || h < 2 {
            return Ok(Shown { path, name, size, levels });
        }
        image = image::imageops::thumbnail(&image, w / 2, h / 2);
    }
}

impl Gallery {
    /// Reads these figures in place of those shown; the old ones stay until the new are there.
    pub fn load(&mut self, ctx: &egui::Context, mut paths: Vec<PathBuf>) {
        paths.sort_by_key(|p| place(p));
        self.paths = paths.clone();
        let dark = ctx.theme() == egui::Theme::Dark;
        self.dark = dark;
        let most_side = ctx.input(|i| i.max_texture_side).min(8192) as u32;
        let wake = ctx.clone();
        let work = move || {
            let names: Vec<String> = paths.iter().map(|p| name(p, &paths)).collect();
            paths.into_iter().zip(names).map(|(p, name)| decode(p, name, dark, most_side)).collect()
        };
        self.job = Some(Job::start("Reading figures", move || wake.request_repaint(), work));
    }

    pub fn poll(&mut self, banner: &mut Banner) {
        let Some(read) = take_result(&mut self.job, banner) else { return };
        self.figures = read;
        self.enlarged = self.enlarged.take().filter(|e| self.figures.iter().any(|f| f.path == *e));
    }

    pub fn plottables(&self) -> Vec<Plottable> {
        self.figures.iter().map(|f| Plottable::files(&f.path)).collect()
    }

    /// Two beside each other where there is room; a click shows one alone. Scrolling is the caller's.
    pub fn gallery_ui(&mut self, ui: &mut egui::Ui, which: impl Fn(&Path) -> bool) {
        if ui.visuals().dark_mode != self.dark && !self.paths.is_empty() {
            // The theme has changed.
            self.load(ui.ctx(), self.paths.clone());
        }
        working_ui(ui, &self.job);
        let chosen: Vec<usize> = match &self.enlarged {
            Some(one) if which(one) => (0..self.figures.len()).filter(|&i| self.figures[i].path == *one).collect(),
            _ => (0..self.figures.len()).filter(|&i| which(&self.figures[i].path)).collect(),
        };
        if chosen.is_empty() && self.job.is_none() {
            ui.weak("No figures.");
        }
        let alone = self.enlarged.is_some() && chosen.len() == 1;
        // Below that the words of one of two could not be read.
        let columns = if ui.available_width() >= 1100.0 && !alone { 2 } else { 1 };
        // The scroll bar takes its part.
        let gap = ui.spacing().item_spacing.x;
        let width = ((ui.available_width() - 14.0) / columns as f32 - gap).max(100.0);
        // A whole figure at once, where it is not alone.
        let most_height = if alone { f32::INFINITY } else { (ui.ctx().content_rect().height() - 260.0).max(300.0) };
        let mut clicked = None;
        let mut upload = true;
        for pair in chosen.chunks(columns) {
            ui.horizontal_top(|ui| {
                for &i in pair {
                    ui.vertical(|ui| {
                        ui.set_width(width);
                        if self.figures[i].figure_ui(ui, egui::vec2(width, most_height), &mut upload) {
                            clicked = Some(self.figures[i].path.clone());
                        }
                    });
                }
            });
            ui.add_space(6.0);
        }
        if let Some(path) = clicked {
            self.enlarged = if alone { None } else { Some(path) };
        }
    }
}

impl Shown {
    /// True when it is clicked. One texture per frame is made: a large one takes its time.
    fn figure_ui(&mut self, ui: &mut egui::Ui, room: egui::Vec2, upload: &mut bool) -> bool {
        let stem = stem(&self.path);
        let name = self.name.clone();
        // Files have two pixels per point; larger than drawn they say no more.
        let size = self.size * (room.x / self.size.x).min(room.y / self.size.y).min(0.75);
        let pixels = size.x * ui.ctx().pixels_per_point();
        ui.strong(&name);
        let mut clicked = false;
        // The smallest that need not be stretched.
        let fitting = self.levels.iter().rposition(|l| l.width >= pixels).unwrap_or(0);
        let Some(level) = self.levels.get_mut(fitting) else { return false };
        if level.texture.is_none() && *upload {
            if let Some(image) = level.image.take() {
                level.texture = Some(ui.ctx().load_texture(name.clone(), image, TextureOptions::LINEAR));
            }
            *upload = false;
        }
        match &level.texture {
            Some(texture) => {
                let image =
                    Image::new((texture.id(), size)).alt_text(format!("figure {name}")).sense(egui::Sense::click());
                clicked = ui.add(image).on_hover_text("Click to enlarge, and back").clicked();
            }
            None => {
                ui.allocate_space(size);
                ui.ctx().request_repaint();
            }
        }
        if let Some((_, caption)) = KNOWN.iter().find(|(known, _)| *known == stem) {
            ui.add(Label::new(*caption).wrap());
        }
        clicked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibrated_figure_comes_first_and_the_other_says_that_it_is_from_before() {
        let file = |name: &str| PathBuf::from(format!("runs/a/figures/{name}.png"));
        let mut all = vec![file("predicted"), file("coverage"), file("calibration/coverage"), file("learning_curves")];
        assert_eq!(name(&all[1], &all[..2]), "coverage", "without a calibration");
        all.sort_by_key(|p| place(p));
        let names: Vec<String> = all.iter().map(|p| name(p, &all)).collect();
        assert_eq!(names, ["calibration, coverage", "coverage, before calibration", "predicted", "learning curves"]);
    }
}
