//! Every form of the tile against the plain one.

use super::*;

/// The instruction sets that this machine has, and the plain one.
fn sets() -> Vec<Isa> {
    let all = [
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2,
        Isa::Plain,
    ];
    all.into_iter().filter(|isa| isa.is_here()).collect()
}

/// Every form of the tile that this machine can run gives the plain form's numbers: k products of size at most 1.
#[test]
fn every_form_equals_the_plain_one() {
    fn check<T: Real, const W: usize>(eps: f64) {
        let (k, ld) = (37, W + 3);
        let a: Vec<T> = (0..TILE_ROWS * 256 + k).map(|i| T::of((i as f64 * 0.37).sin())).collect();
        let panel: Vec<T> = (0..k * ld).map(|i| T::of((i as f64 * 0.11).cos())).collect();
        let runs = Runs { count: 1, len: k, run: 0, col: 1 };
        let to = std::array::from_fn(|r| r);
        let bias: Vec<T> = (0..W).map(|i| T::of((i as f64 * 0.7).sin())).collect();
        let gate: Vec<T> = (0..TILE_ROWS * (W + 1)).map(|i| T::of((i as f64 * 0.23).sin())).collect();
        // Rows at distances that have forms of their own, at one that has none, and at no even one.
        let uneven = Places { at: std::array::from_fn(|r| r * k + r % 2), step: 0, furthest: 0 };
        let even = [1, 16, 32, 64, 128, 256, k].map(|step| {
            let mut places = Places::NONE;
            places.set_even(0, step, TILE_ROWS);
            places
        });
        for (h, at) in (1..=TILE_ROWS).flat_map(|h| even.into_iter().chain([uneven]).map(move |at| (h, at))) {
            for (with_bias, relu, gated, add) in [
                (0, false, 0, false),
                (1, false, 0, false),
                (1, true, 0, false),
                (0, true, 0, false),
                (0, false, 1, false),
                (0, false, 0, true),
            ] {
                let last = Last { bias: &bias[..with_bias * W], relu, gate: &gate[..gated * gate.len()], add };
                let mut want = vec![T::of(9.0); TILE_ROWS * (W + 1)];
                // SAFETY: 16 rows that are 256 apart at most, the last of k, fit into 16 * 256 + k; the panel holds k rows of ld,
                // `want` and the gate 16 rows of W + 1.
                unsafe { plain::<T, W>(&a, &at.at, h, runs, &panel, ld, last, &to, W + 1, &mut want) };
                for isa in &sets() {
                    let mut got = vec![T::of(9.0); want.len()];
                    // SAFETY: as above; the form was detected.
                    unsafe { product::<T, W>(*isa, &a, &at, h, runs, &panel, ld, last, &to, W + 1, &mut got) };
                    for (g, w) in got.iter().zip(&want) {
                        let error = (g.f64() - w.f64()).abs();
                        assert!(
                            error <= (k + 1) as f64 * eps * 2.0,
                            "{isa:?} {h} rows of {W}, {} apart: {g:?} not {w:?}",
                            at.step
                        );
                    }
                }
                assert!(want[h * (W + 1)..].iter().all(|v| *v == T::of(9.0)), "wrote past its rows");
                assert!(want[..h * (W + 1)].chunks(W + 1).all(|row| row[W] == T::of(9.0)), "wrote past its columns");
            }
        }
    }
    check::<f32, 32>(f64::from(f32::EPSILON));
    check::<f32, 16>(f64::from(f32::EPSILON));
    check::<f64, 32>(f64::EPSILON);
    check::<f64, 16>(f64::EPSILON);
}

/// The dot products too: of f32, which alone has forms of its own.
#[test]
fn every_form_of_the_dots_equals_the_plain_one() {
    fn check<const N: usize>() {
        for k in [16, 17, 31, 32, 50, 100] {
            let (m, row) = (5, k + 3);
            let a: Vec<f32> = (0..m * row).map(|i| (i as f32 * 0.37).sin()).collect();
            let columns: Vec<f32> = (0..N * usize::next_multiple_of(k, 16)).map(|i| (i as f32 * 0.11).cos()).collect();
            let dots = |isa| {
                let mut out = vec![[f32::NAN; N]; m];
                // SAFETY: m rows of k lie `row` apart in m * row; the form was detected.
                unsafe { row_dots(isa, &a, row, k, &columns, &mut out) };
                out
            };
            let want = dots(Isa::Plain);
            for isa in sets() {
                for (g, w) in dots(isa).iter().flatten().zip(want.iter().flatten()) {
                    assert!((g - w).abs() <= 2.0 * (k + 16) as f32 * f32::EPSILON, "{isa:?} {k}: {g} not {w}");
                }
            }
        }
    }
    check::<1>();
    check::<2>();
    check::<4>();
}
