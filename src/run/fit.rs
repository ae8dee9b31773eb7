//! From a recipe to a finished run folder: load, train, test, draw, report. What the caller shows it learns from the events.

use super::model::{self, targets as targets_of};
use super::place::outside_of_the_images;
use super::results::{self, Baselines, ClassBaselines, Results};
use super::training::Training;
use super::{RunFolder, targets};
use crate::data::load::Loaded;
use crate::data::{Dataset, Task};
use crate::error::Result;
use crate::exec::Device;
use crate::method::{Predictive, Trained};
use crate::recipe::{Boosting, Recipe};
use crate::report::{self, tables};
use crate::system::stop;
use crate::train::plan::Plan;
use crate::train::{Ending, EpochRow, Event, Flow, drive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Fitted {
    pub ending: Ending,
    pub plan: Plan,
    pub data: Arc<Loaded>,
    pub trained: Trained,
    pub rows: Vec<EpochRow>,
    /// None where there are no test rows, or where training was stopped.
    pub results: Option<Results>,
    pub best: Option<(u32, f64)>,
    pub seconds: f64,
}

/// Starts a new run in `path`, which is made only once the data is known to be good.
pub fn fit(
    recipe: &Recipe,
    path: &Path,
    force: bool,
    device: &Device,
    listen: &mut dyn FnMut(&Event, &[String]) -> Flow,
) -> Result<Fitted> {
    outside_of_the_images(recipe, path)?;
    let mut training = Training::new(recipe, device)?;
    training.keep_in(path, force)?;
    let fitted = to_the_end(&mut training, listen);
    if fitted.is_err() && !(RunFolder { path: path.to_path_buf() }).last().is_file() {
        // Nothing in it can be resumed or read: it would only stand in the way.
        training.discard();
    }
    fitted
}

/// Goes on with a run that was stopped or killed; its recipe decides everything.
pub fn resume(path: &Path, device: &Device, listen: &mut dyn FnMut(&Event, &[String]) -> Flow) -> Result<Fitted> {
    resume_with(path, None, device, listen)
}

/// The same, with its data in `file` if that is named.
pub fn resume_with(
    path: &Path,
    file: Option<&Path>,
    device: &Device,
    listen: &mut dyn FnMut(&Event, &[String]) -> Flow,
) -> Result<Fitted> {
    to_the_end(&mut Training::resume_with(path, file, device)?, listen)
}

fn to_the_end(training: &mut Training, listen: &mut dyn FnMut(&Event, &[String]) -> Flow) -> Result<Fitted> {
    let _saves = stop::hold();
    let notes = training.data.notes.clone();
    match drive::to_the_end(training, &mut |_, event| Ok(listen(&event, &notes)))? {
        Ending::Stopped => training.stop(),
        Ending::Finished | Ending::Early => training.report(),
    }
}

/// Test, predictions, figures and report of the final weights.
pub(super) fn test_and_report(
    folder: &RunFolder,
    recipe: &Recipe,
    fitted: &mut Fitted,
    device: &Device,
    device_name: &str,
) -> Result<()> {
    let names: Vec<String> = fitted.data.encoder.targets().map(|t| t.name().to_string()).collect();
    let (mut tested, mut written, mut all, mut figures) = (vec![], vec![], vec![], vec![]);
    for at in 0..names.len() {
        let data = fitted.data.of_target(at);
        let dir = targets::figures(folder, &names, at);
        all.extend(report::input_figures(&dir, fitted, &data, device)?);
        if data.test.n == 0 {
            continue;
        }
        let predictive = model::predict(&fitted.plan, &data.encoder, &fitted.trained, device, data.test.inputs())?;
        let y = targets_of(&data.test);
        let table = tables::predictions(&predictive, &data.encoder, &data.test.ids, Some(&y));
        written.push((names[at].clone(), table));
        let r = test(&data, &predictive, &y, recipe.baselines.boosting)?;
        figures.extend(report::test_figures(&dir, &data, &predictive, &y)?);
        tested.push((r, predictive));
    }
    let of_all = names.iter().cloned().zip(tested.iter().map(|t| t.0.clone())).collect();
    let results = targets::merged(of_all);
    if let Some(results) = &results {
        tables::write_csv(&folder.file("predictions.csv"), &targets::side_by_side(written, true))?;
        folder.write_json("results.json", results)?;
    }
    all.append(&mut figures);
    all.push(report::learning_curves(
        &folder.figures(),
        &recipe_name(recipe),
        &fitted.rows,
        fitted.data.encoder.target_sd(),
    )?);
    report::write(folder, recipe, fitted, &tested, device_name, &all)?;
    fitted.results = results;
    Ok(())
}

/// Metrics of the test rows beside the baselines, fitted on the rows that training saw (validation included: they chose the
/// stopping time).
pub fn test(data: &Loaded, predictive: &Predictive, y: &[f64], boosting: Boosting) -> Result<Results> {
    results_of(data, predictive, &data.test, y, boosting)
}

/// The same of other rows, with targets `y`.
pub fn results_of(
    data: &Loaded,
    predictive: &Predictive,
    rows: &Dataset,
    y: &[f64],
    boosting: Boosting,
) -> Result<Results> {
    let seen = joined(&data.train, &data.validation);
    match predictive {
        Predictive::Regression(r) => {
            let baselines = Baselines::fit(&seen, &targets_of(&seen), data.validation.n, boosting)?;
            results::regression(r, y, rows, Some(&baselines), data.encoder.target_name())
        }
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            let k = data.encoder.n_classes().unwrap_or(0);
            let baselines = ClassBaselines::fit(&seen, k, data.validation.n, boosting, rows)?;
            Ok(results::classification_of_rows(c, &classes, &rows.weights, Some(&baselines)))
        }
    }
}

fn joined(a: &Dataset, b: &Dataset) -> Dataset {
    // Only what the baselines read: images and names of rows would be copied for nothing.
    let weights = match a.weights.is_empty() {
        true => vec![],
        false => a.weights.iter().copied().chain(b.row_weights()).collect(),
    };
    Dataset {
        x: [&a.x[..], &b.x].concat().into(),
        y: [&a.y[..], &b.y].concat(),
        target: [&a.target[..], &b.target].concat(),
        n: a.n + b.n,
        d: a.d,
        weights,
        ..Default::default()
    }
}

/// "concrete": the recipe's name, else its data's.
pub fn recipe_name(recipe: &Recipe) -> String {
    if let Some(name) = &recipe.name {
        return name.clone();
    }
    let stem = |p: &PathBuf| {
        let stem =
            p.file_name().map(|s| s.to_string_lossy().split('.').next().unwrap_or("").to_string()).unwrap_or_default();
        // "data.csv" says nothing; its folder does.
        match p.parent().and_then(|d| d.file_name()) {
            Some(dir) if stem == "data" || stem == "train" => dir.to_string_lossy().to_string(),
            _ => stem,
        }
    };
    match (recipe.data.file.as_ref().or(recipe.data.images.as_ref()), &recipe.data.toy) {
        (Some(file), _) if crate::data::source::is_stream(file) => "stream".into(),
        (Some(file), _) => std::path::absolute(file).map_or_else(|_| stem(file), |f| stem(&f)),
        (None, Some(toy)) => format!("{toy:?}").to_lowercase(),
        (None, None) if recipe.data.points.is_some() => "points".into(),
        (None, None) => "run".into(),
    }
}

/// Whether the test set's NLL has a unit that depends on the target's.
pub fn is_regression(data: &Loaded) -> bool {
    data.task() == Task::Regression
}
