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
    /// Lines to leave out at the top of the named files [default: as in training]
    #[arg(long, value_name = "N")]
    skip_lines: Option<usize>,
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
    let mut notes: Vec<String> = Model::unfinished(&folder)?.into_iter().collect();
    let recorded = folder.manifest()?.data;
    let changed = data.as_ref().is_ok_and(|d| d.hash != recorded);
    // Baselines are fitted on the training rows: on other rows they would be no baselines.
    let known = data.as_ref().ok().filter(|_| !changed);
    let (inside, mut test_results) = match &args.test {
        Some(file) => {
            let (rows, said) = model.read(file, true, args.skip_lines)?;
            notes.extend(said);
            let own = model.recipe.data.file.as_deref();
            if own.is_some_and(|own| matches!((own.canonicalize(), file.canonicalize()), (Ok(a), Ok(b)) if a == b)) {
                notes.push("this is the file that the run was trained on: most of its rows are no test; leave --test out for the held-out rows".into());
            }
            let p = model.predict(&device, &rows.x)?;
            let r = labelled(model.encoder.target_name(), known, &p, &rows)?;
            (p, r)
        }
        None => {
            let data = data.as_ref().map_err(Clone::clone)?;
            if changed {
                return Err(Error::data(
                    args.run.display().to_string(),
                    "the data file has changed since the run was trained: its test rows cannot be told from the others",
                    "",
                    "restore the file, or name rows never trained on with --test FILE",
                )
                .into());
            }
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
            let r = test(data, &p, &targets(&data.test))?;
            (p, r)
        }
    };
    test_results.set = "test".into();
    all.push(test_results);
    if let Some(file) = &args.shift {
        let (rows, said) = model.read(file, true, args.skip_lines)?;
        notes.extend(said);
        let p = model.predict(&device, &rows.x)?;
        all.push(Results { set: "shift".into(), ..labelled(model.encoder.target_name(), known, &p, &rows)? });
    }
    let mut outside = None;
    if let Some(file) = &args.ood {
        // That they lie outside is what they are for.
        let (rows, _) = model.read(file, false, args.skip_lines)?;
        let outside = outside.insert(model.predict(&device, &rows.x)?);
        all.push(match (&inside, &*outside) {
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
    }
    // The numbers first: a folder that cannot be written to is no reason to keep them back.
    let written = folder.write_json("evaluation.json", &all).and_then(|()| match &outside {
        Some(outside) => report::ood_figures(&folder.figures(), &inside, outside),
        None => Ok(vec![]),
    });
    let figures = match written {
        Ok(figures) => figures,
        Err(e) => {
            notes.push(format!("nothing was written: {e}"));
            vec![]
        }
    };
    for note in &notes {
        tell(&format!("note: {note}"));
    }
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
    target: &str,
    data: Option<&load::Loaded>,
    p: &Predictive,
    rows: &crate::data::Dataset,
) -> crate::error::Result<Results> {
    let y = targets(rows);
    match p {
        Predictive::Regression(r) => {
            let baselines = data.map(|d| results::Baselines::fit(&d.train, &targets(&d.train)));
            results::regression(r, &y, rows, baselines.as_ref(), target)
        }
        Predictive::Classification(c) => {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            Ok(results::classification(c, &classes, data.map(shares).as_deref()))
        }
    }
}
