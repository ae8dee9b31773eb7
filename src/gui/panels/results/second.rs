//! Evaluation on out-of-distribution rows, and the link to the report.

use super::gallery::is_of_second_set;
use super::read::Evaluate;
use super::{ResultsPage, metrics};
use crate::base::fs;
use crate::gui::panels::pick::{DialogKind, working_ui};
use crate::gui::shell;
use crate::live::Job;
use eframe::egui::{self, Label};
use std::path::PathBuf;

impl ResultsPage {
    /// Evaluates on rows unlike the training data.
    pub fn evaluate(&mut self, ctx: &egui::Context, set: PathBuf) {
        let Some(run) = &self.run else { return };
        let (chore, wake) = (Evaluate { folder: run.folder.clone(), ood: vec![set] }, ctx.clone());
        self.evaluating = Some(Job::beside("Evaluating", move || wake.request_repaint(), chore));
    }

    pub(super) fn second_ui(&mut self, ui: &mut egui::Ui) {
        if self.run.is_none() {
            return;
        }
        ui.add(Label::new(
            "Rows or images unlike the training data; the target may be absent. A model with good epistemic uncertainty is less \
             confident on them than on its test rows.",
        ).wrap());
        let mut asked = None;
        ui.horizontal(|ui| {
            let width = (ui.available_width() - 470.0).min(600.0);
            let enter = self.second.field_ui(ui, "second set", "a table or a folder of images", width);
            let ready = self.second.path().is_some() && self.evaluating.is_none();
            let go = ui.add_enabled(ready, egui::Button::new("Evaluate as out-of-distribution"));
            if (enter && ready) || go.clicked() {
                asked = self.second.path();
            }
            if ui.button("File…").on_hover_text("Choose a file").clicked() {
                self.second.ask(ui.ctx(), DialogKind::File);
            }
            if ui.button("Folder…").on_hover_text("Choose a folder").clicked() {
                self.second.ask(ui.ctx(), DialogKind::Folder);
            }
        });
        if let Some(set) = asked {
            self.evaluate(ui.ctx(), set);
        }
        let Some(run) = &self.run else { return };
        working_ui(ui, &self.evaluating);
        for note in &self.said {
            ui.add(Label::new(format!("Note: {}.", note.trim_end_matches('.'))).wrap());
        }
        let sets: Vec<_> = run.evaluation.iter().filter(|r| r.set.starts_with("ood")).collect();
        if sets.is_empty() {
            ui.weak("No second set has been evaluated yet.");
            return;
        }
        egui::ScrollArea::vertical().id_salt("second").auto_shrink([false, false]).show(ui, |ui| {
            for (i, results) in sets.into_iter().enumerate() {
                egui::CollapsingHeader::new(format!("{}: {} rows", results.set, results.rows))
                    .id_salt(("second", i))
                    .default_open(true)
                    .show(ui, |ui| {
                        metrics::results_ui(
                            ui,
                            &format!("second {i}"),
                            results,
                            &run.recipe.method.name,
                            !run.calibration.is_empty(),
                        )
                    });
            }
            ui.separator();
            self.gallery.gallery_ui(ui, is_of_second_set);
        });
    }

    /// Opens the report as a page of its own, where there are such.
    pub fn show_report(&mut self, ctx: &egui::Context) {
        let path = self.run.as_ref().and_then(|run| run.report.as_ref());
        self.opening = path.map(|path| shell::show(ctx, path));
    }

    pub(super) fn report_ui(&mut self, ui: &mut egui::Ui) {
        let Some(run) = &self.run else { return };
        let mut asked = false;
        match &run.report {
            Some(path) => {
                ui.label("The report has everything on one HTML page that works offline.");
                if ui.button("Open report").on_hover_text("In the browser").clicked() {
                    asked = true;
                }
                if !shell::DOWNLOADS {
                    let path = fs::absolute(path).unwrap_or_else(|_| path.clone());
                    ui.add_space(4.0);
                    ui.add(Label::new(egui::RichText::new(path.display().to_string()).monospace()).wrap());
                    if ui.button("Copy path").clicked() {
                        ui.copy_text(path.display().to_string());
                    }
                }
            }
            None => {
                ui.label("No report yet: it is written at the end of training.");
            }
        }
        ui.add_space(8.0);
        ui.strong("Also in the folder");
        for (name, what) in [
            ("recipe.toml", "the recipe to reproduce this run"),
            ("predictions.csv", "every test row with its uncertainty"),
            ("results.json", "the numbers on the left"),
            ("metrics.csv", "loss and its terms, epoch by epoch"),
            ("figures", "each figure as PNG, SVG and CSV"),
        ] {
            if fs::exists(run.folder.file(name)) {
                ui.label(format!("{name}: {what}"));
            }
        }
        if asked {
            self.show_report(ui.ctx());
        }
    }
}
