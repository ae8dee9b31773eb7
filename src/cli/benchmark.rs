//! `vifo reproduce uci` and `vifo reproduce tables`: the benchmarks on the UCI sets.

use super::progress::{Progress, Style, duration, stopped};
use super::reproduce::{Args, stop};
use super::{say, show, tell};
use crate::base::counted::counted;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::study::reproduce::benchmark::{Benchmark, BenchmarkEvent, Words};
use crate::study::reproduce::{tools, uci};
use crate::study::run_set::Outcome;
use crate::train::{Ending, Flow};

/// By the published methods and protocol, beside the published numbers.
pub fn uci(args: &Args) -> anyhow::Result<()> {
    let tables_alone = [("--no-train", args.no_train), ("--peers", args.peers.is_some())];
    run(args, &mut uci::prepare(uci::UciRequest::new(&words(args, "uci", &tables_alone)?)?)?)
}

/// The default of `vifo fit` beside other tools.
pub fn tables(args: &Args) -> anyhow::Result<()> {
    run(args, &mut tools::prepare(tools::ToolsRequest::new(&words(args, "tables", &[])?)?)?)
}

fn run(args: &Args, benchmark: &mut dyn Benchmark) -> anyhow::Result<()> {
    let style = Style::of(args.quiet, false);
    let device = Device::open(&args.device)?;
    announce(benchmark, &device, args.dry_run, style)?;
    if stopped() {
        stop();
    }
    if args.dry_run {
        return Ok(());
    }
    let mut progress: Option<Progress> = None;
    let outcome = benchmark.carry_out(&device, &mut |news| listen(news, &mut progress, style))?;
    if outcome == Outcome::Stopped {
        stop();
    }
    let report = benchmark.report()?;
    show(&report.render(args.format), args.format);
    if style == Style::Normal {
        report.notes.iter().for_each(|n| tell(&format!("note: {n}")));
    }
    for (figure, _) in &report.figures {
        tell(&format!("figure {} (and .png)", figure.display()));
    }
    match outcome {
        Outcome::Failed(n) => {
            let found = format!("{n} of its {} failed and are left out of the tables", benchmark.parts());
            Err(Error::run(args.table.to_lowercase(), found, "see the messages above").into())
        }
        _ => Ok(()),
    }
}

/// `others` are flags that mean something to another benchmark alone.
fn words(args: &Args, name: &str, others: &[(&str, bool)]) -> Result<Words> {
    let of_images = [
        ("--limit", args.limit.is_some()),
        ("--networks", args.networks.is_some()),
        ("--eta-aux", args.eta_aux.is_some()),
        ("--ood", !args.ood.is_empty()),
    ];
    if let Some((flag, _)) = of_images.iter().chain(others).find(|(_, given)| *given) {
        let mut allowed = vec!["--datasets", "--methods", "--splits", "--seeds", "--members", "--epochs", "--batch"];
        if others.is_empty() {
            allowed.push("--peers");
        }
        return Err(Error::usage(*flag, format!("has no meaning for {name}"), allowed.join(", "), "leave it out"));
    }
    Ok(Words {
        runs: args.runs.clone(),
        data: args.data.clone(),
        sets: args.datasets.clone(),
        methods: args.methods.clone(),
        splits: args.splits.clone(),
        seeds: args.seeds.clone(),
        members: args.members.clone(),
        epochs: args.epochs.clone(),
        batch: args.batch.clone(),
        device: args.device.clone(),
        peers: args.peers.clone(),
        no_train: args.no_train,
    })
}

/// How many splits there are to train, and how long that takes at most.
fn announce(b: &dyn Benchmark, device: &Device, dry_run: bool, style: Style) -> Result<()> {
    let left = b.todo();
    let mut text = b.heading();
    if left == 0 {
        text += ": all splits done";
    } else if !b.trains() {
        text += &format!("; {} missing; nothing is trained", counted(left, "split"));
    } else if dry_run || style == Style::Normal {
        let time = duration(b.estimate(device, &mut || !stopped())?);
        let splits = counted(left, "split");
        text += &format!("; {splits} to train{}: at most about {time}, less where they stop early", b.scope());
    }
    if dry_run {
        say(&text);
        b.plan().iter().for_each(|line| say(&format!("  {line}")));
        b.notes().iter().for_each(|n| tell(&format!("note: {n}")));
    } else if style == Style::Normal {
        tell(&text);
    }
    Ok(())
}

fn listen(news: BenchmarkEvent, progress: &mut Option<Progress>, style: Style) -> Flow {
    match news {
        BenchmarkEvent::Begins { number, of, what } => {
            *progress = Some(Progress::new(style, &format!("[{number}/{of}] {what},")));
        }
        BenchmarkEvent::Training(event, notes) => {
            if let Some(progress) = progress {
                return progress.listen(event, notes);
            }
        }
        BenchmarkEvent::Ended { ending } => {
            if let Some(progress) = progress {
                progress.finish(if ending == Ending::Stopped { "stopped" } else { "done" });
            }
        }
        BenchmarkEvent::Failed { what, error } => tell(&format!("failed: {what}: {error}")),
    }
    if stopped() { Flow::Stop } else { Flow::Continue }
}
