//! Short trainings for tests, and all that a run ends with as bits.

use std::path::Path;
use vifo::data::load::{Loaded, load};
use vifo::exec::Device;
use vifo::recipe::Recipe;
use vifo::train::plan::TrainingPlan;
use vifo::train::{Checkpoint, Ending, EpochRow, Event, Flow, Trainer};

/// A recipe's text as data and plan; `extra` holds one `section.key = value` a line and wins.
pub fn prepare(base: &str, extra: &str) -> (TrainingPlan, Loaded) {
    let mut table = Recipe::parse(base, "test").unwrap_or_else(|e| panic!("{e}"));
    for line in extra.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (key, value) = line.split_once(" = ").expect("key = value");
        vifo::recipe::keys::set(&mut table, key, value, "test").unwrap_or_else(|e| panic!("{e}"));
    }
    let recipe = Recipe::from_table(&table, "test").unwrap_or_else(|e| panic!("{e}"));
    let data = load(&recipe).unwrap_or_else(|e| panic!("{e}"));
    let plan = TrainingPlan::new(&recipe, data.train.n, &data.encoder);
    (plan.unwrap_or_else(|e| panic!("{e}")), data)
}

/// Everything a run ends with, but the time it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub ending: Ending,
    pub epoch: u32,
    pub step: u64,
    pub best: Vec<(u32, u64)>,
    pub weights: Vec<u32>,
    pub running: Vec<u32>,
    pub optimizer: Vec<(String, Vec<u32>)>,
    /// Those that predict.
    pub chosen: Vec<u32>,
}

pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

pub fn outcome(trainer: &mut Trainer, ending: Ending) -> Outcome {
    let c = trainer.checkpoint().expect("a checkpoint");
    Outcome {
        ending,
        epoch: c.epoch,
        step: c.step,
        best: c.best.iter().map(|(epoch, nll)| (*epoch, nll.to_bits())).collect(),
        weights: bits(&c.trained.weights),
        running: bits(&c.trained.running),
        optimizer: c.optimizer.iter().map(|(n, v)| (n.clone(), bits(v))).collect(),
        chosen: bits(&trainer.final_weights().expect("weights").weights),
    }
}

/// Trains to the end; the rows of all evaluations.
pub fn train(plan: &TrainingPlan, data: &Loaded) -> (Outcome, Vec<EpochRow>) {
    let mut trainer = Trainer::new(plan, data, &Device::Cpu).expect("a trainer");
    let mut rows = vec![];
    let ending = trainer.run(|_, event| {
        if let Event::Epoch(row) = event {
            rows.push(row);
        }
        Ok(Flow::Continue)
    });
    let ending = ending.unwrap_or_else(|e| panic!("{e}"));
    (outcome(&mut trainer, ending), rows)
}

pub fn weights(outcome: &Outcome) -> Vec<f32> {
    outcome.weights.iter().map(|b| f32::from_bits(*b)).collect()
}

/// Trains `stop` epochs, saves to bytes, reads them into a new trainer and goes on to the end.
pub fn train_in_two(plan: &TrainingPlan, data: &Loaded, stop: u32) -> Outcome {
    let mut first = Trainer::new(plan, data, &Device::Cpu).expect("a trainer");
    let ending = first.run(|_, event| match event {
        Event::Epoch(row) if row.epoch == stop => Ok(Flow::Stop),
        _ => Ok(Flow::Continue),
    });
    assert_eq!(ending.expect("a run"), Ending::Stopped);
    let layout = plan.setup.layout();
    let bytes = first.checkpoint().and_then(|c| c.to_bytes(&layout)).expect("bytes");
    drop(first);
    let (members, len) = (plan.setup.members as usize, plan.setup.member_len());
    let saved = Checkpoint::from_bytes(&bytes, Path::new("saved"), &layout, members, len).expect("a checkpoint");
    let mut second = Trainer::new(plan, data, &Device::Cpu).expect("a trainer");
    second.restore(&saved).expect("restored");
    assert_eq!(second.epoch(), stop);
    let ending = second.run(|_, _| Ok(Flow::Continue)).expect("a run");
    outcome(&mut second, ending)
}
