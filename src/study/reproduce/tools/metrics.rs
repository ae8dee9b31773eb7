//! What is compared.

/// Of one split or of a mean over splits, in the order of `METRICS`; None = the tool gives none.
pub type Figures = [Option<f64>; METRICS.len()];

/// Which value of a metric is the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Best {
    Lowest,
    Nearest(f64),
    /// No value is better by itself.
    NoneIs,
}

#[derive(Debug, PartialEq)]
pub struct Metric {
    /// In results.jsonl and in the file of the other tools.
    pub name: &'static str,
    pub title: &'static str,
    pub best: Best,
    /// In the target's unit: with as many decimals as the set has.
    pub in_unit: bool,
}

/// The nominal level of the intervals.
pub const LEVEL: f64 = 0.9;

const fn metric(name: &'static str, title: &'static str, best: Best, in_unit: bool) -> Metric {
    Metric { name, title, best, in_unit }
}

pub const METRICS: [Metric; 6] = [
    metric("rmse", "RMSE, in the target's unit ↓", Best::Lowest, true),
    metric("nll", "NLL, nats ↓", Best::Lowest, false),
    metric("crps", "CRPS, in the target's unit ↓", Best::Lowest, true),
    metric("coverage_90", "coverage of 90 % intervals, best at 0.9", Best::Nearest(LEVEL), false),
    metric("width_90", "width of 90 % intervals, in the target's unit", Best::NoneIs, true),
    metric("seconds", "seconds to fit and test one split", Best::NoneIs, false),
];

pub const RMSE: usize = 0;
pub const NLL: usize = 1;
pub const CRPS: usize = 2;
pub const COVERAGE: usize = 3;
pub const WIDTH: usize = 4;
pub const SECONDS: usize = 5;

impl Metric {
    /// How far a value is from the best one; None where no value is better.
    pub fn loss(&self, value: f64) -> Option<f64> {
        match self.best {
            Best::Lowest => Some(value),
            Best::Nearest(level) => Some((value - level).abs()),
            Best::NoneIs => None,
        }
    }

    /// "0.531", or "0.531 ± 0.021". `decimals` are those of the set's published RMSE: a difference needs one more.
    pub fn shown(&self, value: f64, error: Option<f64>, decimals: usize) -> String {
        if self.name == METRICS[SECONDS].name {
            // From hundredths to thousands of a second; what the machine does beside it blurs the difference.
            let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
            return format!("{value:.decimals$}");
        }
        let decimals = if self.in_unit { decimals + 1 } else { 3 };
        format!("{value:.decimals$}{}", error.map_or(String::new(), |e| format!(" ± {e:.decimals$}")))
    }
}
