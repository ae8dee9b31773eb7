// needs: index, math, rng, step, regularizer, reduce
// Weight-space variational inference; a thread serves one Philox block, four weights. Twin: src/ops/vi.rs.
// The step's arguments are read before the first branch: there a software adapter loads them once for all lanes.

struct ViSample {
    members: u32,
    samples: u32,
    count: u32,
    first_replica: u32,
    stream: u32,
}
@group(0) @binding(0) var<uniform> sample_params: ViSample;
@group(0) @binding(1) var<storage, read> sample_q: array<f32>;
@group(0) @binding(2) var<storage, read_write> sample_weights: array<f32>;
@group(0) @binding(3) var<storage, read> sample_args: StepArgs;

@compute @workgroup_size(64)
fn vi_sample(
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
    let draw = Draw(args.seed, p.stream, args.step, p.first_replica + replica);
    let eps = draw_normals(draw, block);
    let q = replica / p.samples * 2u * p.count;
    for (var j = 0u; j < 4u; j++) {
        let at = block * 4u + j;
        if at < p.count {
            let sd = sigma(SIGMA_SOFTPLUS, sample_q[q + p.count + at]).x;
            sample_weights[replica * p.count + at] = sample_q[q + at] + sd * eps[j];
        }
    }
}

struct ViRegularizer {
    members: u32,
    count: u32,
    first: u32,
    length: u32,
    group: u32,
    groups: u32,
    regularizer: u32,
    accumulate: u32,
}
@group(0) @binding(0) var<uniform> reg_params: ViRegularizer;
@group(0) @binding(1) var<storage, read> reg_q: array<f32>;
@group(0) @binding(2) var<storage, read_write> reg_value: array<f32>;
@group(0) @binding(3) var<storage, read_write> reg_energy: array<f32>;
@group(0) @binding(4) var<storage, read> reg_args: StepArgs;

@compute @workgroup_size(64)
fn vi_regularizer(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = reg_params;
    let args = reg_args;
    let e = flat_group(group, groups);
    if e >= p.members {
        return;
    }
    let prior = args.prior;
    let q = e * 2u * p.count;
    var s = 0.0;
    var v = 0.0;
    for (var i = p.first + lane; i < p.first + p.length; i += GROUP_SIZE) {
        let mu = reg_q[q + i];
        let sd = sigma(SIGMA_SOFTPLUS, reg_q[q + p.count + i]).x;
        s += mu * mu + sd * sd;
        if p.regularizer == REG_EB {
            v -= log(sd);
        } else {
            v += separable(p.regularizer, prior, mu, sd * sd).x;
        }
    }
    let sum = tree_sum(lane, vec4<f32>(s, v, 0.0, 0.0));
    if lane != 0u {
        return;
    }
    let dims = f32(p.length);
    var value = sum.y + dims * prior.constant;
    if p.regularizer == REG_EB {
        value += 0.5 * eb_energy(prior, dims, sum.x).x;
    }
    if p.accumulate == 1u {
        value += reg_value[e];
    }
    reg_value[e] = value;
    reg_energy[e * p.groups + p.group] = sum.x;
}

struct ViGradient {
    members: u32,
    samples: u32,
    count: u32,
    first: u32,
    length: u32,
    group: u32,
    groups: u32,
    regularizer: u32,
    first_replica: u32,
    scale: f32,
}
@group(0) @binding(0) var<uniform> gradient_params: ViGradient;
@group(0) @binding(1) var<storage, read> gradient_q: array<f32>;
@group(0) @binding(2) var<storage, read> gradient_dweights: array<f32>;
@group(0) @binding(3) var<storage, read> gradient_energy: array<f32>;
@group(0) @binding(4) var<storage, read_write> gradient_dq: array<f32>;
@group(0) @binding(5) var<storage, read> gradient_args: StepArgs;

@compute @workgroup_size(64)
fn vi_gradient(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = gradient_params;
    let args = gradient_args;
    let prior = args.prior;
    let last = p.first + p.length;
    // The group may begin and end inside a block, so one block more than its length fills.
    let blocks = div_ceil(p.length, 4u) + 1u;
    let i = flat_index(group, groups, lane);
    if i >= p.members * blocks {
        return;
    }
    let e = i / blocks;
    let block = p.first / 4u + i % blocks;
    if block * 4u >= last {
        return;
    }
    // A block's weights outside the group are read as its nearest member and never stored.
    let at = clamp(block * 4u + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.first), vec4<u32>(last - 1u));
    var dmu = vec4<f32>();
    var dsigma = vec4<f32>();
    for (var s = 0u; s < p.samples; s++) {
        let replica = e * p.samples + s;
        let draw = Draw(args.seed, STREAM_WEIGHTS, args.step, p.first_replica + replica);
        let dw = at + replica * p.count;
        let g = vec4<f32>(gradient_dweights[dw.x], gradient_dweights[dw.y], gradient_dweights[dw.z], gradient_dweights[dw.w]);
        dmu += g;
        dsigma += g * draw_normals(draw, block);
    }
    var df = 0.0;
    if p.regularizer == REG_EB {
        df = eb_energy(prior, f32(p.length), gradient_energy[e * p.groups + p.group]).y;
    }
    let share = 1.0 / f32(p.samples);
    let scale = args.eta * p.scale;
    let q = e * 2u * p.count;
    for (var j = 0u; j < 4u; j++) {
        let w = block * 4u + j;
        if w >= p.first && w < last {
            let mu = gradient_q[q + w];
            let sd = sigma(SIGMA_SOFTPLUS, gradient_q[q + p.count + w]);
            let reg = reg_term(p.regularizer, prior, mu, sd.x * sd.x, vec3<f32>(), df);
            gradient_dq[q + w] = dmu[j] * share + scale * reg.y;
            gradient_dq[q + p.count + w] = (dsigma[j] * share + scale * 2.0 * sd.x * reg.z) * sd.y;
        }
    }
}
