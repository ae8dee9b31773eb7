//! The app in a window of its own.

use super::app::App;
use super::gallery::Example;
use super::panels::pick::{DialogKind, file_name};
use super::settings::Settings;
use super::{LEAST, Options};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::live::Job;
use crate::system::install::{Need, how};
use crate::system::opener;
use eframe::egui;
use std::path::{Path, PathBuf};

const ID: &str = "vifo";

/// Opens the window; returns when it is closed.
///
/// # Errors
/// `Error::Device` where there is no display or no adapter to draw with: the message names what to install.
pub fn run(options: Options) -> Result<()> {
    let home = options.home.clone().or_else(|| eframe::storage_dir(ID)).unwrap_or_else(|| PathBuf::from(".vifo"));
    fs::create_dir_all(&home).map_err(|e| Error::io(&home, "create", &e))?;
    let mut native = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("vifo")
            .with_app_id(ID)
            .with_inner_size([1280.0, 800.0])
            .with_min_inner_size(LEAST),
        persistence_path: Some(home.join("app.ron")),
        // Nothing here fades over so wide an area that its steps could be seen.
        dithering: false,
        ..Default::default()
    };
    if let Ok(icon) = eframe::icon_data::from_png_bytes(include_bytes!("../../assets/icon.png")) {
        native.viewport = native.viewport.with_icon(icon);
    }
    let made = move |cc: &eframe::CreationContext<'_>| -> std::result::Result<Box<dyn eframe::App>, _> {
        let settings = cc.storage.and_then(|s| eframe::get_value(s, eframe::APP_KEY)).unwrap_or_else(Settings::first);
        Ok(Box::new(App::new(&cc.egui_ctx, settings, home, options.open, options.close_after)?))
    };
    eframe::run_native("vifo", native, Box::new(made)).map_err(|e| cannot_open(&e.to_string()))
}

/// Whether files reach the user by a download alone.
pub const DOWNLOADS: bool = false;

/// Hands a file or a folder that was written to the user: here it lies where he asked for it.
///
/// # Errors
/// None here.
pub fn hand_over(_path: &Path) -> Result<()> {
    Ok(())
}

/// Whether `show` can open what was written.
pub fn can_show() -> bool {
    opener::is_there()
}

/// Shows a page of HTML in the browser, or a folder in the file manager. The job may wait for it a moment.
pub fn show(ctx: &egui::Context, path: &Path) -> Job<()> {
    let (wake, path) = (ctx.clone(), path.to_path_buf());
    let work = move || opener::open(&fs::absolute(&path).map_err(|e| Error::io(&path, "find", &e))?);
    Job::start("opening", move || wake.request_repaint(), work)
}

/// Where the app is found on the web.
pub fn address() -> Option<String> {
    None
}

/// What was dropped on the window: the first of the files.
pub fn receive(_ctx: &egui::Context, files: Vec<egui::DroppedFileHandle>) -> Job<Option<PathBuf>> {
    Job::done("opening", Ok(files.first().map(|file| file.path().to_path_buf())))
}

/// An example's picture, PNG.
pub fn picture(_ctx: &egui::Context, example: &Example) -> Job<Vec<u8>> {
    Job::done("the picture", Ok(example.picture().to_vec()))
}

/// Opens the system's dialog on a thread of its own. None = it was closed, or there is none.
pub fn ask(ctx: &egui::Context, what: DialogKind, from: Option<PathBuf>) -> Job<Option<PathBuf>> {
    let wake = ctx.clone();
    let work = move || {
        let mut dialog = rfd::FileDialog::new();
        let dir = from.as_deref().and_then(|p| if fs::is_dir(p) { Some(p) } else { p.parent() });
        if let Some(dir) = dir.and_then(|d| fs::absolute(d).ok()).filter(|d| fs::is_dir(d)) {
            dialog = dialog.set_directory(dir);
        }
        Ok(match what {
            DialogKind::File => dialog.pick_file(),
            DialogKind::Folder => dialog.pick_folder(),
            DialogKind::Save => {
                let name = from.as_deref().map_or_else(|| "predictions.csv".into(), file_name);
                dialog.set_file_name(name).save_file()
            }
        })
    };
    Job::start("asking for a path", move || wake.request_repaint(), work)
}

/// What to do about a window that does not open.
fn cannot_open(found: &str) -> Error {
    // winit names the line of its own source first.
    let found = found
        .rsplit_once(".rs:")
        .and_then(|(_, rest)| rest.split_once(": "))
        .map_or(found, |(_, rest)| rest)
        .trim_end_matches('.');
    let lower = found.to_lowercase();
    let help: String = if lower.contains("display") || lower.contains("x server") || lower.contains("wayland_socket") {
        "start it on a desktop, or forward one with `ssh -X`; without a screen use `vifo fit`".into()
    } else if lower.contains("shared librar") || lower.contains("libx") {
        how(Need::X11).to_string()
    } else {
        format!("{}; `vifo doctor` lists adapters", how(Need::Driver))
    };
    Error::device("the window", format!("cannot be opened: {found}"), "", help)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of winit 0.30 and wgpu 30.
    #[test]
    fn every_failure_to_open_names_its_own_cure() {
        let said = |found: &str| cannot_open(found).to_string();
        assert!(said("neither WAYLAND_DISPLAY nor WAYLAND_SOCKET nor DISPLAY is set.").contains("vifo fit"));
        assert!(said("Failed to open connection to X server").contains("ssh -X"));
        assert!(said("Failed to load one of xlib's shared libraries").contains(how(Need::X11)));
        assert!(said("WGPU error: No suitable graphics adapter found").contains(how(Need::Driver)));
    }
}
