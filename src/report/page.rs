//! The one-page report of a run.

use super::{Drawn, evaluations, verdict};
use crate::base::counted::counted;
use crate::data::targets_of as targets;
use crate::error::Result;
use crate::figure::{self, HtmlReport, HtmlTable, Section};
use crate::method::Predictive;
use crate::recipe::Recipe;
use crate::results::Results;
use crate::run::calibration;
use crate::run::targets as several;
use crate::run::{Calibration, RunFolder};
use crate::run::{Fitted, recipe_name};
use crate::tables::{TextTable, number};

pub fn html(table: &TextTable) -> HtmlTable {
    HtmlTable { header: table.header.clone(), rows: table.rows.clone() }
}

/// Writes report.html; `tested` holds the results and predictions of each target's test rows, where there are any.
pub fn write(
    folder: &RunFolder,
    recipe: &Recipe,
    fitted: &Fitted,
    tested: &[(Results, Predictive)],
    device: &str,
    figures: &[Drawn],
) -> Result<()> {
    // A run resumed to the same weights keeps its calibration.
    let calibration = calibration::current(folder).unwrap_or(None);
    let (verdicts, tests) = of_tests(recipe, fitted, tested, calibration.as_ref());
    let mut sections = vec![];
    if !tests.is_empty() {
        sections.push(Section { slot: Some(evaluations::TEST.into()), inside: tests, ..Default::default() });
    }
    sections.push(calibration.map_or_else(super::calibration::no_section, |c| of_calibration(&c, fitted)));
    sections.extend(evaluations::places());
    if let Some((said, table)) = fitted.variants_table() {
        let text = vec![format!("The training {said}. Rows of the test part had no say in it.")];
        sections.push(Section { heading: "Variants".into(), text, table: Some(html(&table)), ..Default::default() });
    }
    sections.push(Section { heading: "Figures".into(), figures: figures.to_vec(), ..Default::default() });
    let mut notes = fitted.data.notes.clone();
    if notes.is_empty() {
        notes.push("Nothing was left out or filled in.".into());
    }
    sections.push(Section { heading: "Data".into(), text: notes, ..Default::default() });
    sections.push(Section {
        heading: "Recipe to reproduce this run".into(),
        text: vec!["It is `recipe.toml` in the run folder: `vifo fit recipe.toml` repeats the run.".into()],
        code: Some(recipe.to_toml()?),
        ..Default::default()
    });
    let verdicts = Section { slot: Some(evaluations::VERDICT.into()), inside: verdicts, ..Default::default() };
    // What cannot be read does not keep the report from being written.
    let about = super::about::section(&folder.about().unwrap_or_default());
    let lead = vec![verdicts, evaluations::place(evaluations::ELSEWHERE), about];
    let title = format!("vifo: {}", recipe_name(recipe));
    let summary = summary(&fitted.recipe(recipe), fitted, device);
    let report = HtmlReport { title, lead, summary, sections };
    figure::write_report(&folder.file("report.html"), &report)
}

/// What was trained, on what and for how long.
fn summary(recipe: &Recipe, fitted: &Fitted, device: &str) -> Vec<(String, String)> {
    let (data, setup) = (&fitted.data, &fitted.plan.setup);
    let m = &recipe.method;
    let eta = m.eta.unwrap_or(setup.method.usual_eta(setup.task));
    let mut summary = vec![
        ("method".to_string(), format!("{}, {} members, eta {eta}, eta_aux {}", m.name, m.members, m.eta_aux)),
        (
            "network".into(),
            format!(
                "{}, inputs {}, outputs {}, {} parameters per member",
                setup.net.describe(),
                setup.net.n_in(),
                setup.net.n_out(),
                setup.member_len()
            ),
        ),
        ("target".into(), format!("{} ({})", data.encoder.target_names(), data.task())),
        (
            "rows".into(),
            match fitted.plan.setup.held_out {
                0 => format!("{} training, {} validation, {} test", data.train.n, data.validation.n, data.test.n),
                n => format!("{} training, of which each member holds out {n}, {} test", data.train.n, data.test.n),
            },
        ),
        (
            "training".into(),
            format!(
                "{} in {:.1} s on {device}, seed {}",
                counted(fitted.rows.last().map_or(0, |r| r.epoch) as usize, "epoch"),
                fitted.seconds,
                recipe.seed
            ),
        ),
    ];
    if !fitted.plan.variant.is_empty() {
        summary.push(("variant".into(), fitted.plan.variant.clone()));
    }
    if let Some((_, figures)) = fitted.out_of_fold_figures() {
        let text = format!("{figures} (each row as the member that held it out predicts it: out_of_fold.csv)");
        summary.push(("training rows, out of fold".into(), text));
    }
    if let (Some((epoch, nll)), true) = (fitted.best, fitted.plan.patience > 0) {
        let nll = number(nll);
        summary.push(match setup.folds {
            0 => ("best epoch".into(), format!("{epoch}, validation NLL {nll} nats")),
            _ => ("best epochs".into(), format!("each member its own, up to {epoch}; mean validation NLL {nll} nats")),
        });
    }
    summary
}

/// The verdict on each target's test rows, and their numbers.
fn of_tests(
    recipe: &Recipe,
    fitted: &Fitted,
    tested: &[(Results, Predictive)],
    calibration: Option<&Calibration>,
) -> (Vec<Section>, Vec<Section>) {
    let (mut verdicts, mut tests) = (vec![], vec![]);
    for (at, (r, p)) in tested.iter().enumerate() {
        let of_one = fitted.data.of_target(at);
        let name = (tested.len() > 1).then(|| of_one.encoder.target_name());
        let calibration = calibration.map(|c| c.of_target(at));
        let y = targets(&of_one.test);
        let mut r = r.clone();
        if let Some(c) = calibration {
            c.beside(&mut r, p, &y);
        }
        let verdict = verdict::Verdict::new(p, &y, &of_one.encoder, calibration, "test rows");
        verdicts.push(verdict.section(&several::heading(verdict::QUESTION, name)));
        let test = evaluations::own_test(&r, &recipe.method.name, fitted.data.task());
        tests.push(Section { heading: several::heading(&test.heading, name), slot: None, ..test });
        tests.extend(evaluations::classes(p, &y, &of_one.encoder));
    }
    if verdicts.is_empty() {
        verdicts.push(verdict::without_rows());
    }
    (verdicts, tests)
}

/// What `vifo calibrate` found, target by target.
fn of_calibration(c: &Calibration, fitted: &Fitted) -> Section {
    let of_one = fitted.data.encoder.targets().enumerate().map(|(at, t)| (t.name(), c.of_target(at).section(t.name())));
    let named = of_one.map(|(name, section)| {
        let heading = several::heading(&section.heading, (!c.more_targets.is_empty()).then_some(name));
        Section { heading, slot: None, ..section }
    });
    Section { slot: Some(calibration::SLOT.into()), inside: named.collect(), ..Default::default() }
}
