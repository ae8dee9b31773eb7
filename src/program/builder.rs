//! Records layers onto a tape. A layer is one call; its backward pass follows from the tape.

use super::{Buf, BufferInfo, Element, Program, Role, Step};
use crate::base::rng::Stream;
use crate::ops::Op;
use crate::ops::conv::Conv2dForward;
use crate::ops::embed::{self, EmbedForward};
use crate::ops::factor::FactorForward;
use crate::ops::gather::Dropout;
use crate::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU, LinearForward, keeps_pre};
use crate::ops::norm::{Add, BatchNormForward, BatchNormRunning, BatchNormStats};
use crate::ops::periodic::{self, PeriodicForward};
use crate::ops::pool::{AvgPoolForward, MaxPool2Forward};
use crate::ops::vbll::VbllForward;

pub use crate::base::Act;

impl Act {
    pub fn code(this: Option<Act>) -> u32 {
        match this {
            None => ACT_NONE,
            Some(Act::Relu) => ACT_RELU,
            Some(Act::Silu) => ACT_SILU,
            Some(Act::Mish) => ACT_MISH,
            Some(Act::Selu) => ACT_SELU,
        }
    }
}

/// An activation tensor [replicas, rows, h, w, c]; h = w = 1 for rows of numbers.
#[derive(Debug, Clone, Copy)]
pub struct Tensor {
    pub buf: Buf,
    pub replicas: u32,
    pub rows: u32,
    pub h: u32,
    pub w: u32,
    pub c: u32,
    /// The activation fused into the layer that made it, and what its slope is read from: who takes the gradient of this
    /// tensor multiplies by the slope.
    pub activation: u32,
    pub saved: Buf,
    /// False for the network's inputs, whose gradient is not needed.
    pub has_gradient: bool,
}

impl Tensor {
    /// The inputs of a network.
    pub fn input(buf: Buf, replicas: u32, rows: u32, (h, w, c): (u32, u32, u32)) -> Tensor {
        Tensor { buf, replicas, rows, h, w, c, activation: ACT_NONE, saved: buf, has_gradient: false }
    }
    /// Numbers per row.
    pub fn cols(&self) -> u32 {
        self.h * self.w * self.c
    }
    pub fn len(&self) -> usize {
        self.replicas as usize * self.rows as usize * self.cols() as usize
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The same numbers, each row cut into `parts` rows.
    pub fn cut(self, parts: u32) -> Tensor {
        Tensor { rows: self.rows * parts, h: 1, w: 1, c: self.cols() / parts, ..self }
    }
    /// The same numbers as rows without a shape.
    pub fn flat(self) -> Tensor {
        Tensor { h: 1, w: 1, c: self.cols(), ..self }
    }
}

/// Where a linear layer's weights lie in the flat vector.
#[derive(Debug, Clone, Copy)]
pub struct LinearAt {
    pub n_in: u32,
    pub n_out: u32,
    pub weight: u32,
    pub bias: u32,
}

/// Where the numbers of a periodic embedding of so many inputs lie in the flat vector.
#[derive(Debug, Clone, Copy)]
pub struct PeriodicAt {
    pub embedded: u32,
    pub frequency: u32,
    pub phase: u32,
    pub weight: u32,
    pub bias: u32,
}

/// Where the factors of a row's n numbers lie in the flat vector.
#[derive(Debug, Clone, Copy)]
pub struct FactorAt {
    pub n: u32,
    pub weight: u32,
}

/// An input that holds the numbers of `levels` levels, each of which becomes `width` numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    pub input: u32,
    pub levels: u32,
    pub width: u32,
}

/// Where a variational last layer's numbers lie in the flat vector: mean and log_scale [n_in, k], log_noise [k].
#[derive(Debug, Clone, Copy)]
pub struct VbllAt {
    pub n_in: u32,
    pub k: u32,
    pub mean: u32,
    pub log_scale: u32,
    pub log_noise: u32,
}

/// A convolution's sizes and the place of its weights.
#[derive(Debug, Clone, Copy)]
pub struct ConvAt {
    pub c_out: u32,
    pub kernel: u32,
    pub stride: u32,
    /// Rows above and columns to the left, rows below and columns to the right.
    pub pad_before: u32,
    pub pad_after: u32,
    pub weight: u32,
    pub bias: Option<u32>,
}

/// Where a batch normalisation's numbers lie: gamma and beta in the weights, mean and variance in the running statistics.
#[derive(Debug, Clone, Copy)]
pub struct NormAt {
    pub gamma: u32,
    pub beta: u32,
    pub running: u32,
}

/// What the backward pass must know of a recorded layer.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Of the forward pass: it says what the backward pass is.
    pub op: Op,
    pub inputs: Vec<Tensor>,
    pub y: Tensor,
    /// What the forward pass kept beside its output.
    pub kept: Option<Buf>,
}

#[derive(Debug)]
pub struct Builder {
    pub(super) program: Program,
    pub(super) tape: Vec<Node>,
    /// Flat weights [R, P].
    pub(super) weights: Buf,
    pub(super) replicas: u32,
    pub(super) stride: u32,
    /// Running statistics of batch normalisation [R, Q], and Q.
    running: (Buf, u32),
    /// Rows before this one are data, the others auxiliary.
    data_rows: u32,
    dropouts: u32,
    /// Dropout rates are scaled by the step.
    dropout_by_step: bool,
    norms: u32,
    momentum: f32,
}

/// PyTorch's defaults.
const NORM_EPS: f32 = 1e-5;
const NORM_MOMENTUM: f32 = 0.1;

impl Builder {
    /// `stride` = P.
    pub fn new(replicas: u32, stride: u32) -> Self {
        Builder {
            program: Program::default(),
            tape: vec![],
            weights: Buf(0),
            replicas,
            stride,
            running: (Buf(0), 0),
            data_rows: u32::MAX,
            dropouts: 0,
            dropout_by_step: false,
            norms: 0,
            momentum: NORM_MOMENTUM,
        }
    }

    /// A buffer of scalars.
    pub fn buffer(&mut self, name: &str, len: usize, role: Role) -> Buf {
        self.new_buffer(name, len, role, Element::Scalar)
    }

    /// A buffer of bytes, which the host writes.
    pub fn bytes(&mut self, name: &str, len: usize) -> Buf {
        self.new_buffer(name, len, Role::Input, Element::Bytes)
    }

    /// A buffer that holds these numbers from the start.
    pub fn constant(&mut self, name: &str, values: Vec<f32>) -> Buf {
        let buf = self.buffer(name, values.len(), Role::Input);
        self.program.constants.push((buf, values));
        buf
    }

    fn new_buffer(&mut self, name: &str, len: usize, role: Role, kind: Element) -> Buf {
        self.program.buffers.push(BufferInfo { name: name.into(), len: len.max(1), role, kind });
        Buf(self.program.buffers.len() as u32 - 1)
    }

    pub fn set_weights(&mut self, weights: Buf) {
        self.weights = weights;
    }

    /// Batch normalisation needs its running statistics [R, q] and to know which rows are data.
    pub fn set_running(&mut self, running: Buf, q: u32, data_rows: u32) {
        self.running = (running, q);
        self.data_rows = data_rows;
    }

    /// How far a batch moves the running statistics; 1 = they are the last batch's own.
    pub fn set_momentum(&mut self, momentum: f32) {
        self.momentum = momentum;
    }

    /// From here on dropout rates are multiplied by `StepArgs::dropout`.
    pub fn set_dropout_by_step(&mut self, by_step: bool) {
        self.dropout_by_step = by_step;
    }

    pub fn push(&mut self, op: Op, inputs: &[Buf], outputs: &[Buf]) {
        self.program.steps.push(Step { op, inputs: inputs.to_vec(), outputs: outputs.to_vec() });
    }

    /// Puts a recorded layer onto the tape.
    fn layer(&mut self, op: Op, inputs: &[Tensor], y: Tensor, kept: Option<Buf>) {
        self.tape.push(Node { op, inputs: inputs.to_vec(), y, kept });
    }

    /// A layer's output: a new tensor of this shape.
    fn output(&mut self, name: &str, like: Tensor, (h, w, c): (u32, u32, u32)) -> Tensor {
        let y = Tensor { replicas: self.replicas, h, w, c, activation: ACT_NONE, has_gradient: true, ..like };
        let buf = self.buffer(&format!("{name}.y"), y.len(), Role::Scratch);
        Tensor { buf, saved: buf, ..y }
    }

    /// The pre-activation, kept where the slope needs it.
    fn activated(&mut self, name: &str, y: Tensor, code: u32) -> (Tensor, Buf) {
        let len = if keeps_pre(code) { y.len() } else { 1 };
        let pre = self.buffer(&format!("{name}.pre"), len, Role::Scratch);
        (Tensor { activation: code, saved: if keeps_pre(code) { pre } else { y.buf }, ..y }, pre)
    }

    /// y = act(x W + b).
    pub fn linear(&mut self, name: &str, x: Tensor, at: LinearAt, act: Option<Act>) -> Tensor {
        let code = Act::code(act);
        let y = self.output(name, x, (1, 1, at.n_out));
        let (y, pre) = self.activated(name, y, code);
        let op = LinearForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            rows: x.rows,
            n_in: at.n_in,
            n_out: at.n_out,
            weight: at.weight,
            bias: at.bias,
            stride: self.stride,
            activation: code,
        };
        self.push(Op::LinearForward(op), &[x.buf, self.weights], &[y.buf, pre]);
        self.layer(Op::LinearForward(op), &[x], y, None);
        y
    }

    /// y = (three numbers of each of the inputs `columns`, x): a periodic embedding (ops/periodic.rs).
    pub fn periodic(&mut self, name: &str, x: Tensor, at: PeriodicAt, columns: &[u32]) -> Tensor {
        let n_in = x.cols();
        let y = self.output(name, x, (1, 1, periodic::n_out(n_in, at.embedded)));
        let columns = self.constant(&format!("{name}.columns"), columns.iter().map(|c| *c as f32).collect());
        let op = PeriodicForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            rows: x.rows,
            n_in,
            embedded: at.embedded,
            frequency: at.frequency,
            phase: at.phase,
            weight: at.weight,
            bias: at.bias,
            stride: self.stride,
        };
        self.push(Op::PeriodicForward(op), &[x.buf, self.weights, columns], &[y.buf]);
        self.layer(Op::PeriodicForward(op), &[x], y, Some(columns));
        y
    }

    /// y = a x with a factor for each number of a row; with an activation y = x + a (act(x) - x), which has to make up for the
    /// one that `x` was made without (ops/factor.rs).
    pub fn factor(&mut self, name: &str, x: Tensor, at: FactorAt, act: Option<Act>) -> Tensor {
        assert!(x.activation == ACT_NONE, "a factor takes an input without a fused activation");
        let y = self.output(name, x, (1, 1, at.n));
        let op = FactorForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            rows: x.rows,
            n: at.n,
            weight: at.weight,
            stride: self.stride,
            activation: Act::code(act),
        };
        self.push(Op::FactorForward(op), &[x.buf, self.weights], &[y.buf]);
        self.layer(Op::FactorForward(op), &[x], y, None);
        y
    }

    /// y = (the row of its table for each level of `columns`, which ascend, and the other inputs): an embedding of levels
    /// (ops/embed.rs), whose tables lie one after another from `table` on.
    pub fn embed(&mut self, name: &str, x: Tensor, table: u32, columns: &[Embedded]) -> Tensor {
        let (n_in, embedded) = (x.cols(), columns.len() as u32);
        let width = columns.iter().map(|c| c.width).sum();
        let y = self.output(name, x, (1, 1, embed::n_out(n_in, embedded, width)));
        let values = columns.iter().flat_map(|c| [c.input, c.levels, c.width]).map(|v| v as f32).collect();
        let op = EmbedForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            rows: x.rows,
            n_in,
            embedded,
            width,
            levels: columns.iter().map(|c| c.levels).sum(),
            table,
            length: columns.iter().map(|c| c.levels * c.width).sum(),
            stride: self.stride,
        };
        let columns = self.constant(&format!("{name}.columns"), values);
        self.push(Op::EmbedForward(op), &[x.buf, self.weights, columns], &[y.buf]);
        self.layer(Op::EmbedForward(op), &[x], y, Some(columns));
        y
    }

    /// y = (mean, variance, log noise) of k logits whose weights are Gaussian; 3 k numbers per row (ops/vbll.rs).
    pub fn vbll(&mut self, name: &str, x: Tensor, at: VbllAt) -> Tensor {
        let y = self.output(name, x, (1, 1, 3 * at.k));
        let op = VbllForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            rows: x.rows,
            n_in: at.n_in,
            k: at.k,
            mean: at.mean,
            log_scale: at.log_scale,
            log_noise: at.log_noise,
            stride: self.stride,
        };
        self.push(Op::VbllForward(op), &[x.buf, self.weights], &[y.buf]);
        self.layer(Op::VbllForward(op), &[x], y, None);
        y
    }

    /// y = act(x * W + b).
    pub fn conv2d(&mut self, name: &str, x: Tensor, at: ConvAt, act: Option<Act>) -> Tensor {
        let code = Act::code(act);
        let out = |n: u32| (n + at.pad_before + at.pad_after - at.kernel) / at.stride + 1;
        let y = self.output(name, x, (out(x.h), out(x.w), at.c_out));
        let (y, pre) = self.activated(name, y, code);
        let op = Conv2dForward {
            replicas: self.replicas,
            share: self.replicas / x.replicas,
            batch: x.rows,
            h: x.h,
            w: x.w,
            c_in: x.c,
            out_h: y.h,
            out_w: y.w,
            c_out: at.c_out,
            kernel_h: at.kernel,
            kernel_w: at.kernel,
            stride: at.stride,
            pad_top: at.pad_before,
            pad_left: at.pad_before,
            weight: at.weight,
            bias: at.bias.unwrap_or(0),
            has_bias: u32::from(at.bias.is_some()),
            weights_stride: self.stride,
            activation: code,
        };
        self.push(Op::Conv2dForward(op), &[x.buf, self.weights], &[y.buf, pre]);
        self.layer(Op::Conv2dForward(op), &[x], y, None);
        y
    }

    pub fn max_pool2(&mut self, name: &str, x: Tensor) -> Tensor {
        let y = self.output(name, x, (x.h / 2, x.w / 2, x.c));
        let op = MaxPool2Forward { images: x.replicas * x.rows, h: x.h, w: x.w, c: x.c };
        self.push(Op::MaxPool2Forward(op), &[x.buf], &[y.buf]);
        self.layer(Op::MaxPool2Forward(op), &[x], y, None);
        y
    }

    pub fn avg_pool(&mut self, name: &str, x: Tensor, size: u32) -> Tensor {
        let y = self.output(name, x, (x.h / size, x.w / size, x.c));
        let op = AvgPoolForward { images: x.replicas * x.rows, h: x.h, w: x.w, c: x.c, size };
        self.push(Op::AvgPoolForward(op), &[x.buf], &[y.buf]);
        self.layer(Op::AvgPoolForward(op), &[x], y, None);
        y
    }

    /// y = act(batch norm of x): by the batch's statistics in training, by the running ones otherwise. Its backward pass
    /// sees to the activation itself.
    pub fn batch_norm(&mut self, name: &str, x: Tensor, at: NormAt, act: Option<Act>, training: bool) -> Tensor {
        let y = self.output(name, x, (x.h, x.w, x.c));
        let stats =
            self.buffer(&format!("norm{}.stats", self.norms), 4 * (self.replicas * x.c) as usize, Role::Scratch);
        self.norms += 1;
        let (replicas, c, (running, running_stride)) = (self.replicas, x.c, self.running);
        let (images, pixels, data_images) = (x.rows, x.h * x.w, self.data_rows.min(x.rows));
        if training {
            let op = BatchNormStats {
                replicas,
                images,
                data_images,
                pixels,
                c,
                running: at.running,
                running_stride,
                eps: NORM_EPS,
                momentum: self.momentum,
            };
            self.push(Op::BatchNormStats(op), &[x.buf], &[stats, running]);
        } else {
            let op = BatchNormRunning { replicas, c, running: at.running, running_stride, eps: NORM_EPS };
            self.push(Op::BatchNormRunning(op), &[running], &[stats]);
        }
        let op = BatchNormForward {
            replicas,
            images,
            data_images,
            pixels,
            c,
            gamma: at.gamma,
            beta: at.beta,
            weights_stride: self.stride,
            activation: Act::code(act),
        };
        self.push(Op::BatchNormForward(op), &[x.buf, stats, self.weights], &[y.buf]);
        self.layer(Op::BatchNormForward(op), &[x], y, Some(stats));
        y
    }

    pub fn add(&mut self, name: &str, a: Tensor, b: Tensor) -> Tensor {
        // Their gradients would need different slopes.
        assert!(a.activation == ACT_NONE && b.activation == ACT_NONE, "a sum takes parts without a fused activation");
        let y = self.output(name, a, (a.h, a.w, a.c));
        let op = Op::Add(Add { count: y.len() as u32 });
        self.push(op, &[a.buf, b.buf], &[y.buf]);
        self.layer(op, &[a, b], y, None);
        y
    }

    /// Dropout after an activation; recorded only where `rate` > 0. It commutes with the slope of the activation before it.
    /// `training`: every row has a mask of its own; else all rows of a pass see the same thinned network.
    pub fn dropout(&mut self, x: Tensor, rate: f32, first_replica: u32, training: bool) -> Tensor {
        if rate <= 0.0 {
            return x;
        }
        let count = x.rows * x.cols();
        let buf = self.buffer(&format!("dropout{}.y", self.dropouts), x.len(), Role::Scratch);
        let stream = Stream::Dropout as u32 + self.dropouts;
        let period = if training { count } else { x.cols() };
        let by_step = u32::from(self.dropout_by_step);
        let op = Dropout { replicas: x.replicas, count, period, stream, first_replica, rate, by_step };
        self.dropouts += 1;
        self.push(Op::Dropout(op), &[x.buf], &[buf]);
        let y = Tensor { buf, ..x };
        self.layer(Op::Dropout(op), &[x], y, None);
        y
    }

    /// The inputs of the layer recorded last: a network's features.
    pub fn last_input(&self) -> Tensor {
        self.tape.last().expect("a layer was recorded").inputs[0]
    }

    /// Marks a recorded buffer as one that the host reads.
    pub fn keep(&mut self, buf: Buf) {
        self.program.buffers[buf.0 as usize].role = Role::Output;
    }

    /// The program, with what can be joined in one op.
    pub fn finish(mut self) -> crate::error::Result<Program> {
        super::fuse::fuse(&mut self.program);
        self.finish_as_recorded()
    }

    /// The program op by op, as it was recorded.
    pub fn finish_as_recorded(self) -> crate::error::Result<Program> {
        super::check::check(&self.program)?;
        Ok(self.program)
    }
}
