//! The test images as a sheet: the least certain or the most certain first, all or the misclassified alone; a click shows one
//! large, with what the model gives each class.

use super::view::{View, first_images};
use eframe::egui::{self, Align, Image, Label, Layout, ProgressBar, RichText, Sense};

/// Points of an image on the sheet, and of the one that is looked at.
const SMALL: f32 = 84.0;
const LARGE: f32 = 320.0;

#[derive(Default)]
pub struct Images {
    wrong_only: bool,
    certain_first: bool,
    /// The row that is looked at.
    chosen: Option<usize>,
    /// Rows in their order, and what they are the order of.
    shown: Option<(Vec<usize>, bool, bool)>,
}

impl Images {
    pub fn images_ui(&mut self, ui: &mut egui::Ui, view: &mut View) {
        if view.images.is_none() {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            ui.selectable_value(&mut self.certain_first, false, "least certain first");
            ui.selectable_value(&mut self.certain_first, true, "most certain first");
            ui.separator();
            ui.checkbox(&mut self.wrong_only, "misclassified only")
                .on_hover_text("The most certain of them are worth a look: often it is the label that is wrong");
        });
        let (wrong, first) = (self.wrong_only, self.certain_first);
        if self.shown.as_ref().is_none_or(|(_, w, f)| (*w, *f) != (wrong, first)) {
            self.shown = Some((first_images(&view.predictions, wrong, first), wrong, first));
        }
        let Some((rows, ..)) = &self.shown else { return };
        if rows.is_empty() {
            ui.weak(if wrong { "None is misclassified." } else { "No images." });
            return;
        }
        let gap = ui.spacing().item_spacing.x;
        let across = ((ui.available_width() - 14.0) / (SMALL + gap)).floor().max(1.0) as usize;
        let lines = rows.len().div_ceil(across);
        let height = SMALL + 2.0 * ui.text_style_height(&egui::TextStyle::Small) + 6.0;
        let mut chosen = None;
        egui::ScrollArea::vertical().id_salt("sheet").auto_shrink([false, false]).show_rows(
            ui,
            height,
            lines,
            |ui, seen| {
                for line in seen {
                    ui.horizontal_top(|ui| {
                        for &row in rows.iter().skip(line * across).take(across) {
                            ui.allocate_ui_with_layout(
                                egui::vec2(SMALL, height),
                                Layout::top_down(Align::Center),
                                |ui| {
                                    if tile_ui(ui, view, row) {
                                        chosen = Some(row);
                                    }
                                },
                            );
                        }
                    });
                }
            },
        );
        self.chosen = chosen.or(self.chosen);
        self.large_ui(ui.ctx(), view);
    }

    /// The image that was clicked, over the page.
    fn large_ui(&mut self, ctx: &egui::Context, view: &mut View) {
        let Some(row) = self.chosen.filter(|r| *r < view.predictions.table.rows.len()) else { return };
        let shown = egui::Modal::new(egui::Id::unique("image")).show(ctx, |ui| {
            ui.horizontal_top(|ui| {
                if let Some(image) = image(ui, view, row, LARGE) {
                    ui.add(image);
                }
                ui.vertical(|ui| {
                    ui.set_width(240.0);
                    let cells = &view.predictions.table.rows[row];
                    ui.heading(format!("image {}", cells.first().map_or("", String::as_str)));
                    let (named, truth) = view.predictions.named(row);
                    ui.label(format!("named {named}"));
                    if let Some(truth) = truth {
                        let text = format!("true class {truth}");
                        if view.predictions.is_wrong(row) {
                            ui.colored_label(ui.visuals().error_fg_color, text);
                        } else {
                            ui.label(text);
                        }
                    }
                    ui.add_space(4.0);
                    for (name, p) in view.predictions.probabilities(row).into_iter().take(10) {
                        let bar =
                            ProgressBar::new(p as f32).text(format!("{name}  {}", percent(p))).desired_width(230.0);
                        ui.add(bar);
                    }
                });
            });
            ui.add_space(6.0);
            ui.button("Close the image").clicked()
        });
        if shown.inner || shown.should_close() {
            self.chosen = None;
        }
    }
}

fn percent(p: f64) -> String {
    match p {
        // No class is certain.
        p if p > 0.995 && p < 1.0 => format!("{:.2} %", (100.0 * p).min(99.99)),
        p => format!("{:.0} %", 100.0 * p),
    }
}

fn image<'a>(ui: &egui::Ui, view: &mut View, row: usize, side: f32) -> Option<Image<'a>> {
    let predictions = view.predictions.clone();
    let id = predictions.table.rows[row].first().map_or("", String::as_str);
    let (texture, size) = view.images.as_mut()?.fitted(ui.ctx(), row, id, side)?;
    Some(Image::new((texture, size)).alt_text(format!("image {id}")))
}

/// One image with what it was taken for; true when it is clicked.
fn tile_ui(ui: &mut egui::Ui, view: &mut View, row: usize) -> bool {
    let Some(image) = image(ui, view, row, SMALL) else { return false };
    let clicked = ui.add(image.sense(Sense::click())).on_hover_text("Click to enlarge").clicked();
    let (named, truth) = view.predictions.named(row);
    let sure = view.predictions.probabilities(row).first().map_or(String::new(), |(_, p)| format!(" {}", percent(*p)));
    ui.add(Label::new(RichText::new(format!("{named}{sure}")).small()).truncate());
    if let Some(truth) = truth.filter(|_| view.predictions.is_wrong(row)) {
        let text = RichText::new(format!("true: {truth}")).small().color(ui.visuals().error_fg_color);
        ui.add(Label::new(text).truncate());
    }
    clicked
}
