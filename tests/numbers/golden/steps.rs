//! Optimizers.

use super::rounding::Worst;
use super::verdict::{Verdict, check};
use super::{reals, text};
use crate::common::golden::{Check, golden};
use serde_json::Value;
use vifo::base::Real;
use vifo::method::{BETA1, BETA2};
use vifo::ops::StepArgs;
use vifo::ops::average::{FadingMean, fading_mean};
use vifo::ops::optimizer::{Adam, Sgd, adam, sgd};

fn adam_of(n: usize, beta2: f32, decoupled: u32, rated: u32) -> Adam {
    Adam { replicas: 1, count: n as u32, beta1: BETA1, beta2, eps: 1e-8, only_warm: 0, decoupled, rated, guarded: 0 }
}

/// Ten steps down 1/2 w'Aw + sum w: the gradient is A w + 1.
fn optimizer<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (mut w, a): (Vec<T>, Vec<T>) = (reals(&row["w0"]), reals(&row["A"]));
    let n = w.len();
    let (mut first, mut second) = (vec![T::zero(); n], vec![T::zero(); n]);
    let golden = row["after_each_step"].as_array().expect("steps");
    assert_eq!(golden.len(), 10, "ten steps");
    let mut out = vec![];
    for (t, golden) in golden.iter().enumerate() {
        let grad: Vec<T> =
            a.chunks_exact(n).map(|r| r.iter().zip(&w).map(|(a, w)| *a * *w).sum::<T>() + T::one()).collect();
        if text(row, "kind") == "adam" {
            let bias = |beta: f64| 1.0 - beta.powi(t as i32 + 1);
            let args = StepArgs { lr: 0.01, bias1: bias(0.9), bias2: bias(0.999), ..Default::default() }.cast();
            adam(&adam_of(n, BETA2, 0, 0), &args, &grad, &[T::of(f64::NAN)], &[], &mut w, &mut first, &mut second);
        } else {
            let args = StepArgs { lr: 0.05, weight_decay: 1e-3, ..Default::default() }.cast();
            let p = Sgd { replicas: 1, count: n as u32, momentum: 0.9, rated: 0, guarded: 0 };
            sgd(&p, &args, &grad, &[T::of(f64::NAN)], &[], &mut w, &mut first);
        }
        out.push(check(&format!("weights after step {}", t + 1), w.clone(), golden));
    }
    out
}

#[test]
fn optimizers() {
    let (mut verdict, mut seen) = (Verdict::default(), vec![]);
    for row in golden("methods") {
        match text(&row, "kind") {
            kind @ ("adam" | "sgd") => {
                witness!(verdict, kind, optimizer(&row));
                seen.push(kind.to_string());
            }
            // Of methods.rs, and Laplace's of its own test.
            "dirichlet" | "repulsive_phi" | "vbll" | "swag_sample" | "laplace_last_layer" => {}
            other => panic!("unknown method {other}"),
        }
    }
    assert_eq!(seen, ["adam", "sgd"], "golden rows are missing");
    verdict.close("optimizers", 2 * 2 * 10 * 6);
}

/// The same slope with a learning rate of each weight's own, which follows a schedule; decay in the gradient or beside the step;
/// weights of the NTK parametrisation as those of the plain one with rates of 1/sqrt(inputs).
fn rated<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (mut w, a): (Vec<T>, Vec<T>) = (reals(&row["w0"]), reals(&row["A"]));
    let (n, kind) = (w.len(), text(row, "kind"));
    let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key}"));
    let rates: Vec<T> = match kind {
        "ntk" => reals::<f64>(&row["fan_in"]).into_iter().map(|n| T::of(1.0 / n.sqrt())).collect(),
        _ => reals(&row["rates"]),
    };
    let rated = u32::from(rates.iter().any(|r| *r != T::one()));
    let (beta2, decay) = if kind == "ntk" { (0.999, 0.0) } else { (number("beta2"), number("weight_decay")) };
    let (mut first, mut second) = (vec![T::zero(); n], vec![T::zero(); n]);
    let (golden, shares) = (row["after_each_step"].as_array().expect("steps"), reals::<f64>(&row["lr_shares"]));
    assert_eq!((golden.len(), shares.len()), (12, 12), "twelve steps");
    let mut out = vec![];
    for (t, (golden, share)) in golden.iter().zip(shares).enumerate() {
        let grad: Vec<T> =
            a.chunks_exact(n).map(|r| r.iter().zip(&w).map(|(a, w)| *a * *w).sum::<T>() + T::one()).collect();
        let bias = |beta: f64| 1.0 - beta.powi(t as i32 + 1);
        let (lr, weight_decay) = (share * number("lr"), decay);
        let args = StepArgs { lr, weight_decay, bias1: bias(0.9), bias2: bias(beta2), ..Default::default() }.cast();
        let norm = [T::of(f64::NAN)];
        if kind == "sgd" {
            let p = Sgd { replicas: 1, count: n as u32, momentum: 0.9, rated, guarded: 0 };
            sgd(&p, &args, &grad, &norm, &rates, &mut w, &mut first);
        } else {
            let p = adam_of(n, beta2 as f32, u32::from(kind == "adamw"), rated);
            adam(&p, &args, &grad, &norm, &rates, &mut w, &mut first, &mut second);
        }
        out.push(check(&format!("weights after step {}", t + 1), w.clone(), golden));
    }
    out
}

fn averaged<T: Real>(row: &Value) -> Vec<Check<T>> {
    let lists = |key: &str| row[key].as_array().expect("a list").clone();
    let decay = row["decay"].as_f64().expect("a decay");
    let mut out = vec![];
    let mut mean: Vec<T> = vec![T::of(f64::NAN); 6];
    for (t, (w, golden)) in lists("weights").iter().zip(lists("means")).enumerate() {
        let p = FadingMean { replicas: 1, count: 6, share: (1.0 - decay) as f32 };
        let args = StepArgs::<f64> { step: t as u32, ..Default::default() }.cast();
        fading_mean(&p, &args, &reals::<T>(w), &mut mean);
        out.push(check(&format!("decay {decay}, mean after step {t}"), mean.clone(), &golden));
    }
    out
}

/// tests/golden/optimizers.py.
#[test]
fn rates_decay_and_averages() {
    let (mut verdict, mut seen) = (Verdict::default(), vec![]);
    for row in golden("optimizers") {
        match text(&row, "kind") {
            "average" => witness!(verdict, "average", averaged(&row)),
            kind => witness!(verdict, kind, rated(&row)),
        }
        seen.push(text(&row, "kind").to_string());
    }
    let wanted = ["adamw", "adamw", "adam", "sgd", "ntk", "average", "average", "average"];
    assert_eq!(seen, wanted, "golden rows are missing");
    verdict.close("rates, decay and averages", 2 * (5 * 12 + 3 * 40) * 6);
}
