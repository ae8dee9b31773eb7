//! Ensembles by size: test NLL of 1, 2, ... members of the same runs (fig. in section Ensembles), and tab:single-ens.

use super::curves::label;
use super::mapping::{PAPER_SINGLE, network_names};
use super::measure::Measured;
use super::plan::PlannedRun;
use super::tables::{ReproduceReport, drop_empty, eta, full, groups, mean_sd, ours, theirs};
use super::work::Prepared;
use crate::error::Result;
use crate::figure::{CurvesFigure, Series};
use crate::recipe::NetName;
use crate::report::compare::{Summary, summary};
use crate::study::run_set::RunStatus;
use crate::tables::TextTable;

/// Mean and sd over seeds for each size.
fn by_size(runs: &[&PlannedRun]) -> Vec<Summary> {
    let all: Vec<Vec<f64>> = runs.iter().filter_map(|r| Measured::read(r).nll_by_size).collect();
    let sizes = all.iter().map(Vec::len).min().unwrap_or(0);
    (0..sizes).map(|i| summary(&all.iter().map(|v| v[i]).collect::<Vec<_>>())).collect()
}

fn done(p: &Prepared) -> Vec<Vec<&PlannedRun>> {
    groups(p.runs.iter().filter(|r| r.state == RunStatus::Done))
}

pub fn report(p: &Prepared) -> Result<ReproduceReport> {
    let title = format!("ensemble-size: {} ({})", p.request.table.title, p.request.table.source);
    let flat = ["table", "network", "trained_on", "method", "eta_aux", "members", "nll_mean", "nll_sd", "runs"];
    let mut out = ReproduceReport::new(title, &flat);
    let all = done(p);
    let mut seen: Vec<(&str, &str)> = vec![];
    for place in all.iter().map(|g| (g[0].set.name, network_names(g[0].network).0)) {
        if seen.contains(&place) {
            continue;
        }
        seen.push(place);
        let (set, net) = place;
        let mut table = TextTable::new(&["method", "eta_aux", "runs"]);
        table.header.extend((1..=p.request.members).map(|m| format!("{m} member{}", if m > 1 { "s" } else { "" })));
        let mut series = vec![];
        for group in all.iter().filter(|g| (g[0].set.name, network_names(g[0].network).0) == place) {
            let sizes = by_size(group);
            let mut row = vec![group[0].method.paper.into(), eta(group[0].eta_aux), group.len().to_string()];
            row.extend(sizes.iter().map(|s| mean_sd(s.mean, s.sd)));
            table.rows.push(row);
            series.push(Series {
                name: label(group[0]),
                x: (1..=sizes.len()).map(|m| m as f64).collect(),
                y: sizes.iter().map(|s| s.mean).collect(),
                sd: (group.len() > 1).then(|| sizes.iter().map(|s| s.sd.unwrap_or(0.0)).collect()),
            });
            for (i, s) in sizes.iter().enumerate() {
                let mut line: Vec<String> = ["ensemble-size", net, set, group[0].method.paper].map(String::from).into();
                line.extend([
                    eta(group[0].eta_aux),
                    (i + 1).to_string(),
                    full(Some(s.mean)),
                    full(s.sd),
                    s.n.to_string(),
                ]);
                out.flat.rows.push(line);
            }
        }
        out.sections.push((format!("{set}, {net}, test NLL, nats ↓"), table));
        let figure = CurvesFigure {
            title: format!("Test NLL by size of the ensemble, {set}, {net}"),
            x_label: "members".into(),
            y_label: "test NLL, nats".into(),
            series,
            ..Default::default()
        };
        out.draw(&p.request.runs, &format!("ensemble-size-{}", p.stem(set, net)), &figure)?;
    }
    out.notes.push(
        "a size is the mean over neighbours among the members of each run; nothing is retrained. The paper draws this \
         figure and prints no numbers"
            .into(),
    );
    Ok(out)
}

/// tab:single-ens; the paper's are of AlexNet.
pub fn single_and_ensemble(p: &Prepared) -> Result<ReproduceReport> {
    let title = format!("table2: {} ({})", p.request.table.title, p.request.table.source);
    let flat = [
        "table",
        "network",
        "trained_on",
        "method",
        "eta_aux",
        "members",
        "ours_mean",
        "ours_sd",
        "ours_runs",
        "paper_mean",
        "paper_sd",
    ];
    let mut out = ReproduceReport::new(title, &flat);
    let all = done(p);
    let mut networks: Vec<NetName> = vec![];
    for set in p.request.sets.iter() {
        networks.extend(p.request.networks_of(set).into_iter().filter(|n| !networks.contains(n)).collect::<Vec<_>>());
    }
    for network in networks {
        let mut table = TextTable::new(&["set", "method", "eta_aux", "runs", "single, ours", "single, paper"]);
        table.header.extend([format!("{} members, ours", p.request.members), "5 members, paper".into()]);
        let sets = p.request.sets.iter().copied().filter(|s| p.request.networks_of(s).contains(&network));
        for (set, method) in sets.flat_map(|s| p.request.methods.iter().map(move |m| (s, *m))) {
            for eta_aux in p.request.eta_aux_of(method) {
                let group = all
                    .iter()
                    .find(|g| (g[0].set, g[0].network, g[0].method, g[0].eta_aux) == (set, network, method, eta_aux));
                let sizes = group.map(|g| by_size(g)).unwrap_or_default();
                let papers = PAPER_SINGLE
                    .iter()
                    .find(|(s, m, ..)| Some(*s) == set.paper && *m == method.paper)
                    .filter(|_| network == NetName::AlexNet && eta_aux == Some(0.1));
                let (first, last) = (sizes.first(), sizes.last().filter(|_| sizes.len() > 1));
                if papers.is_none() && first.is_none() {
                    continue;
                }
                table.rows.push(vec![
                    set.name.into(),
                    method.paper.into(),
                    eta(eta_aux),
                    first.map_or(String::new(), |s| s.n.to_string()),
                    ours(first),
                    theirs(papers.map(|p| p.2)),
                    ours(last),
                    theirs(papers.map(|p| p.3)),
                ]);
                for (members, o, t) in [(1, first, papers.map(|p| p.2)), (p.request.members, last, papers.map(|p| p.3))]
                {
                    let net = network_names(network).0;
                    let mut line: Vec<String> = ["table2", net, set.name, method.paper].map(String::from).into();
                    line.extend([eta(eta_aux), members.to_string()]);
                    line.extend([full(o.map(|s| s.mean)), full(o.and_then(|s| s.sd))]);
                    line.push(o.map_or(String::new(), |s| s.n.to_string()));
                    line.extend([full(t.map(|t| t.0)), full(t.map(|t| t.1))]);
                    out.flat.rows.push(line);
                }
            }
        }
        if !table.rows.is_empty() {
            out.sections.push((format!("{}, test NLL, nats ↓", network_names(network).0), drop_empty(table)));
        }
    }
    if p.request.sets.iter().any(|s| s.paper == Some("SVHN")) {
        out.notes.push(
            "on SVHN the paper disagrees with itself: its NLL tables have 0.214 and 0.169 for these ensembles".into(),
        );
    }
    out.notes.push("single: the mean of the members of each ensemble, each alone; nothing is retrained".into());
    Ok(out)
}
