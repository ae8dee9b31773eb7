//! Members that each hold out a fold of the training rows.

use super::*;
use vifo::ops::gather::fold_start;
use vifo::train::out_of_fold;

/// 61 rows, which five folds do not divide.
fn prepared(dir: &Path, extra: &str) -> (TrainingPlan, Loaded) {
    let wave = |i: usize| format!("{},{},{}\n", i % 7, (i * i) % 11, (i as f64 * 0.7).sin() + 0.1 * (i % 7) as f64);
    let file = dir.join("t.csv");
    std::fs::write(&file, "a,b,y\n".to_string() + &(0..61).map(wave).collect::<String>()).expect("csv");
    let file = toml::Value::String(file.display().to_string());
    let base = format!("[data]\nfile = {file}\ntest_fraction = 0.0\nholdout = \"own\"\n");
    let quick = "method.members = 5\ntrain.epochs = 30\ntrain.patience = 4\nnet.hidden = [8]\ntrain.batch = 16";
    prepare(&base, &format!("{quick}\n{extra}"))
}

/// Places of the rows that member m is trained on, and of those that it holds out.
fn parts(plan: &TrainingPlan, m: u32, rows: usize) -> (Vec<usize>, Vec<usize>) {
    let start = fold_start(m, 5, rows as u32) as usize;
    let held_out = plan.setup.held_out as usize;
    let at = |i: usize| (start + i) % rows;
    ((held_out..rows).map(at).collect(), (0..held_out).map(at).collect())
}

/// To the bit what five runs of one member would be, each on the rows outside its fold: weights, epochs, predictions; on one
/// thread and on several, where members that have stopped rest.
#[test]
fn members_with_folds_are_runs_of_their_own() {
    let dir = tempfile::tempdir().expect("a folder");
    for method in ["vifo-mean", "base", "vi-mean\nmethod.samples = 2", "dropout"] {
        let averaged = "train.average = 0.9\ntrain.optimizer = adamw\ntrain.weight_decay = 0.1";
        let ntk = "train.average = 0.9\nnet.parametrisation = ntk\ntrain.lr = 0.1";
        for extra in ["", "train.batch = 1000", "train.evaluate_every = 2", averaged, ntk] {
            if extra == ntk && method.starts_with("vi-") {
                continue;
            }
            let (plan, data) = prepared(dir.path(), &format!("method.name = {method}\n{extra}"));
            let n = data.train.n;
            assert_eq!((n, plan.setup.n_rows, plan.setup.held_out, data.validation.n), (61, 48, 13, 0));
            let alone: Vec<_> = (0..5)
                .map(|m| {
                    let (train, validation) = parts(&plan, m, n);
                    let own = Loaded {
                        train: data.train.subset(&train),
                        validation: data.train.subset(&validation),
                        ..data.clone()
                    };
                    let mut one = plan.clone();
                    one.setup = ModelSpec { folds: 0, held_out: 0, ..plan.setup.part(m, 1) };
                    let mut trainer = Trainer::new(&one, &own, &Device::Cpu).expect("a trainer");
                    trainer.run(|_, _| Ok(Flow::Continue)).expect("trained");
                    let trained = trainer.finalize(&own.train, &Device::Cpu).expect("weights");
                    (trainer.best().expect("validated"), trained.weights)
                })
                .collect();
            let weights: Vec<f32> = alone.iter().flat_map(|a| a.1.iter().copied()).collect();
            let mean = alone.iter().map(|a| a.0.1).sum::<f64>() / 5.0;
            let last = alone.iter().map(|a| a.0.0).max().expect("members");
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                pool.install(|| {
                    let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
                    trainer.run(|_, _| Ok(Flow::Continue)).expect("trained");
                    let trained = trainer.finalize(&data.train, &Device::Cpu).expect("weights");
                    assert_eq!(bits(&trained.weights), bits(&weights), "{method}, {extra}, {threads} threads");
                    assert_eq!(trainer.best(), Some((last, mean)), "{method}, {extra}");
                });
            }
        }
    }
}

#[test]
fn folds_survive_a_resume() {
    let dir = tempfile::tempdir().expect("a folder");
    let restless = "method.name = vifo-mean\ntrain.lr = 0.1\ntrain.patience = 3\ntrain.schedule = constant";
    for (every, average) in [(1, ""), (2, ""), (1, "train.average = 0.8")] {
        let (plan, data) = prepared(dir.path(), &format!("{restless}\n{average}\ntrain.evaluate_every = {every}"));
        let (whole, _) = train(&plan, &data);
        assert!(whole.ending == Ending::Early || !average.is_empty());
        // Between two evaluations no event comes: stops are at evaluations.
        for stop in [every, 4, whole.epoch - every] {
            assert_eq!(whole, train_in_two(&plan, &data, stop), "stopped after epoch {stop}");
        }
    }
}

/// Every row is predicted by the member that held it out, in the order of the rows.
#[test]
fn a_row_is_predicted_by_the_member_that_held_it_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let (plan, data) = prepared(dir.path(), "method.name = vifo-mean");
    let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
    trainer.run(|_, _| Ok(Flow::Continue)).expect("trained");
    let trained = trainer.finalize(&data.train, &Device::Cpu).expect("weights");
    let all = out_of_fold(&plan, &trained, &data.train, &Device::Cpu).expect("predictions");
    let [Predictive::Regression(all)] = &all[..] else { panic!("a regression") };
    assert_eq!(all.n(), 61);
    for m in 0..5u32 {
        let setup = ModelSpec { folds: 0, held_out: 0, ..plan.setup.part(m, 1) };
        let mut predictor = Predictor::new(&setup, &Device::Cpu, plan.seed, 61).expect("a predictor");
        predictor.set(&trained.member(m as usize, 5)).expect("weights");
        let Predictive::Regression(one) = predictor.predict(data.train.inputs()).expect("predictions") else {
            panic!("a regression")
        };
        for row in fold_start(m, 5, 61) as usize..fold_start(m + 1, 5, 61) as usize {
            assert_eq!((all.mean[row], all.sd(row)), (one.mean[row], one.sd(row)), "row {row}, member {m}");
            let y = f64::from(data.train.y[row]);
            assert_eq!(all.log_density(row, y), one.log_density(row, y), "row {row}");
        }
    }
}

/// What cannot hold out folds says so.
#[test]
fn folds_are_refused_where_members_are_not_apart() {
    let dir = tempfile::tempdir().expect("a folder");
    let (_, data) = prepared(dir.path(), "");
    for (extra, says) in [
        ("method.name = repulsive", "\"own\" with repulsive"),
        ("method.name = laplace", "\"own\" with laplace"),
        ("method.members = 40", "61 rows in 40 folds"),
    ] {
        let mut sets = toml::Table::new();
        for line in extra.lines() {
            let (key, value) = line.split_once(" = ").expect("a key");
            let (section, key) = key.split_once('.').expect("a section");
            let value = value.parse().map(toml::Value::Integer).unwrap_or_else(|_| toml::Value::String(value.into()));
            let table = sets.entry(section).or_insert_with(|| toml::Table::new().into());
            table.as_table_mut().expect("a table").insert(key.into(), value);
        }
        let file = toml::Value::String(dir.path().join("t.csv").display().to_string());
        let base = format!("[data]\nfile = {file}\nholdout = \"own\"\n{}", toml::to_string(&sets).expect("TOML"));
        let table = vifo::recipe::Recipe::parse(&base, "r").expect("TOML");
        let recipe = vifo::recipe::Recipe::from_table(&table, "r").expect("a recipe");
        let error = TrainingPlan::new(&recipe, data.train.n, &data.encoder).expect_err("refused").to_string();
        assert!(error.contains(says), "{error}");
    }
}
