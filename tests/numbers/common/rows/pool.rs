//! Rows of the pools: odd sizes, images smaller than a window, and ties.

use super::{Row, fill, poison};
use vifo::ops::Op;
use vifo::ops::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU};
use vifo::ops::pool::{AvgPoolBackward, AvgPoolForward, MaxPool2Backward, MaxPool2Forward};

/// images (batch times replicas), h, w, c.
const SHAPES: [(u32, u32, u32, u32); 9] = [
    (1, 1, 1, 1),
    (7, 1, 1, 3),
    (3, 2, 2, 1),
    (1, 2, 2, 33),
    (7, 5, 7, 3),
    (21, 5, 7, 5),
    (3, 8, 8, 16),
    (7, 9, 9, 33),
    (2, 1, 9, 5),
];
const ACTIVATIONS: [u32; 5] = [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU];

fn len(sizes: &[u32]) -> usize {
    sizes.iter().product::<u32>() as usize
}

/// An output without elements still has a buffer, which stays as it was.
fn output(sizes: &[u32]) -> usize {
    len(sizes).max(1)
}

/// Plain numbers, and numbers of five values, of which most windows hold the largest more than once.
fn tensors(n: usize) -> [(&'static str, Vec<f32>); 2] {
    let plain = fill(n, 1, -2.0, 2.0);
    let tied = plain.iter().map(|v| v.round()).collect();
    [("plain", plain), ("tied", tied)]
}

fn saved(n: usize, activation: u32) -> Vec<f32> {
    let mut saved = fill(if activation == ACT_NONE { 1 } else { n }, 3, -3.0, 3.0);
    saved[0] = 0.0; // the kink itself: the slope there is 0
    saved
}

pub fn max_pool2_forward() -> Vec<Row> {
    let mut all = vec![];
    for (images, h, w, c) in SHAPES {
        let p = MaxPool2Forward { images, h, w, c };
        for (kind, x) in tensors(len(&[images, h, w, c])) {
            let y = poison(output(&[images, h / 2, w / 2, c]));
            all.push(Row::new(Op::MaxPool2Forward(p), format!("{p:?} {kind}"), vec![x], vec![y]));
        }
    }
    all
}

pub fn max_pool2_backward() -> Vec<Row> {
    let mut all = vec![];
    for (images, h, w, c) in SHAPES {
        for activation in ACTIVATIONS {
            let p = MaxPool2Backward { images, h, w, c, activation };
            for (kind, x) in tensors(len(&[images, h, w, c])) {
                let n = x.len();
                let dy = fill(output(&[images, h / 2, w / 2, c]), 2, -1.0, 1.0);
                let given = vec![x, dy, saved(n, activation)];
                all.push(Row::new(Op::MaxPool2Backward(p), format!("{p:?} {kind}"), given, vec![poison(n)]));
            }
        }
    }
    all
}

/// Of the pooled size: the network's 8, the neutral 1, and sizes that do not divide the image.
const SIZES: [u32; 4] = [1, 2, 3, 8];

pub fn avg_pool_forward() -> Vec<Row> {
    let mut all = vec![];
    for (images, h, w, c) in SHAPES {
        for size in SIZES {
            let p = AvgPoolForward { images, h, w, c, size };
            let x = fill(len(&[images, h, w, c]), 1, -2.0, 2.0);
            let y = poison(output(&[images, h / size, w / size, c]));
            all.push(Row::new(Op::AvgPoolForward(p), format!("{p:?}"), vec![x], vec![y]));
        }
    }
    all
}

pub fn avg_pool_backward() -> Vec<Row> {
    let mut all = vec![];
    for (images, h, w, c) in SHAPES {
        for size in SIZES {
            for activation in ACTIVATIONS {
                let p = AvgPoolBackward { images, h, w, c, size, activation };
                let n = len(&[images, h, w, c]);
                let dy = fill(output(&[images, h / size, w / size, c]), 2, -1.0, 1.0);
                let given = vec![dy, saved(n, activation)];
                all.push(Row::new(Op::AvgPoolBackward(p), format!("{p:?}"), given, vec![poison(n)]));
            }
        }
    }
    all
}
