//! Kernels and whole steps on a GPU beside the reference kernels: what natively is tested on a software adapter, and in a browser on
//! its own (tests/web/parity).

use super::bounded::{Bounded, SLACK, drawn_error};
use super::rows::{NORMALS, Row, rows};
use super::toy::{Toy, toy};
use super::{Tolerance, compare};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use vifo::error::Error;
use vifo::exec::Executor;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::testing::all_kernels;
use vifo::exec::gpu::variants::{Tile, Variant, form};
use vifo::exec::gpu::{Checks, Gpu, GpuExecutor};
use vifo::ops::step::Prior;
use vifo::ops::{self, StepArgs};
use vifo::program::{Buf, Program};

/// The same arguments as the device gets them: rounded to f32, then exact.
pub fn bounded_args(args: &StepArgs<f64>) -> StepArgs<Bounded> {
    let f = |x: f64| Bounded::exact(x as f32);
    StepArgs {
        step: args.step,
        epoch: args.epoch,
        batch_start: args.batch_start,
        n_valid: args.n_valid,
        seed: args.seed,
        n_samples: args.n_samples,
        lr: f(args.lr),
        bias1: f(args.bias1),
        bias2: f(args.bias2),
        clip_norm: f(args.clip_norm),
        eta: f(args.eta),
        eta_aux: f(args.eta_aux),
        weight_decay: f(args.weight_decay),
        prior: Prior {
            p0: f(args.prior.p0),
            p1: f(args.prior.p1),
            p2: f(args.prior.p2),
            constant: f(args.prior.constant),
        },
        collect: args.collect,
        warm: args.warm,
        dropout: f(args.dropout),
    }
}

pub fn run(row: &Row, executor: &mut dyn Executor, inputs: &[Buf], outputs: &[Buf]) -> Vec<Vec<f32>> {
    let fail = |e: Error| -> ! { panic!("{}: {e}", row.name()) };
    row.load(executor, inputs, outputs).unwrap_or_else(|e| fail(e));
    executor.run(&row.args).unwrap_or_else(|e| fail(e));
    outputs.iter().map(|b| executor.read(*b).unwrap_or_else(|e| fail(e))).collect()
}

/// Largest share of the tolerance that an op used, by executor: the CPU in f32, then each variant on the GPU, checked and
/// unchecked.
pub type Shares = BTreeMap<String, f64>;

/// The row on the CPU and in these variants.
pub fn check_row_on(
    row: &Row,
    gpu: &Arc<Gpu>,
    variants: &[(Variant, (Checks, &str))],
    shares: &mut Shares,
) -> Result<(), String> {
    check_program_on(row, row.program(), gpu, variants, shares)
}

/// The same of the row's program with other kinds of buffers.
pub fn check_program_on(
    row: &Row,
    (program, inputs, outputs): (Program, Vec<Buf>, Vec<Buf>),
    gpu: &Arc<Gpu>,
    variants: &[(Variant, (Checks, &str))],
    shares: &mut Shares,
) -> Result<(), String> {
    let mut oracle = CpuExecutor::<Bounded>::new(program.clone());
    row.load(&mut oracle, &inputs, &outputs).expect("sizes that fit");
    drawn_error(row.drawn.0, row.drawn.1);
    for args in &row.args {
        oracle.step(&bounded_args(args));
    }
    drawn_error(0.0, 0.0);
    let mut executors: Vec<(String, Box<dyn Executor>)> =
        vec![("CPU f32".into(), Box::new(CpuExecutor::<f32>::new(program.clone())))];
    for (variant, (checks, label)) in variants {
        let executor = GpuExecutor::with_variant(program.clone(), gpu.clone(), *checks, Some(*variant))
            .unwrap_or_else(|e| panic!("{}: {e}", row.name()));
        executors.push((format!("GPU {} {label}", variant.name()), Box::new(executor)));
    }
    for (on, mut executor) in executors {
        let got = run(row, executor.as_mut(), &inputs, &outputs);
        for ((got, buf), output) in got.iter().zip(&outputs).zip(row.op.outputs()) {
            let want: Vec<f64> = oracle.get(*buf).iter().map(|b| b.value).collect();
            let bounds: Vec<f64> = oracle.get(*buf).iter().map(|b| SLACK * b.error).collect();
            let name = format!("{} {output} [{on}]", row.name());
            let report = compare(&name, got, &want, Tolerance::Each(&bounds))?;
            let share = shares.entry(format!("{:24} {on}", row.op.name())).or_default();
            *share = share.max(report.share);
        }
    }
    Ok(())
}

/// Entry and tile.
pub type Entry = (&'static str, Option<Tile>);

/// The kernels that the row runs, in all variants of this adapter.
pub fn kernels_of(gpu: &Gpu, row: &Row) -> Vec<Entry> {
    let forms = gpu.variants(&row.op).0.into_iter().filter_map(|v| form(&row.op, v, u64::MAX));
    forms.flat_map(|f| f.kernels).map(|k| (k.entry, k.tile)).collect()
}

/// Every kernel that there is.
pub fn every_kernel() -> BTreeSet<Entry> {
    all_kernels().iter().map(|(_, k)| (k.entry, k.tile)).collect()
}

/// One row for each kernel, of the awkward ones, which stand last; what was run, or what is wrong.
pub fn every_kernel_agrees(gpu: &Arc<Gpu>) -> Result<String, String> {
    let (mut ran, mut shares, mut count) = (BTreeSet::new(), Shares::new(), 0);
    for row in ops::all().iter().flat_map(|op| rows(op).into_iter().rev()) {
        let before = ran.len();
        ran.extend(kernels_of(gpu, &row));
        if ran.len() > before {
            let all: Vec<_> = gpu.variants(&row.op).0.into_iter().map(|v| (v, (Checks::Off, "unchecked"))).collect();
            check_row_on(&row, gpu, &all, &mut shares)?;
            count += 1;
        }
    }
    match ran == every_kernel() {
        true => Ok(format!("{count} rows, {} kernels", ran.len())),
        false => Err(format!("{} kernels of {}", ran.len(), every_kernel().len())),
    }
}

/// So many steps of a recorded training program, end to end: the errors that each op's bound allows, carried through all of
/// them by the reference kernel, cover what the f32 executors do. SGD, because Adam divides by what may be zero within its error.
/// What of the tolerance was used, or what is wrong.
pub fn steps_agree(gpu: &Arc<Gpu>, steps: u32) -> Result<String, String> {
    steps_of(&toy(2, &[7, 5], false), Some(gpu), steps)
}

/// The same of another recorded toy; without a GPU the CPU alone.
pub fn steps_of(toy: &Toy, gpu: Option<&Arc<Gpu>>, steps: u32) -> Result<String, String> {
    let args: Vec<_> = toy.args(0..steps).into_iter().map(|a| StepArgs { clip_norm: 1.0, ..a }).collect();
    let mut oracle = CpuExecutor::<Bounded>::new(toy.program.clone());
    for (buf, values) in &toy.start {
        oracle.set(*buf, &values.iter().map(|v| Bounded::exact(*v)).collect::<Vec<_>>());
    }
    drawn_error(NORMALS.0, NORMALS.1);
    args.iter().for_each(|a| oracle.step(&bounded_args(a)));
    drawn_error(0.0, 0.0);
    let mut cpu = CpuExecutor::<f32>::new(toy.program.clone());
    let on_gpu = gpu.map(|gpu| GpuExecutor::new(toy.program.clone(), gpu.clone())).transpose();
    let mut on_gpu = on_gpu.map_err(|e| e.to_string())?;
    let mut said = String::new();
    let of_gpu = on_gpu.as_mut().map(|gpu| ("GPU", gpu as &mut dyn Executor));
    for (name, executor) in [("CPU f32", &mut cpu as &mut dyn Executor)].into_iter().chain(of_gpu) {
        toy.load(executor);
        executor.run(&args).map_err(|e| e.to_string())?;
        for (what, buf) in [("sums", toy.sums), ("weights", toy.weights)] {
            let want: Vec<f64> = oracle.get(buf).iter().map(|b| b.value).collect();
            let bounds: Vec<f64> = oracle.get(buf).iter().map(|b| SLACK * b.error).collect();
            let got = executor.read(buf).map_err(|e| e.to_string())?;
            let report = compare(&format!("{name} {what}"), &got, &want, Tolerance::Each(&bounds))?;
            let (size, bound) = (want[report.at].abs(), bounds[report.at]);
            let share = report.share;
            let _ = writeln!(said, "{name} {what}: {share:.5} of the tolerance, which is {bound:.1e} on {size:.1e}");
        }
    }
    Ok(said)
}
