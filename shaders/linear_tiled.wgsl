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

// Quadruple `nth` of a row that begins at `x`, from number `k` on. Behind its end it is zero, or whatever where rounds end before.
fn forward_x_quad(x: u32, k: u32, nth: u32) -> vec4<f32> {
    if WHOLE == 1u && ENDS_EARLY {
        return forward_x[x / 4u + min(k / 4u + nth, forward_params.n_in / 4u - 1u)];
    }
    let n = remaining(k + 4u * nth, forward_params.n_in);
    let at = x + k + 4u * nth;
    if WHOLE == 1u || (at % 4u == 0u && n >= 4u) {
        return select(vec4<f32>(), forward_x[select(0u, at / 4u, n > 0u)], n > 0u);
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = forward_x[at / 4u][at % 4u]; }
    if n > 1u { quad.y = forward_x[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = forward_x[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = forward_x[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

// Four numbers from `at` on, of which `n` are wanted; the others are zero.
fn forward_weight_quad(at: u32, n: u32) -> vec4<f32> {
    if WHOLE == 1u {
        return select(vec4<f32>(), forward_weights[select(0u, at / 4u, n > 0u)], n > 0u);
    }
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

// A thread's quadruples of row `x`, from number `k` of it on.
fn forward_a(x: u32, k: u32) -> mat4x4<f32> {
    var quads = mat4x4<f32>();
    quads[0] = forward_x_quad(x, k, 0u);
    if A_QUADS > 1u {
        quads[1] = forward_x_quad(x, k, 1u);
    }
    if A_QUADS > 2u {
        quads[2] = forward_x_quad(x, k, 2u);
        quads[3] = forward_x_quad(x, k, 3u);
    }
    return quads;
}

// Its quadruples of the weights: `at` is where column `col` of row `row` stands; and of the row B_SLICES on.
fn forward_b(at: u32, row: u32, col: u32) -> mat2x4<f32> {
    let p = forward_params;
    let step = B_SLICES * p.n_out;
    var quads = mat2x4<f32>();
    if WHOLE == 1u && ENDS_EARLY {
        // Columns and rows that are not there are read elsewhere.
        let last = arrayLength(&forward_weights) - 1u;
        quads[0] = forward_weights[min(at / 4u, last)];
        if B_QUADS > 1u {
            quads[1] = forward_weights[min(at / 4u + step / 4u, last)];
        }
        return quads;
    }
    let n = remaining(col, p.n_out);
    quads[0] = forward_weight_quad(at, select(0u, n, row < p.n_in));
    if B_QUADS > 1u {
        quads[1] = forward_weight_quad(at + step, select(0u, n, row + B_SLICES < p.n_in));
    }
    return quads;
}

fn forward_sums(tile: vec3<u32>, lane: u32) -> Sums {
    let p = forward_params;
    // A, by lines: a line is a row of x. Past the last row it is loaded again.
    let line = lane / A_SHARE;
    let quad = lane % A_SHARE * A_QUADS;
    let a_to = line_at(line, SIDE_M) + quad;
    let x = (tile.x / p.share * p.rows + min(tile.y + line, p.rows - 1u)) * p.n_in;
    // B, by slices: a slice is a row of the weights.
    let col = tile.z + lane % SIDE_N * 4u;
    var row = lane / SIDE_N;
    var at = tile.x * p.stride + p.weight + row * p.n_out + col;
    var a = forward_a(x, quad * 4u);
    var b = forward_b(at, row, col);
    var sums = Sums();
    var done = 0u;
    for (; done + DEPTH <= p.n_in; done += DEPTH) {
        store_a(a_to, 1u, a);
        store_b(lane, THREADS, b);
        workgroupBarrier();
        row += DEPTH;
        at += DEPTH * p.n_out;
        a = forward_a(x, done + DEPTH + quad * 4u);
        b = forward_b(at, row, col);
        sums = add_lines_slices(sums, lane);
        workgroupBarrier();
    }
    if done < p.n_in {
        store_a(a_to, 1u, a);
        store_b(lane, THREADS, b);
        workgroupBarrier();
        sums = add_last_lines_slices(sums, lane, quads_of(p.n_in - done));
        workgroupBarrier();
    }
    let own = own_place(tile, lane).y;
    let bias = tile.x * p.stride + p.bias + own;
    let first = forward_weight_quad(bias, remaining(own, p.n_out));
    if EDGE == 1u {
        return with_rows(sums, first, first);
    }
    return with_rows(sums, first, forward_weight_quad(bias + HALF_N, remaining(own + HALF_N, p.n_out)));
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
    store_forward_block(tile, lane, vec2<u32>(0u, 0u), sums.first);
    if EDGE > 1u {
        store_forward_block(tile, lane, vec2<u32>(0u, HALF_N), sums.beside);
        store_forward_block(tile, lane, vec2<u32>(HALF_M, 0u), sums.below);
        store_forward_block(tile, lane, vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

// `off` = rows and columns from the thread's first block to this one.
fn store_forward_block(tile: vec3<u32>, lane: u32, off: vec2<u32>, block: mat4x4<f32>) {
    let p = forward_params;
    let at = own_place(tile, lane) + off;
    let row = at.x;
    let col = at.y;
    let y = (tile.x * p.rows + row) * p.n_out + col;
    let n = remaining(col, p.n_out);
    let rows = remaining(row, p.rows);
    if rows > 0u { store_forward(y, n, block[0]); }
    if rows > 1u { store_forward(y + p.n_out, n, block[1]); }
    if rows > 2u { store_forward(y + 2u * p.n_out, n, block[2]); }
    if rows > 3u { store_forward(y + 3u * p.n_out, n, block[3]); }
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
    store_forward_quads(tile, lane, vec2<u32>(0u, 0u), sums.first);
    if EDGE > 1u {
        store_forward_quads(tile, lane, vec2<u32>(0u, HALF_N), sums.beside);
        store_forward_quads(tile, lane, vec2<u32>(HALF_M, 0u), sums.below);
        store_forward_quads(tile, lane, vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

fn store_forward_quads(tile: vec3<u32>, lane: u32, off: vec2<u32>, block: mat4x4<f32>) {
    let p = forward_params;
    let at = own_place(tile, lane) + off;
    let row = at.x;
    let col = at.y;
    let y = ((tile.x * p.rows + row) * p.n_out + col) / 4u;
    let step = p.n_out / 4u;
    let rows = select(0u, remaining(row, p.rows), col < p.n_out);
    if rows > 0u { store_forward_quad(y, block[0]); }
    if rows > 1u { store_forward_quad(y + step, block[1]); }
    if rows > 2u { store_forward_quad(y + 2u * step, block[2]); }
    if rows > 3u { store_forward_quad(y + 3u * step, block[3]); }
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

fn data_dy_quad(dy: u32, k: u32, nth: u32) -> vec4<f32> {
    if WHOLE == 1u && ENDS_EARLY {
        return data_dy[dy / 4u + min(k / 4u + nth, data_params.n_out / 4u - 1u)];
    }
    let n = remaining(k + 4u * nth, data_params.n_out);
    let at = dy + k + 4u * nth;
    if WHOLE == 1u || (at % 4u == 0u && n >= 4u) {
        return select(vec4<f32>(), data_dy[select(0u, at / 4u, n > 0u)], n > 0u);
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = data_dy[at / 4u][at % 4u]; }
    if n > 1u { quad.y = data_dy[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = data_dy[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = data_dy[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

fn data_weight_quad(weight: u32, k: u32, nth: u32) -> vec4<f32> {
    if WHOLE == 1u && ENDS_EARLY {
        return data_weights[weight / 4u + min(k / 4u + nth, data_params.n_out / 4u - 1u)];
    }
    let n = remaining(k + 4u * nth, data_params.n_out);
    let at = weight + k + 4u * nth;
    if WHOLE == 1u || (at % 4u == 0u && n >= 4u) {
        return select(vec4<f32>(), data_weights[select(0u, at / 4u, n > 0u)], n > 0u);
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = data_weights[at / 4u][at % 4u]; }
    if n > 1u { quad.y = data_weights[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = data_weights[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = data_weights[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

// A thread's quadruples of row `dy`, from number `k` of it on.
fn data_a(dy: u32, k: u32) -> mat4x4<f32> {
    var quads = mat4x4<f32>();
    quads[0] = data_dy_quad(dy, k, 0u);
    if A_QUADS > 1u {
        quads[1] = data_dy_quad(dy, k, 1u);
    }
    if A_QUADS > 2u {
        quads[2] = data_dy_quad(dy, k, 2u);
        quads[3] = data_dy_quad(dy, k, 3u);
    }
    return quads;
}

// The same of the weights of a column.
fn data_b(weight: u32, k: u32) -> mat2x4<f32> {
    var quads = mat2x4<f32>();
    quads[0] = data_weight_quad(weight, k, 0u);
    if B_QUADS > 1u {
        quads[1] = data_weight_quad(weight, k, 1u);
    }
    return quads;
}

fn data_sums(tile: vec3<u32>, lane: u32) -> Sums {
    let p = data_params;
    // A, by lines: a line is a row of dy. B, by lines: a line is a row of the weights.
    let line = lane / A_SHARE;
    let quad = lane % A_SHARE * A_QUADS;
    let a_to = line_at(line, SIDE_M) + quad;
    let dy = (tile.x * p.rows + min(tile.y + line, p.rows - 1u)) * p.n_out;
    let b_line = lane / B_SHARE;
    let b_quad = lane % B_SHARE * B_QUADS;
    let b_to = line_at(b_line, SIDE_N) + b_quad;
    let weight = tile.x * p.stride + p.weight + min(tile.z + b_line, p.n_in - 1u) * p.n_out;
    var a = data_a(dy, quad * 4u);
    var b = data_b(weight, b_quad * 4u);
    var sums = Sums();
    var done = 0u;
    for (; done + DEPTH <= p.n_out; done += DEPTH) {
        store_a(a_to, 1u, a);
        store_b(b_to, 1u, b);
        workgroupBarrier();
        a = data_a(dy, done + DEPTH + quad * 4u);
        b = data_b(weight, done + DEPTH + b_quad * 4u);
        sums = add_lines_lines(sums, lane);
        workgroupBarrier();
    }
    if done < p.n_out {
        store_a(a_to, 1u, a);
        store_b(b_to, 1u, b);
        workgroupBarrier();
        sums = add_last_lines_lines(sums, lane, quads_of(p.n_out - done));
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
    store_data_block(tile, lane, vec2<u32>(0u, 0u), sums.first);
    if EDGE > 1u {
        store_data_block(tile, lane, vec2<u32>(0u, HALF_N), sums.beside);
        store_data_block(tile, lane, vec2<u32>(HALF_M, 0u), sums.below);
        store_data_block(tile, lane, vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

fn store_data_block(tile: vec3<u32>, lane: u32, off: vec2<u32>, block: mat4x4<f32>) {
    let p = data_params;
    let at = own_place(tile, lane) + off;
    let row = at.x;
    let col = at.y;
    let dx = (tile.x * p.rows + row) * p.n_in + col;
    let n = remaining(col, p.n_in);
    let rows = remaining(row, p.rows);
    if rows > 0u { store_data(dx, n, block[0]); }
    if rows > 1u { store_data(dx + p.n_in, n, block[1]); }
    if rows > 2u { store_data(dx + 2u * p.n_in, n, block[2]); }
    if rows > 3u { store_data(dx + 3u * p.n_in, n, block[3]); }
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
    store_data_quads(tile, lane, vec2<u32>(0u, 0u), sums.first);
    if EDGE > 1u {
        store_data_quads(tile, lane, vec2<u32>(0u, HALF_N), sums.beside);
        store_data_quads(tile, lane, vec2<u32>(HALF_M, 0u), sums.below);
        store_data_quads(tile, lane, vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

fn store_data_quads(tile: vec3<u32>, lane: u32, off: vec2<u32>, block: mat4x4<f32>) {
    let p = data_params;
    let at = own_place(tile, lane) + off;
    let row = at.x;
    let col = at.y;
    let dx = ((tile.x * p.rows + row) * p.n_in + col) / 4u;
    let step = p.n_in / 4u;
    let rows = select(0u, remaining(row, p.rows), col < p.n_in);
    if rows > 0u { store_data_quad(dx, block[0]); }
    if rows > 1u { store_data_quad(dx + step, block[1]); }
    if rows > 2u { store_data_quad(dx + 2u * step, block[2]); }
    if rows > 3u { store_data_quad(dx + 3u * step, block[3]); }
}

fn store_data_quad(at: u32, v: vec4<f32>) {
    var saved = vec4<f32>(1.0);
    if data_params.activation != 0u {
        saved = data_saved[at];
    }
    data_quads_dx[at] = vec4<f32>(sloped(v.x, saved.x), sloped(v.y, saved.y), sloped(v.z, saved.z), sloped(v.w, saved.w));
}
