//! The request to stop: by Ctrl-C, by SIGTERM, or because the process above has ended. Long work asks here between two
//! pieces of it, so that a run is saved within two seconds of the request.

use crate::base::clock::{Duration, Instant};
use crate::base::{fs, task};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// What takes longer than this after the request is broken off; what is nearly done comes to its end.
const GRACE: Duration = Duration::from_millis(700);
/// Between two looks while another thread works.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Milliseconds since `start`, and 1, at the first request; 0 before it.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// Runs that have something to save.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);
/// The folder of a run that has not begun.
static CLAIMED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

/// Asks for the stop. False where it was asked for before.
pub fn request() -> bool {
    ASKED.compare_exchange(0, now() + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

pub fn requested() -> bool {
    ASKED.load(Ordering::Relaxed) != 0
}

/// Whether the request is so old that work has to be left where it is.
pub fn is_overdue() -> bool {
    match ASKED.load(Ordering::Relaxed) {
        0 => false,
        asked => now() + 1 >= asked + GRACE.as_millis() as u64,
    }
}

/// An error that ends work which a stop can no longer wait for.
pub fn check() -> Result<()> {
    if is_overdue() { Err(Error::stopped()) } else { Ok(()) }
}

/// While one lives, a request waits for its holder to save; without any, the program may end at once.
pub struct Hold(());

pub fn hold() -> Hold {
    HOLDERS.fetch_add(1, Ordering::Relaxed);
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDERS.fetch_sub(1, Ordering::Relaxed);
    }
}

pub fn is_held() -> bool {
    HOLDERS.load(Ordering::Relaxed) > 0
}

/// Names a folder that was made to hold a name, and is empty until its run begins.
pub fn set_claimed(path: &Path) {
    if let Ok(mut claimed) = CLAIMED.lock() {
        *claimed = Some(path.to_path_buf());
    }
}

/// Removes that folder, and the one around it, where they are still empty: a run that could not begin leaves nothing.
pub fn remove_claimed() {
    let path = CLAIMED.lock().ok().and_then(|mut claimed| claimed.take());
    if let Some(path) = path {
        let _ = fs::remove_dir(&path).and_then(|()| path.parent().map_or(Ok(()), fs::remove_dir));
    }
}

/// Carries out what cannot be interrupted on a thread of its own, which a stop abandons.
///
/// # Errors
/// Those of `work`, and the stop.
pub fn abandonable<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (done, result) = std::sync::mpsc::channel();
    let lost = |found: String| Error::run("a thread", found, "try again, with fewer programs beside this one");
    // Who waits here is one of rayon's own threads where splits are concluded side by side: work that asked the same pool for
    // threads might wait for one that waits for it. It gets a pool of its own, of the one thread that its share is.
    let own = match rayon::current_thread_index() {
        Some(_) => Some(rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| lost(e.to_string()))?),
        None => None,
    };
    let started = task::spawn("vifo work", move || {
        let value = match own {
            Some(pool) => pool.install(work),
            None => work(),
        };
        // Nobody waits any more where the receiver is gone.
        let _ = done.send(value);
    });
    started.map_err(|e| lost(e.to_string()))?;
    // Done already where a thread is not to be had.
    if let Ok(value) = result.try_recv() {
        return value;
    }
    loop {
        match result.recv_timeout(LOOK_EVERY) {
            Ok(value) => return value,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => check()?,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Err(lost("ended without an answer".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    /// All threads of the pool wait for work that itself asks rayon for threads.
    #[test]
    fn c5_work_of_a_full_pool_does_not_wait_for_itself() {
        let sum = || Ok((0..1000u64).into_par_iter().map(|i| i % 7).sum::<u64>());
        let all: Vec<u64> =
            (0..4 * rayon::current_num_threads()).into_par_iter().filter_map(|_| abandonable(sum).ok()).collect();
        assert_eq!(all, vec![(0..1000).map(|i| i % 7).sum::<u64>(); 4 * rayon::current_num_threads()]);
        assert_eq!(abandonable(sum).ok(), all.first().copied());
    }
}
