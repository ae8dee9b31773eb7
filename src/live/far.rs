//! A body whose caller is another program: commands and chores come in as bytes, what comes of them goes out as bytes. A page's
//! worker is one.

use super::body::Body;
use super::chore::{Chore, files_of, files_of_run};
use super::worker::{Command, Ends, Snapshot, WorkerEvent};
use crate::base::clock::Duration;
use crate::error::{Error, Result};
use rmp_serde::Serializer;
use rmp_serde::config::BytesMode;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// What comes down at once.
#[derive(Debug, Serialize, Deserialize)]
pub enum Down {
    Commands(Vec<Command>),
    Chore { name: String, bytes: Vec<u8> },
}

/// Of a chore's name and bytes: the bytes of its result, or of its error.
pub type Work = fn(&str, &[u8]) -> Result<Vec<u8>>;

/// `Work` for one kind of chore.
///
/// # Errors
/// None but for a bug.
pub fn worked<C: Chore>(bytes: &[u8]) -> Result<Vec<u8>> {
    let done: Result<C::Done> = decoded::<C>(bytes)?.work();
    encoded(&done)
}

/// What goes up at once from trainings.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Up {
    pub events: Vec<WorkerEvent>,
    pub look: Option<Snapshot>,
}

fn broken(e: &dyn std::fmt::Display) -> Error {
    Error::run("training", format!("a message that cannot be read: {e}"), "please report it as a bug of vifo")
}

/// Numbers keep their bits; what a recipe leaves out is left out.
///
/// # Errors
/// None but for a bug.
pub fn encoded(what: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    // Pixels as they are, not number by number.
    let mut to = Serializer::new(&mut bytes).with_struct_map().with_bytes(BytesMode::ForceIterables);
    what.serialize(&mut to).map_err(|e| broken(&e))?;
    Ok(bytes)
}

/// # Errors
/// None but for a bug.
pub fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    rmp_serde::from_slice(bytes).map_err(|e| broken(&e))
}

/// The files and folders that a command may read or write there.
pub fn paths_of(command: &Command) -> Vec<PathBuf> {
    match command {
        Command::Start { recipes, keep, .. } | Command::BringBack { recipes, keep, .. } => {
            let kept = keep.as_ref().map(|k| k.path.clone());
            recipes.iter().flat_map(files_of).chain(kept).collect()
        }
        Command::Change(recipes) => recipes.iter().flat_map(files_of).collect(),
        Command::Resume { path, .. } => files_of_run(path),
        Command::Save { path, .. } => vec![path.clone()],
        _ => vec![],
    }
}

pub struct Far {
    body: Body,
    commands: SyncSender<Command>,
    /// Commands that found the channel full.
    backlog: VecDeque<Command>,
    reports: Receiver<WorkerEvent>,
    looks: Receiver<Snapshot>,
    work: Work,
    /// Names and bytes.
    chores: VecDeque<(String, Vec<u8>)>,
    /// What has come of them.
    done: VecDeque<Vec<u8>>,
}

impl Far {
    pub fn new(work: Work) -> Far {
        let (commands, from_caller) = sync_channel(64);
        let (to_caller, reports) = sync_channel(256);
        let (slot, looks) = sync_channel(1);
        let body = Body::new(Ends { commands: from_caller, reports: to_caller, looks: slot, wake: Arc::new(|| {}) });
        let (backlog, chores, done) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Far { body, commands, backlog, reports, looks, work, chores, done }
    }

    /// Takes commands or a chore in, for the turns to come.
    ///
    /// # Errors
    /// They are none.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<()> {
        match decoded(bytes)? {
            Down::Commands(commands) => self.backlog.extend(commands),
            Down::Chore { name, bytes } => self.chores.push_back((name, bytes)),
        }
        Ok(())
    }

    /// A chore and one turn of the body, and how long it then rests; None = until there are commands.
    ///
    /// # Errors
    /// There is no such chore.
    pub fn turn(&mut self) -> Result<Option<Duration>> {
        if let Some((name, bytes)) = self.chores.pop_front() {
            self.done.push_back((self.work)(&name, &bytes)?);
        }
        while let Some(command) = self.backlog.pop_front() {
            if let Err(TrySendError::Full(command)) = self.commands.try_send(command) {
                self.backlog.push_front(command);
                break;
            }
        }
        self.body.turn(false);
        let is_idle = self.backlog.is_empty() && self.chores.is_empty();
        Ok(if is_idle { self.body.rest() } else { Some(Duration::ZERO) })
    }

    /// What there is to report. What is not fetched waits, and comes thinned out, as for any caller.
    ///
    /// # Errors
    /// None but for a bug.
    pub fn tell(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(done) = self.done.pop_front() {
            return Ok(Some(done));
        }
        let up = Up { events: self.reports.try_iter().collect(), look: self.looks.try_iter().last() };
        if up.events.is_empty() && up.look.is_none() { Ok(None) } else { encoded(&up).map(Some) }
    }

    /// Lets go of the trainings, with a checkpoint of those that are kept.
    pub fn finish(&mut self) {
        self.body.finish();
    }
}
