//! Tables of one metric, method by method: a section for each network and pair of sets, ours beside the paper's.

use super::ask::ReproduceRequest;
use super::mapping::{Family, Method, Metric, PAPER_ETA_AUX, Rows, Set, network_names};
use super::measure::{MATCHED, Measured, test_results};
use super::paper::{Paper, has_eta_aux};
use super::plan::PlannedRun;
use super::tables::{ReproduceReport, difference, drop_empty, eta, full, ours, theirs};
use super::work::Prepared;
use crate::error::Result;
use crate::recipe::NetName;
use crate::report::compare::{Summary, summary};
use crate::results::Results;
use crate::study::run_set::RunStatus;
use crate::tables::TextTable;

/// One number of the paper and ours.
#[derive(Debug, Clone)]
pub struct Cell {
    pub set: &'static Set,
    /// The set tested on.
    pub tested: String,
    pub network: NetName,
    pub method: &'static Method,
    pub eta_aux: Option<f64>,
    pub ours: Option<Summary>,
    /// On the classes that both sets of a shift pair know.
    pub matched: Option<Summary>,
    pub paper: Option<(f64, f64)>,
}

/// All cells of a table, in the paper's order.
pub fn cells(p: &Prepared, metric: &Metric) -> Result<Vec<Cell>> {
    let mut out = vec![];
    for network in networks(&p.request) {
        for set in p.request.sets.iter().copied().filter(|s| p.request.networks_of(s).contains(&network)) {
            for tested in tested_on(p, set, metric.rows) {
                for method in p.request.methods.iter().copied() {
                    for eta_aux in rows_of(&p.request, method) {
                        let runs = p.runs.iter().filter(|r| {
                            (r.set, r.network, r.method, r.eta_aux) == (set, network, method, eta_aux)
                                && r.state == RunStatus::Done
                        });
                        let runs: Vec<&PlannedRun> = runs.collect();
                        let (ours, matched) = of_runs(p, &runs, metric, &tested)?;
                        let paper = paper_number(&p.paper, metric, (set, &tested, network, method, eta_aux));
                        out.push(Cell { set, tested: tested.clone(), network, method, eta_aux, ours, matched, paper });
                    }
                }
            }
        }
    }
    // A row of a set that the paper does not have and that we have no run of says nothing.
    out.retain(|c| c.paper.is_some() || c.ours.is_some());
    Ok(out)
}

fn networks(request: &ReproduceRequest) -> Vec<NetName> {
    let mut out = vec![];
    for network in request.sets.iter().flat_map(|s| request.networks_of(s)) {
        if !out.contains(&network) {
            out.push(network);
        }
    }
    out
}

/// The weights of auxiliary training of a method's rows: those trained with, and the paper's.
fn rows_of(request: &ReproduceRequest, method: &Method) -> Vec<Option<f64>> {
    if method.family != Family::Vifo {
        return vec![None];
    }
    let papers = PAPER_ETA_AUX.iter().filter(|_| !request.eta_aux_given);
    let mut all: Vec<f64> = papers.chain(&request.eta_aux).copied().collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.into_iter().map(Some).collect()
}

/// The sets that a set's runs are tested on in this table.
fn tested_on(p: &Prepared, set: &Set, rows: Rows) -> Vec<String> {
    match rows {
        Rows::Test => vec![set.name.into()],
        Rows::Shift => set.shift.into_iter().map(String::from).collect(),
        Rows::Outside => {
            let named = p.request.ood.iter().map(|(name, _)| name.clone());
            set.outside.iter().map(|s| s.to_string()).chain(named).collect()
        }
    }
}

type Place<'a> = (&'a Set, &'a str, NetName, &'a Method, Option<f64>);

fn paper_number(paper: &Paper, metric: &Metric, (set, tested, network, method, eta_aux): Place) -> Option<(f64, f64)> {
    if eta_aux.is_some_and(|e| !has_eta_aux(e)) {
        return None;
    }
    let tested = super::mapping::SETS.iter().find(|s| s.name == tested)?.paper?;
    paper.find(metric.paper, (set.paper?, tested), network_names(network).1?, method, eta_aux)
}

fn of_runs(
    p: &Prepared,
    runs: &[&PlannedRun],
    metric: &Metric,
    tested: &str,
) -> Result<(Option<Summary>, Option<Summary>)> {
    let (mut values, mut matched) = (vec![], vec![]);
    for run in runs {
        if metric.rows == Rows::Test {
            values.extend(test_results(run)?.get(metric.ours));
            continue;
        }
        let measured = Measured::read(run);
        let partner = p.partners(run.set).into_iter().find(|q| q.name == tested);
        let results: Option<&[Results]> = match &partner {
            Some(partner) => measured.on(partner),
            None => measured.last_on(tested, metric.rows == Rows::Shift),
        };
        for r in results.unwrap_or_default() {
            let to = if r.set == MATCHED { &mut matched } else { &mut values };
            to.extend(r.get(metric.ours));
        }
    }
    let of = |v: Vec<f64>| (!v.is_empty()).then(|| summary(&v));
    Ok((of(values), of(matched)))
}

pub fn report(p: &Prepared, metric: &Metric) -> Result<ReproduceReport> {
    let cells = cells(p, metric)?;
    let mut out = ReproduceReport::new(
        format!("{}: {} ({})", p.request.table.name, p.request.table.title, p.request.table.source),
        &[
            "table",
            "metric",
            "network",
            "trained_on",
            "tested_on",
            "method",
            "eta_aux",
            "ours_mean",
            "ours_sd",
            "ours_runs",
            "ours_matched_mean",
            "ours_matched_sd",
            "paper_mean",
            "paper_sd",
        ],
    );
    let mut at: Option<(NetName, &str, String)> = None;
    for c in &cells {
        let place = (c.network, c.set.name, c.tested.clone());
        if at.as_ref() != Some(&place) {
            let to = if c.tested == c.set.name { String::new() } else { format!(" → {}", c.tested) };
            let heading = format!("{}{to}, {}, {}", c.set.name, network_names(c.network).0, metric.title);
            let header = ["method", "eta_aux", "ours", "runs", "ours, shared classes", "paper", "ours - paper"];
            out.sections.push((heading, TextTable::new(&header)));
            at = Some(place);
        }
        if let Some((_, table)) = out.sections.last_mut() {
            table.rows.push(vec![
                c.method.paper.into(),
                eta(c.eta_aux),
                ours(c.ours.as_ref()),
                c.ours.map_or(String::new(), |s| s.n.to_string()),
                ours(c.matched.as_ref()),
                theirs(c.paper),
                difference(c.ours.as_ref(), c.paper),
            ]);
        }
        out.flat.rows.push(vec![
            p.request.table.name.into(),
            metric.paper.into(),
            network_names(c.network).0.into(),
            c.set.name.into(),
            c.tested.clone(),
            c.method.paper.into(),
            eta(c.eta_aux),
            full(c.ours.map(|s| s.mean)),
            full(c.ours.and_then(|s| s.sd)),
            c.ours.map_or(String::new(), |s| s.n.to_string()),
            full(c.matched.map(|s| s.mean)),
            full(c.matched.and_then(|s| s.sd)),
            full(c.paper.map(|p| p.0)),
            full(c.paper.map(|p| p.1)),
        ]);
    }
    if cells.iter().any(|c| c.matched.is_some()) {
        out.notes.push("shared classes: without frog and monkey, which the other set does not have".into());
    }
    for (_, table) in &mut out.sections {
        *table = drop_empty(std::mem::take(table));
    }
    super::figures::of_cells(p, metric, &cells, &mut out)?;
    Ok(out)
}
