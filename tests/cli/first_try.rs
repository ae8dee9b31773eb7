//! Tables with the habits of those that people use every day: empty cells, dates, names, row counters, missing targets.
//! Each is given with no flag but `--target` and has to learn and to beat the constant. The tables are made here.

use assert_cmd::Command;
use std::path::Path;

fn vifo(dir: &Path) -> Command {
    let mut c = Command::cargo_bin("vifo").unwrap();
    c.current_dir(dir);
    c
}

/// A pseudorandom number in [0, 1) that any row can have anew.
fn noise(i: usize, salt: usize) -> f64 {
    let x = ((i * 2_654_435_761 + salt * 40_503 + 12_345) % 1_000_003) as f64;
    (x * 0.618_033_988_749_895).fract()
}

/// Trains on `text` and returns the value of a metric, the constant's, and all that was said.
fn fit(text: &str, target: &str, metric: &str) -> (f64, f64, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.csv"), text).unwrap();
    let args =
        ["fit", "t.csv", "--target", target, "--out", "run", "--device", "cpu", "--epochs", "150", "--members", "2"];
    let out = vifo(dir.path()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}");
    let results: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("run/results.json")).unwrap()).unwrap();
    let metrics = results["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|m| m["name"] == metric).unwrap_or_else(|| panic!("no {metric} in {results}"));
    (found["value"].as_f64().unwrap(), found["constant"].as_f64().unwrap(), said)
}

/// A note that names the column says `what` of it.
#[track_caller]
fn says(said: &str, column: &str, what: &str) {
    let is = |line: &&str| line.contains(&format!("'{column}'")) && line.contains(what);
    assert_eq!(said.lines().filter(is).count(), 1, "one line with {column} and {what} in\n{said}");
}

#[test]
fn b0_daily_records() {
    let mut text = String::from("date,rain,wind,temp,sky\n");
    for i in 0..360 {
        let (month, day) = (i / 30 + 1, i % 30 + 1);
        let date = format!("2023/{month:02}/{:02}", if month == 2 { day.min(28) } else { day });
        let season = -(std::f64::consts::TAU * i as f64 / 360.0).cos();
        let temp = 12.0 + 9.0 * season + 2.0 * noise(i, 1);
        let sky = if noise(i, 2) < 0.5 + 0.4 * season { "sun" } else { "rain" };
        let wind = if i % 17 == 0 { String::new() } else { format!("{:.1}", 3.0 + noise(i, 3)) };
        text += &format!("{date},{:.1},{wind},{temp:.1},{sky}\n", 5.0 * noise(i, 4));
    }
    let (rmse, constant, said) = fit(&text, "temp", "rmse");
    assert!(rmse < 0.7 * constant, "{rmse} and {constant}");
    says(&said, "date", "date: trend in years; day of the year");
    says(&said, "wind", "the mean where it is missing, and an input");
    let (accuracy, constant, _) = fit(&text, "sky", "accuracy");
    assert!(accuracy > constant, "{accuracy} and {constant}");
}

#[test]
fn b0_specimens() {
    let mut text = String::from("rowid,species,island,bill,mass,sex,comments\n");
    for i in 0..240 {
        let kind = i * 3 / 240;
        let bill = 36.0 + 5.0 * kind as f64 + 3.0 * noise(i, 1);
        let mass = if i == 3 { "NA".into() } else { format!("{:.0}", 3200.0 + 40.0 * bill + 300.0 * noise(i, 2)) };
        let sex = ["male", "female", "NA"][if i % 40 == 0 { 2 } else { i % 2 }];
        let species = ["Adelie", "Chinstrap", "Gentoo"][kind];
        let comment = if i % 30 == 0 { format!("Sampled twice, note {i}") } else { "NA".into() };
        text += &format!("{},{species},{},{bill:.1},{mass},{sex},\"{comment}\"\n", i + 1, ["B", "D"][i % 2]);
    }
    let (accuracy, constant, said) = fit(&text, "species", "accuracy");
    assert!(accuracy > constant + 0.2, "{accuracy} and {constant}");
    says(&said, "rowid", "left out: counts the rows");
    let (rmse, constant, said) = fit(&text, "mass", "rmse");
    assert!(rmse < constant, "{rmse} and {constant}");
    assert!(said.contains("1 of 240 rows left out because the target is missing"), "{said}");
}

#[test]
fn b0_products() {
    let makes = ["ford", "audi", "fiat", "volvo", "opel", "skoda"];
    let mut text = String::from("Name,Economy,Weight,Year,Sold,Origin\n");
    for i in 0..240 {
        let weight = 1500.0 + 2500.0 * noise(i, 1);
        let economy = 60.0 - 0.012 * weight + 3.0 * noise(i, 2);
        let economy = if i % 48 == 5 { String::new() } else { format!("{economy:.1}") };
        let (make, year) = (makes[i % 6], 1970 + i / 20);
        text += &format!(
            "{make} model {i},{economy},{weight:.0},{year}-01-01,{},{}\n",
            ["yes", "no"][i * 7 % 5 % 2],
            ["USA", "EU"][i % 2]
        );
    }
    let (rmse, constant, said) = fit(&text, "Economy", "rmse");
    assert!(rmse < 0.6 * constant, "{rmse} and {constant}");
    says(&said, "Name", "left out: an identifier or free text");
    says(&said, "Year", "date: trend in years");
    says(&said, "Sold", "no = 0, yes = 1: one input");
}

#[test]
fn b0_a_monthly_series() {
    let mut text = String::from(",Month,Passengers\n");
    for i in 0..144 {
        let season = (std::f64::consts::TAU * i as f64 / 12.0).sin();
        text += &format!("{i},{}-{:02},{:.0}\n", 1949 + i / 12, i % 12 + 1, 120.0 + 2.5 * i as f64 + 30.0 * season);
    }
    let (rmse, constant, said) = fit(&text, "Passengers", "rmse");
    assert!(rmse < 0.5 * constant, "{rmse} and {constant}");
    says(&said, "0", "left out: counts the rows");
    says(&said, "Month", "date: trend in years; day of the year");
}

#[test]
fn b0_b14_countries() {
    let mut text = String::from("country,year,income,life\n");
    for i in 0..1050 {
        let (land, year) = (i / 7, 1952 + 5 * (i % 7));
        let level = 45.0 + 30.0 * noise(land, 9);
        let income = format!("{:.0}", 500.0 + 9000.0 * noise(i, 3));
        text += &format!("Land {land},{year},{income},{:.1}\n", level + 0.2 * (year - 1952) as f64 + noise(i, 2));
    }
    let (rmse, constant, said) = fit(&text, "life", "rmse");
    assert!(rmse < 0.6 * constant, "{rmse} and {constant}");
    says(&said, "country", "text, an input for each of 150 levels");
}

#[test]
fn b10_the_rows_that_can_be_predicted_are_and_the_others_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String =
        (0..60).map(|i| format!("{},{},{}.5\n", ["a", "b", "c"][i % 3], i % 7, i % 3 * 4 + i % 7)).collect();
    std::fs::write(dir.path().join("t.csv"), format!("c,x,y\n{rows}")).unwrap();
    let new: String = (0..1000)
        .map(|i| match i {
            500 => "new,1\n".to_string(),
            700 => "a,\n".to_string(),
            _ => format!("{},{}\n", ["a", "b", "c"][i % 3], i % 7),
        })
        .collect();
    std::fs::write(dir.path().join("new.csv"), format!("c,x\n{new}")).unwrap();
    let fit = |out: &str, more: &[&str]| {
        let args = ["fit", "t.csv", "--out", out, "--device", "cpu", "--epochs", "3", "--members", "1"];
        let out = vifo(dir.path()).args(args).args(more).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    let predict = |run: &str| {
        let out = vifo(dir.path()).args(["predict", run, "new.csv", "--out", "-", "--device", "cpu"]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    // By default both are predicted, and said.
    fit("run", &[]);
    let (code, csv, said) = predict("run");
    assert_eq!((code, csv.lines().count()), (Some(0), 1001), "{said}");
    assert!(csv.lines().next().unwrap().ends_with(",note"), "{csv}");
    let noted: Vec<&str> = csv.lines().skip(1).filter(|line| !line.ends_with(',')).collect();
    assert_eq!(noted.len(), 2, "{noted:?}");
    assert!(noted[0].starts_with("502,") && noted[0].ends_with(",c: 'new' not in training"), "{noted:?}");
    let mean = "\"x: missing, the training mean is used\"";
    assert!(noted[1].starts_with("702,") && noted[1].ends_with(mean), "{noted:?}");
    assert!(
        said.contains("column 'c' has 1 cell that training did not have: it counts as none of the levels"),
        "{said}"
    );
    assert!(said.contains("column 'x' has 1 missing cell, as none was in training"), "{said}");
    // Where missing cells leave their row out, the row is marked.
    fit("drop", &["--missing", "drop"]);
    let (code, csv, said) = predict("drop");
    assert_eq!((code, csv.lines().count()), (Some(0), 1001), "{said}");
    let marked: Vec<&str> = csv.lines().filter(|line| line.contains("column '")).collect();
    assert_eq!(marked.len(), 1, "{marked:?}");
    assert!(marked[0].starts_with("702,,") && marked[0].ends_with("column 'x': the cell is missing"), "{marked:?}");
    assert!(said.contains("1 of 1000 rows cannot be used"), "{said}");
    // A strict run stops.
    fit("strict", &["--strict"]);
    let (code, _, said) = predict("strict");
    assert!(code == Some(1) && said.contains("line 502, column 'c': level 'new' was not seen"), "{code:?} {said}");
}

#[test]
fn b0_strict_brings_the_errors_back() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String =
        (0..40).map(|i| format!("{},{i}.5\n", if i == 7 { String::new() } else { (i % 9).to_string() })).collect();
    std::fs::write(dir.path().join("t.csv"), format!("x,y\n{rows}")).unwrap();
    let out = vifo(dir.path()).args(["fit", "t.csv", "--strict", "--out", "run"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("line 9, column 'x': the cell is missing"), "{said}");
}

#[test]
fn b19_a_test_file_that_is_the_training_file_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..40).map(|i| format!("{},{}.5\n", i * i % 23, i % 11)).collect();
    for name in ["t.csv", "again.csv"] {
        std::fs::write(dir.path().join(name), format!("x,y\n{rows}")).unwrap();
    }
    let args = [
        "fit",
        "t.csv",
        "--test-file",
        "again.csv",
        "--out",
        "run",
        "--device",
        "cpu",
        "--epochs",
        "2",
        "--members",
        "1",
    ];
    let out = vifo(dir.path()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("holds the same bytes as t.csv"), "{said}");
}

#[test]
fn ten_rows_are_enough() {
    let rows: String = (0..10).map(|i| format!("{i},{}\n", 3 * i)).collect();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.csv"), format!("x,y\n{rows}")).unwrap();
    let args = ["fit", "t.csv", "--target", "y", "--out", "run", "--device", "cpu", "--epochs", "3", "--members", "1"];
    let out = vifo(dir.path()).args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}
