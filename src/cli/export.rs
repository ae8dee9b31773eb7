//! `vifo export`: a run for other programs. As `.onnx` the whole predictive distribution in one graph; as `.safetensors`
//! the best weights of one member under PyTorch's names.

use super::options::open_run;
use super::{say, shell, tell};
use crate::base::fs;
use crate::data::Task;
use crate::error::Error;
use crate::export::onnx;
use crate::method::{ModelSpec, Outputs};
use crate::net::{Last, Mlp, Net};
use crate::program::Act;
use crate::program::builder::Embedded;
use crate::recipe::Link;
use crate::run::calibration;
use crate::run::write_to;
use crate::run::{Model, RunFolder};
use crate::train::weights;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Run folder of `vifo fit`
    run: PathBuf,
    /// File to write: NAME.onnx holds the whole prediction, from raw columns or images to mean and sd or probabilities, for
    /// onnxruntime and others; NAME.safetensors one network's tensors under PyTorch's names
    out: PathBuf,
    /// Safetensors: which network of the ensemble, counted from 0 [default: 0]
    #[arg(long, value_name = "N")]
    member: Option<usize>,
    /// ONNX: leave out the run's calibration
    #[arg(long)]
    uncalibrated: bool,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Accept files of the run that were edited or replaced since vifo wrote them
    #[arg(long)]
    accept_changed: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = open_run(&args.run, args.accept_changed)?;
    let model = Model::open(&folder)?;
    guard(args, &folder)?;
    let ends = |with: &str| args.out.extension().is_some_and(|end| end.eq_ignore_ascii_case(with));
    if ends("onnx") {
        return graph(args, &folder, &model);
    }
    if !ends("safetensors") {
        let allowed = "NAME.onnx for the whole prediction, NAME.safetensors for the weights of one network";
        let found = "is the name of neither format";
        return Err(Error::usage(args.out.display().to_string(), found, allowed, "").into());
    }
    if args.uncalibrated {
        let found = "weights know no calibration";
        return Err(Error::usage("--uncalibrated", found, "a file NAME.onnx", "leave it out").into());
    }
    let setup = &model.plan.setup;
    let (member, members) = (args.member.unwrap_or(0), setup.members as usize);
    if member >= members {
        let found = format!("{member}, of {members} members");
        return Err(Error::usage("--member", found, format!("0 to {}", members - 1), "choose one of them").into());
    }
    let layout = setup.layout();
    // VI's member is (mu, rho); the statistics are those that a prediction takes.
    let own = &model.trained.weights[member * setup.member_len()..][..layout.total];
    let copies = setup.copies() as usize;
    let running = setup.predict_running(&model.trained.running);
    let statistics = running.chunks(layout.running.max(1)).nth(member * copies).unwrap_or_default();
    write_to(&args.out, &weights::export(&layout, own, statistics)?)?;
    if args.quiet {
        return Ok(());
    }
    let tensors = layout.views.len() + 2 * layout.norms.len();
    say(&format!(
        "{}: member {member} (of 0 to {}) of {}, {tensors} tensors, {} numbers\n{}\n\n{}",
        args.out.display(),
        members - 1,
        args.run.display(),
        layout.total + layout.running,
        meaning(setup),
        python(&setup.net, &args.out)
    ));
    if let Some(note) = setup.method.export_note(!layout.norms.is_empty()) {
        tell(&format!("note: {note}"));
    }
    for note in Model::caveats(&folder)? {
        tell(&format!("note: {note}"));
    }
    Ok(())
}

/// The whole prediction as one graph.
fn graph(args: &Args, folder: &RunFolder, model: &Model) -> anyhow::Result<()> {
    if let Some(member) = args.member {
        let found = format!("{member}, but an ONNX graph holds all members");
        return Err(Error::usage("--member", found, "a file NAME.safetensors", "leave it out").into());
    }
    let calibration = if args.uncalibrated { None } else { calibration::current(folder)? };
    let graph = onnx::export(model, calibration.as_ref())?;
    write_to(&args.out, &onnx::bytes(&graph)?)?;
    if args.quiet {
        return Ok(());
    }
    let names = |all: &[onnx::proto::ValueInfoProto]| {
        let names: Vec<&str> = all.iter().filter_map(|v| v.name.as_deref()).collect();
        let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
        format!("{}{more}", names[..names.len().min(12)].join(", "))
    };
    let parts = graph.graph.as_ref();
    say(&format!(
        "{}: {}\ninputs: {}\noutputs: {}\n\n{}",
        args.out.display(),
        graph.doc_string.as_deref().unwrap_or_default(),
        parts.map(|g| names(&g.input)).unwrap_or_default(),
        parts.map(|g| names(&g.output)).unwrap_or_default(),
        python_session(&args.out, model.encoder.pixels.is_some())
    ));
    if graph
        .metadata_props
        .iter()
        .any(|p| p.key.as_deref() == Some("vifo.logit_draws") && p.value.as_deref() != Some("0"))
    {
        tell(
            "note: the graph has one set of draws of the logits for all rows, while `vifo predict` draws new ones for each row",
        );
    }
    for note in Model::caveats(folder)? {
        tell(&format!("note: {note}"));
    }
    Ok(())
}

/// Lines of Python that run the graph.
fn python_session(out: &Path, on_images: bool) -> String {
    let path = serde_json::to_string(&out.display().to_string()).unwrap_or_else(|_| shell(out));
    let feed = match on_images {
        true => "{\"images\": pictures}  # uint8 [n, h, w, c]".to_string(),
        false => "{i.name: (df[i.name].fillna(\"\").astype(str) if \"string\" in i.type else \
                  df[i.name].astype(float)).to_numpy() for i in net.get_inputs()}"
            .to_string(),
    };
    let said = if on_images { "" } else { "# df: a pandas DataFrame with these columns\n" };
    format!(
        "import onnxruntime\nnet = onnxruntime.InferenceSession({path})\n{said}feed = {feed}\n\
         out = dict(zip([o.name for o in net.get_outputs()], net.run(None, feed)))"
    )
}

/// Nothing that exists is replaced unasked, and the run's own checkpoints not at all.
fn guard(args: &Args, folder: &RunFolder) -> crate::error::Result<()> {
    let place = || args.out.display().to_string();
    let is = |own: &Path| matches!((fs::canonicalize(&args.out), fs::canonicalize(own)), (Ok(a), Ok(b)) if a == b);
    if is(&folder.best()) || is(&folder.last()) {
        return Err(Error::usage(place(), "is a checkpoint of the run itself", "", "choose another name"));
    }
    if fs::is_dir(&args.out) {
        return Err(Error::usage(place(), "is a folder", "a file", "add a file name"));
    }
    if fs::is_file(&args.out) && !args.force {
        return Err(Error::usage(place(), "already exists", "", "choose another name, or replace it with --force"));
    }
    Ok(())
}

/// What goes into the network and what comes out.
fn meaning(setup: &ModelSpec) -> String {
    let k = setup.k;
    let (spread, of) = match setup.nu {
        None => ("variance", "the standardised target".to_string()),
        Some(nu) => ("squared scale", format!("the standardised target, a Student-t with {nu} degrees of freedom")),
    };
    let z = match (setup.task, setup.noise_link) {
        (Task::Classification, _) => format!("the logits of {k} classes"),
        (Task::Regression, Link::Exp) => format!("mean and log {spread} of {of}"),
        (Task::Regression, Link::Softplus) => format!("mean and {spread} (before softplus) of {of}"),
    };
    let sd = if setup.sigma_link == Link::Exp { "exp" } else { "softplus" };
    let outputs = match setup.outputs() {
        Outputs::Sigmas => format!("{k} means of z, then its {k} standard deviations before {sd}; z = {z}"),
        Outputs::VariancesAndNoise => {
            let z = if setup.task == Task::Regression { "the standardised target".into() } else { z };
            format!("means of {z}; the tensors log_scale and log_noise are the last layer's")
        }
        Outputs::Concentrations => format!("{z}, to be read as concentrations relu(z) + 1"),
        _ => z,
    };
    let inputs = match (setup.net.input(), &setup.image) {
        ((h, w, c), Some(_)) => {
            format!("images [{c}, {h}, {w}], (byte / 255 - mean) / sd by pixels in encoder.json of the run")
        }
        ((h, w, c), None) => {
            let n = h * w * c;
            format!("{n} number{} per row, standardised as encoder.json of the run says", if n == 1 { "" } else { "s" })
        }
    };
    let each =
        if setup.targets > 1 { format!("for each of {} targets in turn ", setup.targets) } else { String::new() };
    format!("inputs: {inputs}; outputs: {each}{outputs}")
}

/// Three lines of Python that load the file.
fn python(net: &Net, out: &Path) -> String {
    // JSON's escapes are Python's too.
    let path = serde_json::to_string(&out.display().to_string()).unwrap_or_else(|_| shell(out));
    // VBLL's scales and noise have no place in PyTorch's layer.
    let strict = if net.is_vbll() { ", strict=False" } else { "" };
    let load = format!("net.load_state_dict(safetensors.torch.load_file({path}){strict})");
    format!("import safetensors.torch, torch.nn as nn\nnet = {}\n{load}", module(net))
}

/// The network as PyTorch writes it.
fn module(net: &Net) -> String {
    let act = |a: Act| match a {
        Act::Relu => "nn.ReLU()",
        Act::Silu => "nn.SiLU()",
        Act::Mish => "nn.Mish()",
        Act::Selu => "nn.SELU()",
    };
    let linear = |i: u32, o: u32| format!("nn.Linear({i}, {o})");
    // The means of VBLL's last layer; it has no bias.
    let last_layer = |i: u32, last: Last| match last {
        Last::Linear(o) => linear(i, o),
        Last::Vbll(k) => format!("nn.Linear({i}, {k}, bias=False)"),
    };
    let conv = |i: u32, o: u32| format!("nn.Conv2d({i}, {o}, 3, padding=1)");
    let pool = || "nn.MaxPool2d(2)".to_string();
    let mut parts: Vec<String> = vec![];
    match net {
        Net::Mlp(n) => {
            let mut last = n.n_first();
            let activation = |h: u32| match n.parametric {
                false => act(n.activation).to_string(),
                true => format!("Parametric({h}, {})", act(n.activation)),
            };
            for &h in &n.hidden {
                parts.extend([linear(last, h), activation(h)]);
                last = h;
            }
            parts.push(last_layer(last, n.last));
            return mlp_module(n, &parts);
        }
        Net::Cnn(n) => {
            let mut last = n.channels;
            for w in n.widths {
                parts.extend([conv(last, w), act(n.activation).into(), pool()]);
                last = w;
            }
            let flat = last * (n.size / 4).pow(2);
            let (hidden, activation) = (linear(flat, n.hidden), act(n.activation).into());
            parts.extend(["nn.Flatten()".into(), hidden, activation, last_layer(n.hidden, n.last)]);
        }
        Net::AlexNet(n) => {
            let [a, b, c, d, e] = n.widths;
            let silu = || act(Act::Silu).to_string();
            for (i, o) in [(n.channels, a), (a, b)] {
                parts.extend([conv(i, o), silu(), pool()]);
            }
            for (i, o) in [(b, c), (c, d), (d, e)] {
                let padded = format!("nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d({i}, {o}, 2))");
                parts.extend([padded, silu()]);
            }
            parts.push("nn.Flatten()".into());
            for (i, o) in [(64 * e, n.hidden), (n.hidden, n.hidden)] {
                parts.extend([linear(i, o), silu()]);
            }
            parts.push(last_layer(n.hidden, n.last));
        }
        Net::PreResNet(n) => {
            let (c, w, d, o) = (n.channels, n.width, n.depth, n.last.n_out());
            return format!("PreResNet({c}, {w}, {d}, {o})  # the class is in vifo's tests/golden/torch_weights.py");
        }
    }
    format!("nn.Sequential({})", parts.join(", "))
}

/// `nn.Sequential` of these layers, by name where something stands before the first, and where to find what PyTorch has not.
fn mlp_module(n: &Mlp, layers: &[String]) -> String {
    let mut before = vec![];
    let mut own = vec![];
    if !n.embedded.is_empty() {
        before.push(format!("(\"embedding\", Periodic({:?}))", n.embedded));
        own.push("Periodic");
    }
    if !n.tables.is_empty() {
        let of = |t: Embedded| format!("({}, {}, {})", t.input, t.levels, t.width);
        let tables: Vec<String> = n.tables_in_place().into_iter().map(of).collect();
        before.push(format!("(\"levels\", Levels([{}]))", tables.join(", ")));
        own.push("Levels");
    }
    if n.scaled {
        before.push(format!("(\"scale\", Scale({}))", n.n_first()));
        own.push("Scale");
    }
    if n.parametric && !n.hidden.is_empty() {
        own.push("Parametric");
    }
    let named = layers.iter().enumerate().map(|(i, part)| format!("(\"{i}\", {part})"));
    let (written, mut from) = match before.is_empty() {
        true => (format!("nn.Sequential({})", layers.join(", ")), String::new()),
        false => {
            let all: Vec<String> = before.into_iter().chain(named).collect();
            (format!("nn.Sequential(OrderedDict([{}]))", all.join(", ")), "OrderedDict is collections', ".to_string())
        }
    };
    match own.split_last() {
        None => return written,
        Some((one, [])) => from += &format!("{one} is"),
        Some((last, first)) => from += &format!("{} and {last} are", first.join(", ")),
    }
    format!("{written}  # {from} in vifo's tests/golden/torch_weights.py")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{AlexNet, Cnn, PreResNet};

    /// PyTorch evaluates these lines and takes the files of tests/golden/torch_*.safetensors into what they make.
    #[test]
    fn networks_are_written_as_pytorch_does() {
        let cnn = Cnn {
            size: 8,
            channels: 1,
            last: Last::Linear(10),
            widths: [8, 16],
            hidden: 32,
            activation: Act::Relu,
            dropout: 0.1,
        };
        assert_eq!(
            module(&Net::Cnn(cnn)),
            "nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), \
             nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))"
        );
        let alexnet =
            AlexNet { channels: 3, last: Last::Linear(10), widths: [8, 16, 16, 16, 8], hidden: 32, dropout: 0.1 };
        assert_eq!(
            module(&Net::AlexNet(alexnet)),
            "nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.SiLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), \
             nn.SiLU(), nn.MaxPool2d(2), nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(16, 16, 2)), nn.SiLU(), \
             nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(16, 16, 2)), nn.SiLU(), \
             nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(16, 8, 2)), nn.SiLU(), nn.Flatten(), \
             nn.Linear(512, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 10))"
        );
        let mlp = Mlp {
            n_in: 3,
            hidden: vec![8],
            last: Last::Linear(4),
            activation: Act::Mish,
            embedded: vec![0, 2],
            scaled: false,
            parametric: false,
            tables: vec![],
            dropout: 0.0,
        };
        let levels = vec![Embedded { input: 1, levels: 20, width: 4 }];
        let written = module(&Net::Mlp(Mlp { tables: levels.clone(), ..mlp.clone() }));
        assert!(
            written.starts_with(
                "nn.Sequential(OrderedDict([(\"embedding\", Periodic([0, 2])), (\"levels\", Levels([(7, 20, 4)])), \
                 (\"0\", nn.Linear(12, 8)), "
            ) && written.contains("Periodic and Levels are in"),
            "{written}"
        );
        let written = module(&Net::Mlp(Mlp { embedded: vec![], tables: levels, ..mlp.clone() }));
        assert!(
            written.starts_with("nn.Sequential(OrderedDict([(\"levels\", Levels([(1, 20, 4)])), (\"0\", "),
            "{written}"
        );
        let written = module(&Net::Mlp(mlp.clone()));
        assert!(
            written.starts_with(
                "nn.Sequential(OrderedDict([(\"embedding\", Periodic([0, 2])), (\"0\", nn.Linear(9, 8)), \
                 (\"1\", nn.Mish()), (\"2\", nn.Linear(8, 4))]))  # "
            ),
            "{written}"
        );
        let factors = Mlp { scaled: true, parametric: true, ..mlp.clone() };
        assert_eq!(
            module(&Net::Mlp(factors)),
            "nn.Sequential(OrderedDict([(\"embedding\", Periodic([0, 2])), (\"scale\", Scale(9)), (\"0\", nn.Linear(9, 8)), \
             (\"1\", Parametric(8, nn.Mish())), (\"2\", nn.Linear(8, 4))]))  # OrderedDict is collections', Periodic, Scale and \
             Parametric are in vifo's tests/golden/torch_weights.py"
        );
        let parametric = Mlp { parametric: true, embedded: vec![], activation: Act::Selu, ..mlp };
        assert_eq!(
            module(&Net::Mlp(parametric)),
            "nn.Sequential(nn.Linear(3, 8), Parametric(8, nn.SELU()), nn.Linear(8, 4))  # Parametric is in vifo's \
             tests/golden/torch_weights.py"
        );
        let preresnet = PreResNet { channels: 3, last: Last::Linear(10), depth: 20, width: 4, dropout: 0.0 };
        assert!(module(&Net::PreResNet(preresnet)).starts_with("PreResNet(3, 4, 20, 10)"));
    }
}
