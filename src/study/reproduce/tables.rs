//! A report in every format, and the pieces that the tables share.

use super::plan::PlannedRun;
use crate::error::Result;
use crate::figure::{CurvesFigure, curves};
use crate::report::compare::Summary;
use crate::tables::{Format, TextTable};
use std::path::{Path, PathBuf};

/// Sections for people, one flat table for programs.
pub struct ReproduceReport {
    pub title: String,
    pub sections: Vec<(String, TextTable)>,
    /// One line per cell, every digit.
    pub flat: TextTable,
    pub notes: Vec<String>,
    /// The SVGs with their captions; a PNG and the numbers as CSV lie beside each.
    pub figures: Vec<(PathBuf, String)>,
}

impl ReproduceReport {
    pub fn new(title: String, flat: &[&str]) -> ReproduceReport {
        ReproduceReport { title, sections: vec![], flat: TextTable::new(flat), notes: vec![], figures: vec![] }
    }

    pub fn render(&self, format: Format) -> String {
        if format == Format::Csv {
            return self.flat.csv();
        }
        let heading = |level: &str, text: &str| match format {
            Format::Markdown => format!("{level} {text}\n\n"),
            Format::Latex => format!("% {text}\n"),
            _ => format!("{text}\n"),
        };
        let mut out = heading("##", &self.title) + if format == Format::Text { "\n" } else { "" };
        let sections: Vec<String> =
            self.sections.iter().map(|(text, table)| heading("###", text) + &marked(table, format)).collect();
        out += &sections.join("\n");
        out
    }

    /// Draws a figure into `runs`/figures.
    pub fn draw(&mut self, runs: &Path, stem: &str, figure: &CurvesFigure) -> Result<()> {
        let saved = curves(&runs.join("figures"), stem, figure)?;
        self.figures.push((saved.svg, format!("{}.", figure.title)));
        Ok(())
    }
}

/// Around a cell that is the best: bold where there is bold, a star after it in text.
pub const BEST: (char, char) = ('⟦', '⟧');

fn marked(table: &TextTable, format: Format) -> String {
    if format == Format::Latex {
        return table.render(format).replace(BEST.0, "\\textbf{").replace(BEST.1, "}");
    }
    let (open, close) = if format == Format::Markdown { ("**", "**") } else { ("", "*") };
    let mut table = table.clone();
    table.rows.iter_mut().flatten().for_each(|cell| *cell = cell.replace(BEST.0, open).replace(BEST.1, close));
    table.render(format)
}

/// "0.345 ± 0.003": three decimals, as the paper has them.
pub fn mean_sd(mean: f64, sd: Option<f64>) -> String {
    format!("{mean:.3}{}", sd.map_or(String::new(), |sd| format!(" ± {sd:.3}")))
}

pub fn ours(s: Option<&Summary>) -> String {
    s.map_or(String::new(), |s| mean_sd(s.mean, s.sd))
}

pub fn theirs(p: Option<(f64, f64)>) -> String {
    p.map_or(String::new(), |(mean, sd)| mean_sd(mean, Some(sd)))
}

/// Ours minus the paper's.
pub fn difference(ours: Option<&Summary>, paper: Option<(f64, f64)>) -> String {
    ours.zip(paper).map_or(String::new(), |(o, p)| format!("{:+.3}", o.mean - p.0))
}

/// Every digit, or nothing.
pub fn full(v: Option<f64>) -> String {
    v.map_or(String::new(), |v| v.to_string())
}

/// "0.1", or nothing.
pub fn eta(v: Option<f64>) -> String {
    full(v)
}

/// Columns without any cell go.
pub fn drop_empty(mut table: TextTable) -> TextTable {
    let keep: Vec<bool> = (0..table.header.len())
        .map(|c| c == 0 || table.rows.iter().any(|r| r.get(c).is_some_and(|cell| !cell.is_empty())))
        .collect();
    let cut = |row: &mut Vec<String>| {
        let mut i = 0;
        row.retain(|_| {
            i += 1;
            keep.get(i - 1).copied().unwrap_or(true)
        });
    };
    cut(&mut table.header);
    table.rows.iter_mut().for_each(cut);
    table
}

/// Runs that differ in the seed alone.
pub fn same_but_seed(a: &PlannedRun, b: &PlannedRun) -> bool {
    (a.set, a.network, a.method, a.eta_aux) == (b.set, b.network, b.method, b.eta_aux)
}

/// The runs in groups of `same_but_seed`, in order.
pub fn groups<'a>(runs: impl Iterator<Item = &'a PlannedRun>) -> Vec<Vec<&'a PlannedRun>> {
    let mut out: Vec<Vec<&PlannedRun>> = vec![];
    for run in runs {
        match out.iter_mut().find(|g| same_but_seed(g[0], run)) {
            Some(group) => group.push(run),
            None => out.push(vec![run]),
        }
    }
    out
}
