//! The caller's picture of a worker's trainings: recipes, points, curves and the latest snapshot, kept up to date by `poll`. Plain
//! data that any interface can show.

use super::history::History;
use super::slot::Points;
use super::worker::{Command, Keep, SlotSnapshot, Snapshot, Worker, WorkerEvent, WorkerState};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::view::RunView;
use std::path::PathBuf;

pub struct Group {
    worker: Worker,
    pub slots: Vec<SlotView>,
    pub state: WorkerState,
    pub snapshot: Snapshot,
    /// Earlier snapshots of the training that is shown.
    pub history: History,
    /// Errors and saved folders since the caller last took them.
    pub errors: Vec<Error>,
    pub saved: Vec<PathBuf>,
    /// Counts trainings that began: another one than before is shown.
    pub begun: u64,
    /// Counts everything that may change a drawing.
    pub revision: u64,
    /// The training is a run folder that its end completes: it must not restart in the same place.
    pub kept: bool,
    /// Paused because its page is not in front.
    held: bool,
    /// Recipes that were sent but not yet taken up.
    sent: Option<Vec<Recipe>>,
    /// A start that the worker has not yet reported: what the lanes show is of the training before.
    starting: Option<Starting>,
    /// Where the training that began last is kept.
    folder: Option<Keep>,
}

struct Starting {
    /// None = as a run folder has them.
    recipes: Option<Vec<Recipe>>,
    kept: bool,
}

#[derive(Debug, Clone, Default)]
pub struct SlotView {
    /// As the worker has it.
    pub recipe: Option<Box<Recipe>>,
    pub points: Points,
    pub run: RunView,
    pub notes: Vec<String>,
}

impl Group {
    /// `name` is the thread's; `wake` is called when there is something to poll.
    pub fn new(name: &str, wake: impl Fn() + Send + Sync + 'static) -> Result<Group> {
        Ok(Group {
            worker: Worker::spawn(name, wake)?,
            slots: vec![],
            state: WorkerState::Empty,
            snapshot: Snapshot::default(),
            history: History::default(),
            errors: vec![],
            saved: vec![],
            begun: 0,
            revision: 0,
            kept: false,
            held: false,
            sent: None,
            starting: None,
            folder: None,
        })
    }

    pub fn send(&mut self, command: Command) {
        if let Command::Resume { path, .. } = &command {
            self.folder = Some(Keep { path: path.clone(), force: true, report: false });
        }
        match self.begins_again(&command) {
            Some(Command::Start { recipes, keep, running }) => self.start(recipes, keep, running),
            other => self.worker.send(other.unwrap_or(command)),
        }
    }

    #[cfg(test)]
    pub(super) fn lose(&mut self) {
        self.worker.lose();
    }

    #[cfg(test)]
    pub(super) fn is_lost(&self) -> bool {
        self.worker.is_lost()
    }

    /// What a command becomes where its training died with its thread: a start with what is shown, or from where its folder is.
    fn begins_again(&self, command: &Command) -> Option<Command> {
        if !self.worker.is_lost() || self.slots.is_empty() {
            return None;
        }
        let keep = self.folder.clone();
        let shown = || self.slots.iter().filter_map(|l| l.recipe.as_deref().cloned()).collect();
        let start = |recipes| Command::Start { recipes, keep: keep.clone(), running: true };
        match (command, &keep) {
            (Command::Run | Command::Step(_), Some(keep)) => {
                let (path, report) = (keep.path.clone(), keep.report);
                Some(Command::Resume { path, more: None, report, running: true })
            }
            (Command::Run | Command::Step(_) | Command::Reset, _) => Some(start(shown())),
            (Command::Change(recipes), _) => Some(start(recipes.clone())),
            _ => None,
        }
    }

    pub fn start(&mut self, recipes: Vec<Recipe>, keep: Option<Keep>, running: bool) {
        self.sent = None;
        self.starting =
            Some(Starting { recipes: Some(recipes.clone()), kept: keep.as_ref().is_some_and(|k| k.report) });
        self.folder.clone_from(&keep);
        self.worker.send(Command::Start { recipes, keep, running });
    }

    /// The training that was put aside under `number`, as it was; `recipes` from step 0 where it is there no longer.
    pub fn bring_back(&mut self, number: u64, recipes: Vec<Recipe>, keep: Option<Keep>) {
        self.sent = None;
        self.starting = Some(Starting { recipes: None, kept: false });
        self.folder.clone_from(&keep);
        self.worker.send(Command::BringBack { number, recipes, keep });
    }

    /// Goes on with a run folder to its end, which completes it; for `more` epochs where it has come to one.
    pub fn resume(&mut self, path: PathBuf, more: Option<u32>) {
        self.sent = None;
        self.starting = Some(Starting { recipes: None, kept: true });
        self.folder = Some(Keep { path: path.clone(), force: true, report: true });
        self.worker.send(Command::Resume { path, more, report: true, running: true });
    }

    /// Sends recipes that differ from what the trainings have, and from what was sent last.
    pub fn change(&mut self, recipes: Vec<Recipe>) {
        let have = self.slots.iter().map(|l| l.recipe.as_deref());
        if self.sent.is_none() && have.eq(recipes.iter().map(Some)) {
            return;
        }
        // A change meant for the training before would undo the one that begins.
        if self.starting.is_none() && self.sent.as_ref() != Some(&recipes) {
            self.sent = Some(recipes.clone());
            self.send(Command::Change(recipes));
        }
    }

    /// Whether the last change that was sent is another than `recipe`: it may have been refused.
    pub fn owes(&self, recipe: &Recipe) -> bool {
        self.sent.as_ref().is_some_and(|s| s.first() != Some(recipe))
    }

    /// Pauses training while its page is hidden and resumes it when the page is shown; what was paused by hand stays paused.
    pub fn in_front(&mut self, seen: bool) {
        if !seen && self.is_running() && !self.held {
            self.held = true;
            self.send(Command::Pause);
        } else if seen && std::mem::take(&mut self.held) {
            self.send(Command::Run);
        }
    }

    /// Whether the lanes are those of a training that is about to be replaced.
    pub fn is_starting(&self) -> bool {
        self.starting.is_some()
    }

    pub fn is_running(&self) -> bool {
        self.state == WorkerState::Running
    }

    /// Steps made, as far as is known here: rows may be ahead of the latest snapshot, and a curve must not end beyond the number
    /// beside it.
    pub fn step(&self) -> u64 {
        self.slots.iter().filter_map(|l| l.run.last()).map(|r| r.step).fold(self.snapshot.step, u64::max)
    }

    /// Whole epochs done, as far as is known here.
    pub fn epoch(&self) -> u32 {
        self.slots.iter().filter_map(|l| l.run.last()).map(|r| r.epoch).fold(self.snapshot.epoch, u32::max)
    }

    /// The latest snapshot at one lane; an empty one before the first.
    pub fn slot_snapshot(&self, slot: usize) -> Option<&SlotSnapshot> {
        self.snapshot.slots.get(slot)
    }

    /// Takes in the messages of the worker; true if anything has changed.
    pub fn poll(&mut self) -> bool {
        let mut changed = false;
        for report in self.worker.poll() {
            changed = true;
            self.fold(report);
        }
        if let Some(snapshot) = self.worker.snapshot() {
            changed = true;
            self.snapshot = snapshot;
            self.history.take(&self.snapshot, self.slots.first().map_or(&[], |l| &l.points.train));
        }
        self.revision += u64::from(changed);
        changed
    }

    fn fold(&mut self, report: WorkerEvent) {
        match report {
            WorkerEvent::Started { slot, event, recipe, points, rows, notes, of } => {
                if let Some(starting) =
                    self.starting.take_if(|s| s.recipes.as_ref().is_none_or(|r| r.get(slot) == Some(&*recipe)))
                {
                    self.kept = starting.kept;
                }
                self.begun += 1;
                self.history.clear();
                // Steps of the training before are not this one's.
                (self.snapshot.step, self.snapshot.epoch) = (0, 0);
                // A picture of the training before would lie under the points of this one.
                if let Some(snapshot) = self.snapshot.slots.get_mut(slot) {
                    *snapshot = SlotSnapshot::default();
                }
                self.slots.resize_with(of, SlotView::default);
                let mut run = RunView::default();
                run.fold(&event);
                run.take(&rows);
                self.slots[slot] = SlotView { recipe: Some(recipe), points: *points, run, notes };
            }
            WorkerEvent::Changed { slot, event, points, recipe } => {
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.run.change(&event);
                    (slot.points, slot.recipe) = (*points, Some(recipe));
                }
            }
            WorkerEvent::WentBack { slot, step, event, rows } => {
                (self.snapshot.step, self.snapshot.epoch) = (step, 0);
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.run.rows = rows;
                    slot.run.change(&event);
                }
            }
            WorkerEvent::Rows(rows) => {
                for (slot, row) in rows {
                    if let Some(slot) = self.slots.get_mut(slot) {
                        slot.run.fold(&crate::train::Event::Epoch(row));
                    }
                }
            }
            WorkerEvent::WorkerState(state) => {
                self.state = state;
                if state == WorkerState::Empty {
                    (self.slots, self.snapshot) = (vec![], Snapshot::default());
                    self.history.clear();
                }
            }
            WorkerEvent::Saved(path) => self.saved.push(path),
            WorkerEvent::Failed(error) => self.errors.push(error),
            WorkerEvent::Refused(error) => {
                self.starting = None;
                self.errors.push(error);
            }
        }
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
pub(super) mod tests;
