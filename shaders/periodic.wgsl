// needs: index, math
// Periodic embedding of numbers: 16 cosines of an input, three numbers of these, and all inputs behind.
// Twin: src/ops/periodic.rs.

const WAVES: u32 = 16u;
const TAU: f32 = 6.283185307179586;
const TURN: f32 = 0.15915494309189535;

struct PeriodicForward {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    embedded: u32,
    frequency: u32,
    phase: u32,
    weight: u32,
    bias: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> forward_params: PeriodicForward;
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(3) var<storage, read> forward_columns: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_y: array<f32>;

@compute @workgroup_size(64)
fn periodic_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows * p.n_in {
        return;
    }
    let j = i % p.n_in;
    let row = i / p.n_in % p.rows;
    let r = i / (p.n_in * p.rows);
    let x = (r / p.share * p.rows + row) * p.n_in;
    let y = (r * p.rows + row) * (3u * p.embedded + p.n_in);
    forward_y[y + 3u * p.embedded + j] = forward_x[x + j];
    if j >= p.embedded {
        return;
    }
    // A column past the row would be a fault of ours; it must not become a read outside.
    let value = forward_x[x + min(u32(forward_columns[j]), p.n_in - 1u)];
    let w = r * p.stride;
    let frequency = w + p.frequency + j * WAVES;
    let phase = w + p.phase + j * WAVES;
    let weight = w + p.weight + 3u * j * WAVES;
    let bias = w + p.bias + 3u * j;
    var v = vec3<f32>(forward_weights[bias], forward_weights[bias + 1u], forward_weights[bias + 2u]);
    for (var h = 0u; h < WAVES; h++) {
        let u = cos_sin_of_turns(value * forward_weights[frequency + h] + forward_weights[phase + h] * TURN).x;
        let at = weight + h;
        v += u * vec3<f32>(forward_weights[at], forward_weights[at + WAVES], forward_weights[at + 2u * WAVES]);
    }
    forward_y[y + 3u * j] = v.x;
    forward_y[y + 3u * j + 1u] = v.y;
    forward_y[y + 3u * j + 2u] = v.z;
}

struct PeriodicBackward {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    embedded: u32,
    frequency: u32,
    phase: u32,
    weight: u32,
    bias: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> backward_params: PeriodicBackward;
@group(0) @binding(1) var<storage, read> backward_x: array<f32>;
@group(0) @binding(2) var<storage, read> backward_dy: array<f32>;
@group(0) @binding(3) var<storage, read> backward_weights: array<f32>;
@group(0) @binding(4) var<storage, read> backward_columns: array<f32>;
@group(0) @binding(5) var<storage, read_write> backward_grad: array<f32>;

// Of each lane: (dW, dp) and (dc, df).
var<workgroup> parts_of_wave: array<vec4<f32>, 64>;
var<workgroup> parts_of_rest: array<vec4<f32>, 64>;

// A workgroup has one embedded input of one replica: a lane has one wave of it and every fourth row.
@compute @workgroup_size(64)
fn periodic_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = backward_params;
    let i = flat_group(group, groups);
    if i >= p.replicas * p.embedded {
        return;
    }
    let j = i % p.embedded;
    let r = i / p.embedded;
    let h = lane % WAVES;
    let w = r * p.stride;
    let frequency = w + p.frequency + j * WAVES + h;
    let phase = w + p.phase + j * WAVES + h;
    let weight = w + p.weight + 3u * j * WAVES + h;
    let waves = vec3<f32>(
        backward_weights[weight],
        backward_weights[weight + WAVES],
        backward_weights[weight + 2u * WAVES],
    );
    let turns = backward_weights[frequency];
    let start = backward_weights[phase] * TURN;
    let n_out = 3u * p.embedded + p.n_in;
    let x = r / p.share * p.rows * p.n_in + min(u32(backward_columns[j]), p.n_in - 1u);
    let dy = r * p.rows * n_out + 3u * j;
    var of_wave = vec4<f32>();
    var of_rest = vec4<f32>();
    for (var row = lane / WAVES; row < p.rows; row += 4u) {
        let value = backward_x[x + row * p.n_in];
        let at = dy + row * n_out;
        let dv = vec3<f32>(backward_dy[at], backward_dy[at + 1u], backward_dy[at + 2u]);
        let cs = cos_sin_of_turns(value * turns + start);
        let slope = -(cs.y * (dv.x * waves.x + dv.y * waves.y + dv.z * waves.z));
        of_wave += vec4<f32>(dv * cs.x, slope);
        of_rest += vec4<f32>(dv, value * slope);
    }
    parts_of_wave[lane] = of_wave;
    parts_of_rest[lane] = of_rest;
    workgroupBarrier();
    if lane < WAVES {
        for (var part = lane + WAVES; part < 64u; part += WAVES) {
            of_wave += parts_of_wave[part];
            of_rest += parts_of_rest[part];
        }
        backward_grad[frequency] = TAU * of_rest.w;
        backward_grad[phase] = of_wave.w;
        backward_grad[weight] = of_wave.x;
        backward_grad[weight + WAVES] = of_wave.y;
        backward_grad[weight + 2u * WAVES] = of_wave.z;
        if h == 0u {
            let bias = w + p.bias + 3u * j;
            backward_grad[bias] = of_rest.x;
            backward_grad[bias + 1u] = of_rest.y;
            backward_grad[bias + 2u] = of_rest.z;
        }
    }
}
