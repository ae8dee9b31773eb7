//! A map over two inputs: class probabilities mixed as colours, or an uncertainty on viridis.

use crate::gui::settings::MapKind;
use crate::gui::theme;
use crate::live::picture::Map;
use eframe::egui::{self, Color32, ColorImage, TextureHandle, TextureOptions};
use egui_plot::{Line, PlotImage, PlotPoint, PlotPoints, PlotUi};

/// A map as a texture, made anew when the map or the kind changes.
#[derive(Default)]
pub struct MapTexture {
    texture: Option<TextureHandle>,
    of: Option<(u64, MapKind, bool)>,
}

/// Values of an uncertainty and the largest that the colours reach.
pub fn values(map: &Map, kind: MapKind) -> (&[f64], f64) {
    match kind {
        MapKind::Entropy => (&map.total, libm::log(map.k.max(2) as f64)),
        _ => (&map.epistemic, map.epistemic.iter().copied().fold(1e-3, f64::max)),
    }
}

/// Classes mixed by their probabilities, fading into the ground towards a tie.
fn mixed(probs: &[f64], ground: f64) -> Color32 {
    let k = probs.len() as f64;
    let top = probs.iter().copied().fold(0.0, f64::max);
    let sure = ((top - 1.0 / k) / (1.0 - 1.0 / k)).clamp(0.0, 1.0);
    let mut rgb = [0.0; 3];
    for (i, p) in probs.iter().enumerate() {
        let [r, g, b, _] = theme::class(i).to_array();
        for (sum, c) in rgb.iter_mut().zip([r, g, b]) {
            *sum += p * f64::from(c);
        }
    }
    let strength = 0.15 + 0.6 * sure;
    let [r, g, b] = rgb.map(|c| (strength * c + (1.0 - strength) * ground).clamp(0.0, 255.0) as u8);
    Color32::from_rgb(r, g, b)
}

/// Of each cell, bottom row first.
pub fn colours(map: &Map, kind: MapKind, dark: bool) -> Vec<Color32> {
    let ground = if dark { 40.0 } else { 255.0 };
    let colour = |i: usize| match kind {
        MapKind::Probability => mixed(&map.probs[i * map.k..(i + 1) * map.k], ground),
        _ => {
            let (v, most) = values(map, kind);
            theme::heat(v[i] / most)
        }
    };
    (0..map.n * map.n).map(colour).collect()
}

impl MapTexture {
    /// `number` tells maps apart.
    pub fn update(&mut self, ui: &egui::Ui, map: &Map, kind: MapKind, number: u64) {
        let dark = ui.visuals().dark_mode;
        if self.of == Some((number, kind, dark)) && self.texture.is_some() {
            return;
        }
        let (n, colours) = (map.n, colours(map, kind, dark));
        // An image counts from the top.
        let pixels = (0..n * n).map(|i| colours[(n - 1 - i / n) * n + i % n]).collect();
        let image = ColorImage::new([n, n], pixels);
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::LINEAR),
            None => self.texture = Some(ui.load_texture("map", image, TextureOptions::LINEAR)),
        }
        self.of = Some((number, kind, dark));
    }

    pub fn draw<'a>(&self, plot: &mut PlotUi<'a>, map: &Map) {
        if let Some(texture) = &self.texture {
            let (x, y) = (map.x_range, map.y_range);
            let centre = PlotPoint::new((x.0 + x.1) / 2.0, (y.0 + y.1) / 2.0);
            let size = egui::vec2((x.1 - x.0) as f32, (y.1 - y.0) as f32);
            plot.image(PlotImage::new("map", texture.id(), centre, size).allow_hover(false));
        }
    }
}

pub fn boundary_ui<'a>(plot: &mut PlotUi<'a>, segments: &[[PlotPoint; 2]], colour: Color32) {
    for segment in segments {
        let line = Line::new("decision boundary", PlotPoints::Owned(segment.to_vec()));
        plot.line(line.color(colour).width(1.6).allow_hover(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a frame in this theme makes the texture anew.
    fn redraws(ctx: &egui::Context, texture: &mut MapTexture, dark: bool) -> bool {
        let map = Map { n: 2, k: 2, x_range: (0.0, 1.0), y_range: (0.0, 1.0), probs: vec![0.5; 8], ..Map::default() };
        let mut pixel = None;
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            *ui.visuals_mut() = if dark { egui::Visuals::dark() } else { egui::Visuals::light() };
            texture.update(ui, &map, MapKind::Probability, 1);
            pixel = texture.texture.as_ref().map(|t| t.id());
        });
        let made = output.textures_delta.set.iter().any(|(id, _)| Some(*id) == pixel);
        output.textures_delta.clear();
        made
    }

    #[test]
    fn bug_12_another_theme_draws_a_map_anew_that_stands_still() {
        let (ctx, mut texture) = (egui::Context::default(), MapTexture::default());
        let made: Vec<bool> =
            [false, false, true, true, false].map(|dark| redraws(&ctx, &mut texture, dark)).into_iter().collect();
        assert_eq!(made, [true, false, true, false, true]);
    }

    /// What the hint says: nearer to the ground where the classes tie, on light and on dark.
    #[test]
    fn bug_12_colours_fade_into_the_ground_where_nothing_is_sure() {
        for ground in [255.0, 40.0] {
            let far = |probs: &[f64]| {
                let [r, g, b, _] = mixed(probs, ground).to_array();
                [r, g, b].iter().map(|v| (f64::from(*v) - ground).abs()).sum::<f64>()
            };
            assert!(far(&[0.5, 0.5]) < 0.6 * far(&[0.95, 0.05]), "ground {ground}");
        }
    }
}
