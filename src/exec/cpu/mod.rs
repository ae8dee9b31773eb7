//! The CPU executor: calls the CPU kernels one after another. Memory is taken once; a step allocates nothing.

mod numbers;

use super::{Executor, gives_scalars, takes_bytes, takes_scalars, takes_shared};
use crate::base::Real;
use crate::base::simd::wide;
use crate::error::Result;
use crate::ops::wide::{PIECE, share};
use crate::ops::{MAX_OUTPUTS, Operands, StepArgs};
use crate::program::plan::plan;
use crate::program::{Buf, Element, Program, Step};
use numbers::Numbers;
use rayon::prelude::*;
use std::array::from_fn;
use std::ops::Range;
use std::sync::Arc;

pub struct CpuExecutor<T> {
    program: Program,
    memory: Memory<T>,
    scratch: Numbers<T>,
    is_large: bool,
}

/// Operations of a program from which on its ops are divided among threads.
const LARGE: f64 = 16e6;

struct Memory<T> {
    slots: Vec<Numbers<T>>,
    slot: Vec<usize>,
    len: Vec<usize>,
    /// Which buffers hold what 16 bits can.
    half: Vec<bool>,
    /// Of each buffer of bytes, what the host shares.
    bytes: Vec<Option<Shared>>,
    /// Of each buffer of scalars that the host shares, its numbers: many programs read one copy of the rows.
    shared: Vec<Option<Arc<Vec<f32>>>>,
}

/// A part of the host's bytes.
type Shared = (Arc<Vec<u8>>, Range<usize>);

impl<T: Real> Memory<T> {
    #[inline(always)]
    fn get(&self, buf: Buf) -> &[T] {
        let b = buf.0 as usize;
        if let Some(numbers) = self.shared[b].as_ref().and_then(|numbers| T::these(numbers)) {
            return numbers;
        }
        &self.slots[self.slot[b]][..self.len[b]]
    }
    #[inline(always)]
    fn bytes(&self, buf: Buf) -> &[u8] {
        self.bytes[buf.0 as usize].as_ref().map_or(&[], |(bytes, range)| &bytes[range.clone()])
    }
    /// Moves the slot out, so that inputs and outputs can be borrowed side by side; `put` moves it back.
    #[inline(always)]
    fn take(&mut self, buf: Buf) -> Numbers<T> {
        std::mem::take(&mut self.slots[self.slot[buf.0 as usize]])
    }
    #[inline(always)]
    fn put(&mut self, buf: Buf, values: Numbers<T>) {
        self.slots[self.slot[buf.0 as usize]] = values;
    }
}

impl<T: Real> CpuExecutor<T> {
    pub fn new(program: Program) -> Self {
        let plan = plan(&program);
        let scratch = program.steps.iter().map(|s| s.op.scratch()).max().unwrap_or(0);
        let len = program.buffers.iter().map(|b| b.len).collect();
        let slots = plan.slot_len.iter().map(|&n| Numbers::zeros(n)).collect();
        // Zeros until they are written, as on a GPU; the system gives such memory only once it is read.
        let zeros = |n: usize| (Arc::new(vec![0; n]), 0..n);
        let bytes = program.buffers.iter().map(|b| (b.kind == Element::Bytes).then(|| zeros(b.len))).collect();
        let shared = vec![None; program.buffers.len()];
        let half = program.buffers.iter().map(|b| b.kind == Element::Half).collect();
        let memory = Memory { slots, slot: plan.slot, len, half, bytes, shared };
        let is_large = program.cost().flops >= LARGE;
        let mut executor = CpuExecutor { memory, scratch: Numbers::zeros(scratch), program, is_large };
        for (buf, values) in std::mem::take(&mut executor.program.constants) {
            let values: Vec<T> = values.iter().map(|v| T::of(f64::from(*v))).collect();
            executor.set(buf, &values);
        }
        executor
    }

    pub fn set(&mut self, buf: Buf, values: &[T]) {
        self.own(buf)[..values.len()].copy_from_slice(values);
    }

    /// The executor's own numbers of a buffer, which the host may have shared before.
    fn own(&mut self, buf: Buf) -> &mut [T] {
        let b = buf.0 as usize;
        let slot = &mut self.memory.slots[self.memory.slot[b]];
        if let Some(shared) = self.memory.shared[b].take() {
            *slot = shared.iter().map(|v| T::of(f64::from(*v))).collect();
        }
        slot
    }

    pub fn get(&self, buf: Buf) -> &[T] {
        self.memory.get(buf)
    }

    pub fn step(&mut self, args: &StepArgs<T>) {
        steps(&self.program.steps, args, &mut self.memory, &mut self.scratch);
    }
}

impl<T: Real> Executor for CpuExecutor<T> {
    fn write(&mut self, buf: Buf, values: &[f32]) -> Result<()> {
        takes_scalars(self.program.info(buf), values.len())?;
        let half = self.memory.half[buf.0 as usize];
        for (to, from) in self.own(buf).iter_mut().zip(values) {
            *to = T::of(f64::from(if half { from.to_half() } else { *from }));
        }
        Ok(())
    }
    fn share(&mut self, buf: Buf, values: &Arc<Vec<f32>>) -> Result<()> {
        takes_shared(self.program.info(buf), values.len())?;
        if T::these(values).is_none() {
            return self.write(buf, values);
        }
        let b = buf.0 as usize;
        // An input has a slot of its own: its memory is given back.
        self.memory.slots[self.memory.slot[b]] = Numbers::default();
        self.memory.shared[b] = Some(values.clone());
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
        let is_large = self.is_large && cfg!(not(target_arch = "wasm32"));
        let mut steps = || args.iter().for_each(|a| self.step(&a.cast()));
        // From one of the pool's threads: from another each op that is divided would wait until two of them are awake.
        if is_large {
            rayon::scope(|_| steps())
        } else {
            steps()
        }
        Ok(())
    }
    fn device(&self) -> String {
        "CPU".into()
    }
}

wide! {
    /// The kernels are inlined into it, and so compiled for each instruction set with it.
    fn steps<T: Real>(steps: &[Step], args: &StepArgs<T>, memory: &mut Memory<T>, scratch: &mut [T]) {
        for step in steps {
            run_op(step, args, memory, scratch);
        }
    }
}

#[inline(always)]
fn run_op<T: Real>(step: &Step, args: &StepArgs<T>, memory: &mut Memory<T>, scratch: &mut [T]) {
    let mut taken: [Numbers<T>; MAX_OUTPUTS] = Default::default();
    for (slot, buf) in taken.iter_mut().zip(&step.outputs) {
        *slot = memory.take(*buf);
    }
    let mut written = step.outputs.iter();
    let outputs = taken.each_mut().map(|slot| &mut slot[..written.next().map_or(0, |buf| memory.len[buf.0 as usize])]);
    let reads_bytes = step.op.reads_bytes();
    let operands = Operands {
        inputs: from_fn(|i| step.inputs.get(i).filter(|_| !reads_bytes).map_or(&[][..], |buf| memory.get(*buf))),
        bytes: from_fn(|i| step.inputs.get(i).filter(|_| reads_bytes).map_or(&[][..], |buf| memory.bytes(*buf))),
        outputs,
        scratch,
    };
    step.op.run(args, operands);
    for (slot, buf) in taken.iter_mut().zip(&step.outputs) {
        let b = buf.0 as usize;
        if memory.half[b] {
            let pieces = slot[..memory.len[b]].par_chunks_mut(PIECE);
            share(memory.len[b], pieces, |piece| piece.iter_mut().for_each(|x| *x = x.to_half()));
        }
        memory.put(*buf, std::mem::take(slot));
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

    /// Rows, too; an op reads them as it reads a copy, and who overwrites a part keeps the rest.
    #[test]
    fn numbers_are_shared() {
        use crate::ops::Op;
        use crate::ops::norm::Add;
        let mut b = Builder::new(1, 1);
        let (x, y) = (b.buffer("x", 3, Role::Input), b.buffer("y", 3, Role::Input));
        let (w, sum) = (b.buffer("w", 3, Role::State), b.buffer("sum", 3, Role::Output));
        b.push(Op::Add(Add { count: 3 }), &[x, y], &[sum]);
        let program = b.finish().expect("a sound program");
        let (mut one, mut two) = (CpuExecutor::<f32>::new(program.clone()), CpuExecutor::<f64>::new(program));
        let data = Arc::new(vec![1.0, 2.0, 3.0]);
        for exec in [&mut one as &mut dyn Executor, &mut two] {
            exec.share(x, &data).expect("three numbers");
            exec.share(y, &data).expect("three numbers");
            exec.run(&[StepArgs::default()]).expect("runs");
            assert_eq!(exec.read(sum).expect("read"), [2.0, 4.0, 6.0]);
            assert!(exec.share(x, &Arc::new(vec![0.0; 2])).is_err(), "too few");
            assert!(exec.share(w, &data).is_err(), "an op may write it");
        }
        assert_eq!(Arc::strong_count(&data), 3, "f64 has a copy of its own");
        assert!(one.memory.slots[one.memory.slot[x.0 as usize]].is_empty());
        one.write(x, &[5.0]).expect("one number");
        one.run(&[StepArgs::default()]).expect("runs");
        assert_eq!((one.read(sum).expect("read"), Arc::strong_count(&data)), (vec![6.0, 4.0, 6.0], 2));
    }
}
