//! `--holdout own`: every member holds out a fold of its own, and every training row is predicted by one that did not see it.

use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, args: &str) -> Output {
    let mut vifo = Command::new(env!("CARGO_BIN_EXE_vifo"));
    vifo.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split(' ')).output().expect("the binary runs")
}

#[track_caller]
fn ok(dir: &Path, args: &str) -> String {
    let out = run(dir, args);
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(out.status.success(), "vifo {args}: {said}");
    said
}

/// 120 rows in the order of their target, so that folds that were stretches of the file would be of other rows than the rest.
fn table(dir: &Path) {
    let row = |i: u32| format!("{},{}\n", f64::from(i) * 0.05, 0.1 * f64::from(i) + (f64::from(i) * 12.9898).sin());
    std::fs::write(dir.join("t.csv"), "x,y\n".to_string() + &(0..120).map(row).collect::<String>()).expect("written");
}

#[test]
fn all_rows_are_predicted_and_calibrated_on_out_of_fold() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let said = ok(d, "fit t.csv --holdout own --members 5 --epochs 40 --device cpu --out run");
    assert!(said.contains("each member held out 22 of 108 rows"), "{said}");
    assert!(said.contains("108 training rows, each predicted by the member that held it out: rmse "), "{said}");
    let text = std::fs::read_to_string(d.join("run/out_of_fold.csv")).expect("predictions");
    let mut lines: Vec<usize> = text.lines().skip(1).filter_map(|l| l.split(',').next()?.parse().ok()).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((text.lines().count(), lines.len()), (109, 108), "every training row once");
    // The metrics are those of the file.
    let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|h| *h == name).expect("a column");
    let cells = |name: &str| -> Vec<f64> {
        let at = column(name);
        text.lines().skip(1).map(|l| l.split(',').nth(at).expect("a cell").parse().expect("a number")).collect()
    };
    let squares: f64 = cells("y").iter().zip(cells("mean")).map(|(y, mean)| (y - mean).powi(2)).sum();
    let json = std::fs::read(d.join("run/out_of_fold.json")).expect("metrics");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rmse = json["metrics"].as_array().expect("metrics").iter().find(|m| m["name"] == "rmse").expect("rmse");
    let rmse = rmse["value"].as_f64().expect("a number");
    assert!((rmse - (squares / 108.0).sqrt()).abs() < 1e-5 * rmse, "{rmse}");
    assert!(std::fs::read_to_string(d.join("run/report.html")).expect("a report").contains("out of fold"));
    let said = ok(d, "calibrate run --device cpu");
    assert!(said.contains("108 out-of-fold rows") && said.contains("at most twice the share of misses"), "{said}");
    assert!(ok(d, "predict run t.csv --device cpu").contains("calibrated on 108 out-of-fold rows"));
}

#[test]
fn what_has_no_folds_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    for (args, says) in [
        ("fit t.csv --holdout own --members 1", "\"own\" for one member"),
        ("fit t.csv --holdout own --time x", "beside data.group or data.time"),
        ("fit moons --holdout own", "without a table"),
        ("fit t.csv --holdout own --method repulsive", "\"own\" with repulsive"),
    ] {
        let out = run(d, &format!("{args} --device cpu --out no"));
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains(says) && !d.join("no").exists(), "{args}: {said}");
    }
}
