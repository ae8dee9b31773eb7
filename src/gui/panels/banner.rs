//! Errors and notes above the page: they stay until they are closed, and can be copied.

use crate::error::Error;
use crate::live::Group;
use eframe::egui::{self, Color32, RichText};

#[derive(Default)]
pub struct Banner {
    lines: Vec<(Kind, String)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Error,
    Note,
}

/// Older ones go first.
const MOST: usize = 3;

impl Banner {
    pub fn error(&mut self, e: Error) {
        self.push(Kind::Error, e.to_string());
    }

    /// Takes in the messages of a group of trainings, errors included.
    pub fn follow(&mut self, group: &mut Group) {
        group.poll();
        group.errors.drain(..).for_each(|e| self.error(e));
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.push(Kind::Note, text.into());
    }

    fn push(&mut self, kind: Kind, text: String) {
        self.lines.retain(|l| l.1 != text);
        self.lines.push((kind, text));
        if self.lines.len() > MOST {
            self.lines.remove(0);
        }
    }

    /// Texts that are shown, oldest first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|l| l.1.as_str())
    }

    pub fn banner_ui(&mut self, ui: &mut egui::Ui) {
        if self.lines.is_empty() {
            return;
        }
        let dark = ui.visuals().dark_mode;
        let mut closed = None;
        egui::Panel::top("banner").show(ui, |ui| {
            for (i, (kind, text)) in self.lines.iter().enumerate() {
                let fill = match (kind, dark) {
                    (Kind::Error, false) => Color32::from_rgb(0xfb, 0xe3, 0xd6),
                    (Kind::Error, true) => Color32::from_rgb(0x55, 0x2a, 0x10),
                    (Kind::Note, false) => Color32::from_rgb(0xdf, 0xee, 0xf8),
                    (Kind::Note, true) => Color32::from_rgb(0x12, 0x38, 0x52),
                };
                egui::Frame::NONE.fill(fill).inner_margin(6).corner_radius(4).show(ui, |ui| {
                    ui.horizontal(|ui| {
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            // Two lines may show at once: names must differ for screen readers.
                            let nth = if i == 0 { String::new() } else { format!(" {}", i + 1) };
                            if ui.button(format!("Close{nth}")).clicked() {
                                closed = Some(i);
                            }
                            if ui.button(format!("Copy message{nth}")).clicked() {
                                ui.copy_text(text.clone());
                            }
                            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                                if *kind == Kind::Error {
                                    ui.label(RichText::new("Error").strong());
                                }
                                ui.add(egui::Label::new(text).wrap());
                            });
                        });
                    });
                });
            }
        });
        if let Some(i) = closed {
            self.lines.remove(i);
        }
    }
}
