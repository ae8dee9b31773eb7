//! The splits that vifo and all other tools have of a set, and how they differ there, split by split.

use super::metrics::{Figures, METRICS};
use super::peers::Peers;
use crate::report::compare::summary;
use crate::study::reproduce::uci::sets::Set;
use std::collections::BTreeMap;

/// A mean over the common splits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    pub mean: f64,
    /// The tool's minus vifo's; 0 for vifo.
    pub difference: f64,
    /// Standard error of the difference's mean; None for vifo and with one split.
    pub error: Option<f64>,
}

pub type Cells = [Option<Cell>; METRICS.len()];

pub struct Compared {
    pub set: &'static Set,
    /// Those that all have.
    pub splits: Vec<u32>,
    /// How many vifo has.
    pub of: usize,
    /// Tools that lack some of those.
    pub lacking: Vec<String>,
    pub ours: Cells,
    /// In the order of `Peers::methods`; None = not on this set.
    pub theirs: Vec<Option<Cells>>,
}

/// None where vifo has no split of the set. Tools that have none of vifo's splits of it do not take part; where the others have
/// no split in common, none does.
pub fn compare(set: &'static Set, ours: &BTreeMap<u32, Figures>, peers: &Peers) -> Option<Compared> {
    if ours.is_empty() {
        return None;
    }
    let all: Vec<BTreeMap<u32, Figures>> = peers.methods.iter().map(|m| peers.of_set(set, m)).collect();
    let takes_part = |of: &BTreeMap<u32, Figures>| ours.keys().any(|split| of.contains_key(split));
    let lacks = |of: &BTreeMap<u32, Figures>| ours.keys().any(|split| !of.contains_key(split));
    let in_all = |split: &&u32| all.iter().filter(|of| takes_part(of)).all(|of| of.contains_key(*split));
    let splits: Vec<u32> = ours.keys().filter(in_all).copied().collect();
    let lacking = peers.methods.iter().zip(&all).filter(|(_, of)| takes_part(of) && lacks(of));
    let lacking = lacking.map(|(method, _)| method.clone()).collect();
    if splits.is_empty() {
        let splits: Vec<u32> = ours.keys().copied().collect();
        let (cells, theirs) = (cells(&splits, ours, ours), vec![None; all.len()]);
        return Some(Compared { set, of: ours.len(), ours: cells, splits, lacking, theirs });
    }
    let theirs = all.iter().map(|of| takes_part(of).then(|| cells(&splits, of, ours))).collect();
    Some(Compared { set, of: ours.len(), lacking, ours: cells(&splits, ours, ours), theirs, splits })
}

fn cells(splits: &[u32], of: &BTreeMap<u32, Figures>, ours: &BTreeMap<u32, Figures>) -> Cells {
    std::array::from_fn(|at| {
        let value = |from: &BTreeMap<u32, Figures>, split: &u32| from.get(split).and_then(|figures| figures[at]);
        let values = splits.iter().map(|s| value(of, s)).collect::<Option<Vec<f64>>>()?;
        let own = splits.iter().map(|s| value(ours, s)).collect::<Option<Vec<f64>>>()?;
        let differences: Vec<f64> = values.iter().zip(&own).map(|(a, b)| a - b).collect();
        let difference = summary(&differences);
        let error = difference.sd.filter(|_| !std::ptr::eq(of, ours)).map(|sd| sd / (splits.len() as f64).sqrt());
        Some(Cell { mean: summary(&values).mean, difference: difference.mean, error })
    })
}
