//! Waiting for what is done elsewhere, as by a GPU. A thread waits. In a browser nothing may: there a worker's turn is set aside where
//! it stands, and taken up again when that is done (JavaScript Promise Integration). So what is written for a thread holds in both,
//! and a worker hears of all else meanwhile.

#[cfg(not(target_arch = "wasm32"))]
pub use native::{block_on, is_possible};
#[cfg(target_arch = "wasm32")]
pub use web::{allow, block_on, is_possible, rest, wake};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    pub use pollster::block_on;

    /// Whether this program can wait.
    pub fn is_possible() -> bool {
        true
    }
}

#[cfg(target_arch = "wasm32")]
mod web {
    use crate::base::clock::Duration;
    use std::cell::Cell;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};

    // Not by wasm-bindgen: a call that sets this program aside may have nothing of JavaScript between the two, and what it makes for it
    // itself asks for exceptions of WebAssembly, without which older browsers would not load the program at all.
    #[link(wasm_import_module = "./wait.js")]
    unsafe extern "C" {
        /// Returns after the next `wake`, or after so many milliseconds.
        #[link_name = "wait"]
        safe fn set_aside(milliseconds: f64);
        #[link_name = "wake"]
        safe fn take_up();
    }

    thread_local! {
        static POSSIBLE: Cell<bool> = const { Cell::new(false) };
    }

    /// From now on what runs here is called so that it may be set aside: one call at a time, and none besides it that works with what it
    /// holds.
    pub fn allow() {
        POSSIBLE.set(true);
    }

    /// Whether this program can wait: not on the page itself, nor in a browser that knows no other way.
    pub fn is_possible() -> bool {
        POSSIBLE.get()
    }

    /// Waits for `wake`, so long at most; it may return before either.
    pub fn rest(most: Duration) {
        set_aside(most.as_secs_f64() * 1e3);
    }

    /// Ends a rest, that of now or the next.
    pub fn wake() {
        take_up();
    }

    struct Woken;

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            take_up();
        }
    }

    /// Waits for what a future gives.
    pub fn block_on<T>(future: impl Future<Output = T>) -> T {
        /// Who has something to wait for wakes.
        const LONG: Duration = Duration::from_secs(10);
        let waker = Waker::from(Arc::new(Woken));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => rest(LONG),
            }
        }
    }
}
