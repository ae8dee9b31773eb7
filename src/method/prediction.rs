//! The recording of a forward pass: the networks that predict, their outputs and, where the method asks, their features.

use super::*;
use crate::error::{Error, Result};
use crate::net::{Masks, Pass};
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Program, Role};

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

/// Where the networks of a prediction come from: the trained weights, and what is drawn with them.
struct Source {
    weights: Buf,
    posterior: Vec<(&'static str, Buf)>,
}

impl Setup {
    /// Records the networks that predict: `copies` of each member, or the members themselves. Their numbers begin
    /// at `first_sample`, so that a part of them may be recorded alone.
    fn record_networks(&self, b: &mut Builder, first_sample: u32) -> Source {
        let weights = b.buffer("weights", self.members as usize * self.member_len(), Role::State);
        let mut posterior = vec![];
        let networks = match self.kind {
            Kind::Vi(_) => vi::record_networks(self, b, weights),
            Kind::Swag => {
                let (networks, moments) = swag::record_networks(self, b, weights, first_sample);
                posterior = moments;
                networks
            }
            Kind::Dropout => dropout::record_networks(self, b, weights),
            _ => weights,
        };
        b.set_weights(networks);
        Source { weights, posterior }
    }

    /// Records the forward pass over `rows` rows, which the members of a set share.
    pub fn record_prediction(&self, rows: u32) -> Result<PredictProgram> {
        let replicas = self.members * self.copies();
        let mut b = Builder::new(replicas, self.layout().total as u32);
        let (_, sets) = self.sets();
        if sets > 1 && !self.whole_sets() {
            return Err(Error::run("prediction", "parts of data sets", "this is a bug of vifo: please report it"));
        }
        let x = b.buffer("x", (sets * rows * self.net.n_in()) as usize, Role::Input);
        let Source { weights, posterior } = self.record_networks(&mut b, 0);
        let q = self.layout().running;
        let running = (q > 0).then(|| {
            let running = b.buffer("running", replicas as usize * q, Role::State);
            b.set_running(running, q as u32, rows);
            running
        });
        let masks = if self.kind == Kind::Dropout { Masks::Shared } else { Masks::None };
        let pass = Pass { masks, first_replica: self.first_member * self.copies(), ..Pass::prediction() };
        let outputs = self.net.record(&mut b, Tensor::input(x, sets, rows, self.net.input()), pass);
        b.keep(outputs.buf);
        let features = (self.kind == Kind::Laplace).then(|| {
            let last = b.last_input();
            if last.has_gradient {
                b.keep(last.buf);
            }
            Features { buf: last.buf, replicas: last.replicas, width: last.cols() }
        });
        let (program, outputs) = (b.finish()?, outputs.buf);
        Ok(PredictProgram { program, x, weights, posterior, running, outputs, features, replicas, rows })
    }

    /// Records a forward pass over `rows` shared rows by their own statistics, which are left in `running`: what
    /// batch normalisation needs for weights that were not trained step by step. Nothing is dropped. VI's networks are those
    /// of its means; SWAG's are copies `first_sample .. first_sample + predict_samples`.
    pub fn record_statistics(&self, rows: u32, first_sample: u32) -> Result<PredictProgram> {
        let kind = if self.kind == Kind::Swag { Kind::Swag } else { Kind::Base };
        let setup = Setup { kind, ..self.clone() };
        let replicas = setup.members * setup.copies();
        let (p, q) = (setup.layout().total as u32, setup.layout().running);
        let mut b = Builder::new(replicas, p);
        let x = b.buffer("x", (rows * setup.net.n_in()) as usize, Role::Input);
        let Source { weights, posterior } = setup.record_networks(&mut b, first_sample);
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
