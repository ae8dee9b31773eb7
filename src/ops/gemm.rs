//! Matrix product of the CPU twins: C = epilogue(A B). `naive` is the oracle, `gemm` the fast form: B packed into panels
//! of 32 columns, an 8 x 32 register tile, A read in place through its strides. It allocates nothing, so a training step
//! does not either, and at the small sizes of an MLP it beats the GEMM crates, which allocate a packing buffer a call.
//! The sum over k runs in one order whatever the thread count: results are bit-equal on 1 and n threads.

use crate::base::Real;

/// Columns of a packed panel.
const PANEL: usize = 32;
/// Columns of the narrow panel, for the last layers: K or 2K outputs.
const NARROW: usize = 16;
const TILE_ROWS: usize = 8;
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
    let narrow = n <= NARROW;
    let width = if narrow { NARROW } else { PANEL };
    let pack = &mut pack[..k * n.div_ceil(width) * width];
    pack_panels(k, n, b, width, pack);
    let pack = &*pack;
    let threads = rayon::current_num_threads();
    if threads > 1 && 2 * m * n * k >= PARALLEL_FLOPS && m >= 2 * TILE_ROWS {
        use rayon::prelude::*;
        let rows = m.div_ceil(threads * 2).next_multiple_of(TILE_ROWS);
        c.par_chunks_mut(rows * n)
            .enumerate()
            .for_each(|(i, c)| multiply(i * rows, n, k, a, pack, narrow, c, epilogue));
    } else {
        multiply(0, n, k, a, pack, narrow, c, epilogue);
    }
}

fn pack_panels<T: Real>(k: usize, n: usize, b: Mat<T>, width: usize, pack: &mut [T]) {
    for (p, panel) in pack.chunks_exact_mut((k * width).max(1)).enumerate() {
        let first = p * width;
        let w = width.min(n - first);
        for (l, row) in panel.chunks_exact_mut(width).enumerate() {
            if b.col == 1 {
                row[..w].copy_from_slice(&b.data[l * b.row + first..l * b.row + first + w]);
            } else {
                for j in 0..w {
                    row[j] = b.data[l * b.row + (first + j) * b.col];
                }
            }
            row[w..].fill(T::zero());
        }
    }
}

fn multiply<T: Real>(
    row0: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    pack: &[T],
    narrow: bool,
    c: &mut [T],
    e: &impl Epilogue<T>,
) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the processor was just asked for these features.
            return unsafe { multiply_avx512(row0, n, k, a, pack, narrow, c, e) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { multiply_avx2(row0, n, k, a, pack, narrow, c, e) };
        }
    }
    multiply_any::<T, { cfg!(target_arch = "aarch64") }>(row0, n, k, a, pack, narrow, c, e)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn multiply_avx512<T: Real>(
    row0: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    pack: &[T],
    narrow: bool,
    c: &mut [T],
    e: &impl Epilogue<T>,
) {
    multiply_any::<T, true>(row0, n, k, a, pack, narrow, c, e)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_avx2<T: Real>(
    row0: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    pack: &[T],
    narrow: bool,
    c: &mut [T],
    e: &impl Epilogue<T>,
) {
    multiply_any::<T, true>(row0, n, k, a, pack, narrow, c, e)
}

#[inline(always)]
fn multiply_any<T: Real, const FMA: bool>(
    row0: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    pack: &[T],
    narrow: bool,
    c: &mut [T],
    e: &impl Epilogue<T>,
) {
    if narrow {
        multiply_panels::<T, FMA, NARROW>(row0, n, k, a, pack, c, e)
    } else {
        multiply_panels::<T, FMA, PANEL>(row0, n, k, a, pack, c, e)
    }
}

#[inline(always)]
fn multiply_panels<T: Real, const FMA: bool, const W: usize>(
    row0: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    pack: &[T],
    c: &mut [T],
    e: &impl Epilogue<T>,
) {
    let m = c.len() / n;
    let mut tile = [[T::zero(); W]; TILE_ROWS];
    for p in 0..n.div_ceil(W) {
        let first = p * W;
        let w = W.min(n - first);
        let panel = &pack[p * k * W..(p + 1) * k * W];
        let mut i = 0;
        while i < m {
            let h = TILE_ROWS.min(m - i);
            let start = (row0 + i) * a.row;
            match h {
                8 => tile_product::<T, FMA, W, 8>(k, a, start, panel, &mut tile),
                7 => tile_product::<T, FMA, W, 7>(k, a, start, panel, &mut tile),
                6 => tile_product::<T, FMA, W, 6>(k, a, start, panel, &mut tile),
                5 => tile_product::<T, FMA, W, 5>(k, a, start, panel, &mut tile),
                4 => tile_product::<T, FMA, W, 4>(k, a, start, panel, &mut tile),
                3 => tile_product::<T, FMA, W, 3>(k, a, start, panel, &mut tile),
                2 => tile_product::<T, FMA, W, 2>(k, a, start, panel, &mut tile),
                _ => tile_product::<T, FMA, W, 1>(k, a, start, panel, &mut tile),
            }
            for r in 0..h {
                // The full-width row goes through the epilogue in registers; only the store is cut to w.
                e.apply(row0 + i + r, first, &mut tile[r][..w]);
                let at = (i + r) * n + first;
                c[at..at + w].copy_from_slice(&tile[r][..w]);
            }
            i += h;
        }
    }
}

#[inline(always)]
fn tile_product<T: Real, const FMA: bool, const W: usize, const H: usize>(
    k: usize,
    a: Mat<T>,
    start: usize,
    panel: &[T],
    tile: &mut [[T; W]; TILE_ROWS],
) {
    let mut acc = [[T::zero(); W]; H];
    assert!(k == 0 || start + (H - 1) * a.row + (k - 1) * a.col < a.data.len(), "A is smaller than its sizes say");
    for (l, b) in panel.as_chunks::<W>().0.iter().enumerate() {
        for r in 0..H {
            // SAFETY: the assert above bounds the largest index; a check here would cost half the speed.
            let x = unsafe { *a.data.get_unchecked(start + r * a.row + l * a.col) };
            for j in 0..W {
                acc[r][j] = if FMA { x.fma(b[j], acc[r][j]) } else { acc[r][j] + x * b[j] };
            }
        }
    }
    tile[..H].copy_from_slice(&acc);
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
