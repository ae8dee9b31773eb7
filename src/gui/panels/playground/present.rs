//! The playground's plot for others: alone on the screen, or in motion.

use super::Playground;
use crate::data::Task;
use crate::gui::export::{Exports, Plottable};
use crate::gui::film::Scene;
use crate::gui::present;
use crate::gui::settings::{MapKind, Settings};
use crate::live::{Picture, View};
use crate::method;
use crate::recipe::key;
use eframe::egui;

impl Playground {
    /// The plot alone, with what starts and pauses its training. Points can be moved as ever.
    pub fn present_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, leave: &mut bool) {
        let what = match (self.task(), settings.map) {
            (Task::Regression, _) => "",
            (_, MapKind::Probability) => "class probability",
            (_, MapKind::Entropy) => "total entropy",
            (_, MapKind::MutualInformation) => "mutual information",
        };
        let anew = present::head_ui(ui, &mut self.group, what, leave);
        self.begin_anew(anew);
        let height = ui.available_height();
        let names = self.names();
        let picture = self.group.slot_snapshot(0).map(|l| l.picture.clone()).unwrap_or_default();
        self.presented = true;
        match picture {
            Picture::None => self.no_picture_ui(ui, height),
            // The head that a page has above its plot is not there.
            Picture::Band(band) => self.band_ui(ui, settings, height + 24.0, &band, names.as_ref()),
            Picture::Map(map) => self.map_ui(ui, settings, height + 24.0, &map, names.as_ref()),
        }
        self.presented = false;
        self.undo_keys(ui);
        self.record(ui);
        self.send_changes();
        self.send_look();
        self.popup_was_open = egui::Popup::is_any_open(ui.ctx());
    }

    /// Its plots, still and in motion, where they are asked for.
    pub fn offer(&self, settings: &Settings, exports: &mut Exports) {
        exports.offer(|| Plottable::of_playground(self, settings));
        exports.films.offer(|| Scene { lines: settings.bands, ..self.scene() });
    }

    /// What an animation shows.
    fn scene(&self) -> Scene {
        let is_band = matches!(self.group.slot_snapshot(0).map(|l| &l.picture), Some(Picture::Band(_)));
        let (stem, title) = match is_band {
            true => ("band", "Prediction with 1 and 2 sd"),
            false => ("map", "Uncertainty over the inputs"),
        };
        let running = self.group.slots.first().and_then(|l| l.recipe.as_deref());
        let swept = running.filter(|r| {
            let method = method::find(&r.method.name);
            method.is_some_and(|m| method::reads(m, key!(method.eta).path))
                && !self.group.slots[0].points.ranges.is_empty()
        });
        let view = View { x_range: self.asked.map(|a| a[0]), y_range: self.asked.map(|a| a[1]), ..View::default() };
        let of_group = Scene::of(&self.group);
        let labels = match self.names().filter(|_| is_band) {
            Some((inputs, target)) => (inputs.into_iter().next().unwrap_or_else(|| "x".into()), target),
            None => of_group.labels.clone(),
        };
        Scene {
            stem: stem.into(),
            title: title.into(),
            truth: self.truth.and_then(|t| t.truth()).filter(|_| is_band),
            sweep: swept.map(|r| (Box::new(r.clone()), view)),
            labels,
            ..of_group
        }
    }
}
