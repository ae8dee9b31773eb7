//! What has just happened, in a box over the foot of the page, which stays where it is: one message at a time, the newest; older
//! ones come back when it is closed. A success takes the errors before it away. Each stays until then and can be copied.

use super::cure;
use crate::error::{Cure, Error};
use crate::live::Group;
use eframe::egui::{self, Align, Align2, Color32, Label, Layout, RichText};

#[derive(Default)]
pub struct Banner {
    lines: Vec<Line>,
    asked: Option<Cure>,
}

struct Line {
    kind: Kind,
    text: String,
    /// A button for each.
    cures: Vec<Cure>,
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
        self.push(Line { kind: Kind::Error, text: e.to_string(), cures: e.cures().to_vec() });
    }

    /// Takes in the messages of a group of trainings, errors included.
    pub fn follow(&mut self, group: &mut Group) {
        group.poll();
        group.errors.drain(..).for_each(|e| self.error(e));
    }

    /// Something was done as asked, and this is it.
    pub fn note(&mut self, text: impl Into<String>) {
        self.settled();
        self.tell(text);
    }

    /// Something to know which is no success.
    pub fn tell(&mut self, text: impl Into<String>) {
        self.lines.retain(|l| l.kind == Kind::Error);
        self.push(Line { kind: Kind::Note, text: text.into(), cures: vec![] });
    }

    /// Something was done as asked: what failed before is history.
    pub fn settled(&mut self) {
        self.lines.retain(|l| l.kind == Kind::Note);
    }

    fn push(&mut self, line: Line) {
        self.lines.retain(|l| l.text != line.text);
        self.lines.push(line);
        if self.lines.len() > MOST {
            self.lines.remove(0);
        }
    }

    /// Texts that are shown or wait behind the one that is, oldest first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|l| l.text.as_str())
    }

    /// What the button of a message asks for, once.
    pub fn take_asked(&mut self) -> Option<Cure> {
        self.asked.take()
    }

    /// `foot` points from the window's lower edge.
    pub fn banner_ui(&mut self, ctx: &egui::Context, foot: f32) {
        let Some(line) = self.lines.last() else { return };
        let width = (ctx.content_rect().width() - 24.0).min(720.0);
        let area = egui::Area::new(egui::Id::unique("banner")).order(egui::Order::Foreground);
        let closed = area
            .anchor(Align2::RIGHT_BOTTOM, [-10.0, -foot - 8.0])
            .show(ctx, |ui| {
                let fill = ground(line.kind, ui.visuals().dark_mode);
                let stroke = ui.visuals().window_stroke;
                let frame = egui::Frame::NONE.fill(fill).stroke(stroke).inner_margin(8).corner_radius(6);
                frame.show(ui, |ui| {
                    ui.set_width(width - 16.0);
                    line_ui(ui, line, self.lines.len() - 1, &mut self.asked)
                })
            })
            .inner
            .inner;
        if closed || self.asked.is_some() {
            self.lines.pop();
        }
    }
}

/// True when it is closed.
fn line_ui(ui: &mut egui::Ui, line: &Line, behind: usize, asked: &mut Option<Cure>) -> bool {
    let text = match line.kind {
        Kind::Error => RichText::new(format!("⚠ {}", line.text)),
        Kind::Note => RichText::new(&line.text),
    };
    egui::ScrollArea::vertical().id_salt("message").max_height(90.0).show(ui, |ui| {
        ui.add(Label::new(text).wrap());
    });
    ui.horizontal(|ui| {
        for cure in &line.cures {
            if ui.button(cure::button(cure)).on_hover_text(cure::tip(cure)).clicked() {
                *asked = Some(cure.clone());
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let closed = ui.button("Close").clicked();
            if ui.button("Copy message").clicked() {
                ui.copy_text(line.text.clone());
            }
            if behind > 0 {
                ui.weak(format!("{behind} more"));
            }
            closed
        })
        .inner
    })
    .inner
}

fn ground(kind: Kind, dark: bool) -> Color32 {
    match (kind, dark) {
        (Kind::Error, false) => Color32::from_rgb(0xfb, 0xe3, 0xd6),
        (Kind::Error, true) => Color32::from_rgb(0x55, 0x2a, 0x10),
        (Kind::Note, false) => Color32::from_rgb(0xdf, 0xee, 0xf8),
        (Kind::Note, true) => Color32::from_rgb(0x12, 0x38, 0x52),
    }
}
