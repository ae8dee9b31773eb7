//! The native tests of the shaders once more in a browser, on what it makes of WebGPU: every kernel, and whole steps, beside the
//! reference kernels. worker.js runs it.
#![cfg(target_arch = "wasm32")]

#[path = "../../numbers/common/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "the native tests use the rest")]
mod common;

use common::parity::{every_kernel_agrees, steps_agree};
use std::cell::RefCell;
use std::sync::Arc;
use vifo::base::wait;
use vifo::exec::gpu::{Choice, Gpu, open};
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static GPU: RefCell<Option<Arc<Gpu>>> = const { RefCell::new(None) };
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Before all else: the functions below are called so that they may wait.
#[wasm_bindgen]
pub fn parity_may_wait() {
    console_error_panic_hook::set_once();
    wait::allow();
}

/// What the last function found; "error: " before what is wrong.
#[wasm_bindgen]
pub fn parity_said() -> String {
    SAID.take()
}

fn say(test: impl FnOnce(&Arc<Gpu>) -> Result<String, String>) {
    let opened = GPU.take().map_or_else(|| open(Choice::Software).map(Arc::new).map_err(|e| e.to_string()), Ok);
    let found = opened.and_then(|gpu| {
        let found = test(&gpu);
        GPU.set(Some(gpu));
        found
    });
    SAID.set(found.unwrap_or_else(|e| format!("error: {e}")));
}

#[wasm_bindgen]
pub fn parity_kernels() {
    say(every_kernel_agrees);
}

#[wasm_bindgen]
pub fn parity_steps(steps: u32) {
    say(|gpu| steps_agree(gpu, steps));
}
