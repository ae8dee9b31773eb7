//! Training on the CPU: the same run twice, cut and resumed, split over threads or members is the same to the bit; pinned
//! losses; what training must achieve; how it fails.

mod embedding;
mod folds;
mod halves;
mod images;
mod inputs;
mod levels;
mod objectives;
mod resident;
mod splits;
mod stepping;
mod variants;

use crate::common::runs::{bits, outcome, prepare, train, train_in_two, weights};
use std::path::Path;
use std::sync::Arc;
use vifo::data::Inputs;
use vifo::data::encode::{Encoder, FeatureKind};
use vifo::data::load::Loaded;
use vifo::error::Error;
use vifo::exec::gpu::testing::as_hardware;
use vifo::exec::{Device, gpu};
use vifo::method::{ModelSpec, Predictive, Trained};
use vifo::ops::StepArgs;
use vifo::train::plan::TrainingPlan;
use vifo::train::session::Session;
use vifo::train::{Checkpoint, Ending, EpochRow, Event, Flow, Predictor, Splits, Trainer, recompute_running};

/// Short batches, dropout and warm-up: everything that depends on a counter takes part.
const SMALL: &str = "
[data]
toy = \"sinusoid\"
rows = 60
validation_fraction = 0.2
[net]
hidden = [12, 12]
dropout = 0.1
[method]
name = \"base\"
members = 3
[train]
epochs = 4
batch = 20
kl_warmup = 3
patience = 2
";

const METHODS: [&str; 4] = [
    "method.name = base",
    "method.name = vifo-mean\nmethod.eta_aux = 1\nmethod.expectation = sampled",
    "method.name = vi-naive\nmethod.samples = 3",
    "method.name = vifo-mv_all",
];

// ---- the same to the bit ----

#[test]
fn the_same_seed_twice_and_another_seed() {
    for method in METHODS {
        let run = |seed: &str| {
            let (plan, data) = prepare(SMALL, &format!("{method}\n{seed}"));
            train(&plan, &data).0
        };
        let first = run("seed = 5");
        assert!(weights(&first).iter().all(|w| w.is_finite()), "{method}");
        assert_eq!(first, run("seed = 5"), "{method}");
        assert_ne!(first.weights, run("seed = 6").weights, "{method}");
    }
}

#[test]
fn one_thread_and_two_threads() {
    // The last is wide enough for its products to be cut between threads (8 MFLOP); the others cut the ensemble.
    let wide = "data.rows = 700\nnet.hidden = [128, 128]\ntrain.batch = 512\ntrain.epochs = 2\nmethod.name = vifo-mean";
    for (members, method) in [(1, METHODS[1]), (5, METHODS[0]), (5, METHODS[1]), (5, METHODS[2]), (1, wide)] {
        let run = |threads: usize| {
            let (plan, data) = prepare(SMALL, &format!("{method}\nmethod.members = {members}"));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| train(&plan, &data)).0
        };
        let one = run(1);
        assert_eq!(one, run(2), "{members} members, {method}");
        assert_eq!(one, run(3), "{members} members, {method}");
    }
}

/// The app trains some steps at a time and saves wherever it is closed.
#[test]
fn steps_in_pieces_and_saved_within_an_epoch_are_the_same_run() {
    for method in METHODS {
        let (plan, data) = prepare(SMALL, method);
        let (whole, rows) = train(&plan, &data);
        let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
        let mut seen = vec![];
        let mut pieces = [1, 2, 5, 1, 3].into_iter().cycle();
        let mut saved_at = None;
        let ending = loop {
            if let Some(ending) = trainer.ending() {
                break ending;
            }
            seen.extend(trainer.advance(pieces.next().expect("a cycle")).expect("steps"));
            if saved_at.is_none() && trainer.step() % u64::from(plan.steps_per_epoch()) == 1 {
                saved_at = Some(trainer.step());
                let layout = plan.setup.layout();
                let bytes = trainer.checkpoint().and_then(|c| c.to_bytes(&layout)).expect("bytes");
                let (members, len) = (plan.setup.members as usize, plan.setup.member_len());
                let saved = Checkpoint::from_bytes(&bytes, Path::new("saved"), &layout, members, len).expect("saved");
                trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
                trainer.restore(&saved).expect("restored");
            }
        };
        assert!(saved_at.is_some(), "{method}: never within an epoch");
        assert_eq!(outcome(&mut trainer, ending), whole, "{method}");
        // The losses of the epoch that was cut are means over what came after the cut; everything else agrees.
        let rest = |rows: &[EpochRow]| rows.iter().map(|r| (r.epoch, r.step, r.validation_nll)).collect::<Vec<_>>();
        assert_eq!(rest(&seen), rest(&rows), "{method}");
    }
}

/// A plan in place of another counts from the next step on; the rows and weights before are those of the first.
#[test]
fn steering_takes_effect_at_the_next_step_and_rebuilding_keeps_the_weights() {
    let (plan, data) = prepare(SMALL, "method.name = vifo-mean\nmethod.eta_aux = 1");
    let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
    trainer.advance(2).expect("steps");
    let before = trainer.weights().expect("weights");
    let mut steered = plan.clone();
    steered.first_lr = 0.0;
    trainer.update_hyperparameters(&steered);
    trainer.advance(1).expect("a step");
    assert_eq!(trainer.weights().expect("weights"), before, "a rate of 0 moves nothing");
    steered.first_lr = 0.01;
    trainer.update_hyperparameters(&steered);
    trainer.advance(1).expect("a step");
    let moved = trainer.weights().expect("weights");
    assert_ne!(moved, before);
    // Half of the rows: another program around the same weights.
    let mut fewer = data.clone();
    fewer.train = data.train.subset(&(0..data.train.n / 2).collect::<Vec<_>>());
    let (other, _) = prepare(SMALL, "method.name = vifo-mean\nmethod.eta_aux = 1");
    let mut other = other;
    other.setup.n_rows = fewer.train.n as u32;
    trainer.rebuild(&other, &fewer, &Device::Cpu).expect("rebuilt");
    assert_eq!(trainer.weights().expect("weights"), moved);
    trainer.advance(1).expect("a step");
    assert_ne!(trainer.weights().expect("weights"), moved);
}

#[test]
fn two_epochs_saved_and_two_more_are_four() {
    for method in METHODS {
        for optimizer in ["adam", "sgd\ntrain.lr = 0.003\ntrain.clip = 5"] {
            let (plan, data) = prepare(SMALL, &format!("{method}\ntrain.optimizer = {optimizer}"));
            let whole = train(&plan, &data).0;
            assert_eq!(whole, train_in_two(&plan, &data, 2), "{method}, {optimizer}");
            assert!(!whole.best.is_empty() && !whole.optimizer.is_empty(), "{method}, {optimizer}");
        }
    }
}

/// A rate at which the validation loss soon rises: the run ends early and keeps its best weights, resumed or not.
#[test]
fn early_stopping_survives_a_resume() {
    let restless =
        "method.name = vifo-mean\ntrain.lr = 0.1\ntrain.epochs = 60\ntrain.patience = 3\ntrain.schedule = constant";
    let (plan, data) = prepare(SMALL, restless);
    let (whole, rows) = train(&plan, &data);
    assert_eq!(whole.ending, Ending::Early);
    let nll = |r: &EpochRow| r.validation_nll.expect("a validation part");
    let best = rows.iter().min_by(|a, b| nll(a).total_cmp(&nll(b))).expect("rows");
    assert_eq!(whole.best, [(best.epoch, nll(best).to_bits())]);
    assert_eq!(whole.epoch, best.epoch + 3, "patience epochs after the best one");
    assert_ne!(whole.chosen, whole.weights, "the best weights, not the last");
    // Stopped on the best epoch, one before and one after it, and on the very last one.
    for stop in [best.epoch.max(2) - 1, best.epoch, best.epoch + 1, whole.epoch] {
        assert_eq!(whole, train_in_two(&plan, &data, stop), "stopped after epoch {stop}");
    }
}

/// Validation chooses nothing here, so members share nothing: number 1 of three trains as it would alone.
#[test]
fn a_member_trains_as_it_would_alone() {
    for method in METHODS {
        let (plan, data) = prepare(SMALL, &format!("{method}\ntrain.patience = 0"));
        let together = train(&plan, &data).0;
        for member in 0..3 {
            let alone = TrainingPlan { setup: plan.setup.part(member, 1), ..plan.clone() };
            let alone = train(&alone, &data).0;
            let part = |all: &[u32]| all.chunks(alone.weights.len()).nth(member as usize).expect("a member").to_vec();
            assert_eq!(alone.weights, part(&together.weights), "{method}, member {member}");
            for ((name, alone), (_, all)) in alone.optimizer.iter().zip(&together.optimizer) {
                assert_eq!(*alone, part(all), "{method}, member {member}, {name}");
            }
        }
        let members: Vec<&[u32]> = together.weights.chunks(together.weights.len() / 3).collect();
        assert!(members[0] != members[1] && members[1] != members[2], "{method}: members must differ");
    }
}

/// PyTorch's uniform start on +-1/sqrt(fan_in), VI's normals; every member has its own, which does not depend on the cut.
#[test]
fn members_start_apart_and_within_their_bounds() {
    for method in METHODS {
        let (plan, _) = prepare(SMALL, method);
        let start = |setup: &vifo::method::ModelSpec| setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
        let (all, len, layout) = (start(&plan.setup), plan.setup.member_len(), plan.setup.layout());
        let members: Vec<&[f32]> = all.chunks(len).collect();
        assert!(members[0] != members[1] && members[1] != members[2] && members[0] != members[2], "{method}");
        for (m, member) in members.iter().enumerate() {
            assert_eq!(start(&plan.setup.part(m as u32, 1)), *member, "{method}");
            if plan.setup.method.samples_weights() {
                // Means of n normals of sd 0.1, within five standard errors.
                let (mu, rho) = member.split_at(layout.total);
                for (part, want) in [(mu, 0.0), (rho, -5.0)] {
                    let (n, mean) =
                        (part.len() as f64, part.iter().map(|v| *v as f64).sum::<f64>() / part.len() as f64);
                    let sd = (part.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
                    assert!((mean - want).abs() < 0.5 / n.sqrt() && (sd - 0.1).abs() < 0.5 / (2.0 * n).sqrt());
                }
                continue;
            }
            for view in &layout.views {
                let (bound, part) =
                    (1.0 / (view.fan_in() as f32).sqrt(), &member[view.offset..view.offset + view.len()]);
                let largest = part.iter().fold(0f32, |m, w| m.max(w.abs()));
                assert!(largest <= bound && (part.len() < 12 || largest > 0.7 * bound), "{method}: {}", view.name);
            }
        }
    }
}

// ---- images ----

/// What changes with the step is a function of the step alone (48 training rows, batches of 20: three steps an epoch):
/// the last batch is short, eta rises over kl_warmup = 3 epochs, the rate falls by its schedule, Adam's corrections grow.
#[test]
fn step_arguments_follow_the_step() {
    let (cosine, data) = prepare(SMALL, "method.name = vifo-mean\nmethod.eta_aux = 2\ntrain.lr = 0.5");
    let (stepwise, _) = prepare(SMALL, "train.lr = 0.5\ntrain.schedule = step");
    assert_eq!((data.train.n, cosine.steps_per_epoch(), cosine.total_steps()), (48, 3, 12));
    for step in 0..12u64 {
        let (a, t) = (cosine.args(step), step as f64);
        assert_eq!((a.step as u64, a.epoch as u64), (step, step / 3));
        assert_eq!((a.batch_start, a.n_valid), [(0, 20), (20, 20), (40, 8)][step as usize % 3]);
        let warmth = (t / 9.0).min(1.0);
        let near = |found: f64, want: f64| assert!((found - want).abs() < 1e-14, "step {step}: {found}, not {want}");
        near(a.eta, 0.1 * warmth);
        near(a.eta_aux, 2.0 * warmth);
        near(a.lr, 0.25 * (1.0 + (std::f64::consts::PI * t / 12.0).cos()));
        near(a.bias1, 1.0 - 0.9f64.powf(t + 1.0));
        near(a.bias2, 1.0 - 0.999f64.powf(t + 1.0));
        let factor = [1.0, 1.0, 0.1, 0.01][step as usize / 3];
        near(stepwise.args(step).lr, 0.5 * factor);
        assert_eq!(stepwise.args(step).eta, 0.0, "base has no regularizer");
    }
}

// ---- how it fails ----

#[test]
fn a_loss_that_is_not_finite_ends_the_run_with_step_and_term() {
    for method in METHODS {
        let wild = "train.optimizer = sgd\ntrain.lr = 1000\ntrain.clip = 0\ntrain.epochs = 50\ntrain.patience = 0\nnet.dropout = 0";
        let (plan, data) = prepare(SMALL, &format!("{method}\n{wild}"));
        let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
        let error = trainer.run(|_, _| Ok(Flow::Continue)).expect_err(method);
        assert!(matches!(error, Error::Run(_)), "{method}: {error:?}");
        let text = error.to_string();
        let step = text.strip_prefix("step ").and_then(|t| t.split(':').next()).and_then(|n| n.parse::<u64>().ok());
        assert!(step.is_some_and(|s| s < plan.total_steps()), "{method}: {text}");
        let terms = ["expected negative log-likelihood", "regularizer", "auxiliary regularizer"];
        assert!(terms.iter().any(|t| text.contains(&format!("the {t} is not a finite number"))), "{method}: {text}");
        assert!(text.contains("lower --lr"), "{method}: {text}");
    }
}

// ---- equal up to rounding ----

fn largest_difference(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs() as f64).fold(0.0, f64::max)
}

/// A smooth run of T = 30 SGD steps with rate lr, so that a perturbation d grows by at most 1 + lr L a step, and lr L
/// below 0.1 keeps the whole growth under e^3 = 20.
const SMOOTH: &str = "
net.activation = silu
net.dropout = 0
data.validation_fraction = 0
method.members = 1
train.batch = 60
train.epochs = 30
train.optimizer = sgd
train.momentum = 0
train.clip = 0
train.lr = 0.02
train.schedule = constant
train.patience = 0
";

/// Other order of the rows, same full batch: each element of a gradient is the mean of N = 60 terms in another order, and
/// independent roundings move it by about sqrt(N) u mean |term|, 8 * 2^-24 * 1 = 5e-7; a step by lr times that; T steps,
/// grown twentyfold, by 20 * 30 * 0.02 * 5e-7 = 6e-6.
#[test]
fn the_order_of_the_rows_does_not_matter_to_a_full_batch() {
    for method in ["method.name = base", "method.name = vifo-mean\nmethod.eta_aux = 1", "method.name = vifo-eb_all"] {
        let (plan, data) = prepare(SMALL, &format!("{SMOOTH}{method}"));
        assert!(plan.setup.full_batch());
        let shuffled: Vec<usize> = (0..data.train.n).map(|i| (i * 37 + 11) % data.train.n).collect();
        let other = Loaded { train: data.train.subset(&shuffled), ..data.clone() };
        assert_ne!(other.train.x, data.train.x);
        let (a, b) = (train(&plan, &data), train(&plan, &other));
        let start = plan.setup.initial_weights(plan.seed, false, 0.0);
        assert!(largest_difference(&weights(&a.0), &start) > 1e-2, "{method}: nothing was learnt");
        assert_ne!(a.0.weights, b.0.weights, "{method}: the order was not changed");
        let difference = largest_difference(&weights(&a.0), &weights(&b.0));
        assert!(difference <= 6e-6, "{method}: weights differ by {difference:e}");
    }
}

/// With rho at -30 sigma is its floor 1e-6 and has no slope: every weight sample is mu + 1e-6 eps, and with eta = 0 VI is
/// the base network on mu. The perturbation, about 1e-6 a weight, moves a gradient by L times that: 30 epochs of three steps
/// of rate 0.02, lr L below 0.1, independent from step to step (sqrt(90)) and grown twentyfold: 20 * 9.5 * 0.1 * 1e-6 = 2e-5.
#[test]
fn vi_without_variance_is_base() {
    let (base, data) = prepare(SMALL, &format!("{SMOOTH}train.batch = 20\nmethod.name = base"));
    let (vi, _) = prepare(
        SMALL,
        &format!("{SMOOTH}train.batch = 20\nmethod.name = vi-naive\nmethod.eta = 0\nmethod.samples = 2"),
    );
    let start = base.setup.initial_weights(3, false, 0.0);
    let rho = vec![-30.0; start.len()];
    let from = |plan: &TrainingPlan, weights: Vec<f32>| {
        let mut trainer = Trainer::new(plan, &data, &Device::Cpu).expect("a trainer");
        trainer
            .restore(&Checkpoint { members: 1, trained: Trained::plain(weights, vec![]), ..Checkpoint::default() })
            .expect("restored");
        trainer.run(|_, _| Ok(Flow::Continue)).expect("a run");
        trainer.checkpoint().expect("a checkpoint").trained.weights
    };
    let trained = from(&base, start.clone());
    let both = from(&vi, [start.clone(), rho.clone()].concat());
    let (mu, rho_after) = both.split_at(start.len());
    assert_eq!(rho_after, rho, "sigma stands on its floor");
    assert!(largest_difference(&trained, &start) > 1e-2, "nothing was learnt");
    let difference = largest_difference(mu, &trained);
    assert!(difference <= 2e-5, "weights differ by {difference:e}");
}

/// The encoder's type is part of what a run needs: a regression's losses are in its target's unit.
#[test]
fn validation_is_in_the_users_units() {
    let (plan, data) = prepare(SMALL, "method.name = base");
    let mut scaled = data.clone();
    let Encoder { target: vifo::data::encode::Target::Regression { sd, .. }, .. } = &mut scaled.encoder else {
        panic!("regression")
    };
    *sd *= 10.0;
    let (a, b) = (train(&plan, &data).1[0], train(&plan, &scaled).1[0]);
    assert_eq!(a.loss, b.loss, "training sees standardised targets");
    let (nll_a, nll_b) = (a.validation_nll.expect("nll"), b.validation_nll.expect("nll"));
    // log 10 more, and ten times the RMSE; both in f64.
    assert!((nll_b - nll_a - 10f64.ln()).abs() < 1e-12);
    let (rmse_a, rmse_b) = (a.validation_score.expect("rmse"), b.validation_score.expect("rmse"));
    assert!((rmse_b / rmse_a - 10.0).abs() < 1e-12);
}
