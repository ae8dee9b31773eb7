//! Colours and sizes of the app, light and dark. Colours that carry meaning are those of the figures, so that a plot on the
//! screen and its PNG agree; no pair that must be told apart differs by hue alone.

use crate::base::font;
use crate::figure::palette::{self, viridis};
use crate::figure::{Ink, MARKERS, Marker};
use crate::gui::settings::Ground;

use eframe::egui::{self, Color32, FontData, FontDefinitions, FontFamily, FontId, TextStyle, Theme, Vec2};
use egui_plot::MarkerShape;
use std::sync::Arc;

pub fn colour(ink: Ink) -> Color32 {
    let (r, g, b) = ink.rgb;
    Color32::from_rgba_unmultiplied(r, g, b, (ink.alpha * 255.0).round() as u8)
}

/// What a plot is drawn with, on the ground of the present theme.
#[derive(Debug, Clone, Copy)]
pub struct Colours {
    pub dark: bool,
    pub mean: Color32,
    pub band: Color32,
    pub member: Color32,
    pub truth: Color32,
    pub point: Color32,
    pub point_edge: Color32,
    pub held_out: Color32,
    pub aux: Color32,
    pub boundary: Color32,
}

impl Colours {
    pub fn of(ui: &egui::Ui) -> Colours {
        let dark = ui.visuals().dark_mode;
        Colours {
            dark,
            mean: if dark { colour(palette::SKY) } else { colour(palette::BLUE) },
            band: if dark { colour(palette::SKY) } else { colour(palette::BLUE) },
            member: Color32::from_gray(if dark { 150 } else { 110 }),
            truth: colour(palette::VERMILLION),
            point: colour(palette::ORANGE),
            point_edge: if dark { Color32::from_gray(20) } else { Color32::BLACK },
            held_out: Color32::from_gray(if dark { 200 } else { 80 }),
            aux: colour(palette::GREEN),
            boundary: if dark { Color32::WHITE } else { Color32::BLACK },
        }
    }

    /// The i-th of several curves. Black would vanish on a dark ground.
    pub fn series(&self, i: usize) -> Color32 {
        match palette::series(i) {
            palette::BLACK if self.dark => Color32::from_gray(230),
            palette::BLUE if self.dark => colour(palette::SKY),
            palette::SKY if self.dark => Color32::from_rgb(0x9a, 0x8c, 0xff),
            ink => colour(ink),
        }
    }
}

/// The colour of a class: the same in a map, its points and its legend.
pub fn class(i: usize) -> Color32 {
    colour(class_ink(i))
}

/// The same for a figure.
pub fn class_ink(i: usize) -> Ink {
    const CLASSES: [Ink; 7] = [
        palette::BLUE,
        palette::ORANGE,
        palette::GREEN,
        palette::PURPLE,
        palette::VERMILLION,
        palette::SKY,
        palette::YELLOW,
    ];
    CLASSES[i % CLASSES.len()]
}

/// The ground of the window, which is cleared to it: panels and plots have none of their own, for a software adapter takes as long for
/// each of them as for all that is drawn on it.
pub fn ground(visuals: &egui::Visuals) -> Color32 {
    Color32::from_gray(if visuals.dark_mode { 27 } else { 250 })
}

/// The shape of a class's points in a figure.
pub fn class_figure_marker(i: usize) -> Marker {
    MARKERS[i % MARKERS.len()]
}

/// The same on the screen.
pub fn class_marker(i: usize) -> MarkerShape {
    match class_figure_marker(i) {
        Marker::Circle | Marker::Cross => MarkerShape::Circle,
        Marker::Square => MarkerShape::Square,
        Marker::Triangle => MarkerShape::Up,
        Marker::Diamond => MarkerShape::Diamond,
        Marker::Down => MarkerShape::Down,
    }
}

/// Lines behind a plot: seen, never in front.
pub fn grid(ui: &egui::Ui) -> Color32 {
    if ui.visuals().dark_mode { Color32::from_gray(52) } else { colour(palette::GRID) }
}

/// Dark is low, bright is high.
pub fn heat(share: f64) -> Color32 {
    colour(viridis(share))
}

pub const GAP: f32 = 8.0;

/// Bars that show where more is than fits: tables across, whose columns would end at the edge without a sign.
pub fn seen_bars(ui: &mut egui::Ui) {
    ui.spacing_mut().scroll = egui::style::ScrollStyle::thin();
}

/// Light, dark, or as the system has it.
pub fn choice_ui(ui: &mut egui::Ui, ground: &mut Ground) {
    let all = [
        (Ground::Light, "light", "Light"),
        (Ground::Dark, "dark", "Dark"),
        (Ground::System, "system", "As the system"),
    ];
    let now = all.iter().find(|(of, ..)| of == ground).map_or("", |(_, word, _)| *word);
    let menu = ui.menu_button("Theme", |ui| {
        for (of, _, name) in all {
            if ui.radio_value(ground, of, name).clicked() {
                ui.close();
            }
        }
    });
    let tip = format!("Light or dark, or as the system has it. Now: {now}");
    menu.response.on_hover_text(tip).accessible_name(format!("Theme: {now}"));
}

/// Fonts, text sizes and spacing, once at the start.
pub fn set_up(ctx: &egui::Context) {
    let mut fonts = FontDefinitions::empty();
    for (family, name, bytes) in
        [(FontFamily::Proportional, "DejaVu Sans", font::SANS), (FontFamily::Monospace, "DejaVu Sans Mono", font::MONO)]
    {
        fonts.font_data.insert(name.into(), Arc::new(FontData::from_static(bytes)));
        fonts.families.entry(family).or_default().push(name.into());
    }
    // What the narrow part lacks, in a path or in a recipe.
    fonts.families.entry(FontFamily::Monospace).or_default().push("DejaVu Sans".into());
    ctx.set_fonts(fonts);
    ctx.all_styles_mut(|style| {
        let sizes =
            [(TextStyle::Small, 11.0), (TextStyle::Body, 13.0), (TextStyle::Button, 13.0), (TextStyle::Heading, 16.5)];
        for (name, size) in sizes {
            style.text_styles.insert(name, FontId::proportional(size));
        }
        style.text_styles.insert(TextStyle::Monospace, FontId::monospace(12.5));
        style.spacing.item_spacing = Vec2::new(GAP, 5.0);
        style.spacing.button_padding = Vec2::new(8.0, 3.0);
        style.spacing.slider_width = 112.0;
        style.interaction.tooltip_delay = 0.3;
    });
    ctx.all_styles_mut(|style| style.visuals.panel_fill = Color32::TRANSPARENT);
    ctx.style_mut_of(Theme::Light, |style| {
        style.visuals.override_text_color = Some(Color32::from_gray(30));
    });
}
