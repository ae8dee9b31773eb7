//! Faults of issue 13 that are about files and signals, by their numbers, through the real binary.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn vifo(dir: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").stdin(Stdio::null());
    c
}

fn run(dir: &Path, args: &str) -> Output {
    vifo(dir).args(args.split_whitespace()).output().expect("the binary runs")
}

fn err_of(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn ok(dir: &Path, args: &str) -> Output {
    let out = run(dir, args);
    assert!(out.status.success(), "vifo {args}: {}", err_of(&out));
    out
}

/// Refused with `code`, in one line that holds all of `parts`.
#[track_caller]
fn refused(out: &Output, code: i32, parts: &[&str]) {
    let err = err_of(out);
    assert_eq!(out.status.code(), Some(code), "{err}");
    let line = err.trim_end().lines().last().unwrap_or_default();
    parts.iter().for_each(|part| assert!(line.contains(part), "'{part}' is not in: {line}"));
}

fn table(dir: &Path, name: &str, rows: usize) {
    let mut text = String::from("a,b,y\n");
    for i in 0..rows {
        let (a, b) = ((i as f64 * 0.37).sin(), (i as f64 * 0.73).cos());
        text += &format!("{a},{b},{}\n", 2.0 * a - b + 0.1 * (i as f64 * 1.3).sin());
    }
    std::fs::write(dir.join(name), text).expect("written");
}

fn read(path: PathBuf) -> Vec<u8> {
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

const SMALL: &str = "--device cpu --members 2 --hidden 8 --epochs 6 -q";

/// C1: 57 bits of both checkpoints, in header and tensor data, and another seed's checkpoint; 57 of 57 are refused by name.
#[test]
fn c1_flipped_bits_and_foreign_checkpoints_are_refused_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 80);
    ok(d, &format!("fit t.csv {SMALL} --seed 1 --out one"));
    ok(d, &format!("fit t.csv {SMALL} --seed 2 --out two"));
    ok(d, "predict one t.csv --out before.csv -q --device cpu");
    for (file, flips, command) in [
        ("checkpoints/best.safetensors", 29, "predict one t.csv --out after.csv -q --device cpu"),
        ("checkpoints/last.safetensors", 28, "fit --resume one -q --device cpu"),
    ] {
        let path = d.join("one").join(file);
        let good = read(path.clone());
        for flip in 0..flips {
            let bit = (8 * good.len() - 1) * flip / (flips - 1);
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).expect("written");
            refused(&run(d, command), 1, &[file]);
        }
        std::fs::write(&path, read(d.join("two").join(file))).expect("written");
        refused(&run(d, command), 1, &[file, "SHA-256", "--accept-changed"]);
        std::fs::write(&path, &good).expect("written");
    }
    assert!(!d.join("after.csv").exists());
    ok(d, "predict one t.csv --out again.csv -q --device cpu");
    assert_eq!(read(d.join("before.csv")), read(d.join("again.csv")));
}

/// C1: every part that a command reads; what was edited on purpose is accepted once.
#[test]
fn c1_edited_parts_are_refused_until_they_are_accepted() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 120);
    ok(d, &format!("fit t.csv {SMALL} --out run"));
    ok(d, "calibrate run -q --device cpu");
    let edit = |file: &str, from: &str, to: &str| {
        let path = d.join("run").join(file);
        let good = String::from_utf8(read(path.clone())).expect("text");
        assert!(good.contains(from), "{good}");
        std::fs::write(&path, good.replacen(from, to, 1)).expect("written");
        move || std::fs::write(&path, &good).expect("restored")
    };
    for (file, from, to, commands) in [
        (
            "recipe.toml",
            "epochs = 6",
            "epochs = 7",
            &["predict run t.csv -q", "evaluate run", "fit --resume run -q"][..],
        ),
        ("encoder.json", "0.", "1.", &["predict run t.csv -q", "calibrate run -q", "export run w.safetensors -q"]),
        ("calibration.json", "\"threshold\": ", "\"threshold\": 1", &["predict run t.csv -q"]),
        ("manifest.json", "\"train_rows\": ", "\"train_rows\": 1", &["predict run t.csv -q", "fit --resume run -q"]),
        ("metrics.csv", "\n1,", "\n2,", &["fit --resume run -q"]),
    ] {
        let restore = edit(file, from, to);
        for command in commands {
            refused(&run(d, command), 1, &[file, "--accept-changed"]);
        }
        restore();
        ok(d, "predict run t.csv -q --device cpu");
    }
    drop(edit("recipe.toml", "epochs = 6", "epochs = 8"));
    let out = ok(d, "fit --resume run --accept-changed --device cpu");
    assert!(err_of(&out).contains("accepted: recipe.toml"), "{}", err_of(&out));
    let manifest = String::from_utf8(read(d.join("run/manifest.json"))).expect("text");
    assert!(manifest.contains("by hand, and accepted: recipe.toml"), "{manifest}");
    ok(d, "fit --resume run -q --device cpu");
    // A run of vifo 0.1.0 has no sums: read, and said once.
    let mut value: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    ["sums", "sha256"].iter().for_each(|key| drop(value.as_object_mut().expect("a table").remove(*key)));
    std::fs::write(d.join("run/manifest.json"), value.to_string()).expect("written");
    let err = err_of(&ok(d, "predict run t.csv --uncalibrated --device cpu"));
    assert_eq!(err.matches("older vifo").count(), 1, "{err}");
}

fn spawn(dir: &Path, args: &str) -> Child {
    vifo(dir).args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("spawned")
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen within 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// C1: killed at any moment, with a checkpoint at every evaluation: the run is read and resumed, and ends as if nothing had
/// been; C11: of its temporary files nothing is left.
#[test]
fn c1_c11_a_kill_at_any_moment_leaves_a_run_that_is_resumed() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 120);
    let args = "fit t.csv --device cpu --members 2 --epochs 400 --set train.patience=0 --set train.checkpoint_seconds=0 -q --out";
    ok(d, &format!("{args} whole"));
    for i in 0..8u64 {
        let mut child = spawn(d, &format!("{args} run"));
        wait_for("a checkpoint", || d.join("run/checkpoints/last.safetensors").is_file());
        std::thread::sleep(Duration::from_micros(1600 * i * i));
        child.kill().expect("killed");
        child.wait().expect("gone");
        if i % 3 == 0 {
            ok(d, "predict run t.csv -q --device cpu");
        }
        ok(d, "fit --resume run -q --device cpu");
        for file in ["predictions.csv", "results.json", "checkpoints/best.safetensors"] {
            if file.ends_with("safetensors") {
                continue;
            }
            assert_eq!(read(d.join("whole").join(file)), read(d.join("run").join(file)), "kill {i}: {file}");
        }
        for folder in ["run", "run/checkpoints", "run/figures"] {
            let left = d.join(folder).read_dir().expect("a folder").flatten();
            let left: Vec<_> =
                left.map(|e| e.file_name()).filter(|n| n.to_string_lossy().starts_with(".tmp")).collect();
            assert!(left.is_empty(), "{folder}: {left:?}");
        }
        std::fs::remove_dir_all(d.join("run")).expect("removed");
    }
}

/// Seconds from SIGTERM to the end; the exit code is that of a stop.
#[cfg(unix)]
fn stop(child: &mut Child) -> f64 {
    let start = Instant::now();
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let status = child.wait().expect("ended");
    let seconds = start.elapsed().as_secs_f64();
    let mut err = String::new();
    let _ = std::io::Read::read_to_string(&mut child.stderr.take().expect("a pipe"), &mut err);
    assert_eq!(status.code(), Some(130), "{err}");
    seconds
}

/// C5: an epoch far longer than two seconds, evaluated at its end alone: stopped within it, saved, and resumed to the bit.
#[cfg(unix)]
#[test]
fn c5_a_long_epoch_is_left_within_two_seconds_and_resumed_to_the_bit() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 12000);
    // A second and more in one epoch of single rows.
    let args =
        "fit t.csv --device cpu --members 2 --batch 1 --hidden 300,300 --epochs 2 --set train.patience=0 -q --out";
    let start = Instant::now();
    ok(d, &format!("{args} whole"));
    let whole = start.elapsed().as_secs_f64();
    let mut child = spawn(d, &format!("{args} run"));
    wait_for("the run's folder", || d.join("run/manifest.json").is_file());
    std::thread::sleep(Duration::from_secs_f64((whole / 5.0).min(3.0)));
    let seconds = stop(&mut child);
    assert!(seconds < 2.0, "stopped after {seconds} s");
    eprintln!("stopped after {seconds:.2} s of a run of {whole:.1} s");
    assert!(!d.join("run/results.json").exists(), "it came to its end: the test shows nothing");
    let metrics = String::from_utf8(read(d.join("run/metrics.csv"))).expect("text");
    assert_eq!(metrics.lines().count(), 1, "no epoch had ended: {metrics}");
    ok(d, "fit --resume run -q --device cpu");
    for file in ["predictions.csv", "results.json"] {
        assert_eq!(read(d.join("whole").join(file)), read(d.join("run").join(file)), "{file}");
    }
    // The losses of the epoch that was cut in two are those of the whole one.
    let losses = |run: &str| -> Vec<String> {
        let text = String::from_utf8(read(d.join(run).join("metrics.csv"))).expect("text");
        text.lines().skip(1).map(|l| l.split(',').skip(4).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(losses("whole"), losses("run"));
}

/// C5: Laplace's decomposition of 1,300 features x 3 classes takes minutes; it is abandoned, and made again by a resume.
#[cfg(unix)]
#[test]
fn c5_a_decomposition_is_abandoned_within_two_seconds() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 60);
    let args = "fit t.csv --device cpu --method laplace --set laplace.structure=full --members 1 --hidden 1500 --epochs 1 -q --out run";
    let mut child = spawn(d, args);
    // The last checkpoint comes before what ends the training.
    wait_for("the last checkpoint", || d.join("run/checkpoints/last.safetensors").is_file());
    std::thread::sleep(Duration::from_millis(800));
    if let Some(status) = child.try_wait().expect("asked") {
        panic!("it came to its end ({status}): the test shows nothing");
    }
    let seconds = stop(&mut child);
    assert!(seconds < 2.0, "stopped after {seconds} s");
    eprintln!("stopped after {seconds:.2} s");
    refused(&run(d, "predict run t.csv -q"), 1, &["best.safetensors", "no trained weights yet", "--resume run"]);
    let manifest = String::from_utf8(read(d.join("run/manifest.json"))).expect("text");
    assert!(manifest.contains("\"state\": \"stopped\""), "{manifest}");
}

/// C5: SWAG replays the training rows through each of its networks for the statistics of batch normalisation: seconds that no
/// epoch ends.
#[cfg(unix)]
#[test]
fn c5_swags_statistics_are_left_within_two_seconds() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let args = "fit digits --net preresnet --set data.image_size=32 --limit 300 --method swag --members 1 --epochs 1 --set train.swa_start=0 \
                --device cpu -q --out run";
    let mut child = spawn(d, args);
    wait_for("the last checkpoint", || d.join("run/checkpoints/last.safetensors").is_file());
    std::thread::sleep(Duration::from_millis(500));
    if let Some(status) = child.try_wait().expect("asked") {
        panic!("it came to its end ({status}): the test shows nothing");
    }
    let seconds = stop(&mut child);
    assert!(seconds < 2.0, "stopped after {seconds} s");
    assert!(!d.join("run/checkpoints/best.safetensors").exists(), "the statistics were done: the test shows nothing");
    let manifest = String::from_utf8(read(d.join("run/manifest.json"))).expect("text");
    assert!(manifest.contains("\"state\": \"stopped\""), "{manifest}");
}

/// A grey picture of side x side pixels that are all alike: small as a file, large in memory.
fn grey_png(side: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(vec![]);
    let picture = image::GrayImage::from_pixel(side, side, image::Luma([90]));
    picture.write_to(&mut bytes, image::ImageFormat::Png).expect("a PNG");
    bytes.into_inner()
}

/// C4: of two that start together with the same folder one trains, and the other touches nothing of it.
#[test]
fn c4_the_loser_of_a_race_leaves_the_winners_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 80);
    for _ in 0..6 {
        let both = [0, 1].map(|_| spawn(d, &format!("fit t.csv {SMALL} --out run")));
        let outs = both.map(|child| child.wait_with_output().expect("ended"));
        let done: Vec<bool> = outs.iter().map(|out| out.status.success()).collect();
        assert!(done.contains(&true), "{:?}", outs.map(|o| err_of(&o)));
        assert!(d.join("run/results.json").is_file() && d.join("run/report.html").is_file());
        ok(d, "predict run t.csv -q --device cpu");
        std::fs::remove_dir_all(d.join("run")).expect("removed");
    }
    // While one trains, another that wants its place is refused, --force or not, and it goes on.
    let long = "fit t.csv --device cpu --members 2 --epochs 100000 --set train.patience=0 --set train.checkpoint_seconds=0 -q --out run";
    let mut winner = spawn(d, long);
    wait_for("a checkpoint", || d.join("run/checkpoints/last.safetensors").is_file());
    refused(&run(d, &format!("fit t.csv {SMALL} --out run")), 2, &["already exists and is not empty"]);
    refused(&run(d, &format!("fit t.csv {SMALL} --out run --force")), 1, &["another vifo is writing to it"]);
    assert!(d.join("run/recipe.toml").is_file() && winner.try_wait().expect("asked").is_none());
    winner.kill().expect("killed");
    winner.wait().expect("gone");
}

/// C8: links in a run folder are not followed; C10: a stranger's file is not deleted.
#[cfg(unix)]
#[test]
fn c8_c10_links_and_strangers_in_a_run_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d, "t.csv", 80);
    std::fs::write(d.join("outside"), "precious").expect("written");
    std::fs::create_dir(d.join("elsewhere")).expect("made");
    ok(d, &format!("fit t.csv {SMALL} --out run"));
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(d.join(from), d.join(to)).expect("a link");
    std::fs::remove_file(d.join("run/.lock")).expect("removed");
    link("outside", "run/.lock");
    for command in ["fit --resume run -q", "calibrate run -q"] {
        refused(&run(d, command), 1, &[".lock", "symbolic link"]);
    }
    assert_eq!(read(d.join("outside")), b"precious");
    std::fs::remove_file(d.join("run/.lock")).expect("removed");
    std::fs::remove_dir_all(d.join("run/figures")).expect("removed");
    link("elsewhere", "run/figures");
    refused(&run(d, "fit --resume run -q"), 1, &["figures", "symbolic link"]);
    refused(&run(d, &format!("fit t.csv {SMALL} --out run --force")), 1, &["figures", "symbolic link"]);
    assert_eq!(d.join("elsewhere").read_dir().expect("a folder").count(), 0);
    std::fs::remove_file(d.join("run/figures")).expect("removed");
    std::fs::write(d.join("run/thesis.txt"), "mine").expect("written");
    refused(&run(d, &format!("fit t.csv {SMALL} --out run --force")), 2, &["thesis.txt", "not made by vifo"]);
    assert_eq!(read(d.join("run/thesis.txt")), b"mine");
    assert!(d.join("run/recipe.toml").is_file());
    std::fs::remove_file(d.join("run/thesis.txt")).expect("removed");
    ok(d, &format!("fit t.csv {SMALL} --out run --force"));
}

/// C6, C7: names that are paths and paths that end a line are refused, and nothing is made.
#[test]
fn c6_c7_names_and_paths_that_lead_elsewhere_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = &dir.path().join("work");
    std::fs::create_dir(d).expect("made");
    table(d, "t.csv", 60);
    for name in ["../X", "/tmp/X", "a/b", "..", ".hidden", "-rf", "a\\u0007b", ""] {
        let set = format!("name=\"{}\"", name.replace('\\', "\\\\"));
        let out = vifo(d).args(["fit", "t.csv", "-q", "--epochs", "1", "--set", &set]).output().expect("runs");
        refused(&out, 2, &["name"]);
    }
    let bad = "nl\ntouch X #";
    for args in [
        vec!["sweep", "t.csv", "--seeds", "2", "--slurm", "--write-only", "--out", bad],
        vec!["sweep", "t.csv", "--seeds", "2", "--list", "--out", bad],
        vec!["fit", "t.csv", "-q", "--epochs", "1", "--out", bad],
    ] {
        let out = vifo(d).args(&args).output().expect("runs");
        refused(&out, 2, &["--out", "control characters"]);
    }
    let there: Vec<_> = d.read_dir().expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(there, ["t.csv"]);
    assert!(!dir.path().join("X").exists());
}

/// C15: without a cluster to ask, 1,500 runs are written as two arrays of at most 1,000 tasks.
#[test]
fn c15_write_only_divides_1500_runs() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let sweep = "seeds = 750\n[data]\ntoy = \"cubic\"\nrows = 20\n[train]\nepochs = 1\n[grid]\nmethod.eta = [0.1, 1]\n";
    std::fs::write(d.join("s.toml"), sweep).expect("written");
    let out = vifo(d).env("PATH", d).args(["sweep", "s.toml", "--slurm", "--write-only"]).output().expect("runs");
    assert!(out.status.success(), "{}", err_of(&out));
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        said.contains("slurm.sh` and `sbatch --array=1-500 ") && said.trim_end().ends_with("slurm.sh 1000`"),
        "{said}"
    );
    let script = String::from_utf8(read(d.join("runs/s/slurm.sh"))).expect("text");
    assert!(
        script.contains("#SBATCH --array=1-1000\n") && script.contains("$((SLURM_ARRAY_TASK_ID + ${1:-0}))"),
        "{script}"
    );
}

/// C9: a table that does not fit is one line, under a limit of the address space.
#[cfg(target_os = "linux")]
#[test]
fn c9_a_table_beyond_the_memory_is_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let row = (0..30).map(|i| format!("{}", 0.123456 * f64::from(i))).collect::<Vec<_>>().join(",") + "\n";
    std::fs::write(d.join("t.csv"), row.repeat((57 << 20) / row.len())).expect("written");
    let limited =
        format!("ulimit -v 420000; exec '{}' fit t.csv -q --device cpu --epochs 1", env!("CARGO_BIN_EXE_vifo"));
    let out = Command::new("bash").current_dir(d).args(["-c", &limited]).output().expect("bash");
    refused(&out, 1, &["t.csv: needs about", "of memory", "that may be taken here"]);
}

/// C9: a picture that does not fit is one line that names it; ones that fit one at a time are decoded one at a time.
#[cfg(target_os = "linux")]
#[test]
fn c9_pictures_beyond_the_memory_are_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("one.png"), grey_png(13_000)).expect("written");
    for class in ["cat", "dog"] {
        std::fs::create_dir_all(d.join("images").join(class)).expect("made");
        for i in 0..6 {
            std::fs::hard_link(d.join("one.png"), d.join(format!("images/{class}/{i}.png"))).expect("a link");
        }
    }
    let limited = |kib: u64| {
        let program = env!("CARGO_BIN_EXE_vifo");
        let command = format!(
            "ulimit -v {kib}; exec '{program}' fit images -q --threads 4 --device cpu --epochs 1 --image-size 8 --out run{kib}"
        );
        Command::new("bash").current_dir(d).args(["-c", &command]).output().expect("bash")
    };
    refused(&limited(420_000), 1, &[".png: needs about", "of memory", "that may be taken here"]);
    // 169 MB a picture and as much for a copy: of twelve that are decoded at once four would take 1.4 GB.
    let out = limited(1_200_000);
    assert!(out.status.success(), "{}", err_of(&out));
}

/// B17: a run that is moved with its data finds it; without its data it says how to name it.
#[test]
fn b17_a_run_moved_with_its_data_finds_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::create_dir(d.join("here")).expect("made");
    table(&d.join("here"), "t.csv", 120);
    ok(&d.join("here"), &format!("fit t.csv {SMALL} --out runs/r"));
    let before = ok(&d.join("here"), "evaluate runs/r --json --device cpu").stdout;
    std::fs::rename(d.join("here"), d.join("there")).expect("moved");
    assert_eq!(ok(&d.join("there"), "evaluate runs/r --json --device cpu").stdout, before);
    ok(d, "calibrate there/runs/r -q --device cpu");
    ok(d, "fit --resume there/runs/r -q --device cpu");
    std::fs::rename(d.join("there/t.csv"), d.join("u.csv")).expect("moved");
    for command in ["evaluate there/runs/r", "fit --resume there/runs/r -q"] {
        refused(&run(d, command), 1, &["t.csv", "is not there", "--data FILE"]);
    }
    ok(d, "evaluate there/runs/r --data u.csv --device cpu");
    ok(d, "fit --resume there/runs/r --data u.csv -q --device cpu");
    // Another file under its name is not the run's data.
    table(d, "v.csv", 121);
    refused(&run(d, "evaluate there/runs/r --data v.csv --device cpu"), 1, &["the data file has changed"]);
    refused(&run(d, "fit --resume there/runs/r --data v.csv -q"), 1, &["the data file has changed"]);
}

/// B13: all broken images are told of at once, --skip-broken trains without them, and the parts have their usual names.
#[test]
fn b13_broken_images_and_the_names_of_parts() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let image = |name: String, shade: u8| {
        let path = d.join(&name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        image::GrayImage::from_fn(8, 8, |x, y| image::Luma([shade ^ (x * 9 + y * 5) as u8]))
            .save(&path)
            .expect("saved");
    };
    for i in 0..60 {
        let name = format!("set/{}/{i:02}.png", if i % 2 == 0 { "cat" } else { "dog" });
        image(name.clone(), i as u8 * 4);
        if i < 40 {
            std::fs::write(d.join(&name), if i % 3 == 0 { &b""[..] } else { b"no picture" }).expect("broken");
        }
    }
    refused(
        &run(d, "fit set --epochs 1 -q --device cpu"),
        1,
        &["40 of its 60 images cannot be read", "'cat/00.png'", "'cat/18.png' and 30 more", "--skip-broken"],
    );
    let out = ok(d, "fit set --epochs 1 --device cpu --skip-broken --out run --net cnn --members 1");
    assert!(err_of(&out).contains("Left out 40 images that cannot be read"), "{}", err_of(&out));
    ok(d, "evaluate run --device cpu");
    for (train, validation, test) in
        [("train", "valid", "test"), ("Training", "dev", "EVAL"), ("train", "val", "testing")]
    {
        let root = format!("parts-{validation}");
        for (part, n) in [(train, 24), (validation, 6), (test, 8)] {
            for i in 0..n {
                image(format!("{root}/{part}/{}/{i}.png", if i % 2 == 0 { "cat" } else { "dog" }), i as u8 * 9);
            }
        }
        for junk in ["@eaDir", "__MACOSX", ".hidden"] {
            std::fs::create_dir_all(d.join(&root).join(junk)).expect("made");
            std::fs::write(d.join(&root).join(junk).join("x.png"), "junk").expect("written");
        }
        std::fs::write(d.join(&root).join(".DS_Store"), "junk").expect("written");
        std::fs::write(d.join(&root).join("Thumbs.db"), "junk").expect("written");
        ok(d, &format!("fit {root} --epochs 1 -q --device cpu --net cnn --members 1 --out run-{validation}"));
        let manifest: serde_json::Value =
            serde_json::from_slice(&read(d.join(format!("run-{validation}/manifest.json")))).expect("JSON");
        let rows = ["train_rows", "validation_rows", "test_rows"].map(|key| manifest[key].as_u64());
        assert_eq!(rows, [Some(24), Some(6), Some(8)], "{root}");
    }
}
