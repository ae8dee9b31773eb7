//! `vifo predict`: new rows through a trained run, to a CSV.

use super::progress::Style;
use super::{say, tell};
use crate::exec::Device;
use crate::run::{Model, RunFolder, tables};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// Table with the same columns as the training file; the target may be absent
    file: PathBuf,
    /// CSV to write [default: predictions-FILE.csv in the run folder; - = stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// auto, cpu, gpu, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    device: String,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let style = Style::of(args.quiet, false);
    let folder = RunFolder::open(&args.run)?;
    let model = Model::open(&folder)?;
    let (_, data, dropped) = model.read(&args.file, false)?;
    let device = Device::open(&args.device)?;
    let predictive = model.predict(&device, &data.x)?;
    let y = (!data.y.is_empty()).then(|| model.targets(&data.y));
    let table = tables::predictions(&predictive, &model.encoder, &data.ids, y.as_deref());
    if args.out.as_deref().is_some_and(|p| p.as_os_str() == "-") {
        say(&table.csv());
    } else {
        let stem = args
            .file
            .file_name()
            .map_or_else(String::new, |s| s.to_string_lossy().split('.').next().unwrap_or("").to_string());
        let path = args.out.clone().unwrap_or_else(|| folder.file(&format!("predictions-{stem}.csv")));
        tables::write_csv(&path, &table)?;
        if style == Style::Normal {
            say(&format!("{} predictions of {} in {}", data.n, model.encoder.target_name(), path.display()));
        }
    }
    if dropped > 0 && style == Style::Normal {
        tell(&format!("note: {dropped} rows left out because a cell is missing"));
    }
    Ok(())
}
