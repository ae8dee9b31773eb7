//! Rows of a small network's kernels. Behind a ReLU, and where it has its kink, every number is exact: weights are quarters, biases
//! odd multiples of half of what the products are multiples of, so that no sum is 0 and no rounding decides on which side it lies.

use super::heads::labels;
use super::{NORMALS, OFFSET, Row, fill, poison};
use bytemuck::Zeroable;
use vifo::ops::head::{
    LIKELIHOOD_GAUSSIAN, LIKELIHOOD_SOFTMAX, LIKELIHOOD_STUDENT, NOISE_EXP, NOISE_SOFTPLUS, Student,
};
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU};
use vifo::ops::mlp::*;
use vifo::ops::mlp_weights::{MlpGradient, MlpPack};
use vifo::ops::regularizer::{REG_EB, REG_MEAN, REG_MV, REG_NAIVE, REG_NONE, SIGMA_EXP, SIGMA_SOFTPLUS};
use vifo::ops::{Op, OpSpec};

/// Widths: octets and not, one layer and as many as there may be, narrow and wide.
const NETS: [&[u32]; 8] = [
    &[1, 2],
    &[1, 50, 50, 2],
    &[13, 50, 2],
    &[8, 8, 2],
    &[3, 17, 9, 2],
    &[65, 33, 2],
    &[5, 3, 4, 5, 6, 7, 9, 2],
    &[2, 129, 7, 2],
];

/// The same with another number of outputs.
fn net(i: usize, outputs: u32) -> Widths {
    let given = NETS[i % NETS.len()];
    let mut widths = Widths { n: [0; MOST_LAYERS + 1], layers: given.len() - 1 };
    widths.n[..given.len()].copy_from_slice(given);
    widths.n[widths.layers] = outputs;
    widths
}

/// Data rows, valid ones, auxiliary rows, replicas, replicas that share inputs, and targets.
const BATCHES: [(u32, u32, u32, u32, u32, u32); 6] = [
    (1, 1, 0, 1, 1, 1),
    (8, 7, 0, 3, 1, 1),
    (9, 9, 0, 3, 3, 3),
    (21, 13, 0, 2, 1, 2),
    (65, 65, 0, 2, 2, 1),
    (33, 1, 0, 9, 3, 3),
];

pub(super) fn quarters(n: usize, seed: u32, most: f32) -> Vec<f32> {
    fill(n, seed, -most, most).into_iter().map(|v| (4.0 * v).round() / 4.0).collect()
}

/// The flat weights of all replicas; `exact` for a ReLU.
pub(super) fn weights(widths: &Widths, replicas: u32, exact: bool) -> Vec<f32> {
    let mut all = vec![];
    for r in 0..replicas {
        // Inputs are multiples of 1/8.
        let mut grain = 8.0;
        for i in 0..widths.layers {
            let (n_in, n_out) = (widths.n[i] as usize, widths.n[i + 1] as usize);
            let (seed, is_last) = (100 * r + 2 * i as u32, i + 1 == widths.layers);
            let scale = (2.0 / n_in as f32).sqrt();
            if exact && !is_last {
                grain *= 4.0;
                all.extend(quarters(n_in * n_out, seed, if n_in > 16 { 0.4 } else { 1.0 }));
                let odd = |v: f32| (2.0 * (v * grain).round() + 1.0) / (2.0 * grain);
                all.extend(fill(n_out, seed + 1, -0.5, 0.5).into_iter().map(odd));
                grain *= 2.0;
            } else {
                all.extend(fill(n_in * n_out, seed, -scale, scale));
                all.extend(fill(n_out, seed + 1, -0.3, 0.3));
            }
        }
    }
    all
}

/// As `mlp_pack` lays them out.
fn packed(widths: &Widths, replicas: u32, exact: bool) -> Vec<f32> {
    let mut all = vec![];
    let flat = weights(widths, replicas, exact);
    let mut rest = &flat[..];
    for _ in 0..replicas {
        for i in 0..widths.layers {
            let n_out = widths.n[i + 1] as usize;
            for _ in 0..=widths.n[i] {
                let (row, behind) = rest.split_at(n_out);
                all.extend_from_slice(row);
                all.resize(all.len().next_multiple_of(8), 0.0);
                rest = behind;
            }
        }
    }
    all
}

fn with_widths(p: MlpPass, widths: &Widths) -> MlpPass {
    let [n0, n1, n2, n3, n4, n5, n6, n7] = widths.n;
    MlpPass { layers: widths.layers as u32, n0, n1, n2, n3, n4, n5, n6, n7, ..p }
}

fn pass_row(p: MlpPass, valid: u32, drawn: bool) -> Row {
    let widths = p.widths();
    let exact = p.activation == ACT_RELU;
    let x = fill((p.replicas / p.share * p.rows * p.n0) as usize, 1, -1.0, 1.0);
    let x = if exact { x.into_iter().map(|v| (8.0 * v).round() / 8.0).collect() } else { x };
    let n = (p.replicas / p.target_share * p.data_rows) as usize;
    let is_class = p.head == HEAD_SOFTMAX || p.head == HEAD_VIFO && p.likelihood == LIKELIHOOD_SOFTMAX;
    let targets = if is_class { labels(n, p.k) } else { fill(n, 2, -2.0, 2.0) };
    let (inputs, outputs) = p.lengths();
    let inputs_of = vec![x, targets, packed(&widths, p.replicas, exact)];
    assert_eq!(inputs_of.iter().map(Vec::len).collect::<Vec<_>>(), inputs, "{p:?}");
    let dx = if p.has_dx == 1 { poison(outputs[2]) } else { vec![0.0] };
    let row = Row::new(
        Op::MlpPass(p),
        format!("{p:?} {valid} valid"),
        inputs_of,
        vec![poison(outputs[0]), poison(outputs[1]), dx],
    );
    row.drawing(if drawn { NORMALS } else { (0.0, 0.0) }).with(|a| a.n_valid = valid)
}

fn base(i: usize, activation: u32) -> (MlpPass, u32) {
    let (data_rows, valid, aux, replicas, share, target_share) = BATCHES[i % BATCHES.len()];
    let p = MlpPass {
        replicas,
        share,
        target_share,
        rows: data_rows + aux,
        data_rows,
        activation,
        has_dx: u32::from(i % 3 == 1),
        k: 2,
        ..MlpPass::zeroed()
    };
    (p, valid)
}

/// Each pair of an activation and a head is a pipeline of its own, which takes a software adapter a second to make: not all are tried.
pub fn mlp_pass() -> Vec<Row> {
    let mut all = vec![];
    for i in 0..24 {
        let activation = [ACT_RELU, ACT_MISH, ACT_SILU, ACT_RELU, ACT_SELU][i % 5];
        let (p, valid) = base(i, activation);
        let noise_link = [NOISE_EXP, NOISE_SOFTPLUS][i / 2 % 2];
        let plain = MlpPass { head: HEAD_GAUSSIAN, noise_link, ..p };
        all.push(pass_row(with_widths(plain, &net(i, 2)), valid, false));
    }
    for i in 0..6 {
        let (p, valid) = base(i, ACT_RELU);
        let (nu, constant) = (4.0, Student::constant_of(4.0) as f32);
        let student = MlpPass { head: HEAD_STUDENT, nu, constant, noise_link: [NOISE_EXP, NOISE_SOFTPLUS][i % 2], ..p };
        all.push(pass_row(with_widths(student, &net(i, 2)), valid, false));
        let k = [2, 10, 32][i % 3];
        let softmax = MlpPass { head: HEAD_SOFTMAX, k, activation: ACT_MISH, ..p };
        all.push(pass_row(with_widths(softmax, &net(i + 1, k)), valid, false));
    }
    // VIFO's head: closed form, quadrature and samples, with auxiliary rows.
    for i in 0..16 {
        let (p, valid) = base(i, [ACT_RELU, ACT_MISH][i / 2 % 2]);
        let aux = [0, 9, 64][i % 3];
        let (likelihood, exact, k) = [
            (LIKELIHOOD_GAUSSIAN, 1, 2),
            (LIKELIHOOD_GAUSSIAN, 0, 2),
            (LIKELIHOOD_STUDENT, 1, 2),
            (LIKELIHOOD_SOFTMAX, 0, 3),
        ][i % 4];
        let p = MlpPass {
            rows: p.data_rows + aux,
            head: HEAD_VIFO,
            k,
            likelihood,
            sigma_link: [SIGMA_SOFTPLUS, SIGMA_EXP][i / 4 % 2],
            regularizer: [REG_NONE, REG_NAIVE, REG_MEAN, REG_MV, REG_EB][i % 5],
            exact,
            first_replica: 3,
            nu: if likelihood == LIKELIHOOD_STUDENT { 4.0 } else { 0.0 },
            constant: if likelihood == LIKELIHOOD_STUDENT { Student::constant_of(4.0) as f32 } else { 0.0 },
            ..p
        };
        all.push(pass_row(with_widths(p, &net(i, 2 * k)), valid, exact == 0));
    }
    all
}

pub fn mlp_pack() -> Vec<Row> {
    let mut all = vec![];
    for i in 0..NETS.len() {
        let (widths, replicas) = (net(i, 2), [1, 3][i % 2]);
        let first = [0, OFFSET][i / 2 % 2];
        let stride = first + widths.len() as u32 + first;
        let [n0, n1, n2, n3, n4, n5, n6, n7] = widths.n;
        let layers = widths.layers as u32;
        let p = MlpPack { replicas, stride, first, layers, n0, n1, n2, n3, n4, n5, n6, n7 };
        let inputs = vec![fill((replicas * stride) as usize, 2, -1.0, 1.0)];
        let outputs = vec![poison(replicas as usize * widths.packed())];
        all.push(Row::new(Op::MlpPack(p), format!("{p:?}"), inputs, outputs));
    }
    all
}

pub fn mlp_gradient() -> Vec<Row> {
    let mut all = vec![];
    for i in 0..16 {
        let (widths, (p, _)) = (net(i, 2 + i as u32), base(i, 0));
        let activation = [ACT_NONE, ACT_RELU, ACT_MISH][i % 3];
        let (replicas, rows, first) = (p.replicas, p.rows, [0, OFFSET][i / 2 % 2]);
        let stride = first + widths.len() as u32 + first;
        let [n0, n1, n2, n3, n4, n5, n6, n7] = widths.n;
        let layers = widths.layers as u32;
        let p = MlpGradient { replicas, rows, activation, stride, first, layers, n0, n1, n2, n3, n4, n5, n6, n7 };
        let mut tape = fill(p.lengths().0[0], 3, -1.0, 1.0);
        // Rows that are not there have no gradient: whatever their inputs are, nothing comes of them.
        let padded = 8 * rows.div_ceil(8) as usize;
        tape.iter_mut().enumerate().filter(|(at, _)| at % padded >= rows as usize).for_each(|(_, v)| *v = 0.0);
        let outputs = vec![poison((replicas * stride) as usize)];
        all.push(Row::new(Op::MlpGradient(p), format!("{p:?}"), vec![tape], outputs));
    }
    all
}
