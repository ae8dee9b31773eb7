//! `vifo compare` on runs of two methods and two seeds: its arithmetic is done again from their results.json.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::path::Path;

fn vifo(dir: &Path) -> Command {
    let mut c = Command::cargo_bin("vifo").unwrap();
    c.current_dir(dir);
    c
}

fn fit(dir: &Path, method: &str, seed: u32) {
    let mut c = vifo(dir);
    c.args(["fit", "sinusoid", "--method", method, "--members", "1", "--eta-aux", "0", "--epochs", "30"]);
    let out = format!("runs/{method}-{seed}");
    c.args(["--seed", &seed.to_string(), "--device", "cpu", "-q", "--out", &out]);
    c.assert().success();
}

/// Four runs in runs/.
fn runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for method in ["base", "vifo-mean"] {
        for seed in [1, 2] {
            fit(dir.path(), method, seed);
        }
    }
    dir
}

fn json(dir: &Path, args: &[&str]) -> serde_json::Value {
    let out = vifo(dir).arg("compare").args(args).arg("--json").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn text(dir: &Path, args: &[&str]) -> String {
    let out = vifo(dir).arg("compare").args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// name -> (value, better) of one run.
fn results(dir: &Path, run: &str) -> BTreeMap<String, (f64, String)> {
    let text = std::fs::read_to_string(dir.join("runs").join(run).join("results.json")).unwrap();
    let v: serde_json::Value = serde_json::from_str(&text).unwrap();
    let one = |m: &serde_json::Value| {
        let name = m["name"].as_str().unwrap().to_string();
        (name, (m["value"].as_f64().unwrap(), m["better"].as_str().unwrap().to_string()))
    };
    v["metrics"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn means_sds_stars_and_win_rates_are_those_of_the_results() {
    let dir = runs();
    let v = json(dir.path(), &["runs"]);
    let groups = v["blocks"][0]["groups"].as_array().unwrap();
    assert_eq!((v["blocks"].as_array().unwrap().len(), groups.len()), (1, 2));
    let run = |method: &str, seed: u32| results(dir.path(), &format!("{method}-{seed}"));
    let methods = ["base", "vifo-mean"];
    for (c, column) in v["metrics"].as_array().unwrap().iter().enumerate() {
        let name = column["name"].as_str().unwrap();
        let mut means = vec![];
        for (g, method) in groups.iter().zip(methods) {
            assert_eq!(g["label"], method);
            let (a, b) = (run(method, 1)[name].0, run(method, 2)[name].0);
            let s = &g["metrics"][c];
            // Of two numbers: sd with n - 1 is |a - b| / sqrt 2.
            let (mean, sd) = ((a + b) / 2.0, (a - b).abs() / 2f64.sqrt());
            for (found, want) in [(&s["mean"], mean), (&s["sd"], sd)] {
                let found = found.as_f64().unwrap();
                assert!((found - want).abs() <= 1e-12 * a.abs().max(1.0), "{method} {name}: {found}, want {want}");
            }
            assert_eq!(s["n"], 2);
            means.push(mean);
        }
        let best = |i: usize| match column["better"].as_str().unwrap() {
            "lower" => means[i] <= means[1 - i],
            "higher" => means[i] >= means[1 - i],
            _ => false,
        };
        for (i, group) in groups.iter().enumerate() {
            assert_eq!(group["metrics"][c]["best"], best(i), "{name}");
        }
    }
    let (mut won, mut cells) = (0.0, 0.0);
    for seed in [1, 2] {
        let (a, b) = (run("base", seed), run("vifo-mean", seed));
        for (name, (x, better)) in a.iter().filter(|(_, (_, better))| better != "neither") {
            let y = b[name].0;
            cells += 1.0;
            let wins = if better == "lower" { *x < y } else { *x > y };
            won += if *x == y { 0.5 } else { f64::from(u8::from(wins)) };
        }
    }
    // rmse, nll, crps of two seeds.
    assert_eq!(cells, 6.0);
    assert_eq!(v["wins"]["overall"][0].as_f64(), Some(won / cells));
    assert_eq!(v["wins"]["against"][0][1].as_f64(), Some(won / cells));
    assert_eq!(v["wins"]["against"][1][0].as_f64(), Some(1.0 - won / cells));
    assert_eq!(groups[1]["wins"].as_f64(), Some(1.0 - won / cells));
}

#[test]
fn labels_tell_apart_blocks_part_data_and_one_run_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    for (recipe, members, out) in
        [("sinusoid", "1", "a"), ("sinusoid", "2", "b"), ("cubic", "1", "c"), ("cubic", "2", "d")]
    {
        let args = ["--members", members, "--epochs", "10", "--device", "cpu", "-q", "--out", out, "--eta-aux", "0"];
        vifo(dir.path()).args(["fit", recipe, "--method", "vifo-mean"]).args(args).assert().success();
    }
    let v = json(dir.path(), &["a", "b", "c", "d"]);
    let label = |b: usize, g: usize| v["blocks"][b]["groups"][g]["label"].as_str().unwrap().to_string();
    assert_eq!([label(0, 0), label(0, 1)], ["vifo-mean members=1", "vifo-mean members=2"]);
    assert_eq!([label(1, 0), label(1, 1)], ["vifo-mean members=1", "vifo-mean members=2"]);
    assert_eq!([&v["blocks"][0]["data"], &v["blocks"][1]["data"]], ["sinusoid", "cubic"]);
    // Settings that vary with the data set alone do not split a method: two labels, not four.
    assert_eq!(v["wins"]["labels"].as_array().unwrap().len(), 2);
    let rates = |i: usize, j: usize| v["wins"]["against"][i][j].as_f64().unwrap();
    assert_eq!(rates(0, 1) + rates(1, 0), 1.0);
    let shown = text(dir.path(), &["a", "--metric", "nll"]);
    assert!(!shown.contains('±') && !shown.contains("wins") && !shown.contains('*'), "{shown}");
}

#[test]
fn all_formats_and_the_folder() {
    let dir = runs();
    for (format, parts) in [
        ("text", vec!["method", "nll [nats] ↓", " ± ", "*", "wins", "vifo-mean"]),
        ("markdown", vec!["| method", "---", " ± ", "### "]),
        ("latex", vec!["\\begin{tabular}{lrrrr}", "$\\pm$", "\\end{tabular}"]),
        (
            "csv",
            vec![
                "data,method,n,wins,nll_mean,nll_sd,nll_se,nll_low_95,nll_high_95,rmse_mean,rmse_sd,",
                "sinusoid,base,2,",
            ],
        ),
    ] {
        let shown = text(dir.path(), &["runs", "--metric", "nll", "--metric", "rmse", "--format", format]);
        for part in parts {
            assert!(shown.contains(part), "{format}: {part} is not in\n{shown}");
        }
    }
    // A rule without a hyphen in every cell is no Markdown table.
    let markdown = text(dir.path(), &["runs", "--format", "markdown"]);
    let rules: Vec<&str> = markdown.lines().filter(|l| l.starts_with("| --")).collect();
    assert!(
        rules.len() == 2 && rules.iter().all(|r| r.trim_matches('|').split('|').all(|c| c.contains('-'))),
        "{rules:?}"
    );
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
    let shown = text(dir.path(), &["runs", "--out", "o"]);
    let file = |name: &str| std::fs::read_to_string(dir.path().join("o").join(name)).unwrap();
    assert_eq!(file("comparison.txt").trim_end(), shown.trim_end());
    for name in ["comparison.md", "comparison.tex", "comparison.csv"] {
        assert!(file(name).contains("vifo-mean"), "{name}");
    }
    let svg = file("curves.svg");
    assert!(svg.contains("vifo-mean") && svg.contains("shaded: mean"), "two seeds make a band");
    assert!(dir.path().join("o/curves.png").is_file());
    assert!(file("curves.csv").starts_with("series,x: ") && file("curves.csv").contains("vifo-mean"));
}

#[test]
fn what_is_no_finished_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fit(dir.path(), "base", 1);
    fit(dir.path(), "base", 2);
    std::fs::remove_file(dir.path().join("runs/base-2/results.json")).unwrap();
    let out = vifo(dir.path()).args(["compare", "runs"]).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && err.contains("runs/base-2 skipped: it has no results.json"), "{err}");
    let out = vifo(dir.path()).args(["compare", "runs/base-2"]).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && err.starts_with("error: runs/base-2: no finished run"), "{err}");
    // The same folder twice is one run; the same experiment twice counts once.
    assert_eq!(
        json(dir.path(), &["runs", "runs/base-1"])["blocks"][0]["groups"][0]["runs"].as_array().unwrap().len(),
        1
    );
    std::fs::rename(dir.path().join("runs/base-2"), dir.path().join("old")).unwrap();
    let args = [
        "fit",
        "sinusoid",
        "--method",
        "base",
        "--members",
        "1",
        "--eta-aux",
        "0",
        "--epochs",
        "30",
        "--device",
        "cpu",
        "-q",
    ];
    vifo(dir.path()).args(args).args(["--seed", "1", "--out", "runs/again"]).assert().success();
    let v = json(dir.path(), &["runs"]);
    assert!(v["notes"][0].as_str().unwrap().contains("the same recipe, data, seed and split"), "{v}");
    assert_eq!(v["blocks"][0]["groups"][0]["metrics"][0]["n"], 1);
}

#[test]
fn a3_runs_are_of_the_same_data_by_its_values() {
    let dir = tempfile::tempdir().unwrap();
    let row = |i: u32, sep: &str, end: &str| format!("{}{sep}{i}{end}", f64::from(i) / 4.0);
    let plain = (0..60).map(|i| row(i, ",", "\n")).collect::<String>();
    // Other delimiter, line ends and digits, another name and place: the same numbers.
    let other = (0..60).map(|i| format!("{:.6}{}{i}.0\r\n", f64::from(i) / 4.0, ';')).collect::<String>();
    let changed = plain.replacen("0,0", "0,1", 1);
    std::fs::create_dir(dir.path().join("else")).unwrap();
    for (file, text) in [
        ("a.csv", "x,y\n".to_string() + &plain),
        ("else/b.txt", "x;y\r\n".to_string() + &other),
        ("c.csv", "x,y\n".to_string() + &changed),
    ] {
        std::fs::write(dir.path().join(file), text).unwrap();
    }
    for (file, seed, out) in [("a.csv", "1", "a"), ("else/b.txt", "2", "b"), ("c.csv", "1", "c")] {
        let args = ["--method", "base", "--members", "1", "--eta-aux", "0", "--epochs", "5", "--device", "cpu", "-q"];
        let mut c = vifo(dir.path());
        c.args(["fit", file, "--target", "y", "--seed", seed, "--out", out]).args(args).assert().success();
    }
    let v = json(dir.path(), &["a", "b"]);
    assert_eq!(v["blocks"].as_array().unwrap().len(), 1, "{v}");
    assert_eq!(v["blocks"][0]["groups"][0]["runs"].as_array().unwrap().len(), 2);
    assert_eq!(json(dir.path(), &["a", "c"])["blocks"].as_array().unwrap().len(), 2);
    // A run is evaluated on its own rows after its file was written anew, and not after a value was changed.
    std::fs::copy(dir.path().join("else/b.txt"), dir.path().join("a.csv")).unwrap();
    vifo(dir.path()).args(["evaluate", "a"]).assert().success();
    std::fs::copy(dir.path().join("c.csv"), dir.path().join("a.csv")).unwrap();
    let out = vifo(dir.path()).args(["evaluate", "a"]).output().unwrap();
    assert!(String::from_utf8_lossy(&out.stderr).contains("has changed"), "{out:?}");
    // The training rows under another name are no test.
    let out = vifo(dir.path()).args(["evaluate", "b", "--test", "else/b.txt"]).output().unwrap();
    let copy = dir.path().join("copy.csv");
    std::fs::copy(dir.path().join("else/b.txt"), &copy).unwrap();
    let again = vifo(dir.path()).args(["evaluate", "b", "--test", "copy.csv"]).output().unwrap();
    for out in [out, again] {
        let err = String::from_utf8_lossy(&out.stderr).to_string();
        assert!(out.status.success() && err.contains("training rows of the run"), "{err}");
    }
}

#[test]
fn a_spread_is_chosen_and_tags_and_notes_are_told() {
    let dir = runs();
    let v = json(dir.path(), &["runs", "--metric", "nll"]);
    let s = &v["blocks"][0]["groups"][0]["metrics"][0];
    let number = |key: &str| s[key].as_f64().unwrap();
    // Two seeds: the error is the sd over the root of 2, and t with one degree of freedom is 12.706205.
    let error = number("sd") / 2f64.sqrt();
    assert!((number("standard_error") - error).abs() < 1e-12);
    let low = number("mean") - 12.706_205 * error;
    assert!((s["interval"][0].as_f64().unwrap() - low).abs() < 1e-9);
    std::fs::write(dir.path().join("runs/base-1/notes.toml"), "tags = [\"paper\"]\nnote = \"the first\"\n").unwrap();
    let out = vifo(dir.path()).args(["compare", "runs", "--metric", "nll", "--spread", "interval"]).output().unwrap();
    let (shown, told) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert!(shown.contains(" to ") && !shown.contains('±'), "{shown}");
    assert!(told.contains("note: runs/base-1: [paper] the first"), "{told}");
}

#[test]
fn a_finished_run_goes_on_for_more_epochs_and_one_that_is_not_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    fit(dir.path(), "base", 1);
    let run = dir.path().join("runs/base-1");
    let last = || {
        let text = std::fs::read_to_string(run.join("metrics.csv")).unwrap();
        text.lines().last().and_then(|l| l.split(',').next()).and_then(|epoch| epoch.parse::<u64>().ok())
    };
    assert_eq!(last(), Some(30));
    vifo(dir.path()).args(["fit", "--resume", "runs/base-1", "--more", "7", "-q"]).assert().success();
    assert_eq!(last(), Some(37));
    let manifest = std::fs::read_to_string(run.join("manifest.json")).unwrap();
    let v: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!((v["epochs_before"].as_u64(), v["state"].as_str()), (Some(30), Some("finished")));
    let refused = |args: &[&str]| {
        let out = vifo(dir.path()).args(["fit", "--resume", "runs/base-1"]).args(args).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (code, said) = refused(&["--more", "0"]);
    assert!(code == Some(2) && said.contains("0 epochs") && last() == Some(37), "{said}");
    // Nothing was changed by it: it still says that it has come to its end.
    assert_eq!(std::fs::read_to_string(run.join("manifest.json")).unwrap(), manifest);
}
