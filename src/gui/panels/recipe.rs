//! The recipe as text: saved or copied, it repeats this training; pasted back, it restores it. A link that was copied can be
//! pasted here, too.

use super::banner::Banner;
use super::pick::{DialogKind, PathPick};
use super::playground::Playground;
use crate::error::Result;
use crate::gui::app::Open;
use crate::gui::settings::{Settings, Tab};
use crate::gui::{link, shell};
use crate::recipe::Recipe;
use eframe::egui;

#[derive(Default)]
pub struct RecipePage {
    /// What stands in the field; None = the playground's own recipe.
    pub edited: Option<String>,
    save: PathPick,
}

impl RecipePage {
    pub fn poll(&mut self, banner: &mut Banner) {
        self.save.poll(banner);
    }

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
            ui.label(
                "These lines repeat the training of the playground, from step 0, with the settings and points as they stand now: \
                 here, on the command line, or in a paper. A link can be pasted here, too.",
            );
            self.buttons_ui(ui, &text, settings, playground, banner);
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                let rows = (ui.available_height() / 15.0).max(10.0) as usize;
                let field = egui::TextEdit::multiline(&mut text).code_editor().desired_width(f32::INFINITY);
                if ui.add(field.desired_rows(rows).hint_text("a recipe in TOML")).changed() {
                    self.edited = Some(text.clone()).filter(|t| *t != own);
                }
            });
        });
    }

    fn buttons_ui(
        &mut self,
        ui: &mut egui::Ui,
        text: &str,
        settings: &mut Settings,
        playground: &mut Playground,
        banner: &mut Banner,
    ) {
        ui.horizontal_wrapped(|ui| {
            if ui.button("Copy recipe").on_hover_text("To the clipboard").clicked() {
                ui.copy_text(text.to_string());
                banner.note("recipe copied");
            }
            let changed = self.edited.is_some();
            let train = ui.add_enabled(changed, egui::Button::new("Train this recipe"));
            if train.on_hover_text("Restarts the playground with the text below").clicked() {
                match parsed(text) {
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
        ui.horizontal_wrapped(|ui| {
            let width = (ui.available_width() - 260.0).min(500.0);
            let enter = self.save.field_ui(ui, "save as", "recipe.toml", width);
            let tip = "As a file; what is edited is saved as it stands";
            if ui.button("Save").on_hover_text(tip).clicked() || enter {
                let path = self.save.path().unwrap_or_else(|| "recipe.toml".into());
                let written = crate::run::write_atomic(&path, text.as_bytes());
                match written.and_then(|()| shell::hand_over(&path)) {
                    Ok(()) => banner.note(format!("saved {}", path.display())),
                    Err(e) => banner.error(e),
                }
            }
            if !shell::DOWNLOADS && ui.button("Choose place…").clicked() {
                self.save.ask(ui.ctx(), DialogKind::Save);
            }
        });
    }
}

/// The recipe of a text, or of a link.
fn parsed(text: &str) -> Result<Recipe> {
    let line = text.trim();
    if !line.contains('\n') && line.contains('#') && !line.starts_with("# ") {
        match link::open(line)? {
            Open::Link { recipe: Some(recipe), .. } | Open::Example { recipe, .. } => return Ok(*recipe),
            _ => {}
        }
    }
    Recipe::parse(text, "recipe").and_then(|table| crate::method::checked(&table, "recipe"))
}
