//! Looking back and going back in a training, and the network that is looked at meanwhile.

use super::group::tests::{group, recipe, wait};
use super::network;
use super::slot::TrainerSlot;
use super::*;
use crate::data::Inputs;
use crate::exec::Device;
use crate::method::METHODS;
use crate::train::Predictor;
use crate::workflow::Training;

fn slot(sets: &[(&str, &str)]) -> TrainerSlot {
    TrainerSlot::new(Training::new(&recipe(sets), &Device::Cpu).expect("a training"), Device::Cpu)
}

/// Steps that end in the middle of an epoch, too.
fn advance(slot: &mut TrainerSlot, to: u64) {
    while slot.training.trainer.step() < to {
        slot.keep_moment().expect("a moment");
        let left = to - slot.training.trainer.step();
        slot.training.advance(left.min(7)).expect("steps");
    }
}

fn bits(slot: &mut TrainerSlot) -> Vec<u32> {
    slot.training.trainer.weights().expect("weights").weights.iter().map(|w| w.to_bits()).collect()
}

/// Validation, an average of weights, and dropout have state of their own.
#[test]
fn going_back_and_on_again_gives_the_same_bits() {
    for sets in [
        &[][..],
        &[("data.validation_fraction", "0.3"), ("train.patience", "1000")],
        &[("train.average", "0.9"), ("method.members", "3"), ("net.dropout", "0.2")],
        &[("method.name", "\"vi-naive\""), ("method.eta_aux", "0")],
    ] {
        let mut slot = slot(sets);
        advance(&mut slot, 100);
        let (weights, rows) = (bits(&mut slot), slot.training.rows.clone());
        let went = slot.go_back(45).expect("a checkpoint").expect("a moment");
        assert!((38..=45).contains(&went), "{went}");
        assert_eq!(slot.training.trainer.step(), went);
        assert!(slot.training.rows.iter().all(|r| r.step <= went));
        assert!(slot.timeline.steps().iter().all(|s| *s <= went));
        advance(&mut slot, 100);
        assert!(bits(&mut slot) == weights, "{sets:?}");
        let losses = |rows: &[crate::train::EpochRow]| -> Vec<(u64, u64, Option<u64>)> {
            rows.iter().map(|r| (r.step, r.loss.to_bits(), r.validation_nll.map(f64::to_bits))).collect()
        };
        assert_eq!(losses(&slot.training.rows), losses(&rows), "{sets:?}");
    }
}

/// Of another step than the present, and again of the present.
#[test]
fn an_earlier_moment_is_drawn_as_it_was() {
    let mut slot = slot(&[]);
    let view = View { moments: true, ..View::default() };
    advance(&mut slot, 49);
    slot.keep_moment().expect("a moment");
    let then = slot.snapshot(&view).expect("a look").picture;
    advance(&mut slot, 400);
    let now = slot.snapshot(&view).expect("a look");
    assert_ne!(now.picture, then);
    let back = slot.snapshot(&View { look_at: Some(49), ..view.clone() }).expect("a look");
    assert_eq!((back.picture, back.looks_at), (then, Some(49)));
    assert_eq!(slot.snapshot(&view).expect("a look").picture, now.picture);
}

/// Until the best validation is known its moment is marked, kept beside those at even distances, and can be gone on from.
#[test]
fn a_group_keeps_its_moments_and_goes_on_from_them() {
    let mut g = group();
    g.send(Command::View(View { moments: true, interval: 0.01, ..View::default() }));
    g.start(vec![recipe(&[("data.validation_fraction", "0.3"), ("train.epochs", "60")])], None, true);
    wait(&mut g, "the end", |g| matches!(g.state, WorkerState::Ended(_)));
    wait(&mut g, "moments", |g| g.snapshot.slots[0].moments.len() > 3 && g.snapshot.slots[0].best.is_some());
    let (end, look) = (g.step(), g.snapshot.slots[0].clone());
    let rows = g.slots[0].run.rows.clone();
    let lowest = rows.iter().min_by(|a, b| a.validation_nll.unwrap_or(9e9).total_cmp(&b.validation_nll.unwrap_or(9e9)));
    assert_eq!(look.best, lowest.map(|r| r.step));
    let middle = look.moments[look.moments.len() / 2];
    g.send(Command::Pace(Some(1.0)));
    g.send(Command::GoOn { from: Some(middle) });
    wait(&mut g, "training from there", |g| g.state == WorkerState::Running && g.step() < end);
    assert!(g.step() >= middle && g.slots[0].run.rows.iter().all(|r| r.step <= g.step()));
    g.send(Command::Pace(None));
    wait(&mut g, "the end again", |g| matches!(g.state, WorkerState::Ended(_)) && g.step() == end);
    let losses = |rows: &[crate::train::EpochRow]| rows.iter().map(|r| r.loss.to_bits()).collect::<Vec<u64>>();
    wait(&mut g, "all rows", |g| g.slots[0].run.rows.len() == rows.len());
    assert_eq!(losses(&g.slots[0].run.rows), losses(&rows));
    // Another way from there, and back to how it stood.
    wait(&mut g, "a look at the end", |g| g.snapshot.step == end && g.snapshot.slots[0].best == look.best);
    let look = g.snapshot.slots[0].clone();
    g.send(Command::Pace(Some(1.0)));
    g.send(Command::GoOn { from: Some(middle) });
    wait(&mut g, "training from there", |g| g.state == WorkerState::Running && g.step() < end);
    g.send(Command::ComeBack);
    wait(&mut g, "the end as it was", |g| matches!(g.state, WorkerState::Ended(_)) && g.step() == end);
    wait(&mut g, "its moments", |g| g.snapshot.step == end && g.snapshot.slots[0].moments == look.moments);
    assert_eq!((losses(&g.slots[0].run.rows), g.snapshot.slots[0].best), (losses(&rows), look.best));
    assert_eq!(g.snapshot.slots[0].picture, look.picture);
    // The going back before it, and no other.
    g.send(Command::ComeBack);
    g.send(Command::ComeBack);
    wait(&mut g, "a refusal", |g| !g.errors.is_empty());
    assert!(g.errors.remove(0).to_string().contains("is kept no longer"));
    g.send(Command::Pace(None));
    // As many epochs again.
    g.send(Command::GoOn { from: None });
    wait(&mut g, "more steps", |g| g.step() == 2 * end);
    assert_eq!(g.slots[0].run.epochs, 120);
    assert!(g.errors.is_empty(), "{:?}", g.errors);
}

/// Put aside and brought back, in the folder that another has had meanwhile, a training goes on to the same bits.
#[test]
fn a_training_that_was_put_aside_comes_back_as_it_was() {
    let losses = |g: &Group| g.slots[0].run.rows.iter().map(|r| r.loss.to_bits()).collect::<Vec<u64>>();
    let of = recipe(&[("train.epochs", "60")]);
    let mut whole = group();
    whole.start(vec![of.clone()], None, true);
    wait(&mut whole, "the end", |g| matches!(g.state, WorkerState::Ended(_)));
    let home = tempfile::tempdir().expect("a folder");
    let keep = || Some(Keep { path: home.path().join("session"), force: true, report: false });
    let mut g = group();
    g.send(Command::View(View { moments: true, interval: 0.01, ..View::default() }));
    g.send(Command::Pace(Some(400.0)));
    g.start(vec![of.clone()], keep(), true);
    wait(&mut g, "some of it", |g| g.step() > 30);
    g.send(Command::Pause);
    wait(&mut g, "a pause", |g| g.state == WorkerState::Paused);
    g.send(Command::Aside(1));
    g.start(vec![recipe(&[("seed", "2")])], keep(), true);
    wait(&mut g, "another", |g| g.state == WorkerState::Running && g.snapshot.step > 5);
    g.send(Command::Aside(2));
    g.bring_back(1, vec![of.clone()], keep());
    wait(&mut g, "the first", |g| !g.is_starting() && g.state == WorkerState::Paused && g.step() > 30);
    assert!(g.step() < 180 && g.slots[0].recipe.as_deref() == Some(&of));
    wait(&mut g, "its moments", |g| g.snapshot.slots[0].moments.len() > 3);
    g.send(Command::Pace(None));
    g.send(Command::Run);
    wait(&mut g, "the end", |g| matches!(g.state, WorkerState::Ended(_)));
    wait(&mut g, "all rows", |g| g.slots[0].run.rows.len() == whole.slots[0].run.rows.len());
    assert_eq!(losses(&g), losses(&whole));
    // The other one runs on where it was; what nobody put aside begins at step 0.
    g.bring_back(2, vec![of.clone()], keep());
    wait(&mut g, "the second", |g| g.state == WorkerState::Running && g.snapshot.step > 5);
    assert_eq!(g.slots[0].recipe.as_ref().map(|r| r.seed), Some(2));
    g.bring_back(7, vec![of.clone()], keep());
    wait(&mut g, "a fresh one", |g| g.slots[0].recipe.as_ref().is_some_and(|r| r.seed == 1) && !g.is_starting());
    drop(g);
    let session = crate::run::RunFolder::open(&home.path().join("session")).expect("a run");
    assert_eq!(session.recipe().expect("a recipe").seed, 1, "the folder is of the last one");
}

/// What the picture shows is what predictions are made of: for each method, and for each kind of layer.
#[test]
fn the_outputs_of_the_picture_are_those_of_the_program() {
    let layers: [&[(&str, &str)]; 3] = [
        &[],
        &[("net.parametric", "true"), ("net.input_scale", "true"), ("net.activation", "\"mish\"")],
        &[("net.embedding", "\"periodic\""), ("net.hidden", "[6, 5]")],
    ];
    let names = METHODS.iter().map(|m| m.name()).filter(|n| ["base", "vifo-mean", "vbll"].contains(n));
    let mut seen = 0;
    for name in names {
        for sets in layers {
            let method = format!("\"{name}\"");
            let sets = [&[("method.name", method.as_str()), ("method.eta_aux", "0")], sets].concat();
            let mut slot = slot(&sets);
            advance(&mut slot, 30);
            let plan = slot.training.trainer.plan().clone();
            let trained = slot.training.trainer.weights().expect("weights");
            let look = network::look(&plan.setup, &slot.training.data.encoder, &trained, Some(&[0.3]));
            let row = picture::standard(&slot.training.data.encoder, &[0.3]);
            let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, 1).expect("a predictor");
            predictor.set(&trained).expect("weights");
            let outputs = predictor.outputs(Inputs::Rows(&row)).expect("outputs");
            let last = look.layers.last().expect("outputs");
            assert_eq!((last.values.len(), look.outputs.len()), (outputs.len(), outputs.len()), "{name}");
            let k = if look.doubled { outputs.len() / 2 } else { outputs.len() };
            assert!(last.values[..k].iter().zip(&outputs).all(|(a, b)| (a - b).abs() < 1e-5), "{sets:?}");
            assert!(!look.doubled || last.values[k..].iter().all(|sd| *sd > 0.0), "standard deviations");
            assert_eq!(look.layers.iter().map(|l| l.parameters).sum::<usize>(), look.parameters, "{sets:?}");
            let units: Vec<u32> = look.layers.iter().map(|l| l.units).collect();
            assert_eq!(units.len(), if sets.iter().any(|s| s.1 == "[6, 5]") { 4 } else { 3 });
            for (layer, before) in look.layers.iter().skip(1).zip(&units) {
                assert_eq!(layer.weights.len() % (*before as usize).min(network::SHOWN), 0);
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 9, "every name above is a method");
}
