//! What a column is, from all its cells: numbers with their decimal sign and unit, or texts; with notes.
//! Must not read files and must not know what is learnt.

use super::cell::{self, Sign};
use super::column::{Cells, Column, Lines, Texts};
use super::scan::Found;
use super::{ColumnKind, ReadOptions, as_text};
use crate::base::visible::shell;
use crate::data::{cell_place, counted, quoted};
use crate::error::{Cure, Error, Result, either};
use crate::recipe::key;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// What the rest of the file says where a column leaves it open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Habits {
    /// Columns whose cells prove a decimal point, and a decimal comma.
    pub points: usize,
    pub commas: usize,
    /// The delimiter is a comma.
    pub by_comma: bool,
}

/// The decimal sign that a column's own cells prove.
pub(crate) fn proof(found: &Found<'_>) -> Option<Sign> {
    let counts = found.counts();
    let (mut points, mut commas) = (found.plain.pointed - found.plain.grouped, 0);
    if found.plain.padded_days > 0 && found.plain.day_month == found.plain.pointed {
        points = 0;
    }
    // Texts that are all different can be as many as the rows.
    let proofs: Vec<Option<Sign>> = found.levels.par_iter().map(|level| cell::evidence(level)).collect();
    for (proof, (count, _)) in proofs.iter().zip(&counts) {
        match proof {
            Some(Sign::Point) => points += count,
            Some(Sign::Comma) => commas += count,
            None => {}
        }
    }
    match (points, commas) {
        (0, 0) => None,
        _ if commas > points => Some(Sign::Comma),
        _ => Some(Sign::Point),
    }
}

/// The decimal sign of a column, and whether it had to be guessed.
pub(crate) fn sign(found: &Found<'_>, proof: Option<Sign>, habits: Habits) -> (Sign, bool) {
    if let Some(sign) = proof {
        return (sign, false);
    }
    let is_open = found.levels.par_iter().any(|level| cell::is_ambiguous(level));
    let has_grouped = found.plain.grouped > 0;
    if !is_open && !has_grouped {
        return (Sign::Point, false);
    }
    match (habits.points > 0, habits.commas > 0) {
        (true, false) => (Sign::Point, false),
        (false, true) => (Sign::Comma, false),
        // "1,234" alone: those who write decimal commas do not separate cells with them.
        _ if is_open && !has_grouped => (if habits.by_comma { Sign::Point } else { Sign::Comma }, true),
        _ => (Sign::Point, is_open),
    }
}

/// What one distinct text is in a column of numbers.
#[derive(Debug, Clone, PartialEq)]
enum Level {
    Missing,
    Number(cell::Number),
    Infinite,
    Text,
}

/// A column on its way from found cells to a `Column`.
pub(crate) struct Reader<'r> {
    pub path: &'r Path,
    pub options: &'r ReadOptions,
    pub name: &'r str,
    /// What the user or the caller says that the column is.
    pub kind: Option<ColumnKind>,
    pub lines: &'r Lines,
    pub sign: Sign,
    pub is_guess: bool,
}

/// What `Reader::read` comes to.
pub(crate) enum Outcome {
    Column(Column),
    /// The plain numbers must be gathered as texts first; with the notes if the column is one of texts.
    Again {
        as_text: Option<Vec<String>>,
    },
}

/// Whether so many of the known cells make a column of numbers: nine in ten, or all where there are few.
fn mostly(like: usize, known: usize, rows: usize) -> bool {
    known > 0 && if rows >= 10 { like * 10 >= known * 9 } else { like == known }
}

impl Reader<'_> {
    pub fn read(&self, found: Found<'_>) -> Result<Outcome> {
        if self.kind == Some(ColumnKind::Text) {
            return Ok(self.as_text(&found, vec![]));
        }
        if self.sign == Sign::Comma && found.plain.pointed > 0 {
            return Ok(Outcome::Again { as_text: None });
        }
        let counts = found.counts();
        let levels: Vec<Level> = found.levels.par_iter().map(|level| self.level(level)).collect();
        let tally = Tally::of(&found, &levels, &counts);
        if self.kind == Some(ColumnKind::Number) {
            if tally.numbers() == 0 && tally.known() > 0 {
                let at = levels.iter().position(|l| *l != Level::Missing).unwrap_or(0);
                let place = cell_place(self.path, self.lines.get(counts[at].1), self.name);
                let found = format!("{} is no number, and no other cell is one", quoted(&found.levels[at]));
                return Err(Error::data(place, found, "numbers", "say that the column is text, or ignore it"));
            }
        } else if let Some(why) = self.kept_as_text(&found, &tally) {
            return Ok(self.as_text(&found, vec![why]));
        } else if !tally.is_numeric(found.rows) {
            return Ok(self.as_text(&found, self.doubts(&found, &tally, &levels, &counts)));
        }
        self.numbers(found, &levels, &counts, &tally).map(Outcome::Column)
    }

    /// Of the cells that were gathered as texts after `read` asked for it.
    pub fn read_again(&self, found: Found<'_>, as_text: Option<Vec<String>>) -> Result<Outcome> {
        match as_text {
            Some(notes) => Ok(self.as_text(&found, notes)),
            None => self.read(found),
        }
    }

    fn as_text(&self, found: &Found<'_>, notes: Vec<String>) -> Outcome {
        match found.plain.cells {
            0 => Outcome::Column(self.texts(found, notes)),
            _ => Outcome::Again { as_text: Some(notes) },
        }
    }

    fn level(&self, text: &str) -> Level {
        if self.is_missing_number(text) {
            Level::Missing
        } else if cell::is_infinite(text) {
            Level::Infinite
        } else {
            cell::number(text, self.sign).map_or(Level::Text, Level::Number)
        }
    }

    fn is_missing_number(&self, text: &str) -> bool {
        match &self.options.missing_markers {
            None => cell::is_missing(text),
            Some(markers) => text.is_empty() || text.eq_ignore_ascii_case("nan") || markers.iter().any(|m| m == text),
        }
    }

    /// Why a column of digits is no column of numbers.
    fn kept_as_text(&self, found: &Found<'_>, tally: &Tally) -> Option<String> {
        let plain = &found.plain;
        let only_whole = plain.cells > 0 && plain.whole == plain.cells && tally.read == 0;
        let option = either(format!("--as {}", shell(&format!("{}=number", self.name))), "choose the kind number");
        if only_whole && plain.zeros > 0 {
            return Some(format!("text, for zeros stand in front of its digits ({option} for numbers)"));
        }
        if only_whole && plain.inexact > 0 {
            return Some(format!("text, for its digits are more than a number holds exactly ({option} for numbers)"));
        }
        let all_days = plain.padded_days > 0 && plain.day_month == plain.cells && tally.read == 0;
        all_days.then(|| format!("text, for its cells are days and months such as 01.12 ({option} for numbers)"))
    }

    /// Where many cells of a text are numbers: what kept it from being one.
    fn doubts(&self, found: &Found<'_>, tally: &Tally, levels: &[Level], counts: &[(usize, usize)]) -> Vec<String> {
        let number_like = tally.numbers() + tally.other_units + tally.infinite;
        if number_like == 0 || number_like == tally.infinite || number_like * 2 < tally.known() {
            return vec![];
        }
        if tally.other_units > 0 && tally.text * 10 <= tally.known() {
            return vec!["text, for its numbers have different units".into()];
        }
        let Some(at) = levels.iter().position(|l| *l == Level::Text) else { return vec![] };
        vec![format!(
            "text, for {} of {} cells are no numbers, the first {} in line {}; {} takes them as missing",
            tally.text,
            tally.known(),
            quoted(&found.levels[at]),
            self.lines.get(counts[at].1),
            either(format!("--as {}", shell(&format!("{}=number", self.name))), "the kind number"),
        )]
    }

    fn numbers(
        &self,
        mut found: Found<'_>,
        levels: &[Level],
        counts: &[(usize, usize)],
        tally: &Tally,
    ) -> Result<Column> {
        let mut values = std::mem::take(&mut found.values);
        values.resize(found.rows, f64::NAN);
        // The first cell that is no number: its text, its row, and whether it is infinite.
        let mut wrong: Option<(String, usize, bool)> = None;
        let mut n_wrong = 0;
        if tally.unit == "%" && tally.plain > 0 {
            n_wrong = tally.plain;
            wrong = values.iter().position(|v| !v.is_nan()).map(|row| (values[row].to_string(), row, false));
            values.fill(f64::NAN);
        }
        let mut notes = vec![];
        let of_level: Vec<f64> = levels
            .iter()
            .zip(counts)
            .zip(&found.levels)
            .map(|((level, &(count, row)), text)| match level {
                Level::Number(n) if tally.takes(&n.unit) => n.value,
                Level::Missing => f64::NAN,
                other => {
                    n_wrong += count;
                    if wrong.as_ref().is_none_or(|(_, first, _)| row < *first) {
                        wrong = Some((text.to_string(), row, *other == Level::Infinite));
                    }
                    f64::NAN
                }
            })
            .collect();
        for &(row, level) in &found.odd {
            values[row as usize] = of_level[level as usize];
        }
        if let Some(markers) = &self.options.missing_markers {
            let numeric: Vec<f64> = markers.iter().filter_map(|m| m.parse().ok()).collect();
            values.iter_mut().filter(|v| numeric.contains(v)).for_each(|v| *v = f64::NAN);
        }
        let read = |what: fn(&cell::Number) -> bool| levels.iter().any(|l| matches!(l, Level::Number(n) if what(n)));
        if self.sign == Sign::Comma && found.levels.iter().any(|l| l.contains(',')) {
            notes.push("decimal commas".to_string());
        }
        if read(|n| n.is_grouped) {
            notes.push("with thousands separators".into());
        }
        if self.is_guess {
            notes.push(match self.sign {
                Sign::Comma => "commas taken as decimal (\"1,234\" could be thousands)".to_string(),
                Sign::Point => "commas taken as thousands (\"1,234\" could be decimal)".into(),
            });
        }
        match tally.unit.as_str() {
            "" => {}
            "%" => notes.push("in per cent".into()),
            unit => notes.push(format!("unit {} taken off", quoted(unit))),
        }
        notes.extend(self.markers_used(&found, levels, counts));
        let mut unread = None;
        if let Some((text, row, is_infinite)) = wrong {
            let text = quoted(&text);
            if self.options.strict {
                return Err(self.strict_error(&text, row, is_infinite));
            }
            let are = if n_wrong == 1 { "1 cell that is no number counts" } else { "cells that are no numbers count" };
            let n = if n_wrong == 1 { String::new() } else { format!("{n_wrong} ") };
            let first = if n_wrong == 1 { "" } else { "the first " };
            unread = Some(format!("{n}{are} as missing: {first}{text} in line {}", self.lines.get(row)));
        }
        Ok(Column { name: self.name.into(), cells: Cells::Number(values), reading: notes, unread })
    }

    fn strict_error(&self, text: &str, row: usize, is_infinite: bool) -> Error {
        let line = self.lines.get(row);
        let place = cell_place(self.path, line, self.name);
        if is_infinite {
            let help = "give the number, or leave the cell empty if it is missing";
            return Error::data(place, format!("{text} is infinite"), "finite numbers", help);
        }
        // Near the top a text among numbers is more likely a title or a second header than a cell.
        let title = if row < 2 {
            format!(
                "if the line is a title or a header, {}; else ",
                either(format!("leave it out with --skip-lines {line}"), format!("skip {}", counted(line, "line")))
            )
        } else {
            String::new()
        };
        let help = format!(
            "{title}fix it, leave the cell empty if it is missing, or {}",
            either(
                format!("say that the column is text with --as {}", as_text(self.name)),
                "choose the kind text for the column"
            )
        );
        let as_text = Cure::set(key!(data.text_columns).path, self.name);
        Error::data(place, format!("{text} in a column of numbers"), "numbers", help).curing(as_text)
    }

    /// Markers that a reader may not expect to be missing values.
    fn markers_used(&self, found: &Found<'_>, levels: &[Level], counts: &[(usize, usize)]) -> Option<String> {
        let is_usual = |text: &str| text.is_empty() || ["na", "nan"].iter().any(|m| text.eq_ignore_ascii_case(m));
        let mut used: Vec<(&str, usize)> = (found.levels.iter().zip(levels).zip(counts))
            .filter(|((text, level), _)| **level == Level::Missing && !is_usual(text))
            .map(|((text, _), (count, _))| (text.as_ref(), *count))
            .collect();
        used.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown: Vec<String> = used.iter().take(4).map(|(text, _)| quoted(text)).collect();
        let n: usize = used.iter().map(|(_, count)| count).sum();
        (!shown.is_empty()).then(|| format!("{} with {} missing", counted(n, "cell"), shown.join(", ")))
    }

    /// All cells as they are, but for those that stand for missing ones.
    fn texts(&self, found: &Found<'_>, mut notes: Vec<String>) -> Column {
        let (is_missing, note) = self.missing_texts(found);
        notes.extend(note);
        let texts = Texts::of_codes(found.rows, &found.odd, &found.levels, |level| is_missing[level]);
        Column { name: self.name.into(), cells: Cells::Text(texts), reading: notes, unread: None }
    }

    /// `[levels]`: whether a text stands for a missing value. "NA" may be Namibia and "None" a class: they are values in a
    /// column of two-letter codes, or of words, and that is said.
    fn missing_texts(&self, found: &Found<'_>) -> (Vec<bool>, Option<String>) {
        if let Some(markers) = &self.options.missing_markers {
            let is_marker = |text: &str| text.is_empty() || markers.iter().any(|m| m == text);
            return (found.levels.iter().map(|l| is_marker(l)).collect(), None);
        }
        let rest = || found.levels.iter().filter(|l| !cell::is_missing(l));
        let is_code = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase());
        let codes = rest().filter(|l| is_code(l)).count();
        let are_codes = codes >= 2 && codes * 10 >= rest().count() * 9;
        let has_plus = found.levels.iter().any(|l| l == "+");
        let words = ["none", "nil", "missing"];
        let mut kept = vec![];
        let is_missing = found.levels.iter().map(|text| {
            let is_word = words.iter().any(|word| text.eq_ignore_ascii_case(word));
            let is_value = is_word || (text == "NA" && are_codes) || (text == "-" && has_plus);
            if is_value && text != "-" {
                kept.push(text.to_string());
            }
            !is_value && cell::is_missing(text)
        });
        let is_missing = is_missing.collect();
        let note = kept.first().map(|first| {
            let all: Vec<String> = kept.iter().map(|k| quoted(k)).collect();
            let are = if all.len() == 1 { "is a value" } else { "are values" };
            let marker = either(
                format!("--missing-marker {} for missing", shell(first)),
                "if they mean missing, leave such cells empty",
            );
            format!("{} {are} ({marker})", all.join(", "))
        });
        (is_missing, note)
    }
}

/// How many cells are of each kind.
struct Tally {
    plain: usize,
    /// Numbers that are not plain ones, in the column's unit or without one.
    read: usize,
    other_units: usize,
    infinite: usize,
    text: usize,
    unit: String,
    /// Too few different numbers stand before a unit: "2WD" and "4WD" are names.
    are_names: bool,
}

impl Tally {
    fn of(found: &Found<'_>, levels: &[Level], counts: &[(usize, usize)]) -> Tally {
        let mut units: BTreeMap<&str, usize> = BTreeMap::new();
        for (level, (count, _)) in levels.iter().zip(counts) {
            if let Level::Number(n) = level {
                *units.entry(&n.unit).or_default() += count;
            }
        }
        let bare = units.get("").copied().unwrap_or(0) + found.plain.cells;
        let main = units.iter().filter(|(unit, _)| !unit.is_empty()).max_by_key(|(_, n)| **n);
        // Per cent beside bare numbers: 45 % and 0.45 must not meet as they stand.
        let unit = main.filter(|(unit, n)| **unit != "%" || **n >= bare).map_or(String::new(), |(u, _)| u.to_string());
        let mut tally =
            Tally { plain: found.plain.cells, read: 0, other_units: 0, infinite: 0, text: 0, are_names: false, unit };
        if tally.unit == "%" {
            tally.other_units += tally.plain;
        }
        let mut distinct = HashSet::new();
        for (level, (count, _)) in levels.iter().zip(counts) {
            match level {
                Level::Missing => {}
                Level::Infinite => tally.infinite += count,
                Level::Text => tally.text += count,
                Level::Number(n) if tally.takes(&n.unit) => {
                    if n.unit == tally.unit {
                        distinct.insert(n.value.to_bits());
                    }
                    tally.read += count;
                }
                Level::Number(_) => tally.other_units += count,
            }
        }
        tally.are_names = tally.unit.chars().next().is_some_and(char::is_alphabetic) && distinct.len() < 3;
        tally
    }

    fn takes(&self, unit: &str) -> bool {
        unit == self.unit || (unit.is_empty() && self.unit != "%")
    }

    fn numbers(&self) -> usize {
        self.read + if self.unit == "%" { 0 } else { self.plain }
    }

    fn known(&self) -> usize {
        self.numbers() + self.other_units + self.infinite + self.text
    }

    fn is_numeric(&self, rows: usize) -> bool {
        // Nothing known at all is a column of numbers without one; nothing but infinity, as the bounds of intervals
        // without end, is none.
        if self.known() == 0 {
            return true;
        }
        self.numbers() > 0 && !self.are_names && mostly(self.numbers() + self.infinite, self.known(), rows)
    }
}
