// needs: index, math, activation, tile, tile_sums, conv_loaded, conv_input, conv_forward
// A convolution, its activation and the largest of each 2 x 2 window of that: what the windows are made of is never stored. Four
// rows of a tile are the pixels of one window, so that a thread has a window of each of its channels. c_out divides by four.
// Twin: src/ops/pooled.rs.

struct ConvPoolForward {
    replicas: u32,
    share: u32,
    batch: u32,
    h: u32,
    w: u32,
    c_in: u32,
    out_h: u32,
    out_w: u32,
    c_out: u32,
    kernel_h: u32,
    kernel_w: u32,
    stride: u32,
    pad_top: u32,
    pad_left: u32,
    weight: u32,
    bias: u32,
    has_bias: u32,
    weights_stride: u32,
    activation: u32,
    // Prediction needs neither slopes nor places.
    frozen: u32,
}
@group(0) @binding(0) var<uniform> conv_params: ConvPoolForward;
@group(0) @binding(1) var<storage, read> conv_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> conv_weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> conv_y: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> conv_slope: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> conv_place: array<vec4<f32>>;

fn row_count() -> u32 {
    let p = conv_params;
    return p.batch * (p.out_h / 2u) * (p.out_w / 2u) * 4u;
}
fn pixel_of_row(row: u32) -> vec3<u32> {
    let across = conv_params.out_w / 2u;
    let down = conv_params.out_h / 2u;
    let window = row / 4u;
    let x = window % across * 2u + row % 2u;
    return vec3<u32>(x, window / across % down * 2u + row / 2u % 2u, window / (across * down));
}
fn input_number(i: u32) -> f32 {
    return conv_x[i / 4u][i % 4u];
}
fn input_quad(i: u32) -> vec4<f32> {
    return conv_x[i / 4u];
}
fn as_read(quad: vec4<f32>, image: u32, channel: u32) -> vec4<f32> {
    return quad;
}

// The largest so far: activated, what it was activated from, which pixel of the window it is.
struct Largest {
    y: vec4<f32>,
    z: vec4<f32>,
    place: vec4<f32>,
}

// Of equal ones the first is the largest. A NaN stays in y, whatever the place.
fn larger_of(best: Largest, z: vec4<f32>, place: f32) -> Largest {
    let next = activate_quad(conv_params.activation, z);
    let is_more = next > best.y;
    return Largest(
        vec4<f32>(larger(best.y.x, next.x), larger(best.y.y, next.y), larger(best.y.z, next.z), larger(best.y.w, next.w)),
        select(best.z, z, is_more),
        select(best.place, vec4<f32>(place), is_more),
    );
}

@compute @workgroup_size(THREADS)
fn conv_pool_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let tile = tile_at(flat_group(group, groups), row_count(), p.c_out);
    if tile.x >= p.replicas {
        return;
    }
    let own = own_place(tile, lane);
    let sums = with_bias(forward_sums(tile, lane), tile.x, own.y, p.has_bias, p.bias);
    store_window(tile.x, own.x, own.y, sums.first);
    if EDGE > 1u {
        store_window(tile.x, own.x, own.y + HALF_N, sums.beside);
        store_window(tile.x, own.x + HALF_M, own.y, sums.below);
        store_window(tile.x, own.x + HALF_M, own.y + HALF_N, sums.opposite);
    }
}

fn store_window(r: u32, row: u32, col: u32, z: mat4x4<f32>) {
    let p = conv_params;
    if row >= row_count() || col >= p.c_out {
        return;
    }
    var best = Largest(activate_quad(p.activation, z[0]), z[0], vec4<f32>());
    best = larger_of(best, z[1], 1.0);
    best = larger_of(best, z[2], 2.0);
    best = larger_of(best, z[3], 3.0);
    let to = ((r * row_count() + row) / 4u * p.c_out + col) / 4u;
    conv_y[to] = best.y;
    if p.frozen == 0u {
        conv_slope[to] = slope_quad(p.activation, best.z);
        conv_place[to] = best.place;
    }
}
