//! Training on the CPU: the same run twice, cut and resumed, split over threads or members is the same to the bit; pinned
//! losses; what training must achieve; how it fails.

mod common;

use common::runs::{bits, outcome, prepare, train, train_in_two, weights};
use std::path::Path;
use std::sync::Arc;
use vifo::data::Inputs;
use vifo::data::encode::{Encoder, FeatureKind};
use vifo::data::load::Loaded;
use vifo::error::Error;
use vifo::exec::gpu::testing::as_hardware;
use vifo::exec::{Device, gpu};
use vifo::method::{Predictive, Setup, Trained};
use vifo::ops::StepArgs;
use vifo::train::plan::Plan;
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
    trainer.steer(&steered);
    trainer.advance(1).expect("a step");
    assert_eq!(trainer.weights().expect("weights"), before, "a rate of 0 moves nothing");
    steered.first_lr = 0.01;
    trainer.steer(&steered);
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
            assert!(whole.best.is_some() && !whole.optimizer.is_empty(), "{method}, {optimizer}");
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
    assert_eq!(whole.best, Some((best.epoch, nll(best).to_bits())));
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
            let alone = Plan { setup: plan.setup.part(member, 1), ..plan.clone() };
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
        let start = |setup: &vifo::method::Setup| setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
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

/// The bundled digits: crops, batch norm with running statistics, pooling, every method kind.
const IMAGES: &str = "
[data]
images = \"digits\"
limit = 70
crop = 1
[method]
name = \"base\"
members = 2
[train]
epochs = 2
batch = 32
patience = 0
";

const IMAGE_NETS: [&str; 5] = [
    "net.name = cnn\nnet.widths = [4, 6]\nnet.hidden = [8]",
    "net.name = preresnet\nnet.depth = 8\nnet.widths = [4]\nmethod.name = vifo-mean\nmethod.eta_aux = 0.5",
    "net.name = preresnet\nnet.depth = 8\nnet.widths = [4]\nmethod.name = vi-mean\nmethod.samples = 2",
    "net.name = alexnet\nnet.widths = [4, 5, 6, 5, 4]\nnet.hidden = [8]\nnet.dropout = 0.1",
    "net.name = mlp\nnet.hidden = [9]\nmethod.name = vifo-eb",
];

/// Running statistics of batch normalisation and chosen weights come back as well; threads change nothing.
#[test]
fn images_train_the_same_cut_resumed_and_on_any_threads() {
    for net in IMAGE_NETS {
        let run = |threads: usize| {
            let (plan, data) = prepare(IMAGES, net);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                let whole = train(&plan, &data).0;
                assert_eq!(whole, train_in_two(&plan, &data, 1), "{net}, {threads} threads");
                whole
            })
        };
        let one = run(1);
        assert!(weights(&one).iter().all(|w| w.is_finite()), "{net}");
        assert_eq!(one.running.is_empty(), !net.contains("preresnet"), "{net}");
        assert_eq!(one, run(3), "{net}");
    }
}

/// A training step moves the statistics from (0, 1) a tenth of the way to the batch's own; recomputing gives those, and over
/// several batches their average by rows.
#[test]
fn running_statistics_are_recomputed_for_given_weights() {
    let net = "net.name = preresnet\nnet.depth = 8\nnet.widths = [3]\ndata.crop = 0\ndata.validation_fraction = 0";
    let (plan, data) = prepare(IMAGES, &format!("{net}\ntrain.batch = 70"));
    let setup = &plan.setup;
    assert_eq!(setup.n_rows, 70, "one batch");
    let weights = setup.initial_weights(plan.seed, false, 0.0);
    let mut session = Session::new(setup, &Device::Cpu, &data.train, &data.encoder.aux_range()).expect("a session");
    session.set_weights(&weights).expect("weights");
    session.run(&[StepArgs { lr: 0.0, ..plan.args(0) }]).expect("a step");
    let (after, before) = (session.running().expect("statistics"), setup.initial_running());
    let weights = Trained::plain(weights, vec![]);
    let all = recompute_running(setup, &Device::Cpu, &weights, plan.seed, data.train.inputs()).expect("statistics");
    assert_eq!(all.len(), after.len());
    for ((after, before), all) in after.iter().zip(&before).zip(&all) {
        let own = before + (after - before) / 0.1;
        assert!((own - all).abs() <= 1e-4 * (1.0 + all.abs()), "{own} {all}");
    }
    // 70 = 32 + 32 + 6 rows: means average to the mean of all rows.
    let short = vifo::method::Setup { batch: 32, ..setup.clone() };
    let parts = recompute_running(&short, &Device::Cpu, &weights, plan.seed, data.train.inputs()).expect("statistics");
    let (_, c, at) = &setup.layout().norms[0];
    for i in *at..at + c {
        assert!((parts[i] - all[i]).abs() <= 1e-5 * (1.0 + all[i].abs()), "{} {}", parts[i], all[i]);
    }
    assert!(parts[at + c..at + 2 * c] != all[at + c..at + 2 * c], "variances of parts are not those of the whole");
}

/// A set that is not wanted keeps its weights, and the losses are those of the sets that were trained.
#[test]
fn a_set_at_rest_keeps_its_weights() {
    let of = |seed: &str| prepare(SMALL, &format!("method.name = vifo-mean\nseed = {seed}"));
    let ((plan, a), (_, b)) = (of("1"), of("2"));
    let both = Setup { members: 6, per_set: 3, ..plan.setup.clone() };
    let ranges = [a.encoder.aux_range(), b.encoder.aux_range()];
    let args: Vec<_> = (0..3).map(|step| plan.args(step)).collect();
    let start = both.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
    let (first, second) = start.split_at(start.len() / 2);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let sets = [&a.train, &b.train];
            let mut two = Session::of_sets(&both, &Device::Cpu, &sets, &ranges.each_ref()).expect("a session");
            let mut one =
                Session::of_sets(&both.part(0, 3), &Device::Cpu, &sets[..1], &[&ranges[0]]).expect("a session");
            two.set_weights(&start).and_then(|_| one.set_weights(first)).expect("weights");
            two.run_sets(&args, &[true, false]).and_then(|_| one.run(&args)).expect("steps");
            let weights = two.weights().expect("weights");
            let first_set = two.take_sums_of(|s| s == 0).expect("losses");
            assert_eq!(first_set, one.take_sums().expect("losses"));
            assert_eq!(bits(&weights[..first.len()]), bits(&one.weights().expect("weights")));
            assert_eq!(bits(&weights[first.len()..]), bits(second));
            two.run_sets(&args, &[true, true]).expect("steps");
            assert_ne!(bits(&two.weights().expect("weights")[first.len()..]), bits(second));
        });
    };
    run(1);
    run(2);
}

/// Weights, epochs and predictions of each of three splits trained side by side are those of three runs of their own,
/// whose members are numbered on: members 0 and 1, 2 and 3, 4 and 5. On one thread and on several; stopped and resumed.
#[test]
fn splits_side_by_side_are_the_same_splits_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let wave = |i: usize| format!("{},{},{}\n", i % 7, (i * i) % 11, (i as f64 * 0.7).sin() + 0.1 * (i % 7) as f64);
    std::fs::write(dir.path().join("t.csv"), "a,b,y\n".to_string() + &(0..60).map(wave).collect::<String>())
        .expect("csv");
    let folds = |s: usize| (0..6).map(|i| (10 * i + 3 * s).to_string()).collect::<Vec<_>>().join(" ") + "\n";
    std::fs::write(dir.path().join("splits.txt"), (0..3).map(folds).collect::<String>()).expect("splits");
    let place = |name: &str| toml::Value::String(dir.path().join(name).display().to_string()).to_string();
    let base = format!("[data]\nfile = {}\nsplit_file = {}\n", place("t.csv"), place("splits.txt"));
    let methods = ["vifo-mean", "base", "vi-mean", "vifo-mean_all", "dropout", "swa", "swag", "laplace", "repulsive"];
    let extras = ["", "train.batch = 1000", "method.eta_aux = 0.5\ntrain.evaluate_every = 2"];
    let mut epochs = std::collections::BTreeSet::new();
    for method in methods {
        for extra in extras.iter().take(if method == "vifo-mean" { 3 } else { 2 }) {
            // What averages is trained to the end.
            let patience = if method.starts_with("swa") { 0 } else { 4 };
            let quick = format!("method.members = 2\ntrain.epochs = 30\ntrain.patience = {patience}\nnet.hidden = [8]");
            let of = |s: usize| prepare(&base, &format!("{quick}\nmethod.name = {method}\ndata.split = {s}\n{extra}"));
            let all: Vec<(Plan, Loaded)> = (0..3).map(of).collect();
            let data: Vec<&Loaded> = all.iter().map(|a| &a.1).collect();
            let tests: Vec<_> = data.iter().map(|d| &d.test).collect();
            let trains: Vec<_> = data.iter().map(|d| &d.train).collect();
            let plan = &all[0].0;
            let alone: Vec<_> = (0..3)
                .map(|s| {
                    let mut plan = plan.clone();
                    plan.setup.first_member = 2 * s as u32;
                    // Members that share the order of their rows draw it by the number of their set.
                    plan.setup.per_set = if method == "repulsive" { 2 } else { 0 };
                    let mut trainer = Trainer::new(&plan, data[s], &Device::Cpu).expect("a trainer");
                    trainer.run(|_, _| Ok(Flow::Continue)).expect("trained");
                    let trained = trainer.conclude(&data[s].train, &Device::Cpu).expect("weights");
                    let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, 6).expect("a predictor");
                    predictor.set(&trained).expect("weights");
                    let Predictive::Regression(r) = predictor.predict(tests[s].inputs()).expect("predictions") else {
                        panic!("a regression")
                    };
                    (trainer.best().expect("validated"), bits(&trained.weights), r.parts)
                })
                .collect();
            epochs.extend(alone.iter().map(|a| a.0.0));
            for threads in [1, 2, 3, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                pool.install(|| {
                    let mut splits = Splits::new(plan, &data, 0, &Device::Cpu).expect("splits");
                    let half =
                        splits.advance().and_then(|_| splits.advance()).and_then(|_| splits.state()).expect("state");
                    splits = Splits::new(plan, &data, 0, &Device::Cpu).expect("splits");
                    splits.restore(&half).expect("restored");
                    while splits.ending().is_none() {
                        splits.advance().expect("an epoch");
                    }
                    let trained = splits.conclude(&trains, &Device::Cpu).expect("weights");
                    let weights = &trained.weights;
                    let len = weights.len() / 3;
                    let predicted = splits.predict(&trained, &tests, &Device::Cpu).expect("predictions");
                    for (s, (best, chosen, parts)) in alone.iter().enumerate() {
                        let what = format!("{method} {extra} split {s}, {threads} threads");
                        assert_eq!(splits.best()[s], Some(*best), "{what}");
                        assert!(bits(&weights[s * len..(s + 1) * len]) == *chosen, "{what}: other weights");
                        let Predictive::Regression(r) = &predicted[s] else { panic!("a regression") };
                        assert_eq!(&r.parts, parts, "{what}");
                    }
                });
            }
            // A later range of splits is what it is in the whole.
            let mut last = Splits::new(plan, &data[1..], 1, &Device::Cpu).expect("splits");
            while last.ending().is_none() {
                last.advance().expect("an epoch");
            }
            assert_eq!(last.best()[1], Some(alone[2].0), "{method} {extra}");
        }
    }
    assert!(epochs.len() > 3, "splits end at epochs of their own: {epochs:?}");
}

/// The steps of an epoch on lavapipe against the same on the CPU. Both round each of some ten layers' sums in their own
/// order, and three steps of plain SGD carry that on; with batch norm the division by a small sd widens it: 1e-3 of the
/// loss and of the largest weight. Once with the kernels of a software adapter and once with those of hardware.
#[test]
fn images_train_alike_on_cpu_and_software_adapter() {
    let open = || gpu::open(gpu::Choice::Software).expect("a software adapter");
    let gpus = [Arc::new(open()), Arc::new(as_hardware(open()))];
    let devices = gpus.clone().map(Device::Gpu);
    for net in IMAGE_NETS {
        let sgd = "train.optimizer = sgd\ntrain.lr = 0.01\ntrain.epochs = 1\ndata.validation_fraction = 0";
        let (plan, data) = prepare(IMAGES, &format!("{net}\n{sgd}"));
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            let mut loss = f64::NAN;
            trainer
                .run(|_, event| {
                    if let Event::Epoch(row) = event {
                        loss = row.loss;
                    }
                    Ok(Flow::Continue)
                })
                .unwrap_or_else(|e| panic!("{net}: {e}"));
            let c = trainer.checkpoint().expect("a checkpoint");
            (loss, c.trained.weights, c.trained.running)
        };
        let cpu = run(&Device::Cpu);
        let found = devices.each_ref().map(run);
        // Of the kernels and not of the weights: an adapter may add in an order that gives the same bits in both.
        let program = plan.setup.record_training(devices[0].max_bytes_binding()).expect("a program").program;
        let differ = program.steps.iter().any(|s| gpus[0].variants(&s.op).1 != gpus[1].variants(&s.op).1);
        assert!(differ, "{net}: the same kernels");
        for gpu in &found {
            assert!((cpu.0 - gpu.0).abs() <= 1e-3 * cpu.0.abs(), "{net}: losses {} and {}", cpu.0, gpu.0);
            for (what, a, b) in [("weights", &cpu.1, &gpu.1), ("running statistics", &cpu.2, &gpu.2)] {
                let scale = a.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
                let worst = a
                    .iter()
                    .zip(b)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, |m: f32, e| if e > m || e.is_nan() { e } else { m });
                assert!(worst <= 1e-3 * scale, "{net}: {what} differ by {worst} of {scale}");
            }
        }
    }
}

// ---- pinned losses ----

/// The paper's toy as it stands among the recipes, ten steps.
const TOY: &str = "
seed = 1
[data]
toy = \"sinusoid\"
validation_fraction = 0.0
[net]
hidden = [50, 50, 50, 50, 50]
[method]
name = \"vifo-mean\"
members = 1
sigma_link = \"exp\"
[train]
epochs = 10
batch = 100
lr = 0.001
clip = 0.0
schedule = \"constant\"
patience = 0
";

const LADDERS: [(&str, [f64; 10]); 3] = [
    (
        "method.name = base",
        [1.434642, 1.427728, 1.420998, 1.414351, 1.407594, 1.400557, 1.393031, 1.384997, 1.376116, 1.366256],
    ),
    (
        "method.name = vifo-mean\nmethod.eta_aux = 1",
        [6.897885, 6.799846, 6.714950, 6.616090, 6.532208, 6.447482, 6.356012, 6.254915, 6.159391, 6.067621],
    ),
    (
        "method.name = vi-mean\nmethod.eta = 0.01\ntrain.lr = 0.01",
        [7.058171, 7.025833, 6.992773, 6.945670, 6.856146, 6.722787, 6.529597, 6.273863, 6.260752, 5.908618],
    ),
];

/// Another order of the sums or another `exp` moves a loss by some 1e-6; ten steps of Adam, whose first moves are the
/// gradient's signs, widen that. 2e-4 is far below what any change of the method does. `VIFO_PRINT_LADDERS=1 cargo test
/// --test training ladders -- --nocapture` prints the numbers anew.
#[test]
fn ladders() {
    let print = std::env::var_os("VIFO_PRINT_LADDERS").is_some();
    for (method, pinned) in LADDERS {
        let (plan, data) = prepare(TOY, method);
        let losses: Vec<f64> = train(&plan, &data).1.iter().map(|r| r.loss).collect();
        if print {
            let numbers: Vec<String> = losses.iter().map(|l| format!("{l:.6}")).collect();
            println!("({method:?}, [{}]),", numbers.join(", "));
            continue;
        }
        assert_eq!(losses.len(), pinned.len());
        for (step, (loss, pinned)) in losses.iter().zip(pinned).enumerate() {
            assert!(
                (loss - pinned).abs() <= 2e-4 * pinned.abs(),
                "{method}, step {step}: {loss} where {pinned} is pinned"
            );
        }
    }
}

// ---- what training achieves ----

/// Mean predictive sd on the training inputs, and outside them on [-pi, pi], in the user's units.
fn spread(plan: &Plan, data: &Loaded, weights: &[f32]) -> (f64, f64) {
    let grid: Vec<f64> = (0..=400).map(|i| std::f64::consts::PI * (i as f64 / 200.0 - 1.0)).collect();
    let FeatureKind::Numeric { mean, sd, .. } = data.encoder.features[0].kind else { panic!("x is a number") };
    let x: Vec<f32> = grid.iter().map(|x| ((x - mean) / sd) as f32).collect();
    let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, x.len()).expect("a predictor");
    predictor.set_weights(weights).expect("weights");
    let Predictive::Regression(r) = predictor.predict(Inputs::Rows(&x)).expect("a prediction") else {
        panic!("regression")
    };
    let mean_sd = |keep: &dyn Fn(f64) -> bool| {
        let rows: Vec<usize> = (0..grid.len()).filter(|&i| keep(grid[i].abs())).collect();
        rows.iter().map(|&i| r.sd(i) * data.encoder.target_sd()).sum::<f64>() / rows.len() as f64
    };
    let (inner, outer) = (std::f64::consts::FRAC_PI_4, 3.0 * std::f64::consts::FRAC_PI_4);
    (mean_sd(&|x| (inner..=outer).contains(&x)), mean_sd(&|x| x > outer))
}

/// MATH.md section 11: the loss falls, and the auxiliary regularizer widens the bands outside the data at least
/// threefold, against the data and against training without it.
#[test]
fn auxiliary_training_widens_the_bands_outside_the_data() {
    let run = |eta_aux: u32| {
        let short = format!(
            "net.hidden = [50, 50]\ntrain.epochs = 500\ntrain.lr = 0.005\ntrain.evaluate_every = 50\nmethod.eta_aux = {eta_aux}"
        );
        let (plan, data) = prepare(TOY, &short);
        let (outcome, rows) = train(&plan, &data);
        let (first, last) = (rows[0].loss, rows[rows.len() - 1].loss);
        assert!(last < first - 0.1, "eta_aux {eta_aux}: loss {first} to {last}");
        spread(&plan, &data, &weights(&outcome))
    };
    let ((plain_inside, plain_outside), (inside, outside)) = (run(0), run(1));
    println!(
        "sd inside and outside: {plain_inside:.3}, {plain_outside:.3} without, {inside:.3}, {outside:.3} with auxiliary rows"
    );
    assert!(outside > 3.0 * plain_outside, "without auxiliary rows {plain_outside}, with them {outside}");
    assert!(outside > 3.0 * inside, "inside {inside}, outside {outside}");
}

#[test]
fn every_method_reduces_its_loss() {
    for toy in ["heteroscedastic", "moons"] {
        for method in METHODS {
            let (plan, data) = prepare(
                SMALL,
                &format!(
                    "data.toy = {toy}\ndata.rows = 100\ntrain.epochs = 25\ntrain.patience = 0\ntrain.kl_warmup = 0\n{method}"
                ),
            );
            let rows = train(&plan, &data).1;
            assert!(rows[24].loss < rows[0].loss - 0.1, "{toy}, {method}: {} to {}", rows[0].loss, rows[24].loss);
        }
    }
}

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
    let from = |plan: &Plan, weights: Vec<f32>| {
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
