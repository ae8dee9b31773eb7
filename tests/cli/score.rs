//! `vifo score` against numbers worked out by hand, and against the results of our own runs.

mod other_tools;
mod own_files;

use assert_cmd::Command;
use std::f64::consts::{LN_2, TAU};
use std::path::Path;

fn vifo(dir: &Path) -> Command {
    let mut c = Command::cargo_bin("vifo").unwrap();
    c.current_dir(dir);
    c
}

/// Metrics of the first set, the raw answer, and what was said on stderr.
fn score(dir: &Path, args: &[&str]) -> (serde_json::Value, String) {
    let out = vifo(dir).arg("score").args(args).arg("--json").output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{err}");
    (serde_json::from_slice(&out.stdout).unwrap(), err)
}

fn find<'a>(set: &'a serde_json::Value, name: &str) -> Option<&'a serde_json::Value> {
    set["metrics"].as_array().unwrap().iter().find(|m| m["name"] == name).map(|m| &m["value"])
}

#[track_caller]
fn near(set: &serde_json::Value, name: &str, want: f64, tolerance: f64) {
    let found = find(set, name).and_then(|v| v.as_f64()).unwrap_or(f64::NAN);
    assert!((found - want).abs() <= tolerance, "{name}: found {found}, want {want}");
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

/// The last line of an error, and that it is the only one.
fn error(dir: &Path, args: &[&str]) -> String {
    let out = vifo(dir).arg("score").args(args).output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(matches!(out.status.code(), Some(1 | 2)), "{err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{err}");
    err
}

#[test]
fn three_rows_of_a_regression_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    // Errors 1, 0, -2 with sd 1, 2, 4.
    write(dir.path(), "p.csv", "y,mean,sd\n1,0,1\n5,5,2\n1,3,4\n");
    let (v, _) = score(dir.path(), &["p.csv"]);
    near(&v[0], "rmse", (5.0f64 / 3.0).sqrt(), 1e-12);
    // 1/2 ln 2 pi + mean(ln sd) + mean(z^2) / 2; ln sd: 0, ln 2, 2 ln 2; z^2: 1, 0, 1/4.
    near(&v[0], "nll", 0.5 * TAU.ln() + LN_2 + 1.25 / 6.0, 1e-12);
    // The half width is z sd: 0.674 covers row 2 and row 3 (|z| = 1/2); 1.645 covers all.
    near(&v[0], "coverage_50", 2.0 / 3.0, 1e-12);
    near(&v[0], "coverage_90", 1.0, 0.0);
    // 2 * 1.959964 * (1 + 2 + 4) / 3.
    near(&v[0], "width_95", 2.0 * 1.959963984540054 * 7.0 / 3.0, 1e-9);
    // Nothing in the file splits the uncertainty, and there are no training rows for baselines.
    assert!(find(&v[0], "mean_epistemic_sd").is_none());
    assert!(v[0]["metrics"][0].get("constant").is_none());
}

#[test]
fn columns_are_found_by_other_names_or_named() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "sd.csv", "price,mean,sd\n1,0,1\n5,5,2\n1,3,4\n");
    let (sd, _) = score(dir.path(), &["sd.csv"]);
    for (text, args) in [
        ("price,mean,std\n1,0,1\n5,5,2\n1,3,4\n", vec![]),
        ("price,mean,sigma\n1,0,1\n5,5,2\n1,3,4\n", vec![]),
        ("price;mean;variance\n1;0;1\n5;5;4\n1;3;16\n", vec![]),
        (
            "z,other,mu,s,price\n8,9,0,1,1\n8,9,5,2,5\n8,9,3,4,1\n",
            vec!["--mean", "mu", "--sd", "s", "--target", "price"],
        ),
        (
            "a line that is no table\n1,0,1\n5,5,2\n1,3,4\n",
            vec!["--skip-lines", "1", "--header", "no", "--mean", "1", "--sd", "2", "--target", "0"],
        ),
    ] {
        write(dir.path(), "p.csv", text);
        let (v, _) = score(dir.path(), &[vec!["p.csv"], args].concat());
        assert_eq!(v[0]["metrics"], sd[0]["metrics"], "{text}");
    }
    write(dir.path(), "p.csv", "y,mean,variance\n1,0,1\n5,5,4\n");
    let (v, _) = score(dir.path(), &["p.csv"]);
    assert!(v[0]["notes"].to_string().contains("square root"), "{v}");
}

#[test]
fn four_classes_by_hand_with_one_that_no_row_has() {
    let dir = tempfile::tempdir().unwrap();
    // Labels 1 to 4, none of them 3.
    let text = "label,p_1,p_2,p_3,p_4\n1,0.7,0.1,0.1,0.1\n2,0.25,0.25,0.25,0.25\n4,0,0,0.5,0.5\n4,0.1,0.2,0.3,0.4\n";
    write(dir.path(), "p.csv", text);
    let (v, _) = score(dir.path(), &["p.csv"]);
    // Ties go to the first class: row 2 says 1, row 3 says 3.
    near(&v[0], "accuracy", 0.5, 0.0);
    near(&v[0], "nll", -(0.7f64.ln() + 0.25f64.ln() + 0.5f64.ln() + 0.4f64.ln()) / 4.0, 1e-12);
    // Rows: 0.09 + 3 * 0.01; 0.75^2 + 3/16; 0.25 + 0.25; 0.01 + 0.04 + 0.09 + 0.36.
    near(&v[0], "brier", (0.12 + 0.75 + 0.5 + 0.5) / 4.0, 1e-12);
    assert!(find(&v[0], "mean_mutual_information").is_none());
    // The same with the columns in another order, named by the bare labels, and with labels written 1.0.
    for text in [
        "label,4,2,1,3\n1,0.1,0.1,0.7,0.1\n2,0.25,0.25,0.25,0.25\n4,0.5,0,0,0.5\n4,0.4,0.2,0.1,0.3\n",
        "p_4,p_2,p_1,p_3,truth\n0.1,0.1,0.7,0.1,1.0\n0.25,0.25,0.25,0.25,2.0\n0.5,0,0,0.5,4.0\n0.4,0.2,0.1,0.3,4.0\n",
    ] {
        write(dir.path(), "q.csv", text);
        let (w, _) = score(dir.path(), &["q.csv"]);
        near(&w[0], "brier", 0.4675, 1e-12);
    }
}

#[test]
fn labels_stay_as_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "p.csv", "zip,p_007,p_7\n007,0.9,0.1\n7,0.2,0.8\n");
    let (v, _) = score(dir.path(), &["p.csv"]);
    near(&v[0], "accuracy", 1.0, 0.0);
    near(&v[0], "nll", -(0.9f64.ln() + 0.8f64.ln()) / 2.0, 1e-12);
}

#[test]
fn a_sum_that_nearly_is_1_is_mended_and_said() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "p.csv", "y,p_a,p_b\na,0.4995,0.4996\nb,0.5,0.5\n");
    let (v, _) = score(dir.path(), &["p.csv"]);
    near(&v[0], "nll", -((0.4995f64 / 0.9991).ln() + 0.5f64.ln()) / 2.0, 1e-12);
    assert!(v[0]["notes"].to_string().contains("1 row was renormalised"), "{v}");
}

#[test]
fn wrong_cells_are_named_by_row_and_column() {
    let dir = tempfile::tempdir().unwrap();
    for (text, parts) in [
        ("y,mean,sd\n1,0,1\n2,1,0\n", ["line 3", "'sd'", "is 0"]),
        ("y,mean,sd\n1,0,-1\n2,1,1\n", ["line 2", "'sd'", "is -1"]),
        ("y,mean,sd\n1,0,1\n2,1,nan\n", ["line 3", "'sd'", "missing"]),
        ("y,mean,sd\n1,0,1\n2,,1\n", ["line 3", "'mean'", "missing"]),
        ("y,mean,sd\n,0,1\nNaN,1,1\n", ["'y'", "true values", "empty in every row"]),
        ("y,mean,sd\n1,,\n,1,1\n", ["no row has both", "'y'", "a prediction"]),
        ("y,mean,sd\n1,0,1\n2,inf,1\n", ["line 3", "'mean'", "infinite"]),
        ("y,mean,sd\n1,0,1\nlow,1,1\n", ["line 3", "'y'", "'low' is no number"]),
        ("y,mean,variance\n1,0,-1\n2,1,1\n", ["line 2", "'variance'", "is -1"]),
        ("y,p_a,p_b\na,0.5,0.5\nb,1.5,-0.5\n", ["line 3", "'p_a'", "0 to 1"]),
        ("y,p_a,p_b\na,0.5,0.5\nb,0.5,0.498\n", ["line 3", "'p_a'", "sum to 0.998"]),
        ("y,p_a,p_b,p_c\na,0.5,0.25,0.25\nb,0.156,0.770,0.071\n", ["line 3", "'p_a' to 'p_c'", "sum to 0.997"]),
        ("y,p_a,p_b\na,1,0\nb,1,1\n", ["line 3", "sum to 2", "--probs"]),
        ("y,prob\na,0.5\nb,0.6\n", ["'a' and 'b'", "'prob'", "p_LABEL"]),
        ("y,prob\na,0.5\nb,0.6\nc,0.6\n", ["3 classes", "p_LABEL", "'y'"]),
        ("y,prob\n0,0.5\n1,60\n", ["line 3", "'prob'", "0 to 1"]),
        ("y,lower,upper\n1,0,2\n1,3,2\n", ["line 3", "'lower'", "3 is above upper, 2"]),
        ("y,p_a,p_b\na,0.5,0.5\nc,0.5,0.5\n", ["line 3", "'c' has no column", "'a', 'b'"]),
        ("y,p_a,p_b\na,0.5,0.5\nb,,0.5\n", ["line 3", "'p_b'", ""]),
        ("u,v,mean,sd\n1,2,0,1\n2,3,1,1\n", ["'u', 'v'", "--target", ""]),
        ("mean,sd\n0,1\n1,1\n", ["no column is left", "--target", "'mean', 'sd'"]),
        ("y,a,b\n1,2,3\n2,3,4\n", ["'y', 'a', 'b'", "--mean", "--probs"]),
        ("y,mean,sd,p_a,p_b\na,0,1,0.5,0.5\n", ["both", "--probs", ""]),
    ] {
        write(dir.path(), "p.csv", text);
        let err = error(dir.path(), &["p.csv", "--out", "o"]);
        assert!(err.contains("p.csv"), "{err}");
        for part in parts {
            assert!(err.contains(part) || part == "'p_b'" && err.contains("'p_a'"), "{part:?} is not in {err}");
        }
        assert!(!dir.path().join("o").exists());
    }
    write(dir.path(), "p.csv", "y,mean,sd\n1,0,1\n");
    assert!(error(dir.path(), &["p.csv", "--target", "yy"]).contains("did you mean 'y'"));
    assert!(error(dir.path(), &["p.csv", "--target", "mean"]).contains("target and prediction"));
    assert!(error(dir.path(), &["p.csv", "--probs", "y"]).contains("no column is left"));
}

#[test]
fn rows_without_a_target_or_a_prediction_are_left_out_and_said() {
    let dir = tempfile::tempdir().unwrap();
    // The rows of `three_rows_of_a_regression_by_hand`, among others that cannot be scored.
    let text = "line,price,mean,sd,q5,q95,note\n2,1,0,1,-2,2,\n3,,9,1,8,10,\n4,5,5,2,1,9,\n5,7,,,,,\"'x' is empty, here\"\n\
                6,1,3,4,-4,10,\n7,,,,,,'x' is empty\n";
    write(dir.path(), "p.csv", text);
    let (v, _) = score(dir.path(), &["p.csv"]);
    assert_eq!(v[0]["rows"], 3);
    near(&v[0], "rmse", (5.0f64 / 3.0).sqrt(), 1e-12);
    near(&v[0], "nll", 0.5 * TAU.ln() + LN_2 + 1.25 / 6.0, 1e-12);
    let notes = v[0]["notes"].to_string();
    assert!(notes.contains("2 of 6 rows without a target left out"), "{notes}");
    assert!(notes.contains("1 of 6 rows without a prediction left out"), "{notes}");
    // A fault is named by its own line, though rows before it are left out.
    write(dir.path(), "f.csv", "y,mean,sd\n,0,1\n1,0,1\n2,1,0\n");
    assert!(error(dir.path(), &["f.csv"]).contains("line 4"));
    write(dir.path(), "c.csv", "kind,predicted,p_a,p_b,note\na,a,0.9,0.1,\n,a,0.8,0.2,\nb,,,,why\nb,a,0.6,0.4,\n");
    let (v, _) = score(dir.path(), &["c.csv"]);
    near(&v[0], "nll", -(0.9f64.ln() + 0.4f64.ln()) / 2.0, 1e-12);
    near(&v[0], "accuracy", 0.5, 0.0);
    let notes = v[0]["notes"].to_string();
    assert!(notes.contains("1 of 4 rows without a target") && notes.contains("1 of 4 rows without a prediction"));
    let (v, _) = score(dir.path(), &["c.csv", "--ood", "c.csv"]);
    assert!(v[1]["notes"].to_string().contains("1 of 4 rows without a prediction left out"), "{v}");
    // A class alone, and labels that are numbers.
    write(dir.path(), "l.csv", "y,predicted\ndog,dog\n,dog\ncow,\ncow,dog\n");
    near(&score(dir.path(), &["l.csv"]).0[0], "accuracy", 0.5, 0.0);
    write(dir.path(), "n.csv", "y,p_0,p_1\n0,0.9,0.1\n,0.8,0.2\n1,0.2,0.8\n");
    near(&score(dir.path(), &["n.csv"]).0[0], "accuracy", 1.0, 0.0);
}

#[test]
fn what_vifo_writes_beside_its_predictions_is_no_target() {
    let dir = tempfile::tempdir().unwrap();
    let regression = "line,price,mean,sd,aleatoric_sd,epistemic_sd,lower_90,upper_90,lower_99.5,upper_99.5,aleatoric_share,\
                      epistemic_share,sd_from_1,sd_added_1,sd_from_12,sd_added_12,note\n\
                      2,1,0,1,1,0,-2,2,-9,9,1,0,a,0.1,b,0.2,\n3,5,5,2,2,0,1,9,-9,19,1,0,a,0.1,b,0.2,\n";
    let classes = "line,species,predicted,p_cat,p_dog,entropy,aleatoric_entropy,mutual_information,set_90,aleatoric_share,\
                   epistemic_share,entropy_from_1,entropy_added_1,note\n\
                   2,cat,cat,0.9,0.1,0.3,0.3,0,cat,1,0,a,0.1,\n3,dog,dog,0.2,0.8,0.5,0.5,0,cat|dog,1,0,b,-0.1,\n";
    for (name, text, target) in [("r.csv", regression, "price"), ("c.csv", classes, "species")] {
        write(dir.path(), name, text);
        let out = vifo(dir.path()).args(["score", name]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).to_string();
        assert!(text.contains(&format!("2 rows, target {target}")), "{text}{}", String::from_utf8_lossy(&out.stderr));
    }
    // Of several targets each has its own; one note serves all.
    let own =
        |t: &str| format!("{t},{t}_mean,{t}_sd,{t}_aleatoric_sd,{t}_epistemic_sd,{t}_aleatoric_share,{t}_sd_from_1");
    let text = format!(
        "line,{},{},note\n2,1,0,1,1,0,1,a,4,3,1,1,0,1,a,\n3,5,5,2,2,0,1,b,,6,2,2,0,1,a,\n",
        own("tall"),
        own("wide")
    );
    write(dir.path(), "two.csv", &text);
    let (v, _) = score(dir.path(), &["two.csv", "--target", "wide"]);
    near(&v[0], "rmse", 1.0, 1e-12);
    assert!(v[0]["notes"].to_string().contains("1 of 2 rows without a target left out"), "{v}");
    // The only target with true values needs no name; without any it is said what is missing.
    write(dir.path(), "one.csv", &text.replacen(",tall,", ",tall_median,", 1));
    near(&score(dir.path(), &["one.csv"]).0[0], "rmse", 1.0, 1e-12);
    write(dir.path(), "none.csv", &text.replacen(",tall,", ",t,", 1).replacen(",wide,", ",w,", 1));
    let err = error(dir.path(), &["none.csv"]);
    assert!(err.contains("predictions of 2 targets, tall, wide, and no column of true values"), "{err}");
    assert!(err.contains("--target tall"), "{err}");
}

#[test]
fn files_are_written_only_where_asked() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "p.csv", "y,p_a,p_b\na,0.9,0.1\nb,0.2,0.8\nb,0.6,0.4\n");
    write(dir.path(), "far.csv", "p_b,p_a\n0.5,0.5\n0.45,0.55\n");
    let text = vifo(dir.path()).args(["score", "p.csv"]).output().unwrap();
    assert!(String::from_utf8_lossy(&text.stdout).contains("brier"));
    assert_eq!(dir.path().read_dir().unwrap().count(), 2);
    let (v, _) = score(dir.path(), &["p.csv", "--ood", "far.csv", "--out", "o/p"]);
    // Confidences 0.9, 0.8, 0.6 against 0.5, 0.55: all pairs in order.
    near(&v[1], "auroc_max_probability", 1.0, 0.0);
    assert!(find(&v[1], "auroc_mutual_information").is_none());
    for file in
        ["results.json", "evaluation.json", "figures/reliability.png", "figures/ood_roc.svg", "figures/ood_roc.csv"]
    {
        assert!(dir.path().join("o/p").join(file).is_file(), "{file}");
    }
    for (format, part) in [("markdown", "| metric"), ("latex", "\\begin{tabular}"), ("csv", "metric,unit,p")] {
        let out = vifo(dir.path()).args(["score", "p.csv", "--format", format]).output().unwrap();
        assert!(String::from_utf8_lossy(&out.stdout).starts_with(part), "{format}");
    }
}

/// Our own predictions.csv, unchanged, gives our own results.json.
#[test]
fn our_own_predictions_score_as_our_results_do() {
    let dir = tempfile::tempdir().unwrap();
    let fit = |args: &[&str]| {
        let out =
            vifo(dir.path()).arg("fit").args(args).args(["--epochs", "20", "--device", "cpu", "-q"]).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    // One network of the base method predicts one Gaussian per row: every metric must agree. A mixture's nll and crps
    // cannot be known from its mean and sd.
    fit(&["heteroscedastic", "--method", "base", "--members", "1", "--eta-aux", "0", "--out", "base"]);
    fit(&["heteroscedastic", "--method", "vifo-mean", "--members", "2", "--eta-aux", "0", "--out", "mixture"]);
    fit(&["moons", "--method", "vifo-mean", "--members", "2", "--eta-aux", "0", "--out", "classes"]);
    for (run, left_out) in [("base", vec![]), ("mixture", vec!["nll", "crps"]), ("classes", vec![])] {
        let (v, _) = score(dir.path(), &[&format!("{run}/predictions.csv")]);
        let text = std::fs::read_to_string(dir.path().join(run).join("results.json")).unwrap();
        let results: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(results["rows"], v[0]["rows"]);
        let metrics = results["metrics"].as_array().unwrap();
        assert!(metrics.len() > 6);
        for m in metrics.iter().filter(|m| !left_out.contains(&m["name"].as_str().unwrap())) {
            let (name, want) = (m["name"].as_str().unwrap(), m["value"].as_f64().unwrap());
            // Every digit is in the file: what is left is the order of sums.
            near(&v[0], name, want, 1e-12 * want.abs().max(1.0));
        }
    }
    let err = error(dir.path(), &["base/predictions.csv", "--out", "base"]);
    assert!(err.contains("is a run folder"), "{err}");
}
