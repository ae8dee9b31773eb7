//! What the keyboard does on every page.

use super::{App, COPY_IMAGE, EXPORT, OPEN};
use crate::gui::copy::CopyAs;
use crate::gui::panels::controls::{self, Anew};
use crate::gui::settings::Tab;
use crate::live::WorkerState;
use eframe::egui::{self, Key, Modifiers};

impl App {
    /// Keys that work on every page, unless a text is being written.
    pub(super) fn keys(&mut self, ui: &egui::Ui) {
        if ui.input_mut(|i| i.consume_shortcut(&OPEN)) {
            self.settings.tab = Tab::Data;
            self.data.choose_file(ui.ctx());
        }
        if ui.input_mut(|i| i.consume_shortcut(&EXPORT)) {
            self.exports.ask();
        }
        if ui.input_mut(|i| i.consume_shortcut(&COPY_IMAGE)) {
            self.exports.copies.ask(CopyAs::Image);
        }
        let dialog = egui::Popup::is_any_open(ui.ctx()) || self.exports.is_open();
        self.present.keys(ui, dialog, &mut self.settings.tab);
        if ui.egui_wants_keyboard_input() {
            return;
        }
        let pressed = |key: Key| ui.input_mut(|i| i.consume_key(Modifiers::NONE, key));
        let group = match self.settings.tab {
            Tab::SideBySide => self.side.group.as_mut(),
            Tab::Priors => self.priors.group.as_mut(),
            Tab::Data => Some(&mut self.data.group),
            Tab::Playground => Some(&mut self.playground.group),
            // No page that shows no training may change one.
            _ => None,
        };
        let Some(group) = group else { return };
        if pressed(Key::Space) {
            match self.settings.tab {
                Tab::Playground => return self.playground.toggle(),
                _ => {
                    let anew = controls::toggle(group);
                    controls::again(group, anew);
                }
            }
        }
        if group.state == WorkerState::Empty {
            return;
        }
        if pressed(Key::S) {
            group.send(crate::live::Command::Step(1));
        }
        // As the button, which a run folder that its end completes does not have.
        if pressed(Key::R) && !group.kept {
            let anew = Some(Anew::Again { running: group.is_running() });
            match self.settings.tab {
                Tab::Playground => self.playground.begin_anew(anew),
                _ => {
                    controls::again(group, anew);
                }
            }
        }
    }
}
