//! `vifo calibrate` and what follows from it, with the real binary: tables, images, what is refused and how, a run that
//! changes afterwards, a kill.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn vifo(dir: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1");
    c
}

fn run(dir: &Path, args: &str) -> Output {
    vifo(dir).args(args.split_whitespace()).output().expect("the binary runs")
}

fn err(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).to_string()
}

/// Runs to success; returns stdout and stderr.
#[track_caller]
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = run(dir, args);
    assert!(out.status.success(), "vifo {args}: {}", err(&out));
    (String::from_utf8_lossy(&out.stdout).to_string(), err(&out))
}

#[track_caller]
fn refused(dir: &Path, args: &str, code: i32, parts: &[&str]) {
    let out = run(dir, args);
    let said = err(&out);
    let lines: Vec<&str> = said.lines().filter(|l| !l.starts_with("note: ")).collect();
    assert_eq!(out.status.code(), Some(code), "vifo {args}\n{said}");
    assert!(lines.len() == 1 && lines[0].starts_with("error: "), "vifo {args}\n{said}");
    for part in parts {
        assert!(said.contains(part), "vifo {args}: {part:?} is missing in\n{said}");
    }
}

/// Rows `from..to` of y = 3 a - 2 b + noise that grows with a, and of a class that depends on a and the noise.
fn rows(dir: &Path, name: &str, from: usize, to: usize) {
    let (mut numbers, mut classes) = (String::from("a,b,y\n"), String::from("a,b,kind\n"));
    for i in from..to {
        let i = i as f64;
        let (a, b) = ((i * 0.7).sin(), (i * 1.3).cos());
        let noise = (i * 12.9898).sin() + (i * 78.233).sin();
        numbers += &format!("{a},{b},{}\n", 3.0 * a - 2.0 * b + (0.2 + a.abs()) * 0.3 * noise);
        let kind = ["low|er", "middle", "upper"][((2.0 * a + noise + 4.0) / 8.0 * 3.0) as usize];
        classes += &format!("{a},{b},{kind}\n");
    }
    std::fs::write(dir.join(format!("{name}.csv")), numbers).expect("written");
    std::fs::write(dir.join(format!("{name}_kind.csv")), classes).expect("written");
}

struct Csv {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Cells of the tests hold no comma.
fn csv(text: &str) -> Csv {
    let cells = |l: &str| l.split(',').map(str::to_string).collect::<Vec<_>>();
    let mut lines = text.lines().map(cells);
    let mut header = lines.next().expect("a header");
    // What is said of rows beyond the training range is no figure.
    header.retain(|name| name != "note");
    let rows = lines.map(|mut row| {
        row.truncate(header.len());
        row
    });
    Csv { rows: rows.collect(), header }
}

impl Csv {
    fn text(&self, row: usize, name: &str) -> &str {
        let at = self.header.iter().position(|h| h == name).unwrap_or_else(|| panic!("{name} in {:?}", self.header));
        &self.rows[row][at]
    }
    fn number(&self, row: usize, name: &str) -> f64 {
        self.text(row, name).parse().expect("a number")
    }
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn metric<'a>(sets: &'a serde_json::Value, set: usize, name: &str) -> &'a serde_json::Value {
    let all = sets[set]["metrics"].as_array().expect("metrics");
    all.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("{name} in {all:?}"))
}

#[test]
fn a_regression_from_calibrate_to_evaluate() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t", 0, 300);
    rows(d, "fresh", 300, 400);
    rows(d, "six", 400, 406);
    ok(d, "fit t.csv --device cpu --members 2 --holdout shared --epochs 40 -q --out run");
    let (before, _) = ok(d, "predict run fresh.csv --out -");
    let (said, notes) = ok(d, "calibrate run --alpha 0.1,0.5 --device cpu");
    for part in ["30 validation rows", "90 %", "50 %", "mean ± q sd", "vifo predict run FILE"] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(notes.contains("chose when to stop") && notes.contains("--data FILE"), "{notes}");
    let stored = json(&d.join("run/calibration.json"));
    assert_eq!((&stored["rows"], &stored["temperature"]), (&30.into(), &serde_json::Value::Null));
    let q = stored["levels"][0]["threshold"].as_f64().expect("finite");

    let (after, notes) = ok(d, "predict run fresh.csv --out -");
    let lines: Vec<&str> = notes.lines().filter(|l| l.contains("calibrated on")).collect();
    assert!(lines.len() == 1 && lines[0].contains("--uncalibrated"), "{notes}");
    let (a, b) = (csv(&before), csv(&after));
    assert_eq!(b.header[..a.header.len()], a.header);
    assert_eq!(b.header[a.header.len()..], ["lower_90", "upper_90", "lower_50", "upper_50"]);
    for i in 0..b.rows.len() {
        assert_eq!(b.rows[i][..a.header.len()], a.rows[i], "nothing else changes");
        let (mean, sd) = (b.number(i, "mean"), b.number(i, "sd"));
        // Nine digits of each are written.
        let slack = 1e-7 * (mean.abs() + q * sd);
        assert!((b.number(i, "lower_90") - (mean - q * sd)).abs() < slack);
        assert!((b.number(i, "upper_90") - (mean + q * sd)).abs() < slack);
    }
    assert_eq!(ok(d, "predict run fresh.csv --uncalibrated --out -").0, before);
    // Another order, and twice the same: each row as before, but for its line.
    let text = std::fs::read_to_string(d.join("fresh.csv")).expect("rows");
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(d.join("moved.csv"), [lines[0], lines[9], lines[4], lines[9]].join("\n")).expect("written");
    let moved = csv(&ok(d, "predict run moved.csv --out -").0);
    for (i, from) in [8, 3, 8].into_iter().enumerate() {
        assert_eq!(moved.rows[i][1..], b.rows[from][1..]);
    }

    // Beside the uncalibrated figures; a level that the table did not have comes to it.
    ok(d, "calibrate run --alpha 0.1 --alpha 0.2 -q");
    let sets: serde_json::Value = serde_json::from_str(&ok(d, "evaluate run --test fresh.csv --json").0).expect("JSON");
    for name in ["coverage_90", "width_90", "coverage_80", "width_80"] {
        assert!(metric(&sets, 0, name)["calibrated"].is_number() && metric(&sets, 0, name)["value"].is_number());
    }
    assert!(metric(&sets, 0, "coverage_50")["calibrated"].is_null());
    let (table, _) = ok(d, "evaluate run");
    assert!(table.contains("calibrated") && table.contains("coverage_80"), "{table}");
    let report = || std::fs::read_to_string(d.join("run/report.html")).expect("a report");
    assert_eq!(report().matches("<h2>Calibration</h2>").count(), 1);

    // Fresh rows of a file; six are too few, and that is said wherever it matters.
    let (said, notes) = ok(d, "calibrate run --data fresh.csv");
    assert!(said.contains("100 rows of fresh.csv") && !notes.contains("chose when to stop"), "{said}{notes}");
    assert!(ok(d, "evaluate run --test fresh.csv").1.contains("calibrated on these rows"));
    let (said, notes) = ok(d, "calibrate run --data six.csv");
    assert!(
        said.contains("infinite") && notes.contains("6 calibration rows cannot give 90 % intervals"),
        "{said}{notes}"
    );
    let (text, notes) = ok(d, "predict run fresh.csv --out -");
    let all = csv(&text);
    assert_eq!((all.text(0, "lower_90"), all.text(0, "upper_90")), ("-inf", "inf"));
    assert!(notes.contains("infinite"), "{notes}");
    let (table, _) = ok(d, "evaluate run");
    assert!(table.contains("inf"), "{table}");
    assert!(report().contains("6 calibration rows cannot") && report().matches("<h2>Calibration</h2>").count() == 1);
    // Another tool reads the columns for what they are.
    ok(d, "predict run t.csv -q --out p.csv");
    let (_, notes) = ok(d, "score p.csv");
    assert!(notes.contains("width_90 and interval_score_90 left out: 300 of 300 intervals are infinite"), "{notes}");
}

#[test]
fn a_classification_from_calibrate_to_evaluate() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t", 0, 400);
    rows(d, "fresh", 400, 700);
    ok(d, "fit t_kind.csv --device cpu --members 2 --epochs 40 -q --out run");
    let before = csv(&ok(d, "predict run fresh_kind.csv --out -").0);
    // Calibrated and tested on the same 300 rows: 300 tell a temperature.
    let (said, _) = ok(d, "calibrate run --data fresh_kind.csv --alpha 0.2");
    assert!(said.contains("temperature") && said.contains("APS") && said.contains("80 %"), "{said}");
    let stored = json(&d.join("run/calibration.json"));
    let t = stored["temperature"]["value"].as_f64().expect("a number");
    let (text, notes) = ok(d, "predict run fresh_kind.csv --out -");
    assert!(notes.contains("calibrated on 300 rows of fresh_kind.csv"), "{notes}");
    let after = csv(&text);
    let labels = ["low|er", "middle", "upper"];
    let mut inside = 0;
    for i in 0..after.rows.len() {
        let p = |c: &Csv| labels.map(|l| c.number(i, &format!("p_{l}")));
        let tempered = p(&before).map(|p| p.powf(1.0 / t));
        let sum: f64 = tempered.iter().sum();
        for (got, want) in p(&after).into_iter().zip(tempered) {
            // Nine digits of p, raised to 1/T, twice over by the sum.
            assert!((got - want / sum).abs() < 3e-8 / t.min(1.0), "{got} {want}");
        }
        let entropy: f64 = p(&after).iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        assert!((after.number(i, "entropy") - entropy).abs() < 1e-6);
        for name in ["predicted", "aleatoric_entropy", "mutual_information", "line", "kind"] {
            assert_eq!(after.text(i, name), before.text(i, name));
        }
        let set = after.text(i, "set_80");
        assert!(
            set.starts_with(&after.text(i, "predicted").replace('|', "\\|")),
            "never empty, the likeliest first: {set}"
        );
        inside += usize::from(set.split('|').any(|l| after.text(i, "kind").ends_with(l)));
    }
    // On the calibration rows themselves at least ceil(301 * 0.8) = 241 are inside.
    assert!(inside >= 241, "{inside}");
    ok(d, "calibrate run --alpha 0.3,0.1 --sets lac -q");
    let sets: serde_json::Value = serde_json::from_str(&ok(d, "evaluate run --json").0).expect("JSON");
    for name in ["nll", "ece_equal_mass", "set_coverage_70", "set_size_90"] {
        assert!(metric(&sets, 0, name)["calibrated"].is_number(), "{name}");
    }
    assert!(metric(&sets, 0, "mean_mutual_information")["calibrated"].is_null());
    let line = ok(d, "calibrate run --json -q").0;
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&line).expect("one line"),
        json(&d.join("run/calibration.json"))
    );
    ok(d, "predict run t_kind.csv -q --out p.csv");
    ok(d, "score p.csv");
}

#[test]
fn images_are_calibrated_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    ok(d, "fit digits --device cpu --limit 300 --epochs 4 --members 1 -q --out run");
    let (said, _) = ok(d, "calibrate run");
    assert!(said.contains("33 validation rows") && said.contains("temperature"), "{said}");
    let (text, _) = ok(d, "predict run digits --out -");
    assert!(text.lines().next().expect("a header").ends_with(",set_90"), "{text}");
    refused(d, "calibrate run --data digits", 2, &["digits: is what the run was trained on"]);
    for class in 0..2u8 {
        let folder = d.join("new").join(class.to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        for i in 0..12u8 {
            let pixel =
                |x: u32, y: u32| image::Luma([(x * 20) as u8 ^ (y * u32::from(i) * u32::from(class + 3)) as u8]);
            image::GrayImage::from_fn(8, 8, pixel).save(folder.join(format!("{i}.png"))).expect("a picture");
        }
    }
    let (said, _) = ok(d, "calibrate run --data new --sets lac");
    assert!(said.contains("24 rows of new") && said.contains("LAC"), "{said}");
    ok(d, "evaluate run --corrupt fog:1");
}

#[test]
fn what_is_refused_and_how() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t", 0, 120);
    rows(d, "fresh", 120, 160);
    const FAST: &str = "--device cpu --members 1 --epochs 3 -q";
    ok(d, &format!("fit t.csv {FAST} --test-file fresh.csv --out run"));
    ok(d, &format!("fit t.csv {FAST} --set data.validation_fraction=0 --out all"));
    let text = std::fs::read_to_string(d.join("t.csv")).expect("rows");
    std::fs::write(d.join("copy.csv"), &text).expect("written");
    std::fs::write(d.join("bare.csv"), "a,b\n1,2\n").expect("written");
    refused(d, "calibrate nowhere", 2, &["nowhere: does not exist", "vifo fit"]);
    refused(d, "calibrate run --alpha 1", 2, &["--alpha: 1", "0.0001 to 0.9999"]);
    refused(d, "calibrate run --alpha -0.5", 2, &["--alpha: -0.5"]);
    refused(d, "calibrate run --alpha few", 2, &["--alpha", "few"]);
    refused(d, "calibrate run --sets lac", 2, &["--sets", "predicts a number"]);
    refused(d, "calibrate run --sets raps", 2, &["aps, lac"]);
    refused(d, "calibrate all", 2, &["all: the run has no validation rows", "--data FILE"]);
    refused(d, "calibrate run --data t.csv", 2, &["t.csv: is what the run was trained on"]);
    refused(d, "calibrate run --data ./fresh.csv", 2, &["is the run's test set"]);
    refused(d, "calibrate all --data copy.csv", 2, &["copy.csv: 108 of its 120 rows are training rows"]);
    refused(d, "calibrate run --data nothing.csv", 1, &["nothing.csv"]);
    refused(d, "calibrate run --data bare.csv", 1, &["bare.csv", "y"]);
    refused(d, "calibrate run --device nosuch", 1, &["nosuch"]);
    assert!(!d.join("run/calibration.json").exists(), "a refusal stores nothing");
    // With few rows of its own in a file: told, not refused.
    let line = text.lines().nth(1).expect("a row");
    let fresh = std::fs::read_to_string(d.join("fresh.csv")).expect("rows");
    std::fs::write(d.join("mixed.csv"), format!("{fresh}{line}\n{line}\n")).expect("written");
    let (_, notes) = ok(d, "calibrate all --data mixed.csv");
    assert!(notes.contains("rows are t") && notes.contains("of 42"), "{notes}");
    // Without validation rows, fresh ones serve; then a damaged file, and another format.
    let good = std::fs::read_to_string(d.join("all/calibration.json")).expect("stored");
    std::fs::write(d.join("all/calibration.json"), &good[..good.len() / 2]).expect("written");
    refused(
        d,
        "predict all fresh.csv",
        1,
        &["all/calibration.json", "damaged", "vifo calibrate all", "--uncalibrated"],
    );
    ok(d, "predict all fresh.csv --uncalibrated -q");
    assert!(ok(d, "evaluate all").1.contains("calibration left out: all/calibration.json"));
    std::fs::write(d.join("all/calibration.json"), good.replacen("\"version\": 1", "\"version\": 7", 1))
        .expect("written");
    refused(d, "predict all fresh.csv", 1, &["format 7; allowed: format 1"]);
    // The data changed: its validation rows are not known any more. A copy of what it was is known by its values; of other rows
    // nothing can be told.
    std::fs::write(d.join("t.csv"), text.replacen("0.", "0.0", 1)).expect("written");
    refused(d, "calibrate run", 1, &["the data file has changed", "--data FILE"]);
    refused(d, "calibrate all --data copy.csv", 2, &["is what the run was trained on"]);
    assert!(ok(d, "calibrate all --data mixed.csv").1.contains("was not checked"));
    // No weights yet.
    std::fs::remove_file(d.join("all/checkpoints/best.safetensors")).expect("removed");
    refused(d, "calibrate all --data fresh.csv", 1, &["no trained weights yet", "vifo fit --resume all"]);
    refused(d, "predict all fresh.csv", 1, &["no trained weights yet"]);
}

/// A run that goes on is not the run that was calibrated; one that is merely finished again is.
#[test]
fn a_run_that_changes_loses_its_calibration() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t", 0, 120);
    let args = "fit t.csv --device cpu --members 2 --epochs 1500 --set train.patience=0 --set train.checkpoint_seconds=0 \
                --set train.evaluate_every=5 -q --out run";
    let mut child =
        vifo(d).args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("spawned");
    let start = Instant::now();
    while !d.join("run/checkpoints/last.safetensors").is_file() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    refused(d, "calibrate run", 1, &["another vifo is writing to it"]);
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(!d.join("run/report.html").is_file(), "the run came to its end: the test shows nothing");
    assert!(ok(d, "calibrate run").1.contains("training did not end"));
    ok(d, "predict run t.csv -q");
    ok(d, "fit --resume run -q");
    let stale = ["run/calibration.json", "the run has changed since", "vifo calibrate run", "--uncalibrated"];
    refused(d, "predict run t.csv", 1, &stale);
    let (table, notes) = ok(d, "evaluate run");
    assert!(!table.contains("calibrated") && notes.contains("calibration left out"), "{table}{notes}");
    let report = || std::fs::read_to_string(d.join("run/report.html")).expect("a report");
    assert!(!report().contains("<h2>Calibration</h2>"));
    ok(d, "calibrate run -q");
    let calibrated = ok(d, "predict run t.csv --out -").0;
    ok(d, "fit --resume run -q");
    assert_eq!(ok(d, "predict run t.csv --out -").0, calibrated);
    assert!(report().contains("<h2>Calibration</h2>"));
    let recipe = std::fs::read_to_string(d.join("run/recipe.toml")).expect("a recipe");
    std::fs::write(d.join("run/recipe.toml"), format!("# by hand\n{recipe}")).expect("written");
    refused(d, "predict run t.csv", 1, &["run/recipe.toml", "--accept-changed"]);
    refused(d, "predict run t.csv --accept-changed", 1, &stale);
}

/// Killed at any moment: what is stored is whole, the old or the new, and the next call works.
#[test]
fn a_kill_leaves_a_whole_calibration() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t", 0, 120);
    ok(d, "fit t.csv --device cpu --members 1 --epochs 3 -q --out run");
    let start = Instant::now();
    ok(d, "calibrate run --alpha 0.5 -q --device cpu");
    let whole = start.elapsed();
    let mut killed = 0;
    for i in 0..24u32 {
        let alpha = if i % 2 == 0 { "0.4" } else { "0.3" };
        let mut child = vifo(d)
            .args(["calibrate", "run", "-q", "--device", "cpu", "--alpha", alpha])
            .stderr(Stdio::null())
            .spawn()
            .expect("spawned");
        std::thread::sleep(whole * i / 20);
        let _ = child.kill();
        killed += usize::from(!child.wait().expect("gone").success());
        let stored = json(&d.join("run/calibration.json"));
        let alpha = stored["levels"][0]["alpha"].as_f64().expect("a number");
        assert!([0.5, 0.4, 0.3].contains(&alpha), "{alpha}");
    }
    assert!(killed > 0, "no kill came before the end: the test shows nothing");
    ok(d, "predict run t.csv -q");
    ok(d, "calibrate run -q");
    let report = std::fs::read_to_string(d.join("run/report.html")).expect("a report");
    assert!(report.contains("</html>") && report.matches("<h2>Calibration</h2>").count() == 1);
}

/// The data of a run that were moved: what is refused, by what name they go, and what is said of rows that nothing is known of.
#[test]
fn a1_the_training_rows_under_another_name_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t", 0, 200);
    rows(d, "fresh", 200, 300);
    ok(d, "fit t.csv --device cpu --members 1 --epochs 3 -q --out run");
    std::fs::rename(d.join("t.csv"), d.join("moved.csv")).expect("moved");
    refused(d, "calibrate run --data moved.csv", 2, &["moved.csv: is what the run was trained on"]);
    // The same values written in another way.
    let text = std::fs::read_to_string(d.join("moved.csv")).expect("rows");
    std::fs::write(d.join("moved.csv"), text.replace('\n', "\r\n")).expect("written");
    refused(d, "calibrate run --data moved.csv", 2, &["moved.csv: is what the run was trained on"]);
    for verb in ["calibrate run", "predict run fresh.csv --explain"] {
        refused(d, verb, 1, &["t.csv: the data of the run run is not there", "; move it back to that path"]);
        assert!(!err(&run(d, verb)).contains("--data"), "{verb}");
    }
    refused(d, "evaluate run", 1, &["say where it is with --data FILE, or move it back to that path"]);
    let (_, notes) = ok(d, "calibrate run --data fresh.csv");
    assert_eq!(notes.matches("was not checked").count(), 1, "{notes}");
    let (_, notes) = ok(d, "predict run fresh.csv --out p.csv");
    assert_eq!(notes.matches("was not checked").count(), 1, "{notes}");
    // The run elsewhere: where its data would be found is named.
    std::fs::create_dir(d.join("other")).expect("made");
    std::fs::rename(d.join("run"), d.join("other/run")).expect("moved");
    refused(d, "calibrate other/run", 1, &["move it back to that path, or to ", "other/t.csv"]);
    std::fs::rename(d.join("moved.csv"), d.join("other/t.csv")).expect("moved");
    ok(d, "calibrate other/run -q");
}
