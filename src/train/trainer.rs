//! The loop: run steps, look at the losses, evaluate, keep the best, stop early. Everything that decides is a function of
//! step numbers and seeds, never of the clock, so that a resumed or repeated run goes the same way.

use super::checkpoint::Checkpoint;
use super::evaluate::Predictor;
use super::event::{EpochRow, Event};
use super::session::Session;
use crate::config::plan::Plan;
use crate::data::load::Loaded;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Predictive;
use crate::metrics;
use crate::ops::StepArgs;
use std::time::Instant;

/// Steps handed to an executor at once: bounds how long a stop request waits.
const MAX_STEPS: u64 = 4096;

/// What the listener wants after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All epochs done.
    Finished,
    /// No better validation NLL for `patience` epochs.
    Early,
    /// The listener said stop.
    Stopped,
}

pub struct Trainer<'a> {
    plan: &'a Plan,
    data: &'a Loaded,
    session: Session,
    validation: Option<Predictor>,
    epoch: u32,
    seconds: f64,
    best: Option<(u32, f64)>,
    /// Weights and running statistics of the best epoch.
    best_weights: Option<(Vec<f32>, Vec<f32>)>,
    started: Instant,
}

impl<'a> Trainer<'a> {
    pub fn new(plan: &'a Plan, data: &'a Loaded, device: &Device) -> Result<Trainer<'a>> {
        let mut session = Session::new(&plan.setup, device, &data.train, &data.encoder.aux_range())?;
        session.set_weights(&plan.setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho))?;
        let validation = if data.validation.n > 0 {
            Some(Predictor::new(&plan.setup, device, plan.seed, data.validation.n)?)
        } else {
            None
        };
        Ok(Trainer {
            plan,
            data,
            session,
            validation,
            epoch: 0,
            seconds: 0.0,
            best: None,
            best_weights: None,
            started: Instant::now(),
        })
    }

    /// Starts from these weights and running statistics of all members instead of random ones.
    pub fn start_from(&mut self, weights: &[f32], running: &[f32]) -> Result<()> {
        self.session.set_weights(weights)?;
        self.session.set_running(running)
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, last: &Checkpoint) -> Result<()> {
        self.session.set_weights(&last.weights)?;
        self.session.set_optimizer(&last.optimizer)?;
        self.epoch = last.epoch;
        self.seconds = last.seconds;
        self.best = last.best;
        self.session.set_running(&last.running)?;
        self.best_weights = last.best_weights.clone();
        Ok(())
    }

    pub fn epoch(&self) -> u32 {
        self.epoch
    }
    pub fn layout(&self) -> crate::net::Layout {
        self.plan.setup.layout()
    }
    pub fn best(&self) -> Option<(u32, f64)> {
        self.best
    }
    fn step(&self) -> u64 {
        u64::from(self.epoch) * u64::from(self.plan.steps_per_epoch())
    }

    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            epoch: self.epoch,
            step: self.step(),
            seconds: self.seconds,
            best: self.best,
            members: self.plan.setup.members as usize,
            weights: self.session.weights()?,
            running: self.session.running()?,
            optimizer: self.session.optimizer()?,
            best_weights: self.best_weights.clone(),
        })
    }

    /// The weights to predict with: the best ones on the validation part where early stopping is on, else the last.
    pub fn final_weights(&mut self) -> Result<(Vec<f32>, Vec<f32>)> {
        match (&self.best_weights, self.plan.patience > 0) {
            (Some(w), true) => Ok(w.clone()),
            _ => Ok((self.session.weights()?, self.session.running()?)),
        }
    }

    /// `final_weights` as a checkpoint without optimizer state.
    pub fn best_checkpoint(&mut self) -> Result<Checkpoint> {
        let (weights, running) = self.final_weights()?;
        let last = self.checkpoint()?;
        let epoch = if self.plan.patience > 0 { self.best.map_or(self.epoch, |b| b.0) } else { self.epoch };
        Ok(Checkpoint {
            weights,
            running,
            optimizer: vec![],
            best_weights: None,
            epoch,
            step: u64::from(epoch) * u64::from(self.plan.steps_per_epoch()),
            ..last
        })
    }

    /// Trains to the end, telling `listen` of every evaluation and every due checkpoint.
    pub fn run(&mut self, mut listen: impl FnMut(&mut Trainer, Event) -> Result<Flow>) -> Result<Ending> {
        let epochs = self.plan.epochs;
        let started = Event::Started {
            device: self.session.device.clone(),
            parameters: self.plan.setup.member_len(),
            first_epoch: self.epoch,
            epochs,
            steps_per_epoch: self.plan.steps_per_epoch(),
        };
        if listen(self, started)? == Flow::Stop {
            return Ok(Ending::Stopped);
        }
        let before = self.seconds;
        self.started = Instant::now();
        let mut last_checkpoint = Instant::now();
        while self.epoch < epochs {
            if self.exhausted() {
                return Ok(Ending::Early);
            }
            let next = (self.epoch + 1).next_multiple_of(self.plan.train.evaluate_every).min(epochs);
            self.advance(next)?;
            self.seconds = before + self.started.elapsed().as_secs_f64();
            let row = self.evaluate()?;
            let mut flow = listen(self, Event::Epoch(row))?;
            if last_checkpoint.elapsed().as_secs_f64() >= self.plan.train.checkpoint_seconds {
                if listen(self, Event::Checkpoint)? == Flow::Stop {
                    flow = Flow::Stop;
                }
                last_checkpoint = Instant::now();
            }
            if flow == Flow::Stop {
                return Ok(Ending::Stopped);
            }
        }
        Ok(if self.exhausted() { Ending::Early } else { Ending::Finished })
    }

    fn exhausted(&self) -> bool {
        let patience = self.plan.patience;
        patience > 0 && self.best.is_some_and(|(epoch, _)| self.epoch >= epoch.saturating_add(patience))
    }

    /// Runs the steps up to the end of epoch `next`.
    fn advance(&mut self, next: u32) -> Result<()> {
        let mut step = self.step();
        let end = u64::from(next) * u64::from(self.plan.steps_per_epoch());
        let mut args: Vec<StepArgs<f64>> = Vec::with_capacity(MAX_STEPS.min(end - step) as usize);
        while step < end {
            let count = MAX_STEPS.min(end - step);
            args.clear();
            args.extend((step..step + count).map(|s| self.plan.args(s)));
            self.session.run(&args)?;
            step += count;
        }
        self.epoch = next;
        Ok(())
    }

    fn evaluate(&mut self) -> Result<EpochRow> {
        let losses = self.session.take_sums()?;
        if let Some((step, term)) = losses.bad {
            return Err(Error::run(
                format!("step {step}"),
                format!("the {term} is not a finite number"),
                self.plan.cure(),
            ));
        }
        let args = self.plan.args(self.step().saturating_sub(1));
        let mut row = EpochRow {
            epoch: self.epoch,
            step: self.step(),
            seconds: self.seconds,
            learning_rate: args.lr,
            loss: losses.nll + args.eta * losses.regularizer + args.eta_aux * losses.auxiliary,
            expected_nll: losses.nll,
            regularizer: losses.regularizer,
            auxiliary: losses.auxiliary,
            validation_nll: None,
            validation_score: None,
        };
        if let Some(predictor) = &mut self.validation {
            let weights = self.session.weights()?;
            let running = self.session.running()?;
            predictor.set_weights(&weights)?;
            predictor.set_running(&running)?;
            let (nll, score) =
                score(&predictor.predict(self.data.validation.inputs())?, self.data, &self.data.validation.y);
            if !nll.is_finite() {
                return Err(Error::run(
                    format!("epoch {}", self.epoch),
                    "the validation negative log-likelihood is not a finite number",
                    self.plan.cure(),
                ));
            }
            (row.validation_nll, row.validation_score) = (Some(nll), Some(score));
            if self.best.is_none_or(|(_, best)| nll < best) {
                self.best = Some((self.epoch, nll));
                self.best_weights = Some((weights, running));
            }
        } else if self.epoch == self.plan.epochs {
            // The loss of a step is that of the weights before it: only a look at the last weights sees the last update.
            let weights = self.session.weights()?;
            if let Some(i) = weights.iter().position(|w| !w.is_finite() || w.abs() > 1e6) {
                return Err(Error::run(
                    format!("step {}", self.step()),
                    format!(
                        "training diverged: weight {} of member {} is {}",
                        i % self.plan.setup.member_len(),
                        i / self.plan.setup.member_len(),
                        weights[i]
                    ),
                    self.plan.cure(),
                ));
            }
        }
        Ok(row)
    }
}

/// NLL and RMSE in the user's unit, or NLL and accuracy; `y` is standardised or holds class indices.
pub fn score(predictive: &Predictive, data: &Loaded, y: &[f32]) -> (f64, f64) {
    match predictive {
        Predictive::Regression(r) => {
            let y: Vec<f64> = y.iter().map(|&v| v as f64).collect();
            let sd = data.encoder.target_sd();
            (r.nll(&y) + sd.ln(), metrics::rmse(&r.mean, &y) * sd)
        }
        Predictive::Classification(c) => {
            let y: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            (metrics::nll(&c.probs, &y, c.k), metrics::accuracy(&c.probs, &y, c.k))
        }
    }
}
