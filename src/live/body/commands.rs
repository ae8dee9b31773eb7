//! What each command does to the trainings. A start that cannot be leaves what was there as it is.

use super::Body;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::live::lane::Lane;
use crate::live::worker::{Command, Keep, Report, State};
use crate::recipe::Recipe;
use crate::workflow::Training;
use std::path::Path;
use std::time::Instant;

impl Body {
    pub(super) fn obey(&mut self, command: Command) -> Result<()> {
        self.allows(&command)?;
        match command {
            Command::Start { recipes, keep, running } => {
                if let Err(e) = self.start(&recipes, keep, running) {
                    self.tell(Report::Refused(e));
                }
            }
            Command::Resume { path, running } => {
                if let Err(e) = self.resume(&path, running) {
                    self.tell(Report::Refused(e));
                }
            }
            Command::Run => self.set_running(true),
            Command::Pause => {
                if self.state == State::Running {
                    self.set_running(false);
                }
                self.save()?;
            }
            Command::Step(n) => {
                self.set_running(true);
                self.steps_left = Some(n);
            }
            Command::Stop => {
                let save = |l: &mut Lane| l.training.save().and_then(|()| l.training.mark_stopped());
                let saved = self.lanes.iter_mut().try_for_each(save);
                self.close();
                self.steps_left = None;
                // A full disk is no reason to train on.
                self.set_state(State::Stopped);
                saved?;
            }
            Command::Reset => {
                let running = self.state == State::Running;
                let restart = |lane: &mut Lane| {
                    let recipe = lane.training.recipe.clone();
                    lane.training.restart(&recipe, &lane.device)
                };
                let all = self.lanes.iter_mut().try_for_each(restart);
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
            Command::Look(look) => self.look = look,
            Command::Save { lane, path, force } => {
                let n = self.lanes.len();
                let Some(training) = self.lanes.get_mut(lane).map(|l| &mut l.training) else {
                    let found = format!("there is no number {lane} to save, among {n} from 0 on");
                    return Err(Error::run("training", found, "choose one that is shown"));
                };
                training.report_in(&path, force)?;
                self.tell(Report::Saved(path));
            }
        }
        Ok(())
    }

    /// Why a command cannot act, if it cannot.
    fn allows(&self, command: &Command) -> Result<()> {
        let steers = match command {
            Command::Start { .. } | Command::Resume { .. } | Command::Pace(_) | Command::Look(_) => return Ok(()),
            Command::Run | Command::Step(_) | Command::Reset | Command::Change(_) => true,
            Command::Pause | Command::Stop | Command::Save { .. } => false,
        };
        if self.lanes.is_empty() {
            let cure = "start one: choose a recipe that can begin";
            return Err(Error::run("training", "there is none", cure));
        }
        if steers && self.closed {
            let cure = "train again, into a folder of its own";
            return Err(Error::run("training", "this run is over, and its folder complete", cure));
        }
        Ok(())
    }

    /// What was there before goes on until all of `recipes` have shown that they can begin.
    fn start(&mut self, recipes: &[Recipe], keep: Option<Keep>, running: bool) -> Result<()> {
        let mut lanes = vec![];
        for recipe in recipes {
            let device = self.device(&recipe.device)?;
            lanes.push(Lane::new(Training::new(recipe, &device)?, device));
        }
        // Two cannot hold one folder.
        let again = keep.as_ref().is_some_and(|k| self.holds(&k.path));
        if again {
            self.leave();
        }
        if let (Some(keep), Some(lane)) = (&keep, lanes.first_mut())
            && let Err(e) = lane.training.keep_in(&keep.path, keep.force)
        {
            if keep.report {
                // Without a folder it would train for nothing.
                if again {
                    self.set_state(State::Empty);
                }
                return Err(e);
            }
            self.tell(Report::Failed(e));
        }
        self.replace(lanes, running);
        self.report_at_end = keep.is_some_and(|k| k.report);
        Ok(())
    }

    fn resume(&mut self, path: &Path, running: bool) -> Result<()> {
        let folder = crate::run::RunFolder::open(path)?;
        let device = self.device(&folder.recipe()?.device)?;
        let again = self.holds(path);
        if again {
            self.leave();
        }
        match Training::resume(path, &device) {
            Ok(training) => self.replace(vec![Lane::new(training, device)], running),
            Err(e) => {
                if again {
                    self.set_state(State::Empty);
                }
                return Err(e);
            }
        }
        Ok(())
    }

    /// Whether one of the trainings is kept there.
    fn holds(&self, path: &Path) -> bool {
        self.lanes.iter().any(|l| l.training.folder() == Some(path))
    }

    fn replace(&mut self, lanes: Vec<Lane>, running: bool) {
        self.leave();
        self.lanes = lanes;
        self.started();
        self.set_running(running);
    }

    /// A run that its end completes is over: its folder is free for readers, or to be resumed.
    pub(super) fn close(&mut self) {
        if let (true, Some(lane)) = (self.report_at_end, self.lanes.first_mut()) {
            lane.training.let_go();
            self.closed = true;
        }
    }

    fn change(&mut self, recipes: &[Recipe]) -> Result<()> {
        let mut anew = false;
        for (i, recipe) in recipes.iter().enumerate().take(self.lanes.len()) {
            if self.lanes[i].change(recipe)? {
                anew = true;
                self.tell_started(i);
                continue;
            }
            let lane = &self.lanes[i];
            let (recipe, points) = (Box::new(lane.training.recipe.clone()), Box::new(lane.points()));
            let event = lane.training.trainer.started();
            self.tell(Report::Changed { lane: i, event, recipe, points });
        }
        match self.state {
            // What was changed after the end is trained on at once; so is what had failed and begins anew.
            State::Ended(_) if self.lanes.iter().any(|l| l.training.trainer.ending().is_none()) => {
                self.set_running(true)
            }
            State::Failed if anew => self.set_running(true),
            _ => {}
        }
        Ok(())
    }

    fn device(&mut self, choice: &str) -> Result<Device> {
        match &self.device {
            Some((name, device)) if name == choice => Ok(device.clone()),
            _ => {
                let device = Device::open(choice)?;
                self.device = Some((choice.into(), device.clone()));
                Ok(device)
            }
        }
    }

    /// Lets go of the present trainings, with a checkpoint of those that are kept. The caller reports what comes next.
    fn leave(&mut self) {
        for mut lane in std::mem::take(&mut self.lanes) {
            if let Err(e) = lane.training.stop() {
                self.tell(Report::Failed(e));
            }
        }
        (self.report_at_end, self.closed) = (false, false);
        self.rows.clear();
        self.steps_left = None;
    }
}
