//! What tests of the page call.

use crate::base::clock::Instant;
use crate::base::fs;
use crate::error::Result;
use crate::exec::Device;
use crate::gui::app::App;
use crate::gui::settings::Tab;
use crate::live::{Command, Group};
use crate::recipe::{Recipe, builtin};
use crate::workflow::Training;
use eframe::egui;
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

/// Does what a control does, before the next frame: what it is called here, and what it is set to.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn act(what: &str, with: &str) {
    ACTS.with_borrow_mut(|acts| acts.push((what.into(), with.into())));
    CONTEXT.with_borrow(|ctx| ctx.iter().for_each(egui::Context::request_repaint));
}

/// What a bug of ours would do.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn fail() {
    panic!("as the test asked");
}

thread_local! {
    static STATE: RefCell<String> = const { RefCell::new(String::new()) };
    static ACTS: RefCell<Vec<(String, String)>> = const { RefCell::new(vec![]) };
    static CONTEXT: RefCell<Option<egui::Context>> = const { RefCell::new(None) };
}

/// Does what was asked by `act`; before a frame.
pub fn obey(app: &mut App, ctx: &egui::Context) {
    CONTEXT.set(Some(ctx.clone()));
    for (what, with) in ACTS.take() {
        match what.as_str() {
            "play" => match recipe("sinusoid", &with) {
                Ok(recipe) => app.playground.take_recipe(recipe),
                Err(e) => app.banner.error(e),
            },
            "toggle" => app.playground.toggle(),
            // Steps per second; "" = as many as it can.
            "pace" => app.playground.group.send(Command::Pace(with.parse().ok())),
            "train" => {
                if let Some(choice) = &mut app.data.choice {
                    choice.epochs = with.parse().ok();
                }
                app.data.train(&app.settings, &mut app.banner);
            }
            "stop" => app.data.group.send(Command::Stop),
            "results" => app.results.open(ctx, Path::new(&with)),
            "predict" => app.results.predict(ctx, with.into()),
            "evaluate" => app.results.evaluate(ctx, with.into()),
            "calibrate" => app.results.calibrate(ctx),
            "report" => app.results.show_report(ctx),
            "tab" => app.settings.tab = Tab::ALL.into_iter().find(|t| t.1 == with).map_or(app.settings.tab, |t| t.0),
            _ => app.banner.note(format!("no control is called {what}")),
        }
    }
}

/// Notes down what `state` tells; once a frame.
pub fn note(app: &App) {
    let (playground, frames) = (&app.playground, app.frames());
    let last = |group: &Group| Some(group.slots.first()?.run.last().map(|row| (row.step, row.loss)));
    let words = serde_json::json!({
        "tab": format!("{:?}", app.settings.tab),
        "step": playground.group.step(),
        "steps_per_second": playground.group.snapshot.steps_per_second,
        "state": format!("{:?}", playground.group.state),
        "last": last(&playground.group),
        "device": playground.group.slots.first().map(|slot| &slot.run.device),
        "priors": app.priors.group.as_ref().map(Group::step),
        "data": { "state": format!("{:?}", app.data.group.state), "last": last(&app.data.group), "open": app.data.choice.as_ref().and(app.data.opened()) },
        "results": app.results.run().map(|run| (&run.folder.path, run.state.word(), &run.calibration, run.evaluation.len())),
        "rows": app.results.rows(),
        "points": playground.points().len(),
        "lesson": playground.lesson.map(|example| example.name.as_str()),
        "said": app.banner.texts().collect::<Vec<_>>(),
        "frames": frames,
    });
    STATE.set(words.to_string());
}

/// A built-in recipe with further lines of TOML.
fn recipe(name: &str, changes: &str) -> Result<Recipe> {
    let mut table = Recipe::parse(builtin::find(name).unwrap_or_default(), name)?;
    for (section, keys) in Recipe::parse(changes, "the changes")? {
        match (table.get_mut(&section).and_then(|own| own.as_table_mut()), &keys) {
            (Some(own), toml::Value::Table(keys)) => own.extend(keys.clone()),
            _ => {
                table.insert(section, keys);
            }
        }
    }
    crate::method::checked(&table, name)
}

fn trained(name: &str, changes: &str, steps: u32) -> Result<String> {
    let mut training = Training::new(&recipe(name, changes)?, &Device::Cpu)?;
    let (began, mut last) = (Instant::now(), None);
    while training.trainer.step() < u64::from(steps) && training.trainer.ending().is_none() {
        last = training.advance(u64::from(steps) - training.trainer.step())?.or(last);
    }
    let done = training.trainer.step();
    let each = 1000.0 * began.elapsed().as_secs_f64() / done as f64;
    let last = last.map(|row| (row.step, row.loss));
    Ok(serde_json::json!({ "steps": done, "ms": each, "last": last }).to_string())
}
