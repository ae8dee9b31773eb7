//! The desktop app: eframe and egui_plot over the same library, recipes and events as the command line. Panels are functions of
//! plain state; training runs on worker threads (`live`), so that the window never waits.

pub mod app;
pub mod bench;
pub mod export;
pub mod panels;
pub mod plots;
pub mod settings;
pub mod theme;

use crate::error::{Error, Result};
use crate::system::install::{Need, how};
use app::{App, Open};
use eframe::egui;
use std::path::PathBuf;

/// How the window is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub open: Option<Open>,
    /// Folder of settings and of the last training; None = the system's place for application data.
    pub home: Option<PathBuf>,
    /// Close by itself once the playground has done so many steps.
    pub close_after: Option<u64>,
}

const ID: &str = "vifo";

/// Points that every page has room in.
const LEAST: egui::Vec2 = egui::vec2(900.0, 600.0);

/// Opens the window; returns when it is closed.
///
/// # Errors
/// `Error::Device` where there is no display or no adapter to draw with: the message names what to install.
pub fn run(options: Options) -> Result<()> {
    let home = options.home.clone().or_else(|| eframe::storage_dir(ID)).unwrap_or_else(|| PathBuf::from(".vifo"));
    std::fs::create_dir_all(&home).map_err(|e| Error::io(&home, "create", &e))?;
    let mut native = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("vifo")
            .with_app_id(ID)
            .with_inner_size([1280.0, 800.0])
            .with_min_inner_size(LEAST),
        persistence_path: Some(home.join("app.ron")),
        ..Default::default()
    };
    if let Ok(icon) = eframe::icon_data::from_png_bytes(include_bytes!("../../assets/icon.png")) {
        native.viewport = native.viewport.with_icon(icon);
    }
    let made = move |cc: &eframe::CreationContext<'_>| -> std::result::Result<Box<dyn eframe::App>, _> {
        let settings = cc.storage.and_then(|s| eframe::get_value(s, eframe::APP_KEY)).unwrap_or_default();
        Ok(Box::new(App::new(&cc.egui_ctx, settings, home, options.open, options.close_after)?))
    };
    eframe::run_native("vifo", native, Box::new(made)).map_err(|e| cannot_open(&e.to_string()))
}

/// Points above and below a window that belong to its title and to the desktop's bar.
const BARS: f32 = 80.0;

/// The least that a window on this monitor may be made, points.
pub fn least_size(monitor: egui::Vec2) -> egui::Vec2 {
    LEAST.min(room(monitor))
}

/// A size that shows the whole window where `inner` is more than the monitor has; None where it fits.
pub fn fitting_size(monitor: egui::Vec2, inner: egui::Vec2) -> Option<egui::Vec2> {
    let size = inner.min(room(monitor));
    (size != inner).then_some(size)
}

fn room(monitor: egui::Vec2) -> egui::Vec2 {
    (monitor - egui::vec2(0.0, BARS)).max(egui::vec2(320.0, 240.0))
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

    /// 1280 x 800 with a title on a screen of that size; scale 2 on 1920 x 1080, which are 960 x 540 points.
    #[test]
    fn bug_11_the_window_and_its_least_size_fit_the_monitor() {
        let small = egui::vec2(1280.0, 800.0);
        assert_eq!(fitting_size(small, small), Some(egui::vec2(1280.0, 720.0)));
        assert_eq!(least_size(small), LEAST);
        let scaled = egui::vec2(960.0, 540.0);
        assert_eq!(least_size(scaled), egui::vec2(900.0, 460.0));
        assert_eq!(fitting_size(scaled, small), Some(egui::vec2(960.0, 460.0)));
        assert_eq!(fitting_size(egui::vec2(2560.0, 1440.0), small), None);
    }

    /// The words of winit 0.30 and wgpu 30.
    #[test]
    fn every_failure_to_open_names_its_own_cure() {
        let said = |found: &str| cannot_open(found).to_string();
        assert!(said("neither WAYLAND_DISPLAY nor WAYLAND_SOCKET nor DISPLAY is set.").contains("vifo fit"));
        assert!(said("Failed to open connection to X server").contains("ssh -X"));
        assert!(said("Failed to load one of xlib's shared libraries").contains("libxcursor1"));
        assert!(said("WGPU error: No suitable graphics adapter found").contains("mesa-vulkan-drivers"));
    }
}
