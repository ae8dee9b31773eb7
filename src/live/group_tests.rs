//! Groups drive real trainings on the CPU; nothing here waits for a fixed time, only for what must come.

use super::*;
use crate::base::clock::{Duration, Instant};
use crate::live::picture::Picture;
use crate::recipe::{Recipe, keys};
use crate::train::Ending;

pub(in crate::live) fn recipe(sets: &[(&str, &str)]) -> Recipe {
    let text = "[data]\ntoy = \"sinusoid\"\nrows = 24\nvalidation_fraction = 0.0\n[net]\nhidden = [8]\n[method]\nmembers = 1\neta_aux = 0.5\n\
                [train]\nepochs = 1000000\nbatch = 8\nevaluate_every = 5\nschedule = \"constant\"\n";
    let mut table = Recipe::parse(text, "t").expect("a recipe");
    for (key, value) in sets {
        keys::set(&mut table, key, value, "t").expect("allowed");
    }
    Recipe::from_table(&table, "t").expect("a recipe")
}

pub(in crate::live) fn group() -> Group {
    Group::new("test", || {}).expect("a group")
}

/// Polls until `done`, or fails.
pub(in crate::live) fn wait(group: &mut Group, what: &str, done: impl Fn(&Group) -> bool) {
    let began = Instant::now();
    while !done(group) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "never: {what}; state {:?}, errors {:?}",
            group.state,
            group.errors
        );
        std::thread::sleep(Duration::from_millis(2));
        group.poll();
    }
}

/// Ticks of processor time that the threads of this process named `name` have taken.
#[cfg(target_os = "linux")]
fn ticks_of(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
    let stats = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("stat")).ok());
    let of_name = stats.filter(|s| s.contains(&format!("({name})")));
    // After the name: state is field 3, utime and stime are 14 and 15.
    let ticks = |s: String| {
        let fields: Vec<u64> = s.rsplit(')').next()?.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
        Some(fields.iter().sum::<u64>())
    };
    of_name.filter_map(ticks).sum()
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_with_nothing_to_do_sleeps() {
    let mut g = Group::new("idle-worker", || {}).expect("a group");
    let idle = || {
        let before = ticks_of("idle-worker");
        std::thread::sleep(Duration::from_millis(400));
        ticks_of("idle-worker") - before
    };
    // 400 ms of spinning are 40 ticks of 10 ms.
    assert!(idle() < 10, "before the first training");
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 20);
    // Beside other programs it may have little of the processor.
    let mut worked = 0;
    assert!((0..20).any(|_| (worked += idle(), worked > 10).1), "the harness sees a worker that works");
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    while g.poll() {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(idle() < 10, "paused");
}

#[test]
fn starts_pauses_steps_resets_and_stops() {
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "rows", |g| g.state == WorkerState::Running && g.slots.first().is_some_and(|l| l.run.rows.len() > 3));
    assert_eq!(g.slots[0].points.train.len(), 24);
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    // The snapshot that came before the pause may be of an earlier step.
    let number = g.snapshot.number;
    g.send(Command::View(crate::live::View { band_points: 17, ..Default::default() }));
    wait(&mut g, "a snapshot at the pause", |g| g.snapshot.number > number);
    let at = g.snapshot.step;
    g.send(Command::Step(1));
    wait(&mut g, "one more", |g| g.snapshot.step > at);
    assert_eq!(g.snapshot.step, at + 1);
    g.send(Command::Reset);
    wait(&mut g, "step 0", |g| g.snapshot.step == 0 && g.slots[0].run.rows.is_empty());
    assert_eq!(g.state, WorkerState::Paused);
    g.send(Command::Stop);
    wait(&mut g, "a stop", |g| g.state == WorkerState::Stopped);
    assert!(g.errors.is_empty(), "{:?}", g.errors);
}

#[test]
fn the_band_is_finite_and_covers_the_range_that_is_asked_for() {
    let mut g = group();
    g.start(vec![recipe(&[("method.members", "3")])], None, false);
    wait(&mut g, "a snapshot", |g| !g.snapshot.slots.is_empty());
    g.send(Command::View(crate::live::View { x_range: Some((-10.0, 20.0)), band_points: 31, ..Default::default() }));
    let covers = |g: &Group| matches!(&g.snapshot.slots[0].picture, Picture::Band(b) if b.x.len() == 31);
    wait(&mut g, "the range", covers);
    let Picture::Band(band) = &g.snapshot.slots[0].picture else { panic!("no band") };
    assert_eq!((band.x[0], band.x[30], band.members.len()), (-10.0, 20.0, 3));
    assert!((0..31).all(|i| band.total_sd(i) > 0.0 && band.mean[i].is_finite()));
    // The mean of the members is the mean of the whole (an equal mixture).
    let mean = (0..3).map(|m| band.members[m][7]).sum::<f64>() / 3.0;
    assert!((mean - band.mean[7]).abs() < 1e-5 * (1.0 + mean.abs()));
}

#[test]
fn a_live_change_keeps_the_step_and_another_network_begins_anew() {
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 50);
    g.change(vec![recipe(&[("method.eta", "3"), ("train.lr", "0.002")])]);
    wait(&mut g, "the change", |g| g.slots[0].recipe.as_ref().is_some_and(|r| r.method.eta == Some(3.0)));
    assert!(g.snapshot.step > 50 && !g.slots[0].run.rows.is_empty());
    let rows = g.slots[0].run.rows.len();
    wait(&mut g, "a row with the new rate", |g| g.slots[0].run.rows.len() > rows + 1);
    let last = *g.slots[0].run.last().expect("a row");
    assert_eq!((last.learning_rate, last.eta), (0.002, Some(3.0)));
    g.change(vec![recipe(&[("net.hidden", "[5, 5]")])]);
    wait(&mut g, "the restart", |g| g.slots[0].recipe.as_ref().is_some_and(|r| r.net.hidden == Some(vec![5, 5])));
    assert_eq!(g.state, WorkerState::Running, "it trains on");
}

#[test]
fn points_change_while_training_goes_on() {
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 20);
    let mut with_points = recipe(&[]);
    with_points.data.toy = None;
    with_points.data.test_fraction = 0.0;
    let [mut rows, _] = g.slots[0].points.to_recipe();
    rows.push(vec![0.0, 5.0]);
    with_points.data.points = Some(rows);
    g.change(vec![with_points.clone()]);
    wait(&mut g, "25 points", |g| g.slots[0].points.train.len() == 25);
    let added = |g: &Group| g.slots[0].points.train.iter().any(|p| p[0].abs() < 1e-5 && (p[1] - 5.0).abs() < 1e-5);
    assert!(added(&g), "{:?}", g.slots[0].points.train);
    assert!(g.snapshot.step > 20, "the same training");
    let at = g.snapshot.step;
    wait(&mut g, "further steps", |g| g.snapshot.step > at + 20);
    assert!(g.errors.is_empty(), "{:?}", g.errors);
}

#[test]
fn lanes_go_in_step_from_one_seed() {
    let mut g = group();
    let methods = ["base", "vifo-naive", "vi-mean"];
    let recipes = methods.map(|m| recipe(&[("method.eta_aux", "0"), ("method.name", m), ("train.epochs", "30")]));
    g.start(recipes.to_vec(), None, true);
    wait(&mut g, "the end", |g| g.state == WorkerState::Ended(Ending::Finished));
    wait(&mut g, "all rows", |g| g.slots.iter().all(|l| l.run.rows.len() == 6));
    let points: Vec<_> = g.slots.iter().map(|l| l.points.train.clone()).collect();
    assert!(points[0] == points[1] && points[1] == points[2]);
    assert!(g.slots.iter().all(|l| l.run.last().is_some_and(|r| r.step == 90)));
}

#[test]
fn an_impossible_rate_is_told_and_reset_mends_it() {
    let mut g = group();
    g.start(vec![recipe(&[("train.lr", "1000"), ("train.clip", "0"), ("train.optimizer", "sgd")])], None, true);
    wait(&mut g, "a failure", |g| g.state == WorkerState::Failed);
    let said = g.errors[0].to_string();
    assert!(said.contains("not a finite number") && said.contains("lower"), "{said}");
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "training", |g| g.state == WorkerState::Running && g.snapshot.step > 5);
}

#[test]
fn closing_loses_nothing_and_the_folder_resumes() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("session");
    let keep = Keep { path: path.clone(), force: true, report: false };
    let mut g = group();
    g.start(vec![recipe(&[])], Some(keep), true);
    wait(&mut g, "steps", |g| g.snapshot.step > 200);
    let at = g.snapshot.step;
    drop(g);
    let mut again = group();
    again.send(Command::Resume { path, more: None, report: false, running: false });
    wait(&mut again, "the session", |g| g.snapshot.number > 0);
    assert!(again.snapshot.step >= at, "{} < {at}", again.snapshot.step);
    assert_eq!(again.state, WorkerState::Paused);
    assert!(!again.slots[0].run.rows.is_empty());
    again.send(Command::Run);
    let at = again.snapshot.step;
    wait(&mut again, "more steps", |g| g.snapshot.step > at + 10);
    assert!(again.errors.is_empty(), "{:?}", again.errors);
}

#[test]
fn saving_writes_a_whole_run_and_training_goes_on() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("run");
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 50);
    g.send(Command::Save { slot: 0, path: path.clone(), force: false });
    wait(&mut g, "the report", |g| g.saved.contains(&path));
    for file in ["report.html", "recipe.toml", "predictions.csv", "figures/bands.png", "checkpoints/best.safetensors"] {
        assert!(path.join(file).is_file(), "{file}");
    }
    let at = g.snapshot.step;
    wait(&mut g, "further steps", |g| g.snapshot.step > at + 10);
    // A second time the folder is taken: said, and nothing is harmed.
    g.send(Command::Save { slot: 0, path: path.clone(), force: false });
    wait(&mut g, "a refusal", |g| !g.errors.is_empty());
    assert!(g.errors[0].to_string().contains("already exists"), "{:?}", g.errors);
}

/// What "copy recipe" promises: the text gives the command line the same weights to the bit.
#[test]
fn the_recipe_repeats_the_training_on_the_command_line() {
    let home = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (home.path().join("app"), home.path().join("cli"));
    let mut g = group();
    let sets = [("train.epochs", "60"), ("method.members", "2"), ("data.validation_fraction", "0.25")];
    let keep = Keep { path: ours.clone(), force: true, report: true };
    g.start(vec![recipe(&sets)], Some(keep), true);
    wait(&mut g, "the report", |g| g.saved.contains(&ours));
    let text = g.slots[0].recipe.as_ref().expect("a recipe").to_toml().expect("TOML");
    let again = Recipe::from_table(&Recipe::parse(&text, "copied").expect("a recipe"), "copied").expect("a recipe");
    let silent = &mut |_: &crate::train::Event, _: &[String]| crate::train::Flow::Continue;
    crate::workflow::fit::fit(&again, &theirs, false, &crate::exec::Device::Cpu, silent).expect("a run");
    let weights = |path: &std::path::Path| {
        let folder = crate::run::RunFolder::open(path).expect("a run folder");
        crate::run::Model::open(&folder).expect("a model").trained
    };
    assert_eq!(weights(&ours), weights(&theirs));
    let csv = |path: &std::path::Path| std::fs::read_to_string(path.join("predictions.csv")).expect("predictions");
    assert_eq!(csv(&ours), csv(&theirs));
}

/// Two commands on each other's heels: the change was thought for the training before.
#[test]
fn a_change_does_not_overtake_a_start() {
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 5);
    let other = recipe(&[("net.hidden", "[5]")]);
    g.start(vec![other.clone()], None, true);
    assert!(g.is_starting());
    g.change(vec![recipe(&[("method.eta", "2")])]);
    wait(&mut g, "the other network", |g| !g.is_starting());
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(5));
        g.poll();
    }
    assert_eq!(g.slots[0].recipe.as_deref(), Some(&other));
}
