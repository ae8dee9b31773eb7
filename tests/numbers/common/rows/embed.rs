//! The embedding of levels: batches about a workgroup (64), one column, several, all inputs, tables of one row and of thousands,
//! numbers between levels and outside of the table.

use super::{Row, SHARES, fill, poison};
use vifo::ops::Op;
use vifo::ops::embed::{EmbedBackward, EmbedBackwardData, EmbedForward, n_out};

/// Input, rows of its table, numbers of each.
type Column = (u32, u32, u32);

/// Rows, inputs and the embedded ones.
const CASES: [(u32, u32, &[Column]); 8] = [
    (1, 1, &[(0, 1, 1)]),
    (2, 3, &[(2, 5, 3)]),
    (15, 2, &[(0, 3, 2), (1, 7, 4)]),
    (63, 4, &[(1, 63, 5), (3, 2, 2)]),
    (64, 5, &[(4, 64, 16)]),
    (65, 3, &[(0, 65, 1), (2, 130, 7)]),
    (130, 6, &[(0, 4, 3), (1, 5, 3), (3, 6, 4), (5, 9, 2)]),
    (33, 2, &[(1, 3001, 16)]),
];

fn cases() -> impl Iterator<Item = (EmbedForward, &'static [Column])> {
    CASES.into_iter().flat_map(|(rows, n_in, columns)| {
        SHARES.into_iter().map(move |(replicas, share)| {
            let sum = |of: fn(&Column) -> u32| columns.iter().map(of).sum::<u32>();
            let (width, levels, length) = (sum(|c| c.2), sum(|c| c.1), sum(|c| c.1 * c.2));
            // Other weights before and behind.
            let (table, embedded) = (5, columns.len() as u32);
            let stride = table + length + 3;
            (EmbedForward { replicas, share, rows, n_in, embedded, width, levels, table, length, stride }, columns)
        })
    })
}

/// Numbers from one below the table to one behind it, some whole and some not; those of the other inputs anything.
fn inputs(p: &EmbedForward, columns: &[Column]) -> Vec<f32> {
    let mut x = fill((p.replicas / p.share * p.rows * p.n_in) as usize, 1, -3.0, 3.0);
    for &(input, levels, _) in columns {
        for (row, x) in x.chunks_exact_mut(p.n_in as usize).enumerate() {
            let value = (row * 7 % (levels as usize + 2)) as f32 - 1.0;
            // The first rows share a level, so that sums have several terms.
            x[input as usize] = if row < 3 { 0.0 } else { value + 0.25 * (row % 4) as f32 };
        }
    }
    x
}

fn constants(columns: &[Column]) -> Vec<f32> {
    columns.iter().flat_map(|c| [c.0, c.1, c.2]).map(|v| v as f32).collect()
}

fn outputs(p: &EmbedForward) -> usize {
    (p.replicas * p.rows * n_out(p.n_in, p.embedded, p.width)) as usize
}

pub fn embed_forward() -> Vec<Row> {
    let row = |(p, columns): (EmbedForward, &[Column])| {
        let weights = fill((p.replicas * p.stride) as usize, 2, -1.0, 1.0);
        let given = vec![inputs(&p, columns), weights, constants(columns)];
        Row::new(Op::EmbedForward(p), format!("{p:?}"), given, vec![poison(outputs(&p))])
    };
    cases().map(row).collect()
}

pub fn embed_backward() -> Vec<Row> {
    let row = |(p, columns): (EmbedForward, &[Column])| {
        let dy = fill(outputs(&p), 3, -1.0, 1.0);
        let EmbedForward { replicas, share, rows, n_in, embedded, width, levels, table, length, stride } = p;
        let op = EmbedBackward { replicas, share, rows, n_in, embedded, width, levels, table, length, stride };
        let given = vec![inputs(&p, columns), dy, constants(columns)];
        Row::new(Op::EmbedBackward(op), format!("{op:?}"), given, vec![poison((replicas * stride) as usize)])
    };
    cases().map(row).collect()
}

pub fn embed_backward_data() -> Vec<Row> {
    let row = |(p, columns): (EmbedForward, &[Column])| {
        let EmbedForward { replicas, rows, n_in, embedded, width, .. } = p;
        let op = EmbedBackwardData { replicas, rows, n_in, embedded, width };
        let given = vec![fill(outputs(&p), 3, -1.0, 1.0), constants(columns)];
        Row::new(Op::EmbedBackwardData(op), format!("{op:?}"), given, vec![poison((replicas * rows * n_in) as usize)])
    };
    cases().map(row).collect()
}
