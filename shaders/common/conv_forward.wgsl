// The forward pass of a convolution as tiles of a product: a row is a pixel's window, a column a channel. Builds on index and tile.
// The module has `conv_params` and `conv_weights`, and says which rows there are and what is read: `row_count`, `pixel_of_row`
// (column, row, image), `input_number` and `input_quad` of a place in the input, and `as_read`, what becomes of a quadruple.

// Where a pixel's window begins. Above and left of the image the places wrap to large numbers, so that one comparison
// tests both edges.
struct Window {
    image: u32,
    // Its first pixel.
    first: u32,
    top: u32,
    left: u32,
}

// `at` = channel, column and row within the window.
fn window_number(window: Window, at: vec3<u32>) -> f32 {
    let p = conv_params;
    let y = window.top + at.z;
    let x = window.left + at.y;
    if at.z >= p.kernel_h || y >= p.h || x >= p.w {
        return 0.0;
    }
    return input_number((window.first + y * p.w + x) * p.c_in + at.x);
}

fn reads_quads() -> bool {
    return WHOLE == 1u || conv_params.c_in % 4u == 0u;
}

// Whether the place lies inside of the image; number by number each has been looked at.
fn is_inside(window: Window, at: vec3<u32>) -> bool {
    let p = conv_params;
    return !reads_quads() || (at.z < p.kernel_h && window.top + at.z < p.h && window.left + at.y < p.w);
}

fn window_quad(window: Window, at: vec3<u32>) -> vec4<f32> {
    let p = conv_params;
    if reads_quads() {
        let i = (window.first + (window.top + at.z) * p.w + window.left + at.y) * p.c_in + at.x;
        return input_quad(select(0u, i, is_inside(window, at)));
    }
    let size = vec2<u32>(p.c_in, p.kernel_w);
    let second = ahead(at, 1u, size);
    let third = ahead(second, 1u, size);
    return vec4<f32>(
        window_number(window, at),
        window_number(window, second),
        window_number(window, third),
        window_number(window, ahead(third, 1u, size)),
    );
}

// Four weights of the same row from `at` on, of which `n` stand in that row.
fn forward_weight_quad(at: u32, n: u32) -> vec4<f32> {
    if WHOLE == 1u {
        return select(vec4<f32>(), conv_weights[select(0u, at / 4u, n > 0u)], n > 0u);
    }
    if at % 4u == 0u && n >= 4u {
        return conv_weights[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = conv_weights[at / 4u][at % 4u]; }
    if n > 1u { quad.y = conv_weights[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = conv_weights[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = conv_weights[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

// A thread's quadruples of a window from place `at` on.
fn window_quads(window: Window, at: vec3<u32>, size: vec2<u32>) -> Loaded {
    var a = Loaded();
    a.images = vec4<u32>(window.image);
    a.quads[0] = window_quad(window, at);
    a.inside.x = is_inside(window, at);
    a.channels.x = at.x;
    if A_QUADS > 1u {
        let second = ahead(at, 4u, size);
        a.quads[1] = window_quad(window, second);
        a.inside.y = is_inside(window, second);
        a.channels.y = second.x;
    }
    if A_QUADS > 2u {
        let third = ahead(at, 8u, size);
        a.quads[2] = window_quad(window, third);
        a.inside.z = is_inside(window, third);
        a.channels.z = third.x;
        let fourth = ahead(at, 12u, size);
        a.quads[3] = window_quad(window, fourth);
        a.inside.w = is_inside(window, fourth);
        a.channels.w = fourth.x;
    }
    return a;
}

// Its quadruples of the weights: `at` is where column `col` of row `row` of `depth` stands; and of the row B_SLICES on.
fn forward_b(at: u32, row: u32, depth: u32, col: u32) -> mat2x4<f32> {
    let p = conv_params;
    let step = B_SLICES * p.c_out;
    var quads = mat2x4<f32>();
    if WHOLE == 1u && ENDS_EARLY {
        // Columns and rows that are not there are read elsewhere.
        let last = arrayLength(&conv_weights) - 1u;
        quads[0] = conv_weights[min(at / 4u, last)];
        if B_QUADS > 1u {
            quads[1] = conv_weights[min(at / 4u + step / 4u, last)];
        }
        return quads;
    }
    let n = remaining(col, p.c_out);
    quads[0] = forward_weight_quad(at, select(0u, n, row < depth));
    if B_QUADS > 1u {
        quads[1] = forward_weight_quad(at + step, select(0u, n, row + B_SLICES < depth));
    }
    return quads;
}

fn forward_sums(tile: vec3<u32>, lane: u32) -> Sums {
    let p = conv_params;
    let depth = p.kernel_h * p.kernel_w * p.c_in;
    let size = vec2<u32>(p.c_in, p.kernel_w);
    // A, by lines: a line is a pixel's window. Past the last pixel it is loaded again.
    let line = lane / A_SHARE;
    let a_to = line_at(line, SIDE_M) + lane % A_SHARE * A_QUADS;
    let pixel = pixel_of_row(min(tile.y + line, row_count() - 1u));
    let image = tile.x / p.share * p.batch + pixel.z;
    let window = Window(
        image,
        image * p.h * p.w,
        pixel.y * p.stride - p.pad_top,
        pixel.x * p.stride - p.pad_left,
    );
    var at = place_of(lane % A_SHARE * A_QUADS * 4u, size);
    // B, by slices: a slice is a row of the weights.
    let col = tile.z + lane % SIDE_N * 4u;
    var row = lane / SIDE_N;
    var weight = tile.x * p.weights_stride + p.weight + row * p.c_out + col;
    var a = window_quads(window, at, size);
    var b = forward_b(weight, row, depth, col);
    var sums = Sums();
    var done = 0u;
    for (; done + DEPTH <= depth; done += DEPTH) {
        store_a(a_to, 1u, finished(a));
        store_b(lane, THREADS, b);
        workgroupBarrier();
        at = ahead(at, DEPTH, size);
        row += DEPTH;
        weight += DEPTH * p.c_out;
        a = window_quads(window, at, size);
        b = forward_b(weight, row, depth, col);
        sums = add_lines_slices(sums, lane);
        workgroupBarrier();
    }
    if done < depth {
        store_a(a_to, 1u, finished(a));
        store_b(lane, THREADS, b);
        workgroupBarrier();
        sums = add_last_lines_slices(sums, lane, quads_of(depth - done));
        workgroupBarrier();
    }
    return sums;
}

// The same plus the bias of each column; `col` = the thread's first.
fn with_bias(sums: Sums, r: u32, col: u32, has_bias: u32, bias: u32) -> Sums {
    if has_bias == 0u {
        return sums;
    }
    let p = conv_params;
    let at = r * p.weights_stride + bias + col;
    let row = forward_weight_quad(at, remaining(col, p.c_out));
    if EDGE == 1u {
        return with_rows(sums, row, row);
    }
    return with_rows(sums, row, forward_weight_quad(at + HALF_N, remaining(col + HALF_N, p.c_out)));
}
