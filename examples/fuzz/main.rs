//! A mutation fuzzer of everything that vifo reads: tables, recipes, predictions of other tools, images.
//!
//! `cargo run --release --example fuzz -- [--seconds N] [--seed N] [--only table|fit|score|recipe|image]`
//! What goes wrong is written to `tests/fixtures/fuzz/KIND`, where `tests/fuzz.rs` tries it ever after; the exit code is 1 then.

mod harness;

use harness::{Kind, Outcome, Random, check, mutate, seeds};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

struct Options {
    seconds: u64,
    seed: u32,
    only: Option<Kind>,
}

fn main() {
    let options = match ask(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("fuzz: {why}; allowed: --seconds N, --seed N, --only table|fit|score|recipe|image");
            std::process::exit(2);
        }
    };
    // A panic is an answer here; its place still goes to the terminal.
    let wrong = run(&options);
    if wrong > 0 {
        eprintln!("{wrong} inputs went wrong: see tests/fixtures/fuzz");
        std::process::exit(1);
    }
}

fn ask(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { seconds: 60, seed: 1, only: None };
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} without a value"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{word} {value}"));
        match word.as_str() {
            "--seconds" => options.seconds = u64::from(number()?),
            "--seed" => options.seed = number()?,
            "--only" => {
                let kind = Kind::ALL.into_iter().find(|k| k.name() == value);
                options.only = Some(kind.ok_or(format!("--only {value}"))?);
            }
            _ => return Err(word),
        }
    }
    Ok(options)
}

/// Tries mutated inputs until the time is over; returns how many went wrong.
fn run(options: &Options) -> usize {
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|k| options.only.is_none_or(|only| only == *k)).collect();
    let seeds: Vec<Vec<Vec<u8>>> = kinds.iter().map(|k| seeds(*k)).collect();
    let dir = tempfile::tempdir().expect("a folder for the inputs");
    let mut random = Random::new(options.seed);
    let mut tally: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let end = Instant::now() + Duration::from_secs(options.seconds);
    while Instant::now() < end {
        let mut which = random.below(kinds.len());
        // A training takes as long as a hundred other inputs.
        if kinds[which] == Kind::Fit && kinds.len() > 1 && random.below(10) > 0 {
            which = 0;
        }
        let (kind, seeds) = (kinds[which], &seeds[which]);
        let (a, b) = (random.below(seeds.len()), random.below(seeds.len()));
        let input = mutate(&seeds[a], &seeds[b], &mut random);
        let counts = tally.entry(kind.name()).or_default();
        match check(kind, &input, dir.path()) {
            Ok(Outcome::Taken) => counts[0] += 1,
            Ok(Outcome::Refused(_)) => counts[1] += 1,
            Err(what) => {
                counts[2] += 1;
                keep(kind, &input, &what);
            }
        }
    }
    println!("{:<8} {:>8} {:>8} {:>8}", "kind", "taken", "refused", "wrong");
    for (kind, [taken, refused, wrong]) in &tally {
        println!("{kind:<8} {taken:>8} {refused:>8} {wrong:>8}");
    }
    tally.values().map(|counts| counts[2]).sum()
}

fn keep(kind: Kind, input: &[u8], what: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz").join(kind.name());
    let name = vifo::data::load::hash_text(&String::from_utf8_lossy(input));
    let path = dir.join(&name[..12]);
    eprintln!("{}: {what}", path.display());
    if let Err(e) = std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&path, input)) {
        eprintln!("{}: cannot write: {e}", path.display());
    }
}
