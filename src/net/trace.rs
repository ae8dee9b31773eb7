//! The forward pass of an MLP on the host, layer by layer: what a start looks at, and what a picture of a network shows. The
//! operations are those of the programs.

use super::mlp::Layers;
use super::{Last, LastAt, Mlp, Places};
use crate::ops::OpSpec;
use crate::ops::embed::{EmbedForward, embed_forward};
use crate::ops::factor::{FactorForward, factor_forward};
use crate::ops::linear::{ACT_NONE, LinearForward, linear_forward};
use crate::ops::periodic::{self, PeriodicForward, periodic_forward};
use crate::ops::vbll::{VbllForward, vbll_forward};
use crate::program::Act;
use crate::program::builder::{FactorAt, LinearAt, VbllAt};

/// What the embeddings of `layers` make of x [rows, n_in]; x where the network has none.
pub(super) fn embedded(net: &Mlp, layers: &Layers, rows: usize, x: Vec<f32>, w: &[f32]) -> Vec<f32> {
    let mut x = x;
    if let Some(to) = &layers.embedding {
        let op = PeriodicForward {
            replicas: 1,
            share: 1,
            rows: rows as u32,
            n_in: net.n_in,
            embedded: to.embedded,
            frequency: to.frequency,
            phase: to.phase,
            weight: to.weight,
            bias: to.bias,
            stride: w.len() as u32,
        };
        let columns: Vec<f32> = net.embedded.iter().map(|c| *c as f32).collect();
        let mut y = vec![0.0; rows * periodic::n_out(net.n_in, to.embedded) as usize];
        periodic_forward(&op, &x, w, &columns, &mut y);
        x = y;
    }
    if let Some(table) = layers.tables {
        let columns = net.tables_in_place();
        let op = EmbedForward {
            replicas: 1,
            share: 1,
            rows: rows as u32,
            n_in: (x.len() / rows) as u32,
            embedded: columns.len() as u32,
            width: columns.iter().map(|c| c.width).sum(),
            levels: columns.iter().map(|c| c.levels).sum(),
            table,
            length: columns.iter().map(|c| c.levels * c.width).sum(),
            stride: w.len() as u32,
        };
        let places: Vec<f32> = columns.iter().flat_map(|c| [c.input, c.levels, c.width]).map(|v| v as f32).collect();
        let mut y = vec![0.0; rows * net.n_first() as usize];
        embed_forward(&op, &x, w, &places, &mut y);
        x = y;
    }
    x
}

/// act(x W + b) of one network.
pub(super) fn linear(to: LinearAt, activation: u32, rows: usize, x: &[f32], w: &[f32]) -> Vec<f32> {
    let op = LinearForward {
        replicas: 1,
        share: 1,
        rows: rows as u32,
        n_in: to.n_in,
        n_out: to.n_out,
        weight: to.weight,
        bias: to.bias,
        stride: w.len() as u32,
        activation,
    };
    let mut y = vec![0.0; rows * to.n_out as usize];
    let (mut pre, mut scratch) = (y.clone(), vec![0.0; op.scratch()]);
    linear_forward(&op, x, w, &mut y, &mut pre, &mut scratch);
    y
}

fn factor(to: FactorAt, activation: u32, x: &[f32], w: &[f32]) -> Vec<f32> {
    let op = FactorForward {
        replicas: 1,
        share: 1,
        rows: 1,
        n: to.n,
        weight: to.weight,
        stride: w.len() as u32,
        activation,
    };
    let mut y = vec![0.0; x.len()];
    factor_forward(&op, x, w, &mut y);
    y
}

fn vbll(to: VbllAt, x: &[f32], w: &[f32]) -> Vec<f32> {
    let VbllAt { n_in, k, mean, log_scale, log_noise } = to;
    let stride = w.len() as u32;
    let op = VbllForward { replicas: 1, share: 1, rows: 1, n_in, k, mean, log_scale, log_noise, stride };
    let (mut y, mut scratch) = (vec![0.0; 3 * k as usize], vec![0.0; op.scratch()]);
    vbll_forward(&op, x, w, &mut y, &mut scratch);
    y
}

/// What each layer of the network with weights `w` makes of one row: its inputs as the first hidden layer sees them, the hidden
/// units, the outputs.
pub fn trace(net: &Mlp, w: &[f32], row: &[f32]) -> Vec<Vec<f32>> {
    let layers = net.layers(&mut Places::default());
    let mut x = embedded(net, &layers, 1, row.to_vec(), w);
    if let Some(at) = layers.scale {
        x = factor(at, ACT_NONE, &x, w);
    }
    let mut all = vec![x];
    let act = Act::code(Some(net.activation));
    for (at, factors) in layers.hidden {
        let before = all.last().map_or(&[][..], Vec::as_slice);
        let units = match factors {
            None => linear(at, act, 1, before, w),
            Some(factors) => factor(factors, act, &linear(at, ACT_NONE, 1, before, w), w),
        };
        all.push(units);
    }
    let before = all.last().map_or(&[][..], Vec::as_slice);
    let outputs = match layers.last {
        LastAt::Linear(at) => linear(at, ACT_NONE, 1, before, w),
        LastAt::Vbll(at) => vbll(at, before, w),
    };
    all.push(outputs);
    all
}

/// Weights into the first `most` units of each layer behind the inputs, from the first `most` of the layer before: [to][from],
/// layer by layer. Those of a variational last layer are the means, into its means.
pub fn leading_weights(net: &Mlp, w: &[f32], most: usize) -> Vec<Vec<f32>> {
    let layers = net.layers(&mut Places::default());
    let of = |weight: u32, n_in: u32, n_out: u32| {
        let (n_in, n_out) = (n_in as usize, n_out as usize);
        let at = move |to: usize, from: usize| w[weight as usize + from * n_out + to];
        (0..n_out.min(most)).flat_map(|to| (0..n_in.min(most)).map(move |from| at(to, from))).collect()
    };
    let mut all: Vec<Vec<f32>> = layers.hidden.iter().map(|(at, _)| of(at.weight, at.n_in, at.n_out)).collect();
    all.push(match layers.last {
        LastAt::Linear(at) => of(at.weight, at.n_in, at.n_out),
        LastAt::Vbll(at) => of(at.mean, at.n_in, at.k),
    });
    all
}

impl Mlp {
    /// Units of each layer: the inputs of the first hidden layer, the hidden units, the outputs.
    pub fn units(&self) -> Vec<u32> {
        let outputs = match self.last {
            Last::Linear(n) => n,
            Last::Vbll(k) => 3 * k,
        };
        [&[self.n_first()][..], &self.hidden, &[outputs]].concat()
    }
}
