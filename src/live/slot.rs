//! One training among those that a worker runs side by side: it is stepped, steered, rebuilt around changed points, looked at
//! and kept in its folder.

use super::change::Effect;
use super::network;
use super::picture::{Painter, Picture, View};
use super::timeline::{Timeline, adapt, bytes};
use super::worker::SlotSnapshot;
use crate::data::encode::{Encoder, Feature, FeatureKind, Scale, Target};
use crate::data::load::Loaded;
use crate::data::{Dataset, Task};
use crate::error::Result;
use crate::exec::Device;
use crate::recipe::Recipe;
use crate::recipe::keys::diff;
use crate::run::prior;
use crate::train::plan::TrainingPlan;
use crate::train::{Checkpoint, Driver, EpochRow};
use crate::workflow::Training;

/// What a training was before it went back to an earlier step.
struct Later {
    /// The step it went back to.
    step: u64,
    now: Checkpoint,
    cut: Timeline,
    rows: Vec<EpochRow>,
}

/// Bytes that all of them may take; the one that was left last is always there.
const MOST_LATER: usize = 64 << 20;

pub struct TrainerSlot {
    pub training: Training,
    pub device: Device,
    pub driver: Driver,
    pub timeline: Timeline,
    /// The last one to be taken back first.
    later: Vec<Later>,
    painter: Painter,
    /// Keys of the variant that `painter` draws, where there are several.
    lead: String,
}

/// The rows of a training on one or two numbers, in the file's units, for a plot: x and y, or x1, x2 and the class.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Points {
    pub task: Option<Task>,
    pub train: Vec<[f64; 3]>,
    pub held_out: Vec<[f64; 3]>,
    /// Names of the inputs and of the target.
    pub inputs: Vec<String>,
    pub target: String,
    /// Unit of the standardised target (`Encoder::target_sd`).
    pub target_sd: f64,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Ranges of the inputs that a picture covers by itself; empty where there is none.
    pub ranges: Vec<(f64, f64)>,
    /// Auxiliary inputs are drawn from these ranges; empty without.
    pub aux: Vec<(f64, f64)>,
}

/// As many as a recipe may hold; of a longer table every so many, for no screen shows more.
const MOST_POINTS: usize = crate::data::points::MAX_POINTS;

impl Points {
    pub fn of(encoder: &Encoder, data: &Loaded, plan: &TrainingPlan) -> Points {
        let ranges = super::picture::ranges(encoder);
        let is_number = |f: &&Feature| matches!(f.kind, FeatureKind::Numeric { .. });
        let scales: Vec<Scale> = encoder.features.iter().filter(is_number).filter_map(|f| f.kind.scale()).collect();
        let rows = |set: &Dataset| -> Vec<[f64; 3]> {
            // Of several targets the first is drawn.
            let y = crate::data::targets_of(&set.of_target(0, encoder.n_targets()));
            let raw = |i: usize, j: usize| scales[j].unscaled(f64::from(set.x[i * set.d + j]));
            let row = |i: usize| match ranges.len() {
                1 => [raw(i, 0), y[i], 0.0],
                _ => [raw(i, 0), raw(i, 1), y[i]],
            };
            let step = set.n.div_ceil(MOST_POINTS).max(1);
            if ranges.is_empty() { vec![] } else { (0..set.n).step_by(step).map(row).collect() }
        };
        let aux = match plan.setup.aux {
            Some(_) if !ranges.is_empty() => {
                let (low, high) = encoder.aux_range();
                let raw = |j: usize, v: f32| scales[j].unscaled(f64::from(v));
                low.iter().zip(&high).enumerate().map(|(j, (l, h))| (raw(j, *l), raw(j, *h))).collect()
            }
            _ => vec![],
        };
        Points {
            task: Some(encoder.task()),
            train: rows(&data.train),
            held_out: rows(&data.validation),
            inputs: encoder.features.iter().map(|f| f.name.clone()).collect(),
            target: encoder.target_name().to_string(),
            target_sd: encoder.target_sd(),
            classes: match &encoder.target {
                Target::Classes { labels, .. } => labels.clone(),
                Target::Regression { .. } => vec![],
            },
            ranges,
            aux,
        }
    }

    /// As a recipe writes them: those to train on, and those held out. A training set that is no picture has none.
    pub fn to_recipe(&self) -> [Vec<Vec<f64>>; 2] {
        // The recipe counts classes by their label where that is a number, as in every toy.
        let label = |c: f64| self.classes.get(c as usize).and_then(|l| l.parse().ok()).unwrap_or(c);
        let row = |p: &[f64; 3]| match self.task {
            Some(Task::Regression) => vec![p[0], p[1]],
            _ => vec![p[0], p[1], label(p[2])],
        };
        [&self.train, &self.held_out].map(|all| all.iter().map(row).collect())
    }
}

impl TrainerSlot {
    pub fn new(training: Training, device: Device) -> TrainerSlot {
        let (driver, painter) = (Driver::default(), Painter::default());
        let (timeline, lead) = (Timeline::default(), String::new());
        TrainerSlot { training, device, driver, timeline, later: vec![], painter, lead }
    }

    /// Keeps this moment if one is due.
    pub fn keep_moment(&mut self) -> Result<()> {
        let trainer = &mut self.training.trainer;
        if self.timeline.is_due(trainer.step()) {
            self.timeline.push(trainer.checkpoint()?);
        }
        Ok(())
    }

    /// Goes back to the moment at `step`, or to the last one before it; its step. None where there is none.
    pub fn go_back(&mut self, step: u64) -> Result<Option<u64>> {
        let Some(then) = self.timeline.at(step) else { return Ok(None) };
        let (step, now, rows) = (then.step, self.training.trainer.checkpoint()?, self.training.rows.clone());
        self.training.go_back(then)?;
        let cut = self.timeline.cut(step);
        self.later.push(Later { step, now, cut, rows });
        while self.later.len() > 1 && self.later_bytes() > MOST_LATER {
            self.later.remove(0);
        }
        Ok(Some(step))
    }

    /// What is kept of before the goings back, in memory.
    pub fn later_bytes(&self) -> usize {
        self.later.iter().map(|l| l.cut.bytes() + bytes(&l.now) + size_of_val(&l.rows[..])).sum()
    }

    /// Takes the last `go_back` back: the training as it stood before; its step. None where that is known no longer.
    pub fn come_back(&mut self) -> Result<Option<u64>> {
        let Some(Later { step, now, cut, rows }) = self.later.pop() else { return Ok(None) };
        self.training.go_back(&now)?;
        self.training.rows = rows;
        self.timeline.put_back(step, cut);
        Ok(Some(now.step))
    }

    /// Other data or another network: no moment of before fits it.
    pub fn forget(&mut self) {
        (self.painter, self.timeline) = (Painter::default(), Timeline::default());
        self.later.clear();
    }

    /// Where its GPU is lost, goes on on the CPU from the last moment that is kept, or from the first step; that step.
    pub fn leave_gpu(&mut self) -> Result<Option<u64>> {
        if !self.device.is_lost() {
            return Ok(None);
        }
        let step = self.training.leave_gpu(self.timeline.at(u64::MAX))?;
        (self.device, self.painter) = (Device::Cpu, Painter::default());
        Ok(Some(step))
    }

    /// After the end: the schedule begins again with the weights that training ended with.
    pub fn go_on(&mut self) -> Result<()> {
        match self.training.trainer.ending() {
            Some(_) => self.training.trainer.restart_schedule(),
            None => Ok(()),
        }
    }

    pub fn points(&self) -> Points {
        Points::of(&self.training.data.encoder, &self.training.data, self.training.trainer.plan())
    }

    /// What the network thinks now, and curves from its prior if they are wanted.
    pub fn snapshot(&mut self, view: &View) -> Result<SlotSnapshot> {
        let Training { trainer, data, .. } = &mut self.training;
        let then = view.look_at.and_then(|step| self.timeline.at(step));
        // Where nothing is drawn, an average or a posterior would be wasted work.
        let now = match (then, super::picture::ranges(&data.encoder).is_empty()) {
            (_, true) => trainer.weights()?,
            (Some(then), _) => trainer.look_back(then, &data.train, &self.device)?,
            (None, _) => trainer.snapshot(&data.train, &self.device)?,
        };
        let plan = trainer.lead_plan().clone();
        // What reads the weights of one variant may not read those of another.
        if self.lead != plan.variant {
            self.painter = Painter::default();
            self.lead.clone_from(&plan.variant);
        }
        let picture = self.painter.paint(&plan, &data.encoder, &self.device, &now, view)?;
        let prior = match (&picture, view.prior) {
            (Picture::Band(band), Some((count, seed))) => {
                prior::curves(&plan, &data.encoder, &now.weights, &self.device, &band.x, count.min(500), seed)?
            }
            _ => None,
        };
        let input = view.input.as_deref();
        Ok(SlotSnapshot {
            picture,
            prior,
            moments: self.timeline.steps(),
            best: self.timeline.best(),
            looks_at: then.map(|then| then.step),
            network: view.network.then(|| network::look(&plan.setup, &data.encoder, &now, input)),
        })
    }

    /// Goes over to `recipe`, with the weights as they are if that is possible. True where it had to restart.
    pub fn change(&mut self, recipe: &Recipe) -> Result<bool> {
        let effect = super::effect_of(&self.training.recipe, recipe);
        let step = self.training.trainer.step();
        let changed = diff(&self.training.recipe, recipe);
        let steps_per_epoch = |t: &Training| u64::from(t.trainer.plan().steps_per_epoch());
        let before = steps_per_epoch(&self.training);
        // What is changed after the end is to be trained on.
        let ended = self.training.trainer.ending().is_some();
        if ended && matches!(effect, Effect::Steers | Effect::Rebuilds) && changed.iter().any(|k| !k.cosmetic) {
            self.training.trainer.restart_schedule()?;
        }
        match effect {
            Effect::Nothing => return Ok(false),
            Effect::Steers => self.training.update_hyperparameters(recipe)?,
            Effect::Rebuilds => {
                self.painter = Painter::default();
                if !self.training.rebuild(recipe)? {
                    self.forget();
                    return Ok(true);
                }
            }
            Effect::Restarts => {
                self.forget();
                if recipe.device != self.training.recipe.device {
                    self.device = Device::open(&recipe.device)?;
                }
                self.training.restart(recipe, &self.device)?;
                return Ok(true);
            }
        }
        if changed.iter().any(|k| !k.cosmetic) {
            let like = self.training.trainer.checkpoint()?;
            let steps = (before, steps_per_epoch(&self.training));
            self.timeline.adapt(&like, steps);
            self.later.retain_mut(|later| {
                later.cut.adapt(&like, steps);
                adapt(&mut later.now, &like, steps)
            });
        }
        let keys: Vec<String> = changed.iter().map(|k| k.path.to_string()).collect();
        self.training.note_change(step, &keys);
        Ok(false)
    }
}
