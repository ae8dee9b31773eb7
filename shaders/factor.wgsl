// needs: index, math, activation
// A trained factor for each number of a row: a x, or x + a (act(x) - x) where there is an activation.
// Twin: src/ops/factor.rs.

struct FactorForward {
    replicas: u32,
    share: u32,
    rows: u32,
    n: u32,
    weight: u32,
    stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> forward_params: FactorForward;
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> forward_y: array<f32>;

@compute @workgroup_size(64)
fn factor_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let i = flat_index(group, groups, lane);
    let len = p.rows * p.n;
    if i >= p.replicas * len {
        return;
    }
    let r = i / len;
    let x = forward_x[r / p.share * len + i % len];
    let a = forward_weights[r * p.stride + p.weight + i % p.n];
    if p.activation == 0u {
        forward_y[i] = a * x;
    } else {
        forward_y[i] = x + a * (activate(p.activation, x) - x);
    }
}

struct FactorBackwardData {
    replicas: u32,
    rows: u32,
    n: u32,
    weight: u32,
    stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> data_params: FactorBackwardData;
@group(0) @binding(1) var<storage, read> data_x: array<f32>;
@group(0) @binding(2) var<storage, read> data_dy: array<f32>;
@group(0) @binding(3) var<storage, read> data_weights: array<f32>;
@group(0) @binding(4) var<storage, read_write> data_dx: array<f32>;

@compute @workgroup_size(64)
fn factor_backward_data(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    let i = flat_index(group, groups, lane);
    let len = p.rows * p.n;
    if i >= p.replicas * len {
        return;
    }
    let a = data_weights[i / len * p.stride + p.weight + i % p.n];
    if p.activation == 0u {
        data_dx[i] = data_dy[i] * a;
    } else {
        data_dx[i] = data_dy[i] * (1.0 + a * (activation_slope(p.activation, data_x[i]) - 1.0));
    }
}

struct FactorBackwardWeight {
    replicas: u32,
    share: u32,
    rows: u32,
    n: u32,
    weight: u32,
    stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> weight_params: FactorBackwardWeight;
@group(0) @binding(1) var<storage, read> weight_x: array<f32>;
@group(0) @binding(2) var<storage, read> weight_dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> weight_grad: array<f32>;

const COLUMNS: u32 = 16u;
var<workgroup> parts: array<f32, 64>;

// A workgroup has 16 columns of one replica: a lane has one of them and every fourth row.
@compute @workgroup_size(64)
fn factor_backward_weight(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    let i = flat_group(group, groups);
    let blocks = div_ceil(p.n, COLUMNS);
    if i >= p.replicas * blocks {
        return;
    }
    let r = i / blocks;
    let column = i % blocks * COLUMNS + lane % COLUMNS;
    // A lane past the last column sums it again and stores nothing.
    let inside = min(column, p.n - 1u);
    let x = r / p.share * p.rows * p.n + inside;
    let dy = r * p.rows * p.n + inside;
    var sum = 0.0;
    for (var row = lane / COLUMNS; row < p.rows; row += 4u) {
        let value = weight_x[x + row * p.n];
        var by_factor = value;
        if p.activation != 0u {
            by_factor = activate(p.activation, value) - value;
        }
        sum += by_factor * weight_dy[dy + row * p.n];
    }
    parts[lane] = sum;
    workgroupBarrier();
    if lane < COLUMNS && column < p.n {
        for (var part = lane + COLUMNS; part < 64u; part += COLUMNS) {
            sum += parts[part];
        }
        weight_grad[r * p.stride + p.weight + column] = sum;
    }
}
