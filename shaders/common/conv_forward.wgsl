// The forward pass of a convolution as tiles of a product: a row is a pixel's window, a column a channel. Builds on index and tile.
// The module has `conv_params` and `conv_weights`, and says which rows there are and what is read: `row_count`, `pixel_of_row`
// (column, row, image), `input_number` and `input_quad` of a place in the input.

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

fn window_quad(window: Window, at: vec3<u32>) -> vec4<f32> {
    let p = conv_params;
    if p.c_in % 4u == 0u {
        let y = window.top + at.z;
        let x = window.left + at.y;
        if at.z >= p.kernel_h || y >= p.h || x >= p.w {
            return vec4<f32>();
        }
        return input_quad((window.first + y * p.w + x) * p.c_in + at.x, window.image, at.x);
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

fn forward_sums(tile: vec3<u32>, lane: u32) -> mat4x4<f32> {
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
    let n = remaining(col, p.c_out);
    var row = lane / SIDE_N;
    var weight = tile.x * p.weights_stride + p.weight + row * p.c_out + col;
    var sums = mat4x4<f32>();
    for (var done = 0u; done < depth; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            tile_a[a_to + quad] = window_quad(window, at);
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
    return sums;
}

// The same plus the bias of each column; `col` = the thread's first.
fn with_bias(sums: mat4x4<f32>, r: u32, col: u32, has_bias: u32, bias: u32) -> mat4x4<f32> {
    if has_bias == 0u {
        return sums;
    }
    let p = conv_params;
    let quad = forward_weight_quad(r * p.weights_stride + bias + col, remaining(col, p.c_out));
    return sums + mat4x4<f32>(quad, quad, quad, quad);
}
