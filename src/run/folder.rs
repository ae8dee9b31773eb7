//! Names and files of a run folder.

use super::parts::Read;
use crate::base::{fs, names};
use crate::data::encode::Encoder;
use crate::data::load::Loaded;
use crate::error::{Error, Result, either};
use crate::recipe::{Budget, Recipe, plain_path};
use crate::system::csv_text;
use crate::system::file::{is_link, sweep_remains};
pub use crate::system::write_atomic;
use crate::train::EpochRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub vifo: String,
    pub git: String,
    pub device: String,
    pub seed: u32,
    /// SHA-256 of the data files, or a toy's description.
    pub data: String,
    /// SHA-256 of the values in the data files (`Loaded::values`); empty in a run of before it was written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
    pub train_rows: usize,
    pub validation_rows: usize,
    pub test_rows: usize,
    /// "training", "finished", "stopped early" or "stopped": what a reader may expect in the folder.
    pub state: String,
    pub notes: Vec<String>,
    /// What was changed by hand while it trained: a fresh run of its recipe would not repeat it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Where a time decided them: what the recipe asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Epochs of the trainings before, where the run was continued after its end: the recipe's come on top of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epochs_before: u32,
    /// Where the files of the recipe lie as seen from the folder, by key: a run that is moved with its data finds them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub relative: BTreeMap<String, PathBuf>,
    /// Forms of kernels that were measured on the device, by op and size: a resumed run adds in the same order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernels: BTreeMap<String, String>,
    /// SHA-256 of each part. Two where a part was about to be replaced: the new one and the one before, whichever is there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, Vec<String>>,
    /// SHA-256 of this file with zeros in this place; absent from runs of vifo 0.1.0, like the sums.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha256: String,
}

/// What a recipe with a time said before the time was made numbers, which differ from machine to machine and from seed to seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub budget: String,
    pub epochs: Option<u32>,
    pub batch: Option<u32>,
    pub members: u32,
    pub variants: Option<Vec<String>>,
}

impl Asked {
    /// None where no time decides anything.
    pub fn of(recipe: &Recipe) -> Option<Asked> {
        let train = &recipe.train;
        // What the number of rows decides is the same each time.
        train.budget().ok()?.filter(|budget| matches!(budget, Budget::Seconds(_)))?;
        let (epochs, batch, variants) = (train.epochs, train.batch, train.variants.clone());
        Some(Asked { budget: train.budget.clone()?, epochs, batch, members: recipe.method.members, variants })
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Manifest {
    pub fn version() -> (String, String) {
        (env!("CARGO_PKG_VERSION").into(), env!("VIFO_GIT").into())
    }

    /// The recipe as it was asked for: what tells runs apart, and groups their seeds.
    pub fn as_asked(&self, recipe: Recipe) -> Recipe {
        let Some(asked) = self.asked.clone() else { return recipe };
        let mut recipe = recipe;
        let train = &mut recipe.train;
        (train.budget, train.epochs) = (Some(asked.budget), asked.epochs);
        (train.batch, train.variants) = (asked.batch, asked.variants);
        recipe.method.members = asked.members;
        recipe
    }

    /// Whether the run was trained on these data: the same values, or the same bytes where only they are known.
    pub fn is_of(&self, data: &Loaded) -> bool {
        self.data == data.hash || (!self.values.is_empty() && self.values == data.values)
    }
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct RunFolder {
    pub path: PathBuf,
}

/// Name of the file of `vifo calibrate`.
pub const CALIBRATION: &str = "calibration.json";

const METRICS_HEADER: [&str; 14] = [
    "epoch",
    "step",
    "seconds",
    "learning_rate",
    "loss_nats",
    "expected_nll_nats",
    "regularizer_nats",
    "auxiliary_nats",
    "validation_nll_nats",
    "validation_score",
    "test_nll_nats",
    "test_score",
    "eta",
    "eta_aux",
];

impl RunFolder {
    /// Makes a new folder and lets go of it; an existing one that is not empty is refused.
    pub fn create(path: &Path) -> Result<RunFolder> {
        Self::begin(path).map(|(folder, _)| folder)
    }

    /// Makes a new folder and holds it; an existing one that is not empty is refused, and nothing in it is touched.
    pub fn begin(path: &Path) -> Result<(RunFolder, fs::File)> {
        plain_path(path, &either("--out", "the run folder"))?;
        Self::refuse_unless_empty(path)?;
        let folder = RunFolder { path: path.to_path_buf() };
        fs::create_dir_all(path).map_err(|e| Error::io(path, "create", &e))?;
        let lock = folder.lock()?;
        // Whoever held it before may have filled it between the look and the lock.
        Self::refuse_unless_empty(path)?;
        for dir in [path.join("checkpoints"), folder.figures()] {
            fs::create_dir_all(&dir).map_err(|e| Error::io(&dir, "create", &e))?;
        }
        Ok((folder, lock))
    }

    /// An error where something other than a lock lies in `path`.
    pub fn refuse_unless_empty(path: &Path) -> Result<()> {
        if fs::is_file(path) {
            let help = either("--out names a folder: choose another", "choose another folder");
            return Err(Error::usage(path.display().to_string(), "is a file", "", help));
        }
        let is_full = fs::read_dir(path).is_ok_and(|d| d.flatten().any(|e| e.file_name() != ".lock"));
        if !is_full {
            return Ok(());
        }
        Err(Error::usage(
            path.display().to_string(),
            "already exists and is not empty",
            "",
            either(
                "choose another folder with --out, replace it with --force, or resume with `vifo fit --resume`",
                "choose another folder",
            ),
        ))
    }

    /// Makes `runs/NAME`, or the first `runs/NAME-2`, -3, ... that is free: making it is what claims it, so that runs started
    /// side by side do not meet.
    pub fn claim(runs: &Path, name: &str) -> Result<PathBuf> {
        // A data file may be called anything; a folder of ours may not.
        let name = names::fitting(name, names::WINDOWS);
        fs::create_dir_all(runs).map_err(|e| Error::io(runs, "create", &e))?;
        for i in 1u64.. {
            let path = if i == 1 { runs.join(&name) } else { runs.join(format!("{name}-{i}")) };
            match fs::create_dir(&path) {
                Ok(()) => return Ok(path),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(&path, "create", &e)),
            }
        }
        Err(Error::usage(runs.display().to_string(), "no free name", "", "name another folder"))
    }

    /// Holds the folder for one writer; the system lets go of it when the program ends, however it ends. Removes what writers
    /// that were killed left half-written. Symbolic links where the writer would write are refused: they lead elsewhere.
    pub fn lock(&self) -> Result<fs::File> {
        let path = self.path.join(".lock");
        let dirs = [self.path.join("checkpoints"), self.figures()];
        if let Some(link) = std::iter::once(&path).chain(&dirs).find(|p| is_link(p)) {
            return Err(Error::run(
                link.display().to_string(),
                "is a symbolic link, and a run writes into its own folder alone",
                "remove the link, or move what it leads to in its place",
            ));
        }
        let file = fs::open_lock(&path).map_err(|e| Error::io(&path, "create", &e))?;
        match file.try_lock() {
            // A file system without locks: better unguarded than unusable.
            Ok(()) | Err(fs::TryLockError::Error(_)) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(Error::run(
                    self.path.display().to_string(),
                    "another vifo is writing to it",
                    "wait for it to end, or choose another folder",
                ));
            }
        }
        std::iter::once(&self.path).chain(&dirs).for_each(|dir| sweep_remains(dir));
        Ok(file)
    }

    /// Whether a writer holds the folder now; where the system cannot tell, it is taken to. Makes and changes nothing.
    pub fn is_held(&self) -> bool {
        match fs::File::open(self.path.join(".lock")) {
            // Shared: two that look on at once must not take each other for the writer.
            Ok(file) => file.try_lock_shared().is_err(),
            Err(e) => e.kind() != std::io::ErrorKind::NotFound,
        }
    }

    pub fn open(path: &Path) -> Result<RunFolder> {
        if !fs::is_file(path.join("manifest.json")) || !fs::is_file(path.join("recipe.toml")) {
            let found = if fs::exists(path) {
                "is not a run folder: manifest.json or recipe.toml is missing"
            } else {
                "does not exist"
            };
            return Err(Error::usage(
                path.display().to_string(),
                found,
                either("a folder made by `vifo fit`", "a folder that a training made"),
                "check the path",
            ));
        }
        Ok(RunFolder { path: path.to_path_buf() })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        names::native(&self.path.join(name))
    }
    pub fn figures(&self) -> PathBuf {
        self.path.join("figures")
    }
    pub fn last(&self) -> PathBuf {
        self.file(super::parts::LAST)
    }
    pub fn best(&self) -> PathBuf {
        self.file(super::parts::BEST)
    }

    pub fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|e| Error::run(name, e.to_string(), "this is a bug of vifo: please report it"))?;
        self.write(name, text.as_bytes())
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        let Read { bytes, verdict } = self.read_part(name)?;
        // What is not even whole says more of itself than its sum does.
        let value = self.parse(name, &bytes)?;
        verdict.map(|()| value)
    }

    pub(crate) fn parse<T: serde::de::DeserializeOwned>(&self, name: &str, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|e| {
            Error::data(
                self.path.join(name).display().to_string(),
                e.to_string(),
                "",
                either(
                    "the file is damaged: restore it, or train again with `vifo fit`",
                    "the file is damaged: restore it, or train again",
                ),
            )
        })
    }

    pub fn encoder(&self) -> Result<Encoder> {
        self.read_json("encoder.json")
    }
    pub fn results(&self) -> Result<crate::results::Results> {
        self.read_json("results.json")
    }
    /// The results beside those of the calibrated run; None where `vifo calibrate` had no test rows, or has not run since the last
    /// training.
    pub fn calibrated(&self) -> Result<Option<crate::results::Results>> {
        use super::calibration::{CALIBRATED, current};
        let is_current = fs::is_file(self.file(CALIBRATED)) && matches!(current(self), Ok(Some(_)));
        if is_current { self.read_json(CALIBRATED).map(Some) } else { Ok(None) }
    }
    /// All sets of the last `vifo evaluate`.
    pub fn evaluation(&self) -> Result<Vec<crate::results::Results>> {
        self.read_json("evaluation.json")
    }
    /// What `vifo calibrate` stored, as it stands there; `calibrate::current` checks whether it still applies.
    pub fn calibration(&self) -> Result<Option<super::Calibration>> {
        let path = self.path.join(CALIBRATION);
        if !fs::is_file(&path) {
            return Ok(None);
        }
        let Read { bytes, verdict } = self.read_part(CALIBRATION)?;
        let text = String::from_utf8_lossy(&bytes);
        let calibration = super::Calibration::parse(&text, &path.display().to_string(), &self.path)?;
        verdict.map(|()| Some(calibration))
    }
    pub fn write_calibration(&self, calibration: &super::Calibration) -> Result<()> {
        self.write_json(CALIBRATION, calibration)
    }
    /// The recipe as it was written; its files may have moved since.
    pub fn recipe_as_written(&self) -> Result<Recipe> {
        let place = self.path.join("recipe.toml").display().to_string();
        let Read { bytes, verdict } = self.read_part("recipe.toml")?;
        let text = String::from_utf8(bytes).map_err(|_| Error::data(&*place, "is no text", "", "restore it"))?;
        let mut table = Recipe::parse(&text, &place)?;
        Recipe::anchor(&mut table, &self.path);
        let recipe = crate::method::checked(&table, &place)?;
        verdict.map(|()| recipe)
    }

    /// The recipe, with its files where they are now: those that are gone and lie where the run says, seen from its folder.
    pub fn recipe(&self) -> Result<Recipe> {
        let mut recipe = self.recipe_as_written()?;
        if let Ok(manifest) = self.manifest() {
            super::moved::follow(&mut recipe, &self.path, &manifest.relative);
        }
        Ok(recipe)
    }

    pub fn write_metrics(&self, rows: &[EpochRow]) -> Result<()> {
        self.write("metrics.csv", Self::metrics_text(rows).as_bytes())
    }

    pub(crate) fn metrics_text(rows: &[EpochRow]) -> String {
        let option = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        let cells = |r: &EpochRow| {
            vec![
                r.epoch.to_string(),
                r.step.to_string(),
                r.seconds.to_string(),
                r.learning_rate.to_string(),
                r.loss.to_string(),
                r.expected_nll.to_string(),
                r.regularizer.to_string(),
                r.auxiliary.to_string(),
                option(r.validation_nll),
                option(r.validation_score),
                option(r.test_nll),
                option(r.test_score),
                option(r.eta),
                option(r.eta_aux),
            ]
        };
        csv_text(std::iter::once(METRICS_HEADER.map(String::from).to_vec()).chain(rows.iter().map(cells)))
    }

    /// The rows of metrics.csv up to `epoch`.
    pub fn metrics(&self, epoch: u32) -> Result<Vec<EpochRow>> {
        let path = self.path.join("metrics.csv");
        let Read { bytes, verdict } = self.read_part("metrics.csv")?;
        let mut rows = vec![];
        for (i, line) in String::from_utf8_lossy(&bytes).lines().enumerate().skip(1) {
            let place = format!("{}, line {}", path.display(), i + 1);
            let row = row_of(line).ok_or_else(|| {
                Error::data(place, "not a row of numbers", METRICS_HEADER.join(","), "restore the file")
            })?;
            if row.epoch <= epoch {
                rows.push(row);
            }
        }
        verdict.map(|()| rows)
    }

    /// The rows of metrics.csv that are whole, for readers while it is written or after it was cut; and the first
    /// line that is no row, where there is one.
    pub fn whole_metrics(&self) -> Result<(Vec<EpochRow>, Option<usize>)> {
        let path = self.path.join("metrics.csv");
        let bytes = fs::read(&path).map_err(|e| Error::io(&path, "read", &e))?;
        // A number that was cut is still a number: only the end of its line says that it is whole.
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let mut rows = vec![];
        for (i, line) in String::from_utf8_lossy(&bytes[..whole]).lines().enumerate().skip(1) {
            match row_of(line) {
                Some(row) => rows.push(row),
                None => return Ok((rows, Some(i + 1))),
            }
        }
        Ok((rows, None))
    }
}

/// One line of metrics.csv; None where a number that every row has is missing.
fn row_of(line: &str) -> Option<EpochRow> {
    let v: Vec<Option<f64>> = line.split(',').map(|c| c.parse().ok()).collect();
    let get = |j: usize| v.get(j).copied().flatten();
    Some(EpochRow {
        epoch: get(0)? as u32,
        step: get(1)? as u64,
        seconds: get(2)?,
        learning_rate: get(3)?,
        loss: get(4)?,
        expected_nll: get(5)?,
        regularizer: get(6)?,
        auxiliary: get(7)?,
        validation_nll: get(8),
        validation_score: get(9),
        test_nll: get(10),
        test_score: get(11),
        eta: get(12),
        eta_aux: get(13),
    })
}

/// The folder itself if it is a run, else the runs directly inside it, by name; perhaps none.
pub fn inside(path: &Path) -> Result<Vec<RunFolder>> {
    let itself = RunFolder::open(path);
    if itself.is_ok() || !fs::is_dir(path) {
        return itself.map(|f| vec![f]);
    }
    let entries = fs::read_dir(path).map_err(|e| Error::io(path, "read", &e))?;
    let mut inside: Vec<PathBuf> = entries.filter_map(|e| e.ok()).map(|e| e.path()).collect();
    inside.sort();
    Ok(inside.iter().filter_map(|p| RunFolder::open(p).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_come_back_and_a_full_folder_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = RunFolder::create(&dir.path().join("run")).expect("a new folder");
        let row = |epoch| EpochRow {
            epoch,
            step: 7,
            seconds: 0.25,
            learning_rate: 1e-3,
            loss: -1.5,
            expected_nll: 0.1 + 0.2,
            regularizer: 3.0,
            auxiliary: 0.0,
            validation_nll: Some(1.0 / 3.0),
            test_score: Some(0.5),
            ..Default::default()
        };
        run.write_metrics(&[row(1), row(2), row(3)]).expect("written");
        assert_eq!(run.metrics(2).expect("read"), vec![row(1), row(2)]);
        assert!(RunFolder::create(&run.path).is_err());
        assert!(RunFolder::open(&run.path).is_err(), "no manifest yet");
    }
}
