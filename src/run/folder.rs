//! Names and files of a run folder.

use crate::config::Recipe;
use crate::data::encode::Encoder;
use crate::data::load::Loaded;
use crate::error::{Error, Result};
use crate::train::EpochRow;
use serde::{Deserialize, Serialize};
use std::io::Write;
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
}

impl Manifest {
    pub fn version() -> (String, String) {
        (env!("CARGO_PKG_VERSION").into(), env!("VIFO_GIT").into())
    }

    /// Whether the run was trained on these data: the same values, or the same bytes where only they are known.
    pub fn is_of(&self, data: &Loaded) -> bool {
        self.data == data.hash || (!self.values.is_empty() && self.values == data.values)
    }
}

#[derive(Debug, Clone)]
pub struct RunFolder {
    pub path: PathBuf,
}

/// Writes beside `path`, syncs, renames.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let io = |e: &std::io::Error| Error::io(path, "write", e);
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(|e| io(&e))?;
    file.write_all(bytes).map_err(|e| io(&e))?;
    file.as_file().sync_all().map_err(|e| io(&e))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A temporary file is private; a result is for whoever may read the folder.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644)).map_err(|e| io(&e))?;
    }
    file.persist(path).map_err(|e| io(&e.error))?;
    Ok(())
}

/// Writes what a user named: a regular file as `write_atomic` does, through a link to where it points; a pipe or a device
/// is written to, never replaced.
pub fn write_to(path: &Path, bytes: &[u8]) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => {
            let mut file =
                std::fs::OpenOptions::new().write(true).open(path).map_err(|e| Error::io(path, "write", &e))?;
            file.write_all(bytes).map_err(|e| Error::io(path, "write", &e))
        }
        Ok(_) => {
            let target = path.canonicalize().map_err(|e| Error::io(path, "write", &e))?;
            write_atomic(&target, bytes)
        }
        Err(_) => write_atomic(path, bytes),
    }
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
    /// Makes a new folder; an existing one that is not empty is refused.
    pub fn create(path: &Path) -> Result<RunFolder> {
        if path.read_dir().is_ok_and(|mut d| d.next().is_some()) {
            return Err(Error::usage(
                path.display().to_string(),
                "already exists and is not empty",
                "",
                "choose another folder with --out, replace it with --force, or go on with `vifo fit --resume`",
            ));
        }
        for dir in [path.to_path_buf(), path.join("checkpoints"), path.join("figures")] {
            std::fs::create_dir_all(&dir).map_err(|e| Error::io(&dir, "create", &e))?;
        }
        Ok(RunFolder { path: path.to_path_buf() })
    }

    /// Makes `runs/NAME`, or the first `runs/NAME-2`, -3, ... that is free: making it is what claims it, so that runs started
    /// side by side do not meet.
    pub fn claim(runs: &Path, name: &str) -> Result<PathBuf> {
        std::fs::create_dir_all(runs).map_err(|e| Error::io(runs, "create", &e))?;
        for i in 1u64.. {
            let path = if i == 1 { runs.join(name) } else { runs.join(format!("{name}-{i}")) };
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(path),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io(&path, "create", &e)),
            }
        }
        Err(Error::usage(runs.display().to_string(), "no free name", "", "name another folder"))
    }

    /// Holds the folder for one writer; the system lets go of it when the program ends, however it ends.
    pub fn lock(&self) -> Result<std::fs::File> {
        let path = self.path.join(".lock");
        let file = std::fs::File::create(&path).map_err(|e| Error::io(&path, "create", &e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => Err(Error::run(
                self.path.display().to_string(),
                "another vifo is writing to it",
                "wait for it to end, or choose another folder",
            )),
            // A file system without locks: better unguarded than unusable.
            Err(std::fs::TryLockError::Error(_)) => Ok(file),
        }
    }

    /// Whether a writer holds the folder now; where the system cannot tell, it is taken to. Makes and changes nothing.
    pub fn is_held(&self) -> bool {
        match std::fs::File::open(self.path.join(".lock")) {
            // Shared: two that look on at once must not take each other for the writer.
            Ok(file) => file.try_lock_shared().is_err(),
            Err(e) => e.kind() != std::io::ErrorKind::NotFound,
        }
    }

    pub fn open(path: &Path) -> Result<RunFolder> {
        if !path.join("manifest.json").is_file() || !path.join("recipe.toml").is_file() {
            let found = if path.exists() {
                "is not a run folder: manifest.json or recipe.toml is missing"
            } else {
                "does not exist"
            };
            return Err(Error::usage(
                path.display().to_string(),
                found,
                "a folder made by `vifo fit`",
                "check the path",
            ));
        }
        Ok(RunFolder { path: path.to_path_buf() })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
    pub fn figures(&self) -> PathBuf {
        self.path.join("figures")
    }
    pub fn last(&self) -> PathBuf {
        self.path.join("checkpoints/last.safetensors")
    }
    pub fn best(&self) -> PathBuf {
        self.path.join("checkpoints/best.safetensors")
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write_atomic(&self.path.join(name), bytes)
    }

    pub fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|e| Error::run(name, e.to_string(), "this is a bug of vifo: please report it"))?;
        self.write(name, text.as_bytes())
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.path.join(name);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, "read", &e))?;
        serde_json::from_str(&text).map_err(|e| {
            Error::data(
                path.display().to_string(),
                e.to_string(),
                "",
                "the file is damaged: restore it, or train again with `vifo fit`",
            )
        })
    }

    pub fn manifest(&self) -> Result<Manifest> {
        self.read_json("manifest.json")
    }
    pub fn encoder(&self) -> Result<Encoder> {
        self.read_json("encoder.json")
    }
    pub fn results(&self) -> Result<super::Results> {
        self.read_json("results.json")
    }
    /// All sets of the last `vifo evaluate`.
    pub fn evaluation(&self) -> Result<Vec<super::Results>> {
        self.read_json("evaluation.json")
    }
    /// What `vifo calibrate` stored, as it stands there; `calibrate::current` tells whether it still applies.
    pub fn calibration(&self) -> Result<Option<super::Calibration>> {
        let path = self.path.join(CALIBRATION);
        match std::fs::read_to_string(&path) {
            Ok(text) => super::Calibration::parse(&text, &path.display().to_string(), &self.path).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io(&path, "read", &e)),
        }
    }
    pub fn write_calibration(&self, calibration: &super::Calibration) -> Result<()> {
        self.write_json(CALIBRATION, calibration)
    }
    pub fn recipe(&self) -> Result<Recipe> {
        let path = self.path.join("recipe.toml");
        Recipe::from_table(&Recipe::read(&path)?, &path.display().to_string())
    }

    pub fn write_metrics(&self, rows: &[EpochRow]) -> Result<()> {
        let mut text = METRICS_HEADER.join(",") + "\n";
        for r in rows {
            let option = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
            text += &format!(
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                r.epoch,
                r.step,
                r.seconds,
                r.learning_rate,
                r.loss,
                r.expected_nll,
                r.regularizer,
                r.auxiliary,
                option(r.validation_nll),
                option(r.validation_score),
                option(r.test_nll),
                option(r.test_score),
                option(r.eta),
                option(r.eta_aux)
            );
        }
        self.write("metrics.csv", text.as_bytes())
    }

    /// The rows of metrics.csv up to `epoch`.
    pub fn metrics(&self, epoch: u32) -> Result<Vec<EpochRow>> {
        let path = self.path.join("metrics.csv");
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, "read", &e))?;
        let mut rows = vec![];
        for (i, line) in text.lines().enumerate().skip(1) {
            let place = format!("{}, line {}", path.display(), i + 1);
            let row = row_of(line).ok_or_else(|| {
                Error::data(place, "not a row of numbers", METRICS_HEADER.join(","), "restore the file")
            })?;
            if row.epoch <= epoch {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// The rows of metrics.csv that are whole, for whoever looks on while it is written or after it was cut; and the first
    /// line that is no row, where there is one.
    pub fn whole_metrics(&self) -> Result<(Vec<EpochRow>, Option<usize>)> {
        let path = self.path.join("metrics.csv");
        let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, "read", &e))?;
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
