//! The work itself: look what is there, then train and test the splits that are missing, and make the tables.

use super::super::benchmark::{Benchmark, BenchmarkEvent};
use super::super::tables::ReproduceReport;
use super::ask::UciRequest;
use super::methods::Method;
use super::sets::{self, Set, Source};
use super::store::{Results, SplitResult, Store};
use super::{published, report};
use crate::base::clock::Instant;
use crate::base::counted::counted;
use crate::data::encode::Target;
use crate::data::load::Loaded;
use crate::data::targets_of as targets;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Predictive;
use crate::metrics::rmse;
use crate::study::run_set::{self, Outcome, RunEnd};
use crate::system::stop;
use crate::train::plan::TrainingPlan;
use crate::train::{Ending, EpochRow, Event, Flow, Splits, Steps, drive};

/// A request with everything looked up.
pub struct Prepared {
    pub request: UciRequest,
    pub sources: Vec<Source>,
    pub units: Vec<Unit>,
    /// What is left out and why, a sentence each.
    pub notes: Vec<String>,
    pub published: published::Published,
}

/// A set and a method.
pub struct Unit {
    /// Place among the sources.
    pub source: usize,
    pub set: &'static Set,
    pub method: &'static Method,
    pub store: Store,
    pub results: Results,
    /// (seed, split) of those that are not done.
    pub todo: Vec<(u32, u32)>,
}

/// Members on the replica axis at most, if one split does not have more: enough to fill a machine, few enough for its memory.
const MOST_MEMBERS: usize = 256;
/// Least time between two states on the disk; the first is written at once.
const KEEP_SECONDS: f64 = 2.0;

impl Unit {
    /// "yacht vifo-mean".
    pub fn title(&self) -> String {
        format!("{} {}", self.set.name, self.method.ours)
    }
}

/// Finds data and results. Nothing is trained.
pub fn prepare(request: UciRequest) -> Result<Prepared> {
    let (there, missing) = sets::find(&request.data, request.sets.as_deref())?;
    let open = |set: &&'static Set| Source::open(set, &request.data, &request.folder);
    let sources = there.iter().map(open).collect::<Result<Vec<_>>>()?;
    let mut units = vec![];
    for (i, source) in sources.iter().enumerate() {
        let splits = match &request.splits {
            None => (0..source.n_splits).collect(),
            Some(list) => list.iter().copied().filter(|s| *s < source.n_splits).collect::<Vec<u32>>(),
        };
        for method in request.methods.iter().copied() {
            let store = Store::new(&request, source, method);
            let results = store.read(&source.recipe(&request, method, request.seeds[0], 0)?, source)?;
            let is_done = |n: &(u32, u32)| results.splits.iter().any(|o| (o.seed, o.split) == *n);
            let all = request.seeds.iter().flat_map(|seed| splits.iter().map(|split| (*seed, *split)));
            let todo = all.filter(|n| !is_done(n)).collect();
            units.push(Unit { source: i, set: source.set, method, store, results, todo });
        }
    }
    let mut notes = vec![];
    if !missing.is_empty() {
        notes.push(format!("{} not found in {}: left out", missing.join(", "), request.data.display()));
    }
    let computed: Vec<&str> = sources.iter().filter(|s| s.computed).map(|s| s.set.name).collect();
    if !computed.is_empty() {
        notes.push(format!("no test_index.txt for {}: the protocol's splits are computed", computed.join(", ")));
    }
    if !request.without.is_empty() {
        let names: Vec<&str> = request.without.iter().map(|m| m.title).collect();
        notes.push(format!("vifo has no training for {}", names.join(", ")));
    }
    Ok(Prepared { request, sources, units, notes, published: published::Published::read()? })
}

impl Prepared {
    fn load(&self, unit: &Unit, todo: &[(u32, u32)]) -> Result<Vec<Loaded>> {
        let one = |(seed, split): &(u32, u32)| {
            stop::check()?;
            self.sources[unit.source].load(*seed, *split)
        };
        todo.iter().map(one).collect()
    }

    fn plan(&self, unit: &Unit, (seed, split): (u32, u32), data: &Loaded) -> Result<TrainingPlan> {
        let mut recipe = self.sources[unit.source].recipe(&self.request, unit.method, seed, split)?;
        // Splits side by side have one key; the seed is part of the number of a split.
        recipe.seed = 1;
        TrainingPlan::new(&recipe, data.train.n, &data.encoder)
    }

    /// Splits that share a program, of `n`.
    fn together(&self, n: usize) -> usize {
        (MOST_MEMBERS / self.request.members as usize).clamp(1, n.max(1))
    }

    fn unit(
        &mut self,
        u: usize,
        (number, of): (usize, usize),
        device: &Device,
        listen: &mut dyn FnMut(BenchmarkEvent) -> Flow,
    ) -> Result<Ending> {
        while !self.units[u].todo.is_empty() {
            let unit = &self.units[u];
            let n = self.stretch(unit);
            let many = if n == 1 { "1 split".to_string() } else { format!("{n} splits together") };
            let what = format!("{}, {many}", unit.title());
            if listen(BenchmarkEvent::Begins { number, of, what }) == Flow::Stop {
                return Ok(Ending::Stopped);
            }
            let (ending, outcomes) = self.side_by_side(unit, n, device, listen)?;
            listen(BenchmarkEvent::Ended { ending });
            if ending == Ending::Stopped {
                return Ok(ending);
            }
            let unit = &mut self.units[u];
            unit.todo.drain(..outcomes.len());
            unit.results.splits.extend(outcomes);
            unit.results.splits.sort_by_key(|o| (o.seed, o.split));
            unit.store.write(&unit.results)?;
            unit.store.forget()?;
        }
        Ok(Ending::Finished)
    }

    /// Splits with numbers in a row, as many as share a program.
    fn stretch(&self, unit: &Unit) -> usize {
        let numbers = unit.todo.iter().map(|n| self.number(unit, *n));
        let in_a_row = numbers.clone().zip(numbers.skip(1)).take_while(|(a, b)| a + 1 == *b).count() + 1;
        self.together(in_a_row)
    }

    /// A split's place on the replica axis of all seeds and splits: what it draws depends on nothing else.
    fn number(&self, unit: &Unit, (seed, split): (u32, u32)) -> u64 {
        u64::from(seed - 1) * u64::from(self.sources[unit.source].n_splits) + u64::from(split)
    }

    /// The first of the missing splits, up to `n`, in one program.
    pub(crate) fn side_by_side(
        &self,
        unit: &Unit,
        n: usize,
        device: &Device,
        listen: &mut dyn FnMut(BenchmarkEvent) -> Flow,
    ) -> Result<(Ending, Vec<SplitResult>)> {
        let mut data = self.load(unit, &unit.todo[..n])?;
        let equal = data.iter().take_while(|d| size(d) == size(&data[0])).count();
        data.truncate(equal);
        let plan = self.plan(unit, unit.todo[0], &data[0])?;
        let first = self.number(unit, unit.todo[0]);
        fits(first + equal as u64, &plan)?;
        let mut splits = Splits::new(&plan, &data.iter().collect::<Vec<_>>(), first as u32, device)?;
        let which = ((unit.todo[0], equal), unit.results.data.as_str());
        if let Some(state) = unit.store.begun(which.0, which.1) {
            splits.restore(&state)?;
        }
        let mut kept = Kept { splits, store: &unit.store, which, at: None, is_whole: true };
        let ending = drive::to_the_end(&mut kept, &mut |_, event| {
            // A state is no news: only what it lets a later command go on with.
            Ok(if event == Event::Checkpoint { Flow::Continue } else { listen(BenchmarkEvent::Training(&event, &[])) })
        })?;
        if ending == Ending::Stopped {
            kept.keep()?;
            return Ok((ending, vec![]));
        }
        let mut splits = kept.splits;
        let trained = splits.finalize(&data.iter().map(|d| &d.train).collect::<Vec<_>>(), device)?;
        let predicted = splits.predict(&trained, &data.iter().map(|d| &d.test).collect::<Vec<_>>(), device)?;
        let seconds = splits.seconds() / equal as f64;
        let mut outcomes = vec![];
        for (s, predictive) in predicted.into_iter().enumerate() {
            let (seed, split) = unit.todo[s];
            let (rmse, test_ll) = test(predictive, &data[s])?;
            let epoch = splits.best()[s].filter(|_| plan.patience > 0).map_or(splits.epoch(), |b| b.0);
            outcomes.push(SplitResult { seed, split, rmse, test_ll, epoch, seconds });
        }
        Ok((ending, outcomes))
    }
}

impl Benchmark for Prepared {
    fn heading(&self) -> String {
        let (sets, methods) = (self.sources.len(), self.request.methods.len());
        format!("uci: {}, {}", counted(sets, "set"), counted(methods, "method"))
    }

    fn scope(&self) -> String {
        let begun = self.units.iter().filter(|u| !u.todo.is_empty()).count();
        format!(" for {begun} of {}", counted(self.units.len(), "cell"))
    }

    fn trains(&self) -> bool {
        true
    }

    fn plan(&self) -> Vec<String> {
        let left = self.units.iter().filter(|u| !u.todo.is_empty());
        left.map(|u| format!("{}, {} of {} splits", u.title(), u.todo.len(), u.todo.len() + u.results.splits.len()))
            .collect()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn parts(&self) -> &'static str {
        "methods and sets"
    }

    fn todo(&self) -> usize {
        self.units.iter().map(|u| u.todo.len()).sum()
    }

    fn estimate(&self, device: &Device, go_on: &mut dyn FnMut() -> bool) -> Result<f64> {
        let mut seconds = 0.0;
        for (i, _) in self.sources.iter().enumerate() {
            let units = || self.units.iter().filter(|u| u.source == i && !u.todo.is_empty());
            // What the time of a step depends on; regularizers do not count.
            let mut known: Vec<(String, f64)> = vec![];
            for unit in units() {
                if !go_on() {
                    return Ok(seconds);
                }
                let kind = unit.method.ours.split('-').next().unwrap_or_default().to_string();
                let each = match known.iter().find(|k| k.0 == kind) {
                    Some((_, each)) => *each,
                    None => {
                        let data = self.load(unit, &unit.todo[..self.together(unit.todo.len())])?;
                        let plan = self.plan(unit, unit.todo[0], &data[0])?;
                        let same: Vec<&Loaded> = data.iter().take_while(|d| size(d) == size(&data[0])).collect();
                        let step = Splits::new(&plan, &same, 0, device)?.step_seconds()? / same.len() as f64;
                        known.push((kind, step * plan.total_steps() as f64));
                        known.last().map_or(0.0, |k| k.1)
                    }
                };
                seconds += each * unit.todo.len() as f64;
            }
        }
        Ok(seconds)
    }

    fn carry_out(&mut self, device: &Device, listen: &mut dyn FnMut(BenchmarkEvent) -> Flow) -> Result<Outcome> {
        if self.todo() == 0 {
            return Ok(Outcome::Done);
        }
        let _lock = run_set::lock_folder(&self.request.folder)?;
        self.sources.iter().try_for_each(Source::write_splits)?;
        let of = self.units.iter().filter(|u| !u.todo.is_empty()).count();
        let (mut number, mut failed) = (0, 0);
        for u in 0..self.units.len() {
            if self.units[u].todo.is_empty() {
                continue;
            }
            number += 1;
            match run_set::run_end(self.unit(u, (number, of), device, listen))? {
                RunEnd::Stopped => return Ok(Outcome::Stopped),
                RunEnd::Done => {}
                RunEnd::Failed(error) => {
                    failed += 1;
                    listen(BenchmarkEvent::Failed { what: self.units[u].title(), error: &error });
                }
            }
        }
        Ok(Outcome::of_failed(failed))
    }

    fn report(&self) -> Result<ReproduceReport> {
        report::report(self)
    }
}

/// Splits in training whose state is kept on the disk.
struct Kept<'a> {
    splits: Splits,
    store: &'a Store,
    /// The first of them, how many, and the data's hash.
    which: (((u32, u32), usize), &'a str),
    at: Option<Instant>,
    /// No evaluation was broken off: the state is one to go on from.
    is_whole: bool,
}

impl Kept<'_> {
    fn keep(&mut self) -> Result<()> {
        if self.is_whole {
            self.store.keep(self.which.0, self.which.1, &self.splits.state()?)?;
            self.at = Some(Instant::now());
        }
        Ok(())
    }
}

impl Steps for Kept<'_> {
    fn started(&self) -> Event {
        self.splits.started()
    }
    fn step(&self) -> u64 {
        Steps::step(&self.splits)
    }
    fn ending(&self) -> Option<Ending> {
        self.splits.ending()
    }
    fn advance(&mut self, _: u64) -> Result<Option<EpochRow>> {
        self.is_whole = false;
        let row = self.splits.advance()?;
        self.is_whole = true;
        Ok(Some(row))
    }
    fn save_if_due(&mut self) -> Result<bool> {
        let is_due = self.at.is_none_or(|at| at.elapsed().as_secs_f64() >= KEEP_SECONDS);
        if is_due {
            self.keep()?;
        }
        Ok(is_due)
    }
}

/// What the splits of one program must have in common.
fn size(d: &Loaded) -> [usize; 4] {
    [d.train.n, d.validation.n, d.test.n, d.encoder.n_inputs()]
}

/// Members are numbered in 32 bits, and so are VI's weight samples.
fn fits(last: u64, plan: &TrainingPlan) -> Result<()> {
    let setup = &plan.setup;
    let replicas = last * u64::from(setup.members) * u64::from(setup.samples.max(setup.predict_samples));
    if replicas < 1 << 32 {
        return Ok(());
    }
    let found = format!("{replicas} networks over all seeds and splits");
    Err(Error::usage("--seeds", found, format!("fewer than {}", 1u64 << 32), "use fewer seeds or members"))
}

/// RMSE and mean log-likelihood of the test rows, in the target's unit.
fn test(predictive: Predictive, data: &Loaded) -> Result<(f64, f64)> {
    match (predictive, &data.encoder.target) {
        (Predictive::Regression(mut r), Target::Regression { mean, sd, .. }) => {
            r.rescale(*mean, *sd);
            let y = targets(&data.test);
            Ok((rmse(&r.mean, &y), -r.nll(&y)))
        }
        _ => Err(Error::run("reproduce uci", "a classification", "this is a bug of vifo: please report it")),
    }
}
