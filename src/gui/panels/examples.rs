//! The page Examples: guided examples as cards, each with its picture, three sentences, and one thing to try.

use crate::gui::gallery::{EXAMPLES, Example};
use crate::gui::shell;
use crate::live::Job;
use eframe::egui::{self, Label, RichText, TextureHandle, Vec2};

/// Points of a picture on its card, half of its pixels.
const PICTURE: Vec2 = Vec2::new(240.0, 150.0);
const GAP: f32 = 12.0;

#[derive(Default)]
pub struct ExamplesPage {
    /// One for each example, from the first time that the page is in front.
    pictures: Vec<Picture>,
}

enum Picture {
    Coming(Job<Vec<u8>>),
    Here(TextureHandle),
    /// It could not be fetched: the card says what there is to say without it.
    Missing,
}

/// What was clicked.
pub enum Chosen {
    Open(&'static Example),
    CopyLink(&'static Example),
}

impl ExamplesPage {
    pub fn examples_ui(&mut self, ui: &mut egui::Ui) -> Option<Chosen> {
        if self.pictures.is_empty() {
            self.pictures = EXAMPLES.iter().map(|e| Picture::Coming(shell::picture(ui.ctx(), e))).collect();
        }
        for (example, picture) in EXAMPLES.iter().zip(&mut self.pictures) {
            picture.take(ui.ctx(), example);
        }
        let mut chosen = None;
        egui::CentralPanel::default().show(ui, |ui| {
            ui.label("Ten pictures of uncertainty. Open one: it trains from the beginning while you watch, and all of it can be changed.");
            ui.add_space(4.0);
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                // Wide cards have the text beside the picture, narrow ones below it.
                let columns = ((ui.available_width() + GAP) / (470.0 + GAP)).floor().max(1.0);
                let width = ((ui.available_width() - GAP * (columns - 1.0)) / columns).min(760.0) - 18.0;
                let cards: Vec<_> = EXAMPLES.iter().zip(&self.pictures).collect();
                for row in cards.chunks(columns as usize) {
                    ui.horizontal_top(|ui| {
                        ui.spacing_mut().item_spacing.x = GAP;
                        for (example, picture) in row {
                            chosen = chosen.take().or(card_ui(ui, example, picture, width));
                        }
                    });
                }
            });
        });
        chosen
    }
}

impl Picture {
    fn take(&mut self, ctx: &egui::Context, example: &Example) {
        let Picture::Coming(job) = self else { return };
        let Some(bytes) = job.poll() else { return };
        let image = bytes.ok().and_then(|bytes| image::load_from_memory(&bytes).ok());
        *self = image.map_or(Picture::Missing, |image| {
            let image = image.to_rgba8();
            let size = [image.width() as usize, image.height() as usize];
            let pixels = egui::ColorImage::from_rgba_unmultiplied(size, image.as_raw());
            Picture::Here(ctx.load_texture(format!("example {}", example.name), pixels, egui::TextureOptions::LINEAR))
        });
    }

    /// Its place is the same before it is there.
    fn ui(&self, ui: &mut egui::Ui, example: &Example) -> egui::Response {
        let click = egui::Sense::click();
        match self {
            Picture::Here(texture) => {
                ui.add(egui::Image::new((texture.id(), PICTURE)).sense(click).alt_text(&example.title))
            }
            Picture::Coming(_) | Picture::Missing => {
                let (place, response) = ui.allocate_exact_size(PICTURE, click);
                ui.painter().rect_filled(place, 2.0, ui.visuals().faint_bg_color);
                response
            }
        }
    }
}

fn card_ui(ui: &mut egui::Ui, example: &'static Example, picture: &Picture, width: f32) -> Option<Chosen> {
    let mut chosen = None;
    let is_narrow = width < 1.8 * PICTURE.x;
    let words = |ui: &mut egui::Ui, chosen: &mut Option<Chosen>| {
        ui.strong(RichText::new(&example.title).size(15.0));
        ui.add(Label::new(&example.text).wrap());
        ui.add(Label::new(RichText::new(format!("Try: {}", example.task)).weak()).wrap());
        ui.horizontal(|ui| {
            let open = ui.button("Open").on_hover_text("Trains it from the beginning");
            open.widget_info(|| {
                let name = format!("Open {}", example.title);
                egui::WidgetInfo::labeled(egui::Role::Button, true, name)
            });
            if open.clicked() {
                *chosen = Some(Chosen::Open(example));
            }
            if ui.small_button("Copy link").on_hover_text("An address that opens this example").clicked() {
                *chosen = Some(Chosen::CopyLink(example));
            }
        });
    };
    egui::Frame::group(ui.style()).show(ui, |ui| {
        ui.set_width(width);
        ui.set_min_height(PICTURE.y);
        if is_narrow {
            ui.vertical(|ui| {
                if picture.ui(ui, example).clicked() {
                    chosen = Some(Chosen::Open(example));
                }
                words(ui, &mut chosen);
            });
        } else {
            ui.horizontal_top(|ui| {
                if picture.ui(ui, example).clicked() {
                    chosen = Some(Chosen::Open(example));
                }
                ui.vertical(|ui| words(ui, &mut chosen));
            });
        }
    });
    chosen
}
