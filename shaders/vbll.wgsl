// needs: index, math, activation, step, reduce
// Variational Bayesian last layer and its loss. Twin: src/ops/vbll.rs. A thread serves four rows where the weights' exponentials
// would otherwise be computed once a row.

const LIKELIHOOD_GAUSSIAN: u32 = 1u;

struct VbllForward {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    k: u32,
    mean: u32,
    log_scale: u32,
    log_noise: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> forward_params: VbllForward;
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;

@compute @workgroup_size(64)
fn vbll_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let quads = div_ceil(p.rows, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * quads * p.k {
        return;
    }
    let r = i / (quads * p.k);
    let row = i / p.k % quads * 4u;
    let c = i % p.k;
    // Rows past the end load the last one again and store nothing.
    let rows = min(row + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.rows - 1u));
    let x = r / p.share * p.rows * p.n_in + rows * p.n_in;
    let w = r * p.stride;
    var m = vec4<f32>();
    var v = vec4<f32>();
    for (var j = 0u; j < p.n_in; j++) {
        let f = vec4<f32>(forward_x[x.x + j], forward_x[x.y + j], forward_x[x.z + j], forward_x[x.w + j]);
        let log_scale = forward_weights[w + p.log_scale + j * p.k + c];
        m += f * forward_weights[w + p.mean + j * p.k + c];
        v += f * f * exp(log_scale + log_scale);
    }
    let noise = forward_weights[w + p.log_noise + c];
    for (var q = 0u; q < min(4u, p.rows - row); q++) {
        let y = (r * p.rows + row + q) * 3u * p.k + c;
        forward_y[y] = m[q];
        forward_y[y + p.k] = v[q];
        forward_y[y + 2u * p.k] = noise;
    }
}

struct VbllBackwardData {
    replicas: u32,
    rows: u32,
    n_in: u32,
    k: u32,
    mean: u32,
    log_scale: u32,
    stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> data_params: VbllBackwardData;
@group(0) @binding(1) var<storage, read> data_x: array<f32>;
@group(0) @binding(2) var<storage, read> data_dy: array<f32>;
@group(0) @binding(3) var<storage, read> data_weights: array<f32>;
@group(0) @binding(4) var<storage, read> data_saved: array<f32>;
@group(0) @binding(5) var<storage, read_write> data_dx: array<f32>;

@compute @workgroup_size(64)
fn vbll_backward_data(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    let quads = div_ceil(p.rows, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * quads * p.n_in {
        return;
    }
    let r = i / (quads * p.n_in);
    let row = i / p.n_in % quads * 4u;
    let j = i % p.n_in;
    let rows = min(row + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.rows - 1u));
    let dy = (r * p.rows + rows) * 3u * p.k;
    let w = r * p.stride + j * p.k;
    var dm = vec4<f32>();
    var dv = vec4<f32>();
    for (var c = 0u; c < p.k; c++) {
        let log_scale = data_weights[w + p.log_scale + c];
        let to_m = vec4<f32>(data_dy[dy.x + c], data_dy[dy.y + c], data_dy[dy.z + c], data_dy[dy.w + c]);
        let at = dy + p.k + c;
        let to_v = vec4<f32>(data_dy[at.x], data_dy[at.y], data_dy[at.z], data_dy[at.w]);
        dm += to_m * data_weights[w + p.mean + c];
        dv += to_v * exp(log_scale + log_scale);
    }
    for (var q = 0u; q < min(4u, p.rows - row); q++) {
        let at = (r * p.rows + row + q) * p.n_in + j;
        var d = dm[q] + 2.0 * data_x[at] * dv[q];
        // Without an activation nothing was saved.
        if p.activation != 0u {
            d *= activation_slope(p.activation, data_saved[at]);
        }
        data_dx[at] = d;
    }
}

struct VbllBackwardWeight {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    k: u32,
    mean: u32,
    log_scale: u32,
    log_noise: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> weight_params: VbllBackwardWeight;
@group(0) @binding(1) var<storage, read> weight_x: array<f32>;
@group(0) @binding(2) var<storage, read> weight_dy: array<f32>;
@group(0) @binding(3) var<storage, read> weight_weights: array<f32>;
@group(0) @binding(4) var<storage, read_write> weight_grad: array<f32>;

@compute @workgroup_size(64)
fn vbll_backward_weight(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    let i = flat_index(group, groups, lane);
    // One row more than there are inputs: the noise.
    let size = (p.n_in + 1u) * p.k;
    if i >= p.replicas * size {
        return;
    }
    let r = i / size;
    let j = i / p.k % (p.n_in + 1u);
    let c = i % p.k;
    let w = r * p.stride;
    let dy = r * p.rows * 3u * p.k + c;
    if j == p.n_in {
        var sum = 0.0;
        for (var b = 0u; b < p.rows; b++) {
            sum += weight_dy[dy + (3u * b + 2u) * p.k];
        }
        weight_grad[w + p.log_noise + c] = sum;
        return;
    }
    let x = r / p.share * p.rows * p.n_in + j;
    var dm = 0.0;
    var dv = 0.0;
    for (var b = 0u; b < p.rows; b++) {
        let f = weight_x[x + b * p.n_in];
        dm += f * weight_dy[dy + 3u * b * p.k];
        dv += f * f * weight_dy[dy + (3u * b + 1u) * p.k];
    }
    let at = w + j * p.k + c;
    let log_scale = weight_weights[at + p.log_scale];
    weight_grad[at + p.mean] = dm;
    weight_grad[at + p.log_scale] = dv * (2.0 * exp(log_scale + log_scale));
}

struct VbllHead {
    replicas: u32,
    rows: u32,
    k: u32,
    share: u32,
    likelihood: u32,
}
@group(0) @binding(0) var<uniform> head_params: VbllHead;
@group(0) @binding(1) var<storage, read> head_y: array<f32>;
@group(0) @binding(2) var<storage, read> head_labels: array<f32>;
@group(0) @binding(3) var<storage, read_write> head_terms: array<f32>;
@group(0) @binding(4) var<storage, read_write> head_dy: array<f32>;
@group(0) @binding(5) var<storage, read> head_args: StepArgs;

// m + (v + sn^2) / 2 of class c.
fn raised_logit(y: u32, c: u32) -> f32 {
    let k = head_params.k;
    let noise = head_y[y + 2u * k + c];
    return head_y[y + c] + 0.5 * (head_y[y + k + c] + exp(noise + noise));
}

@compute @workgroup_size(64)
fn vbll_head(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = head_params;
    let n_valid = head_args.n_valid;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows {
        return;
    }
    let b = i % p.rows;
    let y = i * 3u * p.k;
    let weight = 1.0 / f32(n_valid);
    var loss = 0.0;
    if b >= n_valid {
        for (var c = 0u; c < 3u * p.k; c++) {
            head_dy[y + c] = 0.0;
        }
    } else {
        let label = head_labels[i / p.rows / p.share * p.rows + b];
        if p.likelihood == LIKELIHOOD_GAUSSIAN {
            loss = gaussian_bound(y, label, weight);
        } else {
            loss = softmax_bound(y, u32(label), weight);
        }
    }
    head_terms[i * 3u] = loss;
    head_terms[i * 3u + 1u] = 0.0;
    head_terms[i * 3u + 2u] = 0.0;
}

fn softmax_bound(y: u32, label: u32, weight: f32) -> f32 {
    let k = head_params.k;
    var top = raised_logit(y, 0u);
    for (var c = 1u; c < k; c++) {
        top = at_least(top, raised_logit(y, c));
    }
    var sum = 0.0;
    // Picked by comparison: a label is data, and must not address memory.
    var chosen = 0.0;
    for (var c = 0u; c < k; c++) {
        sum += exp(raised_logit(y, c) - top);
        chosen = select(chosen, head_y[y + c], c == label);
    }
    for (var c = 0u; c < k; c++) {
        let share = exp(raised_logit(y, c) - top) / sum;
        let noise = head_y[y + 2u * k + c];
        head_dy[y + c] = weight * (share - select(0.0, 1.0, c == label));
        head_dy[y + k + c] = weight * 0.5 * share;
        head_dy[y + 2u * k + c] = weight * share * exp(noise + noise);
    }
    return log(sum) + top - chosen;
}

fn gaussian_bound(y: u32, t: f32, weight: f32) -> f32 {
    let noise = head_y[y + 2u];
    let inverse = exp(-(noise + noise));
    let e = t - head_y[y];
    let q = (e * e + head_y[y + 1u]) * inverse;
    head_dy[y] = -weight * e * inverse;
    head_dy[y + 1u] = weight * 0.5 * inverse;
    head_dy[y + 2u] = weight * (1.0 - q);
    return 0.5 * q + noise + HALF_LOG_TAU;
}

struct VbllRegularizer {
    replicas: u32,
    n_in: u32,
    k: u32,
    mean: u32,
    log_scale: u32,
    log_noise: u32,
    stride: u32,
    n_rows: u32,
}
@group(0) @binding(0) var<uniform> reg_params: VbllRegularizer;
@group(0) @binding(1) var<storage, read> reg_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> reg_grad: array<f32>;
@group(0) @binding(3) var<storage, read_write> reg_value: array<f32>;
@group(0) @binding(4) var<storage, read> reg_args: StepArgs;

// The place in the flat vector, what it adds to the value, and the value's slope, of number x of a layer: means, scales, noise.
struct RegNumber {
    at: u32,
    value: f32,
    slope: f32,
}

fn reg_number(r: u32, x: u32) -> RegNumber {
    let p = reg_params;
    let n = p.n_in * p.k;
    var at = r * p.stride;
    if x < n {
        at += p.mean + x;
        let w = reg_weights[at];
        return RegNumber(at, 0.5 * w * w, w);
    }
    if x < 2u * n {
        at += p.log_scale + x - n;
        let w = reg_weights[at];
        let variance = exp(w + w);
        return RegNumber(at, 0.5 * (variance - (w + w)), variance - 1.0);
    }
    at += p.log_noise + x - 2u * n;
    let w = reg_weights[at];
    let inverse = exp(-(w + w));
    // 2 dof
    let dof2 = f32(p.k) + 2.0;
    return RegNumber(at, dof2 * w + 0.5 * inverse, dof2 - inverse);
}

// The first workgroup of a replica sums the value, a thread of the others serves a number of the gradient.
@compute @workgroup_size(64)
fn vbll_regularizer(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = reg_params;
    let eta = reg_args.eta;
    let numbers = (2u * p.n_in + 1u) * p.k;
    let parts = 1u + div_ceil(numbers, GROUP_SIZE);
    let flat = flat_group(group, groups);
    let r = flat / parts;
    if r >= p.replicas {
        return;
    }
    let part = flat % parts;
    if part == 0u {
        var sum = 0.0;
        for (var x = lane; x < numbers; x += GROUP_SIZE) {
            sum += reg_number(r, x).value;
        }
        sum = tree_sum(lane, vec4<f32>(sum, 0.0, 0.0, 0.0)).x;
        if lane == 0u {
            reg_value[r] = sum;
        }
        return;
    }
    let x = (part - 1u) * GROUP_SIZE + lane;
    if x < numbers {
        let number = reg_number(r, x);
        reg_grad[number.at] += eta / f32(p.n_rows) * number.slope;
    }
}
