// The gradient of a convolution's weights as tiles of a product, its long sum over pixels cut into parts: each part's workgroups
// leave their tiles in scratch memory [parts, R, taps + 1, c_out in quadruples]. The last row is the bias. Builds on index and
// tile. The module has `conv_params` and `conv_scratch`, and says what is read and in which order: `sum_length`, PIXELS_A_PLACE
// pixels for each of `places_across`, `pixel_at` (column, row, image), `input_number`, `input_quad`, `dy_of_sum`;
// for the sum of the parts `combine_scratch` and `combine_grad`.

// Quadruples of one part of one replica.
fn part_quads() -> u32 {
    let p = conv_params;
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
    return Tap(at.x, at.z - conv_params.pad_top, at.y - conv_params.pad_left);
}

// `pixel` = column, row and image.
fn weight_number(tap: Tap, first_image: u32, pixel: vec3<u32>) -> f32 {
    let p = conv_params;
    let y = tap.top + pixel.y * p.stride;
    let x = tap.left + pixel.x * p.stride;
    if y >= p.h || x >= p.w {
        return 0.0;
    }
    return input_number((((first_image + pixel.z) * p.h + y) * p.w + x) * p.c_in + tap.channel);
}

// Four taps from `at` on, of which `n` are taps of the kernel.
fn weight_quad(at: vec3<u32>, n: u32, first_image: u32, pixel: vec3<u32>) -> vec4<f32> {
    let p = conv_params;
    var quad = vec4<f32>();
    if p.c_in % 4u == 0u {
        let tap = tap_of(at);
        let y = tap.top + pixel.y * p.stride;
        let x = tap.left + pixel.x * p.stride;
        if n > 0u && y < p.h && x < p.w {
            let image = first_image + pixel.z;
            quad = input_quad(((image * p.h + y) * p.w + x) * p.c_in + tap.channel, image, tap.channel);
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

// Tile `i` of all parts.
fn leave_gradient(i: u32, parts: u32, lane: u32) {
    let p = conv_params;
    let taps = p.kernel_h * p.kernel_w * p.c_in;
    let tile = tile_at(i, taps, p.c_out);
    let part = tile.x / p.replicas;
    let r = tile.x % p.replicas;
    if part >= parts {
        return;
    }
    let n_pixels = sum_length();
    let rounds = div_ceil(div_ceil(n_pixels, DEPTH), parts);
    let first = min(part * rounds * DEPTH, n_pixels);
    let last = min(first + rounds * DEPTH, n_pixels);
    let size = places_across();
    let first_image = r / p.share * p.batch;
    // A, by slices: a slice is a pixel, its columns are taps. A thread loads pixels SIDE_N apart.
    let row = tile.y + lane % SIDE_M * 4u;
    let at = place_of(row, vec2<u32>(p.c_in, p.kernel_w));
    let n_taps = remaining(row, taps);
    var a_pixel = first + lane / SIDE_M;
    var place = place_of(a_pixel / PIXELS_A_PLACE, size);
    // B, by slices: a slice is a pixel of dy.
    let col = tile.z + lane % SIDE_N * 4u;
    let n_cols = remaining(col, p.c_out);
    var b_pixel = first + lane / SIDE_N;
    var sums = mat4x4<f32>();
    var bias = vec4<f32>();
    for (var done = first; done < last; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            tile_a[quad * THREADS + lane] = weight_quad(at, select(0u, n_taps, a_pixel < last), first_image, pixel_at(place, a_pixel));
            a_pixel += SIDE_N;
            place = ahead(place, SIDE_N / PIXELS_A_PLACE, size);
        }
        let d = dy_of_sum(r, b_pixel, col, select(0u, n_cols, b_pixel < last));
        tile_b[lane] = d;
        bias += d;
        workgroupBarrier();
        sums = add_slices_slices(sums, lane);
        workgroupBarrier();
        b_pixel += DEPTH;
    }
    let col_quads = div_ceil(p.c_out, 4u);
    let to = tile.x * part_quads() + col / 4u;
    if tile.y == 0u {
        bias = column_sums(lane, bias);
        if lane < SIDE_N && n_cols > 0u {
            conv_scratch[to + taps * col_quads] = bias;
        }
    }
    let own = tile.y + lane / SIDE_N * 4u;
    let rows = select(0u, remaining(own, taps), n_cols > 0u);
    let dw = to + own * col_quads;
    if rows > 0u { conv_scratch[dw] = sums[0]; }
    if rows > 1u { conv_scratch[dw + col_quads] = sums[1]; }
    if rows > 2u { conv_scratch[dw + 2u * col_quads] = sums[2]; }
    if rows > 3u { conv_scratch[dw + 3u * col_quads] = sums[3]; }
}

// Adds up quadruple `i` of all parts, which end at `end` of the scratch memory.
fn combine_gradient(i: u32, end: u32, has_bias: u32, bias: u32) {
    let p = conv_params;
    let taps = p.kernel_h * p.kernel_w * p.c_in;
    let quads = part_quads();
    if i >= p.replicas * quads {
        return;
    }
    var sum = vec4<f32>();
    for (var at = i; at < end; at += p.replicas * quads) {
        sum += combine_scratch[at];
    }
    let r = i / quads;
    let row = i % quads / div_ceil(p.c_out, 4u);
    let col = i % div_ceil(p.c_out, 4u) * 4u;
    if row == taps && has_bias == 0u {
        return;
    }
    let n = p.c_out - col;
    let grad = r * p.weights_stride + select(p.weight + row * p.c_out, bias, row == taps) + col;
    combine_grad[grad] = sum.x;
    if n > 1u { combine_grad[grad + 1u] = sum.y; }
    if n > 2u { combine_grad[grad + 2u] = sum.z; }
    if n > 3u { combine_grad[grad + 3u] = sum.w; }
}
