//! Calibration after training (`vifo calibrate`): a temperature for class probabilities, and conformal intervals or sets.
//! The maths is in `metrics::{temperature, conformal}`; here are the rows it is fitted on, the file that keeps it, and what
//! predictions and evaluations make of it.
//!
//! Conformal scores are those of the predictions before the temperature: T is fitted on the same rows, and scores that
//! knew them would void the guarantee.

use crate::base::fs;
use crate::data::images::Part;
use crate::data::load::Loaded;
use crate::data::targets_of as targets;
use crate::data::{Dataset, Task, load};
use crate::error::{Error, Result, either};
use crate::exec::Device;
use crate::method::Predictive;
use crate::metrics::conformal::{self, Sets};
use crate::metrics::temperature;
use crate::recipe;
use crate::report::evaluations::{EvaluatedRun, Page};
use crate::run::calibration::{CALIBRATED, CALIBRATED_ROWS, Calibration, Level, SLOT, Source, apply, stored};
use crate::run::model::Model;
use crate::run::moved;
use crate::run::targets as targets_of_run;
use crate::run::{Manifest, RunFolder};
use crate::tables::write_csv;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default)]
pub struct CalibrateRequest {
    /// Rows of their own instead of the validation part.
    pub data: Option<PathBuf>,
    /// Shares of rows that may fall outside; `ALPHA` where none is named.
    pub alpha: Vec<f64>,
    /// APS where none is named.
    pub sets: Option<Sets>,
    pub skip_lines: Option<usize>,
}

pub const ALPHA: f64 = 0.1;

/// Least and greatest alpha: beyond, a level would round to 0 or 100 %.
const ALPHAS: (f64, f64) = (0.0001, 0.9999);

#[derive(serde::Serialize, serde::Deserialize)]
pub struct Calibrated {
    pub calibration: Calibration,
    pub notes: Vec<String>,
}

/// Fits, stores it in the folder and in the report. Nobody else may write to the run meanwhile.
pub fn calibrate(folder: &RunFolder, device: &Device, request: &CalibrateRequest) -> Result<Calibrated> {
    let alphas = alphas(&request.alpha)?;
    let _lock = folder.lock()?;
    let model = Model::open(folder)?;
    if let (Some(_), Task::Regression) = (request.sets, model.task()) {
        let found = "the run predicts a number";
        return Err(Error::usage(
            either("--sets", "sets"),
            found,
            "a run that predicts classes",
            "leave it out: a regression has intervals",
        ));
    }
    let mut notes = Model::caveats(folder)?;
    let mut unchecked = false;
    let (rows, source) = match &request.data {
        Some(file) => {
            let fresh = fresh(&model, folder, file, request.skip_lines)?;
            notes.extend(fresh.notes);
            unchecked = fresh.unchecked;
            let file = recipe::absolute(file).map_err(|e| Error::io(file, "find", &e))?;
            (fresh.rows, Source::File(file))
        }
        None => {
            if request.skip_lines.is_some() {
                notes.push(either(
                    "--skip-lines has no effect without --data",
                    "skipped lines have no effect without a file",
                ));
            }
            match model.plan.setup.folds {
                0 => (validation(&model, folder)?, Source::Validation),
                _ => (own_data(&model, folder)?.train, Source::OutOfFold),
            }
        }
    };
    let (vifo, _) = Manifest::version();
    let empty = Calibration {
        version: stored::VERSION,
        vifo,
        run: stored::fingerprint(folder)?,
        source,
        unchecked,
        rows: rows.n,
        temperature: None,
        sets: None,
        levels: vec![],
        more_targets: vec![],
    };
    let mut fitted = vec![];
    for (at, view) in model.views().iter().enumerate() {
        let (mut own, y) = (empty.clone(), targets(&rows.of_target(at, model.encoder.n_targets())));
        let predictive = match own.source {
            Source::OutOfFold => view.predict_out_of_fold(device, &rows)?,
            _ => view.predict(device, rows.inputs())?,
        };
        fit(&mut own, &predictive, &y, &alphas, request.sets.unwrap_or(Sets::Aps))?;
        fitted.push(own);
    }
    let mut fitted = fitted.into_iter();
    let mut calibration = fitted.next().unwrap_or(empty);
    calibration.more_targets = fitted.collect();
    // Of the calibration before.
    for beside in [CALIBRATED, CALIBRATED_ROWS].map(|name| folder.file(name)) {
        if fs::is_file(&beside) {
            fs::remove_file(&beside).map_err(|e| Error::io(&beside, "replace", &e))?;
        }
    }
    folder.write_calibration(&calibration)?;
    if let Err(e) = of_the_test(&model, folder, device, &calibration) {
        notes.push(format!("the report does not show it: {e}"));
    }
    notes.extend(calibration.caveats());
    notes.extend(of_the_split(&model.recipe.data));
    Ok(Calibrated { calibration, notes })
}

/// Its section of the report and, where the run has test rows that can still be read, what it makes of them: in the report, and in a
/// files beside results.json and predictions.csv.
fn of_the_test(model: &Model, folder: &RunFolder, device: &Device, calibration: &Calibration) -> Result<()> {
    let page = Page::new(folder);
    let (mut all, mut rows) = (vec![], vec![]);
    let own = model.data().ok().filter(|own| folder.manifest().is_ok_and(|m| m.data == own.hash) && own.test.n > 0);
    for (at, view) in model.views().iter().enumerate() {
        let calibration = calibration.of_target(at);
        let run = EvaluatedRun::new(&page, model, view, Some(calibration));
        let Some(own) = &own else {
            run.put(SLOT, &[calibration.section(view.encoder.target_name())]);
            continue;
        };
        let own = own.of_target(at);
        let (p, y) = (view.predict(device, own.test.inputs())?, targets(&own.test));
        let mut results = crate::results::test(&own, &p, &y, model.recipe.baselines.boosting)?;
        calibration.beside(&mut results, &p, &y);
        run.own(&results, &p, &y)?;
        let name = view.encoder.target_name().to_string();
        rows.push((name.clone(), calibration.table(&p, &view.encoder, &own.test.ids, Some(&y)).0));
        all.push((name, results));
    }
    if !rows.is_empty() {
        write_csv(&folder.file(CALIBRATED_ROWS), &targets_of_run::side_by_side(rows, true))?;
    }
    if let Some(results) = targets_of_run::merged(all) {
        folder.write_json(CALIBRATED, &results)?;
    }
    page.write().map(|_| ())
}

/// What the columns that split or weigh the rows mean for the promise, a sentence each.
fn of_the_split(data: &recipe::Data) -> Vec<String> {
    let mut all = vec![];
    if data.group.is_some() {
        all.push(
            "rows of one group are correlated, so coverage on a new group is less certain than the number of rows suggests"
                .into(),
        );
    }
    if data.time.is_some() {
        all.push(
            "it was fitted on the most recent rows before the test part: it holds as long as the future is like them"
                .into(),
        );
    }
    if data.weight.is_some() {
        all.push(either(
            "calibration ignores data.weight: all rows count equally",
            "calibration ignores the weights: all rows count equally",
        ));
    }
    all
}

/// Each alpha once, in the order given.
fn alphas(request: &[f64]) -> Result<Vec<f64>> {
    let mut out: Vec<f64> = vec![];
    for &alpha in if request.is_empty() { &[ALPHA] } else { request } {
        if !(ALPHAS.0..=ALPHAS.1).contains(&alpha) {
            let allowed = format!("{} to {}", ALPHAS.0, ALPHAS.1);
            let help = "it is the share of rows that may fall outside: 0.1 for 90 % intervals";
            return Err(Error::usage(either("--alpha", "alpha"), alpha.to_string(), allowed, help));
        }
        if !out.iter().any(|a| stored::percent(*a) == stored::percent(alpha)) {
            out.push(alpha);
        }
    }
    Ok(out)
}

fn fit(to: &mut Calibration, p: &Predictive, y: &[f64], alphas: &[f64], sets: Sets) -> Result<()> {
    let scores: Vec<f64> = match p {
        Predictive::Regression(r) => {
            (0..r.n()).map(|i| conformal::residual(y[i], r.mean[i], r.unadjusted_sd(i))).collect()
        }
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            let probs = c.uncalibrated();
            let fitted = temperature::fit(&probs, &classes, c.k);
            let broken =
                || Error::run("calibrate", "a probability is no number", "train again with a lower learning rate");
            to.temperature = Some(fitted.ok_or_else(broken)?);
            to.sets = Some(sets);
            probs.chunks(c.k).zip(&classes).map(|(p, &y)| sets.scores(p)[y]).collect()
        }
    };
    for &alpha in alphas {
        let q = conformal::threshold(&scores, alpha);
        let level = Level { alpha, threshold: q.is_finite().then_some(q), mean_size: None };
        let sizes = apply::sizes(&level, to.sets, p);
        let mean = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        to.levels.push(Level { mean_size: mean.is_finite().then_some(mean), ..level });
    }
    Ok(())
}

/// The data that the run was trained on.
fn own_data(model: &Model, folder: &RunFolder) -> Result<Loaded> {
    let data = model.data()?;
    if !folder.manifest()?.is_of(&data) {
        return Err(Error::data(
            folder.path.display().to_string(),
            "the data file has changed since the run was trained: its validation rows cannot be told from the others",
            "",
            either("restore the file, or name rows never trained on with --data FILE", "restore the file"),
        ));
    }
    Ok(data)
}

/// The run's validation part.
fn validation(model: &Model, folder: &RunFolder) -> Result<Dataset> {
    let data = own_data(model, folder)?;
    if data.validation.n == 0 {
        return Err(Error::usage(
            folder.path.display().to_string(),
            "the run has no validation rows to calibrate on",
            "",
            either(
                "name rows never trained on with --data FILE, or train with data.validation_fraction above 0",
                "train it again with validation rows",
            ),
        ));
    }
    Ok(data.validation)
}

/// Rows of a file to calibrate on.
struct Fresh {
    rows: Dataset,
    notes: Vec<String>,
    /// They could not be compared with the rows that the run was trained on.
    unchecked: bool,
}

/// Whether `file` in place of the run's data gives what the run was trained on, by the manifest: that needs no original.
fn is_data_of(model: &Model, manifest: &Manifest, put: impl Fn(&mut recipe::Data)) -> bool {
    let mut recipe = model.recipe.clone();
    put(&mut recipe.data);
    load::load(&recipe).is_ok_and(|data| manifest.is_of(&data))
}

/// Rows of a file, which must be neither the training nor the test rows.
fn fresh(model: &Model, folder: &RunFolder, file: &Path, skip_lines: Option<usize>) -> Result<Fresh> {
    let d = &model.recipe.data;
    let refuse = |found: String| {
        let help = either(
            "name fresh rows, or leave --data out for the validation part",
            "name fresh rows, or the validation part",
        );
        let allowed = "rows that the run was neither trained nor tested on";
        Err(Error::usage(file.display().to_string(), found, allowed, help))
    };
    const TRAINED: &str = "is what the run was trained on";
    const TESTED: &str = "is the run's test set, which would be a test no longer";
    if same(d.file.as_deref(), file) || same(d.images.as_deref(), file) {
        return refuse(TRAINED.into());
    }
    if same(d.test_file.as_deref(), file) {
        return refuse(TESTED.into());
    }
    let (rows, mut notes) = model.read(file, Part::All, true, skip_lines)?;
    // A copy under another name.
    let manifest = folder.manifest()?;
    let own = model.data().ok().filter(|own| manifest.is_of(own));
    let Some(own) = own else {
        let absolute = recipe::absolute(file).map_err(|e| Error::io(file, "find", &e))?;
        let as_data = |data: &mut recipe::Data| drop(moved::replace(data, &absolute));
        if is_data_of(model, &manifest, as_data) {
            return refuse(TRAINED.into());
        }
        if d.test_file.is_some() && is_data_of(model, &manifest, |data| data.test_file = Some(absolute.clone())) {
            return refuse(TESTED.into());
        }
        return Ok(Fresh { rows, notes, unchecked: true });
    };
    for (part, name) in [(&own.train, "training"), (&own.test, "test")] {
        let duplicates = duplicates(&rows, part);
        if 2 * duplicates > rows.n {
            return refuse(format!("{duplicates} of its {} rows are {name} rows of the run", rows.n));
        }
        if duplicates > 0 {
            notes.push(format!("{duplicates} of {} rows are {name} rows of the run too", rows.n));
        }
    }
    Ok(Fresh { rows, notes, unchecked: false })
}

fn same(own: Option<&Path>, file: &Path) -> bool {
    let Some(own) = own else { return false };
    // A bundled set has a name and no path.
    own == file || matches!((fs::canonicalize(own), fs::canonicalize(file)), (Ok(a), Ok(b)) if a == b)
}

/// How many of the rows are among the known, by inputs and target.
pub(crate) fn duplicates(rows: &Dataset, known: &Dataset) -> usize {
    let known: HashSet<u64> = keys(known).collect();
    keys(rows).filter(|k| known.contains(k)).count()
}

/// One number per row, of its inputs and target: equal for equal rows.
fn keys(data: &Dataset) -> impl Iterator<Item = u64> + '_ {
    (0..data.n).map(|i| {
        let mut hasher = DefaultHasher::new();
        let range = i * data.d..(i + 1) * data.d;
        if data.bytes.is_empty() {
            data.x[range].iter().for_each(|v| v.to_bits().hash(&mut hasher));
        } else {
            data.bytes[range].hash(&mut hasher);
        }
        data.y[i].to_bits().hash(&mut hasher);
        hasher.finish()
    })
}

#[cfg(test)]
#[path = "calibrate_tests.rs"]
mod tests;
