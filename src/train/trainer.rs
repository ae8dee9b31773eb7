//! One training: run steps, look at the losses, evaluate, keep the best, stop early. Everything that decides is a function of
//! step numbers and seeds, never of the clock, so that a resumed or repeated run is bit-equal.

mod back;
mod lanes;

use super::checkpoint::Checkpoint;
use super::drive::{self, Steps};
use super::event::{EpochRow, Event};
use super::finalize::finalize;
use super::held_out::{self, HeldOut};
use super::plan::TrainingPlan;
use super::pool;
use super::session::{Losses, Session};
use super::variants::Choice;
use crate::base::clock::Instant;
use crate::data::Dataset;
use crate::data::load::Loaded;
use crate::error::Result;
use crate::exec::Device;
use crate::method::{ModelSpec, Trained};
use crate::ops::StepArgs;

/// Steps handed to an executor at once.
pub const MAX_STEPS: u64 = 4096;

/// Name in a checkpoint of the losses since the last evaluation.
const LOSS_SUMS: &str = "loss_sums";

/// What the listener wants after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ending {
    /// All epochs done.
    Finished,
    /// No better validation NLL for `patience` epochs.
    Early,
    /// The listener said stop.
    Stopped,
}

pub struct Trainer {
    plan: TrainingPlan,
    session: Session,
    validation: Option<HeldOut>,
    /// Of each lane; watched, never chosen by. Empty where it is not watched.
    test: Vec<HeldOut>,
    target_sd: f64,
    /// Steps made.
    step: u64,
    /// Place in the schedule, which the plan is asked with. Another than `step` where edited data have given an epoch other
    /// steps, or the schedule has restarted.
    at: u64,
    /// Epochs of the schedules before this one.
    epochs_before: u32,
    /// Weights collected for an average.
    snapshots: u32,
    /// Spent in steps and evaluations.
    seconds: f64,
    /// Epoch and validation NLL of the best weights: of the ensemble, or of each member that holds out rows of its own.
    best: Vec<Option<(u32, f64)>>,
    /// Weights and running statistics of the best epochs.
    best_weights: Option<Trained>,
    /// Which judges' members are still trained.
    wanted: Vec<bool>,
    /// Of the variants, at the end.
    choice: Option<Choice>,
    /// The evaluation of this step is still to be made: a stop broke it off.
    is_due: bool,
    /// Of the next call of the session, for each lane; kept so that no step allocates.
    args: Vec<Vec<StepArgs<f64>>>,
    /// When a checkpoint was last due.
    saved: Instant,
    /// Why it runs where it does, where there was a choice.
    reason: Option<String>,
}

impl Trainer {
    pub fn new(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<Trainer> {
        let mut trainer = Self::without_weights(plan, data, device)?;
        let initial = |lane: &TrainingPlan| lane.initial_weights(&[&data.train]);
        trainer.session.start_from(&plan.lanes().flat_map(initial).collect::<Vec<_>>())?;
        Ok(trainer)
    }

    fn without_weights(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<Trainer> {
        let setups: Vec<&ModelSpec> = plan.lanes().map(|lane| &lane.setup).collect();
        let watched = if plan.train.watch_test { Some(&data.test) } else { None };
        let test = plan.lanes().filter_map(|lane| HeldOut::shared(lane, watched?, device).transpose());
        Ok(Trainer {
            session: Session::of_lanes(&setups, device, &data.train, &data.encoder.aux_range())?,
            validation: match plan.setup.folds {
                0 => HeldOut::shared(plan, &data.validation, device)?,
                _ => Some(HeldOut::own(plan, &data.train, device)?),
            },
            test: test.collect::<Result<_>>()?,
            target_sd: data.encoder.target_sd(),
            plan: plan.clone(),
            step: 0,
            at: 0,
            epochs_before: 0,
            snapshots: 0,
            seconds: 0.0,
            best: vec![None; plan.all_judges()],
            best_weights: None,
            wanted: vec![true; plan.all_judges()],
            choice: None,
            is_due: false,
            args: vec![vec![]; plan.n_lanes()],
            saved: Instant::now(),
            reason: None,
        })
    }

    /// Told with the device at the start.
    pub fn explain(&mut self, reason: Option<String>) {
        self.reason = reason;
    }

    /// Starts from these weights and running statistics of all members, in each lane, instead of random ones.
    pub fn start_from(&mut self, weights: &[f32], running: &[f32]) -> Result<()> {
        self.session.start_from(&weights.repeat(self.plan.n_lanes()))?;
        self.session.set_running(&running.repeat(self.plan.n_lanes()))
    }

    /// Goes on with the same weights and optimizer under another plan, on other rows, or both. The network must be the same;
    /// the best weights so far belong to the data before and are forgotten.
    pub fn rebuild(&mut self, plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<()> {
        let mut next = Self::without_weights(plan, data, device)?;
        next.session.set_weights(&self.session.weights()?)?;
        next.session.set_average(&self.session.predicting_weights()?)?;
        next.session.set_running(&self.session.running()?)?;
        next.session.set_optimizer(&self.session.optimizer()?)?;
        next.seconds = self.seconds;
        // Steps and epochs count what was made. With other rows an epoch has other steps: the same share of it is behind.
        let (before, now) = (u64::from(self.plan.steps_per_epoch()), u64::from(plan.steps_per_epoch()));
        (next.step, next.at, next.epochs_before) = (self.step, self.at * now / before.max(1), self.epochs_before);
        next.snapshots = self.snapshots;
        next.reason = self.reason.take();
        *self = next;
        Ok(())
    }

    /// What changes from step to step, from the next step on: eta, eta_aux (if it was above 0), the prior, the learning
    /// rate, M of the VIFO head. Everything else of `plan` must be as before. The best weights so far were the best of
    /// another objective and are forgotten.
    pub fn update_hyperparameters(&mut self, plan: &TrainingPlan) {
        self.plan = plan.clone();
        self.best.fill(None);
        self.wanted.fill(true);
        (self.best_weights, self.choice) = (None, None);
    }

    /// The schedule restarts with the weights that training would end with; steps and epochs count on.
    pub fn restart_schedule(&mut self) -> Result<()> {
        let weights = self.all_final()?;
        self.session.start_from(&weights.weights)?;
        self.session.set_running(&weights.running)?;
        self.epochs_before = self.epoch();
        self.best.fill(None);
        self.wanted.fill(true);
        (self.at, self.snapshots, self.best_weights, self.is_due, self.choice) = (0, 0, None, false, None);
        Ok(())
    }

    /// Whole epochs done.
    pub fn epoch(&self) -> u32 {
        self.epochs_before.saturating_add((self.at / u64::from(self.plan.steps_per_epoch())) as u32)
    }
    /// Epochs of the schedules before this one.
    pub fn epochs_before(&self) -> u32 {
        self.epochs_before
    }
    /// Steps made.
    pub fn step(&self) -> u64 {
        self.step
    }
    pub fn plan(&self) -> &TrainingPlan {
        &self.plan
    }
    pub fn device(&self) -> &str {
        &self.session.device
    }
    pub fn forms(&self) -> crate::exec::gpu::Forms {
        self.session.forms()
    }
    pub fn layout(&self) -> crate::net::Layout {
        self.plan.setup.layout()
    }
    /// Epoch and validation NLL of the best weights; of members that hold out rows of their own the last such epoch, and the
    /// mean; of the variant that predicts.
    pub fn best(&self) -> Option<(u32, f64)> {
        let known: Option<Vec<_>> = self.best[self.judges_of(self.lead())].iter().copied().collect();
        let known = known?;
        let mean = known.iter().map(|b| b.1).sum::<f64>() / known.len() as f64;
        Some((known.iter().map(|b| b.0).max()?, mean))
    }
    /// Which judges (`ModelSpec::judges`) have seen better weights within `patience` epochs before `epoch`.
    fn hopeful(&self, epoch: u32) -> impl Iterator<Item = bool> + '_ {
        let patience = self.plan.patience;
        let exhausted =
            move |(at, nll): (u32, f64)| nll.is_infinite() || patience > 0 && epoch >= at.saturating_add(patience);
        self.best.iter().map(move |best| !best.is_some_and(exhausted))
    }
    /// The epoch of the last evaluation: what is decided by it does not depend on how many steps are made at a time.
    fn judged_epoch(&self) -> u32 {
        let at = if self.is_due { self.at.saturating_sub(1) } else { self.at };
        let (epoch, every) = ((at / u64::from(self.plan.steps_per_epoch())) as u32, self.plan.train.evaluate_every);
        let is_last = self.at >= self.plan.total_steps() && !self.is_due;
        self.epochs_before.saturating_add(if is_last { epoch } else { epoch / every * every })
    }
    /// Members that hold out rows of their own rest once they have stopped early.
    fn let_rest(&mut self) {
        let wanted: Vec<bool> = self.hopeful(self.judged_epoch()).collect();
        self.wanted = if wanted.len() > 1 && wanted.contains(&true) { wanted } else { vec![true; wanted.len()] };
    }
    /// Weights and running statistics as they predict now, of all lanes one after another: the average of the weights where
    /// one is kept.
    pub fn weights(&mut self) -> Result<Trained> {
        Ok(Trained::plain(self.session.predicting_weights()?, self.session.running()?))
    }
    /// Means over the steps since the last evaluation, of the variant that leads.
    pub fn losses(&mut self) -> Result<Losses> {
        let judges = self.judges_of(self.lead());
        self.session.sums_of(|judge| judges.contains(&judge))
    }

    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        let mut optimizer = self.session.optimizer()?;
        // Between two evaluations the losses so far belong to the state, too.
        let sums = self.session.raw_sums()?;
        if sums.iter().any(|v| *v != 0.0) {
            optimizer.push((LOSS_SUMS.into(), sums));
        }
        Ok(Checkpoint {
            epoch: self.epoch(),
            step: self.step,
            at: self.at,
            epochs_before: self.epochs_before,
            snapshots: self.snapshots,
            seconds: self.seconds,
            best: self.best.iter().copied().collect::<Option<_>>().unwrap_or_default(),
            members: self.plan.all_members(),
            // Those of the last step: training goes on from them.
            trained: Trained::plain(self.session.weights()?, self.session.running()?),
            optimizer,
            best_weights: self.best_weights.clone(),
            is_due: self.is_due,
            variant: String::new(),
        })
    }

    /// The weights to predict with: the best ones on the validation part where early stopping is on, else the last; of the
    /// variant that predicts.
    pub fn final_weights(&mut self) -> Result<Trained> {
        let all = self.all_final()?;
        Ok(self.part(all, self.lead()))
    }

    /// The same of all lanes.
    fn all_final(&mut self) -> Result<Trained> {
        match (&self.best_weights, self.plan.patience > 0) {
            (Some(best), true) => Ok(best.clone()),
            _ => self.weights(),
        }
    }

    /// What to predict with, after the step that some methods end with: `final_weights`, averaged or with the posterior
    /// around them. `train` = the rows that training saw. Where training has come to its end, it chooses among variants.
    pub fn finalize(&mut self, train: &Dataset, device: &Device) -> Result<Trained> {
        self.choose(train, device)?;
        let last = self.final_weights()?;
        if self.ending().is_some() && last.weights.iter().any(|w| !w.is_finite()) {
            // Validation rows may not tell: where a driver's compiler loses a NaN, predictions look like numbers.
            self.expect_finite(&last.weights)?;
        }
        let trained = self.concluded(last, train, device)?;
        pool::adjust(self.lead_plan(), trained, train, device)
    }

    /// The same of the weights as they are now, for a look in the course of training; after its end, of those it ends with.
    pub fn snapshot(&mut self, train: &Dataset, device: &Device) -> Result<Trained> {
        let now = match self.ending() {
            Some(_) => self.final_weights()?,
            None => {
                let all = self.weights()?;
                self.part(all, self.lead())
            }
        };
        self.concluded(now, train, device)
    }

    fn concluded(&mut self, weights: Trained, train: &Dataset, device: &Device) -> Result<Trained> {
        // Only averages are made of what was collected; reading the rest would cost every look of the app.
        let state = if self.plan.setup.averages() { self.session.optimizer()? } else { vec![] };
        finalize(self.lead_plan(), weights, &state, self.snapshots, train, device)
    }

    /// What to predict with, as a checkpoint without optimizer state.
    pub fn best_checkpoint(&mut self, trained: Trained) -> Result<Checkpoint> {
        let last = self.checkpoint()?;
        let epoch = if self.plan.patience > 0 { self.best().map_or(self.epoch(), |b| b.0) } else { self.epoch() };
        let per_epoch = u64::from(self.plan.steps_per_epoch());
        let since = u64::from(last.epoch - epoch.min(last.epoch)) * per_epoch + self.at % per_epoch;
        Ok(Checkpoint {
            trained,
            members: self.plan.setup.members as usize,
            best: last.best.get(self.judges_of(self.lead())).map_or(vec![], <[_]>::to_vec),
            variant: self.lead_plan().variant.clone(),
            optimizer: vec![],
            best_weights: None,
            is_due: false,
            epoch,
            step: if epoch == last.epoch { last.step } else { last.step.saturating_sub(since) },
            ..last
        })
    }

    /// Before the first step: what it runs on and how far it will go.
    pub fn started(&self) -> Event {
        let reason = self.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        let device = format!("{}{reason}", self.session.device);
        let mut event = Event::started(&self.plan, &device, self.epoch());
        if let Event::Started { epochs, .. } = &mut event {
            *epochs = epochs.saturating_add(self.epochs_before);
        }
        event
    }

    /// None while there is something left to train.
    pub fn ending(&self) -> Option<Ending> {
        match !self.hopeful(self.judged_epoch()).any(|hopeful| hopeful) {
            true => Some(Ending::Early),
            false if self.at >= self.plan.total_steps() => Some(Ending::Finished),
            false => None,
        }
    }

    /// Trains to the end, telling `listen` of every evaluation and every due checkpoint.
    pub fn run(&mut self, mut listen: impl FnMut(&mut Trainer, Event) -> Result<Flow>) -> Result<Ending> {
        self.saved = Instant::now();
        drive::to_the_end(self, &mut listen)
    }

    /// Runs up to `most` steps, to the next evaluation at the furthest; its row if it was reached.
    pub fn advance(&mut self, most: u64) -> Result<Option<EpochRow>> {
        let started = Instant::now();
        let per_epoch = u64::from(self.plan.steps_per_epoch());
        let epoch = (self.at / per_epoch) as u32;
        let next = (epoch + 1).next_multiple_of(self.plan.train.evaluate_every).min(self.plan.epochs);
        let end = u64::from(next) * per_epoch;
        let left = if self.is_due { 0 } else { end.saturating_sub(self.at) };
        let count = most.min(MAX_STEPS).min(left);
        let before = self.snapshots;
        for (lane, args) in self.plan.lanes().zip(&mut self.args) {
            self.snapshots = before;
            args.clear();
            for at in self.at..self.at + count {
                args.push(lane.counted_args(at, &mut self.snapshots));
            }
        }
        self.session.run_lanes(&self.args, &self.wanted)?;
        (self.step, self.at) = (self.step + count, self.at + count);
        self.is_due |= self.at == end && count > 0;
        let evaluated = self.is_due.then(|| self.evaluate()).transpose()?;
        if evaluated.is_some() {
            self.session.clear_sums()?;
            self.is_due = false;
            self.let_rest();
        }
        self.seconds += started.elapsed().as_secs_f64();
        Ok(evaluated.map(|row| EpochRow { seconds: self.seconds, ..row }))
    }

    /// The row of the lane that leads of those still trained.
    fn evaluate(&mut self) -> Result<EpochRow> {
        let losses = self.lane_losses()?;
        let last = self.at >= self.plan.total_steps();
        if self.validation.is_none() && self.test.is_empty() && !last {
            return Ok(self.row_of(0, &losses[0]));
        }
        let now = self.weights()?;
        let mut scores = vec![];
        if let Some(validation) = &mut self.validation {
            scores = validation.score(&now, self.target_sd)?;
            self.judge(&scores, &now)?;
        } else if last {
            self.expect_finite(&now.weights)?;
        }
        let shown = self.shown();
        let mut row = self.row_of(shown, &losses[shown]);
        if let Some(scores) = scores.get(self.judges_of(shown)) {
            let (nll, score) = held_out::mean(scores);
            (row.validation_nll, row.validation_score) = (Some(nll), Some(score));
        }
        let now = self.part(now, shown);
        if let Some(test) = self.test.get_mut(shown) {
            let (nll, score) = held_out::mean(&test.score(&now, self.target_sd)?);
            (row.test_nll, row.test_score) = (Some(nll), Some(score));
        }
        Ok(row)
    }

    /// What a lane's losses since the last evaluation say.
    fn row_of(&self, lane: usize, losses: &Losses) -> EpochRow {
        let args = self.plan.lane(lane).args(self.at.saturating_sub(1));
        EpochRow {
            epoch: self.epoch(),
            step: self.step,
            seconds: self.seconds,
            learning_rate: args.lr,
            loss: losses.nll + args.eta * losses.regularizer + args.eta_aux * losses.auxiliary,
            expected_nll: losses.nll,
            regularizer: losses.regularizer,
            auxiliary: losses.auxiliary,
            eta: Some(args.eta),
            eta_aux: Some(args.eta_aux),
            ..Default::default()
        }
    }

    /// Keeps the weights `now` of each judge whose score is its best.
    fn judge(&mut self, scores: &[(f64, f64)], now: &Trained) -> Result<()> {
        let (epoch, judges) = (self.epoch(), scores.len());
        for lane in 0..self.plan.n_lanes() {
            let places = self.judges_of(lane);
            let is_tried = judges == 1 || self.wanted[places.clone()].contains(&true);
            if is_tried && !held_out::mean(&scores[places]).0.is_finite() {
                let found = "the validation negative log-likelihood is not a finite number";
                self.lose(lane, self.plan.lane(lane).diverged(format!("epoch {epoch}"), found))?;
            }
        }
        for (judge, (nll, _)) in scores.iter().enumerate() {
            // One that has stopped may be trained on beside others, but not chosen from any more.
            if self.wanted[judge] && self.best[judge].is_none_or(|(_, best)| *nll < best) {
                self.best[judge] = Some((epoch, *nll));
                let kept = match self.best_weights.take() {
                    Some(kept) => kept,
                    // Those of a lane that was just lost are cleared.
                    None => self.weights()?,
                };
                self.best_weights.insert(kept).take(now, judge, judges);
            }
        }
        Ok(())
    }

    /// The loss of a step is that of the weights before it: only a look at the last weights sees the last update.
    fn expect_finite(&self, weights: &[f32]) -> Result<()> {
        let Some(i) = weights.iter().position(|w| !w.is_finite() || w.abs() > 1e6) else { return Ok(()) };
        let (member, place) = (i / self.plan.setup.member_len(), i % self.plan.setup.member_len());
        let found = format!("training diverged: weight {place} of member {member} is {}", weights[i]);
        Err(self.plan.diverged(format!("step {}", self.step), found))
    }
}

impl Steps for Trainer {
    fn started(&self) -> Event {
        self.started()
    }
    fn step(&self) -> u64 {
        self.step
    }
    fn ending(&self) -> Option<Ending> {
        self.ending()
    }
    fn advance(&mut self, most: u64) -> Result<Option<EpochRow>> {
        self.advance(most)
    }
    /// Alone it has no place to write to: the listener takes the checkpoint.
    fn save_if_due(&mut self) -> Result<bool> {
        let is_due = self.saved.elapsed().as_secs_f64() >= self.plan.train.checkpoint_seconds;
        if is_due {
            self.saved = Instant::now();
        }
        Ok(is_due)
    }
}
