//! Where a program runs. Two executors, one meaning: `cpu` calls the CPU kernels, `gpu` the shaders, and `auto` chooses between
//! them.

pub mod auto;
pub mod cpu;
pub mod gpu;

use crate::error::{Error, Result, either};
use crate::ops::StepArgs;
use crate::program::fuse::mlp::joined;
use crate::program::{Buf, BufferInfo, Element, Program, Role};
use std::ops::Range;
use std::sync::Arc;

pub trait Executor: Send {
    /// Overwrites a buffer of scalars or halves of role Input or State.
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
    let takes = info.kind.is_number() && matches!(info.role, Role::Input | Role::State) && n <= info.len;
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
    if info.kind.is_number() { Ok(()) } else { refused(info, "a read".into()) }
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
    /// Members of an ensemble are spread over all, two at the least; what is one program alone runs on the first.
    Several(Vec<Arc<gpu::Gpu>>),
    /// Each program goes to the GPU or to the CPU, whichever is likely faster (`Device::choose`).
    Auto(Arc<gpu::Gpu>),
}

/// Where a program goes, and why, where there was a choice.
pub struct Chosen {
    pub device: Device,
    pub reason: Option<String>,
}

impl Device {
    /// `auto` = by the cost of what is run, where there is a hardware adapter, else the CPU; a software adapter only when asked for.
    pub fn open(choice: &str) -> Result<Device> {
        let gpu = |choice| Ok(Device::Gpu(Arc::new(gpu::open(choice)?)));
        match choice {
            "cpu" => Ok(Device::Cpu),
            "auto" => Ok(gpu::open(gpu::Choice::Auto).map_or(Device::Cpu, |gpu| Device::Auto(Arc::new(gpu)))),
            "gpu" => gpu(gpu::Choice::Hardware),
            "software" => gpu(gpu::Choice::Software),
            // A name may have a comma of its own, as lavapipe's.
            names if names.contains(',') && gpu::adapters().iter().all(|a| a.name != names) => Self::several(names),
            name => gpu(gpu::Choice::named(name)),
        }
    }

    /// "gpu:0,gpu:1": each as it would be chosen alone.
    fn several(names: &str) -> Result<Device> {
        let open = |name: &str| match Self::open(name)? {
            Device::Gpu(gpu) => Ok(gpu),
            _ => Err(Error::usage(
                either(format!("--device {names}"), format!("device {names}")),
                format!("'{name}' in a list"),
                "GPUs, such as gpu:0,gpu:1",
                either("name GPUs alone; `vifo doctor` lists them", "name GPUs alone"),
            )),
        };
        let gpus: Vec<_> = names.split(',').map(|name| open(name.trim())).collect::<Result<_>>()?;
        Ok(Device::Several(gpus))
    }

    /// Whether parts of a training run at once.
    pub fn is_parallel(&self) -> bool {
        matches!(self, Device::Cpu | Device::Several(_))
    }

    /// The device of part `i` of as many as there are cards, or of any part on the CPU.
    pub fn of_part(&self, i: usize) -> Device {
        match self {
            Device::Several(gpus) => Device::Gpu(gpus[i % gpus.len()].clone()),
            one => one.clone(),
        }
    }

    /// Whether everything runs on the CPU. Of `auto` only `choose` knows.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Device::Cpu)
    }

    /// Whether a GPU of it is gone, with all that was on it.
    pub fn is_lost(&self) -> bool {
        match self {
            Device::Cpu => false,
            Device::Gpu(gpu) | Device::Auto(gpu) => gpu.is_lost(),
            Device::Several(gpus) => gpus.iter().any(|gpu| gpu.is_lost()),
        }
    }

    /// The device for a program of `replicas` networks: itself, or what `auto` chooses.
    pub fn choose(&self, program: &Program, replicas: usize) -> Chosen {
        let Device::Auto(gpu) = self else { return Chosen { device: self.clone(), reason: None } };
        let (cost, dispatches) = (program.cost(), gpu.dispatches(program));
        let on_gpu = auto::of_gpu(gpu.report().is_discrete()).seconds(&cost, dispatches);
        let on_cpu = auto::of_cpu(rayon::current_num_threads(), replicas).seconds(&cost, cost.ops);
        let times = |here, there| format!("{} instead of {}", auto::milliseconds(here), auto::milliseconds(there));
        let (device, times) = match on_gpu < on_cpu {
            true => (Device::Gpu(gpu.clone()), times(on_gpu, on_cpu)),
            false => (Device::Cpu, format!("{} on {}", times(on_cpu, on_gpu), gpu.report().name)),
        };
        let work = format!("{:.3} GFLOP in {dispatches} dispatches", cost.flops / 1e9);
        Chosen { device, reason: Some(format!("chosen for a step of {work}: about {times}")) }
    }

    /// Bytes that one binding of a kernel may hold; `ops::images::shards` cuts a data set by it.
    pub fn max_bytes_binding(&self) -> u64 {
        match self {
            Device::Cpu => u64::MAX,
            Device::Gpu(gpu) | Device::Auto(gpu) => gpu.max_bytes_binding(),
            Device::Several(gpus) => gpus.iter().map(|gpu| gpu.max_bytes_binding()).min().unwrap_or(u64::MAX),
        }
    }

    /// The executor of a training's part, and the forms of its kernels that were measured (`Gpu::tuned`). Several cards, which may
    /// differ, keep to the choice by size.
    pub fn trainer(&self, part: usize, program: Program) -> Result<(Box<dyn Executor>, gpu::Forms)> {
        match self {
            Device::Gpu(gpu) => {
                let program = joined(program);
                let forms = gpu.tuned(&program)?;
                Ok((Box::new(gpu::GpuExecutor::with_forms(program, gpu.clone(), &forms)?), forms))
            }
            device => Ok((device.of_part(part).executor(program)?, gpu::Forms::new())),
        }
    }

    /// Programs get the forms that a run on the device of that name recorded, which is resumed; None for runs that begin.
    pub fn resume_forms(&self, recorded: Option<(&str, gpu::Forms)>) {
        if let Device::Gpu(gpu) | Device::Auto(gpu) = self {
            // On another card its measurements say nothing.
            gpu.resume_forms(recorded.filter(|(name, _)| *name == gpu.describe()).map(|(_, forms)| forms));
        }
    }

    pub fn executor(&self, program: Program) -> Result<Box<dyn Executor>> {
        Ok(match self {
            Device::Cpu => Box::new(cpu::CpuExecutor::<f32>::new(program)),
            Device::Gpu(gpu) => Box::new(gpu::GpuExecutor::new(program, gpu.clone())?),
            Device::Several(_) => return self.of_part(0).executor(program),
            // What one GPU cannot hold, memory may.
            Device::Auto(_) => match self.choose(&program, 1).device {
                Device::Gpu(gpu) => match gpu::GpuExecutor::new(program.clone(), gpu) {
                    Err(Error::Device(_)) => Box::new(cpu::CpuExecutor::<f32>::new(program)),
                    made => Box::new(made?),
                },
                _ => Box::new(cpu::CpuExecutor::<f32>::new(program)),
            },
        })
    }
}
