//! This program as one beside a page: what `web/training.js` calls.

use crate::base::peer::Above;
use crate::base::wait;
use crate::error::{Error, Result};
use crate::gui::panels::data::content::Look;
use crate::gui::panels::results::read::{Calibrate, Evaluate, Predict, TestImages};
use crate::live::Chore;
use crate::live::far::{Far, worked};
use js_sys::Array;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    static BESIDE: RefCell<Option<(Far, Above)>> = const { RefCell::new(None) };
}

fn with<T>(act: impl FnOnce(&mut Far, &mut Above) -> T) -> T {
    BESIDE.with_borrow_mut(|beside| {
        let (far, above) = beside.get_or_insert_with(|| (Far::new(work), Above::new()));
        act(far, above)
    })
}

/// All chores that a page hands over.
fn work(name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    match name {
        Predict::NAME => worked::<Predict>(bytes),
        TestImages::NAME => worked::<TestImages>(bytes),
        Evaluate::NAME => worked::<Evaluate>(bytes),
        Calibrate::NAME => worked::<Calibrate>(bytes),
        Look::NAME => worked::<Look>(bytes),
        _ => Err(Error::run(name, "is no chore of this program", "please report it as a bug of vifo")),
    }
}

/// Commands or a chore, and the files that they need.
///
/// # Panics
/// They are none that this program knows: a bug, which the page tells.
#[wasm_bindgen]
pub fn hear(message: Vec<u8>, paths: Array, files: Array, times: Array, locked: Array) {
    with(|far, above| {
        above.hear(&paths, &files, &times, &locked);
        far.hear(&message).unwrap_or_else(|e| panic!("{e}"));
    });
}

/// From now on `turn` and `finish` are called so that they may wait, and nothing is called before they have returned.
#[wasm_bindgen]
pub fn may_wait() {
    wait::allow();
}

/// The page has taken the last message.
#[wasm_bindgen]
pub fn taken() {
    with(|_, above| above.taken());
}

/// A turn; returns the milliseconds until the next, below 0 where it waits for the page.
///
/// # Panics
/// It was handed a chore that it does not know, or what it has to tell cannot be written: bugs, which the page tells.
#[wasm_bindgen]
pub fn turn() -> f64 {
    with(|far, above| {
        let rest = far.turn().unwrap_or_else(|e| panic!("{e}"));
        let message = if above.is_free() { far.tell().unwrap_or_else(|e| panic!("{e}")) } else { None };
        above.tell(message.as_deref());
        rest.map_or(-1.0, |rest| rest.as_secs_f64() * 1e3)
    })
}

/// Leaves its trainings so that they can be resumed.
#[wasm_bindgen]
pub fn finish() {
    with(|far, above| {
        far.finish();
        above.tell(None);
    });
}
