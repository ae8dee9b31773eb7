//! Several plans in one training: the variants of a recipe. What is trained of each is a lane; a training without variants has
//! one. Members, judges and weights stand lane by lane.

use super::Trainer;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Trained;
use crate::train::plan::TrainingPlan;
use crate::train::session::Losses;
use crate::train::variants::{Choice, choose};
use std::ops::Range;

impl Trainer {
    /// The plan of what predicts: of the chosen variant, until then of the one that leads; without variants the plan.
    pub fn lead_plan(&self) -> &TrainingPlan {
        self.plan.lane(self.lead())
    }

    /// Which variant predicts, and why; None before the end, and without variants.
    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// Places of a lane's judges among all.
    pub(super) fn judges_of(&self, lane: usize) -> Range<usize> {
        let each = self.plan.setup.judges();
        lane * each..(lane + 1) * each
    }

    /// The lane that predicts as things stand.
    pub(super) fn lead(&self) -> usize {
        self.choice.as_ref().map_or_else(|| self.leading(|_| true), |choice| choice.chosen)
    }

    /// The best of the lanes that are still trained: what the learning curve shows.
    pub(super) fn shown(&self) -> usize {
        self.leading(|lane| self.wanted[self.judges_of(lane)].contains(&true))
    }

    /// The first of `lanes` whose best weights have the least NLL, on average over its judges.
    fn leading(&self, lanes: impl Fn(usize) -> bool) -> usize {
        let mean = |lane: usize| {
            let best: Option<Vec<f64>> = self.best[self.judges_of(lane)].iter().map(|b| b.map(|b| b.1)).collect();
            best.map(|best| best.iter().sum::<f64>() / best.len().max(1) as f64)
        };
        let known = (0..self.plan.n_lanes()).filter(|lane| lanes(*lane)).filter_map(|lane| Some((lane, mean(lane)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(lane, _)| lane)
    }

    /// Weights of one lane, of those of all.
    pub(super) fn part(&self, all: Trained, lane: usize) -> Trained {
        match self.plan.n_lanes() {
            1 => all,
            of => all.part(lane..lane + 1, of),
        }
    }

    /// Losses of each lane since the last evaluation. One that is no number takes its lane out, and is an error where no
    /// other is left.
    pub(super) fn lane_losses(&mut self) -> Result<Vec<Losses>> {
        let each = self.plan.setup.judges();
        let mut all = vec![];
        for lane in 0..self.plan.n_lanes() {
            let wanted = &self.wanted;
            let losses = self.session.sums_of(|judge| judge / each == lane && wanted[judge])?;
            if let Some((at, term)) = losses.bad {
                let step = (self.step + at).saturating_sub(self.at);
                let found = format!("the {term} is not a finite number");
                self.lose(lane, self.plan.lane(lane).diverged(format!("step {step}"), found))?;
            }
            all.push(losses);
        }
        Ok(all)
    }

    /// Whether a lane has broken off.
    fn is_lost(&self, lane: usize) -> bool {
        self.best[self.judges_of(lane)].iter().any(|best| best.is_some_and(|(_, nll)| nll.is_infinite()))
    }

    /// Takes a lane out of the training, or gives back the error where it is the last. Its judges' best NLL is infinite from
    /// now on, which a checkpoint keeps.
    pub(super) fn lose(&mut self, lane: usize, why: Error) -> Result<()> {
        let of = self.plan.n_lanes();
        if (0..of).all(|other| other == lane || self.is_lost(other)) {
            return Err(why);
        }
        let (epoch, judges) = (self.epoch(), self.judges_of(lane));
        self.best[judges.clone()].fill(Some((epoch, f64::INFINITY)));
        self.wanted[judges].fill(false);
        // A checkpoint holds no value that is no number.
        let clear = |all: &mut [f32]| {
            let each = all.len() / of;
            all[lane * each..(lane + 1) * each].fill(0.0);
        };
        let (mut weights, mut running) = (self.session.weights()?, self.session.running()?);
        let (mut average, mut optimizer) = (self.session.predicting_weights()?, self.session.optimizer()?);
        clear(&mut weights);
        clear(&mut average);
        clear(&mut running);
        optimizer.iter_mut().for_each(|(_, values)| clear(values));
        self.session.set_weights(&weights)?;
        self.session.set_average(&average)?;
        self.session.set_running(&running)?;
        self.session.set_optimizer(&optimizer)
    }

    /// At the end of a training with variants, the one that predicts from now on. `train` = the rows that training saw.
    pub(super) fn choose(&mut self, train: &Dataset, device: &Device) -> Result<()> {
        if self.plan.variants.is_empty() || self.choice.is_some() || self.ending().is_none() {
            return Ok(());
        }
        let (all, of) = (self.all_final()?, self.plan.n_lanes());
        let one = |lane: usize| (!self.is_lost(lane)).then(|| all.part(lane..lane + 1, of));
        let trained: Vec<Option<Trained>> = (0..of).map(one).collect();
        self.choice = Some(choose(&self.plan, &trained, (train, self.target_sd), device)?);
        Ok(())
    }
}
