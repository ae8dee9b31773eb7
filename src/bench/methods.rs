//! Cost of each method relative to a plain network: a training step, a prediction, and what ends its training.

use super::quantile;
use crate::base::clock::Instant;
use crate::data::load::{Loaded, load};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::{base, dirichlet, dropout, laplace, repulsive, swa, swag, vbll, vi, vifo};
use crate::recipe::{NetName, keys};
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;
use crate::train::{Predictor, Trainer};

/// Name in a recipe, members, and the case it is compared with: a repulsive ensemble is one by nature, the others stand
/// as single networks.
const CASES: &[(&str, u32, &str)] = &[
    (base::NAME, 1, base::NAME),
    (swa::NAME, 1, base::NAME),
    (swag::NAME, 1, base::NAME),
    (dropout::NAME, 1, base::NAME),
    (dirichlet::NAME, 1, base::NAME),
    (laplace::NAME, 1, base::NAME),
    (vbll::NAME, 1, base::NAME),
    (vifo::MEAN.name, 1, base::NAME),
    (vi::NAIVE.name, 1, base::NAME),
    (base::NAME, 5, "base x 5"),
    (repulsive::NAME, 5, "base x 5"),
];

/// The paper's seconds of an epoch over those of SGD, AlexNet on CIFAR-10 (Table 1): 2.18 and 8.51 over 1.97.
const PAPER: &[(&str, f64)] = &[(vifo::MEAN.name, 2.18 / 1.97), (vi::NAIVE.name, 8.51 / 1.97)];

#[derive(Debug, Clone, serde::Serialize)]
pub struct Cost {
    pub method: String,
    pub against: String,
    /// Median milliseconds of a step and of a prediction of 128 images.
    pub step_ms: f64,
    pub predict_ms: f64,
    /// Medians over the rounds of the ratios to the case it is compared with.
    pub step_ratio: f64,
    pub predict_ratio: f64,
    /// What ends the training (averages and their statistics, a posterior), in steps of a plain network; 0 = nothing.
    pub end_steps: f64,
    /// The paper's ratio of epochs.
    pub paper: Option<f64>,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct Costs {
    pub device: String,
    pub network: String,
    pub rounds: usize,
    pub costs: Vec<Cost>,
}

struct Case {
    name: String,
    against: &'static str,
    paper: Option<f64>,
    plan: TrainingPlan,
    data: Loaded,
    session: Session,
    predictor: Predictor,
    step: u64,
    step_ms: Vec<f64>,
    predict_ms: Vec<f64>,
    end_ms: f64,
}

/// Images of a step and of a prediction.
const IMAGES: usize = 128;

impl Case {
    fn new((method, members, against): (&str, u32, &'static str), net: NetName, device: &Device) -> Result<Case> {
        let mut table = toml::Table::new();
        let net = crate::study::reproduce::mapping::network_names(net).0;
        for (key, value) in [
            ("data.images", "digits".to_string()),
            ("data.image_size", "32".into()),
            ("data.limit", (3 * IMAGES).to_string()),
            ("data.validation_fraction", "0".into()),
            ("net.name", net.into()),
            ("method.name", method.into()),
            ("method.members", members.to_string()),
            ("train.epochs", "2".into()),
            ("train.batch", IMAGES.to_string()),
            ("train.swa_start", "0".into()),
            ("train.optimizer", "adam".into()),
        ] {
            keys::set(&mut table, key, &value, "bench")?;
        }
        let recipe = crate::method::checked(&table, "bench")?;
        let data = load(&recipe)?;
        let plan = TrainingPlan::new(&recipe, data.train.n, &data.encoder)?;
        let start = plan.setup.initial_weights(plan.seed, plan.vi_uniform, plan.init_rho);
        let mut session = Session::new(&plan.setup, device, &data.train, &data.encoder.aux_range())?;
        session.set_weights(&start)?;
        // Two epochs, so that averages and posteriors are made of something.
        let mut trainer = Trainer::new(&plan, &data, device)?;
        while trainer.ending().is_none() {
            trainer.advance(u64::MAX)?;
        }
        let began = Instant::now();
        let trained = trainer.finalize(&data.train, device)?;
        let end_ms = if plan.setup.concludes() { began.elapsed().as_secs_f64() * 1e3 } else { 0.0 };
        let mut predictor = Predictor::new(&plan.setup, device, plan.seed, IMAGES)?;
        predictor.set(&trained)?;
        let name = if members == 1 { method.to_string() } else { format!("{method} x {members}") };
        let paper = PAPER.iter().find(|p| p.0 == method).map(|p| p.1);
        let (step_ms, predict_ms) = (vec![], vec![]);
        Ok(Case { name, against, paper, plan, data, session, predictor, step: 0, step_ms, predict_ms, end_ms })
    }

    fn round(&mut self, steps: u64) -> Result<()> {
        let args: Vec<_> = (self.step..self.step + steps).map(|s| self.plan.args(s)).collect();
        let began = Instant::now();
        self.session.run(&args)?;
        // Reading waits for a GPU to finish.
        let losses = self.session.take_sums()?;
        self.step_ms.push(began.elapsed().as_secs_f64() * 1e3 / steps as f64);
        if losses.bad.is_some() {
            let found = "the loss is not finite";
            return Err(Error::run(self.name.as_str(), found, "this is a bug of vifo: please report it"));
        }
        self.step = (self.step + steps) % self.plan.total_steps().max(1);
        let few = self.data.train.subset(&(0..IMAGES).collect::<Vec<_>>());
        let began = Instant::now();
        self.predictor.outputs(few.inputs())?;
        self.predict_ms.push(began.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }
}

/// All methods in turn, round after round, about `seconds` each.
pub fn run(device: &Device, seconds: f64, net: NetName) -> Result<Costs> {
    let mut cases = CASES.iter().map(|c| Case::new(*c, net, device)).collect::<Result<Vec<_>>>()?;
    for case in &mut cases {
        case.round(1)?;
        (case.step_ms, case.predict_ms) = (vec![], vec![]);
    }
    let began = Instant::now();
    let mut rounds = 0;
    while rounds < 3 || began.elapsed().as_secs_f64() < seconds * cases.len() as f64 {
        for case in &mut cases {
            case.round(1)?;
        }
        rounds += 1;
    }
    let costs = cases.iter().map(|case| {
        let against = cases.iter().find(|c| c.name == case.against).unwrap_or(case);
        let ratio = |a: &[f64], b: &[f64]| quantile(&mut a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<_>>(), 0.5);
        let step = quantile(&mut against.step_ms.clone(), 0.5);
        Cost {
            method: case.name.clone(),
            against: case.against.into(),
            step_ms: quantile(&mut case.step_ms.clone(), 0.5),
            predict_ms: quantile(&mut case.predict_ms.clone(), 0.5),
            step_ratio: ratio(&case.step_ms, &against.step_ms),
            predict_ratio: ratio(&case.predict_ms, &against.predict_ms),
            end_steps: case.end_ms / step,
            paper: case.paper,
        }
    });
    let costs = costs.collect();
    let first = &cases[0];
    Ok(Costs { device: first.session.device.clone(), network: first.plan.setup.net.describe(), rounds, costs })
}
