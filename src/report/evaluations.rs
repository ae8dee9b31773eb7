//! The parts of a run's report that come after training: the test beside the calibrated run, and what `vifo evaluate` found on
//! shifted rows, corrupted images and out-of-distribution rows. Each has a place of its own, and is rewritten there.

use super::verdict::{QUESTION, Verdict, percent};
use super::{Drawn, classification_figures, drawn, html, regression_figures};
use crate::base::fs;
use crate::data::Task;
use crate::data::encode::{Encoder, Target};
use crate::error::Result;
use crate::figure::{self, CoverageFigure, CurvesFigure, Section, Series, Tone, replace_sections};
use crate::method::Predictive;
use crate::metrics;
use crate::results::{Results, aurocs, per_class, share_of, title};
use crate::run::RunFolder;
use crate::run::calibration::Calibration;
use crate::run::model::Model;
use crate::run::targets;
use crate::tables::{TextTable, number, rounded};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

pub const VERDICT: &str = "verdict";
pub const ELSEWHERE: &str = "verdict elsewhere";
pub const TEST: &str = "test";
/// What `evaluate` fills, in the order of the page.
pub const OTHER_TEST: &str = "evaluation: test";
pub const SHIFT: &str = "evaluation: shift";
pub const OUTSIDE: &str = "evaluation: ood";
pub const CORRUPTED: &str = "evaluation: corruptions";

/// A place kept free.
pub fn place(slot: &str) -> Section {
    Section { slot: Some(slot.into()), ..Default::default() }
}

pub fn places() -> impl Iterator<Item = Section> {
    [OTHER_TEST, SHIFT, OUTSIDE, CORRUPTED].into_iter().map(place)
}

/// The verdict has said these in full.
fn other_notes(r: &Results) -> impl Iterator<Item = String> + '_ {
    let judged = |n: &&String| n.starts_with("the error bars ") || n.starts_with("the probabilities ");
    r.notes.iter().filter(move |n| !judged(n)).map(|n| format!("Note: {n}."))
}

/// The metrics of the run's own test rows beside the baselines, and beside the calibrated run if it is.
pub fn own_test(r: &Results, method: &str, task: Task) -> Section {
    let baselines = match task {
        Task::Regression => {
            "Baselines, fitted on the same rows: the mean baseline predicts the training mean and sd; ordinary least squares has the \
             sd of its residuals."
        }
        Task::Classification => {
            "The baseline \"class shares\", fitted on the same rows, predicts the shares of the classes in the training rows."
        }
    };
    let has_trees = r.metrics.iter().any(|m| m.boosting.is_some());
    let trees =
        if has_trees { " Boosting is gradient-boosted trees, with the error measured on held-out rows." } else { "" };
    let mut text = vec![format!("Arrows say which way is better. {baselines}{trees}")];
    text.extend(other_notes(r));
    Section {
        heading: format!("Test: {} held-out rows", r.rows),
        text,
        table: Some(html(&r.table_in_words(method))),
        slot: Some(TEST.into()),
        ..Default::default()
    }
}

/// How well each class is found; None of numbers.
pub fn classes(p: &Predictive, y: &[f64], encoder: &Encoder) -> Option<Section> {
    let (Predictive::Classification(c), Target::Classes { labels, .. }) = (p, &encoder.target) else { return None };
    let named = metrics::confidences(&c.probs, c.k).1;
    let table = per_class(labels, y.iter().map(|y| *y as usize).zip(named));
    let text = vec!["Found: share of the rows of a class that are named so. Right where named: share of the rows named so that are of it.".into()];
    Some(Section { heading: "Per class".into(), minor: true, text, table: Some(html(&table)), ..Default::default() })
}

/// Sections for a run's report, gathered until all of its targets have said theirs.
pub struct Page<'a> {
    folder: &'a RunFolder,
    /// By slot, in the order in which the slots were first named.
    sections: RefCell<Vec<(String, Vec<Section>)>>,
}

impl<'a> Page<'a> {
    pub fn new(folder: &'a RunFolder) -> Page<'a> {
        Page { folder, sections: RefCell::default() }
    }

    /// Writes them in place of those that stood there; false where the folder has no report.
    pub fn write(&self) -> Result<bool> {
        let report = self.folder.file("report.html");
        let mut written = fs::is_file(&report);
        for (slot, sections) in self.sections.take() {
            written = written && replace_sections(&report, &slot, &sections)?;
        }
        Ok(written)
    }
}

/// The run that is evaluated, as every section needs it: one target of it.
pub struct EvaluatedRun<'a> {
    page: &'a Page<'a>,
    pub encoder: &'a Encoder,
    pub calibration: Option<&'a Calibration>,
    pub method: &'a str,
    pub task: Task,
    /// The target's name where there are several.
    target: Option<&'a str>,
    figures: PathBuf,
}

impl<'a> EvaluatedRun<'a> {
    /// `view` is one target's view of `model` (`Model::views`).
    pub fn new(
        page: &'a Page<'a>,
        model: &Model,
        view: &'a Model,
        calibration: Option<&'a Calibration>,
    ) -> EvaluatedRun<'a> {
        let names: Vec<String> = model.encoder.targets().map(|t| t.name().to_string()).collect();
        let (at, encoder) = (view.encoder.target_at, &view.encoder);
        EvaluatedRun {
            page,
            encoder,
            calibration,
            method: &view.recipe.method.name,
            task: view.task(),
            target: (names.len() > 1).then(|| encoder.target_name()),
            figures: targets::figures(page.folder, &names, at),
        }
    }

    /// The folder of its figures.
    pub fn figures(&self) -> &Path {
        &self.figures
    }

    /// Adds to what the page will show in `slot`.
    pub fn put(&self, slot: &str, sections: &[Section]) {
        let mut all = self.page.sections.borrow_mut();
        let at = all.iter().position(|(name, _)| name == slot).unwrap_or_else(|| {
            all.push((slot.to_string(), vec![]));
            all.len() - 1
        });
        all[at].1.extend(sections.iter().cloned().map(|mut section| {
            if !section.heading.is_empty() {
                section.heading = targets::heading(&section.heading, self.target);
            }
            section
        }));
    }

    /// Whether the numbers are of a calibrated run: a calibration that comes later changes nothing here.
    fn when(&self) -> String {
        match self.calibration {
            Some(c) => format!("Made by `vifo evaluate`, with the run calibrated on {}.", c.on()),
            None => "Made by `vifo evaluate`, before any calibration.".into(),
        }
    }

    /// The run's own test rows once more: the verdict, the table and, where the run is calibrated, before and after.
    pub fn own(&self, r: &Results, p: &Predictive, y: &[f64]) -> Result<()> {
        if !fs::is_file(self.page.folder.file("report.html")) {
            return Ok(());
        }
        let verdict = Verdict::new(p, y, self.encoder, self.calibration, "test rows");
        self.put(VERDICT, &[verdict.section(QUESTION)]);
        let own = own_test(r, self.method, self.task);
        self.put(TEST, &std::iter::once(own).chain(classes(p, y, self.encoder)).collect::<Vec<_>>());
        if let Some(c) = self.calibration {
            let mut after =
                Section { heading: "Before and after, on the test rows".into(), minor: true, ..Default::default() };
            after.table = Some(html(&before_and_after(r)));
            after.figures = self.calibration_figures(c, p, y)?;
            self.put(crate::run::calibration::SLOT, &[c.section(self.encoder.target_name()), after]);
        }
        Ok(())
    }

    /// Coverage of both kinds of interval over their levels, or reliability at the temperature.
    fn calibration_figures(&self, c: &Calibration, p: &Predictive, y: &[f64]) -> Result<Vec<Drawn>> {
        let dir = self.figures.join("calibration");
        match p {
            Predictive::Regression(r) => {
                let cdf: Vec<f64> = y.iter().enumerate().map(|(i, y)| r.row(i).cdf(*y)).collect();
                let nominal: Vec<f64> = (1..20).map(|i| f64::from(i) / 20.0).collect();
                let mut levels: Vec<f64> = c.levels.iter().map(|l| 1.0 - l.alpha).collect();
                levels.extend(&nominal);
                levels.sort_by(f64::total_cmp);
                levels.dedup();
                let before = metrics::calibration_curve(&levels, &cdf);
                let share = |level: &f64| {
                    let inside = c.inside(*level, p, y)?;
                    Some(inside.iter().filter(|i| **i).count() as f64 / inside.len().max(1) as f64)
                };
                let after = levels.iter().map(|l| share(l).unwrap_or(f64::NAN)).collect();
                let figure = CoverageFigure {
                    title: "Coverage before and after the calibration".into(),
                    levels,
                    observed: vec![("before, test rows".into(), before), ("after, test rows".into(), after)],
                };
                let caption =
                    "Share of test rows inside the intervals. Calibrated intervals exist at the requested levels only.";
                Ok(vec![drawn(figure::coverage(&dir, "coverage", &figure)?, caption)])
            }
            Predictive::Classification(plain) => {
                let mut out = vec![];
                for (stem, which, c) in [("before", "Before", plain), ("after", "After", &c.tempered(plain))] {
                    let figures = classification_figures(&dir.join(stem), c, y)?;
                    let caption = |text: String| format!("{which} the calibration. {text}");
                    out.extend(figures.into_iter().take(1).map(|(svg, text)| (svg, caption(text))));
                }
                Ok(out)
            }
        }
    }

    /// Rows with a target that are no test rows of the run: their metrics, their verdict, their figures.
    pub fn labelled(&self, slot: &str, heading: &str, r: &[&Results], p: &Predictive, y: &[f64]) -> Result<Vec<Drawn>> {
        let dir = self.figures.join(if slot == SHIFT { "shift" } else { "other_test" });
        let figures = match p {
            Predictive::Regression(r) => regression_figures(&dir, self.encoder.target_name(), r, y)?,
            Predictive::Classification(c) => classification_figures(&dir, c, y)?,
        };
        let verdict = Verdict::new(p, y, self.encoder, self.calibration, "rows")
            .section("Are the error bars honest on these rows?");
        let mut sections = vec![Section { heading: heading.into(), text: vec![self.when()], ..Default::default() }];
        for (i, r) in r.iter().enumerate() {
            let mut text: Vec<String> = if i > 0 { vec![format!("{}: {} rows.", r.set, r.rows)] } else { vec![] };
            text.extend(other_notes(r));
            let table = Some(html(&r.table(self.method)));
            sections.push(Section { minor: true, text, table, ..Default::default() });
        }
        sections.push(Section { minor: true, ..verdict });
        sections.push(Section { figures: figures.clone(), ..Default::default() });
        self.put(slot, &sections);
        Ok(figures)
    }

    /// Sets from elsewhere, each with its figures.
    pub fn outside(&self, sets: &[(&Results, Vec<Drawn>)]) {
        let text = vec![
            self.when(),
            "A model with good epistemic uncertainty is less confident on out-of-distribution rows than on its test rows."
                .into(),
        ];
        let mut sections =
            vec![Section { heading: "Evaluation: out-of-distribution rows".into(), text, ..Default::default() }];
        for (r, figures) in sets {
            sections.push(Section {
                heading: format!("{}: {} rows", r.set, r.rows),
                minor: true,
                text: r.notes.iter().map(|n| format!("Note: {n}.")).collect(),
                table: Some(html(&r.table(self.method))),
                figures: figures.clone(),
                ..Default::default()
            });
        }
        self.put(OUTSIDE, &sections);
    }

    /// Corruptions of the test images, with their figures.
    pub fn corrupted(&self, results: &[&Results]) -> Result<Vec<Drawn>> {
        let figures = corruption_figures(&self.figures, results)?;
        let rows = results.first().map_or(0, |r| r.rows);
        let section = Section {
            heading: format!("Evaluation: corrupted test images, {rows} each"),
            text: vec![
                self.when(),
                "As images get worse, accuracy falls; with honest probabilities the calibration error (ECE) stays low, since confidence \
                 falls too."
                    .into(),
            ],
            table: Some(html(&corruptions(results))),
            figures: figures.clone(),
            ..Default::default()
        };
        self.put(CORRUPTED, &[section]);
        Ok(figures)
    }

    /// The short answer on other rows, below the verdict.
    pub fn elsewhere(&self, mut lines: Vec<(Tone, String)>) {
        let worst = [Tone::Bad, Tone::Warning, Tone::Unknown, Tone::Good];
        lines.sort_by_key(|l| worst.iter().position(|t| *t == l.0));
        let Some(tone) = lines.first().map(|l| l.0) else { return };
        let text = lines.into_iter().map(|l| l.1).collect();
        self.put(
            ELSEWHERE,
            &[Section { heading: "On shifted and out-of-distribution rows".into(), tone, text, ..Default::default() }],
        );
    }
}

/// "Shifted rows: No, they are too narrow ...".
pub fn said(name: &str, run: &EvaluatedRun, p: &Predictive, y: &[f64]) -> (Tone, String) {
    let verdict = Verdict::new(p, y, run.encoder, run.calibration, "rows");
    (verdict.tone(), format!("{name}: {}", verdict.headline()))
}

/// Whether out-of-distribution rows are separated from the test rows, by the best of the scores.
pub fn told_apart(name: &str, r: &Results) -> Option<(Tone, String)> {
    let (by, best) = aurocs(&r.metrics).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (tone, answer) = match best {
        b if b >= 0.9 => (Tone::Good, "mostly detected as out-of-distribution"),
        b if b >= 0.7 => (Tone::Warning, "often not detected as out-of-distribution"),
        _ => (Tone::Bad, "not detected as out-of-distribution: the error bars mean nothing there"),
    };
    let pairs = format!("in {} of pairs the out-of-distribution row is the more uncertain one", percent(best));
    Some((tone, format!("{name} ({} rows): {answer} ({pairs}, by {by}; chance is 50 %).", r.rows)))
}

/// The metrics that the calibration changes.
fn before_and_after(r: &Results) -> TextTable {
    let mut t = TextTable::new(&["metric", "unit", "before", "after"]);
    for m in &r.metrics {
        let Some(after) = m.calibrated else { continue };
        let title = title(&m.name);
        let write = |v: f64| if title.is_share { share_of(v, m.error) } else { rounded(v, m.error) };
        let before = m.value.value().map_or_else(|| m.value.to_string(), write);
        t.rows.push(vec![title.name.clone(), m.unit.clone(), before, write(after)]);
    }
    t
}

const METRICS: [(&str, &str); 6] = [
    ("accuracy", "accuracy ↑"),
    ("nll", "nll, nats ↓"),
    ("brier", "brier ↓"),
    ("ece_equal_mass", "ece ↓"),
    ("mean_entropy", "mean entropy"),
    ("mean_mutual_information", "mean mutual information"),
];

/// One row per corruption and severity, and their mean.
pub fn corruptions(results: &[&Results]) -> TextTable {
    let mut t = TextTable::new(&["corruption", "severity"]);
    t.header.extend(METRICS.iter().map(|(_, title)| title.to_string()));
    let value = |r: &Results, name: &str| r.get(name).unwrap_or(f64::NAN);
    for r in results {
        let (kind, severity) = r.set.split_once('.').unwrap_or((&r.set, ""));
        let mut row = vec![kind.to_string(), severity.to_string()];
        row.extend(METRICS.iter().map(|(name, _)| number(value(r, name))));
        t.rows.push(row);
    }
    if results.len() > 1 {
        let mut row = vec!["mean".to_string(), String::new()];
        let n = results.len() as f64;
        row.extend(METRICS.iter().map(|(m, _)| number(results.iter().map(|r| value(r, m)).sum::<f64>() / n)));
        t.rows.push(row);
    }
    t
}

/// Accuracy and calibration error by severity, one curve per corruption.
fn corruption_figures(dir: &Path, results: &[&Results]) -> Result<Vec<Drawn>> {
    let mut kinds: Vec<&str> = vec![];
    let parts = |r: &'_ &Results| -> Option<(String, f64)> {
        let (kind, severity) = r.set.split_once('.')?;
        Some((kind.to_string(), severity.parse().ok()?))
    };
    for r in results {
        let kind = r.set.split('.').next().unwrap_or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut out = vec![];
    for (metric, stem, y_label, caption) in [
        ("accuracy", "corruption_accuracy", "accuracy", "Accuracy by severity of the corruption."),
        (
            "ece_equal_mass",
            "corruption_ece",
            "expected calibration error",
            "Calibration error by severity: honest probabilities stay low.",
        ),
    ] {
        let one = |kind: &&str| {
            let here: Vec<(f64, f64)> = results
                .iter()
                .filter_map(|r| {
                    let (name, severity) = parts(r)?;
                    (name == *kind).then_some((severity, r.get(metric).unwrap_or(f64::NAN)))
                })
                .collect();
            let (x, y) = here.into_iter().unzip();
            Series { name: kind.to_string(), x, y, sd: None }
        };
        let figure = CurvesFigure {
            title: format!("Corrupted test images: {y_label}"),
            x_label: "severity".into(),
            y_label: y_label.into(),
            series: kinds.iter().map(one).collect(),
            ..Default::default()
        };
        out.push(drawn(figure::curves(dir, stem, &figure)?, caption));
    }
    Ok(out)
}
