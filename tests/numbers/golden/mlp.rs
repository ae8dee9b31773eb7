//! A whole network: the MLP of the paper's toy.

use super::heads::mean_terms;
use super::rounding::Likely;
use super::verdict::{Verdict, check};
use super::{fill, reals, text, transposed};
use crate::common::golden::{Check, golden, numbers};
use serde_json::Value;
use vifo::base::Real;
use vifo::exec::cpu::CpuExecutor;
use vifo::net::{Mlp, Pass};
use vifo::ops::head::SoftmaxHead;
use vifo::ops::{Op, StepArgs};
use vifo::program::builder::Tensor;
use vifo::program::{Act, Builder, Role};

/// The recorded program of the MLP with a softmax head: outputs, loss and the gradient of every tensor.
fn mlp<T: Real>(row: &Value) -> Vec<Check<T>> {
    let net = Mlp {
        n_in: 1,
        hidden: vec![50; 5],
        last: 4.into(),
        activation: Act::Relu,
        embedded: vec![],
        tables: vec![],
        scaled: false,
        parametric: false,
        dropout: 0.0,
    };
    let layout = net.layout();
    let parameters = row["parameters"].as_array().expect("parameters");
    assert_eq!(parameters.len(), layout.views.len(), "the layout has other tensors");
    let mut flat = vec![];
    for (t, (p, view)) in parameters.iter().zip(&layout.views).enumerate() {
        assert_eq!(
            (text(p, "name"), numbers(&p["shape"])),
            (view.name.as_str(), view.shape.iter().map(|&n| n as f64).collect())
        );
        let fan = text(p, "rule").strip_prefix("fill(t,i,fan=").and_then(|r| r.strip_suffix(')')).expect("a fill rule");
        let fan: f64 = fan.parse().expect("a fan");
        let values: Vec<T> = (0..view.len()).map(|i| T::of(fill(t, i, fan))).collect();
        flat.extend(if let [n_out, n_in] = view.shape[..] { transposed(&values, n_out, n_in) } else { values });
    }
    let x: Vec<T> = (0..7).map(|i| T::of(-2.0 + 4.0 * i as f64 / 6.0)).collect();

    let mut b = Builder::new(1, layout.total as u32);
    let (data, labels) = (b.buffer("x", 7, Role::Input), b.buffer("labels", 7, Role::Input));
    let weights = b.buffer("weights", layout.total, Role::State);
    b.set_weights(weights);
    let z = net.record(&mut b, Tensor::input(data, 1, 7, (1, 1, 1)), Pass::training(0));
    let (terms, dz) = (b.buffer("terms", 21, Role::Output), b.buffer("dz", 28, Role::Scratch));
    b.push(Op::SoftmaxHead(SoftmaxHead { replicas: 1, rows: 7, k: 4, share: 1 }), &[z.buf, labels], &[terms, dz]);
    let grad = b.backward(z, dz);
    b.keep(grad);
    b.keep(z.buf);
    let mut exec = CpuExecutor::<T>::new(b.finish().expect("a sound program"));
    exec.set(data, &x);
    exec.set(labels, &reals::<T>(&row["labels"]));
    exec.set(weights, &flat);
    let args = StepArgs { n_valid: 7, ..Default::default() };
    exec.step(&args);

    let loss = mean_terms(exec.get(terms), 7, 7, &args)[0];
    let mut out =
        vec![check("outputs", exec.get(z.buf).to_vec(), &row["outputs"]), check("loss", vec![loss], &row["loss"])];
    for (p, view) in parameters.iter().zip(&layout.views) {
        let ours = exec.get(grad)[view.offset..view.offset + view.len()].to_vec();
        let torch = if let [n_out, n_in] = view.shape[..] { transposed(&ours, n_in, n_out) } else { ours };
        let norm = torch.iter().map(|g| *g * *g).sum::<T>().sqrt();
        let first = torch[..torch.len().min(5)].to_vec();
        out.push(check(&format!("gradient norm of {}", view.name), vec![norm], &p["grad_norm"]));
        // Scale: the first five may all be of units that are off; the tensor's norm is what they are parts of.
        let mut five = check(&format!("gradient of {}", view.name), first, &p["grad_first5"]);
        five.found.push(norm);
        five.golden.extend(numbers(&p["grad_norm"]));
        out.push(five);
    }
    out
}

#[test]
fn networks() {
    let (mut verdict, mut seen) = (Verdict::default(), 0);
    for row in golden("networks") {
        match text(&row, "network") {
            "mlp 5x50, 1 input" => {
                witness!(verdict, "mlp", mlp(&row), Likely);
                seen += 1;
            }
            // Of networks.rs.
            "alexnet" | "preresnet20" => {}
            other => panic!("unknown network {other}"),
        }
    }
    assert_eq!(seen, 1, "golden rows are missing");
    verdict.close("networks", 2 * (28 + 1 + 12 * 6));
}
