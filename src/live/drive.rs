//! Who drives a training's body: a thread of its own; on a page a program beside it, or where there can be none its caller, a turn
//! at a time.

#[cfg(not(target_arch = "wasm32"))]
pub use native::{Driver, beside};
#[cfg(target_arch = "wasm32")]
pub use web::{Driver, beside};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use crate::error::{Error, Result};
    use crate::live::body::Body;
    use crate::live::worker::Ends;
    use crate::live::{Chore, Job};

    /// A job that does a chore, on a thread.
    pub fn beside<C: Chore>(what: String, wake: impl Fn() + Send + Sync + 'static, chore: C) -> Job<C::Done> {
        Job::start(what, wake, move || chore.work())
    }

    /// The thread. Dropping it waits for its end, which comes when the commands' sender is gone.
    pub struct Driver(Option<std::thread::JoinHandle<()>>);

    impl Driver {
        pub fn start(name: &str, ends: Ends) -> Result<Driver> {
            let mut body = Body::new(ends);
            let started = std::thread::Builder::new().name(name.into()).spawn(move || body.run());
            let help = "close other programs and try again";
            started
                .map(|thread| Driver(Some(thread)))
                .map_err(|e| Error::run("worker", format!("no thread: {e}"), help))
        }

        /// Nothing: the thread works by itself.
        pub fn turn(&mut self) {}

        /// Why it ended before its caller: a panic.
        pub fn has_died(&self) -> Option<String> {
            let ended = self.0.as_ref().is_some_and(std::thread::JoinHandle::is_finished);
            ended.then(|| "its thread ended without a message".into())
        }
    }

    impl Drop for Driver {
        fn drop(&mut self) {
            if let Some(thread) = self.0.take() {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod web {
    use crate::base::peer::{Peer, PeerState};
    use crate::error::Result;
    use crate::live::body::Body;
    use crate::live::far::{Down, Up, decoded, encoded, paths_of};
    use crate::live::worker::{Command, Ends, WorkerEvent};
    use crate::live::{Chore, Job};
    use std::collections::VecDeque;
    use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

    /// A job that does a chore, beside the page.
    pub fn beside<C: Chore>(what: String, wake: impl Fn() + Send + Sync + 'static, chore: C) -> Job<C::Done> {
        let (job, send) = Job::awaited(what);
        crate::live::office::hand_over(chore, send, wake);
        job
    }

    pub struct Driver {
        name: String,
        ends: Ends,
        /// From the first command on.
        by: Option<By>,
        /// Commands that wait for it to be ready.
        commands: VecDeque<Command>,
        /// Reports that found the channel full.
        reports: VecDeque<WorkerEvent>,
        died: Option<String>,
    }

    enum By {
        Peer(Peer),
        Turns(Box<Body>, SyncSender<Command>),
    }

    impl Driver {
        pub fn start(name: &str, ends: Ends) -> Result<Driver> {
            let (commands, reports) = (VecDeque::new(), VecDeque::new());
            Ok(Driver { name: name.into(), ends, by: None, commands, reports, died: None })
        }

        /// Hands on what goes either way.
        pub fn turn(&mut self) {
            self.commands.extend(self.ends.commands.try_iter());
            if self.by.is_none() && !self.commands.is_empty() {
                let wake = self.ends.wake.clone();
                self.by = Some(By::Peer(Peer::start(&self.name, move || wake())));
            }
            match &mut self.by {
                None => {}
                Some(By::Peer(peer)) => match peer.state() {
                    PeerState::Starting => {}
                    PeerState::Unable => {
                        let (send, commands) = sync_channel(64);
                        let (reports, looks) = (self.ends.reports.clone(), self.ends.looks.clone());
                        let wake = self.ends.wake.clone();
                        let body = Body::new(Ends { commands, reports, looks, wake });
                        self.by = Some(By::Turns(Box::new(body), send));
                        (self.ends.wake)();
                    }
                    PeerState::Ready => {
                        if let Err(e) = self.exchange() {
                            self.died = Some(e.to_string());
                        }
                    }
                    PeerState::Ended(why) => self.died = Some(why),
                },
                Some(By::Turns(body, commands)) => {
                    while let Some(command) = self.commands.pop_front() {
                        if let Err(TrySendError::Full(command)) = commands.try_send(command) {
                            self.commands.push_front(command);
                            break;
                        }
                    }
                    body.turn(false);
                    if body.rest().is_some() {
                        (self.ends.wake)();
                    }
                }
            }
        }

        fn exchange(&mut self) -> Result<()> {
            let Some(By::Peer(peer)) = &mut self.by else { return Ok(()) };
            if !self.commands.is_empty() {
                let commands: Vec<Command> = self.commands.drain(..).collect();
                let paths: Vec<_> = commands.iter().flat_map(paths_of).collect();
                peer.post(&encoded(&Down::Commands(commands))?, &paths);
            }
            if self.reports.is_empty()
                && let Some(bytes) = peer.take()
            {
                let up: Up = decoded(&bytes)?;
                self.reports.extend(up.events);
                if let Some(look) = up.look {
                    // One that was not fetched in a whole frame is of a group that nobody looks at.
                    let _ = self.ends.looks.try_send(look);
                }
            }
            while let Some(report) = self.reports.pop_front() {
                if let Err(TrySendError::Full(report)) = self.ends.reports.try_send(report) {
                    self.reports.push_front(report);
                    break;
                }
            }
            Ok(())
        }

        /// Why the program beside the page ended.
        pub fn has_died(&self) -> Option<String> {
            self.died.clone()
        }
    }

    impl Drop for Driver {
        fn drop(&mut self) {
            if let Some(By::Turns(body, _)) = &mut self.by {
                body.finish();
            }
        }
    }
}
