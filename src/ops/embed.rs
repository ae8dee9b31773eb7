//! Embedding of the levels of text columns (MATH.md section 6): the number of a level, a whole number from 0 on, becomes the
//! row of that number of a trained table [K, d], and the row goes on as (d numbers of every such column, all other inputs).
//! The tables of the columns lie one after another in the flat vector of each replica, from `table` on; `columns` [c, 3] says
//! of each column which input it is, its K and its d. A number is rounded down, so that one drawn between 0 and K is a
//! level; one outside of the table gives zeros.

use super::wide::share;
use super::{Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, binds, elements, fits, params, shared};
use crate::base::Real;
use rayon::prelude::*;

/// Numbers that `columns` holds of each.
pub const OF_COLUMN: u32 = 3;

params! {
    /// y [R, rows, width + n_in - embedded] from x [R or X, rows, n_in].
    EmbedForward {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        rows: u32,
        n_in: u32,
        /// c, the embedded columns among the `n_in`, ascending.
        embedded: u32,
        /// Numbers that they become: the sum of d.
        width: u32,
        /// Rows of all tables: the sum of K.
        levels: u32,
        table: u32,
        /// Numbers of all tables: the sum of K d.
        length: u32,
        /// P, the length of one replica's weight vector.
        stride: u32,
    }
}
params! {
    /// The gradient's range of the tables in grad [R, P]: each of their rows is the sum over the rows of x that hold its level,
    /// in their order, and 0 where none does.
    EmbedBackward {
        replicas: u32,
        share: u32,
        rows: u32,
        n_in: u32,
        embedded: u32,
        width: u32,
        levels: u32,
        table: u32,
        length: u32,
        stride: u32,
    }
}
params! {
    /// dx [R, rows, n_in] from dy: that of the other inputs as it is; none of a level's number.
    EmbedBackwardData {
        replicas: u32,
        rows: u32,
        n_in: u32,
        embedded: u32,
        width: u32,
    }
}

/// Numbers of an output row.
pub fn n_out(n_in: u32, embedded: u32, width: u32) -> u32 {
    (width + n_in).saturating_sub(embedded)
}

macro_rules! sizes {
    ($p:expr) => {{
        let p = $p;
        // A level has one number of the row at least, and a table one row.
        let columns = (1..=p.n_in).contains(&p.embedded) && p.width >= p.embedded && p.levels >= p.embedded;
        columns && shared(p.replicas, p.share) && fits(p.table, p.length.into(), p.stride)
    }};
}

impl OpSpec for EmbedForward {
    binds!(embed_forward: [x, weights, columns] -> [y]);
    const HALVES: &'static [&'static str] = &["y"];

    fn grid(&self) -> Grid {
        let row = u64::from(n_out(self.n_in, self.embedded, self.width));
        Grid::Threads(u64::from(self.replicas) * u64::from(self.rows) * row)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n_in]);
        let y = elements(&[self.replicas, self.rows, n_out(self.n_in, self.embedded, self.width)]);
        let columns = elements(&[self.embedded, OF_COLUMN]);
        (vec![x, elements(&[self.replicas, self.stride]), columns], vec![y])
    }
    fn sizes_agree(&self) -> bool {
        sizes!(self)
    }
    fn gradient(&self, _activation: u32) -> Option<Gradient> {
        let Self { replicas, share, rows, n_in, embedded, width, levels, table, length, stride } = *self;
        let of_tables = EmbedBackward { replicas, share, rows, n_in, embedded, width, levels, table, length, stride };
        let of_inputs = EmbedBackwardData { replicas, rows, n_in, embedded, width };
        Some(Gradient::Steps(vec![
            // What is kept says which inputs are levels.
            GradientStep {
                op: Op::EmbedBackward(of_tables),
                reads: &[Place::X, Place::Dy, Place::Kept],
                writes: &[Place::Grad],
            },
            GradientStep {
                op: Op::EmbedBackwardData(of_inputs),
                reads: &[Place::Dy, Place::Kept],
                writes: &[Place::Dx],
            },
        ]))
    }
}

impl OpSpec for EmbedBackward {
    binds!(embed_backward: [x, dy, columns] -> [grad]);
    const HALVES: &'static [&'static str] = &["dy"];

    fn grid(&self) -> Grid {
        // A thread owns a row of a table.
        Grid::Threads(u64::from(self.replicas) * u64::from(self.levels))
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.replicas / self.share.max(1), self.rows, self.n_in]);
        let dy = elements(&[self.replicas, self.rows, n_out(self.n_in, self.embedded, self.width)]);
        (vec![x, dy, elements(&[self.embedded, OF_COLUMN])], vec![elements(&[self.replicas, self.stride])])
    }
    fn sizes_agree(&self) -> bool {
        sizes!(self)
    }
}

impl OpSpec for EmbedBackwardData {
    binds!(embed_backward_data: [dy, columns] -> [dx]);
    const HALVES: &'static [&'static str] = &["dy", "dx"];

    fn grid(&self) -> Grid {
        Grid::Threads(u64::from(self.replicas) * u64::from(self.rows) * u64::from(self.n_in))
    }
    fn lengths(&self) -> Lengths {
        let dy = elements(&[self.replicas, self.rows, n_out(self.n_in, self.embedded, self.width)]);
        let dx = elements(&[self.replicas, self.rows, self.n_in]);
        (vec![dy, elements(&[self.embedded, OF_COLUMN])], vec![dx])
    }
    fn sizes_agree(&self) -> bool {
        (1..=self.n_in).contains(&self.embedded) && self.width >= self.embedded
    }
}

/// Where an embedded column is, and its table's place among the numbers of all tables.
#[derive(Clone, Copy)]
struct Column {
    input: usize,
    levels: usize,
    width: usize,
    /// First of its numbers in an output row, and in the tables.
    out: usize,
    table: usize,
}

/// The columns one after another; nothing of it is stored, since a step allocates nothing.
#[inline(always)]
fn each_column<T: Real>(columns: &[T], n_in: u32, mut see: impl FnMut(Column)) {
    let (mut out, mut table) = (0, 0);
    for of in columns.chunks_exact(OF_COLUMN as usize) {
        let [input, levels, width] = [of[0], of[1], of[2]].map(|v| v.f64() as usize);
        // As the shader, which must not read past a row whatever stands there.
        see(Column { input: input.min(n_in as usize - 1), levels, width, out, table });
        out += width;
        table += levels * width;
    }
}

impl Column {
    /// Its number among the levels; None outside of the table, and for what is no number.
    #[inline(always)]
    fn level<T: Real>(&self, value: T) -> Option<usize> {
        let value = value.f64();
        (value >= 0.0 && value < self.levels as f64).then_some(value as usize)
    }

    /// Where the level's numbers lie among those of the tables, if they are all there.
    #[inline(always)]
    fn row(&self, level: usize, length: usize) -> Option<std::ops::Range<usize>> {
        let first = self.table + level * self.width;
        (first + self.width <= length).then_some(first..first + self.width)
    }
}

/// The other inputs of a row and their places among the outputs.
#[inline(always)]
fn others<T: Real>(columns: &[T], n_in: usize, width: usize, mut see: impl FnMut(usize, usize)) {
    let mut embedded = columns.chunks_exact(OF_COLUMN as usize).map(|of| of[0].f64() as usize).peekable();
    let mut to = width;
    for input in 0..n_in {
        if embedded.peek() == Some(&input) {
            embedded.next();
        } else {
            see(input, to);
            to += 1;
        }
    }
}

#[inline(always)]
pub fn embed_forward<T: Real>(p: &EmbedForward, x: &[T], weights: &[T], columns: &[T], y: &mut [T]) {
    let (rows, n_in, stride) = (p.rows as usize, p.n_in as usize, p.stride as usize);
    let (width, row_out) = (p.width as usize, n_out(p.n_in, p.embedded, p.width) as usize);
    if rows == 0 {
        return;
    }
    share(y.len(), y.par_chunks_mut(rows * row_out).enumerate(), |(r, y)| {
        let x = &x[r / p.share as usize * rows * n_in..][..rows * n_in];
        let tables = &weights[r * stride + p.table as usize..][..p.length as usize];
        for (x, y) in x.chunks_exact(n_in).zip(y.chunks_exact_mut(row_out)) {
            each_column(columns, p.n_in, |c| {
                let y = &mut y[c.out..][..c.width];
                match c.level(x[c.input]).and_then(|level| c.row(level, tables.len())) {
                    Some(row) => y.copy_from_slice(&tables[row]),
                    None => y.fill(T::zero()),
                }
            });
            others(columns, n_in, width, |from, to| y[to] = x[from]);
        }
    });
}

#[inline(always)]
pub fn embed_backward<T: Real>(p: &EmbedBackward, x: &[T], dy: &[T], columns: &[T], grad: &mut [T]) {
    let (rows, n_in, stride) = (p.rows as usize, p.n_in as usize, p.stride as usize);
    let row_out = n_out(p.n_in, p.embedded, p.width) as usize;
    let replicas = grad.par_chunks_mut(stride).take(p.replicas as usize).enumerate();
    share(p.replicas as usize * p.length as usize, replicas, |(r, grad)| {
        let grad = &mut grad[p.table as usize..][..p.length as usize];
        grad.fill(T::zero());
        let x = &x[r / p.share as usize * rows * n_in..][..rows * n_in];
        let dy = &dy[r * rows * row_out..][..rows * row_out];
        for (x, dy) in x.chunks_exact(n_in).zip(dy.chunks_exact(row_out)) {
            each_column(columns, p.n_in, |c| {
                if let Some(row) = c.level(x[c.input]).and_then(|level| c.row(level, grad.len())) {
                    grad[row].iter_mut().zip(&dy[c.out..]).for_each(|(g, d)| *g += *d);
                }
            });
        }
    });
}

#[inline(always)]
pub fn embed_backward_data<T: Real>(p: &EmbedBackwardData, dy: &[T], columns: &[T], dx: &mut [T]) {
    let (n_in, row_out) = (p.n_in as usize, n_out(p.n_in, p.embedded, p.width) as usize);
    for (dx, dy) in dx.chunks_exact_mut(n_in).zip(dy.chunks_exact(row_out)) {
        dx.fill(T::zero());
        others(columns, n_in, p.width as usize, |from, to| dx[from] = dy[to]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input 1 of three has a table of 2 levels of 2 numbers, input 2 one of 3 levels of 1.
    const P: EmbedForward = EmbedForward {
        replicas: 1,
        share: 1,
        rows: 4,
        n_in: 3,
        embedded: 2,
        width: 3,
        levels: 5,
        table: 1,
        length: 7,
        stride: 9,
    };
    const COLUMNS: [f64; 6] = [1.0, 2.0, 2.0, 2.0, 3.0, 1.0];

    #[test]
    fn a_level_becomes_its_row_and_what_is_none_zeros() {
        let weights: Vec<f64> = (0..9).map(f64::from).collect();
        let x = [10.0, 0.0, 2.0, 20.0, 1.9, 0.0, 30.0, 2.0, -0.5, 40.0, f64::NAN, 3.0];
        let mut y = [f64::NAN; 16];
        embed_forward(&P, &x, &weights, &COLUMNS, &mut y);
        let want = [1.0, 2.0, 7.0, 10.0, 3.0, 4.0, 5.0, 20.0, 0.0, 0.0, 0.0, 30.0, 0.0, 0.0, 0.0, 40.0];
        assert_eq!(y, want);
    }

    /// Two rows of a level add up; a level without rows has a gradient of 0, and no number beside the tables is touched.
    #[test]
    fn rows_of_a_level_add_up() {
        let p = EmbedBackward {
            replicas: 1,
            share: 1,
            rows: 3,
            n_in: 3,
            embedded: 2,
            width: 3,
            levels: 5,
            table: 1,
            length: 7,
            stride: 9,
        };
        let x = [0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 9.0, 2.0];
        let dy: Vec<f64> = (1..=12).map(f64::from).collect();
        let mut grad = [f64::NAN; 9];
        embed_backward(&p, &x, &dy, &COLUMNS, &mut grad);
        assert_eq!(grad[1..8], [0.0, 0.0, 1.0 + 5.0, 2.0 + 6.0, 3.0, 0.0, 7.0 + 11.0]);
        assert!(grad[0].is_nan() && grad[8].is_nan());
        let p = EmbedBackwardData { replicas: 1, rows: 3, n_in: 3, embedded: 2, width: 3 };
        let mut dx = [f64::NAN; 9];
        embed_backward_data(&p, &dy, &COLUMNS, &mut dx);
        assert_eq!(dx, [4.0, 0.0, 0.0, 8.0, 0.0, 0.0, 12.0, 0.0, 0.0]);
    }
}
