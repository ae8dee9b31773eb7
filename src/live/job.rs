//! One piece of work off the caller's thread: reading a folder, testing a run, drawing figures. The caller polls
//! it and never waits.

use super::chore::Chore;
use crate::base::task;
use crate::error::{Error, Result};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

pub struct Job<T> {
    /// What it does, for a line beside a spinner: "Reading data.csv".
    pub what: String,
    done: Receiver<Result<T>>,
}

impl<T: Send + 'static> Job<T> {
    /// `wake` is called when the result is there.
    pub fn start(
        what: impl Into<String>,
        wake: impl FnOnce() + Send + 'static,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Job<T> {
        let what = what.into();
        let (send, done) = sync_channel(1);
        let name = format!("vifo {what}");
        let started = task::soon(&name, move || {
            // Nobody may be waiting any more.
            let _ = send.send(work());
            wake();
        });
        // Without a thread the sender is dropped, and `poll` reports it.
        drop(started);
        Job { what, done }
    }

    /// The same for what another program can do: on a page, which has one thread, it is done beside it.
    pub fn beside<C: Chore<Done = T>>(
        what: impl Into<String>,
        wake: impl Fn() + Send + Sync + 'static,
        chore: C,
    ) -> Job<T> {
        super::drive::beside(what.into(), wake, chore)
    }

    /// One whose result is there already.
    pub fn done(what: impl Into<String>, result: Result<T>) -> Job<T> {
        let (job, send) = Job::awaited(what);
        let _ = send.send(result);
        job
    }

    /// One whose result somebody else sends.
    pub fn awaited(what: impl Into<String>) -> (Job<T>, SyncSender<Result<T>>) {
        let (send, done) = sync_channel(1);
        (Job { what: what.into(), done }, send)
    }

    /// The result, once.
    pub fn poll(&self) -> Option<Result<T>> {
        match self.done.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let help = "try again; if it comes back, please report it as a bug of vifo";
                Some(Err(Error::run(self.what.clone(), "ended without a result", help)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait<T: Send + 'static>(job: &Job<T>) -> Result<T> {
        loop {
            if let Some(result) = job.poll() {
                return result;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn gives_its_result_and_survives_a_panic() {
        assert_eq!(wait(&Job::start("adding", || {}, || Ok(2 + 2))), Ok(4));
        let broken: Job<()> = Job::start("breaking", || {}, || panic!("as asked"));
        let said = wait(&broken).expect_err("an error").to_string();
        assert!(said.starts_with("breaking: ended without a result"), "{said}");
    }
}
