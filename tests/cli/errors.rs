//! Bad input, verb by verb: one line on stderr that begins with "error: ", names the place, what is wrong and a cure; exit
//! code 1 (data, run) or 2 (usage); nothing left behind. The rows of each table share one folder, so that a file that a
//! row leaves fails that row.

mod verbs;

use assert_cmd::Command;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn vifo(dir: &Path) -> Command {
    let mut c = Command::cargo_bin("vifo").unwrap();
    c.current_dir(dir);
    // A Vulkan layer of Mesa writes to stderr where no display is; that line is not ours.
    c.env("NODEVICE_SELECT", "1");
    // No driver, so that an adapter of the machine cannot decide what a row finds.
    c.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent");
    c.timeout(Duration::from_secs(120));
    c
}

/// Arguments, exit code, what the line must hold.
type Case<'a> = (&'a str, i32, &'a [&'a str]);

fn files(dir: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        }
        all.insert(path);
    }
    all
}

/// None if the case is refused as it should be, else what is wrong with the refusal.
fn fault(dir: &Path, (args, code, parts): Case) -> Option<String> {
    let before = files(dir);
    let out = vifo(dir).args(args.split_whitespace()).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    let mut wrong = vec![];
    if out.status.code() != Some(code) {
        wrong.push(format!("exit code {:?}, not {code}", out.status.code()));
    }
    if !err.starts_with("error: ") || err.trim_end().lines().count() != 1 {
        wrong.push("not one line that begins with error:".into());
    }
    for part in parts.iter().filter(|part| !err.contains(**part)) {
        wrong.push(format!("{part:?} is missing"));
    }
    if err.contains("panicked") || err.contains("RUST_BACKTRACE") {
        wrong.push("a panic".into());
    }
    let left: Vec<String> = files(dir).difference(&before).map(|p| p.display().to_string()).collect();
    if !left.is_empty() {
        wrong.push(format!("leaves {left:?}"));
    }
    (!wrong.is_empty()).then(|| format!("vifo {args}: {}\n    {err}", wrong.join("; ")))
}

#[track_caller]
fn check(dir: &Path, cases: &[Case]) {
    let faults: Vec<String> = cases.iter().filter_map(|c| fault(dir, *c)).collect();
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

#[test]
#[should_panic(expected = "not 2")]
fn the_table_rejects_a_wrong_code() {
    let dir = tempfile::tempdir().unwrap();
    check(dir.path(), &[("inspect nosuch.csv", 2, &["nosuch.csv"])]);
}

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(dir.join(name), text).unwrap();
}

/// 40 rows of x, z and a last column; then more lines.
fn table(dir: &Path, name: &str, last: impl Fn(usize) -> String, more: &str) {
    let row = |i: usize| format!("{},{},{}\n", i as f64 / 10.0, i * 7 % 11, last(i));
    let rows: String = (0..40).map(row).collect();
    write(dir, name, format!("x,z,y\n{rows}{more}"));
}

fn tables() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let line = |i: usize| (i as f64 * 0.3 - 1.0).to_string();
    table(d, "good.csv", line, "");
    table(d, "text.csv", line, "low,1,2\n");
    table(d, "ragged.csv", line, "1,2\n");
    table(d, "nan.csv", line, "nan,1,2\n");
    table(d, "inf.csv", line, "1,inf,2\n");
    table(d, "same.csv", |_| "3.5".into(), "");
    table(d, "one_class.csv", |_| "cat".into(), "");
    table(d, "many_classes.csv", |i| format!("c{i}"), "");
    table(d, "classes.csv", |i| ["no", "yes"][i % 2].into(), "");
    table(d, "other_label.csv", |i| ["no", "perhaps"][i % 2].into(), "");
    write(d, "one_row.csv", "x,z,y\n1,2,3\n");
    write(d, "empty.csv", "");
    write(d, "header.csv", "x,z,y\n");
    write(d, "binary.csv", [0u8, 1, 2, 3]);
    write(d, "hole.csv", "x,z,y\n1,2,3\n2,,3\n3,4,5\n");
    write(d, "narrow.csv", "x,y\n1,2\n3,4\n");
    let levels: String = (0..40).map(|i| format!("{i},{},{}\n", ["red", "blue"][i % 2], i * 3 % 17)).collect();
    write(d, "levels.csv", format!("x,colour,y\n{levels}"));
    write(d, "other_level.csv", "x,colour,y\n1,green,2\n2,red,3\n");
    std::fs::create_dir(d.join("folder")).unwrap();
    std::fs::create_dir(d.join("theirs")).unwrap();
    write(d, "theirs/thesis.txt", "not to be deleted");
    dir
}

const FAST: &str = "--device cpu -q --epochs 3 --members 1";

fn fit(dir: &Path, args: &str) {
    vifo(dir).arg("fit").args(args.split_whitespace()).args(FAST.split_whitespace()).assert().success();
}

#[test]
fn fit_names_what_is_wrong_with_a_table() {
    let dir = tables();
    check(
        dir.path(),
        &[
            ("fit folder --device cpu", 1, &["folder", "is an empty folder", "or the table itself"]),
            ("fit nosuch.csv --device cpu", 2, &["nosuch.csv", "no such file", "check the path"]),
            ("fit empty.csv --device cpu", 1, &["empty.csv", "empty", "check"]),
            ("fit header.csv --device cpu", 1, &["header.csv", "only a header", "check"]),
            ("fit binary.csv --device cpu", 1, &["binary.csv", "binary", "export"]),
            ("fit ragged.csv --strict --device cpu", 1, &["ragged.csv, line 42", "2 cells", "3 cells", "fix the row"]),
            ("fit text.csv --strict --device cpu", 1, &["text.csv, line 42, column 'x'", "'low'", "--as x=text"]),
            ("fit nan.csv --strict --device cpu", 1, &["nan.csv, line 42, column 'x'", "missing", "--missing drop"]),
            (
                "fit inf.csv --strict --device cpu",
                1,
                &["inf.csv, line 42, column 'z'", "infinite", "leave the cell empty"],
            ),
            ("fit one_row.csv --device cpu", 1, &["one_row.csv", "1 row to train on; allowed: at least 6; add rows"]),
            ("fit hole.csv --device cpu", 1, &["2 rows to train on (of 3: 1 tests)", "at least 6; add rows"]),
            ("fit . --target y", 2, &[".: is a folder", "--target needs a table: name a file, such as ./"]),
            ("fit . --out run --device cpu", 1, &["most of its files are no images", "to train on a table name it: "]),
            ("fit good.csv --out good.csv --device cpu", 2, &["good.csv: is a file; --out names a folder"]),
            ("fit good.csv -target y", 2, &["unexpected argument", "did you mean --target?"]),
            (
                "fit good.csv --target my target",
                2,
                &["unexpected argument 'target'", "put names with blanks in quotes"],
            ),
            (
                "fit good.csv --ignore x,z --device cpu",
                1,
                &["no input is left ('x' left out (--ignore); 'z' left out (--ignore))"],
            ),
            ("fit good.csv --set foo=1", 2, &["--set: foo: no such key; `vifo fit --keys` lists all"]),
            ("fit one_class.csv --device cpu", 1, &["one_class.csv", "'y'", "only one class", "another --target"]),
            ("fit many_classes.csv --device cpu", 1, &["many_classes.csv", "'y'", "classes", "another --target"]),
            ("fit same.csv --device cpu", 1, &["same.csv", "'y'", "the same value", "another --target"]),
            ("fit good.csv --as x=colour --device cpu", 2, &["data.as", "x=colour", "number, text, date, ignore"]),
            ("fit good.csv --as q=text --device cpu", 2, &["good.csv", "'q'", "'x', 'z', 'y'"]),
            ("fit good.csv --target yy --device cpu", 2, &["good.csv", "'yy'", "'x', 'z', 'y'"]),
            ("fit good.csv --ignore q --device cpu", 2, &["good.csv", "'q'", "'x', 'z', 'y'"]),
            ("fit good.csv --test-file narrow.csv --device cpu", 1, &["narrow.csv", "'z'", "add it"]),
            ("fit good.csv --split-file nosuch.txt --device cpu", 1, &["nosuch.txt", "cannot read", "check the path"]),
        ],
    );
}

#[test]
fn fit_names_what_is_wrong_with_a_recipe() {
    let dir = tables();
    let d = dir.path();
    write(d, "key.toml", "[data]\ntoy = \"moons\"\n[train]\nepoch = 3\n");
    write(d, "syntax.toml", "[data]\ntoy = \"moons\"\n[train\nepochs = 3\n");
    write(d, "nothing.toml", "[train]\nepochs = 3\n");
    write(d, "eta.toml", "[data]\ntoy = \"moons\"\n[method]\neta = -1\n");
    check(
        d,
        &[
            ("fit key.toml --device cpu", 2, &["key.toml", "train.epoch:", "did you mean train.epochs?"]),
            ("fit syntax.toml --device cpu", 2, &["syntax.toml, line 3", "not TOML", "mend the line"]),
            (
                "fit nothing.toml --device cpu",
                2,
                &["nothing.toml", "no data", "set data.file, data.images, data.points or data.toy"],
            ),
            ("fit nosuch.toml", 1, &["nosuch.toml", "cannot read", "check the path"]),
            ("fit eta.toml --device cpu", 2, &["eta.toml", "method.eta", "-1", "at least 0", "leave the key out"]),
            ("fit good.csv --eta -1 --device cpu", 2, &["--eta", "-1", "at least 0"]),
            ("fit good.csv --eta nan --device cpu", 2, &["--eta", "nan", "at least 0"]),
            ("fit good.csv --set method.etta=1 --device cpu", 2, &["--set", "method.etta", "did you mean method.eta?"]),
            ("fit good.csv --set nonsense --device cpu", 2, &["--set", "\"nonsense\"", "key=value"]),
            ("fit good.csv --epochs many --device cpu", 2, &["--epochs", "\"many\"", "a whole number from 0"]),
            ("fit good.csv --method vifoo --device cpu", 2, &["--method", "\"vifoo\"", "\"vifo-mean\""]),
            ("fit good.csv --hidden 0 --device cpu", 2, &["--hidden", "[0]", "from 1"]),
            ("fit good.csv --header maybe --device cpu", 2, &["--header", "\"maybe\"", "yes, no"]),
            ("fit good.csv --device gpu", 1, &["--device gpu", "no hardware GPU", "--device cpu"]),
            ("fit good.csv --device nosuch", 1, &["--device nosuch", "no adapter", "--device cpu"]),
        ],
    );
}

/// Each method's keys: what it cannot do with a task, ranges, names that others have for it.
#[test]
fn fit_names_what_is_wrong_with_a_method() {
    let dir = tables();
    let d = dir.path();
    let rows: &[(&str, &[&str])] = &[
        ("--method dirichlet", &["method.name", "\"dirichlet\" with a regression", "a classification", "vifo-mean"]),
        ("--method multiswag", &["--method", "\"multiswag\"", "take \"swag\"", "members"]),
        ("--method sgd", &["--method", "take \"base\" with the optimizer"]),
        ("--method laplac", &["--method", "did you mean \"laplace\"?"]),
        ("--method swa --set train.patience=3", &["train.patience", "3 with swa", "allowed: 0", "leave it out"]),
        (
            "--method swag --epochs 5 --set train.swa_start=5",
            &["train.swa_start", "5 of 5 epochs", "fewer than 5", "lower it"],
        ),
        (
            "--method swag --set swag.columns=1",
            &["swag.columns", "1 is not allowed", "from 2 to 1000", "default is 20"],
        ),
        ("--method swa --set train.swa_lr=0", &["train.swa_lr", "0 is not allowed", "above 0"]),
        ("--method repulsive --members 65", &["method.members", "65 with repulsive", "at most 64", "lower it"]),
        ("--method repulsive --set repulsive.space=both", &["repulsive.space", "\"function\", \"weights\""]),
        ("--method repulsive --set repulsive.strength=-1", &["repulsive.strength", "at least 0", "default is 1"]),
        (
            "--method repulsive --set repulsive.prior_variance=0",
            &["repulsive.prior_variance", "above 0", "default is 5"],
        ),
        ("--method dropout --set net.dropout=0", &["net.dropout", "above 0", "leave it out for 0.1"]),
        ("--method dropout --set net.dropout=1", &["net.dropout", "at most 0.95"]),
        (
            "--method laplace --set laplace.structure=none",
            &["laplace.structure", "\"kronecker\", \"full\", \"diagonal\""],
        ),
        (
            "--method laplace --set laplace.prior_precision=0",
            &["laplace.prior_precision", "at least 0.000001", "at most 100000000"],
        ),
        ("--method laplace --set laplace.prior_precision=1e-300", &["laplace.prior_precision", "at least 0.000001"]),
        ("--method laplace --set laplace.predict=mean", &["laplace.predict", "\"probit\", \"samples\""]),
        ("--method vbll --set vbll.regularizer=-2", &["vbll.regularizer", "at least 0", "default is 1"]),
        ("--method vbll --set vbll.regulariser=1", &["vbll.regulariser", "did you mean vbll.regularizer?"]),
        ("--method base --set train.adam_epochs=-1", &["train.adam_epochs", "from 0", "default is 0"]),
    ];
    let commands: Vec<String> = rows.iter().map(|(args, _)| format!("fit good.csv {args} --device cpu")).collect();
    let rows: Vec<(&str, i32, &[&str])> = commands.iter().zip(rows).map(|(c, (_, w))| (c.as_str(), 2, *w)).collect();
    check(d, &rows);
}

#[test]
fn fit_names_what_is_wrong_with_points() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    write(d, "ragged.toml", "[data]\npoints = [[0, 1], [1, 2], [1, 2, 3]]\n");
    write(d, "text.toml", "[data]\npoints = [[0, 1], [\"a\", 2]]\n");
    write(d, "nan.toml", "[data]\npoints = [[0, nan]]\n");
    write(d, "huge.toml", "[data]\npoints = [[0, 1e300], [1, 2]]\n");
    write(d, "class.toml", "[data]\npoints = [[0, 1, 0], [1, 2, 1.5]]\n");
    write(d, "flat.toml", "[data]\npoints = [1, 2]\n");
    write(d, "empty.toml", "[data]\npoints = []\n");
    write(d, "one.toml", "[data]\npoints = [[0, 1]]\n");
    write(d, "oneclass.toml", "[data]\npoints = [[0, 1, 3], [1, 1, 3]]\n");
    write(d, "two.toml", "[data]\ntoy = \"moons\"\npoints = [[0, 1], [1, 2]]\n");
    check(
        d,
        &[
            (
                "fit ragged.toml --device cpu",
                2,
                &["ragged.toml: data.points, row 3", "3 numbers where row 1 has 2", "give all rows as many"],
            ),
            ("fit text.toml --device cpu", 2, &["text.toml: data.points, row 2", "\"a\" is no number"]),
            ("fit nan.toml --device cpu", 2, &["data.points, row 1", "NaN", "from -1e12 to 1e12"]),
            ("fit huge.toml --device cpu", 2, &["data.points, row 1", "1e300", "from -1e12 to 1e12"]),
            ("fit class.toml --device cpu", 2, &["data.points, row 2", "class 1.5", "from 0 to 99"]),
            ("fit flat.toml --device cpu", 2, &["data.points, row 1", "1 is no list", "numbers in brackets"]),
            ("fit empty.toml --device cpu", 2, &["data.points", "0 points", "add points"]),
            ("fit one.toml --device cpu", 2, &["data.points", "1 point;", "add points"]),
            ("fit oneclass.toml --device cpu", 2, &["data.points", "one class", "two classes at least"]),
            ("fit two.toml --device cpu", 2, &["two.toml", "more than one of", "keep one"]),
            ("fit one.toml --set data.points=[[0,1],[1]] --device cpu", 2, &["--set: data.points, row 2", "1 number"]),
            ("fit one.toml --set data.points=[[0,1] --device cpu", 2, &["--set: data.points", "no list"]),
            ("fit one.toml --set data.point=[[0,1]] --device cpu", 2, &["did you mean data.points?"]),
        ],
    );
}

#[test]
fn fit_spares_what_exists() {
    let dir = tables();
    let d = dir.path();
    fit(d, "good.csv --out run");
    let before = std::fs::read(d.join("run/results.json")).unwrap();
    check(
        d,
        &[
            ("fit good.csv --device cpu --out run", 2, &["run", "already exists", "--out", "--force", "--resume"]),
            ("fit good.csv --device cpu --out theirs --force", 2, &["theirs", "not a run folder", "--out"]),
            (
                "fit good.csv --device cpu --out theirs/thesis.txt",
                2,
                &["thesis.txt: is a file", "--out names a folder"],
            ),
            ("fit good.csv --device cpu --out theirs/thesis.txt --force", 2, &["thesis.txt", "not a run folder"]),
            // A run that could be replaced, but by nothing: the old one must survive.
            ("fit same.csv --device cpu --out run --force", 1, &["same.csv", "the same value"]),
            ("fit --resume theirs", 2, &["theirs", "is not a run folder", "check the path"]),
            ("fit --resume nosuch", 2, &["nosuch", "does not exist", "check the path"]),
        ],
    );
    assert_eq!(std::fs::read(d.join("run/results.json")).unwrap(), before);
    assert!(d.join("theirs/thesis.txt").is_file());
}

#[test]
fn training_that_fails_says_where_and_why() {
    let dir = tables();
    let args =
        "fit good.csv --lr 1000 --set train.optimizer=sgd --set train.clip=0 --epochs 50 --device cpu -q --out run";
    let out = vifo(dir.path()).args(args.split_whitespace()).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!((out.status.code(), err.trim_end().lines().count()), (Some(1), 1), "{err}");
    for part in ["error: ", "not a finite number", "lr", "train.clip"] {
        assert!(err.contains(part), "{part} is not in {err}");
    }
    // Whichever sees it first: the losses of the steps, or the rows that were held out.
    assert!(err.contains("step ") || err.contains("epoch "), "{err}");
    assert!(!dir.path().join("run").exists(), "a run without a checkpoint leaves no folder");
}

#[test]
fn huge_targets_train_and_give_finite_metrics() {
    let dir = tables();
    table(dir.path(), "huge.csv", |i| (1e12 * (i as f64 * 0.1 + 1.0)).to_string(), "");
    fit(dir.path(), "huge.csv --out run");
    let text = std::fs::read_to_string(dir.path().join("run/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let metrics = results["metrics"].as_array().unwrap();
    assert!(metrics.len() > 6);
    for m in metrics {
        assert!(m["value"].as_f64().is_some_and(f64::is_finite), "{m}");
    }
}

#[test]
fn ten_thousand_columns_work_in_reasonable_time() {
    let dir = tempfile::tempdir().unwrap();
    const COLUMNS: usize = 10_000;
    let line = |cell: &dyn Fn(usize) -> String| (0..COLUMNS).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let rows: String = (0..30).map(|i| line(&move |j| ((i * 7919 + j * 104_729) % 1009).to_string())).collect();
    write(dir.path(), "wide.csv", line(&|j| format!("x{j}")) + &rows);
    let start = Instant::now();
    vifo(dir.path()).args(["inspect", "wide.csv"]).assert().success();
    fit(dir.path(), "wide.csv --out run --task regression");
    vifo(dir.path()).args(["predict", "run", "wide.csv", "--device", "cpu", "-q"]).assert().success();
    // About a second; the bound is there to catch what is quadratic in the columns.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A disk of 64 KiB, which only root may mount.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let dir = tables();
    fit(dir.path(), "good.csv --out run");
    let small = dir.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mount = |program: &str, args: &[&str]| {
        std::process::Command::new(program).args(args).arg(&small).output().is_ok_and(|o| o.status.success())
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        println!("skipped: mounting a small tmpfs needs root");
        return;
    }
    write(&small, "filler", vec![0u8; 64 * 1024]);
    let answers: Vec<(std::process::Output, &str)> = ["small/p.csv", "small/run"]
        .into_iter()
        .map(|to| {
            let args =
                if to.ends_with(".csv") { "predict run good.csv --device cpu" } else { "fit good.csv --device cpu -q" };
            (vifo(dir.path()).args(args.split_whitespace()).args(["--out", to]).output().unwrap(), to)
        })
        .collect();
    let left = files(&small);
    assert!(mount("umount", &[]));
    for (out, to) in answers {
        let err = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(1) && err.trim_end().lines().count() == 1, "{err}");
        for part in ["error: ", to, "No space left on device", "free space on the disk"] {
            assert!(err.contains(part), "{part} is not in {err}");
        }
    }
    // Not half a file, and no temporary one.
    let is_file = |p: &&PathBuf| p.file_name().is_some_and(|n| n != "filler" && n.to_string_lossy().contains('.'));
    assert_eq!(left.iter().filter(is_file).count(), 0, "{left:?}");
}
