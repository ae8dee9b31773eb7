//! `vifo fit`, `predict`, `evaluate` and `demo` as a user runs them: the real binary in a temporary folder.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn vifo(dir: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1");
    c
}

/// Runs to success; returns stdout.
fn ok(dir: &Path, args: &str) -> String {
    let out = vifo(dir).args(args.split_whitespace()).output().expect("the binary runs");
    assert!(out.status.success(), "vifo {args}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("UTF-8")
}

/// 120 rows of y = 3 a - 2 b + level + a little deterministic noise, with a text column.
fn table(dir: &Path) {
    let mut text = String::from("a,b,kind,y\n");
    for i in 0..120 {
        let (a, b) = ((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos());
        let kind = ["red", "green", "blue"][i % 3];
        let y = 3.0 * a - 2.0 * b + (i % 3) as f64 + 0.1 * (i as f64 * 12.9898).sin();
        text += &format!("{a},{b},{kind},{y}\n");
    }
    std::fs::write(dir.join("t.csv"), text).expect("written");
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

const LONG: &str = "fit t.csv --device cpu --members 3 --epochs 1500 --set train.patience=0 --set train.checkpoint_seconds=0 \
                    --set train.evaluate_every=5 -q";

/// Waits until the run has written a checkpoint and some epochs more.
fn wait_for_checkpoint(run: &Path) {
    let start = Instant::now();
    while !run.join("checkpoints/last.safetensors").is_file() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(60));
}

/// Killed without warning, resumed on another number of threads: predictions and results are those of the unbroken run.
#[test]
fn a_killed_run_resumes_to_the_bit() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    ok(d, &format!("{LONG} --out whole"));
    let mut killed_midway = false;
    for threads in [1, 2] {
        let name = format!("broken{threads}");
        let args = format!("--threads {threads} {LONG} --out {name}");
        let mut child =
            vifo(d).args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("spawned");
        wait_for_checkpoint(&d.join(&name));
        child.kill().expect("killed");
        child.wait().expect("gone");
        killed_midway |= !d.join(&name).join("report.html").is_file();
        ok(d, &format!("--threads {} fit --resume {name} -q", 3 - threads));
        for file in ["predictions.csv", "results.json"] {
            assert_eq!(read(&d.join("whole").join(file)), read(&d.join(&name).join(file)), "{name}/{file}");
        }
    }
    assert!(killed_midway, "no run was killed before its end: the test shows nothing");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_with_a_checkpoint() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let args = LONG.replace("1500", "30000000");
    let child = vifo(d)
        .args(format!("{args} --out run").replace(" -q", "").split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("spawned");
    wait_for_checkpoint(&d.join("run"));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let out = child.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(130), "{err}");
    assert!(err.contains("vifo fit --resume run"), "{err}");
    assert!(String::from_utf8_lossy(&read(&d.join("run/manifest.json"))).contains("\"stopped\""));
}

#[test]
fn a_run_folder_holds_what_it_promises_and_predicts_anew() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let out = ok(d, "fit t.csv --device cpu --epochs 60 --out run");
    for word in ["rmse", "nll", "crps", "coverage_90", "least squares", "mean baseline", "vifo predict run"] {
        assert!(out.contains(word), "{word} is not in {out}");
    }
    for file in [
        "recipe.toml",
        "manifest.json",
        "encoder.json",
        "metrics.csv",
        "predictions.csv",
        "results.json",
        "report.html",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
        "figures/coverage.png",
        "figures/coverage.svg",
        "figures/coverage.csv",
        "figures/predicted.png",
        "figures/learning_curves.png",
    ] {
        assert!(d.join("run").join(file).is_file(), "{file}");
    }
    let report = String::from_utf8(read(&d.join("run/report.html"))).expect("UTF-8");
    assert!(
        report.contains("<svg") && !report.contains("http:") || report.contains("http://www.w3.org"),
        "figures inlined"
    );
    // Columns in another order, no target, one row: the same prediction as in the file with all rows.
    std::fs::write(d.join("new.csv"), "kind,b,a\ngreen,0.5,-0.25\n").expect("written");
    std::fs::write(d.join("two.csv"), "a,b,kind\n0.9,0.1,red\n-0.25,0.5,green\n").expect("written");
    let one = ok(d, "predict run new.csv --out -");
    let two = ok(d, "predict run two.csv --out -");
    let row = |text: &str, i: usize| text.lines().nth(i).expect("a row").split_once(',').expect("cells").1.to_string();
    assert_eq!(row(&one, 1), row(&two, 2));
    assert!(one.starts_with("line,mean,sd,aleatoric_sd,epistemic_sd,q2.5,q5,q25,q50,q75,q95,q97.5\n"), "{one}");
    let v: Vec<f64> = row(&one, 1).split(',').map(|c| c.parse().expect("a number")).collect();
    // Nine digits are written.
    assert!((v[1] * v[1] - v[2] * v[2] - v[3] * v[3]).abs() < 1e-7 * v[1] * v[1], "variance is the sum of its parts");
    assert!(v[4..].windows(2).all(|w| w[0] < w[1]), "quantiles rise: {v:?}");
    ok(d, "predict run t.csv -q");
    assert!(d.join("run/predictions-t.csv").is_file());
    // The recipe repeats the run.
    ok(d, "fit run/recipe.toml --out again -q");
    assert_eq!(read(&d.join("run/predictions.csv")), read(&d.join("again/predictions.csv")));
}

#[test]
fn evaluate_tells_far_rows_from_near_ones() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    ok(d, "fit moons --device cpu --out moons -q");
    let far: String = (0..50).map(|i| format!("{},{}\n", 3.0 + i as f64 * 0.01, -2.5 + i as f64 * 0.02)).collect();
    std::fs::write(d.join("far.csv"), format!("x1,x2\n{far}")).expect("written");
    let out = ok(d, "evaluate moons --ood far.csv --json");
    let sets: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let value = |set: usize, name: &str| {
        let metrics = sets[set]["metrics"].as_array().expect("metrics");
        metrics.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("{name}"))["value"]
            .as_f64()
            .expect("a number")
    };
    assert_eq!((sets[0]["set"].as_str(), sets[1]["set"].as_str()), (Some("test"), Some("ood")));
    assert!(value(0, "accuracy") > 0.97);
    assert!(value(1, "auroc_entropy") > 0.9, "{}", value(1, "auroc_entropy"));
    assert!(d.join("moons/figures/ood_roc.png").is_file() && d.join("moons/figures/ood_uncertainty.svg").is_file());
}

#[test]
fn json_is_one_object_a_line_and_quiet_says_only_results() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let out = ok(d, "fit t.csv --device cpu --epochs 3 --json --out a");
    let events: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(events[0]["event"], "started");
    assert_eq!(events.iter().filter(|e| e["event"] == "epoch").count(), 3);
    let last = events.last().expect("a line");
    assert_eq!(last["event"], "finished");
    assert!(last["results"]["metrics"][0]["value"].is_number());
    let quiet = vifo(d).args("fit t.csv --device cpu --epochs 3 -q --out b".split(' ')).output().expect("runs");
    assert!(quiet.stderr.is_empty(), "{}", String::from_utf8_lossy(&quiet.stderr));
}

/// The same numbers on the shaders, within what three hundred f32 steps may drift: figures of merit agree to a few percent.
#[test]
fn the_software_adapter_trains_the_same_network() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let rmse = |device: &str| {
        ok(d, &format!("fit t.csv --device {device} --epochs 40 --members 2 --json --out {device}"))
            .lines()
            .last()
            .and_then(|l| serde_json::from_str::<serde_json::Value>(l).ok())
            .and_then(|v| v["results"]["metrics"][0]["value"].as_f64())
            .expect("an RMSE")
    };
    let (cpu, gpu) = (rmse("cpu"), rmse("software"));
    assert!((cpu - gpu).abs() < 0.05 * cpu, "{cpu} on the CPU, {gpu} on the software adapter");
}

/// An output that is the input, a pipe, a link, a skipped row, a row beyond the training range.
#[test]
fn predict_spares_what_is_not_its_own() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    ok(d, "fit t.csv --device cpu --epochs 3 -q --out run");
    let before = read(&d.join("t.csv"));
    let out = vifo(d).args("predict run t.csv --out t.csv".split(' ')).output().expect("runs");
    assert_eq!((out.status.code(), read(&d.join("t.csv"))), (Some(2), before));
    std::fs::write(d.join("real.csv"), "old").expect("written");
    std::os::unix::fs::symlink("real.csv", d.join("link.csv")).expect("a link");
    ok(d, "predict run t.csv -q --out link.csv");
    assert!(d.join("link.csv").is_symlink() && read(&d.join("real.csv")).starts_with(b"line,"));
    ok(d, "predict run t.csv -q --out /dev/null");
    assert!(!Path::new("/dev/null").is_file(), "a device stays one");
    std::fs::write(d.join("far.csv"), "a,b,kind\n1e6,0,red\n0,0,red\n").expect("written");
    let far = vifo(d).args("predict run far.csv".split(' ')).output().expect("runs");
    let err = String::from_utf8_lossy(&far.stderr).to_string();
    assert!(err.contains("1 of 2 rows lies outside the training range of a"), "{err}");
    // Trained with a title line; a file without one must not lose its first row in silence.
    let titled = String::from_utf8(read(&d.join("t.csv"))).expect("UTF-8").replacen("a,b,kind,y", "title,,,", 1);
    std::fs::write(d.join("titled.csv"), &titled).expect("written");
    std::fs::write(d.join("plain.csv"), titled.split_once('\n').expect("lines").1).expect("written");
    ok(d, "fit titled.csv --skip-lines 1 --device cpu --epochs 3 -q --out titled");
    let lost = vifo(d).args("predict titled plain.csv".split(' ')).output().expect("runs");
    assert_eq!(lost.status.code(), Some(1), "{}", String::from_utf8_lossy(&lost.stderr));
    assert!(String::from_utf8_lossy(&lost.stderr).contains("--skip-lines 0"));
    assert!(ok(d, "predict titled plain.csv --skip-lines 0").starts_with("120 predictions"));
}

#[test]
fn evaluate_notices_that_the_data_changed() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    ok(d, "fit t.csv --device cpu --epochs 3 -q --out run");
    ok(d, "evaluate run");
    let text = String::from_utf8(read(&d.join("t.csv"))).expect("UTF-8");
    std::fs::write(d.join("t.csv"), text.replacen("red", "blue", 1)).expect("written");
    let out = vifo(d).args(["evaluate", "run"]).output().expect("runs");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert!(out.status.code() == Some(1) && err.contains("the data file has changed"), "{err}");
}

/// Runs started side by side get folders of their own; one folder has one writer.
#[test]
fn runs_side_by_side_do_not_meet() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let spawn = |args: &str| {
        vifo(d).args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("spawned")
    };
    let all: Vec<_> = (0..3).map(|s| spawn(&format!("fit t.csv --device cpu --epochs 50 -q --seed {s}"))).collect();
    for child in all {
        let out = child.wait_with_output().expect("an end");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    for name in ["t", "t-2", "t-3"] {
        assert!(d.join("runs").join(name).join("report.html").is_file(), "{name}");
    }
    let mut long = spawn(&format!("{} --out busy", LONG.replace("1500", "30000000")));
    wait_for_checkpoint(&d.join("busy"));
    for args in ["fit t.csv --device cpu --epochs 3 -q --out busy --force", "fit --resume busy -q"] {
        let out = vifo(d).args(args.split(' ')).output().expect("runs");
        let err = String::from_utf8_lossy(&out.stderr).to_string();
        assert!(out.status.code() == Some(1) && err.contains("another vifo is writing"), "{err}");
    }
    long.kill().expect("killed");
    long.wait().expect("gone");
}

#[test]
fn flags_without_effect_are_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let said =
        |args: &str| String::from_utf8_lossy(&vifo(d).args(args.split(' ')).output().expect("runs").stderr).to_string();
    assert!(said("fit t.csv --method base --eta 0.5 --dry-run").contains("note: --eta has no effect with base"));
    let by_key = said("fit t.csv --method base --set method.eta=0.5 --dry-run");
    assert!(by_key.contains("note: method.eta has no effect with base"), "{by_key}");
    // The toy asks for auxiliary inputs, which the method in VIFO's place has not; asked for by a flag they are refused.
    assert_eq!(said("fit moons --method laplace --dry-run"), "");
    assert!(said("fit moons --method laplace --eta-aux 1 --dry-run").contains("method.eta_aux needs a regularizer"));
    assert!(said("fit t.csv --set data.rows=50 --dry-run").contains("data.rows has no effect"));
    assert!(said("fit t.csv --set swag.columns=9 --dry-run").contains("swag.columns has no effect with vifo-mean"));
    assert!(said("fit t.csv --set train.swa_start=9 --dry-run").contains("train.swa_start has no effect"));
    assert!(!said("fit t.csv --method swag --set swag.columns=9 --dry-run").contains("no effect"));
    assert!(!said("fit t.csv --method laplace --set laplace.structure=full --dry-run").contains("no effect"));
    assert!(!said("fit t.csv --method dropout --set net.dropout=0.2 --dry-run").contains("no effect"));
    assert!(said("fit --resume run --epochs 60").contains("cannot be used with"));
    assert!(!said("fit t.csv --eta 0.5 --dry-run").contains("no effect"));
    let points = "--set data.points=[[0,1],[1,2]] --dry-run";
    std::fs::write(d.join("p.toml"), "[data]\npoints = [[0, 1]]\n").expect("written");
    assert!(said(&format!("fit p.toml --test-file t.csv {points}")).contains("--test-file has no effect"));
    assert!(said(&format!("fit p.toml --target y {points}")).contains("--target has no effect"));
    let read = "--set data.test_fraction=0.3 --set data.validation_fraction=0.3 --set data.standardise=false";
    assert_eq!(said(&format!("fit p.toml {read} {points}")), "");
}

/// Settings with which a method has nothing to spread are told, and only those.
#[test]
fn methods_without_a_spread_are_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let said = |args: &str| {
        let args = format!("fit t.csv --device cpu --epochs 4 {args}");
        let out = vifo(d).args(args.split(' ')).output().expect("runs");
        assert!(out.status.success(), "{args}");
        String::from_utf8_lossy(&out.stderr).to_string()
    };
    assert!(
        said("--method swag --set train.swa_start=3")
            .contains("collects one snapshot (train.epochs 4, train.swa_start 3)")
    );
    assert!(!said("--method swag --set train.swa_start=2").contains("one snapshot"));
    assert!(said("--method repulsive --members 1").contains("a single repulsive member"));
    assert!(!said("--method repulsive --members 2").contains("a single repulsive member"));
}

/// Points in the recipe itself: train, predict, repeat, resume.
#[test]
fn points_are_data() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    // 24 points: two to validate, two to test.
    let curve: Vec<String> = (0..24).map(|i| format!("[{i}, {}]", (f64::from(i) * 0.4).sin())).collect();
    std::fs::write(d.join("curve.toml"), format!("[data]\npoints = [{}]\n[train]\nepochs = 40\n", curve.join(", ")))
        .expect("written");
    let out = ok(d, "fit curve.toml --device cpu");
    assert!(
        out.contains("tested on 2 rows, target y (regression)") && d.join("runs/points/report.html").is_file(),
        "{out}"
    );
    for file in ["figures/bands.svg", "predictions.csv", "results.json"] {
        assert!(d.join("runs/points").join(file).is_file(), "{file}");
    }
    let recipe = String::from_utf8(read(&d.join("runs/points/recipe.toml"))).expect("UTF-8");
    assert!(recipe.contains("points = [[0.0, 0.0], [1.0, 0.3894183423086505],"), "{recipe}");
    std::fs::write(d.join("new.csv"), "x\n3.5\n40\n").expect("written");
    let rows = ok(d, "predict runs/points new.csv --out -");
    assert!(rows.starts_with("line,mean,sd,") && rows.lines().count() == 3, "{rows}");
    ok(d, "evaluate runs/points");
    ok(d, "fit runs/points/recipe.toml --out again -q");
    assert_eq!(read(&d.join("runs/points/predictions.csv")), read(&d.join("again/predictions.csv")));
    // Killed and resumed: the weights of the unbroken run.
    let long = "fit curve.toml --device cpu --members 3 --epochs 800 --set train.patience=0 --set train.checkpoint_seconds=0 \
                --set train.evaluate_every=5 -q";
    ok(d, &format!("{long} --out whole"));
    let args = format!("{long} --out broken");
    let mut child =
        vifo(d).args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("spawned");
    wait_for_checkpoint(&d.join("broken"));
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(!d.join("broken/report.html").is_file(), "the run was not killed before its end: the test shows nothing");
    ok(d, "fit --resume broken -q");
    for file in ["predictions.csv", "results.json"] {
        assert_eq!(read(&d.join("whole").join(file)), read(&d.join("broken").join(file)), "{file}");
    }
    // Other points are other data.
    let moved = recipe.replacen("[0.0, 0.0]", "[0.0, 0.5]", 1);
    std::fs::write(d.join("broken/recipe.toml"), moved).expect("written");
    let changed = vifo(d).args(["fit", "--resume", "broken", "-q"]).output().expect("runs");
    assert_eq!(changed.status.code(), Some(1), "{}", String::from_utf8_lossy(&changed.stderr));
}

/// Few points, equal points, points far out: all train and draw, with every kind of method.
#[test]
fn odd_points_train() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("p.toml"), "[data]\npoints = []\n[train]\nepochs = 3\n").expect("written");
    let many = |row: &str| format!("[{}]", [row; 25].join(","));
    let sets = [
        ("two", "[[0,1],[1,2]]".to_string(), "bands"),
        ("same", "[[3,7],[3,7]]".into(), "bands"),
        ("same25", many("[3,7]"), "bands"),
        ("upright", "[[3,7],[3,8],[3,9]]".into(), "bands"),
        ("flat", "[[1,7],[2,7],[3,7]]".into(), "bands"),
        ("far", "[[-1e12,1e12],[1e12,-1e12],[0,0]]".into(), "bands"),
        ("near", "[[1e-300,5e-324],[2e-300,0],[0,1e-310]]".into(), "bands"),
        ("classes", "[[0,0,0],[1,1,7],[2,2,99]]".into(), "heat"),
        ("stack", "[[5,5,1],[5,5,2]]".into(), "heat"),
        ("farclasses", "[[1e12,0,0],[-1e12,1e-12,1]]".into(), "heat"),
    ];
    for (name, points, figure) in &sets {
        for more in ["--eta-aux 0.1", "--method base --set data.standardise=false", "--method vi-mean --members 2"] {
            if *name == "far" && more.contains("standardise") {
                continue;
            }
            let args = format!("fit p.toml --device cpu --force --out {name} --set data.points={points} {more}");
            ok(d, &args);
            assert!(d.join(name).join(format!("figures/{figure}.svg")).is_file(), "{args}");
        }
    }
    // In their own units such numbers overflow the loss; that is said in one line.
    let far =
        "fit p.toml --device cpu --out own -q --set data.standardise=false --set data.points=[[-1e12,1e12],[1e12,0]]";
    let out = vifo(d).args(far.split_whitespace()).output().expect("runs");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert!(out.status.success() || err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{err}");
    let said = vifo(d).args(["fit", "p.toml", "--device", "cpu", "--set", "data.points=[[0,1],[1,2]]"]).output();
    let said = said.expect("runs");
    assert!(String::from_utf8_lossy(&said.stdout).contains("no test rows: give 20 points"));
    assert!(String::from_utf8_lossy(&said.stderr).contains("all 2 points are trained on"));
}

#[test]
fn a_closed_pipe_is_no_crash() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut child = vifo(dir.path())
        .args(["fit", "--keys"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("spawned");
    drop(child.stdout.take());
    let out = child.wait_with_output().expect("an end");
    assert!(!String::from_utf8_lossy(&out.stderr).contains("panicked"));
}

/// Labels of a coin and eight columns of dice: nothing is learnt after the first epoch.
#[test]
fn a9_a_first_epoch_that_is_the_best_is_spoken_of() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut state = 1u64;
    let mut next = || {
        state = state * 48271 % 2147483647;
        state
    };
    let mut text = String::from("x0,x1,x2,x3,x4,x5,x6,x7,side\n");
    for _ in 0..80 {
        let dice: String = (0..8).map(|_| format!("{},", next() % 1000)).collect();
        text += &format!("{dice}{}\n", if (next() >> 8).is_multiple_of(2) { "l" } else { "r" });
    }
    std::fs::write(dir.path().join("n.csv"), text).expect("written");
    let out = ok(
        dir.path(),
        "fit n.csv --device cpu --method base --members 1 --epochs 20 --lr 0.1 --hidden 50 --set net.activation=relu --set net.embedding=none --out run",
    );
    let note = "note: the best weights are those of the first epoch: the inputs may tell little about 'side'";
    assert!(out.contains(note) && out.contains("class shares") && !out.contains("mean baseline"), "{out}");
    let report = String::from_utf8(read(&dir.path().join("run/report.html"))).expect("UTF-8");
    assert!(report.contains("the best weights are those of the first epoch") && report.contains("kept: epoch 1"));
}
