// Counter-based randomness, the twin of src/base/rng.rs: the integers are the same, the normals agree to rounding.

const STREAM_ORDER: u32 = 2u;
const STREAM_HEAD: u32 = 3u;
const STREAM_AUX: u32 = 4u;
const STREAM_WEIGHTS: u32 = 5u;
const STREAM_AUGMENT: u32 = 8u;

// WGSL has no 64-bit product: its upper word from 16-bit limbs. No partial sum exceeds 32 bits.
fn mul_hi(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let lh = al * bh;
    let hl = ah * bl;
    let middle = ((al * bl) >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
    return ah * bh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u);
}

// Philox4x32-10.
fn philox(counter: vec4<u32>, first_key: vec2<u32>) -> vec4<u32> {
    var c = counter;
    var key = first_key;
    for (var round = 0u; round < 10u; round++) {
        let lo0 = c.x * 0xD2511F53u;
        let lo1 = c.z * 0xCD9E8D57u;
        c = vec4<u32>(mul_hi(c.z, 0xCD9E8D57u) ^ c.y ^ key.x, lo1, mul_hi(c.x, 0xD2511F53u) ^ c.w ^ key.y, lo0);
        key += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

// Where a sequence is drawn from; four numbers to a block.
struct Draw {
    seed: u32,
    stream: u32,
    step: u32,
    replica: u32,
}

fn draw_block(draw: Draw, block: u32) -> vec4<u32> {
    return philox(vec4<u32>(draw.step, block, draw.replica, 0u), vec2<u32>(draw.seed, draw.stream));
}

// Uniform on [0, 1) with 24 bits: exact, so equal on every executor.
fn unit(bits: u32) -> f32 {
    return f32(bits >> 8u) * (1.0 / 16777216.0);
}

// Uniform strictly inside (0, 1).
fn open_unit(bits: u32) -> f32 {
    return (f32(bits >> 9u) + 0.5) * (1.0 / 8388608.0);
}

fn draw_uniform(draw: Draw, element: u32) -> f32 {
    let block = draw_block(draw, element / 4u);
    return unit(block[element % 4u]);
}

// Written out because adapters' own log, sin and cos differ by more than the twin's tolerance; see the twin for the
// error of each series.
fn ln_unit(u: f32) -> f32 {
    let bits = bitcast<u32>(u) - 0x3F3504F3u;
    let e = bitcast<i32>(bits) >> 23u;
    let m = bitcast<f32>((bits & 0x007FFFFFu) + 0x3F3504F3u);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = s * (2.0 + s2 * (2.0 / 3.0 + s2 * (0.4 + s2 * (2.0 / 7.0 + s2 * (2.0 / 9.0)))));
    return f32(e) * 0.6931471805599453 + series;
}

// (cos, sin) of t turns, t in [0, 1).
fn cos_sin_turns(t: f32) -> vec2<f32> {
    let q = i32(4.0 * t + 0.5);
    let x = (t - f32(q) * 0.25) * 6.283185307179586;
    let x2 = x * x;
    let s = x * (1.0 + x2 * (-1.0 / 6.0 + x2 * (1.0 / 120.0 + x2 * (-1.0 / 5040.0))));
    let c = 1.0 + x2 * (-0.5 + x2 * (1.0 / 24.0 + x2 * (-1.0 / 720.0 + x2 * (1.0 / 40320.0))));
    let cs = select(vec2<f32>(c, s), vec2<f32>(s, c), (q & 1) != 0);
    return vec2<f32>(select(cs.x, -cs.x, ((q + 1) & 2) != 0), select(cs.y, -cs.y, (q & 2) != 0));
}

fn box_muller(w0: u32, w1: u32) -> vec2<f32> {
    return sqrt(max(-2.0 * ln_unit(open_unit(w0)), 0.0)) * cos_sin_turns(unit(w1));
}

// Four standard normals of one block.
fn draw_normals(draw: Draw, block: u32) -> vec4<f32> {
    let w = draw_block(draw, block);
    return vec4<f32>(box_muller(w.x, w.y), box_muller(w.z, w.w));
}

// A keyed permutation of 0..n, one element at a time: six Feistel rounds, walked until the result falls below n.
struct Permutation {
    keys: vec4<u32>,
    n: u32,
    half: u32,
}

fn permutation(seed: u32, epoch: u32, member: u32, n: u32) -> Permutation {
    let keys = philox(vec4<u32>(epoch, 0u, member, 0u), vec2<u32>(seed, STREAM_ORDER));
    let bits = 32u - countLeadingZeros(max(n, 1u) - 1u);
    return Permutation(keys, n, max((bits + 1u) / 2u, 1u));
}

fn permute(order: Permutation, i: u32) -> u32 {
    let mask = (1u << order.half) - 1u;
    var x = i;
    // Ends: the rounds permute 0..2^(2 half), so the walk from i < n comes back below n.
    loop {
        var left = x >> order.half;
        var right = x & mask;
        for (var round = 0u; round < 6u; round++) {
            var f = (right ^ order.keys[round & 3u]) * 0x9E3779B1u + round;
            f = (f ^ (f >> 15u)) * 0x85EBCA77u;
            f ^= f >> 13u;
            let swapped = left ^ (f & mask);
            left = right;
            right = swapped;
        }
        x = (left << order.half) | right;
        if x < order.n {
            break;
        }
    }
    return x;
}
