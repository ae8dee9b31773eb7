//! A folder of images that is watched on a thread of its own, while somebody looks at it.

use crate::base::clock::Duration;
use crate::base::task;
use crate::error::{Error, Result};
use crate::run::RunFolder;
use crate::workflow::frames::{FrameEvent, Frames};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// Between two looks, where nothing is new.
const REST: Duration = Duration::from_millis(25);

/// The caller's end. Dropping it ends the watch.
pub struct Watch {
    events: Receiver<Result<FrameEvent>>,
    stopped: Arc<AtomicBool>,
    is_seen: Arc<AtomicBool>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

impl Watch {
    /// `wake` is called after every event.
    pub fn start(run: RunFolder, dir: &Path, wake: impl Fn() + Send + 'static) -> Watch {
        let (send, events) = sync_channel(64);
        let (stopped, is_seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let (dir, stop, seen) = (dir.to_path_buf(), stopped.clone(), is_seen.clone());
        let work = move || {
            let tell = |event: Result<FrameEvent>| {
                let told = send.send(event).is_ok();
                wake();
                told
            };
            let mut frames = match Frames::open(&run, &dir) {
                Ok(frames) => frames,
                Err(e) => {
                    tell(Err(e));
                    return;
                }
            };
            while !stop.load(Ordering::Relaxed) {
                match seen.load(Ordering::Relaxed).then(|| frames.next_event()).flatten() {
                    Some(event) => {
                        if !tell(Ok(event)) {
                            return;
                        }
                    }
                    None => task::pause(REST),
                }
            }
        };
        // Without a thread the sender is dropped, and `poll` reports it.
        drop(task::spawn("vifo frames", work));
        Watch { events, stopped, is_seen }
    }

    /// Nothing is predicted while nobody looks.
    pub fn in_front(&self, seen: bool) {
        self.is_seen.store(seen, Ordering::Relaxed);
    }

    /// The next event, if there is one. After an error there are no more.
    pub fn poll(&self) -> Option<Result<FrameEvent>> {
        match self.events.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let help = "watch the folder again; if it comes back, please report it as a bug of vifo";
                Some(Err(Error::run("watching", "ended without a message", help)))
            }
        }
    }
}
