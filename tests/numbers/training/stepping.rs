//! Rates of their own, the NTK parametrisation, AdamW, schedules of dropout and decay, averages of weights: in whole trainings.

use super::*;
use crate::op_parity::gpu;
use vifo::ops::optimizer::Adam;
use vifo::ops::{Op, average::FadingMean};
use vifo::recipe::Recipe;

/// Each alone and all of them, with what does not know it.
const ALL: &str = "net.parametrisation = ntk\ntrain.lr = 0.1\ntrain.optimizer = adamw\ntrain.weight_decay = 0.1\n\
                   train.weight_decay_schedule = flat_cosine\nnet.dropout_schedule = flat_cosine\ntrain.beta2 = 0.95\n\
                   train.schedule = coslog4\ntrain.average = 0.9";

/// Killed after an epoch and resumed, the run ends as one that was not, to the bit; and each key changes the training.
#[test]
fn runs_with_them_resume_to_the_bit() {
    let keys = [
        ("train.optimizer = adamw\ntrain.weight_decay = 0.1", ""),
        ("train.weight_decay = 0.1\ntrain.weight_decay_schedule = flat_cosine", "train.weight_decay = 0.1"),
        ("net.parametrisation = ntk\ntrain.lr = 0.1", "train.lr = 0.1"),
        ("net.dropout_schedule = flat_cosine", ""),
        ("train.schedule = coslog4", ""),
        ("train.beta2 = 0.95", ""),
        ("train.average = 0.9", ""),
        ("train.average = 0.9\ntrain.optimizer = sgd\nnet.parametrisation = ntk\ntrain.adam_epochs = 1", ""),
        (ALL, "net.embedding = periodic"),
    ];
    for method in ["method.name = base", "method.name = vifo-mean\nmethod.eta_aux = 1", "method.name = vi-naive"] {
        for (extra, without) in keys.iter().filter(|(k, _)| !(method.contains("vi-") && k.contains("ntk"))) {
            let embedding = if extra == &ALL { "net.embedding = periodic" } else { "" };
            let (plan, data) = prepare(SMALL, &format!("{method}\n{embedding}\n{extra}"));
            let (whole, _) = train(&plan, &data);
            assert!(weights(&whole).iter().all(|w| w.is_finite()), "{method}, {extra}");
            for stop in [1, 3] {
                assert_eq!(whole, train_in_two(&plan, &data, stop), "{method}, {extra}, cut at {stop}");
            }
            let (plain, data) = prepare(SMALL, &format!("{method}\n{without}"));
            let other = train(&plain, &data).0;
            let changed = (&other.weights, &other.chosen) != (&whole.weights, &whole.chosen);
            assert!(changed, "{method}: {extra} changes nothing");
        }
    }
}

/// Where no key is set, the program has no rates, no average and no scaled dropout: it is the one that was there before.
#[test]
fn without_the_keys_nothing_is_recorded() {
    let ops = |extra: &str| {
        let (plan, _) = prepare(SMALL, extra);
        plan.setup.record_training(u64::MAX).expect("a program").program.steps.into_iter().map(|s| s.op)
    };
    for op in ops("method.name = base") {
        match op {
            Op::Adam(Adam { rated, decoupled, beta2, .. }) => assert_eq!((rated, decoupled, beta2), (0, 0, 0.999)),
            Op::Dropout(d) => assert_eq!((d.rate, d.by_step), (0.1, 0)),
            Op::FadingMean(_) => panic!("an average"),
            _ => {}
        }
    }
    let with: Vec<Op> = ops(ALL).collect();
    assert!(with.iter().any(|o| matches!(o, Op::Adam(Adam { rated: 1, decoupled: 1, beta2: 0.95, .. }))));
    assert!(with.iter().any(|o| matches!(o, Op::Dropout(d) if d.by_step == 1)));
    assert!(with.iter().any(|o| matches!(o, Op::FadingMean(FadingMean { share, .. }) if (share - 0.1).abs() < 1e-7)));
}

/// At every step the formulas of the page, of 12 steps (MATH.md section 12).
#[test]
fn schedules_are_those_of_the_page() {
    let (plan, _) = prepare(SMALL, &format!("{ALL}\ntrain.weight_decay = 0.3\ntrain.lr = 0.5"));
    let (plain, _) = prepare(SMALL, "train.weight_decay = 0.3");
    let tau = std::f64::consts::TAU;
    for step in 0..12u64 {
        let (a, t) = (plan.args(step), step as f64 / 12.0);
        let near = |found: f64, want: f64| assert!((found - want).abs() < 1e-14, "step {step}: {found}, not {want}");
        let flat = if t <= 0.5 { 1.0 } else { 0.5 + 0.5 * (tau * (t - 0.5)).cos() };
        near(a.weight_decay, 0.3 * flat);
        near(a.dropout, flat);
        near(a.lr, 0.5 * (0.5 - 0.5 * (tau * (1.0 + 15.0 * t).log2()).cos()));
        near(a.bias2, 1.0 - 0.95f64.powf(step as f64 + 1.0));
        assert_eq!((plain.args(step).weight_decay, plain.args(step).dropout), (0.3, 1.0));
    }
    // Four waves: back at 0 where 1 + 15 t is a power of two, at the top half an octave further.
    let (long, _) = prepare(SMALL, "train.schedule = coslog4\ntrain.lr = 1\ntrain.epochs = 5000");
    for at in [0.0, 1.0, 3.0, 7.0] {
        assert!(long.lr((at * 1000.0) as u64) < 1e-9, "{at}");
    }
    let top = ((1.5f64.exp2() - 1.0) * 1000.0) as u64;
    assert!(long.lr(top) > 0.999, "{}", long.lr(top));
}

/// In the first half of the steps dropout that follows a schedule is dropout; in the second it is not.
#[test]
fn a_schedule_starts_as_constant_dropout() {
    let after = |schedule: &str, stop: u32| {
        let (plan, data) = prepare(SMALL, &format!("method.name = base\nnet.dropout_schedule = {schedule}"));
        let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
        let until = |_: &mut Trainer, event: Event| match event {
            Event::Epoch(row) if row.epoch == stop => Ok(Flow::Stop),
            _ => Ok(Flow::Continue),
        };
        trainer.run(until).expect("a run");
        bits(&trainer.checkpoint().expect("a checkpoint").trained.weights)
    };
    assert_eq!(after("constant", 2), after("flat_cosine", 2));
    assert_ne!(after("constant", 4), after("flat_cosine", 4));
}

/// The average leaves training alone, is the formula's at every step, and is what predicts and is judged.
#[test]
fn the_average_predicts_and_steers_nothing() {
    let extra = "train.patience = 0\ntrain.epochs = 6";
    for method in ["method.name = base", "method.name = vi-mean"] {
        let (plan, data) = prepare(SMALL, &format!("{method}\n{extra}\ntrain.average = 0.8"));
        let (plain, _) = prepare(SMALL, &format!("{method}\n{extra}"));
        let aux = data.encoder.aux_range();
        let mut session = Session::new(&plan.setup, &Device::Cpu, &data.train, &aux).expect("a session");
        session.start_from(&plan.initial_weights(&[&data.train])).expect("weights");
        assert_eq!(session.predicting_weights().expect("weights"), session.weights().expect("weights"));
        let mut mean = vec![];
        for step in 0..plan.total_steps() {
            session.run(&[plan.args(step)]).expect("a step");
            let w: Vec<f64> = session.weights().expect("weights").into_iter().map(f64::from).collect();
            let decay = 0.8f64.min((1.0 + step as f64) / (10.0 + step as f64));
            match step {
                0 => mean = w,
                _ => mean.iter_mut().zip(&w).for_each(|(m, w)| *m = decay * *m + (1.0 - decay) * w),
            }
            // Each step rounds a number below 6 thrice, and the mean forgets a fifth.
            let found = session.predicting_weights().expect("weights");
            let far = found.iter().zip(&mean).map(|(f, m)| (f64::from(*f) - m).abs()).fold(0.0, f64::max);
            assert!(far < 5e-6, "{method}, step {step}: {far}");
        }
        let (with, rows) = train(&plan, &data);
        let (without, _) = train(&plain, &data);
        assert_eq!(with.weights, without.weights, "{method}: the average steers");
        assert_eq!(with.chosen, bits(&session.predicting_weights().expect("weights")), "{method}");
        assert_ne!(with.chosen, with.weights);
        // The NLL of the last row is the average's.
        let mut trainer = Trainer::new(&plain, &data, &Device::Cpu).expect("a trainer");
        let chosen: Vec<f32> = with.chosen.iter().map(|b| f32::from_bits(*b)).collect();
        trainer.start_from(&chosen, &[]).expect("weights");
        let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, data.validation.n).expect("one");
        predictor.set(&trainer.weights().expect("weights")).expect("weights");
        let Predictive::Regression(r) = predictor.predict(data.validation.inputs()).expect("predictions") else {
            panic!("a regression")
        };
        let n = data.validation.n;
        let nll = (0..n).map(|i| -r.log_density(i, f64::from(data.validation.y[i]))).sum::<f64>() / n as f64;
        let found = rows.last().and_then(|r| r.validation_nll).expect("an NLL");
        assert!((found - nll - data.encoder.target_sd().ln()).abs() < 1e-9, "{method}: {found} {nll}");
    }
}

/// Switched on in a running training the average starts at the weights as they are; off, training goes on from the weights
/// of the last step. A new schedule starts from the average.
#[test]
fn the_average_comes_and_goes_in_a_running_training() {
    let (plain, data) = prepare(SMALL, "method.name = base\ntrain.patience = 0");
    let (plan, _) = prepare(SMALL, "method.name = base\ntrain.patience = 0\ntrain.average = 0.9");
    let mut trainer = Trainer::new(&plain, &data, &Device::Cpu).expect("a trainer");
    trainer.advance(3).expect("an epoch");
    let before = trainer.weights().expect("weights").weights;
    trainer.rebuild(&plan, &data, &Device::Cpu).expect("rebuilt");
    assert_eq!(trainer.weights().expect("weights").weights, before);
    trainer.advance(3).expect("an epoch");
    let last = trainer.checkpoint().expect("a checkpoint").trained.weights;
    let average = trainer.weights().expect("weights").weights;
    assert_ne!(average, last);
    let mut other = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
    other.restore(&trainer.checkpoint().expect("a checkpoint")).expect("restored");
    other.restart_schedule().expect("restarted");
    assert_eq!(other.checkpoint().expect("a checkpoint").trained.weights, average);
    trainer.rebuild(&plain, &data, &Device::Cpu).expect("rebuilt");
    assert_eq!(trainer.weights().expect("weights").weights, last);
}

/// Adam's first step moves a weight by its learning rate: that of its layer, by name.
#[test]
fn the_first_step_is_as_long_as_each_rate() {
    let (plan, data) = prepare(
        SMALL,
        "method.name = base\nnet.parametrisation = ntk\nnet.embedding = periodic\ntrain.lr = 0.01\nnet.dropout = 0",
    );
    let start = plan.initial_weights(&[&data.train]);
    let mut session =
        Session::new(&plan.setup, &Device::Cpu, &data.train, &data.encoder.aux_range()).expect("a session");
    session.set_weights(&start).expect("weights");
    session.run(&[plan.args(0)]).expect("a step");
    let (end, layout) = (session.weights().expect("weights"), plan.setup.layout());
    for view in &layout.views {
        let rate = if view.name.starts_with("embedding") || view.name.ends_with("bias") {
            0.1
        } else {
            1.0 / (view.fan_in() as f32).sqrt()
        };
        let (mut far, mut full) = (0f32, 0);
        for member in 0..plan.setup.members as usize {
            let from = member * layout.total + view.offset;
            for i in from..from + view.len() {
                let moved = (end[i] - start[i]).abs();
                far = far.max(moved);
                full += usize::from(moved > 0.99 * 0.01 * rate);
            }
        }
        // f32 of weights below 4; units that see nothing do not move.
        assert!(far < 0.01 * rate * 1.001 + 5e-7, "{}: {far}", view.name);
        assert!(2 * full > plan.setup.members as usize * view.len(), "{}: {full} moved in full", view.name);
    }
}

/// As `both_executors_train_alike` of the embedding, whose tolerance holds: 30 smooth steps, rates of at most 1.
#[test]
fn both_executors_train_alike_with_rates_and_an_average() {
    let extra = "net.parametrisation = ntk\ntrain.average = 0.9\nnet.embedding = periodic\ntrain.lr = 0.05\n\
                 train.weight_decay = 0.01\ntrain.weight_decay_schedule = flat_cosine";
    for method in ["method.name = base", "method.name = vifo-mean"] {
        let smooth = SMOOTH.replace("train.lr = 0.02\n", "");
        let (plan, data) = prepare(SMALL, &format!("{smooth}\n{method}\n{extra}"));
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
            (trainer.checkpoint().expect("a checkpoint").trained.weights, trainer.weights().expect("weights").weights)
        };
        let ((last, mean), (last_gpu, mean_gpu)) = (run(&Device::Cpu), run(&Device::Gpu(gpu())));
        let start = plan.initial_weights(&[&data.train]);
        assert!(largest_difference(&last, &start) > 1e-2 && largest_difference(&last, &mean) > 1e-3, "{method}");
        let difference = largest_difference(&last, &last_gpu).max(largest_difference(&mean, &mean_gpu));
        println!("{method}: {difference:e}");
        assert!(difference <= 1.2e-5, "{method}: weights differ by {difference:e}");
    }
}

#[test]
fn what_has_no_meaning_is_refused_in_one_line() {
    let digits = "[data]\nimages = \"digits\"\nlimit = 40\nimage_size = 32\n";
    let curve = "[data]\ntoy = \"sinusoid\"\n";
    for (base, keys, says) in [
        (digits, "net.parametrisation = ntk", "net.parametrisation: \"ntk\" with images"),
        (digits, "net.parametrisation = ntk\nnet.name = mlp", "net.parametrisation: \"ntk\" with images"),
        (curve, "net.parametrisation = ntk\nmethod.name = vi-mean", "\"ntk\" with vi-mean, which learns more than one"),
        (
            curve,
            "net.dropout_schedule = flat_cosine\nmethod.name = dropout",
            "net.dropout_schedule: \"flat_cosine\" with dropout; allowed: \"constant\"",
        ),
        (curve, "train.average = 0.9\nmethod.name = swa", "train.average: with swa, which averages weights itself"),
        (curve, "train.average = 0.9\nmethod.name = swag", "train.average: with swag, which averages weights itself"),
        (digits, "train.average = 0.9\nnet.name = preresnet", "train.average: with batch normalisation"),
    ] {
        let mut table = Recipe::parse(base, "t").expect("TOML");
        for line in keys.lines() {
            let (key, value) = line.split_once(" = ").expect("key = value");
            vifo::recipe::keys::set(&mut table, key, value, "t").expect("allowed");
        }
        let recipe = Recipe::from_table(&table, "t").expect("a recipe");
        let data = vifo::data::load::load(&recipe).expect("data");
        let error = TrainingPlan::new(&recipe, data.train.n, &data.encoder).expect_err(keys).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
        // A method chosen beside them takes out what it would refuse.
        let mut adapted = recipe.clone();
        vifo::method::adapt(&mut adapted);
        assert_eq!(base == curve, TrainingPlan::new(&adapted, data.train.n, &data.encoder).is_ok(), "{keys}");
    }
}
