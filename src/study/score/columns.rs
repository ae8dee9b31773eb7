//! Which column of a table of predictions is what: as the user said, else by name. Must not read a cell but the labels
//! that name columns.

use super::ScoreRequest;
use super::names::{self, BESIDE, CLASSES, End, MEANS, PROBABILITIES, SDS, Side, TARGETS, VARIANCES, plain};
use crate::data::table::{Cells, Table};
use crate::error::{Error, Result};

/// Which column is what, by index.
#[derive(Debug, Clone)]
pub enum Columns {
    Numbers(Numbers),
    /// One column per class.
    Classes {
        probs: Vec<usize>,
        labels: Vec<String>,
    },
    /// The probability of one of two classes; its label where the name holds it.
    Binary {
        prob: usize,
        label: Option<String>,
    },
    /// The predicted class alone.
    Class {
        predicted: usize,
    },
}

/// What a file holds of the distribution of a number.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    pub mean: Option<usize>,
    pub sd: Option<Spread>,
    /// By level, ascending.
    pub quantiles: Vec<(f64, usize)>,
    pub intervals: Vec<Interval>,
}

#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub column: usize,
    pub is_variance: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// None where neither the name nor the user says.
    pub level: Option<f64>,
    pub lower: usize,
    pub upper: usize,
}

pub fn place(table: &Table) -> String {
    table.path.display().to_string()
}

/// What is there, for messages.
fn listed(table: &Table) -> String {
    let names = table.names();
    let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
    names.iter().take(12).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ") + &more
}

pub fn unknown(table: &Table, found: &str) -> Error {
    Error::usage(
        place(table),
        format!("{found} among {}", listed(table)),
        "columns mean and sd (or y_pred and y_std, ...), quantiles (q05, 0.95, ...), lower and upper, or one column p_LABEL per class",
        "name them with --mean and --sd, with --lower and --upper, or with --probs",
    )
}

pub fn find(table: &Table, request: &ScoreRequest) -> Result<(Columns, usize)> {
    let asked_target = request.target.as_ref().map(|t| table.column_index(t)).transpose()?;
    if let Some(columns) = predictions(table, request, asked_target)? {
        let target = target(table, asked_target, &columns.used())?;
        return Ok((columns, target));
    }
    bare(table, asked_target).or_else(|none| {
        // Nothing is left once the target is taken away: it may be the prediction itself.
        if asked_target.is_some()
            && let Ok(Some(columns)) = predictions(table, request, None)
        {
            target(table, asked_target, &columns.used())?;
        }
        Err(none)
    })
}

impl Columns {
    pub fn used(&self) -> Vec<usize> {
        match self {
            Columns::Numbers(n) => n.used(),
            Columns::Classes { probs, .. } => probs.clone(),
            Columns::Binary { prob, .. } => vec![*prob],
            Columns::Class { predicted } => vec![*predicted],
        }
    }
}

/// A table of text alone that was read without names, though its first row holds names that predictions and targets bear.
pub fn hides_names(table: &Table) -> bool {
    let is_name = |name: &str| is_one_of(name, &TARGETS) || is_beside(name);
    table.rows() > 0
        && table.columns.len() > 1
        && table.columns.iter().enumerate().all(|(i, c)| {
            let Cells::Text(texts) = &c.cells else { return false };
            c.name == i.to_string() && texts.get(0).is_some_and(is_name)
        })
}

/// The predictions; None where only bare labels as names of columns are left.
fn predictions(table: &Table, request: &ScoreRequest, asked_target: Option<usize>) -> Result<Option<Columns>> {
    let probs = request.probs.iter().map(|p| table.column_index(p)).collect::<Result<Vec<_>>>()?;
    if let [prob] = probs[..] {
        return Ok(Some(Columns::Binary { prob, label: names::class(&table.columns[prob].name).map(|c| c.1.into()) }));
    }
    let numbers = Numbers::find(table, request, asked_target)?;
    let is_named = request.mean.is_some() || request.sd.is_some() || request.lower.is_some();
    let by_name = if probs.is_empty() { prefixed(table) } else { probs };
    if by_name.len() > 1 && !is_named {
        if numbers.mean.is_some() && numbers.sd.is_some() && request.probs.is_empty() {
            return Err(unknown(table, "both mean and sd and probabilities"));
        }
        let labels = by_name.iter().map(|&c| label_of(table, c)).collect();
        return Ok(Some(Columns::Classes { probs: by_name, labels }));
    }
    if is_named || numbers.is_distribution() {
        return Ok(Some(Columns::Numbers(numbers)));
    }
    let is_number = |c: &usize| matches!(table.columns[*c].cells, Cells::Number(_));
    let free = |c: &usize| Some(*c) != asked_target;
    let named = |names: &[&str]| by_names(table, names, &free);
    let single = by_name.first().copied().or_else(|| named(&PROBABILITIES));
    if let Some(prob) = single.filter(is_number) {
        let label = names::class(&table.columns[prob].name).map(|c| c.1.to_string());
        return Ok(Some(Columns::Binary { prob, label }));
    }
    if bare(table, asked_target).is_ok() {
        return Ok(None);
    }
    if let Some(predicted) = named(&CLASSES).filter(|c| !is_number(c)) {
        return Ok(Some(Columns::Class { predicted }));
    }
    Ok(numbers.mean.filter(is_number).map(|_| Columns::Numbers(numbers)))
}

impl Numbers {
    pub fn find(table: &Table, request: &ScoreRequest, target: Option<usize>) -> Result<Numbers> {
        let free = |c: &usize| Some(*c) != target;
        let one = |request: &Option<String>, names: &[&str]| match request {
            Some(name) => table.column_index(name).map(Some),
            None => Ok(by_names(table, names, &free)),
        };
        let is_variance = |c: usize| VARIANCES.contains(&plain(&table.columns[c].name).as_str());
        let sd = one(&request.sd, &[&SDS[..], &VARIANCES[..]].concat())?;
        let all = || (0..table.columns.len()).filter(free);
        let quantile = |c: usize| names::quantile(&table.columns[c].name).map(|q| (q, c));
        let mut quantiles: Vec<(f64, usize)> = all().filter_map(quantile).collect();
        quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        if are_classes(table, &quantiles) {
            quantiles.clear();
        }
        Ok(Numbers {
            mean: one(&request.mean, &MEANS)?,
            sd: sd.map(|column| Spread { column, is_variance: is_variance(column) }),
            quantiles,
            intervals: intervals(table, request, all())?,
        })
    }

    /// More than a point.
    fn is_distribution(&self) -> bool {
        (self.mean.is_some() && self.sd.is_some()) || !self.quantiles.is_empty() || !self.intervals.is_empty()
    }

    fn used(&self) -> Vec<usize> {
        let ends = self.intervals.iter().flat_map(|i| [i.lower, i.upper]);
        let quantiles = self.quantiles.iter().map(|q| q.1);
        self.mean.into_iter().chain(self.sd.map(|s| s.column)).chain(quantiles).chain(ends).collect()
    }
}

/// Pairs of ends with the same level and the same other words; of two pairs of one level that of the observations, since
/// a confidence interval of the mean says nothing about rows.
fn intervals(table: &Table, request: &ScoreRequest, all: impl Iterator<Item = usize>) -> Result<Vec<Interval>> {
    let asked_level = request.level.map(|l| if l > 1.0 { l / 100.0 } else { l });
    if let Some(l) = asked_level.filter(|l| !(*l > 0.0 && *l < 1.0)) {
        let (allowed, help) = ("a share or per cent, 0.9 or 90", "give the level of --lower and --upper");
        return Err(Error::usage("--level", format!("is {l}"), allowed, help));
    }
    if let (Some(lower), Some(upper)) = (&request.lower, &request.upper) {
        let (lower, upper) = (table.column_index(lower)?, table.column_index(upper)?);
        let of_name = names::end(&table.columns[lower].name).and_then(|e| e.level);
        return Ok(vec![Interval { level: asked_level.or(of_name), lower, upper }]);
    }
    let ends: Vec<(End, usize)> = all.filter_map(|c| names::end(&table.columns[c].name).map(|e| (e, c))).collect();
    let mut found: Vec<(Interval, &End)> = vec![];
    for (low, lower) in ends.iter().filter(|(e, _)| e.side == Side::Lower) {
        let fits = |e: &End| e.side == Side::Upper && e.level == low.level && e.rest == low.rest;
        let Some((_, upper)) = ends.iter().find(|(e, _)| fits(e)) else { continue };
        let interval = Interval { level: low.level.or(asked_level), lower: *lower, upper: *upper };
        let is_of_rows = |e: &End| e.rest.iter().any(|w| w == "obs" || w == "pi");
        match found.iter().position(|(i, _)| i.level == interval.level) {
            None => found.push((interval, low)),
            Some(at) if is_of_rows(low) && !is_of_rows(found[at].1) => found[at] = (interval, low),
            Some(at) if is_of_rows(found[at].1) && !is_of_rows(low) => {}
            Some(_) => {
                let found = "two pairs of ends of one level";
                return Err(Error::usage(place(table), found, listed(table), "name one with --lower and --upper"));
            }
        }
    }
    Ok(found.into_iter().map(|(i, _)| i).collect())
}

/// p1, p2, p3 may be percentiles or classes: rows that sum to 1 are classes.
fn are_classes(table: &Table, quantiles: &[(f64, usize)]) -> bool {
    let values: Vec<&Vec<f64>> = quantiles
        .iter()
        .filter_map(|(_, c)| match &table.columns[*c].cells {
            Cells::Number(v) => Some(v),
            Cells::Text(_) => None,
        })
        .collect();
    let is_one = |row: usize| (values.iter().map(|v| v[row]).sum::<f64>() - 1.0).abs() < 0.02;
    // Rows without a prediction say nothing.
    let mut told = (0..table.rows()).filter(|&row| !values.iter().all(|v| v[row].is_nan())).peekable();
    values.len() > 1 && values.len() == quantiles.len() && told.peek().is_some() && told.all(is_one)
}

/// The first column that bears one of the names, by their order.
fn by_names(table: &Table, names: &[&str], free: &dyn Fn(&usize) -> bool) -> Option<usize> {
    let plain: Vec<String> = table.columns.iter().map(|c| plain(&c.name)).collect();
    names.iter().find_map(|n| (0..plain.len()).filter(free).find(|&c| plain[c] == *n))
}

/// Columns named after the labels themselves: all labels of the target column are names of columns of numbers.
fn bare(table: &Table, asked_target: Option<usize>) -> Result<(Columns, usize)> {
    let named = || by_names(table, &TARGETS, &|_| true);
    let none = || unknown(table, "no predictions");
    let target = asked_target.or_else(named).ok_or_else(none)?;
    let is_class = |&c: &usize| {
        c != target && !is_beside(&table.columns[c].name) && matches!(table.columns[c].cells, Cells::Number(_))
    };
    let probs: Vec<usize> = (0..table.columns.len()).filter(is_class).collect();
    let labels: Vec<String> = probs.iter().map(|&c| table.columns[c].name.clone()).collect();
    let known = |row: usize| match &table.columns[target].cells {
        Cells::Text(v) => v.get(row).is_none_or(|l| class_of(l, &labels).is_some()),
        Cells::Number(v) => v[row].is_nan() || class_of(&v[row].to_string(), &labels).is_some(),
    };
    if probs.len() < 2 || !(0..table.rows()).all(known) {
        return Err(none());
    }
    Ok((Columns::Classes { probs, labels }, target))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.contains(&plain(name).as_str())
}

/// What a prediction or a row number is called, and a target is not.
fn is_beside(name: &str) -> bool {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    [&BESIDE[..], &MEANS[..], &SDS[..], &VARIANCES[..], &PROBABILITIES[..], &CLASSES[..]]
        .iter()
        .any(|names| is_one_of(name, names))
        || names::quantile(name).is_some()
        || names::end(name).is_some()
        || names::class(name).is_some()
        || names::is_explained(name)
        || name.strip_prefix("set_").is_some_and(is_number)
}

/// The columns of probabilities that are named in one way, if there are several; vifo's own way first.
pub fn prefixed(table: &Table) -> Vec<usize> {
    let ways: Vec<(&'static str, usize)> =
        (0..table.columns.len()).filter_map(|c| names::class(&table.columns[c].name).map(|n| (n.0, c))).collect();
    let of = |way: &str| ways.iter().filter(|(w, _)| *w == way).map(|(_, c)| *c).collect::<Vec<_>>();
    let own = of("p_");
    if own.len() > 1 {
        return own;
    }
    // The first way of the longest lists.
    ways.iter().rev().map(|(way, _)| of(way)).max_by_key(Vec::len).unwrap_or_default()
}

pub fn label_of(table: &Table, column: usize) -> String {
    let name = &table.columns[column].name;
    names::class(name).map_or(name.as_str(), |c| c.1).to_string()
}

/// The one column that bears the name of a probability.
pub fn only_probability(table: &Table) -> Result<Columns> {
    let prob = by_names(table, &PROBABILITIES, &|_| true);
    let binary = prob.map(|prob| Columns::Binary { prob, label: None });
    binary.ok_or_else(|| unknown(table, "no column of probabilities"))
}

/// The target: as asked, by a usual name, or the only column that is nothing else.
fn target(table: &Table, request: Option<usize>, used: &[usize]) -> Result<usize> {
    let free = |c: &usize| !used.contains(c);
    let refuse = |found: String| {
        let allowed = format!("a column of {}", listed(table));
        Err(Error::usage(place(table), found, allowed, "name the column of the true values with --target"))
    };
    if let Some(c) = request {
        let name = &table.columns[c].name;
        return if free(&c) { Ok(c) } else { refuse(format!("'{name}' cannot be target and prediction at once")) };
    }
    let all = || (0..table.columns.len()).filter(free);
    let usual: Vec<usize> = all().filter(|&c| is_one_of(&table.columns[c].name, &TARGETS)).collect();
    let rest: Vec<usize> = all().filter(|&c| !is_beside(&table.columns[c].name)).collect();
    match (usual.as_slice(), rest.as_slice()) {
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => {
            refuse("no column is left for the target: the file holds predictions without the true values".into())
        }
        ([], many) | (many, _) => {
            let names: Vec<String> = many.iter().take(5).map(|&c| format!("'{}'", table.columns[c].name)).collect();
            refuse(format!("more than one column may be the target: {}", names.join(", ")))
        }
    }
}

/// The class of a label: the same text, or the same number ("1.0" is 1); an apostrophe before what a spreadsheet would
/// compute is no part of it.
pub fn class_of(label: &str, labels: &[String]) -> Option<usize> {
    let number = label.parse::<f64>().ok();
    let same = |l: &&String| number.is_some() && l.parse::<f64>().ok() == number;
    let own = || label.strip_prefix('\'').filter(|l| l.starts_with(['=', '+', '-', '@', '\t', '\r']));
    let exact = |label: &str| labels.iter().position(|l| l == label);
    exact(label).or_else(|| labels.iter().position(|l| same(&l))).or_else(|| own().and_then(exact))
}
