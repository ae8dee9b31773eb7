//! From the words of the command line to a checked request.

use super::methods::{METHODS, Method};
use super::sets::{SETS, Set};
use crate::error::{Error, Result};
use crate::study::reproduce::ask::{list, seeds, whole};
use crate::study::reproduce::benchmark::{Words, splits};
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct UciRequest {
    /// Holds results and what is begun.
    pub folder: PathBuf,
    pub data: PathBuf,
    /// None = those that are there.
    pub sets: Option<Vec<&'static Set>>,
    pub methods: Vec<&'static Method>,
    /// Methods that vifo cannot train.
    pub without: Vec<&'static Method>,
    /// None = all.
    pub splits: Option<Vec<u32>>,
    pub seeds: Vec<u32>,
    pub members: u32,
    /// None = what suits the number of steps (`TrainingPlan::new`).
    pub epochs: Option<u32>,
    pub batch: Option<u32>,
    pub device: String,
}

/// A draw is identified by seed, split and member in one number of 32 bits.
const MOST_SEEDS: u32 = 1000;

impl UciRequest {
    pub fn new(words: &Words) -> Result<UciRequest> {
        let names = |s: &Set| vec![s.name, s.short];
        let sets = words.sets.as_ref().map(|text| list("--datasets", text, SETS, names)).transpose()?;
        let methods: Vec<&Method> = match &words.methods {
            None => METHODS.iter().collect(),
            Some(text) => list("--methods", text, METHODS, |m| vec![m.ours, m.title])?,
        };
        let (methods, without): (Vec<&Method>, Vec<&Method>) = methods.into_iter().partition(|m| m.trainable());
        if methods.is_empty() {
            let names: Vec<&str> = without.iter().map(|m| m.ours).collect();
            let able: Vec<&str> = METHODS.iter().filter(|m| m.trainable()).map(|m| m.ours).collect();
            let found = format!("vifo has no training for {}", names.join(", "));
            return Err(Error::usage("--methods", found, able.join(", "), "choose another"));
        }
        let number = |flag: &str, key: &str, text: &Option<String>| {
            text.as_ref().map(|t| whole(flag, key, t).map(|n| n as u32)).transpose()
        };
        let seeds = words.seeds.as_ref().map_or(Ok(vec![1]), |text| seeds(text))?;
        if let Some(seed) = seeds.iter().find(|s| **s == 0 || **s > MOST_SEEDS) {
            let allowed = format!("1 to {MOST_SEEDS}, or a list of such");
            return Err(Error::usage("--seeds", seed.to_string(), allowed, "leave it out for one run of each split"));
        }
        Ok(UciRequest {
            folder: words.runs.join("uci"),
            data: words.data.clone(),
            sets,
            methods,
            without,
            splits: words.splits.as_ref().map(|text| splits(text, 0)).transpose()?,
            seeds,
            members: number("--members", "method.members", &words.members)?.unwrap_or(5),
            epochs: number("--epochs", "train.epochs", &words.epochs)?.map(|n| n.max(1)),
            batch: number("--batch", "train.batch", &words.batch)?,
            device: words.device.clone(),
        })
    }
}
