//! What a table needs beyond columns and a target, as a user asks for it: groups, time, weights, boosted trees beside
//! the network.

use std::path::Path;
use std::process::Command;

fn vifo(dir: &Path, args: &str) -> std::process::Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split_whitespace());
    c.output().expect("the binary runs")
}

/// Runs to success; returns stdout and stderr.
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = vifo(dir, args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err, status) = (text(out.stdout), text(out.stderr), out.status);
    assert!(status.success(), "vifo {args}: {err}");
    (out, err)
}

fn refused(dir: &Path, args: &str, code: i32) -> String {
    let out = vifo(dir, args);
    let said = String::from_utf8(out.stderr).expect("UTF-8");
    assert_eq!(out.status.code(), Some(code), "vifo {args}: {said}");
    said
}

/// 400 rows: y = 3 |a| + step of b + noise that grows with c; `site` and `when` order them, `w` weighs them.
fn table(dir: &Path) {
    let mut text = String::from("a,b,c,site,when,w,y\n");
    for i in 0..400 {
        let wave = |f: f64| (i as f64 * f + f).sin();
        let (a, b, c) = (wave(0.7123), wave(1.317), wave(2.113).abs());
        let noise = wave(12.9898) + wave(78.233);
        let y = 3.0 * a.abs() + if b > 0.2 { 1.5 } else { -1.5 } + 0.6 * c * noise;
        let day = i * 7 % 400;
        let when = format!("20{:02}-{:02}-{:02}", 20 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
        text += &format!("{a},{b},{c},s{},{when},{},{y}\n", i % 40, 1 + i % 3);
    }
    std::fs::write(dir.join("t.csv"), text).expect("written");
}

const FIT: &str = "fit t.csv --target y --device cpu --members 2";

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn metric<'a>(results: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let all = results["metrics"].as_array().expect("metrics");
    all.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn trees_stand_beside_the_network() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let base = format!("{FIT} --ignore site --ignore when --ignore w --ignore c");
    let (out, _) = ok(d, &format!("{base} --epochs 1 --out run"));
    let head = out.lines().find(|l| l.starts_with("metric")).expect("a table");
    assert!(head.ends_with("constant  least squares  boosting"), "{head}");
    assert!(out.contains("gradient boosting does better on these rows (rmse "), "{out}");
    let results = json(&d.join("run/results.json"));
    let of = |name: &str, column: &str| metric(&results, name)[column].as_f64().expect("a number");
    // The bend is no line's.
    assert!(of("rmse", "boosting") < 0.7 * of("rmse", "least_squares"), "{results}");
    for name in ["nll", "crps", "coverage_90", "width_90"] {
        assert!(of(name, "boosting").is_finite(), "{name}");
    }
    // The sd of errors on rows that the trees had not seen: an honest one covers. 40 rows: 0.9 +- 3 * 0.047.
    assert!((of("coverage_90", "boosting") - 0.9).abs() < 0.15, "{results}");
    let report = std::fs::read_to_string(d.join("run/report.html")).expect("a report");
    assert!(report.contains("boosting"));
    ok(d, &format!("{base} --epochs 1 --out off --baseline off -q"));
    assert!(metric(&json(&d.join("off/results.json")), "rmse")["boosting"].is_null());
    assert!(refused(d, &format!("{base} --baseline perhaps"), 2).contains("\"auto\", \"on\", \"off\""));
    // Another number of threads, the same bits.
    ok(d, &format!("--threads 1 {base} --epochs 1 --out one -q"));
    assert_eq!(json(&d.join("one/results.json")), results);
}

#[test]
fn classes_have_trees_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let mut text = String::from("a,b,kind\n");
    for i in 0..300 {
        let (a, b) = ((i as f64 * 0.7123).sin(), (i as f64 * 1.317).cos());
        let kind = if a * b > 0.0 {
            "same"
        } else if a > 0.0 {
            "east"
        } else {
            "west"
        };
        text += &format!("{a},{b},{kind}\n");
    }
    std::fs::write(d.join("k.csv"), text).expect("written");
    let (out, _) = ok(d, "fit k.csv --device cpu --members 2 --epochs 2 --out run");
    assert!(out.contains("boosting"), "{out}");
    let results = json(&d.join("run/results.json"));
    for (name, good) in [("accuracy", 0.8..1.01), ("nll", 0.0..0.6)] {
        let trees = metric(&results, name)["boosting"].as_f64().expect("a number");
        assert!(good.contains(&trees), "{name} {trees}");
    }
}

#[test]
fn groups_and_time_are_said_and_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let base = format!("{FIT} --epochs 1 --ignore w");
    ok(d, &format!("{base} --ignore when --group site --out g -q"));
    let notes = json(&d.join("g/manifest.json"))["notes"].to_string();
    assert!(
        notes.contains("split by 'site': groups that train 32 (320 rows), validate 4 (40 rows), test 4 (40 rows)"),
        "{notes}"
    );
    // The sites of the test rows, by the line that each prediction names.
    let lines = std::fs::read_to_string(d.join("g/predictions.csv")).expect("predictions");
    let sites: std::collections::HashSet<usize> = lines
        .lines()
        .skip(1)
        .map(|l| (l.split(',').next().expect("a cell").parse::<usize>().expect("a line") - 2) % 40)
        .collect();
    assert_eq!(sites.len(), 4);
    ok(d, &format!("{base} --ignore site --time when --out t -q"));
    let notes = json(&d.join("t/manifest.json"))["notes"].to_string();
    assert!(notes.contains("split by 'when': test rows are those from 2021-01-25 on"), "{notes}");
    // The validation part is the split's own in calibration.
    let (out, err) = ok(d, "calibrate t");
    assert!(out.contains("40 "), "{out}");
    assert!(out.contains("holds as long as the future is like them") || err.contains("holds as long as"), "{out}{err}");
    let said = refused(d, &format!("{base} --time when --group site"), 2);
    assert!(said.contains("data.time: data.group is set, too"), "{said}");
    let (_, err) = ok(d, "fit moons --epochs 1 --members 1 --group a --out m --device cpu");
    assert!(err.contains("data.group has no effect with this data"), "{err}");
}

#[test]
fn weights_move_the_fit_and_the_figures() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    // Two clouds at odds: rows of weight 9 say +1, rows of weight 1 say -1.
    let mut text = String::from("a,w,y\n");
    for i in 0..300 {
        let heavy = i % 2 == 0;
        let y = if heavy { 1.0 } else { -1.0 } + 0.1 * (i as f64 * 12.9898).sin();
        text += &format!("{},{},{y}\n", (i as f64 * 0.37).sin(), if heavy { 9 } else { 1 });
    }
    std::fs::write(d.join("t.csv"), text).expect("written");
    let mean = |run: &str| {
        let text = std::fs::read_to_string(d.join(run).join("predictions.csv")).expect("predictions");
        let column = text.lines().next().expect("a head").split(',').position(|c| c == "mean").expect("a mean");
        let all: Vec<f64> = text
            .lines()
            .skip(1)
            .map(|l| l.split(',').nth(column).expect("a cell").parse().expect("a number"))
            .collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    ok(d, "fit t.csv --target y --device cpu --members 2 --epochs 60 --method base --ignore w --out alike -q");
    let (out, _) =
        ok(d, "fit t.csv --target y --device cpu --members 2 --epochs 60 --method base --weight w --out weighed");
    assert!(mean("alike").abs() < 0.25, "{}", mean("alike"));
    // (9 - 1) / (9 + 1).
    assert!((mean("weighed") - 0.8).abs() < 0.2, "{}", mean("weighed"));
    assert!(out.contains("rows count by their weights in all of these figures"), "{out}");
    let results = json(&d.join("weighed/results.json"));
    let rmse = |column: &str| metric(&results, "rmse")[column].as_f64().expect("a number");
    // The constant is the weighted mean 0.8, and its weighted error sqrt(0.9 0.2^2 + 0.1 1.8^2) = 0.6.
    assert!((rmse("constant") - 0.6).abs() < 0.12, "{results}");
    assert!((rmse("value") - rmse("constant")).abs() < 0.1, "{results}");
    // The same figures from the run folder, and on the file itself.
    let (again, _) = ok(d, "evaluate weighed --device cpu");
    assert!(again.contains("rows count by their weights"), "{again}");
    let (whole, _) = ok(d, "evaluate weighed --test t.csv --device cpu");
    assert!(whole.contains("rows count by their weights"), "{whole}");
    assert!(refused(d, "fit t.csv --target y --weight y", 2).contains("is the target"));
}
