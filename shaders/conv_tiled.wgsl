// needs: index, math, activation, tile
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
@group(0) @binding(0) var<uniform> forward_params: Conv2dForward;
@group(0) @binding(1) var<storage, read> forward_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> forward_weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_pre: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_quads_y: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> forward_quads_pre: array<vec4<f32>>;

// Where a pixel's window begins. Above and left of the image the places wrap to large numbers, so that one comparison
// tests both edges.
struct Window {
    image: u32,
    top: u32,
    left: u32,
}

// `at` = channel, column and row within the window.
fn forward_number(window: Window, at: vec3<u32>) -> f32 {
    let p = forward_params;
    let y = window.top + at.z;
    let x = window.left + at.y;
    if at.z >= p.kernel_h || y >= p.h || x >= p.w {
        return 0.0;
    }
    let i = (window.image + y * p.w + x) * p.c_in + at.x;
    return forward_x[i / 4u][i % 4u];
}

fn forward_quad(window: Window, at: vec3<u32>) -> vec4<f32> {
    let p = forward_params;
    if p.c_in % 4u == 0u {
        let y = window.top + at.z;
        let x = window.left + at.y;
        if at.z >= p.kernel_h || y >= p.h || x >= p.w {
            return vec4<f32>();
        }
        return forward_x[((window.image + y * p.w + x) * p.c_in + at.x) / 4u];
    }
    let size = vec2<u32>(p.c_in, p.kernel_w);
    let second = ahead(at, 1u, size);
    let third = ahead(second, 1u, size);
    return vec4<f32>(
        forward_number(window, at),
        forward_number(window, second),
        forward_number(window, third),
        forward_number(window, ahead(third, 1u, size)),
    );
}

// Four weights of the same row from `at` on, of which `n` stand in that row.
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
    let pixels = p.out_h * p.out_w;
    let depth = p.kernel_h * p.kernel_w * p.c_in;
    let size = vec2<u32>(p.c_in, p.kernel_w);
    // A, by lines: a line is a pixel's window. Past the last pixel it is loaded again.
    let line = lane / A_SHARE;
    let a_to = line_at(line, SIDE_M) + lane % A_SHARE * A_QUADS;
    let pixel = min(tile.y + line, p.batch * pixels - 1u);
    let window = Window(
        (tile.x / p.share * p.batch + pixel / pixels) * p.h * p.w,
        pixel / p.out_w % p.out_h * p.stride - p.pad_top,
        pixel % p.out_w * p.stride - p.pad_left,
    );
    var at = place_of(lane % A_SHARE * A_QUADS * 4u, size);
    // B, by slices: a slice is a row of the weights.
    let col = tile.z + lane % SIDE_N * 4u;
    let n = remaining(col, p.c_out);
    var row = lane / SIDE_N;
    var weight = tile.x * p.weights_stride + p.weight + row * p.c_out + col;
    var sums = mat4x4<f32>();
    for (var done = 0u; done < depth; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            tile_a[a_to + quad] = forward_quad(window, at);
            at = ahead(at, 4u, size);
        }
        tile_b[lane] = forward_weight_quad(weight, select(0u, n, row < depth));
        workgroupBarrier();
        sums = add_lines_slices(sums, lane);
        workgroupBarrier();
        at = ahead(at, DEPTH - 4u * A_QUADS, size);
        row += DEPTH;
        weight += DEPTH * p.c_out;
    }
    if p.has_bias == 1u {
        let bias = forward_weight_quad(tile.x * p.weights_stride + p.bias + col, n);
        sums += mat4x4<f32>(bias, bias, bias, bias);
    }
    return sums;
}

@compute @workgroup_size(THREADS)
fn conv2d_forward_tiled(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let n_pixels = p.batch * p.out_h * p.out_w;
    let tile = tile_at(flat_group(group, groups), n_pixels, p.c_out);
    if tile.x >= p.replicas {
        return;
    }
    let sums = forward_sums(tile, lane);
    let row = tile.y + lane / SIDE_N * 4u;
    let col = tile.z + lane % SIDE_N * 4u;
    let y = (tile.x * n_pixels + row) * p.c_out + col;
    let n = remaining(col, p.c_out);
    let rows = remaining(row, n_pixels);
    if rows > 0u { store_forward(y, n, sums[0]); }
    if rows > 1u { store_forward(y + p.c_out, n, sums[1]); }
    if rows > 2u { store_forward(y + 2u * p.c_out, n, sums[2]); }
    if rows > 3u { store_forward(y + 3u * p.c_out, n, sums[3]); }
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

// c_out divides by four.
@compute @workgroup_size(THREADS)
fn conv2d_forward_tiled_quads(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let n_pixels = p.batch * p.out_h * p.out_w;
    let tile = tile_at(flat_group(group, groups), n_pixels, p.c_out);
    if tile.x >= p.replicas {
        return;
    }
    let sums = forward_sums(tile, lane);
    let row = tile.y + lane / SIDE_N * 4u;
    let col = tile.z + lane % SIDE_N * 4u;
    let y = ((tile.x * n_pixels + row) * p.c_out + col) / 4u;
    let step = p.c_out / 4u;
    let rows = select(0u, remaining(row, n_pixels), col < p.c_out);
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
