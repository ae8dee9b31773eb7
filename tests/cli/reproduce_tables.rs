//! `vifo reproduce tables` as a user runs it: on two tiny tables in the layout of the UCI sets, beside planted figures of
//! other tools.

use std::path::Path;
use std::process::{Command, Output};

fn vifo(dir: &Path, args: &str) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split_whitespace()).output().expect("the binary runs")
}

/// Runs to success; returns stdout and stderr.
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = vifo(dir, args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(out.status.success(), "vifo {args}: {}", text(&out.stderr));
    (text(&out.stdout), text(&out.stderr))
}

fn refused(dir: &Path, args: &str, code: i32, parts: &[&str]) {
    let out = vifo(dir, args);
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(code), "{args}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args}: {err}");
    for part in parts {
        assert!(err.contains(part), "{args}: {part} is not in {err}");
    }
}

/// 40 made-up rows with five splits each; the naval set has a column that is no input.
fn tiny(data: &Path) {
    let sets = [
        ("yacht", "residuary_resistance", 0.7, ""),
        ("naval-propulsion-plant", "compressor_decay", 1.3, ",turbine_decay"),
    ];
    for (name, target, k, more) in sets {
        std::fs::create_dir_all(data.join(name)).expect("made");
        let row = |i: usize| {
            let y = (i as f64 * k).sin() + 0.1 * (i % 7) as f64;
            let last = if more.is_empty() { String::new() } else { format!(",{y:.3}") };
            format!("{},{},{y:.4}{last}\n", i as f64 * 0.37, (i * i) % 11)
        };
        let rows: String = (0..40).map(row).collect();
        std::fs::write(data.join(name).join("data.csv"), format!("a,b,{target}{more}\n{rows}")).expect("written");
        let splits = "3 12 21 30\n0 11 29 38\n4 5 6 7\n8 17 26 35\n9 18 27 36\n";
        std::fs::write(data.join(name).join("test_index.txt"), splits).expect("written");
    }
}

const PEERS: &str = "set,split,method,rmse,nll,crps,coverage_90,width_90,seconds,versions
yacht,3,cb_unc_ens,9.5,4.25,5.5,0.5,12.5,1.5,catboost 1.2.10
yacht,4,cb_unc_ens,10.5,4.75,6.5,1,13.5,2.5,catboost 1.2.10
yacht,3,rf,0.0001,,,,,0.25,scikit-learn 1.6.1
yacht,4,rf,0.0003,,,,,0.75,scikit-learn 1.6.1
naval-propulsion-plant,3,cb_unc_ens,1.5,1.5,1.5,0.75,1.5,1.5,catboost 1.2.10
naval-propulsion-plant,3,own_tool,1.5,1.5,1.5,0.75,1.5,1.5,own 7
";

const TABLES: &str = "reproduce tables --device cpu --epochs 6 --members 2 --batch 8 --peers peers.csv";

#[test]
fn the_default_is_trained_once_and_stands_beside_the_other_tools() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    tiny(&d.join("data"));
    std::fs::write(d.join("peers.csv"), PEERS).expect("written");
    let (dry, said) = ok(d, &format!("{TABLES} --dry-run"));
    assert!(dry.contains("tables: 2 sets; 4 splits to train: at most about"), "{dry}");
    assert!(dry.contains("  yacht, split 3\n") && dry.contains("  naval-propulsion-plant, split 4"), "{dry}");
    assert!(
        said.contains("splits 0 to 2 are left out: they were looked at while the default was being chosen"),
        "{said}"
    );
    assert!(!d.join("runs").exists(), "a dry run leaves nothing");

    let (table, said) = ok(d, TABLES);
    assert!(said.contains("[4/4] naval-propulsion-plant, split 4"), "{said}");
    assert!(
        said.contains("naval-propulsion-plant: 1 of vifo's 2 splits, those that all have: cb_unc_ens, own_tool"),
        "{said}"
    );
    assert!(said.contains("vifo: not its default, but with method.members = 2"), "{said}");
    // The means of 9.5 and 10.5, of 1 and 3 ten-thousandths: the best RMSE is the forest's.
    for part in ["CatBoost, 5 of mean and variance  10.000 ± ", "own_tool", "scikit-learn 1.6.1", "splits"] {
        assert!(table.contains(part), "{part} is not in {table}");
    }
    let forest = table.lines().find(|l| l.starts_with("random forest")).expect("a row");
    assert!(forest.contains("  0.000 ± 0.") && forest.ends_with('*'), "{forest}");
    let folder = d.join("runs/reproduce/tables");
    for ending in ["svg", "png", "csv"] {
        assert!(folder.join(format!("figures/tables.{ending}")).is_file(), "{ending}");
    }
    let results = || std::fs::read_to_string(folder.join("results.jsonl")).expect("results");
    let before = results();
    assert_eq!(before.lines().count(), 4, "{before}");

    let (again, said) = ok(d, TABLES);
    assert!(said.contains("all splits done") && !said.contains("[1/"), "{said}");
    assert_eq!((again, results()), (table.clone(), before.clone()), "nothing is trained again");
    for format in ["text", "csv"] {
        let file = folder.join(if format == "text" { "tables.txt" } else { "tables.csv" });
        let shown = ok(d, &format!("{TABLES} -q --format {format}")).0;
        assert!(std::fs::read_to_string(file).expect("a table").starts_with(&shown));
    }
    let (markdown, _) = ok(d, &format!("{TABLES} -q --format markdown"));
    assert!(markdown.contains("**0.000 ± 0.") && markdown.contains("### NLL, nats ↓"), "{markdown}");
    let (latex, _) = ok(d, &format!("{TABLES} -q --format latex"));
    assert!(latex.contains("\\textbf{0.000 $\\pm$ 0.") && latex.contains("\\begin{tabular}{lrr}"), "{latex}");

    // Another default is trained anew and shown without the lines of the first, which stay.
    let (other, said) = ok(d, &TABLES.replace("--epochs 6", "--epochs 5"));
    assert!(said.contains("4 splits to train") && said.contains("4 lines are of another default"), "{said}");
    assert!(other != table && results().starts_with(&before) && results().lines().count() == 8);
    assert_eq!(ok(d, TABLES).0, table);
    // A line that is lost is made again.
    let kept: Vec<&str> = before.lines().take(3).collect();
    std::fs::write(folder.join("results.jsonl"), kept.join("\n") + "\n").expect("written");
    let (_, said) = ok(d, TABLES);
    assert!(said.contains("1 split to train") && said.contains("[1/1] naval-propulsion-plant, split 4"), "{said}");
    let numbers = |text: &str| -> Vec<String> {
        text.lines().map(|l| l.split(",\"seconds\"").next().unwrap_or("").into()).collect()
    };
    assert_eq!(numbers(&results()), numbers(&before));
}

/// What is compared is what the product does: the recipe is the one of `vifo fit` with the same flags, and so are the figures
/// of the trained network, to the last digit.
#[test]
fn what_is_compared_is_what_fit_trains() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path().canonicalize().expect("a folder");
    let data = d.join("data");
    tiny(&data);
    std::fs::write(d.join("peers.csv"), PEERS).expect("written");
    let sets = [
        ("yacht", "residuary_resistance", ""),
        ("naval-propulsion-plant", "compressor_decay", "--ignore turbine_decay"),
    ];
    let fit = |name: &str, target: &str, more: &str| {
        let at = data.join(name);
        let files = format!("{0}/data.csv --split-file {0}/test_index.txt", at.display());
        format!("fit {files} --target {target} {more} --split 3 --device cpu")
    };
    let recipes = d.join("runs/reproduce/tables/recipes");
    let recipe = |name: &str| std::fs::read_to_string(recipes.join(format!("{name}.toml"))).expect("a recipe");
    let small = "--epochs 6 --members 2 --batch 8";
    ok(&d, &format!("{TABLES} -q"));
    for (name, target, more) in sets {
        assert_eq!(recipe(name), ok(&d, &format!("{} {small} --dry-run -q", fit(name, target, more))).0, "{name}");
    }
    let line = std::fs::read_to_string(d.join("runs/reproduce/tables/results.jsonl")).expect("results");
    let line: serde_json::Value = serde_json::from_str(line.lines().next().expect("a line")).expect("JSON");
    ok(&d, &format!("{} {small} -q --out run", fit(sets[0].0, sets[0].1, sets[0].2)));
    let alone = std::fs::read_to_string(d.join("run/results.json")).expect("results");
    let alone: serde_json::Value = serde_json::from_str(&alone).expect("JSON");
    for name in ["rmse", "nll", "crps", "coverage_90", "width_90"] {
        let metrics = alone["metrics"].as_array().expect("metrics");
        let one = metrics.iter().find(|m| m["name"] == name).expect("a metric");
        let value = one["value"].as_f64().expect("a number");
        assert_eq!(line[name].as_f64().map(f64::to_bits), Some(value.to_bits()), "{name}: {line} {one}");
    }
    // Without flags nothing but the default is in it: here it is told of, not trained.
    let runs = "--runs plain --device cpu --peers peers.csv --datasets yacht --splits 1";
    let epochs = ok(&d, &format!("{} --dry-run -q", fit(sets[0].0, sets[0].1, ""))).0;
    assert!(epochs.contains("budget = \"auto\"") && epochs.contains("holdout"), "{epochs}");
    let (_, said) = ok(&d, &format!("reproduce tables {runs} --dry-run"));
    assert!(!said.contains("not its default"), "{said}");
}

/// Stopped by Ctrl-C in the course of it: whole lines are left, and the same command goes on to the same tables.
#[cfg(unix)]
#[test]
fn a_stopped_command_leaves_whole_lines() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    tiny(&d.join("data"));
    std::fs::write(d.join("peers.csv"), PEERS).expect("written");
    let args = TABLES.replace("--epochs 6", "--epochs 4000 --datasets yacht");
    let file = d.join("runs/reproduce/tables/results.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vifo"));
    command.current_dir(d).env("NODEVICE_SELECT", "1").args(args.split_whitespace());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("spawned");
    let start = Instant::now();
    while !file.is_file() {
        assert!(start.elapsed() < Duration::from_secs(120), "no line in two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let out = child.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(130), "{err}");
    assert!(err.contains("stopped; the same command resumes"), "{err}");
    let first = std::fs::read_to_string(&file).expect("results");
    assert_eq!(first.lines().count(), 1, "{first}");
    let (_, said) = ok(d, &args);
    assert!(said.contains("1 split to train") && said.contains("[1/1] yacht, split 4"), "{said}");
    assert!(std::fs::read_to_string(&file).expect("results").starts_with(&first));
}

#[test]
fn tables_refuse_what_they_cannot_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    refused(d, "reproduce tables", 1, &["data: no such folder", "--data FOLDER"]);
    tiny(&d.join("data"));
    refused(d, "reproduce tables --datasets wine,yacht", 1, &["no folder wine-quality-red in it"]);
    for (args, parts) in [
        ("--datasets yahct", &["--datasets: no 'yahct'", "did you mean yacht?"][..]),
        ("--methods rff", &["--methods: no 'rff'", "did you mean rf?"]),
        ("--splits 0", &["--splits: 0", "leave it out for all"]),
        ("--epochs many", &["--epochs"]),
        ("--networks cnn", &["--networks: has no meaning for tables"]),
    ] {
        refused(d, &format!("reproduce tables {args}"), 2, parts);
    }
    refused(d, "reproduce tables --peers none.csv", 1, &["none.csv: cannot read"]);
    refused(d, "reproduce uci --peers a.csv", 2, &["--peers: has no meaning for uci"]);
    refused(d, "reproduce nll --peers a.csv", 2, &["--peers", "for tables"]);
    refused(d, "reproduce tabels", 2, &["did you mean tables?"]);
    std::fs::write(d.join("peers.csv"), PEERS.replace("yacht,3,rf", "boat,3,rf")).expect("written");
    refused(d, "reproduce tables --peers peers.csv", 1, &["peers.csv, line 4: set 'boat'", "yacht, energy"]);
    assert!(!d.join("runs").exists(), "nothing is left behind");
    // What is there is shown without training.
    std::fs::write(d.join("peers.csv"), PEERS).expect("written");
    let (table, said) = ok(d, &format!("{TABLES} --no-train"));
    assert!(said.contains("4 splits missing; nothing is trained") && !table.contains("RMSE"), "{table} {said}");
}
