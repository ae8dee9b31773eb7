//! What each command does to the trainings. A start that cannot be leaves what was there as it is.

use super::Body;
use crate::base::clock::Instant;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::live::slot::TrainerSlot;
use crate::live::worker::{Command, Keep, WorkerEvent, WorkerState, kept_in};
use crate::recipe::Recipe;
use crate::workflow::Training;
use std::path::{Path, PathBuf};

impl Body {
    pub(super) fn obey(&mut self, command: Command) -> Result<()> {
        self.allows(&command)?;
        match command {
            Command::Start { recipes, keep, running } => {
                if let Err(e) = self.start(&recipes, keep, running) {
                    self.refuse(e);
                }
            }
            Command::Aside(number) => self.aside = Some(number),
            Command::BringBack { number, recipes, keep } => {
                let done = match self.shelf.take(number) {
                    Some((slots, running)) => self.take_over(slots, keep, running),
                    None => self.start(&recipes, keep, true),
                };
                if let Err(e) = done {
                    self.refuse(e);
                }
            }
            Command::Resume { path, more, report, running } => {
                if let Err(e) = self.resume(&path, more, report, running) {
                    self.refuse(e);
                }
            }
            Command::Run => self.set_running(true),
            Command::Pause => {
                if self.state == WorkerState::Running {
                    self.set_running(false);
                }
                self.save()?;
            }
            Command::Step(n) => {
                self.set_running(true);
                self.steps_left = Some(n);
            }
            Command::GoOn { from } => self.go_on(from)?,
            Command::ComeBack => self.come_back()?,
            Command::Stop => {
                let save = |l: &mut TrainerSlot| l.training.save().and_then(|()| l.training.mark_stopped());
                let saved = self.slots.iter_mut().try_for_each(save);
                self.close();
                self.steps_left = None;
                // A full disk is no reason to train on.
                self.set_state(WorkerState::Stopped);
                saved?;
            }
            Command::Reset => {
                let running = self.state == WorkerState::Running;
                let restart = |slot: &mut TrainerSlot| {
                    let recipe = slot.training.recipe.clone();
                    slot.forget();
                    slot.training.restart(&recipe, &slot.device)
                };
                let all = self.slots.iter_mut().try_for_each(restart);
                // Those that restarted are reported even where another could not.
                self.started();
                self.set_running(running);
                all?;
            }
            Command::Change(recipes) => self.change(&recipes)?,
            Command::Pace(pace) => {
                self.pace = pace.filter(|p| p.is_finite() && *p > 0.0);
                (self.allowance, self.allowed_at) = (0.0, Instant::now());
            }
            Command::View(view) => self.view = view,
            Command::Save { slot, path, force } => {
                let n = self.slots.len();
                let Some(training) = self.slots.get_mut(slot).map(|l| &mut l.training) else {
                    let found = format!("there is no number {slot} to save, among {n} from 0 on");
                    return Err(Error::run("training", found, "choose one that is shown"));
                };
                training.report_in(&path, force)?;
                self.tell(WorkerEvent::Saved(path));
            }
        }
        Ok(())
    }

    /// Why a command cannot act, if it cannot.
    fn allows(&self, command: &Command) -> Result<()> {
        let steers = match command {
            Command::Start { .. } | Command::BringBack { .. } | Command::Resume { .. } => return Ok(()),
            Command::Aside(_) | Command::Pace(_) | Command::View(_) => return Ok(()),
            Command::Run | Command::Step(_) | Command::Reset | Command::Change(_) => true,
            Command::GoOn { .. } | Command::ComeBack => true,
            Command::Pause | Command::Stop | Command::Save { .. } => false,
        };
        if self.slots.is_empty() {
            let help = "start one: choose a recipe that can begin";
            return Err(Error::run("training", "there is none", help));
        }
        if steers && self.closed {
            let help = "train again, into a folder of its own";
            return Err(Error::run("training", "this run is over, and its folder complete", help));
        }
        Ok(())
    }

    /// What was there before goes on until all of `recipes` have shown that they can begin.
    fn start(&mut self, recipes: &[Recipe], keep: Option<Keep>, running: bool) -> Result<()> {
        let mut slots = vec![];
        for recipe in recipes {
            let device = self.device(&recipe.device)?;
            slots.push(TrainerSlot::new(Training::new(recipe, &device)?, device));
        }
        self.take_over(slots, keep, running)
    }

    fn refuse(&mut self, e: Error) {
        self.aside = None;
        self.tell(WorkerEvent::Refused(e));
    }

    /// These in place of the present ones, and in their folder.
    fn take_over(&mut self, mut slots: Vec<TrainerSlot>, keep: Option<Keep>, running: bool) -> Result<()> {
        // Two cannot hold one folder.
        let lanes = slots.len();
        let again = keep.as_ref().is_some_and(|k| (0..lanes).any(|i| self.holds(&kept_in(&k.path, i, lanes))));
        if again {
            self.leave();
        }
        if let Some(keep) = &keep {
            for (i, slot) in slots.iter_mut().enumerate() {
                let Err(e) = slot.training.keep_in(&kept_in(&keep.path, i, lanes), keep.force) else { continue };
                if keep.report {
                    // Without a folder it would train for nothing.
                    if again {
                        self.set_state(WorkerState::Empty);
                    }
                    return Err(e);
                }
                self.tell(WorkerEvent::Failed(e));
            }
            // Those of more trainings before would come back with these.
            if lanes > 1 {
                for path in several_in(&keep.path).skip(lanes).collect::<Vec<_>>() {
                    crate::run::RunFolder::open(&path).and_then(|folder| folder.remove_own())?;
                }
            }
        }
        self.replace(slots, running);
        self.report_at_end = keep.is_some_and(|k| k.report);
        Ok(())
    }

    fn resume(&mut self, path: &Path, more: Option<u32>, report: bool, running: bool) -> Result<()> {
        let paths: Vec<PathBuf> = match crate::recipe::is_run(path) {
            true => vec![path.to_path_buf()],
            false => several_in(path).collect(),
        };
        if paths.is_empty() {
            crate::run::RunFolder::open(path)?;
        }
        let again = paths.iter().any(|path| self.holds(path));
        let mut devices = vec![];
        for path in &paths {
            let folder = crate::run::RunFolder::open(path)?;
            devices.push(self.device(&folder.recipe()?.device)?);
        }
        if again {
            self.leave();
        }
        let resumed = paths.iter().zip(devices).map(|(path, device)| {
            Training::resume_with(path, None, more, &device).map(|training| TrainerSlot::new(training, device))
        });
        match resumed.collect::<Result<Vec<_>>>() {
            Ok(slots) => {
                self.replace(slots, running);
                self.report_at_end = report;
                if report && matches!(self.state, WorkerState::Ended(_)) {
                    // Killed while it was tested: there is no step left that would end it.
                    self.end()?;
                }
            }
            Err(e) => {
                if again {
                    self.set_state(WorkerState::Empty);
                }
                return Err(e);
            }
        }
        Ok(())
    }

    /// Whether one of the trainings is kept there.
    fn holds(&self, path: &Path) -> bool {
        self.slots.iter().any(|l| l.training.folder() == Some(path))
    }

    fn replace(&mut self, slots: Vec<TrainerSlot>, running: bool) {
        self.leave();
        self.aside = None;
        self.slots = slots;
        self.started();
        self.set_running(running);
    }

    /// A run that its end completes is over: its folder is free for readers, or to be resumed.
    pub(super) fn close(&mut self) {
        if let (true, Some(slot)) = (self.report_at_end, self.slots.first_mut()) {
            slot.training.let_go();
            self.closed = true;
        }
    }

    fn change(&mut self, recipes: &[Recipe]) -> Result<()> {
        let mut anew = false;
        for (i, recipe) in recipes.iter().enumerate().take(self.slots.len()) {
            if self.slots[i].change(recipe)? {
                anew = true;
                self.tell_started(i);
                continue;
            }
            let report = self.changed(i);
            self.tell(report);
        }
        match self.state {
            // What was changed after the end is trained on at once; so is what had failed and begins anew.
            WorkerState::Ended(_) if self.slots.iter().any(|l| l.training.trainer.ending().is_none()) => {
                self.set_running(true)
            }
            WorkerState::Failed if anew => self.set_running(true),
            _ => {}
        }
        Ok(())
    }

    fn go_on(&mut self, from: Option<u64>) -> Result<()> {
        for i in 0..self.slots.len() {
            let slot = &mut self.slots[i];
            let went = from.map_or(Ok(None), |step| slot.go_back(step))?;
            slot.go_on()?;
            let report = match went {
                Some(step) => self.went_back(i, step),
                None => self.changed(i),
            };
            self.tell(report);
        }
        self.set_running(true);
        Ok(())
    }

    fn come_back(&mut self) -> Result<()> {
        let running = self.state == WorkerState::Running;
        for i in 0..self.slots.len() {
            let Some(step) = self.slots[i].come_back()? else {
                let help = "train on from here, or from another step on the slider";
                return Err(Error::run("training", "what came after this step is kept no longer", help));
            };
            let report = self.went_back(i, step);
            self.tell(report);
        }
        self.set_running(running);
        Ok(())
    }

    fn went_back(&self, i: usize, step: u64) -> WorkerEvent {
        let training = &self.slots[i].training;
        WorkerEvent::WentBack { slot: i, step, event: training.trainer.started(), rows: training.rows.clone() }
    }

    /// A training as it goes on.
    fn changed(&self, i: usize) -> WorkerEvent {
        let slot = &self.slots[i];
        let (recipe, points) = (Box::new(slot.training.recipe.clone()), Box::new(slot.points()));
        WorkerEvent::Changed { slot: i, event: slot.training.trainer.started(), recipe, points }
    }

    fn device(&mut self, choice: &str) -> Result<Device> {
        match &self.device {
            Some((name, device)) if name == choice && !device.is_lost() => Ok(device.clone()),
            _ => {
                let device = Device::open(choice)?;
                self.device = Some((choice.into(), device.clone()));
                Ok(device)
            }
        }
    }

    /// Trainings whose GPU is lost, of which `e` tells, go on on the CPU, and the caller is told. What else is wrong ends them.
    pub(super) fn go_on_or_fail(&mut self, e: Error) {
        let mut from = None;
        for i in 0..self.slots.len() {
            match self.slots[i].leave_gpu() {
                Ok(None) => {}
                Ok(Some(step)) => {
                    from = from.or(Some(step));
                    let report = self.went_back(i, step);
                    self.tell(report);
                }
                Err(e) => return self.fail(e),
            }
        }
        let Some(step) = from else { return self.fail(e) };
        let (lost, help) = (e.fault(), format!("training goes on on the CPU, from step {step}"));
        self.tell(WorkerEvent::Failed(Error::run(&lost.place, &lost.found, help)));
        (self.step_seconds, self.stale) = (0.0, true);
    }

    /// Lets go of the present trainings, with a checkpoint of those that are kept. The caller reports what comes next.
    fn leave(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        match self.aside.take_if(|_| !slots.is_empty() && !self.report_at_end) {
            Some(number) => self.shelf.put(number, slots, self.state == WorkerState::Running),
            None => {
                for mut slot in slots {
                    if let Err(e) = slot.training.stop() {
                        self.tell(WorkerEvent::Failed(e));
                    }
                }
            }
        }
        (self.report_at_end, self.closed) = (false, false);
        self.rows.clear();
        self.steps_left = None;
    }
}

/// The folders of several trainings that are kept in one.
fn several_in(path: &Path) -> impl Iterator<Item = PathBuf> {
    (0..).map(|lane| kept_in(path, lane, 2)).take_while(|path| crate::recipe::is_run(path))
}
