//! `vifo reproduce`: a table of the paper beside the published numbers; trains and evaluates missing runs.

use super::progress::{Progress, Style, duration, stopped};
use super::{say, show, tell};
use crate::exec::Device;
use crate::study::reproduce::{
    ALL, All, Outcome, Prepared, ReproduceEvent, ReproduceReport, ReproduceRequest, RunStatus, Words, prepare,
};
use crate::tables::Format;
use crate::train::{Ending, Flow};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "If stopped or killed, the same command resumes. Start small: `vifo reproduce nll --datasets digits --epochs 2 --limit 100 --seeds 2` needs no data; `vifo reproduce uci --data FOLDER --datasets yacht --methods vifo-mean,base` takes seconds; `vifo reproduce tables --data FOLDER --datasets yacht --splits 2` takes a minute."
)]
pub struct Args {
    /// table1 (run time), table2 (single and ensemble), nll, accuracy, ece, entropy, auroc, win-rates, learning-curves or
    /// ensemble-size; all of these on one page; uci, the benchmark on the UCI regression sets by its protocol; or tables, the
    /// default of `vifo fit` on these sets beside CatBoost, LightGBM and others
    #[arg(value_name = "TABLE")]
    pub table: String,
    /// Folder of runs; the name of each run includes its scale
    #[arg(long, value_name = "FOLDER", default_value = "runs/reproduce")]
    pub runs: PathBuf,
    /// Folder of the data sets, each under its name. Images: cifar10 (or cifar-10-batches-bin), cifar100, svhn, stl10.
    /// uci, tables: concrete, energy, ..., each with data.csv and test_index.txt (one line per split: the 0-based test rows)
    #[arg(long, value_name = "FOLDER", default_value = "data")]
    pub data: PathBuf,
    /// Passes over the training rows [default: 500; uci: 200, or more for small sets; tables: as vifo fit]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub epochs: Option<String>,
    /// Train on N images only, drawn at random
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub limit: Option<String>,
    /// Rows per step [default: 512; uci: 32; tables: as vifo fit]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch: Option<String>,
    /// Seeds: how many, or which: 1,2,3 [default: 5; uci, tables: 1]
    #[arg(long, value_name = "N|N,N", allow_hyphen_values = true)]
    pub seeds: Option<String>,
    /// uci: how many of the splits, or which: 0,1,2 [default: all]. tables: how many from 3 on, or which: 3,4 [default: all
    /// from 3 on]
    #[arg(long, value_name = "N|N,N", allow_hyphen_values = true)]
    pub splits: Option<String>,
    /// Networks per ensemble; except for uci, VI is a single network, as in the paper [default: 5; tables: as vifo fit]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub members: Option<String>,
    /// Networks: alexnet, preresnet, cnn, mlp [default: the table's; cnn for digits]
    #[arg(long, value_name = "NAME,NAME")]
    pub networks: Option<String>,
    /// cifar10, cifar100, svhn, stl10, digits (bundled); uci, tables: yacht, energy, concrete, wine, power, kin8nm, naval,
    /// protein [default: the table's; uci, tables: those found in --data]
    #[arg(long, value_name = "NAME,NAME")]
    pub datasets: Option<String>,
    /// Methods, by vifo's or the paper's names, such as base or SGD; tables: the other tools, such as cb,rf [default: the table's]
    #[arg(long, value_name = "NAME,NAME")]
    pub methods: Option<String>,
    /// tables: figures of other tools on the same splits, as bench/tables/uci_peers.py makes them [default: those in the program]
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Weights of auxiliary training to train VIFO with [default: 0,0.1 or the table's]
    #[arg(long, value_name = "X,X", allow_hyphen_values = true)]
    pub eta_aux: Option<String>,
    /// Another out-of-distribution set (repeat for more)
    #[arg(long, value_name = "NAME=FOLDER")]
    pub ood: Vec<String>,
    /// auto, cpu, gpu, gpu:1, gpu:0,gpu:1, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    pub device: String,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Show what would be trained and how long it takes, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Do not train, time or evaluate: tables and figures of finished runs, beside the paper's
    #[arg(long)]
    pub no_train: bool,
    /// Print the table only, no progress
    #[arg(long, short)]
    pub quiet: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let _saves = crate::system::stop::hold();
    match made(args) {
        // Broken off while data were read: nothing is lost.
        Err(e) if matches!(e.downcast_ref(), Some(crate::error::Error::Stopped(_))) => stop(),
        made => made,
    }
}

fn made(args: &Args) -> anyhow::Result<()> {
    if args.table.eq_ignore_ascii_case("uci") {
        return super::benchmark::uci(args);
    }
    if args.table.eq_ignore_ascii_case("tables") {
        return super::benchmark::tables(args);
    }
    let no_part = |flag: &str, why: &str, of: &str| crate::error::Error::usage(flag, why, of, "leave it out");
    if args.peers.is_some() {
        return Err(no_part("--peers", "the paper's numbers are in the program", "for tables").into());
    }
    if args.splits.is_some() {
        return Err(no_part("--splits", "image sets have one split", "for uci and tables").into());
    }
    if args.table.eq_ignore_ascii_case(ALL) {
        return all(args);
    }
    let prepared = prepare(ReproduceRequest::new(&words(args))?)?;
    let style = Style::of(args.quiet, false);
    prepared.notes.iter().for_each(|n| note(n, style));
    let device = Device::open(&args.device)?;
    announce(&prepared, &device, args.dry_run, style)?;
    if stopped() {
        stop();
    }
    if args.dry_run {
        return Ok(());
    }
    let (_, _, failed) = make(prepared, &device, args, style)?;
    match failed {
        0 => Ok(()),
        n => Err(failure(&args.table, n).into()),
    }
}

fn note(text: &str, style: Style) {
    if style == Style::Normal {
        tell(&format!("note: {text}"));
    }
}

fn failure(table: &str, runs: usize) -> crate::error::Error {
    let found = format!("{runs} of its runs failed and are left out of the table");
    crate::error::Error::run(table, found, "see the messages above")
}

/// Every table that the sets can make, and a page of them all.
fn all(args: &Args) -> anyhow::Result<()> {
    let all = All::new(&words(args))?;
    let looked_up = all.prepare()?;
    let style = Style::of(args.quiet, false);
    let mut said: Vec<&String> = vec![];
    for text in looked_up.iter().flat_map(|p| &p.notes) {
        if !said.contains(&text) {
            said.push(text);
            note(text, style);
        }
    }
    all.left_out.iter().for_each(|(name, why)| note(&format!("{name} left out: {why}"), style));
    let device = Device::open(&args.device)?;
    for prepared in looked_up.iter().filter(|_| args.dry_run) {
        announce(prepared, &device, true, style)?;
        if stopped() {
            stop();
        }
    }
    if args.dry_run {
        return Ok(());
    }
    let (mut made, mut failed) = (vec![], 0);
    for request in &all.tables {
        // Anew: the tables before have trained runs that this one needs.
        let prepared = prepare(request.clone())?;
        announce(&prepared, &device, false, style)?;
        let (prepared, report, n) = make(prepared, &device, args, style)?;
        failed += n;
        made.push((prepared, report));
    }
    let name = match &device {
        Device::Cpu => "CPU".into(),
        Device::Gpu(gpu) => gpu.describe(),
        Device::Several(gpus) => gpus.iter().map(|gpu| gpu.describe()).collect::<Vec<_>>().join(" and "),
        Device::Auto(gpu) => format!("CPU or {}, as suits each run", gpu.describe()),
    };
    let page = all.write(&made, &name)?;
    tell(&format!("page {}", page.display()));
    match failed {
        0 => Ok(()),
        n => Err(failure(ALL, n).into()),
    }
}

/// Trains what is missing and shows the table; how many runs failed.
fn make(
    mut prepared: Prepared,
    device: &Device,
    args: &Args,
    style: Style,
) -> anyhow::Result<(Prepared, ReproduceReport, usize)> {
    let mut progress: Option<Progress> = None;
    let mut listen = |news: ReproduceEvent| listen(news, &mut progress, style);
    let outcome = prepared.carry_out(device, &mut listen)?;
    if outcome == Outcome::Stopped {
        stop();
    }
    let report = match prepared.report(device, &mut listen) {
        Err(_) if stopped() => stop(),
        report => report?,
    };
    show(&report.render(args.format), args.format);
    report.notes.iter().for_each(|n| note(n, style));
    for (figure, _) in &report.figures {
        tell(&format!("figure {} (and .png)", figure.display()));
    }
    let failed = if let Outcome::Failed(n) = outcome { n } else { 0 };
    Ok((prepared, report, failed))
}

fn words(args: &Args) -> Words {
    let or = |given: &Option<String>, default: &str| given.clone().unwrap_or_else(|| default.into());
    Words {
        table: args.table.clone(),
        runs: args.runs.clone(),
        data: args.data.clone(),
        epochs: or(&args.epochs, "500"),
        limit: args.limit.clone(),
        batch: or(&args.batch, "512"),
        seeds: or(&args.seeds, "5"),
        members: or(&args.members, "5"),
        networks: args.networks.clone(),
        sets: args.datasets.clone(),
        methods: args.methods.clone(),
        eta_aux: args.eta_aux.clone(),
        ood: args.ood.clone(),
        device: args.device.clone(),
        no_train: args.no_train,
    }
}

/// How many runs there are, how many are done, and how long the rest will take.
fn announce(p: &Prepared, device: &Device, dry_run: bool, style: Style) -> crate::error::Result<()> {
    let todo = p.todo();
    let begun = match todo.iter().filter(|r| matches!(r.state, RunStatus::Stopped { .. })).count() {
        0 => String::new(),
        n => format!(", {n} begun"),
    };
    let (all, left) = (p.runs.len(), todo.len());
    let (name, times) = (p.request.table.name, p.times());
    let mut text = match all {
        0 if times => format!("{name}: times steps and trains nothing"),
        0 => format!("{name}: nothing to train"),
        1 => format!("{name}: 1 run, {} done{begun}", 1 - left),
        _ => format!("{name}: {all} runs, {} done{begun}", all - left),
    };
    if p.request.no_train {
        if style == Style::Normal {
            tell(&format!("{name}: {} of {all} runs are there; nothing is trained", all - left));
        }
        return Ok(());
    }
    if (left > 0 || times) && (dry_run || style == Style::Normal) {
        let e = p.estimate(device, &mut || !stopped())?;
        let about = duration(e.seconds);
        let kinds = if e.kinds == 1 { "1 kind".into() } else { format!("{} kinds", e.kinds) };
        text += &match times {
            true => format!(": about {about}"),
            false => format!(
                "; {left} to train: about {about} ({} steps, {kinds} of them timed), and then the evaluation",
                e.steps
            ),
        };
    }
    if dry_run {
        say(&text);
        for run in &todo {
            let from = if let RunStatus::Stopped { epoch } = run.state {
                format!(", from epoch {epoch}")
            } else {
                String::new()
            };
            say(&format!("  {}{from}", run.title()));
        }
    } else if style == Style::Normal {
        tell(&text);
    }
    Ok(())
}

fn listen(news: ReproduceEvent, progress: &mut Option<Progress>, style: Style) -> Flow {
    match news {
        ReproduceEvent::Begins { number, of, run } => {
            *progress = Some(Progress::new(style, &format!("[{number}/{of}] {}", run.title())));
        }
        // What there is to say of the images is the same for every run, and stands in each manifest.
        ReproduceEvent::Training(event, _) => {
            if let Some(progress) = progress {
                return progress.listen(event, &[]);
            }
        }
        ReproduceEvent::Ended { ending } => {
            if let Some(progress) = progress {
                progress.finish(if ending == Ending::Stopped { "stopped" } else { "done" });
            }
        }
        ReproduceEvent::Failed { run, error } => tell(&format!("failed: {}: {error}", run.title())),
        ReproduceEvent::Evaluates { number, of, run } if style == Style::Normal => {
            tell(&format!("evaluating [{number}/{of}] {}", run.title()));
        }
        ReproduceEvent::Times { what } if style == Style::Normal => tell(&format!("timing {what}")),
        _ => {}
    }
    if stopped() { Flow::Stop } else { Flow::Continue }
}

/// As a shell reports a program ended by Ctrl-C.
pub fn stop() -> ! {
    tell("stopped; the same command resumes");
    std::process::exit(130)
}
