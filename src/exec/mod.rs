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
