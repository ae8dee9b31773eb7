//! The numbers of a run in words, beside those of its baselines, under the verdict on its error bars.

use super::read::Run;
use crate::gui::panels::keys::method_name;
use crate::gui::theme::seen_bars;
use crate::recipe::keys::for_window;
use crate::report::compare::is_main;
use crate::results::{Metric, Results, Said, advises_calibration, said, title, with_button};
use crate::tables::grouped;
use eframe::egui::{self, Align, Color32, CornerRadius, Frame, Grid, Label, Layout, RichText};

/// Points of a metric's name: a longer one takes two lines.
const NAME: f32 = 150.0;

pub fn run_ui(ui: &mut egui::Ui, run: &Run) {
    ui.add_space(4.0);
    match &run.results {
        Some(results) => {
            ui.heading(format!("Test: {} held-out rows", grouped(&results.rows.to_string())));
            results_ui(ui, "test", results, &run.recipe.method.name, !run.calibration.is_empty());
        }
        None => {
            ui.heading("No test results yet");
        }
    }
    let m = &run.manifest;
    list_ui(ui, "Calibration", &run.calibration);
    // That numbers are read as numbers is no news.
    let is_news = |note: &&String| !(note.starts_with("column") && note.ends_with(": number"));
    let notes: Vec<String> = m.notes.iter().filter(is_news).map(|note| for_window(note)).collect();
    list_ui(ui, "Notes on the data", &notes);
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

/// Width that the numbers of a run want: more for each column beyond ours and the mean.
pub fn width(run: &Run) -> f32 {
    let has = |of: fn(&Metric) -> bool| run.results.as_ref().is_some_and(|r| r.metrics.iter().any(of));
    let more = [has(|m| m.calibrated.is_some()), has(|m| m.least_squares.is_some()), has(|m| m.boosting.is_some())];
    436.0 + 84.0 * more.into_iter().filter(|has| *has).count() as f32
}

/// What the notes say of the error bars, first and in a frame of its own.
fn verdict_ui(ui: &mut egui::Ui, note: &str, came_to: Said) {
    let dark = ui.visuals().dark_mode;
    let (fill, sign) = match (came_to, dark) {
        (Said::Good, false) => (Color32::from_rgb(0xdd, 0xf0, 0xe6), "✔"),
        (Said::Good, true) => (Color32::from_rgb(0x12, 0x40, 0x30), "✔"),
        (Said::Bad, false) => (Color32::from_rgb(0xfb, 0xe3, 0xd6), "✖"),
        (Said::Bad, true) => (Color32::from_rgb(0x55, 0x2a, 0x10), "✖"),
        (Said::Cautious, false) => (Color32::from_rgb(0xfa, 0xf0, 0xd2), "!"),
        (Said::Cautious, true) => (Color32::from_rgb(0x4a, 0x3c, 0x0c), "!"),
        (Said::Open, false) => (Color32::from_gray(0xea), "?"),
        (Said::Open, true) => (Color32::from_gray(0x34), "?"),
    };
    Frame::NONE.fill(fill).inner_margin(6).corner_radius(CornerRadius::same(4)).show(ui, |ui| {
        ui.horizontal_top(|ui| {
            ui.strong(sign);
            ui.add(Label::new(RichText::new(capital(&for_window(note)))).wrap());
        });
    });
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.next().map_or_else(String::new, |c| c.to_uppercase().collect());
    out.push_str(chars.as_str());
    if out.ends_with('.') { out } else { out + "." }
}

/// The verdict, then one row per metric; those that are asked for seldom stand behind a click. `calibrated`: no note advises to do it.
pub fn results_ui(ui: &mut egui::Ui, id: &str, results: &Results, method: &str, calibrated: bool) {
    for (note, came_to) in results.notes.iter().filter_map(|n| Some((n, said(n)?))) {
        verdict_ui(ui, note, came_to);
        ui.add_space(2.0);
    }
    let table = results.table_in_words(method_name(method));
    let is_short = |m: &Metric| is_main(m) || m.name.contains("set_") || m.name.starts_with("auroc");
    let (main, more): (Vec<usize>, Vec<usize>) = (0..table.rows.len()).partition(|i| is_short(&results.metrics[*i]));
    let grid_ui = |ui: &mut egui::Ui, which: &[usize], part: &str| {
        let grid = Grid::new(("results", id, part)).striped(true).spacing([9.0, 5.0]);
        seen_bars(ui);
        egui::ScrollArea::horizontal().id_salt(("results across", id, part)).show(ui, |ui| {
            grid.show(ui, |ui| {
                // The unit stands under the name.
                for (c, title) in table.header.iter().enumerate().filter(|(c, _)| *c != 1) {
                    cell(ui, c, |ui| drop(ui.strong(title)));
                }
                ui.end_row();
                for &i in which {
                    let (row, m) = (&table.rows[i], &results.metrics[i]);
                    name_ui(ui, row, m);
                    for (c, text) in row.iter().enumerate().skip(2) {
                        cell(ui, c, |ui| drop(ui.label(text)));
                    }
                    ui.end_row();
                }
            });
        });
    };
    grid_ui(ui, &main, "main");
    if !more.is_empty() {
        egui::CollapsingHeader::new(format!("{} more figures", more.len()))
            .id_salt(("more figures", id))
            .default_open(main.is_empty())
            .show(ui, |ui| grid_ui(ui, &more, "more"));
    }
    ui.weak("↑ more is better, ↓ less is better; ± is the standard error that so many rows leave");
    for note in results.notes.iter().filter(|n| said(n).is_none() && !(calibrated && advises_calibration(n))) {
        ui.add(Label::new(format!("Note: {}.", for_window(&with_button(note.trim_end_matches('.'))))).wrap());
    }
}

/// The name in words, its unit under it, its meaning in the tip.
fn name_ui(ui: &mut egui::Ui, row: &[String], m: &Metric) {
    ui.vertical(|ui| {
        ui.set_width(NAME);
        ui.spacing_mut().item_spacing.y = 0.0;
        let meaning = title(&m.name).meaning;
        let name = ui.add(Label::new(&row[0]).wrap());
        name.on_hover_text(format!("{meaning} In tables and files: {}.", m.name).trim());
        if !row[1].is_empty() {
            ui.add(Label::new(RichText::new(&row[1]).small().weak()).truncate());
        }
    });
}

/// Numbers to the right, words to the left.
fn cell(ui: &mut egui::Ui, column: usize, add: impl FnOnce(&mut egui::Ui)) {
    if column < 2 {
        add(ui);
    } else {
        ui.with_layout(Layout::right_to_left(Align::Center), add);
    }
}
