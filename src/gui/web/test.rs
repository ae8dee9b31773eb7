//! What tests of the page call.

use crate::base::clock::Instant;
use crate::base::fs;
use crate::error::Result;
use crate::exec::Device;
use crate::gui::app::App;
use crate::recipe::{Recipe, builtin};
use crate::workflow::Training;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Trains a built-in recipe, with further lines of TOML, for so many steps; JSON of their number, milliseconds each, and step and
/// loss of the last row of the curves.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn train(name: &str, changes: &str, steps: u32) -> String {
    trained(name, changes, steps).unwrap_or_else(|e| format!("error: {e}"))
}

/// JSON of what is in front: the tab, the playground's step and points, the last message, frames and seconds so far.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn state() -> String {
    STATE.with_borrow(Clone::clone)
}

/// The paths of all files of the page.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn files() -> Vec<String> {
    let (mut found, mut left) = (vec![], vec![PathBuf::from("/")]);
    while let Some(dir) = left.pop() {
        for path in fs::read_dir(&dir).into_iter().flatten().flatten().map(|e| e.path()) {
            match fs::is_dir(&path) {
                true => left.push(path),
                false => found.push(path.display().to_string()),
            }
        }
    }
    found
}

/// A folder as the zip that "Download run" hands out; empty where it is not there.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn packed(folder: &str) -> Vec<u8> {
    super::zip::pack(Path::new(folder)).unwrap_or_default()
}

/// What a bug of ours would do.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn fail() {
    panic!("as the test asked");
}

thread_local! {
    static STATE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes down what `state` tells; once a frame.
pub fn note(app: &App) {
    let (playground, frames) = (&app.playground, app.frames());
    let words = serde_json::json!({
        "tab": format!("{:?}", app.settings.tab),
        "step": playground.group.step(),
        "points": playground.points().len(),
        "lesson": playground.lesson.map(|example| example.name.as_str()),
        "said": app.banner.texts().collect::<Vec<_>>(),
        "frames": frames,
    });
    STATE.set(words.to_string());
}

fn trained(name: &str, changes: &str, steps: u32) -> Result<String> {
    let mut table = Recipe::parse(builtin::find(name).unwrap_or_default(), name)?;
    for (section, keys) in Recipe::parse(changes, "the changes")? {
        let own = table.entry(section).or_insert_with(|| toml::Table::new().into());
        if let (Some(own), Some(keys)) = (own.as_table_mut(), keys.as_table()) {
            own.extend(keys.clone());
        }
    }
    let mut training = Training::new(&crate::method::checked(&table, name)?, &Device::Cpu)?;
    let (began, mut last) = (Instant::now(), None);
    while training.trainer.step() < u64::from(steps) && training.trainer.ending().is_none() {
        last = training.advance(u64::from(steps) - training.trainer.step())?.or(last);
    }
    let done = training.trainer.step();
    let each = 1000.0 * began.elapsed().as_secs_f64() / done as f64;
    let last = last.map(|row| (row.step, row.loss));
    Ok(serde_json::json!({ "steps": done, "ms": each, "last": last }).to_string())
}
