//! `vifo predict`: new rows through a trained run, to a CSV.

use super::options::{open_run, yes_or_no};
use super::{say, tell};
use crate::data::images::Part;
use crate::data::source::is_stream;
use crate::error::Error;
use crate::exec::Device;
use crate::run::explain::explain;
use crate::run::model::{NewRows, targets};
use crate::run::{Model, calibrate, tables};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// Table with the same columns as the training file, the target may be absent; for a run on images an image, a folder of
    /// images or an image set
    file: PathBuf,
    /// CSV to write [default: predictions-FILE.csv in the run folder; - = stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Lines to leave out at the top of the file [default: as in training]
    #[arg(long, value_name = "N")]
    skip_lines: Option<usize>,
    /// Also say what the predictions rest on: the importance of each column over the validation rows, and for each row where
    /// its uncertainty comes from
    #[arg(long)]
    explain: bool,
    /// yes or no: whether the first line holds names [default: found, by the names of the training file too]
    #[arg(long, value_name = "YES|NO")]
    header: Option<String>,
    /// Predict as if the run had not been calibrated
    #[arg(long)]
    uncalibrated: bool,
    /// Take the run's files as they are, though they were edited or replaced since vifo wrote them
    #[arg(long)]
    accept_changed: bool,
    /// auto, cpu, gpu, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    device: String,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = open_run(&args.run, args.accept_changed)?;
    let model = Model::open(&folder)?;
    let calibration = if args.uncalibrated { None } else { calibrate::current(&folder)? };
    let to_stdout = args.out.as_deref().is_some_and(|p| p.as_os_str() == "-");
    let stem = args
        .file
        .file_name()
        .map_or_else(String::new, |s| s.to_string_lossy().split('.').next().unwrap_or("").to_string());
    let stem = if is_stream(&args.file) { "stream".into() } else { stem };
    let path = args.out.clone().unwrap_or_else(|| folder.file(&format!("predictions-{stem}.csv")));
    let same = |a: &PathBuf, b: &PathBuf| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
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
    let NewRows { data, mut notes, refused } = model.read_all(&args.file, Part::All, false, args.skip_lines, header)?;
    notes.extend(Model::caveats(&folder)?);
    let device = Device::open(&args.device)?;
    let predictive = model.predict(&device, data.inputs())?;
    let y = (!data.y.is_empty()).then(|| targets(&data));
    let explained = match args.explain {
        true => Some(explain(&folder, &model, &device, &data, &mut |said| {
            if !args.quiet {
                tell(said);
            }
        })?),
        false => None,
    };
    let mut table = match &calibration {
        Some(c) => {
            let (table, said) = c.table(&predictive, &model.encoder, &data.ids, y.as_deref());
            notes.extend(said);
            table
        }
        None => tables::predictions(&predictive, &model.encoder, &data.ids, y.as_deref()),
    };
    tables::mark_refused(&mut table, &refused);
    if let Some(explained) = &explained {
        explained.extend(&mut table);
        explained.save(&folder)?;
        notes.extend(explained.words());
    }
    if to_stdout {
        say(&table.csv());
    } else {
        tables::write_csv(&path, &table)?;
        if !args.quiet {
            say(&format!("{} predictions of {} in {}", data.n, model.encoder.target_name(), path.display()));
            if let Some(explained) = &explained {
                say(&explained.table().render(tables::Format::Text));
                say(&format!("importance.csv and figures/importance.svg in {}", folder.path.display()));
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
