// needs: index, activation, math, mlp
// Before and behind a small network's pass: its weights as quadruples, and their gradient from what the pass left on its tape. Twin:
// src/ops/mlp_weights.rs.

struct MlpPack {
    replicas: u32,
    stride: u32,
    first: u32,
    layers: u32,
    n0: u32,
    n1: u32,
    n2: u32,
    n3: u32,
    n4: u32,
    n5: u32,
    n6: u32,
    n7: u32,
}
@group(0) @binding(0) var<uniform> pack_params: MlpPack;
@group(0) @binding(1) var<storage, read> pack_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> pack_packed: array<vec4<f32>>;

// A workgroup a replica.
@compute @workgroup_size(64)
fn mlp_pack(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = pack_params;
    let r = flat_group(group, groups);
    if r >= p.replicas {
        return;
    }
    let widths =
        widths_of(p.layers, vec4<u32>(p.n0, p.n1, p.n2, p.n3), vec4<u32>(p.n4, p.n5, p.n6, p.n7), lane / GROUP_SIZE);
    var n = widths.n;
    var to = r * packed_quads(widths);
    var first = r * p.stride + p.first;
    for (var i = 0u; i < widths.layers; i++) {
        let n_out = n[i + 1u];
        let row = 2u * octets(n_out);
        for (var t = lane; t < (n[i] + 1u) * row; t += GROUP_SIZE) {
            let k = quotient(t, row);
            let column = (t - k * row) * 4u;
            let columns = remaining(column, n_out);
            let there = vec4<bool>(columns > 0u, columns > 1u, columns > 2u, columns > 3u);
            // A column that is not there is read as the layer's first, and 0.
            let at = first + select(vec4<u32>(), k * n_out + column + vec4<u32>(0u, 1u, 2u, 3u), there);
            let values = vec4<f32>(pack_weights[at.x], pack_weights[at.y], pack_weights[at.z], pack_weights[at.w]);
            pack_packed[to + t] = select(vec4<f32>(), values, there);
        }
        to += (n[i] + 1u) * row;
        first += (n[i] + 1u) * n_out;
    }
}

struct MlpGradient {
    replicas: u32,
    rows: u32,
    activation: u32,
    stride: u32,
    first: u32,
    layers: u32,
    n0: u32,
    n1: u32,
    n2: u32,
    n3: u32,
    n4: u32,
    n5: u32,
    n6: u32,
    n7: u32,
}
@group(0) @binding(0) var<uniform> gradient_params: MlpGradient;
@group(0) @binding(1) var<storage, read> gradient_tape: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> gradient_grad: array<f32>;

// sum[j] + a . d[j] over four rows.
fn inner(sum: vec4<f32>, a: vec4<f32>, d: mat4x4<f32>) -> vec4<f32> {
    return sum + vec4<f32>(dot(a, d[0]), dot(a, d[1]), dot(a, d[2]), dot(a, d[3]));
}

fn four_of_tape(at: u32, unit: u32) -> mat4x4<f32> {
    return mat4x4<f32>(
        gradient_tape[at],
        gradient_tape[at + unit],
        gradient_tape[at + 2u * unit],
        gradient_tape[at + 3u * unit],
    );
}

fn store_grad(at: u32, columns: u32, low: vec4<f32>, high: vec4<f32>) {
    if columns > 0u { gradient_grad[at] = low.x; }
    if columns > 1u { gradient_grad[at + 1u] = low.y; }
    if columns > 2u { gradient_grad[at + 2u] = low.z; }
    if columns > 3u { gradient_grad[at + 3u] = low.w; }
    if columns > 4u { gradient_grad[at + 4u] = high.x; }
    if columns > 5u { gradient_grad[at + 5u] = high.y; }
    if columns > 6u { gradient_grad[at + 6u] = high.z; }
    if columns > 7u { gradient_grad[at + 7u] = high.w; }
}

// The gradient of eight rows and eight columns of W, of which the row behind the last is the bias: the weight of an input that is
// always 1. `x`, `dy` = the layer's input and its output's gradient, `input`, `column` = the tile's first, `to` = of W.
fn gradient_tile(x: u32, dy: u32, unit: u32, n_in: u32, n_out: u32, input: u32, column: u32, to: u32) {
    var a0 = mat4x4<f32>();
    var a1 = mat4x4<f32>();
    var b0 = mat4x4<f32>();
    var b1 = mat4x4<f32>();
    let last = vec4<u32>(n_in - 1u);
    let ones = n_in - input;
    let low = x + min(input + vec4<u32>(0u, 1u, 2u, 3u), last) * unit;
    let high = x + min(input + vec4<u32>(4u, 5u, 6u, 7u), last) * unit;
    let one = vec4<f32>(1.0);
    for (var q = 0u; q < unit; q++) {
        let d0 = four_of_tape(dy + column * unit + q, unit);
        let d1 = four_of_tape(dy + (column + 4u) * unit + q, unit);
        let x0 = select(gradient_tape[low.x + q], one, ones == 0u);
        let x1 = select(gradient_tape[low.y + q], one, ones == 1u);
        let x2 = select(gradient_tape[low.z + q], one, ones == 2u);
        let x3 = select(gradient_tape[low.w + q], one, ones == 3u);
        a0 = mat4x4<f32>(inner(a0[0], x0, d0), inner(a0[1], x1, d0), inner(a0[2], x2, d0), inner(a0[3], x3, d0));
        a1 = mat4x4<f32>(inner(a1[0], x0, d1), inner(a1[1], x1, d1), inner(a1[2], x2, d1), inner(a1[3], x3, d1));
        let x4 = select(gradient_tape[high.x + q], one, ones == 4u);
        let x5 = select(gradient_tape[high.y + q], one, ones == 5u);
        let x6 = select(gradient_tape[high.z + q], one, ones == 6u);
        let x7 = select(gradient_tape[high.w + q], one, ones == 7u);
        b0 = mat4x4<f32>(inner(b0[0], x4, d0), inner(b0[1], x5, d0), inner(b0[2], x6, d0), inner(b0[3], x7, d0));
        b1 = mat4x4<f32>(inner(b1[0], x4, d1), inner(b1[1], x5, d1), inner(b1[2], x6, d1), inner(b1[3], x7, d1));
    }
    let columns = n_out - column;
    let at = to + input * n_out + column;
    store_grad(at, columns, a0[0], a1[0]);
    store_grad(at + n_out, select(0u, columns, ones > 0u), a0[1], a1[1]);
    store_grad(at + 2u * n_out, select(0u, columns, ones > 1u), a0[2], a1[2]);
    store_grad(at + 3u * n_out, select(0u, columns, ones > 2u), a0[3], a1[3]);
    store_grad(at + 4u * n_out, select(0u, columns, ones > 3u), b0[0], b1[0]);
    store_grad(at + 5u * n_out, select(0u, columns, ones > 4u), b0[1], b1[1]);
    store_grad(at + 6u * n_out, select(0u, columns, ones > 5u), b0[2], b1[2]);
    store_grad(at + 7u * n_out, select(0u, columns, ones > 6u), b0[3], b1[3]);
}

@compute @workgroup_size(64)
fn mlp_gradient(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = gradient_params;
    let zero = lane / GROUP_SIZE;
    let widths = widths_of(p.layers, vec4<u32>(p.n0, p.n1, p.n2, p.n3), vec4<u32>(p.n4, p.n5, p.n6, p.n7), zero);
    var n = widths.n;
    let keeps = keeps_pre(p.activation);
    var tape = tape_of(widths, keeps);
    var tiles = 0u;
    for (var i = 1u; i <= widths.layers; i++) {
        tiles += octets(n[i - 1u] + 1u) * octets(n[i]);
    }
    let job = flat_index(group, groups, lane);
    if job >= p.replicas * tiles {
        return;
    }
    let r = job / tiles;
    var t = job - r * tiles;
    var to = r * p.stride + p.first;
    // The tile's layer.
    var i = 1u;
    for (; i < widths.layers; i++) {
        let of_layer = octets(n[i - 1u] + 1u) * octets(n[i]);
        if t < of_layer {
            break;
        }
        t -= of_layer;
        to += (n[i - 1u] + 1u) * n[i];
    }
    let unit = 2u * octets(p.rows + zero);
    let base = r * tape.units * unit;
    let behind = 8u * octets(n[i]) * select(1u, 2u, keeps && i < widths.layers);
    let across = octets(n[i]);
    let input = quotient(t, across);
    let column = t - input * across;
    let x = base + tape.y[i - 1u] * unit;
    gradient_tile(x, base + (tape.y[i] + behind) * unit, unit, n[i - 1u], n[i], 8u * input, 8u * column, to);
}
