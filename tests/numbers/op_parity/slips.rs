//! The harness itself: a wrong parameter, a slip in a shader, one wrong byte make it fail.

use super::{check_row, gpu};
use crate::common::bounded::{Bounded, SLACK};
use crate::common::parity::{Shares, bounded_args, check_row_on, run};
use crate::common::rows::rows;
use crate::common::{Tolerance, compare};
use std::sync::Arc;
use vifo::bench::self_test::self_test;
use vifo::exec::Device;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::testing::replace_shader;
use vifo::exec::gpu::variants::Variant;
use vifo::exec::gpu::{Checks, Choice, FAMILIES, GpuExecutor, compose, open};
use vifo::ops::{self, Op};

/// The harness sees a wrong kernel: the same comparison fails when the reference kernel is given other parameters.
#[test]
fn a_wrong_kernel_is_seen() {
    let op = ops::all().into_iter().find(|o| o.name() == "adam").expect("adam is an op");
    let row = rows(&op).pop().expect("adam has rows");
    let (program, inputs, outputs) = row.program();
    let mut wrong = program.clone();
    let Op::Adam(p) = &mut wrong.steps[0].op else { panic!("not adam") };
    p.beta1 = f32::from_bits(p.beta1.to_bits() + 64);
    let mut right = CpuExecutor::<Bounded>::new(program);
    row.load(&mut right, &inputs, &outputs).expect("sizes that fit");
    for args in &row.args {
        right.step(&bounded_args(args));
    }
    let mut executor = GpuExecutor::new(wrong, gpu()).expect("an executor");
    let got = run(&row, &mut executor, &inputs, &outputs);
    let want: Vec<f64> = right.get(outputs[1]).iter().map(|b| b.value).collect();
    let bounds: Vec<f64> = right.get(outputs[1]).iter().map(|b| SLACK * b.error).collect();
    assert!(compare("first moment", &got[1], &want, Tolerance::Each(&bounds)).is_err());
}

/// Module, text, what stands there instead, and the op and variant that must fail: one slip of each kind that a tile allows.
const SLIPS: [(&str, &str, &str, &str, Variant); 56] = [
    ("conv_tiled", "a.y * b[1]", "a.y * b[0]", "conv2d_forward", Variant::Tile64x64),
    ("conv_tiled", "pixel.x * p.stride", "pixel.x", "conv2d_forward", Variant::Tile32x32),
    ("conv_tiled", "third = ahead(second, 1u", "third = ahead(second, 2u", "conv2d_forward", Variant::Tile64x16),
    ("conv_tiled", "rows > 3u { store", "rows > 4u { store", "conv2d_forward", Variant::Tile64x64),
    ("conv_data_tiled", " + vec2<u32>(p.pad_left, p.pad_top)", "", "conv2d_backward_data", Variant::Tile32x32),
    (
        "conv_data_tiled",
        "side + line / 4u) * LINE",
        "side + line / 8u) * LINE",
        "conv2d_backward_data",
        Variant::Tile64x16,
    ),
    ("conv_split", "at = i;", "at = i + p.replicas * quads;", "conv2d_backward_weight", Variant::Tile64x64),
    ("conv_split", "bias += b[0] + b[1];", "bias = b[0];", "conv2d_backward_weight", Variant::Tile64x16),
    (
        "conv_split",
        "first + rounds * DEPTH, n",
        "first + rounds * DEPTH + 1u, n",
        "conv2d_backward_weight",
        Variant::Tile32x32,
    ),
    (
        "linear_tiled",
        "mat4x4<f32>(row, row, row, row)",
        "mat4x4<f32>(row, row, row, row * 1.0001)",
        "linear_forward",
        Variant::Tile64x64,
    ),
    (
        "linear_tiled",
        "quads_of(p.n_out - done)",
        "quads_of(p.n_out - done - 1u)",
        "linear_backward_data",
        Variant::Tile64x64,
    ),
    (
        "linear_split",
        "mat2x4<f32>(select(none, quads[0], first < end)",
        "mat2x4<f32>(quads[0]",
        "linear_backward_weight",
        Variant::Tile64x16,
    ),
    ("linear_split", "weight_x_quad(at + step", "weight_x_quad(at", "linear_backward_weight", Variant::Tile128x64),
    ("linear_tiled", "sums.beside, a, b_beside", "sums.beside, a, b", "linear_forward", Variant::Tile128x64),
    (
        "linear_tiled",
        "vec2<u32>(HALF_M, 0u), sums.below",
        "vec2<u32>(HALF_M, 0u), sums.first",
        "linear_forward",
        Variant::Tile128x64,
    ),
    ("linear_tiled", "at / 4u + step / 4u, last", "at / 4u, last", "linear_forward", Variant::Tile128x64),
    ("linear_tiled", "sums.opposite, a_below, b_", "sums.opposite, a, b_", "linear_backward_data", Variant::Tile128x64),
    (
        "conv_tiled",
        "a.inside.y = is_inside(window, second)",
        "a.inside.y = a.inside.x",
        "conv2d_forward",
        Variant::Tile128x64,
    ),
    ("conv_tiled", "at + HALF_N, remaining", "at, remaining", "conv2d_forward", Variant::Tile128x64),
    ("conv_data_tiled", "= is_reached(reach, taps.y, fourth)", "= true", "conv2d_backward_data", Variant::Tile128x64),
    ("conv_split", "first + step < end));", "first < end));", "conv2d_backward_weight", Variant::Tile128x64),
    (
        "pooled",
        "own.x + HALF_M, own.y, sums.below",
        "own.x + HALF_M, own.y, sums.first",
        "conv_pool_forward",
        Variant::Tile128x64,
    ),
    (
        "normed",
        "among(rows, own.x + HALF_M, lower - means)",
        "among(rows, own.x, lower - means)",
        "norm_conv_forward",
        Variant::Tile128x64,
    ),
    ("normed_back", "own.x + HALF_M, own.y, below", "own.x, own.y, below", "norm_conv_backward", Variant::Tile128x64),
    (
        "normed_back",
        "d_sum += of_part(lower, part)",
        "d_sum += of_part(upper, part)",
        "norm_conv_backward",
        Variant::Tile128x64,
    ),
    ("pooled", "window / across % down * 2u", "window / across % down", "conv_pool_forward", Variant::Tile32x32),
    ("pooled", "next > best.y", "next >= best.y", "conv_pool_forward", Variant::Tile64x16),
    ("pooled", "p.activation, best.z)", "p.activation, best.y)", "conv_pool_forward", Variant::Tile64x64),
    ("pooled_back", "y % 2u * 2u + x % 2u", "y % 2u + x % 2u * 2u", "conv_pool_backward", Variant::Tile32x32),
    ("pooled_back", "place.y * 2u + i / 2u % 2u", "place.y * 2u + i % 2u", "conv_pool_backward", Variant::Tile64x64),
    ("normed", "image >= first_auxiliary", "image > first_auxiliary", "norm_conv_forward", Variant::Tile64x64),
    ("normed", "- base - shift", "- base", "norm_conv_forward", Variant::Tile32x32),
    ("normed", "own < vec4<u32>(rows.y)", "own <= vec4<u32>(rows.y)", "norm_conv_forward", Variant::Tile64x16),
    ("normed", "tile += COMBINING", "tile += 2u * COMBINING", "norm_conv_forward", Variant::Tile32x32),
    (
        "normed_back",
        "image < conv_args.n_valid",
        "image <= conv_args.n_valid",
        "norm_conv_backward",
        Variant::Tile64x64,
    ),
    ("normed_back", "with_x * inverse_sd", "with_x", "norm_conv_backward", Variant::Tile32x32),
    ("normed_back", "/ tiles % p.replicas, lane", "% p.replicas, lane", "norm_conv_backward", Variant::Tile64x16),
    ("mlp", "s11 = outer(s11, a1, w1)", "s11 = outer(s11, a0, w1)", "mlp_pass", Variant::Plain),
    ("mlp", "first_row + 4u * t, outputs", "first_row, outputs", "mlp_pass", Variant::Shared),
    ("mlp", "units > 2u),", "units > 3u),", "mlp_pass", Variant::Plain),
    ("mlp", "job - job / blocks * blocks", "job % LANES", "mlp_pass", Variant::Shared),
    ("mlp_weights", "ones == 6u", "ones == 7u", "mlp_gradient", Variant::Plain),
    ("mlp_weights", "columns > 2u, columns", "columns > 1u, columns", "mlp_pack", Variant::Plain),
    ("mlp_steps", "own_x[2u * k + high]", "own_x[2u * k]", "mlp_steps", Variant::Plain),
    ("mlp_steps", "UNITS > 6u { backward_unit(6u)", "UNITS > 6u { backward_unit(5u)", "mlp_steps", Variant::Plain),
    (
        "mlp_steps",
        "grad.y += over_rows(y, rows_of_output(0u))",
        "grad.y += over_rows(y, rows_of_output(1u))",
        "mlp_steps",
        Variant::Plain,
    ),
    ("mlp_steps", "first + lane < args.n_valid", "first + lane <= args.n_valid", "mlp_steps", Variant::Plain),
    ("mlp_steps", "thread += PARTS", "thread += PARTS + 1u", "mlp_steps", Variant::Shared),
    ("mlp_steps", "let x = at + t / 2u;", "let x = at + (t + 1u) / 2u;", "mlp_steps", Variant::Shared),
    ("mlp_steps", "let four = 4u * (lane % 2u);", "let four = 0u;", "mlp_steps", Variant::Plain),
    ("mlp_steps", "steps_schedule[i]", "steps_schedule[0]", "mlp_steps", Variant::Plain),
    ("mlp_steps", "all.squares += of_thread.x", "all.squares = of_thread.x", "mlp_steps", Variant::Plain),
    ("norm_split", "- base - shift", "- base", "batch_norm_stats", Variant::Split),
    ("norm_split", "width >= CHANNELS", "width > CHANNELS", "batch_norm_sums", Variant::Split),
    ("norm_split", "at += LANES * step", "at += step", "batch_norm_sums", Variant::Split),
    ("norm_split", "piece += LANES", "piece += 2u * LANES", "batch_norm_stats", Variant::Split),
];

/// The harness runs the variant that it names, and sees a wrong one: each slip in a shader makes some row fail.
#[test]
fn a_wrong_variant_is_seen() {
    let mut unseen = vec![];
    for (module, right, wrong, name, variant) in SLIPS {
        let source = FAMILIES.iter().find(|(n, _)| *n == module).expect("a shader").1;
        let composed = compose(module, source).expect("a shader");
        let slipped = composed.replace(right, wrong);
        assert!(composed != slipped, "{module} has no {right}");
        let gpu = Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")));
        replace_shader(&gpu, module, &slipped).unwrap_or_else(|e| panic!("{e}"));
        let op = ops::all().into_iter().find(|o| o.name() == name).expect("an op");
        let variants = [(variant, (Checks::On, "slipped"))];
        // The rows about the edges of the tiles stand last.
        let seen = rows(&op).iter().rev().any(|row| check_row_on(row, &gpu, &variants, &mut Shares::new()).is_err());
        if !seen {
            unseen.push(format!("{module}: '{wrong}' in place of '{right}'"));
        }
    }
    assert!(unseen.is_empty(), "went unseen:\n{}", unseen.join("\n"));
}

/// One byte of an image changed by one: the comparison fails.
#[test]
fn a_wrong_byte_is_seen() {
    let op = ops::all().into_iter().find(|o| o.name() == "gather_images").expect("gather_images is an op");
    let row = rows(&op).swap_remove(0);
    assert_eq!(check_row(&row, &mut Shares::new()), Ok(()));
    let (program, inputs, outputs) = row.program();
    let mut right = CpuExecutor::<Bounded>::new(program.clone());
    row.load(&mut right, &inputs, &outputs).expect("sizes that fit");
    right.step(&bounded_args(&row.args[0]));
    let mut wrong = row.clone();
    let bytes = Arc::make_mut(&mut wrong.bytes[0].0);
    bytes[0] ^= 1;
    let got = run(&wrong, &mut GpuExecutor::new(program, gpu()).expect("an executor"), &inputs, &outputs);
    let want: Vec<f64> = right.get(outputs[0]).iter().map(|b| b.value).collect();
    let bounds: Vec<f64> = right.get(outputs[0]).iter().map(|b| SLACK * b.error).collect();
    assert!(compare("images", &got[0], &want, Tolerance::Each(&bounds)).is_err());
}

/// `vifo doctor --full` sees a kernel that is wrong: here the pool of one network alone.
#[test]
fn the_full_self_test_sees_a_slip() {
    let source = FAMILIES.iter().find(|(name, _)| *name == "pool").expect("a shader").1;
    let composed = compose("pool", source).expect("a shader");
    let right = "if oy < out_h && ox < out_w {\n        d = ";
    assert!(composed.contains(right));
    let slipped = composed.replace(right, "if oy < out_h && ox < out_w {\n        d = 1.01 * ");
    let gpu = Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")));
    replace_shader(&gpu, "pool", &slipped).unwrap_or_else(|e| panic!("{e}"));
    let (tests, _) = self_test(&Device::Gpu(gpu), &mut |_| {}).expect("it runs");
    let wrong: Vec<&str> = tests.iter().filter(|t| !t.passed()).map(|t| t.name).collect();
    assert_eq!(wrong, ["image_preresnet_base", "image_preresnet_vifo"]);
}
