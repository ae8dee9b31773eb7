//! The ground everything stands on: the scalar trait of the CPU kernels, their vector instructions, and random numbers; and what
//! a browser does otherwise than an operating system: the clock, files, waiting, work beside the caller, the machine itself.

pub mod clock;
pub mod counted;
pub mod font;
pub mod fs;
pub mod gamma;
pub mod machine;
pub mod names;
#[cfg(target_arch = "wasm32")]
pub mod peer;
pub mod real;
pub mod rng;
pub mod simd;
pub mod task;
pub mod visible;
pub mod wait;
pub mod words;

pub use real::Real;

/// Activation of a hidden layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Relu,
    Silu,
    Mish,
    Selu,
}
