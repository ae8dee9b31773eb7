// The gradient of a convolution's weights as tiles of a product, its long sum over pixels cut into parts: each part's workgroups
// leave their tiles in scratch memory [parts, R, taps + 1, c_out in quadruples]. The last row is the bias. Builds on index and
// tile. The module has `conv_params` and `conv_scratch`, and says what is read and in which order: `sum_length`, PIXELS_A_PLACE
// pixels for each of `places_across`, `pixel_at` (column, row, image), `input_number`, `input_quad`, `as_read`, `dy_of_sum`, which of whole quadruples may be any where none is there;
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

fn reads_x_quads() -> bool {
    return WHOLE == 1u || conv_params.c_in % 4u == 0u;
}

// Whether a tap, of which `n` and its followers are there, sees a pixel of the image; number by number each has been looked at.
fn sees(tap: Tap, n: u32, pixel: vec3<u32>) -> bool {
    let p = conv_params;
    return !reads_x_quads() || (n > 0u && tap.top + pixel.y * p.stride < p.h && tap.left + pixel.x * p.stride < p.w);
}

// Four taps from `at` on, of which `n` are taps of the kernel.
fn weight_quad(at: vec3<u32>, n: u32, first_image: u32, pixel: vec3<u32>) -> vec4<f32> {
    let p = conv_params;
    if reads_x_quads() {
        let tap = tap_of(at);
        let y = tap.top + pixel.y * p.stride;
        let x = tap.left + pixel.x * p.stride;
        let i = (((first_image + pixel.z) * p.h + y) * p.w + x) * p.c_in + tap.channel;
        return input_quad(select(0u, i, sees(tap, n, pixel)));
    }
    var quad = vec4<f32>();
    let size = vec2<u32>(p.c_in, p.kernel_w);
    let second = ahead(at, 1u, size);
    let third = ahead(second, 1u, size);
    if n > 0u { quad.x = weight_number(tap_of(at), first_image, pixel); }
    if n > 1u { quad.y = weight_number(tap_of(second), first_image, pixel); }
    if n > 2u { quad.z = weight_number(tap_of(third), first_image, pixel); }
    if n > 3u { quad.w = weight_number(tap_of(ahead(third, 1u, size)), first_image, pixel); }
    return quad;
}

// A thread's quadruples of the taps from `at` on, of which `n` are there: of pixel `i` at `place` and of those A_SLICES on, up to `last`.
fn weight_quads(at: vec3<u32>, n: u32, first_image: u32, place: vec3<u32>, i: u32, last: u32) -> Loaded {
    let size = places_across();
    let tap = tap_of(at);
    var a = Loaded();
    a.channels = vec4<u32>(at.x);
    let first_n = select(0u, n, i < last);
    let first = pixel_at(place, i);
    a.quads[0] = weight_quad(at, first_n, first_image, first);
    a.inside.x = sees(tap, first_n, first);
    a.images.x = first_image + first.z;
    if A_QUADS > 1u {
        let second_n = select(0u, n, i + A_SLICES < last);
        let second = pixel_at(ahead(place, A_SLICES / PIXELS_A_PLACE, size), i + A_SLICES);
        a.quads[1] = weight_quad(at, second_n, first_image, second);
        a.inside.y = sees(tap, second_n, second);
        a.images.y = first_image + second.z;
    }
    if A_QUADS > 2u {
        let third_n = select(0u, n, i + 2u * A_SLICES < last);
        let third = pixel_at(ahead(place, 2u * A_SLICES / PIXELS_A_PLACE, size), i + 2u * A_SLICES);
        a.quads[2] = weight_quad(at, third_n, first_image, third);
        a.inside.z = sees(tap, third_n, third);
        a.images.z = first_image + third.z;
        let fourth_n = select(0u, n, i + 3u * A_SLICES < last);
        let fourth = pixel_at(ahead(place, 3u * A_SLICES / PIXELS_A_PLACE, size), i + 3u * A_SLICES);
        a.quads[3] = weight_quad(at, fourth_n, first_image, fourth);
        a.inside.w = sees(tap, fourth_n, fourth);
        a.images.w = first_image + fourth.z;
    }
    return a;
}

// Its quadruples of dy, columns `col` on, of which `n` are there: of pixel `i` and of the one B_SLICES on.
fn weight_b(r: u32, i: u32, last: u32, col: u32, n: u32) -> mat2x4<f32> {
    var quads = mat2x4<f32>();
    quads[0] = dy_of_sum(r, i, col, select(0u, n, i < last));
    if B_QUADS > 1u {
        let second = i + B_SLICES;
        quads[1] = dy_of_sum(r, second, col, select(0u, n, second < last));
    }
    return quads;
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
    // A, by slices: a slice is a pixel, its columns are taps. A thread loads pixels A_SLICES apart.
    let row = tile.y + lane % SIDE_M * 4u;
    let at = place_of(row, vec2<u32>(p.c_in, p.kernel_w));
    let n_taps = remaining(row, taps);
    var a_pixel = first + lane / SIDE_M;
    var place = place_of(a_pixel / PIXELS_A_PLACE, size);
    // B, by slices: a slice is a pixel of dy.
    let col = tile.z + lane % SIDE_N * 4u;
    let n_cols = remaining(col, p.c_out);
    var b_pixel = first + lane / SIDE_N;
    var a = weight_quads(at, n_taps, first_image, place, a_pixel, last);
    var b = weight_b(r, b_pixel, last, col, n_cols);
    var sums = Sums();
    var bias = vec4<f32>();
    var done = first;
    for (; done + DEPTH <= last; done += DEPTH) {
        store_a(lane, THREADS, finished(a));
        store_b(lane, THREADS, b);
        bias += b[0] + b[1];
        workgroupBarrier();
        a_pixel += DEPTH;
        b_pixel += DEPTH;
        place = ahead(place, DEPTH / PIXELS_A_PLACE, size);
        a = weight_quads(at, n_taps, first_image, place, a_pixel, last);
        b = weight_b(r, b_pixel, last, col, n_cols);
        sums = add_slices_slices(sums, lane);
        workgroupBarrier();
    }
    if done < last {
        b = kept_b(b, b_pixel, B_SLICES, last);
        store_a(lane, THREADS, finished(a));
        store_b(lane, THREADS, b);
        bias += b[0] + b[1];
        workgroupBarrier();
        sums = add_last_slices_slices(sums, lane, quads_of(last - done));
        workgroupBarrier();
    }
    let col_quads = div_ceil(p.c_out, 4u);
    let to = tile.x * part_quads();
    if tile.y == 0u {
        bias = column_sums(lane, SIDE_N, bias);
        if lane < SIDE_N && n_cols > 0u {
            conv_scratch[to + taps * col_quads + col / 4u] = bias;
        }
    }
    let own = own_place(tile, lane);
    leave_block(to, own, sums.first);
    if EDGE > 1u {
        leave_block(to, own + vec2<u32>(0u, HALF_N), sums.beside);
        leave_block(to, own + vec2<u32>(HALF_M, 0u), sums.below);
        leave_block(to, own + vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

// Rows and columns `own` on of the part that begins at `to`.
fn leave_block(to: u32, own: vec2<u32>, block: mat4x4<f32>) {
    let p = conv_params;
    let col_quads = div_ceil(p.c_out, 4u);
    let rows = select(0u, remaining(own.x, p.kernel_h * p.kernel_w * p.c_in), own.y < p.c_out);
    let dw = to + own.x * col_quads + own.y / 4u;
    if rows > 0u { conv_scratch[dw] = block[0]; }
    if rows > 1u { conv_scratch[dw + col_quads] = block[1]; }
    if rows > 2u { conv_scratch[dw + 2u * col_quads] = block[2]; }
    if rows > 3u { conv_scratch[dw + 3u * col_quads] = block[3]; }
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
