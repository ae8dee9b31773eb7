//! Networks: which weights they have and how they are recorded. Each file reads like the paper's table of its network.

pub mod alexnet;
pub mod cnn;
pub mod init;
pub mod mlp;
pub mod ntk;
pub mod preresnet;
pub mod trace;

pub use alexnet::AlexNet;
pub use cnn::Cnn;
pub use mlp::Mlp;
pub use preresnet::PreResNet;

use crate::ops::periodic::{MADE, WAVES};
use crate::program::Builder;
use crate::program::builder::{Embedded, FactorAt, LinearAt, PeriodicAt, Tensor, VbllAt};

/// One named part of a network's flat weight vector.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// PyTorch's name, such as "0.weight".
    pub name: String,
    /// PyTorch's shape: [n_out, n_in], [c_out, c_in, kernel_h, kernel_w] or [n].
    pub shape: Vec<usize>,
    pub offset: usize,
    pub kind: ViewKind,
    /// Number of the layer, for the per-layer groups of VI.
    pub layer: usize,
}

/// What a view's numbers are, for initial weights and for the order of the flat vector: there the output channel is
/// contiguous, [n_in, n_out] and [kernel_h, kernel_w, c_in, c_out].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewKind {
    /// A linear layer's weight; `image` = (c, h, w) where its inputs are a flattened image: PyTorch flattens channels
    /// first, we last.
    Linear {
        image: Option<(usize, usize, usize)>,
    },
    Conv,
    /// Bias of a layer with this many inputs per output.
    Bias {
        fan_in: usize,
    },
    /// Factors that start at 1.
    Gamma,
    Beta,
    /// Frequencies of a periodic embedding, [inputs, waves].
    Frequency,
    /// Its phases, [inputs, waves].
    Phase,
    /// Its weights, [inputs, numbers made, waves].
    Waves,
    /// What the levels of a column become, [levels, numbers].
    Table,
    /// Mean of a variational last layer's weights; as `Linear`.
    VbllMean {
        image: Option<(usize, usize, usize)>,
    },
    /// Log of their standard deviations; as `Linear`.
    LogScale {
        image: Option<(usize, usize, usize)>,
    },
    /// Log of the noise's standard deviation, an output.
    LogNoise,
}

impl View {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Inputs of one output.
    pub fn fan_in(&self) -> usize {
        match self.kind {
            ViewKind::Bias { fan_in } => fan_in,
            ViewKind::Waves => self.shape[2],
            _ => self.shape[1..].iter().product(),
        }
    }

    /// Place in the flat vector, from the view's offset on, of element `i` in PyTorch's order.
    fn place(&self, i: usize) -> usize {
        match (self.kind, &self.shape[..]) {
            (
                ViewKind::Linear { image } | ViewKind::VbllMean { image } | ViewKind::LogScale { image },
                [n_out, n_in],
            ) => {
                let (o, j) = (i / n_in, i % n_in);
                let j = match image {
                    // (channel, pixel) -> (pixel, channel)
                    Some((c, h, w)) => j % (h * w) * c + j / (h * w),
                    None => j,
                };
                j * n_out + o
            }
            (ViewKind::Conv, [n_out, c, kh, kw]) => {
                let (o, rest) = (i / (c * kh * kw), i % (c * kh * kw));
                let (ci, tap) = (rest / (kh * kw), rest % (kh * kw));
                (tap * c + ci) * n_out + o
            }
            _ => i,
        }
    }
}

/// The table of views over one replica's weights, and the number of running statistics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    pub views: Vec<View>,
    /// P.
    pub total: usize,
    /// Running statistics of batch normalisations: (PyTorch's name without its last part, channels, offset of mean; the
    /// variance follows it).
    pub norms: Vec<(String, usize, usize)>,
    /// Q.
    pub running: usize,
    /// Convolutions start at N(0, 2 / (k k out)) instead of PyTorch's uniform.
    pub normal_convs: bool,
}

impl Layout {
    /// This view's weights in PyTorch's order, from the flat vector.
    pub fn to_torch(&self, view: &View, flat: &[f32]) -> Vec<f32> {
        (0..view.len()).map(|i| flat[view.offset + view.place(i)]).collect()
    }

    /// The other way round: `values` in PyTorch's order into the flat vector.
    pub fn set_from_torch(&self, view: &View, values: &[f32], flat: &mut [f32]) {
        for (i, v) in values.iter().enumerate() {
            flat[view.offset + view.place(i)] = *v;
        }
    }

    fn push(&mut self, name: String, shape: Vec<usize>, kind: ViewKind, layer: usize) -> u32 {
        let view = View { name, shape, offset: self.total, kind, layer };
        let offset = self.total as u32;
        self.total += view.len();
        self.views.push(view);
        offset
    }

    /// (first, length) of each layer's weights.
    pub fn layers(&self) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = vec![];
        for v in &self.views {
            match out.get_mut(v.layer) {
                Some(part) => part.1 += v.len(),
                None => out.push((v.offset, v.len())),
            }
        }
        out
    }
}

/// Hands out the places of weights, layer by layer; a network's `layout` and its recording walk the same way.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub layout: Layout,
    layer: usize,
}

impl Places {
    pub fn linear(
        &mut self,
        name: &str,
        n_in: u32,
        n_out: u32,
        image: Option<(usize, usize, usize)>,
    ) -> crate::program::builder::LinearAt {
        let layer = self.next();
        let shape = vec![n_out as usize, n_in as usize];
        let weight = self.layout.push(format!("{name}.weight"), shape, ViewKind::Linear { image }, layer);
        let bias = self.layout.push(
            format!("{name}.bias"),
            vec![n_out as usize],
            ViewKind::Bias { fan_in: n_in as usize },
            layer,
        );
        crate::program::builder::LinearAt { n_in, n_out, weight, bias }
    }

    /// A periodic embedding of so many inputs.
    pub fn periodic(&mut self, name: &str, embedded: u32) -> PeriodicAt {
        let layer = self.next();
        let (d, waves, made) = (embedded as usize, WAVES as usize, MADE as usize);
        let mut push = |what: &str, shape, kind| self.layout.push(format!("{name}.{what}"), shape, kind, layer);
        let frequency = push("frequency", vec![d, waves], ViewKind::Frequency);
        let phase = push("phase", vec![d, waves], ViewKind::Phase);
        let weight = push("weight", vec![d, made, waves], ViewKind::Waves);
        let bias = push("bias", vec![d, made], ViewKind::Bias { fan_in: waves });
        PeriodicAt { embedded, frequency, phase, weight, bias }
    }

    /// Factors of `n` numbers.
    pub fn factor(&mut self, name: &str, n: u32) -> FactorAt {
        let layer = self.next();
        let weight = self.layout.push(format!("{name}.weight"), vec![n as usize], ViewKind::Gamma, layer);
        FactorAt { n, weight }
    }

    /// Tables of the levels of columns, one after another; where the first begins.
    pub fn tables(&mut self, name: &str, columns: &[Embedded]) -> u32 {
        let layer = self.next();
        let first = self.layout.total as u32;
        for (i, c) in columns.iter().enumerate() {
            let shape = vec![c.levels as usize, c.width as usize];
            self.layout.push(format!("{name}.{i}.weight"), shape, ViewKind::Table, layer);
        }
        first
    }

    /// A variational last layer with `k` outputs.
    pub fn vbll(
        &mut self,
        name: &str,
        n_in: u32,
        k: u32,
        image: Option<(usize, usize, usize)>,
    ) -> crate::program::builder::VbllAt {
        let layer = self.next();
        let shape = vec![k as usize, n_in as usize];
        let mean = self.layout.push(format!("{name}.weight"), shape.clone(), ViewKind::VbllMean { image }, layer);
        let log_scale = self.layout.push(format!("{name}.log_scale"), shape, ViewKind::LogScale { image }, layer);
        let log_noise = self.layout.push(format!("{name}.log_noise"), vec![k as usize], ViewKind::LogNoise, layer);
        crate::program::builder::VbllAt { n_in, k, mean, log_scale, log_noise }
    }

    /// A square kernel; `pads` = (above and left, below and right).
    pub fn conv(
        &mut self,
        name: &str,
        (c_in, c_out): (u32, u32),
        kernel: u32,
        stride: u32,
        pads: (u32, u32),
        bias: bool,
    ) -> crate::program::builder::ConvAt {
        let layer = self.next();
        let shape = vec![c_out as usize, c_in as usize, kernel as usize, kernel as usize];
        let fan_in = (c_in * kernel * kernel) as usize;
        let weight = self.layout.push(format!("{name}.weight"), shape, ViewKind::Conv, layer);
        let bias = bias
            .then(|| self.layout.push(format!("{name}.bias"), vec![c_out as usize], ViewKind::Bias { fan_in }, layer));
        crate::program::builder::ConvAt { c_out, kernel, stride, pad_before: pads.0, pad_after: pads.1, weight, bias }
    }

    pub fn norm(&mut self, name: &str, c: u32) -> crate::program::builder::NormAt {
        let layer = self.next();
        let gamma = self.layout.push(format!("{name}.weight"), vec![c as usize], ViewKind::Gamma, layer);
        let beta = self.layout.push(format!("{name}.bias"), vec![c as usize], ViewKind::Beta, layer);
        let running = self.layout.running as u32;
        self.layout.norms.push((name.to_string(), c as usize, self.layout.running));
        self.layout.running += 2 * c as usize;
        crate::program::builder::NormAt { gamma, beta, running }
    }

    pub fn last(&mut self, name: &str, n_in: u32, last: Last) -> LastAt {
        match last {
            Last::Linear(n_out) => LastAt::Linear(self.linear(name, n_in, n_out, None)),
            Last::Vbll(k) => LastAt::Vbll(self.vbll(name, n_in, k, None)),
        }
    }

    fn next(&mut self) -> usize {
        self.layer += 1;
        self.layer - 1
    }
}

/// A network's last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Of so many outputs.
    Linear(u32),
    /// A distribution over the weights, of k dimensions.
    Vbll(u32),
}

impl From<u32> for Last {
    fn from(n_out: u32) -> Last {
        Last::Linear(n_out)
    }
}

impl Last {
    /// Numbers per row: VBLL's are mean, variance and log noise of each dimension.
    pub fn n_out(self) -> u32 {
        match self {
            Last::Linear(n) => n,
            Last::Vbll(k) => 3 * k,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum LastAt {
    Linear(LinearAt),
    Vbll(VbllAt),
}

impl LastAt {
    fn record(self, b: &mut Builder, name: &str, x: Tensor) -> Tensor {
        match self {
            LastAt::Linear(at) => b.linear(name, x, at, None),
            LastAt::Vbll(at) => b.vbll(name, x, at),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masks {
    /// Nothing is dropped.
    None,
    /// Each row loses other units: training.
    EachRow,
    /// All rows of a pass see the same thinned network: Monte Carlo dropout.
    Shared,
}

/// How a forward pass is meant.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// Batch normalisation by the batch's own statistics instead of the running ones.
    pub batch_statistics: bool,
    pub masks: Masks,
    /// Number of the first replica in the whole ensemble, for the masks.
    pub first_replica: u32,
}

impl Pass {
    pub fn training(first_replica: u32) -> Pass {
        Pass { batch_statistics: true, masks: Masks::EachRow, first_replica }
    }
    pub fn prediction() -> Pass {
        Pass { batch_statistics: false, masks: Masks::None, first_replica: 0 }
    }

    fn dropout(&self, b: &mut Builder, x: Tensor, rate: f32) -> Tensor {
        match self.masks {
            Masks::None => x,
            masks => b.dropout(x, rate, self.first_replica, masks == Masks::EachRow),
        }
    }
}

/// Any of the networks.
#[derive(Debug, Clone, PartialEq)]
pub enum Net {
    Mlp(Mlp),
    AlexNet(AlexNet),
    PreResNet(PreResNet),
    Cnn(Cnn),
}

impl Net {
    /// (h, w, c) of an input; (1, 1, n) for rows of numbers.
    pub fn input(&self) -> (u32, u32, u32) {
        match self {
            Net::Mlp(n) => (1, 1, n.n_in),
            Net::AlexNet(n) => (32, 32, n.channels),
            Net::PreResNet(n) => (32, 32, n.channels),
            Net::Cnn(n) => (n.size, n.size, n.channels),
        }
    }
    /// Numbers of an input.
    pub fn n_in(&self) -> u32 {
        let (h, w, c) = self.input();
        h * w * c
    }
    pub fn n_out(&self) -> u32 {
        match self {
            Net::Mlp(n) => n.last.n_out(),
            Net::AlexNet(n) => n.last.n_out(),
            Net::PreResNet(n) => n.last.n_out(),
            Net::Cnn(n) => n.last.n_out(),
        }
    }
    pub fn is_vbll(&self) -> bool {
        let last = match self {
            Net::Mlp(n) => n.last,
            Net::AlexNet(n) => n.last,
            Net::PreResNet(n) => n.last,
            Net::Cnn(n) => n.last,
        };
        matches!(last, Last::Vbll(_))
    }
    pub fn layout(&self) -> Layout {
        match self {
            Net::Mlp(n) => n.layout(),
            Net::AlexNet(n) => n.layout(),
            Net::PreResNet(n) => n.layout(),
            Net::Cnn(n) => n.layout(),
        }
    }
    /// Numbers of a row in the widest layer.
    pub fn widest(&self) -> u64 {
        let (h, w, _) = self.input();
        let pixels = u64::from(h) * u64::from(w);
        let inside = match self {
            Net::Mlp(n) => n.hidden.iter().copied().max().unwrap_or(0).max(n.n_first()).into(),
            Net::AlexNet(n) => pixels * u64::from(n.widths[0]),
            Net::PreResNet(n) => pixels * u64::from(n.width),
            Net::Cnn(n) => pixels * u64::from(n.widths[0]),
        };
        inside.max(u64::from(self.n_in())).max(u64::from(self.n_out()))
    }
    /// Multiply-adds of a forward pass of one row.
    pub fn multiply_adds(&self) -> u64 {
        let layout = self.layout();
        let of = |pixels: &dyn Fn(usize) -> u64| {
            // A table is looked up.
            let weights = layout.views.iter().filter(|v| v.shape.len() > 1 && v.kind != ViewKind::Table);
            weights
                .enumerate()
                .map(|(i, v)| v.len() as u64 * if v.kind == ViewKind::Conv { pixels(i) } else { 1 })
                .sum()
        };
        match self {
            Net::Mlp(_) => of(&|_| 1),
            Net::AlexNet(_) => of(&|i| [1024, 256, 64, 64, 64][i.min(4)]),
            Net::Cnn(n) => of(&|i| u64::from(n.size >> i).pow(2)),
            Net::PreResNet(n) => n.multiply_adds(),
        }
    }
    /// "hidden [50, 50]", "AlexNet", for reports.
    pub fn describe(&self) -> String {
        match self {
            Net::Mlp(n) => n.describe(),
            Net::AlexNet(n) => format!("AlexNet, widths {:?}", n.widths),
            Net::PreResNet(n) => format!("PreResNet{}, width {}", n.depth, n.width),
            Net::Cnn(n) => format!("CNN, widths {:?}", n.widths),
        }
    }
    /// Records the forward pass; the result is [replicas, rows, n_out].
    pub fn record(&self, b: &mut Builder, x: Tensor, pass: Pass) -> Tensor {
        match self {
            Net::Mlp(n) => n.record(b, x, pass),
            Net::AlexNet(n) => n.record(b, x, pass),
            Net::PreResNet(n) => n.record(b, x, pass),
            Net::Cnn(n) => n.record(b, x, pass),
        }
    }
}
