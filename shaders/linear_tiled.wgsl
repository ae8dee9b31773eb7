// needs: index, math, activation, tile, tile_sums
// Batched linear layers through workgroup memory, for hardware: parameters, bindings and twins of linear.wgsl. Inputs are
// bound as quadruples and read as such where they are aligned, else number by number; the kernels that end in _quads store
// quadruples too.

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
@group(0) @binding(1) var<storage, read> forward_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> forward_weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_pre: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_quads_y: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> forward_quads_pre: array<vec4<f32>>;

// Four numbers from `at` on, of which `n` are wanted; the others are zero.
fn forward_x_quad(at: u32, n: u32) -> vec4<f32> {
    if at % 4u == 0u && n >= 4u {
        return forward_x[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = forward_x[at / 4u][at % 4u]; }
    if n > 1u { quad.y = forward_x[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = forward_x[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = forward_x[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

fn forward_weight_quad(at: u32, n: u32) -> vec4<f32> {
    if at % 4u == 0u && n >= 4u {
        return forward_weights[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = forward_weights[at / 4u][at % 4u]; }
    if n > 1u { quad.y = forward_weights[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = forward_weights[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = forward_weights[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

fn forward_sums(tile: vec3<u32>, lane: u32) -> mat4x4<f32> {
    let p = forward_params;
    // A, by lines: a line is a row of x. Past the last row it is loaded again.
    let line = lane / A_SHARE;
    let a_to = line_at(line, SIDE_M) + lane % A_SHARE * A_QUADS;
    let x = (tile.x / p.share * p.rows + min(tile.y + line, p.rows - 1u)) * p.n_in;
    // B, by slices: a slice is a row of the weights.
    let col = tile.z + lane % SIDE_N * 4u;
    let n = remaining(col, p.n_out);
    let weight = tile.x * p.stride + p.weight + col;
    var sums = mat4x4<f32>();
    for (var done = 0u; done < p.n_in; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            let k = done + (lane % A_SHARE * A_QUADS + quad) * 4u;
            tile_a[a_to + quad] = forward_x_quad(x + k, remaining(k, p.n_in));
        }
        let row = done + lane / SIDE_N;
        tile_b[lane] = forward_weight_quad(weight + row * p.n_out, select(0u, n, row < p.n_in));
        workgroupBarrier();
        sums = add_lines_slices(sums, lane);
        workgroupBarrier();
    }
    let bias = forward_weight_quad(tile.x * p.stride + p.bias + col, n);
    return sums + mat4x4<f32>(bias, bias, bias, bias);
}

@compute @workgroup_size(THREADS)
fn linear_forward_tiled(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let tile = tile_at(flat_group(group, groups), p.rows, p.n_out);
    if tile.x >= p.replicas {
        return;
    }
    let sums = forward_sums(tile, lane);
    let row = tile.y + lane / SIDE_N * 4u;
    let col = tile.z + lane % SIDE_N * 4u;
    let y = (tile.x * p.rows + row) * p.n_out + col;
    let n = remaining(col, p.n_out);
    let rows = remaining(row, p.rows);
    if rows > 0u { store_forward(y, n, sums[0]); }
    if rows > 1u { store_forward(y + p.n_out, n, sums[1]); }
    if rows > 2u { store_forward(y + 2u * p.n_out, n, sums[2]); }
    if rows > 3u { store_forward(y + 3u * p.n_out, n, sums[3]); }
}

fn store_forward(y: u32, n: u32, z: vec4<f32>) {
    let act = activate_quad(forward_params.activation, z);
    if n > 0u { forward_y[y] = act.x; }
    if n > 1u { forward_y[y + 1u] = act.y; }
    if n > 2u { forward_y[y + 2u] = act.z; }
    if n > 3u { forward_y[y + 3u] = act.w; }
    if keeps_pre(forward_params.activation) {
        if n > 0u { forward_pre[y] = z.x; }
        if n > 1u { forward_pre[y + 1u] = z.y; }
        if n > 2u { forward_pre[y + 2u] = z.z; }
        if n > 3u { forward_pre[y + 3u] = z.w; }
    }
}

// n_out divides by four.
@compute @workgroup_size(THREADS)
fn linear_forward_tiled_quads(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let tile = tile_at(flat_group(group, groups), p.rows, p.n_out);
    if tile.x >= p.replicas {
        return;
    }
    let sums = forward_sums(tile, lane);
    let row = tile.y + lane / SIDE_N * 4u;
    let col = tile.z + lane % SIDE_N * 4u;
    let y = ((tile.x * p.rows + row) * p.n_out + col) / 4u;
    let step = p.n_out / 4u;
    let rows = select(0u, remaining(row, p.rows), col < p.n_out);
    if rows > 0u { store_forward_quad(y, sums[0]); }
    if rows > 1u { store_forward_quad(y + step, sums[1]); }
    if rows > 2u { store_forward_quad(y + 2u * step, sums[2]); }
    if rows > 3u { store_forward_quad(y + 3u * step, sums[3]); }
}

fn store_forward_quad(y: u32, z: vec4<f32>) {
    forward_quads_y[y] = activate_quad(forward_params.activation, z);
    if keeps_pre(forward_params.activation) {
        forward_quads_pre[y] = z;
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
@group(0) @binding(1) var<storage, read> data_dy: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> data_weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> data_saved: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> data_dx: array<f32>;
@group(0) @binding(4) var<storage, read_write> data_quads_dx: array<vec4<f32>>;

fn data_dy_quad(at: u32, n: u32) -> vec4<f32> {
    if at % 4u == 0u && n >= 4u {
        return data_dy[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = data_dy[at / 4u][at % 4u]; }
    if n > 1u { quad.y = data_dy[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = data_dy[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = data_dy[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

fn data_weight_quad(at: u32, n: u32) -> vec4<f32> {
    if at % 4u == 0u && n >= 4u {
        return data_weights[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = data_weights[at / 4u][at % 4u]; }
    if n > 1u { quad.y = data_weights[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = data_weights[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = data_weights[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

fn data_sums(tile: vec3<u32>, lane: u32) -> mat4x4<f32> {
    let p = data_params;
    // A, by lines: a line is a row of dy. B, by lines: a line is a row of the weights.
    let line = lane / A_SHARE;
    let a_to = line_at(line, SIDE_M) + lane % A_SHARE * A_QUADS;
    let dy = (tile.x * p.rows + min(tile.y + line, p.rows - 1u)) * p.n_out;
    let b_line = lane / (DEPTH / 4u);
    let b_to = line_at(b_line, SIDE_N) + lane % (DEPTH / 4u);
    let weight = tile.x * p.stride + p.weight + min(tile.z + b_line, p.n_in - 1u) * p.n_out;
    var sums = mat4x4<f32>();
    for (var done = 0u; done < p.n_out; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            let k = done + (lane % A_SHARE * A_QUADS + quad) * 4u;
            tile_a[a_to + quad] = data_dy_quad(dy + k, remaining(k, p.n_out));
        }
        let k = done + lane % (DEPTH / 4u) * 4u;
        tile_b[b_to] = data_weight_quad(weight + k, remaining(k, p.n_out));
        workgroupBarrier();
        sums = add_lines_lines(sums, lane);
        workgroupBarrier();
    }
    return sums;
}

@compute @workgroup_size(THREADS)
fn linear_backward_data_tiled(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    let tile = tile_at(flat_group(group, groups), p.rows, p.n_in);
    if tile.x >= p.replicas {
        return;
    }
    let sums = data_sums(tile, lane);
    let row = tile.y + lane / SIDE_N * 4u;
    let col = tile.z + lane % SIDE_N * 4u;
    let dx = (tile.x * p.rows + row) * p.n_in + col;
    let n = remaining(col, p.n_in);
    let rows = remaining(row, p.rows);
    if rows > 0u { store_data(dx, n, sums[0]); }
    if rows > 1u { store_data(dx + p.n_in, n, sums[1]); }
    if rows > 2u { store_data(dx + 2u * p.n_in, n, sums[2]); }
    if rows > 3u { store_data(dx + 3u * p.n_in, n, sums[3]); }
}

fn store_data(at: u32, n: u32, values: vec4<f32>) {
    if n > 0u { store_sloped(at, values.x); }
    if n > 1u { store_sloped(at + 1u, values.y); }
    if n > 2u { store_sloped(at + 2u, values.z); }
    if n > 3u { store_sloped(at + 3u, values.w); }
}

fn store_sloped(at: u32, value: f32) {
    var saved = 1.0;
    if data_params.activation != 0u {
        saved = data_saved[at / 4u][at % 4u];
    }
    data_dx[at] = sloped(value, saved);
}

// Where a ReLU is off the gradient is zero, even of an infinity.
fn sloped(value: f32, saved: f32) -> f32 {
    if data_params.activation == ACT_RELU {
        return select(0.0, value, saved > 0.0);
    }
    return value * activation_slope(data_params.activation, saved);
}

// n_in divides by four.
@compute @workgroup_size(THREADS)
fn linear_backward_data_tiled_quads(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    let tile = tile_at(flat_group(group, groups), p.rows, p.n_in);
    if tile.x >= p.replicas {
        return;
    }
    let sums = data_sums(tile, lane);
    let row = tile.y + lane / SIDE_N * 4u;
    let col = tile.z + lane % SIDE_N * 4u;
    let dx = ((tile.x * p.rows + row) * p.n_in + col) / 4u;
    let step = p.n_in / 4u;
    let rows = select(0u, remaining(row, p.rows), col < p.n_in);
    if rows > 0u { store_data_quad(dx, sums[0]); }
    if rows > 1u { store_data_quad(dx + step, sums[1]); }
    if rows > 2u { store_data_quad(dx + 2u * step, sums[2]); }
    if rows > 3u { store_data_quad(dx + 3u * step, sums[3]); }
}

fn store_data_quad(at: u32, v: vec4<f32>) {
    var saved = vec4<f32>(1.0);
    if data_params.activation != 0u {
        saved = data_saved[at];
    }
    data_quads_dx[at] = vec4<f32>(sloped(v.x, saved.x), sloped(v.y, saved.y), sloped(v.z, saved.z), sloped(v.w, saved.w));
}
