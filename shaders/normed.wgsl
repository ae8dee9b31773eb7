// needs: index, math, activation, step, tile, tile_sums, conv_loaded, conv_input, conv_forward, norm_table
// A convolution between two batch normalisations: what it reads is normalised and activated on the way, what it writes is added
// to the shortcut, and each tile leaves the sums that the next normalisation needs, which a second kernel combines. The
// normalised tensor is never stored. Channels come in quadruples where they are normalised. Twin: src/ops/normed.rs.

struct NormConvForward {
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
    weights_stride: u32,
    // Of the normalisation of x.
    normed: u32,
    gamma: u32,
    beta: u32,
    activation: u32,
    data_images: u32,
    has_shortcut: u32,
    // Leaves no statistics.
    frozen: u32,
    running: u32,
    running_stride: u32,
    eps: f32,
    momentum: f32,
}
@group(0) @binding(0) var<uniform> conv_params: NormConvForward;
@group(0) @binding(1) var<storage, read> conv_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> conv_stats: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> conv_weights: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> conv_shortcut: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> conv_y: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> conv_scratch: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> conv_args: StepArgs;

fn row_count() -> u32 {
    return conv_params.batch * conv_params.out_h * conv_params.out_w;
}
fn pixel_of_row(row: u32) -> vec3<u32> {
    let p = conv_params;
    return vec3<u32>(row % p.out_w, row / p.out_w % p.out_h, row / (p.out_w * p.out_h));
}
fn input_number(i: u32) -> f32 {
    return conv_x[i / 4u][i % 4u];
}
fn input_quad(i: u32) -> vec4<f32> {
    return conv_x[i / 4u];
}
fn as_read(quad: vec4<f32>, image: u32, channel: u32) -> vec4<f32> {
    if conv_params.normed == 0u {
        return quad;
    }
    return normed(quad, norm_at(image, channel));
}

// The rows of a group of images: the first, and the one past the last.
fn rows_of_part(part: u32, n_valid: u32) -> vec2<u32> {
    let p = conv_params;
    return part_range(part, n_valid, p.data_images, p.batch) * (p.out_h * p.out_w);
}
// Those of a tile among them.
fn rows_of_tile(first: u32, rows: vec2<u32>) -> vec2<u32> {
    return clamp(rows, vec2<u32>(first), vec2<u32>(first + TILE_M));
}

@compute @workgroup_size(THREADS)
fn norm_conv_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let tile = tile_at(flat_group(group, groups), row_count(), p.c_out);
    if tile.x >= p.replicas {
        return;
    }
    fill_norm_table(tile.x, lane);
    var y = forward_sums(tile, lane);
    let own = own_place(tile, lane);
    y.first = stored(tile.x, own.x, own.y, y.first);
    if EDGE > 1u {
        y.beside = stored(tile.x, own.x, own.y + HALF_N, y.beside);
        y.below = stored(tile.x, own.x + HALF_M, own.y, y.below);
        y.opposite = stored(tile.x, own.x + HALF_M, own.y + HALF_N, y.opposite);
    }
    if p.frozen == 0u {
        leave_sums(tile, lane, own, y.first, y.below);
        if EDGE > 1u {
            leave_sums(tile, lane, own + vec2<u32>(0u, HALF_N), y.beside, y.opposite);
        }
    }
}

// What it stores: a block with the shortcut.
fn stored(r: u32, row: u32, col: u32, sums: mat4x4<f32>) -> mat4x4<f32> {
    let p = conv_params;
    var y = sums;
    let at = ((r * row_count() + row) * p.c_out + col) / 4u;
    let step = p.c_out / 4u;
    let rows = select(0u, remaining(row, row_count()), col < p.c_out);
    if p.has_shortcut == 1u {
        if rows > 0u { y[0] += conv_shortcut[at]; }
        if rows > 1u { y[1] += conv_shortcut[at + step]; }
        if rows > 2u { y[2] += conv_shortcut[at + 2u * step]; }
        if rows > 3u { y[3] += conv_shortcut[at + 3u * step]; }
    }
    if rows > 0u { conv_y[at] = y[0]; }
    if rows > 1u { conv_y[at + step] = y[1]; }
    if rows > 2u { conv_y[at + 2u * step] = y[2]; }
    if rows > 3u { conv_y[at + 3u * step] = y[3]; }
    return y;
}

// Rows `row` to `row` + 3 of a block, where they are among `rows`; the others are zero.
fn among(rows: vec2<u32>, row: u32, y: mat4x4<f32>) -> mat4x4<f32> {
    let own = row + vec4<u32>(0u, 1u, 2u, 3u);
    let inside = (own >= vec4<u32>(rows.x)) & (own < vec4<u32>(rows.y));
    let none = vec4<f32>();
    return mat4x4<f32>(
        select(none, y[0], inside.x),
        select(none, y[1], inside.y),
        select(none, y[2], inside.z),
        select(none, y[3], inside.w),
    );
}
fn sum_of(y: mat4x4<f32>) -> vec4<f32> {
    return y[0] + y[1] + y[2] + y[3];
}
fn squares_of(y: mat4x4<f32>) -> vec4<f32> {
    return y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3];
}

// Of a thread's blocks that stand one below the other, from `row` and `col` on.
// scratch [R, kinds, 3, c / 4, tiles]: a value m near the mean of the tile's rows, the sums of y - m and of its square.
fn leave_sums(tile: vec3<u32>, lane: u32, own: vec2<u32>, upper: mat4x4<f32>, lower: mat4x4<f32>) {
    let p = conv_params;
    let step = p.c_out / 4u * div_ceil(row_count(), TILE_M);
    for (var part = 0u; part < kinds(); part++) {
        let rows = rows_of_tile(tile.y, rows_of_part(part, conv_args.n_valid));
        var sum = sum_of(among(rows, own.x, upper));
        if EDGE > 1u {
            sum += sum_of(among(rows, own.x + HALF_M, lower));
        }
        let mean = column_sums(lane, ACROSS, sum) * (1.0 / f32(max(rows.y - rows.x, 1u)));
        workgroupBarrier();
        let means = mat4x4<f32>(mean, mean, mean, mean);
        let off = among(rows, own.x, upper - means);
        var own_shift = sum_of(off);
        var own_square = squares_of(off);
        if EDGE > 1u {
            let off_below = among(rows, own.x + HALF_M, lower - means);
            own_shift += sum_of(off_below);
            own_square += squares_of(off_below);
        }
        let shift = column_sums(lane, ACROSS, own_shift);
        workgroupBarrier();
        let square = column_sums(lane, ACROSS, own_square);
        workgroupBarrier();
        if lane < ACROSS && own.y < p.c_out {
            let to = (tile.x * kinds() + part) * 3u * step + own.y / 4u * div_ceil(row_count(), TILE_M) + tile.y / TILE_M;
            conv_scratch[to] = mean;
            conv_scratch[to + step] = shift;
            conv_scratch[to + 2u * step] = square;
        }
    }
}

@group(0) @binding(1) var<storage, read> combine_scratch: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> combine_next: array<f32>;
@group(0) @binding(3) var<storage, read_write> combine_running: array<f32>;
@group(0) @binding(4) var<storage, read> combine_args: StepArgs;

// One workgroup a replica, group of images and quadruple of channels.
@compute @workgroup_size(256)
fn norm_conv_forward_combine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let quads = p.c_out / 4u;
    let i = flat_group(group, groups);
    if i >= p.replicas * 2u * quads {
        return;
    }
    let r = i / (2u * quads);
    let part = i / quads % 2u;
    let quad = i % quads;
    let is_there = part < kinds();
    let all = div_ceil(row_count(), TILE_M);
    let step = quads * all;
    let tiles = select(0u, all, is_there);
    let first = (r * kinds() + min(part, kinds() - 1u)) * 3u * step + quad * all;
    let rows = rows_of_part(part, combine_args.n_valid);
    let n = rows.y - rows.x;
    let inverse = 1.0 / f32(max(n, 1u));
    // The mean, from that of the first tile on; then what each tile's squares are about that mean.
    let base = select(vec4<f32>(), combine_scratch[first + min(rows.x / TILE_M, all - 1u)], is_there);
    var shift = vec4<f32>();
    for (var tile = lane; tile < tiles; tile += COMBINING) {
        let own = rows_of_tile(tile * TILE_M, rows);
        if own.y > own.x {
            shift += f32(own.y - own.x) * (combine_scratch[first + tile] - base) + combine_scratch[first + step + tile];
        }
    }
    shift = combined(lane, shift) * inverse;
    var square = vec4<f32>();
    for (var tile = lane; tile < tiles; tile += COMBINING) {
        let own = rows_of_tile(tile * TILE_M, rows);
        if own.y > own.x {
            let d = combine_scratch[first + tile] - base - shift;
            let more = d * (2.0 * combine_scratch[first + step + tile] + f32(own.y - own.x) * d);
            square += combine_scratch[first + 2u * step + tile] + more;
        }
    }
    square = combined(lane, square);
    if lane != 0u {
        return;
    }
    for (var j = 0u; j < 4u; j++) {
        let channel = quad * 4u + j;
        let mean = base[j] + shift[j];
        // Rounding may leave less than nothing of a constant channel.
        let own = at_least(square[j], 0.0);
        let to = (r * 2u + part) * 2u * p.c_out + channel;
        combine_next[to] = mean;
        combine_next[to + p.c_out] = inverseSqrt(own * inverse + p.eps);
        if part == 0u {
            let running = r * p.running_stride + p.running + channel;
            let old_mean = combine_running[running];
            let old_var = combine_running[running + p.c_out];
            let unbiased = own * (1.0 / f32(max(n, 2u) - 1u));
            combine_running[running] = old_mean + p.momentum * (mean - old_mean);
            combine_running[running + p.c_out] = old_var + p.momentum * (unbiased - old_var);
        }
    }
}
