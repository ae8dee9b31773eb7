//! `vifo reproduce uci`: the benchmark on the UCI sets beside the published numbers.

use super::progress::{Progress, Style, duration, stopped};
use super::reproduce::{Args, stop};
use super::{say, show, tell};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::study::reproduce::uci::{Outcome, Prepared, UciEvent, UciRequest, Words, prepare};
use crate::train::{Ending, Flow};

pub fn run(args: &Args) -> anyhow::Result<()> {
    let request = UciRequest::new(&words(args)?)?;
    let mut prepared = prepare(request)?;
    let style = Style::of(args.quiet, false);
    let device = Device::open(&args.device)?;
    announce(&prepared, &device, args.dry_run, style)?;
    if stopped() {
        stop();
    }
    if args.dry_run {
        return Ok(());
    }
    let mut progress: Option<Progress> = None;
    let outcome = prepared.carry_out(&device, &mut |news| listen(news, &mut progress, style))?;
    if outcome == Outcome::Stopped {
        stop();
    }
    let report = prepared.report()?;
    show(&report.render(args.format), args.format);
    if style == Style::Normal {
        report.notes.iter().for_each(|n| tell(&format!("note: {n}")));
    }
    for (figure, _) in &report.figures {
        tell(&format!("figure {} (and .png)", figure.display()));
    }
    match outcome {
        Outcome::Failed(n) => {
            let found = format!("{n} of its methods and sets failed and are left out of the table");
            Err(Error::run("uci", found, "see the messages above").into())
        }
        _ => Ok(()),
    }
}

fn words(args: &Args) -> Result<Words> {
    let no_part = [
        ("--limit", args.limit.is_some()),
        ("--networks", args.networks.is_some()),
        ("--eta-aux", args.eta_aux.is_some()),
        ("--ood", !args.ood.is_empty()),
        ("--no-train", args.no_train),
        ("--peers", args.peers.is_some()),
    ];
    if let Some((flag, _)) = no_part.iter().find(|(_, given)| *given) {
        let allowed = "--datasets, --methods, --splits, --seeds, --members, --epochs, --batch";
        return Err(Error::usage(*flag, "has no meaning for uci", allowed, "leave it out"));
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
    })
}

/// How many splits there are to train, and how long that takes at most.
fn announce(p: &Prepared, device: &Device, dry_run: bool, style: Style) -> Result<()> {
    let left = p.todo();
    let rows = p.units.len();
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (sets, methods) = (counted(p.sources.len(), "set"), counted(p.request.methods.len(), "method"));
    let mut text = format!("uci: {sets}, {methods}");
    if left == 0 {
        text += ": all splits done";
    } else if dry_run || style == Style::Normal {
        let seconds = p.estimate(device, &mut || !stopped())?;
        let begun = p.units.iter().filter(|u| !u.todo.is_empty()).count();
        text += &format!(
            "; {} to train for {begun} of {}: at most about {}, less where they stop early",
            counted(left, "split"),
            counted(rows, "cell"),
            duration(seconds)
        );
    }
    if dry_run {
        say(&text);
        for unit in p.units.iter().filter(|u| !u.todo.is_empty()) {
            say(&format!(
                "  {}, {} of {} splits",
                unit.title(),
                unit.todo.len(),
                unit.todo.len() + unit.results.splits.len()
            ));
        }
    } else if style == Style::Normal {
        tell(&text);
    }
    Ok(())
}

fn listen(news: UciEvent, progress: &mut Option<Progress>, style: Style) -> Flow {
    match news {
        UciEvent::Begins { number, of, unit, splits } => {
            let many = if splits == 1 { "1 split".to_string() } else { format!("{splits} splits together") };
            *progress = Some(Progress::new(style, &format!("[{number}/{of}] {}, {many},", unit.title())));
        }
        UciEvent::Training(event) => {
            if let Some(progress) = progress {
                return progress.listen(event, &[]);
            }
        }
        UciEvent::Ended { ending } => {
            if let Some(progress) = progress {
                progress.finish(if ending == Ending::Stopped { "stopped" } else { "done" });
            }
        }
        UciEvent::Failed { unit, error } => tell(&format!("failed: {}: {error}", unit.title())),
    }
    if stopped() { Flow::Stop } else { Flow::Continue }
}
