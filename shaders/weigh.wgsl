// needs: index
// Rows that count for more or less than others. Twin: src/ops/weigh.rs.

struct WeighRows {
    replicas: u32,
    rows: u32,
    data_rows: u32,
    cols: u32,
    share: u32,
}
@group(0) @binding(0) var<uniform> weigh_params: WeighRows;
@group(0) @binding(1) var<storage, read> weigh_weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> weigh_terms: array<f32>;
@group(0) @binding(3) var<storage, read_write> weigh_grad: array<f32>;

@compute @workgroup_size(64)
fn weigh_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = weigh_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.data_rows {
        return;
    }
    let r = i / p.data_rows;
    let b = i % p.data_rows;
    let w = weigh_weights[r / p.share * p.data_rows + b];
    let at = r * p.rows + b;
    for (var t = 0u; t < 3u; t++) {
        weigh_terms[at * 3u + t] *= w;
    }
    for (var c = 0u; c < p.cols; c++) {
        weigh_grad[at * p.cols + c] *= w;
    }
}
