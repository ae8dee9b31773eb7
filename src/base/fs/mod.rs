//! Files. All of the program's reading and writing goes through here: to the disk by `std::fs`, or in a browser, which has none, to
//! a tree in memory that the page keeps in the browser's storage.

#[cfg(not(target_arch = "wasm32"))]
mod disk;
#[cfg(any(test, target_arch = "wasm32"))]
pub mod memory;
#[cfg(any(test, target_arch = "wasm32"))]
mod mirror;

#[cfg(not(target_arch = "wasm32"))]
pub use disk::*;
#[cfg(target_arch = "wasm32")]
pub use memory::*;
