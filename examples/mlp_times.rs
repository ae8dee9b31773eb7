//! Times a step of small networks on a GPU, or a software adapter, by each way there is: op by op as it was recorded, layers joined in
//! passes, and many steps in a dispatch. In turn within one process, so that a noisy machine is unfair to none; medians of the rounds
//! and of their ratios. Weights are compared after three steps.
//!
//! `cargo run --release --example mlp_times -- [--device NAME] [--rounds N] [--profile] [PART OF A CASE'S NAME]`

use std::sync::Arc;
use std::time::Instant;
use vifo::exec::Executor;
use vifo::exec::gpu::testing::apart;
use vifo::exec::gpu::{Checks, Choice, Gpu, GpuExecutor, open};
use vifo::ops::Op;
use vifo::ops::StepArgs;
use vifo::ops::gather::GatherRows;
use vifo::ops::head::{GaussianHead, LIKELIHOOD_GAUSSIAN, NOISE_EXP, VifoHead};
use vifo::ops::optimizer::Adam;
use vifo::ops::reduce::{LossReduce, SUM_WORDS, SumSquares};
use vifo::ops::regularizer::{REG_MEAN, SIGMA_SOFTPLUS};
use vifo::ops::step::Prior;
use vifo::program::builder::{LinearAt, Tensor};
use vifo::program::fuse::mlp::{in_passes, joined};
use vifo::program::{Act, Buf, Builder, Program, Role};

/// Members, data sets, rows of each, rows of a batch, inputs, hidden units, whether it is VIFO's head.
struct Case(&'static str, [u32; 5], &'static [u32], bool);

const CASES: [Case; 5] = [
    Case("toy_base", [1, 1, 100, 100, 1], &[50; 5], false),
    Case("toy_vifo", [1, 1, 100, 100, 1], &[50; 5], true),
    // 20 splits of an ensemble of five.
    Case("uci_base", [100, 20, 455, 32, 13], &[50], false),
    Case("uci_vifo", [100, 20, 455, 32, 13], &[50], true),
    Case("uci_one", [1, 1, 455, 32, 13], &[50], false),
];

/// A step as trainings record it: batches in the epoch's order, clipped Adam.
// Long: the step in its order.
fn record(Case(_, [members, sets, n, batch, n_in], hidden, vifo): &Case) -> (Program, Buf, Vec<(Buf, Vec<f32>)>) {
    let (members, sets, n, batch, n_in) = (*members, *sets, *n, *batch, *n_in);
    let sizes: Vec<u32> = [n_in].iter().chain(*hidden).chain(&[if *vifo { 4 } else { 2 }]).copied().collect();
    let p: u32 = sizes.windows(2).map(|s| (s[0] + 1) * s[1]).sum();
    let mut b = Builder::new(members, p);
    let x_all = b.buffer("data.x", (sets * n * n_in) as usize, Role::Input);
    let y_all = b.buffer("data.y", (sets * n) as usize, Role::Input);
    let len = (members * p) as usize;
    let weights = b.buffer("weights", len, Role::State);
    let sums = b.buffer("sums", members as usize * SUM_WORDS, Role::State);
    b.set_weights(weights);
    let gather = |cols| {
        let of_set = if sets > 1 { members / sets } else { 0 };
        let p = GatherRows {
            replicas: members,
            n_rows: n,
            cols,
            batch,
            out_rows: batch,
            shuffle: 1,
            ..bytemuck::Zeroable::zeroed()
        };
        Op::GatherRows(GatherRows { per_set: of_set, ..p })
    };
    let (x, y, share) = if batch == n {
        (x_all, y_all, members)
    } else {
        let x = b.buffer("x", (members * batch * n_in) as usize, Role::Scratch);
        let y = b.buffer("y", (members * batch) as usize, Role::Scratch);
        b.push(gather(n_in), &[x_all], &[x]);
        b.push(gather(1), &[y_all], &[y]);
        (x, y, 1)
    };
    let mut h = Tensor::input(x, members / share, batch, (1, 1, n_in));
    let mut at = 0;
    for (i, s) in sizes.windows(2).enumerate() {
        let place = LinearAt { n_in: s[0], n_out: s[1], weight: at, bias: at + s[0] * s[1] };
        h = b.linear(&format!("layer{i}"), h, place, (i + 2 < sizes.len()).then_some(Act::Relu));
        at += (s[0] + 1) * s[1];
    }
    let terms = b.buffer("terms", (members * batch * 3) as usize, Role::Scratch);
    let dz = b.buffer("dz", h.len(), Role::Scratch);
    let none = b.buffer("none", 1, Role::Input);
    if *vifo {
        let op = VifoHead {
            replicas: members,
            rows: batch,
            data_rows: batch,
            k: 2,
            share,
            likelihood: LIKELIHOOD_GAUSSIAN,
            noise_link: NOISE_EXP,
            sigma_link: SIGMA_SOFTPLUS,
            regularizer: REG_MEAN,
            exact: 1,
            first_replica: 0,
            nu: 0.0,
            constant: 0.0,
        };
        b.push(Op::VifoHead(op), &[h.buf, y, none], &[terms, dz]);
    } else {
        let op = GaussianHead { replicas: members, rows: batch, share, noise_link: NOISE_EXP };
        b.push(Op::GaussianHead(op), &[h.buf, y], &[terms, dz]);
    }
    let grad = b.backward(h, dz);
    let op = LossReduce { members, samples: 1, rows: batch, data_rows: batch, has_extra: 0, extra_scale: 1.0 };
    b.push(Op::LossReduce(op), &[terms, none], &[sums]);
    let norm = b.buffer("norm", members as usize, Role::Scratch);
    b.push(Op::SumSquares(SumSquares { replicas: members, stride: p, first: 0, length: p }), &[grad], &[norm]);
    let (first, second) = (b.buffer("first", len, Role::State), b.buffer("second", len, Role::State));
    let op = Adam { replicas: members, count: p, beta1: 0.9, beta2: 0.999, eps: 1e-8, ..bytemuck::Zeroable::zeroed() };
    b.push(Op::Adam(op), &[grad, norm, none], &[weights, first, second]);
    let waves =
        |n: usize, k: usize, s: f32| (0..n).map(|i| ((i * k) % 1000) as f32 / 500.0 * s - s).collect::<Vec<_>>();
    let start = vec![
        (x_all, waves((sets * n * n_in) as usize, 7919, 1.0)),
        (y_all, waves((sets * n) as usize, 7907, 1.0)),
        (weights, waves(len, 7901, 0.3)),
    ];
    (b.finish().expect("a sound program"), weights, start)
}

fn args(batch: u32, steps: u32) -> Vec<StepArgs<f64>> {
    let of = |s: u32| StepArgs {
        step: s,
        epoch: s / 14,
        batch_start: s % 14 * batch,
        n_valid: batch,
        seed: 5,
        n_samples: 5,
        lr: 1e-3,
        bias1: 1.0 - 0.9f64.powi(s as i32 + 1),
        bias2: 1.0 - 0.999f64.powi(s as i32 + 1),
        clip_norm: 1.0,
        eta: 0.1,
        prior: Prior { p0: 0.3, p1: 1.0, p2: 0.0, constant: 0.5 },
        ..Default::default()
    };
    (0..steps).map(of).collect()
}

/// Seconds that this process has computed, on Linux.
fn processor() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let text = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("schedstat")).ok());
    text.filter_map(|t| t.split_whitespace().next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Names of the ways, and their executors.
type Ways = Vec<(&'static str, GpuExecutor)>;

fn ways(program: &Program, gpu: &Arc<Gpu>) -> vifo::error::Result<Ways> {
    let passes = in_passes(program.clone());
    let mut all = vec![("op by op", apart(program.clone(), gpu.clone(), Checks::Off)?)];
    all.push(("in passes", apart(passes.clone(), gpu.clone(), Checks::Off)?));
    if joined(program.clone()) != passes {
        all.push(("many steps", GpuExecutor::with_checks(program.clone(), gpu.clone(), Checks::Off)?));
    }
    Ok(all)
}

fn main() -> vifo::error::Result<()> {
    let mut words = std::env::args().skip(1);
    let (mut device, mut rounds, mut profile, mut which) = (Choice::Software, 9, false, String::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--device" => device = Choice::named(&words.next().unwrap_or_default()),
            "--rounds" => rounds = words.next().and_then(|n| n.parse().ok()).unwrap_or(rounds),
            "--profile" => profile = true,
            _ => which = word,
        }
    }
    let gpu = Arc::new(open(device)?);
    println!("{}", gpu.describe());
    for case in CASES.iter().filter(|c| c.0.contains(&which)) {
        let (program, weights, start) = record(case);
        let args = args(case.1[3], 256);
        let made = (Instant::now(), processor());
        let mut ways = ways(&program, &gpu)?;
        let time = |executor: &mut GpuExecutor, steps: usize| {
            let (from, before) = (Instant::now(), processor());
            executor.run(&args[..steps])?;
            let read = executor.read(weights)?;
            let took = [from.elapsed().as_secs_f64(), processor() - before].map(|s| 1e3 * s / steps as f64);
            Ok::<_, vifo::error::Error>((took, read))
        };
        let (mut first, mut counts) = (vec![], vec![]);
        for (_, executor) in &mut ways {
            start.iter().try_for_each(|(buf, values)| executor.write(*buf, values))?;
            first.push(time(executor, 3)?.1);
            // A tenth of a second.
            let [one, _] = time(executor, 4)?.0;
            counts.push(((100.0 / one.max(1e-3)) as usize).clamp(4, 256));
        }
        println!(
            "{}: made in {:.1} s, {:.1} s of processor",
            case.0,
            made.0.elapsed().as_secs_f64(),
            processor() - made.1
        );
        let (mut times, mut busy) = (vec![vec![]; ways.len()], vec![vec![]; ways.len()]);
        for _ in 0..rounds {
            for (i, (_, executor)) in ways.iter_mut().enumerate() {
                let [wall, processor] = time(executor, counts[i])?.0;
                times[i].push(wall);
                busy[i].push(processor);
            }
        }
        for (i, (name, executor)) in ways.iter_mut().enumerate() {
            let ratio = |t: &[Vec<f64>]| median(&t[0].iter().zip(&t[i]).map(|(a, b)| a / b).collect::<Vec<_>>());
            let apart = first[0].iter().zip(&first[i]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            println!(
                "  {name:10} {:8.4} ms a step, {:8.4} of processors, {:5.2} and {:5.2} times as fast; weights within {apart:.1e}",
                median(&times[i]),
                median(&busy[i]),
                ratio(&times),
                ratio(&busy)
            );
            if profile {
                let all = executor.profile(&args[..5])?;
                let all: Vec<_> = all.iter().map(|t| format!("{} {:.0}", t.kernel, 1e6 * t.seconds)).collect();
                println!("    us: {}", all.join(", "));
            }
        }
    }
    Ok(())
}
