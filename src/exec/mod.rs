//! Where a program runs. Two executors, one meaning: `cpu` calls the CPU kernels, `gpu` the shaders.

pub mod cpu;
pub mod gpu;

use crate::error::{Error, Result};
use crate::ops::StepArgs;
use crate::program::{Buf, BufferInfo, Element, Role};
use std::ops::Range;
use std::sync::Arc;

pub trait Executor: Send {
    /// Overwrites a buffer of scalars of role Input or State.
    fn write(&mut self, buf: Buf, values: &[f32]) -> Result<()>;
    /// Fills a buffer of scalars of role Input, exactly as many as it holds. The CPU keeps the `Arc` and copies nothing.
    fn share(&mut self, buf: Buf, values: &Arc<Vec<f32>>) -> Result<()>;
    /// Fills a buffer of bytes with those of `range`, exactly as many as it holds. The CPU keeps the `Arc` and copies nothing.
    fn write_bytes(&mut self, buf: Buf, bytes: Arc<Vec<u8>>, range: Range<usize>) -> Result<()>;
    /// Copies a buffer of role State or Output.
    fn read(&mut self, buf: Buf) -> Result<Vec<f32>>;
    /// Replays the program once for each row of arguments.
    fn run(&mut self, args: &[StepArgs<f64>]) -> Result<()>;
    /// What it runs on, for the first line of a run.
    fn device(&self) -> String;
}

/// An error unless `info` takes scalars from the host.
fn takes_scalars(info: &BufferInfo, n: usize) -> Result<()> {
    let takes = info.kind == Element::Scalar && matches!(info.role, Role::Input | Role::State) && n <= info.len;
    if takes { Ok(()) } else { refused(info, format!("{n} values")) }
}

/// An error unless `info` is filled by `n` scalars that no op writes.
fn takes_shared(info: &BufferInfo, n: usize) -> Result<()> {
    let takes = info.kind == Element::Scalar && info.role == Role::Input && n == info.len;
    if takes { Ok(()) } else { refused(info, format!("{n} shared values")) }
}

/// An error unless `info` takes these bytes.
fn takes_bytes(info: &BufferInfo, bytes: &[u8], range: &Range<usize>) -> Result<()> {
    let takes = info.kind == Element::Bytes && bytes.get(range.clone()).is_some_and(|b| b.len() == info.len);
    if takes { Ok(()) } else { refused(info, format!("bytes {range:?} of {}", bytes.len())) }
}

/// An error unless `info` can be read back.
fn gives_scalars(info: &BufferInfo) -> Result<()> {
    if info.kind == Element::Scalar { Ok(()) } else { refused(info, "a read".into()) }
}

fn refused(info: &BufferInfo, what: String) -> Result<()> {
    let found = format!("{what} for buffer '{}' of {} {:?}, role {:?}", info.name, info.len, info.kind, info.role);
    Err(Error::run("between host and device", found, "this is a bug of vifo: please report it"))
}

/// What the user chose to run on, opened once.
#[derive(Clone)]
pub enum Device {
    Cpu,
    Gpu(Arc<gpu::Gpu>),
}

impl Device {
    /// `auto` = a hardware adapter if there is one, else the CPU; a software adapter only when asked for.
    pub fn open(choice: &str) -> Result<Device> {
        let gpu = |choice| Ok(Device::Gpu(Arc::new(gpu::open(choice)?)));
        match choice {
            "cpu" => Ok(Device::Cpu),
            "auto" => Ok(gpu(gpu::Choice::Hardware).unwrap_or(Device::Cpu)),
            "gpu" => gpu(gpu::Choice::Hardware),
            "software" => gpu(gpu::Choice::Software),
            name => gpu(gpu::Choice::Named(name.to_string())),
        }
    }

    pub fn is_cpu(&self) -> bool {
        matches!(self, Device::Cpu)
    }

    /// Bytes that one binding of a kernel may hold; `ops::images::shards` cuts a data set by it.
    pub fn max_bytes_binding(&self) -> u64 {
        match self {
            Device::Cpu => u64::MAX,
            Device::Gpu(gpu) => gpu.max_bytes_binding(),
        }
    }

    pub fn executor(&self, program: crate::program::Program) -> Result<Box<dyn Executor>> {
        Ok(match self {
            Device::Cpu => Box::new(cpu::CpuExecutor::<f32>::new(program)),
            Device::Gpu(gpu) => Box::new(gpu::GpuExecutor::new(program, gpu.clone())?),
        })
    }
}
