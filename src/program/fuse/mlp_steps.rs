//! A whole training of a small network with one hidden layer becomes one op, `MlpSteps` (ops/mlp_steps.rs), of which a GPU runs many
//! steps in a dispatch. What has more in its step, such as an average of the weights, keeps its ops.

use super::as_op;
use super::mlp::{layers_of, of_head, widths_of};
use crate::ops::Op;
use crate::ops::gather::GatherRows;
use crate::ops::mlp::MlpPass;
use crate::ops::mlp_steps::{MlpSteps, OPTIMIZER_ADAM, OPTIMIZER_ADAMW, OPTIMIZER_SGD};
use crate::program::{Buf, Program, Role, Step};

/// A workgroup takes them one after another: beyond it many workgroups are better.
const MOST_ROWS: u32 = 256;

/// The program as one op; None where it is another.
pub fn resident(program: &Program) -> Option<Program> {
    let head = (0..program.steps.len()).find(|i| of_head(program, *i).is_some())?;
    let (z, dz) = (program.steps[head].inputs[0], program.steps[head].outputs[1]);
    let layers = layers_of(program, head, z, dz)?;
    let [lower, upper] = &layers[..] else { return None };
    let (widths, f) = (widths_of(&layers)?, lower.f);
    if f.weight != 0 || f.stride as usize != widths.len() || lower.data.is_some() || f.rows > MOST_ROWS {
        return None;
    }
    let (x, weights) = (program.steps[lower.forward].inputs[0], program.steps[lower.forward].inputs[1]);
    let grad = program.steps[lower.weight].outputs[0];
    let pass = of_head(program, head)?;
    let (gather, data, gathers) =
        batch_of(program, (x, f.share), (program.steps[head].inputs[1], pass.target_share), f.rows)?;
    let end = end_of(program, program.steps[head].outputs[0], grad, weights)?;
    let mut all = vec![head, lower.forward, upper.forward, lower.weight, upper.weight, upper.data?];
    all.extend(gathers);
    all.extend(&end.steps);
    if all.len() != program.steps.len() || pass.data_rows != pass.rows || pass.replicas != f.replicas {
        return None;
    }
    let private = |buf: &Buf| {
        [weights, end.first, end.sums].contains(buf)
            || end.second == Some(*buf)
            || program.info(*buf).role == Role::Scratch
    };
    if !program.steps.iter().flat_map(|s| &s.outputs).all(private) {
        return None;
    }
    let mut one = program.clone();
    let second = end.second.unwrap_or_else(|| one.scratch("no_second".into(), 1));
    let op = Op::MlpSteps(op_of(&pass, &gather, [f.n_in, f.n_out, upper.f.n_out], f.activation, &end.op));
    let step = Step { op, inputs: data.to_vec(), outputs: vec![weights, end.first, second, end.sums] };
    if !op.sizes_agree() || !long_enough(&one, &step) {
        return None;
    }
    one.steps = vec![step];
    super::forget_unnamed(&mut one);
    Some(one)
}

fn long_enough(program: &Program, step: &Step) -> bool {
    let (inputs, outputs) = step.op.lengths();
    let long = |bufs: &[Buf], lens: Vec<usize>| bufs.iter().zip(lens).all(|(b, len)| program.info(*b).len >= len);
    long(&step.inputs, inputs) && long(&step.outputs, outputs)
}

fn op_of(
    pass: &MlpPass,
    gather: &GatherRows,
    [inputs, hidden, outputs]: [u32; 3],
    activation: u32,
    end: &MlpSteps,
) -> MlpSteps {
    MlpSteps {
        replicas: pass.replicas,
        n_rows: gather.n_rows,
        batch: gather.batch,
        shuffle: gather.shuffle,
        first_member: gather.first_member,
        per_set: gather.per_set,
        first_set: gather.first_set,
        held_out: gather.held_out,
        folds: gather.folds,
        inputs,
        hidden,
        outputs,
        activation,
        head: pass.head,
        k: pass.k,
        likelihood: pass.likelihood,
        noise_link: pass.noise_link,
        sigma_link: pass.sigma_link,
        regularizer: pass.regularizer,
        exact: pass.exact,
        first_replica: pass.first_replica,
        nu: pass.nu,
        constant: pass.constant,
        ..*end
    }
}

/// How a batch is drawn, the buffers of inputs and targets, and the steps that draw it: two, or none where a batch is all rows.
fn batch_of(program: &Program, x: (Buf, u32), y: (Buf, u32), rows: u32) -> Option<(GatherRows, [Buf; 2], Vec<usize>)> {
    let of = |buf: Buf| (0..program.steps.len()).find(|i| program.steps[*i].outputs.contains(&buf));
    if let (Some(at_x), Some(at_y)) = (of(x.0), of(y.0)) {
        let (gather, targets) = (as_op!(program, at_x, GatherRows)?, as_op!(program, at_y, GatherRows)?);
        let alike = targets == GatherRows { cols: 1, ..gather } && (x.1, y.1) == (1, 1);
        let whole = gather.batch == rows && gather.out_rows == rows;
        let data = [program.steps[at_x].inputs[0], program.steps[at_y].inputs[0]];
        return (alike && whole).then_some((gather, data, vec![at_x, at_y]));
    }
    let stored = [x.0, y.0].iter().all(|b| of(*b).is_none() && program.info(*b).role == Role::Input);
    // Replicas that share inputs stand side by side: each of the sets is that of as many members.
    let gather = GatherRows { n_rows: rows, batch: rows, out_rows: rows, per_set: x.1, ..bytemuck::Zeroable::zeroed() };
    (stored && x.1 == y.1).then_some((gather, [x.0, y.0], vec![]))
}

/// What follows the gradient.
struct End {
    steps: Vec<usize>,
    /// Of the op, clipping and optimizer; the rest is 0.
    op: MlpSteps,
    first: Buf,
    /// SGD has none.
    second: Option<Buf>,
    sums: Buf,
}

fn end_of(program: &Program, terms: Buf, grad: Buf, weights: Buf) -> Option<End> {
    let zero: MlpSteps = bytemuck::Zeroable::zeroed();
    let at = |wanted: fn(&Op) -> bool| (0..program.steps.len()).find(|i| wanted(&program.steps[*i].op));
    let loss = at(|op| matches!(op, Op::LossReduce(_)))?;
    let p = as_op!(program, loss, LossReduce)?;
    let optimizer = at(|op| matches!(op, Op::Adam(_) | Op::Sgd(_)))?;
    let last = &program.steps[optimizer];
    let mut steps = vec![loss, optimizer];
    let squares = at(|op| matches!(op, Op::SumSquares(_)));
    if let Some(i) = squares {
        let p = as_op!(program, i, SumSquares)?;
        let whole = p.first == 0 && p.length == p.stride && program.steps[i].inputs[0] == grad;
        if !whole || program.steps[i].outputs[0] != last.inputs[1] {
            return None;
        }
        steps.push(i);
    }
    let clip = u32::from(squares.is_some());
    let plain = p.samples == 1 && p.has_extra == 0 && p.rows == p.data_rows && program.steps[loss].inputs[0] == terms;
    if !plain || last.inputs[0] != grad || last.outputs[0] != weights {
        return None;
    }
    let (op, second) = match last.op {
        Op::Adam(p) if p.only_warm == 0 && p.rated == 0 && p.guarded == 0 => {
            let optimizer = if p.decoupled == 1 { OPTIMIZER_ADAMW } else { OPTIMIZER_ADAM };
            let op = MlpSteps { clip, optimizer, beta1: p.beta1, beta2: p.beta2, eps: p.eps, ..zero };
            (op, Some(last.outputs[2]))
        }
        Op::Sgd(p) if p.rated == 0 && p.guarded == 0 => {
            (MlpSteps { clip, optimizer: OPTIMIZER_SGD, momentum: p.momentum, ..zero }, None)
        }
        _ => return None,
    };
    Some(End { steps, op, first: last.outputs[1], second, sums: program.steps[loss].outputs[0] })
}
