//! What the worker's thread does: it owns the trainings, takes a slice of steps of each in turn, and looks for commands between
//! slices.

use super::picture::View;
use super::shelf::Shelf;
use super::slot::TrainerSlot;
use super::speed::Speed;
use super::worker::{Command, Ends, Snapshot, Wake, WorkerEvent, WorkerState};
use crate::base::clock::{Duration, Instant};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::train::{Ending, EpochRow, Event, Flow};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};

mod commands;

/// Seconds of steps between two looks for commands: what a click waits at most, if a single step is shorter.
const SLICE: f64 = 0.012;
/// Largest share of the time that snapshots may take.
const SNAPSHOT_SHARE: f64 = 0.25;
/// Rows that wait for a caller who does not come; beyond, every other one goes.
const MOST_ROWS: usize = 100_000;

pub struct Body {
    commands: Receiver<Command>,
    reports: SyncSender<WorkerEvent>,
    /// Reports that found the channel full.
    outbox: VecDeque<WorkerEvent>,
    rows: Vec<(usize, EpochRow)>,
    /// Holds one snapshot; a newer one takes the place of `waiting` until the caller has fetched it.
    mailbox: SyncSender<Snapshot>,
    waiting: Option<Snapshot>,
    wake: Wake,
    /// As the recipe names it, and opened.
    device: Option<(String, Device)>,
    slots: Vec<TrainerSlot>,
    shelf: Shelf,
    /// Under which number the present trainings are put aside when others take their place.
    aside: Option<u64>,
    report_at_end: bool,
    /// The first training's run is complete, or over: its folder is not this program's any more.
    closed: bool,
    state: WorkerState,
    /// Of a command to step.
    steps_left: Option<u64>,
    pace: Option<f64>,
    /// Steps that the pace allows now.
    allowance: f64,
    allowed_at: Instant,
    /// Of all trainings together, smoothed.
    step_seconds: f64,
    speed: Speed,
    view: View,
    last_snapshot: Instant,
    snapshot_seconds: f64,
    /// Something has changed since the last snapshot.
    stale: bool,
    number: u64,
}

impl Body {
    pub fn new(ends: Ends) -> Body {
        let Ends { commands, reports, looks: mailbox, wake } = ends;
        Body {
            commands,
            reports,
            outbox: VecDeque::new(),
            rows: vec![],
            mailbox,
            waiting: None,
            wake,
            device: None,
            slots: vec![],
            shelf: Shelf::default(),
            aside: None,
            report_at_end: false,
            closed: false,
            state: WorkerState::Empty,
            steps_left: None,
            pace: None,
            allowance: 0.0,
            allowed_at: Instant::now(),
            step_seconds: 0.0,
            speed: Speed::default(),
            view: View::default(),
            last_snapshot: Instant::now(),
            snapshot_seconds: 0.0,
            stale: true,
            number: 0,
        }
    }

    /// Until the caller is gone.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(&mut self) {
        while self.turn(true) {}
        self.finish();
    }

    /// Commands, a slice of steps, a snapshot; may wait where there is nothing to do. False when the caller is gone.
    pub fn turn(&mut self, may_wait: bool) -> bool {
        if !self.take_commands(may_wait) {
            return false;
        }
        if self.state == WorkerState::Running
            && let Err(e) = self.slice()
        {
            self.go_on_or_fail(e);
        }
        self.snapshot_if_due();
        self.deliver();
        true
    }

    /// How long the next turn has nothing to do unless a command comes; None = until then.
    pub fn rest(&mut self) -> Option<Duration> {
        match self.state {
            WorkerState::Running => self.pace_wait(),
            _ if self.stale => Some(Duration::ZERO),
            // What waits for delivery must not wait for a command.
            _ if self.outbox.is_empty() && self.rows.is_empty() && self.waiting.is_none() => None,
            _ => Some(Duration::from_millis(50)),
        }
    }

    pub fn finish(&mut self) {
        for mut slot in self.slots.drain(..) {
            // The window is gone: a full disk can no longer be reported.
            let _ = slot.training.stop();
        }
    }

    /// False when the caller is gone.
    fn take_commands(&mut self, may_wait: bool) -> bool {
        loop {
            let rest = self.rest();
            let wait = if may_wait { rest } else { Some(Duration::ZERO) };
            let command = match wait {
                Some(Duration::ZERO) => match self.commands.try_recv() {
                    Ok(command) => command,
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => return false,
                },
                Some(wait) => match self.commands.recv_timeout(wait) {
                    Ok(command) => command,
                    Err(RecvTimeoutError::Timeout) => return true,
                    Err(RecvTimeoutError::Disconnected) => return false,
                },
                None => match self.commands.recv() {
                    Ok(command) => command,
                    Err(_) => return false,
                },
            };
            self.stale = true;
            if let Err(e) = self.obey(command) {
                self.tell(WorkerEvent::Failed(e));
            }
        }
    }

    fn started(&mut self) {
        for i in 0..self.slots.len() {
            self.tell_started(i);
        }
        self.speed = Speed::default();
        self.step_seconds = 0.0;
    }

    fn tell_started(&mut self, slot: usize) {
        self.rows.retain(|r| r.0 != slot);
        let l = &self.slots[slot];
        let t = &l.training;
        let report = WorkerEvent::Started {
            slot,
            of: self.slots.len(),
            event: t.trainer.started(),
            recipe: Box::new(t.recipe.clone()),
            points: Box::new(l.points()),
            rows: t.rows.clone(),
            notes: t.data.notes.clone(),
        };
        self.tell(report);
    }

    fn set_running(&mut self, running: bool) {
        self.steps_left = None;
        let left = self.slots.iter().any(|l| l.training.trainer.ending().is_none());
        let state = match (running, left) {
            _ if self.slots.is_empty() => WorkerState::Empty,
            (true, true) => WorkerState::Running,
            (false, true) => WorkerState::Paused,
            (_, false) => WorkerState::Ended(self.slots[0].training.trainer.ending().unwrap_or(Ending::Finished)),
        };
        if state == WorkerState::Running {
            (self.allowance, self.allowed_at) = (1.0, Instant::now());
            self.speed = Speed::default();
        }
        self.set_state(state);
    }

    fn set_state(&mut self, state: WorkerState) {
        if state != self.state {
            self.state = state;
            self.tell(WorkerEvent::WorkerState(state));
        }
    }

    fn fail(&mut self, e: Error) {
        self.close();
        self.tell(WorkerEvent::Failed(e));
        self.set_state(WorkerState::Failed);
    }

    fn save(&mut self) -> Result<()> {
        self.slots.iter_mut().try_for_each(|l| l.training.save())
    }

    /// Time until the pace allows a step; zero where it does now.
    fn pace_wait(&mut self) -> Option<Duration> {
        let Some(pace) = self.pace.filter(|_| self.steps_left.is_none()) else { return Some(Duration::ZERO) };
        let now = Instant::now();
        // After a pause, or a slow snapshot, no burst.
        let most = (pace * 0.1).max(1.0);
        self.allowance = (self.allowance + pace * now.duration_since(self.allowed_at).as_secs_f64()).min(most);
        self.allowed_at = now;
        if self.allowance >= 1.0 {
            Some(Duration::ZERO)
        } else {
            Some(Duration::from_secs_f64((1.0 - self.allowance) / pace))
        }
    }

    fn slice(&mut self) -> Result<()> {
        let mut count = if self.step_seconds > 0.0 { (SLICE / self.step_seconds) as u64 } else { 1 }.clamp(1, 4096);
        if let Some(left) = self.steps_left {
            count = count.min(left);
        } else if self.pace.is_some() {
            if self.allowance < 1.0 {
                return Ok(());
            }
            count = count.min(self.allowance as u64);
            self.allowance -= count as f64;
        }
        let started = Instant::now();
        let (slots, rows) = (&mut self.slots, &mut self.rows);
        let keeps = self.view.moments;
        let mut is_stopped = false;
        for (i, slot) in slots.iter_mut().enumerate() {
            if keeps {
                slot.keep_moment()?;
            }
            let TrainerSlot { training, driver, timeline, .. } = slot;
            let ending = driver.advance_by(training, count, &mut |training, event| {
                if let Event::Epoch(row) = event {
                    if keeps && timeline.is_best(&row) {
                        timeline.push_best(&row, training.trainer.checkpoint()?);
                    }
                    rows.push((i, row));
                }
                Ok(Flow::Continue)
            })?;
            is_stopped |= ending == Some(Ending::Stopped);
        }
        if is_stopped {
            // The program is about to end.
            self.set_running(false);
            return self.save();
        }
        let each = started.elapsed().as_secs_f64() / count as f64;
        self.step_seconds = if self.step_seconds > 0.0 { 0.8 * self.step_seconds + 0.2 * each } else { each };
        self.speed.mark(self.slots.iter().map(|l| l.training.trainer.step()).max().unwrap_or(0));
        self.stale = true;
        if let Some(left) = &mut self.steps_left {
            *left -= count.min(*left);
            if *left == 0 {
                self.set_running(false);
            }
        }
        if self.slots.iter().all(|l| l.training.trainer.ending().is_some()) {
            self.end()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let ending = self.slots.first().and_then(|l| l.training.trainer.ending()).unwrap_or(Ending::Finished);
        if let (true, Some(slot)) = (self.report_at_end, self.slots.first_mut()) {
            slot.training.report()?;
            if let Some(path) = slot.training.folder() {
                let path = path.to_path_buf();
                self.close();
                self.tell(WorkerEvent::Saved(path));
            }
        } else {
            self.save()?;
        }
        self.set_state(WorkerState::Ended(ending));
        Ok(())
    }

    fn snapshot_if_due(&mut self) {
        let running = self.state == WorkerState::Running;
        let interval = if running { self.view.interval.max(self.snapshot_seconds / SNAPSHOT_SHARE) } else { 0.0 };
        if self.slots.is_empty() {
            // Nothing to look at: the thread may sleep.
            self.stale = false;
        }
        if !self.stale || self.last_snapshot.elapsed().as_secs_f64() < interval {
            return;
        }
        let started = Instant::now();
        let mut slots = vec![];
        for slot in &mut self.slots {
            match slot.snapshot(&self.view) {
                Ok(snapshot) => slots.push(snapshot),
                Err(e) => {
                    self.stale = false;
                    self.go_on_or_fail(e);
                    return;
                }
            }
        }
        self.snapshot_seconds = started.elapsed().as_secs_f64();
        self.number += 1;
        let trainer = &self.slots[0].training.trainer;
        self.waiting = Some(Snapshot {
            number: self.number,
            step: trainer.step(),
            epoch: trainer.epoch(),
            steps_per_second: if running { self.speed.steps_per_second() } else { 0.0 },
            slots,
        });
        (self.last_snapshot, self.stale) = (Instant::now(), false);
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            self.outbox.push_back(WorkerEvent::Rows(rows));
        }
        self.deliver();
        (self.wake)();
    }

    fn tell(&mut self, report: WorkerEvent) {
        // Rows that were taken before it come before it.
        if !matches!(report, WorkerEvent::Rows(_)) && !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.outbox.push_back(WorkerEvent::Rows(rows));
        }
        self.outbox.push_back(report);
        self.deliver();
        (self.wake)();
    }

    fn deliver(&mut self) {
        if let Some(snapshot) = self.waiting.take()
            && let Err(TrySendError::Full(snapshot)) = self.mailbox.try_send(snapshot)
        {
            self.waiting = Some(snapshot);
        }
        while let Some(report) = self.outbox.pop_front() {
            if let Err(TrySendError::Full(report)) = self.reports.try_send(report) {
                self.outbox.push_front(report);
                self.thin();
                return;
            }
        }
    }

    /// A caller that does not come (a window that is hidden for hours) must not fill the memory.
    fn thin(&mut self) {
        let mut rows: Vec<(usize, EpochRow)> = vec![];
        let only_rows = self.outbox.iter().all(|r| matches!(r, WorkerEvent::Rows(_)));
        if !only_rows || self.outbox.len() < 2 {
            return;
        }
        for report in self.outbox.drain(..) {
            if let WorkerEvent::Rows(more) = report {
                rows.extend(more);
            }
        }
        if rows.len() > MOST_ROWS {
            let mut keep = false;
            rows.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.outbox.push_back(WorkerEvent::Rows(rows));
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
