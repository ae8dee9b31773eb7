//! What takes a training or its plot out of the app: links, copies, files, and the plot alone on the screen.

use super::{App, COPY_IMAGE, EXPORT};
use crate::error::{Error, Result};
use crate::gui::copy::CopyAs;
use crate::gui::settings::Tab;
use crate::gui::{link, shell};
use eframe::egui;

impl App {
    /// The plot of the page in front, or the playground's, alone.
    pub fn present(&mut self, ctx: &egui::Context) {
        self.present.begin(ctx, &mut self.settings.tab);
    }

    pub fn is_presenting(&self) -> bool {
        self.present.is_on()
    }

    pub(super) fn present_ui(&mut self, ui: &mut egui::Ui) {
        self.present.zoom(ui.ctx());
        self.banner.banner_ui(ui.ctx(), 0.0);
        let mut leave = false;
        egui::CentralPanel::default().show(ui, |ui| match self.settings.tab {
            Tab::SideBySide => self.side.present_ui(ui, &mut self.settings, &mut leave),
            _ => self.playground.present_ui(ui, &mut self.settings, &mut leave),
        });
        match self.settings.tab {
            Tab::SideBySide => self.side.offer(&self.settings, &mut self.exports),
            _ => self.playground.offer(&self.settings, &mut self.exports),
        }
        self.exports.dialog_ui(ui, &mut self.banner);
        if leave {
            self.present.end(ui.ctx(), &mut self.settings.tab);
        }
        self.frames += 1;
    }

    /// What takes the plot in front out of the app.
    pub(super) fn share_ui(&mut self, ui: &mut egui::Ui) {
        let ctx = ui.ctx().clone();
        ui.menu_button("Show", |ui| {
            let mut item = |name: &str, keys: &str, tip: &str| {
                ui.add(egui::Button::new(name).shortcut_text(keys)).on_hover_text(tip).clicked()
            };
            if item("Present", if shell::DOWNLOADS { "" } else { "F5" }, "The plot alone, in large type") {
                self.present(&ctx);
            }
            if item("Copy image", &ctx.format_shortcut(&COPY_IMAGE), "The page's first plot, for a slide or a message")
            {
                self.exports.copies.ask(CopyAs::Image);
            }
            if item("Copy data", "", "The numbers of the page's first plot, as CSV") {
                self.exports.copies.ask(CopyAs::Data);
            }
            if item("Export plots…", &ctx.format_shortcut(&EXPORT), "Every plot of the page as PNG, SVG and CSV") {
                self.exports.ask();
            }
            if item("Animation…", "", "Of the training, or of a sweep of eta, as GIF or PNG") {
                self.exports.films.ask();
            }
        })
        .response
        .on_hover_text("Present, copy or export what is on this page");
    }

    pub(super) fn copy_link(&mut self, ctx: &egui::Context) {
        let data = &self.playground.draft.data;
        if data.file.is_some() || data.images.is_some() {
            let help = "share the run's folder, or points and toys by a link";
            return self.banner.error(Error::usage(
                "Copy link",
                "this training reads a file, which a link does not carry",
                "",
                help,
            ));
        }
        self.copy(ctx, link::fragment(&self.playground.draft, self.settings.tab, false));
    }

    pub(super) fn copy(&mut self, ctx: &egui::Context, fragment: Result<String>) {
        match fragment {
            Ok(fragment) => {
                let page = shell::address();
                self.banner.note(match page {
                    Some(_) => "link copied",
                    None => "link copied: paste it on the page Recipe, or behind the address of a page that shows vifo",
                });
                ctx.copy_text(page.unwrap_or_default() + &fragment);
            }
            Err(e) => self.banner.error(e),
        }
    }
}
