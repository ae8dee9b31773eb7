//! Another tool's predictions as ours: which columns mean what, checks cell by cell, then the metrics of every run.
//! A prediction is one Gaussian a row (mean, sd) or one probability a class. Columns that only vifo writes (the split of
//! the uncertainty, quantiles) are used where they are there; what the file cannot tell is left out, not set to zero.

mod columns;

use self::columns::{Columns, VARIANCE, class_of, find, label_of, moments, place, prefixed, unknown};
use super::results::{self, LEVELS, Results};
use super::{report, write_atomic};
use crate::data::Dataset;
use crate::data::table::{Cells, ReadOptions, Table, read_table};
use crate::error::{Error, Result};
use crate::method::Predictive;
use crate::method::predictive::{Classification, Regression};
use crate::metrics::{self, Measure};
use std::path::{Path, PathBuf};

/// What the user said about the columns; the rest is found from their names.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub target: Option<String>,
    pub mean: Option<String>,
    pub sd: Option<String>,
    pub probs: Vec<String>,
}

/// A row's probabilities may miss a sum of 1 by this much.
const SUM_TOLERANCE: f64 = 1e-3;
/// A probability may lie outside [0, 1] by the rounding of a tool in single precision.
const P_TOLERANCE: f64 = 1e-6;
/// Beyond these the square of a sd has no place among the numbers.
const MIN_SD: f64 = 1e-150;
const MAX_SD: f64 = 1e150;

#[derive(Debug, Clone)]
pub struct Scored {
    pub predictive: Predictive,
    /// Targets, or class indices.
    pub y: Vec<f64>,
    pub target: String,
    pub results: Results,
    /// Whether the file splits the uncertainty into aleatoric and epistemic.
    pub is_split: bool,
    columns: Columns,
}

/// Reads and scores a file with the target.
pub fn score(file: &Path, options: &ReadOptions, asked: &Asked) -> Result<Scored> {
    let table = read_table(file, options)?;
    let (columns, target) = find(&table, asked)?;
    let name = table.columns[target].name.clone();
    let (predictive, is_split, mut notes) = read(&table, &columns)?;
    let (y, mut results) = match (&predictive, &columns) {
        (Predictive::Regression(r), _) => {
            let y = numbers(&table, target)?;
            let mut results = results::regression(r, &y, &Dataset::default(), None, "")?;
            notes.extend(from_quantiles(&table, &y, &mut results)?);
            (y, results)
        }
        (Predictive::Classification(c), Columns::Classification { labels, .. }) => {
            // As written: a label such as 007 must not become the number 7.
            let as_text = ReadOptions { text_columns: vec![name.clone()], ..options.clone() };
            let y = classes(&read_table(file, &as_text)?, target, labels)?;
            let results = results::classification(c, &y, None);
            (y.iter().map(|&c| c as f64).collect(), results)
        }
        (Predictive::Classification(_), Columns::Regression { .. }) => return Err(bug()),
    };
    if !is_split {
        let unknown = ["mean_aleatoric_sd", "mean_epistemic_sd", "mean_mutual_information"];
        results.metrics.retain(|m| !unknown.contains(&m.name.as_str()));
    }
    results.notes.extend(notes);
    Ok(Scored { predictive, y, target: name, results, is_split, columns })
}

/// Predictions of out-of-distribution rows from a file with the same columns; the target may be absent.
pub fn out_of_distribution(
    file: &Path,
    options: &ReadOptions,
    inside: &Scored,
    asked: &Asked,
) -> Result<(Predictive, Results)> {
    let table = read_table(file, options)?;
    let column = |name: &String| table.column_index(name);
    let columns = match &inside.columns {
        Columns::Regression { .. } => {
            let (mean, sd) = moments(&table, asked)?.ok_or_else(|| unknown(&table, "no columns mean and sd"))?;
            Columns::Regression { mean, sd }
        }
        Columns::Classification { labels, .. } => {
            let names = if asked.probs.is_empty() { prefixed(&table) } else { asked.probs.clone() };
            let probs = names.iter().map(column).collect::<Result<Vec<_>>>()?;
            let found: Vec<String> = probs.iter().map(|&c| label_of(&table, c)).collect();
            // The same classes in any order.
            let order = labels.iter().map(|label| {
                let at = found.iter().position(|f| f == label).map(|i| probs[i]);
                at.map_or_else(|| table.column_index(label), Ok)
            });
            Columns::Classification { probs: order.collect::<Result<_>>()?, labels: labels.clone() }
        }
    };
    let (outside, is_split, notes) = read(&table, &columns)?;
    let mut results = match (&inside.predictive, &outside) {
        (Predictive::Regression(a), Predictive::Regression(b)) => results::ood_regression(a, b),
        (Predictive::Classification(a), Predictive::Classification(b)) => results::ood_classification(a, b),
        _ => return Err(bug()),
    };
    if !(is_split && inside.is_split) {
        results.metrics.retain(|m| !m.name.ends_with("_epistemic_sd") && !m.name.ends_with("_mutual_information"));
    }
    results.notes.extend(notes);
    Ok((outside, results))
}

/// Figures and results into a folder of their own. Returns the figures with their captions.
pub fn write(dir: &Path, scored: &Scored, outside: Option<&(Predictive, Results)>) -> Result<Vec<(PathBuf, String)>> {
    if dir.join("manifest.json").exists() || dir.join("recipe.toml").exists() {
        let found = "is a run folder, whose results would be replaced";
        return Err(Error::usage(dir.display().to_string(), found, "", "choose another folder with --out"));
    }
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
    let json = |name: &str, text: serde_json::Result<String>| {
        let text = text.map_err(|e| Error::run(name, e.to_string(), "this is a bug of vifo: please report it"))?;
        write_atomic(&dir.join(name), text.as_bytes())
    };
    json("results.json", serde_json::to_string_pretty(&scored.results))?;
    let figures = dir.join("figures");
    let mut drawn = match &scored.predictive {
        Predictive::Regression(r) => report::regression_figures(&figures, &scored.target, r, &scored.y)?,
        Predictive::Classification(c) => report::classification_figures(&figures, c, &scored.y)?,
    };
    if let Some((outside, results)) = outside {
        json("evaluation.json", serde_json::to_string_pretty(&[&scored.results, results]))?;
        drawn.extend(report::ood_figures(&figures, "second file", &scored.predictive, outside)?);
    }
    Ok(drawn)
}

fn bug() -> Error {
    Error::run("score", "two kinds of prediction", "this is a bug of vifo: please report it")
}

/// A column of numbers without a gap.
fn numbers(table: &Table, column: usize) -> Result<Vec<f64>> {
    let c = &table.columns[column];
    let fault = |row: usize, found: String| {
        Err(Error::data(table.place(row, &c.name), found, "a finite number", "mend the cell or leave the row out"))
    };
    match &c.cells {
        Cells::Number(values) => match values.iter().position(|v| v.is_nan()) {
            Some(row) => fault(row, "is missing or NaN".into()),
            None => Ok(values.clone()),
        },
        Cells::Text(texts) => {
            let is_number = |t: Option<&str>| t.is_some_and(|t| t.parse::<f64>().is_ok_and(f64::is_finite));
            let row = texts.iter().position(|t| !is_number(t)).unwrap_or(0);
            fault(row, texts.get(row).map_or("is missing or NaN".into(), |t| format!("'{t}' is no number")))
        }
    }
}

/// A column of numbers if there is one of this name.
fn optional(table: &Table, name: &str) -> Result<Option<Vec<f64>>> {
    (0..table.columns.len()).find(|&c| table.columns[c].name == name).map(|c| numbers(table, c)).transpose()
}

/// The predictions, whether the uncertainty is split, and what there is to say.
fn read(table: &Table, columns: &Columns) -> Result<(Predictive, bool, Vec<String>)> {
    match columns {
        Columns::Regression { mean, sd } => {
            let (r, is_split, notes) = gaussians(table, *mean, *sd)?;
            Ok((Predictive::Regression(r), is_split, notes))
        }
        Columns::Classification { probs, .. } => {
            let (c, is_split, notes) = probabilities(table, probs)?;
            Ok((Predictive::Classification(c), is_split, notes))
        }
    }
}

fn gaussians(table: &Table, mean: usize, sd: usize) -> Result<(Regression, bool, Vec<String>)> {
    let means = numbers(table, mean)?;
    let mut sds = numbers(table, sd)?;
    let name = &table.columns[sd].name;
    let mut notes = vec![];
    let is_variance = name.eq_ignore_ascii_case(VARIANCE);
    if is_variance {
        notes.push(format!("sd is the square root of the column '{name}'"));
    }
    for (row, v) in sds.iter_mut().enumerate() {
        let root = if is_variance { v.sqrt() } else { *v };
        if !(root > MIN_SD && root < MAX_SD) {
            let found = format!("the {} is {v}", if is_variance { "variance" } else { "sd" });
            let place = table.place(row, name);
            let allowed = if *v > 0.0 { "an sd between 1e-150 and 1e150" } else { "a finite number above 0" };
            return Err(Error::data(place, found, allowed, "mend the cell or leave the row out"));
        }
        *v = root;
    }
    let vars: Vec<f64> = sds.iter().map(|s| s * s).collect();
    let square = |v: Vec<f64>| v.iter().map(|s| s * s).collect::<Vec<f64>>();
    let parts = optional(table, "aleatoric_sd")?.map(square).zip(optional(table, "epistemic_sd")?.map(square));
    let adds_up = |(a, e): &(Vec<f64>, Vec<f64>)| {
        a.iter().zip(e).zip(&vars).all(|((a, e), v)| *a >= 0.0 && *e >= 0.0 && (a + e - v).abs() <= 1e-6 * v)
    };
    let parts = parts.filter(adds_up);
    let is_split = parts.is_some();
    let (aleatoric, epistemic) = parts.unwrap_or_else(|| (vars.clone(), vec![0.0; vars.len()]));
    Ok((Regression::normals(means, &vars, aleatoric, epistemic), is_split, notes))
}

fn probabilities(table: &Table, columns: &[usize]) -> Result<(Classification, bool, Vec<String>)> {
    let k = columns.len();
    let by_class = columns.iter().map(|&c| numbers(table, c)).collect::<Result<Vec<_>>>()?;
    let mut probs = Vec::with_capacity(table.rows() * k);
    let (mut mended, mut worst) = (0, 0.0f64);
    for row in 0..table.rows() {
        for (j, values) in by_class.iter().enumerate() {
            let p = values[row];
            if !(-P_TOLERANCE..=1.0 + P_TOLERANCE).contains(&p) {
                let place = table.place(row, &table.columns[columns[j]].name);
                let cure = "give probabilities, not scores or per cent";
                return Err(Error::data(place, format!("the probability is {p}"), "0 to 1", cure));
            }
            probs.push(p.clamp(0.0, 1.0));
        }
        let part = &mut probs[row * k..];
        let sum: f64 = part.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            let (first, last) = (&table.columns[columns[0]].name, &table.columns[columns[k - 1]].name);
            let place = format!("{}, line {}, columns '{first}' to '{last}'", place(table), table.lines.get(row));
            let found = format!("the {k} probabilities sum to {sum}");
            let allowed = format!("1 within {SUM_TOLERANCE}");
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
    Ok((Classification { k, probs, total, aleatoric, epistemic }, is_split, notes))
}

fn classes(table: &Table, target: usize, labels: &[String]) -> Result<Vec<usize>> {
    let name = &table.columns[target].name;
    let Cells::Text(texts) = &table.columns[target].cells else { return Err(bug()) };
    let one = |(row, value): (usize, Option<&str>)| {
        let fault = |found: String, cure: &str| {
            let shown: Vec<String> = labels.iter().take(12).map(|l| format!("'{l}'")).collect();
            Error::data(table.place(row, name), found, format!("the labels {}", shown.join(", ")), cure)
        };
        let Some(label) = value else {
            return Err(fault("the label is missing".into(), "mend the cell or leave the row out"));
        };
        let found = || format!("the label '{label}' has no column of probabilities");
        class_of(label, labels).ok_or_else(|| fault(found(), "add the column, or name the target with --target"))
    };
    texts.iter().enumerate().map(one).collect()
}

/// Coverage and width from the file's own quantiles where both ends of an interval are there: a mixture's differ from
/// those of one Gaussian.
fn from_quantiles(table: &Table, y: &[f64], results: &mut Results) -> Result<Option<String>> {
    let mut levels = vec![];
    for level in LEVELS {
        let tail = (1.0 - level) / 2.0;
        // The names of predictions.csv: q2.5, q97.5.
        let name = |q: f64| format!("q{}", (q * 1e4).round() / 100.0);
        let (low_name, high_name) = (name(tail), name(1.0 - tail));
        let Some((low, high)) = optional(table, &low_name)?.zip(optional(table, &high_name)?) else { continue };
        if let Some(row) = (0..y.len()).find(|&i| low[i] > high[i]) {
            let found = format!("{} is above {high_name}, {}", low[row], high[row]);
            let cure = "exchange the two columns";
            return Err(Error::data(table.place(row, &low_name), found, "the lower end of the interval", cure));
        }
        let percent = (level * 100.0).round();
        for m in &mut results.metrics {
            if m.name == format!("coverage_{percent}") {
                m.value = Measure::Value(metrics::coverage(&low, &high, y));
            } else if m.name == format!("width_{percent}") {
                m.value = Measure::Value(metrics::mean_width(&low, &high));
            }
        }
        levels.push(format!("{percent} %"));
    }
    let note = format!(
        "coverage and width of {} from the file's quantiles; nll and crps are those of one Gaussian a row",
        levels.join(", ")
    );
    Ok((!levels.is_empty()).then_some(note))
}
