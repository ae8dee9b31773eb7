//! tab:time-AlexNet: seconds to train one epoch. Times steps on random images of the set's size and number, which is all
//! that a step's time depends on, so it needs no data; an epoch is its steps.

use super::mapping::{Method, PAPER_SECONDS, Set, network_names};
use super::plan::{PAPER_BATCH, recipe};
use super::tables::{ReproduceReport, drop_empty, full, mean_sd};
use super::work::{Prepared, ReproduceEvent};
use crate::base::clock::Instant;
use crate::data::Dataset;
use crate::data::encode::pixels::Pixels;
use crate::data::encode::{Encoder, Missing, Target};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::recipe::NetName;
use crate::report::compare::{Summary, summary};
use crate::tables::TextTable;
use crate::train::Flow;
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;
use std::path::Path;
use std::sync::Arc;

/// As the paper has it.
const ROUNDS: usize = 10;
/// Images in memory: steps of more batches than these would take no other time.
const BATCHES: usize = 4;
/// A round lasts about this long, and one step at least.
const ROUND_SECONDS: f64 = 0.3;

struct Timed {
    epoch: Summary,
    /// Steps timed, and those of an epoch.
    steps: (usize, u32),
}

// Long: one page, section by section.
pub fn report(
    p: &Prepared,
    device: &Device,
    listen: &mut dyn FnMut(ReproduceEvent) -> Flow,
) -> Result<ReproduceReport> {
    let title = format!("table1: {} ({})", p.request.table.title, p.request.table.source);
    let flat = [
        "table",
        "network",
        "trained_on",
        "images",
        "method",
        "ours_mean",
        "ours_sd",
        "rounds",
        "steps_timed",
        "steps_of_epoch",
        "paper_mean",
        "paper_sd",
    ];
    let mut out = ReproduceReport::new(title, &flat);
    for set in p.request.sets.iter().copied() {
        for network in p.request.networks_of(set) {
            let net = network_names(network).0;
            let images = images_of(p, set);
            let mut table =
                TextTable::new(&["method", "ours, s", "times base", "steps timed", "paper, s", "paper, times base"]);
            let named = p.request.methods.iter().copied();
            let mut clocks: Vec<Option<Clock>> = vec![];
            for method in named.clone() {
                let clock = if method.trainable() && !p.request.no_train {
                    Some(Clock::new(p, (set, network, method), images, device)?.ready()?)
                } else {
                    None
                };
                clocks.push(clock);
            }
            // In turn, so that a noisy machine is unfair to none.
            for round in 1..=if p.request.no_train { 0 } else { ROUNDS } {
                if listen(ReproduceEvent::Times { what: format!("{} {net}, round {round} of {ROUNDS}", set.name) })
                    == Flow::Stop
                {
                    return Err(Error::run("table1", "stopped", "the same command restarts it"));
                }
                clocks.iter_mut().flatten().try_for_each(Clock::round)?;
            }
            let rows: Vec<Row> = named
                .zip(&clocks)
                .map(|(method, clock)| {
                    let paper = PAPER_SECONDS.iter().find(|(s, m, ..)| Some(*s) == set.paper && *m == method.paper);
                    let paper = paper.filter(|_| network == NetName::AlexNet).map(|t| (t.2, t.3));
                    (method, clock.as_ref().map(Clock::timed), paper)
                })
                .filter(|(_, ours, paper)| ours.is_some() || paper.is_some())
                .collect();
            let base = rows.iter().find(|r| r.0.ours == crate::method::base::NAME);
            let (base_ours, base_paper) =
                (base.and_then(|b| b.1.as_ref()).map(|t| t.epoch.mean), base.and_then(|b| b.2));
            for (method, ours, paper) in &rows {
                let times =
                    |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(String::new(), |(a, b)| format!("{:.2}", a / b));
                let epoch = ours.as_ref().map(|t| t.epoch);
                table.rows.push(vec![
                    method.paper.into(),
                    epoch.map_or(String::new(), |s| mean_sd(s.mean, s.sd)),
                    times(epoch.map(|s| s.mean), base_ours),
                    ours.as_ref().map_or(String::new(), |t| format!("{} of {}", t.steps.0, t.steps.1)),
                    paper.map_or(String::new(), |(mean, sd)| format!("{mean:.2} ± {sd:.2}")),
                    times(paper.map(|p| p.0), base_paper.map(|b| b.0)),
                ]);
                let mut line: Vec<String> = ["table1", net, set.name].map(String::from).into();
                line.extend([
                    images.to_string(),
                    method.paper.into(),
                    full(epoch.map(|s| s.mean)),
                    full(epoch.and_then(|s| s.sd)),
                ]);
                let steps = ours.as_ref().map(|t| t.steps);
                line.extend([ROUNDS.to_string(), full(steps.map(|s| s.0 as f64)), full(steps.map(|s| f64::from(s.1)))]);
                line.extend([full(paper.map(|p| p.0)), full(paper.map(|p| p.1))]);
                out.flat.rows.push(line);
            }
            out.sections.push((format!("{}, {net}, {images} images", set.name), drop_empty(table)));
        }
    }
    if p.request.no_train {
        out.notes.push("nothing was timed: the paper's numbers alone".into());
        return Ok(out);
    }
    out.notes.push(format!(
        "an epoch is the mean step of {ROUNDS} rounds, times its steps of {} images; images are random, single networks",
        p.request.batch
    ));
    if p.request.batch != PAPER_BATCH {
        out.notes.push(format!("the paper's batch is {PAPER_BATCH}"));
    }
    Ok(out)
}

/// About how long `report` will take: one step of each method, times those it will do.
pub fn estimate(p: &Prepared, device: &Device, go_on: &mut dyn FnMut() -> bool) -> Result<f64> {
    let mut seconds = 0.0;
    for set in p.request.sets.iter().copied() {
        for network in p.request.networks_of(set) {
            for method in p.request.methods.iter().copied().filter(|m| m.trainable()) {
                if !go_on() {
                    return Ok(seconds);
                }
                let step = Clock::new(p, (set, network, method), images_of(p, set), device)?.step_seconds()?;
                // Two to begin with, then the rounds.
                seconds += 2.0 * step + ROUNDS as f64 * step.max(ROUND_SECONDS);
            }
        }
    }
    Ok(seconds)
}

/// Training images of a set at the scale that is asked for.
fn images_of(p: &Prepared, set: &Set) -> usize {
    p.request.limit.map_or(set.images, |l| (l as usize).min(set.images))
}

/// One method's training steps under the clock.
struct Clock {
    session: Session,
    plan: TrainingPlan,
    /// Steps done, of a round, and of an epoch.
    done: u64,
    count: u64,
    steps: u32,
    /// Of an epoch, by round.
    seconds: Vec<f64>,
}

impl Clock {
    fn new(
        p: &Prepared,
        (set, network, method): (&'static Set, NetName, &'static Method),
        images: usize,
        device: &Device,
    ) -> Result<Clock> {
        let eta_aux = p.request.eta_aux_of(method).first().copied().flatten();
        let recipe = recipe(&p.request, Path::new(set.name), (set, network, method, eta_aux, 1))?;
        let encoder = encoder(set, network);
        let steps = TrainingPlan::new(&recipe, images, &encoder)?.steps_per_epoch();
        let rows = images.min(BATCHES * p.request.batch as usize);
        let plan = TrainingPlan::new(&recipe, rows, &encoder)?;
        let mut session = Session::new(&plan.setup, device, &random_images(rows, &encoder), &encoder.aux_range())?;
        session.set_weights(&plan.setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho))?;
        Ok(Clock { session, plan, done: 0, count: 1, steps, seconds: vec![] })
    }

    /// One step to warm up, one to see how many fill a round.
    fn ready(mut self) -> Result<Clock> {
        self.step_seconds()?;
        self.count = ((ROUND_SECONDS / self.step_seconds()?) as u64).clamp(1, 64);
        Ok(self)
    }

    fn step_seconds(&mut self) -> Result<f64> {
        let args: Vec<_> = (self.done..self.done + self.count).map(|s| self.plan.args(s)).collect();
        let start = Instant::now();
        self.session.run(&args)?;
        // Waits for the device.
        self.session.take_sums()?;
        self.done += self.count;
        Ok(start.elapsed().as_secs_f64() / self.count as f64)
    }

    fn round(&mut self) -> Result<()> {
        let seconds = self.step_seconds()? * f64::from(self.steps);
        self.seconds.push(seconds);
        Ok(())
    }

    fn timed(&self) -> Timed {
        Timed { epoch: summary(&self.seconds), steps: (ROUNDS * self.count as usize, self.steps) }
    }
}

type Row = (&'static Method, Option<Timed>, Option<(f64, f64)>);

fn encoder(set: &Set, network: NetName) -> Encoder {
    let (h, w, c) = set.shape;
    let side = network.fixed_side().map(|s| s as usize);
    Encoder {
        features: vec![],
        dropped: vec![],
        target: Target::Classes { name: "class".into(), labels: (0..set.classes).map(|i| i.to_string()).collect() },
        more_targets: vec![],
        target_at: 0,
        missing: Missing::Error,
        strict: false,
        pixels: Some(Pixels {
            h: side.unwrap_or(h),
            w: side.unwrap_or(w),
            c,
            mean: vec![0.5; c],
            sd: vec![0.25; c],
            low: vec![0; c],
            high: vec![255; c],
            crop: if c == 3 { 4 } else { 0 },
            flip: c == 3 && set.name != "svhn",
            format: String::new(),
        }),
    }
}

fn random_images(n: usize, encoder: &Encoder) -> Dataset {
    let d = encoder.n_inputs();
    let mut random = crate::base::rng::SplitMix64::new(1);
    let bytes: Vec<u8> = (0..n * d).map(|_| (random.next_u64() >> 56) as u8).collect();
    let k = encoder.n_classes().unwrap_or(1);
    Dataset {
        y: (0..n).map(|i| (i % k) as f32).collect(),
        n,
        d,
        ids: (0..n).map(|i| i.to_string()).collect(),
        bytes: Arc::new(bytes),
        ..Default::default()
    }
}
