// Functions that neither overflow nor lose a NaN. WGSL's min, max and clamp may return either operand when one is NaN, and a
// compiler with fast math makes such a minimum or maximum of a comparison with select: a NaN is told by its bits, in integers.

const HALF_LOG_TAU: f32 = 0.9189385332046727;

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// By the exponent's bits: compilers with fast math on take `x != x` for false. Ask it of values loaded from a buffer.
fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

// A NaN on the left is kept, as by Real::at_least.
fn at_least(x: f32, low: f32) -> f32 {
    return select(select(x, low, x < low), x, is_nan(x));
}

fn at_most(x: f32, high: f32) -> f32 {
    return select(select(x, high, x > high), x, is_nan(x));
}

// A NaN on either side is kept, as by Real::larger.
fn larger(a: f32, b: f32) -> f32 {
    return select(at_least(a, b), b, is_nan(b));
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

// From here on Mish is x and its slope 1.
const MISH_FAR: f32 = 20.0;

// t = tanh(log(1 + e^x)) = w / (w + 2) with w = e^x (e^x + 2), and its slope.
fn mish_gate(x: f32) -> vec2<f32> {
    let e = exp(at_most(x, MISH_FAR));
    let w = e * (e + 2.0);
    let inverse = 1.0 / (w + 2.0);
    return vec2<f32>(w * inverse, 4.0 * e * (1.0 + e) * (inverse * inverse));
}

fn mish(x: f32) -> f32 {
    return x * mish_gate(x).x;
}

fn mish_slope(x: f32) -> f32 {
    let gate = mish_gate(x);
    return gate.x + at_most(x, MISH_FAR) * gate.y;
}

// Scale, and scale times alpha, of Klambauer et al. 2017.
const SELU_SCALE: f32 = 1.0507009873554805;
const SELU_LOW: f32 = 1.7580993408473766;

fn selu(x: f32) -> f32 {
    return select(SELU_LOW * (exp(at_most(x, 0.0)) - 1.0), SELU_SCALE * x, x > 0.0);
}

fn selu_slope(x: f32) -> f32 {
    return select(SELU_LOW * exp(at_most(x, 0.0)), SELU_SCALE, x > 0.0);
}

// sin(2 pi y) for y in [-1/4, 1/4]; the polynomial misses it by less than 4e-9.
fn sine_quarter(y: f32) -> f32 {
    let z = y * y;
    return y * (6.283185 + z * (-41.341656 + z * (81.601006 + z * (-76.54978 + z * 39.536705))));
}

// (cos, sin) of t turns, any t: whole turns fall away without rounding, and both are folded onto the first quarter.
// Twin: Real::cos_sin_turns (src/base/real.rs).
fn cos_sin_of_turns(t: f32) -> vec2<f32> {
    let r = t - round(t);
    let from_quarter = 0.25 - abs(r);
    let s = sine_quarter(0.25 - abs(from_quarter));
    return vec2<f32>(sine_quarter(from_quarter), select(s, -s, r < 0.0));
}
