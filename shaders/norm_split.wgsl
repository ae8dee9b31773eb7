// needs: index, math, activation, step
// The sums of batch normalisation for hardware: a workgroup reads 16 channels of 16 rows at a time, so that neighbours read
// neighbours, and the rows are cut into parts, so that many workgroups read. Each part leaves its sums in scratch memory, and a
// second kernel combines the parts in their order. Parameters, bindings and twins of norm.wgsl.

const CHANNELS: u32 = 16u;
const ROWS: u32 = 16u;

var<workgroup> norm_tree: array<vec2<f32>, 256>;

// Sums over the rows of a workgroup, by a fixed tree; every lane must call it and gets the sum of its channel.
fn sum_of_rows(lane: u32, value: vec2<f32>) -> vec2<f32> {
    norm_tree[lane] = value;
    workgroupBarrier();
    for (var width = 8u * CHANNELS; width >= CHANNELS; width /= 2u) {
        if lane < width {
            norm_tree[lane] += norm_tree[lane + width];
        }
        workgroupBarrier();
    }
    let sum = norm_tree[lane % CHANNELS];
    // A second call would overwrite the sums while slower lanes still read them.
    workgroupBarrier();
    return sum;
}

// Lanes that add up the parts of a channel, and channels of a workgroup that does so.
const LANES: u32 = 16u;
const COMBINED: u32 = 4u;

// Sums over the lanes of a channel, by a fixed tree; every lane must call it and gets the sum of its channel.
fn sum_of_lanes(lane: u32, value: vec2<f32>) -> vec2<f32> {
    norm_tree[lane] = value;
    workgroupBarrier();
    for (var width = LANES / 2u; width > 0u; width /= 2u) {
        if lane % LANES < width {
            norm_tree[lane] += norm_tree[lane + width];
        }
        workgroupBarrier();
    }
    let sum = norm_tree[lane - lane % LANES];
    workgroupBarrier();
    return sum;
}

// Without auxiliary images there is one group of rows; nobody reads those of the other.
fn kinds_of(data_images: u32, images: u32) -> u32 {
    return select(1u, 2u, images > data_images);
}

// Which rows of n a part has: the first, and the one past the last.
fn rows_of(piece: u32, pieces: u32, n: u32) -> vec2<u32> {
    let rows = div_ceil(n, pieces);
    return min(vec2<u32>(piece * rows, (piece + 1u) * rows), vec2<u32>(n));
}

struct BatchNormStats {
    replicas: u32,
    images: u32,
    data_images: u32,
    pixels: u32,
    c: u32,
    running: u32,
    running_stride: u32,
    eps: f32,
    momentum: f32,
}
@group(0) @binding(0) var<uniform> stats_params: BatchNormStats;
@group(0) @binding(1) var<storage, read> stats_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> stats_scratch: array<f32>;
@group(0) @binding(3) var<storage, read> stats_args: StepArgs;

// scratch [pieces, R, kinds, 3, c]: a value m near the mean of the piece, the sums of x - m and of its square. With the sum
// of x - m, which only rounding keeps from zero, the parts combine as exactly as one sum over all rows would.
@compute @workgroup_size(256)
fn batch_norm_stats_split(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = stats_params;
    let blocks = div_ceil(p.c, CHANNELS);
    let i = flat_group(group, groups);
    let kinds = kinds_of(p.data_images, p.images);
    let pieces = arrayLength(&stats_scratch) / (p.replicas * kinds * 3u * p.c);
    let piece = i / (p.replicas * kinds * blocks);
    if piece >= pieces {
        return;
    }
    let r = i / (kinds * blocks) % p.replicas;
    let part = i / blocks % kinds;
    let wanted = i % blocks * CHANNELS + lane % CHANNELS;
    let channel = min(wanted, p.c - 1u);
    let range = part_range(part, stats_args.n_valid, p.data_images, p.images);
    let rows = rows_of(piece, pieces, (range.y - range.x) * p.pixels);
    let first = (r * p.images + range.x) * p.pixels * p.c + channel;
    var sum = 0.0;
    for (var row = rows.x + lane / CHANNELS; row < rows.y; row += ROWS) {
        sum += stats_x[first + row * p.c];
    }
    let mean = sum_of_rows(lane, vec2<f32>(sum, 0.0)).x * (1.0 / f32(max(rows.y - rows.x, 1u)));
    var sums = vec2<f32>();
    for (var row = rows.x + lane / CHANNELS; row < rows.y; row += ROWS) {
        let d = stats_x[first + row * p.c] - mean;
        sums += vec2<f32>(d, d * d);
    }
    sums = sum_of_rows(lane, sums);
    if lane < CHANNELS && wanted < p.c {
        let to = ((piece * p.replicas + r) * kinds + part) * 3u * p.c + channel;
        stats_scratch[to] = mean;
        stats_scratch[to + p.c] = sums.x;
        stats_scratch[to + 2u * p.c] = sums.y;
    }
}

@group(0) @binding(1) var<storage, read> combine_scratch: array<f32>;
@group(0) @binding(2) var<storage, read_write> combine_stats: array<f32>;
@group(0) @binding(3) var<storage, read_write> combine_running: array<f32>;
@group(0) @binding(4) var<storage, read> combine_args: StepArgs;

@compute @workgroup_size(64)
fn batch_norm_stats_combine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = stats_params;
    let items = p.replicas * 2u * p.c;
    let wanted = flat_group(group, groups) * COMBINED + lane / LANES;
    let item = min(wanted, items - 1u);
    let r = item / (2u * p.c);
    let part = item / p.c % 2u;
    let channel = item % p.c;
    let kinds = kinds_of(p.data_images, p.images);
    let is_there = part < kinds;
    let range = part_range(part, combine_args.n_valid, p.data_images, p.images);
    let n = (range.y - range.x) * p.pixels;
    let inverse = 1.0 / f32(max(n, 1u));
    let step = p.replicas * kinds * 3u * p.c;
    let pieces = select(0u, arrayLength(&combine_scratch) / step, is_there);
    let first = (r * kinds + min(part, kinds - 1u)) * 3u * p.c + channel;
    // The mean, from the first piece's on; then what each piece's squares are about that mean.
    let base = select(0.0, combine_scratch[first], is_there);
    var shift = 0.0;
    for (var piece = lane % LANES; piece < pieces; piece += LANES) {
        let rows = rows_of(piece, pieces, n);
        let at = first + piece * step;
        shift += f32(rows.y - rows.x) * (combine_scratch[at] - base) + combine_scratch[at + p.c];
    }
    shift = sum_of_lanes(lane, vec2<f32>(shift, 0.0)).x * inverse;
    var square = 0.0;
    for (var piece = lane % LANES; piece < pieces; piece += LANES) {
        let rows = rows_of(piece, pieces, n);
        let at = first + piece * step;
        let d = combine_scratch[at] - base - shift;
        let more = d * (2.0 * combine_scratch[at + p.c] + f32(rows.y - rows.x) * d);
        square += select(0.0, combine_scratch[at + 2u * p.c] + more, rows.y > rows.x);
    }
    // Rounding may leave less than nothing of a constant channel.
    square = at_least(sum_of_lanes(lane, vec2<f32>(square, 0.0)).x, 0.0);
    if lane % LANES != 0u || wanted >= items {
        return;
    }
    let mean = base + shift;
    let to = (r * 2u + part) * 2u * p.c + channel;
    combine_stats[to] = mean;
    combine_stats[to + p.c] = inverseSqrt(square * inverse + p.eps);
    if part == 0u {
        let running = r * p.running_stride + p.running + channel;
        let old_mean = combine_running[running];
        let old_var = combine_running[running + p.c];
        let unbiased = square * (1.0 / f32(max(n, 2u) - 1u));
        combine_running[running] = old_mean + p.momentum * (mean - old_mean);
        combine_running[running + p.c] = old_var + p.momentum * (unbiased - old_var);
    }
}

struct BatchNormSums {
    replicas: u32,
    images: u32,
    data_images: u32,
    pixels: u32,
    c: u32,
    gamma: u32,
    beta: u32,
    weights_stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> sums_params: BatchNormSums;
@group(0) @binding(1) var<storage, read> sums_x: array<f32>;
@group(0) @binding(2) var<storage, read> sums_y: array<f32>;
@group(0) @binding(3) var<storage, read> sums_dy: array<f32>;
@group(0) @binding(4) var<storage, read> sums_stats: array<f32>;
@group(0) @binding(5) var<storage, read_write> sums_scratch: array<f32>;
@group(0) @binding(6) var<storage, read> sums_args: StepArgs;

// scratch [pieces, R, kinds, 2, c]: the sums of d and of d xhat.
@compute @workgroup_size(256)
fn batch_norm_sums_split(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = sums_params;
    let blocks = div_ceil(p.c, CHANNELS);
    let i = flat_group(group, groups);
    let kinds = kinds_of(p.data_images, p.images);
    let pieces = arrayLength(&sums_scratch) / (p.replicas * kinds * 2u * p.c);
    let piece = i / (p.replicas * kinds * blocks);
    if piece >= pieces {
        return;
    }
    let r = i / (kinds * blocks) % p.replicas;
    let part = i / blocks % kinds;
    let wanted = i % blocks * CHANNELS + lane % CHANNELS;
    let channel = min(wanted, p.c - 1u);
    let range = part_range(part, sums_args.n_valid, p.data_images, p.images);
    let rows = rows_of(piece, pieces, (range.y - range.x) * p.pixels);
    let first = (r * p.images + range.x) * p.pixels * p.c + channel;
    let s = (r * 2u + part) * 2u * p.c + channel;
    let mean = sums_stats[s];
    let inverse_sd = sums_stats[s + p.c];
    var sum = vec2<f32>();
    for (var row = rows.x + lane / CHANNELS; row < rows.y; row += ROWS) {
        let at = first + row * p.c;
        let d = sums_dy[at] * activation_slope(p.activation, sums_y[at]);
        sum += vec2<f32>(d, d * ((sums_x[at] - mean) * inverse_sd));
    }
    sum = sum_of_rows(lane, sum);
    if lane < CHANNELS && wanted < p.c {
        let to = ((piece * p.replicas + r) * kinds + part) * 2u * p.c + channel;
        sums_scratch[to] = sum.x;
        sums_scratch[to + p.c] = sum.y;
    }
}

@group(0) @binding(1) var<storage, read> total_scratch: array<f32>;
@group(0) @binding(2) var<storage, read_write> total_sums: array<f32>;
@group(0) @binding(3) var<storage, read_write> total_grad: array<f32>;
@group(0) @binding(4) var<storage, read> total_args: StepArgs;

// Both groups of a channel: the gradient of gamma and beta is their total.
@compute @workgroup_size(64)
fn batch_norm_sums_combine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = sums_params;
    let items = p.replicas * p.c;
    let wanted = flat_group(group, groups) * COMBINED + lane / LANES;
    let item = min(wanted, items - 1u);
    let r = item / p.c;
    let channel = item % p.c;
    let kinds = kinds_of(p.data_images, p.images);
    let step = p.replicas * kinds * 2u * p.c;
    let writes = lane % LANES == 0u && wanted < items;
    var total = vec2<f32>();
    for (var part = 0u; part < 2u; part++) {
        let range = part_range(part, total_args.n_valid, p.data_images, p.images);
        var sum = vec2<f32>();
        if part < kinds {
            let first = (r * kinds + part) * 2u * p.c + channel + lane % LANES * step;
            for (var at = first; at < arrayLength(&total_scratch); at += LANES * step) {
                sum += vec2<f32>(total_scratch[at], total_scratch[at + p.c]);
            }
        }
        sum = sum_of_lanes(lane, sum);
        total += sum;
        let mean = sum * (1.0 / f32(max((range.y - range.x) * p.pixels, 1u)));
        if writes {
            let s = (r * 2u + part) * 2u * p.c + channel;
            total_sums[s] = mean.x;
            total_sums[s + p.c] = mean.y;
        }
    }
    if writes {
        let w = r * p.weights_stride + channel;
        total_grad[w + p.beta] = total.x;
        total_grad[w + p.gamma] = total.y;
    }
}
