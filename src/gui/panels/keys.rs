//! Recipe keys as widgets: label, range and tip of each are the key's own, so that the app and `vifo fit --keys` agree.

use super::tour::{self, Target};
use crate::data::Task;
use crate::method::{self, Family, Knob, KnobValue, Method};
use crate::recipe::keys::{self, Key};
use crate::recipe::{Likelihood, Recipe, Schedule, key};
use crate::train::plan::usual_lr;
use eframe::egui::{self, ComboBox, DragValue, RichText, Slider, SliderClamping};
use std::cell::Cell;

/// "Weight of the regularizer on auxiliary inputs, ... (VIFO); 0 = off. Default 0.0."
pub fn tip(key: &Key) -> String {
    let default = key.default().map_or(String::new(), |default| format!(" Default {}.", default.trim_matches('"')));
    format!("{}{default}", key.help)
}

/// The label of a key's widget, and the ends of its range.
fn widget(key: &Key) -> (&'static str, f64, f64) {
    key.widget.map_or((key.path, 0.0, 1.0), |w| (w.label, w.low, w.high))
}

/// A number that was typed and lies in `low..=high`; what does not is put down in `refused`.
fn admitted(text: &str, low: f64, high: f64, refused: &Cell<Option<f64>>) -> Option<f64> {
    let value = text.trim().replace('\u{2212}', "-").parse::<f64>().ok()?;
    if (low..=high).contains(&value) {
        return Some(value);
    }
    refused.set(Some(value));
    None
}

/// Says under a field what it has refused, until something else is entered there; `id` = a name of the field that stays, as a
/// slider's response has another while something is typed into it.
fn refusal_ui(
    ui: &mut egui::Ui,
    id: egui::Id,
    response: &egui::Response,
    refused: Option<f64>,
    (low, high): (f64, f64),
) {
    if let Some(value) = refused {
        ui.data_mut(|data| data.insert_temp(id, value));
    } else if response.changed() || response.dragged() {
        ui.data_mut(|data| data.remove::<f64>(id));
    }
    if let Some(value) = ui.data(|data| data.get_temp::<f64>(id)) {
        let text = format!("{} is refused: {} to {}", plain(value), plain(low), plain(high));
        ui.label(RichText::new(text).small().color(ui.visuals().warn_fg_color));
    }
}

/// "10", "0.001", "1e9".
fn plain(v: f64) -> String {
    if v != 0.0 && !(1e-5..1e7).contains(&v.abs()) { format!("{v:e}") } else { format!("{v}") }
}

/// A slider over decades; one whose lower end is zero shows it below 1e-4.
pub fn slider_ui<N: egui::emath::Numeric>(ui: &mut egui::Ui, key: &Key, value: &mut N) -> egui::Response {
    let (label, low, high) = widget(key);
    let slider = Slider::new(value, N::from_f64(low)..=N::from_f64(high)).logarithmic(true);
    let slider = if low == 0.0 { slider.smallest_positive(1e-4) } else { slider };
    let slider = if N::INTEGRAL { slider } else { slider.max_decimals(4) };
    let response = checked_slider_ui(ui, slider.text(label), (low, high));
    if key.path == key!(method.eta).path {
        tour::mark(ui.ctx(), Target::Eta, response.rect);
    }
    response.on_hover_text(tip(key))
}

/// A slider whose field refuses what is typed beyond `range`, and says so.
pub fn checked_slider_ui(ui: &mut egui::Ui, slider: Slider, range: (f64, f64)) -> egui::Response {
    let (refused, id) = (Cell::new(None), ui.next_auto_id().with("refused"));
    let slider = slider.clamping(SliderClamping::Edits).update_while_editing(false);
    let response = ui.add(slider.custom_parser(|text| admitted(text, range.0, range.1, &refused)));
    refusal_ui(ui, id, &response, refused.get(), range);
    response
}

/// A field for a whole number, which refuses what is typed beyond `range`, and says so.
pub fn checked_drag_ui<N: egui::emath::Numeric>(
    ui: &mut egui::Ui,
    value: &mut N,
    range: (f64, f64),
    speed: f64,
    label: egui::Id,
) -> egui::Response {
    let (refused, id) = (Cell::new(None), ui.next_auto_id().with("refused"));
    let drag = DragValue::new(value).range(N::from_f64(range.0)..=N::from_f64(range.1)).speed(speed);
    let drag = drag.update_while_editing(false).custom_parser(|text| admitted(text, range.0, range.1, &refused));
    let response = ui.add(drag).labelled_by(label);
    refusal_ui(ui, id, &response, refused.get(), range);
    response
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
    ui.horizontal_wrapped(|ui| {
        let label = ui.label(label);
        let speed = (high * 0.001).clamp(0.05, 10.0);
        checked_drag_ui(ui, value, (low, high), speed, label.id).on_hover_text(tip(key));
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

/// Why a method cannot learn such a target.
pub fn unsuited(method: &dyn Method, task: Task) -> Option<String> {
    (!method.learns(task)).then(|| match task {
        Task::Regression => "for classes only".into(),
        Task::Classification => "for numbers only".into(),
    })
}

/// All methods in their groups, with a line about each; those that `why_not` names are greyed, with the reason. True where another
/// was chosen.
pub fn method_ui(
    ui: &mut egui::Ui,
    label: &str,
    name: &mut String,
    why_not: &dyn Fn(&dyn Method) -> Option<String>,
) -> bool {
    let before = name.clone();
    // A list that goes on below must look so.
    let style = |style: &mut egui::Style| style.spacing.scroll = egui::style::ScrollStyle::solid();
    let combo =
        ComboBox::from_label(label).width(150.0).height(430.0).popup_style(egui::style::StyleModifier::new(style));
    let shown = combo.selected_text(method_name(name)).show_ui(ui, |ui| {
        let all = method::all();
        for (family, title) in Family::ALL {
            let of_family: Vec<_> = all.iter().filter(|m| m.family() == family).collect();
            if of_family.is_empty() {
                continue;
            }
            ui.label(RichText::new(title).small().strong());
            for m in of_family {
                let why = why_not(*m);
                let line = one_method_ui(ui, *m, m.name() == before, why.as_deref());
                if line.clicked() {
                    *name = m.name().into();
                }
            }
            ui.add_space(4.0);
        }
    });
    shown.response.on_hover_text("How the network's uncertainty is learnt. Another method restarts training.");
    *name != before
}

fn one_method_ui(ui: &mut egui::Ui, m: &dyn Method, chosen: bool, why_not: Option<&str>) -> egui::Response {
    let line = ui.add_enabled(why_not.is_none(), egui::Button::selectable(chosen, m.title()));
    let about = match why_not {
        Some(why) => format!("{} ({why})", m.about()),
        None => m.about().into(),
    };
    ui.horizontal(|ui| {
        ui.add_space(18.0);
        ui.label(RichText::new(about).small().weak());
    });
    // Once, when the list opens.
    let opened = line.id.with("opened");
    let pass = ui.ctx().cumulative_pass_nr();
    let last = ui.data_mut(|data| std::mem::replace(data.get_temp_mut_or_default::<u64>(opened), pass));
    if chosen && last + 1 < pass {
        line.scroll_to_me(Some(egui::Align::Center));
    }
    match why_not {
        Some(why) => line.on_disabled_hover_text(why),
        None => line,
    }
}

/// A draft before and after the last method that was chosen took away what it does not take.
#[derive(Default)]
pub struct TakenAway(Option<Box<(Recipe, Recipe)>>);

/// Another method in a draft, beside a training that runs: what an earlier choice took away for its own sake comes back, also where
/// that one has been trained since.
pub fn choose_method(draft: &mut Recipe, running: Option<&Recipe>, taken_away: &mut TakenAway) {
    if let Some(running) = running {
        draft.method.eta_aux = running.method.eta_aux;
        draft.method.expectation = running.method.expectation;
        draft.method.likelihood = running.method.likelihood;
        draft.prior = running.prior.clone();
        let (to, from) = (&mut draft.train, &running.train);
        (to.patience, to.optimizer, to.schedule) = (from.patience, from.optimizer, from.schedule);
        draft.net.dropout = running.net.dropout;
    }
    if let Some((before, after)) = taken_away.0.take().as_deref() {
        let name = key!(method.name).path;
        let untouched = keys::diff(before, after).into_iter().filter(|k| k.path != name && !k.differs(draft, after));
        untouched.collect::<Vec<_>>().into_iter().for_each(|k| k.copy(draft, before));
    }
    let before = draft.clone();
    method::adapt(draft);
    taken_away.0 = Some(Box::new((before, draft.clone())));
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
        let wanted = "Weight of the regularizer on auxiliary inputs, which are drawn outside the data, too (VIFO); 0 = off. Default 0.0.";
        assert_eq!(tip(key!(method.eta_aux)), wanted);
    }

    /// What the window shows of a key's help names no flag and no other key.
    #[test]
    fn tips_name_no_flag() {
        let also = ["train.epochs", "train.budget", "train.schedule", "method.likelihood", "data.task", "data.missing"];
        let also =
            also.into_iter().chain(["net.hidden", "net.activation", "data.noise", "data.delimiter", "data.header"]);
        let shown: Vec<&Key> =
            keys::KEYS.iter().filter(|k| k.widget.is_some()).chain(also.filter_map(keys::find)).collect();
        assert!(shown.len() > 25);
        for key in shown {
            let tip = tip(key);
            let names_a_key = keys::KEYS.iter().any(|k| k.path.contains('.') && tip.contains(k.path));
            assert!(!tip.contains("--") && !tip.contains('`') && !names_a_key, "{}: {tip}", key.path);
        }
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
                    choose_method(&mut draft, Some(&running), &mut TakenAway::default());
                }
                assert_eq!(draft, running, "{} -> {other} and back", running.method.name);
            }
        }
    }

    /// Trained in between, too: SWAG takes no auxiliary inputs and falls by a schedule of its own.
    #[test]
    fn a_visit_to_another_method_takes_nothing_away() {
        for first in METHODS.iter().map(|m| m.name()) {
            let mut t = Recipe::parse("[data]\ntoy = \"moons\"\n", "t").expect("a recipe");
            keys::set(&mut t, "method.name", first, "t").expect("a method");
            let mut draft = crate::method::checked(&t, "t").expect("a recipe");
            draft.train.schedule = Some(Schedule::Constant);
            draft.method.eta_aux = 1.0;
            method::adapt(&mut draft);
            let (wanted, mut running, mut taken_away) = (draft.clone(), draft.clone(), TakenAway::default());
            for visited in ["swag", "base", "dirichlet", first] {
                draft.method.name = visited.into();
                choose_method(&mut draft, Some(&running), &mut taken_away);
                running = draft.clone();
            }
            assert_eq!(draft, wanted, "{first}");
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
