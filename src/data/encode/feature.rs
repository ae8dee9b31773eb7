//! What a column becomes: the inputs of one feature, from a cell to numbers.
//!
//! A number gives one input, (x - mean)/sd or as its robust scaling says (`scale`), and one more that is 1 where the cell is
//! missing if cells were missing in training; yes or no gives one; a text one per level, 0 or 1, or one with the level's
//! number; a date its trend and its places on the circles of the year, the week and the day. Must not compute statistics
//! (that is `fit`) and must not know of rows.

use super::number_text;
pub use super::scale::{Robust, Scale};
use crate::data::table::calendar::{self, Moment, Order};
use crate::data::{listed, quoted};
use crate::error::either;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::f64::consts::TAU;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    pub name: String,
    pub kind: FeatureKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// `sd` is the population standard deviation, above 0.
    Numeric {
        mean: f64,
        sd: f64,
        min: f64,
        max: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        robust: Option<Robust>,
    },
    /// A number with an input beside it that is 1 where the cell is missing; `fill` takes the place of the number there.
    Gappy {
        mean: f64,
        sd: f64,
        min: f64,
        max: f64,
        fill: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        robust: Option<Robust>,
    },
    /// Sorted; the level "" stands for a missing cell.
    Levels {
        levels: Vec<String>,
        #[serde(default, skip_serializing_if = "Unseen::is_refuse")]
        unseen: Unseen,
        /// One input, the level's number, which the network looks up in a trained table; else one input per level.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        embedded: bool,
    },
    /// Two words, in lower case: 0 for `no`, 1 for `yes`, and `share`, the mean in training, for anything else; with `flag`
    /// an input beside it that is 1 where the cell is missing.
    Switch {
        no: String,
        yes: String,
        share: f64,
        flag: bool,
    },
    Date(Calendar),
}

impl Feature {
    /// Inputs of a date, given in years and their fractions; of another column those of a missing cell.
    pub fn inputs_at_years(&self, years: f64) -> Vec<f32> {
        let mut out = vec![0.0; self.kind.inputs()];
        self.kind.write(Value::Date(Moment::of_years(years)), &mut out);
        out
    }
}

/// What a level becomes that training did not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unseen {
    /// A fault of its row.
    #[default]
    Refuse,
    /// None of the levels: 0 in all of their inputs, or in all that a table gives.
    Zeros,
    /// An input or a row of the table of its own, learnt from the rare levels.
    Other,
}

impl Unseen {
    fn is_refuse(&self) -> bool {
        *self == Unseen::Refuse
    }
}

/// Inputs of a date, those that vary in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calendar {
    pub order: Order,
    /// Years and their fractions.
    pub trend: Scale,
    /// Sine and cosine of the share of the year that is over.
    pub year: bool,
    pub week: bool,
    pub day: bool,
    /// An input that is 1 where the date is missing.
    pub flag: bool,
}

/// A cell as a feature sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    /// Index among the inputs of a text; `None` = 0 in all of them.
    Level(Option<usize>),
    Date(Moment),
    Missing,
}

/// How far a cell is from what training saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strange {
    No,
    /// Missing, and no cell was in training.
    Filled,
    /// Taken as missing, for it cannot be read.
    Unread,
    Unseen,
}

/// What a cell becomes that is missing, and training had none, or that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandIn {
    RareLevel,
    NoLevel,
    Missing,
    Mean,
    Median,
}

impl StandIn {
    /// Behind the cell: "'oops' cannot be read, counts as missing".
    pub fn of_cell(self) -> &'static str {
        match self {
            StandIn::RareLevel => "counts as a rare level",
            StandIn::NoLevel => "counts as none of the levels",
            StandIn::Missing => "counts as missing",
            StandIn::Mean => "the training mean is used",
            StandIn::Median => "the training median is used",
        }
    }

    /// A sentence about `n` cells.
    pub fn of_cells(self, n: usize) -> String {
        let (it, s) = if n == 1 { ("it", "s") } else { ("they", "") };
        match self {
            StandIn::RareLevel => format!("{it} count{s} as rare"),
            StandIn::NoLevel => format!("{it} count{s} as none of the levels"),
            StandIn::Missing => format!("{it} count{s} as missing"),
            StandIn::Mean | StandIn::Median => self.of_cell().into(),
        }
    }
}

/// Why a cell cannot be encoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CellFault {
    pub found: String,
    pub allowed: String,
    pub help: String,
}

pub(crate) type Reading = std::result::Result<(Value, Strange), CellFault>;

impl FeatureKind {
    pub fn inputs(&self) -> usize {
        match self {
            FeatureKind::Numeric { .. } => 1,
            FeatureKind::Gappy { .. } => 2,
            FeatureKind::Levels { embedded: true, .. } => 1,
            FeatureKind::Levels { levels, unseen, .. } => kinds(levels, *unseen),
            FeatureKind::Switch { flag, .. } => 1 + usize::from(*flag),
            FeatureKind::Date(c) => {
                1 + 2 * [c.year, c.week, c.day].iter().filter(|b| **b).count() + usize::from(c.flag)
            }
        }
    }

    /// Rows of the table in which the network looks its number up.
    pub fn table(&self) -> Option<usize> {
        match self {
            FeatureKind::Levels { levels, unseen, embedded: true } => Some(kinds(levels, *unseen)),
            _ => None,
        }
    }

    /// Mean, sd, smallest and largest value in training of a feature whose first input is a standardised number, and its robust
    /// scaling if it has one.
    pub fn scale(&self) -> Option<Scale> {
        match *self {
            FeatureKind::Numeric { mean, sd, min, max, robust }
            | FeatureKind::Gappy { mean, sd, min, max, robust, .. } => Some(Scale { mean, sd, min, max, robust }),
            FeatureKind::Date(Calendar { trend, .. }) => Some(trend),
            FeatureKind::Levels { .. } | FeatureKind::Switch { .. } => None,
        }
    }

    /// Range of the auxiliary rows of each input: that of a number (`Scale::widened`), [-1, 1] on a circle; [0, K] for the
    /// number of one of K levels, which is rounded down; [0, 1] for the rest.
    pub(crate) fn aux_range(&self, low: &mut Vec<f32>, high: &mut Vec<f32>) {
        let before = low.len();
        if let Some((least, most)) = self.scale().map(|scale| scale.widened()) {
            low.push(least as f32);
            high.push(most as f32);
        }
        let circles = match self {
            FeatureKind::Date(c) => 2 * [c.year, c.week, c.day].iter().filter(|b| **b).count(),
            _ => 0,
        };
        low.resize(low.len() + circles, -1.0);
        low.resize(before + self.inputs(), 0.0);
        high.resize(before + self.inputs(), self.table().map_or(1.0, |levels| levels as f32));
    }

    /// Numbers as they stand in the file.
    pub(crate) fn unstandardise(&mut self) {
        match self {
            FeatureKind::Numeric { mean, sd, robust, .. } | FeatureKind::Gappy { mean, sd, robust, .. } => {
                (*mean, *sd, *robust) = (0.0, 1.0, None);
            }
            FeatureKind::Date(c) => (c.trend.mean, c.trend.sd, c.trend.robust) = (0.0, 1.0, None),
            FeatureKind::Levels { .. } | FeatureKind::Switch { .. } => {}
        }
    }

    /// Index of the levels, for `text`.
    pub(crate) fn index(&self) -> HashMap<&str, usize> {
        match self {
            FeatureKind::Levels { levels, .. } => levels.iter().enumerate().map(|(i, l)| (l.as_str(), i)).collect(),
            _ => HashMap::new(),
        }
    }

    /// A missing cell; `fills`: whether one that training never had is filled.
    pub(crate) fn missing(&self, fills: bool) -> Reading {
        let knows = match self {
            FeatureKind::Numeric { .. } => false,
            FeatureKind::Gappy { .. } => true,
            FeatureKind::Switch { flag, .. } => *flag,
            FeatureKind::Date(c) => c.flag,
            FeatureKind::Levels { levels, .. } => levels.first().is_some_and(String::is_empty),
        };
        let value = match self {
            FeatureKind::Levels { .. } if knows => Value::Level(Some(0)),
            FeatureKind::Levels { levels, unseen: Unseen::Other, .. } => Value::Level(Some(levels.len())),
            FeatureKind::Levels { .. } => Value::Level(None),
            _ => Value::Missing,
        };
        match (knows, fills) {
            (true, _) => Ok((value, Strange::No)),
            (false, true) => Ok((value, Strange::Filled)),
            (false, false) => Err(CellFault {
                found: "the cell is missing".into(),
                allowed: "a value in every row".into(),
                help: either(
                    "fill it in, or use --missing drop or --missing mean in training",
                    "fill it in, or choose in training that missing cells are filled or their rows left out",
                ),
            }),
        }
    }

    pub(crate) fn number(&self, value: f64, index: &HashMap<&str, usize>, fills: bool) -> Reading {
        match self {
            FeatureKind::Numeric { mean, sd, robust, .. } | FeatureKind::Gappy { mean, sd, robust, .. } => {
                // Beyond the range of an f32; a clipped input never is.
                let taken = if robust.is_some() { value } else { f64::from(((value - mean) / sd) as f32) };
                if !taken.is_finite() {
                    return Err(CellFault {
                        found: format!("{value:e} is too far from the training mean {mean:e} (sd {sd:e})"),
                        allowed: "up to 1e38 sd".into(),
                        help: "fix the cell".into(),
                    });
                }
                Ok((Value::Number(value), Strange::No))
            }
            _ => self.text(&number_text(value), index, fills),
        }
    }

    /// `index` as `index()` gives it.
    pub(crate) fn text(&self, text: &str, index: &HashMap<&str, usize>, fills: bool) -> Reading {
        match self {
            FeatureKind::Numeric { .. } | FeatureKind::Gappy { .. } => {
                let value = text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| CellFault {
                    found: quoted(text),
                    allowed: "a number, as in training".into(),
                    help: "fix the cell, or leave it empty if it is missing".into(),
                })?;
                self.number(value, index, fills)
            }
            FeatureKind::Switch { no, yes, share, .. } => {
                let word = text.to_lowercase();
                match () {
                    () if word == *no => Ok((Value::Number(0.0), Strange::No)),
                    () if word == *yes => Ok((Value::Number(1.0), Strange::No)),
                    () if fills => Ok((Value::Number(*share), Strange::Unseen)),
                    () => Err(unseen_level(text, &[no.clone(), yes.clone()], "level")),
                }
            }
            FeatureKind::Date(c) => match calendar::parse(text, c.order) {
                Some(moment) => Ok((Value::Date(moment), Strange::No)),
                None => self.missing(fills).map(|(value, _)| (value, Strange::Unread)).map_err(|_| CellFault {
                    found: quoted(text),
                    allowed: "a date, as in training".into(),
                    help: "fix the cell, or leave it empty if it is missing".into(),
                }),
            },
            FeatureKind::Levels { levels, unseen, .. } => match (position(index, levels, text), unseen) {
                (Some(level), _) => Ok((Value::Level(Some(level)), Strange::No)),
                (None, Unseen::Other) => Ok((Value::Level(Some(levels.len())), Strange::Unseen)),
                (None, Unseen::Zeros) => Ok((Value::Level(None), Strange::Unseen)),
                (None, Unseen::Refuse) => Err(unseen_level(text, levels, "level")),
            },
        }
    }

    /// Writes the inputs of one cell, `[inputs()]`, into `out`, which is all 0.
    pub(crate) fn write(&self, value: Value, out: &mut [f32]) {
        match (self, value) {
            (FeatureKind::Numeric { .. } | FeatureKind::Gappy { .. }, Value::Number(v)) => {
                out[0] = self.scale().map_or(0.0, |scale| scale.scaled(v) as f32);
            }
            (FeatureKind::Numeric { .. }, _) => out[0] = self.filled(),
            (FeatureKind::Gappy { .. }, _) => (out[0], out[1]) = (self.filled(), 1.0),
            // One past the last is no level.
            (FeatureKind::Levels { levels, embedded: true, .. }, value) => {
                let Value::Level(level) = value else { return };
                out[0] = level.unwrap_or(levels.len()) as f32;
            }
            (FeatureKind::Levels { .. }, Value::Level(Some(level))) => out[level] = 1.0,
            (FeatureKind::Levels { .. }, _) => {}
            (FeatureKind::Switch { .. }, Value::Number(v)) => out[0] = v as f32,
            (FeatureKind::Switch { share, flag, .. }, _) => {
                out[0] = *share as f32;
                if *flag {
                    out[1] = 1.0;
                }
            }
            (FeatureKind::Date(c), Value::Date(moment)) => {
                let parts = moment.parts();
                out[0] = c.trend.scaled(parts.years) as f32;
                let turns = [(c.year, parts.of_year), (c.week, f64::from(parts.weekday) / 7.0), (c.day, parts.of_day)];
                for (i, (_, turn)) in turns.iter().filter(|(used, _)| *used).enumerate() {
                    (out[1 + 2 * i], out[2 + 2 * i]) = (libm::sin(TAU * turn) as f32, libm::cos(TAU * turn) as f32);
                }
            }
            // The middle of each circle.
            (FeatureKind::Date(c), _) => {
                out[0] = self.filled();
                if let (true, Some(last)) = (c.flag, out.last_mut()) {
                    *last = 1.0;
                }
            }
        }
    }

    /// The first input where the cell is missing, of a feature that has a scale.
    pub(crate) fn filled(&self) -> f32 {
        let fill = |scale: Scale| if let FeatureKind::Gappy { fill, .. } = self { *fill } else { scale.middle() };
        self.scale().map_or(0.0, |scale| scale.scaled(fill(scale)) as f32)
    }

    pub(crate) fn stand_in(&self) -> StandIn {
        match self {
            FeatureKind::Levels { unseen: Unseen::Other, .. } => StandIn::RareLevel,
            FeatureKind::Levels { .. } => StandIn::NoLevel,
            FeatureKind::Gappy { .. } | FeatureKind::Date(Calendar { flag: true, .. }) => StandIn::Missing,
            _ if self.scale().is_some_and(|scale| scale.robust.is_some()) => StandIn::Median,
            _ => StandIn::Mean,
        }
    }

    /// What a cell cannot be read as.
    pub(crate) fn unread(&self) -> &'static str {
        if let FeatureKind::Date(_) = self { "date" } else { "number" }
    }

    /// What the column became, in a few words.
    pub fn became(&self) -> String {
        let flagged = |flag: bool| if flag { ", and an input that is 1 where the cell is missing" } else { "" };
        match self {
            FeatureKind::Numeric { robust: None, .. } => "number".into(),
            FeatureKind::Numeric { .. } => "number, scaled by median and quartiles".into(),
            FeatureKind::Gappy { robust: None, .. } => format!("number, the mean where it is missing{}", flagged(true)),
            FeatureKind::Gappy { .. } => {
                format!("number, scaled by median and quartiles, the median where it is missing{}", flagged(true))
            }
            FeatureKind::Switch { no, yes, flag, .. } => {
                format!("{no} = 0, {yes} = 1: one input{}", flagged(*flag))
            }
            FeatureKind::Date(c) => {
                let parts = [(c.year, "day of the year"), (c.week, "weekday"), (c.day, "hour")];
                let on: Vec<&str> = parts.iter().filter(|(used, _)| *used).map(|(_, name)| *name).collect();
                let circles = match on[..] {
                    [] => String::new(),
                    [one] => format!("; {one} as a point on a circle"),
                    [ref first @ .., last] => format!("; {} and {last} as points on a circle", first.join(", ")),
                };
                let trend = if c.order == Order::Clock { "time of day: hours" } else { "date: trend in years" };
                format!("{trend}{circles}{}", flagged(c.flag))
            }
            FeatureKind::Levels { levels, unseen, embedded } => {
                let missing = levels.first().is_some_and(String::is_empty);
                let n = levels.len() - usize::from(missing);
                let mut text = match n {
                    n if *embedded => format!("text, a row of a trained table for each of {n} levels"),
                    1 => "text, an input for 1 level".to_string(),
                    n => format!("text, an input for each of {n} levels"),
                };
                match unseen {
                    Unseen::Other => text.push_str(", one for all rarer ones"),
                    Unseen::Zeros | Unseen::Refuse => {}
                }
                if missing {
                    text.push_str(", one for missing cells");
                }
                text
            }
        }
    }
}

/// What a network can tell apart: the levels, and a rare one.
fn kinds(levels: &[String], unseen: Unseen) -> usize {
    levels.len() + usize::from(unseen == Unseen::Other)
}

pub(crate) fn unseen_level(text: &str, names: &[String], what: &str) -> CellFault {
    CellFault {
        found: format!("{what} {} was not seen in training", quoted(text)),
        allowed: listed(names.iter().map(String::as_str)),
        help: "correct the cell, leave the row out, or train again with such rows".into(),
    }
}

/// Index of a text among labels or levels; "01" and "1.0" are "1" if nothing matches letter by letter.
pub(crate) fn position(index: &HashMap<&str, usize>, names: &[String], text: &str) -> Option<usize> {
    index.get(text).copied().or_else(|| {
        // Beyond 2^53 two whole numbers may be one double.
        let value = text.parse::<f64>().ok().filter(|v| v.abs() < 9_007_199_254_740_992.0)?;
        names.iter().position(|name| name.parse::<f64>() == Ok(value))
    })
}
