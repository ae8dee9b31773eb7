//! The work itself: look what is there, then train and test the splits that are missing as `vifo fit` would, in memory.

use super::ask::{FIRST, ToolsRequest};
use super::metrics::{COVERAGE, CRPS, Figures, METRICS, NLL, RMSE, SECONDS, WIDTH};
use super::report;
use super::store::{SplitResult, Store, default_of};
use crate::base::clock::Instant;
use crate::base::counted::counted;
use crate::base::fs;
use crate::base::machine;
use crate::data::targets_of;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method;
use crate::recipe::{Recipe, key, keys};
use crate::results;
use crate::run::folder::Manifest;
use crate::run::{RunFolder, model};
use crate::study::reproduce::benchmark::{Benchmark, BenchmarkEvent};
use crate::study::reproduce::tables::ReproduceReport;
use crate::study::reproduce::uci::sets::{self, Set, Source};
use crate::study::run_set::{self, Outcome, RunEnd};
use crate::train::{Ending, Flow, drive};
use crate::workflow::Training;
use std::collections::BTreeMap;

/// A request with everything looked up.
pub struct Prepared {
    pub request: ToolsRequest,
    pub units: Vec<Unit>,
    pub store: Store,
    /// What is left out and why, a sentence each.
    pub notes: Vec<String>,
}

/// A set, and what is to be trained of it.
pub struct Unit {
    pub source: Source,
    /// Identifies its results (`default_of`).
    pub default: String,
    pub splits: Vec<u32>,
    /// (seed, split) of those that are not done.
    pub todo: Vec<(u32, u32)>,
}

/// Steps are timed for this long where no split of a set is done, in seconds.
const PROBE: f64 = 0.3;

/// The recipe of `vifo fit FILE --target T --split-file F --split N --seed S`, with the flags that were asked for.
///
/// # Errors
/// A value that the recipe does not take.
pub fn recipe(request: &ToolsRequest, source: &Source, seed: u32, split: u32) -> Result<Recipe> {
    const PLACE: &str = "reproduce tables";
    let mut table = source.keys(split)?;
    let device = toml::Value::String(request.device.clone()).to_string();
    keys::set(&mut table, key!(seed).path, &seed.to_string(), PLACE)?;
    keys::set(&mut table, key!(device).path, &device, PLACE)?;
    for (key, value) in &request.keys {
        keys::set(&mut table, key, &value.to_string(), PLACE)?;
    }
    method::preset(&mut table)?;
    method::checked(&table, PLACE)
}

/// Finds data and results. Nothing is trained.
///
/// # Errors
/// A set that was asked for and is not there; damaged results.
pub fn prepare(request: ToolsRequest) -> Result<Prepared> {
    let (there, missing) = sets::find(&request.data, request.sets.as_deref())?;
    let store = Store::read(&request.folder)?;
    let (mut units, mut short) = (vec![], vec![]);
    for set in there {
        let source = Source::open(set, &request.data, &request.folder)?;
        let splits: Vec<u32> = match &request.splits {
            None => (FIRST..source.n_splits).collect(),
            Some(list) => list.iter().copied().filter(|s| *s < source.n_splits).collect(),
        };
        let Some(first) = splits.first() else {
            short.push(format!("{} has only {} splits: left out", set.name, source.n_splits));
            continue;
        };
        let default = default_of(&recipe(&request, &source, request.seeds[0], *first)?)?;
        let mut unit = Unit { source, default, splits, todo: vec![] };
        let done: Vec<(u32, u32)> = store.results.iter().filter(|r| unit.owns(r)).map(|r| (r.seed, r.split)).collect();
        let all = request.seeds.iter().flat_map(|seed| unit.splits.iter().map(|split| (*seed, *split)));
        unit.todo = all.filter(|n| !done.contains(n)).collect();
        units.push(unit);
    }
    let mut p = Prepared { request, units, store, notes: vec![] };
    p.notes = p.first_notes(&missing);
    p.notes.extend(short);
    Ok(p)
}

impl Unit {
    pub fn set(&self) -> &'static Set {
        self.source.set
    }

    /// Whether a line of the results is of this set's data and default.
    fn owns(&self, r: &SplitResult) -> bool {
        r.set == self.set().name && r.default == self.default && r.data == self.source.hash
    }

    /// "yacht, split 3", and the seed where there are several.
    fn title(&self, (seed, split): (u32, u32), seeds: usize) -> String {
        let seed = if seeds > 1 { format!(", seed {seed}") } else { String::new() };
        format!("{}, split {split}{seed}", self.set().name)
    }
}

impl Prepared {
    fn first_notes(&self, missing: &[&str]) -> Vec<String> {
        let request = &self.request;
        let mut notes = vec![];
        if !missing.is_empty() {
            notes.push(format!("{} not found in {}: left out", missing.join(", "), request.data.display()));
        }
        let computed: Vec<&str> = self.units.iter().filter(|u| u.source.computed).map(|u| u.set().name).collect();
        if !computed.is_empty() {
            notes.push(format!("no test_index.txt for {}: the protocol's splits are computed", computed.join(", ")));
        }
        let looked_at = format!("splits 0 to {}", FIRST - 1);
        match request.splits.iter().flatten().any(|s| *s < FIRST) {
            true => notes.push(format!("{looked_at} were looked at while the default was being chosen")),
            false => {
                notes.push(format!("{looked_at} are left out: they were looked at while the default was being chosen"))
            }
        }
        let others = self.store.results.iter().filter(|r| !self.units.iter().any(|u| u.owns(r)));
        let others = others.filter(|r| self.units.iter().any(|u| u.set().name == r.set)).count();
        if others > 0 {
            let lines = if others == 1 { "1 line is".into() } else { format!("{others} lines are") };
            notes
                .push(format!("{}: {lines} of another default or other data, and left out", self.store.path.display()));
        }
        notes
    }

    /// Ours of a set, split by split; seeds of a split are averaged, for they share its rows.
    pub fn ours(&self, unit: &Unit) -> BTreeMap<u32, Figures> {
        let wanted =
            |r: &&SplitResult| unit.owns(r) && unit.splits.contains(&r.split) && self.request.seeds.contains(&r.seed);
        let mut all: BTreeMap<u32, Vec<[f64; METRICS.len()]>> = BTreeMap::new();
        for r in self.store.results.iter().filter(wanted) {
            let mut v = [0.0; METRICS.len()];
            (v[RMSE], v[NLL], v[CRPS]) = (r.rmse, r.nll, r.crps);
            (v[COVERAGE], v[WIDTH], v[SECONDS]) = (r.coverage_90, r.width_90, r.seconds);
            all.entry(r.split).or_default().push(v);
        }
        let mean =
            |runs: &[[f64; METRICS.len()]], at: usize| runs.iter().map(|v| v[at]).sum::<f64>() / runs.len() as f64;
        all.into_iter().map(|(split, runs)| (split, std::array::from_fn(|at| Some(mean(&runs, at))))).collect()
    }

    fn probe(&self, unit: &Unit, device: &Device) -> Result<f64> {
        let (seed, split) = unit.todo[0];
        let mut recipe = recipe(&self.request, &unit.source, seed, split)?;
        let temporary = std::env::temp_dir();
        // What is only asked for leaves nothing behind.
        let folder = tempfile::tempdir_in(&temporary).map_err(|e| Error::io(&temporary, "create", &e))?;
        if unit.source.computed {
            let file = folder.path().join("splits.txt");
            unit.source.write_splits_to(&file)?;
            recipe.data.split_file = Some(file);
        }
        let mut training = Training::new(&recipe, device)?;
        // The first step fills caches.
        training.advance(1)?;
        let (began, first) = (Instant::now(), training.trainer.step());
        while began.elapsed().as_secs_f64() < PROBE && training.trainer.ending().is_none() {
            training.advance(8)?;
        }
        // Losses are read back where a GPU would still be at work.
        training.trainer.losses()?;
        let steps = (training.trainer.step() - first).max(1);
        Ok(began.elapsed().as_secs_f64() / steps as f64 * training.trainer.plan().total_steps() as f64)
    }

    /// The recipe of a set's first split, to be read, and to be trained with `vifo fit`.
    fn write_recipe(&self, u: usize) -> Result<()> {
        let unit = &self.units[u];
        let folder = self.request.folder.join("recipes");
        fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, "create", &e))?;
        let recipe = recipe(&self.request, &unit.source, self.request.seeds[0], unit.splits[0])?;
        RunFolder { path: folder }.write(&format!("{}.toml", unit.set().name), recipe.to_toml()?.as_bytes())
    }

    fn split(
        &mut self,
        u: usize,
        (seed, split): (u32, u32),
        device: &Device,
        listen: &mut dyn FnMut(BenchmarkEvent) -> Flow,
    ) -> Result<Ending> {
        let unit = &self.units[u];
        let recipe = recipe(&self.request, &unit.source, seed, split)?;
        let (ending, tested) = train_and_test(&recipe, device, listen)?;
        listen(BenchmarkEvent::Ended { ending });
        let Some(Tested { figures, device }) = tested else { return Ok(Ending::Stopped) };
        let (vifo, git) = Manifest::version();
        let result = SplitResult {
            set: unit.set().name.into(),
            split,
            seed,
            rmse: figures[RMSE],
            nll: figures[NLL],
            crps: figures[CRPS],
            coverage_90: figures[COVERAGE],
            width_90: figures[WIDTH],
            seconds: figures[SECONDS],
            vifo,
            git,
            device,
            default: unit.default.clone(),
            data: unit.source.hash.clone(),
        };
        self.store.add(result)?;
        self.units[u].todo.retain(|n| *n != (seed, split));
        Ok(ending)
    }
}

impl Benchmark for Prepared {
    fn heading(&self) -> String {
        format!("tables: {}", counted(self.units.len(), "set"))
    }

    fn scope(&self) -> String {
        String::new()
    }

    fn trains(&self) -> bool {
        !self.request.no_train
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn parts(&self) -> &'static str {
        "splits"
    }

    fn todo(&self) -> usize {
        self.units.iter().map(|u| u.todo.len()).sum()
    }

    fn plan(&self) -> Vec<String> {
        let seeds = self.request.seeds.len();
        self.units.iter().flat_map(|u| u.todo.iter().map(move |n| u.title(*n, seeds))).collect()
    }

    fn estimate(&self, device: &Device, go_on: &mut dyn FnMut() -> bool) -> Result<f64> {
        let mut seconds = 0.0;
        for unit in self.units.iter().filter(|u| !u.todo.is_empty()) {
            if !go_on() {
                return Ok(seconds);
            }
            let done: Vec<f64> = self.store.results.iter().filter(|r| unit.owns(r)).map(|r| r.seconds).collect();
            let each = match done.len() {
                0 => self.probe(unit, device)?,
                n => done.iter().sum::<f64>() / n as f64,
            };
            seconds += each * unit.todo.len() as f64;
        }
        Ok(seconds)
    }

    fn carry_out(&mut self, device: &Device, listen: &mut dyn FnMut(BenchmarkEvent) -> Flow) -> Result<Outcome> {
        if self.todo() == 0 || self.request.no_train {
            return Ok(Outcome::Done);
        }
        let _lock = run_set::lock_folder(&self.request.folder)?;
        let (of, mut number, mut failed) = (self.todo(), 0, 0);
        for u in 0..self.units.len() {
            if self.units[u].todo.is_empty() {
                continue;
            }
            self.units[u].source.write_splits()?;
            self.write_recipe(u)?;
            for which in self.units[u].todo.clone() {
                number += 1;
                let what = self.units[u].title(which, self.request.seeds.len());
                if listen(BenchmarkEvent::Begins { number, of, what: what.clone() }) == Flow::Stop {
                    return Ok(Outcome::Stopped);
                }
                match run_set::run_end(self.split(u, which, device, listen))? {
                    RunEnd::Stopped => return Ok(Outcome::Stopped),
                    RunEnd::Done => {}
                    RunEnd::Failed(error) => {
                        failed += 1;
                        listen(BenchmarkEvent::Failed { what, error: &error });
                    }
                }
            }
        }
        Ok(Outcome::of_failed(failed))
    }

    fn report(&self) -> Result<ReproduceReport> {
        report::report(self)
    }
}

/// Seconds of the processor where one thread does it all, so that what else the machine does has no say; else of the clock.
struct Stopwatch {
    began: Instant,
    processor: Option<f64>,
}

impl Stopwatch {
    fn start(device: &Device) -> Stopwatch {
        let one = matches!(device, Device::Cpu) && rayon::current_num_threads() == 1;
        Stopwatch { began: Instant::now(), processor: one.then(machine::processor_seconds).flatten() }
    }

    fn so_far(&self) -> f64 {
        let processor = self.processor.and_then(|began| Some(machine::processor_seconds()? - began));
        processor.unwrap_or_else(|| self.began.elapsed().as_secs_f64())
    }
}

struct Tested {
    figures: [f64; METRICS.len()],
    device: String,
}

/// In memory, and nothing left behind; None where it was stopped.
fn train_and_test(
    recipe: &Recipe,
    device: &Device,
    listen: &mut dyn FnMut(BenchmarkEvent) -> Flow,
) -> Result<(Ending, Option<Tested>)> {
    let seconds = Stopwatch::start(device);
    let mut training = Training::new(recipe, device)?;
    let notes = training.data.notes.clone();
    let mut hear = |_: &mut Training, event| Ok(listen(BenchmarkEvent::Training(&event, &notes)));
    if drive::to_the_end(&mut training, &mut hear)? == Ending::Stopped {
        return Ok((Ending::Stopped, None));
    }
    let fitted = training.report()?;
    if fitted.ending == Ending::Stopped {
        return Ok((Ending::Stopped, None));
    }
    let data = fitted.data.of_target(0);
    let predictive = model::predict(&fitted.plan, &data.encoder, &fitted.trained, device, data.test.inputs())?;
    let place = || data.encoder.target_name().to_string();
    let Some(regression) = predictive.regression() else {
        return Err(Error::run(place(), "is a class, not a number", "this is a bug of vifo: please report it"));
    };
    let target = data.encoder.target_name();
    let tested = results::regression(regression, &targets_of(&data.test), &data.test, None, target)?;
    let mut figures = [seconds.so_far(); METRICS.len()];
    for (at, metric) in METRICS.iter().enumerate().filter(|(at, _)| *at != SECONDS) {
        figures[at] = tested.get(metric.name).filter(|v| v.is_finite()).ok_or_else(|| {
            Error::run(place(), format!("its {} is no number", metric.name), "try another seed with --seeds")
        })?;
    }
    Ok((fitted.ending, Some(Tested { figures, device: training.trainer.device().into() })))
}
