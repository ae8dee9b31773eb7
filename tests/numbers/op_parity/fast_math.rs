//! NaN under fast math: a compiler that takes no number for a NaN makes a minimum or maximum of a comparison with select, and those
//! give the other operand. Metal's default is such a compiler. Here the shaders are rewritten as it would.

use super::gpu;
use vifo::exec::gpu::testing::probe_rewritten;

/// A quiet NaN of either sign through every function that compares: bits of what comes out.
const BODY: &str = "// needs: math, activation
fn word(i: u32) -> u32 {
    let x = bitcast<f32>(0x7fc00000u | ((i & 1u) << 31u));
    switch i >> 1u {
        case 0u: { return bitcast<u32>(at_least(x, 0.0)); }
        case 1u: { return bitcast<u32>(at_most(x, 0.0)); }
        case 2u: { return bitcast<u32>(larger(x, 1.0)); }
        case 3u: { return bitcast<u32>(larger(1.0, x)); }
        case 4u: { return bitcast<u32>(activate(ACT_RELU, x)); }
        case 5u: { return bitcast<u32>(at_most(at_least(x, -10.0), 10.0)); }
        default: { return bitcast<u32>(softplus(x)); }
    }
}";

fn fast(composed: String) -> String {
    let mut text = composed;
    for (comparison, made_of_it) in
        [("select(x, low, x < low)", "max(x, low)"), ("select(x, high, x > high)", "min(x, high)")]
    {
        assert!(text.contains(comparison), "no {comparison}");
        text = text.replace(comparison, made_of_it);
    }
    text
}

fn lost(rewrite: &dyn Fn(String) -> String) -> Vec<usize> {
    let bits = probe_rewritten(&gpu(), BODY, 14, rewrite).expect("a probe");
    bits.iter().enumerate().filter(|(_, b)| !f32::from_bits(**b).is_nan()).map(|(i, _)| i).collect()
}

#[test]
fn a_nan_survives_a_compiler_that_knows_none() {
    assert!(lost(&|composed| composed).is_empty());
    let lost_by_it = lost(&fast);
    assert!(lost_by_it.is_empty(), "{lost_by_it:?}");
}

/// The rewriting does what it is meant to: without the look at the bits a NaN is lost.
#[test]
fn without_its_bits_it_is_lost() {
    let blind = |composed: String| {
        let look = "(bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u";
        assert!(composed.contains(look));
        fast(composed.replace(look, "false"))
    };
    assert!(!lost(&blind).is_empty());
}
