//! A plot on the clipboard: as an image, or its numbers as CSV. Drawn in a job, for a figure takes longer than a frame.

use super::export::{Plottable, Source};
use super::panels::banner::Banner;
use super::panels::pick::take_result;
use crate::base::fs;
use crate::error::{Error, Result};
use crate::figure;
use crate::live::Job;
use eframe::egui::{self, ColorImage};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyAs {
    Image,
    Data,
}

enum Copied {
    Image(ColorImage),
    Text(String),
}

#[derive(Default)]
pub struct Copies {
    asked: Option<CopyAs>,
    offered: Option<Plottable>,
    job: Option<Job<(String, Copied)>>,
}

impl Copies {
    /// Copies the first plot of the page in front.
    pub fn ask(&mut self, what: CopyAs) {
        self.asked = Some(what);
    }

    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    pub fn offer(&mut self, plot: Option<Plottable>) {
        self.offered = plot;
    }

    /// Begins what was asked for, once the page in front has offered its plot.
    pub fn copies_ui(&mut self, ui: &egui::Ui, banner: &mut Banner) {
        let Some(what) = self.asked.take() else { return };
        match self.offered.take() {
            Some(plot) => self.start(ui.ctx(), plot, what),
            None => banner.note("this page has no plot to copy"),
        }
    }

    pub fn start(&mut self, ctx: &egui::Context, plot: Plottable, what: CopyAs) {
        let wake = ctx.clone();
        let work = move || copied(&plot, what).map(|copied| (plot.stem, copied));
        self.job = Some(Job::start("copying", move || wake.request_repaint(), work));
    }

    pub fn poll(&mut self, ctx: &egui::Context, banner: &mut Banner) {
        let Some((stem, copied)) = take_result(&mut self.job, banner) else { return };
        let name = stem.replace('_', " ");
        match copied {
            Copied::Image(image) => {
                ctx.copy_image(image);
                banner.note(format!("copied: {name}, as an image"));
            }
            Copied::Text(text) => {
                ctx.copy_text(text);
                banner.note(format!("copied: {name}, as CSV"));
            }
        }
    }
}

fn copied(plot: &Plottable, what: CopyAs) -> Result<Copied> {
    let read = |path: &Path| fs::read(path).map_err(|e| Error::io(path, "read", &e));
    Ok(match (what, &plot.source) {
        (CopyAs::Image, Source::Figure(figure)) => {
            let (width, height, rgb) = figure::pixels(&**figure)?;
            Copied::Image(ColorImage::from_rgb([width, height], &rgb))
        }
        (CopyAs::Data, Source::Figure(figure)) => Copied::Text(figure.numbers().csv()),
        (CopyAs::Image, Source::Files(stem)) => {
            let path = stem.with_extension("png");
            let image = image::load_from_memory(&read(&path)?).map_err(|e| {
                let help = "to draw it again, train or evaluate again";
                Error::data(path.display().to_string(), e.to_string(), "a PNG image", help)
            })?;
            let image = image.to_rgb8();
            let size = [image.width() as usize, image.height() as usize];
            Copied::Image(ColorImage::from_rgb(size, image.as_raw()))
        }
        (CopyAs::Data, Source::Files(stem)) => {
            Copied::Text(String::from_utf8_lossy(&read(&stem.with_extension("csv"))?).into_owned())
        }
    })
}
