//! Data sets side by side on the replica axis.

use super::*;

/// A set that is not wanted keeps its weights, and the losses are those of the sets that were trained.
#[test]
fn a_set_at_rest_keeps_its_weights() {
    let of = |seed: &str| prepare(SMALL, &format!("method.name = vifo-mean\nseed = {seed}"));
    let ((plan, a), (_, b)) = (of("1"), of("2"));
    let both = ModelSpec { members: 6, per_set: 3, ..plan.setup.clone() };
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
            two.run_groups(&args, &[true, false]).and_then(|_| one.run(&args)).expect("steps");
            let weights = two.weights().expect("weights");
            let first_set = two.take_sums_of(|s| s == 0).expect("losses");
            assert_eq!(first_set, one.take_sums().expect("losses"));
            assert_eq!(bits(&weights[..first.len()]), bits(&one.weights().expect("weights")));
            assert_eq!(bits(&weights[first.len()..]), bits(second));
            two.run_groups(&args, &[true, true]).expect("steps");
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
    let ntk = "net.parametrisation = ntk\ntrain.lr = 0.1\ntrain.average = 0.9\ntrain.optimizer = adamw\ntrain.weight_decay = 0.1";
    let extras = ["", "train.batch = 1000", "method.eta_aux = 0.5\ntrain.evaluate_every = 2", ntk];
    let mut epochs = std::collections::BTreeSet::new();
    for method in methods {
        for extra in extras.iter().take(if method == "vifo-mean" { 4 } else { 2 }) {
            // What averages is trained to the end.
            let patience = if method.starts_with("swa") { 0 } else { 4 };
            let quick = format!("method.members = 2\ntrain.epochs = 30\ntrain.patience = {patience}\nnet.hidden = [8]");
            let of = |s: usize| prepare(&base, &format!("{quick}\nmethod.name = {method}\ndata.split = {s}\n{extra}"));
            let all: Vec<(TrainingPlan, Loaded)> = (0..3).map(of).collect();
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
                    let trained = trainer.finalize(&data[s].train, &Device::Cpu).expect("weights");
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
                    let trained = splits.finalize(&trains, &Device::Cpu).expect("weights");
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
