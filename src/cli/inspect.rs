//! `vifo inspect`: what a data file holds, what looks wrong, and what `vifo fit` would do with it.

use super::options::{KeyFlags, Reading, is_images, set};
use super::{hand_over, say};
use crate::data::inspect;
use crate::data::inspect::images::inspect_images;
use crate::data::load;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// A table (CSV, TSV, JSON, ...; .gz too) or an image set
    file: PathBuf,
    #[command(flatten)]
    keyed: KeyFlags<Reading>,
    /// The report as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if is_images(&args.file) {
        let report = inspect_images(&args.file)?;
        if args.json {
            hand_over(&serde_json::to_string(&report)?)
        } else {
            say(&report.to_string())
        }
        return Ok(());
    }
    let name = args.file.display().to_string();
    let mut table = toml::Table::new();
    set(&mut table, "data.file", &name, Some(name.clone()))?;
    args.keyed.apply(&mut table)?;
    let data = crate::method::checked(&table, &name)?.data;
    let table = load::read(&data, &args.file)?;
    let report = inspect::inspect(&table, data.target.as_deref(), data.task, &load::rules(&data))?;
    if args.json {
        hand_over(&serde_json::to_string(&report)?)
    } else {
        say(&report.to_string())
    }
    Ok(())
}
