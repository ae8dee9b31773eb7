//! Factors: columns about the lanes of a vector (16) and what a workgroup sums, rows about its four lanes a column.

use super::{Row, SHARES, fill, poison};
use vifo::ops::Op;
use vifo::ops::factor::{FactorBackwardData, FactorBackwardWeight, FactorForward};
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU};

/// Rows and columns.
const CASES: [(u32, u32); 9] = [(1, 1), (3, 5), (4, 15), (5, 16), (17, 17), (63, 31), (65, 3), (64, 64), (130, 50)];
const ACTIVATIONS: [u32; 5] = [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU];
/// Other weights before and behind.
const WEIGHT: u32 = 5;

fn cases() -> impl Iterator<Item = FactorForward> {
    ACTIVATIONS.into_iter().flat_map(|activation| {
        CASES.into_iter().flat_map(move |(rows, n)| {
            SHARES.into_iter().map(move |(replicas, share)| {
                let (weight, stride) = (WEIGHT, WEIGHT + n + 2);
                FactorForward { replicas, share, rows, n, weight, stride, activation }
            })
        })
    })
}

/// About zero, the kink itself among them.
fn x(p: &FactorForward, replicas: u32) -> Vec<f32> {
    let mut x = fill((replicas * p.rows * p.n) as usize, 1, -3.0, 3.0);
    x[0] = 0.0;
    x
}

/// Factors of either sign and beyond 1.
fn weights(p: &FactorForward) -> Vec<f32> {
    fill((p.replicas * p.stride) as usize, 2, -0.5, 2.0)
}

fn len(p: &FactorForward) -> usize {
    (p.replicas * p.rows * p.n) as usize
}

pub fn factor_forward() -> Vec<Row> {
    let row = |p: FactorForward| {
        let inputs = vec![x(&p, p.replicas / p.share), weights(&p)];
        Row::new(Op::FactorForward(p), format!("{p:?}"), inputs, vec![poison(len(&p))])
    };
    cases().map(row).collect()
}

pub fn factor_backward_data() -> Vec<Row> {
    let row = |p: FactorForward| {
        let FactorForward { replicas, rows, n, weight, stride, activation, .. } = p;
        let op = FactorBackwardData { replicas, rows, n, weight, stride, activation };
        let inputs = vec![x(&p, replicas), fill(len(&p), 3, -1.0, 1.0), weights(&p)];
        Row::new(Op::FactorBackwardData(op), format!("{op:?}"), inputs, vec![poison(len(&p))])
    };
    cases().filter(|p| p.share == 1).map(row).collect()
}

pub fn factor_backward_weight() -> Vec<Row> {
    let row = |p: FactorForward| {
        let FactorForward { replicas, share, rows, n, weight, stride, activation } = p;
        let op = FactorBackwardWeight { replicas, share, rows, n, weight, stride, activation };
        let inputs = vec![x(&p, replicas / share), fill(len(&p), 3, -1.0, 1.0)];
        let grad = poison((replicas * stride) as usize);
        Row::new(Op::FactorBackwardWeight(op), format!("{op:?}"), inputs, vec![grad])
    };
    cases().map(row).collect()
}
