//! The embedding of levels in a whole training: a text of many levels on the CPU and on a software adapter.

use super::{SMOOTH, largest_difference};
use crate::common::runs::{bits, prepare, train, train_in_two};
use crate::op_parity::gpu;
use std::path::Path;
use vifo::exec::Device;
use vifo::net::Net;
use vifo::program::builder::Embedded;
use vifo::train::{Flow, Trainer};

/// y = a + a shift by the level of k, of which there are 40, + noise. Every ninth row has a level of its own.
fn table(dir: &Path) -> String {
    let mut text = "a,k,y\n".to_string();
    for i in 0..600 {
        let (a, k) = ((f64::from(i) * 0.37).sin(), i * 7 % 40);
        let noise = (f64::from(i) * 12.9898).sin() * 0.05;
        let level = if i % 9 == 4 { format!("own{i}") } else { format!("k{k}") };
        text += &format!("{a},{level},{}\n", a + 2.0 * (f64::from(k) * 1.7).sin() + noise);
    }
    let path = dir.join("t.csv");
    std::fs::write(&path, text).expect("written");
    format!("[data]\nfile = {:?}\ntarget = \"y\"\nembed_above = 10\n", path.display().to_string())
}

/// One input holds the level, and its table learns what an input per level learns; a run cut in two is the same to the bit, with
/// auxiliary inputs, which draw levels, too.
#[test]
fn levels_are_learnt_and_resumed() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    let more = "method.name = base\nmethod.members = 2\ntrain.epochs = 60\nnet.hidden = [16]";
    let (plan, data) = prepare(&base, more);
    let Net::Mlp(net) = &plan.setup.net else { panic!("no mlp") };
    // round(1.6 41^0.56) = 13; the 41st row is of the rare levels.
    assert_eq!((net.n_in, &net.tables[..]), (2, &[Embedded { input: 1, levels: 41, width: 13 }][..]));
    assert!(plan.setup.net.describe().ends_with("on an embedding of 1 text"));
    let best =
        |rows: &[vifo::train::EpochRow]| rows.iter().filter_map(|r| r.validation_score).fold(f64::INFINITY, f64::min);
    let with = best(&train(&plan, &data).1);
    let (hot, wide) = prepare(&base.replace("embed_above = 10\n", ""), more);
    assert_eq!(wide.train.d, 42);
    let without = best(&train(&hot, &wide).1);
    // The rows whose level is their own cannot be told: a ninth, of variance 2, and so an RMSE of about 0.47.
    assert!(with < 0.8 && with < 1.3 * without, "{with} with a table, {without} with an input per level");

    let (plan, data) =
        prepare(&base, "method.members = 2\ntrain.epochs = 4\nmethod.eta_aux = 0.1\nnet.embedding = periodic");
    let whole = train(&plan, &data).0;
    assert_eq!(whole, train_in_two(&plan, &data, 2));
    let start = bits(&plan.setup.initial_weights(plan.seed, false, 0.0));
    let view = plan.setup.layout().views.into_iter().find(|v| v.name == "levels.0.weight").expect("a table");
    let table = view.offset..view.offset + view.len();
    let moved = whole.weights[table.clone()].iter().zip(&start[table]).filter(|(a, b)| a != b).count();
    assert_eq!(moved, view.len(), "every level was in the rows or drawn");
}

/// As of the periodic embedding (`embedding.rs`): 1.2e-5.
#[test]
fn both_executors_train_alike() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    for method in ["method.name = base", "method.name = vifo-mean\nmethod.eta_aux = 0.1", "method.name = vi-mean"] {
        // Thirty steps, as there.
        let smooth = SMOOTH.replace("train.batch = 60", "train.batch = 192").replace("epochs = 30", "epochs = 10");
        let (plan, data) = prepare(&base, &format!("{smooth}\n{method}\nmethod.members = 2\nnet.embedding = periodic"));
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
            trainer.checkpoint().expect("a checkpoint").trained.weights
        };
        let (cpu, gpu) = (run(&Device::Cpu), run(&Device::Gpu(gpu())));
        let start = plan.setup.initial_weights(plan.seed, false, -5.0);
        assert!(largest_difference(&cpu, &start) > 1e-2, "{method}: nothing was learnt");
        let difference = largest_difference(&cpu, &gpu);
        println!("{method}: {difference:e}");
        assert!(difference <= 1.2e-5, "{method}: weights differ by {difference:e}");
    }
}
