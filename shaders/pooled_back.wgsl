// needs: index, math, activation, tile, tile_sums, conv_loaded, conv_input, conv_data, conv_weight
// The gradients of pooled.wgsl in one kernel, the first workgroups those of the input, the others those of the weights: both read
// the gradient of the pool's output at the places that it kept, times the slopes there. A second kernel adds up the parts of the
// weights' gradient. Twin: src/ops/pooled.rs.

struct ConvPoolBackward {
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
    // Of the activation that made x.
    activation: u32,
    no_dx: u32,
}
@group(0) @binding(0) var<uniform> conv_params: ConvPoolBackward;
@group(0) @binding(1) var<storage, read> conv_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> conv_dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> conv_slope: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> conv_place: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> conv_weights: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> conv_saved: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> conv_dx: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> conv_scratch: array<vec4<f32>>;

// The gradient of pixel number `corner` of the window at `at`.
fn unpooled(at: u32, corner: u32) -> vec4<f32> {
    return select(vec4<f32>(), conv_dy[at] * conv_slope[at], conv_place[at] == vec4<f32>(f32(corner)));
}

fn dy_quad(image: u32, y: u32, x: u32, channel: u32) -> vec4<f32> {
    let p = conv_params;
    let across = p.out_w / 2u;
    let down = p.out_h / 2u;
    let inside = y / 2u < down && x / 2u < across;
    let window = (image * down + y / 2u) * across + x / 2u;
    let at = select(0u, (window * p.c_out + channel) / 4u, inside);
    return select(vec4<f32>(), unpooled(at, y % 2u * 2u + x % 2u), inside);
}
// c_out divides by four.
fn dy_number(image: u32, y: u32, x: u32, channel: u32) -> f32 {
    return dy_quad(image, y, x, channel)[channel % 4u];
}

fn sum_length() -> u32 {
    let p = conv_params;
    return p.batch * (p.out_h / 2u) * (p.out_w / 2u) * 4u;
}
const PIXELS_A_PLACE: u32 = 4u;
fn places_across() -> vec2<u32> {
    return vec2<u32>(conv_params.out_w / 2u, conv_params.out_h / 2u);
}
fn pixel_at(place: vec3<u32>, i: u32) -> vec3<u32> {
    return vec3<u32>(place.x * 2u + i % 2u, place.y * 2u + i / 2u % 2u, place.z);
}
fn input_number(i: u32) -> f32 {
    return conv_x[i / 4u][i % 4u];
}
fn input_quad(i: u32) -> vec4<f32> {
    return conv_x[i / 4u];
}
fn as_read(quad: vec4<f32>, image: u32, channel: u32) -> vec4<f32> {
    return quad;
}
fn dy_of_sum(r: u32, i: u32, col: u32, n: u32) -> vec4<f32> {
    let at = select(0u, ((r * sum_length() + i) / 4u * conv_params.c_out + col) / 4u, n > 0u);
    return select(vec4<f32>(), unpooled(at, i % 4u), n > 0u);
}

@compute @workgroup_size(THREADS)
fn conv_pool_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let n_pixels = p.batch * div_ceil(p.h, p.stride) * div_ceil(p.w, p.stride);
    let tiles = div_ceil(n_pixels, TILE_M) * div_ceil(p.c_in, TILE_N);
    let of_data = select(p.replicas * p.stride * p.stride * tiles, 0u, p.no_dx == 1u);
    let i = flat_group(group, groups);
    if i >= of_data {
        leave_gradient(i - of_data, arrayLength(&conv_scratch) / (p.replicas * part_quads()), lane);
        return;
    }
    let tile = tile_at(i, n_pixels, p.c_in);
    let parity = parity_of(tile.x);
    let sums = data_sums(parity, tile, lane);
    let own = own_place(tile, lane);
    store_data_block(parity, own.x, own.y, sums.first);
    if EDGE > 1u {
        store_data_block(parity, own.x, own.y + HALF_N, sums.beside);
        store_data_block(parity, own.x + HALF_M, own.y, sums.below);
        store_data_block(parity, own.x + HALF_M, own.y + HALF_N, sums.opposite);
    }
}

fn store_data_block(parity: Parity, row: u32, col: u32, block: mat4x4<f32>) {
    store_data(data_row(parity, row), col, block[0]);
    store_data(data_row(parity, row + 1u), col, block[1]);
    store_data(data_row(parity, row + 2u), col, block[2]);
    store_data(data_row(parity, row + 3u), col, block[3]);
}

fn store_data(row: u32, col: u32, values: vec4<f32>) {
    if row == NOWHERE || col >= conv_params.c_in {
        return;
    }
    let at = (row * conv_params.c_in + col) / 4u;
    var slope = vec4<f32>(1.0);
    if conv_params.activation != 0u {
        slope = slope_quad(conv_params.activation, conv_saved[at]);
    }
    conv_dx[at] = values * slope;
}

@group(0) @binding(1) var<storage, read> combine_scratch: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> combine_grad: array<f32>;

@compute @workgroup_size(256)
fn conv_pool_backward_combine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let end = arrayLength(&combine_scratch);
    combine_gradient(flat_group(group, groups) * 256u + lane, end, conv_params.has_bias, conv_params.bias);
}
