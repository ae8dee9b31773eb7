//! From a recipe to a finished run folder: load, train, test, draw, report. What the caller shows it learns from the events.

use super::training::Training;
use crate::base::fs;
use crate::data::load::Loaded;
use crate::data::{Task, targets_of};
use crate::error::Result;
use crate::exec::Device;
use crate::recipe::Recipe;
use crate::report;
use crate::results::{self, Results, predictions};
use crate::run::model;
use crate::run::place::outside_of_the_images;
use crate::run::{Fitted, RunFolder, recipe_name, targets};
use crate::system::stop;
use crate::tables;
use crate::train::{self, Ending, Event, Flow, drive};
use std::path::Path;

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
    if fitted.is_err() && !fs::is_file(RunFolder { path: path.to_path_buf() }.last()) {
        // Nothing in it can be resumed or read: it would only stand in the way.
        training.discard();
    }
    fitted
}

/// Goes on with a run that was stopped or killed; its recipe decides everything.
pub fn resume(path: &Path, device: &Device, listen: &mut dyn FnMut(&Event, &[String]) -> Flow) -> Result<Fitted> {
    resume_with(path, None, None, device, listen)
}

/// The same, with its data in `file` if that is named; a run that has come to its end goes on for `more` epochs.
pub fn resume_with(
    path: &Path,
    file: Option<&Path>,
    more: Option<u32>,
    device: &Device,
    listen: &mut dyn FnMut(&Event, &[String]) -> Flow,
) -> Result<Fitted> {
    to_the_end(&mut Training::resume_with(path, file, more, device)?, listen)
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
        let table = predictions::predictions(&predictive, &data.encoder, &data.test.ids, Some(&y));
        written.push((names[at].clone(), table));
        let r = results::test(&data, &predictive, &y, recipe.baselines.boosting)?;
        figures.extend(report::test_figures(&dir, &data, &predictive, &y)?);
        tested.push((r, predictive));
    }
    let of_all = names.iter().cloned().zip(tested.iter().map(|t| t.0.clone())).collect();
    let mut results = targets::merged(of_all);
    if let Some(note) = fitted.first_is_best() {
        tested.iter_mut().take(1).for_each(|(of_first, _)| of_first.notes.push(note.clone()));
        results.iter_mut().for_each(|all| all.notes.push(note.clone()));
    }
    results.iter_mut().for_each(|all| all.variants = fitted.variants());
    if let Some(results) = &results {
        tables::write_csv(&folder.file("predictions.csv"), &targets::side_by_side(written, true))?;
        folder.write_json("results.json", results)?;
    }
    fitted.out_of_fold = out_of_fold(folder, fitted, device)?;
    all.append(&mut figures);
    all.push(report::learning_curves(
        &folder.figures(),
        &recipe_name(recipe),
        &fitted.rows,
        fitted.data.encoder.target_sd(),
        fitted.kept_epoch(),
    )?);
    report::write(folder, recipe, fitted, &tested, device_name, &all)?;
    fitted.results = results;
    Ok(())
}

/// Predictions of all training rows, each by the member that held it out, with their metrics; where members do.
fn out_of_fold(folder: &RunFolder, fitted: &Fitted, device: &Device) -> Result<Option<Results>> {
    if fitted.plan.setup.folds == 0 {
        return Ok(None);
    }
    let (mut written, mut of_all) = (vec![], vec![]);
    let all = train::out_of_fold(&fitted.plan, &fitted.trained, &fitted.data.train, device)?;
    for (at, mut predictive) in all.into_iter().enumerate() {
        let data = fitted.data.of_target(at);
        model::to_units(&mut predictive, &data.encoder);
        let (y, name) = (targets_of(&data.train), data.encoder.target_name().to_string());
        written.push((name.clone(), predictions::predictions(&predictive, &data.encoder, &data.train.ids, Some(&y))));
        of_all.push((name, results::alone(&predictive, &data, &y)?));
    }
    let Some(merged) = targets::merged(of_all) else { return Ok(None) };
    let merged = Results { set: "out of fold".into(), variants: fitted.variants(), ..merged };
    tables::write_csv(&folder.file("out_of_fold.csv"), &targets::side_by_side(written, true))?;
    folder.write_json("out_of_fold.json", &merged)?;
    Ok(Some(merged))
}

/// Whether the test set's NLL has a unit that depends on the target's.
pub fn is_regression(data: &Loaded) -> bool {
    data.task() == Task::Regression
}
