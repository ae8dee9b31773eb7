//! Cost of a frame on the UI thread: learning curves of many points, laid out and made into triangles, without drawing them.

use super::panels::curves::CurveCache;
use super::plots::curves::{CurvesView, curves_ui};
use super::settings::CurveOptions;
use super::theme::{self, Colours};
use crate::base::clock::Instant;
use crate::train::EpochRow;
use eframe::egui;

/// Milliseconds per frame over `seconds`, sorted; each of the five curves of a training has `points` points, NaN among them. The
/// pointer rests on the plot, which makes egui_plot look for the point below it.
pub fn frame_ms(points: usize, seconds: f64) -> Vec<f64> {
    let row = |i: usize| {
        let noise = ((i * 7919) % 1000) as f64 * 1e-3;
        let nll = 3.0 / (1.0 + i as f64 * 1e-3) + noise - 0.5;
        EpochRow {
            step: i as u64,
            epoch: i as u32,
            expected_nll: if i % 9973 == 5 { f64::NAN } else { nll },
            loss: nll + 0.4 * noise + 0.3,
            regularizer: 1.0 + noise,
            auxiliary: 2.0 - noise,
            eta: Some(0.3),
            eta_aux: Some(0.1),
            validation_nll: Some(nll + 0.1),
            ..Default::default()
        }
    };
    let rows: Vec<EpochRow> = (0..points).map(row).collect();
    let mut cache = CurveCache::default();
    cache.update(&rows, 1.0);
    let options = CurveOptions::default();
    let ctx = egui::Context::default();
    theme::set_up(&ctx);
    let size = egui::vec2(1280.0, 800.0);
    let frame = |i: usize| {
        let at = egui::pos2(500.0 + (i % 50) as f32, 400.0);
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            time: Some(i as f64 / 60.0),
            events: vec![egui::Event::PointerMoved(at)],
            ..Default::default()
        };
        let mut output = ctx.run_ui(input, |ui| {
            let view = CurvesView {
                id: "bench",
                x_label: "step",
                y_label: "nats per row",
                log: true,
                smoothing: 0.0,
                height: 700.0,
            };
            let colours = Colours::of(ui);
            curves_ui(ui, &view, &cache.shown(&options), |i| colours.series(i));
        });
        // Nobody draws: the font's pixels go nowhere.
        output.textures_delta.clear();
        ctx.tessellate(output.shapes, output.pixels_per_point).len()
    };
    // Fonts are drawn in the first frames.
    for i in 0..5 {
        frame(i);
    }
    let (began, mut times) = (Instant::now(), vec![]);
    while times.len() < 5 || began.elapsed().as_secs_f64() < seconds {
        let started = Instant::now();
        let shapes = frame(times.len() + 5);
        times.push(started.elapsed().as_secs_f64() * 1e3);
        assert!(shapes > 0, "a frame that draws nothing measures nothing");
    }
    times.sort_by(f64::total_cmp);
    times
}
