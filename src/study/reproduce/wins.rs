//! fig:auroc: for each other method the share of the experiments (network, set trained on, out-of-distribution set) in
//! which VIFO-mean and VIFO-mv have the better mean AUROC; a tie counts one half. The paper prints no numbers for the
//! figure: its bars follow from its own AUROC tables, which is what "paper" shows.

use super::cells::{Cell, cells};
use super::mapping::{AUROC, Family, WINNERS};
use super::tables::{ReproduceReport, full};
use super::work::Prepared;
use crate::error::Result;
use crate::tables::TextTable;

/// Experiments won, and experiments that both have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    pub won: f64,
    pub of: usize,
}

impl Share {
    fn text(self) -> String {
        if self.of == 0 {
            String::new()
        } else {
            format!("{:.3} ({} of {})", self.won / self.of as f64, self.won, self.of)
        }
    }
    fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.won / self.of as f64)
    }
}

/// In how many of the cells of `method` the `winner` at `eta_aux` has the larger value.
pub fn share(cells: &[Cell], winner: &str, eta_aux: f64, method: &str, value: fn(&Cell) -> Option<f64>) -> Share {
    let mut out = Share::default();
    for theirs in cells.iter().filter(|c| c.method.paper == method) {
        let mine = cells.iter().find(|c| {
            c.method.paper == winner
                && c.eta_aux == Some(eta_aux)
                && (c.set, c.network, &c.tested) == (theirs.set, theirs.network, &theirs.tested)
        });
        if let Some((mine, theirs)) = mine.and_then(|m| value(m).zip(value(theirs))) {
            out.of += 1;
            out.won += if mine == theirs { 0.5 } else { f64::from(mine > theirs) };
        }
    }
    out
}

pub fn ours_of(c: &Cell) -> Option<f64> {
    c.ours.map(|s| s.mean)
}

pub fn papers_of(c: &Cell) -> Option<f64> {
    c.paper.map(|p| p.0)
}

pub fn report(p: &Prepared) -> Result<ReproduceReport> {
    let cells = cells(p, &AUROC)?;
    let title = format!("win-rates: {} ({})", p.request.table.title, p.request.table.source);
    let flat =
        ["table", "winner", "eta_aux", "method", "ours_won", "ours_of", "ours", "paper_won", "paper_of", "paper"];
    let mut out = ReproduceReport::new(title, &flat);
    let others = || p.request.methods.iter().filter(|m| m.family != Family::Vifo);
    for &eta_aux in &p.request.eta_aux {
        let mut table =
            TextTable::new(&["better than", "VIFO-mean, ours", "VIFO-mean, paper", "VIFO-mv, ours", "VIFO-mv, paper"]);
        for method in others() {
            let mut row = vec![method.paper.to_string()];
            for winner in WINNERS {
                let ours = share(&cells, winner, eta_aux, method.paper, ours_of);
                let paper = share(&cells, winner, eta_aux, method.paper, papers_of);
                row.extend([ours.text(), paper.text()]);
                let count = |s: Share| [s.won.to_string(), s.of.to_string(), full(s.value())];
                let mut line = vec!["win-rates".into(), winner.into(), eta_aux.to_string(), method.paper.into()];
                line.extend(count(ours));
                line.extend(count(paper));
                out.flat.rows.push(line);
            }
            table.rows.push(row);
        }
        let names: Vec<&'static str> = others().map(|m| m.paper).collect();
        let runs = cells.iter().filter_map(|c| c.ours).map(|s| s.n).max().unwrap_or(0);
        let of = |winner: &str, method: &str| {
            let value = |which| share(&cells, winner, eta_aux, method, which).value();
            (value(ours_of), value(papers_of))
        };
        super::figures::of_wins(p, eta_aux, &names, runs, of, &mut out)?;
        out.sections.push((format!("VIFO with eta_aux = {eta_aux}: share of the experiments it wins"), table));
    }
    out.notes.push("the paper draws these shares and prints none: \"paper\" is counted from its AUROC tables".into());
    Ok(out)
}
