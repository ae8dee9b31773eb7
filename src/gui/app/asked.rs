//! What was left at the last start comes back; what a message offers is done.

use super::App;
use crate::error::Cure;
use crate::gui::panels::pick::{DialogKind, take_result};
use crate::gui::settings::Tab;
use crate::gui::shell;
use crate::recipe::Recipe;
use eframe::egui;
use std::path::PathBuf;

impl App {
    /// The pages as they were left.
    pub(super) fn reopen(&mut self, ctx: &egui::Context) {
        if let Some(path) = self.settings.opened.clone().filter(|path| crate::recipe::is_run(path)) {
            self.results.come_back(ctx, &path, self.settings.part, self.settings.rows.clone());
        }
        if let Some(left) = self.settings.data.take() {
            self.data.come_back(ctx, &left);
        }
        self.runs.narrow(&self.settings.filter);
        self.runs.list.order.clone_from(&self.settings.run_order);
        self.runs.tick(&self.settings.ticked);
        self.recipe.edited.clone_from(&self.settings.edited);
        if !self.settings.tour_seen {
            self.settings.tab = self.tour.begin();
        }
    }

    /// What the button of a message asks for.
    pub(super) fn cure(&mut self, ctx: &egui::Context, cure: Cure) {
        match cure {
            Cure::Set { key, value } if self.settings.tab == Tab::Data => self.data.cure(ctx, &key, &value),
            Cure::Set { key, value } => {
                if let Err(e) = self.playground.set(&key, &value) {
                    self.banner.error(e);
                }
            }
            Cure::RunsFolder => {
                self.choosing = Some(shell::ask(ctx, DialogKind::Folder, Some(self.settings.runs.clone())));
            }
        }
    }

    /// Once the window knows its monitor: neither its size nor the least of it may be more than the monitor has.
    pub(super) fn fit_to_monitor(&mut self, ctx: &egui::Context) {
        if self.fitted {
            return;
        }
        let (monitor, inner) = ctx.input(|i| (i.viewport().monitor_size, i.viewport().inner_rect.map(|r| r.size())));
        let Some(monitor) = monitor else { return };
        self.fitted = true;
        ctx.send_viewport_cmd(egui::ViewportCommand::MinInnerSize(crate::gui::least_size(monitor)));
        if let Some(size) = inner.and_then(|inner| crate::gui::fitting_size(monitor, inner)) {
            ctx.send_viewport_cmd(egui::ViewportCommand::InnerSize(size));
        }
    }

    /// Files that are dropped on the window are opened once they are there.
    pub(super) fn dropped(&mut self, ui: &egui::Ui) {
        let files = ui.input(|i| i.raw.dropped_files.clone());
        if !files.is_empty() {
            self.receiving = Some(shell::receive(ui.ctx(), files));
        }
        if let Some(Some(path)) = take_result(&mut self.receiving, &mut self.banner) {
            self.open_path(ui.ctx(), path);
        }
    }

    /// A recipe goes to the playground, a run folder to the results, everything else is data.
    pub(super) fn open_path(&mut self, ctx: &egui::Context, path: PathBuf) {
        if path.extension().is_some_and(|e| e == "toml") {
            match Recipe::read(&path).and_then(|t| crate::method::checked(&t, &path.display().to_string())) {
                Ok(recipe) => {
                    self.playground.take_recipe(recipe);
                    self.settings.tab = Tab::Playground;
                }
                Err(e) => self.banner.error(e),
            }
        } else if crate::recipe::is_run(&path) {
            self.results.open(ctx, &path);
            self.settings.tab = Tab::Results;
        } else {
            self.data.open(ctx, &path);
            self.settings.tab = Tab::Data;
        }
    }
}
