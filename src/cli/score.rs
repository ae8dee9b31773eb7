//! `vifo score`: another tool's predictions through the metrics and figures of our own runs.

use super::options::{KeyFlags, Layout, set};
use super::{hand_over, say, say_line, show, tell};
use crate::data::load::read_options;
use crate::recipe::key;
use crate::results::Results;
use crate::results::of_sets;
use crate::study::score::{self, ScoreRequest};
use crate::tables::Format;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Table with the true values and mean and sd, quantiles, lower and upper, or one column of probabilities per class
    file: PathBuf,
    /// Column of the true values [default: y, y_true, target, label, actual, ... or the only column left]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    target: Option<String>,
    /// Column of the predicted mean [default: mean, y_pred, pred, prediction, mu, yhat, ...]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "probs")]
    mean: Option<String>,
    /// Column of the predicted sd [default: sd, std, sigma, y_std, ...; the square root of variance]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "probs")]
    sd: Option<String>,
    /// Column of the lower end of an interval [default: lower, lo, lower_90, pi_low, ...]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "probs", requires = "upper")]
    lower: Option<String>,
    /// Column of its upper end [default: upper, hi, upper_90, pi_high, ...]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "probs", requires = "lower")]
    upper: Option<String>,
    /// Level of that interval, 0.9 or 90 [default: from the names]
    #[arg(long, value_name = "LEVEL")]
    level: Option<f64>,
    /// Columns of the probabilities, named p_LABEL or LABEL; one alone is that of the second of two classes [default: all
    /// p_..., prob_..., proba_..., or the labels of the target]
    #[arg(long, value_name = "COLUMN", num_args = 1..)]
    probs: Vec<String>,
    /// Predictions of rows unlike the training rows, with the same columns; the target may be absent
    #[arg(long, value_name = "FILE")]
    ood: Option<PathBuf>,
    /// Folder for figures and results.json [default: none are written]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Results as one JSON line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keyed: KeyFlags<Layout>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let name = args.file.display().to_string();
    let mut table = toml::Table::new();
    set(&mut table, "data.file", &name, Some(name.clone()))?;
    args.keyed.apply(&mut table)?;
    // A prediction that is left out would flatter the rest.
    set(&mut table, key!(data.strict).path, "score", Some("true".into()))?;
    let options = read_options(&crate::method::checked(&table, &name)?.data);
    let request = ScoreRequest {
        target: args.target.clone(),
        mean: args.mean.clone(),
        sd: args.sd.clone(),
        lower: args.lower.clone(),
        upper: args.upper.clone(),
        level: args.level,
        probs: args.probs.clone(),
    };
    let scored = score::score(&args.file, &options, &request)?;
    let outside = match &args.ood {
        Some(file) => Some(score::out_of_distribution(file, &options, &scored, &request)?),
        None => None,
    };
    let figures = match &args.out {
        Some(dir) => score::write(dir, &scored, outside.as_ref())?,
        None => vec![],
    };
    let all: Vec<&Results> = std::iter::once(&scored.results).chain(outside.as_ref().map(|(_, r)| r)).collect();
    if args.json {
        hand_over(&serde_json::to_string(&all)?);
        return Ok(());
    }
    let ours = args.file.file_stem().map_or_else(|| name.clone(), |s| s.to_string_lossy().to_string());
    // Markdown, LaTeX and CSV are there to be piped: the table alone.
    if args.format != Format::Text {
        show(&of_sets(&all, &ours, args.format).render(args.format), args.format);
    }
    for r in all {
        if args.format == Format::Text {
            say_line(&format!("{}: {} rows, target {}", r.set, r.rows, scored.target));
            say(&r.table(&ours).render(Format::Text));
        }
        for note in &r.notes {
            tell(&format!("note: {note}"));
        }
    }
    for (figure, caption) in figures {
        tell(&format!("figure {}: {caption}", figure.display()));
    }
    Ok(())
}
