//! Learning curves: of the playground, of the training on your data, and of the runs that are ticked, on one plot.

use super::data::DataPage;
use super::playground::Playground;
use super::runs::RunsPage;
use crate::gui::export::{Exports, Plottable};
use crate::gui::plots::curves::{Curve, CurvesView, MOST_SMOOTHING, curves_ui};
use crate::gui::plots::navigate::HINT;
use crate::gui::settings::{CurveAxis, CurveOptions, Settings};
use crate::gui::theme::Colours;
use crate::train::EpochRow;
use eframe::egui;

/// Names of the curves of a training, in the order of `CurveCache`.
pub const NAMES: [&str; 8] = [
    "loss",
    "expected NLL",
    "regularizer, weighted",
    "auxiliary, weighted",
    "validation NLL",
    "test NLL",
    "validation RMSE or accuracy",
    "test RMSE or accuracy",
];

/// The curves of a training as columns, extended row by row. All that are in nats are of the target in its own unit, as held-out
/// figures and results are; a row has the loss of the standardised target.
#[derive(Debug, Clone, Default)]
pub struct CurveCache {
    /// ln of the target's sd: what the density's unit adds to a mean loss in nats.
    shift: f64,
    step: Vec<f64>,
    epoch: Vec<f64>,
    seconds: Vec<f64>,
    columns: [Vec<f64>; 8],
    /// First and last row taken over: other ones mean another training.
    ends: Option<(EpochRow, EpochRow)>,
}

impl CurveCache {
    /// Takes over what is new of `rows`; `target_sd` as `Encoder::target_sd`.
    pub fn update(&mut self, rows: &[EpochRow], target_sd: f64) {
        let shift = if target_sd > 0.0 { libm::log(target_sd) } else { 0.0 };
        if self.shift != shift {
            *self = CurveCache { shift, ..CurveCache::default() };
        }
        let done = self.step.len();
        let continues = match (&self.ends, rows.first(), done.checked_sub(1).and_then(|i| rows.get(i))) {
            (Some((first, last)), Some(a), Some(b)) => first == a && last == b,
            (None, ..) => true,
            _ => false,
        };
        if !continues {
            *self = CurveCache { shift, ..CurveCache::default() };
        }
        for r in &rows[self.step.len().min(rows.len())..] {
            self.push(r);
        }
        self.ends = rows.first().copied().zip(rows.last().copied());
    }

    fn push(&mut self, r: &EpochRow) {
        self.step.push(r.step as f64);
        self.epoch.push(f64::from(r.epoch));
        self.seconds.push(r.seconds);
        // The row has the terms without their weights, and the loss with them.
        let penalty = r.loss - r.expected_nll;
        let weighted = if r.auxiliary == 0.0 { penalty } else { f64::NAN };
        let (regularizer, auxiliary) = match (r.eta, r.eta_aux) {
            (Some(eta), Some(eta_aux)) => (eta * r.regularizer, eta_aux * r.auxiliary),
            _ => (weighted, f64::NAN),
        };
        let option = |v: Option<f64>| v.unwrap_or(f64::NAN);
        let values = [
            r.loss + self.shift,
            r.expected_nll + self.shift,
            regularizer,
            auxiliary,
            option(r.validation_nll),
            option(r.test_nll),
            option(r.validation_score),
            option(r.test_score),
        ];
        for (column, v) in self.columns.iter_mut().zip(values) {
            column.push(v);
        }
    }

    pub fn len(&self) -> usize {
        self.step.len()
    }
    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    fn x(&self, axis: CurveAxis) -> &[f64] {
        match axis {
            CurveAxis::Step => &self.step,
            CurveAxis::Epoch => &self.epoch,
            CurveAxis::Seconds => &self.seconds,
        }
    }

    /// The chosen curves that hold anything.
    pub fn shown(&self, options: &CurveOptions) -> Vec<Curve<'_>> {
        let chosen = [
            options.loss,
            options.expected_nll,
            options.regularizer,
            options.auxiliary,
            options.held_out_nll,
            options.held_out_nll,
            options.score,
            options.score,
        ];
        let any = |column: &[f64]| column.iter().any(|v| v.is_finite() && *v != 0.0);
        (0..NAMES.len())
            .filter(|i| chosen[*i] && any(&self.columns[*i]))
            .map(|i| Curve {
                name: NAMES[i].into(),
                x: self.x(options.axis),
                y: &self.columns[i],
                sd: None,
                look: Some(i),
            })
            .collect()
    }
}

#[derive(Default)]
pub struct CurvesPage {
    data: CurveCache,
    /// Whether the playground's own curves are shown.
    hide_playground: bool,
}

pub fn x_label(axis: CurveAxis) -> &'static str {
    match axis {
        CurveAxis::Step => "step",
        CurveAxis::Epoch => "epoch",
        CurveAxis::Seconds => "seconds",
    }
}

pub fn options_ui(ui: &mut egui::Ui, options: &mut CurveOptions) {
    ui.horizontal_wrapped(|ui| {
        ui.label("against");
        for (axis, name) in [(CurveAxis::Step, "step"), (CurveAxis::Epoch, "epoch"), (CurveAxis::Seconds, "seconds")] {
            ui.selectable_value(&mut options.axis, axis, name);
        }
        ui.separator();
        ui.checkbox(&mut options.log, "logarithmic").on_hover_text("Logarithmic beyond a threshold, linear near zero");
        smoothing_ui(ui, options);
        ui.separator();
        ui.checkbox(&mut options.loss, "loss").on_hover_text(
            "Expected NLL + eta x regularizer + eta_aux x auxiliary, in nats per row of the target in its own unit",
        );
        ui.checkbox(&mut options.expected_nll, "expected NLL");
        ui.checkbox(&mut options.regularizer, "regularizer").on_hover_text("With its weight eta");
        ui.checkbox(&mut options.auxiliary, "auxiliary").on_hover_text("With its weight eta_aux");
        ui.checkbox(&mut options.held_out_nll, "held-out NLL")
            .on_hover_text("Of the validation rows, and of the test rows where a training watches them");
        ui.checkbox(&mut options.score, "RMSE or accuracy").on_hover_text("In the target's unit, or a share");
    });
}

/// How far the curves are smoothed.
pub fn smoothing_ui(ui: &mut egui::Ui, options: &mut CurveOptions) {
    // With its slider in one row, or in the next.
    if ui.layout().main_wrap() && ui.available_size_before_wrap().x < 240.0 {
        ui.end_row();
    }
    let label = ui.label("smoothing");
    ui.spacing_mut().slider_width = 70.0;
    let slider = egui::Slider::new(&mut options.smoothing, 0.0..=MOST_SMOOTHING).max_decimals(2);
    let tip = "Running mean: 0 shows every value, 0.9 about the mean of the last ten. The values themselves stay in sight, faint";
    ui.add(slider).labelled_by(label.id).on_hover_text(tip);
}

impl CurvesPage {
    pub fn curves_ui(
        &mut self,
        ui: &mut egui::Ui,
        settings: &mut Settings,
        playground: &Playground,
        data: &DataPage,
        runs: &RunsPage,
        exports: &mut Exports,
    ) {
        if let Some(slot) = data.group.slots.first() {
            self.data.update(&slot.run.rows, slot.points.target_sd);
        }
        let ticked = runs.series(&settings.curves, settings.spread);
        egui::CentralPanel::default().show(ui, |ui| {
            options_ui(ui, &mut settings.curves);
            ui.horizontal_wrapped(|ui| {
                let mut shown = !self.hide_playground;
                ui.checkbox(&mut shown, "playground's curves");
                self.hide_playground = !shown;
                ui.weak("Tick runs on the page Runs to lay them over; seeds of one recipe become a mean, shaded as chosen there. A click on a name hides its curve.");
                ui.weak(HINT);
            });
            let mut all: Vec<Curve> = vec![];
            if !self.hide_playground {
                all.extend(from(0, "playground", playground.curves.shown(&settings.curves)));
            }
            if !data.group.slots.is_empty() {
                all.extend(from(1, "your data", self.data.shown(&settings.curves)));
            }
            for (i, (name, series)) in ticked.iter().enumerate() {
                all.extend(from(2 + i, name, series.iter().map(Curve::of).collect()));
            }
            let height = ui.available_height().max(150.0);
            let axis = x_label(settings.curves.axis);
            let y_label = if settings.curves.score {
                "nats per row; RMSE in the target's unit or accuracy"
            } else {
                "nats per row"
            };
            let view = CurvesView { id: "curves", x_label: axis, y_label, log: settings.curves.log, smoothing: settings.curves.smoothing, height };
            let colours = Colours::of(ui);
            curves_ui(ui, &view, &all, |i| colours.series(i));
            exports.offer(|| vec![Plottable::curves("learning_curves", axis, settings.curves.log, &all)]);
        });
    }
}

/// The curves with the name of their training in front. What they are of chooses the colour, the training the dash.
fn from<'a>(nth: usize, name: &str, curves: Vec<Curve<'a>>) -> Vec<Curve<'a>> {
    curves
        .into_iter()
        .map(|c| {
            let role = NAMES.iter().position(|role| *role == c.name).unwrap_or(0);
            let name = format!("{name}: {}", c.name);
            Curve { look: Some(role + NAMES.len() * nth), ..c.named(name) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_follows_its_rows_and_begins_anew_with_another_training() {
        let row = |step: u64, loss: f64| EpochRow { step, loss, expected_nll: 1.0, ..Default::default() };
        let mut cache = CurveCache::default();
        let mut rows = vec![row(10, 3.0), row(20, 2.0)];
        cache.update(&rows, 1.0);
        rows.push(row(30, 1.5));
        cache.update(&rows, 1.0);
        assert_eq!((cache.len(), cache.columns[0].clone()), (3, vec![3.0, 2.0, 1.5]));
        cache.update(&[row(10, 9.0)], 1.0);
        assert_eq!((cache.len(), cache.columns[0].clone()), (1, vec![9.0]));
        cache.update(&[], 1.0);
        assert!(cache.is_empty());
        // A target whose sd is e: a density of it is 1/e as high, its NLL one nat more.
        cache.update(&[EpochRow { validation_nll: Some(2.5), ..row(10, 1.5) }], std::f64::consts::E);
        let [loss, nll, penalty, validation] = [0, 1, 2, 4].map(|i| cache.columns[i].clone());
        assert_eq!([loss, nll, penalty, validation], [vec![2.5], vec![2.0], vec![0.5], vec![2.5]]);
        cache.update(&[], 1.0);
        let names: Vec<String> = {
            cache.update(&rows, 1.0);
            cache.shown(&CurveOptions::default()).into_iter().map(|s| s.name.to_string()).collect()
        };
        assert_eq!(names, ["loss", "expected NLL", "regularizer, weighted"], "what holds nothing is not shown");
    }
}
