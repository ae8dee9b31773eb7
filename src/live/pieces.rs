//! Work in pieces, beside the window: its share done is shown, and it can be given up. On a thread of its own; a page, which has
//! one thread, does some pieces in every frame.

use crate::base::clock::{Duration, Instant};
use crate::base::task;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

/// Work that is done bit by bit.
pub trait Piecework: Send + 'static {
    type Output: Send + 'static;

    /// The next piece, a few milliseconds of work; the result where it was the last.
    ///
    /// # Errors
    /// Of the work itself: there are no further pieces then.
    fn piece(&mut self) -> Result<Option<Self::Output>>;

    /// What is done of the whole, 0 to 1, and what it is at.
    fn progress(&self) -> (f64, String);
}

/// How far it is.
#[derive(Default)]
struct Progress {
    share: AtomicU32,
    words: Mutex<String>,
    given_up: AtomicBool,
}

impl Progress {
    fn tell(&self, (share, words): (f64, String)) {
        self.share.store((share as f32).to_bits(), Ordering::Relaxed);
        if let Ok(mut now) = self.words.lock() {
            *now = words;
        }
    }
}

/// Between two times that the window is asked for a frame.
const FRAME: Duration = Duration::from_millis(50);
/// Of pieces within one frame of a page.
const TURN: Duration = Duration::from_millis(25);

/// The caller's end. Dropping it gives the work up.
pub struct Pieces<T> {
    progress: Arc<Progress>,
    done: Receiver<Result<T>>,
    /// The work itself, where there is no thread for it.
    own: Option<Box<dyn FnMut() -> bool>>,
}

impl<T: Send + 'static> Pieces<T> {
    /// `wake` is called when there is something to see.
    pub fn start(name: &str, wake: impl Fn() + Send + 'static, work: impl Piecework<Output = T>) -> Pieces<T> {
        match cfg!(target_arch = "wasm32") {
            true => Pieces::in_turns(wake, work),
            false => Pieces::on_thread(name, wake, work),
        }
    }

    fn on_thread(name: &str, wake: impl Fn() + Send + 'static, work: impl Piecework<Output = T>) -> Pieces<T> {
        let (mut turn, pieces) = turns(work);
        let started = task::spawn(&format!("vifo {name}"), move || {
            while turn(FRAME) {
                wake();
            }
            wake();
        });
        // Without a thread the sender is dropped, and `poll` reports it.
        drop(started);
        pieces
    }

    fn in_turns(wake: impl Fn() + Send + 'static, work: impl Piecework<Output = T>) -> Pieces<T> {
        let (mut turn, mut pieces) = turns(work);
        pieces.own = Some(Box::new(move || {
            let more = turn(TURN);
            wake();
            more
        }));
        pieces
    }

    /// The result, once.
    pub fn poll(&mut self) -> Option<Result<T>> {
        if self.own.as_mut().is_some_and(|turn| !turn()) {
            self.own = None;
        }
        match self.done.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let help = "try again; if it comes back, please report it as a bug of vifo";
                Some(Err(Error::run("the work", "ended without a result", help)))
            }
        }
    }

    /// What is done of the whole, 0 to 1, and what it is at.
    pub fn progress(&self) -> (f32, String) {
        let words = self.progress.words.lock().map_or_else(|_| String::new(), |words| words.clone());
        (f32::from_bits(self.progress.share.load(Ordering::Relaxed)), words)
    }
}

impl<T> Drop for Pieces<T> {
    fn drop(&mut self) {
        self.progress.given_up.store(true, Ordering::Relaxed);
    }
}

/// A function that does pieces for so long, and is true while there are more; and the end that sees them.
fn turns<W: Piecework>(mut work: W) -> (impl FnMut(Duration) -> bool, Pieces<W::Output>) {
    let (send, done) = sync_channel(1);
    let progress = Arc::new(Progress::default());
    let mut open = Some((send, progress.clone()));
    let turn = move |time: Duration| {
        let Some((send, progress)) = &open else { return false };
        let began = Instant::now();
        while !progress.given_up.load(Ordering::Relaxed) {
            let result = work.piece().transpose();
            progress.tell(work.progress());
            match result {
                Some(result) => {
                    // Nobody may be waiting any more.
                    let _ = send.try_send(result);
                    break;
                }
                None if began.elapsed() >= time => return true,
                None => {}
            }
        }
        open = None;
        false
    };
    (turn, Pieces { progress, done, own: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    struct Count {
        at: usize,
        to: usize,
        dropped: Arc<AtomicUsize>,
    }

    impl Piecework for Count {
        type Output = usize;
        fn piece(&mut self) -> Result<Option<usize>> {
            std::thread::sleep(std::time::Duration::from_millis(2));
            self.at += 1;
            match self.at {
                13 => Err(Error::run("counting", "thirteen", "")),
                at => Ok((at == self.to).then_some(at)),
            }
        }
        fn progress(&self) -> (f64, String) {
            (self.at as f64 / self.to as f64, format!("{} of {}", self.at, self.to))
        }
    }

    impl Drop for Count {
        fn drop(&mut self) {
            self.dropped.store(self.at.max(1), Ordering::SeqCst);
        }
    }

    fn wait<T: Send + 'static>(pieces: &mut Pieces<T>) -> Result<T> {
        loop {
            if let Some(result) = pieces.poll() {
                return result;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn on_a_thread_or_in_turns_it_ends_fails_or_is_given_up() {
        type Start = fn(Count) -> Pieces<usize>;
        let starts: [Start; 2] =
            [|work| Pieces::on_thread("counting", || {}, work), |work| Pieces::in_turns(|| {}, work)];
        for start in starts {
            let dropped = Arc::new(AtomicUsize::new(0));
            let count = |to: usize| Count { at: 0, to, dropped: dropped.clone() };
            let mut pieces = start(count(12));
            assert_eq!(wait(&mut pieces), Ok(12));
            assert_eq!(pieces.progress(), (1.0, "12 of 12".into()));
            assert!(wait(&mut start(count(20))).is_err_and(|e| e.to_string().contains("thirteen")));
            dropped.store(0, Ordering::SeqCst);
            let mut pieces = start(count(usize::MAX));
            pieces.poll();
            drop(pieces);
            let began = std::time::Instant::now();
            while dropped.load(Ordering::SeqCst) == 0 {
                assert!(began.elapsed().as_secs() < 10, "it goes on for nobody");
                std::thread::yield_now();
            }
            assert!(dropped.load(Ordering::SeqCst) <= 13);
        }
    }
}
