//! `vifo bench`: parity, then medians, on this machine.

use super::{say, tell};
use crate::exec::Device;
use crate::run::bench;
use crate::run::tables::{Format, TextTable, number};

#[derive(clap::Args)]
pub struct Args {
    /// cpu, gpu, software, auto, or part of an adapter's name
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Seconds a case
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Only cases whose name holds this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Everything as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let device = Device::open(&args.device)?;
    let b = bench::run(&device, args.seconds.clamp(0.05, 600.0), args.only.as_deref())?;
    if args.json {
        say(&serde_json::to_string(&b)?);
        return Ok(());
    }
    tell(&format!("on {}", b.device));
    for (what, error, bound) in &b.parity {
        tell(&format!("parity ok: {what}: {error:.1e} (bound {bound:.0e})"));
    }
    let g = &b.gemm;
    say(&format!(
        "matrix product on the CPU: {:.0} GFLOP/s with one thread, {:.0} with {} at 1024x1024x1024; {:.0} with one at \
         100x50x50 (n = 25 each)\n\n",
        g.one_thread, g.all_threads, g.threads, g.small
    ));
    if let Some(warning) = g.warning() {
        say(&format!("{warning}\n\n"));
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
    say(&(t.render(args.format) + "\n"));
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
        say(&t.render(args.format));
    }
    Ok(())
}
