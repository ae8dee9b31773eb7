//! Work beside the caller: on a thread of its own. A page has one thread, so there it is done at once.

use std::time::Duration;

/// Starts `work`; whoever needs its result has it sent.
///
/// # Errors
/// There is no thread for it.
#[cfg(not(target_arch = "wasm32"))]
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

#[cfg(target_arch = "wasm32")]
pub fn spawn(_name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    work();
    Ok(())
}

/// The same for what the caller asks for later: on a page, which shows a picture first, when it has nothing else to do.
#[cfg(not(target_arch = "wasm32"))]
pub fn soon(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    spawn(name, work)
}

#[cfg(target_arch = "wasm32")]
pub fn soon(_name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    /// Long enough for a frame to be drawn.
    const FRAME_MS: i32 = 30;
    let work = wasm_bindgen::closure::Closure::once_into_js(work);
    let window = web_sys::window().ok_or_else(|| std::io::Error::other("no window"))?;
    let set = window
        .set_timeout_with_callback_and_timeout_and_arguments_0(wasm_bindgen::JsCast::unchecked_ref(&work), FRAME_MS);
    set.map(drop).map_err(|_| std::io::Error::other("no timer"))
}

/// Lets other programs go on for that long. On a page there are none that a reader waits for.
pub fn pause(time: Duration) {
    if !cfg!(target_arch = "wasm32") {
        std::thread::sleep(time);
    }
}
