//! The recording of a training step: gather, forward, head, backward, regularizer, optimizer, collection.

use super::{BETA1, ModelSpec};
use crate::error::{Error, Result};
use crate::net::Pass;
use crate::ops::Op;
use crate::ops::average::FadingMean;
use crate::ops::gather::{AuxInputs, GatherRows};
use crate::ops::images::{GatherImages, SHARDS, shards};
use crate::ops::optimizer::{Adam, Sgd};
use crate::ops::reduce::{LossReduce, SUM_WORDS, SumSquares};
use crate::ops::scaling::{SCALE_WORDS, ScaleDown, ScaleUp, ScaleUpdate};
use crate::ops::weigh::WeighRows;
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Program, Role};
use crate::recipe::{AuxSource, Optimizer};

/// Name of the average of the weights in checkpoints.
pub const AVERAGE: &str = "average";

/// Name of the loss's scale in checkpoints.
pub const LOSS_SCALE: &str = "loss_scale";

/// Sound steps after which the loss's scale doubles, as in PyTorch.
const SCALE_PATIENCE: u32 = 2000;

/// Where the host puts the training inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DataX {
    /// [S, n, d], the sets of the members one after another.
    Rows(Buf),
    /// Bytes [n, h, w, c], `shard_rows` images per buffer.
    Images { shards: [Buf; SHARDS], shard_rows: u32 },
}

/// What a head is recorded on. Every target of a row of data is a row here.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// The networks' outputs [R, rows, width].
    pub z: Tensor,
    /// Targets [R / share, data_rows].
    pub y: Buf,
    /// Weights of the rows [R / share, data_rows], where there are any. The head's terms and gradient are scaled by them
    /// afterwards; it need only heed them where it takes means over rows.
    pub row_weights: Option<Buf>,
    /// Replicas that share a set of targets.
    pub share: u32,
    /// Rows from here on are auxiliary and have no target.
    pub data_rows: u32,
}

/// A recorded training step and the buffers through which the host talks to it.
pub struct TrainProgram {
    pub program: Program,
    pub data_x: DataX,
    pub data_y: Buf,
    /// Weights of the rows, where there are any.
    pub data_w: Option<Buf>,
    pub aux_range: Option<(Buf, Buf)>,
    /// Flat weights [E, P], or (mu, rho) [E, 2P] for VI.
    pub weights: Buf,
    /// Optimizer state by its name in checkpoints, each as long as `weights`.
    pub optimizer: Vec<(&'static str, Buf)>,
    /// The average of the weights, where one predicts; also listed in `optimizer`.
    pub average: Option<Buf>,
    pub sums: Buf,
    /// Running statistics of batch normalisation [R, Q], where the network has any.
    pub running: Option<Buf>,
}

impl ModelSpec {
    /// Records one training step: gather, forward, head, backward, optimizer. `max_bytes` = largest buffer of bytes that
    /// the device can bind.
    // Long: a training step in the order in which it runs.
    pub fn record_training(&self, max_bytes: u64) -> Result<TrainProgram> {
        let p = self.layout().total as u32;
        let samples = self.train_copies();
        let (first_set, sets) = self.sets();
        // Members that are compared by their outputs see the same rows in the same order, that of their set's number.
        let (orders, first_order, per_set) = match self.shares_rows() {
            true => (sets, first_set, u32::from(self.per_set > 0)),
            false => (self.members, self.first_member, self.per_set),
        };
        let replicas = self.members * samples;
        let mut b = Builder::new(replicas, p);
        let (n, d, batch) = (self.n_rows, self.net.n_in(), self.batch_rows());
        let set_rows = n + self.held_out;
        let several = sets > 1 || self.folds > 0;
        if several && self.image.is_some() || sets > 1 && self.is_coupled() && !self.whole_sets() {
            let found = "image sets, or members that see each other and are cut apart";
            return Err(Error::run("several data sets", found, "this is a bug of vifo: please report it"));
        }
        let data_x = match self.image {
            None => DataX::Rows(b.buffer("data.x", (sets * set_rows * d) as usize, Role::Input)),
            Some(_) => {
                let shard_rows = shards(n, d, max_bytes)?;
                let shards = std::array::from_fn(|s| {
                    let rows = n.saturating_sub(s as u32 * shard_rows).min(shard_rows);
                    b.bytes(&format!("data.images{s}"), rows as usize * d as usize)
                });
                DataX::Images { shards, shard_rows }
            }
        };
        let t = self.targets;
        let data_y = b.buffer("data.y", (sets * set_rows * t) as usize, Role::Input);
        let data_w = self.weighted.then(|| b.buffer("data.w", (sets * set_rows * t) as usize, Role::Input));
        let weights = b.buffer("weights", self.members as usize * self.member_len(), Role::State);
        let sums = b.buffer("sums", self.members as usize * SUM_WORDS, Role::State);

        // A full batch of a table needs no order, so the members of a set read it in place; images are varied for each.
        let in_place = self.full_batch() && self.whole_sets() && self.folds == 0;
        let aux_rows = if self.aux.is_some() { batch } else { 0 };
        let rows = batch + aux_rows;
        let shuffle = u32::from(!self.full_batch());
        let gather = GatherRows {
            replicas: orders,
            n_rows: n,
            cols: d,
            batch,
            out_rows: rows,
            shuffle,
            first_member: first_order,
            per_set,
            first_set,
            held_out: self.held_out,
            folds: self.folds,
        };
        let own = |b: &mut Builder| b.buffer("x", (orders * rows * d) as usize, Role::Scratch);
        let (x, x_replicas) = match (data_x, self.image) {
            (DataX::Images { shards, shard_rows }, Some(image)) => {
                let x = own(&mut b);
                let (h, w, c) = image.size;
                let op = GatherImages {
                    replicas: orders,
                    n_rows: n,
                    shard_rows,
                    h,
                    w,
                    c,
                    batch,
                    out_rows: rows,
                    shuffle,
                    first_member: first_order,
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
                (x, orders)
            }
            (DataX::Rows(data), _) if !in_place || self.aux.is_some() => {
                let x = own(&mut b);
                b.push(Op::GatherRows(gather), &[data], &[x]);
                (x, orders)
            }
            (DataX::Rows(data), _) => (data, sets),
            (DataX::Images { shards, .. }, None) => (shards[0], 1),
        };
        let x = Tensor::input(x, x_replicas, rows, self.net.input());
        let (y, y_replicas) = if in_place {
            (data_y, sets)
        } else {
            let y = b.buffer("y", (orders * batch * t) as usize, Role::Scratch);
            b.push(Op::GatherRows(GatherRows { cols: t, out_rows: batch, ..gather }), &[data_y], &[y]);
            (y, orders)
        };
        let row_weights = data_w.map(|data_w| {
            if in_place {
                return data_w;
            }
            let w = b.buffer("row_weights", (orders * batch * t) as usize, Role::Scratch);
            b.push(Op::GatherRows(GatherRows { cols: t, out_rows: batch, ..gather }), &[data_w], &[w]);
            w
        });
        let aux_range = self.aux.map(|source| {
            let low = b.buffer("aux.low", (sets * d) as usize, Role::Input);
            let high = b.buffer("aux.high", (sets * d) as usize, Role::Input);
            let op = AuxInputs {
                replicas: orders,
                cols: d,
                count: aux_rows,
                first_row: batch,
                out_rows: rows,
                grid: u32::from(source == AuxSource::Grid),
                first_member: first_order,
                per_set,
                first_set,
            };
            b.push(Op::AuxInputs(op), &[low, high], &[x.buf]);
            (low, high)
        });

        b.set_dropout_by_step(self.stepping.dropout_by_step);
        let networks = self.method.record_step_networks(self, &mut b, weights);
        b.set_weights(networks);
        let q = self.layout().running;
        let running = (q > 0).then(|| {
            let running = b.buffer("running", replicas as usize * q, Role::State);
            b.set_running(running, q as u32, batch);
            running
        });
        let first_replica = self.first_member * samples;
        let outputs = self.net.record(&mut b, x, Pass::training(first_replica));
        let share_y = replicas / y_replicas;
        // From here to the gradient of the outputs every target of a row is a row, and so `StepArgs::n_valid` counts them.
        let (z, rows, data_rows) = (if t > 1 { outputs.cut(t) } else { outputs }, rows * t, batch * t);
        let head = Head { z, y, row_weights, share: share_y, data_rows };
        let (terms, dout) = self.method.record_head(self, &mut b, head);
        if let Some(w) = row_weights {
            let op = WeighRows { replicas, rows, data_rows, cols: z.cols(), share: share_y };
            b.push(Op::WeighRows(op), &[w], &[terms, dout]);
        }
        let value = self.method.record_on_outputs(self, &mut b, z, dout);
        let scale = self.stepping.half.then(|| b.buffer(LOSS_SCALE, self.members as usize * SCALE_WORDS, Role::State));
        let dout = scale.map_or(dout, |scale| {
            let count = rows * z.cols();
            let scaled = b.buffer("scaled.dz", (replicas * count) as usize, Role::Scratch);
            b.push(Op::ScaleUp(ScaleUp { replicas, samples, count }), &[dout, scale], &[scaled]);
            scaled
        });
        let dweights = b.backward(outputs, dout);
        if let Some(scale) = scale {
            b.push(Op::ScaleDown(ScaleDown { replicas, samples, count: p }), &[scale], &[dweights]);
        }

        let (grad, extra) = self.method.record_on_weights(self, &mut b, weights, dweights, value);
        let none = b.buffer("none", 1, Role::Input);
        let reduce = LossReduce {
            members: self.members,
            samples,
            rows,
            data_rows,
            has_extra: u32::from(extra.is_some()),
            extra_scale: 1.0 / self.observations() as f32,
        };
        b.push(Op::LossReduce(reduce), &[terms, extra.unwrap_or(none)], &[sums]);
        let mut optimizer = self.record_optimizer(&mut b, (grad, none), (weights, sums), scale);
        let average = self.stepping.average.map(|decay| self.record_average(&mut b, weights, decay));
        optimizer.extend(average.map(|average| (AVERAGE, average)));
        optimizer.extend(self.method.record_collect(self, &mut b, weights));
        // Matrix units multiply operands as they are stored; what is joined makes them on the way.
        let mut program = if self.stepping.matrices { b.finish_as_recorded()? } else { b.finish()? };
        if self.stepping.half {
            program.halve(networks, p);
            program.matrices = self.stepping.matrices;
        }
        Ok(TrainProgram { program, data_x, data_y, data_w, aux_range, weights, optimizer, average, sums, running })
    }

    /// The average of the weights after the optimizer's step.
    fn record_average(&self, b: &mut Builder, weights: Buf, decay: f64) -> Buf {
        let (replicas, count) = (self.members, self.member_len() as u32);
        let average = b.buffer(AVERAGE, (replicas * count) as usize, Role::State);
        let op = FadingMean { replicas, count, share: (1.0 - decay) as f32 };
        b.push(Op::FadingMean(op), &[weights], &[average]);
        average
    }

    fn record_optimizer(
        &self,
        b: &mut Builder,
        (grad, none): (Buf, Buf),
        (weights, sums): (Buf, Buf),
        scale: Option<Buf>,
    ) -> Vec<(&'static str, Buf)> {
        let (replicas, count) = (self.members, self.member_len() as u32);
        let guarded = u32::from(self.stepping.half);
        let norm = if self.clip || guarded == 1 {
            let norm = b.buffer("norm", replicas as usize, Role::Scratch);
            b.push(Op::SumSquares(SumSquares { replicas, stride: count, first: 0, length: count }), &[grad], &[norm]);
            norm
        } else {
            none
        };
        let len = (replicas * count) as usize;
        let rates = self.rates().map(|rates| b.constant("rates", rates));
        let (rated, rates) = (u32::from(rates.is_some()), rates.unwrap_or(none));
        let mut state = vec![];
        // Where SGD begins with epochs of Adam, each step finds one of the two idle.
        if self.optimizer.is_adam() || self.warm {
            let first = b.buffer("adam.first", len, Role::State);
            let second = b.buffer("adam.second", len, Role::State);
            let only_warm = u32::from(self.optimizer == Optimizer::Sgd);
            let decoupled = u32::from(self.optimizer == Optimizer::AdamW);
            let beta2 = self.stepping.beta2;
            let op = Adam { replicas, count, beta1: BETA1, beta2, eps: 1e-8, only_warm, decoupled, rated, guarded };
            b.push(Op::Adam(op), &[grad, norm, rates], &[weights, first, second]);
            state.extend([("adam.first", first), ("adam.second", second)]);
        }
        if self.optimizer == Optimizer::Sgd {
            let velocity = b.buffer("sgd.velocity", len, Role::State);
            let op = Sgd { replicas, count, momentum: self.momentum, rated, guarded };
            b.push(Op::Sgd(op), &[grad, norm, rates], &[weights, velocity]);
            state.push(("sgd.velocity", velocity));
        }
        if let Some(scale) = scale {
            let op = ScaleUpdate { members: replicas, patience: SCALE_PATIENCE };
            b.push(Op::ScaleUpdate(op), &[norm], &[scale, sums]);
            state.push((LOSS_SCALE, scale));
        }
        state
    }
}
