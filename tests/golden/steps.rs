//! Optimizers, and whole networks.

use super::heads::mean_terms;
use super::*;

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
            // Of tests/golden_methods.rs, and Laplace's of its own test.
            "dirichlet" | "repulsive_phi" | "vbll" | "swag_sample" | "laplace_last_layer" => {}
            other => panic!("unknown method {other}"),
        }
    }
    assert_eq!(seen, ["adam", "sgd"], "golden rows are missing");
    verdict.close("optimizers", 2 * 2 * 10 * 6);
}

// ---- whole networks ----

/// `fill` of make.py, in PyTorch's order.
fn fill(tensor: usize, n: usize, fan_in: f64) -> Vec<f64> {
    let at = |i: usize| (12.9898 * (i as f64 + 1.0) + 78.233 * (tensor as f64 + 1.0)).sin();
    (0..n).map(|i| at(i) * (2.0 / fan_in.max(1.0)).sqrt()).collect()
}

/// The recorded program of the MLP with a softmax head: outputs, loss and the gradient of every tensor.
fn mlp<T: Real>(row: &Value) -> Vec<Check<T>> {
    let net = Mlp { n_in: 1, hidden: vec![50; 5], last: 4.into(), activation: Act::Relu, dropout: 0.0 };
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
        let values: Vec<T> = fill(t, view.len(), fan.parse().expect("a fan")).into_iter().map(T::of).collect();
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
            // A later release.
            "alexnet" | "preresnet20" => {}
            other => panic!("unknown network {other}"),
        }
    }
    assert_eq!(seen, 1, "golden rows are missing");
    verdict.close("networks", 2 * (28 + 1 + 12 * 6));
}

// ---- the harness itself ----
