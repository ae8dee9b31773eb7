//! Plots to PNG, SVG and CSV: a page offers what it shows, the dialog asks where to, a job writes.

use super::copy::{Copies, CopyAs};
use super::film::Films;
use super::panels::banner::Banner;
use super::panels::pick::{DialogKind, take_result};
use super::panels::playground::Playground;
use super::settings::{BandOptions, CurveOptions, MapKind, Settings};
use super::{shell, theme};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::figure::{
    self, BandPanel, BandsFigure, CurvesFigure, Figure, HeatFigure, HeatPanel, PlaneFigure, PlanePanel, PriorFigure,
    Shade,
};
use crate::gui::plots::curves::Curve;
use crate::gui::plots::{bands, boundary, map};
use crate::live::picture::{Band, Map};
use crate::live::{Job, Picture};
use eframe::egui;
use std::path::{Path, PathBuf};

/// One plot that can be written.
pub struct Plottable {
    /// Name of its files, without ending.
    pub stem: String,
    pub source: Source,
}

pub enum Source {
    Figure(Box<dyn Figure + Send>),
    /// Files of a run folder, with any of the three endings.
    Files(PathBuf),
}

impl Plottable {
    fn of(stem: &str, figure: impl Figure + Send + 'static) -> Plottable {
        Plottable { stem: stem.into(), source: Source::Figure(Box::new(figure)) }
    }

    pub fn files(path: &Path) -> Plottable {
        let stem = path.file_stem().map_or_else(|| "figure".into(), |s| s.to_string_lossy().into_owned());
        Plottable { stem, source: Source::Files(path.with_extension("")) }
    }

    pub fn curves(stem: &str, x_label: &str, log: bool, series: &[Curve]) -> Plottable {
        let figure = CurvesFigure {
            title: "Learning curves".into(),
            x_label: x_label.into(),
            y_label: "nats per row".into(),
            log,
            series: series.iter().map(Curve::to_series).collect(),
            ..Default::default()
        };
        Plottable::of(stem, figure)
    }

    pub fn bands(stem: &str, title: &str, x_label: &str, y_label: &str, panels: Vec<BandPanel>) -> Plottable {
        Plottable::of(stem, bands_figure(title, x_label, y_label, panels))
    }

    /// Maps as they are on the screen; `classes` = their names.
    pub fn maps(
        stem: &str,
        kind: MapKind,
        labels: (&str, &str),
        panels: Vec<PlanePanel>,
        points: &[[f64; 3]],
        classes: &[String],
    ) -> Plottable {
        let title = match kind {
            MapKind::Probability => "Classes by their probability, pale where it is not sure",
            MapKind::Entropy => "Total entropy over the inputs",
            MapKind::MutualInformation => "Mutual information over the inputs",
        };
        let class = |(i, name): (usize, &String)| (name.clone(), theme::class_figure_marker(i), theme::class_ink(i));
        let figure = PlaneFigure {
            title: title.into(),
            x_label: labels.0.into(),
            y_label: labels.1.into(),
            panels,
            points: points.iter().map(|p| (p[0], p[1], p[2] as usize)).collect(),
            classes: classes.iter().enumerate().map(class).collect(),
        };
        Plottable::of(stem, figure)
    }

    pub fn priors(stem: &str, figure: PriorFigure) -> Plottable {
        Plottable::of(stem, figure)
    }

    pub fn of_playground(playground: &Playground, settings: &Settings) -> Vec<Plottable> {
        let points = playground.points();
        let mut all = vec![];
        let (names, target) = playground.names().unwrap_or_else(|| (vec![], "y".into()));
        let name = |i: usize| names.get(i).map_or("x", String::as_str);
        match playground.group.slot_snapshot(0).map(|l| &l.picture) {
            Some(Picture::Band(band)) => {
                let panel = band_panel("", band, &points, playground.truth.and_then(|t| t.truth()));
                all.push(Plottable::bands("band", "Prediction with 1 and 2 sd", name(0), &target, vec![panel]));
            }
            Some(Picture::Map(map)) => {
                let classes = playground.classes(map.k);
                let panel = map_panel("", map, settings.map, settings.boundary, &classes);
                all.push(Plottable::maps("map", settings.map, (name(0), name(1)), vec![panel], &points, &classes))
            }
            _ => {}
        }
        let options = CurveOptions { ..settings.curves };
        let series = playground.curves.shown(&options);
        all.push(Plottable::curves("learning_curves", "step", settings.curves.log, &series));
        all
    }

    /// Writes the chosen formats into `dir`, each whole or not at all.
    pub fn write(&self, dir: &Path, formats: Formats) -> Result<Vec<PathBuf>> {
        let mut written = vec![];
        for ending in formats.endings() {
            let path = dir.join(format!("{}.{ending}", self.stem));
            match &self.source {
                Source::Figure(figure) => match ending {
                    "png" => figure::save_png(&path, figure.as_ref())?,
                    "svg" => figure::save_svg(&path, figure.as_ref())?,
                    _ => figure::save_csv(&path, figure.as_ref())?,
                },
                Source::Files(stem) => {
                    let from = stem.with_extension(ending);
                    let bytes = fs::read(&from).map_err(|e| Error::io(&from, "read", &e))?;
                    crate::run::write_atomic(&path, &bytes)?;
                }
            }
            written.push(path);
        }
        Ok(written)
    }
}

pub fn bands_figure(title: &str, x_label: &str, y_label: &str, panels: Vec<BandPanel>) -> BandsFigure {
    BandsFigure { title: title.into(), x_label: x_label.into(), y_label: y_label.into(), panels, limits: None }
}

pub fn maps_figure(title: &str, labels: (&str, &str), panels: Vec<HeatPanel>, points: &[[f64; 3]]) -> HeatFigure {
    HeatFigure {
        title: title.into(),
        x_label: labels.0.into(),
        y_label: labels.1.into(),
        panels,
        points: points.iter().map(|p| (p[0], p[1], p[2] as usize)).collect(),
        classes: vec![],
        colours: vec![],
    }
}

pub fn band_panel(title: &str, band: &Band, points: &[[f64; 3]], truth: Option<fn(f64) -> f64>) -> BandPanel {
    BandPanel {
        title: title.into(),
        x: band.x.clone(),
        mean: band.mean.clone(),
        total_sd: (0..band.x.len()).map(|i| band.total_sd(i)).collect(),
        aleatoric_sd: band.aleatoric_sd.clone(),
        truth: truth.map(|f| band.x.iter().map(|x| f(*x)).collect()),
        train_x: points.iter().map(|p| p[0]).collect(),
        train_y: points.iter().map(|p| p[1]).collect(),
        members: band.members.clone(),
        ..BandPanel::default()
    }
}

/// The same with what is on the screen alone.
pub fn band_panel_as(
    options: &BandOptions,
    title: &str,
    band: &Band,
    points: &[[f64; 3]],
    truth: Option<fn(f64) -> f64>,
) -> BandPanel {
    let sd: Option<Vec<f64>> = (0..band.x.len()).map(|i| bands::shade_sd(band, options, i)).collect();
    let is_shaded = sd.is_some();
    BandPanel {
        // The screen has no lines of the aleatoric part.
        aleatoric_sd: vec![],
        members: if options.members { band.members.clone() } else { vec![] },
        shade: Shade {
            one_sd: options.one_sd && is_shaded,
            two_sd: options.two_sd && is_shaded,
            of: bands::shade_name(options),
        },
        total_sd: sd.unwrap_or_else(|| vec![0.0; band.x.len()]),
        ..band_panel(title, band, if options.points { points } else { &[] }, truth.filter(|_| options.truth))
    }
}

/// A map as it is on a light screen.
pub fn map_panel(title: &str, map: &Map, kind: MapKind, with_boundary: bool, classes: &[String]) -> PlanePanel {
    let colours = map::colours(map, kind, false).iter().map(|c| (c.r(), c.g(), c.b())).collect();
    let segments = if with_boundary { boundary::segments(map) } else { vec![] };
    let of_class = |i: usize| {
        let name = classes.get(i).map_or_else(|| i.to_string(), String::clone);
        (format!("probability of class {name}"), map.probs.iter().skip(i).step_by(map.k.max(1)).copied().collect())
    };
    let (values, scale) = match kind {
        MapKind::Probability => ((0..map.k).map(of_class).collect(), None),
        _ => {
            let (values, most) = map::values(map, kind);
            let name = if kind == MapKind::Entropy { "total entropy, nats" } else { "mutual information, nats" };
            (vec![(name.into(), values.to_vec())], Some((most, "nats".into())))
        }
    };
    PlanePanel {
        title: title.into(),
        x_range: map.x_range,
        y_range: map.y_range,
        n: map.n,
        colours,
        values,
        boundary: segments.iter().map(|s| s.map(|p| (p.x, p.y))).collect(),
        scale,
    }
}

/// Probability, entropy and mutual information of one map, for a film.
pub fn map_panels(prefix: &str, map: &Map) -> Vec<HeatPanel> {
    let k = map.k.max(1);
    let first: Vec<f64> = match k {
        2 => map.probs.iter().skip(1).step_by(2).copied().collect(),
        _ => map.probs.chunks(k).map(|p| p.iter().copied().fold(0.0, f64::max)).collect(),
    };
    let title = if k == 2 { "Probability of the second class" } else { "Largest probability" };
    [
        (MapKind::Probability, title, "probability", first),
        (MapKind::Entropy, "Total entropy", "nats", map.total.clone()),
        (MapKind::MutualInformation, "Mutual information", "nats, own scale", map.epistemic.clone()),
    ]
    .into_iter()
    .map(|(_, title, value_label, values)| HeatPanel {
        title: if prefix.is_empty() { title.into() } else { format!("{prefix}: {}", title.to_lowercase()) },
        x_range: map.x_range,
        y_range: map.y_range,
        nx: map.n,
        ny: map.n,
        values,
        value_label: value_label.into(),
    })
    .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Formats {
    pub png: bool,
    pub svg: bool,
    pub csv: bool,
}

impl Formats {
    const NONE: Formats = Formats { png: false, svg: false, csv: false };

    /// Of the files.
    fn endings(self) -> impl Iterator<Item = &'static str> {
        let all = [("png", self.png), ("svg", self.svg), ("csv", self.csv)];
        all.into_iter().filter(|(_, wanted)| *wanted).map(|(ending, _)| ending)
    }
}

/// The dialog and the writing; and what else takes a plot out of the app.
pub struct Exports {
    asked: bool,
    offered: Vec<Plottable>,
    open: bool,
    pub folder: String,
    pub formats: Formats,
    pub copies: Copies,
    pub films: Films,
    /// Files of these names that are there, once it was asked to write over them.
    there: Vec<String>,
    choosing: Option<Job<Option<PathBuf>>>,
    job: Option<Job<Vec<PathBuf>>>,
}

impl Default for Exports {
    fn default() -> Self {
        Exports {
            asked: false,
            offered: vec![],
            open: false,
            folder: "figures".into(),
            formats: Formats { png: true, svg: true, csv: true },
            copies: Copies::default(),
            films: Films::default(),
            there: vec![],
            choosing: None,
            job: None,
        }
    }
}

impl Exports {
    /// Opens the dialog with what the page in front offers.
    pub fn ask(&mut self) {
        self.asked = true;
    }

    /// Whether the page in front is asked for its plots.
    pub fn is_asked(&self) -> bool {
        self.asked
    }

    /// Whether a dialog is open.
    pub fn is_open(&self) -> bool {
        self.open || self.films.is_open()
    }

    /// Called by the page in front in every frame; `plots` is made only when it was asked for.
    pub fn offer(&mut self, plots: impl FnOnce() -> Vec<Plottable>) {
        if self.asked {
            self.offered = plots();
            (self.asked, self.open) = (false, true);
            self.there.clear();
        } else if self.copies.is_asked() {
            self.copies.offer(plots().into_iter().next());
        }
    }

    pub fn poll(&mut self, banner: &mut Banner) {
        if let Some(Some(folder)) = take_result(&mut self.choosing, banner) {
            self.folder = folder.display().to_string();
            self.there.clear();
        }
        match self.job.as_ref().and_then(Job::poll) {
            Some(Ok(paths)) => {
                // One file as it is, several as their folder.
                let whole = match paths.as_slice() {
                    [one] => Some(one.as_path()),
                    several => several.first().and_then(|p| p.parent()),
                };
                let handed = whole.map_or(Ok(()), shell::hand_over);
                match handed {
                    Ok(()) => banner.exported(paths),
                    Err(e) => banner.error(e),
                }
                self.job = None;
            }
            Some(Err(e)) => {
                banner.error(e);
                self.job = None;
            }
            None => {}
        }
    }

    pub fn dialog_ui(&mut self, ui: &mut egui::Ui, banner: &mut Banner) {
        self.films.films_ui(ui, banner);
        self.copies.copies_ui(ui, banner);
        if std::mem::take(&mut self.asked) {
            // The page in front had nothing.
            banner.tell("this page has no plot to export");
        }
        if !self.open {
            return;
        }
        let mut copy = None;
        let modal = egui::Modal::new(egui::Id::unique("export")).show(ui.ctx(), |ui| {
            ui.set_width(430.0);
            ui.heading("Export plots");
            for (i, plot) in self.offered.iter().enumerate() {
                ui.horizontal(|ui| {
                    ui.label(format!("• {}", plot.stem));
                    for (name, what) in [("Copy image", CopyAs::Image), ("Copy data", CopyAs::Data)] {
                        // Names must differ for screen readers.
                        let button = ui.small_button(name);
                        button.widget_info(|| {
                            egui::WidgetInfo::labeled(egui::Role::Button, true, format!("{name} of {}", plot.stem))
                        });
                        if button.clicked() {
                            copy = Some((i, what));
                        }
                    }
                });
            }
            if self.offered.is_empty() {
                ui.label("Nothing is drawn yet.");
            }
            let before = (self.formats, self.folder.clone());
            ui.horizontal(|ui| {
                ui.checkbox(&mut self.formats.png, "PNG");
                ui.checkbox(&mut self.formats.svg, "SVG");
                ui.checkbox(&mut self.formats.csv, "CSV (the numbers)");
            });
            ui.horizontal(|ui| {
                let label = ui.label("into folder");
                ui.add(egui::TextEdit::singleline(&mut self.folder).desired_width(240.0)).labelled_by(label.id);
                if !shell::DOWNLOADS && ui.button("Choose…").on_hover_text("With the system's dialog").clicked() {
                    self.choosing = Some(shell::ask(ui.ctx(), DialogKind::Folder, Some(self.folder.trim().into())));
                }
            });
            if before != (self.formats, self.folder.clone()) {
                self.there.clear();
            }
            if !self.there.is_empty() {
                let text = format!("There already: {}.", self.there.join(", "));
                ui.add(egui::Label::new(egui::RichText::new(text).color(ui.visuals().warn_fg_color)).wrap());
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                let ready = !self.offered.is_empty() && self.formats != Formats::NONE && !self.folder.trim().is_empty();
                let name = if self.there.is_empty() { "Write files" } else { "Write over them" };
                let write = ui.add_enabled(ready, egui::Button::new(name)).clicked();
                let cancel = ui.button("Cancel").clicked();
                let enter = ready && !cancel && ui.input(|i| i.key_pressed(egui::Key::Enter));
                (write || enter, cancel)
            })
            .inner
        });
        let (mut write, cancel) = modal.inner;
        if write && self.there.is_empty() {
            self.there = self.names_there();
            write = self.there.is_empty();
        }
        if write {
            self.write(ui.ctx());
        }
        if let Some((i, what)) = copy {
            let plot = self.offered.swap_remove(i);
            self.copies.start(ui.ctx(), plot, what);
        }
        if write || copy.is_some() || cancel || modal.should_close() {
            self.open = false;
        }
    }

    /// What writing would replace. In a browser nothing is: each download has a name of its own.
    fn names_there(&self) -> Vec<String> {
        let dir = Path::new(self.folder.trim());
        let names = self.offered.iter().flat_map(|plot| self.formats.endings().map(|e| format!("{}.{e}", plot.stem)));
        names.filter(|name| !shell::DOWNLOADS && fs::exists(dir.join(name))).collect()
    }

    fn write(&mut self, ctx: &egui::Context) {
        let (plots, formats, dir) =
            (std::mem::take(&mut self.offered), self.formats, PathBuf::from(self.folder.trim()));
        let wake = ctx.clone();
        self.job = Some(Job::start(
            "exporting",
            move || wake.request_repaint(),
            move || {
                fs::create_dir_all(&dir).map_err(|e| Error::io(&dir, "create", &e))?;
                let mut written = vec![];
                for plot in &plots {
                    written.extend(plot.write(&dir, formats)?);
                }
                Ok(written)
            },
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_animation_shows_what_is_on_the_screen_and_no_more() {
        let (aleatoric_sd, epistemic_sd) = (vec![3.0; 2], vec![4.0; 2]);
        let band =
            Band { x: vec![0.0, 1.0], mean: vec![0.0; 2], aleatoric_sd, epistemic_sd, members: vec![vec![0.1; 2]] };
        let of = |options: BandOptions| band_panel_as(&options, "", &band, &[[0.5, 1.0, 0.0]], Some(libm::sin));
        let usual = of(BandOptions::default());
        assert_eq!((&usual.total_sd[..], &usual.aleatoric_sd[..], usual.members.len()), (&[5.0; 2][..], &[][..], 0));
        assert!(usual.truth.is_some() && usual.train_x.len() == 1 && usual.shade == Shade::default());
        let other = of(BandOptions {
            aleatoric: false,
            two_sd: false,
            members: true,
            truth: false,
            points: false,
            ..BandOptions::default()
        });
        assert_eq!((&other.total_sd[..], other.members.len(), other.train_x.len()), (&[4.0; 2][..], 1, 0));
        assert_eq!((other.truth, other.shade), (None, Shade { one_sd: true, two_sd: false, of: "epistemic" }));
        let none = of(BandOptions { aleatoric: false, epistemic: false, ..BandOptions::default() });
        assert!(!none.shade.one_sd && !none.shade.two_sd);
    }
}
