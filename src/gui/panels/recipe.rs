//! The recipe as text: copied, it repeats this training with `vifo fit`; pasted back, it restores it.

use super::banner::Banner;
use super::playground::Playground;
use crate::gui::settings::{Settings, Tab};
use crate::recipe::Recipe;
use eframe::egui;

#[derive(Default)]
pub struct RecipePage {
    /// What stands in the field; None = the playground's own recipe.
    pub edited: Option<String>,
}

impl RecipePage {
    pub fn recipe_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        playground: &mut Playground,
        banner: &mut Banner,
    ) {
        egui::CentralPanel::default().show(ui, |ui| {
            let own = match playground.draft.to_toml() {
                Ok(text) => text,
                Err(e) => {
                    banner.error(e);
                    return;
                }
            };
            let mut text = self.edited.clone().unwrap_or_else(|| own.clone());
            ui.label("Save this as recipe.toml and run `vifo fit recipe.toml`: the same training on the command line, from step 0, with the settings and points as they stand now.");
            ui.horizontal(|ui| {
                if ui.button("Copy recipe").on_hover_text("To the clipboard").clicked() {
                    ui.copy_text(text.clone());
                    banner.note("recipe copied: save it as recipe.toml and run `vifo fit recipe.toml`");
                }
                let changed = self.edited.is_some();
                if ui.add_enabled(changed, egui::Button::new("Train this recipe")).on_hover_text("Restarts the playground with the text below").clicked() {
                    let parsed = Recipe::parse(&text, "recipe").and_then(|t| crate::method::checked(&t, "recipe"));
                    match parsed {
                        Ok(recipe) => {
                            playground.take_recipe(recipe);
                            self.edited = None;
                            settings.tab = Tab::Playground;
                        }
                        Err(e) => banner.error(e),
                    }
                }
                if ui.add_enabled(changed, egui::Button::new("Undo edits")).clicked() {
                    self.edited = None;
                }
                if changed {
                    ui.weak("edited: not yet trained");
                }
            });
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                let field = egui::TextEdit::multiline(&mut text).code_editor().desired_width(f32::INFINITY)
                    .desired_rows((ui.available_height() / 15.0).max(10.0) as usize).hint_text("a recipe in TOML");
                if ui.add(field).changed() {
                    self.edited = Some(text.clone()).filter(|t| *t != own);
                }
            });
        });
    }
}
