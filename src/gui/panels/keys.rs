//! Recipe keys as widgets: the tip of each is the key's own help and default, so that the app and `vifo fit --keys` agree.

use crate::data::Task;
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
pub fn live_keys_ui(ui: &mut egui::Ui, recipe: &mut Recipe, lr: f64) {
    let method = recipe.method.name.clone();
    let (vifo, vi) = (method.starts_with("vifo-"), method.starts_with("vi-"));
    if vifo || vi || method == "dirichlet" {
        let mut eta = recipe.eta();
        let before = eta;
        weight_ui(ui, "eta", "method.eta", &mut eta, 0.0..=10.0);
        if eta != before {
            recipe.method.eta = Some(eta);
        }
    }
    match method.as_str() {
        "repulsive" => {
            let strength = &mut recipe.repulsive.strength;
            weight_ui(ui, "strength", "repulsive.strength", strength, 0.0..=100.0);
        }
        "vbll" => weight_ui(ui, "regularizer", "vbll.regularizer", &mut recipe.vbll.regularizer, 0.0..=100.0),
        "laplace" => {
            let slider = Slider::new(&mut recipe.laplace.prior_variance, 1e-3..=100.0)
                .logarithmic(true)
                .clamping(SliderClamping::Edits)
                .text("prior variance");
            ui.add(slider).on_hover_text(tip("laplace.prior_variance"));
        }
        "dropout" => optional_ui(ui, "dropout", "net.dropout", &mut recipe.net.dropout, 0.1, 0.001..=0.9),
        _ => {}
    }
    if vifo && method != "vifo-l2" {
        weight_ui(ui, "eta_aux", "method.eta_aux", &mut recipe.method.eta_aux, 0.0..=10.0);
    }
    match method.split_once('-').map_or("", |(_, r)| r.trim_end_matches("_all")) {
        "naive" => {
            let default = if vi { 0.05 } else { 1.0 };
            optional_ui(ui, "prior variance", "prior.variance", &mut recipe.prior.variance, default, 1e-3..=100.0);
        }
        "mean" => {
            let slider = Slider::new(&mut recipe.prior.gamma, 1e-3..=10.0)
                .logarithmic(true)
                .clamping(SliderClamping::Edits)
                .text("prior gamma");
            ui.add(slider).on_hover_text(tip("prior.gamma"));
            let slider = Slider::new(&mut recipe.prior.a, 0.001..=1.0)
                .logarithmic(true)
                .clamping(SliderClamping::Edits)
                .text("prior a");
            ui.add(slider).on_hover_text(tip("prior.a"));
        }
        r @ ("mv" | "eb") => {
            let (alpha, beta) = if r == "mv" { (0.5, 0.01) } else { (4.4798, 10.0) };
            optional_ui(ui, "prior alpha", "prior.alpha", &mut recipe.prior.alpha, alpha, 1e-3..=100.0);
            optional_ui(ui, "prior beta", "prior.beta", &mut recipe.prior.beta, beta, 1e-3..=100.0);
        }
        _ => {}
    }
    optional_ui(ui, "learning rate", "train.lr", &mut recipe.train.lr, lr, 1e-5..=1.0);
    if vifo || vi {
        let samples = Slider::new(&mut recipe.method.samples, 1..=100)
            .logarithmic(true)
            .clamping(SliderClamping::Edits)
            .text("samples M");
        ui.add(samples).on_hover_text(tip("method.samples"));
    }
    if matches!(method.as_str(), "swa" | "swag") {
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

    #[test]
    fn every_method_has_a_name_and_every_tip_its_default() {
        let names: Vec<String> = keys::METHODS.iter().map(|m| method_name(m)).collect();
        assert!(names.contains(&"VIFO-mean, all".to_string()) && names.contains(&"VI-naive".to_string()), "{names:?}");
        let wanted =
            "Weight of the regularizer on auxiliary inputs (VIFO); 0 = off. Recipe key method.eta_aux, default 0.0.";
        assert_eq!(tip("method.eta_aux"), wanted);
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
