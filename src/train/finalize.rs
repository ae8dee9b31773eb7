//! The end of a training: what its method makes of the last weights, given passes over the training rows.

use super::evaluate::{Predictor, recompute_running};
use super::plan::TrainingPlan;
use crate::data::Dataset;
use crate::error::Result;
use crate::exec::Device;
use crate::method::{Chunk, Finish, Rows, Trained};

/// `last` = weights as training left them; `state` = what was collected beside them, of `snapshots` epochs; `train` = the rows
/// it was trained on.
pub fn finalize(
    plan: &TrainingPlan,
    last: Trained,
    state: &[(String, Vec<f32>)],
    snapshots: u32,
    train: &Dataset,
    device: &Device,
) -> Result<Trained> {
    let rows = TrainingRows { plan, train, device };
    plan.setup.method.finalize(Finish { setup: &plan.setup, last, collected: state, snapshots, rows: &rows })
}

struct TrainingRows<'a> {
    plan: &'a TrainingPlan,
    train: &'a Dataset,
    device: &'a Device,
}

impl Rows for TrainingRows<'_> {
    fn data(&self) -> &Dataset {
        self.train
    }

    fn statistics(&self, trained: &Trained) -> Result<Vec<f32>> {
        recompute_running(&self.plan.setup, self.device, trained, self.plan.seed, self.train.inputs())
    }

    fn each_chunk(&self, trained: &Trained, see: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let mut predictor = Predictor::new(&self.plan.setup, self.device, self.plan.seed, self.train.n)?;
        predictor.set(trained)?;
        predictor.each_chunk(self.train.inputs(), see)
    }
}
