//! What can be done with a run of the list: its report and folder, another name, tags and a note, the trash and the way back.

use super::list::Wish;
use crate::base::clock::SystemTime;
use crate::error::Result;
use crate::gui::panels::banner::Banner;
use crate::gui::panels::pick::take_result;
use crate::gui::shell;
use crate::live::Job;
use crate::report::about;
use crate::run::trash::{self, Trashed};
use crate::run::watch::Seen;
use crate::run::{About, RunFolder, place};
use eframe::egui::{self, DragValue, Key, TextEdit};
use std::path::{Path, PathBuf};

/// What the rest of the app is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Open(PathBuf),
    /// For so many epochs more where it has come to its end.
    Resume {
        path: PathBuf,
        more: Option<u32>,
    },
    /// A run folder has another name.
    Moved {
        from: PathBuf,
        to: PathBuf,
    },
}

/// What a job has done.
enum Done {
    Moved { from: PathBuf, to: PathBuf },
    Deleted(Trashed),
    Back(PathBuf),
    Noted,
}

#[derive(Default)]
pub struct Actions {
    dialog: Option<Dialog>,
    job: Option<Job<Done>>,
    opening: Option<Job<()>>,
    /// Why a file did not reach the user.
    failed: Option<crate::error::Error>,
    trash: Trash,
    pub asked: Vec<Asked>,
}

/// Runs that were deleted here, the latest last. What is still in it when the app closes is gone for good.
#[derive(Default)]
struct Trash(Vec<Trashed>);

impl Drop for Trash {
    fn drop(&mut self) {
        self.0.iter().for_each(trash::forget);
    }
}

struct Dialog {
    folder: RunFolder,
    name: String,
    kind: Kind,
}

enum Kind {
    Rename(String),
    About { tags: String, note: String },
    Continue(u32),
}

impl Actions {
    /// Takes in what the jobs have done; true where the folder is to be looked at again.
    pub fn poll(&mut self, ctx: &egui::Context, banner: &mut Banner) -> bool {
        self.failed.take().into_iter().for_each(|e| banner.error(e));
        take_result(&mut self.opening, banner);
        let Some(done) = take_result(&mut self.job, banner) else { return false };
        match done {
            Done::Moved { from, to } => self.asked.push(Asked::Moved { from, to }),
            Done::Deleted(run) => self.trash.0.push(run),
            Done::Back(to) => {
                // Under the name that it had, or beside one that has taken it.
                let run = self.trash.0.pop();
                if run.is_some_and(|run| Some(run.from.as_path()) != Some(to.as_path())) {
                    banner.note(format!("brought back as {}: its name is taken", to.display()));
                }
            }
            Done::Noted => {}
        }
        ctx.request_repaint();
        true
    }

    fn start(&mut self, ctx: &egui::Context, what: &str, work: impl FnOnce() -> Result<Done> + Send + 'static) {
        // One after the other: what the first does decides what the next one finds.
        if self.job.is_none() {
            let wake = ctx.clone();
            self.job = Some(Job::start(what, move || wake.request_repaint(), work));
        }
    }

    pub fn wish(&mut self, ctx: &egui::Context, run: &Seen, wish: Wish) {
        let folder = RunFolder { path: run.path.clone() };
        let path = run.path.clone();
        let kind = match wish {
            Wish::Open => return self.asked.push(Asked::Open(path)),
            Wish::Resume => return self.asked.push(Asked::Resume { path, more: None }),
            Wish::Report => return self.opening = Some(shell::show(ctx, &folder.file("report.html"))),
            Wish::Reveal => return self.opening = Some(shell::show(ctx, &path)),
            Wish::Download => return self.failed = shell::hand_over(&path).err(),
            Wish::Delete => {
                let work = move || trash::delete(&folder, SystemTime::now()).map(Done::Deleted);
                return self.start(ctx, "deleting a run", work);
            }
            Wish::Continue => Kind::Continue(run.epochs.unwrap_or(100).clamp(1, 1_000_000)),
            Wish::Rename => Kind::Rename(run.name.clone()),
            Wish::About => Kind::About { tags: run.about.tags.join(", "), note: run.about.note.clone() },
        };
        self.dialog = Some(Dialog { folder, name: run.name.clone(), kind });
    }

    /// Brings the latest of the deleted back.
    fn undo(&mut self, ctx: &egui::Context) {
        if let Some(run) = self.trash.0.last().cloned() {
            self.start(ctx, "bringing a run back", move || trash::bring_back(&run).map(Done::Back));
        }
    }

    /// What was deleted, with the way back, at the foot of the page. Ctrl-Z does the same.
    pub fn undo_ui(&mut self, ui: &mut egui::Ui) {
        let Some(run) = self.trash.0.last() else { return };
        let more = match self.trash.0.len() {
            1 => String::new(),
            n => format!(" and {} before it", n - 1),
        };
        let text = format!("Deleted {}{more}; it is gone for good when vifo closes.", run.name());
        let undo = egui::KeyboardShortcut::new(egui::Modifiers::COMMAND, Key::Z);
        let mut asked = !ui.egui_wants_keyboard_input() && ui.input_mut(|i| i.consume_shortcut(&undo));
        egui::Panel::bottom("deleted").show(ui, |ui| {
            ui.add_space(2.0);
            ui.horizontal(|ui| {
                asked |= ui.button("Undo").on_hover_text(ui.ctx().format_shortcut(&undo)).clicked();
                ui.add(egui::Label::new(text).truncate());
                if self.job.is_some() {
                    ui.spinner();
                }
            });
            ui.add_space(2.0);
        });
        if asked {
            self.undo(ui.ctx());
        }
    }

    /// The question that is open, over the page.
    pub fn dialog_ui(&mut self, ctx: &egui::Context) {
        let Some(dialog) = &mut self.dialog else { return };
        let mut ended = None;
        let shown = egui::Modal::new(egui::Id::unique("run dialog")).show(ctx, |ui| {
            ui.set_width(420.0);
            ended = dialog.ask_ui(ui);
        });
        let closed = shown.should_close();
        match ended {
            Some(true) => self.confirm(ctx),
            Some(false) => self.dialog = None,
            None if closed => self.dialog = None,
            None => {}
        }
    }

    fn confirm(&mut self, ctx: &egui::Context) {
        let Some(Dialog { folder, kind, .. }) = self.dialog.take() else { return };
        match kind {
            Kind::Continue(more) => self.asked.push(Asked::Resume { path: folder.path, more: Some(more) }),
            Kind::Rename(name) => {
                let work = move || {
                    let to = place::rename(&folder, &name)?;
                    Ok(Done::Moved { from: folder.path, to })
                };
                self.start(ctx, "renaming a run", work);
            }
            Kind::About { tags, note } => {
                let work = move || about::write(&folder, &About::new(&tags, &note)).map(|()| Done::Noted);
                self.start(ctx, "writing a note", work);
            }
        }
    }

    /// Where a path leads after the last renaming, for what is remembered by paths.
    pub fn moved(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.asked.iter().filter_map(|a| match a {
            Asked::Moved { from, to } => Some((from.as_path(), to.as_path())),
            _ => None,
        })
    }
}

impl Dialog {
    /// True when it is confirmed, false when it is given up.
    fn ask_ui(&mut self, ui: &mut egui::Ui) -> Option<bool> {
        let (title, confirm) = match &self.kind {
            Kind::Rename(_) => (format!("Rename {}", self.name), "Rename"),
            Kind::About { .. } => (format!("Tags and note of {}", self.name), "Save"),
            Kind::Continue(_) => (format!("Continue {}", self.name), "Continue"),
        };
        ui.heading(title);
        ui.add_space(4.0);
        let mut enter = false;
        match &mut self.kind {
            Kind::Rename(name) => {
                let field = ui.add(TextEdit::singleline(name).desired_width(f32::INFINITY));
                let field = field.accessible_name("new name");
                enter = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
                focus_once(ui, &field);
            }
            Kind::About { tags, note } => {
                let label = ui.label("tags, with commas between them");
                let field =
                    ui.add(TextEdit::singleline(tags).hint_text("baseline, paper").desired_width(f32::INFINITY));
                focus_once(ui, &field.labelled_by(label.id));
                let label = ui.label("note");
                let field = TextEdit::multiline(note).desired_rows(4).desired_width(f32::INFINITY);
                ui.add(field).labelled_by(label.id);
            }
            Kind::Continue(more) => {
                ui.horizontal(|ui| {
                    let label = ui.label("epochs more");
                    ui.add(DragValue::new(more).range(1..=1_000_000).speed(1.0)).labelled_by(label.id);
                });
                ui.add(egui::Label::new(
                    "Training goes on from the weights that the run ended with, under a schedule of its own, in the same folder. Its \
                     results and figures are made anew at the end.",
                ).wrap());
            }
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let yes = ui.button(confirm).clicked() || enter;
            let no = ui.button("Cancel").clicked();
            match (yes, no) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                _ => None,
            }
        })
        .inner
    }
}

/// The field that a dialog begins with has the keyboard from its first frame on.
fn focus_once(ui: &egui::Ui, field: &egui::Response) {
    let at = field.id.with("asked for");
    if ui.data_mut(|d| !std::mem::replace(d.get_temp_mut_or_default::<bool>(at), true)) {
        field.request_focus();
    }
}
