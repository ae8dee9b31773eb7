//! The library's front door: a table in, a model out, predictions from it. Everything here is made of the other modules, as the
//! command line is, and gives the same numbers; it must not print and must not know of a terminal or a window.

mod model;
mod prediction;
mod table;

pub use model::Model;
pub use prediction::{Classes, Numbers, Prediction, Values};
pub use table::{Column, Table};

use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method;
use crate::recipe::{key, keys};
use crate::train::{Ending, Event, Flow, drive};
use crate::workflow::Training;
use toml::Value;

/// What to learn from a table and how: any recipe key, at its default unless it is set. [`fit`] reports a
/// value that is not allowed.
///
/// ```
/// let options = vifo::Options::target("price").ignore(["id"]).method("vifo-mean").members(5).epochs(200).seed(1);
/// let options = options.set("train.lr", 0.01).set("net.hidden", "[50, 50]");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Keys and the texts of their TOML values; the later wins.
    sets: Vec<(String, String)>,
}

impl Options {
    /// Every key at its default: the target is the last column.
    pub fn new() -> Options {
        Options::default()
    }

    /// To predict the column of this name or index (-1 = last); several columns of numbers with commas between them: "a,b".
    pub fn target(column: &str) -> Options {
        Options::new().text(key!(data.target), column)
    }

    /// Columns to leave out, instead of those named before.
    pub fn ignore<S: AsRef<str>>(self, columns: impl IntoIterator<Item = S>) -> Options {
        let list = columns.into_iter().map(|c| Value::String(c.as_ref().into())).collect();
        self.set(key!(data.ignore).path, Value::Array(list))
    }

    /// One of the methods that `vifo fit --help` lists, or one registered with [`method::register`].
    pub fn method(self, name: &str) -> Options {
        self.text(key!(method.name), name)
    }

    /// Networks of the ensemble.
    pub fn members(self, n: u32) -> Options {
        self.set(key!(method.members).path, n)
    }

    /// Passes over the training rows, at most.
    pub fn epochs(self, n: u32) -> Options {
        self.set(key!(train.epochs).path, n)
    }

    /// Same seed, same data, same options: same numbers.
    pub fn seed(self, seed: u32) -> Options {
        self.set(key!(seed).path, seed)
    }

    /// "auto" (the default), "cpu", "gpu", "gpu:1", "software", or part of an adapter's name.
    pub fn device(self, name: &str) -> Options {
        self.text(key!(device), name)
    }

    /// Any key of `vifo fit --keys`, its value as a recipe or `--set` has it: `.set("train.lr", 0.01)`,
    /// `.set("data.as", "[\"zip=text\"]")`.
    pub fn set(mut self, key: &str, value: impl ToString) -> Options {
        self.sets.push((key.into(), value.to_string()));
        self
    }

    /// A value that is this text, whatever it looks like.
    fn text(self, key: &keys::Key, text: &str) -> Options {
        self.set(key.path, Value::String(text.into()))
    }
}

/// Trains on `table` as `vifo fit` does, in memory alone: [`Model::save`] makes a run folder of it.
///
/// # Errors
/// In one line: a key or a value that is not allowed, a column that is not there, rows that cannot be learnt from, a device that
/// is not there, a loss that is no number.
pub fn fit(table: &Table, options: Options) -> Result<Model> {
    fit_with(table, options, &mut |_| Flow::Continue)
}

/// The same; `listen` is told of the start and of every evaluation, and may stop the training, whose best weights so far are
/// the model then.
pub fn fit_with(table: &Table, options: Options, listen: &mut dyn FnMut(&Event) -> Flow) -> Result<Model> {
    const PLACE: &str = "options";
    let mut keys = table.keys().clone();
    for (key, value) in &options.sets {
        keys::set(&mut keys, key, value, PLACE)?;
    }
    method::preset(&mut keys)?;
    let recipe = method::checked(&keys, PLACE)?;
    table.check(&recipe, PLACE)?;
    let device = Device::open(&recipe.device)?;
    let mut training = Training::of_table(&recipe, table.read_table(), &device)?;
    let fitted = match drive::to_the_end(&mut training, &mut |_, event| Ok(listen(&event)))? {
        Ending::Stopped => training.stop()?,
        Ending::Finished | Ending::Early => training.report()?,
    };
    Ok(Model::trained(training, &fitted, device, table.clone()))
}

/// A usage error, with its help.
fn misuse(place: impl Into<String>, found: impl Into<String>, help: impl Into<String>) -> Error {
    Error::usage(place, found, "", help)
}
