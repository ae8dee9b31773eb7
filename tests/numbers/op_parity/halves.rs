//! Operands stored in 16 bits: the bound of a store (common/bounded.rs) carried through each op by its reference kernel. The CPU's
//! half of it runs everywhere; of an adapter without f16 its refusal is looked for. `tests/witness/run halves` has one with f16.

use super::gpu;
use crate::common::bounded::{Bounded, SLACK};
use crate::common::parity::{Shares, bounded_args, check_program_on, steps_of};
use crate::common::rows::{Row, rows};
use crate::common::toy::toy;
use crate::common::{Tolerance, compare};
use std::collections::BTreeSet;
use vifo::base::Real;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::variants::Variant;
use vifo::exec::gpu::{Checks, GpuExecutor};
use vifo::ops::{self, Op};

#[test]
fn every_op_agrees_in_16_bits() {
    let (gpu, mut shares, mut failures, mut count) = (gpu(), Shares::new(), vec![], 0);
    let has_halves = gpu.report().halves;
    let kinds = [(true, (Checks::On, "f16, checked")), (false, (Checks::Off, "f16 read, unchecked"))];
    for (i, row) in ops::all().iter().filter(|op| !op.halves().is_empty()).flat_map(rows).enumerate() {
        // For the CPU alone, in turn: it has one kernel for both.
        let kinds = if has_halves { &kinds[..] } else { &kinds[i % 2..=i % 2] };
        for (outputs_too, checks) in kinds.iter().copied() {
            let variants: Vec<_> = match has_halves {
                true => gpu.variants(&row.op).0.into_iter().map(|v| (v, checks)).collect(),
                false => vec![],
            };
            let program = row.halved_program(outputs_too);
            if !has_halves && program.0.has_halves() {
                let refused = GpuExecutor::new(program.0.clone(), gpu.clone()).err().expect("no f16 here").to_string();
                assert!(refused.contains("f16") && refused.contains("--device cpu"), "{refused}");
            }
            failures.extend(check_program_on(&row, program, &gpu, &variants, &mut shares).err());
            count += 1;
        }
    }
    println!("{count} rows, {}; share of the tolerance used:", if has_halves { "on the adapter" } else { "CPU alone" });
    shares.iter().for_each(|(name, share)| println!("  {name:48} {share:.3}"));
    assert!(count > 500, "{count} rows");
    let first = failures[..failures.len().min(12)].join("\n");
    assert!(failures.is_empty(), "{} of {count} rows fail:\n{first}", failures.len());
}

/// Products on the adapter's matrix units, where it has any: the same operands and the same bound, since products of halves are exact in
/// f32 and sums are f32. One row of each kernel, of the awkward ones, which stand last; a software adapter, whose compiler takes
/// most of a minute for a large tile, has the small one alone. Where there are no such units the refusal is looked for.
#[test]
fn products_agree_on_matrix_units() {
    let (gpu, mut shares, mut ran) = (gpu(), Shares::new(), BTreeSet::new());
    let has_matrices = gpu.report().matrix_side > 0;
    let tiles = [Variant::Tile32x32, Variant::Tile64x16, Variant::Tile64x64];
    let tiles = if gpu.report().is_software() { &tiles[..1] } else { &tiles[..] };
    let is_product = |op: &&Op| op.name().starts_with("linear_") || op.name().starts_with("conv2d_");
    for row in ops::all().iter().filter(is_product).flat_map(|op| rows(op).into_iter().rev()) {
        let (mut program, inputs, outputs) = row.halved_program(true);
        program.matrices = true;
        for tile in tiles {
            let made = GpuExecutor::with_variant(program.clone(), gpu.clone(), Checks::Off, Some(*tile));
            if !has_matrices {
                let refused = made.err().expect("no matrix units here").to_string();
                assert!(refused.contains("f16") && refused.contains("--device cpu"), "{refused}");
                continue;
            }
            let made = made.unwrap_or_else(|e| panic!("{e}"));
            let kernels: Vec<String> = made.kernels().iter().map(|k| k.to_string()).collect();
            let on_matrices = kernels.iter().find(|k| k.contains("on matrices of "));
            // A square may be larger than a small tile has steps.
            if on_matrices.is_some_and(|kernel| ran.insert(kernel.clone())) {
                let (program, variants) = (program.clone(), [(*tile, (Checks::Off, "on matrices"))]);
                check_program_on(&row, (program, inputs.clone(), outputs.clone()), &gpu, &variants, &mut shares)
                    .unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
    println!("{} kernels on squares of {}; share of the tolerance used:", ran.len(), gpu.report().matrix_side);
    shares.iter().for_each(|(name, share)| println!("  {name:48} {share:.3}"));
    // Linear layers and convolutions: forward and data store numbers one by one or four at a time, weights have one kernel each.
    assert!(!has_matrices || ran.len() >= 10, "{ran:?}");
}

/// A training step with halves between its layers, all that each store may change carried through it.
#[test]
fn a_step_in_16_bits_agrees() {
    let mut toy = toy(2, &[7, 5], false);
    let count = (toy.program.info(toy.weights).len / 2) as u32;
    toy.program.halve(toy.weights, count);
    assert!(toy.program.has_halves());
    let gpu = gpu();
    let said = steps_of(&toy, gpu.report().halves.then_some(&gpu), 1).unwrap_or_else(|e| panic!("{e}"));
    print!("{said}");
}

/// The bound is that of sums in f32: a product of the same operands that adds in 16 bits is outside of it.
#[test]
fn a_sum_in_16_bits_is_seen() {
    let is_long =
        |row: &&Row| matches!(row.op, Op::LinearForward(p) if p.n_in >= 50 && p.replicas == 1 && p.activation == 0);
    let all = ops::all();
    let op = all.iter().find(|op| op.name() == "linear_forward").expect("an op");
    let rows = rows(op);
    let row = rows.iter().find(is_long).expect("a long sum");
    let Op::LinearForward(p) = row.op else { panic!("filtered") };
    let (program, inputs, outputs) = row.halved_program(false);
    let mut oracle = CpuExecutor::<Bounded>::new(program);
    row.load(&mut oracle, &inputs, &outputs).expect("sizes that fit");
    oracle.step(&bounded_args(&row.args[0]));
    let (n_in, n_out) = (p.n_in as usize, p.n_out as usize);
    let [x, w] = [0, 1].map(|i| row.inputs[i].iter().map(|v| v.to_half()).collect::<Vec<f32>>());
    let product = |half: bool| -> Vec<f32> {
        let kept = |v: f32| if half { v.to_half() } else { v };
        let one = |i: usize| {
            let (row, col) = (i / n_out, i % n_out);
            let at = |k: usize| w[p.weight as usize + k * n_out + col];
            let sum = (0..n_in).fold(0.0, |sum, k| kept(sum + x[row * n_in + k] * at(k)));
            sum + w[p.bias as usize + col]
        };
        (0..p.rows as usize * n_out).map(one).collect()
    };
    let want: Vec<f64> = oracle.get(outputs[0]).iter().map(|b| b.value).collect();
    let bounds: Vec<f64> = oracle.get(outputs[0]).iter().map(|b| SLACK * b.error).collect();
    let against = |half| compare("y", &product(half), &want, Tolerance::Each(&bounds));
    assert!(against(false).is_ok(), "{:?}", against(false));
    assert!(against(true).is_err(), "{:?}", against(true));
}
