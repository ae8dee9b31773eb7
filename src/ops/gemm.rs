//! Matrix product of the CPU twins: C = epilogue(A B). `naive` is the oracle, `gemm` the fast form: B packed into panels
//! of 32 columns, a register tile of a few rows, A read in place. It allocates nothing, so a training step does not either, and
//! at the small sizes of an MLP it beats the GEMM crates, which allocate a packing buffer a call. `tiles` is the part that
//! convolutions share: there A's rows are windows of an image, read in place as well.
//! The sum over k runs in one order whatever the thread count: results are bit-equal on 1 and n threads.

mod tile;

use crate::base::Real;
pub use tile::Isa;
use tile::{TILE_ROWS, product, rows_at_a_time};

/// Columns of a packed panel.
const PANEL: usize = 32;
/// Columns of the narrow panel, for the last layers: K or 2K outputs.
const NARROW: usize = 16;
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

/// What happens to a finished row of a tile before it is stored: (row, first column, values).
pub trait Epilogue<T>: Sync {
    fn apply(&self, row: usize, col: usize, values: &mut [T]);
}

pub struct Store;
impl<T> Epilogue<T> for Store {
    #[inline(always)]
    fn apply(&self, _: usize, _: usize, _: &mut [T]) {}
}

/// Where the rows of a matrix are.
pub trait Rows: Copy + Sync {
    /// The places of rows i, i + 1, ...
    fn fill(&self, i: usize, at: &mut [usize]);
}

/// Evenly spaced rows.
#[derive(Clone, Copy)]
pub struct Even {
    pub first: usize,
    pub stride: usize,
}
impl Rows for Even {
    #[inline(always)]
    fn fill(&self, i: usize, at: &mut [usize]) {
        for (r, at) in at.iter_mut().enumerate() {
            *at = self.first + (i + r) * self.stride;
        }
    }
}

/// Row i is row i.
#[derive(Clone, Copy)]
pub struct InOrder;
impl Rows for InOrder {
    #[inline(always)]
    fn fill(&self, i: usize, at: &mut [usize]) {
        Even { first: 0, stride: 1 }.fill(i, at);
    }
}

/// The columns of A from a row's beginning on: `count` runs of `len` elements, `col` apart within a run, runs `run` apart.
#[derive(Clone, Copy)]
pub struct Runs {
    pub count: usize,
    pub len: usize,
    pub run: usize,
    pub col: usize,
}

/// B [k, n] in panels as `pack_panels` leaves them, or in place (`ld` = n) where n is a multiple of the panel.
#[derive(Clone, Copy)]
pub struct Panels<'a, T> {
    pub data: &'a [T],
    /// Elements from one row of a panel to the next, and from one panel to the next.
    pub ld: usize,
    pub next: usize,
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
        Panels { data: &data[..Self::len(k, n)], ld: width, next: k * width, narrow: width == NARROW }
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
        epilogue.apply(i, 0, &mut c[i * n..(i + 1) * n]);
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
    let c = &mut c[..m * n];
    if m == 0 || n == 0 {
        return;
    }
    // Packed even where it could stay: rows that are a power of two apart would meet in a few lines of the cache.
    let panels = pack_panels(k, n, pack, |l, j| b.data[l * b.row + j * b.col], (b.col == 1).then_some((b.data, b.row)));
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
pub fn pack_panels<'a, T: Real>(
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
                Some((data, stride)) => row[..w].copy_from_slice(&data[l * stride + first..l * stride + first + w]),
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
pub fn in_place<T>(data: &[T], n: usize) -> Option<Panels<'_, T>> {
    match n {
        _ if n.is_multiple_of(PANEL) => Some(Panels { data, ld: n, next: PANEL, narrow: false }),
        NARROW => Some(Panels { data, ld: n, next: NARROW, narrow: true }),
        _ => None,
    }
}

/// C = (or +=, `add`) A's `m` rows times B. `rows` says where A's rows begin, `to` which row of `c` each becomes; the epilogue
/// gets that plus `row0`.
pub fn tiles<T: Real, R: Rows, C: Rows, E: Epilogue<T>>(
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
    match Isa::detect() {
        // SAFETY: the processor was just asked for these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { tiles_avx512(m, row0, n, a, rows, runs, b, add, c, to, e) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { tiles_avx2(m, row0, n, a, rows, runs, b, add, c, to, e) },
        Isa::Plain => tiles_any(Isa::Plain, m, row0, n, a, rows, runs, b, add, c, to, e),
    }
}

macro_rules! with_features {
    ($name:ident, $isa:expr, $features:literal) => {
        /// The epilogue, compiled for the machine's vectors.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<T: Real, R: Rows, C: Rows, E: Epilogue<T>>(
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
            tiles_any($isa, m, row0, n, a, rows, runs, b, add, c, to, e)
        }
    };
}
with_features!(tiles_avx512, Isa::Avx512, "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma");
with_features!(tiles_avx2, Isa::Avx2, "avx2,fma");

#[inline(always)]
fn tiles_any<T: Real, R: Rows, C: Rows, E: Epilogue<T>>(
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
    if b.narrow {
        tiles_of::<T, R, C, E, NARROW>(isa, m, row0, n, a, rows, runs, b, add, c, to, e)
    } else {
        tiles_of::<T, R, C, E, PANEL>(isa, m, row0, n, a, rows, runs, b, add, c, to, e)
    }
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
    for p in 0..n.div_ceil(W) {
        let first = p * W;
        let w = W.min(n - first);
        let panel = &b.data[p * b.next..];
        assert!(k == 0 || (k - 1) * b.ld + W <= panel.len(), "B is smaller than its sizes say");
        let mut i = 0;
        while i < m {
            // Tiles of one height, as far as that goes: a low last one would take as long as a full one.
            let h = (m - i).div_ceil((m - i).div_ceil(most));
            let (mut at, mut place) = ([0; TILE_ROWS], [0; TILE_ROWS]);
            rows.fill(i, &mut at[..h]);
            to.fill(i, &mut place[..h]);
            assert!(k == 0 || at[..h].iter().all(|start| start + last < a.len()), "A is smaller than its sizes say");
            // SAFETY: the two asserts bound the largest index of both; `tiles` asked the machine for `isa`.
            unsafe { product(isa, a, &at, h, runs, panel, b.ld, &mut tile) };
            for r in 0..h {
                let out = &mut c[place[r] * n + first..][..w];
                if add {
                    for (out, v) in out.iter_mut().zip(&tile[r]) {
                        *out += *v;
                    }
                } else {
                    e.apply(row0 + place[r], first, &mut tile[r][..w]);
                    // Of a known length where it can be: a short copy of any length is a call.
                    match <&mut [T; W]>::try_from(&mut *out) {
                        Ok(out) => *out = tile[r],
                        Err(_) => out.copy_from_slice(&tile[r][..w]),
                    }
                }
            }
            i += h;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, f: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * f + 0.3).sin()).collect()
    }

    /// Fast against naive at sizes around every tile edge, all four transposes, in f64: |error| <= k * 2^-53 * sum|ab|.
    #[test]
    fn fast_equals_naive_at_awkward_sizes() {
        for m in [1, 7, 8, 9, 17] {
            for n in [1, 2, 15, 16, 17, 31, 32, 33, 65] {
                for k in [1, 3, 50] {
                    for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
                        let (da, db) = (wave(m * k, 0.37), wave(k * n, 0.11));
                        let a = if ta { Mat::transposed(&da, m) } else { Mat::rows(&da, k) };
                        let b = if tb { Mat::transposed(&db, k) } else { Mat::rows(&db, n) };
                        let (mut c, mut want) = (vec![f64::NAN; m * n], vec![f64::NAN; m * n]);
                        let mut pack = vec![f64::NAN; pack_len(k, n)];
                        gemm(m, n, k, a, b, &mut c, &mut pack, &Store);
                        naive(m, n, k, a, b, &mut want, &Store);
                        for (x, y) in c.iter().zip(&want) {
                            assert!((x - y).abs() <= 4.0 * k as f64 * f64::EPSILON, "{m} {n} {k} {ta} {tb}: {x} {y}");
                        }
                    }
                }
            }
        }
    }

    /// B in place and adding: C = 1 + A B.
    #[test]
    fn in_place_and_adding() {
        for n in [16, 32, 64] {
            let (m, k) = (9, 5);
            let (a, b) = (wave(m * k, 0.7), wave(k * n, 0.2));
            let (mut c, mut want) = (vec![1.0; m * n], vec![0.0; m * n]);
            let runs = Runs { count: 1, len: k, run: 0, col: 1 };
            let at = Even { first: 0, stride: k };
            let b_in_place = in_place(&b, n).expect("fits");
            tiles(m, 0, n, &a, at, runs, b_in_place, true, &mut c, InOrder, &Store);
            naive(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut want, &Store);
            for (x, y) in c.iter().zip(&want) {
                assert!((x - 1.0 - y).abs() <= 8.0 * k as f64 * f64::EPSILON);
            }
        }
        assert!(in_place(&[0.0; 33], 33).is_none());
    }

    #[test]
    fn one_and_two_threads_agree_to_the_bit() {
        let (m, n, k) = (513, 130, 70);
        let a: Vec<f32> = wave(m * k, 0.7).iter().map(|&x| x as f32).collect();
        let b: Vec<f32> = wave(k * n, 0.2).iter().map(|&x| x as f32).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let (mut c, mut pack) = (vec![0f32; m * n], vec![0f32; pack_len(k, n)]);
            pool.install(|| gemm(m, n, k, Mat::rows(&a, k), Mat::rows(&b, n), &mut c, &mut pack, &Store));
            c
        };
        assert_eq!(run(1), run(2));
    }
}
