//! Flags shared by commands, and how flags, recipe and built-in recipes become one `Recipe`.

use super::{shell, tell};
use crate::base::{fs, names};
pub use crate::data::images::is_images;
use crate::error::{Error, Result};
use crate::method::{self, check_name};
use crate::recipe::keys::{Flag, KEYS, Key, ValueKind};
use crate::recipe::{self, Recipe, builtin, key, keys};
use crate::report::compare::shown;
use crate::run::RunFolder;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Which keys have a flag of a command.
pub trait Flags {
    fn has(key: &Key, flag: &Flag) -> bool;
    /// An argument that the flags do not go with, and the one key whose flag does.
    const CONFLICT: Option<(&'static str, &'static Key)> = None;
}

/// Everything that has a flag.
pub struct All;

/// How a table is read.
pub struct Reading;

/// How a table of predictions is read.
pub struct Layout;

impl Flags for All {
    fn has(_: &Key, _: &Flag) -> bool {
        true
    }
    // A run goes on as it was begun, if need be on another device.
    const CONFLICT: Option<(&'static str, &'static Key)> = Some(("resume", key!(device)));
}

impl Flags for Reading {
    fn has(_: &Key, flag: &Flag) -> bool {
        flag.reads
    }
}

impl Flags for Layout {
    fn has(key: &Key, _: &Flag) -> bool {
        [key!(data.delimiter), key!(data.header), key!(data.skip_lines)].iter().any(|k| k.path == key.path)
    }
}

/// The flags that set recipe keys, as the keys declare them.
pub struct KeyFlags<F> {
    given: Vec<(&'static Key, &'static Flag, Vec<String>)>,
    which: PhantomData<F>,
}

const HEADINGS: [&str; 3] = ["Data", "Method", "Training"];

/// Under which of `HEADINGS` a key's flag stands.
fn heading(key: &Key) -> usize {
    match key.path.split_once('.') {
        Some(("data", _)) => 0,
        Some(("method", _)) => 1,
        _ => 2,
    }
}

/// The flags of a command in the order of its help: what reads a table first, and what stands outside of the sections last.
fn flags<F: Flags>() -> Vec<(&'static Key, &'static Flag)> {
    let all = KEYS.iter().filter_map(|k| k.flag.as_ref().map(|flag| (k, flag)));
    let mut all: Vec<(&Key, &Flag)> = all.filter(|(key, flag)| F::has(key, flag)).collect();
    all.sort_by_key(|(key, flag)| (heading(key), !flag.reads, !key.path.contains('.')));
    all
}

/// A key that is false unless it is set: a flag without a value.
fn is_switch(key: &Key) -> bool {
    matches!(key.kind, ValueKind::Bool) && key.default().is_some()
}

/// The key's help, with its choices and its default.
fn help(key: &Key) -> String {
    let mut text = key.help.trim_end_matches('.').to_string();
    if matches!(key.kind, ValueKind::TextList) {
        text += " (repeat for more)";
    }
    match key.value(&Recipe::default()) {
        None | Some(Value::Array(_) | Value::Boolean(_)) => {}
        // 0, not 0.0, and no quotes.
        Some(default) => text += &format!(" [default: {}]", shown(&default)),
    }
    text += &on_a_table(key);
    if let ValueKind::Choice(choices) = key.kind {
        text += &format!(" [possible values: {}]", choices.join(", "));
    }
    text
}

/// " [on a table: 8]": what `method::preset` puts in place of the default.
pub(super) fn on_a_table(key: &Key) -> String {
    let preset = method::preset_of(key).map(|value| match value {
        // As a flag has them.
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(","),
        value => shown(&value),
    });
    preset.map_or(String::new(), |value| format!(" [on a table: {value}]"))
}

fn arg(key: &'static Key, flag: &'static Flag) -> Arg {
    let arg = Arg::new(key.path).long(flag.name).help(help(key)).help_heading(HEADINGS[heading(key)]);
    if is_switch(key) {
        return arg.action(ArgAction::SetTrue);
    }
    let many = if matches!(key.kind, ValueKind::TextList) { ArgAction::Append } else { ArgAction::Set };
    let arg = arg.value_name(flag.value).allow_hyphen_values(flag.dash).action(many);
    if key.is_file { arg.value_parser(clap::value_parser!(PathBuf)) } else { arg }
}

impl<F: Flags> clap::Args for KeyFlags<F> {
    fn augment_args(command: Command) -> Command {
        flags::<F>().into_iter().fold(command, |command, (key, flag)| {
            let arg = arg(key, flag);
            command.arg(match F::CONFLICT {
                Some((other, unless)) if key.path != unless.path => arg.conflicts_with(other),
                _ => arg,
            })
        })
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<F: Flags> clap::FromArgMatches for KeyFlags<F> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = |(key, flag): (&'static Key, &'static Flag)| {
            let values: Vec<String> = if is_switch(key) {
                Vec::from_iter(matches.get_flag(key.path).then(|| "true".into()))
            } else if key.is_file {
                let all = matches.get_many::<PathBuf>(key.path);
                all.into_iter().flatten().map(|path| path.display().to_string()).collect()
            } else {
                matches.get_many::<String>(key.path).into_iter().flatten().cloned().collect()
            };
            (!values.is_empty()).then_some((key, flag, values))
        };
        Ok(KeyFlags { given: flags::<F>().into_iter().filter_map(given).collect(), which: PhantomData })
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<F> KeyFlags<F> {
    pub fn apply(&self, table: &mut Table) -> Result<()> {
        for (key, flag, values) in &self.given {
            let flag = format!("--{}", flag.name);
            let last = values.last().cloned();
            let value = match key.kind {
                ValueKind::TextList => list(values),
                ValueKind::WholeList(..) => last.map(|numbers| format!("[{numbers}]")),
                ValueKind::Bool => yes_or_no(last.as_deref())?.map(|yes| yes.to_string()),
                _ => last,
            };
            set(table, key.path, &flag, value)?;
        }
        Ok(())
    }

    /// The flag that set a key, as it was typed.
    pub fn flag(&self, path: &str) -> Option<String> {
        self.given.iter().find(|(k, ..)| k.path == path).map(|(_, flag, _)| format!("--{}", flag.name))
    }

    /// As the flag says it, if it was given.
    pub fn text(&self, key: &Key) -> Option<&str> {
        self.given.iter().find(|(k, ..)| k.path == key.path).and_then(|(.., values)| values.last()).map(String::as_str)
    }
}

/// A repeated flag as a list of texts; None where it was not given.
fn list(values: &[String]) -> Option<String> {
    let texts = || Value::Array(values.iter().cloned().map(Value::String).collect());
    (!values.is_empty()).then(|| texts().to_string())
}

/// The value of `--header`.
pub fn yes_or_no(text: Option<&str>) -> Result<Option<bool>> {
    match text {
        None => Ok(None),
        Some("yes" | "true") => Ok(Some(true)),
        Some("no" | "false") => Ok(Some(false)),
        Some(other) => Err(Error::usage("--header", format!("\"{other}\""), "yes, no", "")),
    }
}

/// `text` as the value of `key`; texts are quoted so that "1" stays a text where one is meant.
pub fn set(table: &mut Table, key: &str, flag: &str, text: Option<String>) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    let is_text = keys::find(key).is_some_and(|k| matches!(k.kind, ValueKind::Text | ValueKind::Choice(_)));
    let value = if is_text { Value::String(text).to_string() } else { text };
    keys::set(table, key, &value, flag)?;
    check_name(table, flag)
}

/// `--set key=value`.
pub fn set_pair(table: &mut Table, pair: &str) -> Result<()> {
    let Some((key, value)) = pair.split_once('=') else {
        return Err(Error::usage("--set", format!("\"{pair}\""), "key=value", "for example --set train.clip=1"));
    };
    keys::set(table, key.trim(), value.trim(), "--set")?;
    check_name(table, "--set")
}

/// A run folder; where `accept_changed` is asked for, its files are what vifo wrote from now on.
pub fn open_run(path: &Path, accept_changed: bool) -> Result<RunFolder> {
    let folder = RunFolder::open(path)?;
    if accept_changed {
        let changed = folder.accept_changed()?;
        let what = if changed.is_empty() {
            "no file had changed".into()
        } else {
            format!("{} as it is now", changed.join(", "))
        };
        tell(&format!("note: accepted: {what}"));
    }
    Ok(folder)
}

/// A recipe file, a built-in recipe or a data file, as a checked table.
pub fn input(name: &str) -> Result<Table> {
    let path = &names::native(Path::new(name));
    if path.extension().is_some_and(|e| e == "toml") {
        let table = Recipe::read(path)?;
        check_name(&table, &path.display().to_string())?;
        return Ok(table);
    }
    let is_run = recipe::is_run(path);
    if is_run && builtin::find(name).is_none() {
        let (run, own) = (shell(path), shell(&path.join("recipe.toml")));
        let help = format!("resume with `vifo fit --resume {run}`, or repeat it with `vifo fit {own}`");
        return Err(Error::usage(name, "is a run folder", "a table, an image set or a recipe", help));
    }
    let is_stdin = name == crate::data::source::STDIN;
    if is_run || (!fs::exists(path) && !name.ends_with("#coarse") && !is_stdin) {
        if let Some(text) = builtin::find(name) {
            return Recipe::parse(text, name);
        }
        let near = |n: &&str| strsim::jaro_winkler(n, &name.to_lowercase());
        let nearest = builtin::RECIPES.iter().map(|(n, _)| *n).max_by(|a, b| near(a).total_cmp(&near(b)));
        let help =
            nearest.filter(|n| near(n) > 0.85).map_or("check the path".to_string(), |n| format!("did you mean {n}?"));
        return Err(Error::usage(
            name,
            "no such file",
            format!("a table, an image set, a recipe (.toml), or a built-in recipe: {}", builtin::names()),
            help,
        ));
    }
    let mut table = Table::new();
    let key = if is_images(path) { "data.images" } else { "data.file" };
    set(&mut table, key, name, Some(path.display().to_string()))?;
    Ok(table)
}
