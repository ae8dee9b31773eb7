//! Methods: how a network is trained and what its outputs mean. One file a method; each records its loss and says how to
//! predict. `Setup` is all that a recording depends on, so the same setup gives the same program.

pub mod base;
pub mod predictive;
pub mod regularizer;
pub mod trained;
pub mod vi;
pub mod vifo;

pub use predictive::Predictive;
pub use regularizer::Reg;
pub use trained::{Named, Trained};

use crate::base::rng::Stream;
use crate::config::{AuxSource, Link, Optimizer};
use crate::data::Task;
use crate::error::Result;
use crate::net::{Layout, Net};
use crate::ops::Op;
use crate::ops::gather::{AuxInputs, GatherRows};
use crate::ops::head::{LIKELIHOOD_GAUSSIAN, LIKELIHOOD_SOFTMAX, NOISE_EXP, NOISE_SOFTPLUS};
use crate::ops::images::{GatherImages, SHARDS, shards};
use crate::ops::optimizer::{Adam, L2Gradient, Sgd};
use crate::ops::reduce::{LossReduce, SUM_WORDS, SumSquares};
use crate::ops::regularizer::{SIGMA_EXP, SIGMA_SOFTPLUS};
use crate::ops::vi::ViSample;
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Program, Role};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Base,
    Vifo(Reg),
    Vi(Reg),
}

impl Kind {
    pub fn parse(name: &str) -> Option<Kind> {
        match name.split_once('-') {
            None => (name == "base").then_some(Kind::Base),
            Some(("vifo", reg)) => Reg::parse(reg).map(Kind::Vifo),
            Some(("vi", reg)) => Reg::parse(reg).map(Kind::Vi),
            _ => None,
        }
    }
}

/// How bytes become a network's inputs, and how training images are varied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageInput {
    /// (h, w, c) of an image.
    pub size: (u32, u32, u32),
    /// Largest shift in pixels.
    pub crop: u32,
    /// Mirrored with probability one half.
    pub flip: bool,
    /// Per channel, in units where 255 is 1.
    pub mean: [f32; 3],
    pub inv_sd: [f32; 3],
}

/// Everything a recording depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    pub kind: Kind,
    pub task: Task,
    /// Dimension of z: classes, or 2.
    pub k: u32,
    pub noise_link: Link,
    pub sigma_link: Link,
    /// Closed form of the expectation instead of samples.
    pub exact: bool,
    /// Weight samples of a VI step; the head's M is live, in `StepArgs`.
    pub samples: u32,
    pub predict_samples: u32,
    pub members: u32,
    /// Number of this part's first member in the whole ensemble.
    pub first_member: u32,
    pub groups_by_layer: bool,
    pub net: Net,
    /// The inputs are images, kept as bytes.
    pub image: Option<ImageInput>,
    pub optimizer: Optimizer,
    pub momentum: f32,
    pub clip: bool,
    /// N, training rows.
    pub n_rows: u32,
    pub batch: u32,
    /// Auxiliary inputs, one a row of the batch.
    pub aux: Option<AuxSource>,
}

/// Where the host puts the training inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DataX {
    /// [n, d].
    Rows(Buf),
    /// Bytes [n, h, w, c], `shard_rows` images a buffer.
    Images { shards: [Buf; SHARDS], shard_rows: u32 },
}

/// A recorded training step and the buffers through which the host talks to it.
pub struct TrainProgram {
    pub program: Program,
    pub data_x: DataX,
    pub data_y: Buf,
    pub aux_range: Option<(Buf, Buf)>,
    /// Flat weights [E, P], or (mu, rho) [E, 2P] for VI.
    pub weights: Buf,
    /// Optimizer state by its name in checkpoints, each as long as `weights`.
    pub optimizer: Vec<(&'static str, Buf)>,
    pub sums: Buf,
    /// Running statistics of batch normalisation [R, Q], where the network has any.
    pub running: Option<Buf>,
}

/// A recorded forward pass over `rows` rows.
pub struct PredictProgram {
    pub program: Program,
    pub x: Buf,
    pub weights: Buf,
    pub running: Option<Buf>,
    /// [replicas, rows, n_out].
    pub outputs: Buf,
    pub replicas: u32,
    pub rows: u32,
}

impl Setup {
    pub fn layout(&self) -> Layout {
        self.net.layout()
    }
    /// Trained numbers of one member.
    pub fn member_len(&self) -> usize {
        let n = self.layout().total;
        if self.is_vi() { 2 * n } else { n }
    }
    /// Running statistics of one member in training: VI keeps those of each weight sample.
    pub fn running_len(&self) -> usize {
        self.layout().running * if self.is_vi() { self.samples as usize } else { 1 }
    }
    /// Running statistics at the start: mean 0, variance 1.
    pub fn initial_running(&self) -> Vec<f32> {
        let layout = self.layout();
        let mut one = vec![0.0; layout.running];
        for (_, c, at) in &layout.norms {
            one[at + c..at + 2 * c].fill(1.0);
        }
        let copies = self.members as usize * if self.is_vi() { self.samples as usize } else { 1 };
        one.repeat(copies)
    }
    /// What the replicas of a prediction take: a member's statistics, averaged over its weight samples.
    pub fn predict_running(&self, running: &[f32]) -> Vec<f32> {
        let q = self.layout().running;
        if !self.is_vi() || q == 0 {
            return running.to_vec();
        }
        let samples = self.samples as usize;
        let mean = |member: &[f32]| -> Vec<f32> {
            (0..q).map(|i| member.iter().skip(i).step_by(q).sum::<f32>() / samples as f32).collect()
        };
        running.chunks(q * samples).flat_map(|m| mean(m).repeat(self.predict_samples as usize)).collect()
    }
    pub fn is_vi(&self) -> bool {
        matches!(self.kind, Kind::Vi(_))
    }
    pub fn full_batch(&self) -> bool {
        self.batch >= self.n_rows
    }
    pub fn batch_rows(&self) -> u32 {
        self.batch.min(self.n_rows)
    }
    /// Outputs of the network: VIFO doubles the last layer.
    pub fn n_out(kind: Kind, k: u32) -> u32 {
        if matches!(kind, Kind::Vifo(_)) { 2 * k } else { k }
    }
    pub(crate) fn noise_code(&self) -> u32 {
        if self.noise_link == Link::Exp { NOISE_EXP } else { NOISE_SOFTPLUS }
    }
    fn sigma_code(&self) -> u32 {
        if self.sigma_link == Link::Exp { SIGMA_EXP } else { SIGMA_SOFTPLUS }
    }
    fn likelihood_code(&self) -> u32 {
        if self.task == Task::Classification { LIKELIHOOD_SOFTMAX } else { LIKELIHOOD_GAUSSIAN }
    }
    /// This setup for members `first .. first + count` only.
    pub fn part(&self, first: u32, count: u32) -> Setup {
        Setup { first_member: self.first_member + first, members: count, ..self.clone() }
    }

    /// Records one training step: gather, forward, head, backward, optimizer. `max_bytes` = largest buffer of bytes that
    /// the device can bind.
    pub fn record_training(&self, max_bytes: u64) -> Result<TrainProgram> {
        let p = self.layout().total as u32;
        let samples = if self.is_vi() { self.samples } else { 1 };
        let replicas = self.members * samples;
        let mut b = Builder::new(replicas, p);
        let (n, d, batch) = (self.n_rows, self.net.n_in(), self.batch_rows());
        let data_x = match self.image {
            None => DataX::Rows(b.buffer("data.x", (n * d) as usize, Role::Input)),
            Some(_) => {
                let shard_rows = shards(n, d, max_bytes)?;
                let shards = std::array::from_fn(|s| {
                    let rows = n.saturating_sub(s as u32 * shard_rows).min(shard_rows);
                    b.bytes(&format!("data.images{s}"), rows as usize * d as usize)
                });
                DataX::Images { shards, shard_rows }
            }
        };
        let data_y = b.buffer("data.y", n as usize, Role::Input);
        let weights = b.buffer("weights", self.members as usize * self.member_len(), Role::State);
        let sums = b.buffer("sums", self.members as usize * SUM_WORDS, Role::State);

        // A full batch of a table needs no order, so all members read the data in place; images are varied for each.
        let aux_rows = if self.aux.is_some() { batch } else { 0 };
        let rows = batch + aux_rows;
        let shuffle = u32::from(!self.full_batch());
        let gather = GatherRows {
            replicas: self.members,
            n_rows: n,
            cols: d,
            batch,
            out_rows: rows,
            shuffle,
            first_member: self.first_member,
        };
        let own = |b: &mut Builder| b.buffer("x", (self.members * rows * d) as usize, Role::Scratch);
        let (x, x_replicas) = match (data_x, self.image) {
            (DataX::Images { shards, shard_rows }, Some(image)) => {
                let x = own(&mut b);
                let (h, w, c) = image.size;
                let op = GatherImages {
                    replicas: self.members,
                    n_rows: n,
                    shard_rows,
                    h,
                    w,
                    c,
                    batch,
                    out_rows: rows,
                    shuffle,
                    first_member: self.first_member,
                    crop: image.crop,
                    flip: u32::from(image.flip),
                    mean0: image.mean[0],
                    mean1: image.mean[1],
                    mean2: image.mean[2],
                    inv_sd0: image.inv_sd[0],
                    inv_sd1: image.inv_sd[1],
                    inv_sd2: image.inv_sd[2],
                };
                b.push(Op::GatherImages(op), &shards, &[x]);
                (x, self.members)
            }
            (DataX::Rows(data), _) if !self.full_batch() || self.aux.is_some() => {
                let x = own(&mut b);
                b.push(Op::GatherRows(gather), &[data], &[x]);
                (x, self.members)
            }
            (DataX::Rows(data), _) => (data, 1),
            (DataX::Images { shards, .. }, None) => (shards[0], 1),
        };
        let x = Tensor::input(x, x_replicas, rows, self.net.input());
        let (y, y_replicas) = if self.full_batch() {
            (data_y, 1)
        } else {
            let y = b.buffer("y", (self.members * batch) as usize, Role::Scratch);
            b.push(Op::GatherRows(GatherRows { cols: 1, out_rows: batch, ..gather }), &[data_y], &[y]);
            (y, self.members)
        };
        let aux_range = self.aux.map(|source| {
            let low = b.buffer("aux.low", d as usize, Role::Input);
            let high = b.buffer("aux.high", d as usize, Role::Input);
            let op = AuxInputs {
                replicas: self.members,
                cols: d,
                count: aux_rows,
                first_row: batch,
                out_rows: rows,
                grid: u32::from(source == AuxSource::Grid),
                first_member: self.first_member,
            };
            b.push(Op::AuxInputs(op), &[low, high], &[x.buf]);
            (low, high)
        });

        if self.is_vi() {
            let w = vi::record_sample(self, &mut b, weights, Stream::Weights);
            b.set_weights(w);
        } else {
            b.set_weights(weights);
        }
        let q = self.layout().running;
        let running = (q > 0).then(|| {
            let running = b.buffer("running", replicas as usize * q, Role::State);
            b.set_running(running, q as u32, batch);
            running
        });
        let first_replica = self.first_member * samples;
        let outputs = self.net.record(&mut b, x, true, first_replica);
        let share_y = replicas / y_replicas;
        let (terms, dout) = match self.kind {
            Kind::Vifo(reg) => vifo::record_head(self, &mut b, reg, outputs, y, share_y, batch),
            Kind::Base | Kind::Vi(_) => base::record_head(self, &mut b, outputs, y, share_y),
        };
        let dweights = b.backward(outputs, dout);

        // What is regularized outside the outputs: the weights' own distribution, or their squares.
        let (grad, extra) = match self.kind {
            Kind::Vi(reg) => {
                let (dq, value) = vi::record_gradient(self, &mut b, reg, weights, dweights);
                (dq, Some(value))
            }
            Kind::Vifo(Reg::L2) => {
                let count = self.members * p;
                b.push(Op::L2Gradient(L2Gradient { count, scale: 1.0 / n as f32 }), &[weights], &[dweights]);
                let value = b.buffer("l2", self.members as usize, Role::Scratch);
                b.push(Op::SumSquares(SumSquares { replicas: self.members, count: p }), &[weights], &[value]);
                (dweights, Some(value))
            }
            _ => (dweights, None),
        };
        let none = b.buffer("none", 1, Role::Input);
        let reduce = LossReduce {
            members: self.members,
            samples,
            rows,
            data_rows: batch,
            has_extra: u32::from(extra.is_some()),
            extra_scale: 1.0 / n as f32,
        };
        b.push(Op::LossReduce(reduce), &[terms, extra.unwrap_or(none)], &[sums]);
        let optimizer = self.record_optimizer(&mut b, grad, weights, none);
        Ok(TrainProgram { program: b.finish()?, data_x, data_y, aux_range, weights, optimizer, sums, running })
    }

    fn record_optimizer(&self, b: &mut Builder, grad: Buf, weights: Buf, none: Buf) -> Vec<(&'static str, Buf)> {
        let (replicas, count) = (self.members, self.member_len() as u32);
        let norm = if self.clip {
            let norm = b.buffer("norm", replicas as usize, Role::Scratch);
            b.push(Op::SumSquares(SumSquares { replicas, count }), &[grad], &[norm]);
            norm
        } else {
            none
        };
        let len = (replicas * count) as usize;
        match self.optimizer {
            Optimizer::Adam => {
                let first = b.buffer("adam.first", len, Role::State);
                let second = b.buffer("adam.second", len, Role::State);
                let op = Adam { replicas, count, beta1: BETA1, beta2: BETA2, eps: 1e-8 };
                b.push(Op::Adam(op), &[grad, norm], &[weights, first, second]);
                vec![("adam.first", first), ("adam.second", second)]
            }
            Optimizer::Sgd => {
                let velocity = b.buffer("sgd.velocity", len, Role::State);
                b.push(Op::Sgd(Sgd { replicas, count, momentum: self.momentum }), &[grad, norm], &[weights, velocity]);
                vec![("sgd.velocity", velocity)]
            }
        }
    }

    /// Records the forward pass over `rows` shared rows; VI draws `predict_samples` weight samples a member.
    pub fn record_prediction(&self, rows: u32) -> Result<PredictProgram> {
        let p = self.layout().total as u32;
        let samples = if self.is_vi() { self.predict_samples } else { 1 };
        let replicas = self.members * samples;
        let mut b = Builder::new(replicas, p);
        let x = b.buffer("x", (rows * self.net.n_in()) as usize, Role::Input);
        let weights = b.buffer("weights", self.members as usize * self.member_len(), Role::State);
        if self.is_vi() {
            let op = ViSample {
                members: self.members,
                samples,
                count: p,
                first_replica: self.first_member * samples,
                stream: Stream::Predict as u32,
            };
            let w = b.buffer("w", (replicas * p) as usize, Role::Scratch);
            b.push(Op::ViSample(op), &[weights], &[w]);
            b.set_weights(w);
        } else {
            b.set_weights(weights);
        }
        let q = self.layout().running;
        let running = (q > 0).then(|| {
            let running = b.buffer("running", replicas as usize * q, Role::State);
            b.set_running(running, q as u32, rows);
            running
        });
        let x = Tensor::input(x, 1, rows, self.net.input());
        let outputs = self.net.record(&mut b, x, false, 0);
        b.keep(outputs.buf);
        Ok(PredictProgram { program: b.finish()?, x: x.buf, weights, running, outputs: outputs.buf, replicas, rows })
    }

    /// Records a forward pass over `rows` shared rows by their own statistics, which are left in `running`: what
    /// batch normalisation needs for weights that were not trained step by step. VI's networks are those of its means.
    pub fn record_statistics(&self, rows: u32) -> Result<PredictProgram> {
        let (p, q) = (self.layout().total as u32, self.layout().running);
        let mut b = Builder::new(self.members, p);
        let x = b.buffer("x", (rows * self.net.n_in()) as usize, Role::Input);
        let weights = b.buffer("weights", (self.members * p) as usize, Role::State);
        b.set_weights(weights);
        let running = b.buffer("running", self.members as usize * q, Role::State);
        b.set_running(running, q as u32, rows);
        b.set_momentum(1.0);
        let without_dropout = self.net.without_dropout();
        let outputs = without_dropout.record(&mut b, Tensor::input(x, 1, rows, self.net.input()), true, 0);
        b.keep(outputs.buf);
        let (program, replicas, running) = (b.finish()?, self.members, Some(running));
        Ok(PredictProgram { program, x, weights, running, outputs: outputs.buf, replicas, rows })
    }

    /// Initial weights of all members, one after another.
    pub fn initial_weights(&self, seed: u32, vi_uniform: bool, init_rho: f32) -> Vec<f32> {
        let layout = self.layout();
        (self.first_member..self.first_member + self.members)
            .flat_map(|m| {
                if self.is_vi() {
                    crate::net::init::variational(&layout, seed, m, vi_uniform, init_rho)
                } else {
                    crate::net::init::torch_uniform(&layout, seed, m)
                }
            })
            .collect()
    }
}

pub const BETA1: f32 = 0.9;
pub const BETA2: f32 = 0.999;
