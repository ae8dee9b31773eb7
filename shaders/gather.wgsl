// needs: index, rng, step
// What goes into a network: rows of a batch, auxiliary inputs, dropout masks. Twin: src/ops/gather.rs.

// The set, counted from the first one in the buffer, that member number `member` reads.
fn set_of(member: u32, per_set: u32, first_set: u32) -> u32 {
    if per_set == 0u {
        return 0u;
    }
    return member / per_set - first_set;
}

struct GatherRows {
    replicas: u32,
    n_rows: u32,
    cols: u32,
    batch: u32,
    out_rows: u32,
    shuffle: u32,
    first_member: u32,
    per_set: u32,
    first_set: u32,
    held_out: u32,
    folds: u32,
}
@group(0) @binding(0) var<uniform> gather_params: GatherRows;
@group(0) @binding(1) var<storage, read> gather_data: array<f32>;
@group(0) @binding(2) var<storage, read_write> gather_out: array<f32>;
@group(0) @binding(3) var<storage, read> gather_args: StepArgs;

@compute @workgroup_size(64)
fn gather_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = gather_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.batch {
        return;
    }
    let r = i / p.batch;
    let b = i % p.batch;
    var row = (gather_args.batch_start + b) % p.n_rows;
    if p.shuffle == 1u {
        row = permute(permutation(gather_args.seed, gather_args.epoch, p.first_member + r, p.n_rows), row);
    }
    let member = p.first_member + r;
    let set_rows = p.n_rows + p.held_out;
    if p.folds > 0u {
        // The first row behind the fold that is held out; the rows go on in a circle.
        let fold = member % p.folds;
        let start = fold * (set_rows / p.folds) + fold * (set_rows % p.folds) / p.folds;
        row = (row + start + p.held_out) % set_rows;
    }
    row += set_of(member, p.per_set, p.first_set) * set_rows;
    let to = (r * p.out_rows + b) * p.cols;
    for (var c = 0u; c < p.cols; c++) {
        gather_out[to + c] = gather_data[row * p.cols + c];
    }
}

struct AuxInputs {
    replicas: u32,
    cols: u32,
    count: u32,
    first_row: u32,
    out_rows: u32,
    grid: u32,
    first_member: u32,
    per_set: u32,
    first_set: u32,
}
@group(0) @binding(0) var<uniform> aux_params: AuxInputs;
@group(0) @binding(1) var<storage, read> aux_low: array<f32>;
@group(0) @binding(2) var<storage, read> aux_high: array<f32>;
@group(0) @binding(3) var<storage, read_write> aux_out: array<f32>;
@group(0) @binding(4) var<storage, read> aux_args: StepArgs;

@compute @workgroup_size(64)
fn aux_inputs(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = aux_params;
    let i = flat_index(group, groups, lane);
    let size = p.count * p.cols;
    if i >= p.replicas * size {
        return;
    }
    let r = i / size;
    let element = i % size;
    let row = element / p.cols;
    let c = element % p.cols;
    var u = (f32(row) + 0.5) / f32(p.count);
    if p.grid != 1u {
        u = draw_uniform(Draw(aux_args.seed, STREAM_AUX, aux_args.step, p.first_member + r), element);
    }
    let at = set_of(p.first_member + r, p.per_set, p.first_set) * p.cols + c;
    aux_out[(r * p.out_rows + p.first_row + row) * p.cols + c] = aux_low[at] + (aux_high[at] - aux_low[at]) * u;
}

struct Dropout {
    replicas: u32,
    count: u32,
    period: u32,
    stream: u32,
    first_replica: u32,
    rate: f32,
    by_step: u32,
}
@group(0) @binding(0) var<uniform> dropout_params: Dropout;
@group(0) @binding(1) var<storage, read> dropout_x: array<f32>;
@group(0) @binding(2) var<storage, read_write> dropout_y: array<f32>;
@group(0) @binding(3) var<storage, read> dropout_args: StepArgs;

@compute @workgroup_size(64)
fn dropout(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = dropout_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.count {
        return;
    }
    let draw = Draw(dropout_args.seed, p.stream, dropout_args.step, p.first_replica + i / p.count);
    var rate = p.rate;
    if p.by_step == 1u {
        rate *= dropout_args.dropout;
    }
    let keep = 1.0 / (1.0 - rate);
    dropout_y[i] = select(dropout_x[i] * keep, 0.0, draw_uniform(draw, i % p.count % p.period) < rate);
}
