//! Whole programs: step after step, cut anywhere, over large grids and with bad numbers in them.

use super::gpu;
use crate::common::parity::{run, steps_agree};
use crate::common::rows::Row;
use crate::common::toy::toy;
use crate::common::{Tolerance, compare};
use std::sync::Arc;
use vifo::exec::Executor;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::testing::{as_hardware, cut_submits};
use vifo::exec::gpu::{Checks, Choice, GpuExecutor, open};
use vifo::ops::optimizer::L2Gradient;
use vifo::ops::reduce::{SUM_BAD_STEP, SUM_WORDS};
use vifo::ops::{Op, StepArgs};

/// Three steps of a training, with all that each op's bound allows carried through them.
#[test]
fn a_training_program_agrees() {
    print!("{}", steps_agree(&gpu(), 3).unwrap_or_else(|e| panic!("{e}")));
}

/// Adam on the whole toy: a run repeats itself bit for bit, and steps cut into other submits are the same steps. With
/// the kernels of a software adapter and with those of hardware, whose parts are added in a fixed order.
#[test]
fn a_repeated_run_is_bit_equal() {
    let toy = toy(1, &[50; 5], true);
    let hardware = Arc::new(as_hardware(open(Choice::Software).unwrap_or_else(|e| panic!("{e}"))));
    for gpu in [gpu(), hardware] {
        let run_cut = |cuts: &[u32], flops: Option<f64>| {
            let mut executor = GpuExecutor::new(toy.program.clone(), gpu.clone()).expect("an executor");
            if let Some(flops) = flops {
                cut_submits(&mut executor, flops);
            }
            toy.load(&mut executor);
            for c in cuts.windows(2) {
                executor.run(&toy.args(c[0]..c[1])).expect("some steps");
            }
            [toy.weights, toy.sums]
                .map(|b| executor.read(b).expect("a read").into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let run = |cuts: &[u32]| run_cut(cuts, None);
        let whole = run(&[0, 40]);
        assert_eq!(whole, run(&[0, 40]), "repeated");
        assert_eq!(whole, run(&[0, 1, 7, 40]), "in three calls");
        assert_eq!(whole, run_cut(&[0, 40], Some(1.0)), "each dispatch a submit of its own");
        let some = 0.3 * toy.program.cost().flops;
        assert_eq!(whole, run_cut(&[0, 40], Some(some)), "each step cut in a few");
        let sums: Vec<f32> = whole[1].iter().map(|b| f32::from_bits(*b)).collect();
        assert_eq!(sums[3], 40.0, "steps counted");
        assert_eq!(sums[4], 0.0, "no bad step");
    }
}

/// More than 65,535 workgroups: whole numbers, so that every element must be exact.
#[test]
fn a_large_dispatch_splits() {
    let count = 64 * 65_536 + 5;
    let op = Op::L2Gradient(L2Gradient { replicas: 1, stride: count, first: 0, length: count, scale: 1.0 });
    let values = |start: u32| (0..count).map(|i| ((start + i) % 4096) as f32).collect::<Vec<f32>>();
    let row = Row {
        args: vec![StepArgs { eta: 0.5, ..Default::default() }],
        ..Row::new(op, "large", vec![values(0)], vec![values(7)])
    };
    let (program, inputs, outputs) = row.program();
    for checks in [Checks::On, Checks::Off] {
        let mut executor = GpuExecutor::with_checks(program.clone(), gpu(), checks).expect("an executor");
        let got = run(&row, &mut executor, &inputs, &outputs);
        let want: Vec<f64> = row.inputs[0].iter().zip(&row.outputs[0]).map(|(w, g)| (w + g) as f64).collect();
        compare("grad", &got[0], &want, Tolerance::Exact).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// One bad weight: the loss of the very step that meets it is named, on every executor.
#[test]
fn a_bad_number_reaches_the_loss() {
    let toy = toy(2, &[7, 5], true);
    for bad in [f32::NAN, f32::INFINITY] {
        let mut gpu = GpuExecutor::new(toy.program.clone(), gpu()).expect("an executor");
        let mut cpu = CpuExecutor::<f32>::new(toy.program.clone());
        for executor in [&mut gpu as &mut dyn Executor, &mut cpu] {
            toy.load(executor);
            executor.run(&toy.args(0..2)).expect("two steps");
            let mut weights = executor.read(toy.weights).expect("a read");
            let last = weights.len() - 1; // the bias of member 1's last output
            weights[last] = bad;
            executor.write(toy.weights, &weights).expect("a write");
            executor.run(&toy.args(2..4)).expect("two more");
            let sums = executor.read(toy.sums).expect("a read");
            let device = executor.device();
            assert_eq!(sums[SUM_BAD_STEP], 0.0, "{device}: member 0 is sound");
            assert_eq!(sums[SUM_WORDS + SUM_BAD_STEP], 3.0, "{device}: step 2 met {bad}");
        }
    }
}
