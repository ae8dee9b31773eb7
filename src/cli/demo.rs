//! `vifo demo`: the paper's toy in one command.

use super::progress::{Style, duration};
use super::{say, say_line, tell};
use crate::base::clock::Instant;
use crate::bench::demo;
use crate::exec::Device;
use crate::tables::Format;
use crate::train::{Event, Flow};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Folder for figures, table and run folders
    #[arg(long, default_value = "demo", value_name = "FOLDER")]
    out: PathBuf,
    /// Training inputs: figure = +-[pi/4, 3pi/4] as in the paper's figure, paper = +-[pi/2, 3pi/4] as in its text
    #[arg(long, default_value = "figure", value_parser = ["figure", "paper"])]
    gap: String,
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// cpu, auto, gpu, gpu:1, gpu:0,gpu:1, software, or part of an adapter's name
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Results only
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let style = Style::of(args.quiet, false);
    let start = Instant::now();
    let device = Device::open(&args.device)?;
    let demo = demo::run(&args.out, &args.gap, args.seed, &device, &mut |title, event| {
        if let (Event::Started { device, .. }, Style::Normal) = (event, style) {
            tell(&format!("training {title} on {device}"));
        }
        Flow::Continue
    })?;
    let Some(demo) = demo else { return Ok(()) };
    say("The sinusoid of the VIFO paper: 100 points of y = 2 sin x + noise (sd 0.1), with a gap in the middle.");
    say(&format!(
        "NLL of test points among the training inputs, in their gap and outside them, median of {} seeds; sd is the mean predictive standard deviation.\n",
        demo::SEEDS
    ));
    say(&demo.table.render(Format::Text));
    let (with, without) = demo.outside;
    say(&format!(
        "Auxiliary inputs make the band outside the data {:.1} times as wide ({with:.2} against {without:.2}): VIFO then knows where it has seen nothing.",
        with / without
    ));
    say("Read off: where there is no data, in the gap and outside, a high NLL says that a method was sure and wrong.");
    say_line(&format!("Figure 1, bands:         {}", demo.bands.png.display()));
    say_line(&format!("Figure 2, prior samples: {}", demo.priors.png.display()));
    say(
        "In it VI-mean's samples spread no more where data is missing. The paper's caption says they do: its picture follows from a variance of gamma a, where a draw from the learned prior has gamma (2 - a).",
    );
    say(&format!(
        "Done in {}. Next: `vifo fit DATA.csv --target COLUMN` on your own table (or `cargo run --release -- fit ...`).",
        duration(start.elapsed().as_secs_f64())
    ));
    Ok(())
}
