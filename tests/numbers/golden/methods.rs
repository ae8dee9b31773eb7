//! the reference kernels of the methods that have ops of their own, against PyTorch in f64: the rows of tests/golden/methods.json that
//! steps.rs leaves to this file. How a number is judged stands in common/golden.rs.

use super::transposed;
use crate::common::bounded::Bounded;
use crate::common::golden::{Check, numbers, poison, reals, verdict, witnesses};
use serde_json::Value;
use vifo::base::Real;
use vifo::ops::average::{SwagCollect, swag_collect, swag_weights};
use vifo::ops::dirichlet::{DirichletHead, dirichlet_head};
use vifo::ops::head::{LIKELIHOOD_SOFTMAX, SoftmaxHead, softmax_head};
use vifo::ops::repulsion::*;
use vifo::ops::vbll::*;
use vifo::ops::{OpSpec, StepArgs};

fn check<T>(name: &'static str, found: Vec<T>, golden: &Value) -> Check<T> {
    Check { name: name.into(), found, golden: numbers(golden) }
}

fn sizes<const N: usize>(v: &Value) -> [usize; N] {
    let list = v["shape"].as_array().expect("a shape");
    std::array::from_fn(|i| list[i].as_u64().expect("a size") as usize)
}

/// The mean of each term over the rows.
fn means<T: Real>(terms: &[T], rows: usize) -> [T; 3] {
    std::array::from_fn(|t| terms.iter().skip(t).step_by(3).copied().sum::<T>() / T::of(rows as f64))
}

/// PyTorch's trigamma stops its series early and is off by up to 8e-10: dz uses most of its 1e-9. Ours is held to 1e-13 by the
/// tests of base/gamma.rs.
fn dirichlet<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [rows, k] = sizes(&row["z"]);
    let eta = T::of(row["eta"].as_f64().expect("eta"));
    let args = StepArgs { n_valid: rows as u32, eta, ..Default::default() };
    let p = DirichletHead { replicas: 1, rows: rows as u32, k: k as u32, share: 1 };
    let (mut terms, mut dz) = (poison(3 * rows), poison(rows * k));
    dirichlet_head(&p, &args, &reals(numbers(&row["z"])), &reals(numbers(&row["y"])), &mut terms, &mut dz);
    let [nll, kl, _] = means(&terms, rows);
    vec![
        check("nll", vec![nll], &row["nll"]),
        check("kl", vec![kl], &row["kl"]),
        check("loss", vec![nll + eta * kl], &row["loss"]),
        check("dz", dz, &row["dz"]),
    ]
}

/// The file's phi takes log p as a mean over its B rows and the kernel's part as it is: phi = -dz - v / (B variance) + rep.
/// Ours divides all of it by B, so that it stands beside the mean loss: grad = (v / variance - rep) / B, with eta = 1.
/// Hence phi = -dz - B grad + (1 - 1/B) v / variance.
fn repulsive<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [n, b, k] = sizes(&row["f"]);
    let (replicas, rows, count, cols) = (n as u32, b as u32, (b * k) as u32, k as u32);
    let f: Vec<T> = reals(numbers(&row["f"]));
    let args = StepArgs { n_valid: rows, eta: T::one(), ..Default::default() };
    let head = SoftmaxHead { replicas, rows, k: cols, share: replicas };
    let (mut terms, mut dz) = (poison(3 * n * b), poison(f.len()));
    softmax_head(&head, &args, &f, &reals(numbers(&row["y"])), &mut terms, &mut dz);
    let (mut distances, mut kernel) = (poison(n * n), poison(n * (n + 1)));
    pair_distances(&PairDistances { replicas, group: replicas, count, cols }, &args, &f, &mut distances);
    kernel_weights(&KernelWeights { replicas, group: replicas }, &distances, &mut kernel, &mut poison(n * n));
    let prior_variance = row["prior_var"].as_f64().expect("a variance") as f32;
    let p = Repulsion { replicas, group: replicas, count, cols, n_rows: 1000, prior_variance };
    let (mut grad, mut value) = (vec![T::zero(); f.len()], poison(n));
    repulsion(&p, &args, &f, &kernel, &mut grad, &mut value);
    let (b, variance) = (T::of(b as f64), T::of(f64::from(prior_variance)));
    let prior = |v: T| (T::one() - T::one() / b) * v / variance;
    let phi = dz.iter().zip(&grad).zip(&f).map(|((dz, g), v)| prior(*v) - *dz - b * *g).collect();
    vec![check("bandwidth", vec![bandwidth(&mut distances, n)], &row["bandwidth"]), check("phi", phi, &row["phi"])]
}

fn vbll<T: Real>(row: &Value) -> Vec<Check<T>> {
    let ([rows, d], [k, _]) = (sizes::<2>(&row["features"]), sizes::<2>(&row["W_mean"]));
    let n_rows = row["N"].as_u64().expect("N") as u32;
    let (b, n_in, classes, n) = (rows as u32, d as u32, k as u32, d * k);
    let mut w = transposed(&reals::<T>(numbers(&row["W_mean"])), k, d);
    w.extend(transposed(&reals::<T>(numbers(&row["W_log_sd"])), k, d));
    w.extend(reals::<T>(numbers(&row["noise_log_sd"])));
    let (mean, log_scale, log_noise, stride) = (0, n as u32, 2 * n as u32, w.len() as u32);
    let (x, y): (Vec<T>, Vec<T>) = (reals(numbers(&row["features"])), reals(numbers(&row["y"])));
    let args = StepArgs { n_valid: b, eta: T::one(), ..Default::default() };

    let p = VbllForward { replicas: 1, share: 1, rows: b, n_in, k: classes, mean, log_scale, log_noise, stride };
    let mut out = poison(rows * 3 * k);
    vbll_forward(&p, &x, &w, &mut out, &mut poison(p.scratch()));
    let p = VbllHead { replicas: 1, rows: b, k: classes, share: 1, likelihood: LIKELIHOOD_SOFTMAX };
    let (mut terms, mut dy) = (poison(3 * rows), poison(out.len()));
    vbll_head(&p, &args, &out, &y, &mut terms, &mut dy);
    let p = VbllBackwardWeight { replicas: 1, share: 1, rows: b, n_in, k: classes, mean, log_scale, log_noise, stride };
    let mut grad = poison(w.len());
    vbll_backward_weight(&p, &x, &dy, &w, &mut grad, &mut poison(p.scratch()));
    let p = VbllBackwardData { replicas: 1, rows: b, n_in, k: classes, mean, log_scale, stride, activation: 0 };
    let mut dx = poison(x.len());
    vbll_backward_data(&p, &x, &dy, &w, &poison(1), &mut dx, &mut poison(p.scratch()));
    let p = VbllRegularizer { replicas: 1, n_in, k: classes, mean, log_scale, log_noise, stride, n_rows };
    let mut value = poison(1);
    vbll_regularizer(&p, &args, &w, &mut grad, &mut value);
    let loss = means(&terms, rows)[0] + value[0] / T::of(f64::from(n_rows));
    vec![
        check("loss", vec![loss], &row["loss"]),
        check("dfeatures", dx, &row["dfeatures"]),
        check("dW_mean", transposed(&grad[..n], d, k), &row["dW_mean"]),
        check("dW_log_sd", transposed(&grad[n..2 * n], d, k), &row["dW_log_sd"]),
        check("dnoise_log_sd", grad[2 * n..].to_vec(), &row["dnoise_log_sd"]),
    ]
}

/// The file's columns are the last snapshots in their order; ours go round.
fn swag<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [snapshots, count] = sizes(&row["snapshots"]);
    let columns = row["columns"].as_u64().expect("columns") as usize;
    let p = SwagCollect { replicas: 1, count: count as u32, columns: columns as u32 };
    let (mut mean, mut variance, mut deviations) = (poison(count), poison(count), poison(columns * count));
    for (i, w) in reals::<T>(numbers(&row["snapshots"])).chunks_exact(count).enumerate() {
        let args = StepArgs { collect: i as u32 + 1, ..Default::default() };
        swag_collect(&p, &args, w, &mut mean, &mut variance, &mut deviations);
    }
    let (e1, e2): (Vec<T>, Vec<T>) = (reals(numbers(&row["e1"])), reals(numbers(&row["e2"])));
    let oldest = snapshots % columns;
    let ours: Vec<T> = (0..columns).map(|c| e2[(c + columns - oldest) % columns]).collect();
    let mut sample = poison(count);
    swag_weights(&mean, &variance, &deviations, count, &e1, &ours, &mut sample);
    vec![check("sample", sample, &row["sample"])]
}

#[test]
fn methods_meet_pytorch() {
    verdict(
        "methods",
        "kind",
        |kind, row| {
            Some(match kind {
                "dirichlet" => witnesses!(dirichlet, row),
                "repulsive_phi" => witnesses!(repulsive, row),
                "vbll" => witnesses!(vbll, row),
                "swag_sample" => witnesses!(swag, row),
                // Of steps.rs; Laplace's fit is no op.
                "adam" | "sgd" | "laplace_last_layer" => return None,
                other => panic!("unknown method {other}"),
            })
        },
        &[("dirichlet", 2), ("repulsive_phi", 1), ("swag_sample", 1), ("vbll", 1)],
        2 * 3 + 15 + 50 + 1 + 60 + 7 + 1 + 30 + 15 + 15 + 3,
    );
}
