//! The figures that the paper draws of its tables: per network the methods in rows, dots with bars of three sd and the dashed
//! line of the best VIFO, ours beside the paper's; and the shares of experiments that VIFO wins.

use super::cells::Cell;
use super::mapping::{Family, Metric, Rows, WINNERS, network_names};
use super::tables::ReproduceReport;
use super::work::Prepared;
use crate::error::Result;
use crate::figure::{self, BarsFigure, BarsSeries, DotsFigure, DotsPanel, DotsSeries};
use crate::recipe::NetName;
use crate::report::compare::Summary;
use crate::results::Better;

const PAPER: &str = "the paper";
const OURS: &str = "ours";

/// A row of a figure: a method and its weight of auxiliary training.
type Row = (&'static str, Option<f64>);

fn row_of(c: &Cell) -> Row {
    (c.method.paper, c.eta_aux)
}

fn name((method, eta_aux): Row) -> String {
    match eta_aux.filter(|e| *e > 0.0) {
        Some(eta) => format!("{method}, aux {eta}"),
        None => method.into(),
    }
}

/// The words of a metric in a title, and its axis.
fn words(metric: &Metric) -> (&'static str, &'static str) {
    match metric.paper {
        "nll" => ("Test log loss", "log loss, nats per image ↓"),
        "accuracy" => ("Test accuracy", "accuracy ↑"),
        "ece" => ("Calibration error on shifted images", "expected calibration error, 20 bins of equal mass ↓"),
        "entropy" => ("Mean entropy on out-of-distribution images", "entropy, nats ↑"),
        _ => ("Out-of-distribution detection", "AUROC of the maximum probability ↑"),
    }
}

/// "ours: 5 seeds", or that there are none yet.
fn ours_said(p: &Prepared, runs: usize) -> String {
    match runs {
        0 => "ours are not run yet: the paper's numbers alone".into(),
        1 => format!("ours: 1 seed, {}", p.scale_said()),
        n => format!("ours: {n} seeds, {}", p.scale_said()),
    }
}

/// One series of a panel over the rows, and the best VIFO among them.
fn series(
    rows: &[Row],
    cells: &[&Cell],
    value: impl Fn(&Cell) -> Option<(f64, Option<f64>)>,
    better: Better,
) -> DotsSeries {
    let found = |row: &Row| cells.iter().find(|c| row_of(c) == *row).and_then(|c| value(c));
    let vifo = cells.iter().filter(|c| c.method.family == Family::Vifo && rows.contains(&row_of(c)));
    let best = |a: f64, b: f64| if better == Better::Lower { a.min(b) } else { a.max(b) };
    DotsSeries {
        middle: rows.iter().map(|r| found(r).map_or(f64::NAN, |v| v.0)).collect(),
        half: rows.iter().map(|r| found(r).and_then(|v| v.1).map_or(f64::NAN, |sd| 3.0 * sd)).collect(),
        line: vifo.filter_map(|c| value(c)).map(|v| v.0).reduce(best),
    }
}

fn ours(c: &Cell) -> Option<(f64, Option<f64>)> {
    c.ours.map(|s: Summary| (s.mean, s.sd))
}

fn papers(c: &Cell) -> Option<(f64, Option<f64>)> {
    c.paper.map(|(mean, sd)| (mean, Some(sd)))
}

/// "cifar10 → svhn"; with the network where the figure shows several.
fn place(c: &Cell, several: bool) -> String {
    let to = if c.tested == c.set.name { String::new() } else { format!(" → {}", c.tested) };
    let net = if several { format!(", {}", network_names(c.network).0) } else { String::new() };
    format!("{}{to}{net}", c.set.name)
}

/// Draws a metric: one figure per network, but one for all networks where the paper has one (data shift).
pub fn of_cells(p: &Prepared, metric: &Metric, cells: &[Cell], out: &mut ReproduceReport) -> Result<()> {
    let several = metric.rows == Rows::Shift;
    let mut groups: Vec<(Option<NetName>, Vec<&Cell>)> = vec![];
    // The figures show VIFO with and without auxiliary training, or as it was asked for; the tables show every weight.
    let shown = |c: &&Cell| c.eta_aux.is_none_or(|e| p.request.eta_aux.contains(&e));
    for c in cells.iter().filter(shown) {
        let key = (!several).then_some(c.network);
        match groups.iter_mut().find(|g| g.0 == key) {
            Some(group) => group.1.push(c),
            None => groups.push((key, vec![c])),
        }
    }
    for (network, cells) in groups {
        let figure = dots(p, metric, several, network, &cells);
        let net = network.map_or(String::new(), |n| format!("-{}", network_names(n).0));
        let stem = format!("{}{net}-{}", p.request.table.name, p.scale());
        let saved = figure::dots(&p.request.runs.join("figures"), &stem, &figure)?;
        out.figures.push((saved.svg, format!("{}. {}.", figure.title, capital(&figure.note))));
    }
    Ok(())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().collect::<String>() + chars.as_str())
}

fn dots(p: &Prepared, metric: &Metric, several: bool, network: Option<NetName>, cells: &[&Cell]) -> DotsFigure {
    let mut rows: Vec<Row> = vec![];
    for c in cells {
        if !rows.contains(&row_of(c)) {
            rows.push(row_of(c));
        }
    }
    let is_vifo = |r: &Row| cells.iter().any(|c| row_of(c) == *r && c.method.family == Family::Vifo);
    rows.sort_by_key(|r| !is_vifo(r));
    let mut places: Vec<String> = vec![];
    for c in cells {
        if !places.contains(&place(c, several)) {
            places.push(place(c, several));
        }
    }
    let panel = |title: &String| {
        let here: Vec<&Cell> = cells.iter().filter(|c| place(c, several) == *title).copied().collect();
        let both = vec![series(&rows, &here, papers, metric.better), series(&rows, &here, ours, metric.better)];
        DotsPanel { title: title.clone(), series: both }
    };
    let runs = cells.iter().filter_map(|c| c.ours).map(|s| s.n).max().unwrap_or(0);
    let (what, x_label) = words(metric);
    let on = network.map_or(String::new(), |n| {
        let (ours, paper) = network_names(n);
        format!(" on {}", paper.unwrap_or(ours))
    });
    DotsFigure {
        title: format!("{what}{on}"),
        note: format!("bars: ±3 sd over runs · dashed: the best VIFO of the rows · {}", ours_said(p, runs)),
        x_label: x_label.into(),
        marked: rows.iter().filter(|r| is_vifo(r)).count(),
        rows: rows.iter().map(|r| name(*r)).collect(),
        series: vec![PAPER.into(), OURS.into()],
        panels: places.iter().map(panel).collect(),
    }
}

/// Shares of the experiments that each of the two VIFO methods wins: (winner, method) -> (ours, the paper's).
pub fn of_wins(
    p: &Prepared,
    eta_aux: f64,
    methods: &[&'static str],
    runs: usize,
    share: impl Fn(&str, &str) -> (Option<f64>, Option<f64>),
    out: &mut ReproduceReport,
) -> Result<()> {
    let mut series = vec![];
    for (colour, winner) in WINNERS.into_iter().enumerate() {
        let values = |paper: bool| {
            let of = |m: &&str| {
                let (ours, theirs) = share(winner, m);
                if paper { theirs } else { ours }
            };
            methods.iter().map(|m| of(m).unwrap_or(f64::NAN)).collect()
        };
        series.push(BarsSeries { name: format!("{winner}, {PAPER}"), values: values(true), colour, hollow: true });
        series.push(BarsSeries { name: format!("{winner}, {OURS}"), values: values(false), colour, hollow: false });
    }
    let figure = BarsFigure {
        title: format!("How often VIFO has the better AUROC (auxiliary training {eta_aux})"),
        note: format!("a tie counts one half · {}", ours_said(p, runs)),
        x_label: "other method".into(),
        y_label: "share of experiments VIFO wins".into(),
        ticks: methods.iter().map(|m| m.to_string()).collect(),
        series,
        line: Some((0.5, "as often as not".into())),
    };
    let aux = if p.request.eta_aux.len() > 1 { format!("-aux{eta_aux}") } else { String::new() };
    let stem = format!("win-rates{aux}-{}", p.scale());
    let saved = figure::bars(&p.request.runs.join("figures"), &stem, &figure)?;
    out.figures.push((saved.svg, format!("{}. {}.", figure.title, capital(&figure.note))));
    Ok(())
}
