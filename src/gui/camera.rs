//! A camera of this machine, for the live images of a run: switched on by a button, chosen among several.

use super::panels::banner::Banner;
use super::panels::pick::take_result;
use crate::error::Result;
use crate::live::Job;
use crate::system::camera::{Camera, Cameras, Device};
use eframe::egui;
use std::path::PathBuf;

#[derive(Default)]
pub struct CameraPick {
    /// Where they are looked for.
    pub cameras: Cameras,
    known: Vec<Device>,
    /// Of those, the one that is on, or asked for.
    chosen: usize,
    on: Option<Camera>,
    job: Option<Job<(Vec<Device>, usize, Camera)>>,
}

impl CameraPick {
    /// The button, and where there are several cameras their list.
    pub fn button_ui(&mut self, ui: &mut egui::Ui) {
        let is_free = self.job.is_none();
        let name = if is_free { "Camera" } else { "Camera …" };
        let tip = "The camera of this machine, by ffmpeg: its images are predicted as they come, and kept nowhere";
        if ui.add_enabled(is_free, egui::Button::new(name)).on_hover_text(tip).clicked() {
            self.start(ui.ctx());
        }
        if self.known.len() < 2 {
            return;
        }
        let mut chosen = self.chosen;
        let name = |i: usize| self.known.get(i).map_or("", |d| d.name.as_str());
        let shown = egui::ComboBox::new("camera", "").width(150.0).selected_text(name(chosen)).show_ui(ui, |ui| {
            for i in 0..self.known.len() {
                ui.selectable_value(&mut chosen, i, name(i));
            }
        });
        shown.response.accessible_name("which camera");
        if chosen != self.chosen && is_free {
            self.chosen = chosen;
            self.start(ui.ctx());
        }
    }

    fn start(&mut self, ctx: &egui::Context) {
        // Two cannot have one camera.
        self.on = None;
        let (wake, cameras, chosen) = (ctx.clone(), self.cameras.clone(), self.chosen);
        let work = move || -> Result<_> {
            let known = cameras.list()?;
            let chosen = chosen.min(known.len() - 1);
            let camera = cameras.open(&known[chosen])?;
            Ok((known, chosen, camera))
        };
        self.job = Some(Job::start("switching the camera on", move || wake.request_repaint(), work));
    }

    /// The folder of a camera that has come on.
    pub fn poll(&mut self, banner: &mut Banner) -> Option<PathBuf> {
        if let (Some(camera), Some(device)) = (&self.on, self.known.get(self.chosen))
            && let Some(e) = camera.ended(device)
        {
            self.on = None;
            banner.error(e);
        }
        let (known, chosen, camera) = take_result(&mut self.job, banner)?;
        let dir = camera.dir().to_path_buf();
        (self.known, self.chosen, self.on) = (known, chosen, Some(camera));
        Some(dir)
    }

    /// The name of the camera that is on.
    pub fn name(&self) -> Option<&str> {
        self.on.as_ref()?;
        self.known.get(self.chosen).map(|d| d.name.as_str())
    }

    pub fn stop(&mut self) {
        (self.on, self.job) = (None, None);
    }
}
