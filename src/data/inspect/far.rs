//! Values that lie far from all others of their column, as a slip of the fingers or a unit does. A standard deviation cannot find
//! them in a small table: no value of n lies farther than sqrt(n - 1) of it from the mean. Must not change what is learnt.

use super::cautions::sentinel;
use super::sentence::Sentence;
use crate::data::encode::{Encoder, FeatureKind, Target};
use crate::data::table::{Cells, Column, Table};
use crate::data::{counted, five_digits, quoted};
use crate::error::{Cure, either};
use crate::recipe::key;
use rayon::prelude::*;

/// Distances from the median in sds of a normal with the same quartiles. Of a lognormal with sigma 1, as incomes are, one row in
/// 1,000 lies beyond.
const FAR: f64 = 20.0;
/// And so many times as far as the farthest of the others: heavy tails thin out without such a gap.
const GAP: f64 = 3.0;
/// Quartiles of fewer values say nothing.
const LEAST: usize = 8;
/// The width of the middle half of a normal in its sds.
const MIDDLE_HALF: f64 = 1.349;
/// Columns that get a sentence each; more share one.
const APART: usize = 2;

/// Far values of a column.
struct Far<'t> {
    column: &'t Column,
    n: usize,
    /// Of the first of them.
    value: f64,
    line: usize,
    quartiles: (f64, f64),
}

/// Of inputs that are numbers, and of a target that is one.
pub(super) fn of(table: &Table, encoder: &Encoder) -> Vec<Sentence> {
    let is_plain = |kind: &FeatureKind| {
        matches!(kind, FeatureKind::Numeric { robust: None, .. } | FeatureKind::Gappy { robust: None, .. })
    };
    let is_input = |c: &&Column| encoder.features.iter().any(|f| f.name == c.name && is_plain(&f.kind));
    let inputs: Vec<&Column> = table.columns.iter().filter(is_input).collect();
    let inputs: Vec<Far> = inputs.par_iter().filter_map(|column| find(table, column)).collect();
    let name = encoder.target_name();
    let is_target = |c: &&Column| c.name == name && matches!(encoder.target, Target::Regression { .. });
    let target = table.columns.iter().find(is_target).and_then(|column| find(table, column));
    let robust = either("use --scaling robust", "choose the scaling robust");
    let cure = |said: String| Sentence::from(said).curing(Cure::set(key!(data.scaling).path, "robust"));
    let mut all: Vec<Sentence> = target
        .map(|far| {
            let cell = if far.n == 1 { "the cell if it is wrong" } else { "the cells if they are wrong" };
            let empty = if far.n == 1 { "it empty to leave its row out" } else { "them empty to leave their rows out" };
            Sentence::from(format!("the target {}: mend {cell}, or leave {empty}", far.said()))
        })
        .into_iter()
        .collect();
    match inputs.len() {
        0 => {}
        1..=APART => all.extend(inputs.iter().map(|far| {
            let cell = if far.n == 1 { "the cell if it is wrong" } else { "the cells if they are wrong" };
            cure(format!("column {}: mend {cell}, or {robust}", far.said()))
        })),
        n => {
            let named =
                |far: &Far| format!("{} ({} in line {})", quoted(&far.column.name), five_digits(far.value), far.line);
            let first: Vec<String> = inputs.iter().take(3).map(named).collect();
            let more = if n > 3 { format!(" and {} more", n - 3) } else { String::new() };
            all.push(cure(format!(
                "{} hold values far from all else: {}{more}: mend the cells that are wrong, or {robust}",
                counted(n, "column"),
                first.join(", ")
            )));
        }
    }
    all
}

impl Far<'_> {
    /// "'x' holds 1000 in line 9, far from all else (the middle half lies between 1 and 3)".
    fn said(&self) -> String {
        let (name, value, line) = (quoted(&self.column.name), plain(self.value), self.line);
        let (low, high) = (plain(self.quartiles.0), plain(self.quartiles.1));
        let what = match self.n {
            1 => format!("{value} in line {line}"),
            n => format!("{n} values, the first {value} in line {line},"),
        };
        let comma = if self.n == 1 { "," } else { "" };
        format!("{name} holds {what}{comma} far from all else (the middle half lies between {low} and {high})")
    }
}

/// As the file has it, where that is short.
fn plain(v: f64) -> String {
    let text = v.to_string();
    if text.len() <= 10 { text } else { five_digits(v) }
}

fn find<'t>(table: &Table, column: &'t Column) -> Option<Far<'t>> {
    let Cells::Number(values) = &column.cells else { return None };
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    // A mark of missing cells is told by itself.
    if sorted.len() < LEAST || sentinel(column).is_some() {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let at = |share: f64| sorted[(share * (n - 1) as f64).round() as usize];
    let (low, median, high) = (at(0.25), at(0.5), at(0.75));
    let unit = (high - low) / MIDDLE_HALF;
    if !(unit > 0.0 && unit.is_finite()) {
        return None;
    }
    let distance = |v: f64| (v - median).abs() / unit;
    // From the far end inwards: the farther of the two ends is the next.
    let most = (n / 100).max(3).min(n - 1);
    let (mut left, mut right) = (0, n - 1);
    let mut next = || {
        let (a, b) = (distance(sorted[left]), distance(sorted[right]));
        if a > b {
            left += 1
        } else {
            right = right.saturating_sub(1)
        }
        a.max(b)
    };
    let farthest: Vec<f64> = (0..=most).map(|_| next()).collect();
    let n_far = (1..=most).rev().find(|&k| farthest[k - 1] > FAR && farthest[k - 1] >= GAP * farthest[k])?;
    let limit = farthest[n_far - 1];
    let row = values.iter().position(|v| distance(*v) >= limit)?;
    Some(Far { column, n: n_far, value: values[row], line: table.lines.get(row), quartiles: (low, high) })
}
