//! `vifo predict`: new rows through a trained run, to a CSV.

use super::options::{open_run, yes_or_no};
use super::{hand_over, say, say_line, tell};
use crate::base::fs;
use crate::data::images::Part;
use crate::error::Error;
use crate::exec::Device;
use crate::results::predictions;
use crate::run::calibration;
use crate::run::model::NewRows;
use crate::run::{Model, RunFolder, targets};
use crate::tables;
use crate::workflow::explain::{Explained, explain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// Table with the columns of the training file, the target may be absent; for a run on images an image, a folder of
    /// images or an image set
    file: PathBuf,
    /// CSV to write [default: predictions-FILE.csv in the run folder; - = stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Lines to skip at the top of the file [default: as in training]
    #[arg(long, value_name = "N")]
    skip_lines: Option<usize>,
    /// Also explain the predictions: permutation importance of each column on rows that were held out, and for each row the source
    /// of its uncertainty
    #[arg(long)]
    explain: bool,
    /// yes or no: whether the first line holds column names [default: detected, also by the names of the training file]
    #[arg(long, value_name = "YES|NO")]
    header: Option<String>,
    /// Put an apostrophe before texts that begin with = + - or @, which a spreadsheet would run as formulas
    #[arg(long)]
    spreadsheet: bool,
    /// Predict without the run's calibration
    #[arg(long)]
    uncalibrated: bool,
    /// Accept files of the run that were edited or replaced since vifo wrote them
    #[arg(long)]
    accept_changed: bool,
    /// auto, cpu, gpu, gpu:1, gpu:0,gpu:1, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    device: String,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = open_run(&args.run, args.accept_changed)?;
    let model = Model::open(&folder)?;
    let calibration = if args.uncalibrated { None } else { calibration::current(&folder)? };
    let to_stdout = args.out.as_deref().is_some_and(|p| p.as_os_str() == "-");
    let (path, beside) = match &args.out {
        Some(path) => (path.clone(), None),
        None => own_name(&folder, &args.file)?,
    };
    let same =
        |a: &PathBuf, b: &PathBuf| matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    if same(&path, &args.file) {
        return Err(Error::usage(
            "--out",
            "is the file of the rows themselves",
            "another name",
            "name a file that is not the input",
        )
        .into());
    }
    let header = yes_or_no(args.header.as_deref())?;
    let NewRows { data, rows: _, notes: of_rows, refused, odd: rows_with_notes } =
        model.read_all(&args.file, Part::All, false, args.skip_lines, header)?;
    let mut notes: Vec<String> = beside.into_iter().chain(of_rows).chain(Model::caveats(&folder)?).collect();
    let device = Device::open(&args.device)?;
    let names: Vec<String> = model.encoder.targets().map(|t| t.name().to_string()).collect();
    let of_target = |at: usize| (names.len() > 1).then(|| targets::file_name(&names, at));
    let mut explained: Vec<Explained> = vec![];
    let mut extra_columns = |at: usize, view: &Model, table: &mut tables::TextTable| {
        if !args.explain {
            return Ok(());
        }
        let one = explain(&folder, view, &device, &data, &mut |said| {
            if !args.quiet {
                tell(said);
            }
        })?;
        one.extend(table);
        one.save(&folder, of_target(at).as_deref())?;
        explained.push(one);
        Ok(())
    };
    let (mut table, target_notes) =
        targets::predictions(&model, calibration.as_ref(), &device, &data, &mut extra_columns)?;
    notes.extend(target_notes);
    predictions::add_notes(&mut table, &rows_with_notes, &refused);
    let words = explained.iter().zip(&names).flat_map(|(one, name)| {
        let of = (names.len() > 1).then_some(name.as_str());
        one.words().into_iter().map(move |said| targets::heading(&said, of))
    });
    notes.extend(words);
    if args.spreadsheet {
        table.for_spreadsheets();
    }
    if to_stdout {
        hand_over(&table.csv());
    } else {
        tables::write_csv(&path, &table)?;
        if args.out.is_none() {
            remember(&folder, &path, &args.file)?;
        }
        if !args.quiet {
            say_line(&format!("{} predictions of {} in {}", data.n, model.encoder.target_names(), path.display()));
            for (at, explained) in explained.iter().enumerate() {
                say(&explained.table().render(tables::Format::Text));
                let of = of_target(at).map_or_else(String::new, |of| format!("-{of}"));
                let figure = folder.figures().join(format!("importance{of}.svg"));
                say_line(&format!("importance{of}.csv in {}, and {}", folder.path.display(), figure.display()));
            }
        }
    }
    if !args.quiet {
        for note in notes {
            tell(&format!("note: {}", note.trim_end_matches('.')));
        }
    }
    Ok(())
}

/// Which file of rows each predictions file of a run was made from, by name: what `predict` may replace.
const SOURCES: &str = "predictions.json";

fn sources(folder: &RunFolder) -> BTreeMap<String, PathBuf> {
    let text = fs::read_to_string(folder.file(SOURCES)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The file itself, however it is reached.
fn real(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf())
}

/// predictions-STEM.csv in the run folder for the rows of `file`, STEM being its name but for the endings of tables. A
/// name that holds the predictions of other rows is left to them: the next number is taken, which is said.
fn own_name(folder: &RunFolder, file: &Path) -> Result<(PathBuf, Option<String>), Error> {
    const ENDINGS: [&str; 13] =
        ["gz", "bz2", "xz", "zst", "zip", "csv", "tsv", "txt", "dat", "data", "json", "jsonl", "ndjson"];
    let name = file.file_name().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let mut stem = name.as_str();
    while let Some((rest, ending)) = stem.rsplit_once('.').filter(|(rest, _)| !rest.is_empty()) {
        if !ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) {
            break;
        }
        stem = rest;
    }
    let (sources, own) = (sources(folder), real(file));
    for i in 1u64.. {
        let name = if i == 1 { format!("predictions-{stem}.csv") } else { format!("predictions-{stem}-{i}.csv") };
        let path = folder.file(&name);
        let is_free = !fs::exists(&path) || sources.get(&name) == Some(&own);
        if is_free {
            let taken = || format!("predictions-{stem}.csv holds the predictions of other rows: these are in {name}");
            return Ok((path, (i > 1).then(taken)));
        }
    }
    Err(Error::usage("--out", "no free name in the run folder", "", "name a file with --out"))
}

fn remember(folder: &RunFolder, path: &Path, file: &Path) -> Result<(), Error> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let mut sources = sources(folder);
    sources.insert(name.to_string_lossy().into_owned(), real(file));
    folder.write_json(SOURCES, &sources)
}
