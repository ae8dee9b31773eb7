//! What is passed on to Slurm, checked, and the job script made of it: one task per run, each of which may be stopped and put
//! back into the queue at any time.

use super::folder::SweepFolder;
use crate::base::visible::posix_shell as shell;
use crate::error::{Error, Result};
use std::path::Path;
use toml::{Table, Value};

/// Options of `sbatch` and lines that the job runs first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// "--partition=p", in the order given.
    flags: Vec<String>,
    /// Shell lines, such as "module load cuda".
    setup: Vec<String>,
}

/// Keys of `[slurm]` that are options of the same name, with `-` for `_`.
const KEYS: [&str; 20] = [
    "time",
    "mem",
    "mem_per_cpu",
    "cpus_per_task",
    "partition",
    "account",
    "qos",
    "constraint",
    "gres",
    "gpus",
    "nodelist",
    "exclude",
    "reservation",
    "licenses",
    "mail_type",
    "mail_user",
    "nice",
    "clusters",
    "comment",
    "export",
];
/// Those of them that are lists of texts.
const LISTS: [&str; 2] = ["setup", "options"];
/// What the script says itself.
const OURS: [&str; 6] = ["--array", "--wrap", "--parsable", "--job-name", "--output", "--signal"];

impl Options {
    pub fn parse(table: &Table, place: &str) -> Result<Options> {
        let mut out = Options::default();
        for (key, value) in table {
            let place = format!("{place}: {key}");
            let wrong = |allowed: &str| Error::usage(place.as_str(), format!("{value} is not allowed"), allowed, "");
            if LISTS.contains(&key.as_str()) {
                let list = value.as_array().filter(|l| l.iter().all(Value::is_str));
                let list = list.ok_or_else(|| wrong("a list of texts"))?;
                for text in list.iter().filter_map(Value::as_str) {
                    if key == "options" {
                        out.add(text, &place)?;
                    } else if text.contains(|c: char| c.is_control() && c != '\t') {
                        return Err(Error::usage(
                            place.as_str(),
                            format!("{text:?} has several lines"),
                            "one line per text",
                            "",
                        ));
                    } else {
                        out.setup.push(text.into());
                    }
                }
            } else if KEYS.contains(&key.as_str()) {
                let text = match value {
                    Value::String(s) => s.clone(),
                    Value::Integer(i) => i.to_string(),
                    _ => return Err(wrong("a text or a whole number")),
                };
                out.add(&format!("--{}={text}", key.replace('_', "-")), &place)?;
            } else {
                let near = |k: &&&str| strsim::jaro_winkler(k, key);
                let all = || KEYS.iter().chain(&LISTS);
                let nearest = all().max_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(&"options");
                let help =
                    format!("did you mean {nearest}? Others go into options = [\"--{}=...\"]", key.replace('_', "-"));
                return Err(Error::usage(place, "no such key", all().copied().collect::<Vec<_>>().join(", "), help));
            }
        }
        Ok(out)
    }

    /// "--partition=p"; a later one of the same name wins.
    pub fn add(&mut self, option: &str, place: &str) -> Result<()> {
        let option = option.trim();
        let (name, value) = option.split_once('=').map_or((option, None), |(n, v)| (n, Some(v)));
        let refuse = |found: String, allowed: &str, help: &str| Err(Error::usage(place, found, allowed, help));
        let is_name =
            |n: &str| n.len() > 2 && n[2..].chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit());
        if !name.starts_with("--") || !is_name(name) {
            return refuse(
                format!("\"{option}\""),
                "an option of sbatch in full: --name=value",
                "for example --partition=gpu",
            );
        }
        if option.contains(|c: char| c.is_control()) {
            return refuse(format!("{option:?} has several lines"), "one line", "");
        }
        if OURS.contains(&name) {
            return refuse(format!("{name} is set by vifo"), "", "leave it out");
        }
        match (name, value) {
            ("--time", Some(v)) if !is_time(v) => {
                let allowed = "minutes, [hours:]minutes:seconds or days-hours[:minutes[:seconds]], such as 2:00:00";
                return refuse(format!("\"{v}\" is no time"), allowed, "");
            }
            ("--mem" | "--mem-per-cpu", Some(v)) if !is_memory(v) => {
                return refuse(format!("\"{v}\" is no amount of memory"), "such as 2G or 500M", "");
            }
            ("--cpus-per-task", Some(v)) if v.parse::<u16>().is_ok_and(|n| n > 0) => {}
            ("--cpus-per-task", Some(v)) => return refuse(format!("\"{v}\""), "a whole number from 1 on", ""),
            _ => {}
        }
        self.flags.retain(|f| f.split('=').next() != Some(name));
        self.flags.push(option.into());
        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|f| f.split('=').next() == Some(name))
    }

    pub fn to_table(&self) -> Option<Table> {
        let list = |v: &[String]| Value::Array(v.iter().cloned().map(Value::String).collect());
        let mut table = Table::new();
        for (key, values) in [("options", &self.flags), ("setup", &self.setup)] {
            if !values.is_empty() {
                table.insert(key.into(), list(values));
            }
        }
        (!table.is_empty()).then_some(table)
    }
}

fn is_time(text: &str) -> bool {
    let numbers = |s: &str, most: usize| {
        let parts: Vec<&str> = s.split(':').collect();
        parts.len() <= most
            && parts.iter().all(|p| !p.is_empty() && p.len() < 7 && p.chars().all(|c| c.is_ascii_digit()))
    };
    match text.split_once('-') {
        Some((days, rest)) => numbers(days, 1) && numbers(rest, 3),
        None => numbers(text, 3) || ["infinite", "UNLIMITED"].contains(&text),
    }
}

fn is_memory(text: &str) -> bool {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    text.len() - digits.len() <= 1 && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// "1-4,7" of ascending numbers.
pub fn ranges(numbers: &[usize]) -> String {
    let of = |run: &[usize]| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    numbers.chunk_by(|a, b| a + 1 == *b).map(of).collect::<Vec<_>>().join(",")
}

/// A value of an `#SBATCH` line, whatever is in it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What of the machine a script fixes.
pub struct Script<'a> {
    /// vifo itself.
    pub program: &'a Path,
    pub name: &'a str,
    /// Numbers of the tasks, ascending.
    pub tasks: &'a [usize],
    /// What is added to a task's number to make it its run's.
    pub offset: usize,
    /// So many at a time; None leaves it to the queue.
    pub jobs: Option<usize>,
    /// Bytes that a run is thought to take.
    pub bytes: u64,
}

/// The job script.
pub fn script(folder: &SweepFolder, options: &Options, s: &Script) -> String {
    let path = folder.path.display().to_string();
    let at_a_time = s.jobs.map_or(String::new(), |n| format!("%{n}"));
    let name: String = s.name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let mut lines = vec![
        format!("--job-name=vifo-{name}"),
        format!("--array={}{at_a_time}", ranges(s.tasks)),
        // A path may hold what is a pattern to Slurm.
        format!("--output={}", quoted(&format!("{}/logs/slurm-%A_%a.out", path.replace('%', "%%")))),
        "--open-mode=append".into(),
        "--requeue".into(),
        "--signal=B:USR1@60".into(),
    ];
    if !options.has("--cpus-per-task") {
        lines.push("--cpus-per-task=1".into());
    }
    if !options.has("--mem") && !options.has("--mem-per-cpu") {
        // Twice the estimate: a task that needs more than it asked for is killed.
        lines.push(format!("--mem={}M", ((2 * s.bytes) >> 20).next_multiple_of(100)));
    }
    lines.extend(options.flags.iter().map(|flag| match flag.split_once('=') {
        Some((name, value)) => format!("{name}={}", quoted(value)),
        None => flag.clone(),
    }));
    let sbatch: String = lines.iter().map(|l| format!("#SBATCH {l}\n")).collect();
    let setup: String = options.setup.iter().map(|l| format!("{l}\n")).collect();
    let offset = s.offset;
    let (program, path) = (shell(&s.program.display().to_string()), shell(&path));
    format!(
        "#!/usr/bin/env bash
# Written by `vifo sweep --slurm`: task N trains run N + OFFSET of those that `vifo sweep {path} --list` lists; OFFSET is
# this script's argument, or {offset}.
{sbatch}
{setup}# A minute before its time limit a run saves, and its task goes back into the queue.
again() {{
  kill -TERM \"$run\"
  wait \"$run\"
  code=$?
  if [ \"$code\" = 130 ]; then
    scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"
  fi
  exit \"$code\"
}}
trap again USR1

{program} --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" sweep run {path} \"$((SLURM_ARRAY_TASK_ID + ${{1:-{offset}}}))\" &
run=$!
wait \"$run\"
"
    )
}
