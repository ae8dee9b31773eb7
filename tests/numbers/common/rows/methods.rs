//! Rows of the ops that belong to one method each: averages of weights, the Dirichlet head, repulsion, the variational last
//! layer.

use super::heads::{BATCHES, labels};
use super::{COUNTS, NORMALS, Row, SHARES, fill, poison};
use vifo::ops::Op;
use vifo::ops::average::{FadingMean, RepeatWeights, SwaCollect, SwagCollect, SwagSample};
use vifo::ops::dirichlet::DirichletHead;
use vifo::ops::head::{LIKELIHOOD_GAUSSIAN, LIKELIHOOD_SOFTMAX};
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU};
use vifo::ops::repulsion::{KernelWeights, PairDistances, Repulsion};
use vifo::ops::vbll::*;

/// No snapshot, the first, and later ones.
const SNAPSHOTS: [u32; 4] = [0, 1, 2, 23];

pub fn swa_collect() -> Vec<Row> {
    let mut all = vec![];
    for (replicas, count) in COUNTS {
        for collect in SNAPSHOTS {
            let n = (replicas * count) as usize;
            // The first snapshot forgets whatever stood there.
            let mean = if collect == 1 { poison(n) } else { fill(n, 2, -1.0, 1.0) };
            let op = Op::SwaCollect(SwaCollect { replicas, count });
            let row = Row::new(op, format!("{replicas} x {count}, {collect}"), vec![fill(n, 1, -1.0, 1.0)], vec![mean]);
            all.push(row.with(|a| a.collect = collect));
        }
    }
    all
}

pub fn fading_mean() -> Vec<Row> {
    let mut all = vec![];
    for (replicas, count) in COUNTS {
        for (share, step) in [(0.1, 0), (0.1, 1), (0.001, 20), (0.25, 100), (0.001, 20_000_003)] {
            let n = (replicas * count) as usize;
            // The first step forgets whatever stood there.
            let mean = if step == 0 { poison(n) } else { fill(n, 2, -1.0, 1.0) };
            let p = FadingMean { replicas, count, share };
            let row = Row::new(Op::FadingMean(p), format!("{p:?} {step}"), vec![fill(n, 1, -1.0, 1.0)], vec![mean]);
            all.push(row.with(|a| a.step = step));
        }
    }
    all
}

pub fn swag_collect() -> Vec<Row> {
    let mut all = vec![];
    for (replicas, count) in COUNTS {
        for (columns, snapshots) in [(1, SNAPSHOTS), (4, SNAPSHOTS), (20, [1, 20, 21, 40])] {
            for collect in snapshots {
                let n = (replicas * count) as usize;
                let p = SwagCollect { replicas, count, columns };
                let start = |seed, low| if collect == 1 { poison(n) } else { fill(n, seed, low, 1.0) };
                let outputs = vec![start(2, -1.0), start(3, 0.0), fill(n * columns as usize, 4, -1.0, 1.0)];
                let row =
                    Row::new(Op::SwagCollect(p), format!("{p:?} {collect}"), vec![fill(n, 1, -1.0, 1.0)], outputs);
                all.push(row.with(|a| a.collect = collect));
            }
        }
    }
    all
}

pub fn swag_sample() -> Vec<Row> {
    let mut all = vec![];
    for (members, samples) in [(1, 1), (3, 5)] {
        for count in [1, 5, 63, 64, 66, 258] {
            for (columns, filled) in [(1, 1), (3, 0), (3, 2), (7, 7), (20, 20), (2, 9)] {
                let p = SwagSample { members, samples, count, columns, first_replica: 2 * samples, stream: 6 };
                let n = (members * count) as usize;
                // Variances below the floor too.
                let variance = fill(n, 2, -0.01, 0.04);
                let inputs = vec![fill(n, 1, -1.0, 1.0), variance, fill(n * columns as usize, 3, -0.3, 0.3)];
                let row = Row::new(
                    Op::SwagSample(p),
                    format!("{p:?}, {filled} filled"),
                    inputs,
                    vec![poison(n * samples as usize)],
                );
                all.push(row.drawing(NORMALS).with(|a| a.n_samples = filled));
            }
        }
    }
    all
}

pub fn repeat_weights() -> Vec<Row> {
    let mut all = vec![];
    for (members, count) in COUNTS {
        for samples in [1, 3] {
            let p = RepeatWeights { members, samples, count };
            let n = (members * count) as usize;
            let outputs = vec![poison(n * samples as usize)];
            all.push(Row::new(Op::RepeatWeights(p), format!("{p:?}"), vec![fill(n, 1, -1.0, 1.0)], outputs));
        }
    }
    all
}

pub fn dirichlet_head() -> Vec<Row> {
    let mut all = vec![];
    for k in [2, 3, 10, 33] {
        for (rows, valid) in BATCHES {
            for (replicas, share) in SHARES {
                let p = DirichletHead { replicas, rows, k, share };
                let n = (replicas * rows * k) as usize;
                let mut z = fill(n, 1, -10.0, 10.0);
                // The kink itself, and a row of a flat Dirichlet: no slope, no divergence.
                z[0] = 0.0;
                z[n - k as usize..].fill(-1.0);
                let inputs = vec![z, labels((replicas / share * rows) as usize, k)];
                let outputs = vec![poison((replicas * rows * 3) as usize), poison(n)];
                let row = Row::new(Op::DirichletHead(p), format!("{p:?} {valid} valid"), inputs, outputs);
                all.push(row.with(|a| a.n_valid = valid));
            }
        }
    }
    all
}

/// replicas, of a group, rows, cols (0: weight space, of `rows` numbers), valid rows.
const PARTICLES: [(u32, u32, u32, u32, u32); 12] = [
    (1, 1, 1, 1, 1),
    (2, 2, 63, 0, 1),
    (3, 3, 65, 0, 1),
    (5, 5, 1000, 0, 1),
    (5, 5, 33, 3, 33),
    (5, 5, 65, 10, 40),
    (10, 10, 7, 2, 1),
    (2, 2, 64, 2, 33),
    (3, 1, 9, 2, 9),
    (6, 3, 65, 0, 1),
    (6, 2, 33, 3, 20),
    (65, 5, 5, 2, 4),
];

fn count_of(rows: u32, cols: u32) -> u32 {
    rows * cols.max(1)
}

pub fn pair_distances() -> Vec<Row> {
    let mut all = vec![];
    for (replicas, group, rows, cols, valid) in PARTICLES {
        let p = PairDistances { replicas, group, count: count_of(rows, cols), cols };
        let v = fill((replicas * p.count) as usize, 1, -2.0, 2.0);
        let outputs = vec![poison((replicas * group) as usize)];
        let row = Row::new(Op::PairDistances(p), format!("{p:?} {valid} valid"), vec![v], outputs);
        all.push(row.with(|a| a.n_valid = valid));
    }
    all
}

pub fn kernel_weights() -> Vec<Row> {
    let mut all = vec![];
    let alone = [1, 2, 3, 4, 5, 16, 63, 64].map(|n| (n, n));
    for (replicas, group) in alone.into_iter().chain([(6, 3), (5, 1), (130, 13), (128, 64), (70, 2)]) {
        for (label, spread) in [("apart", 2.0), ("in one place", 0.0)] {
            let (n, g) = (replicas as usize, group as usize);
            // Points in a plane, some of them in pairs, so that distances repeat.
            let v = fill(2 * n, 1, -spread, spread);
            let at = |i: usize| [v[i / 2 * 2 % (2 * n)], v[2 * n - 1 - i]];
            let distance = |i: usize| {
                let (a, b) = (at(i / g), at(i / g / g * g + i % g));
                (0..2).map(|c| (a[c] - b[c]).powi(2)).sum()
            };
            let distances = (0..n * g).map(distance).collect();
            let outputs = vec![poison(n * (g + 1))];
            let op = Op::KernelWeights(KernelWeights { replicas, group });
            all.push(Row::new(op, format!("{replicas} by {group} {label}"), vec![distances], outputs));
        }
    }
    all
}

pub fn repulsion() -> Vec<Row> {
    let mut all = vec![];
    for (replicas, group, rows, cols, valid) in PARTICLES {
        let p = Repulsion { replicas, group, count: count_of(rows, cols), cols, n_rows: 77, prior_variance: 5.0 };
        let n = (replicas * p.count) as usize;
        let kernel = fill((replicas * (group + 1)) as usize, 2, 0.0, 1.5);
        let inputs = vec![fill(n, 1, -2.0, 2.0), kernel];
        let outputs = vec![fill(n, 3, -1.0, 1.0), poison(replicas as usize)];
        let row = Row::new(Op::Repulsion(p), format!("{p:?} {valid} valid"), inputs, outputs);
        all.push(row.with(|a| a.n_valid = valid));
    }
    all
}

/// rows, n_in, k.
const LAST_LAYERS: [(u32, u32, u32); 7] =
    [(1, 1, 1), (63, 1, 10), (5, 3, 65), (65, 65, 3), (64, 64, 4), (130, 17, 33), (3, 130, 1)];

/// Where mean, log_scale and log_noise lie, and P: other weights before, between and behind.
fn place(n_in: u32, k: u32) -> (u32, u32, u32, u32) {
    let n = n_in * k;
    (5, 7 + n, 8 + 2 * n, 8 + 2 * n + k + 3)
}

pub fn vbll_forward() -> Vec<Row> {
    let mut all = vec![];
    for (rows, n_in, k) in LAST_LAYERS {
        for (replicas, share) in SHARES {
            let (mean, log_scale, log_noise, stride) = place(n_in, k);
            let p = VbllForward { replicas, share, rows, n_in, k, mean, log_scale, log_noise, stride };
            let inputs = vec![
                fill((replicas / share * rows * n_in) as usize, 1, -1.0, 1.0),
                fill((replicas * stride) as usize, 2, -1.5, 1.0),
            ];
            let outputs = vec![poison((replicas * rows * 3 * k) as usize)];
            all.push(Row::new(Op::VbllForward(p), format!("{p:?}"), inputs, outputs));
        }
    }
    all
}

pub fn vbll_backward_data() -> Vec<Row> {
    let mut all = vec![];
    for activation in [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU] {
        for (rows, n_in, k) in LAST_LAYERS {
            for replicas in [1, 3] {
                let (mean, log_scale, _, stride) = place(n_in, k);
                let p = VbllBackwardData { replicas, rows, n_in, k, mean, log_scale, stride, activation };
                let dx = (replicas * rows * n_in) as usize;
                let mut saved = fill(if activation == ACT_NONE { 1 } else { dx }, 4, -3.0, 3.0);
                saved[0] = 0.0; // the kink itself: the slope there is 0
                let inputs = vec![
                    fill(dx, 1, -1.0, 1.0),
                    fill((replicas * rows * 3 * k) as usize, 2, -1.0, 1.0),
                    fill((replicas * stride) as usize, 3, -1.5, 1.0),
                    saved,
                ];
                all.push(Row::new(Op::VbllBackwardData(p), format!("{p:?}"), inputs, vec![poison(dx)]));
            }
        }
    }
    all
}

pub fn vbll_backward_weight() -> Vec<Row> {
    let mut all = vec![];
    for (rows, n_in, k) in LAST_LAYERS {
        for (replicas, share) in SHARES {
            let (mean, log_scale, log_noise, stride) = place(n_in, k);
            let p = VbllBackwardWeight { replicas, share, rows, n_in, k, mean, log_scale, log_noise, stride };
            let w = (replicas * stride) as usize;
            let inputs = vec![
                fill((replicas / share * rows * n_in) as usize, 1, -1.0, 1.0),
                fill((replicas * rows * 3 * k) as usize, 2, -1.0, 1.0),
                fill(w, 3, -1.5, 1.0),
            ];
            all.push(Row::new(Op::VbllBackwardWeight(p), format!("{p:?}"), inputs, vec![poison(w)]));
        }
    }
    all
}

/// (mean, variance, log noise) of each row.
fn outputs(rows: usize, k: usize) -> Vec<f32> {
    let parts = [fill(rows * k, 1, -10.0, 10.0), fill(rows * k, 2, 0.0, 4.0), fill(rows * k, 3, -2.0, 0.5)];
    (0..rows * 3 * k).map(|i| parts[i / k % 3][i / (3 * k) * k + i % k]).collect()
}

pub fn vbll_head() -> Vec<Row> {
    let mut all = vec![];
    for (likelihood, k) in
        [(LIKELIHOOD_GAUSSIAN, 1), (LIKELIHOOD_SOFTMAX, 2), (LIKELIHOOD_SOFTMAX, 10), (LIKELIHOOD_SOFTMAX, 33)]
    {
        for (rows, valid) in BATCHES {
            for (replicas, share) in SHARES {
                let p = VbllHead { replicas, rows, k, share, likelihood };
                let n = (replicas * rows) as usize;
                let targets = n / share as usize;
                let targets =
                    if likelihood == LIKELIHOOD_GAUSSIAN { fill(targets, 4, -2.0, 2.0) } else { labels(targets, k) };
                let row = Row::new(
                    Op::VbllHead(p),
                    format!("{p:?} {valid} valid"),
                    vec![outputs(n, k as usize), targets],
                    vec![poison(3 * n), poison(3 * n * k as usize)],
                );
                all.push(row.with(|a| a.n_valid = valid));
            }
        }
    }
    all
}

pub fn vbll_regularizer() -> Vec<Row> {
    let mut all = vec![];
    for (_, n_in, k) in LAST_LAYERS {
        for replicas in [1, 3] {
            let (mean, log_scale, log_noise, stride) = place(n_in, k);
            let p = VbllRegularizer { replicas, n_in, k, mean, log_scale, log_noise, stride, n_rows: 77 };
            let w = (replicas * stride) as usize;
            let outputs = vec![fill(w, 2, -1.0, 1.0), poison(replicas as usize)];
            all.push(Row::new(Op::VbllRegularizer(p), format!("{p:?}"), vec![fill(w, 1, -1.5, 1.0)], outputs));
        }
    }
    all
}
