//! `vifo calibrate`: temperature and conformal intervals or sets of a trained run, stored in it.

use super::options::open_run;
use super::{hand_over, say, say_line, shell, tell};
use crate::error::Error;
use crate::exec::Device;
use crate::metrics::conformal::Sets;
use crate::tables::Format;
use crate::workflow::calibrate::{CalibrateRequest, calibrate};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// Table or image set to calibrate on, with the target: rows neither trained nor tested on [default: the run's validation
    /// part]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Miscoverage: share of new rows that may fall outside the interval or set; or several: 0.1,0.05 [default: 0.1]
    #[arg(long, value_name = "X,X", allow_hyphen_values = true)]
    alpha: Vec<String>,
    /// Kind of prediction sets for classes: aps or lac [default: aps]
    #[arg(long, value_enum, hide_possible_values = true)]
    sets: Option<Sets>,
    /// Lines to skip at the top of FILE [default: as in training]
    #[arg(long, value_name = "N")]
    skip_lines: Option<usize>,
    /// Accept files of the run that were edited or replaced since vifo wrote them
    #[arg(long)]
    accept_changed: bool,
    /// auto, cpu, gpu, gpu:1, gpu:0,gpu:1, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    device: String,
    /// Print what was stored as one JSON line
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

/// The numbers of `--alpha`, which may be repeated and may hold several with commas between.
fn alphas(texts: &[String]) -> Result<Vec<f64>, Error> {
    let numbers = |text: &String| {
        let all: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        all.map_err(|_| Error::usage("--alpha", format!("'{text}'"), "numbers such as 0.1 or 0.1,0.05", ""))
    };
    Ok(texts.iter().map(numbers).collect::<Result<Vec<_>, Error>>()?.concat())
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = open_run(&args.run, args.accept_changed)?;
    let device = Device::open(&args.device)?;
    let request = CalibrateRequest {
        data: args.data.clone(),
        alpha: alphas(&args.alpha)?,
        sets: args.sets,
        skip_lines: args.skip_lines,
    };
    let done = calibrate(&folder, &device, &request)?;
    let c = &done.calibration;
    if args.json {
        hand_over(&serde_json::to_string(c)?);
    } else if !args.quiet {
        let run = shell(&args.run);
        say_line(&format!("{} calibrated on {}", args.run.display(), c.on()));
        if let Some(said) = c.temperature_said() {
            say_line(&said);
        }
        say(&c.definition());
        for (at, target) in folder.encoder()?.targets().enumerate() {
            say(&c.of_target(at).levels_table(target.name()).render(Format::Text));
        }
        say_line(&format!("`vifo predict {run} FILE` and `vifo evaluate {run}` use it from now on"));
    }
    if !args.quiet {
        for note in done.notes {
            tell(&format!("note: {}", note.trim_end_matches('.')));
        }
    }
    Ok(())
}
