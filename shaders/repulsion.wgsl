// needs: index, math, step, reduce
// Repulsive ensembles: distances of all pairs, kernel weights, what a particle's gradient gets. Twin: src/ops/repulsion.rs.

const BANDWIDTH_MIN: f32 = 1e-30;

// Numbers of a particle that count.
fn compared(count: u32, cols: u32, n_valid: u32) -> u32 {
    return select(count, n_valid * cols, cols > 0u);
}

struct PairDistances {
    replicas: u32,
    group: u32,
    count: u32,
    cols: u32,
}
@group(0) @binding(0) var<uniform> pair_params: PairDistances;
@group(0) @binding(1) var<storage, read> pair_v: array<f32>;
@group(0) @binding(2) var<storage, read_write> out_distances: array<f32>;
@group(0) @binding(3) var<storage, read> pair_args: StepArgs;

// One workgroup a pair; both of its places are written by the one with i >= j.
@compute @workgroup_size(64)
fn pair_distances(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = pair_params;
    let pair = flat_group(group, groups);
    let i = pair / p.group;
    let first = i / p.group * p.group;
    let j = first + pair % p.group;
    if i >= p.replicas || i < j {
        return;
    }
    let n = select(compared(p.count, p.cols, pair_args.n_valid), 0u, i == j);
    var sum = 0.0;
    for (var x = lane; x < n; x += GROUP_SIZE) {
        let d = pair_v[i * p.count + x] - pair_v[j * p.count + x];
        sum += d * d;
    }
    sum = tree_sum(lane, vec4<f32>(sum, 0.0, 0.0, 0.0)).x;
    if lane == 0u {
        out_distances[i * p.group + j - first] = sum;
        out_distances[j * p.group + i - first] = sum;
    }
}

struct KernelWeights {
    replicas: u32,
    group: u32,
}
@group(0) @binding(0) var<uniform> kernel_params: KernelWeights;
@group(0) @binding(1) var<storage, read> kernel_distances: array<f32>;
@group(0) @binding(2) var<storage, read_write> kernel_kernel: array<f32>;

@compute @workgroup_size(64)
fn kernel_weights(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let g = kernel_params.group;
    // First replica of the group, and its first distance.
    let first = flat_group(group, groups) * g;
    if first >= kernel_params.replicas {
        return;
    }
    let n = g * g;
    let start = first * g;
    // The two middle distances without sorting: those that are not negative stand in the order of their bits, and a bit of the
    // one with a rank is set if no more than that many lie below what it would be then.
    let ranks = vec2<f32>(f32((n - 1u) / 2u), f32(n / 2u));
    var bits = vec2<u32>();
    for (var round = 0u; round < 32u; round++) {
        let candidate = bits | vec2<u32>(0x80000000u >> round);
        var below = vec2<f32>();
        for (var a = lane; a < n; a += GROUP_SIZE) {
            below += select(vec2<f32>(), vec2<f32>(1.0), vec2<u32>(bitcast<u32>(kernel_distances[start + a])) < candidate);
        }
        bits = select(bits, candidate, tree_sum(lane, vec4<f32>(below, 0.0, 0.0)).xy <= ranks);
    }
    let middle = bitcast<vec2<f32>>(bits);
    let h = 0.5 * (middle.x + middle.y) / (2.0 * log(f32(g) + 1.0));
    for (var i = first + lane; i < first + g; i += GROUP_SIZE) {
        let row = i * (g + 1u);
        if h < BANDWIDTH_MIN {
            for (var j = 0u; j < g; j++) {
                kernel_kernel[row + j] = 0.0;
            }
            kernel_kernel[row + g] = log(f32(g));
        } else {
            var sum = 0.0;
            for (var j = 0u; j < g; j++) {
                let k = exp(-kernel_distances[i * g + j] / (2.0 * h));
                kernel_kernel[row + j] = k;
                sum += k;
            }
            for (var j = 0u; j < g; j++) {
                kernel_kernel[row + j] = kernel_kernel[row + j] / (h * sum);
            }
            kernel_kernel[row + g] = log(sum);
        }
    }
}

struct Repulsion {
    replicas: u32,
    group: u32,
    count: u32,
    cols: u32,
    n_rows: u32,
    prior_variance: f32,
}
@group(0) @binding(0) var<uniform> push_params: Repulsion;
@group(0) @binding(1) var<storage, read> push_v: array<f32>;
@group(0) @binding(2) var<storage, read> push_kernel: array<f32>;
@group(0) @binding(3) var<storage, read_write> push_grad: array<f32>;
@group(0) @binding(4) var<storage, read_write> push_value: array<f32>;
@group(0) @binding(5) var<storage, read> push_args: StepArgs;

// The first workgroup of a replica sums its squares for the value, a thread of the others serves a number of the gradient.
@compute @workgroup_size(64)
fn repulsion(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = push_params;
    let n_valid = push_args.n_valid;
    let eta = push_args.eta;
    let parts = 1u + div_ceil(p.count, GROUP_SIZE);
    let flat = flat_group(group, groups);
    let i = flat / parts;
    if i >= p.replicas {
        return;
    }
    let part = flat % parts;
    let n = compared(p.count, p.cols, n_valid);
    let s = 1.0 / f32(select(p.n_rows, n_valid, p.cols > 0u));
    let row = i * (p.group + 1u);
    if part == 0u {
        var squares = 0.0;
        for (var x = lane; x < n; x += GROUP_SIZE) {
            let v = push_v[i * p.count + x];
            squares += v * v;
        }
        squares = tree_sum(lane, vec4<f32>(squares, 0.0, 0.0, 0.0)).x;
        if lane == 0u {
            let log_sum = push_kernel[row + p.group];
            push_value[i] = f32(p.n_rows) * s * (squares / (2.0 * p.prior_variance) + log_sum);
        }
        return;
    }
    let x = (part - 1u) * GROUP_SIZE + lane;
    if x >= n {
        return;
    }
    let own = push_v[i * p.count + x];
    var pull = own / p.prior_variance;
    let first = i / p.group * p.group;
    for (var j = 0u; j < p.group; j++) {
        pull -= push_kernel[row + j] * (own - push_v[(first + j) * p.count + x]);
    }
    push_grad[i * p.count + x] += eta * s * pull;
}
