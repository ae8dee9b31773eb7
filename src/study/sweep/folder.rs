//! The sweep's folder: its files, its lock, and the status of each run.
//!
//!     sweep.toml                        the sweep, complete
//!     RUN/                              one run folder each
//!     logs/RUN.log, logs/RUN.error      what its process said; the line with which it failed
//!     table.txt .md .tex .csv, runs.csv, figures/sweep.png .svg .csv
//!     slurm.sh, slurm.json              the job script and the job that was submitted

use super::ask::{FILE, SweepRequest};
use super::grid::SweepRun;
use crate::base::fs;
use crate::base::fs::File;
use crate::error::{Error, Result};
use crate::recipe::plain_path;
use crate::run::place::outside_of_the_images;
use crate::run::{RunFolder, write_atomic};
use crate::study::run_set::{self, RunStatus};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct SweepFolder {
    pub path: PathBuf,
}

/// Names the folder of a sweep.
const FLAG: &str = "--out";

impl SweepFolder {
    /// The folder of a sweep that was begun.
    pub fn open(path: &Path) -> Result<(SweepFolder, SweepRequest)> {
        let file = path.join(FILE);
        if !fs::is_file(&file) {
            let found = if fs::exists(path) { "is no sweep folder: sweep.toml is missing" } else { "does not exist" };
            let (allowed, help) = ("a folder made by `vifo sweep`", "check the path");
            return Err(Error::usage(path.display().to_string(), found, allowed, help));
        }
        let mut request = SweepRequest::read(&file, &|name| {
            Err(Error::usage(
                file.display().to_string(),
                format!("recipe = {name:?} is not part of a sweep folder"),
                "",
                "",
            ))
        })?;
        request.out = path.to_path_buf();
        let path = fs::absolute(path).map_err(|e| Error::io(path, "find", &e))?;
        Ok((SweepFolder { path }, request))
    }

    /// Looks whether `request` may be carried out in its folder; makes and changes nothing. A sweep over the same keys may be
    /// there: its runs count where they are of the same recipe.
    pub fn look(request: &SweepRequest, runs: &[SweepRun]) -> Result<SweepFolder> {
        let out = &request.out;
        plain_path(out, FLAG)?;
        let path = fs::absolute(out).map_err(|e| Error::io(out, "find", &e))?;
        let folder = SweepFolder { path };
        for run in runs {
            outside_of_the_images(&run.recipe, &folder.path)?;
        }
        let place = out.display().to_string();
        if fs::is_file(out.join(FILE)) {
            let (_, old) = Self::open(out)?;
            let names = |a: &SweepRequest| a.axes.iter().map(|a| a.key.clone()).collect::<Vec<_>>().join(", ");
            if names(&old) != names(request) {
                let keys = |a: &SweepRequest| if a.axes.is_empty() { "no key".into() } else { names(a) };
                let found = format!("holds a sweep over {}, not over {}", keys(&old), keys(request));
                return Err(Error::usage(place, found, "", "choose another folder with --out, or move this one away"));
            }
            for run in runs {
                if let Ok(there) = RunFolder::open(&folder.run(run).path) {
                    run_set::require_same_recipe(&there, &run.recipe, &[], FLAG)?;
                }
            }
        } else if fs::read_dir(out).is_ok_and(|mut d| d.any(|e| e.is_ok_and(|e| e.file_name() != ".lock"))) {
            let found = "already exists and is no sweep folder";
            return Err(Error::usage(place, found, "", "choose another folder with --out"));
        } else if fs::is_file(out) {
            return Err(Error::usage(place, "is a file", "a folder", "choose another with --out"));
        }
        Ok(folder)
    }

    /// Holds the folder, for one `vifo sweep` at a time, and writes the sweep into it.
    pub fn claim(&self, request: &SweepRequest) -> Result<File> {
        let logs = self.path.join("logs");
        fs::create_dir_all(&logs).map_err(|e| Error::io(&logs, "create", &e))?;
        let lock = run_set::lock_folder(&self.path)?;
        write_atomic(&self.path.join(FILE), request.to_toml()?.as_bytes())?;
        Ok(lock)
    }

    pub fn run(&self, run: &SweepRun) -> RunFolder {
        RunFolder { path: self.path.join(&run.name) }
    }

    pub fn log(&self, run: &SweepRun) -> PathBuf {
        self.path.join("logs").join(format!("{}.log", run.name))
    }

    fn error(&self, run: &SweepRun) -> PathBuf {
        self.path.join("logs").join(format!("{}.error", run.name))
    }

    pub fn write_error(&self, run: &SweepRun, line: &str) -> Result<()> {
        write_atomic(&self.error(run), format!("{}\n", line.trim()).as_bytes())
    }

    pub fn clear_error(&self, run: &SweepRun) {
        // One that is not there is clear.
        let _ = fs::remove_file(self.error(run));
    }

    /// How far a run is. One of another recipe, or another's files in its place, is an error.
    pub fn state(&self, run: &SweepRun) -> Result<RunStatus> {
        let failed = fs::read_to_string(self.error(run)).ok().map(|line| line.trim().to_string());
        run_set::status(&self.run(run).path, Some(&run.recipe), &[], failed, FLAG)
    }

    /// Run folders of an earlier grid, which are in no table.
    pub fn strangers(&self, runs: &[SweepRun]) -> Result<Vec<String>> {
        let all = crate::run::folder::inside(&self.path)?;
        let name = |f: &RunFolder| f.path.file_name().map(|n| n.to_string_lossy().into_owned());
        Ok(all.iter().filter_map(name).filter(|n| !runs.iter().any(|r| r.name == *n)).collect())
    }
}
