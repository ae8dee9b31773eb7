// needs: index, math, step
// The scale of a loss whose gradients are stored in 16 bits. Twin: src/ops/scaling.rs.

const SCALE_WORDS: u32 = 2u;
const SUM_WORDS: u32 = 8u;
const SUM_BAD_STEP: u32 = 4u;
const SUM_BAD_TERM: u32 = 5u;
// log2 of the scale at the start and at most.
const FIRST: i32 = 16;
const MOST: f32 = 24.0;
const GRADIENT_TERM: f32 = 4.0;

// 2^exponent of a normal number, without rounding.
fn power_of_two(exponent: i32) -> f32 {
    return bitcast<f32>(u32(exponent + 127) << 23u);
}

struct ScaleUp {
    replicas: u32,
    samples: u32,
    count: u32,
}
@group(0) @binding(0) var<uniform> up_params: ScaleUp;
@group(0) @binding(1) var<storage, read> up_v: array<f32>;
@group(0) @binding(2) var<storage, read> up_state: array<f32>;
@group(0) @binding(3) var<storage, read_write> up_out: array<f32>;

@compute @workgroup_size(64)
fn scale_up(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = up_params;
    let i = flat_index(group, groups, lane);
    if i < p.replicas * p.count {
        let member = i / (p.count * p.samples);
        up_out[i] = up_v[i] * power_of_two(FIRST + i32(up_state[member * SCALE_WORDS]));
    }
}

struct ScaleDown {
    replicas: u32,
    samples: u32,
    count: u32,
}
@group(0) @binding(0) var<uniform> down_params: ScaleDown;
@group(0) @binding(1) var<storage, read> down_state: array<f32>;
@group(0) @binding(2) var<storage, read_write> down_grad: array<f32>;

@compute @workgroup_size(64)
fn scale_down(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = down_params;
    let i = flat_index(group, groups, lane);
    if i < p.replicas * p.count {
        let member = i / (p.count * p.samples);
        down_grad[i] *= power_of_two(-FIRST - i32(down_state[member * SCALE_WORDS]));
    }
}

struct ScaleUpdate {
    members: u32,
    patience: u32,
}
@group(0) @binding(0) var<uniform> update_params: ScaleUpdate;
@group(0) @binding(1) var<storage, read> update_norm: array<f32>;
@group(0) @binding(2) var<storage, read_write> update_state: array<f32>;
@group(0) @binding(3) var<storage, read_write> update_sums: array<f32>;
@group(0) @binding(4) var<storage, read> update_args: StepArgs;

@compute @workgroup_size(64)
fn scale_update(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = update_params;
    let e = flat_index(group, groups, lane);
    if e >= p.members {
        return;
    }
    let above = update_state[e * SCALE_WORDS];
    let sound = update_state[e * SCALE_WORDS + 1u];
    if is_finite(update_norm[e]) {
        let doubles = sound + 1.0 >= f32(p.patience);
        update_state[e * SCALE_WORDS] = select(above, min(above + 1.0, MOST - f32(FIRST)), doubles);
        update_state[e * SCALE_WORDS + 1u] = select(sound + 1.0, 0.0, doubles);
        return;
    }
    let sums = e * SUM_WORDS;
    if above <= -f32(FIRST) && update_sums[sums + SUM_BAD_STEP] == 0.0 {
        update_sums[sums + SUM_BAD_STEP] = f32(update_args.step) + 1.0;
        update_sums[sums + SUM_BAD_TERM] = GRADIENT_TERM;
    }
    update_state[e * SCALE_WORDS] = max(above - 1.0, -f32(FIRST));
    update_state[e * SCALE_WORDS + 1u] = 0.0;
}
