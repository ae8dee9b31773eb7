//! `vifo reproduce tables`: the default of `vifo fit` on the UCI sets beside other tools.

use super::progress::{Progress, Style, duration, stopped};
use super::reproduce::{Args, stop};
use super::{say, show, tell};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::study::reproduce::tools::{Outcome, Prepared, ToolsEvent, ToolsRequest, Words, prepare};
use crate::train::{Ending, Flow};

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut prepared = prepare(ToolsRequest::new(&words(args)?)?)?;
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
            let found = format!("{n} of its splits failed and are left out of the tables");
            Err(Error::run("tables", found, "see the messages above").into())
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
    ];
    if let Some((flag, _)) = no_part.iter().find(|(_, given)| *given) {
        let allowed = "--datasets, --methods, --splits, --seeds, --peers, --members, --epochs, --batch";
        return Err(Error::usage(*flag, "has no meaning for tables", allowed, "leave it out"));
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
fn announce(p: &Prepared, device: &Device, dry_run: bool, style: Style) -> Result<()> {
    let left = p.todo();
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut text = format!("tables: {}", counted(p.units.len(), "set"));
    if left == 0 {
        text += ": all splits done";
    } else if p.request.no_train {
        text += &format!("; {} missing; nothing is trained", counted(left, "split"));
    } else if dry_run || style == Style::Normal {
        let seconds = p.estimate(device, &mut || !stopped())?;
        text += &format!("; {} to train: at most about {}", counted(left, "split"), duration(seconds));
    }
    if dry_run {
        say(&text);
        p.titles().iter().for_each(|title| say(&format!("  {title}")));
        p.notes.iter().for_each(|n| tell(&format!("note: {n}")));
    } else if style == Style::Normal {
        tell(&text);
    }
    Ok(())
}

fn listen(news: ToolsEvent, progress: &mut Option<Progress>, style: Style) -> Flow {
    match news {
        ToolsEvent::Begins { number, of, what } => {
            *progress = Some(Progress::new(style, &format!("[{number}/{of}] {what},")));
        }
        ToolsEvent::Training(event, notes) => {
            if let Some(progress) = progress {
                return progress.listen(event, notes);
            }
        }
        ToolsEvent::Ended { ending } => {
            if let Some(progress) = progress {
                progress.finish(if ending == Ending::Stopped { "stopped" } else { "done" });
            }
        }
        ToolsEvent::Failed { what, error } => tell(&format!("failed: {what}: {error}")),
    }
    if stopped() { Flow::Stop } else { Flow::Continue }
}
