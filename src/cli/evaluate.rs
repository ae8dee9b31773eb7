//! `vifo evaluate`: a trained run on a test set, a shifted set and an out-of-distribution set.

use super::{say, tell};
use crate::data::load;
use crate::error::Error;
use crate::exec::Device;
use crate::method::Predictive;
use crate::run::fit::{shares, test};
use crate::run::model::targets;
use crate::run::tables::Format;
use crate::run::{Model, Results, RunFolder, report, results};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// Table to test on [default: the run's own test rows]
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Table from a shifted distribution, with the target
    #[arg(long, value_name = "FILE")]
    shift: Option<PathBuf>,
    /// Table of rows unlike the training rows; the target may be absent
    #[arg(long, value_name = "FILE")]
    ood: Option<PathBuf>,
    /// auto, cpu, gpu, software, or part of an adapter's name
    #[arg(long, default_value = "auto")]
    device: String,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Results as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = RunFolder::open(&args.run)?;
    let model = Model::open(&folder)?;
    let device = Device::open(&args.device)?;
    let mut all: Vec<Results> = vec![];

    // The run's own data: its test rows, and the training rows that the baselines are fitted on.
    let data = load::load(&model.recipe);
    let (inside, mut test_results) = match &args.test {
        Some(file) => {
            let (_, rows, _) = model.read(file, true)?;
            let p = model.predict(&device, &rows.x)?;
            let r = labelled(&model, data.as_ref().ok(), &p, &rows)?;
            (p, r)
        }
        None => {
            let data = data.as_ref().map_err(Clone::clone)?;
            if data.test.n == 0 {
                let place = args.run.display().to_string();
                return Err(Error::usage(
                    place,
                    "the run has no test rows of its own",
                    "",
                    "name a table with --test FILE",
                )
                .into());
            }
            let p = model.predict(&device, &data.test.x)?;
            let r = test(data, &p, &targets(&model.encoder, &data.test.y))?;
            (p, r)
        }
    };
    test_results.set = "test".into();
    all.push(test_results);
    if let Some(file) = &args.shift {
        let (_, rows, _) = model.read(file, true)?;
        let p = model.predict(&device, &rows.x)?;
        all.push(Results { set: "shift".into(), ..labelled(&model, data.as_ref().ok(), &p, &rows)? });
    }
    let mut figures = vec![];
    if let Some(file) = &args.ood {
        let (_, rows, _) = model.read(file, false)?;
        let outside = model.predict(&device, &rows.x)?;
        all.push(match (&inside, &outside) {
            (Predictive::Classification(a), Predictive::Classification(b)) => results::ood_classification(a, b),
            (Predictive::Regression(a), Predictive::Regression(b)) => results::ood_regression(a, b),
            _ => {
                return Err(Error::run(
                    "evaluate",
                    "two kinds of prediction",
                    "this is a bug of vifo: please report it",
                )
                .into());
            }
        });
        figures = report::ood_figures(&folder.figures(), &inside, &outside)?;
    }
    folder.write_json("evaluation.json", &all)?;
    if args.json {
        say(&serde_json::to_string(&all)?);
        return Ok(());
    }
    for r in &all {
        say(&format!("{}: {} rows", r.set, r.rows));
        say(&r.table(&model.recipe.method.name).render(args.format));
        for note in &r.notes {
            tell(&format!("note: {note}"));
        }
    }
    for (figure, caption) in figures {
        say(&format!("figure {}: {caption}", figure.display()));
    }
    Ok(())
}

/// Metrics of rows with a target, beside the baselines if the training rows can still be read.
fn labelled(
    model: &Model,
    data: Option<&load::Loaded>,
    p: &Predictive,
    rows: &crate::data::Dataset,
) -> crate::error::Result<Results> {
    let y = model.targets(&rows.y);
    match p {
        Predictive::Regression(r) => {
            let baselines = data.map(|d| results::Baselines::fit(&d.train, &targets(&d.encoder, &d.train.y)));
            results::regression(r, &y, rows, baselines.as_ref(), model.encoder.target_name())
        }
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            Ok(results::classification(c, &classes, data.map(shares).as_deref()))
        }
    }
}
