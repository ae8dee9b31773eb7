//! `vifo sweep --slurm` against a real Slurm of one node, started on loopback by `tests/slurm/start` (packages slurm-wlm and
//! munge, which `tests/run` installs). Where they are missing the test fails; VIFO_WITHOUT_SLURM=1 leaves it out, and says so.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A Slurm that ends with the test.
struct Slurm {
    dir: tempfile::TempDir,
}

impl Slurm {
    fn start() -> Slurm {
        Self::start_with("1001")
    }

    /// Tasks of an array have numbers below `max_array_size`.
    fn start_with(max_array_size: &str) -> Slurm {
        // A short path: a socket's name has 108 bytes at most.
        let dir = tempfile::Builder::new().prefix("slurm").tempdir_in("/tmp").expect("a folder");
        let [a, b] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let port = |l: &TcpListener| l.local_addr().expect("an address").port().to_string();
        let (first, second) = (port(&a), port(&b));
        drop((a, b));
        let slurm = Slurm { dir };
        // Nobody waits for what a daemon may say later: its output goes to a file, not to a pipe it would keep open.
        let said = slurm.dir.path().join("said");
        let file = std::fs::File::create(&said).expect("made");
        let mut start = Command::new(script("start"));
        start.arg(slurm.dir.path()).args([first, second]).arg(max_array_size);
        let status = start.stdout(file.try_clone().expect("a file")).stderr(file).status().expect("bash");
        let text = std::fs::read_to_string(&said).unwrap_or_default();
        assert!(status.success(), "{text}\nVIFO_WITHOUT_SLURM=1 leaves out what needs a Slurm");
        slurm
    }

    fn command(&self, program: &str) -> Command {
        let mut c = Command::new(program);
        c.env("SLURM_CONF", self.dir.path().join("slurm.conf")).env("NODEVICE_SELECT", "1");
        c
    }

    fn vifo(&self, dir: &Path, args: &str) -> Output {
        let mut c = self.command(env!("CARGO_BIN_EXE_vifo"));
        c.current_dir(dir).arg("sweep").args(args.split_whitespace()).output().expect("the binary runs")
    }

    /// Runs to success; returns stdout and stderr.
    fn ok(&self, dir: &Path, args: &str) -> (String, String) {
        let out = self.vifo(dir, args);
        let (said, err) = texts(&out);
        assert!(out.status.success(), "vifo sweep {args}: {err}");
        (said, err)
    }

    fn asks(&self, program: &str, args: &[&str]) -> String {
        let out = self.command(program).args(args).output().expect("Slurm's programs");
        let (said, err) = texts(&out);
        assert!(out.status.success(), "{program} {args:?}: {err}");
        said
    }

    /// Waits until no task of the job is left.
    fn wait(&self, job: &str) {
        wait_for("the end of the job", || {
            // A job that ended a while ago is unknown.
            let out = self.command("squeue").args(["--noheader", "--jobs", job]).output().expect("squeue");
            !out.status.success() || out.stdout.trim_ascii().is_empty()
        });
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new(script("stop")).arg(self.dir.path()).status();
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slurm").join(name)
}

fn texts(out: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_string();
    (text(&out.stdout), text(&out.stderr))
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(90), "{what} did not happen within 90 s");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// "17" of "job 17: 4 tasks, 1-4".
fn job_of(said: &str) -> String {
    said.strip_prefix("job ").and_then(|t| t.split(':').next()).unwrap_or_else(|| panic!("no job in {said}")).into()
}

/// Four runs of a second or two.
const SWEEP: &str = r#"
device = "cpu"
seeds = 2
[data]
toy = "cubic"
rows = 60
[method]
members = 1
[train]
epochs = 200
checkpoint_seconds = 0
[grid]
method.eta = [0.1, 1]
[slurm]
time = "0:10:00"
partition = "p"
setup = ["export VIFO_TEST_SETUP=ran"]
"#;

const RUNS: [&str; 4] = ["eta0.1-seed1", "eta0.1-seed2", "eta1-seed1", "eta1-seed2"];

fn same(dir: &Path, a: &str, b: &str) {
    let files = ["table.csv", "table.txt", "figures/sweep.csv"].map(String::from);
    let of_runs = RUNS.iter().flat_map(|r| ["results.json", "predictions.csv"].map(|f| format!("{r}/{f}")));
    for file in files.into_iter().chain(of_runs) {
        assert_eq!(read(&dir.join(a).join(&file)), read(&dir.join(b).join(&file)), "{file}");
    }
}

fn left_out() -> bool {
    let out = std::env::var_os("VIFO_WITHOUT_SLURM").is_some_and(|v| v == "1");
    if out {
        eprintln!("cli_slurm: NOT TESTED, since VIFO_WITHOUT_SLURM=1");
    }
    out
}

#[test]
fn an_array_gives_the_table_of_the_local_sweep() {
    if left_out() {
        return;
    }
    let slurm = Slurm::start();
    let dir = tempfile::tempdir().expect("a folder");
    // What a shell or Slurm might take for something else.
    let d = &dir.path().join("it's 100% \"here\"");
    std::fs::create_dir(d).expect("made");
    std::fs::write(d.join("s.toml"), SWEEP).expect("written");
    slurm.ok(d, "s.toml --out local");

    let (said, _) = slurm.ok(d, "s.toml --out array --slurm --jobs 2 --slurm-option=--comment=mine");
    let job = job_of(&said);
    assert!(said.contains(": 4 tasks, 1-4\n") && said.contains(&format!("squeue -j {job}")), "{said}");
    assert!(said.contains("gather with `vifo sweep collect array`"), "{said}");
    let text = read(&d.join("array/slurm.sh"));
    for line in ["--array=1-4%2", "--time=\"0:10:00\"", "--partition=\"p\"", "--comment=\"mine\"", "--requeue"] {
        assert!(text.contains(&format!("#SBATCH {line}\n")), "{line} is not in {text}");
    }
    assert!(text.contains("\nexport VIFO_TEST_SETUP=ran\n"), "{text}");
    // Neither a second job nor a local sweep beside it.
    for again in ["s.toml --out array --slurm", "s.toml --out array"] {
        let out = slurm.vifo(d, again);
        let err = texts(&out).1;
        assert_eq!(out.status.code(), Some(1), "{err}");
        assert!(err.contains(&format!("job {job} still works on it")) && err.contains("scancel"), "{err}");
    }
    slurm.wait(&job);
    let (_, said) = slurm.ok(d, "collect array");
    assert!(said.contains("4 of 4 runs done, 0 failed, 0 not done"), "{said}");
    same(d, "local", "array");
    let log = read(&d.join(format!("array/logs/slurm-{job}_3.out")));
    assert!(log.contains("eta1-seed1 on CPU"), "{log}");
    // Nothing is left to submit.
    let (said, _) = slurm.ok(d, "s.toml --out array --slurm");
    assert!(said.contains("all runs are done"), "{said}");
    // What sbatch refuses is said in one line, and what is missing alone is submitted.
    std::fs::remove_dir_all(d.join("array").join(RUNS[2])).expect("removed");
    let out = slurm.vifo(d, "s.toml --out array --slurm --slurm-option=--partition=none");
    let err = texts(&out).1;
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.trim_end().lines().last().is_some_and(|l| l.starts_with("error: sbatch: refused the job: ")), "{err}");
    let (said, _) = slurm.ok(d, "s.toml --out array --slurm");
    assert!(said.contains(": 1 task, 3\n"), "{said}");
    slurm.wait(&job_of(&said));
    slurm.ok(d, "collect array");
    same(d, "local", "array");
}

/// C15: four runs where an array takes the tasks 1 and 2: two arrays, each with its offset, and every run once.
#[test]
fn c15_more_runs_than_an_array_takes_go_into_several() {
    if left_out() {
        return;
    }
    let slurm = Slurm::start_with("3");
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("s.toml"), SWEEP).expect("written");
    slurm.ok(d, "s.toml --out local");
    let (said, _) = slurm.ok(d, "s.toml --out array --slurm --jobs 2");
    let jobs = job_of(&said);
    assert_eq!(jobs.split(',').count(), 2, "{said}");
    let out = slurm.vifo(d, "s.toml --out array");
    assert!(texts(&out).1.contains(&format!("scancel {}", jobs.replace(',', " "))), "{}", texts(&out).1);
    jobs.split(',').for_each(|job| slurm.wait(job));
    assert!(slurm.ok(d, "collect array").1.contains("4 of 4 runs done, 0 failed, 0 not done"));
    same(d, "local", "array");
    let log = read(&d.join(format!("array/logs/slurm-{}_1.out", jobs.split(',').next_back().expect("a job"))));
    assert!(log.contains("eta1-seed1 on CPU"), "task 1 of the second array is run 3: {log}");
}

#[test]
fn a_task_that_is_requeued_goes_on_to_the_bit() {
    if left_out() {
        return;
    }
    let slurm = Slurm::start();
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    // Some seconds a run, with a checkpoint every few tenths.
    let long = "epochs = 8000\nbatch = 1\npatience = 0\nevaluate_every = 25\ncheckpoint_seconds = 0.2";
    std::fs::write(d.join("s.toml"), SWEEP.replace("epochs = 200\ncheckpoint_seconds = 0", long)).expect("written");
    let (said, _) = slurm.ok(d, "s.toml --out array --slurm --jobs 2");
    let job = job_of(&said);
    let begun = |run: &str| d.join("array").join(run).join("checkpoints/last.safetensors").is_file();
    let done = |run: &str| d.join("array").join(run).join("results.json").is_file();
    wait_for("a checkpoint of both tasks", || begun(RUNS[0]) && begun(RUNS[1]));
    // One as its administrator would, one as Slurm does a minute before the time limit.
    slurm.asks("scontrol", &["requeue", &format!("{job}_1")]);
    // scancel tries again where a job is on its way into the queue, and would stop it a second time later.
    let mut signal = slurm.command("scancel");
    let mut signal = signal.args(["--signal=USR1", "--batch", &format!("{job}_2")]).spawn().expect("scancel");
    let log = |task: u32| read(&d.join(format!("array/logs/slurm-{job}_{task}.out")));
    wait_for("the tasks' way back into the queue", || {
        let queue = slurm.asks("squeue", &["--noheader", "--jobs", &job, "--array", "--format=%K %T"]);
        let back = |task: &str| queue.lines().any(|l| l == format!("{task} PENDING"));
        back("1") && back("2")
    });
    let _ = signal.kill().and_then(|()| signal.wait());
    assert!(!done(RUNS[0]) && !done(RUNS[1]), "the runs are too short for this test");
    let half = slurm.ok(d, "collect array").1;
    assert!(half.contains(&format!("job {job} still works on it")), "{half}");
    // One that was put back has to wait two minutes: this lets it go at once.
    wait_for("another start of both tasks", || {
        for task in [1, 2] {
            let args = ["update", &format!("JobId={job}_{task}"), "StartTime=now"];
            slurm.command("scontrol").args(args).output().expect("scontrol");
        }
        [1, 2].iter().all(|task| log(*task).contains("resumes after epoch "))
    });
    slurm.ok(d, "s.toml --out local");
    slurm.wait(&job);
    let (_, said) = slurm.ok(d, "collect array");
    assert!(said.contains("4 of 4 runs done"), "{said}");
    same(d, "local", "array");
}

#[test]
fn without_slurm_the_script_is_written_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    std::fs::write(d.join("s.toml"), SWEEP).expect("written");
    let vifo = |args: &str| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
        // No sbatch is on this path.
        c.current_dir(d).env("PATH", d).env("NODEVICE_SELECT", "1").arg("sweep").args(args.split_whitespace());
        c.output().expect("the binary runs")
    };
    let out = vifo("s.toml --slurm --write-only");
    let (said, err) = texts(&out);
    assert!(out.status.success(), "{err}");
    assert!(said.contains("runs/s/slurm.sh") && said.contains("submit it with `sbatch "), "{said}");
    let text = read(&d.join("runs/s/slurm.sh"));
    assert!(text.starts_with("#!/usr/bin/env bash\n") && text.contains("#SBATCH --array=1-4\n"), "{text}");
    assert!(Command::new("bash").arg("-n").arg(d.join("runs/s/slurm.sh")).status().expect("bash").success());
    let out = vifo("s.toml --slurm");
    let err = texts(&out).1;
    assert_eq!(out.status.code(), Some(1), "{err}");
    let last = err.trim_end().lines().last().unwrap_or_default();
    assert!(last.starts_with("error: sbatch: is not on the path; ") && last.contains("--write-only"), "{err}");
}
