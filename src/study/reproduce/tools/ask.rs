//! From the words of the command line to a checked request.

use super::peers::Peers;
use crate::error::Result;
use crate::recipe::key;
use crate::study::reproduce::ask::{list, seeds, whole};
use crate::study::reproduce::benchmark::{Words, splits};
use crate::study::reproduce::uci::sets::{SETS, Set};
use std::path::PathBuf;

/// The first split that is printed: those before it were looked at while the default was being chosen.
pub const FIRST: u32 = 3;

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
            splits: words.splits.as_ref().map(|text| splits(text, FIRST)).transpose()?,
            seeds: words.seeds.as_ref().map_or(Ok(vec![1]), |text| seeds(text))?,
            keys,
            device: words.device.clone(),
            peers: Peers::read(words.peers.as_deref())?.chosen(words.methods.as_deref())?,
            no_train: words.no_train,
        })
    }

    /// What is compared: "the default of vifo fit", and what was asked for in its place: ", epochs 6".
    pub fn subject(&self) -> String {
        let own = self.keys.iter().map(|(path, value)| {
            let name = path.rsplit('.').next().unwrap_or(path);
            format!(", {name} {value}")
        });
        std::iter::once("the default of vifo fit".to_string()).chain(own).collect()
    }
}
