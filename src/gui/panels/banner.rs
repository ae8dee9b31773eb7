//! What has just happened. The page stays where it is: what was done is told in the bar at the foot, what failed in a box over the
//! page. One message at a time, the newest; older ones come back when it is closed. A success takes the errors before it away.

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

    /// At the right of the bar at the foot: what was done.
    pub fn note_ui(&mut self, ui: &mut egui::Ui) {
        let Some(line) = self.lines.last().filter(|l| l.kind == Kind::Note) else { return };
        let closed = ui.small_button("Close").clicked();
        if ui.small_button("Copy message").clicked() {
            ui.copy_text(line.text.clone());
        }
        if self.lines.len() > 1 {
            ui.weak(format!("{} more", self.lines.len() - 1));
        }
        let width = (0.55 * ui.available_width()).max(80.0);
        let size = egui::vec2(width, ui.available_height());
        ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(RichText::new(&line.text).strong()).truncate()).on_hover_text(&line.text);
        });
        if closed {
            self.lines.pop();
        }
    }

    /// Over the page, `foot` points above the window's lower edge: what failed; all where there is no bar.
    pub fn banner_ui(&mut self, ctx: &egui::Context, foot: f32) {
        let Some(line) = self.lines.last().filter(|l| l.kind == Kind::Error || foot == 0.0) else { return };
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
