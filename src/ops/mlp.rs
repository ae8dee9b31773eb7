//! A small network (MLP) in few kernels: linear layers with one activation between them, and a head. `mlp_pack` lays the weights out
//! as quadruples, `mlp_pass` takes eight rows of a batch forward, through the head and back, `mlp_gradient` makes the gradient of all
//! weights of what the pass left on its tape. They compute what the layers' own ops do, with sums in another order, and take their
//! place on a GPU (`program::fuse::mlp`). A reference on the CPU, no fast form: there the layers' ops are.
//!
//! The network's weights are a range of the flat vector [R, P]: of each layer W [n_in, n_out] and b [n_out], one behind the other.
//! Packed: of each replica and layer n_in + 1 rows, the last one b, of whole octets of columns; those behind the last are 0.
//! The tape: of each replica the units of `Widths::places`, each with all rows of the batch, padded to whole octets by its last row,
//! whose gradients are 0 there.

use super::head::{GaussianHead, LIKELIHOOD_SOFTMAX, SoftmaxHead, StudentHead, VifoHead};
use super::head::{gaussian_head, softmax_head, student_head, vifo_head};
use super::linear::{ACT_NONE, LinearBackwardData, LinearForward, keeps_pre, linear_backward_data, linear_forward};
use super::regularizer::REG_MEAN_ALL;
use super::{Forms, Grid, Lengths, OpSpec, StepArgs, binds, elements, params, shared};
use crate::base::Real;
use crate::ops::gemm::pack_len;

/// Layers at most.
pub const MOST_LAYERS: usize = 7;
/// Outputs at most: a thread has a row of them to itself.
pub const MOST_OUTPUTS: u32 = 32;
/// Units of a layer at most: what the kernels divide stays far below 2^20.
pub const MOST_UNITS: u32 = 512;

pub const HEAD_SOFTMAX: u32 = 0;
pub const HEAD_GAUSSIAN: u32 = 1;
pub const HEAD_STUDENT: u32 = 2;
pub const HEAD_VIFO: u32 = 3;

params! {
    /// From x [R or X, rows, n0] and targets [R / target_share, data_rows] to the tape, terms [R, rows, 3] as those of the head's
    /// own op, and, where `has_dx` is 1, dx [R, rows, n0].
    MlpPass {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        target_share: u32,
        rows: u32,
        data_rows: u32,
        /// Behind every layer but the last.
        activation: u32,
        has_dx: u32,
        /// `HEAD_...`; the next ones are of its op.
        head: u32,
        k: u32,
        likelihood: u32,
        noise_link: u32,
        sigma_link: u32,
        regularizer: u32,
        exact: u32,
        first_replica: u32,
        nu: f32,
        constant: f32,
        layers: u32,
        n0: u32,
        n1: u32,
        n2: u32,
        n3: u32,
        n4: u32,
        n5: u32,
        n6: u32,
        n7: u32,
    }
}

/// Inputs of a network and outputs of its layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Widths {
    pub n: [u32; MOST_LAYERS + 1],
    pub layers: usize,
}

/// Where the tape has what, in units of a replica.
pub(super) struct Places {
    /// Of each layer's output, the network's inputs first; what the slope is read from; the gradient.
    pub y: [usize; MOST_LAYERS + 1],
    pub saved: [usize; MOST_LAYERS + 1],
    pub dy: [usize; MOST_LAYERS + 1],
    pub units: usize,
}

fn octets(n: u32) -> usize {
    n.div_ceil(8) as usize
}

impl Widths {
    /// Whether the kernels take them.
    pub fn fit(&self) -> bool {
        (1..=MOST_LAYERS).contains(&self.layers)
            && self.n[..=self.layers].iter().all(|n| (1..=MOST_UNITS).contains(n))
            && self.n[self.layers] <= MOST_OUTPUTS
    }
    /// n_in and n_out of each layer.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, u32)> {
        let n = self.n;
        (0..self.layers.min(MOST_LAYERS)).map(move |i| (n[i], n[i + 1]))
    }
    /// Weights of a replica.
    pub fn len(&self) -> usize {
        self.each().map(|(n_in, n_out)| (n_in as usize + 1) * n_out as usize).sum()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Packed numbers of a replica.
    pub fn packed(&self) -> usize {
        self.each().map(|(n_in, n_out)| (n_in as usize + 1) * 8 * octets(n_out)).sum()
    }
    /// Tiles of all gradients of a replica.
    pub(super) fn tiles(&self) -> usize {
        self.each().map(|(n_in, n_out)| octets(n_in + 1) * octets(n_out)).sum()
    }
    pub(super) fn places(&self, activation: u32) -> Places {
        let none = [0; MOST_LAYERS + 1];
        let mut p = Places { y: none, saved: none, dy: none, units: self.n[0] as usize };
        for (i, (_, n_out)) in (1..).zip(self.each()) {
            let units = 8 * octets(n_out);
            let kept = if keeps_pre(activation) && i < self.layers { units } else { 0 };
            (p.y[i], p.saved[i], p.dy[i]) = (p.units, p.units + kept, p.units + kept + units);
            p.units += kept + 2 * units;
        }
        p
    }
    /// Numbers of the tape of a replica.
    pub fn tape(&self, activation: u32, rows: u32) -> usize {
        self.places(activation).units * 8 * octets(rows)
    }
    /// Multiply-adds of a row in one direction.
    pub fn products(&self) -> u64 {
        self.each().map(|(n_in, n_out)| u64::from(n_in) * u64::from(n_out)).sum()
    }
}

impl MlpPass {
    pub fn widths(&self) -> Widths {
        let n = [self.n0, self.n1, self.n2, self.n3, self.n4, self.n5, self.n6, self.n7];
        Widths { n, layers: self.layers as usize }
    }
    /// Numbers per row that the head reads.
    fn outputs(&self) -> u32 {
        match self.head {
            HEAD_SOFTMAX => self.k,
            HEAD_VIFO => 2 * self.k,
            _ => 2,
        }
    }
}

impl OpSpec for MlpPass {
    binds!(mlp_pass(step): [x, targets, packed] -> [tape, terms, dx], scratch);
    const FORMS: Forms = Forms::Shared;
    const QUADS: &'static [&'static str] = &["packed", "tape"];

    /// Eight rows each.
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * octets(self.rows) as u64)
    }
    fn settings(&self) -> Vec<(&'static str, u32)> {
        vec![("ACTIVATION", self.activation), ("HEAD", self.head)]
    }
    /// Forward, and back to each layer's input but the first's.
    fn flops(&self) -> Option<f64> {
        Some(4.0 * f64::from(self.replicas) * f64::from(self.rows) * self.widths().products() as f64)
    }
    /// Weights; outputs, what slopes are read from and gradients of all layers; the inputs' gradient; and what the layers' kernels need.
    fn scratch(&self) -> usize {
        let (w, rows) = (self.widths(), self.rows as usize);
        let all: usize = w.each().map(|(_, n)| n as usize).sum();
        w.len() + rows * (3 * all + self.n0 as usize) + largest_pack(&w, rows).max(8 * self.k as usize)
    }
    fn lengths(&self) -> Lengths {
        let (w, r) = (self.widths(), self.replicas as usize);
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n0]);
        let targets = elements(&[self.replicas / self.target_share.max(1), self.data_rows]);
        let dx = if self.has_dx == 1 { elements(&[self.replicas, self.rows, self.n0]) } else { 1 };
        let terms = elements(&[self.replicas, self.rows, 3]);
        (vec![x, targets, r * w.packed()], vec![r * w.tape(self.activation, self.rows), terms, dx])
    }
    fn sizes_agree(&self) -> bool {
        self.widths().fit()
            && shared(self.replicas, self.share)
            && shared(self.replicas, self.target_share)
            && self.rows > 0
            && self.data_rows <= self.rows
            && self.k > 0
            && self.outputs() == self.widths().n[self.layers as usize]
            && match self.head {
                HEAD_SOFTMAX | HEAD_GAUSSIAN => self.data_rows == self.rows,
                HEAD_STUDENT => self.data_rows == self.rows && self.nu > 0.0,
                _ => self.regularizer < REG_MEAN_ALL && (self.likelihood == LIKELIHOOD_SOFTMAX || self.k == 2),
            }
    }
}

/// What a product of some layer needs to pack.
pub(super) fn largest_pack(w: &Widths, rows: usize) -> usize {
    let of = |(n_in, n_out): (u32, u32)| {
        let (n_in, n_out) = (n_in as usize, n_out as usize);
        pack_len(n_in, n_out).max(pack_len(n_out, n_in)).max(pack_len(rows, n_out))
    };
    w.each().map(of).max().unwrap_or(0)
}

/// The first `n` of `rest`, which loses them.
pub(super) fn take<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (first, behind) = std::mem::take(rest).split_at_mut(n);
    *rest = behind;
    first
}

/// A replica's layers, forward and back.
struct Layers<'a, T> {
    widths: Widths,
    rows: usize,
    activation: u32,
    /// The flat weights.
    w: &'a [T],
}

impl<T: Real> Layers<'_, T> {
    /// n_in, n_out and where layer `i`'s weights begin.
    fn at(&self, i: usize) -> (u32, u32, u32) {
        let before: usize = self.widths.each().take(i).map(|(n_in, n_out)| (n_in as usize + 1) * n_out as usize).sum();
        (self.widths.n[i], self.widths.n[i + 1], before as u32)
    }
    fn forward(&self, i: usize, x: &[T], y: &mut [T], pre: &mut [T], pack: &mut [T]) {
        let (n_in, n_out, weight) = self.at(i);
        let activation = if i + 1 < self.widths.layers { self.activation } else { ACT_NONE };
        let op = LinearForward {
            replicas: 1,
            share: 1,
            rows: self.rows as u32,
            n_in,
            n_out,
            weight,
            bias: weight + n_in * n_out,
            stride: self.w.len() as u32,
            activation,
        };
        linear_forward(&op, x, self.w, y, pre, pack);
    }
    /// The gradient of layer `i`'s input.
    fn backward(&self, i: usize, dy: &[T], saved: &[T], dx: &mut [T], pack: &mut [T]) {
        let (n_in, n_out, weight) = self.at(i);
        let activation = if i > 0 { self.activation } else { ACT_NONE };
        let (rows, stride) = (self.rows as u32, self.w.len() as u32);
        let op = LinearBackwardData { replicas: 1, rows, n_in, n_out, weight, stride, activation };
        linear_backward_data(&op, dy, self.w, saved, dx, pack);
    }
}

/// The reference. It allocates nothing.
// Long: forward, head, back and the tape, each over the layers.
pub fn mlp_pass<T: Real>(
    p: &MlpPass,
    args: &StepArgs<T>,
    x: &[T],
    targets: &[T],
    packed: &[T],
    tape: &mut [T],
    terms: &mut [T],
    dx: &mut [T],
    scratch: &mut [T],
) {
    let (widths, rows, n0) = (p.widths(), p.rows as usize, p.n0 as usize);
    let places = widths.places(p.activation);
    let (padded, last) = (8 * octets(p.rows), widths.layers - 1);
    for r in 0..p.replicas as usize {
        let mut rest = &mut scratch[..];
        let w = take(&mut rest, widths.len());
        unpack(&widths, &packed[r * widths.packed()..][..widths.packed()], w);
        let layers = Layers { widths, rows, activation: p.activation, w };
        let x = &x[r / p.share as usize * rows * n0..][..rows * n0];
        let mut y: [&mut [T]; MOST_LAYERS] = Default::default();
        let (mut saved, mut dy): ([&mut [T]; MOST_LAYERS], [&mut [T]; MOST_LAYERS]) = Default::default();
        for (i, (_, n)) in widths.each().enumerate() {
            y[i] = take(&mut rest, rows * n as usize);
            saved[i] = take(&mut rest, rows * n as usize);
            dy[i] = take(&mut rest, rows * n as usize);
        }
        let first = take(&mut rest, rows * n0);
        for i in 0..=last {
            let (before, here) = y.split_at_mut(i);
            let input = before.last().map_or(x, |y| &**y);
            layers.forward(i, input, here[0], saved[i], rest);
            if !keeps_pre(p.activation) {
                saved[i].copy_from_slice(here[0]);
            }
        }
        head(p, args, r, y[last], targets, &mut terms[r * rows * 3..][..rows * 3], dy[last], rest);
        for i in (1..=last).rev() {
            let (before, here) = dy.split_at_mut(i);
            layers.backward(i, here[0], saved[i - 1], before[i - 1], rest);
        }
        if p.has_dx == 1 {
            layers.backward(0, dy[0], &[], first, rest);
            dx[r * rows * n0..][..rows * n0].copy_from_slice(first);
        }
        let tape = &mut tape[r * places.units * padded..][..places.units * padded];
        lay(x, n0, rows, true, &mut tape[..n0 * padded]);
        for (i, (_, n)) in widths.each().enumerate() {
            let (n, len) = (n as usize, 8 * octets(n) * padded);
            lay(y[i], n, rows, true, &mut tape[places.y[i + 1] * padded..][..len]);
            lay(dy[i], n, rows, false, &mut tape[places.dy[i + 1] * padded..][..len]);
            if places.saved[i + 1] != places.y[i + 1] {
                lay(saved[i], n, rows, true, &mut tape[places.saved[i + 1] * padded..][..len]);
            }
        }
    }
}

/// From terms and gradients of replica r's outputs z.
pub(super) fn head<T: Real>(
    p: &MlpPass,
    args: &StepArgs<T>,
    r: usize,
    z: &[T],
    targets: &[T],
    terms: &mut [T],
    dz: &mut [T],
    scratch: &mut [T],
) {
    let (replicas, share, rows) = (1, 1, p.rows);
    let targets = &targets[r / p.target_share as usize * p.data_rows as usize..][..p.data_rows as usize];
    let MlpPass { data_rows, k, likelihood, noise_link, sigma_link, regularizer, exact, nu, constant, .. } = *p;
    match p.head {
        HEAD_SOFTMAX => softmax_head(&SoftmaxHead { replicas, rows, k, share }, args, z, targets, terms, dz),
        HEAD_GAUSSIAN => {
            gaussian_head(&GaussianHead { replicas, rows, share, noise_link }, args, z, targets, terms, dz)
        }
        HEAD_STUDENT => {
            let op = StudentHead { replicas, rows, share, noise_link, nu, constant };
            student_head(&op, args, z, targets, terms, dz);
        }
        _ => {
            let op = VifoHead {
                replicas,
                rows,
                data_rows,
                k,
                share,
                likelihood,
                noise_link,
                sigma_link,
                regularizer,
                exact,
                first_replica: p.first_replica + r as u32,
                nu,
                constant,
            };
            vifo_head(&op, args, z, targets, &[], terms, dz, scratch);
        }
    }
}

/// The flat weights of a replica from its packed ones.
fn unpack<T: Real>(widths: &Widths, packed: &[T], w: &mut [T]) {
    let (mut packed, mut w) = (packed, w);
    for (n_in, n_out) in widths.each() {
        let (rows, n_out, row) = (n_in as usize + 1, n_out as usize, 8 * octets(n_out));
        for (to, from) in take(&mut w, rows * n_out).chunks_exact_mut(n_out).zip(packed.chunks_exact(row)) {
            to.copy_from_slice(&from[..n_out]);
        }
        packed = &packed[rows * row..];
    }
}

/// Rows [rows, n] by units; the units that pad an octet are 0, the rows that do are the last one or 0.
fn lay<T: Real>(values: &[T], n: usize, rows: usize, repeats: bool, tape: &mut [T]) {
    let padded = 8 * rows.div_ceil(8);
    for (unit, to) in tape.chunks_exact_mut(padded).enumerate() {
        for (b, to) in to.iter_mut().enumerate() {
            let there = unit < n && (repeats || b < rows);
            *to = if there { values[b.min(rows - 1) * n + unit] } else { T::zero() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two layers, 1 -> 2 -> 2: places on the tape by hand, with what a ReLU and what a Mish keeps.
    #[test]
    fn places_by_hand() {
        let widths = Widths { n: [1, 2, 2, 0, 0, 0, 0, 0], layers: 2 };
        assert_eq!((widths.len(), widths.packed(), widths.tiles()), (4 + 6, 16 + 24, 2));
        let relu = widths.places(super::super::linear::ACT_RELU);
        assert_eq!((relu.y[1], relu.saved[1], relu.dy[1], relu.y[2], relu.dy[2], relu.units), (1, 1, 9, 17, 25, 33));
        let mish = widths.places(super::super::linear::ACT_MISH);
        assert_eq!((mish.y[1], mish.saved[1], mish.dy[1], mish.y[2], mish.dy[2], mish.units), (1, 9, 17, 25, 33, 41));
        assert_eq!(widths.tape(0, 9), 33 * 16);
    }
}
