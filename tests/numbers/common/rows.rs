//! What each op is tried on: awkward sizes around the workgroup (63, 64, 65) and the 4 x 4 tile (1, 3, 50, 65), replicas
//! with and without a shared input, short last batches, every enum value. Outputs start as NaN unless the op reads them.

mod conv;
mod embed;
mod factor;
mod heads;
mod images;
mod methods;
mod mlp;
mod mlp_steps;
mod norm;
mod normed;
mod optimizer;
mod periodic;
mod pool;
mod pooled;
mod scaling;

use super::bounded::U;
use heads::{
    column_moments, gaussian_head, softmax_head, student_head, vi_gradient, vi_regularizer, vi_sample, vifo_head,
    weigh_rows, weighed_moments,
};
use std::ops::Range;
use std::sync::Arc;
use vifo::base::rng::Draw;
use vifo::error::Result;
use vifo::exec::Executor;
use vifo::ops::gather::{AuxInputs, Dropout, GatherRows};
use vifo::ops::linear::*;
use vifo::ops::optimizer::L2Gradient;
use vifo::ops::reduce::{LossReduce, SUM_WORDS, SumSquares};
use vifo::ops::step::Prior;
use vifo::ops::{Op, StepArgs};
use vifo::program::{Buf, BufferInfo, Element, Program, Role, Step};

#[derive(Clone)]
pub struct Row {
    pub op: Op,
    pub label: String,
    /// Empty where the op reads bytes.
    pub inputs: Vec<Vec<f32>>,
    pub bytes: Vec<(Arc<Vec<u8>>, Range<usize>)>,
    pub outputs: Vec<Vec<f32>>,
    pub args: Vec<StepArgs<f64>>,
    /// Error (relative, absolute) of the random numbers that the reference kernel draws in f32; see `drawn_error`.
    pub drawn: (f64, f64),
}

/// Two Box-Mullers of the same polynomials: the logarithm's quotient differs by 2.5 ulp and its sum by fused or unfused
/// multiply-adds, 10u; half of it after the root, which adds 9u; both programs' own rounding of the last product: 20u
/// relative. Sine and cosine: the polynomials' own rounding, 4u, times the largest radius sqrt(2 log 2^24) = 5.8.
pub const NORMALS: (f64, f64) = (20.0 * U, 24.0 * U);
/// An even grid divides once: 2.5 ulp.
const QUOTIENT: (f64, f64) = (5.0 * U, 0.0);

impl Row {
    pub fn new(op: Op, label: impl Into<String>, inputs: Vec<Vec<f32>>, outputs: Vec<Vec<f32>>) -> Self {
        Row { op, label: label.into(), inputs, bytes: vec![], outputs, args: vec![args()], drawn: (0.0, 0.0) }
    }
    pub fn name(&self) -> String {
        format!("{} {}", self.op.name(), self.label)
    }
    /// A program of this one step whose outputs can be poisoned and read, its inputs and its outputs.
    pub fn program(&self) -> (Program, Vec<Buf>, Vec<Buf>) {
        let mut program = Program::default();
        let mut add = |names: &[&str], lens: Vec<usize>, role, kind| -> Vec<Buf> {
            assert_eq!(names.len(), lens.len(), "{}", self.name());
            let first = program.buffers.len() as u32;
            let infos =
                names.iter().zip(&lens).map(|(name, &len)| BufferInfo { name: name.to_string(), len, role, kind });
            program.buffers.extend(infos);
            (first..program.buffers.len() as u32).map(Buf).collect()
        };
        let lens = |values: &[Vec<f32>]| values.iter().map(Vec::len).collect();
        let inputs = if self.op.reads_bytes() {
            let lens = self.bytes.iter().map(|(_, range)| range.len()).collect();
            add(self.op.inputs(), lens, Role::Input, Element::Bytes)
        } else {
            add(self.op.inputs(), lens(&self.inputs), Role::Input, Element::Scalar)
        };
        let outputs = add(self.op.outputs(), lens(&self.outputs), Role::State, Element::Scalar);
        program.steps.push(Step { op: self.op, inputs: inputs.clone(), outputs: outputs.clone() });
        (program, inputs, outputs)
    }
    /// The same with what may be stored in 16 bits stored so: the inputs, and the outputs where they are asked for.
    pub fn halved_program(&self, outputs_too: bool) -> (Program, Vec<Buf>, Vec<Buf>) {
        let (mut program, inputs, outputs) = self.program();
        let places =
            inputs.iter().zip(self.op.inputs()).chain(outputs.iter().zip(self.op.outputs()).filter(|_| outputs_too));
        for (buf, _) in places.filter(|(_, operand)| self.op.halves().contains(operand)) {
            program.buffers[buf.0 as usize].kind = Element::Half;
        }
        (program, inputs, outputs)
    }
    /// Writes everything that the row starts from.
    pub fn load(&self, executor: &mut dyn Executor, inputs: &[Buf], outputs: &[Buf]) -> Result<()> {
        for (buf, (bytes, range)) in inputs.iter().zip(&self.bytes) {
            executor.write_bytes(*buf, bytes.clone(), range.clone())?;
        }
        for (buf, values) in inputs.iter().zip(&self.inputs).chain(outputs.iter().zip(&self.outputs)) {
            executor.write(*buf, values)?;
        }
        Ok(())
    }
    fn with(mut self, change: impl Fn(&mut StepArgs<f64>)) -> Self {
        self.args.iter_mut().for_each(change);
        self
    }
    fn drawing(mut self, error: (f64, f64)) -> Self {
        self.drawn = error;
        self
    }
}

fn args() -> StepArgs<f64> {
    StepArgs {
        step: 17,
        epoch: 3,
        n_valid: 1,
        seed: 12345,
        n_samples: 5,
        lr: 0.01,
        bias1: 0.271,
        bias2: 0.0297,
        eta: 0.1,
        eta_aux: 0.7,
        prior: Prior { p0: 0.3, p1: 0.05, p2: 0.1, constant: 0.2 },
        dropout: 0.37,
        ..Default::default()
    }
}

/// Fixed numbers, uniform on [low, high]; `seed` sets inputs of a row apart.
fn fill(n: usize, seed: u32, low: f32, high: f32) -> Vec<f32> {
    let draw = Draw { seed, stream: 1000, step: 0, replica: 0 };
    (0..n as u32).map(|i| low + (high - low) * draw.uniform(i)).collect()
}

fn poison(n: usize) -> Vec<f32> {
    vec![f32::NAN; n]
}

/// Replicas and how many share an input.
const SHARES: [(u32, u32); 3] = [(1, 1), (3, 1), (3, 3)];

/// data rows, valid ones, auxiliary rows.
const PARTS: [(u32, u32, u32); 4] = [(1, 1, 0), (63, 63, 1), (65, 40, 64), (30, 1, 35)];

/// A new op without rows does not compile.
pub fn rows(op: &Op) -> Vec<Row> {
    match op {
        Op::GatherRows(_) => gather_rows(),
        Op::AuxInputs(_) => aux_inputs(),
        Op::Dropout(_) => dropout(),
        Op::LinearForward(_) => linear_forward(),
        Op::LinearBackwardData(_) => linear_backward_data(),
        Op::LinearBackwardWeight(_) => linear_backward_weight(),
        Op::MlpPass(_) => mlp::mlp_pass(),
        Op::MlpPack(_) => mlp::mlp_pack(),
        Op::MlpGradient(_) => mlp::mlp_gradient(),
        Op::MlpSteps(_) => mlp_steps::mlp_steps(),
        Op::SoftmaxHead(_) => softmax_head(),
        Op::GaussianHead(_) => gaussian_head(),
        Op::StudentHead(_) => student_head(),
        Op::ColumnMoments(_) => column_moments(),
        Op::WeighedMoments(_) => weighed_moments(),
        Op::WeighRows(_) => weigh_rows(),
        Op::VifoHead(_) => vifo_head(),
        Op::LossReduce(_) => loss_reduce(),
        Op::SumSquares(_) => sum_squares(),
        Op::L2Gradient(_) => l2_gradient(),
        Op::ViSample(_) => vi_sample(),
        Op::ViRegularizer(_) => vi_regularizer(),
        Op::ViGradient(_) => vi_gradient(),
        Op::Adam(_) => optimizer::adam(),
        Op::Sgd(_) => optimizer::sgd(),
        Op::Conv2dForward(_) => conv::conv2d_forward(),
        Op::Conv2dBackwardData(_) => conv::conv2d_backward_data(),
        Op::Conv2dBackwardWeight(_) => conv::conv2d_backward_weight(),
        Op::MaxPool2Forward(_) => pool::max_pool2_forward(),
        Op::MaxPool2Backward(_) => pool::max_pool2_backward(),
        Op::AvgPoolForward(_) => pool::avg_pool_forward(),
        Op::AvgPoolBackward(_) => pool::avg_pool_backward(),
        Op::BatchNormStats(_) => norm::batch_norm_stats(),
        Op::BatchNormRunning(_) => norm::batch_norm_running(),
        Op::BatchNormForward(_) => norm::batch_norm_forward(),
        Op::BatchNormSums(_) => norm::batch_norm_sums(),
        Op::BatchNormBackward(_) => norm::batch_norm_backward(),
        Op::BatchNormPull(_) => normed::batch_norm_pull(),
        Op::NormConvForward(_) => normed::norm_conv_forward(),
        Op::NormConvBackward(_) => normed::norm_conv_backward(),
        Op::ConvPoolForward(_) => pooled::conv_pool_forward(),
        Op::ConvPoolBackward(_) => pooled::conv_pool_backward(),
        Op::Add(_) => norm::add(),
        Op::ScaleUp(_) => scaling::scale_up(),
        Op::ScaleDown(_) => scaling::scale_down(),
        Op::ScaleUpdate(_) => scaling::scale_update(),
        Op::SwaCollect(_) => methods::swa_collect(),
        Op::FadingMean(_) => methods::fading_mean(),
        Op::SwagCollect(_) => methods::swag_collect(),
        Op::SwagSample(_) => methods::swag_sample(),
        Op::RepeatWeights(_) => methods::repeat_weights(),
        Op::DirichletHead(_) => methods::dirichlet_head(),
        Op::PairDistances(_) => methods::pair_distances(),
        Op::KernelWeights(_) => methods::kernel_weights(),
        Op::Repulsion(_) => methods::repulsion(),
        Op::VbllForward(_) => methods::vbll_forward(),
        Op::VbllBackwardData(_) => methods::vbll_backward_data(),
        Op::VbllBackwardWeight(_) => methods::vbll_backward_weight(),
        Op::VbllHead(_) => methods::vbll_head(),
        Op::VbllRegularizer(_) => methods::vbll_regularizer(),
        Op::GatherImages(_) => images::gather_images(),
        Op::EmbedForward(_) => embed::embed_forward(),
        Op::EmbedBackward(_) => embed::embed_backward(),
        Op::EmbedBackwardData(_) => embed::embed_backward_data(),
        Op::PeriodicForward(_) => periodic::periodic_forward(),
        Op::PeriodicBackward(_) => periodic::periodic_backward(),
        Op::FactorForward(_) => factor::factor_forward(),
        Op::FactorBackwardData(_) => factor::factor_backward_data(),
        Op::FactorBackwardWeight(_) => factor::factor_backward_weight(),
    }
}

fn gather_rows() -> Vec<Row> {
    let mut all = vec![];
    for shuffle in [0, 1] {
        // The last columns: members that share a set (0: all), the first set in the buffer; rows held out, folds.
        for (replicas, n_rows, cols, batch, out_rows, batch_start, (per_set, first_set), (held_out, folds)) in [
            (1, 1, 1, 1, 1, 0, (0, 0), (0, 0)),
            (3, 63, 3, 64, 64, 60, (0, 0), (0, 0)),
            (1, 65, 1, 65, 130, 0, (5, 0), (0, 0)),
            (3, 1000, 3, 65, 66, 935, (0, 0), (0, 0)),
            (2, 7, 2, 63, 63, 5, (1, 2), (0, 0)),
            (7, 33, 3, 32, 65, 32, (2, 1), (0, 0)),
            (5, 64, 1, 16, 16, 48, (3, 0), (0, 0)),
            (3, 1, 1, 2, 2, 0, (0, 0), (1, 2)),
            (7, 63, 3, 33, 34, 60, (0, 0), (16, 5)),
            (5, 65, 2, 64, 64, 3, (5, 0), (9, 8)),
        ] {
            let first_member = 2;
            let p = GatherRows {
                replicas,
                n_rows,
                cols,
                batch,
                out_rows,
                shuffle,
                first_member,
                per_set,
                first_set,
                held_out,
                folds,
            };
            let data = (0..p.sets() * (n_rows + held_out) * cols).map(|i| i as f32).collect();
            let row = Row::new(
                Op::GatherRows(p),
                format!("{p:?} from {batch_start}"),
                vec![data],
                vec![poison((replicas * out_rows * cols) as usize)],
            );
            all.push(row.with(|a| a.batch_start = batch_start));
        }
    }
    all
}

fn aux_inputs() -> Vec<Row> {
    let mut all = vec![];
    for grid in [0, 1] {
        for (replicas, cols, count, first_row, per_set, first_set) in [
            (1, 1, 1, 0, 0, 0),
            (3, 3, 63, 2, 0, 0),
            (2, 1, 65, 64, 0, 0),
            (1, 50, 64, 1, 1, 1),
            (6, 3, 33, 1, 2, 0),
            (3, 1, 65, 0, 4, 0),
        ] {
            let out_rows = first_row + count;
            let first_member = 1;
            let p = AuxInputs { replicas, cols, count, first_row, out_rows, grid, first_member, per_set, first_set };
            let n = (p.sets() * cols) as usize;
            let inputs = vec![fill(n, 1, -2.0, 0.0), fill(n, 2, 0.0, 3.0)];
            let row = Row::new(
                Op::AuxInputs(p),
                format!("{p:?}"),
                inputs,
                vec![poison((replicas * out_rows * cols) as usize)],
            );
            all.push(row.drawing(if grid == 1 { QUOTIENT } else { (0.0, 0.0) }));
        }
    }
    all
}

fn dropout() -> Vec<Row> {
    let mut all = vec![];
    for (replicas, count, rate) in [(1, 1u32, 0.5), (3, 63, 0.1), (1, 64, 0.9), (2, 65, 0.5), (1, 1000, 0.1)] {
        for (period, by_step) in [(count, 0), (count, 1), (count.div_ceil(3), 1), (count.div_ceil(3), 0)] {
            let p = Dropout { replicas, count, period, stream: 64, first_replica: 3, rate, by_step };
            let n = (replicas * count) as usize;
            all.push(Row::new(Op::Dropout(p), format!("{p:?}"), vec![fill(n, 1, -2.0, 2.0)], vec![poison(n)]));
        }
    }
    all
}

/// rows, n_in, n_out; the last ones about the edges of the tiles (128, 64, 32, 16 wide, 16 and 8 deep), whole quadruples and not.
const LAYERS: [(u32, u32, u32); 15] = [
    (1, 1, 1),
    (63, 1, 50),
    (64, 50, 3),
    (5, 3, 65),
    (65, 65, 1),
    (2, 50, 4),
    (64, 64, 64),
    (63, 65, 16),
    (65, 16, 68),
    (129, 17, 33),
    (300, 12, 20),
    (66, 68, 36),
    // The last round ends within each of its quadruples.
    (42, 20, 8),
    (63, 64, 16),
    (66, 20, 7),
];
const OFFSET: u32 = 5;

/// Where the layer's weights lie, and P: other weights before, between and behind. Where the sizes are whole quadruples, the
/// places are too, so that kernels may read them as such.
fn place(n_in: u32, n_out: u32) -> (u32, u32, u32) {
    if n_in.is_multiple_of(4) && n_out.is_multiple_of(4) {
        let bias = 8 + n_in * n_out + 4;
        return (8, bias, bias + n_out + 4);
    }
    let bias = OFFSET + n_in * n_out + 2;
    (OFFSET, bias, bias + n_out + 3)
}

fn linear_forward() -> Vec<Row> {
    let mut all = vec![];
    for activation in [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU] {
        for (rows, n_in, n_out) in LAYERS {
            for (replicas, share) in SHARES {
                let (weight, bias, stride) = place(n_in, n_out);
                let p = LinearForward { replicas, share, rows, n_in, n_out, weight, bias, stride, activation };
                let inputs = vec![
                    fill((replicas / share * rows * n_in) as usize, 1, -1.0, 1.0),
                    fill((replicas * stride) as usize, 2, -1.0, 1.0),
                ];
                let y = (replicas * rows * n_out) as usize;
                let pre = if keeps_pre(activation) { y } else { 1 };
                all.push(Row::new(Op::LinearForward(p), format!("{p:?}"), inputs, vec![poison(y), poison(pre)]));
            }
        }
    }
    all
}

fn linear_backward_data() -> Vec<Row> {
    let mut all = vec![];
    for activation in [ACT_NONE, ACT_RELU, ACT_SILU, ACT_MISH, ACT_SELU] {
        for (rows, n_in, n_out) in LAYERS {
            for replicas in [1, 3] {
                let (weight, _, stride) = place(n_in, n_out);
                let p = LinearBackwardData { replicas, rows, n_in, n_out, weight, stride, activation };
                let dx = (replicas * rows * n_in) as usize;
                let mut saved = fill(if activation == ACT_NONE { 1 } else { dx }, 3, -3.0, 3.0);
                saved[0] = 0.0; // the kink itself: the slope there is 0
                let inputs = vec![
                    fill((replicas * rows * n_out) as usize, 1, -1.0, 1.0),
                    fill((replicas * stride) as usize, 2, -1.0, 1.0),
                    saved,
                ];
                all.push(Row::new(Op::LinearBackwardData(p), format!("{p:?}"), inputs, vec![poison(dx)]));
            }
        }
    }
    all
}

fn linear_backward_weight() -> Vec<Row> {
    let mut all = vec![];
    for (rows, n_in, n_out) in LAYERS {
        for (replicas, share) in SHARES {
            let (weight, bias, stride) = place(n_in, n_out);
            let p = LinearBackwardWeight { replicas, share, rows, n_in, n_out, weight, bias, stride };
            let inputs = vec![
                fill((replicas / share * rows * n_in) as usize, 1, -1.0, 1.0),
                fill((replicas * rows * n_out) as usize, 2, -1.0, 1.0),
            ];
            all.push(Row::new(
                Op::LinearBackwardWeight(p),
                format!("{p:?}"),
                inputs,
                vec![poison((replicas * stride) as usize)],
            ));
        }
    }
    all
}

fn loss_reduce() -> Vec<Row> {
    let mut all = vec![];
    for (members, samples) in [(1, 1), (3, 5)] {
        for (data_rows, valid, aux) in PARTS {
            for has_extra in [0, 1] {
                let rows = data_rows + aux;
                let p = LossReduce { members, samples, rows, data_rows, has_extra, extra_scale: 0.25 };
                let terms = fill((members * samples * rows * 3) as usize, 1, -1.0, 3.0);
                let extra = fill(if has_extra == 1 { members as usize } else { 1 }, 2, 0.0, 5.0);
                let mut sums = fill(members as usize * SUM_WORDS, 3, 0.0, 9.0);
                sums.chunks_mut(SUM_WORDS).for_each(|s| s[4..].fill(0.0));
                let row = Row::new(Op::LossReduce(p), format!("{p:?} {valid} valid"), vec![terms, extra], vec![sums])
                    .with(|a| a.n_valid = valid);
                all.push(row.clone());
                if rows * samples < 64 {
                    continue;
                }
                // A bad term, named by its step and place; a later one, and one in another member, change nothing.
                for (at, value) in [
                    (0, f32::NAN),
                    (3 * 40 + 1, f32::INFINITY),
                    (3 * 63 + 2, f32::NEG_INFINITY),
                    (3 * 20 + 1, f32::NAN),
                ] {
                    let mut bad = row.clone();
                    bad.label += &format!(" {value} at {at}");
                    bad.inputs[0][at] = value;
                    bad.args = vec![row.args[0], StepArgs { step: 18, ..row.args[0] }];
                    all.push(bad.clone());
                    bad.label += " after step 4";
                    bad.outputs[0][4..6].copy_from_slice(&[4.0, 3.0]);
                    all.push(bad);
                }
            }
        }
    }
    // Finite terms whose sum is not, and a bad extra.
    let p = LossReduce { members: 1, samples: 1, rows: 2, data_rows: 2, has_extra: 1, extra_scale: 1.0 };
    for (terms, extra, label) in
        [(vec![3e38, 0.0, 0.0, 3e38, 0.0, 0.0], 0.0, "overflow"), (vec![0.0; 6], f32::NAN, "bad extra")]
    {
        let row = Row::new(Op::LossReduce(p), label, vec![terms, vec![extra]], vec![vec![0.0; SUM_WORDS]])
            .with(|a| a.n_valid = 2);
        all.push(row);
    }
    all
}

const COUNTS: [(u32, u32); 6] = [(1, 1), (3, 63), (1, 64), (3, 65), (2, 1000), (1, 10_304)];

/// replicas, stride, first, length: whole vectors and parts of them.
const RANGES: [(u32, u32, u32, u32); 8] = [
    (1, 1, 0, 1),
    (3, 63, 0, 63),
    (1, 64, 0, 64),
    (3, 65, 0, 65),
    (1, 10_304, 0, 10_304),
    (3, 70, 5, 65),
    (2, 300, 64, 63),
    (3, 9, 8, 1),
];

fn sum_squares() -> Vec<Row> {
    RANGES
        .into_iter()
        .map(|(replicas, stride, first, length)| {
            let p = SumSquares { replicas, stride, first, length };
            Row::new(
                Op::SumSquares(p),
                format!("{p:?}"),
                vec![fill((replicas * stride) as usize, 1, -1.0, 1.0)],
                vec![poison(replicas as usize)],
            )
        })
        .collect()
}

fn l2_gradient() -> Vec<Row> {
    RANGES
        .into_iter()
        .map(|(replicas, stride, first, length)| {
            let p = L2Gradient { replicas, stride, first, length, scale: 0.01 };
            let n = (replicas * stride) as usize;
            Row::new(Op::L2Gradient(p), format!("{p:?}"), vec![fill(n, 1, -1.0, 1.0)], vec![fill(n, 2, -1.0, 1.0)])
        })
        .collect()
}
