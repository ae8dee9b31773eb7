// needs: index, math, activation, step, reduce
// Batch normalisation, NHWC, and the sum of two tensors. Valid data rows and auxiliary rows are two groups with statistics
// of their own; filler rows belong to none. Sums run over one channel a workgroup. Twin: src/ops/norm.rs.

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
@group(0) @binding(2) var<storage, read_write> stats_stats: array<f32>;
@group(0) @binding(3) var<storage, read_write> stats_running: array<f32>;
@group(0) @binding(4) var<storage, read> stats_args: StepArgs;

// One workgroup a replica, part and channel.
@compute @workgroup_size(64)
fn batch_norm_stats(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = stats_params;
    let i = flat_group(group, groups);
    if i >= p.replicas * 2u * p.c {
        return;
    }
    let r = i / (2u * p.c);
    let part = i / p.c % 2u;
    let channel = i % p.c;
    let range = part_range(part, stats_args.n_valid, p.data_images, p.images);
    let n = (range.y - range.x) * p.pixels;
    let first = (r * p.images + range.x) * p.pixels * p.c + channel;
    let inverse = 1.0 / f32(max(n, 1u));
    // Two passes: the difference of large squares would lose the variance of an offset channel.
    var sum = 0.0;
    for (var row = lane; row < n; row += GROUP_SIZE) {
        sum += stats_x[first + row * p.c];
    }
    let mean = tree_sum(lane, vec4<f32>(sum, 0.0, 0.0, 0.0)).x * inverse;
    var square = 0.0;
    for (var row = lane; row < n; row += GROUP_SIZE) {
        let d = stats_x[first + row * p.c] - mean;
        square += d * d;
    }
    square = tree_sum(lane, vec4<f32>(square, 0.0, 0.0, 0.0)).x;
    if lane != 0u {
        return;
    }
    let to = (r * 2u + part) * 2u * p.c + channel;
    stats_stats[to] = mean;
    stats_stats[to + p.c] = inverseSqrt(square * inverse + p.eps);
    if part == 0u {
        let running = r * p.running_stride + p.running + channel;
        let old_mean = stats_running[running];
        let old_var = stats_running[running + p.c];
        let unbiased = square * (1.0 / f32(max(n, 2u) - 1u));
        stats_running[running] = old_mean + p.momentum * (mean - old_mean);
        stats_running[running + p.c] = old_var + p.momentum * (unbiased - old_var);
    }
}

struct BatchNormRunning {
    replicas: u32,
    c: u32,
    running: u32,
    running_stride: u32,
    eps: f32,
}
@group(0) @binding(0) var<uniform> running_params: BatchNormRunning;
@group(0) @binding(1) var<storage, read> running_running: array<f32>;
@group(0) @binding(2) var<storage, read_write> running_stats: array<f32>;

@compute @workgroup_size(64)
fn batch_norm_running(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = running_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.c {
        return;
    }
    let r = i / p.c;
    let channel = i % p.c;
    let source = r * p.running_stride + p.running + channel;
    let mean = running_running[source];
    let inverse_sd = inverseSqrt(running_running[source + p.c] + p.eps);
    for (var part = 0u; part < 2u; part++) {
        let to = (r * 2u + part) * 2u * p.c + channel;
        running_stats[to] = mean;
        running_stats[to + p.c] = inverse_sd;
    }
}

struct BatchNormForward {
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
@group(0) @binding(0) var<uniform> forward_params: BatchNormForward;
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_stats: array<f32>;
@group(0) @binding(3) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_y: array<f32>;

@compute @workgroup_size(64)
fn batch_norm_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let size = p.pixels * p.c;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.images * size {
        return;
    }
    let r = i / (p.images * size);
    let part = select(0u, 1u, i / size % p.images >= p.data_images);
    let channel = i % p.c;
    let s = (r * 2u + part) * 2u * p.c + channel;
    let w = r * p.weights_stride + channel;
    let normal = (forward_x[i] - forward_stats[s]) * forward_stats[s + p.c];
    forward_y[i] = activate(p.activation, forward_weights[w + p.gamma] * normal + forward_weights[w + p.beta]);
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
@group(0) @binding(5) var<storage, read_write> sums_sums: array<f32>;
@group(0) @binding(6) var<storage, read_write> sums_grad: array<f32>;
@group(0) @binding(7) var<storage, read> sums_args: StepArgs;

// One workgroup a replica and channel, both parts in turn: the gradient of gamma and beta is their total.
@compute @workgroup_size(64)
fn batch_norm_sums(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = sums_params;
    let i = flat_group(group, groups);
    if i >= p.replicas * p.c {
        return;
    }
    let r = i / p.c;
    let channel = i % p.c;
    var total = vec2<f32>();
    for (var part = 0u; part < 2u; part++) {
        let range = part_range(part, sums_args.n_valid, p.data_images, p.images);
        let n = (range.y - range.x) * p.pixels;
        let first = (r * p.images + range.x) * p.pixels * p.c + channel;
        let s = (r * 2u + part) * 2u * p.c + channel;
        let mean = sums_stats[s];
        let inverse_sd = sums_stats[s + p.c];
        var sum = vec2<f32>();
        for (var row = lane; row < n; row += GROUP_SIZE) {
            let at = first + row * p.c;
            let d = sums_dy[at] * activation_slope(p.activation, sums_y[at]);
            sum += vec2<f32>(d, d * ((sums_x[at] - mean) * inverse_sd));
        }
        sum = tree_sum(lane, vec4<f32>(sum, 0.0, 0.0)).xy;
        total += sum;
        if lane == 0u {
            let mean_sum = sum * (1.0 / f32(max(n, 1u)));
            sums_sums[s] = mean_sum.x;
            sums_sums[s + p.c] = mean_sum.y;
        }
    }
    if lane == 0u {
        let w = r * p.weights_stride + channel;
        sums_grad[w + p.beta] = total.x;
        sums_grad[w + p.gamma] = total.y;
    }
}

struct BatchNormBackward {
    replicas: u32,
    images: u32,
    data_images: u32,
    pixels: u32,
    c: u32,
    gamma: u32,
    weights_stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> backward_params: BatchNormBackward;
@group(0) @binding(1) var<storage, read> backward_x: array<f32>;
@group(0) @binding(2) var<storage, read> backward_y: array<f32>;
@group(0) @binding(3) var<storage, read> backward_dy: array<f32>;
@group(0) @binding(4) var<storage, read> backward_stats: array<f32>;
@group(0) @binding(5) var<storage, read> backward_sums: array<f32>;
@group(0) @binding(6) var<storage, read> backward_weights: array<f32>;
@group(0) @binding(7) var<storage, read_write> backward_dx: array<f32>;
@group(0) @binding(8) var<storage, read> backward_args: StepArgs;

@compute @workgroup_size(64)
fn batch_norm_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = backward_params;
    let size = p.pixels * p.c;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.images * size {
        return;
    }
    let r = i / (p.images * size);
    let image = i / size % p.images;
    if image < p.data_images && image >= backward_args.n_valid {
        backward_dx[i] = 0.0;
        return;
    }
    let part = select(0u, 1u, image >= p.data_images);
    let channel = i % p.c;
    let s = (r * 2u + part) * 2u * p.c + channel;
    let inverse_sd = backward_stats[s + p.c];
    let normal = (backward_x[i] - backward_stats[s]) * inverse_sd;
    let d = backward_dy[i] * activation_slope(p.activation, backward_y[i]);
    let gamma = backward_weights[r * p.weights_stride + p.gamma + channel];
    backward_dx[i] = gamma * inverse_sd * (d - backward_sums[s] - normal * backward_sums[s + p.c]);
}

struct BatchNormPull {
    replicas: u32,
    images: u32,
    data_images: u32,
    pixels: u32,
    c: u32,
    gamma: u32,
    weights_stride: u32,
    has_other: u32,
}
@group(0) @binding(0) var<uniform> pull_params: BatchNormPull;
@group(0) @binding(1) var<storage, read> pull_x: array<f32>;
@group(0) @binding(2) var<storage, read> pull_d: array<f32>;
@group(0) @binding(3) var<storage, read> pull_stats: array<f32>;
@group(0) @binding(4) var<storage, read> pull_sums: array<f32>;
@group(0) @binding(5) var<storage, read> pull_weights: array<f32>;
@group(0) @binding(6) var<storage, read> pull_other: array<f32>;
@group(0) @binding(7) var<storage, read_write> pull_dx: array<f32>;
@group(0) @binding(8) var<storage, read> pull_args: StepArgs;

@compute @workgroup_size(64)
fn batch_norm_pull(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = pull_params;
    let size = p.pixels * p.c;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.images * size {
        return;
    }
    let r = i / (p.images * size);
    let image = i / size % p.images;
    var dx = 0.0;
    if image < pull_args.n_valid || image >= p.data_images {
        let part = select(0u, 1u, image >= p.data_images);
        let channel = i % p.c;
        let s = (r * 2u + part) * 2u * p.c + channel;
        let inverse_sd = pull_stats[s + p.c];
        let normal = (pull_x[i] - pull_stats[s]) * inverse_sd;
        let gamma = pull_weights[r * p.weights_stride + p.gamma + channel];
        dx = gamma * inverse_sd * (pull_d[i] - pull_sums[s] - normal * pull_sums[s + p.c]);
    }
    if p.has_other == 1u {
        dx += pull_other[i];
    }
    pull_dx[i] = dx;
}

struct Add {
    count: u32,
}
@group(0) @binding(0) var<uniform> add_params: Add;
@group(0) @binding(1) var<storage, read> add_a: array<f32>;
@group(0) @binding(2) var<storage, read> add_b: array<f32>;
@group(0) @binding(3) var<storage, read_write> add_y: array<f32>;

@compute @workgroup_size(64)
fn add(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(group, groups, lane);
    if i < add_params.count {
        add_y[i] = add_a[i] + add_b[i];
    }
}
