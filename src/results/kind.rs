//! What a metric is called, what it is counted in, which way is better, and where it is shown.

use crate::results::{Metric, classification, metric, outside, regression};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A pure number.
    None,
    Nats,
    /// That of the target.
    OfTarget,
}

/// In which tables of several runs a metric is a column without being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    WhenAsked,
    /// Of runs with one target.
    Always,
    /// Of each of several targets, too.
    OfEachTarget,
}

/// A metric: one line in the list of its family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricKind {
    /// The key in results.json and in tables.
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub shown: Shown,
}

impl MetricKind {
    pub const fn new(name: &'static str, unit: Unit, better: Better, shown: Shown) -> MetricKind {
        MetricKind { name, unit, better, shown }
    }

    /// With its value; `target` is the target's unit.
    pub(super) fn of(&self, value: f64, target: &str) -> Metric {
        let unit = match self.unit {
            Unit::None => "",
            Unit::Nats => "nats",
            Unit::OfTarget => target,
        };
        metric(self.name, unit, value, self.better)
    }
}

/// Where the metric of this name is shown without being asked for.
pub fn shown_of(name: &str) -> Shown {
    let families = regression::METRICS.iter().map(|(_, kind)| kind).chain(&classification::METRICS);
    let of = |kind: &MetricKind| (kind.name == name).then_some(kind.shown);
    families.chain([&outside::MEAN_ENTROPY]).filter_map(of).max().unwrap_or(Shown::WhenAsked)
}
