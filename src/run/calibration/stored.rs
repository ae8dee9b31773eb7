//! calibration.json: what is in it, and whether it belongs to the run as it is now.

use crate::base::fs;
use crate::error::{Error, Result, either};
use crate::metrics::conformal::Sets;
use crate::metrics::temperature::{MOST, Temperature};
use crate::run::RunFolder;
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Raised when the meaning of the file changes.
pub const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub version: u32,
    /// The program that wrote it.
    pub vifo: String,
    /// Fingerprint of what predicts: recipe, encoder and best weights.
    pub run: String,
    pub source: Source,
    /// The rows could not be compared with those that the run was trained on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    pub rows: usize,
    /// Of a classification.
    pub temperature: Option<Temperature>,
    pub sets: Option<Sets>,
    pub levels: Vec<Level>,
    /// Those of the other targets, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_targets: Vec<Calibration>,
}

impl Calibration {
    /// That of target `at` alone.
    pub fn of_target(&self, at: usize) -> &Calibration {
        at.checked_sub(1).and_then(|at| self.more_targets.get(at)).unwrap_or(self)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The run's own validation part.
    Validation,
    /// The run's training rows, each predicted by the member that held it out.
    OutOfFold,
    File(PathBuf),
}

/// Intervals or sets that miss at most a share `alpha` of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    pub alpha: f64,
    /// Of the conformal scores; None is infinite.
    pub threshold: Option<f64>,
    /// Mean over the calibration rows of the interval's width, in the target's unit, or of the number of classes in a set;
    /// None is infinite.
    pub mean_size: Option<f64>,
}

impl Level {
    pub fn q(&self) -> f64 {
        self.threshold.unwrap_or(f64::INFINITY)
    }

    /// "90" of alpha 0.1: what names of columns and metrics end in.
    pub fn percent(&self) -> String {
        percent(self.alpha)
    }
}

pub fn percent(alpha: f64) -> String {
    // 1 - 0.05 is not 0.95 in f64.
    (((1.0 - alpha) * 1e6).round() / 1e4).to_string()
}

impl Calibration {
    /// `place` names the file in messages, `run` its folder in the cure.
    pub fn parse(text: &str, place: &str, run: &Path) -> Result<Calibration> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let again = again(run);
        let broken = |found: String| Error::data(place, found, "", format!("the file is damaged: {again}"));
        let version = serde_json::from_str::<Versioned>(text).map_err(|e| broken(e.to_string()))?.version;
        if version != VERSION {
            let help = format!("use the vifo that wrote it, or {again}");
            return Err(Error::data(place, format!("format {version}"), format!("format {VERSION}"), help));
        }
        let read: Calibration = serde_json::from_str(text).map_err(|e| broken(e.to_string()))?;
        match read.fault() {
            Some(found) => Err(broken(found)),
            None => Ok(read),
        }
    }

    fn fault(&self) -> Option<String> {
        if let Some(fault) = self.more_targets.iter().find_map(Calibration::fault) {
            return Some(fault);
        }
        let bad = |l: &&Level| !(l.alpha > 0.0 && l.alpha < 1.0) || l.threshold.is_some_and(|q| q.is_nan() || q < 0.0);
        if let Some(t) = self.temperature.filter(|t| !(t.value >= 1.0 / MOST - 1e-9 && t.value <= MOST + 1e-9)) {
            return Some(format!("temperature {}", t.value));
        }
        if self.temperature.is_some() != self.sets.is_some() {
            return Some("half a classification: temperature and sets belong together".into());
        }
        match (self.levels.iter().find(bad), self.levels.is_empty()) {
            (Some(l), _) => Some(format!("alpha {} with threshold {:?}", l.alpha, l.q())),
            (None, true) => Some("no levels".into()),
            (None, false) => None,
        }
    }
}

fn again(run: &Path) -> String {
    let run = crate::base::visible::shell(&run.display().to_string());
    either(
        format!("calibrate again with `vifo calibrate {run}`, or leave it out with `vifo predict --uncalibrated`"),
        "calibrate again",
    )
}

/// The calibration of the run as it is now: None where it was never calibrated, an error where it has changed since.
pub fn current(folder: &RunFolder) -> Result<Option<Calibration>> {
    let Some(calibration) = folder.calibration()? else { return Ok(None) };
    if calibration.run != fingerprint(folder)? {
        return Err(Error::data(
            folder.file(crate::run::folder::CALIBRATION).display().to_string(),
            "belongs to other weights or another recipe: the run has changed since it was calibrated",
            "",
            again(&folder.path),
        ));
    }
    Ok(Some(calibration))
}

/// SHA-256 over recipe, encoder and the tensors of the best checkpoint, by name. Not over that file: its header holds
/// times and has no order, so that a run resumed to the same weights would seem another.
pub fn fingerprint(folder: &RunFolder) -> Result<String> {
    let read = |path: &Path| fs::read(path).map_err(|e| Error::io(path, "read", &e));
    let mut digest = Sha256::new();
    let mut add = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    for name in ["recipe.toml", "encoder.json"] {
        add(&read(&folder.file(name))?);
    }
    let path = folder.best();
    let bytes = read(&path)?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| {
        let help = either(
            "the file is damaged: restore it, or train again with `vifo fit`",
            "the file is damaged: restore it, or calibrate again",
        );
        Error::data(path.display().to_string(), format!("not a whole checkpoint: {e}"), "", help)
    })?;
    let mut all: Vec<_> = tensors.iter().collect();
    all.sort_by_key(|(name, _)| *name);
    for (name, tensor) in all {
        add(name.as_bytes());
        add(tensor.data());
    }
    Ok(digest.finalize().iter().map(|b| format!("{b:02x}")).collect())
}
