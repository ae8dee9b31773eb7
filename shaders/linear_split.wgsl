// needs: index, tile, tile_sums
// The weight gradient of a linear layer, its sum over rows cut into parts, as conv_split.wgsl does it: scratch memory is
// [parts, R, n_in + 1, n_out in quadruples], the last row the bias. Twin: src/ops/linear.rs.

struct LinearBackwardWeight {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    n_out: u32,
    weight: u32,
    bias: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> weight_params: LinearBackwardWeight;
@group(0) @binding(1) var<storage, read> weight_x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight_dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> weight_scratch: array<vec4<f32>>;

// Quadruples of one part of one replica.
fn part_quads() -> u32 {
    return (weight_params.n_in + 1u) * div_ceil(weight_params.n_out, 4u);
}

// Four numbers from `at` on, of which `n` are wanted; the others are zero.
fn weight_x_quad(at: u32, n: u32) -> vec4<f32> {
    if at % 4u == 0u && n >= 4u {
        return weight_x[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = weight_x[at / 4u][at % 4u]; }
    if n > 1u { quad.y = weight_x[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = weight_x[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = weight_x[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

fn weight_dy_quad(at: u32, n: u32) -> vec4<f32> {
    if at % 4u == 0u && n >= 4u {
        return weight_dy[at / 4u];
    }
    var quad = vec4<f32>();
    if n > 0u { quad.x = weight_dy[at / 4u][at % 4u]; }
    if n > 1u { quad.y = weight_dy[(at + 1u) / 4u][(at + 1u) % 4u]; }
    if n > 2u { quad.z = weight_dy[(at + 2u) / 4u][(at + 2u) % 4u]; }
    if n > 3u { quad.w = weight_dy[(at + 3u) / 4u][(at + 3u) % 4u]; }
    return quad;
}

@compute @workgroup_size(THREADS)
fn linear_backward_weight_split(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    let tile = tile_at(flat_group(group, groups), p.n_in, p.n_out);
    let parts = arrayLength(&weight_scratch) / (p.replicas * part_quads());
    let part = tile.x / p.replicas;
    let r = tile.x % p.replicas;
    if part >= parts {
        return;
    }
    let rounds = div_ceil(div_ceil(p.rows, DEPTH), parts);
    let first = min(part * rounds * DEPTH, p.rows);
    let last = min(first + rounds * DEPTH, p.rows);
    // A and B, by slices: a slice is a row of x and of dy. Of x, a thread loads rows SIDE_N apart.
    let line = tile.y + lane % SIDE_M * 4u;
    let n_lines = remaining(line, p.n_in);
    let col = tile.z + lane % SIDE_N * 4u;
    let n_cols = remaining(col, p.n_out);
    var sums = mat4x4<f32>();
    var bias = vec4<f32>();
    for (var done = first; done < last; done += DEPTH) {
        for (var quad = 0u; quad < A_QUADS; quad++) {
            let row = done + quad * SIDE_N + lane / SIDE_M;
            let x = (r / p.share * p.rows + row) * p.n_in + line;
            tile_a[quad * THREADS + lane] = weight_x_quad(x, select(0u, n_lines, row < last));
        }
        let row = done + lane / SIDE_N;
        let d = weight_dy_quad((r * p.rows + row) * p.n_out + col, select(0u, n_cols, row < last));
        tile_b[lane] = d;
        bias += d;
        workgroupBarrier();
        sums = add_slices_slices(sums, lane);
        workgroupBarrier();
    }
    let col_quads = div_ceil(p.n_out, 4u);
    let to = tile.x * part_quads() + col / 4u;
    if tile.y == 0u {
        bias = column_sums(lane, bias);
        if lane < SIDE_N && n_cols > 0u {
            weight_scratch[to + p.n_in * col_quads] = bias;
        }
    }
    let own = tile.y + lane / SIDE_N * 4u;
    let rows = select(0u, remaining(own, p.n_in), n_cols > 0u);
    let dw = to + own * col_quads;
    if rows > 0u { weight_scratch[dw] = sums[0]; }
    if rows > 1u { weight_scratch[dw + col_quads] = sums[1]; }
    if rows > 2u { weight_scratch[dw + 2u * col_quads] = sums[2]; }
    if rows > 3u { weight_scratch[dw + 3u * col_quads] = sums[3]; }
}

@group(0) @binding(1) var<storage, read> reduce_scratch: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> reduce_grad: array<f32>;

@compute @workgroup_size(64)
fn linear_backward_weight_reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weight_params;
    let quads = part_quads();
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * quads {
        return;
    }
    var sum = vec4<f32>();
    for (var at = i; at < arrayLength(&reduce_scratch); at += p.replicas * quads) {
        sum += reduce_scratch[at];
    }
    let r = i / quads;
    let row = i % quads / div_ceil(p.n_out, 4u);
    let col = i % div_ceil(p.n_out, 4u) * 4u;
    let n = p.n_out - col;
    let grad = r * p.stride + select(p.weight + row * p.n_out, p.bias, row == p.n_in) + col;
    reduce_grad[grad] = sum.x;
    if n > 1u { reduce_grad[grad + 1u] = sum.y; }
    if n > 2u { reduce_grad[grad + 2u] = sum.z; }
    if n > 3u { reduce_grad[grad + 3u] = sum.w; }
}
