//! Class probabilities of a file: one column per class, one column for two classes, or the predicted class alone.

use super::columns::{Columns, class_of, place};
use super::{Scored, bug, numbers, optional};
use crate::data::table::{Cells, Table};
use crate::error::{Error, Result};
use crate::method::Predictive;
use crate::method::predictive::Classification;
use crate::metrics;
use crate::results::{self, Better, Results, metric};

/// A row's probabilities may miss a sum of 1 by this much, however many digits they are written with.
const SUM_TOLERANCE: f64 = 1e-3;
/// A probability may lie outside [0, 1] by the rounding of a tool in single precision.
const P_TOLERANCE: f64 = 1e-6;

/// Scores classes; `as_text` is the same table with its labels as they are written.
pub fn score(table: &Table, as_text: &Table, columns: &Columns, target: usize) -> Result<Scored> {
    let written = labels_of(as_text, target)?;
    let mut notes = vec![];
    let (predictive, y, is_split, labels, mut results) = match columns {
        Columns::Class { predicted } => {
            let said = labels_of(as_text, *predicted)?;
            let labels = distinct(&written);
            let y = indices(as_text, target, &written, &labels)?;
            let right = written.iter().zip(&said).filter(|(t, p)| class_of(p, std::slice::from_ref(*t)).is_some());
            let accuracy = right.count() as f64 / y.len().max(1) as f64;
            let metrics = vec![metric("accuracy", "", accuracy, Better::Higher)];
            notes.push("nll, brier and ece left out: they need probabilities, and the file has the class alone".into());
            (
                None,
                y,
                false,
                labels,
                Results { set: "test".into(), rows: written.len(), metrics, notes: vec![], variants: vec![] },
            )
        }
        _ => {
            let (labels, said) = match columns {
                Columns::Binary { prob, label } => two_labels(table, *prob, label.as_deref(), &written, target)?,
                Columns::Classes { labels, .. } => matched(labels, &written),
                _ => return Err(bug()),
            };
            notes.extend(said);
            let (c, is_split, said) = read(table, columns)?;
            notes.extend(said);
            let y = indices(as_text, target, &written, &labels)?;
            let results = results::classification(&c, &y, None);
            (Some(Predictive::Classification(c)), y, is_split, labels, results)
        }
    };
    results.notes.extend(notes);
    // Those of the columns: another file is asked for them.
    let labels = if let Columns::Classes { labels, .. } = columns { labels.clone() } else { labels };
    Ok(Scored {
        predictive,
        y: y.iter().map(|&c| c as f64).collect(),
        target: table.columns[target].name.clone(),
        results,
        is_split,
        columns: columns.clone(),
        labels,
    })
}

/// The probabilities of all classes, whether their entropy is split, and what there is to say.
pub fn read(table: &Table, columns: &Columns) -> Result<(Classification, bool, Vec<String>)> {
    match columns {
        Columns::Classes { probs, .. } => probabilities(table, probs),
        Columns::Binary { prob, .. } => {
            let mut probs = Vec::with_capacity(2 * table.rows());
            for (row, p) in numbers(table, *prob)?.into_iter().enumerate() {
                let p = checked(table, row, *prob, p)?;
                probs.extend([1.0 - p, p]);
            }
            let total = metrics::entropy(&probs, 2);
            let (aleatoric, epistemic) = (total.clone(), vec![0.0; total.len()]);
            Ok((Classification { k: 2, probs, total, aleatoric, epistemic, by_folds: None }, false, vec![]))
        }
        _ => Err(bug()),
    }
}

fn checked(table: &Table, row: usize, column: usize, p: f64) -> Result<f64> {
    if !(-P_TOLERANCE..=1.0 + P_TOLERANCE).contains(&p) {
        let place = table.place(row, &table.columns[column].name);
        let help = "give probabilities, not scores or per cent";
        return Err(Error::data(place, format!("the probability is {p}"), "0 to 1", help));
    }
    Ok(p.clamp(0.0, 1.0))
}

/// What a sum of `k` numbers with as many decimals as the most precise of `values` may miss by their rounding: half a
/// unit of the last place each.
fn rounding(values: &[Vec<f64>], k: usize) -> f64 {
    let decimals = |v: &f64| v.to_string().split_once('.').map_or(0, |(_, d)| d.len());
    let most = values.iter().flatten().map(decimals).max().unwrap_or(0);
    // Whole numbers are classes, not probabilities that were rounded.
    if most == 0 { SUM_TOLERANCE } else { SUM_TOLERANCE.max(0.5 * k as f64 * 10f64.powi(-(most.min(20) as i32))) }
}

fn probabilities(table: &Table, columns: &[usize]) -> Result<(Classification, bool, Vec<String>)> {
    let k = columns.len();
    let by_class = columns.iter().map(|&c| numbers(table, c)).collect::<Result<Vec<_>>>()?;
    let tolerance = rounding(&by_class, k);
    let mut probs = Vec::with_capacity(table.rows() * k);
    let (mut mended, mut worst) = (0, 0.0f64);
    for row in 0..table.rows() {
        for (values, &column) in by_class.iter().zip(columns) {
            probs.push(checked(table, row, column, values[row])?);
        }
        let part = &mut probs[row * k..];
        let sum = metrics::sum_of(part.iter().copied());
        // Beside its own rounding, so that a sum on the very edge counts as within.
        if (sum - 1.0).abs() > tolerance * (1.0 + 1e-9) {
            let (first, last) = (&table.columns[columns[0]].name, &table.columns[columns[k - 1]].name);
            let place = format!("{}, line {}, columns '{first}' to '{last}'", place(table), table.lines.get(row));
            let found = format!("the {k} probabilities sum to {sum}");
            let allowed = format!("1 within {tolerance}, the rounding of numbers with so many digits");
            return Err(Error::data(
                place,
                found,
                allowed,
                "give every class its column, or name the columns with --probs",
            ));
        }
        // Rounding of the sum itself is no reason to touch a number.
        if (sum - 1.0).abs() > 1e-12 {
            part.iter_mut().for_each(|p| *p /= sum);
            mended += usize::from((sum - 1.0).abs() > 1e-9);
            worst = worst.max((sum - 1.0).abs());
        }
    }
    let mut notes = vec![];
    if mended > 0 {
        let rows = if mended == 1 { "1 row was".to_string() } else { format!("{mended} rows were") };
        notes.push(format!("{rows} renormalised: the probabilities missed a sum of 1 by up to {worst:.1e}"));
    }
    let total = metrics::entropy(&probs, k);
    let parts = optional(table, "aleatoric_entropy")?.zip(optional(table, "mutual_information")?);
    let adds_up = |(a, e): &(Vec<f64>, Vec<f64>)| {
        a.iter().zip(e).zip(&total).all(|((a, e), t)| *a >= 0.0 && *e >= 0.0 && (a + e - t).abs() <= 1e-6)
    };
    let parts = parts.filter(adds_up);
    let is_split = parts.is_some();
    let (aleatoric, epistemic) = parts.unwrap_or_else(|| (total.clone(), vec![0.0; total.len()]));
    Ok((Classification { k, probs, total, aleatoric, epistemic, by_folds: None }, is_split, notes))
}

/// A column of labels without a gap.
fn labels_of(table: &Table, column: usize) -> Result<Vec<String>> {
    let name = &table.columns[column].name;
    let Cells::Text(values) = &table.columns[column].cells else { return Err(bug()) };
    let one = |(row, value): (usize, Option<&str>)| {
        let help = "mend the cell or leave the row out";
        value.map(String::from).ok_or_else(|| Error::data(table.place(row, name), "the label is missing", "", help))
    };
    values.iter().enumerate().map(one).collect()
}

fn indices(table: &Table, target: usize, written: &[String], labels: &[String]) -> Result<Vec<usize>> {
    let name = &table.columns[target].name;
    let one = |(row, label): (usize, &String)| {
        let shown: Vec<String> = labels.iter().take(12).map(|l| format!("'{l}'")).collect();
        class_of(label, labels).ok_or_else(|| {
            Error::data(
                table.place(row, name),
                format!("the label '{label}' has no column of probabilities"),
                format!("the labels {}", shown.join(", ")),
                "add the column, or name the target with --target",
            )
        })
    };
    written.iter().enumerate().map(one).collect()
}

fn distinct(written: &[String]) -> Vec<String> {
    let mut all: Vec<String> = written.to_vec();
    all.sort();
    all.dedup();
    all
}

/// Labels of the target that belong to the columns: the columns' own; or where these are numbered and the target holds
/// names (or the other way round), one list by the other in order. What was taken for what is said.
fn matched(columns: &[String], written: &[String]) -> (Vec<String>, Option<String>) {
    let k = columns.len();
    let numbered = |labels: &[String]| (0..k).all(|i| class_of(&i.to_string(), labels) == Some(i));
    let there = distinct(written);
    if there.iter().all(|l| class_of(l, columns).is_some()) {
        return (columns.to_vec(), None);
    }
    let by_number: Vec<String> = (0..k).map(|i| i.to_string()).collect();
    let pairs = |a: &[String], b: &[String]| {
        let some = a.iter().zip(b).take(5).map(|(a, b)| format!("{a} = {b}")).collect::<Vec<_>>().join(", ");
        format!("{some}{}", if a.len() > 5 { ", ..." } else { "" })
    };
    if numbered(columns) && there.len() == k {
        let said = format!("the columns number the classes in the order of their names: {}", pairs(columns, &there));
        return (there, Some(said));
    }
    if there.iter().all(|l| class_of(l, &by_number).is_some()) {
        let said =
            format!("the target numbers the classes in the order of the columns: {}", pairs(&by_number, columns));
        return (by_number, Some(said));
    }
    (columns.to_vec(), None)
}

/// The two classes of a single probability, that of the second.
fn two_labels(
    table: &Table,
    prob: usize,
    label: Option<&str>,
    written: &[String],
    target: usize,
) -> Result<(Vec<String>, Option<String>)> {
    const NEGATIVE: [&str; 10] = ["0", "false", "no", "n", "neg", "negative", "-1", "f", "off", "absent"];
    const POSITIVE: [&str; 9] = ["1", "true", "yes", "y", "pos", "positive", "t", "on", "present"];
    let (name, there) = (&table.columns[prob].name, distinct(written));
    let refuse = |found: String, help: &str| {
        let place = format!("{}, column '{}'", place(table), table.columns[target].name);
        Err(Error::usage(place, found, "two classes for one column of probabilities", help))
    };
    if there.len() > 2 {
        return refuse(format!("{} classes", there.len()), "give every class its column p_LABEL");
    }
    let of = |positive: &str, negative: &str| {
        let said = format!("'{name}' is taken for the probability of '{positive}'");
        Ok((vec![negative.to_string(), positive.to_string()], Some(said)))
    };
    let number = |l: &String| l.parse::<f64>().map_or_else(|_| l.to_lowercase(), |v| v.to_string());
    let position = |list: &[&str], l: &String| list.iter().position(|n| *n == number(l));
    if let Some(at) = label.and_then(|l| class_of(l, &there)) {
        let rest = there.iter().enumerate().find(|(i, _)| *i != at).map_or("(other)", |(_, l)| l.as_str());
        return of(&there[at], rest);
    }
    // A target of one class alone still tells which it is.
    match there.as_slice() {
        [a, b] if position(&NEGATIVE, a).is_some() && position(&POSITIVE, b).is_some() => of(b, a),
        [a, b] if position(&POSITIVE, a).is_some() && position(&NEGATIVE, b).is_some() => of(a, b),
        [a] if position(&NEGATIVE, a).is_some() => of("(other)", a),
        [a] if position(&POSITIVE, a).is_some() => of(a, "(other)"),
        _ => {
            let shown: Vec<String> = there.iter().map(|l| format!("'{l}'")).collect();
            let found = format!("which of {} has the probability '{name}' is not said", shown.join(" and "));
            refuse(found, "name the column p_LABEL after its class")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b11_the_tolerance_is_the_rounding_of_the_digits() {
        let of = |values: &[f64]| rounding(&values.iter().map(|v| vec![*v]).collect::<Vec<_>>(), values.len());
        assert_eq!(of(&[0.156, 0.77, 0.073]), 0.0015);
        assert!((of(&[0.33, 0.33, 0.33]) - 0.015).abs() < 1e-15);
        assert_eq!(of(&[1.0, 1.0]), SUM_TOLERANCE);
        assert_eq!(of(&[0.3333333, 0.6666667]), SUM_TOLERANCE);
    }

    #[test]
    fn b12_numbered_columns_and_named_targets_find_each_other() {
        let list = |names: &[&str]| names.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let (labels, said) = matched(&list(&["0", "1"]), &list(&["dog", "cat", "dog"]));
        assert_eq!(labels, ["cat", "dog"]);
        assert!(said.is_some_and(|s| s.contains("0 = cat, 1 = dog")));
        let (labels, said) = matched(&list(&["setosa", "virginica"]), &list(&["1", "0", "1.0"]));
        assert_eq!(labels, ["0", "1"]);
        assert!(said.is_some_and(|s| s.contains("0 = setosa")));
        assert_eq!(matched(&list(&["a", "b"]), &list(&["b"])), (list(&["a", "b"]), None));
        assert_eq!(matched(&list(&["a", "b"]), &list(&["c"])), (list(&["a", "b"]), None));
    }
}
