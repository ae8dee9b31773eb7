//! The ground everything stands on: the scalar trait of the CPU kernels, their vector instructions, and random numbers.
//! Nothing here depends on networks, files or devices.

pub mod counted;
pub mod gamma;
pub mod real;
pub mod rng;
pub mod simd;
pub mod visible;

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
