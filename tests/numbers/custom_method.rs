//! A method defined outside the library, through the public trait alone: it trains on the CPU and on a software adapter,
//! resumes, and predicts from its run folder by its name.

use crate::common::runs::{prepare, train, train_in_two, weights};
use std::sync::{Arc, Once};
use vifo::data::encode::Target;
use vifo::data::load::Loaded;
use vifo::data::{Inputs, Task};
use vifo::exec::{Device, gpu};
use vifo::method::{self, Method, ModelSpec, Moments, Outputs, Predictive, Reading, regularizer};
use vifo::program::{Buf, Builder};
use vifo::recipe::Recipe;
use vifo::run::{Model, RunFolder};
use vifo::train::plan::TrainingPlan;
use vifo::train::{Flow, Trainer};
use vifo::workflow::fit::fit;

/// A plain network whose weights are pulled to 0 and whose means have a variance that is given.
struct Toy;

/// In standardised units.
const VARIANCE: f64 = 0.25;

impl Method for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("mine", "take \"toy\"")]
    }
    fn keys(&self) -> Vec<&'static str> {
        vec!["method.noise_link", "method.eta"]
    }
    fn eta(&self, recipe: &Recipe, task: Task) -> f64 {
        recipe.method.eta.unwrap_or(self.usual_eta(task))
    }
    fn record_on_weights(
        &self,
        setup: &ModelSpec,
        b: &mut Builder,
        numbers: Buf,
        dweights: Buf,
        _value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        let all = 0..setup.layout().total as u32;
        (dweights, Some(regularizer::record_l2(setup, b, numbers, dweights, all)))
    }
    fn outputs(&self, _setup: &ModelSpec) -> Outputs {
        let moments = |_: &ModelSpec, z: &[f32]| Moments { m: z[0].into(), v: VARIANCE, l: z[1].into(), sd: 0.0 };
        Outputs::Own(Reading { moments, logit_sd: None })
    }
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| method::register(&Toy).unwrap_or_else(|e| panic!("{e}")));
}

const CURVE: &str = "[data]\ntoy = \"sinusoid\"\nrows = 40\nvalidation_fraction = 0.0\n[net]\nhidden = [8, 8]\n[train]\nepochs = 12\nbatch = 20\nlr = 0.01\npatience = 0\noptimizer = \"sgd\"\n[method]\nmembers = 2";

fn fixture(name: &str, eta: &str) -> (TrainingPlan, Loaded) {
    register();
    prepare(CURVE, &format!("method.name = {name}\nmethod.eta = {eta}"))
}

/// Without its pull it is a plain network, to the bit; with it the weights are smaller, and the loss counts them.
#[test]
fn what_it_leaves_out_is_a_plain_networks() {
    let of = |name, eta| {
        let (plan, data) = fixture(name, eta);
        let (outcome, rows) = train(&plan, &data);
        (weights(&outcome), rows.last().expect("a row").loss)
    };
    let (plain, pushed, pulled) = (of("base", "0"), of("toy", "0"), of("toy", "2"));
    assert_eq!(plain, pushed);
    let square = |w: &[f32]| w.iter().map(|v| v * v).sum::<f32>();
    assert!(square(&pulled.0) < 0.95 * square(&plain.0), "{} and {}", square(&pulled.0), square(&plain.0));
    assert!(pulled.1 > plain.1, "{} and {}", pulled.1, plain.1);
}

/// Some twenty steps of plain SGD, whose sums lavapipe rounds in another order than the CPU: 1e-3 of the loss and of the
/// largest weight, as in training/images.rs.
#[test]
fn trains_alike_on_cpu_and_software_adapter() {
    let gpu = Device::Gpu(Arc::new(gpu::open(gpu::Choice::Software).expect("a software adapter")));
    let (plan, data) = fixture("toy", "2");
    let run = |device: &Device| {
        let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
        trainer.run(|_, _| Ok(Flow::Continue)).unwrap_or_else(|e| panic!("{e}"));
        trainer.final_weights().expect("weights").weights
    };
    let (a, b) = (run(&Device::Cpu), run(&gpu));
    let scale = a.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    assert!(scale > 0.1 && a.len() == b.len());
    let worst = a.iter().zip(&b).map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
    assert!(b.iter().all(|v| v.is_finite()) && worst <= 1e-3 * f64::from(scale), "{worst} of {scale}");
}

#[test]
fn resumes_to_the_bit() {
    let (plan, data) = fixture("toy", "0.5");
    assert_eq!(train(&plan, &data).0, train_in_two(&plan, &data, 5));
}

/// A run folder knows it by its name, and its own reading of the outputs is what is predicted.
#[test]
fn fits_and_predicts_by_its_name() {
    register();
    let dir = tempfile::tempdir().expect("a folder");
    let table = Recipe::parse(&format!("{CURVE}\nname = \"toy\""), "test").expect("a recipe");
    let mut recipe = method::checked(&table, "test").expect("a method");
    recipe.method.members = 1;
    fit(&recipe, &dir.path().join("run"), false, &Device::Cpu, &mut |_, _| Flow::Continue).expect("a run");
    let model = Model::open(&RunFolder::open(&dir.path().join("run")).expect("a run")).expect("a model");
    assert_eq!(model.plan.setup.method.name(), "toy");
    let Target::Regression { sd, .. } = model.encoder.target else { panic!("no regression") };
    let Predictive::Regression(r) = model.predict(&Device::Cpu, Inputs::Rows(&[-1.0, 0.0, 2.0])).expect("rows") else {
        panic!("no regression")
    };
    for epistemic in &r.epistemic {
        assert!((epistemic / (sd * sd) - VARIANCE).abs() < 1e-9, "{epistemic}");
    }
}

#[test]
fn its_name_is_taken_once_and_offered() {
    register();
    assert!(method::register(&Toy).expect_err("taken").to_string().contains("\"toy\" is taken"));
    let error = |name: &str| method::known(name, "--method").expect_err("unknown").to_string();
    assert!(error("mine").ends_with("take \"toy\""), "{}", error("mine"));
    assert!(error("xyz").contains("\"vi-eb\", \"toy\";"), "{}", error("xyz"));
    assert!(!method::reads(&Toy, "predict.samples") && method::reads(&Toy, "train.lr"));
}
