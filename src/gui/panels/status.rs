//! The bar at the foot: what the page in front is about. Of a training: what it runs on, how fast, where it is, and its seed.

use super::controls::state_text;
use super::data::DataPage;
use super::playground::Playground;
use super::priors::Priors;
use super::results::ResultsPage;
use super::runs::RunsPage;
use super::side::SideBySide;
use crate::base::fs;
use crate::gui::settings::Tab;
use crate::live::Group;
use crate::tables::grouped;
use eframe::egui;

/// The pages that may be in front.
pub struct Pages<'a> {
    pub playground: &'a Playground,
    pub side: &'a SideBySide,
    pub priors: &'a Priors,
    pub data: &'a DataPage,
    pub results: &'a ResultsPage,
    pub runs: &'a RunsPage,
}

pub fn status_ui(ui: &mut egui::Ui, tab: Tab, pages: &Pages) {
    // A bar of one line, however narrow the window.
    egui::ScrollArea::horizontal().id_salt("status").scroll_bar_visibility(HIDDEN).show(ui, |ui| {
        ui.horizontal(|ui| match tab {
            Tab::SideBySide => group_ui(ui, "", pages.side.group.as_ref()),
            Tab::Priors => group_ui(ui, "", pages.priors.group.as_ref()),
            Tab::Playground => group_ui(ui, "", Some(&pages.playground.group)),
            Tab::Data if !pages.data.group.slots.is_empty() => group_ui(ui, "", Some(&pages.data.group)),
            Tab::Data => words_ui(ui, &[pages.data.opened().unwrap_or_else(|| "nothing is open".into())]),
            Tab::Results => words_ui(ui, &pages.results.status()),
            Tab::Runs => words_ui(ui, &[pages.runs.status()]),
            // These show what the playground has.
            Tab::Examples | Tab::Curves | Tab::Recipe => group_ui(ui, "playground: ", Some(&pages.playground.group)),
        });
    });
}

const HIDDEN: egui::scroll_area::ScrollBarVisibility = egui::scroll_area::ScrollBarVisibility::AlwaysHidden;

fn words_ui(ui: &mut egui::Ui, words: &[String]) {
    for word in words {
        ui.label(word);
        ui.separator();
    }
    memory_ui(ui);
}

fn memory_ui(ui: &mut egui::Ui) {
    if let Some(bytes) = memory() {
        ui.label(format!("{} MB", bytes / 1_000_000)).on_hover_text("Memory of the whole program");
        ui.separator();
    }
}

fn group_ui(ui: &mut egui::Ui, whose: &str, group: Option<&Group>) {
    let Some(group) = group else { return words_ui(ui, &["nothing to train yet".into()]) };
    ui.label(format!("{whose}{}", state_text(group)));
    ui.separator();
    let Some(slot) = group.slots.first() else { return memory_ui(ui) };
    ui.label(&slot.run.device).on_hover_text("Training device: the CPU, or an adapter");
    ui.separator();
    let count = |n: u64| grouped(&n.to_string());
    let (step, epoch, epochs) = (count(group.step()), count(group.epoch().into()), count(slot.run.epochs.into()));
    ui.label(format!("step {step}, epoch {epoch} of {epochs}"));
    ui.separator();
    ui.label(format!("{} steps/s", rate(group.snapshot.steps_per_second)));
    ui.separator();
    memory_ui(ui);
    ui.label(format!("seed {}", slot.recipe.as_ref().map_or(0, |r| r.seed)));
    ui.separator();
    match group.slots.as_slice() {
        [one] => ui.label(format!("{} parameters per network", grouped(&one.run.parameters.to_string()))),
        several => ui.label(format!("{} trainings", several.len())),
    };
}

fn rate(v: f64) -> String {
    if v >= 100.0 || v == 0.0 { format!("{v:.0}") } else { format!("{v:.1}") }
}

/// Resident memory in bytes, where the system gives it cheaply.
fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
