//! How well each class is found.

use crate::tables::TextTable;
use eframe::egui::{self, Align, Layout};
use egui_extras::{Column, TableBuilder};

const TIPS: [&str; 6] = [
    "The class",
    "Test rows of this class",
    "Share of them that are named so (recall)",
    "Test rows that are named so",
    "Share of those that are of this class (precision)",
    "The class that most of the others are taken for, and how many are",
];

pub fn classes_ui(ui: &mut egui::Ui, table: Option<&TextTable>) {
    let Some(table) = table else { return };
    egui::ScrollArea::horizontal().id_salt("classes across").auto_shrink([false, false]).show(ui, |ui| {
        TableBuilder::new(ui)
            .id_salt("classes")
            .striped(true)
            .auto_shrink([false, true])
            .min_scrolled_height(0.0)
            .column(Column::initial(120.0).at_least(60.0).clip(true))
            .columns(Column::initial(80.0).at_least(50.0), 1)
            .columns(Column::initial(130.0).at_least(60.0), table.header.len().saturating_sub(2))
            .header(24.0, |mut header| {
                for (name, tip) in table.header.iter().zip(TIPS) {
                    header.col(|ui| {
                        ui.strong(name).on_hover_text(tip);
                    });
                }
            })
            .body(|body| {
                body.rows(21.0, table.rows.len(), |mut row| {
                    let cells = &table.rows[row.index()];
                    for (c, text) in cells.iter().enumerate() {
                        row.col(|ui| {
                            let is_word = c == 0 || c + 1 == cells.len();
                            let side = match is_word {
                                true => Layout::left_to_right(Align::Center),
                                false => Layout::right_to_left(Align::Center),
                            };
                            ui.with_layout(side, |ui| ui.label(text));
                        });
                    }
                });
            });
    });
}
