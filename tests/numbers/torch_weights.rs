//! Weights that PyTorch saved (tests/golden/torch_*.safetensors, made by torch_weights.py), imported: the network predicts
//! what PyTorch predicts, on the CPU and on a software adapter, and exports the same tensors to the bit. Also
//! `vifo export` as a user runs it.

use crate::common::{Tolerance, compare};
use safetensors::tensor::SafeTensors;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use vifo::data::{Inputs, Task};
use vifo::exec::Device;
use vifo::method::{ModelSpec, Trained, base};
use vifo::net::{AlexNet, Cnn, Net, PreResNet};
use vifo::program::Act;
use vifo::recipe::{Link, Optimizer};
use vifo::train::{Predictor, weights};

/// The sizes of torch_weights.py.
fn nets() -> [(&'static str, Net); 3] {
    let alexnet = AlexNet { channels: 3, last: 10.into(), widths: [8, 16, 16, 16, 8], hidden: 32, dropout: 0.1 };
    let cnn =
        Cnn { size: 8, channels: 1, last: 10.into(), widths: [8, 16], hidden: 32, activation: Act::Relu, dropout: 0.1 };
    [
        ("torch_alexnet", Net::AlexNet(alexnet)),
        (
            "torch_preresnet20",
            Net::PreResNet(PreResNet { channels: 3, last: 10.into(), depth: 20, width: 4, dropout: 0.0 }),
        ),
        ("torch_cnn", Net::Cnn(cnn)),
    ]
}

/// From the folder of VIFO_GOLDEN if it has the file: torch_weights.py is another script than make.py.
fn golden(name: &str) -> Vec<u8> {
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden").to_string();
    let paths = [std::env::var("VIFO_GOLDEN").ok(), Some(bundled)];
    let mut paths = paths.into_iter().flatten().map(|dir| format!("{dir}/{name}.safetensors"));
    let path = paths.find(|p| Path::new(p).is_file()).unwrap_or_else(|| panic!("no {name}.safetensors"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Tensors by name: shape and bytes.
type Tensors = BTreeMap<String, (Vec<usize>, Vec<u8>)>;

fn tensors(bytes: &[u8]) -> Tensors {
    let file = SafeTensors::deserialize(bytes).expect("a safetensors file");
    file.iter().map(|(n, t)| (n.to_string(), (t.shape().to_vec(), t.data().to_vec()))).collect()
}

fn floats((_, bytes): &(Vec<usize>, Vec<u8>)) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

struct Case {
    name: &'static str,
    net: Net,
    /// The file without input and output.
    state: Vec<u8>,
    /// [3, h, w, c].
    x: Vec<f32>,
    /// [3, n_out].
    y: Vec<f64>,
}

fn case((name, net): (&'static str, Net)) -> Case {
    let bytes = golden(name);
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let all = tensors(&bytes);
    let (h, w, c) = net.input();
    let (pixels, c) = ((h * w) as usize, c as usize);
    let nchw = floats(&all["__input__"]);
    assert_eq!(nchw.len(), 3 * pixels * c);
    let at = |i: usize| (i / (pixels * c) * c + i % c) * pixels + i / c % pixels;
    let state = file.iter().filter(|(n, _)| !n.starts_with("__"));
    Case {
        name,
        x: (0..nchw.len()).map(|i| nchw[at(i)]).collect(),
        y: floats(&all["__output__"]).iter().map(|&v| f64::from(v)).collect(),
        state: safetensors::serialize(state, None).expect("bytes"),
        net,
    }
}

fn setup(net: &Net) -> ModelSpec {
    ModelSpec {
        method: &base::Base,
        task: Task::Classification,
        k: net.n_out(),
        noise_link: Link::Exp,
        nu: None,
        sigma_link: Link::Softplus,
        exact: false,
        samples: 1,
        predict_samples: 1,
        members: 1,
        first_member: 0,
        per_set: 0,
        targets: 1,
        weighted: false,
        groups_by_layer: false,
        image: None,
        net: net.clone(),
        optimizer: Optimizer::Adam,
        momentum: 0.0,
        clip: false,
        folds: 0,
        held_out: 0,
        n_rows: 3,
        batch: 3,
        aux: None,
        warm: false,
        stepping: Default::default(),
        options: Default::default(),
    }
}

/// Largest difference from PyTorch's outputs as a share of the largest of them, or what is wrong.
fn difference(case: &Case, device: &Device, (weights, running): (&[f32], &[f32])) -> Result<f64, String> {
    let mut predictor = Predictor::new(&setup(&case.net), device, 1, 3).map_err(|e| e.to_string())?;
    predictor.set(&Trained::plain(weights.to_vec(), running.to_vec())).expect("weights");
    let outputs = predictor.outputs(Inputs::Rows(&case.x)).expect("outputs");
    let largest = case.y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    // f32 rounds by 6e-8 of a value; 20 layers of sums over up to 512 terms stay below a thousand of these.
    let report = compare(case.name, &outputs, &case.y, Tolerance::Absolute(1e-4 * largest))?;
    Ok(1e-4 * report.share)
}

fn imported(case: &Case) -> (Vec<f32>, Vec<f32>) {
    weights::import(&case.state, Path::new(case.name), &case.net.layout()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn networks_predict_what_pytorch_predicts() {
    let software = Device::open("software").unwrap_or_else(|e| panic!("{e}"));
    for case in nets().map(case) {
        let (weights, running) = imported(&case);
        for (what, device) in [("cpu", &Device::Cpu), ("software adapter", &software)] {
            let share = difference(&case, device, (&weights, &running)).unwrap_or_else(|e| panic!("{what}: {e}"));
            println!("{} on the {what}: {share:.1e} of the largest output", case.name);
        }
    }
}

/// In each tensor a weight or statistic moved by a tenth of the largest, or all of them in reverse order: the comparison
/// notices. One of eight weights must do it, since a unit that ReLU keeps at zero tells nothing of its own.
#[test]
fn a_wrong_weight_is_noticed() {
    for case in nets().map(case) {
        let layout = case.net.layout();
        let (weights, running) = imported(&case);
        let differs = |change: &dyn Fn(&mut [f32]), (from, n): (usize, usize), in_running: bool| {
            let (mut w, mut r) = (weights.clone(), running.clone());
            change(if in_running { &mut r[from..from + n] } else { &mut w[from..from + n] });
            difference(&case, &Device::Cpu, (&w, &r)).is_err()
        };
        let views = layout.views.iter().map(|v| (v.name.clone(), (v.offset, v.len()), false));
        let norms = layout.norms.iter().flat_map(|(name, c, at)| {
            [("mean", *at), ("var", at + c)].map(|(what, at)| (format!("{name}.running_{what}"), (at, *c), true))
        });
        let mut seen = 0;
        for (name, part, in_running) in views.chain(norms) {
            let moved = |i: usize| {
                move |values: &mut [f32]| {
                    let largest = values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
                    values[i * values.len() / 8] += 0.1 * largest;
                }
            };
            assert!((0..8).any(|i| differs(&moved(i), part, in_running)), "{}: {name} moved", case.name);
            assert!(differs(&|v| v.reverse(), part, in_running), "{}: {name} reversed", case.name);
            seen += 1;
        }
        assert_eq!(seen, layout.views.len() + 2 * layout.norms.len());
    }
}

#[test]
fn exported_tensors_are_the_imported_ones_to_the_bit() {
    for case in nets().map(case) {
        let layout = case.net.layout();
        let (weights, running) = imported(&case);
        let bytes = weights::export(&layout, &weights, &running).expect("bytes");
        if let Ok(dir) = std::env::var("VIFO_EXPORTED") {
            // For `torch_weights.py --check`.
            std::fs::write(format!("{dir}/{}.safetensors", case.name), &bytes).expect("written");
        }
        let mut want = tensors(&case.state);
        want.retain(|name, _| !name.ends_with("num_batches_tracked"));
        assert!(want.len() >= 8);
        assert_eq!(tensors(&bytes), want, "{}", case.name);
        let (w, r) = weights::import(&bytes, Path::new("again"), &layout).expect("weights");
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&w), bits(&r)), (bits(&weights), bits(&running)), "{}", case.name);
    }
}

// ---- the verb ----

fn vifo(dir: &Path, args: &str) -> (Option<i32>, String, String) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    let out = c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split_whitespace()).output().expect("runs");
    let text = |b: Vec<u8>| String::from_utf8(b).expect("UTF-8");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// Members by the names of the checkpoint itself, into a file of their own; nothing is replaced unasked.
#[test]
fn export_writes_the_best_weights_of_a_member() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let fit = |method: &str| {
        let args = format!(
            "fit sinusoid --method {method} --members 2 --epochs 3 --hidden 4,3 --eta-aux 0 --device cpu -q --out {method}"
        );
        let (code, _, err) = vifo(d, &args);
        assert_eq!(code, Some(0), "{err}");
        let best = std::fs::read(d.join(method).join("checkpoints/best.safetensors")).expect("a checkpoint");
        tensors(&best)
    };
    for (method, prefix) in [("vifo-mean", "members.1."), ("vi-mean", "members.1.mu.")] {
        let best = fit(method);
        let want: Tensors =
            best.into_iter().filter_map(|(n, t)| Some((n.strip_prefix(prefix)?.to_string(), t))).collect();
        assert_eq!(want.len(), 6, "three linear layers");
        let (code, out, err) = vifo(d, &format!("export {method} {method}.safetensors --member 1"));
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(tensors(&std::fs::read(d.join(format!("{method}.safetensors"))).expect("the file")), want);
        let k = if method == "vi-mean" { 2 } else { 4 };
        let net = format!(
            "net = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, {k}))\n\
             net.load_state_dict(safetensors.torch.load_file(\"{method}.safetensors\"))"
        );
        assert!(out.starts_with(&format!("{method}.safetensors: member 1 (of 0 to 1)")) && out.contains(&net), "{out}");
        assert_eq!(err.contains("means of VI's weights"), method == "vi-mean", "{err}");
    }
    let file = d.join("vifo-mean.safetensors");
    let before = std::fs::read(&file).expect("the file");
    let refused = |args: &str, part: &str| {
        let (code, _, err) = vifo(d, args);
        assert!(code == Some(2) && err.starts_with("error: ") && err.contains(part), "{args}: {code:?} {err}");
    };
    refused(
        "export vifo-mean vifo-mean.safetensors",
        "already exists; choose another name, or replace it with --force",
    );
    refused("export vifo-mean other.safetensors --member 2", "--member: 2, of 2 members; allowed: 0 to 1");
    refused("export nosuch other.safetensors", "nosuch: does not exist");
    refused("export vifo-mean vifo-mean/checkpoints/best.safetensors --force", "a checkpoint of the run itself");
    assert_eq!(std::fs::read(&file).expect("the file"), before);
    assert!(!d.join("other.safetensors").exists());
    let (code, out, err) = vifo(d, "export vifo-mean vifo-mean.safetensors --force --quiet");
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    assert_ne!(std::fs::read(&file).expect("the file"), before, "member 0 in its place");
    // As a user would name it as the start of a run: a checkpoint is told from a file of weights.
    let bytes = std::fs::read(d.join("vifo-mean/checkpoints/best.safetensors")).expect("a checkpoint");
    let layout = nets()[2].1.layout();
    let said = weights::import(&bytes, Path::new("best.safetensors"), &layout).expect_err("a refusal").to_string();
    assert!(said.contains("vifo export RUN OUT.safetensors"), "{said}");
}
