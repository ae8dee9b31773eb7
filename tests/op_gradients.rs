//! The gradient of every objective against finite differences of its own loss, in f64, through the recorded training
//! program. One SGD step with rate 1, without momentum and decay, moves the weights by the gradient; the loss stands in
//! `sums`. Equal step arguments draw equal normals and dropout masks, so the loss is one smooth function of the weights.
//!
//! Tolerances. eps_f, the rounding of a loss that some thousand operations make, is about sqrt(1000) 1.1e-16 |f|.
//! SiLU, five points at h = 1e-4: h^4/30 |f'''''| + 1.5 eps_f/h = 3e-18 |f'''''| + 5e-11 |f|; granted: 1e-9 (1 + |f|).
//! ReLU, two points at h = 2e-6, so that kinks are rarely met: h^2/6 |f'''| + eps_f/h = 7e-13 |f'''| + 2e-9 |f|; granted:
//! 2e-8 (1 + |f|). A kink between the points shows as a difference between h and 2h; such weights are left out, at most
//! one in a hundred.

use vifo::data::Task;
use vifo::exec::cpu::CpuExecutor;
use vifo::method::{DataX, Method, Reg, Setup, TrainProgram, base};
use vifo::net::{AlexNet, Cnn, Last, Mlp, Net, PreResNet};
use vifo::ops::StepArgs;
use vifo::ops::head::{NOISE_EXP, NOISE_SOFTPLUS, exact_expectation, gaussian_loss};
use vifo::ops::reduce::{SUM_STEPS, SUM_WORDS};
use vifo::ops::regularizer::{SIGMA_EXP, SIGMA_MIN, SIGMA_SOFTPLUS, sigma};
use vifo::program::{Act, Buf};
use vifo::recipe::{AuxSource, Link, Optimizer, PriorKeys};

const N_ROWS: usize = 7;
const MEMBERS: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Base,
    Dirichlet,
    Vbll,
    Vifo(Reg),
    Vi(Reg),
}

impl Kind {
    fn method(self) -> &'static dyn Method {
        let of = |family: &str, reg: Reg| {
            let reg = format!("{reg:?}").replace("All", "_all").to_lowercase();
            vifo::method::find(&format!("{family}-{reg}")).expect("a method")
        };
        match self {
            Kind::Base => &base::Base,
            Kind::Dirichlet => &vifo::method::dirichlet::Dirichlet,
            Kind::Vbll => &vifo::method::vbll::Vbll,
            Kind::Vifo(reg) => of("vifo", reg),
            Kind::Vi(reg) => of("vi", reg),
        }
    }
    fn last(self, task: Task, k: u32) -> Last {
        self.method().last_layer(task, k)
    }
}

fn mlp(s: &Setup) -> &Mlp {
    match &s.net {
        Net::Mlp(net) => net,
        other => panic!("{other:?} is no MLP"),
    }
}

/// A setup on seven rows of two inputs; the ensemble's first member is number 1, as in the second part of a cut one.
fn setup(kind: Kind, task: Task, activation: Act) -> Setup {
    let k = if task == Task::Regression { 2 } else { 3 };
    Setup {
        method: kind.method(),
        task,
        k,
        noise_link: Link::Exp,
        sigma_link: Link::Softplus,
        exact: false,
        samples: 3,
        predict_samples: 1,
        members: MEMBERS as u32,
        first_member: 1,
        per_set: 0,
        targets: 1,
        weighted: false,
        groups_by_layer: false,
        net: Net::Mlp(Mlp { n_in: 2, hidden: vec![5, 4], last: kind.last(task, k), activation, dropout: 0.0 }),
        image: None,
        optimizer: Optimizer::Sgd,
        momentum: 0.0,
        clip: false,
        n_rows: N_ROWS as u32,
        batch: N_ROWS as u32,
        aux: None,
        warm: false,
        options: Default::default(),
    }
}

/// The same on the last, short batch of an epoch: rows in the epoch's order, one filler row, and dropout.
fn short_batch(s: &Setup) -> Setup {
    Setup { batch: 4, net: Net::Mlp(Mlp { dropout: 0.3, ..mlp(s).clone() }), ..s.clone() }
}

fn step_args(s: &Setup, eta: f64, eta_aux: f64) -> StepArgs<f64> {
    let keys = PriorKeys { variance: None, gamma: 0.3, a: 0.05, alpha: None, beta: None, d: 0.1 };
    let prior = s.method.prior(&keys);
    let last = s.n_rows.div_ceil(s.batch) - 1;
    StepArgs {
        step: 5,
        epoch: 2,
        batch_start: last * s.batch,
        n_valid: (s.n_rows - last * s.batch) * s.targets,
        seed: 11,
        n_samples: 3,
        lr: 1.0,
        bias1: f64::NAN,
        bias2: f64::NAN,
        clip_norm: 0.0,
        eta,
        eta_aux,
        weight_decay: 0.0,
        prior,
        collect: 0,
        warm: 0,
    }
}

struct Objective {
    exec: CpuExecutor<f64>,
    weights: Buf,
    sums: Buf,
    y: Buf,
    start: Vec<f64>,
}

impl Objective {
    fn new(s: &Setup) -> Objective {
        Self::on_rows(s, &(0..N_ROWS).collect::<Vec<_>>(), &[0.5, 2.0, 0.0, 1.5, 1.0, 0.25, 1.75])
    }

    /// On these of the seven rows, some perhaps more than once; `row_weights` are read where the setup is weighted.
    fn on_rows(s: &Setup, rows: &[usize], row_weights: &[f64]) -> Objective {
        let TrainProgram { program, data_x, data_y, data_w, aux_range, weights, sums, running, .. } =
            s.record_training(u64::MAX).expect("a sound program");
        let mut exec = CpuExecutor::new(program);
        let n_in = s.net.n_in() as usize;
        let input = |row: usize, j: usize| 1.3 * (2.1 * (row * n_in + j) as f64 + 0.4).sin();
        let x: Vec<f64> = rows.iter().flat_map(|&row| (0..n_in).map(move |j| input(row, j))).collect();
        let y = Self::targets(s, rows);
        if let Some(data_w) = data_w {
            exec.set(data_w, row_weights);
        }
        let DataX::Rows(data_x) = data_x else { panic!("rows were asked for") };
        exec.set(data_x, &x);
        exec.set(data_y, &y);
        if let Some(running) = running {
            let start: Vec<f64> = s.initial_running().into_iter().map(f64::from).collect();
            exec.set(running, &start);
        }
        if let Some((low, high)) = aux_range {
            exec.set(low, &vec![-2.5; n_in]);
            exec.set(high, &vec![3.0; n_in]);
        }
        let start = s.initial_weights(3, false, -2.0).into_iter().map(f64::from).collect();
        Objective { exec, weights, sums, y: data_y, start }
    }

    /// [rows, T].
    fn targets(s: &Setup, rows: &[usize]) -> Vec<f64> {
        let target = |&row: &usize| match s.task {
            Task::Regression => 0.9 * (1.7 * row as f64).cos(),
            Task::Classification => (row * 2 % 3) as f64,
        };
        // The first target is that of a run with one; the others are no multiples of it.
        let of_row = |row: &usize| {
            let (first, row) = (target(row), *row);
            (0..s.targets).map(move |t| first + 0.4 * f64::from(t) * (2.9 * row as f64).sin()).collect::<Vec<_>>()
        };
        rows.iter().flat_map(of_row).collect()
    }

    /// A run with one target, which is number `t` of the others.
    fn of_target(s: &Setup, t: u32) -> Objective {
        let several = Setup { targets: t + 1, ..s.clone() };
        let mut objective = Self::new(s);
        let y = Self::targets(&several, &(0..N_ROWS).collect::<Vec<_>>());
        let own: Vec<f64> = y.iter().skip(t as usize).step_by(t as usize + 1).copied().collect();
        objective.exec.set(objective.y, &own);
        objective
    }

    /// Runs one step from `w`; returns each member's loss.
    fn loss(&mut self, args: &StepArgs<f64>, w: &[f64]) -> [f64; MEMBERS] {
        self.exec.set(self.weights, w);
        self.exec.set(self.sums, &[0.0; MEMBERS * SUM_WORDS]);
        self.exec.step(args);
        let sums = self.exec.get(self.sums);
        std::array::from_fn(|e| {
            let s = &sums[e * SUM_WORDS..];
            (s[0] + args.eta * s[1] + args.eta_aux * s[2]) / s[SUM_STEPS]
        })
    }

    /// What a step with rate 1 takes from the weights.
    fn gradient(&mut self, args: &StepArgs<f64>) -> Vec<f64> {
        let start = self.start.clone();
        self.loss(args, &start);
        start.iter().zip(self.exec.get(self.weights)).map(|(before, after)| before - after).collect()
    }

    /// Each member's loss with weight `i` of every member moved by `h`: members share no weight.
    fn moved(&mut self, args: &StepArgs<f64>, i: usize, h: f64) -> [f64; MEMBERS] {
        let mut w = self.start.clone();
        let len = w.len() / MEMBERS;
        for e in 0..MEMBERS {
            w[e * len + i] += h;
        }
        self.loss(args, &w)
    }

    /// [E, len] of finite differences; NaN where a kink lies between the points.
    fn differences(&mut self, args: &StepArgs<f64>, activation: Act) -> Vec<f64> {
        let len = self.start.len() / MEMBERS;
        let mut out = vec![0.0; self.start.len()];
        let h = if activation == Act::Silu { 1e-4 } else { 2e-6 };
        for i in 0..len {
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|m| self.moved(args, i, m * h));
            for e in 0..MEMBERS {
                let (near, far) = ((c[e] - b[e]) / (2.0 * h), (d[e] - a[e]) / (4.0 * h));
                out[e * len + i] = match activation {
                    Act::Silu => (4.0 * near - far) / 3.0,
                    // Smooth pieces differ by rounding and h^2; a kink by a share of a slope.
                    Act::Relu if (near - far).abs() > 1e-6 * (1.0 + near.abs()) => f64::NAN,
                    Act::Relu => near,
                };
            }
        }
        out
    }
}

/// What a comparison came to: the largest share of the tolerance used, and how many weights had a kink.
#[derive(Debug, Default)]
struct Used {
    share: f64,
    weights: usize,
    kinks: usize,
}

/// Fails on the first mismatches, on NaN in the gradient, and on more than a few kinks.
fn compare(gradient: &[f64], differences: &[f64], loss: &[f64; MEMBERS], activation: Act) -> Result<Used, String> {
    let len = gradient.len() / MEMBERS;
    let (mut used, mut wrong) = (Used { weights: gradient.len(), ..Used::default() }, vec![]);
    for (i, (g, d)) in gradient.iter().zip(differences).enumerate() {
        let (member, weight) = (i / len, i % len);
        let granted = if activation == Act::Silu { 1e-9 } else { 2e-8 } * (1.0 + loss[member].abs());
        if d.is_nan() && g.is_finite() && activation == Act::Relu {
            used.kinks += 1;
        } else if (g - d).abs() <= granted {
            used.share = used.share.max((g - d).abs() / granted);
        } else {
            wrong.push(format!(
                "member {member} weight {weight}: gradient {g:e}, difference {d:e}, allowed {granted:.1e}"
            ));
        }
    }
    if used.kinks * 100 > used.weights {
        wrong.push(format!("{} of {} weights have a kink", used.kinks, used.weights));
    }
    match wrong.len() {
        0 => Ok(used),
        n => Err(format!("{n} of {} wrong: {}", gradient.len(), wrong[..n.min(3)].join("; "))),
    }
}

/// Gathers the cases of one test.
#[derive(Default)]
struct Bench {
    cases: usize,
    share: [f64; 2],
    kinks: usize,
    faults: Vec<String>,
}

impl Bench {
    /// Full batch without dropout, then short batch with it.
    fn try_both(&mut self, s: &Setup) {
        let eta_aux = if s.aux.is_some() { 0.7 } else { 0.0 };
        let eta = if s.method.name() == base::NAME { 0.0 } else { 0.3 };
        for s in [s.clone(), short_batch(s)] {
            let args = step_args(&s, eta, eta_aux);
            self.one(Objective::new(&s), &s, &args, mlp(&s).activation);
        }
    }

    fn one(&mut self, mut objective: Objective, s: &Setup, args: &StepArgs<f64>, activation: Act) {
        {
            let gradient = objective.gradient(args);
            let start = objective.start.clone();
            let loss = objective.loss(args, &start);
            let differences = objective.differences(args, activation);
            self.cases += 1;
            match compare(&gradient, &differences, &loss, activation) {
                Ok(used) => {
                    let share = &mut self.share[usize::from(activation == Act::Relu)];
                    *share = share.max(used.share);
                    self.kinks += used.kinks;
                }
                Err(fault) => self.faults.push(format!(
                    "{:?} {:?} noise {:?} sigma {:?} exact {} aux {:?} {activation:?} batch {}: {fault}",
                    s.method, s.task, s.noise_link, s.sigma_link, s.exact, s.aux, s.batch
                )),
            }
        }
    }

    fn close(self, what: &str, cases: usize) {
        println!(
            "{what}: {} objectives; share of the tolerance used: SiLU {:.1e}, ReLU {:.1e}; {} kinks",
            self.cases, self.share[0], self.share[1], self.kinks
        );
        assert!(self.faults.is_empty(), "{what}: {} wrong\n{}", self.faults.len(), self.faults.join("\n"));
        assert_eq!(self.cases, cases, "{what}: not all objectives were tried");
    }
}

/// The image networks, as small as they come, on seven images, the last batch short: convolutions of every stride, pooling,
/// batch norm with its statistics of data and auxiliary rows, residual sums, and what the methods make of their outputs.
#[test]
fn image_networks() {
    let nets = |last: Last, activation: Act| {
        vec![
            Net::Cnn(Cnn { size: 5, channels: 2, last, widths: [3, 2], hidden: 3, activation, dropout: 0.0 }),
            Net::AlexNet(AlexNet { channels: 1, last, widths: [2, 2, 3, 2, 1], hidden: 2, dropout: 0.0 }),
            Net::PreResNet(PreResNet { channels: 1, last, depth: 8, width: 1, dropout: 0.0 }),
        ]
    };
    let mut bench = Bench::default();
    for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vi(Reg::Naive)] {
        let aux = matches!(kind, Kind::Vifo(_)).then_some(AuxSource::Uniform);
        let s = setup(kind, Task::Classification, Act::Silu);
        for net in nets(kind.last(s.task, s.k), Act::Silu) {
            // AlexNet is large: one objective will do for its layers. Its pools choose among 16,384 values: a kink like a
            // ReLU's; the small cnn's are far from a change.
            let activation = match net {
                Net::AlexNet(_) if kind != Kind::Base => continue,
                Net::AlexNet(_) | Net::PreResNet(_) => Act::Relu,
                _ => Act::Silu,
            };
            let batch = if matches!(net, Net::AlexNet(_)) { 2 } else { 4 };
            let s = Setup { net, aux, batch, ..s.clone() };
            let args = step_args(&s, 0.3, if aux.is_some() { 0.7 } else { 0.0 });
            bench.one(Objective::new(&s), &s, &args, activation);
        }
    }
    bench.close("image networks", 7);
}

const TASKS: [Task; 2] = [Task::Regression, Task::Classification];
const ACTS: [Act; 2] = [Act::Silu, Act::Relu];
const LINKS: [Link; 2] = [Link::Exp, Link::Softplus];

/// The noise link means something in regression only.
fn noise_links(task: Task) -> &'static [Link] {
    if task == Task::Regression { &LINKS } else { &LINKS[..1] }
}

#[test]
fn base() {
    let mut bench = Bench::default();
    for task in TASKS {
        for activation in ACTS {
            for &noise_link in noise_links(task) {
                bench.try_both(&Setup { noise_link, ..setup(Kind::Base, task, activation) });
            }
        }
    }
    bench.close("base", 2 * 2 * 3);
}

fn vifo(bench: &mut Bench, reg: Reg) {
    for task in TASKS {
        for activation in ACTS {
            for &noise_link in noise_links(task) {
                for sigma_link in LINKS {
                    for aux in [None, Some(AuxSource::Uniform)] {
                        for exact in [false, true] {
                            let closed_form = task == Task::Regression && noise_link == Link::Exp;
                            if (exact && !closed_form) || (aux.is_some() && reg == Reg::L2) {
                                continue;
                            }
                            let s = setup(Kind::Vifo(reg), task, activation);
                            bench.try_both(&Setup { noise_link, sigma_link, aux, exact, ..s });
                        }
                    }
                }
            }
        }
    }
}

/// Cases of one VIFO regularizer: 2 batches, 2 activations, 2 sigma links, and 4 = 3 likelihoods + 1 closed form.
const VIFO_CASES: usize = 2 * 2 * 2 * 4;

#[test]
fn vifo_rowwise() {
    let mut bench = Bench::default();
    [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb].into_iter().for_each(|reg| vifo(&mut bench, reg));
    bench.close("vifo, row by row", 4 * 2 * VIFO_CASES);
}

#[test]
fn vifo_over_all_rows() {
    let mut bench = Bench::default();
    [Reg::MeanAll, Reg::MvAll, Reg::EbAll].into_iter().for_each(|reg| vifo(&mut bench, reg));
    bench.close("vifo, over all rows", 3 * 2 * VIFO_CASES);
}

#[test]
fn vifo_l2() {
    let mut bench = Bench::default();
    vifo(&mut bench, Reg::L2);
    bench.close("vifo-l2", VIFO_CASES);
}

#[test]
fn auxiliary_grid() {
    let mut bench = Bench::default();
    for reg in [Reg::Mean, Reg::EbAll] {
        let s = setup(Kind::Vifo(reg), Task::Regression, Act::Silu);
        let net = Net::Mlp(Mlp { n_in: 1, ..mlp(&s).clone() });
        bench.try_both(&Setup { aux: Some(AuxSource::Grid), net, ..s });
    }
    bench.close("auxiliary grid", 4);
}

#[test]
fn vi() {
    let mut bench = Bench::default();
    for reg in [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb] {
        for groups_by_layer in [false, true] {
            for task in TASKS {
                for activation in ACTS {
                    for &noise_link in noise_links(task) {
                        bench.try_both(&Setup {
                            noise_link,
                            groups_by_layer,
                            ..setup(Kind::Vi(reg), task, activation)
                        });
                    }
                }
            }
        }
    }
    bench.close("vi", 4 * 2 * 2 * 2 * 3);
}

/// One objective of every kind, for what must hold of all of them.
fn one_of_each() -> Vec<Setup> {
    let kinds = [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::MvAll), Kind::Vifo(Reg::L2), Kind::Vi(Reg::Eb)];
    kinds.map(|kind| short_batch(&setup(kind, Task::Regression, Act::Silu))).to_vec()
}

/// Weighted rows, in the full batch and in a short one, for every head and for the regularizers that see all rows.
#[test]
fn weighted_rows() {
    let mut bench = Bench::default();
    let kinds = [Kind::Base, Kind::Vi(Reg::Mean), Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::MeanAll)];
    let kinds = kinds.into_iter().chain([Kind::Vifo(Reg::MvAll), Kind::Vifo(Reg::EbAll), Kind::Vifo(Reg::Eb)]);
    for kind in kinds {
        for task in TASKS {
            bench.try_both(&Setup { weighted: true, ..setup(kind, task, Act::Silu) });
        }
    }
    bench.try_both(&Setup { weighted: true, ..setup(Kind::Dirichlet, Task::Classification, Act::Silu) });
    bench.try_both(&Setup {
        weighted: true,
        aux: Some(AuxSource::Uniform),
        ..setup(Kind::Vifo(Reg::MvAll), Task::Regression, Act::Silu)
    });
    // VBLL's divergence is reported times 1/n, a parameter in single precision: of eight rows that is exact.
    for task in TASKS {
        let whole = Setup { weighted: true, n_rows: 8, batch: 8, ..setup(Kind::Vbll, task, Act::Silu) };
        for s in [whole.clone(), short_batch(&whole)] {
            let rows = [0, 1, 2, 3, 4, 5, 6, 0];
            let objective = Objective::on_rows(&s, &rows, &[0.5, 2.0, 0.0, 1.5, 1.0, 0.25, 1.75, 1.0]);
            bench.one(objective, &s, &step_args(&s, 0.3, 0.0), Act::Silu);
        }
    }
    bench.close("weighted rows", 2 * (8 * 2 + 2));
}

/// A row of weight k counts as k rows, for the loss, for the regularizer of each row and for their gradient. The weights have
/// mean 1, so that the sum of them is the number of rows: what is weighed against the whole data (the divergence of VI's and
/// VBLL's weights, the squares of weights) stands against N rows, and against the repeated rows has the weight eta M / N. Loss and gradient are sums
/// of some thousand terms in another order: 1e-12 of their size.
#[test]
fn a_row_of_weight_k_counts_as_k_rows() {
    let times = [2usize, 0, 1, 4, 1, 3, 3];
    let repeated: Vec<usize> = (0..N_ROWS).flat_map(|row| std::iter::repeat_n(row, times[row])).collect();
    let m = repeated.len();
    let weights: Vec<f64> = times.iter().map(|&k| k as f64 * N_ROWS as f64 / m as f64).collect();
    let regs = [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb, Reg::MeanAll, Reg::MvAll, Reg::EbAll, Reg::L2];
    let mut cases: Vec<(Kind, Task)> = regs.into_iter().map(|reg| (Kind::Vifo(reg), Task::Regression)).collect();
    for task in TASKS {
        cases.extend([(Kind::Base, task), (Kind::Vi(Reg::Eb), task), (Kind::Vbll, task)]);
    }
    cases.push((Kind::Dirichlet, Task::Classification));
    for (kind, task) in cases {
        // The closed form: samples are drawn by the place of a row.
        let exact = matches!(kind, Kind::Vifo(_));
        let one = Setup { exact, weighted: true, ..setup(kind, task, Act::Silu) };
        let many = Setup { weighted: false, n_rows: m as u32, batch: m as u32, ..one.clone() };
        let of_whole = matches!(kind, Kind::Vi(_) | Kind::Vbll | Kind::Vifo(Reg::L2));
        let eta = 0.3;
        let args = step_args(&one, eta, 0.0);
        let many_args = StepArgs {
            batch_start: 0,
            n_valid: m as u32,
            eta: if of_whole { eta * m as f64 / N_ROWS as f64 } else { eta },
            ..args
        };
        let mut a = Objective::on_rows(&one, &(0..N_ROWS).collect::<Vec<_>>(), &weights);
        let mut b = Objective::on_rows(&many, &repeated, &[]);
        let start = a.start.clone();
        let (loss_a, loss_b) = (a.loss(&args, &start), b.loss(&many_args, &start));
        let (grad_a, grad_b) = (a.gradient(&args), b.gradient(&many_args));
        for (x, y) in loss_a.iter().zip(&loss_b).chain(grad_a.iter().zip(&grad_b)) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{kind:?} {task:?}: {x:e} against {y:e}");
        }
        let unweighted = Objective::on_rows(&Setup { weighted: false, ..one }, &(0..N_ROWS).collect::<Vec<_>>(), &[])
            .loss(&args, &start);
        assert!((unweighted[0] - loss_a[0]).abs() > 1e-3, "{kind:?}: weights that change nothing show nothing");
    }
}

/// The same with `t` targets.
fn with_targets(s: &Setup, t: u32) -> Setup {
    let net = Net::Mlp(Mlp { last: s.method.last_layer(s.task, s.k * t), ..mlp(s).clone() });
    Setup { targets: t, net, ..s.clone() }
}

#[test]
fn several_targets() {
    let mut bench = Bench::default();
    let kinds = [Kind::Base, Kind::Vi(Reg::Mean), Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::MvAll), Kind::Vifo(Reg::L2)];
    for kind in kinds {
        bench.try_both(&with_targets(&setup(kind, Task::Regression, Act::Silu), 2));
    }
    let aux = Setup { aux: Some(AuxSource::Uniform), ..setup(Kind::Vifo(Reg::Mean), Task::Regression, Act::Silu) };
    bench.try_both(&with_targets(&aux, 3));
    bench.close("several targets", 6 * 2);
}

/// One network with three targets has the mean of the losses of three networks that have its hidden layers and, of its
/// last layer, the columns of one target each; and so has its gradient, whose hidden part is the mean of theirs. In closed
/// form, since samples are drawn by the place of a row. Sums of some thousand terms in another order: 1e-12 of their size.
#[test]
fn several_targets_are_the_mean_of_each() {
    const T: usize = 3;
    for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::Eb)] {
        let exact = matches!(kind, Kind::Vifo(_));
        let one = Setup { exact, ..setup(kind, Task::Regression, Act::Silu) };
        let all = with_targets(&one, T as u32);
        let width = mlp(&one).last.n_out() as usize;
        let n_hidden = 4;
        let (first, _) = *one.layout().layers().last().expect("a layer");
        let (len, len_all) = (one.member_len(), all.member_len());
        assert_eq!(len_all - first, (n_hidden + 1) * T * width, "weights [n_in, n_out], then biases");
        // The place in the large network of each number of the small one of target `t`.
        let place = |t: usize, i: usize| match i.checked_sub(first) {
            None => i,
            Some(i) => first + i / width * T * width + t * width + i % width,
        };
        let mut whole = Objective::new(&all);
        let args = step_args(&all, 0.3, 0.0);
        let start = whole.start.clone();
        let (loss, gradient) = (whole.loss(&args, &start), whole.gradient(&args));
        let (mut mean_loss, mut mean_gradient) = ([0.0; MEMBERS], vec![0.0; gradient.len()]);
        for t in 0..T {
            let mut part = Objective::of_target(&one, t as u32);
            part.start =
                (0..MEMBERS).flat_map(|m| (0..len).map(move |i| m * len_all + place(t, i))).map(|i| start[i]).collect();
            let (args, w) = (step_args(&one, 0.3, 0.0), part.start.clone());
            let (loss, gradient) = (part.loss(&args, &w), part.gradient(&args));
            for m in 0..MEMBERS {
                mean_loss[m] += loss[m] / T as f64;
                for i in 0..len {
                    mean_gradient[m * len_all + place(t, i)] += gradient[m * len + i] / T as f64;
                }
            }
        }
        for (x, y) in loss.iter().zip(&mean_loss).chain(gradient.iter().zip(&mean_gradient)) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{kind:?}: {x:e} against {y:e}");
        }
        let apart = Objective::of_target(&one, 0).loss(&step_args(&one, 0.3, 0.0), &vec![0.1; MEMBERS * len]);
        let other = Objective::of_target(&one, 1).loss(&step_args(&one, 0.3, 0.0), &vec![0.1; MEMBERS * len]);
        assert!((apart[0] - other[0]).abs() > 1e-3, "targets that are alike show nothing");
    }
}

#[test]
fn members_do_not_talk() {
    for s in one_of_each() {
        let args = step_args(&s, 0.3, 0.0);
        let mut objective = Objective::new(&s);
        let mut w = objective.start.clone();
        let before = objective.loss(&args, &w);
        let len = w.len() / MEMBERS;
        w[..len].iter_mut().for_each(|w| *w += 0.1);
        let after = objective.loss(&args, &w);
        assert_ne!(before[0], after[0], "{:?}", s.method);
        assert_eq!(before[1], after[1], "{:?}", s.method);
    }
}

/// A step moves each member by min(1, clip / |g|) g, the norm over that member's weights alone.
#[test]
fn clipping_scales_each_member_by_its_own_norm() {
    for s in one_of_each() {
        let s = Setup { clip: true, ..s };
        let mut objective = Objective::new(&s);
        let args = step_args(&s, 0.3, 0.0);
        let whole = objective.gradient(&args);
        let norms: Vec<f64> =
            whole.chunks(whole.len() / MEMBERS).map(|g| g.iter().map(|g| g * g).sum::<f64>().sqrt()).collect();
        // Between the two norms: one member is clipped, the other is not.
        let clip_norm = (norms[0] + norms[1]) / 2.0;
        let clipped = objective.gradient(&StepArgs { clip_norm, ..args });
        for (e, norm) in norms.iter().enumerate() {
            let len = whole.len() / MEMBERS;
            for i in e * len..(e + 1) * len {
                let want = whole[i] * (clip_norm / norm).min(1.0);
                // Weights of about 1 are stored between: 1e-16 each, against gradients summed to `norm`.
                assert!((clipped[i] - want).abs() <= 1e-13 * (1.0 + norm), "{:?} {e} {i}", s.method);
            }
        }
        assert!(norms[0] != norms[1], "{:?}", s.method);
    }
}

/// At fixed weights the loss of an epoch is the loss of the full batch, however it is cut: sum over batches of
/// n_valid * loss / N. Only the order of the sum changes: N rounding errors.
#[test]
fn the_objective_does_not_depend_on_the_batch_split() {
    for kind in [Kind::Base, Kind::Vifo(Reg::Naive), Kind::Vifo(Reg::Eb), Kind::Vifo(Reg::L2)] {
        for task in TASKS {
            // Sampled expectations draw other normals in other batches: the closed form, or the plain loss.
            if task == Task::Classification && kind != Kind::Base {
                continue;
            }
            let epoch = |batch: u32| {
                let s = Setup { batch, exact: kind != Kind::Base, ..setup(kind, task, Act::Relu) };
                let mut objective = Objective::new(&s);
                let w = objective.start.clone();
                let mut total = [0.0; MEMBERS];
                for batch_start in (0..N_ROWS as u32).step_by(batch as usize) {
                    let n_valid = batch.min(N_ROWS as u32 - batch_start);
                    let args = StepArgs { batch_start, n_valid, ..step_args(&s, 0.3, 0.0) };
                    let loss = objective.loss(&args, &w);
                    (0..MEMBERS).for_each(|e| total[e] += loss[e] * n_valid as f64 / N_ROWS as f64);
                }
                total
            };
            let whole = epoch(N_ROWS as u32);
            for batch in 1..N_ROWS as u32 {
                let parts = epoch(batch);
                for e in 0..MEMBERS {
                    let granted = 1e-14 * (1.0 + whole[e].abs());
                    assert!((parts[e] - whole[e]).abs() <= granted, "{kind:?} {task:?} {batch}: {parts:?} {whole:?}");
                }
            }
        }
    }
}

/// With sigma on its floor 1e-6 and eta = 0, VIFO is the base network with outputs mu: z differs from mu by 1e-6 |eps|,
/// the loss by its slope times that; the closed form by sigma^2.
#[test]
fn vifo_without_variance_is_base() {
    for (task, exact, granted) in
        [(Task::Regression, true, 1e-11), (Task::Regression, false, 1e-4), (Task::Classification, false, 1e-4)]
    {
        let plain = setup(Kind::Base, task, Act::Silu);
        let full = Setup { exact, ..setup(Kind::Vifo(Reg::Naive), task, Act::Silu) };
        let (k, hidden) = (plain.k as usize, *mlp(&plain).hidden.last().expect("layers") as usize);
        let (mut base, mut vifo) = (Objective::new(&plain), Objective::new(&full));
        let (len, len2) = (base.start.len() / MEMBERS, vifo.start.len() / MEMBERS);
        let below = len - (hidden + 1) * k;
        for e in 0..MEMBERS {
            let (from, to) = (&base.start[e * len..(e + 1) * len], &mut vifo.start[e * len2..(e + 1) * len2]);
            to[..below].copy_from_slice(&from[..below]);
            // Rows of the last layer, its bias behind them: [mu | rho].
            for row in 0..=hidden {
                let to = &mut to[below + row * 2 * k..][..2 * k];
                to[..k].copy_from_slice(&from[below + row * k..][..k]);
                to[k..].fill(if row == hidden { -40.0 } else { 0.0 });
            }
        }
        let (w, w2) = (base.start.clone(), vifo.start.clone());
        let loss = base.loss(&step_args(&plain, 0.0, 0.0), &w);
        let limit = vifo.loss(&step_args(&full, 0.0, 0.0), &w2);
        for e in 0..MEMBERS {
            assert!((loss[e] - limit[e]).abs() <= granted, "{task:?} {exact}: {loss:?} {limit:?}");
        }
    }
}

/// Where a link is clamped its slope is 0 and the value that of the clamp (MATH.md sections 1 and 2); the closed form goes
/// on along its tangent. No trained network of the tests above comes there. Central differences with h = 1e-5 relative
/// to x: about 1e-10 of the value.
#[test]
fn slopes_where_the_links_are_clamped() {
    let agrees = |what: &str, x: f64, f: &dyn Fn(f64) -> (f64, f64)| {
        let h = 1e-5 * (1.0 + x.abs());
        let difference = (f(x + h).0 - f(x - h).0) / (2.0 * h);
        let (value, slope) = f(x);
        let granted = 1e-8 * (1.0 + value.abs() + slope.abs());
        assert!(value.is_finite() && (slope - difference).abs() <= granted, "{what} at {x}: {slope} and {difference}");
    };
    for l in [-40.0, -10.5, -9.5, 0.3, 9.5, 10.5, 800.0] {
        agrees("exp noise, l", l, &|l| {
            (gaussian_loss(NOISE_EXP, 0.2, l, 0.9).0, gaussian_loss(NOISE_EXP, 0.2, l, 0.9).2)
        });
        agrees("exp noise, m", 0.2, &|m| {
            (gaussian_loss(NOISE_EXP, m, l, 0.9).0, gaussian_loss(NOISE_EXP, m, l, 0.9).1)
        });
    }
    for l in [-800.0, -9.0, -6.0, 0.3, 900.0, 1100.0, 1e6] {
        agrees("softplus noise", l, &|l| {
            let (value, _, dl) = gaussian_loss(NOISE_SOFTPLUS, 0.2, l, 0.9);
            (value, dl)
        });
    }
    for (link, floored, free) in [(SIGMA_SOFTPLUS, -800.0, -8.0), (SIGMA_EXP, -800.0, -8.0)] {
        assert_eq!(sigma(link, floored), (SIGMA_MIN, 0.0));
        agrees("sigma", floored, &|rho| sigma(link, rho));
        agrees("sigma", free, &|rho| sigma(link, rho));
    }
    // Exponents s^2/2 - mu_l from -20 to 840 around the limit of 30.
    let exact = |v: [f64; 4]| {
        let (mut dmu, mut dsd) = ([0.0; 2], [0.0; 2]);
        let value = exact_expectation(&v[..2], &v[2..], 0.9, 1.0, &mut dmu, &mut dsd);
        (value, [dmu[0], dmu[1], dsd[0], dsd[1]])
    };
    for at in [[0.2, 20.0, 0.4, 0.3], [0.2, -29.0, 0.4, 0.3], [0.2, -31.0, 0.4, 0.3], [0.2, -40.0, 0.4, 40.0]] {
        for i in 0..4 {
            let along = |x: f64| {
                let mut v = at;
                v[i] = x;
                (exact(v).0, exact(v).1[i])
            };
            agrees("closed form", at[i], &along);
        }
    }
}

/// Gradients that are wrong in one respect each: the harness must reject them all.
#[test]
fn the_comparer_rejects_wrong_gradients() {
    for activation in ACTS {
        let s = Setup { aux: Some(AuxSource::Uniform), ..setup(Kind::Vifo(Reg::Mean), Task::Regression, activation) };
        let s = short_batch(&s);
        let args = step_args(&s, 0.3, 0.7);
        let mut objective = Objective::new(&s);
        let w = objective.start.clone();
        let right = objective.gradient(&args);
        let loss = objective.loss(&args, &w);
        let differences = objective.differences(&args, activation);
        let verdict = |g: &[f64]| compare(g, &differences, &loss, activation);
        assert!(verdict(&right).is_ok(), "{:?}", verdict(&right));

        let largest = (0..right.len()).max_by(|&a, &b| right[a].abs().total_cmp(&right[b].abs())).expect("weights");
        let one = |value: f64| {
            let mut g = right.clone();
            g[largest] = value;
            g
        };
        let half = right.len() / 2;
        let wrong = [
            ("one element by 1e-5", one(right[largest] * (1.0 + 1e-5))),
            ("a sign", one(-right[largest])),
            ("NaN", one(f64::NAN)),
            ("infinity", one(f64::INFINITY)),
            ("members exchanged", [&right[half..], &right[..half]].concat()),
            ("eta by 0.1 %", objective.gradient(&StepArgs { eta: 0.3003, ..args })),
            ("eta_aux by 0.1 %", objective.gradient(&StepArgs { eta_aux: 0.7007, ..args })),
            ("other normals and masks", objective.gradient(&StepArgs { step: 6, ..args })),
            ("other rows", objective.gradient(&StepArgs { epoch: 3, ..args })),
            ("filler rows counted", objective.gradient(&StepArgs { n_valid: 4, ..args })),
            ("weight decay", objective.gradient(&StepArgs { weight_decay: 1e-4, ..args })),
        ];
        for (what, g) in wrong {
            assert!(verdict(&g).is_err(), "{what} was let through ({activation:?})");
        }
        // A gradient that nobody can check is no pass either: every difference a kink.
        assert!(compare(&right, &vec![f64::NAN; right.len()], &loss, activation).is_err());
    }
}
