//! A page starts no programs: it has no camera.

use super::panels::banner::Banner;
use eframe::egui;
use std::path::PathBuf;

#[derive(Default)]
pub struct CameraPick;

impl CameraPick {
    pub fn button_ui(&mut self, _ui: &mut egui::Ui) {}

    pub fn poll(&mut self, _banner: &mut Banner) -> Option<PathBuf> {
        None
    }

    pub fn name(&self) -> Option<&str> {
        None
    }

    pub fn stop(&mut self) {}
}
