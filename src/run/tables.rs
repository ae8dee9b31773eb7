//! Tables for people and papers: aligned text, Markdown, LaTeX and CSV from the same rows; and predictions as CSV.

use super::results::{Better, Results};
use crate::data::encode::{Encoder, Target};
use crate::error::{Error, Result};
use crate::method::Predictive;
use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TextTable {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Markdown,
    Latex,
    Csv,
}

impl TextTable {
    pub fn new(header: &[&str]) -> Self {
        TextTable { header: header.iter().map(|s| s.to_string()).collect(), rows: vec![] }
    }

    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => self.aligned("", "  ", "", false),
            Format::Markdown => self.aligned("| ", " | ", " |", true),
            Format::Latex => self.latex(),
            Format::Csv => self.csv(),
        }
    }

    /// Numbers to the right, words to the left.
    fn aligned(&self, left: &str, between: &str, right: &str, markdown: bool) -> String {
        let width: Vec<usize> = (0..self.header.len())
            .map(|c| {
                let cells = self.rows.iter().chain([&self.header]).filter_map(|r| r.get(c));
                // Markdown wants three dashes under a column.
                cells.map(|s| s.chars().count()).max().unwrap_or(0).max(if markdown { 3 } else { 0 })
            })
            .collect();
        let line = |row: &[String]| {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(c, s)| {
                    let pad = " ".repeat(width.get(c).copied().unwrap_or(0).saturating_sub(s.chars().count()));
                    if c == 0 { format!("{s}{pad}") } else { format!("{pad}{s}") }
                })
                .collect();
            format!("{left}{}{right}", cells.join(between)).trim_end().to_string() + "\n"
        };
        let mut out = line(&self.header);
        let rule: Vec<String> = width
            .iter()
            .enumerate()
            .map(|(c, w)| if markdown && c > 0 { "-".repeat(w.saturating_sub(1)) + ":" } else { "-".repeat(*w) })
            .collect();
        out += &line(&rule);
        for row in &self.rows {
            out += &line(row);
        }
        out
    }

    fn latex(&self) -> String {
        let escape = |s: &String| {
            let mut t = String::new();
            for c in s.chars() {
                match c {
                    '_' | '%' | '&' | '#' | '$' => t.extend(['\\', c]),
                    '{' | '}' => t.extend(['\\', c]),
                    '\\' => t.push_str("\\textbackslash{}"),
                    '~' => t.push_str("\\textasciitilde{}"),
                    '^' => t.push_str("\\textasciicircum{}"),
                    '±' => t.push_str("$\\pm$"),
                    '↑' => t.push_str("$\\uparrow$"),
                    '↓' => t.push_str("$\\downarrow$"),
                    c => t.push(c),
                }
            }
            t
        };
        let line = |row: &[String]| row.iter().map(escape).collect::<Vec<_>>().join(" & ") + " \\\\\n";
        let columns = "l".to_string() + &"r".repeat(self.header.len().saturating_sub(1));
        let body: String = self.rows.iter().map(|r| line(r)).collect();
        format!(
            "\\begin{{tabular}}{{{columns}}}\n\\hline\n{}\\hline\n{body}\\hline\n\\end{{tabular}}\n",
            line(&self.header)
        )
    }

    pub fn csv(&self) -> String {
        let cell = |s: &String| {
            if s.contains([',', '"', '\n', '\r']) { format!("\"{}\"", s.replace('"', "\"\"")) } else { s.clone() }
        };
        let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.header).chain(&self.rows).map(line).collect()
    }
}

/// Four significant digits, plain where that is readable.
pub fn number(v: f64) -> String {
    if !v.is_finite() {
        return v.to_string();
    }
    let size = v.abs();
    // What is left of a difference of equal numbers is nothing to show.
    if size < 1e-12 {
        "0".into()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{v:.3e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
        format!("{v:.digits$}")
    }
}

impl Results {
    /// One row a metric: ours, and the baselines where they exist.
    pub fn table(&self, ours: &str) -> TextTable {
        let has = |f: fn(&super::Metric) -> Option<f64>| self.metrics.iter().any(|m| f(m).is_some());
        let (constant, linear, calibrated) = (has(|m| m.constant), has(|m| m.least_squares), has(|m| m.calibrated));
        let boosting = has(|m| m.boosting);
        let mut t = TextTable::new(&["metric", "unit", ours]);
        if calibrated {
            t.header.push("calibrated".into());
        }
        if constant {
            t.header.push("constant".into());
        }
        if linear {
            t.header.push("least squares".into());
        }
        if boosting {
            t.header.push("boosting".into());
        }
        for m in &self.metrics {
            let mark = match m.better {
                Better::Higher => " ↑",
                Better::Lower => " ↓",
                Better::Neither => "",
            };
            let value = m.value.value().map_or_else(|| m.value.to_string(), number);
            let mut row = vec![format!("{}{mark}", m.name), m.unit.clone(), value];
            let baseline = |v: Option<f64>| v.map_or(String::new(), number);
            if calibrated {
                row.push(baseline(m.calibrated));
            }
            if constant {
                row.push(baseline(m.constant));
            }
            if linear {
                row.push(baseline(m.least_squares));
            }
            if boosting {
                row.push(baseline(m.boosting));
            }
            t.rows.push(row);
        }
        t
    }
}

/// Quantiles of predictions.csv.
pub const QUANTILES: [f64; 7] = [0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975];

/// One row a prediction: id, target if known, then the uncertainty in the user's units (or nats).
pub fn predictions(predictive: &Predictive, encoder: &Encoder, ids: &[String], y: Option<&[f64]>) -> TextTable {
    let mut t = TextTable::new(&[if encoder.pixels.is_some() { "image" } else { "line" }]);
    if y.is_some() {
        t.header.push(encoder.target_name().to_string());
    }
    let exact = |v: f64| v.to_string();
    let has_target = y.is_some();
    match predictive {
        Predictive::Regression(r) => {
            t.header.extend(["mean", "sd", "aleatoric_sd", "epistemic_sd"].map(String::from));
            t.header.extend(QUANTILES.iter().map(|q| format!("q{}", q * 100.0)));
            distinct_target(&mut t.header, has_target);
            for i in 0..r.n() {
                let mut row = vec![ids[i].clone()];
                row.extend(y.map(|y| exact(y[i])));
                row.extend([r.mean[i], r.sd(i), r.aleatoric[i].sqrt(), r.epistemic[i].sqrt()].map(full));
                let mixture = r.row(i);
                row.extend(QUANTILES.iter().map(|q| full(mixture.quantile(*q))));
                t.rows.push(row);
            }
        }
        Predictive::Classification(c) => {
            let labels: Vec<String> = match &encoder.target {
                Target::Classes { labels, .. } => labels.clone(),
                Target::Regression { .. } => vec![],
            };
            let name = |j: usize| labels.get(j).cloned().unwrap_or_else(|| j.to_string());
            t.header.push("predicted".into());
            t.header.extend((0..c.k).map(|j| format!("p_{}", name(j))));
            t.header.extend(["entropy", "aleatoric_entropy", "mutual_information"].map(String::from));
            distinct_target(&mut t.header, has_target);
            let classes = crate::metrics::confidences(&c.probs, c.k).1;
            for i in 0..classes.len() {
                let mut row = vec![ids[i].clone()];
                row.extend(y.map(|y| name(y[i] as usize)));
                row.push(name(classes[i]));
                row.extend(c.probs[i * c.k..(i + 1) * c.k].iter().copied().map(full));
                row.extend([c.total[i], c.aleatoric[i], c.epistemic[i]].map(full));
                t.rows.push(row);
            }
        }
    }
    t
}

/// Puts the rows that could not be predicted among the others, in the order of their lines, each with its reason in a column
/// "note"; nothing without such rows.
pub fn mark_refused(table: &mut TextTable, refused: &[(String, String)]) {
    if refused.is_empty() {
        return;
    }
    let mut name = String::from("note");
    while table.header.contains(&name) {
        name.push('_');
    }
    table.header.push(name);
    let width = table.header.len();
    table.rows.iter_mut().for_each(|row| row.resize(width, String::new()));
    for (id, reason) in refused {
        let mut row = vec![String::new(); width];
        (row[0], row[width - 1]) = (id.clone(), reason.clone());
        table.rows.push(row);
    }
    table.rows.sort_by_key(|row| row[0].parse::<u64>().unwrap_or(u64::MAX));
}

/// Nine digits: the weights have seven, and a reader none to spare.
pub(super) fn full(v: f64) -> String {
    format!("{v:.8e}").parse::<f64>().map_or_else(|_| v.to_string(), |v| v.to_string())
}

/// A target named "sd" would give two columns of that name.
pub(super) fn distinct_target(header: &mut [String], has_target: bool) {
    while has_target && header.iter().filter(|h| **h == header[1]).count() > 1 {
        header[1].push_str("_target");
    }
}

/// Writes a table to a file, or an error that names it.
pub fn write_csv(path: &std::path::Path, table: &TextTable) -> Result<()> {
    if path.is_dir() {
        return Err(Error::usage(
            path.display().to_string(),
            "is a folder",
            "the name of a CSV file",
            "add a file name",
        ));
    }
    super::folder::write_to(path, table.csv().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (v, want) in [
            (0.0, "0"),
            (0.12345, "0.1235"),
            (12.3456, "12.35"),
            (123456.0, "123456"),
            (1e-7, "1.000e-7"),
            (-3.21, "-3.210"),
        ] {
            assert_eq!(number(v), want);
        }
        assert_eq!(number(f64::NAN), "NaN");
    }

    #[test]
    fn all_formats_hold_the_cells() {
        let mut t = TextTable::new(&["a", "b_c"]);
        t.rows.push(vec!["x,y".into(), "1 ± 2".into()]);
        assert_eq!(t.render(Format::Csv), "a,b_c\n\"x,y\",1 ± 2\n");
        assert_eq!(t.render(Format::Markdown), "| a   |   b_c |\n| --- | ----: |\n| x,y | 1 ± 2 |\n");
        assert!(t.render(Format::Latex).contains("b\\_c") && t.render(Format::Latex).contains("$\\pm$"));
        assert!(t.render(Format::Text).lines().count() == 3);
    }
}
