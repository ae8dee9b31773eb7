//! Functions of the shaders' fragments against the host's: random numbers to the bit, log(1 + e) to its digits.

use super::gpu;
use crate::common::bounded::U;
use crate::common::rows::{self};
use crate::common::{Tolerance, compare};
use vifo::base::rng::{Draw, Permutation, normals, philox};
use vifo::exec::gpu::testing::probe;

#[test]
fn philox_is_bit_equal() {
    let body = "// needs: index, rng
        fn word(i: u32) -> u32 {
            let block = i / 4u;
            let counter = vec4<u32>(block * 0x9E3779B9u, block, ~block, block << 16u);
            return philox(counter, vec2<u32>(block * 77u, 0xffffffffu - block))[i % 4u];
        }";
    let got = probe(&gpu(), body, 4096).expect("a probe");
    for (b, got) in got.chunks(4).enumerate() {
        let b = b as u32;
        let want = philox([b.wrapping_mul(0x9E37_79B9), b, !b, b << 16], [b * 77, u32::MAX - b]);
        assert_eq!(got, want, "block {b}");
    }
}

#[test]
fn permutations_are_bit_equal() {
    for n in [1u32, 2, 3, 63, 64, 65, 1000, 4097] {
        let body = format!(
            "// needs: index, rng
            fn word(i: u32) -> u32 {{ return permute(permutation(5u, 7u, i / {n}u, {n}u), i % {n}u); }}"
        );
        let got = probe(&gpu(), &body, 2 * n).expect("a probe");
        let want: Vec<u32> = (0..2 * n).map(|i| Permutation::new(5, 7, i / n, n).at(i % n)).collect();
        assert_eq!(got, want, "n = {n}");
    }
}

/// The normals of the shader against those of the host: the bound that `rows::NORMALS` gives every op that draws them.
#[test]
fn normals_agree() {
    let body = "// needs: index, rng
        fn word(i: u32) -> u32 { return bitcast<u32>(draw_normals(Draw(9u, 3u, 4u, 5u), i / 4u)[i % 4u]); }";
    let got: Vec<f32> = probe(&gpu(), body, 100_000).expect("a probe").into_iter().map(f32::from_bits).collect();
    let draw = Draw { seed: 9, stream: 3, step: 4, replica: 5 };
    let want: Vec<f64> = (0..25_000).flat_map(|b| normals(draw.block(b))).map(|v| v as f64).collect();
    let bounds: Vec<f64> = want.iter().map(|v| rows::NORMALS.0 * v.abs() + rows::NORMALS.1).collect();
    let report = compare("normals", &got, &want, Tolerance::Each(&bounds)).unwrap_or_else(|e| panic!("{e}"));
    println!("normals used {:.3} of their bound", report.share);
}

/// log(1 + e) keeps its digits for small e, where log would lose them.
#[test]
fn log1p_agrees() {
    let body = "// needs: math
        fn word(i: u32) -> u32 { return bitcast<u32>(log1p_unit(exp2(-0.01 * f32(i)))); }";
    let exact = "// needs: math
        fn word(i: u32) -> u32 { return bitcast<u32>(exp2(-0.01 * f32(i))); }";
    let floats =
        |body| probe(&gpu(), body, 8000).expect("a probe").into_iter().map(f32::from_bits).collect::<Vec<f32>>();
    let want: Vec<f64> = floats(exact).iter().map(|e| (*e as f64).ln_1p()).collect();
    let bounds: Vec<f64> = want.iter().map(|v| 10.0 * U * v).collect();
    compare("log1p_unit", &floats(body), &want, Tolerance::Each(&bounds)).unwrap_or_else(|e| panic!("{e}"));
}
