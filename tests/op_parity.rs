//! Every op, three ways: the shader on a software adapter (with wgpu's run-time checks and without) and the f32 twin,
//! both against the twin in f64, within the rounding-error bound that the twin itself derives (common/bounded.rs).
//! No adapter is a failure with the install hint: a skipped comparison would prove nothing.

mod common;

use common::bounded::{Bounded, SLACK, U, drawn_error};
use common::rows::{self, Row, rows};
use common::toy::toy;
use common::{Tolerance, compare};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use vifo::base::rng::{Draw, Permutation, normals, philox};
use vifo::error::Error;
use vifo::exec::cpu::CpuExecutor;
use vifo::exec::gpu::variants::{Variant, all_kernels, form};
use vifo::exec::gpu::{Checks, Choice, FAMILIES, Gpu, GpuExecutor, adapters, compose, open};
use vifo::exec::{Device, Executor};
use vifo::ops::images::GatherImages;
use vifo::ops::linear::{LinearBackwardWeight, LinearForward};
use vifo::ops::norm::BatchNormStats;
use vifo::ops::optimizer::L2Gradient;
use vifo::ops::reduce::{SUM_BAD_STEP, SUM_WORDS, SumSquares};
use vifo::ops::step::Prior;
use vifo::ops::{self, Op, StepArgs};
use vifo::program::{Buf, BufferInfo, Builder, Element, Program, Role, Step};

/// One device for the whole binary: opening it costs more than a row.
fn gpu() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    GPU.get_or_init(|| Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")))).clone()
}

/// The same arguments as the device gets them: rounded to f32, then exact.
fn bounded_args(args: &StepArgs<f64>) -> StepArgs<Bounded> {
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
    }
}

fn run(row: &Row, executor: &mut dyn Executor, inputs: &[Buf], outputs: &[Buf]) -> Vec<Vec<f32>> {
    let fail = |e: Error| -> ! { panic!("{}: {e}", row.name()) };
    row.load(executor, inputs, outputs).unwrap_or_else(|e| fail(e));
    executor.run(&row.args).unwrap_or_else(|e| fail(e));
    outputs.iter().map(|b| executor.read(*b).unwrap_or_else(|e| fail(e))).collect()
}

/// Largest share of the tolerance that an op used, by executor: the CPU in f32, then each variant on the GPU, checked and
/// unchecked.
type Shares = BTreeMap<String, f64>;

/// The row on the CPU and in every variant that the adapter's limits allow.
fn check_row(row: &Row, shares: &mut Shares) -> Result<(), String> {
    let checks = [(Checks::On, "checked"), (Checks::Off, "unchecked")];
    let (variants, _) = gpu().variants(&row.op);
    let all = variants.into_iter().flat_map(|v| checks.map(|c| (v, c)));
    check_row_on(row, &gpu(), &all.collect::<Vec<_>>(), shares)
}

fn check_row_on(
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

#[test]
fn every_op_agrees_with_its_twin() {
    let (mut shares, mut failures, mut count) = (Shares::new(), vec![], 0);
    let mut ran = BTreeSet::new();
    for op in ops::all() {
        let rows = rows(&op);
        assert!(!rows.is_empty(), "{} has no rows", op.name());
        for row in &rows {
            assert_eq!(row.op.name(), op.name());
            let forms = gpu().variants(&row.op).0.into_iter().filter_map(|v| form(&row.op, v, u64::MAX));
            ran.extend(forms.flat_map(|f| f.kernels).map(|k| (k.entry, k.tile.map(|t| (t.m, t.n)))));
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

/// Offset and spread of a channel.
const OFFSETS: [(f32, f32); 4] = [(1e3, 1.0), (1e3, 0.25), (0.7, 0.0), (8.0, 0.0)];
const EPS: f32 = 1e-5;
const MOMENTUM: f32 = 0.1;

/// Mean, 1/sd, running mean and running variance (both were 1/2) of a channel, each with its bound. The common running
/// error counts x - mean by the size of x; two passes deserve better. With m the mean, m + d the computed one and X = max |x|:
///   |d| <= (n + 5) u X: n - 1 sums in any order, 1/n (5u), a product (u);
///   sum (x - m - d)^2 = sum (x - m)^2 + n d^2: an error of the mean enters the variance squared;
///   (n + 8) u of that for the difference and its square (3u), n - 1 sums, 1/n and a product (6u);
///   1/sd: half the relative error of var + eps, its sum (u), root (9u) and quotient (5u);
///   running: what `momentum` takes of it, and three roundings of |old| + |new|.
fn channel_statistics(x: &[f64]) -> [(f64, f64); 4] {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    let d = (n + 5.0) * U * x.iter().fold(0f64, |m, v| m.max(v.abs()));
    let dvar = d * d + (n + 8.0) * U * (var + d * d);
    let safe = var + EPS as f64;
    assert!(dvar < 0.1 * safe, "a bound that permits everything");
    let inverse_sd = 1.0 / safe.sqrt();
    let more = if n > 1.0 { n / (n - 1.0) } else { 1.0 };
    let momentum = MOMENTUM as f64;
    let running = |new: f64, error: f64| (0.5 + momentum * (new - 0.5), momentum * error + 3.0 * U * (0.5 + new.abs()));
    [
        (mean, d),
        (inverse_sd, inverse_sd * (0.5 * dvar / (safe - dvar) + 15.0 * U)),
        running(mean, d),
        running(var * more, dvar * more),
    ]
}

/// Offsets a thousand times the spread, and channels without any: the variance keeps its digits, and a sum of squares
/// minus a square, which would not, is seen.
#[test]
fn an_offset_channel_keeps_its_variance() {
    const C: usize = OFFSETS.len();
    let mut one_pass_fails = false;
    for (images, pixels) in [(1, 1), (7, 1), (1, 64), (7, 81)] {
        // Two replicas with data and auxiliary images each: four groups of n rows.
        let (n, c) = ((images * pixels) as usize, C as u32);
        let p = BatchNormStats {
            replicas: 2,
            images: 2 * images,
            data_images: images,
            pixels,
            c,
            running: 0,
            running_stride: 2 * c,
            eps: EPS,
            momentum: MOMENTUM,
        };
        let draw = Draw { seed: 5, stream: 1002, step: images, replica: pixels };
        let value = |i: usize| OFFSETS[i % C].0 + OFFSETS[i % C].1 * (2.0 * draw.uniform(i as u32) - 1.0);
        let x: Vec<f32> = (0..4 * n * C).map(value).collect();
        let outputs = vec![vec![f32::NAN; 8 * C], vec![0.5; 4 * C]];
        let row = Row {
            args: vec![StepArgs { n_valid: images, ..Default::default() }],
            ..Row::new(Op::BatchNormStats(p), format!("{images} x {pixels}"), vec![x.clone()], outputs)
        };
        // stats [R, 2, 2, c] and running [R, 2, c] with their bounds.
        let (mut stats, mut running) = (vec![(0.0, 0.0); 8 * C], vec![(0.0, 0.0); 4 * C]);
        for group in 0..4 {
            for i in 0..C {
                let channel: Vec<f32> = (0..n).map(|k| x[(group * n + k) * C + i]).collect();
                let found = channel_statistics(&channel.iter().map(|v| *v as f64).collect::<Vec<_>>());
                (stats[group * 2 * C + i], stats[(group * 2 + 1) * C + i]) = (found[0], found[1]);
                if group % 2 == 0 {
                    (running[group * C + i], running[(group + 1) * C + i]) = (found[2], found[3]);
                }
                let mean = channel.iter().sum::<f32>() / n as f32;
                let one_pass = channel.iter().map(|v| v * v).sum::<f32>() / n as f32 - mean * mean;
                let (want, bound) = found[1];
                one_pass_fails |= ((1.0 / (one_pass + EPS).sqrt()) as f64 - want).abs() > 4.0 * bound;
            }
        }
        let (program, inputs, outputs) = row.program();
        let mut executors: Vec<Box<dyn Executor>> = vec![Box::new(CpuExecutor::<f32>::new(program.clone()))];
        for variant in [Variant::Plain, Variant::Split] {
            for checks in [Checks::On, Checks::Off] {
                let executor = GpuExecutor::with_variant(program.clone(), gpu(), checks, Some(variant));
                executors.push(Box::new(executor.expect("an executor")));
            }
        }
        for mut executor in executors {
            let got = run(&row, executor.as_mut(), &inputs, &outputs);
            for (got, wanted) in got.iter().zip([&stats, &running]) {
                let (want, bounds): (Vec<f64>, Vec<f64>) = wanted.iter().copied().unzip();
                let name = format!("{} on {}", row.name(), executor.device());
                let report = compare(&name, got, &want, Tolerance::Each(&bounds)).unwrap_or_else(|e| panic!("{e}"));
                println!("{name}: {:.3} of the tolerance", report.share);
            }
        }
    }
    assert!(one_pass_fails, "the bounds would let one pass through");
}

/// The harness sees a wrong kernel: the same comparison fails when the twin is given other parameters.
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
const SLIPS: [(&str, &str, &str, &str, Variant); 14] = [
    ("conv_tiled", "a.y * b[1]", "a.y * b[0]", "conv2d_forward", Variant::Tile64x64),
    ("conv_tiled", "pixel % p.out_w * p.stride", "pixel % p.out_w", "conv2d_forward", Variant::Tile32x32),
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
    ("conv_split", "bias += d;", "bias = d;", "conv2d_backward_weight", Variant::Tile64x16),
    (
        "conv_split",
        "first + rounds * DEPTH, n",
        "first + rounds * DEPTH + 1u, n",
        "conv2d_backward_weight",
        Variant::Tile32x32,
    ),
    (
        "linear_tiled",
        "(bias, bias, bias, bias)",
        "(bias, bias, bias, bias * 1.0001)",
        "linear_forward",
        Variant::Tile64x64,
    ),
    (
        "linear_tiled",
        "(k, p.n_out));\n        workgroup",
        "(k + 1u, p.n_out));\n        workgroup",
        "linear_backward_data",
        Variant::Tile64x64,
    ),
    ("linear_split", "quad * SIDE_N", "quad", "linear_backward_weight", Variant::Tile64x16),
    ("norm_split", "- base - shift", "- base", "batch_norm_stats", Variant::Split),
    ("norm_split", "width >= CHANNELS", "width > CHANNELS", "batch_norm_sums", Variant::Split),
];

/// The harness runs the variant that it names, and sees a wrong one: each slip in a shader makes some row fail.
#[test]
fn a_wrong_variant_is_seen() {
    for (module, right, wrong, name, variant) in SLIPS {
        let source = FAMILIES.iter().find(|(n, _)| *n == module).expect("a shader").1;
        let composed = compose(module, source).expect("a shader");
        let slipped = composed.replace(right, wrong);
        assert!(composed != slipped, "{module} has no {right}");
        let gpu = Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")));
        gpu.replace_shader(module, &slipped).unwrap_or_else(|e| panic!("{e}"));
        let op = ops::all().into_iter().find(|o| o.name() == name).expect("an op");
        let variants = [(variant, (Checks::On, "slipped"))];
        // The rows about the edges of the tiles stand last.
        let seen = rows(&op).iter().rev().any(|row| check_row_on(row, &gpu, &variants, &mut Shares::new()).is_err());
        assert!(seen, "{module}: '{wrong}' in place of '{right}' went unseen");
    }
}

#[test]
fn philox_is_bit_equal() {
    let body = "// needs: index, rng
        fn word(i: u32) -> u32 {
            let block = i / 4u;
            let counter = vec4<u32>(block * 0x9E3779B9u, block, ~block, block << 16u);
            return philox(counter, vec2<u32>(block * 77u, 0xffffffffu - block))[i % 4u];
        }";
    let got = gpu().probe(body, 4096).expect("a probe");
    for (b, got) in got.chunks(4).enumerate() {
        let b = b as u32;
        let want = philox([b.wrapping_mul(0x9E37_79B9), b, !b, b << 16], [b * 77, u32::MAX - b]);
        assert_eq!(got, want, "block {b}");
    }
}

#[test]
fn permutations_are_bit_equal() {
    for n in [1u32, 2, 3, 63, 64, 65, 1000, 4097] {
        let body = format!(
            "// needs: index, rng
            fn word(i: u32) -> u32 {{ return permute(permutation(5u, 7u, i / {n}u, {n}u), i % {n}u); }}"
        );
        let got = gpu().probe(&body, 2 * n).expect("a probe");
        let want: Vec<u32> = (0..2 * n).map(|i| Permutation::new(5, 7, i / n, n).at(i % n)).collect();
        assert_eq!(got, want, "n = {n}");
    }
}

/// The normals of the shader against those of the host: the bound that `rows::NORMALS` gives every op that draws them.
#[test]
fn normals_agree() {
    let body = "// needs: index, rng
        fn word(i: u32) -> u32 { return bitcast<u32>(draw_normals(Draw(9u, 3u, 4u, 5u), i / 4u)[i % 4u]); }";
    let got: Vec<f32> = gpu().probe(body, 100_000).expect("a probe").into_iter().map(f32::from_bits).collect();
    let draw = Draw { seed: 9, stream: 3, step: 4, replica: 5 };
    let want: Vec<f64> = (0..25_000).flat_map(|b| normals(draw.block(b))).map(|v| v as f64).collect();
    let bounds: Vec<f64> = want.iter().map(|v| rows::NORMALS.0 * v.abs() + rows::NORMALS.1).collect();
    let report = compare("normals", &got, &want, Tolerance::Each(&bounds)).unwrap_or_else(|e| panic!("{e}"));
    println!("normals used {:.3} of their bound", report.share);
}

/// log(1 + e) keeps its digits for small e, where log would lose them.
#[test]
fn log1p_agrees() {
    let body = "// needs: math
        fn word(i: u32) -> u32 { return bitcast<u32>(log1p_unit(exp2(-0.01 * f32(i)))); }";
    let exact = "// needs: math
        fn word(i: u32) -> u32 { return bitcast<u32>(exp2(-0.01 * f32(i))); }";
    let floats = |body| gpu().probe(body, 8000).expect("a probe").into_iter().map(f32::from_bits).collect::<Vec<f32>>();
    let want: Vec<f64> = floats(exact).iter().map(|e| (*e as f64).ln_1p()).collect();
    let bounds: Vec<f64> = want.iter().map(|v| 10.0 * U * v).collect();
    compare("log1p_unit", &floats(body), &want, Tolerance::Each(&bounds)).unwrap_or_else(|e| panic!("{e}"));
}

fn one_step(op: Op, inputs: &[usize], outputs: &[usize]) -> Program {
    let row = Row::new(
        op,
        "",
        inputs.iter().map(|n| vec![0.0; *n]).collect(),
        outputs.iter().map(|n| vec![0.0; *n]).collect(),
    );
    row.program().0
}

/// A run on a lost device ends in one line that names the device and the way on; nothing panics.
#[test]
fn a_lost_device_is_an_error() {
    let lost = Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")));
    let program = one_step(Op::SumSquares(SumSquares { replicas: 1, stride: 4, first: 0, length: 4 }), &[4], &[1]);
    let mut executor = GpuExecutor::new(program.clone(), lost.clone()).expect("an executor");
    let args = [StepArgs::default(); 3];
    executor.write(Buf(0), &[1.0, 2.0, 3.0, 4.0]).expect("a live device");
    executor.run(&args).expect("a live device");
    assert_eq!(executor.read(Buf(1)).expect("a live device"), [30.0]);
    lost.lose();
    let results = [
        executor.run(&args).err(),
        executor.read(Buf(1)).err(),
        executor.write(Buf(0), &[0.0]).err(),
        GpuExecutor::new(program, lost).err(),
    ];
    for (i, error) in results.into_iter().enumerate() {
        let text = error.unwrap_or_else(|| panic!("call {i} worked on a lost device")).to_string();
        assert!(
            text.starts_with("device ") && text.contains("device lost") && text.contains("vifo fit --resume RUN"),
            "{text}"
        );
    }
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

/// Buffers of bytes take bytes, exactly as many as they hold, and give nothing back; the CPU's are tested beside it.
#[test]
fn bytes_that_do_not_fit_are_refused() {
    let op = ops::all().into_iter().find(|o| o.name() == "gather_images").expect("gather_images is an op");
    let row = rows(&op).swap_remove(0);
    let (program, inputs, outputs) = row.program();
    let mut executor = GpuExecutor::new(program, gpu()).expect("an executor");
    let (bytes, range) = row.bytes[0].clone();
    for wrong in [0..range.end - 1, 1..range.end + 1, 0..0] {
        assert!(executor.write_bytes(inputs[0], bytes.clone(), wrong).is_err());
    }
    assert!(executor.write(inputs[0], &[0.0]).is_err() && executor.read(inputs[0]).is_err());
    assert!(executor.write_bytes(outputs[0], bytes.clone(), range.clone()).is_err());
    assert!(executor.write_bytes(inputs[0], bytes, range).is_ok());
}

#[test]
fn too_many_images_are_refused() {
    let most = gpu().max_bytes_binding();
    assert_eq!((Device::Gpu(gpu()).max_bytes_binding(), Device::Cpu.max_bytes_binding()), (most, u64::MAX));
    let n_rows = most as u32 + 1;
    let mut b = Builder::new(1, 1);
    let images = [n_rows as usize, 4, 4, 4].map(|n| b.bytes("data.images", n));
    let out = b.buffer("x", 1, Role::Output);
    let p = GatherImages {
        replicas: 1,
        n_rows,
        shard_rows: n_rows,
        h: 1,
        w: 1,
        c: 1,
        batch: 1,
        out_rows: 1,
        ..bytemuck::Zeroable::zeroed()
    };
    b.push(Op::GatherImages(p), &images, &[out]);
    let error = GpuExecutor::new(b.finish().expect("a sound program"), gpu()).err().expect("refused");
    assert!(matches!(error, Error::Device(_)));
    let text = error.to_string();
    for part in
        ["'data.images'", &format!("{} bytes", most + 4), &format!("{most} bytes"), "--device cpu or fewer images"]
    {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

/// What the adapter cannot hold is refused by name and number before anything is created.
#[test]
fn too_large_a_program_is_refused() {
    let most = gpu().report().max_binding_bytes.min(gpu().report().max_buffer_bytes);
    let len = most as usize / 4 + 1;
    let mut program = Program::default();
    for (name, len, role) in [("activations", len, Role::Input), ("sums", 1, Role::Output)] {
        program.buffers.push(BufferInfo { name: name.into(), len, role, kind: Element::Scalar });
    }
    let op = Op::SumSquares(SumSquares { replicas: 1, stride: len as u32, first: 0, length: len as u32 });
    program.steps.push(Step { op, inputs: vec![Buf(0)], outputs: vec![Buf(1)] });
    let error = GpuExecutor::new(program, gpu()).err().expect("refused");
    assert!(matches!(error, Error::Device(_)));
    let text = error.to_string();
    for part in
        ["'activations'", &format!("{} bytes", len * 4), &format!("{most} bytes"), "smaller --batch", "--device cpu"]
    {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

#[test]
fn unknown_adapters_are_refused_by_name() {
    let error = open(Choice::Named("no such adapter".into())).err().expect("refused").to_string();
    assert!(
        error.contains("no such adapter") && error.contains(&gpu().report().name) && error.contains("--device cpu"),
        "{error}"
    );
    let part = &gpu().report().name[..5].to_uppercase();
    assert!(open(Choice::Named(part.clone())).is_ok(), "part of a name, in capitals");
}

/// Sizes that a program cannot have are refused, not executed: the unchecked shaders rest on it.
#[test]
fn short_buffers_are_refused() {
    let forward = LinearForward {
        replicas: 1,
        share: 1,
        rows: 2,
        n_in: 3,
        n_out: 4,
        weight: 0,
        bias: 12,
        stride: 16,
        activation: 0,
    };
    assert!(GpuExecutor::new(one_step(Op::LinearForward(forward), &[6, 16], &[8, 1]), gpu()).is_ok());
    assert!(GpuExecutor::new(one_step(Op::LinearForward(forward), &[5, 16], &[8, 1]), gpu()).is_err());
    let weight =
        LinearBackwardWeight { replicas: 1, share: 1, rows: 2, n_in: 3, n_out: 4, weight: 0, bias: 12, stride: 16 };
    let mut executor =
        GpuExecutor::new(one_step(Op::LinearBackwardWeight(weight), &[6, 8], &[16]), gpu()).expect("an executor");
    assert!(executor.write(Buf(0), &[0.0; 7]).is_err(), "more values than the buffer holds");
}

/// Three steps of a recorded training program, end to end: the errors that each op's bound allows, carried through all of
/// them by the twin, cover what the f32 executors do. SGD, because Adam divides by what may be zero within its error.
#[test]
fn a_training_program_agrees() {
    let toy = toy(2, &[7, 5], false);
    let args: Vec<_> = toy.args(0..3).into_iter().map(|a| StepArgs { clip_norm: 1.0, ..a }).collect();
    let mut oracle = CpuExecutor::<Bounded>::new(toy.program.clone());
    for (buf, values) in &toy.start {
        oracle.set(*buf, &values.iter().map(|v| Bounded::exact(*v)).collect::<Vec<_>>());
    }
    drawn_error(rows::NORMALS.0, rows::NORMALS.1);
    args.iter().for_each(|a| oracle.step(&bounded_args(a)));
    drawn_error(0.0, 0.0);
    let mut cpu = CpuExecutor::<f32>::new(toy.program.clone());
    let mut gpu = GpuExecutor::new(toy.program.clone(), gpu()).expect("an executor");
    for (name, executor) in [("CPU f32", &mut cpu as &mut dyn Executor), ("GPU", &mut gpu)] {
        toy.load(executor);
        executor.run(&args).expect("three steps");
        for (what, buf) in [("sums", toy.sums), ("weights", toy.weights)] {
            let want: Vec<f64> = oracle.get(buf).iter().map(|b| b.value).collect();
            let bounds: Vec<f64> = oracle.get(buf).iter().map(|b| SLACK * b.error).collect();
            let got = executor.read(buf).expect("a read");
            let report = compare(&format!("{name} {what}"), &got, &want, Tolerance::Each(&bounds))
                .unwrap_or_else(|e| panic!("{e}"));
            let (size, bound) = (want[report.at].abs(), bounds[report.at]);
            println!("{name} {what}: {:.5} of the tolerance, which is {bound:.1e} on {size:.1e}", report.share);
        }
    }
}

/// Adam on the whole toy: a run repeats itself bit for bit, and steps cut into other submits are the same steps. With
/// the kernels of a software adapter and with those of hardware, whose parts are added in a fixed order.
#[test]
fn a_repeated_run_is_bit_equal() {
    let toy = toy(1, &[50; 5], true);
    let hardware = Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")).as_hardware());
    for gpu in [gpu(), hardware] {
        let run = |cuts: &[u32]| {
            let mut executor = GpuExecutor::new(toy.program.clone(), gpu.clone()).expect("an executor");
            toy.load(&mut executor);
            for c in cuts.windows(2) {
                executor.run(&toy.args(c[0]..c[1])).expect("some steps");
            }
            [toy.weights, toy.sums]
                .map(|b| executor.read(b).expect("a read").into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let whole = run(&[0, 40]);
        assert_eq!(whole, run(&[0, 40]), "repeated");
        assert_eq!(whole, run(&[0, 1, 7, 40]), "in three calls");
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

/// auto and --device gpu never take a software adapter; without hardware the message says what to do.
#[test]
fn hardware_means_hardware() {
    match open(Choice::Hardware) {
        Ok(gpu) => assert!(!gpu.report().is_software()),
        Err(e) => assert!(matches!(e, Error::Device(_)) && e.to_string().contains("--device cpu"), "{e}"),
    }
    assert!(adapters().iter().any(|a| a.is_software() && !a.backend.is_empty() && a.max_storage_buffers >= 8));
}
