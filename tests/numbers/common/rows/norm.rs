//! Rows of batch normalisation: short batches, with auxiliary images and without, one value a channel, offset channels and
//! channels of variance 0. Offsets stay small where the reference kernel squares them: the running error counts x - mean by the size
//! of x. The large ones have a derivation of their own (`op_parity`, "keeps its variance").

use super::{OFFSET, Row, fill, poison};
use vifo::ops::Op;
use vifo::ops::linear::{ACT_NONE, ACT_RELU, ACT_SILU};
use vifo::ops::norm::*;

/// data images, valid ones, auxiliary images, pixels, c.
const SHAPES: [(u32, u32, u32, u32, u32); 14] = [
    (1, 1, 0, 1, 1),
    (1, 1, 1, 1, 3),
    (7, 7, 0, 1, 5),
    (7, 1, 0, 1, 33),
    (7, 4, 0, 4, 3),
    (7, 5, 7, 35, 5),
    (8, 3, 2, 1, 16),
    (1, 1, 0, 64, 33),
    (1, 1, 6, 81, 1),
    (7, 7, 0, 81, 16),
    (7, 6, 1, 64, 3),
    (65, 40, 64, 1, 5),
    // More parts than lanes add them up.
    (64, 60, 3, 81, 5),
    (64, 64, 0, 81, 3),
];
const REPLICAS: [u32; 2] = [1, 3];
const EPS: f32 = 1e-5;

/// Values about 0, about 3, and a constant, channel by channel; the kinds change places with the row.
fn values(rows: u32, c: u32, row: usize) -> Vec<f32> {
    let mut x = fill((rows * c) as usize, 1, -1.0, 1.0);
    for (i, v) in x.iter_mut().enumerate() {
        match (i % c as usize + row) % 3 {
            0 => {}
            1 => *v += 3.0,
            _ => *v = 0.03,
        }
    }
    x
}

/// [R, 2, 2, c]: means as `values` has them and any positive inverse deviation.
fn stats(replicas: u32, c: u32, row: usize, offset: f32) -> Vec<f32> {
    let mut stats = fill((replicas * 4 * c) as usize, 2, 0.5, 2.0);
    for (i, s) in stats.iter_mut().enumerate() {
        let channel = i % c as usize;
        if (i / c as usize).is_multiple_of(2) {
            *s = if (channel + row) % 3 == 1 { offset } else { 0.1 * *s };
        }
    }
    stats
}

/// `values` with the second kind about `offset`: here the reference kernel only subtracts the given mean.
fn offset_values(rows: u32, c: u32, row: usize, offset: f32) -> Vec<f32> {
    let mut x = values(rows, c, row);
    x.iter_mut().enumerate().filter(|(i, _)| (i % c as usize + row) % 3 == 1).for_each(|(_, v)| *v += offset - 3.0);
    x
}

pub fn batch_norm_stats() -> Vec<Row> {
    let mut all = vec![];
    for (s, (data_images, valid, aux, pixels, c)) in SHAPES.into_iter().enumerate() {
        for replicas in REPLICAS {
            for kind in 0..3 {
                let images = data_images + aux;
                let running_stride = OFFSET + 2 * c + 3;
                let p = BatchNormStats {
                    replicas,
                    images,
                    data_images,
                    pixels,
                    c,
                    running: OFFSET,
                    running_stride,
                    eps: EPS,
                    momentum: 0.1,
                };
                let x = values(replicas * images * pixels, c, s + kind);
                let running = fill((replicas * running_stride) as usize, 4, 0.1, 1.0);
                let row = Row::new(
                    Op::BatchNormStats(p),
                    format!("{p:?} {valid} valid, kind {kind}"),
                    vec![x],
                    vec![poison((replicas * 4 * c) as usize), running],
                );
                all.push(row.with(|a| a.n_valid = valid));
            }
        }
    }
    all
}

pub fn batch_norm_running() -> Vec<Row> {
    let mut all = vec![];
    for replicas in REPLICAS {
        for c in [1, 3, 5, 16, 33, 65] {
            let running_stride = OFFSET + 2 * c + 3;
            let p = BatchNormRunning { replicas, c, running: OFFSET, running_stride, eps: EPS };
            let mut running = fill((replicas * running_stride) as usize, 1, 0.01, 2.0);
            running[(OFFSET + c) as usize] = 0.0; // a channel without variance
            let stats = poison((replicas * 4 * c) as usize);
            all.push(Row::new(Op::BatchNormRunning(p), format!("{p:?}"), vec![running], vec![stats]));
        }
    }
    all
}

/// Of gamma, beta and P: other weights before, between and behind.
fn place(c: u32) -> (u32, u32, u32) {
    (OFFSET, OFFSET + c + 2, OFFSET + 2 * c + 5)
}

pub fn batch_norm_forward() -> Vec<Row> {
    let mut all = vec![];
    for (s, (data_images, _, aux, pixels, c)) in SHAPES.into_iter().enumerate() {
        for (i, replicas) in REPLICAS.into_iter().enumerate() {
            for activation in [ACT_NONE, ACT_RELU, ACT_SILU] {
                let images = data_images + aux;
                let (gamma, beta, weights_stride) = place(c);
                let p = BatchNormForward {
                    replicas,
                    images,
                    data_images,
                    pixels,
                    c,
                    gamma,
                    beta,
                    weights_stride,
                    activation,
                };
                let offset = [1e3, 3.0][i];
                let given = vec![
                    offset_values(replicas * images * pixels, c, s, offset),
                    stats(replicas, c, s, offset),
                    fill((replicas * weights_stride) as usize, 3, -1.0, 1.0),
                ];
                let y = poison(given[0].len());
                all.push(Row::new(Op::BatchNormForward(p), format!("{p:?}"), given, vec![y]));
            }
        }
    }
    all
}

/// x, y and dy of a backward pass; y = 0 is the kink itself, where the slope is 0.
fn passes(rows: u32, c: u32, row: usize, offset: f32) -> Vec<Vec<f32>> {
    let n = (rows * c) as usize;
    let mut y = fill(n, 5, -2.0, 2.0);
    y[n - 1] = 0.0;
    vec![offset_values(rows, c, row, offset), y, fill(n, 6, -1.0, 1.0)]
}

pub fn batch_norm_sums() -> Vec<Row> {
    let mut all = vec![];
    for (s, (data_images, valid, aux, pixels, c)) in SHAPES.into_iter().enumerate() {
        for (i, replicas) in REPLICAS.into_iter().enumerate() {
            for activation in [ACT_NONE, ACT_RELU, ACT_SILU] {
                let images = data_images + aux;
                let (gamma, beta, weights_stride) = place(c);
                let p =
                    BatchNormSums { replicas, images, data_images, pixels, c, gamma, beta, weights_stride, activation };
                let offset = [1e3, 3.0][i];
                let mut given = passes(replicas * images * pixels, c, s, offset);
                given.push(stats(replicas, c, s, offset));
                let outputs = vec![poison((replicas * 4 * c) as usize), poison((replicas * weights_stride) as usize)];
                let row = Row::new(Op::BatchNormSums(p), format!("{p:?} {valid} valid"), given, outputs);
                all.push(row.with(|a| a.n_valid = valid));
            }
        }
    }
    all
}

pub fn batch_norm_backward() -> Vec<Row> {
    let mut all = vec![];
    for (s, (data_images, valid, aux, pixels, c)) in SHAPES.into_iter().enumerate() {
        for (i, replicas) in REPLICAS.into_iter().enumerate() {
            for activation in [ACT_NONE, ACT_RELU, ACT_SILU] {
                let images = data_images + aux;
                let (gamma, _, weights_stride) = place(c);
                let p =
                    BatchNormBackward { replicas, images, data_images, pixels, c, gamma, weights_stride, activation };
                let offset = [1e3, 3.0][i];
                let mut given = passes(replicas * images * pixels, c, s, offset);
                given.push(stats(replicas, c, s, offset));
                given.push(fill((replicas * 4 * c) as usize, 7, -0.5, 0.5));
                given.push(fill((replicas * weights_stride) as usize, 3, -1.0, 1.0));
                let dx = poison(given[0].len());
                let row = Row::new(Op::BatchNormBackward(p), format!("{p:?} {valid} valid"), given, vec![dx]);
                all.push(row.with(|a| a.n_valid = valid));
            }
        }
    }
    all
}

pub fn add() -> Vec<Row> {
    let row = |count: u32| {
        let n = count as usize;
        let given = vec![fill(n, 1, -1.0, 1.0), fill(n, 2, -1.0, 1.0)];
        Row::new(Op::Add(Add { count }), format!("{count}"), given, vec![poison(n)])
    };
    [1, 63, 64, 65, 1000].map(row).to_vec()
}
