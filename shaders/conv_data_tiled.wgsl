// needs: index, math, activation, tile, tile_sums, conv_loaded, conv_data
// The gradient of a convolution's input through workgroup memory; inputs and outputs as in conv_tiled.wgsl, twin in
// src/ops/conv.rs. Pixels are sorted by their parity, so that a workgroup visits only the taps that exist.

struct Conv2dBackwardData {
    replicas: u32,
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
    weights_stride: u32,
    activation: u32,
}
@group(0) @binding(0) var<uniform> conv_params: Conv2dBackwardData;
@group(0) @binding(1) var<storage, read> data_dy: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> conv_weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> data_saved: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> data_dx: array<f32>;
@group(0) @binding(4) var<storage, read_write> data_quads_dx: array<vec4<f32>>;

fn dy_number(image: u32, y: u32, x: u32, channel: u32) -> f32 {
    let i = ((image * conv_params.out_h + y) * conv_params.out_w + x) * conv_params.c_out + channel;
    return data_dy[i / 4u][i % 4u];
}
fn dy_quad(image: u32, y: u32, x: u32, channel: u32) -> vec4<f32> {
    return data_dy[(((image * conv_params.out_h + y) * conv_params.out_w + x) * conv_params.c_out + channel) / 4u];
}

@compute @workgroup_size(THREADS)
fn conv2d_backward_data_tiled(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let n_pixels = p.batch * div_ceil(p.h, p.stride) * div_ceil(p.w, p.stride);
    let tile = tile_at(flat_group(group, groups), n_pixels, p.c_in);
    let parity = parity_of(tile.x);
    if parity.replica >= p.replicas {
        return;
    }
    let sums = data_sums(parity, tile, lane);
    let own = own_place(tile, lane);
    store_data_block(parity, own.x, own.y, sums.first);
    if EDGE > 1u {
        store_data_block(parity, own.x, own.y + HALF_N, sums.beside);
        store_data_block(parity, own.x + HALF_M, own.y, sums.below);
        store_data_block(parity, own.x + HALF_M, own.y + HALF_N, sums.opposite);
    }
}

fn store_data_block(parity: Parity, row: u32, col: u32, block: mat4x4<f32>) {
    store_data(data_row(parity, row), col, block[0]);
    store_data(data_row(parity, row + 1u), col, block[1]);
    store_data(data_row(parity, row + 2u), col, block[2]);
    store_data(data_row(parity, row + 3u), col, block[3]);
}

fn store_data(row: u32, col: u32, values: vec4<f32>) {
    let n = select(remaining(col, conv_params.c_in), 0u, row == NOWHERE);
    let at = row * conv_params.c_in + col;
    if n > 0u { store_sloped(at, values.x); }
    if n > 1u { store_sloped(at + 1u, values.y); }
    if n > 2u { store_sloped(at + 2u, values.z); }
    if n > 3u { store_sloped(at + 3u, values.w); }
}

fn store_sloped(at: u32, value: f32) {
    var slope = 1.0;
    if conv_params.activation != 0u {
        slope = activation_slope(conv_params.activation, data_saved[at / 4u][at % 4u]);
    }
    data_dx[at] = value * slope;
}

// c_in divides by four.
@compute @workgroup_size(THREADS)
fn conv2d_backward_data_tiled_quads(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = conv_params;
    let n_pixels = p.batch * div_ceil(p.h, p.stride) * div_ceil(p.w, p.stride);
    let tile = tile_at(flat_group(group, groups), n_pixels, p.c_in);
    let parity = parity_of(tile.x);
    if parity.replica >= p.replicas {
        return;
    }
    let sums = data_sums(parity, tile, lane);
    let own = own_place(tile, lane);
    store_data_quads(parity, own.x, own.y, sums.first);
    if EDGE > 1u {
        store_data_quads(parity, own.x, own.y + HALF_N, sums.beside);
        store_data_quads(parity, own.x + HALF_M, own.y, sums.below);
        store_data_quads(parity, own.x + HALF_M, own.y + HALF_N, sums.opposite);
    }
}

fn store_data_quads(parity: Parity, row: u32, col: u32, block: mat4x4<f32>) {
    store_data_quad(data_row(parity, row), col, block[0]);
    store_data_quad(data_row(parity, row + 1u), col, block[1]);
    store_data_quad(data_row(parity, row + 2u), col, block[2]);
    store_data_quad(data_row(parity, row + 3u), col, block[3]);
}

fn store_data_quad(row: u32, col: u32, values: vec4<f32>) {
    if row == NOWHERE || col >= conv_params.c_in {
        return;
    }
    let at = (row * conv_params.c_in + col) / 4u;
    var slope = vec4<f32>(1.0);
    if conv_params.activation != 0u {
        slope = slope_quad(conv_params.activation, data_saved[at]);
    }
    data_quads_dx[at] = values * slope;
}
