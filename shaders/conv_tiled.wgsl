// needs: index, math, activation, tile, tile_sums, conv_loaded, conv_input, conv_forward
// The convolution of conv.wgsl through workgroup memory, for hardware: the same parameters, bindings and twin
// (src/ops/conv.rs). Inputs are bound as quadruples and read as such where the channels allow it, else number by number; the
// kernel that ends in _quads stores quadruples too. What lies outside of an image or past the inner dimension counts as zero.

struct Conv2dForward {
    replicas: u32,
    share: u32,
    batch: u32,
    h: u32,
    w: u32,
    c_in: u32,
    out_h: u32,
    out_w: u32,
    c_out: u32,
    kernel_h: u32,
    kernel_w: u32,
    stride: u32,
    pad_top: u32,
    pad_left: u32,
    weight: u32,
    bias: u32,
    has_bias: u32,
    weights_stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> conv_params: Conv2dForward;
@group(0) @binding(1) var<storage, read> forward_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> conv_weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_pre: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_quads_y: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> forward_quads_pre: array<vec4<f32>>;

fn row_count() -> u32 {
    return conv_params.batch * conv_params.out_h * conv_params.out_w;
}
fn pixel_of_row(row: u32) -> vec3<u32> {
    let p = conv_params;
    return vec3<u32>(row % p.out_w, row / p.out_w % p.out_h, row / (p.out_w * p.out_h));
}
fn input_number(i: u32) -> f32 {
    return forward_x[i / 4u][i % 4u];
}
fn input_quad(i: u32) -> vec4<f32> {
    return forward_x[i / 4u];
}
fn as_read(quad: vec4<f32>, image: u32, channel: u32) -> vec4<f32> {
    return quad;
}

@compute @workgroup_size(THREADS)
fn conv2d_forward_tiled(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let tile = tile_at(flat_group(group, groups), row_count(), p.c_out);
    if tile.x >= p.replicas {
        return;
    }
    let sums = with_bias(forward_sums(tile, lane), tile.x, own_place(tile, lane).y, p.has_bias, p.bias);
    store_forward_block(tile, lane, vec2<u32>(0u, 0u), sums.first);
    if EDGE > 1u {
        store_forward_block(tile, lane, vec2<u32>(0u, HALF_N), sums.beside);
        store_forward_block(tile, lane, vec2<u32>(HALF_M, 0u), sums.below);
        store_forward_block(tile, lane, vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

// `off` = rows and columns from the thread's first block to this one.
fn store_forward_block(tile: vec3<u32>, lane: u32, off: vec2<u32>, block: mat4x4<f32>) {
    let p = conv_params;
    let at = own_place(tile, lane) + off;
    let row = at.x;
    let col = at.y;
    let y = (tile.x * row_count() + row) * p.c_out + col;
    let n = remaining(col, p.c_out);
    let rows = remaining(row, row_count());
    if rows > 0u { store_forward(y, n, block[0]); }
    if rows > 1u { store_forward(y + p.c_out, n, block[1]); }
    if rows > 2u { store_forward(y + 2u * p.c_out, n, block[2]); }
    if rows > 3u { store_forward(y + 3u * p.c_out, n, block[3]); }
}

fn store_forward(y: u32, n: u32, z: vec4<f32>) {
    let act = activate_quad(conv_params.activation, z);
    if n > 0u { forward_y[y] = act.x; }
    if n > 1u { forward_y[y + 1u] = act.y; }
    if n > 2u { forward_y[y + 2u] = act.z; }
    if n > 3u { forward_y[y + 3u] = act.w; }
    if keeps_pre(conv_params.activation) {
        if n > 0u { forward_pre[y] = z.x; }
        if n > 1u { forward_pre[y + 1u] = z.y; }
        if n > 2u { forward_pre[y + 2u] = z.z; }
        if n > 3u { forward_pre[y + 3u] = z.w; }
    }
}

// c_out divides by four.
@compute @workgroup_size(THREADS)
fn conv2d_forward_tiled_quads(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let tile = tile_at(flat_group(group, groups), row_count(), p.c_out);
    if tile.x >= p.replicas {
        return;
    }
    let sums = with_bias(forward_sums(tile, lane), tile.x, own_place(tile, lane).y, p.has_bias, p.bias);
    store_forward_quads(tile, lane, vec2<u32>(0u, 0u), sums.first);
    if EDGE > 1u {
        store_forward_quads(tile, lane, vec2<u32>(0u, HALF_N), sums.beside);
        store_forward_quads(tile, lane, vec2<u32>(HALF_M, 0u), sums.below);
        store_forward_quads(tile, lane, vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

fn store_forward_quads(tile: vec3<u32>, lane: u32, off: vec2<u32>, block: mat4x4<f32>) {
    let p = conv_params;
    let at = own_place(tile, lane) + off;
    let row = at.x;
    let col = at.y;
    let y = ((tile.x * row_count() + row) * p.c_out + col) / 4u;
    let step = p.c_out / 4u;
    let rows = select(0u, remaining(row, row_count()), col < p.c_out);
    if rows > 0u { store_forward_quad(y, block[0]); }
    if rows > 1u { store_forward_quad(y + step, block[1]); }
    if rows > 2u { store_forward_quad(y + 2u * step, block[2]); }
    if rows > 3u { store_forward_quad(y + 3u * step, block[3]); }
}

fn store_forward_quad(y: u32, z: vec4<f32>) {
    forward_quads_y[y] = activate_quad(conv_params.activation, z);
    if keeps_pre(conv_params.activation) {
        forward_quads_pre[y] = z;
    }
}
