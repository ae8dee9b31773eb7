//! From the words of the command line to a checked request.

use super::peers::Peers;
use crate::error::{Error, Result};
use crate::recipe::key;
use crate::study::reproduce::ask::{list, seeds, whole};
use crate::study::reproduce::uci::sets::{SETS, Set};
use std::path::PathBuf;

/// The first split that is printed: those before it were looked at while the default was being chosen.
pub const FIRST: u32 = 3;

/// As the user wrote it; None = the benchmark's own.
#[derive(Debug, Clone, Default)]
pub struct Words {
    pub runs: PathBuf,
    pub data: PathBuf,
    pub sets: Option<String>,
    /// Of the other tools.
    pub methods: Option<String>,
    /// "3,4", or how many.
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

#[derive(Debug)]
pub struct ToolsRequest {
    /// Holds results, recipes and figures.
    pub folder: PathBuf,
    pub data: PathBuf,
    /// None = those that are there.
    pub sets: Option<Vec<&'static Set>>,
    /// None = all from `FIRST` on.
    pub splits: Option<Vec<u32>>,
    pub seeds: Vec<u32>,
    /// Recipe keys that were asked for in place of the default's, as flags of `vifo fit` would.
    pub keys: Vec<(&'static str, i64)>,
    pub device: String,
    pub peers: Peers,
    pub no_train: bool,
}

impl ToolsRequest {
    pub fn new(words: &Words) -> Result<ToolsRequest> {
        let names = |s: &Set| vec![s.name, s.short];
        let flags = [
            ("--members", key!(method.members).path, &words.members),
            ("--epochs", key!(train.epochs).path, &words.epochs),
            ("--batch", key!(train.batch).path, &words.batch),
        ];
        let mut keys = vec![];
        for (flag, key, text) in flags {
            if let Some(text) = text {
                keys.push((key, whole(flag, key, text)?));
            }
        }
        Ok(ToolsRequest {
            folder: words.runs.join("tables"),
            data: words.data.clone(),
            sets: words.sets.as_ref().map(|text| list("--datasets", text, SETS, names)).transpose()?,
            splits: words.splits.as_ref().map(|text| splits(text)).transpose()?,
            seeds: words.seeds.as_ref().map_or(Ok(vec![1]), |text| seeds(text))?,
            keys,
            device: words.device.clone(),
            peers: Peers::read(words.peers.as_deref())?.chosen(words.methods.as_deref())?,
            no_train: words.no_train,
        })
    }
}

/// "2" is two from `FIRST` on, 3 and 4; "3," or "0,4" are those.
fn splits(text: &str) -> Result<Vec<u32>> {
    let number = |word: &str| whole("--splits", key!(data.split).path, word).map(|n| n as u32);
    if !text.contains(',') {
        return match number(text)? {
            0 => Err(Error::usage("--splits", "0", "1 or more, or a list such as 3,4", "leave it out for all")),
            n => Ok((FIRST..FIRST + n).collect()),
        };
    }
    let words = text.split(',').filter(|w| !w.trim().is_empty());
    let mut all = words.map(number).collect::<Result<Vec<u32>>>()?;
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        return Err(Error::usage("--splits", "an empty list", "such as 3,4", "name one or more"));
    }
    Ok(all)
}
