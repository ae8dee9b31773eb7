// needs: index, math, rng, step, regularizer, head
// Fused heads, one thread a row: per-row loss terms and the gradient of the outputs. Twin: src/ops/head.rs.

struct SoftmaxHead {
    replicas: u32,
    rows: u32,
    k: u32,
    share: u32,
}
@group(0) @binding(0) var<uniform> softmax_params: SoftmaxHead;
@group(0) @binding(1) var<storage, read> softmax_z: array<f32>;
@group(0) @binding(2) var<storage, read> softmax_labels: array<f32>;
@group(0) @binding(3) var<storage, read_write> softmax_terms: array<f32>;
@group(0) @binding(4) var<storage, read_write> softmax_dz: array<f32>;
@group(0) @binding(5) var<storage, read> softmax_args: StepArgs;

@compute @workgroup_size(64)
fn softmax_head(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = softmax_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows {
        return;
    }
    let r = i / p.rows;
    let b = i % p.rows;
    let z = i * p.k;
    var loss = 0.0;
    if b < softmax_args.n_valid {
        let label = u32(softmax_labels[r / p.share * p.rows + b]);
        let weight = 1.0 / f32(softmax_args.n_valid);
        var top = softmax_z[z];
        for (var c = 1u; c < p.k; c++) {
            top = at_least(top, softmax_z[z + c]);
        }
        var sum = 0.0;
        // Picked by comparison: a label is data, and must not address memory.
        var chosen = 0.0;
        for (var c = 0u; c < p.k; c++) {
            sum += exp(softmax_z[z + c] - top);
            chosen = select(chosen, softmax_z[z + c], c == label);
        }
        for (var c = 0u; c < p.k; c++) {
            let share = exp(softmax_z[z + c] - top) / sum;
            softmax_dz[z + c] = weight * share - select(0.0, weight, c == label);
        }
        loss = log(sum) + top - chosen;
    } else {
        for (var c = 0u; c < p.k; c++) {
            softmax_dz[z + c] = 0.0;
        }
    }
    softmax_terms[i * 3u] = loss;
    softmax_terms[i * 3u + 1u] = 0.0;
    softmax_terms[i * 3u + 2u] = 0.0;
}

struct GaussianHead {
    replicas: u32,
    rows: u32,
    share: u32,
    noise_link: u32,
}
@group(0) @binding(0) var<uniform> gaussian_params: GaussianHead;
@group(0) @binding(1) var<storage, read> gaussian_z: array<f32>;
@group(0) @binding(2) var<storage, read> gaussian_targets: array<f32>;
@group(0) @binding(3) var<storage, read_write> gaussian_terms: array<f32>;
@group(0) @binding(4) var<storage, read_write> gaussian_dz: array<f32>;
@group(0) @binding(5) var<storage, read> gaussian_args: StepArgs;

@compute @workgroup_size(64)
fn gaussian_head(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = gaussian_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows {
        return;
    }
    let r = i / p.rows;
    let b = i % p.rows;
    var loss = vec3<f32>();
    if b < gaussian_args.n_valid {
        let y = gaussian_targets[r / p.share * p.rows + b];
        loss = gaussian_loss(p.noise_link, gaussian_z[i * 2u], gaussian_z[i * 2u + 1u], y);
    }
    let weight = 1.0 / f32(gaussian_args.n_valid);
    gaussian_terms[i * 3u] = loss.x;
    gaussian_terms[i * 3u + 1u] = 0.0;
    gaussian_terms[i * 3u + 2u] = 0.0;
    gaussian_dz[i * 2u] = weight * loss.y;
    gaussian_dz[i * 2u + 1u] = weight * loss.z;
}

struct StudentHead {
    replicas: u32,
    rows: u32,
    share: u32,
    noise_link: u32,
    nu: f32,
    constant: f32,
}
@group(0) @binding(0) var<uniform> student_params: StudentHead;
@group(0) @binding(1) var<storage, read> student_z: array<f32>;
@group(0) @binding(2) var<storage, read> student_targets: array<f32>;
@group(0) @binding(3) var<storage, read_write> student_terms: array<f32>;
@group(0) @binding(4) var<storage, read_write> student_dz: array<f32>;
@group(0) @binding(5) var<storage, read> student_args: StepArgs;

@compute @workgroup_size(64)
fn student_head(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = student_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows {
        return;
    }
    let r = i / p.rows;
    let b = i % p.rows;
    var loss = vec3<f32>();
    if b < student_args.n_valid {
        let y = student_targets[r / p.share * p.rows + b];
        loss = student_loss(p.noise_link, p.nu, p.constant, student_z[i * 2u], student_z[i * 2u + 1u], y);
    }
    let weight = 1.0 / f32(student_args.n_valid);
    student_terms[i * 3u] = loss.x;
    student_terms[i * 3u + 1u] = 0.0;
    student_terms[i * 3u + 2u] = 0.0;
    student_dz[i * 2u] = weight * loss.y;
    student_dz[i * 2u + 1u] = weight * loss.z;
}

struct VifoHead {
    replicas: u32,
    rows: u32,
    data_rows: u32,
    k: u32,
    share: u32,
    likelihood: u32,
    noise_link: u32,
    sigma_link: u32,
    regularizer: u32,
    exact: u32,
    first_replica: u32,
    nu: f32,
    constant: f32,
}
@group(0) @binding(0) var<uniform> vifo_params: VifoHead;
@group(0) @binding(1) var<storage, read> vifo_outputs: array<f32>;
@group(0) @binding(2) var<storage, read> vifo_targets: array<f32>;
@group(0) @binding(3) var<storage, read> vifo_moments: array<f32>;
@group(0) @binding(4) var<storage, read_write> vifo_terms: array<f32>;
@group(0) @binding(5) var<storage, read_write> vifo_doutputs: array<f32>;
@group(0) @binding(6) var<storage, read> vifo_args: StepArgs;

@compute @workgroup_size(64)
fn vifo_head(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = vifo_params;
    let i = flat_index(group, groups, lane);
    if i >= p.replicas * p.rows {
        return;
    }
    let r = i / p.rows;
    let b = i % p.rows;
    let is_data = b < p.data_rows;
    let at = i * 2u * p.k;
    let n_valid = vifo_args.n_valid;
    let weight = 1.0 / f32(select(max(p.rows - p.data_rows, 1u), n_valid, is_data));
    // The gradients of mu and sigma gather in doutputs until the regularizer and the chain to rho complete them.
    for (var c = 0u; c < 2u * p.k; c++) {
        vifo_doutputs[at + c] = 0.0;
    }
    var term = vec3<f32>();
    if !is_data || b < n_valid {
        var y = 0.0;
        if is_data {
            y = vifo_targets[r / p.share * p.data_rows + b];
        }
        let draw = Draw(vifo_args.seed, STREAM_HEAD, vifo_args.step, p.first_replica + r);
        let first = b * vifo_args.n_samples * p.k;
        let moments = (r * 2u + select(1u, 0u, is_data)) * 3u * p.k;
        let eta = select(vifo_args.eta_aux, vifo_args.eta, is_data);
        let row = VifoRow(
            p.k,
            p.likelihood,
            p.noise_link,
            p.sigma_link,
            p.regularizer,
            p.exact,
            p.nu,
            p.constant,
            vifo_args.n_samples,
            vifo_args.prior,
        );
        term = vifo_row(row, at, is_data, y, weight, eta, draw, first, moments);
    }
    vifo_terms[i * 3u] = term.x;
    vifo_terms[i * 3u + 1u] = term.y;
    vifo_terms[i * 3u + 2u] = term.z;
}

fn head_output(at: u32) -> f32 {
    return vifo_outputs[at];
}

fn head_moment(at: u32) -> f32 {
    return vifo_moments[at];
}

fn head_gradient(at: u32) -> f32 {
    return vifo_doutputs[at];
}

fn set_head_gradient(at: u32, value: f32) {
    vifo_doutputs[at] = value;
}
