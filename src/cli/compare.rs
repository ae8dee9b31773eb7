//! `vifo compare`: runs side by side, mean and sd over seeds, win rates, overlaid learning curves.

use super::{hand_over, show, tell};
use crate::report::compare::{self, Spread};
use crate::tables::Format;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Runs of one recipe that differ only in seed or split are averaged: mean ± sd, or as --spread says. * marks the best mean."
)]
pub struct Args {
    /// Run folders, or folders of run folders
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Metric to show, such as nll (repeat for more); all = all [default: rmse, nll, crps, coverage_90 or accuracy, nll,
    /// brier, ece_equal_mass; of several targets rmse, nll, coverage_90 of each]
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// What stands behind a mean over seeds
    #[arg(long, value_enum, default_value = "sd")]
    spread: Spread,
    /// Folder for the table in all formats and the learning curves [default: none are written]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Everything as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let (runs, notes) = compare::open(&args.runs)?;
    let comparison = compare::compare(runs, &args.metrics, notes)?;
    let figures = match &args.out {
        Some(dir) => compare::write(dir, &comparison, args.spread)?,
        None => vec![],
    };
    if args.json {
        hand_over(&serde_json::to_string(&comparison)?);
        return Ok(());
    }
    for note in &comparison.notes {
        tell(&format!("note: {note}"));
    }
    show(&comparison.render(args.format, args.spread), args.format);
    if let Some(dir) = &args.out {
        tell(&format!("tables in {}", dir.join("comparison.*").display()));
    }
    for figure in figures {
        tell(&format!("figure {}", figure.display()));
    }
    Ok(())
}
