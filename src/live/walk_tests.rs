//! Walks of random commands: every state that they lead to can be left. From wherever a walk ends, each command acts or says why
//! not, a recipe that can begin trains, and closing comes to an end.

use super::group::tests::{group, recipe, wait};
use super::*;
use crate::base::clock::{Duration, Instant};
use crate::base::rng::SplitMix64;
use crate::recipe::Recipe;
use std::path::Path;

const WALKS: u64 = 40;
const LENGTH: usize = 14;

/// Some begin, some cannot, some fail on the way, some end at once.
fn any_recipe(rng: &mut SplitMix64) -> Recipe {
    match rng.next_u64() % 9 {
        0 => recipe(&[("method.name", "\"dirichlet\""), ("method.eta_aux", "0")]),
        1 => recipe(&[("train.lr", "1000"), ("train.clip", "0"), ("train.optimizer", "\"sgd\"")]),
        2 => recipe(&[("train.epochs", "2")]),
        3 => recipe(&[("train.epochs", "40"), ("data.validation_fraction", "0.3"), ("train.patience", "5")]),
        4 => {
            let mut missing = recipe(&[]);
            (missing.data.toy, missing.data.file) = (None, Some("no/such/file.csv".into()));
            missing
        }
        5 => {
            let mut points = recipe(&[("data.toy", "\"moons\""), ("method.noise_link", "\"exp\"")]);
            points.data.toy = None;
            let row = |i: u64| vec![(i % 5) as f64, (i % 3) as f64, (i % 2) as f64];
            points.data.points = Some((0..6 + rng.next_u64() % 30).map(row).collect());
            points
        }
        6 => recipe(&[("net.hidden", "[5, 5]"), ("method.members", "2")]),
        7 => recipe(&[("method.eta", "2"), ("train.batch", "7")]),
        _ => recipe(&[]),
    }
}

fn any_keep(rng: &mut SplitMix64, home: &Path) -> Option<Keep> {
    let path = home.join(format!("run{}", rng.next_u64() % 3));
    match rng.next_u64() % 3 {
        0 => None,
        _ => Some(Keep { path, force: rng.next_u64().is_multiple_of(2), report: rng.next_u64().is_multiple_of(2) }),
    }
}

/// One command, or nothing but time.
fn random_act(g: &mut Group, rng: &mut SplitMix64, home: &Path) -> String {
    let running = rng.next_u64().is_multiple_of(2);
    let command = match rng.next_u64() % 16 {
        0 | 1 => {
            let several = 1 + rng.next_u64() % 2;
            let recipes: Vec<Recipe> = (0..several).map(|_| any_recipe(rng)).collect();
            let keep = any_keep(rng, home);
            let said = format!("start {} {keep:?} {running}", recipes[0].method.name);
            g.start(recipes, keep, running);
            return said;
        }
        2 => Command::Resume {
            path: home.join(format!("run{}", rng.next_u64() % 4)),
            more: None,
            report: false,
            running,
        },
        3 => Command::Run,
        4 => Command::Pause,
        5 => Command::Step(1 + rng.next_u64() % 50),
        6 => Command::Stop,
        7 => Command::Reset,
        8 | 9 => Command::Change(vec![any_recipe(rng)]),
        10 => Command::Pace([None, Some(1e9), Some(2000.0), Some(f64::NAN)][(rng.next_u64() % 4) as usize]),
        11 => Command::View(View {
            band_points: 3,
            map_cells: 3,
            prior: Some((2, 1)),
            moments: true,
            look_at: running.then_some(20),
            network: true,
            ..View::default()
        }),
        13 => Command::GoOn { from: running.then_some(rng.next_u64() % 60) },
        14 => Command::ComeBack,
        12 => Command::Save { slot: (rng.next_u64() % 2) as usize, path: home.join("saved"), force: running },
        _ => {
            std::thread::sleep(Duration::from_millis(rng.next_u64() % 20));
            g.poll();
            return "time".into();
        }
    };
    let said = match &command {
        Command::Change(r) => format!("change {}", r[0].method.name),
        Command::Resume { path, .. } => format!("resume {}", path.display()),
        Command::Step(n) => format!("step {n}"),
        other => format!("command {:?}", std::mem::discriminant(other)),
    };
    g.send(command);
    said
}

/// After all that was sent: a snapshot that is asked for last comes last, or a word that there is nothing to snapshot at.
fn settle(g: &mut Group, what: &str) {
    let before = g.errors.len();
    // Answered in every state, and after all that was sent before.
    g.send(Command::Save { slot: 9, path: "nowhere".into(), force: false });
    g.send(Command::Pause);
    let began = Instant::now();
    loop {
        g.poll();
        let answer =
            |e: &crate::error::Error| ["no number 9", "there is none"].iter().any(|w| e.to_string().contains(w));
        let answered = g.errors[before..].iter().any(answer);
        if answered && g.state != WorkerState::Running && !g.is_starting() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "hangs after {what}: {:?}", g.state);
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Each of the controls changes what is shown, or says why not.
fn every_control_answers(g: &mut Group, what: &str) {
    for (name, command) in
        [("run", Command::Run), ("step", Command::Step(1)), ("reset", Command::Reset), ("stop", Command::Stop)]
    {
        let (errors, step, state) = (g.errors.len(), g.step(), g.state);
        let number = g.snapshot.number;
        g.send(command);
        let began = Instant::now();
        loop {
            g.poll();
            // A snapshot after the command is the answer of one that found nothing to do: it has ended, or is at step 0 already.
            let acted = g.state != state || g.step() != step || g.snapshot.number > number;
            if acted || g.errors.len() > errors {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{name} says nothing in {state:?} after {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn every_state_can_be_left() {
    for walk in 0..WALKS {
        let mut rng = SplitMix64::new(walk);
        let home = tempfile::tempdir().expect("a folder");
        let mut g = group();
        let mut done = vec![format!("walk {walk}")];
        for _ in 0..rng.next_u64() as usize % LENGTH {
            done.push(random_act(&mut g, &mut rng, home.path()));
        }
        let what = done.join("; ");
        if walk % 4 == 3 {
            // Closed in the middle of it.
            let began = Instant::now();
            drop(g);
            assert!(began.elapsed() < Duration::from_secs(30), "closing took {:?} after {what}", began.elapsed());
            continue;
        }
        settle(&mut g, &what);
        if walk % 2 == 0 {
            every_control_answers(&mut g, &what);
        }
        // What was said of the walk is not said of what follows.
        g.errors.clear();
        g.send(Command::Pace(None));
        let valid = recipe(&[("seed", "77")]);
        g.start(vec![valid.clone()], None, true);
        wait(&mut g, &format!("training after {what}"), |g| {
            let ours = g.slots.first().is_some_and(|l| l.recipe.as_deref() == Some(&valid));
            ours && !g.is_starting() && g.state == WorkerState::Running && g.snapshot.step > 5
        });
        g.send(Command::Pause);
        wait(&mut g, &format!("a pause after {what}"), |g| g.state == WorkerState::Paused);
        g.send(Command::Reset);
        wait(&mut g, &format!("step 0 after {what}"), |g| g.step() == 0 && !g.snapshot.slots.is_empty());
        g.send(Command::Step(1));
        wait(&mut g, &format!("one step after {what}"), |g| g.snapshot.step == 1);
        let began = Instant::now();
        drop(g);
        assert!(began.elapsed() < Duration::from_secs(30), "closing took {:?} after {what}", began.elapsed());
    }
}
