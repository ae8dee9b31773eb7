//! Optimizers.

use super::rounding::Worst;
use super::verdict::{Verdict, check};
use super::{reals, text};
use crate::common::golden::{Check, golden};
use serde_json::Value;
use vifo::base::Real;
use vifo::method::{BETA1, BETA2};
use vifo::ops::StepArgs;
use vifo::ops::optimizer::{Adam, Sgd, adam, sgd};

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
            let p = Adam { replicas: 1, count: n as u32, beta1: BETA1, beta2: BETA2, eps: 1e-8, only_warm: 0 };
            adam(&p, &args, &grad, &[T::of(f64::NAN)], &mut w, &mut first, &mut second);
        } else {
            let args = StepArgs { lr: 0.05, weight_decay: 1e-3, ..Default::default() }.cast();
            sgd(
                &Sgd { replicas: 1, count: n as u32, momentum: 0.9 },
                &args,
                &grad,
                &[T::of(f64::NAN)],
                &mut w,
                &mut first,
            );
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
