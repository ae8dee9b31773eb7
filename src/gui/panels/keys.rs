//! Recipe keys as widgets: label, range and tip of each are the key's own, so that the app and `vifo fit --keys` agree.

use crate::data::Task;
use crate::recipe::keys::{self, Key};
use crate::recipe::{Recipe, Schedule, key};
use eframe::egui::{self, ComboBox, DragValue, Slider, SliderClamping};

/// "Weight of the regularizer on auxiliary inputs (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0."
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

pub fn whole_ui(ui: &mut egui::Ui, key: &Key, value: &mut u32) {
    let (label, low, high) = widget(key);
    ui.horizontal(|ui| {
        let label = ui.label(label);
        ui.add(DragValue::new(value).range(low as u32..=high as u32).speed((high * 0.001).clamp(0.05, 10.0)))
            .labelled_by(label.id)
            .on_hover_text(tip(key));
    });
}

/// The methods by the names that people know.
pub fn method_name(key: &str) -> String {
    match key {
        "base" => "Plain network".into(),
        "swa" | "swag" | "vbll" => key.to_uppercase(),
        "dropout" => "MC dropout".into(),
        "dirichlet" => "Dirichlet".into(),
        "repulsive" => "Repulsive ensemble".into(),
        "laplace" => "Last-layer Laplace".into(),
        "vifo-l2" => "VIFO, L2 on weights".into(),
        _ => {
            let (family, regularizer) = key.split_once('-').unwrap_or((key, ""));
            format!("{}-{}", family.to_uppercase(), regularizer.replace('_', ", "))
        }
    }
}

/// Whether a method can learn such a target: Dirichlet spreads its belief over classes.
pub fn suits(method: &str, task: Task) -> bool {
    task == Task::Classification || method != "dirichlet"
}

/// The methods that suit the task; true where another was chosen.
pub fn method_ui(ui: &mut egui::Ui, label: &str, method: &mut String, task: Task) -> bool {
    let before = method.clone();
    let shown = ComboBox::from_label(label).width(150.0).selected_text(method_name(method)).show_ui(ui, |ui| {
        for key in keys::METHODS.iter().filter(|key| suits(key, task)) {
            ui.selectable_value(method, key.to_string(), method_name(key));
        }
    });
    shown.response.on_hover_text("How the network's uncertainty is learnt. Another method restarts training.");
    *method != before
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
    suit_method(draft);
}

/// Makes the other keys fit a method just chosen: what it does not know would be refused.
pub fn suit_method(recipe: &mut Recipe) {
    let method = recipe.method.name.clone();
    if !method.starts_with("vifo-") || method == "vifo-l2" {
        recipe.method.eta_aux = 0.0;
    }
    if !method.starts_with("vifo-") {
        recipe.method.expectation = crate::recipe::Expectation::Auto;
    }
    let regularizer = method.split_once('-').map_or("", |(_, r)| r.trim_end_matches("_all"));
    if !matches!(regularizer, "mv" | "eb") {
        (recipe.prior.alpha, recipe.prior.beta) = (None, None);
    }
    if regularizer != "naive" {
        recipe.prior.variance = None;
    }
    if matches!(method.as_str(), "swa" | "swag") {
        // They average to the last epoch, at the rate of a schedule of their own.
        (recipe.train.patience, recipe.train.optimizer, recipe.train.schedule) = (None, None, None);
    }
    if method == "dropout" && recipe.net.dropout == Some(0.0) {
        recipe.net.dropout = None;
    }
}

/// eta, eta_aux, the prior, the learning rate and M: what a running training takes up at its next step.
pub fn live_keys_ui(ui: &mut egui::Ui, recipe: &mut Recipe) {
    let method = recipe.method.name.clone();
    let (vifo, vi) = (method.starts_with("vifo-"), method.starts_with("vi-"));
    if vifo || vi || method == "dirichlet" {
        let usual = recipe.eta();
        optional_ui(ui, key!(method.eta), &mut recipe.method.eta, usual);
    }
    match method.as_str() {
        "repulsive" => drop(slider_ui(ui, key!(repulsive.strength), &mut recipe.repulsive.strength)),
        "vbll" => drop(slider_ui(ui, key!(vbll.regularizer), &mut recipe.vbll.regularizer)),
        "laplace" => drop(slider_ui(ui, key!(laplace.prior_variance), &mut recipe.laplace.prior_variance)),
        "dropout" => {
            let key = key!(net.dropout);
            optional_ui(ui, key, &mut recipe.net.dropout, key.usual.unwrap_or(0.0));
        }
        _ => {}
    }
    if vifo && method != "vifo-l2" {
        slider_ui(ui, key!(method.eta_aux), &mut recipe.method.eta_aux);
    }
    let prior = &mut recipe.prior;
    match method.split_once('-').map_or("", |(_, r)| r.trim_end_matches("_all")) {
        "naive" => optional_ui(ui, key!(prior.variance), &mut prior.variance, if vi { 0.05 } else { 1.0 }),
        "mean" => {
            slider_ui(ui, key!(prior.gamma), &mut prior.gamma);
            slider_ui(ui, key!(prior.a), &mut prior.a);
        }
        r @ ("mv" | "eb") => {
            let (alpha, beta) = if r == "mv" { (0.5, 0.01) } else { (4.4798, 10.0) };
            optional_ui(ui, key!(prior.alpha), &mut prior.alpha, alpha);
            optional_ui(ui, key!(prior.beta), &mut prior.beta, beta);
        }
        _ => {}
    }
    let lr = key!(train.lr);
    let usual = if recipe.data.images.is_some() { 0.001 } else { lr.usual.unwrap_or(0.0) };
    optional_ui(ui, lr, &mut recipe.train.lr, usual);
    if vifo || vi {
        slider_ui(ui, key!(method.samples), &mut recipe.method.samples);
    }
    if matches!(method.as_str(), "swa" | "swag") {
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

    #[test]
    fn every_method_has_a_name_and_every_tip_its_default() {
        let names: Vec<String> = keys::METHODS.iter().map(|m| method_name(m)).collect();
        assert!(names.contains(&"VIFO-mean, all".to_string()) && names.contains(&"VI-naive".to_string()), "{names:?}");
        let wanted =
            "Weight of the regularizer on auxiliary inputs (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0.";
        assert_eq!(tip(key!(method.eta_aux)), wanted);
    }

    #[test]
    fn bug_2_the_method_in_training_comes_back_with_all_its_keys() {
        for running in keys::METHODS {
            let mut t = Recipe::parse("[data]\ntoy = \"moons\"\n", "t").expect("a recipe");
            keys::set(&mut t, "method.name", running, "t").expect("a method");
            let mut running = Recipe::from_table(&t, "t").expect("a recipe");
            running.train.schedule = Some(Schedule::Constant);
            running.method.eta_aux = 1.0;
            suit_method(&mut running);
            for other in keys::METHODS {
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
        let offered = |task| keys::METHODS.iter().filter(|m| suits(m, task)).count();
        assert_eq!(offered(Task::Classification), keys::METHODS.len());
        assert_eq!(offered(Task::Regression), keys::METHODS.len() - 1);
        assert!(!suits("dirichlet", Task::Regression));
    }

    #[test]
    fn any_method_follows_any_other() {
        for from in keys::METHODS {
            for to in keys::METHODS {
                let mut t = Recipe::parse("[data]\ntoy = \"moons\"\n", "t").expect("a recipe");
                keys::set(&mut t, "method.name", from, "t").expect("a method");
                let mut r = Recipe::from_table(&t, "t").expect("a recipe");
                if from.starts_with("vifo-") && *from != "vifo-l2" {
                    r.method.eta_aux = 1.0;
                }
                (r.prior.variance, r.prior.alpha) = (Some(3.0), Some(2.0));
                r.method.name = to.to_string();
                suit_method(&mut r);
                let text = r.to_toml().expect("TOML");
                let again = Recipe::parse(&text, "t").and_then(|t| Recipe::from_table(&t, "t"));
                assert_eq!(again.as_ref(), Ok(&r), "{from} -> {to}");
            }
        }
    }
}
