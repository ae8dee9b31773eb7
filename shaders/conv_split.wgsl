// needs: index, tile
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
@group(0) @binding(0) var<uniform> weight_params: Conv2dBackwardWeight;
@group(0) @binding(1) var<storage, read> weight_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight_dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> weight_scratch: array<vec4<f32>>;

// Quadruples of one part of one replica.
fn part_quads() -> u32 {
    let p = weight_params;
    return (p.kernel_h * p.kernel_w * p.c_in + 1u) * div_ceil(p.c_out, 4u);
}

// A tap: input channel, and the row and column of the image that it sees at the first pixel; above and left of the image
// they wrap to large numbers.
struct Tap {
    channel: u32,
    top: u32,
    left: u32,
}
fn tap_of(at: vec3<u32>) -> Tap {
    return Tap(at.x, at.z - weight_params.pad_top, at.y - weight_params.pad_left);
}

// `pixel` = column, row and image.
fn weight_number(tap: Tap, first_image: u32, pixel: vec3<u32>) -> f32 {
    let p = weight_params;
    let y = tap.top + pixel.y * p.stride;
    let x = tap.left + pixel.x * p.stride;
    if y >= p.h || x >= p.w {
        return 0.0;
    }
    let i = (((first_image + pixel.z) * p.h + y) * p.w + x) * p.c_in + tap.channel;
    return weight_x[i / 4u][i % 4u];
}

// Four taps from `at` on, of which `n` are taps of the kernel.
fn weight_quad(at: vec3<u32>, n: u32, first_image: u32, pixel: vec3<u32>) -> vec4<f32> {
    let p = weight_params;
    var quad = vec4<f32>();
    if p.c_in % 4u == 0u {
        let tap = tap_of(at);
        let y = tap.top + pixel.y * p.stride;
        let x = tap.left + pixel.x * p.stride;
        if n > 0u && y < p.h && x < p.w {
            quad = weight_x[((((first_image + pixel.z) * p.h + y) * p.w + x) * p.c_in + tap.channel) / 4u];
        }
        return quad;
    }
    let size = vec2<u32>(p.c_in, p.kernel_w);
    let second = ahead(at, 1u, size);
    let third = ahead(second, 1u, size);
    if n > 0u { quad.x = weight_number(tap_of(at), first_image, pixel); }
    if n > 1u { quad.y = weight_number(tap_of(second), first_image, pixel); }
    if n > 2u { quad.z = weight_number(tap_of(third), first_image, pixel); }
    if n > 3u { quad.w = weight_number(tap_of(ahead(third, 1u, size)), first_image, pixel); }
    return quad;
}

// Four columns of a row of dy from `at` on, of which `n` stand in that row.
fn weight_dy_quad(at: u32, n: u32) -> vec4<f32> {
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
    let p = weight_params;
    let taps = p.kernel_h * p.kernel_w * p.c_in;
    let tile = tile_at(flat_group(group, groups), taps, p.c_out);
    let parts = arrayLength(&weight_scratch) / (p.replicas * part_quads());
    let part = tile.x / p.replicas;
    let r = tile.x % p.replicas;
    if part >= parts {
        return;
    }
    let n_pixels = p.batch * p.out_h * p.out_w;
    let rounds = div_ceil(div_ceil(n_pixels, DEPTH), parts);
    let first = min(part * rounds * DEPTH, n_pixels);
    let last = min(first + rounds * DEPTH, n_pixels);
    let size = vec2<u32>(p.out_w, p.out_h);
    let first_image = r / p.share * p.batch;
    // A, by slices: a slice is a pixel, its columns are taps. A thread loads pixels SIDE_N apart.
    let row = tile.y + lane % SIDE_M * 4u;
    let at = place_of(row, vec2<u32>(p.c_in, p.kernel_w));
    let n_taps = remaining(row, taps);
    var a_pixel = first + lane / SIDE_M;
    var pixel = place_of(a_pixel, size);
    // B, by slices: a slice is a pixel of dy.
    let col = tile.z + lane % SIDE_N * 4u;
    let n_cols = remaining(col, p.c_out);
    var b_pixel = first + lane / SIDE_N;
    var dy = (r * n_pixels + b_pixel) * p.c_out + col;
    var sums = mat4x4<f32>();
    var bias = vec4<f32>();
    for (var done = first; done < last; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            tile_a[quad * THREADS + lane] = weight_quad(at, select(0u, n_taps, a_pixel < last), first_image, pixel);
            a_pixel += SIDE_N;
            pixel = ahead(pixel, SIDE_N, size);
        }
        let d = weight_dy_quad(dy, select(0u, n_cols, b_pixel < last));
        tile_b[lane] = d;
        bias += d;
        workgroupBarrier();
        sums = add_slices_slices(sums, lane);
        workgroupBarrier();
        b_pixel += DEPTH;
        dy += DEPTH * p.c_out;
    }
    let col_quads = div_ceil(p.c_out, 4u);
    let to = tile.x * part_quads() + col / 4u;
    if tile.y == 0u {
        bias = column_sums(lane, bias);
        if lane < SIDE_N && n_cols > 0u {
            weight_scratch[to + taps * col_quads] = bias;
        }
    }
    let own = tile.y + lane / SIDE_N * 4u;
    let rows = select(0u, remaining(own, taps), n_cols > 0u);
    let dw = to + own * col_quads;
    if rows > 0u { weight_scratch[dw] = sums[0]; }
    if rows > 1u { weight_scratch[dw + col_quads] = sums[1]; }
    if rows > 2u { weight_scratch[dw + 2u * col_quads] = sums[2]; }
    if rows > 3u { weight_scratch[dw + 3u * col_quads] = sums[3]; }
}

@group(0) @binding(1) var<storage, read> reduce_scratch: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> reduce_grad: array<f32>;

@compute @workgroup_size(64)
fn conv2d_backward_weight_reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    let taps = p.kernel_h * p.kernel_w * p.c_in;
    let quads = part_quads();
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * quads {
        return;
    }
    var sum = vec4<f32>();
    for (var at = i; at < arrayLength(&reduce_scratch); at += p.replicas * quads) {
        sum += reduce_scratch[at];
    }
    let r = i / quads;
    let row = i % quads / div_ceil(p.c_out, 4u);
    let col = i % div_ceil(p.c_out, 4u) * 4u;
    if row == taps && p.has_bias == 0u {
        return;
    }
    let n = p.c_out - col;
    let grad = r * p.weights_stride + select(p.weight + row * p.c_out, p.bias, row == taps) + col;
    reduce_grad[grad] = sum.x;
    if n > 1u { reduce_grad[grad + 1u] = sum.y; }
    if n > 2u { reduce_grad[grad + 2u] = sum.z; }
    if n > 3u { reduce_grad[grad + 3u] = sum.w; }
}
