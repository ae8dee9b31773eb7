//! The figure: a panel for each metric, a row for each set, a mark for each tool.

use super::compare::{Cell, Compared};
use super::metrics::{COVERAGE, CRPS, LEVEL, NLL, RMSE, SECONDS, WIDTH};
use super::report::{cell, tools_of};
use super::work::Prepared;
use crate::figure::{ComparisonFigure, ComparisonPanel, ComparisonScale};

/// How a metric is drawn.
#[derive(Clone, Copy)]
enum Shown {
    /// Divided by vifo's.
    Ratio,
    /// Minus vifo's.
    Difference,
    Itself,
}

const PANELS: [(usize, Shown, ComparisonScale, Option<f64>, &str); 6] = [
    (RMSE, Shown::Ratio, ComparisonScale::Log, Some(1.0), "RMSE / vifo's (lower is better)"),
    (CRPS, Shown::Ratio, ComparisonScale::Log, Some(1.0), "CRPS / vifo's (lower is better)"),
    (NLL, Shown::Difference, ComparisonScale::SymLog, Some(0.0), "NLL - vifo's, nats (lower is better)"),
    (COVERAGE, Shown::Itself, ComparisonScale::Linear, Some(LEVEL), "coverage of 90 % intervals (best at 0.9)"),
    (WIDTH, Shown::Ratio, ComparisonScale::Log, Some(1.0), "width of 90 % intervals / vifo's"),
    (SECONDS, Shown::Itself, ComparisonScale::Log, None, "seconds to fit and test one split"),
];

/// Value, and the ends of its bar.
fn mark(c: Cell, own: Option<Cell>, shown: Shown) -> (f64, f64, f64) {
    let error = c.error.unwrap_or(f64::NAN);
    match shown {
        Shown::Ratio => {
            let own = own.map_or(f64::NAN, |own| own.mean);
            (c.mean / own, (c.mean - error) / own, (c.mean + error) / own)
        }
        Shown::Difference => (c.difference, c.difference - error, c.difference + error),
        Shown::Itself => (c.mean, f64::NAN, f64::NAN),
    }
}

pub fn figure(p: &Prepared, all: &[Compared]) -> ComparisonFigure {
    let tools = tools_of(p, all);
    let panel = |(at, shown, scale, line, label): (usize, Shown, ComparisonScale, Option<f64>, &str)| {
        let marks = |tool: Option<usize>| {
            let of = |c: &Compared| {
                cell(c, tool, at).map_or((f64::NAN, f64::NAN, f64::NAN), |found| mark(found, c.ours[at], shown))
            };
            all.iter().map(of).collect()
        };
        let marks = tools.iter().map(|(tool, _)| marks(*tool)).collect();
        ComparisonPanel { x_label: label.into(), scale, line, marks }
    };
    let panels = PANELS.map(panel).into();
    let (least, most) = (all.iter().map(|c| c.splits.len()).min(), all.iter().map(|c| c.splits.len()).max());
    let splits = match (least.unwrap_or(0), most.unwrap_or(0)) {
        (1, 1) => "one split".into(),
        (least, most) if least == most => format!("mean over {most} splits"),
        (least, most) => format!("mean over {least} to {most} splits"),
    };
    ComparisonFigure {
        title: format!("UCI tables: {} beside other tools", p.request.subject()),
        note: format!("{splits} of each set · bars: ±1 standard error of the difference to vifo"),
        rows: all.iter().map(|c| c.set.short.to_string()).collect(),
        series: tools.into_iter().map(|(_, name)| name).collect(),
        panels,
    }
}
