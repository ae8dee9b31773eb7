//! Small networks in joined kernels on a software adapter: whole trainings cut anywhere and resumed, and beside the CPU's.

use super::{SMOOTH, largest_difference};
use crate::common::runs::{Outcome, bits, outcome, prepare};
use crate::op_parity::gpu;
use std::path::Path;
use std::sync::Arc;
use vifo::data::load::Loaded;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::testing::{as_hardware, cut_submits};
use vifo::exec::gpu::{Choice, GpuExecutor, open};
use vifo::exec::{Device, Executor};
use vifo::method::DataX;
use vifo::ops::Op;
use vifo::ops::reduce::{SUM_BAD_STEP, SUM_WORDS};
use vifo::program::fuse::mlp::joined;
use vifo::recipe::builtin;
use vifo::train::plan::TrainingPlan;
use vifo::train::{Checkpoint, Flow, Trainer};

/// Keys, and whether many steps run in a dispatch.
const RUNS: [(&str, bool); 4] = [
    ("net.hidden = [50]\nmethod.name = base\nmethod.members = 3\ntrain.batch = 13", true),
    (
        "net.hidden = [9]\nmethod.name = vifo-mean\nmethod.expectation = sampled\ntrain.batch = 13\nnet.activation = mish",
        true,
    ),
    ("net.hidden = [9]\nmethod.name = base\nmethod.members = 2\ntrain.optimizer = sgd\ntrain.lr = 0.003", true),
    ("net.hidden = [9, 12]\nmethod.name = vifo-mean\nmethod.members = 2\ntrain.batch = 13", false),
];

fn prepared(keys: &str) -> (TrainingPlan, Loaded) {
    let base = builtin::find("sinusoid").expect("a recipe");
    prepare(
        base,
        &format!("method.eta_aux = 0\ntrain.epochs = 6\ntrain.patience = 0\ndata.test_fraction = 0.2\n{keys}"),
    )
}

fn is_resident(plan: &TrainingPlan) -> bool {
    let program = joined(plan.setup.record_training(u64::MAX).expect("a program").program);
    matches!(program.steps[..], [vifo::program::Step { op: Op::MlpSteps(_), .. }])
}

fn to_the_end(mut trainer: Trainer) -> Outcome {
    let ending = trainer.run(|_, _| Ok(Flow::Continue)).expect("a run");
    outcome(&mut trainer, ending)
}

/// A run that is cut after any number of steps, in the middle of an epoch and of what would be one dispatch, saved, read and gone on
/// with, ends with the same bits: weights, moments, sums and all.
#[test]
fn joined_kernels_resume_to_the_bit() {
    let device = Device::Gpu(gpu());
    for (keys, resident) in RUNS {
        let (plan, data) = prepared(keys);
        assert_eq!(is_resident(&plan), resident, "{keys}");
        let new = || Trainer::new(&plan, &data, &device).expect("a trainer");
        let whole = to_the_end(new());
        assert_eq!(whole, to_the_end(new()), "{keys}: repeated");
        let layout = plan.setup.layout();
        let (members, len) = (plan.setup.members as usize, plan.setup.member_len());
        for steps in [1, 3, 8] {
            let mut first = new();
            let mut left = steps.min(whole.step - 1);
            while left > 0 {
                let before = first.step();
                first.advance(left).expect("some steps");
                left -= first.step() - before;
            }
            let bytes = first.checkpoint().and_then(|c| c.to_bytes(&layout)).expect("bytes");
            drop(first);
            let saved =
                Checkpoint::from_bytes(&bytes, Path::new("saved"), &layout, members, len).expect("a checkpoint");
            let mut second = new();
            second.restore(&saved).expect("restored");
            assert_eq!(whole, to_the_end(second), "{keys}: cut after {steps} steps");
        }
    }
}

/// Smooth steps, as other networks' are compared.
#[test]
fn many_steps_train_as_on_the_cpu() {
    for method in ["method.name = base", "method.name = vifo-mean\nmethod.eta_aux = 0"] {
        let (plan, data) = prepare(
            builtin::find("sinusoid").expect("a recipe"),
            &format!("{SMOOTH}\n{method}\nmethod.members = 2\nnet.hidden = [11]\nmethod.eta_aux = 0"),
        );
        assert!(is_resident(&plan), "{method}");
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
            trainer.checkpoint().expect("a checkpoint").trained.weights
        };
        let (cpu, gpu) = (run(&Device::Cpu), run(&Device::Gpu(gpu())));
        let start = plan.setup.initial_weights(plan.seed, false, 0.0);
        assert!(largest_difference(&cpu, &start) > 1e-2, "{method}: nothing was learnt");
        let difference = largest_difference(&cpu, &gpu);
        println!("{method}: {difference:e}");
        assert!(difference <= 1.2e-5, "{method}: weights differ by {difference:e}");
    }
}

/// Steps cut into dispatches anywhere are the same steps, with the kernel of a software adapter and with that of hardware; and a bad
/// weight is named by the step that met it, as `loss_reduce` names it.
#[test]
fn dispatches_end_anywhere() {
    let (plan, data) = prepared(RUNS[0].0);
    let t = plan.setup.record_training(u64::MAX).expect("a program");
    let DataX::Rows(x) = t.data_x else { panic!("a table") };
    let args: Vec<_> = (0..20).map(|s| plan.args(s)).collect();
    let flops = joined(t.program.clone()).cost().flops;
    let hardware = Arc::new(as_hardware(open(Choice::Software).unwrap_or_else(|e| panic!("{e}"))));
    for gpu in [gpu(), hardware] {
        let start = plan.initial_weights(&[&data.train]);
        let begin = |weights: &[f32]| {
            let mut executor = GpuExecutor::new(t.program.clone(), gpu.clone()).expect("an executor");
            for (buf, values) in [(x, &data.train.x[..]), (t.data_y, &data.train.y[..]), (t.weights, weights)] {
                executor.write(buf, values).expect("a write");
            }
            executor
        };
        let run = |cuts: &[usize], most: Option<f64>| {
            let mut executor = begin(&start);
            if let Some(flops) = most {
                cut_submits(&mut executor, flops);
            }
            cuts.windows(2).for_each(|c| executor.run(&args[c[0]..c[1]]).expect("some steps"));
            [t.weights, t.sums].map(|b| bits(&executor.read(b).expect("a read")))
        };
        let whole = run(&[0, 20], None);
        assert_eq!(whole, run(&[0, 1, 7, 20], None), "in three calls");
        assert_eq!(whole, run(&[0, 20], Some(1.0)), "each step a dispatch of its own");
        assert_eq!(whole, run(&[0, 20], Some(2.5 * flops)), "two steps a dispatch");
        for bad in [f32::NAN, f32::INFINITY] {
            let mut executor = begin(&start);
            executor.run(&args[..5]).expect("five steps");
            let mut weights = executor.read(t.weights).expect("a read");
            // The bias of the last member's last output.
            *weights.last_mut().expect("weights") = bad;
            executor.write(t.weights, &weights).expect("a write");
            executor.run(&args[5..9]).expect("four more");
            let named = |sums: &[f32]| sums.chunks_exact(SUM_WORDS).map(|s| s[SUM_BAD_STEP]).collect::<Vec<_>>();
            // What the ops say one after another: a noise without bounds is cut, and only its gradient is no number.
            let mut ops = CpuExecutor::<f32>::new(t.program.clone());
            for (buf, values) in [(x, &data.train.x[..]), (t.data_y, &data.train.y[..]), (t.weights, &weights[..])] {
                ops.set(buf, values);
            }
            args[5..9].iter().for_each(|args| ops.step(&args.cast()));
            let want = named(ops.get(t.sums));
            assert!(want[..2] == [0.0, 0.0] && want[2] >= 6.0, "{want:?}");
            assert_eq!(named(&executor.read(t.sums).expect("a read")), want, "step 5 met {bad}");
        }
    }
}
