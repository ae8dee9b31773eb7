//! What is done and what is begun. Results of a set and a method lie in one JSON file, split by split; the state of the
//! splits in training lies beside it, so that a stopped or killed command resumes bit-equal.

use super::super::plan::FLAG;
use super::ask::UciRequest;
use super::methods::Method;
use super::sets::Source;
use crate::base::fs;
use crate::error::{Error, Result};
use crate::recipe::keys::Key;
use crate::recipe::{Recipe, key};
use crate::run::write_atomic;
use crate::study::run_set::{Difference, difference, move_away_help};
use crate::train::SplitsState;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// One split, once trained and tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitResult {
    pub seed: u32,
    pub split: u32,
    /// In the target's unit.
    pub rmse: f64,
    /// Mean over the test rows of log p(y), nats, in the target's unit.
    pub test_ll: f64,
    /// Epoch of the weights that predict.
    pub epoch: u32,
    /// Its share of the training time.
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Settings; the place of the data, the seed and the split are those of the first.
    pub recipe: Recipe,
    /// SHA-256 of table and splits.
    pub data: String,
    pub splits: Vec<SplitResult>,
}

/// Files of one set and method at one scale.
#[derive(Debug, Clone)]
pub struct Store {
    pub path: PathBuf,
    state: PathBuf,
    name: String,
}

type Number = (u32, u32);

/// All splits and seeds lie in one file, and the data may have moved: their hash is compared.
const VARIES: [&Key; 4] = [key!(seed), key!(data.file), key!(data.split_file), key!(data.split)];

impl Store {
    pub fn new(request: &UciRequest, source: &Source, method: &Method) -> Store {
        let epochs = request.epochs.map_or(String::new(), |n| format!("-{n}ep"));
        let batch = request.batch.map_or(String::new(), |n| format!("-b{n}"));
        let name = format!("{}-{}-x{}{epochs}{batch}", source.set.name, method.ours, request.members);
        let file = |ending: &str| request.folder.join(format!("{name}.{ending}"));
        Store { path: file("json"), state: file("state"), name }
    }

    /// What is done, or nothing; an error where the file is of other settings or other data.
    pub fn read(&self, recipe: &Recipe, source: &Source) -> Result<Results> {
        let place = self.path.display().to_string();
        let none = Results { recipe: recipe.clone(), data: source.hash.clone(), splits: vec![] };
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(none),
            Err(e) => return Err(Error::io(&self.path, "read", &e)),
        };
        let away = move_away_help(FLAG);
        let there: Results = serde_json::from_str(&text)
            .map_err(|e| Error::data(place.clone(), format!("damaged: {e}"), "", away.as_str()))?;
        if there.data != source.hash {
            let found = format!("is of another {} than the one that lies in the folder of --data", source.set.name);
            return Err(Error::data(place, found, "", away));
        }
        if let Some(Difference { key, there, wanted }) = difference(&there.recipe, recipe, &VARIES) {
            return Err(Error::usage(place, format!("was made with {key} = {there}, not {wanted}"), "", away));
        }
        Ok(there)
    }

    pub fn write(&self, results: &Results) -> Result<()> {
        let text = serde_json::to_string_pretty(results)
            .map_err(|e| Error::run(self.name.as_str(), e.to_string(), "this is a bug of vifo: please report it"))?;
        write_atomic(&self.path, text.as_bytes())
    }

    /// Keeps the training of these splits, the first of which is `first`.
    pub fn keep(&self, (first, n): (Number, usize), data: &str, state: &SplitsState) -> Result<()> {
        let mut tensors: Vec<(String, &[f32])> =
            vec![("weights".into(), &state.weights), ("best_weights".into(), &state.best_weights)];
        tensors.extend(state.optimizer.iter().map(|(name, v)| (format!("optimizer.{name}"), v.as_slice())));
        // Bits, not digits: comparisons after a resume must come out as before.
        let best: Vec<Option<(u32, u64)>> = state.best.iter().map(|b| b.map(|(e, nll)| (e, nll.to_bits()))).collect();
        let counters = Counters {
            version: VERSION,
            first,
            n,
            data: data.into(),
            step: state.step,
            snapshots: state.snapshots,
            best,
        };
        let failed = |e: String| Error::run("state", e, "this is a bug of vifo: please report it");
        let counters = serde_json::to_string(&counters).map_err(|e| failed(e.to_string()))?;
        let meta =
            HashMap::from([("counters".to_string(), counters), ("seconds".to_string(), state.seconds.to_string())]);
        let views = tensors
            .iter()
            .map(|(name, v)| Ok((name.clone(), TensorView::new(Dtype::F32, vec![v.len()], bytemuck::cast_slice(v))?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .and_then(|views| safetensors::serialize(views, Some(meta)));
        write_atomic(&self.state, &views.map_err(|e| failed(e.to_string()))?)
    }

    /// What `keep` wrote of these very splits on this very data; a state of other ones or a damaged one is no state.
    pub fn begun(&self, (first, n): (Number, usize), data: &str) -> Option<SplitsState> {
        let bytes = fs::read(&self.state).ok()?;
        let (_, header) = SafeTensors::read_metadata(&bytes).ok()?;
        let meta = header.metadata().clone()?;
        let counters: Counters = serde_json::from_str(meta.get("counters")?).ok()?;
        let ours = (VERSION, first, n, data) == (counters.version, counters.first, counters.n, counters.data.as_str());
        if !ours || counters.best.len() != n {
            return None;
        }
        let tensors = SafeTensors::deserialize(&bytes).ok()?;
        let get = |name: &str| -> Option<Vec<f32>> {
            let t = tensors.tensor(name).ok().filter(|t| t.dtype() == Dtype::F32)?;
            Some(t.data().as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
        };
        let names = tensors.names();
        let optimizer = names.iter().filter_map(|n| n.strip_prefix("optimizer."));
        Some(SplitsState {
            step: counters.step,
            snapshots: counters.snapshots,
            seconds: meta.get("seconds")?.parse().ok()?,
            weights: get("weights")?,
            best_weights: get("best_weights")?,
            optimizer: optimizer.map(|n| Some((n.into(), get(&format!("optimizer.{n}"))?))).collect::<Option<_>>()?,
            best: counters.best.iter().map(|b| b.map(|(e, bits)| (e, f64::from_bits(bits)))).collect(),
        })
    }

    pub fn forget(&self) -> Result<()> {
        match fs::remove_file(&self.state) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&self.state, "remove", &e)),
            _ => Ok(()),
        }
    }
}

/// Raised when the meaning of a state changes.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Counters {
    version: u32,
    first: Number,
    n: usize,
    data: String,
    step: u64,
    snapshots: u32,
    best: Vec<Option<(u32, u64)>>,
}
