// needs: index, math, step, regularizer
// Column moments for the "_all" regularizers. Twin: src/ops/regularizer.rs.

struct ColumnMoments {
    replicas: u32,
    rows: u32,
    data_rows: u32,
    k: u32,
    sigma_link: u32,
}
@group(0) @binding(0) var<uniform> moments_params: ColumnMoments;
@group(0) @binding(1) var<storage, read> moments_outputs: array<f32>;
@group(0) @binding(2) var<storage, read_write> moments_moments: array<f32>;
@group(0) @binding(3) var<storage, read> moments_args: StepArgs;

@compute @workgroup_size(64)
fn column_moments(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = moments_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * 2u * p.k {
        return;
    }
    let r = i / (2u * p.k);
    let part = i / p.k % 2u;
    let c = i % p.k;
    let first = select(p.data_rows, 0u, part == 0u);
    let last = select(p.rows, moments_args.n_valid, part == 0u);
    var sum = vec3<f32>();
    for (var b = first; b < last; b++) {
        let at = (r * p.rows + b) * 2u * p.k + c;
        let mu = moments_outputs[at];
        let sd = sigma(p.sigma_link, moments_outputs[at + p.k]).x;
        sum += vec3<f32>(mu, mu * mu, sd * sd);
    }
    let mean = sum / f32(max(last - first, 1u));
    let to = (r * 2u + part) * 3u * p.k + c;
    moments_moments[to] = mean.x;
    moments_moments[to + p.k] = mean.y;
    moments_moments[to + 2u * p.k] = mean.z;
}

struct WeighedMoments {
    replicas: u32,
    rows: u32,
    data_rows: u32,
    k: u32,
    sigma_link: u32,
    share: u32,
}
@group(0) @binding(0) var<uniform> wm_params: WeighedMoments;
@group(0) @binding(1) var<storage, read> wm_outputs: array<f32>;
@group(0) @binding(2) var<storage, read> wm_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> wm_moments: array<f32>;
@group(0) @binding(4) var<storage, read> wm_args: StepArgs;

@compute @workgroup_size(64)
fn weighed_moments(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = wm_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * 2u * p.k {
        return;
    }
    let r = i / (2u * p.k);
    let part = i / p.k % 2u;
    let c = i % p.k;
    let first = select(p.data_rows, 0u, part == 0u);
    let last = select(p.rows, wm_args.n_valid, part == 0u);
    var sum = vec3<f32>();
    var total = 0.0;
    for (var b = first; b < last; b++) {
        let at = (r * p.rows + b) * 2u * p.k + c;
        let mu = wm_outputs[at];
        let sd = sigma(p.sigma_link, wm_outputs[at + p.k]).x;
        var w = 1.0;
        if part == 0u {
            w = wm_weights[r / p.share * p.data_rows + b];
        }
        sum += w * vec3<f32>(mu, mu * mu, sd * sd);
        total += w;
    }
    let mean = sum / select(1.0, total, total > 0.0);
    let to = (r * 2u + part) * 3u * p.k + c;
    wm_moments[to] = mean.x;
    wm_moments[to + p.k] = mean.y;
    wm_moments[to + 2u * p.k] = mean.z;
}
