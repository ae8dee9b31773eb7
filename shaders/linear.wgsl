// needs: index, math, activation
// Batched linear layers, a 4 x 4 tile of the result in registers a thread. Twin: src/ops/linear.rs.
// Tiles at the edge load the last row or column again: every address is valid, and no lane branches inside the sum.

const TILE: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u);

struct LinearForward {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    n_out: u32,
    weight: u32,
    bias: u32,
    stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> forward_params: LinearForward;
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_pre: array<f32>;

@compute @workgroup_size(64)
fn linear_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let row_tiles = div_ceil(p.rows, 4u);
    let col_tiles = div_ceil(p.n_out, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * row_tiles * col_tiles {
        return;
    }
    let r = i / (row_tiles * col_tiles);
    let row = i / col_tiles % row_tiles * 4u;
    let cols = i % col_tiles * 4u + TILE;

    let x = r / p.share * p.rows * p.n_in + min(row + TILE, vec4<u32>(p.rows - 1u)) * p.n_in;
    let inside = min(cols, vec4<u32>(p.n_out - 1u));
    var w = r * p.stride + p.weight + inside;
    let b = r * p.stride + p.bias + inside;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var k = 0u; k < p.n_in; k++) {
        let wk = vec4<f32>(forward_weights[w.x], forward_weights[w.y], forward_weights[w.z], forward_weights[w.w]);
        s0 += forward_x[x.x + k] * wk;
        s1 += forward_x[x.y + k] * wk;
        s2 += forward_x[x.z + k] * wk;
        s3 += forward_x[x.w + k] * wk;
        w += vec4<u32>(p.n_out);
    }
    let bias = vec4<f32>(forward_weights[b.x], forward_weights[b.y], forward_weights[b.z], forward_weights[b.w]);
    let y = (r * p.rows + row) * p.n_out;
    store_forward(y, cols, row, s0 + bias);
    store_forward(y + p.n_out, cols, row + 1u, s1 + bias);
    store_forward(y + 2u * p.n_out, cols, row + 2u, s2 + bias);
    store_forward(y + 3u * p.n_out, cols, row + 3u, s3 + bias);
}

fn store_forward(y: u32, cols: vec4<u32>, row: u32, values: vec4<f32>) {
    let n = select(0u, forward_params.n_out, row < forward_params.rows);
    if cols.x < n { store_activated(y + cols.x, values.x); }
    if cols.y < n { store_activated(y + cols.y, values.y); }
    if cols.z < n { store_activated(y + cols.z, values.z); }
    if cols.w < n { store_activated(y + cols.w, values.w); }
}

fn store_activated(at: u32, z: f32) {
    if forward_params.activation == ACT_RELU {
        forward_y[at] = at_least(z, 0.0);
    } else if keeps_pre(forward_params.activation) {
        forward_pre[at] = z;
        forward_y[at] = activate(forward_params.activation, z);
    } else {
        forward_y[at] = z;
    }
}

struct LinearBackwardData {
    replicas: u32,
    rows: u32,
    n_in: u32,
    n_out: u32,
    weight: u32,
    stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> data_params: LinearBackwardData;
@group(0) @binding(1) var<storage, read> data_dy: array<f32>;
@group(0) @binding(2) var<storage, read> data_weights: array<f32>;
@group(0) @binding(3) var<storage, read> data_saved: array<f32>;
@group(0) @binding(4) var<storage, read_write> data_dx: array<f32>;

@compute @workgroup_size(64)
fn linear_backward_data(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    let row_tiles = div_ceil(p.rows, 4u);
    let col_tiles = div_ceil(p.n_in, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * row_tiles * col_tiles {
        return;
    }
    let r = i / (row_tiles * col_tiles);
    let row = i / col_tiles % row_tiles * 4u;
    let cols = i % col_tiles * 4u + TILE;

    let dy = (r * p.rows + min(row + TILE, vec4<u32>(p.rows - 1u))) * p.n_out;
    let w = r * p.stride + p.weight + min(cols, vec4<u32>(p.n_in - 1u)) * p.n_out;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var k = 0u; k < p.n_out; k++) {
        let wk = vec4<f32>(data_weights[w.x + k], data_weights[w.y + k], data_weights[w.z + k], data_weights[w.w + k]);
        s0 += data_dy[dy.x + k] * wk;
        s1 += data_dy[dy.y + k] * wk;
        s2 += data_dy[dy.z + k] * wk;
        s3 += data_dy[dy.w + k] * wk;
    }
    let dx = (r * p.rows + row) * p.n_in;
    store_data(dx, cols, row, s0);
    store_data(dx + p.n_in, cols, row + 1u, s1);
    store_data(dx + 2u * p.n_in, cols, row + 2u, s2);
    store_data(dx + 3u * p.n_in, cols, row + 3u, s3);
}

fn store_data(dx: u32, cols: vec4<u32>, row: u32, values: vec4<f32>) {
    let n = select(0u, data_params.n_in, row < data_params.rows);
    if cols.x < n { store_sloped(dx + cols.x, values.x); }
    if cols.y < n { store_sloped(dx + cols.y, values.y); }
    if cols.z < n { store_sloped(dx + cols.z, values.z); }
    if cols.w < n { store_sloped(dx + cols.w, values.w); }
}

fn store_sloped(at: u32, value: f32) {
    if data_params.activation == ACT_RELU {
        data_dx[at] = select(0.0, value, data_saved[at] > 0.0);
    } else if keeps_pre(data_params.activation) {
        data_dx[at] = value * activation_slope(data_params.activation, data_saved[at]);
    } else {
        data_dx[at] = value;
    }
}

struct LinearBackwardWeight {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    n_out: u32,
    weight: u32,
    bias: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> weight_params: LinearBackwardWeight;
@group(0) @binding(1) var<storage, read> weight_x: array<f32>;
@group(0) @binding(2) var<storage, read> weight_dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> weight_grad: array<f32>;

@compute @workgroup_size(64)
fn linear_backward_weight(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    // One row of tiles more than W has: the bias, an input that is always 1.
    let in_tiles = div_ceil(p.n_in, 4u) + 1u;
    let col_tiles = div_ceil(p.n_out, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * in_tiles * col_tiles {
        return;
    }
    let r = i / (in_tiles * col_tiles);
    let tile = i / col_tiles % in_tiles;
    let cols = i % col_tiles * 4u + TILE;
    var dy = r * p.rows * p.n_out + min(cols, vec4<u32>(p.n_out - 1u));
    var s0 = vec4<f32>();
    if tile == in_tiles - 1u {
        for (var b = 0u; b < p.rows; b++) {
            s0 += vec4<f32>(weight_dy[dy.x], weight_dy[dy.y], weight_dy[dy.z], weight_dy[dy.w]);
            dy += vec4<u32>(p.n_out);
        }
        store_grad(r * p.stride + p.bias, cols, true, s0);
        return;
    }
    let row = tile * 4u;
    var x = r / p.share * p.rows * p.n_in + min(row + TILE, vec4<u32>(p.n_in - 1u));
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var b = 0u; b < p.rows; b++) {
        let d = vec4<f32>(weight_dy[dy.x], weight_dy[dy.y], weight_dy[dy.z], weight_dy[dy.w]);
        s0 += weight_x[x.x] * d;
        s1 += weight_x[x.y] * d;
        s2 += weight_x[x.z] * d;
        s3 += weight_x[x.w] * d;
        dy += vec4<u32>(p.n_out);
        x += vec4<u32>(p.n_in);
    }
    let dw = r * p.stride + p.weight + row * p.n_out;
    store_grad(dw, cols, true, s0);
    store_grad(dw + p.n_out, cols, row + 1u < p.n_in, s1);
    store_grad(dw + 2u * p.n_out, cols, row + 2u < p.n_in, s2);
    store_grad(dw + 3u * p.n_out, cols, row + 3u < p.n_in, s3);
}

fn store_grad(at: u32, cols: vec4<u32>, inside: bool, values: vec4<f32>) {
    let n = select(0u, weight_params.n_out, inside);
    if cols.x < n { weight_grad[at + cols.x] = values.x; }
    if cols.y < n { weight_grad[at + cols.y] = values.y; }
    if cols.z < n { weight_grad[at + cols.z] = values.z; }
    if cols.w < n { weight_grad[at + cols.w] = values.w; }
}
