// needs: index
// Embedding of levels: the number of a level becomes the row of that number of a trained table; all other inputs behind.
// Twin: src/ops/embed.rs.

struct EmbedForward {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    embedded: u32,
    width: u32,
    levels: u32,
    table: u32,
    length: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> forward_params: EmbedForward;
@group(0) @binding(1) var<storage, read> forward_x: array<f32>;
@group(0) @binding(2) var<storage, read> forward_weights: array<f32>;
@group(0) @binding(3) var<storage, read> forward_columns: array<f32>;
@group(0) @binding(4) var<storage, read_write> forward_y: array<f32>;

@compute @workgroup_size(64)
fn embed_forward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = forward_params;
    let n_out = p.width + p.n_in - p.embedded;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows * n_out {
        return;
    }
    let o = i % n_out;
    let row = i / n_out % p.rows;
    let r = i / (n_out * p.rows);
    let x = (r / p.share * p.rows + row) * p.n_in;
    if o >= p.width {
        // The columns ascend: each one before this input moves it by a place.
        var other = o - p.width;
        for (var c = 0u; c < p.embedded; c++) {
            if u32(forward_columns[3u * c]) <= other {
                other += 1u;
            }
        }
        forward_y[i] = forward_x[x + min(other, p.n_in - 1u)];
        return;
    }
    var out = 0u;
    var table = 0u;
    var y = 0.0;
    for (var c = 0u; c < p.embedded; c++) {
        let levels = forward_columns[3u * c + 1u];
        let width = u32(forward_columns[3u * c + 2u]);
        if o >= out && o < out + width {
            // A column or a table past its end would be a fault of ours; it must not become a read outside.
            let value = forward_x[x + min(u32(forward_columns[3u * c]), p.n_in - 1u)];
            if value >= 0.0 && value < levels {
                let at = table + u32(value) * width + (o - out);
                if at < p.length {
                    y = forward_weights[r * p.stride + p.table + at];
                }
            }
        }
        out += width;
        table += u32(levels) * width;
    }
    forward_y[i] = y;
}

struct EmbedBackward {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    embedded: u32,
    width: u32,
    levels: u32,
    table: u32,
    length: u32,
    stride: u32,
}
@group(0) @binding(0) var<uniform> backward_params: EmbedBackward;
@group(0) @binding(1) var<storage, read> backward_x: array<f32>;
@group(0) @binding(2) var<storage, read> backward_dy: array<f32>;
@group(0) @binding(3) var<storage, read> backward_columns: array<f32>;
@group(0) @binding(4) var<storage, read_write> backward_grad: array<f32>;

// A thread owns a row of a table and looks for its level in the rows of the batch, in their order: no two threads add to one
// number, and the sums are those of the CPU.
@compute @workgroup_size(64)
fn embed_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = backward_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.levels {
        return;
    }
    let r = i / p.levels;
    var level = i % p.levels;
    var out = 0u;
    var table = 0u;
    var column = 0u;
    var width = 0u;
    for (var c = 0u; c < p.embedded; c++) {
        let levels = u32(backward_columns[3u * c + 1u]);
        column = min(u32(backward_columns[3u * c]), p.n_in - 1u);
        width = u32(backward_columns[3u * c + 2u]);
        if level < levels {
            break;
        }
        level -= levels;
        out += width;
        table += levels * width;
    }
    let first = table + level * width;
    if first + width > p.length || out + width > p.width {
        return;
    }
    let grad = r * p.stride + p.table + first;
    for (var k = 0u; k < width; k++) {
        backward_grad[grad + k] = 0.0;
    }
    let n_out = p.width + p.n_in - p.embedded;
    let x = r / p.share * p.rows * p.n_in + column;
    let dy = r * p.rows * n_out + out;
    for (var row = 0u; row < p.rows; row++) {
        let value = backward_x[x + row * p.n_in];
        if value >= f32(level) && value < f32(level + 1u) {
            for (var k = 0u; k < width; k++) {
                backward_grad[grad + k] += backward_dy[dy + row * n_out + k];
            }
        }
    }
}

struct EmbedBackwardData {
    replicas: u32,
    rows: u32,
    n_in: u32,
    embedded: u32,
    width: u32,
}
@group(0) @binding(0) var<uniform> data_params: EmbedBackwardData;
@group(0) @binding(1) var<storage, read> data_dy: array<f32>;
@group(0) @binding(2) var<storage, read> data_columns: array<f32>;
@group(0) @binding(3) var<storage, read_write> data_dx: array<f32>;

@compute @workgroup_size(64)
fn embed_backward_data(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = data_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows * p.n_in {
        return;
    }
    let input = i % p.n_in;
    var before = 0u;
    for (var c = 0u; c < p.embedded; c++) {
        let column = u32(data_columns[3u * c]);
        if column == input {
            data_dx[i] = 0.0;
            return;
        }
        before += select(0u, 1u, column < input);
    }
    let n_out = p.width + p.n_in - p.embedded;
    data_dx[i] = data_dy[i / p.n_in * n_out + p.width + input - before];
}
