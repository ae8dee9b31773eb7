//! A trained run, opened for prediction: recipe, encoder, weights, and predictions in the user's units.

use super::RunFolder;
use crate::config::Recipe;
use crate::config::plan::Plan;
use crate::data::encode::{Encoder, Target};
use crate::data::load::read_options;
use crate::data::table::{Table, read_table};
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Predictive;
use crate::train::{Checkpoint, Predictor};
use std::path::Path;

pub struct Model {
    pub recipe: Recipe,
    pub encoder: Encoder,
    pub plan: Plan,
    pub weights: Vec<f32>,
}

impl Model {
    pub fn open(run: &RunFolder) -> Result<Model> {
        let recipe = run.recipe()?;
        let encoder = run.encoder()?;
        let n_rows = run.manifest()?.train_rows;
        let plan = Plan::new(&recipe, n_rows, encoder.n_inputs(), encoder.n_classes())?;
        let path = run.best();
        if !path.is_file() {
            return Err(Error::data(
                path.display().to_string(),
                "no trained weights yet",
                "",
                format!("finish the training with `vifo fit --resume {}`", run.path.display()),
            ));
        }
        let weights = Self::checkpoint(&path, &plan)?.weights;
        Ok(Model { recipe, encoder, plan, weights })
    }

    pub fn checkpoint(path: &Path, plan: &Plan) -> Result<Checkpoint> {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
        let s = &plan.setup;
        Checkpoint::from_bytes(&bytes, path, &s.layout(), s.members as usize, s.member_len())
    }

    pub fn task(&self) -> Task {
        self.encoder.task()
    }

    /// Reads a table as the training file was read; the target column may be absent unless it is needed.
    pub fn read(&self, file: &Path, need_target: bool) -> Result<(Table, Dataset, usize)> {
        let table = read_table(file, &read_options(&self.recipe.data))?;
        let kept = self.encoder.rows_without_missing(&table, need_target)?;
        let data = self.encoder.encode(&table, &kept.rows, need_target)?;
        if data.n == 0 {
            return Err(Error::data(
                file.display().to_string(),
                "no rows to predict",
                "at least one row",
                "check the file",
            ));
        }
        Ok((table, data, kept.dropped))
    }

    /// Predictions in the user's units.
    pub fn predict(&self, device: &Device, x: &[f32]) -> Result<Predictive> {
        predict(&self.plan, &self.encoder, &self.weights, device, x)
    }

    /// Targets in the user's unit.
    pub fn targets(&self, y: &[f32]) -> Vec<f64> {
        targets(&self.encoder, y)
    }
}

/// The same for a run that has just been trained.
pub fn predict(plan: &Plan, encoder: &Encoder, weights: &[f32], device: &Device, x: &[f32]) -> Result<Predictive> {
    let n = x.len() / encoder.n_inputs().max(1);
    let mut predictor = Predictor::new(&plan.setup, device, plan.seed, n)?;
    predictor.set_weights(weights)?;
    let mut predictive = predictor.predict(x)?;
    if let (Predictive::Regression(r), Target::Regression { mean, sd, .. }) = (&mut predictive, &encoder.target) {
        r.rescale(*mean, *sd);
    }
    Ok(predictive)
}

pub fn targets(encoder: &Encoder, y: &[f32]) -> Vec<f64> {
    y.iter()
        .map(|&v| if encoder.task() == Task::Regression { encoder.destandardise(v as f64) } else { v as f64 })
        .collect()
}
