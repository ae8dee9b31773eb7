//! The tables and the figure: ours, mean and standard error over splits, above the published ones.

use super::published::{DEEP_ENSEMBLES, Number};
use super::sets::Set;
use super::work::{Prepared, Unit};
use crate::base::counted::counted;
use crate::error::Result;
use crate::figure::{IntervalsFigure, IntervalsSeries};
use crate::method::{swa, swag};
use crate::report::compare::summary;
use crate::run::{RunFolder, write_atomic};
use crate::study::reproduce::tables::{ReproduceReport, full};
use crate::tables::{Format, TextTable};

/// A quantity of the protocol.
struct Metric {
    /// In the published table.
    name: &'static str,
    title: &'static str,
    of: fn(&super::store::SplitResult) -> f64,
}

const LL: Metric = Metric { name: "test_ll", title: "test log-likelihood, nats ↑", of: |o| o.test_ll };
const RMSE: Metric = Metric { name: "rmse", title: "RMSE, in the target's unit ↓", of: |o| o.rmse };

/// Ours: mean and standard error over splits, and how many there are. Seeds of a split are averaged first: they share its
/// rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    pub mean: f64,
    pub standard_error: Option<f64>,
    pub splits: usize,
    pub runs: usize,
}

fn cell(p: &Prepared, unit: &Unit, metric: &Metric) -> Option<Cell> {
    let wanted = |o: &&super::store::SplitResult| {
        p.request.seeds.contains(&o.seed) && p.request.splits.as_ref().is_none_or(|s| s.contains(&o.split))
    };
    let runs: Vec<_> = unit.results.splits.iter().filter(wanted).collect();
    let mut splits: Vec<u32> = runs.iter().map(|o| o.split).collect();
    splits.sort_unstable();
    splits.dedup();
    let mean_of = |split: &u32| {
        let values: Vec<f64> = runs.iter().filter(|o| o.split == *split).map(|o| (metric.of)(o)).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let means: Vec<f64> = splits.iter().map(mean_of).collect();
    let s = summary(&means);
    let standard_error = s.sd.map(|sd| sd / (means.len() as f64).sqrt());
    (!means.is_empty()).then_some(Cell { mean: s.mean, standard_error, splits: means.len(), runs: runs.len() })
}

/// "-2.95 ± 0.02".
fn shown(mean: f64, error: Option<f64>, decimals: usize) -> String {
    format!("{mean:.decimals$}{}", error.map_or(String::new(), |e| format!(" ± {e:.decimals$}")))
}

fn decimals(metric: &Metric, set: &Set) -> usize {
    if metric.name == RMSE.name { set.decimals } else { 2 }
}

/// The published numbers have two decimals: so does the comparison with them.
fn hundredths(v: f64) -> i64 {
    (v * 100.0).round() as i64
}

pub fn report(p: &Prepared) -> Result<ReproduceReport> {
    let title = format!(
        "uci: regression on the UCI sets, ensembles of {}, mean ± standard error over splits",
        p.request.members
    );
    let flat = [
        "dataset",
        "method",
        "origin",
        "metric",
        "mean",
        "standard_error",
        "splits",
        "runs",
        "printed_error",
        "printed_error_is",
        "source",
    ];
    let mut out = ReproduceReport::new(title, &flat);
    for metric in [&LL, &RMSE] {
        let table = matrix(p, metric, &mut out.flat);
        out.sections.push((metric.title.into(), table));
    }
    let differences = differences(p);
    if !differences.rows.is_empty() {
        let heading = "test log-likelihood, ours - Deep Ensembles' as published".to_string();
        out.sections.push((heading, differences));
    }
    out.notes = notes(p);
    if p.units.iter().any(|u| cell(p, u, &LL).is_some()) {
        keep(p, &mut out)?;
    }
    Ok(out)
}

/// Rows are methods, ours first; columns are sets.
fn matrix(p: &Prepared, metric: &Metric, flat: &mut TextTable) -> TextTable {
    let sets = sets(p);
    let mut table = TextTable::new(&["method"]);
    table.header.extend(sets.iter().map(|s| s.short.to_string()));
    for method in &p.request.methods {
        let mut row = vec![method.title.to_string()];
        for set in &sets {
            let unit = p.units.iter().find(|u| u.set == *set && u.method == *method);
            let found = unit.and_then(|u| cell(p, u, metric));
            row.push(found.map_or(String::new(), |c| shown(c.mean, c.standard_error, decimals(metric, set))));
            if let Some(c) = found {
                let mut line: Vec<String> = [set.name, method.ours, "ours", metric.name].map(String::from).into();
                line.extend([full(Some(c.mean)), full(c.standard_error), c.splits.to_string(), c.runs.to_string()]);
                line.extend([String::new(), String::new(), String::new()]);
                flat.rows.push(line);
            }
        }
        table.rows.push(row);
    }
    for method in p.published.methods() {
        let numbers: Vec<Option<&Number>> = sets.iter().map(|s| p.published.find(s, method, metric.name)).collect();
        if numbers.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![format!("{method}, published")];
        for (set, number) in sets.iter().zip(numbers) {
            row.push(number.map_or(String::new(), |n| shown(n.mean, n.standard_error(set), 2)));
            if let Some(n) = number {
                let mut line: Vec<String> = [set.name, method, "published", metric.name].map(String::from).into();
                line.extend([full(Some(n.mean)), full(n.standard_error(set)), set.splits.to_string(), String::new()]);
                let kind = if n.is_sd { "standard deviation over splits" } else { "standard error" };
                line.extend([full(n.error), kind.into(), n.source.clone()]);
                flat.rows.push(line);
            }
        }
        table.rows.push(row);
    }
    table
}

fn sets(p: &Prepared) -> Vec<&'static Set> {
    p.sources.iter().map(|s| s.set).collect()
}

/// Ours minus Deep Ensembles' log-likelihood, and on how many sets it is at least as high.
fn differences(p: &Prepared) -> TextTable {
    let sets = sets(p);
    let mut table = TextTable::new(&["method"]);
    table.header.extend(sets.iter().map(|s| s.short.to_string()));
    table.header.push("at least as high".into());
    for method in &p.request.methods {
        let pairs: Vec<Option<(f64, f64)>> = sets.iter().map(|set| against(p, set, method.ours)).collect();
        let known: Vec<(f64, f64)> = pairs.iter().flatten().copied().collect();
        if known.is_empty() {
            continue;
        }
        let won = known.iter().filter(|(ours, theirs)| hundredths(*ours) >= hundredths(*theirs)).count();
        let mut row = vec![method.title.to_string()];
        row.extend(pairs.iter().map(|d| d.map_or(String::new(), |(ours, theirs)| format!("{:+.2}", ours - theirs))));
        row.push(format!("{won} of {}", known.len()));
        table.rows.push(row);
    }
    table
}

fn against(p: &Prepared, set: &Set, method: &str) -> Option<(f64, f64)> {
    let unit = p.units.iter().find(|u| u.set == set && u.method.ours == method)?;
    Some((cell(p, unit, &LL)?.mean, p.published.find(set, DEEP_ENSEMBLES, LL.name)?.mean))
}

fn notes(p: &Prepared) -> Vec<String> {
    let mut notes = p.notes.clone();
    for source in &p.sources {
        let counts: Vec<usize> =
            p.units.iter().filter(|u| u.set == source.set).filter_map(|u| Some(cell(p, u, &LL)?.splits)).collect();
        let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
        if let (Some(least), Some(most)) = (least, most)
            && (least as u32) < source.set.splits
        {
            let n = if least == most { least.to_string() } else { format!("{least} to {most}") };
            notes.push(format!("{}: {n} of the protocol's {} splits", source.set.name, source.set.splits));
        }
    }
    let epochs = match p.request.epochs {
        Some(n) => counted(n as usize, "epoch"),
        None => "200 epochs, up to 1000 where 200 are fewer than 3,000 steps".into(),
    };
    notes.push(format!(
        "ours: one hidden layer of 50 units (protein 100), {epochs}, batches of {}, Adam at 0.01 with cosine decay; a tenth \
         of each training part decides when to stop, test rows decide nothing; one setting for all sets and methods",
        p.request.batch.unwrap_or(32)
    ));
    if p.request.methods.iter().any(|m| [swa::NAME, swag::NAME].contains(&m.ours)) {
        notes.push("SWA and SWAG: SGD at 0.01, momentum 0.9, with the paper's schedule, and no early stopping".into());
    }
    notes.push(
        "published: 40 epochs, 400 in the MC dropout re-runs; Deep Ensembles print a standard deviation over splits, here \
         divided by the root of their number"
            .into(),
    );
    notes
}

/// Tables and figure into the folder of results.
fn keep(p: &Prepared, out: &mut ReproduceReport) -> Result<()> {
    let folder = RunFolder { path: p.request.folder.clone() };
    let notes: String = out.notes.iter().map(|n| format!("- {n}\n")).collect();
    for (file, format) in [("uci.csv", Format::Csv), ("uci.md", Format::Markdown), ("uci.txt", Format::Text)] {
        let notes = if format == Format::Csv { String::new() } else { format!("\n{notes}") };
        write_atomic(&folder.file(file), (out.render(format) + &notes).as_bytes())?;
    }
    let figure = figure(p);
    let saved = crate::figure::intervals(&folder.figures(), "uci-log-likelihood", &figure)?;
    out.figures.push((saved.svg, format!("{}.", figure.title)));
    Ok(())
}

/// A mean and, where there are several splits, its standard error.
type Point = (f64, Option<f64>);

/// Log-likelihoods beside Deep Ensembles': one row per set.
fn figure(p: &Prepared) -> IntervalsFigure {
    let sets: Vec<&Set> =
        sets(p).into_iter().filter(|s| p.published.find(s, DEEP_ENSEMBLES, LL.name).is_some()).collect();
    let base = |set: &Set| p.published.find(set, DEEP_ENSEMBLES, LL.name).map(|n| (n.mean, n.standard_error(set)));
    let series = |name: String, of: &dyn Fn(&Set) -> Option<Point>| {
        let points: Vec<Option<Point>> = sets.iter().map(|s| of(s)).collect();
        let middle = |(point, set): (&Option<Point>, &&Set)| {
            point.zip(base(set)).map_or(f64::NAN, |((mean, _), (zero, _))| mean - zero)
        };
        IntervalsSeries {
            name,
            middle: points.iter().zip(&sets).map(middle).collect(),
            half_width: points.iter().map(|p| p.and_then(|p| p.1).unwrap_or(f64::NAN)).collect(),
            hollow: false,
        }
    };
    let mut all = vec![];
    for method in &p.request.methods {
        let of = |set: &Set| {
            let unit = p.units.iter().find(|u| u.set == set && u.method == *method)?;
            cell(p, unit, &LL).map(|c| (c.mean, c.standard_error))
        };
        all.push(series(method.title.into(), &of));
    }
    for method in p.published.methods() {
        let of = |set: &Set| p.published.find(set, method, LL.name).map(|n| (n.mean, n.standard_error(set)));
        all.push(IntervalsSeries { hollow: true, ..series(format!("{method}, published"), &of) });
    }
    all.retain(|s| s.middle.iter().any(|v| v.is_finite()));
    IntervalsFigure {
        title: "Test log-likelihood on the UCI sets, against Deep Ensembles as published".into(),
        x_label: "test log-likelihood - Deep Ensembles', nats (higher is better)".into(),
        rows: sets.iter().map(|s| s.short.to_string()).collect(),
        note: "bars: ±1 standard error over splits · filled: ours; rings: as published".into(),
        zero: true,
        series: all,
    }
}
