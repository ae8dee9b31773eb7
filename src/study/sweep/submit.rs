//! Submission to Slurm: the script's file, `sbatch`, and what became of the job.

use super::ask::SweepRequest;
use super::folder::SweepFolder;
use super::grid::SweepRun;
use super::slurm::{Script, ranges, script};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::recipe::plain_path;
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

/// Runs that one array takes: task t is run t + offset.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunk {
    offset: usize,
    tasks: Vec<usize>,
}

/// Slurm's own limit where the cluster does not tell: tasks are numbered up to 1000.
const LARGEST_TASK: usize = 1000;

/// Ascending numbers of runs, divided so that no task has a number above `most`.
fn chunks(numbers: &[usize], most: usize) -> Vec<Chunk> {
    let most = most.max(1);
    let of = |n: usize| (n - 1) / most * most;
    let chunk = |runs: &[usize]| Chunk { offset: of(runs[0]), tasks: runs.iter().map(|n| n - of(*n)).collect() };
    numbers.chunk_by(|a, b| of(*a) == of(*b)).map(chunk).collect()
}

fn chunks_of(todo: &[&SweepRun]) -> Vec<Chunk> {
    let numbers: Vec<usize> = todo.iter().map(|r| r.number).collect();
    chunks(&numbers, largest_task().unwrap_or(LARGEST_TASK))
}

/// Writes slurm.sh for the runs `todo`; `program` is vifo itself, `bytes` what a run is thought to take. Returns its path and
/// the arguments of each `sbatch` that it is to be submitted with: more runs than the cluster's arrays take need several.
pub fn write_script(
    folder: &SweepFolder,
    request: &SweepRequest,
    todo: &[&SweepRun],
    program: &Path,
    bytes: u64,
) -> Result<(PathBuf, Vec<Vec<String>>)> {
    plain_path(program, "the program's own path")?;
    plain_path(&folder.path, "--out")?;
    let chunks = chunks_of(todo);
    let first = chunks.first().cloned().unwrap_or(Chunk { offset: 0, tasks: vec![] });
    let what =
        Script { program, name: &request.name, tasks: &first.tasks, offset: first.offset, jobs: request.jobs, bytes };
    let path = folder.path.join("slurm.sh");
    write_atomic(&path, script(folder, &request.slurm, &what).as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).map_err(|e| Error::io(&path, "write", &e))?;
    }
    let at_a_time = request.jobs.map_or(String::new(), |n| format!("%{n}"));
    let script = path.display().to_string();
    let rest = chunks
        .iter()
        .skip(1)
        .map(|c| vec![format!("--array={}{at_a_time}", ranges(&c.tasks)), script.clone(), c.offset.to_string()]);
    let commands = std::iter::once(vec![script.clone()]).chain(rest).collect();
    Ok((path, commands))
}

/// Hands the script to `sbatch`, once a chunk of runs. Where only so many may run at a time, a chunk waits for the one before.
pub fn submit(
    folder: &SweepFolder,
    request: &SweepRequest,
    todo: &[&SweepRun],
    commands: &[Vec<String>],
) -> Result<Submitted> {
    let numbers: Vec<usize> = todo.iter().map(|r| r.number).collect();
    let mut submitted = Submitted { job: String::new(), tasks: ranges(&numbers) };
    for command in commands {
        let before = submitted.job.rsplit(',').next().filter(|job| !job.is_empty() && request.jobs.is_some());
        let job = sbatch(before.map(|job| format!("--dependency=afterany:{job}")).as_slice(), command)?;
        let comma = if submitted.job.is_empty() { "" } else { "," };
        submitted.job += &format!("{comma}{job}");
        // After each: what is in the queue is known, even if the next is refused.
        let text = serde_json::to_string_pretty(&submitted);
        let text = text.map_err(|e| Error::run(RECORD, e.to_string(), "this is a bug of vifo: please report it"))?;
        write_atomic(&folder.path.join(RECORD), text.as_bytes())?;
    }
    Ok(submitted)
}

/// The number of the job that `sbatch` makes.
fn sbatch(options: &[String], command: &[String]) -> Result<String> {
    let started = Command::new("sbatch").arg("--parsable").args(options).args(command).output();
    let out = started.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let help =
                "run this where Slurm is, leave --slurm out to train here, or add --write-only for the script alone";
            Error::run("sbatch", "is not on the path", help)
        }
        _ => Error::io(Path::new("sbatch"), "start", &e),
    })?;
    if !out.status.success() {
        let help = "mend --slurm-option or [slurm], or ask `sinfo` how the cluster is";
        return Err(Error::run("sbatch", format!("refused the job: {}", said(&out)), help));
    }
    // "17", or "17;cluster".
    let job = String::from_utf8_lossy(&out.stdout).trim().split(';').next().unwrap_or_default().to_string();
    if job.is_empty() || !job.chars().all(|c| c.is_ascii_digit()) {
        return Err(Error::run("sbatch", format!("answered {job:?} instead of a job's number"), "look into `squeue`"));
    }
    Ok(job)
}

/// The jobs of this sweep that still have tasks in the queue or running, "17,18". Where Slurm cannot be asked there is none.
pub fn queued(folder: &SweepFolder) -> Option<String> {
    let text = fs::read_to_string(folder.path.join(RECORD)).ok()?;
    let Submitted { job, .. } = serde_json::from_str(&text).ok()?;
    let is_queued = |job: &&str| {
        let out = Command::new("squeue").args(["--noheader", "--jobs", job]).output();
        out.is_ok_and(|out| out.status.success() && !out.stdout.trim_ascii().is_empty())
    };
    let left: Vec<&str> = job.split(',').filter(is_queued).collect();
    (!left.is_empty()).then(|| left.join(","))
}

/// Highest number of a task, as the cluster has it.
fn largest_task() -> Option<usize> {
    let out = Command::new("scontrol").args(["show", "config"]).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find(|l| l.starts_with("MaxArraySize"))?;
    line.split('=').nth(1)?.trim().parse::<usize>().ok()?.checked_sub(1).filter(|most| *most > 0)
}

/// Its last words, on one line.
fn said(out: &Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr);
    let lines = text.lines().map(|l| l.trim_start_matches("sbatch: ").trim_start_matches("error: ").trim());
    lines.filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C15: 1,500 runs where MaxArraySize is 1001.
    #[test]
    fn c15_runs_beyond_the_largest_array_go_into_chunks_with_an_offset() {
        let all: Vec<usize> = (1..=1500).collect();
        let found = chunks(&all, 1000);
        let told: Vec<(usize, String)> = found.iter().map(|c| (c.offset, ranges(&c.tasks))).collect();
        assert_eq!(told, [(0, "1-1000".into()), (1000, "1-500".into())]);
        // What is left of a sweep: every run once, no task above the limit.
        let left = [3, 999, 1000, 1001, 1002, 2000, 2001];
        let found = chunks(&left, 1000);
        let runs: Vec<usize> = found.iter().flat_map(|c| c.tasks.iter().map(|t| t + c.offset)).collect();
        assert_eq!(runs, left);
        assert!(found.iter().all(|c| c.tasks.iter().all(|t| (1..=1000).contains(t))));
        assert_eq!(chunks(&[4], 1000), [Chunk { offset: 0, tasks: vec![4] }]);
    }
}
