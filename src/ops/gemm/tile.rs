//! The register tile of the matrix product: up to 16 rows of A times a panel of B. On x86 it is written in the machine's
//! vectors: from plain loops the compiler sometimes vectorises over the rows, which gathers, and is 20 times slower.
//! Every form sums over k in the same order; forms with and without a fused multiply-add differ in the last bits.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "wasm32")]
mod wasm;

use super::{Isa, Runs};
use crate::base::Real;

/// Rows of the highest tile.
pub const TILE_ROWS: usize = 16;

/// Rows of a full tile of W columns: what the registers hold, or a multiple of it.
#[inline(always)]
pub fn rows_at_a_time<T: Real, const W: usize>(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if size_of::<T>() == 4 && W == 32 => 14,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if size_of::<T>() == 4 => 16,
        _ => 8,
    }
}

/// What is done with the sums before they are stored, in this order; empty slices are left out.
#[derive(Clone, Copy)]
pub struct Last<'a, T> {
    /// Added: W numbers, one per column.
    pub bias: &'a [T],
    pub relu: bool,
    /// Sums become 0 where this, read at the places of `out`, is not positive.
    pub gate: &'a [T],
    /// Added to what `out` holds.
    pub add: bool,
}

/// out[to[r] * width + j] = `last` of (sum over k of A[at[r] + k] panel[k * ld + j]), j < W, for the first `h` rows.
///
/// # Safety
/// `at[r]` plus the last offset of `runs` lies inside `a` for r < h, `(k - 1) * ld + W` inside `panel`, `to[r] * width + W`
/// inside `out` and the gate, if there is one; a bias has W elements; and the machine has what `isa` names.
#[inline(always)]
pub unsafe fn product<T: Real, const W: usize>(
    isa: Isa,
    a: &[T],
    at: &[usize; TILE_ROWS],
    h: usize,
    runs: Runs,
    panel: &[T],
    ld: usize,
    last: Last<T>,
    to: &[usize; TILE_ROWS],
    width: usize,
    out: &mut [T],
) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::any::TypeId;
        let (is_f32, is_f64) = (TypeId::of::<T>() == TypeId::of::<f32>(), TypeId::of::<T>() == TypeId::of::<f64>());
        macro_rules! call {
            ($kernel:path, $t:ty) => {{
                let null = std::ptr::null::<$t>();
                let pointer = |s: &[T]| if s.is_empty() { null } else { s.as_ptr().cast::<$t>() };
                let (bias, gate) = (pointer(last.bias), pointer(last.gate));
                let last = x86::Last { bias, relu: last.relu, gate, add: last.add };
                let (a, panel, out) = (a.as_ptr().cast(), panel.as_ptr().cast(), out.as_mut_ptr().cast::<$t>());
                // SAFETY: T is the kernel's scalar; the bounds are the caller's promise.
                return unsafe { $kernel(a, at, h, runs, panel, ld, &last, to, width, out) };
            }};
        }
        // No `wide!`: each set has vectors, and so a kernel, of its own.
        match (isa, W) {
            (Isa::Avx512, 32) if is_f32 => call!(x86::f32_avx512_32, f32),
            (Isa::Avx512, 16) if is_f32 => call!(x86::f32_avx512_16, f32),
            (Isa::Avx512, 32) if is_f64 => call!(x86::f64_avx512_32, f64),
            (Isa::Avx512, 16) if is_f64 => call!(x86::f64_avx512_16, f64),
            (Isa::Avx2, 32) if is_f32 => call!(x86::f32_avx2_32, f32),
            (Isa::Avx2, 16) if is_f32 => call!(x86::f32_avx2_16, f32),
            (Isa::Avx2, 32) if is_f64 => call!(x86::f64_avx2_32, f64),
            (Isa::Avx2, 16) if is_f64 => call!(x86::f64_avx2_16, f64),
            _ => {}
        }
    }
    #[cfg(target_arch = "wasm32")]
    if std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>() {
        // SAFETY: T is f32; the bounds are the caller's promise.
        return unsafe {
            let last = Last { bias: as_f32(last.bias), relu: last.relu, gate: as_f32(last.gate), add: last.add };
            let out = std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len());
            wasm::product(as_f32(a), at, h, runs, as_f32(panel), ld, &last, to, width, W, out)
        };
    }
    let _ = isa;
    // SAFETY: the caller's promise.
    unsafe { plain::<T, W>(a, at, h, runs, panel, ld, last, to, width, out) }
}

/// The same numbers, of a T that is f32.
///
/// # Safety
/// T is f32.
#[cfg(target_arch = "wasm32")]
unsafe fn as_f32<T>(values: &[T]) -> &[f32] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// Columns that the plain form takes at a time.
const PLAIN_COLUMNS: usize = 8;

/// For vectors of 128 bits, of which every processor and browser has 16, and one of ARM 32: rows at a time as many as they hold.
///
/// # Safety
/// As for `product`.
unsafe fn plain<T: Real, const W: usize>(
    a: &[T],
    at: &[usize; TILE_ROWS],
    h: usize,
    runs: Runs,
    panel: &[T],
    ld: usize,
    last: Last<T>,
    to: &[usize; TILE_ROWS],
    width: usize,
    out: &mut [T],
) {
    // In numbers of 64 bits half as many rows fill the registers.
    let most = (if cfg!(target_arch = "aarch64") { 32 } else { 16 } / size_of::<T>()).max(1);
    let mut r = 0;
    while r < h {
        let rows = 1 << (h - r).min(most).ilog2();
        for c in (0..W).step_by(PLAIN_COLUMNS) {
            let (at, to) = (&at[r..], &to[r..]);
            // SAFETY: rows r .. r + H are below h; the rest is the caller's promise.
            unsafe {
                match rows {
                    #[cfg(target_arch = "aarch64")]
                    8 => block::<T, 8>(a, at, runs, panel, ld, c, last, to, width, out),
                    4 => block::<T, 4>(a, at, runs, panel, ld, c, last, to, width, out),
                    2 => block::<T, 2>(a, at, runs, panel, ld, c, last, to, width, out),
                    _ => block::<T, 1>(a, at, runs, panel, ld, c, last, to, width, out),
                }
            }
        }
        r += rows;
    }
}

/// H rows, and the columns from `c` on.
///
/// # Safety
/// As for `product`, of H rows and of `PLAIN_COLUMNS` columns from `c` on.
#[inline(always)]
unsafe fn block<T: Real, const H: usize>(
    a: &[T],
    at: &[usize],
    runs: Runs,
    panel: &[T],
    ld: usize,
    c: usize,
    last: Last<T>,
    to: &[usize],
    width: usize,
    out: &mut [T],
) {
    let mut acc = [[T::zero(); PLAIN_COLUMNS]; H];
    for run in 0..runs.count {
        for l in 0..runs.len {
            // SAFETY: the caller's promise bounds the index.
            let b: &[T; PLAIN_COLUMNS] =
                unsafe { &*panel.as_ptr().add((run * runs.len + l) * ld + c).cast::<[T; PLAIN_COLUMNS]>() };
            for r in 0..H {
                // SAFETY: as above.
                let x = unsafe { *a.get_unchecked(at[r] + run * runs.run + l * runs.col) };
                for j in 0..PLAIN_COLUMNS {
                    // Where the processor has no fused form, asking for one would call a function.
                    acc[r][j] =
                        if cfg!(target_arch = "aarch64") { x.fma(b[j], acc[r][j]) } else { acc[r][j] + x * b[j] };
                }
            }
        }
    }
    for (acc, to) in acc.iter_mut().zip(to) {
        let to = to * width + c;
        if !last.bias.is_empty() {
            for (v, b) in acc.iter_mut().zip(&last.bias[c..]) {
                *v += *b;
            }
        }
        if last.relu {
            *acc = acc.map(|v| v.at_least(T::zero()));
        }
        if !last.gate.is_empty() {
            for (v, g) in acc.iter_mut().zip(&last.gate[to..]) {
                *v = if *g > T::zero() { *v } else { T::zero() };
            }
        }
        let out = &mut out[to..to + PLAIN_COLUMNS];
        if last.add {
            for (v, o) in acc.iter_mut().zip(&*out) {
                *v = *o + *v;
            }
        }
        out.copy_from_slice(acc);
    }
}

/// out[i][j] = sum over k of A[i * row + k] columns[j][k], where the last 16 of each column belong to the last 16 of A's row.
///
/// # Safety
/// `a` holds the rows, 16 <= `k`, `columns` has N times `k` rounded up to 16 elements, and the machine has what `isa` names.
#[inline(always)]
pub unsafe fn row_dots<T: Real, const N: usize>(
    isa: Isa,
    a: &[T],
    row: usize,
    k: usize,
    columns: &[T],
    out: &mut [[T; N]],
) {
    #[cfg(target_arch = "x86_64")]
    if std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>() && isa != Isa::Plain {
        let (a, columns, to) = (a.as_ptr().cast(), columns.as_ptr().cast(), out.as_mut_ptr().cast());
        // SAFETY: T is f32; the rest is the caller's promise.
        return unsafe {
            match isa {
                Isa::Avx512 => x86::dots_avx512::<N>(a, row, k, columns, out.len(), to),
                _ => x86::dots_avx2::<N>(a, row, k, columns, out.len(), to),
            }
        };
    }
    let _ = isa;
    let padded = k.next_multiple_of(16);
    #[cfg(target_arch = "wasm32")]
    if std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>() {
        // SAFETY: T is f32.
        let (a, columns) = unsafe { (as_f32(a), as_f32(columns)) };
        for (i, out) in out.iter_mut().enumerate() {
            for (j, out) in out.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                let sum = unsafe { wasm::dot(a.as_ptr().add(i * row), k, columns.as_ptr().add(j * padded), padded) };
                *out = T::of(sum.into());
            }
        }
        return;
    }
    for (i, out) in out.iter_mut().enumerate() {
        for (j, out) in out.iter_mut().enumerate() {
            let mut sums = [T::zero(); 16];
            for first in (0..padded).step_by(16) {
                let (x, y) = (&a[i * row + first.min(k - 16)..][..16], &columns[j * padded + first..][..16]);
                for l in 0..16 {
                    sums[l] += x[l] * y[l];
                }
            }
            *out = sums.into_iter().sum();
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Runs, TILE_ROWS};
    use std::arch::x86_64::*;

    /// `super::Last`, null for what is left out.
    pub struct Last<T> {
        pub bias: *const T,
        pub relu: bool,
        pub gate: *const T,
        pub add: bool,
    }

    /// `$n` vectors of `$lanes` a row, `$rows` rows at a time: as many accumulators as there are registers for.
    macro_rules! kernel {
        ($name:ident, $features:literal, $t:ty, $v:ty, $lanes:literal, $n:literal, $rows:literal, $fewer:tt;
         $zero:ident $load:ident $splat:ident $fma:ident $store:ident $add:ident $max:ident $gate:ident) => {
            #[target_feature(enable = $features)]
            pub unsafe fn $name(
                a: *const $t,
                at: &[usize; TILE_ROWS],
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
                unsafe fn block<const H: usize>(
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
                                    let x = $splat(*rows[r].add(from));
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
                $($row => { $block::<$row> $args; $row })*
                _ => { $block::<$rows> $args; $rows }
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

    kernel!(f32_avx512_32, "avx512f,avx512vl,avx512dq", f32, __m512, 16, 2, 14, [1 2 3 4 5 6 7 8 9 10 11 12 13];
        _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps
        _mm512_add_ps _mm512_max_ps gate_f32_avx512);
    kernel!(f32_avx512_16, "avx512f,avx512vl,avx512dq", f32, __m512, 16, 1, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];
        _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps
        _mm512_add_ps _mm512_max_ps gate_f32_avx512);
    kernel!(f64_avx512_32, "avx512f,avx512vl,avx512dq", f64, __m512d, 8, 4, 4, [1 2 3];
        _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd
        _mm512_add_pd _mm512_max_pd gate_f64_avx512);
    kernel!(f64_avx512_16, "avx512f,avx512vl,avx512dq", f64, __m512d, 8, 2, 8, [1 2 3 4 5 6 7];
        _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd
        _mm512_add_pd _mm512_max_pd gate_f64_avx512);
    kernel!(f32_avx2_32, "avx2,fma", f32, __m256, 8, 4, 2, [1];
        _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps
        _mm256_add_ps _mm256_max_ps gate_f32_avx2);
    kernel!(f32_avx2_16, "avx2,fma", f32, __m256, 8, 2, 4, [1 2 3];
        _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps
        _mm256_add_ps _mm256_max_ps gate_f32_avx2);
    kernel!(f64_avx2_32, "avx2,fma", f64, __m256d, 4, 8, 1, [];
        _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd
        _mm256_add_pd _mm256_max_pd gate_f64_avx2);
    kernel!(f64_avx2_16, "avx2,fma", f64, __m256d, 4, 4, 2, [1];
        _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd
        _mm256_add_pd _mm256_max_pd gate_f64_avx2);
}
