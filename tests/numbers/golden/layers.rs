//! Layers and activations.

use super::rounding::Worst;
use super::verdict::{Verdict, check};
use super::{reals, shape, text, transposed};
use crate::common::golden::{Check, golden};
use serde_json::Value;
use vifo::base::Real;
use vifo::ops::OpSpec;
use vifo::ops::embed::{
    EmbedBackward, EmbedBackwardData, EmbedForward, embed_backward, embed_backward_data, embed_forward,
};
use vifo::ops::factor::*;
use vifo::ops::linear::*;
use vifo::ops::periodic::{PeriodicBackward, PeriodicForward, periodic_backward, periodic_forward};

/// PyTorch's weight is [n_out, n_in]; ours lies transposed, the bias behind it.
fn linear<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (x, dy): (Vec<T>, Vec<T>) = (reals(&row["x"]), reals(&row["dy"]));
    let [rows, n_in] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let n_out = shape(&row["bias"])[0];
    let mut w = transposed(&reals::<T>(&row["weight"]), n_out, n_in);
    w.extend(reals::<T>(&row["bias"]));
    let (rows_, n_in_, n_out_) = (rows as u32, n_in as u32, n_out as u32);
    let (bias, stride) = (n_in_ * n_out_, w.len() as u32);
    let forward = LinearForward {
        replicas: 1,
        share: 1,
        rows: rows_,
        n_in: n_in_,
        n_out: n_out_,
        weight: 0,
        bias,
        stride,
        activation: ACT_NONE,
    };
    let poison = T::of(f64::NAN);
    let (mut y, mut pre) = (vec![poison; rows * n_out], vec![poison; 1]);
    linear_forward(&forward, &x, &w, &mut y, &mut pre, &mut vec![poison; forward.scratch()]);
    let data = LinearBackwardData {
        replicas: 1,
        rows: rows_,
        n_in: n_in_,
        n_out: n_out_,
        weight: 0,
        stride,
        activation: ACT_NONE,
    };
    let mut dx = vec![poison; rows * n_in];
    linear_backward_data(&data, &dy, &w, &[poison], &mut dx, &mut vec![poison; data.scratch()]);
    let weight = LinearBackwardWeight {
        replicas: 1,
        share: 1,
        rows: rows_,
        n_in: n_in_,
        n_out: n_out_,
        weight: 0,
        bias,
        stride,
    };
    let mut grad = vec![poison; w.len()];
    linear_backward_weight(&weight, &x, &dy, &mut grad, &mut vec![poison; weight.scratch()]);
    let dbias = grad.split_off(n_in * n_out);
    vec![
        check("y", y, &row["y"]),
        check("dx", dx, &row["dx"]),
        check("dweight", transposed(&grad, n_in, n_out), &row["dweight"]),
        check("dbias", dbias, &row["dbias"]),
    ]
}

/// An activation lives in the epilogue of a linear layer: an identity matrix without bias on either side of it.
fn activation<T: Real>(row: &Value, activation: u32) -> Vec<Check<T>> {
    let (x, dy): (Vec<T>, Vec<T>) = (reals(&row["x"]), reals(&row["dy"]));
    let [rows, n] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let identity: Vec<T> = (0..n * n + n).map(|i| T::of(f64::from(i < n * n && i / n == i % n))).collect();
    let (rows, n, stride) = (rows as u32, n as u32, identity.len() as u32);
    let p =
        LinearForward { replicas: 1, share: 1, rows, n_in: n, n_out: n, weight: 0, bias: n * n, stride, activation };
    let poison = T::of(f64::NAN);
    let (mut y, mut pre, mut dx) = (vec![poison; x.len()], vec![poison; x.len()], vec![poison; x.len()]);
    linear_forward(&p, &x, &identity, &mut y, &mut pre, &mut vec![poison; p.scratch()]);
    let saved = if keeps_pre(activation) { &pre } else { &y };
    let p = LinearBackwardData { replicas: 1, rows, n_in: n, n_out: n, weight: 0, stride, activation };
    linear_backward_data(&p, &dy, &identity, saved, &mut dx, &mut vec![poison; p.scratch()]);
    vec![check("y", y, &row["y"]), check("dx", dx, &row["dx"])]
}

/// The numbers that a row names, one after another in the flat vector.
fn periodic<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (x, dy): (Vec<T>, Vec<T>) = (reals(&row["x"]), reals(&row["dy"]));
    let [rows, d] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let names = ["frequency", "phase", "weight", "bias"];
    let parts = names.map(|name| reals::<T>(&row[name]));
    let w = parts.concat();
    let mut at = 0;
    let [frequency, phase, weight, bias] = parts.map(|part| {
        at += part.len() as u32;
        at - part.len() as u32
    });
    let (rows, n_in, stride) = (rows as u32, d as u32, w.len() as u32);
    let p =
        PeriodicForward { replicas: 1, share: 1, rows, n_in, embedded: n_in, frequency, phase, weight, bias, stride };
    let columns: Vec<T> = (0..d).map(|j| T::of(j as f64)).collect();
    let poison = T::of(f64::NAN);
    let (mut y, mut grad) = (vec![poison; dy.len()], vec![poison; w.len()]);
    periodic_forward(&p, &x, &w, &columns, &mut y);
    let PeriodicForward { replicas, share, embedded, .. } = p;
    let p = PeriodicBackward { replicas, share, rows, n_in, embedded, frequency, phase, weight, bias, stride };
    periodic_backward(&p, &x, &dy, &w, &columns, &mut grad);
    let of = |name: &str, from: u32, to: u32| {
        check(&format!("d{name}"), grad[from as usize..to as usize].to_vec(), &row[format!("d{name}")])
    };
    vec![
        check("y", y, &row["y"]),
        of(names[0], frequency, phase),
        of(names[1], phase, weight),
        of(names[2], weight, bias),
        of(names[3], bias, stride),
    ]
}

/// a x, or x + a (act(x) - x), with other weights before and behind.
fn factor<T: Real>(row: &Value, activation: u32) -> Vec<Check<T>> {
    let (x, dy): (Vec<T>, Vec<T>) = (reals(&row["x"]), reals(&row["dy"]));
    let [rows, n] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let poison = T::of(f64::NAN);
    let w = [vec![poison; 2], reals::<T>(&row["a"]), vec![poison]].concat();
    let (replicas, share, rows, weight, stride) = (1, 1, rows as u32, 2, w.len() as u32);
    let (mut y, mut dx, mut grad) = (vec![poison; x.len()], vec![poison; x.len()], vec![poison; w.len()]);
    let n_ = n as u32;
    let p = FactorForward { replicas, share, rows, n: n_, weight, stride, activation };
    factor_forward(&p, &x, &w, &mut y);
    let p = FactorBackwardData { replicas, rows, n: n_, weight, stride, activation };
    factor_backward_data(&p, &x, &dy, &w, &mut dx);
    let p = FactorBackwardWeight { replicas, share, rows, n: n_, weight, stride, activation };
    factor_backward_weight(&p, &x, &dy, &mut grad);
    vec![check("y", y, &row["y"]), check("dx", dx, &row["dx"]), check("da", grad[2..2 + n].to_vec(), &row["da"])]
}

/// tests/golden/factors.py has these, in numpy.
#[test]
fn selu_scales_and_parametric_activations() {
    let (mut verdict, mut seen) = (Verdict::default(), [0; 3]);
    for row in golden("factors") {
        if text(&row, "layer") == "selu" {
            witness!(verdict, "selu", activation(&row, ACT_SELU));
            seen[0] += 1;
            continue;
        }
        let act = match text(&row, "activation") {
            "scale" => ACT_NONE,
            "relu" => ACT_RELU,
            "silu" => ACT_SILU,
            "mish" => ACT_MISH,
            "selu" => ACT_SELU,
            other => panic!("unknown activation {other}"),
        };
        witness!(verdict, text(&row, "activation"), factor(&row, act));
        seen[if act == ACT_NONE { 1 } else { 2 }] += 1;
    }
    assert_eq!(seen, [1, 3, 12], "golden rows are missing");
    verdict.close("factors", 2 * 36 + 5 * (11 + 2 * 21 + 3 + 2 * 306 + 17));
}

/// Tables one after another in the flat vector, as torch's nn.Embedding has each.
fn embed<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [x, w, dy, columns] = ["x", "weight", "dy", "columns"].map(|name| reals::<T>(&row[name]));
    let [rows, n_in] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let of = |at: usize| columns.iter().skip(at).step_by(3).map(|v| v.f64() as u32);
    let (rows, n_in, embedded) = (rows as u32, n_in as u32, columns.len() as u32 / 3);
    let (width, levels) = (of(2).sum(), of(1).sum());
    let (length, stride) = (w.len() as u32, w.len() as u32);
    let p = EmbedForward { replicas: 1, share: 1, rows, n_in, embedded, width, levels, table: 0, length, stride };
    let poison = T::of(f64::NAN);
    let (mut y, mut grad) = (vec![poison; dy.len()], vec![poison; w.len()]);
    let mut dx = vec![poison; x.len()];
    embed_forward(&p, &x, &w, &columns, &mut y);
    let p = EmbedBackward { replicas: 1, share: 1, rows, n_in, embedded, width, levels, table: 0, length, stride };
    embed_backward(&p, &x, &dy, &columns, &mut grad);
    let p = EmbedBackwardData { replicas: 1, rows, n_in, embedded, width };
    embed_backward_data(&p, &dy, &columns, &mut dx);
    let mut all = vec![check("y", y, &row["y"]), check("dweight", grad, &row["dweight"])];
    // Where all inputs are levels, there is no gradient to compare.
    all.extend((embedded < n_in).then(|| check("dx", dx, &row["dx"])));
    all
}

/// tests/golden/embed.py has it, by torch's nn.Embedding.
#[test]
fn the_embedding_of_levels() {
    let mut verdict = Verdict::default();
    let rows = golden("embed");
    for row in &rows {
        witness!(verdict, "embed", embed(row));
    }
    assert_eq!(rows.len(), 3, "golden rows are missing");
    verdict.close("the embedding of levels", 2 * (3 + 6 + 9 * 8 + 22 + 36 + 40 * 22 + 1635 + 120));
}

/// tests/golden/periodic.py has these two, in numpy.
#[test]
fn mish_and_the_periodic_embedding() {
    let (mut verdict, mut seen) = (Verdict::default(), [0; 2]);
    for row in golden("periodic") {
        match text(&row, "layer") {
            "mish" => {
                witness!(verdict, "mish", activation(&row, ACT_MISH));
                seen[0] += 1;
            }
            _ => {
                witness!(verdict, "periodic", periodic(&row));
                seen[1] += 1;
            }
        }
    }
    assert_eq!(seen, [1, 3], "golden rows are missing");
    verdict.close("mish and the periodic embedding", 72 + 6 * 83 + 4 + 7 * 12 + 20 * 8);
}

#[test]
fn layers() {
    let (mut verdict, mut seen) = (Verdict::default(), [0; 3]);
    for row in golden("layers") {
        match text(&row, "layer") {
            "linear" => {
                witness!(verdict, "linear", linear(&row));
                seen[0] += 1;
            }
            "relu" => {
                witness!(verdict, "relu", activation(&row, ACT_RELU));
                seen[1] += 1;
            }
            "silu" => {
                witness!(verdict, "silu", activation(&row, ACT_SILU));
                seen[2] += 1;
            }
            // Of the convolutional networks, which a later release brings.
            "conv2d" | "max_pool2" | "avg_pool" | "batch_norm_train" => {}
            other => panic!("unknown layer {other}"),
        }
    }
    assert_eq!(seen, [4, 1, 1], "golden rows are missing");
    verdict.close("layers", 2 * (4 * 50 + 50 * 50 + 3 * 65 + 65 * 33 + 72));
}

// ---- likelihoods ----
