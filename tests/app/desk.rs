//! The app on a desk of its own: without a window, in a folder that goes with it.

use eframe::egui;
use egui_kittest::Harness;
use std::time::{Duration, Instant};
use vifo::gui::app::{App, Open};
use vifo::gui::settings::Settings;

pub struct Desk {
    pub app: Option<App>,
    pub settings: Settings,
    pub open: Option<Open>,
    pub home: tempfile::TempDir,
}

pub type Bench = Harness<'static, Desk>;

pub fn desk(settings: Settings, open: Option<Open>) -> Desk {
    Desk { app: None, settings, open, home: tempfile::tempdir().expect("a folder") }
}

pub fn frame(ui: &mut egui::Ui, desk: &mut Desk) {
    let ctx = ui.ctx().clone();
    let app = desk.app.get_or_insert_with(|| {
        App::new(&ctx, desk.settings.clone(), desk.home.path().into(), desk.open.clone(), None).expect("an app")
    });
    app.logic(&ctx);
    app.show(ui);
}

pub fn sized(settings: Settings, open: Option<Open>, size: [f32; 2]) -> Bench {
    Harness::builder().with_size(size).with_max_steps(40).build_ui_state(frame, desk(settings, open))
}

pub fn bench(settings: Settings, open: Option<Open>) -> Bench {
    sized(settings, open, [1280.0, 800.0])
}

pub fn app(h: &mut Bench) -> &mut App {
    h.state_mut().app.as_mut().expect("after a frame")
}

/// Frames until `done`, or fails.
pub fn wait(h: &mut Bench, what: &str, done: impl Fn(&App) -> bool) {
    let began = Instant::now();
    loop {
        h.step();
        let app = app(h);
        if done(app) {
            return;
        }
        let texts: Vec<&str> = app.banner.texts().collect();
        let state = app.playground.group.state;
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}; {texts:?}; {state:?}");
        std::thread::sleep(Duration::from_millis(4));
    }
}
