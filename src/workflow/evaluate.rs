//! A trained run on test rows, shifted rows, corrupted images and out-of-distribution rows. Command line and app both call this.

use crate::base::fs;
use crate::data::corrupt::Corruption;
use crate::data::images::Part;
use crate::data::load::images;
use crate::data::targets_of as targets;
use crate::data::{Dataset, load};
use crate::error::{Error, Result, either};
use crate::exec::Device;
use crate::figure::Tone;
use crate::method::Predictive;
use crate::report;
use crate::report::evaluations::{self, OTHER_TEST, Page, SHIFT};
use crate::results::{self, Results};
use crate::results::{results_of, test};
use crate::run::calibration;
use crate::run::calibration::{Calibration, Source};
use crate::run::model::Model;
use crate::run::{RunFolder, moved, targets as several};
use crate::workflow::calibrate;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default)]
pub struct EvaluateRequest {
    /// Where the run's own data is now; where its recipe says if absent.
    pub data: Option<PathBuf>,
    /// Rows to test on; the run's own test rows if absent.
    pub test: Option<PathBuf>,
    pub shift: Option<PathBuf>,
    pub ood: Vec<PathBuf>,
    /// Corruptions of the test images with their severities.
    pub corrupt: Vec<(Corruption, u8)>,
    pub skip_lines: Option<usize>,
}

#[derive(serde::Serialize, serde::Deserialize)]
pub struct Evaluation {
    pub results: Vec<Results>,
    pub notes: Vec<String>,
    pub figures: Vec<(PathBuf, String)>,
}

/// "fog:3" is severity 3, "fog" all five, "all" every corruption.
pub fn parse_corruption(text: &str) -> Result<Vec<(Corruption, u8)>> {
    let (name, severity) = match text.split_once(':') {
        None => (text, None),
        Some((name, s)) => match s.parse::<u8>() {
            Ok(s @ 1..=5) => (name, Some(s)),
            _ => {
                return Err(Error::usage(
                    either("--corrupt", "corruption"),
                    format!("severity \"{s}\""),
                    "1 to 5",
                    "for example fog:3",
                ));
            }
        },
    };
    let kinds = if name == "all" { Corruption::ALL.to_vec() } else { vec![name.parse()?] };
    let severities = severity.map_or_else(|| (1..=5).collect::<Vec<u8>>(), |s| vec![s]);
    Ok(kinds.into_iter().flat_map(|k| severities.iter().map(move |s| (k, *s))).collect())
}

/// `listen` is called before each long piece of work.
pub fn evaluate(
    folder: &RunFolder,
    device: &Device,
    request: &EvaluateRequest,
    listen: &mut dyn FnMut(&str),
) -> Result<Evaluation> {
    let mut model = Model::open(folder)?;
    if let Some(file) = &request.data {
        moved::replace(&mut model.recipe.data, file)?;
    }
    let mut notes = Model::caveats(folder)?;
    let calibration = calibration::current(folder).unwrap_or_else(|e| {
        notes.push(format!("calibration left out: {e}"));
        None
    });
    // The run's own data: its test rows, and the training rows that the baselines are fitted on.
    let data = moved::expect(&model.recipe.data, &folder.path, &moved::name_it()).and_then(|()| model.data());
    let manifest = folder.manifest()?;
    let changed = data.as_ref().is_ok_and(|d| !manifest.is_of(d));
    let page = Page::new(folder);
    let (mut each, mut figures) = (vec![], vec![]);
    for (at, view) in model.views().iter().enumerate() {
        let calibration = calibration.as_ref().map(|c| c.of_target(at));
        let shown = evaluations::EvaluatedRun::new(&page, &model, view, calibration);
        let data = data.as_ref().map(|d| d.of_target(at));
        let data = data.as_ref().map(|d| &**d).map_err(|e| (*e).clone());
        let one = OfTarget { folder, device, request, model: view, data, changed, calibration, shown };
        let evaluated = one.evaluate(listen)?;
        notes.extend(evaluated.notes);
        figures.extend(evaluated.figures);
        each.push((view.encoder.target_name().to_string(), evaluated.results));
    }
    let mut seen = HashSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    let sets = each.first().map_or(0, |e| e.1.len());
    let set = |i: usize| several::merged(each.iter().map(|(name, sets)| (name.clone(), sets[i].clone())).collect());
    let results: Vec<Results> = (0..sets).filter_map(set).collect();
    // The numbers are what was asked for: a folder that cannot be written to is no reason to keep them back.
    let written = page.write().and_then(|_| folder.write_json("evaluation.json", &results));
    if let (Err(e), false) = (written, notes.iter().any(|n| n.starts_with(NOTHING))) {
        notes.push(format!("{NOTHING}: {e}"));
    }
    Ok(Evaluation { results, notes, figures })
}

const NOTHING: &str = "nothing was written";

/// What is asked of one target of a run.
struct OfTarget<'a> {
    folder: &'a RunFolder,
    device: &'a Device,
    request: &'a EvaluateRequest,
    model: &'a Model,
    data: Result<&'a load::Loaded>,
    /// The data file is not what it was.
    changed: bool,
    calibration: Option<&'a Calibration>,
    shown: evaluations::EvaluatedRun<'a>,
}

/// What was found of one target so far.
#[derive(Default)]
struct Found {
    results: Vec<Results>,
    notes: Vec<String>,
    figures: Vec<(PathBuf, String)>,
    /// What is said of rows from elsewhere.
    lines: Vec<(Tone, String)>,
    /// A figure could not be written, which is said once.
    is_unwritten: bool,
}

impl Found {
    /// The numbers are what was asked for: a folder that cannot be written to is no reason to keep them back.
    fn keep(&mut self, written: Result<Vec<(PathBuf, String)>>) {
        match written {
            Ok(drawn) => self.figures.extend(drawn),
            Err(e) if !self.is_unwritten => {
                self.is_unwritten = true;
                self.notes.push(format!("{NOTHING}: {e}"));
            }
            Err(_) => {}
        }
    }
}

impl OfTarget<'_> {
    fn evaluate(self, listen: &mut dyn FnMut(&str)) -> Result<Evaluation> {
        let mut found = Found::default();
        let (rows, inside) = self.test_rows(&mut found)?;
        if let Some(file) = &self.request.shift {
            self.shifted(file, &mut found)?;
        }
        self.corrupted(&rows, &mut found, listen)?;
        self.outside(&inside, &mut found)?;
        Ok(Evaluation { results: found.results, notes: found.notes, figures: found.figures })
    }

    /// Baselines are fitted on the training rows: on other rows they would be no baselines.
    fn known(&self) -> Option<&load::Loaded> {
        self.data.as_ref().ok().copied().filter(|_| !self.changed)
    }

    fn labelled(&self, p: &Predictive, rows: &Dataset) -> Result<Results> {
        labelled(self.model, self.known(), self.calibration, p, rows)
    }

    /// The run's own test rows or those of the file that is named; and what is predicted of them.
    fn test_rows(&self, found: &mut Found) -> Result<(Dataset, Predictive)> {
        let OfTarget { model, device, calibration, shown, .. } = self;
        let Some(file) = &self.request.test else {
            let data = self.data.clone()?;
            own_test_rows(self.folder, data, self.changed)?;
            let p = model.predict(device, data.test.inputs())?;
            let y = targets(&data.test);
            let mut r = test(data, &p, &y, model.recipe.baselines.boosting)?;
            if let Some(c) = calibration {
                c.beside(&mut r, &p, &y);
            }
            r.set = "test".into();
            found.keep(shown.own(&r, &p, &y).map(|()| vec![]));
            found.results.push(r);
            return Ok((data.test.clone(), p));
        };
        let (rows, said) = model.read(file, Part::Test, true, self.request.skip_lines)?;
        found.notes.extend(said);
        // By their values: a copy under another name is no better. By the path where the training rows
        // cannot be read, or where a limit or an augmentation leaves few of them as they stand in the file.
        let duplicates = self.known().map_or(0, |own| calibrate::duplicates(&rows, &own.train));
        if duplicates > 0 && 2 * duplicates >= rows.n {
            found.notes.push(format!(
                "{duplicates} of {} rows are training rows of the run, which are no test{}",
                rows.n,
                either("; leave --test out for the held-out rows", "")
            ));
        } else if is_training_file(model, file) {
            let test = either("; leave --test out for the held-out rows", "");
            found.notes.push(format!("the run was trained on this file: its training rows are no test{test}"));
        }
        if calibration.is_some_and(|c| is_source(c, file)) {
            found.notes.push("the run was calibrated on these rows: calibrated metrics on them are no test".into());
        }
        let p = model.predict(device, rows.inputs())?;
        let r = Results { set: "test".into(), ..self.labelled(&p, &rows)? };
        let (y, name) = (targets(&rows), name_of(file));
        let heading = format!("Evaluation: {} rows of {name}", rows.n);
        found.keep(shown.labelled(OTHER_TEST, &heading, &[&r], &p, &y));
        found.lines.push(evaluations::said(&name, shown, &p, &y));
        found.results.push(r);
        Ok((rows, p))
    }

    fn shifted(&self, file: &Path, found: &mut Found) -> Result<()> {
        let OfTarget { model, device, shown, .. } = self;
        let (shifted, partner, said) = match model.encoder.pixels {
            Some(_) => images::read_shifted(&model.encoder, file)?,
            None => {
                let (rows, said) = model.read(file, Part::All, true, self.request.skip_lines)?;
                let all = vec![true; rows.n];
                (rows, all, said)
            }
        };
        found.notes.extend(said);
        let add = |set: &str, rows: &Dataset| -> Result<(Results, Predictive)> {
            let p = model.predict(device, rows.inputs())?;
            let r = self.labelled(&p, rows)?;
            Ok((Results { set: set.into(), ..r }, p))
        };
        let (whole, p) = add("shift", &shifted)?;
        let mut both = vec![whole];
        let same: Vec<usize> = (0..shifted.n).filter(|&i| partner[i]).collect();
        if same.len() < shifted.n && !same.is_empty() {
            both.push(add("shift, without frog and monkey", &shifted.subset(&same))?.0);
        }
        let (y, name) = (targets(&shifted), name_of(file));
        let heading = format!("Evaluation: shifted rows, {} of {name}", shifted.n);
        found.keep(shown.labelled(SHIFT, &heading, &both.iter().collect::<Vec<_>>(), &p, &y));
        found.lines.push(evaluations::said(&format!("Shifted rows ({name})"), shown, &p, &y));
        found.results.extend(both);
        Ok(())
    }

    /// The test rows under each corruption that is asked for.
    fn corrupted(&self, rows: &Dataset, found: &mut Found, listen: &mut dyn FnMut(&str)) -> Result<()> {
        let model = self.model;
        let grey = model.encoder.pixels.as_ref().is_some_and(|p| p.c == 1);
        let mut corrupt = self.request.corrupt.clone();
        let several = corrupt.iter().any(|(kind, _)| *kind != Corruption::Saturate);
        if grey && several && corrupt.iter().any(|(kind, _)| *kind == Corruption::Saturate) {
            corrupt.retain(|(kind, _)| *kind != Corruption::Saturate);
            found.notes.push("saturate left out: grey images have no saturation".into());
        }
        let clean = found.results.len();
        for (i, &(kind, severity)) in corrupt.iter().enumerate() {
            listen(&format!("{kind} {severity} ({} of {})", i + 1, corrupt.len()));
            let bad = images::corrupted(&model.encoder, rows, kind, severity, u64::from(model.recipe.seed))?;
            let p = model.predict(self.device, bad.inputs())?;
            let set = format!("{kind}.{severity}");
            found.results.push(Results { set, ..self.labelled(&p, rows)? });
        }
        if found.results.len() > clean {
            found.keep(self.shown.corrupted(&found.results[clean..].iter().collect::<Vec<_>>()));
        }
        Ok(())
    }

    /// Out-of-distribution rows: how well the run separates them from its test rows, of which it predicts `inside`.
    fn outside(&self, inside: &Predictive, found: &mut Found) -> Result<()> {
        let model = self.model;
        let mut outside = vec![];
        for file in &self.request.ood {
            // That they lie outside is what they are for.
            let (rows, said) = model.read(file, Part::Test, false, self.request.skip_lines)?;
            if model.encoder.pixels.is_some() {
                found.notes.extend(said);
            }
            let p = model.predict(self.device, rows.inputs())?;
            let r = match (inside, &p) {
                (Predictive::Classification(a), Predictive::Classification(b)) => results::ood_classification(a, b),
                (Predictive::Regression(a), Predictive::Regression(b)) => results::ood_regression(a, b),
                _ => {
                    let help = "this is a bug of vifo: please report it";
                    return Err(Error::run("evaluate", "two kinds of prediction", help));
                }
            };
            let name = name_of(file);
            let set = if self.request.ood.len() == 1 { "ood".into() } else { format!("ood {name}") };
            let r = Results { set, ..r };
            found.lines.extend(evaluations::told_apart(&name, &r));
            found.results.push(r.clone());
            outside.push((name, r, rows, p));
        }
        let lines = std::mem::take(&mut found.lines);
        found.keep(self.outside_drawn(&outside, inside, lines));
        Ok(())
    }

    fn outside_drawn(
        &self,
        outside: &[(String, Results, Dataset, Predictive)],
        inside: &Predictive,
        lines: Vec<(Tone, String)>,
    ) -> Result<Vec<(PathBuf, String)>> {
        let (shown, encoder) = (&self.shown, &self.model.encoder);
        let mut sets = vec![];
        for (name, r, rows, p) in outside {
            let own = shown.figures().to_path_buf();
            let dir = if outside.len() == 1 { own } else { own.join(name) };
            let mut own = report::ood_figures(&dir, name, inside, p)?;
            if let (Some(pixels), Predictive::Classification(c)) = (&encoder.pixels, p) {
                own.push(report::sheet(&dir, "ood_certainty", encoder, pixels, rows, c, None)?);
            }
            sets.push((r, own));
        }
        if !sets.is_empty() {
            shown.outside(&sets);
        }
        shown.elsewhere(lines);
        Ok(sets.into_iter().flat_map(|s| s.1).collect())
    }
}

fn name_of(file: &Path) -> String {
    file.file_name().map_or_else(|| file.display().to_string(), |n| n.to_string_lossy().into_owned())
}

fn is_training_file(model: &Model, file: &Path) -> bool {
    let data = &model.recipe.data;
    let own = data.file.as_deref().or(data.images.as_deref().filter(|_| data.test_file.is_none()));
    let real = |a: &Path, b: &Path| matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    // A bundled set has a name and no path.
    let same = own.is_some_and(|own| own == file || real(own, file));
    // A set that comes in halves is tested on its test half.
    same && !(data.images.is_some() && crate::data::images::is_divided(file).unwrap_or(false))
}

fn own_test_rows(folder: &RunFolder, data: &load::Loaded, changed: bool) -> Result<()> {
    let place = folder.path.display().to_string();
    if changed {
        return Err(Error::data(
            place,
            "the data file has changed since the run was trained: its test rows cannot be told from the others",
            "",
            either("restore the file, or name rows never trained on with --test FILE", "restore the file"),
        ));
    }
    if data.test.n == 0 {
        let help = either("name a table or image set with --test FILE", "predict the rows of another file");
        return Err(Error::usage(place, "the run has no test rows of its own", "", help));
    }
    Ok(())
}

fn is_source(calibration: &Calibration, file: &Path) -> bool {
    match &calibration.source {
        Source::Validation | Source::OutOfFold => false,
        Source::File(own) => matches!((fs::canonicalize(own), fs::canonicalize(file)), (Ok(a), Ok(b)) if a == b),
    }
}

/// Metrics of rows with a target, beside the baselines if the training rows can still be read, and those of the calibrated
/// run if it is.
fn labelled(
    model: &Model,
    data: Option<&load::Loaded>,
    calibration: Option<&Calibration>,
    p: &Predictive,
    rows: &Dataset,
) -> Result<Results> {
    let y = targets(rows);
    let mut results = match (data, p) {
        (Some(data), p) => results_of(data, p, rows, &y, model.recipe.baselines.boosting)?,
        (None, Predictive::Regression(r)) => results::regression(r, &y, rows, None, model.encoder.target_name())?,
        (None, Predictive::Classification(c)) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            results::classification_of_rows(c, &classes, &rows.weights, None)
        }
    };
    if let Some(c) = calibration {
        c.beside(&mut results, p, &y);
    }
    Ok(results)
}
