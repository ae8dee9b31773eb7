// needs: index, math, step
// Optimizers over flat weight vectors. Twin: src/ops/optimizer.rs.
// The step's arguments are read before the first branch: there a software adapter loads them once for all lanes.

// What clipping leaves of the gradient: min(1, clip / norm).
fn clip_scale(clip_norm: f32, sum_squares: f32) -> f32 {
    return at_most(clip_norm / sqrt(sum_squares), 1.0);
}

// Smaller moments than this are 0, as in the twin.
fn settled(moment: f32, least: f32) -> f32 {
    return select(moment, 0.0, abs(moment) < least);
}

struct Adam {
    replicas: u32,
    count: u32,
    beta1: f32,
    beta2: f32,
    eps: f32,
    only_warm: u32,
    decoupled: u32,
    rated: u32,
    guarded: u32,
}
@group(0) @binding(0) var<uniform> adam_params: Adam;
@group(0) @binding(1) var<storage, read> adam_grad: array<f32>;
@group(0) @binding(2) var<storage, read> adam_norm: array<f32>;
@group(0) @binding(3) var<storage, read> adam_rates: array<f32>;
@group(0) @binding(4) var<storage, read_write> adam_weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> adam_first: array<f32>;
@group(0) @binding(6) var<storage, read_write> adam_second: array<f32>;
@group(0) @binding(7) var<storage, read> adam_args: StepArgs;

@compute @workgroup_size(64)
fn adam(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = adam_params;
    let args = adam_args;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.count || (p.only_warm == 1u && args.warm != 1u) {
        return;
    }
    let member = i / p.count;
    if p.guarded == 1u && !is_finite(adam_norm[member]) {
        return;
    }
    var scale = 1.0;
    if args.clip_norm > 0.0 {
        scale = clip_scale(args.clip_norm, adam_norm[member]);
    }
    var w = adam_weights[i];
    let d = adam_grad[i] * scale + select(args.weight_decay, 0.0, p.decoupled == 1u) * w;
    let m = settled(p.beta1 * adam_first[i] + (1.0 - p.beta1) * d, 1e-30);
    let v = settled(p.beta2 * adam_second[i] + (1.0 - p.beta2) * d * d, 1e-36);
    adam_first[i] = m;
    adam_second[i] = v;
    let root = 1.0 / sqrt(args.bias2);
    var step = args.lr / args.bias1;
    var shrink = args.lr * args.weight_decay;
    if p.rated == 1u {
        let rate = adam_rates[i % p.count];
        step *= rate;
        shrink *= rate;
    }
    if p.decoupled == 1u {
        w -= shrink * w;
    }
    adam_weights[i] = w - step * m / (sqrt(v) * root + p.eps);
}

struct Sgd {
    replicas: u32,
    count: u32,
    momentum: f32,
    rated: u32,
    guarded: u32,
}
@group(0) @binding(0) var<uniform> sgd_params: Sgd;
@group(0) @binding(1) var<storage, read> sgd_grad: array<f32>;
@group(0) @binding(2) var<storage, read> sgd_norm: array<f32>;
@group(0) @binding(3) var<storage, read> sgd_rates: array<f32>;
@group(0) @binding(4) var<storage, read_write> sgd_weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> sgd_velocity: array<f32>;
@group(0) @binding(6) var<storage, read> sgd_args: StepArgs;

@compute @workgroup_size(64)
fn sgd(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = sgd_params;
    let args = sgd_args;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.count || args.warm == 1u {
        return;
    }
    let member = i / p.count;
    if p.guarded == 1u && !is_finite(sgd_norm[member]) {
        return;
    }
    var scale = 1.0;
    if args.clip_norm > 0.0 {
        scale = clip_scale(args.clip_norm, sgd_norm[member]);
    }
    let w = sgd_weights[i];
    let v = p.momentum * sgd_velocity[i] + sgd_grad[i] * scale + args.weight_decay * w;
    sgd_velocity[i] = v;
    var lr = args.lr;
    if p.rated == 1u {
        lr *= sgd_rates[i % p.count];
    }
    sgd_weights[i] = w - lr * v;
}

struct L2Gradient {
    replicas: u32,
    stride: u32,
    first: u32,
    length: u32,
    scale: f32,
}
@group(0) @binding(0) var<uniform> l2_params: L2Gradient;
@group(0) @binding(1) var<storage, read> l2_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> l2_grad: array<f32>;
@group(0) @binding(3) var<storage, read> l2_args: StepArgs;

@compute @workgroup_size(64)
fn l2_gradient(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = l2_params;
    let args = l2_args;
    let i = flat_index(group, groups, lane);
    if i < p.replicas * p.length {
        let at = i / p.length * p.stride + p.first + i % p.length;
        l2_grad[at] += 2.0 * args.eta * p.scale * l2_weights[at];
    }
}
