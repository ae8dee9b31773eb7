// Small networks (MLPs) in few kernels: how their numbers stand. Twin: src/ops/mlp.rs.
// Weights are packed: a layer's n_in rows of W and the bias as one row more, each of whole octets of columns, of which those behind the
// last are 0. The tape, on which a pass leaves what it computed, stands by units, four rows of the batch to a quadruple, units padded
// to octets with 0. So each load is of a quadruple, and sixteen of them serve 8 x 8 products: a software adapter, where a load of any
// lane costs as much as a dozen products, is bound by their number.

// The widths of a network's layers, its inputs first.
struct Widths {
    n: array<u32, 8>,
    layers: u32,
}

// `zero` = a 0 that no compiler can know: lavapipe puts parameters that bound a loop into the kernel's code, and where that makes it
// longer compiles it anew at each submit.
fn widths_of(layers: u32, low: vec4<u32>, high: vec4<u32>, zero: u32) -> Widths {
    let a = low + zero;
    let b = high + zero;
    return Widths(array<u32, 8>(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w), layers + zero);
}

// a / b for a below 2^20: the quotient's error, 3 ulp, is less than the half that is added. Integers a software adapter divides one by
// one.
fn quotient(a: u32, b: u32) -> u32 {
    return u32((f32(a) + 0.5) / f32(b));
}

fn octets(n: u32) -> u32 {
    return (n + 7u) / 8u;
}

fn packed_quads(widths: Widths) -> u32 {
    var w = widths;
    var all = 0u;
    for (var i = 0u; i < w.layers; i++) {
        all += (w.n[i] + 1u) * 2u * octets(w.n[i + 1u]);
    }
    return all;
}

// Where the tape of a network has what. Of layer i: y, behind it what the slope is read from where that is another number, and behind
// that the gradient; dy stands `behind` units further than y.
struct Tape {
    y: array<u32, 8>,
    w: array<u32, 8>,
    // Units of all.
    units: u32,
}

fn tape_of(widths: Widths, keeps: bool) -> Tape {
    var n = widths.n;
    var tape = Tape(array<u32, 8>(), array<u32, 8>(), n[0]);
    var w = 0u;
    for (var i = 1u; i <= widths.layers; i++) {
        tape.y[i] = tape.units;
        tape.w[i] = w;
        w += (n[i - 1u] + 1u) * 2u * octets(n[i]);
        tape.units += 8u * octets(n[i]) * select(2u, 3u, keeps && i < widths.layers);
    }
    // Behind the last.
    tape.w[0] = w;
    return tape;
}
