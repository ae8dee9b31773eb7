//! The numbers of a run beside those of its baselines.

use super::read::Run;
use crate::results::{Metric, Results};
use eframe::egui::{self, Align, Grid, Label, Layout};

pub fn run_ui(ui: &mut egui::Ui, run: &Run) {
    ui.add_space(4.0);
    match &run.results {
        Some(results) => {
            ui.heading(format!("Test: {} held-out rows", results.rows));
            results_ui(ui, "test", results, &run.recipe.method.name);
        }
        None => {
            ui.heading("No test results yet");
        }
    }
    let m = &run.manifest;
    list_ui(ui, "Calibration", &run.calibration);
    list_ui(ui, "Notes on the data", &m.notes);
    list_ui(ui, "Changed while it trained", &m.changes);
}

fn list_ui(ui: &mut egui::Ui, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    ui.add_space(6.0);
    ui.strong(title);
    for line in lines {
        ui.add(Label::new(line).wrap());
    }
}

/// Width that the numbers of a run want: more for each baseline beyond the mean.
pub fn width(run: &Run) -> f32 {
    let has = |of: fn(&Metric) -> Option<f64>| {
        run.results.as_ref().is_some_and(|r| r.metrics.iter().any(|m| of(m).is_some()))
    };
    let more = [has(|m| m.least_squares), has(|m| m.boosting)].into_iter().filter(|has| *has).count();
    396.0 + 66.0 * more as f32
}

/// One row per metric; arrows say which way is better.
pub fn results_ui(ui: &mut egui::Ui, id: &str, results: &Results, method: &str) {
    let table = results.table(method);
    let grid = Grid::new(("results", id)).striped(true).spacing([12.0, 4.0]);
    let grid_ui = |ui: &mut egui::Ui| {
        for (i, title) in table.header.iter().enumerate() {
            cell(ui, i, |ui| drop(ui.strong(title)));
        }
        ui.end_row();
        for row in &table.rows {
            for (i, text) in row.iter().enumerate() {
                let text = if i == 0 { text.replace('_', " ") } else { text.clone() };
                cell(ui, i, |ui| drop(ui.label(text)));
            }
            ui.end_row();
        }
    };
    // Long units scroll; the notes below keep to the width.
    egui::ScrollArea::horizontal().id_salt(("results across", id)).show(ui, |ui| grid.show(ui, grid_ui));
    ui.weak("↑ more is better, ↓ less is better");
    for note in &results.notes {
        ui.add(Label::new(format!("Note: {}.", note.trim_end_matches('.'))).wrap());
    }
}

/// Numbers to the right, words to the left.
fn cell(ui: &mut egui::Ui, column: usize, add: impl FnOnce(&mut egui::Ui)) {
    if column < 2 {
        add(ui);
    } else {
        ui.with_layout(Layout::right_to_left(Align::Center), add);
    }
}
