//! Run folders.

use super::banner::Banner;
use crate::figure::Series;
use crate::gui::export::Exports;
use crate::gui::settings::{CurveOptions, Settings};
use eframe::egui;
use std::path::{Path, PathBuf};

pub struct RunsPage {}

impl RunsPage {
    /// Of the run folders inside `root`.
    pub fn new(_root: &Path) -> RunsPage {
        RunsPage {}
    }

    pub fn poll(&mut self, _ctx: &egui::Context, _banner: &mut Banner) {}

    /// A run that was asked to be opened, once.
    pub fn take_opened(&mut self) -> Option<PathBuf> {
        None
    }

    /// Curves of the ticked runs, by the name of the run or of the group of seeds.
    pub fn series(&self, _options: &CurveOptions) -> Vec<(String, Vec<Series>)> {
        vec![]
    }

    pub fn runs_ui(
        &mut self,
        _ui: &mut egui::Ui,
        _settings: &mut Settings,
        _banner: &mut Banner,
        _exports: &mut Exports,
    ) {
    }
}
