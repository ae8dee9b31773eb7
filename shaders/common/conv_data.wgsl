// The gradient of a convolution's input as tiles of a product: a row is a pixel, a column a channel. Pixels are sorted by their
// parity, so that a workgroup visits only the taps that exist. Builds on index and tile. The module has `conv_params` and
// `conv_weights`, and says what the gradient of the output is: `dy_number` and `dy_quad`.

// Pixels whose coordinates leave the same remainders by the stride meet the same taps: kernel rows first.y, first.y + stride
// and so on, taps.y of them, and columns likewise. A workgroup works on pixels of one such parity.
struct Parity {
    replica: u32,
    x: u32,
    y: u32,
    // Pixels of this parity across and down an image, rounded up to what the largest parity has.
    w: u32,
    h: u32,
    first: vec2<u32>,
    taps: vec2<u32>,
}

fn parity_of(i: u32) -> Parity {
    let p = conv_params;
    let x = i % p.stride;
    let y = i / p.stride % p.stride;
    let first = (vec2<u32>(x, y) + vec2<u32>(p.pad_left, p.pad_top)) % p.stride;
    let kernel = vec2<u32>(p.kernel_w, p.kernel_h);
    let taps = (max(kernel, first) - first + p.stride - 1u) / p.stride;
    return Parity(i / (p.stride * p.stride), x, y, div_ceil(p.w, p.stride), div_ceil(p.h, p.stride), first, taps);
}

// Image, row and column of a pixel of a parity. The last row and column of an image may lie outside of it.
fn parity_pixel(parity: Parity, i: u32) -> vec3<u32> {
    return vec3<u32>(
        i / (parity.h * parity.w),
        i / parity.w % parity.h * conv_params.stride + parity.y,
        i % parity.w * conv_params.stride + parity.x,
    );
}

// The place in dy from which the taps of a pixel go up and left; before the first row or column it wraps.
struct Reach {
    image: u32,
    top: u32,
    left: u32,
}

// `at` = channel, column and row of the tap.
fn data_number(reach: Reach, taps: u32, at: vec3<u32>) -> f32 {
    let p = conv_params;
    let y = reach.top - at.z;
    let x = reach.left - at.y;
    if at.z >= taps || y >= p.out_h || x >= p.out_w {
        return 0.0;
    }
    return dy_number(reach.image, y, x, at.x);
}

fn reads_dy_quads() -> bool {
    return WHOLE == 1u || conv_params.c_out % 4u == 0u;
}

// Whether the place lies inside of dy; number by number each has been looked at.
fn is_reached(reach: Reach, taps: u32, at: vec3<u32>) -> bool {
    let p = conv_params;
    return !reads_dy_quads() || (at.z < taps && reach.top - at.z < p.out_h && reach.left - at.y < p.out_w);
}

fn data_quad(reach: Reach, taps: vec2<u32>, at: vec3<u32>) -> vec4<f32> {
    if reads_dy_quads() {
        let place = select(vec2<u32>(), vec2<u32>(reach.top - at.z, reach.left - at.y), is_reached(reach, taps.y, at));
        return dy_quad(reach.image, place.x, place.y, at.x);
    }
    let size = vec2<u32>(conv_params.c_out, taps.x);
    let second = ahead(at, 1u, size);
    let third = ahead(second, 1u, size);
    return vec4<f32>(
        data_number(reach, taps.y, at),
        data_number(reach, taps.y, second),
        data_number(reach, taps.y, third),
        data_number(reach, taps.y, ahead(third, 1u, size)),
    );
}

// The weight of an input channel, whose taps begin at `first`, at a place among the taps.
fn data_weight_at(parity: Parity, first: u32, at: vec3<u32>) -> u32 {
    let p = conv_params;
    let tap = (parity.first.y + at.z * p.stride) * p.kernel_w + parity.first.x + at.y * p.stride;
    return first + tap * p.c_in * p.c_out + at.x;
}

fn data_weight(parity: Parity, first: u32, at: vec3<u32>) -> f32 {
    if at.z >= parity.taps.y {
        return 0.0;
    }
    let i = data_weight_at(parity, first, at);
    return conv_weights[i / 4u][i % 4u];
}

fn data_weight_quad(parity: Parity, first: u32, at: vec3<u32>) -> vec4<f32> {
    if WHOLE == 1u || (first % 4u == 0u && conv_params.c_out % 4u == 0u) {
        let inside = at.z < parity.taps.y;
        let quad = conv_weights[select(0u, data_weight_at(parity, first, at) / 4u, inside)];
        if WHOLE == 1u && ENDS_EARLY {
            return quad;
        }
        return select(vec4<f32>(), quad, inside);
    }
    let size = vec2<u32>(conv_params.c_out, parity.taps.x);
    let second = ahead(at, 1u, size);
    let third = ahead(second, 1u, size);
    return vec4<f32>(
        data_weight(parity, first, at),
        data_weight(parity, first, second),
        data_weight(parity, first, third),
        data_weight(parity, first, ahead(third, 1u, size)),
    );
}

// A thread's quadruples of what a pixel's taps reach, from place `at` on.
fn data_quads(reach: Reach, taps: vec2<u32>, at: vec3<u32>) -> Loaded {
    let size = vec2<u32>(conv_params.c_out, taps.x);
    var a = Loaded();
    a.quads[0] = data_quad(reach, taps, at);
    a.inside.x = is_reached(reach, taps.y, at);
    if A_QUADS > 1u {
        let second = ahead(at, 4u, size);
        a.quads[1] = data_quad(reach, taps, second);
        a.inside.y = is_reached(reach, taps.y, second);
    }
    if A_QUADS > 2u {
        let third = ahead(at, 8u, size);
        a.quads[2] = data_quad(reach, taps, third);
        a.inside.z = is_reached(reach, taps.y, third);
        let fourth = ahead(at, 12u, size);
        a.quads[3] = data_quad(reach, taps, fourth);
        a.inside.w = is_reached(reach, taps.y, fourth);
    }
    return a;
}

// Its quadruples of the weights of an input channel, from place `at` of its taps on.
fn data_b(parity: Parity, first: u32, at: vec3<u32>, size: vec2<u32>) -> mat2x4<f32> {
    var quads = mat2x4<f32>();
    quads[0] = data_weight_quad(parity, first, at);
    if B_QUADS > 1u {
        quads[1] = data_weight_quad(parity, first, ahead(at, 4u, size));
    }
    return quads;
}

fn data_sums(parity: Parity, tile: vec3<u32>, lane: u32) -> Sums {
    let p = conv_params;
    let depth = parity.taps.x * parity.taps.y * p.c_out;
    var sums = Sums();
    // No tap at all: a kernel smaller than the stride leaves pixels out.
    if depth == 0u {
        return sums;
    }
    let size = vec2<u32>(p.c_out, parity.taps.x);
    // A, by lines: a line is a pixel.
    let line = lane / A_SHARE;
    let a_to = line_at(line, SIDE_M) + lane % A_SHARE * A_QUADS;
    let pixel = parity_pixel(parity, min(tile.y + line, p.batch * parity.h * parity.w - 1u));
    let reach = Reach(
        parity.replica * p.batch + pixel.x,
        (pixel.y + p.pad_top - parity.first.y) / p.stride,
        (pixel.z + p.pad_left - parity.first.x) / p.stride,
    );
    var at = place_of(lane % A_SHARE * A_QUADS * 4u, size);
    // B, by lines: a line is an input channel.
    let b_line = lane / B_SHARE;
    let b_quad = lane % B_SHARE * B_QUADS;
    let b_to = line_at(b_line, SIDE_N) + b_quad;
    let channel = min(tile.z + b_line, p.c_in - 1u);
    let first = parity.replica * p.weights_stride + p.weight + channel * p.c_out;
    var b_at = place_of(b_quad * 4u, size);
    var a = data_quads(reach, parity.taps, at);
    var b = data_b(parity, first, b_at, size);
    var done = 0u;
    for (; done + DEPTH <= depth; done += DEPTH) {
        store_a(a_to, 1u, masked(a));
        store_b(b_to, 1u, b);
        workgroupBarrier();
        at = ahead(at, DEPTH, size);
        b_at = ahead(b_at, DEPTH, size);
        a = data_quads(reach, parity.taps, at);
        b = data_b(parity, first, b_at, size);
        sums = add_lines_lines(sums, lane);
        workgroupBarrier();
    }
    if done < depth {
        store_a(a_to, 1u, masked(a));
        store_b(b_to, 1u, b);
        workgroupBarrier();
        sums = add_last_lines_lines(sums, lane, quads_of(depth - done));
        workgroupBarrier();
    }
    return sums;
}

const NOWHERE: u32 = 0xffffffffu;

// Where a row of the tile belongs in dx, counted in pixels; none past the last pixel or outside of the image.
fn data_row(parity: Parity, row: u32) -> u32 {
    let p = conv_params;
    let pixel = parity_pixel(parity, row);
    let outside = pixel.x >= p.batch || pixel.y >= p.h || pixel.z >= p.w;
    return select(((parity.replica * p.batch + pixel.x) * p.h + pixel.y) * p.w + pixel.z, NOWHERE, outside);
}
