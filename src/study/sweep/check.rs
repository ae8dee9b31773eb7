//! What can be known before the first run starts: that every recipe fits its data, and how much memory each will take.

use super::grid::Run;
use crate::data::load::{Loaded, load};
use crate::error::Result;
use crate::exec::Device;
use crate::program::plan::plan;
use crate::recipe::Data;
use crate::system::memory;
use crate::train::plan::Plan;

/// What the runs of a sweep ask of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bytes of the largest run, estimated.
    pub bytes: u64,
    /// None of the runs uses a GPU.
    pub cpu: bool,
}

/// Program, thread pool and figures of a process, without any data.
const PROCESS: u64 = 100 << 20;

/// Reads the data of all runs, once where they share it, and plans each run. `go_on` is asked between two runs.
pub fn check(runs: &[&Run], place: &str, go_on: &dyn Fn() -> bool) -> Result<Needs> {
    let mut needs = Needs { bytes: PROCESS, cpu: true };
    let mut loaded: Option<(&Data, Loaded)> = None;
    let mut devices: Vec<&str> = vec![];
    for run in runs.iter().take_while(|_| go_on()) {
        let within = format!("{place}, run {}", run.name);
        let recipe = &run.recipe;
        if loaded.as_ref().is_none_or(|(of, _)| **of != recipe.data) {
            // Another seed divides the rows otherwise: as many, of the same kinds.
            loaded = Some((&recipe.data, load(recipe).map_err(|e| e.within(&within))?));
        }
        let Some((_, data)) = &loaded else { continue };
        let plan = Plan::new(recipe, data.train.n, &data.encoder).map_err(|e| e.within(&within))?;
        needs.bytes = needs.bytes.max(bytes_of(&plan, data)?);
        if let Some(weights) = &recipe.net.weights
            && let Err(e) = std::fs::File::open(weights)
        {
            return Err(crate::error::Error::io(weights, "read", &e).within(&within));
        }
        if !devices.contains(&recipe.device.as_str()) {
            devices.push(&recipe.device);
            needs.cpu &= Device::open(&recipe.device).map_err(|e| e.within(&within))?.is_cpu();
        }
    }
    Ok(needs)
}

/// Bytes of a training process: the program's buffers; weights on the host (best, checkpoint, its file, each with the
/// optimizer's state); rows as they were read and as they are trained on.
fn bytes_of(plan_: &Plan, data: &Loaded) -> Result<u64> {
    let recorded = plan_.setup.record_training(u64::MAX)?;
    let buffers = 4 * plan(&recorded.program).elements() as u64;
    let weights = recorded.program.info(recorded.weights).len as u64 * 4;
    let copies = 4 + 2 * recorded.optimizer.len() as u64;
    let rows = [&data.train, &data.validation, &data.test];
    let bytes = rows.iter().map(|d| 8 * (d.x.len() + d.target.len()) as u64 + d.bytes.len() as u64).sum::<u64>();
    Ok(PROCESS + buffers + copies * weights + 2 * bytes)
}

/// How many runs go side by side, and what decided it: `cores`, the memory that is free, or a GPU, which one run fills.
pub fn jobs(needs: &Needs, cores: usize, todo: usize) -> (usize, &'static str) {
    let by_memory = memory::usable().map_or(usize::MAX, |free| (free / needs.bytes.max(1)) as usize).max(1);
    let (most, why) = match needs.cpu {
        false => (1, "on one GPU"),
        true if by_memory < cores => (by_memory, "by memory"),
        true => (cores, "by cores"),
    };
    (most.min(todo.max(1)), why)
}
