//! AlexNet and PreResNet20 whole, against PyTorch in f64 (tests/golden/networks.json, made by make.py): outputs, loss and
//! gradients of a training step with batch statistics, weights from the same formula on both sides.

use super::fill;
use crate::common::golden::{golden, numbers};
use serde_json::Value;
use vifo::exec::cpu::CpuExecutor;
use vifo::net::{AlexNet, Layout, Net, Pass, PreResNet};
use vifo::ops::head::SoftmaxHead;
use vifo::ops::{Op, StepArgs};
use vifo::program::{Builder, Role, Tensor};

const IMAGES: usize = 3;

/// Place in our flat vector of element i of view v in PyTorch's order, found by sending marks through the door.
fn places(layout: &Layout) -> Vec<Vec<usize>> {
    // f32 counts exactly to 2^24; AlexNet has 1.5 M weights.
    let marks: Vec<f32> = (0..layout.total).map(|i| i as f32).collect();
    layout.views.iter().map(|v| layout.to_torch(v, &marks).iter().map(|&m| m as usize).collect()).collect()
}

/// |a - b| <= 1e-9 of the larger of |b| and `scale`.
fn near(name: &str, a: f64, b: f64, scale: f64) -> Result<(), String> {
    if (a - b).abs() <= 1e-9 * b.abs().max(scale) { Ok(()) } else { Err(format!("{name}: {a} where {b} is golden")) }
}

fn check(net: &Net, want: &Value) {
    let layout = net.layout();
    let parameters = want["parameters"].as_array().expect("parameters");
    assert_eq!(layout.views.len(), parameters.len());
    let places = places(&layout);
    let mut weights = vec![f64::NAN; layout.total];
    for (t, ((view, p), place)) in layout.views.iter().zip(parameters).zip(&places).enumerate() {
        assert_eq!(view.name, p["name"].as_str().expect("a name"));
        assert_eq!(serde_json::json!(view.shape), p["shape"], "{}", view.name);
        let rule = p["rule"].as_str().expect("a rule");
        for (i, at) in place.iter().enumerate() {
            weights[*at] = match rule.strip_prefix("fill(t,i,fan=") {
                Some(fan) => fill(t, i, fan.trim_end_matches(')').parse().expect("a number")),
                None => 1.0 + 0.1 * fill(t, i, 2.0),
            };
        }
    }
    let mut b = Builder::new(1, layout.total as u32);
    let (h, w, c) = net.input();
    let pixels = (h * w) as usize;
    let x = b.buffer("x", IMAGES * pixels * c as usize, Role::Input);
    let labels = b.buffer("labels", IMAGES, Role::Input);
    let state = b.buffer("weights", layout.total, Role::State);
    let running = b.buffer("running", layout.running, Role::State);
    b.set_weights(state);
    b.set_running(running, layout.running as u32, IMAGES as u32);
    let z = net.record(&mut b, Tensor::input(x, 1, IMAGES as u32, (h, w, c)), Pass::training(0));
    b.keep(z.buf);
    let k = net.n_out();
    let terms = b.buffer("terms", IMAGES * 3, Role::Output);
    let dz = b.buffer("dz", IMAGES * k as usize, Role::Scratch);
    b.push(
        Op::SoftmaxHead(SoftmaxHead { replicas: 1, rows: IMAGES as u32, k, share: 1 }),
        &[z.buf, labels],
        &[terms, dz],
    );
    let grad = b.backward(z, dz);
    b.keep(grad);
    let mut exec = CpuExecutor::<f64>::new(b.finish().expect("a sound program"));
    // NCHW sin(0.37 i) to NHWC.
    let nchw = |i: usize| (0.37 * i as f64).sin();
    let image: Vec<f64> = (0..IMAGES * pixels * c as usize)
        .map(|i| {
            let (n, rest) = (i / (pixels * c as usize), i % (pixels * c as usize));
            let (pixel, channel) = (rest / c as usize, rest % c as usize);
            nchw((n * c as usize + channel) * pixels + pixel)
        })
        .collect();
    exec.set(x, &image);
    exec.set(labels, &numbers(&want["labels"]));
    exec.set(state, &weights);
    exec.step(&StepArgs { n_valid: IMAGES as u32, ..Default::default() });

    let scale = |v: &[f64]| v.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let outputs = numbers(&want["outputs"]["data"]);
    for (a, b) in exec.get(z.buf).iter().zip(&outputs) {
        near("output", *a, *b, scale(&outputs)).unwrap_or_else(|e| panic!("{e}"));
    }
    let loss = exec.get(terms).chunks(3).map(|t| t[0]).sum::<f64>() / IMAGES as f64;
    near("loss", loss, want["loss"].as_f64().expect("a loss"), 0.0).unwrap_or_else(|e| panic!("{e}"));
    let grad = exec.get(grad);
    for ((view, p), place) in layout.views.iter().zip(parameters).zip(&places) {
        let norm = place.iter().map(|at| grad[*at] * grad[*at]).sum::<f64>().sqrt();
        let want = p["grad_norm"].as_f64().expect("a norm");
        near(&format!("{} norm", view.name), norm, want, 0.0).unwrap_or_else(|e| panic!("{e}"));
        for (at, b) in place.iter().zip(numbers(&p["grad_first5"])) {
            near(&view.name, grad[*at], b, want).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

#[test]
fn alexnet_and_preresnet20_are_pytorchs() {
    let rows = golden("networks");
    let mut seen = 0;
    for row in &rows {
        let net = match row["network"].as_str().expect("a name") {
            "alexnet" => Net::AlexNet(AlexNet::paper(3, 10)),
            "preresnet20" => Net::PreResNet(PreResNet::paper(3, 10)),
            // mlp.rs sees to it.
            name if name.starts_with("mlp") => continue,
            name => panic!("unknown network {name}"),
        };
        check(&net, row);
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[test]
fn the_comparer_rejects() {
    assert!(near("a", 1.0 + 1e-8, 1.0, 1.0).is_err());
    assert!(near("a", f64::NAN, 1.0, 1.0).is_err());
    assert!(near("a", 1.0 + 1e-10, 1.0, 1.0).is_ok());
}
