//! Faults that were seen in the app, by their numbers: each as the worker shows it.

use super::group::tests::{group, recipe, wait};
use super::*;
use crate::exec::Device;
use crate::run::RunFolder;
use crate::train::Ending;
use crate::workflow::Training;

#[test]
fn bug_1_a_refused_restart_leaves_the_old_training_running() {
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 20);
    let refused = recipe(&[("method.name", "\"dirichlet\""), ("method.eta_aux", "0")]);
    g.start(vec![refused.clone()], None, true);
    wait(&mut g, "a refusal", |g| !g.errors.is_empty());
    assert!(g.errors[0].to_string().contains("dirichlet"), "{:?}", g.errors);
    assert!(!g.is_starting() && g.state == WorkerState::Running);
    assert_eq!(g.slots[0].recipe.as_deref(), Some(&recipe(&[])), "what is shown is what runs");
    let at = g.step();
    wait(&mut g, "further steps of the old one", |g| g.step() > at + 20);
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    // Of several, one is enough to refuse all.
    g.start(vec![recipe(&[("seed", "2")]), refused], None, true);
    wait(&mut g, "a second refusal", |g| g.errors.len() == 2);
    assert_eq!((g.state, g.slots.len()), (WorkerState::Paused, 1));
}

#[test]
fn bug_1_a_first_start_that_is_refused_leaves_a_clean_state() {
    let mut g = group();
    g.start(vec![recipe(&[("method.name", "\"dirichlet\""), ("method.eta_aux", "0")])], None, true);
    wait(&mut g, "a refusal", |g| !g.errors.is_empty());
    assert!(g.state == WorkerState::Empty && g.slots.is_empty() && !g.is_starting());
    for command in [Command::Run, Command::Step(1), Command::Reset, Command::Pause, Command::Stop] {
        let before = g.errors.len();
        g.send(command);
        wait(&mut g, "a word why not", |g| g.errors.len() > before);
    }
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "training", |g| g.state == WorkerState::Running && g.snapshot.step > 5);
}

#[test]
fn bug_3_a_finished_run_is_free_while_its_training_is_still_shown() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("run");
    let mut g = group();
    let keep = Keep { path: path.clone(), force: true, report: true };
    g.start(vec![recipe(&[("train.epochs", "20")])], Some(keep), true);
    wait(&mut g, "the report", |g| g.saved.contains(&path));
    let folder = RunFolder::open(&path).expect("a run");
    assert!(!folder.is_held());
    drop(folder.lock().expect("free for whoever calibrates it"));
    wait(&mut g, "its end", |g| g.state == WorkerState::Ended(Ending::Finished));
    // The folder is complete: nothing may be trained into it, and that is said.
    g.send(Command::Reset);
    wait(&mut g, "a word", |g| g.errors.iter().any(|e| e.to_string().contains("is over")));
}

#[test]
fn bug_3_a_stopped_run_is_free_too() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("run");
    let mut g = group();
    let keep = Keep { path: path.clone(), force: true, report: true };
    g.start(vec![recipe(&[])], Some(keep), true);
    wait(&mut g, "steps", |g| g.snapshot.step > 20);
    assert!(RunFolder::open(&path).expect("a run").is_held(), "while it trains");
    g.send(Command::Stop);
    wait(&mut g, "a stop", |g| g.state == WorkerState::Stopped);
    assert!(!RunFolder::open(&path).expect("a run").is_held());
}

/// At rate 0 the weights stand still, so every row's loss is known: the mean over an epoch must not depend on how its rows were
/// cut into batches. 25 rows: one batch, or 24 and a last one of a single row.
#[test]
fn bug_5_a_last_batch_of_one_row_counts_for_one_row() {
    let loss = |batch: &str| {
        let sets = [("data.rows", "25"), ("train.batch", batch), ("train.lr", "1e-30"), ("train.epochs", "5")];
        let more = [("method.name", "\"base\""), ("method.eta_aux", "0")];
        let mut t = Training::new(&recipe(&[&sets[..], &more[..]].concat()), &Device::Cpu).expect("a training");
        loop {
            if let Some(row) = t.advance(100).expect("a step") {
                return row.expected_nll;
            }
        }
    };
    let (whole, cut) = (loss("25"), loss("24"));
    assert!((whole - cut).abs() < 1e-5 * (1.0 + whole.abs()), "{whole} in one batch, {cut} in two");
}

/// The training's points with others in place of some.
fn with_points(g: &Group, change: impl Fn(&mut Vec<Vec<f64>>)) -> crate::recipe::Recipe {
    let mut recipe = g.slots[0].recipe.as_deref().expect("a recipe").clone();
    let mut rows = recipe.data.points.take().unwrap_or_else(|| g.slots[0].points.to_recipe().concat());
    change(&mut rows);
    (recipe.data.toy, recipe.data.points, recipe.data.noise) = (None, Some(rows), None);
    (recipe.data.validation_fraction, recipe.data.test_fraction) = (0.0, 0.0);
    recipe
}

#[test]
fn bug_6_epochs_and_steps_only_rise_while_points_come_and_go() {
    let mut g = group();
    // 24 points in one batch: with a 25th an epoch has two steps.
    let sets = [("train.batch", "24"), ("train.evaluate_every", "1"), ("train.epochs", "8000")];
    g.start(vec![recipe(&sets)], None, true);
    wait(&mut g, "steps", |g| g.step() > 50);
    for points in [25, 24, 49, 24] {
        let (step, epoch) = (g.step(), g.epoch());
        let next = with_points(&g, |rows| {
            rows.truncate(points);
            while rows.len() < points {
                rows.push(vec![0.1 * rows.len() as f64, 0.0]);
            }
        });
        g.change(vec![next]);
        wait(&mut g, "its points", |g| g.slots[0].points.train.len() == points);
        assert!(g.step() >= step && g.epoch() >= epoch, "{points}: {epoch} -> {}", g.epoch());
        let made = g.epoch();
        wait(&mut g, "further epochs", |g| g.epoch() > made + 3 || matches!(g.state, WorkerState::Ended(_)));
    }
    wait(&mut g, "the end", |g| matches!(g.state, WorkerState::Ended(_)));
    // A change after the end trains on: counted on, not from 0. Where the worker is faster than this test, one of those above
    // has already come after an end.
    let (step, epoch) = (g.step(), g.epoch());
    assert!(epoch > 0 && epoch % 8000 == 0, "{epoch}");
    g.change(vec![with_points(&g, |rows| rows[0][1] += 0.5)]);
    wait(&mut g, "further steps", |g| g.state == WorkerState::Running && g.step() > step + 10);
    assert!(g.epoch() >= epoch && g.slots[0].run.epochs == epoch + 8000, "{}", g.slots[0].run.epochs);
    wait(&mut g, "the end", |g| matches!(g.state, WorkerState::Ended(_)));
    let rows = &g.slots[0].run.rows;
    for pair in rows.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        assert!(b.step > a.step && b.epoch > a.epoch && b.epoch <= a.epoch + 2, "{a:?} {b:?}");
    }
    assert_eq!(g.epoch(), epoch + 8000);
    assert!(g.errors.is_empty(), "{:?}", g.errors);
}

/// The counters of an edited session come back with it.
#[test]
fn bug_6_a_closed_session_counts_on() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("session");
    let mut g = group();
    let keep = Keep { path: path.clone(), force: true, report: false };
    g.start(vec![recipe(&[("train.batch", "24"), ("train.evaluate_every", "1")])], Some(keep), true);
    wait(&mut g, "steps", |g| g.step() > 60);
    g.change(vec![with_points(&g, |rows| rows.push(vec![0.0, 1.0]))]);
    wait(&mut g, "25 points", |g| g.slots[0].points.train.len() == 25);
    let at = g.step();
    wait(&mut g, "steps", |g| g.step() > at + 30);
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    let number = g.snapshot.number;
    g.send(Command::View(View { band_points: 9, ..View::default() }));
    wait(&mut g, "a look", |g| g.snapshot.number > number);
    let (step, epoch) = (g.snapshot.step, g.snapshot.epoch);
    drop(g);
    let mut again = group();
    again.send(Command::Resume { path, more: None, report: false, running: false });
    wait(&mut again, "the session", |g| g.snapshot.number > 0);
    assert_eq!((again.snapshot.step, again.snapshot.epoch), (step, epoch));
}

/// Validation rows and patience: what is shown at the end predicts as the best weights do, not as the last.
#[test]
fn bug_7_what_is_shown_at_the_end_is_the_best() {
    let sets = [
        ("data.rows", "30"),
        ("data.validation_fraction", "0.3"),
        ("train.patience", "200"),
        ("train.epochs", "5000"),
        ("train.lr", "0.02"),
    ];
    let mut t = Training::new(&recipe(&sets), &Device::Cpu).expect("a training");
    while t.trainer.ending().is_none() {
        t.advance(1000).expect("steps");
    }
    assert_eq!(t.trainer.ending(), Some(Ending::Early), "else this test shows nothing");
    let (best, last) = (t.trainer.final_weights().expect("weights"), t.trainer.weights().expect("weights"));
    assert_ne!(best, last);
    let shown = t.trainer.snapshot(&t.data.train, &Device::Cpu).expect("a look");
    assert_eq!(shown, best);
}

/// However rows and looks come in, the number beside the curve is never behind its end.
#[test]
fn bug_14_the_step_that_is_told_is_that_of_the_curve() {
    let mut g = group();
    g.start(vec![recipe(&[("train.evaluate_every", "1"), ("train.batch", "24")])], None, true);
    let mut seen = 0;
    while g.step() < 3000 {
        g.poll();
        // Reports that bring rows along at other times than looks do.
        g.send(Command::Change(vec![recipe(&[
            ("train.evaluate_every", "1"),
            ("train.batch", "24"),
            ("method.eta", if seen % 2 == 0 { "0.2" } else { "0.3" }),
        ])]));
        seen += 1;
        if let Some(last) = g.slots.first().and_then(|l| l.run.last()) {
            assert!(g.step() >= last.step && g.epoch() >= last.epoch);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(g.errors.is_empty(), "{:?}", g.errors);
}

#[test]
fn bug_8_what_nobody_sees_rests_and_goes_on_when_it_is_seen() {
    let mut g = group();
    g.start(vec![recipe(&[])], None, true);
    wait(&mut g, "steps", |g| g.snapshot.step > 5);
    g.in_front(false);
    wait(&mut g, "a rest", |g| g.state == WorkerState::Paused);
    g.in_front(false);
    g.in_front(true);
    wait(&mut g, "training", |g| g.state == WorkerState::Running);
    // Paused by hand it stays so.
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    g.in_front(false);
    g.in_front(true);
    let number = g.snapshot.number;
    g.send(Command::View(View { band_points: 9, ..View::default() }));
    wait(&mut g, "a look", |g| g.snapshot.number > number);
    assert_eq!(g.state, WorkerState::Paused);
}

/// Of memory that runs out beside a page, or a bug: what is shown can begin anew, with the view that was asked for, and what is kept
/// in a folder goes on from there.
#[test]
fn a_training_whose_thread_has_died_begins_again() {
    let home = tempfile::tempdir().expect("a folder");
    let keep = Keep { path: home.path().join("run"), force: true, report: false };
    let mut g = group();
    g.send(Command::View(View { band_points: 7, ..View::default() }));
    let points = |g: &Group| match g.snapshot.slots.first().map(|s| &s.picture) {
        Some(Picture::Band(band)) => band.x.len(),
        _ => 0,
    };
    g.start(vec![recipe(&[])], Some(keep), true);
    wait(&mut g, "steps", |g| g.snapshot.step > 20 && points(g) == 7);
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    let at = g.step();
    g.lose();
    // It asks for no other thread where there is nothing to begin.
    g.send(Command::Pace(Some(1e9)));
    assert!(g.is_lost());
    g.send(Command::Run);
    wait(&mut g, "further steps", |g| g.state == WorkerState::Running && g.snapshot.step > at && points(g) == 7);
    g.lose();
    let begun = g.begun;
    g.change(vec![recipe(&[("net.hidden", "[5]")])]);
    wait(&mut g, "another network", |g| g.begun > begun && g.snapshot.step > 5);
    assert_eq!(g.slots[0].recipe.as_deref(), Some(&recipe(&[("net.hidden", "[5]")])));
}
