//! The register tile of the matrix product: up to 16 rows of A times a panel of B. On x86 it is written in the machine's
//! vectors: from plain loops the compiler sometimes vectorises over the rows, which gathers, and is 20 times slower.
//! Every form sums over k in the same order; forms with and without a fused multiply-add differ in the last bits.

use super::Runs;
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

/// What the processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    #[inline(always)]
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
            {
                return Isa::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        Isa::Plain
    }
}

/// tile[r][j] = sum over k of A[at[r] + k] panel[k * ld + j], for the first `h` rows.
///
/// # Safety
/// `at[r]` plus the last offset of `runs` lies inside `a` for r < h, `(k - 1) * ld + W` inside `panel`, and the machine has
/// what `isa` names.
#[inline(always)]
pub unsafe fn product<T: Real, const W: usize>(
    isa: Isa,
    a: &[T],
    at: &[usize; TILE_ROWS],
    h: usize,
    runs: Runs,
    panel: &[T],
    ld: usize,
    tile: &mut [[T; W]; TILE_ROWS],
) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::any::TypeId;
        let (is_f32, is_f64) = (TypeId::of::<T>() == TypeId::of::<f32>(), TypeId::of::<T>() == TypeId::of::<f64>());
        macro_rules! call {
            ($kernel:path, $t:ty) => {{
                let tile = tile.as_mut_ptr().cast::<$t>();
                // SAFETY: T is the kernel's scalar; the bounds are the caller's promise.
                return unsafe { $kernel(a.as_ptr().cast(), at, h, runs, panel.as_ptr().cast(), ld, tile) };
            }};
        }
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
    let _ = isa;
    // SAFETY: the caller's promise.
    unsafe { plain(a, at, h, runs, panel, ld, tile) }
}

/// # Safety
/// As for `product`.
unsafe fn plain<T: Real, const W: usize>(
    a: &[T],
    at: &[usize; TILE_ROWS],
    h: usize,
    runs: Runs,
    panel: &[T],
    ld: usize,
    tile: &mut [[T; W]; TILE_ROWS],
) {
    for (at, row) in at[..h].iter().zip(tile) {
        let mut acc = [T::zero(); W];
        for run in 0..runs.count {
            for l in 0..runs.len {
                // SAFETY: the caller's promise bounds both indices.
                let (x, b): (T, &[T; W]) = unsafe {
                    (
                        *a.get_unchecked(at + run * runs.run + l * runs.col),
                        &*panel.as_ptr().add((run * runs.len + l) * ld).cast(),
                    )
                };
                for j in 0..W {
                    // Where the processor has no fused form, asking for one would call a function.
                    acc[j] = if cfg!(target_arch = "aarch64") { x.fma(b[j], acc[j]) } else { acc[j] + x * b[j] };
                }
            }
        }
        *row = acc;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Runs, TILE_ROWS};
    use std::arch::x86_64::*;

    /// `$n` vectors of `$lanes` a row, `$rows` rows at a time: as many accumulators as there are registers for.
    macro_rules! kernel {
        ($name:ident, $features:literal, $t:ty, $v:ty, $lanes:literal, $n:literal, $rows:literal, $fewer:tt;
         $zero:ident $load:ident $splat:ident $fma:ident $store:ident) => {
            #[target_feature(enable = $features)]
            pub unsafe fn $name(
                a: *const $t,
                at: &[usize; TILE_ROWS],
                h: usize,
                runs: Runs,
                panel: *const $t,
                ld: usize,
                tile: *mut $t,
            ) {
                #[target_feature(enable = $features)]
                #[inline]
                unsafe fn block<const H: usize>(
                    a: *const $t,
                    at: &[usize],
                    runs: Runs,
                    panel: *const $t,
                    ld: usize,
                    tile: *mut $t,
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
                        for r in 0..H {
                            for j in 0..$n {
                                $store(tile.add((r * $n + j) * $lanes), acc[r][j]);
                            }
                        }
                    }
                }
                let mut r = 0;
                while r < h {
                    // SAFETY: as above; rows r .. r + count are below h.
                    unsafe {
                        let (at, tile) = (&at[r..], tile.add(r * $n * $lanes));
                        r += kernel!(@rows $fewer $rows; (h - r); block(a, at, runs, panel, ld, tile));
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

    kernel!(f32_avx512_32, "avx512f,avx512vl,avx512dq", f32, __m512, 16, 2, 14, [1 2 3 4 5 6 7 8 9 10 11 12 13];
        _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps);
    kernel!(f32_avx512_16, "avx512f,avx512vl,avx512dq", f32, __m512, 16, 1, 16, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];
        _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_storeu_ps);
    kernel!(f64_avx512_32, "avx512f,avx512vl,avx512dq", f64, __m512d, 8, 4, 4, [1 2 3];
        _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd);
    kernel!(f64_avx512_16, "avx512f,avx512vl,avx512dq", f64, __m512d, 8, 2, 8, [1 2 3 4 5 6 7];
        _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_storeu_pd);
    kernel!(f32_avx2_32, "avx2,fma", f32, __m256, 8, 4, 2, [1];
        _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps);
    kernel!(f32_avx2_16, "avx2,fma", f32, __m256, 8, 2, 4, [1 2 3];
        _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_storeu_ps);
    kernel!(f64_avx2_32, "avx2,fma", f64, __m256d, 4, 8, 1, [];
        _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd);
    kernel!(f64_avx2_16, "avx2,fma", f64, __m256d, 4, 4, 2, [1];
        _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_storeu_pd);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form of the tile that this machine can run gives the plain form's numbers: k products of size at most 1.
    #[test]
    fn every_form_equals_the_plain_one() {
        fn check<T: Real, const W: usize>(eps: f64) {
            let (k, ld) = (37, W + 3);
            let a: Vec<T> = (0..(TILE_ROWS + 1) * k).map(|i| T::of((i as f64 * 0.37).sin())).collect();
            let panel: Vec<T> = (0..k * ld).map(|i| T::of((i as f64 * 0.11).cos())).collect();
            let runs = Runs { count: 1, len: k, run: 0, col: 1 };
            let at = std::array::from_fn(|r| r * k + r % 2);
            let mut forms = vec![];
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    forms.push(Isa::Avx2);
                }
                if Isa::detect() == Isa::Avx512 {
                    forms.push(Isa::Avx512);
                }
            }
            forms.push(Isa::Plain);
            for h in 1..=TILE_ROWS {
                let mut want = [[T::zero(); W]; TILE_ROWS];
                // SAFETY: 16 rows of k and one element fit into 17 k; the panel holds k rows of ld.
                unsafe { plain(&a, &at, h, runs, &panel, ld, &mut want) };
                for isa in &forms {
                    let mut got = [[T::of(f64::NAN); W]; TILE_ROWS];
                    // SAFETY: as above; the form was detected.
                    unsafe { product(*isa, &a, &at, h, runs, &panel, ld, &mut got) };
                    for (g, w) in got[..h].iter().flatten().zip(want[..h].iter().flatten()) {
                        let error = (g.f64() - w.f64()).abs();
                        assert!(error <= k as f64 * eps * 2.0, "{isa:?} {h} rows of {W}: {g:?} not {w:?}");
                    }
                }
            }
        }
        check::<f32, 32>(f64::from(f32::EPSILON));
        check::<f32, 16>(f64::from(f32::EPSILON));
        check::<f64, 32>(f64::EPSILON);
        check::<f64, 16>(f64::EPSILON);
    }
}
