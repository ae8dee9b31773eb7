//! The recording of a forward pass: the networks that predict, their outputs and, where the method asks, their features.

use super::*;
use crate::error::{Error, Result};
use crate::net::Pass;
use crate::program::builder::Tensor;
use crate::program::{Program, Role};

/// The inputs of the last layer [replicas, rows, width]; one replica a data set where they are the network's own inputs.
#[derive(Debug, Clone, Copy)]
pub struct Features {
    pub buf: Buf,
    pub replicas: u32,
    pub width: u32,
}

/// A recorded forward pass over `rows` rows.
pub struct PredictProgram {
    pub program: Program,
    /// [S, rows, n_in].
    pub x: Buf,
    pub weights: Buf,
    /// What the networks are drawn from beside the weights, by its name in checkpoints.
    pub posterior: Vec<(&'static str, Buf)>,
    pub running: Option<Buf>,
    /// [replicas, rows, n_out].
    pub outputs: Buf,
    pub features: Option<Features>,
    pub replicas: u32,
    pub rows: u32,
}

/// The networks of a prediction, and what they are drawn from beside the members' numbers.
pub struct Networks {
    /// [E S, P].
    pub weights: Buf,
    pub posterior: Vec<(&'static str, Buf)>,
}

/// What one forward pass gives of rows `first .. first + rows`.
pub struct Chunk<'a> {
    pub first: usize,
    pub rows: usize,
    /// Rows of a replica in both buffers; those beyond `rows` are filler.
    pub stride: usize,
    /// [replicas, stride, n_out].
    pub outputs: &'a [f32],
    /// [replicas or 1, stride, width], where the method asks for them.
    pub features: &'a [f32],
}

impl ModelSpec {
    /// Records the networks that predict; returns the buffers of the members' numbers and of what is drawn with them.
    fn record_networks(&self, b: &mut Builder, first_sample: u32) -> (Buf, Vec<(&'static str, Buf)>) {
        let numbers = b.buffer("weights", self.members as usize * self.member_len(), Role::State);
        let Networks { weights, posterior } = self.method.record_networks(self, b, numbers, first_sample);
        b.set_weights(weights);
        (numbers, posterior)
    }

    /// Records the forward pass over `rows` rows, which the members of a set share.
    pub fn record_prediction(&self, rows: u32) -> Result<PredictProgram> {
        self.record_rows(rows, Builder::finish)
    }

    /// The same with each layer an op of its own.
    pub fn record_layers(&self, rows: u32) -> Result<PredictProgram> {
        self.record_rows(rows, Builder::finish_as_recorded)
    }

    fn record_rows(&self, rows: u32, finish: fn(Builder) -> Result<Program>) -> Result<PredictProgram> {
        let replicas = self.members * self.copies();
        let mut b = Builder::new(replicas, self.layout().total as u32);
        let (_, sets) = self.sets();
        if sets > 1 && !self.whole_sets() {
            return Err(Error::run("prediction", "parts of data sets", "this is a bug of vifo: please report it"));
        }
        let x = b.buffer("x", (sets * rows * self.net.n_in()) as usize, Role::Input);
        let (weights, posterior) = self.record_networks(&mut b, 0);
        let q = self.layout().running;
        let running = (q > 0).then(|| {
            let running = b.buffer("running", replicas as usize * q, Role::State);
            b.set_running(running, q as u32, rows);
            running
        });
        let pass =
            Pass { masks: self.method.masks(), first_replica: self.first_member * self.copies(), ..Pass::prediction() };
        let outputs = self.net.record(&mut b, Tensor::input(x, sets, rows, self.net.input()), pass);
        b.keep(outputs.buf);
        let features = self.method.needs_features().then(|| {
            let last = b.last_input();
            if last.has_gradient {
                b.keep(last.buf);
            }
            Features { buf: last.buf, replicas: last.replicas, width: last.cols() }
        });
        let (program, outputs) = (finish(b)?, outputs.buf);
        Ok(PredictProgram { program, x, weights, posterior, running, outputs, features, replicas, rows })
    }

    /// Records a forward pass over `rows` shared rows by their own statistics, which are left in `running`: what
    /// batch normalisation needs for weights that were not trained step by step. Nothing is dropped. The networks are those of
    /// the first P numbers of each member, or copies `first_sample .. first_sample + copies` that have statistics of their own.
    pub fn record_statistics(&self, rows: u32, first_sample: u32) -> Result<PredictProgram> {
        let method: &'static dyn Method = if self.method.has_own_statistics() { self.method } else { &base::Base };
        let setup = ModelSpec { method, ..self.clone() };
        let replicas = setup.members * setup.copies();
        let (p, q) = (setup.layout().total as u32, setup.layout().running);
        let mut b = Builder::new(replicas, p);
        let x = b.buffer("x", (rows * setup.net.n_in()) as usize, Role::Input);
        let (weights, posterior) = setup.record_networks(&mut b, first_sample);
        let running = b.buffer("running", replicas as usize * q, Role::State);
        b.set_running(running, q as u32, rows);
        b.set_momentum(1.0);
        let pass = Pass { batch_statistics: true, ..Pass::prediction() };
        let outputs = setup.net.record(&mut b, Tensor::input(x, 1, rows, setup.net.input()), pass);
        b.keep(outputs.buf);
        let (program, running, outputs) = (b.finish()?, Some(running), outputs.buf);
        Ok(PredictProgram { program, x, weights, posterior, running, outputs, features: None, replicas, rows })
    }
}
