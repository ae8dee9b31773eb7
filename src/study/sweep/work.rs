//! The work on this machine: one process per run, several at a time.

use super::folder::SweepFolder;
use super::grid::SweepRun;
use crate::base::clock::{Duration, Instant};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::study::run_set::{Outcome, RunStatus};
use crate::system::stop;
use crate::train::Flow;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Progress of the work; the answer says whether to go on.
pub enum SweepEvent<'a> {
    Begins {
        run: &'a SweepRun,
        epoch: u32,
    },
    Done {
        run: &'a SweepRun,
        seconds: f64,
    },
    Failed {
        run: &'a SweepRun,
        line: &'a str,
    },
    /// Nothing happened for a moment.
    Waits,
}

struct Worker<'a> {
    run: &'a SweepRun,
    child: Child,
    start: Instant,
}

/// Between two looks at the processes.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Trains `todo`, `jobs` at a time, each with `threads` threads. `program` is vifo itself. When it is told to stop, every run
/// is left so that it can go on.
pub fn carry_out(
    folder: &SweepFolder,
    todo: &[&SweepRun],
    program: &Path,
    (jobs, threads): (usize, usize),
    listen: &mut dyn FnMut(SweepEvent) -> Flow,
) -> Result<Outcome> {
    // The runs save when this process tells them to, and it waits for them.
    let _waits = stop::hold();
    let mut left = todo.iter();
    let mut workers: Vec<Worker> = vec![];
    let (mut failed, mut stopping) = (0, false);
    loop {
        while !stopping && workers.len() < jobs {
            let Some(run) = left.next() else { break };
            let epoch = if let RunStatus::Stopped { epoch } = folder.state(run)? { epoch } else { 0 };
            stopping |= listen(SweepEvent::Begins { run, epoch }) == Flow::Stop;
            if !stopping {
                workers.push(Worker { run, child: start(folder, run, program, threads)?, start: Instant::now() });
            }
        }
        if workers.is_empty() {
            break;
        }
        let mut at = 0;
        while at < workers.len() {
            let ended = workers[at].child.try_wait();
            let Some(status) = ended.map_err(|e| Error::io(program, "wait for", &e))? else {
                at += 1;
                continue;
            };
            let worker = workers.swap_remove(at);
            let flow = match failure(folder, worker.run, status)? {
                None if status.code() == Some(STOPPED) => Flow::Stop,
                None => listen(SweepEvent::Done { run: worker.run, seconds: worker.start.elapsed().as_secs_f64() }),
                Some(line) => {
                    failed += 1;
                    listen(SweepEvent::Failed { run: worker.run, line: &line })
                }
            };
            stopping |= flow == Flow::Stop;
        }
        stopping |= listen(SweepEvent::Waits) == Flow::Stop;
        if stopping {
            // Each of them stops, and saves, when its standard input ends.
            workers.iter_mut().for_each(|w| drop(w.child.stdin.take()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(if stopping { Outcome::Stopped } else { Outcome::of_failed(failed) })
}

/// A program ended by Ctrl-C.
const STOPPED: i32 = 130;

/// Its standard input is a pipe from here: when this process ends, however it ends, the run is told to stop.
fn start(folder: &SweepFolder, run: &SweepRun, program: &Path, threads: usize) -> Result<Child> {
    let log = folder.log(run);
    let file = File::create(&log).map_err(|e| Error::io(&log, "create", &e))?;
    let mut command = Command::new(program);
    command.args(["--threads", &threads.to_string(), "sweep", "run", "--stop-with-input"]);
    command.arg(&folder.path).arg(run.number.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file);
    command.spawn().map_err(|e| Error::io(program, "start", &e))
}

/// The line with which a run failed; None where it is done or was stopped. A process that was killed left no line: it is
/// written here.
fn failure(folder: &SweepFolder, run: &SweepRun, status: ExitStatus) -> Result<Option<String>> {
    if status.success() || status.code() == Some(STOPPED) {
        return Ok(None);
    }
    if let RunStatus::Failed(line) = folder.state(run)? {
        return Ok(Some(line));
    }
    let log = fs::read_to_string(folder.log(run)).unwrap_or_default();
    let line = match (log.lines().rev().find_map(|l| l.strip_prefix("error: ")), status.code()) {
        (Some(line), _) => line.to_string(),
        (None, Some(code)) => format!("ended with exit code {code}; see {}", folder.log(run).display()),
        (None, None) => {
            let help = "if memory ran out, run fewer side by side with --jobs";
            format!("its process was ended from outside ({status}); {help}")
        }
    };
    folder.write_error(run, &line)?;
    Ok(Some(line))
}
