//! The CPU executor: calls the twins one after another. Memory is taken once; a step allocates nothing.

use super::{Executor, gives_scalars, takes_bytes, takes_scalars};
use crate::base::Real;
use crate::error::Result;
use crate::ops::average::{repeat_weights, swa_collect, swag_collect, swag_sample};
use crate::ops::conv::{conv2d_backward_data, conv2d_backward_weight, conv2d_forward};
use crate::ops::dirichlet::dirichlet_head;
use crate::ops::gather::{aux_inputs, dropout, gather_rows};
use crate::ops::gemm::Isa;
use crate::ops::head::{gaussian_head, softmax_head, vifo_head};
use crate::ops::images::gather_images;
use crate::ops::linear::{linear_backward_data, linear_backward_weight, linear_forward};
use crate::ops::norm::{
    add, batch_norm_backward, batch_norm_forward, batch_norm_running, batch_norm_stats, batch_norm_sums,
};
use crate::ops::optimizer::{adam, l2_gradient, sgd};
use crate::ops::pool::{avg_pool_backward, avg_pool_forward, max_pool2_backward, max_pool2_forward};
use crate::ops::reduce::{loss_reduce, sum_squares};
use crate::ops::regularizer::{column_moments, weighed_moments};
use crate::ops::repulsion::{kernel_weights, pair_distances, repulsion};
use crate::ops::vbll::{vbll_backward_data, vbll_backward_weight, vbll_forward, vbll_head, vbll_regularizer};
use crate::ops::vi::{vi_gradient, vi_regularizer, vi_sample};
use crate::ops::weigh::weigh_rows;
use crate::ops::{Op, StepArgs};
use crate::program::plan::plan;
use crate::program::{Buf, Element, Program, Step};
use std::ops::Range;
use std::sync::Arc;

pub struct CpuExecutor<T> {
    program: Program,
    memory: Memory<T>,
    scratch: Vec<T>,
}

struct Memory<T> {
    slots: Vec<Vec<T>>,
    slot: Vec<usize>,
    len: Vec<usize>,
    /// Of each buffer of bytes, what the host shares.
    bytes: Vec<Option<Shared>>,
}

/// A part of the host's bytes.
type Shared = (Arc<Vec<u8>>, Range<usize>);

impl<T: Real> Memory<T> {
    #[inline(always)]
    fn get(&self, buf: Buf) -> &[T] {
        let b = buf.0 as usize;
        &self.slots[self.slot[b]][..self.len[b]]
    }
    #[inline(always)]
    fn bytes(&self, buf: Buf) -> &[u8] {
        self.bytes[buf.0 as usize].as_ref().map_or(&[], |(bytes, range)| &bytes[range.clone()])
    }
    /// Moves the slot out, so that inputs and outputs can be borrowed side by side; `put` moves it back.
    #[inline(always)]
    fn take(&mut self, buf: Buf) -> Vec<T> {
        std::mem::take(&mut self.slots[self.slot[buf.0 as usize]])
    }
    #[inline(always)]
    fn put(&mut self, buf: Buf, values: Vec<T>) {
        self.slots[self.slot[buf.0 as usize]] = values;
    }
}

impl<T: Real> CpuExecutor<T> {
    pub fn new(program: Program) -> Self {
        let plan = plan(&program);
        let scratch = program.steps.iter().map(|s| s.op.scratch()).max().unwrap_or(0);
        let len = program.buffers.iter().map(|b| b.len).collect();
        let slots = plan.slot_len.iter().map(|&n| vec![T::zero(); n]).collect();
        // Zeros until they are written, as on a GPU; the system gives such memory only once it is read.
        let zeros = |n: usize| (Arc::new(vec![0; n]), 0..n);
        let bytes = program.buffers.iter().map(|b| (b.kind == Element::Bytes).then(|| zeros(b.len))).collect();
        let memory = Memory { slots, slot: plan.slot, len, bytes };
        CpuExecutor { memory, scratch: vec![T::zero(); scratch], program }
    }

    pub fn set(&mut self, buf: Buf, values: &[T]) {
        let b = buf.0 as usize;
        self.memory.slots[self.memory.slot[b]][..values.len()].copy_from_slice(values);
    }

    pub fn get(&self, buf: Buf) -> &[T] {
        self.memory.get(buf)
    }

    pub fn step(&mut self, args: &StepArgs<T>) {
        let CpuExecutor { program, memory, scratch } = self;
        match Isa::detect() {
            // SAFETY: the processor was just asked for these features.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { steps_avx512(&program.steps, args, memory, scratch) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { steps_avx2(&program.steps, args, memory, scratch) },
            Isa::Plain => steps_any(&program.steps, args, memory, scratch),
        }
    }
}

impl<T: Real> Executor for CpuExecutor<T> {
    fn write(&mut self, buf: Buf, values: &[f32]) -> Result<()> {
        takes_scalars(self.program.info(buf), values.len())?;
        let b = buf.0 as usize;
        for (to, from) in self.memory.slots[self.memory.slot[b]].iter_mut().zip(values) {
            *to = T::of(*from as f64);
        }
        Ok(())
    }
    fn write_bytes(&mut self, buf: Buf, bytes: Arc<Vec<u8>>, range: Range<usize>) -> Result<()> {
        takes_bytes(self.program.info(buf), &bytes, &range)?;
        self.memory.bytes[buf.0 as usize] = Some((bytes, range));
        Ok(())
    }
    fn read(&mut self, buf: Buf) -> Result<Vec<f32>> {
        gives_scalars(self.program.info(buf))?;
        Ok(self.get(buf).iter().map(|v| v.f64() as f32).collect())
    }
    fn run(&mut self, args: &[StepArgs<f64>]) -> Result<()> {
        for a in args {
            self.step(&a.cast());
        }
        Ok(())
    }
    fn device(&self) -> String {
        "CPU".into()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn steps_avx512<T: Real>(steps: &[Step], args: &StepArgs<T>, memory: &mut Memory<T>, scratch: &mut [T]) {
    steps_any(steps, args, memory, scratch)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn steps_avx2<T: Real>(steps: &[Step], args: &StepArgs<T>, memory: &mut Memory<T>, scratch: &mut [T]) {
    steps_any(steps, args, memory, scratch)
}

/// Inlined into one copy for each instruction set above, the twins with it.
#[inline(always)]
fn steps_any<T: Real>(steps: &[Step], args: &StepArgs<T>, memory: &mut Memory<T>, scratch: &mut [T]) {
    for step in steps {
        run_op(step, args, memory, scratch);
    }
}

#[inline(always)]
fn run_op<T: Real>(step: &Step, args: &StepArgs<T>, memory: &mut Memory<T>, scratch: &mut [T]) {
    // call!(twin, fixed arguments; inputs; outputs; trailing arguments)
    macro_rules! call {
        ($twin:ident($($fixed:expr),*); $($i:literal)*; $a:ident $($rest:ident)*; $($last:expr)?) => {{
            let outputs = &step.outputs;
            let lens = (memory.len[outputs[0].0 as usize], outputs.get(1).map_or(0, |b| memory.len[b.0 as usize]), outputs.get(2).map_or(0, |b| memory.len[b.0 as usize]));
            call!(@take 0 $a $($rest)*);
            call!(@run $twin; [$($fixed),*]; [$($i)*]; lens; $a $($rest)*; $($last)?);
            call!(@put 0 $a $($rest)*);
        }};
        (@take 0 $a:ident) => { let mut $a = memory.take(step.outputs[0]); };
        (@take 0 $a:ident $b:ident) => { let (mut $a, mut $b) = (memory.take(step.outputs[0]), memory.take(step.outputs[1])); };
        (@take 0 $a:ident $b:ident $c:ident) => { let (mut $a, mut $b, mut $c) = (memory.take(step.outputs[0]), memory.take(step.outputs[1]), memory.take(step.outputs[2])); };
        (@put 0 $a:ident) => { memory.put(step.outputs[0], $a); };
        (@put 0 $a:ident $b:ident) => { memory.put(step.outputs[0], $a); memory.put(step.outputs[1], $b); };
        (@put 0 $a:ident $b:ident $c:ident) => { memory.put(step.outputs[0], $a); memory.put(step.outputs[1], $b); memory.put(step.outputs[2], $c); };
        (@run $twin:ident; [$($fixed:expr),*]; [$($i:literal)*]; $l:ident; $a:ident; $($last:expr)?) => {
            $twin($($fixed,)* $(memory.get(step.inputs[$i]),)* &mut $a[..$l.0], $($last)?)
        };
        (@run $twin:ident; [$($fixed:expr),*]; [$($i:literal)*]; $l:ident; $a:ident $b:ident; $($last:expr)?) => {
            $twin($($fixed,)* $(memory.get(step.inputs[$i]),)* &mut $a[..$l.0], &mut $b[..$l.1], $($last)?)
        };
        (@run $twin:ident; [$($fixed:expr),*]; [$($i:literal)*]; $l:ident; $a:ident $b:ident $c:ident; $($last:expr)?) => {
            $twin($($fixed,)* $(memory.get(step.inputs[$i]),)* &mut $a[..$l.0], &mut $b[..$l.1], &mut $c[..$l.2], $($last)?)
        };
    }
    match &step.op {
        Op::GatherRows(p) => call!(gather_rows(p, args); 0; out;),
        Op::AuxInputs(p) => call!(aux_inputs(p, args); 0 1; out;),
        Op::LinearForward(p) => call!(linear_forward(p); 0 1; y pre; scratch),
        Op::LinearBackwardData(p) => call!(linear_backward_data(p); 0 1 2; dx; scratch),
        Op::LinearBackwardWeight(p) => call!(linear_backward_weight(p); 0 1; grad; scratch),
        Op::Dropout(p) => call!(dropout(p, args); 0; y;),
        Op::SoftmaxHead(p) => call!(softmax_head(p, args); 0 1; terms dz;),
        Op::GaussianHead(p) => call!(gaussian_head(p, args); 0 1; terms dz;),
        Op::ColumnMoments(p) => call!(column_moments(p, args); 0; moments;),
        Op::WeighedMoments(p) => call!(weighed_moments(p, args); 0 1; moments;),
        Op::WeighRows(p) => call!(weigh_rows(p); 0; terms grad;),
        Op::VifoHead(p) => call!(vifo_head(p, args); 0 1 2; terms doutputs; scratch),
        Op::LossReduce(p) => call!(loss_reduce(p, args); 0 1; sums;),
        Op::SumSquares(p) => call!(sum_squares(p); 0; sums;),
        Op::L2Gradient(p) => call!(l2_gradient(p, args); 0; grad;),
        Op::ViSample(p) => call!(vi_sample(p, args); 0; weights; scratch),
        Op::ViRegularizer(p) => call!(vi_regularizer(p, args); 0; value energy;),
        Op::ViGradient(p) => call!(vi_gradient(p, args); 0 1 2; dq;),
        Op::Adam(p) => call!(adam(p, args); 0 1; weights first second;),
        Op::Sgd(p) => call!(sgd(p, args); 0 1; weights velocity;),
        Op::Conv2dForward(p) => call!(conv2d_forward(p); 0 1; y pre; scratch),
        Op::Conv2dBackwardData(p) => call!(conv2d_backward_data(p); 0 1 2; dx; scratch),
        Op::Conv2dBackwardWeight(p) => call!(conv2d_backward_weight(p); 0 1; grad; scratch),
        Op::MaxPool2Forward(p) => call!(max_pool2_forward(p); 0; y;),
        Op::MaxPool2Backward(p) => call!(max_pool2_backward(p); 0 1 2; dx;),
        Op::AvgPoolForward(p) => call!(avg_pool_forward(p); 0; y;),
        Op::AvgPoolBackward(p) => call!(avg_pool_backward(p); 0 1; dx;),
        Op::BatchNormStats(p) => call!(batch_norm_stats(p, args); 0; stats running; scratch),
        Op::BatchNormRunning(p) => call!(batch_norm_running(p); 0; stats;),
        Op::BatchNormForward(p) => call!(batch_norm_forward(p); 0 1 2; y;),
        Op::BatchNormSums(p) => call!(batch_norm_sums(p, args); 0 1 2 3; sums grad; scratch),
        Op::BatchNormBackward(p) => call!(batch_norm_backward(p, args); 0 1 2 3 4 5; dx;),
        Op::Add(p) => call!(add(p); 0 1; y;),
        Op::SwaCollect(p) => call!(swa_collect(p, args); 0; mean;),
        Op::SwagCollect(p) => call!(swag_collect(p, args); 0; mean variance deviations;),
        Op::SwagSample(p) => call!(swag_sample(p, args); 0 1 2; weights; scratch),
        Op::RepeatWeights(p) => call!(repeat_weights(p); 0; weights;),
        Op::DirichletHead(p) => call!(dirichlet_head(p, args); 0 1; terms dz;),
        Op::PairDistances(p) => call!(pair_distances(p, args); 0; distances;),
        Op::KernelWeights(p) => call!(kernel_weights(p); 0; kernel; scratch),
        Op::Repulsion(p) => call!(repulsion(p, args); 0 1; grad value;),
        Op::VbllForward(p) => call!(vbll_forward(p); 0 1; y; scratch),
        Op::VbllBackwardData(p) => call!(vbll_backward_data(p); 0 1 2 3; dx; scratch),
        Op::VbllBackwardWeight(p) => call!(vbll_backward_weight(p); 0 1 2; grad; scratch),
        Op::VbllHead(p) => call!(vbll_head(p, args); 0 1; terms dy;),
        Op::VbllRegularizer(p) => call!(vbll_regularizer(p, args); 0; grad value;),
        Op::GatherImages(p) => {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| step.inputs[i]);
            call!(gather_images(p, args, memory.bytes(a), memory.bytes(b), memory.bytes(c), memory.bytes(d)); ; out;)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Builder, Role};

    /// Two executors and the caller hold one data set, not three.
    #[test]
    fn bytes_are_shared() {
        let program = || {
            let mut b = Builder::new(1, 1);
            (b.bytes("images", 4), b.buffer("x", 4, Role::Input), b.finish().expect("a sound program"))
        };
        let (buf, x, one) = program();
        let (mut one, mut two) = (CpuExecutor::<f32>::new(one), CpuExecutor::<f32>::new(program().2));
        let data = Arc::new(vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(one.memory.bytes(buf), [0; 4], "zeros before they are written");
        one.write_bytes(buf, data.clone(), 0..4).expect("four bytes");
        two.write_bytes(buf, data.clone(), 2..6).expect("four bytes");
        assert_eq!((one.memory.bytes(buf), two.memory.bytes(buf)), (&data[..4], &data[2..]));
        assert_eq!(Arc::strong_count(&data), 3);
        for range in [0..3, 0..5, 3..7] {
            assert!(one.write_bytes(buf, data.clone(), range).is_err());
        }
        assert!(one.write_bytes(x, data.clone(), 0..4).is_err() && one.write(buf, &[0.0; 4]).is_err());
        assert!(one.read(buf).is_err() && one.write(x, &[0.0; 5]).is_err());
        one.write_bytes(buf, Arc::new(vec![0; 4]), 0..4).expect("four bytes");
        assert_eq!(Arc::strong_count(&data), 2, "let go when overwritten");
    }
}
