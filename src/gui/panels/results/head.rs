//! Above and beside a run's results: what it is, how it stands, and what can be done with it.

use super::ResultsPage;
use super::read::Run;
use crate::gui::panels::keys::method_name;
use crate::gui::panels::pick::file_name;
use crate::gui::panels::runs::{Asked, can_continue, can_resume};
use crate::gui::shell;
use crate::run::recipe_name;
use crate::tables::grouped;
use eframe::egui::{self, DragValue};
use std::path::Path;

/// Of its folder: two runs of one recipe are told apart by it.
pub fn name(path: &Path) -> String {
    crate::base::fs::canonicalize(path).map_or_else(|_| file_name(path), |whole| file_name(&whole))
}

impl ResultsPage {
    pub(super) fn head_ui(&mut self, ui: &mut egui::Ui) {
        let Some(run) = &self.run else { return };
        ui.horizontal_wrapped(|ui| {
            let m = &run.manifest;
            let (name, recipe) = (name(&run.folder.path), recipe_name(&run.recipe));
            ui.heading(&name).on_hover_text(run.folder.path.display().to_string());
            if recipe != name {
                ui.weak(recipe).on_hover_text("Name of the recipe, or of the data");
            }
            ui.label(method_name(&run.recipe.method.name));
            ui.separator();
            ui.label(if self.removed { "removed" } else { run.state.word() });
            if !self.removed && can_resume(&run.state) && run.predictions.is_some() {
                let tip = "Goes on with the training on the page Your data, to its end";
                if ui.button("Resume").on_hover_text(tip).clicked() {
                    self.asked.push(Asked::Resume { path: run.folder.path.clone(), more: None });
                }
            }
            ui.separator();
            rows_ui(ui, [m.train_rows, m.validation_rows, m.test_rows], run.recipe.has_folds());
            ui.separator();
            ui.label(&m.device);
            ui.separator();
            if let Some(report) = &run.report
                && ui.button("Open report").on_hover_text("Everything on one page, in the browser").clicked()
            {
                self.opening = Some(shell::show(ui.ctx(), report));
            }
            if shell::DOWNLOADS {
                let tip = "The whole run folder as one zip: vifo on a computer opens it, too, once it is unpacked";
                if ui.button("Download run").on_hover_text(tip).clicked() {
                    self.failed = shell::hand_over(&run.folder.path).err();
                }
            } else if ui.button("Reveal folder").on_hover_text("In the file manager").clicked() {
                self.opening = Some(shell::show(ui.ctx(), &run.folder.path));
            }
        });
        if !run.about.is_empty() {
            ui.add(egui::Label::new(egui::RichText::new(run.about.line()).italics()).truncate())
                .on_hover_text(&run.about.note);
        }
        if self.removed {
            let text = "This folder has been removed: what is shown was read before. Deleted on the page Runs, it comes back there by Undo.";
            ui.colored_label(ui.visuals().error_fg_color, text);
        }
    }
}

/// How the rows were used; `own`: no part of them is kept for validation, but each member has its own.
fn rows_ui(ui: &mut egui::Ui, rows: [usize; 3], own: bool) {
    let label = ui.label(rows_words(rows, own));
    if own {
        let tip = "Each member is validated, and stops early, by rows that it alone does not train on: together the folds cover all \
                   training rows, so that each of them has a prediction by a member that did not see it";
        label.on_hover_text(tip);
    }
}

fn rows_words(rows: [usize; 3], own: bool) -> String {
    let [train, validation, test] = rows.map(|n| grouped(&n.to_string()));
    match own {
        true => format!("{train} training rows, each member holds out a fold of its own, {test} test rows"),
        false => format!("{train} training, {validation} validation, {test} test rows"),
    }
}

/// The button that calibrates; true where it was pressed.
pub fn calibrate_ui(ui: &mut egui::Ui, run: &Run, busy: bool) -> bool {
    if run.results.is_none() && run.predictions.is_none() {
        return false;
    }
    ui.add_space(6.0);
    let row = ui.horizontal(|ui| {
        let name = if run.calibration.is_empty() { "Calibrate" } else { "Calibrate again" };
        let hint = "From the validation part: intervals or sets that hold 90 % of new rows and, for classes, a temperature. \
                    Predictions of new rows have them from then on";
        let pressed = ui.add_enabled(!busy, egui::Button::new(name)).on_hover_text(hint).clicked();
        if busy {
            ui.spinner();
        }
        pressed
    });
    row.inner
}

/// More epochs for a run that has come to its end.
pub fn continue_ui(ui: &mut egui::Ui, run: &Run, removed: bool, more: &mut Option<u32>, asked: &mut Vec<Asked>) {
    if removed || !can_continue(&run.state) {
        return;
    }
    let mut epochs = more.or(run.recipe.train.epochs).unwrap_or(100).max(1);
    ui.horizontal(|ui| {
        let tip = "Trains on in the same folder, from the weights that the run ended with, and tests it anew";
        if ui.button("Continue training").on_hover_text(tip).clicked() {
            asked.push(Asked::Resume { path: run.folder.path.clone(), more: Some(epochs) });
        }
        let label = ui.label("for");
        let epochs_now = epochs;
        let drag = DragValue::new(&mut epochs).range(1..=1_000_000).speed(1.0).suffix(if epochs_now == 1 {
            " epoch"
        } else {
            " epochs"
        });
        if ui.add(drag).labelled_by(label.id).changed() {
            *more = Some(epochs);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_no_run_without_validation() {
        assert_eq!(rows_words([2700, 300, 30], false), "2,700 training, 300 validation, 30 test rows");
        let folds = rows_words([270, 0, 30], true);
        assert_eq!(folds, "270 training rows, each member holds out a fold of its own, 30 test rows");
    }
}
