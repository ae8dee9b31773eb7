//! Earlier times of a training: going on from them, and looking back at them.

use super::{LOSS_SUMS, Trainer};
use crate::data::Dataset;
use crate::error::Result;
use crate::exec::Device;
use crate::method::{AVERAGE, Trained};
use crate::train::checkpoint::Checkpoint;
use crate::train::finalize::finalize;

impl Trainer {
    /// Goes on from a checkpoint.
    pub fn restore(&mut self, last: &Checkpoint) -> Result<()> {
        self.session.start_from(&last.trained.weights)?;
        self.session.set_optimizer(&last.optimizer)?;
        (self.step, self.at, self.epochs_before) = (last.step, last.at, last.epochs_before);
        self.snapshots = last.snapshots;
        self.seconds = last.seconds;
        // What a later time than this checkpoint's has found is still to come.
        self.best = match last.best.len() == self.best.len() {
            true => last.best.iter().copied().map(Some).collect(),
            false => vec![None; self.best.len()],
        };
        self.choice = None;
        self.session.set_running(&last.trained.running)?;
        self.best_weights = last.best_weights.clone();
        self.is_due = last.is_due;
        self.let_rest();
        match last.optimizer.iter().find(|(name, _)| name == LOSS_SUMS) {
            Some((_, sums)) => self.session.set_raw_sums(sums),
            None => self.session.clear_sums(),
        }
    }

    /// What the weights of an earlier checkpoint of this training predict with.
    pub fn look_back(&self, then: &Checkpoint, train: &Dataset, device: &Device) -> Result<Trained> {
        let mut trained = then.trained.clone();
        if let Some((_, average)) = then.optimizer.iter().find(|(name, _)| name == AVERAGE) {
            trained.weights.clone_from(average);
        }
        let state = if self.plan.setup.averages() { &then.optimizer[..] } else { &[] };
        finalize(self.lead_plan(), self.part(trained, self.lead()), state, then.snapshots, train, device)
    }
}
