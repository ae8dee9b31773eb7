//! Access to the operating system: files that are whole or absent, how much memory is free, and the request
//! to stop. Nothing here depends on networks, data or runs.

pub mod cache;
#[cfg(not(target_arch = "wasm32"))]
pub mod camera;
pub mod file;
pub mod install;
pub mod memory;
#[cfg(not(target_arch = "wasm32"))]
pub mod opener;
pub mod stop;

pub use file::{csv_text, write_atomic};
