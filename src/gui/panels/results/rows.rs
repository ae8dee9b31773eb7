//! The rows of a run's page: the table of its predictions, and predictions of other rows.

use super::ResultsPage;
use crate::gui::panels::pick::{DialogKind, working_ui};
use crate::gui::panels::runs::{Asked, can_resume};
use crate::gui::plots::curves::{CurvesView, curves_ui};
use crate::gui::settings::CurveOptions;
use crate::gui::theme::Colours;
use crate::live::Job;
use crate::run::watch::RunState;
use crate::tables::write_csv;
use eframe::egui::{self, Label};

impl ResultsPage {
    pub(super) fn predictions_ui(&mut self, ui: &mut egui::Ui) {
        egui::Panel::bottom("new rows").show(ui, |ui| self.new_rows_ui(ui));
        let back = self.other.is_some();
        let Some(view) = self.other.as_mut().or(self.own.as_mut()) else {
            self.unfinished_ui(ui);
            return;
        };
        let mut own_again = false;
        ui.horizontal_wrapped(|ui| {
            ui.strong(&view.title);
            view.filter_ui(ui);
            own_again = back && ui.button("Back to the test rows").clicked();
        });
        for note in &view.notes {
            ui.add(Label::new(format!("Note: {}.", note.trim_end_matches('.'))).wrap());
        }
        if !back {
            working_ui(ui, &self.own_images);
        }
        view.table_ui(ui);
        if own_again {
            self.other = None;
        }
    }

    /// What there is of a run without predictions.
    fn unfinished_ui(&mut self, ui: &mut egui::Ui) {
        let Some(run) = &self.run else { return };
        let text = match (&run.state, run.manifest.test_rows) {
            (RunState::Training, _) => "No results yet: this run is in training. They appear here when it ends.",
            (RunState::Interrupted, _) => "No results yet: this training was interrupted before its end.",
            (RunState::Ended(word), _) if word == "stopped" => {
                "No results yet: this training was stopped before its end."
            }
            (_, 0) => "No test rows were held out: predict rows of another file below.",
            _ => "No predictions in this folder.",
        };
        ui.add(Label::new(text).wrap());
        if !self.removed && can_resume(&run.state) {
            let tip = "Goes on with the training on the page Your data, to its end";
            if ui.button("Resume").on_hover_text(tip).clicked() {
                self.asked.push(Asked::Resume { path: run.folder.path.clone(), more: None });
            }
        }
        let series = self.curves.shown(&CurveOptions::default());
        if series.is_empty() {
            ui.weak("No epoch has been written yet.");
            return;
        }
        let height = ui.available_height().max(150.0);
        let view = CurvesView {
            id: "run curves",
            x_label: "step",
            y_label: "nats per row",
            log: true,
            smoothing: 0.0,
            height,
        };
        let colours = Colours::of(ui);
        curves_ui(ui, &view, &series, |i| colours.series(i));
    }

    fn new_rows_ui(&mut self, ui: &mut egui::Ui) {
        let Some(run) = &self.run else { return };
        let of_images = run.encoder.pixels.is_some();
        let mut asked = None;
        ui.add_space(4.0);
        let width = (ui.available_width() - 370.0).min(500.0);
        ui.horizontal(|ui| {
            let hint = if of_images { "an image, or a folder of images" } else { "a table with the same columns" };
            let enter = self.rows.field_ui(ui, "new rows", hint, width);
            let ready = self.rows.path().is_some() && self.predicting.is_none();
            let go =
                ui.add_enabled(ready, egui::Button::new("Predict new rows")).on_hover_text("The target may be absent");
            if (enter && ready) || go.clicked() {
                asked = self.rows.path();
            }
            let ask = if of_images { DialogKind::Folder } else { DialogKind::File };
            if ui.button("Choose rows…").clicked() {
                self.rows.ask(ui.ctx(), ask);
            }
            if self.predicting.is_some() {
                ui.spinner();
            }
        });
        if let Some(file) = asked {
            self.predict(ui.ctx(), file);
        }
        let Some(view) = self.other.as_ref().or(self.own.as_ref()) else { return };
        ui.horizontal(|ui| {
            self.save.field_ui(ui, "save as", "predictions.csv", width);
            let ready = self.save.path().is_some() && self.saving.is_none();
            let go = ui.add_enabled(ready, egui::Button::new("Save predictions"));
            if go.on_hover_text("The rows shown above, in their order, as CSV with all digits").clicked() {
                let (path, shown, rows) =
                    (self.save.path().unwrap_or_default(), view.predictions.clone(), view.order.clone());
                let (wake, work) = (ui.ctx().clone(), move || write_csv(&path, &shown.picked(&rows)).map(|()| path));
                self.saving = Some(Job::start("saving predictions", move || wake.request_repaint(), work));
            }
            if ui.button("Choose place…").clicked() {
                self.save.ask(ui.ctx(), DialogKind::Save);
            }
        });
        ui.add_space(2.0);
    }
}
