//! Variants of one training, beside each other: each is to the bit what it would be alone, and the choice is by rows held out.

use super::*;
use vifo::train::{Choice, out_of_fold};

/// A wave of 90 rows, in folds of three members.
fn prepared(dir: &Path, variants: &[&str], extra: &str) -> (TrainingPlan, Loaded) {
    let wave =
        |i: usize| format!("{},{},{}\n", i % 7, (i * i) % 11, 0.1 * (i as f64 * 0.7).sin() + 0.3 * (i % 7) as f64);
    let file = dir.join("t.csv");
    std::fs::write(&file, "a,b,y\n".to_string() + &(0..90).map(wave).collect::<String>()).expect("csv");
    let file = toml::Value::String(file.display().to_string());
    let list = if variants.is_empty() { String::new() } else { format!("[train]\nvariants = {variants:?}\n") };
    let base = format!("[data]\nfile = {file}\ntest_fraction = 0.0\nholdout = \"own\"\n{list}");
    let quick = "method.members = 3\ntrain.epochs = 40\ntrain.patience = 8\nnet.hidden = [8]\ntrain.batch = 16";
    prepare(&base, &format!("{quick}\n{extra}"))
}

/// What a training comes to: rows of its learning curve, weights that predict, and what is known of them.
struct Ended {
    rows: Vec<EpochRow>,
    weights: Vec<u32>,
    best: Option<(u32, f64)>,
    choice: Option<Choice>,
}

fn ended(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Ended {
    let mut trainer = Trainer::new(plan, data, device).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = vec![];
    let seen = trainer.run(|_, event| {
        if let Event::Epoch(row) = event {
            rows.push(EpochRow { seconds: 0.0, ..row });
        }
        Ok(Flow::Continue)
    });
    seen.unwrap_or_else(|e| panic!("{e}"));
    let trained = trainer.finalize(&data.train, device).unwrap_or_else(|e| panic!("{e}"));
    Ended { rows, weights: bits(&trained.weights), best: trainer.best(), choice: trainer.choice().cloned() }
}

/// The winner's weights, epochs and learning curve are those of a run with its keys and no variants, whichever place it has;
/// on one thread and on several.
#[test]
fn the_winner_is_to_the_bit_what_it_is_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let keys = "net.dropout=0.1, method.eta=0.02, train.lr=0.02";
    let alone = keys.replace(", ", "\n").replace('=', " = ");
    // The first loser stays where it began. The second's regularizer leaves a constant prediction; it may lead at first.
    for (method, loser) in [
        ("vifo-mean", "train.lr=1e-6"),
        ("vifo-mean", "method.eta=50000"),
        ("base", "train.lr=1e-6"),
        ("vi-mean\nmethod.samples = 2", "train.lr=1e-6"),
    ] {
        let method = format!("method.name = {method}");
        let (plain, data) = prepared(dir.path(), &[], &format!("{method}\n{alone}"));
        let whole = ended(&plain, &data, &Device::Cpu);
        assert_eq!((whole.choice, plain.variants.len()), (None, 0));
        for (variants, at) in [([keys, loser], 0), ([loser, keys], 1)] {
            let (plan, data) = prepared(dir.path(), &variants, &method);
            for threads in [1, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                let won = pool.install(|| ended(&plan, &data, &Device::Cpu));
                let choice = won.choice.expect("a choice");
                assert_eq!(choice.chosen, at, "{method}: {choice:?}");
                assert_eq!(choice.variants[at].difference, Some((0.0, 0.0)));
                let (difference, error) = choice.variants[1 - at].difference.expect("a difference");
                assert!(difference > error && error > 0.0, "{choice:?}");
                assert_eq!(won.weights, whole.weights, "{method}, {threads} threads");
                assert_eq!(won.best, whole.best, "{method}");
                // While it is trained it leads; the other goes on for longer.
                if loser == "train.lr=1e-6" {
                    assert_eq!(won.rows[..whole.rows.len()], whole.rows, "{method}");
                }
            }
        }
    }
}

/// Each variant has a program of its own on a GPU.
#[test]
fn variants_on_a_software_adapter_are_runs_of_their_own() {
    let device = Device::Gpu(Arc::new(gpu::open(gpu::Choice::Software).expect("a software adapter")));
    let dir = tempfile::tempdir().expect("a folder");
    let short = "train.epochs = 5";
    let (plan, data) = prepared(dir.path(), &["train.lr=1e-6", "net.dropout=0.1, train.lr=0.02"], short);
    let (plain, _) = prepared(dir.path(), &[], &format!("{short}\nnet.dropout = 0.1\ntrain.lr = 0.02"));
    let (won, whole) = (ended(&plan, &data, &device), ended(&plain, &data, &device));
    assert_eq!(won.choice.expect("a choice").chosen, 1);
    assert_eq!(won.weights, whole.weights);
    assert_eq!(won.rows, whole.rows);
}

/// Figures of the choice against those of the predictions that it is made by.
#[test]
fn the_table_holds_the_mean_over_rows_held_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let variants = ["net.dropout=0", "net.dropout=0.4", "train.lr=0.001"];
    let (plan, data) = prepared(dir.path(), &variants, "");
    let choice = ended(&plan, &data, &Device::Cpu).choice.expect("a choice");
    let sd = data.encoder.target_sd();
    for (v, lane) in plan.variants.iter().enumerate() {
        assert_eq!(choice.variants[v].keys, variants[v]);
        let mut trainer = Trainer::new(&TrainingPlan { variant: String::new(), ..lane.clone() }, &data, &Device::Cpu);
        let trainer = trainer.as_mut().expect("a trainer");
        trainer.run(|_, _| Ok(Flow::Continue)).expect("trained");
        let trained = trainer.finalize(&data.train, &Device::Cpu).expect("weights");
        let all = out_of_fold(lane, &trained, &data.train, &Device::Cpu).expect("predictions");
        let Predictive::Regression(all) = &all[0] else { panic!("a regression") };
        let y: Vec<f64> = data.train.y.iter().map(|y| f64::from(*y)).collect();
        let (nll, said) = (all.nll(&y) + sd.ln(), choice.variants[v].nll.expect("finite"));
        assert!((nll - said).abs() < 1e-12 * nll.abs().max(1.0), "{nll}, {said}");
    }
}

/// The first within a standard error of the best, though a later one is better by a hair.
#[test]
fn a_tie_goes_to_the_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut ties, mut choices) = (0, 0);
    for other in ["net.activation=mish", "train.clip=2", "method.sigma_link=exp", "net.dropout=0.5"] {
        for variants in [["net.dropout=0", other], [other, "net.dropout=0"]] {
            let (plan, data) = prepared(dir.path(), &variants, "");
            let choice = ended(&plan, &data, &Device::Cpu).choice.expect("a choice");
            let nll: Vec<f64> = choice.variants.iter().map(|v| v.nll.expect("finite")).collect();
            assert_ne!(nll[0], nll[1]);
            let (difference, error) = choice.variants[1 - choice.chosen].difference.expect("a difference");
            assert!((difference - (nll[1 - choice.chosen] - nll[choice.chosen])).abs() < 1e-12);
            match (choice.chosen, nll[0] < nll[1]) {
                (0, true) => {}
                // The second is better, and by no more than the error.
                (0, false) => {
                    assert!(-difference <= error, "{choice:?}");
                    ties += 1;
                }
                // The second is better by more.
                (_, is_first_better) => {
                    assert!(!is_first_better && difference > error, "{choice:?}");
                    choices += 1;
                }
            }
        }
    }
    assert!(ties > 0 && choices > 0, "{ties} ties and {choices} choices show too little");
}

/// Steps that leave every number behind.
const WILD: &str = "train.clip=0, train.lr=1e3";
const DIVERGENT: &str =
    "method.name = base\nmethod.noise_link = softplus\ntrain.optimizer = sgd\nnet.hidden = [64, 64, 64]";

/// Saved after any epoch and read again, everything goes on to the same bits: weights of all variants, the choice, and what
/// has dropped out.
#[test]
fn variants_survive_a_resume() {
    let dir = tempfile::tempdir().expect("a folder");
    let restless = "train.lr = 0.1\ntrain.patience = 3\ntrain.schedule = constant";
    for (variants, extra, drops) in
        [(["net.dropout=0", "net.dropout=0.3"], restless, false), ([WILD, "train.lr=0.01"], DIVERGENT, true)]
    {
        let (plan, data) = prepared(dir.path(), &variants, extra);
        let whole = ended(&plan, &data, &Device::Cpu);
        assert_eq!(whole.choice.as_ref().expect("a choice").variants[0].nll.is_none(), drops);
        let last = whole.rows.last().expect("rows").epoch;
        for stop in [1, 4, last - 1] {
            let mut first = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
            let ending = first.run(|_, event| match event {
                Event::Epoch(row) if row.epoch == stop => Ok(Flow::Stop),
                _ => Ok(Flow::Continue),
            });
            assert_eq!(ending.expect("a run"), Ending::Stopped);
            assert_eq!(first.choice(), None);
            let (layout, len) = (plan.setup.layout(), plan.setup.member_len());
            let bytes = first.checkpoint().and_then(|c| c.to_bytes(&layout)).expect("bytes");
            let saved = Checkpoint::from_bytes(&bytes, Path::new("saved"), &layout, plan.all_members(), len);
            let mut second = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
            second.restore(&saved.unwrap_or_else(|e| panic!("{e}"))).expect("restored");
            second.run(|_, _| Ok(Flow::Continue)).expect("a run");
            let trained = second.finalize(&data.train, &Device::Cpu).expect("weights");
            assert_eq!(bits(&trained.weights), whole.weights, "stopped after epoch {stop}");
            assert_eq!((second.best(), second.choice().cloned()), (whole.best, whole.choice.clone()));
        }
    }
}

/// A loss that is no number takes its variant out; alone, or in all, it is the error it always was.
#[test]
fn a_variant_that_diverges_drops_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let (plain, data) = prepared(dir.path(), &[], &format!("{DIVERGENT}\ntrain.clip = 0\ntrain.lr = 1e3"));
    let mut alone = Trainer::new(&plain, &data, &Device::Cpu).expect("a trainer");
    let error = alone.run(|_, _| Ok(Flow::Continue)).expect_err("diverged").to_string();
    assert!(error.contains("is not a finite number"), "{error}");
    let (plan, _) = prepared(dir.path(), &[WILD, "train.lr=0.01"], DIVERGENT);
    let won = ended(&plan, &data, &Device::Cpu);
    let choice = won.choice.expect("a choice");
    assert_eq!((choice.chosen, choice.variants[0].nll, choice.variants[0].difference), (1, None, None));
    let (calm, _) = prepared(dir.path(), &[], &format!("{DIVERGENT}\ntrain.lr = 0.01"));
    assert_eq!(won.weights, ended(&calm, &data, &Device::Cpu).weights);
    // With all of them lost, the training fails as it does alone.
    let (plan, _) = prepared(dir.path(), &[WILD, "train.clip=0, train.lr=999"], DIVERGENT);
    let mut both = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
    let error = both.run(|_, _| Ok(Flow::Continue)).expect_err("diverged").to_string();
    assert!(error.contains("is not a finite number"), "{error}");
}

/// Variants that are no variants of one training.
#[test]
fn what_cannot_be_trained_together_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    for (variants, says) in [
        (["net.hidden=[8]", "net.hidden=[9]"], "variant 2: \"net.hidden=[9]\" changes the weights of the network"),
        (["net.dropout=0", "net.embedding=periodic"], "changes the weights of the network"),
        (["method.members=3", "method.members=4"], "changes the number of members"),
        (["train.batch=16", "train.batch=8"], "changes the batches"),
        (["train.epochs=40", "train.epochs=50"], "changes the epochs"),
        (["train.patience=8", "train.patience=9"], "changes the patience"),
        (["net.dropout=0", "train.optimizer=sgd"], "changes the optimizer"),
        (["net.dropout=0", "method.name=base"], "changes the method"),
        (["net.dropout=0", "net.dropout=0.0"], "is the same training as variant 1"),
        (["net.dropout=0", "swag.columns=3"], "is the same training as variant 1"),
    ] {
        let seen = std::panic::catch_unwind(|| prepared(dir.path(), &variants, ""));
        let said = seen.expect_err("refused");
        let said = said.downcast_ref::<String>().expect("a message");
        assert!(said.contains(says) && said.contains("train.variants") && !said.contains('\n'), "{variants:?}: {said}");
    }
    // What leaves the weights as they are may be anything.
    let (plan, _) = prepared(
        dir.path(),
        &["net.activation=silu", "method.eta=1", "prior.gamma=0.5", "train.schedule=step", "method.sigma_link=exp"],
        "",
    );
    assert_eq!((plan.variants.len(), plan.all_members()), (5, 15));
}
