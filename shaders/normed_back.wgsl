// needs: index, math, activation, step, tile, tile_sums, conv_loaded, conv_input, conv_data, conv_weight, norm_table
// The gradients of normed.wgsl in one kernel: the first workgroups make that of the input, through the activation, and leave the
// sums that the gradient of the normalisation needs; the others make that of the weights, from the input as it is normalised on
// the way. A second kernel combines both. Channels come in quadruples. Twin: src/ops/normed.rs.

struct NormConvBackward {
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
    normed: u32,
    gamma: u32,
    beta: u32,
    activation: u32,
    data_images: u32,
}
@group(0) @binding(0) var<uniform> conv_params: NormConvBackward;
@group(0) @binding(1) var<storage, read> conv_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> conv_dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> conv_stats: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> conv_weights: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> conv_d: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> conv_scratch: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> conv_args: StepArgs;

fn dy_quad(image: u32, y: u32, x: u32, channel: u32) -> vec4<f32> {
    return conv_dy[(((image * conv_params.out_h + y) * conv_params.out_w + x) * conv_params.c_out + channel) / 4u];
}
fn dy_number(image: u32, y: u32, x: u32, channel: u32) -> f32 {
    return dy_quad(image, y, x, channel)[channel % 4u];
}

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
fn input_quad(i: u32) -> vec4<f32> {
    return conv_x[i / 4u];
}
fn as_read(quad: vec4<f32>, image: u32, channel: u32) -> vec4<f32> {
    if conv_params.normed == 0u {
        return quad;
    }
    return normed(quad, norm_at(image, channel));
}
fn input_number(i: u32) -> f32 {
    return conv_x[i / 4u][i % 4u];
}
fn dy_of_sum(r: u32, i: u32, col: u32, n: u32) -> vec4<f32> {
    let at = ((r * sum_length() + i) * conv_params.c_out + col) / 4u;
    if WHOLE == 1u {
        return conv_dy[min(at, arrayLength(&conv_dy) - 1u)];
    }
    return select(vec4<f32>(), conv_dy[select(0u, at, n > 0u)], n > 0u);
}

// Tiles of the pixels of one parity.
fn parity_tiles() -> u32 {
    let p = conv_params;
    return div_ceil(p.batch * div_ceil(p.h, p.stride) * div_ceil(p.w, p.stride), TILE_M);
}
// Tiles whose sums stand side by side, and quadruples of all sums, which stand at the end of the scratch memory.
fn tiles_with_sums() -> u32 {
    return conv_params.stride * conv_params.stride * parity_tiles();
}
fn sum_quads() -> u32 {
    let p = conv_params;
    return select(0u, p.replicas * kinds() * 2u * (p.c_in / 4u) * tiles_with_sums(), p.normed == 1u);
}

@compute @workgroup_size(THREADS)
fn norm_conv_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let i = flat_group(group, groups);
    let of_data = p.replicas * tiles_with_sums() * div_ceil(p.c_in, TILE_N);
    if i >= of_data {
        let parts = (arrayLength(&conv_scratch) - sum_quads()) / (p.replicas * part_quads());
        let tiles = div_ceil(p.kernel_h * p.kernel_w * p.c_in, TILE_M) * div_ceil(p.c_out, TILE_N);
        fill_norm_table((i - of_data) / tiles % p.replicas, lane);
        leave_gradient(i - of_data, parts, lane);
        return;
    }
    let n_pixels = p.batch * div_ceil(p.h, p.stride) * div_ceil(p.w, p.stride);
    let tile = tile_at(i, n_pixels, p.c_in);
    let parity = parity_of(tile.x);
    fill_norm_table(parity.replica, lane);
    let sums = data_sums(parity, tile, lane);
    let own = own_place(tile, lane);
    store_strip(parity, tile, lane, own, sums.first, sums.below);
    if EDGE > 1u {
        store_strip(parity, tile, lane, own + vec2<u32>(0u, HALF_N), sums.beside, sums.opposite);
    }
}

// A thread's blocks that stand one below the other, from row and column `own` on, and the tile's sums of their columns.
fn store_strip(parity: Parity, tile: vec3<u32>, lane: u32, own: vec2<u32>, first: mat4x4<f32>, below: mat4x4<f32>) {
    let p = conv_params;
    let upper = store_block(parity, own.x, own.y, first);
    var lower = upper;
    if EDGE > 1u {
        lower = store_block(parity, own.x + HALF_M, own.y, below);
    }
    if p.normed == 0u {
        return;
    }
    let quads = p.c_in / 4u;
    let step = quads * tiles_with_sums();
    let piece = tile.x % (p.stride * p.stride) * parity_tiles() + tile.y / TILE_M;
    for (var part = 0u; part < kinds(); part++) {
        var d_sum = of_part(upper, part);
        var with_x_sum = x_of_part(upper, part);
        if EDGE > 1u {
            d_sum += of_part(lower, part);
            with_x_sum += x_of_part(lower, part);
        }
        let d = column_sums(lane, ACROSS, d_sum);
        workgroupBarrier();
        let with_x = column_sums(lane, ACROSS, with_x_sum);
        workgroupBarrier();
        if lane < ACROSS && own.y < p.c_in {
            let inverse_sd = conv_stats[((parity.replica * 2u + part) * 2u + 1u) * quads + own.y / 4u];
            let begin = arrayLength(&conv_scratch) - sum_quads();
            let to = begin + (parity.replica * kinds() + part) * 2u * step + own.y / 4u * tiles_with_sums() + piece;
            conv_scratch[to] = d;
            conv_scratch[to + step] = with_x * inverse_sd;
        }
    }
}

// The gradient of a pixel before the activation, the same times x - mean, and the group of images that it counts for.
struct Stored {
    d: vec4<f32>,
    with_x: vec4<f32>,
    part: u32,
}
const NO_PART: u32 = 2u;

fn store(parity: Parity, row: u32, col: u32, value: vec4<f32>) -> Stored {
    let p = conv_params;
    let pixel = data_row(parity, row);
    if pixel == NOWHERE || col >= p.c_in {
        return Stored(vec4<f32>(), vec4<f32>(), NO_PART);
    }
    let at = (pixel * p.c_in + col) / 4u;
    if p.normed == 0u {
        conv_d[at] = value;
        return Stored(value, vec4<f32>(), NO_PART);
    }
    let image = parity_pixel(parity, row).x;
    let quads = p.c_in / 4u;
    let norm = norm_at(parity.replica * p.batch + image, col);
    let off = conv_x[at] - norm_table[norm];
    let d = value * slope_quad(p.activation, off * norm_table[norm + quads] + norm_table[norm + 2u * quads]);
    conv_d[at] = d;
    let is_auxiliary = image >= p.data_images;
    let part = select(select(NO_PART, 0u, image < conv_args.n_valid), 1u, is_auxiliary);
    return Stored(d, d * off, part);
}
// Of a block's four rows.
struct StoredBlock {
    first: Stored,
    second: Stored,
    third: Stored,
    fourth: Stored,
}
fn store_block(parity: Parity, row: u32, col: u32, block: mat4x4<f32>) -> StoredBlock {
    return StoredBlock(
        store(parity, row, col, block[0]),
        store(parity, row + 1u, col, block[1]),
        store(parity, row + 2u, col, block[2]),
        store(parity, row + 3u, col, block[3]),
    );
}
// Their sums of the pixels of one group of images.
fn of_part(block: StoredBlock, part: u32) -> vec4<f32> {
    return counted(block.first, part, block.first.d) + counted(block.second, part, block.second.d)
        + counted(block.third, part, block.third.d) + counted(block.fourth, part, block.fourth.d);
}
fn x_of_part(block: StoredBlock, part: u32) -> vec4<f32> {
    return counted(block.first, part, block.first.with_x) + counted(block.second, part, block.second.with_x)
        + counted(block.third, part, block.third.with_x) + counted(block.fourth, part, block.fourth.with_x);
}
fn counted(stored: Stored, part: u32, value: vec4<f32>) -> vec4<f32> {
    return select(vec4<f32>(), value, stored.part == part);
}

@group(0) @binding(1) var<storage, read> combine_scratch: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> combine_sums: array<f32>;
@group(0) @binding(3) var<storage, read_write> combine_grad: array<f32>;
@group(0) @binding(4) var<storage, read> combine_args: StepArgs;

// One workgroup a replica and quadruple of channels, both groups of images in turn; behind them those of the weights.
@compute @workgroup_size(256)
fn norm_conv_backward_combine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let quads = p.c_in / 4u;
    let i = flat_group(group, groups);
    let columns = select(0u, p.replicas * quads, p.normed == 1u);
    let begin = arrayLength(&combine_scratch) - sum_quads();
    if i >= columns {
        combine_gradient((i - columns) * COMBINING + lane, begin, 0u, 0u);
        return;
    }
    let r = i / quads;
    let quad = i % quads;
    let tiles = tiles_with_sums();
    let step = quads * tiles;
    var total = vec4<f32>();
    var total_with_x = vec4<f32>();
    for (var part = 0u; part < 2u; part++) {
        var d = vec4<f32>();
        var with_x = vec4<f32>();
        if part < kinds() {
            let first = begin + (r * kinds() + part) * 2u * step + quad * tiles;
            for (var tile = lane; tile < tiles; tile += COMBINING) {
                d += combine_scratch[first + tile];
                with_x += combine_scratch[first + step + tile];
            }
        }
        d = combined(lane, d);
        with_x = combined(lane, with_x);
        total += d;
        total_with_x += with_x;
        let range = part_range(part, combine_args.n_valid, p.data_images, p.batch);
        let inverse = 1.0 / f32(max((range.y - range.x) * p.h * p.w, 1u));
        if lane < 4u {
            let s = (r * 2u + part) * 2u * p.c_in + quad * 4u + lane;
            combine_sums[s] = d[lane] * inverse;
            combine_sums[s + p.c_in] = with_x[lane] * inverse;
        }
    }
    if lane < 4u {
        let w = r * p.weights_stride + quad * 4u + lane;
        combine_grad[w + p.beta] = total[lane];
        combine_grad[w + p.gamma] = total_with_x[lane];
    }
}
