//! Are the error bars honest, and where not? What the predictions of labelled rows promised beside what happened, over all
//! rows and in parts of them, in the words of someone who has to rely on them.

use super::html;
use crate::data::encode::{Encoder, Target};
use crate::figure::{Section, Tone};
use crate::method::Predictive;
use crate::metrics::{self, count_tails};
use crate::run::calibrate::Calibration;
use crate::run::results::{CHANCE, FEW};
use crate::run::tables::{TextTable, number};
use rayon::prelude::*;

/// Promised by the intervals that are judged.
const LEVEL: f64 = 0.9;
/// Rows of a part, at least.
const LEAST: usize = 25;
/// Parts by one quantity, at most.
const PARTS: usize = 4;
/// Classes in the table, at most.
const CLASSES: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Holds,
    /// Too narrow, too sure.
    Short,
    /// Wider than need be, too cautious.
    Long,
    Few,
}

/// Rows that are judged together.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    /// "where the predicted sd is 0.1 to 0.2"; empty for all rows.
    place: String,
    rows: usize,
    hits: usize,
    promised: f64,
    /// Standard deviation of the share that holds, if the promise is kept.
    error: f64,
    judgement: Judgement,
}

impl Part {
    /// `of` = how many parts are judged together; `scatter` = the sd of what is promised, the same for all rows.
    fn new(place: String, promised: &[f64], held: &[bool], of: usize, scatter: f64) -> Part {
        let (rows, hits) = (held.len(), held.iter().filter(|h| **h).count());
        let n = rows.max(1) as f64;
        let (at_most, at_least) = tails(promised, hits, scatter);
        let limit = CHANCE / of.max(1) as f64;
        let judgement = match () {
            _ if rows < FEW => Judgement::Few,
            _ if at_most < limit => Judgement::Short,
            _ if at_least < limit => Judgement::Long,
            _ => Judgement::Holds,
        };
        let error = (promised.iter().map(|p| p * (1.0 - p)).sum::<f64>().max(0.0) / (n * n) + scatter * scatter).sqrt();
        Part { place, rows, hits, promised: promised.iter().sum::<f64>() / n, error, judgement }
    }

    fn observed(&self) -> f64 {
        self.hits as f64 / self.rows.max(1) as f64
    }
}

/// `count_tails`, averaged over promises of this sd: conformal intervals keep theirs on average over calibration sets alone.
fn tails(promised: &[f64], hits: usize, scatter: f64) -> (f64, f64) {
    const NODES: usize = 16;
    if scatter == 0.0 {
        return count_tails(promised, hits);
    }
    let mut sum = (0.0, 0.0);
    for j in 0..NODES {
        let shift = scatter * metrics::normal_quantile((j as f64 + 0.5) / NODES as f64);
        let moved: Vec<f64> = promised.iter().map(|p| (p + shift).clamp(0.0, 1.0)).collect();
        let (at_most, at_least) = count_tails(&moved, hits);
        sum = (sum.0 + at_most / NODES as f64, sum.1 + at_least / NODES as f64);
    }
    sum
}

/// The words that differ between intervals and classes.
struct Words {
    /// "the 90 % intervals hold".
    hold: &'static str,
    short: &'static str,
    long: &'static str,
    /// What to do about it.
    short_cure: &'static str,
    long_cure: &'static str,
    header: [&'static str; 2],
}

const INTERVALS: Words = Words {
    hold: "the 90 % intervals hold",
    short: "too narrow",
    long: "wider than need be",
    short_cure: "take them for less than the doubt there is",
    long_cure: "they are safe, and less sharp than they could be",
    header: ["promised", "inside"],
};
const CLASSES_WORDS: Words = Words {
    hold: "the named class is right for",
    short: "too sure",
    long: "too cautious",
    short_cure: "take a probability of 0.9 for less",
    long_cure: "the model knows more than it says",
    header: ["confidence", "right"],
};

impl Words {
    fn of(&self, judgement: Judgement) -> &'static str {
        match judgement {
            Judgement::Holds => "holds",
            Judgement::Short => self.short,
            Judgement::Long => self.long,
            Judgement::Few => "too few rows",
        }
    }
}

/// What is to be said of one set of rows.
pub struct Verdict {
    words: &'static Words,
    /// "test rows".
    rows: &'static str,
    all: Part,
    parts: Vec<Part>,
    /// Classes that have too few rows to be judged, or that the table has no room for.
    left_out: usize,
    /// Before the calibration, where there is one.
    before: Option<Part>,
}

pub fn percent(v: f64) -> String {
    let v = 100.0 * v;
    // 99.97 % is not all of them.
    match v {
        v if v > 99.95 && v < 100.0 => "more than 99.9 %".into(),
        v if v > 99.0 && v < 100.0 || v > 0.0 && v < 1.0 => format!("{v:.1} %"),
        v => format!("{v:.0} %"),
    }
}

/// Rows in at most `PARTS` groups of about equal size, by value; equal values stay together.
fn groups(values: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..values.len()).filter(|i| values[*i].is_finite()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let parts = (order.len() / LEAST).min(PARTS);
    let mut out: Vec<Vec<usize>> = vec![];
    let mut from = 0;
    for part in 1..=parts {
        let mut to = (order.len() * part / parts).max(from);
        while to > 0 && to < order.len() && values[order[to]] == values[order[to - 1]] {
            to += 1;
        }
        if to > from {
            out.push(order[from..to].to_vec());
            from = to;
        }
    }
    // One group says no more than all rows.
    if out.len() > 1 { out } else { vec![] }
}

/// Groups with their names: "where the predicted sd is 0.1 to 0.2".
fn named_groups(what: &str, values: &[f64]) -> Vec<(String, Vec<usize>)> {
    let name = |g: &Vec<usize>| {
        let (low, high) = (values[g[0]], values[g[g.len() - 1]]);
        let range =
            if number(low) == number(high) { number(low) } else { format!("{} to {}", number(low), number(high)) };
        format!("where {what} is {range}")
    };
    groups(values).into_iter().map(|g| (name(&g), g)).collect()
}

/// Parts of at least `FEW` rows; how many are judged together decides how far each may be off.
fn parts(named: Vec<(String, Vec<usize>)>, promised: &[f64], held: &[bool], scatter: f64) -> Vec<Part> {
    let of = named.iter().filter(|(_, rows)| rows.len() >= FEW).count();
    let part = |(name, rows): (String, Vec<usize>)| {
        let pick: Vec<f64> = rows.iter().map(|&i| promised[i]).collect();
        let kept: Vec<bool> = rows.iter().map(|&i| held[i]).collect();
        Part::new(name, &pick, &kept, of, scatter)
    };
    named.into_iter().map(part).collect()
}

impl Verdict {
    /// `y` in the user's unit, or classes; `rows` names them ("test rows"). With a calibration it is the calibrated error bars
    /// that are judged.
    pub fn new(
        p: &Predictive,
        y: &[f64],
        encoder: &Encoder,
        calibration: Option<&Calibration>,
        rows: &'static str,
    ) -> Verdict {
        match p {
            Predictive::Regression(r) => {
                let plain = |i: usize| {
                    let row = r.row(i);
                    let tail = (1.0 - LEVEL) / 2.0;
                    row.quantile(tail) <= y[i] && y[i] <= row.quantile(1.0 - tail)
                };
                let plain: Vec<bool> = (0..y.len()).into_par_iter().map(plain).collect();
                let after = calibration.and_then(|c| c.inside(LEVEL, p, y));
                let promised = vec![LEVEL; y.len()];
                let before = after.is_some().then(|| Part::new(String::new(), &promised, &plain, 1, 0.0));
                let scatter = match (&after, calibration) {
                    (Some(_), Some(c)) => metrics::conformal::coverage_sd(c.rows, 1.0 - LEVEL).unwrap_or(0.0),
                    _ => 0.0,
                };
                let held = after.unwrap_or(plain);
                let sd: Vec<f64> = (0..r.n()).map(|i| r.sd(i)).collect();
                let mut named = named_groups("the predicted sd", &sd);
                named.extend(named_groups(&format!("the predicted {}", encoder.target_name()), &r.mean));
                let all = Part::new(String::new(), &promised, &held, 1, scatter);
                Verdict {
                    words: &INTERVALS,
                    rows,
                    all,
                    parts: parts(named, &promised, &held, scatter),
                    left_out: 0,
                    before,
                }
            }
            Predictive::Classification(plain) => {
                let judged = |probs: &[f64]| {
                    let (confidence, class) = metrics::confidences(probs, plain.k);
                    let right: Vec<bool> = class.iter().zip(y).map(|(c, y)| *c == *y as usize).collect();
                    (confidence, class, right)
                };
                let after = calibration.map(|c| c.tempered(plain).probs);
                let before = after.as_ref().map(|_| {
                    let (confidence, _, right) = judged(&plain.probs);
                    Part::new(String::new(), &confidence, &right, 1, 0.0)
                });
                let (confidence, class, right) = judged(after.as_deref().unwrap_or(&plain.probs));
                let mut named = named_groups("the confidence", &confidence);
                named.reverse();
                let labels = match &encoder.target {
                    Target::Classes { labels, .. } => labels.as_slice(),
                    Target::Regression { .. } => &[],
                };
                let mut classes: Vec<(String, Vec<usize>)> = (0..plain.k)
                    .map(|k| {
                        let label = labels.get(k).cloned().unwrap_or_else(|| k.to_string());
                        let rows = (0..y.len()).filter(|i| class[*i] == k).collect();
                        (format!("where it names {label}"), rows)
                    })
                    .collect();
                let count = classes.len();
                classes.retain(|(_, rows)| rows.len() >= LEAST);
                classes.truncate(CLASSES);
                let left_out = count - classes.len();
                named.extend(classes);
                let all = Part::new(String::new(), &confidence, &right, 1, 0.0);
                Verdict {
                    words: &CLASSES_WORDS,
                    rows,
                    all,
                    parts: parts(named, &confidence, &right, 0.0),
                    left_out,
                    before,
                }
            }
        }
    }

    fn off(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|p| matches!(p.judgement, Judgement::Short | Judgement::Long))
    }

    pub fn tone(&self) -> Tone {
        match self.all.judgement {
            Judgement::Few => Tone::Unknown,
            Judgement::Short => Tone::Bad,
            Judgement::Long => Tone::Warning,
            Judgement::Holds if self.off().next().is_some() => Tone::Warning,
            Judgement::Holds => Tone::Good,
        }
    }

    /// "78 % of the 200 test rows, where 90 % ± 2 % would be honest".
    fn figures(&self, part: &Part) -> String {
        format!(
            "{} {} of the {} {}, where {} ± {} would be honest",
            self.words.hold,
            percent(part.observed()),
            part.rows,
            self.rows,
            percent(part.promised),
            percent(part.error)
        )
    }

    /// The answer in one sentence.
    pub fn headline(&self) -> String {
        let (w, n) = (self.words, self.all.rows);
        match self.all.judgement {
            Judgement::Few => {
                format!("It cannot be told: {n} {} are too few to judge error bars by, {FEW} are the least.", self.rows)
            }
            Judgement::Short => format!(
                "No, they are {}: {}. Until that is mended, {}.",
                w.short,
                self.figures(&self.all),
                w.short_cure
            ),
            Judgement::Long => format!("Not quite, they are {}: {}; {}.", w.long, self.figures(&self.all), w.long_cure),
            Judgement::Holds => match self.off().count() {
                0 => format!("Yes, as far as {n} {} can tell: {}.", self.rows, self.figures(&self.all)),
                _ => format!("On the whole, but not everywhere: {}.", self.figures(&self.all)),
            },
        }
    }

    fn text(&self) -> Vec<String> {
        let w = self.words;
        let mut out = vec![self.headline()];
        for part in self.off() {
            out.push(format!(
                "{} {}: {} of {} rows, where {} ± {} would be honest.",
                capital(w.of(part.judgement)),
                part.place,
                percent(part.observed()),
                part.rows,
                percent(part.promised),
                percent(part.error)
            ));
        }
        if self.all.judgement == Judgement::Few {
            return out;
        }
        if self.off().next().is_none() && !self.parts.is_empty() {
            out.push(format!("No part of them stands out: not one of {} that were looked at.", self.parts.len()));
        }
        if let Some(before) = &self.before {
            out.push(format!(
                "These are the calibrated ones. Before the calibration: {} ({}).",
                w.of(before.judgement),
                self.figures(before)
            ));
        }
        out.push(match self.parts.is_empty() {
            true => format!(
                "{} rows are few: a fault below {} cannot be seen among them, and none in a part of them.",
                self.all.rows,
                percent(2.0 * self.all.error)
            ),
            false => format!(
                "What {} rows can show: faults of {} or more over all, of {} or more in a part of them. A part counts as off where chance \
                 would show as much less than once in twenty over all parts together.",
                self.all.rows,
                percent(2.0 * self.all.error),
                percent(3.0 * self.parts.iter().map(|p| p.error).fold(0.0, f64::max))
            ),
        });
        if self.left_out > 0 {
            out.push(format!(
                "{} classes are named for too few rows ({LEAST} are the least) or have no place here.",
                self.left_out
            ));
        }
        out
    }

    fn table(&self) -> TextTable {
        let [promised, held] = self.words.header;
        let mut t = TextTable::new(&["rows", "verdict", "how many", promised, held, "by chance, ±"]);
        let all = Part { place: format!("all {}", self.rows), ..self.all.clone() };
        for part in std::iter::once(&all).chain(&self.parts) {
            t.rows.push(vec![
                part.place.trim_start_matches("where ").to_string(),
                self.words.of(part.judgement).into(),
                part.rows.to_string(),
                percent(part.promised),
                percent(part.observed()),
                percent(part.error),
            ]);
        }
        t
    }

    /// The whole answer under `heading`.
    pub fn section(&self, heading: &str) -> Section {
        let table = (!self.parts.is_empty()).then(|| html(&self.table()));
        Section { heading: heading.into(), tone: self.tone(), text: self.text(), table, ..Default::default() }
    }
}

/// The verdict of a run that has no test rows.
pub fn without_rows() -> Section {
    Section {
        heading: QUESTION.into(),
        tone: Tone::Unknown,
        text: vec![
            "It cannot be told: the run has no test rows of its own. `vifo evaluate RUN --test FILE` tells, with rows never trained on."
                .into(),
        ],
        ..Default::default()
    }
}

pub const QUESTION: &str = "Are the error bars honest?";

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().collect::<String>() + chars.as_str())
}

#[cfg(test)]
mod tests;
