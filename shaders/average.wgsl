// needs: index, math, rng, step
// Averages of weights along a run and samples around them. Twin: src/ops/average.rs.
// The step's arguments are read before the first branch: there a software adapter loads them once for all lanes.

const VARIANCE_MIN: f32 = 1e-6;

struct SwaCollect {
    replicas: u32,
    count: u32,
}
@group(0) @binding(0) var<uniform> swa_params: SwaCollect;
@group(0) @binding(1) var<storage, read> swa_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> swa_mean: array<f32>;
@group(0) @binding(3) var<storage, read> swa_args: StepArgs;

@compute @workgroup_size(64)
fn swa_collect(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let n = swa_args.collect;
    let i = flat_index(group, groups, lane);
    if i >= swa_params.replicas * swa_params.count || n == 0u {
        return;
    }
    let w = swa_weights[i];
    if n == 1u {
        swa_mean[i] = w;
    } else {
        let mean = swa_mean[i];
        swa_mean[i] = mean + (w - mean) / f32(n);
    }
}

struct FadingMean {
    replicas: u32,
    count: u32,
    share: f32,
}
@group(0) @binding(0) var<uniform> fading_params: FadingMean;
@group(0) @binding(1) var<storage, read> fading_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> fading_average: array<f32>;
@group(0) @binding(3) var<storage, read> fading_args: StepArgs;

@compute @workgroup_size(64)
fn fading_mean(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = fading_args.step;
    let i = flat_index(group, groups, lane);
    if i >= fading_params.replicas * fading_params.count {
        return;
    }
    let w = fading_weights[i];
    if t == 0u {
        fading_average[i] = w;
    } else {
        let c = at_least(9.0 / (10.0 + f32(t)), fading_params.share);
        fading_average[i] = (1.0 - c) * fading_average[i] + c * w;
    }
}

struct SwagCollect {
    replicas: u32,
    count: u32,
    columns: u32,
}
@group(0) @binding(0) var<uniform> swag_params: SwagCollect;
@group(0) @binding(1) var<storage, read> swag_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> swag_mean: array<f32>;
@group(0) @binding(3) var<storage, read_write> swag_variance: array<f32>;
@group(0) @binding(4) var<storage, read_write> swag_deviations: array<f32>;
@group(0) @binding(5) var<storage, read> swag_args: StepArgs;

@compute @workgroup_size(64)
fn swag_collect(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = swag_params;
    let n = swag_args.collect;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.count || n == 0u {
        return;
    }
    let w = swag_weights[i];
    let to = (i / p.count * p.columns + (n - 1u) % p.columns) * p.count + i % p.count;
    if n == 1u {
        swag_mean[i] = w;
        swag_variance[i] = 0.0;
        swag_deviations[to] = 0.0;
        return;
    }
    let mean = swag_mean[i];
    let before = w - mean;
    let moved = mean + before / f32(n);
    let after = w - moved;
    let variance = swag_variance[i];
    swag_mean[i] = moved;
    swag_variance[i] = variance + (before * after - variance) / f32(n);
    swag_deviations[to] = after;
}

struct SwagSample {
    members: u32,
    samples: u32,
    count: u32,
    columns: u32,
    first_replica: u32,
    stream: u32,
}
@group(0) @binding(0) var<uniform> sample_params: SwagSample;
@group(0) @binding(1) var<storage, read> sample_mean: array<f32>;
@group(0) @binding(2) var<storage, read> sample_variance: array<f32>;
@group(0) @binding(3) var<storage, read> sample_deviations: array<f32>;
@group(0) @binding(4) var<storage, read_write> sample_weights: array<f32>;
@group(0) @binding(5) var<storage, read> sample_args: StepArgs;

@compute @workgroup_size(64)
fn swag_sample(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = sample_params;
    let args = sample_args;
    let blocks = div_ceil(p.count, 4u);
    let i = flat_index(group, groups, lane);
    if i >= p.members * p.samples * blocks {
        return;
    }
    let replica = i / blocks;
    let block = i % blocks;
    let e = replica / p.samples;
    let draw = Draw(args.seed, p.stream, args.step, p.first_replica + replica);
    // The last block's weights past the end are read as the last weight and never stored.
    let at = min(block * 4u + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.count - 1u));
    var low = vec4<f32>();
    let filled = min(args.n_samples, p.columns);
    if filled > 1u {
        var drawn = 0xffffffffu;
        var normals = vec4<f32>();
        for (var c = 0u; c < filled; c++) {
            let element = p.count + c;
            if element / 4u != drawn {
                drawn = element / 4u;
                normals = draw_normals(draw, drawn);
            }
            let d = (e * p.columns + c) * p.count + at;
            let column = vec4<f32>(sample_deviations[d.x], sample_deviations[d.y], sample_deviations[d.z], sample_deviations[d.w]);
            low += column * normals[element % 4u];
        }
        low *= 1.0 / sqrt(2.0 * f32(filled - 1u));
    }
    let eps = draw_normals(draw, block);
    for (var j = 0u; j < 4u; j++) {
        let w = block * 4u + j;
        if w < p.count {
            let sd = sqrt(at_least(sample_variance[e * p.count + w], VARIANCE_MIN));
            sample_weights[replica * p.count + w] = low[j] + (sample_mean[e * p.count + w] + sqrt(0.5) * sd * eps[j]);
        }
    }
}

struct RepeatWeights {
    members: u32,
    samples: u32,
    count: u32,
}
@group(0) @binding(0) var<uniform> copy_params: RepeatWeights;
@group(0) @binding(1) var<storage, read> copy_v: array<f32>;
@group(0) @binding(2) var<storage, read_write> copy_weights: array<f32>;

@compute @workgroup_size(64)
fn repeat_weights(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = copy_params;
    let i = flat_index(group, groups, lane);
    if i < p.members * p.samples * p.count {
        let replica = i / p.count;
        copy_weights[i] = copy_v[replica / p.samples * p.count + i % p.count];
    }
}
