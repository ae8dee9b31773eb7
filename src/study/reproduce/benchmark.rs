//! What the two benchmarks on the UCI sets (`uci` and `tools`) share: the words of the command line, the news of their work, and
//! what a caller does with either of them.

use super::ask::whole;
use super::tables::ReproduceReport;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::recipe::key;
use crate::study::run_set::Outcome;
use crate::train::{Ending, Event, Flow};
use std::path::PathBuf;

/// As the user wrote it; None = the benchmark's own.
#[derive(Debug, Clone, Default)]
pub struct Words {
    pub runs: PathBuf,
    pub data: PathBuf,
    pub sets: Option<String>,
    /// Ours, or the other tools.
    pub methods: Option<String>,
    /// "0,1,2", or how many.
    pub splits: Option<String>,
    pub seeds: Option<String>,
    pub members: Option<String>,
    pub epochs: Option<String>,
    pub batch: Option<String>,
    pub device: String,
    /// Figures of other tools, in place of those in the program.
    pub peers: Option<PathBuf>,
    pub no_train: bool,
}

/// Progress of the work.
pub enum BenchmarkEvent<'a> {
    /// The training of this number (from 1) begins or goes on: of one split, or of several beside each other.
    Begins {
        number: usize,
        of: usize,
        what: String,
    },
    /// With the notes on its data.
    Training(&'a Event, &'a [String]),
    Ended {
        ending: Ending,
    },
    Failed {
        what: String,
        error: &'a Error,
    },
}

/// A checked request with its data looked up.
pub trait Benchmark {
    /// "uci: 8 sets, 10 methods".
    fn heading(&self) -> String;
    /// Splits that are not done.
    fn todo(&self) -> usize;
    /// What the splits to train belong to, after their number: " for 3 of 80 cells"; empty where a split stands for itself.
    fn scope(&self) -> String;
    /// Whether anything may be trained.
    fn trains(&self) -> bool;
    /// A line for each training that is to come.
    fn plan(&self) -> Vec<String>;
    /// What is left out and why, a sentence each.
    fn notes(&self) -> &[String];
    /// What fails alone: "splits".
    fn parts(&self) -> &'static str;
    /// At most how many seconds training will take.
    ///
    /// # Errors
    /// Data that cannot be trained on.
    fn estimate(&self, device: &Device, go_on: &mut dyn FnMut() -> bool) -> Result<f64>;
    /// Trains and tests what is missing. What diverges is told and left out; the others go on.
    ///
    /// # Errors
    /// Those that would stop the next training as well, such as a full disk.
    fn carry_out(&mut self, device: &Device, listen: &mut dyn FnMut(BenchmarkEvent) -> Flow) -> Result<Outcome>;
    /// The tables of what is there, written into the folder of results with the figures.
    ///
    /// # Errors
    /// A folder that cannot be written to.
    fn report(&self) -> Result<ReproduceReport>;
}

/// "2" is two from `first` on; "3," or "0,4" are those.
pub fn splits(text: &str, first: u32) -> Result<Vec<u32>> {
    let number = |word: &str| whole("--splits", key!(data.split).path, word).map(|n| n as u32);
    let list = format!("{first},{}", first + 1);
    if !text.contains(',') {
        return match number(text)? {
            0 => {
                let allowed = format!("1 or more, or a list such as {list}");
                Err(Error::usage("--splits", "0", allowed, "leave it out for all"))
            }
            n => Ok((first..first + n).collect()),
        };
    }
    let words = text.split(',').filter(|w| !w.trim().is_empty());
    let mut all = words.map(number).collect::<Result<Vec<u32>>>()?;
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        return Err(Error::usage("--splits", "an empty list", format!("such as {list}"), "name one or more"));
    }
    Ok(all)
}
