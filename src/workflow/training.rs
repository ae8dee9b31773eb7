//! A run in training, and the folder that keeps it. The command line drives it to its end in one loop, the app some steps
//! at a time, with changes in between.

use crate::base::clock::Instant;
use crate::base::counted::counted;
use crate::base::fs;
use crate::base::fs::File;
use crate::data::load::{self, Loaded};
use crate::data::table::Table;
use crate::error::{Error, Result, either};
use crate::exec::{Chosen, Device};
use crate::method::Trained;
use crate::recipe::Recipe;
use crate::run::Fitted;
use crate::run::folder::{Asked, Manifest, RunFolder};
use crate::run::model::Model;
use crate::run::moved;
use crate::run::parts::{BEST, LAST};
use crate::run::place::{absolute, outside_of_the_images, replaceable};
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;
use crate::train::{Checkpoint, Ending, EpochRow, Event, MOST_ROWS, Steps, Trainer, thin, weights};
use crate::train::{memory, pool};
use crate::workflow::budget;
use crate::workflow::far::far_targets;
use crate::workflow::fit::test_and_report;
use std::path::Path;
use std::sync::Arc;

pub struct Training {
    pub recipe: Recipe,
    /// What is fitted is told of the same rows: a table may be large.
    pub data: Arc<Loaded>,
    pub trainer: Trainer,
    pub rows: Vec<EpochRow>,
    device: Device,
    /// The lock lasts as long as this value.
    folder: Option<(RunFolder, File)>,
    /// When the last checkpoint was written.
    saved: Instant,
    /// The folder has another.
    recipe_is_new: bool,
    /// What was changed in the course of it: a fresh run of the recipe would not repeat this one.
    changes: Vec<String>,
    /// What its recipe said where a time has decided.
    asked: Option<Asked>,
}

/// Why what was given a GPU trains on the CPU.
const LOST: &str = "its GPU was lost";

impl Training {
    /// At its first step, with random weights or those of the recipe's file, kept in memory alone.
    pub fn new(recipe: &Recipe, device: &Device) -> Result<Training> {
        Self::of(recipe, load::load(recipe)?, device)
    }

    /// The same of a recipe whose `data.file` is read already, as `table`.
    pub fn of_table(recipe: &Recipe, table: &Table, device: &Device) -> Result<Training> {
        Self::of(recipe, load::load_table(recipe, table)?, device)
    }

    fn of(recipe: &Recipe, mut data: Loaded, device: &Device) -> Result<Training> {
        let asked = Asked::of(recipe);
        let (recipe, said) = budget::settle(recipe, &data, device)?;
        data.notes.extend(said);
        let recipe = &recipe;
        let plan = TrainingPlan::new(recipe, data.train.n, &data.encoder)?;
        data.notes.extend(plan.caveats());
        data.notes.extend(far_targets(recipe, &data));
        let Chosen { mut device, reason } = Session::place(&plan.setup, plan.all_members(), device)?;
        data.notes.extend(memory::check(&plan, &data, &device)?);
        let mut trainer = match (Trainer::new(&plan, &data, &device), reason) {
            // Nobody asked for the GPU that cannot do it.
            (Err(Error::Device(fault)), Some(_)) if !device.is_cpu() => {
                device = Device::Cpu;
                let mut trainer = Trainer::new(&plan, &data, &device)?;
                trainer.explain(Some(format!("chosen because the GPU cannot: {}", fault.found)));
                trainer
            }
            (made, reason) => {
                let mut trainer = made?;
                trainer.explain(reason);
                trainer
            }
        };
        if let Some(path) = &recipe.net.weights {
            let bytes = fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
            let setup = &plan.setup;
            let (weights, running) = weights::import(&bytes, path, &setup.layout())?;
            let initial = setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
            let (weights, running) = weights::start_from(setup, &initial, (&weights, &running))?;
            trainer.start_from(&weights, &running)?;
        }
        let recipe = recipe.clone();
        Ok(Training {
            recipe,
            data: Arc::new(data),
            trainer,
            rows: vec![],
            device,
            folder: None,
            saved: Instant::now(),
            recipe_is_new: false,
            changes: vec![],
            asked,
        })
    }

    /// As a run that was stopped or killed left it; its recipe decides everything.
    pub fn resume(path: &Path, device: &Device) -> Result<Training> {
        Self::resume_with(path, None, None, device)
    }

    /// The same, with its data in `file` if that is named. A run that has come to its end goes on for `more` epochs, with the weights
    /// that it ended with and a schedule of its own; steps and epochs count on.
    ///
    /// # Errors
    /// Those of the folder and the data; `more` is 0, or the run has not come to its end. The folder is as it was then.
    pub fn resume_with(path: &Path, file: Option<&Path>, more: Option<u32>, device: &Device) -> Result<Training> {
        let folder = RunFolder::open(path)?;
        let lock = folder.lock()?;
        let mut recipe = folder.recipe()?;
        folder.verify()?;
        if let Some(file) = file {
            moved::replace(&mut recipe.data, file)?;
        }
        moved::expect(&recipe.data, path, &moved::name_it())?;
        let before = folder.manifest()?;
        // Points that were moved while training ran stand on the scale of its first step.
        let data = match &recipe.data.points {
            Some(_) => load::load_on_scale(&recipe, &folder.encoder()?)?,
            None => None,
        };
        let data = data.map_or_else(|| load::load(&recipe), Ok)?;
        if !before.is_of(&data) && recipe.data.points.is_none() {
            return Err(Error::data(
                path.display().to_string(),
                "the data file has changed since this run began",
                "",
                either(
                    "restore the file, name it with --data FILE, or start a new run with `vifo fit`",
                    "restore the file, or start a new run",
                ),
            ));
        }
        device.resume_forms(Some((&before.device, before.kernels)));
        let training = Self::of(&recipe, data, device);
        device.resume_forms(None);
        let mut training = training?;
        (training.changes, training.asked) = (before.changes, before.asked);
        if before.sums.is_empty() {
            Arc::make_mut(&mut training.data).notes.push(Model::WITHOUT_SUMS.into());
        }
        if fs::is_file(folder.last()) {
            let last = Model::checkpoint(&folder, LAST, training.trainer.plan())?;
            training.rows = folder.metrics(u32::MAX)?;
            training.rows.retain(|r| r.step <= last.step);
            training.trainer.restore(&last)?;
        }
        if let Some(more) = more {
            training.go_on(path, more)?;
        }
        training.folder = Some((folder, lock));
        training.tell("training")?;
        Ok(training)
    }

    /// `path` names the run in messages.
    fn go_on(&mut self, path: &Path, more: u32) -> Result<()> {
        if self.trainer.ending().is_none() {
            let help = either("resume it first (`vifo fit --resume` without --more)", "resume it first");
            return Err(Error::usage(path.display().to_string(), "has not come to its end", "", help));
        }
        if more == 0 {
            return Err(Error::usage(
                either("--more", "further epochs"),
                "0 epochs",
                "1 or more",
                "say how many epochs to train on",
            ));
        }
        // No time has decided on these.
        self.asked = None;
        let mut recipe = self.recipe.clone();
        recipe.train.epochs = Some(more);
        // Before anything is changed: such a length may not suit the method.
        TrainingPlan::new(&recipe, self.data.train.n, &self.data.encoder)?;
        let step = self.trainer.step();
        self.trainer.restart_schedule()?;
        self.update_hyperparameters(&recipe)?;
        let after = self.trainer.epoch();
        self.note_change(step, &[format!("continued for {} after epoch {after}", counted(more as usize, "epoch"))]);
        Ok(())
    }

    /// From now on `path` holds the run; nothing is made before it is known to be a fit place.
    pub fn keep_in(&mut self, path: &Path, force: bool) -> Result<()> {
        outside_of_the_images(&self.recipe, path)?;
        if force && fs::exists(path) {
            replaceable(path)?;
            self.folder = None;
            let old = RunFolder { path: path.to_path_buf() };
            let _lock = old.lock()?;
            old.remove_own()?;
        }
        // Where another process is there first, nothing of it is touched: only what is begun here is held here.
        self.folder = Some(RunFolder::begin(path)?);
        let kept = crate::data::load::keep_streams(&mut self.recipe.data, path).and_then(|said| {
            Arc::make_mut(&mut self.data).notes.extend(said);
            self.write_recipe().and_then(|()| self.tell("training"))
        });
        if kept.is_err() {
            self.discard();
        }
        kept
    }

    /// Removes what this run has written, while it still holds the folder.
    pub(crate) fn discard(&mut self) {
        if let Some((folder, _lock)) = self.folder.take() {
            folder.discard();
        }
    }

    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(|f| f.0.path.as_path())
    }

    /// Lets go of the folder: others may write to it from now on, and nothing more of this training comes into it.
    pub fn let_go(&mut self) {
        self.folder = None;
    }

    fn write_recipe(&self) -> Result<()> {
        let Some((folder, _)) = &self.folder else { return Ok(()) };
        folder.write("recipe.toml", absolute(&self.recipe)?.to_toml()?.as_bytes())?;
        folder.write_json("encoder.json", &self.data.encoder)
    }

    /// Writes the manifest; `state` is what a reader may expect in the folder.
    fn tell(&self, state: &str) -> Result<()> {
        let Some((folder, _)) = &self.folder else { return Ok(()) };
        let (vifo, git) = Manifest::version();
        let data = &self.data;
        folder.write_manifest(&mut Manifest {
            vifo,
            git,
            device: self.trainer.device().into(),
            seed: self.recipe.seed,
            data: data.hash.clone(),
            values: data.values.clone(),
            train_rows: data.train.n,
            validation_rows: data.validation.n,
            test_rows: data.test.n,
            state: state.into(),
            notes: data.notes.clone(),
            changes: self.changes.clone(),
            asked: self.asked.clone(),
            epochs_before: self.trainer.epochs_before(),
            relative: moved::relative(&self.recipe, &folder.path),
            kernels: self.trainer.forms(),
            sums: folder.sums(),
            sha256: String::new(),
        })
    }

    /// Up to `most` steps, to the next evaluation at the furthest; its row if it was reached.
    pub fn advance(&mut self, most: u64) -> Result<Option<EpochRow>> {
        let row = self.trainer.advance(most)?;
        self.rows.extend(row);
        thin(&mut self.rows, MOST_ROWS);
        Ok(row)
    }

    /// Writes a checkpoint. `last` comes last and holds all that a resumed run needs: a kill before it leaves the run at the
    /// checkpoint before, and rows of metrics.csv beyond it are cut on resume.
    pub fn save(&mut self) -> Result<()> {
        let Some((folder, _)) = &self.folder else { return Ok(()) };
        let layout = self.trainer.layout();
        if self.recipe_is_new {
            // Only now: a slider that is dragged would write a hundred times, and the checkpoint before is of the recipe before.
            self.write_recipe()?;
            self.tell("training")?;
            self.recipe_is_new = false;
        }
        let metrics = RunFolder::metrics_text(&self.rows);
        let mut parts = vec![("metrics.csv", metrics.into_bytes())];
        // A method that ends with a step of its own has nothing to predict with before it.
        if !self.trainer.plan().setup.concludes() {
            let best = self.trainer.final_weights()?;
            parts.push((BEST, self.trainer.best_checkpoint(best)?.to_bytes(&layout)?));
        }
        let last: Checkpoint = self.trainer.checkpoint()?;
        parts.push((LAST, last.to_bytes(&layout)?));
        folder.write_parts(&parts.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect::<Vec<_>>())?;
        self.saved = Instant::now();
        Ok(())
    }

    /// Leaves the run so that it can be resumed.
    pub fn stop(&mut self) -> Result<Fitted> {
        self.save()?;
        // Sums that the step of some methods at the end would change are reported with it.
        let fitted = self.fitted(Ending::Stopped);
        self.tell("stopped")?;
        self.or_left(fitted)
    }

    /// Where a stop broke off what comes after the last step, the run as it is: it is saved, and resuming repeats the rest.
    fn or_left(&mut self, fitted: Result<Fitted>) -> Result<Fitted> {
        match fitted {
            Err(Error::Stopped(_)) => {
                let trained = self.trainer.final_weights()?;
                Ok(self.of_weights(Ending::Stopped, trained))
            }
            fitted => fitted,
        }
    }

    /// Marks the run in its folder as no longer training.
    pub fn mark_stopped(&self) -> Result<()> {
        self.tell("stopped")
    }

    /// Test, predictions, figures and report of a run that has ended or may go on.
    pub fn report(&mut self) -> Result<Fitted> {
        self.save()?;
        let ending = self.trainer.ending().unwrap_or(Ending::Stopped);
        let tested = self.fitted(ending).and_then(|mut fitted| {
            if let Some((folder, _)) = &self.folder {
                test_and_report(folder, &self.recipe, &mut fitted, &self.device, self.trainer.device())?;
            }
            Ok(fitted)
        });
        let fitted = self.or_left(tested)?;
        self.tell(match fitted.ending {
            Ending::Early => "stopped early",
            Ending::Finished => "finished",
            Ending::Stopped => "stopped",
        })?;
        Ok(fitted)
    }

    /// Takes over what `recipe` changes from step to step; the next step sees it.
    pub fn update_hyperparameters(&mut self, recipe: &Recipe) -> Result<()> {
        let plan = TrainingPlan::new(recipe, self.data.train.n, &self.data.encoder)?;
        self.trainer.update_hyperparameters(&plan);
        (self.recipe, self.recipe_is_new) = (recipe.clone(), true);
        Ok(())
    }

    /// Goes on with the same weights under `recipe`, whose points may be others. They stand on the scale that training began
    /// with, so that the weights keep their meaning. False where the weights do not fit and training restarted.
    pub fn rebuild(&mut self, recipe: &Recipe) -> Result<bool> {
        let points = |r: &Recipe| (r.data.points.clone(), r.data.validation_points.clone());
        let data = match points(recipe) == points(&self.recipe) {
            true => Some(self.data.clone()),
            false => load::load_on_scale(recipe, &self.data.encoder)?.map(Arc::new),
        };
        if let Some(data) = data {
            let plan = TrainingPlan::new(recipe, data.train.n, &data.encoder)?;
            let fits = plan.setup.member_len() == self.trainer.plan().setup.member_len()
                && plan.setup.members == self.trainer.plan().setup.members;
            if fits {
                self.trainer.rebuild(&plan, &data, &self.device)?;
                (self.recipe, self.data, self.recipe_is_new) = (recipe.clone(), data, true);
                return Ok(true);
            }
        }
        let device = self.device.clone();
        self.restart(recipe, &device)?;
        Ok(false)
    }

    /// Goes on from another checkpoint of this training, without rows of what came after it.
    pub fn go_back(&mut self, then: &Checkpoint) -> Result<()> {
        self.trainer.restore(then)?;
        self.rows.retain(|r| r.step <= then.step);
        Ok(())
    }

    /// Goes on on the CPU once its GPU is lost: from the later of `then`, a checkpoint in memory, and that of its folder, or where
    /// there is neither from the first step. Returns the step; what came after it is forgotten.
    pub fn leave_gpu(&mut self, then: Option<&Checkpoint>) -> Result<u64> {
        if self.device.is_cpu() {
            return Ok(self.trainer.step());
        }
        let folder = self.folder.as_ref().map(|(folder, _)| folder).filter(|folder| fs::is_file(folder.last()));
        let saved = folder.map(|folder| Model::checkpoint(folder, LAST, self.trainer.plan())).transpose()?;
        let Some(then) = then.into_iter().chain(&saved).max_by_key(|c| c.step) else {
            self.restart(&self.recipe.clone(), &Device::Cpu)?;
            self.trainer.explain(Some(LOST.into()));
            return Ok(0);
        };
        self.device = Device::Cpu;
        self.trainer = Trainer::new(self.trainer.plan(), &self.data, &self.device)?;
        self.trainer.explain(Some(LOST.into()));
        self.go_back(then)?;
        self.note_change(then.step, &["device".into()]);
        self.tell("training")?;
        Ok(then.step)
    }

    /// Restarts with `recipe`, in the same folder if there is one.
    pub fn restart(&mut self, recipe: &Recipe, device: &Device) -> Result<()> {
        let mut fresh = Self::new(recipe, device)?;
        if let Some((folder, lock)) = self.folder.take() {
            drop(lock);
            fresh.keep_in(&folder.path, true)?;
        }
        *self = fresh;
        Ok(())
    }

    /// Remembers, for the manifest, that these keys were changed while training ran.
    pub fn note_change(&mut self, step: u64, keys: &[String]) {
        const MOST: usize = 100;
        let what = keys.join(", ");
        // A slider that is dragged changes one key a hundred times.
        let same = |c: &String| c.split_once(": ").is_some_and(|(_, w)| w == what);
        if self.changes.last().is_some_and(same) {
            self.changes.pop();
        }
        if self.changes.len() < MOST {
            self.changes.push(format!("step {step}: {what}"));
        }
    }

    /// Writes the run as it is now, with its report, into another folder; this one's own stays.
    pub fn report_in(&mut self, path: &Path, force: bool) -> Result<Fitted> {
        let (own, saved) = (self.folder.take(), self.saved);
        let written = self.keep_in(path, force).and_then(|()| self.report());
        (self.folder, self.saved) = (own, saved);
        written
    }

    fn fitted(&mut self, ending: Ending) -> Result<Fitted> {
        let trained = self.trainer.finalize(&self.data.train, &self.device)?;
        let plan = self.trainer.plan();
        // Only now is known which of several variants predicts.
        if let (Some((folder, _)), true) =
            (&self.folder, plan.setup.concludes() || pool::applies(&plan.setup) || !plan.variants.is_empty())
        {
            let best = self.trainer.best_checkpoint(trained.clone())?.to_bytes(&self.trainer.layout())?;
            folder.write(BEST, &best)?;
        }
        Ok(self.of_weights(ending, trained))
    }

    fn of_weights(&self, ending: Ending, trained: Trained) -> Fitted {
        Fitted {
            out_of_fold: None,
            ending,
            plan: self.trainer.lead_plan().clone(),
            choice: self.trainer.choice().cloned(),
            data: self.data.clone(),
            trained,
            best: self.trainer.best(),
            seconds: self.rows.last().map_or(0.0, |r| r.seconds),
            rows: self.rows.clone(),
            results: None,
        }
    }
}

impl Steps for Training {
    fn started(&self) -> Event {
        self.trainer.started()
    }
    fn step(&self) -> u64 {
        self.trainer.step()
    }
    fn ending(&self) -> Option<Ending> {
        self.trainer.ending()
    }
    fn advance(&mut self, most: u64) -> Result<Option<EpochRow>> {
        self.advance(most)
    }
    fn save_if_due(&mut self) -> Result<bool> {
        let is_due =
            self.folder.is_some() && self.saved.elapsed().as_secs_f64() >= self.recipe.train.checkpoint_seconds;
        if is_due {
            self.save()?;
        }
        Ok(is_due)
    }
}
