//! Your data.

use super::banner::Banner;
use crate::error::{Error, Result};
use crate::gui::export::Exports;
use crate::gui::settings::Settings;
use crate::live::Group;
use eframe::egui;
use std::path::{Path, PathBuf};

pub struct DataPage {
    /// The training of this page.
    pub group: Group,
}

impl DataPage {
    pub fn new(ctx: &egui::Context) -> Result<DataPage> {
        let wake = ctx.clone();
        Ok(DataPage { group: Group::new("vifo data", move || wake.request_repaint())? })
    }

    /// Looks at a table or an image set.
    pub fn open(&mut self, _ctx: &egui::Context, _path: &Path) {}

    /// Asks for a file with the system's dialog.
    pub fn choose_file(&mut self, _ctx: &egui::Context) {}

    pub fn poll(&mut self, _ctx: &egui::Context, _banner: &mut Banner) {}

    /// A run folder that this page's training has completed, once.
    pub fn take_finished(&mut self) -> Option<PathBuf> {
        None
    }

    pub fn data_ui(&mut self, _ui: &mut egui::Ui, _settings: &Settings, _banner: &mut Banner, _exports: &mut Exports) {}
}

/// Makes `runs/NAME`, or the first `runs/NAME-2`, -3, ... that is free.
pub fn claim_folder(runs: &Path, name: &str) -> Result<PathBuf> {
    std::fs::create_dir_all(runs).map_err(|e| Error::io(runs, "create", &e))?;
    for i in 1u64.. {
        let path = if i == 1 { runs.join(name) } else { runs.join(format!("{name}-{i}")) };
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io(&path, "create", &e)),
        }
    }
    Err(Error::usage(runs.display().to_string(), "no free name", "", "choose another folder of runs"))
}
