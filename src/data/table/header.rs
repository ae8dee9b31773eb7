//! Whether the first row of a table is a header, and the names of its columns. Must not read data rows.

use super::cell;
use super::rows::Rows;
use super::{ReadOptions, is_bare_number};
use crate::data::quoted;
use crate::error::either;
use std::borrow::Cow;
use std::collections::HashSet;

pub(crate) struct Header {
    /// `[columns]`; `None` where the file names none.
    pub names: Option<Vec<String>>,
    /// The first row is no row of data.
    pub in_first_row: bool,
    pub notes: Vec<String>,
}

/// From the first rows of a table with `width` columns.
pub(crate) fn find(rows: &Rows<'_>, width: usize, options: &ReadOptions) -> Header {
    let mut notes = vec![];
    let none = Header { names: None, in_first_row: false, notes: vec![] };
    if options.header == Some(false) {
        return none;
    }
    let bare = unquoted(rows.row(0), &options.expected);
    let first = bare.as_deref().unwrap_or(rows.row(0));
    // A comma behind the last name makes no column where no row has one.
    let first = &first[..first.len().min(width)];
    let is_data = first.len() == width && first.iter().any(|cell| is_bare_number(cell));
    if let Some(names) = rows.comment.filter(|_| is_data).and_then(|comment| commented(comment, first, width)) {
        notes.push("the names of the columns are read from the line that begins with '#'".into());
        return Header { names: Some(distinct(&names, &mut notes)), in_first_row: false, notes };
    }
    let counts_up = is_numbered(rows, width);
    let years = years(first, rows, width);
    let is_header = options.header.unwrap_or_else(|| {
        first.len() < width
            || is_expected(first, &options.expected)
            || counts_up
            || years.is_some()
            || stands_over_counter(rows, width)
            || stands_over_cells(rows, width)
    });
    if !is_header {
        return none;
    }
    if counts_up && options.header.is_none() {
        notes.push(format!(
            "the first line counts the columns and is read as their names ({} if it is data)",
            either("--header no", "choose \"no names in the first line\"")
        ));
    }
    if let Some((from, to)) = years.filter(|_| options.header.is_none()) {
        notes.push(format!(
            "the years {from} to {to} in the first line are read as names ({} if the line is data)",
            either("--header no", "choose \"no names in the first line\"")
        ));
    }
    let mut cells: Vec<Cow<'_, str>> = first.to_vec();
    while cells.len() < width {
        cells.insert(0, Cow::Borrowed("row"));
    }
    Header { names: Some(distinct(&cells, &mut notes)), in_first_row: true, notes }
}

/// The names without the quotes that surround every one of them; None where they do not, or a model knows them with quotes.
fn unquoted<'a>(first: &[Cow<'a, str>], expected: &[String]) -> Option<Vec<Cow<'a, str>>> {
    let inside = |cell: &str| Some(cell.strip_prefix('\'')?.strip_suffix('\'')?.trim().to_string());
    let is_bare = |cell: &Cow<'_, str>| !cell.is_empty() && inside(cell).is_none_or(|name| name.is_empty());
    let is_old = expected.iter().any(|name| inside(name).is_some());
    let none = first.iter().all(|cell| cell.is_empty());
    if none || is_old || first.iter().any(is_bare) {
        return None;
    }
    Some(first.iter().map(|cell| Cow::Owned(inside(cell).unwrap_or_default())).collect())
}

/// What a column that is named by its year is called.
const YEARS: std::ops::RangeInclusive<i64> = 1500..=2100;

/// Whether a name is that of a year.
pub(crate) fn is_year(name: &str) -> bool {
    name.len() == 4 && name.parse().is_ok_and(|year: i64| YEARS.contains(&year))
}

/// `city,2019,2020,2021` over texts and numbers that are no years: the first and the last of them. Two must be neighbours, more
/// need only rise; and no other cell of the line may occur again below it.
fn years<'a>(first: &'a [Cow<'_, str>], rows: &Rows<'_>, width: usize) -> Option<(&'a str, &'a str)> {
    if first.len() != width || rows.len() < 2 {
        return None;
    }
    let (named, others): (Vec<usize>, Vec<usize>) = (0..width).partition(|&i| is_year(&first[i]));
    let years: Vec<i64> = named.iter().filter_map(|&i| first[i].parse().ok()).collect();
    let rises = years.windows(2).all(|w| w[0] < w[1] && (years.len() > 2 || w[1] == w[0] + 1));
    let is_text = |&i: &usize| !is_bare_number(&first[i]) && !cell::is_infinite(&first[i]);
    let has_text = others.iter().any(|&i| !cell::is_missing(&first[i]));
    if years.len() < 2 || !rises || !has_text || !others.iter().all(is_text) {
        return None;
    }
    let below = |i: usize| (1..rows.len()).map(move |row| rows.cell(row, i)).filter(|cell| !cell::is_missing(cell));
    let recurs = others.iter().any(|&i| !first[i].is_empty() && below(i).any(|cell| cell == first[i]));
    let known = || named.iter().flat_map(|&i| below(i));
    let like = known().filter(|cell| is_year(cell)).count();
    let numbers = known().filter(|cell| is_bare_number(cell) || has_number(cell)).count();
    let is_header = !recurs && numbers > 0 && like * 10 < known().count();
    is_header.then(|| (&*first[named[0]], &*first[named[named.len() - 1]]))
}

/// The names of a model's columns: more than half of them, and a word among them.
fn is_expected(first: &[Cow<'_, str>], expected: &[String]) -> bool {
    let cells: HashSet<String> = first.iter().map(|cell| tidy(cell)).collect();
    let met: Vec<&String> = expected.iter().filter(|name| cells.contains(*name)).collect();
    met.len() * 2 > expected.len() && met.iter().any(|name| !is_bare_number(name))
}

/// `#a,b,y` as numpy writes it: as many names as there are columns, none a number.
fn commented<'a>(comment: &'a str, first: &[Cow<'_, str>], width: usize) -> Option<Vec<Cow<'a, str>>> {
    let text = comment.trim_start_matches('#').trim();
    let splits: [fn(char) -> bool; 5] =
        [|c| c == ',', |c| c == ';', |c| c == '\t', |c| c == '|', |c: char| c.is_whitespace()];
    let split = |is_end: fn(char) -> bool| -> Vec<&str> {
        let parts = text.split(is_end).map(|name| name.trim().trim_matches('"'));
        if is_end(' ') { parts.filter(|p| !p.is_empty()).collect() } else { parts.collect() }
    };
    let names = splits.into_iter().map(split).find(|names| names.len() == width && width == first.len())?;
    // One word over one column may be any remark.
    let are_names = names.iter().all(|name| !name.is_empty() && !is_bare_number(name)) && width > 1;
    are_names.then(|| names.into_iter().map(Cow::Borrowed).collect())
}

/// `0,1,2,3` or `,0,1,2,3`: pandas' names of nameless columns.
fn is_numbered(rows: &Rows<'_>, width: usize) -> bool {
    let counts = |cells: &[Cow<'_, str>]| cells.iter().enumerate().all(|(i, cell)| **cell == *i.to_string());
    let numbered = |cells: &[Cow<'_, str>]| match cells {
        [index, rest @ ..] if index.is_empty() => rest.len() > 1 && counts(rest),
        _ => cells.len() > 2 && counts(cells),
    };
    // Rows that all count up are data.
    rows.row(0).len() == width && rows.len() > 1 && numbered(rows.row(0)) && !counts(rows.row(1))
}

/// `,class,age` over rows that are counted: pandas' and R's index, with names beside its empty cell.
fn stands_over_counter(rows: &Rows<'_>, width: usize) -> bool {
    let [index, names @ ..] = rows.row(0) else { return false };
    let is_name = |cell: &Cow<'_, str>| !cell::is_missing(cell) && !is_bare_number(cell);
    let number = |i: usize| rows.cell(i, 0).trim().parse::<i64>().ok();
    let counts = (2..rows.len()).all(|i| number(i).zip(number(i - 1)).is_some_and(|(b, a)| b == a + 1));
    index.trim().is_empty()
        && rows.row(0).len() == width
        && width > 1
        && rows.len() > 2
        && counts
        && names.iter().all(is_name)
}

/// A text stands over numbers; or, in a table of text alone, no word of the first row occurs again in its column
/// though values do repeat.
fn stands_over_cells(rows: &Rows<'_>, width: usize) -> bool {
    let is_number = |cell: &str| cell::is_infinite(cell) || is_bare_number(cell);
    let is_text = |cell: &str| !cell::is_missing(cell) && !is_number(cell);
    if rows.len() == 1 {
        return rows.row(0).iter().all(|cell| is_text(cell));
    }
    let mut all_texts = true;
    for column in 0..width {
        let known = || (1..rows.len()).map(|i| rows.cell(i, column)).filter(|cell| !cell::is_missing(cell));
        let numbers = known().filter(|cell| is_number(cell) || has_number(cell)).count();
        let enough = if rows.len() > 10 { numbers * 10 >= known().count() * 9 } else { numbers == known().count() };
        let is_numeric = numbers > 0 && enough;
        let is_name = is_text(rows.cell(0, column));
        if is_name && is_numeric && !has_number(rows.cell(0, column)) {
            return true;
        }
        all_texts &= is_name && !is_numeric;
    }
    if rows.len() < 10 || !all_texts {
        return false;
    }
    let mut repeats = false;
    for column in 0..width {
        let seen: HashSet<&str> = (1..rows.len()).map(|i| rows.cell(i, column)).collect();
        if seen.contains(rows.cell(0, column)) {
            return false;
        }
        repeats |= seen.len() * 2 <= rows.len();
    }
    repeats
}

/// A number with a unit.
fn has_number(text: &str) -> bool {
    [cell::Sign::Point, cell::Sign::Comma].iter().any(|&sign| cell::number(text, sign).is_some())
}

fn tidy(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every name once: a nameless column gets its index, or "row" where the indices are names of others; a name that is
/// taken gets a number behind it.
fn distinct(cells: &[Cow<'_, str>], notes: &mut Vec<String>) -> Vec<String> {
    let given: HashSet<String> = cells.iter().map(|cell| tidy(cell)).collect();
    let mut taken: HashSet<String> = HashSet::new();
    let (mut names, mut renamed) = (vec![], vec![]);
    for (i, cell) in cells.iter().enumerate() {
        let wanted = match tidy(cell) {
            name if !name.is_empty() => name,
            _ if given.contains(&i.to_string()) => "row".into(),
            _ => i.to_string(),
        };
        let is_free = |name: &String, taken: &HashSet<String>| !taken.contains(name);
        let mut name = wanted.clone();
        let mut number = 2;
        while !is_free(&name, &taken) || (name != wanted && given.contains(&name)) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        if name != wanted {
            renamed.push(format!("{} is {}", quoted(&wanted), quoted(&name)));
        }
        taken.insert(name.clone());
        names.push(name);
    }
    if !renamed.is_empty() {
        let more = renamed.len().saturating_sub(5);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        renamed.truncate(5);
        notes.push(format!("names that occur again got a number: the second {}{rest}", renamed.join(", ")));
    }
    names
}
