//! Small networks: the linear layers of an MLP, its head and its backward pass become `MlpPack`, `MlpPass` and `MlpGradient`
//! (ops/mlp.rs), whose kernels a GPU starts in the place of four or five for each layer. On the CPU, which starts an op in no time,
//! the layers' own ops are faster.

use super::as_op;
use crate::ops::Op;
use crate::ops::linear::{ACT_NONE, LinearForward, keeps_pre};
use crate::ops::mlp::{HEAD_GAUSSIAN, HEAD_SOFTMAX, HEAD_STUDENT, HEAD_VIFO, MOST_LAYERS, MlpPass, Widths};
use crate::ops::mlp_weights::{MlpGradient, MlpPack};
use crate::ops::regularizer::REG_MEAN_ALL;
use crate::program::{Buf, Program, Role, Step};

/// Beyond these sizes the layers' own kernels, which share more of what they read, are better or not much worse.
const MOST_PRODUCTS: u64 = 1 << 16;
const MOST_ROWS: u32 = 1024;
/// Numbers of the tape of all replicas.
const MOST_TAPE: usize = 1 << 24;

/// The program as a GPU runs it best.
pub fn joined(program: Program) -> Program {
    // The joined kernels keep activations to themselves, in f32.
    if program.has_halves() {
        return program;
    }
    super::mlp_steps::resident(&program).unwrap_or_else(|| in_passes(program))
}

/// With the layers of small networks joined, step by step.
pub fn in_passes(mut program: Program) -> Program {
    let mut i = 0;
    while i < program.steps.len() {
        let _ = join(&mut program, i);
        i += 1;
    }
    super::forget_unnamed(&mut program);
    program
}

/// A linear layer's steps.
pub(super) struct Layer {
    pub forward: usize,
    pub f: LinearForward,
    pub weight: usize,
    pub data: Option<usize>,
}

/// Tries the head at step `i`.
fn join(program: &mut Program, i: usize) -> Option<()> {
    let pass = of_head(program, i)?;
    let (z, targets) = (program.steps[i].inputs[0], program.steps[i].inputs[1]);
    let (terms, dz) = (program.steps[i].outputs[0], program.steps[i].outputs[1]);
    if program.info(z).role != Role::Scratch || program.info(dz).role != Role::Scratch {
        return None;
    }
    let layers = layers_of(program, i, z, dz)?;
    // One layer has nothing to hand on.
    if layers.len() < 2 {
        return None;
    }
    let (first, last) = (layers.first()?, layers.last()?);
    let widths = widths_of(&layers)?;
    let activation = first.f.activation;
    let [replicas, rows] = [first.f.replicas, first.f.rows];
    let tape_len = replicas as usize * widths.tape(activation, rows);
    let small = widths.products() <= MOST_PRODUCTS && rows <= MOST_ROWS && tape_len <= MOST_TAPE;
    if !small || pass.replicas != replicas || pass.rows != rows {
        return None;
    }
    let (x, weights) = (program.steps[first.forward].inputs[0], program.steps[first.forward].inputs[1]);
    let grad = program.steps[last.weight].outputs[0];
    let dx = first.data.map(|d| program.steps[d].outputs[0]);
    let [n0, n1, n2, n3, n4, n5, n6, n7] = widths.n;
    let (count, from) = (widths.layers as u32, first.f.weight);
    let pass = MlpPass {
        share: first.f.share,
        activation,
        has_dx: u32::from(dx.is_some()),
        layers: count,
        n0,
        n1,
        n2,
        n3,
        n4,
        n5,
        n6,
        n7,
        ..pass
    };
    let stride = first.f.stride;
    let pack = MlpPack { replicas, stride, first: from, layers: count, n0, n1, n2, n3, n4, n5, n6, n7 };
    let gradient =
        MlpGradient { replicas, rows, activation, stride, first: from, layers: count, n0, n1, n2, n3, n4, n5, n6, n7 };
    if !Op::MlpPass(pass).sizes_agree() || !Op::MlpPack(pack).sizes_agree() {
        return None;
    }
    let packed = program.scratch("packed".into(), replicas as usize * widths.packed());
    let tape = program.scratch("tape".into(), tape_len);
    let dx = dx.unwrap_or_else(|| program.scratch("no_dx".into(), 1));
    let new = vec![
        (first.forward, Step { op: Op::MlpPack(pack), inputs: vec![weights], outputs: vec![packed] }),
        (i, Step { op: Op::MlpPass(pass), inputs: vec![x, targets, packed], outputs: vec![tape, terms, dx] }),
        (last.weight, Step { op: Op::MlpGradient(gradient), inputs: vec![tape], outputs: vec![grad] }),
    ];
    let all = layers.iter().flat_map(|l| [Some(l.forward), Some(l.weight), l.data]).flatten();
    let out: Vec<usize> = all.filter(|s| *s != first.forward && *s != last.weight).collect();
    program.replace(new, &out);
    Some(())
}

/// What the head at step `i` says of the pass; the rest is 0.
pub(super) fn of_head(program: &Program, i: usize) -> Option<MlpPass> {
    let none: MlpPass = bytemuck::Zeroable::zeroed();
    Some(match program.steps[i].op {
        Op::SoftmaxHead(h) => MlpPass {
            replicas: h.replicas,
            rows: h.rows,
            data_rows: h.rows,
            target_share: h.share,
            head: HEAD_SOFTMAX,
            k: h.k,
            ..none
        },
        Op::GaussianHead(h) => MlpPass {
            replicas: h.replicas,
            rows: h.rows,
            data_rows: h.rows,
            target_share: h.share,
            head: HEAD_GAUSSIAN,
            k: 2,
            noise_link: h.noise_link,
            ..none
        },
        Op::StudentHead(h) => MlpPass {
            replicas: h.replicas,
            rows: h.rows,
            data_rows: h.rows,
            target_share: h.share,
            head: HEAD_STUDENT,
            k: 2,
            noise_link: h.noise_link,
            nu: h.nu,
            constant: h.constant,
            ..none
        },
        Op::VifoHead(h) if h.regularizer < REG_MEAN_ALL => MlpPass {
            replicas: h.replicas,
            rows: h.rows,
            data_rows: h.data_rows,
            target_share: h.share,
            head: HEAD_VIFO,
            k: h.k,
            likelihood: h.likelihood,
            noise_link: h.noise_link,
            sigma_link: h.sigma_link,
            regularizer: h.regularizer,
            exact: h.exact,
            first_replica: h.first_replica,
            nu: h.nu,
            constant: h.constant,
            ..none
        },
        _ => return None,
    })
}

/// The layers from the network's inputs to the outputs z that the head at step `head` reads, dz being their gradient. None where
/// another step reads or writes what would no longer be stored.
pub(super) fn layers_of(program: &Program, head: usize, z: Buf, dz: Buf) -> Option<Vec<Layer>> {
    let mut layers: Vec<Layer> = vec![];
    let (mut y, mut dy, mut reader) = (z, dz, vec![head]);
    loop {
        let forward = program.writer(y, head)?;
        let f = as_op!(program, forward, LinearForward)?;
        let x = program.steps[forward].inputs[0];
        let weight = *program.readers(dy).iter().find(|s| as_op!(program, **s, LinearBackwardWeight).is_some())?;
        let data = program.readers(dy).into_iter().find(|s| as_op!(program, *s, LinearBackwardData).is_some());
        let pair: Vec<usize> = [Some(weight), data].into_iter().flatten().collect();
        let w = as_op!(program, weight, LinearBackwardWeight)?;
        let of_data = |s: usize| as_op!(program, s, LinearBackwardData).filter(|d| d.weight == f.weight);
        let activation = match data {
            Some(s) => of_data(s)?.activation,
            None => ACT_NONE,
        };
        let pre = program.steps[forward].outputs[1];
        let written = |buf: Buf| program.steps.iter().filter(|s| s.outputs.contains(&buf)).count();
        let closed = same(program.readers(y), &reader)
            && program.readers(pre).iter().all(|s| reader.contains(s))
            && same(program.readers(dy), &pair)
            && [y, dy].iter().all(|b| written(*b) == 1)
            && pair.iter().all(|s| *s > head)
            && program.steps[weight].inputs[0] == x
            && (w.weight, w.bias, w.n_in, w.n_out) == (f.weight, f.bias, f.n_in, f.n_out);
        if !closed || layers.len() == MOST_LAYERS {
            return None;
        }
        layers.insert(0, Layer { forward, f, weight, data });
        // A layer before this one is part of the network where nobody else reads what it hands on.
        let before = program.writer(x, forward).filter(|s| as_op!(program, *s, LinearForward).is_some());
        let (Some(_), Some(data)) = (before, data) else {
            // The gradient of the inputs is taken without a slope.
            return (activation == ACT_NONE).then_some(layers);
        };
        let activated = as_op!(program, before?, LinearForward)?.activation;
        if activated == ACT_NONE || activated != activation {
            return None;
        }
        (y, dy) = (x, program.steps[data].outputs[0]);
        reader = vec![forward, weight, data];
        // Of a ReLU the slope is read from the output, of others from what was kept beside it.
        let saved = if keeps_pre(activated) { program.steps[before?].outputs[1] } else { y };
        if program.steps[data].inputs[2] != saved {
            return None;
        }
    }
}

/// Whether the readers found are no others than these.
fn same(found: Vec<usize>, wanted: &[usize]) -> bool {
    !found.is_empty() && found.iter().all(|s| wanted.contains(s))
}

/// Where the layers follow one another in one flat vector with one activation between them.
pub(super) fn widths_of(layers: &[Layer]) -> Option<Widths> {
    let mut widths = Widths { n: [0; MOST_LAYERS + 1], layers: layers.len() };
    let first = layers.first()?.f;
    let (mut at, last) = (first.weight, layers.len() - 1);
    for (i, Layer { f, .. }) in layers.iter().enumerate() {
        let activation = if i < last { first.activation } else { ACT_NONE };
        let follows = f.weight == at
            && f.bias == at + f.n_in * f.n_out
            && (f.replicas, f.rows, f.stride) == (first.replicas, first.rows, first.stride)
            && (i == 0 || f.share == 1)
            && f.activation == activation;
        if !follows {
            return None;
        }
        (widths.n[i], widths.n[i + 1]) = (f.n_in, f.n_out);
        at = f.bias + f.n_out;
    }
    widths.fit().then_some(widths)
}
