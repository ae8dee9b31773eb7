//! The tile in the vectors of x86: AVX-512 and AVX2.

use super::{Places, Runs, TILE_ROWS};
use std::arch::x86_64::*;

/// `super::Last`, null for what is left out.
pub struct Last<T> {
    pub bias: *const T,
    pub relu: bool,
    pub gate: *const T,
    pub add: bool,
}

/// `$n` vectors of `$lanes` a row, `$rows` rows at a time: as many accumulators as there are registers for. Tiles of `$even` rows
/// have forms of their own for the distances between rows that are common: where all rows are a constant away from one place,
/// no register holds where each is, of which there are fewer than rows (a sixth faster).
macro_rules! kernel {
    ($name:ident, $features:literal, $t:ty, $v:ty, $lanes:literal, $n:literal, $rows:literal, $fewer:tt, $even:tt;
     $zero:ident $load:ident $splat:ident $fma:ident $store:ident $add:ident $max:ident $gate:ident) => {
        #[target_feature(enable = $features)]
        pub unsafe fn $name(
            a: *const $t,
            places: &Places,
            h: usize,
            runs: Runs,
            panel: *const $t,
            ld: usize,
            last: &Last<$t>,
            to: &[usize; TILE_ROWS],
            width: usize,
            out: *mut $t,
        ) {
            #[target_feature(enable = $features)]
            #[inline]
            unsafe fn block<const H: usize, const STEP: usize>(
                a: *const $t,
                at: &[usize],
                runs: Runs,
                panel: *const $t,
                ld: usize,
                last: &Last<$t>,
                to: &[usize],
                width: usize,
                out: *mut $t,
            ) {
                // SAFETY: every index is bounded by the promise made to `product`.
                unsafe {
                    let mut rows = [a; H];
                    for r in 0..H {
                        rows[r] = a.add(at[r]);
                    }
                    let mut acc = [[$zero(); $n]; H];
                    let mut b = panel;
                    for run in 0..runs.count {
                        let mut from = run * runs.run;
                        for _ in 0..runs.len {
                            let mut line = [$zero(); $n];
                            for j in 0..$n {
                                line[j] = $load(b.add(j * $lanes));
                            }
                            for r in 0..H {
                                let x = $splat(if STEP > 0 {
                                    *rows[0].add(from).add(r * STEP)
                                } else {
                                    *rows[r].add(from)
                                });
                                for j in 0..$n {
                                    acc[r][j] = $fma(x, line[j], acc[r][j]);
                                }
                            }
                            b = b.wrapping_add(ld);
                            from += runs.col;
                        }
                    }
                    if !last.bias.is_null() {
                        for j in 0..$n {
                            let bias = $load(last.bias.add(j * $lanes));
                            for r in 0..H {
                                acc[r][j] = $add(acc[r][j], bias);
                            }
                        }
                    }
                    if last.relu {
                        for r in 0..H {
                            for j in 0..$n {
                                // In this order a NaN stays one.
                                acc[r][j] = $max($zero(), acc[r][j]);
                            }
                        }
                    }
                    if !last.gate.is_null() {
                        for r in 0..H {
                            for j in 0..$n {
                                acc[r][j] = $gate(acc[r][j], $load(last.gate.add(to[r] * width + j * $lanes)));
                            }
                        }
                    }
                    if last.add {
                        for r in 0..H {
                            for j in 0..$n {
                                acc[r][j] = $add($load(out.add(to[r] * width + j * $lanes)), acc[r][j]);
                            }
                        }
                    }
                    for r in 0..H {
                        for j in 0..$n {
                            $store(out.add(to[r] * width + j * $lanes), acc[r][j]);
                        }
                    }
                }
            }
            let at = &places.at;
            kernel!(@even $even; h, places.step; block(a, at, runs, panel, ld, last, to, width, out));
            let mut r = 0;
            while r < h {
                // SAFETY: as above; rows r .. r + count are below h.
                unsafe {
                    let (at, to) = (&at[r..], &to[r..]);
                    r += kernel!(@rows $fewer $rows; (h - r); block(a, at, runs, panel, ld, last, to, width, out));
                }
            }
        }
    };
    (@rows [$($row:literal)*] $rows:literal; $left:expr; $block:ident $args:tt) => {
        match $left {
            $($row => { $block::<$row, 0> $args; $row })*
            _ => { $block::<$rows, 0> $args; $rows }
        }
    };
    (@even []; $h:expr, $step:expr; $block:ident $args:tt) => {};
    (@even [$($row:literal)*]; $h:expr, $step:expr; $block:ident $args:tt) => {
        // SAFETY: as above; the rows are as far apart as they are said to be.
        unsafe {
            match $h {
                // A matrix that is read transposed, and windows of so many channels.
                $($row => match $step {
                    1 => return $block::<$row, 1> $args,
                    16 => return $block::<$row, 16> $args,
                    32 => return $block::<$row, 32> $args,
                    64 => return $block::<$row, 64> $args,
                    128 => return $block::<$row, 128> $args,
                    256 => return $block::<$row, 256> $args,
                    _ => {}
                },)*
                _ => {}
            }
        }
    };
}

/// `$n` vectors of `$lanes` are 16 elements.
macro_rules! dots {
    ($name:ident, $features:literal, $lanes:literal, $n:literal; $zero:ident $load:ident $fma:ident $sum:ident) => {
        #[target_feature(enable = $features)]
        pub unsafe fn $name<const N: usize>(
            a: *const f32,
            row: usize,
            k: usize,
            columns: *const f32,
            m: usize,
            out: *mut [f32; N],
        ) {
            let padded = k.next_multiple_of(16);
            // SAFETY: every index is bounded by the promise made to `row_dots`.
            unsafe {
                for i in 0..m {
                    let mut sums = [[$zero(); $n]; N];
                    for first in (0..padded).step_by(16) {
                        let x = a.add(i * row + first.min(k - 16));
                        for v in 0..$n {
                            let x = $load(x.add(v * $lanes));
                            for j in 0..N {
                                let y = $load(columns.add(j * padded + first + v * $lanes));
                                sums[j][v] = $fma(x, y, sums[j][v]);
                            }
                        }
                    }
                    for j in 0..N {
                        (*out.add(i))[j] = $sum(sums[j]);
                    }
                }
            }
        }
    };
}

#[target_feature(enable = "avx512f")]
#[inline]
fn sum_avx512(v: [__m512; 1]) -> f32 {
    _mm512_reduce_add_ps(v[0])
}
#[target_feature(enable = "avx2,fma")]
#[inline]
fn sum_avx2(v: [__m256; 2]) -> f32 {
    let eight = _mm256_add_ps(v[0], v[1]);
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
}
dots!(dots_avx512, "avx512f,avx512vl,avx512dq", 16, 1; _mm512_setzero_ps _mm512_loadu_ps _mm512_fmadd_ps sum_avx512);
dots!(dots_avx2, "avx2,fma", 8, 2; _mm256_setzero_ps _mm256_loadu_ps _mm256_fmadd_ps sum_avx2);

/// v where g > 0, else 0.
#[target_feature(enable = "avx512f")]
#[inline]
fn gate_f32_avx512(v: __m512, g: __m512) -> __m512 {
    _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(g, _mm512_setzero_ps()), v)
}
#[target_feature(enable = "avx512f")]
#[inline]
fn gate_f64_avx512(v: __m512d, g: __m512d) -> __m512d {
    _mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(g, _mm512_setzero_pd()), v)
}
#[target_feature(enable = "avx2")]
#[inline]
fn gate_f32_avx2(v: __m256, g: __m256) -> __m256 {
    _mm256_and_ps(v, _mm256_cmp_ps::<_CMP_GT_OQ>(g, _mm256_setzero_ps()))
}
#[target_feature(enable = "avx2")]
#[inline]
fn gate_f64_avx2(v: __m256d, g: __m256d) -> __m256d {
    _mm256_and_pd(v, _mm256_cmp_pd::<_CMP_GT_OQ>(g, _mm256_setzero_pd()))
}

kernel!(f32_avx512_32, "avx512f,avx512vl,avx512dq", f32, __m512, 16, 2, 14, [1 2 3 4 5 6 7 8 9 10 11 12 13], [8 9 10 11 12 13 14];
    _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps
    _mm512_add_ps _mm512_max_ps gate_f32_avx512);
kernel!(f32_avx512_16, "avx512f,avx512vl,avx512dq", f32, __m512, 16, 1, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15], [8 16];
    _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps
    _mm512_add_ps _mm512_max_ps gate_f32_avx512);
kernel!(f64_avx512_32, "avx512f,avx512vl,avx512dq", f64, __m512d, 8, 4, 4, [1 2 3], [];
    _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd
    _mm512_add_pd _mm512_max_pd gate_f64_avx512);
kernel!(f64_avx512_16, "avx512f,avx512vl,avx512dq", f64, __m512d, 8, 2, 8, [1 2 3 4 5 6 7], [];
    _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd
    _mm512_add_pd _mm512_max_pd gate_f64_avx512);
kernel!(f32_avx2_32, "avx2,fma", f32, __m256, 8, 4, 2, [1], [];
    _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps
    _mm256_add_ps _mm256_max_ps gate_f32_avx2);
kernel!(f32_avx2_16, "avx2,fma", f32, __m256, 8, 2, 4, [1 2 3], [];
    _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps
    _mm256_add_ps _mm256_max_ps gate_f32_avx2);
kernel!(f64_avx2_32, "avx2,fma", f64, __m256d, 4, 8, 1, [], [];
    _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd
    _mm256_add_pd _mm256_max_pd gate_f64_avx2);
kernel!(f64_avx2_16, "avx2,fma", f64, __m256d, 4, 4, 2, [1], [];
    _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd
    _mm256_add_pd _mm256_max_pd gate_f64_avx2);
