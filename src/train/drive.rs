//! The one training loop. The command line and tests drive it to the end, the app some steps at a time; a trainer alone, one
//! with a run folder around it and data sets side by side are all driven by it.

use super::event::{EpochRow, Event};
use super::trainer::{Ending, Flow, MAX_STEPS};
use crate::base::clock::{Duration, Instant};
use crate::error::{Error, Result};
use crate::system::stop;

/// How long a call of `Steps::advance` may take: between two calls a stop is heard.
const MAX_CALL: Duration = Duration::from_millis(250);

/// What the loop drives.
pub trait Steps {
    fn started(&self) -> Event;
    /// Steps made.
    fn step(&self) -> u64;
    /// None while there is something left to train.
    fn ending(&self) -> Option<Ending>;
    /// Runs up to `most` steps, to the next evaluation at the furthest; its row if it was reached.
    fn advance(&mut self, most: u64) -> Result<Option<EpochRow>>;
    /// After an evaluation: writes a checkpoint where one is due. True where it was.
    fn save_if_due(&mut self) -> Result<bool>;
}

/// Carries the loop from call to call.
#[derive(Debug, Clone)]
pub struct Driver {
    /// Steps of one call of `advance`. They change nothing but when a stop is heard.
    steps_per_call: u64,
}

impl Default for Driver {
    fn default() -> Driver {
        Driver { steps_per_call: 1 }
    }
}

impl Driver {
    /// Makes up to `steps` steps and reports to `listen` every evaluation and every checkpoint. The ending, or None where the
    /// steps were made and more are left.
    ///
    /// # Errors
    /// Those of the training, such as a loss that is not finite, and those of `listen`. A stop is no error but an ending.
    pub fn advance_by<S: Steps>(
        &mut self,
        training: &mut S,
        steps: u64,
        listen: &mut dyn FnMut(&mut S, Event) -> Result<Flow>,
    ) -> Result<Option<Ending>> {
        let goal = training.step().saturating_add(steps);
        while training.ending().is_none() && training.step() < goal {
            if stop::requested() {
                return Ok(Some(Ending::Stopped));
            }
            let start = Instant::now();
            let row = match training.advance(self.steps_per_call.min(goal - training.step())) {
                // An evaluation that was broken off: resuming repeats it.
                Err(Error::Stopped(_)) => return Ok(Some(Ending::Stopped)),
                row => row?,
            };
            let Some(row) = row else {
                let short = start.elapsed() < MAX_CALL / 2;
                self.steps_per_call =
                    if short { (2 * self.steps_per_call).min(MAX_STEPS) } else { (self.steps_per_call / 2).max(1) };
                continue;
            };
            let saved = training.save_if_due()?;
            let mut flow = listen(training, Event::Epoch(row))?;
            if saved && listen(training, Event::Checkpoint)? == Flow::Stop {
                flow = Flow::Stop;
            }
            if flow == Flow::Stop {
                return Ok(Some(Ending::Stopped));
            }
        }
        Ok(training.ending())
    }
}

/// Tells `listen` of the start and drives `training` to its end, or to a stop.
///
/// # Errors
/// As `Driver::advance_by`.
pub fn to_the_end<S: Steps>(training: &mut S, listen: &mut dyn FnMut(&mut S, Event) -> Result<Flow>) -> Result<Ending> {
    let started = training.started();
    if listen(training, started)? == Flow::Stop {
        return Ok(Ending::Stopped);
    }
    let mut driver = Driver::default();
    loop {
        if let Some(ending) = driver.advance_by(training, u64::MAX, listen)? {
            return Ok(ending);
        }
    }
}
