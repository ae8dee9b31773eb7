//! Matrix product of the CPU kernels: C = epilogue(A B). `naive` is the oracle, `gemm` the fast form: B in panels of 32
//! columns, packed or in place, a register tile of a few rows, A read in place. It allocates nothing, so a training step does
//! not either, and at the small sizes of an MLP it beats the GEMM crates, which allocate a packing buffer per call. `tiles` is
//! the part that convolutions share: there A's rows are windows of an image, read in place as well. The last layer of a
//! regression, 2 or 4 columns wide, would leave a panel mostly empty: `dots` and `turned` are its forward and backward form.
//! The sum over k runs in one order whatever the thread count: results are bit-equal on 1 and n threads.

mod epilogue;
mod few_columns;
#[cfg(test)]
mod tests;
mod tile;

use crate::base::Real;
pub use crate::base::simd::Isa;
use crate::base::simd::wide;
pub use epilogue::{Epilogue, Finish, Gate, beside};
use few_columns::{DOTS, dots, turned};
pub(crate) use tile::Places;
use tile::{Last, TILE_ROWS, product, rows_at_a_time};

/// Columns of a packed panel.
const PANEL: usize = 32;
/// Columns of the narrow panel, for the last layers: K or 2K outputs.
const NARROW: usize = 16;
/// Elements of an operand that lies in the first-level cache whatever its strides.
const SMALL: usize = 1 << 12;
/// No size or stride reaches this.
const LARGEST: usize = 1 << 31;
/// Rows that a thread gets are a multiple of this.
const MIN_ROWS: usize = 8;
/// Work below which a second thread costs more than it brings (measured: about 10 us to wake one).
const PARALLEL_FLOPS: usize = 8 << 20;

/// A matrix read through strides: element (i, j) = data[i * row + j * col].
#[derive(Clone, Copy)]
pub struct Mat<'a, T> {
    pub data: &'a [T],
    pub row: usize,
    pub col: usize,
}

impl<'a, T> Mat<'a, T> {
    /// Row-major with `cols` columns.
    pub fn rows(data: &'a [T], cols: usize) -> Self {
        Mat { data, row: cols, col: 1 }
    }
    /// The transpose of a row-major matrix with `cols` columns.
    pub fn transposed(data: &'a [T], cols: usize) -> Self {
        Mat { data, row: 1, col: cols }
    }
}

/// Where the rows of a matrix are.
///
/// # Safety
/// The places that it sets are what they say of themselves: none of the `h` first is beyond `furthest`, and unless `step` is 0
/// they are so far apart. The product reads and writes memory that was compared with that alone.
pub(crate) unsafe trait Rows: Copy + Sync {
    /// The places of rows i to i + h, of which there is one at least; those behind mean nothing.
    fn set(&self, i: usize, h: usize, places: &mut Places);
    /// How many rows are evenly spaced, from the first on and from each multiple on.
    #[inline(always)]
    fn evenly(&self) -> usize {
        usize::MAX
    }
}

/// Evenly spaced rows.
#[derive(Clone, Copy)]
pub(crate) struct Even {
    pub first: usize,
    pub stride: usize,
}
// SAFETY: the places ascend, so the last one is the furthest: sizes and strides are far from wrapping round (`gemm` asserts it,
// `InOrder` counts rows).
unsafe impl Rows for Even {
    #[inline(always)]
    fn set(&self, i: usize, h: usize, places: &mut Places) {
        places.set_even(self.first + i * self.stride, self.stride, h);
    }
}

/// Row i is row i.
#[derive(Clone, Copy)]
pub(crate) struct InOrder;
// SAFETY: as for `Even`, whose places these are.
unsafe impl Rows for InOrder {
    #[inline(always)]
    fn set(&self, i: usize, h: usize, places: &mut Places) {
        places.set_even(i, 1, h);
    }
}

/// The columns of A from a row's beginning on: `count` runs of `len` elements, `col` apart within a run, runs `run` apart.
#[derive(Clone, Copy)]
pub(crate) struct Runs {
    pub count: usize,
    pub len: usize,
    pub run: usize,
    pub col: usize,
}

/// B [k, n] in panels of 16 or 32 columns: as `pack_panels` leaves them, or in place.
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a, T> {
    pub data: &'a [T],
    /// Elements from one row of a panel to the next.
    pub ld: usize,
    /// Elements from one packed panel to the next. In place there is none: the last panel ends with the last column, and
    /// shares some with the one before where n is no multiple. What both compute is the same.
    pub next: Option<usize>,
    /// 16 columns wide instead of 32.
    pub narrow: bool,
}

impl<'a, T> Panels<'a, T> {
    fn width(n: usize) -> usize {
        if n <= NARROW { NARROW } else { PANEL }
    }
    /// Elements of B packed.
    pub fn len(k: usize, n: usize) -> usize {
        k * n.next_multiple_of(Self::width(n))
    }
    /// B as `pack_panels` left it at the front of `data`.
    pub fn packed(data: &'a [T], k: usize, n: usize) -> Self {
        let width = Self::width(n);
        Panels { data: &data[..Self::len(k, n)], ld: width, next: Some(k * width), narrow: width == NARROW }
    }
}

/// Elements of packing space that `gemm` needs for B of k x n.
pub fn pack_len(k: usize, n: usize) -> usize {
    k * n.div_ceil(PANEL) * PANEL
}

/// C [m, n] = A [m, k] B [k, n], element by element.
pub fn naive<T: Real>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: &mut [T], epilogue: &impl Epilogue<T>) {
    for i in 0..m {
        for j in 0..n {
            let mut sum = T::zero();
            for l in 0..k {
                sum += a.data[i * a.row + l * a.col] * b.data[l * b.row + j * b.col];
            }
            c[i * n + j] = sum;
        }
        for j in 0..n {
            [c[i * n + j]] = epilogue.apply(i, j, [c[i * n + j]]);
        }
    }
}

/// C [m, n] = A [m, k] B [k, n]; `pack` holds at least `pack_len(k, n)` elements.
pub fn gemm<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    c: &mut [T],
    pack: &mut [T],
    epilogue: &impl Epilogue<T>,
) {
    // So that no place computed from them wraps round.
    assert!((m | n | k | a.row | a.col | b.row | b.col) < LARGEST, "sizes and strides of a product are below 2^31");
    let c = &mut c[..m * n];
    if m == 0 || n == 0 {
        return;
    }
    // Whatever m is: a row's sum must not depend on how many rows there are.
    if n <= DOTS && k >= NARROW && k * n <= SMALL && a.col == 1 {
        return dots(m, n, k, a, b, c, pack, epilogue);
    }
    if n < NARROW && m >= NARROW && k * m <= SMALL && a.row == 1 && n * m <= pack_len(k, n) {
        return turned(m, n, k, a, b, c, pack, epilogue);
    }
    // Without gaps twice as much lies well.
    let small = if b.col == 1 && b.row == n { 2 * SMALL } else { SMALL };
    let panels = if (1..=small).contains(&(k * n)) && n >= NARROW {
        small_panels(k, n, b, pack)
    } else {
        // Packed even where it could stay: rows that are a power of two apart would meet in a few lines of the cache.
        pack_panels(k, n, pack, |l, j| b.data[l * b.row + j * b.col], (b.col == 1).then_some((b.data, b.row)))
    };
    let runs = Runs { count: 1, len: k, run: 0, col: a.col };
    let threads = rayon::current_num_threads();
    if threads > 1 && 2 * m * n * k >= PARALLEL_FLOPS && m >= 2 * MIN_ROWS {
        use rayon::prelude::*;
        let rows = m.div_ceil(threads * 2).next_multiple_of(MIN_ROWS);
        c.par_chunks_mut(rows * n).enumerate().for_each(|(i, c)| {
            let at = Even { first: i * rows * a.row, stride: a.row };
            tiles(c.len() / n, i * rows, n, a.data, at, runs, panels, false, c, InOrder, epilogue);
        });
    } else {
        let at = Even { first: 0, stride: a.row };
        tiles(m, 0, n, a.data, at, runs, panels, false, c, InOrder, epilogue);
    }
}

/// Packs B [k, n] = `element(l, j)`; `plain` = (data, row stride) where its rows are contiguous.
pub(crate) fn pack_panels<'a, T: Real>(
    k: usize,
    n: usize,
    pack: &'a mut [T],
    element: impl Fn(usize, usize) -> T,
    plain: Option<(&[T], usize)>,
) -> Panels<'a, T> {
    let width = Panels::<T>::width(n);
    let pack = &mut pack[..Panels::<T>::len(k, n)];
    for (p, panel) in pack.chunks_exact_mut((k * width).max(1)).enumerate() {
        let first = p * width;
        let w = width.min(n - first);
        for (l, row) in panel.chunks_exact_mut(width).enumerate() {
            match plain {
                Some((data, stride)) => row[..w].copy_from_slice(&data[l * stride + first..][..w]),
                None => {
                    for j in 0..w {
                        row[j] = element(l, first + j);
                    }
                }
            }
            row[w..].fill(T::zero());
        }
    }
    Panels::packed(pack, k, n)
}

/// B [k, n] read in place, row-major, where n allows it.
pub(crate) fn in_place<T>(data: &[T], n: usize) -> Option<Panels<'_, T>> {
    (n == NARROW || n.is_multiple_of(PANEL)).then_some(Panels { data, ld: n, next: None, narrow: n == NARROW })
}

/// A small B with n >= 16: in place where its rows are contiguous, or copied so.
fn small_panels<'a, T: Real>(k: usize, n: usize, b: Mat<'a, T>, pack: &'a mut [T]) -> Panels<'a, T> {
    let narrow = n < PANEL;
    if b.col == 1 {
        return Panels { data: b.data, ld: b.row, next: None, narrow };
    }
    for (l, row) in pack[..k * n].chunks_exact_mut(n).enumerate() {
        for (j, to) in row.iter_mut().enumerate() {
            *to = b.data[l * b.row + j * b.col];
        }
    }
    Panels { data: pack, ld: n, next: None, narrow }
}

wide! {
    /// C = (or +=, `add`) A's `m` rows times B. `rows` says where A's rows begin, `to` which row of `c` each becomes; the epilogue
    /// gets that plus `row0`.
    pub(crate) fn tiles[isa]<T: Real, R: Rows, C: Rows, E: Epilogue<T>>(
        m: usize,
        row0: usize,
        n: usize,
        a: &[T],
        rows: R,
        runs: Runs,
        b: Panels<T>,
        add: bool,
        c: &mut [T],
        to: C,
        e: &E,
    ) {
        if b.narrow {
            tiles_of::<T, R, C, E, NARROW>(isa, m, row0, n, a, rows, runs, b, add, c, to, e)
        } else {
            tiles_of::<T, R, C, E, PANEL>(isa, m, row0, n, a, rows, runs, b, add, c, to, e)
        }
    }
}

/// Where the rows of a tile are in it.
const IN_TILE: [usize; TILE_ROWS] = {
    let mut rows = [0; TILE_ROWS];
    let mut r = 0;
    while r < TILE_ROWS {
        rows[r] = r;
        r += 1;
    }
    rows
};

/// Apart, or the compiler would make one copy of unknown length of this and the whole row's: a call for every row.
#[inline(never)]
fn store_part<T: Real>(values: &[T], out: &mut [T]) {
    out.copy_from_slice(&values[..out.len()]);
}

#[inline(always)]
fn tiles_of<T: Real, R: Rows, C: Rows, E: Epilogue<T>, const W: usize>(
    isa: Isa,
    m: usize,
    row0: usize,
    n: usize,
    a: &[T],
    rows: R,
    runs: Runs,
    b: Panels<T>,
    add: bool,
    c: &mut [T],
    to: C,
    e: &E,
) {
    let mut tile = [[T::zero(); W]; TILE_ROWS];
    let (k, most) = (runs.count * runs.len, rows_at_a_time::<T, W>(isa));
    let last = if k > 0 { (runs.count - 1) * runs.run + (runs.len - 1) * runs.col } else { 0 };
    // Tiles of one height, as far as that goes: a low last one would take as long as a full one. And of evenly spaced rows.
    let evenly = if rows.evenly() >= MIN_ROWS { rows.evenly().min(m) } else { m };
    let count = evenly.div_ceil(most).max(1);
    let (low, higher) = (evenly / count, evenly % count);
    // Set in place: a copy of one that was just written would wait for it.
    let (mut at, mut place) = (Places::NONE, Places::NONE);
    for p in 0..n.div_ceil(W) {
        let (first, panel) = match b.next {
            Some(next) => (p * W, &b.data[p * next..]),
            None => {
                let first = (p * W).min(n - W);
                (first, &b.data[first..])
            }
        };
        let w = W.min(n - first);
        assert!(k == 0 || (k - 1) * b.ld + W <= panel.len(), "B is smaller than its sizes say");
        let (mut i, mut t) = (0, 0);
        while i < m {
            let h = (low + usize::from(t % count < higher)).min(m - i);
            t += 1;
            rows.set(i, h, &mut at);
            to.set(i, h, &mut place);
            assert!(k == 0 || at.furthest + last < a.len(), "A is smaller than its sizes say");
            let finish = if add { Some(Finish::default()) } else { e.finish() };
            // Not twice what the panel before has added.
            let seen = p * W - first;
            if let (Some(finish), true, true) = (finish, w == W, !add || seen == 0) {
                debug_assert!(finish.gate.is_none_or(|g| g.cols == n), "a gate lies as C does");
                let end = place.furthest * n + W;
                let out = &mut c[first..];
                let gate = finish.gate.map_or(&[][..], |g| &g.values[row0 * n + first..]);
                let bias = finish.bias.map_or(&[][..], |bias| &bias[first..]);
                assert!(
                    end <= out.len() && (bias.is_empty() || bias.len() >= W) && (gate.is_empty() || gate.len() >= end)
                );
                let last = Last { bias, relu: finish.relu, gate, add };
                // SAFETY: the asserts bound the largest index of each; `tiles` asked the machine for `isa`.
                unsafe { product::<T, W>(isa, a, &at, h, runs, panel, b.ld, last, &place.at, n, out) };
                i += h;
                continue;
            }
            let last = Last { bias: &[], relu: false, gate: &[], add: false };
            let flat = tile.as_flattened_mut();
            // SAFETY: the asserts bound the largest index of both; the tile has room for h rows.
            unsafe { product::<T, W>(isa, a, &at, h, runs, panel, b.ld, last, &IN_TILE, W, flat) };
            for r in 0..h {
                let out = &mut c[place.at[r] * n + first..][..w];
                if add {
                    for (out, v) in out[seen..].iter_mut().zip(&tile[r][seen..]) {
                        *out += *v;
                    }
                } else {
                    let values = e.apply(row0 + place.at[r], first, tile[r]);
                    match <&mut [T; W]>::try_from(&mut *out) {
                        Ok(out) => *out = values,
                        Err(_) => store_part(&values, out),
                    }
                }
            }
            i += h;
        }
    }
}
