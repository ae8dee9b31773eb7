//! What a column means: a number, yes or no, a date, levels, or nothing that could be an input. One inference for every
//! table, from the training rows; whether a column counts or names the rows is seen on all of them.
//! Must not touch a target, and must not refuse what can be guessed, unless the rules are strict.

use super::feature::{Calendar, FeatureKind, Scale, Unseen};
use super::learn::{Stats, known, labels_of, quartiles, range_error};
use super::{Dropped, Encoder, Missing, Robust, number_text};
use crate::data::quoted;
use crate::data::table::calendar::{self, Moment};
use crate::data::table::{Cells, Column, ColumnKind, Table, as_text};
use crate::error::{Error, Result, either};
use crate::recipe::Scaling;
use std::collections::HashSet;

/// What the user wishes of all columns.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Names or indices.
    pub ignore: &'a [String],
    pub missing: Missing,
    /// By what numbers and the trends of dates become inputs.
    pub scaling: Scaling,
    /// Most inputs of one text column; rarer levels share one.
    pub max_levels: usize,
    /// A text of more levels becomes one input, which is looked up in a trained table.
    pub embed_above: Option<usize>,
    /// What is not clear is an error, and nothing is dropped by a guess.
    pub strict: bool,
}

impl Default for Rules<'_> {
    fn default() -> Self {
        let (missing, scaling) = (Missing::default(), Scaling::default());
        Rules { ignore: &[], missing, scaling, max_levels: MAX_LEVELS, embed_above: None, strict: false }
    }
}

impl Rules<'_> {
    /// Whether a text with so many levels gets a table.
    fn embeds(&self, levels: usize) -> bool {
        // Beyond that a number of an input is no longer exact.
        self.embed_above.is_some_and(|most| levels > most && levels < 1 << 24)
    }
}

/// Of 16, 64, 100 and 300 inputs, hashes, first words and lengths, best on nine columns of names in public tables.
pub const MAX_LEVELS: usize = 300;
/// A level in fewer training rows is a rare one, where there are at least `FEW` rows.
const RARE: usize = 3;
const FEW: usize = 30;
/// Columns shorter than this are not called identifiers.
const MIN_IDS: usize = 10;

pub(crate) enum Meaning {
    Input(FeatureKind),
    /// Left out, and why.
    Nothing(String),
    /// Left out as a guess; what it would be if it were the only input.
    Guess(String, FeatureKind),
}

pub(crate) fn of(
    table: &Table,
    column: &Column,
    rules: &Rules,
    rows: &[usize],
    notes: &mut Vec<String>,
) -> Result<Meaning> {
    let said = table.kind_of(column);
    if said == Some(ColumnKind::Ignore) {
        return Ok(Meaning::Nothing(either("--as", "left out by its kind")));
    }
    let meaning = match &column.cells {
        Cells::Number(values) => of_numbers(table, column, values, rules, rows, said)?,
        Cells::Text(texts) => of_texts(table, column, texts, rules, rows, said, notes)?,
    };
    // Who names a column's kind wants it.
    Ok(match meaning {
        Meaning::Guess(_, kind) if said.is_some() => Meaning::Input(kind),
        meaning => meaning,
    })
}

fn of_numbers(
    table: &Table,
    column: &Column,
    values: &[f64],
    rules: &Rules,
    rows: &[usize],
    said: Option<ColumnKind>,
) -> Result<Meaning> {
    let known = known(values, rows);
    let Some(stats) = Stats::of(&known) else {
        return Ok(Meaning::Nothing("no value in the training rows".into()));
    };
    if stats.is_constant() {
        return Ok(Meaning::Nothing(format!("constant in the training rows ({})", number_text(stats.min))));
    }
    let Stats { mean, sd, min, max } = stats;
    if !(mean.is_finite() && sd.is_finite() && (max - min).is_finite()) {
        return Err(range_error(table, column, stats));
    }
    let has_gaps = known.len() < rows.len();
    if said != Some(ColumnKind::Number) && (!rules.strict || said == Some(ColumnKind::Date)) && min >= 1e7 && max < 3e7
    {
        let moments: Option<Vec<Moment>> =
            known.iter().map(|v| calendar::parse(&number_text(*v), Default::default())).collect();
        if let Some(moments) = moments {
            let flag = has_gaps && rules.missing == Missing::Flag;
            return Ok(of_dates(&moments, Default::default(), flag, rules.scaling));
        }
    }
    if said == Some(ColumnKind::Date) {
        let place = format!("{}, column {}", table.path.display(), quoted(&column.name));
        let help = either("leave --as out (a year is a number)", "take its kind back (a year is a number)");
        return Err(Error::data(place, "numbers that are not dates", "dates such as 2024-12-31 or 20241231", help));
    }
    let robust = robust(&known, rules.scaling);
    let kind = match has_gaps && rules.missing == Missing::Flag {
        true => {
            let fill = robust.map_or(mean, |robust| robust.median);
            FeatureKind::Gappy { mean, sd, min, max, fill, robust }
        }
        false => FeatureKind::Numeric { mean, sd, min, max, robust },
    };
    Ok(match identifies(table, column, values).filter(|_| !rules.strict) {
        Some(reason) => Meaning::Guess(reason.into(), kind),
        None => Meaning::Input(kind),
    })
}

/// The scaling that is asked for, where it is not by mean and sd.
fn robust(values: &[f64], scaling: Scaling) -> Option<Robust> {
    if scaling == Scaling::Robust { quartiles(values) } else { None }
}

/// Why numbers seem to name or count the rows.
fn identifies(table: &Table, column: &Column, values: &[f64]) -> Option<&'static str> {
    if values.len() < MIN_IDS {
        return None;
    }
    // A nameless column of a table with a header is named by its place.
    let is_nameless = || {
        table.columns.iter().position(|c| c.name == column.name).map(|i| i.to_string()).as_ref() == Some(&column.name)
    };
    let named = table.header && (names_rows(&column.name) || is_nameless());
    if step(values).is_some() && named {
        return Some("counts the rows");
    }
    if counts_rows(values) && !names_axis(&column.name) {
        return Some("counts the rows");
    }
    if !named {
        return None;
    }
    let is_whole = |v: &f64| v.fract() == 0.0;
    let mut distinct = HashSet::new();
    let is_distinct = values.iter().filter(|v| !v.is_nan()).all(|v| is_whole(v) && distinct.insert(v.to_bits()));
    (is_distinct && distinct.len() >= MIN_IDS).then_some("an identifier: a whole number that differs in every row")
}

/// The constant step between whole numbers.
fn step(values: &[f64]) -> Option<f64> {
    let step = values.get(1)? - values.first()?;
    let is_even = values.iter().all(|v| v.fract() == 0.0) && values.windows(2).all(|w| w[1] - w[0] == step);
    (is_even && step != 0.0).then_some(step)
}

/// 0, 1, 2, ... or 1, 2, 3, ...
pub(crate) fn counts_rows(values: &[f64]) -> bool {
    matches!(values.first(), Some(&(0.0 | 1.0))) && step(values) == Some(1.0)
}

/// A name that tables give to what numbers their rows.
fn names_rows(name: &str) -> bool {
    const NAMES: [&str; 24] = [
        "",
        "id",
        "ids",
        "index",
        "idx",
        "row",
        "rows",
        "rownames",
        "rowname",
        "row_names",
        "rowid",
        "row_id",
        "rownum",
        "row_number",
        "no",
        "no.",
        "nr",
        "nr.",
        "#",
        "obs",
        "case",
        "record",
        "key",
        "serial",
    ];
    let lower = name.to_lowercase();
    let ends = ["_id", " id", ".id", "-id", "uuid", "guid"].iter().any(|end| lower.ends_with(end));
    let camel =
        (name.ends_with("Id") || name.ends_with("ID")) && name[..name.len() - 2].ends_with(|c: char| c.is_lowercase());
    ends || camel || lower.starts_with("unnamed") || NAMES.contains(&lower.as_str())
}

/// A name for what a curve is drawn over: 0, 1, 2, ... may be its values.
fn names_axis(name: &str) -> bool {
    const WORDS: [&str; 28] = [
        "time", "times", "year", "years", "month", "months", "week", "weeks", "day", "days", "date", "hour", "hours",
        "minute", "minutes", "second", "seconds", "quarter", "period", "epoch", "step", "steps", "age", "position",
        "distance", "depth", "dose", "level",
    ];
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    lower.chars().count() == 1 || words.any(|word| WORDS.contains(&word))
}

fn of_texts(
    table: &Table,
    column: &Column,
    texts: &crate::data::table::column::Texts,
    rules: &Rules,
    rows: &[usize],
    said: Option<ColumnKind>,
    notes: &mut Vec<String>,
) -> Result<Meaning> {
    let levels = texts.levels();
    let (mut counts, mut missing) = (vec![0usize; levels.len()], 0);
    for &row in rows {
        match texts.code(row) {
            Some(code) => counts[code] += 1,
            None => missing += 1,
        }
    }
    let seen: Vec<usize> = (0..levels.len()).filter(|&code| counts[code] > 0).collect();
    if seen.len() + usize::from(missing > 0) < 2 {
        let level = seen.first().map_or("missing".into(), |&code| quoted(&levels[code]));
        return Ok(Meaning::Nothing(format!("constant in the training rows ({level})")));
    }
    let flag = missing > 0 && rules.missing == Missing::Flag;
    if rules.strict && said != Some(ColumnKind::Date) {
        return of_strict(table, column, rules);
    }
    let words = || seen.iter().map(|&code| levels[code].as_str());
    if let Some((no, yes)) = switch(words()) {
        let is_yes = |code: &&usize| levels[**code].to_lowercase() == yes;
        let share = seen.iter().filter(is_yes).map(|&code| counts[code]).sum::<usize>() as f64
            / (rows.len() - missing).max(1) as f64;
        return Ok(Meaning::Input(FeatureKind::Switch { no, yes, share, flag }));
    }
    // A few texts among dates are missing dates, where those are filled.
    let is_text = said == Some(ColumnKind::Text);
    let all_dates = |order| words().all(|text| calendar::parse(text, order).is_some());
    let clocks = || {
        let found = calendar::Found { order: calendar::Order::Clock, is_ambiguous: false };
        calendar::are_clocks(words()).then_some(found)
    };
    let dates = calendar::detect(words()).or_else(clocks);
    if let Some(found) = dates.filter(|f| !is_text && (rules.missing.fills() || all_dates(f.order))) {
        let of_level: Vec<Option<Moment>> = levels.iter().map(|text| calendar::parse(text, found.order)).collect();
        let moments: Vec<Moment> =
            rows.iter().filter_map(|&row| texts.code(row).and_then(|code| of_level[code])).collect();
        if found.is_ambiguous {
            let first = if found.order == calendar::Order::DayFirst { "day" } else { "month" };
            notes.push(format!(
                "dates of column {} are read with the {first} first, as they fit either order",
                quoted(&column.name)
            ));
        }
        let flag = rules.missing == Missing::Flag && moments.len() < rows.len();
        return Ok(of_dates(&moments, found.order, flag, rules.scaling));
    }
    if said == Some(ColumnKind::Date) {
        let place = format!("{}, column {}", table.path.display(), quoted(&column.name));
        let is_date = |text: &str| {
            let orders = [calendar::Order::DayFirst, calendar::Order::MonthFirst];
            orders.iter().any(|&order| calendar::parse(text, order).is_some())
        };
        let wrong = seen.iter().copied().find(|&code| !is_date(&levels[code]));
        let found = match wrong.and_then(|code| Some((code, rows.iter().find(|&&row| texts.code(row) == Some(code))?)))
        {
            Some((code, &row)) => format!("{} in line {} is no date", quoted(&levels[code]), table.lines.get(row)),
            None => "dates that are written in several ways".into(),
        };
        let help = format!(
            "write all of them in one such way, or {}",
            either(format!("use --as {} to read them as texts", as_text(&column.name)), "choose the kind text")
        );
        return Err(Error::data(place, found, "dates such as 2024-12-31, 31.12.2024 or Dec 2024", help));
    }
    let there = texts.len() - texts.missing();
    if !is_text && there >= MIN_IDS && levels.len() * 20 >= there * 19 {
        let reason = "an identifier or free text: it differs in nearly every row";
        return Ok(Meaning::Nothing(reason.into()));
    }
    Ok(of_levels(levels, &counts, seen, missing > 0 && rules.missing.fills(), rules, rows.len()))
}

/// An input for each level of the whole file.
fn of_strict(table: &Table, column: &Column, rules: &Rules) -> Result<Meaning> {
    let mut levels = labels_of(column);
    if rules.missing.fills() && column.missing() > 0 {
        levels.insert(0, String::new());
    }
    let embedded = rules.embeds(levels.len());
    if levels.len() > rules.max_levels && !embedded {
        let place = format!("{}, column {}", table.path.display(), quoted(&column.name));
        let found = format!("text with {} levels", levels.len());
        let help = either(
            format!("use --ignore {}, or group its values", quoted(&column.name)),
            "take its tick away, or group its values",
        );
        return Err(Error::data(place, found, format!("up to {} levels", rules.max_levels), help));
    }
    Ok(Meaning::Input(FeatureKind::Levels { levels, unseen: Unseen::Refuse, embedded }))
}

/// The most frequent levels keep an input each, the rare ones share one; of a column with a table so do its rows.
fn of_levels(
    levels: &[String],
    counts: &[usize],
    mut seen: Vec<usize>,
    with_missing: bool,
    rules: &Rules,
    rows: usize,
) -> Meaning {
    let rare = if rows < FEW { 2 } else { RARE };
    seen.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then_with(|| levels[a].cmp(&levels[b])));
    let frequent = seen.iter().take_while(|&&code| counts[code] >= rare).count();
    let embedded = rules.embeds(frequent);
    let frequent = if embedded { frequent } else { frequent.min(rules.max_levels) };
    if frequent == 0 && !with_missing {
        return Meaning::Nothing(format!("text whose {} levels hardly repeat", seen.len()));
    }
    let mut kept: Vec<String> = seen[..frequent].iter().map(|&code| levels[code].clone()).collect();
    crate::data::encode::learn::sort_labels(&mut kept);
    if with_missing {
        kept.insert(0, String::new());
    }
    let unseen = if frequent < seen.len() { Unseen::Other } else { Unseen::Zeros };
    Meaning::Input(FeatureKind::Levels { levels: kept, unseen, embedded })
}

/// The two words of a column that says yes or no.
fn switch<'t>(words: impl Iterator<Item = &'t str>) -> Option<(String, String)> {
    const PAIRS: [(&str, &str); 9] = [
        ("no", "yes"),
        ("n", "y"),
        ("false", "true"),
        ("f", "t"),
        ("nein", "ja"),
        ("n", "j"),
        ("falsch", "wahr"),
        ("off", "on"),
        ("non", "oui"),
    ];
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let word = word.to_lowercase();
        if !found.contains(&word) {
            if found.len() == 2 {
                return None;
            }
            found.push(word);
        }
    }
    let [a, b] = &found[..] else { return None };
    PAIRS.iter().find_map(|(no, yes)| match () {
        () if (a == no && b == yes) || (a == yes && b == no) => Some((no.to_string(), yes.to_string())),
        () => None,
    })
}

/// The parts of a date that vary among the moments of the training rows.
fn of_dates(moments: &[Moment], order: calendar::Order, flag: bool, scaling: Scaling) -> Meaning {
    let parts: Vec<calendar::Parts> = moments.iter().map(Moment::parts).collect();
    let years: Vec<f64> = parts.iter().map(|p| p.years).collect();
    let Some(stats) = Stats::of(&years).filter(|s| !s.is_constant()) else {
        return Meaning::Nothing("the same date in all training rows".into());
    };
    let distinct = |key: &dyn Fn(&calendar::Parts) -> u64| parts.iter().map(key).collect::<HashSet<u64>>().len();
    // Months alone, and their first or last days, have weekdays that mean nothing.
    let has_days = moments.iter().all(|m| m.has_day) && distinct(&|p| u64::from(p.day)) > 4;
    let Stats { mean, sd, min, max } = stats;
    let trend = Scale { mean, sd, min, max, robust: robust(&years, scaling) };
    let kind = Calendar {
        order,
        trend,
        year: distinct(&|p| u64::from(p.month * 32 + p.day)) > 1,
        week: has_days && distinct(&|p| u64::from(p.weekday)) > 1,
        day: distinct(&|p| p.of_day.to_bits()) > 1,
        flag,
    };
    Meaning::Input(FeatureKind::Date(kind))
}

/// What each column became, one line for all columns of which the same is to be said, in the order of the table.
pub fn lines(table: &Table, encoder: &Encoder) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for column in &table.columns {
        let Some(mut text) = became(encoder, &column.name) else { continue };
        // One line for all constants, whatever their values.
        if let (true, Some(end)) = (text.contains("constant in"), text.rfind(" (")) {
            text.truncate(end);
        }
        for note in column.notes() {
            text = format!("{text}; {note}");
        }
        match groups.iter_mut().find(|(other, _)| *other == text) {
            Some((_, names)) => names.push(&column.name),
            None => groups.push((text, vec![&column.name])),
        }
    }
    let line = |(text, names): &(String, Vec<&str>)| {
        let shown = names.iter().take(5).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let (more, verb) = (names.len().saturating_sub(5), if names.len() == 1 { "column" } else { "columns" });
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{verb} {shown}{more}: {text}")
    };
    groups.iter().map(line).collect()
}

/// What a column became; `None` for the target and for a name that the encoder does not know.
pub fn became(encoder: &Encoder, name: &str) -> Option<String> {
    let feature = encoder.features.iter().find(|f| f.name == name).map(|f| f.kind.became());
    feature.or_else(|| encoder.dropped.iter().find(|d| d.name == name).map(Dropped::said))
}

#[cfg(test)]
#[path = "meaning_tests.rs"]
mod tests;
