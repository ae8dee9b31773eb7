//! The slider over the training so far: what was predicted at an earlier step, and going on from there; and why a training has ended.

use super::Playground;
use crate::gui::plots::curves::At;
use crate::gui::theme::Colours;
use crate::live::{Command, WorkerState};
use crate::recipe::Schedule;
use crate::train::Ending;
use eframe::egui::{self, Pos2, Slider};

/// Steps after which a network that predicts the same everywhere has come to nothing.
const DEAD: u64 = 50;
/// Where a recipe names no learning rate.
const USUAL_LR: f64 = 0.01;

/// Share of the slider at its right end that means the present.
const NOW: f64 = 1.0 / 150.0;

impl Playground {
    /// What the held-out figures are of, for the mark of the lowest.
    fn best_name(&self) -> &'static str {
        let rows = self.group.slots.first().map_or(&[][..], |l| &l.run.rows);
        match rows.last().is_some_and(|r| r.validation_nll.is_some()) {
            true => "lowest validation NLL",
            false => "lowest test NLL",
        }
    }

    pub(super) fn timeline_ui(&mut self, ui: &mut egui::Ui) {
        let Some(look) = self.group.slot_snapshot(0) else { return };
        let (moments, best) = (look.moments.clone(), look.best);
        let (Some(first), Some(last)) = (moments.first().copied(), moments.last().copied()) else { return };
        let now = self.group.step().max(last).max(first + 1);
        let at = self.looks_at.unwrap_or(now);
        ui.horizontal_wrapped(|ui| {
            let mut step = at as f64;
            let room = (ui.available_width() - 330.0).clamp(110.0, 360.0);
            ui.spacing_mut().slider_width = room;
            let slider = Slider::new(&mut step, first as f64..=now as f64).fixed_decimals(0).prefix("step ");
            let shown = ui.add(slider).on_hover_text(
                "The training so far: drag to see what was predicted at an earlier step. Training goes on meanwhile.",
            );
            shown.widget_info(|| egui::WidgetInfo::slider(true, at as f64, "Time"));
            if let Some(best) = best {
                mark_ui(ui, &shown, room, (best - first) as f64 / (now - first) as f64);
            }
            if shown.changed() {
                let is_now = step >= now as f64 - NOW * (now - first) as f64;
                let before = moments.partition_point(|m| *m as f64 <= step.round()).saturating_sub(1);
                self.looks_at = (!is_now).then(|| moments[before]);
            }
            if let Some(best) = best {
                let tip = format!("The {} so far, marked on the slider", self.best_name());
                let button = egui::Button::selectable(self.looks_at == Some(best), format!("Best: step {best}"));
                if ui.add(button).on_hover_text(tip).clicked() {
                    self.looks_at = Some(best);
                }
            }
            if let Some(step) = self.looks_at {
                if ui.button("Now").on_hover_text("Back to the present").clicked() {
                    self.looks_at = None;
                }
                let tip =
                    "Trains on from this step, with its weights and optimizer; Undo brings back what came after it";
                if ui.button("Go on from here").on_hover_text(tip).clicked() {
                    self.go_back(step);
                }
            }
        });
    }

    /// Why the training has ended, and the way on.
    pub(super) fn ending_ui(&mut self, ui: &mut egui::Ui) {
        let WorkerState::Ended(ending) = self.group.state else { return };
        let Some(slot) = self.group.slots.first() else { return };
        let falls = slot.recipe.as_ref().is_some_and(|r| r.train.schedule != Some(Schedule::Constant));
        let epochs = slot.run.epochs;
        let why = match ending {
            Ending::Early => {
                "Stopped early: the validation NLL had stopped falling. The best weights are kept and shown.".into()
            }
            Ending::Stopped => "Stopped: the program was asked to end.".into(),
            Ending::Finished if epochs == 1 => "The one epoch is done.".into(),
            Ending::Finished if falls => {
                format!(
                    "All {epochs} epochs are done. The learning rate fell to 0 on the way, so that the curve settled."
                )
            }
            Ending::Finished => format!("All {epochs} epochs are done."),
        };
        ui.horizontal_wrapped(|ui| {
            ui.label(why);
            let tip = "As many epochs again, from these weights; the learning rate starts anew";
            if ui.button("Train on").on_hover_text(tip).clicked() {
                self.group.send(Command::GoOn { from: None });
            }
        });
    }

    /// That the training came to nothing, and what helps.
    pub(super) fn dead_ui(&mut self, ui: &mut egui::Ui) {
        if !self.group.slot_snapshot(0).is_some_and(|look| self.group.step() >= DEAD && look.picture.is_flat()) {
            return;
        }
        let slot = self.group.slots.first().and_then(|l| l.recipe.as_ref());
        let now = slot.and_then(|r| r.train.lr).unwrap_or(USUAL_LR);
        let less = super::edit::five_digits(now / 10.0);
        ui.horizontal_wrapped(|ui| {
            let text = format!(
                "The network predicts the same everywhere: its units have died, as they do where the learning rate ({now}) is too large."
            );
            ui.colored_label(ui.visuals().warn_fg_color, text);
            if ui.button(format!("Learning rate {less}, from step 0")).clicked() {
                self.draft.train.lr = Some(less);
                self.begin();
            }
        });
    }

    /// Where the curves are marked: at the step that is looked at, and at the best one.
    pub(super) fn marks(&self, colours: &Colours) -> Vec<At> {
        let Some(look) = self.group.slot_snapshot(0) else { return vec![] };
        let best =
            look.best.map(|step| At { x: step as f64, name: self.best_name(), colour: colours.aux, dashed: true });
        let shown =
            look.looks_at.map(|step| At { x: step as f64, name: "shown above", colour: colours.truth, dashed: false });
        best.into_iter().chain(shown).collect()
    }
}

/// A mark above the rail at a share of it.
fn mark_ui(ui: &egui::Ui, slider: &egui::Response, width: f32, share: f64) {
    let radius = slider.rect.height() / 2.5;
    let x = egui::lerp(radius..=width - radius, (share as f32).clamp(0.0, 1.0)) + slider.rect.left();
    let top = slider.rect.top() - 1.0;
    let corners = [(-4.0, 0.0), (4.0, 0.0), (0.0, 6.0)].map(|(dx, dy)| Pos2::new(x + dx, top + dy));
    let colour = Colours::of(ui).aux;
    ui.painter().add(egui::Shape::convex_polygon(corners.to_vec(), colour, egui::Stroke::NONE));
}
