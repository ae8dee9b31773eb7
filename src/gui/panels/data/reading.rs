//! How a file is read, where what was found out is wrong: behind a button beside its path.

use super::content::Reading;
use crate::gui::panels::keys::{checked_drag_ui, tip};
use crate::recipe::key;
use eframe::egui::{self, ComboBox};

/// What a recipe calls a separator, in quotes, and its name.
const SEPARATORS: [(&str, &str); 5] =
    [("\",\"", "comma"), ("\";\"", "semicolon"), ("\"tab\"", "tab"), ("\"|\"", "bar"), ("\"space\"", "spaces")];

/// True where something has been changed.
pub fn reading_ui(ui: &mut egui::Ui, reading: &mut Reading) -> bool {
    let before = reading.clone();
    ui.menu_button("How it is read…", |ui| {
        ui.set_min_width(230.0);
        skip_ui(ui, reading);
        choice_ui(ui, reading, key!(data.delimiter), "separator", &SEPARATORS);
        let header = [("true", "names of the columns"), ("false", "no names in the first line")];
        choice_ui(ui, reading, key!(data.header), "first line", &header);
        let key = key!(data.skip_broken);
        let mut skip = reading.get(key) == Some("true");
        let tip = "Images that cannot be read, instead of refusing the whole set";
        if ui.checkbox(&mut skip, "leave broken images out").on_hover_text(tip).changed() {
            reading.put(key, skip.then(|| "true".into()));
        }
    })
    .response
    .on_hover_text("Lines above the header, the separator, broken images: where what was found out is wrong");
    *reading != before
}

fn skip_ui(ui: &mut egui::Ui, reading: &mut Reading) {
    let key = key!(data.skip_lines);
    let mut lines: u32 = reading.get(key).and_then(|text| text.parse().ok()).unwrap_or(0);
    ui.horizontal(|ui| {
        let label = ui.label("skip lines");
        let drag = checked_drag_ui(ui, &mut lines, (0.0, 1000.0), 0.05, label.id);
        if drag.on_hover_text("Lines above the header of a table: a title, a note, units").changed() {
            reading.put(key, (lines > 0).then(|| lines.to_string()));
        }
    });
}

fn choice_ui(
    ui: &mut egui::Ui,
    reading: &mut Reading,
    key: &'static crate::recipe::keys::Key,
    label: &str,
    all: &[(&str, &str)],
) {
    let now = reading.get(key).map(str::to_string);
    let words = all.iter().find(|(value, _)| Some(*value) == now.as_deref()).map_or("as found", |(_, words)| *words);
    let mut chosen = now.clone();
    ComboBox::from_label(label)
        .selected_text(words)
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut chosen, None, "as found");
            for (value, words) in all {
                ui.selectable_value(&mut chosen, Some(value.to_string()), *words);
            }
        })
        .response
        .on_hover_text(tip(key));
    if chosen != now {
        reading.put(key, chosen);
    }
}
