//! `vifo reproduce` as a user runs it: the real binary in a temporary folder, on the bundled digits, on tiny sets in the
//! layout of CIFAR-10 and on tiny tables in that of the UCI sets.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

fn vifo(dir: &Path, args: &str) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").arg("reproduce").args(args.split_whitespace());
    c
}

fn run(dir: &Path, args: &str) -> Output {
    vifo(dir, args).output().expect("the binary runs")
}

/// Runs to success; returns stdout and stderr.
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = run(dir, args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(out.status.success(), "vifo reproduce {args}: {}", text(&out.stderr));
    (text(&out.stdout), text(&out.stderr))
}

/// One line that begins with error:, this exit code, and all of these parts.
fn refused(dir: &Path, args: &str, code: i32, parts: &[&str]) {
    let out = run(dir, args);
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(code), "{args}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args}: {err}");
    for part in parts {
        assert!(err.contains(part), "{args}: {part} is not in {err}");
    }
}

const SMALL: &str = "--device cpu --epochs 2 --limit 100 --seeds 2 --members 2";

/// When the checkpoints below `runs` were written.
fn written(runs: &Path) -> Vec<(String, SystemTime)> {
    let mut all: Vec<(String, SystemTime)> = runs
        .read_dir()
        .expect("a folder")
        .flatten()
        .filter_map(|e| {
            let time = e.path().join("checkpoints/last.safetensors").metadata().ok()?.modified().ok()?;
            Some((e.file_name().to_string_lossy().to_string(), time))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn digits_are_trained_once_and_shown_in_every_format() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let nll = format!("nll --datasets digits --methods vifo-mean,SGD --eta-aux 0.1 {SMALL}");
    let (dry, _) = ok(d, &format!("{nll} --dry-run"));
    assert!(dry.contains("4 runs, 0 done; 4 to train: about "), "{dry}");
    assert!(dry.contains("digits cnn vifo-mean aux 0.1 x2 seed 2"), "{dry}");
    assert!(!d.join("runs").exists(), "a dry run leaves nothing");

    let (first, said) = ok(d, &nll);
    assert!(said.contains("4 to train: about ") && said.contains("[4/4] digits cnn base x2 seed 2"), "{said}");
    for part in ["digits, cnn, NLL", "VIFO-mean      0.1  2.", " ± ", "SGD"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    let runs = d.join("runs/reproduce");
    let before = written(&runs);
    assert_eq!(before.len(), 4, "{before:?}");
    let (again, said) = ok(d, &nll);
    assert_eq!(first, again);
    assert!(said.contains("4 runs, 4 done") && !said.contains("to train"), "{said}");
    assert_eq!(before, written(&runs), "nothing was trained");

    let (csv, _) = ok(d, &format!("{nll} -q --format csv"));
    assert!(csv.starts_with("table,metric,network,trained_on,tested_on,method,eta_aux,ours_mean"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let (markdown, _) = ok(d, &format!("{nll} -q --format markdown"));
    assert!(markdown.contains("### digits, cnn, NLL") && markdown.contains("| VIFO-mean |"), "{markdown}");
    let (latex, _) = ok(d, &format!("{nll} -q --format latex"));
    assert!(latex.contains("\\begin{tabular}{lrrr}") && latex.contains("$\\pm$"), "{latex}");

    // Another scale lies beside it.
    let (other, said) = ok(d, &nll.replace("--limit 100", "--limit 50"));
    assert!(said.contains("4 runs, 0 done") && other != first, "{said}");
    assert_eq!(written(&runs).len(), 8);
    assert_eq!(ok(d, &nll).0, first);
    // The table of another metric takes the same runs.
    let (_, said) = ok(d, &nll.replace("nll", "accuracy"));
    assert!(said.contains("4 runs, 4 done"), "{said}");
    // A run folder of this name that was trained otherwise is never taken for it.
    let folder = runs.join("digits-cnn-base-x2-2ep-100im-seed1");
    let text = std::fs::read_to_string(folder.join("recipe.toml")).expect("a recipe");
    std::fs::write(d.join("other.toml"), text.replace("lr = 0.05", "lr = 0.06")).expect("written");
    let mut fit = Command::new(env!("CARGO_BIN_EXE_vifo"));
    fit.current_dir(d).env("NODEVICE_SELECT", "1").args(["fit", "other.toml", "--force", "-q", "--out"]).arg(&folder);
    assert!(fit.output().expect("the binary runs").status.success());
    refused(d, &format!("{nll} -q"), 2, &["train.lr = 0.06, not 0.05", "--runs"]);
}

#[test]
fn ensembles_curves_and_times_are_drawn_and_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let small = format!("--datasets digits {SMALL} --methods vifo-mv -q");
    let (sizes, _) = ok(d, &format!("ensemble-size {small} --format csv"));
    let nll = |text: &str, members: &str, column: usize| -> f64 {
        let line = text.lines().map(|l| l.split(',').collect::<Vec<_>>()).find(|l| l[5] == members);
        line.expect("a line")[column].parse().expect("a number")
    };
    let (one, two) = (nll(&sizes, "1", 6), nll(&sizes, "2", 6));
    // The average of probabilities is never worse than its members on average (Jensen).
    assert!(two <= one, "{one} {two}");
    // All members together are the ensemble that `fit` tested.
    let (whole, _) = ok(d, &format!("nll {small} --eta-aux 0.1 --format csv"));
    let fitted: f64 =
        whole.lines().nth(1).expect("a line").split(',').nth(7).expect("a mean").parse().expect("a number");
    assert!((fitted - two).abs() < 1e-9, "{fitted} {two}");
    let (table, _) = ok(d, &format!("table2 {small} --format csv"));
    assert_eq!((nll(&table, "1", 6), nll(&table, "2", 6)), (one, two));
    let (curves, _) = ok(d, &format!("learning-curves {small}"));
    assert!(curves.contains("NLL of held-out images"), "{curves}");
    for stem in ["ensemble-size", "learning-curves"] {
        for ending in ["png", "svg", "csv"] {
            let file = d.join(format!("runs/reproduce/figures/{stem}-digits-cnn-2ep-100im.{ending}"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
    assert!(d.join("runs/reproduce/figures/nll-cnn-2ep-100im.png").is_file());
    let (times, _) = ok(d, "table1 --datasets digits --limit 50 --device cpu --methods base -q --format csv");
    let line: Vec<&str> = times.lines().nth(1).expect("a line").split(',').collect();
    assert!(line[5].parse::<f64>().expect("seconds") > 0.0, "{times}");
}

/// `n` images of 32 x 32 of noise, class i % 10, as CIFAR-10 and textures come.
fn cifar(file: &Path, n: usize, seed: u32) {
    let mut state = seed;
    let mut bytes = vec![];
    for i in 0..n {
        bytes.push((i % 10) as u8);
        for _ in 0..3072 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push((state >> 24) as u8);
        }
    }
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    std::fs::write(file, bytes).expect("written");
}

#[test]
fn other_sets_stand_beside_the_papers_numbers() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    cifar(&d.join("data/cifar-10-batches-bin/data_batch_1.bin"), 60, 1);
    cifar(&d.join("data/cifar-10-batches-bin/test_batch.bin"), 20, 2);
    cifar(&d.join("noise/noise.bin"), 20, 3);
    let small = "--device cpu --epochs 1 --limit 20 --seeds 1 --members 2 --networks cnn,preresnet --methods vifo-mv,base --eta-aux 0.1";
    refused(d, &format!("nll {small}"), 1, &["cifar100, svhn, stl10", "cifar-100-binary", "--datasets cifar10"]);
    refused(d, &format!("ece {small} --datasets digits"), 2, &["shifted set", "cifar10, stl10"]);
    assert!(!d.join("runs").exists(), "nothing was trained");
    let (table, said) = ok(d, &format!("auroc {small} --datasets cifar10 --ood noise=noise --ood again=noise"));
    assert!(said.contains("svhn not found in data"), "{said}");
    // The paper's alone, ours alone.
    assert!(table.contains("cifar10 → svhn, preresnet, AUROC") && table.contains("0.950 ± 0.001"), "{table}");
    assert!(table.contains("cifar10 → noise, cnn, AUROC") && table.contains("cifar10 → again, preresnet"), "{table}");
    // Without the data, what was computed is still shown.
    std::fs::rename(d.join("data"), d.join("moved")).expect("moved");
    let args = format!("auroc {small} --datasets cifar10 --ood noise=noise --ood again=noise");
    assert_eq!(ok(d, &args).0, table);
    // At another place they are the same images; other images are not.
    assert_eq!(ok(d, &format!("{args} --data moved")).0, table);
    cifar(&d.join("moved/cifar-10-batches-bin/test_batch.bin"), 20, 4);
    std::fs::rename(d.join("moved"), d.join("other")).expect("moved");
    refused(d, &format!("{args} --data other -q"), 1, &["other images", "--runs"]);
}

/// A run that fails is told of and left out; the others are trained, and the exit code says that not all is there. Here
/// another program holds the folder.
#[test]
fn one_run_that_fails_does_not_stop_the_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let held = d.join("runs/reproduce/digits-cnn-base-x2-2ep-100im-seed1");
    std::fs::create_dir_all(&held).expect("made");
    let lock = std::fs::File::create(held.join(".lock")).expect("made");
    lock.lock().expect("held");
    let args = format!("nll --datasets digits --methods base {SMALL}");
    let out = run(d, &format!("{args} -q --format csv"));
    let (table, err) =
        (String::from_utf8_lossy(&out.stdout).to_string(), String::from_utf8_lossy(&out.stderr).to_string());
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.contains("failed: digits cnn base x2 seed 1: ") && err.contains("1 of its runs failed"), "{err}");
    let line: Vec<&str> = table.lines().nth(1).expect("a line").split(',').collect();
    assert_eq!(line[9], "1", "runs of {table}");
    drop(lock);
    let (table, said) = ok(d, &format!("{args} --format csv"));
    assert!(said.contains("2 runs, 1 done; 1 to train"), "{said}");
    assert_eq!(table.lines().nth(1).expect("a line").split(',').nth(9), Some("2"), "{table}");
}

#[test]
fn a_dry_run_of_times_says_how_long_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (times, _) = ok(dir.path(), "table1 --datasets digits --limit 50 --device cpu --dry-run");
    assert!(times.contains("times steps and trains nothing: about "), "{times}");
    assert_eq!(dir.path().read_dir().expect("a folder").count(), 0, "nothing is left behind");
}

/// All that the digits can make, at a tiny scale, on one page that needs no other file; then the same without any training.
#[test]
fn all_makes_one_page_that_needs_no_other_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let args = "all --datasets digits --methods vifo-mean,base --eta-aux 0.1 --device cpu --epochs 2 --limit 50 --seeds 1 --members 2";
    let (dry, _) = ok(d, &format!("{args} --dry-run"));
    // Each run once, though five tables need it.
    assert_eq!(dry.matches("digits cnn base x2 seed 1").count(), 1, "{dry}");
    assert!(!d.join("runs").exists(), "a dry run leaves nothing");
    let (tables, said) = ok(d, args);
    assert!(said.contains("ece left out: ece needs a shifted set, and digits has none"), "{said}");
    assert!(said.contains("accuracy: 2 runs, 2 done"), "runs are shared: {said}");
    for part in ["table1: ", "table2: ", "nll: ", "accuracy: ", "learning-curves: ", "ensemble-size: "] {
        assert!(tables.contains(part), "{part}");
    }
    let page = |runs: &str| std::fs::read_to_string(d.join(runs).join("all.html")).expect("a page");
    let html = page("runs/reproduce");
    for part in [
        "The VIFO paper, ours beside theirs",
        "2 epochs on 50 images",
        "<h2>What was run</h2>",
        "<h2>What departs from the paper</h2>",
        "<td>not made</td>",
        "digits, cnn, NLL",
        "ours: 1 seed, 2 epochs on 50 images",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // nll, accuracy, learning curves, ensembles; nothing is loaded.
    assert_eq!(html.matches("<svg ").count(), 4);
    let links = html.matches("http").count();
    assert_eq!(links, html.matches("http://www.w3.org/2000/svg").count());
    assert!(!html.contains("<script") && !html.contains("href") && !html.contains("src="));

    // The paper's alone need no data: its ten figures, and those of what is there.
    let (_, said) = ok(d, "all --no-train --device cpu");
    assert!(said.contains("nll: 0 of ") && said.contains("nothing is trained"), "{said}");
    let html = page("runs/reproduce");
    assert_eq!(html.matches("<svg ").count(), 10);
    assert_eq!(html.matches("ours are not run yet").count(), 20, "in each figure and its caption");
    let before = written(&d.join("runs/reproduce"));
    ok(d, &format!("{args} --no-train"));
    assert_eq!(before, written(&d.join("runs/reproduce")));
    refused(d, "uci --no-train", 2, &["--no-train: has no meaning for uci"]);
    refused(d, "all --datasets digits --members 0", 2, &["--members"]);
    refused(d, "al", 2, &["all, uci"]);
}

#[test]
fn wrong_words_are_refused_with_the_nearest_right_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    for (args, parts) in [
        ("tabel2", &["did you mean table2?", "win-rates"][..]),
        ("nll --datasets cifra10", &["did you mean cifar10?"]),
        ("nll --methods vifo-men", &["did you mean vifo-mean?"]),
        ("nll --networks alex", &["did you mean alexnet?"]),
        ("nll --datasets digits --epochs many", &["--epochs", "whole number"]),
        ("nll --datasets digits --limit 3", &["--limit", "from 10"]),
        ("nll --datasets digits --seeds 0", &["--seeds", "1,2,3"]),
        ("nll --datasets digits --eta-aux -1", &["--eta-aux", "at least 0"]),
        ("ensemble-size --datasets digits --members 1", &["--members", "2 or more"]),
        ("auroc --datasets digits", &["--ood NAME=FOLDER"]),
        ("auroc --datasets digits --ood here", &["NAME=FOLDER"]),
        ("auroc --datasets digits --ood svhn=here", &["another name"]),
    ] {
        refused(d, args, 2, parts);
    }
    refused(d, "auroc --datasets digits --ood x=nowhere", 1, &["nowhere", "no such file or folder"]);
    assert_eq!(d.read_dir().expect("a folder").count(), 0, "nothing is left behind");
}

const LONG: &str = "nll --datasets digits --methods vifo-mean --eta-aux 0 --device cpu --epochs 60 --seeds 2 --members 2 --batch 64 --limit 300";

fn wait_for_checkpoint(run: &Path) {
    let start = Instant::now();
    while !run.join("checkpoints/last.safetensors").is_file() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Killed in the first run and stopped by Ctrl-C in the next part: the table is that of an unbroken command.
#[cfg(unix)]
#[test]
fn a_killed_command_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let (whole, _) = ok(d, &format!("{LONG} --runs whole"));
    let first = d.join("broken/digits-cnn-vifo-mean-x2-60ep-300im-b64-seed1");
    let start = |args: &str| vifo(d, args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("spawned");
    let mut child = start(&format!("{LONG} --runs broken"));
    wait_for_checkpoint(&first);
    child.kill().expect("killed");
    child.wait().expect("gone");
    let half = !first.join("report.html").is_file();
    let (dry, _) = ok(d, &format!("{LONG} --runs broken --dry-run"));
    assert!(!half || dry.contains("2 runs, 0 done, 1 begun") && dry.contains("seed 1, from epoch "), "{dry}");

    // What a kill before the first manifest leaves is cleared away.
    let second = d.join("broken/digits-cnn-vifo-mean-x2-60ep-300im-b64-seed2");
    std::fs::create_dir_all(second.join("checkpoints")).expect("made");
    std::fs::write(second.join("recipe.toml"), "seed = 2").expect("written");
    let child = start(&format!("{LONG} --runs broken"));
    wait_for_checkpoint(&second);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let out = child.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    // The second run may have ended before the signal came.
    if out.status.code() == Some(130) {
        assert!(err.contains("stopped; the same command resumes"), "{err}");
    } else {
        assert!(out.status.success(), "{err}");
    }
    assert!(half || out.status.code() == Some(130), "neither run was broken off: the test shows nothing");
    assert_eq!(ok(d, &format!("{LONG} --runs broken")).0, whole);
    let stranger = d.join("broken/digits-cnn-vifo-mean-x2-61ep-300im-b64-seed1");
    std::fs::create_dir_all(&stranger).expect("made");
    std::fs::write(stranger.join("thesis.tex"), "mine").expect("written");
    refused(d, &format!("{} --runs broken -q", LONG.replace("60", "61")), 2, &["thesis.tex", "--runs"]);
}

/// Two of the UCI sets with 30 made-up rows and three splits each.
fn tiny_uci(data: &Path) {
    for (name, target, k) in [("yacht", "residuary_resistance", 0.7), ("energy", "heating_load", 1.3)] {
        std::fs::create_dir_all(data.join(name)).expect("made");
        let row = |i: usize| format!("{},{},{:.4}\n", i % 7, (i * i) % 11, (i as f64 * k).sin() + 0.1 * (i % 7) as f64);
        let rows: String = (0..30).map(row).collect();
        std::fs::write(data.join(name).join("data.csv"), format!("a,b,{target}\n{rows}")).expect("written");
        std::fs::write(data.join(name).join("test_index.txt"), "3 12 21\n0 11 29\n4 5 6\n").expect("written");
    }
}

const UCI: &str = "uci --device cpu --epochs 12 --members 2 --batch 8";

/// The numbers of ours in the CSV: dataset, method, metric, mean.
fn ours(csv: &str) -> Vec<[String; 4]> {
    let lines = csv.lines().map(|l| l.split(',').map(String::from).collect::<Vec<_>>());
    lines.filter(|l| l[2] == "ours").map(|l| [0, 1, 3, 4].map(|i| l[i].clone())).collect()
}

#[test]
fn uci_is_trained_once_and_stands_beside_the_published_numbers() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    tiny_uci(&d.join("data"));
    let args = format!("{UCI} --methods vifo-mean,base,vi-mean,swag,repulsive,laplace");
    let (dry, _) = ok(d, &format!("{args} --dry-run"));
    assert!(dry.contains("2 sets, 6 methods; 36 splits to train") && dry.contains("at most about"), "{dry}");
    assert!(dry.contains("  energy vi-mean, 3 of 3 splits"), "{dry}");
    assert!(!d.join("runs").exists(), "a dry run leaves nothing");

    let (table, said) = ok(d, &args);
    assert!(said.contains("[12/12] energy laplace, 3 splits together"), "{said}");
    assert!(said.contains("yacht: 3 of the protocol's 20 splits") && said.contains("not found in data"), "{said}");
    // Deep Ensembles' 0.21 and 0.48 are standard deviations over 20 splits.
    for part in
        ["VIFO-mean", "VI-mean", "SWAG", "-1.18 ± 0.05", "1.58 ± 0.11", "-1.55 ± 0.03", "at least as high", " of 2"]
    {
        assert!(table.contains(part), "{part} is not in {table}");
    }
    let folder = d.join("runs/reproduce/uci");
    for file in ["uci.csv", "uci.md", "uci.txt", "figures/uci-log-likelihood.svg", "figures/uci-log-likelihood.png"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let (again, said) = ok(d, &args);
    assert!(said.contains("all splits done") && !said.contains("[1/"), "{said}");
    assert_eq!(table, again);
    let (csv, _) = ok(d, &format!("{args} -q --format csv"));
    assert_eq!(std::fs::read_to_string(folder.join("uci.csv")).expect("a table"), csv);
    let all = ours(&csv);
    assert_eq!(all.len(), 24, "two sets, six methods, two metrics: {csv}");
    assert!(all.iter().all(|l| l[3].parse::<f64>().is_ok_and(f64::is_finite)), "{csv}");

    // The shaders train all splits at once; both executors round sums in their own order, some 50 steps of Adam carry that on.
    let (soft, _) = ok(d, &format!("{args} -q --runs soft --format csv").replace("--device cpu", "--device software"));
    for (one, other) in all.iter().zip(ours(&soft)) {
        let number = |l: &[String; 4]| l[3].parse::<f64>().expect("a number");
        assert!((number(one) - number(&other)).abs() < 1e-3 * number(one).abs(), "{one:?} {other:?}");
    }

    // Split by split, each by a command of its own, the numbers are the same.
    for split in ["2,", "0,", "1"] {
        ok(d, &format!("{args} -q --runs parts --splits {split}"));
    }
    assert_eq!(ours(&ok(d, &format!("{args} -q --runs parts --format csv")).0), all);
    // A second seed draws other numbers and is averaged in.
    let (csv, _) = ok(d, &format!("{args} -q --seeds 2 --format csv"));
    assert!(csv.lines().nth(1).is_some_and(|l| l.split(',').nth(6) == Some("3") && l.split(',').nth(7) == Some("6")));
    assert!(ours(&csv).iter().zip(&all).all(|(two, one)| two[3] != one[3]), "{csv}");
    // Without a file of splits they are computed.
    std::fs::remove_file(d.join("data/yacht/test_index.txt")).expect("removed");
    let (_, said) = ok(d, &format!("{UCI} --datasets yacht --methods base --runs own --splits 2"));
    assert!(said.contains("no test_index.txt for yacht: the protocol's splits are computed"), "{said}");
}

/// Killed in the first set and stopped by Ctrl-C in the second: the table is that of an unbroken command.
#[cfg(unix)]
#[test]
fn a_killed_uci_command_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    tiny_uci(&d.join("data"));
    let args = "uci --device cpu --epochs 30000 --members 2 --batch 8 --methods vifo-mean";
    let (whole, _) = ok(d, &format!("{args} --runs whole -q --format csv"));
    let spawn = || {
        vifo(d, &format!("{args} --runs broken")).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("spawned")
    };
    let state = |set: &str| d.join(format!("broken/uci/{set}-vifo-mean-x2-30000ep-b8.state"));
    let wait = |file: &Path| {
        let start = Instant::now();
        while !file.is_file() {
            assert!(start.elapsed() < Duration::from_secs(60), "no {} in a minute", file.display());
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let mut child = spawn();
    wait(&state("yacht"));
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(!d.join("broken/uci/yacht-vifo-mean-x2-30000ep-b8.json").exists(), "it was not at its end");
    let child = spawn();
    wait(&d.join("broken/uci/yacht-vifo-mean-x2-30000ep-b8.json"));
    wait(&state("energy"));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let out = child.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert!(err.contains("resumes after epoch "), "{err}");
    assert_eq!(out.status.code(), Some(130), "{err}");
    assert!(state("energy").is_file() && !state("yacht").exists());
    assert_eq!(ok(d, &format!("{args} --runs broken -q --format csv")).0, whole);
    assert!(!state("energy").exists());
}

#[test]
fn uci_refuses_what_it_cannot_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    refused(d, UCI, 1, &["data: no such folder", "--data FOLDER", "test_index.txt", "data.csv"]);
    tiny_uci(&d.join("data"));
    refused(d, &format!("{UCI} --datasets wine,yacht"), 1, &["no folder wine-quality-red in it", "--data FOLDER"]);
    for (args, parts) in [
        ("uci --datasets wien", &["did you mean wine-quality-red?"][..]),
        ("uci --methods vifo-men", &["did you mean vifo-mean?"]),
        ("uci --splits 0", &["--splits: 0", "leave it out for all"]),
        ("uci --splits x", &["--splits"]),
        ("uci --seeds 0", &["--seeds"]),
        ("uci --epochs 0.5", &["--epochs"]),
        ("uci --limit 10", &["--limit: has no meaning for uci"]),
        ("uci --ood a=b", &["--ood: has no meaning for uci"]),
        ("nll --splits 3", &["--splits: image sets have one split"]),
        ("ucy", &["did you mean uci?"]),
    ] {
        refused(d, args, 2, parts);
    }
    assert!(!d.join("runs").exists(), "nothing is left behind");

    let args = format!("{UCI} --datasets yacht --methods base");
    ok(d, &args);
    let file = d.join("runs/reproduce/uci/yacht-base-x2-12ep-b8.json");
    let results = std::fs::read_to_string(&file).expect("results");
    std::fs::write(&file, results.replace("\"eta\": 0.1", "\"eta\": 0.2")).expect("written");
    refused(d, &args, 2, &["was made with method.eta = 0.2, not 0.1", "--runs"]);
    std::fs::write(&file, &results[..results.len() / 2]).expect("written");
    refused(d, &args, 1, &["damaged", "--runs"]);
    std::fs::write(&file, results).expect("written");
    let splits = d.join("data/yacht/test_index.txt");
    std::fs::write(&splits, "3 12 21\n0 11 28\n").expect("written");
    refused(d, &args, 1, &["is of another yacht", "--runs"]);
    std::fs::write(&splits, "3 12 30\n").expect("written");
    refused(d, &format!("{args} --runs other"), 1, &["test_index.txt, line 1: row 30", "0 to 29"]);
    std::fs::write(&splits, "").expect("written");
    refused(d, &format!("{args} --runs other"), 1, &["test_index.txt", "one line per split"]);
    std::fs::write(d.join("data/yacht/data.csv"), "a,b,c\n1,2,3\n").expect("written");
    refused(d, &args, 2, &["data.csv", "no column 'residuary_resistance'"]);
}
