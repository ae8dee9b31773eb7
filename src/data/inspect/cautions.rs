//! What looks wrong in a table without being an error: copies of rows, rare classes, numbers that mean "missing", inputs that
//! leak the target. Must not change what is learnt.

use super::far;
use super::sentence::Sentence;
use crate::base::rng::SplitMix64;
use crate::base::visible::shell;
use crate::data::encode::learn::labels_of;
use crate::data::encode::{Encoder, Target};
use crate::data::table::header::is_year;
use crate::data::table::{Cells, Column, Table};
use crate::data::{counted, listed, quoted};
use crate::error::{Cure, either};
use crate::recipe::key;
use rayon::prelude::*;
use std::collections::HashMap;

/// A sentence each, the gravest first; `rows` are those that have a target.
pub fn of(table: &Table, encoder: &Encoder, rows: &[usize]) -> Vec<Sentence> {
    let mut cautions: Vec<Sentence> = header(table).into_iter().collect();
    let target = table.columns.iter().find(|c| c.name == encoder.target_name());
    let is_input = |c: &&Column| encoder.features.iter().any(|f| f.name == c.name);
    let inputs: Vec<&Column> = table.columns.iter().filter(is_input).collect();
    let leaks = |column: &&Column| target.is_some_and(|target| gives_away(column, target, &encoder.target, rows));
    cautions.extend(given_away(&inputs.into_par_iter().filter(leaks).collect::<Vec<&Column>>()));
    let of_note: Vec<&Column> =
        table.columns.iter().filter(|c| is_input(c) || c.name == encoder.target_name()).collect();
    let holds_mark = |column: &&Column| {
        sentinel(column).map(|(value, times)| {
            Sentence::from(format!(
                "column {} holds {value} {times} times, far from all else: if it means missing, leave such cells empty",
                quoted(&column.name)
            ))
            .curing(Cure::set(key!(data.missing_markers).path, value.to_string()))
        })
    };
    cautions.extend(of_note.par_iter().filter_map(holds_mark).collect::<Vec<Sentence>>());
    cautions.extend(far::of(table, encoder));
    cautions.extend(copies(table).map(Sentence::from));
    cautions.extend(target.and_then(|target| rare_classes(target, &encoder.target)).map(Sentence::from));
    cautions
}

/// Columns that leak the target: a sentence each, or one for many.
fn given_away(columns: &[&Column]) -> Vec<Sentence> {
    const APART: usize = 3;
    if columns.len() > APART {
        let n = columns.len() - APART;
        let names = columns.iter().take(APART).map(|c| quoted(&c.name)).collect::<Vec<_>>().join(", ");
        return vec![Sentence::from(format!(
            "columns {names} and {n} more almost determine the target: are they known when you predict? {}",
            either("--ignore COLUMN leaves one out", "Take away the ticks of those that are not")
        ))];
    }
    let said = |column: &&Column| {
        Sentence::from(format!(
            "column {} almost determines the target: is it known when you predict? If not: {}",
            quoted(&column.name),
            either(format!("--ignore {}", shell(&column.name)), "take its tick away")
        ))
    };
    let ignored = |c: &&Column| said(c).curing(Cure::set(key!(data.ignore).path, c.name.clone()));
    columns.iter().map(ignored).collect()
}

fn header(table: &Table) -> Option<Sentence> {
    let n_years = table.columns.iter().filter(|c| is_year(&c.name)).count();
    let is_known = |i: usize, name: &str| name == i.to_string() || (n_years > 1 && is_year(name));
    let is_number = |(i, c): (usize, &Column)| !is_known(i, &c.name) && c.name.parse::<f64>().is_ok();
    let odd = table.header && table.options.header.is_none() && table.columns.iter().enumerate().any(is_number);
    odd.then(|| {
        let (data, note) = (either(" (--header no)", ""), either(" (--skip-lines 1)", ""));
        Sentence::from(format!("some column names are numbers: is the first line data{data} or a note{note}?"))
            .curing(Cure::set(key!(data.header).path, "false"))
            .curing(Cure::set(key!(data.skip_lines).path, "1"))
    })
}

/// Rows equal to an earlier one in every cell, by a 64-bit hash: a false alarm has odds below n^2 / 2^65.
fn copies(table: &Table) -> Option<String> {
    /// Rows whose cells of all columns stay in a core's cache.
    const BLOCK: usize = 4096;
    let mut hashes = vec![0u64; table.rows()];
    hashes.par_chunks_mut(BLOCK).enumerate().for_each(|(block, hashes)| {
        let first = block * BLOCK;
        for column in &table.columns {
            match &column.cells {
                Cells::Number(values) => {
                    let cells = &values[first..first + hashes.len()];
                    hashes.iter_mut().zip(cells).for_each(|(hash, v)| *hash = mixed(*hash, (v + 0.0).to_bits()));
                }
                Cells::Text(texts) => {
                    let code = |row: usize| texts.code(row).map_or(u64::MAX, |code| code as u64);
                    hashes.iter_mut().zip(first..).for_each(|(hash, row)| *hash = mixed(*hash, code(row)));
                }
            }
        }
    });
    hashes.par_sort_unstable();
    let copies = hashes.par_windows(2).filter(|pair| pair[0] == pair[1]).count();
    let rows = if copies == 1 { "1 row repeats".into() } else { format!("{copies} rows repeat") };
    (copies > 0).then(|| {
        format!(
            "{rows} an earlier row: duplicates across the training and test parts make the test optimistic; {}",
            either("--group COLUMN keeps them together", "choose a column of groups to keep them together")
        )
    })
}

/// A hash with one more cell in it: the rounds of SplitMix64 let each bit change all others.
fn mixed(hash: u64, cell: u64) -> u64 {
    SplitMix64::new(hash.rotate_left(23) ^ cell).next_u64()
}

fn rare_classes(column: &Column, target: &Target) -> Option<String> {
    let Target::Classes { labels, .. } = target else { return None };
    let counts = class_counts(column);
    let rare = |label: &&String| counts.get(label.as_str()).is_some_and(|&n| n < 5);
    let rare: Vec<&str> = labels.iter().filter(rare).map(String::as_str).collect();
    match rare[..] {
        [] => None,
        [label] => Some(format!("class {} has only {}", quoted(label), counted(counts[label], "row"))),
        _ => Some(format!("{} have fewer than 5 rows: {}", counted(rare.len(), "class"), listed(rare.iter().copied()))),
    }
}

/// Rows of each class by its label.
pub(crate) fn class_counts(column: &Column) -> HashMap<String, usize> {
    match &column.cells {
        Cells::Text(texts) => texts.levels().iter().cloned().zip(texts.counts()).collect(),
        Cells::Number(values) => {
            let mut counts: HashMap<u64, usize> = HashMap::new();
            values.iter().filter(|v| !v.is_nan()).for_each(|v| *counts.entry((v + 0.0).to_bits()).or_default() += 1);
            counts.into_iter().map(|(bits, n)| (crate::data::encode::number_text(f64::from_bits(bits)), n)).collect()
        }
    }
}

/// A number that repeats far outside of all others and is one of those that people write for "missing".
pub(super) fn sentinel(column: &Column) -> Option<(f64, usize)> {
    const MARKS: [f64; 12] =
        [-999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0, -99.0, 99.0, -999.9, -9.0, 999_999.0, -1.0];
    let Cells::Number(values) = &column.cells else { return None };
    let known = || values.iter().copied().filter(|v| !v.is_nan());
    let (min, max) = (known().reduce(f64::min)?, known().reduce(f64::max)?);
    [min, max].into_iter().filter(|v| MARKS.contains(v)).find_map(|mark| {
        let others = || known().filter(|v| *v != mark);
        let (low, high) = (others().reduce(f64::min)?, others().reduce(f64::max)?);
        let times = known().filter(|v| *v == mark).count();
        let gap = if mark < low { low - mark } else { mark - high };
        (times >= 2 && high > low && gap > 2.0 * (high - low)).then_some((mark, times))
    })
}

/// Whether a column is the target under another name, or all but determines it.
fn gives_away(column: &Column, target: &Column, kind: &Target, rows: &[usize]) -> bool {
    match (kind, &column.cells, &target.cells) {
        (Target::Regression { .. }, Cells::Number(x), Cells::Number(y)) => {
            let pairs = || rows.iter().map(|&row| (x[row], y[row])).filter(|(x, _)| !x.is_nan());
            let n = pairs().count() as f64;
            if n < 10.0 {
                return false;
            }
            let (mx, my) = (pairs().map(|p| p.0 / n).sum::<f64>(), pairs().map(|p| p.1 / n).sum::<f64>());
            let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
            for (x, y) in pairs() {
                xx += (x - mx).powi(2);
                yy += (y - my).powi(2);
                xy += (x - mx) * (y - my);
            }
            // A correlation of 0.9999 leaves 1.4 percent of the sd.
            xx > 0.0 && yy > 0.0 && (xy / xx.sqrt() / yy.sqrt()).abs() > 0.9999
        }
        (Target::Classes { .. }, _, _) => {
            let key = |column: &Column, row: usize| match &column.cells {
                Cells::Number(values) => (values[row] + 0.0).to_bits(),
                Cells::Text(texts) => texts.code(row).map_or(u64::MAX, |code| code as u64),
            };
            let mut class_of: HashMap<u64, u64> = HashMap::new();
            for &row in rows {
                let class = key(target, row);
                if *class_of.entry(key(column, row)).or_insert(class) != class || class_of.len() * 10 > rows.len() {
                    return false;
                }
            }
            rows.len() >= 10 && class_of.len() >= 2 && labels_of(target).len() >= 2
        }
        _ => false,
    }
}
