// needs: index, math, activation
// Two-dimensional convolutions as implicit matrix products, NHWC: a row is a pixel, a column a channel, and a thread keeps
// a 4 x 4 tile of the result in registers. Twin: src/ops/conv.rs.
// Tiles at the edge load the last pixel or channel again, and a window's place in the padding loads its image's first
// pixel and counts as zero: every address is valid, and no lane branches inside a sum.

const TILE: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u);

// Four pixels of a batch that follow one another.
struct Pixels {
    image: vec4<u32>,
    y: vec4<u32>,
    x: vec4<u32>,
}

fn four_pixels(first: u32, batch: u32, h: u32, w: u32) -> Pixels {
    let i = min(first + TILE, vec4<u32>(batch * h * w - 1u));
    return Pixels(i / (h * w), i / w % h, i % w);
}

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
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_pre: array<f32>;

@compute @workgroup_size(64)
fn conv2d_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let n_pixels = p.batch * p.out_h * p.out_w;
    let pixel_tiles = div_ceil(n_pixels, 4u);
    let col_tiles = div_ceil(p.c_out, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * pixel_tiles * col_tiles {
        return;
    }
    let r = i / (pixel_tiles * col_tiles);
    let pixel = i / col_tiles % pixel_tiles * 4u;
    let cols = i % col_tiles * 4u + TILE;

    let out = four_pixels(pixel, p.batch, p.out_h, p.out_w);
    let image = (r / p.share * p.batch + out.image) * p.h * p.w;
    // Above and left of the image the difference wraps to a large number, so that one comparison tests both edges.
    let top = out.y * p.stride - p.pad_top;
    let left = out.x * p.stride - p.pad_left;
    let channel = min(cols, vec4<u32>(p.c_out - 1u));
    var w = r * p.weights_stride + p.weight + channel;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var ky = 0u; ky < p.kernel_h; ky++) {
        let y = top + ky;
        for (var kx = 0u; kx < p.kernel_w; kx++) {
            let x = left + kx;
            let inside = (y < vec4<u32>(p.h)) & (x < vec4<u32>(p.w));
            let at = (image + select(vec4<u32>(), y * p.w + x, inside)) * p.c_in;
            for (var k = 0u; k < p.c_in; k++) {
                let loaded = vec4<f32>(forward_x[at.x + k], forward_x[at.y + k], forward_x[at.z + k], forward_x[at.w + k]);
                let xk = select(vec4<f32>(), loaded, inside);
                let wk = vec4<f32>(forward_weights[w.x], forward_weights[w.y], forward_weights[w.z], forward_weights[w.w]);
                s0 += xk.x * wk;
                s1 += xk.y * wk;
                s2 += xk.z * wk;
                s3 += xk.w * wk;
                w += vec4<u32>(p.c_out);
            }
        }
    }
    if p.has_bias == 1u {
        let b = r * p.weights_stride + p.bias + channel;
        let bias = vec4<f32>(forward_weights[b.x], forward_weights[b.y], forward_weights[b.z], forward_weights[b.w]);
        s0 += bias;
        s1 += bias;
        s2 += bias;
        s3 += bias;
    }
    let y = (r * n_pixels + pixel) * p.c_out;
    store_forward(y, cols, true, s0);
    store_forward(y + p.c_out, cols, pixel + 1u < n_pixels, s1);
    store_forward(y + 2u * p.c_out, cols, pixel + 2u < n_pixels, s2);
    store_forward(y + 3u * p.c_out, cols, pixel + 3u < n_pixels, s3);
}

fn store_forward(y: u32, cols: vec4<u32>, inside: bool, values: vec4<f32>) {
    let n = select(0u, forward_params.c_out, inside);
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

struct Conv2dBackwardData {
    replicas: u32,
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
    weights_stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> data_params: Conv2dBackwardData;
@group(0) @binding(1) var<storage, read> data_dy: array<f32>;
@group(0) @binding(2) var<storage, read> data_weights: array<f32>;
@group(0) @binding(3) var<storage, read> data_saved: array<f32>;
@group(0) @binding(4) var<storage, read_write> data_dx: array<f32>;

@compute @workgroup_size(64)
fn conv2d_backward_data(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    // Pixels whose coordinates leave the same remainders by the stride meet the same taps; a thread's four are such pixels,
    // so that it visits the taps that exist and no others.
    let s = p.stride;
    let h = div_ceil(p.h, s);
    let w = div_ceil(p.w, s);
    let n_pixels = p.batch * h * w;
    let pixel_tiles = div_ceil(n_pixels, 4u);
    let col_tiles = div_ceil(p.c_in, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * s * s * pixel_tiles * col_tiles {
        return;
    }
    let parity = i / (pixel_tiles * col_tiles) % (s * s);
    let r = i / (pixel_tiles * col_tiles * s * s);
    let pixel = i / col_tiles % pixel_tiles * 4u;
    let cols = i % col_tiles * 4u + TILE;

    let to = four_pixels(pixel, p.batch, h, w);
    let to_y = to.y * s + parity / s;
    let to_x = to.x * s + parity % s;
    let image = (r * p.batch + to.image) * p.out_h * p.out_w;
    let first_y = (parity / s + p.pad_top) % s;
    let first_x = (parity % s + p.pad_left) % s;
    // Of the first tap; the others' places lie before it, and before the first row or column they wrap to large numbers.
    let bottom = (to_y + p.pad_top - first_y) / s;
    let right = (to_x + p.pad_left - first_x) / s;
    let weights = r * p.weights_stride + p.weight + min(cols, vec4<u32>(p.c_in - 1u)) * p.c_out;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var ky = first_y; ky < p.kernel_h; ky += s) {
        let y = bottom - ky / s;
        let row_inside = y < vec4<u32>(p.out_h);
        for (var kx = first_x; kx < p.kernel_w; kx += s) {
            let x = right - kx / s;
            let inside = row_inside & (x < vec4<u32>(p.out_w));
            if any(inside) {
                let at = (image + select(vec4<u32>(), y * p.out_w + x, inside)) * p.c_out;
                let w = weights + (ky * p.kernel_w + kx) * p.c_in * p.c_out;
                for (var k = 0u; k < p.c_out; k++) {
                    let loaded = vec4<f32>(data_dy[at.x + k], data_dy[at.y + k], data_dy[at.z + k], data_dy[at.w + k]);
                    let dk = select(vec4<f32>(), loaded, inside);
                    let wk = vec4<f32>(data_weights[w.x + k], data_weights[w.y + k], data_weights[w.z + k], data_weights[w.w + k]);
                    s0 += dk.x * wk;
                    s1 += dk.y * wk;
                    s2 += dk.z * wk;
                    s3 += dk.w * wk;
                }
            }
        }
    }
    // The last row and column of a parity may lie outside of the image.
    let stored = (pixel + TILE < vec4<u32>(n_pixels)) & (to_y < vec4<u32>(p.h)) & (to_x < vec4<u32>(p.w));
    let dx = (((r * p.batch + to.image) * p.h + to_y) * p.w + to_x) * p.c_in;
    store_data(dx.x, cols, stored.x, s0);
    store_data(dx.y, cols, stored.y, s1);
    store_data(dx.z, cols, stored.z, s2);
    store_data(dx.w, cols, stored.w, s3);
}

fn store_data(dx: u32, cols: vec4<u32>, inside: bool, values: vec4<f32>) {
    let n = select(0u, data_params.c_in, inside);
    if cols.x < n { store_sloped(dx + cols.x, values.x); }
    if cols.y < n { store_sloped(dx + cols.y, values.y); }
    if cols.z < n { store_sloped(dx + cols.z, values.z); }
    if cols.w < n { store_sloped(dx + cols.w, values.w); }
}

fn store_sloped(at: u32, value: f32) {
    if data_params.activation == ACT_RELU {
        data_dx[at] = value * select(0.0, 1.0, data_saved[at] > 0.0);
    } else if keeps_pre(data_params.activation) {
        data_dx[at] = value * activation_slope(data_params.activation, data_saved[at]);
    } else {
        data_dx[at] = value;
    }
}

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
@group(0) @binding(1) var<storage, read> weight_x: array<f32>;
@group(0) @binding(2) var<storage, read> weight_dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> weight_grad: array<f32>;

@compute @workgroup_size(64)
fn conv2d_backward_weight(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    let taps = p.kernel_h * p.kernel_w * p.c_in;
    // One row of tiles more than W has: the bias, an input that is always 1.
    let tap_tiles = div_ceil(taps, 4u) + 1u;
    let col_tiles = div_ceil(p.c_out, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * tap_tiles * col_tiles {
        return;
    }
    let r = i / (tap_tiles * col_tiles);
    let tile = i / col_tiles % tap_tiles;
    let cols = i % col_tiles * 4u + TILE;
    let dy = r * p.batch * p.out_h * p.out_w * p.c_out + min(cols, vec4<u32>(p.c_out - 1u));
    if tile == tap_tiles - 1u {
        if p.has_bias == 1u {
            store_grad(r * p.weights_stride + p.bias, cols, true, bias_gradient(dy));
        }
        return;
    }
    let row = tile * 4u;
    let tap = min(row + TILE, vec4<u32>(taps - 1u));
    let channel = tap % p.c_in;
    // Above and left of the image the difference wraps to a large number.
    let top = tap / (p.c_in * p.kernel_w) - p.pad_top;
    let left = tap / p.c_in % p.kernel_w - p.pad_left;
    var d = dy;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var b = 0u; b < p.batch; b++) {
        // A sum of its own for each image: one long sum over the batch would lose digits that the twin's groups keep.
        let image = (r / p.share * p.batch + b) * p.h * p.w;
        var t0 = vec4<f32>();
        var t1 = vec4<f32>();
        var t2 = vec4<f32>();
        var t3 = vec4<f32>();
        for (var oy = 0u; oy < p.out_h; oy++) {
            let y = top + oy * p.stride;
            let row_inside = y < vec4<u32>(p.h);
            let line = image + y * p.w;
            var x = left;
            for (var ox = 0u; ox < p.out_w; ox++) {
                let inside = row_inside & (x < vec4<u32>(p.w));
                let at = select(vec4<u32>(image), line + x, inside) * p.c_in + channel;
                let loaded = vec4<f32>(weight_x[at.x], weight_x[at.y], weight_x[at.z], weight_x[at.w]);
                let xk = select(vec4<f32>(), loaded, inside);
                let dk = vec4<f32>(weight_dy[d.x], weight_dy[d.y], weight_dy[d.z], weight_dy[d.w]);
                t0 += xk.x * dk;
                t1 += xk.y * dk;
                t2 += xk.z * dk;
                t3 += xk.w * dk;
                d += vec4<u32>(p.c_out);
                x += vec4<u32>(p.stride);
            }
        }
        s0 += t0;
        s1 += t1;
        s2 += t2;
        s3 += t3;
    }
    let dw = r * p.weights_stride + p.weight + row * p.c_out;
    store_grad(dw, cols, true, s0);
    store_grad(dw + p.c_out, cols, row + 1u < taps, s1);
    store_grad(dw + 2u * p.c_out, cols, row + 2u < taps, s2);
    store_grad(dw + 3u * p.c_out, cols, row + 3u < taps, s3);
}

fn bias_gradient(first: vec4<u32>) -> vec4<f32> {
    let p = weight_params;
    var d = first;
    var sum = vec4<f32>();
    for (var b = 0u; b < p.batch; b++) {
        var t = vec4<f32>();
        for (var pixel = 0u; pixel < p.out_h * p.out_w; pixel++) {
            t += vec4<f32>(weight_dy[d.x], weight_dy[d.y], weight_dy[d.z], weight_dy[d.w]);
            d += vec4<u32>(p.c_out);
        }
        sum += t;
    }
    return sum;
}

fn store_grad(at: u32, cols: vec4<u32>, inside: bool, values: vec4<f32>) {
    let n = select(0u, weight_params.c_out, inside);
    if cols.x < n { weight_grad[at + cols.x] = values.x; }
    if cols.y < n { weight_grad[at + cols.y] = values.y; }
    if cols.z < n { weight_grad[at + cols.z] = values.z; }
    if cols.w < n { weight_grad[at + cols.w] = values.w; }
}
