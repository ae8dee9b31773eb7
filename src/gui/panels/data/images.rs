//! The preflight report of an image set as a page.

use super::table::warnings_ui;
use crate::data::inspect::images::ImageReport;
use eframe::egui::{self, Align, Label, Layout};
use egui_extras::{Column, TableBuilder};

pub fn report_ui(ui: &mut egui::Ui, report: &ImageReport) {
    egui::ScrollArea::vertical().id_salt("image report").auto_shrink([false, false]).show(ui, |ui| {
        ui.heading(super::file_name(std::path::Path::new(&report.path))).on_hover_text(&report.path);
        let colour = if report.channels == 1 { "grey, 1 channel" } else { "colour, 3 channels" };
        ui.label(format!(
            "{}: {} images of {} × {}, {colour}",
            report.format, report.images, report.height, report.width
        ));
        if let Some(n) = report.test_images {
            ui.label(format!("and a test part of {n} images"));
        }
        let list = |v: &[f32]| v.iter().map(|v| format!("{v:.3}")).collect::<Vec<_>>().join(", ");
        ui.label(format!("mean {}, standard deviation {} (255 is 1)", list(&report.mean), list(&report.sd)));
        warnings_ui(ui, &report.warnings.iter().map(String::as_str).collect::<Vec<_>>());
        for note in &report.notes {
            ui.add(Label::new(format!("Note: {}.", note.trim_end_matches('.'))).wrap());
        }
        if report.classes.is_empty() {
            return;
        }
        ui.add_space(6.0);
        ui.strong(format!("{} classes", report.classes.len()));
        classes_ui(ui, report);
    });
}

fn classes_ui(ui: &mut egui::Ui, report: &ImageReport) {
    let most = report.classes.iter().map(|c| c.count).max().unwrap_or(1).max(1);
    let height = ui.available_height().max(220.0);
    TableBuilder::new(ui)
        .id_salt("classes")
        .striped(true)
        .auto_shrink([false, true])
        .min_scrolled_height(0.0)
        .max_scroll_height(height - 34.0)
        .cell_layout(Layout::left_to_right(Align::Center))
        .column(Column::initial(160.0).at_least(60.0).clip(true))
        .column(Column::initial(70.0).at_least(60.0))
        .column(Column::remainder().at_least(100.0))
        .header(22.0, |mut header| {
            header.col(|ui| drop(ui.strong("class")));
            header.col(|ui| drop(ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.strong("images"))));
            header.col(|_| {});
        })
        .body(|body| {
            body.rows(22.0, report.classes.len(), |mut row| {
                let class = &report.classes[row.index()];
                row.col(|ui| drop(ui.add(Label::new(&class.level).truncate())));
                row.col(|ui| {
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(class.count.to_string()));
                });
                row.col(|ui| {
                    let share = class.count as f32 / most as f32;
                    let size = egui::vec2((ui.available_width() - 12.0).clamp(10.0, 400.0) * share, 10.0);
                    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
                    ui.painter().rect_filled(rect, 2.0, ui.visuals().weak_text_color());
                });
            });
        });
}
