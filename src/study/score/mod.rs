//! Scores another tool's predictions like ours: which columns mean what, checks cell by cell, then the metrics of every run.
//! A prediction is one Gaussian per row (mean, sd), quantiles or intervals alone, or one probability per class. Columns that
//! only vifo writes (the split of the uncertainty) are used where they are there; what the file does not hold is left out,
//! not set to zero.

mod columns;
mod intervals;
mod names;
mod probabilities;
mod rows;
mod several;

use crate::base::fs;
use crate::data::Dataset;
use crate::data::table::{Cells, ReadOptions, Table, read_table};
use crate::error::{Error, Result};
use crate::method::Predictive;
use crate::method::predictive::Regression;
use crate::metrics;
use crate::report;
use crate::results::{self, Better, Results, metric};
use crate::run::write_atomic;
use columns::{Columns, Numbers, Spread, find, label_of, prefixed, unknown};
use std::path::{Path, PathBuf};

/// What the user said about the columns; the rest is found from their names.
#[derive(Debug, Clone, Default)]
pub struct ScoreRequest {
    pub target: Option<String>,
    pub mean: Option<String>,
    pub sd: Option<String>,
    pub lower: Option<String>,
    pub upper: Option<String>,
    /// Of intervals whose names do not tell it: a share, or per cent above 1.
    pub level: Option<f64>,
    pub probs: Vec<String>,
}

/// Beyond these the square of a sd has no place among the numbers.
const MIN_SD: f64 = 1e-150;
const MAX_SD: f64 = 1e150;

#[derive(Debug, Clone)]
pub struct Scored {
    /// None where the file holds less than a distribution: a point, some quantiles, a class.
    pub predictive: Option<Predictive>,
    /// Targets, or class indices.
    pub y: Vec<f64>,
    pub target: String,
    pub results: Results,
    /// Whether the file splits the uncertainty into aleatoric and epistemic.
    pub is_split: bool,
    columns: Columns,
    /// Of the classes in the order of the probabilities.
    labels: Vec<String>,
}

/// Reads and scores a file with the target.
pub fn score(file: &Path, options: &ReadOptions, request: &ScoreRequest) -> Result<Scored> {
    let mut options = options.clone();
    let mut table = read_table(file, &options)?;
    if options.header.is_none() && columns::hides_names(&table) {
        options.header = Some(true);
        table = read_table(file, &options)?;
    }
    several::keep_one(&mut table, request)?;
    let (columns, target) = find(&table, request)?;
    let (mut scored, left_out) = match &columns {
        Columns::Numbers(n) => {
            let (kept, left_out) = rows::complete(&table, &columns.used(), Some(&table.columns[target]))?;
            rows::keep(&mut table, &kept);
            (of_numbers(&table, n, target)?, left_out)
        }
        _ => {
            // As written: a label such as 007 must not become the number 7.
            let mut text_columns = vec![table.columns[target].name.clone()];
            if let Columns::Class { predicted } = columns {
                text_columns.push(table.columns[predicted].name.clone());
            }
            let mut as_text = read_table(file, &ReadOptions { text_columns, ..options.clone() })?;
            let (kept, left_out) = rows::complete(&table, &columns.used(), Some(&as_text.columns[target]))?;
            rows::keep(&mut table, &kept);
            rows::keep(&mut as_text, &kept);
            (probabilities::score(&table, &as_text, &columns, target)?, left_out)
        }
    };
    scored.results.notes.splice(0..0, left_out);
    if !scored.is_split {
        let unknown = ["mean_aleatoric_sd", "mean_epistemic_sd", "mean_mutual_information"];
        scored.results.metrics.retain(|m| !unknown.contains(&m.name.as_str()));
    }
    Ok(scored)
}

fn of_numbers(table: &Table, columns: &Numbers, target: usize) -> Result<Scored> {
    let name = table.columns[target].name.clone();
    let y = numbers(table, target)?;
    let mean = columns.mean.map(|c| numbers(table, c)).transpose()?;
    let mut scored = Scored {
        predictive: None,
        results: Results { set: "test".into(), rows: y.len(), metrics: vec![], notes: vec![], variants: vec![] },
        y,
        target: name,
        is_split: false,
        columns: Columns::Numbers(columns.clone()),
        labels: vec![],
    };
    let mut notes = vec![];
    match (mean, columns.sd) {
        (Some(mean), Some(sd)) => {
            let (r, is_split, said) = gaussians(table, mean, sd)?;
            scored.results = results::regression(&r, &scored.y, &Dataset::default(), None, "")?;
            intervals::of_gaussians(&r, &scored.y, &mut scored.results);
            (scored.predictive, scored.is_split) = (Some(Predictive::Regression(r)), is_split);
            notes.extend(said);
        }
        (Some(mean), None) => {
            scored.results.metrics.push(metric("rmse", "", metrics::rmse(&mean, &scored.y), Better::Lower));
            notes.push("nll and crps left out: they need a sd, and the file has none".into());
        }
        (None, _) => notes.push("rmse, nll and crps left out: they need the mean and the sd".into()),
    }
    notes.extend(intervals::of_columns(table, columns, &scored.y, &mut scored.results)?);
    scored.results.notes.extend(notes);
    Ok(scored)
}

/// Predictions of out-of-distribution rows from a file with the same columns; the target may be absent.
pub fn out_of_distribution(
    file: &Path,
    options: &ReadOptions,
    inside: &Scored,
    request: &ScoreRequest,
) -> Result<(Predictive, Results)> {
    let mut table = read_table(file, options)?;
    let Some(known) = &inside.predictive else {
        let found = "the first file holds less than a distribution of each row";
        let allowed = "mean and sd, or one probability per class";
        return Err(Error::usage("--ood", found, allowed, "leave --ood out, or add the columns"));
    };
    let columns = match &inside.columns {
        Columns::Numbers(_) => Columns::Numbers(Numbers::find(&table, request, None)?),
        columns => same_classes(&table, columns, &inside.labels, request)?,
    };
    let (kept, left_out) = rows::complete(&table, &columns.used(), None)?;
    rows::keep(&mut table, &kept);
    let (outside, is_split, notes) = match &columns {
        Columns::Numbers(n) => {
            let (mean, sd) = n.mean.zip(n.sd).ok_or_else(|| unknown(&table, "no columns mean and sd"))?;
            let (r, is_split, notes) = gaussians(&table, numbers(&table, mean)?, sd)?;
            (Predictive::Regression(r), is_split, notes)
        }
        columns => {
            let (c, is_split, notes) = probabilities::read(&table, columns)?;
            (Predictive::Classification(c), is_split, notes)
        }
    };
    let mut results = match (known, &outside) {
        (Predictive::Regression(a), Predictive::Regression(b)) => results::ood_regression(a, b),
        (Predictive::Classification(a), Predictive::Classification(b)) => results::ood_classification(a, b),
        _ => return Err(bug()),
    };
    if !(is_split && inside.is_split) {
        results.metrics.retain(|m| !m.name.ends_with("_epistemic_sd") && !m.name.ends_with("_mutual_information"));
    }
    results.notes.extend(left_out.into_iter().chain(notes));
    if is_same(known, &outside) {
        results.notes.push("both files hold the same predictions, row by row".into());
    }
    Ok((outside, results))
}

/// The columns of the first file's classes in another file, in whatever order they stand there.
fn same_classes(table: &Table, columns: &Columns, labels: &[String], request: &ScoreRequest) -> Result<Columns> {
    let column = |name: &String| table.column_index(name);
    match columns {
        Columns::Classes { .. } => {
            let probs = match request.probs.is_empty() {
                true => prefixed(table),
                false => request.probs.iter().map(column).collect::<Result<Vec<_>>>()?,
            };
            let found: Vec<String> = probs.iter().map(|&c| label_of(table, c)).collect();
            let order = labels.iter().map(|label| {
                let at = found.iter().position(|f| f == label).map(|i| probs[i]);
                at.map_or_else(|| column(label), Ok)
            });
            Ok(Columns::Classes { probs: order.collect::<Result<_>>()?, labels: labels.to_vec() })
        }
        // The target may be absent, and the rest stands as in the first file.
        _ if request.probs.len() == 1 => Ok(Columns::Binary { prob: column(&request.probs[0])?, label: None }),
        _ => match find(table, &ScoreRequest { target: None, ..request.clone() }) {
            Ok((same @ Columns::Binary { .. }, _)) => Ok(same),
            _ => match prefixed(table).as_slice() {
                [prob] => Ok(Columns::Binary { prob: *prob, label: None }),
                _ => columns::only_probability(table),
            },
        },
    }
}

/// By value, whatever the names and the writing.
fn is_same(a: &Predictive, b: &Predictive) -> bool {
    match (a, b) {
        (Predictive::Regression(a), Predictive::Regression(b)) => a.mean == b.mean && a.parts == b.parts,
        (Predictive::Classification(a), Predictive::Classification(b)) => a.k == b.k && a.probs == b.probs,
        _ => false,
    }
}

/// Figures and results into a folder of their own. Returns the figures with their captions.
pub fn write(dir: &Path, scored: &Scored, outside: Option<&(Predictive, Results)>) -> Result<Vec<(PathBuf, String)>> {
    if fs::exists(dir.join("manifest.json")) || fs::exists(dir.join("recipe.toml")) {
        let found = "is a run folder, whose results would be replaced";
        return Err(Error::usage(dir.display().to_string(), found, "", "choose another folder with --out"));
    }
    fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
    let json = |name: &str, text: serde_json::Result<String>| {
        let text = text.map_err(|e| Error::run(name, e.to_string(), "this is a bug of vifo: please report it"))?;
        write_atomic(&dir.join(name), text.as_bytes())
    };
    json("results.json", serde_json::to_string_pretty(&scored.results))?;
    let figures = dir.join("figures");
    let mut drawn = match &scored.predictive {
        Some(Predictive::Regression(r)) => report::regression_figures(&figures, &scored.target, r, &scored.y)?,
        Some(Predictive::Classification(c)) => report::classification_figures(&figures, c, &scored.y)?,
        None => vec![],
    };
    if let (Some((outside, results)), Some(inside)) = (outside, &scored.predictive) {
        json("evaluation.json", serde_json::to_string_pretty(&[&scored.results, results]))?;
        drawn.extend(report::ood_figures(&figures, "second file", inside, outside)?);
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

/// As [`numbers`], with the infinite ends that few calibration rows give.
fn ends(table: &Table, column: usize) -> Result<Vec<f64>> {
    if let Cells::Text(texts) = &table.columns[column].cells {
        let parse = |t: Option<&str>| t?.parse::<f64>().ok().filter(|v| !v.is_nan());
        if let Some(values) = texts.iter().map(parse).collect() {
            return Ok(values);
        }
    }
    numbers(table, column)
}

/// A column of numbers if there is one of this name.
fn optional(table: &Table, name: &str) -> Result<Option<Vec<f64>>> {
    (0..table.columns.len()).find(|&c| table.columns[c].name == name).map(|c| numbers(table, c)).transpose()
}

/// One Gaussian a row, whether its variance is split, and what there is to say.
fn gaussians(table: &Table, means: Vec<f64>, sd: Spread) -> Result<(Regression, bool, Vec<String>)> {
    let Spread { column, is_variance } = sd;
    let mut sds = numbers(table, column)?;
    let name = &table.columns[column].name;
    let mut notes = vec![];
    if is_variance {
        notes.push(format!("sd is the square root of the column '{name}'"));
    }
    if name.eq_ignore_ascii_case("se") {
        notes.push(
            "the column 'se' is taken for the sd of a row: the standard error of a mean would be too small".into(),
        );
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
