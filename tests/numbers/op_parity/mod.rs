//! Every op, three ways: the shader on a software adapter (with wgpu's run-time checks and without) and the f32 reference kernel,
//! both against the reference kernel in f64, within the rounding-error bound that the reference kernel itself derives (common/bounded.rs).
//! No adapter is a failure with the install hint: a skipped comparison would prove nothing.

mod fast_math;
mod random;
mod refusals;
mod runs;
mod slips;
mod statistics;

use crate::common::bounded::{Bounded, SLACK, drawn_error};
use crate::common::rows::{Row, rows};
use crate::common::{Tolerance, compare};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use vifo::error::Error;
use vifo::exec::Executor;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::testing::all_kernels;
use vifo::exec::gpu::variants::{Variant, form};
use vifo::exec::gpu::{Checks, Choice, Gpu, GpuExecutor, open};
use vifo::ops::step::Prior;
use vifo::ops::{self, StepArgs};
use vifo::program::Buf;

/// One device for the whole binary: opening it costs more than a row.
pub fn gpu() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    GPU.get_or_init(|| Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")))).clone()
}

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

/// The row on the CPU and in every variant that the adapter's limits allow.
pub fn check_row(row: &Row, shares: &mut Shares) -> Result<(), String> {
    let checks = [(Checks::On, "checked"), (Checks::Off, "unchecked")];
    let (variants, _) = gpu().variants(&row.op);
    let all = variants.into_iter().flat_map(|v| checks.map(|c| (v, c)));
    check_row_on(row, &gpu(), &all.collect::<Vec<_>>(), shares)
}

pub fn check_row_on(
    row: &Row,
    gpu: &Arc<Gpu>,
    variants: &[(Variant, (Checks, &str))],
    shares: &mut Shares,
) -> Result<(), String> {
    let (program, inputs, outputs) = row.program();
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

/// Entries and tiles of the kernels that the row runs, in all variants of this adapter.
fn kernels_of(row: &Row) -> impl Iterator<Item = (&'static str, Option<(u32, u32)>)> {
    let forms = gpu().variants(&row.op).0.into_iter().filter_map(|v| form(&row.op, v, u64::MAX));
    forms.flat_map(|f| f.kernels).map(|k| (k.entry, k.tile.map(|t| (t.m, t.n))))
}

/// One row for each kernel, of the awkward ones, which stand last: what `tests/witness/run` has other drivers run.
#[test]
#[ignore = "for tests/witness/run: every_op_agrees_with_its_twin runs these and all others"]
fn every_kernel_agrees_once() {
    let (mut ran, mut shares, mut count) = (BTreeSet::new(), Shares::new(), 0);
    for row in ops::all().iter().flat_map(|op| rows(op).into_iter().rev()) {
        let before = ran.len();
        ran.extend(kernels_of(&row));
        if ran.len() > before {
            let all: Vec<_> = gpu().variants(&row.op).0.into_iter().map(|v| (v, (Checks::Off, "unchecked"))).collect();
            check_row_on(&row, &gpu(), &all, &mut shares).unwrap_or_else(|e| panic!("{e}"));
            count += 1;
        }
    }
    println!("{count} rows, {} kernels", ran.len());
    assert_eq!(ran.len(), all_kernels().len());
}

#[test]
fn every_op_agrees_with_its_twin() {
    let (mut shares, mut failures, mut count) = (Shares::new(), vec![], 0);
    let mut ran = BTreeSet::new();
    for op in ops::all() {
        let rows = rows(&op);
        assert!(!rows.is_empty(), "{} has no rows", op.name());
        for row in &rows {
            assert_eq!(row.op.name(), op.name());
            ran.extend(kernels_of(row));
            failures.extend(check_row(row, &mut shares).err());
        }
        count += rows.len();
    }
    // Every kernel there is, at every tile size, has run on some row: an entry without one fails here by name.
    let all: BTreeSet<_> = all_kernels().iter().map(|(_, k)| (k.entry, k.tile.map(|t| (t.m, t.n)))).collect();
    assert_eq!(all.difference(&ran).collect::<Vec<_>>(), Vec::<&(&str, Option<(u32, u32)>)>::new());
    println!("{count} rows; share of the tolerance used:");
    shares.iter().for_each(|(name, share)| println!("  {name:48} {share:.3}"));
    assert!(
        failures.is_empty(),
        "{} of {count} rows fail:\n{}",
        failures.len(),
        failures[..failures.len().min(12)].join("\n")
    );
}
