//! A program whose ops were joined computes what it computed as it was recorded, with auxiliary and filler images, members and
//! every network that has something to join; and it has fewer ops.

use vifo::exec::cpu::CpuExecutor;
use vifo::net::{AlexNet, Cnn, Net, Pass, PreResNet};
use vifo::ops::head::SoftmaxHead;
use vifo::ops::{Op, StepArgs};
use vifo::program::{Act, Buf, Builder, Program, Role, Tensor};

const REPLICAS: u32 = 2;
const DATA: u32 = 4;
const ROWS: u32 = 6;

struct Recorded {
    program: Program,
    /// Images, labels, weights, running statistics.
    given: [Buf; 4],
    read: Vec<Buf>,
}

fn recorded(net: &Net, pass: Pass, joined: bool) -> Recorded {
    let layout = net.layout();
    let mut b = Builder::new(REPLICAS, layout.total as u32);
    let x = b.buffer("x", (ROWS * net.n_in()) as usize, Role::Input);
    let labels = b.buffer("labels", ROWS as usize, Role::Input);
    let weights = b.buffer("weights", REPLICAS as usize * layout.total, Role::State);
    let running = b.buffer("running", (REPLICAS as usize * layout.running).max(1), Role::State);
    b.set_weights(weights);
    b.set_running(running, layout.running as u32, DATA);
    let training = pass.batch_statistics;
    let z = net.record(&mut b, Tensor::input(x, 1, ROWS, net.input()), pass);
    b.keep(z.buf);
    let mut read = vec![z.buf];
    if training {
        let terms = b.buffer("terms", (REPLICAS * ROWS * 3) as usize, Role::Output);
        let dz = b.buffer("dz", z.len(), Role::Scratch);
        let head = SoftmaxHead { replicas: REPLICAS, rows: ROWS, k: net.n_out(), share: REPLICAS };
        b.push(Op::SoftmaxHead(head), &[z.buf, labels], &[terms, dz]);
        let grad = b.backward(z, dz);
        b.keep(grad);
        read.extend([terms, grad, running]);
    }
    let program = if joined { b.finish() } else { b.finish_as_recorded() }.expect("a sound program");
    Recorded { program, given: [x, labels, weights, running], read }
}

fn step(recorded: &Recorded, n_valid: u32) -> Vec<Vec<f64>> {
    let mut exec = CpuExecutor::<f64>::new(recorded.program.clone());
    for (k, buf) in recorded.given.iter().enumerate() {
        let n = recorded.program.info(*buf).len;
        let value = |i: usize| match k {
            0 => (0.37 * i as f64).sin(),
            1 => (i % 3) as f64,
            2 => 0.4 * (1.3 * i as f64 + 0.5 * (i % 7) as f64).sin(),
            _ => 0.5 + 0.25 * (i % 3) as f64,
        };
        exec.set(*buf, &(0..n).map(value).collect::<Vec<_>>());
    }
    exec.step(&StepArgs { n_valid, ..Default::default() });
    recorded.read.iter().map(|buf| exec.get(*buf).to_vec()).collect()
}

fn nets() -> [(Net, Option<usize>); 4] {
    let alexnet = AlexNet { channels: 3, last: 3.into(), widths: [8, 4, 8, 4, 4], hidden: 8, dropout: 0.0 };
    let cnn =
        Cnn { size: 9, channels: 1, last: 3.into(), widths: [4, 8], hidden: 5, activation: Act::Relu, dropout: 0.0 };
    let preresnet = PreResNet { channels: 3, last: 3.into(), depth: 14, width: 4, dropout: 0.0 };
    // Channels that come in no quadruples before the third stage.
    let odd = PreResNet { width: 3, ..preresnet.clone() };
    // Steps that are saved in training: two pools forward, two of theirs and one of an input backward.
    [
        (Net::AlexNet(alexnet), Some(5)),
        (Net::Cnn(cnn), Some(5)),
        // Of 12 normalisations their statistics, their forward pass and two steps of the backward pass; 6 sums forward
        // and 6 backward; both gradients of 2 shortcuts. The last normalisation keeps all but its statistics.
        (Net::PreResNet(preresnet), Some(1 + 12 * 4 + 6 + 6 + 2)),
        (Net::PreResNet(odd), None),
    ]
}

#[test]
fn joined_ops_compute_the_same() {
    for (net, saved) in nets() {
        for pass in [Pass::training(0), Pass::prediction()] {
            let training = pass.batch_statistics;
            let (joined, apart) = (recorded(&net, pass, true), recorded(&net, pass, false));
            if let (true, Some(saved)) = (training, saved) {
                assert_eq!(
                    apart.program.steps.len() - joined.program.steps.len(),
                    saved,
                    "{net:?}\n{}",
                    joined.program
                );
            }
            for n_valid in [DATA, 1] {
                for (i, (a, b)) in step(&joined, n_valid).iter().zip(&step(&apart, n_valid)).enumerate() {
                    let scale = b.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
                    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst <= 1e-11 * scale, "{net:?} {i}, {n_valid} valid: {worst:e} of {scale:e}");
                    assert!(a.len() == b.len() && a.iter().all(|v| v.is_finite()));
                }
            }
        }
    }
}
