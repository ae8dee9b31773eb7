//! Which runs a table needs, what each is trained with, where it lies and how far it is. The folder's name carries the
//! scale, so that runs of another scale lie beside it and are never mixed in.

use super::ask::ReproduceRequest;
use super::mapping::{Family, Method, Set, Show, network_names};
use super::sets::Places;
use crate::error::{Error, Result};
use crate::recipe::{NetName, Recipe, key, keys};
use crate::study::run_set::{self, RunStatus};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct PlannedRun {
    pub set: &'static Set,
    pub network: NetName,
    pub method: &'static Method,
    /// Of VIFO alone.
    pub eta_aux: Option<f64>,
    pub members: u32,
    pub seed: u32,
    pub folder: PathBuf,
    /// None where the data set is not there.
    pub recipe: Option<Recipe>,
    pub state: RunStatus,
}

/// Epochs between two evaluations of a learning curve of this many epochs.
fn every(epochs: u32) -> u32 {
    (epochs / 100).max(1)
}

/// All runs of the table, in the order in which they are trained: by set and network.
pub fn runs(request: &ReproduceRequest, places: &Places) -> Result<Vec<PlannedRun>> {
    let mut out = vec![];
    if request.table.show == Show::Time {
        return Ok(out);
    }
    for set in request.sets.iter().copied() {
        for network in request.networks_of(set) {
            for method in request.methods.iter().copied().filter(|m| m.trainable()) {
                for eta_aux in request.eta_aux_of(method) {
                    for &seed in &request.seeds {
                        out.push(run(request, places, (set, network, method, eta_aux, seed))?);
                    }
                }
            }
        }
    }
    Ok(out)
}

/// Names the folder of runs.
pub const FLAG: &str = "--runs";

type What = (&'static Set, NetName, &'static Method, Option<f64>, u32);

fn run(request: &ReproduceRequest, places: &Places, (set, network, method, eta_aux, seed): What) -> Result<PlannedRun> {
    let members = request.members_of(method);
    let folder = request.runs.join(folder_name(request, (set, network, method, eta_aux, seed)));
    let recipe = match places.of(set.name) {
        Some(images) => Some(recipe(request, &images, (set, network, method, eta_aux, seed))?),
        None => None,
    };
    // The images may have moved: `check_moved` compares what they are.
    let state = run_set::status(&folder, recipe.as_ref(), &[key!(data.images)], None, FLAG)?;
    Ok(PlannedRun { set, network, method, eta_aux, members, seed, folder, recipe, state })
}

/// "cifar10-alexnet-vifo-mean-aux0.1-x5-500ep-seed1".
fn folder_name(request: &ReproduceRequest, (set, network, method, eta_aux, seed): What) -> String {
    let aux = eta_aux.filter(|e| *e > 0.0).map_or(String::new(), |e| format!("-aux{e}"));
    let held = if request.table.show == Show::LearningCurves { "-heldout" } else { "" };
    let limit = request.limit.map_or(String::new(), |l| format!("-{l}im"));
    let batch = if request.batch == PAPER_BATCH { String::new() } else { format!("-b{}", request.batch) };
    let members = request.members_of(method);
    let (net, epochs) = (network_names(network).0, request.epochs);
    format!("{}-{net}-{}{aux}{held}-x{members}-{epochs}ep{limit}{batch}-seed{seed}", set.name, method.ours)
}

pub const PAPER_BATCH: u32 = 512;
pub const PAPER_EPOCHS: u32 = 500;
pub const PAPER_SEEDS: usize = 5;
pub const PAPER_MEMBERS: u32 = 5;

/// The paper's training (MATH.md section 5) as a recipe: all rows, all epochs, no clipping; a learning curve keeps a tenth
/// of the images to look at.
pub fn recipe(
    request: &ReproduceRequest,
    images: &Path,
    (set, network, method, eta_aux, seed): What,
) -> Result<Recipe> {
    let curve = request.table.show == Show::LearningCurves;
    let mut table = toml::Table::new();
    let mut set_key = |key: &str, value: String| keys::set(&mut table, key, &value, "reproduce");
    set_key("name", quoted(&folder_name(request, (set, network, method, eta_aux, seed))))?;
    set_key("seed", seed.to_string())?;
    set_key("device", quoted(&request.device))?;
    set_key("data.images", quoted(&images.display().to_string()))?;
    set_key("data.validation_fraction", if curve { "0.1" } else { "0" }.into())?;
    // Of a set without halves of its own.
    set_key("data.test_fraction", "0.2".into())?;
    if let Some(limit) = request.limit {
        set_key("data.limit", limit.to_string())?;
    }
    set_key("net.name", network_names(network).0.into())?;
    set_key("method.name", method.ours.into())?;
    set_key("method.members", request.members_of(method).to_string())?;
    // What the paper used, whatever the defaults of a recipe are.
    set_key("method.eta", "0.1".into())?;
    set_key("method.samples", "5".into())?;
    set_key("predict.samples", "10".into())?;
    if method.ours == crate::method::repulsive::NAME {
        set_key("repulsive.strength", "1".into())?;
    }
    set_key("method.eta_aux", eta_aux.unwrap_or(0.0).to_string())?;
    set_key("train.epochs", request.epochs.to_string())?;
    set_key("train.batch", request.batch.to_string())?;
    set_key("train.patience", "0".into())?;
    set_key("train.clip", "0".into())?;
    if curve {
        set_key("train.evaluate_every", every(request.epochs).to_string())?;
    }
    if method.family == Family::Sgd {
        set_key("train.optimizer", "sgd".into())?;
        set_key("train.momentum", "0.9".into())?;
        set_key("train.lr", set.sgd.lr.to_string())?;
        set_key("train.weight_decay", set.sgd.weight_decay.to_string())?;
        set_key("train.schedule", "swa".into())?;
        set_key("train.swa_lr", set.sgd.swa_lr.to_string())?;
        set_key("train.adam_epochs", set.sgd.adam_epochs.to_string())?;
    } else {
        set_key("train.optimizer", "adam".into())?;
        set_key("train.lr", "0.001".into())?;
        set_key("train.schedule", "constant".into())?;
    }
    crate::method::checked(&table, "reproduce")
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

impl PlannedRun {
    /// "cifar10 alexnet vifo-mean aux 0.1 x5 seed 1".
    pub fn title(&self) -> String {
        let aux = self.eta_aux.filter(|e| *e > 0.0).map_or(String::new(), |e| format!(" aux {e}"));
        let members = if self.members > 1 { format!(" x{}", self.members) } else { String::new() };
        format!(
            "{} {} {}{aux}{members} seed {}",
            self.set.name,
            network_names(self.network).0,
            self.method.ours,
            self.seed
        )
    }

    /// Where its images are; an error where they are not there.
    pub fn recipe(&self) -> Result<&Recipe> {
        self.recipe.as_ref().ok_or_else(|| {
            Error::data(self.set.name, "the data set is not there", "", "put it into the folder of --data")
        })
    }
}
