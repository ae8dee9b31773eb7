//! `vifo export RUN NAME.onnx` through rten, a program that shares no code with this one: every method on a table with
//! missing numbers, on two targets, on classes and on images gives what `predict` gives. Texts and dates, which rten does not
//! know, go through onnxruntime in `tests/onnx/check.py`.

use rten::Value;
use rten_tensor::prelude::*;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use vifo::data::Dataset;
use vifo::data::encode::feature::FeatureKind;
use vifo::data::images::Part;
use vifo::exec::Device;
use vifo::export::onnx::{
    self,
    proto::{Element, ModelProto},
};
use vifo::method::Predictive;
use vifo::run::{Model, RunFolder};
use vifo::train::Predictor;

/// Of a standard deviation, or of 1 for probabilities and nats: single precision over a few layers loses some 1e-6.
const TOLERANCE: f64 = 1e-5;
const METHODS: [&str; 11] =
    ["base", "swa", "swag", "dropout", "repulsive", "laplace", "vbll", "vifo-mean", "vifo-eb", "vi-mean", "dirichlet"];

fn vifo(dir: &Path, args: &str) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    let out = c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split_whitespace()).output().expect("runs");
    assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
}

fn fitted(dir: &Path, what: &str) -> Model {
    vifo(dir, &format!("fit {what} --epochs 3 --members 2 --device cpu -q --out run"));
    let model = Model::open(&RunFolder::open(&dir.join("run")).expect("a run")).expect("a model");
    std::fs::rename(dir.join("run"), dir.join(format!("run{}", std::fs::read_dir(dir).expect("a folder").count())))
        .expect("out of the way");
    model
}

/// The graph without what rten has no operators for: the names of the classes.
fn without_texts(mut graph: ModelProto) -> ModelProto {
    let inner = graph.graph.as_mut().expect("a graph");
    inner.output.retain(|o| o.name.as_deref() != Some("predicted"));
    inner.node.retain(|n| n.domain.is_none() && n.output[0] != "predicted");
    graph
}

/// Every output by its name.
fn run(graph: &ModelProto, feed: &[(String, Value)]) -> HashMap<String, Vec<f64>> {
    let net = rten::Model::load(onnx::bytes(graph).expect("bytes")).unwrap_or_else(|e| panic!("{e}"));
    let id = |name: &str| net.node_id(name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let names: Vec<String> = graph.graph.iter().flat_map(|g| &g.output).filter_map(|o| o.name.clone()).collect();
    let inputs = feed.iter().map(|(name, value)| (id(name), value.clone().into())).collect();
    let outputs: Vec<_> = names.iter().map(|n| id(n)).collect();
    let values = net.run(inputs, &outputs, None).unwrap_or_else(|e| panic!("{e}"));
    let numbers = |v: Value| match v {
        Value::FloatTensor(t) => t.to_vec().into_iter().map(f64::from).collect(),
        Value::Int32Tensor(t) => t.to_vec().into_iter().map(f64::from).collect(),
        _ => vec![],
    };
    names.into_iter().zip(values.into_iter().map(numbers)).collect()
}

/// New rows of a table in and somewhat beyond the training range, some cells missing where training knew such; as a file
/// for `predict` and as columns for the graph.
fn new_rows(dir: &Path, model: &Model) -> (Dataset, Vec<(String, Value)>) {
    let n = 40;
    let (mut columns, mut feed) = (vec![], vec![]);
    for (j, feature) in model.encoder.features.iter().enumerate() {
        let scale = feature.kind.scale().expect("a number");
        let value = |i: usize| {
            let missing = matches!(feature.kind, FeatureKind::Gappy { .. }) && i % 7 == 3;
            let share = ((i * (17 + 4 * j)) % n) as f64 / n as f64;
            // What single precision holds, as rten computes in nothing else.
            let v = f64::from((scale.min + (scale.max - scale.min) * (1.2 * share - 0.1)) as f32);
            if missing { f64::NAN } else { v }
        };
        let values: Vec<f64> = (0..n).map(value).collect();
        feed.push((
            feature.name.clone(),
            Value::from_shape([n], values.iter().map(|v| *v as f32).collect()).expect("n"),
        ));
        columns.push((feature.name.clone(), values));
    }
    let header = columns.iter().map(|c| c.0.as_str()).collect::<Vec<_>>().join(",");
    let cell = |v: f64| if v.is_nan() { String::new() } else { v.to_string() };
    let row = |i: usize| columns.iter().map(|c| cell(c.1[i])).collect::<Vec<_>>().join(",");
    let text = std::iter::once(header).chain((0..n).map(row)).collect::<Vec<_>>().join("\n");
    std::fs::write(dir.join("new.csv"), text + "\n").expect("written");
    let (data, _) = model.read(&dir.join("new.csv"), Part::All, false, None).expect("rows");
    assert_eq!(data.n, n);
    (data, feed)
}

/// Largest |found - want| / scale; infinite where one is no number.
fn distance(found: &[f64], want: &[f64], scale: impl Fn(usize) -> f64) -> f64 {
    assert_eq!(found.len(), want.len());
    let one = |(i, (f, w)): (usize, (&f64, &f64))| {
        let gap = (f - w).abs() / scale(i);
        if gap.is_nan() { f64::INFINITY } else { gap }
    };
    found.iter().zip(want).enumerate().map(one).fold(0.0, f64::max)
}

/// The largest difference between a graph and what is predicted here.
fn difference(model: &Model, graph: &ModelProto, data: &Dataset, feed: &[(String, Value)]) -> f64 {
    let out = run(graph, feed);
    let mut worst = 0.0f64;
    for view in model.views() {
        let several = model.encoder.n_targets() > 1;
        let prefix = if several { format!("{}_", view.encoder.target_name()) } else { String::new() };
        match view.predict(&Device::Cpu, data.inputs()).expect("a prediction") {
            Predictive::Regression(r) => {
                let sd: Vec<f64> = (0..r.n()).map(|i| r.sd(i)).collect();
                let root = |v: &[f64]| v.iter().map(|v| v.sqrt()).collect::<Vec<f64>>();
                for (name, want) in [
                    ("mean", r.mean.clone()),
                    ("sd", sd.clone()),
                    ("aleatoric_sd", root(&r.aleatoric)),
                    ("epistemic_sd", root(&r.epistemic)),
                ] {
                    worst = worst.max(distance(&out[&format!("{prefix}{name}")], &want, |i| sd[i]));
                }
            }
            Predictive::Classification(c) => {
                let wanted = by_fixed_draws(model, graph, data).unwrap_or([c.probs, c.total, c.aleatoric, c.epistemic]);
                let names = ["probabilities", "entropy", "aleatoric_entropy", "mutual_information"];
                for (name, want) in names.into_iter().zip(wanted) {
                    worst = worst.max(distance(&out[name], &want, |_| 1.0));
                }
            }
        }
    }
    worst
}

/// Where the logits are open: probabilities, entropy, its mean over the draws and their difference, in double precision from
/// the networks' outputs as `predict` has them and the draws that the graph holds.
fn by_fixed_draws(model: &Model, graph: &ModelProto, data: &Dataset) -> Option<[Vec<f64>; 4]> {
    let draws = graph.graph.as_ref()?.initializer.iter().find(|t| t.name.as_deref() == Some(onnx::DRAWS))?;
    let bytes = draws.raw_data.as_ref()?;
    let eps: Vec<f64> =
        bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().expect("4")))).collect();
    let [r, s, _, k] = draws.dims[..] else { panic!("{:?}", draws.dims) };
    let [r, s, k] = [r, s, k].map(|v| v as usize);
    let setup = &model.plan.setup;
    let mut predictor = Predictor::new(setup, &Device::Cpu, model.plan.seed, data.n).expect("a predictor");
    predictor.set(&model.trained).expect("weights");
    let outputs = predictor.outputs(data.inputs()).expect("outputs");
    let width = setup.output_width();
    let method = model.recipe.method.name.as_str();
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let softmax = |z: Vec<f64>| {
        let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let e: Vec<f64> = z.iter().map(|z| (z - top).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.into_iter().map(|e| e / sum).collect::<Vec<f64>>()
    };
    let entropy = |p: &[f64]| -> f64 { p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum() };
    let mut out: [Vec<f64>; 4] = Default::default();
    for i in 0..data.n {
        let (mut average, mut aleatoric, mut probit) = (vec![0.0; k], 0.0, vec![0.0; k]);
        for net in 0..r {
            let z: Vec<f64> = outputs[(net * data.n + i) * width..][..width].iter().map(|v| f64::from(*v)).collect();
            let sd = |c: usize| match method {
                "vbll" => (z[k + c] + (2.0 * z[2 * k + c]).exp()).sqrt(),
                "laplace" => z[k + c].max(0.0).sqrt(),
                _ => softplus(z[k + c]).max(1e-6),
            };
            for draw in 0..s {
                let p = softmax((0..k).map(|c| z[c] + sd(c) * eps[(net * s + draw) * k + c]).collect());
                aleatoric += entropy(&p) / (r * s) as f64;
                average.iter_mut().zip(p).for_each(|(a, p)| *a += p / (r * s) as f64);
            }
            let shrunk = (0..k).map(|c| z[c] / (1.0 + std::f64::consts::PI / 8.0 * z[k + c]).sqrt()).collect();
            probit.iter_mut().zip(softmax(shrunk)).for_each(|(a, p)| *a += p / r as f64);
        }
        if method == "laplace" {
            average = probit;
            aleatoric = aleatoric.min(entropy(&average));
        }
        let total = entropy(&average);
        out[0].extend(average);
        out[1].push(total);
        out[2].push(aleatoric);
        out[3].push((total - aleatoric).max(0.0));
    }
    Some(out)
}

/// The comparison must tell a graph of which the largest layer is off by a hundredth. Of a method with hundreds of sampled
/// networks, a single weight of one of them would be less than the tolerance.
fn moved(mut graph: ModelProto) -> ModelProto {
    let constants = &mut graph.graph.as_mut().expect("a graph").initializer;
    let weights = constants.iter_mut().filter(|t| t.data_type == Some(1) && t.name.as_deref() != Some(onnx::DRAWS));
    let largest = weights.max_by_key(|t| t.raw_data.as_ref().map_or(0, Vec::len)).expect("a constant");
    for number in largest.raw_data.as_mut().expect("numbers").chunks_exact_mut(4) {
        let value = f32::from_le_bytes(number.try_into().expect("four bytes"));
        number.copy_from_slice(&(1.01 * value).to_le_bytes());
    }
    graph
}

fn check(name: &str, model: &Model, data: &Dataset, feed: &[(String, Value)]) {
    let graph = without_texts(onnx::export(model, None).unwrap_or_else(|e| panic!("{name}: {e}")));
    let gap = difference(model, &graph, data, feed);
    assert!(gap < TOLERANCE, "{name}: {gap:e}");
    let off = difference(model, &moved(graph), data, feed);
    assert!(off > TOLERANCE, "{name}: moved weights change nothing, {off:e}");
}

/// Each method that `takes` accepts, on the rows of a table.
fn each_on_table(dir: &Path, what: &str, takes: impl Fn(&str) -> bool) {
    for method in METHODS.into_iter().filter(|m| takes(m)) {
        let model = fitted(dir, &format!("{what} --method {method}"));
        let (data, feed) = new_rows(dir, &model);
        check(method, &model, &data, &feed);
    }
}

/// Three columns of numbers, one with holes, and two targets.
fn table(dir: &Path) {
    let mut text = "a,b,c,y,z\n".to_string();
    for i in 0..160 {
        let (a, b) = ((f64::from(i) * 0.37).sin(), (f64::from(i) * 0.71).cos());
        let hole = if i % 9 == 4 { String::new() } else { (10.0 + 3.0 * b).to_string() };
        let noise = (f64::from(i) * 12.9898).sin() * 0.3;
        text += &format!("{a},{hole},{},{},{}\n", a * b, 50.0 + 4.0 * a + noise, 2.0 * b - noise);
    }
    std::fs::write(dir.join("t.csv"), text).expect("written");
}

#[test]
fn regressions_are_what_predict_says() {
    let dir = tempfile::tempdir().expect("a folder");
    table(dir.path());
    each_on_table(dir.path(), "t.csv --target y --ignore z --hidden 8,8", |m| m != "dirichlet");
    for (method, key) in [
        ("vifo-mean", "method.noise_link=softplus"),
        ("base", "method.noise_link=softplus"),
        ("vifo-mean", "method.sigma_link=exp"),
        ("vifo-mean", "method.likelihood=student-t"),
        ("base", "method.likelihood=student-t --set method.nu=2.5 --set method.noise_link=softplus"),
        ("vifo-mean", "net.embedding=periodic --set net.activation=mish"),
        ("vi-mean", "net.embedding=periodic"),
        ("laplace", "net.embedding=periodic --set net.hidden=[]"),
        ("vifo-mean", "net.activation=selu --set net.input_scale=true --set net.parametric=true"),
        (
            "base",
            "net.embedding=periodic --set net.activation=mish --set net.input_scale=true --set net.parametric=true",
        ),
        ("vi-mean", "net.activation=silu --set net.input_scale=true --set net.parametric=true"),
        ("dropout", "net.activation=selu"),
        ("swag", "net.activation=mish --set net.parametric=true"),
        ("vbll", "net.activation=relu --set net.input_scale=true --set net.parametric=true"),
        ("laplace", "net.activation=selu --set net.input_scale=true --set net.parametric=true"),
        ("laplace", "net.input_scale=true --set net.hidden=[]"),
        ("vifo-mean", "data.scaling=robust"),
        ("base", "data.scaling=robust --set net.embedding=periodic --set net.input_scale=true"),
        ("laplace", "laplace.structure=full"),
        ("laplace", "laplace.structure=diagonal"),
    ] {
        let what = format!("t.csv --target y --ignore z --hidden 8,8 --method {method} --set {key}");
        let model = fitted(dir.path(), &what);
        let (data, feed) = new_rows(dir.path(), &model);
        check(&what, &model, &data, &feed);
    }
}

#[test]
fn several_targets_are_what_predict_says() {
    let dir = tempfile::tempdir().expect("a folder");
    table(dir.path());
    each_on_table(dir.path(), "t.csv --target y,z --hidden 8", |m| m != "dirichlet" && m != "vbll");
}

#[test]
fn classes_are_what_predict_says() {
    let dir = tempfile::tempdir().expect("a folder");
    each_on_table(dir.path(), "moons --hidden 8,8", |_| true);
    let model = fitted(dir.path(), "moons --hidden 8,8 --method laplace --set laplace.predict=samples");
    let (data, feed) = new_rows(dir.path(), &model);
    check("samples of the last layer", &model, &data, &feed);
}

#[test]
fn images_are_what_predict_says() {
    let dir = tempfile::tempdir().expect("a folder");
    for method in ["base", "swag", "dropout", "laplace", "vbll", "vifo-mean", "vi-mean", "dirichlet"] {
        let model = fitted(dir.path(), &format!("digits --set net.widths=[3,4] --hidden 8 --method {method}"));
        let (all, _) = model.read(Path::new("digits"), Part::All, false, None).expect("images");
        let bytes: Vec<u8> = all.bytes[..20 * all.d].to_vec();
        let images = Value::from_shape([20, 8, 8, 1], bytes.clone()).expect("images");
        let data = Dataset { bytes: bytes.into(), n: 20, d: all.d, ..Default::default() };
        check(method, &model, &data, &[("images".into(), images)]);
    }
}

/// Name of the texts, of their numbers, the texts with their numbers, and that of any other text.
type Encoded = (String, String, HashMap<String, i64>, i64);

/// The graph with the numbers that its `LabelEncoder`s give, which rten does not know, as inputs in place of the texts; and of
/// each such input its name, and the texts with their numbers, last that of any other text.
fn with_numbers(mut graph: ModelProto) -> (ModelProto, Vec<Encoded>) {
    let inner = graph.graph.as_mut().expect("a graph");
    let mut found = vec![];
    for node in inner.node.iter().filter(|n| n.op_type.as_deref() == Some("LabelEncoder")) {
        let of = |name: &str| node.attribute.iter().find(|a| a.name.as_deref() == Some(name)).expect("an attribute");
        let texts = of("keys_strings").strings.iter().map(|s| String::from_utf8(s.to_vec()).expect("UTF-8"));
        let numbers = texts.zip(of("values_int64s").ints.iter().copied()).collect();
        found.push((node.input[0].clone(), node.output[0].clone(), numbers, of("default_int64").i.expect("a number")));
    }
    for input in &mut inner.input {
        let Some((_, number, ..)) = found.iter().find(|f| Some(&f.0) == input.name.as_ref()) else { continue };
        input.name = Some(number.clone());
        let tensor = input.r#type.as_mut().and_then(|t| t.tensor_type.as_mut()).expect("a tensor");
        tensor.elem_type = Some(Element::Int64 as i32);
    }
    inner.node.retain(|n| n.op_type.as_deref() != Some("LabelEncoder"));
    (graph, found)
}

/// Levels that a table is looked up for, beside a number and behind its periodic embedding; some rare, some missing, some that
/// training did not have.
#[test]
fn levels_of_a_table_are_what_predict_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let row = |i: usize| {
        let level = match i % 9 {
            4 => String::new(),
            7 => format!("rare{i}"),
            k => format!("k{}", k * i % 13),
        };
        let x = (i as f64 * 0.37).sin();
        format!("{x},{level},{},{}\n", ["u", "v", "w"][(i * 7 + i / 5) % 3], x + (i % 13) as f64 * 0.3)
    };
    let text = "x,k,few,y\n".to_string() + &(0..400).map(row).collect::<String>();
    std::fs::write(dir.path().join("t.csv"), text).expect("written");
    let n = 40;
    let new: Vec<(f64, String, &str)> = (0..n)
        .map(|i| {
            (
                f64::from(((i as f32) * 0.21).cos()),
                [format!("k{}", i % 14), String::new()][usize::from(i % 6 == 5)].clone(),
                ["u", "v", "w"][i % 3],
            )
        })
        .collect();
    let rows: String = new.iter().map(|(x, k, few)| format!("{x},{k},{few}\n")).collect();
    std::fs::write(dir.path().join("new.csv"), "x,k,few\n".to_string() + &rows).expect("written");
    for (method, more) in [
        ("vifo-mean", ""),
        ("vifo-mean", "--set net.embedding=periodic"),
        ("vi-mean", ""),
        ("swag", ""),
        ("laplace", "--set net.hidden=[]"),
        ("dropout", ""),
    ] {
        let what = format!("t.csv --target y --embed-above 5 --hidden 8 --method {method} {more}");
        let model = fitted(dir.path(), &what);
        let tables: Vec<_> = model.encoder.tables();
        // The levels k0 to k12, a missing one and the rare ones; the column of three stays as it is.
        assert_eq!((model.encoder.n_inputs(), tables), (5, vec![(1, 15)]), "{what}");
        let (data, _) = model.read(&dir.path().join("new.csv"), Part::All, false, None).expect("rows");
        assert_eq!(data.n, n);
        let (graph, texts) = with_numbers(onnx::export(&model, None).expect("a graph"));
        assert_eq!(texts.len(), 2);
        let x: Vec<f32> = new.iter().map(|r| r.0 as f32).collect();
        let mut feed = vec![("x".to_string(), Value::from_shape([n], x).expect("n"))];
        for (input, number, numbers, other) in texts {
            let cell = |r: &(f64, String, &str)| if input == "few" { r.2.to_string() } else { r.1.clone() };
            let all: Vec<i32> = new.iter().map(|r| *numbers.get(&cell(r)).unwrap_or(&other) as i32).collect();
            feed.push((number, Value::from_shape([n], all).expect("n")));
        }
        let gap = difference(&model, &graph, &data, &feed);
        assert!(gap < TOLERANCE, "{what}: {gap:e}");
        let off = difference(&model, &moved(graph), &data, &feed);
        assert!(off > TOLERANCE, "{what}: moved weights change nothing, {off:e}");
    }
}

/// A row that `predict` refuses has no numbers; a calibrated run has its intervals, as `predict` writes them.
#[test]
fn refused_rows_and_intervals() {
    let dir = tempfile::tempdir().expect("a folder");
    table(dir.path());
    for scaling in ["standard", "robust"] {
        let fit = "fit t.csv --target y --ignore z --method base --epochs 2 --device cpu -q --missing drop";
        vifo(dir.path(), &format!("{fit} --scaling {scaling} --out {scaling}"));
        vifo(dir.path(), &format!("calibrate {scaling} --alpha 0.2 --device cpu -q"));
        refuses(&dir.path().join(scaling));
    }
}

/// The second row has a missing cell, the third infinity.
fn refuses(run_folder: &Path) {
    let folder = RunFolder::open(run_folder).expect("a run");
    let model = Model::open(&folder).expect("a model");
    let calibration = vifo::run::calibration::current(&folder).expect("a calibration").expect("one");
    let graph = onnx::export(&model, Some(&calibration)).expect("a graph");
    let column = |values: [f32; 3]| Value::from_shape([3], values.to_vec()).expect("three");
    let feed = [
        ("a".to_string(), column([0.5, f32::NAN, 0.5])),
        ("b".to_string(), column([9.0, 9.0, f32::INFINITY])),
        ("c".to_string(), column([0.0, 0.0, 0.0])),
    ];
    let out = run(&graph, &feed);
    // Calibrated intervals do without the pool's spread, which the graph's sd has.
    let spread = model.trained.spread().first().map_or(1.0, |s| f64::from(*s));
    let q = calibration.levels[0].q() / spread;
    for name in ["mean", "sd", "lower_80", "upper_80"] {
        let finite: Vec<bool> = out[name].iter().map(|v| v.is_finite()).collect();
        assert_eq!(finite, [true, false, false], "{name}: {:?}", out[name]);
    }
    let [mean, sd, low, high] = ["mean", "sd", "lower_80", "upper_80"].map(|n| out[n][0]);
    assert!((low - (mean - q * sd)).abs() < 1e-4 * sd && (high - (mean + q * sd)).abs() < 1e-4 * sd, "{out:?}");
}

/// The verb: what it says, and what it refuses.
#[test]
fn the_verb_writes_and_refuses() {
    let dir = tempfile::tempdir().expect("a folder");
    vifo(dir.path(), "fit moons --method vifo-mean --epochs 2 --hidden 4 --device cpu -q --out run");
    let call = |args: &str| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
        let out = c.current_dir(dir.path()).env("NODEVICE_SELECT", "1").args(args.split_whitespace()).output();
        let out = out.expect("runs");
        let text = |b: Vec<u8>| String::from_utf8(b).expect("UTF-8");
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    let (code, said, err) = call("export run net.onnx");
    assert_eq!(code, Some(0), "{err}");
    for part in
        ["net.onnx: predictive distribution of", "vifo-mean", "outputs: probabilities, predicted", "onnxruntime"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(err.contains("one set of draws"), "{err}");
    for (args, part) in [
        ("export run net.onnx", "already exists"),
        ("export run other.onnx --member 1", "an ONNX graph holds all members"),
        ("export run other.safetensors --uncalibrated", "weights know no calibration"),
    ] {
        let (code, _, err) = call(args);
        assert!(code == Some(2) && err.contains(part), "{args}: {err}");
    }
    assert!(!dir.path().join("other.onnx").exists());
}
