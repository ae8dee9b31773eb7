//! A calibration in words: what predict says of it, what it cannot guarantee, its table and its section of the report.

use super::apply::gaussian_half_width;
use crate::error::either;
use crate::metrics::conformal::{self, Sets};
use crate::metrics::temperature::{LEAST_ROWS, MOST, Verdict};
use crate::run::calibration::stored::{Calibration, Level, Source};
use crate::tables::{TextTable, number};

impl Calibration {
    /// "intervals" or "sets".
    pub(crate) fn what(&self) -> &'static str {
        if self.sets.is_some() { "sets" } else { "intervals" }
    }

    /// "80 validation rows", "80 rows of fresh.csv".
    pub fn on(&self) -> String {
        let rows =
            |what: &str| if self.rows == 1 { format!("1 {what}row") } else { format!("{} {what}rows", self.rows) };
        match &self.source {
            Source::Validation => rows("validation "),
            Source::OutOfFold => rows("out-of-fold "),
            Source::File(file) => {
                let name =
                    file.file_name().map_or_else(|| file.display().to_string(), |n| n.to_string_lossy().into_owned());
                format!("{} of {name}", rows(""))
            }
        }
    }

    /// The levels that the rows are enough for.
    fn listed(&self, name: impl Fn(&Level) -> String) -> String {
        self.levels.iter().filter(|l| !self.is_short(l)).map(name).collect::<Vec<_>>().join(", ")
    }

    /// What the columns hold; empty where the rows are too few for every level, of which `too_few` speaks.
    fn promise(&self) -> String {
        let percents = self.listed(|l| format!("{} %", l.percent()));
        let enough = self.levels.iter().filter(|l| !self.is_short(l)).count();
        let (holds, of) = if enough == 1 { ("holds", "") } else { ("hold", " respectively") };
        match self.sets {
            _ if enough == 0 => String::new(),
            None => {
                let columns = self.listed(|l| format!("lower_{0} to upper_{0}", l.percent()));
                format!("{columns} {holds} the value in at least {percents} of cases{of}")
            }
            Some(_) => {
                let columns = self.listed(|l| format!("set_{}", l.percent()));
                format!("{columns} {holds} the class in at least {percents} of cases{of}, labels joined by |")
            }
        }
    }

    /// One line for `predict`: what the calibration changed, and how to do without.
    pub(crate) fn used(&self) -> String {
        let promise = self.promise();
        let changed = match self.temperature {
            None => promise,
            Some(t) => {
                let probabilities = if t.value == 1.0 {
                    "probabilities stay as they are (temperature 1)".to_string()
                } else {
                    format!(
                        "probabilities and entropy are at temperature {}, aleatoric_entropy and mutual_information the members' own",
                        number(t.value)
                    )
                };
                if promise.is_empty() { probabilities } else { format!("{probabilities}; {promise}") }
            }
        };
        let changed = if changed.is_empty() { changed } else { format!(": {changed}") };
        format!("calibrated on {}{changed}{}", self.on(), either("; --uncalibrated turns it off", ""))
    }

    fn is_short(&self, level: &Level) -> bool {
        conformal::rank(self.rows, level.alpha).is_none()
    }

    /// Where the rows are too few for a level.
    pub(crate) fn too_few(&self) -> Vec<String> {
        let say = |l: &Level| {
            let what = if self.sets.is_some() { "every set holds all classes" } else { "every interval is infinite" };
            let n = conformal::least_rows(l.alpha);
            let needed = if n == 1 { "1 is".to_string() } else { format!("{n} are") };
            let alpha = largest_level(self.rows).map_or_else(String::new, |a| either(format!("--alpha {a}, or "), ""));
            let cure = either(format!("use {alpha}--data FILE with more rows"), "hold out more validation rows");
            format!(
                "{} calibration row{} cannot give {} % {}, {needed} needed: {what}; {cure}",
                self.rows,
                if self.rows == 1 { "" } else { "s" },
                l.percent(),
                self.what(),
            )
        };
        self.levels.iter().filter(|l| self.is_short(l)).map(say).collect()
    }

    pub(crate) fn empty_sets(&self, empty: usize, n: usize, level: &Level) -> Option<String> {
        (empty > 0).then(|| {
            format!(
                "{empty} of {n} sets in set_{} are empty: no class is probable enough there{}",
                level.percent(),
                either(" (--sets aps leaves no set empty)", "")
            )
        })
    }

    /// What the guarantee rests on, and where it ends.
    pub fn caveats(&self) -> Vec<String> {
        let mut out = self.too_few();
        out.extend(self.unchecked.then(|| NOT_COMPARED.into()));
        if self.source == Source::Validation {
            out.push(format!(
                "the validation rows also chose when to stop, so that the guarantee of the {} is not exact: {} with rows of their \
                 own makes it so",
                self.what(),
                either("--data FILE", "a file")
            ));
        }
        if self.source == Source::OutOfFold {
            out.push(format!(
                "cross-conformal: each row was predicted by the one member that held it out, new rows are by all, so that the {} tend \
                 to hold more than promised; what theory guarantees of such folds is at most twice the share of misses; {} with \
                 rows of their own gives the exact guarantee",
                self.what(),
                either("--data FILE", "a file")
            ));
        }
        out
    }

    /// How the temperature came about.
    pub fn temperature_said(&self) -> Option<String> {
        let t = self.temperature?;
        let nll = format!("NLL {} -> {} nats", number(t.nll_before), number(t.nll_after));
        Some(match t.verdict {
            Verdict::Fitted => format!("temperature {}: {nll} on these rows", number(t.value)),
            Verdict::AtMost => format!(
                "temperature {MOST}, its upper bound: {nll} on these rows, where the probabilities are worse than a guess"
            ),
            Verdict::NoGain => {
                "temperature 1: no other lowers the NLL of these rows by more than chance would (leave-one-out)".into()
            }
            Verdict::Unbounded => format!(
                "temperature 1: the NLL falls down to the lower bound {}, as where every row is right, and such rows cannot tell how far to \
                 sharpen",
                1.0 / MOST
            ),
            Verdict::FewRows => format!("temperature left at 1: choosing one takes at least {LEAST_ROWS} rows"),
        })
    }

    /// What the intervals or sets are.
    pub fn definition(&self) -> String {
        match self.sets {
            None => "Split conformal intervals mean ± q sd: q is the finite-sample quantile of |y - mean| / sd over the calibration rows."
                .into(),
            Some(Sets::Aps) => "Split conformal sets, adaptive (APS) without randomisation: the most probable classes, added until their \
                                probabilities sum to more than the threshold (equally probable ones together). Never empty; coverage is higher \
                                than asked where the first class alone is right more often. Probabilities are those before the temperature."
                .into(),
            Some(Sets::Lac) => "Split conformal sets, least ambiguous (LAC): all classes of probability at least 1 - threshold. A set may be empty. \
                                Probabilities are those before the temperature."
                .into(),
        }
    }

    /// One row per level; `target` is the unit of a width.
    pub fn levels_table(&self, target: &str) -> TextTable {
        let regression = self.sets.is_none();
        let mut t = TextTable::new(&if regression {
            ["level", "half width [sd]", "Gaussian [sd]", "", "sd of the coverage"]
        } else {
            ["level", "threshold", "least probability", "mean set size", "sd of the coverage"]
        });
        if regression {
            t.header[3] = format!("mean width [{target}]");
        }
        if self.sets == Some(Sets::Aps) {
            t.header.remove(2);
        }
        let or_infinite = |v: Option<f64>| v.map_or("infinite".to_string(), number);
        for l in &self.levels {
            let mut row = vec![format!("{} %", l.percent()), or_infinite(l.threshold)];
            match self.sets {
                None => row.push(number(gaussian_half_width(l.alpha))),
                Some(Sets::Lac) => row.push(number((1.0 - l.q()).max(0.0))),
                Some(Sets::Aps) => {}
            }
            row.push(or_infinite(l.mean_size));
            row.push(number(conformal::coverage_sd(self.rows, l.alpha).unwrap_or(0.0)));
            t.rows.push(row);
        }
        t
    }

    /// For a reader who sees no table.
    pub fn sentences(&self) -> Vec<String> {
        let mut out =
            vec![format!("Fitted on {}{}; predictions use it.", self.on(), either(" by `vifo calibrate`", ""))];
        out.extend(self.temperature_said().map(|t| format!("Class probabilities p^(1/T), normalised, with {t}.")));
        out.extend(self.levels.iter().map(|l| {
            let threshold = l.threshold.map_or("infinite".into(), number);
            let size = l.mean_size.map_or("infinite".into(), number);
            let of = if self.sets.is_some() { "mean set size" } else { "mean width" };
            format!("{} % {}: threshold {threshold}, {of} {size}.", l.percent(), self.what())
        }));
        out
    }
}

/// A round alpha that so many rows can give: the least of a few.
fn largest_level(rows: usize) -> Option<f64> {
    [0.05, 0.1, 0.2, 0.3, 0.5].into_iter().find(|alpha| conformal::rank(rows, *alpha).is_some())
}

/// Of rows that could not be compared with the training rows.
pub(super) const NOT_COMPARED: &str = "the run's own data cannot be read as it was: whether the calibration rows are training \
                                rows was not checked, and the error bars would be too narrow if they were";

/// Its place in the report.
pub const SLOT: &str = "calibration";
