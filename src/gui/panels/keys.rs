//! Recipe keys as widgets: the tip of each is the key's own help and default, so that the app and `vifo fit --keys` agree.

use crate::data::Task;
use crate::method::{self, Knob, KnobValue};
use crate::recipe::keys;
use crate::recipe::{Recipe, Schedule};
use eframe::egui::{self, ComboBox, DragValue, Slider, SliderClamping};
use std::ops::RangeInclusive;

/// "Weight of the regularizer on auxiliary inputs (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0."
pub fn tip(path: &str) -> String {
    let Some(key) = keys::find(path) else { return path.to_string() };
    let default = if key.default.is_empty() { String::new() } else { format!(", default {}", key.default) };
    format!("{} Recipe key {path}{default}.", key.help).trim().to_string()
}

/// A slider over decades whose lower end is zero.
pub fn weight_ui(ui: &mut egui::Ui, name: &str, path: &str, value: &mut f64, range: RangeInclusive<f64>) {
    let slider = Slider::new(value, range)
        .logarithmic(true)
        .smallest_positive(1e-4)
        .max_decimals(4)
        .clamping(SliderClamping::Edits)
        .text(name);
    ui.add(slider).on_hover_text(tip(path));
}

pub fn optional_ui(
    ui: &mut egui::Ui,
    name: &str,
    path: &str,
    value: &mut Option<f64>,
    default: f64,
    range: RangeInclusive<f64>,
) {
    let mut now = value.unwrap_or(default);
    let slider =
        Slider::new(&mut now, range).logarithmic(true).max_decimals(4).clamping(SliderClamping::Edits).text(name);
    if ui.add(slider).on_hover_text(tip(path)).changed() {
        *value = Some(now);
    }
}

pub fn whole_ui(ui: &mut egui::Ui, name: &str, path: &str, value: &mut u32, range: RangeInclusive<u32>) {
    ui.horizontal(|ui| {
        let label = ui.label(name);
        let speed = f64::from(*range.end()) * 0.001;
        ui.add(DragValue::new(value).range(range).speed(speed.clamp(0.05, 10.0)))
            .labelled_by(label.id)
            .on_hover_text(tip(path));
    });
}

/// A method by the name that people know.
pub fn method_name(key: &str) -> &str {
    method::find(key).map_or(key, |m| m.title())
}

/// Whether a method can learn such a target.
pub fn suits(name: &str, task: Task) -> bool {
    method::find(name).is_none_or(|m| m.learns(task))
}

/// The methods that suit the task; true where another was chosen.
pub fn method_ui(ui: &mut egui::Ui, label: &str, name: &mut String, task: Task) -> bool {
    let before = name.clone();
    let shown = ComboBox::from_label(label).width(150.0).selected_text(method_name(name)).show_ui(ui, |ui| {
        for m in method::all().into_iter().filter(|m| m.learns(task)) {
            ui.selectable_value(name, m.name().to_string(), m.title());
        }
    });
    shown.response.on_hover_text("How the network's uncertainty is learnt. Another method restarts training.");
    *name != before
}

/// Another method in a draft, beside a training that runs: what an earlier choice took away for its own sake comes back.
pub fn choose_method(draft: &mut Recipe, running: Option<&Recipe>) {
    if let Some(running) = running {
        draft.method.eta_aux = running.method.eta_aux;
        draft.method.expectation = running.method.expectation;
        draft.prior = running.prior.clone();
        let (to, from) = (&mut draft.train, &running.train);
        (to.patience, to.optimizer, to.schedule) = (from.patience, from.optimizer, from.schedule);
        draft.net.dropout = running.net.dropout;
    }
    method::adapt(draft);
}

/// A number of the method's own.
fn knob_ui(ui: &mut egui::Ui, recipe: &mut Recipe, knob: Knob) {
    let Knob { label, key, range: (low, high), of } = knob;
    match of(recipe) {
        KnobValue::Given(value) if low == 0.0 => weight_ui(ui, label, key, value, low..=high),
        KnobValue::Given(value) => {
            let slider = Slider::new(value, low..=high).logarithmic(true).clamping(SliderClamping::Edits).text(label);
            ui.add(slider).on_hover_text(tip(key));
        }
        KnobValue::Optional(value, default) => optional_ui(ui, label, key, value, default, low..=high),
    }
}

/// eta, eta_aux, the prior, the learning rate and M: what a running training takes up at its next step.
pub fn live_keys_ui(ui: &mut egui::Ui, recipe: &mut Recipe, lr: f64) {
    let Some(method) = method::find(&recipe.method.name) else { return };
    if method::reads(method, "method.eta") {
        let mut eta = method::usual_eta(recipe);
        let before = eta;
        weight_ui(ui, "eta", "method.eta", &mut eta, 0.0..=10.0);
        if eta != before {
            recipe.method.eta = Some(eta);
        }
    }
    for knob in method.knobs() {
        knob_ui(ui, recipe, knob);
    }
    optional_ui(ui, "learning rate", "train.lr", &mut recipe.train.lr, lr, 1e-5..=1.0);
    if method::reads(method, "method.samples") {
        let samples = Slider::new(&mut recipe.method.samples, 1..=100)
            .logarithmic(true)
            .clamping(SliderClamping::Edits)
            .text("samples M");
        ui.add(samples).on_hover_text(tip("method.samples"));
    }
    if method.usual().schedule == Schedule::Swa {
        return;
    }
    let mut cosine = recipe.train.schedule.is_none_or(|s| s == Schedule::Cosine);
    if ui.checkbox(&mut cosine, "rate falls to 0 (cosine)").on_hover_text(tip("train.schedule")).changed() {
        recipe.train.schedule = Some(if cosine { Schedule::Cosine } else { Schedule::Constant });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::METHODS;

    #[test]
    fn every_method_has_a_name_and_every_tip_its_default() {
        let names: Vec<&str> = METHODS.iter().map(|m| method_name(m.name())).collect();
        assert!(names.contains(&"VIFO-mean, all") && names.contains(&"VI-naive"), "{names:?}");
        let wanted =
            "Weight of the regularizer on auxiliary inputs (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0.";
        assert_eq!(tip("method.eta_aux"), wanted);
    }

    #[test]
    fn bug_2_the_method_in_training_comes_back_with_all_its_keys() {
        for running in METHODS.iter().map(|m| m.name()) {
            let mut t = Recipe::parse("[data]\ntoy = \"moons\"\n", "t").expect("a recipe");
            keys::set(&mut t, "method.name", running, "t").expect("a method");
            let mut running = crate::method::checked(&t, "t").expect("a recipe");
            running.train.schedule = Some(Schedule::Constant);
            running.method.eta_aux = 1.0;
            method::adapt(&mut running);
            for other in METHODS.iter().map(|m| m.name()) {
                let mut draft = running.clone();
                for method in [other.to_string(), running.method.name.clone()] {
                    draft.method.name = method;
                    choose_method(&mut draft, Some(&running));
                }
                assert_eq!(draft, running, "{} -> {other} and back", running.method.name);
            }
        }
    }

    #[test]
    fn bug_1_dirichlet_is_offered_for_classes_alone() {
        let offered = |task| METHODS.iter().filter(|m| suits(m.name(), task)).count();
        assert_eq!(offered(Task::Classification), METHODS.len());
        assert_eq!(offered(Task::Regression), METHODS.len() - 1);
        assert!(!suits("dirichlet", Task::Regression));
    }

    #[test]
    fn any_method_follows_any_other() {
        for from in METHODS {
            for to in METHODS {
                let mut t = Recipe::parse("[data]\ntoy = \"moons\"\n", "t").expect("a recipe");
                keys::set(&mut t, "method.name", from.name(), "t").expect("a method");
                let mut r = crate::method::checked(&t, "t").expect("a recipe");
                if from.takes_auxiliary_inputs() {
                    r.method.eta_aux = 1.0;
                }
                (r.prior.variance, r.prior.alpha) = (Some(3.0), Some(2.0));
                r.method.name = to.name().into();
                method::adapt(&mut r);
                let text = r.to_toml().expect("TOML");
                let again = Recipe::parse(&text, "t").and_then(|t| crate::method::checked(&t, "t"));
                assert_eq!(again.as_ref(), Ok(&r), "{from:?} -> {to:?}");
            }
        }
    }
}
