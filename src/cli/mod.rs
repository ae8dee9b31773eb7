//! The command line: one file per command. Only here and in `main` is anything printed; progress goes to stderr, results to
//! stdout.

mod app;
mod bench;
mod benchmark;
mod calibrate;
mod compare;
mod demo;
mod doctor;
mod evaluate;
mod export;
mod fit;
mod inspect;
mod options;
mod predict;
mod progress;
mod reproduce;
mod score;
mod serve;
mod sweep;
mod theory;

use crate::base::names;
use crate::base::visible::{visible, visible_lines};
use crate::error::Error;
use crate::tables::Format;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

#[derive(Parser)]
#[command(
    name = "vifo",
    version,
    about = "Neural networks whose predictions carry honest uncertainty",
    max_term_width = 110
)]
#[command(
    after_help = "Start with `vifo demo`, then `vifo fit DATA.csv --target COLUMN`. Exit codes: 0 done, 1 the data or the run failed, 2 wrong usage, 130 stopped by Ctrl-C."
)]
struct Args {
    /// Threads of the CPU executor [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Compare base, VIFO, an ensemble and VI on the paper's toy curve: two figures and a table, in half a minute
    Demo(demo::Args),
    /// Train on a table, images, a recipe or a bundled toy data set; writes a run folder
    Fit(Box<fit::Args>),
    /// Calibrate a trained run: temperature scaling, conformal intervals or sets; `predict` uses them
    Calibrate(calibrate::Args),
    /// Predict new rows with a trained run: mean, sd and quantiles, or probabilities and entropy
    Predict(predict::Args),
    /// Evaluate a trained run on other data: a test set, a shifted set, an out-of-distribution set
    Evaluate(evaluate::Args),
    /// Score another tool's predictions with the same metrics and figures
    Score(score::Args),
    /// Compare runs: mean +- sd over seeds, win rates, learning curves
    Compare(compare::Args),
    /// Train a grid over recipe keys and seeds in parallel, locally or with Slurm; ends with one table and figure
    Sweep(Box<sweep::Args>),
    /// Reproduce the paper's tables beside the published numbers: trains missing runs, at any scale
    Reproduce(reproduce::Args),
    /// Export a run: its whole prediction as ONNX, or a network's weights as safetensors with PyTorch's names
    Export(export::Args),
    /// Summarise a table or image set before training
    Inspect(inspect::Args),
    /// Check parity of CPU and GPU, then time ops and training steps on this machine
    Bench(bench::Args),
    /// Report adapters, limits and drivers, run a self-test, and suggest what to install
    Doctor(doctor::Args),
    /// Check the theorems of the VIFO paper numerically, with figures: linear, limit, rademacher
    Theory(theory::Args),
    /// Open the desktop app: live training, predictive bands, your data, runs
    App(app::Args),
}

pub fn run() -> anyhow::Result<()> {
    let given = with_native_paths(Args::command()).try_get_matches().and_then(|m| Args::from_arg_matches(&m));
    let args = given.unwrap_or_else(|e| refuse(&e));
    if let Some(n) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(n)).build_global();
        pool.map_err(|e| Error::run("--threads", e.to_string(), "give a smaller number"))?;
    }
    match args.verb {
        Verb::Demo(a) => demo::run(&a),
        Verb::Fit(a) => fit::run(&a),
        Verb::Calibrate(a) => calibrate::run(&a),
        Verb::Predict(a) => predict::run(&a),
        Verb::Evaluate(a) => evaluate::run(&a),
        Verb::Score(a) => score::run(&a),
        Verb::Compare(a) => compare::run(&a),
        Verb::Sweep(a) => sweep::run(&a),
        Verb::Reproduce(a) => reproduce::run(&a),
        Verb::Export(a) => export::run(&a),
        Verb::Inspect(a) => inspect::run(&a),
        Verb::Bench(a) => bench::run(&a),
        Verb::Doctor(a) => doctor::run(&a),
        Verb::Theory(a) => theory::run(&a),
        Verb::App(a) => app::run(&a),
    }
}

/// Paths with the system's own sign between folders, however they were typed: messages show one kind alone.
fn with_native_paths(command: clap::Command) -> clap::Command {
    use clap::builder::{PathBufValueParser, TypedValueParser};
    let path = std::any::TypeId::of::<PathBuf>();
    let native = |arg: clap::Arg| match arg.get_value_parser().type_id() == path {
        true => arg.value_parser(PathBufValueParser::new().map(|path| names::native(&path))),
        false => arg,
    };
    let is_needed = names::WINDOWS;
    if is_needed { command.mut_args(native).mut_subcommands(with_native_paths) } else { command }
}

/// Help and version print as clap has them; a wrong command line is one line like every other error.
fn refuse(error: &clap::Error) -> ! {
    if !error.use_stderr() || std::env::args_os().len() < 2 {
        written(error.print().and_then(|()| std::io::stdout().flush()));
        std::process::exit(error.exit_code());
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|l| {
        !l.is_empty() && !l.starts_with("Usage:") && !l.starts_with("For more information") && !l.starts_with("tip:")
    });
    let first = lines.next().unwrap_or("error: wrong usage").to_string();
    let mut rest: Vec<String> = lines.map(String::from).collect();
    rest.extend(slip(error));
    let verb = std::env::args().nth(1).filter(|v| !v.starts_with('-') && Args::command().find_subcommand(v).is_some());
    let help = verb.map_or("`vifo --help`".into(), |v| format!("`vifo {v} --help`"));
    let between = if rest.is_empty() || first.ends_with(':') { " " } else { "; " };
    let between = if rest.is_empty() { "" } else { between };
    tell(&format!("{first}{between}{}; see {help}", rest.join("; ")));
    std::process::exit(2)
}

/// What an argument that no verb knows was probably meant to be.
fn slip(error: &clap::Error) -> Option<String> {
    if error.kind() != clap::error::ErrorKind::UnknownArgument {
        return None;
    }
    let words: Vec<String> = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned()).collect();
    let command = Args::command();
    let verb = command.find_subcommand(words.first()?)?;
    let is_flag = |name: &str| verb.get_arguments().any(|arg| arg.get_long() == Some(name));
    let one_dash = |word: &String| {
        let name = word.strip_prefix('-')?.split('=').next()?;
        (!name.starts_with('-') && name.len() > 1 && is_flag(name)).then(|| format!("did you mean --{name}?"))
    };
    let Some(clap::error::ContextValue::String(unknown)) = error.get(clap::error::ContextKind::InvalidArg) else {
        return None;
    };
    match unknown.starts_with('-') {
        true => words.iter().find_map(one_dash).or_else(|| nearest(unknown, verb)),
        false => Some("put names with blanks in quotes".into()),
    }
}

/// The flag that a word with two dashes was probably meant to be: clap's own proposal is often another word of the same letters.
fn nearest(unknown: &str, verb: &clap::Command) -> Option<String> {
    let name = unknown.strip_prefix("--")?.split('=').next()?;
    let near = |flag: &&str| strsim::damerau_levenshtein(flag, name);
    let flags = verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
    let best = flags.min_by_key(near)?;
    // A slip of the fingers, no other word.
    (near(&best) * 3 <= name.len()).then(|| format!("did you mean --{best}?"))
}

/// Prints a result for people: lines of ours. What is in them of files and their names can do nothing to a terminal.
pub(crate) fn say(text: &str) {
    print(&visible_lines(text));
}

/// Prints one line for people, whatever the names in it.
pub(crate) fn say_line(text: &str) {
    print(&visible(text));
}

/// Prints a result for programs, to the byte; to a terminal as `say` does.
pub(crate) fn hand_over(text: &str) {
    if std::io::stdout().is_terminal() { say(text) } else { print(text) }
}

/// Prints a table in the format asked for; CSV is for programs.
pub(crate) fn show(table: &str, format: Format) {
    if format == Format::Csv { hand_over(table) } else { say(table) }
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    written(write!(out, "{text}{newline}").and_then(|()| out.flush()));
}

/// A closed pipe (`vifo inspect data.csv | head`) is no error; a result that is lost (a full disk) is one.
fn written(result: std::io::Result<()>) {
    let Err(e) = result else { return };
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    tell(&format!("error: {}", Error::io(std::path::Path::new("standard output"), "write", &e)));
    std::process::exit(1)
}

/// A path as a shell reads it back, for commands to copy.
pub(crate) fn shell(path: &std::path::Path) -> String {
    crate::base::visible::shell(&path.display().to_string())
}

/// Prints one line for the user to stderr, beside the result. A closed stderr is no error.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible(text));
}
