//! Several data sets of equal size trained side by side on the replica axis, such as the splits of one table: one program,
//! `per_set` members per set. Each set stops early by its own validation rows and keeps its own best weights, so that it ends
//! as it would alone; training goes on until the last of them has ended. On the CPU the ended ones rest.

use super::drive::Steps;
use super::evaluate::Window;
use super::event::{EpochRow, Event};
use super::finalize::finalize;
use super::forward::Forward;
use super::held_out::score;
use super::plan::TrainingPlan;
use super::session::Session;
use super::trainer::{Ending, MAX_STEPS};
use crate::base::clock::Instant;
use crate::data::Dataset;
use crate::data::load::Loaded;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::{ModelSpec, Predictive, Trained};
use rayon::prelude::*;

/// Epoch and validation NLL, in the user's unit, of a set's best weights.
pub type Best = (u32, f64);

/// All that a resumed training needs to continue bit-equal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SplitsState {
    pub step: u64,
    /// Weights collected for an average.
    pub snapshots: u32,
    pub seconds: f64,
    /// [S members, P].
    pub weights: Vec<f32>,
    pub best_weights: Vec<f32>,
    pub optimizer: Vec<(String, Vec<f32>)>,
    /// [S]; None before the first evaluation.
    pub best: Vec<Option<Best>>,
}

pub struct Splits {
    plan: TrainingPlan,
    session: Session,
    validation: Forward,
    /// [S].
    target_sd: Vec<f64>,
    y: Vec<Vec<f32>>,
    weights: Vec<Vec<f32>>,
    step: u64,
    snapshots: u32,
    seconds: f64,
    best: Vec<Option<Best>>,
    best_weights: Vec<f32>,
}

impl Splits {
    /// `plan` is that of one set; the sets are numbered from `first_set` on, and member m of set s draws as member
    /// `s * members + m` of a single ensemble would: what a set draws depends on its number, not on its neighbours.
    pub fn new(plan: &TrainingPlan, data: &[&Loaded], first_set: u32, device: &Device) -> Result<Splits> {
        let sizes = |d: &Loaded| (d.train.n, d.validation.n);
        if data.is_empty() || data.iter().any(|d| sizes(d) != sizes(data[0])) {
            let help = "this is a bug of vifo: please report it";
            return Err(Error::run("splits side by side", "none, or of unequal sizes", help));
        }
        let mut plan = plan.clone();
        let per_set = plan.setup.members;
        plan.setup = ModelSpec {
            members: per_set * data.len() as u32,
            first_member: per_set * first_set,
            per_set,
            ..plan.setup.clone()
        };
        let ranges: Vec<_> = data.iter().map(|d| d.encoder.aux_range()).collect();
        let train: Vec<&Dataset> = data.iter().map(|d| &d.train).collect();
        let validation: Vec<&Dataset> = data.iter().map(|d| &d.validation).collect();
        let device = &Session::place(&plan.setup, plan.setup.members as usize, device)?.device;
        let mut session = Session::of_sets(&plan.setup, device, &train, &ranges.iter().collect::<Vec<_>>())?;
        let weights = plan.initial_weights(&train);
        session.start_from(&weights)?;
        Ok(Splits {
            validation: forward(&plan.setup.in_training(), plan.seed, device, &validation)?,
            session,
            target_sd: data.iter().map(|d| d.encoder.target_sd()).collect(),
            y: validation.iter().map(|d| d.y.clone()).collect(),
            weights: validation.iter().map(|d| d.weights.clone()).collect(),
            step: 0,
            snapshots: 0,
            seconds: 0.0,
            best: vec![None; data.len()],
            best_weights: weights,
            plan,
        })
    }

    pub fn state(&mut self) -> Result<SplitsState> {
        Ok(SplitsState {
            step: self.step,
            snapshots: self.snapshots,
            seconds: self.seconds,
            weights: self.session.weights()?,
            best_weights: self.best_weights.clone(),
            optimizer: self.session.optimizer()?,
            best: self.best.clone(),
        })
    }

    pub fn restore(&mut self, state: &SplitsState) -> Result<()> {
        self.session.start_from(&state.weights)?;
        self.session.set_optimizer(&state.optimizer)?;
        (self.step, self.snapshots, self.seconds) = (state.step, state.snapshots, state.seconds);
        self.best.clone_from(&state.best);
        self.best_weights.clone_from(&state.best_weights);
        Ok(())
    }

    /// Whole epochs done.
    pub fn epoch(&self) -> u32 {
        (self.step / u64::from(self.plan.steps_per_epoch())) as u32
    }
    /// Spent in steps and evaluations, of all sets together.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
    /// The plan of all sets together.
    pub fn plan(&self) -> &TrainingPlan {
        &self.plan
    }
    /// Epoch and validation NLL of each set's best weights.
    pub fn best(&self) -> &[Option<Best>] {
        &self.best
    }
    fn ended(&self, best: Option<Best>, epoch: u32) -> bool {
        self.plan.patience > 0 && best.is_some_and(|(at, _)| epoch >= at.saturating_add(self.plan.patience))
    }

    pub fn started(&self) -> Event {
        Event::started(&self.plan, &self.session.device, self.epoch())
    }

    /// None while there is something left to train.
    pub fn ending(&self) -> Option<Ending> {
        match self.best.iter().all(|best| self.ended(*best, self.epoch())) {
            true => Some(Ending::Early),
            false if self.step >= self.plan.total_steps() => Some(Ending::Finished),
            false => None,
        }
    }

    /// Trains to the next evaluation. The row holds means over the sets; its validation NLL is that of the best weights so
    /// far.
    pub fn advance(&mut self) -> Result<EpochRow> {
        let started = Instant::now();
        let before = self.epoch();
        let per_epoch = u64::from(self.plan.steps_per_epoch());
        let next = (before + 1).next_multiple_of(self.plan.train.evaluate_every).min(self.plan.epochs);
        let steps = self.step..u64::from(next) * per_epoch;
        let args: Vec<_> = steps.map(|s| self.plan.counted_args(s, &mut self.snapshots)).collect();
        let wanted: Vec<bool> = self.best.iter().map(|b| !self.ended(*b, before)).collect();
        for args in args.chunks(MAX_STEPS as usize) {
            self.session.run_groups(args, &wanted)?;
        }
        self.step = u64::from(next) * per_epoch;
        let losses = self.session.take_sums_of(|s| wanted[s])?;
        if let Some((step, term)) = losses.bad {
            let found = format!("the {term} is not a finite number");
            return Err(self.plan.diverged(format!("step {step}"), found));
        }
        self.keep_better(&wanted)?;
        self.seconds += started.elapsed().as_secs_f64();
        let args = self.plan.args(self.step.saturating_sub(1));
        let known: Vec<f64> = self.best.iter().flatten().map(|b| b.1).collect();
        Ok(EpochRow {
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
            validation_nll: (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64),
            ..Default::default()
        })
    }

    /// Seconds of a training step; makes three.
    pub fn step_seconds(&mut self) -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let started = Instant::now();
            self.session.run(&[self.plan.args(self.step)])?;
            // Waits for the device.
            self.session.take_sums()?;
            self.step += 1;
            least = least.min(started.elapsed().as_secs_f64());
        }
        Ok(least)
    }

    /// Evaluates the sets that were trained, and keeps weights that are better.
    fn keep_better(&mut self, wanted: &[bool]) -> Result<()> {
        let epoch = self.epoch();
        let now = Trained::plain(self.session.predicting_weights()?, vec![]);
        let (y, weights, sd) = (&self.y, &self.weights, &self.target_sd);
        let scores = self.validation.each(&now, wanted, |s, p| score(&p[0], sd[s], &y[s], &weights[s]).0)?;
        let weights = now.weights;
        let len = weights.len() / self.best.len();
        for (s, nll) in scores.into_iter().enumerate().filter_map(|(s, nll)| Some((s, nll?))) {
            if !nll.is_finite() {
                let found = "the validation negative log-likelihood is not a finite number";
                return Err(self.plan.diverged(format!("epoch {epoch}, data set {s}"), found));
            }
            if self.best[s].is_none_or(|(_, best)| nll < best) {
                self.best[s] = Some((epoch, nll));
                self.best_weights[s * len..(s + 1) * len].copy_from_slice(&weights[s * len..(s + 1) * len]);
            }
        }
        Ok(())
    }

    /// The weights to predict with, [S members, P]: the best ones where early stopping is on and there are rows to judge by,
    /// else the last.
    pub fn final_weights(&mut self) -> Result<Vec<f32>> {
        match self.plan.patience > 0 && self.best.iter().all(Option::is_some) {
            true => Ok(self.best_weights.clone()),
            false => self.session.predicting_weights(),
        }
    }

    /// What to predict with, of all sets one after another: `final_weights`, averaged or with the posterior around them where
    /// the method ends so. `train` = the rows that each set was trained on.
    pub fn finalize(&mut self, train: &[&Dataset], device: &Device) -> Result<Trained> {
        let last = Trained::plain(self.final_weights()?, vec![]);
        if !self.plan.setup.concludes() {
            return Ok(last);
        }
        let state = if self.plan.setup.averages() { self.session.optimizer()? } else { vec![] };
        let (sets, per_set) = (train.len(), self.plan.setup.per_set);
        let one = |s: usize| {
            let plan = TrainingPlan { setup: self.plan.setup.part(s as u32 * per_set, per_set), ..self.plan.clone() };
            let part = |all: &[f32]| all[s * all.len() / sets..(s + 1) * all.len() / sets].to_vec();
            let state: Vec<_> = state.iter().map(|(name, all)| (name.clone(), part(all))).collect();
            finalize(&plan, last.part(s..s + 1, sets), &state, self.snapshots, train[s], device)
        };
        let all: Result<Vec<Trained>> = match device.is_cpu() {
            true => (0..sets).into_par_iter().map(one).collect(),
            false => (0..sets).map(one).collect(),
        };
        Ok(Trained::join(all?))
    }

    /// The predictive distributions, in standardised units, of each set's own rows by what `finalize` gave.
    pub fn predict(&self, trained: &Trained, rows: &[&Dataset], device: &Device) -> Result<Vec<Predictive>> {
        let mut forward = forward(&self.plan.setup, self.plan.seed, device, rows)?;
        let all = forward.each(trained, &vec![true; rows.len()], |_, p| p[0].clone())?;
        Ok(all.into_iter().flatten().collect())
    }
}

/// Predictions of all rows of each set, equally many.
fn forward(setup: &ModelSpec, seed: u32, device: &Device, rows: &[&Dataset]) -> Result<Forward> {
    let windows: Vec<Window> = rows.iter().map(|r| Window { x: r.x.clone(), first: 0 }).collect();
    Forward::new(setup, seed, device, &windows, rows.first().map_or(0, |r| r.n))
}

/// From evaluation to evaluation, whatever number of steps is asked for.
impl Steps for Splits {
    fn started(&self) -> Event {
        self.started()
    }
    fn step(&self) -> u64 {
        self.step
    }
    fn ending(&self) -> Option<Ending> {
        self.ending()
    }
    fn advance(&mut self, _: u64) -> Result<Option<EpochRow>> {
        self.advance().map(Some)
    }
    /// Whoever keeps the state of splits has a place for it.
    fn save_if_due(&mut self) -> Result<bool> {
        Ok(false)
    }
}
