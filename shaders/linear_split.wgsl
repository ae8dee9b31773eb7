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

// A thread's quadruples of x: `at` is where row `row` of it stands, of whose columns `n` are there; and those of the rows A_SLICES on, up to
// `last`. Of whole quadruples what is not there is read elsewhere.
fn weight_a(at: u32, row: u32, last: u32, n: u32) -> mat4x4<f32> {
    let step = A_SLICES * weight_params.n_in;
    var quads = mat4x4<f32>();
    if WHOLE == 1u {
        let end = arrayLength(&weight_x) - 1u;
        quads[0] = weight_x[min(at / 4u, end)];
        if A_QUADS > 1u {
            quads[1] = weight_x[min(at / 4u + step / 4u, end)];
        }
        if A_QUADS > 2u {
            quads[2] = weight_x[min(at / 4u + step / 4u * 2u, end)];
            quads[3] = weight_x[min(at / 4u + step / 4u * 3u, end)];
        }
        return quads;
    }
    quads[0] = weight_x_quad(at, select(0u, n, row < last));
    if A_QUADS > 1u {
        quads[1] = weight_x_quad(at + step, select(0u, n, row + A_SLICES < last));
    }
    if A_QUADS > 2u {
        quads[2] = weight_x_quad(at + 2u * step, select(0u, n, row + 2u * A_SLICES < last));
        quads[3] = weight_x_quad(at + 3u * step, select(0u, n, row + 3u * A_SLICES < last));
    }
    return quads;
}

// The same of dy, with the row B_SLICES on.
fn weight_b(at: u32, row: u32, last: u32, n: u32) -> mat2x4<f32> {
    let step = B_SLICES * weight_params.n_out;
    var quads = mat2x4<f32>();
    if WHOLE == 1u {
        let end = arrayLength(&weight_dy) - 1u;
        quads[0] = weight_dy[min(at / 4u, end)];
        if B_QUADS > 1u {
            quads[1] = weight_dy[min(at / 4u + step / 4u, end)];
        }
        return quads;
    }
    quads[0] = weight_dy_quad(at, select(0u, n, row < last));
    if B_QUADS > 1u {
        quads[1] = weight_dy_quad(at + step, select(0u, n, row + B_SLICES < last));
    }
    return quads;
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
    // A and B, by slices: a slice is a row of x and of dy. Of x, a thread loads rows A_SLICES apart.
    let line = tile.y + lane % SIDE_M * 4u;
    let n_lines = remaining(line, p.n_in);
    let col = tile.z + lane % SIDE_N * 4u;
    let n_cols = remaining(col, p.n_out);
    var x = (r / p.share * p.rows + first + lane / SIDE_M) * p.n_in + line;
    var dy = (r * p.rows + first + lane / SIDE_N) * p.n_out + col;
    var a = weight_a(x, first + lane / SIDE_M, last, n_lines);
    var b = weight_b(dy, first + lane / SIDE_N, last, n_cols);
    var sums = Sums();
    var bias = vec4<f32>();
    var done = first;
    for (; done + DEPTH <= last; done += DEPTH) {
        store_a(lane, THREADS, a);
        store_b(lane, THREADS, b);
        bias += b[0] + b[1];
        workgroupBarrier();
        x += DEPTH * p.n_in;
        dy += DEPTH * p.n_out;
        a = weight_a(x, done + DEPTH + lane / SIDE_M, last, n_lines);
        b = weight_b(dy, done + DEPTH + lane / SIDE_N, last, n_cols);
        sums = add_slices_slices(sums, lane);
        workgroupBarrier();
    }
    if done < last {
        b = kept_b(b, done + lane / SIDE_N, B_SLICES, last);
        store_a(lane, THREADS, kept_a(a, done + lane / SIDE_M, A_SLICES, last));
        store_b(lane, THREADS, b);
        bias += b[0] + b[1];
        workgroupBarrier();
        sums = add_last_slices_slices(sums, lane, quads_of(last - done));
        workgroupBarrier();
    }
    let col_quads = div_ceil(p.n_out, 4u);
    let to = tile.x * part_quads();
    if tile.y == 0u {
        bias = column_sums(lane, SIDE_N, bias);
        if lane < SIDE_N && n_cols > 0u {
            weight_scratch[to + p.n_in * col_quads + col / 4u] = bias;
        }
    }
    let own = own_place(tile, lane);
    leave_block(to, own, sums.first);
    if EDGE > 1u {
        leave_block(to, own + vec2<u32>(0u, HALF_N), sums.beside);
        leave_block(to, own + vec2<u32>(HALF_M, 0u), sums.below);
        leave_block(to, own + vec2<u32>(HALF_M, HALF_N), sums.opposite);
    }
}

// Rows and columns `own` on of the part that begins at `to`.
fn leave_block(to: u32, own: vec2<u32>, block: mat4x4<f32>) {
    let col_quads = div_ceil(weight_params.n_out, 4u);
    let rows = select(0u, remaining(own.x, weight_params.n_in), own.y < weight_params.n_out);
    let dw = to + own.x * col_quads + own.y / 4u;
    if rows > 0u { weight_scratch[dw] = block[0]; }
    if rows > 1u { weight_scratch[dw + col_quads] = block[1]; }
    if rows > 2u { weight_scratch[dw + 2u * col_quads] = block[2]; }
    if rows > 3u { weight_scratch[dw + 3u * col_quads] = block[3]; }
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
