//! The app on a page: the canvas named `vifo`. Training takes turns with the frames; files lie in memory and in the browser's
//! storage, and never leave the computer.

mod beside;
mod files;
mod test;
mod zip;

pub use files::{ask, hand_over, picture, receive, show};

use super::app::App;
use super::link;
use super::settings::Settings;
use crate::base::fs::Mirror;
use eframe::egui;
use std::path::PathBuf;
use wasm_bindgen::JsCast;

/// Whether files reach the user by a download alone.
pub const DOWNLOADS: bool = true;

/// What was written has been downloaded.
pub fn can_show() -> bool {
    false
}

/// Where the app keeps its last training.
const HOME: &str = "/home";

/// The app, and what tests read of it.
struct Page(App);

impl eframe::App for Page {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        files::trouble().into_iter().for_each(|e| self.0.banner.error(e));
        test::obey(&mut self.0, ctx);
        eframe::App::logic(&mut self.0, ctx, frame);
    }
    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        eframe::App::ui(&mut self.0, ui, frame);
        test::note(&self.0);
    }
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        eframe::App::clear_color(&self.0, visuals)
    }
    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        self.0.save(storage);
    }
    /// A page may be closed at any time.
    fn auto_save_interval(&self) -> std::time::Duration {
        std::time::Duration::from_secs(2)
    }
}

fn location() -> Option<web_sys::Location> {
    Some(web_sys::window()?.location())
}

/// What stands behind the "#" of the page's address.
fn hash() -> Option<String> {
    location()?.hash().ok().filter(|hash| hash.len() > 1)
}

/// The page's address without it.
pub fn address() -> Option<String> {
    let href = location()?.href().ok()?;
    Some(href.split('#').next().unwrap_or_default().to_string())
}

/// What to do where the page has nothing to draw with.
fn no_canvas(why: &str) -> String {
    format!(
        "vifo could not start: {why}. It draws with WebGL: allow it in the browser's settings, or use another browser."
    )
}

/// Starts the app on the page's canvas, with what its address asks for.
pub fn start() {
    console_error_panic_hook::set_once();
    if web_sys::window().is_none() {
        // In a worker, which `beside` drives.
        return;
    }
    wasm_bindgen_futures::spawn_local(async {
        let storage = Mirror::new();
        let kept = files::load(&storage).await;
        let document = web_sys::window().and_then(|w| w.document());
        let element = |id: &str| document.as_ref().and_then(|d| d.get_element_by_id(id));
        let Some(canvas) = element("vifo").and_then(|e| e.dyn_into::<web_sys::HtmlCanvasElement>().ok()) else {
            return;
        };
        let made = move |cc: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App>, _> {
            let settings =
                cc.storage.and_then(|s| eframe::get_value(s, eframe::APP_KEY)).unwrap_or_else(Settings::first);
            let asked = hash().map(|hash| link::open(&hash)).transpose();
            let open = asked.as_ref().ok().cloned().flatten();
            let mut app = App::new(&cc.egui_ctx, settings, PathBuf::from(HOME), open, None)?;
            for e in [kept.err(), asked.err()].into_iter().flatten() {
                app.banner.error(e);
            }
            files::keep(storage);
            Ok(Box::new(Page(app)) as Box<dyn eframe::App>)
        };
        let started = eframe::WebRunner::new().start(canvas, eframe::WebOptions::default(), Box::new(made)).await;
        if let Some(words) = element("loading") {
            match started {
                Ok(()) => words.remove(),
                Err(e) => words.set_text_content(Some(&no_canvas(&files::words(&e)))),
            }
        }
    });
}
