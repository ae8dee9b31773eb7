//! The training of this page while it runs: progress, curves, and the settings that can be changed meanwhile.

use super::DataPage;
use crate::gui::panels::controls::{again, controls_ui, state_text};
use crate::gui::panels::keys;
use crate::gui::plots::curves::{CurvesView, curves_ui};
use crate::gui::settings::Settings;
use crate::gui::theme::Colours;
use crate::live::WorkerState;
use crate::tables::{number, rough_duration};
use eframe::egui::{self, Label, ProgressBar};

impl DataPage {
    pub(super) fn training_ui(&mut self, ui: &mut egui::Ui, settings: &Settings) {
        let Some(training) = &self.training else { return };
        ui.horizontal_wrapped(|ui| {
            ui.heading(format!("Training on {}", training.name));
            ui.weak(training.folder.display().to_string()).on_hover_text("The run folder");
        });
        let Some(slot) = self.group.slots.first() else {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label("Reading the data and setting up the network");
            });
            return;
        };
        let run = &slot.run;
        let (epochs, look) = (run.epochs.max(1), &self.group.snapshot);
        let done = run.last().map_or(run.first_epoch, |r| r.epoch).max(look.epoch.min(epochs));
        let steps = f64::from(epochs) * f64::from(run.steps_per_epoch.max(1));
        let running = self.group.state == WorkerState::Running;
        let at_end = running && run.last().is_some_and(|r| r.epoch >= run.epochs);
        let share = (look.step as f64 / steps).max(f64::from(done) / f64::from(epochs)).min(1.0) as f32;
        let left = match (running, at_end, run.last()) {
            (true, false, Some(_)) => format!(", at most {} left", rough_duration(run.seconds_left())),
            (_, true, _) => ", testing and drawing".into(),
            _ => String::new(),
        };
        let losses = run.last().map_or(String::new(), |last| {
            let held_out = last.validation_nll.map_or(String::new(), |v| format!(", validation NLL {}", number(v)));
            format!("loss {}{held_out}, nats per row", number(last.loss))
        });
        let notes = slot.notes.clone();
        let open = matches!(self.group.state, WorkerState::Ended(_) | WorkerState::Stopped) || training.complete;
        let folder = training.folder.clone();
        ui.add(ProgressBar::new(share).text(format!("epoch {done} of {epochs}{left}")));
        ui.horizontal_wrapped(|ui| {
            let anew = controls_ui(ui, &mut self.group, false);
            again(&mut self.group, anew);
            if open {
                let name =
                    if self.group.state == WorkerState::Stopped { "Show the stopped run" } else { "Show results" };
                if ui.button(name).clicked() {
                    self.finished = Some(folder);
                }
            }
            ui.separator();
            ui.label(state_text(&self.group));
            ui.weak(losses);
        });
        if !notes.is_empty() {
            egui::CollapsingHeader::new(format!("Notes on the data ({})", notes.len())).show(ui, |ui| {
                for note in &notes {
                    ui.add(Label::new(note).wrap());
                }
            });
        }
        let series = self.curves.shown(&settings.curves);
        if series.is_empty() {
            ui.weak("The curves begin with the first epoch.");
        }
        let view = CurvesView {
            id: "data curves",
            x_label: crate::gui::panels::curves::x_label(settings.curves.axis),
            y_label: "nats per row",
            log: settings.curves.log,
            smoothing: settings.curves.smoothing,
            height: ui.available_height().max(150.0),
        };
        let colours = Colours::of(ui);
        curves_ui(ui, &view, &series, |i| colours.series(i));
    }

    /// What a running training takes up at its next step.
    pub(super) fn live_ui(&mut self, ui: &mut egui::Ui) {
        if !matches!(self.group.state, WorkerState::Running | WorkerState::Paused) {
            return;
        }
        let Some(draft) = self.training.as_mut().and_then(|t| t.draft.as_mut()) else { return };
        ui.separator();
        ui.heading("While it trains").on_hover_text("Applies at the next step, without a restart");
        let before = draft.clone();
        ui.push_id("live", |ui| keys::live_keys_ui(ui, draft));
        if *draft != before {
            self.group.change(vec![draft.clone()]);
        }
    }
}
