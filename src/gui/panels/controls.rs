//! Start, pause, step, reset, stop: the same for every group of trainings.

use crate::live::{Command, Group, WorkerState};
use crate::train::Ending;
use eframe::egui;

/// What a button asks of the owner of the trainings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anew {
    /// Nothing is there to control, and Start was pressed.
    First,
    /// Back to step 0; `running` from there.
    Again { running: bool },
}

/// Start what is paused, pause what runs; what has ended, or is not there yet, its owner may begin.
pub fn toggle(group: &mut Group) -> Option<Anew> {
    match group.state {
        WorkerState::Running => group.send(Command::Pause),
        WorkerState::Paused => group.send(Command::Run),
        WorkerState::Empty => return Some(Anew::First),
        // A finished run folder is a result: only a new training may follow it.
        WorkerState::Ended(_) | WorkerState::Failed | WorkerState::Stopped if !group.kept => {
            return Some(Anew::Again { running: true });
        }
        _ => {}
    }
    None
}

/// Back to step 0, where nothing is to be brought back; true where nothing is there and its owner may start something.
pub fn again(group: &mut Group, anew: Option<Anew>) -> bool {
    if let Some(Anew::Again { running }) = anew {
        group.send(Command::Reset);
        if running {
            group.send(Command::Run);
        }
    }
    anew == Some(Anew::First)
}

/// What is left to the owner, `can_begin` where nothing is there yet.
pub fn controls_ui(ui: &mut egui::Ui, group: &mut Group, can_begin: bool) -> Option<Anew> {
    let mut anew = None;
    ui.horizontal(|ui| {
        let (name, tip) = match group.state {
            WorkerState::Running => ("Pause", "Hold training where it is (Space)"),
            WorkerState::Paused => ("Start", "Train on from here (Space)"),
            _ => ("Start", "Train from step 0 (Space)"),
        };
        let ready = match group.state {
            WorkerState::Empty => can_begin && !group.is_starting(),
            WorkerState::Running | WorkerState::Paused => true,
            _ => !group.kept,
        };
        if ui.add_enabled(ready, egui::Button::new(name).min_size(egui::vec2(64.0, 24.0))).on_hover_text(tip).clicked()
        {
            anew = toggle(group);
        }
        let can_step = matches!(group.state, WorkerState::Running | WorkerState::Paused);
        if ui
            .add_enabled(can_step, egui::Button::new("Step"))
            .on_hover_text("One optimizer step, then pause (S)")
            .clicked()
        {
            group.send(Command::Step(1));
        }
        let reset = egui::Button::new("Reset");
        let ready = ready && group.state != WorkerState::Empty;
        if !group.kept && ui.add_enabled(ready, reset).on_hover_text("Back to step 0 with fresh weights (R)").clicked()
        {
            anew = Some(Anew::Again { running: group.is_running() });
        }
        if ui
            .add_enabled(can_step, egui::Button::new("Stop"))
            .on_hover_text("End training here and keep its weights")
            .clicked()
        {
            group.send(Command::Stop);
        }
    });
    anew
}

/// "running", "paused at step 3", in words.
pub fn state_text(group: &Group) -> &'static str {
    match group.state {
        WorkerState::Empty if group.is_starting() => "starting",
        WorkerState::Empty => "nothing to train yet",
        WorkerState::Paused => "paused",
        WorkerState::Running => "training",
        WorkerState::Stopped => "stopped",
        WorkerState::Failed if group.kept => "failed: train again",
        WorkerState::Failed => "failed: press Reset to restart",
        WorkerState::Ended(Ending::Early) => "stopped early: the best weights are kept and shown",
        WorkerState::Ended(_) => "all epochs done",
    }
}
