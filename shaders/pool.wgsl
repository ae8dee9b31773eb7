// needs: index, math, activation
// Pooling over windows that do not overlap, NHWC; one thread an element of the output or of the gradient. What no window
// reaches (the last row or column of an odd size) gets no gradient. Twin: src/ops/pool.rs.

struct MaxPool2Forward {
    images: u32,
    h: u32,
    w: u32,
    c: u32,
}
@group(0) @binding(0) var<uniform> max_forward_params: MaxPool2Forward;
@group(0) @binding(1) var<storage, read> max_forward_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> max_forward_y: array<f32>;

@compute @workgroup_size(64)
fn max_pool2_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = max_forward_params;
    let out_h = p.h / 2u;
    let out_w = p.w / 2u;
    let i = flat_index(group, groups, lane);
    if i >= p.images * out_h * out_w * p.c {
        return;
    }
    let ox = i / p.c % out_w;
    let oy = i / (p.c * out_w) % out_h;
    let image = i / (p.c * out_w * out_h);
    let top = ((image * p.h + 2u * oy) * p.w + 2u * ox) * p.c + i % p.c;
    let bottom = top + p.w * p.c;
    let upper = larger(max_forward_x[top], max_forward_x[top + p.c]);
    max_forward_y[i] = larger(upper, larger(max_forward_x[bottom], max_forward_x[bottom + p.c]));
}

struct MaxPool2Backward {
    images: u32,
    h: u32,
    w: u32,
    c: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> max_backward_params: MaxPool2Backward;
@group(0) @binding(1) var<storage, read> max_backward_x: array<f32>;
@group(0) @binding(2) var<storage, read> max_backward_dy: array<f32>;
@group(0) @binding(3) var<storage, read> max_backward_saved: array<f32>;
@group(0) @binding(4) var<storage, read_write> max_backward_dx: array<f32>;

@compute @workgroup_size(64)
fn max_pool2_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = max_backward_params;
    let i = flat_index(group, groups, lane);
    if i >= p.images * p.h * p.w * p.c {
        return;
    }
    let ox = i / p.c % p.w / 2u;
    let oy = i / (p.c * p.w) % p.h / 2u;
    let image = i / (p.c * p.w * p.h);
    if oy >= p.h / 2u || ox >= p.w / 2u {
        max_backward_dx[i] = 0.0;
        return;
    }
    // Of equal elements the first is the largest.
    let top = ((image * p.h + 2u * oy) * p.w + 2u * ox) * p.c + i % p.c;
    let bottom = top + p.w * p.c;
    var best = top;
    if max_backward_x[top + p.c] > max_backward_x[best] { best = top + p.c; }
    if max_backward_x[bottom] > max_backward_x[best] { best = bottom; }
    if max_backward_x[bottom + p.c] > max_backward_x[best] { best = bottom + p.c; }
    var d = 0.0;
    if i == best {
        d = max_backward_dy[((image * (p.h / 2u) + oy) * (p.w / 2u) + ox) * p.c + i % p.c];
        if p.activation != 0u {
            d *= activation_slope(p.activation, max_backward_saved[i]);
        }
    }
    max_backward_dx[i] = d;
}

struct AvgPoolForward {
    images: u32,
    h: u32,
    w: u32,
    c: u32,
    size: u32,
}
@group(0) @binding(0) var<uniform> avg_forward_params: AvgPoolForward;
@group(0) @binding(1) var<storage, read> avg_forward_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> avg_forward_y: array<f32>;

@compute @workgroup_size(64)
fn avg_pool_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = avg_forward_params;
    let out_h = p.h / p.size;
    let out_w = p.w / p.size;
    let i = flat_index(group, groups, lane);
    if i >= p.images * out_h * out_w * p.c {
        return;
    }
    let ox = i / p.c % out_w;
    let oy = i / (p.c * out_w) % out_h;
    let image = i / (p.c * out_w * out_h);
    let first = ((image * p.h + oy * p.size) * p.w + ox * p.size) * p.c + i % p.c;
    var sum = 0.0;
    for (var y = 0u; y < p.size; y++) {
        for (var x = 0u; x < p.size; x++) {
            sum += avg_forward_x[first + (y * p.w + x) * p.c];
        }
    }
    avg_forward_y[i] = sum * (1.0 / f32(p.size * p.size));
}

struct AvgPoolBackward {
    images: u32,
    h: u32,
    w: u32,
    c: u32,
    size: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> avg_backward_params: AvgPoolBackward;
@group(0) @binding(1) var<storage, read> avg_backward_dy: array<f32>;
@group(0) @binding(2) var<storage, read> avg_backward_saved: array<f32>;
@group(0) @binding(3) var<storage, read_write> avg_backward_dx: array<f32>;

@compute @workgroup_size(64)
fn avg_pool_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = avg_backward_params;
    let i = flat_index(group, groups, lane);
    if i >= p.images * p.h * p.w * p.c {
        return;
    }
    let out_h = p.h / p.size;
    let out_w = p.w / p.size;
    let ox = i / p.c % p.w / p.size;
    let oy = i / (p.c * p.w) % p.h / p.size;
    let image = i / (p.c * p.w * p.h);
    var d = 0.0;
    if oy < out_h && ox < out_w {
        d = avg_backward_dy[((image * out_h + oy) * out_w + ox) * p.c + i % p.c] * (1.0 / f32(p.size * p.size));
        if p.activation != 0u {
            d *= activation_slope(p.activation, avg_backward_saved[i]);
        }
    }
    avg_backward_dx[i] = d;
}
