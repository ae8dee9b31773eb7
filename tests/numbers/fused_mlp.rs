//! A small network's step in the kernels of `ops::mlp` computes what its layers' own ops compute, method by method, over three steps in
//! f64: its gradient is that which `op_gradients` holds against differences. What has no place in these kernels keeps its ops.

use crate::common::runs::prepare;
use vifo::data::load::Loaded;
use vifo::exec::cpu::CpuExecutor;
use vifo::method::{DataX, TrainProgram};
use vifo::ops::Op;
use vifo::program::Program;
use vifo::program::fuse::mlp::{in_passes, joined};
use vifo::program::fuse::mlp_steps::resident;
use vifo::train::plan::TrainingPlan;

/// A built-in recipe, keys on top of it, and the steps that are saved; None where nothing is joined.
const CASES: [(&str, &str, Option<usize>); 14] = [
    ("sinusoid", "method.eta_aux = 0\nmethod.name = base", Some(15)),
    ("sinusoid", "method.eta_aux = 0\nmethod.name = base\nnet.activation = mish\nmethod.members = 3", Some(15)),
    ("sinusoid", "method.eta_aux = 1.0", Some(15)),
    ("sinusoid", "method.expectation = sampled\ntrain.batch = 32", Some(15)),
    ("sinusoid", "method.likelihood = student-t\nnet.activation = silu", Some(15)),
    ("sinusoid", "method.eta_aux = 0\nmethod.name = vi-mean", Some(15)),
    ("sinusoid", "method.eta_aux = 0\nmethod.name = vifo-l2\ntrain.optimizer = sgd", Some(15)),
    ("moons", "method.eta_aux = 0\nmethod.name = base\nnet.hidden = [9]\nmethod.members = 2", Some(3)),
    ("moons", "method.name = vifo-eb\nnet.hidden = [17, 9]\nnet.activation = selu", Some(6)),
    ("moons", "net.embedding = periodic\nnet.input_scale = true\nnet.hidden = [12, 12]", Some(7)),
    ("moons", "net.hidden = []", None),
    ("moons", "method.name = vifo-mean_all", None),
    ("moons", "method.eta_aux = 0\nmethod.name = dropout", None),
    ("moons", "net.parametric = true", None),
];

#[test]
fn a_joined_step_computes_the_same() {
    for (recipe, keys, saved) in CASES {
        let base = vifo::recipe::builtin::find(recipe).expect("a recipe");
        let (plan, data) = prepare(base, keys);
        let t = plan.setup.record_training(u64::MAX).expect("a program");
        let fused = in_passes(t.program.clone());
        let count = |op: fn(&Op) -> bool| fused.steps.iter().filter(|s| op(&s.op)).count();
        let passes = count(|op| matches!(op, Op::MlpPass(_)));
        assert_eq!(passes, usize::from(saved.is_some()), "{recipe} {keys}\n{fused}");
        assert_eq!(t.program.steps.len() - fused.steps.len(), saved.unwrap_or(0), "{recipe} {keys}\n{fused}");
        vifo::program::check::check(&fused).expect("a sound program");
        computes_the_same(&format!("{recipe} {keys}"), &plan, &data, &t, fused);
    }
}

/// Three steps of a program and of the one that was recorded, in f64.
fn computes_the_same(what: &str, plan: &TrainingPlan, data: &Loaded, t: &TrainProgram, other: Program) {
    let DataX::Rows(x) = t.data_x else { panic!("a table") };
    let reals = |v: &[f32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
    let read: Vec<_> = [t.weights, t.sums].into_iter().chain(t.optimizer.iter().map(|o| o.1)).collect();
    let run = |program| {
        let mut exec = CpuExecutor::<f64>::new(program);
        exec.set(x, &reals(&data.train.x));
        exec.set(t.data_y, &reals(&data.train.y));
        exec.set(t.weights, &reals(&plan.initial_weights(&[&data.train])));
        if let Some((low, high)) = t.aux_range {
            let range = data.encoder.aux_range();
            exec.set(low, &reals(&range.0));
            exec.set(high, &reals(&range.1));
        }
        (0..3).for_each(|s| exec.step(&plan.args(s).cast()));
        read.iter().map(|b| exec.get(*b).to_vec()).collect::<Vec<_>>()
    };
    for (i, (a, b)) in run(other).iter().zip(&run(t.program.clone())).enumerate() {
        let scale = b.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
        let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= 1e-11 * scale && a.iter().all(|v| v.is_finite()), "{what} {i}: {worst:e}");
    }
}

/// A built-in recipe, keys on top of it, and whether its training is one op.
const WHOLE: [(&str, &str, bool); 13] = [
    (
        "sinusoid",
        "net.hidden = [50]\nmethod.name = base\nmethod.eta_aux = 0\nmethod.members = 3\ntrain.batch = 32",
        true,
    ),
    ("sinusoid", "net.hidden = [50]\nmethod.name = base\nmethod.eta_aux = 0\nmethod.members = 2", true),
    ("sinusoid", "net.hidden = [9]\nmethod.eta_aux = 0\nnet.activation = mish\ntrain.batch = 7", true),
    ("sinusoid", "net.hidden = [9]\nmethod.eta_aux = 0\nmethod.expectation = sampled\ntrain.optimizer = adamw", true),
    (
        "sinusoid",
        "net.hidden = [9]\nmethod.eta_aux = 0\nmethod.likelihood = student-t\nmethod.name = base\ntrain.clip = 0",
        true,
    ),
    ("moons", "net.hidden = [9]\nmethod.eta_aux = 0\nmethod.name = base\nmethod.members = 2", true),
    // What has no place in it.
    ("sinusoid", "net.hidden = [50]\nmethod.eta_aux = 1.0", false),
    ("sinusoid", "net.hidden = [50, 50]\nmethod.eta_aux = 0", false),
    ("sinusoid", "net.hidden = [129]\nmethod.eta_aux = 0", false),
    ("sinusoid", "net.hidden = [50]\nmethod.eta_aux = 0\ntrain.average = 0.99", false),
    ("sinusoid", "net.hidden = [50]\nmethod.eta_aux = 0\nmethod.name = vifo-l2", false),
    ("sinusoid", "net.hidden = [50]\nmethod.eta_aux = 0\nmethod.name = vi-mean", false),
    ("moons", "net.hidden = [50]\nmethod.eta_aux = 0\nmethod.name = vifo-mean_all", false),
];

/// A training of which many steps run in a dispatch computes what its ops compute one after another.
#[test]
fn a_whole_training_computes_the_same() {
    for (recipe, keys, fits) in WHOLE {
        let base = vifo::recipe::builtin::find(recipe).expect("a recipe");
        let (plan, data) = prepare(base, keys);
        let t = plan.setup.record_training(u64::MAX).expect("a program");
        let one = resident(&t.program);
        assert_eq!(one.is_some(), fits, "{recipe} {keys}\n{}", t.program);
        let Some(one) = one else { continue };
        assert_eq!(joined(t.program.clone()), one);
        assert!(one.steps.len() == 1 && resident(&one).is_none(), "{one}");
        vifo::program::check::check(&one).expect("a sound program");
        computes_the_same(&format!("{recipe} {keys}"), &plan, &data, &t, one);
    }
}
