//! The tables: for each metric the tools in rows and the sets in columns, all on the same splits.

use super::compare::{Cell, Compared, compare};
use super::metrics::{CRPS, METRICS, NLL, RMSE};
use super::peers::title;
use super::picture::figure;
use super::work::Prepared;
use crate::error::Result;
use crate::figure::exact;
use crate::run::{RunFolder, write_atomic};
use crate::study::reproduce::tables::{BEST, ReproduceReport, full};
use crate::tables::{Format, TextTable};

pub const OURS: &str = "vifo";

pub fn report(p: &Prepared) -> Result<ReproduceReport> {
    let peers = &p.request.peers;
    let all: Vec<Compared> = p.units.iter().filter_map(|u| compare(u.set(), &p.ours(u), peers)).collect();
    let heading = format!(
        "tables: {} beside other tools {}, mean over the same splits; ± is the standard error of the difference to vifo, \
         split by split",
        p.request.subject(),
        peers.settings()
    );
    let flat =
        ["dataset", "tool", "metric", "mean", "difference", "standard_error_of_difference", "splits", "versions"];
    let mut out = ReproduceReport::new(heading, &flat);
    out.notes = notes(p, &all);
    if all.is_empty() {
        return Ok(out);
    }
    for (at, metric) in METRICS.iter().enumerate() {
        out.sections.push((metric.title.into(), matrix(p, &all, at)));
        lines(p, &all, at, &mut out.flat);
    }
    if all.iter().any(|c| c.theirs.iter().any(Option::is_some)) {
        let heading =
            "sets on which vifo is ahead, level and behind, by two standard errors; geometric means of ratios";
        out.sections.push((heading.into(), verdicts(p, &all)));
    }
    out.sections.push(("tools".into(), tools(p, &all)));
    keep(p, &all, &mut out)?;
    Ok(out)
}

/// Names for people, vifo's first.
pub fn tools_of(p: &Prepared, all: &[Compared]) -> Vec<(Option<usize>, String)> {
    let takes_part = |i: usize| all.iter().any(|c| c.theirs[i].is_some());
    let methods = p.request.peers.methods.iter().enumerate().filter(|(i, _)| takes_part(*i));
    std::iter::once((None, OURS.into())).chain(methods.map(|(i, m)| (Some(i), title(m)))).collect()
}

/// A tool's value on a set.
pub fn cell(c: &Compared, tool: Option<usize>, at: usize) -> Option<Cell> {
    match tool {
        None => c.ours[at],
        Some(i) => c.theirs[i].and_then(|cells| cells[at]),
    }
}

fn matrix(p: &Prepared, all: &[Compared], at: usize) -> TextTable {
    let metric = &METRICS[at];
    let tools = tools_of(p, all);
    let mut table = TextTable::new(&["tool"]);
    table.header.extend(all.iter().map(|c| c.set.short.to_string()));
    table.rows.push(std::iter::once("splits".into()).chain(all.iter().map(|c| c.splits.len().to_string())).collect());
    let best: Vec<Option<String>> = all.iter().map(|c| best(c, &tools, at)).collect();
    for (tool, name) in &tools {
        let mut row = vec![name.clone()];
        for (c, best) in all.iter().zip(&best) {
            let text = |cell: Cell| {
                let text = metric.shown(cell.mean, cell.error, c.set.decimals);
                // What reads the same is as good.
                let is_best = metric.loss(cell.mean).map(|loss| metric.shown(loss, None, c.set.decimals)) == *best;
                if is_best && best.is_some() { format!("{}{text}{}", BEST.0, BEST.1) } else { text }
            };
            row.push(cell(c, *tool, at).map_or(String::new(), text));
        }
        table.rows.push(row);
    }
    // A tool that does not give the metric has no row.
    table.rows.retain(|row| row[0] == OURS || row[1..].iter().any(|cell| !cell.is_empty()));
    table
}

/// The least loss as it is shown; None where no value is better by itself, or where there is nothing to compare.
fn best(c: &Compared, tools: &[(Option<usize>, String)], at: usize) -> Option<String> {
    let losses = tools.iter().filter_map(|(tool, _)| METRICS[at].loss(cell(c, *tool, at)?.mean));
    let losses: Vec<f64> = losses.collect();
    let least = losses.iter().copied().min_by(f64::total_cmp).filter(|_| losses.len() > 1)?;
    Some(METRICS[at].shown(least, None, c.set.decimals))
}

fn lines(p: &Prepared, all: &[Compared], at: usize, flat: &mut TextTable) {
    for c in all {
        for (tool, _) in tools_of(p, all) {
            let Some(found) = cell(c, tool, at) else { continue };
            let peers = &p.request.peers;
            let (name, versions) = match tool {
                None => (OURS, our_versions(p)),
                Some(i) => (peers.methods[i].as_str(), peers.versions(&peers.methods[i])),
            };
            let mut row: Vec<String> = [c.set.name, name, METRICS[at].name].map(String::from).into();
            row.extend([exact(found.mean), exact(found.difference), full(found.error)]);
            row.extend([c.splits.len().to_string(), versions]);
            flat.rows.push(row);
        }
    }
}

/// How a difference beyond two standard errors counts, and one within them.
fn verdicts(p: &Prepared, all: &[Compared]) -> TextTable {
    let mut table = TextTable::new(&["against", "RMSE", "NLL", "CRPS", "its RMSE / vifo's", "its CRPS / vifo's"]);
    for (tool, name) in tools_of(p, all).into_iter().filter(|(tool, _)| tool.is_some()) {
        let cells = |at: usize| all.iter().filter_map(|c| Some((cell(c, tool, at)?, c.ours[at]?))).collect::<Vec<_>>();
        let count = |at: usize| {
            let clear = |c: &Cell| c.error.is_some_and(|e| c.difference.abs() > 2.0 * e);
            let cells = cells(at);
            let ahead = cells.iter().filter(|(c, _)| clear(c) && c.difference > 0.0).count();
            let behind = cells.iter().filter(|(c, _)| clear(c) && c.difference < 0.0).count();
            if cells.is_empty() {
                String::new()
            } else {
                format!("{ahead}, {}, {behind}", cells.len() - ahead - behind)
            }
        };
        let ratio = |at: usize| {
            let logs: Vec<f64> = cells(at).iter().map(|(theirs, own)| libm::log(theirs.mean / own.mean)).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            if logs.is_empty() { String::new() } else { format!("{:.3}", libm::exp(mean)) }
        };
        table.rows.push(vec![name, count(RMSE), count(NLL), count(CRPS), ratio(RMSE), ratio(CRPS)]);
    }
    table
}

fn our_versions(p: &Prepared) -> String {
    let mut all: Vec<String> = vec![];
    for unit in &p.units {
        let owned = p.store.results.iter().filter(|r| unit.source.set.name == r.set && r.default == unit.default);
        for text in owned.map(|r| format!("vifo {} ({})", r.vifo, r.git)) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    all.join(", ")
}

fn tools(p: &Prepared, all: &[Compared]) -> TextTable {
    let peers = &p.request.peers;
    let mut table = TextTable::new(&["tool", "name for --methods", "versions"]);
    for (tool, name) in tools_of(p, all) {
        let (method, versions) = match tool {
            None => (String::new(), our_versions(p)),
            Some(i) => (peers.methods[i].clone(), peers.versions(&peers.methods[i])),
        };
        table.rows.push(vec![name, method, versions]);
    }
    table
}

fn notes(p: &Prepared, all: &[Compared]) -> Vec<String> {
    let mut notes = p.notes.clone();
    for c in all {
        let name = c.set.name;
        if !p.request.peers.methods.is_empty() && c.theirs.iter().all(Option::is_none) {
            let why = if c.lacking.is_empty() { "there are none" } else { "they have none in common" };
            notes.push(format!("{name}: vifo alone, without splits of the other tools: {why}"));
        } else if c.splits.len() < c.of {
            let (n, of, lacking) = (c.splits.len(), c.of, c.lacking.join(", "));
            notes.push(format!("{name}: {n} of vifo's {of} splits, those that all have: {lacking} have fewer"));
        }
    }
    if !p.request.keys.is_empty() {
        let keys: Vec<String> = p.request.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        notes.push(format!("vifo: not its default, but with {}", keys.join(", ")));
    }
    let mut ran: Vec<&str> = vec![];
    for r in p.store.results.iter().filter(|r| p.units.iter().any(|u| u.default == r.default)) {
        if !ran.contains(&r.device.as_str()) {
            ran.push(&r.device);
        }
    }
    if !ran.is_empty() {
        notes.push(format!(
            "seconds: of the processor on one thread for the other tools, and for vifo where it has one, else of the clock: vifo on {}; \
             measured at different times",
            ran.join(" and ")
        ));
    }
    notes.push(format!(
        "the other tools: {}; sd of the residuals for ridge and MLP, variance between trees for the forest; figures by bench/tables",
        p.request.peers.settings()
    ));
    notes
}

/// Tables and figure into the folder of results.
fn keep(p: &Prepared, all: &[Compared], out: &mut ReproduceReport) -> Result<()> {
    let folder = RunFolder { path: p.request.folder.clone() };
    let notes: String = out.notes.iter().map(|n| format!("- {n}\n")).collect();
    for (file, format) in [("tables.csv", Format::Csv), ("tables.md", Format::Markdown), ("tables.txt", Format::Text)] {
        let notes = if format == Format::Csv { String::new() } else { format!("\n{notes}") };
        write_atomic(&folder.file(file), (out.render(format) + &notes).as_bytes())?;
    }
    let figure = figure(p, all);
    let saved = crate::figure::comparison(&folder.figures(), "tables", &figure)?;
    out.figures.push((saved.svg, format!("{}.", figure.title)));
    Ok(())
}
