// needs: index, math, activation, rng, step, regularizer, head, own_row, mlp
// A small network's pass: eight rows of a batch forward, through the head and back, all but the gradient of the weights. Twin:
// src/ops/mlp.rs. A software adapter loses much where a barrier stands, so that there a thread has its eight rows to itself; on
// hardware LANES threads share them. Of a branch software computes both sides: activation and head, of which a network has one, are
// the pipeline's constants.

override LANES: u32 = 1u;
override THREADS: u32 = 8u;
override ACTIVATION: u32 = 1u;
override HEAD: u32 = 1u;

// Outputs of a network at most.
const MOST_OUTPUTS: u32 = 32u;

struct MlpPass {
    replicas: u32,
    share: u32,
    target_share: u32,
    rows: u32,
    data_rows: u32,
    activation: u32,
    has_dx: u32,
    head: u32,
    k: u32,
    likelihood: u32,
    noise_link: u32,
    sigma_link: u32,
    regularizer: u32,
    exact: u32,
    first_replica: u32,
    nu: f32,
    constant: f32,
    layers: u32,
    n0: u32,
    n1: u32,
    n2: u32,
    n3: u32,
    n4: u32,
    n5: u32,
    n6: u32,
    n7: u32,
}
@group(0) @binding(0) var<uniform> pass_params: MlpPass;
@group(0) @binding(1) var<storage, read> pass_x: array<f32>;
@group(0) @binding(2) var<storage, read> pass_targets: array<f32>;
@group(0) @binding(3) var<storage, read> pass_packed: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> pass_tape: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> pass_terms: array<f32>;
@group(0) @binding(6) var<storage, read_write> pass_dx: array<f32>;
@group(0) @binding(7) var<storage, read> pass_args: StepArgs;

// Threads that share rows wait for what the others have written to the tape.
fn meet() {
    if LANES > 1u {
        storageBarrier();
    }
}

// sums[j] + a * w[j]: four rows times four columns.
fn outer(sums: mat4x4<f32>, a: vec4<f32>, w: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(sums[0] + a * w.x, sums[1] + a * w.y, sums[2] + a * w.z, sums[3] + a * w.w);
}

// sum + d w: four rows of four columns, times a quadruple of W.
fn blend(sum: vec4<f32>, d: mat4x4<f32>, w: vec4<f32>) -> vec4<f32> {
    return sum + d[0] * w.x + d[1] * w.y + d[2] * w.z + d[3] * w.w;
}

// A layer as the kernels see it.
struct Layer {
    n_in: u32,
    n_out: u32,
    // First packed quadruple.
    w: u32,
    // Quadruples from one unit of the tape to the next.
    unit: u32,
    // Quadruples of the tape: of the input, the output, and what the slope of the output's activation is read from.
    x: u32,
    y: u32,
    saved: u32,
}

// Four units of the tape.
fn four_units(at: u32, unit: u32) -> mat4x4<f32> {
    return mat4x4<f32>(pass_tape[at], pass_tape[at + unit], pass_tape[at + 2u * unit], pass_tape[at + 3u * unit]);
}

fn store_units(at: u32, unit: u32, values: mat4x4<f32>) {
    pass_tape[at] = values[0];
    pass_tape[at + unit] = values[1];
    pass_tape[at + 2u * unit] = values[2];
    pass_tape[at + 3u * unit] = values[3];
}

fn store_activated(l: Layer, is_last: bool, at: u32, z: mat4x4<f32>) {
    if keeps_pre(ACTIVATION) && !is_last {
        store_units(l.saved + at, l.unit, z);
    }
    let y = mat4x4<f32>(
        select(activate_quad(ACTIVATION, z[0]), z[0], is_last),
        select(activate_quad(ACTIVATION, z[1]), z[1], is_last),
        select(activate_quad(ACTIVATION, z[2]), z[2], is_last),
        select(activate_quad(ACTIVATION, z[3]), z[3], is_last),
    );
    store_units(l.y + at, l.unit, y);
}

// Octet t of the columns of y = act(x W + b) for eight rows. Where there is no second quadruple of columns, the first loop has no rounds.
fn output_tile(l: Layer, is_last: bool, t: u32) {
    let row = 2u * octets(l.n_out);
    var w = l.w + 2u * t;
    let bias = w + l.n_in * row;
    var x = l.x;
    let b0 = pass_packed[bias];
    let b1 = pass_packed[bias + 1u];
    var s00 = mat4x4<f32>(vec4<f32>(b0.x), vec4<f32>(b0.y), vec4<f32>(b0.z), vec4<f32>(b0.w));
    var s01 = mat4x4<f32>(vec4<f32>(b1.x), vec4<f32>(b1.y), vec4<f32>(b1.z), vec4<f32>(b1.w));
    var s10 = s00;
    var s11 = s01;
    let wide = select(0u, l.n_in, 8u * t + 4u < l.n_out);
    for (var k = 0u; k < wide; k++) {
        let a0 = pass_tape[x];
        let a1 = pass_tape[x + 1u];
        let w0 = pass_packed[w];
        let w1 = pass_packed[w + 1u];
        s00 = outer(s00, a0, w0);
        s01 = outer(s01, a0, w1);
        s10 = outer(s10, a1, w0);
        s11 = outer(s11, a1, w1);
        w += row;
        x += l.unit;
    }
    for (var k = wide; k < l.n_in; k++) {
        let w0 = pass_packed[w];
        s00 = outer(s00, pass_tape[x], w0);
        s10 = outer(s10, pass_tape[x + 1u], w0);
        w += row;
        x += l.unit;
    }
    let at = 8u * t * l.unit;
    store_activated(l, is_last, at, s00);
    store_activated(l, is_last, at + 1u, s10);
    store_activated(l, is_last, at + 4u * l.unit, s01);
    store_activated(l, is_last, at + 4u * l.unit + 1u, s11);
}

fn sloped(saved: vec4<f32>, d: vec4<f32>, inside: bool) -> vec4<f32> {
    if ACTIVATION == ACT_RELU {
        return select(vec4<f32>(), d, vec4<bool>(inside) & (saved > vec4<f32>()));
    }
    return select(vec4<f32>(), d * slope_quad(ACTIVATION, saved), inside);
}

// Four units from `first` on, of which those that pad an octet get 0; `quad` = which four of the eight rows.
fn store_sloped(l: Layer, to: u32, saved: u32, first: u32, quad: u32, d: mat4x4<f32>) {
    let at = first * l.unit + quad;
    let s = four_units(saved + at, l.unit);
    let units = remaining(first, l.n_in);
    let values = mat4x4<f32>(
        sloped(s[0], d[0], units > 0u),
        sloped(s[1], d[1], units > 1u),
        sloped(s[2], d[2], units > 2u),
        sloped(s[3], d[3], units > 3u),
    );
    store_units(to + at, l.unit, values);
}

// Octet t of the units of a layer's input: (dy W') times the slope of the activation that made it, for eight rows.
fn input_tile(l: Layer, to: u32, t: u32) {
    let row = 2u * octets(l.n_out);
    let last = vec4<u32>(l.n_in - 1u);
    let low = l.w + min(8u * t + vec4<u32>(0u, 1u, 2u, 3u), last) * row;
    let high = l.w + min(8u * t + vec4<u32>(4u, 5u, 6u, 7u), last) * row;
    var a0 = mat4x4<f32>();
    var a1 = mat4x4<f32>();
    var b0 = mat4x4<f32>();
    var b1 = mat4x4<f32>();
    var y = l.y;
    for (var j = 0u; j < (l.n_out + 3u) / 4u; j++) {
        let d0 = four_units(y, l.unit);
        let d1 = four_units(y + 1u, l.unit);
        let w0 = pass_packed[low.x + j];
        let w1 = pass_packed[low.y + j];
        let w2 = pass_packed[low.z + j];
        let w3 = pass_packed[low.w + j];
        a0 = mat4x4<f32>(blend(a0[0], d0, w0), blend(a0[1], d0, w1), blend(a0[2], d0, w2), blend(a0[3], d0, w3));
        a1 = mat4x4<f32>(blend(a1[0], d1, w0), blend(a1[1], d1, w1), blend(a1[2], d1, w2), blend(a1[3], d1, w3));
        let w4 = pass_packed[high.x + j];
        let w5 = pass_packed[high.y + j];
        let w6 = pass_packed[high.z + j];
        let w7 = pass_packed[high.w + j];
        b0 = mat4x4<f32>(blend(b0[0], d0, w4), blend(b0[1], d0, w5), blend(b0[2], d0, w6), blend(b0[3], d0, w7));
        b1 = mat4x4<f32>(blend(b1[0], d1, w4), blend(b1[1], d1, w5), blend(b1[2], d1, w6), blend(b1[3], d1, w7));
        y += 4u * l.unit;
    }
    store_sloped(l, to, l.saved, 8u * t, 0u, a0);
    store_sloped(l, to, l.saved, 8u * t, 1u, a1);
    store_sloped(l, to, l.saved, 8u * t + 4u, 0u, b0);
    store_sloped(l, to, l.saved, 8u * t + 4u, 1u, b1);
}

// Four inputs of the network, of which a layer before it asks for the gradient; `at` = the first of the eight rows in the tensor.
fn dx_tile(l: Layer, at: u32, rows: u32, t: u32) {
    let row = 2u * octets(l.n_out);
    let w = l.w + min(4u * t + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(l.n_in - 1u)) * row;
    let units = min(remaining(4u * t, l.n_in), 4u);
    for (var quad = 0u; quad < 2u; quad++) {
        var sums = mat4x4<f32>();
        for (var j = 0u; j < (l.n_out + 3u) / 4u; j++) {
            let d = four_units(l.y + j * 4u * l.unit + quad, l.unit);
            sums = mat4x4<f32>(
                blend(sums[0], d, pass_packed[w.x + j]),
                blend(sums[1], d, pass_packed[w.y + j]),
                blend(sums[2], d, pass_packed[w.z + j]),
                blend(sums[3], d, pass_packed[w.w + j]),
            );
        }
        // A row of the tensor has its numbers one after another.
        let by_row = transpose(sums);
        let to = at + 4u * quad * l.n_in + 4u * t;
        let left = remaining(4u * quad, rows);
        store_dx_row(to, select(0u, units, left > 0u), by_row[0]);
        store_dx_row(to + l.n_in, select(0u, units, left > 1u), by_row[1]);
        store_dx_row(to + 2u * l.n_in, select(0u, units, left > 2u), by_row[2]);
        store_dx_row(to + 3u * l.n_in, select(0u, units, left > 3u), by_row[3]);
    }
}

fn store_dx_row(at: u32, units: u32, d: vec4<f32>) {
    if units > 0u { pass_dx[at] = d.x; }
    if units > 1u { pass_dx[at + 1u] = d.y; }
    if units > 2u { pass_dx[at + 2u] = d.z; }
    if units > 3u { pass_dx[at + 3u] = d.w; }
}

// The terms of row `row` of replica r's batch; the outputs' gradient goes to `head_gradients`.
fn head_row(r: u32, row: u32, outputs: u32) -> vec3<f32> {
    let p = pass_params;
    let is_data = row < p.data_rows;
    let n_valid = pass_args.n_valid;
    for (var c = 0u; c < outputs; c++) {
        head_gradients[c] = 0.0;
    }
    if row >= p.rows || (is_data && row >= n_valid) {
        return vec3<f32>();
    }
    let weight = 1.0 / f32(select(max(p.rows - p.data_rows, 1u), n_valid, is_data));
    var y = 0.0;
    if is_data {
        y = pass_targets[r / p.target_share * p.data_rows + row];
    }
    if HEAD == HEAD_VIFO {
        let draw = Draw(pass_args.seed, STREAM_HEAD, pass_args.step, p.first_replica + r);
        let first = row * pass_args.n_samples * p.k;
        let eta = select(pass_args.eta_aux, pass_args.eta, is_data);
        let of_row = VifoRow(
            p.k,
            p.likelihood,
            p.noise_link,
            p.sigma_link,
            p.regularizer,
            p.exact,
            p.nu,
            p.constant,
            pass_args.n_samples,
            pass_args.prior,
        );
        return vifo_row(of_row, 0u, is_data, y, weight, eta, draw, first, 0u);
    }
    if HEAD == HEAD_SOFTMAX {
        return vec3<f32>(softmax_row(outputs, u32(y), weight), 0.0, 0.0);
    }
    var loss = vec3<f32>();
    if HEAD == HEAD_STUDENT {
        loss = student_loss(p.noise_link, p.nu, p.constant, head_outputs[0], head_outputs[1], y);
    } else {
        loss = gaussian_loss(p.noise_link, head_outputs[0], head_outputs[1], y);
    }
    head_gradients[0] = weight * loss.y;
    head_gradients[1] = weight * loss.z;
    return vec3<f32>(loss.x, 0.0, 0.0);
}

// As `softmax_head`.
fn softmax_row(k: u32, label: u32, weight: f32) -> f32 {
    var top = head_outputs[0];
    for (var c = 1u; c < k; c++) {
        top = at_least(top, head_outputs[c]);
    }
    var sum = 0.0;
    var chosen = 0.0;
    for (var c = 0u; c < k; c++) {
        let z = head_outputs[c];
        sum += exp(z - top);
        chosen = select(chosen, z, c == label);
    }
    for (var c = 0u; c < k; c++) {
        head_gradients[c] = weight * exp(head_outputs[c] - top) / sum - select(0.0, weight, c == label);
    }
    return log(sum) + top - chosen;
}

// Four rows of the head, from row `first` of replica r's batch on: from the outputs at `z` of the tape to their gradient at `dz`.
fn head_rows(r: u32, first: u32, outputs: u32, z: u32, dz: u32, unit: u32) {
    for (var b = 0u; b < 4u; b++) {
        for (var c = 0u; c < outputs; c++) {
            head_outputs[c] = pass_tape[z + c * unit][b];
        }
        let row = first + b;
        let term = head_row(r, row, outputs);
        // The thread has the quadruple to itself.
        for (var c = 0u; c < outputs; c++) {
            pass_tape[dz + c * unit][b] = head_gradients[c];
        }
        if row < pass_params.rows {
            let to = (r * pass_params.rows + row) * 3u;
            pass_terms[to] = term.x;
            pass_terms[to + 1u] = term.y;
            pass_terms[to + 2u] = term.z;
        }
    }
    for (var c = outputs; c < 8u * octets(outputs); c++) {
        pass_tape[dz + c * unit] = vec4<f32>();
    }
}

// LANES threads for eight rows of a replica's batch.
@compute @workgroup_size(THREADS)
fn mlp_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = pass_params;
    let zero = pass_args.n_valid >> 31u;
    let widths = widths_of(p.layers, vec4<u32>(p.n0, p.n1, p.n2, p.n3), vec4<u32>(p.n4, p.n5, p.n6, p.n7), zero);
    var n = widths.n;
    let layers = widths.layers;
    let keeps = keeps_pre(ACTIVATION);
    var tape = tape_of(widths, keeps);
    let blocks = octets(p.rows + zero);
    let job = (flat_group(group, groups) * THREADS + lane) / LANES;
    let sub = lane % LANES;
    // Threads that are too many wait where the others meet.
    let inside = job < p.replicas * blocks;
    let r = min(job / blocks, p.replicas - 1u);
    let block = job - job / blocks * blocks;
    let first_row = 8u * block;
    let unit = 2u * blocks;
    let base = r * tape.units * unit + 2u * block;

    for (var t = sub; t < select(0u, 2u * n[0], inside); t += LANES) {
        let row = min(first_row + 4u * (t & 1u) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.rows - 1u));
        let at = (r / p.share * p.rows + row) * n[0] + t / 2u;
        pass_tape[base + t / 2u * unit + (t & 1u)] = vec4<f32>(pass_x[at.x], pass_x[at.y], pass_x[at.z], pass_x[at.w]);
    }
    meet();

    for (var i = 1u; i <= layers; i++) {
        let y = base + tape.y[i] * unit;
        let saved = y + 8u * octets(n[i]) * unit;
        let x = base + tape.y[i - 1u] * unit;
        let l = Layer(n[i - 1u], n[i], r * tape.w[0] + tape.w[i], unit, x, y, saved);
        for (var t = sub; t < select(0u, octets(n[i]), inside); t += LANES) {
            output_tile(l, i == layers, t);
        }
        meet();
    }

    let outputs = n[layers];
    let z = base + tape.y[layers] * unit;
    let dz = z + 8u * octets(outputs) * unit;
    for (var t = sub; t < select(0u, 2u, inside); t += LANES) {
        head_rows(r, first_row + 4u * t, outputs, z + t, dz + t, unit);
    }
    meet();

    for (var i = layers; i > 1u; i--) {
        // Units from a layer's output to its gradient; where the two have none between them, the slope is read from the output.
        let behind = 8u * octets(n[i]) * select(1u, 2u, keeps && i < layers);
        let below = 8u * octets(n[i - 1u]) * select(0u, 1u, keeps);
        let y = base + (tape.y[i] + behind) * unit;
        let x = base + tape.y[i - 1u] * unit;
        let saved = x + below * unit;
        let to = x + (below + 8u * octets(n[i - 1u])) * unit;
        let l = Layer(n[i - 1u], n[i], r * tape.w[0] + tape.w[i], unit, x, y, saved);
        for (var t = sub; t < select(0u, octets(n[i - 1u]), inside); t += LANES) {
            input_tile(l, to, t);
        }
        meet();
    }
    let behind = 8u * octets(n[1]) * select(1u, 2u, keeps && layers > 1u);
    let l = Layer(n[0], n[1], r * tape.w[0], unit, base, base + (tape.y[1] + behind) * unit, base);
    for (var t = sub; t < select(0u, (n[0] + 3u) / 4u, inside && p.has_dx == 1u); t += LANES) {
        dx_tile(l, (r * p.rows + first_row) * n[0], remaining(first_row, p.rows), t);
    }
}
