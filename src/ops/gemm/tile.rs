//! The register tile of the matrix product: up to 16 rows of A times a panel of B. On x86 it is written in the machine's
//! vectors: from plain loops the compiler sometimes vectorises over the rows, which gathers, and is 20 times slower.
//! Every form sums over k in the same order; forms with and without a fused multiply-add differ in the last bits.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::{Isa, Runs};
use crate::base::Real;

/// Rows of the highest tile.
pub const TILE_ROWS: usize = 16;

/// Where the rows of a tile are.
#[derive(Clone, Copy)]
pub struct Places {
    pub at: [usize; TILE_ROWS],
    /// From one row to the next; 0 where that is not the same for all.
    pub step: usize,
    /// The last of them in memory.
    pub furthest: usize,
}

impl Places {
    pub const NONE: Places = Places { at: [0; TILE_ROWS], step: 0, furthest: 0 };

    /// Row r at `first + r * step`, for h of them, of which there is one at least.
    #[inline(always)]
    pub fn set_even(&mut self, first: usize, step: usize, h: usize) {
        // All that there may be: a loop of known length is a few vectors.
        for r in 0..TILE_ROWS {
            self.at[r] = first.wrapping_add(r.wrapping_mul(step));
        }
        (self.step, self.furthest) = (step, first + (h - 1) * step);
    }
}

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
/// `at.at[r]` plus the last offset of `runs` lies inside `a` for r < h and is what `at.step` says, `(k - 1) * ld + W` lies inside
/// `panel`, `to[r] * width + W` inside `out` and the gate, if there is one; a bias has W elements; and the machine has what `isa`
/// names.
#[inline(always)]
pub unsafe fn product<T: Real, const W: usize>(
    isa: Isa,
    a: &[T],
    at: &Places,
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
            wasm::product(as_f32(a), &at.at, h, runs, as_f32(panel), ld, &last, to, width, W, out)
        };
    }
    let _ = isa;
    // SAFETY: the caller's promise.
    unsafe { plain::<T, W>(a, &at.at, h, runs, panel, ld, last, to, width, out) }
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
