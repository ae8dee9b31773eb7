//! The bar at the foot: what it runs on, how fast, where it is, memory and seed.

use super::controls::state_text;
use super::data::DataPage;
use super::playground::Playground;
use super::priors::Priors;
use super::side::SideBySide;
use crate::base::fs;
use crate::gui::settings::Tab;
use crate::live::Group;
use eframe::egui;

pub fn status_ui(
    ui: &mut egui::Ui,
    tab: Tab,
    playground: &Playground,
    side: &SideBySide,
    priors: &Priors,
    data: &DataPage,
) {
    let group: &Group = match tab {
        Tab::SideBySide => side.group.as_ref().unwrap_or(&playground.group),
        Tab::Priors => priors.group.as_ref().unwrap_or(&playground.group),
        Tab::Data if !data.group.slots.is_empty() => &data.group,
        _ => &playground.group,
    };
    ui.horizontal(|ui| {
        let Some(slot) = group.slots.first() else {
            ui.label(state_text(group));
            return;
        };
        ui.label(state_text(group));
        ui.separator();
        ui.label(&slot.run.device)
            .on_hover_text("Training device: the CPU, or the adapter that the recipe's device key names");
        ui.separator();
        ui.label(format!("step {}, epoch {} of {}", group.step(), group.epoch(), slot.run.epochs));
        ui.separator();
        ui.label(format!("{} steps/s", rate(group.snapshot.steps_per_second)));
        ui.separator();
        if let Some(bytes) = memory() {
            ui.label(format!("{} MB", bytes / 1_000_000)).on_hover_text("Memory of the whole program");
            ui.separator();
        }
        ui.label(format!("seed {}", slot.recipe.as_ref().map_or(0, |r| r.seed)));
        ui.separator();
        ui.label(format!("{} parameters per network", slot.run.parameters));
    });
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
