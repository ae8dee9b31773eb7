//! A path that is typed, or asked for with the system's dialog; and results of jobs, whose errors go to the banner.

use super::banner::Banner;
use crate::gui::shell;
use crate::live::Job;
use crate::system::install::{Need, how};
use eframe::egui::{self, Key, TextEdit};
use std::path::{Path, PathBuf};

/// The job's result, once; an error is shown.
pub fn take_result<T: Send + 'static>(job: &mut Option<Job<T>>, banner: &mut Banner) -> Option<T> {
    let result = job.as_ref()?.poll()?;
    *job = None;
    result.map_err(|e| banner.error(e)).ok()
}

/// A spinner and what is being worked on.
pub fn working_ui<T>(ui: &mut egui::Ui, job: &Option<Job<T>>) {
    if let Some(job) = job {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(&job.what);
        });
    }
}

pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogKind {
    File,
    Folder,
    Save,
}

#[derive(Default)]
pub struct PathPick {
    pub text: String,
    asking: Option<Job<Option<PathBuf>>>,
}

impl PathPick {
    pub fn of(text: &str) -> PathPick {
        PathPick { text: text.into(), asking: None }
    }

    /// As typed, without the blanks and quotes that a copied path brings along; None where nothing is.
    pub fn path(&self) -> Option<PathBuf> {
        let clean: String = self.text.chars().filter(|c| !c.is_control()).collect();
        let text = clean.trim();
        let bare = ['"', '\''].iter().find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q)).unwrap_or(text).trim();
        (!bare.is_empty()).then(|| PathBuf::from(bare))
    }

    pub fn set(&mut self, path: &Path) {
        self.text = path.display().to_string();
    }

    /// Opens the system's dialog; a second one waits for the first to close.
    pub fn ask(&mut self, ctx: &egui::Context, what: DialogKind) {
        if self.asking.is_some() {
            return;
        }
        self.asking = Some(shell::ask(ctx, what, self.path()));
    }

    /// True when the dialog has just given a path.
    pub fn poll(&mut self, banner: &mut Banner) -> bool {
        match take_result(&mut self.asking, banner) {
            Some(Some(path)) => {
                self.set(&path);
                true
            }
            // The library does not distinguish a system without dialogs from a cancelled one.
            Some(None) => {
                banner.tell(format!("no file was chosen; where no dialog opened: {}", how(Need::Dialogs)));
                false
            }
            None => false,
        }
    }

    /// The label and the field, `width` points wide; true when Enter ends it.
    pub fn field_ui(&mut self, ui: &mut egui::Ui, label: &str, hint: &str, width: f32) -> bool {
        let shown = ui.scope(|ui| {
            // Fields below each other begin at one place.
            ui.set_min_width(62.0);
            ui.label(label)
        });
        let field = TextEdit::singleline(&mut self.text).hint_text(hint).desired_width(width.max(60.0));
        let response = ui.add(field).labelled_by(shown.inner.id);
        response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_path_loses_its_wrapping_alone() {
        let path = |text: &str| PathPick::of(text).path();
        assert_eq!(path(" \"/a b/c.csv\"\n"), Some("/a b/c.csv".into()));
        assert_eq!(path("'x.csv'"), Some("x.csv".into()));
        assert_eq!(path("it's.csv"), Some("it's.csv".into()));
        assert_eq!((path("  "), path("\"\"")), (None, None));
    }
}
