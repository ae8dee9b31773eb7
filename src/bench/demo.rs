//! The toy of the paper, whole: six methods on the sinusoid, figure 1 (bands), figure 2 (samples from the priors) and a table.

use crate::data::encode::{FeatureKind, Target};
use crate::data::load::{self, Loaded};
use crate::data::targets_of as targets;
use crate::data::{Dataset, Inputs};
use crate::error::Result;
use crate::exec::Device;
use crate::figure::{self, BandPanel, BandsFigure, PriorFigure, PriorPanel, Saved};
use crate::method::{self, Predictive, base, vi, vifo};
use crate::recipe::Recipe;
use crate::recipe::keys;
use crate::report::band;
use crate::run::Fitted;
use crate::run::model;
use crate::run::prior;
use crate::tables::{TextTable, number};
use crate::train::plan::TrainingPlan;
use crate::train::{Driver, Ending, Event, Flow, Splits};
use crate::workflow::fit::fit;
use std::f64::consts::PI;
use std::path::Path;

/// A case of the demo: name of its run, title, method, whether with auxiliary inputs, and members; None = the recipe's.
struct Case {
    name: &'static str,
    title: &'static str,
    method: &'static str,
    auxiliary: bool,
    members: Option<u32>,
}

pub const VIFO_AUX: &str = "vifo-mean-aux";

const CASES: [Case; 6] = {
    const fn plain(method: &'static str, title: &'static str) -> Case {
        Case { name: method, title, method, auxiliary: false, members: None }
    }
    const fn auxiliary(name: &'static str, title: &'static str, members: Option<u32>) -> Case {
        Case { name, title, method: vifo::MEAN.name, auxiliary: true, members }
    }
    [
        plain(base::NAME, "Plain network"),
        plain(vifo::MEAN.name, "VIFO-mean"),
        auxiliary(VIFO_AUX, "VIFO-mean, auxiliary", None),
        auxiliary("vifo-mean-aux-x5", "VIFO-mean, auxiliary, 5 members", Some(5)),
        plain(vi::NAIVE.name, "VI-naive"),
        plain(vi::MEAN.name, "VI-mean"),
    ]
};

/// Methods of the demo as its table names them.
pub fn titles() -> Vec<&'static str> {
    CASES.iter().map(|c| c.title).collect()
}

pub struct Demo {
    pub table: TextTable,
    pub bands: Saved,
    pub priors: Saved,
    /// Mean sd outside the data, with and without auxiliary inputs.
    pub outside: (f64, f64),
}

/// Columns of the demo's table. The likelihoods are medians over `SEEDS` seeds, each with its own noise and weights.
pub const COLUMNS: [&str; 9] = [
    "method",
    "NLL on data, nats ↓",
    "NLL in gap ↓",
    "NLL outside ↓",
    "sd on data",
    "sd in gap",
    "sd outside",
    "seconds",
    "steps/s",
];
pub const SEEDS: u32 = 5;

/// The recipe of one method; `gap` is "figure" or "paper".
pub fn recipe(name: &str, gap: &str, seed: u32) -> Result<Recipe> {
    let text = crate::recipe::builtin::find("sinusoid").unwrap_or_default();
    let mut table = Recipe::parse(text, "sinusoid")?;
    keys::set(&mut table, "data.gap", gap, "demo")?;
    keys::set(&mut table, "seed", &seed.to_string(), "demo")?;
    keys::set(&mut table, "name", name, "demo")?;
    if let Some(case) = CASES.iter().find(|c| c.name == name) {
        keys::set(&mut table, "method.name", case.method, "demo")?;
        if !case.auxiliary {
            keys::set(&mut table, "method.eta_aux", "0", "demo")?;
        }
        if let Some(members) = case.members {
            keys::set(&mut table, "method.members", &members.to_string(), "demo")?;
        }
    }
    let mut recipe = method::checked(&table, "demo")?;
    method::of(&recipe)?.adapt_to_toy(&mut recipe);
    Ok(recipe)
}

pub fn run(
    dir: &Path,
    gap: &str,
    seed: u32,
    device: &Device,
    listen: &mut dyn FnMut(&str, &Event) -> Flow,
) -> Result<Option<Demo>> {
    let mut table = TextTable::new(&COLUMNS);
    let (mut panels, mut priors, mut outside) = (vec![], vec![], (f64::NAN, f64::NAN));
    for Case { name, title, .. } in CASES {
        let recipe = recipe(name, gap, seed)?;
        let fitted = fit(&recipe, &dir.join(name), true, device, &mut |event, _| listen(title, event))?;
        if fitted.results.is_none() {
            return Ok(None);
        }
        let Some(mut panel) = band(&fitted, &fitted.data, device, title, Some((-1.5 * PI, 1.5 * PI)))? else {
            return Ok(None);
        };
        panel.truth = Some(panel.x.iter().map(|x| 2.0 * libm::sin(*x)).collect());
        let sd = sd_by_region(&panel);
        if name == vifo::MEAN.name {
            outside.1 = sd[2];
        } else if name == VIFO_AUX {
            outside.0 = sd[2];
        }
        let Some(more) = other_seeds(name, gap, seed, device, &mut |event| listen(title, event))? else {
            return Ok(None);
        };
        let own =
            model::predict(&fitted.plan, &fitted.data.encoder, &fitted.trained, device, fitted.data.test.inputs())?;
        let nll = nll_by_region(&own, &fitted.data);
        table.rows.push(row(title, &fitted, medians(more.into_iter().chain([nll]).collect()), sd));
        if let Some(p) = prior_panel(&fitted, device, &panel)? {
            priors.push(p);
        }
        panels.push(panel);
    }
    let x_label = "x".to_string();
    let bands = figure::bands(
        dir,
        "figure1_bands",
        &BandsFigure {
            title: "Predictive bands on 100 points of 2 sin x + noise".into(),
            x_label: x_label.clone(),
            y_label: "y".into(),
            panels,
            limits: None,
        },
    )?;
    let figure = PriorFigure {
        title: "Predictions sampled from each learned prior".into(),
        x_label,
        y_label: "y".into(),
        log: true,
        panels: priors,
    };
    let priors = figure::prior_samples(dir, "figure2_priors", &figure)?;
    crate::run::write_atomic(&dir.join("table.csv"), table.csv().as_bytes())?;
    crate::run::write_atomic(&dir.join("table.md"), table.render(crate::tables::Format::Markdown).as_bytes())?;
    Ok(Some(Demo { table, bands, priors, outside }))
}

/// Mean predictive sd on the training inputs, between them, and outside them.
fn sd_by_region(panel: &BandPanel) -> [f64; 3] {
    let inner = panel.train_x.iter().map(|x| x.abs()).fold(f64::INFINITY, f64::min);
    let outer = panel.train_x.iter().map(|x| x.abs()).fold(0.0, f64::max);
    let mean = |inside: &dyn Fn(f64) -> bool| {
        let v: Vec<f64> =
            panel.x.iter().zip(&panel.total_sd).filter(|(x, _)| inside(x.abs())).map(|(_, s)| *s).collect();
        v.iter().sum::<f64>() / v.len().max(1) as f64
    };
    // Outside as far as the test inputs go.
    [mean(&|x| x >= inner && x <= outer), mean(&|x| x < inner), mean(&|x| x > outer && x <= PI)]
}

/// The same method with the seeds after `seed`, side by side in one program: the NLL of each by region. None if it was stopped.
fn other_seeds(
    name: &str,
    gap: &str,
    seed: u32,
    device: &Device,
    listen: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Option<Vec<[f64; 3]>>> {
    let recipes = (1..SEEDS).map(|i| recipe(name, gap, seed.wrapping_add(i))).collect::<Result<Vec<_>>>()?;
    let data = recipes.iter().map(load::load).collect::<Result<Vec<Loaded>>>()?;
    let plan = TrainingPlan::new(&recipes[0], data[0].train.n, &data[0].encoder)?;
    let mut splits = Splits::new(&plan, &data.iter().collect::<Vec<_>>(), 1, device)?;
    if Driver::default().advance_by(&mut splits, u64::MAX, &mut |_, event| Ok(listen(&event)))? == Some(Ending::Stopped)
    {
        return Ok(None);
    }
    let trained = splits.finalize(&data.iter().map(|d| &d.train).collect::<Vec<_>>(), device)?;
    let predicted = splits.predict(&trained, &data.iter().map(|d| &d.test).collect::<Vec<_>>(), device)?;
    let of = |(mut p, data): (Predictive, &Loaded)| {
        if let (Predictive::Regression(r), Target::Regression { mean, sd, .. }) = (&mut p, &data.encoder.target) {
            r.rescale(*mean, *sd);
        }
        nll_by_region(&p, data)
    };
    Ok(Some(predicted.into_iter().zip(&data).map(of).collect()))
}

/// Mean -log p of the test rows among the training inputs, between them, and outside them; predictions in the user's unit.
fn nll_by_region(predictive: &Predictive, data: &Loaded) -> [f64; 3] {
    let (Predictive::Regression(r), Some(FeatureKind::Numeric { mean, sd, .. })) =
        (predictive, data.encoder.features.first().map(|f| &f.kind))
    else {
        return [f64::NAN; 3];
    };
    let distances = |set: &Dataset| set.x.iter().map(|x| (mean + sd * f64::from(*x)).abs()).collect::<Vec<_>>();
    let train = distances(&data.train);
    let (inner, outer) =
        (train.iter().copied().fold(f64::INFINITY, f64::min), train.iter().copied().fold(0.0, f64::max));
    let (mut sums, mut counts) = ([0.0; 3], [0.0; 3]);
    for (i, (x, y)) in distances(&data.test).iter().zip(targets(&data.test)).enumerate() {
        let region = if *x < inner {
            1
        } else if *x > outer {
            2
        } else {
            0
        };
        sums[region] -= r.log_density(i, y);
        counts[region] += 1.0;
    }
    std::array::from_fn(|i| sums[i] / counts[i])
}

/// Of each region over the seeds.
fn medians(of_seeds: Vec<[f64; 3]>) -> [f64; 3] {
    std::array::from_fn(|region| {
        let mut values: Vec<f64> = of_seeds.iter().map(|v| v[region]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

fn row(title: &str, fitted: &Fitted, nll: [f64; 3], sd: [f64; 3]) -> Vec<String> {
    let steps = fitted.rows.last().map_or(0.0, |r| r.step as f64);
    let mut row = vec![title.to_string()];
    row.extend(nll.map(number));
    row.extend(sd.map(number));
    row.push(format!("{:.2}", fitted.seconds));
    row.push(format!("{:.0}", steps / fitted.seconds.max(1e-9)));
    row
}

/// Curves drawn a prior.
const CURVES: u32 = 40;

/// One panel of the paper's figure 2; None where the method has none there.
fn prior_panel(fitted: &Fitted, device: &Device, panel: &BandPanel) -> Result<Option<PriorPanel>> {
    let Fitted { plan, trained, data, .. } = fitted;
    if plan.setup.members > 1 || (plan.setup.aux.is_none() && plan.setup.method.name() == vifo::MEAN.name) {
        return Ok(None);
    }
    let x: Vec<f64> = panel.x.iter().step_by(2).copied().collect();
    let samples = prior::curves(plan, &data.encoder, &trained.weights, device, &x, CURVES, plan.seed)?;
    Ok(samples.map(|samples| PriorPanel {
        title: panel.title.clone(),
        x,
        samples,
        train_x: panel.train_x.clone(),
        train_y: panel.train_y.clone(),
    }))
}

/// Predictive sd at the points of a band, for tests.
pub fn sd_at(fitted: &Fitted, device: &Device, x: &[f32]) -> Result<Vec<f64>> {
    match model::predict(&fitted.plan, &fitted.data.encoder, &fitted.trained, device, Inputs::Rows(x))? {
        Predictive::Regression(r) => Ok((0..r.n()).map(|i| r.sd(i)).collect()),
        Predictive::Classification(_) => Ok(vec![]),
    }
}
