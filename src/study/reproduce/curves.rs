//! fig:learning-curves: NLL of held-out training images by epoch, mean and sd over seeds, as a figure and a table.

use super::mapping::network_names;
use super::plan::PlannedRun;
use super::tables::{ReproduceReport, eta, full, groups, mean_sd};
use super::work::Prepared;
use crate::error::Result;
use crate::figure::{CurvesFigure, Series};
use crate::report::compare::{Summary, summary};
use crate::run::RunFolder;
use crate::study::run_set::RunStatus;
use crate::tables::TextTable;

/// Shares of the epochs at which the table shows the curve.
const AT: [f64; 4] = [0.1, 0.25, 0.5, 1.0];

/// Mean over the seeds, by epoch.
fn curve(runs: &[&PlannedRun]) -> Result<Vec<(u32, Summary)>> {
    let mut all = vec![];
    for run in runs {
        all.push(RunFolder::open(&run.folder)?.metrics(u32::MAX)?);
    }
    let Some(first) = all.first() else { return Ok(vec![]) };
    let at = |epoch: u32| -> Option<(u32, Summary)> {
        let value = |rows: &Vec<crate::train::EpochRow>| rows.iter().find(|r| r.epoch == epoch)?.validation_nll;
        let values: Option<Vec<f64>> = all.iter().map(value).collect();
        values.map(|v| (epoch, summary(&v)))
    };
    Ok(first.iter().filter_map(|r| at(r.epoch)).collect())
}

pub fn label(run: &PlannedRun) -> String {
    let aux = run.eta_aux.filter(|e| *e > 0.0).map_or(String::new(), |e| format!(", aux {e}"));
    format!("{}{aux}", run.method.paper)
}

pub fn report(p: &Prepared) -> Result<ReproduceReport> {
    let title = format!("learning-curves: {} ({})", p.request.table.title, p.request.table.source);
    let flat = ["table", "network", "trained_on", "method", "eta_aux", "epoch", "nll_mean", "nll_sd", "runs"];
    let mut out = ReproduceReport::new(title, &flat);
    let all = groups(p.runs.iter().filter(|r| r.state == RunStatus::Done));
    let mut done: Vec<(&str, &str)> = vec![];
    for group in &all {
        let place = (group[0].set.name, network_names(group[0].network).0);
        if done.contains(&place) {
            continue;
        }
        done.push(place);
        let here = all.iter().filter(|g| (g[0].set.name, network_names(g[0].network).0) == place);
        let mut table = TextTable::new(&["method", "eta_aux", "runs"]);
        table.header.extend(AT.iter().map(|share| format!("epoch {}", epoch_at(p.request.epochs, *share))));
        table.header.push("lowest (epoch)".into());
        let mut series = vec![];
        for group in here {
            let curve = curve(group)?;
            let mut row = vec![group[0].method.paper.into(), eta(group[0].eta_aux), group.len().to_string()];
            row.extend(AT.iter().map(|share| {
                let near = curve.iter().rfind(|(epoch, _)| *epoch <= epoch_at(p.request.epochs, *share));
                near.map_or(String::new(), |(_, s)| mean_sd(s.mean, s.sd))
            }));
            let lowest = curve.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            row.push(lowest.map_or(String::new(), |(epoch, s)| format!("{} ({epoch})", mean_sd(s.mean, None))));
            table.rows.push(row);
            series.push(Series {
                name: label(group[0]),
                x: curve.iter().map(|(epoch, _)| f64::from(*epoch)).collect(),
                y: curve.iter().map(|(_, s)| s.mean).collect(),
                sd: (group.len() > 1).then(|| curve.iter().map(|(_, s)| s.sd.unwrap_or(0.0)).collect()),
            });
            for (epoch, s) in &curve {
                let (set, net) = place;
                let mut line: Vec<String> =
                    ["learning-curves", net, set, group[0].method.paper].map(String::from).into();
                line.extend([
                    eta(group[0].eta_aux),
                    epoch.to_string(),
                    full(Some(s.mean)),
                    full(s.sd),
                    s.n.to_string(),
                ]);
                out.flat.rows.push(line);
            }
        }
        let (set, net) = place;
        out.sections.push((format!("{set}, {net}, NLL of held-out images, nats ↓"), table));
        let figure = CurvesFigure {
            title: format!("Learning curves, {set}, {net}"),
            x_label: "epoch".into(),
            y_label: "NLL of held-out images, nats".into(),
            log: true,
            series,
            ..Default::default()
        };
        out.draw(&p.request.runs, &format!("learning-curves-{}", p.stem(set, net)), &figure)?;
    }
    Ok(out)
}

/// The epoch at a share of the training, at least the first.
fn epoch_at(epochs: u32, share: f64) -> u32 {
    ((f64::from(epochs) * share).round() as u32).max(1)
}
