// A network with one hidden layer that stays in the registers of a workgroup's threads; builds on math and activation. Its family reads
// and writes memory.
// A thread has hidden units to itself: their weights from the inputs, bias and weights to the outputs, with moments and gradients. A
// batch goes through in blocks of eight rows, of which the threads share inputs, sums of outputs and the outputs' gradient. A software
// adapter's load from shared memory costs a hundred instructions, and it keeps an array in registers only where every index is known:
// so few threads have many units each, sizes are the pipeline's constants, and units and quadruples are written out, one call each, in
// place of loops that a compiler would not unroll.

override THREADS: u32 = 8u;
override INPUTS: u32 = 1u;
override HIDDEN: u32 = 1u;
override OUTPUTS: u32 = 2u;
override ACTIVATION: u32 = 1u;
override OPTIMIZER: u32 = 0u;
// Hidden units of a thread. Quadruples of a unit: weights of the inputs, and behind them the bias and the weights to the outputs.
override UNITS: u32 = (HIDDEN + THREADS - 1u) / THREADS;
override QUADS: u32 = (INPUTS + 3u) / 4u;
override SPAN: u32 = QUADS + (OUTPUTS + 4u) / 4u;
// Quadruples of rows of a block's outputs. Into how many parts their sum over the threads is cut.
override ROW_QUADS: u32 = 2u * OUTPUTS;
override PARTS: u32 = min(max(THREADS / ROW_QUADS, 1u), MOST_PARTS);

// Rows that go through the network together.
const BLOCK: u32 = 8u;
const MOST_OUTPUTS: u32 = 6u;
const MOST_PARTS: u32 = 4u;
const MOST_UNITS: u32 = 8u;
// Of a thread: those of its units and, behind them, the outputs' biases, of which each thread has a copy.
const MOST_QUADS: u32 = 82u;

const OPTIMIZER_ADAM: u32 = 0u;
const OPTIMIZER_ADAMW: u32 = 1u;
const OPTIMIZER_SGD: u32 = 2u;

// Of a thread.
var<private> own_weights: array<vec4<f32>, MOST_QUADS>;
var<private> own_first: array<vec4<f32>, MOST_QUADS>;
var<private> own_second: array<vec4<f32>, MOST_QUADS>;
var<private> own_grad: array<vec4<f32>, MOST_QUADS>;
// Of a block, the first four rows and the next: each input; each unit's output and, where the slope is not read from it, slope; each
// output's sum and then its gradient.
var<private> own_x: array<vec4<f32>, 64>;
var<private> own_outputs: array<vec4<f32>, 16>;
var<private> own_slopes: array<vec4<f32>, 16>;
var<private> own_rows: array<vec4<f32>, 12>;
// Of a block: its rows' inputs, what each thread adds to the outputs, their sums by parts and the outputs' gradient.
override INPUT_LEN: u32 = 2u * INPUTS;
override PARTIAL_LEN: u32 = THREADS * ROW_QUADS;
override DZ_LEN: u32 = BLOCK * OUTPUTS;
override PART_LEN: u32 = PARTS * ROW_QUADS;
var<workgroup> block_rows: array<u32, BLOCK>;
var<workgroup> block_x: array<vec4<f32>, INPUT_LEN>;
var<workgroup> partial: array<vec4<f32>, PARTIAL_LEN>;
var<workgroup> part_sums: array<vec4<f32>, PART_LEN>;
var<workgroup> block_dz: array<f32, DZ_LEN>;

// What an optimizer's step goes by.
struct Moves {
    scale: f32,
    decay: f32,
    rate: f32,
    shrink: f32,
    root: f32,
    // SGD: the momentum.
    beta1: f32,
    beta2: f32,
    eps: f32,
}

fn settled_quad(moments: vec4<f32>, least: f32) -> vec4<f32> {
    return select(moments, vec4<f32>(), abs(moments) < vec4<f32>(least));
}

// A step of four weights, as `adam` and `sgd` take it.
fn move_quad(at: u32, moves: Moves) {
    var weight = own_weights[at];
    let d = own_grad[at] * moves.scale + moves.decay * weight;
    if OPTIMIZER == OPTIMIZER_SGD {
        let velocity = moves.beta1 * own_first[at] + d;
        own_first[at] = velocity;
        own_weights[at] = weight - moves.rate * velocity;
    } else {
        let m = settled_quad(moves.beta1 * own_first[at] + (1.0 - moves.beta1) * d, 1e-30);
        let v = settled_quad(moves.beta2 * own_second[at] + (1.0 - moves.beta2) * d * d, 1e-36);
        own_first[at] = m;
        own_second[at] = v;
        if OPTIMIZER == OPTIMIZER_ADAMW {
            weight -= moves.shrink * weight;
        }
        own_weights[at] = weight - moves.rate * m / (sqrt(v) * moves.root + moves.eps);
    }
}

// What is done with quadruples.
const CLEAR: u32 = 0u;
const SQUARE: u32 = 1u;
const MOVE: u32 = 2u;

fn treat(what: u32, at: u32, moves: Moves) -> f32 {
    if what == CLEAR {
        own_grad[at] = vec4<f32>();
    } else if what == SQUARE {
        return dot(own_grad[at], own_grad[at]);
    } else {
        move_quad(at, moves);
    }
    return 0.0;
}

fn treat_unit(what: u32, at: u32, moves: Moves) -> f32 {
    var sum = treat(what, at, moves);
    if SPAN > 1u { sum += treat(what, at + 1u, moves); }
    if SPAN > 2u { sum += treat(what, at + 2u, moves); }
    if SPAN > 3u { sum += treat(what, at + 3u, moves); }
    if SPAN > 4u { sum += treat(what, at + 4u, moves); }
    if SPAN > 5u { sum += treat(what, at + 5u, moves); }
    if SPAN > 6u { sum += treat(what, at + 6u, moves); }
    if SPAN > 7u { sum += treat(what, at + 7u, moves); }
    if SPAN > 8u { sum += treat(what, at + 8u, moves); }
    if SPAN > 9u { sum += treat(what, at + 9u, moves); }
    return sum;
}

// All numbers of a thread; the sum of what `SQUARE` finds, without the outputs' biases, which are every thread's.
fn treat_all(what: u32, moves: Moves) -> f32 {
    var sum = treat_unit(what, 0u, moves);
    if UNITS > 1u { sum += treat_unit(what, SPAN, moves); }
    if UNITS > 2u { sum += treat_unit(what, 2u * SPAN, moves); }
    if UNITS > 3u { sum += treat_unit(what, 3u * SPAN, moves); }
    if UNITS > 4u { sum += treat_unit(what, 4u * SPAN, moves); }
    if UNITS > 5u { sum += treat_unit(what, 5u * SPAN, moves); }
    if UNITS > 6u { sum += treat_unit(what, 6u * SPAN, moves); }
    if UNITS > 7u { sum += treat_unit(what, 7u * SPAN, moves); }
    treat(what, UNITS * SPAN, moves);
    if OUTPUTS > 3u { treat(what, UNITS * SPAN + 1u, moves); }
    return sum;
}

// Four rows of an input: few threads keep those of a block in registers.
fn rows_of_input(k: u32, high: u32) -> vec4<f32> {
    if THREADS > 2u * BLOCK {
        return block_x[2u * k + high];
    }
    return own_x[2u * k + high];
}

// A pipeline has one activation.
fn activated(z: vec4<f32>) -> vec4<f32> {
    if ACTIVATION == ACT_RELU {
        return vec4<f32>(at_least(z.x, 0.0), at_least(z.y, 0.0), at_least(z.z, 0.0), at_least(z.w, 0.0));
    }
    if ACTIVATION == ACT_SILU {
        return vec4<f32>(silu(z.x), silu(z.y), silu(z.z), silu(z.w));
    }
    if ACTIVATION == ACT_MISH {
        return vec4<f32>(mish(z.x), mish(z.y), mish(z.z), mish(z.w));
    }
    if ACTIVATION == ACT_SELU {
        return vec4<f32>(selu(z.x), selu(z.y), selu(z.z), selu(z.w));
    }
    return z;
}

fn slopes_of(z: vec4<f32>) -> vec4<f32> {
    if ACTIVATION == ACT_SILU {
        return vec4<f32>(silu_slope(z.x), silu_slope(z.y), silu_slope(z.z), silu_slope(z.w));
    }
    if ACTIVATION == ACT_MISH {
        return vec4<f32>(mish_slope(z.x), mish_slope(z.y), mish_slope(z.z), mish_slope(z.w));
    }
    return vec4<f32>(selu_slope(z.x), selu_slope(z.y), selu_slope(z.z), selu_slope(z.w));
}

// Eight rows.
struct Eight {
    low: vec4<f32>,
    high: vec4<f32>,
}

// Adds what quadruple q of the inputs makes of eight rows.
fn forward_quad(sums: Eight, at: u32, q: u32) -> Eight {
    let w = own_weights[at + q];
    let k = 4u * q;
    var low = sums.low + rows_of_input(k, 0u) * w.x;
    var high = sums.high + rows_of_input(k, 1u) * w.x;
    if INPUTS > k + 1u {
        low += rows_of_input(k + 1u, 0u) * w.y;
        high += rows_of_input(k + 1u, 1u) * w.y;
    }
    if INPUTS > k + 2u {
        low += rows_of_input(k + 2u, 0u) * w.z;
        high += rows_of_input(k + 2u, 1u) * w.z;
    }
    if INPUTS > k + 3u {
        low += rows_of_input(k + 3u, 0u) * w.w;
        high += rows_of_input(k + 3u, 1u) * w.w;
    }
    return Eight(low, high);
}

fn add_output(o: u32, y: Eight, weight: f32) {
    own_rows[2u * o] += y.low * weight;
    own_rows[2u * o + 1u] += y.high * weight;
}

fn forward_unit(u: u32) {
    let at = u * SPAN;
    let tail = own_weights[at + QUADS];
    var z = forward_quad(Eight(vec4<f32>(tail.x), vec4<f32>(tail.x)), at, 0u);
    if QUADS > 1u { z = forward_quad(z, at, 1u); }
    if QUADS > 2u { z = forward_quad(z, at, 2u); }
    if QUADS > 3u { z = forward_quad(z, at, 3u); }
    if QUADS > 4u { z = forward_quad(z, at, 4u); }
    if QUADS > 5u { z = forward_quad(z, at, 5u); }
    if QUADS > 6u { z = forward_quad(z, at, 6u); }
    if QUADS > 7u { z = forward_quad(z, at, 7u); }
    let y = Eight(activated(z.low), activated(z.high));
    own_outputs[2u * u] = y.low;
    own_outputs[2u * u + 1u] = y.high;
    if ACTIVATION >= ACT_SILU {
        own_slopes[2u * u] = slopes_of(z.low);
        own_slopes[2u * u + 1u] = slopes_of(z.high);
    }
    add_output(0u, y, tail.y);
    if OUTPUTS > 1u { add_output(1u, y, tail.z); }
    if OUTPUTS > 2u { add_output(2u, y, tail.w); }
    if OUTPUTS > 3u {
        let more = own_weights[at + QUADS + 1u];
        add_output(3u, y, more.x);
        if OUTPUTS > 4u { add_output(4u, y, more.y); }
        if OUTPUTS > 5u { add_output(5u, y, more.z); }
    }
}

// Eight numbers of a thread for the others.
fn share_output(o: u32, lane: u32) {
    let at = lane * ROW_QUADS + 2u * o;
    partial[at] = own_rows[2u * o];
    partial[at + 1u] = own_rows[2u * o + 1u];
}

fn keep_inputs(q: u32) {
    for (var k = 4u * q; k < min(4u * q + 4u, INPUTS); k++) {
        own_x[2u * k] = block_x[2u * k];
        own_x[2u * k + 1u] = block_x[2u * k + 1u];
    }
}

// What a thread's units add to the outputs of a block's rows.
fn forward_block(lane: u32) {
    if THREADS <= 2u * BLOCK {
        keep_inputs(0u);
        if QUADS > 1u { keep_inputs(1u); }
        if QUADS > 2u { keep_inputs(2u); }
        if QUADS > 3u { keep_inputs(3u); }
        if QUADS > 4u { keep_inputs(4u); }
        if QUADS > 5u { keep_inputs(5u); }
        if QUADS > 6u { keep_inputs(6u); }
        if QUADS > 7u { keep_inputs(7u); }
    }
    for (var i = 0u; i < 2u * OUTPUTS; i++) {
        own_rows[i] = vec4<f32>();
    }
    forward_unit(0u);
    if UNITS > 1u { forward_unit(1u); }
    if UNITS > 2u { forward_unit(2u); }
    if UNITS > 3u { forward_unit(3u); }
    if UNITS > 4u { forward_unit(4u); }
    if UNITS > 5u { forward_unit(5u); }
    if UNITS > 6u { forward_unit(6u); }
    if UNITS > 7u { forward_unit(7u); }
    share_output(0u, lane);
    if OUTPUTS > 1u { share_output(1u, lane); }
    if OUTPUTS > 2u { share_output(2u, lane); }
    if OUTPUTS > 3u { share_output(3u, lane); }
    if OUTPUTS > 4u { share_output(4u, lane); }
    if OUTPUTS > 5u { share_output(5u, lane); }
}

// The bias of an output.
fn output_bias(o: u32) -> f32 {
    return own_weights[UNITS * SPAN + o / 3u][o % 3u];
}

// The outputs of the row of each thread that has one. Few threads have no need of parts, whose barrier costs more.
fn outputs_of_row(lane: u32) {
    let row = min(lane, BLOCK - 1u);
    if THREADS <= 2u * BLOCK {
        for (var o = 0u; o < OUTPUTS; o++) {
            var sum = output_bias(o);
            for (var t = 0u; t < THREADS; t++) {
                sum += partial[t * ROW_QUADS + 2u * o + row / 4u][row % 4u];
            }
            head_outputs[o] = sum;
        }
        return;
    }
    for (var t = lane; t < PART_LEN; t += THREADS) {
        var sum = vec4<f32>();
        for (var thread = t / ROW_QUADS; thread < THREADS; thread += PARTS) {
            sum += partial[thread * ROW_QUADS + t % ROW_QUADS];
        }
        part_sums[t] = sum;
    }
    workgroupBarrier();
    for (var o = 0u; o < OUTPUTS; o++) {
        var sum = output_bias(o);
        for (var part = 0u; part < PARTS; part++) {
            sum += part_sums[part * ROW_QUADS + 2u * o + row / 4u][row % 4u];
        }
        head_outputs[o] = sum;
    }
}

fn over_rows(a: Eight, b: Eight) -> f32 {
    return dot(a.low, b.low) + dot(a.high, b.high);
}

fn rows_of_output(o: u32) -> Eight {
    return Eight(own_rows[2u * o], own_rows[2u * o + 1u]);
}

// The gradient of four weights of the inputs; d = that of the unit's rows.
fn backward_quad(at: u32, q: u32, d: Eight) {
    let k = 4u * q;
    var grad = own_grad[at + q];
    grad.x += over_rows(Eight(rows_of_input(k, 0u), rows_of_input(k, 1u)), d);
    if INPUTS > k + 1u { grad.y += over_rows(Eight(rows_of_input(k + 1u, 0u), rows_of_input(k + 1u, 1u)), d); }
    if INPUTS > k + 2u { grad.z += over_rows(Eight(rows_of_input(k + 2u, 0u), rows_of_input(k + 2u, 1u)), d); }
    if INPUTS > k + 3u { grad.w += over_rows(Eight(rows_of_input(k + 3u, 0u), rows_of_input(k + 3u, 1u)), d); }
    own_grad[at + q] = grad;
}

fn add_gradient(d: Eight, o: u32, weight: f32) -> Eight {
    return Eight(d.low + own_rows[2u * o] * weight, d.high + own_rows[2u * o + 1u] * weight);
}

fn backward_unit(u: u32) {
    let at = u * SPAN;
    let y = Eight(own_outputs[2u * u], own_outputs[2u * u + 1u]);
    let tail = own_weights[at + QUADS];
    var grad = own_grad[at + QUADS];
    var d = add_gradient(Eight(vec4<f32>(), vec4<f32>()), 0u, tail.y);
    grad.y += over_rows(y, rows_of_output(0u));
    if OUTPUTS > 1u {
        d = add_gradient(d, 1u, tail.z);
        grad.z += over_rows(y, rows_of_output(1u));
    }
    if OUTPUTS > 2u {
        d = add_gradient(d, 2u, tail.w);
        grad.w += over_rows(y, rows_of_output(2u));
    }
    if OUTPUTS > 3u {
        let more = own_weights[at + QUADS + 1u];
        var more_grad = own_grad[at + QUADS + 1u];
        d = add_gradient(d, 3u, more.x);
        more_grad.x += over_rows(y, rows_of_output(3u));
        if OUTPUTS > 4u {
            d = add_gradient(d, 4u, more.y);
            more_grad.y += over_rows(y, rows_of_output(4u));
        }
        if OUTPUTS > 5u {
            d = add_gradient(d, 5u, more.z);
            more_grad.z += over_rows(y, rows_of_output(5u));
        }
        own_grad[at + QUADS + 1u] = more_grad;
    }
    if ACTIVATION == ACT_RELU {
        d.low = select(vec4<f32>(), d.low, y.low > vec4<f32>());
        d.high = select(vec4<f32>(), d.high, y.high > vec4<f32>());
    }
    if ACTIVATION >= ACT_SILU {
        d.low *= own_slopes[2u * u];
        d.high *= own_slopes[2u * u + 1u];
    }
    grad.x += over_rows(Eight(vec4<f32>(1.0), vec4<f32>(1.0)), d);
    own_grad[at + QUADS] = grad;
    backward_quad(at, 0u, d);
    if QUADS > 1u { backward_quad(at, 1u, d); }
    if QUADS > 2u { backward_quad(at, 2u, d); }
    if QUADS > 3u { backward_quad(at, 3u, d); }
    if QUADS > 4u { backward_quad(at, 4u, d); }
    if QUADS > 5u { backward_quad(at, 5u, d); }
    if QUADS > 6u { backward_quad(at, 6u, d); }
    if QUADS > 7u { backward_quad(at, 7u, d); }
}

// The outputs' gradient from the threads that have a row, and its sum for the bias.
fn take_gradient(o: u32) {
    let at = o * BLOCK;
    let low = vec4<f32>(block_dz[at], block_dz[at + 1u], block_dz[at + 2u], block_dz[at + 3u]);
    let high = vec4<f32>(block_dz[at + 4u], block_dz[at + 5u], block_dz[at + 6u], block_dz[at + 7u]);
    own_rows[2u * o] = low;
    own_rows[2u * o + 1u] = high;
    own_grad[UNITS * SPAN + o / 3u][o % 3u] += dot(low + high, vec4<f32>(1.0));
}

// The gradient of a thread's weights on a block's rows.
fn backward_block() {
    take_gradient(0u);
    if OUTPUTS > 1u { take_gradient(1u); }
    if OUTPUTS > 2u { take_gradient(2u); }
    if OUTPUTS > 3u { take_gradient(3u); }
    if OUTPUTS > 4u { take_gradient(4u); }
    if OUTPUTS > 5u { take_gradient(5u); }
    backward_unit(0u);
    if UNITS > 1u { backward_unit(1u); }
    if UNITS > 2u { backward_unit(2u); }
    if UNITS > 3u { backward_unit(3u); }
    if UNITS > 4u { backward_unit(4u); }
    if UNITS > 5u { backward_unit(5u); }
    if UNITS > 6u { backward_unit(6u); }
    if UNITS > 7u { backward_unit(7u); }
}
