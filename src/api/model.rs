//! A trained model: predictions for new rows, and the run folder that keeps it.

use super::misuse;
use super::prediction::Prediction;
use super::table::Table;
use crate::data::images::Part;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::results::Results;
use crate::run::{self, Calibration, Fitted, RunFolder, calibration};
use crate::workflow::Training;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A trained model, of [`fit`](super::fit) or of a run folder.
pub struct Model {
    run: run::Model,
    device: Device,
    calibration: Option<Calibration>,
    notes: Vec<String>,
    /// What can still be saved, with the table that it was trained on.
    training: Option<(Mutex<Training>, Table)>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model of {} by {}", self.run.encoder.target_names(), self.run.recipe.method.name)
    }
}

impl Model {
    pub(super) fn trained(training: Training, fitted: &Fitted, device: Device, table: Table) -> Model {
        Model {
            run: run::Model::of(&training.recipe, fitted),
            device,
            calibration: None,
            notes: fitted.data.notes.clone(),
            training: Some((Mutex::new(training), table)),
        }
    }

    /// Opens a run folder of `vifo fit` or of [`Model::save`], on the best device there is. A calibration by `vifo calibrate`
    /// is part of it.
    ///
    /// # Errors
    /// In one line: no run folder, no trained weights yet, a damaged file.
    pub fn load(folder: impl AsRef<Path>) -> Result<Model> {
        Model::load_on(folder, "auto")
    }

    /// The same on a device: "auto", "cpu", "gpu", "gpu:1", "software", or part of an adapter's name.
    pub fn load_on(folder: impl AsRef<Path>, device: &str) -> Result<Model> {
        let folder = RunFolder::open(folder.as_ref())?;
        let run = run::Model::open(&folder)?;
        let calibration = calibration::current(&folder)?;
        let notes = run::Model::caveats(&folder)?;
        Ok(Model { run, device: Device::open(device)?, calibration, notes, training: None })
    }

    /// The rows of `table` that can be predicted, each with its distribution. The table has the columns of the training table by
    /// name; those that the model does not use, and the target, may be absent.
    ///
    /// # Errors
    /// In one line: a column that is absent, no row that can be predicted, a model of several targets
    /// ([`Model::predict_all`]) or of images.
    pub fn predict(&self, table: &Table) -> Result<Prediction> {
        let mut all = self.predict_all(table)?;
        match (all.pop(), all.is_empty()) {
            (Some(one), true) => Ok(one),
            _ => Err(misuse("predict", format!("the model has {} targets", all.len() + 1), "use predict_all")),
        }
    }

    /// The same of a model with one target or several: one prediction for each, in the order of [`Model::targets`].
    pub fn predict_all(&self, table: &Table) -> Result<Vec<Prediction>> {
        if self.run.encoder.pixels.is_some() {
            return Err(misuse("predict", "the model was trained on images", "predict with `vifo predict RUN IMAGES`"));
        }
        let read = table.read_table();
        let (skip, header) = (read.options.skip_lines, read.options.header);
        let rows = self.run.read_all(&read.path, Part::All, false, Some(skip), header)?;
        let views = self.run.views();
        let of_target = |(at, view): (usize, &std::borrow::Cow<'_, run::Model>)| {
            let values = view.predict(&self.device, rows.data.inputs())?;
            let calibration = self.calibration.as_ref().map(|c| c.of_target(at).clone());
            Ok(Prediction::new(&rows, &self.notes, &view.encoder, values, calibration))
        };
        views.iter().enumerate().map(of_target).collect()
    }

    /// Names of what is predicted.
    pub fn targets(&self) -> Vec<&str> {
        self.run.encoder.targets().map(|t| t.name()).collect()
    }

    /// What there is to say of the data it was trained on, or of its run folder, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Makes the run folder that `vifo predict`, `evaluate`, `report` and [`Model::load`] open: weights, metrics of the test
    /// rows, their predictions, figures and the report. Columns in memory are kept in it. Returns the metrics, or None where
    /// there are no test rows.
    ///
    /// # Errors
    /// In one line: the folder exists and is not empty, the disk is full, the model was loaded and has its folder already.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<Option<Results>> {
        let folder = folder.as_ref();
        let Some((training, _)) = &self.training else {
            let place = folder.display().to_string();
            return Err(Error::usage(place, "the model was loaded from a run folder", "", "copy that folder"));
        };
        // The command line's help names its flags.
        RunFolder::refuse_unless_empty(folder).map_err(|_| {
            let place = folder.display().to_string();
            Error::usage(place, "already exists and is not empty", "", "name a folder that is new or empty")
        })?;
        let training = &mut *training.lock().unwrap_or_else(PoisonError::into_inner);
        // A table in memory becomes a file of the folder; another folder gets its own.
        let (data, recipe) = (training.data.clone(), training.recipe.clone());
        let written = training.report_in(folder, false);
        (training.data, training.recipe) = (data, recipe);
        Ok(written?.results)
    }
}
