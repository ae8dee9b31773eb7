// Functions that neither overflow nor lose a NaN. WGSL's min, max and clamp may return either operand when one is NaN;
// a comparison with select keeps the value on the left, as Real::at_least does.

const HALF_LOG_TAU: f32 = 0.9189385332046727;

fn at_least(x: f32, low: f32) -> f32 {
    return select(x, low, x < low);
}

fn at_most(x: f32, high: f32) -> f32 {
    return select(x, high, x > high);
}

// By the exponent's bits: compilers with fast math on take `x != x` for false. Ask it of values loaded from a buffer.
fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

// log(1 + e) for e in [0, 1]. log(1.0 + e) would lose every digit of a small e, and with it those of a small sigma.
// 2 atanh(s), s = e / (2 + e) <= 1/3: the first term left out is 2 s^17 / 17 < 1e-9 s.
fn log1p_unit(e: f32) -> f32 {
    let s = e / (2.0 + e);
    let q = s * s;
    let tail = 1.0 / 3.0 + q * (0.2 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0 + q * (1.0 / 15.0))))));
    return 2.0 * s + 2.0 * s * q * tail;
}

fn softplus(x: f32) -> f32 {
    return at_least(x, 0.0) + log1p_unit(exp(-abs(x)));
}

fn sigmoid(x: f32) -> f32 {
    let e = exp(-abs(x));
    let small = e / (1.0 + e);
    return select(small, 1.0 - small, x >= 0.0);
}

fn silu(x: f32) -> f32 {
    return x * sigmoid(x);
}

fn silu_slope(x: f32) -> f32 {
    let s = sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
}
