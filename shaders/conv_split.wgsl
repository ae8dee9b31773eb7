// needs: index, tile, tile_sums, conv_loaded, conv_input, conv_weight
// The weight gradient of a convolution, its long sum over pixels cut into parts: each part's workgroups leave their tiles in
// scratch memory [parts, R, taps + 1, c_out in quadruples], and a second kernel adds the parts in their order. The last row is
// the bias. How many parts there are follows from the length of the scratch. Twin: src/ops/conv.rs.

struct Conv2dBackwardWeight {
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
}
@group(0) @binding(0) var<uniform> conv_params: Conv2dBackwardWeight;
@group(0) @binding(1) var<storage, read> weight_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight_dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> conv_scratch: array<vec4<f32>>;

fn sum_length() -> u32 {
    return conv_params.batch * conv_params.out_h * conv_params.out_w;
}
const PIXELS_A_PLACE: u32 = 1u;
fn places_across() -> vec2<u32> {
    return vec2<u32>(conv_params.out_w, conv_params.out_h);
}
fn pixel_at(place: vec3<u32>, i: u32) -> vec3<u32> {
    return place;
}
fn input_number(i: u32) -> f32 {
    return weight_x[i / 4u][i % 4u];
}
fn input_quad(i: u32) -> vec4<f32> {
    return weight_x[i / 4u];
}
fn as_read(quad: vec4<f32>, image: u32, channel: u32) -> vec4<f32> {
    return quad;
}

// Four columns of pixel `i`, of which `n` are there.
fn dy_of_sum(r: u32, i: u32, col: u32, n: u32) -> vec4<f32> {
    let at = (r * sum_length() + i) * conv_params.c_out + col;
    if WHOLE == 1u {
        return weight_dy[min(at / 4u, arrayLength(&weight_dy) - 1u)];
    }
    if at % 4u == 0u && n >= 4u {
        return weight_dy[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = weight_dy[at / 4u][at % 4u]; }
    if n > 1u { quad.y = weight_dy[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = weight_dy[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = weight_dy[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

@compute @workgroup_size(THREADS)
fn conv2d_backward_weight_split(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let parts = arrayLength(&conv_scratch) / (conv_params.replicas * part_quads());
    leave_gradient(flat_group(group, groups), parts, lane);
}

@group(0) @binding(1) var<storage, read> combine_scratch: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> combine_grad: array<f32>;

@compute @workgroup_size(64)
fn conv2d_backward_weight_reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let end = arrayLength(&combine_scratch);
    combine_gradient(flat_index(group, groups, lane), end, conv_params.has_bias, conv_params.bias);
}
