//! A map over two inputs: class probabilities mixed as colours, or an uncertainty on viridis; and the lines between classes.

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

/// Leads below this over five cells are a tie, no boundary.
const FLAT: f64 = 0.02;

/// Segments of the line where two classes are equally likely: marching squares on p_k - max of the others, each k once.
pub fn boundary(map: &Map) -> Vec<[PlotPoint; 2]> {
    let (n, k) = (map.n, map.k);
    let mut segments = vec![];
    if n < 2 || k < 2 {
        return segments;
    }
    let lead = |i: usize, class: usize| {
        let p = &map.probs[i * k..(i + 1) * k];
        let other = (0..k).filter(|c| *c != class).map(|c| p[c]).fold(f64::NEG_INFINITY, f64::max);
        p[class] - other
    };
    let at = |(low, high): (f64, f64), i: f64| low + (high - low) * (i + 0.5) / n as f64;
    // With two classes the line of one is that of the other.
    for class in 0..if k == 2 { 1 } else { k } {
        let f: Vec<f64> = (0..n * n).map(|i| lead(i, class)).collect();
        for iy in 0..n - 1 {
            for ix in 0..n - 1 {
                let corner = |dx: usize, dy: usize| f[(iy + dy) * n + ix + dx];
                let c = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                // Where both are as likely all around, a line between them would be noise.
                let far = |i: usize, by: usize| (i + 3).min(n - 1) * by + i.saturating_sub(2) * (1 - by);
                let around = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(x, y)| f[far(iy, y) * n + far(ix, x)]);
                let flat = c.iter().chain(&around).all(|v| v.abs() < FLAT);
                if flat || c.iter().any(|v| !v.is_finite()) {
                    continue;
                }
                // Where the four sides are crossed, going round.
                let places = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
                let mut crossings = vec![];
                for side in 0..4 {
                    let (a, b) = (c[side], c[(side + 1) % 4]);
                    if (a > 0.0) != (b > 0.0) {
                        let t = a / (a - b);
                        let (p, q) = (places[side], places[(side + 1) % 4]);
                        let (x, y) = (p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1));
                        crossings.push(PlotPoint::new(at(map.x_range, ix as f64 + x), at(map.y_range, iy as f64 + y)));
                    }
                }
                segments.extend(crossings.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
            }
        }
    }
    segments
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

    /// p(1) rises from left to right and crosses one half at x = 0.25.
    #[test]
    fn the_boundary_lies_where_two_classes_are_equally_likely() {
        let n = 40;
        let p = |ix: usize| (0.5 + ((ix as f64 + 0.5) / n as f64 * 2.0 - 1.0 - 0.25) * 0.3).clamp(0.0, 1.0);
        let probs = (0..n * n).flat_map(|i| [1.0 - p(i % n), p(i % n)]).collect();
        let map = Map { n, k: 2, x_range: (-1.0, 1.0), y_range: (-1.0, 1.0), probs, total: vec![], epistemic: vec![] };
        let segments = boundary(&map);
        assert!(segments.len() >= n - 1, "{}", segments.len());
        assert!(segments.iter().flatten().all(|p| (p.x - 0.25).abs() < 1e-6), "{:?}", segments[0]);
    }
}
