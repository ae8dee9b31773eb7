//! Results of a run.

use super::banner::Banner;
use crate::gui::export::Exports;
use eframe::egui;
use std::path::Path;

#[derive(Default)]
pub struct ResultsPage {}

impl ResultsPage {
    /// Reads a run folder.
    pub fn open(&mut self, _ctx: &egui::Context, _path: &Path) {}

    pub fn poll(&mut self, _ctx: &egui::Context, _banner: &mut Banner) {}

    pub fn results_ui(&mut self, _ui: &mut egui::Ui, _banner: &mut Banner, _exports: &mut Exports) {}
}
