//! `vifo fit`: a recipe, a data file or a bundled toy becomes a run folder.

use super::options::{All, KeyFlags, input, on_a_table, open_run, set_pair};
use super::progress::{Progress, Style, hear};
use super::{hand_over, say, say_line, shell, tell};
use crate::base::counted::counted;
use crate::base::fs;
use crate::data::images::table_in;
use crate::error::Error;
use crate::exec::Device;
use crate::method;
use crate::recipe::{Likelihood, NetName, Optimizer, Recipe, Schedule, is_bundled, is_run, key, keys};
use crate::results::words;
use crate::run::RunFolder;
use crate::run::targets;
use crate::run::{Fitted, recipe_name};
use crate::system::stop;
use crate::tables::Format;
use crate::train::Ending;
use crate::workflow::fit as fitting;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// A table (CSV, TSV, JSON, ...; .gz too), images (a folder with one subfolder per class, CIFAR, SVHN, STL-10, IDX), a recipe (.toml),
    /// or a built-in recipe: sinusoid, heteroscedastic, cubic, moons, rings, blobs, digits
    #[arg(required_unless_present_any = ["resume", "keys"])]
    input: Option<String>,
    #[command(flatten)]
    keyed: KeyFlags<All>,
    /// Any recipe key, such as train.clip=1 (repeat for more; --keys lists them)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Run folder [default: runs/NAME, numbered if it exists]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replace the run folder if it exists
    #[arg(long)]
    force: bool,
    /// Resume a run that was stopped or killed
    #[arg(long, value_name = "RUN", conflicts_with_all = ["input", "out", "force", "sets", "dry_run"])]
    resume: Option<PathBuf>,
    /// With --resume: so many epochs more for a run that has come to its end
    #[arg(long, value_name = "EPOCHS", requires = "resume")]
    more: Option<u32>,
    /// With --resume: new location of the run's data, if it was moved
    #[arg(long = "data", value_name = "FILE", requires = "resume")]
    moved_data: Option<PathBuf>,
    /// With --resume: accept files of the run that were edited or replaced since vifo wrote them
    #[arg(long, requires = "resume")]
    accept_changed: bool,
    /// List all recipe keys with defaults, and exit
    #[arg(long)]
    keys: bool,
    /// Print the recipe that would run, and exit
    #[arg(long)]
    dry_run: bool,
    /// Print results only, no progress
    #[arg(long, short)]
    quiet: bool,
    /// Events and results as JSON lines on stdout
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.keys {
        say(&list_keys());
        return Ok(());
    }
    hear();
    let style = Style::of(args.quiet, args.json);
    if let Some(path) = &args.resume {
        let folder = open_run(path, args.accept_changed)?;
        let recipe = folder.recipe()?;
        let device = Device::open(args.keyed.text(key!(device)).unwrap_or(&recipe.device))?;
        let mut progress = Progress::new(style, &format!("{} {}", recipe_name(&recipe), recipe.method.name));
        let data = args.moved_data.as_deref();
        let fitted = fitting::resume_with(path, data, args.more, &device, &mut |e, n| progress.listen(e, n))?;
        return done(&fitted, &recipe, path, &progress, style);
    }
    let (recipe, given) = recipe(args)?;
    if style == Style::Normal {
        let shown = |key: &str| args.keyed.flag(key).unwrap_or_else(|| key.to_string());
        for note in without_effect(&recipe, &given, shown) {
            tell(&format!("note: {note}"));
        }
    }
    if args.dry_run {
        hand_over(&recipe.to_toml()?);
        return Ok(());
    }
    let device = Device::open(&recipe.device)?;
    let path = match &args.out {
        Some(path) => path.clone(),
        None => {
            let path = RunFolder::claim(Path::new("runs"), &recipe_name(&recipe))?;
            stop::set_claimed(&path);
            path
        }
    };
    crate::recipe::plain_path(&path, "--out")?;
    if !args.force {
        // Before any work: an existing folder should not cost a training run.
        RunFolder::refuse_unless_empty(&path)?;
    }
    let mut progress = Progress::new(style, &format!("{} {}", recipe_name(&recipe), recipe.method.name));
    let fitted = fitting::fit(&recipe, &path, args.force, &device, &mut |e, n| progress.listen(e, n))
        .inspect_err(|_| stop::remove_claimed())?;
    done(&fitted, &recipe, &path, &progress, style)
}

/// Input, then flags, then `--set`: the later wins.
/// Also returns the keys that flags set.
fn recipe(args: &Args) -> crate::error::Result<(Recipe, Vec<String>)> {
    let name = args.input.as_deref().unwrap_or_default();
    if args.keyed.text(key!(data.target)).is_some() {
        refuse_folder(Path::new(name))?;
    }
    let mut table = input(name)?;
    let before = table.clone();
    args.keyed.apply(&mut table)?;
    let is_of_table = table.get("data").is_some_and(|data| data.get("file").is_some() && data.get("images").is_none());
    if let (Some(net), true) = (args.keyed.text(key!(net.name)).filter(|net| *net != "mlp"), is_of_table) {
        let help = "leave --net out for a table";
        return Err(Error::usage(format!("--net {net}"), "is for images", "", help));
    }
    for pair in &args.sets {
        set_pair(&mut table, pair)?;
    }
    // What the input says for VIFO is not meant for a method that a flag puts in its place; what a flag says is.
    let of = |table: &toml::Table, key: &str| table.get("method").and_then(|m| m.get(key)).cloned();
    let kept = ["eta_aux", "expectation"].into_iter().any(|key| of(&table, key) != of(&before, key));
    if of(&table, "name") != of(&before, "name") && !kept {
        method::leave_out(&mut table);
    }
    let mut whole = table.clone();
    if !is_recipe(&before) {
        method::preset(&mut whole)?;
    }
    let recipe = method::checked(&whole, name)?;
    let mut given = vec![];
    for (key, value) in &table {
        match (value.as_table(), before.get(key).and_then(toml::Value::as_table)) {
            (Some(inner), old) => {
                let new = inner.iter().filter(|(k, v)| old.and_then(|o| o.get(*k)) != Some(*v));
                given.extend(new.map(|(k, _)| format!("{key}.{k}")));
            }
            (None, _) if before.get(key) != Some(value) => given.push(key.clone()),
            _ => {}
        }
    }
    Ok((recipe, given))
}

/// Whether the input says more than where its data is.
fn is_recipe(input: &toml::Table) -> bool {
    input.keys().any(|section| section != "data")
        || input.get("data").and_then(toml::Value::as_table).is_some_and(|d| d.len() > 1)
}

/// A folder where a target asks for a table.
fn refuse_folder(path: &Path) -> crate::error::Result<()> {
    if !fs::is_dir(path) || is_bundled(path) || is_run(path) {
        return Ok(());
    }
    let help = match table_in(path) {
        Some(table) => format!("--target needs a table: name a file, such as {}", shell(&table)),
        None => "--target needs a table: name a file".into(),
    };
    Err(Error::usage(path.display().to_string(), "is a folder", "", help))
}

/// Keys that were set by flags and that this run does not read, as `shown` calls them.
pub(super) fn without_effect(recipe: &Recipe, given: &[String], shown: impl Fn(&str) -> String) -> Vec<String> {
    let name = recipe.method.name.as_str();
    let Some(method) = method::find(name) else { return vec![] };
    let usual = method.usual();
    let schedule = recipe.train.schedule.unwrap_or(usual.schedule);
    let reads = |key: &str| match key {
        "train.momentum" | "train.adam_epochs" => recipe.train.optimizer.unwrap_or(usual.optimizer) == Optimizer::Sgd,
        "train.beta2" => recipe.train.optimizer.unwrap_or(usual.optimizer).is_adam() || recipe.train.adam_epochs > 0,
        "train.weight_decay_schedule" => recipe.train.weight_decay > 0.0,
        "net.dropout_schedule" => recipe.net.dropout.unwrap_or(usual.dropout) > 0.0,
        "train.swa_start" => method.collects() || schedule == Schedule::Swa,
        "train.swa_lr" => schedule == Schedule::Swa,
        "data.gap" | "data.rows" | "data.noise" => recipe.data.toy.is_some(),
        "data.validation_fraction" | "data.toy" | "data.file" | "data.images" | "data.points" => true,
        "data.standardise" => recipe.data.images.is_none(),
        "data.scaling" => recipe.data.file.is_some() && recipe.data.standardise,
        "data.image_size" | "data.coarse" | "data.crop" | "data.flip" | "data.limit" | "data.skip_broken" => {
            recipe.data.images.is_some()
        }
        "data.test_file" => recipe.data.toy.is_none() && recipe.data.points.is_none(),
        "baselines.boosting" => recipe.data.images.is_none(),
        "method.nu" => recipe.method.likelihood == Likelihood::StudentT,
        "net.depth" => recipe.net.name == Some(NetName::PreResNet),
        "net.widths" => recipe.data.images.is_some() && recipe.net.name != Some(NetName::Mlp),
        "net.activation" => !matches!(recipe.net.name, Some(NetName::AlexNet | NetName::PreResNet)),
        "data.keep" => [&recipe.data.group, &recipe.data.time, &recipe.data.weight].into_iter().any(Option::is_some),
        "data.test_fraction" if recipe.data.points.is_some() => true,
        "data.test_fraction" => {
            recipe.data.test_file.is_none() && recipe.data.split_file.is_none() && recipe.data.toy.is_none()
        }
        key if key.starts_with("data.") => recipe.data.file.is_some(),
        key => method::reads(method, key),
    };
    let with = |key: &str| if key.starts_with("data.") { "this data" } else { name };
    given.iter().filter(|k| !reads(k)).map(|k| format!("{} has no effect with {}", shown(k), with(k))).collect()
}

fn done(fitted: &Fitted, recipe: &Recipe, path: &Path, progress: &Progress, style: Style) -> anyhow::Result<()> {
    let ending = match fitted.ending {
        Ending::Finished => "done".to_string(),
        Ending::Early => {
            format!("stopped early: no improvement for {},", counted(fitted.plan.patience as usize, "epoch"))
        }
        Ending::Stopped => "stopped".to_string(),
    };
    progress.finish(&ending);
    if style == Style::Json {
        let results = serde_json::to_value(&fitted.results).map_err(|e| Error::run("results", e.to_string(), ""))?;
        let mut event = serde_json::json!({ "event": "finished", "ending": ending.trim_end_matches(','), "run": path, "results": results });
        if let (Some(event), Some(_)) = (event.as_object_mut(), &fitted.choice) {
            let variants =
                serde_json::to_value(fitted.variants()).map_err(|e| Error::run("results", e.to_string(), ""))?;
            event.insert("variants".into(), variants);
        }
        hand_over(&event.to_string());
        if fitted.ending == Ending::Stopped {
            std::process::exit(130);
        }
        return Ok(());
    }
    if fitted.ending == Ending::Stopped {
        tell(&format!("resume with `vifo fit --resume {}`", shell(path)));
        // As a shell reports a program ended by Ctrl-C, so that `vifo fit ... && vifo predict ...` stops too.
        std::process::exit(130);
    }
    if let (Some((epoch, nll)), true) = (fitted.best, fitted.plan.patience > 0)
        && style == Style::Normal
    {
        tell(&match fitted.plan.setup.held_out {
            0 => format!("kept the weights of epoch {epoch}, validation NLL {nll:.4} nats"),
            n => format!(
                "each member held out {n} of {} rows and kept its best weights, the last at epoch {epoch}; their mean validation \
                 NLL is {nll:.4} nats",
                fitted.plan.setup.n_rows + n
            ),
        });
    }
    if let Some((said, table)) = fitted.variants_table() {
        say_line(&said);
        say(&table.render(Format::Text));
    }
    if let Some((rows, figures)) = fitted.out_of_fold_figures() {
        say_line(&format!("{rows} training rows, each predicted by the member that held it out: {figures}"));
    }
    match &fitted.results {
        Some(results) => {
            say_line(&format!(
                "tested on {} rows, target {} ({})",
                results.rows,
                fitted.data.encoder.target_names(),
                fitted.data.task()
            ));
            let names: Vec<String> = fitted.data.encoder.targets().map(|t| t.name().to_string()).collect();
            for (name, own) in names.iter().zip(targets::apart(results, &names)) {
                if names.len() > 1 {
                    say_line(&format!("target {name}"));
                }
                say(&own.table(&recipe.method.name).render(Format::Text));
            }
            for note in &results.notes {
                say_line(&format!("note: {}", words::with_run(note, &shell(path))));
            }
        }
        None if recipe.data.points.is_some() => {
            say("no test rows: give 20 points or more and a data.test_fraction to see how good it is")
        }
        None => say("no test rows: set data.test_fraction or --test-file to see how good it is"),
    }
    say_line(&format!(
        "run folder {}: open {}; predict with `vifo predict {} {}`",
        path.display(),
        path.join("report.html").display(),
        shell(path),
        if fitted.data.encoder.pixels.is_some() { "IMAGES" } else { "NEW.csv" }
    ));
    Ok(())
}

fn list_keys() -> String {
    let mut out = String::from(
        "Recipe keys (in a .toml under their section, or with --set KEY=VALUE). \"On a table\" is what `vifo fit TABLE` takes without a \
         recipe file\n\n",
    );
    for key in keys::KEYS {
        let default = key.default().map_or(String::new(), |default| format!(" [default: {default}]"));
        out += &format!(
            "{}{default}{}\n    {}{}{}\n",
            key.path,
            on_a_table(key),
            key.help,
            if key.help.is_empty() { "" } else { " " },
            sentence(&allowed(key))
        );
    }
    out
}

/// The key's values; a method's name is one of those that there are.
fn allowed(key: &keys::Key) -> String {
    if key.path == "method.name" { method::allowed() } else { key.kind.allowed() }
}

fn sentence(allowed: &str) -> String {
    format!("Allowed: {allowed}.")
}
