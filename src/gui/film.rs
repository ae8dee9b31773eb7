//! Animations of a page's plot: of the training so far, or of a sweep of eta. The page offers what it has kept, a dialog asks what
//! is wanted, and work in pieces trains, draws and writes.

use super::export::{band_panel_as, bands_figure, map_panels, maps_figure};
use super::panels::banner::Banner;
use super::panels::pick::{DialogKind, PathPick};
use super::settings::BandOptions;
use super::shell;
use crate::base::fs;
use crate::error::{Error, Result};
use crate::figure::{Animation, AnimationKind, BandsFigure, Figure, HeatFigure};
use crate::live::history::RECENT_SECONDS;
use crate::live::pieces::Piecework;
use crate::live::sweep::Sweep;
use crate::live::{Group, Moment, Picture, Pieces, View};
use crate::recipe::Recipe;
use eframe::egui;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a page can show in motion.
#[derive(Clone, Default)]
pub struct Scene {
    /// Name of its files, without ending.
    pub stem: String,
    pub title: String,
    /// Of both axes.
    pub labels: (String, String),
    /// Of the panels, one per training; a single one needs none.
    pub names: Vec<String>,
    pub truth: Option<fn(f64) -> f64>,
    /// What is drawn of a band.
    pub lines: BandOptions,
    /// The ground of the screen.
    pub dark: bool,
    /// The whole training, and its last minute.
    pub whole: Vec<Arc<Moment>>,
    pub recent: Vec<Arc<Moment>>,
    /// What a sweep trains again with other values of eta; None where there is no such thing.
    pub sweep: Option<(Box<Recipe>, View)>,
}

impl Scene {
    /// What a group of trainings has kept; its owner names it.
    pub fn of(group: &Group) -> Scene {
        let points = group.slots.first().map(|slot| &slot.points);
        let input = |i: usize| points.and_then(|p| p.inputs.get(i)).cloned();
        let target = points.map_or_else(|| "y".into(), |p| p.target.clone());
        Scene {
            labels: (input(0).unwrap_or_else(|| "x".into()), input(1).unwrap_or(target)),
            whole: group.history.whole().cloned().collect(),
            recent: group.history.recent(RECENT_SECONDS),
            ..Scene::default()
        }
    }

    /// One per moment, under `titles`, on the same axes and in the same colours. Moments of another kind, or of a map of another
    /// place, than the last are left out.
    fn figures(
        &self,
        moments: &[Arc<Moment>],
        title: impl Fn(&Moment) -> String,
    ) -> Vec<(usize, Box<dyn Figure + Send>)> {
        let place = |m: &Moment| match m.pictures.first() {
            Some(Picture::Map(map)) => Some((map.x_range, map.y_range)),
            _ => None,
        };
        let Some(last) = moments.last() else { return vec![] };
        let alike = moments.iter().enumerate().filter(|(_, m)| place(m) == place(last));
        let labels = (self.labels.0.as_str(), self.labels.1.as_str());
        let name = |i: usize| self.names.get(i).map_or("", String::as_str);
        let of = |i: usize, m: &Moment| (i, format!("{}{}", self.title, title(m)));
        let (mut bands, mut maps) = (vec![], vec![]);
        for (i, moment) in alike {
            let (i, title) = of(i, moment);
            let (mut panels, mut cells) = (vec![], vec![]);
            for (slot, picture) in moment.pictures.iter().enumerate() {
                match picture {
                    Picture::Band(band) => {
                        panels.push(band_panel_as(&self.lines, name(slot), band, &moment.points, self.truth))
                    }
                    Picture::Map(map) => {
                        let all = map_panels(name(slot), map).into_iter();
                        cells.extend(all.take(if moment.pictures.len() > 1 { 2 } else { 3 }));
                    }
                    Picture::None => {}
                }
            }
            if !panels.is_empty() {
                bands.push((i, bands_figure(&title, labels.0, labels.1, panels)));
            } else if !cells.is_empty() {
                maps.push((i, maps_figure(&title, labels, cells, &moment.points)));
            }
        }
        if !bands.is_empty() {
            let all: Vec<BandsFigure> = bands.iter().map(|b: &(usize, BandsFigure)| b.1.clone()).collect();
            let limits = Some(BandsFigure::limits_of(&all));
            return bands.into_iter().map(|(i, f)| (i, Box::new(BandsFigure { limits, ..f }) as Box<_>)).collect();
        }
        let all: Vec<HeatFigure> = maps.iter().map(|m: &(usize, HeatFigure)| m.1.clone()).collect();
        let colours = HeatFigure::colours_of(&all);
        let coloured = |f: HeatFigure| HeatFigure { colours: colours.clone(), ..f };
        maps.into_iter().map(|(i, f)| (i, Box::new(coloured(f)) as Box<_>)).collect()
    }
}

/// More are neither watched nor sent to anybody.
const MOST_FRAMES: usize = 150;
/// Of a whole training.
const WHOLE_SECONDS: f64 = 12.0;
const SWEEP_SECONDS: f64 = 0.8;
/// The last frame stands longer, before all begins again.
const LAST_SECONDS: f64 = 1.5;
/// Figures from which the colours of a GIF are chosen.
const SAMPLES: usize = 6;

fn evenly<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    match all.len() {
        0..=1 => all.to_vec(),
        n if n <= most => all.to_vec(),
        // First and last are among them.
        n => (0..most).map(|i| all[i * (n - 1) / (most - 1)].clone()).collect(),
    }
}

/// From moments to a file.
struct Film {
    scene: Scene,
    sweep: Option<Sweep>,
    etas: Vec<f64>,
    moments: Vec<Arc<Moment>>,
    /// Seconds of training per second of the film; None = the whole in `WHOLE_SECONDS`.
    speed: Option<f64>,
    kind: AnimationKind,
    path: PathBuf,
    figures: Vec<(Box<dyn Figure + Send>, f64)>,
    animation: Option<Animation>,
    drawn: usize,
}

impl Film {
    /// The figures of the moments, and how long each of them stands.
    fn compose(&mut self) {
        let sweep = !self.etas.is_empty();
        let moments = if sweep { self.moments.clone() } else { evenly(&self.moments, MOST_FRAMES) };
        let words = |m: &Moment| match sweep {
            true => self.etas.get(m.seconds as usize).map_or(String::new(), |eta| format!(", eta {eta}")),
            false => format!(", step {}", m.step),
        };
        let figures = self.scene.figures(&moments, words);
        let n = figures.len();
        let at: Vec<f64> = figures.iter().map(|(i, _)| moments[*i].seconds).collect();
        let seconds = |i: usize| match self.speed {
            _ if i + 1 == n => LAST_SECONDS,
            _ if sweep => SWEEP_SECONDS,
            Some(speed) => (at[i + 1] - at[i]) / speed,
            None => WHOLE_SECONDS / n as f64,
        };
        // Programs play what is faster than that more slowly.
        self.figures = figures.into_iter().enumerate().map(|(i, (_, f))| (f, seconds(i).max(0.03))).collect();
        self.moments = vec![];
    }
}

impl Piecework for Film {
    type Output = PathBuf;

    fn piece(&mut self) -> Result<Option<PathBuf>> {
        if let Some(sweep) = &mut self.sweep {
            if let Some(moments) = sweep.piece()? {
                (self.moments, self.sweep) = (moments, None);
            }
            return Ok(None);
        }
        let Some(animation) = &mut self.animation else {
            self.compose();
            let all: Vec<&dyn Figure> = self.figures.iter().map(|f| &*f.0 as &dyn Figure).collect();
            self.animation =
                Some(Animation::new(self.kind, all.len() as u32, &evenly(&all, SAMPLES), self.scene.dark)?);
            return Ok(None);
        };
        if let Some((figure, seconds)) = self.figures.get(self.drawn) {
            animation.add(&**figure, *seconds)?;
            self.drawn += 1;
            return Ok(None);
        }
        let Some(animation) = self.animation.take() else { return Ok(None) };
        let bytes = animation.finish()?;
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
        let path = free(&self.path);
        crate::run::write_atomic(&path, &bytes)?;
        Ok(Some(path))
    }

    fn progress(&self) -> (f64, String) {
        /// Of a film of a sweep that is training.
        const TRAINING: f64 = 0.7;
        if let Some(sweep) = &self.sweep {
            let (share, words) = sweep.progress();
            return (TRAINING * share, words);
        }
        let (n, before) = (self.figures.len(), if self.etas.is_empty() { 0.0 } else { TRAINING });
        match n {
            0 => (before, "choosing colours".into()),
            _ => {
                let share = before + (1.0 - before) * self.drawn as f64 / n as f64;
                (share, format!("drawing frame {} of {n}", (self.drawn + 1).min(n)))
            }
        }
    }
}

/// A name that no file has yet: "band.gif", else "band-2.gif".
fn free(path: &Path) -> PathBuf {
    let (stem, ending) = (path.file_stem().unwrap_or_default(), path.extension().unwrap_or_default());
    let name = |n: u32| match n {
        1 => path.to_path_buf(),
        n => path.with_file_name(format!("{}-{n}.{}", stem.to_string_lossy(), ending.to_string_lossy())),
    };
    (1..).map(name).find(|path| !fs::exists(path)).unwrap_or_else(|| path.to_path_buf())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilmOf {
    Recent,
    Whole,
    Sweep,
}

/// The dialog and the work.
pub struct Films {
    asked: bool,
    scene: Option<Scene>,
    pub of: FilmOf,
    pub kind: AnimationKind,
    /// Of the training's end.
    pub seconds: f64,
    speed: f64,
    pub etas: String,
    pub folder: PathPick,
    work: Option<Pieces<PathBuf>>,
}

impl Default for Films {
    fn default() -> Self {
        Films {
            asked: false,
            scene: None,
            of: FilmOf::Recent,
            kind: AnimationKind::Gif,
            seconds: 20.0,
            speed: 2.0,
            etas: "0.01, 0.03, 0.1, 0.3, 1, 3".into(),
            folder: PathPick::of("figures"),
            work: None,
        }
    }
}

/// Numbers of a list: positive, at most 40 of them; None where something else is among them.
fn etas(text: &str) -> Option<Vec<f64>> {
    let words = text.split([',', ' ', ';']).filter(|w| !w.is_empty());
    let all: Option<Vec<f64>> = words.map(|w| w.parse().ok().filter(|v| (0.0..=1e6).contains(v))).collect();
    all.filter(|all| (1..=40).contains(&all.len()))
}

impl Films {
    /// Opens the dialog with what the page in front offers.
    pub fn ask(&mut self) {
        self.asked = true;
    }

    /// Called by a page that can be shown in motion, in every frame; `scene` is made only when it was asked for.
    pub fn offer(&mut self, scene: impl FnOnce() -> Scene) {
        if std::mem::take(&mut self.asked) {
            self.scene = Some(scene());
        }
    }

    /// Whether the dialog is open.
    pub fn is_open(&self) -> bool {
        self.scene.is_some()
    }

    /// Whether something is drawn, or a sweep trained for it.
    pub fn is_working(&self) -> bool {
        self.work.is_some()
    }

    pub fn poll(&mut self, banner: &mut Banner) {
        self.folder.poll(banner);
        let Some(done) = self.work.as_mut().and_then(Pieces::poll) else { return };
        self.work = None;
        match done.and_then(|path| shell::hand_over(&path).map(|()| path)) {
            Ok(path) => banner.exported(vec![path]),
            Err(e) => banner.error(e),
        }
    }

    pub fn films_ui(&mut self, ui: &mut egui::Ui, banner: &mut Banner) {
        if std::mem::take(&mut self.asked) {
            banner
                .note("this page has nothing that moves: animations are made on the pages Playground and Side by side");
        }
        self.progress_ui(ui);
        let Some(scene) = self.scene.take() else { return };
        let modal = egui::Modal::new(egui::Id::unique("animation")).show(ui.ctx(), |ui| self.dialog_ui(ui, &scene));
        let (make, cancel) = modal.inner;
        if make {
            self.start(ui.ctx(), scene);
        } else if !cancel && !modal.should_close() {
            self.scene = Some(scene);
        }
    }

    fn dialog_ui(&mut self, ui: &mut egui::Ui, scene: &Scene) -> (bool, bool) {
        ui.set_width(470.0);
        ui.heading("Animation");
        let kept = scene.recent.first().zip(scene.recent.last()).map_or(0.0, |(a, b)| b.seconds - a.seconds);
        ui.radio_value(&mut self.of, FilmOf::Recent, "the end of the training");
        ui.indent("recent", |ui| {
            ui.add_enabled_ui(self.of == FilmOf::Recent, |ui| {
                ui.horizontal(|ui| {
                    let slider = egui::Slider::new(&mut self.seconds, 2.0..=RECENT_SECONDS).max_decimals(0);
                    ui.add(slider.text("last seconds"));
                    ui.weak(format!("{kept:.0} s kept"));
                });
                ui.horizontal(|ui| {
                    ui.label("plays");
                    for speed in [1.0, 2.0, 4.0] {
                        ui.selectable_value(&mut self.speed, speed, format!("{speed}×"));
                    }
                });
            });
        });
        ui.radio_value(&mut self.of, FilmOf::Whole, format!("the whole training, in {WHOLE_SECONDS} seconds"));
        let why = "Trains the same data once for each eta, beside the training that runs";
        let sweep = egui::RadioButton::new(self.of == FilmOf::Sweep, "a sweep of eta, one frame each");
        if ui.add_enabled(scene.sweep.is_some(), sweep).on_hover_text(why).clicked() {
            self.of = FilmOf::Sweep;
        }
        if scene.sweep.is_none() && self.of == FilmOf::Sweep {
            self.of = FilmOf::Recent;
        }
        let values = etas(&self.etas);
        ui.indent("sweep", |ui| {
            ui.add_enabled_ui(self.of == FilmOf::Sweep, |ui| {
                ui.horizontal(|ui| {
                    let label = ui.label("eta");
                    ui.add(egui::TextEdit::singleline(&mut self.etas).desired_width(250.0)).labelled_by(label.id);
                });
                if values.is_none() {
                    ui.colored_label(ui.visuals().error_fg_color, "1 to 40 numbers from 0 on, with commas between");
                }
            });
        });
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            ui.radio_value(&mut self.kind, AnimationKind::Gif, "GIF")
                .on_hover_text("For slides and messages: 256 colours");
            let tip = "For web pages: all colours; programs that show no motion show its first frame";
            ui.radio_value(&mut self.kind, AnimationKind::Png, "animated PNG").on_hover_text(tip);
        });
        if !shell::DOWNLOADS {
            ui.horizontal(|ui| {
                self.folder.field_ui(ui, "into folder", "figures", 260.0);
                if ui.button("Choose…").clicked() {
                    self.folder.ask(ui.ctx(), DialogKind::Folder);
                }
            });
        }
        let enough = match self.of {
            FilmOf::Recent => scene.recent.len() > 1,
            FilmOf::Whole => scene.whole.len() > 1,
            FilmOf::Sweep => values.is_some(),
        };
        if !enough && self.of != FilmOf::Sweep {
            ui.weak("Fewer than two pictures are kept so far: let it train.");
        }
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let ready = enough && self.work.is_none() && self.folder.path().is_some();
            (ui.add_enabled(ready, egui::Button::new("Make animation")).clicked(), ui.button("Cancel").clicked())
        })
        .inner
    }

    /// Beside the page, which goes on.
    fn progress_ui(&mut self, ui: &mut egui::Ui) {
        let Some(work) = &self.work else { return };
        let (share, words) = work.progress();
        let window = egui::Window::new("Animation").resizable(false).collapsible(false);
        let at = egui::vec2(-12.0, -40.0);
        let cancel = window.anchor(egui::Align2::RIGHT_BOTTOM, at).show(ui.ctx(), |ui| {
            ui.add(egui::ProgressBar::new(share).desired_width(240.0).show_percentage());
            ui.horizontal(|ui| {
                let cancel = ui.button("Cancel animation").clicked();
                ui.label(words);
                cancel
            })
            .inner
        });
        if cancel.and_then(|shown| shown.inner) == Some(true) {
            self.work = None;
        }
    }

    fn start(&mut self, ctx: &egui::Context, scene: Scene) {
        let mut film = Film {
            sweep: None,
            etas: vec![],
            moments: vec![],
            speed: None,
            kind: self.kind,
            path: PathBuf::new(),
            figures: vec![],
            animation: None,
            drawn: 0,
            scene: Scene::default(),
        };
        let what = match self.of {
            FilmOf::Recent => {
                let end = scene.recent.last().map_or(0.0, |m| m.seconds);
                film.moments = scene.recent.iter().filter(|m| m.seconds >= end - self.seconds).cloned().collect();
                film.speed = Some(self.speed);
                "training"
            }
            FilmOf::Whole => {
                film.moments = scene.whole.clone();
                "training"
            }
            FilmOf::Sweep => {
                let Some(((recipe, view), etas)) = scene.sweep.clone().zip(etas(&self.etas)) else { return };
                film.sweep = Some(Sweep::new(*recipe, etas.clone(), view));
                film.etas = etas;
                "eta"
            }
        };
        let folder = self.folder.path().unwrap_or_else(|| PathBuf::from("figures"));
        film.path = folder.join(format!("{}_{what}.{}", scene.stem, self.kind.ending()));
        film.scene =
            Scene { whole: vec![], recent: vec![], sweep: None, dark: ctx.theme() == egui::Theme::Dark, ..scene };
        let wake = ctx.clone();
        self.work = Some(Pieces::start("animation", move || wake.request_repaint(), film));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_etas_is_numbers_alone() {
        assert_eq!(etas("0.01, 0.1;1  3"), Some(vec![0.01, 0.1, 1.0, 3.0]));
        assert_eq!([etas(""), etas("0.1, x"), etas("-1"), etas("NaN"), etas(&"1 ".repeat(41))], [const { None }; 5]);
    }

    #[test]
    fn frames_are_chosen_evenly_with_both_ends_and_no_name_is_taken_twice() {
        let all: Vec<usize> = (0..1000).collect();
        let some = evenly(&all, 150);
        assert_eq!((some.len(), some[0], some[149]), (150, 0, 999));
        assert_eq!((evenly(&all[..3], 150), evenly(&all[..0], 2)), (vec![0, 1, 2], vec![]));
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("band_eta.gif");
        assert_eq!(free(&path), path);
        std::fs::write(&path, "x").expect("written");
        assert_eq!(free(&path), dir.path().join("band_eta-2.gif"));
    }
}
