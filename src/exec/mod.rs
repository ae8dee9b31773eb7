//! Where a program runs. Two executors, one meaning: `cpu` calls the twins, `gpu` the shaders.

pub mod cpu;
pub mod gpu;

use crate::error::Result;
use crate::ops::StepArgs;
use crate::program::Buf;

pub trait Executor: Send {
    /// Overwrites a buffer of role Input or State.
    fn write(&mut self, buf: Buf, values: &[f32]) -> Result<()>;
    /// Copies a buffer of role State or Output.
    fn read(&mut self, buf: Buf) -> Result<Vec<f32>>;
    /// Replays the program once for each row of arguments.
    fn run(&mut self, args: &[StepArgs<f64>]) -> Result<()>;
    /// What it runs on, for the first line of a run.
    fn device(&self) -> String;
}

/// What the user chose to run on, opened once.
#[derive(Clone)]
pub enum Device {
    Cpu,
    Gpu(std::sync::Arc<gpu::Gpu>),
}

impl Device {
    /// `auto` = a hardware adapter if there is one, else the CPU; a software adapter only when asked for.
    pub fn open(choice: &str) -> Result<Device> {
        let gpu = |choice| Ok(Device::Gpu(std::sync::Arc::new(gpu::open(choice)?)));
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

    pub fn executor(&self, program: crate::program::Program) -> Result<Box<dyn Executor>> {
        Ok(match self {
            Device::Cpu => Box::new(cpu::CpuExecutor::<f32>::new(program)),
            Device::Gpu(gpu) => Box::new(gpu::GpuExecutor::new(program, gpu.clone())?),
        })
    }
}
