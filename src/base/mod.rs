//! The ground everything stands on: the scalar trait of the twins, their vector instructions, and random numbers.
//! Nothing here knows of networks, files or devices.

pub mod gamma;
pub mod real;
pub mod rng;
pub mod simd;
pub mod visible;

pub use real::Real;
