//! The preflight report of an image set as a page, with the first images of each class.

use super::table::warnings_ui;
use crate::data::inspect::images::{ImageReport, Samples};
use crate::data::inspect::sentence::Sentence;
use eframe::egui::{self, Align, ColorImage, Image, Label, Layout, TextureHandle, TextureOptions};
use egui_extras::{Column, TableBuilder};
use std::collections::HashMap;

const SIDE: f32 = 28.0;

/// Images as textures, made when their class comes into sight.
#[derive(Default)]
pub struct Shown(HashMap<usize, Vec<TextureHandle>>);

pub fn report_ui(ui: &mut egui::Ui, report: &ImageReport, samples: &[Samples], shown: &mut Shown) {
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
        let warnings: Vec<Sentence> = report.warnings.iter().cloned().map(Sentence::from).collect();
        warnings_ui(ui, &warnings);
        for note in &report.notes {
            ui.add(Label::new(format!("Note: {}.", note.trim_end_matches('.'))).wrap());
        }
        if report.classes.is_empty() {
            return;
        }
        ui.add_space(6.0);
        ui.strong(format!("{} classes", report.classes.len()));
        classes_ui(ui, report, samples, shown);
    });
}

fn classes_ui(ui: &mut egui::Ui, report: &ImageReport, samples: &[Samples], shown: &mut Shown) {
    let most = report.classes.iter().map(|c| c.count).max().unwrap_or(1).max(1);
    let height = ui.available_height().max(220.0);
    let pictures = samples.iter().map(Vec::len).max().unwrap_or(0) as f32 * (SIDE + 4.0);
    TableBuilder::new(ui)
        .id_salt("classes")
        .striped(true)
        .auto_shrink([false, true])
        .min_scrolled_height(0.0)
        .max_scroll_height(height - 34.0)
        .cell_layout(Layout::left_to_right(Align::Center))
        .column(Column::initial(110.0).at_least(60.0).clip(true))
        .column(Column::initial(70.0).at_least(60.0))
        .column(Column::exact(pictures.max(10.0)).clip(true))
        .column(Column::remainder().at_least(60.0))
        .header(22.0, |mut header| {
            header.col(|ui| drop(ui.strong("class")));
            header.col(|ui| drop(ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.strong("images"))));
            header.col(|ui| drop(ui.strong("the first")));
            header.col(|_| {});
        })
        .body(|body| {
            body.rows(SIDE + 6.0, report.classes.len(), |mut row| {
                let i = row.index();
                let class = &report.classes[i];
                row.col(|ui| drop(ui.add(Label::new(&class.level).truncate())));
                row.col(|ui| {
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(class.count.to_string()));
                });
                row.col(|ui| pictures_ui(ui, report, i, samples, shown));
                row.col(|ui| {
                    let share = class.count as f32 / most as f32;
                    let size = egui::vec2((ui.available_width() - 12.0).clamp(10.0, 400.0) * share, 10.0);
                    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
                    ui.painter().rect_filled(rect, 2.0, ui.visuals().weak_text_color());
                });
            });
        });
}

fn pictures_ui(ui: &mut egui::Ui, report: &ImageReport, class: usize, samples: &[Samples], shown: &mut Shown) {
    ui.spacing_mut().item_spacing.x = 4.0;
    let (h, w) = (report.height as f32, report.width as f32);
    let fit = |side: f32| egui::vec2(w, h) * (side / w.max(h));
    let textures = shown.0.entry(class).or_insert_with(|| {
        let of_class = samples.get(class).map_or(&[][..], Vec::as_slice);
        let images = of_class.iter().filter_map(|bytes| colours(report, bytes));
        images.map(|image| ui.ctx().load_texture("sample", image, TextureOptions::NEAREST)).collect()
    });
    for (n, texture) in textures.iter().enumerate() {
        let name = format!("image {} of class {}", n + 1, report.classes[class].level);
        ui.add(Image::new((texture.id(), fit(SIDE))).alt_text(name)).on_hover_ui(|ui| {
            ui.add(Image::new((texture.id(), fit(192.0))));
        });
    }
}

fn colours(report: &ImageReport, bytes: &[u8]) -> Option<ColorImage> {
    let size = [report.width, report.height];
    match report.channels {
        1 => Some(ColorImage::from_gray(size, bytes)),
        3 => Some(ColorImage::from_rgb(size, bytes)),
        _ => None,
    }
}
