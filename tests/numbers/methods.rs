//! What must hold of every method, on every network: the same run cut and resumed, pinned losses, rows that do not know
//! of each other, objectives that do not know the size of the batch; and what each promises by itself.

use crate::common::runs::{prepare, train, train_in_two, weights};
use vifo::data::Inputs;
use vifo::data::load::Loaded;
use vifo::exec::Device;
use vifo::method::{METHODS, Predictive, Trained};
use vifo::train::plan::TrainingPlan;
use vifo::train::{Flow, Predictor, Trainer};

/// A curve, classes in the plane, and images for the two networks of the paper, each small.
const FIXTURES: [(&str, &str); 4] = [
    ("regression", "[data]\ntoy = \"sinusoid\"\nrows = 40\nvalidation_fraction = 0.0\n[net]\nhidden = [8, 8]"),
    ("classes", "[data]\ntoy = \"blobs\"\nrows = 40\nvalidation_fraction = 0.0\n[net]\nhidden = [8, 8]"),
    (
        "alexnet",
        "[data]\nimages = \"digits\"\nlimit = 40\nimage_size = 32\nvalidation_fraction = 0.0\n[net]\nname = \"alexnet\"\nwidths = [3, 4, 4, 3, 2]\nhidden = [6]",
    ),
    (
        "preresnet",
        "[data]\nimages = \"digits\"\nlimit = 40\nimage_size = 32\nvalidation_fraction = 0.0\n[net]\nname = \"preresnet\"\ndepth = 8\nwidths = [3]",
    ),
];

const SHORT: &str = "method.members = 2\ntrain.epochs = 5\ntrain.batch = 20\ntrain.lr = 0.01\npredict.samples = 3\ntrain.patience = 0\nmethod.samples = 2\nswag.columns = 3";

fn fixture(base: &str, method: &str, extra: &str) -> (TrainingPlan, Loaded) {
    prepare(base, &format!("{SHORT}\nmethod.name = {method}\n{extra}"))
}

fn suits(method: &str, base: &str) -> bool {
    !(method == "dirichlet" && base.contains("sinusoid"))
}

fn trained(plan: &TrainingPlan, data: &Loaded) -> Trained {
    let mut trainer = Trainer::new(plan, data, &Device::Cpu).expect("a trainer");
    trainer.run(|_, _| Ok(Flow::Continue)).unwrap_or_else(|e| panic!("{e}"));
    trainer.finalize(&data.train, &Device::Cpu).unwrap_or_else(|e| panic!("{e}"))
}

fn predict(plan: &TrainingPlan, trained: &Trained, x: Inputs) -> Predictive {
    let n = x.len() / plan.setup.net.n_in() as usize;
    let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, n).expect("a predictor");
    predictor.set(trained).unwrap_or_else(|e| panic!("{e}"));
    predictor.predict(x).unwrap_or_else(|e| panic!("{e}"))
}

/// All numbers of a prediction, row by row.
fn rows_of(p: &Predictive) -> Vec<Vec<f64>> {
    match p {
        Predictive::Regression(r) => (0..r.n()).map(|i| vec![r.mean[i], r.aleatoric[i], r.epistemic[i]]).collect(),
        Predictive::Classification(c) => (0..c.total.len())
            .map(|i| [&c.probs[i * c.k..(i + 1) * c.k], &[c.total[i], c.aleatoric[i], c.epistemic[i]]].concat())
            .collect(),
    }
}

/// The last rows of a set first.
fn reversed(data: &Loaded) -> (Vec<f32>, Vec<u8>) {
    let d = data.train.d;
    let x = data.train.x.chunks(d).rev().flatten().copied().collect();
    let bytes = data.train.bytes.chunks(d).rev().flatten().copied().collect();
    (x, bytes)
}

/// Cut after an epoch, saved, read and gone on with: weights, statistics, moments and snapshots come back to the bit, and
/// with them what is predicted. SGD begins with an epoch of Adam where the method takes SGD.
#[test]
fn every_method_resumes_to_the_bit_on_every_network() {
    for (name, base) in FIXTURES {
        for method in METHODS.iter().map(|m| m.name()).filter(|m| suits(m, base)) {
            let (plan, data) = fixture(base, method, "train.swa_start = 1\ntrain.adam_epochs = 1");
            let (whole, _) = train(&plan, &data);
            assert!(weights(&whole).iter().all(|w| w.is_finite()), "{name}, {method}");
            for stop in [1, 3] {
                assert_eq!(whole, train_in_two(&plan, &data, stop), "{name}, {method}, cut at {stop}");
            }
        }
    }
}

/// A row's prediction is its own: it does not change with the rows beside it, their order or their number, to the bit.
/// Batch normalisation that looked at the batch would fail here, as would a mask that differs by row.
#[test]
fn rows_are_predicted_one_by_one() {
    for (name, base) in FIXTURES {
        for method in METHODS.iter().map(|m| m.name()).filter(|m| suits(m, base)) {
            let (plan, data) = fixture(base, method, "");
            let trained = trained(&plan, &data);
            let all = rows_of(&predict(&plan, &trained, data.train.inputs()));
            assert!(all.iter().flatten().all(|v| v.is_finite()), "{name}, {method}");
            let (x, bytes) = reversed(&data);
            let turned = if bytes.is_empty() { Inputs::Rows(&x) } else { Inputs::Images(&bytes) };
            let mut back = rows_of(&predict(&plan, &trained, turned));
            back.reverse();
            assert_eq!(all, back, "{name}, {method}: the order of the rows");
            let d = data.train.d;
            let first = match data.train.inputs() {
                Inputs::Rows(x) => Inputs::Rows(&x[..d]),
                Inputs::Images(x) => Inputs::Images(&x[..d]),
            };
            assert_eq!(all[..1], rows_of(&predict(&plan, &trained, first))[..], "{name}, {method}: a row alone");
        }
    }
}

/// Probabilities sum to 1, the parts of the entropy to the whole, variances are not negative; a checkpoint carries all of
/// it: saved and read, the prediction is the same to the bit.
#[test]
fn predictions_are_distributions_and_survive_a_checkpoint() {
    for (name, base) in FIXTURES {
        for method in METHODS.iter().map(|m| m.name()).filter(|m| suits(m, base)) {
            for extra in ["", "laplace.predict = samples", "laplace.structure = full", "laplace.structure = diagonal"] {
                if !extra.is_empty() && method != "laplace" {
                    continue;
                }
                let (plan, data) = fixture(base, method, extra);
                let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
                trainer.run(|_, _| Ok(Flow::Continue)).unwrap_or_else(|e| panic!("{e}"));
                let trained = trainer.finalize(&data.train, &Device::Cpu).unwrap_or_else(|e| panic!("{e}"));
                let p = predict(&plan, &trained, data.train.inputs());
                match &p {
                    Predictive::Regression(r) => {
                        assert!(r.aleatoric.iter().all(|v| *v > 0.0) && r.epistemic.iter().all(|v| *v >= 0.0));
                    }
                    Predictive::Classification(c) => {
                        for (i, p) in c.probs.chunks(c.k).enumerate() {
                            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{name}, {method}");
                            let parts = c.aleatoric[i] + c.epistemic[i];
                            assert!((c.total[i] - parts).abs() < 1e-9, "{name}, {method}");
                            assert!(c.aleatoric[i] >= 0.0 && c.epistemic[i] >= -1e-12, "{name}, {method}");
                        }
                    }
                }
                let layout = plan.setup.layout();
                let bytes = trainer.best_checkpoint(trained).and_then(|c| c.to_bytes(&layout)).expect("bytes");
                let (members, len) = (plan.setup.members as usize, plan.setup.member_len());
                let path = std::path::Path::new("saved");
                let back = vifo::train::Checkpoint::from_bytes(&bytes, path, &layout, members, len).expect("read");
                assert_eq!(
                    rows_of(&p),
                    rows_of(&predict(&plan, &back.trained, data.train.inputs())),
                    "{name}, {method}"
                );
            }
        }
    }
}

/// Mean loss of an epoch with the rate at 0, in batches of `batch`.
fn loss_at_rest(method: &str, batch: u32) -> f64 {
    let extra = format!("train.batch = {batch}\ntrain.epochs = 1\ntrain.lr = 1e-30\ntrain.optimizer = sgd");
    let base = FIXTURES[1].1;
    let (plan, data) = fixture(base, method, &extra);
    train(&plan, &data).1[0].loss
}

/// The weight of a regularizer does not depend on the batch: of the same weights, the mean over batches of 10 is the loss
/// of the whole set of 40 rows. Not of methods whose objective draws samples, whose regularizer is not a sum over rows
/// ("_all"), or whose kernel compares outputs of the batch at hand (repulsive in function space; there the number of
/// dimensions is part of the kernel).
#[test]
fn the_objective_does_not_move_with_the_batch() {
    for method in ["base", "swa", "swag", "dirichlet", "laplace", "vbll"] {
        let (whole, parts) = (loss_at_rest(method, 40), loss_at_rest(method, 10));
        // Sums of 40 numbers in another order, f32.
        assert!((whole - parts).abs() < 1e-5 * (1.0 + whole.abs()), "{method}: {whole} and {parts}");
    }
    let extra = "repulsive.space = weights\ntrain.lr = 1e-30\ntrain.epochs = 1\ntrain.optimizer = sgd";
    let loss = |batch: u32| {
        let (plan, data) = fixture(FIXTURES[1].1, "repulsive", &format!("{extra}\ntrain.batch = {batch}"));
        train(&plan, &data).1[0].loss
    };
    assert!((loss(40) - loss(10)).abs() < 1e-5 * (1.0 + loss(40).abs()));
}

/// Members that repel each other end further apart than the same members without it: in what they say, or in their weights.
#[test]
fn repulsion_raises_the_diversity_of_the_members() {
    for space in ["function", "weights"] {
        let spread = |method: &str| {
            let extra = format!(
                "method.members = 5\ntrain.epochs = 150\ntrain.batch = 40\nrepulsive.space = {space}\nrepulsive.prior_variance = 1000\nrepulsive.strength = 1"
            );
            let (plan, data) = fixture(FIXTURES[1].1, method, &extra);
            let trained = trained(&plan, &data);
            if space == "weights" {
                let members: Vec<&[f32]> = trained.weights.chunks_exact(plan.setup.member_len()).collect();
                let pairs = members.iter().flat_map(|a| members.iter().map(move |b| (a, b)));
                return pairs.flat_map(|(a, b)| a.iter().zip(*b)).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            }
            match predict(&plan, &trained, data.train.inputs()) {
                Predictive::Classification(c) => c.epistemic.iter().sum::<f64>() / c.epistemic.len() as f64,
                Predictive::Regression(_) => panic!("classes"),
            }
        };
        let (alone, apart) = (spread("base"), spread("repulsive"));
        println!("{space}: diversity {alone:.5} alone, {apart:.5} apart");
        assert!(apart > alone, "{space}: {apart} is not above {alone}");
    }
}

/// The cold limit. With the weight of the regularizer at T and the prior's variance at T c the prior's pull stays as it is
/// while entropy goes as T: at T -> 0 the variance of q vanishes and its mean is the maximum a posteriori of the
/// same prior. The oracle is a gradient descent on a convex objective in f64: softmax of a linear map of two inputs, with
/// |z|^2 / (2 c) a row (VIFO: prior on the outputs) or |W|^2 / (2 c N) (VI: prior on the weights).
#[test]
fn without_temperature_vifo_and_vi_are_maximum_a_posteriori() {
    const C: f64 = 4.0;
    let base = "[data]\ntoy = \"blobs\"\nrows = 30\nvalidation_fraction = 0.0\n[net]\nhidden = []";
    for method in ["vifo-naive", "vi-naive"] {
        let error = |t: f64| {
            let extra = format!(
                "method.members = 1\ntrain.batch = 30\ntrain.epochs = 4000\ntrain.evaluate_every = 4000\ntrain.lr = 0.02\ntrain.clip = 0\nmethod.samples = 10\nmethod.eta = {t}\nprior.variance = {}\nvi.init_rho = -8.0",
                t * C
            );
            let (plan, data) = fixture(base, method, &extra);
            let trained = trained(&plan, &data);
            let (w, spread) = linear_map(&plan, &trained, method);
            let want = maximum_a_posteriori(&data, C, method == "vi-naive");
            let worst = w.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            (worst, spread)
        };
        let (warm, cold) = (error(1.0), error(1e-4));
        println!("{method}: distance to the optimum and sd at T = 1 {warm:?}, at T = 1e-4 {cold:?}");
        // The sampled expectation leaves noise of the order of its sd; Adam's last steps move by less than its rate, 0 at the end.
        assert!(cold.0 < 0.05 && cold.1 < 0.05, "{method}: {cold:?}");
        assert!(cold.1 < 0.2 * warm.1, "{method}: the variance does not vanish, {cold:?} after {warm:?}");
    }
}

/// z = W x + b of the trained means, [3, 3] with b last, and the mean sd of outputs or weights.
fn linear_map(plan: &TrainingPlan, trained: &Trained, method: &str) -> (Vec<f64>, f64) {
    let softplus = |rho: f32| f64::from(rho).exp().ln_1p();
    if method == "vi-naive" {
        let layout = plan.setup.layout();
        let (mu, rho) = trained.weights.split_at(layout.total);
        let [weight, bias] = [0, 1].map(|i| layout.to_torch(&layout.views[i], mu));
        let w = (0..3).flat_map(|c| [weight[2 * c], weight[2 * c + 1], bias[c]]).map(f64::from).collect();
        return (w, rho.iter().map(|r| softplus(*r)).sum::<f64>() / rho.len() as f64);
    }
    // Outputs at 0 and at the two unit vectors: mean and rho of three logits.
    let x = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, 3).expect("a predictor");
    predictor.set(trained).expect("weights");
    let out = predictor.outputs(Inputs::Rows(&x)).expect("outputs");
    let at = |row: usize, c: usize| f64::from(out[row * 6 + c]);
    let w = (0..3).flat_map(|c| [at(1, c) - at(0, c), at(2, c) - at(0, c), at(0, c)]).collect();
    (w, out.chunks(6).flat_map(|row| &row[3..]).map(|r| softplus(*r)).sum::<f64>() / 9.0)
}

fn maximum_a_posteriori(data: &Loaded, c: f64, on_weights: bool) -> Vec<f64> {
    let n = data.train.n;
    let rows: Vec<([f64; 3], usize)> = (0..n)
        .map(|i| ([f64::from(data.train.x[2 * i]), f64::from(data.train.x[2 * i + 1]), 1.0], data.train.y[i] as usize))
        .collect();
    let mut w = vec![0.0; 9];
    for _ in 0..20_000 {
        let mut g: Vec<f64> = w.iter().map(|v| if on_weights { v / (c * n as f64) } else { 0.0 }).collect();
        for (x, y) in &rows {
            let z: Vec<f64> = (0..3).map(|k| (0..3).map(|i| w[3 * k + i] * x[i]).sum()).collect();
            let sum: f64 = z.iter().map(|z| z.exp()).sum();
            for k in 0..3 {
                let pull = if on_weights { 0.0 } else { z[k] / c };
                let d = (z[k].exp() / sum - f64::from(u8::from(k == *y)) + pull) / n as f64;
                (0..3).for_each(|i| g[3 * k + i] += d * x[i]);
            }
        }
        w.iter_mut().zip(&g).for_each(|(w, g)| *w -= 0.3 * g);
    }
    w
}

/// Ten losses of each method on each fixture, as they were when the golden tests of its parts last agreed. Another order of
/// the sums moves a loss by some 1e-6 and ten steps widen that; 5e-4 is far below what any change of a method does.
/// `VIFO_PRINT_LOSS_TRACES=1 cargo test --test numbers methods::loss_traces` writes the file anew.
#[test]
fn loss_traces() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/loss_traces.json");
    let mut found = serde_json::Map::new();
    for (name, base) in FIXTURES {
        for method in METHODS.iter().map(|m| m.name()).filter(|m| suits(m, base)) {
            let (plan, data) = fixture(base, method, "train.epochs = 10\ntrain.batch = 40\nmethod.eta = 0.1");
            let losses: Vec<f64> = train(&plan, &data).1.iter().map(|r| r.loss).collect();
            assert_eq!(losses.len(), 10, "{name}, {method}");
            found.insert(format!("{name}, {method}"), serde_json::json!(losses));
        }
    }
    if std::env::var_os("VIFO_PRINT_LOSS_TRACES").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&found).expect("JSON")).expect("written");
        return;
    }
    let text = std::fs::read_to_string(&path).expect("tests/golden/loss_traces.json");
    let pinned: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(found.keys().collect::<Vec<_>>(), pinned.keys().collect::<Vec<_>>());
    for (name, losses) in &found {
        let numbers = |v: &serde_json::Value| -> Vec<f64> {
            v.as_array().expect("ten losses").iter().filter_map(serde_json::Value::as_f64).collect()
        };
        for (step, (loss, pin)) in numbers(losses).into_iter().zip(numbers(&pinned[name])).enumerate() {
            assert!(
                (loss - pin).abs() <= 5e-4 * (1.0 + pin.abs()),
                "{name}, step {step}: {loss} where {pin} is pinned"
            );
        }
    }
}
