//! Gradients against differences, case by case; what is wrong in one respect is rejected.

use super::ACTS;
use super::objective::Kind;
use super::objective::{MEMBERS, Objective, mlp, setup, short_batch, step_args};
use vifo::data::Task;
use vifo::method::{ModelSpec, Reg};
use vifo::ops::StepArgs;
use vifo::program::Act;
use vifo::recipe::AuxSource;

/// What a comparison came to: the largest share of the tolerance used, and how many weights had a kink.
#[derive(Debug, Default)]
struct Used {
    share: f64,
    weights: usize,
    kinks: usize,
}

/// Fails on the first mismatches, on NaN in the gradient, and on more than a few kinks.
fn compare(gradient: &[f64], differences: &[f64], loss: &[f64; MEMBERS], activation: Act) -> Result<Used, String> {
    let len = gradient.len() / MEMBERS;
    let kinked = matches!(activation, Act::Relu | Act::Selu);
    let (mut used, mut wrong) = (Used { weights: gradient.len(), ..Used::default() }, vec![]);
    for (i, (g, d)) in gradient.iter().zip(differences).enumerate() {
        let (member, weight) = (i / len, i % len);
        let granted = if kinked { 2e-8 } else { 1e-9 } * (1.0 + loss[member].abs());
        if d.is_nan() && g.is_finite() && kinked {
            used.kinks += 1;
        } else if (g - d).abs() <= granted {
            used.share = used.share.max((g - d).abs() / granted);
        } else {
            wrong.push(format!(
                "member {member} weight {weight}: gradient {g:e}, difference {d:e}, allowed {granted:.1e}"
            ));
        }
    }
    if used.kinks * 100 > used.weights {
        wrong.push(format!("{} of {} weights have a kink", used.kinks, used.weights));
    }
    match wrong.len() {
        0 => Ok(used),
        n => Err(format!("{n} of {} wrong: {}", gradient.len(), wrong[..n.min(3)].join("; "))),
    }
}

/// Gathers the cases of one test.
#[derive(Default)]
pub struct Bench {
    cases: usize,
    share: [f64; 2],
    kinks: usize,
    faults: Vec<String>,
}

impl Bench {
    /// Full batch without dropout, then short batch with it.
    pub fn try_both(&mut self, s: &ModelSpec) {
        let eta_aux = if s.aux.is_some() { 0.7 } else { 0.0 };
        let eta = if s.method.name() == vifo::method::base::NAME { 0.0 } else { 0.3 };
        for s in [s.clone(), short_batch(s)] {
            let args = step_args(&s, eta, eta_aux);
            self.one(Objective::new(&s), &s, &args, mlp(&s).activation);
        }
    }

    pub fn one(&mut self, mut objective: Objective, s: &ModelSpec, args: &StepArgs<f64>, activation: Act) {
        {
            let gradient = objective.gradient(args);
            let start = objective.start.clone();
            let loss = objective.loss(args, &start);
            let differences = objective.differences(args, activation);
            self.cases += 1;
            match compare(&gradient, &differences, &loss, activation) {
                Ok(used) => {
                    let share = &mut self.share[usize::from(matches!(activation, Act::Relu | Act::Selu))];
                    *share = share.max(used.share);
                    self.kinks += used.kinks;
                }
                Err(fault) => self.faults.push(format!(
                    "{:?} {:?} noise {:?} sigma {:?} exact {} aux {:?} {activation:?} batch {}: {fault}",
                    s.method, s.task, s.noise_link, s.sigma_link, s.exact, s.aux, s.batch
                )),
            }
        }
    }

    pub fn close(self, what: &str, cases: usize) {
        println!(
            "{what}: {} objectives; share of the tolerance used: SiLU {:.1e}, ReLU {:.1e}; {} kinks",
            self.cases, self.share[0], self.share[1], self.kinks
        );
        assert!(self.faults.is_empty(), "{what}: {} wrong\n{}", self.faults.len(), self.faults.join("\n"));
        assert_eq!(self.cases, cases, "{what}: not all objectives were tried");
    }
}

/// Gradients that are wrong in one respect each: the harness must reject them all.
#[test]
fn the_comparer_rejects_wrong_gradients() {
    for activation in ACTS {
        let s =
            ModelSpec { aux: Some(AuxSource::Uniform), ..setup(Kind::Vifo(Reg::Mean), Task::Regression, activation) };
        let s = short_batch(&s);
        let args = step_args(&s, 0.3, 0.7);
        let mut objective = Objective::new(&s);
        let w = objective.start.clone();
        let right = objective.gradient(&args);
        let loss = objective.loss(&args, &w);
        let differences = objective.differences(&args, activation);
        let verdict = |g: &[f64]| compare(g, &differences, &loss, activation);
        assert!(verdict(&right).is_ok(), "{:?}", verdict(&right));

        let largest = (0..right.len()).max_by(|&a, &b| right[a].abs().total_cmp(&right[b].abs())).expect("weights");
        let one = |value: f64| {
            let mut g = right.clone();
            g[largest] = value;
            g
        };
        let half = right.len() / 2;
        let wrong = [
            ("one element by 1e-5", one(right[largest] * (1.0 + 1e-5))),
            ("a sign", one(-right[largest])),
            ("NaN", one(f64::NAN)),
            ("infinity", one(f64::INFINITY)),
            ("members exchanged", [&right[half..], &right[..half]].concat()),
            ("eta by 0.1 %", objective.gradient(&StepArgs { eta: 0.3003, ..args })),
            ("eta_aux by 0.1 %", objective.gradient(&StepArgs { eta_aux: 0.7007, ..args })),
            ("other normals and masks", objective.gradient(&StepArgs { step: 6, ..args })),
            ("other rows", objective.gradient(&StepArgs { epoch: 3, ..args })),
            ("filler rows counted", objective.gradient(&StepArgs { n_valid: 4, ..args })),
            ("weight decay", objective.gradient(&StepArgs { weight_decay: 1e-4, ..args })),
        ];
        for (what, g) in wrong {
            assert!(verdict(&g).is_err(), "{what} was let through ({activation:?})");
        }
        // A gradient that nobody can check is no pass either: every difference a kink.
        assert!(compare(&right, &vec![f64::NAN; right.len()], &loss, activation).is_err());
    }
}
