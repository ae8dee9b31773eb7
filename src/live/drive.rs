//! Who drives a training's body: a thread of its own, or where there is none its caller, a turn at a time.

use super::body::Body;
#[cfg(not(target_arch = "wasm32"))]
use crate::error::Error;
use crate::error::Result;

/// The thread. Dropping it waits for its end, which comes when the commands' sender is gone.
#[cfg(not(target_arch = "wasm32"))]
pub struct Driver(Option<std::thread::JoinHandle<()>>);

#[cfg(not(target_arch = "wasm32"))]
impl Driver {
    pub fn start(name: &str, mut body: Body) -> Result<Driver> {
        let started = std::thread::Builder::new().name(name.into()).spawn(move || body.run());
        let help = "close other programs and try again";
        started.map(|thread| Driver(Some(thread))).map_err(|e| Error::run("worker", format!("no thread: {e}"), help))
    }

    /// Nothing: the thread works by itself.
    pub fn turn(&mut self) {}

    /// Whether it ended before its caller: a panic.
    pub fn has_died(&self) -> bool {
        self.0.as_ref().is_some_and(std::thread::JoinHandle::is_finished)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

/// On a page: the body itself.
#[cfg(target_arch = "wasm32")]
pub struct Driver(Body);

#[cfg(target_arch = "wasm32")]
impl Driver {
    pub fn start(_name: &str, body: Body) -> Result<Driver> {
        Ok(Driver(body))
    }

    /// One slice of steps, and a call for the next frame while there is more to do.
    pub fn turn(&mut self) {
        self.0.turn(false);
        if self.0.is_busy() {
            self.0.wake();
        }
    }

    pub fn has_died(&self) -> bool {
        false
    }
}

#[cfg(target_arch = "wasm32")]
impl Drop for Driver {
    fn drop(&mut self) {
        self.0.finish();
    }
}
