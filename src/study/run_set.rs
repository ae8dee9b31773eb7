//! Many runs in one folder, for sweeps, the paper's tables and the UCI benchmark alike: how far each run is, whether it was
//! made by the recipe that is wanted, who holds the folder, and how a run starts or resumes.

use crate::base::fs;
use crate::base::fs::File;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::recipe::Recipe;
use crate::recipe::keys::{self, Key};
use crate::run::Fitted;
use crate::run::RunFolder;
use crate::train::{Ending, Event, Flow};
use crate::workflow::fit;
use std::path::Path;

/// Status of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    Missing,
    /// Killed before its first checkpoint: nothing in it is worth keeping.
    Abandoned,
    /// A process writes to it.
    Training,
    /// Stopped or killed after so many epochs.
    Stopped {
        epoch: u32,
    },
    Done,
    /// With this line.
    Failed(String),
}

impl RunStatus {
    /// "done", "training", ...
    pub fn word(&self) -> &'static str {
        match self {
            RunStatus::Missing | RunStatus::Abandoned => "missing",
            RunStatus::Training => "training",
            RunStatus::Stopped { .. } => "stopped",
            RunStatus::Done => "done",
            RunStatus::Failed(_) => "failed",
        }
    }
}

/// What became of all runs of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Stopped,
    /// So many runs failed; the others are done.
    Failed(usize),
}

impl Outcome {
    pub fn of_failed(failed: usize) -> Outcome {
        if failed > 0 { Outcome::Failed(failed) } else { Outcome::Done }
    }
}

/// The files that a run writes before its manifest.
const BEFORE_MANIFEST: [&str; 5] = [".lock", "recipe.toml", "encoder.json", "checkpoints", "figures"];

/// Locks the folder of a set for this command, and creates it if need be.
///
/// # Errors
/// The folder cannot be created, or another command has locked it.
pub fn lock_folder(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, "create", &e))?;
    RunFolder { path: folder.to_path_buf() }.lock()
}

/// The help of an error about other files in the place of a run; `flag` is the one that chooses the folder of the set.
pub fn move_away_help(flag: &str) -> String {
    format!("move it away, or choose another folder with {flag}")
}

/// How far the run in `folder` is; `failed` is the line with which it failed before, if it did. `wanted` is its recipe, if
/// that is known, `varies` the keys that may be other ones (`difference`), and `flag` what chooses the folder of the set.
///
/// # Errors
/// A run of another recipe, or another's files in its place.
pub fn status(
    folder: &Path,
    wanted: Option<&Recipe>,
    varies: &[&Key],
    failed: Option<String>,
    flag: &str,
) -> Result<RunStatus> {
    let run = RunFolder { path: folder.to_path_buf() };
    if run.is_held() {
        return Ok(RunStatus::Training);
    }
    if RunFolder::open(folder).is_err() {
        let remains = remains(folder, flag)?;
        return Ok(failed.map_or(remains, RunStatus::Failed));
    }
    if let Some(wanted) = wanted {
        require_same_recipe(&run, wanted, varies, flag)?;
    }
    let manifest = run.manifest()?;
    let ended = ["finished", "stopped early"].contains(&manifest.state.as_str());
    if ended && (manifest.test_rows == 0 || fs::is_file(run.file("results.json"))) {
        return Ok(RunStatus::Done);
    }
    if let Some(line) = failed {
        return Ok(RunStatus::Failed(line));
    }
    let rows = if fs::is_file(run.last()) { run.metrics(u32::MAX).unwrap_or_default() } else { vec![] };
    Ok(RunStatus::Stopped { epoch: rows.last().map_or(0, |r| r.epoch) })
}

/// `Missing` or `Abandoned`, for a folder without a manifest.
fn remains(path: &Path, flag: &str) -> Result<RunStatus> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(RunStatus::Missing),
        Err(e) => return Err(Error::io(path, "read", &e)),
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().to_string();
        if !BEFORE_MANIFEST.contains(&name.as_str()) && !name.starts_with(".tmp") {
            let found = format!("is in the way of a run, and holds '{name}', which no run has before its manifest");
            return Err(Error::usage(path.display().to_string(), found, "", move_away_help(flag)));
        }
    }
    Ok(RunStatus::Abandoned)
}

/// Whether two recipes give the same experiment.
pub fn same_recipe(a: &Recipe, b: &Recipe) -> bool {
    difference(a, b, &[]).is_none()
}

/// A key in which two recipes differ, with both values as a recipe writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub key: &'static str,
    pub there: String,
    pub wanted: String,
}

/// The first key that makes two recipes different experiments; those in `varies` may differ too.
pub fn difference(there: &Recipe, wanted: &Recipe, varies: &[&Key]) -> Option<Difference> {
    let (key, there, wanted) = keys::difference(there, wanted, varies)?;
    Some(Difference { key, there, wanted })
}

/// An error where `run` was trained with another recipe than `wanted`.
///
/// # Errors
/// That one, and a recipe that cannot be read.
pub fn require_same_recipe(run: &RunFolder, wanted: &Recipe, varies: &[&Key], flag: &str) -> Result<()> {
    let Some(Difference { key, there, wanted }) = difference(&run.recipe_as_written()?, wanted, varies) else {
        return Ok(());
    };
    let found = format!("was trained with {key} = {there}, not {wanted}");
    Err(Error::usage(run.path.display().to_string(), found, "", move_away_help(flag)))
}

/// Starts or resumes a run, as its status asks, to its end or to a stop.
///
/// # Errors
/// Those of training; that another process holds the folder.
pub fn train(
    folder: &RunFolder,
    status: &RunStatus,
    recipe: &Recipe,
    device: &Device,
    listen: &mut dyn FnMut(&Event, &[String]) -> Flow,
) -> Result<Fitted> {
    match status {
        RunStatus::Stopped { .. } => return fit::resume(&folder.path, device, listen),
        RunStatus::Training => {
            // Fails while the other process trains.
            drop(folder.lock()?);
            if RunFolder::open(&folder.path).is_ok() {
                return fit::resume(&folder.path, device, listen);
            }
        }
        RunStatus::Abandoned => {
            let _lock = folder.lock()?;
            folder.remove_own()?;
        }
        RunStatus::Missing | RunStatus::Done | RunStatus::Failed(_) => {}
    }
    fit::fit(recipe, &folder.path, false, device, listen)
}

/// How one run of a set ended.
pub enum RunEnd {
    Done,
    Stopped,
    /// In its own numbers, such as a loss that is not finite: the other runs go on.
    Failed(Error),
}

/// How a training ended.
///
/// # Errors
/// Those that would stop the next run as well, such as a full disk.
pub fn run_end(trained: Result<Ending>) -> Result<RunEnd> {
    match trained {
        Ok(Ending::Stopped) => Ok(RunEnd::Stopped),
        Ok(Ending::Finished | Ending::Early) => Ok(RunEnd::Done),
        Err(error @ Error::Run(_)) => Ok(RunEnd::Failed(error)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::key;

    fn recipe(sets: &[(&str, &str)]) -> Recipe {
        let mut table = Recipe::parse("[data]\ntoy = \"cubic\"\n", "t").expect("a recipe");
        sets.iter().for_each(|(key, value)| keys::set(&mut table, key, value, "t").expect("allowed"));
        Recipe::from_table(&table, "t").expect("a recipe")
    }

    #[test]
    fn what_changes_no_result_may_differ_and_a_seed_may_not() {
        let plain = recipe(&[]);
        let other = recipe(&[("name", "\"b\""), ("device", "\"gpu\""), ("train.checkpoint_seconds", "9")]);
        assert!(same_recipe(&plain, &other));
        let found = difference(&plain, &recipe(&[("seed", "7")]), &[]).expect("differs");
        assert_eq!((found.key, found.there.as_str(), found.wanted.as_str()), ("seed", "1", "7"));
        assert_eq!(difference(&plain, &recipe(&[("seed", "7")]), &[key!(seed)]), None);
        assert!(!same_recipe(&plain, &recipe(&[("method.eta", "0.5")])));
    }

    #[test]
    fn a_place_is_missing_holds_remains_or_is_in_the_way() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = dir.path().join("run");
        let now = || status(&run, None, &[], None, "--out");
        assert_eq!(now(), Ok(RunStatus::Missing));
        std::fs::create_dir_all(run.join("checkpoints")).expect("made");
        assert_eq!(now(), Ok(RunStatus::Abandoned));
        assert_eq!(status(&run, None, &[], Some("no".into()), "--out"), Ok(RunStatus::Failed("no".into())));
        let held = lock_folder(&run).expect("held");
        assert_eq!(now(), Ok(RunStatus::Training));
        drop(held);
        std::fs::write(run.join("notes.txt"), "mine").expect("written");
        let refused = now().expect_err("in the way").to_string();
        assert!(refused.contains("'notes.txt'") && refused.ends_with(&move_away_help("--out")), "{refused}");
    }
}
