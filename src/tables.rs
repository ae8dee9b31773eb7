//! Numbers, times and tables for people and papers: aligned text, Markdown, LaTeX and CSV from the same rows.

use crate::base::fs;
use crate::base::visible::visible;
use crate::error::{Error, Result};
use crate::figure::exact;
use crate::system::csv_text;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

    /// Puts an apostrophe before every cell that a spreadsheet would take for a formula; numbers stay.
    pub fn for_spreadsheets(&mut self) {
        let is_number = |s: &str| s.parse::<f64>().is_ok_and(f64::is_finite);
        for cell in self.rows.iter_mut().flatten().chain(&mut self.header) {
            if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell) {
                cell.insert(0, '\'');
            }
        }
    }

    /// Numbers to the right, words to the left.
    fn aligned(&self, left: &str, between: &str, right: &str, markdown: bool) -> String {
        // A newline in a name would break the line.
        let clean = |row: &Vec<String>| row.iter().map(|s| visible(s).into_owned()).collect::<Vec<_>>();
        let (header, rows) = (clean(&self.header), self.rows.iter().map(clean).collect::<Vec<_>>());
        let width: Vec<usize> = (0..header.len())
            .map(|c| {
                let cells = rows.iter().chain([&header]).filter_map(|r| r.get(c));
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
        let mut out = line(&header);
        let rule: Vec<String> = width
            .iter()
            .enumerate()
            .map(|(c, w)| if markdown && c > 0 { "-".repeat(w.saturating_sub(1)) + ":" } else { "-".repeat(*w) })
            .collect();
        out += &line(&rule);
        for row in &rows {
            out += &line(row);
        }
        out
    }

    fn latex(&self) -> String {
        let escape = |s: &String| {
            let mut t = String::new();
            for c in visible(s).chars() {
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
        csv_text(std::iter::once(&self.header).chain(&self.rows))
    }
}

/// Four significant digits, plain where that is readable.
pub fn number(v: f64) -> String {
    if !v.is_finite() {
        return v.to_string();
    }
    let size = v.abs();
    if v == 0.0 {
        "0".into()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{v:.3e}")
    } else {
        let digits = (3 - libm::log10(size).floor() as i32).clamp(0, 7) as usize;
        format!("{v:.digits$}")
    }
}

/// Commas between the thousands of a plain number: "384,685"; any other text as it is.
pub fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, behind) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() < 4 || !is_number(whole) || !is_number(behind.trim_start_matches('.')) {
        return text.into();
    }
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + behind
}

/// Four significant digits for people: as `number`, with commas between the thousands.
pub fn readable(v: f64) -> String {
    grouped(&number(v))
}

/// To the digits that its standard error leaves it, two of the error's own; as `readable` where none is known.
pub fn rounded(v: f64, error: Option<f64>) -> String {
    let Some(error) = error.filter(|e| e.is_finite() && *e > 0.0 && v.is_finite()) else { return readable(v) };
    // Of the second digit of the error, once it is rounded itself: 0.0996 is 0.10.
    let place = |e: f64| libm::log10(e).floor() as i32 - 1;
    let mut last = place(error);
    last = place((error / 10f64.powi(last)).round() * 10f64.powi(last));
    let zero =
        |text: String| if text.trim_start_matches(['-', '0', '.']).is_empty() { text.replace('-', "") } else { text };
    match last {
        _ if v.abs() >= 1e9 => format!("{v:.*e}", (libm::log10(v.abs()).floor() as i32 - last).clamp(0, 15) as usize),
        0..=9 => zero(grouped(&format!("{:.0}", (v / 10f64.powi(last)).round() * 10f64.powi(last)))),
        -7..0 => zero(grouped(&format!("{v:.*}", last.unsigned_abs() as usize))),
        // Errors next to nothing leave more digits than anybody reads.
        _ if v.abs() >= 1e-4 => {
            grouped(&format!("{v:.*}", (6 - libm::log10(v.abs()).floor() as i32).clamp(0, 10) as usize))
        }
        _ if v == 0.0 => "0".into(),
        _ => format!("{v:.*e}", (libm::log10(v.abs()).floor() as i32 - last).clamp(0, 15) as usize),
    }
}

/// A time in words, such as one that training took: "3.2 s", "2 min 5 s", "1 h 12 min".
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown time".into();
    }
    let s = seconds.max(0.0);
    if s < 60.0 {
        format!("{s:.1} s")
    } else if s < 3600.0 {
        format!("{} min {} s", (s / 60.0) as u64, s as u64 % 60)
    } else {
        format!("{} h {} min", (s / 3600.0) as u64, s as u64 % 3600 / 60)
    }
}

/// One that is foreseen, rounded so that it does not flicker: "8 s", "3 min", "1.5 h".
pub fn rough_duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "unknown time".into(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Two unequal numbers as `number` writes them, with as many digits more as it takes to see which is larger.
pub fn apart(a: f64, b: f64) -> (String, String) {
    let short = (number(a), number(b));
    if short.0 != short.1 || a == b || !(a.is_finite() && b.is_finite()) {
        return short;
    }
    let all = (4..17).map(|digits| (format!("{a:.digits$e}"), format!("{b:.digits$e}")));
    // As plain numbers where `number` has them plain.
    let as_short = |text: String| match text.parse::<f64>() {
        Ok(v) if !short.0.contains('e') => v.to_string(),
        _ => text,
    };
    all.into_iter().find(|(a, b)| a != b).map_or(short.clone(), |(a, b)| (as_short(a), as_short(b)))
}

/// Every digit: a target of Unix seconds needs more than single precision has, and what is read back is what was said.
pub(crate) fn full(v: f64) -> String {
    exact(v)
}

/// Writes a table to a file, or an error that names it.
pub fn write_csv(path: &std::path::Path, table: &TextTable) -> Result<()> {
    if fs::is_dir(path) {
        return Err(Error::usage(
            path.display().to_string(),
            "is a folder",
            "the name of a CSV file",
            "add a file name",
        ));
    }
    crate::system::file::write_to(path, table.csv().as_bytes())
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
            // A4: a small number is no zero.
            (3.25e-13, "3.250e-13"),
            (-1e-30, "-1.000e-30"),
            (1e30, "1.000e30"),
            (-0.0, "0"),
            (-3.21, "-3.210"),
        ] {
            assert_eq!(number(v), want);
        }
        assert_eq!(number(f64::NAN), "NaN");
    }

    #[test]
    fn a_standard_error_decides_the_digits() {
        for (v, error, want) in [
            (0.433_333, 0.0137, "0.433"),
            (0.433_333, 0.2, "0.43"),
            (384_685.123, 1_234.0, "384,700"),
            (384_685.123, 1.5, "384,685.1"),
            (3.2, 0.0996, "3.20"),
            (-0.0001, 0.02, "0.000"),
            (12.0, 34.0, "12"),
            (1.234e-9, 1e-11, "1.234e-9"),
            (3.310_207_105, 1e-9, "3.310207"),
            (-12_345.678_901, 1e-12, "-12,345.68"),
            (0.001_234_567_89, 1e-13, "0.001234568"),
            (2.5e12, 1e10, "2.500e12"),
        ] {
            assert_eq!(rounded(v, Some(error)), want, "{v} {error}");
        }
        for unknown in [None, Some(0.0), Some(f64::NAN), Some(f64::INFINITY)] {
            assert_eq!(rounded(1234.567, unknown), "1,235");
        }
        assert_eq!(rounded(f64::NAN, Some(0.1)), "NaN");
    }

    #[test]
    fn thousands_are_set_apart_in_numbers_alone() {
        let said = ["123", "1234", "-1234567.8", "2024-01-02", "1.5e10", "1234e5", "", "12ab", "0.12345"].map(grouped);
        assert_eq!(said, ["123", "1,234", "-1,234,567.8", "2024-01-02", "1.5e10", "1234e5", "", "12ab", "0.12345"]);
    }

    #[test]
    fn a4_unequal_numbers_are_written_unequal() {
        let of = |a: f64, b: f64| apart(a, b);
        assert_eq!(of(3.2, 3.0), ("3.200".into(), "3.000".into()));
        assert_eq!(of(3.20001, 3.20002), ("3.20001".into(), "3.20002".into()));
        assert_eq!(of(2.5e-20, 2.500001e-20), ("2.500000e-20".into(), "2.500001e-20".into()));
        assert_eq!(of(1.0, 1.0), ("1.000".into(), "1.000".into()));
        let (a, b) = of(0.3, 0.1 + 0.2);
        assert!(a != b && a.parse::<f64>().unwrap() < b.parse::<f64>().unwrap(), "{a} {b}");
    }

    #[test]
    fn a2_numbers_read_back_as_they_were() {
        for v in [1_700_000_000.123_456_7, 2_460_000.500_011_574, 1e-300, -1.0 / 3.0, f64::MAX, 0.1 + 0.2, 5e-324] {
            assert_eq!(full(v).parse::<f64>().unwrap().to_bits(), v.to_bits());
        }
    }

    #[test]
    fn c13_a_spreadsheet_computes_no_text() {
        let mut t = TextTable::new(&["line", "@target"]);
        t.rows = ["=1+1", "+a", "-b", "@c", "\td", "plain", "-1.5", "+2", "1e-3", "-inf"]
            .iter()
            .map(|s| vec!["1".to_string(), s.to_string()])
            .collect();
        t.for_spreadsheets();
        assert_eq!(t.header, ["line", "'@target"]);
        let cells: Vec<&str> = t.rows.iter().map(|r| r[1].as_str()).collect();
        assert_eq!(cells, ["'=1+1", "'+a", "'-b", "'@c", "'\td", "plain", "-1.5", "+2", "1e-3", "'-inf"]);
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
