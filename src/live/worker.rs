//! The caller's end of a worker thread, and what goes up and down between the two. The caller never waits.

use super::drive::Driver;
use super::network::Network;
use super::picture::{Picture, View};
use super::slot::Points;
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::train::{Ending, EpochRow, Event};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Command {
    /// Trains these side by side, with the same steps each, from step 0.
    Start {
        recipes: Vec<Recipe>,
        keep: Option<Keep>,
        running: bool,
    },
    /// What is in training when the next one takes its place is put aside under this number, as it stands.
    Aside(u64),
    /// Brings back what was put aside under `number`, as it was; where it is there no longer, trains `recipes` from step 0.
    BringBack {
        number: u64,
        recipes: Vec<Recipe>,
        keep: Option<Keep>,
    },
    /// Goes on with a run folder.
    Resume {
        path: PathBuf,
        /// Epochs more, for a run that has come to its end.
        more: Option<u32>,
        /// Test, draw and report at the end.
        report: bool,
        running: bool,
    },
    Run,
    Pause,
    /// So many steps, then pause.
    Step(u64),
    /// Trains on: from the moment at this step, or the last one before it, until `ComeBack`; or from the end, with
    /// a schedule that begins again.
    GoOn {
        from: Option<u64>,
    },
    /// Takes the last going back to an earlier moment back: the training as it stood before.
    ComeBack,
    /// Ends training where it is; what is kept in a folder can be resumed.
    Stop,
    /// Back to step 0 with the recipes as they are now.
    Reset,
    /// These recipes in place of the present ones, with the weights as they are where that is possible.
    Change(Vec<Recipe>),
    /// Steps per second; None = unlimited.
    Pace(Option<f64>),
    View(View),
    /// Writes training `slot` as a whole run with test, figures and report, and goes on.
    Save {
        slot: usize,
        path: PathBuf,
        force: bool,
    },
}

/// Where the first training is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keep {
    /// Of several trainings each has a folder of its own in it: `kept_in`.
    pub path: PathBuf,
    /// Replace what is there.
    pub force: bool,
    /// Test, draw and report at the end.
    pub report: bool,
}

/// The folder of training number `lane` of so many.
pub fn kept_in(path: &Path, lane: usize, lanes: usize) -> PathBuf {
    if lanes == 1 { path.to_path_buf() } else { path.join(lane.to_string()) }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WorkerEvent {
    /// A training starts or restarts: curves so far are of the past.
    Started {
        slot: usize,
        of: usize,
        event: Event,
        recipe: Box<Recipe>,
        points: Box<Points>,
        rows: Vec<EpochRow>,
        notes: Vec<String>,
    },
    /// It goes on, with this recipe and these points.
    Changed {
        slot: usize,
        /// Epochs and their steps, which other points may have changed.
        event: Event,
        recipe: Box<Recipe>,
        points: Box<Points>,
    },
    /// It goes on from another step, with these rows of its curves.
    WentBack {
        slot: usize,
        step: u64,
        event: Event,
        rows: Vec<EpochRow>,
    },
    Rows(Vec<(usize, EpochRow)>),
    WorkerState(WorkerState),
    /// A run folder is complete.
    Saved(PathBuf),
    Failed(Error),
    /// A start or a resume that could not be: what was there before goes on.
    Refused(Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum WorkerState {
    /// Nothing to train.
    #[default]
    Empty,
    Paused,
    Running,
    Ended(Ending),
    /// By command; Reset restarts it.
    Stopped,
    /// An error ended it; Reset restarts it.
    Failed,
}

/// The latest look at all trainings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Counts looks.
    pub number: u64,
    pub step: u64,
    pub epoch: u32,
    pub steps_per_second: f64,
    pub slots: Vec<SlotSnapshot>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SlotSnapshot {
    pub picture: Picture,
    /// [curves][band points]: y at the x of the band.
    pub prior: Option<Vec<Vec<f64>>>,
    /// Steps of the moments that are kept.
    pub moments: Vec<u64>,
    /// The one of them with the lowest held-out NLL.
    pub best: Option<u64>,
    /// The moment that the picture is of; None = as things stand.
    pub looks_at: Option<u64>,
    /// Where it is asked for.
    pub network: Option<Network>,
}

/// Asks the caller for a look at what has come.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// What a body holds of the channels to its caller.
pub struct Ends {
    pub commands: Receiver<Command>,
    pub reports: SyncSender<WorkerEvent>,
    /// Holds one snapshot.
    pub looks: SyncSender<Snapshot>,
    pub wake: Wake,
}

/// The caller's end. Dropping it ends the thread, after a checkpoint of what is kept in a folder.
pub struct Worker {
    name: String,
    wake: Wake,
    /// None where the thread has died: the next training gets another.
    line: Option<Line>,
    /// Commands that found the channel full.
    backlog: VecDeque<Command>,
    /// What was last asked for, which another thread is to be told.
    view: Option<Command>,
    pace: Option<Command>,
}

/// The channels to a thread, and the thread.
struct Line {
    commands: SyncSender<Command>,
    reports: Receiver<WorkerEvent>,
    looks: Receiver<Snapshot>,
    driver: Driver,
}

impl Line {
    fn open(name: &str, wake: Wake) -> Result<Line> {
        let (commands, from_caller) = sync_channel(64);
        let (to_caller, reports) = sync_channel(256);
        let (slot, looks) = sync_channel(1);
        let driver = Driver::start(name, Ends { commands: from_caller, reports: to_caller, looks: slot, wake })?;
        Ok(Line { commands, reports, looks, driver })
    }
}

impl Worker {
    /// `wake` is called after every report and look.
    pub fn spawn(name: &str, wake: impl Fn() + Send + Sync + 'static) -> Result<Worker> {
        let wake: Wake = Arc::new(wake);
        let line = Some(Line::open(name, wake.clone())?);
        Ok(Worker { name: name.into(), wake, line, backlog: VecDeque::new(), view: None, pace: None })
    }

    /// Whether its thread has died, and its trainings with it.
    pub fn is_lost(&self) -> bool {
        self.line.is_none()
    }

    /// As if its thread had died.
    #[cfg(test)]
    pub fn lose(&mut self) {
        self.line = None;
    }

    /// Hands a command over without waiting.
    pub fn send(&mut self, command: Command) {
        match &command {
            Command::View(_) => self.view = Some(command.clone()),
            Command::Pace(_) => self.pace = Some(command.clone()),
            _ => {}
        }
        // What supersedes an earlier command of its kind takes its place.
        let supersedes = matches!(command, Command::Change(_) | Command::View(_) | Command::Pace(_));
        let same = |c: &Command| supersedes && std::mem::discriminant(&command) == std::mem::discriminant(c);
        if self.backlog.back().is_some_and(same) {
            self.backlog.pop_back();
        }
        self.backlog.push_back(command);
        self.flush();
    }

    fn flush(&mut self) {
        if self.line.is_none() {
            // Only what begins a training needs another thread.
            let begins =
                |c: &Command| matches!(c, Command::Start { .. } | Command::BringBack { .. } | Command::Resume { .. });
            self.backlog.retain(begins);
            if self.backlog.is_empty() {
                return;
            }
            self.line = Line::open(&self.name, self.wake.clone()).ok();
            for told in [self.pace.clone(), self.view.clone()].into_iter().flatten() {
                self.backlog.push_front(told);
            }
        }
        let Some(line) = &self.line else { return };
        while let Some(command) = self.backlog.pop_front() {
            if let Err(TrySendError::Full(command)) = line.commands.try_send(command) {
                self.backlog.push_front(command);
                return;
            }
        }
    }

    /// All reports since the last call.
    pub fn poll(&mut self) -> Vec<WorkerEvent> {
        self.flush();
        let Some(line) = &mut self.line else { return vec![] };
        line.driver.turn();
        let mut all: Vec<WorkerEvent> = line.reports.try_iter().collect();
        if let Some(why) = line.driver.has_died() {
            self.line = None;
            let help = "start again, with less where memory ran out; else please report it as a bug of vifo";
            all.push(WorkerEvent::Failed(Error::run("training", why, help)));
            all.push(WorkerEvent::WorkerState(WorkerState::Failed));
        }
        all
    }

    /// The latest look, if there is one since the last call.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        self.line.as_ref()?.looks.try_iter().last()
    }
}
