// needs: index, math, step, reduce
// The loss of a step and sums of squares, one workgroup an item. Twin: src/ops/reduce.rs.

const SUM_WORDS: u32 = 8u;
const SUM_STEPS: u32 = 3u;
const SUM_BAD_STEP: u32 = 4u;
const SUM_BAD_TERM: u32 = 5u;

struct LossReduce {
    members: u32,
    samples: u32,
    rows: u32,
    data_rows: u32,
    has_extra: u32,
    extra_scale: f32,
}
@group(0) @binding(0) var<uniform> loss_params: LossReduce;
@group(0) @binding(1) var<storage, read> loss_terms: array<f32>;
@group(0) @binding(2) var<storage, read> loss_extra: array<f32>;
@group(0) @binding(3) var<storage, read_write> loss_sums: array<f32>;
@group(0) @binding(4) var<storage, read> loss_args: StepArgs;

@compute @workgroup_size(64)
fn loss_reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = loss_params;
    let e = flat_group(group, groups);
    if e >= p.members {
        return;
    }
    let count = p.samples * p.rows;
    var total = vec3<f32>();
    // Counted apart: under fast math a NaN may not survive the sum, but its bits in the buffer tell.
    var bad = vec3<f32>();
    for (var i = lane; i < count; i += GROUP_SIZE) {
        let at = (e * count + i) * 3u;
        let row = vec3<f32>(loss_terms[at], loss_terms[at + 1u], loss_terms[at + 2u]);
        total += row;
        bad += select(vec3<f32>(1.0), vec3<f32>(), vec3<bool>(is_finite(row.x), is_finite(row.y), is_finite(row.z)));
    }
    total = tree_sum(lane, vec4<f32>(total, 0.0)).xyz;
    bad = tree_sum(lane, vec4<f32>(bad, 0.0)).xyz;
    if lane != 0u {
        return;
    }
    let data = f32(p.samples * loss_args.n_valid);
    let aux = f32(max(p.samples * (p.rows - p.data_rows), 1u));
    total /= vec3<f32>(data, data, aux);
    if p.has_extra == 1u {
        let extra = loss_extra[e];
        total.y += p.extra_scale * extra;
        bad.y += select(1.0, 0.0, is_finite(extra));
    }
    // A quotient of equals may not come out as 1. Without data rows there are auxiliary rows alone.
    let full = loss_args.n_valid == p.data_rows || p.data_rows == 0u;
    let share = select(f32(loss_args.n_valid) / f32(max(p.data_rows, 1u)), 1.0, full);
    let sums = e * SUM_WORDS;
    for (var t = 0u; t < 3u; t++) {
        loss_sums[sums + t] += share * total[t];
        let is_bad = bad[t] > 0.0 || !is_finite(total[t]);
        if is_bad && loss_sums[sums + SUM_BAD_STEP] == 0.0 {
            loss_sums[sums + SUM_BAD_STEP] = f32(loss_args.step) + 1.0;
            loss_sums[sums + SUM_BAD_TERM] = f32(t) + 1.0;
        }
    }
    loss_sums[sums + SUM_STEPS] += share;
}

struct SumSquares {
    replicas: u32,
    stride: u32,
    first: u32,
    length: u32,
}
@group(0) @binding(0) var<uniform> squares_params: SumSquares;
@group(0) @binding(1) var<storage, read> squares_v: array<f32>;
@group(0) @binding(2) var<storage, read_write> squares_sums: array<f32>;

@compute @workgroup_size(64)
fn sum_squares(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = squares_params;
    let r = flat_group(group, groups);
    if r >= p.replicas {
        return;
    }
    var sum = 0.0;
    for (var i = lane; i < p.length; i += GROUP_SIZE) {
        let v = squares_v[r * p.stride + p.first + i];
        sum += v * v;
    }
    sum = tree_sum(lane, vec4<f32>(sum, 0.0, 0.0, 0.0)).x;
    if lane == 0u {
        squares_sums[r] = sum;
    }
}
