//! The tile in a browser's vectors of 128 bits: 4 rows of 8 columns, eight sums in registers. Written out line by line: a page is
//! compiled for its size, and then the compiler unrolls no loop.

use super::{Last, Runs, TILE_ROWS};
use std::arch::wasm32::*;

/// Columns of a block.
const COLUMNS: usize = 8;

/// As `super::product`, `columns` of them.
///
/// # Safety
/// As for `super::product`.
pub unsafe fn product(
    a: &[f32],
    at: &[usize; TILE_ROWS],
    h: usize,
    runs: Runs,
    panel: &[f32],
    ld: usize,
    last: &Last<f32>,
    to: &[usize; TILE_ROWS],
    width: usize,
    columns: usize,
    out: &mut [f32],
) {
    let mut c = 0;
    while c < columns {
        let mut r = 0;
        while r < h {
            let at_once = if h - r >= 4 { 4 } else { 1 };
            // A row alone is computed as the first of four equal ones: rare, and short.
            let row = |i: usize| if at_once == 4 { r + i } else { r };
            let rows = [at[row(0)], at[row(1)], at[row(2)], at[row(3)]];
            // SAFETY: the caller's promise bounds every index.
            unsafe {
                let sums = block(a.as_ptr(), rows, runs, panel.as_ptr().wrapping_add(c), ld);
                let mut i = 0;
                while i < at_once {
                    let place = to[r + i] * width + c;
                    store(sums[2 * i], last, c, place, out.as_mut_ptr());
                    store(sums[2 * i + 1], last, c + 4, place + 4, out.as_mut_ptr());
                    i += 1;
                }
            }
            r += at_once;
        }
        c += COLUMNS;
    }
}

/// # Safety
/// As for `super::product`, of these rows and of eight columns of the panel.
unsafe fn block(a: *const f32, rows: [usize; 4], runs: Runs, panel: *const f32, ld: usize) -> [v128; 8] {
    let zero = f32x4_splat(0.0);
    let (mut s00, mut s01, mut s10, mut s11) = (zero, zero, zero, zero);
    let (mut s20, mut s21, mut s30, mut s31) = (zero, zero, zero, zero);
    let mut b = panel;
    for run in 0..runs.count {
        let mut from = run * runs.run;
        for _ in 0..runs.len {
            // SAFETY: the caller's promise.
            unsafe {
                let (b0, b1) = (v128_load(b.cast()), v128_load(b.add(4).cast()));
                let x = v128_load32_splat(a.add(rows[0] + from).cast());
                s00 = f32x4_add(s00, f32x4_mul(x, b0));
                s01 = f32x4_add(s01, f32x4_mul(x, b1));
                let x = v128_load32_splat(a.add(rows[1] + from).cast());
                s10 = f32x4_add(s10, f32x4_mul(x, b0));
                s11 = f32x4_add(s11, f32x4_mul(x, b1));
                let x = v128_load32_splat(a.add(rows[2] + from).cast());
                s20 = f32x4_add(s20, f32x4_mul(x, b0));
                s21 = f32x4_add(s21, f32x4_mul(x, b1));
                let x = v128_load32_splat(a.add(rows[3] + from).cast());
                s30 = f32x4_add(s30, f32x4_mul(x, b0));
                s31 = f32x4_add(s31, f32x4_mul(x, b1));
            }
            b = b.wrapping_add(ld);
            from += runs.col;
        }
    }
    [s00, s01, s10, s11, s20, s21, s30, s31]
}

/// Four sums, as `Last` says, to `out[place]`; `column` is their first.
///
/// # Safety
/// As for `super::product`.
unsafe fn store(sums: v128, last: &Last<f32>, column: usize, place: usize, out: *mut f32) {
    let zero = f32x4_splat(0.0);
    // SAFETY: the caller's promise.
    unsafe {
        let mut v = sums;
        if !last.bias.is_empty() {
            v = f32x4_add(v, v128_load(last.bias.as_ptr().add(column).cast()));
        }
        if last.relu {
            // A NaN stays one.
            v = v128_bitselect(zero, v, f32x4_lt(v, zero));
        }
        if !last.gate.is_empty() {
            v = v128_and(v, f32x4_gt(v128_load(last.gate.as_ptr().add(place).cast()), zero));
        }
        let to = out.add(place);
        if last.add {
            v = f32x4_add(v128_load(to.cast()), v);
        }
        v128_store(to.cast(), v);
    }
}

/// As `super::row_dots` for one row and one column of `padded` elements.
///
/// # Safety
/// As for `super::row_dots`.
pub unsafe fn dot(row: *const f32, k: usize, column: *const f32, padded: usize) -> f32 {
    let zero = f32x4_splat(0.0);
    let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
    let mut first = 0;
    while first < padded {
        // SAFETY: the caller's promise.
        unsafe {
            let (x, y) = (row.add(first.min(k - 16)), column.add(first));
            s0 = f32x4_add(s0, f32x4_mul(v128_load(x.cast()), v128_load(y.cast())));
            s1 = f32x4_add(s1, f32x4_mul(v128_load(x.add(4).cast()), v128_load(y.add(4).cast())));
            s2 = f32x4_add(s2, f32x4_mul(v128_load(x.add(8).cast()), v128_load(y.add(8).cast())));
            s3 = f32x4_add(s3, f32x4_mul(v128_load(x.add(12).cast()), v128_load(y.add(12).cast())));
        }
        first += 16;
    }
    let s = f32x4_add(f32x4_add(s0, s1), f32x4_add(s2, s3));
    let (a, b) = (f32x4_extract_lane::<0>(s) + f32x4_extract_lane::<1>(s), f32x4_extract_lane::<2>(s));
    a + (b + f32x4_extract_lane::<3>(s))
}
