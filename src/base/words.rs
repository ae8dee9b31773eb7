//! Who reads: somebody at a command line, or somebody in front of the window. A message is made in one place for both; where it
//! names a flag, a command or a recipe key, it says here what the window has in its stead.

use std::sync::atomic::{AtomicBool, Ordering};

/// A program is one or the other, from its start on.
static WINDOW: AtomicBool = AtomicBool::new(false);

/// From now on messages speak of what stands in the window.
pub fn speak_to_window() {
    WINDOW.store(true, Ordering::Relaxed);
}

pub fn is_window() -> bool {
    // A page has no command line.
    cfg!(target_arch = "wasm32") || WINDOW.load(Ordering::Relaxed)
}

/// The words for who reads. `tests/architecture/words.rs` holds that flags and keys stand in the first place alone.
pub fn either(command_line: impl Into<String>, window: impl Into<String>) -> String {
    if is_window() { window.into() } else { command_line.into() }
}
