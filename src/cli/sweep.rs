//! `vifo sweep`: a grid over recipe keys and seeds, trained locally or with Slurm, with one table and one figure at the end.

mod lines;

use self::lines::Lines;
use super::fit::without_effect;
use super::options::input;
use super::progress::{Progress, Style, hear, request_stop, stopped};
use super::{say, say_line, shell, tell};
use crate::error::Error;
use crate::run::Fitted;
use crate::study::sweep::{
    self, Ended, Needs, Outcome, RunStatus, SweepFolder, SweepReport, SweepRequest, SweepRun, Words, carry_out, check,
    jobs, queued, report, run_one, submit, write_script,
};
use crate::tables::Format;
use crate::train::Ending;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "A sweep file is a recipe with a grid:

    recipe = \"moons\"    # a base: built in, a .toml, or data
    seeds = 3           # how many, or which: [1, 2, 3]
    [train]             # recipe keys for all runs
    epochs = 60
    [grid]              # recipe keys and their values
    method.name = [\"base\", \"vifo-mean\"]
    method.eta = [0.1, 1]
    [[without]]         # combinations to leave out
    method.name = \"base\"
    method.eta = 1

Also name, out, jobs = 4, metrics = [\"nll\"], and [slurm] with time, mem, cpus_per_task, partition, account, gres, \
setup = [\"module load ...\"], options = [\"--any=option\"]. If stopped or killed, the same command resumes; \
more values in the grid add runs. Exit code 1 where a run failed: the others are in the table.";

#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = AFTER_HELP
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    sweep: SweepArgs,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Show the progress of a sweep, and write the table and figure of its finished runs
    Collect(CollectArgs),
    /// Train one run of a sweep folder, as a task of a job array does; resumes a stopped run
    Run(RunArgs),
}

#[derive(clap::Args)]
struct SweepArgs {
    /// A sweep file (.toml), the folder of a sweep, or what `vifo fit` takes, with --grid
    #[arg(value_name = "SWEEP", required = true)]
    input: Option<String>,
    /// A recipe key and its values, such as method.eta=0.1,1 (repeat for more)
    #[arg(long, value_name = "KEY=V,V")]
    grid: Vec<String>,
    /// Seeds: how many, or which: 1,2,3 [default: the recipe's seed]
    #[arg(long, value_name = "N|N,N", allow_hyphen_values = true)]
    seeds: Option<String>,
    /// A recipe key for all runs, such as train.epochs=50 (repeat for more)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Folder of the sweep [default: runs/NAME]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Runs in parallel [default: from cores and memory; one if they use a GPU]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// List the runs and their progress, and exit
    #[arg(long)]
    list: bool,
    /// Submit a Slurm job array, one requeue-safe task per run, instead of training here
    #[arg(long, conflicts_with = "list")]
    slurm: bool,
    /// An option of sbatch, such as --slurm-option=--partition=gpu (repeat for more)
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    slurm_option: Vec<String>,
    /// Write the job script and do not submit it
    #[arg(long, requires = "slurm")]
    write_only: bool,
    #[command(flatten)]
    show: Show,
    /// Print the table only, no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(clap::Args)]
struct Show {
    /// Metric to show, such as nll (repeat for more); all = all [default: validation_nll and the main ones of the test]
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct CollectArgs {
    /// Folder of a sweep
    folder: PathBuf,
    #[command(flatten)]
    show: Show,
}

#[derive(clap::Args)]
struct RunArgs {
    /// Folder of a sweep
    folder: PathBuf,
    /// Number of the run, from 1
    number: usize,
    /// Stop when standard input ends
    #[arg(long, hide = true)]
    stop_with_input: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.verb {
        Some(Verb::Collect(a)) => collect(a),
        Some(Verb::Run(a)) => one(a),
        None => whole(&args.sweep),
    }
}

fn whole(args: &SweepArgs) -> anyhow::Result<()> {
    let words = Words {
        input: args.input.clone().unwrap_or_default(),
        grid: args.grid.clone(),
        sets: args.sets.clone(),
        seeds: args.seeds.clone(),
        out: args.out.clone(),
        metrics: args.show.metrics.clone(),
        slurm_options: args.slurm_option.clone(),
    };
    let mut request = SweepRequest::new(&words, &input)?;
    request.jobs = args.jobs.map(usize::from).or(request.jobs);
    let runs = request.runs()?;
    let folder = SweepFolder::look(&request, &runs)?;
    let states = runs.iter().map(|r| folder.state(r)).collect::<crate::error::Result<Vec<_>>>()?;
    if args.list {
        list(&runs, &states);
        return Ok(());
    }
    let style = Style::of(args.quiet, false);
    let todo: Vec<&SweepRun> =
        runs.iter().zip(&states).filter(|(_, s)| **s != RunStatus::Done).map(|(r, _)| r).collect();
    if style == Style::Normal {
        tell(&format!("{}: {}", request.name, counts(&states)));
        effects(&request, &runs);
    }
    let needs = check(&todo, &request.place, &|| !stopped())?;
    if stopped() {
        stop();
    }
    if let Some(job) = queued(&folder) {
        let help = format!("wait for it (`squeue -j {job}`), or end it with `scancel {}`", job.replace(',', " "));
        return Err(Error::run(request.out.display().to_string(), format!("job {job} still works on it"), help).into());
    }
    let lock = folder.claim(&request)?;
    if args.slurm {
        return by_slurm(args, &request, &folder, &todo, &needs);
    }
    let outcome = here(&request, &folder, &todo, &needs, style)?;
    if outcome == Outcome::Stopped {
        stop();
    }
    let r = report(&folder, &request, runs)?;
    drop(lock);
    show(&r, &request.out, args.show.format, style);
    match r.failed.len() {
        0 => Ok(()),
        n => Err(failed(&request.out.display().to_string(), n).into()),
    }
}

fn failed(place: &str, n: usize) -> Error {
    let found = format!("{n} of its runs failed and {} not in the table", if n == 1 { "is" } else { "are" });
    Error::run(place, found, "see the lines above; the same command tries them again")
}

/// "8 runs, 3 done, 1 begun".
fn counts(states: &[RunStatus]) -> String {
    let n = |of: fn(&RunStatus) -> bool| states.iter().filter(|s| of(s)).count();
    let mut text = format!("{} run{}", states.len(), if states.len() == 1 { "" } else { "s" });
    for (n, what) in [
        (n(|s| *s == RunStatus::Done), "done"),
        (n(|s| *s == RunStatus::Training), "training"),
        (n(|s| matches!(s, RunStatus::Stopped { .. })), "begun"),
        (n(|s| matches!(s, RunStatus::Failed(_))), "failed before"),
    ] {
        if n > 0 {
            text += &format!(", {n} {what}");
        }
    }
    text
}

fn list(runs: &[SweepRun], states: &[RunStatus]) {
    let width = runs.iter().map(|r| r.name.len()).max().unwrap_or(0);
    let digits = runs.len().to_string().len();
    for (run, state) in runs.iter().zip(states) {
        say_line(&format!("{:>digits$}  {:width$}  {}", run.number, run.name, in_words(state)));
    }
}

fn in_words(state: &RunStatus) -> String {
    match state {
        RunStatus::Missing | RunStatus::Abandoned => "missing".into(),
        RunStatus::Training => "training".into(),
        RunStatus::Stopped { epoch } => format!("stopped after epoch {epoch}"),
        RunStatus::Done => "done".into(),
        RunStatus::Failed(line) => format!("failed: {line}"),
    }
}

/// Runs that repeat another because they differ in keys alone that their method does not read.
fn effects(request: &SweepRequest, runs: &[SweepRun]) {
    let keys: Vec<String> = request.axes.iter().map(|a| a.key.clone()).collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut repeats: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs {
        let notes = without_effect(&run.recipe, &keys, str::to_string);
        let is_read = |key: &str| !notes.iter().any(|n| n.split(' ').next() == Some(key));
        let read: Vec<_> = keys.iter().zip(&run.values).filter(|(k, _)| is_read(k)).collect();
        if !seen.insert(format!("{read:?} {}", run.seed)) {
            *repeats.entry(notes.join(", ")).or_default() += 1;
        }
    }
    for (note, n) in repeats {
        let runs = if n == 1 { "1 run repeats another".into() } else { format!("{n} runs repeat others") };
        tell(&format!("note: {note}: {runs}; [[without]] leaves them out"));
    }
}

fn by_slurm(
    args: &SweepArgs,
    request: &SweepRequest,
    folder: &SweepFolder,
    todo: &[&SweepRun],
    needs: &Needs,
) -> anyhow::Result<()> {
    if todo.is_empty() {
        say(&format!("all runs are done: `vifo sweep collect {}`", shell(&request.out)));
        return Ok(());
    }
    let (script, commands) = write_script(folder, request, todo, &program()?, needs.bytes)?;
    if args.write_only {
        let words = |c: &Vec<String>| c.iter().map(|w| shell(Path::new(w))).collect::<Vec<_>>().join(" ");
        let all = commands.iter().map(|c| format!("`sbatch {}`", words(c))).collect::<Vec<_>>().join(" and ");
        say_line(&format!("job script {}: submit it with {all}", script.display()));
        return Ok(());
    }
    let job = submit(folder, request, todo, &commands)?;
    let n = todo.len();
    say(&format!("job {}: {n} task{}, {}", job.job, if n == 1 { "" } else { "s" }, job.tasks));
    say(&format!("look at it with `squeue -j {}`", job.job));
    say(&format!("gather with `vifo sweep collect {}`", shell(&request.out)));
    Ok(())
}

fn program() -> crate::error::Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::io(&PathBuf::from("vifo"), "find", &e))
}

fn here(
    request: &SweepRequest,
    folder: &SweepFolder,
    todo: &[&SweepRun],
    needs: &Needs,
    style: Style,
) -> crate::error::Result<Outcome> {
    if todo.is_empty() {
        return Ok(Outcome::Done);
    }
    let cores = rayon::current_num_threads();
    let (own, why) = jobs(needs, cores, todo.len());
    let (jobs, why) = request.jobs.map_or((own, why), |n| (n.min(todo.len()), "as asked"));
    let threads = (cores / jobs).max(1);
    let lines = Lines::new(style, todo.len());
    if style == Style::Normal {
        let size = format!("about {} MB each", needs.bytes.div_ceil(1 << 20));
        let thread = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        tell(&format!("{} to train, {jobs} at a time ({why}), {thread} and {size}", todo.len()));
    }
    let mut lines = lines;
    let outcome = carry_out(folder, todo, &program()?, (jobs, threads), &mut |news| lines.listen(&news));
    lines.finish();
    outcome
}

fn show(r: &SweepReport, out: &Path, format: Format, style: Style) {
    super::show(&r.render(format), format);
    let noisy = style == Style::Normal;
    for note in r.notes.iter().filter(|_| noisy) {
        tell(&format!("note: {note}"));
    }
    for (name, line) in &r.failed {
        tell(&format!("failed: {name}: {line}"));
    }
    if !noisy {
        return;
    }
    if let Some((setting, run)) = &r.best {
        tell(&format!("lowest validation NLL: {setting}; its first run is {}", out.join(run).display()));
    }
    tell(&format!("tables {}, one line per run in {}", out.join("table.*").display(), out.join("runs.csv").display()));
    if r.figure {
        tell(&format!("figure {} (and .png)", out.join("figures").join("sweep.svg").display()));
    }
}

fn collect(args: &CollectArgs) -> anyhow::Result<()> {
    let (folder, mut request) = SweepFolder::open(&args.folder)?;
    if !args.show.metrics.is_empty() {
        request.metrics = args.show.metrics.clone();
    }
    let r = report(&folder, &request, request.runs()?)?;
    show(&r, &args.folder, args.show.format, Style::Normal);
    for (name, state) in &r.left {
        tell(&format!("{}: {name}", in_words(state)));
    }
    let (failed_runs, left) = (r.failed.len(), r.left.len());
    tell(&format!("{} of {} runs done, {failed_runs} failed, {left} not done", r.done, r.all));
    match queued(&folder) {
        Some(job) => tell(&format!("job {job} still works on it: `squeue -j {job}`")),
        None if left + failed_runs > 0 => {
            tell(&format!("resume with `vifo sweep {0}`, or with `vifo sweep {0} --slurm`", shell(&args.folder)));
        }
        None => {}
    }
    match failed_runs {
        0 => Ok(()),
        n => Err(failed(&args.folder.display().to_string(), n).into()),
    }
}

/// One run, for a job array or for `whole`.
fn one(args: &RunArgs) -> anyhow::Result<()> {
    // The job script requeues a task that ends with 130, also one that was still reading.
    hear();
    if args.stop_with_input {
        std::thread::spawn(|| {
            // Nothing is ever written to it: it ends when the process at the other end does.
            let _ = std::io::stdin().read(&mut [0]);
            request_stop();
        });
    }
    let mut progress: Option<Progress> = None;
    let ended = run_one(&args.folder, args.number, &|| !stopped(), &mut |run, event, notes| {
        progress.get_or_insert_with(|| Progress::new(Style::Normal, &run.name)).listen(event, notes)
    })?;
    match ended {
        Ended::Before(run) => tell(&format!("{} is done already", run.name)),
        Ended::Stopped => stop(),
        Ended::Now(run, fitted) => finish(&run, &fitted, progress.as_ref()),
    }
    Ok(())
}

fn finish(run: &sweep::SweepRun, fitted: &Fitted, progress: Option<&Progress>) {
    let stops = fitted.ending == Ending::Stopped;
    if let Some(progress) = progress {
        progress.finish(if stops { "stopped" } else { "done" });
    }
    if stops {
        stop();
    }
    if let Some(results) = &fitted.results {
        say(&results.table(&run.name).render(Format::Text));
    }
}

/// As a shell reports a program ended by Ctrl-C.
fn stop() -> ! {
    tell("stopped; the same command resumes");
    std::process::exit(130)
}
