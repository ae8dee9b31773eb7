//! The networks of a prediction as nodes: walks over the program that `ModelSpec::record_layers` records, so that a layer is
//! told once for training, prediction and export. What does not depend on a row, drawn weights and batch normalisation's
//! statistics, comes from one run of that program on the CPU and is to the bit what `predict` takes.
//!
//! Rows of numbers are [n, cols] where all replicas share them, else [R, n, cols]; images are [n, channels, h, w] with the
//! replicas' channels one after another, so that a convolution of all replicas is one grouped convolution.

use super::graph::{Graph, Val, int, ints};
use super::proto::Element;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::{ModelSpec, PredictProgram, Trained};
use crate::ops::conv::Conv2dForward;
use crate::ops::embed::{EmbedForward, OF_COLUMN};
use crate::ops::factor::FactorForward;
use crate::ops::gather::{Dropout, dropout};
use crate::ops::linear::{ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU, LinearForward, SELU_LOW, SELU_SCALE};
use crate::ops::norm::BatchNormForward;
use crate::ops::periodic::{MADE, PeriodicForward, WAVES};
use crate::ops::vbll::VbllForward;
use crate::ops::{Op, StepArgs};
use crate::program::{Buf, Role, Step};
use std::collections::HashMap;

/// What the networks say of the rows.
pub struct Networks {
    /// [R, n, n_out].
    pub outputs: Val,
    /// The inputs of the last layer, where the method asks for them: [R, n, width], or [n, width] where it is the only one.
    pub features: Option<Val>,
}

/// Rows or images on their way through the layers.
#[derive(Clone)]
struct Flow {
    val: Val,
    /// No replica has touched it: there is one for all.
    shared: bool,
    /// (h, w, c) of images.
    image: Option<(usize, usize, usize)>,
}

struct Walk<'a> {
    g: &'a mut Graph,
    replicas: usize,
    seed: u32,
    flows: HashMap<Buf, Flow>,
    /// Of buffers that do not depend on the rows.
    known: HashMap<Buf, Vec<f32>>,
}

/// `x`: rows [n, d], or images [n, c, h, w] where the run is on images.
pub fn networks(g: &mut Graph, x: Val, setup: &ModelSpec, trained: &Trained, seed: u32) -> Result<Networks> {
    if setup.sets().1 > 1 {
        return Err(bug("several data sets"));
    }
    let recorded = setup.record_layers(1)?;
    let known = host_values(&recorded, setup, trained, seed)?;
    let image = setup.image.map(|i| (i.size.0 as usize, i.size.1 as usize, i.size.2 as usize));
    let input = Flow { val: x, shared: true, image };
    let replicas = recorded.replicas as usize;
    let mut walk = Walk { g, replicas, seed, flows: HashMap::from([(recorded.x, input)]), known };
    walk.known.extend(recorded.program.constants.iter().cloned());
    for step in &recorded.program.steps {
        walk.step(step)?;
    }
    let outputs = walk.rows(recorded.outputs)?.val;
    let features = match recorded.features {
        Some(f) => Some(walk.rows(f.buf)?.val),
        None => None,
    };
    Ok(Networks { outputs, features })
}

/// Part 0 of the first axis, which falls away.
fn first_of(g: &mut Graph, a: &Val) -> Val {
    let first = g.whole(0);
    g.node_with("Gather", &[a, &first], vec![int("axis", 0)])
}

fn bug(what: &str) -> Error {
    Error::run("export", format!("{what} in a prediction"), "this is a bug of vifo: please report it")
}

/// Runs the program once: the weights that its layers read, and the statistics of batch normalisation.
fn host_values(p: &PredictProgram, setup: &ModelSpec, trained: &Trained, seed: u32) -> Result<HashMap<Buf, Vec<f32>>> {
    let mut program = p.program.clone();
    let mut wanted: Vec<Buf> = vec![];
    for step in &program.steps {
        match step.op {
            Op::LinearForward(_)
            | Op::Conv2dForward(_)
            | Op::VbllForward(_)
            | Op::PeriodicForward(_)
            | Op::FactorForward(_)
            | Op::EmbedForward(_) => {
                wanted.push(step.inputs[1]);
            }
            Op::BatchNormForward(_) => wanted.extend([step.inputs[1], step.inputs[2]]),
            _ => {}
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    for buf in &wanted {
        let info = &mut program.buffers[buf.0 as usize];
        if info.role == Role::Scratch {
            info.role = Role::Output;
        }
    }
    let mut exec = Device::Cpu.executor(program)?;
    exec.write(p.weights, &trained.weights)?;
    for (name, buf) in &p.posterior {
        let values = trained.posterior(name).ok_or_else(|| unfinished(name))?;
        exec.write(*buf, &values.values)?;
    }
    if let Some(running) = p.running {
        exec.write(running, &setup.predict_running(&trained.running))?;
    }
    let n_samples = setup.method.n_samples(trained);
    exec.run(&[StepArgs { seed, n_samples, ..Default::default() }])?;
    wanted.into_iter().map(|buf| Ok((buf, exec.read(buf)?))).collect()
}

/// Training has not come to the end that the method predicts from.
pub fn unfinished(what: &str) -> Error {
    Error::run(
        "checkpoint",
        format!("holds no {what}: training has not come to its end"),
        "finish it with `vifo fit --resume RUN`",
    )
}

impl Walk<'_> {
    fn step(&mut self, step: &Step) -> Result<()> {
        let (inputs, to) = (&step.inputs, step.outputs[0]);
        let flow = match step.op {
            // What these give stands among the known.
            Op::ViSample(_) | Op::SwagSample(_) | Op::RepeatWeights(_) | Op::BatchNormRunning(_) => return Ok(()),
            Op::LinearForward(p) => self.linear(&p, inputs[0], inputs[1])?,
            Op::VbllForward(p) => self.vbll(&p, inputs[0], inputs[1])?,
            Op::PeriodicForward(p) => self.periodic(&p, inputs[0], inputs[1], inputs[2])?,
            Op::FactorForward(p) => self.factor(&p, inputs[0], inputs[1])?,
            Op::EmbedForward(p) => self.embed(&p, inputs[0], inputs[1], inputs[2])?,
            Op::Conv2dForward(p) => self.conv(&p, inputs[0], inputs[1])?,
            Op::MaxPool2Forward(p) => {
                let x = self.image(inputs[0])?;
                let kernel = vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])];
                let size = (p.h as usize / 2, p.w as usize / 2, p.c as usize);
                Flow { val: self.g.node_with("MaxPool", &[&x.val], kernel), image: Some(size), ..x }
            }
            Op::AvgPoolForward(p) => {
                let x = self.image(inputs[0])?;
                let side = i64::from(p.size);
                let kernel = vec![ints("kernel_shape", &[side, side]), ints("strides", &[side, side])];
                let size = ((p.h / p.size) as usize, (p.w / p.size) as usize, p.c as usize);
                Flow { val: self.g.node_with("AveragePool", &[&x.val], kernel), image: Some(size), ..x }
            }
            Op::BatchNormForward(p) => self.batch_norm(&p, inputs[0], inputs[1], inputs[2])?,
            Op::Add(_) => {
                let (a, b) = (self.flow(inputs[0])?, self.flow(inputs[1])?);
                Flow { val: self.g.add(&a.val, &b.val), ..a }
            }
            Op::Dropout(p) => self.dropout(&p, inputs[0])?,
            op => return Err(bug(&format!("the operator {}", op.name()))),
        };
        self.flows.insert(to, flow);
        Ok(())
    }

    fn flow(&self, buf: Buf) -> Result<Flow> {
        self.flows.get(&buf).cloned().ok_or_else(|| bug("a value that no step gives"))
    }

    fn image(&self, buf: Buf) -> Result<Flow> {
        let flow = self.flow(buf)?;
        if flow.image.is_some() { Ok(flow) } else { Err(bug("rows of numbers for a layer of images")) }
    }

    /// Images as rows of pixels, channels last.
    fn rows(&mut self, buf: Buf) -> Result<Flow> {
        let flow = self.flow(buf)?;
        let Some((h, w, c)) = flow.image else { return Ok(flow) };
        let cols = (h * w * c) as i64;
        let val = if flow.shared {
            let last = self.g.transpose(&flow.val, &[0, 2, 3, 1]);
            self.g.reshape(&last, &[0, cols])
        } else {
            let [r, c, h, w] = [self.replicas, c, h, w].map(|v| v as i64);
            let apart = self.g.reshape(&flow.val, &[0, r, c, h, w]);
            let last = self.g.transpose(&apart, &[1, 0, 3, 4, 2]);
            self.g.reshape(&last, &[0, 0, cols])
        };
        Ok(Flow { val, image: None, ..flow })
    }

    /// Numbers `at .. at + len` of each replica's `stride` numbers.
    fn slices(&self, buf: Buf, stride: u32, at: u32, len: usize) -> Result<Vec<&[f32]>> {
        let all = self.known.get(&buf).ok_or_else(|| bug("weights that depend on the rows"))?;
        let (stride, at) = (stride as usize, at as usize);
        let of = |r: usize| all.get(r * stride + at..r * stride + at + len).ok_or_else(|| bug("missing weights"));
        (0..self.replicas).map(of).collect()
    }

    fn gathered(&self, buf: Buf, stride: u32, at: u32, len: usize) -> Result<Vec<f32>> {
        Ok(self.slices(buf, stride, at, len)?.concat())
    }

    fn activated(&mut self, val: Val, code: u32) -> Val {
        match code {
            ACT_NONE => val,
            ACT_RELU => self.g.node("Relu", &[&val]),
            ACT_SILU => {
                let gate = self.g.node("Sigmoid", &[&val]);
                self.g.mul(&val, &gate)
            }
            ACT_SELU => {
                let above = self.g.node("Relu", &[&val]);
                let below = self.g.clamp(&val, -200.0, 0.0);
                let below = self.g.exp(&below);
                let (above, below) =
                    (self.g.affine(&above, SELU_SCALE, 0.0), self.g.affine(&below, SELU_LOW, -SELU_LOW));
                self.g.add(&above, &below)
            }
            _ => {
                // tanh(log(1 + e^z)) = w / (w + 2), w = e^z (e^z + 2): 1 from z = 20 on, where e^z must not overflow.
                let far = self.g.clamp(&val, -200.0, 20.0);
                let e = self.g.exp(&far);
                let more = self.g.affine(&e, 1.0, 2.0);
                let w = self.g.mul(&e, &more);
                let below = self.g.affine(&w, 1.0, 2.0);
                let gate = self.g.div(&w, &below);
                self.g.mul(&val, &gate)
            }
        }
    }

    fn linear(&mut self, p: &LinearForward, x: Buf, weights: Buf) -> Result<Flow> {
        let x = self.rows(x)?;
        let (n_in, n_out) = (p.n_in as usize, p.n_out as usize);
        let w = self.gathered(weights, p.stride, p.weight, n_in * n_out)?;
        let b = self.gathered(weights, p.stride, p.bias, n_out)?;
        let w = self.g.floats(&[self.replicas, n_in, n_out], &w);
        let b = self.g.floats(&[self.replicas, 1, n_out], &b);
        let product = self.g.node("MatMul", &[&x.val, &w]);
        let sum = self.g.add(&product, &b);
        Ok(Flow { val: self.activated(sum, p.activation), shared: false, image: None })
    }

    /// a x, or x + a (act(x) - x): [R, n, cols].
    fn factor(&mut self, p: &FactorForward, x: Buf, weights: Buf) -> Result<Flow> {
        let x = self.rows(x)?;
        let a = self.gathered(weights, p.stride, p.weight, p.n as usize)?;
        let a = self.g.floats(&[self.replicas, 1, p.n as usize], &a);
        let val = match p.activation {
            ACT_NONE => self.g.mul(&x.val, &a),
            code => {
                let acted = self.activated(x.val.clone(), code);
                let more = self.g.sub(&acted, &x.val);
                let more = self.g.mul(&more, &a);
                self.g.add(&x.val, &more)
            }
        };
        Ok(Flow { val, shared: false, image: None })
    }

    /// (numbers made of the embedded inputs, all inputs) [R, n, 3 d + n_in].
    fn periodic(&mut self, p: &PeriodicForward, x: Buf, weights: Buf, columns: Buf) -> Result<Flow> {
        let x = self.rows(x)?;
        if !x.shared {
            return Err(bug("an embedding behind another layer"));
        }
        let (r, d, n_in) = (self.replicas, p.embedded as usize, p.n_in as usize);
        let (waves, made) = (WAVES as usize, MADE as usize);
        let columns = self.known.get(&columns).ok_or_else(|| bug("an embedding of no inputs"))?;
        let columns: Vec<i64> = columns.iter().map(|c| *c as i64).collect();
        let mut frequency = self.gathered(weights, p.stride, p.frequency, d * waves)?;
        frequency.iter_mut().for_each(|f| *f = (std::f64::consts::TAU * f64::from(*f)) as f32);
        let phase = self.gathered(weights, p.stride, p.phase, d * waves)?;
        // [d, made, waves] -> [d, waves, made].
        let of = self.gathered(weights, p.stride, p.weight, d * made * waves)?;
        let turned = |i: usize| of[i / (waves * made) * waves * made + i % made * waves + i / made % waves];
        let weight: Vec<f32> = (0..of.len()).map(turned).collect();
        let bias = self.gathered(weights, p.stride, p.bias, d * made)?;
        let g = &mut *self.g;
        let [frequency, phase] = [frequency, phase].map(|v| g.floats(&[r, d, 1, waves], &v));
        let (weight, bias) = (g.floats(&[r, d, waves, made], &weight), g.floats(&[r, d, 1, made], &bias));
        // [n, n_in] -> [d, n, 1].
        let turned = g.transpose(&x.val, &[1, 0]);
        let columns = g.ints(&columns);
        let numbers = g.node("Gather", &[&turned, &columns]);
        let numbers = g.unsqueeze(&numbers, 2);
        let angle = g.mul(&numbers, &frequency);
        let angle = g.add(&angle, &phase);
        let cosines = g.node("Cos", &[&angle]);
        let product = g.node("MatMul", &[&cosines, &weight]);
        let sum = g.add(&product, &bias);
        let by_row = g.transpose(&sum, &[0, 2, 1, 3]);
        let embedded = g.reshape(&by_row, &[0, 0, (d * made) as i64]);
        // A copy of the inputs for each replica.
        let zeros = g.floats(&[r, 1, n_in], &vec![0.0; r * n_in]);
        let all = g.add(&x.val, &zeros);
        Ok(Flow { val: g.concat(&[embedded, all], -1), shared: false, image: None })
    }

    /// (rows of the tables, the other inputs) [R, n, width + n_in - embedded].
    fn embed(&mut self, p: &EmbedForward, x: Buf, weights: Buf, columns: Buf) -> Result<Flow> {
        let x = self.rows(x)?;
        let columns = self.known.get(&columns).ok_or_else(|| bug("an embedding of no inputs"))?;
        let columns: Vec<[usize; 3]> =
            columns.chunks_exact(OF_COLUMN as usize).map(|c| [0, 1, 2].map(|i| c[i] as usize)).collect();
        let mut at = p.table;
        let mut parts = vec![];
        for &[input, levels, width] in &columns {
            // Behind the levels a row of zeros, for what is none of them.
            let mut table = vec![];
            for of in self.slices(weights, p.stride, at, levels * width)? {
                table.extend_from_slice(of);
                table.resize(table.len() + width, 0.0);
            }
            at += (levels * width) as u32;
            let g = &mut *self.g;
            let table = g.floats(&[self.replicas, levels + 1, width], &table);
            // All replicas hold the same number.
            let number = if x.shared { x.val.clone() } else { first_of(g, &x.val) };
            let number = g.pick(&number, input);
            let number = g.clamp(&number, 0.0, levels as f64);
            let number = g.cast(&number, Element::Int64);
            parts.push(g.node_with("Gather", &[&table, &number], vec![int("axis", 1)]));
        }
        let (r, n_in) = (self.replicas, p.n_in as usize);
        let others: Vec<i64> = (0..n_in).filter(|i| columns.iter().all(|c| c[0] != *i)).map(|i| i as i64).collect();
        let g = &mut *self.g;
        if !others.is_empty() {
            let places = g.ints(&others);
            let rest = g.node_with("Gather", &[&x.val, &places], vec![int("axis", -1)]);
            let zeros = g.floats(&[r, 1, others.len()], &vec![0.0; r * others.len()]);
            parts.push(g.add(&rest, &zeros));
        }
        Ok(Flow { val: g.concat(&parts, -1), shared: false, image: None })
    }

    /// (means, variances, log noise) [R, n, 3 k].
    fn vbll(&mut self, p: &VbllForward, x: Buf, weights: Buf) -> Result<Flow> {
        let x = self.rows(x)?;
        let (n_in, k) = (p.n_in as usize, p.k as usize);
        let mean = self.gathered(weights, p.stride, p.mean, n_in * k)?;
        let scale = self.gathered(weights, p.stride, p.log_scale, n_in * k)?;
        let noise = self.gathered(weights, p.stride, p.log_noise, k)?;
        let variance: Vec<f32> = scale.iter().map(|s| libm::exp(2.0 * f64::from(*s)) as f32).collect();
        let mean = self.g.floats(&[self.replicas, n_in, k], &mean);
        let variance = self.g.floats(&[self.replicas, n_in, k], &variance);
        let noise = self.g.floats(&[self.replicas, 1, k], &noise);
        let m = self.g.node("MatMul", &[&x.val, &mean]);
        let squares = self.g.square(&x.val);
        let v = self.g.node("MatMul", &[&squares, &variance]);
        let shape = self.g.node("Shape", &[&m]);
        let noise = self.g.node("Expand", &[&noise, &shape]);
        Ok(Flow { val: self.g.concat(&[m, v, noise], -1), shared: false, image: None })
    }

    fn conv(&mut self, p: &Conv2dForward, x: Buf, weights: Buf) -> Result<Flow> {
        let x = self.image(x)?;
        let [c_in, c_out, kh, kw] = [p.c_in, p.c_out, p.kernel_h, p.kernel_w].map(|v| v as usize);
        let taps = kh * kw;
        let mut w = Vec::with_capacity(self.replicas * taps * c_in * c_out);
        // [kernel_h, kernel_w, c_in, c_out] -> [c_out, c_in, kernel_h, kernel_w].
        for of in self.slices(weights, p.weights_stride, p.weight, taps * c_in * c_out)? {
            for o in 0..c_out {
                for i in 0..c_in {
                    w.extend((0..taps).map(|t| of[(t * c_in + i) * c_out + o]));
                }
            }
        }
        let w = self.g.floats(&[self.replicas * c_out, c_in, kh, kw], &w);
        let bias = match p.has_bias {
            0 => None,
            _ => {
                let b = self.gathered(weights, p.weights_stride, p.bias, c_out)?;
                Some(self.g.floats(&[self.replicas * c_out], &b))
            }
        };
        // What the recorded size leaves below and on the right.
        let after = |out: u32, kernel: u32, size: u32, before: u32| {
            i64::from((out - 1) * p.stride + kernel) - i64::from(size + before)
        };
        let (below, right) = (after(p.out_h, p.kernel_h, p.h, p.pad_top), after(p.out_w, p.kernel_w, p.w, p.pad_left));
        let (top, left) = (i64::from(p.pad_top), i64::from(p.pad_left));
        let attributes = vec![
            ints("kernel_shape", &[kh as i64, kw as i64]),
            ints("strides", &[i64::from(p.stride); 2]),
            ints("pads", &[top, left, below.max(0), right.max(0)]),
            int("group", if x.shared { 1 } else { self.replicas as i64 }),
        ];
        let inputs: Vec<&Val> = [&x.val, &w].into_iter().chain(&bias).collect();
        let y = self.g.node_with("Conv", &inputs, attributes);
        let image = Some((p.out_h as usize, p.out_w as usize, c_out));
        Ok(Flow { val: self.activated(y, p.activation), shared: false, image })
    }

    fn batch_norm(&mut self, p: &BatchNormForward, x: Buf, stats: Buf, weights: Buf) -> Result<Flow> {
        let (x, c) = (self.image(x)?, p.c as usize);
        // Of both groups of rows the first: [R, 2, 2, c].
        let stats = self.slices(stats, 4 * p.c, 0, 2 * c)?;
        let gamma = self.slices(weights, p.weights_stride, p.gamma, c)?;
        let beta = self.gathered(weights, p.weights_stride, p.beta, c)?;
        let mean: Vec<f32> = stats.iter().flat_map(|s| s[..c].iter().copied()).collect();
        let scale: Vec<f32> =
            stats.iter().zip(gamma).flat_map(|(s, g)| s[c..].iter().zip(g).map(|(s, g)| s * g)).collect();
        let shape = [1, self.replicas * c, 1, 1];
        let [mean, scale, beta] = [mean, scale, beta].map(|v| self.g.floats(&shape, &v));
        let centred = self.g.sub(&x.val, &mean);
        let scaled = self.g.mul(&centred, &scale);
        let y = self.g.add(&scaled, &beta);
        Ok(Flow { val: self.activated(y, p.activation), ..x })
    }

    /// The masks of Monte Carlo dropout, which all rows of a pass share.
    fn dropout(&mut self, p: &Dropout, x: Buf) -> Result<Flow> {
        let x = self.flow(x)?;
        let (cols, replicas) = (p.period as usize, p.replicas as usize);
        if x.shared || replicas != self.replicas || p.count != p.period {
            return Err(bug("masks that change from row to row"));
        }
        let mut mask = vec![0f32; replicas * cols];
        let args = StepArgs { seed: self.seed, ..Default::default() };
        dropout(p, &args, &vec![1f32; mask.len()], &mut mask);
        let mask = match x.image {
            None => self.g.floats(&[replicas, 1, cols], &mask),
            Some((h, w, c)) => {
                let at = |i: usize| {
                    let (r, rest) = (i / cols, i % cols);
                    let (channel, pixel) = (rest / (h * w), rest % (h * w));
                    mask[r * cols + pixel * c + channel]
                };
                let planes: Vec<f32> = (0..mask.len()).map(at).collect();
                self.g.floats(&[1, replicas * c, h, w], &planes)
            }
        };
        Ok(Flow { val: self.g.mul(&x.val, &mask), ..x })
    }
}
