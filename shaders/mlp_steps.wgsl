// needs: index, math, activation, rng, step, regularizer, head, own_row, resident
// Many steps of a small network with one hidden layer in one dispatch: a workgroup trains a replica, whose weights and moments stay in
// its threads' registers from step to step (`resident`). Twin: src/ops/mlp_steps.rs.

override HEAD: u32 = 1u;
override LIKELIHOOD: u32 = 1u;
override NOISE_LINK: u32 = 0u;
override SIGMA_LINK: u32 = 0u;
override REGULARIZER: u32 = 0u;
override EXACT: u32 = 0u;
override SHUFFLE: u32 = 1u;
override FOLDED: u32 = 0u;
override CLIP: u32 = 0u;

struct MlpSteps {
    replicas: u32,
    n_rows: u32,
    batch: u32,
    shuffle: u32,
    first_member: u32,
    per_set: u32,
    first_set: u32,
    held_out: u32,
    folds: u32,
    inputs: u32,
    hidden: u32,
    outputs: u32,
    activation: u32,
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
    clip: u32,
    optimizer: u32,
    beta1: f32,
    beta2: f32,
    eps: f32,
    momentum: f32,
}
@group(0) @binding(0) var<uniform> steps_params: MlpSteps;
@group(0) @binding(1) var<storage, read> steps_x: array<f32>;
@group(0) @binding(2) var<storage, read> steps_targets: array<f32>;
@group(0) @binding(3) var<storage, read_write> steps_weights: array<f32>;
@group(0) @binding(4) var<storage, read_write> steps_first: array<f32>;
@group(0) @binding(5) var<storage, read_write> steps_second: array<f32>;
@group(0) @binding(6) var<storage, read_write> steps_sums: array<f32>;
@group(0) @binding(7) var<storage, read> steps_schedule: array<StepArgs>;
@group(0) @binding(8) var<storage, read> steps_count: u32;

// As in `optimizer`.
fn clip_scale(clip_norm: f32, sum_squares: f32) -> f32 {
    return at_most(clip_norm / sqrt(sum_squares), 1.0);
}

fn moves_of(args: StepArgs, scale: f32) -> Moves {
    let p = steps_params;
    if OPTIMIZER == OPTIMIZER_SGD {
        return Moves(scale, args.weight_decay, args.lr, 0.0, 0.0, p.momentum, 0.0, 0.0);
    }
    let decay = select(args.weight_decay, 0.0, OPTIMIZER == OPTIMIZER_ADAMW);
    let root = 1.0 / sqrt(args.bias2);
    return Moves(scale, decay, args.lr / args.bias1, args.lr * args.weight_decay, root, p.beta1, p.beta2, p.eps);
}

// Where number c of quadruple q of a unit stands in the flat vector, and 1 where it is there.
fn place(unit: u32, q: u32, c: u32) -> vec2<u32> {
    if q < QUADS {
        let k = 4u * q + c;
        return vec2<u32>(k * HIDDEN + unit, select(0u, 1u, k < INPUTS && unit < HIDDEN));
    }
    let t = 4u * (q - QUADS) + c;
    let of_outputs = (INPUTS + 1u) * HIDDEN + unit * OUTPUTS + t - 1u;
    return vec2<u32>(select(of_outputs, INPUTS * HIDDEN + unit, t == 0u), select(0u, 1u, t <= OUTPUTS && unit < HIDDEN));
}

fn load_number(at: u32, c: u32, base: u32, spot: vec2<u32>) {
    let source = base + select(0u, spot.x, spot.y == 1u);
    own_weights[at][c] = select(0.0, steps_weights[source], spot.y == 1u);
    own_first[at][c] = select(0.0, steps_first[source], spot.y == 1u);
    if OPTIMIZER != OPTIMIZER_SGD {
        own_second[at][c] = select(0.0, steps_second[source], spot.y == 1u);
    }
}

fn store_number(at: u32, c: u32, base: u32, spot: vec2<u32>) {
    if spot.y == 1u {
        steps_weights[base + spot.x] = own_weights[at][c];
        steps_first[base + spot.x] = own_first[at][c];
        if OPTIMIZER != OPTIMIZER_SGD {
            steps_second[base + spot.x] = own_second[at][c];
        }
    }
}

fn carry_quad(stores: bool, u: u32, q: u32, base: u32, lane: u32) {
    let at = u * SPAN + q;
    let unit = u * THREADS + lane;
    for (var c = 0u; c < 4u; c++) {
        if stores {
            store_number(at, c, base, place(unit, q, c));
        } else {
            load_number(at, c, base, place(unit, q, c));
        }
    }
}

fn carry_unit(stores: bool, u: u32, base: u32, lane: u32) {
    carry_quad(stores, u, 0u, base, lane);
    if SPAN > 1u { carry_quad(stores, u, 1u, base, lane); }
    if SPAN > 2u { carry_quad(stores, u, 2u, base, lane); }
    if SPAN > 3u { carry_quad(stores, u, 3u, base, lane); }
    if SPAN > 4u { carry_quad(stores, u, 4u, base, lane); }
    if SPAN > 5u { carry_quad(stores, u, 5u, base, lane); }
    if SPAN > 6u { carry_quad(stores, u, 6u, base, lane); }
    if SPAN > 7u { carry_quad(stores, u, 7u, base, lane); }
    if SPAN > 8u { carry_quad(stores, u, 8u, base, lane); }
    if SPAN > 9u { carry_quad(stores, u, 9u, base, lane); }
}

// All numbers of a thread, from memory or back to it.
fn carry_all(stores: bool, base: u32, lane: u32) {
    carry_unit(stores, 0u, base, lane);
    if UNITS > 1u { carry_unit(stores, 1u, base, lane); }
    if UNITS > 2u { carry_unit(stores, 2u, base, lane); }
    if UNITS > 3u { carry_unit(stores, 3u, base, lane); }
    if UNITS > 4u { carry_unit(stores, 4u, base, lane); }
    if UNITS > 5u { carry_unit(stores, 5u, base, lane); }
    if UNITS > 6u { carry_unit(stores, 6u, base, lane); }
    if UNITS > 7u { carry_unit(stores, 7u, base, lane); }
    // Of the copies of the outputs' biases the first thread's is stored.
    let biases = (INPUTS + 1u + OUTPUTS) * HIDDEN;
    let there = select(0u, 1u, !stores || lane == 0u);
    carry_bias(stores, 0u, base, vec2<u32>(biases, there));
    if OUTPUTS > 1u { carry_bias(stores, 1u, base, vec2<u32>(biases + 1u, there)); }
    if OUTPUTS > 2u { carry_bias(stores, 2u, base, vec2<u32>(biases + 2u, there)); }
    if OUTPUTS > 3u { carry_bias(stores, 3u, base, vec2<u32>(biases + 3u, there)); }
    if OUTPUTS > 4u { carry_bias(stores, 4u, base, vec2<u32>(biases + 4u, there)); }
    if OUTPUTS > 5u { carry_bias(stores, 5u, base, vec2<u32>(biases + 5u, there)); }
}

fn carry_bias(stores: bool, o: u32, base: u32, spot: vec2<u32>) {
    let at = UNITS * SPAN + o / 3u;
    if stores {
        store_number(at, o % 3u, base, spot);
    } else {
        load_number(at, o % 3u, base, spot);
    }
}

// Where a replica's batch comes from: divisions and random numbers cost as much as a block's products.
struct Batch {
    order: Permutation,
    // First place of the batch in the epoch's order.
    start: u32,
    // Rows that the order is turned by, of a set's rows, and the set's first one.
    turn: u32,
    set_rows: u32,
    set_first: u32,
}

fn batch_of(r: u32) -> Batch {
    let p = steps_params;
    let member = p.first_member + r;
    let set_rows = p.n_rows + p.held_out;
    var batch = Batch(Permutation(), 0u, 0u, set_rows, 0u);
    if FOLDED == 1u {
        // As in `gather_rows`.
        let fold = member % p.folds;
        batch.turn = fold * (set_rows / p.folds) + fold * (set_rows % p.folds) / p.folds + p.held_out;
    }
    batch.set_first = select(member / max(p.per_set, 1u) - p.first_set, 0u, p.per_set == 0u) * set_rows;
    return batch;
}

fn at_step(before: Batch, r: u32, args: StepArgs) -> Batch {
    let p = steps_params;
    var batch = before;
    batch.start = args.batch_start % p.n_rows;
    if SHUFFLE == 1u {
        batch.order = permutation(args.seed, args.epoch, p.first_member + r, p.n_rows);
    }
    return batch;
}

// The row of the data set that stands at place b of a batch, which has no more rows than the set.
fn row_of(batch: Batch, b: u32) -> u32 {
    let n_rows = steps_params.n_rows;
    var row = batch.start + min(b, n_rows);
    row = select(row, row - n_rows, row >= n_rows);
    if SHUFFLE == 1u {
        row = permute(batch.order, row);
    }
    if FOLDED == 1u {
        row += batch.turn;
        row = select(row, row - batch.set_rows, row >= batch.set_rows);
    }
    return row + batch.set_first;
}

// The inputs of a block's rows; returns the row of a thread that has one.
fn stage(batch: Batch, lane: u32, first: u32) -> u32 {
    let row = row_of(batch, first + min(lane, BLOCK - 1u));
    if lane < BLOCK {
        block_rows[lane] = row;
    }
    workgroupBarrier();
    // The number of threads is even: a thread's quadruples are of the same four rows.
    let four = 4u * (lane % 2u);
    let at = INPUTS * vec4<u32>(block_rows[four], block_rows[four + 1u], block_rows[four + 2u], block_rows[four + 3u]);
    for (var t = lane; t < INPUT_LEN; t += THREADS) {
        let x = at + t / 2u;
        block_x[t] = vec4<f32>(steps_x[x.x], steps_x[x.y], steps_x[x.z], steps_x[x.w]);
    }
    return row;
}

// As `softmax_head`.
fn softmax_row(label: u32, weight: f32) -> f32 {
    var top = head_outputs[0];
    for (var c = 1u; c < OUTPUTS; c++) {
        top = at_least(top, head_outputs[c]);
    }
    var sum = 0.0;
    var chosen = 0.0;
    for (var c = 0u; c < OUTPUTS; c++) {
        let z = head_outputs[c];
        sum += exp(z - top);
        chosen = select(chosen, z, c == label);
    }
    for (var c = 0u; c < OUTPUTS; c++) {
        head_gradients[c] = weight * exp(head_outputs[c] - top) / sum - select(0.0, weight, c == label);
    }
    return log(sum) + top - chosen;
}

// The terms of place b of replica r's batch; the outputs' gradient goes to `head_gradients`.
fn head_row(r: u32, b: u32, y: f32, args: StepArgs) -> vec3<f32> {
    let p = steps_params;
    for (var o = 0u; o < OUTPUTS; o++) {
        head_gradients[o] = 0.0;
    }
    let weight = 1.0 / f32(args.n_valid);
    if HEAD == HEAD_VIFO {
        let draw = Draw(args.seed, STREAM_HEAD, args.step, p.first_replica + r);
        let k = OUTPUTS / 2u;
        let first = b * args.n_samples * k;
        let of_row = VifoRow(
            k,
            LIKELIHOOD,
            NOISE_LINK,
            SIGMA_LINK,
            REGULARIZER,
            EXACT,
            p.nu,
            p.constant,
            args.n_samples,
            args.prior,
        );
        return vifo_row(of_row, 0u, true, y, weight, args.eta, draw, first, 0u);
    }
    if HEAD == HEAD_SOFTMAX {
        return vec3<f32>(softmax_row(u32(y), weight), 0.0, 0.0);
    }
    var loss = vec3<f32>();
    if HEAD == HEAD_STUDENT {
        loss = student_loss(NOISE_LINK, p.nu, p.constant, head_outputs[0], head_outputs[1], y);
    } else {
        loss = gaussian_loss(NOISE_LINK, head_outputs[0], head_outputs[1], y);
    }
    head_gradients[0] = weight * loss.y;
    head_gradients[1] = weight * loss.z;
    return vec3<f32>(loss.x, 0.0, 0.0);
}

// The terms of a thread's row, and the gradient for all threads; rows past the batch's valid ones have none.
fn head_block(r: u32, lane: u32, first: u32, row: u32, args: StepArgs) -> vec3<f32> {
    outputs_of_row(lane);
    let term = head_row(r, first + lane, steps_targets[row], args);
    let counts = first + lane < args.n_valid;
    if lane < BLOCK {
        for (var o = 0u; o < OUTPUTS; o++) {
            block_dz[o * BLOCK + lane] = select(0.0, head_gradients[o], counts);
        }
    }
    return select(vec3<f32>(), term, counts && lane < BLOCK);
}

// Sums of the terms of a batch's rows, and of how many are not finite.
struct Totals {
    term: vec3<f32>,
    bad: vec3<f32>,
}

// Adds the terms of a thread's row.
fn with_row(totals: Totals, t: vec3<f32>) -> Totals {
    let finite = vec3<bool>(is_finite(t.x), is_finite(t.y), is_finite(t.z));
    return Totals(totals.term + t, totals.bad + select(vec3<f32>(1.0), vec3<f32>(), finite));
}

// What all threads have of a step together: the sum of squares of the gradient and the totals.
struct Together {
    squares: f32,
    totals: Totals,
}

// Every thread adds in the same order.
fn together(lane: u32, squares: f32, totals: Totals) -> Together {
    // Counts of at most 2^8 rows each.
    let bad = totals.bad.x + 512.0 * totals.bad.y + 262144.0 * totals.bad.z;
    partial[2u * lane] = vec4<f32>(squares, totals.term.x, bad, totals.term.y);
    if HEAD == HEAD_VIFO {
        partial[2u * lane + 1u].x = totals.term.z;
    }
    workgroupBarrier();
    var all = Together(0.0, Totals(vec3<f32>(), vec3<f32>()));
    for (var t = 0u; t < BLOCK; t++) {
        let of_thread = partial[2u * t];
        all.squares += of_thread.x;
        let bad = u32(of_thread.z);
        all.totals.bad += vec3<f32>(f32(bad & 511u), f32((bad >> 9u) & 511u), f32(bad >> 18u));
        all.totals.term += vec3<f32>(of_thread.y, of_thread.w, 0.0);
        if HEAD == HEAD_VIFO {
            all.totals.term.z += partial[2u * t + 1u].x;
        }
    }
    // The others have no rows.
    for (var t = BLOCK; t < THREADS; t++) {
        all.squares += partial[2u * t].x;
    }
    all.squares += dot(own_grad[UNITS * SPAN], own_grad[UNITS * SPAN]);
    if OUTPUTS > 3u {
        all.squares += dot(own_grad[UNITS * SPAN + 1u], own_grad[UNITS * SPAN + 1u]);
    }
    return all;
}

// What clipping leaves.
fn clipped(squares: f32, args: StepArgs) -> f32 {
    if CLIP == 0u {
        return 1.0;
    }
    return select(1.0, clip_scale(args.clip_norm, squares), args.clip_norm > 0.0);
}

// A replica's entry in `sums`, of which each thread has a copy.
struct Sums {
    terms: vec3<f32>,
    steps: f32,
    bad_step: f32,
    bad_term: f32,
}

// As `loss_reduce`.
fn summed(before: Sums, totals: Totals, args: StepArgs) -> Sums {
    var sums = before;
    let data_rows = steps_params.batch;
    let full = args.n_valid == data_rows;
    let share = select(f32(args.n_valid) / f32(data_rows), 1.0, full);
    let total = totals.term / vec3<f32>(f32(args.n_valid), f32(args.n_valid), 1.0);
    for (var t = 0u; t < 3u; t++) {
        let is_bad = totals.bad[t] > 0.0 || !is_finite(total[t]);
        if is_bad && sums.bad_step == 0.0 {
            sums.bad_step = f32(args.step) + 1.0;
            sums.bad_term = f32(t) + 1.0;
        }
    }
    sums.terms += share * total;
    sums.steps += share;
    return sums;
}

@compute @workgroup_size(THREADS)
fn mlp_steps(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let r = flat_group(group, groups);
    if r >= steps_params.replicas {
        return;
    }
    let base = r * ((INPUTS + 1u) * HIDDEN + (HIDDEN + 1u) * OUTPUTS);
    var moves = Moves(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    carry_all(false, base, lane);
    let s = r * 8u;
    var sums = Sums(
        vec3<f32>(steps_sums[s], steps_sums[s + 1u], steps_sums[s + 2u]),
        steps_sums[s + 3u],
        steps_sums[s + 4u],
        steps_sums[s + 5u],
    );
    var batch = batch_of(r);
    let count = steps_count;
    for (var i = 0u; i < count; i++) {
        let args = steps_schedule[i];
        batch = at_step(batch, r, args);
        treat_all(CLEAR, moves);
        var totals = Totals(vec3<f32>(), vec3<f32>());
        for (var first = 0u; first < args.n_valid; first += BLOCK) {
            let row = stage(batch, lane, first);
            workgroupBarrier();
            forward_block(lane);
            workgroupBarrier();
            totals = with_row(totals, head_block(r, lane, first, row, args));
            workgroupBarrier();
            backward_block();
        }
        let all = together(lane, treat_all(SQUARE, moves), totals);
        moves = moves_of(args, clipped(all.squares, args));
        if OPTIMIZER != OPTIMIZER_SGD || args.warm != 1u {
            treat_all(MOVE, moves);
        }
        sums = summed(sums, all.totals, args);
    }
    workgroupBarrier();
    carry_all(true, base, lane);
    if lane == 0u {
        steps_sums[s] = sums.terms.x;
        steps_sums[s + 1u] = sums.terms.y;
        steps_sums[s + 2u] = sums.terms.z;
        steps_sums[s + 3u] = sums.steps;
        steps_sums[s + 4u] = sums.bad_step;
        steps_sums[s + 5u] = sums.bad_term;
    }
}
