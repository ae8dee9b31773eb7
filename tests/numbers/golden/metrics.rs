//! The metrics against the numbers of another program: tests/golden/metrics.json, written by make.py beside it
//! (PyTorch, f64). `VIFO_GOLDEN` names another folder.

use crate::common::golden::{RELATIVE, golden, numbers};
use serde_json::Value;
use vifo::metrics::*;

/// Both sides sum a few hundred f64 terms of one sign: rounding stays below 1e-12, and 1e-9 is room, not need.
/// NaN on either side is a failure.
fn compare(name: &str, found: f64, golden: f64) -> Result<(), String> {
    let distance = (found - golden).abs();
    if distance <= RELATIVE * golden.abs() {
        return Ok(());
    }
    Err(format!(
        "{name}: found {found:e}, golden {golden:e}, {:.3e} times the tolerance",
        distance / (RELATIVE * golden.abs())
    ))
}

fn labels(v: &Value) -> Vec<usize> {
    numbers(v).into_iter().map(|v| v as usize).collect()
}

fn classification(row: &Value) -> Vec<(&'static str, f64)> {
    let k = row["probs"]["shape"][1].as_u64().expect("a shape") as usize;
    let (probs, y, ood) = (numbers(&row["probs"]), labels(&row["y"]), numbers(&row["ood_probs"]));
    let (conf, class) = confidences(&probs, k);
    let correct: Vec<bool> = class.iter().zip(&y).map(|(c, y)| c == y).collect();
    let ood_entropy = entropy(&ood, k);
    vec![
        ("nll", nll(&probs, &y, k)),
        ("accuracy", accuracy(&probs, &y, k)),
        ("brier", brier(&probs, &y, k)),
        ("ece_equal_width_20", ece_equal_width(&conf, &correct, 20)),
        ("ece_equal_mass_20", ece_equal_mass(&conf, &correct, 20)),
        ("mean_entropy_ood", ood_entropy.iter().sum::<f64>() / ood_entropy.len() as f64),
        ("auroc_max_prob", auroc(&conf, &confidences(&ood, k).0).value().unwrap_or(f64::NAN)),
    ]
}

fn ece_row(row: &Value) -> Vec<(&'static str, f64)> {
    let correct: Vec<bool> = labels(&row["correct"]).iter().map(|&c| c == 1).collect();
    let bins = row["bins"].as_u64().expect("a count") as usize;
    vec![("value", ece_equal_width(&numbers(&row["conf"]), &correct, bins))]
}

fn auroc_row(row: &Value) -> Vec<(&'static str, f64)> {
    vec![("value", auroc(&numbers(&row["pos"]), &numbers(&row["neg"])).value().unwrap_or(f64::NAN))]
}

/// Fields of a golden row that are inputs; every other one must be computed and compared.
const INPUTS: [&str; 9] = ["kind", "probs", "y", "ood_probs", "conf", "correct", "bins", "pos", "neg"];

#[test]
fn metrics_agree_with_the_golden_numbers() {
    let (mut faults, mut kinds) = (Vec::new(), Vec::new());
    for row in golden("metrics") {
        let kind = row["kind"].as_str().expect("a kind").to_owned();
        let found = match kind.as_str() {
            "classification" => classification(&row),
            "ece_equal_width" => ece_row(&row),
            "auroc" => auroc_row(&row),
            other => panic!("golden row of unknown kind {other}"),
        };
        for (field, golden) in row.as_object().expect("an object").iter().filter(|(f, _)| !INPUTS.contains(&f.as_str()))
        {
            let value = found.iter().find(|(name, _)| name == field);
            let (_, value) = value.unwrap_or_else(|| panic!("{kind}.{field} is in the file but is not compared"));
            faults.extend(compare(&format!("{kind}.{field}"), *value, golden.as_f64().expect("a number")).err());
        }
        kinds.push(kind);
    }
    kinds.sort();
    assert_eq!(kinds, ["auroc", "classification", "ece_equal_width"], "golden rows are missing or unread");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_comparer_rejects_a_wrong_number_and_nan() {
    assert!(compare("same", 0.25, 0.25).is_ok());
    assert!(compare("close", 0.25 * (1.0 + 5e-10), 0.25).is_ok());
    assert!(compare("wrong", 0.25 * (1.0 + 2e-9), 0.25).is_err());
    assert!(compare("sign", -0.25, 0.25).is_err());
    assert!(compare("found NaN", f64::NAN, 0.25).is_err());
    assert!(compare("golden NaN", 0.25, f64::NAN).is_err());
    assert!(compare("infinite", f64::INFINITY, 0.25).is_err());
}
