//! The periodic embedding: rows about the lanes of a vector (16) and a workgroup (64), all inputs embedded, some, the last one.

use super::{Row, SHARES, fill, poison};
use vifo::ops::Op;
use vifo::ops::periodic::{MADE, PeriodicBackward, PeriodicForward, WAVES, n_out};

/// Rows, inputs, and which of them are embedded.
const CASES: [(u32, u32, &[u32]); 8] = [
    (1, 1, &[0]),
    (2, 3, &[2]),
    (15, 2, &[0, 1]),
    (16, 4, &[1, 3]),
    (17, 5, &[4]),
    (63, 3, &[0, 2]),
    (65, 8, &[0, 1, 2, 3, 4, 5, 6, 7]),
    (130, 9, &[0, 3, 4, 8]),
];

fn cases() -> impl Iterator<Item = (PeriodicForward, Vec<f32>)> {
    CASES.into_iter().flat_map(|(rows, n_in, columns)| {
        SHARES.into_iter().map(move |(replicas, share)| {
            let embedded = columns.len() as u32;
            // Other weights before, between and behind.
            let frequency = 5;
            let phase = frequency + embedded * WAVES + 1;
            let weight = phase + embedded * WAVES + 2;
            let bias = weight + embedded * WAVES * MADE + 3;
            let stride = bias + embedded * MADE + 4;
            let p = PeriodicForward { replicas, share, rows, n_in, embedded, frequency, phase, weight, bias, stride };
            (p, columns.iter().map(|c| *c as f32).collect())
        })
    })
}

/// Inputs up to 3 sd, frequencies and phases up to some turns.
fn inputs(p: &PeriodicForward) -> [Vec<f32>; 2] {
    let x = fill((p.replicas / p.share * p.rows * p.n_in) as usize, 1, -3.0, 3.0);
    [x, fill((p.replicas * p.stride) as usize, 2, -3.2, 3.2)]
}

fn outputs(p: &PeriodicForward) -> usize {
    (p.replicas * p.rows * n_out(p.n_in, p.embedded)) as usize
}

pub fn periodic_forward() -> Vec<Row> {
    let row = |(p, columns): (PeriodicForward, Vec<f32>)| {
        let [x, weights] = inputs(&p);
        Row::new(Op::PeriodicForward(p), format!("{p:?}"), vec![x, weights, columns], vec![poison(outputs(&p))])
    };
    cases().map(row).collect()
}

pub fn periodic_backward() -> Vec<Row> {
    let row = |(p, columns): (PeriodicForward, Vec<f32>)| {
        let [x, weights] = inputs(&p);
        let dy = fill(outputs(&p), 3, -1.0, 1.0);
        let grad = poison(weights.len());
        let PeriodicForward { replicas, share, rows, n_in, embedded, frequency, phase, weight, bias, stride } = p;
        let op = PeriodicBackward { replicas, share, rows, n_in, embedded, frequency, phase, weight, bias, stride };
        Row::new(Op::PeriodicBackward(op), format!("{op:?}"), vec![x, dy, weights, columns], vec![grad])
    };
    cases().map(row).collect()
}
