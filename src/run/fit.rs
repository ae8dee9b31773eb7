//! From a recipe to a finished run folder: load, train, test, draw, report. Command line and app both call this; what they
//! show they learn from the events.

use super::folder::{Manifest, RunFolder};
use super::model::{self, Model, targets};
use super::results::{self, Baselines, Results};
use super::{report, tables};
use crate::config::Recipe;
use crate::config::plan::Plan;
use crate::data::load::{self, Loaded};
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Predictive;
use crate::train::{Ending, EpochRow, Event, Flow, Trainer, weights};
use std::path::{Path, PathBuf};

pub struct Fitted {
    pub ending: Ending,
    pub plan: Plan,
    pub data: Loaded,
    pub weights: Vec<f32>,
    /// Running statistics of batch normalisation; empty where the network has none.
    pub running: Vec<f32>,
    pub rows: Vec<EpochRow>,
    /// None where there are no test rows, or where training was stopped.
    pub results: Option<Results>,
    pub best: Option<(u32, f64)>,
    pub seconds: f64,
}

/// Paths in a run folder's recipe are absolute: the folder may be read from anywhere.
fn absolute(recipe: &Recipe) -> Result<Recipe> {
    let mut recipe = recipe.clone();
    let Recipe { data: d, net, .. } = &mut recipe;
    let paths = [&mut d.file, &mut d.images, &mut d.target_file, &mut d.test_file, &mut d.split_file, &mut net.weights];
    for path in paths.into_iter().flatten() {
        *path = crate::data::pixels::absolute(path).map_err(|e| Error::io(path, "find", &e))?;
    }
    Ok(recipe)
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
    let data = load::load(recipe)?;
    let plan = plan(recipe, &data)?;
    let mut trainer = trainer(recipe, &plan, &data, device)?;
    if force && path.exists() {
        replaceable(path)?;
        drop(RunFolder { path: path.to_path_buf() }.lock()?);
        std::fs::remove_dir_all(path).map_err(|e| Error::io(path, "replace", &e))?;
    }
    let folder = RunFolder::create(path)?;
    let lock = folder.lock();
    let fitted = lock.as_ref().map_err(Clone::clone).and_then(|_| {
        folder.write("recipe.toml", absolute(recipe)?.to_toml()?.as_bytes())?;
        folder.write_json("encoder.json", &data.encoder)?;
        train(&folder, recipe, &plan, &data, &mut trainer, vec![], device, listen)
    });
    if fitted.is_err() && !folder.last().is_file() {
        // Nothing in it can be resumed or read: it would only stand in the way.
        let _ = std::fs::remove_dir_all(path);
    }
    fitted
}

/// A run folder among the images would be a class of its own the next time.
fn outside_of_the_images(recipe: &Recipe, path: &Path) -> Result<()> {
    let Some(Ok(images)) = recipe.data.images.as_ref().map(|images| images.canonicalize()) else { return Ok(()) };
    let absolute = std::path::absolute(path).map_err(|e| Error::io(path, "find", &e))?;
    // The folder need not exist yet; the nearest one above it that does tells where it would be.
    let inside = absolute.ancestors().find_map(|p| p.canonicalize().ok()).is_some_and(|p| p.starts_with(&images));
    let is_bundled = recipe.data.images.as_deref().is_some_and(crate::data::pixels::is_bundled);
    if inside && !is_bundled {
        let place = path.display().to_string();
        return Err(Error::usage(
            place,
            "lies inside the image set",
            "a folder outside of it",
            "choose another with --out",
        ));
    }
    Ok(())
}

/// Only what is recognisably a run of ours may be deleted.
fn replaceable(path: &Path) -> Result<()> {
    let empty = path.read_dir().is_ok_and(|mut d| d.next().is_none());
    if empty || RunFolder::open(path).is_ok() {
        return Ok(());
    }
    Err(Error::usage(
        path.display().to_string(),
        "is not a run folder, so --force does not delete it",
        "a folder made by `vifo fit`",
        "choose another folder with --out",
    ))
}

/// Goes on with a run that was stopped or killed; its recipe decides everything.
pub fn resume(path: &Path, device: &Device, listen: &mut dyn FnMut(&Event, &[String]) -> Flow) -> Result<Fitted> {
    let folder = RunFolder::open(path)?;
    let _lock = folder.lock()?;
    let recipe = folder.recipe()?;
    let data = load::load(&recipe)?;
    let before = folder.manifest()?;
    if before.data != data.hash {
        return Err(Error::data(
            path.display().to_string(),
            "the data file has changed since this run began",
            "",
            "restore the file, or start a new run with `vifo fit`",
        ));
    }
    let plan = plan(&recipe, &data)?;
    let mut trainer = trainer(&recipe, &plan, &data, device)?;
    let mut rows = vec![];
    if folder.last().is_file() {
        let last = Model::checkpoint(&folder.last(), &plan)?;
        rows = folder.metrics(last.epoch)?;
        trainer.restore(&last)?;
    }
    train(&folder, &recipe, &plan, &data, &mut trainer, rows, device, listen)
}

fn plan(recipe: &Recipe, data: &Loaded) -> Result<Plan> {
    Plan::new(recipe, data.train.n, &data.encoder)
}

/// A trainer at its start: random weights, or those of the recipe's file.
fn trainer<'a>(recipe: &Recipe, plan: &'a Plan, data: &'a Loaded, device: &Device) -> Result<Trainer<'a>> {
    let mut trainer = Trainer::new(plan, data, device)?;
    if let Some(path) = &recipe.net.weights {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
        let setup = &plan.setup;
        let (weights, running) = weights::import(&bytes, path, &setup.layout())?;
        let initial = setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
        let (weights, running) = weights::start_from(setup, &initial, (&weights, &running))?;
        trainer.start_from(&weights, &running)?;
    }
    Ok(trainer)
}

fn manifest(recipe: &Recipe, data: &Loaded, device: &str, state: &str) -> Manifest {
    let (vifo, git) = Manifest::version();
    Manifest {
        vifo,
        git,
        device: device.into(),
        seed: recipe.seed,
        data: data.hash.clone(),
        train_rows: data.train.n,
        validation_rows: data.validation.n,
        test_rows: data.test.n,
        state: state.into(),
        notes: data.notes.clone(),
    }
}

#[allow(clippy::too_many_arguments)]
fn train(
    folder: &RunFolder,
    recipe: &Recipe,
    plan: &Plan,
    data: &Loaded,
    trainer: &mut Trainer,
    mut rows: Vec<EpochRow>,
    device: &Device,
    listen: &mut dyn FnMut(&Event, &[String]) -> Flow,
) -> Result<Fitted> {
    let mut device_name = String::new();
    let ending = trainer.run(|trainer, event| {
        match &event {
            Event::Started { device, .. } => {
                device_name = device.clone();
                folder.write_json("manifest.json", &manifest(recipe, data, device, "training"))?;
            }
            Event::Epoch(row) => rows.push(*row),
            Event::Checkpoint => save(folder, trainer, &rows)?,
        }
        Ok(listen(&event, &data.notes))
    })?;
    save(folder, trainer, &rows)?;
    let (weights, running) = trainer.final_weights()?;
    let mut fitted = Fitted {
        ending,
        plan: plan.clone(),
        data: data.clone(),
        weights,
        running,
        best: trainer.best(),
        seconds: rows.last().map_or(0.0, |r| r.seconds),
        rows,
        results: None,
    };
    if ending == Ending::Stopped {
        folder.write_json("manifest.json", &manifest(recipe, data, &device_name, "stopped"))?;
        return Ok(fitted);
    }
    finish(folder, recipe, &mut fitted, device, &device_name)?;
    let state = if ending == Ending::Early { "stopped early" } else { "finished" };
    folder.write_json("manifest.json", &manifest(recipe, data, &device_name, state))?;
    Ok(fitted)
}

/// `last` comes last and holds all that a resumed run needs: a kill before it leaves the run at the checkpoint before,
/// and rows of metrics.csv beyond it are cut on resume.
fn save(folder: &RunFolder, trainer: &mut Trainer, rows: &[EpochRow]) -> Result<()> {
    let layout = trainer.layout();
    folder.write_metrics(rows)?;
    super::write_atomic(&folder.best(), &trainer.best_checkpoint()?.to_bytes(&layout)?)?;
    super::write_atomic(&folder.last(), &trainer.checkpoint()?.to_bytes(&layout)?)
}

/// Test, predictions, figures and report of the final weights.
fn finish(folder: &RunFolder, recipe: &Recipe, fitted: &mut Fitted, device: &Device, device_name: &str) -> Result<()> {
    let data = &fitted.data;
    let mut figures: Vec<(PathBuf, String)> = vec![];
    let mut results = None;
    if data.test.n > 0 {
        let predictive = model::predict(
            &fitted.plan,
            &data.encoder,
            (&fitted.weights, &fitted.running),
            device,
            data.test.inputs(),
        )?;
        let y = targets(&data.test);
        let table = tables::predictions(&predictive, &data.encoder, &data.test.ids, Some(&y));
        tables::write_csv(&folder.file("predictions.csv"), &table)?;
        let r = test(data, &predictive, &y)?;
        folder.write_json("results.json", &r)?;
        figures.extend(report::test_figures(&folder.figures(), data, &predictive, &y)?);
        results = Some(r);
    }
    let mut all = report::input_figures(&folder.figures(), fitted, device)?;
    all.append(&mut figures);
    all.push(report::learning_curves(
        &folder.figures(),
        &recipe_name(recipe),
        &fitted.rows,
        fitted.data.encoder.target_sd(),
    )?);
    report::write(folder, recipe, fitted, results.as_ref(), device_name, &all)?;
    fitted.results = results;
    Ok(())
}

/// Metrics of the test rows beside both baselines.
pub fn test(data: &Loaded, predictive: &Predictive, y: &[f64]) -> Result<Results> {
    match predictive {
        Predictive::Regression(r) => {
            let seen = joined(&data.train, &data.validation);
            let baselines = Baselines::fit(&seen, &targets(&seen));
            results::regression(r, y, &data.test, Some(&baselines), data.encoder.target_name())
        }
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            Ok(results::classification(c, &classes, Some(&shares(data))))
        }
    }
}

/// Class shares of the rows that training saw.
pub fn shares(data: &Loaded) -> Vec<f64> {
    let mut count = vec![0.0; data.encoder.n_classes().unwrap_or(0)];
    let all = data.train.y.iter().chain(&data.validation.y);
    for y in all {
        count[*y as usize] += 1.0;
    }
    let n: f64 = count.iter().sum();
    count.iter().map(|c| c / n.max(1.0)).collect()
}

fn joined(a: &Dataset, b: &Dataset) -> Dataset {
    let mut out = a.clone();
    out.x.extend(&b.x);
    out.y.extend(&b.y);
    out.ids.extend(b.ids.iter().cloned());
    out.target.extend(&b.target);
    out.n += b.n;
    out
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
