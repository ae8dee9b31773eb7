//! Every op, three ways: the shader on a software adapter (with wgpu's run-time checks and without) and the f32 reference kernel,
//! both against the reference kernel in f64, within the rounding-error bound that the reference kernel itself derives (common/bounded.rs).
//! No adapter is a failure with the install hint: a skipped comparison would prove nothing.

mod fast_math;
mod halves;
mod random;
mod refusals;
mod runs;
mod slips;
mod statistics;

use crate::common::parity::{Entry, Shares, check_row_on, every_kernel, every_kernel_agrees, kernels_of};
use crate::common::rows::{Row, rows};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use vifo::exec::gpu::{Checks, Choice, Gpu, open};
use vifo::ops;

/// One device for the whole binary: opening it costs more than a row.
pub fn gpu() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    GPU.get_or_init(|| Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")))).clone()
}

/// The row on the CPU and in every variant that the adapter's limits allow.
pub fn check_row(row: &Row, shares: &mut Shares) -> Result<(), String> {
    let checks = [(Checks::On, "checked"), (Checks::Off, "unchecked")];
    let (variants, _) = gpu().variants(&row.op);
    let all = variants.into_iter().flat_map(|v| checks.map(|c| (v, c)));
    check_row_on(row, &gpu(), &all.collect::<Vec<_>>(), shares)
}

/// What `tests/witness/run` has other drivers run.
#[test]
#[ignore = "for tests/witness/run: every_op_agrees_with_its_twin runs these and all others"]
fn every_kernel_agrees_once() {
    println!("{}", every_kernel_agrees(&gpu()).unwrap_or_else(|e| panic!("{e}")));
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
            ran.extend(kernels_of(&gpu(), row));
            failures.extend(check_row(row, &mut shares).err());
        }
        count += rows.len();
    }
    // Every kernel there is, at every tile size, has run on some row: an entry without one fails here by name.
    assert_eq!(every_kernel().difference(&ran).collect::<Vec<_>>(), Vec::<&Entry>::new());
    println!("{count} rows; share of the tolerance used:");
    shares.iter().for_each(|(name, share)| println!("  {name:48} {share:.3}"));
    assert!(
        failures.is_empty(),
        "{} of {count} rows fail:\n{}",
        failures.len(),
        failures[..failures.len().min(12)].join("\n")
    );
}
