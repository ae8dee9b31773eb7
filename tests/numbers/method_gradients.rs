//! Recorded programs of the methods with ops of their own: what comes back to the weights of every layer against finite
//! differences of the loss in `sums`, in f64. Two replicas that share their rows, a short batch, and dropout, whose mask is the
//! same for equal arguments.
//!
//! Tolerance. Five points at h = 1e-3 with SiLU: h^4/30 |f'''''| + 1.5 eps_f / h, about 3e-14 |f'''''| + 5e-12 |f|; granted:
//! 1e-9 (1 + |f|).

use vifo::exec::cpu::CpuExecutor;
use vifo::ops::dirichlet::DirichletHead;
use vifo::ops::head::{LIKELIHOOD_GAUSSIAN, LIKELIHOOD_SOFTMAX};
use vifo::ops::reduce::{LossReduce, SUM_STEPS, SUM_WORDS};
use vifo::ops::vbll::{VbllHead, VbllRegularizer};
use vifo::ops::{Op, StepArgs};
use vifo::program::builder::{LinearAt, Tensor, VbllAt};
use vifo::program::{Act, Buf, Builder, Role};

const REPLICAS: u32 = 2;
const ROWS: u32 = 5;
const VALID: u32 = 4;
const N_IN: u32 = 3;
const HIDDEN: u32 = 4;
const N_TRAIN: u32 = 9;
const ETA: f64 = 0.3;

enum Method {
    Dirichlet,
    Vbll(u32),
}

struct Objective {
    exec: CpuExecutor<f64>,
    weights: Buf,
    grad: Buf,
    sums: Buf,
    start: Vec<f64>,
}

impl Objective {
    fn new(method: &Method, k: u32) -> Objective {
        // Hidden layer, then the last one: weight and bias, or mean, log scale and log noise.
        let hidden = LinearAt { n_in: N_IN, n_out: HIDDEN, weight: 0, bias: N_IN * HIDDEN };
        let (first, n) = ((N_IN + 1) * HIDDEN, HIDDEN * k);
        let last = match method {
            Method::Dirichlet => n + k,
            Method::Vbll(_) => 2 * n + k,
        };
        let stride = first + last;
        let mut b = Builder::new(REPLICAS, stride);
        let x = b.buffer("x", (ROWS * N_IN) as usize, Role::Input);
        let labels = b.buffer("labels", ROWS as usize, Role::Input);
        let weights = b.buffer("weights", (REPLICAS * stride) as usize, Role::State);
        let sums = b.buffer("sums", REPLICAS as usize * SUM_WORDS, Role::State);
        let none = b.buffer("none", 1, Role::Input);
        b.set_weights(weights);
        let y = b.linear("hidden", Tensor::input(x, 1, ROWS, (1, 1, N_IN)), hidden, Some(Act::Silu));
        let y = b.dropout(y, 0.3, 0, true);
        let terms = b.buffer("terms", (REPLICAS * ROWS * 3) as usize, Role::Scratch);
        let (replicas, rows, share) = (REPLICAS, ROWS, REPLICAS);
        let (grad, extra) = match method {
            Method::Dirichlet => {
                let at = LinearAt { n_in: HIDDEN, n_out: k, weight: first, bias: first + n };
                let z = b.linear("last", y, at, None);
                let dz = b.buffer("dz", z.len(), Role::Scratch);
                let op = Op::DirichletHead(DirichletHead { replicas, rows, k, share });
                b.push(op, &[z.buf, labels], &[terms, dz]);
                (b.backward(z, dz), None)
            }
            Method::Vbll(likelihood) => {
                let (mean, log_scale, log_noise) = (first, first + n, first + 2 * n);
                let z = b.vbll("last", y, VbllAt { n_in: HIDDEN, k, mean, log_scale, log_noise });
                assert_eq!(z.cols(), 3 * k);
                let dz = b.buffer("dz", z.len(), Role::Scratch);
                let op = VbllHead { replicas, rows, k, share, likelihood: *likelihood };
                b.push(Op::VbllHead(op), &[z.buf, labels], &[terms, dz]);
                let grad = b.backward(z, dz);
                let value = b.buffer("value", REPLICAS as usize, Role::Scratch);
                let op =
                    VbllRegularizer { replicas, n_in: HIDDEN, k, mean, log_scale, log_noise, stride, n_rows: N_TRAIN };
                b.push(Op::VbllRegularizer(op), &[weights], &[grad, value]);
                (grad, Some(value))
            }
        };
        let op = LossReduce {
            members: REPLICAS,
            samples: 1,
            rows,
            data_rows: rows,
            has_extra: u32::from(extra.is_some()),
            extra_scale: 1.0 / N_TRAIN as f32,
        };
        b.push(Op::LossReduce(op), &[terms, extra.unwrap_or(none)], &[sums]);
        b.keep(grad);
        let mut exec = CpuExecutor::new(b.finish().expect("a sound program"));
        let numbers = |n: u32, by: f64| (0..n).map(|i| 1.1 * (by * f64::from(i) + 0.3).sin()).collect::<Vec<f64>>();
        exec.set(x, &numbers(ROWS * N_IN, 2.1));
        let targets: Vec<f64> = match method {
            Method::Vbll(LIKELIHOOD_GAUSSIAN) => numbers(ROWS, 1.3),
            _ => (0..ROWS).map(|i| f64::from(i % k)).collect(),
        };
        exec.set(labels, &targets);
        Objective { exec, weights, grad, sums, start: numbers(REPLICAS * stride, 0.9) }
    }

    /// Each replica's loss at `w`, from a step with this eta.
    fn loss(&mut self, eta: f64, w: &[f64]) -> [f64; REPLICAS as usize] {
        self.exec.set(self.weights, w);
        self.exec.set(self.sums, &[0.0; REPLICAS as usize * SUM_WORDS]);
        self.exec.step(&StepArgs { n_valid: VALID, eta, seed: 3, step: 2, ..Default::default() });
        let sums = self.exec.get(self.sums);
        // The batch is not full, and the sums are weighted by how full it is.
        let mean = |r: usize, t: usize| sums[r * SUM_WORDS + t] / sums[r * SUM_WORDS + SUM_STEPS];
        std::array::from_fn(|r| mean(r, 0) + eta * mean(r, 1))
    }

    /// The largest share of the tolerance that a weight uses; the gradient is that of a step with `eta`.
    fn share(&mut self, eta: f64) -> f64 {
        let start = self.start.clone();
        let loss = self.loss(eta, &start);
        let grad = self.exec.get(self.grad).to_vec();
        let stride = start.len() / REPLICAS as usize;
        let mut most = 0f64;
        for i in 0..start.len() {
            let at = |m: f64, this: &mut Objective| {
                let mut w = start.clone();
                w[i] += 1e-3 * m;
                this.loss(ETA, &w)[i / stride]
            };
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|m| at(m, self));
            let difference = (8.0 * (c - b) - (d - a)) / (12.0 * 1e-3);
            let share = (grad[i] - difference).abs() / (1e-9 * (1.0 + loss[i / stride].abs()));
            most = if share > most || share.is_nan() { share } else { most };
        }
        assert!(grad.iter().filter(|g| **g != 0.0).count() > start.len() / 2, "a gradient of nothing");
        most
    }
}

#[test]
fn gradients_reach_every_weight() {
    for (name, method, k) in [
        ("dirichlet", Method::Dirichlet, 3),
        ("vbll, classification", Method::Vbll(LIKELIHOOD_SOFTMAX), 3),
        ("vbll, regression", Method::Vbll(LIKELIHOOD_GAUSSIAN), 1),
    ] {
        let share = Objective::new(&method, k).share(ETA);
        println!("{name}: {share:.1e} of the tolerance");
        assert!(share <= 1.0, "{name}: {share:e} of the tolerance");
    }
}

/// The same differences against the gradient of another weight of the regularizer, off by one in a thousand.
#[test]
fn a_wrong_gradient_is_seen() {
    let share = Objective::new(&Method::Vbll(LIKELIHOOD_SOFTMAX), 3).share(1.001 * ETA);
    assert!(share > 100.0, "{share}");
}
