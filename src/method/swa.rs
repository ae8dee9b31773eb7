//! Stochastic weight averaging: the running mean of the weights, one snapshot per epoch from `swa_start` on; batch
//! normalisation's statistics are computed anew for it (MATH.md section 5, SWA).

use super::{Family, Finish, Method, ModelSpec, Trained, Usual};
use crate::data::Task;
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::ops::average::SwaCollect;
use crate::program::{Buf, Builder, Role};
use crate::recipe::{Optimizer, Recipe, Schedule, key};

pub const NAME: &str = "swa";
const MEAN: &str = "swa.mean";

pub struct Swa;

impl Method for Swa {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "SWA"
    }
    fn family(&self) -> Family {
        Family::Single
    }
    fn about(&self) -> &'static str {
        "The mean of the weights along the end of training"
    }
    fn suits(&self, recipe: &Recipe, _task: Task, _targets: u32) -> Result<()> {
        no_patience(recipe)
    }
    fn adapt(&self, recipe: &mut Recipe) {
        own_schedule(recipe);
    }
    fn usual(&self) -> Usual {
        USUAL
    }
    fn collects(&self) -> bool {
        true
    }
    fn record_collect(&self, setup: &ModelSpec, b: &mut Builder, numbers: Buf) -> Vec<(&'static str, Buf)> {
        record_collect(setup, b, numbers)
    }
    fn ends_with(&self) -> Option<&'static str> {
        Some("average of weights")
    }
    fn finalize(&self, finish: Finish) -> Result<Trained> {
        // Before the first snapshot the weights are all there is.
        if finish.snapshots == 0 {
            return Ok(finish.last);
        }
        let mean = Trained::plain(finish.collected(MEAN), vec![]);
        Ok(Trained { running: finish.rows.statistics(&mean)?, ..mean })
    }
    fn collected(&self, setup: &ModelSpec) -> (String, String) {
        ("SWA's mean".into(), format!("lower {} (now {})", key!(method.members).said(), setup.members))
    }
}

/// SGD at a rate that ends constant, to the last epoch.
pub(super) const USUAL: Usual =
    Usual { optimizer: Optimizer::Sgd, schedule: Schedule::Swa, stops_early: false, dropout: 0.0 };

/// Averages are made to the last epoch.
pub(super) fn no_patience(recipe: &Recipe) -> Result<()> {
    match recipe.train.patience {
        Some(patience) if patience > 0 => {
            let found = format!("{patience} with {}, which averages to the last epoch", recipe.method.name);
            Err(Error::usage(key!(train.patience).said(), found, "0", "leave it out"))
        }
        _ => Ok(()),
    }
}

/// They average to the last epoch, at the rate of a schedule of their own.
pub(super) fn own_schedule(recipe: &mut Recipe) {
    (recipe.train.patience, recipe.train.optimizer, recipe.train.schedule) = (None, None, None);
}

/// The average's place in the training state.
fn record_collect(setup: &ModelSpec, b: &mut Builder, weights: Buf) -> Vec<(&'static str, Buf)> {
    let (replicas, count) = (setup.members, setup.member_len() as u32);
    let mean = b.buffer(MEAN, (replicas * count) as usize, Role::State);
    b.push(Op::SwaCollect(SwaCollect { replicas, count }), &[weights], &[mean]);
    vec![(MEAN, mean)]
}
