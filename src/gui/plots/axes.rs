//! The axes that all plots share: marks at 1, 2 or 5 times a power of ten, as many as have room for a label.

use crate::gui::theme;
use eframe::egui;
use egui_plot::{AxisHints, GridInput, GridMark, Plot};

/// Screen points between two grid lines that egui_plot takes for the closest.
pub const CLOSEST: f64 = 8.0;

/// `step_size` of a mark that is to have its number whatever the distance to the next line.
pub const LABELLED: f64 = 1e9;

/// Room for "-0.005" and its margins beside the title, so that the first frame has what later ones measure.
const NUMBERS: f32 = 54.0;
const TITLE: f32 = 20.0;
/// Of a line of numbers.
const LINE: f32 = 16.0;

/// 1, 2 or 5 times a power of ten, at least `step`.
fn nice(step: f64) -> f64 {
    let power = libm::pow(10f64, libm::log10(step).floor());
    let factor = step / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|f| *f >= factor - 1e-9).unwrap_or(10.0)
}

/// Marks with a label each, at least `apart` screen points from each other, and unlabelled ones between.
fn marks(input: GridInput, apart: f64) -> Vec<GridMark> {
    let (low, high) = input.bounds;
    let step = nice(input.base_step_size / CLOSEST * apart);
    if !(step.is_finite() && step > 0.0 && (high - low) / step < 1000.0) {
        return vec![];
    }
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// As many decimals as the step has: 0.5 beside 1.0, not "0" and "1".
fn label(mark: GridMark) -> String {
    let (value, step) = (mark.value, mark.step_size);
    if value.abs() >= 1e6 || (step > 0.0 && step < 1e-6) {
        return format!("{value:e}");
    }
    let decimals = if step > 0.0 { (-libm::log10(step).floor()).clamp(0.0, 6.0) as usize } else { 3 };
    let text = format!("{value:.decimals$}");
    // Half a rounding error below zero is zero.
    if text.trim_start_matches(['-', '0', '.']).is_empty() { "0".into() } else { text }
}

/// A plot with the app's grid and words on its axes.
pub fn plot<'a>(ui: &egui::Ui, id: impl std::hash::Hash + std::fmt::Debug, x_label: &str, y_label: &str) -> Plot<'a> {
    let x_axis = AxisHints::new_x().label(x_label.to_string()).min_thickness(LINE + TITLE);
    let y_axis = AxisHints::new_y().label(y_label.to_string()).min_thickness(NUMBERS + TITLE);
    Plot::new(id)
        .custom_x_axes(vec![x_axis])
        .custom_y_axes(vec![y_axis])
        .x_grid_spacer(|input| marks(input, 64.0))
        .y_grid_spacer(|input| marks(input, 30.0))
        .x_axis_formatter(|mark, _| label(mark))
        .y_axis_formatter(|mark, _| label(mark))
        .grid_color(theme::grid(ui))
        .grid_fade(0.0)
        .show_background(false)
        .allow_boxed_zoom(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_two_or_five() {
        assert_eq!([0.11, 0.2, 0.3, 0.7, 1.0, 17.0].map(nice), [0.2, 0.2, 0.5, 1.0, 1.0, 20.0]);
    }

    #[test]
    fn labels_have_the_decimals_of_their_step() {
        let of = |value: f64, step_size: f64| label(GridMark { value, step_size });
        assert_eq!([of(0.5, 0.5), of(1.0, 0.5), of(-1e-17, 0.5), of(20.0, 10.0)], ["0.5", "1.0", "0", "20"]);
        assert_eq!([of(0.02, 0.02), of(2e6, 1e6), of(3e-8, 1e-8)], ["0.02", "2e6", "3e-8"]);
    }

    /// What the first frame leaves for numbers and titles is what later ones need: nothing is cut and nothing moves.
    #[test]
    fn bug_13_the_first_frame_has_room_for_numbers_and_titles() {
        let ctx = egui::Context::default();
        theme::set_up(&ctx);
        for height in [0.005, 3.0, 250.0] {
            let mut frames = vec![];
            for _ in 0..4 {
                let input = egui::RawInput {
                    screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(800.0, 400.0))),
                    ..Default::default()
                };
                let mut output = ctx.run_ui(input, |ui| {
                    let shown = plot(ui, format!("{height}"), "step", "nats per row").show(ui, |plot| {
                        plot.line(egui_plot::Line::new("y", vec![[0.0, -height], [1000.0, height]]));
                    });
                    frames.push(*shown.transform.frame());
                });
                output.textures_delta.clear();
            }
            assert!(frames.windows(2).all(|f| f[0] == f[1]), "{height}: {frames:?}");
        }
    }

    /// 372 points for 9.4 units: a unit is 40 points wide, so two units hold a label.
    #[test]
    fn a_narrow_plot_has_labels_too() {
        let input = GridInput { bounds: (-4.7, 4.7), base_step_size: 9.4 / 372.0 * CLOSEST };
        let values: Vec<f64> = marks(input, 64.0).iter().map(|m| m.value).collect();
        assert_eq!(values, [-4.0, -2.0, 0.0, 2.0, 4.0]);
    }
}
