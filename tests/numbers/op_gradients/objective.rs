//! A recorded training program on seven rows as one smooth function of its weights.

use vifo::data::Task;
use vifo::exec::cpu::CpuExecutor;
use vifo::method::{DataX, Method, ModelSpec, Reg, TrainProgram, base};
use vifo::net::{Last, Mlp, Net};
use vifo::ops::StepArgs;
use vifo::ops::reduce::{SUM_STEPS, SUM_WORDS};
use vifo::program::{Act, Buf};
use vifo::recipe::{Link, Optimizer, PriorKeys};

pub const N_ROWS: usize = 7;
pub const MEMBERS: usize = 2;

/// The methods whose losses have gradients of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
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
    pub fn last(self, task: Task, k: u32) -> Last {
        self.method().last_layer(task, k)
    }
}

pub fn mlp(s: &ModelSpec) -> &Mlp {
    match &s.net {
        Net::Mlp(net) => net,
        other => panic!("{other:?} is no MLP"),
    }
}

/// A setup on seven rows of two inputs; the ensemble's first member is number 1, as in the second part of a cut one.
pub fn setup(kind: Kind, task: Task, activation: Act) -> ModelSpec {
    let k = if task == Task::Regression { 2 } else { 3 };
    ModelSpec {
        method: kind.method(),
        task,
        k,
        noise_link: Link::Exp,
        nu: None,
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
        net: Net::Mlp(Mlp {
            n_in: 2,
            hidden: vec![5, 4],
            last: kind.last(task, k),
            activation,
            embedded: vec![],
            tables: vec![],
            scaled: false,
            parametric: false,
            dropout: 0.0,
        }),
        image: None,
        optimizer: Optimizer::Sgd,
        momentum: 0.0,
        clip: false,
        folds: 0,
        held_out: 0,
        n_rows: N_ROWS as u32,
        batch: N_ROWS as u32,
        aux: None,
        warm: false,
        stepping: Default::default(),
        options: Default::default(),
    }
}

/// The same on the last, short batch of an epoch: rows in the epoch's order, one filler row, and dropout.
pub fn short_batch(s: &ModelSpec) -> ModelSpec {
    ModelSpec { batch: 4, net: Net::Mlp(Mlp { dropout: 0.3, ..mlp(s).clone() }), ..s.clone() }
}

pub fn step_args(s: &ModelSpec, eta: f64, eta_aux: f64) -> StepArgs<f64> {
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
        dropout: 1.0,
    }
}

pub struct Objective {
    exec: CpuExecutor<f64>,
    weights: Buf,
    sums: Buf,
    y: Buf,
    pub start: Vec<f64>,
}

impl Objective {
    pub fn new(s: &ModelSpec) -> Objective {
        Self::on_rows(s, &(0..N_ROWS).collect::<Vec<_>>(), &[0.5, 2.0, 0.0, 1.5, 1.0, 0.25, 1.75])
    }

    /// On these of the seven rows, some perhaps more than once; `row_weights` are read where the setup is weighted.
    pub fn on_rows(s: &ModelSpec, rows: &[usize], row_weights: &[f64]) -> Objective {
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
    fn targets(s: &ModelSpec, rows: &[usize]) -> Vec<f64> {
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
    pub fn of_target(s: &ModelSpec, t: u32) -> Objective {
        let several = ModelSpec { targets: t + 1, ..s.clone() };
        let mut objective = Self::new(s);
        let y = Self::targets(&several, &(0..N_ROWS).collect::<Vec<_>>());
        let own: Vec<f64> = y.iter().skip(t as usize).step_by(t as usize + 1).copied().collect();
        objective.exec.set(objective.y, &own);
        objective
    }

    /// Runs one step from `w`; returns each member's loss.
    pub fn loss(&mut self, args: &StepArgs<f64>, w: &[f64]) -> [f64; MEMBERS] {
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
    pub fn gradient(&mut self, args: &StepArgs<f64>) -> Vec<f64> {
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
    pub fn differences(&mut self, args: &StepArgs<f64>, activation: Act) -> Vec<f64> {
        let len = self.start.len() / MEMBERS;
        let mut out = vec![0.0; self.start.len()];
        let h = if matches!(activation, Act::Relu | Act::Selu) { 2e-6 } else { 1e-4 };
        for i in 0..len {
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|m| self.moved(args, i, m * h));
            for e in 0..MEMBERS {
                let (near, far) = ((c[e] - b[e]) / (2.0 * h), (d[e] - a[e]) / (4.0 * h));
                out[e * len + i] = match activation {
                    Act::Silu | Act::Mish => (4.0 * near - far) / 3.0,
                    // Smooth pieces differ by rounding and h^2; a kink by a share of a slope.
                    Act::Relu | Act::Selu if (near - far).abs() > 1e-6 * (1.0 + near.abs()) => f64::NAN,
                    Act::Relu | Act::Selu => near,
                };
            }
        }
        out
    }
}
