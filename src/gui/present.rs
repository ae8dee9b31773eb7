//! A plot alone on the screen, in large type: for a lecture, a poster, a projector. F5 or a button begins it, Esc ends it.

use super::panels::controls::{Anew, state_text, toggle};
use super::settings::Tab;
use super::shell;
use crate::live::{Group, WorkerState};
use eframe::egui::{self, Key, Modifiers};

#[derive(Default)]
pub struct Present {
    /// The zoom and the page to go back to, while a plot is presented.
    before: Option<(f32, Tab)>,
}

/// What a plot is drawn for; a larger screen shows the same, larger.
const STAGE: egui::Vec2 = egui::vec2(760.0, 470.0);

impl Present {
    pub fn is_on(&self) -> bool {
        self.before.is_some()
    }

    /// Of the pages that have a plot to present, the one for `tab`.
    fn tab(tab: Tab) -> Tab {
        match tab {
            Tab::SideBySide => tab,
            _ => Tab::Playground,
        }
    }

    /// Of the page `tab`, or of the one that is presented in its place.
    pub fn begin(&mut self, ctx: &egui::Context, tab: &mut Tab) {
        if self.is_on() {
            return;
        }
        let before = ctx.zoom_factor();
        self.before = Some((before, *tab));
        *tab = Present::tab(*tab);
        ctx.set_zoom_factor(before.max(fitting(ctx.content_rect().size() * before)));
        // A page has the browser's own key for that, F11.
        if !shell::DOWNLOADS {
            ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(true));
        }
    }

    pub fn end(&mut self, ctx: &egui::Context, tab: &mut Tab) {
        let Some((zoom, from)) = self.before.take() else { return };
        *tab = from;
        ctx.set_zoom_factor(zoom);
        if !shell::DOWNLOADS {
            ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(false));
        }
    }

    /// F5 begins; Esc ends, unless it closes a dialog.
    pub fn keys(&mut self, ui: &egui::Ui, dialog: bool, tab: &mut Tab) {
        // A browser loads its page again.
        let begins = !shell::DOWNLOADS && ui.input_mut(|i| i.consume_key(Modifiers::NONE, Key::F5));
        if begins && !self.is_on() {
            self.begin(ui.ctx(), tab);
        } else if self.is_on() && (begins || !dialog && ui.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Escape))) {
            self.end(ui.ctx(), tab);
        }
    }

    /// As large as the window allows, which may have become the whole screen.
    pub fn zoom(&self, ctx: &egui::Context) {
        let (Some((before, _)), Some(size)) = (self.before, window_size(ctx)) else { return };
        let zoom = before.max(fitting(size));
        if (zoom - ctx.zoom_factor()).abs() > 0.01 {
            ctx.set_zoom_factor(zoom);
        }
    }
}

/// Of the window, in points without zoom; None where there is no window. By what this frame is laid out for, and the scale that it is
/// laid out with: a zoom that is set holds from the next frame on, and what the system tells of the window is of one before.
fn window_size(ctx: &egui::Context) -> Option<egui::Vec2> {
    let is_window = shell::DOWNLOADS || ctx.input(|i| i.viewport().inner_rect.is_some());
    let native = ctx.native_pixels_per_point().unwrap_or(1.0);
    is_window.then(|| ctx.content_rect().size() * ctx.pixels_per_point() / native)
}

/// Steps of a tenth: a window that is drawn larger must not be laid out anew for every pixel.
fn fitting(size: egui::Vec2) -> f32 {
    let fits = (size.x / STAGE.x).min(size.y / STAGE.y).clamp(1.0, 4.0);
    (fits * 10.0).floor() / 10.0
}

/// Start or pause, the step, and the way out; and what is left to the owner.
pub fn head_ui(ui: &mut egui::Ui, group: &mut Group, what: &str, leave: &mut bool) -> Option<Anew> {
    let mut anew = None;
    ui.horizontal(|ui| {
        // Whatever there is to say, the way out stays in sight, and the plot as wide as the window.
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            *leave |= ui.small_button("Leave").on_hover_text("Back to the page (Esc)").clicked();
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                let name = if group.state == WorkerState::Running { "Pause" } else { "Start" };
                let button = egui::Button::new(name).min_size(egui::vec2(64.0, 24.0));
                if ui.add_enabled(!group.is_starting(), button).clicked() {
                    anew = toggle(group);
                }
                let state = format!("{}, step {}", state_text(group), group.step());
                let text = if what.is_empty() { state } else { format!("{what} · {state}") };
                ui.add(egui::Label::new(text).truncate());
            });
        });
    });
    anew
}
