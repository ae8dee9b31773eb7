//! `vifo bench`: parity, then medians, on this machine.

use super::{hand_over, say, show, tell};
use crate::base::simd::Isa;
use crate::bench;
use crate::error::Error;
use crate::exec::Device;
use crate::exec::gpu::model::CARDS;
use crate::study::reproduce::mapping::network_names;
use crate::study::reproduce::{self};
use crate::tables::{Format, TextTable, number};

#[derive(clap::Args)]
pub struct Args {
    /// methods = the cost of each method relative to a plain network; all other cases if absent
    what: Option<What>,
    /// Network of `bench methods`: alexnet, preresnet, cnn, mlp
    #[arg(long, default_value = "alexnet")]
    net: String,
    /// cpu, gpu, gpu:1, gpu:0,gpu:1, software, auto, or part of an adapter's name
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Seconds per case
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Kernels of a processor without larger vector instructions: sse2, avx2, avx512
    #[arg(long, value_name = "ISA")]
    isa: Option<String>,
    /// What a step of each case asks of a GPU: dispatches, bytes, operations, and the time that they take at the least on some
    /// cards. Counted, not measured: no GPU is needed. With --only the kernels, too
    #[arg(long, conflicts_with_all = ["json", "what"])]
    explain: bool,
    /// How long each kernel of a step takes on the GPU of --device, by its own clock; image networks where --only names them
    #[arg(long, conflicts_with_all = ["explain", "json", "what"])]
    profile: bool,
    /// Only cases whose name contains this; app = the cost of a frame of the app
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Everything as one JSON line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    Methods,
}

/// One line per method.
fn methods(args: &Args) -> anyhow::Result<()> {
    let net = reproduce::mapping::NETWORKS.into_iter().find(|n| network_names(*n).0 == args.net).ok_or_else(|| {
        let names = reproduce::mapping::NETWORKS.map(|n| network_names(n).0).join(", ");
        Error::usage("--net", format!("{:?}", args.net), names, "choose one of them")
    })?;
    let device = Device::open(&args.device)?;
    let b = bench::methods::run(&device, args.seconds.clamp(0.05, 600.0), net)?;
    if args.json {
        hand_over(&serde_json::to_string(&b)?);
        return Ok(());
    }
    tell(&format!("on {}: {}, 128 images per step, medians of {} rounds", b.device, b.network, b.rounds));
    let mut t = TextTable::new(&[
        "method",
        "ms/step",
        "step / base",
        "step / base in the paper",
        "ms/prediction",
        "prediction / base",
        "extra work at the end, in steps",
    ]);
    for c in &b.costs {
        t.rows.push(vec![
            c.method.clone(),
            format!("{:.2}", c.step_ms),
            format!("{:.2}", c.step_ratio),
            c.paper.map_or(String::new(), |p| format!("{p:.2}")),
            format!("{:.2}", c.predict_ms),
            format!("{:.2}", c.predict_ratio),
            format!("{:.1}", c.end_steps),
        ]);
    }
    show(&t.render(args.format), args.format);
    let prose = prose(args.format);
    prose(
        "\nsingle networks beside a plain one; ensembles of 5 beside 5 plain ones; the paper's ratios are of epochs (Table 1); the work at the end follows the last step (averages and their statistics, a posterior)",
    );
    Ok(())
}

/// --isa, for all that follows.
fn limit(isa: &str) -> Result<(), Error> {
    let here: Vec<&Isa> = Isa::ALL.iter().filter(|isa| isa.is_here()).collect();
    let short = |isa: &Isa| isa.name().to_lowercase().replace('-', "");
    match here.iter().find(|set| short(set) == isa.to_lowercase().replace('-', "")) {
        Some(set) => set.use_at_most(),
        None => {
            let names = here.into_iter().map(short).collect::<Vec<_>>().join(", ");
            return Err(Error::usage(
                "--isa",
                format!("{isa:?}"),
                format!("what this processor has: {names}"),
                "choose one of them",
            ));
        }
    }
    Ok(())
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(isa) = &args.isa {
        limit(isa)?;
    }
    if args.explain {
        return explain(args);
    }
    if args.profile {
        return profile(args);
    }
    if args.what == Some(What::Methods) {
        return methods(args);
    }
    if args.only.as_deref() == Some("app") {
        say(&app_frame(args.seconds));
        return Ok(());
    }
    let device = Device::open(&args.device)?;
    let b = bench::run(&device, args.seconds.clamp(0.05, 600.0), args.only.as_deref())?;
    if args.json {
        hand_over(&serde_json::to_string(&b)?);
        return Ok(());
    }
    tell(&format!("on {}", b.device));
    for (what, error, bound) in &b.parity {
        tell(&format!("parity ok: {what}: {error:.1e} (bound {bound:.0e})"));
    }
    let g = &b.gemm;
    let prose = prose(args.format);
    prose(&format!(
        "matrix product on the CPU ({}): {:.0} GFLOP/s with one thread, {:.0} with {} at 1024x1024x1024; {:.0} with one at \
         100x50x50 (n = 25 each)\n\n",
        g.isa, g.one_thread, g.all_threads, g.threads, g.small
    ));
    if let Some(warning) = g.warning() {
        prose(&format!("{warning}\n\n"));
    }
    let mut t =
        TextTable::new(&["case", "what", "median ms/step", "quartiles", "rounds", "GFLOP/s", "share of GEMM rate"]);
    for c in &b.timings {
        t.rows.push(vec![
            c.name.clone(),
            c.what.clone(),
            format!("{:.4}", c.median_ms),
            format!("{:.4}..{:.4}", c.low_ms, c.high_ms),
            c.rounds.to_string(),
            number(c.gflops),
            format!("{:.0} %", 100.0 * c.gflops / g.all_threads),
        ]);
    }
    show(&(t.render(args.format) + "\n"), args.format);
    let mut t = TextTable::new(&["ratio (median over rounds)", "value", "bound", ""]);
    for (name, value, bound) in &b.ratios {
        let (bound, verdict) = if bound.is_finite() {
            (number(*bound), if value <= bound { "holds" } else { "does not hold in this run" })
        } else {
            (String::new(), "")
        };
        t.rows.push(vec![name.clone(), number(*value), bound, verdict.into()]);
    }
    if !t.rows.is_empty() {
        show(&t.render(args.format), args.format);
    }
    if args.only.is_none() {
        prose(&format!("\n{}", app_frame(args.seconds)));
    }
    Ok(())
}

/// One line per case, and with --only one per kernel.
fn explain(args: &Args) -> anyhow::Result<()> {
    let all = bench::explain::explain(args.only.as_deref())?;
    let cards = CARDS.map(|card| format!("{}, ms", card.name));
    let head = ["case", "ops", "dispatches", "MB moved", "GFLOP"];
    let mut t = TextTable::new(&head.into_iter().chain(cards.iter().map(String::as_str)).collect::<Vec<_>>());
    for case in &all {
        let counts = [case.ops, case.dispatches.len()].map(|n| n.to_string());
        let sizes = [case.bytes() / 1e6, case.flops() / 1e9].map(number);
        let times = case.milliseconds().map(number);
        t.rows.push([case.name.to_string()].into_iter().chain(counts).chain(sizes).chain(times).collect());
    }
    show(&t.render(args.format), args.format);
    for case in all.iter().filter(|_| args.only.is_some()) {
        let mut t = TextTable::new(&["kernel", "dispatches", "workgroups", "MB moved", "GFLOP"]);
        for (n, k) in case.kernels() {
            let sizes = [k.bytes / 1e6, k.flops / 1e9].map(number);
            let counts = [n.to_string(), k.groups.to_string()];
            t.rows.push([k.kernel].into_iter().chain(counts).chain(sizes).collect());
        }
        prose(args.format)(&format!("\n{}", case.name));
        show(&t.render(args.format), args.format);
    }
    prose(args.format)(
        "\na time is the start of each dispatch and the longer of its operations and its bytes at rates of the card that such kernels \
         reach; waiting for memory within a workgroup is not counted",
    );
    Ok(())
}

/// A table per case, one line per kernel.
fn profile(args: &Args) -> anyhow::Result<()> {
    let gpu = match Device::open(&args.device)? {
        Device::Gpu(gpu) | Device::Auto(gpu) => gpu,
        Device::Several(mut gpus) => gpus.swap_remove(0),
        Device::Cpu => {
            let help = "add --device gpu, or profile the CPU with your system's profiler";
            return Err(
                Error::usage("--profile", "the CPU has no such clock", "a GPU, or --device software", help).into()
            );
        }
    };
    tell(&format!("on {}", gpu.describe()));
    for case in bench::explain::profile(&gpu, args.only.as_deref())? {
        let total: f64 = case.kernels.iter().map(|k| k.2).sum();
        prose(args.format)(&format!("\n{}: {:.3} ms in kernels", case.name, 1e3 * total));
        let mut t = TextTable::new(&["kernel", "dispatches", "ms", "share", "GFLOP/s", "GB/s"]);
        for (n, k, seconds) in &case.kernels {
            let rate = |amount: f64| if *seconds > 0.0 { number(amount / seconds / 1e9) } else { "-".into() };
            let share = format!("{:.0} %", 100.0 * seconds / total.max(1e-12));
            let time = format!("{:.4}", 1e3 * seconds);
            t.rows.push(vec![k.kernel.clone(), n.to_string(), time, share, rate(k.flops), rate(k.bytes)]);
        }
        show(&t.render(args.format), args.format);
    }
    Ok(())
}

/// Words beside a table: with it for people, apart from it where a program reads.
fn prose(format: Format) -> fn(&str) {
    if format == Format::Text { say } else { |text| tell(text.trim()) }
}

/// What a frame of the app costs its UI thread with long learning curves.
#[cfg(feature = "app")]
fn app_frame(seconds: f64) -> String {
    const POINTS: usize = 100_000;
    const BOUND_MS: f64 = 4.0;
    let ms = crate::gui::bench::frame_ms(POINTS, seconds.clamp(0.05, 60.0));
    let at = |share: f64| ms[((ms.len() - 1) as f64 * share) as usize];
    let verdict = if at(0.5) <= BOUND_MS { "holds" } else { "does not hold in this run" };
    format!(
        "app, UI thread: 5 learning curves of {POINTS} points each: {:.2} ms per frame (quartiles {:.2}..{:.2}, {} frames; bound {BOUND_MS} ms: {verdict})",
        at(0.5),
        at(0.25),
        at(0.75),
        ms.len()
    )
}

#[cfg(not(feature = "app"))]
fn app_frame(_seconds: f64) -> String {
    "app: not in this build".into()
}
