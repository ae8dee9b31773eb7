//! The controls of a table: what its columns are to the training, and how long and with what noise it trains.

use super::content::{self, Choice, Content};
use crate::data::Task;
use crate::data::encode::Missing;
use crate::data::inspect::TableReport;
use crate::gui::panels::keys;
use crate::recipe::{Likelihood, key};
use eframe::egui::{self, ComboBox};

/// Time, noise and variants of a training on a table. What does not go with the other choices is not offered, and given up.
pub fn training_ui(ui: &mut egui::Ui, content: &Content, choice: &mut Choice) {
    let with = |change: &dyn Fn(&mut Choice)| {
        let mut other = choice.clone();
        change(&mut other);
        other
    };
    const TIMES: [(&str, &str); 3] = [("10s", "10 seconds"), ("1m", "1 minute"), ("10m", "10 minutes")];
    let words = |budget: Option<&str>| {
        TIMES.iter().find(|(text, _)| Some(*text) == budget).map_or("by the number of rows", |(_, words)| words)
    };
    let mut budget = choice.budget.clone();
    ComboBox::from_label("time")
        .width(170.0)
        .selected_text(words(budget.as_deref()))
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut budget, None, words(None));
            for (text, words) in TIMES {
                ui.selectable_value(&mut budget, Some(text.into()), words);
            }
        })
        .response
        .on_hover_text(keys::tip(key!(train.budget)));
    let mut likelihood = choice.likelihood;
    if content.task(choice) == Task::Regression && content.takes(&with(&|c| c.likelihood = Some(Likelihood::StudentT)))
    {
        let words = |likelihood: Option<Likelihood>| match likelihood {
            Some(Likelihood::StudentT) => "Student's t (outliers)",
            _ => "normal",
        };
        ComboBox::from_label("noise")
            .width(170.0)
            .selected_text(words(likelihood))
            .show_ui(ui, |ui| {
                for one in [None, Some(Likelihood::StudentT)] {
                    ui.selectable_value(&mut likelihood, one, words(one));
                }
            })
            .response
            .on_hover_text(keys::tip(key!(method.likelihood)));
    } else {
        likelihood = None;
    }
    let mut beside = choice.beside.filter(|at| content.takes(&with(&|c| c.beside = Some(*at))));
    ComboBox::from_label("try out")
        .width(170.0)
        .selected_text(beside.map_or("nothing", |at| content::BESIDE[at].0))
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut beside, None, "nothing");
            for (at, (name, _)) in content::BESIDE.iter().enumerate() {
                if content.takes(&with(&|c| c.beside = Some(at))) {
                    ui.selectable_value(&mut beside, Some(at), *name);
                }
            }
        })
        .response
        .on_hover_text(
            "Trains these beside each other and keeps the better one, by rows that each member has held out",
        );
    (choice.budget, choice.likelihood, choice.beside) = (budget, likelihood, beside);
}

/// Target, task and what to do about missing cells.
pub fn columns_ui(ui: &mut egui::Ui, report: &TableReport, choice: &mut Choice) {
    let shown = choice.target.clone().unwrap_or_else(|| report.target.clone());
    ComboBox::from_label("target").width(170.0).selected_text(&shown).height(400.0).show_ui(ui, |ui| {
        for column in &report.columns {
            if ui.selectable_label(column.name == shown, &column.name).clicked() && column.name != shown {
                choice.target = Some(column.name.clone());
                (choice.task, choice.missing) = (None, None);
                choice.ignore.retain(|c| *c != column.name);
            }
        }
    });
    let name = |task: Option<Task>| match task {
        None => format!("found: {}", report.task),
        Some(task) => task.to_string(),
    };
    let tip = keys::tip(key!(data.task));
    ComboBox::from_label("task")
        .width(170.0)
        .selected_text(name(choice.task))
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut choice.task, None, "as found");
            for task in [Task::Regression, Task::Classification] {
                ui.selectable_value(&mut choice.task, Some(task), task.to_string());
            }
        })
        .response
        .on_hover_text(tip);
    if content::has_missing(report) {
        let words = |missing: Missing| match missing {
            Missing::Error => "stop at the first",
            Missing::Drop => "leave the row out",
            Missing::Mean => "fill with the mean",
            Missing::Flag => "the mean, with an indicator input",
        };
        let mut now = choice.missing.unwrap_or_default();
        ComboBox::from_label("missing cells")
            .width(150.0)
            .selected_text(words(now))
            .show_ui(ui, |ui| {
                for missing in [Missing::Flag, Missing::Mean, Missing::Drop, Missing::Error] {
                    ui.selectable_value(&mut now, missing, words(missing));
                }
            })
            .response
            .on_hover_text(keys::tip(key!(data.missing)));
        if choice.missing.is_some() || now != Missing::default() {
            choice.missing = Some(now);
        }
    }
}

/// Columns that say how rows are held out, and how much each counts.
pub fn roles_ui(ui: &mut egui::Ui, report: &TableReport, choice: &mut Choice) {
    let chosen = [&choice.group, &choice.time, &choice.weight].iter().filter(|c| c.is_some()).count();
    let title =
        if chosen > 0 { format!("Groups, time and weights ({chosen})") } else { "Groups, time and weights".into() };
    egui::CollapsingHeader::new(title).id_salt("roles").show(ui, |ui| {
        let all = [
            ("groups", &mut choice.group, "Rows of one value (a patient, a site) stay in one part of the split"),
            ("time column", &mut choice.time, "The last rows are the test part, those before them the validation part"),
            ("weights", &mut choice.weight, "How much each row counts in the loss and in the metrics"),
        ];
        for (label, column, tip) in all {
            let shown = column.as_deref().unwrap_or("none").to_string();
            ComboBox::from_label(label)
                .width(150.0)
                .height(400.0)
                .selected_text(shown)
                .show_ui(ui, |ui| {
                    ui.selectable_value(column, None, "none");
                    for name in report.columns.iter().map(|c| &c.name).filter(|name| **name != report.target) {
                        ui.selectable_value(column, Some(name.clone()), name);
                    }
                })
                .response
                .on_hover_text(format!("{tip}; such a column is no input"));
        }
    });
}

/// What a cure has set, to be taken back.
pub fn more_ui(ui: &mut egui::Ui, choice: &mut Choice) {
    let words = |path: &str| crate::recipe::keys::find(path).map_or_else(|| path.into(), |key| key.words());
    let mut gone = None;
    for (i, (key, value)) in choice.more.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(format!("{}: {}", words(key), value.trim_matches('"')));
            if ui.small_button("Take back").clicked() {
                gone = Some(i);
            }
        });
    }
    gone.map(|i| choice.more.remove(i));
}
