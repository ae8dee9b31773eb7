//! The caller's end of a worker thread, and what goes up and down between the two. The caller never waits.

use super::body::Body;
use super::drive::Driver;
use super::picture::{Picture, View};
use super::slot::Points;
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::train::session::Losses;
use crate::train::{Ending, EpochRow, Event};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

pub enum Command {
    /// Trains these side by side, with the same steps each, from step 0.
    Start {
        recipes: Vec<Recipe>,
        keep: Option<Keep>,
        running: bool,
    },
    /// Goes on with a run folder.
    Resume {
        path: PathBuf,
        running: bool,
    },
    Run,
    Pause,
    /// So many steps, then pause.
    Step(u64),
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
#[derive(Debug, Clone, PartialEq)]
pub struct Keep {
    pub path: PathBuf,
    /// Replace what is there.
    pub force: bool,
    /// Test, draw and report at the end.
    pub report: bool,
}

#[derive(Debug, Clone, PartialEq)]
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
    Rows(Vec<(usize, EpochRow)>),
    WorkerState(WorkerState),
    /// A run folder is complete.
    Saved(PathBuf),
    Failed(Error),
    /// A start or a resume that could not be: what was there before goes on.
    Refused(Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Counts looks.
    pub number: u64,
    pub step: u64,
    pub epoch: u32,
    pub steps_per_second: f64,
    pub slots: Vec<SlotSnapshot>,
}

#[derive(Debug, Clone, Default)]
pub struct SlotSnapshot {
    pub picture: Picture,
    /// [curves][band points]: y at the x of the band.
    pub prior: Option<Vec<Vec<f64>>>,
    /// Means since the last row.
    pub losses: Losses,
}

/// The caller's end. Dropping it ends the thread, after a checkpoint of what is kept in a folder.
pub struct Worker {
    commands: Option<SyncSender<Command>>,
    /// Commands that found the channel full.
    backlog: VecDeque<Command>,
    reports: Receiver<WorkerEvent>,
    looks: Receiver<Snapshot>,
    driver: Option<Driver>,
}

impl Worker {
    /// `wake` is called after every report and look.
    pub fn spawn(name: &str, wake: impl Fn() + Send + 'static) -> Result<Worker> {
        let (commands, from_caller) = sync_channel(64);
        let (to_caller, reports) = sync_channel(256);
        let (slot, looks) = sync_channel(1);
        let driver = Some(Driver::start(name, Body::new(from_caller, to_caller, slot, Box::new(wake)))?);
        Ok(Worker { commands: Some(commands), backlog: VecDeque::new(), reports, looks, driver })
    }

    /// Hands a command over without waiting.
    pub fn send(&mut self, command: Command) {
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
        while let (Some(command), Some(commands)) = (self.backlog.pop_front(), &self.commands) {
            if let Err(TrySendError::Full(command)) = commands.try_send(command) {
                self.backlog.push_front(command);
                return;
            }
        }
    }

    /// All reports since the last call.
    pub fn poll(&mut self) -> Vec<WorkerEvent> {
        self.flush();
        if let Some(driver) = &mut self.driver {
            driver.turn();
        }
        let mut all: Vec<WorkerEvent> = self.reports.try_iter().collect();
        if self.driver.as_ref().is_some_and(Driver::has_died) {
            self.driver = None;
            self.commands = None;
            let help = "start again; please report it as a bug of vifo";
            all.push(WorkerEvent::Failed(Error::run("training", "its thread ended without a message", help)));
            all.push(WorkerEvent::WorkerState(WorkerState::Failed));
        }
        all
    }

    /// The latest look, if there is one since the last call.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        self.looks.try_iter().last()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends when the commands' sender is gone.
        self.commands = None;
        self.driver = None;
    }
}
