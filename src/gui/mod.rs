//! The desktop app: eframe and egui_plot over the same library, recipes and events as the command line. Panels are functions of
//! plain state; training runs on worker threads (`live`), so that the window never waits.

pub mod app;
pub mod bench;
/// A camera is a program of the window alone.
#[cfg_attr(target_arch = "wasm32", path = "web/camera.rs")]
pub mod camera;
pub mod copy;
pub mod export;
pub mod film;
pub mod gallery;
pub mod link;
pub mod panels;
pub mod plots;
mod present;
pub mod settings;
/// What a window does in its own way and a page in another: opening, dialogs, files for the user.
#[cfg_attr(target_arch = "wasm32", path = "web/mod.rs")]
pub mod shell;
pub mod theme;
pub mod undo;

use app::Open;
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

/// Points that every page has room in.
const LEAST: egui::Vec2 = egui::vec2(900.0, 600.0);

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
}
