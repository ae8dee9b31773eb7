//! Products with few columns, as of the last layer of a regression: a panel of 16 or 32 would be mostly zeros.

use super::tile::row_dots;
use super::{Epilogue, Even, Finish, InOrder, Isa, Mat, NARROW, PANEL, Panels, Runs, tiles};
use crate::base::Real;

/// Columns of C up to which rows of A are multiplied as dot products.
pub const DOTS: usize = 4;

/// A row of A times a few columns of B, both read along k: a panel of 16 columns would be mostly zeros. What is infinite in A
/// may come out as NaN.
pub fn dots<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    c: &mut [T],
    pack: &mut [T],
    e: &impl Epilogue<T>,
) {
    let padded = k.next_multiple_of(NARROW);
    // The last 16 of k begin where the row still holds 16; what the 16 before have counted meets zeros.
    for (j, column) in pack[..n * padded].chunks_exact_mut(padded).enumerate() {
        let whole = k / NARROW * NARROW;
        for (l, to) in column[..whole].iter_mut().enumerate() {
            *to = b.data[l * b.row + j * b.col];
        }
        for (i, to) in column[whole..].iter_mut().enumerate() {
            let l = k - NARROW + i;
            *to = if l < whole { T::zero() } else { b.data[l * b.row + j * b.col] };
        }
    }
    let columns = &pack[..n * padded];
    match n {
        1 => dots_of::<T, 1>(m, k, a, columns, c, e),
        2 => dots_of::<T, 2>(m, k, a, columns, c, e),
        3 => dots_of::<T, 3>(m, k, a, columns, c, e),
        _ => dots_of::<T, DOTS>(m, k, a, columns, c, e),
    }
}

fn dots_of<T: Real, const N: usize>(m: usize, k: usize, a: Mat<T>, columns: &[T], c: &mut [T], e: &impl Epilogue<T>) {
    let c = &mut c.as_chunks_mut::<N>().0[..m];
    assert!((m - 1) * a.row + k <= a.data.len() && k >= NARROW, "A is smaller than its sizes say");
    assert!(columns.len() == N * k.next_multiple_of(NARROW), "B is not as `dots` packs it");
    // SAFETY: the asserts are what it asks for; the processor was asked for its features.
    unsafe { row_dots(Isa::detect(), a.data, a.row, k, columns, c) };
    for (i, c) in c.iter_mut().enumerate() {
        *c = e.apply(i, 0, *c);
    }
}

/// C' = B' A', where C has few columns and A lies turned: then the long side of C fills the panels.
pub fn turned<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    c: &mut [T],
    pack: &mut [T],
    e: &impl Epilogue<T>,
) {
    let runs = Runs { count: 1, len: k, run: 0, col: b.row };
    let panels = Panels { data: a.data, ld: a.col, next: None, narrow: m < PANEL };
    let (pack, at) = (&mut pack[..n * m], Even { first: 0, stride: b.col });
    tiles(n, 0, m, b.data, at, runs, panels, false, pack, InOrder, &Finish::default());
    for i in 0..m {
        for j in 0..n {
            [c[i * n + j]] = e.apply(i, j, [pack[j * m + i]]);
        }
    }
}
