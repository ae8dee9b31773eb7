//! The controls beside the playground's picture.

use super::{Playground, toy_recipe};
use crate::data::Task;
use crate::data::toy::ToyKind;
use crate::gui::panels::banner::Banner;
use crate::gui::panels::controls::controls_ui;
use crate::gui::panels::keys;
use crate::gui::settings::Settings;
use crate::live::Command;
use crate::program::Act;
use crate::recipe::Recipe;
use crate::recipe::key;
use crate::train::plan::USUAL_HIDDEN;
use eframe::egui::{self, ComboBox, DragValue, Slider, SliderClamping};

impl Playground {
    pub(super) fn settings_ui(&mut self, ui: &mut egui::Ui, settings: &mut Settings, banner: &mut Banner) {
        ui.add_space(4.0);
        let can_begin = self.is_empty();
        let anew = controls_ui(ui, &mut self.group, can_begin);
        self.begin_anew(anew);
        let way = ui.horizontal(|ui| self.history.buttons_ui(ui)).inner;
        if let Some(way) = way {
            self.go(way);
        }
        ui.horizontal(|ui| {
            let slider = Slider::new(&mut settings.pace, 0.0..=100_000.0)
                .logarithmic(true)
                .smallest_positive(1.0)
                .max_decimals(0);
            let shown = slider.custom_formatter(|v, _| if v == 0.0 { "max".into() } else { format!("{v:.0}") });
            ui.add(shown.text("steps/s")).on_hover_text(
                "Training speed, in steps per second; 0 = unlimited, default 300. Not part of the recipe.",
            );
        });
        ui.separator();
        ui.heading("Training").on_hover_text("Applies at the next step, without a restart");
        keys::live_keys_ui(ui, &mut self.draft);
        ui.separator();
        ui.heading("Method, network, data").on_hover_text("A change here restarts training, after you confirm");
        let task = self.asked_task().unwrap_or(Task::Classification);
        if keys::method_ui(ui, "method", &mut self.draft.method.name, &|m| keys::unsuited(m, task)) {
            let running = self.group.slots.first().and_then(|l| l.recipe.as_deref());
            keys::choose_method(&mut self.draft, running, &mut self.taken_away);
        }
        keys::whole_ui(ui, key!(method.members), &mut self.draft.method.members);
        self.network_ui(ui);
        self.data_ui(ui, settings);
        keys::whole_ui(ui, key!(seed), &mut self.draft.seed);
        self.waiting_ui(ui);
        ui.separator();
        if ui
            .button("Save as run")
            .on_hover_text("Writes a run folder with weights, figures and report: the pages Results and Runs show it")
            .clicked()
        {
            match crate::gui::panels::data::claim(&settings.runs, &crate::run::recipe_name(&self.draft)) {
                Ok(path) => self.group.send(Command::Save { slot: 0, path, force: true }),
                Err(e) => banner.error(e),
            }
        }
        ui.add_space(8.0);
    }

    pub(super) fn network_ui(&mut self, ui: &mut egui::Ui) {
        if self.draft.data.images.is_some() {
            return;
        }
        // Only a change may write: a key that the recipe leaves out is no change.
        let hidden = self.draft.net.hidden.clone().unwrap_or_else(|| USUAL_HIDDEN.to_vec());
        ui.horizontal(|ui| {
            let label = ui.label("hidden layers");
            let mut layers = hidden.len();
            let mut width = hidden.first().copied().unwrap_or(USUAL_HIDDEN[0]);
            let first = ui.add(DragValue::new(&mut layers).range(0..=10).speed(0.05)).labelled_by(label.id);
            let label = ui.label("of");
            let second = ui.add(DragValue::new(&mut width).range(1..=1000).speed(1.0)).labelled_by(label.id);
            ui.label("units");
            if first.union(second).on_hover_text(keys::tip(key!(net.hidden))).changed() {
                self.draft.net.hidden = Some(vec![width; layers]);
            }
        });
        let mut smooth = self.draft.net.activation != Act::Relu;
        let name = match self.draft.net.activation {
            Act::Mish => "Mish",
            Act::Selu => "SELU",
            Act::Silu | Act::Relu => "SiLU",
        };
        let label = format!("smooth activation ({name})");
        if ui.checkbox(&mut smooth, label).on_hover_text(keys::tip(key!(net.activation))).changed() {
            self.draft.net.activation = if smooth { Act::Silu } else { Act::Relu };
        }
        keys::tick_ui(ui, key!(net.parametric), &mut self.draft.net.parametric);
        keys::tick_ui(ui, key!(net.input_scale), &mut self.draft.net.input_scale);
    }

    pub(super) fn data_ui(&mut self, ui: &mut egui::Ui, _settings: &mut Settings) {
        let now = self.draft.data.toy;
        let shown = match (now, &self.draft.data.points, &self.draft.data.file, &self.draft.data.images) {
            (Some(kind), ..) => kind.to_string(),
            (None, Some(rows), ..) => format!("my {} points", rows.len()),
            (None, None, Some(path), _) | (None, None, None, Some(path)) => {
                path.file_name().map_or_else(|| "file".into(), |n| n.to_string_lossy().into_owned())
            }
            _ => "none".into(),
        };
        let mut chosen = now;
        ComboBox::from_label("data").width(150.0).selected_text(shown).show_ui(ui, |ui| {
            for kind in ToyKind::ALL {
                ui.selectable_value(&mut chosen, Some(kind), kind.to_string());
            }
        });
        if let Some(kind) = chosen.filter(|_| chosen != now) {
            self.choose_toy(kind);
        }
        if let Some(kind) = self.draft.data.toy {
            let mut rows = self.draft.data.rows as u32;
            keys::whole_ui(ui, key!(data.rows), &mut rows);
            self.draft.data.rows = rows as usize;
            let mut noise = self.draft.data.noise.unwrap_or(kind.default_noise());
            let slider = Slider::new(&mut noise, 0.0..=3.0_f64.max(kind.default_noise() * 3.0))
                .max_decimals(3)
                .clamping(SliderClamping::Edits)
                .text("noise");
            if ui.add(slider).on_hover_text(keys::tip(key!(data.noise))).changed() {
                self.draft.data.noise = Some(noise);
            }
        }
    }

    /// The toy in training comes back as it is; another one is no reason to keep what an earlier choice has brought along.
    fn choose_toy(&mut self, kind: ToyKind) {
        let running = self.group.slots.first().and_then(|l| l.recipe.as_deref());
        if let Some(running) = running {
            self.draft.data = running.data.clone();
            self.draft.name.clone_from(&running.name);
            (self.draft.method.noise_link, self.draft.method.expectation) =
                (running.method.noise_link, running.method.expectation);
            self.draft.method.likelihood = running.method.likelihood;
            if running.data.toy == Some(kind) {
                crate::method::adapt(&mut self.draft);
                return;
            }
            // A method for classes alone goes with its classes.
            let suits = |recipe: &Recipe| keys::suits(&recipe.method.name, kind.task());
            if !suits(&self.draft) && suits(running) {
                self.draft.method.name.clone_from(&running.method.name);
                keys::choose_method(&mut self.draft, Some(running), &mut self.taken_away);
            }
        }
        self.draft = toy_recipe(kind, &self.draft);
    }

    /// Where nothing is in training: what to do about it.
    fn empty_ui(&mut self, ui: &mut egui::Ui) {
        egui::Frame::group(ui.style()).fill(ui.visuals().faint_bg_color).show(ui, |ui| {
            ui.label("This recipe could not start. Change it, then start it.");
            if ui.button("Start with changes").clicked() {
                self.begin();
            }
        });
    }

    pub(super) fn waiting_ui(&mut self, ui: &mut egui::Ui) {
        if self.is_empty() {
            self.empty_ui(ui);
        }
        let waiting = self.waiting();
        if waiting.is_empty() {
            return;
        }
        egui::Frame::group(ui.style()).fill(ui.visuals().faint_bg_color).show(ui, |ui| {
            let step = self.group.step();
            ui.label(format!("{} will restart training from step 0, after {step} steps.", what(&waiting)));
            let running = self.group.slots.first().and_then(|l| l.recipe.as_deref());
            if let (Some(points), None) = (running.and_then(|r| r.data.points.as_ref()), &self.draft.data.points) {
                ui.label(format!("Your {} points will be replaced; \"Discard\" keeps them.", points.len()));
            }
            ui.horizontal(|ui| {
                if ui.button("Restart with changes").clicked() {
                    self.begin();
                }
                if ui.button("Discard").on_hover_text("Keep training as it is").clicked()
                    && let Some(recipe) = self.group.slots.first().and_then(|l| l.recipe.as_deref())
                {
                    self.draft = recipe.clone();
                    self.history.doing("discard the changes", false);
                }
            });
        });
    }
}

/// Keys in the words of the page, as a sentence begins: "Data, network".
fn what(waiting: &[String]) -> String {
    let mut words: Vec<String> = vec![];
    for key in waiting {
        let word = match key.as_str() {
            "method.name" => "method".into(),
            "method.members" => "members".into(),
            k if k.starts_with("data.") => "data".into(),
            k if k.starts_with("net.") => "network".into(),
            k => crate::recipe::keys::find(k).map_or_else(|| k.into(), crate::recipe::keys::Key::words),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let words = words.join(", ");
    let mut rest = words.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
