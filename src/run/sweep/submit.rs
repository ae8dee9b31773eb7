//! The way to the queue: the script's file, `sbatch`, and what became of the job.

use super::ask::Asked;
use super::folder::SweepFolder;
use super::grid::Run;
use super::slurm::{Script, ranges, script};
use crate::error::{Error, Result};
use crate::run::write_atomic;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    pub job: String,
    /// "1-8": numbers of the runs.
    pub tasks: String,
}

const RECORD: &str = "slurm.json";

/// Writes slurm.sh for the runs `todo`; `program` is vifo itself, `bytes` what a run is thought to take.
pub fn write_script(folder: &SweepFolder, asked: &Asked, todo: &[&Run], program: &Path, bytes: u64) -> Result<PathBuf> {
    let tasks: Vec<usize> = todo.iter().map(|r| r.number).collect();
    let what = Script { program, name: &asked.name, tasks: &tasks, jobs: asked.jobs, bytes };
    let path = folder.path.join("slurm.sh");
    write_atomic(&path, script(folder, &asked.slurm, &what).as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).map_err(|e| Error::io(&path, "write", &e))?;
    }
    Ok(path)
}

/// Hands the script to `sbatch`.
pub fn submit(folder: &SweepFolder, todo: &[&Run], script: &Path) -> Result<Submitted> {
    let last = todo.iter().map(|r| r.number).max().unwrap_or(0);
    if let Some(most) = largest_task()
        && last > most
    {
        let (found, allowed) =
            (format!("run {last} is beyond the largest array of this cluster"), format!("1 to {most}"));
        return Err(Error::usage("sbatch", found, allowed, "divide the grid among several sweeps"));
    }
    let out = Command::new("sbatch").arg("--parsable").arg(script).output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let cure =
                "run this where Slurm is, leave --slurm out to train here, or add --write-only for the script alone";
            Error::run("sbatch", "is not on the path", cure)
        }
        _ => Error::io(Path::new("sbatch"), "start", &e),
    })?;
    if !out.status.success() {
        let cure = "mend --slurm-option or [slurm], or ask `sinfo` how the cluster is";
        return Err(Error::run("sbatch", format!("refused the job: {}", said(&out)), cure));
    }
    // "17", or "17;cluster".
    let job = String::from_utf8_lossy(&out.stdout).trim().split(';').next().unwrap_or_default().to_string();
    if job.is_empty() || !job.chars().all(|c| c.is_ascii_digit()) {
        return Err(Error::run("sbatch", format!("answered {job:?} instead of a job's number"), "look into `squeue`"));
    }
    let numbers: Vec<usize> = todo.iter().map(|r| r.number).collect();
    let submitted = Submitted { job, tasks: ranges(&numbers) };
    let text = serde_json::to_string_pretty(&submitted);
    let text = text.map_err(|e| Error::run(RECORD, e.to_string(), "this is a bug of vifo: please report it"))?;
    write_atomic(&folder.path.join(RECORD), text.as_bytes())?;
    Ok(submitted)
}

/// The job of this sweep that still has tasks in the queue or running. Where Slurm cannot be asked there is none.
pub fn queued(folder: &SweepFolder) -> Option<String> {
    let text = std::fs::read_to_string(folder.path.join(RECORD)).ok()?;
    let Submitted { job, .. } = serde_json::from_str(&text).ok()?;
    let out = Command::new("squeue").args(["--noheader", "--jobs", &job]).output().ok()?;
    (out.status.success() && !out.stdout.trim_ascii().is_empty()).then_some(job)
}

/// Highest number of a task, as the cluster has it.
fn largest_task() -> Option<usize> {
    let out = Command::new("scontrol").args(["show", "config"]).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find(|l| l.starts_with("MaxArraySize"))?;
    line.split('=').nth(1)?.trim().parse::<usize>().ok()?.checked_sub(1)
}

/// Its last words, on one line.
fn said(out: &Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr);
    let lines = text.lines().map(|l| l.trim_start_matches("sbatch: ").trim_start_matches("error: ").trim());
    lines.filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}
