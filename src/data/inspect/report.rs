//! The preflight report as text: at most 100 characters wide, and readable without other context. Must not compute.

use super::{ColumnKind, ColumnReport, DateReport, LevelCount, NumberReport, Role, TableReport};
use crate::data::{counted, five_digits, quoted};
use std::fmt::{Display, Formatter, Result, Write};

const WIDTH: usize = 100;
/// More columns than this are counted, not shown.
const MAX_COLUMNS: usize = 60;
const NAME_WIDTH: usize = 24;

impl Display for TableReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let header = if self.header { "header in the first line" } else { "no header (names are column numbers)" };
        let columns = counted(self.columns.len(), "column");
        wrapped(f, "", &self.file)?;
        wrapped(
            f,
            "",
            &format!("{}, {columns}, separated by {}, {header}", counted(self.rows, "row"), self.delimiter),
        )?;
        writeln!(f)?;
        columns_table(f, &self.columns)?;
        let mut out = String::new();
        let says = |c: &&ColumnReport| !(c.became.is_empty() && c.notes.is_empty());
        for column in self.columns.iter().filter(says).take(MAX_COLUMNS) {
            let about: Vec<&str> = [&column.became].into_iter().chain(&column.notes).map(String::as_str).collect();
            let about: Vec<&str> = about.into_iter().filter(|s| !s.is_empty()).collect();
            wrapped(&mut out, "  ", &format!("{}: {}", clipped(&column.name, NAME_WIDTH), about.join("; ")))?;
        }
        let title = "What each column becomes (of all rows; fit learns levels from its training rows alone)";
        section(f, title, &out)?;
        if !self.classes.is_empty() {
            writeln!(f, "\nClasses of {}", quoted(&self.target))?;
            let more = self.classes.len().saturating_sub(20);
            let shown = &self.classes[..self.classes.len() - more];
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            wrapped(f, "  ", &(counts(shown) + &rest))?;
        }
        let mut out = String::new();
        for warning in &self.warnings {
            wrapped(&mut out, "  ", warning)?;
        }
        section(f, "Warnings", &out)?;
        let title = if self.stops { "A fit of this table would stop:" } else { "What the command below would do" };
        writeln!(f, "\n{title}")?;
        for sentence in &self.plan {
            wrapped(f, "  ", sentence)?;
        }
        // A command that stops is none to copy.
        if self.stops {
            return Ok(());
        }
        // Not wrapped: it is there to be copied.
        writeln!(f, "\n  {}", self.command)
    }
}

fn section(f: &mut Formatter<'_>, title: &str, body: &str) -> Result {
    if body.is_empty() { Ok(()) } else { write!(f, "\n{title}\n{body}") }
}

fn columns_table(f: &mut Formatter<'_>, columns: &[ColumnReport]) -> Result {
    let shown = &columns[..columns.len().min(MAX_COLUMNS)];
    let name_width = shown.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).clamp(6, NAME_WIDTH);
    let head = ["min", "mean", "max", "sd"].map(|title| format!("{title:>10}")).join(" ");
    writeln!(f, "{:name_width$} {:8} {:6} {:>7} {:>8} {head}", "column", "role", "type", "missing", "distinct")?;
    for column in shown {
        let role = match column.role {
            Role::Input => "input",
            Role::Target => "target",
            Role::Ignored => "ignored",
            Role::Unusable => "left out",
        };
        let kind = match column.kind {
            ColumnKind::Number => "number",
            ColumnKind::Text => "text",
            ColumnKind::Date => "date",
        };
        let name = clipped(&column.name, name_width);
        write!(f, "{name:name_width$} {role:8} {kind:6} {:>7} {:>8}", column.missing, column.distinct)?;
        let used = name_width + 1 + 8 + 1 + 6 + 1 + 7 + 1 + 8 + 1;
        match (&column.numbers, &column.dates) {
            (Some(NumberReport { min, mean, max, sd }), _) => {
                let cells = [min, mean, max, sd].map(|v| format!("{:>10}", five_digits(*v))).join(" ");
                writeln!(f, " {cells}")?;
            }
            // A mean of dates says little: they stand under min and max, or side by side where they are long.
            (None, Some(DateReport { min, max })) => {
                let cells = format!("{min:>10} {:>10} {max:>10}", "");
                let is_long = [min, max].iter().any(|date| date.chars().count() > 10);
                writeln!(f, " {}", if is_long { clipped(&format!("{min} to {max}"), WIDTH - used) } else { cells })?;
            }
            (None, None) => writeln!(f, " {}", clipped(&counts(&column.levels), WIDTH - used))?,
        }
    }
    if columns.len() > shown.len() {
        writeln!(f, "... and {} more columns", columns.len() - shown.len())?;
    }
    Ok(())
}

fn counts(levels: &[LevelCount]) -> String {
    levels.iter().map(|l| format!("{} x {}", l.count, quoted(&l.level))).collect::<Vec<_>>().join(", ")
}

fn clipped(text: &str, width: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= width {
        return text.chars().map(clean).collect();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(3)).map(clean).collect();
    cut.push_str("...");
    cut
}

/// One paragraph, its later lines indented by two more; a word longer than a line is cut.
fn wrapped(out: &mut impl Write, indent: &str, text: &str) -> Result {
    let mut line = indent.to_string();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let word = clipped(word, WIDTH - indent.len() - 2);
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = format!("{indent}  ");
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_keep_to_the_width() {
        let mut out = String::new();
        wrapped(&mut out, "  ", &format!("{} {}", "word ".repeat(60), "x".repeat(300))).unwrap();
        assert!(out.lines().count() > 3 && out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
    }
}
