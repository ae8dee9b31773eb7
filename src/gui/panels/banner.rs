//! What has just happened. The page stays where it is: what was done is told in the bar at the foot, what failed in a box over the
//! page. One message at a time, the newest; older ones come back when it is closed. A success takes the errors before it away.

use super::cure;
use crate::base::clock::{Duration, Instant};
use crate::error::{Cure, Error};
use crate::gui::shell;
use crate::live::{Group, Job};
use eframe::egui::{self, Align, Align2, Color32, Label, Layout, RichText};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub struct Banner {
    lines: Vec<Line>,
    asked: Option<Cure>,
    /// A file or a folder that is being opened outside.
    opening: Option<Job<()>>,
}

struct Line {
    kind: Kind,
    text: String,
    /// A button for each.
    cures: Vec<Cure>,
    /// What was written, to be opened.
    files: Vec<PathBuf>,
    told: Instant,
    /// It goes by itself: whoever asked for something sees that it was done.
    passes: bool,
}

/// So long a success is told.
const STAYS: Duration = Duration::from_secs(20);
/// One that was told just now belongs to the page that has just been opened.
const SEEN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Error,
    Note,
}

/// Older ones go first.
const MOST: usize = 3;

impl Banner {
    pub fn error(&mut self, e: Error) {
        self.push(Line { cures: e.cures().to_vec(), ..Line::new(Kind::Error, e.to_string()) });
    }

    /// Takes in the messages of a group of trainings, errors included.
    pub fn follow(&mut self, group: &mut Group) {
        group.poll();
        group.errors.drain(..).for_each(|e| self.error(e));
    }

    /// Something was done as asked, and this is it.
    pub fn note(&mut self, text: impl Into<String>) {
        self.add_note(Line { passes: true, ..Line::new(Kind::Note, text) });
    }

    /// These files were written as asked.
    pub fn exported(&mut self, files: Vec<PathBuf>) {
        let names = files.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
        self.add_note(Line { passes: true, files, ..Line::new(Kind::Note, format!("exported {names}")) });
    }

    fn add_note(&mut self, line: Line) {
        self.settled();
        self.lines.retain(|l| l.kind == Kind::Error);
        self.push(line);
    }

    /// Takes away what has been told long enough, and on a page that was `left` what was told there.
    pub fn fade(&mut self, ctx: &egui::Context, left: bool) {
        let least = if left { SEEN } else { STAYS };
        self.lines.retain(|l| !l.passes || l.told.elapsed() < least);
        if self.lines.iter().any(|l| l.passes) {
            ctx.request_repaint_after(Duration::from_secs(1));
        }
        match self.opening.as_ref().and_then(Job::poll) {
            None => return,
            Some(Ok(())) => {}
            Some(Err(e)) => self.error(e),
        }
        self.opening = None;
    }

    /// Something to know which is no success.
    pub fn tell(&mut self, text: impl Into<String>) {
        self.lines.retain(|l| l.kind == Kind::Error);
        self.push(Line::new(Kind::Note, text));
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
        let opened = files_ui(ui, &line.files);
        if self.lines.len() > 1 {
            ui.weak(format!("{} more", self.lines.len() - 1));
        }
        let width = (0.55 * ui.available_width()).max(80.0);
        let size = egui::vec2(width, ui.available_height());
        ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(RichText::new(&line.text).strong()).truncate()).on_hover_text(&line.text);
        });
        if let Some(path) = opened {
            self.opening = Some(shell::show(ui.ctx(), &path));
        }
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

impl Line {
    fn new(kind: Kind, text: impl Into<String>) -> Line {
        Line { kind, text: text.into(), cures: vec![], files: vec![], told: Instant::now(), passes: false }
    }
}

/// What of the files that were written is to be opened: one by itself, several in their folder. In a row from the right.
fn files_ui(ui: &mut egui::Ui, files: &[PathBuf]) -> Option<PathBuf> {
    let first = files.first().filter(|_| shell::can_show())?;
    let folder = first.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut opened = None;
    if ui.small_button("Show in folder").on_hover_text(folder.display().to_string()).clicked() {
        opened = Some(folder.to_path_buf());
    }
    if files.len() == 1 && ui.small_button("Open").on_hover_text("With the system's program for it").clicked() {
        opened = Some(first.clone());
    }
    opened
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_goes_by_itself_and_with_its_page_and_all_else_stays() {
        let ctx = egui::Context::default();
        let mut banner = Banner::default();
        let texts = |banner: &Banner| banner.texts().map(String::from).collect::<Vec<_>>();
        banner.tell("another window has the last session");
        banner.fade(&ctx, true);
        assert_eq!(texts(&banner), ["another window has the last session"]);
        let later = |banner: &mut Banner, by: Duration| {
            banner
                .lines
                .iter_mut()
                .for_each(|l| l.told = l.told.checked_sub(by).expect("a computer that is on for a minute"));
        };
        for (by, left, stays) in [(STAYS / 2, false, true), (STAYS, false, false), (SEEN, true, false)] {
            banner.exported(vec!["figures/band.gif".into()]);
            assert_eq!(texts(&banner), ["exported figures/band.gif"]);
            banner.fade(&ctx, true);
            assert_eq!(texts(&banner).len(), 1, "it was told on the page that is opened");
            later(&mut banner, by);
            banner.fade(&ctx, left);
            assert_eq!(!texts(&banner).is_empty(), stays, "{by:?}");
            banner.error(Error::run("a", "failed", "try again"));
            later(&mut banner, 2 * STAYS);
            banner.fade(&ctx, true);
            assert_eq!(texts(&banner).len(), 1, "an error stays");
        }
    }
}
