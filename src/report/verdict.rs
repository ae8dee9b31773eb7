//! Are the error bars honest, and where not? What the predictions of labelled rows promised beside what happened, over all
//! rows and in parts of them, in plain words.

use super::html;
use crate::data::encode::{Encoder, Target};
use crate::figure::{Section, Tone};
use crate::method::Predictive;
use crate::method::predictive::Regression;
use crate::metrics;
use crate::results::chance::{Chance, Judgement};
use crate::results::half_words;
use crate::run::calibration::Calibration;
use crate::tables::{TextTable, number};
use rayon::prelude::*;

/// Promised by the intervals that are judged.
const LEVEL: f64 = 0.9;
/// Rows of a part, at least.
const LEAST: usize = 25;
/// Parts by one quantity, at most.
const PARTS: usize = 4;
/// Classes in the table, at most.
const CLASSES: usize = 30;

/// Parts are doubtful together where chance alone would show one like the worst of them less often than this.
const DOUBT: f64 = 0.05;

/// Rows that are judged together.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    /// "where the predicted sd is 0.1 to 0.2"; empty for all rows.
    place: String,
    chance: Chance,
}

impl Part {
    /// `of` = how many parts are judged together; `scatter` = the sd of what is promised, the same for all rows.
    fn new(place: String, promised: &[f64], held: &[bool], of: usize, scatter: f64) -> Part {
        let hits = held.iter().filter(|h| **h).count();
        Part { place, chance: Chance::new(promised, hits, of, scatter) }
    }

    fn is_off(&self) -> bool {
        matches!(self.chance.judgement, Judgement::Short | Judgement::Long)
    }

    fn looks_off(&self) -> bool {
        matches!(self.chance.judgement, Judgement::LooksShort | Judgement::LooksLong)
    }

    /// How far apart the shares are that chance alone allows.
    fn width(&self) -> f64 {
        self.chance.range.1 - self.chance.range.0
    }
}

/// The words that differ between intervals and classes.
struct Words {
    /// "the 90 % intervals hold".
    hold: &'static str,
    /// What is calibrated.
    calibrated: &'static str,
    short: &'static str,
    long: &'static str,
    /// What to do about it.
    short_cure: &'static str,
    long_cure: &'static str,
    header: [&'static str; 2],
}

const INTERVALS: Words = Words {
    hold: "the 90 % intervals hold",
    calibrated: "intervals",
    short: "too narrow",
    long: "too wide",
    short_cure: "expect larger errors than they suggest",
    long_cure: "they are safe to use, but wider than needed",
    header: ["promised", "inside"],
};
const CLASSES_WORDS: Words = Words {
    hold: "the most probable class is right for",
    calibrated: "probabilities",
    short: "too sure",
    long: "too cautious",
    short_cure: "expect more mistakes than the probabilities suggest",
    long_cure: "the model is under-confident",
    header: ["confidence", "right"],
};

impl Words {
    fn of(&self, judgement: Judgement) -> String {
        match judgement {
            Judgement::Holds => "holds".into(),
            Judgement::Short => self.short.into(),
            Judgement::Long => self.long.into(),
            Judgement::LooksShort => format!("looks {}", self.short),
            Judgement::LooksLong => format!("looks {}", self.long),
            Judgement::Few => "too few rows".into(),
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
    /// Classes named for fewer than `LEAST` rows.
    rare: usize,
    /// Classes that the table has no room for.
    no_room: usize,
    /// Before the calibration, where there is one.
    before: Option<Part>,
    /// Of the 50 % intervals of a regression that is not calibrated.
    half: Option<Chance>,
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

/// How many are judged together decides how far each may be off.
fn parts(named: Vec<(String, Vec<usize>)>, promised: &[f64], held: &[bool], scatter: f64) -> Vec<Part> {
    let of = named.len();
    let part = |(name, rows): (String, Vec<usize>)| {
        let pick: Vec<f64> = rows.iter().map(|&i| promised[i]).collect();
        let kept: Vec<bool> = rows.iter().map(|&i| held[i]).collect();
        Part::new(name, &pick, &kept, of, scatter)
    };
    named.into_iter().map(part).collect()
}

/// Which targets lie in the central interval of this level.
fn inside(r: &Regression, y: &[f64], level: f64) -> Vec<bool> {
    let tail = (1.0 - level) / 2.0;
    let within = |i: usize| {
        let row = r.row(i);
        row.quantile(tail) <= y[i] && y[i] <= row.quantile(1.0 - tail)
    };
    (0..y.len()).into_par_iter().map(within).collect()
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
                let plain = inside(r, y, LEVEL);
                let after = calibration.and_then(|c| c.inside(LEVEL, p, y));
                let promised = vec![LEVEL; y.len()];
                let half = after
                    .is_none()
                    .then(|| Part::new(String::new(), &vec![0.5; y.len()], &inside(r, y, 0.5), 1, 0.0).chance);
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
                    rare: 0,
                    no_room: 0,
                    before,
                    half,
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
                classes.retain(|(_, rows)| rows.len() >= LEAST);
                let rare = plain.k - classes.len();
                let no_room = classes.len().saturating_sub(CLASSES);
                classes.truncate(CLASSES);
                named.extend(classes);
                let all = Part::new(String::new(), &confidence, &right, 1, 0.0);
                Verdict {
                    words: &CLASSES_WORDS,
                    rows,
                    all,
                    parts: parts(named, &confidence, &right, 0.0),
                    rare,
                    no_room,
                    before,
                    half: None,
                }
            }
        }
    }

    fn off(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|p| p.is_off())
    }

    /// Parts of which one is as far off as chance seldom shows, over all of them together.
    fn doubtful(&self) -> impl Iterator<Item = &Part> {
        let limit = DOUBT / self.parts.len().max(1) as f64;
        self.parts.iter().filter(move |p| p.looks_off() && p.chance.tail < limit)
    }

    /// What is off about the 50 % intervals where the 90 % intervals hold.
    fn but_half(&self) -> Option<String> {
        let half = self.half.as_ref().filter(|_| self.all.chance.judgement == Judgement::Holds)?;
        half_words(half)
    }

    pub fn tone(&self) -> Tone {
        match self.all.chance.judgement {
            Judgement::Few | Judgement::LooksLong => Tone::Unknown,
            Judgement::Short => Tone::Bad,
            Judgement::Long | Judgement::LooksShort => Tone::Warning,
            Judgement::Holds if self.off().next().is_some() => Tone::Warning,
            Judgement::Holds if self.doubtful().next().is_some() => Tone::Unknown,
            Judgement::Holds
                if self.half.as_ref().is_some_and(|h| matches!(h.judgement, Judgement::Short | Judgement::Long)) =>
            {
                Tone::Warning
            }
            Judgement::Holds => Tone::Good,
        }
    }

    /// "the 90 % intervals hold 78 % of the 200 test rows, where chance alone allows 86 to 94 %".
    fn figures(&self, part: &Part) -> String {
        let (share, range) = part.chance.words();
        format!(
            "{} {share} of the {} {}, where chance alone allows {range}",
            self.words.hold, part.chance.rows, self.rows
        )
    }

    /// The answer in one sentence.
    pub fn headline(&self) -> String {
        let (w, n, rows) = (self.words, self.all.chance.rows, self.rows);
        let figures = self.figures(&self.all);
        let (share, range) = self.all.chance.words();
        // Behind a sentence that has said how many rows there are.
        let of_them = format!("{} {share} of them, where chance alone allows {range}", w.hold);
        let open = |looks: &str| format!("They look {looks}, but {n} {rows} are too few to be sure: {of_them}.");
        match self.all.chance.judgement {
            Judgement::Few if n == 0 => "Unknown: there are no rows to judge error bars by.".into(),
            Judgement::Few if n == 1 => "Unknown: one row is too few to tell whether error bars hold.".into(),
            Judgement::Few => {
                format!("Unknown: {n} {rows} are too few to tell whether error bars hold: {of_them}.")
            }
            Judgement::Short => {
                format!("No, they are {}: {figures}. Until this is fixed, {}.", w.short, w.short_cure)
            }
            Judgement::Long => format!("Not quite, they are {}: {figures}; {}.", w.long, w.long_cure),
            Judgement::LooksShort => open(w.short),
            Judgement::LooksLong => open(w.long),
            Judgement::Holds if self.off().next().is_some() => {
                format!("Overall yes, but not everywhere: {figures}.")
            }
            Judgement::Holds if self.doubtful().next().is_some() => {
                format!("Overall yes, but perhaps not everywhere: {figures}.")
            }
            Judgement::Holds => format!("Yes, as far as {n} {rows} can tell: {of_them}."),
        }
    }

    fn text(&self) -> Vec<String> {
        let w = self.words;
        let mut out = vec![self.headline()];
        out.extend(self.but_half().map(|but| format!("But {but}.")));
        for part in self.off().chain(self.doubtful()) {
            let (share, range) = part.chance.words();
            let open = if part.is_off() { "" } else { "; too few rows to be sure" };
            out.push(format!(
                "{} {}: {share} of {} rows, where chance alone allows {range}{open}.",
                capital(&w.of(part.chance.judgement)),
                part.place,
                part.chance.rows
            ));
        }
        if self.all.chance.judgement == Judgement::Few && self.all.chance.rows < 2 {
            return out;
        }
        if self.off().chain(self.doubtful()).next().is_none() && !self.parts.is_empty() {
            let few = match self.parts.iter().filter(|p| p.looks_off()).count() {
                0 => String::new(),
                outside => format!(
                    " {outside} of them {} outside the 95 % range of a single part, as expected by chance among so many.",
                    if outside == 1 { "lies" } else { "lie" }
                ),
            };
            out.push(format!("No part of them is clearly off: none of the {} checked.{few}", self.parts.len()));
        }
        if let Some(before) = &self.before {
            out.push(format!(
                "The {} above are calibrated. Before calibration: {} ({}).",
                w.calibrated,
                w.of(before.chance.judgement),
                self.figures(before)
            ));
        }
        let promised = percent(self.all.chance.promised);
        let (rows, (_, range)) = (self.all.chance.rows, self.all.chance.words());
        out.push(match self.parts.iter().max_by(|a, b| a.width().total_cmp(&b.width())) {
            None => format!(
                "{rows} rows are few: any share of {range} is consistent with the promised {promised}, and no part of them can be judged."
            ),
            Some(widest) => format!(
                "With {rows} rows, any overall share of {range} is consistent with the promised {promised}; in the least certain part \
                 ({} rows), {} is consistent with {}. A part counts as off at a significance of 1 %, corrected for the number of parts.",
                widest.chance.rows,
                widest.chance.words().1,
                percent(widest.chance.promised)
            ),
        });
        if self.rare > 0 {
            out.push(format!(
                "Not judged separately: {}, predicted for fewer than {LEAST} rows{}.",
                if self.rare == 1 { "1 class".into() } else { format!("{} classes", self.rare) },
                if self.rare == 1 { "" } else { " each" }
            ));
        }
        if self.no_room > 0 {
            out.push(format!("The table shows the first {CLASSES} classes; {} more are omitted.", self.no_room));
        }
        out
    }

    fn table(&self) -> TextTable {
        let [promised, held] = self.words.header;
        let mut t = TextTable::new(&["rows", "verdict", "how many", promised, held, "chance allows"]);
        let all = Part { place: format!("all {}", self.rows), ..self.all.clone() };
        for part in std::iter::once(&all).chain(&self.parts) {
            let (share, range) = part.chance.words();
            t.rows.push(vec![
                part.place.trim_start_matches("where ").to_string(),
                self.words.of(part.chance.judgement),
                part.chance.rows.to_string(),
                percent(part.chance.promised),
                share,
                range,
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
            "Unknown: the run has no test rows of its own. Use `vifo evaluate RUN --test FILE` with rows never trained on."
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
