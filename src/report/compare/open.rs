//! Finding runs and reading what is compared of them.

use super::ComparedRun;
use crate::base::fs;
use crate::error::{Error, Result};
use crate::results::{Metric, Results};
use crate::run::RunFolder;
use crate::run::folder::inside;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Opens run folders, and the run folders inside other folders. Returns the runs and what was skipped.
pub fn open(paths: &[PathBuf]) -> Result<(Vec<ComparedRun>, Vec<String>)> {
    let (mut runs, mut notes, mut seen): (Vec<ComparedRun>, _, _) = (vec![], vec![], HashSet::new());
    for path in paths {
        for folder in folders(path)? {
            let real = fs::canonicalize(&folder.path).map_err(|e| Error::io(&folder.path, "read", &e))?;
            if !seen.insert(real) {
                continue;
            }
            if !fs::is_file(folder.file("results.json")) {
                let state = folder.manifest()?.state;
                let why = format!("{} skipped: it has no results.json (state: {state})", folder.path.display());
                notes.push(why);
                continue;
            }
            runs.push(read(&folder)?);
            // One that was damaged says nothing of the numbers.
            if let Some(about) = folder.about().ok().filter(|a| !a.is_empty()) {
                notes.push(format!("{}: {}", folder.path.display(), about.line()));
            }
        }
    }
    // An old run of the same files as a newer one has the newer one's values.
    let values: BTreeMap<String, String> =
        runs.iter().filter(|r| r.hash != r.bytes).map(|r| (r.bytes.clone(), r.hash.clone())).collect();
    for run in runs.iter_mut().filter(|r| r.hash == r.bytes) {
        run.hash = values.get(&run.bytes).unwrap_or(&run.hash).clone();
    }
    if runs.is_empty() {
        let place = paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
        let found = if notes.is_empty() { "no runs".into() } else { format!("no finished run: {}", notes.join("; ")) };
        return Err(Error::run(place, found, "finish one with `vifo fit --resume RUN`, with test rows"));
    }
    Ok((runs, notes))
}

/// As `inside`; none is an error.
fn folders(path: &Path) -> Result<Vec<RunFolder>> {
    let runs = inside(path)?;
    if runs.is_empty() {
        let found = "is no run folder, and no run folder lies in it";
        let allowed = "folders made by `vifo fit`, or a folder of such folders";
        return Err(Error::usage(path.display().to_string(), found, allowed, "check the path"));
    }
    Ok(runs)
}

fn read(folder: &RunFolder) -> Result<ComparedRun> {
    let recipe = folder.recipe()?;
    let manifest = folder.manifest()?;
    let recipe = manifest.as_asked(recipe);
    let (bytes, values) = (manifest.data, manifest.values);
    let hash = match recipe.data.toy {
        Some(_) => String::new(),
        None if values.is_empty() => bytes.clone(),
        None => values,
    };
    let mut results = folder.results()?;
    results.metrics.extend(evaluated(folder)?);
    // Curves are beside the point of a table: a run without them still counts.
    let rows = if fs::is_file(folder.file("metrics.csv")) { folder.metrics(u32::MAX)? } else { vec![] };
    Ok(ComparedRun { path: folder.path.clone(), recipe, results, rows, hash, bytes })
}

/// What `vifo evaluate` found on other sets, under names of their own: "auroc_entropy" and "ood_mean_entropy" of the one
/// out-of-distribution set, "mnist.auroc_entropy" of several, "shift.nll", "fog.3.accuracy".
fn evaluated(folder: &RunFolder) -> Result<Vec<Metric>> {
    if !fs::is_file(folder.file("evaluation.json")) {
        return Ok(vec![]);
    }
    let sets: Vec<Results> = folder.evaluation()?;
    let named = |r: Results| {
        let prefix = match r.set.as_str() {
            "ood" => String::new(),
            set => format!("{}.", set.strip_prefix("ood ").unwrap_or(set)),
        };
        r.metrics.into_iter().map(move |m| Metric { name: format!("{prefix}{}", m.name), ..m })
    };
    Ok(sets.into_iter().filter(|r| r.set != "test").flat_map(named).collect())
}
