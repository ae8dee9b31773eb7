//! Waiting for the device. Natively the waiting thread drives it; in a browser it goes on by itself, calls back, and the worker's turn
//! is set aside until then (`base::wait`).

use super::device::Gpu;
use crate::base::clock::{Duration, Instant};
use crate::error::{Error, Result, either};
use std::sync::mpsc::Receiver;

/// How long one look at a device that works may take, and how long it may work on one submit, which is cut to a fraction of a
/// second.
const SLICE: Duration = Duration::from_secs(1);
const HANG: Duration = Duration::from_secs(120);

/// Within which a browser tells of a lost device.
#[cfg(target_arch = "wasm32")]
const TOLD: Duration = Duration::from_secs(2);

/// Work that the device was given.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct Submission(wgpu::SubmissionIndex);
#[cfg(target_arch = "wasm32")]
pub(super) struct Submission(Receiver<()>);

impl Gpu {
    /// A GPU that does not answer for `HANG` is given up: without a display no watchdog does it. A software adapter takes the
    /// time that its work takes.
    fn hangs(&self, began: Instant) -> bool {
        !self.report.is_software() && began.elapsed() >= HANG
    }

    fn no_answer(&self, found: String) -> Error {
        let help = either("resume with `vifo fit --resume RUN`, or with --device cpu", "resume, or train on the CPU");
        Error::run(format!("device {}", self.report.name), found, help)
    }
}

/// For callbacks that send what `heard` waits for.
#[cfg(target_arch = "wasm32")]
pub(super) use crate::base::wait::wake;
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn wake() {}

#[cfg(not(target_arch = "wasm32"))]
impl Gpu {
    pub(super) fn submit(&self, commands: Option<wgpu::CommandBuffer>) -> Submission {
        Submission(self.queue.submit(commands))
    }

    /// Waits for a submission.
    pub(super) fn wait(&self, submission: Submission) -> Result<()> {
        let began = Instant::now();
        loop {
            self.check()?;
            let poll = wgpu::PollType::Wait { submission_index: Some(submission.0.clone()), timeout: Some(SLICE) };
            match self.guarded(|| self.device.poll(poll))? {
                Ok(_) => return self.check(),
                Err(wgpu::PollError::Timeout) if !self.hangs(began) => {}
                Err(wgpu::PollError::Timeout) => {
                    return Err(self.no_answer(format!("no answer for {} s", HANG.as_secs())));
                }
                Err(e) => return Err(self.no_answer(format!("waiting for it failed: {e}"))),
            }
        }
    }

    /// `check` where something has failed, perhaps because the device is lost.
    pub(super) fn check_cause(&self) -> Result<()> {
        self.check()
    }

    /// What a callback of a submission that was waited for has sent; None where it never comes.
    pub(super) fn heard<T>(&self, from: &Receiver<T>) -> Result<Option<T>> {
        // Another thread that shares the device may have collected the callback and be about to call it.
        Ok(from.recv_timeout(Duration::from_secs(10)).ok())
    }
}

#[cfg(target_arch = "wasm32")]
impl Gpu {
    pub(super) fn submit(&self, commands: Option<wgpu::CommandBuffer>) -> Submission {
        self.queue.submit(commands);
        let (send, done) = std::sync::mpsc::channel();
        self.queue.on_submitted_work_done(move || {
            // Nobody may be waiting any more.
            let _ = send.send(());
            wake();
        });
        Submission(done)
    }

    /// Waits for a submission.
    pub(super) fn wait(&self, submission: Submission) -> Result<()> {
        self.heard(&submission.0)?;
        self.check()
    }

    /// `check` where something has failed, perhaps because the device is lost: a browser tells of that in its own time, which may be
    /// after all that the loss breaks.
    pub(super) fn check_cause(&self) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < TOLD {
            self.check()?;
            crate::base::wait::rest(TOLD);
        }
        self.check()
    }

    /// What a callback sends, which also wakes; None where it never comes.
    pub(super) fn heard<T>(&self, from: &Receiver<T>) -> Result<Option<T>> {
        use std::sync::mpsc::TryRecvError;
        let began = Instant::now();
        loop {
            match from.try_recv() {
                Ok(what) => return Ok(Some(what)),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {}
            }
            self.check()?;
            if self.hangs(began) {
                return Err(self.no_answer(format!("no answer for {} s", HANG.as_secs())));
            }
            crate::base::wait::rest(SLICE);
        }
    }
}

/// There memory is given back when JavaScript next tidies up, which knows nothing of a card's; nobody has it by now.
#[cfg(target_arch = "wasm32")]
impl Drop for Gpu {
    fn drop(&mut self) {
        self.device.destroy();
    }
}
