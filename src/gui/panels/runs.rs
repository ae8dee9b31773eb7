//! Run folders: a list that follows what other processes write, a table that compares the ticked ones, and their curves on
//! one plot. The disk is read by jobs, never by the frame.

mod actions;
mod compared;
mod list;
mod overlay;

use super::banner::Banner;
use super::curves::{NAMES, smoothing_ui};
use crate::base::clock::{Duration, Instant, SystemTime};
use crate::base::fs;
use crate::figure::{CurvesFigure, Series};
use crate::gui::export::{Exports, Plottable, Source};
use crate::gui::plots::curves::{Curve, CurvesView, curves_ui};
use crate::gui::settings::{CurveOptions, RunColumn, Settings};
use crate::gui::theme::Colours;
use crate::live::Job;
use crate::report::compare::Spread;
use crate::run::trash;
use crate::run::watch::{self, Seen};
use actions::Actions;
pub use actions::Asked;
use compared::Compared;
use eframe::egui::containers::menu::{MenuButton, MenuConfig};
use eframe::egui::{self, RichText};
use list::List;
pub use list::{can_continue, can_resume};
use overlay::Overlay;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Between two looks at the folder: what another process writes shows within a second.
const INTERVAL: Duration = Duration::from_millis(400);
/// So many times longer than it took are the pauses between two looks, at least.
const PAUSE: u32 = 4;

pub struct RunsPage {
    root: PathBuf,
    /// The path as it is being written.
    typed: String,
    seen: Vec<Arc<Seen>>,
    notes: Vec<String>,
    /// Why the folder cannot be listed.
    error: Option<String>,
    scan: Option<Job<watch::Found>>,
    /// When the last look began, and how long the one before it took.
    looked: Option<Instant>,
    took: Duration,
    /// Whether a look has ended since the folder was chosen.
    known: bool,
    /// Whether a page that shows runs was drawn since the last `poll`.
    front: Cell<bool>,
    /// Whether the last `poll` found it so.
    followed: bool,
    /// Of the last `poll`.
    ctx: Option<egui::Context>,
    pub list: List,
    ticked: BTreeSet<PathBuf>,
    actions: Actions,
    compared: Compared,
    overlay: RefCell<Overlay>,
    /// Of `NAMES`; None = the most informative for the ticked runs.
    quantity: Option<usize>,
}

impl RunsPage {
    /// Of the run folders inside `root`.
    pub fn new(root: &Path) -> RunsPage {
        RunsPage {
            root: root.to_path_buf(),
            typed: root.display().to_string(),
            seen: vec![],
            notes: vec![],
            error: None,
            scan: None,
            looked: None,
            took: Duration::ZERO,
            known: false,
            front: Cell::new(false),
            followed: false,
            ctx: None,
            list: List::default(),
            ticked: BTreeSet::new(),
            actions: Actions::default(),
            compared: Compared::default(),
            overlay: RefCell::default(),
            quantity: None,
        }
    }

    /// What the last look found, by name.
    pub fn seen(&self) -> &[Arc<Seen>] {
        &self.seen
    }

    pub fn ticked(&self) -> Vec<PathBuf> {
        self.ticked.iter().cloned().collect()
    }

    /// What the list is narrowed to.
    pub fn filter(&self) -> &String {
        &self.list.filter
    }

    pub fn narrow(&mut self, filter: &str) {
        self.list.filter = filter.into();
    }

    /// Those of them that are there.
    pub fn tick(&mut self, runs: &[PathBuf]) {
        self.ticked.extend(runs.iter().cloned());
    }

    /// For the bar at the foot.
    pub fn status(&self) -> String {
        format!(
            "{} in {}, {} ticked",
            crate::base::counted::counted(self.seen.len(), "run"),
            self.root.display(),
            self.ticked.len()
        )
    }

    pub fn poll(&mut self, ctx: &egui::Context, banner: &mut Banner) {
        if self.actions.poll(ctx, banner) {
            for (from, to) in self.actions.moved() {
                if self.ticked.remove(from) {
                    self.ticked.insert(to.to_path_buf());
                }
            }
            // What a look that is under way finds may be of before.
            (self.scan, self.looked) = (None, None);
        }
        if let Some(result) = self.scan.as_ref().and_then(Job::poll) {
            self.took = self.looked.map_or(Duration::ZERO, |at| at.elapsed());
            (self.scan, self.known, self.error) = (None, true, None);
            match result {
                Ok((seen, notes)) => {
                    self.ticked.retain(|path| seen.iter().any(|s| s.path == *path));
                    (self.seen, self.notes) = (seen, notes);
                }
                Err(e) => {
                    (self.seen, self.notes) = (vec![], vec![]);
                    self.error = Some(e.to_string());
                }
            }
        }
        self.compared.poll(ctx);
        self.ctx.get_or_insert_with(|| ctx.clone());
        self.followed = self.front.take();
        if !self.followed {
            return;
        }
        let interval = INTERVAL.max(PAUSE * self.took);
        let waited = self.looked.map_or(interval, |at| at.elapsed());
        if self.scan.is_none() && waited >= interval {
            self.look(ctx);
        }
        ctx.request_repaint_after(interval.saturating_sub(waited).max(Duration::from_millis(50)));
    }

    fn look(&mut self, ctx: &egui::Context) {
        let (root, before, wake) = (self.root.clone(), self.seen.clone(), ctx.clone());
        self.looked = Some(Instant::now());
        let first = !self.known;
        let work = move || {
            if first {
                // What a program that was killed left in the trash.
                trash::sweep(&root, SystemTime::now());
            }
            watch::scan(&root, &before)
        };
        self.scan = Some(Job::start("looking for runs", move || wake.request_repaint(), work));
    }

    /// What the rest of the app was asked for, once.
    pub fn take_asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.actions.asked)
    }

    fn of_ticked(&self) -> Vec<Arc<Seen>> {
        self.seen.iter().filter(|s| self.ticked.contains(&s.path)).cloned().collect()
    }

    /// Curves of the ticked runs, by the name of the run or of the group of seeds.
    pub fn series(&self, options: &CurveOptions, spread: Spread) -> Rc<overlay::Named> {
        // The page that asks has come to the front: the look begins in the next `poll`.
        self.front.set(true);
        if let (false, Some(ctx)) = (self.followed, &self.ctx) {
            ctx.request_repaint_after(Duration::from_millis(50));
        }
        self.overlay.borrow_mut().of(&self.of_ticked(), options, spread)
    }

    pub fn runs_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, _banner: &mut Banner, exports: &mut Exports) {
        self.front.set(true);
        if self.looked.is_none() {
            // The look begins in `poll`.
            ui.request_repaint();
        }
        if self.root != settings.runs {
            self.follow(&settings.runs.clone());
        }
        self.actions.undo_ui(ui);
        let mut shown = (0, vec![]);
        egui::CentralPanel::default().show(ui, |ui| {
            self.folder_ui(ui, settings);
            if let Some(error) = &self.error {
                ui.colored_label(ui.visuals().error_fg_color, error);
            } else if self.seen.is_empty() {
                self.empty_ui(ui);
            } else {
                shown = self.full_ui(ui, settings, exports);
            }
        });
        self.actions.dialog_ui(ui.ctx());
        let (quantity, series) = shown;
        exports.offer(|| plots(quantity, settings.curves.log, &series));
    }

    /// Another folder: nothing of the one before stays.
    fn follow(&mut self, root: &Path) {
        let list = std::mem::take(&mut self.list);
        let actions = std::mem::take(&mut self.actions);
        *self = RunsPage { list, actions, quantity: self.quantity, ..RunsPage::new(root) };
        self.front.set(true);
    }

    fn folder_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings) {
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("folder of runs");
            let field = egui::TextEdit::singleline(&mut self.typed).desired_width(420.0);
            let field = ui.add(field).labelled_by(label.id);
            let field = match fs::absolute(&self.root) {
                Ok(path) => field.on_hover_text(path.display().to_string()),
                Err(_) => field,
            };
            let again = ui.button("Look again").on_hover_text("Active runs refresh automatically").clicked();
            if again || field.lost_focus() {
                let typed = PathBuf::from(self.typed.trim());
                if typed != self.root && !typed.as_os_str().is_empty() {
                    settings.runs = typed.clone();
                    self.follow(&typed);
                } else if again {
                    (self.looked, self.compared) = (None, Compared::default());
                }
            }
            ui.separator();
            let label = ui.label("filter");
            let hint = "concrete tag:paper nll<0.5";
            let field = egui::TextEdit::singleline(&mut self.list.filter).desired_width(190.0).hint_text(hint);
            let tip = "Words that name, data, method, state, device, tags or note must hold. data:X, method:X, tag:X look in one of \
                       them; nll<0.5 or coverage_90>86% compare a test metric, the seed or the epoch";
            ui.add(field).labelled_by(label.id).on_hover_text(tip);
            self.columns_ui(ui, &mut settings.run_columns);
            if ui.button("Tick all").on_hover_text("All that are listed").clicked() {
                self.ticked.extend(self.list.places(&self.seen).into_iter().map(|i| self.seen[i].path.clone()));
            }
            if ui.button("Tick none").clicked() {
                self.ticked.clear();
            }
            ui.label(format!("{} of {} ticked", self.ticked.len(), self.seen.len()));
        });
        ui.add_space(2.0);
    }

    /// The menu of columns: those that are fixed, and every metric that a run has.
    fn columns_ui(&self, ui: &mut egui::Ui, columns: &mut Vec<RunColumn>) {
        // One tick after another: a click inside does not close it.
        let open = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
        let (button, _) = MenuButton::new("Columns").config(open).ui(ui, |ui| {
            ui.set_max_width(260.0);
            let mut all = RunColumn::fixed();
            for name in self.seen.iter().flat_map(|s| &s.metrics).map(|m| RunColumn::Metric(m.name.clone())) {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
                for column in all {
                    let (name, tip) = list::words(&column);
                    let mut on = columns.contains(&column);
                    if ui.checkbox(&mut on, name).on_hover_text(tip).changed() {
                        match on {
                            // What changed last stays at the end.
                            true if columns.last() == Some(&RunColumn::Changed) => {
                                columns.insert(columns.len() - 1, column)
                            }
                            true => columns.push(column),
                            false => columns.retain(|c| *c != column),
                        }
                    }
                }
            });
        });
        button.on_hover_text("Which columns the list has");
    }

    fn empty_ui(&self, ui: &mut egui::Ui) {
        if !self.known {
            ui.weak("looking …");
            return;
        }
        ui.add_space(40.0);
        ui.vertical_centered(|ui| {
            ui.heading("No runs here yet");
            ui.label("The page Your data makes them, and so does \"Save as run\" on the playground.");
            ui.label("They appear here automatically, from their first step on.");
            for note in &self.notes {
                ui.weak(note);
            }
        });
    }

    /// Returns the curves on the plot, and what of `NAMES` they are.
    fn full_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, exports: &Exports) -> (usize, Vec<Series>) {
        let ticked = self.of_ticked();
        let height = ui.available_height();
        let gap = ui.spacing().item_spacing.y;
        let rows = (self.seen.len() as f32 + 1.0) * (list::ROW + gap) + gap;
        let room = if ticked.is_empty() { height - 90.0 } else { (0.38 * height).max(120.0) };
        let wish = self.list.list_ui(ui, &self.seen, &mut self.ticked, &settings.run_columns, rows.min(room));
        if let Some((run, wish)) = wish {
            self.actions.wish(ui.ctx(), &run, wish);
        }
        self.notes_ui(ui);
        ui.separator();
        self.compared.update(ui.ctx(), &ticked);
        if ticked.is_empty() {
            ui.weak(
                "Tick runs to compare them: a table of means over seeds with their intervals, and their curves on one plot.",
            );
            return (0, vec![]);
        }
        let area = ui.available_rect_before_wrap();
        let (mut left, mut right) = area.split_left_right_at_fraction(0.6);
        (left.max.x, right.min.x) = (left.max.x - 6.0, right.min.x + 6.0);
        ui.scope_builder(egui::UiBuilder::new().max_rect(left), |ui| {
            self.compared.compared_ui(ui, &mut settings.spread)
        });
        ui.scope_builder(egui::UiBuilder::new().max_rect(right), |ui| self.overlay_ui(ui, settings, &ticked, exports))
            .inner
    }

    fn notes_ui(&self, ui: &mut egui::Ui) {
        if self.notes.is_empty() {
            return;
        }
        egui::ScrollArea::vertical().id_salt("notes").max_height(48.0).auto_shrink([false, true]).show(ui, |ui| {
            for note in &self.notes {
                ui.add(egui::Label::new(RichText::new(note).small()).wrap());
            }
        });
    }

    fn overlay_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        ticked: &[Arc<Seen>],
        exports: &Exports,
    ) -> (usize, Vec<Series>) {
        let mut overlay = self.overlay.borrow_mut();
        let all = overlay.of(ticked, &overlay::ALL, settings.spread);
        let has = |q: usize| all.iter().any(|(_, series)| series.iter().any(|s| s.name == NAMES[q]));
        let chosen = self.quantity.unwrap_or(if has(VALIDATION_NLL) { VALIDATION_NLL } else { EXPECTED_NLL });
        ui.horizontal_wrapped(|ui| {
            ui.strong("Curves");
            egui::ComboBox::new("quantity", "against epochs").width(200.0).selected_text(NAMES[chosen]).show_ui(
                ui,
                |ui| {
                    for (q, name) in NAMES.iter().enumerate().filter(|(q, _)| has(*q)) {
                        if ui.selectable_label(chosen == q, *name).clicked() {
                            self.quantity = Some(q);
                        }
                    }
                },
            );
            ui.checkbox(&mut settings.curves.log, "logarithmic");
            smoothing_ui(ui, &mut settings.curves);
        });
        let of_chosen = |(name, series): &'_ (String, Vec<Series>)| {
            series.iter().position(|s| s.name == NAMES[chosen]).map(|i| (name.clone(), i))
        };
        let found: Vec<(usize, String, usize)> =
            all.iter().enumerate().filter_map(|(g, named)| of_chosen(named).map(|(name, i)| (g, name, i))).collect();
        let series: Vec<Curve> =
            found.iter().map(|(g, name, i)| Curve::of(&all[*g].1[*i]).named(name.as_str())).collect();
        if series.is_empty() {
            ui.weak(format!("None of the ticked runs has written its {} yet.", NAMES[chosen]));
            return (chosen, vec![]);
        }
        if series.iter().any(|s| s.sd.is_some()) {
            ui.weak(format!("Shaded: {} over the seeds of one recipe.", settings.spread.words()));
        }
        let height = ui.available_height().max(120.0);
        let (y_label, log) = (y_label(chosen), settings.curves.log);
        let view =
            CurvesView { id: "overlay", x_label: "epoch", y_label, log, smoothing: settings.curves.smoothing, height };
        let colours = Colours::of(ui);
        // A long name would lay the legend over the curves.
        let most = (ui.available_width() / 13.0) as usize;
        let drawn: Vec<Curve> = series.iter().map(|s| s.clone().named(shortened(&s.name, most))).collect();
        curves_ui(ui, &view, &drawn, |i| colours.series(i));
        let offered = if exports.is_asked() { series.iter().map(Curve::to_series).collect() } else { vec![] };
        (chosen, offered)
    }
}

/// At most so many characters. Beginning and end stay: runs of a kind are told apart by their number.
fn shortened(name: &str, most: usize) -> String {
    let n = name.chars().count();
    if n <= most.max(8) {
        return name.into();
    }
    let kept = most.max(8) - 1;
    let start: String = name.chars().take(kept - kept / 2).collect();
    let end: String = name.chars().skip(n - kept / 2).collect();
    format!("{start}…{end}")
}

fn plots(quantity: usize, log: bool, series: &[Series]) -> Vec<Plottable> {
    if series.is_empty() {
        return vec![];
    }
    let figure = CurvesFigure {
        title: format!("Learning curves: {}", NAMES[quantity]),
        x_label: "epoch".into(),
        y_label: y_label(quantity).into(),
        log,
        series: series.to_vec(),
        ..Default::default()
    };
    vec![Plottable { stem: "runs".into(), source: Source::Figure(Box::new(figure)) }]
}

/// Places in `NAMES`.
const EXPECTED_NLL: usize = 1;
const VALIDATION_NLL: usize = 4;
const SCORES: [usize; 2] = [6, 7];

fn y_label(quantity: usize) -> &'static str {
    if SCORES.contains(&quantity) { "RMSE in the target's unit, or accuracy" } else { "nats per row" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_two_ends() {
        assert_eq!(shortened("concrete-12", 11), "concrete-12");
        assert_eq!(shortened("concrete-in-several-words-12", 11), "concr…ds-12");
        assert_eq!(shortened("größenordnungen", 0), "größ…gen");
    }
}
