//! Benches: first parity, then time. Cases run in turn, round after round, so that a noisy machine is unfair to none;
//! medians are reported, and ratios are medians of the rounds' ratios.

pub mod demo;
pub mod explain;
pub mod methods;
pub mod self_test;

use crate::base::Real;
use crate::base::clock::Instant;
use crate::data::load::load;
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::{Method, ModelSpec, Reg, base, vi, vifo};
use crate::net::{AlexNet, Last, Net, PreResNet};
use crate::ops::gemm::{Finish, Isa, Mat, gemm, naive, pack_len};
use crate::recipe::{Recipe, keys};
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;

/// Recipe keys and their values.
type Keys = &'static [(&'static str, &'static str)];

/// The toy of `bench/torch_peer.py`: 5 x 50, 100 rows, full batch, M = 5 samples, Adam, no auxiliary inputs.
const TOY: Keys = &[
    ("method.eta_aux", "0"),
    ("method.sigma_link", "softplus"),
    ("method.expectation", "sampled"),
    ("method.samples", "5"),
];

/// Name, what it is, recipe keys on top of `TOY`.
const CASES: &[(&str, &str, Keys)] = &[
    ("toy_base", "plain network", &[("method.name", base::NAME), ("method.expectation", "auto")]),
    ("toy_vifo", "VIFO-mean, M = 5 samples", &[("method.name", vifo::MEAN.name)]),
    (
        "toy_vifo_exact",
        "VIFO-mean, closed-form expectation",
        &[("method.name", vifo::MEAN.name), ("method.expectation", "exact")],
    ),
    ("toy_vifo_aux", "VIFO-mean with 100 auxiliary rows", &[("method.name", vifo::MEAN.name), ("method.eta_aux", "1")]),
    ("toy_vifo_x5", "ensemble of 5 VIFO-mean", &[("method.name", vifo::MEAN.name), ("method.members", "5")]),
    ("toy_vi", "VI-mean, M = 5 weight samples", &[("method.name", vi::MEAN.name), ("method.expectation", "auto")]),
];

/// What ratios are reported: name, numerator, denominator times factor, and the bound that we hold ourselves to.
pub const RATIOS: &[(&str, &str, &str, f64, f64)] = &[
    ("VIFO step / base step", "toy_vifo", "toy_base", 1.0, 1.15),
    ("ensemble of 5 / 5 single", "toy_vifo_x5", "toy_vifo", 5.0, 1.0),
    ("VI step / base step", "toy_vi", "toy_base", 1.0, f64::INFINITY),
    ("AlexNet VIFO / base", "image_alexnet_vifo", "image_alexnet_base", 1.0, 1.05),
    ("AlexNet VI / base", "image_alexnet_vi", "image_alexnet_base", 1.0, 5.2),
    ("PreResNet20 VIFO / base", "image_preresnet_vifo", "image_preresnet_base", 1.0, 1.05),
];

#[derive(Debug, Clone, serde::Serialize)]
pub struct Timing {
    pub name: String,
    pub what: String,
    /// Median and quartiles over the rounds, milliseconds per step.
    pub median_ms: f64,
    pub low_ms: f64,
    pub high_ms: f64,
    pub rounds: usize,
    /// GFLOP/s of the matrix products of a step (forward, and twice that backward).
    pub gflops: f64,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct Bench {
    pub device: String,
    /// Largest relative error found by the parity check, and its bound.
    pub parity: Vec<(String, f64, f64)>,
    pub gemm: GemmRates,
    pub timings: Vec<Timing>,
    pub ratios: Vec<(String, f64, f64)>,
}

/// GFLOP/s of the CPU's matrix product.
#[derive(Debug, Clone, serde::Serialize)]
pub struct GemmRates {
    /// The vector instructions of its kernels.
    pub isa: &'static str,
    /// At 1024^3.
    pub one_thread: f64,
    /// At 1024^3: what a step of a big network could reach.
    pub all_threads: f64,
    pub threads: usize,
    /// At the toy's 100 x 50 x 50, too small to be shared.
    pub small: f64,
}

/// A rate of one thread that any processor with AVX2 exceeds several times: below it the compiled tile is no vector code.
const GEMM_SLOW: f64 = 20.0;

impl GemmRates {
    fn measure() -> Result<GemmRates> {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| {
            Error::run("matrix product", format!("no thread to time it on: {e}"), "free some memory or threads")
        })?;
        Ok(GemmRates {
            isa: Isa::detect().name(),
            one_thread: one.install(|| gemm_rate(1024, 1024, 1024)),
            all_threads: gemm_rate(1024, 1024, 1024),
            threads: rayon::current_num_threads(),
            small: one.install(|| gemm_rate(100, 50, 50)),
        })
    }

    /// What is wrong with the build, where the rate shows it. No timed test could: it would fail on a busy machine.
    pub fn warning(&self) -> Option<String> {
        self.slow(Isa::detect() != Isa::Plain)
    }

    fn slow(&self, vectors: bool) -> Option<String> {
        (vectors && self.one_thread < GEMM_SLOW).then(|| {
            format!(
                "warning: one thread multiplies matrices at {:.1} GFLOP/s, below {GEMM_SLOW:.0} in spite of {}: either \
                 the machine is very busy, or the tile in ops/gemm was compiled badly",
                self.one_thread, self.isa
            )
        })
    }
}

struct Case {
    name: &'static str,
    what: &'static str,
    plan: TrainingPlan,
    data: Dataset,
    /// Range of auxiliary inputs.
    range: (Vec<f32>, Vec<f32>),
    session: Session,
    step: u64,
    flops: f64,
    ms: Vec<f64>,
    steps_per_round: u64,
}

/// Plan, training rows, range of auxiliary inputs.
type Prepared = (TrainingPlan, Dataset, (Vec<f32>, Vec<f32>));

fn setup(extra: &[(&str, &str)]) -> Result<Prepared> {
    let mut table = Recipe::parse(crate::recipe::builtin::find("sinusoid").unwrap_or_default(), "sinusoid")?;
    for (key, value) in TOY.iter().chain(extra) {
        keys::set(&mut table, key, value, "bench")?;
    }
    let recipe = crate::method::checked(&table, "bench")?;
    let data = load(&recipe)?;
    let plan = TrainingPlan::new(&recipe, data.train.n, &data.encoder)?;
    let range = data.encoder.aux_range();
    Ok((plan, data.train, range))
}

impl Case {
    fn new(name: &'static str, what: &'static str, extra: &[(&str, &str)], device: &Device) -> Result<Case> {
        Self::of(name, what, setup(extra)?, device)
    }

    fn of(name: &'static str, what: &'static str, (plan, data, range): Prepared, device: &Device) -> Result<Case> {
        let mut session = Session::new(&plan.setup, device, &data, &range)?;
        session.set_weights(&plan.setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho))?;
        let s = &plan.setup;
        let replicas = f64::from(s.members) * f64::from(s.train_copies());
        let rows = f64::from(s.batch_rows()) * if s.aux.is_some() { 2.0 } else { 1.0 };
        let flops = 6.0 * replicas * rows * s.net.multiply_adds() as f64;
        Ok(Case { name, what, plan, data, range, session, step: 0, flops, ms: vec![], steps_per_round: 1 })
    }

    fn run(&mut self, steps: u64) -> Result<f64> {
        let args: Vec<_> = (self.step..self.step + steps).map(|s| self.plan.args(s)).collect();
        let start = Instant::now();
        self.session.run(&args)?;
        // Reading waits for a GPU to finish.
        let losses = self.session.take_sums()?;
        let ms = start.elapsed().as_secs_f64() * 1e3 / steps as f64;
        if losses.bad.is_some() {
            return Err(Error::run(self.name, "the loss is not finite", "this is a bug of vifo: please report it"));
        }
        self.step = (self.step + steps) % 1000;
        Ok(ms)
    }
}

fn cases(device: &Device, only: Option<&str>) -> Result<Vec<Case>> {
    let chosen = CASES.iter().filter(|c| only.is_none_or(|o| c.0.contains(o)));
    let cases = chosen.map(|(name, what, extra)| Case::new(name, what, extra, device)).collect::<Result<Vec<_>>>()?;
    let mut cases = cases;
    if let Some(only) = only.filter(|o| o.starts_with("image")) {
        for (name, what, net, method) in IMAGES.iter().filter(|c| c.0.contains(only)) {
            cases.push(Case::of(name, what, image_case(*net, *method)?, device)?);
        }
    }
    if cases.is_empty() { Err(no_case(only)) } else { Ok(cases) }
}

fn no_case(only: Option<&str>) -> Error {
    let names = CASES.iter().map(|c| c.0).chain(IMAGES.iter().map(|c| c.0)).collect::<Vec<_>>().join(", ");
    Error::usage("--only", format!("\"{}\" fits no case", only.unwrap_or("")), names, "name one or a part of one")
}

type ImageCase = (&'static str, &'static str, fn(Last) -> Net, &'static dyn Method);

/// Networks of the paper on a batch of 128 made-up images of 10 classes, as in `bench/torch_peer.py`: name, what, network,
/// method. They take seconds, so they run only where `--only` asks for images.
const IMAGES: &[ImageCase] = &[
    ("image_alexnet_base", "AlexNet, plain, batch 128", alexnet, &base::Base),
    ("image_alexnet_vifo", "AlexNet, VIFO-mean, M = 5", alexnet, &vifo::MEAN),
    ("image_preresnet_base", "PreResNet20, plain, batch 128", preresnet, &base::Base),
    ("image_preresnet_vifo", "PreResNet20, VIFO-mean, M = 5", preresnet, &vifo::MEAN),
    ("image_alexnet_vi", "AlexNet, VI-mean, M = 5 weight samples", alexnet, &vi::MEAN),
];

fn alexnet(last: Last) -> Net {
    Net::AlexNet(AlexNet::paper(3, last))
}
fn preresnet(last: Last) -> Net {
    Net::PreResNet(PreResNet::paper(3, last))
}

fn image_case(net: fn(Last) -> Net, method: &'static dyn Method) -> Result<Prepared> {
    let (mut plan, ..) = setup(&[("method.name", base::NAME), ("method.expectation", "auto")])?;
    let (n, k) = (128, 10);
    let net = net(method.last_layer(Task::Classification, k));
    let d = net.n_in();
    plan.setup = ModelSpec {
        method,
        task: Task::Classification,
        k,
        exact: false,
        net,
        n_rows: n,
        folds: 0,
        held_out: 0,
        batch: n,
        aux: None,
        ..plan.setup
    };
    plan.eta = if method.name() == base::NAME { 0.0 } else { 0.1 };
    plan.prior = Reg::Mean
        .prior(&crate::recipe::PriorKeys { variance: None, gamma: 0.3, a: 0.05, alpha: None, beta: None, d: 0.1 }, 1.0);
    let data = Dataset {
        x: waves::<f32>((n * d) as usize).into(),
        y: (0..n).map(|i| (i % k) as f32).collect(),
        n: n as usize,
        d: d as usize,
        ..Default::default()
    };
    Ok((plan, data, (vec![], vec![])))
}

/// (what, largest relative error, bound) of each check; an error where a bound is broken.
pub fn parity(device: &Device, only: Option<&str>) -> Result<Vec<(String, f64, f64)>> {
    check_parity(&cases(device, only)?, device)
}

fn check_parity(cases: &[Case], device: &Device) -> Result<Vec<(String, f64, f64)>> {
    let mut parity = vec![("matrix product, packed against naive, f64".to_string(), gemm_error(), 1e-12)];
    // The CPU is what others are held against; the tests hold it against f64.
    for case in cases.iter().filter(|_| !device.is_cpu()) {
        parity.push((
            format!("{}: losses of the first steps against the CPU", case.name),
            step_error(case, device)?,
            STEP_BOUND,
        ));
    }
    if let Some((what, error, bound)) = parity.iter().find(|(_, error, bound)| error.is_nan() || error > bound) {
        let found = format!("{what}: relative error {error:.2e} above {bound:.0e}");
        return Err(Error::run("parity", found, "nothing was timed; use --device cpu and please report it"));
    }
    Ok(parity)
}

/// Of losses in f32 against others: six layers of sums over at most 50 terms round by at most 6 * 50 * 2^-24 = 1.8e-5 of
/// their terms' sizes on either side; two optimizer steps in between move both ways alike to the same order.
const STEP_BOUND: f64 = 1e-4;

/// `seconds` are spent on each case; `only` keeps the cases whose name holds it.
pub fn run(device: &Device, seconds: f64, only: Option<&str>) -> Result<Bench> {
    let mut cases = cases(device, only)?;
    let parity = check_parity(&cases, device)?;
    let gemm = GemmRates::measure()?;
    for case in &mut cases {
        case.run(1)?;
        let one = case.run(1)?;
        let one = if one < 10.0 { case.run(10)? } else { one };
        // A round of about 10 ms: long against the clock, short against the machine's moods.
        case.steps_per_round = ((10.0 / one.max(1e-4)) as u64).clamp(1, 1000);
    }
    let rounds = (seconds / 0.010).clamp(7.0, 2000.0) as usize;
    let budget = Instant::now();
    for round in 0..rounds {
        // Quartiles need a few rounds; where a round takes seconds, three must do.
        let spent = budget.elapsed().as_secs_f64() / (seconds * cases.len() as f64);
        if round >= 7 && spent > 1.0 || round >= 3 && spent > 1.5 {
            break;
        }
        for case in &mut cases {
            let steps = case.steps_per_round;
            let ms = case.run(steps)?;
            case.ms.push(ms);
        }
    }
    let device_name = cases.first().map_or_else(String::new, |c| c.session.device.clone());
    let timings = cases.iter().map(timing).collect();
    let find = |name: &str| cases.iter().find(|c| c.name == name);
    let ratios = RATIOS
        .iter()
        .filter_map(|(name, a, b, factor, bound)| {
            let mut r: Vec<f64> = find(a)?.ms.iter().zip(&find(b)?.ms).map(|(a, b)| a / (b * factor)).collect();
            Some((name.to_string(), quantile(&mut r, 0.5), *bound))
        })
        .collect();
    Ok(Bench { device: device_name, parity, gemm, timings, ratios })
}

fn timing(case: &Case) -> Timing {
    let mut ms = case.ms.clone();
    let median_ms = quantile(&mut ms, 0.5);
    Timing {
        name: case.name.into(),
        what: case.what.into(),
        median_ms,
        low_ms: quantile(&mut ms, 0.25),
        high_ms: quantile(&mut ms, 0.75),
        rounds: ms.len(),
        gflops: case.flops / median_ms / 1e6,
    }
}

fn quantile(v: &mut [f64], q: f64) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(((v.len().saturating_sub(1)) as f64 * q).round() as usize).copied().unwrap_or(f64::NAN)
}

fn waves<T: Real>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of(libm::sin(i as f64 * 0.37))).collect()
}

fn gemm_error() -> f64 {
    let (m, n, k) = (67, 45, 53);
    let (a, b) = (waves::<f64>(m * k), waves::<f64>(k * n));
    let (mut fast, mut slow, mut pack) = (vec![0.0; m * n], vec![0.0; m * n], vec![0.0; pack_len(k, n)]);
    gemm(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut fast, &mut pack, &Finish::default());
    naive(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut slow, &Finish::default());
    worst(&fast, &slow)
}

/// Largest difference by the largest value; NaN stays NaN.
fn worst(got: &[f64], want: &[f64]) -> f64 {
    let scale = want.iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
    got.iter()
        .zip(want)
        .map(|(a, b)| (a - b).abs() / scale)
        .fold(0.0, |m, e| if e.is_nan() || m > e { if e.is_nan() { e } else { m } } else { e })
}

/// A batch of 128 images would take seconds; four show the same operations.
fn few_images(plan: &mut TrainingPlan, data: &mut Dataset) {
    if !matches!(plan.setup.net, Net::Mlp(_)) {
        *data = data.subset(&[0, 1, 2, 3]);
        (plan.setup.n_rows, plan.setup.batch) = (4, 4);
    }
}

/// The losses of the first three steps on `device` against those of the CPU's kernels.
fn step_error(case: &Case, device: &Device) -> Result<f64> {
    let (mut plan, mut data) = (case.plan.clone(), case.data.clone());
    let is_mlp = matches!(plan.setup.net, Net::Mlp(_));
    few_images(&mut plan, &mut data);
    // Adam divides by the gradient's size: in a deep network rounding of a vanishing gradient turns a weight's first step
    // round, and a second step measures that, not the kernels.
    let steps = if is_mlp { 3 } else { 1 };
    let start = plan.setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
    let losses = |device: &Device| -> Result<Vec<f64>> {
        let mut session = Session::new(&plan.setup, device, &data, &case.range)?;
        session.set_weights(&start)?;
        let mut all = vec![];
        for step in 0..steps {
            session.run(&[plan.args(step)])?;
            let l = session.take_sums()?;
            all.extend([l.nll, l.regularizer, l.auxiliary]);
        }
        Ok(all)
    };
    Ok(worst(&losses(device)?, &losses(&Device::Cpu)?))
}

/// GFLOP/s with the current pool's threads.
fn gemm_rate(m: usize, n: usize, k: usize) -> f64 {
    let (a, b) = (waves::<f32>(m * k), waves::<f32>(k * n));
    let (mut c, mut pack) = (vec![0f32; m * n], vec![0f32; pack_len(k, n)]);
    let flops = 2.0 * (m * n * k) as f64;
    let repeats = (2e7 / flops).ceil() as usize;
    let mut rates: Vec<f64> = (0..25)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..repeats {
                gemm(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut c, &mut pack, &Finish::default());
                std::hint::black_box(&mut c);
            }
            flops * repeats as f64 / start.elapsed().as_secs_f64() / 1e9
        })
        .collect();
    quantile(&mut rates, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_matrix_product_is_named_only_where_vectors_exist() {
        let rates = |one_thread| GemmRates { isa: "AVX2", one_thread, all_threads: 0.0, threads: 2, small: 0.0 };
        assert!(rates(7.0).slow(true).is_some_and(|w| w.contains("7.0 GFLOP/s")));
        assert!(rates(7.0).slow(false).is_none());
        assert!(rates(200.0).slow(true).is_none());
    }
}
