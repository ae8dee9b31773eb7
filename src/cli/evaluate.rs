//! `vifo evaluate`: evaluates a trained run on a test set, a shifted set, corrupted images and out-of-distribution sets.

use super::options::open_run;
use super::{hand_over, say, say_line, shell, show, tell};
use crate::data::corrupt::Corruption;
use crate::exec::Device;
use crate::report::evaluations::corruptions;
use crate::results::Results;
use crate::results::of_sets;
use crate::results::words;
use crate::run::targets;
use crate::tables::Format;
use crate::workflow::evaluate::{EvaluateRequest, evaluate, parse_corruption};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// Table or image set to test on [default: the run's own test rows]
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// New location of the run's own data, if it was moved
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Table or image set from a shifted distribution, with the target (CIFAR-10 against STL-10: classes are matched)
    #[arg(long, value_name = "FILE")]
    shift: Option<PathBuf>,
    /// Rows or images unlike the training ones; the target may be absent (repeat for more)
    #[arg(long, value_name = "FILE")]
    ood: Vec<PathBuf>,
    /// Corrupt the test images: a name such as fog, with a severity (fog:3) or all five; all = the 13 of CIFAR-10-C that need
    /// no other pictures (repeat for more)
    #[arg(long, value_name = "NAME[:1-5]")]
    corrupt: Vec<String>,
    /// Accept files of the run that were edited or replaced since vifo wrote them
    #[arg(long)]
    accept_changed: bool,
    /// auto, cpu, gpu, gpu:1, gpu:0,gpu:1, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    device: String,
    /// Lines to skip at the top of the named files [default: as in training]
    #[arg(long, value_name = "N")]
    skip_lines: Option<usize>,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Results as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = open_run(&args.run, args.accept_changed)?;
    let mut corrupt: Vec<(Corruption, u8)> = vec![];
    for text in &args.corrupt {
        for one in parse_corruption(text)? {
            if !corrupt.contains(&one) {
                corrupt.push(one);
            }
        }
    }
    let device = Device::open(&args.device)?;
    let request = EvaluateRequest {
        data: args.data.clone(),
        test: args.test.clone(),
        shift: args.shift.clone(),
        ood: args.ood.clone(),
        corrupt,
        skip_lines: args.skip_lines,
    };
    let quiet = args.json || request.corrupt.len() < 6;
    let done = evaluate(&folder, &device, &request, &mut |what| {
        if !quiet {
            tell(what);
        }
    })?;
    for note in &done.notes {
        tell(&format!("note: {}", note.trim_end_matches('.')));
    }
    if args.json {
        hand_over(&serde_json::to_string(&done.results)?);
        return Ok(());
    }
    let of_run = |note: &str| words::with_run(note, &shell(&args.run));
    let method = folder.recipe()?.method.name;
    if args.format != Format::Text {
        // These are there to be piped: the table alone.
        let sets: Vec<&Results> = done.results.iter().collect();
        show(&of_sets(&sets, &method, args.format).render(args.format), args.format);
        for r in &sets {
            r.notes.iter().for_each(|note| tell(&format!("note: {}: {}", r.set, of_run(note))));
        }
        done.figures.iter().for_each(|(f, caption)| tell(&format!("figure {}: {caption}", f.display())));
        return Ok(());
    }
    let of = |r: &Results| request.corrupt.iter().find(|(k, s)| r.set == format!("{k}.{s}"));
    for r in done.results.iter().filter(|r| of(r).is_none()) {
        say_line(&format!("{}: {} rows", r.set, r.rows));
        let names = targets::merged_names(r);
        if names.len() < 2 {
            say(&r.table(&method).render(Format::Text));
        } else {
            for (name, own) in names.iter().zip(targets::apart(r, &names)) {
                say_line(&format!("target {name}"));
                say(&own.table(&method).render(Format::Text));
            }
        }
        for note in &r.notes {
            tell(&format!("note: {}", of_run(note)));
        }
    }
    let corrupted: Vec<&Results> = done.results.iter().filter(|r| of(r).is_some()).collect();
    if !corrupted.is_empty() {
        say(&format!("corrupted test images: {} rows each", corrupted[0].rows));
        say(&corruptions(&corrupted).render(Format::Text));
    }
    for (figure, caption) in &done.figures {
        say_line(&format!("figure {}: {caption}", figure.display()));
    }
    Ok(())
}
