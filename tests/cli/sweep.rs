//! `vifo sweep` as a user runs it: the real binary in a temporary folder.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

fn vifo(dir: &Path, args: &str) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").arg("sweep").args(args.split_whitespace());
    c
}

fn run(dir: &Path, args: &str) -> Output {
    vifo(dir, args).output().expect("the binary runs")
}

/// Runs to success; returns stdout and stderr.
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = run(dir, args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(out.status.success(), "vifo sweep {args}: {}", text(&out.stderr));
    (text(&out.stdout), text(&out.stderr))
}

/// One line that begins with error:, this exit code, and all of these parts; nothing is made.
fn refused(dir: &Path, args: &str, code: i32, parts: &[&str]) {
    let before = tree(dir);
    let out = run(dir, args);
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(code), "{args}: {err}");
    let errors: Vec<&str> = err.lines().filter(|l| l.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && err.trim_end().lines().last() == Some(errors[0]), "{args}: {err}");
    for part in parts {
        assert!(errors[0].contains(part), "{args}: {part} is not in {err}");
    }
    assert_eq!(before, tree(dir), "{args} made or changed something");
}

/// Every file below, with the time of its last change.
fn tree(dir: &Path) -> Vec<(PathBuf, SystemTime)> {
    let (mut out, mut left) = (vec![], vec![dir.to_path_buf()]);
    while let Some(folder) = left.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            if entry.path().is_dir() {
                left.push(entry.path());
            } else {
                out.push((entry.path(), entry.metadata().expect("a file").modified().expect("a time")));
            }
        }
    }
    out.sort();
    out
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, "--", pid]).status().expect("kill").success());
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a run of the sweep has written a checkpoint and is not done.
fn wait_for_half_a_run(sweep: &Path) {
    wait_for("a checkpoint", || {
        let Ok(runs) = sweep.read_dir() else { return false };
        runs.flatten().any(|r| {
            r.path().join("checkpoints/last.safetensors").is_file() && !r.path().join("results.json").is_file()
        })
    });
}

/// Two methods, two etas, two seeds: eight runs, each some hundred checkpoints long.
const SMALL: &str = r#"
device = "cpu"
seeds = 2
[data]
toy = "cubic"
rows = 60
[train]
epochs = 120
checkpoint_seconds = 0
[method]
members = 2
[grid]
method.name = ["base", "vifo-mean"]
method.eta = [0.1, 1]
"#;

const RUNS: [&str; 8] = [
    "base-eta0.1-seed1",
    "base-eta0.1-seed2",
    "base-eta1-seed1",
    "base-eta1-seed2",
    "vifo-mean-eta0.1-seed1",
    "vifo-mean-eta0.1-seed2",
    "vifo-mean-eta1-seed1",
    "vifo-mean-eta1-seed2",
];

/// What must not depend on when, beside what and how often a run was trained.
fn same_runs(a: &Path, b: &Path) {
    for run in RUNS {
        for file in ["results.json", "predictions.csv", "recipe.toml"] {
            let bytes = |sweep: &Path| std::fs::read(sweep.join(run).join(file)).expect("a file of a run");
            assert!(bytes(a) == bytes(b), "{run}/{file} differs");
        }
        assert!(tensors(&a.join(run)) == tensors(&b.join(run)), "{run}: the weights differ");
    }
}

/// The tensors of the last checkpoint. The header before them, which is padded, holds the seconds of training.
fn tensors(run: &Path) -> Vec<u8> {
    let bytes = std::fs::read(run.join("checkpoints/last.safetensors")).expect("a checkpoint");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    assert!(bytes.len() > 8 + header + 1000, "tensors");
    bytes[8 + header..].to_vec()
}

fn spawn(dir: &Path, args: &str) -> Child {
    let mut c = vifo(dir, args);
    // A group of its own, so that all of its processes can be killed at once.
    c.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts")
}

fn killed(child: Child) -> String {
    let out = child.wait_with_output().expect("ends");
    String::from_utf8_lossy(&out.stderr).to_string()
}

#[test]
fn killed_and_resumed_is_the_same_to_the_byte() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("s.toml"), SMALL).expect("written");
    let (listed, _) = ok(d, "s.toml --list");
    assert_eq!(listed.lines().map(|l| l.split_whitespace().nth(1).expect("a name")).collect::<Vec<_>>(), RUNS);
    assert!(!d.join("runs").exists(), "a list leaves nothing");
    let (table, said) = ok(d, "s.toml --out whole --jobs 1");
    assert!(
        said.contains("8 to train, 1 at a time (as asked)") && said.contains("[8/8] vifo-mean-eta1-seed2"),
        "{said}"
    );
    assert!(table.starts_with("s: 8 of 8 runs, mean ± sd over seeds\n"), "{table}");

    // The sweep alone is killed: its runs see it and stop by themselves.
    let mut child = spawn(d, "s.toml --out cut --jobs 2");
    wait_for_half_a_run(&d.join("cut"));
    child.kill().expect("SIGKILL");
    child.wait().expect("ends");
    let held = |run: &str| {
        let lock = std::fs::File::open(d.join("cut").join(run).join(".lock"));
        lock.is_ok_and(|f| f.try_lock_shared().is_err())
    };
    wait_for("the end of its runs", || !RUNS.iter().any(|r| held(r)));
    let (listed, _) = ok(d, "s.toml --out cut --list");
    assert!(listed.contains("stopped after epoch ") && listed.contains("missing"), "{listed}");

    // All of its processes are killed, in the middle of whatever they do.
    let child = spawn(d, "s.toml --out cut --jobs 2");
    let begun = |n: usize| RUNS.iter().filter(|r| d.join("cut").join(r).join("manifest.json").is_file()).count() >= n;
    wait_for("a third run", || begun(3));
    wait_for_half_a_run(&d.join("cut"));
    signal("-KILL", &format!("-{}", child.id()));
    killed(child);
    let (listed, _) = ok(d, "s.toml --out cut --list");
    assert!(!listed.lines().all(|l| l.ends_with("done")), "{listed}");

    let (resumed, said) = ok(d, "s.toml --out cut --jobs 2");
    assert!(said.contains("resumes after epoch "), "{said}");
    assert_eq!(resumed, table);
    for file in ["table.csv", "table.txt", "table.md", "table.tex", "figures/sweep.csv", "sweep.toml"] {
        assert_eq!(read(&d.join("whole").join(file)), read(&d.join("cut").join(file)), "{file}");
    }
    same_runs(&d.join("whole"), &d.join("cut"));

    // Once more: nothing is trained, the same table; the folder alone says it all.
    let before = tree(&d.join("cut/base-eta1-seed1"));
    assert_eq!(ok(d, "cut").0, table);
    assert_eq!(before, tree(&d.join("cut/base-eta1-seed1")));
}

#[test]
fn neither_order_nor_number_of_processes_changes_a_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("one.toml"), SMALL.replace("120", "40")).expect("written");
    let other = SMALL.replace("120", "40").replace("[0.1, 1]", "[1.0, 0.1]").replace("seeds = 2", "seeds = [2, 1]");
    std::fs::write(d.join("two.toml"), format!("jobs = 4\n{other}")).expect("written");
    ok(d, "one.toml --jobs 1");
    let (_, said) = ok(d, "two.toml");
    assert!(said.contains("4 at a time"), "{said}");
    same_runs(&d.join("runs/one"), &d.join("runs/two"));
    let lines = |name: &str| {
        let mut lines: Vec<String> = read(&d.join(name)).lines().map(String::from).collect();
        lines.sort();
        lines
    };
    // Means of two seeds: a sum of two does not depend on their order.
    assert_eq!(lines("runs/one/table.csv"), lines("runs/two/table.csv"));
}

#[test]
fn ctrl_c_stops_all_and_says_how_to_go_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("s.toml"), SMALL.replace("120", "100000")).expect("written");
    let child = spawn(d, "s.toml --jobs 2");
    wait_for_half_a_run(&d.join("runs/s"));
    // Another sweep on the folder meanwhile.
    refused_beside(d, "s.toml", &["another vifo is writing to it"]);
    signal("-INT", &child.id().to_string());
    let out = child.wait_with_output().expect("ends");
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(130), "{err}");
    assert!(err.contains("stopping and saving") && err.ends_with("the same command resumes\n"));
    let (listed, _) = ok(d, "s.toml --list");
    assert_eq!(listed.matches("stopped after epoch ").count(), 2, "{listed}");
    let manifest = read(&d.join("runs/s").join(RUNS[0]).join("manifest.json"));
    assert!(manifest.contains("\"state\": \"stopped\""), "{manifest}");
    // Half-way there is no table of numbers yet, but no error either.
    let (table, said) = ok(d, "collect runs/s");
    assert!(table.contains("0 of 8 runs") && said.contains("0 of 8 runs done, 0 failed, 8 not done"), "{table}{said}");
    assert!(said.contains("missing: base-eta1-seed1") && said.contains("resume with `vifo sweep runs/s`"), "{said}");
}

/// As `refused`, while others write to the folder.
fn refused_beside(dir: &Path, args: &str, parts: &[&str]) {
    let out = run(dir, args);
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert_eq!(out.status.code(), Some(1), "{err}");
    let last = err.trim_end().lines().last().unwrap_or_default();
    assert!(last.starts_with("error: ") && parts.iter().all(|p| last.contains(p)), "{err}");
}

#[test]
fn one_run_that_fails_does_not_stop_the_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("weights.safetensors"), "no weights").expect("written");
    // Two files of weights: one that is none, and one of a network of this form.
    let small = "cubic --set device=cpu --set train.epochs=3 --set method.members=1 --set train.checkpoint_seconds=0";
    ok(d, &format!("{small} --seeds 1,2 --out first -q"));
    let export = Command::new(env!("CARGO_BIN_EXE_vifo"))
        .current_dir(d)
        .args(["export", "first/seed1", "good.safetensors"])
        .output()
        .expect("runs");
    assert!(export.status.success(), "{}", String::from_utf8_lossy(&export.stderr));
    let args = format!("{small} --grid net.weights=weights.safetensors,good.safetensors --seeds 2 --out s");
    let out = run(d, &args);
    let (table, err) =
        (String::from_utf8_lossy(&out.stdout).to_string(), String::from_utf8_lossy(&out.stderr).to_string());
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(table.contains("2 of 4 runs") && table.contains("0 of 2"), "{table}");
    assert!(err.contains("failed: weightsweights-seed1: ") && err.contains("weights.safetensors"), "{err}");
    assert!(err.trim_end().lines().last().is_some_and(|l| l.starts_with("error: s: 2 of its runs failed")), "{err}");
    for file in ["table.csv", "table.md", "runs.csv", "figures/sweep.png"] {
        assert!(d.join("s").join(file).is_file(), "{file}");
    }
    let runs = read(&d.join("s/runs.csv"));
    assert!(runs.contains(",failed,") && runs.contains(",done,"), "{runs}");
    // What is there can be gathered, with the same exit code.
    let out = run(d, "collect s");
    assert_eq!((out.status.code(), String::from_utf8_lossy(&out.stdout).to_string()), (Some(1), table.clone()));
    // Quiet, the failures are said all the same.
    let out = run(d, &format!("{args} -q"));
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    assert!(err.contains("failed: weightsweights-seed2") && !err.contains("[1/2]"), "{err}");
    // Mended, the same command trains what is missing.
    std::fs::copy(d.join("good.safetensors"), d.join("weights.safetensors")).expect("copied");
    let (table, said) = ok(d, &args);
    assert!(said.contains("4 runs, 2 done, 2 failed before") && said.contains("2 to train"), "{said}");
    assert!(table.contains("4 of 4 runs"), "{table}");
}

#[test]
fn more_values_add_runs_and_another_sweep_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let small = "cubic --set device=cpu --set train.epochs=3 --set method.members=1";
    let (_, said) = ok(d, &format!("{small} --grid method.eta=0.1,1"));
    assert!(said.contains("cubic-sweep: 2 runs"), "{said}");
    let (table, said) = ok(d, &format!("{small} --grid method.eta=0.1,1,10 --seeds 1,2 --format csv"));
    assert!(said.contains("6 runs, 2 done") && said.contains("4 to train"), "{said}");
    let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(lines[0][..4], ["method.eta", "runs", "runs_asked", "rmse_mean"], "no validation rows in this recipe");
    assert_eq!(lines[1..].iter().map(|l| l[..3].join(" ")).collect::<Vec<_>>(), ["0.1 2 2", "1 2 2", "10 2 2"]);
    // The mean and the sd with n - 1 of the two runs.
    let rmse = |run: &str| -> f64 {
        let text = read(&d.join("runs/cubic-sweep").join(run).join("results.json"));
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        json["metrics"][0]["value"].as_f64().expect("rmse")
    };
    let (a, b) = (rmse("eta1-seed1"), rmse("eta1-seed2"));
    let cell = |c: usize| lines[2][c].parse::<f64>().expect("a number");
    assert!(
        (cell(3) - (a + b) / 2.0).abs() < 1e-12 && (cell(4) - (a - b).abs() / 2f64.sqrt()).abs() < 1e-12,
        "{table}"
    );
    // Fewer: what is left out is told of.
    let (table, said) = ok(d, &format!("{small} --grid method.eta=10 --seeds 1,2"));
    assert!(table.contains("2 of 2 runs") && said.contains("4 runs of an earlier grid in no table"), "{table}{said}");

    let wide = format!("{small} --grid method.eta=1");
    refused(d, &format!("{wide} --grid method.members=1,2"), 2, &["not over method.eta, method.members"]);
    let other = format!("{small} --grid prior.a=0.1,0.2");
    refused(d, &other, 2, &["holds a sweep over method.eta, not over prior.a", "--out"]);
    let longer = wide.replace("epochs=3", "epochs=4");
    refused(d, &format!("{longer} --seeds 2"), 2, &["eta1-seed1", "train.epochs = 3, not 4", "--out"]);
    std::fs::create_dir(d.join("mine")).expect("made");
    std::fs::write(d.join("mine/thesis.tex"), "mine").expect("written");
    refused(d, &format!("{wide} --seeds 2 --out mine"), 2, &["mine", "no sweep folder", "--out"]);
    refused(d, &format!("{wide} --seeds 2 --out mine/thesis.tex"), 2, &["thesis.tex", "is a file"]);
    std::fs::create_dir_all(d.join("runs/cubic-sweep/eta7-seed1")).expect("made");
    std::fs::write(d.join("runs/cubic-sweep/eta7-seed1/notes.txt"), "mine").expect("written");
    refused(d, &format!("{small} --grid method.eta=7"), 2, &["eta7-seed1", "notes.txt"]);
    refused(d, "collect mine", 2, &["mine", "sweep.toml is missing"]);
    refused(d, "collect nowhere", 2, &["nowhere", "does not exist"]);
    refused(d, "run runs/cubic-sweep 3", 2, &["no run 3", "1 to 2"]);
    refused(d, "collect runs/cubic-sweep --metric nl", 2, &["no metric 'nl'", "did you mean nll?"]);
}

/// A file of this content is refused with these parts, before anything is trained or made.
fn bad(d: &Path, content: &str, parts: &[&str]) {
    std::fs::write(d.join("bad.toml"), content).expect("written");
    refused(d, "bad.toml", 2, parts);
}

#[test]
// Long: a table of cases.
fn every_key_and_value_is_checked_before_the_first_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let toy = "[data]\ntoy = \"cubic\"\n";
    let grid = |text: &str| format!("{toy}[grid]\n{text}");
    for (content, parts) in [
        (grid("method.etta = [1]"), vec!["bad.toml, [grid]: method.etta: no such key", "did you mean method.eta?"]),
        (grid("method.eta = [0.1, -1]"), vec!["bad.toml, [grid]: method.eta: -1 is not allowed", "at least 0"]),
        (grid("method.name = [\"base\", \"vifo\"]"), vec!["method.name: \"vifo\" is not allowed", "\"vifo-mean\""]),
        (grid("method.eta = 0.1"), vec!["method.eta: 0.1 is no list", "method.eta = [0.1]"]),
        (grid("method.eta = []"), vec!["[grid]: method.eta: no values"]),
        (grid("method.eta = [1, 1.0]"), vec!["method.eta: 1.0 stands twice"]),
        (grid("seed = [1, 2]"), vec!["[grid]: seed", "seeds = [1, 2, 3]"]),
        (grid("name = [\"a\"]"), vec!["[grid]: name"]),
        (grid("method = [1]"), vec!["[grid]: method"]),
        (format!("grid = 3\n{toy}"), vec!["bad.toml: grid: 3 is not allowed"]),
        (format!("seeds = 0\n{}", grid("method.eta = [1, 2]")), vec!["bad.toml: seeds: 0 is not allowed", "[1, 2, 3]"]),
        (format!("seeds = [1, -2]\n{toy}"), vec!["seeds: [1, -2] is not allowed"]),
        (format!("seeds = [1, 1]\n{toy}"), vec!["seeds: 1 stands twice"]),
        (format!("jobs = 0\nseeds = 2\n{toy}"), vec!["bad.toml: jobs: 0", "from 1 to 1024"]),
        (format!("metrics = \"nll\"\nseeds = 2\n{toy}"), vec!["bad.toml: metrics"]),
        (format!("out = 3\nseeds = 2\n{toy}"), vec!["bad.toml: out: 3"]),
        (format!("seeds = 2\nrecipe = \"moon\"\n{toy}"), vec!["moon", "no such file"]),
        (format!("seeds = 2\nrecipes = \"moons\"\n{toy}"), vec!["bad.toml: recipes", "did you mean recipe?"]),
        (format!("seeds = 2\n[trian]\nepochs = 3\n{toy}"), vec!["bad.toml: trian"]),
        (format!("seeds = 2\n{toy}[slurm]\ntimes = 3"), vec!["[slurm]: times: no such key", "did you mean time?"]),
        (format!("seeds = 2\n{toy}[slurm]\ntime = \"soon\""), vec!["[slurm]: time: \"soon\" is no time", "2:00:00"]),
        (format!("seeds = 2\n{toy}[slurm]\nmem = \"lots\""), vec!["[slurm]: mem", "2G"]),
        (format!("seeds = 2\n{toy}[slurm]\ncpus_per_task = 0"), vec!["[slurm]: cpus_per_task"]),
        (format!("seeds = 2\n{toy}[slurm]\nsetup = [\"a\\nb\"]"), vec!["[slurm]: setup", "one line"]),
        (format!("seeds = 2\n{toy}[slurm]\noptions = [\"--array=1\"]"), vec!["--array is set by vifo"]),
        ("[grid]\nmethod.eta = [1, 2]".into(), vec!["run eta1-seed1: no data"]),
        ("seeds = = 2".into(), vec!["bad.toml, line 1: not TOML"]),
        // No single key is wrong, but a combination is.
        (
            grid("method.name = [\"vifo-mean\", \"base\"]\nmethod.eta_aux = [0.1]"),
            vec!["run base-eta_aux0.1-seed1", "VIFO"],
        ),
        // Only the data tell.
        (
            format!(
                "seeds = 2\n{toy}[method]\neta_aux = 1\naux_source = \"grid\"\n[grid]\ndata.toy = [\"cubic\", \"moons\"]"
            ),
            vec!["run toymoons-seed1: method.aux_source", "one input only"],
        ),
        (grid("method.eta = [1, 2]\n[[without]]\nmethod.eta = 3"), vec!["[[without]] 1: method.eta: 3", "1.0, 2.0"]),
        (grid("method.eta = [1, 2]\n[[without]]\nmethod.members = 3"), vec!["method.members: is no key of the grid"]),
        (grid("method.eta = [1, 2]\n[[without]]\nmethod.eta = [1, 2]"), vec!["leaves out every run"]),
        (grid("method.eta = [1, 2]\n[[without]]"), vec!["[[without]] 1: is empty"]),
    ] {
        bad(d, &content, &parts);
    }
    let many = (1..=1000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    bad(
        d,
        &grid(&format!("method.eta = [{many}]\nmethod.samples = [{many}]")),
        &["1000 x 1000 x 1 runs", "at most 100000"],
    );
    std::fs::write(d.join("bad.toml"), "seeds = 2\n[data]\nfile = \"no.csv\"").expect("written");
    refused(d, "bad.toml", 1, &["bad.toml, run seed1: ", "no.csv"]);
    for (args, parts) in [
        ("cubic", vec!["neither a grid nor several seeds", "--grid"]),
        ("cubic --grid method.eta", vec!["--grid", "KEY=VALUE"]),
        ("cubic --grid method.eta=1,x", vec!["--grid: method.eta: \"x\" is not allowed"]),
        ("cubic --grid method.eta=1,2 --set method.eta=3", vec![]),
        ("cubic --seeds x", vec!["--seeds: \"x\" is not allowed"]),
        ("cubic --seeds 2 --set name=x", vec!["--set: name"]),
        ("cubic --seeds 2 --jobs 0", vec!["--jobs"]),
        ("cubic --seeds 2 --write-only", vec!["--slurm"]),
        ("cubic --seeds 2 --slurm --slurm-option=partition", vec!["--slurm-option", "--name=value"]),
        ("nothing.toml", vec!["nothing.toml"]),
    ] {
        if parts.is_empty() {
            // A later grid wins over an earlier setting: no contradiction.
            let (listed, _) = ok(d, &format!("{args} --list"));
            assert_eq!(listed.lines().count(), 2, "{listed}");
        } else {
            refused(d, args, if args.starts_with("nothing") { 1 } else { 2 }, &parts);
        }
    }
}

#[test]
fn a_grid_of_lists_paths_and_splits_has_readable_names() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let rows: String = (0..40).map(|i| format!("{i},{}\n", (i * i) % 17)).collect();
    for name in ["a", "b"] {
        std::fs::create_dir(d.join(name)).expect("made");
        std::fs::write(d.join(name).join("data.csv"), format!("x,y\n{rows}")).expect("written");
    }
    std::fs::write(d.join("splits"), "0 1 2 3 4\n5 6 7 8 9\n").expect("written");
    let text = "device = \"cpu\"\nseeds = [7]\n[data]\nsplit_file = \"splits\"\n[train]\nepochs = 2\n[method]\nmembers = 1\n\
                [grid]\ndata.file = [\"a/data.csv\", \"b/data.csv\"]\nnet.hidden = [[8], [8, 4]]\ndata.split = [0, 1]\n\
                [[without]]\nnet.hidden = [8, 4]\ndata.split = 1\n";
    std::fs::write(d.join("s.toml"), text).expect("written");
    let (listed, _) = ok(d, "s.toml --list");
    let names: Vec<&str> = listed.lines().map(|l| l.split_whitespace().nth(1).expect("a name")).collect();
    assert_eq!(names.len(), 6, "{listed}");
    assert!(
        names.iter().all(|n| (n.starts_with("filea_data-") || n.starts_with("fileb_data-")) && n.ends_with("-seed7")),
        "{listed}"
    );
    assert!(names[1].contains("-split0-hidden8x4-"), "{listed}");
    let (table, _) = ok(d, "s.toml --format csv -q");
    // Splits are repetitions, as seeds are.
    assert!(table.starts_with("data.file,net.hidden,runs,"), "{table}");
    let counts: Vec<&str> = table.lines().skip(1).map(|l| l.rsplit(']').next().expect("the rest")).collect();
    assert_eq!(counts.len(), 4, "{table}");
    assert!(counts[0].contains(",2,2,") && counts[1].contains(",1,1,"), "{table}");
    // `compare` takes the folder as it is.
    let out =
        Command::new(env!("CARGO_BIN_EXE_vifo")).current_dir(d).args(["compare", "runs/s"]).output().expect("runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// The example of the README holds what its first comment says.
#[test]
fn the_bundled_example_shows_what_it_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sweeps/moons-eta.toml");
    let (table, said) = ok(dir.path(), &format!("{} --set device=cpu --out s --format csv", file.display()));
    let nll = |method: &str, eta: &str| -> f64 {
        let line = table.lines().find(|l| l.starts_with(&format!("{method},{eta},"))).expect("a line");
        line.split(',').nth(4).expect("validation_nll_mean").parse().expect("a number")
    };
    let all = ["0.01", "0.1", "1", "10"].map(|eta| nll("vifo-mean", eta));
    assert!(all.is_sorted(), "{all:?}");
    assert_eq!(table.lines().count(), 6, "{table}");
    assert!(said.contains("lowest validation NLL: method=") && said.contains("eta=0.01"), "{said}");
    assert!(!said.contains("repeat"), "{said}");
    let svg = read(&dir.path().join("s/figures/sweep.svg"));
    for word in ["Sweep moons-eta", "method.eta", "validation NLL, nats ↓", "test accuracy ↑", "vifo-mean", "10"] {
        assert!(svg.contains(&format!(">{word}</text>")), "{word}");
    }
}
