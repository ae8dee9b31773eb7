//! C5 of issue 13, through the real binary: a signal while nothing is there to be saved yet, and in what comes after the last
//! step; and C9 for a folder of pictures. The phases that `safety.rs` has are not repeated here.
//!
//! What must be reached is made sure of: a table that is being read is a named pipe, which the test opens only once vifo has
//! opened it and which never ends; else what lies in the run folder tells how far the run is.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a stop may take, and what a machine may take beside it that runs other tests on all of its cores.
const WITHIN: f64 = 2.0;
const SLACK: f64 = 0.5;
/// As a shell reports a program ended by Ctrl-C.
const STOPPED: i32 = 130;

fn vifo(dir: &Path, args: &str) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").stdin(Stdio::null()).args(args.split_whitespace());
    c
}

fn spawn(dir: &Path, args: &str) -> Child {
    vifo(dir, args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

fn ok(dir: &Path, args: &str) -> Output {
    let out = vifo(dir, args).output().expect("the binary runs");
    assert!(out.status.success(), "vifo {args}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

/// Waits for `is_so`; a process that ends before shows nothing.
fn wait_for(what: &str, child: &mut Child, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        if let Some(status) = child.try_wait().expect("asked") {
            panic!("it ended ({status}) before {what}: {}", said(child));
        }
        assert!(start.elapsed() < Duration::from_secs(90), "{what} did not happen within 90 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn said(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut pipe, &mut text);
    }
    text
}

/// Sends `signal` to a process that is still at work: it ends in time, with the exit code of a stop.
#[track_caller]
fn stop(child: &mut Child, signal: &str) {
    assert!(child.try_wait().expect("asked").is_none(), "it came to its end: the test shows nothing");
    let start = Instant::now();
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let status = child.wait().expect("ended");
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(status.code(), Some(STOPPED), "{signal}: {status}, {}", said(child));
    assert!(seconds < WITHIN + SLACK, "{signal}: stopped after {seconds:.2} s");
}

fn small_table(path: &Path) {
    let row = |i: u32| format!("{},{},{}\n", f64::from(i).sin(), f64::from(i).cos(), f64::from(i % 7));
    std::fs::write(path, "a,b,y\n".to_string() + &(0..120).map(row).collect::<String>()).expect("written");
}

/// A pipe in the place of a table.
fn pipe(path: &Path) {
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

/// The end to write to, once `child` has opened the other: it reads as long as this value lives.
fn read_by(child: &mut Child, path: &Path) -> File {
    let mut end = None;
    wait_for("it opened the table", child, || {
        // Without a reader this is an error (ENXIO).
        end = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path).ok();
        end.is_some()
    });
    let mut end = end.expect("waited for");
    std::io::Write::write_all(&mut end, b"a,b,y\n1,2,3\n").expect("written");
    std::thread::sleep(Duration::from_millis(200));
    end
}

/// `images`, a folder of two classes of 150 grey pictures of side x side.
fn pictures(dir: &Path, side: u32) {
    image::GrayImage::from_pixel(side, side, image::Luma([90])).save(dir.join("one.png")).expect("saved");
    for class in ["cat", "dog"] {
        std::fs::create_dir_all(dir.join("images").join(class)).expect("made");
        for i in 0..150 {
            std::fs::hard_link(dir.join("one.png"), dir.join(format!("images/{class}/{i}.png"))).expect("a link");
        }
    }
}

/// Every file below `dir`, with what is in it.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in dir.read_dir().expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(files(&path)),
            path => drop(all.insert(path.clone(), std::fs::read(&path).expect("a file"))),
        }
    }
    all
}

/// Nothing half-written lies in the run, and it says that it was stopped.
#[track_caller]
fn is_stopped(run: &Path) {
    let all = files(run);
    let name = |path: &PathBuf| path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let left: Vec<_> = all.keys().filter(|path| name(path).starts_with(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
    let manifest = String::from_utf8(all[&run.join("manifest.json")].clone()).expect("text");
    assert!(manifest.contains("\"state\": \"stopped\""), "{manifest}");
}

/// A table that is read for a run without a name: of the folder that holds the name's place nothing is left, and another run
/// beside it is.
#[test]
fn c5_a_stop_while_reading_leaves_no_claimed_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    pipe(&d.join("t.csv"));
    for signal in ["-INT", "-TERM"] {
        let mut child = spawn(d, "fit t.csv -q --device cpu");
        let _end = read_by(&mut child, &d.join("t.csv"));
        // What comes through a pipe has no name of its own.
        assert!(d.join("runs/stream").is_dir(), "no name was claimed: the test shows nothing");
        stop(&mut child, signal);
        assert!(!d.join("runs").exists(), "{signal}");
    }
    std::fs::create_dir_all(d.join("runs/other")).expect("made");
    std::fs::write(d.join("runs/other/thesis.txt"), "mine").expect("written");
    let mut child = spawn(d, "fit t.csv -q --device cpu");
    let _end = read_by(&mut child, &d.join("t.csv"));
    stop(&mut child, "-TERM");
    assert!(!d.join("runs/stream").exists());
    assert_eq!(std::fs::read(d.join("runs/other/thesis.txt")).expect("kept"), b"mine");
}

/// The same while pictures are decoded: 300 of 2400 x 2400, some seconds of all cores of a desk's computer.
#[test]
fn c5_a_stop_while_decoding_leaves_no_claimed_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    pictures(d, 2400);
    let mut child = spawn(d, "fit images -q --device cpu");
    wait_for("a name was claimed", &mut child, || d.join("runs/images").is_dir());
    std::thread::sleep(Duration::from_millis(300));
    // The first file comes when all pictures have been decoded.
    assert!(files(&d.join("runs/images")).is_empty(), "it trains already: the test shows nothing");
    stop(&mut child, "-INT");
    assert!(!d.join("runs").exists());
}

/// A run that is resumed and still reads its table: every file of it stays as it was, and it is resumed again.
#[test]
fn c5_a_resume_that_still_reads_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let table = d.join("t.csv");
    small_table(&table);
    ok(d, "fit t.csv -q --device cpu --members 1 --epochs 3 --out run");
    let before = files(&d.join("run"));
    pipe(&table);
    for signal in ["-INT", "-TERM"] {
        let mut child = spawn(d, "fit --resume run -q --device cpu");
        let _end = read_by(&mut child, &table);
        stop(&mut child, signal);
        assert!(files(&d.join("run")) == before, "{signal}: a file of the run has changed");
    }
    std::fs::remove_file(&table).expect("removed");
    small_table(&table);
    ok(d, "fit --resume run -q --device cpu");
}

/// A task of a job array that still reads ends with the code upon which the job script requeues it, and is not a failed run.
#[test]
fn c5_a_task_that_still_reads_is_requeued() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let table = d.join("t.csv");
    small_table(&table);
    let set = "--set method.members=1 --set train.epochs=3";
    ok(d, &format!("sweep t.csv --seeds 2 {set} --slurm --write-only --out s"));
    let script = std::fs::read_to_string(d.join("s/slurm.sh")).expect("a script");
    assert!(script.contains(&format!("if [ \"$code\" = {STOPPED} ]")), "{script}");
    let before = files(&d.join("s"));
    pipe(&table);
    let mut child = spawn(d, "sweep run s 1");
    let _end = read_by(&mut child, &table);
    stop(&mut child, "-TERM");
    assert_eq!(files(&d.join("s")).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    std::fs::remove_file(&table).expect("removed");
    small_table(&table);
    ok(d, "sweep run s 1");
}

/// SWAG's statistics go through many networks at once: a batch of all rows takes several seconds on two cores, and is left
/// all the same.
#[test]
fn c5_a_batch_of_many_networks_is_left_within_two_seconds() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let args = "fit digits --net preresnet --set data.image_size=32 --limit 300 --method swag --members 1 --epochs 1 \
                --batch 270 --set train.swa_start=0 --set predict.samples=60 --device cpu -q --out run";
    let mut child = spawn(d, args);
    // It comes before what ends the training.
    wait_for("the last checkpoint", &mut child, || d.join("run/checkpoints/last.safetensors").is_file());
    std::thread::sleep(Duration::from_millis(300));
    stop(&mut child, "-TERM");
    assert!(!d.join("run/checkpoints/best.safetensors").exists(), "the statistics were done: the test shows nothing");
    is_stopped(&d.join("run"));
}

/// Boosted trees that were asked for whatever they take: eight classes of 40,000 rows, ten seconds and more on two cores.
#[test]
fn c5_boosted_trees_are_left_within_two_seconds() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let mut text = (0..12).map(|j| format!("x{j},")).collect::<String>() + "y\n";
    for i in 0..40_000u32 {
        let x: Vec<f64> = (0..12).map(|j| (f64::from(i) * (0.37 + 0.101 * f64::from(j))).sin()).collect();
        let class = (4.0 * (x[0] * x[1] + 0.4 * x[2] + 1.0)) as u32 % 8;
        text += &x.iter().map(|v| format!("{v:.4},")).collect::<String>();
        text += &format!("c{class}\n");
    }
    std::fs::write(d.join("t.csv"), text).expect("written");
    let args = "fit t.csv -q --device cpu --members 1 --hidden 8 --epochs 1 --batch 512 --baseline on --out run";
    let mut child = spawn(d, args);
    // The only epoch has ended; its report begins, in which the trees are by far the longest.
    wait_for("the last checkpoint", &mut child, || d.join("run/checkpoints/last.safetensors").is_file());
    std::thread::sleep(Duration::from_millis(1500));
    stop(&mut child, "-TERM");
    for file in ["predictions.csv", "results.json", "report.html"] {
        assert!(!d.join("run").join(file).exists(), "{file}: the trees were grown: the test shows nothing");
    }
    is_stopped(&d.join("run"));
    // Its weights are there, trees or none.
    ok(d, "predict run t.csv -q --device cpu --out p.csv");
}

/// C9: pictures that fit one by one and not together are one line that names their folder; smaller ones of them train.
#[cfg(target_os = "linux")]
#[test]
fn c9_a_folder_of_pictures_beyond_the_memory_is_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    pictures(d, 1024);
    let limited = |size: u32| {
        let program = env!("CARGO_BIN_EXE_vifo");
        let command = format!(
            "ulimit -v 800000; exec '{program}' fit images -q --threads 2 --device cpu --epochs 1 --image-size {size} --out run{size}"
        );
        Command::new("bash").current_dir(d).args(["-c", &command]).output().expect("bash")
    };
    // 315 MB as bytes, three times.
    let out = limited(1024);
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    for part in ["images: needs about 944 MB of memory", "that may be taken here", "smaller image size"] {
        assert!(err.contains(part), "'{part}' is not in: {err}");
    }
    assert!(!d.join("run1024").exists());
    let out = limited(8);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}
