//! Recipe keys as widgets: label, range and tip of each are the key's own, so that the app and `vifo fit --keys` agree.

use crate::data::Task;
use crate::method::{self, Knob, KnobValue};
use crate::recipe::keys::{self, Key};
use crate::recipe::{Likelihood, Recipe, Schedule, key};
use crate::train::plan::usual_lr;
use eframe::egui::{self, ComboBox, DragValue, Slider, SliderClamping};

/// "Weight of the regularizer on auxiliary inputs, ... (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0."
pub fn tip(key: &Key) -> String {
    let default = key.default().map_or(String::new(), |default| format!(", default {default}"));
    format!("{} Recipe key {}{default}.", key.help, key.path).trim().to_string()
}

/// The label of a key's widget, and the ends of its range.
fn widget(key: &Key) -> (&'static str, f64, f64) {
    key.widget.map_or((key.path, 0.0, 1.0), |w| (w.label, w.low, w.high))
}

/// A slider over decades; one whose lower end is zero shows it below 1e-4.
pub fn slider_ui<N: egui::emath::Numeric>(ui: &mut egui::Ui, key: &Key, value: &mut N) -> egui::Response {
    let (label, low, high) = widget(key);
    let slider = Slider::new(value, N::from_f64(low)..=N::from_f64(high)).logarithmic(true);
    let slider = if low == 0.0 { slider.smallest_positive(1e-4) } else { slider };
    let slider = if N::INTEGRAL { slider } else { slider.max_decimals(4) };
    ui.add(slider.clamping(SliderClamping::Edits).text(label)).on_hover_text(tip(key))
}

/// The same for a key that the recipe may leave out: `usual` is shown then, and only a change writes it.
fn optional_ui(ui: &mut egui::Ui, key: &Key, value: &mut Option<f64>, usual: f64) {
    let mut now = value.unwrap_or(usual);
    if slider_ui(ui, key, &mut now).changed() {
        *value = Some(now);
    }
}

pub fn tick_ui(ui: &mut egui::Ui, key: &Key, value: &mut bool) {
    ui.checkbox(value, widget(key).0).on_hover_text(tip(key));
}

pub fn whole_ui(ui: &mut egui::Ui, key: &Key, value: &mut u32) {
    let (label, low, high) = widget(key);
    ui.horizontal(|ui| {
        let label = ui.label(label);
        ui.add(DragValue::new(value).range(low as u32..=high as u32).speed((high * 0.001).clamp(0.05, 10.0)))
            .labelled_by(label.id)
            .on_hover_text(tip(key));
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
        draft.method.likelihood = running.method.likelihood;
        draft.prior = running.prior.clone();
        let (to, from) = (&mut draft.train, &running.train);
        (to.patience, to.optimizer, to.schedule) = (from.patience, from.optimizer, from.schedule);
        draft.net.dropout = running.net.dropout;
    }
    method::adapt(draft);
}

/// A number of the method's own.
fn knob_ui(ui: &mut egui::Ui, recipe: &mut Recipe, knob: Knob) {
    let Some(key) = keys::find(knob.key) else { return };
    match (knob.of)(recipe) {
        KnobValue::Given(value) => drop(slider_ui(ui, key, value)),
        KnobValue::Optional(value, usual) => optional_ui(ui, key, value, usual),
    }
}

/// eta, eta_aux, the prior, the learning rate, M and the tails of a Student-t: what a running training takes up at its next step.
pub fn live_keys_ui(ui: &mut egui::Ui, recipe: &mut Recipe) {
    let Some(method) = method::find(&recipe.method.name) else { return };
    if method::reads(method, key!(method.eta).path) {
        let usual = method::usual_eta(recipe);
        optional_ui(ui, key!(method.eta), &mut recipe.method.eta, usual);
    }
    for knob in method.knobs() {
        knob_ui(ui, recipe, knob);
    }
    let lr = key!(train.lr);
    let optimizer = recipe.train.optimizer.unwrap_or(method.usual().optimizer);
    let usual = usual_lr(recipe.data.images.is_some(), optimizer);
    optional_ui(ui, lr, &mut recipe.train.lr, usual);
    if method::reads(method, key!(method.samples).path) {
        slider_ui(ui, key!(method.samples), &mut recipe.method.samples);
    }
    if recipe.method.likelihood == Likelihood::StudentT {
        slider_ui(ui, key!(method.nu), &mut recipe.method.nu);
    }
    if method.usual().schedule == Schedule::Swa {
        return;
    }
    let mut cosine = recipe.train.schedule.is_none_or(|s| s == Schedule::Cosine);
    if ui.checkbox(&mut cosine, "rate falls to 0 (cosine)").on_hover_text(tip(key!(train.schedule))).changed() {
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
        let wanted = "Weight of the regularizer on auxiliary inputs, which are drawn outside the data, too (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0.";
        assert_eq!(tip(key!(method.eta_aux)), wanted);
    }

    #[test]
    fn bug_2_the_method_in_training_comes_back_with_all_its_keys() {
        for running in METHODS.iter().map(|m| m.name()) {
            let mut t = Recipe::parse("[data]\ntoy = \"moons\"\n", "t").expect("a recipe");
            keys::set(&mut t, "method.name", running, "t").expect("a method");
            let mut running = crate::method::checked(&t, "t").expect("a recipe");
            running.train.schedule = Some(Schedule::Constant);
            running.method.eta_aux = 1.0;
            running.method.likelihood = Likelihood::StudentT;
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
