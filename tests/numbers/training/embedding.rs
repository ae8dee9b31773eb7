//! The periodic embedding in a whole training: on a table with numbers and levels, on the CPU and on a software adapter.

use super::{SMOOTH, largest_difference};
use crate::common::runs::{bits, prepare, train, train_in_two};
use crate::op_parity::gpu;
use std::path::Path;
use vifo::data::load::Loaded;
use vifo::exec::Device;
use vifo::net::Net;
use vifo::recipe::Recipe;
use vifo::train::plan::TrainingPlan;
use vifo::train::{Flow, Predictor, Trainer};

/// y = sin(3 a) + a shift by the level of k + noise, and b of no use. a and b are numbers; k has three levels.
fn table(dir: &Path) -> String {
    let mut text = "a,k,b,y\n".to_string();
    for i in 0..240 {
        let a = f64::from(i * 53 % 240) / 40.0 - 3.0;
        let (k, b) = (i % 3, (f64::from(i) * 0.71).cos());
        let noise = (f64::from(i) * 12.9898).sin() * 0.05;
        text += &format!("{a},{},{b},{}\n", ["low", "mid", "high"][k as usize], (3.0 * a).sin() + f64::from(k) + noise);
    }
    let path = dir.join("t.csv");
    std::fs::write(&path, text).expect("written");
    format!(
        "[data]\nfile = {:?}\ntarget = \"y\"\nvalidation_fraction = 0\ntest_fraction = 0.2\n[net]\nhidden = [16, 16]\n\
         activation = \"mish\"\nembedding = \"periodic\"\n",
        path.display().to_string()
    )
}

/// Root of the mean squared error of the members' mean on the test rows, in standard deviations of the target.
fn rmse(plan: &TrainingPlan, data: &Loaded) -> f64 {
    let mut trainer = Trainer::new(plan, data, &Device::Cpu).expect("a trainer");
    trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
    let n = data.test.n;
    let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, n).expect("a predictor");
    predictor.set(&trainer.final_weights().expect("weights")).expect("weights");
    let z = predictor.outputs(data.test.inputs()).expect("outputs");
    let members = plan.setup.members as usize;
    let mean = |i: usize| (0..members).map(|e| f64::from(z[2 * (e * n + i)])).sum::<f64>() / members as f64;
    ((0..n).map(|i| (mean(i) - f64::from(data.test.y[i])).powi(2)).sum::<f64>() / n as f64).sqrt()
}

/// The numbers are embedded and the levels are not; 150 epochs find the wave, three periods of it, that the same network without
/// embedding misses; a run cut in two is the same to the bit.
#[test]
fn a_table_is_learnt_and_resumed() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    let more = "method.name = base\nmethod.members = 2\ntrain.epochs = 150\ntrain.lr = 0.01\ntrain.patience = 0";
    let (plan, data) = prepare(&base, more);
    let Net::Mlp(net) = &plan.setup.net else { panic!("no mlp") };
    assert_eq!((net.n_in, &net.embedded[..]), (5, &[0, 4][..]));
    assert!(plan.setup.net.describe().ends_with("on a periodic embedding of 2 inputs"));
    let with = rmse(&plan, &data);
    let (plain, _) = prepare(&base, &format!("{more}\nnet.embedding = none"));
    let without = rmse(&plain, &data);
    assert!(with < 0.15, "{with} with an embedding");
    assert!(without > 2.0 * with, "{without} without an embedding, {with} with one");

    let (plan, data) = prepare(&base, "method.name = vifo-mean\nmethod.members = 2\ntrain.epochs = 4");
    let whole = train(&plan, &data).0;
    assert_eq!(whole, train_in_two(&plan, &data, 2));
    assert_eq!(whole, train(&plan, &data).0);
    let start = bits(&plan.setup.initial_weights(plan.seed, false, 0.0));
    let p = plan.setup.layout().views[..4].iter().map(|v| v.len()).sum::<usize>();
    let moved = whole.weights[..p].iter().zip(&start[..p]).filter(|(a, b)| a != b).count();
    assert_eq!((p, moved), (166, p), "not all of the embedding was trained");
}

/// 30 smooth steps. A gradient's element is a mean of 192 terms, which other orders of summation, exponentials and cosines move by
/// about 1e-6; thirty steps of rate 0.02 by that, grown twentyfold: 20 * 30 * 0.02 * 1e-6 = 1.2e-5.
#[test]
fn both_executors_train_alike() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    for method in ["method.name = base", "method.name = vifo-mean", "method.name = vi-mean"] {
        let smooth = SMOOTH.replace("silu", "mish").replace("train.batch = 60", "train.batch = 192");
        let (plan, data) = prepare(&base, &format!("{smooth}\n{method}\nmethod.members = 2"));
        assert_eq!(data.train.n, 192);
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
            trainer.checkpoint().expect("a checkpoint").trained.weights
        };
        let (cpu, gpu) = (run(&Device::Cpu), run(&Device::Gpu(gpu())));
        // VI's rho starts at -5; the other methods have none.
        let start = plan.setup.initial_weights(plan.seed, false, -5.0);
        assert!(largest_difference(&cpu, &start) > 1e-2, "{method}: nothing was learnt");
        let difference = largest_difference(&cpu, &gpu);
        println!("{method}: {difference:e}");
        assert!(difference <= 1.2e-5, "{method}: weights differ by {difference:e}");
    }
}

#[test]
fn images_have_no_embedding() {
    for net in ["", "net.name = mlp\n", "net.name = cnn\n"] {
        let mut table =
            Recipe::parse("[data]\nimages = \"digits\"\n[net]\nembedding = \"periodic\"\n", "t").expect("TOML");
        for line in net.lines() {
            let (key, value) = line.split_once(" = ").expect("key = value");
            vifo::recipe::keys::set(&mut table, key, value, "t").expect("allowed");
        }
        let recipe = Recipe::from_table(&table, "t").expect("a recipe");
        let data = vifo::data::load::load(&recipe).expect("digits");
        let error = TrainingPlan::new(&recipe, data.train.n, &data.encoder).expect_err("refused").to_string();
        assert!(error.contains("net.embedding: periodic with images") && error.contains("none for images"), "{error}");
    }
}
