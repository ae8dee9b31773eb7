//! Run folders as they stand, for a list that is refreshed often: finished ones, ones that another process writes,
//! and ones that were left half-way. Nothing in a folder is changed, and one that is damaged does not hide the others.

use super::about::{ABOUT, About};
use super::{Manifest, RunFolder, recipe_name};
use crate::base::clock::SystemTime;
use crate::base::fs;
use crate::base::visible::shell;
use crate::error::{Result, either};
use crate::recipe::Recipe;
use crate::results::Metric;
use crate::run::folder::inside;
use crate::train::EpochRow;
use crate::train::plan::TrainingPlan;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// A process writes to it.
    Training,
    /// Its process has ended without a word.
    Interrupted,
    /// In the manifest's words: "finished", "stopped early", "stopped".
    Ended(String),
    /// Without a manifest that can be read.
    Unreadable,
}

impl RunState {
    pub fn word(&self) -> &str {
        match self {
            RunState::Training => "training",
            RunState::Interrupted => "interrupted",
            RunState::Ended(word) => word,
            RunState::Unreadable => "unreadable",
        }
    }
}

/// The state of a run by its manifest and by whether a process holds its folder.
pub fn state_of(manifest: &Manifest, held: bool) -> RunState {
    match manifest.state.as_str() {
        "training" if held => RunState::Training,
        "training" => RunState::Interrupted,
        word => RunState::Ended(word.into()),
    }
}

/// What one look at a run folder found.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: PathBuf,
    /// Of the folder.
    pub name: String,
    /// As it was asked for, where a time has decided on numbers; None where it cannot be read.
    pub recipe: Option<Recipe>,
    /// SHA-256 of the data file; empty for a toy.
    pub hash: String,
    /// Empty without a recipe.
    pub method: String,
    pub seed: Option<u32>,
    pub state: RunState,
    /// Of the last evaluation that is on the disk; 0 before it.
    pub epoch: u32,
    /// None where recipe, manifest and encoder do not tell.
    pub epochs: Option<u32>,
    pub device: String,
    /// The data set in a word: the name of its file, or the toy's.
    pub data: String,
    pub has_results: bool,
    pub has_report: bool,
    /// Of the test rows.
    pub metrics: Vec<Metric>,
    /// Tags and note.
    pub about: About,
    pub rows: Vec<EpochRow>,
    /// As `Encoder::target_sd`; 1 where no encoder can be read.
    pub target_sd: f64,
    /// When manifest, metrics or results were last written.
    pub modified: Option<SystemTime>,
    /// What is wrong or missing, and what to do about it.
    pub notes: Vec<String>,
    stamps: Stamps,
}

impl Seen {
    /// A metric of the test rows.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).and_then(|m| m.value.value())
    }
}

/// When each file was written and how long it is; None where it is missing.
type Stamps = [Option<(SystemTime, u64)>; 8];

/// The last of them shows a writer that has just begun. The first three give the time of the last change.
const FILES: [&str; 8] = [
    "manifest.json",
    "metrics.csv",
    "results.json",
    "recipe.toml",
    "encoder.json",
    ABOUT,
    "checkpoints/last.safetensors",
    ".lock",
];

fn stamps(folder: &RunFolder) -> Stamps {
    FILES.map(|name| {
        let meta = fs::metadata(folder.file(name)).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    })
}

/// Runs by name, and notes that begin with the name of their run.
pub type Found = (Vec<Arc<Seen>>, Vec<String>);

/// Looks at `root` if it is a run folder, else at the run folders directly inside it. What `before` holds is not read again
/// unless one of its files has changed.
///
/// # Errors
/// Where `root` cannot be listed. One that does not exist holds no runs.
pub fn scan(root: &Path, before: &[Arc<Seen>]) -> Result<Found> {
    if !fs::exists(root) {
        return Ok((vec![], vec![format!("{} does not exist yet", root.display())]));
    }
    let look = |folder: &RunFolder| look(folder, before.iter().find(|s| s.path == folder.path));
    let seen: Vec<Arc<Seen>> = inside(root)?.iter().map(look).collect();
    let notes = seen.iter().flat_map(|s| s.notes.iter().map(|note| format!("{}: {note}", s.name))).collect();
    Ok((seen, notes))
}

fn look(folder: &RunFolder, before: Option<&Arc<Seen>>) -> Arc<Seen> {
    // A writer's end shows in the manifest before it lets go of the lock: so the lock comes first, then the files.
    let watched = before.is_none_or(|s| s.state == RunState::Training);
    let held = watched && folder.is_held();
    let now = stamps(folder);
    match before {
        Some(old) if old.stamps == now && (held || !watched) => old.clone(),
        _ => {
            let held = if watched { held } else { folder.is_held() };
            // Before reading: what is written meanwhile is read at the next look.
            Arc::new(read(folder, held, stamps(folder)))
        }
    }
}

/// The data set of a recipe in a word, whatever the recipe itself is called.
fn data_name(recipe: &Recipe) -> String {
    recipe_name(&Recipe { name: None, ..recipe.clone() })
}

fn read(folder: &RunFolder, held: bool, stamps: Stamps) -> Seen {
    let path = folder.path.clone();
    let mut notes = vec![];
    let mut or_note = |e: crate::error::Error| notes.push(e.to_string());
    let recipe = folder.recipe().map_err(&mut or_note).ok();
    let manifest = folder.manifest().map_err(&mut or_note).ok();
    let has_results = fs::is_file(folder.file("results.json"));
    let results = has_results.then(|| folder.results().map_err(&mut or_note).ok()).flatten();
    let has_metrics = fs::is_file(folder.file("metrics.csv"));
    let metrics = has_metrics.then(|| folder.whole_metrics().map_err(&mut or_note).ok()).flatten();
    let about = folder.about().map_err(&mut or_note).unwrap_or_default();
    let (rows, broken) = metrics.unwrap_or_default();
    if let Some(line) = broken {
        notes.push(format!("metrics.csv, line {line}: not a row of numbers; the curves end before it"));
    }
    let state = match &manifest {
        None => RunState::Unreadable,
        Some(manifest) => state_of(manifest, held),
    };
    let has_checkpoint = fs::is_file(folder.last());
    match &state {
        RunState::Interrupted => {
            let path = shell(&path.display().to_string());
            notes.push(either(
                format!("interrupted: resume with `vifo fit --resume {path}`"),
                "interrupted: it can be resumed",
            ));
        }
        RunState::Ended(word) if !has_checkpoint => notes.push(format!("{word}, but its checkpoint is missing")),
        _ => {}
    }
    let tested = manifest.as_ref().is_some_and(|m| m.test_rows > 0);
    if matches!(&state, RunState::Ended(word) if word != "stopped") && !has_results {
        notes.push(if tested { "results.json is missing".into() } else { "no results: no rows to test on".into() });
    }
    let before = manifest.as_ref().map_or(0, |m| m.epochs_before);
    let encoder = folder.encoder().ok();
    let plan = || TrainingPlan::new(recipe.as_ref()?, manifest.as_ref()?.train_rows, encoder.as_ref()?).ok();
    let hash = match (&recipe, &manifest) {
        (Some(r), _) if r.data.toy.is_some() => String::new(),
        (_, Some(m)) if m.values.is_empty() => m.data.clone(),
        (_, Some(m)) => m.values.clone(),
        // Unknown data: never group it with other runs.
        _ => path.display().to_string(),
    };
    let name = path
        .file_name()
        .or(fs::canonicalize(&path).ok().as_deref().and_then(Path::file_name))
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Seen {
        name,
        hash,
        method: recipe.as_ref().map_or(String::new(), |r| r.method.name.clone()),
        seed: recipe.as_ref().map(|r| r.seed).or(manifest.as_ref().map(|m| m.seed)),
        state,
        epoch: rows.last().map_or(0, |r| r.epoch),
        epochs: recipe
            .as_ref()
            .and_then(|r| r.train.epochs)
            .or_else(|| Some(plan()?.epochs))
            .map(|n| before.saturating_add(n)),
        data: recipe.as_ref().map_or(String::new(), data_name),
        device: manifest.as_ref().map_or(String::new(), |m| m.device.clone()),
        has_results: results.is_some(),
        has_report: fs::is_file(folder.file("report.html")),
        metrics: results.map_or(vec![], |r| r.metrics),
        about,
        rows,
        target_sd: encoder.as_ref().map_or(1.0, |e| e.target_sd()),
        modified: stamps[..3].iter().flatten().map(|s| s.0).max(),
        recipe: recipe.map(|r| manifest.as_ref().map_or(r.clone(), |m| m.as_asked(r))),
        path,
        notes,
        stamps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Manifest;

    const RECIPE: &str = "seed = 3\n[data]\ntoy = \"sinusoid\"\n[train]\nepochs = 40\n";

    fn row(epoch: u32) -> EpochRow {
        EpochRow { epoch, step: u64::from(epoch) * 10, loss: 1.0 / f64::from(epoch), ..Default::default() }
    }

    fn tell(folder: &RunFolder, state: &str) {
        let (vifo, git) = Manifest::version();
        let manifest = Manifest {
            vifo,
            git,
            device: "cpu".into(),
            seed: 3,
            data: "toy".into(),
            values: String::new(),
            train_rows: 60,
            validation_rows: 0,
            test_rows: 0,
            state: state.into(),
            notes: vec![],
            changes: vec![],
            asked: None,
            kernels: Default::default(),
            epochs_before: 0,
            relative: Default::default(),
            sums: Default::default(),
            sha256: String::new(),
        };
        folder.write_json("manifest.json", &manifest).expect("written");
    }

    /// A run folder without checkpoint and results.
    fn made(root: &Path, name: &str, state: &str) -> RunFolder {
        let folder = RunFolder::create(&root.join(name)).expect("a new folder");
        folder.write("recipe.toml", RECIPE.as_bytes()).expect("written");
        tell(&folder, state);
        folder
    }

    fn look(root: &Path, before: &[Arc<Seen>]) -> (Vec<Arc<Seen>>, Vec<String>) {
        scan(root, before).expect("a list")
    }

    #[test]
    fn a_run_that_is_written_grows_and_what_did_not_change_is_not_read_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let (live, still) = (made(dir.path(), "live", "training"), made(dir.path(), "still", "stopped"));
        let lock = live.lock().expect("free");
        live.write_metrics(&[row(1)]).expect("written");
        still.write_metrics(&[row(7)]).expect("written");
        let (first, _) = look(dir.path(), &[]);
        assert_eq!(first.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["live", "still"]);
        let s = &first[0];
        assert_eq!((s.state.clone(), s.epoch, s.epochs, s.seed), (RunState::Training, 1, Some(40), Some(3)));
        assert_eq!((s.method.as_str(), s.rows.clone()), ("vifo-mean", vec![row(1)]));
        assert!(s.notes.is_empty(), "{:?}", s.notes);

        let (same, _) = look(dir.path(), &first);
        assert!(same.iter().zip(&first).all(|(a, b)| Arc::ptr_eq(a, b)), "nothing changed");

        live.write_metrics(&[row(1), row(2)]).expect("written");
        let (second, _) = look(dir.path(), &same);
        assert_eq!((second[0].epoch, second[0].rows.len()), (2, 2));
        assert!(Arc::ptr_eq(&second[1], &first[1]));

        // Killed: no file has changed, but the lock is free.
        drop(lock);
        let (third, notes) = look(dir.path(), &second);
        assert_eq!(third[0].state, RunState::Interrupted);
        let path = dir.path().join("live");
        assert_eq!(notes[0], format!("live: interrupted: resume with `vifo fit --resume {}`", path.display()));
        assert!(Arc::ptr_eq(&look(dir.path(), &third).0[0], &third[0]));

        // Taken up again, then ended.
        let lock = live.lock().expect("looking on holds nothing");
        tell(&live, "training");
        let (fourth, _) = look(dir.path(), &third);
        assert_eq!(fourth[0].state, RunState::Training);
        tell(&live, "stopped early");
        drop(lock);
        assert_eq!(look(dir.path(), &fourth).0[0].state, RunState::Ended("stopped early".into()));
    }

    #[test]
    fn half_present_folders_are_listed_with_a_note() {
        let dir = tempfile::tempdir().expect("a folder");
        let cut = made(dir.path(), "cut", "stopped");
        cut.write_metrics(&[row(1), row(2)]).expect("written");
        let text = std::fs::read_to_string(cut.file("metrics.csv")).expect("text");
        // Within a number of the last line: what is left of it is a number too.
        let at = text.rfind("20,").expect("the step") + 1;
        std::fs::write(cut.file("metrics.csv"), &text[..at]).expect("cut");
        let odd = made(dir.path(), "odd", "stopped");
        std::fs::write(odd.file("metrics.csv"), text.replace("\n2,", "\ntwo,")).expect("damaged");
        let recipe = made(dir.path(), "recipe", "stopped");
        recipe.write("recipe.toml", b"seed = [[[").expect("damaged");
        let manifest = made(dir.path(), "manifest", "stopped");
        manifest.write("manifest.json", b"{\"vifo\": ").expect("damaged");
        let results = made(dir.path(), "results", "finished");
        results.write("results.json", b"no JSON").expect("damaged");
        std::fs::create_dir(dir.path().join("no run")).expect("made");
        std::fs::write(dir.path().join("file.txt"), "text").expect("made");

        let (seen, notes) = look(dir.path(), &[]);
        let names: Vec<&str> = seen.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["cut", "manifest", "odd", "recipe", "results"]);
        let has = |what: &str| assert!(notes.iter().any(|n| n.contains(what)), "{what}: {notes:#?}");
        assert_eq!((seen[0].epoch, seen[0].rows.clone()), (1, vec![row(1)]));
        has("cut: stopped, but its checkpoint is missing");
        assert_eq!((seen[1].state.clone(), seen[1].method.as_str()), (RunState::Unreadable, "vifo-mean"));
        has("manifest.json");
        assert_eq!(seen[2].rows, [row(1)]);
        has("odd: metrics.csv, line 3");
        assert_eq!((seen[3].method.as_str(), seen[3].seed, seen[3].epochs), ("", Some(3), None));
        has("recipe.toml");
        assert!(!seen[4].has_results && seen[4].metric("nll").is_none());
        has("results.json");
    }

    #[test]
    fn a_run_itself_an_empty_folder_and_none_at_all() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(look(dir.path(), &[]).0.len(), 0);
        let run = made(dir.path(), "run", "stopped");
        assert_eq!(look(&run.path, &[]).0[0].name, "run");
        let (none, notes) = look(&dir.path().join("gone"), &[]);
        assert!(none.is_empty() && notes[0].ends_with("gone does not exist yet"), "{notes:?}");
        std::fs::write(dir.path().join("file"), "text").expect("made");
        assert!(scan(&dir.path().join("file"), &[]).is_err());
    }
}
