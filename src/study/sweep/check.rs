//! What can be known before the first run starts: that every recipe fits its data, and how much memory each will take.

use super::grid::SweepRun;
use crate::base::fs;
use crate::data::load::{Loaded, load};
use crate::error::Result;
use crate::exec::Device;
use crate::recipe::Data;
use crate::system::memory;
use crate::train::memory as need;
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;

/// What the runs of a sweep ask of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bytes of the largest run, estimated.
    pub bytes: u64,
    /// None of the runs uses a GPU.
    pub cpu: bool,
}

/// Reads the data of all runs, once where they share it, and plans each run. `go_on` is asked between two runs.
pub fn check(runs: &[&SweepRun], place: &str, go_on: &dyn Fn() -> bool) -> Result<Needs> {
    let mut needs = Needs { bytes: need::PROCESS, cpu: true };
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
        let plan = TrainingPlan::new(recipe, data.train.n, &data.encoder).map_err(|e| e.within(&within))?;
        needs.bytes = needs.bytes.max(need::of_process(&plan, data)?);
        if let Some(weights) = &recipe.net.weights
            && let Err(e) = fs::File::open(weights)
        {
            return Err(crate::error::Error::io(weights, "read", &e).within(&within));
        }
        if !devices.contains(&recipe.device.as_str()) {
            devices.push(&recipe.device);
            let device = Device::open(&recipe.device).map_err(|e| e.within(&within))?;
            needs.cpu &= Session::place(&plan.setup, plan.all_members(), &device)?.device.is_cpu();
        }
    }
    Ok(needs)
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
