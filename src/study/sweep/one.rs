//! One run of a sweep folder, in this process: started, resumed, or found finished.

use super::folder::SweepFolder;
use super::grid::SweepRun;
use crate::base::clock::{Duration, Instant};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::run::Fitted;
use crate::study::run_set::{self, RunStatus};
use crate::train::{Event, Flow};
use std::path::Path;

pub enum Ended {
    /// It was done already.
    Before(Box<SweepRun>),
    Now(Box<SweepRun>, Box<Fitted>),
    /// Before it could begin, or while it read its data.
    Stopped,
}

/// How long a process that was told to stop may take to let go of a run.
const PATIENCE: Duration = Duration::from_secs(60);

/// Trains run `number` (from 1) of the sweep in `path`. Where it fails the line of the error stays in the folder, for whoever
/// collects. `go_on` is asked while another process holds the run.
pub fn run_one(
    path: &Path,
    number: usize,
    go_on: &dyn Fn() -> bool,
    listen: &mut dyn FnMut(&SweepRun, &Event, &[String]) -> Flow,
) -> Result<Ended> {
    let (folder, request) = SweepFolder::open(path)?;
    let runs = request.runs()?;
    let count = runs.len();
    let run = runs.into_iter().nth(number.wrapping_sub(1)).ok_or_else(|| {
        Error::usage(path.display().to_string(), format!("no run {number}"), format!("1 to {count}"), "")
    })?;
    let start = Instant::now();
    // The process before may still be writing its last checkpoint.
    while folder.run(&run).is_held() && start.elapsed() < PATIENCE {
        if !go_on() {
            return Ok(Ended::Stopped);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let state = folder.state(&run)?;
    match state {
        RunStatus::Done => return Ok(Ended::Before(Box::new(run))),
        // The other process goes on: not this one's failure to write down.
        RunStatus::Training => drop(folder.run(&run).lock()?),
        _ => {}
    }
    folder.clear_error(&run);
    let trained = train(&folder, &run, &mut |event, notes| listen(&run, event, notes));
    match trained {
        Ok(fitted) => Ok(Ended::Now(Box::new(run), Box::new(fitted))),
        Err(Error::Stopped(_)) => Ok(Ended::Stopped),
        Err(error) => {
            folder.write_error(&run, &error.to_string())?;
            Err(error)
        }
    }
}

fn train(folder: &SweepFolder, run: &SweepRun, listen: &mut dyn FnMut(&Event, &[String]) -> Flow) -> Result<Fitted> {
    let own = folder.run(run);
    let device = Device::open(&run.recipe.device)?;
    // What stood in the way of this look is gone with the error's file: failed runs go on where they were.
    run_set::train(&own, &folder.state(run)?, &run.recipe, &device, listen)
}
