//! How long training will take: one or two real steps of each kind of run, times the steps that are left.

use super::mapping::Family;
use super::plan::PlannedRun;
use crate::base::clock::Instant;
use crate::data::load::{Loaded, load};
use crate::error::Result;
use crate::exec::Device;
use crate::recipe::NetName;
use crate::study::run_set::RunStatus;
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;

/// What decides the time of a step; regularizers do not.
#[derive(PartialEq)]
struct StepKind {
    network: NetName,
    vi: bool,
    vifo: bool,
    /// Methods of no known family each count for themselves.
    other: Option<&'static str>,
    members: u32,
    aux: bool,
    classes: Option<usize>,
    inputs: usize,
    batch: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Of training alone.
    pub seconds: f64,
    pub steps: u64,
    /// Kinds of runs whose steps were timed.
    pub kinds: usize,
}

/// A step longer than this is timed once, without another to warm up.
const LONG_STEP: f64 = 0.5;

/// Seconds of a training step, ready to go on.
fn step_seconds(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<f64> {
    let mut session = Session::new(&plan.setup, device, &data.train, &data.encoder.aux_range())?;
    session.set_weights(&plan.setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho))?;
    let mut step = |s: u64| -> Result<f64> {
        let start = Instant::now();
        session.run(&[plan.args(s)])?;
        // Waits for the device.
        session.take_sums()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let first = step(0)?;
    if first > LONG_STEP {
        return Ok(first);
    }
    Ok(step(1)?.min(step(2)?))
}

/// `data` of one set after another is read as training will read it: a broken set is found before any training.
/// `go_on` is asked between two measurements.
pub fn estimate(runs: &[&PlannedRun], device: &Device, go_on: &mut dyn FnMut() -> bool) -> Result<Estimate> {
    let mut known: Vec<(StepKind, f64)> = vec![];
    let mut out = Estimate::default();
    let mut loaded: Option<((&str, Option<u32>), Loaded)> = None;
    for run in runs.iter().filter(|r| r.state != RunStatus::Done) {
        if !go_on() {
            break;
        }
        let recipe = run.recipe()?;
        let key = (run.set.name, run.network.fixed_side());
        if loaded.as_ref().is_none_or(|(k, _)| *k != key) {
            loaded = Some((key, load(recipe)?));
        }
        let Some((_, data)) = &loaded else { continue };
        let plan = TrainingPlan::new(recipe, data.train.n, &data.encoder)?;
        let kind = StepKind {
            network: run.network,
            vi: run.method.family == Family::Vi,
            vifo: run.method.family == Family::Vifo,
            other: (run.method.family == Family::Other).then_some(run.method.ours),
            members: run.members,
            aux: run.eta_aux.is_some_and(|e| e > 0.0),
            classes: data.encoder.n_classes(),
            inputs: data.encoder.n_inputs(),
            batch: plan.setup.batch_rows(),
        };
        let seconds = match known.iter().find(|(k, _)| *k == kind) {
            Some((_, seconds)) => *seconds,
            None => {
                let seconds = step_seconds(&plan, data, device)?;
                known.push((kind, seconds));
                seconds
            }
        };
        let done = if let RunStatus::Stopped { epoch } = run.state { epoch } else { 0 };
        let steps = u64::from(plan.epochs.saturating_sub(done)) * u64::from(plan.steps_per_epoch());
        out.steps += steps;
        out.seconds += seconds * steps as f64;
    }
    out.kinds = known.len();
    Ok(out)
}
