//! `--variant`: several settings trained in one run, of which the one with the best out-of-fold NLL is kept.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn vifo(dir: &Path, args: &[&str]) -> Command {
    let mut vifo = Command::new(env!("CARGO_BIN_EXE_vifo"));
    vifo.current_dir(dir).env("NODEVICE_SELECT", "1").args(args);
    vifo
}

/// `args` with blanks between; the variants each as one argument.
fn with<'a>(args: &'a str, variants: &[&'a str]) -> Vec<&'a str> {
    args.split(' ').chain(variants.iter().flat_map(|v| ["--variant", *v])).collect()
}

fn run(dir: &Path, args: &[&str]) -> Output {
    vifo(dir, args).output().expect("the binary runs")
}

#[track_caller]
fn ok(dir: &Path, args: &[&str]) -> String {
    let out = run(dir, args);
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(out.status.success(), "vifo {args:?}: {said}");
    said
}

fn table(dir: &Path) {
    let row = |i: u32| format!("{},{}\n", f64::from(i) * 0.05, 0.1 * f64::from(i) + (f64::from(i) * 12.9898).sin());
    std::fs::write(dir.join("t.csv"), "x,y\n".to_string() + &(0..120).map(row).collect::<String>()).expect("written");
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

const ABSURD: &str = "method.eta=50000";
const GOOD: &str = "net.dropout=0.1, train.lr=0.02";
const FIT: &str = "fit t.csv --holdout own --members 4 --epochs 40 --device cpu --baseline off";

/// The run of the winner is the run that its keys make without variants: predictions, weights, out-of-fold predictions.
#[test]
fn the_kept_run_is_that_of_the_winner() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let said = ok(d, &with(&format!("{FIT} --out run"), &[ABSURD, GOOD]));
    assert!(said.contains(&format!("chose {GOOD} of 2 variants")) && said.contains(ABSURD), "{said}");
    ok(d, &with(&format!("{FIT} --set net.dropout=0.1 --lr 0.02 --out plain"), &[]));
    for file in ["predictions.csv", "out_of_fold.csv"] {
        assert_eq!(read(d.join("run").join(file)), read(d.join("plain").join(file)), "{file}");
    }
    let (ours, plain) = (json(&d.join("run/results.json")), json(&d.join("plain/results.json")));
    assert_eq!(ours["metrics"], plain["metrics"]);
    assert!(plain.get("variants").is_none());
    let variants = ours["variants"].as_array().expect("variants");
    let out_of_fold = json(&d.join("run/out_of_fold.json"));
    assert_eq!((variants.len(), &out_of_fold["variants"]), (2, &ours["variants"]));
    assert_eq!((&variants[0]["keys"], &variants[1]["keys"]), (&ABSURD.into(), &GOOD.into()));
    assert_eq!((&variants[0]["chosen"], &variants[1]["chosen"]), (&false.into(), &true.into()));
    // The NLL of the table is that of the file of out-of-fold predictions.
    let nll = out_of_fold["metrics"].as_array().expect("metrics").iter().find(|m| m["name"] == "nll").expect("nll");
    let (nll, said) = (nll["value"].as_f64().expect("a number"), variants[1]["nll"].as_f64().expect("a number"));
    // Targets are f32 in the table, of size 2 in units of their sd: 2^-24 of that, times a slope of the log density below 8.
    assert!((nll - said).abs() < 1e-6, "{nll}, {said}");
    let report = String::from_utf8(read(d.join("run/report.html"))).expect("a report");
    assert!(report.contains("<h2>Variants</h2>") && report.contains(ABSURD), "the report lists the variants");

    // Everything that reads the run reads the winner.
    let both = |args: &str| ["run", "plain"].map(|run| ok(d, &with(&args.replace("RUN", run), &[])));
    both("predict RUN t.csv --device cpu --out RUN.csv");
    assert_eq!(read(d.join("run.csv")), read(d.join("plain.csv")));
    both("export RUN RUN.safetensors");
    assert_eq!(read(d.join("run.safetensors")), read(d.join("plain.safetensors")));
    let before = read(d.join("run/predictions.csv"));
    both("calibrate RUN --device cpu");
    both("evaluate RUN --device cpu");
    both("predict RUN t.csv --device cpu --out RUN-calibrated.csv");
    assert_eq!(read(d.join("run-calibrated.csv")), read(d.join("plain-calibrated.csv")));
    ok(d, &with("compare run plain", &[]));

    // A finished run that is resumed says the same again; its recipe repeats it.
    let said = ok(d, &with("fit --resume run", &[]));
    assert!(said.contains(&format!("chose {GOOD} of 2 variants")), "{said}");
    assert_eq!(read(d.join("run/predictions.csv")), before);
    ok(d, &with("fit run/recipe.toml --out again", &[]));
    assert_eq!(read(d.join("again/predictions.csv")), before);
    assert_eq!(json(&d.join("again/results.json"))["variants"], ours["variants"]);

    // Weights whose variant the recipe does not have are refused.
    let recipe = String::from_utf8(read(d.join("run/recipe.toml"))).expect("text").replace("0.02", "0.03");
    std::fs::write(d.join("run/recipe.toml"), recipe).expect("written");
    let out = run(d, &with("predict run t.csv --accept-changed --device cpu", &[]));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("is none of them"), "{said}");
}

fn wait_for(what: &str, child: &mut Child, there: impl Fn() -> bool) {
    let started = Instant::now();
    while !there() {
        assert!(child.try_wait().expect("asked").is_none(), "ended before {what}");
        assert!(started.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Killed in the middle and resumed: the choice, the predictions and the weights are those of a run that was left alone.
#[test]
fn a_killed_run_goes_on_to_the_same_choice() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let long = "fit t.csv --holdout own --members 3 --epochs 1500 --hidden 24 --device cpu --baseline off -q \
                --set train.patience=1500 --set train.checkpoint_seconds=0.05";
    let variants = ["net.dropout=0.2", "net.dropout=0", "train.lr=1e-5"];
    ok(d, &with(&format!("{long} --out whole"), &variants));
    let mut child = vifo(d, &with(&format!("{long} --out cut"), &variants));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("spawned");
    wait_for("a checkpoint", &mut child, || d.join("cut/checkpoints/last.safetensors").is_file());
    std::thread::sleep(Duration::from_millis(200));
    child.kill().expect("killed");
    assert!(!child.wait().expect("gone").success(), "the run ended before the kill: the test shows nothing");
    // What leads so far predicts meanwhile.
    assert!(ok(d, &with("predict cut t.csv --device cpu --out cut.csv", &[])).contains("training did not end"));
    assert!(!d.join("cut/results.json").exists());
    ok(d, &with("fit --resume cut -q", &[]));
    for file in ["predictions.csv", "out_of_fold.csv", "results.json", "out_of_fold.json"] {
        assert_eq!(read(d.join("cut").join(file)), read(d.join("whole").join(file)), "{file}");
    }
    for run in ["cut", "whole"] {
        ok(d, &with(&format!("export {run} {run}.safetensors"), &[]));
    }
    assert_eq!(read(d.join("cut.safetensors")), read(d.join("whole.safetensors")));
}

#[test]
fn what_is_no_variant_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let own = "fit t.csv --holdout own";
    for (args, variants, says) in [
        (own, &["net.dropout=0"][..], "train.variants: one variant; allowed: two or more"),
        ("fit t.csv --holdout shared", &["net.dropout=0", "net.dropout=0.1"], "without out-of-fold rows to choose by"),
        (own, &["net.dropout=0", "net.dropuot=0.1"], "variant 2: net.dropuot: no such key; did you mean net.dropout"),
        (own, &["net.dropout=0", "net.dropout=2"], "variant 2: net.dropout: 2 is not allowed"),
        (own, &["net.dropout=0", "net.dropout"], "variant 2: \"net.dropout\"; allowed: KEY=VALUE"),
        (own, &["net.dropout=0", "net.hidden=[9]"], "variant 2: \"net.hidden=[9]\" changes the weights of the network"),
        (own, &["net.dropout=0", "data.split=1"], "variant 2: data.split: is the same for all variants"),
        (own, &["net.dropout=0", "net.dropout=0.0"], "is the same training as variant 1"),
        (own, &["method.eta=1", "method.eta_aux=1, method.name=base"], "eta_aux needs a regularizer on the outputs"),
    ] {
        let out = run(d, &with(&format!("{args} --device cpu --out no"), variants));
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{variants:?}: {said}");
        let line = said.lines().find(|line| line.contains(says));
        assert!(line.is_some() && !d.join("no").exists(), "{variants:?}: {said}");
    }
}
